//! Warns about expressions that compile, but mean something else in other languages: a name with a
//! hyphen, and a property such as `length`.

mod joined;

use super::fields::function_for_property;
use super::path::ConstantPath;
use super::{Checked, Checker};
use crate::hir::{Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::{broken_invariant, message};
use rulec_lang::operators::Op;
use rulec_syntax::ast;

impl<'a> Checker<'a> {
    /// Returns the source text around `span` that looks like one name with hyphens, such as
    /// `headers.X-Test`, and the span of this text. `None` if it does not look like such a name.
    fn hyphenated_text(&self, span: Span) -> Option<(Span, &'a str)> {
        let text = self.loaded.sources.get(span.file)?.text.as_str();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let (before, after) = (text.get(..span.start as usize)?, text.get(span.end as usize..)?);
        let start = before.len() - before.trim_end_matches(is_part).len();
        let end = after.len() - after.trim_start_matches(is_part).len();
        let span = Span { start: span.start - start as u32, end: span.end + end as u32, ..span };
        let written = text.get(span.range())?;
        let (_, last) = written.rsplit_once('.').unwrap_or(("", written));
        let is_name = |part: &str| part.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let has_hyphen = last.contains('-') && last.split('-').all(is_name);
        has_hyphen.then_some((span, written))
    }

    /// Returns the help text, the span to replace and the replacement, if the source text around
    /// `span` looks like a name with hyphens. `None` if it does not.
    pub(super) fn hyphen_help(&self, span: Span) -> Option<(Message, Span, String)> {
        let (span, written) = self.hyphenated_text(span)?;
        let name = match written.rsplit_once('.') {
            Some((parent, last)) => format!("{parent}[\"{last}\"]"),
            None => format!("`{written}`"),
        };
        let help = match name.starts_with('`') {
            true => message!("write the name in backquotes: `{name}`"),
            false => message!("write `{name}`"),
        };
        Some((help, span, name))
    }

    /// Warns about `ctx.a-b`, which subtracts the message field `b` from `ctx.a`. Spaces around the
    /// `-` avoid the warning.
    pub(super) fn warn_hyphenated_name(&mut self, op: Op, right: &'a ast::Expr, span: Span) {
        let ast::ExprKind::Name(name) = &right.kind else { return };
        let is_field = self.fields.infers_types()
            && self.scope.get(name).is_none()
            && self.symbols.definition(right.span.file, name).is_none();
        if op != Op::Sub || !is_field || self.hyphenated_text(right.span).is_none_or(|(all, _)| all != span) {
            return;
        }
        let Some((help, _, name)) = self.hyphen_help(span) else { return };
        let written = name.trim_matches('`');
        let message = message!("`-` subtracts here: a name has no hyphen");
        let help = message!("for one field, {help}; for a subtraction, write spaces around the `-`");
        let diagnostic = Diagnostic::new(Code::HyphenInName, span, message).help(help);
        let replacement = if name.starts_with('`') { name.clone() } else { written.to_owned() };
        self.diagnostics.push(diagnostic.likely_fix(span, replacement));
    }

    /// Warns about `ctx.items.length`, because properties such as `length` are functions here:
    /// `len(ctx.items)`. Does not warn if `input` declares the fields, because a message may really
    /// contain such a field.
    pub(super) fn warn_foreign_property(&mut self, path: &ConstantPath<'_>, span: Span) {
        let Some((name, name_span)) = path.segment(path.names.len() - 1) else {
            return broken_invariant!("a path has a name, and each name has a span");
        };
        if path.names.len() < 2 || !self.fields.infers_types() || !self.fields.is_first_check_of_name(name) {
            return;
        }
        let parent = path.names[path.names.len() - 2];
        let is_plural = parent.len() > 2 && parent.ends_with('s') || matches!(parent, "list" | "array");
        let is_property = match name {
            "length" => true,
            "size" | "count" => is_plural,
            // In other languages, these are methods.
            _ => name.contains(char::is_uppercase) && function_for_property(name).is_some(),
        };
        let Some(function) = function_for_property(name).filter(|_| is_property) else { return };
        let parent = path.names[..path.names.len() - 1].join(".");
        let replacement = format!("{function}({parent})");
        let message = message!("`{name}` is read as a field of `{parent}`");
        let help = message!(
            "for the function, write `{replacement}`; if messages have this field, declare it in `input`"
        );
        let diagnostic = Diagnostic::new(Code::FieldLikeFunction, name_span, message).help(help);
        self.diagnostics.push(diagnostic.likely_fix(span, replacement));
    }

    /// Reports values after `or` or `and` that should belong to the comparison before them, as in
    /// `text contains "a" or "b"`.
    pub(super) fn check_bare_texts(&mut self, op: Op, parts: &'a [ast::Expr]) -> Checked<()> {
        let is_text = |part: &&ast::Expr| {
            use ast::Literal::{Float, Int, String, Wide};
            matches!(part.kind, ast::ExprKind::Literal(Int(_) | Wide(_) | Float(_) | String(_)))
        };
        let Some(first) = parts.iter().position(|part| is_text(&part)).filter(|first| *first > 0) else {
            return Ok(());
        };
        let is_path =
            |part: &ast::Expr| matches!(part.kind, ast::ExprKind::Name(_) | ast::ExprKind::Field(..));
        if op == Op::Or && first + 1 == parts.len() && parts[..first].iter().all(is_path) {
            return self.report_or_as_default(parts);
        }
        if op == Op::Unless {
            return self.report_text_after_unless(parts, first);
        }
        let count = parts[first..].iter().take_while(is_text).count();
        let (before, last) = (&parts[first - 1], &parts[first + count - 1]);
        let ast::ExprKind::Binary(binary) = &before.kind else { return Ok(()) };
        let quantity = if op == Op::And { "all" } else { "any" };
        let not = if binary.negated { "not " } else { "" };
        let operator = match binary.op.node {
            Op::Eq if op == Op::Or => "in".to_owned(),
            Op::Ne => "not in".to_owned(),
            other if other.info().accepted_modifiers.accepts_quantity => {
                format!("{not}{} {quantity}", other.info().spelling)
            }
            _ => return Ok(()),
        };
        let is_plain = binary.modifiers.quantity.is_none() && is_text(&&binary.right);
        let source = self.loaded.sources.get(before.span.file).map(|file| file.text.as_str());
        let Some(source) = source.filter(|_| is_plain) else { return Ok(()) };
        let text = |span: Span| source.get(span.range()).unwrap_or_default();
        let texts: Vec<&str> = std::iter::once(&binary.right)
            .chain(&parts[first..first + count])
            .map(|part| text(part.span))
            .collect();
        let case = match binary.modifiers.case {
            Some(_) => {
                source.get(binary.right.span.end as usize..before.span.end as usize).unwrap_or_default()
            }
            None => "",
        };
        let replacement = format!("{} {operator} [{}]{case}", text(binary.left.span), texts.join(", "));
        let message = message!("a value alone is not a condition");
        let diagnostic = Diagnostic::new(Code::ConditionWanted, parts[first].span, message);
        let help = message!("for one of several values, write `{replacement}`");
        let help = if op == Op::And { message!("write `{replacement}`") } else { help };
        self.report(diagnostic.help(help).likely_fix(before.span.to(last.span), replacement))
    }

    /// Reports `user.name != "ci" unless "root"`: a value alone after `unless`. The value is the
    /// part at `index`. The help text repeats the last comparison before it.
    fn report_text_after_unless(&mut self, parts: &'a [ast::Expr], index: usize) -> Checked<()> {
        let mut before = &parts[index - 1];
        while let ast::ExprKind::Logic(_, inner) = &before.kind
            && let Some(last) = inner.last()
        {
            before = last;
        }
        let ast::ExprKind::Binary(binary) = &before.kind else { return Ok(()) };
        let slice = |span| self.loaded.sources.slice(span);
        let spelling = match binary.op.node {
            Op::Ne | Op::In | Op::Lt | Op::Le | Op::Gt | Op::Ge => "==",
            op => op.info().spelling,
        };
        let span = parts[index].span;
        let written = format!("{} {spelling} {}", slice(binary.left.span), slice(span));
        let message = message!("a value alone is not a condition");
        let diagnostic = Diagnostic::new(Code::ConditionWanted, span, message);
        let help = message!("after `unless` follows a whole condition: write `unless {written}`");
        self.report(diagnostic.help(help).likely_fix(span, written))
    }

    /// Reports `user.role or "none"`. Authors from other languages mean a default for a missing
    /// value.
    fn report_or_as_default(&mut self, parts: &[ast::Expr]) -> Checked<()> {
        let written: Vec<&str> = parts.iter().map(|part| self.loaded.sources.slice(part.span)).collect();
        let replacement = written.join(" ?? ");
        let span = parts.iter().map(|part| part.span).reduce(Span::to).unwrap_or(parts[0].span);
        let message = message!("`or` joins conditions, and these are values");
        let diagnostic = Diagnostic::new(Code::ConditionWanted, span, message);
        let help = message!("for a value in place of a missing one, write `{replacement}`");
        self.report(diagnostic.help(help).likely_fix(span, replacement))
    }

    /// If an operand looks like a name with hyphens, replaces the help text of a type mismatch by
    /// the help text for such names. Also removes the earlier warning about the name.
    pub(super) fn with_hyphen_help(&mut self, diagnostic: Diagnostic, operands: [&Expr; 2]) -> Diagnostic {
        let is_difference = |operand: &&Expr| matches!(operand.kind, ExprKind::Op(Op::Sub, ..));
        let Some(operand) = operands.into_iter().find(is_difference) else { return diagnostic };
        let Some((help, span, name)) =
            self.hyphen_help(operand.span).filter(|(_, span, _)| *span == operand.span)
        else {
            return diagnostic;
        };
        self.diagnostics.retain(|found| found.code != Code::HyphenInName || found.span() != Some(span));
        diagnostic.help(message!("a name with a hyphen is not a subtraction: {help}")).likely_fix(span, name)
    }
}
