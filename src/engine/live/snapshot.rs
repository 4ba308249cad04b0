//! An immutable list of segments that decisions read. An edit installs a new snapshot and does not
//! change the old one. So a decision sees all of an edit or nothing. No lock is needed while
//! conditions run, so a host function may decide or edit too.

use super::base::Base;
use super::segment::Segment;
use std::sync::Arc;

pub(super) struct Snapshot {
    pub base: Arc<Base>,
    /// The base's segment, then the segments added later.
    pub segments: Vec<Arc<Segment>>,
    /// Tombstones with a version up to this one are applied.
    pub version: u64,
    /// Generation of the last edit; without edits, the generation of the rules.
    pub generation: u64,
    /// Whether anything was edited since the base was compiled.
    pub edited: bool,
}
