//! Runs the `test` blocks about flows, if the rules have intent flows. Each test message is matched
//! against the patterns of the keyword flows, then classified.

use super::{FlowMatcher, FlowSelection, message_text};
use crate::engine::{Rules, TestOutcome};
use rulec_base::diag::Message;
use rulec_eval::decision::Chosen;
use rulec_sema::hir::{ExpectedDecision, FLOWS_TABLE, Program, TableKind, Test};

/// Runs the `test` blocks that expect a flow, with the patterns and the classifier. Returns an
/// empty list if the rules have no intent flows (flows that the classifier selects), because
/// [`Rules::run_tests`] runs these tests then. Values of `@private` fields are masked in the
/// outcomes.
pub fn run_tests(rules: &Rules) -> Vec<TestOutcome> {
    run_tests_with(rules, false)
}

/// Like [`run_tests`] for flows, but with `show_private` the outcomes show private values.
pub(crate) fn run_tests_with(rules: &Rules, show_private: bool) -> Vec<TestOutcome> {
    let program = rules.program();
    let is_about_flows = |test: &&Test| program.tables[test.entry_table.index()].kind == TableKind::Flows;
    let mut tests = program.tests.iter().filter(is_about_flows).peekable();
    if tests.peek().is_none() || !program.has_intents() {
        return Vec::new();
    }
    let matcher = FlowMatcher::offline(rules);
    tests
        .filter_map(|test| {
            let expected = expected_flow(program, test)?;
            let (passed, actual) = match &matcher {
                Ok(matcher) => {
                    let (passed, actual) = check_selection(matcher, &expected, test);
                    (passed, Message::verbatim(actual))
                }
                Err(error) => (false, error.to_message()),
            };
            let explain = |matcher: &FlowMatcher| matcher.explain(&test.message, show_private);
            Some(TestOutcome {
                name: test.name.to_string(),
                span: test.span,
                passed,
                expected: match &test.outcome.score_bound {
                    Some((sign, bound)) => format!("{} score {sign} {bound}", format_flow(expected.name())),
                    None => format_flow(expected.name()),
                },
                actual,
                explanation: matcher.as_ref().ok().filter(|_| !passed).and_then(explain),
            })
        })
        .collect()
}

/// The flow that a `test` block expects: a keyword flow (found by its patterns), or an intent flow
/// (found by the classifier).
enum ExpectedFlow<'p> {
    Keyword(&'p str),
    Intent { name: &'p str, id: &'p str },
    Nothing,
}

impl<'p> ExpectedFlow<'p> {
    fn name(&self) -> Option<&'p str> {
        match self {
            ExpectedFlow::Keyword(name) | ExpectedFlow::Intent { name, .. } => Some(name),
            ExpectedFlow::Nothing => None,
        }
    }
}

fn expected_flow<'p>(program: &'p Program, test: &Test) -> Option<ExpectedFlow<'p>> {
    match test.expect {
        ExpectedDecision::Rule(rule) => Some(ExpectedFlow::Keyword(Chosen::Rule(rule).name(program))),
        ExpectedDecision::Flow(flow) => {
            let flow = program.flows.get(flow.index())?;
            Some(ExpectedFlow::Intent { name: &flow.name, id: &flow.id })
        }
        ExpectedDecision::Nothing => Some(ExpectedFlow::Nothing),
        ExpectedDecision::Default(_) | ExpectedDecision::Any | ExpectedDecision::Judgement { .. } => None,
    }
}

fn check_selection(matcher: &FlowMatcher, expected: &ExpectedFlow<'_>, test: &Test) -> (bool, String) {
    match (matcher.find(message_text(&test.message)), expected) {
        (FlowSelection::Keyword(hit), ExpectedFlow::Keyword(name)) => {
            (hit.name == *name, format_flow(Some(hit.name)))
        }
        (FlowSelection::Keyword(hit), _) => (false, format_flow(Some(hit.name))),
        // Flows with the same id count as one.
        (FlowSelection::Intent(hit), ExpectedFlow::Intent { name, id }) if hit.id == *id => {
            match &test.outcome.score_bound {
                None => (true, format_flow(Some(name))),
                Some((sign, bound)) => (
                    is_score_within_bound(hit.score, sign, *bound),
                    format!("{} score {:.3}", format_flow(Some(name)), hit.score),
                ),
            }
        }
        (FlowSelection::Intent(hit), _) => (false, format_flow(Some(&hit.name))),
        (FlowSelection::Nothing { .. }, expected) => {
            (matches!(expected, ExpectedFlow::Nothing), format_flow(None))
        }
    }
}

fn is_score_within_bound(score: f64, sign: &str, bound: f64) -> bool {
    match sign {
        ">=" => score >= bound,
        ">" => score > bound,
        "<=" => score <= bound,
        _ => score < bound,
    }
}

/// Formats the expected or actual flow in the syntax of a `test` block; `None` means that no flow
/// was selected.
fn format_flow(name: Option<&str>) -> String {
    name.map_or_else(|| "none".to_owned(), |name| format!("{FLOWS_TABLE}.{name}"))
}
