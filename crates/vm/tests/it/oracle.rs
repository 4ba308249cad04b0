//! The oracle: evaluates the normal form in the plainest way, by the operators' own functions.

use rulec_eval::host::{HostCalls, RegisteredFunction};
use rulec_lang::arena::Arena;
use rulec_lang::history::{Sum, window};
use rulec_lang::operators::budget::{self, PredicateContext};
use rulec_lang::operators::implementations;
use rulec_lang::operators::{Implementation, Op};
use rulec_lang::ty::KindSet;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::Program;
use rulec_sema::normal::{
    CondId, ExprId, NormalCond, NormalConst, NormalExpr, NormalFold, NormalForm, NormalPredicate, TestKind,
};
use serde_json::Value as Json;

pub struct Oracle<'a> {
    pub program: &'a Program,
    pub normal: &'a NormalForm,
    pub message: &'a Json,
    pub arena: &'a Arena,
    pub host_functions: &'a [RegisteredFunction],
    pub vars: Vec<Value<'a>>,
}

impl<'a> Oracle<'a> {
    pub fn pred(&mut self, pred: &NormalPredicate) -> Tri {
        let left = self.expr(pred.left);
        let right = pred.right.map_or(Value::Missing, |right| self.expr(right));
        match pred.test_kind {
            TestKind::Truth => implementations::value_to_tri(left),
            TestKind::Op(op) => budget::test_predicate(
                op,
                left,
                right,
                pred.mode,
                PredicateContext { arena: self.arena, is_right_constant: true },
            ),
        }
    }

    pub fn cond(&mut self, id: CondId) -> bool {
        match &self.normal.conds[id.index()] {
            NormalCond::Const(holds) => *holds,
            NormalCond::Predicate { pred, want } => {
                let answer = self.pred(&self.normal.preds[pred.index()]);
                answer == Tri::from(*want)
            }
            NormalCond::And(parts) => parts.iter().all(|part| self.cond(*part)),
            NormalCond::Or(parts) => parts.iter().any(|part| self.cond(*part)),
            NormalCond::Not(inner) => !self.cond(*inner),
            NormalCond::Each { is_all: all, list, kinds, body, level, .. } => {
                let results = self.each(*list, *kinds, *level, |this| this.cond(*body));
                results.is_some_and(
                    |results| {
                        if *all { !results.contains(&false) } else { results.contains(&true) }
                    },
                )
            }
        }
    }

    /// Returns the results for the elements of a list, each computed with the element bound to the
    /// loop's variable.
    fn each<T>(
        &mut self,
        list: ExprId,
        kinds: KindSet,
        level: u32,
        ask: impl Fn(&mut Self) -> T,
    ) -> Option<Vec<T>> {
        let elements: Vec<Value<'a>> = self.expr(list).elements()?.collect();
        self.vars.resize(self.vars.len().max(level as usize + 1), Value::Missing);
        let results = elements.iter().map(|element| {
            self.vars[level as usize] = element.read_as(kinds);
            ask(self)
        });
        Some(results.collect())
    }

    fn truth(&mut self, holds: CondId, fails: CondId) -> Tri {
        match (self.cond(holds), self.cond(fails)) {
            (true, _) => Tri::True,
            (false, true) => Tri::False,
            (false, false) => Tri::Unknown,
        }
    }

    fn expr(&mut self, id: ExprId) -> Value<'a> {
        let normal = self.normal;
        match &normal.exprs[id.index()] {
            NormalExpr::Const(NormalConst(constant)) => constant.value(),
            NormalExpr::Slot(slot) => self.program.slots[slot.index()].load(self.message),
            NormalExpr::Var(level) => self.vars[*level as usize],
            NormalExpr::Field(base, key) => self.expr(*base).field(key),
            NormalExpr::Index(base, key) => {
                let base = self.expr(*base);
                base.index(self.expr(*key))
            }
            NormalExpr::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.expr(*item)).collect();
                self.arena.build_list(items)
            }
            NormalExpr::Op(Op::Coalesce, left, Some(right)) => {
                let left = self.expr(*left);
                if left.is_missing() { self.expr(*right) } else { left }
            }
            NormalExpr::Op(op, left, right) => {
                let left = self.expr(*left);
                let right = right.map_or(Value::Missing, |right| self.expr(right));
                match op.info().implementation {
                    Implementation::Value(meaning) => meaning(left, right),
                    _ => unreachable!(),
                }
            }
            NormalExpr::Read(inner, kinds) => self.expr(*inner).read_as(*kinds),
            NormalExpr::Call(function, args) => {
                let args: Vec<_> = args.iter().map(|arg| self.expr(*arg)).collect();
                function.call(&args, self.arena)
            }
            NormalExpr::Extern(function, args) => {
                let args: Vec<_> = args.iter().map(|arg| self.expr(*arg)).collect();
                HostCalls::new(self.host_functions).call(
                    *function,
                    self.arena.bump().alloc_slice_copy(&args),
                    self.arena,
                )
            }
            NormalExpr::History(_) => Value::JsonList(&[]),
            NormalExpr::Window(bound, list, operand) => {
                let list = self.expr(*list);
                window(list, *bound, self.expr(*operand))
            }
            NormalExpr::Fold { fold, list, kinds, body, level, .. } => {
                let results = self.each(*list, *kinds, *level, |this| {
                    let element = this.vars[*level as usize];
                    let value = fold.summed_expr().map_or(element, |summed| this.expr(summed));
                    this.vars[*level as usize] = element;
                    this.cond(*body).then_some(value)
                });
                let Some(results) = results else { return Value::Missing };
                let mut values = results.into_iter().flatten();
                match fold {
                    NormalFold::Count => Value::Int(values.count() as i64),
                    NormalFold::Sum(_) => {
                        let mut sum = Sum::default();
                        values.for_each(|value| sum.add(value));
                        sum.total()
                    }
                    NormalFold::First => values.next().unwrap_or(Value::Missing),
                    NormalFold::Last => values.last().unwrap_or(Value::Missing),
                }
            }
            NormalExpr::Quantifier { is_all, list, kinds, true_cond, false_cond, level, .. } => {
                let results = self.each(*list, *kinds, *level, |this| this.truth(*true_cond, *false_cond));
                let truth =
                    results.map(|results| if *is_all { Tri::all(results) } else { Tri::any(results) });
                truth.map_or(Value::Missing, Value::from)
            }
            NormalExpr::If { cond, then_value: then, else_value: other, .. } => {
                if self.cond(*cond) {
                    self.expr(*then)
                } else {
                    self.expr(*other)
                }
            }
            NormalExpr::Cond { true_cond: holds, false_cond: fails, .. } => self.truth(*holds, *fails).into(),
        }
    }
}
