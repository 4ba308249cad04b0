//! `rulec test`: runs the `test` blocks of rule files.

use super::compiled::Compiled;
use super::files;
use super::report::junit::{self, Case, Ending};
use super::term::{Out, Term, paint, plural};
use super::why::options;
use super::{CliError, Status, report};
use clap::ValueEnum;
use rulec::TestOutcome;
use rulec::internals::syntax::ast::StatementKind;
use rulec::internals::syntax::parse;
use rulec::internals::text::on_one_line;
use rulec::internals::threads::Threads;
use rulec::run_tests;
use serde_json::json;
use std::path::PathBuf;

/// Run the `test` blocks of rule files
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec test                        all *.rules below this folder
  rulec test support.rules rules/
  rulec test --filter refund        those with this in their name, in any case
  rulec test --format junit > tests.xml

A test gives a message and says which route it expects:
  test \"an admin may run code\" {
    given text = \"run it\"
    given ctx = { user: { role: \"admin\" } }
    expect run_code
  }
`expect flows.refund` asks the patterns and the built-in classifier; a choice that asks a language model reads
the answer that the test gives: `given answers = { mood: \"angry\" }  expect mood.angry`.
When it fails, what was expected and what came out are shown, and how that came about.")]
pub struct Args {
    /// Rule files, or folders of them [default: the current folder]
    #[arg(value_name = "FILES|DIRS")]
    paths: Vec<PathBuf>,
    /// Run only tests that have this text in their name; case does not count
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// The format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The folder that imports may not leave [default: the file's own, or the folder tested]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text to read
    #[default]
    Human,
    /// One JSON object a test, one a line
    Json,
    /// XML, which most CI systems show
    Junit,
}

/// The counts of a run, and its results as suites for CI.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    broken: usize,
    unreadable: bool,
    suites: Vec<(String, Vec<Case>)>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let here = [PathBuf::from(".")];
    let paths = if args.paths.is_empty() { here.as_slice() } else { &args.paths };
    let compiled = files::compile(paths, args.root.as_deref())?;
    let wanted = args.filter.as_ref().map(|filter| filter.to_lowercase());
    let is_wanted = |outcome: &TestOutcome| {
        wanted.as_ref().is_none_or(|wanted| outcome.name.to_lowercase().contains(wanted))
    };
    let mut tally = Tally::default();
    for (compiled, imported) in &compiled {
        match &compiled.result {
            Ok(rules) => {
                let outcomes: Vec<TestOutcome> = run_tests(rules).into_iter().filter(is_wanted).collect();
                if outcomes.is_empty() {
                    continue;
                }
                files::note_missing_functions(rules, term);
                tally.add(compiled, &outcomes);
                if args.format == Format::Human {
                    out.line(&compiled.target.shown())?;
                }
                for outcome in &outcomes {
                    match args.format {
                        Format::Human => show(compiled, outcome, term, out)?,
                        Format::Json => out.json_line(&json_of(compiled, outcome))?,
                        Format::Junit => {}
                    }
                }
            }
            // A fragment that only its importers complete, and that tests nothing itself.
            Err(_) if *imported && !tests_something(compiled) => {}
            Err(_) => {
                tally.unreadable |= compiled.is_unreadable();
                tally.broken += 1;
                tally.suites.push((compiled.target.shown(), vec![uncompiled(compiled)]));
                out.flush()?;
                files::show_errors(compiled, term);
            }
        }
    }
    if tally.passed + tally.failed + tally.broken == 0 {
        if let Some(filter) = &args.filter {
            return Err(CliError::usage(format!("no `test` block has `{filter}` in its name")));
        }
        term.note("there is no `test` block; write one: `test \"a refund\" { given text = \"refund\"  expect refunds }`");
    }
    match args.format {
        Format::Human => out.line(&tally.summary())?,
        Format::Json => {}
        Format::Junit => out.source(&junit::document("rulec test", &tally.suites))?,
    }
    if args.format != Format::Human {
        out.flush()?;
        term.say(&tally.summary());
    }
    Ok(match (tally.unreadable, tally.failed + tally.broken) {
        (true, _) => Status::Usage,
        (false, 0) => Status::Fine,
        (false, _) => Status::Errors,
    })
}

impl Tally {
    fn add(&mut self, compiled: &Compiled, outcomes: &[TestOutcome]) {
        let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
        (self.passed, self.failed) = (self.passed + outcomes.len() - failed, self.failed + failed);
        let cases =
            outcomes.iter().map(|outcome| Case { name: outcome.name.clone(), ending: ending(outcome) });
        self.suites.push((compiled.target.shown(), cases.collect()));
    }

    fn summary(&self) -> String {
        let line = format!("{} passed, {} failed", self.passed, self.failed);
        match self.broken {
            0 => line,
            broken => format!("{line}, {} could not be compiled", plural(broken, "file")),
        }
    }
}

fn ending(outcome: &TestOutcome) -> Ending {
    let TestOutcome { expected, actual, .. } = outcome;
    let why = outcome.explanation.as_ref().map(ToString::to_string);
    match outcome.passed {
        true => Ending::Passed,
        false => Ending::Failed {
            kind: "expectation".to_owned(),
            message: format!("expected {expected}, got {actual}"),
            text: why.unwrap_or_default(),
        },
    }
}

fn uncompiled(compiled: &Compiled) -> Case {
    let errors = report::found(compiled).filter(|found| found.diagnostic.is_error());
    let text: Vec<String> = errors.map(|found| report::concise(&found)).collect();
    let message = "the rules do not compile".to_owned();
    Case {
        name: "compile".to_owned(),
        ending: Ending::Failed { kind: "error".to_owned(), message, text: text.join("\n") },
    }
}

fn json_of(compiled: &Compiled, outcome: &TestOutcome) -> String {
    let position = compiled.sources().position(outcome.span);
    let value = json!({
        "version": report::VERSION,
        "file": compiled.name(outcome.span.file),
        "line": position.line,
        "column": position.column,
        "name": outcome.name,
        "passed": outcome.passed,
        "expected": outcome.expected,
        "actual": outcome.actual,
        "explanation": outcome.explanation.as_ref().map(ToString::to_string),
    });
    value.to_string()
}

fn show(compiled: &Compiled, outcome: &TestOutcome, term: &Term, out: &mut Out) -> Result<(), CliError> {
    let color = term.color_out();
    if outcome.passed {
        let name = on_one_line(&outcome.name);
        return out.styled(&format!("  {}      {name}", paint(color, "32", "ok")));
    }
    let TestOutcome { name, expected, actual, .. } = outcome;
    let position = compiled.sources().position(outcome.span);
    let file = compiled.name(outcome.span.file);
    let word = paint(color, "1;31", "FAILED");
    let text = format!("{name} — expected {expected}, got {actual}");
    out.styled(&format!("  {word}  {}", on_one_line(&text)))?;
    out.line(&format!("          at {file}:{}:{}", position.line, position.column))?;
    if let Some(explanation) = &outcome.explanation {
        let mut options = options(term);
        options.width = options.width.saturating_sub(10);
        for line in explanation.render(&options).lines() {
            out.styled(format!("          {line}").trim_end())?;
        }
    }
    Ok(())
}

fn tests_something(compiled: &Compiled) -> bool {
    let Some((id, file)) = compiled.sources().iter().next() else { return false };
    let parsed = parse(Threads::All, id, &file.text);
    parsed.statements.iter().any(|statement| matches!(statement.kind, StatementKind::Test { .. }))
}
