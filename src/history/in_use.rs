//! Refuses a call that could wait for itself: a function of the embedding program that is called by
//! a decision, and uses a history. Two such decisions could wait for the keys of each other.

use super::{Events, Store, StoreError};
use std::cell::Cell;

thread_local! {
    /// Whether this thread works with the messages of a key.
    static IN_USE: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work` with the earlier messages of a key, as [`Store::with_key`] does.
///
/// # Errors
/// If the store fails, or if the thread already works with the messages of a key, of any store.
pub(crate) fn with_key(
    store: &dyn Store,
    key: &str,
    work: &mut dyn FnMut(&mut Events),
) -> Result<(), StoreError> {
    if IN_USE.replace(true) {
        return Err(StoreError::in_use());
    }
    // Also after a panic of the work.
    let _end = scopeguard::guard((), |()| IN_USE.set(false));
    store.with_key(key, work)
}
