//! Examines conditions on earlier messages: finds which expressions read the history, which field
//! an expression reads, and which constant a condition requires it to equal.

use rulec_lang::operators::Op;
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, Fold, Operand, Part, Payload, Program, SlotId, TableId, Term, VarId,
};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::sync::Arc;

/// Finds the expressions of a program that read the history.
#[derive(Clone, Copy)]
pub(super) struct HistoryReader<'p> {
    pub program: &'p Program,
    pub history_slot: SlotId,
    /// The payload whose requirements are examined; `None` for other statements. Its `let`s are
    /// slots, whose numbers other payloads reuse.
    payload: Option<&'p Payload>,
}

impl<'p> HistoryReader<'p> {
    /// Returns `None` if no rule of the program reads the history.
    pub fn new(program: &'p Program) -> Option<HistoryReader<'p>> {
        Some(HistoryReader { program, history_slot: program.history_slot()?, payload: None })
    }

    /// Returns this reader for the rules of `table`. It also finds the sums that a payload names by
    /// a `let`.
    pub fn for_table(self, table: TableId) -> HistoryReader<'p> {
        let has_table = |payload: &&Payload| payload.block.tables().contains(&table);
        HistoryReader { payload: self.program.payloads.iter().find(has_table), ..self }
    }

    /// Returns the value that a payload has named by a `let`. `None` for another slot.
    pub fn payload_let(self, slot: SlotId) -> Option<&'p Expr> {
        let slot = &self.program.slots[slot.index()];
        let root = slot.root.as_ref().filter(|_| slot.path.is_empty())?;
        let value = self.payload?.block.let_value(root.id)?;
        Some(self.program.value(value))
    }

    /// True if the value of an expression is the history or a part of it.
    pub fn is_history(self, list: &Expr) -> bool {
        match &list.kind {
            ExprKind::Slot(slot) => {
                *slot == self.history_slot
                    || self.payload_let(*slot).is_some_and(|body| self.is_history(body))
            }
            ExprKind::Window { list, .. } | ExprKind::Read(list, _) => self.is_history(list),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_history(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }

    /// Returns the sums over the history in a condition or value, also in the `let`s that it uses.
    pub fn sums<'e>(self, part: Part<'e>) -> Vec<&'e Expr>
    where
        'p: 'e,
    {
        let (mut parts, mut found) = (vec![part], Vec::new());
        let (mut seen, mut seen_slots) = (HashSet::new(), HashSet::new());
        while let Some(part) = parts.pop() {
            match part {
                Part::Let(id) => {
                    if seen.insert(id) {
                        parts.push(self.program.let_body(id).as_part());
                    }
                    continue;
                }
                Part::Expr(Expr { kind: ExprKind::Slot(slot), .. }) => {
                    if let Some(body) = self.payload_let(*slot).filter(|_| seen_slots.insert(*slot)) {
                        parts.push(Part::Expr(body));
                    }
                }
                Part::Expr(expr) => {
                    if let ExprKind::Fold { fold: Fold::Sum(_), list, .. } = &expr.kind
                        && self.is_history(list)
                    {
                        found.push(expr);
                    }
                }
                Part::Cond(_) => {}
            }
            parts.extend(part.parts());
        }
        found
    }

    /// True if a condition or value contains a sum over the history.
    pub fn sums_history(self, part: Part<'_>) -> bool {
        !self.sums(part).is_empty()
    }
}

/// Returns the paths of the fields of `element`, a quantifier variable, that an expression reads.
/// Leaves out values before `??` if `with_replaced` is false.
pub(super) fn element_paths(expr: &Expr, element: VarId, with_replaced: bool) -> Vec<Vec<Arc<str>>> {
    let (mut parts, mut found) = (vec![Part::Expr(expr)], Vec::new());
    while let Some(part) = parts.pop() {
        if let Part::Expr(expr) = part {
            let mut path = Vec::new();
            if matches!(expr.kind, ExprKind::Field(..)) && append_field_path(expr, element, &mut path) {
                found.push(path);
                continue;
            }
            if matches!(expr.kind, ExprKind::Op(Op::Coalesce, ..)) && !with_replaced {
                continue;
            }
        }
        parts.extend(part.parts());
    }
    found
}

/// Returns the expression inside typed reads: `x` for `x as number`.
pub(super) fn without_typed_reads(mut value: &Expr) -> &Expr {
    while let ExprKind::Read(inner, _) = &value.kind {
        value = inner;
    }
    value
}

/// Splits an equality test with a constant into the tested expression and the constant. `None` for
/// other conditions.
pub(super) fn split_equality_test(cond: &Cond) -> Option<(&Expr, Json)> {
    let CondKind::Predicate(test) = &cond.kind else { return None };
    let Operand::Value(right) = &test.right else { return None };
    let is_equality = test.op == Some(Op::Eq) && !test.is_negated;
    let constant = right.as_const().filter(|_| is_equality)?;
    Some((&test.left, constant.value().to_json()))
}

/// Appends the path of the field that `value` reads of `element`, a quantifier variable, to `path`.
/// Returns false for an expression that reads no such field.
pub(super) fn append_field_path(value: &Expr, element: VarId, path: &mut Vec<Arc<str>>) -> bool {
    match &value.kind {
        ExprKind::Var(id) => *id == element,
        ExprKind::Read(inner, _) => append_field_path(inner, element, path),
        ExprKind::Field(base, name) => {
            let is_field = append_field_path(base, element, path);
            path.push(name.clone());
            is_field
        }
        // The replacement for a missing value does not change which field is read.
        ExprKind::Op(Op::Coalesce, left, _) => append_field_path(left, element, path),
        _ => false,
    }
}
