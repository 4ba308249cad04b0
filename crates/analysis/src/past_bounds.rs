//! Proves that sums over the history are always present: each added value is present, and so small
//! that no sum exceeds 64 bits.

use super::goal::SolverGoal;
use super::past_fields::{HistoryReader, append_field_path, split_equality_test, without_typed_reads};
use super::solver::MessageSolver;
use rulec_base::span::{FileId, Span};
use rulec_lang::builtins::Function;
use rulec_lang::history::{CHOSEN_FIELD, DECISION_FIELD};
use rulec_lang::operators::Op;
use rulec_lang::ty::Ty;
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, Fold, History, Operand, Outcome, Part, Predicate, Program, RuleId,
    SlotId, Table, Term, Var,
};
use std::sync::Arc;

/// Maximum magnitude of a proven sum. A few such sums and values can be added within 64 bits. The
/// solver compares larger numbers less exactly.
const MAX_SUM: u64 = 1 << 52;

/// Proven facts about a value.
#[derive(Clone, Copy)]
struct Proven {
    is_present: bool,
    /// Whether the magnitude of the value, if it is present, is within the given bound.
    is_bounded: bool,
}

impl Proven {
    const NOTHING: Proven = Proven { is_present: false, is_bounded: false };

    fn and(self, other: Proven) -> Proven {
        Proven {
            is_present: self.is_present && other.is_present,
            is_bounded: self.is_bounded && other.is_bounded,
        }
    }
}

/// The recorded messages that a sum adds.
#[derive(Clone, Copy)]
struct SummedMessages<'e> {
    var: &'e Var,
    condition: &'e Cond,
}

/// Proves facts about values of the current message and of recorded messages.
pub(super) struct SumBounds<'c, 'p> {
    pub program: &'p Program,
    pub reader: HistoryReader<'p>,
    pub solver: &'c mut MessageSolver<'p>,
}

impl SumBounds<'_, '_> {
    /// True if it is proven that an expression on sums over the history is present for each message
    /// that satisfies `goals`.
    pub fn is_always_present(&mut self, expr: &Expr, goals: &[SolverGoal]) -> bool {
        let proven = self.prove(expr, goals, None, MAX_SUM);
        proven.is_present && proven.is_bounded
    }

    /// True if it is proven that an expression is present for each message that satisfies `goals`.
    pub fn is_limit_present(&mut self, expr: &Expr, goals: &[SolverGoal]) -> bool {
        let proven = self.prove(expr, goals, None, MAX_SUM);
        proven.is_present && (proven.is_bounded || !may_overflow(expr))
    }

    /// Returns the proven facts about an expression. `messages` are the summed messages, if the
    /// expression is the term of a sum.
    fn prove(
        &mut self,
        expr: &Expr,
        goals: &[SolverGoal],
        messages: Option<SummedMessages<'_>>,
        bound: u64,
    ) -> Proven {
        match &expr.kind {
            ExprKind::Const(constant) => {
                let number = constant.value().to_json().as_f64();
                let is_bounded = number.is_some_and(|number| number.abs() <= bound as f64);
                Proven { is_present: number.is_some(), is_bounded }
            }
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.prove(body, goals, messages, bound),
                Term::Cond(_) => Proven::NOTHING,
            },
            ExprKind::Fold { fold: Fold::Count, .. } => Proven { is_present: true, is_bounded: true },
            ExprKind::Fold { fold: Fold::Sum(term), list, var, body } if self.reader.is_history(list) => {
                let most = self.program.history.as_ref().and_then(|history| history.max_messages);
                let bound = MAX_SUM / most.unwrap_or(History::DEFAULT_MAX_MESSAGES).max(1);
                let messages = SummedMessages { var, condition: body };
                self.prove(term, &[], Some(messages), bound)
            }
            ExprKind::Op(Op::Add | Op::Sub, left, right) => {
                let left = self.prove(left, goals, messages, bound);
                let right = right.as_ref().map(|right| self.prove(right, goals, messages, bound));
                right.map_or(left, |right| left.and(right))
            }
            ExprKind::Op(Op::Coalesce, left, Some(right)) => {
                let is_sum = self.reader.sums_history(Part::Expr(left));
                let left = self.prove(left, goals, messages, bound);
                let right = self.prove(right, goals, messages, bound);
                // A value in place of a whole sum hides that the limit does not hold.
                let is_value_kept = left.is_present || !is_sum;
                Proven {
                    is_present: left.is_present || right.is_present,
                    is_bounded: left.is_bounded && right.is_bounded && is_value_kept,
                }
            }
            ExprKind::Call(Function::Min | Function::Max | Function::Abs | Function::Round, args) => {
                let args = args.iter().map(|arg| self.prove(arg, goals, messages, bound));
                args.reduce(Proven::and).unwrap_or(Proven::NOTHING)
            }
            ExprKind::If { then_value, else_value, .. } => self
                .prove(then_value, goals, messages, bound)
                .and(self.prove(else_value, goals, messages, bound)),
            ExprKind::Slot(slot) => match self.reader.payload_let(*slot) {
                Some(body) => self.prove(body, goals, messages, bound),
                None => self.prove_field(*slot, goals, bound),
            },
            _ if messages.is_some() => self.prove_summed_field(expr, messages, bound),
            ExprKind::Read(inner, _) => self.prove(inner, goals, messages, bound),
            _ => Proven::NOTHING,
        }
    }

    /// Returns the proven facts about a field of each message that satisfies `goals`.
    fn prove_field(&mut self, slot: SlotId, goals: &[SolverGoal], bound: u64) -> Proven {
        let span = Span { file: FileId(0), start: 0, end: 0 };
        let field = Expr { kind: ExprKind::Slot(slot), ty: Ty::ANY, may_be_missing: true, span };
        let value = self.solver.builder.build_value(&field);
        let is_present = self.solver.builder.build_is_present(value);
        let test = Predicate::without_modifiers(Op::IsMissing, field, Operand::Nothing).into_cond(span);
        let is_missing = self.solver.builder.build_cond(&test, true);
        let bound = i64::try_from(bound).unwrap_or(i64::MAX);
        let is_below_lower = self.solver.builder.build_is_below(value, -bound);
        let is_below_upper = self.solver.builder.build_is_below(value, bound);
        let mut is_impossible =
            |last: &[SolverGoal]| self.solver.solve(&[goals, last].concat()).is_unsatisfiable();
        Proven {
            is_present: is_impossible(&[(is_missing, true)]),
            is_bounded: is_impossible(&[(is_below_lower, true)])
                && is_impossible(&[(is_present, true), (is_below_upper, false)]),
        }
    }

    /// Returns the proven facts about a field of each recorded message in `messages`: by the
    /// condition of the sum, or because the rules make the wanted decision only for some values.
    fn prove_summed_field(
        &mut self,
        field: &Expr,
        messages: Option<SummedMessages<'_>>,
        bound: u64,
    ) -> Proven {
        let mut path = Vec::new();
        let Some(messages) = messages.filter(|summed| append_field_path(field, summed.var.id, &mut path))
        else {
            return Proven::NOTHING;
        };
        let conditions = messages.condition.conjuncts();
        let mut bounds = FieldBounds::default();
        for test in conditions.iter().filter_map(as_predicate) {
            bounds.add_test(test, &path, messages.var, bound as f64);
        }
        let mut proven =
            Proven { is_present: bounds.is_present, is_bounded: bounds.has_lower && bounds.has_upper };
        for cond in conditions {
            if let Some(decided) = self.prove_decided_field(cond, messages.var, &path, bound) {
                proven.is_present |= decided.is_present;
                proven.is_bounded |= decided.is_bounded;
            }
        }
        proven
    }

    /// Returns the proven facts about the field at `path` of messages with the decision that `cond`
    /// requires: `p.decision.target == "pay"`. `None` for other conditions.
    fn prove_decided_field(
        &mut self,
        cond: &Cond,
        var: &Var,
        path: &[Arc<str>],
        bound: u64,
    ) -> Option<Proven> {
        let (tested, wanted) = split_equality_test(cond)?;
        let mut tested_path = Vec::new();
        let is_decision = append_field_path(tested, var.id, &mut tested_path)
            && tested_path.len() == 2
            && *tested_path[0] == *DECISION_FIELD;
        let wanted = wanted.as_str().filter(|_| is_decision)?;
        let names_statement = *tested_path[1] == *CHOSEN_FIELD;
        let slots = self.program.slots.iter();
        let slot = slots.clone().position(|slot| slot.root.is_none() && slot.path[..] == *path)?;
        let slot = SlotId(slot as u32);
        let mut proven: Option<Proven> = None;
        for table in &self.program.tables {
            for (position, outcome) in outcomes_of(self.program, table).into_iter().enumerate() {
                let (name, outcome) = outcome;
                let is_wanted = match (names_statement, outcome) {
                    (true, _) => name == wanted,
                    (false, Outcome::Handler { name, .. }) => **name == *wanted,
                    (false, _) => false,
                };
                if is_wanted {
                    let goals = self.goals_of_decision(&table.evaluation_order, position);
                    let field = self.prove_field(slot, &goals, bound);
                    proven = Some(proven.map_or(field, |proven| proven.and(field)));
                }
            }
        }
        proven
    }

    /// Returns goals that each message satisfies for which the rule at `position` of `order` is
    /// chosen. `order` are the rules of a table; the position after the last rule is the default.
    fn goals_of_decision(&mut self, order: &[RuleId], position: usize) -> Vec<SolverGoal> {
        let earlier = order[..position].iter().map(|id| (*id, false));
        let chosen = order.get(position).map(|id| (*id, true));
        let rules = earlier.chain(chosen);
        rules
            .map(|(id, value)| {
                (self.solver.builder.build_cond(&self.program.rules[id.index()].condition, true), value)
            })
            .collect()
    }
}

/// Returns the name and the outcome of each rule of a table in the order of evaluation, and of its
/// default.
fn outcomes_of<'p>(program: &'p Program, table: &'p Table) -> Vec<(&'p str, &'p Outcome)> {
    let rules = table.evaluation_order.iter().map(|id| &program.rules[id.index()]);
    let rules = rules.map(|rule| (&*rule.name, &rule.outcome));
    let default =
        table.default.as_ref().map(|outcome| (super::past_decisions::DEFAULT_STATEMENT_NAME, outcome));
    rules.chain(default).collect()
}

fn as_predicate(cond: &Cond) -> Option<&Predicate> {
    match &cond.kind {
        CondKind::Predicate(test) => Some(test),
        _ => None,
    }
}

/// The bounds of a field of a recorded message that conditions on the message require.
#[derive(Default)]
struct FieldBounds {
    has_lower: bool,
    has_upper: bool,
    is_present: bool,
}

impl FieldBounds {
    /// Adds what a test requires of the field at `path` of the message `var`. Bounds that are
    /// beyond `bound` are ignored.
    fn add_test(&mut self, test: &Predicate, path: &[Arc<str>], var: &Var, bound: f64) {
        let Some(op) = test.op.filter(|_| !test.is_negated) else { return };
        let reads_field = |expr: &Expr| {
            let mut own = Vec::new();
            append_field_path(expr, var.id, &mut own) && own == path
        };
        let is_small = |expr: &Expr| {
            let number = expr.as_const().and_then(|constant| constant.value().to_json().as_f64());
            number.is_some_and(|number| number.abs() <= bound)
        };
        let (field, op, right) = match &test.right {
            Operand::Value(right) if reads_field(right) => match op.mirrored() {
                Some(mirrored) => (right, mirrored, Operand::Value(test.left.clone())),
                None => return,
            },
            right => (&test.left, op, right.clone()),
        };
        let (field, is_magnitude) = match &without_typed_reads(field).kind {
            ExprKind::Call(Function::Abs, args) => (&args[0], true),
            _ => (field, false),
        };
        if !reads_field(field) {
            return;
        }
        let (lower, upper) = match (op, &right) {
            (Op::IsPresent, _) => (false, false),
            (Op::Gt | Op::Ge, Operand::Value(right)) => (is_small(right) && !is_magnitude, false),
            (Op::Lt | Op::Le, Operand::Value(right)) => (is_small(right) && is_magnitude, is_small(right)),
            (Op::Eq, Operand::Value(right)) => (is_small(right), is_small(right)),
            (Op::In, Operand::Range { start, end, .. }) => (is_small(start), is_small(end)),
            _ => return,
        };
        self.has_lower |= lower;
        self.has_upper |= upper;
        self.is_present |= !contains_coalesce(field);
    }
}

/// True if an expression computes a number, which is missing if it exceeds 64 bits.
fn may_overflow(expr: &Expr) -> bool {
    match &without_typed_reads(expr).kind {
        ExprKind::Slot(_) | ExprKind::Const(_) => false,
        ExprKind::Op(Op::Coalesce, left, Some(right)) => may_overflow(left) || may_overflow(right),
        _ => true,
    }
}

fn contains_coalesce(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Op(Op::Coalesce, ..) => true,
        ExprKind::Read(inner, _) | ExprKind::Field(inner, _) => contains_coalesce(inner),
        _ => false,
    }
}
