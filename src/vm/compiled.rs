//! What compiled code needs of the machine: the answers that both keep, a place for each slot, and the
//! machine itself when something is asked that only it can answer.

use super::scratch::{Parts, Room, Scratch, recycle_cells};
use super::{JsonMessage, Message, Vm};
use crate::bytecode::Bytecode;
use crate::host::{Host, HostCalls};
use serde_json::Value as Json;

pub(crate) use super::End;
pub(crate) use super::follow::{Memo, follow};
pub(crate) use super::scratch::Cells;

/// A decision begun under a new number.
pub(crate) struct Begun<'a, M> {
    /// Answers kept during the decision.
    pub memo: Memo<'a>,
    /// The machine, made when it is first needed: a decision that does not need it is spared its cost.
    pub vm: LateVm<'a, M>,
    /// Where the room for slots comes from.
    pub home: &'a mut Cells<'static>,
}

/// A machine that is made when first asked for.
pub(crate) struct LateVm<'a, M> {
    code: &'a Bytecode,
    hosts: &'a [Host],
    memo: Memo<'a>,
    seed: Option<(M, &'a mut Room)>,
    made: Option<Vm<'a, M>>,
}

impl<'a> Begun<'a, JsonMessage<'a>> {
    /// Over a JSON message.
    #[inline(always)]
    pub fn json(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: &'a Json,
        scratch: &'a mut Scratch,
    ) -> Begun<'a, JsonMessage<'a>> {
        let Parts { epoch, memo, room, slots, cells } = scratch.begin(code.chunk());
        let memo = Memo { cells: memo, epoch };
        let message = JsonMessage::new(code.chunk(), message, slots, epoch);
        Begun { memo, vm: LateVm::new(code, hosts, message, memo, room), home: cells }
    }
}

impl<'a, M: Message<'a>> Begun<'a, M> {
    /// Over whatever gives the slots their values.
    #[inline(always)]
    pub fn over(code: &'a Bytecode, hosts: &'a [Host], message: M, scratch: &'a mut Scratch) -> Begun<'a, M> {
        let Parts { epoch, memo, room, cells, .. } = scratch.begin(code.chunk());
        let memo = Memo { cells: memo, epoch };
        Begun { memo, vm: LateVm::new(code, hosts, message, memo, room), home: cells }
    }
}

impl<'a, M: Message<'a>> LateVm<'a, M> {
    #[inline(always)]
    fn new(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: M,
        memo: Memo<'a>,
        room: &'a mut Room,
    ) -> LateVm<'a, M> {
        LateVm { code, hosts, memo, seed: Some((message, room)), made: None }
    }

    /// The machine; `None` only when making it panicked before.
    #[inline]
    pub fn get(&mut self) -> Option<&mut Vm<'a, M>> {
        if self.made.is_none() {
            self.make();
        }
        self.made.as_mut()
    }

    #[inline(never)]
    fn make(&mut self) {
        let Some((message, room)) = self.seed.take() else { return };
        let Memo { cells, epoch } = self.memo;
        self.made = Some(Vm::new(self.code, self.hosts, message, epoch, cells, room));
    }

    /// The host functions' record; `None` when none can have been called.
    pub fn hosts(&self) -> Option<&HostCalls<'a>> {
        self.made.as_ref().map(Vm::hosts)
    }
}

/// Lends a place for each of so many slots, all empty.
pub(crate) fn lend<'a>(home: &mut Cells<'static>, slots: usize) -> Cells<'a> {
    let mut cells = recycle_cells(std::mem::take(home));
    cells.resize_with(slots, Default::default);
    cells
}

/// Takes the places back.
pub(crate) fn give_back(home: &mut Cells<'static>, cells: Cells<'_>) {
    *home = recycle_cells(cells);
}
