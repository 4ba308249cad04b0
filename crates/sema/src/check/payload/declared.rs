//! Warns about a rule that every declared value of a field breaks, as in `count: int in 0..=50` and
//! `require "count.max": count > 50`.

use super::super::Checker;
use super::super::always::{AcceptedSet, accepted_values};
use crate::hir::{
    AllowedValues, BindingId, Cond, CondKind, Expr, ExprKind, FieldShape, ObjectPath, ObjectSchema,
    ObjectStep, PayloadField,
};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::Ty;
use rulec_lang::value::Value;
use rulec_syntax::ast::{self, RuleTest};
use serde_json::Value as Json;
use std::sync::Arc;

impl Checker<'_> {
    /// Warns about a rule whose condition contradicts the declared values of a field. Every object
    /// with an allowed value then violates the rule. `condition` is the author's condition.
    pub(super) fn warn_declared_values(&mut self, rule: &ast::RuleItem, condition: &Cond) {
        self.warn_contradiction_in_body(condition);
        self.warn_presence_of_required(rule, condition);
        let parts = match rule.test {
            RuleTest::Require(_) => condition.conjuncts(),
            RuleTest::Forbid(_) => condition.disjuncts(),
            RuleTest::Compiles => return,
        };
        let is_required = matches!(rule.test, RuleTest::Require(_));
        let found = parts.iter().find_map(|part| {
            let (value, accepted) = accepted_values(part)?;
            let allowed = if is_required { accepted } else { accepted.complement()? };
            let field = self.declared_field(value)?;
            allowed
                .is_disjoint_from(&declared_values(field)?)
                .then(|| (part.span, value.span, format_declared_values(field)))
        });
        let Some((part, value, declared)) = found else { return };
        // A group that several payloads include is lowered several times.
        if self.is_reported_at(Code::Contradiction, part) {
            return;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let (shown, name) = (slice(part), slice(value));
        let message = match is_required {
            true => message!("`{shown}` never holds: `{name}` is declared as {declared}"),
            false => message!("`{shown}` always holds: `{name}` is declared as {declared}"),
        };
        let diagnostic = Diagnostic::new(Code::Contradiction, part, message)
            .here(message!("so every object with an allowed value breaks this rule"));
        let is_whole = is_required && rule.guard.is_none() && condition.span == part;
        let place = rule.violation_path.as_ref().map(|place| format!("at {} ", slice(place.path.span)));
        let help = match place {
            _ if !is_required => {
                message!("`forbid` gives what must not hold: correct the condition, or the declaration")
            }
            place if is_whole && !rule.violation_path.as_ref().is_some_and(|place| place.has_dotted_keys) => {
                let written =
                    format!("forbid {} {}when {shown}", slice(rule.id.span), place.unwrap_or_default());
                message!("`require` gives what must hold; to refuse these values write `{written}`")
            }
            _ => message!("`require` gives what must hold: correct the condition, or the declaration"),
        };
        self.diagnostics.push(diagnostic.help(help));
    }

    /// Warns about `x is present` or `x is missing` for a required field: an object without the
    /// field is refused anyway. No warning for `require` with this test alone, which gives a
    /// missing field a message of its own.
    fn warn_presence_of_required(&mut self, rule: &ast::RuleItem, condition: &Cond) {
        let is_plain = matches!(condition.kind, CondKind::Predicate(_)) && rule.guard.is_none();
        let mut tests = Vec::new();
        collect_presence_tests(condition, &mut tests);
        // A rule with this test alone gives a message of its own for a missing field.
        if is_plain && matches!(rule.test, RuleTest::Require(_)) {
            return;
        }
        let found = tests.into_iter().find(|(value, ..)| self.is_required_field(value));
        let Some((value, holds, span)) = found else { return };
        // A group that several payloads include is lowered several times.
        if self.is_reported_at(Code::HoldsForEveryValue, span) {
            return;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let (shown, name) = (slice(span), slice(value.span));
        let inner = shown.strip_prefix('(').and_then(|shown| shown.strip_suffix(')'));
        let shown = inner.unwrap_or(shown);
        let message = match holds {
            true => message!("`{shown}` always holds: the field is required"),
            false => message!("`{shown}` never holds: the field is required"),
        };
        let last = name.rsplit('.').next().unwrap_or(name);
        let help = message!("for a field that may be missing, write `?` after its name: `{last}?: …`");
        self.diagnostics.push(Diagnostic::new(Code::HoldsForEveryValue, span, message).help(help));
    }

    /// True if an expression reads a field that every accepted object has.
    fn is_required_field(&self, value: &Expr) -> bool {
        let ExprKind::Slot(id) = &value.kind else {
            return matches!(&value.kind, ExprKind::Read(inner, _) if self.is_required_field(inner));
        };
        let slot = self.fields.slot(*id);
        let object = slot.root.as_ref().and_then(|root| self.schema_of_binding(root.id));
        object.is_some_and(|object| has_required_path(object, &slot.path))
    }

    /// Returns the declaration of the field that an expression reads in the validated object;
    /// `None` for other values.
    fn declared_field(&self, value: &Expr) -> Option<&PayloadField> {
        match &value.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.slot(*id);
                self.declared_field_at_path(slot.root.as_ref()?.id, &slot.path)
            }
            ExprKind::Read(inner, _) => self.declared_field(inner),
            _ => None,
        }
    }

    fn declared_field_at_path(&self, root: BindingId, path: &[Arc<str>]) -> Option<&PayloadField> {
        let (name, objects) = path.split_last()?;
        let object = objects.iter().try_fold(self.schema_of_binding(root)?, |object, key| {
            match &object.fields.iter().find(|field| field.name == *key)?.shape {
                FieldShape::Object(inner) => Some(inner),
                _ => None,
            }
        })?;
        object.fields.iter().find(|field| field.name == *name)
    }

    /// Returns the schema of the object that a binding names: the validated object, or an element
    /// of a list in it. `None` for any other binding.
    fn schema_of_binding(&self, binding: BindingId) -> Option<&ObjectSchema> {
        let Some(ObjectPath { root, steps, dotted: None }) = self.payload.list_paths.get(&binding) else {
            return (binding == BindingId(0)).then_some(&self.payload.object);
        };
        let path: Option<Vec<Arc<str>>> = steps
            .iter()
            .map(|step| match step {
                ObjectStep::Key(key) => Some(key.clone()),
                ObjectStep::At(_) => None,
            })
            .collect();
        match &self.declared_field_at_path(*root, &path?)?.shape {
            FieldShape::Objects(elements) => Some(elements),
            _ => None,
        }
    }
}

/// True if every accepted object has a value at this path.
fn has_required_path(object: &ObjectSchema, path: &[Arc<str>]) -> bool {
    let [name, rest @ ..] = path else { return false };
    let field = object.fields.iter().find(|field| field.name == *name);
    let Some(field) = field.filter(|field| !field.is_optional && !field.is_nullable) else { return false };
    match (&field.shape, rest) {
        (_, []) => true,
        (FieldShape::Object(inner), _) => has_required_path(inner, rest),
        (FieldShape::Plain(ty), _) => is_required_in_type(ty, rest),
        (FieldShape::Objects(_), _) => false,
    }
}

fn is_required_in_type(ty: &Ty, path: &[Arc<str>]) -> bool {
    let [name, rest @ ..] = path else { return true };
    let field = ty.fields().and_then(|record| record.get(name));
    field.is_some_and(|field| !field.is_optional && is_required_in_type(&field.ty, rest))
}

/// Collects the tests for presence in a condition: the tested value, whether the test holds for a
/// present value, and its span.
fn collect_presence_tests<'c>(cond: &'c Cond, tests: &mut Vec<(&'c Expr, bool, Span)>) {
    match &cond.kind {
        CondKind::And(parts) | CondKind::Or(parts) => {
            parts.iter().for_each(|part| collect_presence_tests(part, tests));
        }
        CondKind::Not(inner) | CondKind::NotTrue(inner) => {
            collect_presence_tests(inner, tests);
        }
        CondKind::Predicate(test) => match test.op {
            Some(Op::IsPresent) => tests.push((&test.left, !test.is_negated, cond.span)),
            Some(Op::IsMissing) => tests.push((&test.left, test.is_negated, cond.span)),
            _ => {}
        },
        _ => {}
    }
}

/// Returns the values that a field may have; `None` if its type alone limits them.
fn declared_values(field: &PayloadField) -> Option<AcceptedSet<'_>> {
    if let Some(value) = &field.only_value {
        return Some(AcceptedSet::Values(vec![Value::from_json(value)]));
    }
    Some(match field.allowed_values.as_ref()? {
        AllowedValues::OneOf(values) => AcceptedSet::Values(values.iter().map(Value::from_json).collect()),
        AllowedValues::Range { lower_bound: least, upper_bound: most, includes_upper_bound: inclusive } => {
            AcceptedSet::Between {
                low: Some((Value::from_json(least), true)),
                high: Some((Value::from_json(most), *inclusive)),
            }
        }
    })
}

/// Returns the declared values of a field as its author writes them, such as `in 0..=50`.
fn format_declared_values(field: &PayloadField) -> String {
    let shown = match (&field.only_value, &field.allowed_values) {
        (Some(value), _) => format!("const {value}"),
        (
            None,
            Some(AllowedValues::Range {
                lower_bound: least,
                upper_bound: most,
                includes_upper_bound: inclusive,
            }),
        ) => {
            format!("in {least}..{}{most}", if *inclusive { "=" } else { "" })
        }
        (None, Some(AllowedValues::OneOf(values))) => {
            let values: Vec<String> = values.iter().map(Json::to_string).collect();
            format!("in [{}]", values.join(", "))
        }
        (None, None) => String::new(),
    };
    format!("`{shown}`")
}
