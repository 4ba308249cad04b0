//! Compares rulec with its peers and with two hand-written baselines on one workload. See the
//! README.

mod census;
mod clinc;
mod engines;
mod fields;
mod heap;
mod http;
mod load;
mod measure;
mod mix;
mod options;
mod report;
mod scan;
mod view;
mod workload;

use census::Census;
use clap::Parser;
use engines::{Column, Engine, Ready};
use mix::Mix;
use options::Options;
use report::{Section, Table};
use std::collections::HashMap;
use std::process::ExitCode;
use workload::{Density, Shape, Variant, Workload};

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let columns = options.columns()?;
    let mut page = Page::new(options);
    let (mut tables, mut hardness) = (Vec::new(), Vec::new());
    for &variant in &options.variants {
        let variant = Variant::from(variant);
        let all = options.densities();
        // Rules whose words have only one density are measured once.
        let densities = if variant.densities().len() > 1 { &all[..] } else { variant.densities() };
        for &density in densities {
            let compared = compare(options, &columns, variant, density, &mut page.facts, &mut hardness)?;
            compared.iter().for_each(|table| page.add(table.section()));
            tables.extend(compared);
        }
    }
    page.add(census::section(&hardness));
    let (rounds, densities) = (options.rounds.into(), options.densities());
    if !options.scan.is_empty() || !options.scan_files.is_empty() {
        let size = (options.messages, rounds, options.seed);
        page.add(scan::section(&options.scan, &options.scan_files, &densities, size)?);
    }
    if !options.fields.is_empty() {
        page.add(fields::section(&options.fields, options.messages, rounds, options.seed)?);
    }
    if !options.clinc.is_empty() {
        page.add(clinc::section(&options.clinc, options.clinc_data.as_deref(), rounds)?);
    }
    if !options.http.is_empty() {
        page.add(http::section(&options.http)?);
    }
    if options.load > 0 {
        for density in densities {
            eprintln!("loading {} routes, {}", options.load, density.name());
            page.add(load::section(&Workload::new(options.shape(options.load, Variant::Mixed, density)))?);
        }
    }
    if let Some(targets) = report::targets(&tables) {
        page.add_first(targets);
    }
    page.write(options)
}

/// The page of results. Each section is printed when it is added; the whole page is written to a
/// file at the end.
struct Page {
    sections: Vec<Section>,
    facts: Vec<String>,
}

impl Page {
    fn new(options: &Options) -> Page {
        let Options { messages, rounds, no_key, seed, .. } = options;
        let facts = vec![format!(
            "{messages} messages a mix, {rounds} rounds, {no_key} % of the routes without a key, seed {seed}; all \
             answers checked against the reference evaluator's before timing, of a slow engine as many as two \
             seconds allow; up to 10 routes the mean of {} rule sets",
            Shape::draws(1)
        )];
        Page { sections: Vec::new(), facts }
    }

    fn add(&mut self, section: Section) {
        println!("{}", section.text());
        self.sections.push(section);
    }

    /// Adds a section at the start of the page. Such a section summarizes the others, so it is
    /// computed last.
    fn add_first(&mut self, section: Section) {
        println!("{}", section.text());
        self.sections.insert(0, section);
    }

    fn write(&self, options: &Options) -> Result<(), String> {
        let Some(path) = &options.markdown else { return Ok(()) };
        let mut text = report::head(&options.date, &self.facts);
        for section in &self.sections {
            text.push('\n');
            text.push_str(&section.text());
        }
        std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// Returns the tables for one kind of rules. Adds the counts that show how hard these rules are for
/// an index (see [`census`]) to `hardness`.
fn compare(
    options: &Options,
    columns: &[Column],
    variant: Variant,
    density: Density,
    facts: &mut Vec<String>,
    hardness: &mut Vec<census::Row>,
) -> Result<Vec<Table>, String> {
    let places = options.places();
    let name = options.shape(0, variant, density).name();
    let table = |&place| Table {
        place,
        rules: name.clone(),
        columns: columns.iter().map(|column| column.name).collect(),
        rows: Vec::new(),
    };
    let mut tables: Vec<Table> = places.iter().map(table).collect();
    let mut slowest = HashMap::new();
    for &size in &options.sizes {
        let (mut draws, mut counted) = (Vec::new(), Vec::new());
        for draw in 0..Shape::draws(size) {
            eprintln!("{name}, {size} routes: generating");
            let mut shape = options.shape(size, variant, density);
            shape.seed += draw;
            let workload = Workload::new(shape);
            let mixes = mix::mixes(&workload, &places, options.messages)?;
            counted.push(Census::new(&workload, &mixes)?);
            facts.extend(check_oracle(&workload, &mixes, options)?);
            draws.push(measure_size(options, columns, &workload, &mixes, &mut slowest)?);
        }
        hardness.push(census::Row { rules: name.clone(), routes: size, draws: counted });
        for (at, table) in tables.iter_mut().enumerate() {
            let mean = |column: usize| -> Option<f64> {
                let times = draws.iter().map(|times| times[at][column]);
                Some(times.sum::<Option<f64>>()? / draws.len() as f64)
            };
            table.rows.push((size, (0..columns.len()).map(mean).collect()));
        }
    }
    Ok(tables)
}

/// Compares the expected answers with the reference evaluator, and returns a note about it if only
/// a sample was compared. A sample is used for large rule sets, because the reference compiles
/// thousands of patterns in each decision, which takes seconds.
fn check_oracle(workload: &Workload, mixes: &[Mix], options: &Options) -> Result<Option<String>, String> {
    let size = workload.routes.len();
    let sample = match size {
        0..=10_000 => options.messages,
        10_001..=100_000 => options.messages.min(4),
        _ => 1,
    };
    let rules = engines::rulec::compile(workload)?;
    let mut reference = engines::rulec::reference(&rules);
    for mix in mixes {
        let step = (mix.samples.len() / sample.max(1)).max(1);
        for at in (0..mix.samples.len()).step_by(step) {
            let answer = reference(&mix.samples[at]);
            if answer != mix.expected[at] {
                return Err(format!(
                    "the reference answers {answer:?} and the oracle {:?} for\n  {}",
                    mix.expected[at], mix.samples[at].json
                ));
            }
        }
    }
    let routes = report::thousands(size as f64);
    Ok((sample < options.messages).then(|| {
        format!(
            "{}, {routes} routes: the reference evaluator has checked {sample} messages a mix",
            workload.shape.name()
        )
    }))
}

/// True if an engine is measured even if it is slow, because the targets need its times.
fn always_measured(name: &str) -> bool {
    name == "closures" || name.starts_with("rulec")
}

/// Builds, checks and times all engines at one size. Returns a list for each mix of messages, with
/// the nanoseconds per message of each engine. `None` in place of a time means that the engine was
/// not measured.
fn measure_size(
    options: &Options,
    columns: &[Column],
    workload: &Workload,
    mixes: &[Mix],
    slowest: &mut HashMap<&'static str, (f64, usize)>,
) -> Result<Vec<Vec<Option<f64>>>, String> {
    let size = workload.routes.len();
    let limit = options.limit_ms * 1e6;
    let mut built: Vec<(usize, Box<dyn Engine + '_>)> = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let name = column.name;
        // The time of a linear engine grows with the number of routes.
        let expected = slowest.get(name).map_or(0.0, |(time, routes)| time / *routes as f64 * size as f64);
        if size > column.most || (expected > limit && !always_measured(name)) {
            continue;
        }
        match (column.build)(workload) {
            Ok(engine) => built.push((at, engine)),
            Err(reason) => eprintln!("  {name}: {reason}"),
        }
    }
    let mut times = vec![vec![None; columns.len()]; mixes.len()];
    let mut longest: HashMap<&'static str, f64> = HashMap::new();
    for (mix, times) in mixes.iter().zip(&mut times) {
        let messages = mix.samples.len();
        let (mut chosen, mut readies): (Vec<usize>, Vec<Box<dyn Ready + '_>>) = Default::default();
        for (at, engine) in &built {
            let name = columns[*at].name;
            let mut ready = engine.ready(&mix.samples);
            let time = measure::probe(&mut *ready, messages);
            if time > limit && !always_measured(name) {
                eprintln!("  {name}: {:.0} ms a message, skipped", time / 1e6);
                longest.insert(name, time);
                continue;
            }
            let checked = measure::check(&mut *ready, &mix.samples, &mix.expected)
                .map_err(|error| format!("`{name}`, mix `{}`: {error}", mix.place.name()))?;
            if checked < messages {
                eprintln!("  {name}: {checked} of {messages} messages checked");
            }
            ready.warm(messages);
            chosen.push(*at);
            readies.push(ready);
        }
        eprintln!("  timing the mix {}", mix.place.name());
        for (at, time) in
            chosen.into_iter().zip(measure::interleaved(&mut readies, messages, options.rounds.into()))
        {
            times[at] = Some(time);
            let longest = longest.entry(columns[at].name).or_default();
            *longest = longest.max(time);
        }
    }
    slowest.extend(longest.into_iter().map(|(name, time)| (name, (time, size))));
    Ok(times)
}
