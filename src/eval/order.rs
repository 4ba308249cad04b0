//! Host functions are called after everything cheaper has been asked: the one place where the
//! reference leaves the author's order. It changes no decision, only whether a call is made.

use crate::sema::hir::{Cond, CondKind, Expr, ExprKind, LetId, Operand, Predicate, Program, Term};
use smallvec::SmallVec;

/// Which parts of a program call host functions.
#[derive(Debug, Default)]
pub(crate) struct HostUse {
    /// Whether the program declares any.
    declared: bool,
    /// For each `let`, whether it calls one; `None` until it is known.
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
        let body = program.let_body(id);
        let mut used = Vec::new();
        let calls = match body {
            Term::Cond(cond) => Walk { lets: &mut used }.cond(cond),
            Term::Expr(expr) => Walk { lets: &mut used }.expr(expr),
        };
        let calls = used.into_iter().fold(calls, |calls, inner| {
            self.look_at(inner, program);
            calls || self.lets[inner.index()] == Some(true)
        });
        self.lets[id.index()] = Some(calls);
    }

    /// Whether evaluating the condition may call a host function.
    pub(crate) fn in_cond(&self, cond: &Cond) -> bool {
        if !self.declared {
            return false;
        }
        let mut used = Vec::new();
        Walk { lets: &mut used }.cond(cond) || used.iter().any(|id| self.lets[id.index()] == Some(true))
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

/// Looks for a call of a host function; notes the `let`s met on the way.
struct Walk<'l> {
    lets: &'l mut Vec<LetId>,
}

impl Walk<'_> {
    fn cond(&mut self, cond: &Cond) -> bool {
        match &cond.kind {
            CondKind::Const(_) => false,
            CondKind::Not(inner) | CondKind::Call(_, inner) => self.cond(inner),
            CondKind::And(parts) | CondKind::Or(parts) => parts.iter().any(|part| self.cond(part)),
            CondKind::Test(predicate) => self.predicate(predicate),
            CondKind::Quantifier { list, body, .. } => self.expr(list) || self.cond(body),
            CondKind::Let(id) => self.meet(*id),
            CondKind::Branch { conditions, .. } => {
                conditions.iter().any(|condition| self.cond(&condition.usable) || self.cond(&condition.cond))
            }
        }
    }

    fn predicate(&mut self, predicate: &Predicate) -> bool {
        self.expr(&predicate.left)
            || match &predicate.right {
                Operand::Nothing => false,
                Operand::Value(right) => self.expr(right),
                Operand::Range { start, end, .. } => self.expr(start) || self.expr(end),
            }
    }

    fn expr(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Var(_) | ExprKind::Param(_) => false,
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => self.expr(inner),
            ExprKind::Index(left, right) => self.expr(left) || self.expr(right),
            ExprKind::Op(_, left, right) => {
                self.expr(left) || right.as_deref().is_some_and(|right| self.expr(right))
            }
            ExprKind::List(items) | ExprKind::Call(_, items) => items.iter().any(|item| self.expr(item)),
            ExprKind::Extern(..) => true,
            ExprKind::Count { list, body, .. } => self.expr(list) || self.cond(body),
            ExprKind::Cond(cond) => self.cond(cond),
            ExprKind::Let(id) => self.meet(*id),
        }
    }

    fn meet(&mut self, id: LetId) -> bool {
        self.lets.push(id);
        false
    }
}
