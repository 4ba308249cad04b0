//! Compares routes with each other. Finds routes that other routes hide, routes of equal priority
//! of which one implies the other, and messages that no route matches.

use super::AnalysisSubject;
use super::budget::StepBudget;
use super::conditions::ConditionFacts;
use super::report::{AnalysisReport, format_message};
use super::solver::{Solver, SolverAnswer, SolverGoal};
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::span::Span;
use rulec_base::{broken_invariant, message};
use rulec_lang::value::Tri;
use rulec_sema::hir::{Outcome, Program, RuleId, TableId, TableKind};
use rulec_sema::normal::CondId;
use serde_json::Value as Json;

/// Maximum number of routes in one solver query, for example of the routes that together hide
/// another route.
const MAX_ROUTES_TOGETHER: usize = 40;
/// The greatest number of pairs of routes that are compared if `strict_ties` is set.
const MAX_COMPARED_PAIRS: usize = 20_000;
/// Steps of a decision, apart from the rules that are tried.
const STEPS_PER_DECISION: usize = 50;
/// A step of a decision tries this number of rules, because the index excludes most of them.
const RULES_PER_STEP: usize = 64;

/// Analyses the routes of a table.
pub(super) fn analyse_table(
    solver: &mut Solver<'_>,
    report: &mut AnalysisReport<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    facts: &HashMap<RuleId, ConditionFacts>,
) {
    let order = &subject.program.tables[table.index()].order;
    let places: HashMap<RuleId, usize> = order.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let mut hidden = HashSet::new();
    for id in order {
        let Some(known) = facts.get(id).filter(|known| !known.never && known.witness.is_some()) else {
            continue;
        };
        solver.budget().begin_share();
        if let Some(above) = hiding_routes(solver, subject, table, (*id, known), (&places, facts)) {
            hidden.insert(*id);
            report_hidden(report, *id, &above, facts);
        }
        report.end_share(*id);
    }
    if subject.program.tables[table.index()].kind == TableKind::Routes {
        report_ties(solver, report, subject, table, (facts, &hidden));
        report_missing_default(solver, report, subject, table, facts);
    }
}

/// Returns a minimal set of earlier routes that together match every message that a route matches,
/// so that the route is never selected. `None` if some message still selects the route, or if the
/// solver cannot decide.
fn hiding_routes(
    solver: &mut Solver<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    (id, known): (RuleId, &ConditionFacts),
    (places, facts): (&HashMap<RuleId, usize>, &HashMap<RuleId, ConditionFacts>),
) -> Option<Vec<RuleId>> {
    let mut message = known.witness.clone()?;
    let mut above: Vec<RuleId> = Vec::new();
    loop {
        let winner = selected_route(solver.budget(), subject, table, &message)?;
        if winner == id || above.contains(&winner) || above.len() == MAX_ROUTES_TOGETHER {
            return None;
        }
        let earlier = places.get(&winner).zip(places.get(&id)).is_some_and(|(winner, id)| winner < id);
        if !earlier || !surely_chooses(subject.program, &subject.program.rules[winner.index()].outcome) {
            return None;
        }
        above.push(winner);
        let goals = |above: &[RuleId]| -> Option<Vec<SolverGoal>> {
            let others = above.iter().map(|other| Some((facts.get(other)?.holds, false)));
            std::iter::once(Some((known.holds, true))).chain(others).collect()
        };
        match solver.solve(&goals(&above)?) {
            SolverAnswer::Yes(next) => message = next,
            SolverAnswer::Unknown => return None,
            SolverAnswer::Never(core) => {
                above = core.iter().filter_map(|at| above.get(at.checked_sub(1)?).copied()).collect();
                let mut at = 0;
                while above.len() > 1 && at < above.len() {
                    let left_out = above.remove(at);
                    if !solver.solve(&goals(&above)?).is_unsatisfiable() {
                        above.insert(at, left_out);
                        at += 1;
                    }
                }
                return Some(above).filter(|above| !above.is_empty());
            }
        }
    }
}

/// Returns the route of this table that a message selects. If the route is a `goto`, the final
/// decision may come from another table.
fn selected_route(
    budget: &StepBudget,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    message: &Json,
) -> Option<RuleId> {
    let rules = subject.program.tables[table.index()].order.len();
    if !budget.charge(STEPS_PER_DECISION + rules / RULES_PER_STEP) {
        return None;
    }
    let choice = (subject.decide)(table, message);
    let first = choice.path.first().copied();
    first.or(match choice.chosen {
        Some(rulec_eval::decision::Chosen::Rule(id)) => Some(id),
        _ => None,
    })
}

/// True if a search that reaches this outcome surely ends there. After a `goto` to a table without
/// a default, the search may continue.
fn surely_chooses(program: &Program, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Goto(table) => program.tables[table.index()]
            .default
            .as_ref()
            .is_some_and(|outcome| surely_chooses(program, outcome)),
        _ => true,
    }
}

fn report_hidden(
    report: &mut AnalysisReport<'_>,
    id: RuleId,
    above: &[RuleId],
    facts: &HashMap<RuleId, ConditionFacts>,
) {
    // The analysis already reports a condition that is always true, so the hidden route is not
    // reported.
    if above.iter().any(|other| facts.get(other).is_some_and(|facts| facts.always)) {
        return;
    }
    let program = report.program;
    let rule = &program.rules[id.index()];
    let kind = program.tables[rule.table.index()].kind;
    let names: Vec<String> = above.iter().map(|id| format!("`{}`", program.rules[id.index()].name)).collect();
    let takes = match names.as_slice() {
        [one] => message!("{one} matches every message that it matches"),
        [first, second] => message!("{first} and {second} together match every message that it matches"),
        _ => message!("{} others together match every message that it matches", names.len()),
    };
    let mut found = Diagnostic::new(
        Code::RouteHidden,
        rule.condition.span,
        message!("`{}` can never be chosen: {takes}", rule.name),
    )
    .here(message!("whenever this holds"));
    for other in above.iter().take(6) {
        found = found.label(
            program.rules[other.index()].condition.span,
            message!("this is tried first and holds as well"),
        );
    }
    let help = match kind {
        TableKind::Choice => {
            message!("the last branch that holds is chosen: move it below those, or narrow their conditions")
        }
        TableKind::Routes => {
            message!("move it before those routes, give it a higher priority, or narrow their conditions")
        }
        _ => message!("move it before those, or narrow their conditions"),
    };
    report.add_finding(found.help(help), None);
}

/// Reports routes of equal priority where one condition implies the other, so that only their order
/// decides. With `strict_ties`, reports all pairs of routes that match a common message.
fn report_ties(
    solver: &mut Solver<'_>,
    report: &mut AnalysisReport<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    (facts, hidden): (&HashMap<RuleId, ConditionFacts>, &HashSet<RuleId>),
) {
    let program = subject.program;
    let order = &program.tables[table.index()].order;
    // Without any priorities, the order is meant to decide.
    if !subject.options.strict_ties && order.iter().all(|id| program.rules[id.index()].priority == 0) {
        return;
    }
    let mut left = MAX_COMPARED_PAIRS;
    for at in 0..order.len() {
        solver.budget().begin_share();
        report_tie(solver, report, (subject, table, at), (facts, hidden), &mut left);
        report.end_share(order[at]);
    }
}

/// Reports a later route of equal priority whose condition the condition of the route with index
/// `at` implies. `left` is the number of pairs that may still be compared if `strict_ties` is set.
fn report_tie(
    solver: &mut Solver<'_>,
    report: &mut AnalysisReport<'_>,
    (subject, table, at): (&AnalysisSubject<'_>, TableId, usize),
    (facts, hidden): (&HashMap<RuleId, ConditionFacts>, &HashSet<RuleId>),
    left: &mut usize,
) {
    let (program, strict) = (subject.program, subject.options.strict_ties);
    let order = &program.tables[table.index()].order;
    let id = &order[at];
    let rule = &program.rules[id.index()];
    let Some(known) = facts.get(id).filter(|known| !known.never && !known.always) else { return };
    let Some(message) = known.witness.clone().filter(|_| !hidden.contains(id)) else { return };
    let may_tie = |other: &RuleId| {
        program.rules[other.index()].priority == rule.priority
            && !hidden.contains(other)
            && have_different_targets(program, *id, *other)
    };
    if !solver.budget().charge(STEPS_PER_DECISION + order.len() / RULES_PER_STEP) {
        return;
    }
    let matched = (subject.matched)(table, &message);
    if !solver.budget().charge(matched.len()) {
        return;
    }
    let behind = matched.into_iter().skip_while(|other| other != id).skip(1).filter(may_tie);
    let implied = behind.into_iter().find(|other| {
        facts.get(other).is_some_and(|other| {
            solver.solve(&[(known.holds, true), (other.holds, false)]).is_unsatisfiable()
        })
    });
    let (other, message, takes) = match implied {
        Some(other) => {
            (other, message, message!("the other route matches every message that `{}` matches", rule.name))
        }
        None if strict => {
            let others = order[at + 1..].iter().filter(|other| may_tie(other)).take(*left).copied();
            let others: Vec<RuleId> = others.collect();
            *left -= others.len();
            let together = others.into_iter().find_map(|other| {
                let holds = facts.get(&other).filter(|other| !other.always)?.holds;
                match solver.solve(&[(known.holds, true), (holds, true)]) {
                    SolverAnswer::Yes(message) => Some((other, message)),
                    _ => None,
                }
            });
            let Some((other, message)) = together else { return };
            (other, message, message!("both hold for some inputs"))
        }
        None => return,
    };
    let other = &program.rules[other.index()];
    if report.evaluate(&rule.condition, &message) != Tri::True
        || report.evaluate(&other.condition, &message) != Tri::True
    {
        return;
    }
    let message_text = message!("`{}` and `{}` have the same priority, and {takes}", rule.name, other.name);
    let found = Diagnostic::new(Code::EqualPriority, rule.condition.span, message_text)
        .here(message!("tried first, because it is written first"))
        .label(other.condition.span, message!("this holds as well"))
        .help(message!(
            "both hold for {}: give `{}` a higher priority, so that the order of the routes does not \
            matter",
            format_message(&message),
            rule.name
        ));
    report.add_finding(found, Some(message));
}

/// True if two routes have different targets.
pub(super) fn have_different_targets(program: &Program, a: RuleId, b: RuleId) -> bool {
    match (&program.rules[a.index()].outcome, &program.rules[b.index()].outcome) {
        (Outcome::Handler { name: a, .. }, Outcome::Handler { name: b, .. }) => a != b,
        (Outcome::Goto(a), Outcome::Goto(b)) => a != b,
        _ => true,
    }
}

/// Reports a message that no route matches, if the routes outside any table have no default.
fn report_missing_default(
    solver: &mut Solver<'_>,
    report: &mut AnalysisReport<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    facts: &HashMap<RuleId, ConditionFacts>,
) {
    let own = &subject.program.tables[table.index()];
    if table != TableId(0) || own.default.is_some() || own.order.is_empty() {
        return;
    }
    let budget = solver.budget().clone();
    budget.begin_share();
    let takes = |message: &Json| selected_route(&budget, subject, table, message);
    let found = find_unmatched_message(solver, takes, |id| facts.get(&id).map(|known| known.holds));
    let held = |id: &RuleId, message: &Json| {
        report.evaluate(&subject.program.rules[id.index()].condition, message) == Tri::True
    };
    let decides = |id: &RuleId| surely_chooses(subject.program, &subject.program.rules[id.index()].outcome);
    let found = found.filter(|message| !own.order.iter().any(|id| held(id, message) && decides(id)));
    // If too few steps were left, it is not known that no route matches.
    if budget.is_exhausted() {
        return report.end_share(own.order[0]);
    }
    let Some(message) = found else { return };
    let last = own.order.iter().map(|id| subject.program.rules[id.index()].span).max_by_key(start_of_span);
    let Some(last) = last else {
        return broken_invariant!("a table without routes was left out");
    };
    let found = Diagnostic::new(
        Code::NoDefault,
        last,
        message!("there is no `default`, and some messages match no route"),
    )
    .here(message!("the last route"))
    .help(message!(
        "write `default -> …` for the rest; for example, {} matches no route",
        format_message(&message)
    ));
    report.add_finding(found, Some(message));
}

/// Finds a message that selects no statement. `takes` returns the statement that a message selects.
/// `holds` returns the condition of a statement.
pub(super) fn find_unmatched_message(
    solver: &mut Solver<'_>,
    takes: impl Fn(&Json) -> Option<RuleId>,
    holds: impl Fn(RuleId) -> Option<CondId>,
) -> Option<Json> {
    let mut goals: Vec<SolverGoal> = Vec::new();
    loop {
        let SolverAnswer::Yes(message) = solver.solve(&goals) else { return None };
        let Some(id) = takes(&message) else { return Some(message) };
        let goal = (holds(id)?, false);
        if goals.contains(&goal) || goals.len() == MAX_ROUTES_TOGETHER {
            return None;
        }
        goals.push(goal);
    }
}

fn start_of_span(span: &Span) -> (u32, u32) {
    (span.file.0, span.start)
}
