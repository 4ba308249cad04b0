//! Counts and latencies of a router's routes and handlers, as plain data that a metrics exporter
//! can read.

use super::policy::CircuitState;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of routes that have counts of their own. Further routes are counted only in the
/// total. The limit is needed because edits of the rules can add new routes without end.
const MAX_COUNTED_ROUTES: usize = 10_000;

/// Upper bounds of the latency histogram's buckets, in microseconds. One more bucket counts longer
/// latencies.
pub const LATENCY_BOUNDS_US: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];

/// A histogram of latencies, whose buckets end at [`LATENCY_BOUNDS_US`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Latencies {
    /// Counts per bucket. Bucket `i` counts latencies up to `LATENCY_BOUNDS_US[i]` that are above
    /// the previous bound. The last bucket counts latencies above all bounds.
    pub counts: [u64; LATENCY_BOUNDS_US.len() + 1],
    /// Sum of all latencies in the histogram, in microseconds.
    pub sum_us: u64,
}

impl Latencies {
    fn add_latency(&mut self, latency: Duration) {
        let microseconds = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.counts[LATENCY_BOUNDS_US.partition_point(|bound| *bound < microseconds)] += 1;
        self.sum_us = self.sum_us.saturating_add(microseconds);
    }

    /// Returns how many latencies the histogram contains.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns an upper bound of a quantile, such as the 99th percentile for a `share` of 0.99. The
    /// result is the upper bound of the bucket that contains the quantile. `None` if there are no
    /// latencies, or if the quantile is above the last bound.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = (share.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut cumulative_count = 0;
        let bucket = self.counts.iter().position(|count| {
            cumulative_count += count;
            cumulative_count >= rank
        });
        Some(Duration::from_micros(*LATENCY_BOUNDS_US.get(bucket?)?))
    }
}

/// Counts of messages, or of handler calls, by their result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of messages or calls that ended with a reply.
    pub handled: u64,
    /// Number of messages or calls that ended with an error.
    pub failed: u64,
    /// Number of messages or calls that were stopped at the time limit.
    pub timed_out: u64,
    /// Number of messages or calls that ended with a panic.
    pub panicked: u64,
    /// Number of messages or calls that were refused, because the sender lacked a permission.
    pub refused: u64,
    /// Number of messages or calls for which the handler was not called, because its circuit was
    /// open.
    pub circuit_open: u64,
    /// Number of messages for which [`WatchedRules`](super::WatchedRules) chose a route. No handler
    /// is called for these messages.
    pub decided: u64,
    /// Number of messages that were not decided, for example because they were not objects; see
    /// [`HandlerOutcome::Invalid`](super::HandlerOutcome::Invalid).
    pub invalid: u64,
    /// Number of messages that no route matched.
    pub no_route: u64,
    /// Number of messages or calls that were cancelled, because the caller stopped waiting.
    pub cancelled: u64,
    /// Histogram of the durations of all counted messages or calls.
    pub latency: Latencies,
}

impl Counts {
    fn add_result(&mut self, result: &str, latency: Duration) {
        let count = match result {
            "handled" => &mut self.handled,
            "failed" => &mut self.failed,
            "timed_out" => &mut self.timed_out,
            "panicked" => &mut self.panicked,
            "refused" => &mut self.refused,
            "circuit_open" => &mut self.circuit_open,
            "decided" => &mut self.decided,
            "invalid" => &mut self.invalid,
            "no_route" => &mut self.no_route,
            _ => &mut self.cancelled,
        };
        *count += 1;
        self.latency.add_latency(latency);
    }

    /// Returns the number of all messages or calls, regardless of their results.
    pub fn total(&self) -> u64 {
        self.latency.count()
    }
}

/// Counts of the messages that took one route. A latency is the time from the arrival of a message
/// until its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouteStats {
    /// Name of the route's table. For messages without a route, name of the table where the
    /// decision started.
    pub table: String,
    /// Name of the route, or `default`; `None` for messages without a route.
    pub route: Option<String>,
    /// Counts of the messages by their result.
    pub counts: Counts,
}

/// Counts of a handler's calls, including retries and calls as a fallback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandlerStats {
    /// Name of the handler.
    pub handler: String,
    /// Counts of the calls by their result.
    pub counts: Counts,
    /// State of the handler's circuit breaker; `None` if it has none.
    pub circuit: Option<CircuitState>,
}

/// The counts of messages and handler calls since a router was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouterStats {
    /// Counts of all messages that the router received, by their result.
    pub messages: Counts,
    /// Counts per route, sorted by table and name. At most 10,000 routes are listed; later ones are
    /// counted only in `messages`.
    pub routes: Vec<RouteStats>,
    /// Counts per registered handler, sorted by the handlers' names.
    pub handlers: Vec<HandlerStats>,
}

/// The counters of a running router. Each message and each handler call updates them.
#[derive(Default)]
pub(super) struct RouterCounters {
    state: Mutex<RouterCounterState>,
}

#[derive(Default)]
struct RouterCounterState {
    messages: Counts,
    /// Counts by the name of the table, then by the name of the route; `None` for no route.
    routes: HashMap<String, HashMap<Option<String>, Counts>>,
    route_count: usize,
    handlers: HashMap<String, Counts>,
}

impl RouterCounters {
    fn lock_counters(&self) -> MutexGuard<'_, RouterCounterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one message by its route and its result. `route` is `None` if no route was selected.
    /// `result` is a word that [`HandlerOutcome::kind`](super::HandlerOutcome::kind) returns,
    /// `cancelled`, or `decided`.
    pub fn count_message(&self, table: &str, route: Option<&str>, result: &str, latency: Duration) {
        let counters = &mut *self.lock_counters();
        counters.messages.add_result(result, latency);
        let route = route.map(str::to_owned);
        let existing = counters.routes.get_mut(table).and_then(|routes| routes.get_mut(&route));
        if let Some(counts) = existing {
            counts.add_result(result, latency);
        } else if counters.route_count < MAX_COUNTED_ROUTES {
            counters.route_count += 1;
            let routes = counters.routes.entry(table.to_owned()).or_default();
            routes.entry(route).or_default().add_result(result, latency);
        }
    }

    /// Counts one call of a handler. `result` is a name that
    /// [`HandlerOutcome::kind`](super::HandlerOutcome::kind) returns, or `cancelled`.
    pub fn count_call(&self, handler: &str, result: &str, latency: Duration) {
        let counters = &mut *self.lock_counters();
        match counters.handlers.get_mut(handler) {
            Some(counts) => counts.add_result(result, latency),
            None => counters.handlers.entry(handler.to_owned()).or_default().add_result(result, latency),
        }
    }

    /// Returns the current counts. `handlers` lists the registered handlers with the states of
    /// their circuit breakers. So the result also contains handlers that were never called.
    pub fn snapshot<'h>(
        &self,
        handlers: impl Iterator<Item = (&'h String, Option<CircuitState>)>,
    ) -> RouterStats {
        let counters = &*self.lock_counters();
        let table_rows = |(table, routes): (&String, &HashMap<Option<String>, Counts>)| {
            let table = table.clone();
            let to_route_stats = move |(route, counts): (&Option<String>, &Counts)| RouteStats {
                table: table.clone(),
                route: route.clone(),
                counts: counts.clone(),
            };
            routes.iter().map(to_route_stats).collect::<Vec<_>>()
        };
        let mut routes: Vec<RouteStats> = counters.routes.iter().flat_map(table_rows).collect();
        routes.sort_by(|a, b| (&a.table, &a.route).cmp(&(&b.table, &b.route)));
        let mut handlers: Vec<HandlerStats> = handlers
            .map(|(handler, circuit)| HandlerStats {
                handler: handler.clone(),
                counts: counters.handlers.get(handler).cloned().unwrap_or_default(),
                circuit,
            })
            .collect();
        handlers.sort_by(|a, b| a.handler.cmp(&b.handler));
        RouterStats { messages: counters.messages.clone(), routes, handlers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_counted_by_bucket() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile(0.5), None);
        for us in [0, 100, 101, 900, 20_000_000] {
            latencies.add_latency(Duration::from_micros(us));
        }
        assert_eq!((latencies.counts[0], latencies.counts[1], latencies.counts[3]), (2, 1, 1));
        assert_eq!((latencies.count(), latencies.counts[16], latencies.sum_us), (5, 1, 20_001_101));
        assert_eq!(latencies.quantile(0.4), Some(Duration::from_micros(100)));
        assert_eq!(latencies.quantile(0.8), Some(Duration::from_millis(1)));
        assert_eq!(latencies.quantile(1.0), None);
    }

    #[test]
    fn routes_are_counted_up_to_the_limit() {
        let stats = RouterCounters::default();
        for index in 0..MAX_COUNTED_ROUTES + 5 {
            stats.count_message("routes", Some(&index.to_string()), "handled", Duration::ZERO);
        }
        stats.count_message("routes", Some("0"), "failed", Duration::ZERO);
        let snapshot = stats.snapshot(std::iter::empty());
        assert_eq!(
            (snapshot.routes.len(), snapshot.messages.total()),
            (MAX_COUNTED_ROUTES, MAX_COUNTED_ROUTES as u64 + 6)
        );
        assert_eq!(snapshot.routes[0].counts.failed, 1);
    }
}
