//! A subscriber's queue of an event bus: bounded, with an explicit policy for when the queue is
//! full.
//!
//! Tokio's own channels each have one policy: `mpsc` waits or refuses; `broadcast` drops the oldest
//! event, reports the gap, and rounds its capacity up. No channel drops the newest event and
//! reports the gap. This queue is a `VecDeque` that stores with each event how many events were
//! dropped directly before it. Tokio's semaphore makes publishers wait in their order of arrival,
//! and its `Notify` wakes the subscriber.

use rulec_base::diag::Message;
use rulec_base::message;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};
use tokio::task::coop::consume_budget;

/// What happens to an event when a subscriber's queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The publisher waits. No event is ever dropped, but a subscriber that stops reading blocks
    /// the publishers.
    Wait,
    /// The oldest event in the queue is dropped, for subscribers that need the latest events.
    DropOldest,
    /// The new event is dropped, for subscribers that need the earliest events.
    DropNewest,
}

/// The reason why a call that receives an event returned no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub enum RecvError {
    /// Events were dropped between the last event that was received and the next one; contains
    /// their number. The next call returns the event after the gap.
    Lagged(u64),
    /// No event is queued now, but more events may arrive; only returned by
    /// [`Subscription::try_recv`].
    Empty,
    /// The bus was dropped and all queued events were received.
    Closed,
}

impl RecvError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            RecvError::Lagged(dropped) => {
                message!("{dropped} events were dropped, since the queue was full")
            }
            RecvError::Empty => message!("there is no event yet"),
            RecvError::Closed => message!("the bus is closed"),
        }
    }
}

/// The result of sending an event to a subscriber's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    Queued,
    /// The event was queued after the oldest queued event was dropped to make room.
    QueuedAfterDrop,
    /// The queue was full, and the policy dropped this event.
    Dropped,
    /// The subscriber has dropped its [`Subscription`], so no event can be queued.
    Closed,
}

pub(super) struct EventQueue<E> {
    capacity: usize,
    overflow_policy: Policy,
    state: Mutex<EventQueueState<E>>,
    /// Semaphore with one permit for each event that still fits in the queue. Used only under
    /// [`Policy::Wait`].
    free_slots: Semaphore,
    /// Wakes the subscriber when an event arrives or the bus is dropped.
    subscriber_wakeup: Notify,
}

struct EventQueueState<E> {
    /// The queued events. Each event is paired with the number of events that were dropped directly
    /// before it.
    events_with_gaps: VecDeque<(u64, E)>,
    /// Number of events dropped since the last event in `events_with_gaps` was queued.
    dropped_after_last_event: u64,
    /// Number of all events that the full queue has dropped so far.
    total_dropped_count: u64,
    /// Whether the event bus was dropped, so that no more events arrive.
    is_bus_dropped: bool,
    /// Whether the subscriber dropped its [`Subscription`], so that no more events are needed.
    is_subscription_dropped: bool,
}

impl<E> EventQueue<E> {
    pub(super) fn new(capacity: usize, policy: Policy) -> Self {
        let capacity = capacity.clamp(1, Semaphore::MAX_PERMITS);
        EventQueue {
            capacity,
            overflow_policy: policy,
            state: Mutex::new(EventQueueState {
                events_with_gaps: VecDeque::new(),
                dropped_after_last_event: 0,
                total_dropped_count: 0,
                is_bus_dropped: false,
                is_subscription_dropped: false,
            }),
            free_slots: Semaphore::new(capacity),
            subscriber_wakeup: Notify::new(),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, EventQueueState<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_no_subscriber(&self) -> bool {
        self.lock_state().is_subscription_dropped
    }

    /// Queues an event, or drops an event as the policy requires. Under [`Policy::Wait`], a full
    /// queue returns the event as the error, and the publisher must wait for room.
    pub(super) fn try_send(&self, event: E) -> Result<SendOutcome, E> {
        if self.overflow_policy != Policy::Wait {
            return Ok(self.push_by_policy(event));
        }
        match self.free_slots.try_acquire() {
            Ok(permit) => {
                // The subscriber adds the permit back when it takes the event out of the queue.
                permit.forget();
                Ok(self.push_by_policy(event))
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err(event),
            Err(tokio::sync::TryAcquireError::Closed) => Ok(SendOutcome::Closed),
        }
    }

    /// Waits until the queue has room, then queues the event. Waiting publishers get room in their
    /// order of arrival.
    pub(super) async fn send_when_free(&self, event: E) -> SendOutcome {
        match self.free_slots.acquire().await {
            Ok(permit) => {
                permit.forget();
                self.push_by_policy(event)
            }
            Err(_) => SendOutcome::Closed,
        }
    }

    fn push_by_policy(&self, event: E) -> SendOutcome {
        // An event is a user type, so it is dropped only after the lock is released.
        let mut evicted = None;
        let mut state = self.lock_state();
        let outcome = if state.is_subscription_dropped {
            evicted = Some(event);
            SendOutcome::Closed
        } else if state.events_with_gaps.len() < self.capacity {
            state.push_event(event);
            SendOutcome::Queued
        } else if self.overflow_policy == Policy::DropNewest {
            state.total_dropped_count += 1;
            state.dropped_after_last_event += 1;
            evicted = Some(event);
            SendOutcome::Dropped
        } else {
            if let Some((dropped_before, oldest)) = state.events_with_gaps.pop_front() {
                evicted = Some(oldest);
                state.total_dropped_count += 1;
                match state.events_with_gaps.front_mut() {
                    Some((dropped, _)) => *dropped += dropped_before + 1,
                    None => state.dropped_after_last_event += dropped_before + 1,
                }
            }
            state.push_event(event);
            SendOutcome::QueuedAfterDrop
        };
        drop(state);
        drop(evicted);
        self.subscriber_wakeup.notify_one();
        outcome
    }

    fn pop_oldest(&self) -> Result<E, RecvError> {
        let mut state = self.lock_state();
        let dropped = match state.events_with_gaps.front_mut() {
            Some((dropped, _)) => std::mem::take(dropped),
            None => std::mem::take(&mut state.dropped_after_last_event),
        };
        if dropped > 0 {
            return Err(RecvError::Lagged(dropped));
        }
        match state.events_with_gaps.pop_front() {
            Some((_, event)) => {
                drop(state);
                if self.overflow_policy == Policy::Wait {
                    self.free_slots.add_permits(1);
                }
                Ok(event)
            }
            None if state.is_bus_dropped => Err(RecvError::Closed),
            None => Err(RecvError::Empty),
        }
    }

    pub(super) fn mark_bus_dropped(&self) {
        self.lock_state().is_bus_dropped = true;
        self.subscriber_wakeup.notify_one();
    }
}

impl<E> EventQueueState<E> {
    fn push_event(&mut self, event: E) {
        let dropped_before = std::mem::take(&mut self.dropped_after_last_event);
        self.events_with_gaps.push_back((dropped_before, event));
    }
}

/// The receiving end of a subscriber's queue. Dropping the subscription removes the subscriber from
/// the bus, and releases publishers that wait for room in the queue.
pub struct Subscription<E> {
    queue: Arc<EventQueue<E>>,
}

impl<E> Subscription<E> {
    pub(super) fn new(queue: Arc<EventQueue<E>>) -> Self {
        Subscription { queue }
    }

    /// Waits for the next event and returns it. Cancel safe: dropping the future loses no event.
    ///
    /// # Errors
    /// [`RecvError::Lagged`] at a position where events were dropped; [`RecvError::Closed`] if the
    /// bus was dropped and all queued events were received.
    pub async fn recv(&mut self) -> Result<E, RecvError> {
        // Yields to other tasks when there is always an event to receive.
        consume_budget().await;
        loop {
            match self.queue.pop_oldest() {
                // `Notify` stores a permit if an event arrives between `pop` and `notified`, so the
                // wake-up is not lost.
                Err(RecvError::Empty) => self.queue.subscriber_wakeup.notified().await,
                result => return result,
            }
        }
    }

    /// Returns the next event without waiting.
    ///
    /// # Errors
    /// As for [`Subscription::recv`], and [`RecvError::Empty`] if no event is queued.
    pub fn try_recv(&mut self) -> Result<E, RecvError> {
        self.queue.pop_oldest()
    }

    /// Returns the number of events in the subscriber's queue.
    pub fn len(&self) -> usize {
        self.queue.lock_state().events_with_gaps.len()
    }

    /// True if the subscriber's queue contains no event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the total number of events that this subscriber's full queue has dropped. The number
    /// includes drops that [`RecvError::Lagged`] has not reported yet.
    pub fn dropped(&self) -> u64 {
        self.queue.lock_state().total_dropped_count
    }
}

impl<E> fmt::Debug for Subscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("policy", &self.queue.overflow_policy)
            .field("capacity", &self.queue.capacity)
            .field("len", &self.len())
            .field("dropped", &self.dropped())
            .finish()
    }
}

impl<E> Drop for Subscription<E> {
    fn drop(&mut self) {
        let mut state = self.queue.lock_state();
        state.is_subscription_dropped = true;
        let events = std::mem::take(&mut state.events_with_gaps);
        drop(state);
        drop(events);
        self.queue.free_slots.close();
    }
}
