//! The systems over the one engine. None has an evaluator of its own: each brings messages to the
//! compiled rules and acts on what they decide.
//!
//! | module | what it holds |
//! |---|---|
//! | [`payload`] | judging payloads: violations with places, corrections, arbitration, JSON Schema |
//! | [`flow`] | which flow a message wants: patterns, classifier |
//! | [`choice`] | choices beside their conditions: questions to a language model, tools, reasons in words |
//! | [`condition`] | conditions that come as texts while the program runs |
//! | [`prompt`] | what a language model is told of the flows, and the tool it answers by |
//! | [`shipped`] | the rule files that come with the project |
//!
//! The systems that need an async runtime or an HTTP client are packages of their own: `rulec-runtime`, `rulec-http`.

pub mod choice;
pub mod condition;
pub mod flow;
pub mod payload;
pub mod prompt;
pub mod shipped;

use crate::engine::{Rules, TestOutcome};

/// Runs every `test` block: what the tables decide, how payloads are judged, and which flow is found. Those of flows
/// ask the built-in classifier as well, where there are intent flows.
pub fn run_tests(rules: &Rules) -> Vec<TestOutcome> {
    let mut outcomes = rules.run_tests();
    outcomes.extend(payload::run_tests(rules));
    outcomes.extend(flow::run_tests(rules));
    outcomes.sort_by_key(|outcome| outcome.span);
    outcomes
}
