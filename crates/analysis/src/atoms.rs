//! Gives each predicate of a program an index (an *atom*) for the SAT solver. The *term* of an atom
//! is the operand that the predicate compares with a constant. The *paths* of an atom are the
//! message fields that the predicate reads. A *slot* is a field read as certain kinds of value, so
//! several slots may have one path.

mod paths;
mod result_range;

pub(super) use paths::ReadPath;

use super::budget::StepBudget;
use super::lift::{self, NormalToHir};
use super::prepared::PreparedTest;
use super::quantifier_shape::quantifier_shape;
use super::shape::{PredicateShape, predicate_shape};
use hashbrown::HashMap;
use result_range::{ResultRange, result_range};
use rulec_eval::evaluator::Evaluator;
use rulec_eval::host::HostCalls;
use rulec_lang::arena::Arena;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::{Enumeration, KindSet};
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{Cond, Expr, ExprKind, Part as HirPart, Program, Slot, SlotId};
use rulec_sema::normal::{CondId, ExprId, NormalCond, NormalExpr, NormalForm, Part, PossibleKinds, PredId};
use serde_json::{Map, Value as Json};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Arc;

/// A set of truth values (true, false, unknown), one bit for each.
pub(super) type TruthSet = u8;
pub(super) const TRUE: TruthSet = 1;
pub(super) const FALSE: TruthSet = 2;
pub(super) const UNKNOWN: TruthSet = 4;

pub(super) fn truth_bit(truth: Tri) -> TruthSet {
    match truth {
        Tri::True => TRUE,
        Tri::False => FALSE,
        Tri::Unknown => UNKNOWN,
    }
}

/// The requirement that the truth value of an atom (a predicate or quantifier) is in the set
/// `allowed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AtomLiteral {
    pub atom_index: usize,
    pub allowed: TruthSet,
}

/// A predicate or a quantifier, as the solver sees it. For a quantifier, only "true" and "not true"
/// are distinguished.
pub(super) struct Atom {
    /// The predicate or quantifier as a typed condition, which the reference evaluator can
    /// evaluate.
    cond: Cond,
    /// The atom's term (an operand that is compared with a constant), as an index into
    /// `AtomTable::terms`. Also the atom's condition with a message field in place of the term, so
    /// that single values of the term can be tested. `None` if the atom has no term.
    pub term_index_and_cond: Option<(usize, Cond)>,
    pub predicate_shape: Option<PredicateShape>,
    /// Message fields that the predicate or quantifier reads, as indexes into `AtomTable::paths`.
    pub path_indexes: SmallVec<[usize; 2]>,
    pub slots: SmallVec<[SlotId; 2]>,
    /// Whether the truth value depends on more than the message: on host functions, or on the named
    /// values of payload rules.
    pub reads_beyond_message: bool,
    /// Slot (message field) that the predicate tests with `is missing`; `None` for any other
    /// predicate.
    pub missing_slot: Option<SlotId>,
    /// The id of the atom's predicate among the conditions of the program's [`NormalForm`]; `None`
    /// for a quantifier.
    pub pred: Option<PredId>,
    /// The id of the atom's quantifier among the conditions of the program's [`NormalForm`]; `None`
    /// for a predicate.
    pub quantifier: Option<CondId>,
    /// The predicate, prepared for tests of many values of its left operand. `None` if the atom has
    /// no term (an operand compared with a constant), or if the term is not the left operand.
    prepared: Option<PreparedTest>,
    /// Number of steps (units of the work limit) that an evaluation of `cond` takes.
    evaluation_steps: usize,
    /// The truth value for a message without fields, once it has been computed.
    empty_message_truth: Cell<Option<TruthSet>>,
}

impl Atom {
    /// True if values of the term (the operand compared with a constant) are tested by a prepared
    /// test in [`AtomTable::value_satisfies`]. Such a test is much faster than the reference
    /// evaluator.
    pub fn is_prepared(&self) -> bool {
        self.prepared.is_some()
    }
}

/// A term: an operand that predicates compare with constants.
pub(super) struct SolverTerm {
    pub expr: ExprId,
    pub kinds: KindSet,
    pub range: ResultRange,
    /// Whether the operand is a message field itself, not a value computed from fields.
    pub is_slot: bool,
    /// The only texts that the operand may have; `None` unless the operand is a field with declared
    /// texts.
    pub allowed_texts: Option<Enumeration>,
    pub path_indexes: SmallVec<[usize; 2]>,
    /// Slot (message field) that is missing exactly when the operand is missing; `None` if there is
    /// no such slot.
    pub missing_with: Option<SlotId>,
    /// Slot of the field `$value`, which replaces the operand when a value of the operand is tested
    /// without a message.
    value_slot: SlotId,
}

/// Name of an artificial message field. The field contains the value of a term (an operand) while
/// conditions on that value are evaluated.
const TERM_VALUE_FIELD: &str = "$value";

/// Number of steps that are charged for preparing the reference evaluator for one evaluation.
const STEPS_TO_PREPARE_EVALUATOR: usize = 10;

/// The atoms (predicates and quantifiers) of a program, with the terms (compared operands) and
/// paths of the atoms. The table grows when an atom is first needed.
pub(super) struct AtomTable {
    pub atoms: Vec<Atom>,
    pub terms: Vec<SolverTerm>,
    pub paths: Vec<ReadPath>,
    atom_by_pred: HashMap<PredId, usize>,
    atom_by_cond: HashMap<CondId, usize>,
    term_by_expr: HashMap<ExprId, usize>,
    path_by_keys: HashMap<Vec<Arc<str>>, usize>,
    value_slot_by_kinds: HashMap<KindSet, SlotId>,
    /// Program that is passed to the evaluator. The program consists of slots (fields read as
    /// certain kinds of value): the slots of the real program, and artificial slots that hold the
    /// value of a term while this value is tested. Terms that may have the same kinds of value
    /// share an artificial slot.
    slot_program: Program,
    extern_kinds: Vec<KindSet>,
    /// The step budget of the analysis, from which each evaluation takes its steps.
    pub budget: StepBudget,
}

impl AtomTable {
    pub fn new(program: &Program) -> AtomTable {
        AtomTable {
            atoms: Vec::new(),
            terms: Vec::new(),
            paths: Vec::new(),
            atom_by_pred: HashMap::new(),
            atom_by_cond: HashMap::new(),
            term_by_expr: HashMap::new(),
            path_by_keys: HashMap::new(),
            value_slot_by_kinds: HashMap::new(),
            slot_program: Program {
                slots: program.slots.clone(),
                limits: program.limits,
                ..Program::default()
            },
            extern_kinds: program.externs.iter().map(|host| host.result.kinds).collect(),
            budget: StepBudget::default(),
        }
    }

    /// Returns the index of the predicate's atom (its entry in this table). The first call creates
    /// the atom.
    pub fn atom_of_pred(&mut self, normal: &NormalForm, id: PredId) -> usize {
        if let Some(existing_atom) = self.atom_by_pred.get(&id) {
            return *existing_atom;
        }
        let pred = normal.pred(id);
        let converter = NormalToHir { normal, replacement: None };
        let cond = converter.lift_pred(pred);
        let mut reads = SlotReads::default();
        reads.add_reads_of(normal, Part::Pred(id.0));
        let constants = (normal.constant(pred.left), pred.right.map(|right| normal.constant(right)));
        let (operand, constant, reversed) = match constants {
            (None, Some(Some(constant))) => (Some(pred.left), Some(constant), false),
            (None, None) => (Some(pred.left), None, false),
            (Some(constant), Some(None)) => (pred.right, Some(constant), true),
            _ => (None, None, false),
        };
        let op = lift::predicate_op(pred);
        let term = operand.map(|operand| {
            let term = self.term_index_of(normal, operand);
            let value_slot = self.terms[term].value_slot;
            (term, NormalToHir { normal, replacement: Some((operand, value_slot)) }.lift_pred(pred))
        });
        let prepared = term.as_ref().filter(|_| !reversed).map(|(term, _)| {
            let kinds = self.terms[*term].kinds;
            PreparedTest::new((op, pred.mode), constant, kinds, self.slot_program.limits)
        });
        let shape = term.as_ref().and_then(|_| predicate_shape(op, pred.mode, constant, reversed));
        let missing_slot = match normal.expr(pred.left) {
            NormalExpr::Slot(slot) if op == Some(Op::IsMissing) => Some(*slot),
            _ => None,
        };
        let atom = Atom {
            predicate_shape: shape,
            term_index_and_cond: term,
            missing_slot,
            pred: Some(id),
            prepared,
            ..self.new_atom(cond, reads)
        };
        let atom = self.push_atom(atom);
        self.atom_by_pred.insert(id, atom);
        atom
    }

    /// Returns the index of the quantifier's atom (its entry in this table). The first call creates
    /// the atom.
    pub fn atom_of_quantifier(&mut self, normal: &NormalForm, id: CondId) -> usize {
        if let Some(existing_atom) = self.atom_by_cond.get(&id) {
            return *existing_atom;
        }
        let mut reads = SlotReads::default();
        reads.add_reads_of(normal, Part::Cond(id.0));
        let cond = NormalToHir { normal, replacement: None }.lift_cond(id);
        let (term, shape) = quantifier_shape(normal, id)
            .map(|(list, shape)| {
                let term = self.term_index_of(normal, list);
                let replacement = Some((list, self.terms[term].value_slot));
                ((term, NormalToHir { normal, replacement }.lift_cond(id)), shape)
            })
            .unzip();
        let atom = self.push_atom(Atom {
            term_index_and_cond: term,
            predicate_shape: shape,
            quantifier: Some(id),
            ..self.new_atom(cond, reads)
        });
        self.atom_by_cond.insert(id, atom);
        atom
    }

    fn new_atom(&self, cond: Cond, reads: SlotReads) -> Atom {
        let reads_beyond_message = reads.reads_beyond_message
            || !reads.levels.is_empty()
            || reads.slots.iter().any(|slot| self.slot_program.slots[slot.index()].root.is_some());
        Atom {
            evaluation_steps: steps_of_part(HirPart::Cond(&cond)),
            cond,
            prepared: None,
            empty_message_truth: Cell::new(None),
            term_index_and_cond: None,
            predicate_shape: None,
            path_indexes: SmallVec::new(),
            slots: reads.slots,
            reads_beyond_message,
            missing_slot: None,
            pred: None,
            quantifier: None,
        }
    }

    fn push_atom(&mut self, mut atom: Atom) -> usize {
        atom.path_indexes = self.path_ids(&atom.slots);
        self.atoms.push(atom);
        self.atoms.len() - 1
    }

    fn term_index_of(&mut self, normal: &NormalForm, expr: ExprId) -> usize {
        if let Some(existing_term) = self.term_by_expr.get(&expr) {
            return *existing_term;
        }
        let kinds = PossibleKinds::new(&self.slot_program.slots, &self.extern_kinds).kinds_of(normal, expr);
        let slots = &mut self.slot_program.slots;
        let value_slot = *self.value_slot_by_kinds.entry(kinds).or_insert_with(|| {
            let path = vec![TERM_VALUE_FIELD.into()];
            slots.push(Slot { root: None, path, kinds, values: None, is_private: false });
            SlotId(slots.len() as u32 - 1)
        });
        let mut reads = SlotReads::default();
        reads.add_reads_of(normal, Part::Expr(expr.0));
        let is_slot = matches!(normal.expr(expr), NormalExpr::Slot(_));
        let values = match normal.expr(expr) {
            NormalExpr::Slot(slot) => self.slot_program.slots[slot.index()].values.clone(),
            _ => None,
        };
        let paths = self.path_ids(&reads.slots);
        let missing_with = self.slot_missing_with(normal, expr);
        let range = result_range(normal.expr(expr));
        self.terms.push(SolverTerm {
            expr,
            kinds,
            range,
            is_slot,
            allowed_texts: values,
            path_indexes: paths,
            missing_with,
            value_slot,
        });
        self.term_by_expr.insert(expr, self.terms.len() - 1);
        self.terms.len() - 1
    }

    /// Returns the slot (message field) that is missing exactly when the value of an expression is
    /// missing. The expression must be the slot itself, or a function of the slot that has a result
    /// for every argument. `None` for other expressions.
    fn slot_missing_with(&self, normal: &NormalForm, expr: ExprId) -> Option<SlotId> {
        match normal.expr(expr) {
            NormalExpr::Slot(slot) => Some(*slot),
            NormalExpr::Call(function, args) => {
                let ([arg], [(_, param_kinds)]) = (&**args, &function.info().params[..1]) else {
                    return None;
                };
                let is_total = matches!(
                    function,
                    Function::Len
                        | Function::Lower
                        | Function::Upper
                        | Function::Trim
                        | Function::Hour
                        | Function::Minute
                        | Function::Weekday
                        | Function::Day
                        | Function::Month
                        | Function::Year
                        | Function::Date
                        | Function::Time
                );
                // `date` and `time` have no result for a text that is not a date-time.
                let accepted = match function {
                    Function::Date | Function::Time => KindSet::DATETIME,
                    _ => *param_kinds,
                };
                let NormalExpr::Slot(slot) = normal.expr(*arg) else { return None };
                let slot_kinds = self.slot_program.slots[slot.index()].kinds;
                (is_total && slot_kinds.is_subset_of(accepted)).then_some(*slot)
            }
            _ => None,
        }
    }

    /// Evaluates an atom (a predicate or quantifier) for a message. Returns the truth value as a
    /// set of one bit. If too few steps are left, returns the empty set, and the budget is
    /// exhausted.
    pub fn truth_of_atom(&self, atom: usize, message: &Json) -> TruthSet {
        let atom = &self.atoms[atom];
        if let Some((prepared, value)) = self.prepared_for_message(atom, message) {
            return self.run_prepared_test(prepared, value);
        }
        self.evaluate(&atom.cond, atom.evaluation_steps, message)
    }

    /// Returns the test that was prepared for a predicate, with the value in `message` to which the
    /// test applies. `None` unless the predicate compares a field of the message with a constant.
    fn prepared_for_message<'t, 'm>(
        &'t self,
        atom: &'t Atom,
        message: &'m Json,
    ) -> Option<(&'t PreparedTest, Value<'m>)> {
        let (prepared, (term, _)) = atom.prepared.as_ref().zip(atom.term_index_and_cond.as_ref())?;
        if !self.terms[*term].is_slot {
            return None;
        }
        let slot = &self.slot_program.slots[atom.slots.first()?.index()];
        let value = Value::from_json(message);
        let field = slot.path.iter().fold(value, |value, key| value.field(key));
        slot.root.is_none().then(|| (prepared, field.read_one_of(slot.values.as_ref())))
    }

    fn run_prepared_test(&self, prepared: &PreparedTest, value: Value<'_>) -> TruthSet {
        if self.budget.charge(prepared.evaluation_steps(value)) { truth_bit(prepared.test(value)) } else { 0 }
    }

    /// Evaluates an atom (a predicate or quantifier) for a message without fields. The result is a
    /// set of one truth value.
    pub fn truth_for_empty_message(&self, atom: usize) -> TruthSet {
        let cached = &self.atoms[atom].empty_message_truth;
        cached.get().unwrap_or_else(|| {
            let truth = self.truth_of_atom(atom, &Json::Object(Map::new()));
            cached.set(Some(truth).filter(|truth| *truth != 0));
            truth
        })
    }

    /// True if a message satisfies the literal: the truth value of the literal's predicate is one
    /// of the allowed values.
    pub fn message_satisfies(&self, literal: AtomLiteral, message: &Json) -> bool {
        self.truth_of_atom(literal.atom_index, message) & literal.allowed != 0
    }

    /// Returns the typed condition of an atom (a predicate or quantifier).
    pub fn cond_of_atom(&self, atom: usize) -> &Cond {
        &self.atoms[atom].cond
    }

    /// True if `value` satisfies the literal (the required truth value of a predicate), when it is
    /// the value of the operand that the predicate compares. Also true if the predicate compares no
    /// such operand, because the literal then restricts no single operand.
    pub fn value_satisfies(&self, literal: AtomLiteral, value: &Json) -> bool {
        let atom = &self.atoms[literal.atom_index];
        let Some((_, cond)) = &atom.term_index_and_cond else { return true };
        let truth = match &atom.prepared {
            Some(prepared) => self.run_prepared_test(prepared, Value::from_json(value)),
            None => {
                let message = match value {
                    Json::Null => Map::new(),
                    value => Map::from_iter([(TERM_VALUE_FIELD.to_owned(), value.clone())]),
                };
                self.evaluate(cond, atom.evaluation_steps, &Json::Object(message))
            }
        };
        truth & literal.allowed != 0
    }

    /// Evaluates a condition with the reference evaluator. This uses up `steps` steps of the budget
    /// of the analysis. Returns the empty set if the budget has too few steps left.
    fn evaluate(&self, cond: &Cond, steps: usize, message: &Json) -> TruthSet {
        if !self.budget.charge(STEPS_TO_PREPARE_EVALUATOR.saturating_add(steps)) {
            return 0;
        }
        let arena = Arena::new(&self.slot_program.limits);
        truth_bit(Evaluator::new(&self.slot_program, message, &arena, HostCalls::new(&[])).eval_cond(cond))
    }

    /// True if two message paths are equal, or one is a prefix of the other. A change of one field
    /// then also changes the other field.
    pub fn paths_overlap(&self, path: usize, other: usize) -> bool {
        let (a, b) = (&self.paths[path].keys, &self.paths[other].keys);
        a.starts_with(b) || b.starts_with(a)
    }

    pub fn slot(&self, slot: SlotId) -> &Slot {
        &self.slot_program.slots[slot.index()]
    }
}

/// Returns the number of steps to charge for evaluating a part of the typed program: the number of
/// its nodes, plus half the number of elements in its constant lists.
fn steps_of_part(part: HirPart<'_>) -> usize {
    let own = match part {
        HirPart::Expr(Expr { kind: ExprKind::Const(constant), .. }) => {
            constant.value().list_len().unwrap_or(0) / 2
        }
        _ => 1,
    };
    part.parts().into_iter().map(steps_of_part).fold(own, usize::saturating_add)
}

/// The slots that a condition reads, and whether it also reads anything outside the message, such
/// as the result of a host function.
#[derive(Default)]
struct SlotReads {
    slots: SmallVec<[SlotId; 2]>,
    reads_beyond_message: bool,
    /// The levels of the quantifiers that contain the examined condition and whose elements the
    /// condition reads. A level is a number that distinguishes nested quantifiers.
    levels: SmallVec<[u32; 2]>,
}

impl SlotReads {
    /// Adds everything that a condition or expression reads, including the reads of its operands.
    fn add_reads_of(&mut self, normal: &NormalForm, part: Part) {
        if let Part::Expr(id) = part {
            match normal.expr(ExprId(id)) {
                NormalExpr::Slot(slot) if !self.slots.contains(slot) => self.slots.push(*slot),
                NormalExpr::Extern(..) | NormalExpr::History(_) => self.reads_beyond_message = true,
                NormalExpr::Var(level) => self.levels.push(*level),
                _ => {}
            }
        }
        normal.for_each_child(part, &mut |part| self.add_reads_of(normal, part));
        let own_level = match part {
            Part::Cond(id) => match normal.cond(CondId(id)) {
                NormalCond::Each { level, .. } => Some(*level),
                _ => None,
            },
            Part::Expr(id) => match normal.expr(ExprId(id)) {
                NormalExpr::Fold { level, .. } | NormalExpr::Quantifier { level, .. } => Some(*level),
                _ => None,
            },
            Part::Pred(_) => None,
        };
        if let Some(own_level) = own_level {
            self.levels.retain(|level| *level != own_level);
        }
    }
}
