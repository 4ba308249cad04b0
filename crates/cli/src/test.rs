//! `rulec test`: runs the `test` blocks of rule files.

mod filter;
#[cfg(feature = "http")]
mod server;

use super::compiled::CompileResult;
use super::coverage::{self, CoverageMinimum};
use super::files::{self, CompiledFile};
use super::language::{language, localized};
use super::report::junit::{self, CaseResult, JunitCase};
use super::server::{GenerationArgs, ServerArgs};
use super::term::{Out, Term, paint};
use super::watch::FileWatch;
use super::why::render_options;
use super::{CliError, ExitStatus, report};
use clap::ValueEnum;
use rulec::{AnalysisOptions, Explanation, Message, RenderOptions, TestOutcome, run_tests_with};
use rulec_base::message;
use rulec_base::parallel::{self, ThreadLimit};
use rulec_base::text::{display_width, to_one_line};
use rulec_report::coverage::Coverage;
use rulec_syntax::ast::StatementKind;
use rulec_syntax::parse;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Run the `test` blocks of rule files
#[derive(clap::Args)]
#[command(mut_arg("server", |server| server.conflicts_with_all([
    "coverage", "coverage_html", "coverage_lcov", "fail_under", "root", "show_private", "watch"
])))]
#[command(after_help = "Examples:
  rulec test                        all *.rules in this folder and its subfolders
  rulec test support.rules rules/
  rulec test --filter refund        only tests with this text in their name, ignoring case
  rulec test --format junit > tests.xml
  rulec test --coverage             also report which routes and conditions they did not reach
  rulec test --fail-under 90        exit with 1 if they reach less than 90% of any kind
  rulec test --fail-without-tests   exit with 1 if there is no test
  rulec test --coverage-html coverage.html --coverage-lcov lcov.info
  rulec test --watch                run again whenever a file changes, until stopped
  rulec test --server http://127.0.0.1:8181           the tests of the rules in force at a service
  rulec test support --server http://127.0.0.1:8181   only of the rules `support`

A test gives a message and names the expected route:
  test \"an admin may run code\" {
    given text = \"run it\"
    given ctx = { user: { role: \"admin\" } }
    expect run_code -> code_handler(sandbox: true)
  }
or gives several messages, by the fields that differ:
  test \"where messages go\" {
    given text
    expect refunds for \"my money back\"
    expect default for \"hello\"
  }
`expect flows.refund` tests the patterns and the built-in classifier. For a choice that asks a language model, \
the test gives the answer: `given answers = { mood: \"angry\" }  expect mood.angry`. A failed test shows the \
expected and the actual result, and explains the decision.

Exit status: 0 all tests passed, 1 a test failed, an error in the rules or a limit of an option, 2 wrong usage.")]
pub struct Args {
    /// Rule files, or folders with rule files [default: the current folder]
    #[arg(value_name = "FILES|DIRS")]
    paths: Vec<PathBuf>,
    /// Run only tests with this text in their name, ignoring case
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: TestFormat,
    /// Also report which routes and conditions the tests did not reach, and why
    #[arg(long)]
    coverage: bool,
    /// Exit with status 1 if the tests reach less than this percentage: `90` of every kind, or
    /// `route=100,condition=80` of these. Kinds: route, branch, case, pattern, flow, default, rule,
    /// condition
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = coverage::parse_coverage_minimum)]
    fail_under: Vec<CoverageMinimum>,
    /// Exit with status 1 if there is no test
    #[arg(long)]
    fail_without_tests: bool,
    /// Write to this file, as an HTML page, what the tests reached
    #[arg(long, value_name = "FILE")]
    coverage_html: Option<PathBuf>,
    /// Write to this file, in the lcov format, what the tests reached
    #[arg(long, value_name = "FILE")]
    coverage_lcov: Option<PathBuf>,
    /// Run the tests again whenever a file changes, until the program is stopped
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    generation: GenerationArgs,
    /// Print the values of fields that the rules declare `@private` [default: `•••` in their place]
    #[arg(long)]
    show_private: bool,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of the file, or the tested folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TestFormat {
    /// Text
    #[default]
    Human,
    /// One JSON object per test, one per line
    Json,
    /// JUnit XML, which most CI systems show
    Junit,
}

/// The outcome of a test, with the file name and the position that messages show for the test.
struct ReportedTest {
    file: String,
    line: usize,
    column: usize,
    name: String,
    has_passed: bool,
    expected: String,
    actual: Message,
    explanation: Option<Explanation>,
}

impl ReportedTest {
    fn new(compiled: &CompileResult, outcome: TestOutcome) -> ReportedTest {
        let position = compiled.sources().position(outcome.span);
        let TestOutcome { name, passed, expected, actual, explanation, .. } = outcome;
        ReportedTest {
            file: compiled.file_name(outcome.span.file),
            line: position.line,
            column: position.column,
            name,
            has_passed: passed,
            expected,
            actual,
            explanation,
        }
    }
}

/// The counts of a test run, and its results for a JUnit report.
#[derive(Default)]
struct TestTally {
    passed_count: usize,
    failed_count: usize,
    /// Number of rules files that do not compile.
    not_compiling_count: usize,
    /// Whether at least one rules file cannot be read.
    has_unreadable_file: bool,
    junit_suites: Vec<(String, Vec<JunitCase>)>,
    /// The names of all tests, if `--filter` is set. The error for a filter that selects no test
    /// lists them.
    test_names: Vec<String>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    #[cfg(feature = "http")]
    if let Some(server) = super::server::ServiceClient::open(&args.server)? {
        return server::run(&server, args, term, out);
    }
    #[cfg(not(feature = "http"))]
    args.server.reject()?;
    let current_folder = [PathBuf::from(".")];
    let paths = if args.paths.is_empty() { current_folder.as_slice() } else { &args.paths };
    if !args.watch {
        let compiled_files = files::compile_files(paths, args.root.as_deref())?;
        return run_once(args, &compiled_files, term, out);
    }
    if paths.iter().any(|path| path == Path::new("-")) {
        return Err(CliError::usage_error(message!(
            "standard input cannot be watched; name files or folders"
        )));
    }
    let output_paths = args.coverage_html.iter().chain(&args.coverage_lcov).map(PathBuf::as_path);
    let mut watch = FileWatch::new(paths, output_paths.collect());
    while !out.is_closed() {
        watch.record_state();
        let compiled_files = files::compile_files(paths, args.root.as_deref());
        let result = compiled_files.and_then(|compiled_files| {
            watch.watch_sources(&compiled_files);
            run_once(args, &compiled_files, term, out)
        });
        if let Some(message) = result.err().and_then(|error| error.message) {
            term.print_error(&message);
        }
        out.flush()?;
        term.print_note(&message!("waiting for a file to change; ctrl-c ends it"));
        watch.wait_for_change();
    }
    Ok(ExitStatus::Success)
}

/// Runs the tests of all files once, and reports the results. A file that another file of the same
/// folder imports need not compile alone, unless it contains tests.
fn run_once(
    args: &Args,
    compiled_files: &[CompiledFile],
    term: &Term,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    let mut tally = TestTally::default();
    let all_outcomes = run_all_tests(compiled_files, args.show_private);
    for (CompiledFile { compiled, is_imported }, outcomes) in compiled_files.iter().zip(all_outcomes) {
        match &compiled.result {
            Ok(rules) => {
                tally.record_test_names(args, outcomes.iter().map(|outcome| outcome.name.as_str()));
                let selected = outcomes.into_iter().filter(|outcome| args.selects_test(&outcome.name));
                let outcomes: Vec<_> = selected.map(|outcome| ReportedTest::new(compiled, outcome)).collect();
                if outcomes.is_empty() {
                    continue;
                }
                files::note_missing_functions(rules, term);
                let name = compiled.target.display_name();
                write_outcomes(args.format, &name, &outcomes, term, out)?;
                tally.add_outcomes(name, outcomes);
            }
            // The file is imported, so it need not compile alone. If it has no tests, nothing is
            // reported.
            Err(_) if *is_imported && !contains_tests(compiled) => {}
            Err(_) => {
                tally.has_unreadable_file |= compiled.is_unreadable();
                tally.not_compiling_count += 1;
                tally.junit_suites.push((compiled.target.display_name(), vec![compile_error_case(compiled)]));
                out.flush()?;
                files::show_errors(compiled, term);
            }
        }
    }
    write_test_summary(args, &tally, term, out)?;
    let too_little = report_coverage(args, compiled_files, term, out)?;
    let is_without_tests = args.fail_without_tests && tally.passed_count + tally.failed_count == 0;
    let problems = usize::from(too_little) + usize::from(is_without_tests);
    Ok(match (tally.has_unreadable_file, tally.failed_count + tally.not_compiling_count + problems) {
        (true, _) => ExitStatus::Usage,
        (false, 0) => ExitStatus::Success,
        (false, _) => ExitStatus::Errors,
    })
}

/// Writes the end of the output: the summary of all tests, or a note or error if there was no test.
fn write_test_summary(args: &Args, tally: &TestTally, term: &Term, out: &mut Out) -> Result<(), CliError> {
    if tally.passed_count + tally.failed_count + tally.not_compiling_count == 0 {
        if let Some(filter) = &args.filter {
            return Err(CliError::usage_error(match args.paths.is_empty() && filter.ends_with(".rules") {
                true => filter_is_file_message(filter),
                false => filter::no_test_selected_message(filter, &tally.test_names),
            }));
        }
        term.print_note(&message!("there is no `test` block; write one: `test \"a refund\" {{ given text = \"refund\"  expect refunds }}`"));
    }
    match args.format {
        TestFormat::Human => out.write_message(&tally.summary())?,
        TestFormat::Json => {}
        TestFormat::Junit => {
            out.write_text_for_programs(&junit::render_document("rulec test", &tally.junit_suites))?
        }
    }
    out.flush()?;
    if args.format != TestFormat::Human {
        term.print(&tally.summary());
    }
    Ok(())
}

/// Returns the error message if the user wrote a rules file directly after `--filter`, as in
/// `rulec test --filter a.rules`. The option takes a part of a test's name.
fn filter_is_file_message(filter: &str) -> Message {
    message!(
        "`--filter` takes a part of the name of a test, and `{filter}` was read as this part: write `rulec test \
        {filter}` for all its tests, or `rulec test --filter TEXT {filter}`"
    )
}

/// Runs the tests of the files on several threads. Returns the outcomes of each file, in the order
/// of the files; a file that does not compile has none. Explanations mask the values of `@private`
/// fields unless `show_private`.
fn run_all_tests(compiled_files: &[CompiledFile], show_private: bool) -> Vec<Vec<TestOutcome>> {
    let jobs = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let parts = compiled_files.chunks(compiled_files.len().div_ceil(jobs).max(1));
    let outcomes_of = |file: &CompiledFile| {
        file.compiled.result.as_ref().map(|rules| run_tests_with(rules, show_private)).unwrap_or_default()
    };
    parallel::map_in_parallel(parts, |part| part.iter().map(outcomes_of).collect::<Vec<_>>())
        .into_iter()
        .flatten()
        .collect()
}

fn write_outcomes(
    format: TestFormat,
    name: &str,
    outcomes: &[ReportedTest],
    term: &Term,
    out: &mut Out,
) -> Result<(), CliError> {
    if format == TestFormat::Human {
        out.write_line(name)?;
    }
    for outcome in outcomes {
        match format {
            TestFormat::Human => print_outcome(outcome, term, out)?,
            TestFormat::Json => out.write_json_line(&outcome_to_json(outcome))?,
            TestFormat::Junit => {}
        }
    }
    Ok(())
}

/// Reports the coverage of the tests if the options request it. Returns true if the coverage is
/// below a minimum of `--fail-under`. If the output format is for programs, the coverage text is
/// printed on standard error instead. A file without tests counts as not covered, unless other
/// files import it. A file is left out if it does not compile, if it has nothing to cover, or if
/// the filter selects none of its tests.
fn report_coverage(
    args: &Args,
    compiled_files: &[CompiledFile],
    term: &Term,
    out: &mut Out,
) -> Result<bool, CliError> {
    let minimums = &args.fail_under;
    let is_wanted = args.coverage || args.coverage_html.is_some() || args.coverage_lcov.is_some();
    if !is_wanted && minimums.is_empty() {
        return Ok(false);
    }
    let mut reports = Vec::new();
    for CompiledFile { compiled, is_imported } in compiled_files {
        let Ok(rules) = &compiled.result else { continue };
        let coverage = Coverage::from_tests(rules, |name| args.selects_test(name));
        let findings = compiled.analyse(AnalysisOptions::default());
        let has_items = !coverage.route_items(&findings).is_empty() || !coverage.condition_items().is_empty();
        let tests = &rules.program().tests;
        let is_tested = tests.iter().any(|test| args.selects_test(&test.name));
        if has_items && (is_tested || tests.is_empty() && !is_imported) {
            reports.push((compiled, coverage, findings));
        }
    }
    if args.coverage {
        for (compiled, coverage, findings) in &reports {
            let text = coverage::format_text(compiled, coverage, findings);
            match args.format {
                TestFormat::Human => out.write_text(text.trim_end_matches('\n'))?,
                _ => text.lines().for_each(|line| term.print(&Message::verbatim(line))),
            }
        }
        out.flush()?;
    }
    if let Some(path) = &args.coverage_html {
        let files: Vec<_> = reports
            .iter()
            .map(|(compiled, coverage, findings)| (*compiled, coverage, findings.as_slice()))
            .collect();
        files::replace_file(path, coverage::format_html(&files, args.show_private).as_bytes())?;
    }
    if let Some(path) = &args.coverage_lcov {
        let records: String =
            reports.iter().map(|(compiled, coverage, _)| coverage::format_lcov(compiled, coverage)).collect();
        files::replace_file(path, records.as_bytes())?;
    }
    let shares =
        coverage::covered_shares(reports.iter().map(|(_, coverage, findings)| (coverage, &findings[..])));
    let failures = coverage::shortfall_messages(&shares, minimums);
    failures.iter().for_each(|failure| term.print_error(failure));
    Ok(!failures.is_empty())
}

impl Args {
    fn selects_test(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.to_lowercase().contains(&filter.to_lowercase()))
    }
}

impl TestTally {
    /// Records the names of tests if `--filter` is set. The error for a filter that selects no test
    /// lists them.
    fn record_test_names<'n>(&mut self, args: &Args, names: impl Iterator<Item = &'n str>) {
        if args.filter.is_some() {
            self.test_names.extend(names.map(str::to_owned));
        }
    }

    /// Adds the outcomes of the tests in one rules file to the counts. `name` is the name of the
    /// file.
    fn add_outcomes(&mut self, name: String, outcomes: Vec<ReportedTest>) {
        let failed = outcomes.iter().filter(|outcome| !outcome.has_passed).count();
        (self.passed_count, self.failed_count) =
            (self.passed_count + outcomes.len() - failed, self.failed_count + failed);
        let cases = outcomes.into_iter().map(|outcome| {
            let result = to_case_result(&outcome);
            JunitCase { name: outcome.name, result }
        });
        self.junit_suites.push((name, cases.collect()));
    }

    fn summary(&self) -> Message {
        let line = message!("{} passed, {} failed", self.passed_count, self.failed_count);
        match self.not_compiling_count {
            0 => line,
            1 => message!("{line}, 1 file could not be compiled"),
            broken => message!("{line}, {broken} files could not be compiled"),
        }
    }
}

fn to_case_result(outcome: &ReportedTest) -> CaseResult {
    let ReportedTest { expected, actual, .. } = outcome;
    let options = RenderOptions { language: language(), ..RenderOptions::default() };
    let explanation_text = outcome.explanation.as_ref().map(|explanation| explanation.render(&options));
    match outcome.has_passed {
        true => CaseResult::Passed,
        false => CaseResult::Failed {
            kind: "expectation".to_owned(),
            message: localized(&message!("expected {expected}, got {actual}")).into_owned(),
            details: explanation_text.unwrap_or_default(),
        },
    }
}

fn compile_error_case(compiled: &CompileResult) -> JunitCase {
    let errors = report::compile_diagnostics(compiled).filter(|reported| reported.diagnostic.is_error());
    let text: Vec<String> = errors.map(|reported| report::format_concise(&reported)).collect();
    let message = localized(&message!("the rules do not compile")).into_owned();
    JunitCase {
        name: "compile".to_owned(),
        result: CaseResult::Failed { kind: "error".to_owned(), message, details: text.join("\n") },
    }
}

fn outcome_to_json(outcome: &ReportedTest) -> String {
    let value = json!({
        "version": report::JSON_FORMAT_VERSION,
        "file": outcome.file,
        "line": outcome.line,
        "column": outcome.column,
        "name": outcome.name,
        "passed": outcome.has_passed,
        "expected": outcome.expected,
        "actual": localized(&outcome.actual),
        "explanation": outcome.explanation.as_ref().map(ToString::to_string),
    });
    value.to_string()
}

fn print_outcome(outcome: &ReportedTest, term: &Term, out: &mut Out) -> Result<(), CliError> {
    let color = term.is_stdout_colored();
    if outcome.has_passed {
        let name = to_one_line(&outcome.name);
        let (word, padding) = (message!("ok"), word_padding(&message!("ok")));
        return out.write_styled(&format!("  {}{padding}{name}", paint(color, "32", &localized(&word))));
    }
    let ReportedTest { file, line, column, name, expected, actual, .. } = outcome;
    let (word, padding) = (message!("FAILED"), word_padding(&message!("FAILED")));
    let word = paint(color, "1;31", &localized(&word));
    let text = message!("{name} — expected {expected}, got {actual}");
    out.write_styled(&format!("  {word}{padding}{}", to_one_line(&localized(&text))))?;
    out.write_message(&message!("          at {file}:{}:{}", line, column))?;
    if let Some(explanation) = &outcome.explanation {
        let mut options = render_options(term);
        options.width = options.width.saturating_sub(10);
        for line in explanation.render(&options).lines() {
            out.write_styled(format!("          {line}").trim_end())?;
        }
    }
    Ok(())
}

/// Returns the spaces between a result word, such as `ok`, and the name of the test, so that the
/// names are aligned.
fn word_padding(word: &Message) -> String {
    " ".repeat(8_usize.saturating_sub(display_width(&localized(word))))
}

fn contains_tests(compiled: &CompileResult) -> bool {
    let Some((id, file)) = compiled.sources().iter().next() else { return false };
    let parsed = parse(ThreadLimit::All, id, &file.text);
    parsed.statements.iter().any(|statement| matches!(statement.kind, StatementKind::Test { .. }))
}
