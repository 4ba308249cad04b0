//! The coverage of the tests in rule files: runs each test, and counts its decision or judgement.

use super::Coverage;
use rulec::flow::FlowMatcher;
use rulec::payload::{Judge, JudgeError};
use rulec::{Rules, TableKind};
use rulec_sema::hir::ExpectedDecision;
use serde_json::Value as Json;

impl<'r> Coverage<'r> {
    /// Runs the tests whose names `selects_test` accepts, and returns their coverage.
    pub fn from_tests(rules: &'r Rules, selects_test: impl Fn(&str) -> bool) -> Coverage<'r> {
        let (program, mut coverage) = (rules.program(), Coverage::new(rules));
        let matcher = program.has_intents().then(|| FlowMatcher::offline(rules).ok()).flatten();
        for test in program.tests.iter().filter(|test| selects_test(&test.name)) {
            if let ExpectedDecision::Judgement { payload_kind: kind, .. } = &test.expect {
                if let Ok((judge, payload)) = judge_and_payload(rules, kind, &test.message) {
                    let judge = judge.with_history(rules.past_of_test(test));
                    coverage.add_judgement(kind, &judge.judge(payload));
                    judge.count_conditions(payload, coverage.condition_coverage_mut());
                }
                continue;
            }
            let table = &program.tables[test.entry_table.index()];
            let Ok(entry) = rules.entry_of_kind(&table.name, table.kind) else { continue };
            let past = rules.past_of_test(test);
            let entry = entry.with_history(&past);
            let matcher = matcher.as_ref().filter(|_| table.kind == TableKind::Flows);
            let explanation = matcher.and_then(|matcher| matcher.explain(&test.message, true));
            coverage.add_decision(&explanation.unwrap_or_else(|| entry.explain(&test.message, true)));
            entry.count_conditions(&test.message, coverage.condition_coverage_mut());
        }
        coverage
    }
}

/// Returns a validator for payloads of the kind `kind` (name of a `payload` statement), and the
/// payload in a test message. The other fields of the message become inputs of the validator.
fn judge_and_payload<'m>(
    rules: &Rules,
    kind: &str,
    message: &'m Json,
) -> Result<(Judge, &'m Json), JudgeError> {
    let mut judge = Judge::new(rules, kind)?;
    for (name, value) in message.as_object().into_iter().flatten().filter(|(name, _)| *name != "payload") {
        judge = judge.input(name, value.clone())?;
    }
    Ok((judge, message.get("payload").unwrap_or(&Json::Null)))
}
