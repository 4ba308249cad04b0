//! What a thread keeps from decision to decision.

use super::probe::Probe;
use crate::bytecode::Chunk;
use crate::text::similarity::Scratch as Similarities;
use crate::value::Value;
use bumpalo::Bump;
use serde_json::Value as Json;

/// Room to decide in: one a thread, for any rule sets and messages in turn.
#[derive(Debug, Default)]
pub struct Scratch {
    bump: Bump,
    epoch: u32,
    memo: Vec<u32>,
    texts: Vec<Prepared>,
    cached: Vec<u32>,
    buffer: String,
    similarity: Similarities,
    values: Vec<Value<'static>>,
    slots: SlotCells,
    probe: Probe,
}

/// A text prepared under a mode, for the decision of that number.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub epoch: u32,
    pub text: String,
}

/// The parts that a [`super::JsonMessage`] borrows: what was read of the message.
#[derive(Debug, Default)]
pub(super) struct SlotCells {
    pub slots: Vec<Stamp>,
    pub nodes: Vec<Stamp>,
    pub values: Vec<Value<'static>>,
    pub objects: Vec<Option<&'static Json>>,
}

/// Where something read in the decision of that number is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    pub epoch: u32,
    pub at: u32,
}

/// Where something read in a version of what it was read from is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp64 {
    pub version: u64,
    pub at: u32,
}

/// What [`Scratch::begin`] lends.
pub(super) struct Parts<'a> {
    pub slots: &'a mut SlotCells,
    pub machine: Machine<'a>,
}

/// The parts that the machine borrows.
pub(super) struct Machine<'a> {
    pub bump: &'a Bump,
    pub memo: &'a mut [u32],
    pub texts: &'a mut [Prepared],
    pub cached: &'a mut [u32],
    pub buffer: &'a mut String,
    pub similarity: &'a mut Similarities,
    pub home: &'a mut Vec<Value<'static>>,
    pub probe: &'a mut Probe,
}

impl Scratch {
    /// Empty; it grows to what the rule sets and messages need.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Begins a decision under a new number, a multiple of four.
    pub(super) fn begin(&mut self, chunk: &Chunk) -> (u32, Parts<'_>) {
        self.epoch = match self.epoch.checked_add(4) {
            Some(epoch) => epoch,
            None => self.forget(),
        };
        self.bump.reset();
        grow(&mut self.memo, chunk.memo_len());
        grow(&mut self.texts, chunk.texts.len());
        grow(&mut self.cached, chunk.cached as usize);
        let machine = Machine {
            bump: &self.bump,
            memo: &mut self.memo,
            texts: &mut self.texts,
            cached: &mut self.cached,
            buffer: &mut self.buffer,
            similarity: &mut self.similarity,
            home: &mut self.values,
            probe: &mut self.probe,
        };
        (self.epoch, Parts { slots: &mut self.slots, machine })
    }

    /// After a billion decisions the numbers begin anew, so old stamps must go.
    #[cold]
    fn forget(&mut self) -> u32 {
        self.memo.fill(0);
        self.cached.fill(0);
        self.texts.iter_mut().for_each(|text| text.epoch = 0);
        self.slots.slots.fill(Stamp::default());
        self.slots.nodes.fill(Stamp::default());
        self.probe.forget();
        4
    }

    /// Sets the decisions' number, to test what happens when it overflows.
    #[cfg(test)]
    pub(super) fn set_epoch(&mut self, epoch: u32) {
        self.epoch = epoch & !3;
    }

    /// Where the registers lie and how many have room.
    #[cfg(test)]
    pub(super) fn registers(&self) -> (usize, usize) {
        (self.values.as_ptr() as usize, self.values.capacity())
    }
}

#[inline]
pub(super) fn grow<T: Default>(cells: &mut Vec<T>, len: usize) {
    if cells.len() < len {
        cells.resize_with(len, T::default);
    }
}

/// Empties a vector for values of another lifetime and keeps its room: collecting an emptied
/// vector's iterator works in place. (A test holds the standard library to it.)
#[inline]
pub(super) fn recycle<'b>(mut values: Vec<Value<'_>>) -> Vec<Value<'b>> {
    values.clear();
    values.into_iter().map_while(|_| None).collect()
}

/// The same for objects of the message.
#[inline]
pub(super) fn recycle_objects<'b>(mut objects: Vec<Option<&Json>>) -> Vec<Option<&'b Json>> {
    objects.clear();
    objects.into_iter().map_while(|_| None).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycling_keeps_the_room() {
        let text = String::from("x");
        let mut values: Vec<Value<'_>> = vec![Value::Str(&text); 100];
        values.reserve(28);
        let (at, room) = (values.as_ptr() as usize, values.capacity());
        let values: Vec<Value<'static>> = recycle(values);
        assert_eq!((values.as_ptr() as usize, values.capacity(), values.len()), (at, room, 0));
        let json = Json::Null;
        let objects = vec![Some(&json); 100];
        let (at, room) = (objects.as_ptr() as usize, objects.capacity());
        let objects: Vec<Option<&'static Json>> = recycle_objects(objects);
        assert_eq!((objects.as_ptr() as usize, objects.capacity()), (at, room));
    }

    #[test]
    fn a_scratch_moves_between_threads() {
        fn check<T: Send>() {}
        check::<Scratch>();
    }
}
