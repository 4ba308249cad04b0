//! Refuses a call that would wait for itself: a function of the embedding program that is called by
//! a decision, and uses the history of the key for which it was called.

use super::{Events, Store, StoreError};
use std::cell::RefCell;

thread_local! {
    /// The histories that calls of this thread use: the address of the store, and the key.
    static IN_USE: RefCell<Vec<(usize, String)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with the earlier messages of a key, as [`Store::with_key`] does.
///
/// # Errors
/// If the store fails, or if the thread already works with the messages of the key.
pub(crate) fn with_key(
    store: &dyn Store,
    key: &str,
    work: &mut dyn FnMut(&mut Events),
) -> Result<(), StoreError> {
    let address = std::ptr::from_ref(store).cast::<()>() as usize;
    let is_in_use = |used: &(usize, String)| used.0 == address && used.1 == key;
    if IN_USE.with_borrow(|used| used.iter().any(is_in_use)) {
        return Err(StoreError::in_use());
    }
    IN_USE.with_borrow_mut(|used| used.push((address, key.to_owned())));
    // Also after a panic of the work.
    let _end = scopeguard::guard((), |()| IN_USE.with_borrow_mut(|used| drop(used.pop())));
    store.with_key(key, work)
}
