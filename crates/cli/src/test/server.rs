//! Implements `rulec test --server`: lets a running service run the tests of its rules, and prints
//! the results.

use super::{Args, ReportedTest, TestFormat, TestTally, write_outcomes, write_test_summary};
use crate::escape::escape_json_texts;
use crate::server::{ServiceClient, language_name, rules_name};
use crate::term::{Out, Term};
use crate::{CliError, ExitStatus};
use rulec::{Explanation, Message};
use rulec_base::message;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::path::Path;

#[derive(Deserialize)]
struct ServiceOverview {
    rules: Vec<ListedRuleSet>,
}

#[derive(Deserialize)]
struct ListedRuleSet {
    name: String,
}

#[derive(Deserialize)]
struct TestsAnswer {
    tests: Vec<AnsweredTest>,
}

#[derive(Deserialize)]
struct AnsweredTest {
    name: String,
    file: Option<String>,
    line: usize,
    column: usize,
    passed: bool,
    expected: String,
    actual: String,
    #[serde(default)]
    explanation: Option<Explanation>,
}

/// Requests test runs from the service, and prints the results as `rulec test` prints them for
/// files.
pub(super) fn run(
    server: &ServiceClient,
    args: &Args,
    term: &Term,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    let mut tally = TestTally::default();
    for (name, shown) in rule_sets_to_test(server, args)? {
        let mut request = json!({ "rules": name, "explain": true });
        if let Some(language) = language_name() {
            request["language"] = language.into();
        }
        if let Some(generation) = args.generation.generation {
            request["generation"] = generation.into();
        }
        let mut answer = request_test_run(server, &request)?;
        if args.format == TestFormat::Human {
            escape_json_texts(&mut answer);
        }
        let answer: TestsAnswer = server.deserialize_answer(answer)?;
        tally.record_test_names(args, answer.tests.iter().map(|test| test.name.as_str()));
        let selected = answer.tests.into_iter().filter(|test| args.selects_test(&test.name));
        let outcomes: Vec<ReportedTest> = selected.map(|test| test.into_reported_test(&shown)).collect();
        if !outcomes.is_empty() {
            write_outcomes(args.format, &shown, &outcomes, term, out)?;
            tally.add_outcomes(shown, outcomes);
        }
    }
    write_test_summary(args, &tally, term, out)?;
    let is_without_tests = args.fail_without_tests && tally.passed_count + tally.failed_count == 0;
    Ok(if tally.failed_count > 0 || is_without_tests { ExitStatus::Errors } else { ExitStatus::Success })
}

/// Returns the rule sets to test: the rule sets that the user named, or all rule sets of the
/// service. Each has its name at the service, and the name that the output shows.
fn rule_sets_to_test(server: &ServiceClient, args: &Args) -> Result<Vec<(String, String)>, CliError> {
    if !args.paths.is_empty() {
        let named = args.paths.iter().map(|path| (rules_name(path).into_owned(), path.display().to_string()));
        return Ok(named.collect());
    }
    let overview = server.get("/v1/rules").map_err(|failure| failure.into_error())?;
    let ServiceOverview { rules } = server.deserialize_answer(overview)?;
    if let (Some(generation), true) = (args.generation.generation, rules.len() > 1) {
        return Err(CliError::usage_error(message!(
            "the service has several rules, and `--generation {generation}` is the generation of one: name the rules"
        )));
    }
    Ok(rules.into_iter().map(|ListedRuleSet { name }| (name.clone(), name)).collect())
}

fn request_test_run(server: &ServiceClient, request: &Json) -> Result<Json, CliError> {
    server.ask("/v1/test", request).map_err(|failure| failure.into_error())
}

impl AnsweredTest {
    /// Converts this test result, which the service sent, to the form in which it is printed.
    /// `shown` is the path of the rules as the user wrote it. The file of the test is printed as a
    /// path in the folder of `shown`.
    fn into_reported_test(self, shown: &str) -> ReportedTest {
        let folder = Path::new(shown).parent().filter(|folder| *folder != Path::new("."));
        let file = folder.unwrap_or(Path::new("")).join(self.file.unwrap_or_default());
        ReportedTest {
            file: file.display().to_string(),
            line: self.line,
            column: self.column,
            name: self.name,
            has_passed: self.passed,
            expected: self.expected,
            actual: Message::verbatim(self.actual),
            explanation: self.explanation,
        }
    }
}
