//! `rulec bench`: measures how long decisions take on this machine for the messages of a file.

use super::engine::EngineArgs;
use super::files::RulesArgs;
use super::language::{localized, singular_or_plural};
use super::run::select_entry;
use super::stream;
use super::term::{Format, Out, Term};
use super::{CliError, ExitStatus};
use clap::builder::RangedU64ValueParser;
use rulec::Session;
use rulec_base::message;
use rulec_base::text;
use serde_json::{Value as Json, json};
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Maximum number of messages kept in memory for repeated decisions. With more, memory access would
/// dominate the measurement.
const MAX_KEPT_MESSAGES: usize = 100_000;
/// Maximum number of decisions that are timed one by one. The percentiles come from these times.
const MAX_TIMED_DECISIONS: usize = 1_000_000;

/// Measure how long decisions take for the messages of a file
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec bench support.rules messages.jsonl
  rulec bench support.rules messages.jsonl --engine reference --seconds 5
  rulec bench support.rules messages.jsonl --index always
  rulec bench support.rules messages.jsonl --format json

One thread parses and decides the messages again and again for the given time. Prints the decisions per \
second, and the times within which 50%, 90% and 99% of the decisions ended. Each of these times includes some \
tens of nanoseconds for reading the clock.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// The messages, one JSON object per line; `-` reads standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Where the decision begins: the name of a table, choice or router, or `flows` [default: the
    /// routes outside any table; without them, the only choice, router or `flows`]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// The duration of the measurement in seconds, from 1 to 600
    #[arg(long, default_value = "2", value_parser = RangedU64ValueParser::<u64>::new().range(1..=600), value_name = "N")]
    seconds: u64,
    #[command(flatten)]
    engine: EngineArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let start = Instant::now();
    let rules = args.engine.apply_to(args.rules.load(term)?);
    let loaded = start.elapsed();
    let entry = select_entry(&rules, args.entry.as_deref())?;
    let (mut lines, mut left) = (Vec::new(), 0_usize);
    let rejected_messages = stream::read_json_objects(
        &args.input,
        term,
        |error| rules.masked_error(error),
        |_, message| match lines.len() < MAX_KEPT_MESSAGES {
            true => lines.push(Json::Object(message).to_string().into_bytes()),
            false => left += 1,
        },
    )?;
    if lines.is_empty() {
        return Err(CliError::input_error(message!("`{}` contains no messages", args.input.display())));
    }
    if left > 0 {
        term.print_note(&message!(
            "only the first {KEPT} messages are measured; {left} are left out",
            KEPT = MAX_KEPT_MESSAGES
        ));
    }
    let measured_times = measure_decisions(&mut entry.session(), &lines, Duration::from_secs(args.seconds));
    let report = BenchReport {
        rule_count: rules.program().rules.len(),
        load_time: loaded,
        lines: &lines,
        measured_times,
    };
    report.print(args, out)?;
    Ok(if rejected_messages == 0 { ExitStatus::Success } else { ExitStatus::Errors })
}

/// The times that `rulec bench` measured, in nanoseconds per decision.
struct DecisionTimes {
    decision_count: u64,
    mean_nanoseconds: f64,
    /// Times of the decisions that were timed one by one, in ascending order.
    sorted_nanoseconds: Vec<u64>,
}

fn measure_decisions(session: &mut Session, lines: &[Vec<u8>], budget: Duration) -> DecisionTimes {
    // These decisions are not measured, because the first ones include work that is done once, such
    // as generating machine code.
    for line in lines {
        let _ = black_box(session.decide_line(line));
    }
    let (mut decided, phase_start) = (0_u64, Instant::now());
    while phase_start.elapsed() < budget / 2 {
        for line in lines {
            let _ = black_box(session.decide_line(line));
        }
        decided += lines.len() as u64;
    }
    let mean = phase_start.elapsed().as_nanos() as f64 / decided.max(1) as f64;
    let (mut sorted_nanoseconds, phase_start) = (Vec::new(), Instant::now());
    for line in lines.iter().cycle() {
        let start = Instant::now();
        let _ = black_box(session.decide_line(line));
        sorted_nanoseconds.push(start.elapsed().as_nanos() as u64);
        if sorted_nanoseconds.len() >= MAX_TIMED_DECISIONS || phase_start.elapsed() >= budget / 2 {
            break;
        }
    }
    sorted_nanoseconds.sort_unstable();
    DecisionTimes { decision_count: decided, mean_nanoseconds: mean, sorted_nanoseconds }
}

struct BenchReport<'a> {
    rule_count: usize,
    load_time: Duration,
    lines: &'a [Vec<u8>],
    measured_times: DecisionTimes,
}

impl BenchReport<'_> {
    fn print(&self, args: &Args, out: &mut Out) -> Result<(), CliError> {
        let DecisionTimes { decision_count: decided, mean_nanoseconds: mean, sorted_nanoseconds } =
            &self.measured_times;
        let percentile = |share: f64| {
            sorted_nanoseconds
                .get((sorted_nanoseconds.len().saturating_sub(1) as f64 * share) as usize)
                .copied()
                .unwrap_or_default()
        };
        let bytes = self.lines.iter().map(Vec::len).sum::<usize>() / self.lines.len().max(1);
        let loaded = self.load_time.as_secs_f64() * 1e3;
        let per_second = 1e9 / mean;
        if args.format == Format::Json {
            let figures = json!({
                "rules": self.rule_count,
                "engine": args.engine.engine_name(),
                "messages": self.lines.len(),
                "bytes_per_message": bytes,
                "load_ms": loaded,
                "decisions": decided,
                "decisions_per_second": per_second,
                "mean_ns": mean,
                "p50_ns": percentile(0.5),
                "p90_ns": percentile(0.9),
                "p99_ns": percentile(0.99),
                "max_ns": percentile(1.0),
            });
            return out.write_json_line(&figures.to_string());
        }
        let (rules, lines) = (self.rule_count, self.lines.len());
        let rules = singular_or_plural(rules, message!("1 rule"), message!("{rules} rules"));
        let messages = singular_or_plural(lines, message!("1 message"), message!("{lines} messages"));
        let loaded = format!("{loaded:.1}");
        out.write_message(&message!(
            "{rules} loaded in {loaded} ms; {messages} of {bytes} bytes on average"
        ))?;
        let (per_second, mean) = (format!("{per_second:.0}"), format!("{mean:.0}"));
        out.write_message(&message!(
            "{per_second} decisions per second on one thread ({mean} ns each, {decided} made)"
        ))?;
        let percentiles = [
            (message!("50% within"), 0.5),
            (message!("90% within"), 0.9),
            (message!("99% within"), 0.99),
            (message!("longest"), 1.0),
        ];
        percentiles.into_iter().try_for_each(|(name, share)| {
            let padding = " ".repeat(12_usize.saturating_sub(text::display_width(&localized(&name))));
            out.write_line(&format!("  {}{padding} {:>9} ns", localized(&name), percentile(share)))
        })
    }
}
