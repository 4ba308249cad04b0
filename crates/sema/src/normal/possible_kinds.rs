//! The kinds of value (such as text or number) that an expression may have. The solver of the
//! analysis tries only values of these kinds for an operand.

use super::{ExprId, NormalExpr, NormalFold, NormalForm};
use crate::hir::Slot;
use hashbrown::HashMap;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Op, OperatorResult};
use rulec_lang::ty::{KindSet, Ty};

/// The kinds of values in JSON. A value of the message that is read without a type has one of these
/// kinds.
const JSON_KINDS: KindSet = KindSet::MESSAGE_KINDS.without(KindSet::DATETIME);

/// True if an expression reads a field of the message, or a value inside a field. If the value is a
/// list, its elements are JSON values.
pub fn is_part_of_message(normal: &NormalForm, expr: ExprId) -> bool {
    match normal.expr(expr) {
        NormalExpr::Slot(_) | NormalExpr::History(_) | NormalExpr::Var(_) | NormalExpr::Field(..) => true,
        NormalExpr::Read(inner, _) | NormalExpr::Index(inner, _) | NormalExpr::Window(_, inner, _) => {
            is_part_of_message(normal, *inner)
        }
        _ => false,
    }
}

/// Finds the kinds of value that expressions may have. Expressions share their parts, so the kinds
/// of each part are computed once.
pub struct PossibleKinds<'p> {
    slots: &'p [Slot],
    /// The kinds of value that each host function may return, indexed by function id.
    extern_kinds: &'p [KindSet],
    kinds_by_expr: HashMap<ExprId, KindSet>,
}

impl<'p> PossibleKinds<'p> {
    /// Creates a cache for expressions over these fields and host functions.
    pub fn new(slots: &'p [Slot], extern_kinds: &'p [KindSet]) -> PossibleKinds<'p> {
        PossibleKinds { slots, extern_kinds, kinds_by_expr: HashMap::new() }
    }

    /// Returns the kinds of value that an expression may have, and caches them for later calls.
    pub fn kinds_of(&mut self, normal: &NormalForm, expr: ExprId) -> KindSet {
        if let Some(kinds) = self.kinds_by_expr.get(&expr) {
            return *kinds;
        }
        let kinds = match normal.expr(expr) {
            NormalExpr::Const(constant) => constant.0.value().kind().map_or(KindSet::EMPTY, KindSet::single),
            NormalExpr::Slot(slot) => self.slots[slot.index()].kinds,
            NormalExpr::Read(_, kinds) => *kinds,
            NormalExpr::List(_) => KindSet::LIST,
            NormalExpr::Fold { fold: NormalFold::Count, .. } => KindSet::INT,
            NormalExpr::Fold { fold: NormalFold::Sum(_), .. } => KindSet::NUMBER.union(KindSet::DECIMAL),
            NormalExpr::Window(WindowBound::Hashed, ..) => KindSet::INT,
            NormalExpr::Window(..) | NormalExpr::History(_) => KindSet::LIST,
            NormalExpr::Cond { .. } | NormalExpr::Quantifier { .. } => KindSet::BOOL,
            NormalExpr::Extern(id, _) => {
                self.extern_kinds.get(id.index()).copied().unwrap_or(KindSet::EVERY_KIND)
            }
            NormalExpr::If { then_value: then, else_value: other, .. }
            | NormalExpr::Op(Op::Coalesce, then, Some(other)) => {
                self.kinds_of(normal, *then).union(self.kinds_of(normal, *other))
            }
            NormalExpr::Op(op, left, right) => {
                let right_kinds = right.map_or(KindSet::EMPTY, |right| self.kinds_of(normal, right));
                let operand_kinds = self.kinds_of(normal, *left).union(right_kinds);
                let results = op.info().forms.iter().map(|form| match form.result {
                    OperatorResult::Decimal => operand_kinds.intersect(KindSet::DECIMAL),
                    OperatorResult::Float => KindSet::FLOAT,
                    OperatorResult::Number => KindSet::NUMBER,
                    OperatorResult::DateTime => KindSet::DATETIME,
                    _ => KindSet::EVERY_KIND,
                });
                results.fold(KindSet::EMPTY, KindSet::union)
            }
            NormalExpr::Call(function, args) => {
                let args: Vec<Ty> =
                    args.iter().map(|arg| Ty::from_kinds(self.kinds_of(normal, *arg))).collect();
                function.info().result_ty(&args).kinds
            }
            // The solver reads the elements of lists of the message only.
            NormalExpr::Field(..) | NormalExpr::Var(_) => JSON_KINDS,
            NormalExpr::Index(base, _) if is_part_of_message(normal, *base) => JSON_KINDS,
            NormalExpr::Index(..) | NormalExpr::Fold { .. } => KindSet::EVERY_KIND,
        };
        self.kinds_by_expr.insert(expr, kinds);
        kinds
    }
}
