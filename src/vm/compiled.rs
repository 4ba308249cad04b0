//! The part of the machine that compiled code needs: the answers that both keep, a place for each slot, and the
//! machine itself when something is asked that only it can answer.

use super::scratch::{Parts, Scratch};
use super::{JsonMessage, Message, Rooted, Vm};
use crate::bytecode::Bytecode;
use crate::bytecode::chunk::Pred;
use crate::host::Host;
use serde_json::Value as Json;

pub(crate) use super::bound::Epochs;
pub(crate) use super::memo::Memo;
pub(crate) use super::scratch::{Cells, Memory};
pub(crate) use super::test::has_element;

/// A decision begun under a new number.
pub(crate) struct Begun<'a, M> {
    pub basis: Basis<'a>,
    pub message: M,
    pub memory: &'a mut Memory,
    /// The place that keeps the slots' places between decisions.
    pub home: &'a mut Cells<'static>,
}

#[derive(Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub code: &'a Bytecode,
    pub hosts: &'a [Host],
    /// Answers kept during the decision.
    pub memo: Memo<'a>,
}

/// A machine that is made when first asked for: a decision that does not need it is spared its cost.
pub(crate) struct LateVm<'a, M> {
    seed: Option<(M, &'a mut Memory)>,
    made: Option<Vm<'a, M>>,
}

impl<'a> Begun<'a, JsonMessage<'a>> {
    #[inline(always)]
    pub fn json(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: &'a Json,
        scratch: &'a mut Scratch,
    ) -> Begun<'a, JsonMessage<'a>> {
        let Parts { memo, memory, slots, cells, .. } = scratch.begin(code.chunk());
        let message = JsonMessage::new(code.chunk(), message, slots, memo.epoch);
        Begun { basis: Basis { code, hosts, memo }, message, memory, home: cells }
    }
}

impl<'a, M: Message<'a>> Begun<'a, M> {
    /// Over whatever gives the slots their values.
    #[inline(always)]
    pub fn over(code: &'a Bytecode, hosts: &'a [Host], message: M, scratch: &'a mut Scratch) -> Begun<'a, M> {
        let Parts { memo, memory, cells, .. } = scratch.begin(code.chunk());
        Begun { basis: Basis { code, hosts, memo }, message, memory, home: cells }
    }
}

impl<'a> Begun<'a, Rooted<'a>> {
    /// Over bindings that change, with the numbers of the epochs that they begin.
    pub fn bound(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: Rooted<'a>,
        scratch: &'a mut Scratch,
    ) -> (Begun<'a, Rooted<'a>>, Epochs<'a>) {
        let Parts { last, memo, memory, slots, cells } = scratch.begin(code.chunk());
        let begun = Begun { basis: Basis { code, hosts, memo }, message, memory, home: cells };
        (begun, Epochs { last, slots })
    }
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
        let Basis { code, hosts, memo } = *basis;
        self.made = Some(Vm::new(code, hosts, message, memo, memory));
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
