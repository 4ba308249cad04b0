//! Rule conditions, stored as encoded bytes and decoded on first use. The VM does not need the
//! trees, which would take most of the memory of a large rule set.

use super::{Cond, CondKind, Predicate, Program};
use rulec_base::codec::{Codec, DecodeError, IndexedTable, LazyValues, Reader, TableCounts, Writer};
use rulec_base::span::{FileId, Span};
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// A rule's condition, decoded on first use. It dereferences to a [`Cond`].
#[derive(Clone, Debug)]
pub struct Condition {
    tree: OnceLock<Box<Cond>>,
    /// The buffer with all encoded conditions of the program, and the byte range of this condition.
    /// `None` if the condition exists only as a tree.
    packed: Option<(Arc<LazyValues>, Range<u32>)>,
}

impl Condition {
    /// Decodes the condition unless it is already decoded, and stores the tree in `self`. Fails if
    /// the bytes are invalid.
    pub(super) fn unpack(&self) -> Result<&Cond, DecodeError> {
        if let (None, Some((parts, byte_range))) = (self.tree.get(), &self.packed) {
            let tree = Box::new(parts.decode_part(byte_range)?);
            return Ok(self.tree.get_or_init(|| tree));
        }
        Ok(self)
    }
}

impl Condition {
    /// Calls `change` with each predicate in the condition; see [`Cond::for_each_predicate_mut`].
    pub fn for_each_predicate_mut(&mut self, change: &mut dyn FnMut(&mut Predicate)) {
        // Decodes the tree before it is changed. Then drops the encoded bytes, which would no
        // longer match the tree.
        let _: &Cond = self;
        self.packed = None;
        if let Some(tree) = self.tree.get_mut() {
            tree.for_each_predicate_mut(change);
        }
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
            let decoded =
                self.packed.as_ref().and_then(|(parts, byte_range)| parts.decode_part(byte_range).ok());
            // Verification decoded every condition at load, so the fallback is unreachable.
            let placeholder_span = Span { file: FileId(0), start: 0, end: 0 };
            Box::new(decoded.unwrap_or(Cond { kind: CondKind::Const(false), span: placeholder_span }))
        })
    }
}

/// The condition is encoded as a separate part, which a reader can decode without the rest of the
/// program.
impl Codec for Condition {
    fn write(&self, to: &mut Writer) {
        match &self.packed {
            Some((parts, byte_range)) => to.write_part(|to| to.write_raw(parts.bytes(byte_range))),
            None => to.write_part(|to| Cond::write(self, to)),
        };
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Condition { tree: OnceLock::new(), packed: Some(from.read_part_range()?) })
    }
}

impl Program {
    /// Returns the lengths of the program's vectors, with which a reader checks ids. `files` is the
    /// number of source files, to which spans refer by id.
    pub fn table_counts(&self, files: usize) -> TableCounts {
        TableCounts::default()
            .with_count(IndexedTable::File, files)
            .with_count(IndexedTable::Slot, self.slots.len())
            .with_count(IndexedTable::Let, self.lets.len())
            .with_count(IndexedTable::Extern, self.externs.len())
            .with_count(IndexedTable::Table, self.tables.len())
            .with_count(IndexedTable::Rule, self.rules.len())
            .with_count(IndexedTable::Flow, self.flows.len())
            .with_count(IndexedTable::Value, self.values.len())
    }

    /// Encodes the conditions of all rules and drops their trees. `files` is the number of source
    /// files, with which the decoder checks the file ids in spans.
    pub fn pack_conditions(&mut self, files: usize) {
        let mut writer = Writer::new();
        let mut byte_ranges: Vec<Range<u32>> = Vec::with_capacity(self.rules.len());
        let trees = self.rules.iter().filter(|rule| rule.condition.packed.is_none());
        byte_ranges.extend(trees.map(|rule| writer.write_part(|to| Cond::write(&rule.condition, to))));
        let (parts, mut byte_ranges) =
            (Arc::new(writer.take_parts(self.table_counts(files))), byte_ranges.into_iter());
        for rule in &mut self.rules {
            let packed = rule.condition.packed.take().or_else(|| Some((parts.clone(), byte_ranges.next()?)));
            rule.condition = Condition { tree: OnceLock::new(), packed };
        }
        self.rules.shrink_to_fit();
    }
}
