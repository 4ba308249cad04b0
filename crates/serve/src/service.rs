//! The core of the service. Each door reads a request of its protocol, asks the core, and writes
//! the answer as its protocol wants it. The answers are the library's.

mod batch;
mod decide;
mod other;
mod overview;

pub(crate) use batch::{Batch, BatchRequest, BatchSettings, Block, Layout};
pub use decide::{DecideRequest, Decided};
#[cfg(feature = "grpc")]
pub(crate) use other::{AnalyzeRequest, JudgeRequest, ObserveRequest, WorkflowRequest};
pub(crate) use other::{MAX_STEPS, TestRequest};

use crate::limits::Limits;
use crate::log::DecisionLog;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::rules::RuleSet;
use rulec_base::json;
use serde::de::Deserialize;
use std::sync::Arc;
use tokio::sync::watch;

/// The rules in force, and what decides with them. Every door asks this core.
pub struct Service {
    sets: Vec<Arc<RuleSet>>,
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
        Service { sets, metrics, limits, log, stopping: watch::Sender::new(false) }
    }

    /// Returns all rule sets, in the order in which they were given.
    pub fn sets(&self) -> &[Arc<RuleSet>] {
        &self.sets
    }

    /// Returns the rules of this name. Without a name, returns the only rules.
    ///
    /// # Errors
    /// If there are no such rules, or several and no name.
    pub fn set(&self, name: Option<&str>) -> Result<&Arc<RuleSet>, Problem> {
        let names = || self.sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(", ");
        match (name, self.sets.as_slice()) {
            (None, [only]) => Ok(only),
            (None, _) => Err(Problem::unknown_rules(format!(
                "the service has several rules; choose some with `rules`: {}",
                names()
            ))),
            (Some(name), sets) => sets.iter().find(|set| set.name() == name).ok_or_else(|| {
                Problem::unknown_rules(format!("there are no rules `{name}`; there are {}", names()))
            }),
        }
    }

    /// Returns the limits of the service.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn log(&self) -> Option<&DecisionLog> {
        self.log.as_deref()
    }

    /// Looks soon whether the sources of the rules have changed.
    pub fn reload(&self) {
        self.sets.iter().for_each(|set| set.check_source());
    }

    /// Makes the service not ready, so that a load balancer sends no new work.
    pub(crate) fn begin_stop(&self) {
        self.stopping.send_replace(true);
    }

    /// True while the service takes new work.
    pub fn is_ready(&self) -> bool {
        !*self.stopping.borrow()
    }

    /// Returns a receiver that becomes true when the service was asked to stop.
    #[cfg(feature = "grpc")]
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}

/// Reads the body of a request. A body that is not JSON gets the library's error with its position.
///
/// # Errors
/// If the body is not JSON, or has another shape.
pub(crate) fn read_request<'b, R: Deserialize<'b>>(body: &'b [u8]) -> Result<R, Problem> {
    // Serde would read the fields of a request from an array too.
    let is_array = body.trim_ascii_start().starts_with(b"[");
    match serde_json::from_slice(body) {
        Ok(request) if !is_array => Ok(request),
        wrong => {
            json::parse_object_bytes(body)?;
            Err(Problem::invalid(wrong.err().map(|error| error.to_string()).unwrap_or_default()))
        }
    }
}
