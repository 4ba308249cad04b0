//! Warns about a comparison of two constants of which one is the name of a field in quotes, as in
//! `"status" == "open"`.

use super::Checker;
use crate::hir::{Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_syntax::ast;

impl Checker<'_> {
    /// Warns about a comparison of two constants of which one is the name of a field in quotes.
    pub(super) fn warn_name_in_quotes(
        &mut self,
        binary: &ast::Binary,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) {
        let is_constant = |side: &Expr| side.as_const().is_some() || self.quoted_text(side).is_some();
        // The outputs of a choice have no declared names.
        if self.is_in_choice || !is_constant(left) || !is_constant(right) {
            return;
        }
        let is_written = |side: &ast::Expr| !matches!(side.kind, ast::ExprKind::Name(_));
        let op = binary.op.node;
        let is_equality = matches!(op, Op::Eq | Op::Ne | Op::In);
        let sides = [(left, &binary.right), (right, &binary.left)];
        let found = sides.into_iter().find_map(|(side, other)| {
            let (name, name_span) = self.quoted_text(side)?;
            // A program may be built with another value of a constant: `mode == "debug"`.
            let is_meant = is_written(other) || !is_equality;
            // `len("abc") == 3` and `"on" == "on"` are often written as examples.
            let may_be_undeclared = name == "text"
                || std::ptr::eq(side, left) && side.as_const() != right.as_const() && name_span == left.span;
            let is_name = self.is_name_of_value(name, name_span, may_be_undeclared);
            (is_meant && is_name).then_some((name, name_span))
        });
        let Some((name, name_span)) = found else { return };
        let part = |start, end| self.loaded.sources.slice(Span { start, end, ..span });
        let written = format!("{}{name}{}", part(span.start, name_span.start), part(name_span.end, span.end));
        let message = message!("this compares constants: \"{name}\" in quotes is a text, not a field");
        let diagnostic = Diagnostic::new(Code::ConstantKey, name_span, message);
        let help = message!("for the field, write `{written}`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(name_span, name.to_owned()));
    }

    /// Warns about `"status" is missing`: a text is never missing.
    pub(super) fn warn_presence_of_text(&mut self, operand: &Expr, span: Span) {
        let Some((name, name_span)) = self.quoted_text(operand).map(|(name, span)| (name.to_owned(), span))
        else {
            return;
        };
        if self.is_in_choice || !self.is_name_of_value(&name, name_span, name_span == operand.span) {
            return;
        }
        let test = self.loaded.sources.slice(Span { start: name_span.end, ..span });
        let written = format!("{name}{test}");
        let message = message!("\"{name}\" in quotes is a text, which is never missing");
        let diagnostic = Diagnostic::new(Code::ConstantKey, name_span, message);
        let help = message!("for the field, write `{written}`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(name_span, name));
    }

    /// Returns the help text for operands of different types of which one is the name of a declared
    /// field in quotes: `"count" > 5`. `None` for other operands.
    pub(super) fn field_in_quotes_help(&self, left: &Expr, right: &Expr) -> Option<Message> {
        let span = left.span.to(right.span);
        [(left, right), (right, left)].into_iter().find_map(|(side, other)| {
            let (name, name_span) = self.quoted_text(side)?;
            if name_span != side.span || other.as_const().is_none() || !self.is_known_path(name, name_span) {
                return None;
            }
            let part = |start, end| self.loaded.sources.slice(Span { start, end, ..span });
            let (before, after) = (part(span.start, name_span.start), part(name_span.end, span.end));
            Some(message!("for the field, write `{written}`", written = format!("{before}{name}{after}")))
        })
    }

    /// Returns a text in quotes with its span, also inside a function such as `lower`. `None` for
    /// other values, such as the name of a constant.
    fn quoted_text<'e>(&self, value: &'e Expr) -> Option<(&'e str, Span)> {
        match &value.kind {
            ExprKind::Call(Function::Lower | Function::Upper | Function::Trim | Function::Len, args) => {
                self.quoted_text(args.first()?)
            }
            _ => {
                let text = value.as_const()?.value().as_str()?;
                self.loaded.sources.slice(value.span).starts_with('"').then_some((text, value.span))
            }
        }
    }

    /// True if a text is the name of a value in scope or of a declared field. If no fields are
    /// declared and `may_be_undeclared` is true, also true for a text that looks like such a name.
    fn is_name_of_value(&self, text: &str, span: Span, may_be_undeclared: bool) -> bool {
        let root = text.split('.').next().unwrap_or_default();
        let is_payload_field = || self.payload.field_names.iter().any(|field| **field == *root);
        if self.scope.get(root).is_some() || is_payload_field() || self.is_known_path(text, span) {
            return true;
        }
        let is_word = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        self.fields.infers_types() && may_be_undeclared && text.split('.').all(is_word)
    }
}
