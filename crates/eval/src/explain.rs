//! Explanations of decisions, as a plain-text tree for people and as JSON for programs. An
//! explanation is built from a trace, see [`crate::trace`]; nothing is evaluated here.

mod paint;
mod past;
mod render;
mod show;
mod summary;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod types;

pub use render::RenderOptions;
pub use summary::NearMiss;

use crate::evaluator::Evaluator;
use crate::trace::{HostFailed, Operand, SpanLookup, TableTrace, Tracer};
use rulec_base::diag::Language;
use rulec_sema::hir::{Outcome, TableId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::fmt;
#[cfg(test)]
use ts_rs::TS;

/// The explanation of a decision.
///
/// The JSON format is stable: fields are added but never renamed. Empty or absent fields are
/// omitted, except the fields from `entry` to `path` in the example.
///
/// ```json
/// {
///   "entry": "routes", "chosen": "run_code", "target": "code_handler", "args": {}, "metadata": {},
///   "tables": ["routes"], "path": [],
///   "missing_args": ["kind"],
///   "message": [{ "text": "ctx.n", "value": "7" }],
///   "host_failures": [{ "function": "lookup", "message": "timed out" }],
///   "trace": {
///     "table": "routes", "chose": true, "not_tried": 2, "disabled": ["old_path"],
///     "default": { "result": "skipped", "to": "default_handler" },
///     "routes": [{
///       "route": "show_files", "result": "unknown", "chosen": false, "priority": 100,
///       "to": "file_handler", "docs": "Lists files.", "place": { "file": "a.rules", "line": 3, "column": 1 },
///       "when": {
///         "kind": "and", "text": "ctx.n > 3 and about_files", "result": "unknown", "children": [{
///           "kind": "test", "text": "ctx.n > 3", "result": "unknown",
///           "operands": [{ "text": "ctx.n", "missing": true }],
///           "because": ["ctx.n is \"7\", a string, but a number is needed"]
///         }]
///       }
///     }]
///   }
/// }
/// ```
///
/// If intent flows were evaluated, `intents` has `threshold`, `margin` and the `ranked` flows. Each
/// ranked flow has `name`, `id`, `score` and `chosen`.
///
/// `chosen` is a route's name, `"default"`, or null. `result` is `true`, `false`, `unknown` or
/// `skipped`; a skipped node of a condition has `"note": "decided"`. A node's `kind` is `constant`,
/// `not`, `unless`, `and`, `or`, `test`, `any`, `all`, `let` or `call`. For a choice's branch the
/// `kind` is `all_usable` or `any_usable`, and an unusable condition has `"note": "left_out"`.
///
/// A route whose `goto` was taken has a `table`: the search of the target table. An operand has a
/// `value`, or `missing`, or `masked` with `•••` as its value. `length` is the full length of a
/// truncated value. `recorded` lists the positions of the recorded messages from which a value was
/// computed, unless the value is masked. The `elements` of a quantifier have `shown` (each with
/// `index`, `element` and `when`), `more` and `skipped`.
///
/// A condition on the history (earlier messages) has `past`. `searched` is the number of messages
/// that a quantifier searched. `count` is the number of messages that decided the result of the
/// condition. `newest` is the newest of them, with its time `at` and its `age` in seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Explanation {
    /// Name of the table in which the search began.
    pub entry: String,
    /// Name of the chosen route, or `default`; `None` if nothing was chosen.
    pub chosen: Option<String>,
    /// Name of the chosen handler; `None` if no handler was chosen.
    pub target: Option<String>,
    /// The arguments with which the chosen handler is called; private values are masked.
    pub args: Map<String, Json>,
    /// The metadata that the rules declare for the chosen handler, as JSON.
    pub metadata: Map<String, Json>,
    /// The permissions that the chosen handler requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// Names of the tables on the path from the entry table to the table of the chosen statement.
    pub tables: Vec<String>,
    /// Names of the routes whose `goto` led to the chosen statement, outermost first.
    pub path: Vec<String>,
    /// Names of the required arguments whose value is missing; in `args` they are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_args: Vec<String>,
    /// The message fields that were read, with their values in the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message: Vec<Operand>,
    /// The host functions (functions of the embedding program) that failed during the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_failures: Vec<HostFailed>,
    /// Trace of the search through the tables: the tried routes, with the results of their
    /// conditions.
    pub trace: TableTrace,
    /// Scores of the intent flows (flows that are chosen by the meaning of the text). They are
    /// evaluated if no keyword pattern matches; `None` if they were not evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub intents: Option<IntentTrace>,
}

/// The result of the built-in intent classifier, which chooses a flow by the meaning of the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct IntentTrace {
    /// Minimum score that an intent must have to be chosen.
    pub threshold: f64,
    /// Minimum difference between the best and the second-best score. If the difference is smaller,
    /// no intent is chosen.
    pub margin: f64,
    /// The intent flows (flows that are chosen by the meaning of the text) with the highest scores,
    /// best first, whether or not one was chosen.
    pub ranked: Vec<RankedIntent>,
}

/// An intent flow (a flow that is chosen by the meaning of the text) with its score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct RankedIntent {
    /// The name that the rules give the flow.
    pub name: String,
    /// The flow's id, which a decision returns if the flow is chosen.
    pub id: String,
    /// The classifier's score for the flow, from 0 to 1.
    pub score: f64,
    /// Whether the decision chose this flow.
    pub chosen: bool,
}

/// Explains how the table `entry` decides the message of the evaluator. `source` gives the texts of
/// the rules that the explanation quotes. Values of `@private` fields are masked unless
/// `show_private`.
pub fn explain(
    evaluator: Evaluator<'_>,
    entry: TableId,
    source: &dyn SpanLookup,
    show_private: bool,
) -> Explanation {
    let program = evaluator.program();
    let mut tracer = Tracer::new(evaluator, source, show_private);
    let (choice, trace) = tracer.decide(entry);
    let (args, missing_args) = tracer.masked_arguments(&choice);
    let outcome = choice.chosen.and_then(|chosen| chosen.outcome(program));
    let (target, metadata) = match outcome {
        Some(Outcome::Handler { name, metadata, .. }) => (Some(name.to_string()), (**metadata).clone()),
        _ => (None, Map::new()),
    };
    let required = target.as_deref().map_or(&[] as &[_], |handler| program.required_permissions(handler));
    let tables = choice.visited_tables(program, entry);
    Explanation {
        entry: program.tables[entry.index()].name.to_string(),
        chosen: choice.chosen.map(|chosen| chosen.name(program).to_owned()),
        target,
        args,
        metadata,
        requires: required.iter().map(ToString::to_string).collect(),
        tables: tables.iter().map(|id| program.tables[id.index()].name.to_string()).collect(),
        path: choice.path.iter().map(|id| program.rules[id.index()].name.to_string()).collect(),
        missing_args,
        message: tracer.read_message_fields(),
        host_failures: tracer.masked_host_failures(),
        trace,
        intents: None,
    }
}

impl Explanation {
    /// Returns a summary in English: one sentence, and a line for each near miss, which is a route
    /// whose condition was partly true.
    pub fn summary(&self) -> String {
        self.summary_in(Language::English)
    }

    /// Returns the summary of the decision in the given language: one sentence, and a line for each
    /// near miss (route whose condition was partly true).
    pub fn summary_in(&self, language: Language) -> String {
        summary::summarize(self, language)
    }

    /// Returns the conditions that were true and that led to the chosen statement, in the order of
    /// the search. Empty if nothing was chosen, or if a default was reached without a true
    /// condition.
    pub fn deciding_conditions(&self) -> Vec<&crate::trace::TraceNode> {
        summary::deciding_conditions(&self.trace)
    }

    /// Returns the routes that were tried and nearly chosen, the nearest first. Not part of the
    /// stable API.
    #[doc(hidden)]
    pub fn near_misses(&self) -> Vec<NearMiss<'_>> {
        summary::near_misses(self)
    }

    /// Translates the explanation's sentences. Texts that are quoted from the rules are not
    /// translated.
    #[must_use]
    pub fn localized(mut self, language: Language) -> Explanation {
        if language != Language::English {
            self.trace.localize(language);
        }
        self
    }

    /// Renders the explanation as a plain-text tree.
    pub fn render(&self, options: &RenderOptions) -> String {
        render::render(self, options)
    }
}

/// Formats the chosen handler with its arguments; `None` if no handler was chosen.
fn format_handler_call(explanation: &Explanation, language: Language) -> Option<String> {
    let args = || render::format_arguments(&explanation.args, language);
    explanation.target.as_ref().map(|target| format!("{target}{}", args()))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&RenderOptions::default()))
    }
}
