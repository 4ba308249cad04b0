//! Warns about a rule that every declared value of a field breaks, as in `count: int in 0..=50` and
//! `require "count.max": count > 50`.

use super::super::Checker;
use super::super::always::{Accepted, accepted_values};
use crate::hir::{
    BindingId, Cond, Expr, ExprKind, Limits, Object, ObjectPath, ObjectStep, PayloadField, Shape,
};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::value::Value;
use rulec_syntax::ast::{self, RuleTest};
use serde_json::Value as Json;
use std::sync::Arc;

impl Checker<'_> {
    /// Warns about a rule whose condition contradicts the declared values of a field. Every object
    /// with an allowed value then violates the rule. `condition` is the author's condition.
    pub(super) fn warn_declared_values(&mut self, rule: &ast::RuleItem, condition: &Cond) {
        self.warn_contradiction_in_body(condition);
        let parts = match rule.test {
            RuleTest::Require(_) => condition.conjuncts(),
            RuleTest::Forbid(_) => condition.alternatives(),
            RuleTest::Compiles => return,
        };
        let is_required = matches!(rule.test, RuleTest::Require(_));
        let found = parts.iter().find_map(|part| {
            let (value, accepted) = accepted_values(part)?;
            let allowed = if is_required { accepted } else { accepted.complement()? };
            let field = self.declared_field(value)?;
            allowed.excludes(&declared_values(field)?).then(|| (part.span, value.span, shown_values(field)))
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
        let place = rule.place.as_ref().map(|place| format!("at {} ", slice(place.path.span)));
        let help = match place {
            _ if !is_required => {
                message!("`forbid` gives what must not hold: correct the condition, or the declaration")
            }
            place if is_whole && !rule.place.as_ref().is_some_and(|place| place.dotted) => {
                let written =
                    format!("forbid {} {}when {shown}", slice(rule.id.span), place.unwrap_or_default());
                message!("`require` gives what must hold; to refuse these values write `{written}`")
            }
            _ => message!("`require` gives what must hold: correct the condition, or the declaration"),
        };
        self.diagnostics.push(diagnostic.help(help));
    }

    /// Returns the declaration of the field that an expression reads in the validated object;
    /// `None` for other values.
    fn declared_field(&self, value: &Expr) -> Option<&PayloadField> {
        match &value.kind {
            ExprKind::Slot(id) => {
                let slot = self.fields.slot(*id);
                self.field_at(slot.root.as_ref()?.id, &slot.path)
            }
            ExprKind::Read(inner, _) => self.declared_field(inner),
            _ => None,
        }
    }

    fn field_at(&self, root: BindingId, path: &[Arc<str>]) -> Option<&PayloadField> {
        let (name, objects) = path.split_last()?;
        let object = objects.iter().try_fold(self.object_of(root)?, |object, key| {
            match &object.fields.iter().find(|field| field.name == *key)?.shape {
                Shape::Object(inner) => Some(inner),
                _ => None,
            }
        })?;
        object.fields.iter().find(|field| field.name == *name)
    }

    /// Returns the schema of the object that a binding names: the validated object, or an element
    /// of a list in it. `None` for any other binding.
    fn object_of(&self, binding: BindingId) -> Option<&Object> {
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
        match &self.field_at(*root, &path?)?.shape {
            Shape::Objects(elements) => Some(elements),
            _ => None,
        }
    }
}

/// Returns the values that a field may have; `None` if its type alone limits them.
fn declared_values(field: &PayloadField) -> Option<Accepted<'_>> {
    if let Some(value) = &field.exactly {
        return Some(Accepted::Values(vec![Value::from_json(value)]));
    }
    Some(match field.limits.as_ref()? {
        Limits::OneOf(values) => Accepted::Values(values.iter().map(Value::from_json).collect()),
        Limits::Range { least, most, inclusive } => Accepted::Between {
            low: Some((Value::from_json(least), true)),
            high: Some((Value::from_json(most), *inclusive)),
        },
    })
}

/// Returns the declared values of a field as its author writes them, such as `in 0..=50`.
fn shown_values(field: &PayloadField) -> String {
    let shown = match (&field.exactly, &field.limits) {
        (Some(value), _) => format!("const {value}"),
        (None, Some(Limits::Range { least, most, inclusive })) => {
            format!("in {least}..{}{most}", if *inclusive { "=" } else { "" })
        }
        (None, Some(Limits::OneOf(values))) => {
            let values: Vec<String> = values.iter().map(Json::to_string).collect();
            format!("in [{}]", values.join(", "))
        }
        (None, None) => String::new(),
    };
    format!("`{shown}`")
}
