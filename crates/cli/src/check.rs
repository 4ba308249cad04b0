//! `rulec check`: reports every error and warning of rule files, for people or for programs.

mod cost;

use super::compiled::CompileResult;
use super::document::DocumentArgs;
use super::files::{self, CompiledFile};
use super::fix::AppliedFixes;
use super::language::{localized, singular_or_plural};
use super::report::{self, FindingFormat, Location, ReportedDiagnostic};
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use rulec::{AnalysisOptions, Code, Finding, Message};
use rulec_base::diag::comma_list;
use rulec_base::message;
use rulec_config::{Settings, SettingsCache, WarningLevel, WarningSelector, parse_warning};
use std::collections::HashSet;
use std::path::PathBuf;

/// Check rule files and report every error and warning
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec check                                 all *.rules in this folder and its subfolders
  rulec check support.rules
  rulec check rules/ --deny warnings          fail on warnings as well, for CI
  rulec check rules/ --deny W0213 --allow W0103
  rulec check rules/ --format json | jq .code
  rulec check rules/ --format github          annotations in a GitHub workflow
  rulec check rules/ --fix                    make the safe repairs, and report the rest
  rulec check rules/ --fix --dry-run          show these repairs and write nothing
  rulec check support.rules --cost            show the worst-case cost of a decision
  rulec check flows.json                      check another system's JSON; notes name the omitted parts

A folder means all *.rules files in it and in its subfolders; imports must stay inside the folder. A file that \
other files import is checked as part of them. A file `rulec.toml` next to the rules, or in a folder above, \
sets the same options for all: `[severity]` with `W0213 = \"deny\"`, `deny-warnings`, `strict-ties`, \
`max-cost`. Options on the command line take precedence.

Exit status: 0 no errors, 1 errors, denied warnings or a cost above --max-cost, 2 wrong usage or an unreadable \
file.")]
pub struct Args {
    /// Rule files, or folders with rule files; `-` reads standard input [default: the current
    /// folder]
    #[arg(value_name = "FILES|DIRS")]
    paths: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: FindingFormat,
    /// Make the repairs that keep the author's meaning, in the given files and folders, and report
    /// the other findings
    #[arg(long)]
    fix: bool,
    /// With `--fix`: print the changes as a patch, and write nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// Exit with status 1 also for these warnings: `warnings` for all, or a code such as W0213; may
    /// be repeated
    #[arg(long, value_name = "CODE|warnings", value_delimiter = ',', value_parser = parse_denied_warning)]
    deny: Vec<WarningSelector>,
    /// Do not report warnings with this code, such as W0103; may be repeated
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = parse_warning_code)]
    allow: Vec<Code>,
    /// Also report routes of equal priority and different targets if some message matches both
    #[arg(long)]
    strict_ties: bool,
    /// Also print how many steps a decision takes in the worst case, for each table and route. A
    /// step is a comparison, or one byte or element that is read
    #[arg(long)]
    cost: bool,
    /// Exit with status 1 if a decision may take more than this number of steps (see `--cost`)
    #[arg(long, value_name = "STEPS")]
    max_cost: Option<u64>,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of the file, or the checked folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    document: DocumentArgs,
}

fn parse_denied_warning(text: &str) -> Result<WarningSelector, String> {
    WarningSelector::parse(text).map_err(|error| localized(&error).into_owned())
}

fn parse_warning_code(text: &str) -> Result<Code, String> {
    parse_warning(text).map_err(|error| localized(&error).into_owned())
}

const MAX_SHOWN_FINDINGS: usize = 100;

/// The number of errors and warnings of one file that may still be shown. At most
/// [`MAX_SHOWN_FINDINGS`] findings are shown: first the errors, and then warnings up to the same
/// total.
struct FindingQuota {
    errors_left: usize,
    warnings_left: usize,
    hidden_count: usize,
}

impl FindingQuota {
    fn new(compiled: &CompileResult) -> Self {
        let errors = compiled.diagnostics().iter().filter(|diagnostic| diagnostic.is_error()).count();
        FindingQuota {
            errors_left: MAX_SHOWN_FINDINGS,
            warnings_left: MAX_SHOWN_FINDINGS.saturating_sub(errors),
            hidden_count: 0,
        }
    }

    fn try_consume(&mut self, finding: &ReportedDiagnostic<'_>) -> bool {
        let remaining =
            if finding.diagnostic.is_error() { &mut self.errors_left } else { &mut self.warnings_left };
        let admitted = *remaining > 0;
        *remaining = remaining.saturating_sub(1);
        self.hidden_count += usize::from(!admitted);
        admitted
    }
}

impl Args {
    /// Merges the `rulec.toml` settings of a file with the options of the command line, which take
    /// precedence.
    fn merge_settings(&self, mut settings: Settings) -> Result<Settings, CliError> {
        for denied in &self.deny {
            match denied {
                WarningSelector::Warnings => {
                    settings.deny_warnings = true;
                    settings.levels.retain(|_, level| *level != WarningLevel::Warn);
                }
                WarningSelector::Code(code) if self.allow.contains(code) => {
                    return Err(CliError::usage_error(message!("`{code}` is both denied and allowed")));
                }
                WarningSelector::Code(code) => drop(settings.levels.insert(*code, WarningLevel::Deny)),
            }
        }
        settings.levels.extend(self.allow.iter().map(|code| (*code, WarningLevel::Allow)));
        settings.strict_ties |= self.strict_ties;
        settings.max_cost = self.max_cost.or(settings.max_cost);
        Ok(settings)
    }
}

/// Numbers of errors and warnings in all checked files, for the summary and the exit status.
struct FindingCounts {
    error_count: usize,
    warning_count: usize,
    denied_count: usize,
    /// Number of tables whose worst-case cost exceeds the allowed maximum.
    costly_table_count: usize,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let paths = files::paths_or_current_folder(&args.paths);
    let mut compiled_files = files::compile_files_or_documents(&paths, args.root.as_deref(), args.document)?;
    if args.fix {
        let fixes = AppliedFixes::find_and_apply(&mut compiled_files)?;
        let outcome = if args.dry_run { fixes.print_patch(out) } else { fixes.write_files() };
        outcome?;
        term.print(&fixes.summary(args.dry_run));
    }
    let mut all_settings = SettingsCache::default();
    let mut analysed: Vec<(&CompileResult, Settings, Vec<Finding>)> = Vec::new();
    for CompiledFile { compiled, .. } in compiled_files.iter().filter(|file| !file.is_imported) {
        let settings = args.merge_settings(
            all_settings
                .for_file(&compiled.target.path)
                .map_err(|error| CliError::usage_error(error.to_message()))?,
        )?;
        let options = AnalysisOptions::default().strict_ties(settings.strict_ties);
        analysed.push((compiled, settings, compiled.analyse(options)));
    }
    let findings = reported_findings(&analysed);
    // A dry run writes only the patch to standard output. So the findings are not listed there;
    // their counts are printed on standard error.
    match args.format {
        _ if args.dry_run => {}
        FindingFormat::Human | FindingFormat::Concise => {
            let sorted = sort_by_severity(&findings);
            match args.format {
                FindingFormat::Human => print_findings(&sorted, term, out)?,
                format => report::write_findings(format, &[], &sorted, out)?,
            }
        }
        format => {
            let files: Vec<String> =
                compiled_files.iter().map(|file| file.compiled.target.display_name()).collect();
            report::write_findings(format, &files, &findings, out)?;
        }
    }
    let mut too_costly = 0;
    for (compiled, settings, _) in &analysed {
        too_costly += cost::report_costs(args, compiled, settings, (term, out))?;
    }
    out.flush()?;
    let errors = findings.iter().filter(|finding| finding.diagnostic.is_error()).count();
    let denied = findings.iter().filter(|finding| finding.is_denied).count();
    let tally = FindingCounts {
        error_count: errors,
        warning_count: findings.len() - errors,
        denied_count: denied,
        costly_table_count: too_costly,
    };
    print_totals(term, compiled_files.len(), &tally);
    let first = sort_by_severity(&findings).into_iter().next();
    if let (Some(first), FindingFormat::Human) = (first, args.format) {
        term.print(&message!("for more about a code, run `rulec explain {}`", first.diagnostic.code));
    }
    let unreadable = analysed.iter().any(|(compiled, ..)| compiled.is_unreadable());
    Ok(match (unreadable, errors + denied + too_costly) {
        (true, _) => ExitStatus::Usage,
        (_, 0) => ExitStatus::Success,
        _ => ExitStatus::Errors,
    })
}

/// Returns the findings of all files, except findings with a code that the settings allow. A denied
/// warning is marked as denied. A finding in a file that several files import is returned once.
fn reported_findings<'a>(
    analysed: &'a [(&'a CompileResult, Settings, Vec<Finding>)],
) -> Vec<ReportedDiagnostic<'a>> {
    let mut reported: HashSet<(Location, Code, Message)> = HashSet::new();
    let mut findings = Vec::new();
    for (compiled, settings, analysed) in analysed {
        for mut found in report::all_findings(compiled, analysed) {
            let diagnostic = &found.diagnostic;
            let level =
                if diagnostic.is_error() { WarningLevel::Warn } else { settings.level(diagnostic.code) };
            let identity = (found.primary_location(), diagnostic.code, diagnostic.message.clone());
            found.is_denied = level == WarningLevel::Deny;
            if level != WarningLevel::Allow && reported.insert(identity) {
                findings.push(found);
            }
        }
    }
    findings
}

/// Returns the findings of each file, the most severe first. Errors come first, then denied
/// warnings, then warnings about likely mistakes. They are followed by warnings about messages that
/// the rules may handle unexpectedly, about unused parts of the rules, and about unread fields.
fn sort_by_severity<'a>(findings: &[ReportedDiagnostic<'a>]) -> Vec<ReportedDiagnostic<'a>> {
    let rank = |finding: &ReportedDiagnostic<'_>| match finding.diagnostic.code {
        _ if finding.diagnostic.is_error() => 0,
        _ if finding.is_denied => 1,
        Code::UnreadField => 5,
        Code::NoDefault | Code::NegationFallsThrough | Code::WinsWithout => 3,
        Code::Unused
        | Code::UnusedDeclaration
        | Code::UnusedImport
        | Code::UnusedAllow
        | Code::SameTestName => 4,
        _ => 2,
    };
    let mut sorted = Vec::with_capacity(findings.len());
    for file_findings in findings.chunk_by(|one, next| std::ptr::eq(one.compiled, next.compiled)) {
        let mut file_findings = file_findings.to_vec();
        file_findings.sort_by_key(rank);
        sorted.extend(file_findings);
    }
    sorted
}

/// Prints findings with the source text underlined, up to a maximum number per file.
fn print_findings(findings: &[ReportedDiagnostic<'_>], term: &Term, out: &mut Out) -> Result<(), CliError> {
    let color = term.is_stdout_colored();
    for file_findings in findings.chunk_by(|one, next| std::ptr::eq(one.compiled, next.compiled)) {
        let mut quota = FindingQuota::new(file_findings[0].compiled);
        for finding in file_findings.iter().filter(|finding| quota.try_consume(finding)) {
            match finding.diagnostic.code {
                Code::UnreadField if !finding.is_denied => {
                    out.write_line(&report::format_concise(finding))?;
                    out.write_line("")?;
                }
                _ => out.write_styled(&report::format_human(finding, color))?,
            }
        }
        if quota.hidden_count > 0 {
            let file = file_findings[0].compiled.target.display_name();
            let more = message!("… and {} more in {file}; `--format json` lists all", quota.hidden_count);
            out.write_message(&more)?;
            out.write_line("")?;
        }
    }
    Ok(())
}

fn print_totals(term: &Term, files: usize, tally: &FindingCounts) {
    let mut parts = Vec::new();
    if tally.error_count > 0 {
        parts.push(singular_or_plural(
            tally.error_count,
            message!("1 error"),
            message!("{} errors", tally.error_count),
        ));
    }
    if tally.warning_count > 0 {
        let warnings = singular_or_plural(
            tally.warning_count,
            message!("1 warning"),
            message!("{} warnings", tally.warning_count),
        );
        parts.push(match tally.denied_count {
            0 => warnings,
            denied if denied == tally.warning_count => message!("{warnings} (denied)"),
            denied => message!("{warnings} ({denied} denied)"),
        });
    }
    if tally.costly_table_count > 0 {
        let tables = singular_or_plural(
            tally.costly_table_count,
            message!("1 table"),
            message!("{} tables", tally.costly_table_count),
        );
        parts.push(message!("{tables} over `max-cost`"));
    }
    let files = singular_or_plural(files, message!("1 file"), message!("{files} files"));
    term.print(&match parts.is_empty() {
        true => message!("{files} checked: no problems"),
        false => message!("{files} checked: {}", comma_list(parts)),
    });
}
