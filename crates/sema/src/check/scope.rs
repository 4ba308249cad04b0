//! The names bound around the expression at hand: by a quantifier, a `def` or a payload.

use crate::hir::{Cond, Expr, Place};
use hashbrown::HashMap;
use rulec_base::span::Span;
use std::cell::Cell;
use std::sync::Arc;

/// A name bound by a quantifier, a `def` or a payload.
#[derive(Clone)]
pub(super) struct Binding {
    pub(super) name: Arc<str>,
    /// Its value, at the place of its declaration.
    pub(super) expr: Expr,
    /// The place of the value in the judged object.
    pub(super) place: Option<Place>,
    /// The test that it is of its type, where that says more than its kind.
    pub(super) guard: Option<Cond>,
    /// True once something has used it.
    pub(super) used: Cell<bool>,
}

impl Binding {
    pub(super) fn new(name: &str, expr: Expr, declared: Span) -> Binding {
        let expr = Expr { span: declared, ..expr };
        Binding { name: name.into(), expr, place: None, guard: None, used: Cell::new(false) }
    }
}

/// The bindings, innermost last. A payload may bind thousands of names.
#[derive(Default)]
pub(super) struct Scope {
    bindings: Vec<Binding>,
    /// The places of the bindings of each name, innermost last.
    by_name: HashMap<Arc<str>, Vec<usize>>,
}

impl Scope {
    /// The innermost binding of that name.
    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        let at = self.by_name.get(name)?.last()?;
        self.bindings.get(*at)
    }

    /// All of them, outermost first.
    pub(super) fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// The innermost binding that has a field of that name.
    pub(super) fn element_with(&self, field: &str) -> Option<&str> {
        let has =
            |binding: &&Binding| binding.expr.ty.fields().is_some_and(|record| record.get(field).is_some());
        self.bindings.iter().rev().find(has).map(|binding| &*binding.name)
    }

    pub(super) fn len(&self) -> usize {
        self.bindings.len()
    }

    pub(super) fn push(&mut self, binding: Binding) {
        self.by_name.entry(binding.name.clone()).or_default().push(self.bindings.len());
        self.bindings.push(binding);
    }

    pub(super) fn pop(&mut self) {
        self.truncate(self.len().saturating_sub(1));
    }

    /// Forgets all but the outermost ones.
    pub(super) fn truncate(&mut self, kept: usize) {
        for binding in self.bindings.drain(kept.min(self.bindings.len())..).rev() {
            if let Some(places) = self.by_name.get_mut(&binding.name) {
                places.pop();
                if places.is_empty() {
                    self.by_name.remove(&binding.name);
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
