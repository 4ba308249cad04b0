//! The command line: the one place that reads files, prints, and knows about terminals. The verbs
//! are thin; what they show comes from the library as data.
//!
//! | module | what it holds |
//! |---|---|
//! | `term` | standard output and error, colour, closed pipes |
//! | `files`, `compiled` | which files a verb works on, and what came of compiling one |
//! | `report` | diagnostics as text, JSON and GitHub annotations |
//! | `stream`, `lines`, `summary`, `progress` | what `run` needs besides deciding: every line answered on several threads, in order |
//! | `check` `build` `run` `why` `plan` `test` `explain` `import` `schema` `prompt` `conformance` | a verb each |
//! | `judge` | `run --decision`: payloads |

mod build;
mod check;
mod compiled;
mod conformance;
mod explain;
mod files;
mod import;
mod judge;
mod lines;
mod plan;
mod progress;
mod prompt;
mod report;
mod run;
mod schema;
mod stream;
mod summary;
mod term;
mod test;
mod why;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::process::ExitCode;
use term::{Color, Out, Term};

const AFTER_HELP: &str = "\
Examples:
  rulec check rules/                                  find every mistake in the folder's *.rules
  rulec build support.rules                           compile to support.rulec, which loads faster
  rulec run support.rules messages.jsonl              decide for each message, one a line
  rulec why support.rules --text 'show my files'      say why a message goes where it goes
  rulec plan support.rules                            how each rule is found
  rulec test                                          run the `test` blocks below this folder
  rulec explain E0203                                 what a code means, with examples
  rulec import routes router.json -o support.rules    rules from another system's JSON

Exit status: 0 all well, 1 errors found, 2 wrong usage or an unreadable file.";

/// Checks, runs and explains rule files: a small typed language of routing decisions.
#[derive(Parser)]
#[command(name = "rulec", version, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    /// When to colour the output; `auto` colours for a terminal unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Check(check::Args),
    Build(build::Args),
    Run(run::Args),
    Why(why::Args),
    Plan(plan::Args),
    Test(test::Args),
    Explain(explain::Args),
    Import(import::Args),
    #[command(hide = true)]
    Conformance(conformance::Args),
    Schema(schema::Args),
    Prompt(prompt::Args),
    Completions(CompletionsArgs),
}

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec completions bash > ~/.local/share/bash-completion/completions/rulec
  rulec completions zsh > ~/.zfunc/_rulec
  rulec completions fish > ~/.config/fish/completions/rulec.fish")]
struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The way a run of the program ends, with its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// All well.
    Fine = 0,
    /// Errors were found in rules or messages, or a test failed.
    Errors = 1,
    /// Wrong usage or an unreadable file.
    Usage = 2,
}

#[derive(Debug)]
struct CliError {
    status: Status,
    /// The message to show; `None` when it has been shown.
    message: Option<String>,
}

impl CliError {
    /// Wrong usage, or a file that cannot be read or written.
    fn usage(message: impl ToString) -> Self {
        CliError { status: Status::Usage, message: Some(message.to_string()) }
    }

    /// Something is wrong with what was given to work on.
    fn error(message: impl ToString) -> Self {
        CliError { status: Status::Errors, message: Some(message.to_string()) }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let term = Term::new(cli.color);
    let mut out = Out::new();
    let result = match cli.verb {
        Verb::Build(args) => build::run(&args, &term, &mut out),
        Verb::Check(args) => check::run(&args, &term, &mut out),
        Verb::Run(args) => run::run(&args, &term, &mut out),
        Verb::Why(args) => why::run(&args, &term, &mut out),
        Verb::Plan(args) => plan::run(&args, &term, &mut out),
        Verb::Test(args) => test::run(&args, &term, &mut out),
        Verb::Explain(args) => explain::run(&args, &term, &mut out),
        Verb::Import(args) => import::run(&args, &term, &mut out),
        Verb::Conformance(args) => conformance::run(&args, &mut out),
        Verb::Schema(args) => schema::run(&args, &term, &mut out),
        Verb::Prompt(args) => prompt::run(&args, &term, &mut out),
        Verb::Completions(args) => completions(&args, &mut out),
    };
    let status = result.and_then(|status| out.flush().map(|()| status)).unwrap_or_else(|stop| {
        let _ = out.flush();
        if let Some(message) = &stop.message {
            term.error(message);
        }
        stop.status
    });
    ExitCode::from(status as u8)
}

fn completions(args: &CompletionsArgs, out: &mut Out) -> Result<Status, CliError> {
    // Into memory first: the generator panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rulec", &mut script);
    out.write(&script)?;
    Ok(Status::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_declared_soundly() {
        Cli::command().debug_assert();
    }
}
