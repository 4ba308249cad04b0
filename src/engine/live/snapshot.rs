//! The state of live rules that decisions read: an immutable list of segments (groups of routes
//! compiled together). An edit installs a new snapshot and does not change the old one. So a
//! decision sees an edit completely or not at all. No lock is held while conditions are evaluated,
//! so a host function may make decisions and edits.

use super::base::BaseRules;
use super::segment::RouteSegment;
use std::sync::Arc;

pub(super) struct LiveSnapshot {
    pub base: Arc<BaseRules>,
    /// The segments (groups of routes compiled together). The first is the base (the rule set as
    /// last compiled in full). The others contain inserted routes.
    pub segments: Vec<Arc<RouteSegment>>,
    /// Version of the snapshot. A route with a tombstone (mark of a removed route) is removed in
    /// this snapshot if the tombstone's version is not greater than this version.
    pub version: u64,
    /// Generation (version number) of the rules after the last edit. Without edits, the generation
    /// of the compiled rules.
    pub generation: u64,
    /// Whether anything was edited since the last full compilation.
    pub is_edited: bool,
}
