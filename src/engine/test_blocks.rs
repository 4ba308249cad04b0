//! Running the `test` blocks of a rule set.

use super::Rules;
use crate::decision::Chosen;
use crate::explain::Explanation;
use crate::sema::hir::{Expect, TableId, TableKind, Test};
use crate::span::Span;

/// The result of a `test` block.
#[derive(Clone, Debug)]
pub struct TestOutcome {
    /// Its name, which says what it shows.
    pub name: String,
    /// The span of its name.
    pub span: Span,
    /// True when the expectation was met.
    pub passed: bool,
    /// The expected route, `default` or `none`; routes of a table as `TABLE.ROUTE`.
    pub expected: String,
    /// The route that was chosen, written alike.
    pub actual: String,
    /// The reasons why it was chosen, for a test that failed.
    pub explanation: Option<Explanation>,
}

impl Rules {
    /// Runs the `test` blocks that the tables decide alone. [`run_tests`](fn@crate::systems::run_tests) runs all,
    /// those about payloads and intent flows as well.
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        self.set().program.tests.iter().filter_map(|test| self.run_test(test)).collect()
    }

    /// Runs a test of a decision.
    fn run_test(&self, test: &Test) -> Option<TestOutcome> {
        let entry = self.table(test.entry);
        if entry.kind() == TableKind::Flows && self.set().program.has_intents() {
            return None;
        }
        let decision = entry.decide(&test.message);
        let program = &self.set().program;
        let expected = match test.expect {
            Expect::Rule(id) => Some(Chosen::Rule(id)),
            Expect::Default(table) => Some(Chosen::Default(table)),
            Expect::Nothing => None,
            Expect::Judgement { .. } | Expect::Flow(_) => return None,
        };
        let name = |chosen: Option<Chosen>| match chosen {
            None => "none".to_owned(),
            Some(chosen) => match chosen.table(program) {
                TableId(0) => chosen.name(program).to_owned(),
                table => format!("{}.{}", program.tables[table.index()].name, chosen.name(program)),
            },
        };
        let actual = decision.statement();
        // The patterns of a flow are rules of one name.
        let place =
            |chosen: Chosen| (chosen.table(program), chosen.name(program), matches!(chosen, Chosen::Rule(_)));
        let passed = actual.map(place) == expected.map(place);
        Some(TestOutcome {
            name: test.name.to_string(),
            span: test.span,
            passed,
            expected: name(expected),
            actual: name(actual),
            explanation: (!passed).then(|| entry.explain(&test.message, true)),
        })
    }
}
