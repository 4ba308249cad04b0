//! Measures loading: the time from source or from an artifact to rules, and their heap size. The
//! baseline is a tree of closures, built from routes that are already parsed.

use crate::engines::closures::{Closures, Order};
use crate::engines::rulec::compile_text;
use crate::heap;
use crate::measure::median;
use crate::report::{Section, thousands};
use crate::workload::Workload;
use ::rulec::Rules;
use std::time::Instant;

/// Number of measurements of each way to load; each takes seconds.
const ROUNDS: usize = 3;

/// One way to load rules, with a name for the table.
struct Load<'l> {
    name: String,
    /// Loads the rules. Returns the time in seconds, which does not include dropping the rules, and
    /// the heap size of the rules in bytes.
    load: Box<dyn Fn() -> Result<(f64, isize), String> + 'l>,
}

fn load<'l, T>(name: impl Into<String>, make: impl Fn() -> Result<T, String> + 'l) -> Load<'l> {
    let load = move || {
        let start = Instant::now();
        let (made, bytes) = heap::held(&make);
        let time = start.elapsed().as_secs_f64();
        made.map(|_| (time, bytes))
    };
    Load { name: name.into(), load: Box::new(load) }
}

/// Returns the table of load times and heap sizes. All ways to load are measured alternately, and
/// the table shows the median times.
///
/// # Errors
/// If the rules do not load.
pub fn section(workload: &Workload) -> Result<Section, String> {
    let source = workload.source();
    let artifact = compile_text(&source)?.to_artifact(false);
    let megabytes = |bytes: usize| format!("{:.1} MB", bytes as f64 / 1e6);
    let error = |error: ::rulec::CompileError| error.to_string();
    let loads = [
        load(format!("rulec, from {} of source", megabytes(source.len())), || compile_text(&source)),
        load(format!("rulec, from an artifact of {}", megabytes(artifact.len())), || {
            Rules::from_artifact(&artifact).map_err(error)
        }),
        load("closures, from routes already parsed", || {
            Ok(Closures::new(&workload.routes, Order::CheapFirst))
        }),
    ];
    let mut times = vec![Vec::new(); loads.len()];
    let mut heap = vec![0; loads.len()];
    for _ in 0..ROUNDS {
        for (at, load) in loads.iter().enumerate() {
            let (time, bytes) = (load.load)()?;
            times[at].push(time);
            heap[at] = bytes;
        }
    }
    let times: Vec<f64> = times.into_iter().map(median).collect();
    let routes = workload.routes.len() as f64;
    let each: Vec<f64> = heap.into_iter().map(|bytes| bytes as f64 / routes).collect();
    let name = workload.shape.name();
    let mut section = Section::new(format!("Loading {} routes: {name}", thousands(routes)));
    section.line("| | milliseconds on the wall | bytes of heap a route |\n|---|---|---|");
    for ((load, time), bytes) in loads.iter().zip(&times).zip(&each) {
        section.line(format!(
            "| {} | {} | {} |",
            load.name,
            thousands((time * 1e3).round()),
            thousands(*bytes)
        ));
    }
    section.line("\n| target, at 100,000 routes | measured at this size | met |\n|---|---|---|");
    let mut target = |target: &str, measured: String, met: bool| {
        section.line(format!("| {target} | {measured} | {} |", if met { "yes" } else { "no" }));
    };
    let ratio = times[0] / times[2];
    target("from source at most 2 × the closures", format!("{ratio:.2}"), ratio <= 2.0);
    let ratio = times[0] / times[1];
    target("from an artifact at least 5 × as fast as from source", format!("{ratio:.2}"), ratio >= 5.0);
    let most = each[0].max(each[1]);
    target("at most 1,500 bytes a route", thousands(most), most <= 1_500.0);
    Ok(section)
}
