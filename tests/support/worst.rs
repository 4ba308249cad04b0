//! Worst-case messages for each operator, function and statement, as large as the limits allow.
//! They show the maximum cost of a decision.
//!
//! `tests/it/worst.rs` decides these messages at a reduced size on every engine. That test fails if
//! an operator, function or statement has no case here. `benches/worst.sh` counts the CPU
//! instructions of the decisions at the full limits.
#![allow(dead_code, unused_imports, reason = "each program uses a part of it")]

#[path = "worst/functions.rs"]
mod functions;
#[path = "worst/operators.rs"]
mod operators;
#[path = "worst/statements.rs"]
mod statements;

pub use statements::WITHOUT;

use rulec::payload::Judge;
use rulec::{CompileError, Compiler, Exceeded, Rules};
use rulec_base::json::MAX_MESSAGE_OBJECTS;
use rulec_base::text::{automaton_state_count, parse_cached};
use rulec_lang::limits::{Limit, Limits};
use serde_json::{Value as Json, json};

/// A table of the language definition. Each worst case tests one row of such a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Operator,
    Function,
    Statement,
}

/// A worst case: the language table, the row of the table, the reason why the message is expensive,
/// and a function that builds the task.
pub type Case = (Table, &'static str, &'static str, fn(&Size) -> Task);

/// The rules and the message of a case.
pub struct Task {
    pub rules: String,
    pub message: Json,
}

/// Returns every worst case.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    [operators::CASES, functions::CASES, statements::CASES].into_iter().flatten()
}

/// How large the messages of the worst cases should be.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Approximate size of a message in bytes.
    pub bytes: usize,
    /// Divisor of the limits: a message should reach each limit divided by this number.
    part: u64,
}

impl Size {
    /// The size at which messages reach the full limits.
    pub const LIMITS: Size = Size { bytes: 16_000_000, part: 1 };
    /// A reduced size, for tests on every engine.
    pub const REDUCED: Size = Size { bytes: 32_000, part: 1_000 };

    /// Returns how much of a limit a case may use: the default limit divided by `part`.
    pub fn get(&self, limit: Limit) -> usize {
        (Limits::default().get(limit) / self.part) as usize
    }

    /// Returns the maximum number of records in a message, if each record takes `bytes` bytes and
    /// contains `objects` JSON objects.
    pub fn records(&self, bytes: usize, objects: usize) -> usize {
        // Ten objects are reserved for the objects that contain the records.
        (self.bytes / bytes).min((MAX_MESSAGE_OBJECTS - 10) / objects)
    }

    /// Returns the maximum number of elements that each quantifier may read, if `depth` quantifiers
    /// are nested.
    pub fn nest(&self, depth: u32) -> usize {
        Limits::default()
            .with_limit(Limit::QuantifierElements, self.get(Limit::QuantifierElements) as u64)
            .max_elements_per_quantifier(depth) as usize
    }

    /// Returns how much of the search-work limit is available for each pair of elements that two
    /// nested quantifiers visit.
    pub fn work_of_pair(&self) -> usize {
        // Use the full limits, because at a reduced size the work per pair would be less than one
        // letter.
        (Limits::default().get(Limit::SearchWork) as usize / Size::LIMITS.nest(2).pow(2))
            .min(self.bytes / 100)
    }
}

/// Returns the maximum length in bytes of a text that the regex `pattern` can search within the
/// limits.
pub fn searched_bytes(size: &Size, pattern: &str) -> usize {
    let states = parse_cached(pattern, false).map_or(1, |parsed| automaton_state_count(&parsed)) as usize;
    (size.get(Limit::RegexWork) / states).min(size.get(Limit::RegexBytes)).min(size.bytes / 2)
}

/// Returns a text of `bytes` letters.
pub fn text(bytes: usize) -> String {
    "a".repeat(bytes)
}

/// Returns a list that repeats one element.
pub fn list(count: usize, element: impl Into<Json>) -> Json {
    Json::Array(vec![element.into(); count])
}

/// Builds a task whose only route has this condition.
pub fn ask(condition: &str, message: Json) -> Task {
    Task { rules: format!("route r when {condition} -> h"), message }
}

/// Builds a task that evaluates a condition for every element `x` of the list `l`.
pub fn each(size: &Size, condition: &str, element: impl Into<Json>) -> Task {
    ask(&format!("any x in l: {condition}"), json!({ "l": list(size.nest(1), element) }))
}

/// Builds a task that evaluates a condition for every pair of elements `x` of the list `l` and `y`
/// of the list `m`.
pub fn pairs(size: &Size, condition: &str, x: impl Into<Json>, y: impl Into<Json>) -> Task {
    let count = size.nest(2);
    ask(&format!("any x in l: any y in m: {condition}"), json!({ "l": list(count, x), "m": list(count, y) }))
}

/// Builds a task like [`pairs`], in whose condition `y[x]` replaces each `$`. The value of `y[x]`
/// depends on both quantifiers, so no engine can compute the condition once.
pub fn indexed(size: &Size, condition: &str, value: impl Into<Json>) -> Task {
    pairs(size, &condition.replace('$', "y[x]"), 0, json!([value.into()]))
}

/// Decides a message, and validates the message as a payload of every kind. Returns the decisions
/// and validation results as JSON texts, and the exceeded limits. Rules without top-level routes
/// decide by every entry.
pub fn decide(rules: &Rules, line: &str, message: &Json) -> (Vec<String>, Vec<Exceeded>) {
    let (mut answers, mut exceeded) = (Vec::new(), Vec::new());
    // A table that a `goto` jumps to is an entry too, but the decision starts at the top-level
    // routes.
    let entries = match rules.main() {
        main if !main.is_empty() => vec![main],
        _ => {
            rules.entries().map(|name| rules.entry(name).unwrap_or_else(|error| panic!("{error}"))).collect()
        }
    };
    for entry in entries.into_iter().filter(|entry| !entry.is_empty()) {
        let decision = entry.decide_line(line.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        exceeded.extend(decision.exceeded());
        answers.push(serde_json::to_string(&decision).unwrap_or_else(|error| panic!("{error}")));
    }
    for kind in rulec::payload::kinds(rules) {
        let judge = Judge::new(rules, kind).unwrap_or_else(|error| panic!("{error}"));
        answers.push(serde_json::to_string(&judge.judge(message)).unwrap_or_else(|error| panic!("{error}")));
    }
    (answers, exceeded)
}

/// Compiles the rules of a case.
pub fn compile(rules: &str) -> Result<Rules, CompileError> {
    Compiler::new().function("plus", |a: i64, b: i64| a + b).compile_text(rules)
}
