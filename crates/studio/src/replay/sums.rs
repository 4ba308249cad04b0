//! Counts the rows of a replay (one for each replayed message): by the chosen statement, over time,
//! and by how the result differs from the older rules or the log.

use super::{Replay, ReplayResults, ReplayRow, UNKNOWN_NUMBER};
use crate::api::{Flip, LineMistake, ReplaySums, Series, StatementCount, Timeline};
use crate::keys::NO_STATEMENT;
use crate::language::{localized, localized_diagnostic};
use rulec::{Code, Finding};
use rulec_base::{broken_invariant, message};
use std::collections::{BTreeMap, BTreeSet};

/// Number of time intervals (buckets) into which the timeline of a replay is divided.
const TIMELINE_BUCKETS: usize = 60;
/// Maximum number of statements that the timeline shows separately.
const MAX_TIMELINE_SERIES: usize = 8;

impl Replay {
    /// Returns the counts that the page shows for the messages that the replay has decided so far.
    pub fn sums(&self) -> ReplaySums {
        let elapsed = self.elapsed();
        let progress = self.progress();
        let results = self.lock_results();
        let counts = count_rows(&results.rows, results.indexed_names.len());
        let refusals = results
            .line_errors
            .iter()
            .map(|(line, message)| LineMistake { line: *line, message: localized(message) });
        ReplaySums {
            source: self.source.description.name.clone(),
            is_log: results.is_log,
            failure: results.failure.as_ref().map(localized),
            refused: results.invalid_line_count,
            refusals: refusals.collect(),
            foreign: results.unknown_entry_count,
            observed: results.observed.len(),
            unrecorded: results.unrecorded_count,
            bare: results.without_message_count,
            masked: results.masked_message_count,
            otherwise: results.changed_from_log_count,
            timeline: build_timeline(&results, &counts),
            flips: count_changed_results(&results),
            compares: self.older_snapshot.is_some(),
            elapsed_ms: elapsed.as_millis() as u64,
            counts: self.statement_counts(&results, &counts),
            progress,
        }
    }

    fn statement_counts(&self, results: &ReplayResults, counts: &[usize]) -> Vec<StatementCount> {
        let mut older_counts = vec![0; results.indexed_names.len()];
        let mut times: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for row in &results.rows {
            if let Some(count) = older_counts.get_mut(row.older_key_index as usize) {
                *count += 1;
            }
            if row.elapsed_us != UNKNOWN_NUMBER {
                times.entry(row.key_index).or_default().push(row.elapsed_us);
            }
        }
        times.values_mut().for_each(|times| times.sort_unstable());
        let compares = results.is_log || self.older_snapshot.is_some();
        let key_indexes =
            results.indexed_names.iter().zip(0_u32..).map(|(name, number)| (name.as_str(), number));
        let key_indexes: BTreeMap<&str, u32> = key_indexes.collect();
        let keys = self.snapshot.analysis.rules().map(|rules| self.snapshot.keys(rules));
        let statements = keys.map(|keys| keys.statements.as_slice()).unwrap_or_default();
        // Statements that were never chosen are listed only for tables that some message reached.
        let entry_tables: BTreeSet<&str> = results
            .rows
            .iter()
            .map(|row| row.entry_name_index)
            .collect::<BTreeSet<u32>>()
            .into_iter()
            .map(|entry| results.name_at_index(entry))
            .collect();
        let reached_tables = self.reached_tables(&entry_tables);
        let count = |key: &str| key_indexes.get(key).map_or(0, |number| counts[*number as usize]);
        let timing = |key: &str| key_indexes.get(key).and_then(|number| times.get(number));
        let to_count = |key: &str, table: &str, name: &str, to: &str, never: Option<String>| StatementCount {
            key: key.to_owned(),
            table: table.to_owned(),
            name: name.to_owned(),
            to: to.to_owned(),
            count: count(key),
            before: compares.then(|| key_indexes.get(key).map_or(0, |number| older_counts[*number as usize])),
            never,
            median_us: timing(key).map(|times| u64::from(times[times.len() / 2])),
            longest_us: timing(key).and_then(|times| times.last()).map(|time| u64::from(*time)),
        };
        let mut statement_counts: Vec<StatementCount> = Vec::new();
        for statement in statements
            .iter()
            .filter(|statement| statement.can_be_chosen && reached_tables.contains(&*statement.table_name))
        {
            let never = (count(&statement.key) == 0).then(|| self.never_chosen_reason(statement));
            statement_counts.push(to_count(
                &statement.key,
                &statement.table_name,
                &statement.name,
                &statement.target,
                never,
            ));
        }
        let listed_keys: BTreeSet<String> = statement_counts.iter().map(|count| count.key.clone()).collect();
        for (number, key) in
            results.indexed_names.iter().enumerate().filter(|(_, name)| !listed_keys.contains(*name))
        {
            // A key may belong to no statement of the current rules: nothing was chosen, or only
            // the older version has the statement. Such a key is listed if it was counted.
            if counts[number] + older_counts[number] > 0 {
                let (table, name) = key.split_once('/').unwrap_or((key, NO_STATEMENT));
                statement_counts.push(to_count(key, table, name, "", None));
            }
        }
        statement_counts.sort_by_key(|count| std::cmp::Reverse(count.count));
        statement_counts
    }

    /// Returns the tables by which the replay may decide a message: the tables in `entered`, where
    /// decisions begin, and every table to which a `goto` leads from them.
    fn reached_tables(&self, entered: &BTreeSet<&str>) -> BTreeSet<String> {
        let mut reached: BTreeSet<String> = entered.iter().map(|name| (*name).to_owned()).collect();
        let Some(rules) = self.snapshot.analysis.rules() else {
            broken_invariant!("a replay decides by rules without errors");
            return reached;
        };
        let program = rules.program();
        let mut pending: Vec<String> = reached.iter().cloned().collect();
        while let Some(name) = pending.pop() {
            let Some(id) = program.table_named(&name) else { continue };
            let table = &program.tables[id.index()];
            let outcomes = table
                .evaluation_order
                .iter()
                .map(|id| &program.rules[id.index()].outcome)
                .chain(&table.default);
            for outcome in outcomes {
                if let rulec_sema::hir::Outcome::Goto(inner) = outcome {
                    let inner = program.tables[inner.index()].name.to_string();
                    if reached.insert(inner.clone()) {
                        pending.push(inner);
                    }
                }
            }
        }
        reached
    }

    /// Returns the text that explains why no message of this replay chose the statement. It is the
    /// message of a finding of the rule analysis, or else a general sentence.
    fn never_chosen_reason(&self, statement: &crate::keys::KeyedStatement) -> String {
        let Some(rules) = self.snapshot.analysis.rules() else {
            broken_invariant!("a replay decides by rules without errors");
            return String::new();
        };
        let program = rules.program();
        let rule = program.rules.iter().find(|rule| {
            *rule.name == *statement.name && *program.tables[rule.table.index()].name == *statement.table_name
        });
        let is_reason = |finding: &&Finding| {
            let hides = matches!(
                finding.diagnostic.code,
                Code::RouteHidden | Code::NeverMatches | Code::Contradiction
            );
            hides
                && rule.zip(finding.diagnostic.span()).is_some_and(|(rule, span)| {
                    span.file == rule.span.file && rule.span.start <= span.start && span.end <= rule.span.end
                })
        };
        match self.snapshot.findings_so_far().iter().find(is_reason) {
            Some(finding) => localized_diagnostic(&finding.diagnostic).message.to_string(),
            None => localized(&message!("none of these messages reached it")),
        }
    }
}

fn count_rows(rows: &[ReplayRow], names: usize) -> Vec<usize> {
    let mut counts = vec![0; names];
    for row in rows {
        counts[row.key_index as usize] += 1;
    }
    counts
}

fn count_changed_results(results: &ReplayResults) -> Vec<Flip> {
    let mut flips: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for row in results.rows.iter().filter(|row| row.is_flipped) {
        *flips.entry((row.older_key_index, row.key_index)).or_default() += 1;
    }
    let flip = |((before, after), count)| Flip {
        before: results.name_at_index(before).to_owned(),
        after: results.name_at_index(after).to_owned(),
        count,
    };
    let mut flips: Vec<Flip> = flips.into_iter().map(flip).collect();
    flips.sort_by_key(|flip| std::cmp::Reverse(flip.count));
    flips
}

/// Returns the position of a row on the timeline. This is the time of its message or, without
/// `by_time`, the number of the message, from 1. `index` is the index of the row among all rows.
pub(super) fn timeline_position(index: usize, row: &ReplayRow, by_time: bool) -> f64 {
    if by_time { row.time_ms } else { (index + 1) as f64 }
}

/// True if at least 90% of the rows have a time, so that the timeline uses times. Otherwise it uses
/// the numbers of the messages, because rows without a time would be missing in it.
pub(super) fn has_times(rows: &[ReplayRow]) -> bool {
    let timed_rows = rows.iter().filter(|row| !row.time_ms.is_nan()).count();
    timed_rows > 0 && timed_rows * 10 >= rows.len() * 9
}

fn build_timeline(results: &ReplayResults, counts: &[usize]) -> Timeline {
    let by_time = has_times(&results.rows);
    let row_positions = || {
        results
            .rows
            .iter()
            .enumerate()
            .map(|(index, row)| (timeline_position(index, row, by_time), row.key_index))
            .filter(|(position, _)| !position.is_nan())
    };
    let (first, last) = row_positions()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), (position, _)| {
            (position.min(first), position.max(last))
        });
    if first > last {
        return Timeline::default();
    }
    let width = ((last - first + 1.0) / TIMELINE_BUCKETS as f64).max(1.0).ceil();
    let buckets = (((last - first) / width) as usize + 1).min(TIMELINE_BUCKETS + 1);
    let mut top_keys: Vec<usize> = (0..counts.len()).filter(|number| counts[*number] > 0).collect();
    top_keys.sort_by_key(|number| std::cmp::Reverse(counts[*number]));
    top_keys.truncate(MAX_TIMELINE_SERIES);
    let mut series_indexes = vec![top_keys.len(); counts.len()];
    top_keys.iter().enumerate().for_each(|(index, number)| series_indexes[*number] = index);
    let mut sums = vec![vec![0; buckets]; top_keys.len() + 1];
    for (position, key) in row_positions() {
        let bucket = (((position - first) / width) as usize).min(buckets - 1);
        sums[series_indexes[key as usize]][bucket] += 1;
    }
    let names = top_keys.iter().map(|number| results.indexed_names[*number].clone()).chain(["*".to_owned()]);
    let series = names.zip(sums).map(|(key, counts)| Series { key, counts });
    Timeline {
        by_time,
        starts: (0..buckets).map(|bucket| first + width * bucket as f64).collect(),
        end: first + width * buckets as f64,
        last,
        series: series.filter(|series| series.counts.iter().any(|count| *count > 0)).collect(),
    }
}
