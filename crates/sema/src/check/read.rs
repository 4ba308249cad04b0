//! Typed reads: read a value of several possible kinds as the wanted type. A value of another kind
//! then counts as missing.

use crate::hir::{Expr, ExprKind};
use rulec_lang::ty::{KindSet, Ty};

/// Returns the kinds that a read accepts: an int is also accepted as a float.
pub(super) fn accepted_kinds(kinds: KindSet) -> KindSet {
    if kinds.overlaps(KindSet::FLOAT) { kinds.union(KindSet::INT) } else { kinds }
}

/// Returns the union of all sets.
pub(super) fn union_of_kinds(kinds: impl Iterator<Item = KindSet>) -> KindSet {
    kinds.fold(KindSet::EMPTY, KindSet::union)
}

/// Wraps a value in a typed read, unless its type is already a subset of the wanted one.
pub(super) fn typed_read(expr: Expr, wanted: &Ty) -> Expr {
    if expr.ty.kinds.is_subset(wanted.kinds) {
        return expr;
    }
    let (span, optional) =
        (expr.span, expr.optional || !expr.ty.kinds.is_subset(accepted_kinds(wanted.kinds)));
    Expr { kind: ExprKind::Read(Box::new(expr), wanted.kinds), ty: wanted.clone(), optional, span }
}
