//! Warns about comparisons that hold for every value, as in `x > 1 or x < 5`. Also warns about a
//! condition of an `if` chain that is true only if an earlier condition of the chain is true.

use super::Checker;
use crate::hir::{Cond, CondKind, Const, Expr, ExprKind, Fold, Operand, Predicate, Term};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::value::{Value, compare};
use rulec_syntax::ast;
use rulec_syntax::parse::number_with_unit;
use std::cmp::Ordering;

/// The values of an operand for which its comparison with constants is true.
#[derive(Clone)]
pub(super) enum AcceptedSet<'v> {
    /// The comparison is true exactly for these values.
    Values(Vec<Value<'v>>),
    /// The comparison is true for all values except these.
    Others(Vec<Value<'v>>),
    /// The comparison is true exactly for the values between these bounds.
    Between { low: RangeBound<'v>, high: RangeBound<'v> },
}

/// A bound of a range of values, and whether the bound itself belongs to the range. `None` if the
/// range has no bound at this end.
pub(super) type RangeBound<'v> = Option<(Value<'v>, bool)>;

impl<'v> AcceptedSet<'v> {
    /// Returns the values for which the comparison does not hold. `None` if this type cannot
    /// describe them.
    pub(super) fn complement(self) -> Option<AcceptedSet<'v>> {
        let flip = |(value, included): (Value<'v>, bool)| Some((value, !included));
        Some(match self {
            AcceptedSet::Values(values) => AcceptedSet::Others(values),
            AcceptedSet::Others(values) => AcceptedSet::Values(values),
            AcceptedSet::Between { low: None, high: Some(high) } => {
                AcceptedSet::Between { low: flip(high), high: None }
            }
            AcceptedSet::Between { low: Some(low), high: None } => {
                AcceptedSet::Between { low: None, high: flip(low) }
            }
            AcceptedSet::Between { .. } => return None,
        })
    }

    /// True unless the value is proven not to belong to the accepted values.
    fn may_contain(&self, value: Value<'_>) -> bool {
        match self {
            AcceptedSet::Values(values) => values.iter().any(|other| may_be_equal(*other, value)),
            AcceptedSet::Others(values) => !values.iter().any(|other| is_equal(*other, value)),
            AcceptedSet::Between { low, high } => {
                let order = |bound: &RangeBound<'_>| bound.and_then(|(bound, _)| compare(value, bound));
                let is_below = |(_, included): &(Value<'_>, bool)| match order(low) {
                    Some(Ordering::Less) => true,
                    Some(Ordering::Equal) => !included,
                    _ => false,
                };
                let is_above = |(_, included): &(Value<'_>, bool)| match order(high) {
                    Some(Ordering::Greater) => true,
                    Some(Ordering::Equal) => !included,
                    _ => false,
                };
                !low.as_ref().is_some_and(is_below) && !high.as_ref().is_some_and(is_above)
            }
        }
    }

    /// True if it is proven that no value belongs to both sets.
    pub(super) fn is_disjoint_from(&self, other: &AcceptedSet<'_>) -> bool {
        match (self, other) {
            (AcceptedSet::Values(values), set) | (set, AcceptedSet::Values(values)) => {
                values.iter().all(|value| !set.may_contain(*value))
            }
            (
                AcceptedSet::Between { low, high },
                AcceptedSet::Between { low: other_low, high: other_high },
            ) => is_range_empty(high, other_low) || is_range_empty(other_high, low),
            _ => false,
        }
    }
}

/// True if no value lies between the two bounds: at or above `low`, and at or below `high`.
fn is_range_empty(high: &RangeBound<'_>, low: &RangeBound<'_>) -> bool {
    let (Some((high, high_included)), Some((low, low_included))) = (high, low) else { return false };
    match compare(*high, *low) {
        Some(Ordering::Less) => true,
        Some(Ordering::Equal) => !(*high_included && *low_included),
        _ => false,
    }
}

fn is_equal(left: Value<'_>, right: Value<'_>) -> bool {
    compare(left, right) == Some(Ordering::Equal)
}

fn may_be_equal(left: Value<'_>, right: Value<'_>) -> bool {
    compare(left, right).is_none_or(|order| order.is_eq())
}

/// Returns the compared value and the values for which the condition holds. `None` for a condition
/// that is no comparison with constants.
pub(super) fn accepted_values(cond: &Cond) -> Option<(&Expr, AcceptedSet<'_>)> {
    match &cond.kind {
        CondKind::Not(inner) => {
            let (left, accepted) = accepted_values(inner)?;
            Some((left, accepted.complement()?))
        }
        CondKind::Predicate(test) => {
            let (left, accepted) = values_accepted_by_predicate(test)?;
            let accepted = if test.is_negated { accepted.complement()? } else { accepted };
            Some((left, accepted))
        }
        _ => None,
    }
}

fn values_accepted_by_predicate(test: &Predicate) -> Option<(&Expr, AcceptedSet<'_>)> {
    if test.mode != TestMode::default() {
        return None;
    }
    let op = test.op?;
    match &test.right {
        Operand::Range { start, end, includes_end: inclusive, wraps_midnight: false } if op == Op::In => {
            let (low, high) = (constant_to_compare(start)?, constant_to_compare(end)?);
            let accepted = AcceptedSet::Between { low: Some((low, true)), high: Some((high, *inclusive)) };
            Some((&test.left, accepted))
        }
        Operand::Value(right) => match (test.left.as_const(), right.as_const()) {
            (None, Some(constant)) => Some((&test.left, values_accepted_by(op, constant)?)),
            (Some(constant), None) => Some((right, values_accepted_by(op.mirrored()?, constant)?)),
            _ => None,
        },
        _ => None,
    }
}

fn values_accepted_by(op: Op, constant: &Const) -> Option<AcceptedSet<'_>> {
    let value = constant.value();
    if op == Op::In {
        let elements: Vec<_> = value.elements()?.filter(|element| !element.is_missing()).collect();
        return (!elements.is_empty()).then_some(AcceptedSet::Values(elements));
    }
    compare(value, value)?;
    Some(match op {
        Op::Eq => AcceptedSet::Values(vec![value]),
        Op::Ne => AcceptedSet::Others(vec![value]),
        Op::Lt => AcceptedSet::Between { low: None, high: Some((value, false)) },
        Op::Le => AcceptedSet::Between { low: None, high: Some((value, true)) },
        Op::Gt => AcceptedSet::Between { low: Some((value, false)), high: None },
        Op::Ge => AcceptedSet::Between { low: Some((value, true)), high: None },
        _ => return None,
    })
}

fn constant_to_compare(expr: &Expr) -> Option<Value<'_>> {
    let value = expr.as_const()?.value();
    compare(value, value).map(|_| value)
}

/// Returns the smallest result of a function, the greatest one (`None` if there is none), and a
/// description of both. Returns `None` for a function whose results have no bounds. Also `None` for
/// `bucket`: `bucket(key) < 100` is always true, but it is a usual way to write a complete
/// roll-out.
fn result_range(function: Function) -> Option<(i64, Option<i64>, Message)> {
    Some(match function {
        Function::Hour => (0, Some(23), message!("`hour` gives 0 to 23")),
        Function::Minute => (0, Some(59), message!("`minute` gives 0 to 59")),
        Function::Weekday => (1, Some(7), message!("`weekday` gives 1 for Monday to 7 for Sunday")),
        Function::Day => (1, Some(31), message!("`day` gives 1 to 31")),
        Function::Month => (1, Some(12), message!("`month` gives 1 to 12")),
        Function::Similarity => (0, Some(1), message!("`similarity` gives 0 to 1")),
        Function::Len => (0, None, message!("`len` is never below 0")),
        Function::Abs => (0, None, message!("`abs` is never below 0")),
        _ => return None,
    })
}

/// Maximum number of pairs of comparisons that are compared in one condition. So a condition with
/// thousands of comparisons is checked in milliseconds, but only its first 450 are compared.
const MAX_COMPARED_PAIRS: usize = 100_000;

/// Returns the pairs of comparisons that are compared, each with the earlier comparison first.
fn pairs_to_compare<T>(comparisons: &[T]) -> impl Iterator<Item = (&T, &T)> {
    let pairs = comparisons
        .iter()
        .enumerate()
        .flat_map(|(index, second)| comparisons[..index].iter().map(move |first| (first, second)));
    pairs.take(MAX_COMPARED_PAIRS)
}

impl Checker<'_> {
    /// Warns about two operands of `or` of which at least one is true for every value, as in
    /// `x > 1 or x < 5`.
    pub(super) fn warn_or_always_true(&mut self, parts: &[Cond]) {
        let found: Vec<_> = parts
            .iter()
            .filter_map(|part| {
                let (left, accepted) = accepted_values(part)?;
                let refused = accepted.clone().complement()?;
                Some((part.span, left.span, accepted, refused))
            })
            .collect();
        let pair =
            pairs_to_compare(&found).find(|((_, left, _, refused), (_, other_left, _, other_refused))| {
                refused.is_disjoint_from(other_refused) && self.have_same_source_text(*left, *other_left)
            });
        let Some(((first, left, accepted, _), (second, _, other_accepted, _))) = pair else { return };
        let is_partition = accepted.is_disjoint_from(other_accepted);
        let (first, second) = (*first, *second);
        let slice = |span| self.loaded.sources.slice(span);
        let value = slice(*left);
        let message = message!("one of these two comparisons holds for every value of `{value}`");
        let span = first.to(second);
        let diagnostic = Diagnostic::new(Code::HoldsForEveryValue, span, message);
        let diagnostic = match is_partition {
            true => diagnostic
                .help(message!("correct one of them; if every value is meant, write `{value} is present`")),
            false => {
                let both = format!("{} and {}", slice(first), slice(second));
                let diagnostic = diagnostic.help(message!("write `{both}`, so that both must hold"));
                if parts.len() == 2 { diagnostic.likely_fix(span, both) } else { diagnostic }
            }
        };
        self.diagnostics.push(diagnostic);
    }

    /// Warns about two comparisons that are never true together, as in
    /// `any x in items: x.n > 5 and x.n < 1`. `body` is the condition of a quantifier or of a
    /// payload rule. The analysis finds such comparisons in all other conditions.
    pub(super) fn warn_contradiction_in_body(&mut self, body: &Cond) {
        let parts = body.conjuncts();
        let found: Vec<_> = parts
            .iter()
            .filter_map(|part| accepted_values(part).map(|(left, accepted)| (part.span, left.span, accepted)))
            .collect();
        let pair = pairs_to_compare(&found).find(|((_, left, accepted), (_, other_left, other_accepted))| {
            accepted.is_disjoint_from(other_accepted) && self.have_same_source_text(*left, *other_left)
        });
        let Some(((first, ..), (second, ..))) = pair else { return };
        // A rule of a group may be lowered several times.
        if self.is_reported_at(Code::Contradiction, *first) {
            return;
        }
        let slice = |span| self.loaded.sources.slice(span);
        let message = message!("`{}` and `{}` never hold together", slice(*first), slice(*second));
        let diagnostic = Diagnostic::new(Code::Contradiction, *first, message)
            .here(message!("this part"))
            .label(*second, message!("contradicts this part"))
            .help(message!("no value satisfies both: correct one of them, or join them with `or`"));
        self.diagnostics.push(diagnostic);
    }

    fn have_same_source_text(&self, left: Span, right: Span) -> bool {
        // A route that is compiled alone has no source text.
        let words = |span| self.loaded.sources.slice(span).split_whitespace();
        words(left).next().is_some() && words(left).eq(words(right))
    }

    /// Warns about a comparison that every result of a function satisfies, as in `len(x) >= 0`.
    pub(super) fn warn_true_for_every_result(
        &mut self,
        binary: &ast::Binary,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) {
        let (call, bound, op) = match (left.as_const(), right.as_const()) {
            (None, Some(bound)) => (left, bound.value(), Some(binary.op.node)),
            (Some(bound), None) => (right, bound.value(), binary.op.node.mirrored()),
            _ => return,
        };
        let Some((least, greatest, results)) = self.result_range_of(call) else { return };
        let written = if left.as_const().is_none() { &binary.right } else { &binary.left };
        if self.warn_unit_out_of_range((call, written), span) {
            return;
        }
        let to_least = compare(bound, Value::Int(least));
        let to_greatest = greatest.and_then(|greatest| compare(bound, Value::Int(greatest)));
        let is_lower_bound = match op {
            Some(Op::Ge) if to_least.is_some_and(Ordering::is_le) => true,
            Some(Op::Gt | Op::Ne) if to_least == Some(Ordering::Less) => true,
            Some(Op::Le) if to_greatest.is_some_and(Ordering::is_ge) => false,
            Some(Op::Lt | Op::Ne) if to_greatest == Some(Ordering::Greater) => false,
            _ => return,
        };
        let message = message!("this always holds: {results}");
        let diagnostic = Diagnostic::new(Code::HoldsForEveryValue, span, message);
        let value = self.loaded.sources.slice(call.span);
        let is_number_of_elements = greatest.is_none() && is_lower_bound;
        self.diagnostics.push(match is_number_of_elements && binary.op.node == Op::Ge {
            true => {
                let written = format!("{value} > 0");
                let help = message!("for at least one, write `{written}`");
                diagnostic.help(help).likely_fix(span, written)
            }
            false => diagnostic.help(message!("correct the number, or remove the comparison")),
        });
    }

    /// Warns about a number with a unit that is no possible result of a function, as in
    /// `hour(now) >= 18h`: `18h` is 64,800, but `hour` returns at most 23. `call` is the call of
    /// the function. `written` is the number, or a range or list of numbers. Returns whether it
    /// warns.
    pub(super) fn warn_unit_out_of_range(
        &mut self,
        (call, written): (&Expr, &ast::Expr),
        span: Span,
    ) -> bool {
        let Some((least, Some(greatest), results)) = self.result_range_of(call) else { return false };
        let numbers: Vec<&ast::Expr> = match &written.kind {
            ast::ExprKind::Range { start, end, .. } => vec![start, end],
            ast::ExprKind::List(items) => items.iter().collect(),
            _ => vec![written],
        };
        let slice = |span| self.loaded.sources.slice(span);
        let with_units: Vec<(Span, &str, i64)> = numbers
            .into_iter()
            .filter_map(|number| {
                let text = slice(number.span);
                let (value, _) = number_with_unit(text)?;
                match value {
                    ast::Literal::Int(value) if !(least..=greatest).contains(&value) => {
                        Some((number.span, text, value))
                    }
                    _ => None,
                }
            })
            .collect();
        let Some((_, text, value)) = with_units.first().copied() else { return false };
        let digits = |text: &str| text.trim_end_matches(char::is_alphabetic).replace('_', "").parse().ok();
        let is_result =
            |text: &str| digits(text).is_some_and(|number: i64| (least..=greatest).contains(&number));
        let message = message!("`{text}` is the number {value}, and {results}");
        let diagnostic = Diagnostic::new(Code::OutOfRange, span, message);
        self.diagnostics.push(match with_units.iter().all(|(_, text, _)| is_result(text)) {
            true => {
                let mut shown = slice(span).to_owned();
                for (place, text, _) in with_units.iter().rev() {
                    let start = (place.start - span.start) as usize;
                    shown
                        .replace_range(start..start + text.len(), text.trim_end_matches(char::is_alphabetic));
                }
                diagnostic
                    .help(message!("write the number without a unit: `{shown}`"))
                    .likely_fix(span, shown)
            }
            false => diagnostic.help(message!("compare with a value that the function can return")),
        });
        true
    }

    fn result_range_of(&self, value: &Expr) -> Option<(i64, Option<i64>, Message)> {
        match &value.kind {
            ExprKind::Call(function, _) => result_range(*function),
            ExprKind::Fold { fold: Fold::Count, .. } => {
                Some((0, None, message!("a number of elements is never below 0")))
            }
            ExprKind::Read(inner, _) => self.result_range_of(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.result_range_of(body),
                Term::Cond(_) => None,
            },
            _ => None,
        }
    }

    /// Warns about a later condition of an `if` chain that never decides: whenever it is true, the
    /// chain's first condition `cond` is true too. `then` is the value of the first condition, and
    /// `other` is the rest of the chain.
    pub(super) fn warn_covered_condition(&mut self, cond: &Cond, then: &Expr, other: &Expr) {
        let mut rest = other;
        while let ExprKind::If { cond: later, then_value: later_then, else_value: later_other } = &rest.kind {
            if self.later_implies_earlier(later, cond)
                && !self.is_reported_at(Code::BranchOfIfNotReached, later.span)
            {
                let slice = |span| self.loaded.sources.slice(span);
                let message = message!(
                    "this value is never chosen: whenever `{}` holds, an earlier condition holds too",
                    slice(later.span)
                );
                let diagnostic = Diagnostic::new(Code::BranchOfIfNotReached, later.span, message)
                    .label(cond.span, message!("this is tested first and holds as well"));
                let is_equal = self.later_implies_earlier(cond, later);
                let is_next = std::ptr::eq(rest, other);
                self.diagnostics.push(match (is_equal, is_next) {
                    (true, _) => diagnostic.help(message!("correct one of the two conditions")),
                    (false, true) => {
                        let pairs = [(&**later, &**later_then), (cond, then)];
                        let [first, second] = pairs
                            .map(|(cond, then)| format!("if {} then {}", slice(cond.span), slice(then.span)));
                        let written = format!("{first} else {second} else {}", slice(later_other.span));
                        diagnostic.help(message!("test the narrower condition first: write `{written}`"))
                    }
                    (false, false) => diagnostic.help(message!(
                        "test the narrower condition first: move `{}` before `{}`",
                        slice(later.span),
                        slice(cond.span)
                    )),
                });
            }
            rest = later_other;
        }
    }

    pub(super) fn is_reported_at(&self, code: Code, span: Span) -> bool {
        self.diagnostics.iter().any(|found| found.code == code && found.span() == Some(span))
    }

    /// True if it is proven that `earlier` holds whenever `later` holds.
    fn later_implies_earlier(&self, later: &Cond, earlier: &Cond) -> bool {
        later.disjuncts().iter().all(|later| {
            later.conjuncts().iter().any(|later| {
                earlier.disjuncts().iter().any(|earlier| self.comparison_implies(later, earlier))
            })
        })
    }

    /// True if it is proven that the comparison `earlier` holds whenever the comparison `later`
    /// holds.
    fn comparison_implies(&self, later: &Cond, earlier: &Cond) -> bool {
        if let (Some((value, accepted)), Some((other, covering))) =
            (accepted_values(later), accepted_values(earlier))
        {
            let refused = covering.complement();
            return refused.is_some_and(|refused| refused.is_disjoint_from(&accepted))
                && self.have_same_source_text(value.span, other.span);
        }
        let (Some((value, op, text)), Some((other, covering, part))) =
            (as_text_comparison(later), as_text_comparison(earlier))
        else {
            return false;
        };
        let implies = match covering {
            Op::Contains => text.contains(part),
            Op::StartsWith => text.starts_with(part) && op != Op::Contains && op != Op::EndsWith,
            Op::EndsWith => text.ends_with(part) && op != Op::Contains && op != Op::StartsWith,
            _ => false,
        };
        implies && self.have_same_source_text(value.span, other.span)
    }
}

/// Splits a comparison of a text with a constant text into the value, the operator and the
/// constant. `None` for other conditions, and for comparisons with `not` or modifiers.
fn as_text_comparison(cond: &Cond) -> Option<(&Expr, Op, &str)> {
    let CondKind::Predicate(test) = &cond.kind else { return None };
    let Operand::Value(right) = &test.right else { return None };
    let is_plain = !test.is_negated && test.mode == TestMode::default();
    let op = test
        .op
        .filter(|op| is_plain && matches!(op, Op::Contains | Op::StartsWith | Op::EndsWith | Op::Eq))?;
    // The elements of a list are compared as a whole.
    let is_text = test.left.ty.kinds == rulec_lang::ty::KindSet::STRING;
    Some((&test.left, op, right.as_const()?.value().as_str().filter(|_| is_text)?))
}
