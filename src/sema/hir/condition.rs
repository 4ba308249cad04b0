//! The conditions of rules, kept as bytes until somebody asks. A decision by the machine needs none
//! of them, and as trees they would be most of what a large rule set takes.

use super::{Cond, CondKind, Program};
use crate::codec::{Codec, Counts, DecodeError, Numbered, Parts, Reader, Writer};
use crate::span::{FileId, Span};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A rule's condition, which can be used like the [`Cond`] it is.
#[derive(Clone, Debug)]
pub struct Condition {
    tree: OnceLock<Box<Cond>>,
    /// The place where its bytes begin; `None` while it is but a tree.
    packed: Option<(Arc<Parts>, u32)>,
}

impl Condition {
    fn packed(parts: &Arc<Parts>, at: u32) -> Condition {
        Condition { tree: OnceLock::new(), packed: Some((parts.clone(), at)) }
    }

    /// Reads the tree. One that cannot be read, which only a forged file has, never holds.
    fn unpack(&self) -> Cond {
        let read = self.packed.as_ref().and_then(|(parts, at)| parts.part(*at).ok());
        let nowhere = Span { file: FileId(0), start: 0, end: 0 };
        read.unwrap_or(Cond { kind: CondKind::Const(false), span: nowhere })
    }
}

impl From<Cond> for Condition {
    fn from(cond: Cond) -> Condition {
        Condition { tree: OnceLock::from(Box::new(cond)), packed: None }
    }
}

impl Deref for Condition {
    type Target = Cond;

    fn deref(&self) -> &Cond {
        self.tree.get_or_init(|| Box::new(self.unpack()))
    }
}

/// Among what the writer puts aside, so that it can be read alone.
impl Codec for Condition {
    fn write(&self, to: &mut Writer) {
        // What nobody has asked for is not kept as a tree for this.
        let at = match self.tree.get() {
            Some(tree) => to.put_aside(&**tree),
            None => to.put_aside(&self.unpack()),
        };
        at.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = u32::read(from)?;
        if at as usize >= from.parts.bytes.len() {
            return Err(DecodeError("a condition begins behind the end"));
        }
        Ok(Condition::packed(&from.parts, at))
    }
}

impl Program {
    /// The counts of all that numbers refer to, in a program of so many files.
    pub fn counts(&self, files: usize) -> Counts {
        Counts::default()
            .with(Numbered::File, files)
            .with(Numbered::Slot, self.slots.len())
            .with(Numbered::Let, self.lets.len())
            .with(Numbered::Extern, self.externs.len())
            .with(Numbered::Table, self.tables.len())
            .with(Numbered::Rule, self.rules.len())
            .with(Numbered::Flow, self.flows.len())
            .with(Numbered::Value, self.values.len())
    }

    /// Keeps the conditions of the rules as bytes from now on.
    pub fn pack(&mut self, files: usize) {
        let mut writer = Writer::new();
        let places: Vec<u32> = self.rules.iter().map(|rule| writer.put_aside(&*rule.condition)).collect();
        let parts = Arc::new(writer.take_parts(self.counts(files)));
        for (rule, at) in self.rules.iter_mut().zip(places) {
            rule.condition = Condition::packed(&parts, at);
        }
        self.rules.shrink_to_fit();
    }
}
