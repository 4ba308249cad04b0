//! Direct children of conditions and values, for code that traverses whole trees without a `match`
//! on every kind of node.

use super::{
    Cond, CondKind, Destination, Expr, ExprKind, Fold, LetId, Operand, Outcome, Predicate, Program, SlotId,
    TableId, Term, ValueId,
};
use rulec_base::span::Span;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    Cond(&'a Cond),
    Expr(&'a Expr),
    /// A use of a `let`, whose body is [`Program::let_body`](super::Program::let_body).
    Let(LetId),
}

/// The direct children of a condition or value, in source order.
pub type Parts<'a> = SmallVec<[Part<'a>; 4]>;

impl<'a> Part<'a> {
    /// Returns the direct children of this condition or value. A use of a `let` has none, because
    /// its body is stored in the program.
    pub fn parts(self) -> Parts<'a> {
        match self {
            Part::Cond(cond) => cond.parts(),
            Part::Expr(expr) => expr.parts(),
            Part::Let(_) => Parts::new(),
        }
    }

    /// Returns an identity of this condition or value: its address, and whether it is a condition.
    /// The identity is valid until the program moves in memory. `None` for a use of a `let`.
    pub fn node_key(self) -> Option<(usize, bool)> {
        match self {
            Part::Cond(cond) => Some((std::ptr::from_ref(cond) as usize, true)),
            Part::Expr(expr) => Some((std::ptr::from_ref(expr) as usize, false)),
            Part::Let(_) => None,
        }
    }
}

impl Term {
    pub fn as_part(&self) -> Part<'_> {
        match self {
            Term::Cond(cond) => Part::Cond(cond),
            Term::Expr(expr) => Part::Expr(expr),
        }
    }
}

impl Predicate {
    /// Returns the operands of the predicate, the left one first; a range contributes both bounds.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (second, third) = match &self.right {
            Operand::Nothing => (None, None),
            Operand::Value(right) => (Some(right), None),
            Operand::Range { start, end, .. } => (Some(start), Some(end)),
        };
        std::iter::once(&self.left).chain(second).chain(third)
    }
}

impl Cond {
    /// Returns the operands of `and`. For any other condition, returns the condition itself.
    pub fn conjuncts(&self) -> &[Cond] {
        match &self.kind {
            CondKind::And(operands) => operands,
            _ => std::slice::from_ref(self),
        }
    }

    /// Returns the operands of `or`. For any other condition, returns the condition itself.
    pub fn disjuncts(&self) -> &[Cond] {
        match &self.kind {
            CondKind::Or(operands) => operands,
            _ => std::slice::from_ref(self),
        }
    }

    pub fn parts(&self) -> Parts<'_> {
        match &self.kind {
            CondKind::Const(_) => Parts::new(),
            CondKind::Not(inner) | CondKind::NotTrue(inner) | CondKind::Call(_, _, inner) => {
                smallvec![Part::Cond(inner)]
            }
            CondKind::And(parts) | CondKind::Or(parts) => parts.iter().map(Part::Cond).collect(),
            CondKind::Predicate(predicate) => predicate.operands().map(Part::Expr).collect(),
            CondKind::Quantifier { list, body, .. } => smallvec![Part::Expr(list), Part::Cond(body)],
            CondKind::Let(id) => smallvec![Part::Let(*id)],
            CondKind::Branch { conditions, .. } => conditions
                .iter()
                .flat_map(|part| [&part.presence_condition, &part.cond])
                .map(Part::Cond)
                .collect(),
        }
    }
}

impl Expr {
    pub fn parts(&self) -> Parts<'_> {
        match &self.kind {
            ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Var(_) | ExprKind::Param(_) => Parts::new(),
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => smallvec![Part::Expr(inner)],
            ExprKind::Index(base, index) => smallvec![Part::Expr(base), Part::Expr(index)],
            ExprKind::Op(_, left, right) => {
                std::iter::once(&**left).chain(right.as_deref()).map(Part::Expr).collect()
            }
            ExprKind::List(items) | ExprKind::Call(_, items) | ExprKind::Extern(_, items) => {
                items.iter().map(Part::Expr).collect()
            }
            ExprKind::Fold { fold, list, body, .. } => {
                let mut parts: Parts<'_> = smallvec![Part::Expr(list), Part::Cond(body)];
                parts.extend(fold.summed_expr().map(Part::Expr));
                parts
            }
            ExprKind::Window { list, operand, .. } => smallvec![Part::Expr(list), Part::Expr(operand)],
            ExprKind::Cond(cond) => smallvec![Part::Cond(cond)],
            ExprKind::If { cond, then_value: then, else_value: other } => {
                smallvec![Part::Cond(cond), Part::Expr(then), Part::Expr(other)]
            }
            ExprKind::Let(id) => smallvec![Part::Let(*id)],
        }
    }
}

impl Cond {
    /// Calls `change` with each predicate in the condition, after the predicates inside its
    /// operands. Bodies of `let`s are not visited.
    pub fn for_each_predicate_mut(&mut self, change: &mut dyn FnMut(&mut Predicate)) {
        match &mut self.kind {
            CondKind::Const(_) | CondKind::Let(_) => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) | CondKind::Call(_, _, inner) => {
                inner.for_each_predicate_mut(change)
            }
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter_mut().for_each(|part| part.for_each_predicate_mut(change))
            }
            CondKind::Predicate(test) => {
                test.left.for_each_predicate_mut(change);
                match &mut test.right {
                    Operand::Nothing => {}
                    Operand::Value(value) => value.for_each_predicate_mut(change),
                    Operand::Range { start, end, .. } => {
                        [start, end].into_iter().for_each(|bound| bound.for_each_predicate_mut(change))
                    }
                }
                change(test);
            }
            CondKind::Quantifier { list, body, .. } => {
                list.for_each_predicate_mut(change);
                body.for_each_predicate_mut(change);
            }
            CondKind::Branch { conditions, .. } => {
                let parts =
                    conditions.iter_mut().flat_map(|part| [&mut part.presence_condition, &mut part.cond]);
                parts.for_each(|part| part.for_each_predicate_mut(change));
            }
        }
    }
}

impl Expr {
    /// Calls `change` with each predicate in the expression; see [`Cond::for_each_predicate_mut`].
    pub fn for_each_predicate_mut(&mut self, change: &mut dyn FnMut(&mut Predicate)) {
        match &mut self.kind {
            ExprKind::Const(_)
            | ExprKind::Slot(_)
            | ExprKind::Var(_)
            | ExprKind::Param(_)
            | ExprKind::Let(_) => {}
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => inner.for_each_predicate_mut(change),
            ExprKind::Index(base, operand) | ExprKind::Window { list: base, operand, .. } => {
                base.for_each_predicate_mut(change);
                operand.for_each_predicate_mut(change);
            }
            ExprKind::Op(_, left, right) => {
                left.for_each_predicate_mut(change);
                right.iter_mut().for_each(|right| right.for_each_predicate_mut(change));
            }
            ExprKind::List(items) | ExprKind::Call(_, items) | ExprKind::Extern(_, items) => {
                items.iter_mut().for_each(|item| item.for_each_predicate_mut(change))
            }
            ExprKind::Fold { fold, list, body, .. } => {
                list.for_each_predicate_mut(change);
                body.for_each_predicate_mut(change);
                if let Fold::Sum(value) = fold {
                    value.for_each_predicate_mut(change);
                }
            }
            ExprKind::Cond(cond) => cond.for_each_predicate_mut(change),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                cond.for_each_predicate_mut(change);
                [then, other].into_iter().for_each(|value| value.for_each_predicate_mut(change));
            }
        }
    }
}

impl Program {
    /// Returns the message fields that a condition or value reads, also through the `let`s that it
    /// uses. Each field is listed once, with the span of its first use.
    pub fn field_reads(&self, part: Part<'_>) -> Vec<(SlotId, Span)> {
        let mut reads = Vec::new();
        self.add_reads(part, &mut reads);
        reads
    }

    fn add_reads(&self, part: Part<'_>, reads: &mut Vec<(SlotId, Span)>) {
        match part {
            Part::Expr(Expr { kind: ExprKind::Slot(slot), span, .. }) => {
                if !reads.iter().any(|(other, _)| other == slot) {
                    reads.push((*slot, *span));
                }
            }
            Part::Let(id) => self.add_reads(self.let_body(id).as_part(), reads),
            part => part.parts().into_iter().for_each(|part| self.add_reads(part, reads)),
        }
    }

    /// Returns the fields that a decision which starts with this table may read: in the conditions
    /// and the outcomes of its rules, and in the tables to which these rules jump.
    pub fn fields_of_decision(&self, table: TableId) -> BTreeSet<SlotId> {
        let (mut tables, mut visited) = (vec![table], BTreeSet::from([table]));
        let mut reads = Vec::new();
        while let Some(table) = tables.pop() {
            let table = &self.tables[table.index()];
            let rules = table.evaluation_order.iter().map(|id| &self.rules[id.index()]);
            for rule in rules.clone() {
                self.add_reads(Part::Cond(&rule.condition), &mut reads);
            }
            for outcome in rules.map(|rule| &rule.outcome).chain(&table.default) {
                if let Outcome::Goto(next) = outcome
                    && visited.insert(*next)
                {
                    tables.push(*next);
                }
                for value in outcome.values() {
                    self.add_reads(Part::Expr(&self.values[value.index()]), &mut reads);
                }
            }
        }
        reads.into_iter().map(|(slot, _)| slot).collect()
    }
}

impl Outcome {
    /// Returns the ids of the values that are computed after this outcome is selected.
    fn values(&self) -> Vec<ValueId> {
        match self {
            Outcome::Handler { args, .. } => args.iter().map(|argument| argument.value).collect(),
            Outcome::Next { destinations, next, .. } => {
                let named = destinations.iter().filter_map(|destination| match destination {
                    Destination::Named(value) => Some(*value),
                    _ => None,
                });
                named.chain([*next]).collect()
            }
            _ => Vec::new(),
        }
    }
}
