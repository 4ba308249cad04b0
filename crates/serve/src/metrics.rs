//! The metrics of the service, in the text format of Prometheus. The number of time series is
//! bounded. Label values come from the rules, never from messages. Entries (such as tables) and
//! routes over a maximum number share one label value.

#[cfg(feature = "remote")]
mod otlp;

use crate::limits::{LimitName, Limits, LogLimits};
use crate::traffic::{EventWindow, LiveTraffic, RouteTraffic, UnknownCondition, busiest_routes};
use hashbrown::{Equivalent, HashMap};
#[cfg(feature = "remote")]
pub(crate) use otlp::{OtlpMetrics, OtlpSignal};
use prometheus_client::encoding::EncodeLabelSet;
#[cfg(feature = "remote")]
use prometheus_client::encoding::EncodeLabelValue;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use rulec::{Decision, JsonError, JsonErrorKind};
use rulec_base::text::truncate_chars;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Maximum number of pairs of an entry (such as a table) and a route with counters of their own,
/// for each rule set.
const MAX_COUNTED_ROUTES: usize = 2000;
/// The label value that all entries (such as tables) and routes over [`MAX_COUNTED_ROUTES`] share.
const OTHER_ROUTES_LABEL: &str = "_other";
/// Maximum number of unknown conditions with counters of their own, for each rule set.
const MAX_COUNTED_CONDITIONS: usize = 200;
/// Maximum number of characters of a condition in a label.
const MAX_CONDITION_CHARS: usize = 120;
/// Upper bounds of the latency histogram, in seconds.
const LATENCY_BOUNDS_SECONDS: [f64; 12] =
    [0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RuleSetMetricLabels {
    rules: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteMetricLabels {
    rules: String,
    entry: String,
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ConditionMetricLabels {
    rules: String,
    route: String,
    condition: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ShadowMetricLabels {
    rules: String,
    same: bool,
}

/// The result of fetching rules over HTTP. Its name is the value of the label `result` in the
/// metrics.
#[cfg(feature = "remote")]
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the names are the labels")]
pub(crate) enum FetchResult {
    changed,
    unchanged,
    failed,
}

#[cfg(feature = "remote")]
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FetchMetricLabels {
    rules: String,
    result: FetchResult,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LimitMetricLabels {
    limit: LimitName,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestMetricLabels {
    path: String,
    status: u16,
}

/// All metrics of a service, and the registry that writes them as text.
pub(crate) struct Metrics {
    registry: Registry,
    decisions: Family<RouteMetricLabels, Counter>,
    undecided_messages: Family<RuleSetMetricLabels, Counter>,
    input_violations: Family<RuleSetMetricLabels, Counter>,
    invalid_messages: Family<RuleSetMetricLabels, Counter>,
    explained_messages: Family<RuleSetMetricLabels, Counter>,
    unknown_conditions: Family<ConditionMetricLabels, Counter>,
    decision_latency: Family<RuleSetMetricLabels, Histogram, fn() -> Histogram>,
    generation: Family<RuleSetMetricLabels, Gauge>,
    refused_versions: Family<RuleSetMetricLabels, Counter>,
    skipped_items: Family<RuleSetMetricLabels, Gauge>,
    #[cfg(feature = "remote")]
    fetches: Family<FetchMetricLabels, Counter>,
    shadow_comparisons: Family<ShadowMetricLabels, Counter>,
    limit_hits: Family<LimitMetricLabels, Counter>,
    request_counts: Family<RequestMetricLabels, Counter>,
    open_requests: Gauge,
}

fn latency_histogram() -> Histogram {
    Histogram::new(LATENCY_BOUNDS_SECONDS)
}

impl Metrics {
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("rulec");
        let decisions = Family::default();
        registry.register("decisions", "Decisions by entry and route", decisions.clone());
        let undecided = Family::default();
        registry.register("undecided", "Messages that no route took", undecided.clone());
        let violations = Family::default();
        registry.register("input_violations", "Messages that violate the input", violations.clone());
        let invalid = Family::default();
        registry.register("invalid_messages", "Messages that are not JSON objects", invalid.clone());
        let explained = Family::default();
        let help = "Messages whose unknown conditions were counted";
        registry.register("explained_messages", help, explained.clone());
        let unknown = Family::default();
        registry.register("unknown_conditions", "Unknown conditions in explained messages", unknown.clone());
        let latency = Family::new_with_constructor(latency_histogram as fn() -> Histogram);
        let help = "Time of a decision, without the network";
        registry.register_with_unit("decision_time", help, Unit::Seconds, latency.clone());
        let generation = Family::default();
        registry.register("generation", "Generation of the rules in force", generation.clone());
        let refused = Family::default();
        registry.register("refused_versions", "Versions that could not be loaded", refused.clone());
        let skipped = Family::default();
        registry.register("skipped_items", "Items of the JSON document that were skipped", skipped.clone());
        #[cfg(feature = "remote")]
        let fetches = Family::default();
        #[cfg(feature = "remote")]
        registry.register("fetches", "Requests for rules at an address", fetches.clone());
        let shadow = Family::default();
        registry.register("shadow_decisions", "Decisions of the shadow rules", shadow.clone());
        let limits = Family::default();
        registry.register("limits_hit", "Requests that met a limit", limits.clone());
        let requests = Family::default();
        registry.register("requests", "Requests by path and status", requests.clone());
        let open_requests = Gauge::default();
        registry.register("open_requests", "Requests that are being answered", open_requests.clone());
        Metrics {
            registry,
            decisions,
            undecided_messages: undecided,
            input_violations: violations,
            invalid_messages: invalid,
            explained_messages: explained,
            unknown_conditions: unknown,
            decision_latency: latency,
            generation,
            refused_versions: refused,
            skipped_items: skipped,
            #[cfg(feature = "remote")]
            fetches,
            shadow_comparisons: shadow,
            limit_hits: limits,
            request_counts: requests,
            open_requests,
        }
    }

    /// Adds the limits to the metrics, as gauges. `log` has the limits of the decision log; `None`
    /// if there is no log.
    pub fn add_limits(&mut self, limits: &Limits, log: Option<LogLimits>) {
        let family: Family<ValueMetricLabels, Gauge> = Family::default();
        self.registry.register("limit", "The limits in force", family.clone());
        for row in limits.limit_rows(log) {
            let value = i64::try_from(row.value).unwrap_or(i64::MAX);
            family.get_or_create(&ValueMetricLabels { limit: row.name, unit: row.unit }).set(value);
        }
    }

    /// Returns the metrics of the rule set named `name`.
    pub fn for_rule_set(&self, name: &str) -> RuleSetMetrics {
        let labels = RuleSetMetricLabels { rules: name.to_owned() };
        let shadow = |same| {
            self.shadow_comparisons.get_or_create_owned(&ShadowMetricLabels { rules: name.to_owned(), same })
        };
        RuleSetMetrics {
            name: name.to_owned(),
            route_counts: RwLock::default(),
            traffic: LiveTraffic::new(),
            decisions: self.decisions.clone(),
            undecided_messages: self.undecided_messages.get_or_create_owned(&labels),
            input_violations: self.input_violations.get_or_create_owned(&labels),
            too_deep_messages: self
                .limit_hits
                .get_or_create_owned(&LimitMetricLabels { limit: LimitName::depth }),
            invalid_messages: self.invalid_messages.get_or_create_owned(&labels),
            explained_messages: self.explained_messages.get_or_create_owned(&labels),
            counted_conditions: Mutex::default(),
            unknown_conditions: self.unknown_conditions.clone(),
            decision_latency: self.decision_latency.get_or_create_owned(&labels),
            generation: self.generation.get_or_create_owned(&labels),
            refused_versions: self.refused_versions.get_or_create_owned(&labels),
            skipped_items: self.skipped_items.get_or_create_owned(&labels),
            #[cfg(feature = "remote")]
            fetches: self.fetches.clone(),
            shadow_different: shadow(false),
            shadow_same: shadow(true),
        }
    }

    /// Removes the gauges that describe the version in force of a rule set, because the rule set
    /// was removed. The counters of the rule set stay, because a rule set with the same name may be
    /// added later.
    pub fn forget_set(&self, name: &str) {
        let labels = RuleSetMetricLabels { rules: name.to_owned() };
        self.generation.remove(&labels);
        self.skipped_items.remove(&labels);
    }

    pub fn count_limit(&self, limit: LimitName) {
        self.limit_hits.get_or_create(&LimitMetricLabels { limit }).inc();
    }

    /// Counts an answered request. `path` is the pattern of its HTTP route, such as
    /// `/v1/judge/{kind}`. `status` is the HTTP status of the answer.
    pub fn count_request(&self, path: &str, status: u16) {
        self.request_counts.get_or_create(&RequestMetricLabels { path: path.to_owned(), status }).inc();
    }

    pub fn open_requests(&self) -> &Gauge {
        &self.open_requests
    }

    /// Registers the counters of the decision log, and returns them.
    pub fn register_log_metrics(&mut self) -> LogMetrics {
        let log = LogMetrics::default();
        let LogMetrics {
            written_lines: written,
            dropped_lines: dropped,
            spilled_lines: spilled,
            failed_lines: failed,
            sampled_out_decisions: sampled_out,
        } = &log;
        let registry = &mut self.registry;
        registry.register("log_written", "Lines written to the decision log", written.clone());
        registry.register("log_dropped", "Lines dropped because too many waited", dropped.clone());
        registry.register("log_spilled", "Lines that waited on the disk", spilled.clone());
        registry.register("log_failed", "Lines that could not be written", failed.clone());
        let help = "Decisions without a line, because their route is sampled";
        registry.register("log_sampled_out", help, sampled_out.clone());
        log
    }

    /// Returns all metrics in the text format of Prometheus.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Counters of the decision log's lines.
#[derive(Clone, Default)]
pub(crate) struct LogMetrics {
    pub written_lines: Counter,
    pub dropped_lines: Counter,
    pub spilled_lines: Counter,
    pub failed_lines: Counter,
    /// Number of decisions that have no line because their route is sampled.
    pub sampled_out_decisions: Counter,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ValueMetricLabels {
    limit: String,
    unit: &'static str,
}

/// The metrics of one rule set. Holds the counter of each route, so that a decision needs no lookup
/// in the registry.
pub(crate) struct RuleSetMetrics {
    name: String,
    route_counts: RwLock<HashMap<RouteKey, RouteCounts>>,
    traffic: LiveTraffic,
    decisions: Family<RouteMetricLabels, Counter>,
    undecided_messages: Counter,
    input_violations: Counter,
    /// Number of messages that were nested too deep, for all rule sets together.
    too_deep_messages: Counter,
    invalid_messages: Counter,
    /// Number of messages whose unknown conditions were counted.
    explained_messages: Counter,
    /// The routes and conditions that have a counter in `unknown_conditions`.
    counted_conditions: Mutex<BTreeSet<(String, String)>>,
    unknown_conditions: Family<ConditionMetricLabels, Counter>,
    decision_latency: Histogram,
    generation: Gauge,
    refused_versions: Counter,
    /// Number of items that were skipped in the JSON document in force; 0 for other rules.
    skipped_items: Gauge,
    #[cfg(feature = "remote")]
    fetches: Family<FetchMetricLabels, Counter>,
    /// Number of messages for which the shadow rules and the rules in force decide differently.
    shadow_different: Counter,
    /// Number of messages for which the shadow rules and the rules in force decide the same.
    shadow_same: Counter,
}

/// The number of decisions of a route: since the start of the service, and in the last minute.
struct RouteCounts {
    total_counter: Counter,
    minute_window: EventWindow,
}

impl RouteCounts {
    fn count_decision_at(&self, second: u64) {
        self.total_counter.inc();
        self.minute_window.count_event(second);
    }
}

/// The names of an entry (such as a table) and of a route that the entry has chosen.
#[derive(PartialEq, Eq, Hash)]
struct RouteKey(String, String);

/// The borrowed form of a [`RouteKey`], for lookups without allocation. Both forms have the same
/// hash.
#[derive(Hash)]
struct RouteRef<'a>(&'a str, &'a str);

impl Equivalent<RouteKey> for RouteRef<'_> {
    fn equivalent(&self, key: &RouteKey) -> bool {
        self.0 == key.0 && self.1 == key.1
    }
}

impl RuleSetMetrics {
    /// Counts a decision, its violations of the input contract (the `input` statement), and the
    /// time that it took (`elapsed`, from `start` on). `route` is the name of the chosen statement;
    /// `None` counts as undecided.
    pub fn count_decision(
        &self,
        decision: &Decision,
        route: Option<&str>,
        (start, elapsed): (Instant, Duration),
    ) {
        self.decision_latency.observe(elapsed.as_secs_f64());
        let second = self.traffic.second_at(start);
        if !decision.breaches().is_empty() {
            self.input_violations.inc();
            self.traffic.contract_violations.count_event(second);
        }
        match route {
            Some(route) => {
                self.count_route(decision.path().last().copied().unwrap_or_default(), route, second);
            }
            None => {
                self.undecided_messages.inc();
                self.traffic.undecided_messages.count_event(second);
            }
        }
    }

    fn count_route(&self, entry: &str, route: &str, second: u64) {
        let routes = self.route_counts.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = routes.get(&RouteRef(entry, route)) {
            counts.count_decision_at(second);
            return;
        }
        drop(routes);
        let mut routes = self.route_counts.write().unwrap_or_else(PoisonError::into_inner);
        let (entry, route) = if routes.len() < MAX_COUNTED_ROUTES {
            (entry, route)
        } else {
            (OTHER_ROUTES_LABEL, OTHER_ROUTES_LABEL)
        };
        let key = RouteKey(entry.to_owned(), route.to_owned());
        let new_counts = || {
            let labels = RouteMetricLabels {
                rules: self.name.clone(),
                entry: entry.to_owned(),
                route: route.to_owned(),
            };
            RouteCounts {
                total_counter: self.decisions.get_or_create_owned(&labels),
                minute_window: EventWindow::default(),
            }
        };
        routes.entry(key).or_insert_with(new_counts).count_decision_at(second);
    }

    pub fn traffic(&self) -> &LiveTraffic {
        &self.traffic
    }

    /// Returns the numbers of decisions of the busiest routes.
    pub fn route_traffic(&self) -> Vec<RouteTraffic> {
        let now = self.traffic.current_second();
        let routes = self.route_counts.read().unwrap_or_else(PoisonError::into_inner);
        let counted = routes.iter().map(|(RouteKey(entry, route), counts)| RouteTraffic {
            entry: entry.clone(),
            route: route.clone(),
            counts: counts.minute_window.counts(now),
        });
        let counted = counted.collect();
        drop(routes);
        busiest_routes(counted, OTHER_ROUTES_LABEL)
    }

    pub fn count_invalid_message(&self, error: &JsonError) {
        self.count_if_too_deep(error);
        self.invalid_messages.inc();
        self.traffic.invalid_messages.count_event(self.traffic.current_second());
    }

    /// Counts a message that is nested too deep. Ignores all other errors.
    pub fn count_if_too_deep(&self, error: &JsonError) {
        if error.kind() == JsonErrorKind::Depth {
            self.too_deep_messages.inc();
        }
    }

    /// Counts the unknown conditions of `messages` messages that were explained. Over a maximum
    /// number, further conditions share one counter.
    pub fn count_unknown_conditions(&self, messages: u64, conditions: &[UnknownCondition]) {
        self.explained_messages.inc_by(messages);
        let mut counted = self.counted_conditions.lock().unwrap_or_else(PoisonError::into_inner);
        for UnknownCondition { route, condition, .. } in conditions {
            let condition = truncate_chars(condition, MAX_CONDITION_CHARS);
            let mut key = (route.clone(), condition);
            if counted.len() >= MAX_COUNTED_CONDITIONS && !counted.contains(&key) {
                key = (OTHER_ROUTES_LABEL.to_owned(), OTHER_ROUTES_LABEL.to_owned());
            } else {
                counted.insert(key.clone());
            }
            let labels = ConditionMetricLabels { rules: self.name.clone(), route: key.0, condition: key.1 };
            self.unknown_conditions.get_or_create(&labels).inc();
        }
    }

    pub fn count_refused_version(&self) {
        self.refused_versions.inc();
    }

    #[cfg(feature = "remote")]
    pub fn count_fetch(&self, result: FetchResult) {
        self.fetches.get_or_create(&FetchMetricLabels { rules: self.name.clone(), result }).inc();
    }

    pub fn count_shadow(&self, same: bool) {
        let counter = if same { &self.shadow_same } else { &self.shadow_different };
        counter.inc();
    }

    pub fn set_skipped_items(&self, count: usize) {
        self.skipped_items.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub fn set_generation(&self, generation: u64) {
        self.generation.set(i64::try_from(generation).unwrap_or(i64::MAX));
    }
}
