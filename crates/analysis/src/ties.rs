//! Finds routes of equal priority that match the same messages and give different answers, so that
//! only the order of the routes decides.

use super::AnalysisSubject;
use super::answers::{AnswerIds, StatementAnswer, build_answers_differ};
use super::conditions::ConditionFacts;
use super::decisions::steps_per_decision;
use super::goal::{SolverAnswer, SolverGoal};
use super::report::{AnalysisReport, format_message};
use super::solver::MessageSolver;
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_eval::decision::Chosen;
use rulec_lang::value::Tri;
use rulec_sema::hir::{RuleId, TableId};
use rulec_sema::normal::NormalCond;
use serde_json::Value as Json;

/// Maximum number of pairs of routes that are compared if `strict_ties` is set.
const MAX_COMPARED_PAIRS: usize = 20_000;

/// Reports pairs of routes with equal priority and different answers, if the condition of the first
/// route implies the condition of the second. Reports nothing if no route sets a priority. With
/// `strict_ties`, reports all pairs that match a common message, even if no route sets a priority.
/// At most one tie is reported for each route. `facts` are the results of the analysis of each
/// route's condition. Routes in `hidden`, which are never chosen, are skipped.
pub(super) fn report_ties(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    (facts, hidden): (&HashMap<RuleId, ConditionFacts>, &HashSet<RuleId>),
) {
    let program = subject.program;
    let order = &program.tables[table.index()].evaluation_order;
    // Without any priorities, the order is meant to decide.
    if !subject.options.strict_ties && order.iter().all(|id| program.rules[id.index()].priority == 0) {
        return;
    }
    let mut ids = AnswerIds::default();
    let answers = order.iter().map(|id| {
        let outcome = &program.rules[id.index()].outcome;
        let values = (program, &*program.values);
        (*id, ids.build_answer(&mut solver.builder, values, outcome, Chosen::Rule(*id)))
    });
    let answers = answers.collect();
    let mut search = TieSearch {
        subject,
        table,
        facts,
        hidden_routes: hidden,
        answers: &answers,
        pairs_left: MAX_COMPARED_PAIRS,
    };
    for (index, id) in order.iter().enumerate() {
        solver.budget().begin_share();
        search.report_tie(solver, report, index);
        report.record_if_exhausted(*id);
    }
}

/// The search for ties among the routes of one table.
struct TieSearch<'a, 'p> {
    subject: &'a AnalysisSubject<'p>,
    table: TableId,
    facts: &'a HashMap<RuleId, ConditionFacts>,
    /// The routes that are never chosen because other routes hide them; they are skipped.
    hidden_routes: &'a HashSet<RuleId>,
    answers: &'a HashMap<RuleId, StatementAnswer>,
    /// The number of pairs that may still be compared if `strict_ties` is set.
    pairs_left: usize,
}

impl TieSearch<'_, '_> {
    /// Reports that the route at `index` of the evaluation order ties with a later route: both have
    /// the same priority and match a common message. Reports nothing without a tie.
    fn report_tie(&mut self, solver: &mut MessageSolver<'_>, report: &mut AnalysisReport<'_>, index: usize) {
        let program = self.subject.program;
        let id = program.tables[self.table.index()].evaluation_order[index];
        let Some((other, message, takes)) = self.find_tie(solver, index) else { return };
        let [rule, other] = [id, other].map(|id| &program.rules[id.index()]);
        if report.evaluate(&rule.condition, &message) != Tri::True
            || report.evaluate(&other.condition, &message) != Tri::True
        {
            return;
        }
        let message_text =
            message!("`{}` and `{}` have the same priority, and {takes}", rule.name, other.name);
        let diagnostic = Diagnostic::new(Code::EqualPriority, rule.condition.span, message_text)
            .here(message!("tried first, because it is written first"))
            .label(other.condition.span, message!("this holds as well"))
            .help(message!(
                "both hold for {}: give `{}` a higher priority, so that the order of the routes does not \
                matter",
                format_message(&message),
                rule.name
            ));
        report.add_finding(diagnostic, Some(message));
    }

    /// Finds a later route that ties with the route at `index`. Returns the other route, a message
    /// that both match, and a text that describes the tie. `None` if no tie was found.
    fn find_tie(&mut self, solver: &mut MessageSolver<'_>, index: usize) -> Option<(RuleId, Json, Message)> {
        let program = self.subject.program;
        let order = &program.tables[self.table.index()].evaluation_order;
        let id = order[index];
        let own = self.facts.get(&id).filter(|own| !own.is_never_true && !own.is_always_true)?;
        let witness = own.witness.as_ref().filter(|_| !self.hidden_routes.contains(&id))?;
        if !solver.budget().charge(steps_per_decision(self.subject, self.table)) {
            return None;
        }
        let matched = (self.subject.matching_routes)(self.table, witness);
        if !solver.budget().charge(matched.len()) {
            return None;
        }
        let own_goal = (own.true_cond, true);
        for other in matched.into_iter().skip_while(|other| *other != id).skip(1) {
            let Some(other_facts) = self.facts.get(&other).filter(|_| self.may_tie(id, other)) else {
                continue;
            };
            if solver.solve(&[own_goal, (other_facts.true_cond, false)]).is_unsatisfiable()
                && let Some(message) =
                    self.find_differing_message(solver, (id, other), &[own_goal], Some(witness))
            {
                let rule = &program.rules[id.index()];
                let takes = message!("the other route matches every message that `{}` matches", rule.name);
                return Some((other, message, takes));
            }
        }
        if !self.subject.options.strict_ties {
            return None;
        }
        let later = order[index + 1..].iter().copied();
        let candidates = later.filter(|other| self.may_tie(id, *other)).take(self.pairs_left);
        let candidates: Vec<RuleId> = candidates.collect();
        self.pairs_left -= candidates.len();
        candidates.into_iter().find_map(|other| {
            let other_cond = self.facts.get(&other).filter(|other| !other.is_always_true)?.true_cond;
            let message =
                self.find_differing_message(solver, (id, other), &[own_goal, (other_cond, true)], None)?;
            Some((other, message, message!("both hold for some inputs")))
        })
    }

    /// True if two routes have the same priority, their answers may differ, and `other` is not
    /// hidden by other routes.
    fn may_tie(&self, id: RuleId, other: RuleId) -> bool {
        let priority = |id: RuleId| self.subject.program.rules[id.index()].priority;
        let answer = |id: RuleId| self.answers.get(&id).map(|answer| answer.answer_id);
        priority(id) == priority(other) && !self.hidden_routes.contains(&other) && answer(id) != answer(other)
    }

    /// Finds a message that satisfies the goals and for which two routes give different answers.
    /// Returns `None` if it finds no such message. `witness` is a message that is known to satisfy
    /// the goals.
    fn find_differing_message(
        &self,
        solver: &mut MessageSolver<'_>,
        (id, other): (RuleId, RuleId),
        goals: &[SolverGoal],
        witness: Option<&Json>,
    ) -> Option<Json> {
        let (own, other) = (self.answers.get(&id)?, self.answers.get(&other)?);
        let differ = build_answers_differ(&mut solver.builder, own, other);
        let always_differ = matches!(solver.builder.normal_so_far().cond(differ), NormalCond::Const(true));
        if let Some(witness) = witness.filter(|_| always_differ) {
            return Some(witness.clone());
        }
        let goals: Vec<SolverGoal> = goals.iter().copied().chain([(differ, true)]).collect();
        match solver.solve(&goals) {
            SolverAnswer::Yes(message) => Some(message),
            SolverAnswer::Never(_) | SolverAnswer::Unknown => None,
        }
    }
}
