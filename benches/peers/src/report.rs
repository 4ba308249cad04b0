//! Result tables as Markdown, for the terminal and for `benches/notes/peers.md`. Each part of the
//! page is a [`Section`].

use crate::mix::HitPosition;
use std::fmt::Write;

/// A section of the page: a title and Markdown text.
pub struct Section {
    title: String,
    body: String,
}

impl Section {
    pub fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), body: String::new() }
    }

    pub fn line(&mut self, line: impl AsRef<str>) {
        self.body.push_str(line.as_ref());
        self.body.push('\n');
    }

    pub fn text(&self) -> String {
        format!("## {}\n\n{}\n", self.title, self.body.trim_end())
    }
}

/// Nanoseconds per message of one mix: a row for each number of routes, a column for each engine.
pub struct Table {
    pub place: HitPosition,
    /// Name of the kind of rules.
    pub rules: String,
    pub columns: Vec<&'static str>,
    pub rows: Vec<(usize, Vec<Option<f64>>)>,
}

/// A performance target: how rulec's time at one size compares with another time.
enum Target {
    /// rulec's time is at most this factor times the time of the named column.
    AtMost(f64, &'static str),
    /// The time of the named column is at least this factor times rulec's time.
    Faster(f64, &'static str),
    /// rulec's time is at most this factor times rulec's time at this smaller size.
    Grows(f64, usize),
}

/// Name of the column that the targets apply to.
const OURS: &str = "rulec";

fn targets_of(place: HitPosition, size: usize) -> Vec<Target> {
    let mut targets = Vec::new();
    if matches!(place, HitPosition::Late | HitPosition::None) && (100..=100_000).contains(&size) {
        targets.push(Target::AtMost(1.0, "proto-hyperscan"));
    }
    targets.extend(match (place, size) {
        (HitPosition::Late, 1) => Some(Target::AtMost(1.3, "straight-line")),
        (HitPosition::Late, 10) => Some(Target::AtMost(1.0, "straight-line")),
        (HitPosition::Late, 100) => Some(Target::Faster(15.0, "closures")),
        (HitPosition::Late, 1_000) => Some(Target::Faster(100.0, "closures")),
        (HitPosition::Late, 10_000) => Some(Target::Faster(1_000.0, "closures")),
        (HitPosition::Late, 100_000) => Some(Target::Faster(10_000.0, "closures")),
        (HitPosition::Late, 1_000_000) => Some(Target::Grows(4.0, 100_000)),
        (HitPosition::Early, 1..=100_000) => Some(Target::AtMost(3.0, "closures")),
        _ => None,
    });
    targets
}

impl Target {
    fn wanted(&self) -> String {
        match self {
            Target::AtMost(most, column) => format!("at most {most} × the time of {column}"),
            Target::Faster(least, column) => {
                format!("at least {} × as fast as {column}, half of that for dense rules", thousands(*least))
            }
            Target::Grows(most, smaller) => {
                format!("at most {most} × the time at {}", thousands(*smaller as f64))
            }
        }
    }

    /// Returns the measured ratio and whether it reaches the target; `None` if a time is missing.
    fn measured(&self, table: &Table, size: usize) -> Option<(f64, bool)> {
        let ours = table.time(size, OURS)?;
        Some(match *self {
            Target::AtMost(most, column) => {
                let ratio = ours / table.time(size, column)?;
                (ratio, ratio <= most)
            }
            Target::Faster(least, column) => {
                let ratio = table.time(size, column)? / ours;
                let least = if table.rules.contains("dense") { least / 2.0 } else { least };
                (ratio, ratio >= least)
            }
            Target::Grows(most, smaller) => {
                let ratio = ours / table.time(smaller, OURS)?;
                (ratio, ratio <= most)
            }
        })
    }
}

impl Table {
    fn time(&self, size: usize, column: &str) -> Option<f64> {
        let at = self.columns.iter().position(|name| *name == column)?;
        self.rows.iter().find(|row| row.0 == size).and_then(|row| row.1[at])
    }

    pub fn section(&self) -> Section {
        let mut section = Section::new(format!("{}: {}", self.place.title(), self.rules));
        // An engine that cannot express the rules has no column.
        let shown: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.rows.iter().any(|row| row.1[*at].is_some())).collect();
        let names: Vec<&str> = shown.iter().map(|at| self.columns[*at]).collect();
        section.line(format!("| routes | {} |", names.join(" | ")));
        section.line(format!("|---{}|", "|---".repeat(names.len())));
        for (size, times) in &self.rows {
            let cells: Vec<String> =
                shown.iter().map(|at| times[*at].map_or("–".to_owned(), thousands)).collect();
            section.line(format!("| {} | {} |", thousands(*size as f64), cells.join(" | ")));
        }
        section
    }
}

/// Returns a section that compares the targets with the tables. It has a row for each mix and size
/// with a target, and a column for each kind of rules. Returns `None` if no target applies to the
/// measured sizes.
pub fn targets(tables: &[Table]) -> Option<Section> {
    let mut rules: Vec<&str> = tables.iter().map(|table| table.rules.as_str()).collect();
    rules.dedup();
    let mut asked: Vec<(usize, usize)> =
        tables.iter().flat_map(|table| table.rows.iter().map(|row| (table.place as usize, row.0))).collect();
    asked.sort_unstable();
    asked.dedup();
    let asked = asked.into_iter().flat_map(|(place, size)| {
        let place = HitPosition::ALL[place];
        targets_of(place, size).into_iter().map(move |target| (place, size, target))
    });
    let mut section = Section::new("Targets");
    section.line(format!("| mix | routes | target for {OURS} | {} |", rules.join(" | ")));
    section.line(format!("|---|---|---{}|", "|---".repeat(rules.len())));
    let mut any = false;
    for (place, size, target) in asked {
        let measured = rules.iter().map(|rules| {
            let table = tables.iter().find(|table| table.place == place && table.rules == **rules)?;
            target.measured(table, size)
        });
        let measured: Vec<Option<(f64, bool)>> = measured.collect();
        if measured.iter().all(Option::is_none) {
            continue;
        }
        any = true;
        let cells = measured.into_iter().map(|measured| match measured {
            Some((ratio, met)) => {
                let ratio = if ratio < 100.0 { format!("{ratio:.2}") } else { thousands(ratio) };
                format!("{ratio} ({})", if met { "met" } else { "missed" })
            }
            None => "–".to_owned(),
        });
        let cells: Vec<String> = cells.collect();
        section.line(format!(
            "| {} | {} | {} | {} |",
            place.name(),
            thousands(size as f64),
            target.wanted(),
            cells.join(" | ")
        ));
    }
    any.then_some(section)
}

/// Returns the head of the page: date, machine and facts about the measurement.
pub fn head(date: &str, facts: &[String]) -> String {
    let mut out = String::from("# Comparison with peers\n\n");
    let command: Vec<String> = std::env::args().skip(1).collect();
    let features = if cfg!(feature = "hyperscan") { " --features hyperscan" } else { "" };
    let _ = writeln!(
        out,
        "The tables of `benches/peers`: rulec, two baselines written by hand, a prototype index and other engines.\n\
         [The README of `peers`](../peers/README.md) describes the workload, the engines and how the answers are \
         checked.\n\n\
         Times are nanoseconds for each message, with the message already in the engine's own form. They are \
         medians of rounds in which all engines take turns, in one process and one thread, in processor time of \
         the thread. `–`: not expressible, or left out at that size.\n\n\
         - date: {date}\n- machine: {}\n- command: `cargo run --release -p rulec-peers{features} -- {}`",
        machine(),
        command.join(" ")
    );
    for fact in facts {
        let _ = writeln!(out, "- {fact}");
    }
    out
}

/// Returns the processor, its number of cores, and the compiler version.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rustc = std::process::Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    format!("{model}, {cores} cores, {}", rustc.unwrap_or_else(|_| "rustc unknown".to_owned()))
}

/// Formats a number with thousands separators; a small fraction gets one decimal.
pub fn thousands(number: f64) -> String {
    if number < 20.0 && number.fract() != 0.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
