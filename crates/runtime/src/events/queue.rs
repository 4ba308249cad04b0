//! A subscriber's queue: bounded, with a stated policy for when it is full.
//!
//! Tokio's own channels each know one policy (`mpsc` waits or refuses, `broadcast` drops the oldest
//! and rounds its capacity up), and none says where in the stream something is missing. Here a gap
//! has its place among the events, so the queue is a plain one; tokio's semaphore makes publishers
//! wait in the order they came, and its `Notify` wakes the subscriber.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};
use tokio::task::coop::consume_budget;

/// The treatment of an event when a subscriber's queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The publisher waits: nothing is ever dropped, and a subscriber that stops reading stops the
    /// publishers too.
    Wait,
    /// The oldest event in the queue makes room, for subscribers who care for the present.
    DropOldest,
    /// The new event is dropped, for subscribers who care for the beginning.
    DropNewest,
}

/// Why there is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecvError {
    /// At this place this many events were dropped; the next call goes on behind them.
    #[error("{0} events were dropped, since the queue was full")]
    Lagged(u64),
    /// The queue is empty now; from [`Subscription::try_recv`] only.
    #[error("there is no event yet")]
    Empty,
    /// The bus is gone and everything queued has been received.
    #[error("the bus is closed")]
    Closed,
}

/// The fate of an event at one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Queued,
    /// An older one was dropped for it.
    QueuedForAnother,
    Dropped,
    Closed,
}

pub(super) struct Queue<E> {
    capacity: usize,
    policy: Policy,
    state: Mutex<State<E>>,
    /// A permit for each free place; only [`Policy::Wait`] takes any.
    free: Semaphore,
    /// There is something to receive, or the end.
    arrived: Notify,
}

struct State<E> {
    /// The events, each with the number of those dropped just before it.
    events: VecDeque<(u64, E)>,
    /// The number dropped behind the last of them.
    dropped_behind: u64,
    dropped: u64,
    /// True when the side no longer uses the queue.
    bus_gone: bool,
    subscriber_gone: bool,
}

impl<E> Queue<E> {
    pub(super) fn new(capacity: usize, policy: Policy) -> Self {
        let capacity = capacity.clamp(1, Semaphore::MAX_PERMITS);
        Queue {
            capacity,
            policy,
            state: Mutex::new(State {
                events: VecDeque::new(),
                dropped_behind: 0,
                dropped: 0,
                bus_gone: false,
                subscriber_gone: false,
            }),
            free: Semaphore::new(capacity),
            arrived: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().subscriber_gone
    }

    /// Queues an event; gives it back when the publisher has to wait.
    pub(super) fn try_send(&self, event: E) -> Result<Sent, E> {
        if self.policy != Policy::Wait {
            return Ok(self.push(event));
        }
        match self.free.try_acquire() {
            Ok(place) => {
                // The subscriber gives it back when it takes the event out.
                place.forget();
                Ok(self.push(event))
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err(event),
            Err(tokio::sync::TryAcquireError::Closed) => Ok(Sent::Closed),
        }
    }

    /// Waits for room. Publishers get it in the order they came.
    pub(super) async fn send_when_free(&self, event: E) -> Sent {
        match self.free.acquire().await {
            Ok(place) => {
                place.forget();
                self.push(event)
            }
            Err(_) => Sent::Closed,
        }
    }

    fn push(&self, event: E) -> Sent {
        // An event is somebody else's type: it is dropped when the lock is free again.
        let mut evicted = None;
        let mut state = self.lock();
        let sent = if state.subscriber_gone {
            evicted = Some(event);
            Sent::Closed
        } else if state.events.len() < self.capacity {
            state.queue(event);
            Sent::Queued
        } else if self.policy == Policy::DropNewest {
            state.dropped += 1;
            state.dropped_behind += 1;
            evicted = Some(event);
            Sent::Dropped
        } else {
            if let Some((before, oldest)) = state.events.pop_front() {
                evicted = Some(oldest);
                state.dropped += 1;
                match state.events.front_mut() {
                    Some((dropped, _)) => *dropped += before + 1,
                    None => state.dropped_behind += before + 1,
                }
            }
            state.queue(event);
            Sent::QueuedForAnother
        };
        drop(state);
        drop(evicted);
        self.arrived.notify_one();
        sent
    }

    fn pop(&self) -> Result<E, RecvError> {
        let mut state = self.lock();
        let dropped = match state.events.front_mut() {
            Some((dropped, _)) => std::mem::take(dropped),
            None => std::mem::take(&mut state.dropped_behind),
        };
        if dropped > 0 {
            return Err(RecvError::Lagged(dropped));
        }
        match state.events.pop_front() {
            Some((_, event)) => {
                drop(state);
                if self.policy == Policy::Wait {
                    self.free.add_permits(1);
                }
                Ok(event)
            }
            None if state.bus_gone => Err(RecvError::Closed),
            None => Err(RecvError::Empty),
        }
    }

    pub(super) fn end(&self) {
        self.lock().bus_gone = true;
        self.arrived.notify_one();
    }
}

impl<E> State<E> {
    fn queue(&mut self, event: E) {
        let before = std::mem::take(&mut self.dropped_behind);
        self.events.push_back((before, event));
    }
}

/// A subscriber's end of its queue. Dropping it unsubscribes, and lets publishers go that wait for
/// room in it.
pub struct Subscription<E> {
    queue: Arc<Queue<E>>,
}

impl<E> Subscription<E> {
    pub(super) fn new(queue: Arc<Queue<E>>) -> Self {
        Subscription { queue }
    }

    /// The next event; waits for it. May be dropped while waiting without losing any.
    ///
    /// # Errors
    /// [`RecvError::Lagged`] at the place where events were dropped, [`RecvError::Closed`] when the
    /// bus is gone and everything queued has been received.
    pub async fn recv(&mut self) -> Result<E, RecvError> {
        // Lets others have their turn when there is always something to receive.
        consume_budget().await;
        loop {
            match self.queue.pop() {
                // A permit is kept when something arrives between looking and waiting.
                Err(RecvError::Empty) => self.queue.arrived.notified().await,
                other => return other,
            }
        }
    }

    /// The next event, if there is one now.
    ///
    /// # Errors
    /// As for [`Subscription::recv`], and [`RecvError::Empty`] when there is none yet.
    pub fn try_recv(&mut self) -> Result<E, RecvError> {
        self.queue.pop()
    }

    /// The number of events that wait to be received.
    pub fn len(&self) -> usize {
        self.queue.lock().events.len()
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of events that have been dropped in all, told by [`RecvError::Lagged`] already or not.
    pub fn dropped(&self) -> u64 {
        self.queue.lock().dropped
    }
}

impl<E> fmt::Debug for Subscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("policy", &self.queue.policy)
            .field("capacity", &self.queue.capacity)
            .field("len", &self.len())
            .field("dropped", &self.dropped())
            .finish()
    }
}

impl<E> Drop for Subscription<E> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.subscriber_gone = true;
        let events = std::mem::take(&mut state.events);
        drop(state);
        drop(events);
        self.queue.free.close();
    }
}
