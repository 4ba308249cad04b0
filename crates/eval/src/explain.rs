//! Explanations: a decision and why it came out so, for people (a tree in plain text) and for
//! programs (JSON). Made by tracing, see [`crate::trace`]; nothing here evaluates anything.

mod render;
mod show;
mod summary;
#[cfg(test)]
mod tests;

pub use render::RenderOptions;

use crate::evaluator::Evaluator;
use crate::trace::{HostFailed, Operand, Source, TableTrace, Tracer};
use rulec_base::diag::Language;
use rulec_sema::hir::{Outcome, TableId};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::fmt;

/// The explanation of a decision.
///
/// Its JSON is stable: fields are added, never renamed; what is empty or absent is left out, except
/// in the first group.
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
///           "because": ["ctx.n is \"7\", a string, where a number is wanted"]
///         }]
///       }
///     }]
///   }
/// }
/// ```
///
/// Where intent flows were asked, `intents` has `threshold`, `margin` and the `ranked` flows, each with `name`, `id`,
/// `score` and `chosen`.
///
/// `chosen` is a route's name, `"default"`, or null. `result` is `true`, `false`, `unknown` or
/// `skipped`; a skipped node of a condition has `"note": "decided"`. A node's `kind` is `constant`,
/// `not`, `and`, `or`, `test`, `any`, `all`, `let`, `call`, or for the conditions of a choice's branch
/// `all_usable` or `any_usable`; of those, one that was left out has `"note": "left_out"`. A route that jumped has a `table` with
/// the search of the inner table. Operands are `value`, or `missing`, or `masked` with `•••` for a
/// value; `length` is the full length of one that was cut. `elements` of a quantifier has `shown`
/// (each with `index`, `element` and `when`), `more` and `skipped`.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The table the decision was asked of.
    pub entry: String,
    /// The chosen route, or `default`; `None` when nothing was chosen.
    pub chosen: Option<String>,
    /// The chosen handler.
    pub target: Option<String>,
    /// Its arguments; private ones are masked.
    pub args: Map<String, Json>,
    /// Its metadata.
    pub metadata: Map<String, Json>,
    /// The permissions that it requires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// The tables walked through, the entry first, the one of the chosen statement last.
    pub tables: Vec<String>,
    /// The routes whose jumps were taken, outermost first.
    pub path: Vec<String>,
    /// Required arguments that are missing; they are null in `args`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_args: Vec<String>,
    /// The fields of the message that were read, as they stand in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub message: Vec<Operand>,
    /// Host functions that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_failures: Vec<HostFailed>,
    /// The search, step by step.
    pub trace: TableTrace,
    /// The intent flows that were asked, where no pattern of a keyword flow was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intents: Option<IntentTrace>,
}

/// The answer of the built-in classifier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IntentTrace {
    /// The least score of an intent that is chosen.
    pub threshold: f64,
    /// The least lead over the second.
    pub margin: f64,
    /// The intent flows that came nearest, best first.
    pub ranked: Vec<RankedIntent>,
}

/// An intent flow with its score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedIntent {
    /// Its name in the rules.
    pub name: String,
    /// The id that it answers with.
    pub id: String,
    /// From 0 to 1.
    pub score: f64,
    /// True when it was chosen.
    pub chosen: bool,
}

/// Explains the decision that a table comes to on the evaluator's message. Values of `@private`
/// fields are masked unless `show_private`.
pub fn explain(
    evaluator: Evaluator<'_>,
    entry: TableId,
    source: &dyn Source,
    show_private: bool,
) -> Explanation {
    let program = evaluator.program();
    let mut tracer = Tracer::new(evaluator, source, show_private);
    let (choice, trace) = tracer.decide(entry);
    let (args, missing_args) = tracer.arguments(&choice);
    let outcome = choice.chosen.and_then(|chosen| chosen.outcome(program));
    let (target, metadata) = match outcome {
        Some(Outcome::Handler { name, metadata, .. }) => (Some(name.to_string()), (**metadata).clone()),
        _ => (None, Map::new()),
    };
    let required = target.as_deref().map_or(&[] as &[_], |handler| program.required(handler));
    let tables = choice.tables(program, entry);
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
        message: tracer.message(),
        host_failures: tracer.host_failures(),
        trace,
        intents: None,
    }
}

impl Explanation {
    /// The explanation in a sentence, with a line for each route that came near.
    pub fn summary(&self) -> String {
        self.summary_in(Language::English)
    }

    /// The same in a language.
    pub fn summary_in(&self, language: Language) -> String {
        summary::summary(self, language)
    }

    /// The same with its sentences in a language; those that the author wrote stay as they are.
    #[must_use]
    pub fn told_in(mut self, language: Language) -> Explanation {
        if language != Language::English {
            self.trace.tell_in(language);
        }
        self
    }

    /// The explanation as a tree in plain text.
    pub fn render(&self, options: &RenderOptions) -> String {
        render::render(self, options)
    }
}

/// The handler that was chosen, with its arguments.
fn headline_target(explanation: &Explanation, language: Language) -> Option<String> {
    let args = || render::arguments(&explanation.args, language);
    explanation.target.as_ref().map(|target| format!("{target}{}", args()))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&RenderOptions::default()))
    }
}
