//! The part of the machine that compiled code needs: the answers that both keep, a place for each slot, and the
//! machine itself when something is asked that only it can answer.

use super::{Message, Vm};
use crate::bytecode::chunk::Pred;

pub use super::begun::{Basis, Begun, Epochs};
pub use super::memo::Memo;
pub use super::scratch::{Cells, Memory};
pub use super::test::has_element;

/// A machine that is made when first asked for: a decision that does not need it is spared its cost.
pub struct LateVm<'a, M> {
    seed: Option<(M, &'a mut Memory)>,
    made: Option<Vm<'a, M>>,
}

impl<'a, M: Message<'a>> LateVm<'a, M> {
    #[inline(always)]
    pub fn new(message: M, memory: &'a mut Memory) -> LateVm<'a, M> {
        LateVm { seed: Some((message, memory)), made: None }
    }

    /// The machine; `None` only when making it panicked before.
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

    /// A text as a predicate wants it prepared: the machine's own work, for which it need not be made.
    pub fn prepared<'t>(&'t mut self, basis: &Basis<'a>, pred: &Pred, text: &'t str) -> Option<&'t str> {
        let epoch = basis.memo.epoch;
        if let Some(vm) = &mut self.made {
            return Some(vm.texts.get(pred.text, epoch, pred.mode.text, text));
        }
        let (_, memory) = self.seed.as_mut()?;
        memory.texts.grow(basis.code.chunk().texts.len());
        Some(memory.texts.get(pred.text, epoch, pred.mode.text, text))
    }

    /// The machine, when it has been made.
    pub fn made(&self) -> Option<&Vm<'a, M>> {
        self.made.as_ref()
    }
}
