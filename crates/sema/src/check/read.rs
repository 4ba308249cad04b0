//! Typed reads. A typed read reads a value as one type; a value of another kind then counts as
//! missing.

use crate::hir::{Expr, ExprKind};
use rulec_lang::ty::{KindSet, Ty};

/// Returns the kinds that a read accepts: an int is also accepted as a float.
pub(super) fn accepted_kinds(kinds: KindSet) -> KindSet {
    if kinds.overlaps(KindSet::FLOAT) { kinds.union(KindSet::INT) } else { kinds }
}

/// Returns the union of the sets of kinds.
pub(super) fn union_of_kinds(kinds: impl Iterator<Item = KindSet>) -> KindSet {
    kinds.fold(KindSet::EMPTY, KindSet::union)
}

/// Wraps a value in a typed read, unless the kinds of its type are a subset of the wanted kinds.
pub(super) fn typed_read(expr: Expr, wanted_type: &Ty) -> Expr {
    if expr.ty.kinds.is_subset(wanted_type.kinds) {
        return expr;
    }
    let (span, optional) =
        (expr.span, expr.optional || !expr.ty.kinds.is_subset(accepted_kinds(wanted_type.kinds)));
    Expr { kind: ExprKind::Read(Box::new(expr), wanted_type.kinds), ty: wanted_type.clone(), optional, span }
}
