//! The worst messages of each operator, function and statement, as large as the limits allow: what a decision costs at most.
//!
//! `tests/worst.rs` decides them at a reduced size by every engine, and fails for a row of the tables that has none here.
//! `benches/worst.sh` counts their instructions at the limits.
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
use rulec_base::json::MAX_OBJECTS;
use rulec_base::text::{automaton_states, parsed};
use rulec_lang::limits::{Limit, Limits};
use serde_json::{Value as Json, json};

/// The table that a case is about a row of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Operator,
    Function,
    Statement,
}

/// A case: the row, what is bad about the message, and the rules with the message.
pub type Case = (Table, &'static str, &'static str, fn(&Size) -> Task);

/// The rules and the message of a case.
pub struct Task {
    pub rules: String,
    pub message: Json,
}

/// Every case.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    [operators::CASES, functions::CASES, statements::CASES].into_iter().flatten()
}

/// The bounds that the messages of the cases go up to.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The bytes of a message, roughly.
    pub bytes: usize,
    /// One part in so many of each limit.
    part: u64,
}

impl Size {
    /// At the limits.
    pub const LIMITS: Size = Size { bytes: 16_000_000, part: 1 };
    /// For a test that decides by every engine.
    pub const REDUCED: Size = Size { bytes: 32_000, part: 1_000 };

    /// The amount of a limit to go up to.
    pub fn of(&self, limit: Limit) -> usize {
        (Limits::default().of(limit) / self.part) as usize
    }

    /// As many records as a message may have, each of so many bytes and objects.
    pub fn records(&self, bytes: usize, objects: usize) -> usize {
        // Some objects stand around them.
        (self.bytes / bytes).min((MAX_OBJECTS - 10) / objects)
    }

    /// The elements that each quantifier in a nest reads.
    pub fn nest(&self, depth: u32) -> usize {
        Limits::default()
            .with(Limit::QuantifierElements, self.of(Limit::QuantifierElements) as u64)
            .elements(depth) as usize
    }

    /// The work that is left for each pair of elements that two quantifiers, one in the other, read.
    pub fn work_of_pair(&self) -> usize {
        // What a reduced size leaves would be less than one letter.
        (Limits::default().of(Limit::SearchWork) as usize / Size::LIMITS.nest(2).pow(2)).min(self.bytes / 100)
    }
}

/// The bytes of a text that an expression may look through.
pub fn searched_bytes(size: &Size, pattern: &str) -> usize {
    let states = parsed(pattern, false).map_or(1, |parsed| automaton_states(&parsed)) as usize;
    (size.of(Limit::RegexWork) / states).min(size.of(Limit::RegexBytes)).min(size.bytes / 2)
}

/// A text of so many letters.
pub fn text(bytes: usize) -> String {
    "a".repeat(bytes)
}

/// A list of one element again and again.
pub fn list(count: usize, element: impl Into<Json>) -> Json {
    Json::Array(vec![element.into(); count])
}

/// A condition that a message is asked.
pub fn ask(condition: &str, message: Json) -> Task {
    Task { rules: format!("route r when {condition} -> h"), message }
}

/// A condition about `x` of `l`, asked of every element.
pub fn each(size: &Size, condition: &str, element: impl Into<Json>) -> Task {
    ask(&format!("any x in l: {condition}"), json!({ "l": list(size.nest(1), element) }))
}

/// A condition about `x` of `l` and `y` of `m`, asked of every pair.
pub fn pairs(size: &Size, condition: &str, x: impl Into<Json>, y: impl Into<Json>) -> Task {
    let count = size.nest(2);
    ask(&format!("any x in l: any y in m: {condition}"), json!({ "l": list(count, x), "m": list(count, y) }))
}

/// A condition about `$`, an element of `y` that `x` says, which depends on the elements of both quantifiers and so is computed for each pair.
pub fn indexed(size: &Size, condition: &str, value: impl Into<Json>) -> Task {
    pairs(size, &condition.replace('$', "y[x]"), 0, json!([value.into()]))
}

/// The result of a message: the choice of the routes, or of the other entries when there are none, and the judgements.
pub fn decide(rules: &Rules, line: &str, message: &Json) -> (Vec<String>, Vec<Exceeded>) {
    let (mut answers, mut exceeded) = (Vec::new(), Vec::new());
    // The tables that routes lead to are entries too, but a decision begins in one.
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

/// The rules of a case, compiled.
pub fn compile(rules: &str) -> Result<Rules, CompileError> {
    Compiler::new().function("plus", |a: i64, b: i64| a + b).compile_text(rules)
}
