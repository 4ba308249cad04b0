//! Many short lists of numbers in little memory. Most lists of an index have one item: nearly every
//! literal is a key of its own. Such an item is stored in place of its list, which saves a memory
//! access. With many routes, each access misses the processor's cache.
//!
//! Measured in benches/notes/plain.md, "Layout of the index".

use std::slice;

/// One list of a [`PackedItems`]: the item of a list with one item, or where the items are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedList(u32);

/// Flag of a [`PackedList`]: the other bits are the position of the list's length in the shared
/// memory. The items follow the length.
const SHARED_FLAG: u32 = 1 << 31;

impl PackedList {
    pub const EMPTY: PackedList = PackedList(SHARED_FLAG);
}

/// The items of lists that have no item or several.
#[derive(Clone, Debug, Default)]
pub struct PackedItems(Vec<u32>);

impl PackedItems {
    /// Stores a list, and returns where it is.
    pub fn push_list(&mut self, items: &[u32]) -> PackedList {
        if self.0.is_empty() {
            // The empty list, to which `PackedList::EMPTY` refers.
            self.0.push(0);
        }
        match items {
            [] => PackedList::EMPTY,
            [item] if item & SHARED_FLAG == 0 => PackedList(*item),
            _ => {
                let list = PackedList(self.0.len() as u32 | SHARED_FLAG);
                self.0.push(items.len() as u32);
                self.0.extend_from_slice(items);
                list
            }
        }
    }

    /// Returns the items of a list.
    #[inline(always)]
    pub fn list<'l>(&'l self, list: &'l PackedList) -> &'l [u32] {
        if list.0 & SHARED_FLAG == 0 {
            return slice::from_ref(&list.0);
        }
        let start = (list.0 & !SHARED_FLAG) as usize;
        let items = self.0.get(start).and_then(|length| self.0.get(start + 1..)?.get(..*length as usize));
        items.unwrap_or_default()
    }
}

/// Many short lists of numbers, accessed by the index of a list.
#[derive(Clone, Debug, Default)]
pub struct PackedLists {
    lists: Vec<PackedList>,
    items: PackedItems,
}

impl PackedLists {
    /// Builds `count` lists from pairs of a list index and an item. Pairs with an index of `count`
    /// or more are left out.
    pub fn new(count: usize, mut items: Vec<(u32, u32)>) -> PackedLists {
        items.sort_unstable();
        let mut packed = PackedLists::default();
        if items.is_empty() {
            return packed;
        }
        packed.lists = vec![PackedList::EMPTY; count];
        let mut list_items = Vec::new();
        for same_list in items.chunk_by(|one, other| one.0 == other.0) {
            list_items.clear();
            list_items.extend(same_list.iter().map(|(_, item)| *item));
            if let Some(list) = packed.lists.get_mut(same_list[0].0 as usize) {
                *list = packed.items.push_list(&list_items);
            }
        }
        packed
    }

    /// Returns the list with the number `list`; an empty list if there is no such list.
    #[inline(always)]
    pub fn list(&self, list: u32) -> &[u32] {
        self.lists.get(list as usize).map_or(&[], |list| self.items.list(list))
    }

    /// Returns the items of all lists, one list after another.
    pub fn all_items(&self) -> impl Iterator<Item = &u32> {
        self.lists.iter().flat_map(|list| self.items.list(list))
    }

    /// True if all lists are empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists with no item, with one and with several, also with items that look like a flag.
    #[test]
    fn lists_have_the_items_that_were_packed() {
        let high = SHARED_FLAG | 7;
        let lists =
            PackedLists::new(6, vec![(4, high), (1, 5), (3, 9), (3, 2), (0, 0), (9, 1), (5, high), (5, 1)]);
        let expected: [&[u32]; 8] = [&[0], &[5], &[], &[2, 9], &[high], &[1, high], &[], &[]];
        for (number, items) in (0..).zip(expected) {
            assert_eq!(lists.list(number), items, "list {number}");
        }
        assert_eq!(lists.all_items().copied().collect::<Vec<_>>(), expected.concat());
        assert!(!lists.is_empty());
        let empty = PackedLists::new(3, Vec::new());
        assert!(empty.is_empty() && empty.list(1).is_empty() && empty.all_items().next().is_none());
    }
}
