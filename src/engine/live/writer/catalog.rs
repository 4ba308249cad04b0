//! The catalog of live rules: the current routes by name, and the removed routes of the base. The
//! *base* is the rule set as last compiled in full; a *segment* is a group of routes compiled
//! together.

use super::super::base::BaseRules;
use super::super::declarations::table_name;
use super::super::error::UnknownStatement;
use super::super::route::{Route, RouteKey, RouteKeyRef};
use super::super::segment::{FIRST_INSERTED_SEQUENCE, RouteSegment, SequenceNumber};
use super::super::source_edits::RouteChanges;
use super::super::statement_ref::StatementHead;
use hashbrown::{HashMap, HashSet};
use rulec_sema::check::RouteUses;
use rulec_sema::hir::{RuleId, TableId};
use std::sync::Arc;

/// The location of a current route: its segment (group of routes compiled together), and its rule
/// id in the segment.
#[derive(Clone)]
pub(super) struct RouteLocation {
    pub segment: Arc<RouteSegment>,
    pub rule: RuleId,
}

impl RouteLocation {
    pub fn sequence_number(&self) -> SequenceNumber {
        self.segment.sequence_number(self.rule)
    }

    /// Returns the parsed route. `None` for a route of the last full compilation, because only
    /// inserted routes are kept in parsed form.
    pub fn route(&self) -> Option<&Arc<Route>> {
        self.segment.routes.get(self.rule.index())
    }

    fn has_route(&self, route: &Arc<Route>) -> bool {
        self.route().is_some_and(|known| Arc::ptr_eq(known, route))
    }
}

/// An index of the current routes by name: the routes of the last full compilation that were not
/// removed, and the inserted routes.
pub(super) struct RouteCatalog {
    pub base: Arc<BaseRules>,
    /// The routes that were inserted since the last full compilation and not removed since, by
    /// table and name.
    inserted_by_key: HashMap<RouteKey, RouteLocation>,
    removed_base_routes: HashSet<RuleId>,
    /// The number that the next inserted route gets; it orders routes of equal priority.
    next_sequence_number: SequenceNumber,
}

impl RouteCatalog {
    pub fn new(base: BaseRules) -> RouteCatalog {
        RouteCatalog {
            base: Arc::new(base),
            inserted_by_key: HashMap::new(),
            removed_base_routes: HashSet::new(),
            next_sequence_number: FIRST_INSERTED_SEQUENCE,
        }
    }

    /// True if an edit removed or replaced a route of the last full compilation.
    pub fn has_removed_base_routes(&self) -> bool {
        !self.removed_base_routes.is_empty()
    }

    pub fn find_route(&self, table: TableId, name: &str) -> Option<RouteLocation> {
        if let Some(location) = self.inserted_by_key.get(&RouteKeyRef(table, name)) {
            return Some(location.clone());
        }
        let rule = self.base.route_named(table, name).filter(|id| !self.removed_base_routes.contains(id))?;
        Some(RouteLocation { segment: Arc::clone(&self.base.segment), rule })
    }

    /// Returns the location of a route that an edit replaces or removes.
    ///
    /// # Errors
    /// If there is no such route; the error suggests similar names.
    pub fn find_existing_route(
        &self,
        table: TableId,
        route: StatementHead<'_>,
    ) -> Result<RouteLocation, UnknownStatement> {
        self.find_route(table, route.name).ok_or_else(|| {
            let base_names = self.base.route_ids_by_name.get(table.index()).into_iter().flatten();
            let base_names =
                base_names.filter(|(_, id)| !self.removed_base_routes.contains(*id)).map(|(name, _)| &**name);
            let inserted_names =
                self.inserted_by_key.keys().filter(|(other, _)| *other == table).map(|(_, name)| &**name);
            let other_kind = self.base.declarations.head_named(route.name);
            UnknownStatement::new(
                route,
                table_name(&self.base.rules, table),
                base_names.chain(inserted_names),
                other_kind,
            )
        })
    }

    /// Returns the undeclared message fields that a route reads, with the kinds of value that it
    /// accepts in them. `None` for a route of the last full compilation if the rules declare
    /// `input`: its uses are not recorded, because the fields are declared.
    pub fn field_uses_of(&self, location: &RouteLocation) -> Option<Arc<RouteUses>> {
        match location.route() {
            Some(route) => Some(Arc::clone(&route.field_uses)),
            None => self.base.field_uses.get(self.base.rules.program().rules[location.rule.index()].span),
        }
    }

    /// True if an inserted route is current: neither removed nor replaced.
    pub fn is_current(&self, route: &Arc<Route>) -> bool {
        self.inserted_by_key.get(&route.key()).is_some_and(|location| location.has_route(route))
    }

    /// Adds a route to the catalog, under its name. `segment` is the group of inserted routes that
    /// contains it, and `rule` is its id in this segment.
    pub fn register_route(&mut self, segment: &Arc<RouteSegment>, rule: RuleId) {
        let location = RouteLocation { segment: Arc::clone(segment), rule };
        self.inserted_by_key.insert(segment.routes[rule.index()].key(), location);
    }

    /// Removes a current route from the catalog, and returns its table and name.
    pub fn remove_route(&mut self, table: TableId, location: &RouteLocation) -> RouteKey {
        let RouteLocation { segment, rule } = location;
        let key = (table, segment.rules.program().rules[rule.index()].name.clone());
        match location.route() {
            Some(_) => drop(self.inserted_by_key.remove(&key)),
            None => drop(self.removed_base_routes.insert(*rule)),
        }
        key
    }

    pub fn next_sequence_number(&self) -> SequenceNumber {
        self.next_sequence_number
    }

    /// Reserves the sequence number for a new route and returns it. The number is greater than all
    /// earlier ones, so the route comes after all others of its priority.
    pub fn reserve_sequence_number(&mut self) -> SequenceNumber {
        self.next_sequence_number += 1;
        self.next_sequence_number - 1
    }

    /// Installs another base (rule set compiled in full) and removes all inserted routes from the
    /// catalog. `removed_base_routes` are routes of the new base that edits removed or replaced
    /// while it was compiled. Returns the old catalog.
    pub fn replace_base(&mut self, base: BaseRules, removed_base_routes: HashSet<RuleId>) -> RouteCatalog {
        let next_sequence = self.next_sequence_number;
        let new_catalog = RouteCatalog {
            removed_base_routes,
            next_sequence_number: next_sequence,
            ..RouteCatalog::new(base)
        };
        std::mem::replace(self, new_catalog)
    }

    /// Returns the current routes that were inserted since the last full compilation.
    fn inserted_routes(&self) -> impl Iterator<Item = (&Arc<Route>, SequenceNumber)> {
        self.inserted_by_key
            .values()
            .filter_map(|location| Some((location.route()?, location.sequence_number())))
    }

    /// Returns the current routes of the given segments (groups of inserted routes), ordered by
    /// their sequence numbers.
    pub fn inserted_routes_in(&self, segments: &[Arc<RouteSegment>]) -> Vec<(Arc<Route>, SequenceNumber)> {
        let numbered_routes = |segment: &RouteSegment| {
            let with_sequence = |(at, route)| (Arc::clone(route), segment.sequence_number(RuleId(at as u32)));
            segment.routes.iter().enumerate().map(with_sequence).collect::<Vec<_>>()
        };
        let mut routes: Vec<_> = segments.iter().flat_map(|segment| numbered_routes(segment)).collect();
        routes.retain(|(route, _)| self.is_current(route));
        routes.sort_by_key(|(_, sequence)| *sequence);
        routes
    }

    /// Returns the edits of routes since the last full compilation, as changes of the source texts.
    pub fn route_changes(&self) -> RouteChanges {
        self.route_changes_with(TableId(0), None, None)
    }

    /// Returns the edits of routes since the last full compilation, and one more edit: the text
    /// `new` replaces the route `old` of `table`. Without `old`, the text is appended to the table;
    /// without `new`, the route is only removed.
    pub fn route_changes_with(
        &self,
        table: TableId,
        old: Option<&RouteLocation>,
        new: Option<Arc<str>>,
    ) -> RouteChanges {
        let is_old = |route: &Arc<Route>| old.is_some_and(|old| old.has_route(route));
        let remaining_routes = self.inserted_routes().filter(|(route, _)| !is_old(route));
        let mut texts: Vec<(TableId, SequenceNumber, Arc<str>)> = remaining_routes
            .map(|(route, sequence)| (route.table, sequence, Arc::clone(&route.parsed.text)))
            .collect();
        let new_sequence = old.map_or(self.next_sequence_number, RouteLocation::sequence_number);
        texts.extend(new.map(|text| (table, new_sequence, text)));
        texts.sort_by_key(|(_, sequence, _)| *sequence);
        let mut removed = self.removed_base_routes.clone();
        removed.extend(old.filter(|old| old.route().is_none()).map(|old| old.rule));
        let mut changes = RouteChanges::default();
        for (table, sequence, text) in texts {
            // A route that replaces a base route has the rule id of the base route as its sequence
            // number.
            match u32::try_from(sequence) {
                Ok(id) => {
                    removed.remove(&RuleId(id));
                    changes.replaced.push((RuleId(id), text));
                }
                Err(_) => changes.appended.push((table, text)),
            }
        }
        changes.removed = removed.into_iter().collect();
        changes
    }
}
