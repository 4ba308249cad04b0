//! The kinds of value (such as text or number) that an expression may have. The solver tries only
//! values of these kinds for an operand.

use hashbrown::HashMap;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Op, OperatorResult};
use rulec_lang::ty::{KindSet, Ty};
use rulec_sema::hir::Slot;
use rulec_sema::normal::{ExprId, NExpr, NFold, Normal};

/// The kinds of values in JSON. A value of the message that is read without a type has one of these
/// kinds.
const JSON_KINDS: KindSet = KindSet::ALL.without(KindSet::DATETIME);

/// True if an expression reads a field of the message, or a value inside a field. If the value is a
/// list, its elements are JSON values.
pub(super) fn is_part_of_message(normal: &Normal, expr: ExprId) -> bool {
    match normal.expr(expr) {
        NExpr::Slot(_) | NExpr::History(_) | NExpr::Var(_) | NExpr::Field(..) => true,
        NExpr::Read(inner, _) | NExpr::Index(inner, _) | NExpr::Window(_, inner, _) => {
            is_part_of_message(normal, *inner)
        }
        _ => false,
    }
}

/// Finds the kinds of value that expressions may have. Expressions share their parts, so the kinds
/// of each part are computed once.
pub(super) struct PossibleKinds<'p> {
    slots: &'p [Slot],
    /// The kinds of value that each host function may return, indexed by function id.
    extern_kinds: &'p [KindSet],
    known: HashMap<ExprId, KindSet>,
}

impl<'p> PossibleKinds<'p> {
    pub fn new(slots: &'p [Slot], extern_kinds: &'p [KindSet]) -> PossibleKinds<'p> {
        PossibleKinds { slots, extern_kinds, known: HashMap::new() }
    }

    /// Returns the kinds of value that an expression may have, and caches them for later calls.
    pub fn of(&mut self, normal: &Normal, expr: ExprId) -> KindSet {
        if let Some(kinds) = self.known.get(&expr) {
            return *kinds;
        }
        let kinds = match normal.expr(expr) {
            NExpr::Const(constant) => constant.0.value().kind().map_or(KindSet::EMPTY, KindSet::single),
            NExpr::Slot(slot) => self.slots[slot.index()].kinds,
            NExpr::Read(_, kinds) => *kinds,
            NExpr::List(_) => KindSet::LIST,
            NExpr::Fold { fold: NFold::Count, .. } => KindSet::INT,
            NExpr::Fold { fold: NFold::Sum(_), .. } => KindSet::NUMBER.union(KindSet::DECIMAL),
            NExpr::Window(WindowBound::Hashed, ..) => KindSet::INT,
            NExpr::Window(..) | NExpr::History(_) => KindSet::LIST,
            NExpr::Cond { .. } | NExpr::Quantifier { .. } => KindSet::BOOL,
            NExpr::Extern(id, _) => self.extern_kinds.get(id.index()).copied().unwrap_or(KindSet::EVERY_KIND),
            NExpr::If { then, other, .. } | NExpr::Op(Op::Coalesce, then, Some(other)) => {
                self.of(normal, *then).union(self.of(normal, *other))
            }
            NExpr::Op(op, left, right) => {
                let right_kinds = right.map_or(KindSet::EMPTY, |right| self.of(normal, right));
                let operand_kinds = self.of(normal, *left).union(right_kinds);
                let results = op.info().forms.iter().map(|form| match form.result {
                    OperatorResult::Decimal => operand_kinds.intersect(KindSet::DECIMAL),
                    OperatorResult::Float => KindSet::FLOAT,
                    OperatorResult::Number => KindSet::NUMBER,
                    OperatorResult::DateTime => KindSet::DATETIME,
                    _ => KindSet::EVERY_KIND,
                });
                results.fold(KindSet::EMPTY, KindSet::union)
            }
            NExpr::Call(function, args) => {
                let args: Vec<Ty> = args.iter().map(|arg| Ty::from_kinds(self.of(normal, *arg))).collect();
                function.info().result_ty(&args).kinds
            }
            // The solver reads the elements of lists of the message only.
            NExpr::Field(..) | NExpr::Var(_) => JSON_KINDS,
            NExpr::Index(base, _) if is_part_of_message(normal, *base) => JSON_KINDS,
            NExpr::Index(..) | NExpr::Fold { .. } => KindSet::EVERY_KIND,
        };
        self.known.insert(expr, kinds);
        kinds
    }
}
