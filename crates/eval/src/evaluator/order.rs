//! Orders the operands of `and` and `or`: those that call host functions (functions of the
//! embedding program) are evaluated last. All other operands stay in source order. The order
//! decides only whether a host function is called, never the result.

use rulec_base::broken_invariant;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Part, Program};
use smallvec::SmallVec;

/// A cache that says for each `let` of a program whether its evaluation calls host functions.
#[derive(Debug)]
pub struct HostCallAnalysis {
    /// Whether the program declares any host function.
    declares_host_functions: bool,
    /// Whether each `let` calls a host function; `None` if not computed yet.
    let_calls_host: Vec<Option<bool>>,
}

impl HostCallAnalysis {
    pub fn new(program: &Program) -> HostCallAnalysis {
        HostCallAnalysis {
            declares_host_functions: !program.externs.is_empty(),
            let_calls_host: vec![None; program.lets.len()],
        }
    }

    /// True if the evaluation of `part` (a condition, expression or `let`) may call a host
    /// function. Caches the answer for each `let` in `part`.
    fn calls_host(&mut self, part: Part<'_>, program: &Program) -> bool {
        match part {
            Part::Let(id) => {
                if let Some(cached) = self.let_calls_host[id.index()] {
                    return cached;
                }
                // The entry is set before the recursion, so that even a cycle terminates. The
                // checker rejects cycles.
                self.let_calls_host[id.index()] = Some(false);
                let calls = self.calls_host(program.let_body(id).as_part(), program);
                self.let_calls_host[id.index()] = Some(calls);
                calls
            }
            Part::Expr(Expr { kind: ExprKind::Extern(..), .. }) => true,
            part => part.parts().into_iter().any(|part| self.calls_host(part, program)),
        }
    }

    /// Returns the operands of an `and` or `or` in evaluation order: source order, but operands
    /// that call host functions come last.
    pub fn order_operands<'a>(&mut self, cond: &'a Cond, program: &Program) -> Operands<'a> {
        let mut operands = flatten_operands(cond);
        if self.declares_host_functions {
            operands.sort_by_cached_key(|operand| self.calls_host(Part::Cond(operand), program));
        }
        operands
    }
}

/// The operands of an `and` or `or`. Their order depends on the function that returns them: source
/// order or evaluation order.
pub type Operands<'a> = SmallVec<[&'a Cond; 8]>;

/// Returns the operands of an `and` or `or`, in source order. An operand that is itself an `and` or
/// `or` of the same kind is replaced by its own operands.
pub fn flatten_operands(cond: &Cond) -> Operands<'_> {
    fn collect_operands<'a>(cond: &'a Cond, operands: &mut Operands<'a>) {
        let (CondKind::And(parts) | CondKind::Or(parts)) = &cond.kind else {
            return broken_invariant!("only an `and` or `or` has operands");
        };
        for part in parts {
            if std::mem::discriminant(&part.kind) == std::mem::discriminant(&cond.kind) {
                collect_operands(part, operands);
            } else {
                operands.push(part);
            }
        }
    }
    let mut operands = Operands::new();
    collect_operands(cond, &mut operands);
    operands
}
