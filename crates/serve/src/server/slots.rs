//! The slots of open connections, as many as the limit `connections` allows. If all slots are in
//! use, a new client gets the slot of a client that has no open request. So clients that open
//! connections and send nothing do not keep others from being served.

use super::activity::ConnectionActivity;
use rulec_base::broken_invariant;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Time between two searches for a connection that can be closed, while every connection has an
/// open request.
const PAUSE_BETWEEN_SEARCHES: Duration = Duration::from_millis(20);

/// The slots for connections, and the open connections that use them.
pub(super) struct ConnectionSlots {
    free_slots: Arc<Semaphore>,
    open: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    next_number: u64,
    activity_by_number: HashMap<u64, Arc<ConnectionActivity>>,
}

/// The slot of an open connection. Another connection may use the slot after this value is dropped.
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    connection_number: u64,
    activity: Arc<ConnectionActivity>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlots {
    pub fn new(count: usize) -> Arc<ConnectionSlots> {
        let free_slots = Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Arc::new(ConnectionSlots { free_slots, open: Mutex::default() })
    }

    /// Returns a slot for a new connection. If no slot is free, calls `on_full`, closes a
    /// connection without an open request, and waits for a slot.
    pub async fn take(self: &Arc<Self>, on_full: impl FnOnce()) -> ConnectionSlot {
        let permit = match self.free_slots.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                on_full();
                self.wait_for_slot().await
            }
        };
        let activity = ConnectionActivity::new();
        let mut open = self.lock_open();
        let number = open.next_number;
        open.next_number += 1;
        open.activity_by_number.insert(number, activity.clone());
        ConnectionSlot { slots: self.clone(), connection_number: number, activity, _permit: permit }
    }

    fn lock_open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection that [`ConnectionActivity::closing_order`] puts first. Does nothing if
    /// every connection has an open request.
    fn close_one(&self) {
        let open = self.lock_open();
        let activities = open.activity_by_number.values();
        let ordered = activities.filter_map(|activity| Some((activity.closing_order()?, activity)));
        if let Some((_, first)) = ordered.min_by_key(|(order, _)| *order) {
            first.request_close();
        }
    }

    async fn wait_for_slot(&self) -> OwnedSemaphorePermit {
        loop {
            self.close_one();
            let permit = self.free_slots.clone().acquire_owned();
            match tokio::time::timeout(PAUSE_BETWEEN_SEARCHES, permit).await {
                Ok(Ok(permit)) => return permit,
                Ok(Err(_)) => broken_invariant!("the semaphore of connections is never closed"),
                // Every connection had an open request. One of them may be idle now.
                Err(_) => {}
            }
        }
    }
}

impl ConnectionSlot {
    /// Returns the activity of the connection that uses this slot.
    pub fn activity(&self) -> &Arc<ConnectionActivity> {
        &self.activity
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.lock_open().activity_by_number.remove(&self.connection_number);
    }
}
