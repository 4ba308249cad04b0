//! Finds the pairs of routes in a table that match the same message, so that the order of the
//! routes decides which one is selected. Also finds a message that no route matches. A view of the
//! table as a decision table shows the pairs and this message. Each example message was checked
//! with the engine.

use super::AnalysisSubject;
use super::answers::AnswerIds;
use super::completeness::find_unmatched_message;
use super::goal::SolverAnswer;
use super::promise::InputRequirements;
use super::solver::MessageSolver;
use hashbrown::{HashMap, HashSet};
use rulec_eval::decision::Chosen;
use rulec_sema::hir::{RuleId, TableId};
use rulec_sema::normal::CondId;
use serde::Serialize;
use serde_json::Value as Json;

/// Maximum number of solver queries. A pair needs a query only if no earlier example message
/// matches both of its routes.
const MAX_SOLVER_QUERIES: usize = 2_000;
/// Maximum number of overlapping pairs in the result.
const MAX_REPORTED_OVERLAPS: usize = 2_000;

/// The pairs of statements in a table that match the same message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Overlaps {
    /// The pairs, ordered by the evaluation order of the first statement.
    pub pairs: Vec<Overlap>,
    /// Whether `pairs` is complete: the solver decided every pair, and no limit was reached.
    pub all: bool,
    /// A message that no statement matches, if possible one with the fields and types that `input`
    /// declares. `None` if the table has a default, or if no such message was found.
    pub untaken: Option<Json>,
}

/// Two statements that match the same message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Overlap {
    /// The name of the statement that is tried first.
    pub first: String,
    /// The name of the statement that is tried second.
    pub second: String,
    /// A message that both statements match.
    pub example: Json,
    /// Whether the two statements have different targets or arguments, so that their order matters.
    pub differs: bool,
}

/// Finds the pairs of statements in a table that match a common message.
#[doc(hidden)]
pub fn find_overlaps(subject: &AnalysisSubject<'_>, table: TableId) -> Overlaps {
    let declared_table = &subject.program.tables[table.index()];
    let order = &declared_table.evaluation_order;
    let mut solver = MessageSolver::new(subject.program);
    let overlaps = Overlaps { all: true, ..Overlaps::default() };
    let program = subject.program;
    let mut ids = AnswerIds::default();
    let answer_ids = order.iter().map(|id| {
        let outcome = &program.rules[id.index()].outcome;
        let values = (program, &*program.values);
        (*id, ids.build_answer(&mut solver.builder, values, outcome, Chosen::Rule(*id)).answer_id)
    });
    let answer_ids = answer_ids.collect();
    let mut collector =
        OverlapCollector { subject, table, recorded_pairs: HashSet::new(), answer_ids, overlaps };
    let mut satisfiable = Vec::new();
    for id in order {
        let true_cond = solver.builder.build_cond(&subject.program.rules[id.index()].condition, true);
        match solver.solve(&[(true_cond, true)]) {
            SolverAnswer::Never(_) => continue,
            SolverAnswer::Yes(message) => collector.record_pairs(&message),
            // The pairs of a statement are queried below, unless too few steps are left.
            SolverAnswer::Unknown => {}
        }
        satisfiable.push((*id, true_cond));
    }
    if declared_table.default.is_none() && !order.is_empty() {
        let first_match = |message: &Json| (subject.matching_routes)(table, message).first().copied();
        let true_conds: HashMap<RuleId, CondId> = satisfiable.iter().copied().collect();
        let true_cond = |id| true_conds.get(&id).copied();
        let mut find = |promise: Option<&InputRequirements<'_>>| {
            find_unmatched_message(&mut solver, promise, first_match, true_cond).into_message()
        };
        let promised =
            InputRequirements::declared_by(subject.program).and_then(|promise| find(Some(&promise)));
        collector.overlaps.untaken = promised.or_else(|| find(None));
    }
    let mut queries_left = MAX_SOLVER_QUERIES;
    for (index, (first, true_cond)) in satisfiable.iter().enumerate() {
        for (second, other) in &satisfiable[index + 1..] {
            if collector.recorded_pairs.contains(&(*first, *second)) {
                continue;
            }
            if queries_left == 0 {
                collector.overlaps.all = false;
                return collector.into_sorted(order);
            }
            queries_left -= 1;
            match solver.solve(&[(*true_cond, true), (*other, true)]) {
                SolverAnswer::Yes(message) => collector.record_pairs(&message),
                SolverAnswer::Unknown => collector.overlaps.all = false,
                SolverAnswer::Never(_) => {}
            }
        }
    }
    collector.into_sorted(order)
}

/// Collects the overlapping pairs of one table, each pair once.
struct OverlapCollector<'s, 'p> {
    subject: &'s AnalysisSubject<'p>,
    table: TableId,
    recorded_pairs: HashSet<(RuleId, RuleId)>,
    /// The id of each statement's answer (its outcome with arguments).
    answer_ids: HashMap<RuleId, u32>,
    overlaps: Overlaps,
}

impl OverlapCollector<'_, '_> {
    /// Records every pair of statements that both match `message`, with the message as their
    /// example.
    fn record_pairs(&mut self, message: &Json) {
        let program = self.subject.program;
        let matched = (self.subject.matching_routes)(self.table, message);
        for (index, first) in matched.iter().enumerate() {
            for second in &matched[index + 1..] {
                if self.overlaps.pairs.len() >= MAX_REPORTED_OVERLAPS {
                    self.overlaps.all = false;
                    return;
                }
                if self.recorded_pairs.insert((*first, *second)) {
                    let name = |id: &RuleId| program.rules[id.index()].name.to_string();
                    self.overlaps.pairs.push(Overlap {
                        first: name(first),
                        second: name(second),
                        example: message.clone(),
                        differs: self.answer_ids.get(first) != self.answer_ids.get(second),
                    });
                }
            }
        }
    }

    fn into_sorted(mut self, order: &[RuleId]) -> Overlaps {
        let rules = &self.subject.program.rules;
        let positions: HashMap<&str, usize> =
            order.iter().enumerate().rev().map(|(index, id)| (&*rules[id.index()].name, index)).collect();
        let position = |name: &str| positions.get(name).copied();
        self.overlaps.pairs.sort_by_cached_key(|pair| (position(&pair.first), position(&pair.second)));
        self.overlaps
    }
}
