//! A typed event bus inside one process. An event passes through the middleware in order; each
//! middleware may pass, change or stop the event. Then the event is added to the bounded queue of
//! every subscriber. The subscriber chooses what happens when its queue is full. Dropped events are
//! always reported, both to the publisher and to the subscriber.
//!
//! The bus does not interpret its events. To validate, enrich or filter events, write a middleware:
//! an async function from an event to a [`Flow`].

mod middleware;
mod queue;

pub use middleware::{Flow, MiddlewareError, MiddlewareResult, StopReason, Stopped};
pub use queue::{Policy, RecvError, Subscription};

use super::task::{self, TaskFailure, UserFunction};
use queue::{EventQueue, SendOutcome};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::coop::consume_budget;

/// A bus for events of one type. Cheap to clone; clones share middleware and subscribers.
/// ```
/// use rulec_runtime::events::{Bus, Flow, Policy};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// #[derive(Clone, Debug, PartialEq)]
/// enum Event {
///     Made(i64),
///     Approved(i64),
/// }
///
/// let bus = Bus::builder()
///     .middleware("judge", |event: Event| async move {
///         match event {
///             Event::Made(n) if n > 100 => Flow::Stop(format!("{n} is too much")),
///             Event::Made(n) => Flow::Pass(Event::Approved(n)),
///             other => Flow::Pass(other),
///         }
///     })
///     .build();
/// let mut inbox = bus.subscribe(16, Policy::Wait);
///
/// let published = bus.publish(Event::Made(7)).await;
/// assert_eq!(published.delivered, 1);
/// assert_eq!(inbox.recv().await, Ok(Event::Approved(7)));
///
/// let published = bus.publish(Event::Made(700)).await;
/// assert_eq!(published.stopped_by.unwrap().to_string(), "`judge` stopped the event: 700 is too much");
/// # }
/// ```
pub struct Bus<E> {
    inner: Arc<EventBusInner<E>>,
}

/// The name of a middleware, and its function.
type NamedMiddleware<E> = (String, UserFunction<E, Flow<E>>);

struct EventBusInner<E> {
    /// The current list of middleware. [`Bus::add_middleware`] replaces the whole list, so an event
    /// that already passes through the old list is not affected.
    middleware: Mutex<Arc<[NamedMiddleware<E>]>>,
    middleware_time_limit: Option<Duration>,
    subscribers: Mutex<Vec<Arc<EventQueue<E>>>>,
}

/// The middleware and the time limit from which a [`Bus`] is built.
#[must_use]
pub struct BusBuilder<E> {
    middleware: Vec<NamedMiddleware<E>>,
    middleware_time_limit: Option<Duration>,
}

/// How a published event was delivered to the subscribers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Number of subscribers whose queue received the event.
    pub delivered: usize,
    /// Number of subscribers whose full queue dropped an event: this event under
    /// [`Policy::DropNewest`], an older one under [`Policy::DropOldest`].
    pub dropped: usize,
    /// The middleware that stopped the event, if any. A stopped event reaches no subscriber.
    pub stopped_by: Option<Stopped>,
}

impl<E> Clone for Bus<E> {
    fn clone(&self) -> Self {
        Bus { inner: self.inner.clone() }
    }
}

impl<E> fmt::Debug for Bus<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let middleware = self.inner.middleware();
        let names: Vec<&String> = middleware.iter().map(|(name, _)| name).collect();
        f.debug_struct("Bus").field("middleware", &names).finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for BusBuilder<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BusBuilder({} middleware)", self.middleware.len())
    }
}

impl<E: Clone + Send + 'static> BusBuilder<E> {
    /// Appends a middleware: an async function or closure that converts an event to a [`Flow`], or
    /// to a `Result` of a `Flow`. A middleware that fails or panics stops only the current event.
    /// `name` identifies the middleware in [`Stopped`].
    pub fn middleware<F, Fut>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(E) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: MiddlewareResult<E>> + Send + 'static,
    {
        self.middleware.push((name.into(), task::box_function(function, MiddlewareResult::into_result)));
        self
    }

    /// Sets the time limit of each middleware call. A call that exceeds the limit is aborted, and
    /// its event is stopped. Default: no limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.middleware_time_limit = Some(limit);
        self
    }

    /// Builds the event bus, which has no subscribers yet.
    pub fn build(self) -> Bus<E> {
        let middleware = Mutex::new(self.middleware.into());
        Bus {
            inner: Arc::new(EventBusInner {
                middleware,
                middleware_time_limit: self.middleware_time_limit,
                subscribers: Mutex::default(),
            }),
        }
    }
}

impl<E: Clone + Send + 'static> Bus<E> {
    /// Starts building an event bus, to which middleware can be added.
    pub fn builder() -> BusBuilder<E> {
        BusBuilder { middleware: Vec::new(), middleware_time_limit: None }
    }

    /// Appends a middleware to a bus that may already be in use; see [`BusBuilder::middleware`].
    /// Events that were published before are not affected.
    pub fn add_middleware<F, Fut>(&self, name: impl Into<String>, function: F)
    where
        F: Fn(E) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: MiddlewareResult<E>> + Send + 'static,
    {
        let added = (name.into(), task::box_function(function, MiddlewareResult::into_result));
        let mut middleware = self.inner.middleware.lock().unwrap_or_else(PoisonError::into_inner);
        *middleware = middleware.iter().cloned().chain([added]).collect();
    }

    /// Subscribes to all events published from now on. The subscriber receives each event as the
    /// middleware returned it. The subscriber's queue has room for `capacity` events, at least 1.
    /// `policy` decides what happens when the queue is full. To unsubscribe, drop the returned
    /// value.
    pub fn subscribe(&self, capacity: usize, policy: Policy) -> Subscription<E> {
        let queue = Arc::new(EventQueue::new(capacity, policy));
        let mut queues = self.inner.lock_queues();
        queues.retain(|queue| !queue.has_no_subscriber());
        queues.push(queue.clone());
        Subscription::new(queue)
    }

    /// Returns the current number of subscribers of this bus.
    pub fn subscribers(&self) -> usize {
        self.inner.lock_queues().iter().filter(|queue| !queue.has_no_subscriber()).count()
    }

    /// Sends an event through the middleware and to all subscribers. Waits for the middleware, and
    /// for room in full queues under [`Policy::Wait`]. Subscribers whose queues have room receive
    /// the event before that wait begins. Events published by one task arrive in their order of
    /// publication.
    ///
    /// Must run inside a tokio runtime if the bus has middleware. If the returned future is
    /// dropped, running middleware is aborted, and subscribers without room do not receive the
    /// event.
    pub async fn publish(&self, event: E) -> Published {
        match self.pass_middleware(event).await {
            Ok(event) => self.deliver(event).await,
            Err(stopped) => Published { stopped_by: Some(stopped), ..Published::default() },
        }
    }

    /// Sends the event through all middleware, and returns the event that the last middleware
    /// returned. This method does the first half of [`Bus::publish`]. The error names the
    /// middleware that stopped the event.
    pub(super) async fn pass_middleware(&self, event: E) -> Result<E, Stopped> {
        // Yields to other tasks when one task publishes without end.
        consume_budget().await;
        let result = self.run_middleware(event).await;
        if let Err(stopped) = &result {
            // The log omits the reason, because the reason may quote the event.
            let middleware = &*stopped.middleware;
            match stopped.reason {
                StopReason::Stopped(_) => {
                    tracing::debug!(target: "rulec::events", middleware, "event stopped");
                }
                _ => tracing::warn!(target: "rulec::events", middleware, "middleware failed"),
            }
        }
        result
    }

    /// Adds the event to the queues of all subscribers, without middleware. This method does the
    /// second half of [`Bus::publish`].
    pub(super) async fn deliver(&self, event: E) -> Published {
        let mut published = Published::default();
        let mut count_outcome = |outcome| match outcome {
            SendOutcome::Queued => published.delivered += 1,
            SendOutcome::QueuedAfterDrop => {
                published.delivered += 1;
                published.dropped += 1;
            }
            SendOutcome::Dropped => published.dropped += 1,
            SendOutcome::Closed => {}
        };
        let queues = self.inner.open_queues();
        let mut full_queues = Vec::new();
        for queue in &queues {
            // Cloned before any lock is taken, because `clone` is user code.
            match queue.try_send(event.clone()) {
                Ok(outcome) => count_outcome(outcome),
                Err(event) => full_queues.push((queue, event)),
            }
        }
        for (queue, event) in full_queues {
            count_outcome(queue.send_when_free(event).await);
        }
        published
    }

    async fn run_middleware(&self, mut event: E) -> Result<E, Stopped> {
        for (name, function) in self.inner.middleware().iter() {
            let reason = match task::call_function(self.inner.middleware_time_limit, function, event).await {
                Ok(Flow::Pass(changed_event)) => {
                    event = changed_event;
                    continue;
                }
                Ok(Flow::Stop(text)) => StopReason::Stopped(text),
                Err(TaskFailure::Failed(error)) => StopReason::Failed(error),
                Err(TaskFailure::TimedOut(limit)) => StopReason::TimedOut(limit),
                Err(TaskFailure::Panicked(message)) => StopReason::Panicked(message),
            };
            return Err(Stopped { middleware: name.clone(), reason });
        }
        Ok(event)
    }
}

impl<E> EventBusInner<E> {
    fn middleware(&self) -> Arc<[NamedMiddleware<E>]> {
        self.middleware.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock_queues(&self) -> std::sync::MutexGuard<'_, Vec<Arc<EventQueue<E>>>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the queues of all subscriptions. Queues of dropped subscriptions are removed from
    /// the bus first.
    fn open_queues(&self) -> Vec<Arc<EventQueue<E>>> {
        let mut queues = self.lock_queues();
        queues.retain(|queue| !queue.has_no_subscriber());
        queues.clone()
    }
}

impl<E> Drop for EventBusInner<E> {
    fn drop(&mut self) {
        for queue in self.lock_queues().drain(..) {
            queue.mark_bus_dropped();
        }
    }
}
