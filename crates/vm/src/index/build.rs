//! Building the index of a rule set: the posting lists of keys, the bitmaps of the other routes,
//! and the subjects and attributes to look up for both.

use super::access::{Access, Accesses, goes_over_fields};
use super::anchored_literals::Edges;
use super::attribute::Class;
use super::bitmap::Bitmap;
use super::cost;
use super::index_terms::{Atom, Atoms, LAST, Literals, SetId, Subject};
use super::literal_selection::told;
use super::ranges::ValueRanges;
use super::scan::Scanner;
use super::{
    AttributeIndex, Guard, Index, Key, Lists, LiteralAnswer, Posting, PostingList, SubjectIndex, TableIndex,
    TextForm,
};
use crate::bytecode::Chunk;
use crate::bytecode::chunk::Operand;
use crate::bytecode::fields::Fields;
use hashbrown::HashMap;
use rulec_base::text::prepared::UNKEPT_SLOT;
use rulec_base::text::texts::TextIds;
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_lang::operators::Anchor;
use rulec_sema::hir::SlotId;
use rulec_sema::normal::{NRoute, Normal};

/// Minimum number of routes for which a posting list becomes a bitmap.
const BLOCK_FROM: usize = 48;

/// Builds the index of a program.
pub fn build(normal: &Normal, chunk: &Chunk) -> Index {
    let atoms = Atoms::new(normal, chunk);
    let builder = Builder::new(normal, &atoms);
    let mut keys = Keys::default();
    let tables = normal.tables.iter().enumerate();
    let tables = tables.map(|(table, routes)| builder.table(table as u32, routes, &mut keys)).collect();
    finish(&builder, tables, keys)
}

/// Keys in use, with an id for each.
#[derive(Default)]
struct Keys {
    keys: Vec<Key>,
    numbers: HashMap<(u32, SetId), u32, foldhash::fast::FixedState>,
}

struct Builder<'n> {
    normal: &'n Normal,
    atoms: &'n Atoms<'n>,
    sets: Vec<&'n [Atom]>,
    accesses: Accesses<'n>,
}

impl<'n> Builder<'n> {
    fn new(normal: &'n Normal, atoms: &'n Atoms<'n>) -> Builder<'n> {
        Builder { normal, atoms, sets: atoms.atoms_of_sets(), accesses: Accesses::new(normal, atoms) }
    }

    fn table(&self, table: u32, routes: &[NRoute], keys: &mut Keys) -> TableIndex {
        let mut postings: Vec<Vec<u32>> = Vec::new();
        let mut sets: Vec<SetId> = Vec::new();
        let mut residual = Vec::new();
        let mut indexed = 0.0;
        for ((rank, route), access) in (0..).zip(routes).zip(self.accesses.of_table(routes)) {
            match access {
                Access::Keys(way) => {
                    for set in way {
                        let next = keys.keys.len() as u32;
                        let key = *keys.numbers.entry((table, set)).or_insert(next);
                        if key == next {
                            keys.keys.push(Key { table, posting: postings.len() as u32 });
                            postings.push(Vec::new());
                            sets.push(set);
                        }
                        postings[keys.keys[key as usize].posting as usize].push(rank);
                    }
                }
                Access::Bits(alternatives) => {
                    indexed += 0.1 * cost::condition(self.normal, route.cond);
                    residual.extend(alternatives.into_iter().map(|ranges| (rank, ranges)));
                }
                Access::Always => {
                    indexed += cost::condition(self.normal, route.cond);
                    residual.push((rank, ValueRanges::new()));
                }
            }
        }
        for (set, ranks) in sets.iter().zip(&postings) {
            indexed += self.atoms.likelihood[*set as usize] * ranks.len() as f64 * cost::TRY;
        }
        let residual = Bitmap::new(&residual);
        indexed += residual.words() as f64 * residual.columns.len() as f64 * cost::WORD;
        let linear = cost::linear(self.normal, routes.iter().map(|route| route.cond));
        let mut table = TableIndex { residual, linear, indexed, ..TableIndex::default() };
        for (ranks, set) in postings.into_iter().zip(sets) {
            let posting = self.posting(ranks, set, routes, &mut table.postings);
            table.lists.push(posting);
        }
        table
    }

    /// Builds the posting list of one key. Each posting also gets the value ranges that limit its
    /// route.
    fn posting(
        &self,
        ranks: Vec<u32>,
        key: SetId,
        routes: &[NRoute],
        postings: &mut Vec<Posting>,
    ) -> PostingList {
        let mut limited: Vec<(u32, ValueRanges)> = Vec::new();
        for rank in ranks {
            let mut alternatives = self.accesses.ranges.alternatives(routes[rank as usize].cond);
            if alternatives.is_empty() {
                alternatives.push(ValueRanges::new());
            }
            limited.extend(alternatives.into_iter().map(|ranges| (rank, ranges)));
        }
        if limited.len() >= BLOCK_FROM {
            let bitmap = Bitmap::new(&limited);
            if !bitmap.columns.is_empty() {
                return PostingList::Bitmap(Box::new(bitmap));
            }
        }
        let start = postings.len() as u32;
        let told = self.attribute_of(key);
        postings.extend(
            limited.into_iter().map(|(rank, ranges)| Posting { rank, guards: self.guards(ranges, told) }),
        );
        PostingList::Range { start, end: postings.len() as u32 }
    }

    /// Returns the attribute of a key that tests nothing but the class of one attribute; `None` for
    /// other keys.
    fn attribute_of(&self, key: SetId) -> Option<u32> {
        match self.sets[key as usize] {
            [Atom::Class(attribute, _)] => Some(*attribute),
            _ => None,
        }
    }

    /// Returns the two most selective guards for the value ranges of a route. The attribute `told`,
    /// which the route's key already tests, gets no guard.
    fn guards(&self, ranges: ValueRanges, told: Option<u32>) -> [Guard; 2] {
        let mut best = [(1.0, Guard::NONE); 2];
        for (attribute, ranges) in ranges.into_iter().filter(|(attribute, _)| Some(*attribute) != told) {
            let (Some((from, _)), Some((_, to))) = (ranges.first(), ranges.last()) else {
                // The route never matches.
                return [Guard { attribute, from: 0, to: 0 }, Guard::NONE];
            };
            let shares = &self.atoms.attributes[attribute as usize].shares;
            let mut next = (shares.between(*from, *to), Guard { attribute, from: *from, to: *to });
            for kept in &mut best {
                if next.0 < kept.0 {
                    std::mem::swap(kept, &mut next);
                }
            }
        }
        best.map(|(_, guard)| guard)
    }
}

/// Assembles the index from the tables and keys.
fn finish(builder: &Builder<'_>, mut tables: Vec<TableIndex>, keys: Keys) -> Index {
    let atoms = builder.atoms;
    let mut literal_keys: Vec<Vec<(u32, u32)>> = vec![Vec::new(); atoms.subjects.len()];
    let mut class_keys: Vec<Vec<(Class, u32)>> = vec![Vec::new(); atoms.attributes.len()];
    let mut element_keys: Vec<HashMap<Box<str>, Vec<u32>, foldhash::fast::FixedState>> = Vec::new();
    element_keys.resize_with(atoms.attributes.len(), HashMap::default);
    for ((table, set), key) in &keys.numbers {
        let info = &mut tables[*table as usize];
        for atom in builder.sets[*set as usize] {
            match atom {
                Atom::Literal(subject, literal) => {
                    literal_keys[*subject as usize].push((*literal, *key));
                    info.subjects.push(*subject);
                }
                Atom::Class(attribute, class) => {
                    class_keys[*attribute as usize].push((*class, *key));
                    info.attributes.push(*attribute);
                }
                Atom::Element(attribute, text) => {
                    element_keys[*attribute as usize].entry(text.clone()).or_default().push(*key);
                    info.attributes.push(*attribute);
                }
            }
        }
    }
    for (table, routes) in tables.iter_mut().zip(&builder.normal.tables) {
        for list in [&mut table.subjects, &mut table.attributes] {
            list.sort_unstable();
            list.dedup();
        }
        let values = table.attributes.len() + table.residual.columns.len();
        table.indexed += cost::LOOKUP
            + cost::present(table.subjects.len()) * cost::SCAN
            + cost::present(values) * cost::VALUE;
        table.first = cost::first(builder.normal, routes.iter().map(|route| route.cond), table.indexed);
    }
    let mut texts = TextForms { chunk: &atoms.chunk.texts, own: Vec::new() };
    let mut literals = AllLiterals::default();
    let by_number = atoms.literals_by_number();
    let (told, sought) = told(atoms, &by_number, &literal_keys);
    let subjects = atoms.subjects.iter().zip(&by_number).zip(&sought);
    let mut subjects: Vec<SubjectIndex> = subjects
        .map(|((subject, own), sought)| subject_index(subject, own, sought, &mut texts, &mut literals))
        .collect();
    literals.finish(&told, literal_keys);
    for table in &mut tables {
        split_by_slot(table, atoms);
    }
    let wide = tables.iter().any(|table| table.by_slot.is_some());
    let mut attributes = Vec::new();
    for ((attribute, keys), elements) in atoms.attributes.iter().zip(class_keys).zip(element_keys) {
        let (mut named, mut element_keys) = (TextIds::default(), Vec::new());
        for (number, (text, keys)) in (0..).zip(elements) {
            named.insert(&text, number);
            element_keys.extend(keys.into_iter().map(|key| (number, key)));
        }
        attributes.push(AttributeIndex {
            operand: attribute.operand,
            form: texts.form(attribute.operand, attribute.mode),
            classes: attribute.classes.clone(),
            keys: Lists::new(attribute.classes.end() as usize, keys),
            element_keys: Lists::new(named.len(), element_keys),
            elements: named,
        });
    }
    mark(&mut subjects, &literals.answers, &attributes);
    Index {
        subjects,
        attributes,
        tables,
        keys: keys.keys,
        fields: wide.then(|| Fields::new(atoms.chunk)),
        literal_keys: literals.keys,
        literal_count: literals.count,
        answers: literals.answers,
        numbers: literals.numbers,
        texts: (texts.chunk.len() + texts.own.len()) as u32,
    }
}

/// Marks the subjects for which predicates need to know whether the scanned text is the unchanged
/// text. Also marks the subjects that are folded in the scan buffer, with the attribute that reads
/// the same form.
fn mark(subjects: &mut [SubjectIndex], answers: &[LiteralAnswer], attributes: &[AttributeIndex]) {
    for answer in answers.iter().filter(|answer| answer.exact && answer.plain) {
        if let Some(subject) = subjects.get_mut(answer.subject as usize) {
            subject.asks_own = true;
        }
    }
    for subject in subjects {
        if let [form @ TextForm { mode: TextMode { fold: true, form: NormalizationForm::None }, .. }] =
            &subject.forms[..]
        {
            let own =
                |attribute: &AttributeIndex| (attribute.operand, attribute.form) == (subject.operand, *form);
            let attribute = attributes.iter().position(own);
            subject.folds_in_place = true;
            subject.attribute = attribute.map_or(SubjectIndex::NONE, |at| at as u32);
        }
    }
}

/// Builds the index of a scanned text. Literals with the same anchor get consecutive ids, after the
/// ids of earlier subjects.
fn subject_index(
    subject: &Subject,
    own: &[(Anchor, &str)],
    sought: &[bool],
    texts: &mut TextForms<'_>,
    literals: &mut AllLiterals,
) -> SubjectIndex {
    let first = literals.count;
    let at = |anchor: Anchor| {
        own.iter().zip(0..).filter(move |((stands, _), at)| *stands == anchor && sought[*at])
    };
    let order = [Anchor::Anywhere, Anchor::Start, Anchor::End].into_iter().flat_map(at);
    literals.number(own.len(), order.map(|(_, at)| at));
    let places = literals.places.last().map_or(&[][..], Vec::as_slice);
    let edges = |anchor: Anchor| {
        let literals: Vec<(&str, u32)> =
            at(anchor).map(|((_, literal), at)| (*literal, places[at])).collect();
        Edges::new(anchor, &literals)
    };
    SubjectIndex {
        operand: subject.operand,
        forms: subject.forms().map(|mode| texts.form(subject.operand, mode)).collect(),
        scanner: Scanner::from_literals(at(Anchor::Anywhere).map(|((_, literal), _)| literal.as_bytes())),
        starts: edges(Anchor::Start),
        ends: edges(Anchor::End),
        first,
        asks_own: false,
        folds_in_place: false,
        attribute: SubjectIndex::NONE,
    }
}

/// Groups subjects and attributes by slot, for a table that looks up many values. Only the slots
/// that a message has are then looked up.
fn split_by_slot(table: &mut TableIndex, atoms: &Atoms<'_>) {
    if !goes_over_fields(table.subjects.len(), table.attributes.len()) {
        return;
    }
    let slots = atoms.chunk.slots.len();
    let split = |all: &mut Vec<u32>, operand: &dyn Fn(u32) -> Operand| {
        let mut by_slot = Vec::new();
        all.retain(|number| match operand(*number) {
            Operand::Slot(slot) => {
                by_slot.push((slot.0, *number));
                false
            }
            _ => true,
        });
        Lists::new(slots, by_slot)
    };
    let subjects = split(&mut table.subjects, &|number| atoms.subjects[number as usize].operand);
    let attributes = split(&mut table.attributes, &|number| atoms.attributes[number as usize].operand);
    table.by_slot = Some((subjects, attributes));
}

/// Literals of all subjects, with ids that are unique over all subjects.
#[derive(Default)]
struct AllLiterals {
    /// For each subject, the unique id of each of its literals.
    places: Vec<Vec<u32>>,
    count: u32,
    keys: Lists,
    answers: Vec<LiteralAnswer>,
    numbers: Vec<u32>,
}

impl AllLiterals {
    /// Assigns ids to the selected literals of the next subject, in the given order.
    fn number(&mut self, literals: usize, order: impl Iterator<Item = usize>) {
        let mut places = vec![0; literals];
        for at in order {
            places[at] = self.count;
            self.count += 1;
        }
        self.places.push(places);
    }

    /// Records which literals decide each predicate, and which keys each literal provides. For each
    /// subject, `keys` lists pairs of a literal and a key.
    fn finish(&mut self, told: &[Option<Literals>], keys: Vec<Vec<(u32, u32)>>) {
        let place = |subject: u32, literal: u32| self.places[subject as usize][literal as usize];
        let keys = (0..).zip(keys).flat_map(|(subject, keys)| {
            keys.into_iter().map(move |(literal, key)| (place(subject, literal), key))
        });
        self.keys = Lists::new(self.count as usize, keys.collect());
        let mut numbers: Vec<u32> = Vec::new();
        let answers = told.iter().map(|literals| {
            let Some(literals) = literals else { return LiteralAnswer::NONE };
            let start = numbers.len() as u32;
            let number = |number: &u32| place(literals.subject, number & !LAST) | number & LAST;
            numbers.extend(literals.numbers.iter().map(number));
            let end = numbers.len() as u32;
            let (exact, plain) = (literals.exact, literals.plain);
            LiteralAnswer { subject: literals.subject, start, end, exact, plain }
        });
        self.answers = answers.collect();
        self.numbers = numbers;
    }
}

/// The normalized texts that a decision caches: first the texts of the bytecode, which the index
/// shares, then the texts that only the index needs.
struct TextForms<'c> {
    chunk: &'c [(SlotId, TextMode)],
    own: Vec<(Operand, TextMode)>,
}

impl TextForms<'_> {
    /// Returns the form of an operand's text in a mode, with the id under which the text is cached.
    fn form(&mut self, operand: Operand, mode: TextMode) -> TextForm {
        if mode.is_plain() {
            return TextForm { mode, text: UNKEPT_SLOT };
        }
        let shared = self.chunk.iter().map(|(slot, mode)| (Operand::Slot(*slot), *mode));
        let known = shared.chain(self.own.iter().copied()).position(|known| known == (operand, mode));
        let text = known.unwrap_or_else(|| {
            self.own.push((operand, mode));
            self.chunk.len() + self.own.len() - 1
        });
        TextForm { mode, text: text as u32 }
    }
}
