//! The engines, each in its own file: a translator of the workload's routes, and the decision loop.

pub mod cel;
pub mod closures;
pub mod conditions;
#[cfg(feature = "hyperscan")]
pub mod hyperscan;
pub mod keyed;
pub mod lines;
#[cfg(feature = "regorus")]
pub mod regorus;
pub mod rhai;
pub mod rulec;
pub mod straight;
pub mod wirefilter;
pub mod zen;

use crate::workload::{Message, Variant, Workload};
use serde_json::Value as Json;
use std::hint::black_box;

/// A message in the two forms from which the engines build their own forms.
pub struct Sample {
    pub message: Message,
    pub json: Json,
}

/// The routes of a workload, compiled by an engine.
pub trait Engine {
    /// Converts the messages to the engine's own form. The conversion is not timed.
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e>;
}

/// An engine's routes with messages in the engine's own form, ready to decide.
pub trait Ready {
    /// Returns the rank of the first route that matches the message with index `at`.
    fn decide(&mut self, at: usize) -> Option<u32>;

    /// Decides `count` messages, starting at index `from`; after the last of the `messages`
    /// messages, the first one follows. Each engine gets its own instance of this method, so
    /// `decide` is not called through a vtable.
    fn batch(&mut self, from: usize, count: usize, messages: usize) {
        let mut at = from;
        for _ in 0..count {
            black_box(self.decide(black_box(at)));
            at += 1;
            if at == messages {
                at = 0;
            }
        }
    }

    /// Decides until the engine reaches full speed, with the given number of messages. Called
    /// before the engine is timed.
    fn warm(&mut self, _messages: usize) {}
}

/// Builds an engine from routes, or returns why it cannot express them.
pub type Build = for<'w> fn(&'w Workload) -> Result<Box<dyn Engine + 'w>, String>;

/// An engine as a column of the result tables.
#[derive(Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub build: Build,
    /// Maximum number of routes to measure. With more, the engine would take too long or exceed
    /// memory.
    pub most: usize,
}

/// Returns all engines, in the order of the columns.
pub fn all() -> Vec<Column> {
    let column = |name, build: Build, most| Column { name, build, most };
    let mut columns = vec![
        column("straight-line", straight::build, 100),
        column("closures", closures::build_cheap_first, 100_000),
        column("closures-written", closures::build_as_written, 100_000),
        // The next engines are skipped earlier if a message takes too long, see `--limit-ms`.
        column("wirefilter", wirefilter::build, 100_000),
        column("cel", cel::build, 100_000),
        column("zen", zen::build, 100_000),
        column("rhai", rhai::build, 100_000),
        column("proto-aho-corasick", keyed::build, 100_000),
    ];
    #[cfg(feature = "hyperscan")]
    columns.extend([
        column("proto-hyperscan", hyperscan::build, 100_000),
        column("proto-hyperscan-lines", hyperscan::build_lines, 100_000),
    ]);
    columns.extend(rulec::columns());
    columns
}

/// Builds a Hyperscan database for the literals, or returns `None` without the feature. If
/// `ignoring_case` is set, capital and small letters count as equal.
///
/// # Errors
/// If Hyperscan rejects the literals.
#[cfg_attr(
    not(feature = "hyperscan"),
    allow(unused_variables, reason = "without the feature there is nothing to build")
)]
pub fn hyperscan_database(
    literals: &[String],
    ignoring_case: bool,
) -> Result<Option<Box<dyn keyed::LiteralScan>>, String> {
    #[cfg(feature = "hyperscan")]
    return Ok(Some(Box::new(hyperscan::Database::new(literals, ignoring_case)?)));
    #[cfg(not(feature = "hyperscan"))]
    Ok(None)
}

/// Returns the error for a construct that an engine cannot express.
fn unsupported(what: &str) -> String {
    format!("cannot express {what}")
}

/// Returns an error unless the workload has one of the variants that the engine supports.
fn require_variant(variants: &[Variant], workload: &Workload, what: &str) -> Result<(), String> {
    if variants.contains(&workload.shape.variant) { Ok(()) } else { Err(unsupported(what)) }
}
