//! Counts what the runs of a coordinator use. So rules about rates and budgets see the truth, even
//! if the program gives no numbers, or old ones.

use serde_json::{Map, Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The type of the nodes that make requests.
const REQUEST_KIND: &str = "HTTP";

/// For how long a request counts in `requests_last_minute`.
const MINUTE: Duration = Duration::from_secs(60);

/// What the nodes of all runs used, those that failed included.
#[derive(Debug, Default)]
pub(super) struct Usage(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// When each request of the last minute began, oldest first.
    requests: VecDeque<Instant>,
    api_calls: u64,
    /// The sum of the `cost` fields of all outputs, in the unit of the nodes.
    cost: f64,
}

impl Usage {
    /// Counts one attempt at a node of this type.
    pub fn count_attempt(&self, kind: &str) {
        if kind == REQUEST_KIND {
            let mut counts = self.lock();
            counts.api_calls += 1;
            counts.requests.push_back(Instant::now());
            counts.forget_old_requests();
        }
    }

    /// Adds the `cost` that an output states. A negative cost is ignored.
    pub fn count_cost(&self, output: &Json) {
        let cost = output["cost"].as_f64().filter(|cost| *cost > 0.0);
        self.lock().cost += cost.unwrap_or(0.0);
    }

    /// Returns a context with the counted numbers. A number of the context stays if it is greater.
    /// Returns `None` if nothing was counted yet.
    pub fn add_to(&self, context: Option<&Json>) -> Option<Json> {
        let mut counts = self.lock();
        counts.forget_old_requests();
        let counted = [
            ("requests_last_minute", json!(counts.requests.len())),
            ("api_calls", json!(counts.api_calls)),
            ("cost", json!(counts.cost)),
        ];
        let mut fields = match context {
            Some(Json::Object(fields)) => fields.clone(),
            Some(_) => return None,
            None => Map::new(),
        };
        let mut changed = false;
        for (name, count) in counted {
            let given = fields.get(name).and_then(Json::as_f64).unwrap_or(0.0);
            if count.as_f64().is_some_and(|count| count > given) {
                fields.insert(name.to_owned(), count);
                changed = true;
            }
        }
        changed.then_some(Json::Object(fields))
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Code under this lock keeps the counts consistent even if it panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn forget_old_requests(&mut self) {
        while self.requests.front().is_some_and(|began| began.elapsed() >= MINUTE) {
            self.requests.pop_front();
        }
    }
}
