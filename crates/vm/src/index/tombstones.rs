//! The routes that were removed from a rule set since it was compiled, and when: a decision that began
//! before still finds them.

use rulec_sema::hir::TableId;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// For each route of each table the version from which on it is gone; 0 while it is there. A table
/// without removed routes takes no room.
#[derive(Debug)]
pub struct Tombstones {
    tables: Box<[Table]>,
}

#[derive(Debug)]
struct Table {
    routes: usize,
    versions: OnceLock<Box<[AtomicU64]>>,
}

impl Tombstones {
    /// None yet, for tables of so many routes.
    pub fn new(routes: impl IntoIterator<Item = usize>) -> Tombstones {
        let tables = routes.into_iter().map(|routes| Table { routes, versions: OnceLock::new() });
        Tombstones { tables: tables.collect() }
    }

    /// Removes the route of that rank, from a version on.
    pub fn remove(&self, table: TableId, rank: u32, version: u64) {
        let Some(table) = self.tables.get(table.index()) else { return };
        let versions = table.versions.get_or_init(|| (0..table.routes).map(|_| AtomicU64::new(0)).collect());
        if let Some(cell) = versions.get(rank as usize) {
            cell.store(version, Ordering::Relaxed);
        }
    }

    /// True when the route of that rank is gone as of a version. A thread that knows a version has synchronised
    /// with whoever made it.
    #[inline]
    pub fn covers(&self, table: TableId, rank: u32, version: u64) -> bool {
        self.since(table, rank).is_some_and(|since| since <= version)
    }

    /// The first rank of a range whose route is gone as of a version.
    pub fn first(&self, table: TableId, ranks: Range<u32>, version: u64) -> Option<u32> {
        let versions = self.tables.get(table.index())?.versions.get()?;
        let cells = versions.get(ranks.start as usize..ranks.end as usize)?;
        let is_gone = |cell: &AtomicU64| (1..=version).contains(&cell.load(Ordering::Relaxed));
        Some(ranks.start + cells.iter().position(is_gone)? as u32)
    }

    /// The version from which on the route of that rank is gone.
    #[inline]
    pub fn since(&self, table: TableId, rank: u32) -> Option<u64> {
        let versions = self.tables.get(table.index())?.versions.get()?;
        Some(versions.get(rank as usize)?.load(Ordering::Relaxed)).filter(|since| *since > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_gone_from_its_version_on() {
        let tombstones = Tombstones::new([2, 0]);
        tombstones.remove(TableId(0), 1, 3);
        tombstones.remove(TableId(1), 0, 1);
        tombstones.remove(TableId(7), 0, 1);
        let gone: Vec<bool> = (1..=4).map(|version| tombstones.covers(TableId(0), 1, version)).collect();
        assert_eq!(gone, [false, false, true, true]);
        let first = |ranks: Range<u32>, version: u64| tombstones.first(TableId(0), ranks, version);
        assert_eq!((first(0..2, 2), first(0..2, 3), first(0..1, 3)), (None, Some(1), None));
        assert!(!tombstones.covers(TableId(0), 0, 9) && !tombstones.covers(TableId(1), 0, 9));
    }
}
