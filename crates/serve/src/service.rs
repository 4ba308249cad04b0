//! The core of the service, which does not depend on a protocol. Each protocol adapter reads a
//! request, calls this core, and writes the answer in the format of its protocol.

mod batch;
mod decide;
mod other;
mod overview;
mod request;
mod traffic;
mod why;

pub(crate) use batch::{BatchLayout, BatchRequest, BatchSettings, MessageBatch, MessageBlock};
pub use decide::{DecideRequest, DecisionWithAnswer};
pub(crate) use other::TestRequest;
#[cfg(feature = "grpc")]
pub(crate) use other::{AnalyzeRequest, JudgeRequest, ObserveRequest, WorkflowRequest};

use crate::limits::Limits;
use crate::log::DecisionLog;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::rules::RuleSet;
use arc_swap::ArcSwap;
use rulec_base::json;
use serde::de::Deserialize;
use std::sync::Arc;
use tokio::sync::watch;

/// The core of the service: the rule sets, the metrics, the limits and the decision log. Every
/// protocol adapter calls this core.
pub struct Service {
    sets: ArcSwap<Vec<Arc<RuleSet>>>,
    metrics: Metrics,
    limits: Limits,
    log: Option<Arc<DecisionLog>>,
    /// Whether the service was asked to stop, so that it takes no new work.
    stopping: watch::Sender<bool>,
}

impl Service {
    pub(crate) fn new(
        sets: Vec<Arc<RuleSet>>,
        metrics: Metrics,
        limits: Limits,
        log: Option<Arc<DecisionLog>>,
    ) -> Service {
        Service {
            sets: ArcSwap::from_pointee(sets),
            metrics,
            limits,
            log,
            stopping: watch::Sender::new(false),
        }
    }

    /// Returns all rule sets: first the sets of [`Options::rules`](crate::Options::rules), then the
    /// sets of folders.
    pub fn sets(&self) -> Arc<Vec<Arc<RuleSet>>> {
        self.sets.load_full()
    }

    /// Adds a rule set. The caller must check that no other rule set has the same name.
    pub(crate) fn add_set(&self, set: Arc<RuleSet>) {
        self.sets.rcu(|sets| sets.iter().cloned().chain([set.clone()]).collect::<Vec<_>>());
    }

    /// Removes the rule set named `name`. Requests that use it are still answered.
    pub(crate) fn remove_set(&self, name: &str) {
        self.sets.rcu(|sets| sets.iter().filter(|set| set.name() != name).cloned().collect::<Vec<_>>());
        self.metrics.forget_set(name);
    }

    /// Returns the rule set named `name`. Without a name, returns the only rule set.
    ///
    /// # Errors
    /// If no rule set has this name, or there is no name and several rule sets.
    pub fn rule_set(&self, name: Option<&str>) -> Result<Arc<RuleSet>, Problem> {
        let sets = self.sets.load();
        let names = || sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(", ");
        match (name, sets.as_slice()) {
            (None, [only]) => Ok(only.clone()),
            (None, _) => Err(Problem::unknown_rules(format!(
                "the service has several rules; choose some with `rules`: {}",
                names()
            ))),
            (Some(name), all) => all.iter().find(|set| set.name() == name).cloned().ok_or_else(|| {
                Problem::unknown_rules(format!("there are no rules `{name}`; there are {}", names()))
            }),
        }
    }

    /// Returns the configured limits of the service.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn log(&self) -> Option<&DecisionLog> {
        self.log.as_deref()
    }

    /// Asks each rule set to check soon whether its source has changed.
    pub fn check_rule_sources(&self) {
        self.sets.load().iter().for_each(|set| set.check_source());
    }

    /// Makes [`Service::is_ready`] return false, so that a load balancer sends no more requests.
    pub(crate) fn begin_stop(&self) {
        self.stopping.send_replace(true);
    }

    /// True until the service is asked to stop.
    pub fn is_ready(&self) -> bool {
        !*self.stopping.borrow()
    }

    /// Returns a receiver whose value becomes true when the service was asked to stop.
    #[cfg(feature = "grpc")]
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}

/// Parses the body of a request, which must be a JSON object, into the type `R`.
///
/// # Errors
/// If the body is not JSON, lacks a field, or has a field of another type. The error for invalid
/// JSON comes from the library `rulec`, and contains the position.
pub(crate) fn read_request<'b, R: Deserialize<'b>>(body: &'b [u8]) -> Result<R, Problem> {
    parse_object(body).or_else(|wrong| {
        json::parse_object_bytes(body)?;
        Err(Problem::invalid(wrong.error_text))
    })
}

/// The reason why a text is not the JSON object that was expected.
pub(crate) struct ObjectParseError {
    /// True if the text is JSON, but not the expected object.
    pub is_json: bool,
    pub error_text: String,
}

/// Parses a JSON object to the struct `R`.
pub(crate) fn parse_object<'b, R: Deserialize<'b>>(text: &'b [u8]) -> Result<R, ObjectParseError> {
    match serde_json::from_slice(text) {
        // Serde would also accept an array with the values of the fields.
        Ok(_) if text.trim_ascii_start().starts_with(b"[") => Err(ObjectParseError {
            is_json: true,
            error_text: "an array is given, but an object is expected".to_owned(),
        }),
        Ok(fields) => Ok(fields),
        Err(error) => Err(ObjectParseError {
            is_json: error.is_data(),
            error_text: without_type_names(&error.to_string()),
        }),
    }
}

/// Replaces the name of a Rust type in an error of the JSON parser, such as `struct ToolCall`, by
/// `an object`.
fn without_type_names(text: &str) -> String {
    let Some((before, after)) =
        ["struct ", "enum ", "tuple struct "].iter().find_map(|kind| text.split_once(kind))
    else {
        return text.to_owned();
    };
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let after = after.trim_start_matches(is_name);
    let counted = after
        .strip_prefix(" with ")
        .map(|after| after.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    let after = counted
        .and_then(|rest| rest.strip_prefix(" elements").or(rest.strip_prefix(" element")))
        .unwrap_or(after);
    format!("{before}an object{after}")
}
