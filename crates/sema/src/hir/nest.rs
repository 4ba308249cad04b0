//! The nesting depth of quantifiers. A subexpression of a quantifier's body that does not read the
//! element is loop-invariant. Every engine computes such a subexpression once, so it counts as if
//! it were outside the quantifier. Quantifiers that do depend on each other form chains. A chain of
//! n quantifiers takes time up to the n-th power of the list length.

use super::{
    Block, Cond, CondKind, Correction, Each, Expr, ExprKind, ObjectStep, Part, Program, ValueId, VarId,
};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A cache of the quantifiers on which each node of a program depends, keyed by the address of the
/// node.
#[derive(Debug, Default)]
pub struct QuantifierFacts {
    known: HashMap<(usize, bool), NodeFacts>,
}

/// The quantifiers on which one node depends.
#[derive(Clone, Debug, Default)]
struct NodeFacts {
    /// The variables of enclosing quantifiers that the node reads.
    free: SmallVec<[VarId; 2]>,
    /// The length of the longest chain of nested quantifiers inside the node, where each quantifier
    /// reads the element of an enclosing one.
    chain: u32,
}

impl QuantifierFacts {
    /// True if a node reads no element of an enclosing quantifier.
    pub fn is_closed(&mut self, part: Part<'_>) -> bool {
        self.facts_of(part).free.is_empty()
    }

    /// Returns the variables of enclosing quantifiers that a node reads.
    pub fn free_variables(&mut self, part: Part<'_>) -> SmallVec<[VarId; 2]> {
        self.facts_of(part).free
    }

    /// Returns the length of the longest chain of dependent quantifiers that contains a quantifier
    /// with this body. `around` is the number of enclosing quantifiers on which the quantifier
    /// depends.
    pub fn quantifier_depth(&mut self, around: u32, body: &Cond) -> u32 {
        around.saturating_add(1).saturating_add(self.facts_of(Part::Cond(body)).chain)
    }

    fn facts_of(&mut self, part: Part<'_>) -> NodeFacts {
        // A `let` body is outside every quantifier, so it depends on none.
        let Some(key) = part.address() else { return NodeFacts::default() };
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let facts = self.compute_facts(part);
        self.known.insert(key, facts.clone());
        facts
    }

    fn compute_facts(&mut self, part: Part<'_>) -> NodeFacts {
        let mut facts = NodeFacts::default();
        let quantified = match part {
            Part::Expr(Expr { kind: ExprKind::Var(id), .. }) => {
                facts.free.push(*id);
                return facts;
            }
            Part::Cond(Cond { kind: CondKind::Quantifier { list, var, body, .. }, .. })
            | Part::Expr(Expr { kind: ExprKind::Count { list, var, body }, .. }) => Some((list, var, body)),
            _ => None,
        };
        let Some((list, var, body)) = quantified else {
            part.parts().into_iter().for_each(|part| facts.add(self.facts_of(part)));
            return facts;
        };
        let mut inner = self.facts_of(Part::Cond(body));
        inner.free.retain(|id| *id != var.id);
        inner.chain += 1;
        facts.add(inner);
        let list = self.facts_of(Part::Expr(list));
        let chain = list.chain;
        facts.add(list);
        if facts.free.is_empty() {
            facts.chain = chain;
        }
        facts
    }
}

impl Program {
    /// Computes the nesting depth [`Each::nest`] of every `each` of all payloads.
    pub fn compute_each_depths(&mut self) {
        fn nest(block: &mut Block, nested: &QuantifierDepths) {
            for each in &mut block.each {
                nest(&mut each.block, nested);
                each.nest = nested.depth_of_each(each);
            }
        }
        let mut payloads = std::mem::take(&mut self.payloads);
        if payloads.iter().any(|payload| !payload.block.each.is_empty()) {
            let nested = QuantifierDepths::new(self);
            payloads.iter_mut().for_each(|payload| nest(&mut payload.block, &nested));
        }
        self.payloads = payloads;
    }

    /// True if the stored [`Each::nest`] of every `each` equals the depth that
    /// [`Program::compute_each_depths`] computes.
    pub(super) fn are_each_depths_valid(&self) -> bool {
        fn fit(block: &Block, nested: &QuantifierDepths) -> bool {
            block.each.iter().all(|each| each.nest == nested.depth_of_each(each) && fit(&each.block, nested))
        }
        let mut blocks = self.payloads.iter().map(|payload| &payload.block);
        if blocks.clone().all(|block| block.each.is_empty()) {
            return true;
        }
        let nested = QuantifierDepths::new(self);
        blocks.all(|block| fit(block, &nested))
    }
}

/// The nesting depth of quantifiers in each table of requirements and in each value of a program.
/// In an `each`, unlike in a quantifier, loop-invariant parts are not hoisted, so every level
/// counts.
struct QuantifierDepths {
    tables: Vec<u32>,
    values: Vec<u32>,
}

impl QuantifierDepths {
    fn new(program: &Program) -> QuantifierDepths {
        let (mut nests, mut lets) = (QuantifierFacts::default(), Vec::with_capacity(program.lets.len()));
        for body in &program.lets {
            lets.push(depth_of_part(&mut nests, &lets, body.body.part()));
        }
        let values = program.values.iter().map(|value| depth_of_part(&mut nests, &lets, Part::Expr(value)));
        let mut nested = QuantifierDepths { values: values.collect(), tables: vec![0; program.tables.len()] };
        for requirement in &program.requirements {
            let rule = &program.rules[requirement.rule.index()];
            let condition = depth_of_part(&mut nests, &lets, Part::Cond(&rule.condition));
            let place = &requirement.place;
            let steps = place.steps.iter().chain(place.dotted.iter().flat_map(|dotted| &dotted.steps));
            let computed =
                steps.map(|step| if let ObjectStep::At(id) = step { nested.depth_of_value(*id) } else { 0 });
            let mended = match &requirement.correction {
                Some(Correction::Default(id) | Correction::Clamp(id)) => nested.depth_of_value(*id),
                Some(Correction::Remove) | None => 0,
            };
            let depth = computed.fold(condition.max(mended), u32::max);
            let known = &mut nested.tables[rule.table.index()];
            *known = depth.max(*known);
        }
        nested
    }

    fn depth_of_value(&self, id: ValueId) -> u32 {
        self.values[id.index()]
    }

    /// Returns the depth of an `each`. The `nest` of each nested `each` must be known.
    fn depth_of_each(&self, each: &Each) -> u32 {
        let Block { lets, table, each: inner } = &each.block;
        let lets = lets.iter().map(|(_, value)| self.depth_of_value(*value));
        let inner = inner.iter().map(|each| each.nest.max(self.depth_of_value(each.list)));
        lets.chain(inner).fold(self.tables[table.index()], u32::max).saturating_add(1)
    }
}

/// Returns the nesting depth of quantifiers in a node, the bodies of its `let`s included.
fn depth_of_part(nests: &mut QuantifierFacts, lets: &[u32], part: Part<'_>) -> u32 {
    let own = match part {
        Part::Let(id) => lets.get(id.index()).copied().unwrap_or_default(),
        Part::Cond(Cond { kind: CondKind::Quantifier { body, .. }, .. })
        | Part::Expr(Expr { kind: ExprKind::Count { body, .. }, .. }) => nests.quantifier_depth(0, body),
        _ => 0,
    };
    part.parts().into_iter().map(|part| depth_of_part(nests, lets, part)).fold(own, u32::max)
}

impl NodeFacts {
    fn add(&mut self, part: NodeFacts) {
        self.chain = self.chain.max(part.chain);
        for id in part.free {
            if !self.free.contains(&id) {
                self.free.push(id);
            }
        }
    }
}
