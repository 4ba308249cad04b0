//! Compares two versions of rules by meaning: which routes were added, removed or changed. Each
//! difference has an example message, which both versions were run on. Two versions are called
//! equal only if there is a proof.
//!
//! Some routes have an equal counterpart in the other version, with equal condition, outcome and
//! order. These routes are not examined, because both versions decide a message equally if it
//! matches only such routes. For each other route, the solver searches for a message that selects
//! the route and that the other version decides differently.

mod history;
mod intents;

pub use history::{HistoryChange, HistoryPart};

use super::answers::{AnswerIds, build_arguments_differ};
use super::goal::{SolverAnswer, SolverGoal};
use super::joint_program::MergedPrograms;
use super::pairing::pair_statements;
use super::sequence::{LeafSequence, SequenceBuilder, SequenceLeaf, entry_tables};
use super::solver::{LimitedSolver, MessageSolver};
use history::{compare_histories, note_chosen_names, reads_history};
use intents::compare_intents;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_eval::decision::Choice;
use rulec_lang::value::{Value, is_identical};
use rulec_sema::hir::{Program, TableId, TableKind};
use rulec_sema::normal::CondId;
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// The differences in meaning between two versions of rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// The differences, one element for each entry point. Entry points are the routes outside any
    /// table, choices, routers, flows, and tables without an incoming `goto`. Other tables are
    /// compared where a `goto` reaches them.
    pub entries: Vec<EntryDiff>,
    /// The differences between the `history` statements of the two versions, and between the fields
    /// that the versions record. If there are any, no entry point that reads the history has the
    /// verdict `Same`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryChange>,
    /// Notes for the reader: which parts of the rules were not compared, and why.
    pub notes: Vec<Message>,
}

/// The difference between the two versions of one entry point (a table with which a decision
/// starts).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EntryDiff {
    /// The name of the entry point; `routes` for the routes outside any table.
    pub entry: String,
    /// Whether both versions decide all messages equally.
    pub verdict: Verdict,
    /// Number of statements in the old and in the new version. Statements of tables that are
    /// reached by `goto` also count.
    pub statements: (usize, usize),
    /// The added, removed and changed statements, in the order of the new rules. The removed
    /// statements come last.
    pub changes: Vec<Change>,
    /// Number of solver queries that the comparison of this entry point used.
    pub asked: usize,
    /// Number of statements for which the solver found neither a difference nor a proof of
    /// equality.
    pub open: usize,
}

/// The result of comparing how two versions decide the same messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is proven that both versions decide every message equally.
    Same,
    /// The versions decide at least one message differently.
    Different,
    /// No message with different decisions was found, but there is no proof that no such message
    /// exists.
    Undecided,
}

/// A statement that was added, removed, changed, moved or renamed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// How the statement changed.
    pub kind: ChangeKind,
    /// The name of the statement, after the names of the `goto` routes that lead to it; `default`
    /// for a default statement. The names are joined by ` → `.
    pub route: String,
    /// The name of the statement in the old version; `None` if the name is unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Messages that the two versions decide differently. There are at most two: one that selects
    /// the old statement, and one that selects the new statement.
    pub examples: Vec<Example>,
    /// The verdict on the messages that select the old or the new statement.
    pub verdict: Verdict,
}

/// How a statement changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The statement is new.
    Added,
    /// The statement was removed.
    Removed,
    /// The condition or the outcome of the statement changed.
    Changed,
    /// The statement is now evaluated earlier or later than other statements.
    Moved,
    /// Only the name of the statement changed.
    Renamed,
}

/// A message that the two versions decide differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Example {
    /// The example message, which both versions were run on.
    pub message: Json,
    /// The decision of the old version, as `rulec::Decision` serializes; null if the old version
    /// has no table for this entry point.
    pub before: Json,
    /// The decision of the new version, in the same form as `before`.
    pub after: Json,
}

impl Diff {
    /// Returns one verdict on all entry points: `Different` if any differs, otherwise `Undecided`
    /// if any is undecided, otherwise `Same`.
    pub fn verdict(&self) -> Verdict {
        worst_verdict(self.entries.iter().map(|entry| entry.verdict))
    }
}

fn worst_verdict(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.fold(Verdict::Same, |worst, verdict| match (worst, verdict) {
        (Verdict::Different, _) | (_, Verdict::Different) => Verdict::Different,
        (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
        _ => Verdict::Same,
    })
}

/// Returns the parts of a decision that a service acts on, such as the target and its arguments.
/// Two decisions count as equal if these parts are equal.
pub fn answer(decision: &Json) -> Json {
    const ANSWER_PARTS: [&str; 9] =
        ["target", "args", "metadata", "requires", "branch", "to_user", "flow", "next", "loopback"];
    let parts =
        ANSWER_PARTS.iter().filter_map(|part| Some(((*part).to_owned(), decision.get(part)?.clone())));
    let parts: Map<String, Json> = parts.filter(|(_, value)| !is_null_or_empty(value)).collect();
    Json::Object(parts)
}

/// True for null, an empty object and an empty text. A decision with such a value counts as equal
/// to a decision without the value.
fn is_null_or_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Object(map) => map.is_empty(),
        Json::String(text) => text.is_empty(),
        _ => false,
    }
}

/// One version of the rules, with a function that decides messages by the reference evaluator.
#[doc(hidden)]
pub struct RulesVersion<'p> {
    /// The typed program of this version of the rules.
    pub program: &'p Program,
    /// Function that returns the statement that a table chooses for a message, and the decision as
    /// JSON.
    pub decide: &'p dyn Fn(TableId, &Json) -> (Choice, Json),
}

/// Maximum number of messages that the solver proposes per statement, to find one that the versions
/// decide differently. The constant below limits the solver queries of a whole comparison.
const MAX_ROUNDS_PER_STATEMENT: usize = 300;
const MAX_SOLVER_QUERIES: usize = 20_000;

/// Compares two versions of rules by meaning: searches for messages on which the decisions of the
/// two versions differ.
#[doc(hidden)]
pub fn diff(old: &RulesVersion<'_>, new: &RulesVersion<'_>) -> Diff {
    let both = MergedPrograms::new(old.program, new.program);
    let mut solver = MessageSolver::new(&both.program);
    let mut answers = AnswerIds::default();
    let mut diff = Diff { history: compare_histories(old.program, new.program), ..Diff::default() };
    let mut reading = Vec::new();
    let mut queries_left = MAX_SOLVER_QUERIES;
    for (name, kind, tables) in entry_tables(old.program, new.program) {
        let values_by_version = both.computed_values.split_at(old.program.values.len());
        let mut sequence_of = |program, table, conditions, values| {
            SequenceBuilder {
                program,
                renumbered_conditions: conditions,
                computed_values: values,
                solver: &mut solver,
                answer_ids: &mut answers,
            }
            .build_sequence(table)
        };
        let old_sequence = sequence_of(old.program, tables.0, None, values_by_version.0);
        let new_sequence = sequence_of(new.program, tables.1, Some(&*both.conditions), values_by_version.1);
        let (Some(old_sequence), Some(new_sequence)) = (old_sequence, new_sequence) else {
            diff.notes
                .push(message!("`{name}` is not compared: there are too many paths through its tables"));
            continue;
        };
        let normal = solver.builder.normal_so_far();
        reading.push([&old_sequence, &new_sequence].iter().any(|sequence| reads_history(normal, sequence)));
        let sides = [
            VersionSequence { version: old, table: tables.0, sequence: old_sequence },
            VersionSequence { version: new, table: tables.1, sequence: new_sequence },
        ];
        let queries = LimitedSolver::new(&mut solver, &mut queries_left);
        let mut comparison = TableComparison {
            limited_solver: queries,
            sides,
            has_comparable_conditions: both.has_comparable_conditions,
            undecided_count: 0,
        };
        let mut entry = comparison.compare_entry(name);
        if kind == TableKind::Flows {
            compare_intents(old.program, new.program, &mut entry);
        }
        diff.entries.push(entry);
    }
    withdraw_proofs(&mut diff, note_chosen_names(old.program, new.program), &reading);
    add_notes_on_uncompared(old.program, new.program, &mut diff.notes);
    let budget = solver.budget();
    if budget.was_ever_exhausted() {
        diff.notes.push(message!(
            "some statements are not compared in full, since a comparison takes at most {} steps",
            budget.total_steps()
        ));
    }
    diff
}

/// Withdraws the verdict [`Verdict::Same`] from the entry points that read the history, if earlier
/// messages or their decisions can differ between the two versions. `reading` contains for each
/// entry point whether it reads the history. `chosen_names` is a note for the reader; it is `None`
/// unless rules read which statement an earlier decision chose. The note is added if any statement
/// changed.
fn withdraw_proofs(diff: &mut Diff, chosen_names: Option<Message>, reading: &[bool]) {
    let is_changed = diff.entries.iter().any(|entry| !entry.changes.is_empty());
    let chosen_names = chosen_names.filter(|_| is_changed);
    if diff.history.is_empty() && chosen_names.is_none() {
        return;
    }
    let entries = diff.entries.iter_mut().zip(reading);
    for (entry, _) in entries.filter(|(entry, reads)| **reads && entry.verdict == Verdict::Same) {
        entry.verdict = Verdict::Undecided;
    }
    diff.notes.extend(chosen_names);
}

fn add_notes_on_uncompared(old: &Program, new: &Program, notes: &mut Vec<Message>) {
    let either = |has: fn(&Program) -> bool| has(old) || has(new);
    let mut left_out = Vec::new();
    if either(|program| !program.payloads.is_empty()) {
        left_out.push(message!("payload kinds"));
    }
    if either(|program| !program.workflows.is_empty()) {
        left_out.push(message!("workflows"));
    }
    if let Some(left_out) = left_out
        .into_iter()
        .reduce(|one, other| message!("{first} and {second}", first = one, second = other))
    {
        notes.push(message!("{left_out} are not compared"));
    }
    if old.limits != new.limits {
        notes.push(message!("the decision limits of the two versions differ, so nothing is proven"));
    }
    if old.analysis != new.analysis {
        notes.push(message!(
            "the definitions that `request` uses differ: conditions that read it count as different"
        ));
    }
    if either(|program| program.externs.iter().any(|host| host.feature.is_none())) {
        notes.push(message!(
            "host functions are assumed to be the same before and after, and to be missing when a message \
            is tried"
        ));
    }
}

/// One of the two versions of a table, as a sequence of statements in evaluation order.
struct VersionSequence<'v, 'p> {
    version: &'v RulesVersion<'p>,
    table: Option<TableId>,
    sequence: LeafSequence,
}

impl VersionSequence<'_, '_> {
    /// Decides a message; returns the index of the selected statement, and the decision. `None` if
    /// the selected statement is not in the sequence.
    fn decide(&self, message: &Json) -> Option<(usize, Json)> {
        let (choice, decision) = match self.table {
            Some(table) => (self.version.decide)(table, message),
            None => (Choice::none_chosen(), Json::Null),
        };
        Some((self.sequence.leaf_index(&choice)?, decision))
    }
}

/// The comparison of the old version of a table with the new version.
struct TableComparison<'c, 'v, 'p, 's> {
    limited_solver: LimitedSolver<'c, 's>,
    sides: [VersionSequence<'v, 'p>; 2],
    has_comparable_conditions: bool,
    /// Number of statements for which neither a difference nor a proof of equality was found.
    undecided_count: usize,
}

impl TableComparison<'_, '_, '_, '_> {
    fn compare_entry(&mut self, entry: String) -> EntryDiff {
        let [old, new] = &self.sides;
        let pairs = pair_statements(&old.sequence.leaves, &new.sequence.leaves, &mut self.limited_solver);
        let mut kept_old = vec![false; self.sides[0].sequence.leaves.len()];
        for (new, old) in pairs.old_index_of_new.iter().enumerate() {
            if let (Some(old), true) = (old, pairs.has_kept_order[new]) {
                kept_old[*old] = true;
            }
        }
        // The final leaf of a sequence means "nothing is chosen". No author wrote it, so it counts
        // as a change only if an example message shows the difference.
        let last = |side: usize| self.sides[side].sequence.leaves.len() - 1;
        let statements = (last(0), last(1));
        let mut changes = Vec::new();
        let mut verdicts = Vec::new();
        let mut is_paired = vec![false; kept_old.len()];
        for new in 0..pairs.old_index_of_new.len() {
            let old = pairs.old_index_of_new[new];
            old.into_iter().for_each(|old| is_paired[old] = true);
            let names = (old.map(|old| self.leaf_at(0, old).name.clone()), self.leaf_at(1, new).name.clone());
            let was = names.0.filter(|name| *name != names.1);
            let kind = match (old, pairs.has_same_meaning[new], pairs.has_kept_order[new]) {
                (None, ..) => ChangeKind::Added,
                (_, true, true) if was.is_some() => ChangeKind::Renamed,
                (_, _, true) => continue,
                (_, true, _) => ChangeKind::Moved,
                _ => ChangeKind::Changed,
            };
            let statements_of_pair = [old, Some(new)];
            let (examples, verdict) = match kind {
                ChangeKind::Renamed => (Vec::new(), Verdict::Same),
                _ => self.find_examples(statements_of_pair),
            };
            verdicts.push(verdict);
            if new != statements.1 || !examples.is_empty() {
                changes.push(Change { kind, route: names.1, was, examples, verdict });
            }
        }
        for old in (0..is_paired.len()).filter(|old| !is_paired[*old]).collect::<Vec<_>>() {
            let (examples, verdict) = self.find_examples([Some(old), None]);
            verdicts.push(verdict);
            let (kind, route) = (ChangeKind::Removed, self.leaf_at(0, old).name.clone());
            if old != statements.0 || !examples.is_empty() {
                changes.push(Change { kind, route, was: None, examples, verdict });
            }
        }
        let verdict = worst_verdict(verdicts.into_iter());
        let verdict = if verdict == Verdict::Same && !self.has_comparable_conditions {
            Verdict::Undecided
        } else {
            verdict
        };
        EntryDiff {
            entry,
            verdict,
            statements,
            changes,
            asked: self.limited_solver.queries_used,
            open: self.undecided_count,
        }
    }

    fn leaf_at(&self, side: usize, index: usize) -> &SequenceLeaf {
        &self.sides[side].sequence.leaves[index]
    }

    /// Searches for messages that the versions decide differently: one that selects the old
    /// statement, and one that selects the new statement. `statements_of_pair` contains the indexes
    /// of both; an added or removed statement has only one index. Also returns the verdict on the
    /// messages that select either statement.
    fn find_examples(&mut self, statements_of_pair: [Option<usize>; 2]) -> (Vec<Example>, Verdict) {
        let mut examples: Vec<Example> = Vec::new();
        let mut verdict = Verdict::Same;
        for side in [0, 1] {
            let Some(index) = statements_of_pair[side] else { continue };
            self.limited_solver.solver.budget().begin_share();
            match self.find_difference(side, index) {
                Some(Some(example)) => {
                    if !examples.iter().any(|other| other.message == example.message) {
                        examples.push(example);
                    }
                }
                Some(None) => {}
                None => {
                    self.undecided_count += 1;
                    verdict = Verdict::Undecided;
                }
            }
        }
        (examples.clone(), if examples.is_empty() { verdict } else { Verdict::Different })
    }

    /// Finds a message that selects the statement at `index` in version `side`, and that the other
    /// version decides differently. Returns `Some(None)` if it is proven that there is no such
    /// message, and `None` if undecided.
    fn find_difference(&mut self, side: usize, index: usize) -> Option<Option<Example>> {
        let mut goals: Vec<SolverGoal> = vec![(self.leaf_at(side, index).cond, true)];
        let mut is_proof = true;
        for _ in 0..MAX_ROUNDS_PER_STATEMENT {
            let message = match self.limited_solver.solve(&goals) {
                SolverAnswer::Never(_) => return is_proof.then_some(None),
                SolverAnswer::Unknown => return None,
                SolverAnswer::Yes(message) => message,
            };
            let [before, after] = [self.sides[0].decide(&message)?, self.sides[1].decide(&message)?];
            let selected = [before.0, after.0];
            if selected[side] != index {
                // The message selects an earlier statement: exclude that statement and search
                // again.
                let earlier = (self.leaf_at(side, selected[side]).cond, false);
                if selected[side] > index || goals.contains(&earlier) {
                    return None;
                }
                goals.push(earlier);
                continue;
            }
            if !is_same_answer(&before.1, &after.1) {
                return Some(Some(Example { message, before: before.1, after: after.1 }));
            }
            let (difference, comparable) = self.build_difference((side, index), selected[1 - side]);
            is_proof &= comparable;
            let difference = (difference, true);
            if goals.contains(&difference) {
                return None;
            }
            goals.push(difference);
        }
        None
    }

    /// Builds a condition for the next search for a message that the two versions decide
    /// differently. The last message selected the statement at `index` in version `side`, but the
    /// statement `other` of the other version gives an equal answer. So the next message must
    /// satisfy one of three alternatives: `other` does not match, an earlier statement with another
    /// answer matches, or the arguments of the two statements differ. The bool is false if a
    /// message with a difference may satisfy none of them, so that a failed search proves nothing.
    fn build_difference(&mut self, (side, index): (usize, usize), other: usize) -> (CondId, bool) {
        let own_leaf = self.leaf_at(side, index);
        let (answer, fixed_part, args) = (own_leaf.answer_id, own_leaf.fixed_part_id, own_leaf.args.clone());
        let leaves = &self.sides[1 - side].sequence.leaves;
        let leaf = &leaves[other];
        self.limited_solver.solver.budget().charge(other);
        let builder = &mut self.limited_solver.solver.builder;
        let mut alternatives = vec![builder.build_complement(leaf.cond)];
        alternatives
            .extend(leaves[..other].iter().filter(|leaf| leaf.answer_id != answer).map(|leaf| leaf.cond));
        let comparable = leaf.fixed_part_id == fixed_part;
        if comparable {
            alternatives.extend(build_arguments_differ(builder, &args, &leaf.args));
        }
        (builder.join_conds(alternatives, false), comparable)
    }
}

fn is_same_answer(old: &Json, new: &Json) -> bool {
    is_identical(Value::from_json(&answer(old)), Value::from_json(&answer(new)))
}
