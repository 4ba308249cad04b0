//! Describes the live traffic of all rule sets, for `GET /v1/traffic`.

use super::Service;
use super::other::to_json_bytes;
use super::why::explain_decision;
use crate::problem::Problem;
use crate::rules::{RuleSet, Version};
use crate::traffic::{
    EVENT_WINDOW_SECONDS, EventCounts, NearMiss, RouteTraffic, TrafficSample, UnknownCondition,
};
use rulec::{Explanation, Language};
use rulec_lang::value::format_datetime;
use rulec_runtime::route::Credentials;
use serde::Serialize;
use serde_json::Value as Json;
use time::OffsetDateTime;

/// The live traffic of the service: the numbers of decisions in the last minute.
#[derive(Serialize)]
struct TrafficAnswer {
    /// The time of the answer. The last number of each list counts the current second, which is not
    /// over.
    now: String,
    seconds: usize,
    rules: Vec<RuleSetTraffic>,
}

/// The live traffic of one rule set: the numbers of its decisions in the last minute.
#[derive(Serialize)]
struct RuleSetTraffic {
    name: String,
    generation: u64,
    routes: Vec<RouteTraffic>,
    /// Number of messages for which no route was chosen.
    undecided: EventCounts,
    /// Number of messages that violate the input contract (the `input` statement).
    violations: EventCounts,
    /// Number of messages that are not JSON objects.
    invalid: EventCounts,
    near_misses: Vec<NearMiss>,
    unknown: Vec<UnknownCondition>,
}

impl Service {
    /// Returns the decisions of the last minute and the latest near misses, as JSON text. Values of
    /// `@private` fields and credentials in headers are masked, as in the decision log.
    ///
    /// # Errors
    /// If edited rules do not compile, which would be a bug in the library.
    pub(crate) fn traffic(&self, language: Language) -> Result<Vec<u8>, Problem> {
        let rules: Result<_, Problem> =
            self.sets().iter().map(|set| rule_set_traffic(set, language)).collect();
        to_json_bytes(&TrafficAnswer {
            now: format_datetime(OffsetDateTime::now_utc()),
            seconds: EVENT_WINDOW_SECONDS,
            rules: rules?,
        })
    }

    /// Returns all metrics in the text format of Prometheus. First counts the unknown conditions of
    /// the latest messages that the live traffic has stored, for which it explains their decisions.
    pub(crate) fn metrics_text(&self) -> String {
        for set in self.sets().iter() {
            let version = set.active();
            let explained =
                set.metrics().traffic().take_unknown_conditions(|sample| explain_sample(&version, sample));
            set.metrics().count_unknown_conditions(explained.0, &explained.1);
        }
        self.metrics().to_text()
    }
}

/// Masks credentials in an explanation, such as the value of a header `Authorization`. The
/// credentials are found in `messages`: the explained message and its history. `None` if the
/// explanation cannot be masked.
fn mask_credentials(explanation: Explanation, messages: Vec<Json>) -> Option<Explanation> {
    let credentials = Credentials::mask_in_message(&mut Json::Array(messages));
    if credentials.is_empty() {
        return Some(explanation);
    }
    let mut json = serde_json::to_value(explanation).ok()?;
    credentials.mask_copies(&mut json);
    serde_json::from_value(json).ok()
}

/// Explains the decision about a sample (a recently decided message). `None` if other rules have
/// decided it, or if it cannot be explained.
fn explain_sample(version: &Version, sample: &TrafficSample) -> Option<Explanation> {
    let (rules, generation) = (version.rules().ok()?, version.generation().ok()?);
    let entry = rules.entry(&sample.entry_name).ok().filter(|_| sample.generation == generation)?;
    let entry = if version.has_history() { entry.with_history(&sample.past) } else { entry };
    let message = Json::Object(rules.parse_message(&sample.message_json).ok()?);
    let explanation = explain_decision(version, entry, &message).ok()?;
    let messages = sample.past.elements().iter().cloned().chain([message]).collect();
    mask_credentials(explanation, messages)
}

fn rule_set_traffic(set: &RuleSet, language: Language) -> Result<RuleSetTraffic, Problem> {
    let version = set.active();
    let generation = version.generation()?;
    let traffic = set.metrics().traffic();
    let now = traffic.current_second();
    let (near_misses, unknown) = traffic.near_misses(language, |sample| explain_sample(&version, sample));
    Ok(RuleSetTraffic {
        name: set.name().to_owned(),
        generation,
        routes: set.metrics().route_traffic(),
        undecided: traffic.undecided_messages.counts(now),
        violations: traffic.contract_violations.counts(now),
        invalid: traffic.invalid_messages.counts(now),
        near_misses,
        unknown,
    })
}
