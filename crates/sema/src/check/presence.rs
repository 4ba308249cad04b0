//! Proves that a value is present wherever a condition is true. The arguments of a route are
//! computed only if the route's condition is true. So an argument that this proof covers needs no
//! default by `??`.
//!
//! The proof follows the three-valued logic: a missing operand makes a comparison unknown. A
//! comparison that is known to be true or false therefore has all its operands. The value that must
//! be proven present is the *goal*.

use super::Checker;
use super::capture::{always_captures, regex_with_case_flag};
use super::fields::{MessageFields, field_of_type};
use super::known::may_be_invalid;
use crate::hir::{
    Cond, CondKind, Const, Expr, ExprKind, Fold, LetId, MAX_CONDITION_NODES, Operand, Part, Predicate,
    Program, Term,
};
use crate::request::AnalysisFeature;
use rulec_base::decimal::Decimal;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Ty};
use rulec_lang::value::Value;
use std::sync::Arc;

/// Maximum number of steps of one proof. After that, the proof gives up: the value may be missing.
const MAX_PROOF_STEPS: u64 = 2 * MAX_CONDITION_NODES;

impl Checker<'_> {
    /// True if a value may be missing although the message satisfies the `input` contract and
    /// `condition` is true. Without a condition, only the contract is known.
    pub(super) fn may_be_missing(&self, value: &Expr, condition: Option<&Cond>) -> bool {
        let true_conditions = condition.into_iter().collect();
        let mut proof =
            PresenceProof { program: &self.program, fields: &self.fields, true_conditions, step_count: 0 };
        proof.may_be_missing(value)
    }
}

/// A proof that values are present in every message for which given conditions are true.
struct PresenceProof<'p> {
    program: &'p Program,
    fields: &'p MessageFields,
    /// The conditions that are known to be true where the tested value is computed.
    true_conditions: Vec<&'p Cond>,
    step_count: u64,
}

/// What a proof must show to be present: a field, the value of an expression, or a
/// regular-expression match.
#[derive(Clone, Copy)]
enum PresenceGoal<'g> {
    /// The message field at this path, as a value of one of these kinds.
    Field(&'g [Arc<str>], KindSet),
    /// The value of this expression. A missing operand makes a condition unknown. So the value is
    /// present if a condition that is known to be true or false reads an equal expression.
    Value(&'g Expr),
    /// A match of the regular expression (second entry) in the text (first entry). Such a match
    /// proves that `capture` returns a text.
    Match(&'g Expr, &'g str),
}

impl<'p> PresenceProof<'p> {
    /// True if the value may be missing even if the message satisfies the `input` contract and all
    /// known conditions are true.
    fn may_be_missing(&mut self, value: &'p Expr) -> bool {
        if !self.count_step() {
            return true;
        }
        match &value.kind {
            ExprKind::Const(_) | ExprKind::List(_) | ExprKind::Var(_) => return false,
            ExprKind::Let(id) => return self.part_may_be_missing(self.program.let_body(*id).as_part()),
            ExprKind::Slot(_) | ExprKind::Cond(_) | ExprKind::If { .. } => {}
            ExprKind::Op(Op::Coalesce, left, right) => {
                return self.may_be_missing(left)
                    && right.as_ref().is_none_or(|right| self.may_be_missing(right));
            }
            _ if self.is_proven(PresenceGoal::Value(value)) => return false,
            _ => {}
        }
        if let Some((path, kinds)) = self.field_path(value) {
            return self.field_may_be_missing(&path, kinds);
        }
        match &value.kind {
            ExprKind::Field(base, name) => {
                self.may_be_missing(base) || member_may_be_missing(&base.ty, name, KindSet::EVERY_KIND)
            }
            ExprKind::Read(inner, kinds) => match &inner.kind {
                ExprKind::Field(base, name) => {
                    self.may_be_missing(base) || member_may_be_missing(&base.ty, name, *kinds)
                }
                // `read_as_declared` added this read. An element is assumed to have its declared
                // type.
                ExprKind::Call(function, _) if function.info().returns_elements() => {
                    self.may_be_missing(inner)
                }
                _ => !inner.ty.kinds.is_subset_of(kinds.with_accepted_kinds()) || self.may_be_missing(inner),
            },
            ExprKind::Op(op, left, right) => {
                let may_divide_by_zero = matches!(op, Op::Div | Op::Rem)
                    && right.as_deref().is_none_or(|divisor| !is_nonzero_constant(divisor));
                may_divide_by_zero
                    || self.may_be_missing(left)
                    || right.as_ref().is_some_and(|right| self.may_be_missing(right))
            }
            ExprKind::Call(function, args) => {
                let params = function.info().params;
                (function.info().missing_result_reason().is_some() && !self.surely_captures(*function, args))
                    || args.iter().enumerate().any(|(index, arg)| {
                        let (param, _) = params[index.min(params.len() - 1)];
                        may_be_invalid(*function, param, arg) || self.may_be_missing(arg)
                    })
            }
            ExprKind::Extern(id, args) => {
                let feature = self.program.externs[id.index()].feature;
                feature.is_none_or(AnalysisFeature::may_find_nothing)
                    || args.iter().any(|arg| self.may_be_missing(arg))
            }
            ExprKind::Fold { fold: Fold::Count, list, .. } => self.may_be_missing(list),
            ExprKind::Window { list, operand, .. } => {
                self.may_be_missing(list) || self.may_be_missing(operand)
            }
            ExprKind::Cond(cond) => self.may_be_unknown(cond),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                self.true_conditions.push(cond);
                let then_may_be_missing = self.may_be_missing(then);
                self.true_conditions.pop();
                then_may_be_missing || self.may_be_missing(other)
            }
            _ => true,
        }
    }

    /// True for a call of `capture` whose result is surely present. A true condition proves that
    /// the regular expression matches, and each match includes the group.
    fn surely_captures(&mut self, function: Function, args: &[Expr]) -> bool {
        let [text, pattern, group @ ..] = args else { return false };
        let pattern = pattern.as_const().and_then(|pattern| pattern.value().as_str());
        let Some(pattern) = pattern.filter(|_| function == Function::Capture) else { return false };
        let group = group.first().and_then(Expr::as_const).map(Const::value);
        always_captures(pattern, group) && self.is_proven(PresenceGoal::Match(text, pattern))
    }

    /// Counts one step of the proof. Returns false when the limit is exceeded; the proof then
    /// fails.
    fn count_step(&mut self) -> bool {
        self.step_count += 1;
        self.step_count <= MAX_PROOF_STEPS
    }

    fn part_may_be_missing(&mut self, part: Part<'p>) -> bool {
        match part {
            Part::Cond(cond) => self.may_be_unknown(cond),
            Part::Expr(value) => self.may_be_missing(value),
            Part::Let(id) => self.part_may_be_missing(self.program.let_body(id).as_part()),
        }
    }

    /// True if the condition may be unknown (neither true nor false) where all conditions in
    /// `true_conditions` are true. Assumes a message that satisfies the `input` contract.
    fn may_be_unknown(&mut self, cond: &'p Cond) -> bool {
        let is_presence_test = matches!(&cond.kind, CondKind::Predicate(test) if is_presence_test(test));
        let is_never_unknown = is_presence_test || matches!(cond.kind, CondKind::NotTrue(_));
        !is_never_unknown && cond.parts().into_iter().any(|part| self.part_may_be_missing(part))
    }

    /// True if a field of the message may be missing, or may have another kind than `kinds`.
    fn field_may_be_missing(&mut self, path: &[Arc<str>], kinds: KindSet) -> bool {
        let Some(input) = &self.fields.input else {
            return !self.is_proven(PresenceGoal::Field(path, kinds));
        };
        let mut ty = input.ty.clone();
        for length in 1..=path.len() {
            let Ok(field) = field_of_type(&ty, &path[length - 1]) else { return true };
            ty = field.ty;
            let is_last = length == path.len();
            // If the declared type only has kinds that the read accepts, the contract guarantees
            // that the read finds a value. Otherwise a known condition must prove the kind.
            let has_read_kinds = ty.kinds.is_subset_of(kinds.with_accepted_kinds());
            let wanted = if is_last && !has_read_kinds { kinds } else { KindSet::EVERY_KIND };
            let needs_proof = field.is_optional || wanted != KindSet::EVERY_KIND;
            if needs_proof && !self.is_proven(PresenceGoal::Field(&path[..length], wanted)) {
                return true;
            }
        }
        false
    }

    fn is_proven(&mut self, goal: PresenceGoal<'_>) -> bool {
        (0..self.true_conditions.len()).any(|index| self.proves(self.true_conditions[index], true, goal))
    }

    /// True if the goal (the value to prove present) is present whenever the condition has the
    /// truth value `truth`.
    fn proves(&mut self, cond: &'p Cond, truth: bool, goal: PresenceGoal<'_>) -> bool {
        if !self.count_step() {
            return false;
        }
        match &cond.kind {
            // The condition never has the other truth value.
            CondKind::Const(value) => *value != truth,
            CondKind::Not(inner) => self.proves(inner, !truth, goal),
            CondKind::NotTrue(inner) => !truth && self.proves(inner, true, goal),
            CondKind::And(parts) | CondKind::Or(parts) => {
                // One false operand makes a conjunction false, and one true operand makes a
                // disjunction true. The proof cannot know which operand decides, so it must succeed
                // for each one.
                let all_have_the_truth = matches!(cond.kind, CondKind::And(_)) == truth;
                let mut parts = parts.iter();
                match all_have_the_truth {
                    true => parts.any(|part| self.proves(part, truth, goal)),
                    false => parts.all(|part| self.proves(part, truth, goal)),
                }
            }
            CondKind::Predicate(test) => match test.op {
                Some(Op::IsPresent | Op::IsMissing) => {
                    let finds_present = (test.op == Some(Op::IsPresent)) == (truth != test.is_negated);
                    finds_present && self.presence_proves(&test.left, goal)
                }
                Some(Op::Matches) if matches!(goal, PresenceGoal::Match(..)) => {
                    truth != test.is_negated && is_match_test(test, goal)
                }
                // A range is false as soon as one bound excludes the value; the other bound may be
                // missing. So only a true range proves that both bounds are present.
                Some(Op::In) if truth == test.is_negated => self.presence_proves(&test.left, goal),
                _ => test.operands().any(|operand| self.presence_proves(operand, goal)),
            },
            // Without an element, `any` is false and `all` is true.
            CondKind::Quantifier { is_all: all, list, body, .. } => {
                self.presence_proves(list, goal) || (*all != truth && self.proves(body, truth, goal))
            }
            CondKind::Let(id) => self.let_proves(*id, Some(truth), goal),
            CondKind::Call(_, _, body) => self.proves(body, truth, goal),
            CondKind::Branch { .. } => false,
        }
    }

    /// True if an assumption about the `let` with this id proves that the goal (the value to prove
    /// present) is present. If the `let` is a value, the assumption is that it is present. If it is
    /// a condition, the assumption is that its truth value is `truth`; `None` means true or false,
    /// but not unknown.
    fn let_proves(&mut self, id: LetId, truth: Option<bool>, goal: PresenceGoal<'_>) -> bool {
        match (self.program.let_body(id), truth) {
            (Term::Expr(value), _) => self.presence_proves(value, goal),
            (Term::Cond(cond), Some(truth)) => self.proves(cond, truth, goal),
            (Term::Cond(cond), None) => [true, false].into_iter().all(|truth| self.proves(cond, truth, goal)),
        }
    }

    /// True if the goal (the value to prove present) is present whenever `value` is present.
    fn presence_proves(&mut self, value: &'p Expr, goal: PresenceGoal<'_>) -> bool {
        if !self.count_step() {
            return false;
        }
        if self.is_goal_or_inside(value, goal) {
            return true;
        }
        match &value.kind {
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => self.presence_proves(inner, goal),
            ExprKind::Index(base, index) => {
                self.presence_proves(base, goal) || self.presence_proves(index, goal)
            }
            ExprKind::Op(Op::Coalesce, left, Some(right)) => {
                self.presence_proves(left, goal) && self.presence_proves(right, goal)
            }
            ExprKind::Op(_, left, right) => {
                self.presence_proves(left, goal)
                    || right.as_ref().is_some_and(|right| self.presence_proves(right, goal))
            }
            ExprKind::Call(_, args) | ExprKind::Extern(_, args) => {
                args.iter().any(|arg| self.presence_proves(arg, goal))
            }
            ExprKind::Fold { list, .. } => self.presence_proves(list, goal),
            ExprKind::Window { list, operand, .. } => {
                self.presence_proves(list, goal) || self.presence_proves(operand, goal)
            }
            ExprKind::Cond(cond) => [true, false].into_iter().all(|truth| self.proves(cond, truth, goal)),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                (self.presence_proves(then, goal) || self.proves(cond, true, goal))
                    && self.presence_proves(other, goal)
            }
            ExprKind::Let(id) => self.let_proves(*id, None, goal),
            ExprKind::Const(_)
            | ExprKind::Slot(_)
            | ExprKind::Var(_)
            | ExprKind::Param(_)
            | ExprKind::List(_) => false,
        }
    }

    /// True if `value` equals the goal (the value to prove present) or is a field inside it.
    fn is_goal_or_inside(&self, value: &Expr, goal: PresenceGoal<'_>) -> bool {
        match goal {
            PresenceGoal::Value(wanted) => is_same_value(value, wanted),
            PresenceGoal::Match(..) => false,
            PresenceGoal::Field(wanted, wanted_kinds) => {
                self.field_path(value).is_some_and(|(path, kinds)| {
                    let kinds = if path.len() > wanted.len() { KindSet::DICT } else { kinds };
                    path.starts_with(wanted) && kinds.is_subset_of(wanted_kinds.with_accepted_kinds())
                })
            }
        }
    }

    /// Returns the path of the message field that an expression reads, and the kinds that the read
    /// accepts. `None` for any other expression.
    fn field_path(&self, value: &Expr) -> Option<(Vec<Arc<str>>, KindSet)> {
        match &value.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.slot(*id);
                slot.root.is_none().then(|| (slot.path.clone(), slot.kinds))
            }
            ExprKind::Read(inner, kinds) => {
                let (path, inner_kinds) = self.field_path(inner)?;
                // A read that accepts floats also accepts ints.
                Some((path, kinds.with_accepted_kinds().intersect(inner_kinds.with_accepted_kinds())))
            }
            ExprKind::Field(base, name) => {
                let (mut path, _) = self.field_path(base)?;
                path.push(name.clone());
                Some((path, KindSet::EVERY_KIND))
            }
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.field_path(body),
                Term::Cond(_) => None,
            },
            _ => None,
        }
    }
}

/// True if the field `name` of a value of the type `base` may be missing, or may have another kind
/// than `kinds`.
fn member_may_be_missing(base: &Ty, name: &str, kinds: KindSet) -> bool {
    field_of_type(base, name)
        .map_or(true, |field| field.is_optional || !field.ty.kinds.is_subset_of(kinds.with_accepted_kinds()))
}

/// True if the goal (the value to prove present) is a regular-expression match, and the predicate
/// tests this match by the operator `matches`.
fn is_match_test(test: &Predicate, goal: PresenceGoal<'_>) -> bool {
    let (PresenceGoal::Match(text, pattern), Operand::Value(written)) = (goal, &test.right) else {
        return false;
    };
    let written = written.as_const().and_then(|written| written.value().as_str());
    test.mode.quantity.is_none()
        && written.is_some_and(|written| regex_with_case_flag(written, test.mode.text.folds_case) == pattern)
        && is_same_value(&test.left, text)
}

fn is_presence_test(test: &Predicate) -> bool {
    matches!(test.op, Some(Op::IsMissing | Op::IsPresent))
}

/// True for a nonzero constant. A division by it has a result for every number, while a division by
/// zero is missing.
pub(super) fn is_nonzero_constant(divisor: &Expr) -> bool {
    match divisor.as_const().map(Const::value) {
        Some(Value::Decimal(number)) => number != Decimal::ZERO,
        Some(number) => number.to_json().as_f64().is_some_and(|number| number != 0.0),
        None => false,
    }
}

/// True if both expressions certainly have the same value. Expressions that read an element of a
/// quantifier never count as the same.
fn is_same_value(a: &Expr, b: &Expr) -> bool {
    let all_same =
        |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_value(a, b));
    match (&a.kind, &b.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Slot(a), ExprKind::Slot(b)) => a == b,
        (ExprKind::Let(a), ExprKind::Let(b)) => a == b,
        (ExprKind::Field(a, name), ExprKind::Field(b, other)) => name == other && is_same_value(a, b),
        (ExprKind::Read(a, kinds), ExprKind::Read(b, other)) => kinds == other && is_same_value(a, b),
        (ExprKind::Index(a, i), ExprKind::Index(b, j)) => is_same_value(a, b) && is_same_value(i, j),
        (ExprKind::List(a), ExprKind::List(b)) => all_same(a, b),
        (ExprKind::Op(op, a, c), ExprKind::Op(other, b, d)) => {
            op == other
                && is_same_value(a, b)
                && match (c, d) {
                    (Some(c), Some(d)) => is_same_value(c, d),
                    (c, d) => c.is_none() && d.is_none(),
                }
        }
        (ExprKind::Call(f, a), ExprKind::Call(g, b)) => f == g && all_same(a, b),
        (ExprKind::Extern(f, a), ExprKind::Extern(g, b)) => f == g && all_same(a, b),
        _ => false,
    }
}
