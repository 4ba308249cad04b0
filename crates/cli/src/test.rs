//! `rulec test`: runs the `test` blocks of rule files.

use super::compiled::Compiled;
use super::files;
use super::term::{Out, Term, paint, plural};
use super::why::options;
use super::{CliError, Status};
use rulec::TestOutcome;
use rulec::internals::syntax::ast::StatementKind;
use rulec::internals::syntax::parse;
use rulec::internals::text::on_one_line;
use rulec::internals::threads::Threads;
use rulec::run_tests;
use std::path::PathBuf;

/// Run the `test` blocks of rule files
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec test                        all *.rules below this folder
  rulec test support.rules rules/

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
    /// The folder that imports may not leave [default: the file's own, or the folder tested]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let here = [PathBuf::from(".")];
    let paths = if args.paths.is_empty() { here.as_slice() } else { &args.paths };
    let compiled = files::compile(paths, args.root.as_deref())?;
    let (mut passed, mut failed, mut broken, mut unreadable) = (0, 0, 0, false);
    for (compiled, imported) in &compiled {
        match &compiled.result {
            Ok(rules) => {
                let outcomes = run_tests(rules);
                if outcomes.is_empty() {
                    continue;
                }
                files::note_missing_functions(rules, term);
                out.line(&compiled.target.shown())?;
                for outcome in &outcomes {
                    *if outcome.passed { &mut passed } else { &mut failed } += 1;
                    show(compiled, outcome, term, out)?;
                }
            }
            // A fragment that only its importers complete, and that tests nothing itself.
            Err(_) if *imported && !tests_something(compiled) => {}
            Err(_) => {
                unreadable |= compiled.is_unreadable();
                broken += 1;
                out.flush()?;
                files::show_errors(compiled, term);
            }
        }
    }
    let mut line = format!("{passed} passed, {failed} failed");
    if broken > 0 {
        line = format!("{line}, {} could not be compiled", plural(broken, "file"));
    }
    if passed + failed + broken == 0 {
        term.note("there is no `test` block; write one: `test \"a refund\" { given text = \"refund\"  expect refunds }`");
    }
    out.line(&line)?;
    Ok(match (unreadable, failed + broken) {
        (true, _) => Status::Usage,
        (false, 0) => Status::Fine,
        (false, _) => Status::Errors,
    })
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
