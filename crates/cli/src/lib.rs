//! The command line program `rulec`. Of all crates, only this one prints and handles terminals. The
//! subcommands contain little logic: libraries return the data, and the subcommands print it.
//!
//! | module | contents |
//! |---|---|
//! | `term`, `stdio` | standard input, output and error, colour, closed pipes |
//! | `signals` | orderly shutdown on signals |
//! | `panic` | panics, limited to the line or subcommand in which they happen |
//! | `language`, `help`, `usage` | the language of all messages, help pages and usage errors |
//! | `files`, `compiled` | the files of a subcommand, and the results of compiling them |
//! | `document` | another system's JSON document in place of a rules file |
//! | `keys` | the keys of `--sign` and `--verify` |
//! | `report` | diagnostics as text, JSON, SARIF, JUnit's XML and GitHub annotations |
//! | `stream`, `lines`, `ordered_pool` | for `run`: processes lines on several threads, in order |
//! | `summary`, `progress` | for `run`: the summary line and the progress bar |
//! | `fmt` `fix` `patch` | the formatter, `check --fix`, and changes shown as a patch |
//! | `check` `build` `run` `why` `why_not` `diff` `plan` `test` `explain` | one subcommand each |
//! | `import` `export` `schema` `prompt` | one subcommand each |
//! | `conformance` `workflow` `graph` `init` | one subcommand each |
//! | `doctor` `bench` `repl` `lsp` | one subcommand each |
//! | `coverage` | which routes and conditions a set of decisions covered, for `test` and `doctor` |
//! | `log` | checks the hash chain of decision logs |
//! | `serve` | decisions over HTTP (feature `serve`) |
//! | `studio`, `report_page` | rules in a browser, and as one page (feature `studio`) |
//! | `infer` | `schema --from`: an `input` block from samples or a JSON Schema |
//! | `escape` | escaping of texts for XML and HTML |
//! | `manual` | manual pages and completions, generated from the command line's definition |
//! | `watch` | waits until a file changes |
//! | `judge` | `run --decision`: validates payloads |
//! | `columns` | `run` over Parquet, Arrow and CSV files |
//! | `meaning` | intent flows, and choices made by a language model |

mod analyze;
mod bench;
mod build;
mod check;
mod columns;
mod compiled;
mod conformance;
mod coverage;
mod diff;
mod doctor;
mod document;
mod engine;
mod escape;
mod explain;
mod export;
mod files;
mod fix;
mod fmt;
mod graph;
mod help;
mod history;
mod import;
mod infer;
mod init;
mod judge;
mod keys;
mod language;
mod lines;
mod log;
#[cfg(feature = "lsp")]
mod lsp;
mod manual;
mod meaning;
mod model;
mod ordered_pool;
mod panic;
mod patch;
mod plan;
mod progress;
mod prompt;
mod repl;
mod report;
mod report_page;
mod run;
mod run_history;
mod schema;
mod serve;
mod server;
mod signals;
mod stdio;
mod stream;
mod studio;
mod summary;
mod term;
mod test;
mod usage;
#[cfg(any(feature = "http", feature = "shared"))]
mod variables;
mod watch;
mod why;
mod why_not;
mod workflow;

pub use graph::draw;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use language::LanguageArg;
use rulec::{Language, Message};
use rulec_base::message;
use rulec_base::text;
use std::ffi::OsString;
use term::{ColorMode, Out, Term};

const AFTER_HELP: &str = "\
Examples:
  rulec init desk                                     create a project that works
  rulec check rules/                                  report every error in the *.rules of the folder
  rulec fmt rules/                                    format the files in the standard style
  rulec build support.rules                           compile to support.rulec, which loads faster
  rulec run support.rules messages.jsonl              decide each message, one per line
  rulec analyze support.rules --text 'order 7, asap'  show intent, entities and urgency of a text
  rulec why support.rules --text 'show my files'      explain why a message takes its route
  rulec why-not support.rules refund --text 'money'   show the change that would make a route match
  rulec diff deployed.rules support.rules             show what a new version answers differently
  rulec plan support.rules                            show how each rule is found
  rulec test                                          run the `test` blocks below this folder
  rulec explain E0203                                 explain a code, with examples
  rulec workflow run review.rules --input '{}'        run a workflow
  rulec graph review.rules                            draw the workflow
  rulec serve support.rules                           decide over HTTP for programs in any language
  rulec studio support.rules                          show rules and decisions in a browser
  rulec import routes router.json -o support.rules    convert another system's JSON to rules
  rulec export routes support.rules -o router.json    write rules as another system's JSON

Exit status: 0 no errors, 1 errors found, 2 wrong usage, an unreadable file or an output that cannot be \
written, 3 an internal error of rulec. After SIGINT, SIGTERM or SIGHUP, `run` stops reading, answers the \
messages that it has read, and exits with 130, 143 or 129. After a second signal, it exits at once.";

/// Checks, runs and explains rule files, which are written in a small typed language for routing
/// decisions.
#[derive(Parser)]
#[command(name = "rulec", version, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    /// When to colour the output; `auto` colours for a terminal unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorMode,
    // `language::select_language` reads this option before the arguments are parsed.
    /// The language of findings, errors and help pages [default: the value of RULEC_LANG, else en]
    #[arg(long, global = true, value_enum, value_name = "LANG")]
    lang: Option<LanguageArg>,
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    Check(check::Args),
    Fmt(fmt::Args),
    Build(build::Args),
    Run(Box<run::Args>),
    Analyze(analyze::Args),
    Why(why::Args),
    WhyNot(why_not::Args),
    Diff(diff::Args),
    Plan(plan::Args),
    Test(test::Args),
    Explain(explain::Args),
    Import(import::Args),
    Export(export::Args),
    #[command(hide = true)]
    Conformance(conformance::Args),
    Schema(schema::Args),
    Prompt(prompt::Args),
    Workflow(workflow::Args),
    Graph(graph::Args),
    #[cfg(feature = "lsp")]
    Lsp(lsp::Args),
    Init(init::Args),
    Log(log::Args),
    History(history::Args),
    Doctor(doctor::Args),
    Bench(bench::Args),
    Repl(repl::Args),
    Serve(Box<serve::Args>),
    Studio(studio::Args),
    Report(report_page::Args),
    Completions(manual::CompletionsArgs),
    Man(manual::Args),
}

/// Exit status of the program, with the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ExitStatus {
    /// Exit status 0: success.
    Success = 0,
    /// Exit status 1: errors were found in rules or messages, or a test failed.
    Errors = 1,
    /// Exit status 2: wrong usage, or a file that cannot be read or written.
    Usage = 2,
    /// Exit status 3: an internal error of the program.
    InternalError = 3,
}

#[derive(Debug)]
struct CliError {
    status: ExitStatus,
    /// The error message to show; `None` if the message was already shown.
    message: Option<Message>,
}

impl CliError {
    /// Creates an error for wrong usage, or for a file that cannot be read or written.
    fn usage_error(message: Message) -> Self {
        CliError { status: ExitStatus::Usage, message: Some(message) }
    }

    /// Creates an error about the content of the input.
    fn input_error(message: Message) -> Self {
        CliError { status: ExitStatus::Errors, message: Some(message) }
    }

    /// Creates a usage error from an error of the operating system, whose text is not translated.
    fn from_io_error(error: std::io::Error) -> Self {
        CliError::usage_error(Message::verbatim(error.to_string()))
    }
}

/// Runs the program with these arguments and returns its exit status. The first argument is the
/// name of the program.
pub fn main(args: Vec<OsString>) -> u8 {
    panic::install_panic_hook();
    signals::ignore_file_size_signal();
    language::select_language(&args);
    let args = language::move_lang_before_help(args);
    let parse = || {
        let matches = help::localized_command(Cli::command()).try_get_matches_from(&args)?;
        Cli::from_arg_matches(&matches)
    };
    let outcome = panic::catch_panic(|| match parse() {
        Ok(cli) => {
            let (term, mut out) = (Term::new(cli.color), Out::new());
            let result = run_command(cli.command, &term, &mut out);
            let status = finish_run(result, &term, &mut out);
            if let Some(signal) = signals::caught_signal() {
                term.print_note(&message!(
                    "stopped by signal {signal}: all messages read so far are answered"
                ));
            }
            status
        }
        Err(mut error) => {
            usage::add_remedies(&mut error, &Cli::command(), &args);
            print_clap_error(&error, &args)
        }
    });
    let status = outcome.unwrap_or_else(|panic_text| {
        Term::new(ColorMode::Auto).print_error(&message!(
            "{what}; {}",
            panic::BUG_REPORT_HINT,
            what = panic_text
        ));
        ExitStatus::InternalError
    });
    match signals::caught_signal() {
        Some(signal) if status < ExitStatus::Usage => 128 + signal,
        _ => status as u8,
    }
}

fn run_command(command: CliCommand, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    match command {
        CliCommand::Build(args) => build::run(&args, term, out),
        CliCommand::Check(args) => check::run(&args, term, out),
        CliCommand::Fmt(args) => fmt::run(&args, term, out),
        CliCommand::Run(args) => run::run(&args, term, out),
        CliCommand::Analyze(args) => analyze::run(&args, term, out),
        CliCommand::Why(args) => why::run(&args, term, out),
        CliCommand::WhyNot(args) => why_not::run(&args, term, out),
        CliCommand::Diff(args) => diff::run(&args, term, out),
        CliCommand::Plan(args) => plan::run(&args, term, out),
        CliCommand::Test(args) => test::run(&args, term, out),
        CliCommand::Explain(args) => explain::run(&args, term, out),
        CliCommand::Import(args) => import::run(&args, term, out),
        CliCommand::Export(args) => export::run(&args, term, out),
        CliCommand::Conformance(args) => conformance::run(&args, out),
        CliCommand::Schema(args) => schema::run(&args, term, out),
        CliCommand::Prompt(args) => prompt::run(&args, term, out),
        CliCommand::Workflow(args) => workflow::run(&args, term, out),
        CliCommand::Graph(args) => graph::run(&args, term, out),
        #[cfg(feature = "lsp")]
        CliCommand::Lsp(args) => lsp::run(&args, term),
        CliCommand::Log(args) => log::run(&args, term, out),
        CliCommand::History(args) => history::run(&args, term, out),
        CliCommand::Init(args) => init::run(&args, term, out),
        CliCommand::Doctor(args) => doctor::run(&args, term, out),
        CliCommand::Bench(args) => bench::run(&args, term, out),
        CliCommand::Repl(args) => repl::run(&args, term, out),
        CliCommand::Serve(args) => serve::run(&args, term, out),
        CliCommand::Studio(args) => studio::run(&args, term, out),
        CliCommand::Report(args) => report_page::run(&args, term),
        CliCommand::Completions(args) => manual::write_completions(&args, out),
        CliCommand::Man(args) => manual::run(&args, term, out),
    }
}

/// Flushes the output, and prints the error that ended the subcommand, if any. Returns the exit
/// status.
fn finish_run(result: Result<ExitStatus, CliError>, term: &Term, out: &mut Out) -> ExitStatus {
    result.and_then(|status| out.flush().map(|()| status)).unwrap_or_else(|error| {
        let _ = out.flush();
        if let Some(message) = &error.message {
            term.print_error(message);
        }
        error.status
    })
}

/// Prints the output of clap: the requested help, or an error in the arguments. If one of `args`
/// contains control characters, they are escaped, because the error may quote the argument. Returns
/// the exit status.
fn print_clap_error(error: &clap::Error, args: &[OsString]) -> ExitStatus {
    let (term, mut out, text) = (Term::new(ColorMode::Auto), Out::new(), error.render());
    // If an argument contains control characters, the text is printed escaped and without colour,
    // because it may quote the argument.
    let may_quote_controls =
        args.iter().any(|arg| arg.to_string_lossy().contains(text::printable::is_display_control));
    let rendered = |color: bool| match color && !may_quote_controls {
        true => text.ansi().to_string(),
        false => text::to_printable(&text.to_string()).into_owned(),
    };
    if error.use_stderr() {
        let translated =
            (language::language() != Language::English).then(|| usage::localized_error(error)).flatten();
        if let Some(translated_text) = translated {
            term.print_styled(&text::to_printable(&translated_text));
            return ExitStatus::Usage;
        }
        term.print_styled(rendered(term.is_stderr_colored()).trim_end_matches('\n'));
        return ExitStatus::Usage;
    }
    let result = out.write_styled(rendered(term.is_stdout_colored()).trim_end_matches('\n'));
    finish_run(result.map(|()| ExitStatus::Success), &term, &mut out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_declared_soundly() {
        Cli::command().debug_assert();
    }
}
