//! A decision as a line of the log. What is private is masked here, by the code that masks it in
//! explanations.

use super::super::outcome::Outcome;
use rulec::Breach;
use rulec::Explanation;
use rulec::Rules;
use rulec::internals::decision::Chosen;
use rulec::internals::sema::hir::TableId;
use rulec::internals::trace::MASK;
use rulec::internals::value::format_datetime;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use time::OffsetDateTime;

/// The parts that lines hold beside the decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub message: bool,
    pub explanation: bool,
}

/// The facts that a line needs beside the outcome, kept as they are: everything that takes time is left to the
/// writer's thread.
pub(in crate::route) struct Record {
    pub time: OffsetDateTime,
    pub rules: Rules,
    pub entry: TableId,
    pub chosen: Option<Chosen>,
    pub message: Arc<Json>,
    pub args: Arc<Map<String, Json>>,
    /// Without what they said, which may be private.
    pub host_failures: Vec<Arc<str>>,
}

pub(super) struct Entry {
    record: Record,
    /// Without the handler's reply.
    outcome: Outcome,
    result: &'static str,
    error: Option<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    generation: u64,
    entry: &'a str,
    route: Option<&'a str>,
    handler: Option<&'a str>,
    path: &'a [String],
    args: Map<String, Json>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing_args: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    breaches: &'a [Breach],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    host_failures: Vec<&'a str>,
    elapsed_us: u64,
    result: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

impl Entry {
    pub(super) fn new(record: Record, outcome: &mut Outcome, result: &'static str) -> Entry {
        let error = outcome.result.error().map(str::to_owned);
        // The reply may be large: it steps aside while the rest is copied.
        let ending = std::mem::take(&mut outcome.result);
        let facts = outcome.clone();
        outcome.result = ending;
        Entry { record, outcome: facts, result, error }
    }

    /// The line, with its line feed.
    pub(super) fn to_line(&self, options: Options) -> Result<Vec<u8>, serde_json::Error> {
        let Entry { record, outcome, result, error } = self;
        let message = record.rules.masked_message(&record.message);
        let error = error.as_deref().map(|error| if message == *record.message { error } else { MASK });
        let line = Line {
            time: format_datetime(record.time),
            generation: outcome.generation,
            entry: &outcome.entry,
            route: outcome.route.as_deref(),
            handler: outcome.handler.as_deref(),
            path: &outcome.path,
            args: record.rules.masked_args(record.chosen, &record.args),
            missing_args: &outcome.missing_args,
            breaches: &outcome.breaches,
            host_failures: record.host_failures.iter().map(|name| &**name).collect(),
            elapsed_us: outcome.elapsed_us(),
            result,
            error,
            message: options.message.then_some(message),
            explanation: options
                .explanation
                .then(|| record.rules.table(record.entry).explain(&record.message, false)),
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
