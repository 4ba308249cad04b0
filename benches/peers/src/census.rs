//! Measures how hard a workload is for an index: how many of the routes' literals a message
//! contains, how many routes have these literals, and how many routes match. The counts show the
//! minimum work of any index.

use crate::engines::Sample;
use crate::engines::keyed::{Buffers, Candidates, automaton, oracle};
use crate::mix::Mix;
use crate::report::{Section, thousands};
use crate::workload::random::Random;
use crate::workload::{Message, Term, Workload};
use std::collections::{BTreeSet, HashMap};

/// Counts about one workload. `found`, `lead` and `candidates` are means per timed message, and
/// `hold` is the mean per random message.
pub struct Census {
    /// Number of distinct literals in the routes' text tests.
    literals: f64,
    /// Mean number of the routes' literals that a message contains.
    found: f64,
    /// Mean number of routes with a literal that the message contains.
    lead: f64,
    /// Numbers of routes that an index with one key per route would evaluate for a message: because
    /// of a literal, because of a string or tag, and because of a threshold or for lack of a key.
    candidates: [f64; 3],
    /// Mean number of routes that match a random message.
    hold: f64,
}

/// Number of random messages for the count `hold`.
const BY_CHANCE: usize = 1_000;

/// Returns the distinct literals, in lower case, that routes search for in the text. Also returns,
/// for each literal, the ranks of the routes that search for it.
pub fn literals(workload: &Workload) -> (Vec<String>, Vec<Vec<u32>>) {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let (mut literals, mut routes): (Vec<String>, Vec<Vec<u32>>) = Default::default();
    for route in &workload.routes {
        let mut found = Vec::new();
        route.terms.iter().for_each(|term| of_term(term, &mut found));
        for literal in found {
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

fn of_term<'t>(term: &'t Term, into: &mut Vec<&'t String>) {
    match term {
        Term::Contains { words, .. } => into.extend(words),
        Term::Matches { literals, .. } => into.extend(literals),
        Term::StartsWith { word, .. } => into.push(word),
        Term::Either(left, right) => [left, right].into_iter().for_each(|term| of_term(term, into)),
        _ => {}
    }
}

impl Census {
    /// Counts over the timed messages of the mixes, and over random messages.
    ///
    /// # Errors
    /// If an automaton cannot hold all literals.
    pub fn new(workload: &Workload, mixes: &[Mix]) -> Result<Census, String> {
        let (literals, routes) = literals(workload);
        let scan = (!literals.is_empty()).then(|| automaton(&literals)).transpose()?;
        let oracle = oracle(workload)?;
        let buffers = Buffers::default();
        let samples: Vec<&Sample> = mixes.iter().flat_map(|mix| &mix.samples).collect();
        let (mut found, mut lead, mut candidates) = (0, 0, [0; 3]);
        for sample in &samples {
            if let Some(scan) = &scan {
                let text = sample.message.text.to_ascii_lowercase();
                let hits: BTreeSet<usize> =
                    scan.find_overlapping_iter(&text).map(|found| found.pattern().as_usize()).collect();
                found += hits.len();
                lead += hits.iter().flat_map(|hit| &routes[*hit]).collect::<BTreeSet<_>>().len();
            }
            let Candidates { by_literal, by_value, others, .. } =
                oracle.candidates(&sample.message, &buffers);
            for (sum, count) in candidates.iter_mut().zip([by_literal, by_value, others]) {
                *sum += count;
            }
        }
        let mut random = Random::new(workload.shape.seed ^ 0xC0_47);
        let by_chance = (0..BY_CHANCE).map(|_| Message::random(workload, &mut random));
        let hold: usize = by_chance.map(|message| oracle.candidates(&message, &buffers).hold).sum();
        let mean = |count: usize| count as f64 / samples.len().max(1) as f64;
        Ok(Census {
            literals: literals.len() as f64,
            found: mean(found),
            lead: mean(lead),
            candidates: candidates.map(mean),
            hold: hold as f64 / BY_CHANCE as f64,
        })
    }
}

/// The counts for the rule sets of one kind and size; one [`Census`] for each seed.
pub struct Row {
    pub rules: String,
    pub routes: usize,
    pub draws: Vec<Census>,
}

/// Returns the table with the counts.
pub fn section(rows: &[Row]) -> Section {
    let mut section = Section::new("How hard the rules are");
    section.line(
        "| rules | routes | literals | found in a message | routes they stand in | candidates by a literal | \
         by a value | by a threshold | hold |\n|---|---|---|---|---|---|---|---|---|",
    );
    for Row { rules, routes, draws } in rows {
        let mean = |count: fn(&Census) -> f64| {
            let mean = draws.iter().map(count).sum::<f64>() / draws.len() as f64;
            if mean < 100.0 { format!("{mean:.1}") } else { thousands(mean.round()) }
        };
        let cells = [
            mean(|census| census.literals),
            mean(|census| census.found),
            mean(|census| census.lead),
            mean(|census| census.candidates[0]),
            mean(|census| census.candidates[1]),
            mean(|census| census.candidates[2]),
            mean(|census| census.hold),
        ];
        section.line(format!("| {rules} | {} | {} |", thousands(*routes as f64), cells.join(" | ")));
    }
    section.line(
        "\n- literals: the different ones that the routes ask for in a text; those found in a message, and the \
         routes in which these stand, are means over the messages that are timed\n\
         - candidates: routes that an index with one key a route has to try when nothing holds, by what finds \
         them: a literal, a value (a product, a tag, a country …), a threshold of a number or nothing\n\
         - hold: routes that hold for a message left to chance",
    );
    section
}
