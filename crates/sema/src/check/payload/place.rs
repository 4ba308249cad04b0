//! Paths in the validated object, from an `at` clause or from the expression of a value.

use super::super::constant::as_json;
use super::super::{Checked, Checker, Reported};
use crate::hir::{Dotted, ObjectPath, Step};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_syntax::ast::{self, ExprKind};
use serde_json::Value as Json;

impl<'a> Checker<'a> {
    /// Lowers the path after `at`.
    pub(super) fn place(&mut self, written: &'a ast::PathExpr) -> Checked<ObjectPath> {
        let span = written.path.span;
        let Some(place) = self.place_of(&written.path) else {
            // An error in the path was already reported.
            let last = self.diagnostics.last().filter(|diagnostic| diagnostic.is_error());
            if last.and_then(Diagnostic::span).is_some_and(|place| span.contains(place)) {
                return Err(Reported);
            }
            let help = message!(
                "write a path that starts with `payload`, a field or an `each` name, such as \
                `nodes[i].node_id`"
            );
            return self.fail(
                Code::NotAPlace,
                span,
                message!("this is not a path in the judged object"),
                help,
            );
        };
        if !written.dotted {
            return Ok(place);
        }
        let mut steps = place.steps;
        match (steps.pop(), place.dotted) {
            (Some(Step::Key(prefix)), None) => {
                Ok(ObjectPath { root: place.root, steps, dotted: Some(Dotted { prefix, steps: Vec::new() }) })
            }
            _ => {
                let help = message!(
                    "write the object that contains the dotted keys, then the key: `at dotted \
                    updates.config` for keys such as \"config.url\""
                );
                self.fail(Code::NotAPlace, span, message!("a `dotted` path must end in a plain key"), help)
            }
        }
    }

    /// Returns the path of an expression in the validated object; `None` if the expression is not
    /// such a path.
    pub(super) fn place_of(&mut self, expr: &'a ast::Expr) -> Option<ObjectPath> {
        match &expr.kind {
            ExprKind::Name(name) => {
                let binding = self.scope.get(name)?;
                binding.place.clone()
            }
            ExprKind::Field(base, name) => {
                Some(self.place_of(base)?.then(Step::Key(name.node.as_str().into())))
            }
            ExprKind::As(base, _) => self.place_of(base),
            ExprKind::Index(base, index) => {
                let base = self.place_of(base)?;
                let index = self.value(index).ok()?;
                Some(base.then(match as_json(&index).and_then(Json::as_str) {
                    Some(key) => Step::Key(key.into()),
                    None => Step::At(self.computed(index)),
                }))
            }
            _ => None,
        }
    }
}
