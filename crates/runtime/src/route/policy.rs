//! The policy of a handler: how long it may take, how often it is tried, when it is left alone, and who takes over.

use backon::ExponentialBuilder;
use failsafe::backoff::{self, Constant};
use failsafe::failure_policy::{ConsecutiveFailures, consecutive_failures};
use failsafe::{Instrument, StateMachine};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// Pauses between attempts grow no longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// As good as for ever, and small enough to be added to any point in time.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The policy of a handler, which says what is done when it is slow or fails. Without one it is called once, for as
/// long as it takes.
///
/// ```
/// use rulec_runtime::route::Policy;
/// use std::time::Duration;
///
/// let policy = Policy::new()
///     .time_limit(Duration::from_secs(2))
///     .retries(2, Duration::from_millis(100))
///     .circuit(5, Duration::from_secs(30))
///     .fallback("ticket_queue");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Policy {
    pub(super) time_limit: Option<Duration>,
    pub(super) chain_limit: Option<Duration>,
    pub(super) retries: Option<(usize, Duration)>,
    pub(super) circuit: Option<(u32, Duration)>,
    pub(super) fallbacks: Vec<String>,
}

impl Policy {
    /// A policy that says nothing yet.
    pub fn new() -> Policy {
        Policy::default()
    }

    /// Sets how long one attempt may take before it is stopped.
    pub fn time_limit(mut self, limit: Duration) -> Policy {
        self.time_limit = Some(limit);
        self
    }

    /// Sets how long a message may take altogether, from the first attempt of this handler to the last of its fallbacks.
    /// A call under way is stopped then; a pause that would outlast it is not begun, and nobody else is asked. The limit
    /// of the handler that a route leads to is the one that counts, not those of its fallbacks.
    pub fn chain_limit(mut self, limit: Duration) -> Policy {
        self.chain_limit = Some(limit.min(LONGEST));
        self
    }

    /// Has a call that failed or took too long made again, so many times at most. Before each there is a pause,
    /// twice as long as the one before, up to a minute, and up to twice that by chance, so that not all come back at
    /// once. A handler that panics is not called again. The handler must bear being called twice for one message;
    /// [`Request::attempt`](super::Request::attempt) says which call it is.
    pub fn retries(mut self, times: usize, first_pause: Duration) -> Policy {
        self.retries = Some((times, first_pause.min(LONGEST)));
        self
    }

    /// Opens the handler's circuit after so many failures in a row, at least 1: for this time it is not called. Then
    /// one message tries whether it has recovered; a failure opens the circuit anew.
    pub fn circuit(mut self, failures: u32, open_for: Duration) -> Policy {
        self.circuit = Some((failures.max(1), open_for.min(LONGEST)));
        self
    }

    /// Names another handler that takes the message when this one has failed, took too long or its circuit is open.
    /// Called again it names the one after that. A fallback has a policy of its own, but its fallbacks are not asked.
    pub fn fallback(mut self, handler: impl Into<String>) -> Policy {
        self.fallbacks.push(handler.into());
        self
    }

    /// The pauses between attempts.
    pub(super) fn pauses(&self) -> Option<ExponentialBuilder> {
        let (times, first) = self.retries.filter(|(times, _)| *times > 0)?;
        let pauses = ExponentialBuilder::new().with_max_times(times).with_min_delay(first);
        Some(pauses.with_max_delay(LONGEST_PAUSE.max(first)).with_jitter())
    }
}

/// The state of a handler's circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// The handler is called.
    Closed,
    /// The handler is left alone.
    Open,
    /// One message tries whether it has recovered.
    HalfOpen,
}

/// A handler's circuit breaker.
pub(super) struct Circuit {
    machine: StateMachine<ConsecutiveFailures<Constant>, Watcher>,
    state: Arc<AtomicU8>,
    /// True while a message tries whether the handler has recovered: the library would let all of them try.
    trying: Arc<AtomicBool>,
}

impl Circuit {
    pub fn new(handler: &str, failures: u32, open_for: Duration) -> Circuit {
        let state = Arc::new(AtomicU8::new(CircuitState::Closed as u8));
        let watcher = Watcher { handler: handler.into(), state: state.clone() };
        let policy = consecutive_failures(failures, backoff::constant(open_for));
        Circuit { machine: StateMachine::new(policy, watcher), state, trying: Arc::default() }
    }

    pub fn state(&self) -> CircuitState {
        match self.state.load(Ordering::Relaxed) {
            state if state == CircuitState::Open as u8 => CircuitState::Open,
            state if state == CircuitState::HalfOpen as u8 => CircuitState::HalfOpen,
            _ => CircuitState::Closed,
        }
    }

    /// The leave to call the handler; `None` while the circuit is open.
    pub fn leave(&self) -> Option<Leave<'_>> {
        if !self.machine.is_call_permitted() {
            return None;
        }
        let trial = self.state() == CircuitState::HalfOpen;
        let taken = trial && self.trying.swap(true, Ordering::AcqRel);
        (!taken).then_some(Leave { circuit: self, trial })
    }
}

/// The leave to call a handler once.
pub(super) struct Leave<'c> {
    circuit: &'c Circuit,
    trial: bool,
}

impl Leave<'_> {
    pub fn ended(self, well: bool) {
        match well {
            true => self.circuit.machine.on_success(),
            false => self.circuit.machine.on_error(),
        }
    }
}

impl Drop for Leave<'_> {
    /// Also when whoever waited has gone: the next message tries.
    fn drop(&mut self) {
        if self.trial {
            self.circuit.trying.store(false, Ordering::Release);
        }
    }
}

/// Keeps the state of a circuit where it can be read, and tells of its changes.
struct Watcher {
    handler: Arc<str>,
    state: Arc<AtomicU8>,
}

impl Watcher {
    fn set(&self, state: CircuitState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

impl Instrument for Watcher {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        self.set(CircuitState::Open);
        tracing::warn!(target: "rulec::router", handler = &*self.handler, "the circuit of a handler is open");
    }

    fn on_half_open(&self) {
        self.set(CircuitState::HalfOpen);
        tracing::info!(target: "rulec::router", handler = &*self.handler, "a handler is tried again");
    }

    fn on_closed(&self) {
        // It begins closed, which is no news.
        if self.state.swap(CircuitState::Closed as u8, Ordering::Relaxed) != CircuitState::Closed as u8 {
            tracing::info!(target: "rulec::router", handler = &*self.handler, "a handler has recovered");
        }
    }
}
