//! Atoms: facts that can be looked up in a message, such as a literal in a text. A predicate
//! requires *sets* of atoms: whenever the predicate is true, the message has at least one atom of
//! the set.

use super::anchored_literals;
use super::attribute::{ClassId, RuleNumber, SimpleTest, ValueClasses};
use super::prefilter::{Prefilter, find_prefilters};
use super::selectivity::{ClassShares, count_predicate_uses};
use crate::bytecode::chunk::{Chunk, Operand, PredCheck};
use crate::bytecode::instr::{BlockId, Comparison, Instr};
use hashbrown::{HashMap, HashSet};
use rulec_base::broken_invariant;
use rulec_base::text::{self, NormalizationForm, TextMode};
use rulec_lang::operators::{Anchor, Cost, Quantity};
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_sema::normal::Normal;

/// Id of a distinct set of atoms.
pub type SetId = u32;

/// A fact that can be looked up in a message, such as a literal in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexAtom {
    /// The text of a subject contains a literal. The fields are the subject id and the literal id.
    Literal(u32, u32),
    /// The value of an attribute is in an equivalence class. The fields are the attribute id and
    /// the class.
    Class(u32, ClassId),
    /// The value of an attribute is a list that contains a text. The fields are the attribute id
    /// and the text.
    Element(u32, Box<str>),
}

/// A text of the message that is scanned for literals.
#[derive(Debug)]
pub struct Subject {
    pub operand: Operand,
    pub pred: u32,
    /// Whether the text is folded before the scan. If it is, the literals are folded too.
    pub fold: bool,
    /// Whether the text is also scanned without Unicode normalization, either folded or unchanged.
    pub plain: bool,
    /// Further text modes in which the text is scanned. All of them apply Unicode normalization.
    pub modes: Vec<TextMode>,
    /// The id within the subject of each literal, by its anchor and text.
    pub literals: HashMap<(Anchor, Box<str>), u32, foldhash::fast::FixedState>,
}

impl Subject {
    /// Returns all text modes in which the text is scanned.
    pub fn text_modes(&self) -> impl Iterator<Item = TextMode> {
        let own = self.plain.then_some(TextMode { fold: self.fold, form: NormalizationForm::None });
        own.into_iter().chain(self.modes.iter().copied())
    }
}

/// A value of the message whose equivalence class can be looked up. A text is read in one text
/// mode.
#[derive(Debug)]
pub struct IndexedAttribute {
    pub operand: Operand,
    pub pred: u32,
    /// Text mode to which the value is normalized if it is a text.
    pub mode: TextMode,
    pub classes: ValueClasses,
    pub shares: ClassShares,
}

/// The literals in a text that decide the result of a predicate.
#[derive(Clone, Debug)]
pub struct DecidingLiterals {
    /// Id of the subject whose text is searched for the literals.
    pub subject: u32,
    /// Literal ids, in groups. If the predicate is true, the text contains at least one literal of
    /// each group. [`LAST_IN_GROUP`] marks the last id of each group.
    pub numbers: Vec<u32>,
    /// Whether the predicate is true for every text that contains a literal of each group, if the
    /// text is normalized for the predicate's text mode.
    pub exact: bool,
    /// Whether the predicate's text mode leaves all texts unchanged.
    pub plain: bool,
}

/// Flag that is set in the id of the last literal of each group.
pub const LAST_IN_GROUP: u32 = 1 << 31;

/// The atoms (facts about a message) that the index of a rule set looks up.
#[derive(Debug)]
pub struct IndexAtoms<'c> {
    pub chunk: &'c Chunk,
    pub subjects: Vec<Subject>,
    pub attributes: Vec<IndexedAttribute>,
    subject_of: HashMap<Operand, u32>,
    attribute_of: HashMap<(Operand, TextMode), u32>,
    /// For each predicate that is a simple test (its result depends only on an equivalence class),
    /// the test and its attribute id.
    simples: Vec<Option<(SimpleTest, u32)>>,
    sets: HashMap<Box<[IndexAtom]>, SetId, foldhash::fast::FixedState>,
    /// For each set of atoms, the estimated probability that a message has one of its atoms.
    pub likelihood: Vec<f64>,
    /// For each predicate, the sets of atoms that it requires. If the predicate is true, the
    /// message has an atom of each of these sets.
    sets_of: Vec<Option<Box<[SetId]>>>,
    /// For each predicate, the literals that decide it.
    pub literals: Vec<Option<DecidingLiterals>>,
}

/// True if an operand may be evaluated even if no condition needs it: it depends only on the
/// message, is cheap, and calls no host function.
fn can_evaluate_early(chunk: &Chunk, operand: Operand) -> bool {
    match operand {
        Operand::Slot(_) => true,
        Operand::Block(block) => is_cheap(chunk, block, 4),
        _ => false,
    }
}

fn is_cheap(chunk: &Chunk, block: BlockId, depth: u32) -> bool {
    let Some(block) = chunk.blocks.get(block as usize) else { return false };
    let instrs = chunk.instrs.get(block.start as usize..block.end as usize).unwrap_or_default();
    depth > 0
        && instrs.len() <= 16
        && instrs.iter().all(|instr| match instr {
            Instr::Slot { .. }
            | Instr::Const { .. }
            | Instr::Field { .. }
            | Instr::Index { .. }
            | Instr::Read { .. }
            | Instr::Binary { .. }
            | Instr::Unary { .. }
            | Instr::IfPresent { .. }
            | Instr::Yield { .. } => true,
            Instr::Call { function, .. } => function.info().cost <= Cost::Scan,
            Instr::Eval { block, .. } => is_cheap(chunk, *block, depth - 1),
            _ => false,
        })
}

impl<'c> IndexAtoms<'c> {
    /// Collects the atoms that the predicates of a rule set require.
    pub fn new(normal: &Normal, chunk: &'c Chunk) -> IndexAtoms<'c> {
        let mut atoms = IndexAtoms {
            chunk,
            subjects: Vec::new(),
            attributes: Vec::new(),
            subject_of: HashMap::new(),
            attribute_of: HashMap::new(),
            simples: Vec::new(),
            sets: HashMap::default(),
            likelihood: Vec::new(),
            sets_of: Vec::new(),
            literals: vec![None; chunk.preds.len()],
        };
        atoms.find_attributes(&count_predicate_uses(normal));
        let prefilters: Vec<Vec<Prefilter>> =
            (0..chunk.preds.len()).map(|pred| atoms.literal_prefilters(pred)).collect();
        atoms.find_subjects(&prefilters);
        for (pred, prefilters) in prefilters.into_iter().enumerate() {
            let sets = atoms.find_atom_sets(pred, prefilters);
            atoms.sets_of.push((!sets.is_empty()).then(|| sets.into()));
        }
        atoms.likelihood = atoms.set_probabilities();
        atoms
    }

    /// Returns, for each set of atoms, the estimated probability that a message has one of the
    /// atoms.
    fn set_probabilities(&self) -> Vec<f64> {
        let literals = self.literals_by_subject();
        let mut elements: Vec<HashSet<&str, foldhash::fast::FixedState>> = Vec::new();
        elements.resize_with(self.attributes.len(), HashSet::default);
        for atom in self.sets.keys().flatten() {
            if let IndexAtom::Element(attribute, text) = atom {
                elements[*attribute as usize].insert(text);
            }
        }
        let likelihood = |atom: &IndexAtom| match atom {
            IndexAtom::Literal(subject, number) => {
                literal_probability(literals[*subject as usize][*number as usize].1)
            }
            IndexAtom::Class(attribute, class) => {
                self.attributes[*attribute as usize].shares.share_of_named(*class)
            }
            // Assumes that a list has one or two of the elements that rules name.
            IndexAtom::Element(attribute, _) => 1.5 / (elements[*attribute as usize].len() + 4) as f64,
        };
        let mut likelihoods = vec![0.0; self.sets.len()];
        for (atoms, id) in &self.sets {
            likelihoods[*id as usize] = atoms.iter().map(likelihood).sum::<f64>().min(1.0);
        }
        likelihoods
    }

    /// Returns the sets of atoms that a predicate requires. If the predicate is true, the message
    /// has an atom of every set, so each set can be a key.
    pub fn atom_sets(&self, pred: u32) -> &[SetId] {
        self.sets_of.get(pred as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Returns the atoms of each set, indexed by set id.
    pub fn atoms_by_set(&self) -> Vec<&[IndexAtom]> {
        let mut all: Vec<&[IndexAtom]> = vec![&[]; self.sets.len()];
        for (atoms, id) in &self.sets {
            all[*id as usize] = atoms;
        }
        all
    }

    /// Returns, for each attribute, a map from an equivalence class to the constant that tests
    /// compare with, as an author writes it.
    pub fn constants_by_class(&self) -> Vec<HashMap<ClassId, String>> {
        let mut names = vec![HashMap::new(); self.attributes.len()];
        for (test, attribute) in self.simples.iter().flatten() {
            let classes = &self.attributes[*attribute as usize].classes;
            let names = &mut names[*attribute as usize];
            for text in test.texts() {
                names.entry(classes.class_of(&Value::Str(text))).or_insert_with(|| format!("{text:?}"));
            }
            for number in test.numbers().map(RuleNumber::to_value) {
                names.entry(classes.class_of(&number)).or_insert_with(|| number.to_json().to_string());
            }
        }
        names
    }

    /// Returns, for each subject, its literals with their anchors, indexed by literal id.
    pub fn literals_by_subject(&self) -> Vec<Vec<(Anchor, &str)>> {
        let mut all = Vec::new();
        for subject in &self.subjects {
            let mut literals = vec![(Anchor::Anywhere, ""); subject.literals.len()];
            for ((anchor, literal), number) in &subject.literals {
                literals[*number as usize] = (*anchor, literal);
            }
            all.push(literals);
        }
        all
    }

    /// Returns the name of a field of the message, as an author writes it.
    pub fn slot_name(&self, slot: rulec_sema::hir::SlotId) -> &str {
        self.chunk.slots.get(slot.index()).map_or("", |slot| &slot.name)
    }

    /// Returns the simple test that is equivalent to a predicate, and its attribute id. `None` if
    /// there is no such test.
    pub fn simple_test(&self, pred: u32) -> Option<&(SimpleTest, u32)> {
        self.simples.get(pred as usize)?.as_ref()
    }

    fn attribute_id(&mut self, pred: u32, operand: Operand, mode: TextMode) -> u32 {
        let attributes = &mut self.attributes;
        *self.attribute_of.entry((operand, mode)).or_insert_with(|| {
            let (classes, shares) = (ValueClasses::default(), ClassShares::default());
            attributes.push(IndexedAttribute { operand, pred, mode, classes, shares });
            attributes.len() as u32 - 1
        })
    }

    fn find_attributes(&mut self, uses: &[u32]) {
        for pred in 0..self.chunk.preds.len() as u32 {
            let operand = self.chunk.preds[pred as usize].left;
            let simple =
                SimpleTest::from_pred(self.chunk, pred).filter(|_| can_evaluate_early(self.chunk, operand));
            let simple = simple.map(|(simple, mode)| (simple, self.attribute_id(pred, operand, mode)));
            self.simples.push(simple);
        }
        let (mut texts, mut numbers) =
            (vec![Vec::new(); self.attributes.len()], vec![Vec::new(); self.attributes.len()]);
        for (simple, attribute) in self.simples.iter().flatten() {
            texts[*attribute as usize].extend(simple.texts());
            numbers[*attribute as usize].extend(simple.numbers());
        }
        let named: Vec<ValueClasses> = texts
            .into_iter()
            .zip(numbers)
            .map(|(texts, numbers)| ValueClasses::new(texts, numbers))
            .collect();
        let mut counted: Vec<HashMap<ClassId, u32>> = vec![HashMap::new(); self.attributes.len()];
        for (simple, uses) in self.simples.iter().zip(uses) {
            let Some((simple, attribute)) = simple else { continue };
            let (classes, counted) = (&named[*attribute as usize], &mut counted[*attribute as usize]);
            for class in simple.texts().filter_map(|text| classes.named_text_class(text)) {
                *counted.entry(class).or_default() += uses;
            }
        }
        for ((attribute, classes), counted) in self.attributes.iter_mut().zip(named).zip(counted) {
            attribute.shares = ClassShares::new(&classes, &counted.into_iter().collect::<Vec<_>>());
            attribute.classes = classes;
        }
    }

    fn operand_kinds(&self, operand: Operand) -> KindSet {
        match operand {
            Operand::Slot(slot) => self.chunk.slots.get(slot.index()).map_or(KindSet::ALL, |slot| slot.kinds),
            _ => KindSet::ALL,
        }
    }

    /// Returns the prefilters of a predicate.
    fn literal_prefilters(&self, pred: usize) -> Vec<Prefilter> {
        let pred = &self.chunk.preds[pred];
        match pred.check {
            PredCheck::Keywords(id) if can_evaluate_early(self.chunk, pred.left) => {
                self.chunk.keywords.get(id as usize).map_or_else(Vec::new, find_prefilters)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the text mode in which texts are searched for a predicate's literals. For regular
    /// expressions, texts are unchanged.
    fn literal_mode(&self, pred: usize) -> TextMode {
        let pred = &self.chunk.preds[pred];
        match pred.check {
            PredCheck::Keywords(id) if !self.chunk.keywords[id as usize].search.prepares_texts() => {
                TextMode::PLAIN
            }
            _ => pred.mode.text,
        }
    }

    fn find_subjects(&mut self, prefilters: &[Vec<Prefilter>]) {
        for (pred, prefilters) in prefilters.iter().enumerate() {
            let operand = self.chunk.preds[pred].left;
            if prefilters.is_empty() || !self.operand_kinds(operand).overlaps(KindSet::STRING) {
                continue;
            }
            let mode = self.literal_mode(pred);
            let subjects = &mut self.subjects;
            let at = *self.subject_of.entry(operand).or_insert_with(|| {
                subjects.push(Subject {
                    operand,
                    pred: pred as u32,
                    fold: false,
                    plain: false,
                    modes: Vec::new(),
                    literals: HashMap::default(),
                });
                subjects.len() as u32 - 1
            });
            let subject = &mut subjects[at as usize];
            if mode.form == NormalizationForm::None {
                subject.plain = true;
                subject.fold |= mode.fold || prefilters.iter().any(|prefilter| prefilter.folded);
            } else if !subject.modes.contains(&mode) {
                subject.modes.push(mode);
            }
        }
    }

    fn find_atom_sets(&mut self, pred: usize, prefilters: Vec<Prefilter>) -> Vec<SetId> {
        match self.chunk.preds[pred].check {
            PredCheck::Keywords(id) => self.keyword_atom_sets(pred, id, prefilters),
            _ => self.class_atom_set(pred).into_iter().collect(),
        }
    }

    /// Returns the set of atoms that a comparison with constants requires; `None` if it requires
    /// none, so that it cannot provide a key.
    fn class_atom_set(&mut self, pred: usize) -> Option<SetId> {
        let (simple, attribute) = self.simples[pred].as_ref()?;
        let classes = &self.attributes[*attribute as usize].classes;
        let atoms: Vec<IndexAtom> = match simple {
            SimpleTest::Compare(Comparison::EQ, number) => {
                vec![IndexAtom::Class(*attribute, classes.class_of(&number.to_value()))]
            }
            SimpleTest::Text(text) => vec![IndexAtom::Class(*attribute, classes.named_text_class(text)?)],
            // Only the test can compare times, lists and dicts, so they make no key.
            SimpleTest::In(members)
                if members.bools == [false, false] && self.is_true_only_for_scalars(pred) =>
            {
                let texts = members.texts.iter().filter_map(|text| classes.named_text_class(text));
                let numbers = members.numbers.iter().map(|number| classes.class_of(&number.to_value()));
                texts.chain(numbers).map(|class| IndexAtom::Class(*attribute, class)).collect()
            }
            _ => return None,
        };
        Some(self.intern_set(atoms))
    }

    /// True if all elements of the predicate's list are texts or numbers, and the left value cannot
    /// be a time. A time equals texts in several notations.
    fn is_true_only_for_scalars(&self, pred: usize) -> bool {
        let pred = &self.chunk.preds[pred];
        let PredCheck::Members(id) = pred.check else {
            broken_invariant!("a predicate with a list of members tests for them");
            return false;
        };
        let list = self
            .chunk
            .members
            .get(id as usize)
            .and_then(|list| self.chunk.consts.get(list.constant as usize));
        let mut elements = list.and_then(|list| list.value().elements()).into_iter().flatten();
        !self.operand_kinds(pred.left).overlaps(KindSet::DATETIME)
            && elements.all(|element| {
                matches!(element, Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Wide(_))
            })
    }

    /// Returns the sets of atoms that a text predicate requires. `id` is the index of its keywords
    /// in `Chunk::keywords`.
    fn keyword_atom_sets(&mut self, pred: usize, id: u32, prefilters: Vec<Prefilter>) -> Vec<SetId> {
        let info = &self.chunk.preds[pred];
        let keywords = &self.chunk.keywords[id as usize];
        let kinds = self.operand_kinds(info.left);
        let all = keywords.all && prefilters.len() > 1;
        let (mode, literal_mode) = (info.mode, self.literal_mode(pred));
        let is_list = keywords.search.finds_elements() && kinds.overlaps(KindSet::LIST);
        // A list element must equal the whole keyword. A text need only contain the part that all
        // keywords share.
        let words: Vec<Box<str>> =
            keywords.words.iter().map(|word| (&*keywords.mode.prepare(word)).into()).collect();
        let operand = info.left;
        if prefilters.is_empty() || (is_list && keywords.all && prefilters.len() < words.len()) {
            return Vec::new();
        }
        let subject = self.subject_of.get(&operand).copied();
        let subject = subject.filter(|_| kinds.overlaps(KindSet::STRING));
        let attribute = is_list.then(|| self.attribute_id(pred as u32, operand, mode.text));
        let mut found = Vec::new();
        // Whether each literal is searched at the position that its prefilter requires.
        let mut placed = true;
        let mut sets = Vec::new();
        for (at, prefilter) in prefilters.iter().enumerate() {
            let mut atoms = Vec::new();
            if let Some(at) = subject {
                let subject = &mut self.subjects[at as usize];
                let fold = subject.fold && literal_mode.form == NormalizationForm::None;
                let mut group = Vec::with_capacity(prefilter.literals.len());
                for literal in &prefilter.literals {
                    let literal = if fold { text::fold(literal) } else { literal.clone() };
                    let next = subject.literals.len() as u32;
                    let anchor = if literal.len() > anchored_literals::MAX_LITERAL_BYTES {
                        Anchor::Anywhere
                    } else {
                        prefilter.anchor
                    };
                    placed &= anchor == prefilter.anchor;
                    let number = *subject.literals.entry((anchor, literal.into())).or_insert(next);
                    group.push(number);
                    atoms.push(IndexAtom::Literal(at, number));
                }
                group.sort_unstable();
                group.dedup();
                if let Some(last) = group.last_mut() {
                    *last |= LAST_IN_GROUP;
                }
                found.extend(group);
            }
            if let Some(attribute) = attribute {
                let all_words = mode.quantity == Some(Quantity::All) && words.len() > 1;
                let words = if all_words { &words[at..=at] } else { &words[..] };
                atoms.extend(words.iter().map(|word| IndexAtom::Element(attribute, word.clone())));
            }
            sets.push(atoms);
        }
        if let Some(at) = subject {
            let subject = &self.subjects[at as usize];
            // A literal found in the folded text may have different case in the text itself.
            let told = literal_mode.form != NormalizationForm::None
                || literal_mode.fold
                || !subject.fold
                || prefilters.iter().all(|r| r.literals.iter().all(|literal| text::is_folded(literal)));
            let enough = match all {
                true => prefilters.len() == words.len(),
                false => prefilters.iter().all(|prefilter| prefilter.exact),
            };
            let exact = told && enough && placed && keywords.occurrence_is_enough();
            let told =
                DecidingLiterals { subject: at, numbers: found, exact, plain: literal_mode.is_plain() };
            self.literals[pred] = (!told.numbers.is_empty()).then_some(told);
        }
        sets.into_iter().filter(|atoms| !atoms.is_empty()).map(|atoms| self.intern_set(atoms)).collect()
    }

    fn intern_set(&mut self, mut atoms: Vec<IndexAtom>) -> SetId {
        atoms.sort_unstable();
        atoms.dedup();
        let next = self.sets.len() as SetId;
        *self.sets.entry(atoms.into()).or_insert(next)
    }
}

/// Returns the estimated probability that a text of one or two sentences contains a literal. The
/// estimate depends on the literal's length. A Chinese character counts like 2.2 letters.
fn literal_probability(literal: &str) -> f64 {
    let weight: f64 = literal.chars().map(|c| if c.is_ascii() { 1.0 } else { 2.2 }).sum();
    match weight {
        w if w < 1.5 => 0.6,
        w if w < 2.5 => 0.25,
        w if w < 3.5 => 0.06,
        w if w < 4.6 => 0.02,
        w => (0.01 * 0.75_f64.powf(w - 5.0)).max(1e-5),
    }
}
