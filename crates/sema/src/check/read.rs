//! Typed reads: holding a value that may be of other kinds against the type that is wanted.

use crate::hir::{Expr, ExprKind};
use rulec_lang::ty::{KindSet, Ty};

/// Kinds accepted where these are wanted: an int does for a float.
pub(super) fn accepted(kinds: KindSet) -> KindSet {
    if kinds.overlaps(KindSet::FLOAT) { kinds.union(KindSet::INT) } else { kinds }
}

/// All kinds of some sets.
pub(super) fn union(kinds: impl Iterator<Item = KindSet>) -> KindSet {
    kinds.fold(KindSet::EMPTY, KindSet::union)
}

/// Reads a value at a type unless it certainly has it already.
pub(super) fn read(expr: Expr, wanted: &Ty) -> Expr {
    if expr.ty.kinds.is_subset(wanted.kinds) {
        return expr;
    }
    let (span, optional) = (expr.span, expr.optional || !expr.ty.kinds.is_subset(accepted(wanted.kinds)));
    Expr { kind: ExprKind::Read(Box::new(expr), wanted.kinds), ty: wanted.clone(), optional, span }
}
