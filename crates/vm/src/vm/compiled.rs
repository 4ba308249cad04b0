//! The parts of the VM that compiled code uses: the memo cells, a cell for each slot, and the VM
//! itself for operations that only the VM implements.

use super::{Message, Vm};
use crate::bytecode::chunk::Pred;

pub use super::memo::Memo;
pub use super::scratch::{Cells, Memory};
pub use super::setup::{Basis, Begun, Epochs};
pub use super::test::has_element;

/// A VM that is created at its first use, so that decisions without a use avoid the cost.
pub struct LateVm<'a, M> {
    seed: Option<(M, &'a mut Memory)>,
    made: Option<Vm<'a, M>>,
}

impl<'a, M: Message<'a>> LateVm<'a, M> {
    #[inline(always)]
    pub fn new(message: M, memory: &'a mut Memory) -> LateVm<'a, M> {
        LateVm { seed: Some((message, memory)), made: None }
    }

    /// Returns the VM, creating it if needed; `None` only if creating it panicked before.
    #[inline]
    pub fn get(&mut self, basis: &Basis<'a>) -> Option<&mut Vm<'a, M>> {
        if self.made.is_none() {
            self.make(basis);
        }
        self.made.as_mut()
    }

    #[inline(never)]
    fn make(&mut self, basis: &Basis<'a>) {
        let Some((message, memory)) = self.seed.take() else { return };
        self.made = Some(Vm::new(*basis, message, memory));
    }

    /// Returns a text normalized for a predicate. This needs no VM if none was created yet.
    pub fn prepared<'t>(&'t mut self, basis: &Basis<'a>, pred: &Pred, text: &'t str) -> Option<&'t str> {
        let epoch = basis.memo.epoch;
        if let Some(vm) = &mut self.made {
            return Some(vm.texts.get(pred.text, epoch, pred.mode.text, text));
        }
        let (_, memory) = self.seed.as_mut()?;
        memory.texts.grow(basis.code.chunk().texts.len());
        Some(memory.texts.get(pred.text, epoch, pred.mode.text, text))
    }

    /// Returns the VM, if it was created.
    pub fn made(&self) -> Option<&Vm<'a, M>> {
        self.made.as_ref()
    }
}
