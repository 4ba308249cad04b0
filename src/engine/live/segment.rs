//! Segments: rules compiled together, with their bytecode, an index where that is worth it, and
//! tombstones for the routes that were removed since. The base is one; every route that comes later is
//! one of its own until it is compiled together with others. All are searched alike.

use super::route::Route;
use crate::engine::Rules;
use rulec_sema::hir::{Outcome, RuleId, Table, TableId};
use rulec_vm::index::tombstones::Tombstones;
use std::cmp::Reverse;
use std::sync::Arc;

/// The place of a route among those of equal priority: a base route's own number, or one of
/// [`INSERTED`] and up.
pub(super) type Place = u64;
/// The first of the places behind all base routes.
pub(super) const INSERTED: Place = 1 << 32;

/// The place of a route among all routes of its table.
pub(super) type Key = (Reverse<i64>, Place);

/// Rules compiled together.
#[derive(Clone)]
pub(super) struct Segment {
    pub rules: Rules,
    /// The number in the base of each of its tables.
    tables: Arc<[TableId]>,
    /// The routes of each table that can hold, in the order they are tried.
    orders: Arc<[Vec<RuleId>]>,
    /// The place of each route; in the base that is its number.
    places: Option<Box<[Place]>>,
    /// The routes that were removed.
    pub tombstones: Arc<Tombstones>,
    /// Its routes as they were written, in a segment that came later.
    pub routes: Arc<[Arc<Route>]>,
}

impl Segment {
    pub fn base(rules: Rules) -> Segment {
        let tables = (0..rules.program().tables.len()).map(|table| TableId(table as u32)).collect();
        Segment::new(rules, tables, None, Arc::new([]))
    }

    /// One that came later, of the routes that stand in the rules in this order.
    pub fn young(rules: Rules, base: &Rules, routes: Vec<(Arc<Route>, Place)>) -> Segment {
        let named = |table: &Table| base.program().table_named(&table.name).unwrap_or(TableId(u32::MAX));
        let tables = rules.program().tables.iter().map(named).collect();
        let (routes, places): (Vec<_>, Vec<_>) = routes.into_iter().unzip();
        Segment::new(rules, tables, Some(places.into()), routes.into())
    }

    fn new(
        rules: Rules,
        tables: Arc<[TableId]>,
        places: Option<Box<[Place]>>,
        routes: Arc<[Arc<Route>]>,
    ) -> Segment {
        let chunk = rules.bytecode().chunk();
        let orders: Arc<[Vec<RuleId>]> =
            (0..chunk.tables.len()).map(|table| chunk.order(table).collect()).collect();
        let tombstones = Arc::new(Tombstones::new(orders.iter().map(Vec::len)));
        Segment { rules, tables, orders, places, tombstones, routes }
    }

    /// The same with its routes at other places, in the same order.
    pub fn moved(&self, places: Box<[Place]>) -> Segment {
        Segment { places: Some(places), ..self.clone() }
    }

    /// Its own number of a table of the base.
    pub fn local(&self, table: TableId) -> Option<TableId> {
        match self.places {
            None => Some(table),
            Some(_) => self.tables.iter().position(|known| *known == table).map(|at| TableId(at as u32)),
        }
    }

    /// The base's number of one of its tables.
    pub fn global(&self, table: TableId) -> TableId {
        self.tables.get(table.index()).copied().unwrap_or(table)
    }

    /// The place of a route among those of equal priority.
    pub fn place(&self, rule: RuleId) -> Place {
        match &self.places {
            None => Place::from(rule.0),
            Some(places) => places.get(rule.index()).copied().unwrap_or(INSERTED),
        }
    }

    /// The place of a route among all of its table.
    pub fn key(&self, rule: RuleId) -> Key {
        (Reverse(self.rules.program().rules[rule.index()].priority), self.place(rule))
    }

    /// The table that a route jumps to, by its number in the base.
    pub fn jump(&self, rule: RuleId) -> Option<TableId> {
        match self.rules.program().rules[rule.index()].outcome {
            Outcome::Goto(to) => Some(self.global(to)),
            _ => None,
        }
    }

    /// The number of routes of one of its tables before a key.
    pub fn before(&self, table: TableId, key: Key) -> u32 {
        self.order(table).partition_point(|rule| self.key(*rule) < key) as u32
    }

    /// The same with the one at the key.
    pub fn up_to(&self, table: TableId, key: Key) -> u32 {
        self.order(table).partition_point(|rule| self.key(*rule) <= key) as u32
    }

    fn order(&self, table: TableId) -> &[RuleId] {
        self.orders.get(table.index()).map_or(&[], Vec::as_slice)
    }

    /// Removes a route, from a version on. One that can never hold is not there anyway.
    pub fn remove(&self, rule: RuleId, version: u64) {
        let Some(info) = self.rules.program().rules.get(rule.index()) else { return };
        let rank = self.before(info.table, self.key(rule));
        if self.order(info.table).get(rank as usize) == Some(&rule) {
            self.tombstones.remove(info.table, rank, version);
        }
    }
}
