//! The nesting depth of quantifiers. A subexpression of a quantifier's body that does not read the
//! element is loop-invariant. Every engine computes such a subexpression once, so it counts as if
//! it were outside the quantifier. Quantifiers that do depend on each other form chains. A chain of
//! n quantifiers takes time up to the n-th power of the list length.

use super::{
    Cond, CondKind, Correction, EachBlock, Expr, ExprKind, ObjectStep, Part, Program, RequirementBlock,
    ValueId, VarId,
};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Says for each part of a condition or value how it depends on the quantifiers that enclose it.
/// The answers are cached by the address of the part.
#[derive(Debug, Default)]
pub struct QuantifierFacts {
    facts_by_address: HashMap<(usize, bool), QuantifierDependence>,
}

/// How one condition or value depends on the quantifiers that enclose it.
#[derive(Clone, Debug, Default)]
struct QuantifierDependence {
    /// The variables of enclosing quantifiers that the condition or value reads.
    free_variables: SmallVec<[VarId; 2]>,
    /// The length of the longest chain of nested quantifiers inside the condition or value. In a
    /// chain, each quantifier reads the element of a quantifier around it.
    longest_chain: u32,
}

impl QuantifierFacts {
    /// True if a condition or value reads no variable of an enclosing quantifier. Its result is
    /// then the same for all elements, so an engine may compute it only once.
    pub fn is_closed(&mut self, part: Part<'_>) -> bool {
        self.dependence_of(part).free_variables.is_empty()
    }

    /// Returns the variables of enclosing quantifiers that a condition or value reads.
    pub fn free_variables(&mut self, part: Part<'_>) -> SmallVec<[VarId; 2]> {
        self.dependence_of(part).free_variables
    }

    /// Returns the length of the longest chain of nested quantifiers that contains the quantifier
    /// with this `body`. In a chain, each quantifier reads the element of a quantifier around it.
    /// `enclosing` is the number of quantifiers of the chain that enclose this quantifier.
    pub fn quantifier_depth(&mut self, enclosing: u32, body: &Cond) -> u32 {
        enclosing.saturating_add(1).saturating_add(self.dependence_of(Part::Cond(body)).longest_chain)
    }

    fn dependence_of(&mut self, part: Part<'_>) -> QuantifierDependence {
        // A `let` body is outside every quantifier, so it depends on none.
        let Some(key) = part.node_key() else { return QuantifierDependence::default() };
        if let Some(known) = self.facts_by_address.get(&key) {
            return known.clone();
        }
        let facts = self.compute_dependence(part);
        self.facts_by_address.insert(key, facts.clone());
        facts
    }

    fn compute_dependence(&mut self, part: Part<'_>) -> QuantifierDependence {
        let mut facts = QuantifierDependence::default();
        let quantified = match part {
            Part::Expr(Expr { kind: ExprKind::Var(id), .. }) => {
                facts.free_variables.push(*id);
                return facts;
            }
            Part::Cond(Cond { kind: CondKind::Quantifier { list, var, body, .. }, .. })
            | Part::Expr(Expr { kind: ExprKind::Fold { list, var, body, .. }, .. }) => {
                Some((list, var, body))
            }
            _ => None,
        };
        let summed = match part {
            Part::Expr(Expr { kind: ExprKind::Fold { fold, .. }, .. }) => fold.summed_expr(),
            _ => None,
        };
        let Some((list, var, body)) = quantified else {
            part.parts().into_iter().for_each(|part| facts.add_part(self.dependence_of(part)));
            return facts;
        };
        let mut inner = self.dependence_of(Part::Cond(body));
        if let Some(summed) = summed {
            inner.add_part(self.dependence_of(Part::Expr(summed)));
        }
        inner.free_variables.retain(|id| *id != var.id);
        inner.longest_chain += 1;
        facts.add_part(inner);
        let list = self.dependence_of(Part::Expr(list));
        let chain = list.longest_chain;
        facts.add_part(list);
        if facts.free_variables.is_empty() {
            facts.longest_chain = chain;
        }
        facts
    }
}

impl Program {
    /// Computes the nesting depth [`EachBlock::nesting_depth`] of every `each` of all payloads.
    pub fn compute_each_depths(&mut self) {
        fn set_each_depths(block: &mut RequirementBlock, depths: &QuantifierDepths) {
            for each in &mut block.each_blocks {
                set_each_depths(&mut each.block, depths);
                each.nesting_depth = depths.depth_of_each(each);
            }
        }
        let mut payloads = std::mem::take(&mut self.payloads);
        if payloads.iter().any(|payload| !payload.block.each_blocks.is_empty()) {
            let depths = QuantifierDepths::new(self);
            payloads.iter_mut().for_each(|payload| set_each_depths(&mut payload.block, &depths));
        }
        self.payloads = payloads;
    }

    /// True if the stored [`EachBlock::nesting_depth`] of every `each` is correct. Compares it with
    /// the result of [`Program::compute_each_depths`].
    pub(super) fn are_each_depths_valid(&self) -> bool {
        fn are_stored_depths_correct(block: &RequirementBlock, depths: &QuantifierDepths) -> bool {
            block.each_blocks.iter().all(|each| {
                each.nesting_depth == depths.depth_of_each(each)
                    && are_stored_depths_correct(&each.block, depths)
            })
        }
        let mut blocks = self.payloads.iter().map(|payload| &payload.block);
        if blocks.clone().all(|block| block.each_blocks.is_empty()) {
            return true;
        }
        let depths = QuantifierDepths::new(self);
        blocks.all(|block| are_stored_depths_correct(block, &depths))
    }
}

/// The nesting depth of quantifiers in each requirement table and each value of a program. An
/// `each` computes all subexpressions again for each element of its list, even loop-invariant ones.
/// So every level of `each` counts.
struct QuantifierDepths {
    table_depths: Vec<u32>,
    value_depths: Vec<u32>,
}

impl QuantifierDepths {
    fn new(program: &Program) -> QuantifierDepths {
        let (mut facts, mut let_depths) =
            (QuantifierFacts::default(), Vec::with_capacity(program.lets.len()));
        for body in &program.lets {
            let_depths.push(depth_of_part(&mut facts, &let_depths, body.body.as_part()));
        }
        let values =
            program.values.iter().map(|value| depth_of_part(&mut facts, &let_depths, Part::Expr(value)));
        let mut depths =
            QuantifierDepths { value_depths: values.collect(), table_depths: vec![0; program.tables.len()] };
        for requirement in &program.requirements {
            let rule = &program.rules[requirement.rule.index()];
            let condition = depth_of_part(&mut facts, &let_depths, Part::Cond(&rule.condition));
            let path = &requirement.place;
            let steps = path.steps.iter().chain(path.dotted.iter().flat_map(|dotted| &dotted.steps));
            let path_depths =
                steps.map(|step| if let ObjectStep::At(id) = step { depths.depth_of_value(*id) } else { 0 });
            let correction_depth = match &requirement.correction {
                Some(Correction::Default(id) | Correction::Clamp(id)) => depths.depth_of_value(*id),
                Some(Correction::Remove) | None => 0,
            };
            let depth = path_depths.fold(condition.max(correction_depth), u32::max);
            let table_depth = &mut depths.table_depths[rule.table.index()];
            *table_depth = depth.max(*table_depth);
        }
        depths
    }

    fn depth_of_value(&self, id: ValueId) -> u32 {
        self.value_depths[id.index()]
    }

    /// Returns the nesting depth of an `each`. Precondition: the field `nesting_depth` of each
    /// `each` inside it is already set.
    fn depth_of_each(&self, each: &EachBlock) -> u32 {
        let RequirementBlock { lets, table, each_blocks: inner } = &each.block;
        let lets = lets.iter().map(|(_, value)| self.depth_of_value(*value));
        let inner = inner.iter().map(|each| each.nesting_depth.max(self.depth_of_value(each.list)));
        lets.chain(inner).fold(self.table_depths[table.index()], u32::max).saturating_add(1)
    }
}

/// Returns the nesting depth of the quantifiers in a condition or value. A use of a `let` counts as
/// its body; `let_depths` contains the depth in the body of each `let`. `facts` caches the
/// quantifiers on which each part depends.
fn depth_of_part(facts: &mut QuantifierFacts, let_depths: &[u32], part: Part<'_>) -> u32 {
    let own_depth = match part {
        Part::Let(id) => let_depths.get(id.index()).copied().unwrap_or_default(),
        Part::Cond(Cond { kind: CondKind::Quantifier { body, .. }, .. })
        | Part::Expr(Expr { kind: ExprKind::Fold { body, .. }, .. }) => facts.quantifier_depth(0, body),
        _ => 0,
    };
    part.parts().into_iter().map(|part| depth_of_part(facts, let_depths, part)).fold(own_depth, u32::max)
}

impl QuantifierDependence {
    fn add_part(&mut self, part: QuantifierDependence) {
        self.longest_chain = self.longest_chain.max(part.longest_chain);
        for id in part.free_variables {
            if !self.free_variables.contains(&id) {
                self.free_variables.push(id);
            }
        }
    }
}
