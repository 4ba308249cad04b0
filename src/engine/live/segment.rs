//! Segments of live rules. A segment is a group of rules compiled together, with bytecode, an
//! optional index, and tombstones for removed routes. One segment is the base: the rules as last
//! compiled in full. Each route that an edit inserts forms a segment of its own, until compaction
//! compiles it together with other routes. All segments are searched in the same manner.

use super::route::Route;
use crate::engine::Rules;
use rulec_base::broken_invariant;
use rulec_sema::hir::{Outcome, RuleId, Table, TableId};
use rulec_vm::index::tombstones::Tombstones;
use std::cmp::Reverse;
use std::sync::Arc;

/// A number that orders routes of equal priority. For a route of the base (the rule set as last
/// compiled in full), it is the rule id. An inserted route gets a number of at least
/// [`FIRST_INSERTED_SEQUENCE`]; a route that replaces another route gets the number of that route.
pub(super) type SequenceNumber = u64;
/// The sequence number of the first route that is inserted after a full compilation. It is greater
/// than every rule id, so new routes come after the other routes of their priority.
pub(super) const FIRST_INSERTED_SEQUENCE: SequenceNumber = 1 << 32;

/// The sort key of a route in its table: its priority, then its sequence number, which orders
/// routes of equal priority.
pub(super) type RouteSortKey = (Reverse<i64>, SequenceNumber);

/// A group of routes compiled together: all rules as last compiled in full (the base), or routes
/// that edits inserted later.
#[derive(Clone)]
pub(super) struct RouteSegment {
    pub rules: Rules,
    /// Maps the id of each table in this segment to its id in the base (the rule set as last
    /// compiled in full).
    base_table_ids: Arc<[TableId]>,
    /// For each table, its routes in evaluation order. Routes whose conditions can never hold are
    /// left out.
    evaluation_orders: Arc<[Vec<RuleId>]>,
    /// The numbers that order routes of equal priority, by rule id. `None` in the base (the rule
    /// set as last compiled in full), where the rule id is this number.
    sequence_numbers: Option<Box<[SequenceNumber]>>,
    /// Marks of the routes that were removed since this segment was compiled.
    pub tombstones: Arc<Tombstones>,
    /// The parsed routes, if edits inserted the routes of this segment (group of routes compiled
    /// together). Empty for the segment of the last full compilation.
    pub routes: Arc<[Arc<Route>]>,
}

impl RouteSegment {
    pub fn from_base(rules: Rules) -> RouteSegment {
        let tables = (0..rules.program().tables.len()).map(|table| TableId(table as u32)).collect();
        RouteSegment::new(rules, tables, None, Arc::new([]))
    }

    /// Creates a segment (group of routes compiled together) of routes that edits inserted.
    /// Precondition: `routes` are in the same order as in `rules`, because a rule id is used as an
    /// index of `routes`.
    pub fn from_inserted_routes(
        rules: Rules,
        base: &Rules,
        routes: Vec<(Arc<Route>, SequenceNumber)>,
    ) -> RouteSegment {
        let base_id = |table: &Table| base.program().table_named(&table.name).unwrap_or(TableId(u32::MAX));
        let tables = rules.program().tables.iter().map(base_id).collect();
        let (routes, sequences): (Vec<_>, Vec<_>) = routes.into_iter().unzip();
        RouteSegment::new(rules, tables, Some(sequences.into()), routes.into())
    }

    fn new(
        rules: Rules,
        tables: Arc<[TableId]>,
        sequences: Option<Box<[SequenceNumber]>>,
        routes: Arc<[Arc<Route>]>,
    ) -> RouteSegment {
        let chunk = rules.bytecode().chunk();
        let orders: Arc<[Vec<RuleId>]> =
            (0..chunk.tables.len()).map(|table| chunk.route_order(table).collect()).collect();
        let tombstones = Arc::new(Tombstones::new(orders.iter().map(Vec::len)));
        RouteSegment {
            rules,
            base_table_ids: tables,
            evaluation_orders: orders,
            sequence_numbers: sequences,
            tombstones,
            routes,
        }
    }

    /// Returns a copy whose routes have the sequence numbers `sequences` (numbers that order routes
    /// of equal priority). Precondition: the new numbers order the routes as before.
    pub fn with_sequence_numbers(&self, sequences: Box<[SequenceNumber]>) -> RouteSegment {
        RouteSegment { sequence_numbers: Some(sequences), ..self.clone() }
    }

    /// Converts the id of a table in the base (the rule set as last compiled in full) to the
    /// table's id in this segment. `None` if this segment does not contain the table.
    pub fn local_table(&self, table: TableId) -> Option<TableId> {
        match self.sequence_numbers {
            None => Some(table),
            Some(_) => {
                self.base_table_ids.iter().position(|known| *known == table).map(|at| TableId(at as u32))
            }
        }
    }

    /// Converts the id of a table in this segment to the table's id in the base (the rule set as
    /// last compiled in full).
    pub fn base_table(&self, table: TableId) -> TableId {
        self.base_table_ids.get(table.index()).copied().unwrap_or(table)
    }

    /// Returns the sequence number of a route, which orders routes of equal priority.
    pub fn sequence_number(&self, rule: RuleId) -> SequenceNumber {
        match &self.sequence_numbers {
            None => SequenceNumber::from(rule.0),
            Some(sequences) => sequences.get(rule.index()).copied().unwrap_or(FIRST_INSERTED_SEQUENCE),
        }
    }

    /// Returns the sort key of a route: its priority, then its sequence number.
    pub fn sort_key(&self, rule: RuleId) -> RouteSortKey {
        (Reverse(self.rules.program().rules[rule.index()].priority), self.sequence_number(rule))
    }

    /// Returns the table that a route jumps to (`goto`), as an id in the base (the rule set as last
    /// compiled in full). `None` if the route does not jump.
    pub fn goto_target(&self, rule: RuleId) -> Option<TableId> {
        match self.rules.program().rules[rule.index()].outcome {
            Outcome::Goto(to) => Some(self.base_table(to)),
            _ => None,
        }
    }

    /// Returns the number of routes of a table whose sort keys are less than `key`. `table` is the
    /// table's id in this segment.
    pub fn count_routes_before(&self, table: TableId, key: RouteSortKey) -> u32 {
        self.evaluation_order(table).partition_point(|rule| self.sort_key(*rule) < key) as u32
    }

    /// Returns the number of routes of a table whose sort keys are less than or equal to `key`.
    /// `table` is the table's id in this segment.
    pub fn count_routes_through(&self, table: TableId, key: RouteSortKey) -> u32 {
        self.evaluation_order(table).partition_point(|rule| self.sort_key(*rule) <= key) as u32
    }

    fn evaluation_order(&self, table: TableId) -> &[RuleId] {
        self.evaluation_orders.get(table.index()).map_or(&[], Vec::as_slice)
    }

    /// Marks a route as removed in snapshots (states that decisions read) of `version` and later.
    /// Does nothing for a route whose condition can never hold, because decisions do not search
    /// such routes.
    pub fn mark_removed(&self, rule: RuleId, version: u64) {
        let Some(info) = self.rules.program().rules.get(rule.index()) else {
            return broken_invariant!("the removed route {rule:?} is in its segment");
        };
        let index = self.count_routes_before(info.table, self.sort_key(rule));
        if self.evaluation_order(info.table).get(index as usize) == Some(&rule) {
            self.tombstones.mark_removed(info.table, index, version);
        }
    }
}
