//! Finds conditions on an earlier decision that no recorded message satisfies, because the rules
//! never decide so. For example, the route that the condition names has another target, or requires
//! another value of a field.

use super::past_fields::{append_field_path, split_equality_test, without_typed_reads};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::history::{CHOSEN_FIELD, DECISION_FIELD};
use rulec_sema::hir::{Cond, ExprKind, Outcome, Program, Rule, Var};
use serde_json::Value as Json;
use std::sync::Arc;

/// The name that a decision reports as its chosen statement if a default was chosen.
pub(super) const DEFAULT_STATEMENT_NAME: &str = "default";
/// The field of a decision with the name of the chosen handler.
const TARGET_FIELD: &str = "target";

/// A comparison `p.FIELD == CONSTANT` of a field of an earlier message.
struct RequiredField {
    path: Vec<Arc<str>>,
    value: Json,
    span: Span,
}

/// Returns a warning if no message can satisfy `body`, a condition on the earlier message `var`.
/// The condition requires that the earlier decision chose a certain statement. It also requires a
/// target or a field value with which the rules never choose this statement. `None` if no such
/// contradiction was found.
pub(super) fn impossible_decision_warning(program: &Program, var: &Var, body: &Cond) -> Option<Diagnostic> {
    let required: Vec<RequiredField> =
        body.conjuncts().iter().filter_map(|part| required_field(part, var)).collect();
    let is_path = |field: &RequiredField, name: &str| matches!(&field.path[..], [decision, own] if **decision == *DECISION_FIELD && **own == *name);
    let chosen = required.iter().find(|field| is_path(field, CHOSEN_FIELD))?;
    let name = chosen.value.as_str()?;
    if let Some(target) = required.iter().find(|field| is_path(field, TARGET_FIELD))
        && let Some(wanted) = target.value.as_str()
        && !possible_targets(program, name)?.contains(&wanted)
    {
        let message = message!("no decision of these rules chooses `{name}` with the target `{wanted}`");
        let diagnostic = Diagnostic::new(Code::NeverRecorded, target.span, message);
        let diagnostic = diagnostic.label(chosen.span, message!("the decision must choose `{name}`"));
        return Some(diagnostic.help(message!("correct one of the two conditions")));
    }
    let rule = sole_rule_named(program, name)?;
    for field in required.iter().filter(|field| *field.path[0] != *DECISION_FIELD) {
        let Some(needed) = value_required_by_rule(program, rule, &field.path) else { continue };
        if needed == field.value {
            continue;
        }
        let shown = field.path.join(".");
        let message = message!("no message with `{shown}` = {} chooses `{name}`", field.value.to_string());
        let diagnostic = Diagnostic::new(Code::NeverRecorded, field.span, message);
        let diagnostic =
            diagnostic.label(rule.condition.span, message!("`{name}` needs {}", needed.to_string()));
        return Some(diagnostic.help(message!("correct one of the two conditions")));
    }
    None
}

fn required_field(part: &Cond, var: &Var) -> Option<RequiredField> {
    let (field, value) = split_equality_test(part)?;
    let mut path = Vec::new();
    let is_field = append_field_path(field, var.id, &mut path) && !path.is_empty();
    is_field.then_some(RequiredField { path, value, span: part.span })
}

/// Returns the possible targets of decisions that choose a statement with this name. `None` if the
/// outcome of such a statement is not a handler, or if there is no such statement.
fn possible_targets<'p>(program: &'p Program, name: &str) -> Option<Vec<&'p str>> {
    let named = program.rules.iter().filter(|rule| *rule.name == *name).map(|rule| &rule.outcome);
    let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
    let defaults = defaults.filter(|_| name == DEFAULT_STATEMENT_NAME);
    let targets = named.chain(defaults).map(|outcome| match outcome {
        Outcome::Handler { name, .. } => Some(&**name),
        _ => None,
    });
    targets.collect::<Option<Vec<_>>>().filter(|targets| !targets.is_empty())
}

/// Returns the rule with this name; `None` if there are several or none.
fn sole_rule_named<'p>(program: &'p Program, name: &str) -> Option<&'p Rule> {
    let mut named = program.rules.iter().filter(|rule| *rule.name == *name);
    let rule = named.next()?;
    (named.next().is_none() && name != DEFAULT_STATEMENT_NAME).then_some(rule)
}

/// Returns the constant that the field at `path` must equal so that the rule's condition is true;
/// `None` if the condition requires no constant.
fn value_required_by_rule(program: &Program, rule: &Rule, path: &[Arc<str>]) -> Option<Json> {
    rule.condition.conjuncts().iter().find_map(|part| {
        let (field, value) = split_equality_test(part)?;
        let ExprKind::Slot(slot) = without_typed_reads(field).kind else { return None };
        let slot = &program.slots[slot.index()];
        (slot.root.is_none() && slot.path[..] == *path).then_some(value)
    })
}
