//! The rules that cannot be asked, since an input that they read was not given: a judge says so, rather than let
//! silence pass for consent.

use super::reads::{How, Read, Reads};
use rulec_sema::hir::{Block, Payload, Program, RuleId, ValueId};
use serde_json::Value as Json;
use std::collections::HashMap;

/// The input that holds what may be switched on: it is off where it is not given, so nothing is unchecked
/// without it.
const OPTIONS: &str = "options";

/// The rules and lists that need an input which was not given, each with its name.
#[derive(Debug, Default)]
pub(super) struct Blind {
    pub rules: HashMap<RuleId, String>,
    pub lists: HashMap<ValueId, String>,
}

impl Blind {
    /// Those of a payload kind under the inputs that were given.
    pub fn of(program: &Program, payload: &Payload, input: &Json) -> Blind {
        let mut blind = Blind::default();
        let reads = Reads::new(program, payload);
        let absent = |reads: Vec<Read<'_>>| {
            let needed =
                reads.into_iter().filter(|read| read.how == How::default() && read.slot.root.is_none());
            let mut slots = needed.map(|read| read.slot);
            let slot = slots.find(|slot| &*slot.path[0] != OPTIONS && slot.load(input).is_missing())?;
            Some(slot.name())
        };
        let of_rule = |rule| absent(reads.of_rule(rule));
        let of_list = |list| absent(reads.of_value(list));
        blind.block(&payload.block, program, &of_rule, &of_list);
        blind
    }

    fn block(
        &mut self,
        block: &Block,
        program: &Program,
        of_rule: &dyn Fn(RuleId) -> Option<String>,
        of_list: &dyn Fn(ValueId) -> Option<String>,
    ) {
        for rule in &program.tables[block.table.index()].order {
            self.rules.extend(of_rule(*rule).map(|input| (*rule, input)));
        }
        for each in &block.each {
            self.lists.extend(of_list(each.list).map(|input| (each.list, input)));
            self.block(&each.block, program, of_rule, of_list);
        }
    }
}
