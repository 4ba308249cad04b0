//! What compiled code uses of the VM: the cells with memoized results, a cell for the value of each
//! slot, and the VM itself for operations without compiled code.

use super::scratch::VmBuffers;
use super::{SlotValueSource, Vm};
use crate::bytecode::Bytecode;
use crate::bytecode::chunk::Pred;
use rulec_eval::host::RegisteredFunction;

pub use super::memo::Memo;
pub use super::scratch::ValueCells;
pub use super::setup::DecisionMemory;
pub use super::test::list_has_text;

/// A VM that is created at its first use. Decisions that never use the VM avoid the cost of
/// creating it.
pub struct LazyVm<'a, M> {
    /// The arguments for creating the VM; `None` once the VM is created.
    creation_args: Option<(M, &'a mut VmBuffers)>,
    vm: Option<Vm<'a, M>>,
}

impl<'a, M: SlotValueSource<'a>> LazyVm<'a, M> {
    #[inline(always)]
    pub fn new(message: M, buffers: &'a mut VmBuffers) -> LazyVm<'a, M> {
        LazyVm { creation_args: Some((message, buffers)), vm: None }
    }

    /// Returns the VM, and creates it if needed. `None` only if an earlier attempt to create the VM
    /// panicked.
    #[inline]
    pub fn get_or_create(
        &mut self,
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        memo: Memo<'a>,
    ) -> Option<&mut Vm<'a, M>> {
        if self.vm.is_none() {
            self.create_vm(code, host_functions, memo);
        }
        self.vm.as_mut()
    }

    #[inline(never)]
    fn create_vm(&mut self, code: &'a Bytecode, host_functions: &'a [RegisteredFunction], memo: Memo<'a>) {
        let Some((message, buffers)) = self.creation_args.take() else { return };
        self.vm = Some(Vm::new(code, host_functions, memo, buffers, message));
    }

    /// Returns `text` in the normalized form that `pred` needs. Caches the form for the decision
    /// with the number `epoch`. Does not create a VM. `None` only if an earlier attempt to create
    /// the VM panicked.
    pub fn prepared_text<'t>(
        &'t mut self,
        code: &Bytecode,
        epoch: u32,
        pred: &Pred,
        text: &'t str,
    ) -> Option<&'t str> {
        if let Some(vm) = &mut self.vm {
            return Some(vm.texts.get_or_prepare(pred.text_index, epoch, pred.mode.text, text));
        }
        let (_, buffers) = self.creation_args.as_mut()?;
        buffers.texts.ensure_slot_count(code.chunk().normalized_texts.len());
        Some(buffers.texts.get_or_prepare(pred.text_index, epoch, pred.mode.text, text))
    }

    /// Returns the VM if it has been created; otherwise `None`.
    pub fn created_vm(&self) -> Option<&Vm<'a, M>> {
        self.vm.as_ref()
    }
}
