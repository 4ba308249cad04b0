//! Warns about operands that cannot be meant together: a value that is compared with itself, and an
//! age that is computed from its two times in the wrong order.

use super::Checker;
use super::units::difference_of_times;
use crate::hir::{Const, Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_syntax::ast;

/// Words in the name of a time that say that the time is over, as in `sent` and `created_at`.
const WORDS_FOR_PAST: [&str; 25] = [
    "sent",
    "created",
    "received",
    "opened",
    "started",
    "joined",
    "updated",
    "modified",
    "registered",
    "submitted",
    "posted",
    "seen",
    "born",
    "birth",
    "added",
    "logged",
    "since",
    "previous",
    "placed",
    "ordered",
    "signed",
    "edited",
    "uploaded",
    "visited",
    "built",
];

impl Checker<'_> {
    /// Warns about a comparison whose operands cannot be meant together. `span` is the span of the
    /// comparison.
    pub(super) fn warn_operands(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr, span: Span) {
        self.warn_value_with_itself(binary, left, right, span);
        self.warn_negative_age(binary.op.node, left, right);
    }

    /// Warns about a field that is compared with itself, as in `tool == tool`.
    fn warn_value_with_itself(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr, span: Span) {
        let compares = matches!(binary.op.node, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge);
        let (first, second) = (self.loaded.sources.slice(left.span), self.loaded.sources.slice(right.span));
        // In a `def`, two parameters can have the same field as their argument.
        let is_same = first == second && is_plain_read(left) && is_plain_read(right);
        if !compares || !is_same || self.is_reported_at(Code::HoldsForEveryValue, span) {
            return;
        }
        let message = message!("`{}` compares a value with itself", self.loaded.sources.slice(span));
        let help = match first.contains('.') {
            true => message!("compare it with another value"),
            false => message!(
                "compare it with another value: a field of an element is written with the element's name, as \
                in `p.{first}`",
                first = first.to_owned()
            ),
        };
        self.diagnostics.push(Diagnostic::new(Code::HoldsForEveryValue, span, message).help(help));
    }

    /// Warns about an age with its two times in the wrong order, as in `sent - now > 2h`, which is
    /// negative for a time before the message.
    fn warn_negative_age(&mut self, op: Op, left: &Expr, right: &Expr) {
        let is_positive =
            right.as_const().and_then(|value| value.value().to_json().as_f64()).is_some_and(|age| age > 0.0);
        let Some((past, now)) = difference_of_times(left).filter(|_| is_positive) else { return };
        let (Some(name), Some(clock)) = (self.name_of_value(past), self.name_of_value(now)) else { return };
        let says_past = name
            .split('_')
            .chain(name.split(char::is_uppercase))
            .any(|word| WORDS_FOR_PAST.contains(&word.to_lowercase().as_str()));
        if !matches!(op, Op::Gt | Op::Ge) || clock != "now" || !says_past {
            return;
        }
        let slice = |span: Span| self.loaded.sources.slice(span);
        let (past, now) = (slice(past.span), slice(now.span));
        let written = format!("{now} - {past}");
        let message = message!("`{}` is negative for a time before the message", slice(left.span));
        let help = message!("for the age, write `{written}`", written = written.clone());
        let diagnostic = Diagnostic::new(Code::NumberNeverHad, left.span, message).help(help);
        self.diagnostics.push(diagnostic.likely_fix(left.span, written));
    }
}

/// True for an expression that reads a field, a definition or an element, and nothing else.
fn is_plain_read(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Slot(_) | ExprKind::Let(_) => expr.as_const().map(Const::value).is_none(),
        ExprKind::Field(base, _) | ExprKind::Read(base, _) => {
            is_plain_read(base) || is_quantifier_element(base)
        }
        _ => false,
    }
}

/// True for the element of a quantifier.
fn is_quantifier_element(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Var(_))
}
