//! Finds pairs of conditions on windows of the history in which one condition implies or
//! contradicts the other. For example, a message within the last five minutes is also within the
//! last ten minutes.

use super::report::{AnalysisReport, MISSING_SOURCE};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Op, TestMode};
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Fold, Operand, Predicate, SlotId, Var};
use rulec_syntax::lex::{TokenKind, tokenize};

/// How the truth of a condition depends on the length of its history window, such as the last five
/// minutes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EffectOfLongerWindow {
    /// A longer window makes the condition true for more messages, as for `any`.
    Wider,
    /// A longer window makes the condition true for fewer messages, as for `all`.
    Narrower,
}

/// A condition on the recorded messages of one window of the history, such as the last five
/// minutes.
struct WindowCondition<'p> {
    cond: &'p Cond,
    /// The length of the window; infinite for the whole history.
    window_seconds: f64,
    growth: EffectOfLongerWindow,
    /// A text that identifies the condition without its window. Conditions with equal keys differ
    /// at most in their windows.
    key_without_window: String,
    /// A text that identifies the negated condition without its window.
    negated_key: String,
}

/// Reports pairs of operands of an `and` (if `is_and` is true) or an `or` that differ only in the
/// lengths of their history windows. One operand of such a pair is redundant. For an `and`, also
/// reports pairs that contradict each other, because one operand negates the other apart from the
/// window.
pub(super) fn report_related_windows(
    report: &mut AnalysisReport<'_>,
    history_slot: SlotId,
    operands: &[Cond],
    is_and: bool,
) {
    let windows: Vec<WindowCondition<'_>> =
        operands.iter().filter_map(|part| window_condition(report, history_slot, part)).collect();
    for (index, one) in windows.iter().enumerate() {
        for other in &windows[..index] {
            let (short, long) = match one.window_seconds < other.window_seconds {
                true => (one, other),
                false => (other, one),
            };
            if one.key_without_window == other.key_without_window {
                report_redundant_condition(report, (short, long), is_and);
            } else if one.key_without_window == other.negated_key && is_and && is_contradiction(short, long) {
                let message = message!(
                    "these conditions contradict each other, because one window contains the other: `{}` and `{}`",
                    report.quote_source(other.cond.span),
                    report.quote_source(one.cond.span)
                );
                let diagnostic = Diagnostic::new(Code::WindowInWindow, one.cond.span, message)
                    .label(other.cond.span, message!("both never hold together"))
                    .help(message!("correct the window or the condition of one of them"));
                report.add_finding(diagnostic, None);
            }
        }
    }
}

fn report_redundant_condition(
    report: &mut AnalysisReport<'_>,
    (short, long): (&WindowCondition<'_>, &WindowCondition<'_>),
    is_and: bool,
) {
    // Of two conditions that become true for more messages with a longer window, the one on the
    // short window implies the other one.
    let needless = if is_and == (short.growth == EffectOfLongerWindow::Narrower) { short } else { long };
    let kept = if std::ptr::eq(needless, short) { long } else { short };
    let message = message!(
        "this condition decides nothing, because one window contains the other: `{}` and `{}`",
        report.quote_source(needless.cond.span),
        report.quote_source(kept.cond.span)
    );
    let diagnostic = Diagnostic::new(Code::WindowInWindow, needless.cond.span, message)
        .label(kept.cond.span, message!("this condition alone decides the same"))
        .help(message!("remove one of the two, or correct its window or its condition"));
    report.add_finding(diagnostic, None);
}

/// True if two conditions contradict each other. Precondition: one condition is the negation of the
/// other, apart from the window. They contradict each other if the windows are equal. They also do
/// if a message would have to be in the short window, but not in the long window.
fn is_contradiction(short: &WindowCondition<'_>, long: &WindowCondition<'_>) -> bool {
    short.window_seconds == long.window_seconds
        || (short.growth, long.growth) == (EffectOfLongerWindow::Wider, EffectOfLongerWindow::Narrower)
}

/// Analyses a condition on a window of the history: finds the window's length, and how the
/// condition depends on it. `None` for other conditions.
fn window_condition<'p>(
    report: &AnalysisReport<'_>,
    history_slot: SlotId,
    cond: &'p Cond,
) -> Option<WindowCondition<'p>> {
    let (inner, is_negated) = match &cond.kind {
        CondKind::Not(inner) => (&**inner, true),
        _ => (cond, false),
    };
    let (seconds, growth, text) = match &inner.kind {
        CondKind::Quantifier { is_all: all, list, var, body } => {
            let growth = if *all { EffectOfLongerWindow::Narrower } else { EffectOfLongerWindow::Wider };
            (
                window_seconds(history_slot, list)?,
                growth,
                format!("{all} {}", condition_text(report, body, var)?),
            )
        }
        CondKind::Predicate(test) => analyse_window_test(report, history_slot, test)?,
        _ => return None,
    };
    let growth = match (growth, is_negated) {
        (growth, false) => growth,
        (EffectOfLongerWindow::Wider, true) => EffectOfLongerWindow::Narrower,
        (EffectOfLongerWindow::Narrower, true) => EffectOfLongerWindow::Wider,
    };
    let (key, negated_key) = (format!("{is_negated} {text}"), format!("{} {text}", !is_negated));
    Some(WindowCondition { cond, window_seconds: seconds, growth, key_without_window: key, negated_key })
}

/// Analyses a comparison with a constant, if it compares a count over a history window or a field
/// of the last message in the window. Returns the length of the window, how the comparison depends
/// on the length, and a text that identifies the comparison. `None` for other comparisons.
fn analyse_window_test(
    report: &AnalysisReport<'_>,
    history_slot: SlotId,
    test: &Predicate,
) -> Option<(f64, EffectOfLongerWindow, String)> {
    let (op, Operand::Value(right)) = (test.op?, &test.right) else { return None };
    let constant = right.as_const()?.value().to_json();
    if test.is_negated || test.mode != TestMode::default() {
        return None;
    }
    let mut names = String::new();
    let mut value = &test.left;
    loop {
        match &value.kind {
            ExprKind::Read(inner, _) => value = inner,
            ExprKind::Field(inner, name) => {
                names = format!(".{name}{names}");
                value = inner;
            }
            _ => break,
        }
    }
    let ExprKind::Fold { fold, list, var, body } = &value.kind else { return None };
    let growth = match (fold, op) {
        (Fold::Count, Op::Ge | Op::Gt) => EffectOfLongerWindow::Wider,
        (Fold::Count, Op::Le | Op::Lt) => EffectOfLongerWindow::Narrower,
        // The last message of a short window is the last message of each longer window too.
        (Fold::Last, Op::Eq | Op::In | Op::Gt | Op::Ge | Op::Lt | Op::Le) if !names.is_empty() => {
            EffectOfLongerWindow::Wider
        }
        _ => return None,
    };
    let text = format!("{fold:?} {} {names} {op:?} {constant}", condition_text(report, body, var)?);
    Some((window_seconds(history_slot, list)?, growth, text))
}

/// Returns the constant length of a window in seconds, infinite for the whole history. `None` for
/// other lists.
fn window_seconds(history: SlotId, list: &Expr) -> Option<f64> {
    match &list.kind {
        ExprKind::Slot(slot) => (*slot == history).then_some(f64::INFINITY),
        ExprKind::Read(inner, _) => window_seconds(history, inner),
        ExprKind::Window { list, bound: WindowBound::Since, operand } => {
            let ExprKind::Op(Op::Sub, _, Some(length)) = &operand.kind else { return None };
            window_seconds(history, list).filter(|outer| outer.is_infinite())?;
            length.as_const()?.value().to_json().as_f64()
        }
        _ => None,
    }
}

/// Returns the source text of a condition on an element, with one blank between words, and with `_`
/// in place of the element's name. So equal conditions have equal texts. `None` without source
/// text.
fn condition_text(report: &AnalysisReport<'_>, body: &Cond, var: &Var) -> Option<String> {
    let source = Some(report.source_text(body.span)).filter(|text| *text != MISSING_SOURCE)?;
    let mut text = String::new();
    for token in tokenize(source, 0).filter(|token| !token.kind.is_trivia()) {
        let word = token.text(source);
        // A name after a point is a field, not the element.
        let is_element = token.kind == TokenKind::Word && word == &*var.name && !text.ends_with(". ");
        text.push_str(if is_element { "_" } else { word });
        text.push(' ');
    }
    Some(text)
}
