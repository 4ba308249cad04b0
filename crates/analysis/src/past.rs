//! Reports conditions on the history (the recorded earlier messages) that probably do not work as
//! their author expects.

use super::report::{AnalysisReport, MISSING_SOURCE};
use rulec_base::diag::{Code, Diagnostic, nearest};
use rulec_base::message;
use rulec_lang::history::{DECISION_FIELD, WindowBound};
use rulec_lang::operators::Op;
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, Fold, Operand, Outcome, Part, Predicate, Program, Rule, SlotId, Term,
    VarId,
};
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The name that a decision reports as its chosen statement if a default was chosen.
const DEFAULT: &str = "default";

/// Reports three kinds of conditions on the history: windows of which one contains the other,
/// comparisons with decisions that no rule makes, and sums that a single large message can exceed.
pub(super) fn report_conditions_on_the_past(report: &mut AnalysisReport<'_>) {
    let program = report.program;
    let Some(history) = program.history_slot() else { return };
    let mut past = Past { program, history, names: DecisionNames::new(program), elements: HashSet::new() };
    let mut seen = HashSet::new();
    for rule in &program.rules {
        let mut parts = vec![Part::Cond(&rule.condition)];
        while let Some(part) = parts.pop() {
            match part {
                Part::Let(id) => {
                    if seen.insert(id) {
                        parts.push(program.let_body(id).part());
                    }
                    continue;
                }
                Part::Cond(Cond { kind: CondKind::Quantifier { list, var, .. }, .. })
                | Part::Expr(Expr { kind: ExprKind::Fold { list, var, .. }, .. })
                    if past.is_history(list) =>
                {
                    past.elements.insert(var.id);
                }
                Part::Cond(Cond { kind: CondKind::And(operands), .. }) => {
                    past.report_windows(report, operands, true);
                }
                Part::Cond(Cond { kind: CondKind::Or(operands), .. }) => {
                    past.report_windows(report, operands, false);
                }
                Part::Cond(Cond { kind: CondKind::Predicate(test), .. }) => {
                    past.report_unknown_decision(report, test);
                    past.report_budget(report, rule, test);
                }
                _ => {}
            }
            parts.extend(part.parts());
        }
    }
}

/// The names that decisions of these rules can have: chosen statements, and targets.
struct DecisionNames<'p> {
    chosen: BTreeSet<&'p str>,
    targets: BTreeSet<&'p str>,
}

impl<'p> DecisionNames<'p> {
    fn new(program: &'p Program) -> DecisionNames<'p> {
        let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
        let outcomes = program.rules.iter().map(|rule| &rule.outcome).chain(defaults);
        let targets = outcomes.filter_map(|outcome| match outcome {
            Outcome::Handler { name, .. } => Some(&**name),
            _ => None,
        });
        let chosen = program.rules.iter().map(|rule| &*rule.name).chain([DEFAULT]);
        DecisionNames { chosen: chosen.collect(), targets: targets.collect() }
    }
}

/// A quantifier over the recorded messages of the last `seconds` seconds, as in `any p in history
/// within 1h: C`.
struct WindowQuantifier<'p> {
    cond: &'p Cond,
    all: bool,
    seconds: f64,
    body: &'p Cond,
    var: &'p str,
}

struct Past<'p> {
    program: &'p Program,
    history: SlotId,
    names: DecisionNames<'p>,
    /// The variables of the visited quantifiers whose values are recorded messages.
    elements: HashSet<VarId>,
}

impl<'p> Past<'p> {
    /// Reports operands of an `and` (if `is_and` is true) or an `or` that differ only in the
    /// lengths of their history windows. One of the two operands is then redundant.
    fn report_windows(&self, report: &mut AnalysisReport<'_>, operands: &'p [Cond], is_and: bool) {
        let windows: Vec<WindowQuantifier<'_>> =
            operands.iter().filter_map(|part| self.window_quantifier(part)).collect();
        for (index, one) in windows.iter().enumerate() {
            for other in &windows[..index] {
                let is_alike = one.all == other.all
                    && one.var == other.var
                    && report.source(one.body.span) != MISSING_SOURCE
                    && report.source(one.body.span) == report.source(other.body.span);
                if !is_alike {
                    continue;
                }
                let (short, long) = match one.seconds < other.seconds {
                    true => (one, other),
                    false => (other, one),
                };
                // For `any`, the condition on the short window implies the other condition. For
                // `all`, the condition on the long window implies it.
                let needless = if is_and == one.all { short } else { long };
                let kept = if std::ptr::eq(needless, short) { long } else { short };
                let message = message!(
                    "this condition decides nothing, because one window contains the other: `{}` and `{}`",
                    report.quote(needless.cond.span),
                    report.quote(kept.cond.span)
                );
                let diagnostic = Diagnostic::new(Code::WindowInWindow, needless.cond.span, message)
                    .label(kept.cond.span, message!("this condition alone decides the same"))
                    .help(message!("remove one of the two, or correct its window or its condition"));
                report.add_finding(diagnostic, None);
            }
        }
    }

    /// Returns the parts of a condition that is a quantifier over `history within D`, where `D` is
    /// constant. `None` for any other condition.
    fn window_quantifier(&self, cond: &'p Cond) -> Option<WindowQuantifier<'p>> {
        let CondKind::Quantifier { all, list, var, body } = &cond.kind else { return None };
        let ExprKind::Window { list, bound: WindowBound::Since, operand } = &list.kind else { return None };
        let ExprKind::Op(Op::Sub, _, Some(length)) = &operand.kind else { return None };
        let is_history = matches!(list.kind, ExprKind::Slot(slot) if slot == self.history);
        let seconds = length.as_const()?.value().to_json().as_f64()?;
        is_history.then_some(WindowQuantifier { cond, all: *all, seconds, body, var: &var.name })
    }

    /// Reports a comparison of `p.decision.target` or `p.decision.chosen` with a name that no
    /// decision of these rules can have.
    fn report_unknown_decision(&self, report: &mut AnalysisReport<'_>, test: &Predicate) {
        if !matches!(test.op, Some(Op::Eq | Op::In)) || test.negated {
            return;
        }
        let Operand::Value(right) = &test.right else { return };
        let ((field, constant), span) = match (self.decision_field(&test.left), right.as_const()) {
            (Some(field), Some(constant)) => ((field, constant), right.span),
            _ => return,
        };
        let names = if field == "target" { &self.names.targets } else { &self.names.chosen };
        let json = constant.value().to_json();
        let written: Vec<&str> = match &json {
            Json::String(name) => vec![name],
            Json::Array(list) => list.iter().filter_map(Json::as_str).collect(),
            _ => return,
        };
        if written.is_empty() || written.iter().any(|name| names.contains(name)) {
            return;
        }
        let message = match field {
            "target" => message!("no decision of these rules has the target `{}`", written[0]),
            _ => message!("no decision of these rules chooses `{}`", written[0]),
        };
        let known = names.iter().copied();
        let diagnostic = Diagnostic::new(Code::NeverRecorded, span, message);
        let help = match nearest(written[0], known) {
            Some(near) => message!("did you mean `{near}`?"),
            None => message!(
                "correct the name; if another rule set records such decisions, write `# rulec: allow W0115 reason` before the statement"
            ),
        };
        report.add_finding(diagnostic.help(help), None);
    }

    /// Returns `target` or `chosen` if an expression reads this field of a recorded message's
    /// decision. `None` for other expressions.
    fn decision_field(&self, value: &Expr) -> Option<&'static str> {
        let ExprKind::Field(decision, name) = &without_typed_reads(value).kind else { return None };
        let ExprKind::Field(element, parent) = &without_typed_reads(decision).kind else { return None };
        let is_decision = **parent == *DECISION_FIELD && self.is_element(element);
        ["target", "chosen"].into_iter().find(|known| is_decision && **name == **known)
    }

    /// Reports a comparison that requires a large sum over the history, if no rule reads the summed
    /// field of the current message. A single message can then exceed the limit, because its own
    /// value is not included. Nothing is reported if the sum may leave out messages that are like
    /// the current message.
    fn report_budget(&self, report: &mut AnalysisReport<'_>, rule: &Rule, test: &Predicate) {
        let sum = match (test.op, &test.right) {
            (Some(Op::Gt | Op::Ge), _) => &test.left,
            (Some(Op::Lt | Op::Le), Operand::Value(right)) => right,
            _ => return,
        };
        let ExprKind::Fold { fold: Fold::Sum(summed), list, var, body } = &sum.kind else { return };
        let mut path = Vec::new();
        if !self.is_history(list) || !field_path(summed, var.id, &mut path) || self.reads_field(&path) {
            return;
        }
        if !body.conjuncts().iter().all(|part| self.may_select_current(part, var.id, &rule.condition)) {
            return;
        }
        let field = path.iter().map(|name| &**name).collect::<Vec<_>>().join(".");
        let message = message!(
            "a message with any `{field}` passes `{}`, because the sum does not contain it",
            rule.name
        );
        let help = message!("add the current message: `… + {field}`");
        report.add_finding(Diagnostic::new(Code::BudgetWithoutMessage, sum.span, message).help(help), None);
    }

    /// Estimates whether `part`, a condition on an element of the history, selects messages that
    /// are like the current message. False if `part` requires a constant value of a field, and
    /// `condition` does not require the same value of the current message.
    fn may_select_current(&self, part: &Cond, element: VarId, condition: &Cond) -> bool {
        let mut path = Vec::new();
        let Some((field, wanted)) = required_value(part) else { return true };
        if !field_path(field, element, &mut path) {
            return true;
        }
        condition.conjuncts().iter().any(|part| {
            required_value(part).is_some_and(|(field, value)| {
                let ExprKind::Slot(slot) = without_typed_reads(field).kind else { return false };
                let slot = &self.program.slots[slot.index()];
                slot.root.is_none() && slot.path[..] == *path && value == wanted
            })
        })
    }

    /// True if the value of an expression is one recorded message.
    fn is_element(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Var(id) => self.elements.contains(id),
            ExprKind::Fold { fold: Fold::First | Fold::Last, list, .. } => self.is_history(list),
            ExprKind::Read(inner, _) => self.is_element(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_element(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }

    fn is_history(&self, list: &Expr) -> bool {
        match &list.kind {
            ExprKind::Slot(slot) => *slot == self.history,
            ExprKind::Window { list, .. } | ExprKind::Read(list, _) => self.is_history(list),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_history(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }

    /// True if a rule reads the field at this path of the current message.
    fn reads_field(&self, path: &[Arc<str>]) -> bool {
        self.program.slots.iter().any(|slot| slot.root.is_none() && slot.path[..] == *path)
    }
}

/// Returns the expression inside typed reads: `x` for `x as number`.
fn without_typed_reads(mut value: &Expr) -> &Expr {
    while let ExprKind::Read(inner, _) = &value.kind {
        value = inner;
    }
    value
}

/// Splits an equality test with a constant into the tested expression and the constant. `None` for
/// other conditions.
fn required_value(cond: &Cond) -> Option<(&Expr, Json)> {
    let CondKind::Predicate(test) = &cond.kind else { return None };
    let Operand::Value(right) = &test.right else { return None };
    let is_equality = test.op == Some(Op::Eq) && !test.negated;
    let constant = right.as_const().filter(|_| is_equality)?;
    Some((&test.left, constant.value().to_json()))
}

/// Appends the path of the field that `value` reads of `element`, a quantifier variable, to `path`.
/// Returns false for an expression that reads no such field.
fn field_path(value: &Expr, element: VarId, path: &mut Vec<Arc<str>>) -> bool {
    match &value.kind {
        ExprKind::Var(id) => *id == element,
        ExprKind::Read(inner, _) => field_path(inner, element, path),
        ExprKind::Field(base, name) => {
            let is_field = field_path(base, element, path);
            path.push(name.clone());
            is_field
        }
        // The replacement for a missing value does not change which field is read.
        ExprKind::Op(Op::Coalesce, left, _) => field_path(left, element, path),
        _ => false,
    }
}
