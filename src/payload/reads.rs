//! Finds the fields that the conditions of a payload's rules read, directly or through named
//! values.

use rulec_lang::operators::Op;
use rulec_sema::hir::{BindingId, Block, CondKind, ExprKind, Part, Payload, Program, RuleId, Slot, ValueId};
use std::collections::{HashMap, HashSet};

/// A message field that a condition reads, and how the condition uses the field.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldRead<'p> {
    pub slot: &'p Slot,
    pub used: FieldUse,
}

/// How a condition uses a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FieldUse {
    /// Whether the condition tests only if the field is present.
    pub presence: bool,
    /// Whether the condition replaces a missing field by another value (`??`).
    pub defaulted: bool,
}

/// Finder for the message fields that conditions read. Holds the program, and maps the names of one
/// payload kind to their values.
pub(super) struct FieldReads<'p> {
    program: &'p Program,
    named: HashMap<BindingId, ValueId>,
}

impl<'p> FieldReads<'p> {
    /// Creates a finder that follows a name to its `let` value, and the element of an `each` block
    /// to its list.
    pub fn new(program: &'p Program, payload: &'p Payload) -> FieldReads<'p> {
        let mut named = HashMap::new();
        collect_named_values(&payload.block, &mut named, true);
        FieldReads { program, named }
    }

    /// Creates a finder that follows a name to its `let` value, but treats the element of an `each`
    /// block as an independent object.
    pub fn per_object(program: &'p Program, payload: &'p Payload) -> FieldReads<'p> {
        let mut named = HashMap::new();
        collect_named_values(&payload.block, &mut named, false);
        FieldReads { program, named }
    }

    /// Returns the fields that the condition of a rule reads.
    pub fn read_by_rule(&self, rule: RuleId) -> Vec<FieldRead<'p>> {
        self.reads_in(Part::Cond(&self.program.rules[rule.index()].condition))
    }

    /// Returns the fields that a value is computed from.
    pub fn read_by_value(&self, value: ValueId) -> Vec<FieldRead<'p>> {
        self.reads_in(Part::Expr(self.program.value(value)))
    }

    fn reads_in(&self, part: Part<'p>) -> Vec<FieldRead<'p>> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting = vec![(part, FieldUse::default())];
        while let Some((part, used)) = waiting.pop() {
            match part {
                Part::Let(id) => {
                    if seen.insert((id.0, false, used)) {
                        waiting.push((self.program.let_body(id).part(), used));
                    }
                    continue;
                }
                Part::Expr(expr) => match &expr.kind {
                    ExprKind::Slot(id) => {
                        let slot = &self.program.slots[id.index()];
                        found.push(FieldRead { slot, used });
                        let value = slot.root.as_ref().and_then(|root| self.named.get(&root.id));
                        if let Some(value) = value.filter(|value| seen.insert((value.0, true, used))) {
                            let used = FieldUse { presence: false, ..used };
                            waiting.push((Part::Expr(self.program.value(*value)), used));
                        }
                    }
                    ExprKind::Op(Op::Coalesce, left, Some(right)) => {
                        waiting.push((Part::Expr(left), FieldUse { defaulted: true, ..used }));
                        waiting.push((Part::Expr(right), used));
                        continue;
                    }
                    ExprKind::Read(..) => {}
                    _ => {
                        let used = FieldUse { presence: false, ..used };
                        waiting.extend(part.parts().into_iter().map(|part| (part, used)));
                        continue;
                    }
                },
                Part::Cond(cond) => {
                    let tests = match &cond.kind {
                        CondKind::Test(test) => test.op,
                        _ => None,
                    };
                    let presence = matches!(tests, Some(Op::IsPresent | Op::IsMissing));
                    waiting
                        .extend(part.parts().into_iter().map(|part| (part, FieldUse { presence, ..used })));
                    continue;
                }
            }
            waiting.extend(part.parts().into_iter().map(|part| (part, used)));
        }
        found
    }
}

fn collect_named_values(block: &Block, named: &mut HashMap<BindingId, ValueId>, elements: bool) {
    named.extend(block.lets.iter().copied());
    for each in &block.each {
        if elements {
            named.insert(each.element, each.list);
            named.extend(each.key.map(|key| (key, each.list)));
        }
        collect_named_values(&each.block, named, elements);
    }
}
