//! Measures the scan of a text for literals alone: rulec's scanner against Hyperscan and two
//! automata. All scanners must agree on the literals that a text contains.

use crate::census::literals;
use crate::engines::keyed::{LiteralScan, automaton};
use crate::engines::{Ready, hyperscan_database};
use crate::measure;
use crate::report::{Section, thousands};
use crate::workload::random::Random;
use crate::workload::{Density, Message, Shape, Variant, Workload};
use daachorse::DoubleArrayAhoCorasick;
use rulec_vm::index::scan::{LiteralScanner, ScanBuffers};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// rulec's scanner, with the buffers that a session would reuse.
struct Ours {
    scanner: LiteralScanner,
    buffers: RefCell<ScanBuffers>,
}

impl LiteralScan for Ours {
    fn scan(&self, text: &[u8], hit: &mut dyn FnMut(usize)) {
        self.scanner.scan(text, &mut self.buffers.borrow_mut(), |literal, _| hit(literal as usize));
    }
}

/// rulec's scanner over texts that are case-folded during the scan.
struct Folding(Ours);

impl LiteralScan for Folding {
    fn scan(&self, text: &[u8], hit: &mut dyn FnMut(usize)) {
        let Folding(Ours { scanner, buffers }) = self;
        let mut buffers = buffers.borrow_mut();
        assert!(buffers.fold_text(text), "these texts are short, and only their ASCII letters fold");
        scanner.scan_folded(text.len(), &mut buffers, |literal, _| hit(literal as usize));
    }
}

impl LiteralScan for DoubleArrayAhoCorasick<u32> {
    fn scan(&self, text: &[u8], hit: &mut dyn FnMut(usize)) {
        self.find_overlapping_iter(text).for_each(|found| hit(found.value() as usize));
    }
}

const OURS: &str = "rulec";
const BAR: &str = "hyperscan";
/// The performance target: the maximum ratio of rulec's time to Hyperscan's time.
const TARGET: f64 = 1.2;

/// A scanner with its name in the table.
type Named = (&'static str, Box<dyn LiteralScan>);

fn ours(literals: &[String]) -> Ours {
    let scanner = LiteralScanner::from_literals(literals.iter().map(String::as_bytes));
    Ours { scanner, buffers: RefCell::default() }
}

fn scanners(literals: &[String]) -> Result<Vec<Named>, String> {
    let daachorse = DoubleArrayAhoCorasick::new(literals).map_err(|error| error.to_string())?;
    let mut scanners: Vec<Named> = vec![
        (OURS, Box::new(ours(literals))),
        ("aho-corasick", Box::new(automaton(literals)?)),
        ("daachorse", Box::new(daachorse)),
    ];
    scanners.extend(hyperscan_database(literals, false)?.map(|scan| (BAR, scan)));
    Ok(scanners)
}

/// Returns the scanners that find literals whatever the case of their letters.
fn folding_scanners(literals: &[String]) -> Result<Vec<Named>, String> {
    let mut scanners: Vec<Named> = vec![("rulec, folding", Box::new(Folding(ours(literals))))];
    scanners.extend(hyperscan_database(literals, true)?.map(|scan| ("hyperscan, ignoring case", scan)));
    Ok(scanners)
}

/// Returns the mean number of literals that the scanners find in a text. Also returns the time of
/// each scanner in nanoseconds per text, as the median over `rounds` rounds.
///
/// # Errors
/// If the scanners disagree.
fn compare(scanners: &[Named], texts: &[String], rounds: usize) -> Result<(f64, Vec<f64>), String> {
    let mut found = 0;
    for text in texts {
        let hits = |scan: &dyn LiteralScan| {
            let mut hits = BTreeSet::new();
            scan.scan(text.as_bytes(), &mut |literal| {
                hits.insert(literal);
            });
            hits
        };
        let expected = hits(&*scanners[0].1);
        found += expected.len();
        if let Some((other, _)) = scanners.iter().find(|(_, scan)| hits(&**scan) != expected) {
            return Err(format!("`{other}` and `{}` find different literals in\n  {text}", scanners[0].0));
        }
    }
    let mut readies: Vec<Box<dyn Ready + '_>> = Vec::new();
    for (_, scan) in scanners {
        readies.push(Box::new(Scanning { scan: &**scan, texts }));
    }
    Ok((found as f64 / texts.len() as f64, measure::interleaved(&mut readies, texts.len(), rounds)))
}

/// Returns the ratio of the first time, which is rulec's, to the last time, which is Hyperscan's.
/// Returns a dash if Hyperscan is not compiled in.
fn ratio(times: &[f64]) -> String {
    match (times, cfg!(feature = "hyperscan")) {
        ([ours, .., bar], true) => format!("{:.2}", ours / bar),
        _ => "–".to_owned(),
    }
}

/// One scanner with the texts that it scans.
struct Scanning<'e> {
    scan: &'e dyn LiteralScan,
    texts: &'e [String],
}

impl Ready for Scanning<'_> {
    /// Returns the number of literals found in the text with index `at`.
    fn decide(&mut self, at: usize) -> Option<u32> {
        let mut hits = 0;
        self.scan.scan(self.texts[at].as_bytes(), &mut |_| hits += 1);
        Some(hits)
    }
}

/// Returns `count` literals from generated routes, and texts of messages for these routes.
fn workload(
    count: usize,
    (variant, density): (Variant, Density),
    messages: usize,
    seed: u64,
) -> (Vec<String>, Vec<String>) {
    let mut routes = count;
    loop {
        let workload = Workload::new(Shape { routes, variant, density, no_key: 5, seed });
        let (mut literals, _) = literals(&workload);
        if literals.len() >= count {
            literals.truncate(count);
            let mut random = Random::new(seed);
            let text = |_| Message::random(&workload, &mut random).text;
            return (literals, (0..messages).map(text).collect());
        }
        routes *= 2;
    }
}

/// Returns the kinds of generated rules whose literals are scanned for, with their names: mixed
/// rules of each density, rules whose routes share verbs, and plain rules.
fn kinds(densities: &[Density]) -> impl Iterator<Item = (&'static str, (Variant, Density))> {
    let mixed = densities.iter().map(|density| (density.name(), (Variant::Mixed, *density)));
    mixed.chain([("verbs", (Variant::Verbs, Density::Rare)), ("plain", (Variant::Plain, Density::Rare))])
}

/// Returns the table of times, with a row for each kind of words and number of literals.
///
/// # Errors
/// If a scanner cannot be built, or the scanners disagree.
pub fn section(
    counts: &[usize],
    densities: &[Density],
    messages: usize,
    rounds: usize,
    seed: u64,
) -> Result<Section, String> {
    let mut section = Section::new("The scan of a text");
    let mut header = false;
    for (name, kind) in kinds(densities) {
        for &count in counts {
            eprintln!("scanning for {count} literals, {name}");
            let (literals, texts) = workload(count, kind, messages, seed);
            let lower: Vec<String> = texts.iter().map(|text| text.to_ascii_lowercase()).collect();
            let (scanners, folding) = (scanners(&literals)?, folding_scanners(&literals)?);
            let (found, times) = compare(&scanners, &lower, rounds)?;
            let (_, folded) = compare(&folding, &texts, rounds)?;
            if !header {
                let names = |scanners: &[Named]| -> String {
                    scanners.iter().map(|(name, _)| format!("{name} | ")).collect()
                };
                let (plain, fold) = (names(&scanners), names(&folding));
                section.line(format!(
                    "| rules | literals | found in a text | {plain}{OURS} / {BAR} (target: at most {TARGET}) | {fold}the same |\n|{}",
                    "---|".repeat(5 + scanners.len() + folding.len())
                ));
                header = true;
            }
            let cells = |times: &[f64]| -> String {
                times.iter().map(|time| format!("{} | ", thousands(*time))).collect()
            };
            section.line(format!(
                "| {name} | {} | {found:.1} | {}{} | {}{} |",
                thousands(count as f64),
                cells(&times),
                ratio(&times),
                cells(&folded),
                ratio(&folded),
            ));
        }
    }
    section.line(format!(
        "\nNanoseconds a text of 20 to 200 bytes, {messages} different ones; literals are those of the generated \
         routes, all of them looked for, in texts that are in lower case but where they are folded. Hyperscan reports each literal once a text, the others wherever it stands."
    ));
    Ok(section)
}
