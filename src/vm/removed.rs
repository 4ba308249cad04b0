//! The routes that were removed from a rule set since it was compiled, and when: a decision that began
//! before still finds them.

use crate::sema::hir::TableId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// For each route of each table the version from which on it is gone; 0 while it is there. A table
/// without removed routes takes no room.
#[derive(Debug)]
pub(crate) struct Removed {
    tables: Box<[Table]>,
}

#[derive(Debug)]
struct Table {
    routes: usize,
    versions: OnceLock<Box<[AtomicU32]>>,
}

impl Removed {
    /// None yet, for tables of so many routes.
    pub(crate) fn new(routes: impl IntoIterator<Item = usize>) -> Removed {
        let tables = routes.into_iter().map(|routes| Table { routes, versions: OnceLock::new() });
        Removed { tables: tables.collect() }
    }

    /// Removes the route of that rank, from a version on.
    pub(crate) fn remove(&self, table: TableId, rank: u32, version: u32) {
        let Some(table) = self.tables.get(table.index()) else { return };
        let versions = table.versions.get_or_init(|| (0..table.routes).map(|_| AtomicU32::new(0)).collect());
        if let Some(cell) = versions.get(rank as usize) {
            cell.store(version, Ordering::Relaxed);
        }
    }

    /// Whether the route of that rank is gone as of a version. Who knows a version has synchronised
    /// with whoever made it.
    #[inline]
    pub(crate) fn holds(&self, table: TableId, rank: u32, version: u32) -> bool {
        let versions = self.tables.get(table.index()).and_then(|table| table.versions.get());
        let since = versions.and_then(|versions| versions.get(rank as usize));
        since.is_some_and(|since| (1..=version).contains(&since.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_gone_from_its_version_on() {
        let removed = Removed::new([2, 0]);
        removed.remove(TableId(0), 1, 3);
        removed.remove(TableId(1), 0, 1);
        removed.remove(TableId(7), 0, 1);
        let gone: Vec<bool> = (1..=4).map(|version| removed.holds(TableId(0), 1, version)).collect();
        assert_eq!(gone, [false, false, true, true]);
        assert!(!removed.holds(TableId(0), 0, 9) && !removed.holds(TableId(1), 0, 9));
    }
}
