//! What loading costs: time from the text to rules and the heap they hold, against the tree of
//! closures built from routes that are already parsed.

use crate::engines::closures::{Closures, Order};
use crate::engines::rulec;
use crate::heap;
use crate::measure::median;
use crate::report::Section;
use crate::workload::Workload;
use std::time::Instant;

/// Rounds of loading; each takes seconds.
const ROUNDS: usize = 3;

/// Loads both, in turn.
pub fn section(workload: &Workload) -> Result<Section, String> {
    let source = workload.source();
    let (mut text, mut tree) = (Vec::new(), Vec::new());
    let (mut rules_bytes, mut tree_bytes) = (0, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let (rules, bytes) = heap::held(|| rulec::compile_text(&source));
        text.push(start.elapsed().as_secs_f64());
        drop(rules?);
        rules_bytes = bytes;
        let start = Instant::now();
        let (closures, bytes) = heap::held(|| Closures::new(&workload.routes, Order::CheapFirst));
        tree.push(start.elapsed().as_secs_f64());
        drop(closures);
        tree_bytes = bytes;
    }
    let (text, tree) = (median(text), median(tree));
    let routes = workload.routes.len() as f64;
    let mut section = Section::new(format!("Loading {} routes", crate::report::thousands(routes)));
    section.line(format!(
        "| | time on the wall | heap a route |\n|---|---|---|\n\
         | rulec, from {:.1} MB of source | {:.0} ms | {:.0} B |\n\
         | closures, from routes already parsed | {:.0} ms | {:.0} B |\n\n\
         Loading takes {:.2} times as long as building the closures; the target is at most 2, and at most \
         1,500 B a route at 100,000.",
        source.len() as f64 / 1e6,
        text * 1e3,
        rules_bytes as f64 / routes,
        tree * 1e3,
        tree_bytes as f64 / routes,
        text / tree,
    ));
    Ok(section)
}
