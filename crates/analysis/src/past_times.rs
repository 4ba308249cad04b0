//! Finds conditions on the times of earlier messages that no earlier message satisfies. Examples
//! are `p.at < now - 10m` for messages of the last five minutes, and a time before all messages
//! that the history keeps.

use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::history::{AT_FIELD, WindowBound};
use rulec_lang::operators::{Op, TestMode};
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, Predicate, Program, Term, Var, VarId};

/// The name of the field with the time of the current message.
const NOW_FIELD: &str = "now";

/// A bound on the times of earlier messages, in seconds relative to the time of the current
/// message. The seconds are negative for earlier times.
#[derive(Clone, Copy)]
struct TimeBound {
    relative_seconds: f64,
    /// Whether a message with exactly this time satisfies the bound.
    is_inclusive: bool,
    span: Span,
}

/// The times of the earlier messages for which a condition can be true.
#[derive(Default)]
struct TimeRange {
    earliest: Option<TimeBound>,
    latest: Option<TimeBound>,
}

impl TimeRange {
    fn raise_earliest(&mut self, bound: TimeBound) {
        if self.earliest.is_none_or(|earliest| {
            bound.relative_seconds > earliest.relative_seconds
                || bound.relative_seconds == earliest.relative_seconds && !bound.is_inclusive
        }) {
            self.earliest = Some(bound);
        }
    }

    fn lower_latest(&mut self, bound: TimeBound) {
        if self.latest.is_none_or(|latest| {
            bound.relative_seconds < latest.relative_seconds
                || bound.relative_seconds == latest.relative_seconds && !bound.is_inclusive
        }) {
            self.latest = Some(bound);
        }
    }

    /// Returns the earliest and the latest bound of this range if no time lies between them,
    /// otherwise `None`.
    fn contradicting_bounds(&self) -> Option<(TimeBound, TimeBound)> {
        let (earliest, latest) = self.earliest.zip(self.latest)?;
        let is_empty = earliest.relative_seconds > latest.relative_seconds
            || earliest.relative_seconds == latest.relative_seconds
                && !(earliest.is_inclusive && latest.is_inclusive);
        is_empty.then_some((earliest, latest))
    }
}

/// Returns a warning if no earlier message in `list`, a part of the history, has a time for which
/// `body` can be true; otherwise `None`. `var` is the variable of the earlier message.
pub(super) fn impossible_time_warning(
    program: &Program,
    list: &Expr,
    var: &Var,
    body: &Cond,
) -> Option<Diagnostic> {
    let mut range = TimeRange::default();
    let declared = program.history.as_ref()?;
    if let Some(keep) = declared.max_age_ms {
        let seconds = -(keep as f64) / 1000.0;
        range.raise_earliest(TimeBound {
            relative_seconds: seconds,
            is_inclusive: true,
            span: declared.span,
        });
    }
    add_window_bounds(program, list, &mut range);
    for part in body.conjuncts() {
        if let CondKind::Predicate(test) = &part.kind {
            add_comparison_bound(program, test, var.id, part.span, &mut range);
        }
    }
    let (earliest, latest) = range.contradicting_bounds()?;
    // The bound that the author wrote last is the wrong one: a comparison, not `keep` or a window.
    let (wrong, other) = match latest.span.start >= earliest.span.start {
        true => (latest, earliest),
        false => (earliest, latest),
    };
    let message = message!("no earlier message has such a time");
    let reason: Message = match other.span == declared.span {
        true => message!("older messages are not kept"),
        false => message!("this allows only other times"),
    };
    let diagnostic = Diagnostic::new(Code::NumberNeverHad, wrong.span, message).label(other.span, reason);
    Some(diagnostic.help(message!("correct one of the two, or keep the messages longer")))
}

/// Adds to `range` the bounds that the history windows in `list`, such as `within 5m`, set on the
/// times of messages.
fn add_window_bounds(program: &Program, list: &Expr, range: &mut TimeRange) {
    match &list.kind {
        ExprKind::Window { list, bound, operand } => {
            if let (WindowBound::Since, Some(seconds)) = (bound, seconds_after_now(program, operand)) {
                range.raise_earliest(TimeBound {
                    relative_seconds: seconds,
                    is_inclusive: true,
                    span: operand.span,
                });
            }
            add_window_bounds(program, list, range);
        }
        ExprKind::Read(inner, _) => add_window_bounds(program, inner, range),
        ExprKind::Let(id) => {
            if let Term::Expr(body) = program.let_body(*id) {
                add_window_bounds(program, body, range);
            }
        }
        _ => {}
    }
}

/// Adds to `range` the bound that a comparison such as `p.at < now - 10m` requires.
fn add_comparison_bound(
    program: &Program,
    test: &Predicate,
    element: VarId,
    span: Span,
    range: &mut TimeRange,
) {
    let (Some(op), Operand::Value(right)) = (test.op, &test.right) else { return };
    if test.is_negated || test.mode != TestMode::default() {
        return;
    }
    let (op, limit) = match (is_time_of_message(&test.left, element), is_time_of_message(right, element)) {
        (true, false) => (Some(op), right),
        (false, true) => (op.mirrored(), &test.left),
        _ => return,
    };
    let Some(seconds) = seconds_after_now(program, limit) else { return };
    let bound = |is_inclusive| TimeBound { relative_seconds: seconds, is_inclusive, span };
    match op {
        Some(Op::Lt) => range.lower_latest(bound(false)),
        Some(Op::Le) => range.lower_latest(bound(true)),
        Some(Op::Gt) => range.raise_earliest(bound(false)),
        Some(Op::Ge) => range.raise_earliest(bound(true)),
        Some(Op::Eq) => {
            range.raise_earliest(bound(true));
            range.lower_latest(bound(true));
        }
        _ => {}
    }
}

/// True if an expression reads the time of an earlier message, the element of a quantifier.
fn is_time_of_message(expr: &Expr, element: VarId) -> bool {
    match &expr.kind {
        ExprKind::Read(inner, _) => is_time_of_message(inner, element),
        ExprKind::Field(base, name) if **name == *AT_FIELD => is_element(base, element),
        _ => false,
    }
}

fn is_element(expr: &Expr, element: VarId) -> bool {
    match &expr.kind {
        ExprKind::Read(inner, _) => is_element(inner, element),
        ExprKind::Var(id) => *id == element,
        _ => false,
    }
}

/// Returns by how many seconds a time is after the time of the current message, for `now`, `now -
/// 10m` and `now + 10m`. `None` for other expressions.
fn seconds_after_now(program: &Program, expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Read(inner, _) => seconds_after_now(program, inner),
        ExprKind::Slot(id) => {
            let slot = &program.slots[id.index()];
            let is_now = slot.root.is_none() && slot.path.len() == 1 && *slot.path[0] == *NOW_FIELD;
            is_now.then_some(0.0)
        }
        ExprKind::Op(op @ (Op::Add | Op::Sub), left, Some(right)) => {
            let start = seconds_after_now(program, left)?;
            let seconds = right.as_const()?.value().to_json().as_f64()?;
            Some(if *op == Op::Add { start + seconds } else { start - seconds })
        }
        _ => None,
    }
}
