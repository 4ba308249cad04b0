//! Builds the normal form of predicates: comparisons, ranges and bool values.

use super::NormalBuilder;
use crate::hir::{Expr, ExprKind, Operand, Predicate};
use crate::normal::{CondId, ExprId, NormalPredicate, TestKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::arena::Arena;
use rulec_lang::operators::budget::{self, PredicateContext};
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::value::{Tri, Value};

impl NormalBuilder<'_> {
    pub(super) fn build_predicate(&mut self, test: &Predicate, span: Span, want: bool) -> CondId {
        let want = want != test.is_negated;
        let left = self.build_expr(&test.left);
        let Some(op) = test.op else { return self.build_truth_test(left, want) };
        let right = match &test.right {
            Operand::Nothing => None,
            Operand::Value(value) => Some(self.build_expr(value)),
            Operand::Range { start, end, includes_end: inclusive, wraps_midnight: wraps } => {
                let (start, end) = (self.build_expr(start), self.build_expr(end));
                let upper = if *inclusive { Op::Le } else { Op::Lt };
                let from_start = self.build_comparison(Op::Lt, left, Some(start), TestMode::default(), !want);
                let to_end = self.build_comparison(upper, left, Some(end), TestMode::default(), want);
                if !wraps {
                    return self.join_conds([from_start, to_end], want);
                }
                let mut is_ordered =
                    |want| self.build_comparison(Op::Le, start, Some(end), TestMode::default(), want);
                let (ordered, reversed) = (is_ordered(want), is_ordered(!want));
                let between = self.join_conds([ordered, from_start, to_end], want);
                let outside = self.join_conds([from_start, to_end], !want);
                let wrapped = self.join_conds([reversed, outside], want);
                return self.join_conds([between, wrapped], !want);
            }
        };
        let right_source = match &test.right {
            Operand::Value(value) => Some(value),
            _ => None,
        };
        for (operand, source) in [(Some(left), Some(&test.left)), (right, right_source)] {
            let is_missing = self.constant_operand(operand).is_some_and(Value::is_missing);
            if operand.is_some() && is_missing {
                self.diagnostics.push(missing_operand_warning(source, span));
            }
        }
        // `!=`, `>`, `>=` and `is present` become negations of their opposites, so that equal
        // comparisons are shared.
        let (op, want) = match op {
            Op::Ne => (Op::Eq, !want),
            Op::Gt => (Op::Le, !want),
            Op::Ge => (Op::Lt, !want),
            Op::IsPresent => (Op::IsMissing, !want),
            other => (other, want),
        };
        self.build_comparison(op, left, right, test.mode, want)
    }

    pub(super) fn build_comparison(
        &mut self,
        op: Op,
        left: ExprId,
        right: Option<ExprId>,
        mode: TestMode,
        want: bool,
    ) -> CondId {
        let (mode, want) = match mode.quantity {
            Some(Quantity::None) => (TestMode { quantity: Some(Quantity::Any), ..mode }, !want),
            _ => (mode, want),
        };
        if let (Some(left), Some(right)) = (self.constant_operand(Some(left)), self.constant_operand(right)) {
            let arena = Arena::new(&self.program.limits);
            let tri = budget::test_predicate(
                op,
                left,
                right,
                mode,
                PredicateContext { arena: &arena, is_right_constant: true },
            );
            // If a limit is exceeded, the engines evaluate the test at run time and report it.
            if !arena.is_exceeded() {
                return self.constant_cond(tri == Tri::from(want));
            }
        }
        self.add_predicate(NormalPredicate { test_kind: TestKind::Op(op), mode, left, right }, want)
    }
}

/// Returns the warning for an operand that is missing in every message. `source` is the operand, if
/// it has one expression, and `span` the whole condition.
fn missing_operand_warning(source: Option<&Expr>, span: Span) -> Diagnostic {
    let Some((place, count, index)) = source.and_then(index_beyond_list) else {
        return Diagnostic::new(Code::AlwaysMissing, span, message!("an operand here is always missing"))
            .help(message!("it divides by zero or exceeds the range of numbers"));
    };
    let message = message!("the list has no element with the index {index}");
    let help = match count.checked_sub(1) {
        Some(last) => message!(
            "it has {count} elements, and the first has the index 0: the last one is read by `[{last}]`"
        ),
        None => message!("the list is empty"),
    };
    Diagnostic::new(Code::AlwaysMissing, place, message).help(help)
}

/// Returns the span of an index beyond the end of a constant list, the number of the elements, and
/// the index. `None` if the expression contains no such index.
fn index_beyond_list(expr: &Expr) -> Option<(Span, usize, i64)> {
    match &expr.kind {
        ExprKind::Index(list, index) => {
            let count = list.as_const()?.value().elements()?.count();
            let index = index.as_const()?.value().to_json().as_i64()?;
            let is_beyond = usize::try_from(index).map_or(true, |index| index >= count);
            is_beyond.then_some((expr.span, count, index))
        }
        ExprKind::Op(_, left, right) => {
            index_beyond_list(left).or_else(|| right.as_deref().and_then(index_beyond_list))
        }
        ExprKind::Read(inner, _) | ExprKind::Field(inner, _) => index_beyond_list(inner),
        ExprKind::Call(_, args) => args.iter().find_map(index_beyond_list),
        _ => None,
    }
}
