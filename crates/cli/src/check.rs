//! `rulec check`: every mistake of every file, for people or for programs.

use super::compiled::Compiled;
use super::files;
use super::report::{self, Format, Found, Location};
use super::term::{Out, Term, plural};
use super::{CliError, Status};
use clap::ValueEnum;
use rulec::Code;
use std::collections::HashSet;
use std::path::PathBuf;

/// Check rule files and report every error and warning
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec check support.rules
  rulec check rules/ --deny warnings          warnings fail as well, as a CI job wants it
  rulec check rules/ --format json | jq .code
  rulec check rules/ --format github          annotations in a GitHub workflow

A folder stands for all *.rules below it, its files importing each other within it; a file that
others import is checked as part of them.")]
pub struct Args {
    /// Rule files, or folders of them; `-` reads standard input
    #[arg(required = true, value_name = "FILES|DIRS")]
    paths: Vec<PathBuf>,
    /// The format of what is found
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Exit with status 1 also when only these were found
    #[arg(long, value_enum)]
    deny: Option<Deny>,
    /// The folder that imports may not leave [default: the file's own, or the folder checked]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

const SHOWN: usize = 100;

/// Keeps a flood from a file readable, and errors from drowning in warnings.
struct Quota {
    errors: usize,
    warnings: usize,
    left_out: usize,
}

impl Quota {
    fn new(compiled: &Compiled) -> Self {
        let errors = compiled.diagnostics().iter().filter(|diagnostic| diagnostic.is_error()).count();
        Quota { errors: SHOWN, warnings: SHOWN.saturating_sub(errors), left_out: 0 }
    }

    fn admits(&mut self, found: &Found<'_>) -> bool {
        let left = if found.diagnostic.is_error() { &mut self.errors } else { &mut self.warnings };
        let admitted = *left > 0;
        *left = left.saturating_sub(1);
        self.left_out += usize::from(!admitted);
        admitted
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings
    Warnings,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let compiled = files::compile(&args.paths, args.root.as_deref())?;
    let color = term.color_out();
    let (mut errors, mut warnings, mut unreadable) = (0, 0, false);
    let mut first: Option<Code> = None;
    // A shared file's findings come once, however many files import it.
    let mut seen: HashSet<(Location, Code, String)> = HashSet::new();
    for (compiled, _) in compiled.iter().filter(|(_, imported)| !imported) {
        unreadable |= compiled.is_unreadable();
        let mut quota = Quota::new(compiled);
        let analysed = compiled.analyse();
        for found in report::all(compiled, &analysed) {
            let diagnostic = found.diagnostic;
            if !seen.insert((found.primary(), diagnostic.code, diagnostic.message.clone())) {
                continue;
            }
            *if diagnostic.is_error() { &mut errors } else { &mut warnings } += 1;
            if first.is_none_or(|first| !first.as_str().starts_with('E') && diagnostic.is_error()) {
                first = Some(diagnostic.code);
            }
            match args.format {
                Format::Human if !quota.admits(&found) => {}
                Format::Human => out.styled(&report::human(&found, color))?,
                Format::Json => out.json_line(&report::json(&found))?,
                Format::Github => out.line(&report::github(&found))?,
            }
        }
        if quota.left_out > 0 {
            let file = compiled.target.shown();
            out.line(&format!("… and {} more in {file}; `--format json` lists all", quota.left_out))?;
            out.line("")?;
        }
    }
    out.flush()?;
    let denied = args.deny == Some(Deny::Warnings);
    close(term, compiled.len(), errors, warnings, denied);
    if let (Some(code), Format::Human) = (first, args.format) {
        term.say(&format!("more about a code: `rulec explain {code}`"));
    }
    Ok(match (unreadable, errors, warnings) {
        (true, ..) => Status::Usage,
        (_, 0, 0) => Status::Fine,
        (_, 0, _) if !denied => Status::Fine,
        _ => Status::Errors,
    })
}

fn close(term: &Term, files: usize, errors: usize, warnings: usize, denied: bool) {
    let mut found = Vec::new();
    if errors > 0 {
        found.push(plural(errors, "error"));
    }
    if warnings > 0 {
        found.push(plural(warnings, "warning") + if denied { " (denied)" } else { "" });
    }
    let files = plural(files, "file");
    term.say(&match found.is_empty() {
        true => format!("{files} checked: all well"),
        false => format!("{files} checked: {}", found.join(", ")),
    });
}
