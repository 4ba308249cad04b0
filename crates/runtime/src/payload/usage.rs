//! Counts the HTTP requests and costs of all plans (workflows that a language model writes) that a
//! coordinator runs. Rules that limit rates or costs read these numbers in their input `context`.
//! So such rules also work if the program's own `context` has no numbers or outdated ones.

use serde_json::{Map, Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The type name of the plan nodes whose attempts are counted as HTTP requests.
pub(super) const HTTP_NODE_KIND: &str = "HTTP";

/// How long a request counts in the field `requests_last_minute` of the rules' input `context`.
const REQUEST_COUNT_PERIOD: Duration = Duration::from_secs(60);

/// Number of HTTP requests, and sum of the costs that node outputs report, over all runs of plans.
/// Requests of nodes that failed count too.
#[derive(Debug, Default)]
pub(super) struct Usage {
    counts: Mutex<UsageCounts>,
    /// Number of requests that the payload to validate contains twice. They are subtracted from the
    /// numbers that the rules read.
    repeated_requests: u64,
}

#[derive(Debug, Default)]
struct UsageCounts {
    /// Start time of each request in the last minute, oldest first.
    request_times: VecDeque<Instant>,
    http_request_count: u64,
    /// Sum of the `cost` fields of all node outputs. The nodes choose the unit, such as a currency.
    total_cost: f64,
}

impl Usage {
    /// Returns counts of 0, for the validation of a payload that contains `repeated_requests` HTTP
    /// requests twice. So the rules read negative numbers, and their sums are correct.
    pub fn with_repeated_requests(repeated_requests: u64) -> Usage {
        Usage { repeated_requests, ..Usage::default() }
    }

    /// Counts one attempt to run a node of the type `kind`, if nodes of this type make HTTP
    /// requests.
    pub fn count_attempt(&self, kind: &str) {
        if kind == HTTP_NODE_KIND {
            let mut counts = self.lock_counts();
            counts.http_request_count += 1;
            counts.request_times.push_back(Instant::now());
            counts.forget_old_requests();
        }
    }

    /// Adds the number in the field `cost` of a node's output to the total cost. A negative number
    /// is ignored.
    pub fn add_cost(&self, output: &Json) {
        let cost = output["cost"].as_f64().filter(|cost| *cost > 0.0);
        self.lock_counts().total_cost += cost.unwrap_or(0.0);
    }

    /// Returns a copy of `context`, or a new object if it is `None`, with the current counts as
    /// fields. A count of 0 is added too, because strict rules reject if a counter is missing. A
    /// field keeps its value if that value is greater than the count. Returns `None` if no field
    /// would change, or if `context` is not an object.
    pub fn context_with_counts(&self, context: Option<&Json>) -> Option<Json> {
        let mut counts = self.lock_counts();
        counts.forget_old_requests();
        let counted = [
            ("requests_last_minute", json!(counts.request_times.len())),
            ("api_calls", json!(counts.http_request_count)),
            ("cost", json!(counts.total_cost)),
        ];
        let mut fields = match context {
            Some(Json::Object(fields)) => fields.clone(),
            Some(_) => return None,
            None => Map::new(),
        };
        let mut changed = false;
        for (name, count) in counted {
            let given_count = fields.get(name).and_then(Json::as_f64);
            if given_count.is_none_or(|given| count.as_f64().is_some_and(|count| count > given)) {
                fields.insert(name.to_owned(), count);
                changed = true;
            }
        }
        if self.repeated_requests > 0 {
            for name in ["requests_last_minute", "api_calls"] {
                let count = fields.get(name).and_then(Json::as_i64).unwrap_or(0);
                fields.insert(name.to_owned(), json!(count.saturating_sub_unsigned(self.repeated_requests)));
            }
            changed = true;
        }
        changed.then_some(Json::Object(fields))
    }

    fn lock_counts(&self) -> MutexGuard<'_, UsageCounts> {
        // A panic under this lock leaves the counts consistent, so a poisoned lock is still usable.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsageCounts {
    fn forget_old_requests(&mut self) {
        while self.request_times.front().is_some_and(|began| began.elapsed() >= REQUEST_COUNT_PERIOD) {
            self.request_times.pop_front();
        }
    }
}
