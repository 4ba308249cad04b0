//! The signal that the decision log closes. It ends the pause before lines are sent to a server
//! again.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A signal that the decision log is being closed. The thread that writes the log can wait for the
/// signal.
#[derive(Default)]
pub(super) struct LogCloseSignal {
    is_closing: Mutex<bool>,
    changed: Condvar,
}

impl LogCloseSignal {
    /// Signals that the decision log is being closed, which ends all pauses.
    pub fn begin(&self) {
        *self.is_closing.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub fn is_closing(&self) -> bool {
        *self.is_closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the time `pause`, or until the decision log is being closed.
    pub fn pause(&self, pause: Duration) {
        let is_closing = self.is_closing.lock().unwrap_or_else(PoisonError::into_inner);
        // The result says which of the two came first, which the caller does not need.
        let _ = self.changed.wait_timeout_while(is_closing, pause, |is_closing| !*is_closing);
    }
}
