//! `rulec check`: every mistake of every file, for people or for programs.

use super::compiled::Compiled;
use super::files;
use super::fix::Fixes;
use super::report::{self, Format, Found, Location};
use super::term::{Out, Term, plural};
use super::{CliError, Status};
use clap::ValueEnum;
use rulec::{Code, Finding};
use std::collections::HashSet;
use std::path::PathBuf;

/// Check rule files and report every error and warning
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec check support.rules
  rulec check rules/ --deny warnings          warnings fail as well, as a CI job wants it
  rulec check rules/ --format json | jq .code
  rulec check rules/ --format github          annotations in a GitHub workflow
  rulec check rules/ --fix                    repair what has one safe repair, and report the rest
  rulec check rules/ --fix --dry-run          show these repairs and write nothing

A folder stands for all *.rules below it, its files importing each other within it; a file that
others import is checked as part of them.")]
pub struct Args {
    /// Rule files, or folders of them; `-` reads standard input
    #[arg(required = true, value_name = "FILES|DIRS")]
    paths: Vec<PathBuf>,
    /// The format of what is found
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Apply the suggestions that keep what the author means, to the files named and those in the folders named
    #[arg(long)]
    fix: bool,
    /// With `--fix`: show what would change instead of writing it
    #[arg(long, requires = "fix")]
    dry_run: bool,
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
    let mut compiled = files::compile(&args.paths, args.root.as_deref())?;
    if args.fix {
        let fixes = Fixes::find(&mut compiled)?;
        let shown = if args.dry_run { fixes.show(out) } else { fixes.write() };
        shown?;
        term.say(&fixes.summary(args.dry_run));
    }
    let own = compiled.iter().filter(|(_, imported)| !imported).map(|(compiled, _)| compiled);
    let analysed: Vec<(&Compiled, Vec<Finding>)> =
        own.map(|compiled| (compiled, compiled.analyse())).collect();
    let mut findings = Vec::new();
    // A shared file's findings come once, however many files import it.
    let mut seen: HashSet<(Location, Code, String)> = HashSet::new();
    for (compiled, analysed) in &analysed {
        findings.extend(report::all(compiled, analysed).into_iter().filter(|found| {
            let diagnostic = found.diagnostic;
            seen.insert((found.primary(), diagnostic.code, diagnostic.message.clone()))
        }));
    }
    let denied = args.deny == Some(Deny::Warnings);
    // A patch is what a dry run writes; what is left to do is told beside it.
    match args.format {
        _ if args.dry_run => {}
        Format::Human => show(&findings, term, out)?,
        format => {
            let files: Vec<String> = compiled.iter().map(|(compiled, _)| compiled.target.shown()).collect();
            report::write(format, &files, &findings, denied, out)?;
        }
    }
    out.flush()?;
    let errors = findings.iter().filter(|found| found.diagnostic.is_error()).count();
    let warnings = findings.len() - errors;
    close(term, compiled.len(), errors, warnings, denied);
    let first = findings.iter().find(|found| found.diagnostic.is_error()).or(findings.first());
    if let (Some(first), Format::Human) = (first, args.format) {
        term.say(&format!("more about a code: `rulec explain {}`", first.diagnostic.code));
    }
    let unreadable = compiled.iter().any(|(compiled, imported)| !imported && compiled.is_unreadable());
    Ok(match (unreadable, errors, warnings) {
        (true, ..) => Status::Usage,
        (_, 0, 0) => Status::Fine,
        (_, 0, _) if !denied => Status::Fine,
        _ => Status::Errors,
    })
}

/// Shows findings to people, of each file as many as can be read.
fn show(findings: &[Found<'_>], term: &Term, out: &mut Out) -> Result<(), CliError> {
    let color = term.color_out();
    for own in findings.chunk_by(|one, next| std::ptr::eq(one.compiled, next.compiled)) {
        let mut quota = Quota::new(own[0].compiled);
        for found in own.iter().filter(|found| quota.admits(found)) {
            out.styled(&report::human(found, color))?;
        }
        if quota.left_out > 0 {
            let file = own[0].compiled.target.shown();
            out.line(&format!("… and {} more in {file}; `--format json` lists all", quota.left_out))?;
            out.line("")?;
        }
    }
    Ok(())
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
