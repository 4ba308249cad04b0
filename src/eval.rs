//! The reference evaluator: walks the typed program in the author's shape and does what the
//! language page says, in the plainest way. It is the oracle that every engine is held against, so
//! it is made to be read, not to be fast.
//!
//! Two things are remembered during a decision, for programs that would otherwise take exponential
//! time: the result of a `let`, and that a table has been searched.
//!
//! Each step is reported to an [`Observer`]; explanations are made of what it hears.

#[cfg(test)]
pub(crate) mod fixture;
mod observe;
mod order;
mod search;
#[cfg(test)]
mod tests;

pub use observe::{Observer, Reached, Step};
pub(crate) use order::operands;

use crate::host::HostCalls;
use crate::meaning;
use crate::ops::{Meaning, TestMode};
use crate::sema::hir::{
    Cond, CondKind, Destination, Expr, ExprKind, Guarded, LetId, NEXT, Operand, Outcome, Predicate, Program,
    SlotId, Term, Var, VarId,
};
use crate::value::{Tri, Value};
use bumpalo::Bump;
use order::HostUse;
use serde_json::{Map, Value as Json};
use smallvec::SmallVec;
use std::sync::Arc;

/// Evaluates a program for one message.
pub struct Evaluator<'a, O = ()> {
    program: &'a Program,
    message: &'a Json,
    /// The values of bindings that slots are rooted in, by their numbers.
    roots: &'a [Value<'a>],
    bump: &'a Bump,
    /// The calls of host functions so far, with those that failed.
    pub hosts: HostCalls<'a>,
    host_use: HostUse,
    /// The elements in scope as they stand in their lists, innermost last.
    elements: Vec<(&'a Var, Value<'a>)>,
    lets: Vec<Option<Known<'a>>>,
    /// The listener.
    pub(crate) observer: O,
}

/// The result of a `let`.
#[derive(Clone, Copy)]
enum Known<'a> {
    Cond(Tri),
    Value(Value<'a>),
}

impl<'a> Evaluator<'a> {
    /// An evaluator for this message; `hosts` makes and keeps its calls of host functions.
    pub fn new(program: &'a Program, message: &'a Json, bump: &'a Bump, hosts: HostCalls<'a>) -> Self {
        Evaluator {
            program,
            message,
            roots: &[],
            bump,
            hosts,
            host_use: HostUse::of(program),
            elements: Vec::new(),
            lets: vec![None; program.lets.len()],
            observer: (),
        }
    }

    /// The same evaluator with a listener.
    pub(crate) fn observed_by<O: Observer<'a>>(self, observer: O) -> Evaluator<'a, O> {
        let Evaluator { program, message, roots, bump, hosts, host_use, elements, lets, observer: () } = self;
        Evaluator { program, message, roots, bump, hosts, host_use, elements, lets, observer }
    }

    /// The same with the values of the bindings that slots are rooted in.
    #[must_use]
    pub fn with_roots(self, roots: &'a [Value<'a>]) -> Self {
        Evaluator { roots, ..self }
    }
}

impl<'a, O: Observer<'a>> Evaluator<'a, O> {
    /// Evaluates a step, telling the listener of its beginning and its end.
    fn observed<T>(&mut self, step: Step<'a>, evaluate: impl FnOnce(&mut Self) -> T) -> T
    where
        T: Copy + Into<Reached<'a>>,
    {
        O::enter(self, step);
        let reached = evaluate(self);
        O::leave(self, step, reached.into());
        reached
    }

    /// The program.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The message.
    pub fn message(&self) -> &'a Json {
        self.message
    }

    /// The calls of host functions that were made.
    pub fn into_calls(self) -> HostCalls<'a> {
        self.hosts
    }

    /// The arguments of a handler, and the names of the required ones that are missing: those are
    /// null. A missing optional argument is left out.
    pub fn arguments(&mut self, outcome: &Outcome) -> (Map<String, Json>, Vec<Arc<str>>) {
        let mut given = Map::new();
        let mut missing = Vec::new();
        if let Outcome::Handler { args, .. } = outcome {
            for argument in args {
                let value = self.operand(self.program.value(argument.value));
                if value.is_missing() {
                    if argument.optional {
                        continue;
                    }
                    missing.push(argument.name.clone());
                }
                given.insert(argument.name.to_string(), value.to_json());
            }
        }
        (given, missing)
    }

    /// The nodes a router sends on to. The message's `next` holds the ids of the next nodes; what it
    /// does not hold stands as written.
    pub fn next_nodes(&mut self, outcome: &Outcome) -> Vec<String> {
        let Outcome::Next { destinations, next, .. } = outcome else { return Vec::new() };
        let next = self.expr(self.program.value(*next)).elements();
        let next: Option<Vec<String>> =
            next.map(|ids| ids.filter_map(|id| id.as_str().map(str::to_owned)).collect());
        let mut nodes = Vec::new();
        for destination in destinations {
            let named = match destination {
                Destination::All => None,
                Destination::At(index) => match &next {
                    Some(next) => next.get(*index as usize).map(|id| vec![id.clone()]),
                    None => Some(vec![destination.to_string()]),
                },
                Destination::Node(id) => Some(vec![id.to_string()]),
                Destination::Named(value) => match self.expr(self.program.value(*value)) {
                    Value::Str(id) => Some(vec![id.to_owned()]),
                    list => {
                        let ids = list.elements().into_iter().flatten();
                        Some(ids.filter_map(|id| id.as_str().map(str::to_owned)).collect())
                    }
                },
            };
            // A next node that is not there: to every one.
            let all = || next.clone().unwrap_or_else(|| vec![NEXT.to_owned()]);
            nodes.extend(named.unwrap_or_else(all));
        }
        nodes
    }

    /// A condition's truth.
    pub fn cond(&mut self, cond: &'a Cond) -> Tri {
        self.observed(Step::Cond(cond), |eval| match &cond.kind {
            CondKind::Const(value) => Tri::from(*value),
            CondKind::Not(inner) => eval.cond(inner).not(),
            CondKind::And(_) => {
                let operands = eval.host_use.ordered(cond, eval.program);
                Tri::all(operands.into_iter().map(|operand| eval.cond(operand)))
            }
            CondKind::Or(_) => {
                let operands = eval.host_use.ordered(cond, eval.program);
                Tri::any(operands.into_iter().map(|operand| eval.cond(operand)))
            }
            CondKind::Test(predicate) => eval.predicate(predicate),
            CondKind::Quantifier { all, list, var, body } => {
                let Some(elements) = eval.operand(list).elements() else { return Tri::Unknown };
                let results = elements.map(|element| eval.cond_on(var, element, body));
                if *all { Tri::all(results) } else { Tri::any(results) }
            }
            CondKind::Let(id) => eval.let_cond(*id),
            CondKind::Call(_, body) => eval.cond(body),
            CondKind::Branch { all, conditions } => eval.branch(*all, conditions),
        })
    }

    /// The conditions of a branch: those that can be used are joined.
    fn branch(&mut self, all: bool, conditions: &'a [Guarded]) -> Tri {
        let usable = conditions.iter().filter_map(|condition| {
            let usable = self.observed(Step::Guard(condition), |eval| eval.cond(&condition.usable));
            usable.holds().then(|| self.cond(&condition.cond))
        });
        let mut results = usable.peekable();
        match results.peek() {
            None => Tri::False,
            Some(_) if all => Tri::all(results),
            Some(_) => Tri::any(results),
        }
    }

    /// A condition's truth for one element of a list.
    fn cond_on(&mut self, var: &'a Var, element: Value<'a>, body: &'a Cond) -> Tri {
        self.elements.push((var, element));
        let result = self.observed(Step::Element(var, element), |eval| eval.cond(body));
        self.elements.pop();
        result
    }

    /// The element that a variable in scope stands for, as it stands in the list.
    pub(crate) fn element(&self, id: VarId) -> Option<(&'a Var, Value<'a>)> {
        self.elements.iter().rev().find(|(var, _)| var.id == id).copied()
    }

    /// A predicate's truth.
    fn predicate(&mut self, predicate: &'a Predicate) -> Tri {
        let left = self.operand(&predicate.left);
        let result = match (predicate.op, &predicate.right) {
            (None, _) => meaning::truth(left),
            (Some(_), Operand::Range { start, end, inclusive }) => {
                let (start, end) = (self.operand(start), self.operand(end));
                let mode = TestMode::default();
                let below = if *inclusive { meaning::less_equal } else { meaning::less };
                Tri::all([meaning::greater_equal(left, start, mode), below(left, end, mode)])
            }
            (Some(op), right) => {
                let right = match right {
                    Operand::Value(right) => self.operand(right),
                    _ => Value::Missing,
                };
                match op.info().meaning {
                    Meaning::Predicate(holds) => meaning::test(holds, left, right, predicate.mode),
                    Meaning::Value(_) | Meaning::Structure => Tri::Unknown,
                }
            }
        };
        if predicate.negated { result.not() } else { result }
    }

    /// The value of an operand.
    fn operand(&mut self, expr: &'a Expr) -> Value<'a> {
        self.observed(Step::Operand(expr), |eval| eval.expr(expr))
    }

    /// A value.
    pub fn expr(&mut self, expr: &'a Expr) -> Value<'a> {
        match &expr.kind {
            ExprKind::Const(constant) => constant.value(),
            ExprKind::Slot(id) => self.slot(*id),
            ExprKind::Var(id) => {
                self.element(*id).map_or(Value::Missing, |(var, value)| value.read(var.kinds))
            }
            // Calls put the argument in its place, so none is left in a checked program.
            ExprKind::Param(_) => Value::Missing,
            ExprKind::Field(base, name) => self.expr(base).field(name),
            ExprKind::Index(base, index) => {
                let base = self.expr(base);
                base.index(self.expr(index))
            }
            ExprKind::List(items) => {
                let items = self.exprs(items);
                Value::list_in(self.bump, items)
            }
            ExprKind::Op(op, left, right) => {
                let left = self.expr(left);
                // What stands behind `??` is not evaluated in vain: it may call a host function.
                if *op == crate::ops::Op::Coalesce && !left.is_missing() {
                    return left;
                }
                let right = right.as_deref().map_or(Value::Missing, |right| self.expr(right));
                match op.info().meaning {
                    Meaning::Value(compute) => compute(left, right),
                    Meaning::Predicate(_) | Meaning::Structure => Value::Missing,
                }
            }
            ExprKind::Read(inner, kinds) => self.expr(inner).read(*kinds),
            ExprKind::Call(function, args) => {
                let args = self.exprs(args);
                (function.info().meaning)(&args, self.bump)
            }
            ExprKind::Extern(id, args) => {
                let args = self.exprs(args);
                self.hosts.call(*id, &args, self.bump)
            }
            ExprKind::Count { list, var, body } => {
                let Some(elements) = self.expr(list).elements() else { return Value::Missing };
                let count = elements.filter(|element| self.cond_on(var, *element, body).holds()).count();
                i64::try_from(count).map_or(Value::Missing, Value::Int)
            }
            ExprKind::Cond(cond) => truth_value(self.cond(cond)),
            ExprKind::Let(id) => self.let_value(*id),
        }
    }

    fn slot(&self, id: SlotId) -> Value<'a> {
        self.raw(id).read(self.program.slots[id.index()].kinds)
    }

    /// The value that stands where a slot reads, of whatever kind.
    pub(crate) fn raw(&self, id: SlotId) -> Value<'a> {
        let slot = &self.program.slots[id.index()];
        let root = match &slot.root {
            None => Some(Value::from_json(self.message)),
            Some(root) => self.roots.get(root.id.index()).copied(),
        };
        slot.path.iter().fold(root.unwrap_or(Value::Missing), |value, key| value.field(key))
    }

    fn exprs(&mut self, exprs: &'a [Expr]) -> SmallVec<[Value<'a>; 4]> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// The result of a `let`. It stands outside every quantifier, so the message alone decides it.
    fn known(&mut self, id: LetId) -> Known<'a> {
        if let Some(known) = self.lets[id.index()]
            && !self.observer.repeats_let()
        {
            return known;
        }
        let known = match self.program.let_body(id) {
            Term::Cond(cond) => Known::Cond(self.cond(cond)),
            Term::Expr(expr) => Known::Value(self.operand(expr)),
        };
        self.lets[id.index()] = Some(known);
        known
    }

    fn let_cond(&mut self, id: LetId) -> Tri {
        match self.known(id) {
            Known::Cond(result) => result,
            Known::Value(value) => meaning::truth(value),
        }
    }

    fn let_value(&mut self, id: LetId) -> Value<'a> {
        match self.known(id) {
            Known::Cond(result) => truth_value(result),
            Known::Value(value) => value,
        }
    }
}

/// A condition as a value.
fn truth_value<'a>(result: Tri) -> Value<'a> {
    match result {
        Tri::True => Value::Bool(true),
        Tri::False => Value::Bool(false),
        Tri::Unknown => Value::Missing,
    }
}
