//! The state of live rules that decisions read: an immutable list of segments. An edit installs a
//! new snapshot and does not change the old one. So a decision sees all of an edit or nothing. No
//! lock is needed while conditions run, so a host function may decide or edit too.

use super::base::Base;
use super::segment::Segment;
use std::sync::Arc;

pub(super) struct Snapshot {
    pub base: Arc<Base>,
    /// The segment of the base, then the segments of inserted routes.
    pub segments: Vec<Arc<Segment>>,
    /// Version of the snapshot. A tombstone (mark of a removed route) counts if its version is not
    /// greater than this version.
    pub version: u64,
    /// Generation of the last edit; without edits, the generation of the compiled rules.
    pub generation: u64,
    /// Whether anything was edited since the base was compiled.
    pub edited: bool,
}
