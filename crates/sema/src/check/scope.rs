//! The names that are visible in the current expression because a quantifier, a `def` or a payload
//! declares them.

use crate::hir::{Cond, Expr, ObjectPath};
use hashbrown::HashMap;
use rulec_base::span::Span;
use std::cell::Cell;
use std::sync::Arc;

/// A name that expressions can use, introduced by a quantifier, a `def` or a payload.
#[derive(Clone)]
pub(super) struct Binding {
    pub(super) name: Arc<str>,
    /// The expression that the name refers to, with the span of the name's declaration.
    pub(super) expr: Expr,
    /// The path of the value in the validated object; `None` if the value is not part of this
    /// object.
    pub(super) place: Option<ObjectPath>,
    /// A condition that tests whether the value has its declared type. The condition is added to
    /// each rule that uses the name. `None` if no test is needed.
    pub(super) guard: Option<Cond>,
    /// Whether an expression has used the name. An unused name after `where` gets a warning.
    pub(super) is_used: Cell<bool>,
}

impl Binding {
    pub(super) fn new(name: &str, expr: Expr, declared: Span) -> Binding {
        let expr = Expr { span: declared, ..expr };
        Binding { name: name.into(), expr, place: None, guard: None, is_used: Cell::new(false) }
    }
}

/// The bindings (named values) in scope, innermost last. Bindings are indexed by name, because a
/// payload may bind thousands of names.
#[derive(Default)]
pub(super) struct Scope {
    bindings: Vec<Binding>,
    /// For each name, the indexes in `bindings` of the named values with this name, innermost last.
    indices_by_name: HashMap<Arc<str>, Vec<usize>>,
}

impl Scope {
    /// Returns the innermost named value with this name; `None` if the name is not in scope.
    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        let index = self.indices_by_name.get(name)?.last()?;
        self.bindings.get(*index)
    }

    /// Returns all named values in scope, outermost first.
    pub(super) fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// Returns the name of the innermost value in scope whose type has the field `field`, for the
    /// suggestion `NAME.FIELD`. `None` if there is none.
    pub(super) fn binding_with_field(&self, field: &str) -> Option<&str> {
        let has_field =
            |binding: &&Binding| binding.expr.ty.fields().is_some_and(|record| record.get(field).is_some());
        self.bindings.iter().rev().find(has_field).map(|binding| &*binding.name)
    }

    pub(super) fn len(&self) -> usize {
        self.bindings.len()
    }

    pub(super) fn push(&mut self, binding: Binding) {
        self.indices_by_name.entry(binding.name.clone()).or_default().push(self.bindings.len());
        self.bindings.push(binding);
    }

    pub(super) fn pop(&mut self) {
        self.truncate(self.len().saturating_sub(1));
    }

    /// Removes all named values from the scope except the `kept_len` outermost ones.
    pub(super) fn truncate(&mut self, kept_len: usize) {
        for binding in self.bindings.drain(kept_len.min(self.bindings.len())..).rev() {
            if let Some(indices) = self.indices_by_name.get_mut(&binding.name) {
                indices.pop();
                if indices.is_empty() {
                    self.indices_by_name.remove(&binding.name);
                }
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Scope::default();
    }
}

impl Extend<Binding> for Scope {
    fn extend<I: IntoIterator<Item = Binding>>(&mut self, bindings: I) {
        bindings.into_iter().for_each(|binding| self.push(binding));
    }
}

impl FromIterator<Binding> for Scope {
    fn from_iter<I: IntoIterator<Item = Binding>>(bindings: I) -> Scope {
        let mut scope = Scope::default();
        scope.extend(bindings);
        scope
    }
}
