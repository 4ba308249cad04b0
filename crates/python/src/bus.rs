//! Python classes for the event bus of `rulec-runtime`. The bus delivers events of any Python class
//! to its subscribers.

use super::callback::{CallerLoop, to_typed_error};
use super::error::{library_error, message_error};
use super::events;
use super::message::mapping_entries;
use super::policy::duration_from_seconds;
use super::repr::count_with_noun;
use super::shutdown::{start_future, with_gil};
use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};
use rulec_runtime::events::{self as bus, Flow, MiddlewareError, Policy, RecvError};
use rulec_runtime::payload::DecisionEvent;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// A Python event of any class, which a bus delivers.
type PythonEvent = Arc<Py<PyAny>>;

/// A type of events that a bus can carry: any Python objects, or the events of a coordinator, which
/// checks the decisions of a language model.
pub trait Event: Clone + Send + Sync + 'static {
    fn from_python(event: &Bound<'_, PyAny>) -> PyResult<Self>;
    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl Event for PythonEvent {
    fn from_python(event: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Arc::new(event.clone().unbind()))
    }

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.clone_ref(py))
    }
}

impl Event for DecisionEvent {
    fn from_python(event: &Bound<'_, PyAny>) -> PyResult<Self> {
        events::from_python(event).ok_or_else(|| {
            let help = "a coordinator's bus takes the events of `rulec.agents`, such as `DecisionMade`";
            message_error(format!("{} is no event of a decision; {help}", event.get_type()))
        })
    }

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        events::to_python(py, self)
    }
}

/// The result by which a middleware stops an event, with the reason.
///
/// >>> Stop("too much").reason
/// 'too much'
#[pyclass(frozen, get_all, module = "rulec")]
pub struct Stop {
    /// The reason, which reports name.
    pub reason: String,
}

#[pymethods]
impl Stop {
    #[new]
    fn new(reason: String) -> Stop {
        Stop { reason }
    }

    fn __repr__(&self) -> String {
        format!("<Stop: {}>", self.reason)
    }
}

/// Calls a Python middleware with an event. The event that the function returns replaces the event.
/// If the function returns None, the event is unchanged. A returned `Stop` stops the event.
pub async fn call_middleware<E: Event>(
    caller: CallerLoop,
    function: Arc<Py<PyAny>>,
    event: E,
) -> Result<Flow<E>, MiddlewareError> {
    let unchanged = event.clone();
    let result = caller.call(&function, |py| Ok(event.into_python(py)?.into_bound(py))).await;
    with_gil(|py| {
        let flow = result.and_then(|result| {
            let result = result.bind(py);
            if let Ok(stop) = result.cast::<Stop>() {
                return Ok(Flow::Stop(stop.get().reason.clone()));
            }
            Ok(Flow::Pass(if result.is_none() { unchanged } else { E::from_python(result)? }))
        });
        flow.map_err(|error| to_typed_error(py, &error).into())
    })
}

/// Adds Python middleware to a bus that is being built. `middleware` maps names to functions, each
/// call of which may take at most `time_limit` seconds.
pub fn with_middleware<E: Event>(
    mut builder: bus::BusBuilder<E>,
    middleware: Option<&Bound<'_, PyMapping>>,
    time_limit: Option<f64>,
    caller: &CallerLoop,
) -> PyResult<bus::BusBuilder<E>> {
    for (name, function) in mapping_entries(middleware)? {
        let (function, caller) = (Arc::new(function.unbind()), caller.clone());
        builder =
            builder.middleware(name, move |event| call_middleware(caller.clone(), function.clone(), event));
    }
    Ok(match time_limit {
        Some(limit) => builder.time_limit(duration_from_seconds(limit)?),
        None => builder,
    })
}

/// How an event was delivered.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     return await Bus(middleware={"judge": lambda event: Stop("too much")}).publish(7)
/// >>> asyncio.run(main()).stopped_by
/// '`judge` stopped the event: too much'
#[pyclass(frozen, get_all, module = "rulec")]
pub struct Published {
    /// The number of subscribers whose queue received the event.
    delivered: usize,
    /// The number of subscribers whose full queue dropped an event.
    dropped: usize,
    /// A sentence with the name of the middleware that stopped the event, and the reason. None if
    /// no middleware stopped the event.
    stopped_by: Option<String>,
}

impl From<bus::Published> for Published {
    fn from(published: bus::Published) -> Published {
        let bus::Published { delivered, dropped, stopped_by } = published;
        Published { delivered, dropped, stopped_by: stopped_by.map(|stopped| stopped.to_string()) }
    }
}

#[pymethods]
impl Published {
    fn __repr__(&self) -> String {
        match &self.stopped_by {
            Some(stopped) => format!("<Published: {stopped}>"),
            None => format!("<Published: {} delivered, {} dropped>", self.delivered, self.dropped),
        }
    }
}

/// A bus of `rulec-runtime`. The variants differ in the type of the events that the bus carries.
enum AnyBus {
    Objects(bus::Bus<PythonEvent>),
    Decisions(bus::Bus<DecisionEvent>),
}

/// An event bus. An event passes through the middleware and is then queued for each subscriber.
///
/// `middleware` maps names to functions, which are called in order with each event. A middleware
/// returns a changed event, None to pass the event on, or a `Stop`. `time_limit` is the time limit
/// of one call in seconds.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     bus = Bus(middleware={"double": lambda event: event * 2})
/// ...     inbox = bus.subscribe()
/// ...     await bus.publish(7)
/// ...     return await anext(inbox)
/// >>> asyncio.run(main())
/// 14
#[pyclass(frozen, module = "rulec")]
pub struct Bus {
    bus: AnyBus,
    caller: CallerLoop,
}

impl Bus {
    /// Creates the Python object for the bus on which a coordinator publishes the decisions of a
    /// language model.
    pub fn of_decisions(bus: bus::Bus<DecisionEvent>, caller: CallerLoop) -> Bus {
        Bus { bus: AnyBus::Decisions(bus), caller }
    }
}

fn publish<'py, E: Event>(bus: &bus::Bus<E>, event: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (bus, py, event) = (bus.clone(), event.py(), E::from_python(event)?);
    start_future(py, async move { Ok(Published::from(bus.publish(event).await)) })
}

fn add_middleware<E: Event>(bus: &bus::Bus<E>, caller: CallerLoop, function: Arc<Py<PyAny>>, name: String) {
    bus.add_middleware(name, move |event| call_middleware(caller.clone(), function.clone(), event));
}

#[pymethods]
impl Bus {
    #[new]
    #[pyo3(signature = (*, middleware = None, time_limit = None))]
    fn new(middleware: Option<&Bound<'_, PyMapping>>, time_limit: Option<f64>) -> PyResult<Bus> {
        let caller = CallerLoop::default();
        let builder = with_middleware(bus::Bus::<PythonEvent>::builder(), middleware, time_limit, &caller)?;
        Ok(Bus { bus: AnyBus::Objects(builder.build()), caller })
    }

    /// Appends a middleware. Reports about stopped events name it by `name`, or by the name of the
    /// function.
    #[pyo3(signature = (function, *, name = None))]
    fn add_middleware(&self, function: &Bound<'_, PyAny>, name: Option<String>) {
        let own_name = || Ok::<_, PyErr>(function.getattr("__name__")?.str()?.to_string());
        let name = name.or_else(|| own_name().ok()).unwrap_or_else(|| "middleware".to_owned());
        let (function, caller) = (Arc::new(function.clone().unbind()), self.caller.clone());
        match &self.bus {
            AnyBus::Objects(bus) => add_middleware(bus, caller, function, name),
            AnyBus::Decisions(bus) => add_middleware(bus, caller, function, name),
        }
    }

    /// Sends an event through the middleware and to all subscribers. Waits for the middleware, and
    /// for room in full queues whose policy is `wait`.
    fn publish<'py>(&self, event: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.caller.store_running_loop(event.py())?;
        match &self.bus {
            AnyBus::Objects(bus) => publish(bus, event),
            AnyBus::Decisions(bus) => publish(bus, event),
        }
    }

    /// Subscribes to the events that are published from now on. `classes` selects events of these
    /// classes; empty selects all events. `policy` applies when `capacity` events are queued:
    /// `wait` makes the publisher wait, `drop_oldest` and `drop_newest` drop an event.
    #[pyo3(signature = (*classes, capacity = 1024, policy = "wait"))]
    fn subscribe(
        &self,
        classes: &Bound<'_, PyTuple>,
        capacity: usize,
        policy: &str,
    ) -> PyResult<Subscription> {
        let policy = match policy {
            "wait" => Policy::Wait,
            "drop_oldest" => Policy::DropOldest,
            "drop_newest" => Policy::DropNewest,
            other => {
                let help = "write `wait`, `drop_oldest` or `drop_newest`";
                return Err(library_error(format!("`{other}` is no policy of a queue; {help}")));
            }
        };
        let queue = match &self.bus {
            AnyBus::Objects(bus) => AnySubscription::Objects(bus.subscribe(capacity, policy)),
            AnyBus::Decisions(bus) => AnySubscription::Decisions(bus.subscribe(capacity, policy)),
        };
        let classes = (!classes.is_empty()).then(|| classes.clone().unbind());
        Ok(Subscription {
            queue: Arc::new(Mutex::new(Some(queue))),
            classes: Arc::new(classes),
            is_closed: watch::Sender::new(false),
        })
    }

    /// The current number of subscribers of this bus.
    #[getter]
    fn subscribers(&self) -> usize {
        match &self.bus {
            AnyBus::Objects(bus) => bus.subscribers(),
            AnyBus::Decisions(bus) => bus.subscribers(),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Bus: {}>", count_with_noun(self.subscribers(), "subscriber"))
    }
}

enum AnySubscription {
    Objects(bus::Subscription<PythonEvent>),
    Decisions(bus::Subscription<DecisionEvent>),
}

impl AnySubscription {
    async fn receive(&mut self) -> Result<PyResult<Py<PyAny>>, RecvError> {
        match self {
            AnySubscription::Objects(queue) => {
                queue.recv().await.map(|event| with_gil(|py| event.into_python(py)))
            }
            AnySubscription::Decisions(queue) => {
                queue.recv().await.map(|event| with_gil(|py| event.into_python(py)))
            }
        }
    }
}

/// A subscriber's queue: an async iterator. Where events were dropped, it raises `RulecError` once.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     bus = Bus()
/// ...     inbox = bus.subscribe(str)
/// ...     for event in (7, "seven"):
/// ...         await bus.publish(event)
/// ...     return await anext(inbox)
/// >>> asyncio.run(main())
/// 'seven'
#[pyclass(frozen, module = "rulec")]
pub struct Subscription {
    /// The subscription of the runtime; `None` after `close`.
    queue: Arc<Mutex<Option<AnySubscription>>>,
    /// The classes of the wanted events; `None` for all events.
    classes: Arc<Option<Py<PyTuple>>>,
    /// Set by `close`, so that it wakes a task that waits for an event.
    is_closed: watch::Sender<bool>,
}

#[pymethods]
impl Subscription {
    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Waits for the next event. The iteration ends when the bus no longer exists or the
    /// subscription is closed. If the queue has dropped events, raises `RulecError` once; the next
    /// call returns the next event.
    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (queue, classes) = (self.queue.clone(), self.classes.clone());
        let mut is_closed = self.is_closed.subscribe();
        start_future(py, async move {
            let mut queue = queue.lock().await;
            loop {
                let Some(open) = queue.as_mut() else { return Err(PyStopAsyncIteration::new_err(())) };
                let received = tokio::select! {
                    received = open.receive() => received,
                    _ = is_closed.wait_for(|is_closed| *is_closed) => Err(RecvError::Closed),
                };
                let event = match received {
                    Ok(event) => event?,
                    Err(RecvError::Closed) => return Err(PyStopAsyncIteration::new_err(())),
                    Err(error) => return Err(library_error(error)),
                };
                let wanted = with_gil(|py| match &*classes {
                    None => Ok(true),
                    Some(classes) => event.bind(py).is_instance(classes.bind(py)),
                });
                if wanted? {
                    return Ok(event);
                }
            }
        })
    }

    /// Ends the subscription, also for a task that waits for an event.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let queue = self.queue.clone();
        self.is_closed.send_replace(true);
        start_future(py, async move {
            drop(queue.lock().await.take());
            Ok(())
        })
    }

    fn __repr__(&self) -> String {
        let closed = self.queue.try_lock().is_ok_and(|queue| queue.is_none());
        format!("<Subscription{}>", if closed { ", closed" } else { "" })
    }
}
