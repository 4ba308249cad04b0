//! Lowers paths in the validated object: the path after `at`, and the path that an expression
//! reads.

use super::super::constant::json_of_constant;
use super::super::nested::find_path_to_field;
use super::super::{AlreadyReported, Binding, Checked, Checker};
use crate::hir::{DottedPath, ObjectPath, ObjectStep};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::ty::{Field, RecordType};
use rulec_syntax::ast::{self, ExprKind};
use serde_json::Value as Json;

impl<'a> Checker<'a> {
    /// Lowers the path after the keyword `at` of a rule. A violation of the rule is reported at
    /// this path.
    pub(super) fn lower_object_path(&mut self, path_expr: &'a ast::PathExpr) -> Checked<ObjectPath> {
        let span = path_expr.path.span;
        let Some(place) = self.object_path_of(&path_expr.path) else {
            // No second error is reported if the path contains a reported error.
            let last_error = self.diagnostics.last().filter(|diagnostic| diagnostic.is_error());
            if last_error.and_then(Diagnostic::span).is_some_and(|error_span| span.contains(error_span)) {
                return Err(AlreadyReported);
            }
            if let Some(diagnostic) = self.object_path_error(&path_expr.path) {
                return self.report(diagnostic);
            }
            if let Some(path) = self.suggest_nested_path(&path_expr.path) {
                let message = message!("this is not a path in the judged object");
                let diagnostic = Diagnostic::new(Code::NotAPlace, span, message);
                return self.report(
                    diagnostic
                        .help(message!("did you mean `{replacement}`?", replacement = path.clone()))
                        .likely_fix(span, path),
                );
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
        if !path_expr.has_dotted_keys {
            return Ok(place);
        }
        let mut steps = place.steps;
        match (steps.pop(), place.dotted) {
            (Some(ObjectStep::Key(prefix)), None) => Ok(ObjectPath {
                root: place.root,
                steps,
                dotted: Some(DottedPath { prefix, steps: Vec::new() }),
            }),
            _ => {
                let help = message!(
                    "write the object that contains the dotted keys, then the key: `at dotted \
                    updates.config` for keys such as \"config.url\""
                );
                self.fail(Code::NotAPlace, span, message!("a `dotted` path must end in a plain key"), help)
            }
        }
    }

    /// Returns the error for a path after `at` with one of these mistakes: it is in quotes, its
    /// first name is misspelt, or its first name is a field of the payload which includes the
    /// current group. `None` for other paths.
    fn object_path_error(&self, written: &ast::Expr) -> Option<Diagnostic> {
        let is_path =
            |path: &str| !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || "_.[]".contains(c));
        let (path, root_span) = root_name_of_path(written).filter(|(path, _)| is_path(path))?;
        let name = path.split(['.', '[']).next().unwrap_or_default();
        let is_quoted = matches!(written.kind, ExprKind::Literal(_));
        let bindings = || self.scope.bindings().iter().filter(|binding| binding.place.is_some());
        let visible = || bindings().map(|binding| &*binding.name);
        let fields = || self.payload.field_names.iter().map(|field| &**field);
        let is_visible = visible().any(|known| known == name);
        let rest = &path[name.len()..];
        let (replacement, help) = if is_visible && is_quoted {
            let help = message!(
                "a path is written without quotes: write `{replacement}`",
                replacement = path.clone()
            );
            (path.clone(), help)
        } else if fields().any(|known| known == name) {
            let replacement = format!("payload.{path}");
            let help = message!("it is a field of the payload: write `{replacement}`");
            (replacement, help)
        } else {
            let replacement = match self.nearest(name, visible()) {
                Some(near) => format!("{near}{rest}"),
                None => format!("payload.{}{rest}", self.nearest(name, fields())?),
            };
            let help = message!("did you mean `{replacement}`?");
            (replacement, help)
        };
        let message = message!("this is not a path in the judged object");
        let diagnostic = Diagnostic::new(Code::NotAPlace, written.span, message);
        Some(diagnostic.help(help).likely_fix(root_span, replacement))
    }

    /// Returns the path that is probably meant by a path whose first name is unknown, such as
    /// `config.max_tokens` for `max_tokens`. A field of the innermost value in scope is preferred
    /// to other fields of this name. `None` if there is no such field, or if several others have
    /// the name.
    fn suggest_nested_path(&self, path: &ast::Expr) -> Option<String> {
        let (root, _) = root_name_of_path(path)?;
        let text = match &path.kind {
            ExprKind::Literal(_) => &root,
            _ => self.loaded.sources.slice(path.span),
        };
        let rest = text.strip_prefix(root.as_str())?;
        let bindings = self.scope.bindings();
        let has_field = |binding: &&Binding| {
            binding.place.is_some()
                && binding.expr.ty.fields().is_some_and(|fields| fields.get(&root).is_some())
        };
        if let Some(innermost) = bindings.last().filter(has_field) {
            return Some(format!("{}.{text}", innermost.name));
        }
        let mut record = RecordType::default();
        // The fields of `payload` are names of their own.
        for binding in bindings.iter().filter(|b| b.place.is_some() && *b.name != *"payload") {
            let ty = binding.expr.ty.clone();
            record.push(Field { name: binding.name.clone(), ty, is_optional: false, is_private: false });
        }
        Some(format!("{}{rest}", find_path_to_field(&record, &[root.as_str()])?))
    }

    /// Returns the path that an expression reads in the validated object; `None` if it reads
    /// anything else.
    pub(super) fn object_path_of(&mut self, expr: &'a ast::Expr) -> Option<ObjectPath> {
        match &expr.kind {
            ExprKind::Name(name) => {
                let binding = self.scope.get(name)?;
                binding.place.clone()
            }
            ExprKind::Field(base, name) => {
                Some(self.object_path_of(base)?.with_step(ObjectStep::Key(name.node.as_str().into())))
            }
            ExprKind::As(base, _) => self.object_path_of(base),
            ExprKind::Index(base, index) => {
                let base = self.object_path_of(base)?;
                let index = self.check_value(index).ok()?;
                Some(base.with_step(match json_of_constant(&index).and_then(Json::as_str) {
                    Some(key) => ObjectStep::Key(key.into()),
                    None => ObjectStep::At(self.add_value(index)),
                }))
            }
            _ => None,
        }
    }
}

/// Returns the first name of a path, and its span. If the path is written as a text, returns the
/// whole text and its span. `None` for other expressions.
fn root_name_of_path(path: &ast::Expr) -> Option<(String, rulec_base::span::Span)> {
    match &path.kind {
        ExprKind::Name(name) => Some((name.clone(), path.span)),
        ExprKind::Literal(ast::Literal::String(text)) => Some((text.clone(), path.span)),
        ExprKind::Field(base, _) | ExprKind::Index(base, _) | ExprKind::As(base, _) => {
            root_name_of_path(base)
        }
        _ => None,
    }
}
