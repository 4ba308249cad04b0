//! Host functions are called after everything cheaper has been asked: the one place where the
//! reference leaves the author's order. It changes no decision, only whether a call is made.

use crate::sema::hir::{Cond, CondKind, Expr, ExprKind, LetId, Part, Program};
use smallvec::SmallVec;

/// The parts of a program that call host functions.
#[derive(Debug, Default)]
pub(crate) struct HostUse {
    /// True when the program declares any.
    declared: bool,
    /// True for each `let` that calls one; `None` until it is known.
    lets: Vec<Option<bool>>,
}

impl HostUse {
    /// Looks through the `let`s of a program.
    pub(crate) fn of(program: &Program) -> HostUse {
        if program.externs.is_empty() {
            return HostUse::default();
        }
        let mut found = HostUse { declared: true, lets: vec![None; program.lets.len()] };
        for index in 0..program.lets.len() {
            found.look_at(LetId(index as u32), program);
        }
        found
    }

    fn look_at(&mut self, id: LetId, program: &Program) {
        if self.lets[id.index()].is_some() {
            return;
        }
        // Set first, so that even a cycle (which the checker refuses) comes to an end.
        self.lets[id.index()] = Some(false);
        let mut used = Vec::new();
        let calls = calls_host(program.let_body(id).part(), &mut used);
        let calls = used.into_iter().fold(calls, |calls, inner| {
            self.look_at(inner, program);
            calls || self.lets[inner.index()] == Some(true)
        });
        self.lets[id.index()] = Some(calls);
    }

    /// True when evaluating the condition may call a host function.
    fn in_cond(&self, cond: &Cond) -> bool {
        if !self.declared {
            return false;
        }
        let mut used = Vec::new();
        calls_host(Part::Cond(cond), &mut used) || used.iter().any(|id| self.lets[id.index()] == Some(true))
    }

    /// The operands of an `and` or `or` in the order they are evaluated: the author's, but those that
    /// call host functions last.
    pub(crate) fn ordered<'a>(&self, cond: &'a Cond) -> Operands<'a> {
        let mut operands = operands(cond);
        if self.declared {
            operands.sort_by_cached_key(|operand| self.in_cond(operand));
        }
        operands
    }
}

/// The operands of an `and` or `or`, in the author's order.
pub(crate) type Operands<'a> = SmallVec<[&'a Cond; 8]>;

/// The operands of an `and` or `or`; those of an `and` in an `and`, or an `or` in an `or`, stand in
/// one row with the others.
pub(crate) fn operands(cond: &Cond) -> Operands<'_> {
    fn flatten<'a>(cond: &'a Cond, row: &mut Operands<'a>) {
        let (CondKind::And(parts) | CondKind::Or(parts)) = &cond.kind else { return };
        for part in parts {
            if std::mem::discriminant(&part.kind) == std::mem::discriminant(&cond.kind) {
                flatten(part, row);
            } else {
                row.push(part);
            }
        }
    }
    let mut row = Operands::new();
    flatten(cond, &mut row);
    row
}

/// True when the part calls a host function outside the `let`s it uses, which are noted.
fn calls_host(part: Part<'_>, lets: &mut Vec<LetId>) -> bool {
    match part {
        Part::Let(id) => {
            lets.push(id);
            false
        }
        Part::Expr(Expr { kind: ExprKind::Extern(..), .. }) => true,
        part => part.parts().into_iter().any(|part| calls_host(part, lets)),
    }
}
