//! Refuses nested uses of a history (the messages recorded earlier). A decision that reads a
//! history can call a function of the embedding program, which may use a history too. Two such
//! decisions could wait for each other for ever.

use super::{Events, Store, StoreError};
use std::cell::Cell;

thread_local! {
    /// Whether this thread is running a call of [`with_key`].
    static IS_HISTORY_IN_USE: Cell<bool> = const { Cell::new(false) };
}

/// Calls [`Store::with_key`], unless this thread is already inside such a call.
///
/// # Errors
/// If the store fails, or if this thread is already inside such a call, for any store.
pub(crate) fn with_key_unless_nested(
    store: &dyn Store,
    key: &str,
    work: &mut dyn FnMut(&mut Events),
) -> Result<(), StoreError> {
    if IS_HISTORY_IN_USE.replace(true) {
        return Err(StoreError::history_in_use_error());
    }
    // Resets the flag even if `work` panics.
    let _end = scopeguard::guard((), |()| IS_HISTORY_IN_USE.set(false));
    store.with_key(key, work)
}
