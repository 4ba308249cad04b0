//! The engines, each in a file of its own: a translator from the workload's plain routes, and the
//! loop that decides with them.

pub mod cel;
pub mod closures;
pub mod conditions;
#[cfg(feature = "hyperscan")]
pub mod hyperscan;
pub mod keyed;
pub mod rhai;
pub mod rulec;
pub mod straight;
pub mod wirefilter;
pub mod zen;

use crate::workload::{Message, Variant, Workload};
use serde_json::Value as Json;
use std::hint::black_box;

/// A message in the two forms that all others are made from.
pub struct Sample {
    pub message: Message,
    pub json: Json,
}

/// Routes in an engine's own form.
pub trait Engine {
    /// Messages in the engine's own form, ready to be decided. Not timed.
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e>;
}

/// Messages in an engine's own form.
pub trait Ready {
    /// The rank of the first route that holds for the message at that place.
    fn decide(&mut self, at: usize) -> Option<u32>;

    /// Decides so many messages, in turn, from one of them on. Being a method of every engine, its loop is
    /// compiled with the engine's own `decide`: no call through a table is part of a decision.
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

    /// Decides until the engine is as fast as it gets; called before timing.
    fn warm(&mut self, _messages: usize) {}
}

/// Builds an engine from routes; says why, if it cannot express them.
pub type Build = for<'w> fn(&'w Workload) -> Result<Box<dyn Engine + 'w>, String>;

/// A column of the tables.
#[derive(Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub build: Build,
    /// Above this many routes it is not tried: it would not end, or not fit.
    pub most: usize,
}

/// All engines, in the order of the columns.
pub fn all() -> Vec<Column> {
    let column = |name, build: Build, most| Column { name, build, most };
    let mut columns = vec![
        column("straight-line", straight::build, 100),
        column("closures", closures::build_cheap_first, 100_000),
        column("closures-written", closures::build_as_written, 100_000),
        // What follows is left out earlier where a message takes too long, see `--limit-ms`.
        column("wirefilter", wirefilter::build, 100_000),
        column("cel", cel::build, 100_000),
        column("zen", zen::build, 100_000),
        column("rhai", rhai::build, 100_000),
        column("proto-aho-corasick", keyed::build, 100_000),
    ];
    #[cfg(feature = "hyperscan")]
    columns.push(column("proto-hyperscan", hyperscan::build, 100_000));
    columns.extend(rulec::columns());
    columns
}

/// Hyperscan over literals, where it is compiled in; they may be found in either case.
///
/// # Errors
/// When it does not take them.
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

/// An error for what an engine cannot express.
fn beyond(what: &str) -> String {
    format!("cannot express {what}")
}

/// For engines that have only a part of the language.
fn only(variants: &[Variant], workload: &Workload, what: &str) -> Result<(), String> {
    if variants.contains(&workload.shape.variant) { Ok(()) } else { Err(beyond(what)) }
}
