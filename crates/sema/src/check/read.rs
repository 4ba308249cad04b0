//! Typed reads. A typed read converts a value to one type; a value of another kind then counts as
//! missing.

use crate::hir::{Expr, ExprKind};
use rulec_lang::ty::{KindSet, Ty};

/// Returns the kinds of message values that can be converted to one of the wanted kinds. In JSON,
/// times are texts, and decimals are numbers or texts.
pub(super) fn readable_kinds(wanted: KindSet) -> KindSet {
    let mut readable = wanted.with_accepted_kinds();
    if wanted.overlaps(KindSet::DATETIME.union(KindSet::DECIMAL)) {
        readable = readable.union(KindSet::STRING);
    }
    if wanted.overlaps(KindSet::DECIMAL) {
        readable = readable.union(KindSet::NUMBER);
    }
    if wanted.overlaps(KindSet::NUMBER) { readable.union(KindSet::DECIMAL) } else { readable }
}

/// Returns the union of several sets of kinds of value.
pub(super) fn union_of_kinds(kinds: impl Iterator<Item = KindSet>) -> KindSet {
    kinds.fold(KindSet::EMPTY, KindSet::union)
}

/// Wraps a value in a read of `wanted_type`, so that a value of another kind counts as missing.
/// Returns the value unchanged if the wanted type accepts any value, or all kinds of the value.
pub(super) fn wrap_in_typed_read(expr: Expr, wanted_type: &Ty) -> Expr {
    if KindSet::MESSAGE_KINDS.is_subset_of(wanted_type.kinds) || expr.ty.kinds.is_subset_of(wanted_type.kinds)
    {
        return expr;
    }
    let (span, optional) = (
        expr.span,
        expr.may_be_missing || !expr.ty.kinds.is_subset_of(wanted_type.kinds.with_accepted_kinds()),
    );
    Expr {
        kind: ExprKind::Read(Box::new(expr), wanted_type.kinds),
        ty: wanted_type.clone(),
        may_be_missing: optional,
        span,
    }
}

/// Returns the kinds that the elements of a value may have. These are all kinds if the value may be
/// something other than a list.
pub(super) fn element_kinds(ty: &Ty) -> KindSet {
    if ty.kinds == KindSet::LIST { ty.element().kinds } else { KindSet::MESSAGE_KINDS }
}

/// The kinds of an undeclared field before its uses narrow them.
pub(super) const UNDECLARED_KINDS: KindSet = KindSet::MESSAGE_KINDS.union(KindSet::DECIMAL);
