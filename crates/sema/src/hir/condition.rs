//! The conditions of rules, kept as bytes until somebody asks. A decision by the machine needs none
//! of them, and as trees they would be most of what a large rule set takes.

use super::{Cond, CondKind, Program};
use rulec_base::codec::{Codec, Counts, DecodeError, Numbered, Parts, Reader, Writer};
use rulec_base::span::{FileId, Span};
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// A rule's condition, which can be used like the [`Cond`] it is.
#[derive(Clone, Debug)]
pub struct Condition {
    tree: OnceLock<Box<Cond>>,
    /// The place of its bytes; `None` while it is but a tree.
    packed: Option<(Arc<Parts>, Range<u32>)>,
}

impl Condition {
    /// Reads the tree, to find out whether it can be read, and keeps it.
    pub(super) fn unpack(&self) -> Result<&Cond, DecodeError> {
        if let (None, Some((parts, place))) = (self.tree.get(), &self.packed) {
            let tree = Box::new(parts.part(place)?);
            return Ok(self.tree.get_or_init(|| tree));
        }
        Ok(self)
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
        self.tree.get_or_init(|| {
            let read = self.packed.as_ref().and_then(|(parts, place)| parts.part(place).ok());
            // All were read when the rules were loaded, so that none is unreadable.
            let nowhere = Span { file: FileId(0), start: 0, end: 0 };
            Box::new(read.unwrap_or(Cond { kind: CondKind::Const(false), span: nowhere }))
        })
    }
}

/// Put aside by the writer, so that it can be read alone.
impl Codec for Condition {
    fn write(&self, to: &mut Writer) {
        match &self.packed {
            Some((parts, place)) => to.put_aside(|to| to.raw(parts.bytes(place))),
            None => to.put_aside(|to| Cond::write(self, to)),
        };
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Condition { tree: OnceLock::new(), packed: Some(from.put_aside()?) })
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
        let mut places: Vec<Range<u32>> = Vec::with_capacity(self.rules.len());
        let trees = self.rules.iter().filter(|rule| rule.condition.packed.is_none());
        places.extend(trees.map(|rule| writer.put_aside(|to| Cond::write(&rule.condition, to))));
        let (parts, mut places) = (Arc::new(writer.take_parts(self.counts(files))), places.into_iter());
        for rule in &mut self.rules {
            let packed = rule.condition.packed.take().or_else(|| Some((parts.clone(), places.next()?)));
            rule.condition = Condition { tree: OnceLock::new(), packed };
        }
        self.rules.shrink_to_fit();
    }
}
