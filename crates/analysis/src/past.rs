//! Reports conditions on the history (the recorded earlier messages) that probably do not work as
//! their author expects.

use super::past_decisions::{DEFAULT_STATEMENT_NAME, impossible_decision_warning};
use super::past_fields::{
    HistoryReader, append_field_path, element_paths, split_equality_test, without_typed_reads,
};
use super::past_times::impossible_time_warning;
use super::past_windows::report_related_windows;
use super::report::AnalysisReport;
use rulec_base::diag::{Code, Diagnostic, nearest};
use rulec_base::message;
use rulec_lang::history::DECISION_FIELD;
use rulec_lang::operators::Op;
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, Fold, Operand, Outcome, Part, Predicate, Program, Rule, Term, VarId,
};
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Reports conditions on two windows of the history if one condition implies or contradicts the
/// other, and conditions on times that no earlier message has. Also reports comparisons with
/// decisions that no rule makes. Also reports limits on sums over the history that do not include
/// the current message, because a single large message can exceed such a limit.
pub(super) fn report_conditions_on_the_past(report: &mut AnalysisReport<'_>) {
    let program = report.program;
    let Some(reader) = HistoryReader::new(program) else { return };
    let history = reader.history_slot;
    let mut past =
        PastChecker { program, reader, names: DecisionNames::new(program), message_vars: HashSet::new() };
    let mut seen = HashSet::new();
    for rule in &program.rules {
        let mut parts = vec![Part::Cond(&rule.condition)];
        while let Some(part) = parts.pop() {
            match part {
                Part::Let(id) => {
                    if seen.insert(id) {
                        parts.push(program.let_body(id).as_part());
                    }
                    continue;
                }
                Part::Cond(Cond { kind: CondKind::Quantifier { list, var, body, .. }, .. })
                | Part::Expr(Expr { kind: ExprKind::Fold { list, var, body, .. }, .. })
                    if reader.is_history(list) =>
                {
                    past.message_vars.insert(var.id);
                    let found = impossible_time_warning(program, list, var, body)
                        .or_else(|| impossible_decision_warning(program, var, body));
                    if let Some(diagnostic) = found {
                        report.add_finding(diagnostic, None);
                    }
                }
                Part::Cond(Cond { kind: CondKind::And(operands), .. }) => {
                    report_related_windows(report, history, operands, true);
                }
                Part::Cond(Cond { kind: CondKind::Or(operands), .. }) => {
                    report_related_windows(report, history, operands, false);
                }
                Part::Cond(Cond { kind: CondKind::Predicate(test), .. }) => {
                    past.report_unknown_decision(report, test);
                    past.report_sum_without_message(report, rule, test);
                }
                _ => {}
            }
            parts.extend(part.parts());
        }
    }
}

/// The names that decisions by these rules can contain: the chosen statements, and the targets.
struct DecisionNames<'p> {
    chosen_names: BTreeSet<&'p str>,
    target_names: BTreeSet<&'p str>,
}

impl<'p> DecisionNames<'p> {
    fn new(program: &'p Program) -> DecisionNames<'p> {
        let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
        let outcomes = program.rules.iter().map(|rule| &rule.outcome).chain(defaults);
        let targets = outcomes.filter_map(|outcome| match outcome {
            Outcome::Handler { name, .. } => Some(&**name),
            _ => None,
        });
        let chosen = program.rules.iter().map(|rule| &*rule.name).chain([DEFAULT_STATEMENT_NAME]);
        DecisionNames { chosen_names: chosen.collect(), target_names: targets.collect() }
    }
}

struct PastChecker<'p> {
    program: &'p Program,
    reader: HistoryReader<'p>,
    names: DecisionNames<'p>,
    /// The variables of the quantifiers over the history that were visited so far. The value of
    /// such a variable is a recorded message.
    message_vars: HashSet<VarId>,
}

impl<'p> PastChecker<'p> {
    /// Reports a comparison of a field of an earlier decision with a name that no decision of these
    /// rules can have there. The field is the target or the chosen statement, as in
    /// `p.decision.target == "x"`.
    fn report_unknown_decision(&self, report: &mut AnalysisReport<'_>, test: &Predicate) {
        if !matches!(test.op, Some(Op::Eq | Op::In)) || test.is_negated {
            return;
        }
        let Operand::Value(right) = &test.right else { return };
        let ((field, constant), span) = match (self.decision_field(&test.left), right.as_const()) {
            (Some(field), Some(constant)) => ((field, constant), right.span),
            _ => return,
        };
        let names = if field == "target" { &self.names.target_names } else { &self.names.chosen_names };
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
        let is_decision = **parent == *DECISION_FIELD && self.is_recorded_message(element);
        ["target", "chosen"].into_iter().find(|known| is_decision && **name == **known)
    }

    /// Reports a comparison such as `sum(…) > 100` or `sum(…) <= 100`, which limits the sum of a
    /// field of earlier messages. The sum does not include the current message, so a single large
    /// message can exceed the intended limit. Nothing is reported if a rule reads this field of the
    /// current message, or if the sum cannot include the messages that the rule decides.
    fn report_sum_without_message(&self, report: &mut AnalysisReport<'_>, rule: &Rule, test: &'p Predicate) {
        let (Some(Op::Gt | Op::Ge | Op::Lt | Op::Le), Operand::Value(right)) = (test.op, &test.right) else {
            return;
        };
        let sides = [&test.left, right].map(|side| (side, self.without_lets(side)));
        let sum = sides.into_iter().find_map(|(side, value)| match &value.kind {
            ExprKind::Fold { fold: Fold::Sum(summed), list, var, body } => {
                Some((side, summed, list, var, body))
            }
            _ => None,
        });
        let Some((sum, summed, _, var, body)) = sum.filter(|(_, _, list, ..)| self.reader.is_history(list))
        else {
            return;
        };
        let paths = element_paths(summed, var.id, true);
        let Some(path) = paths.first().filter(|_| !paths.iter().any(|path| self.reads_field(path))) else {
            return;
        };
        if !body.conjuncts().iter().all(|part| self.may_match_current_message(part, var.id, &rule.condition))
        {
            return;
        }
        let field = path.iter().map(|name| &**name).collect::<Vec<_>>().join(".");
        let message = message!(
            "a message with any `{field}` passes `{}`, because the sum does not contain it",
            rule.name
        );
        let help = message!(
            "add the current message, and choose a route for sums within the limit: `… + {field} <= LIMIT`"
        );
        report.add_finding(Diagnostic::new(Code::BudgetWithoutMessage, sum.span, message).help(help), None);
    }

    /// If an expression uses a `let`, returns the body of the `let`, without typed reads such as `x
    /// as number`. Returns any other expression unchanged.
    fn without_lets(&self, value: &'p Expr) -> &'p Expr {
        match &value.kind {
            ExprKind::Read(inner, _) => self.without_lets(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.without_lets(body),
                Term::Cond(_) => value,
            },
            _ => value,
        }
    }

    /// True if the current message, which satisfies `condition`, may also satisfy `part` once it is
    /// recorded. `part` is a condition on a recorded message. False if both conditions require a
    /// constant value of the same field, and the values differ.
    fn may_match_current_message(&self, part: &Cond, element: VarId, condition: &Cond) -> bool {
        let mut path = Vec::new();
        let Some((field, wanted)) = split_equality_test(part) else { return true };
        if !append_field_path(field, element, &mut path) {
            return true;
        }
        condition.conjuncts().iter().all(|part| {
            split_equality_test(part).is_none_or(|(field, value)| {
                let ExprKind::Slot(slot) = without_typed_reads(field).kind else { return true };
                let slot = &self.program.slots[slot.index()];
                slot.root.is_some() || slot.path[..] != *path || value == wanted
            })
        })
    }

    /// True if the value of an expression is one recorded message.
    fn is_recorded_message(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Var(id) => self.message_vars.contains(id),
            ExprKind::Fold { fold: Fold::First | Fold::Last, list, .. } => self.reader.is_history(list),
            ExprKind::Read(inner, _) => self.is_recorded_message(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_recorded_message(body),
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
