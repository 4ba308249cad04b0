//! The signal that the decision log closes. It ends the pause before lines are sent to a server
//! again.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Whether the log closes. The thread that writes the log can wait for it.
#[derive(Default)]
pub(super) struct CloseSignal {
    is_closing: Mutex<bool>,
    changed: Condvar,
}

impl CloseSignal {
    /// Begins to close the log, and ends all pauses.
    pub fn begin(&self) {
        *self.is_closing.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub fn is_closing(&self) -> bool {
        *self.is_closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the time `pause`, or until the log closes.
    pub fn pause(&self, pause: Duration) {
        let is_closing = self.is_closing.lock().unwrap_or_else(PoisonError::into_inner);
        // The result says which of the two came first, which the caller does not need.
        let _ = self.changed.wait_timeout_while(is_closing, pause, |is_closing| !*is_closing);
    }
}
