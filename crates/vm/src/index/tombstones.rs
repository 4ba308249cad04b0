//! Tombstones: marks for the routes that were removed from a rule set after it was compiled, with
//! the version that removed them. A decision that uses an earlier version still finds these routes.

use rulec_sema::hir::TableId;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// For each route of each table, the version of the rule set that removed the route; 0 if the route
/// was not removed. A table without removed routes takes no memory for its routes.
#[derive(Debug)]
pub struct Tombstones {
    tables: Box<[RemovedRoutes]>,
}

#[derive(Debug)]
struct RemovedRoutes {
    route_count: usize,
    /// For each route, the version that removed it; 0 if the route was not removed. The list is
    /// allocated when the first route is removed.
    removal_versions: OnceLock<Box<[AtomicU64]>>,
}

impl Tombstones {
    /// Creates tombstones (marks of removed routes) for tables with the given numbers of routes. No
    /// route is marked yet.
    pub fn new(routes: impl IntoIterator<Item = usize>) -> Tombstones {
        let tables = routes
            .into_iter()
            .map(|route_count| RemovedRoutes { route_count, removal_versions: OnceLock::new() });
        Tombstones { tables: tables.collect() }
    }

    /// Marks the route at a rank (position) of a table as removed in `version` and all later
    /// versions.
    pub fn mark_removed(&self, table: TableId, rank: u32, version: u64) {
        let Some(table) = self.tables.get(table.index()) else { return };
        let versions = table
            .removal_versions
            .get_or_init(|| (0..table.route_count).map(|_| AtomicU64::new(0)).collect());
        if let Some(cell) = versions.get(rank as usize) {
            cell.store(version, Ordering::Relaxed);
        }
    }

    /// True if the route at a rank is removed in a version. A relaxed load suffices, because a
    /// thread that knows a version has synchronized with the thread that created the version.
    #[inline]
    pub fn is_removed(&self, table: TableId, rank: u32, version: u64) -> bool {
        self.removal_version(table, rank).is_some_and(|since| since <= version)
    }

    /// Returns the lowest rank (position in the table) in a range whose route is removed in a
    /// version. `None` if there is none.
    pub fn first_removed(&self, table: TableId, ranks: Range<u32>, version: u64) -> Option<u32> {
        let versions = self.tables.get(table.index())?.removal_versions.get()?;
        let cells = versions.get(ranks.start as usize..ranks.end as usize)?;
        let is_removed_by = |cell: &AtomicU64| (1..=version).contains(&cell.load(Ordering::Relaxed));
        Some(ranks.start + cells.iter().position(is_removed_by)? as u32)
    }

    /// Returns the version that removed the route at a rank (position in the table); `None` if the
    /// route was not removed.
    #[inline]
    pub fn removal_version(&self, table: TableId, rank: u32) -> Option<u64> {
        let versions = self.tables.get(table.index())?.removal_versions.get()?;
        Some(versions.get(rank as usize)?.load(Ordering::Relaxed)).filter(|since| *since > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_removed_from_its_version_on() {
        let tombstones = Tombstones::new([2, 0]);
        tombstones.mark_removed(TableId(0), 1, 3);
        tombstones.mark_removed(TableId(1), 0, 1);
        tombstones.mark_removed(TableId(7), 0, 1);
        let gone: Vec<bool> = (1..=4).map(|version| tombstones.is_removed(TableId(0), 1, version)).collect();
        assert_eq!(gone, [false, false, true, true]);
        let first = |ranks: Range<u32>, version: u64| tombstones.first_removed(TableId(0), ranks, version);
        assert_eq!((first(0..2, 2), first(0..2, 3), first(0..1, 3)), (None, Some(1), None));
        assert!(!tombstones.is_removed(TableId(0), 0, 9) && !tombstones.is_removed(TableId(1), 0, 9));
    }
}
