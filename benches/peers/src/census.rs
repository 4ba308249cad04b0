//! How hard a workload is: how many of the routes' literals a message has, to how many routes they
//! lead, and how many hold. What any index has to do at least stands here.

use crate::engines::Sample;
use crate::engines::keyed::{automaton, oracle};
use crate::mix::Mix;
use crate::report::{Section, thousands};
use crate::workload::random::Random;
use crate::workload::{Message, Term, Workload};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

/// Counted once; means over the messages that are timed, but for `hold`.
pub struct Census {
    routes: usize,
    /// Different literals of the routes' tests of the text.
    literals: usize,
    /// Of these in a message.
    found: f64,
    /// Routes in which those stand.
    lead: f64,
    /// Routes that an index with one key a route would have to try.
    candidates: f64,
    /// Routes that hold for a message that is left to chance.
    hold: f64,
}

/// Messages left to chance.
const BY_CHANCE: usize = 2_000;

/// Literals that the routes require of a text, each once, in lower case; and the routes of each.
pub fn literals(workload: &Workload) -> (Vec<String>, Vec<Vec<u32>>) {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let (mut literals, mut routes): (Vec<String>, Vec<Vec<u32>>) = Default::default();
    for route in &workload.routes {
        for literal in route.terms.iter().flat_map(of_term) {
            let literal = literal.to_ascii_lowercase();
            let number = *numbers.entry(literal).or_insert_with_key(|literal| {
                literals.push(literal.clone());
                routes.push(Vec::new());
                literals.len() - 1
            });
            routes[number].push(route.rank);
        }
    }
    (literals, routes)
}

fn of_term(term: &Term) -> &[String] {
    match term {
        Term::Contains { words, .. } => words,
        Term::Matches { literals, .. } => literals,
        Term::StartsWith { word, .. } => std::slice::from_ref(word),
        _ => &[],
    }
}

impl Census {
    /// Counts.
    ///
    /// # Errors
    /// When the literals are too many for an automaton.
    pub fn new(workload: &Workload, mixes: &[Mix]) -> Result<Census, String> {
        let (literals, routes) = literals(workload);
        let scan = (!literals.is_empty()).then(|| automaton(&literals)).transpose()?;
        let oracle = oracle(workload)?;
        let buffer = Cell::default();
        let samples: Vec<&Sample> = mixes.iter().flat_map(|mix| &mix.samples).collect();
        let (mut found, mut lead, mut candidates) = (0, 0, 0);
        for sample in &samples {
            if let Some(scan) = &scan {
                let text = sample.message.text.to_ascii_lowercase();
                let hits: BTreeSet<usize> =
                    scan.find_overlapping_iter(&text).map(|found| found.pattern().as_usize()).collect();
                found += hits.len();
                lead += hits.iter().flat_map(|hit| &routes[*hit]).collect::<BTreeSet<_>>().len();
            }
            candidates += oracle.candidates(&sample.message, &buffer).0;
        }
        let mut random = Random::new(workload.shape.seed ^ 0xC0_47);
        let by_chance = (0..BY_CHANCE).map(|_| Message::random(workload, &mut random));
        let hold: usize = by_chance.map(|message| oracle.candidates(&message, &buffer).1).sum();
        let mean = |count: usize| count as f64 / samples.len().max(1) as f64;
        Ok(Census {
            routes: workload.routes.len(),
            literals: literals.len(),
            found: mean(found),
            lead: mean(lead),
            candidates: mean(candidates),
            hold: hold as f64 / BY_CHANCE as f64,
        })
    }
}

/// The table of a rule set at all sizes.
pub fn section(name: &str, rows: &[Census]) -> Section {
    let mut section = Section::new(format!("How hard it is: {name}"));
    section.line("| routes | literals | found in a message | routes they stand in | candidates | hold |");
    section.line("|---|---|---|---|---|---|");
    for row in rows {
        let mean = |number: f64| {
            if number < 100.0 { format!("{number:.1}") } else { thousands(number) }
        };
        section.line(format!(
            "| {} | {} | {} | {} | {} | {} |",
            thousands(row.routes as f64),
            thousands(row.literals as f64),
            mean(row.found),
            mean(row.lead),
            mean(row.candidates),
            mean(row.hold),
        ));
    }
    section.line(
        "\nLiterals are the different ones that routes ask for in the text; found, candidates and the routes \
         literals stand in are means a message that is timed. Candidates are the routes that an index with one \
         key a route (a literal, a value, a threshold) has to try when nothing holds. The last column is of \
         messages left to chance: 1.2 is aimed at, less with few routes.",
    );
    section
}
