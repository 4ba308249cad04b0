//! The segments as of a version, which decisions look at. An edit leaves a snapshot as it is and puts
//! another in its place, so that a decision sees all of an edit or nothing, and holds no lock while
//! conditions run: a function they call may decide or edit as well.

use super::segment::Segment;
use super::texts::Places;
use crate::engine::Rules;
use crate::sema::hir::{RuleId, TableId, TableKind};
use hashbrown::HashMap;
use std::sync::Arc;

/// A compiled rule set with what is needed to edit it.
pub(super) struct Base {
    pub rules: Rules,
    pub segment: Arc<Segment>,
    /// The routes of each table by name, disabled ones included.
    pub names: Vec<HashMap<Arc<str>, RuleId>>,
    /// The places of the routes in the texts.
    pub places: Places,
}

impl Base {
    /// A base of compiled rules.
    pub fn new(rules: Rules, places: Places) -> Base {
        let segment = Arc::new(Segment::base(rules.clone()));
        Base { names: Base::names_of(&rules), segment, rules, places }
    }

    /// The route of that name of a table.
    pub fn named(&self, table: TableId, name: &str) -> Option<RuleId> {
        self.names.get(table.index())?.get(name).copied()
    }

    /// The routes of each table by name.
    fn names_of(rules: &Rules) -> Vec<HashMap<Arc<str>, RuleId>> {
        let program = rules.program();
        let mut names: Vec<HashMap<Arc<str>, RuleId>> = vec![HashMap::new(); program.tables.len()];
        for (at, rule) in program.rules.iter().enumerate() {
            if program.tables[rule.table.index()].kind == TableKind::Routes {
                names[rule.table.index()].insert(rule.name.clone(), RuleId(at as u32));
            }
        }
        names
    }
}

/// The rules as of a version.
pub(super) struct Snapshot {
    pub base: Arc<Base>,
    /// The base's segment, then those that came later.
    pub segments: Vec<Arc<Segment>>,
    /// Tombstones up to this version count.
    pub version: u64,
    /// True when anything was edited since the base was compiled.
    pub edited: bool,
}
