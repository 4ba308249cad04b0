//! Reports a list whose elements are joined by words instead of commas, as in `["a" or "b"]`.

use super::super::{Checked, Checker};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_syntax::ast::{self, ExprKind, Literal};

impl Checker<'_> {
    /// Reports an element of a list that is joined by a word instead of a comma, as in
    /// `["a" or "b"]`. `span` is the span of the list. `is_flow` is true for the patterns of a
    /// flow. One of them is enough to select the flow, so for `and` the help shows a route.
    pub(in super::super) fn check_joined_elements(
        &mut self,
        items: &[ast::Expr],
        span: Span,
        is_flow: bool,
    ) -> Checked<()> {
        let Some((joined, op)) = items.iter().find_map(|item| Some((item, find_joining_word(item)?))) else {
            return Ok(());
        };
        let mut texts = Vec::new();
        items.iter().for_each(|item| collect_joined_parts(item, &mut texts));
        let texts: Vec<&str> = texts.iter().map(|part| self.loaded.sources.slice(part.span)).collect();
        let written = format!("[{}]", texts.join(", "));
        let word = op.info().spelling;
        let message = message!("the elements of a list are separated by commas, not by `{word}`");
        let diagnostic = Diagnostic::new(Code::ConditionWanted, joined.span, message);
        self.report(match (op, is_flow) {
            (Op::Or, _) => {
                let help = message!("write `{replacement}`", replacement = written.clone());
                diagnostic.help(help).likely_fix(span, written)
            }
            (_, true) => diagnostic.help(message!(
                "one of the texts is enough for a flow; for texts that must all occur, write a route: `route \
                NAME when text contains all {written} -> HANDLER`"
            )),
            (_, false) => diagnostic.help(message!(
                "write `{written}`: after `any` one of the elements is enough, and after `all` every element \
                must occur"
            )),
        })
    }
}

/// Returns `and` or `or` if this word joins only texts and numbers. `None` for other expressions.
fn find_joining_word(item: &ast::Expr) -> Option<Op> {
    match &item.kind {
        ExprKind::Logic(op @ (Op::And | Op::Or), parts) => {
            let mut inner = parts.iter().map(|part| match &part.kind {
                ExprKind::Literal(Literal::String(_) | Literal::Int(_) | Literal::Float(_)) => Some(*op),
                _ => find_joining_word(part),
            });
            inner.all(|other| other == Some(*op)).then_some(*op)
        }
        _ => None,
    }
}

/// Adds an element of a list to `parts`. For an element such as `"a" or "b"`, adds its parts
/// instead.
fn collect_joined_parts<'e>(item: &'e ast::Expr, parts: &mut Vec<&'e ast::Expr>) {
    match &item.kind {
        ExprKind::Logic(_, inner) if find_joining_word(item).is_some() => {
            inner.iter().for_each(|part| collect_joined_parts(part, parts));
        }
        _ => parts.push(item),
    }
}
