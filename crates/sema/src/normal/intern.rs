//! Numbers for distinct parts, so that equal ones are one.

use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};

/// Numbers for distinct values: their places in the vector that holds them.
#[derive(Default)]
pub(super) struct Ids {
    /// The hash of each value, which may be a long list, and its number.
    table: HashTable<(u64, u32)>,
    hasher: foldhash::fast::RandomState,
}

impl Ids {
    /// The place of a value, and whether it is new there.
    pub(super) fn intern<T: Hash + Eq>(&mut self, value: T, values: &mut Vec<T>) -> (u32, bool) {
        let Ids { table, hasher } = self;
        let hash = hasher.hash_one(&value);
        let same = |(known, id): &(u64, u32)| *known == hash && values.get(*id as usize) == Some(&value);
        if let Some((_, id)) = table.find(hash, same) {
            return (*id, false);
        }
        let id = values.len() as u32;
        table.insert_unique(hash, (hash, id), |(hash, _)| *hash);
        values.push(value);
        (id, true)
    }
}
