//! Builds the index of a rule set when the rules are loaded or changed. The result has posting
//! lists of keys, bitmaps of routes without keys, and the texts (subjects) and values (attributes)
//! to look up.

use super::access::{AccessPathSelector, PASSING_ROUTE_SHARE, RouteAccess, iterates_message_fields};
use super::anchored_literals::EdgeLiterals;
use super::attribute::ClassId;
use super::bitmap::Bitmap;
use super::cost;
use super::index_terms::{
    AtomSetId, DecidingLiterals, IndexAtom, IndexAtoms, LAST_IN_GROUP_FLAG, ScannedText,
};
use super::literal_selection::{ExpectedTests, select_literals};
use super::ranges::ValueRanges;
use super::scan::LiteralScanner;
use super::{
    AttributeIndex, Guard, Index, LiteralVerdict, PackedItems, PackedLists, Posting, PostingList,
    ScannedTextIndex, TableIndex, TextForm,
};
use crate::bytecode::Chunk;
use crate::bytecode::chunk::{Operand, PredCheck, RuleCode};
use crate::bytecode::fields::FieldLookup;
use hashbrown::HashMap;
use rulec_base::text::prepared::UNCACHED_SLOT;
use rulec_base::text::texts::TextIds;
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_lang::operators::Anchor;
use rulec_sema::hir::SlotId;
use rulec_sema::normal::{NormalForm, NormalRule};

/// Minimum number of entries for which a posting list (the routes of one key) is stored as a
/// bitmap. A route has one entry for each of its alternatives, which are operands of an `or`.
/// Compared with other values in benches/notes/constants.md.
const MIN_BITMAP_ROUTES: usize = 48;

/// Builds the index of a program. `normal` has the program's conditions in normal form (negations
/// pushed down, equal parts shared), and `chunk` has its bytecode.
pub fn build_index(normal: &NormalForm, chunk: &Chunk) -> Index {
    let atoms = IndexAtoms::new(normal, chunk);
    let builder = IndexBuilder::new(normal, &atoms);
    let (mut keys, mut tests) = (IndexKeyIds::default(), ExpectedTests::new(chunk.preds.len()));
    let tables = (0..).zip(&normal.tables);
    let tables =
        tables.map(|(table, routes)| builder.build_table(table, routes, (&mut keys, &mut tests))).collect();
    assemble_index(&builder, tables, keys, &tests)
}

/// Assigns an id to each key (a fact that a message must have) that a route uses.
#[derive(Default)]
struct IndexKeyIds {
    count: u32,
    id_by_table_and_set: HashMap<(u32, AtomSetId), u32, foldhash::fast::FixedState>,
}

struct IndexBuilder<'n> {
    normal: &'n NormalForm,
    atoms: &'n IndexAtoms<'n>,
    atoms_by_set: Vec<&'n [IndexAtom]>,
    access_path_selector: AccessPathSelector<'n>,
}

impl<'n> IndexBuilder<'n> {
    fn new(normal: &'n NormalForm, atoms: &'n IndexAtoms<'n>) -> IndexBuilder<'n> {
        IndexBuilder {
            normal,
            atoms,
            atoms_by_set: atoms.atoms_by_set(),
            access_path_selector: AccessPathSelector::new(normal, atoms),
        }
    }

    /// Builds the index of a table, except its lookups. Adds the keys of its routes to `keys`, and
    /// the predicates of its routes to `tests`.
    fn build_table(
        &self,
        table: u32,
        routes: &[NormalRule],
        (keys, tests): (&mut IndexKeyIds, &mut ExpectedTests),
    ) -> TableIndex {
        let first_key_id = keys.count;
        let mut ranks_by_key: Vec<Vec<u32>> = Vec::new();
        let mut sets: Vec<AtomSetId> = Vec::new();
        let mut residual = Vec::new();
        let mut index_cost = 0.0;
        for ((rank, route), access) in
            (0..).zip(routes).zip(self.access_path_selector.table_access_paths(routes))
        {
            tests.add_route(
                self.normal,
                route.cond,
                self.access_path_selector.candidate_probability(&access),
            );
            match access {
                RouteAccess::Keys(key_choice) => {
                    for set in key_choice {
                        let next_id = keys.count;
                        let key = *keys.id_by_table_and_set.entry((table, set)).or_insert(next_id);
                        if key == next_id {
                            keys.count += 1;
                            ranks_by_key.push(Vec::new());
                            sets.push(set);
                        }
                        ranks_by_key[(key - first_key_id) as usize].push(rank);
                    }
                }
                RouteAccess::Bits(alternatives) => {
                    index_cost += PASSING_ROUTE_SHARE * cost::condition_cost_ns(self.normal, route.cond);
                    residual.extend(alternatives.into_iter().map(|ranges| (rank, ranges)));
                }
                RouteAccess::Always => {
                    index_cost += cost::condition_cost_ns(self.normal, route.cond);
                    residual.push((rank, ValueRanges::new()));
                }
            }
        }
        for (set, ranks) in sets.iter().zip(&ranks_by_key) {
            index_cost +=
                self.atoms.probability_by_set[*set as usize] * ranks.len() as f64 * cost::ROUTE_TRY_NS;
        }
        let residual = Bitmap::new(&residual);
        index_cost += residual.words_per_row() as f64 * residual.columns.len() as f64 * cost::BITMAP_WORD_NS;
        let linear_cost = cost::linear_search_cost_ns(self.normal, routes.iter().map(|route| route.cond));
        let mut table_index = TableIndex {
            first_key_id,
            residual,
            linear_cost_ns: linear_cost,
            index_cost_ns: index_cost,
            ..TableIndex::default()
        };
        let code = self.atoms.chunk.tables.get(table as usize).map_or(&[][..], |table| &table.routes);
        for (ranks, set) in ranks_by_key.into_iter().zip(sets) {
            self.add_posting_list(ranks, set, (routes, code), &mut table_index);
        }
        table_index
    }

    /// Builds the posting list of one key. `ranks` are the positions in the table of the routes
    /// that have the key, and `code` is the code of each route. Each entry also gets guards, which
    /// follow from the value ranges of its route. Guards are required ranges of values, which can
    /// exclude the route.
    fn add_posting_list(
        &self,
        ranks: Vec<u32>,
        key: AtomSetId,
        (routes, code): (&[NormalRule], &[RuleCode]),
        table: &mut TableIndex,
    ) {
        let mut limited: Vec<(u32, ValueRanges)> = Vec::new();
        for rank in ranks {
            let mut alternatives =
                self.access_path_selector.ranges.split_alternatives(routes[rank as usize].cond);
            if alternatives.is_empty() {
                alternatives.push(ValueRanges::new());
            }
            limited.extend(alternatives.into_iter().map(|ranges| (rank, ranges)));
        }
        if limited.len() >= MIN_BITMAP_ROUTES {
            let bitmap = Bitmap::new(&limited);
            if !bitmap.columns.is_empty() {
                table.lists.push(PostingList::Bitmap(table.bitmaps.len() as u32));
                table.bitmaps.push(bitmap);
                return;
            }
        }
        let start = table.postings.len() as u32;
        let key_attribute = self.key_attribute(key);
        table.postings.extend(limited.into_iter().map(|(rank, ranges)| {
            let code = code.get(rank as usize).copied().unwrap_or(RuleCode { start: 0, end: 0 });
            Posting::new(rank, code, self.select_guards(ranges, key_attribute))
        }));
        table.lists.push(PostingList::Range { start, end: table.postings.len() as u32 });
    }

    /// Returns the attribute (message value) of a key that consists of one fact: the attribute's
    /// value is in one equivalence class. Returns `None` for any other key.
    fn key_attribute(&self, key: AtomSetId) -> Option<u32> {
        match self.atoms_by_set[key as usize] {
            [IndexAtom::Class(attribute, _)] => Some(*attribute),
            _ => None,
        }
    }

    /// Returns the two most selective guards for the value ranges of a route. A guard is a range of
    /// classes in which the value of an attribute (a message value) must be. The attribute
    /// `tested_attribute` gets no guard, because the route's key already requires a class of this
    /// attribute.
    fn select_guards(&self, ranges: ValueRanges, tested_attribute: Option<u32>) -> [Option<Guard>; 2] {
        let mut best_guards = [(1.0, None); 2];
        for (attribute, ranges) in
            ranges.into_iter().filter(|(attribute, _)| Some(*attribute) != tested_attribute)
        {
            let (Some((from, _)), Some((_, to))) = (ranges.first(), ranges.last()) else {
                // The route never matches.
                return [Some(Guard { attribute_id: attribute, first_class: 0, end_class: 0 }), None];
            };
            let shares = &self.atoms.attributes[attribute as usize].shares;
            let mut candidate = (
                shares.share_between(*from, *to),
                Some(Guard { attribute_id: attribute, first_class: *from, end_class: *to }),
            );
            for selected in &mut best_guards {
                if candidate.0 < selected.0 {
                    std::mem::swap(selected, &mut candidate);
                }
            }
        }
        best_guards.map(|(_, guard)| guard)
    }
}

/// Assembles the index from the indexes of the tables, and from the ids of their keys.
fn assemble_index(
    builder: &IndexBuilder<'_>,
    mut tables: Vec<TableIndex>,
    keys: IndexKeyIds,
    tests: &ExpectedTests,
) -> Index {
    let atoms = builder.atoms;
    let mut literal_keys: Vec<Vec<(u32, u32)>> = vec![Vec::new(); atoms.subjects.len()];
    let mut class_keys: Vec<Vec<(ClassId, u32)>> = vec![Vec::new(); atoms.attributes.len()];
    let mut element_keys: Vec<HashMap<Box<str>, Vec<u32>, foldhash::fast::FixedState>> = Vec::new();
    element_keys.resize_with(atoms.attributes.len(), HashMap::default);
    for ((table, set), key) in &keys.id_by_table_and_set {
        let table_index = &mut tables[*table as usize];
        for atom in builder.atoms_by_set[*set as usize] {
            match atom {
                IndexAtom::Literal(subject, literal) => {
                    literal_keys[*subject as usize].push((*literal, *key));
                    table_index.subject_ids.push(*subject);
                }
                IndexAtom::Class(attribute, class) => {
                    class_keys[*attribute as usize].push((*class, *key));
                    table_index.attribute_ids.push(*attribute);
                }
                IndexAtom::Element(attribute, text) => {
                    element_keys[*attribute as usize].entry(text.clone()).or_default().push(*key);
                    table_index.attribute_ids.push(*attribute);
                }
            }
        }
    }
    for (table, routes) in tables.iter_mut().zip(&builder.normal.tables) {
        for list in [&mut table.subject_ids, &mut table.attribute_ids] {
            list.sort_unstable();
            list.dedup();
        }
        let value_count = table.attribute_ids.len() + table.residual.columns.len();
        table.index_cost_ns += cost::INDEX_LOOKUP_NS
            + cost::equivalent_lookup_count(table.subject_ids.len()) * cost::HUNDRED_BYTES_SCAN_NS
            + cost::equivalent_lookup_count(value_count) * cost::VALUE_LOOKUP_NS;
        let conds = routes.iter().map(|route| route.cond);
        table.first_route_count = cost::first_route_count(builder.normal, conds, table.index_cost_ns);
    }
    let mut texts = TextForms { chunk_texts: &atoms.chunk.normalized_texts, index_texts: Vec::new() };
    let mut literals = AllLiterals::default();
    let literals_by_subject = atoms.literals_by_subject();
    let (deciding_literals, searched) = select_literals(atoms, tests, &literals_by_subject, &literal_keys);
    let subjects = atoms.subjects.iter().zip(&literals_by_subject).zip(&searched);
    let mut subjects: Vec<ScannedTextIndex> = subjects
        .map(|((subject, subject_literals), searched)| {
            build_subject_index(subject, subject_literals, searched, &mut texts, &mut literals)
        })
        .collect();
    literals.record_verdicts(atoms.chunk, &deciding_literals, literal_keys);
    for table in &mut tables {
        group_lookups_by_slot(table, atoms);
    }
    let has_slot_groups = tables.iter().any(|table| table.lookups_by_slot.is_some());
    let mut attributes = Vec::new();
    for ((attribute, keys), elements) in atoms.attributes.iter().zip(class_keys).zip(element_keys) {
        let (mut element_ids, mut element_keys) = (TextIds::default(), Vec::new());
        for (number, (text, keys)) in (0..).zip(elements) {
            element_ids.insert(&text, number);
            element_keys.extend(keys.into_iter().map(|key| (number, key)));
        }
        attributes.push(AttributeIndex {
            operand: attribute.operand,
            form: texts.find_or_add_form(attribute.operand, attribute.mode),
            classes: attribute.classes.clone(),
            keys_by_class: PackedLists::new(attribute.classes.class_count() as usize, keys),
            element_keys: PackedLists::new(element_ids.len(), element_keys),
            element_ids,
        });
    }
    set_subject_flags(&mut subjects, &literals.verdicts, &attributes);
    Index {
        subjects,
        attributes,
        tables,
        key_count: keys.count,
        fields: has_slot_groups.then(|| FieldLookup::new(atoms.chunk)),
        literal_keys: literals.keys_by_literal,
        literal_count: literals.literal_count,
        literal_verdicts: literals.verdicts,
        deciding_literal_ids: literals.deciding_literal_ids,
        cached_text_count: (texts.chunk_texts.len() + texts.index_texts.len()) as u32,
    }
}

/// Sets the flags of the subjects (scanned texts). `needs_unchanged_text` is set if the found
/// literals decide some predicate only when the scanned text equals the message's text.
/// `folds_in_place` is set if the text is scanned in one form only, and this form only folds case.
/// If an attribute (a value to look up) then reads the same folded text, it is linked with the
/// subject. The scan then also determines the attribute's class, so the text is folded once.
fn set_subject_flags(
    subjects: &mut [ScannedTextIndex],
    literal_verdicts: &[LiteralVerdict],
    attributes: &[AttributeIndex],
) {
    for verdict in literal_verdicts
        .iter()
        .filter(|verdict| verdict.are_literals_sufficient && verdict.requires_unchanged_text)
    {
        if let Some(subject) = subjects.get_mut(verdict.subject_id as usize) {
            subject.needs_unchanged_text = true;
        }
    }
    for subject in subjects {
        if let [
            form @ TextForm {
                mode: TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::None },
                ..
            },
        ] = &subject.forms[..]
        {
            let reads_same_text =
                |attribute: &AttributeIndex| (attribute.operand, attribute.form) == (subject.operand, *form);
            let attribute = attributes.iter().position(reads_same_text);
            subject.folds_in_place = true;
            subject.attribute_id = attribute.map_or(ScannedTextIndex::NO_ATTRIBUTE, |at| at as u32);
        }
    }
}

/// Builds the index of one subject, which is a text of the message. Rules search this text for
/// literals. `is_searched` says for each of these literals whether the index searches for it. The
/// searched literals get consecutive ids: first those that may be anywhere, then those at the
/// start, then those at the end. The ids continue after the ids of earlier subjects.
fn build_subject_index(
    subject: &ScannedText,
    subject_literals: &[(Anchor, &str)],
    is_searched: &[bool],
    texts: &mut TextForms<'_>,
    literals: &mut AllLiterals,
) -> ScannedTextIndex {
    let first_literal = literals.literal_count;
    let searched_at = |anchor: Anchor| {
        let literals = subject_literals.iter().zip(0..);
        literals.filter(move |((own_anchor, _), id)| *own_anchor == anchor && is_searched[*id])
    };
    let id_order = [Anchor::Anywhere, Anchor::Start, Anchor::End].into_iter().flat_map(searched_at);
    literals.assign_literal_ids(subject_literals.len(), id_order.map(|(_, id)| id));
    let unique_ids = literals.unique_ids.last().map_or(&[][..], Vec::as_slice);
    let edges = |anchor: Anchor| {
        let literals: Vec<(&str, u32)> =
            searched_at(anchor).map(|((_, literal), id)| (*literal, unique_ids[id])).collect();
        EdgeLiterals::new(anchor, &literals)
    };
    ScannedTextIndex {
        operand: subject.operand,
        forms: subject.text_modes().map(|mode| texts.find_or_add_form(subject.operand, mode)).collect(),
        scanner: LiteralScanner::from_literals(
            searched_at(Anchor::Anywhere).map(|((_, literal), _)| literal.as_bytes()),
        ),
        start_literals: edges(Anchor::Start),
        end_literals: edges(Anchor::End),
        first_literal_id: first_literal,
        needs_unchanged_text: false,
        folds_in_place: false,
        attribute_id: ScannedTextIndex::NO_ATTRIBUTE,
    }
}

/// For a table that looks up many values, groups the texts to scan and the looked-up values. Each
/// group belongs to one message field, so that a decision looks up only the fields that the message
/// has.
fn group_lookups_by_slot(table: &mut TableIndex, atoms: &IndexAtoms<'_>) {
    if !iterates_message_fields(table.subject_ids.len(), table.attribute_ids.len()) {
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
        PackedLists::new(slots, by_slot)
    };
    let subjects = split(&mut table.subject_ids, &|number| atoms.subjects[number as usize].operand);
    let attributes = split(&mut table.attribute_ids, &|number| atoms.attributes[number as usize].operand);
    table.lookups_by_slot = Some((subjects, attributes));
}

/// Literals of all subjects (scanned texts), with ids that are unique over all subjects.
#[derive(Default)]
struct AllLiterals {
    /// For each subject (scanned text), the unique ids of its literals, by their ids within the
    /// subject.
    unique_ids: Vec<Vec<u32>>,
    literal_count: u32,
    keys_by_literal: PackedLists,
    verdicts: Vec<LiteralVerdict>,
    deciding_literal_ids: PackedItems,
}

impl AllLiterals {
    /// Assigns unique ids to the searched literals of the next subject (scanned text). `order` has
    /// the ids of these literals within the subject, in the order of assignment. `literals` is the
    /// number of all literals of the subject, searched or not.
    fn assign_literal_ids(&mut self, literals: usize, order: impl Iterator<Item = usize>) {
        let mut unique_ids = vec![0; literals];
        for at in order {
            unique_ids[at] = self.literal_count;
            self.literal_count += 1;
        }
        self.unique_ids.push(unique_ids);
    }

    /// Records which literals decide each predicate (`deciding_literals`), and which keys (facts by
    /// which routes are found) each literal provides. `keys` has an entry for each scanned text:
    /// pairs of a literal id and the id of a key that the literal provides.
    fn record_verdicts(
        &mut self,
        chunk: &Chunk,
        deciding_literals: &[Option<DecidingLiterals>],
        keys: Vec<Vec<(u32, u32)>>,
    ) {
        let unique_id = |subject: u32, literal: u32| self.unique_ids[subject as usize][literal as usize];
        let keys = (0..).zip(keys).flat_map(|(subject, keys)| {
            keys.into_iter().map(move |(literal, key)| (unique_id(subject, literal), key))
        });
        self.keys_by_literal = PackedLists::new(self.literal_count as usize, keys.collect());
        let is_search_unlimited = |pred: usize| {
            let Some(PredCheck::Keywords(id)) = chunk.preds.get(pred).map(|pred| pred.check) else {
                return false;
            };
            chunk.keywords.get(id as usize).is_some_and(|keywords| keywords.search.is_literal())
        };
        let mut deciding_literal_ids = PackedItems::default();
        let verdicts = deciding_literals.iter().enumerate().map(|(pred, literals)| {
            let Some(literals) = literals else { return LiteralVerdict::UNDECIDED };
            let flagged_id = |flagged_id: &u32| {
                unique_id(literals.subject_id, flagged_id & !LAST_IN_GROUP_FLAG)
                    | flagged_id & LAST_IN_GROUP_FLAG
            };
            let mut literal_ids: Vec<u32> = literals.literal_ids.iter().map(flagged_id).collect();
            if let Some(last) = literal_ids.last_mut() {
                *last &= !LAST_IN_GROUP_FLAG;
            }
            LiteralVerdict {
                subject_id: literals.subject_id,
                literal_ids: deciding_literal_ids.push_list(&literal_ids),
                are_literals_sufficient: literals.are_literals_sufficient,
                requires_unchanged_text: literals.is_mode_plain,
                is_search_unlimited: is_search_unlimited(pred),
            }
        });
        self.verdicts = verdicts.collect();
        self.deciding_literal_ids = deciding_literal_ids;
    }
}

/// The texts that a decision caches in normalized form. First come the texts that the bytecode
/// normalizes; the index uses the same cached forms. After them come texts that only the index
/// needs.
struct TextForms<'c> {
    chunk_texts: &'c [(SlotId, TextMode)],
    index_texts: Vec<(Operand, TextMode)>,
}

impl TextForms<'_> {
    /// Returns the form of an operand's text that results from a text mode (case folding and
    /// Unicode normalization). Records the form if it is new. The form has the id under which a
    /// decision caches the normalized text.
    fn find_or_add_form(&mut self, operand: Operand, mode: TextMode) -> TextForm {
        if mode.is_plain() {
            return TextForm { mode, cache_id: UNCACHED_SLOT };
        }
        let bytecode_texts = self.chunk_texts.iter().map(|(slot, mode)| (Operand::Slot(*slot), *mode));
        let position =
            bytecode_texts.chain(self.index_texts.iter().copied()).position(|text| text == (operand, mode));
        let text_id = position.unwrap_or_else(|| {
            self.index_texts.push((operand, mode));
            self.chunk_texts.len() + self.index_texts.len() - 1
        });
        TextForm { mode, cache_id: text_id as u32 }
    }
}
