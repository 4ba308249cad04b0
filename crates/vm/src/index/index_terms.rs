//! Atoms: facts that can be looked up in a message, such as a literal in a text. A predicate
//! requires *sets* of atoms: whenever the predicate is true, the message has at least one atom of
//! each set.

mod early_evaluation;

use super::anchored_literals;
use super::attribute::{ClassId, ClassPredicate, RuleNumber, ValueClasses};
use super::prefilter::{Prefilter, find_prefilters};
use super::selectivity::{ClassShares, count_predicate_uses};
use crate::bytecode::chunk::{Chunk, Operand, PredCheck};
use crate::bytecode::instr::Comparison;
use early_evaluation::can_evaluate_early;
use hashbrown::{HashMap, HashSet};
use rulec_base::broken_invariant;
use rulec_base::text::{self, TextMode};
use rulec_lang::operators::{Anchor, Quantity};
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_sema::normal::NormalForm;

/// Id of a distinct set of atoms (facts about a message).
pub type AtomSetId = u32;

/// A fact that can be looked up in a message, such as a literal in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexAtom {
    /// A scanned text contains a literal. The fields are the subject (text) id and the literal id.
    Literal(u32, u32),
    /// A message value (attribute) is in an equivalence class. The fields are the attribute id and
    /// the class.
    Class(u32, ClassId),
    /// A message value (attribute) is a list that contains a text. The fields are the attribute id
    /// and the text.
    Element(u32, Box<str>),
}

/// A text of the message that is scanned for literals.
#[derive(Debug)]
pub struct ScannedText {
    pub operand: Operand,
    pub first_pred: u32,
    /// Whether the text is case-folded before the scan. If it is, the literals are folded too.
    pub folds_case: bool,
    /// Whether the text is also scanned as it is or, if `folds_case` is set, with only its case
    /// folded.
    pub is_scanned_plain: bool,
    /// The text is also scanned in these modes, with Unicode normalization or full case folding.
    pub further_modes: Vec<TextMode>,
    /// The id within this text of each literal, by the literal's required position and its text.
    pub literal_ids: HashMap<(Anchor, Box<str>), u32, foldhash::fast::FixedState>,
}

impl ScannedText {
    /// Returns all text modes in which the text is scanned.
    pub fn text_modes(&self) -> impl Iterator<Item = TextMode> {
        let unnormalized_mode =
            self.is_scanned_plain.then_some(TextMode { folds_case: self.folds_case, ..TextMode::PLAIN });
        unnormalized_mode.into_iter().chain(self.further_modes.iter().copied())
    }
}

/// A value of the message whose equivalence class can be looked up. A text is read in one text
/// mode.
#[derive(Debug)]
pub struct IndexedAttribute {
    pub operand: Operand,
    pub first_pred: u32,
    /// Text mode to which the value is normalized if it is a text.
    pub mode: TextMode,
    pub classes: ValueClasses,
    pub shares: ClassShares,
}

/// The literals in a text that decide the result of a predicate.
#[derive(Clone, Debug)]
pub struct DecidingLiterals {
    /// Id of the subject (scanned text) that is searched for the literals.
    pub subject_id: u32,
    /// Literal ids, in groups. If the predicate is true, the text contains at least one literal of
    /// each group. [`LAST_IN_GROUP_FLAG`] marks the last id of each group.
    pub literal_ids: Vec<u32>,
    /// Whether the literals are sufficient, not only necessary. If true, the predicate is true for
    /// every normalized text that contains at least one literal of each group.
    pub are_literals_sufficient: bool,
    /// Whether the predicate's text mode (normalization and case folding) changes no text.
    pub is_mode_plain: bool,
}

/// Flag in an id of [`DecidingLiterals::literal_ids`]: the literal is the last of its group.
pub const LAST_IN_GROUP_FLAG: u32 = 1 << 31;

/// The atoms (facts about a message) that the index of a rule set looks up.
#[derive(Debug)]
pub struct IndexAtoms<'c> {
    pub chunk: &'c Chunk,
    pub subjects: Vec<ScannedText>,
    pub attributes: Vec<IndexedAttribute>,
    subject_ids: HashMap<Operand, u32>,
    attribute_ids: HashMap<(Operand, TextMode), u32>,
    /// For each predicate, the equivalent [`ClassPredicate`] with its attribute id. `None` if there
    /// is none, or if the operand must not be evaluated before a condition needs it.
    class_predicates: Vec<Option<(ClassPredicate, u32)>>,
    set_ids: HashMap<Box<[IndexAtom]>, AtomSetId, foldhash::fast::FixedState>,
    /// For each set of atoms (facts), the estimated probability that a message has one of them.
    pub probability_by_set: Vec<f64>,
    /// For each predicate, the sets of atoms (facts about a message) that it requires. If the
    /// predicate is true, the message has an atom of each set.
    sets_by_pred: Vec<Option<Box<[AtomSetId]>>>,
    /// For each predicate, the literals in a text that decide its result, if there are any.
    pub deciding_literals: Vec<Option<DecidingLiterals>>,
}

impl<'c> IndexAtoms<'c> {
    /// Collects the atoms (facts about a message) that the predicates of a rule set require.
    pub fn new(normal: &NormalForm, chunk: &'c Chunk) -> IndexAtoms<'c> {
        let mut atoms = IndexAtoms {
            chunk,
            subjects: Vec::new(),
            attributes: Vec::new(),
            subject_ids: HashMap::new(),
            attribute_ids: HashMap::new(),
            class_predicates: Vec::new(),
            set_ids: HashMap::default(),
            probability_by_set: Vec::new(),
            sets_by_pred: Vec::new(),
            deciding_literals: vec![None; chunk.preds.len()],
        };
        atoms.find_attributes(&count_predicate_uses(normal));
        let prefilters: Vec<Vec<Prefilter>> =
            (0..chunk.preds.len()).map(|pred| atoms.find_literal_prefilters(pred)).collect();
        atoms.find_subjects(&prefilters);
        for (pred, prefilters) in prefilters.into_iter().enumerate() {
            let sets = atoms.find_atom_sets(pred, prefilters);
            atoms.sets_by_pred.push((!sets.is_empty()).then(|| sets.into()));
        }
        atoms.probability_by_set = atoms.compute_set_probabilities();
        atoms
    }

    /// Returns, for each set of atoms (facts about a message), the estimated probability that a
    /// message has one of the atoms.
    fn compute_set_probabilities(&self) -> Vec<f64> {
        let literals = self.literals_by_subject();
        let mut elements: Vec<HashSet<&str, foldhash::fast::FixedState>> = Vec::new();
        elements.resize_with(self.attributes.len(), HashSet::default);
        for atom in self.set_ids.keys().flatten() {
            if let IndexAtom::Element(attribute, text) = atom {
                elements[*attribute as usize].insert(text);
            }
        }
        let atom_probability = |atom: &IndexAtom| match atom {
            IndexAtom::Literal(subject, number) => {
                literal_probability(literals[*subject as usize][*number as usize].1)
            }
            IndexAtom::Class(attribute, class) => {
                self.attributes[*attribute as usize].shares.share_of_constant_class(*class)
            }
            // Assumes that a list has one or two of the elements that rules name.
            IndexAtom::Element(attribute, _) => 1.5 / (elements[*attribute as usize].len() + 4) as f64,
        };
        let mut probabilities = vec![0.0; self.set_ids.len()];
        for (atoms, id) in &self.set_ids {
            probabilities[*id as usize] = atoms.iter().map(atom_probability).sum::<f64>().min(1.0);
        }
        probabilities
    }

    /// Returns the sets of atoms (facts) that predicate number `pred` requires. If the predicate is
    /// true, the message has an atom of every set, so each set can be a key.
    pub fn atom_sets(&self, pred: u32) -> &[AtomSetId] {
        self.sets_by_pred.get(pred as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Returns the atoms (facts about a message) of each set, indexed by set id.
    pub fn atoms_by_set(&self) -> Vec<&[IndexAtom]> {
        let mut atoms_by_id: Vec<&[IndexAtom]> = vec![&[]; self.set_ids.len()];
        for (atoms, id) in &self.set_ids {
            atoms_by_id[*id as usize] = atoms;
        }
        atoms_by_id
    }

    /// Returns, for each attribute (message value), the constants in the rules by equivalence
    /// class. The constants are written as an author writes them.
    pub fn constants_by_class(&self) -> Vec<HashMap<ClassId, String>> {
        let mut names = vec![HashMap::new(); self.attributes.len()];
        for (test, attribute) in self.class_predicates.iter().flatten() {
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

    /// Returns, for each scanned text, its literals by literal id, each with its required position.
    pub fn literals_by_subject(&self) -> Vec<Vec<(Anchor, &str)>> {
        let mut literals_by_id = Vec::new();
        for subject in &self.subjects {
            let mut literals = vec![(Anchor::Anywhere, ""); subject.literal_ids.len()];
            for ((anchor, literal), number) in &subject.literal_ids {
                literals[*number as usize] = (*anchor, literal);
            }
            literals_by_id.push(literals);
        }
        literals_by_id
    }

    /// Returns the name of a field of the message, as an author writes it.
    pub fn slot_name(&self, slot: rulec_sema::hir::SlotId) -> &str {
        self.chunk.slots.get(slot.index()).map_or("", |slot| &slot.name)
    }

    /// Returns the [`ClassPredicate`] (decided by the equivalence class of one value) that is
    /// equivalent to predicate number `pred`, with its attribute id; `None` if there is none.
    pub fn class_predicate(&self, pred: u32) -> Option<&(ClassPredicate, u32)> {
        self.class_predicates.get(pred as usize)?.as_ref()
    }

    fn attribute_id(&mut self, pred: u32, operand: Operand, mode: TextMode) -> u32 {
        let attributes = &mut self.attributes;
        *self.attribute_ids.entry((operand, mode)).or_insert_with(|| {
            let (classes, shares) = (ValueClasses::new(None, None), ClassShares::default());
            attributes.push(IndexedAttribute { operand, first_pred: pred, mode, classes, shares });
            attributes.len() as u32 - 1
        })
    }

    fn find_attributes(&mut self, uses: &[u32]) {
        for pred in 0..self.chunk.preds.len() as u32 {
            let operand = self.chunk.preds[pred as usize].left;
            let test = ClassPredicate::from_pred(self.chunk, pred)
                .filter(|_| can_evaluate_early(self.chunk, operand));
            let test = test.map(|(test, mode)| (test, self.attribute_id(pred, operand, mode)));
            self.class_predicates.push(test);
        }
        let (mut texts, mut numbers) =
            (vec![Vec::new(); self.attributes.len()], vec![Vec::new(); self.attributes.len()]);
        for (test, attribute) in self.class_predicates.iter().flatten() {
            texts[*attribute as usize].extend(test.texts());
            numbers[*attribute as usize].extend(test.numbers());
        }
        let new_classes: Vec<ValueClasses> = texts
            .into_iter()
            .zip(numbers)
            .map(|(texts, numbers)| ValueClasses::new(texts, numbers))
            .collect();
        let mut use_counts: Vec<HashMap<ClassId, u32>> = vec![HashMap::new(); self.attributes.len()];
        for (test, uses) in self.class_predicates.iter().zip(uses) {
            let Some((test, attribute)) = test else { continue };
            let (classes, use_counts) =
                (&new_classes[*attribute as usize], &mut use_counts[*attribute as usize]);
            for class in test.texts().filter_map(|text| classes.class_of_constant_text(text)) {
                *use_counts.entry(class).or_default() += uses;
            }
        }
        for ((attribute, classes), use_counts) in self.attributes.iter_mut().zip(new_classes).zip(use_counts)
        {
            attribute.shares = ClassShares::new(&classes, &use_counts.into_iter().collect::<Vec<_>>());
            attribute.classes = classes;
        }
    }

    fn operand_kinds(&self, operand: Operand) -> KindSet {
        match operand {
            Operand::Slot(slot) => {
                self.chunk.slots.get(slot.index()).map_or(KindSet::MESSAGE_KINDS, |slot| slot.kinds)
            }
            _ => KindSet::MESSAGE_KINDS,
        }
    }

    /// Returns the prefilters of predicate number `pred`: the sets of literals of which a text must
    /// contain one for the predicate to be true. The list is empty if no literal is required.
    fn find_literal_prefilters(&self, pred: usize) -> Vec<Prefilter> {
        let pred = &self.chunk.preds[pred];
        match pred.check {
            PredCheck::Keywords(id) if can_evaluate_early(self.chunk, pred.left) => {
                self.chunk.keywords.get(id as usize).map_or_else(Vec::new, find_prefilters)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the text mode in which texts are searched for the literals of predicate number
    /// `pred`. For regular expressions, texts are unchanged.
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
            let subject_id = *self.subject_ids.entry(operand).or_insert_with(|| {
                subjects.push(ScannedText {
                    operand,
                    first_pred: pred as u32,
                    folds_case: false,
                    is_scanned_plain: false,
                    further_modes: Vec::new(),
                    literal_ids: HashMap::default(),
                });
                subjects.len() as u32 - 1
            });
            let subject = &mut subjects[subject_id as usize];
            if mode.maps_single_chars() {
                subject.is_scanned_plain = true;
                subject.folds_case |=
                    mode.folds_case || prefilters.iter().any(|prefilter| prefilter.is_case_folded);
            } else if !subject.further_modes.contains(&mode) {
                subject.further_modes.push(mode);
            }
        }
    }

    fn find_atom_sets(&mut self, pred: usize, prefilters: Vec<Prefilter>) -> Vec<AtomSetId> {
        match self.chunk.preds[pred].check {
            PredCheck::Keywords(id) => self.build_keyword_atom_sets(pred, id, prefilters),
            _ => self.build_class_atom_set(pred).into_iter().collect(),
        }
    }

    /// Builds the set of atoms (alternative facts) that predicate number `pred`, a comparison with
    /// constants, requires. `None` if no fact is required, so that the predicate provides no key.
    fn build_class_atom_set(&mut self, pred: usize) -> Option<AtomSetId> {
        let (test, attribute) = self.class_predicates[pred].as_ref()?;
        let classes = &self.attributes[*attribute as usize].classes;
        let atoms: Vec<IndexAtom> = match test {
            ClassPredicate::Compare(Comparison::EQ, number) => {
                vec![IndexAtom::Class(*attribute, classes.class_of(&number.to_value()))]
            }
            ClassPredicate::Text(text) => {
                vec![IndexAtom::Class(*attribute, classes.class_of_constant_text(text)?)]
            }
            // Times, lists and dicts have no class of their own, so they cannot be keys.
            ClassPredicate::In(members)
                if members.has_false_and_true == [false, false] && self.elements_can_be_keys(pred) =>
            {
                let texts = members.texts.iter().filter_map(|text| classes.class_of_constant_text(text));
                let numbers = members.numbers.iter().map(|number| classes.class_of(&number.to_value()));
                texts.chain(numbers).map(|class| IndexAtom::Class(*attribute, class)).collect()
            }
            _ => return None,
        };
        Some(self.intern_set(atoms))
    }

    /// True if the elements of the list in `LEFT in LIST` can be keys: all are texts or numbers,
    /// and `LEFT` is no time or decimal, which equals several texts, such as `1.5` and `1.50`.
    fn elements_can_be_keys(&self, pred: usize) -> bool {
        let pred = &self.chunk.preds[pred];
        let PredCheck::Members(id) = pred.check else {
            broken_invariant!("a predicate with a list of members tests for them");
            return false;
        };
        let list = self
            .chunk
            .member_lists
            .get(id as usize)
            .and_then(|list| self.chunk.consts.get(list.constant_index as usize));
        let mut elements = list.and_then(|list| list.value().elements()).into_iter().flatten();
        !self.operand_kinds(pred.left).overlaps(KindSet::DATETIME.union(KindSet::DECIMAL))
            && elements.all(|element| {
                matches!(element, Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Wide(_))
            })
    }

    /// Builds the sets of atoms (facts) that a text predicate requires, one for each prefilter (set
    /// of required literals). `id` is the index of its keywords in `Chunk::keywords`.
    fn build_keyword_atom_sets(
        &mut self,
        pred: usize,
        id: u32,
        prefilters: Vec<Prefilter>,
    ) -> Vec<AtomSetId> {
        let predicate = &self.chunk.preds[pred];
        let keywords = &self.chunk.keywords[id as usize];
        let operand_kinds = self.operand_kinds(predicate.left);
        let needs_all = keywords.requires_all && prefilters.len() > 1;
        let (mode, literal_mode) = (predicate.mode, self.literal_mode(pred));
        let is_list = keywords.search.finds_elements() && operand_kinds.overlaps(KindSet::LIST);
        // A list element must equal the whole keyword. A text need only contain the part that all
        // keywords share.
        let words: Vec<Box<str>> =
            keywords.words.iter().map(|word| (&*keywords.mode.prepare(word)).into()).collect();
        let operand = predicate.left;
        if prefilters.is_empty() || (is_list && keywords.requires_all && prefilters.len() < words.len()) {
            return Vec::new();
        }
        let subject = self.subject_ids.get(&operand).copied();
        let subject = subject.filter(|_| operand_kinds.overlaps(KindSet::STRING));
        let attribute = is_list.then(|| self.attribute_id(pred as u32, operand, mode.text));
        let mut literal_ids = Vec::new();
        // Whether each literal is searched at the position that its prefilter requires.
        let mut anchors_kept = true;
        let mut sets = Vec::new();
        for (at, prefilter) in prefilters.iter().enumerate() {
            let mut atoms = Vec::new();
            if let Some(subject_id) = subject {
                let subject = &mut self.subjects[subject_id as usize];
                let fold = subject.folds_case && literal_mode.maps_single_chars();
                let mut group_ids = Vec::with_capacity(prefilter.literals.len());
                for literal in &prefilter.literals {
                    let literal = if fold { text::fold_text(literal) } else { literal.clone() };
                    let next_id = subject.literal_ids.len() as u32;
                    let anchor = if literal.len() > anchored_literals::MAX_LITERAL_BYTES {
                        Anchor::Anywhere
                    } else {
                        prefilter.anchor
                    };
                    anchors_kept &= anchor == prefilter.anchor;
                    let literal_id = *subject.literal_ids.entry((anchor, literal.into())).or_insert(next_id);
                    group_ids.push(literal_id);
                    atoms.push(IndexAtom::Literal(subject_id, literal_id));
                }
                group_ids.sort_unstable();
                group_ids.dedup();
                if let Some(last) = group_ids.last_mut() {
                    *last |= LAST_IN_GROUP_FLAG;
                }
                literal_ids.extend(group_ids);
            }
            if let Some(attribute) = attribute {
                let all_words = mode.quantity == Some(Quantity::All) && words.len() > 1;
                let words = if all_words { &words[at..=at] } else { &words[..] };
                atoms.extend(words.iter().map(|word| IndexAtom::Element(attribute, word.clone())));
            }
            sets.push(atoms);
        }
        if let Some(subject_id) = subject {
            let subject = &self.subjects[subject_id as usize];
            // Whether case matches too: a folded literal may have another case in the text itself.
            let case_known = !literal_mode.maps_single_chars()
                || literal_mode.folds_case
                || !subject.folds_case
                || prefilters.iter().all(|r| r.literals.iter().all(|literal| text::is_folded(literal)));
            let words_covered = match needs_all {
                true => prefilters.len() == words.len(),
                false => prefilters.iter().all(|prefilter| prefilter.is_literal_sufficient),
            };
            let exact = case_known && words_covered && anchors_kept && keywords.occurrence_is_enough();
            let plain = literal_mode.is_plain();
            let deciding = DecidingLiterals {
                subject_id,
                literal_ids,
                are_literals_sufficient: exact,
                is_mode_plain: plain,
            };
            self.deciding_literals[pred] = (!deciding.literal_ids.is_empty()).then_some(deciding);
        }
        sets.into_iter().filter(|atoms| !atoms.is_empty()).map(|atoms| self.intern_set(atoms)).collect()
    }

    fn intern_set(&mut self, mut atoms: Vec<IndexAtom>) -> AtomSetId {
        atoms.sort_unstable();
        atoms.dedup();
        let next_id = self.set_ids.len() as AtomSetId;
        *self.set_ids.entry(atoms.into()).or_insert(next_id)
    }
}

/// Returns the estimated probability that a text of one or two sentences contains a literal, by the
/// literal's length. A non-ASCII character counts like 2.2 letters, because it is rarer.
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
