//! Tables as Markdown: on the terminal, and as docs/performance.md. A further part of the page is one
//! more [`Section`].

use crate::mix::Place;
use std::fmt::Write;

/// A part of the page.
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

/// Nanoseconds a message of one mix: a row for each size, a column for each engine.
pub struct Table {
    pub place: Place,
    pub columns: Vec<&'static str>,
    pub rows: Vec<(usize, Vec<Option<f64>>)>,
}

/// What is asked of rulec at a size: how its time compares with another's.
enum Target {
    /// At most so many times the column's time.
    AtMost(f64, &'static str),
    /// The column's time is at least so many times rulec's.
    Faster(f64, &'static str),
    /// At most so many times its own time at a smaller size.
    Grows(f64, usize),
}

/// The column that the targets are about.
const OURS: &str = "rulec";

fn targets(place: Place, size: usize) -> Option<Target> {
    Some(match (place, size) {
        (Place::Late, 1) => Target::AtMost(1.3, "straight-line"),
        (Place::Late, 10) => Target::AtMost(1.0, "straight-line"),
        (Place::Late, 100) => Target::Faster(10.0, "closures"),
        (Place::Late, 1_000) => Target::Faster(100.0, "closures"),
        (Place::Late, 10_000) => Target::Faster(1_000.0, "closures"),
        (Place::Late, 100_000) => Target::Faster(25_000.0, "closures"),
        (Place::Late, 1_000_000) => Target::Grows(4.0, 100_000),
        (Place::Early, _) => Target::AtMost(3.0, "closures"),
        _ => return None,
    })
}

impl Table {
    fn time(&self, size: usize, column: &str) -> Option<f64> {
        let at = self.columns.iter().position(|name| *name == column)?;
        self.rows.iter().find(|row| row.0 == size).and_then(|row| row.1[at])
    }

    pub fn section(&self, variant: &str) -> Section {
        let mut section = Section::new(format!("{}, {variant} rules", self.place.title()));
        section.line(format!("| routes | {} |", self.columns.join(" | ")));
        section.line(format!("|---{}|", "|---".repeat(self.columns.len())));
        for (size, times) in &self.rows {
            let cells: Vec<String> =
                times.iter().map(|time| time.map_or("–".to_owned(), thousands)).collect();
            section.line(format!("| {} | {} |", thousands(*size as f64), cells.join(" | ")));
        }
        let lines: Vec<String> = self.rows.iter().filter_map(|row| self.target(row.0)).collect();
        if !lines.is_empty() {
            section.line("\n| routes | target | measured | met |\n|---|---|---|---|");
            lines.iter().for_each(|line| section.line(line));
        }
        section
    }

    /// The row of a size's target.
    fn target(&self, size: usize) -> Option<String> {
        let target = targets(self.place, size)?;
        let ours = self.time(size, OURS)?;
        let (wanted, ratio, met) = match target {
            Target::AtMost(most, column) => {
                let ratio = ours / self.time(size, column)?;
                (format!("at most {most} × {column}"), ratio, ratio <= most)
            }
            Target::Faster(least, column) => {
                let ratio = self.time(size, column)? / ours;
                (format!("at least {} × as fast as {column}", thousands(least)), ratio, ratio >= least)
            }
            Target::Grows(most, smaller) => {
                let ratio = ours / self.time(smaller, OURS)?;
                (format!("at most {most} × the time at {}", thousands(smaller as f64)), ratio, ratio <= most)
            }
        };
        let ratio = if ratio < 100.0 { format!("{ratio:.2}") } else { thousands(ratio) };
        let met = if met { "yes" } else { "no" };
        Some(format!("| {} | {wanted} | {ratio} | {met} |", thousands(size as f64)))
    }
}

/// The head of the page.
pub fn head(date: &str, facts: &[String]) -> String {
    let mut out = String::from("# Performance\n\n");
    let command: Vec<String> = std::env::args().skip(1).collect();
    let _ = writeln!(
        out,
        "The output of `benches/peers`, whose README says what is compared and how. Medians of interleaved \
         rounds in one process and one thread, the message already in the engine's own form; nanoseconds of \
         the thread's processor time a message. `–` is not expressible, or too slow to be measured at that size.\n\n\
         - {date}: {}\n- command: `cargo run --release -p rulec-peers -- {}`",
        machine(),
        command.join(" ")
    );
    for fact in facts {
        let _ = writeln!(out, "- {fact}");
    }
    out
}

/// The processor, its cores, the compiler.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rustc = std::process::Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    format!("{model}, {cores} cores, {}", rustc.unwrap_or_else(|_| "rustc unknown".to_owned()))
}

/// A number with separators; with a decimal when small.
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
