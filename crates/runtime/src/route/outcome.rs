//! The outcome of a message, which a router returns to the caller: the route, the handler, and how
//! the handler ended.

use rulec::Decision;
use rulec::InputViolation;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use std::fmt;
use std::time::Duration;

/// The outcome of a message. Serializes to the following object. The fields `requires`, `fallback`
/// and `tried` are added if they have values.
/// `{"entry":…,"route":…,"handler":…,"path":[…],"generation":…,"breaches":[…],"missing_args":[…],
/// "attempts":…,"result":…,"elapsed_us":…}`
///
/// The outcome contains no arguments. Parts of the message appear only if the handler's reply or
/// error quotes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Name of the table where the decision started.
    pub entry: String,
    /// Name of the selected route, or `default`; `None` if no route was selected.
    pub route: Option<String>,
    /// Name of the handler that the route selects; `None` if no route was selected.
    pub handler: Option<String>,
    /// The tables through which the decision jumped, from the first table to the table of the
    /// selected route, both included.
    pub path: Vec<String>,
    /// Generation (version number) of the rules that decided.
    pub generation: u64,
    /// The fields of the message that violate the `input` contract of the rules.
    pub breaches: Vec<InputViolation>,
    /// Names of the required arguments that had no value. The handler receives null for these
    /// arguments.
    pub missing_args: Vec<String>,
    /// The permissions that the handler requires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// Name of the fallback handler that was called last; `None` if no fallback was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Number of calls of the handler that was called last. More than one if this handler was
    /// retried.
    pub attempts: u32,
    /// The other handlers that were tried for this message and did not reply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Attempt>,
    /// How the handling of the message ended, with the reply or the error.
    pub result: HandlerOutcome,
    /// The time from the arrival of the message until its handler or last fallback ended. In JSON:
    /// microseconds.
    #[serde(rename = "elapsed_us", serialize_with = "serialize_microseconds")]
    pub elapsed: Duration,
}

/// A handler that was tried for a message and did not reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// Name of the handler that did not reply.
    pub handler: String,
    /// Number of calls of this handler, including retries. 0 if the handler was not called, because
    /// the sender lacks a permission or the circuit is open.
    pub attempts: u32,
    /// The result of the handler's last call, as a word; see [`HandlerOutcome::kind`].
    pub result: &'static str,
    /// The handler's error or panic message; `None` if the handler did not reply for another
    /// reason, such as a timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Attempt {
    pub(super) fn new(handler: &str, attempts: u32, ending: &HandlerOutcome) -> Attempt {
        let error = ending.error().map(str::to_owned);
        Attempt { handler: handler.to_owned(), attempts, result: ending.kind(), error }
    }
}

/// The result of handling a message. Serializes as `"no_route"`, or as an object with one key:
///
/// - `{"handled": reply}`
/// - `{"failed": {"route":…,"error":…}}`
/// - `{"timed_out": {"route":…,"after_us":…}}`
/// - `{"panicked": {"route":…,"message":…}}`
/// - `{"refused": {"route":…,"missing":[…]}}`
/// - `{"circuit_open": {"route":…}}`
/// - `{"invalid": {"error":…}}`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HandlerOutcome {
    /// The handler replied; contains the reply.
    Handled(Json),
    /// The handler returned an error.
    Failed {
        /// The route that selected the handler.
        route: String,
        /// The error's text, followed by its causes.
        error: String,
    },
    /// The handler was aborted at its own time limit, or at the total limit for the handler and its
    /// fallbacks.
    TimedOut {
        /// The route that selected the handler.
        route: String,
        /// The time limit that was exceeded. In JSON: microseconds.
        #[serde(rename = "after_us", serialize_with = "serialize_microseconds")]
        after: Duration,
    },
    /// The handler panicked.
    Panicked {
        /// The route that selected the handler.
        route: String,
        /// The panic's message.
        message: String,
    },
    /// The handler was not called, because the sender lacks permissions that the handler requires.
    Refused {
        /// The route that selected the handler.
        route: String,
        /// The permissions that the sender lacks.
        missing: Vec<String>,
    },
    /// The handler was not called, because its circuit breaker is open after failures.
    CircuitOpen {
        /// The route that selected the handler.
        route: String,
    },
    /// The message was not decided: the message is not an object, JSON cannot represent its value,
    /// or a hook before the decision failed.
    Invalid {
        /// The reason why the message was not decided.
        error: String,
    },
    /// No route matched and there is no default.
    #[default]
    NoRoute,
}

fn serialize_microseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(whole_microseconds(*duration))
}

fn whole_microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Outcome {
    /// Creates the outcome of a message that is decided and whose handler has not run yet.
    pub(super) fn from_decision(decision: &Decision) -> Outcome {
        Outcome {
            entry: decision.entry().to_owned(),
            route: decision.chosen().map(str::to_owned),
            handler: decision.target().map(str::to_owned),
            path: decision.path().into_iter().map(str::to_owned).collect(),
            generation: decision.generation(),
            breaches: decision.breaches().to_vec(),
            missing_args: decision.missing_args().map(str::to_owned).collect(),
            requires: decision.required_permissions().iter().map(ToString::to_string).collect(),
            ..Outcome::default()
        }
    }

    /// Returns the handler's reply; `None` if no handler replied.
    pub fn reply(&self) -> Option<&Json> {
        match &self.result {
            HandlerOutcome::Handled(reply) => Some(reply),
            _ => None,
        }
    }

    pub(super) fn elapsed_us(&self) -> u64 {
        whole_microseconds(self.elapsed)
    }
}

impl HandlerOutcome {
    pub(super) fn is_handled(&self) -> bool {
        matches!(self, HandlerOutcome::Handled(_))
    }

    /// Returns the name of this variant for logs and statistics: `handled`, `failed`, `timed_out`,
    /// `panicked`, `refused`, `circuit_open`, `invalid` or `no_route`.
    pub fn kind(&self) -> &'static str {
        match self {
            HandlerOutcome::Handled(_) => "handled",
            HandlerOutcome::Failed { .. } => "failed",
            HandlerOutcome::TimedOut { .. } => "timed_out",
            HandlerOutcome::Panicked { .. } => "panicked",
            HandlerOutcome::Refused { .. } => "refused",
            HandlerOutcome::CircuitOpen { .. } => "circuit_open",
            HandlerOutcome::Invalid { .. } => "invalid",
            HandlerOutcome::NoRoute => "no_route",
        }
    }

    /// Returns the handler's error or panic message, or the reason why the message was not decided.
    /// Otherwise `None`.
    pub fn error(&self) -> Option<&str> {
        match self {
            HandlerOutcome::Failed { error, .. } | HandlerOutcome::Invalid { error } => Some(error),
            HandlerOutcome::Panicked { message, .. } => Some(message),
            _ => None,
        }
    }
}

impl fmt::Display for HandlerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandlerOutcome::Handled(reply) => write!(f, "{reply}"),
            HandlerOutcome::Failed { route, error } => write!(f, "the handler of `{route}` failed: {error}"),
            HandlerOutcome::TimedOut { route, after } => {
                write!(f, "the handler of `{route}` was stopped after {after:?}")
            }
            HandlerOutcome::Panicked { route, message } => {
                write!(f, "the handler of `{route}` panicked: {message}")
            }
            HandlerOutcome::Refused { route, missing } => {
                let names: Vec<String> = missing.iter().map(|permission| format!("`{permission}`")).collect();
                write!(
                    f,
                    "the handler of `{route}` requires a permission that was not granted: {}",
                    names.join(", ")
                )
            }
            HandlerOutcome::CircuitOpen { route } => {
                write!(f, "the handler of `{route}` has failed before and is left alone for a while")
            }
            HandlerOutcome::Invalid { error } => write!(f, "the message was not decided: {error}"),
            HandlerOutcome::NoRoute => f.write_str("no route holds and there is no default"),
        }
    }
}
