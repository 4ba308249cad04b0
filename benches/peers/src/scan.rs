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
use rulec_base::text::fold::fold_text;
use rulec_vm::index::scan::{LiteralScanner, ScanBuffers};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

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
        if buffers.fold_text(text) {
            scanner.scan_folded(text.len(), &mut buffers, |literal, _| hit(literal as usize));
        } else {
            // Longer than the buffer, or with other letters than ASCII: fold it before, as the
            // index does.
            let folded = fold_text(&String::from_utf8_lossy(text));
            scanner.scan(folded.as_bytes(), &mut buffers, |literal, _| hit(literal as usize));
        }
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

/// Files with literals and with texts, one for each line: `LITERALS=TEXTS` on the command line.
#[derive(Clone, Debug)]
pub struct ScanFiles {
    literals: PathBuf,
    texts: PathBuf,
}

impl FromStr for ScanFiles {
    type Err = String;

    fn from_str(files: &str) -> Result<ScanFiles, String> {
        let (literals, texts) = files.split_once('=').ok_or("write two files as LITERALS=TEXTS")?;
        Ok(ScanFiles { literals: literals.into(), texts: texts.into() })
    }
}

impl ScanFiles {
    /// Reads the distinct literals in lower case, and the texts.
    ///
    /// # Errors
    /// If a file cannot be read or is empty.
    fn read(&self) -> Result<(Vec<String>, Vec<String>), String> {
        let lines = |path: &Path| -> Result<Vec<String>, String> {
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let lines: Vec<String> =
                text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
            if lines.is_empty() { Err(format!("{} has no lines", path.display())) } else { Ok(lines) }
        };
        let literals: BTreeSet<String> =
            lines(&self.literals)?.into_iter().map(|literal| literal.to_ascii_lowercase()).collect();
        Ok((literals.into_iter().collect(), lines(&self.texts)?))
    }

    /// Returns the name of the file with the literals, without folder and extension.
    fn name(&self) -> String {
        self.literals.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Returns the table of times. It has a row for each kind of words and number of literals, and a
/// row for each pair of files.
///
/// # Errors
/// If a scanner cannot be built, the scanners disagree, or a file cannot be read.
pub fn section(
    counts: &[usize],
    files: &[ScanFiles],
    densities: &[Density],
    (messages, rounds, seed): (usize, usize, u64),
) -> Result<Section, String> {
    let mut section = Section::new("The scan of a text");
    let mut header = false;
    for (name, kind) in kinds(densities) {
        for &count in counts {
            let (literals, texts) = workload(count, kind, messages, seed);
            add_row(&mut section, &mut header, name, (&literals, &texts), rounds)?;
        }
    }
    for files in files {
        let (literals, texts) = files.read()?;
        add_row(&mut section, &mut header, &files.name(), (&literals, &texts), rounds)?;
    }
    section.line(format!(
        "\nNanoseconds a text of 20 to 200 bytes, {messages} different ones; literals are those of the generated \
         routes, all of them looked for, in texts that are in lower case but where they are folded. Hyperscan reports each literal once a text, the others wherever it stands."
    ));
    Ok(section)
}

/// Adds the times of all scanners for these literals and texts, after the header if there is none.
fn add_row(
    section: &mut Section,
    header: &mut bool,
    name: &str,
    (literals, texts): (&[String], &[String]),
    rounds: usize,
) -> Result<(), String> {
    let count = literals.len();
    eprintln!("scanning for {count} literals, {name}");
    let lower: Vec<String> = texts.iter().map(|text| text.to_ascii_lowercase()).collect();
    let (scanners, folding) = (scanners(literals)?, folding_scanners(literals)?);
    let (found, times) = compare(&scanners, &lower, rounds)?;
    let (_, folded) = compare(&folding, texts, rounds)?;
    if !*header {
        let names = |scanners: &[Named]| -> String {
            scanners.iter().map(|(name, _)| format!("{name} | ")).collect()
        };
        let (plain, fold) = (names(&scanners), names(&folding));
        section.line(format!(
            "| rules | literals | found in a text | {plain}{OURS} / {BAR} (target: at most {TARGET}) | {fold}the same |\n|{}",
            "---|".repeat(5 + scanners.len() + folding.len())
        ));
        *header = true;
    }
    let cells =
        |times: &[f64]| -> String { times.iter().map(|time| format!("{} | ", thousands(*time))).collect() };
    section.line(format!(
        "| {name} | {} | {found:.1} | {}{} | {}{} |",
        thousands(count as f64),
        cells(&times),
        ratio(&times),
        cells(&folded),
        ratio(&folded),
    ));
    Ok(())
}
