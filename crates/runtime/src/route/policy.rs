//! The policy of a handler: what a router does if the handler is slow or fails. A policy sets time
//! limits, retries, a circuit breaker and fallbacks.

use backon::ExponentialBuilder;
use failsafe::backoff::{self, Constant};
use failsafe::failure_policy::{ConsecutiveFailures, consecutive_failures};
use failsafe::{Instrument, StateMachine};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// Longest pause before a retry of a handler.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(60);
/// Longest duration in a policy; a longer one is shortened to it. A year is practically unlimited,
/// but small enough to be added to the current time without overflow.
const MAX_POLICY_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);

/// The policy for a handler that is slow or fails. Without a policy, the handler is called once and
/// without a time limit.
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
    pub(super) attempt_time_limit: Option<Duration>,
    pub(super) chain_time_limit: Option<Duration>,
    /// The maximum number of retries, and the pause before the first one; `None` for no retries.
    pub(super) retry_count_and_pause: Option<(usize, Duration)>,
    /// The number of consecutive failures that opens the circuit, and how long it stays open.
    /// `None` if the handler has no circuit breaker.
    pub(super) circuit_failures_and_pause: Option<(u32, Duration)>,
    pub(super) fallbacks: Vec<String>,
}

impl Policy {
    /// Returns a policy that sets no limit, retry, circuit breaker or fallback.
    pub fn new() -> Policy {
        Policy::default()
    }

    /// Sets the time limit of one attempt, after which the attempt is aborted.
    pub fn time_limit(mut self, limit: Duration) -> Policy {
        self.attempt_time_limit = Some(limit);
        self
    }

    /// Sets the total time limit of a message, from the first attempt of this handler to the last
    /// attempt of its fallbacks. At the limit, a running call is aborted and no further fallback is
    /// called. A retry whose pause would exceed the limit is not made.
    ///
    /// Only the chain limit of the handler that the route names counts. Chain limits of its
    /// fallbacks are ignored.
    pub fn chain_limit(mut self, limit: Duration) -> Policy {
        self.chain_time_limit = Some(limit.min(MAX_POLICY_DURATION));
        self
    }

    /// Retries a call that failed or exceeded its time limit, at most `times` times. There is a
    /// pause before each retry. The pause doubles each time, up to one minute. To each pause, a
    /// random time of at most the same length is added, so that retries of several messages spread
    /// out.
    ///
    /// A handler that panics is not retried. The handler must tolerate repeated calls for one
    /// message; [`Request::attempt`](super::Request::attempt) is the number of the call.
    pub fn retries(mut self, times: usize, first_pause: Duration) -> Policy {
        self.retry_count_and_pause = Some((times, first_pause.min(MAX_POLICY_DURATION)));
        self
    }

    /// Adds a circuit breaker. The circuit opens after `failures` consecutive failures, at least 1.
    /// While the circuit is open, for the time `open_for`, the handler is not called. Then one
    /// message tests whether the handler has recovered. If the test call fails, the circuit opens
    /// again.
    pub fn circuit(mut self, failures: u32, open_for: Duration) -> Policy {
        self.circuit_failures_and_pause = Some((failures.max(1), open_for.min(MAX_POLICY_DURATION)));
        self
    }

    /// Adds a fallback: another handler that takes the message if this handler fails, times out,
    /// panics, or has an open circuit. Further calls of this method add further fallbacks, which
    /// are tried in order. While a fallback is called, its own policy applies, but without its own
    /// fallbacks.
    pub fn fallback(mut self, handler: impl Into<String>) -> Policy {
        self.fallbacks.push(handler.into());
        self
    }

    /// True if the policy has no effect: it sets no limit, no retry, no circuit breaker and no
    /// fallback.
    pub(super) fn has_no_settings(&self) -> bool {
        let limits = self.attempt_time_limit.is_some() || self.chain_time_limit.is_some();
        !limits
            && self.retry_count_and_pause.is_none()
            && self.circuit_failures_and_pause.is_none()
            && self.fallbacks.is_empty()
    }

    /// Returns the pauses before the retries of a handler; `None` if the policy has no retries.
    pub(super) fn retry_pauses(&self) -> Option<ExponentialBuilder> {
        let (times, first_pause) = self.retry_count_and_pause.filter(|(times, _)| *times > 0)?;
        let pauses = ExponentialBuilder::new().with_max_times(times).with_min_delay(first_pause);
        Some(pauses.with_max_delay(MAX_RETRY_PAUSE.max(first_pause)).with_jitter())
    }
}

/// The state of a handler's circuit breaker, which stops calls of the handler after repeated
/// failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// The circuit is closed: the handler is called as usual.
    Closed,
    /// The circuit is open after failures: the handler is not called.
    Open,
    /// The circuit was open for its full time: one message tests whether the handler has recovered.
    HalfOpen,
}

/// The circuit breaker of a handler, which stops calls of the handler after repeated failures.
pub(super) struct CircuitBreaker {
    state_machine: StateMachine<ConsecutiveFailures<Constant>, CircuitListener>,
    state: Arc<AtomicU8>,
    /// Whether a message is currently calling the handler to test whether it has recovered. The
    /// flag limits such tests to one message; the `failsafe` library would let all messages call
    /// the handler.
    is_test_running: Arc<AtomicBool>,
}

impl CircuitBreaker {
    pub fn new(handler: &str, failures: u32, open_for: Duration) -> CircuitBreaker {
        let state = Arc::new(AtomicU8::new(CircuitState::Closed as u8));
        let listener = CircuitListener { handler_name: handler.into(), state: state.clone() };
        let policy = consecutive_failures(failures, backoff::constant(open_for));
        CircuitBreaker {
            state_machine: StateMachine::new(policy, listener),
            state,
            is_test_running: Arc::default(),
        }
    }

    pub fn state(&self) -> CircuitState {
        match self.state.load(Ordering::Relaxed) {
            state if state == CircuitState::Open as u8 => CircuitState::Open,
            state if state == CircuitState::HalfOpen as u8 => CircuitState::HalfOpen,
            _ => CircuitState::Closed,
        }
    }

    /// Returns a permit to call the handler. `None` while the circuit is open, or while another
    /// message tests whether the handler has recovered.
    pub fn acquire_permit(&self) -> Option<CallPermit<'_>> {
        if !self.state_machine.is_call_permitted() {
            return None;
        }
        let is_test = self.state() == CircuitState::HalfOpen;
        let test_is_running = is_test && self.is_test_running.swap(true, Ordering::AcqRel);
        (!test_is_running).then_some(CallPermit { circuit: self, is_recovery_test: is_test })
    }
}

/// A permit to call a handler once, which its circuit breaker has granted.
pub(super) struct CallPermit<'c> {
    circuit: &'c CircuitBreaker,
    is_recovery_test: bool,
}

impl CallPermit<'_> {
    pub fn record_result(self, succeeded: bool) {
        match succeeded {
            true => self.circuit.state_machine.on_success(),
            false => self.circuit.state_machine.on_error(),
        }
    }
}

impl Drop for CallPermit<'_> {
    /// Ends the test call that shows whether the handler has recovered, even if the caller stopped
    /// waiting. The next message may then make another test call.
    fn drop(&mut self) {
        if self.is_recovery_test {
            self.circuit.is_test_running.store(false, Ordering::Release);
        }
    }
}

/// A listener of the circuit breaker. The listener stores each new state for
/// [`CircuitBreaker::state`], and logs the state.
struct CircuitListener {
    handler_name: Arc<str>,
    state: Arc<AtomicU8>,
}

impl CircuitListener {
    fn set_state(&self, state: CircuitState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

impl Instrument for CircuitListener {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        self.set_state(CircuitState::Open);
        tracing::warn!(target: "rulec::router", handler = &*self.handler_name, "the circuit of a handler is open");
    }

    fn on_half_open(&self) {
        self.set_state(CircuitState::HalfOpen);
        tracing::info!(target: "rulec::router", handler = &*self.handler_name, "a handler is tried again");
    }

    fn on_closed(&self) {
        // A new circuit is closed. This first state is not logged.
        if self.state.swap(CircuitState::Closed as u8, Ordering::Relaxed) != CircuitState::Closed as u8 {
            tracing::info!(target: "rulec::router", handler = &*self.handler_name, "a handler has recovered");
        }
    }
}
