//! Finds the fields that the conditions of a payload's rules read, directly or through named values
//! (`let` values and elements of `each` blocks).

use rulec_lang::operators::Op;
use rulec_sema::hir::{
    BindingId, CondKind, ExprKind, Part, Payload, Program, RequirementBlock, RuleId, Slot, ValueId,
};
use std::collections::{HashMap, HashSet};

/// A message field that a condition reads, and how the condition uses the field.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldRead<'p> {
    pub slot: &'p Slot,
    pub usage: FieldUse,
}

/// How a condition uses a field that it reads. By default, it uses the field's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FieldUse {
    /// Whether the condition only tests whether the field is present, and does not use its value.
    pub only_tests_presence: bool,
    /// Whether the condition replaces a missing field by another value (`??`).
    pub has_default: bool,
}

/// Finds the message fields that the conditions of one `payload` statement read.
pub(super) struct FieldReads<'p> {
    program: &'p Program,
    /// Maps each variable of the rules to the value that defines it. A variable is a `let` name, or
    /// the element of an `each` block, which is defined by the block's list.
    named_values: HashMap<BindingId, ValueId>,
}

impl<'p> FieldReads<'p> {
    /// Creates a finder that follows variables. If a condition reads a variable, the fields from
    /// which the variable is computed count as read. The variables are the `let` names and the
    /// elements of `each` blocks.
    pub fn new(program: &'p Program, payload: &'p Payload) -> FieldReads<'p> {
        let mut named_values = HashMap::new();
        collect_named_values(&payload.block, &mut named_values, true);
        FieldReads { program, named_values }
    }

    /// Creates a finder that follows `let` names, but not elements of `each` blocks. If a condition
    /// reads an element, the fields from which the block's list is computed do not count as read. A
    /// JSON Schema needs this, because each list element has a schema of its own.
    pub fn per_object(program: &'p Program, payload: &'p Payload) -> FieldReads<'p> {
        let mut named_values = HashMap::new();
        collect_named_values(&payload.block, &mut named_values, false);
        FieldReads { program, named_values }
    }

    /// Returns the fields that the condition of a rule reads, directly or through variables.
    pub fn read_by_rule(&self, rule: RuleId) -> Vec<FieldRead<'p>> {
        self.collect_reads(Part::Cond(&self.program.rules[rule.index()].condition))
    }

    /// Returns the fields from which a value is computed, directly or through variables.
    pub fn read_by_value(&self, value: ValueId) -> Vec<FieldRead<'p>> {
        self.collect_reads(Part::Expr(self.program.value(value)))
    }

    fn collect_reads(&self, part: Part<'p>) -> Vec<FieldRead<'p>> {
        let mut reads = Vec::new();
        let mut visited = HashSet::new();
        let mut pending = vec![(part, FieldUse::default())];
        while let Some((part, usage)) = pending.pop() {
            match part {
                Part::Let(id) => {
                    if visited.insert((id.0, false, usage)) {
                        pending.push((self.program.let_body(id).as_part(), usage));
                    }
                    continue;
                }
                Part::Expr(expr) => match &expr.kind {
                    ExprKind::Slot(id) => {
                        let slot = &self.program.slots[id.index()];
                        reads.push(FieldRead { slot, usage });
                        let value = slot.root.as_ref().and_then(|root| self.named_values.get(&root.id));
                        if let Some(value) = value.filter(|value| visited.insert((value.0, true, usage))) {
                            let usage = FieldUse { only_tests_presence: false, ..usage };
                            pending.push((Part::Expr(self.program.value(*value)), usage));
                        }
                    }
                    ExprKind::Op(Op::Coalesce, left, Some(right)) => {
                        pending.push((Part::Expr(left), FieldUse { has_default: true, ..usage }));
                        pending.push((Part::Expr(right), usage));
                        continue;
                    }
                    ExprKind::Read(..) => {}
                    _ => {
                        let usage = FieldUse { only_tests_presence: false, ..usage };
                        pending.extend(part.parts().into_iter().map(|part| (part, usage)));
                        continue;
                    }
                },
                Part::Cond(cond) => {
                    let test_op = match &cond.kind {
                        CondKind::Predicate(test) => test.op,
                        _ => None,
                    };
                    let only_tests_presence = matches!(test_op, Some(Op::IsPresent | Op::IsMissing));
                    pending.extend(
                        part.parts()
                            .into_iter()
                            .map(|part| (part, FieldUse { only_tests_presence, ..usage })),
                    );
                    continue;
                }
            }
            pending.extend(part.parts().into_iter().map(|part| (part, usage)));
        }
        reads
    }
}

fn collect_named_values(
    block: &RequirementBlock,
    named_values: &mut HashMap<BindingId, ValueId>,
    elements: bool,
) {
    named_values.extend(block.lets.iter().copied());
    for each in &block.each_blocks {
        if elements {
            named_values.insert(each.element, each.list);
            named_values.extend(each.key.map(|key| (key, each.list)));
        }
        collect_named_values(&each.block, named_values, elements);
    }
}
