//! The segments as of a version, which decisions look at. An edit leaves a snapshot as it is and puts
//! another in its place, so that a decision sees all of an edit or nothing, and holds no lock while
//! conditions run: a function they call may decide or edit as well.

use super::base::Base;
use super::segment::Segment;
use std::sync::Arc;

pub(super) struct Snapshot {
    pub base: Arc<Base>,
    /// The base's segment, then those that came later.
    pub segments: Vec<Arc<Segment>>,
    /// Tombstones up to this version count.
    pub version: u64,
    /// The number of the last edit, or of the rules when there was none: each has another.
    pub generation: u64,
    /// True when anything was edited since the base was compiled.
    pub edited: bool,
}
