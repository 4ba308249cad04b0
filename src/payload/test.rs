//! Runs the `test` blocks of a rule set that expect a verdict on a payload.

use super::{Judge, JudgeError};
use crate::engine::{Rules, TestOutcome};
use rulec_base::diag::Message;
use rulec_sema::hir::{ExpectedDecision, Test};
use serde_json::Value as Json;
use std::sync::Arc;

/// A violated rule, and the path of the value that violates it.
type ViolatedRule = (Arc<str>, String);

/// Runs the `test` blocks that expect a verdict on a payload.
pub fn run_tests(rules: &Rules) -> Vec<TestOutcome> {
    rules.program().tests.iter().filter_map(|test| run_test(rules, test)).collect()
}

fn run_test(rules: &Rules, test: &Test) -> Option<TestOutcome> {
    let ExpectedDecision::Judgement { payload_kind: kind, validation_outcome: outcome, violations: breaks } =
        &test.expect
    else {
        return None;
    };
    let expected =
        format_verdict(kind, outcome, breaks.iter().map(|(rule, path)| (&**rule, path.as_deref())));
    // If the test expects paths, show the actual paths too.
    let shows_paths = breaks.iter().any(|(_, path)| path.is_some());
    let (passed, actual) = match judge_test_payload(rules, kind, test) {
        Ok((found, broken)) => {
            let is_expected = *found == **outcome && (breaks.is_empty() || matches_expected(breaks, &broken));
            let mut shown_rules: Vec<(&str, Option<&str>)> =
                broken.iter().map(|(rule, path)| (&**rule, shows_paths.then_some(&**path))).collect();
            shown_rules.dedup();
            (is_expected, Message::verbatim(format_verdict(kind, found, shown_rules.into_iter())))
        }
        Err(error) => (false, error.to_message()),
    };
    let (name, span) = (test.name.to_string(), test.span);
    Some(TestOutcome { name, span, passed, expected, actual, explanation: None })
}

/// True if the rules in `broken`, which are violated, are exactly the expected rules. An expected
/// rule without a path may be violated at any path.
fn matches_expected(expected: &[(Arc<str>, Option<Arc<str>>)], broken: &[ViolatedRule]) -> bool {
    let is_at = |path: &str, expected_path: Option<&str>| {
        expected_path.is_none_or(|expected_path| expected_path == path)
    };
    let is_expected = |rule: &str, path: &str| {
        expected.iter().any(|(name, expected_path)| **name == *rule && is_at(path, expected_path.as_deref()))
    };
    let is_violated = |(name, expected_path): &(Arc<str>, Option<Arc<str>>)| {
        broken.iter().any(|(rule, path)| rule == name && is_at(path, expected_path.as_deref()))
    };
    broken.iter().all(|(rule, path)| is_expected(rule, path)) && expected.iter().all(is_violated)
}

/// Validates the payload of a test. Returns the verdict, and the violated rules with their paths,
/// sorted by rule name.
fn judge_test_payload(
    rules: &Rules,
    kind: &str,
    test: &Test,
) -> Result<(&'static str, Vec<ViolatedRule>), JudgeError> {
    let message = &test.message;
    let mut judge = Judge::new(rules, kind)?.with_history(rules.past_of_test(test));
    for (name, value) in message.as_object().into_iter().flatten() {
        if name != "payload" {
            judge = judge.input(name, value.clone())?;
        }
    }
    let judgement = judge.judge(message.get("payload").unwrap_or(&Json::Null));
    let broken = judgement.violations().iter().map(|broken| (broken.rule.clone(), broken.path.clone()));
    let broken: Vec<ViolatedRule> = broken.collect();
    Ok((judgement.outcome().name(), broken))
}

fn format_verdict<'a>(
    kind: &str,
    outcome: &str,
    violated_rules: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> String {
    let rules = violated_rules.map(|(rule, path)| match path {
        Some(path) => format!(" \"{rule}\" at \"{path}\""),
        None => format!(" \"{rule}\""),
    });
    format!("{kind}.{outcome}{}", rules.collect::<String>())
}
