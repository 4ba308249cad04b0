//! Runs the `test` blocks that authors write in rule files, and reports whether the decisions are
//! as expected.

use super::{Decision, Rules};
use crate::history::Past;
use rulec_base::diag::Message;
use rulec_base::parallel::{self, ThreadLimit};
use rulec_base::span::Span;
use rulec_eval::decision::Chosen;
use rulec_eval::explain::Explanation;
use rulec_eval::trace;
use rulec_lang::value::{Value, is_identical};
use rulec_sema::hir::{ExpectedDecision, OutcomeExpectations, TableId, TableKind, Test};
use serde_json::{Map, Value as Json};

/// The result of running one `test` block.
#[derive(Clone, Debug)]
pub struct TestOutcome {
    /// The name of the `test` block.
    pub name: String,
    /// The span of the test's name in the source text.
    pub span: Span,
    /// Whether the decision was as the test expects.
    pub passed: bool,
    /// The expected result: the name of a route, `default` or `none`. A route of a table is written
    /// `TABLE.ROUTE`. Other expected values follow, as in `refunds -> refund_handler(amount: 5)`.
    pub expected: String,
    /// The chosen route and the actual values, in the format of `expected`. If the test could not
    /// be run, the error.
    pub actual: Message,
    /// The explanation of the decision of a failed test. `None` for a passed test, for a test of a
    /// payload, and for a test that could not be run.
    pub explanation: Option<Explanation>,
}

impl Rules {
    /// Runs the `test` blocks about decisions of tables. [`run_tests`](fn@crate::run_tests) also
    /// runs the tests of payloads, and of intent flows (flows that the classifier selects).
    /// Values of `@private` fields are masked in the outcomes.
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        self.run_tests_with(false)
    }

    /// Like [`Rules::run_tests`], but with `show_private` the outcomes show private values.
    pub fn run_tests_with(&self, show_private: bool) -> Vec<TestOutcome> {
        let tests = &self.rule_set().program.tests;
        let test_groups =
            tests.chunks(tests.len().div_ceil(ThreadLimit::All.count_for_statements(tests.len())).max(1));
        let run_group = |part: &[Test]| {
            part.iter().filter_map(|test| self.run_test(test, show_private)).collect::<Vec<_>>()
        };
        parallel::map_in_parallel(test_groups, run_group).into_iter().flatten().collect()
    }

    /// Returns the earlier messages that a `test` block lists, which its decision reads as
    /// `history`. Not part of the stable API.
    #[doc(hidden)]
    pub fn past_of_test(&self, test: &Test) -> Past {
        let plan = self.rule_set().history_plan();
        plan.map(|plan| plan.past_of_test(test.history.clone(), &test.message)).unwrap_or_default()
    }

    /// Runs a `test` block that expects a decision of a table, choice or router. `None` for a test
    /// about a payload. `None` also for a test about flows if the rules have intent flows (flows
    /// that the classifier selects). Other code runs these tests.
    fn run_test(&self, test: &Test, show_private: bool) -> Option<TestOutcome> {
        let past = self.past_of_test(test);
        let entry = self.table(test.entry_table).with_history(&past);
        if entry.kind() == TableKind::Flows && self.rule_set().program.has_intents() {
            return None;
        }
        let decision = entry.decide(&test.message);
        let program = &self.rule_set().program;
        let actual = decision.statement();
        let expected = match test.expect {
            ExpectedDecision::Rule(id) => Some(Chosen::Rule(id)),
            ExpectedDecision::Default(table) => Some(Chosen::Default(table)),
            ExpectedDecision::Nothing => None,
            ExpectedDecision::Any => actual,
            ExpectedDecision::Judgement { .. } | ExpectedDecision::Flow(_) => return None,
        };
        let format_chosen = |chosen: Option<Chosen>| match chosen {
            None => "none".to_owned(),
            Some(chosen) => match chosen.table(program) {
                TableId(0) => chosen.name(program).to_owned(),
                table => format!("{}.{}", program.tables[table.index()].name, chosen.name(program)),
            },
        };
        // The patterns of one flow are rules with the same name, so compare names, not ids.
        let comparison_key =
            |chosen: Chosen| (chosen.table(program), chosen.name(program), matches!(chosen, Chosen::Rule(_)));
        let actual_then = actual_outcome(&test.outcome, &decision);
        let passed = actual.map(comparison_key) == expected.map(comparison_key)
            && is_same_outcome(&test.outcome, &actual_then);
        let expected_rule =
            if test.expect == ExpectedDecision::Any { String::new() } else { format_chosen(expected) };
        let mask_outcome = |chosen: Option<Chosen>, then: &OutcomeExpectations| match chosen
            .and_then(|chosen| chosen.outcome(program))
        {
            Some(outcome) if !show_private => {
                OutcomeExpectations { args: trace::mask_args(program, outcome, &then.args), ..then.clone() }
            }
            _ => then.clone(),
        };
        let shown_expected = mask_outcome(expected, &test.outcome);
        let shown_actual = mask_outcome(actual, &actual_then);
        Some(TestOutcome {
            name: test.name.to_string(),
            span: test.span,
            passed,
            expected: format_outcome(expected_rule, &shown_expected),
            actual: Message::verbatim(format_outcome(format_chosen(actual), &shown_actual)),
            explanation: (!passed).then(|| entry.explain(&test.message, show_private)),
        })
    }
}

/// Returns the outcome of a decision, for the comparison with `expected`. A test need not mention
/// the whole outcome, so only the parts and the keys that it mentions are included. If the test
/// mentions arguments, but another handler was chosen, all arguments of that handler are included.
fn actual_outcome(expected: &OutcomeExpectations, decision: &Decision) -> OutcomeExpectations {
    let select_keys = |expected: &Map<String, Json>, found: &Map<String, Json>| {
        expected.keys().map(|key| (key.clone(), found.get(key).cloned().unwrap_or_default())).collect()
    };
    let next = |next: crate::engine::NextNodes<'_>| {
        (next.nodes.iter().map(|node| node.as_str().into()).collect(), next.loopback)
    };
    // If the chosen handler differs from the expected one, its arguments differ too, so show all of
    // them.
    let is_other_handler =
        expected.handler.as_ref().is_some_and(|expected| decision.target() != Some(expected));
    let args = match is_other_handler && !expected.args.is_empty() {
        true => decision.args().clone(),
        false => select_keys(&expected.args, decision.args()),
    };
    OutcomeExpectations {
        handler: expected.handler.as_ref().and_then(|_| decision.target().map(Into::into)),
        args,
        metadata: select_keys(&expected.metadata, decision.metadata()),
        next_nodes: expected.next_nodes.as_ref().and_then(|_| decision.next().map(next)),
        score_bound: None,
    }
}

/// True if the expected and the actual outcome of a `test` block are equal; `1` and `1.0` are equal
/// numbers.
fn is_same_outcome(expected: &OutcomeExpectations, actual: &OutcomeExpectations) -> bool {
    let has_same_values = |expected: &Map<String, Json>, actual: &Map<String, Json>| {
        expected.values().zip(actual.values()).all(|(expected, actual)| {
            expected == actual || is_identical(Value::from_json(expected), Value::from_json(actual))
        })
    };
    expected.handler == actual.handler
        && expected.next_nodes == actual.next_nodes
        && has_same_values(&expected.args, &actual.args)
        && has_same_values(&expected.metadata, &actual.metadata)
}

/// Formats the name of an expected or chosen statement, followed by an outcome, in the syntax of a
/// `test` block.
fn format_outcome(rule: String, then: &OutcomeExpectations) -> String {
    let mut text = rule;
    let format_entries = |entries: &Map<String, Json>| -> String {
        entries.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", ")
    };
    let mut append = |part: String| {
        text.push_str(if text.is_empty() { "" } else { " " });
        text.push_str(&part);
    };
    if let Some(handler) = &then.handler {
        let args =
            if then.args.is_empty() { String::new() } else { format!("({})", format_entries(&then.args)) };
        append(format!("-> {handler}{args}"));
    }
    if !then.metadata.is_empty() {
        append(format!("{{ {} }}", format_entries(&then.metadata)));
    }
    if let Some((nodes, loopback)) = &then.next_nodes {
        append(format!("-> {}{}", nodes.join(", "), if *loopback { " loopback" } else { "" }));
    }
    text
}
