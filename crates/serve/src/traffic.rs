//! Live traffic, which the studio and `GET /v1/traffic` show: the counts of the last minute, and a
//! few of the latest messages. The memory is bounded, and a decision takes no lock for its counts.

use rulec::history::Past;
use rulec::{Decision, Explanation, Language};
use rulec_eval::trace::{Mark, TraceNode};
use rulec_lang::value::format_datetime;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use time::OffsetDateTime;

/// Number of seconds for which an [`EventWindow`] counts events.
pub(crate) const EVENT_WINDOW_SECONDS: usize = 60;
/// Maximum number of samples: recent messages that are stored to be explained later.
const MAX_TRAFFIC_SAMPLES: usize = 32;
/// Maximum number of bytes of a message that becomes a sample.
const MAX_SAMPLE_BYTES: usize = 8 << 10;
/// Maximum number of earlier messages that are stored with a sample, for rules with a history.
pub(crate) const MAX_SAMPLE_PAST_MESSAGES: usize = 1_000;
/// Maximum number of bytes, as JSON, of the earlier messages that are stored with a sample.
const MAX_SAMPLE_PAST_BYTES: usize = 64 << 10;
/// Minimum time between two samples (messages that are stored to be explained later).
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum time in which one request explains samples (stored messages). The next request explains
/// further samples.
const EXPLAIN_TIME_LIMIT: Duration = Duration::from_millis(200);
/// Maximum number of near misses that are shown for one message.
const MAX_NEAR_MISSES: usize = 3;
/// Maximum number of routes that are listed separately. The counts of all other routes are added
/// up.
const MAX_LISTED_ROUTES: usize = 50;

/// Counts events by second. Each element of `second_cells` has the number of a second in its upper
/// 32 bits. Its lower 32 bits are the count of this second. So an element whose second is over can
/// be reused without being cleared.
#[derive(Debug)]
pub(crate) struct EventWindow {
    total_events: AtomicU64,
    second_cells: [AtomicU64; EVENT_WINDOW_SECONDS],
}

impl Default for EventWindow {
    fn default() -> EventWindow {
        EventWindow {
            total_events: AtomicU64::new(0),
            second_cells: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl EventWindow {
    /// Counts an event in the second `second`. The number of the first second is 1.
    pub fn count_event(&self, second: u64) {
        self.total_events.fetch_add(1, Ordering::Relaxed);
        let cell = &self.second_cells[(second % EVENT_WINDOW_SECONDS as u64) as usize];
        let update = |old: u64| match old >> 32 == second {
            true => old + 1,
            false => (second << 32) + 1,
        };
        // The closure always returns a value, so the update cannot fail.
        let _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(update(old)));
    }

    /// Returns the number of events since the start, and the number in each of the seconds up to
    /// `now`, oldest first.
    pub fn counts(&self, now: u64) -> EventCounts {
        let oldest = (now + 1).saturating_sub(EVENT_WINDOW_SECONDS as u64);
        let count = |second: u64| {
            let cell =
                self.second_cells[(second % EVENT_WINDOW_SECONDS as u64) as usize].load(Ordering::Relaxed);
            if cell >> 32 == second { (cell & u64::from(u32::MAX)) as u32 } else { 0 }
        };
        EventCounts {
            total: self.total_events.load(Ordering::Relaxed),
            per_second: (oldest..oldest + EVENT_WINDOW_SECONDS as u64).map(count).collect(),
        }
    }
}

/// How often an event of one kind, such as a decision by a route, has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct EventCounts {
    /// Number of events of this kind since the service started.
    total: u64,
    /// Number of events in each of the last [`EVENT_WINDOW_SECONDS`] seconds, oldest first.
    per_second: Vec<u32>,
}

impl EventCounts {
    fn last_minute_total(&self) -> u64 {
        self.per_second.iter().map(|count| u64::from(*count)).sum()
    }

    fn add_counts(&mut self, other: &EventCounts) {
        self.total += other.total;
        self.per_second.resize(EVENT_WINDOW_SECONDS, 0);
        self.per_second.iter_mut().zip(&other.per_second).for_each(|(sum, count)| *sum += count);
    }
}

/// The number of decisions of one route, or of all routes that are not listed separately.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RouteTraffic {
    pub entry: String,
    pub route: String,
    #[serde(flatten)]
    pub counts: EventCounts,
}

/// Returns the routes with the most decisions in the last minute. All other routes are added up in
/// one last element, whose name is `other`. `routes` may already contain elements with the name
/// `other`; they are added to this sum.
pub(crate) fn busiest_routes(routes: Vec<RouteTraffic>, other: &str) -> Vec<RouteTraffic> {
    let (mut rest, mut routes): (Vec<_>, Vec<_>) = routes.into_iter().partition(|route| route.route == other);
    routes.sort_by(|one, two| {
        let key =
            |route: &RouteTraffic| std::cmp::Reverse((route.counts.last_minute_total(), route.counts.total));
        key(one).cmp(&key(two)).then_with(|| (&one.entry, &one.route).cmp(&(&two.entry, &two.route)))
    });
    rest.extend(routes.split_off(routes.len().min(MAX_LISTED_ROUTES)));
    if !rest.is_empty() {
        let mut sum =
            RouteTraffic { entry: other.to_owned(), route: other.to_owned(), counts: EventCounts::default() };
        rest.iter().for_each(|route| sum.counts.add_counts(&route.counts));
        routes.push(sum);
    }
    routes
}

/// A decided message that is stored, so that it can be explained when a user opens the traffic
/// page.
pub(crate) struct TrafficSample {
    time: OffsetDateTime,
    pub entry_name: String,
    chosen_name: Option<String>,
    pub generation: u64,
    /// The decided message as JSON text.
    pub message_json: Vec<u8>,
    /// The earlier messages that the decision has read. Empty for rules without a history.
    pub past: Past,
    /// The near misses and unknown conditions of the message, in English and in Chinese. Computed
    /// on first use.
    explained_by_language: [OnceLock<Option<SampleExplanation>>; 2],
    /// Whether the metrics have counted the unknown conditions of this sample.
    is_counted: AtomicBool,
}

/// The part of a message's explanation that the traffic page shows.
struct SampleExplanation {
    near_misses: Vec<NearMiss>,
    unknown_conditions: Vec<UnknownCondition>,
}

/// A route that was nearly chosen for a message.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NearMiss {
    time: String,
    entry: String,
    chosen: Option<String>,
    /// The name of the route that was nearly chosen.
    route: String,
    /// The conditions that failed, with the values that they read.
    because: Vec<String>,
}

/// A condition that was unknown for some samples (recently decided messages), because a value was
/// missing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UnknownCondition {
    pub route: String,
    pub condition: String,
    /// Why the condition was unknown, for the latest of the samples that `count` counts.
    because: Vec<String>,
    /// Number of samples (recently decided messages) for which the condition was unknown.
    count: usize,
}

/// The live traffic of one rule set, except the counts of its routes.
pub(crate) struct LiveTraffic {
    service_start: Instant,
    pub undecided_messages: EventWindow,
    pub contract_violations: EventWindow,
    pub invalid_messages: EventWindow,
    /// The time of the latest successful [`LiveTraffic::claim_sample`], in milliseconds since the
    /// start, plus one. 0 before the first claim.
    last_sample_time_ms: AtomicU64,
    samples: Mutex<VecDeque<Arc<TrafficSample>>>,
}

impl LiveTraffic {
    pub fn new() -> LiveTraffic {
        LiveTraffic {
            service_start: Instant::now(),
            undecided_messages: EventWindow::default(),
            contract_violations: EventWindow::default(),
            invalid_messages: EventWindow::default(),
            last_sample_time_ms: AtomicU64::new(0),
            samples: Mutex::default(),
        }
    }

    /// Returns the number of the current second since the service started; the first second has the
    /// number 1.
    pub fn current_second(&self) -> u64 {
        self.second_at(Instant::now())
    }

    /// Returns the number of the second to which `time` belongs; see
    /// [`LiveTraffic::current_second`].
    pub fn second_at(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.service_start).as_secs() + 1
    }

    /// Returns true if the caller must store the next message, of `length` bytes, as a sample (a
    /// message that is explained later). This requires that the last sample is old enough, and that
    /// the message is small enough. Of several concurrent callers, only one gets true. `now` is the
    /// current time: a caller that needs it too reads the clock only once.
    pub fn claim_sample(&self, length: usize, now: Instant) -> bool {
        let since_start = now.saturating_duration_since(self.service_start);
        let now = u64::try_from(since_start.as_millis()).unwrap_or(u64::MAX - 1) + 1;
        let last = self.last_sample_time_ms.load(Ordering::Relaxed);
        length <= MAX_SAMPLE_BYTES
            && (last == 0 || now.saturating_sub(last) >= MIN_SAMPLE_INTERVAL.as_millis() as u64)
            && self
                .last_sample_time_ms
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Stores a decided message for which [`LiveTraffic::claim_sample`] returned true. `route` is
    /// the name of the chosen statement. `past` has the earlier messages that the decision has
    /// read. If they are too many or too large, stores nothing.
    pub fn store_sample(&self, decision: &Decision, route: Option<&str>, text: &[u8], past: &Past) {
        let elements = past.elements();
        let sizes = elements.iter().map(|element| element.to_string().len());
        if elements.len() > MAX_SAMPLE_PAST_MESSAGES || sizes.sum::<usize>() > MAX_SAMPLE_PAST_BYTES {
            return;
        }
        let sample = TrafficSample {
            time: OffsetDateTime::now_utc(),
            entry_name: decision.entry().to_owned(),
            chosen_name: route.map(str::to_owned),
            generation: decision.generation(),
            message_json: text.to_vec(),
            past: past.to_owned_view(),
            explained_by_language: Default::default(),
            is_counted: AtomicBool::new(false),
        };
        let mut samples = self.lock_samples();
        samples.push_back(Arc::new(sample));
        if samples.len() > MAX_TRAFFIC_SAMPLES {
            samples.pop_front();
        }
    }

    fn lock_samples(&self) -> MutexGuard<'_, VecDeque<Arc<TrafficSample>>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Explains the samples (recently decided messages), the latest first, with `explain`. Returns
    /// the near misses, and the conditions that were unknown. `explain` returns `None` for a sample
    /// that it cannot explain, for example because the rules have changed.
    pub fn near_misses(
        &self,
        language: Language,
        explain: impl Fn(&TrafficSample) -> Option<Explanation>,
    ) -> (Vec<NearMiss>, Vec<UnknownCondition>) {
        let samples: Vec<Arc<TrafficSample>> = self.lock_samples().iter().rev().cloned().collect();
        let end = Instant::now() + EXPLAIN_TIME_LIMIT;
        let (mut near, mut unknown) = (Vec::new(), BTreeMap::<(String, String), UnknownCondition>::new());
        for sample in &samples {
            if !sample.is_explained(language) && Instant::now() > end {
                break;
            }
            let Some(explained) = sample.explained(language, &explain) else { continue };
            near.extend(explained.near_misses.iter().cloned());
            for found in &explained.unknown_conditions {
                let key = (found.route.clone(), found.condition.clone());
                unknown.entry(key).or_insert_with(|| UnknownCondition { count: 0, ..found.clone() }).count +=
                    1;
            }
        }
        let mut unknown: Vec<UnknownCondition> = unknown.into_values().collect();
        unknown.sort_by_key(|unknown| std::cmp::Reverse(unknown.count));
        (near, unknown)
    }

    /// Explains the samples whose unknown conditions the metrics have not counted yet, with
    /// `explain`. Returns the number of samples that were explained, and their unknown conditions.
    /// Each sample is returned once. If the time is over, a further call explains the others.
    pub fn take_unknown_conditions(
        &self,
        explain: impl Fn(&TrafficSample) -> Option<Explanation>,
    ) -> (u64, Vec<UnknownCondition>) {
        let samples: Vec<Arc<TrafficSample>> = self.lock_samples().iter().cloned().collect();
        let end = Instant::now() + EXPLAIN_TIME_LIMIT;
        let (mut explained_samples, mut unknown) = (0, Vec::new());
        for sample in samples {
            if !sample.is_explained(Language::English) && Instant::now() > end {
                break;
            }
            if sample.is_counted.swap(true, Ordering::Relaxed) {
                continue;
            }
            if let Some(explained) = sample.explained(Language::English, &explain) {
                explained_samples += 1;
                unknown.extend(explained.unknown_conditions.iter().cloned());
            }
        }
        (explained_samples, unknown)
    }
}

impl TrafficSample {
    fn explanation_cell(&self, language: Language) -> &OnceLock<Option<SampleExplanation>> {
        &self.explained_by_language[usize::from(language != Language::English)]
    }

    fn is_explained(&self, language: Language) -> bool {
        self.explanation_cell(language).get().is_some()
    }

    /// Returns the explanation of the sample. Computes it with `explain` on first use.
    fn explained(
        &self,
        language: Language,
        explain: impl Fn(&TrafficSample) -> Option<Explanation>,
    ) -> Option<&SampleExplanation> {
        let explained = self.explanation_cell(language).get_or_init(|| {
            let explanation = explain(self)?.localized(language);
            Some(self.describe(&explanation, language))
        });
        explained.as_ref()
    }

    fn describe(&self, explanation: &Explanation, language: Language) -> SampleExplanation {
        let misses = explanation.near_misses();
        let texts = |texts: Vec<rulec::Message>| -> Vec<String> {
            texts.iter().map(|text| text.localized(language).into_owned()).collect()
        };
        let near = misses.iter().take(MAX_NEAR_MISSES).map(|miss| NearMiss {
            time: format_datetime(self.time),
            entry: self.entry_name.clone(),
            chosen: self.chosen_name.clone(),
            route: miss.route.route.clone(),
            because: texts(miss.describe_failed_conditions(language)),
        });
        let mut unknown: Vec<UnknownCondition> = Vec::new();
        for miss in &misses {
            let is_unknown = |node: &&&TraceNode| node.result == Mark::Unknown;
            for node in miss.failed_conditions.iter().filter(is_unknown) {
                let route = miss.route.route.clone();
                if !unknown.iter().any(|known| known.route == route && known.condition == node.text) {
                    let because = texts(node.because.clone());
                    unknown.push(UnknownCondition { route, condition: node.text.clone(), because, count: 1 });
                }
            }
        }
        SampleExplanation { near_misses: near.collect(), unknown_conditions: unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_forgets_what_is_older_than_a_minute() {
        let window = EventWindow::default();
        for second in [1, 1, 2, 59, 60, 61, 61] {
            window.count_event(second);
        }
        let counts = window.counts(61);
        assert_eq!((counts.total, counts.per_second.len()), (7, EVENT_WINDOW_SECONDS));
        assert_eq!((counts.per_second[0], counts.per_second[57], counts.per_second[59]), (1, 1, 2));
        assert_eq!(counts.last_minute_total(), 5, "the first second has passed");
        assert_eq!(window.counts(500).last_minute_total(), 0);
        assert_eq!(EventWindow::default().counts(1).per_second, vec![0; EVENT_WINDOW_SECONDS]);
    }

    #[test]
    fn the_busiest_routes_are_listed_and_the_others_added_up() {
        let route = |number: u32| {
            let counts =
                EventCounts { total: u64::from(number), per_second: vec![number; EVENT_WINDOW_SECONDS] };
            RouteTraffic { entry: "routes".to_owned(), route: format!("r{number}"), counts }
        };
        let uncounted = RouteTraffic { route: "_other".to_owned(), ..route(70) };
        let listed = busiest_routes((1..=60).map(route).chain([uncounted]).collect(), "_other");
        assert_eq!((listed.len(), &*listed[0].route, &*listed[50].route), (51, "r60", "_other"));
        assert_eq!(listed[50].counts.total, (1..=10).sum::<u64>() + 70);
    }
}
