//! Slots (fields that rules read) whose values come from a message or from bindings. A binding is a
//! name whose value changes during a decision, such as the current element of a list. Changing one
//! binding keeps the slots that were read from other bindings.
//!
//! Each decision and each new value of a binding starts a new *epoch* of the VM: a number with
//! which memoized results are stamped. Results with an older number are invalid. Values in the
//! arena and the results of host functions are kept.

use super::scratch::{BindingBuffers, JsonBuffers, clear_vm_stamps, grow_to_len, recycle_vec};
use super::{Scratch, SlotValueSource, Vm};
use crate::bytecode::Bytecode;
use rulec_base::broken_invariant;
use rulec_eval::host::RegisteredFunction;
use rulec_lang::value::Value;
use rulec_sema::hir::{BindingId, Slot};
use serde_json::Value as Json;

/// Slots (fields that rules read) whose values are looked up in a message or in bindings when they
/// are first used. A binding is a name whose value changes during a decision.
pub struct BindingSlots<'a> {
    slots: &'a [Slot],
    message: &'a Json,
    buffers: &'a mut BindingBuffers,
    /// The current values of the bindings, such as the current element of a list.
    binding_values: Vec<Value<'a>>,
    /// The values of the slots that were read so far.
    slot_values: Vec<Value<'a>>,
    /// The version number of slots that are read from the message itself. Each new value of a
    /// binding gets a higher number. A slot whose stored number is not current must be read again.
    message_version: u64,
    /// The current epoch: a number that is stored with each cached value. A value with another
    /// number is invalid. When the numbers overflow and restart, the stored numbers in `json` must
    /// be cleared.
    epoch: &'a mut u32,
    json: &'a mut JsonBuffers,
}

impl<'a> BindingSlots<'a> {
    /// Creates slots over a message and `binding_count` bindings (names whose values change during
    /// a decision). No binding has a value yet.
    pub(super) fn new(
        slots: &'a [Slot],
        message: &'a Json,
        binding_count: usize,
        buffers: &'a mut BindingBuffers,
        epoch: &'a mut u32,
        json: &'a mut JsonBuffers,
    ) -> BindingSlots<'a> {
        let mut roots: Vec<Value<'a>> = recycle_vec(std::mem::take(&mut buffers.binding_values));
        roots.resize(binding_count, Value::Missing);
        let values = recycle_vec(std::mem::take(&mut buffers.slot_values));
        grow_to_len(&mut buffers.slot_stamps, slots.len());
        buffers.last_version += 1;
        let message_version = buffers.last_version;
        buffers.binding_versions.clear();
        buffers.binding_versions.resize(binding_count, message_version);
        BindingSlots {
            slots,
            message,
            buffers,
            binding_values: roots,
            slot_values: values,
            message_version,
            epoch,
            json,
        }
    }

    /// Sets the value of a binding (a name whose value changes during a decision). The slots that
    /// were read from the previous value are read again when they are used.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        self.buffers.last_version += 1;
        if let (Some(root), Some(version)) = (
            self.binding_values.get_mut(binding.index()),
            self.buffers.binding_versions.get_mut(binding.index()),
        ) {
            (*root, *version) = (value, self.buffers.last_version);
        }
    }

    pub fn binding_values(&self) -> &[Value<'a>] {
        &self.binding_values
    }

    #[inline]
    pub fn get_slot(&mut self, slot: usize) -> &Value<'a> {
        let Some(info) = self.slots.get(slot) else { return &Value::Missing };
        let version = match &info.root {
            None => self.message_version,
            Some(root) => self.buffers.binding_versions.get(root.id.index()).copied().unwrap_or(0),
        };
        let value_index = match self.buffers.slot_stamps.get(slot) {
            Some((value_index, read_in)) if *read_in == version => *value_index,
            _ => self.load_slot(slot, info, version),
        };
        self.slot_values.get(value_index).unwrap_or(&Value::Missing)
    }

    #[inline(never)]
    fn load_slot(&mut self, slot: usize, info: &Slot, version: u64) -> usize {
        let value = match &info.root {
            None => info.load(self.message),
            Some(root) => {
                self.binding_values.get(root.id.index()).map_or(Value::Missing, |root| info.load_from(*root))
            }
        };
        // Reuses the cell of the slot's earlier value, if that was read from this message.
        let Some((at, read_in)) = self.buffers.slot_stamps.get_mut(slot) else {
            broken_invariant!("every slot has a stamp");
            return usize::MAX;
        };
        match self.slot_values.get_mut(*at).filter(|_| *read_in > self.message_version) {
            Some(cell) => *cell = value,
            None => {
                *at = self.slot_values.len();
                self.slot_values.push(value);
            }
        }
        *read_in = version;
        *at
    }
}

impl<'a> SlotValueSource<'a> for BindingSlots<'a> {
    #[inline]
    fn slot_value(&mut self, slot: usize) -> &Value<'a> {
        self.get_slot(slot)
    }
}

impl Drop for BindingSlots<'_> {
    fn drop(&mut self) {
        self.buffers.slot_values = recycle_vec(std::mem::take(&mut self.slot_values));
        self.buffers.binding_values = recycle_vec(std::mem::take(&mut self.binding_values));
    }
}

impl<'a> Vm<'a, BindingSlots<'a>> {
    /// Prepares a VM over a message and `binding_count` bindings (names whose values change during
    /// a decision). No binding has a value yet.
    pub fn over_bindings(
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        slots: &'a [Slot],
        message: &'a Json,
        binding_count: usize,
        scratch: &'a mut Scratch,
    ) -> Vm<'a, BindingSlots<'a>> {
        let (memory, message) =
            scratch.start_bindings_decision(code, host_functions, slots, message, binding_count);
        Vm::new(code, host_functions, memory.memo, memory.vm, message)
    }

    /// Sets the value of a binding. Returns the new epoch of the VM: the number that marks memoized
    /// results as valid.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) -> u32 {
        let message = &mut self.message;
        message.bind(binding, value);
        *message.epoch = match message.epoch.checked_add(4) {
            Some(epoch) => epoch,
            None => {
                message.json.clear_stamps();
                let lookup = self.lookup_buffers.as_deref_mut();
                clear_vm_stamps(self.memo.cells, self.cache_stamps, self.texts, lookup)
            }
        };
        self.memo.epoch = *message.epoch;
        self.memo.epoch
    }

    /// Returns the current values of the bindings, the names whose values change during a decision.
    pub fn binding_values(&self) -> &[Value<'a>] {
        self.message.binding_values()
    }
}
