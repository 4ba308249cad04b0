//! Simplifies values of the normal form before they get an id: a value with constant operands
//! becomes a constant, and a typed read that converts nothing is dropped.

use super::{ExprId, NormalBuilder, NormalConst, NormalExpr};
use crate::hir::Const;
use rulec_lang::arena::Arena;
use rulec_lang::operators::Implementation;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;

impl NormalBuilder<'_> {
    /// Returns the value of an operand if it is a constant; `None` if it is not. An absent operand
    /// has the value [`Value::Missing`].
    pub(super) fn constant_operand(&self, operand: Option<ExprId>) -> Option<Value<'_>> {
        operand.map_or(Some(Value::Missing), |id| self.normal.constant(id).map(Const::value))
    }

    /// Replaces a value by a constant if all its operands are constant.
    pub(super) fn fold_constants(&self, expr: NormalExpr) -> NormalExpr {
        let arena = Arena::new(&self.program.limits);
        let constant = |id: ExprId| self.constant_operand(Some(id));
        let value = match &expr {
            NormalExpr::Op(op, left, right) => {
                match (op.info().implementation, constant(*left), self.constant_operand(*right)) {
                    (Implementation::Value(compute), Some(left), Some(right)) => Some(compute(left, right)),
                    _ => None,
                }
            }
            NormalExpr::Call(function, args) => {
                let args: Option<Vec<Value>> = args.iter().map(|arg| constant(*arg)).collect();
                args.map(|args| function.call(&args, &arena))
            }
            NormalExpr::Read(inner, kinds) => constant(*inner).map(|value| value.read_as(*kinds)),
            NormalExpr::Index(base, index) => match (constant(*base), constant(*index)) {
                (Some(base), Some(index)) => Some(base.index(index)),
                _ => None,
            },
            NormalExpr::Field(base, name) => constant(*base).map(|base| base.field(name)),
            NormalExpr::List(items) => {
                let items: Option<Vec<Value>> = items.iter().map(|item| constant(*item)).collect();
                items.map(|items| arena.build_list(items))
            }
            _ => None,
        };
        // If a limit is exceeded, the engines compute the value at run time and report it.
        match value.filter(|_| !arena.is_exceeded()).and_then(Const::from_value) {
            Some(constant) => NormalExpr::Const(NormalConst(constant)),
            None => expr,
        }
    }

    /// Builds an expression that has the value of `inner` if its kind is one of `kinds`, and is
    /// otherwise missing. If `inner` is known to have no other kind, returns `inner` itself.
    pub(super) fn build_typed_read(&self, inner: ExprId, kinds: KindSet) -> NormalExpr {
        match self.normal.expr(inner) {
            NormalExpr::Read(deeper, others) if others.is_subset_of(kinds) => {
                NormalExpr::Read(*deeper, *others)
            }
            NormalExpr::Slot(id) if self.program.slots[id.index()].kinds.is_subset_of(kinds) => {
                NormalExpr::Slot(*id)
            }
            _ => NormalExpr::Read(inner, kinds),
        }
    }
}
