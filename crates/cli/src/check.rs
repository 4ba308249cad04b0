//! `rulec check`: every mistake of every file, for people or for programs.

use super::compiled::Compiled;
use super::files;
use super::report::{self, Format, Found, Location};
use super::settings::{self, Level, Named, Settings};
use super::term::{Out, Term, grouped, plural};
use super::{CliError, Status};
use rulec::cost::TableCost;
use rulec::internals::text::on_one_line;
use rulec::{AnalysisOptions, Code};
use serde::Serialize;
use std::collections::HashSet;
use std::path::PathBuf;

/// Check rule files and report every error and warning
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec check support.rules
  rulec check rules/ --deny warnings          warnings fail as well, as a CI job wants it
  rulec check rules/ --deny W0213 --allow W0103
  rulec check rules/ --format json | jq .code
  rulec check rules/ --format github          annotations in a GitHub workflow
  rulec check support.rules --cost            what a decision may cost in the worst case

A folder stands for all *.rules below it, its files importing each other within it; a file that
others import is checked as part of them. `rulec.toml`, beside the rules or in a folder above, sets the same for
all: `[severity]` with `W0213 = \"deny\"`, `deny-warnings`, `strict-ties`, `max-cost`; what is written here comes first.")]
pub struct Args {
    /// Rule files, or folders of them; `-` reads standard input
    #[arg(required = true, value_name = "FILES|DIRS")]
    paths: Vec<PathBuf>,
    /// The format of what is found
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Exit with status 1 also when these were found: `warnings`, or the code of one
    #[arg(long, value_name = "CODE|warnings", value_delimiter = ',')]
    deny: Vec<Named>,
    /// Leave out the warnings of this code
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = settings::warning)]
    allow: Vec<Code>,
    /// Also tell routes of equal priority and different targets that any one input satisfies
    #[arg(long)]
    strict_ties: bool,
    /// Also say what a decision may cost in the worst case, table by table and route by route
    #[arg(long)]
    cost: bool,
    /// Exit with status 1 when a decision may take more steps than these
    #[arg(long, value_name = "STEPS")]
    max_cost: Option<u64>,
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

impl Args {
    /// The settings of a file, with those of the command line before them.
    fn settings(&self, mut settings: Settings) -> Result<Settings, CliError> {
        for denied in &self.deny {
            match denied {
                Named::Warnings => {
                    settings.deny_warnings = true;
                    settings.levels.retain(|_, level| *level != Level::Warn);
                }
                Named::Code(code) if self.allow.contains(code) => {
                    return Err(CliError::usage(format!("`{code}` is both denied and allowed")));
                }
                Named::Code(code) => drop(settings.levels.insert(*code, Level::Deny)),
            }
        }
        settings.levels.extend(self.allow.iter().map(|code| (*code, Level::Allow)));
        settings.strict_ties |= self.strict_ties;
        settings.max_cost = self.max_cost.or(settings.max_cost);
        Ok(settings)
    }
}

/// The findings so far.
#[derive(Default)]
struct Tally {
    errors: usize,
    warnings: usize,
    denied: usize,
    /// Tables whose worst case is over what is allowed.
    dear: usize,
    unreadable: bool,
    first: Option<Code>,
}

impl Tally {
    fn add(&mut self, found: &Found<'_>) {
        let diagnostic = found.diagnostic;
        *if diagnostic.is_error() { &mut self.errors } else { &mut self.warnings } += 1;
        self.denied += usize::from(found.denied);
        if self.first.is_none_or(|first| !first.as_str().starts_with('E') && diagnostic.is_error()) {
            self.first = Some(diagnostic.code);
        }
    }

    fn status(&self) -> Status {
        match (self.unreadable, self.errors + self.denied + self.dear) {
            (true, _) => Status::Usage,
            (_, 0) => Status::Fine,
            _ => Status::Errors,
        }
    }
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let compiled = files::compile(&args.paths, args.root.as_deref())?;
    let color = term.color_out();
    let mut tally = Tally::default();
    let mut all_settings = settings::Found::default();
    // A shared file's findings come once, however many files import it.
    let mut seen: HashSet<(Location, Code, String)> = HashSet::new();
    for (compiled, _) in compiled.iter().filter(|(_, imported)| !imported) {
        let settings = args.settings(all_settings.of(&compiled.target.path)?)?;
        tally.unreadable |= compiled.is_unreadable();
        let mut quota = Quota::new(compiled);
        let analysed = compiled.analyse(AnalysisOptions::default().strict_ties(settings.strict_ties));
        for mut found in report::all(compiled, &analysed) {
            let diagnostic = found.diagnostic;
            let level = if diagnostic.is_error() { Level::Warn } else { settings.level(diagnostic.code) };
            let told = (found.primary(), diagnostic.code, diagnostic.message.clone());
            if level == Level::Allow || !seen.insert(told) {
                continue;
            }
            found.denied = level == Level::Deny;
            tally.add(&found);
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
        tally.dear += costs(args, compiled, &settings, (term, out))?;
    }
    out.flush()?;
    close(term, compiled.len(), &tally);
    if let (Some(code), Format::Human) = (tally.first, args.format) {
        term.say(&format!("more about a code: `rulec explain {code}`"));
    }
    Ok(tally.status())
}

/// Says what decisions may cost in the worst case, where that is asked; the number of tables over what is allowed.
fn costs(
    args: &Args,
    compiled: &Compiled,
    settings: &Settings,
    (term, out): (&Term, &mut Out),
) -> Result<usize, CliError> {
    let Ok(rules) = &compiled.result else { return Ok(0) };
    if !args.cost && settings.max_cost.is_none() {
        return Ok(0);
    }
    let file = compiled.target.shown();
    let mut dear = 0;
    for table in rules.cost() {
        match (args.cost, args.format) {
            (true, Format::Human) => write_cost(&table, &file, out)?,
            (true, Format::Json) => {
                let costs = Costs { file: &file, cost: &table };
                out.json_line(&serde_json::to_string(&costs).unwrap_or_default())?;
            }
            _ => {}
        }
        if let Some(most) = settings.max_cost.filter(|most| table.steps > *most) {
            dear += 1;
            let (steps, most) = (grouped(table.steps), grouped(most));
            let name = on_one_line(&table.table);
            let what =
                format!("{file}: `{name}` may take {steps} steps in the worst case, and {most} are allowed");
            match args.format {
                Format::Github => out.line(&format!("::error file={file}::{what}"))?,
                _ => term.error(&what),
            }
        }
    }
    Ok(dear)
}

#[derive(Serialize)]
struct Costs<'a> {
    file: &'a str,
    cost: &'a TableCost,
}

/// The statements whose cost is shown, the dearest.
const DEAREST: usize = 20;

fn write_cost(table: &TableCost, file: &str, out: &mut Out) -> Result<(), CliError> {
    let calls = |calls: u64| match calls {
        0 => String::new(),
        calls => format!(
            ", {} of functions of the embedding program",
            plural(usize::try_from(calls).unwrap_or(usize::MAX), "call")
        ),
    };
    let name = on_one_line(&table.table);
    let steps = grouped(table.steps);
    out.line(&format!("{file}: `{name}` takes {steps} steps in the worst case{}", calls(table.calls)))?;
    for statement in table.statements.iter().take(DEAREST) {
        let name = on_one_line(&statement.name);
        out.line(&format!("  {:>15}  {name}{}", grouped(statement.steps), calls(statement.calls)))?;
    }
    if table.statements.len() > DEAREST {
        out.line(&format!("  {:>15}  … and {} more", "", table.statements.len() - DEAREST))?;
    }
    Ok(())
}

fn close(term: &Term, files: usize, tally: &Tally) {
    let mut found = Vec::new();
    if tally.errors > 0 {
        found.push(plural(tally.errors, "error"));
    }
    if tally.warnings > 0 {
        let denied = match tally.denied {
            0 => String::new(),
            denied if denied == tally.warnings => " (denied)".to_owned(),
            denied => format!(" ({denied} denied)"),
        };
        found.push(plural(tally.warnings, "warning") + &denied);
    }
    if tally.dear > 0 {
        found.push(format!("{} over `max-cost`", plural(tally.dear, "table")));
    }
    let files = plural(files, "file");
    term.say(&match found.is_empty() {
        true => format!("{files} checked: all well"),
        false => format!("{files} checked: {}", found.join(", ")),
    });
}
