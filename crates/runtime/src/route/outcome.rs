//! The outcome of a message: the decision's facts and how its handler ended.

use rulec::Breach;
use rulec::Decision;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use std::fmt;
use std::time::Duration;

/// The outcome of a message. Serializes to
/// `{"entry":…,"route":…,"handler":…,"path":[…],"generation":…,"breaches":[…],"missing_args":[…],"attempts":…,"result":…,"elapsed_us":…}`,
/// with `requires`, `fallback` and `tried` where there are any;
/// it holds no arguments and, beside the handler's own reply or error, nothing of the message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// The entry decided by.
    pub entry: String,
    /// The chosen route's name, or `default`; `None` when nothing was chosen.
    pub route: Option<String>,
    /// The handler it leads to.
    pub handler: Option<String>,
    /// The tables from the entry to the one of the chosen route, both included.
    pub path: Vec<String>,
    /// The generation of the rules that decided.
    pub generation: u64,
    /// Promises of `input` that the message broke.
    pub breaches: Vec<Breach>,
    /// Required arguments that were missing and are null.
    pub missing_args: Vec<String>,
    /// The permissions that the handler requires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// The fallback that ended it, in place of the handler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The calls of the handler that ended it: more than one when it was tried again.
    pub attempts: u32,
    /// The handlers before it that did not reply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// The way it ended.
    pub result: Ending,
    /// The time from the message's arrival to its end, handler included; microseconds in JSON.
    #[serde(rename = "elapsed_us", serialize_with = "microseconds")]
    pub elapsed: Duration,
}

/// A handler that did not reply, after which another was asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Its name.
    pub handler: String,
    /// The number of its calls.
    pub attempts: u32,
    /// The kind of its end: see [`Ending::kind`].
    pub result: &'static str,
    /// Its failure, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Tried {
    pub(super) fn new(handler: &str, attempts: u32, ending: &Ending) -> Tried {
        let error = ending.error().map(str::to_owned);
        Tried { handler: handler.to_owned(), attempts, result: ending.kind(), error }
    }
}

/// The end of a message. Serializes as `"no_route"`, or an object of one key:
/// `{"handled": reply}`, `{"failed": {"route":…,"error":…}}`, `{"timed_out": {"route":…,"after_us":…}}`,
/// `{"panicked": {"route":…,"message":…}}`, `{"refused": {"route":…,"missing":[…]}}`, `{"circuit_open": {"route":…}}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// The handler replied.
    Handled(Json),
    /// The handler returned an error.
    Failed {
        /// The route that led to it.
        route: String,
        /// Its text, those of its causes after it.
        error: String,
    },
    /// The handler was stopped at its time limit, or at that of the whole chain.
    TimedOut {
        /// The route that led to it.
        route: String,
        /// The time it was given; microseconds in JSON.
        #[serde(rename = "after_us", serialize_with = "microseconds")]
        after: Duration,
    },
    /// The handler panicked.
    Panicked {
        /// The route that led to it.
        route: String,
        /// The message of its panic.
        message: String,
    },
    /// The sender has not all permissions that the handler requires, which was not called.
    Refused {
        /// The route that led to it.
        route: String,
        /// Those that are missing.
        missing: Vec<String>,
    },
    /// The handler's circuit is open after failures, and it was not called.
    CircuitOpen {
        /// The route that led to it.
        route: String,
    },
    /// No route held and no default answered.
    #[default]
    NoRoute,
}

fn microseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(whole_microseconds(*duration))
}

fn whole_microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Outcome {
    /// The decision's facts, before a handler has run.
    pub(super) fn undecided(decision: &Decision) -> Outcome {
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

    /// The handler's reply, when it gave one.
    pub fn reply(&self) -> Option<&Json> {
        match &self.result {
            Ending::Handled(reply) => Some(reply),
            _ => None,
        }
    }

    pub(super) fn elapsed_us(&self) -> u64 {
        whole_microseconds(self.elapsed)
    }
}

impl Ending {
    pub(super) fn is_reply(&self) -> bool {
        matches!(self, Ending::Handled(_))
    }

    /// `handled`, `failed`, `timed_out`, `panicked`, `refused`, `circuit_open` or `no_route`.
    pub fn kind(&self) -> &'static str {
        match self {
            Ending::Handled(_) => "handled",
            Ending::Failed { .. } => "failed",
            Ending::TimedOut { .. } => "timed_out",
            Ending::Panicked { .. } => "panicked",
            Ending::Refused { .. } => "refused",
            Ending::CircuitOpen { .. } => "circuit_open",
            Ending::NoRoute => "no_route",
        }
    }

    /// The handler's failure, in its own words.
    pub fn error(&self) -> Option<&str> {
        match self {
            Ending::Failed { error, .. } => Some(error),
            Ending::Panicked { message, .. } => Some(message),
            _ => None,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Handled(reply) => write!(f, "{reply}"),
            Ending::Failed { route, error } => write!(f, "the handler of `{route}` failed: {error}"),
            Ending::TimedOut { route, after } => {
                write!(f, "the handler of `{route}` was stopped after {after:?}")
            }
            Ending::Panicked { route, message } => {
                write!(f, "the handler of `{route}` panicked: {message}")
            }
            Ending::Refused { route, missing } => {
                let names: Vec<String> = missing.iter().map(|one| format!("`{one}`")).collect();
                write!(
                    f,
                    "the handler of `{route}` requires a permission that was not granted: {}",
                    names.join(", ")
                )
            }
            Ending::CircuitOpen { route } => {
                write!(f, "the handler of `{route}` has failed before and is left alone for a while")
            }
            Ending::NoRoute => f.write_str("no route holds and there is no default"),
        }
    }
}
