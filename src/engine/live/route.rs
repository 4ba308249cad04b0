//! A route that was compiled alone: a rule set of one, with its own fields, normal form and bytecode.

use crate::bytecode::Bytecode;
use crate::engine::backend::Calls;
use crate::host::Host;
use crate::index::single::{self, Wanted};
use crate::sema::check::RouteUses;
use crate::sema::hir::{Outcome, Program, Slot, TableId};
use crate::sema::normal::Normal;
use crate::span::Span;
use crate::vm::{Computed, Scratch, Vm};
use serde_json::Value as Json;
use std::sync::Arc;

/// A compiled route.
pub(super) struct Route {
    /// The table it stands in, by its number in the rules it joins.
    pub table: TableId,
    /// Where it jumps to, by that number, and the words that say so.
    pub goto: Option<(TableId, Span)>,
    /// The one-route program; it has a table of its own number for the route's.
    pub program: Arc<Program>,
    local: TableId,
    bytecode: Bytecode,
    /// The functions it calls.
    pub hosts: Vec<Host>,
    /// How it uses the fields of the message, where they are not declared.
    pub uses: RouteUses,
    /// What a message must hold one of; `None` when it must be tried for all.
    pub keys: Option<Vec<(Slot, Wanted)>>,
    /// Whether it can ever hold.
    pub can_hold: bool,
    /// Its text.
    pub text: Arc<str>,
}

impl Route {
    #[expect(clippy::too_many_arguments, reason = "it is put together in one place")]
    pub fn new(
        table: TableId,
        program: Program,
        normal: Normal,
        bytecode: Bytecode,
        hosts: Vec<Host>,
        goto: Option<(TableId, Span)>,
        uses: RouteUses,
        text: Arc<str>,
    ) -> Route {
        let local = program.rules.first().map_or(TableId(0), |rule| rule.table);
        let only = normal.tables.get(local.index()).and_then(|routes| routes.first());
        let keys = only.and_then(|route| single::keys(&normal, bytecode.chunk(), route));
        let keys = keys.map(|keys| {
            let with_slot = |key: single::FieldKey| (program.slots[key.slot.index()].clone(), key.wanted);
            keys.into_iter().map(with_slot).collect()
        });
        let can_hold = only.is_some();
        Route { table, goto, program: Arc::new(program), local, bytecode, hosts, uses, keys, can_hold, text }
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.program.rules[0].name
    }

    /// Greater is tried earlier.
    pub fn priority(&self) -> i64 {
        self.program.rules[0].priority
    }

    /// Where it leads.
    pub fn outcome(&self) -> &Outcome {
        &self.program.rules[0].outcome
    }

    /// Whether its condition holds.
    pub fn holds(&self, message: &Json, scratch: &mut Scratch) -> bool {
        Vm::json(&self.bytecode, &self.hosts, message, scratch).run_route(self.local, 0)
    }

    /// Whether its condition holds, the values of its outcome when it does, and what its functions did.
    pub fn decide(&self, message: &Json, scratch: &mut Scratch) -> (bool, Option<Computed>, Option<Calls>) {
        let mut machine = Vm::json(&self.bytecode, &self.hosts, message, scratch);
        let holds = machine.run_route(self.local, 0);
        let computed = if holds { machine.outcome(self.outcome()) } else { None };
        (holds, computed, Calls::of(machine.hosts()))
    }
}
