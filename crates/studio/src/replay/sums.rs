//! Counts the rows of a replay: by statement, over time, and by changed result.

use super::{Replay, ReplayResults, Row, UNKNOWN_NUMBER};
use crate::api::{Flip, LineMistake, ReplaySums, Series, StatementCount, Timeline};
use crate::keys::NO_STATEMENT;
use crate::language::{localized, localized_diagnostic};
use rulec::{Code, Finding};
use rulec_base::message;
use std::collections::{BTreeMap, BTreeSet};

/// Number of buckets of the timeline.
const BUCKET_COUNT: usize = 60;
/// Maximum number of statements that have a series of their own in the timeline.
const MAX_SERIES: usize = 8;

impl Replay {
    /// Returns the counts of the replay up to now.
    pub fn sums(&self) -> ReplaySums {
        let elapsed = self.elapsed();
        let progress = self.progress();
        let tally = self.lock_results();
        let counts = count_rows(&tally.rows, tally.names.len());
        let refusals = tally
            .refusals
            .iter()
            .map(|(line, message)| LineMistake { line: *line, message: localized(message) });
        ReplaySums {
            source: self.source.about.name.clone(),
            is_log: tally.is_log,
            failure: tally.failure.as_ref().map(localized),
            refused: tally.refused,
            refusals: refusals.collect(),
            foreign: tally.foreign,
            bare: tally.bare,
            masked: tally.masked,
            otherwise: tally.otherwise,
            timeline: timeline(&tally, &counts),
            flips: count_flips(&tally),
            compares: self.before.is_some(),
            elapsed_ms: elapsed.as_millis() as u64,
            counts: self.statement_counts(&tally, &counts),
            progress,
        }
    }

    fn statement_counts(&self, tally: &ReplayResults, counts: &[usize]) -> Vec<StatementCount> {
        let mut before = vec![0; tally.names.len()];
        let mut times: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for row in &tally.rows {
            if let Some(count) = before.get_mut(row.before as usize) {
                *count += 1;
            }
            if row.elapsed != UNKNOWN_NUMBER {
                times.entry(row.key).or_default().push(row.elapsed);
            }
        }
        times.values_mut().for_each(|times| times.sort_unstable());
        let compares = tally.is_log || self.before.is_some();
        let seen = tally.names.iter().zip(0_u32..).map(|(name, number)| (name.as_str(), number));
        let seen: BTreeMap<&str, u32> = seen.collect();
        let keys = self.known.analysis.rules.as_ref().map(|rules| self.known.keys(rules));
        let statements = keys.map(|keys| keys.statements.as_slice()).unwrap_or_default();
        // Statements that were never chosen are listed only for tables that some message reached.
        let entered: BTreeSet<&str> = tally
            .rows
            .iter()
            .map(|row| row.entry)
            .collect::<BTreeSet<u32>>()
            .into_iter()
            .map(|entry| tally.name_of_number(entry))
            .collect();
        let reached = self.reached_tables(&entered);
        let count = |key: &str| seen.get(key).map_or(0, |number| counts[*number as usize]);
        let timing = |key: &str| seen.get(key).and_then(|number| times.get(number));
        let make = |key: &str, table: &str, name: &str, to: &str, never: Option<String>| StatementCount {
            key: key.to_owned(),
            table: table.to_owned(),
            name: name.to_owned(),
            to: to.to_owned(),
            count: count(key),
            before: compares.then(|| seen.get(key).map_or(0, |number| before[*number as usize])),
            never,
            median_us: timing(key).map(|times| u64::from(times[times.len() / 2])),
            longest_us: timing(key).and_then(|times| times.last()).map(|time| u64::from(*time)),
        };
        let mut all: Vec<StatementCount> = Vec::new();
        for statement in statements.iter().filter(|one| one.answers && reached.contains(&*one.table)) {
            let never = (count(&statement.key) == 0).then(|| self.never_chosen_reason(statement));
            all.push(make(&statement.key, &statement.table, &statement.name, &statement.to, never));
        }
        let known: BTreeSet<String> = all.iter().map(|one| one.key.clone()).collect();
        for (number, key) in tally.names.iter().enumerate().filter(|(_, name)| !known.contains(*name)) {
            // A key may belong to no statement of these rules: nothing was chosen, or only the
            // older version has the statement.
            if counts[number] + before[number] > 0 {
                let (table, name) = key.split_once('/').unwrap_or((key, NO_STATEMENT));
                all.push(make(key, table, name, "", None));
            }
        }
        all.sort_by_key(|one| std::cmp::Reverse(one.count));
        all
    }

    /// Returns the given tables, and all tables that they reach by `goto`.
    fn reached_tables(&self, entered: &BTreeSet<&str>) -> BTreeSet<String> {
        let mut reached: BTreeSet<String> = entered.iter().map(|name| (*name).to_owned()).collect();
        let Some(rules) = &self.known.analysis.rules else { return reached };
        let program = rules.program();
        let mut open: Vec<String> = reached.iter().cloned().collect();
        while let Some(name) = open.pop() {
            let Some(id) = program.table_named(&name) else { continue };
            let table = &program.tables[id.index()];
            let outcomes =
                table.order.iter().map(|id| &program.rules[id.index()].outcome).chain(&table.default);
            for outcome in outcomes {
                if let rulec_sema::hir::Outcome::Goto(inner) = outcome {
                    let inner = program.tables[inner.index()].name.to_string();
                    if reached.insert(inner.clone()) {
                        open.push(inner);
                    }
                }
            }
        }
        reached
    }

    /// Returns the reason why no message of this replay chose a statement.
    fn never_chosen_reason(&self, statement: &crate::keys::Statement) -> String {
        let Some(rules) = &self.known.analysis.rules else { return String::new() };
        let program = rules.program();
        let rule = program.rules.iter().find(|rule| {
            *rule.name == *statement.name && *program.tables[rule.table.index()].name == *statement.table
        });
        let about = |finding: &&Finding| {
            let hides = matches!(
                finding.diagnostic.code,
                Code::RouteHidden | Code::NeverMatches | Code::Contradiction
            );
            hides
                && rule.zip(finding.diagnostic.span()).is_some_and(|(rule, at)| {
                    at.file == rule.span.file && rule.span.start <= at.start && at.end <= rule.span.end
                })
        };
        match self.known.findings_so_far().iter().find(about) {
            Some(finding) => localized_diagnostic(&finding.diagnostic).message.to_string(),
            None => localized(&message!("none of these messages reached it")),
        }
    }
}

fn count_rows(rows: &[Row], names: usize) -> Vec<usize> {
    let mut counts = vec![0; names];
    for row in rows {
        counts[row.key as usize] += 1;
    }
    counts
}

fn count_flips(tally: &ReplayResults) -> Vec<Flip> {
    let mut flips: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for row in tally.rows.iter().filter(|row| row.flipped) {
        *flips.entry((row.before, row.key)).or_default() += 1;
    }
    let flip = |((before, after), count)| Flip {
        before: tally.name_of_number(before).to_owned(),
        after: tally.name_of_number(after).to_owned(),
        count,
    };
    let mut flips: Vec<Flip> = flips.into_iter().map(flip).collect();
    flips.sort_by_key(|flip| std::cmp::Reverse(flip.count));
    flips
}

/// Returns the position of a row on the timeline: its time or, without `by_time`, its line number.
pub(super) fn row_time(row: &Row, by_time: bool) -> f64 {
    if by_time { row.time } else { row.line as f64 }
}

/// True if at least 90% of the rows have a time.
pub(super) fn has_times(rows: &[Row]) -> bool {
    let known = rows.iter().filter(|row| !row.time.is_nan()).count();
    known > 0 && known * 10 >= rows.len() * 9
}

fn timeline(tally: &ReplayResults, counts: &[usize]) -> Timeline {
    let by_time = has_times(&tally.rows);
    let moments =
        || tally.rows.iter().map(|row| (row_time(row, by_time), row.key)).filter(|(at, _)| !at.is_nan());
    let (first, last) = moments()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), (at, _)| (at.min(first), at.max(last)));
    if first > last {
        return Timeline::default();
    }
    let width = ((last - first + 1.0) / BUCKET_COUNT as f64).max(1.0).ceil();
    let buckets = (((last - first) / width) as usize + 1).min(BUCKET_COUNT + 1);
    let mut top: Vec<usize> = (0..counts.len()).filter(|number| counts[*number] > 0).collect();
    top.sort_by_key(|number| std::cmp::Reverse(counts[*number]));
    top.truncate(MAX_SERIES);
    let mut places = vec![top.len(); counts.len()];
    top.iter().enumerate().for_each(|(place, number)| places[*number] = place);
    let mut sums = vec![vec![0; buckets]; top.len() + 1];
    for (at, key) in moments() {
        let bucket = (((at - first) / width) as usize).min(buckets - 1);
        sums[places[key as usize]][bucket] += 1;
    }
    let names = top.iter().map(|number| tally.names[*number].clone()).chain(["*".to_owned()]);
    let series = names.zip(sums).map(|(key, counts)| Series { key, counts });
    Timeline {
        by_time,
        starts: (0..buckets).map(|bucket| first + width * bucket as f64).collect(),
        end: first + width * buckets as f64,
        series: series.filter(|series| series.counts.iter().any(|count| *count > 0)).collect(),
    }
}
