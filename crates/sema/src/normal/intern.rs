//! Interning: equal nodes get the same id, so that an engine evaluates them only once.

use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};

/// Gives equal values the same id: the index in the vector that stores the value.
#[derive(Default)]
pub(super) struct ValueIds {
    /// The hash and the id of each value. Because of the stored hash, growing the table does not
    /// hash the values again; a value may be a long list.
    hashes_and_ids: HashTable<(u64, u32)>,
    hasher: foldhash::fast::RandomState,
}

impl ValueIds {
    /// Returns the id of a value. Adds the value to `values` if it is new; the bool is then true.
    pub(super) fn intern<T: Hash + Eq>(&mut self, value: T, values: &mut Vec<T>) -> (u32, bool) {
        let ValueIds { hashes_and_ids: table, hasher } = self;
        let hash = hasher.hash_one(&value);
        let is_same =
            |(stored_hash, id): &(u64, u32)| *stored_hash == hash && values.get(*id as usize) == Some(&value);
        if let Some((_, id)) = table.find(hash, is_same) {
            return (*id, false);
        }
        let id = values.len() as u32;
        table.insert_unique(hash, (hash, id), |(hash, _)| *hash);
        values.push(value);
        (id, true)
    }
}
