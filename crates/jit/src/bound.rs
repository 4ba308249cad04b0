//! Values beside conditions, computed by the VM that stands beside compiled code; and compiled code
//! over bindings that get new values while it runs.

use super::code::{JitCode, Machine};
use rulec_eval::host::Host;
use rulec_lang::arena::Blocks;
use rulec_lang::value::Value;
use rulec_sema::hir::{BindingId, Outcome, RuleId, TableId, ValueId};
use rulec_vm::vm::compiled::{Begun, Epochs};
use rulec_vm::vm::{Computed, Message, Rooted, Scratch};

impl<'a, M: Message<'a> + 'a> Machine<'a, M> {
    pub fn value(&mut self, id: ValueId) -> Value<'a> {
        self.vm().map_or(Value::Missing, |vm| vm.value(id))
    }

    /// The values of an outcome, `None` when it has none.
    #[inline]
    pub fn outcome(&mut self, outcome: &Outcome) -> Option<Computed> {
        Computed::of(outcome, |id| self.value(id))
    }
}

/// Compiled code whose bindings change; see [`BoundVm`](rulec_vm::vm::BoundVm).
pub struct BoundMachine<'a> {
    pub machine: Machine<'a, Rooted<'a>>,
    epochs: Epochs<'a>,
}

impl JitCode {
    /// Readies compiled code over the message and bindings of `slots`.
    pub fn bound<'a>(
        &'a self,
        hosts: &'a [Host],
        slots: Rooted<'a>,
        scratch: &'a mut Scratch,
    ) -> BoundMachine<'a> {
        let (begun, epochs) = Begun::with_epochs(self.bytecode(), hosts, slots, scratch);
        BoundMachine { machine: Machine::over_cells(self, begun), epochs }
    }
}

impl<'a> BoundMachine<'a> {
    /// Gives a binding its value.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        let BoundMachine { machine, epochs } = self;
        if let Some(vm) = machine.vm() {
            machine.memo.epoch = vm.bind(binding, value, epochs);
        }
        machine.lent.iter().flat_map(|lent| &lent.cells).for_each(|cell| cell.set(None));
    }

    /// Goes on inside these blocks of a payload.
    pub fn stand_in(&mut self, blocks: Blocks) {
        if let Some(vm) = self.machine.vm() {
            vm.arena().stand_in(blocks);
        }
    }

    /// Every route of the table whose condition holds, in the order they are tried. What is computed anew for
    /// each element is the machine's: compiled code does not count how often it runs.
    pub fn matched(&mut self, table: TableId) -> Vec<RuleId> {
        let BoundMachine { machine, .. } = self;
        match machine.vm() {
            Some(vm) if vm.arena().is_repeated() => vm.matched(table),
            _ => machine.matched(table),
        }
    }

    pub fn roots(&mut self) -> &[Value<'a>] {
        self.machine.vm().map_or(&[], |vm| vm.roots())
    }
}
