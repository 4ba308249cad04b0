//! The reference evaluator: walks the typed program in the author's shape and does what the
//! language page says, in the plainest way. It is the oracle that every engine is held against, so
//! it is made to be read, not to be fast.
//!
//! Two things are remembered during a decision, for programs that would otherwise take exponential
//! time: what a `let` came to, and that a table has been searched (jumps are acyclic and a table
//! that chose something ends the search, so a second visit cannot choose anything).

#[cfg(test)]
pub(crate) mod fixture;
mod order;
#[cfg(test)]
mod tests;

pub(crate) use order::{HostUse, operands};

use crate::decision::{Choice, Chosen};
use crate::host::HostCalls;
use crate::meaning;
use crate::ops::{Meaning, TestMode};
use crate::sema::hir::{
    Cond, CondKind, Destination, Expr, ExprKind, Guarded, LetId, NEXT, Operand, Outcome, Predicate, Program,
    RuleId, Slot, SlotId, TableId, Term, Var, VarId,
};
use crate::value::{Tri, Value};
use bumpalo::Bump;
use serde_json::{Map, Value as Json};
use smallvec::SmallVec;
use std::sync::Arc;

/// Evaluates a program for one message.
pub struct Evaluator<'a> {
    program: &'a Program,
    message: &'a Json,
    /// The values of bindings that slots are rooted in, by their numbers.
    roots: &'a [Value<'a>],
    bump: &'a Bump,
    /// The calls of host functions so far, with those that failed.
    pub hosts: HostCalls<'a>,
    host_use: HostUse,
    /// The element variables in scope, innermost last.
    vars: Vec<(VarId, Value<'a>)>,
    lets: Vec<Option<Known<'a>>>,
}

/// What a `let` came to.
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
            vars: Vec::new(),
            lets: vec![None; program.lets.len()],
        }
    }

    /// The same with the values of the bindings that slots are rooted in.
    #[must_use]
    pub fn with_roots(self, roots: &'a [Value<'a>]) -> Self {
        Evaluator { roots, ..self }
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

    /// Decides by a table: the first route that holds, else the default.
    pub fn decide(&mut self, entry: TableId) -> Choice {
        let mut path = SmallVec::new();
        let mut searched = vec![false; self.program.tables.len()];
        match self.search(entry, &mut path, &mut searched) {
            Some(chosen) => Choice { chosen: Some(chosen), path },
            None => Choice::nothing(),
        }
    }

    fn search(
        &mut self,
        table: TableId,
        path: &mut SmallVec<[RuleId; 4]>,
        searched: &mut [bool],
    ) -> Option<Chosen> {
        if std::mem::replace(&mut searched[table.index()], true) {
            return None;
        }
        let program = self.program;
        let table_info = &program.tables[table.index()];
        for &id in &table_info.order {
            let route = &program.rules[id.index()];
            if route.disabled || !self.cond(&route.condition).holds() {
                continue;
            }
            match route.outcome {
                Outcome::Goto(inner) => {
                    path.push(id);
                    if let Some(chosen) = self.search(inner, path, searched) {
                        return Some(chosen);
                    }
                    path.pop();
                }
                _ => return Some(Chosen::Rule(id)),
            }
        }
        match table_info.default {
            Some(Outcome::Goto(inner)) => self.search(inner, path, searched),
            Some(_) => Some(Chosen::Default(table)),
            None => None,
        }
    }

    /// Every enabled route of the table whose condition holds, in the order they are tried. A jump
    /// counts by its own condition; what its table would choose is not asked.
    pub fn matched(&mut self, entry: TableId) -> Vec<RuleId> {
        let program = self.program;
        let mut matched = Vec::new();
        for &id in &program.tables[entry.index()].order {
            let route = &program.rules[id.index()];
            if !route.disabled && self.cond(&route.condition).holds() {
                matched.push(id);
            }
        }
        matched
    }

    /// The arguments of a handler, and the names of the required ones that are missing: those are
    /// null. A missing optional argument is left out.
    pub fn arguments(&mut self, outcome: &'a Outcome) -> (Map<String, Json>, Vec<Arc<str>>) {
        let mut given = Map::new();
        let mut missing = Vec::new();
        if let Outcome::Handler { args, .. } = outcome {
            for argument in args {
                let value = self.expr(self.program.value(argument.value));
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
    pub fn next_nodes(&mut self, outcome: &'a Outcome) -> Vec<String> {
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
        match &cond.kind {
            CondKind::Const(value) => Tri::from(*value),
            CondKind::Not(inner) => self.cond(inner).not(),
            CondKind::And(_) => {
                let operands = self.host_use.ordered(cond);
                Tri::all(operands.into_iter().map(|operand| self.cond(operand)))
            }
            CondKind::Or(_) => {
                let operands = self.host_use.ordered(cond);
                Tri::any(operands.into_iter().map(|operand| self.cond(operand)))
            }
            CondKind::Test(predicate) => self.predicate(predicate),
            CondKind::Quantifier { all, list, var, body } => {
                let Some(elements) = self.expr(list).elements() else { return Tri::Unknown };
                let results = elements.map(|element| self.cond_on(var, element, body));
                if *all { Tri::all(results) } else { Tri::any(results) }
            }
            CondKind::Let(id) => self.let_cond(*id),
            CondKind::Call(_, body) => self.cond(body),
            CondKind::Branch { all, conditions } => self.branch(*all, conditions),
        }
    }

    /// The conditions of a branch: first it is decided which can be used, then those are joined.
    fn branch(&mut self, all: bool, conditions: &'a [Guarded]) -> Tri {
        let usable: SmallVec<[&Guarded; 8]> =
            conditions.iter().filter(|condition| self.cond(&condition.usable).holds()).collect();
        if usable.is_empty() {
            return Tri::False;
        }
        let results = usable.into_iter().map(|condition| self.cond(&condition.cond));
        if all { Tri::all(results) } else { Tri::any(results) }
    }

    /// A condition's truth for one element of a list.
    pub(crate) fn cond_on(&mut self, var: &Var, element: Value<'a>, body: &'a Cond) -> Tri {
        self.vars.push((var.id, element.read(var.kinds)));
        let result = self.cond(body);
        self.vars.pop();
        result
    }

    /// Brings an element into scope; [`Evaluator::leave`] takes it out.
    pub(crate) fn enter(&mut self, var: &Var, element: Value<'a>) {
        self.vars.push((var.id, element.read(var.kinds)));
    }

    /// Takes the innermost element out of scope.
    pub(crate) fn leave(&mut self) {
        self.vars.pop();
    }

    /// The value of an element variable, when it is in scope.
    pub(crate) fn var(&self, id: VarId) -> Option<Value<'a>> {
        self.vars.iter().rev().find(|(other, _)| *other == id).map(|(_, value)| *value)
    }

    /// A predicate's truth.
    pub fn predicate(&mut self, predicate: &'a Predicate) -> Tri {
        let left = self.expr(&predicate.left);
        let result = match (predicate.op, &predicate.right) {
            (None, _) => meaning::truth(left),
            (Some(_), Operand::Range { start, end, inclusive }) => {
                let (start, end) = (self.expr(start), self.expr(end));
                let mode = TestMode::default();
                let below = if *inclusive { meaning::less_equal } else { meaning::less };
                Tri::all([meaning::greater_equal(left, start, mode), below(left, end, mode)])
            }
            (Some(op), right) => {
                let right = match right {
                    Operand::Value(right) => self.expr(right),
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

    /// A value.
    pub fn expr(&mut self, expr: &'a Expr) -> Value<'a> {
        match &expr.kind {
            ExprKind::Const(constant) => constant.value(),
            ExprKind::Slot(id) => self.slot(*id),
            ExprKind::Var(id) => self.var(*id).unwrap_or(Value::Missing),
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
        let slot = &self.program.slots[id.index()];
        match &slot.root {
            None => slot.load(self.message),
            Some(root) => {
                self.roots.get(root.id.index()).map_or(Value::Missing, |value| slot.load_from(*value))
            }
        }
    }

    /// What stands where a slot reads, of whatever kind.
    pub(crate) fn raw(&self, id: SlotId) -> Value<'a> {
        let slot = &self.program.slots[id.index()];
        let any = Slot { kinds: crate::ty::KindSet::ALL, ..slot.clone() };
        match &slot.root {
            None => any.load(self.message),
            Some(root) => {
                self.roots.get(root.id.index()).map_or(Value::Missing, |value| any.load_from(*value))
            }
        }
    }

    fn exprs(&mut self, exprs: &'a [Expr]) -> SmallVec<[Value<'a>; 4]> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// What a `let` comes to. It stands outside every quantifier, so the message alone decides it.
    fn known(&mut self, id: LetId) -> Known<'a> {
        if let Some(known) = self.lets[id.index()] {
            return known;
        }
        let known = match self.program.let_body(id) {
            Term::Cond(cond) => Known::Cond(self.cond(cond)),
            Term::Expr(expr) => Known::Value(self.expr(expr)),
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

    /// Which conditions call host functions.
    pub(crate) fn host_use(&self) -> &HostUse {
        &self.host_use
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
