//! `test` blocks about payloads: what a judge says against what the test expects.

use super::Judge;
use crate::engine::{Rules, TestOutcome};
use crate::sema::hir::{Expect, Test};
use serde_json::Value as Json;
use std::sync::Arc;

/// Runs the `test` blocks that say how a payload is judged.
pub fn run_tests(rules: &Rules) -> Vec<TestOutcome> {
    rules.program().tests.iter().filter_map(|test| run_test(rules, test)).collect()
}

fn run_test(rules: &Rules, test: &Test) -> Option<TestOutcome> {
    let Expect::Judgement { kind, outcome, breaks } = &test.expect else { return None };
    let breaks: Vec<&str> = breaks.iter().map(|rule| &**rule).collect();
    let expected = shown(kind, outcome, &breaks);
    let (passed, actual) = match judged(rules, kind, &test.message) {
        Ok((found, broken)) => {
            let broken: Vec<&str> = broken.iter().map(|rule| &**rule).collect();
            let same = *found == **outcome && (breaks.is_empty() || breaks == broken);
            (same, shown(kind, found, &broken))
        }
        Err(error) => (false, error),
    };
    let (name, span) = (test.name.to_string(), test.span);
    Some(TestOutcome { name, span, passed, expected, actual, explanation: None })
}

/// The outcome and the rules that were broken, each once.
fn judged(rules: &Rules, kind: &str, message: &Json) -> Result<(&'static str, Vec<Arc<str>>), String> {
    let mut judge = Judge::new(rules, kind).map_err(|error| error.to_string())?;
    for (name, value) in message.as_object().into_iter().flatten() {
        if name != "payload" {
            judge = judge.input(name, value.clone()).map_err(|error| error.to_string())?;
        }
    }
    let judgement = judge.judge(message.get("payload").unwrap_or(&Json::Null));
    let mut broken: Vec<Arc<str>> = judgement.violations().iter().map(|broken| broken.rule.clone()).collect();
    broken.dedup();
    Ok((judgement.outcome().name(), broken))
}

fn shown(kind: &str, outcome: &str, breaks: &[&str]) -> String {
    let rules: String = breaks.iter().map(|rule| format!(" \"{rule}\"")).collect();
    format!("{kind}.{outcome}{rules}")
}
