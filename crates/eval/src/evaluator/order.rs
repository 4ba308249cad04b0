//! Host functions are called after everything cheaper has been asked: the one place where the
//! reference leaves the author's order. It changes no decision, only whether a call is made.

use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Part, Program};
use smallvec::SmallVec;

/// The parts of a program that call host functions.
#[derive(Debug)]
pub struct HostUse {
    /// True when the program declares any.
    declared: bool,
    /// True for each `let` that calls one; `None` until it is asked for.
    lets: Vec<Option<bool>>,
}

impl HostUse {
    pub fn of(program: &Program) -> HostUse {
        HostUse { declared: !program.externs.is_empty(), lets: vec![None; program.lets.len()] }
    }

    /// True when evaluating the part may call a host function.
    fn calls_host(&mut self, part: Part<'_>, program: &Program) -> bool {
        match part {
            Part::Let(id) => {
                if let Some(known) = self.lets[id.index()] {
                    return known;
                }
                // Set first, so that even a cycle (which the checker refuses) comes to an end.
                self.lets[id.index()] = Some(false);
                let calls = self.calls_host(program.let_body(id).part(), program);
                self.lets[id.index()] = Some(calls);
                calls
            }
            Part::Expr(Expr { kind: ExprKind::Extern(..), .. }) => true,
            part => part.parts().into_iter().any(|part| self.calls_host(part, program)),
        }
    }

    /// The operands of an `and` or `or` in the order they are evaluated: the author's, but those that
    /// call host functions last.
    pub fn ordered<'a>(&mut self, cond: &'a Cond, program: &Program) -> Operands<'a> {
        let mut operands = operands(cond);
        if self.declared {
            operands.sort_by_cached_key(|operand| self.calls_host(Part::Cond(operand), program));
        }
        operands
    }
}

/// The operands of an `and` or `or`, in the author's order.
pub type Operands<'a> = SmallVec<[&'a Cond; 8]>;

/// The operands of an `and` or `or`; those of an `and` in an `and`, or an `or` in an `or`, stand in
/// one row with the others.
pub fn operands(cond: &Cond) -> Operands<'_> {
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
