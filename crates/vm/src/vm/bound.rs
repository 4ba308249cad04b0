//! A VM over bindings that get new values while it runs, such as the elements of a payload's lists.
//!
//! Each new value begins an epoch, as a decision does, so memoized results become invalid. Values
//! in the arena and the results of host functions remain.

use super::binding_slots::Rooted;
use super::scratch::forget;
use super::setup::{Begun, Epochs};
use super::{Scratch, Vm};
use crate::bytecode::Bytecode;
use rulec_eval::host::Host;
use rulec_lang::value::Value;
use rulec_sema::hir::BindingId;

pub struct BoundVm<'a> {
    pub vm: Vm<'a, Rooted<'a>>,
    epochs: Epochs<'a>,
}

impl<'a> BoundVm<'a> {
    /// Prepares a VM over the message and bindings of `slots`.
    pub fn new(
        code: &'a Bytecode,
        hosts: &'a [Host],
        slots: Rooted<'a>,
        scratch: &'a mut Scratch,
    ) -> BoundVm<'a> {
        let (begun, epochs) = Begun::with_epochs(code, hosts, slots, scratch);
        BoundVm { vm: Vm::new(begun.basis, begun.message, begun.memory), epochs }
    }

    /// Sets the value of a binding.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        self.vm.bind(binding, value, &mut self.epochs);
    }
}

impl<'a> Vm<'a, Rooted<'a>> {
    /// Sets the value of a binding, and returns the new epoch.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>, epochs: &mut Epochs<'_>) -> u32 {
        self.message.bind(binding, value);
        *epochs.last = match epochs.last.checked_add(4) {
            Some(epoch) => epoch,
            None => {
                epochs.slots.forget();
                forget(self.memo.cells, self.cached, self.texts, self.workspace.as_deref_mut())
            }
        };
        self.memo.epoch = *epochs.last;
        self.memo.epoch
    }

    pub fn roots(&self) -> &[Value<'a>] {
        self.message.roots()
    }
}
