//! Compares routes with each other. Finds routes that other routes hide, routes of equal priority
//! of which one implies the other, and messages that no route matches.

use super::AnalysisSubject;
use super::budget::StepBudget;
use super::conditions::ConditionFacts;
use super::goal::{SolverAnswer, SolverGoal};
use super::report::{AnalysisReport, format_message};
use super::solver::Solver;
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
    let positions: HashMap<RuleId, usize> =
        order.iter().enumerate().map(|(position, id)| (*id, position)).collect();
    let mut hidden = HashSet::new();
    for id in order {
        let Some(route_facts) =
            facts.get(id).filter(|route_facts| !route_facts.never_true && route_facts.witness.is_some())
        else {
            continue;
        };
        solver.budget().begin_share();
        if let Some(hiding) = hiding_routes(solver, subject, table, (*id, route_facts), (&positions, facts)) {
            hidden.insert(*id);
            report_hidden(report, *id, &hiding, facts);
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
    (id, route_facts): (RuleId, &ConditionFacts),
    (positions, facts): (&HashMap<RuleId, usize>, &HashMap<RuleId, ConditionFacts>),
) -> Option<Vec<RuleId>> {
    let mut message = route_facts.witness.clone()?;
    let mut hiding: Vec<RuleId> = Vec::new();
    loop {
        let winner = selected_route(solver.budget(), subject, table, &message)?;
        if winner == id || hiding.contains(&winner) || hiding.len() == MAX_ROUTES_TOGETHER {
            return None;
        }
        let is_earlier =
            positions.get(&winner).zip(positions.get(&id)).is_some_and(|(winner, id)| winner < id);
        if !is_earlier || !surely_chooses(subject.program, &subject.program.rules[winner.index()].outcome) {
            return None;
        }
        hiding.push(winner);
        let goals = |hiding: &[RuleId]| -> Option<Vec<SolverGoal>> {
            let exclusions = hiding.iter().map(|other| Some((facts.get(other)?.true_cond, false)));
            std::iter::once(Some((route_facts.true_cond, true))).chain(exclusions).collect()
        };
        match solver.solve(&goals(&hiding)?) {
            SolverAnswer::Yes(next) => message = next,
            SolverAnswer::Unknown => return None,
            SolverAnswer::Never(core) => {
                hiding = core.iter().filter_map(|index| hiding.get(index.checked_sub(1)?).copied()).collect();
                let mut index = 0;
                while hiding.len() > 1 && index < hiding.len() {
                    let removed_route = hiding.remove(index);
                    if !solver.solve(&goals(&hiding)?).is_unsatisfiable() {
                        hiding.insert(index, removed_route);
                        index += 1;
                    }
                }
                return Some(hiding).filter(|hiding| !hiding.is_empty());
            }
        }
    }
}

/// Returns the route of a table that a message selects. `None` if the message selects no route, or
/// if too few steps are left. If the route is a `goto`, the final decision may come from another
/// table.
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

/// True if this outcome always ends the search with a choice. A `goto` to a table without a default
/// does not: the search may continue after the `goto`.
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
    hiding: &[RuleId],
    facts: &HashMap<RuleId, ConditionFacts>,
) {
    // The analysis already reports a condition that is always true, so the hidden route is not
    // reported.
    if hiding.iter().any(|other| facts.get(other).is_some_and(|facts| facts.always_true)) {
        return;
    }
    let program = report.program;
    let rule = &program.rules[id.index()];
    let kind = program.tables[rule.table.index()].kind;
    let names: Vec<String> =
        hiding.iter().map(|id| format!("`{}`", program.rules[id.index()].name)).collect();
    let takes = match names.as_slice() {
        [one] => message!("{one} matches every message that it matches"),
        [first, second] => message!("{first} and {second} together match every message that it matches"),
        _ => message!("{} others together match every message that it matches", names.len()),
    };
    let mut diagnostic = Diagnostic::new(
        Code::RouteHidden,
        rule.condition.span,
        message!("`{}` can never be chosen: {takes}", rule.name),
    )
    .here(message!("whenever this holds"));
    for other in hiding.iter().take(6) {
        diagnostic = diagnostic.label(
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
    report.add_finding(diagnostic.help(help), None);
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
    let mut pairs_left = MAX_COMPARED_PAIRS;
    for (index, id) in order.iter().enumerate() {
        solver.budget().begin_share();
        report_tie(solver, report, (subject, table, index), (facts, hidden), &mut pairs_left);
        report.end_share(*id);
    }
}

/// Reports a later route of equal priority whose condition the condition of the route with the
/// given index implies. `pairs_left` is the number of pairs that may still be compared if
/// `strict_ties` is set.
fn report_tie(
    solver: &mut Solver<'_>,
    report: &mut AnalysisReport<'_>,
    (subject, table, index): (&AnalysisSubject<'_>, TableId, usize),
    (facts, hidden): (&HashMap<RuleId, ConditionFacts>, &HashSet<RuleId>),
    pairs_left: &mut usize,
) {
    let (program, strict) = (subject.program, subject.options.strict_ties);
    let order = &program.tables[table.index()].order;
    let id = &order[index];
    let rule = &program.rules[id.index()];
    let Some(route_facts) =
        facts.get(id).filter(|route_facts| !route_facts.never_true && !route_facts.always_true)
    else {
        return;
    };
    let Some(message) = route_facts.witness.clone().filter(|_| !hidden.contains(id)) else { return };
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
    let later_matches = matched.into_iter().skip_while(|other| other != id).skip(1).filter(may_tie);
    let implied = later_matches.into_iter().find(|other| {
        facts.get(other).is_some_and(|other| {
            solver.solve(&[(route_facts.true_cond, true), (other.true_cond, false)]).is_unsatisfiable()
        })
    });
    let (other, message, takes) = match implied {
        Some(other) => {
            (other, message, message!("the other route matches every message that `{}` matches", rule.name))
        }
        None if strict => {
            let candidates =
                order[index + 1..].iter().filter(|other| may_tie(other)).take(*pairs_left).copied();
            let candidates: Vec<RuleId> = candidates.collect();
            *pairs_left -= candidates.len();
            let overlap = candidates.into_iter().find_map(|other| {
                let other_cond = facts.get(&other).filter(|other| !other.always_true)?.true_cond;
                match solver.solve(&[(route_facts.true_cond, true), (other_cond, true)]) {
                    SolverAnswer::Yes(message) => Some((other, message)),
                    _ => None,
                }
            });
            let Some((other, message)) = overlap else { return };
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
    let declared_table = &subject.program.tables[table.index()];
    if table != TableId(0) || declared_table.default.is_some() || declared_table.order.is_empty() {
        return;
    }
    let budget = solver.budget().clone();
    budget.begin_share();
    let selected = |message: &Json| selected_route(&budget, subject, table, message);
    let unmatched = find_unmatched_message(solver, selected, |id| {
        facts.get(&id).map(|route_facts| route_facts.true_cond)
    });
    let is_true = |id: &RuleId, message: &Json| {
        report.evaluate(&subject.program.rules[id.index()].condition, message) == Tri::True
    };
    let decides = |id: &RuleId| surely_chooses(subject.program, &subject.program.rules[id.index()].outcome);
    let unmatched = unmatched
        .filter(|message| !declared_table.order.iter().any(|id| is_true(id, message) && decides(id)));
    // If too few steps were left, it is not known that no route matches.
    if budget.is_exhausted() {
        return report.end_share(declared_table.order[0]);
    }
    let Some(message) = unmatched else { return };
    let last = declared_table
        .order
        .iter()
        .map(|id| subject.program.rules[id.index()].span)
        .max_by_key(start_of_span);
    let Some(last) = last else {
        return broken_invariant!("a table without routes was left out");
    };
    let diagnostic = Diagnostic::new(
        Code::NoDefault,
        last,
        message!("there is no `default`, and some messages match no route"),
    )
    .here(message!("the last route"))
    .help(message!(
        "write `default -> …` for the rest; for example, {} matches no route",
        format_message(&message)
    ));
    report.add_finding(diagnostic, Some(message));
}

/// Finds a message that selects no statement. `selected` returns the statement that a message
/// selects. `condition_of` returns the condition of a statement.
pub(super) fn find_unmatched_message(
    solver: &mut Solver<'_>,
    selected: impl Fn(&Json) -> Option<RuleId>,
    condition_of: impl Fn(RuleId) -> Option<CondId>,
) -> Option<Json> {
    let mut goals: Vec<SolverGoal> = Vec::new();
    loop {
        let SolverAnswer::Yes(message) = solver.solve(&goals) else { return None };
        let Some(id) = selected(&message) else { return Some(message) };
        let goal = (condition_of(id)?, false);
        if goals.contains(&goal) || goals.len() == MAX_ROUTES_TOGETHER {
            return None;
        }
        goals.push(goal);
    }
}

fn start_of_span(span: &Span) -> (u32, u32) {
    (span.file.0, span.start)
}
