//! Finds unchecked rules of a payload kind (one `payload` statement): rules that cannot be
//! evaluated, because they read an input that was not given. Validation reports them, so that a
//! missing input does not look like a passed check.

use super::reads::{FieldRead, FieldReads, FieldUse};
use rulec_sema::hir::{Payload, Program, RequirementBlock, RuleId, ValueId};
use serde_json::Value as Json;
use std::collections::HashMap;

/// Name of the input that switches optional features on. A missing option means that its feature is
/// off, so rules that read a missing option are not reported.
const OPTIONS_INPUT_NAME: &str = "options";

/// What cannot be evaluated in a payload kind because an input was not given: some rules, and some
/// lists whose elements an `each` block checks. Each is mapped to the name of the missing input.
#[derive(Debug, Default)]
pub(super) struct MissingInputs {
    pub inputs_by_rule: HashMap<RuleId, String>,
    pub inputs_by_list: HashMap<ValueId, String>,
}

impl MissingInputs {
    /// Finds what cannot be evaluated in a payload kind (one `payload` statement) because `input`
    /// lacks a value: some rules, and some lists whose elements an `each` block checks. A test of
    /// presence, or a value with a default (`??`), needs no value of the input.
    pub fn new(program: &Program, payload: &Payload, input: &Json) -> MissingInputs {
        let mut paths = MissingInputs::default();
        let reads = FieldReads::new(program, payload);
        let missing_input = |reads: Vec<FieldRead<'_>>| {
            let needed_reads = reads
                .into_iter()
                .filter(|read| read.usage == FieldUse::default() && read.slot.root.is_none());
            let mut slots = needed_reads.map(|read| read.slot);
            let slot =
                slots.find(|slot| &*slot.path[0] != OPTIONS_INPUT_NAME && slot.load(input).is_missing())?;
            Some(slot.name())
        };
        let input_of_rule = |rule| missing_input(reads.read_by_rule(rule));
        let input_of_list = |list| missing_input(reads.read_by_value(list));
        paths.collect_from_block(&payload.block, program, &input_of_rule, &input_of_list);
        paths
    }

    fn collect_from_block(
        &mut self,
        block: &RequirementBlock,
        program: &Program,
        input_of_rule: &dyn Fn(RuleId) -> Option<String>,
        input_of_list: &dyn Fn(ValueId) -> Option<String>,
    ) {
        for rule in &program.tables[block.table.index()].evaluation_order {
            self.inputs_by_rule.extend(input_of_rule(*rule).map(|input| (*rule, input)));
        }
        for each in &block.each_blocks {
            self.inputs_by_list.extend(input_of_list(each.list).map(|input| (each.list, input)));
            self.collect_from_block(&each.block, program, input_of_rule, input_of_list);
        }
    }
}
