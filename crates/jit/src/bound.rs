//! Values of outcomes, which the VM computes for compiled code; and compiled code over bindings
//! that get new values while it runs.

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

    /// Computes the values of an outcome; `None` if the outcome has none.
    #[inline]
    pub fn outcome(&mut self, outcome: &Outcome) -> Option<Computed> {
        Computed::of(outcome, |id| self.value(id))
    }
}

/// Compiled code over bindings that change; see [`BoundVm`](rulec_vm::vm::BoundVm).
pub struct BoundMachine<'a> {
    pub machine: Machine<'a, Rooted<'a>>,
    epochs: Epochs<'a>,
}

impl JitCode {
    /// Prepares compiled code over the message and bindings of `slots`.
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
    /// Sets the value of a binding.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        let BoundMachine { machine, epochs } = self;
        if let Some(vm) = machine.vm() {
            machine.memo.epoch = vm.bind(binding, value, epochs);
        }
        machine.lent.iter().flat_map(|lent| &lent.cells).for_each(|cell| cell.set(None));
    }

    /// Continues inside the given nested blocks of a payload, for counting against the limits.
    pub fn stand_in(&mut self, blocks: Blocks) {
        if let Some(vm) = self.machine.vm() {
            vm.arena().stand_in(blocks);
        }
    }

    /// Returns every matching route of the table, in the order in which routes are tried.
    ///
    /// If the computation repeats for each element of a list, the VM runs instead, because compiled
    /// code does not count repetitions against the limits.
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
