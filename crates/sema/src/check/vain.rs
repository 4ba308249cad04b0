//! Warns about expressions that mean something else in another language, and about comparisons that
//! are never true. Examples: `[1-3]` for a range, `0 ?? x`, and an index from the end.

use super::{Checked, Checker};
use crate::hir::{Expr, ExprKind, Fold, History};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::value::{Value, compare};
use rulec_syntax::ast;
use std::cmp::Ordering;

impl Checker<'_> {
    /// Warns about `x in [1-3]`, by which an author means a range: the list contains the difference
    /// of the two numbers.
    pub(super) fn warn_difference_in_list(&mut self, binary: &ast::Binary) {
        let ast::ExprKind::List(items) = &binary.right.kind else { return };
        let range = |item: &ast::Expr| {
            let (low, high) = self.loaded.sources.slice(item.span).split_once('-')?;
            // The formatter writes blanks around `-`.
            let (low, high) = (low.trim_end(), high.trim_start());
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let is_range =
                is_number(low) && is_number(high) && low.parse::<u64>().ok()? < high.parse::<u64>().ok()?;
            is_range.then(|| (item.span, format!("{low} - {high}"), format!("{low}..={high}")))
        };
        let Some((span, written, range)) = items.iter().find_map(range) else { return };
        let message = message!("`{written}` is a subtraction, not a range");
        let diagnostic = Diagnostic::new(Code::NumbersLikeOthers, span, message);
        self.diagnostics.push(match items.len() {
            1 if binary.op.node == Op::In => diagnostic
                .help(message!("a range is written without brackets: `in {range}`"))
                .likely_fix(binary.right.span, range),
            _ => diagnostic.help(message!("a range is written on its own: `x in {range} or x in [7]`")),
        });
    }

    /// Reports a comparison with `null` by `==` or `!=`, and suggests `is missing` or `is present`
    /// instead. Returns `Ok` for all other comparisons.
    pub(super) fn check_null_comparison(&mut self, binary: &ast::Binary) -> Checked<()> {
        let is_null =
            |operand: &ast::Expr| matches!(operand.kind, ast::ExprKind::Literal(ast::Literal::Null));
        let value = match (is_null(&binary.left), is_null(&binary.right)) {
            (false, true) => binary.left.span,
            (true, false) => binary.right.span,
            _ => return Ok(()),
        };
        let test = match binary.op.node {
            Op::Eq => "is missing",
            Op::Ne => "is present",
            _ => return Ok(()),
        };
        let (spelling, value) = (binary.op.node.info().spelling, self.loaded.sources.slice(value));
        let whole = binary.left.span.to(binary.right.span);
        let message =
            message!("`{spelling}` cannot be used with null: a missing value is never equal to anything");
        let null = if is_null(&binary.left) { binary.left.span } else { binary.right.span };
        let written = format!("{value} {test}");
        let help = message!("write `{written}`; a null field counts as missing");
        self.report(Diagnostic::new(Code::OperatorType, null, message).help(help).likely_fix(whole, written))
    }

    /// Warns about `left ?? right` if `left` is a constant, as in `0 ?? x`. A constant is never
    /// missing, so `right` is never used. `span` is the span of the whole expression.
    pub(super) fn warn_default_for_constant(&mut self, left: &Expr, right: &Expr, span: Span) {
        if left.as_const().is_none() {
            return;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let (constant, value) = (slice(left.span), slice(right.span));
        let message = message!("`{constant}` is never missing, so `{value}` is never used");
        let diagnostic = Diagnostic::new(Code::DefaultFirst, left.span, message);
        let written = format!("{value} ?? {constant}");
        let help = message!("the value comes before `??`, and its default after it: write `{written}`");
        self.diagnostics.push(diagnostic.help(help).likely_fix(span, written));
    }

    /// Warns about `base[index]` if `index` is a negative constant. Other languages count it from
    /// the end of the list, but here a list has no such element. `span` is the span of the whole
    /// expression.
    pub(super) fn warn_index_from_end(&mut self, base: &Expr, index: &Expr, span: Span) {
        let Some(Value::Int(number)) = index.as_const().map(|constant| constant.value()) else { return };
        if number >= 0 {
            return;
        }
        let list = self.loaded.sources.slice(base.span);
        let message = message!("`{list}` has no element {number}: elements are not counted from the end");
        let diagnostic = Diagnostic::new(Code::IndexFromEnd, index.span, message);
        let last = if list == super::history::HISTORY_NAME {
            "previous".to_owned()
        } else {
            format!("last({list})")
        };
        self.diagnostics.push(match number {
            -1 => diagnostic
                .help(message!("for the last element write `{replacement}`", replacement = last.clone()))
                .likely_fix(span, last),
            _ => diagnostic.help(message!("count from 0, as in `{list}[0]`; the last element is `{last}`")),
        });
    }

    /// Warns about a comparison of a value with a number that the value never has. The number has
    /// more digits than `round` leaves, or exceeds the number of messages that the history keeps.
    /// `span` is the span of the whole comparison.
    pub(super) fn warn_unreachable_number(&mut self, op: Op, left: &Expr, right: &Expr, span: Span) {
        let (value, bound, op) = match (left.as_const(), right.as_const()) {
            (None, Some(bound)) => (left, (bound.value(), right.span), Some(op)),
            (Some(bound), None) => (right, (bound.value(), left.span), op.mirrored()),
            _ => return,
        };
        let Some(op) = op else { return };
        if let Some(diagnostic) = self
            .unreachable_digits_warning(op, value, bound)
            .or_else(|| self.unreachable_count_warning(op, value, bound, span))
        {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Returns the warning for a number with more digits than `round` leaves, as in
    /// `round(x, 2) == 19.999`. `value` is the other operand, and the last parameter is the number
    /// with its span.
    fn unreachable_digits_warning(
        &self,
        op: Op,
        value: &Expr,
        (_, bound_span): (Value<'_>, Span),
    ) -> Option<Diagnostic> {
        let (function, args) = match &value.kind {
            ExprKind::Call(function, args) => (*function, args),
            ExprKind::Read(inner, _) => {
                return self.unreachable_digits_warning(op, inner, (Value::Missing, bound_span));
            }
            _ => return None,
        };
        if function != Function::Round || !matches!(op, Op::Eq | Op::Ne) {
            return None;
        }
        let digits = match args.get(1).and_then(|digits| digits.as_const()).map(|digits| digits.value()) {
            Some(Value::Int(digits)) => usize::try_from(digits).ok()?,
            None if args.len() < 2 => 0,
            _ => return None,
        };
        let written = self.loaded.sources.slice(bound_span);
        let fraction = written.split_once('.')?.1.trim_end_matches('0');
        if fraction.len() <= digits || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let message = message!(
            "`round` leaves {digits} digits after the point, but `{written}` has {}",
            fraction.len()
        );
        let diagnostic = Diagnostic::new(Code::NumberNeverHad, bound_span, message);
        Some(
            diagnostic
                .help(message!("round to {} digits, or compare with a number of {digits}", fraction.len())),
        )
    }

    /// Returns the warning for a count of recorded messages that is compared with more messages
    /// than the history keeps. `value` is the count, the next parameter is the number with its
    /// span, and `span` is the whole comparison.
    fn unreachable_count_warning(
        &self,
        op: Op,
        value: &Expr,
        (bound, bound_span): (Value<'_>, Span),
        span: Span,
    ) -> Option<Diagnostic> {
        let history = self.program.history.as_ref()?;
        let kept = history.max_messages.unwrap_or(History::DEFAULT_MAX_MESSAGES);
        let list = match &value.kind {
            ExprKind::Fold { fold: Fold::Count, list, .. } => list,
            ExprKind::Call(Function::Len, args) => args.first()?,
            _ => return None,
        };
        let mut list = list;
        while let ExprKind::Window { list: inner, .. } = &list.kind {
            list = inner;
        }
        let is_history = matches!(&list.kind, ExprKind::Slot(id)
            if self.fields.slot(*id).root.is_some() && self.fields.slot(*id).path.is_empty());
        let order = compare(bound, Value::Int(i64::try_from(kept).ok()?))?;
        let is_above = match op {
            Op::Gt => order != Ordering::Less,
            Op::Ge | Op::Eq => order == Ordering::Greater,
            _ => false,
        };
        if !is_history || !is_above {
            return None;
        }
        let shown = self.loaded.sources.slice(span);
        let message = message!("`{shown}` can never hold: the history keeps at most {kept} messages");
        let diagnostic = Diagnostic::new(Code::NumberNeverHad, bound_span, message);
        let help = message!("compare with a smaller number, or keep more messages: `at most …`");
        Some(diagnostic.label(history.span, message!("at most {kept} messages for each key")).help(help))
    }

    /// Reports a comparison that was put inside the parentheses of a call by mistake. For
    /// `bucket(user.id in 0..10)`, suggests `bucket(user.id) in 0..10`. `name` is the called
    /// function, `arg` an argument whose parameter is no condition, and `span` the span of the
    /// call. Returns `Ok` if `arg` is no comparison.
    pub(super) fn check_comparison_in_argument(
        &mut self,
        name: &ast::Ident,
        arg: &ast::Expr,
        span: Span,
    ) -> Checked<()> {
        let left = match &arg.kind {
            ast::ExprKind::Binary(binary) if is_comparison(binary.op.node) => binary.left.span,
            ast::ExprKind::Presence { operand, .. } => operand.span,
            _ => return Ok(()),
        };
        let slice = |start: u32, end: u32| self.loaded.sources.slice(Span { start, end, ..span });
        let (call, rest) = (slice(span.start, left.end), slice(arg.span.end, span.end));
        let comparison = slice(left.end, arg.span.end);
        let written = format!("{call}{rest}{comparison}");
        let message = message!("the comparison is inside the parentheses of `{}`", name.node);
        let diagnostic = Diagnostic::new(Code::ArgumentType, arg.span, message);
        self.report(diagnostic.help(message!("write `{written}`")).likely_fix(span, written))
    }
}

fn is_comparison(op: Op) -> bool {
    matches!(
        op,
        Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::In
            | Op::Contains
            | Op::StartsWith
            | Op::EndsWith
            | Op::Matches
            | Op::Like
    )
}
