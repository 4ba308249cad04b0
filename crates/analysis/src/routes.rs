//! Compares the routes of a table with each other, and finds routes that other routes hide.

use super::AnalysisSubject;
use super::completeness::report_missing_default;
use super::conditions::ConditionFacts;
use super::decisions::{MAX_ROUTES_TOGETHER, selected_route, surely_chooses};
use super::goal::{SolverAnswer, SolverGoal};
use super::report::AnalysisReport;
use super::solver::MessageSolver;
use super::ties::report_ties;
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::{broken_invariant, message};
use rulec_sema::hir::{Outcome, Rule, RuleId, TableId, TableKind};

/// Reports the routes of a table that other routes hide. For a table of routes (not of a choice or
/// flow), also reports ties, a missing default, and routes that contradict all `goto`s to it. A tie
/// is a pair of routes with equal priority and different answers that match the same messages.
/// `facts` are the results of the analysis of each route's condition.
pub(super) fn analyse_table(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    facts: &HashMap<RuleId, ConditionFacts>,
) {
    let order = &subject.program.tables[table.index()].evaluation_order;
    let positions: HashMap<RuleId, usize> =
        order.iter().enumerate().map(|(position, id)| (*id, position)).collect();
    let mut hidden = HashSet::new();
    for id in order {
        let Some(route_facts) = facts.get(id).filter(|route_facts| !route_facts.is_never_true) else {
            continue;
        };
        solver.budget().begin_share();
        let hiding = match route_facts.witness {
            Some(_) => hiding_routes(solver, subject, table, (*id, route_facts), (&positions, facts)),
            None => hiding_routes_without_message(solver, subject, table, (*id, route_facts), facts),
        };
        if let Some(hiding) = hiding {
            hidden.insert(*id);
            let is_same = matches_same_messages(solver, (route_facts, facts), &hiding);
            report_hidden_route(report, *id, &hiding, (facts, is_same));
        }
        report.record_if_exhausted(*id);
    }
    if subject.program.tables[table.index()].kind == TableKind::Routes {
        report_excluded_by_gotos(solver, report, subject, table, (facts, &hidden));
        report_ties(solver, report, subject, table, (facts, &hidden));
        report_missing_default(solver, report, subject, table, facts);
    }
}

/// Maximum number of earlier routes that are compared at once with a route for which no message is
/// known.
const MAX_EARLIER_ROUTES: usize = 24;
/// Maximum number of `goto` routes to a table. A table with more of them is not searched for routes
/// that the conditions of the `goto`s exclude.
const MAX_GOTOS_TO_TABLE: usize = 4;

/// Reports each route of a table whose condition contradicts the conditions of all `goto`s to the
/// table. An example is `n < 50` in a table that is entered only for `n > 100`.
fn report_excluded_by_gotos(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    (facts, hidden): (&HashMap<RuleId, ConditionFacts>, &HashSet<RuleId>),
) {
    let program = subject.program;
    let enters = |outcome: &Outcome| matches!(outcome, Outcome::Goto(to) if *to == table);
    let is_default = program.tables.iter().filter_map(|table| table.default.as_ref()).any(enters);
    let entries: Vec<&Rule> =
        program.rules.iter().filter(|rule| !rule.is_disabled && enters(&rule.outcome)).collect();
    if is_default || entries.is_empty() || entries.len() > MAX_GOTOS_TO_TABLE {
        return;
    }
    let conditions: Vec<_> =
        entries.iter().map(|entry| solver.builder.build_cond(&entry.condition, true)).collect();
    for id in &program.tables[table.index()].evaluation_order {
        let rule = &program.rules[id.index()];
        let Some(route) = facts.get(id).filter(|facts| !facts.is_never_true && !facts.is_always_true) else {
            continue;
        };
        if hidden.contains(id) || rule.is_disabled {
            continue;
        }
        solver.budget().begin_share();
        let excluded = conditions
            .iter()
            .all(|entry| solver.solve(&[(*entry, true), (route.true_cond, true)]).is_unsatisfiable());
        if excluded {
            let (name, table_name) = (&rule.name, &program.tables[table.index()].name);
            let message =
                message!("`{name}` can never be chosen: no `goto {table_name}` leads here where it holds");
            let mut diagnostic = Diagnostic::new(Code::RouteHidden, rule.condition.span, message)
                .here(message!("this never holds there"));
            for entry in &entries {
                diagnostic =
                    diagnostic.label(entry.condition.span, message!("the table is entered if this holds"));
            }
            let help = message!(
                "correct one of the conditions, or move the route to another table; if a program enters the table \
                directly, write `# rulec: allow W0213 reason`"
            );
            report.add_finding(diagnostic.help(help), None);
        }
        report.record_if_exhausted(*id);
    }
}

/// Returns a minimal set of earlier routes that together match every message that the route `id`
/// matches, so that this route is never selected. `None` if some message still selects the route,
/// or if the solver cannot decide. `route_facts` and `facts` are the results of the analysis of the
/// conditions of this route and of all routes. `positions` are the positions of the routes in the
/// evaluation order.
fn hiding_routes(
    solver: &mut MessageSolver<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    (id, route_facts): (RuleId, &ConditionFacts),
    (positions, facts): (&HashMap<RuleId, usize>, &HashMap<RuleId, ConditionFacts>),
) -> Option<Vec<RuleId>> {
    // No earlier route can hide the first one.
    positions.get(&id).filter(|position| **position > 0)?;
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
        match solver.solve(&hiding_goals((route_facts, facts), &hiding)?) {
            SolverAnswer::Yes(next) => message = next,
            SolverAnswer::Unknown => return None,
            SolverAnswer::Never(core) => {
                return minimal_hiding_routes(solver, (route_facts, facts), &core, &hiding);
            }
        }
    }
}

/// Returns earlier routes, at least one of which matches whenever the route `id` matches. Used if
/// no message is known for which the condition of this route is true. The reason is that the
/// condition reads more than the message, such as an intent. `None` if the solver finds no proof.
fn hiding_routes_without_message(
    solver: &mut MessageSolver<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    (id, route_facts): (RuleId, &ConditionFacts),
    facts: &HashMap<RuleId, ConditionFacts>,
) -> Option<Vec<RuleId>> {
    let program = subject.program;
    let order = &program.tables[table.index()].evaluation_order;
    // In a choice, the last branch that holds is chosen.
    if program.tables[table.index()].kind != TableKind::Routes || program.rules[id.index()].is_disabled {
        return None;
    }
    let may_hide = |other: &&RuleId| {
        let rule = &program.rules[other.index()];
        !rule.is_disabled
            && surely_chooses(program, &rule.outcome)
            && facts.get(*other).is_some_and(|facts| !facts.is_never_true)
    };
    let earlier = order.iter().take_while(|other| **other != id).filter(may_hide);
    let earlier: Vec<RuleId> = earlier.copied().take(MAX_EARLIER_ROUTES).collect();
    if earlier.is_empty() {
        return None;
    }
    match solver.solve(&hiding_goals((route_facts, facts), &earlier)?) {
        SolverAnswer::Never(core) => minimal_hiding_routes(solver, (route_facts, facts), &core, &earlier),
        _ => None,
    }
}

/// Returns the goals that a message satisfies if the route matches the message and none of the
/// routes `hiding_rules` matches it. `None` if `facts` lacks one of these routes.
fn hiding_goals(
    (route_facts, facts): (&ConditionFacts, &HashMap<RuleId, ConditionFacts>),
    hiding_rules: &[RuleId],
) -> Option<Vec<SolverGoal>> {
    let exclusions = hiding_rules.iter().map(|other| Some((facts.get(other)?.true_cond, false)));
    std::iter::once(Some((route_facts.true_cond, true))).chain(exclusions).collect()
}

/// Reduces routes that together hide a route to a minimal set. `conflicting_goal_indexes` contains
/// the indexes of the goals that contradict each other; the first goal belongs to the hidden route.
/// `None` if `conflicting_goal_indexes` contains the goal of no other route.
fn minimal_hiding_routes(
    solver: &mut MessageSolver<'_>,
    facts: (&ConditionFacts, &HashMap<RuleId, ConditionFacts>),
    conflicting_goal_indexes: &[usize],
    hiding_rules: &[RuleId],
) -> Option<Vec<RuleId>> {
    let mut hiding: Vec<RuleId> = conflicting_goal_indexes
        .iter()
        .filter_map(|index| hiding_rules.get(index.checked_sub(1)?).copied())
        .collect();
    let mut index = 0;
    while hiding.len() > 1 && index < hiding.len() {
        let removed_route = hiding.remove(index);
        if !solver.solve(&hiding_goals(facts, &hiding)?).is_unsatisfiable() {
            hiding.insert(index, removed_route);
            index += 1;
        }
    }
    Some(hiding).filter(|hiding| !hiding.is_empty())
}

/// True if only one route hides the route, and the conditions of both routes hold for the same
/// messages. No other order or priority of the routes then lets both be chosen.
fn matches_same_messages(
    solver: &mut MessageSolver<'_>,
    (route_facts, facts): (&ConditionFacts, &HashMap<RuleId, ConditionFacts>),
    hiding_rules: &[RuleId],
) -> bool {
    let [one] = hiding_rules else { return false };
    let Some(other) = facts.get(one) else {
        broken_invariant!("the condition of a hiding route was analysed");
        return false;
    };
    let goals = [(other.true_cond, true), (route_facts.true_cond, false)];
    other.true_cond == route_facts.true_cond || solver.solve(&goals).is_unsatisfiable()
}

/// Reports a route that the routes in `hiding_rules` hide. `is_same` is true if only one route
/// hides the reported route, and the conditions of both hold for the same messages.
fn report_hidden_route(
    report: &mut AnalysisReport<'_>,
    hidden_rule: RuleId,
    hiding_rules: &[RuleId],
    (facts, is_same): (&HashMap<RuleId, ConditionFacts>, bool),
) {
    // The analysis already reports a condition that is always true, so the hidden route is not
    // reported.
    if hiding_rules.iter().any(|other| facts.get(other).is_some_and(|facts| facts.is_always_true)) {
        return;
    }
    let program = report.program;
    let rule = &program.rules[hidden_rule.index()];
    let kind = program.tables[rule.table.index()].kind;
    let names: Vec<String> =
        hiding_rules.iter().map(|id| format!("`{}`", program.rules[id.index()].name)).collect();
    let takes = match names.as_slice() {
        [one] if is_same => message!("its condition holds for the same messages as the condition of {one}"),
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
    for other in hiding_rules.iter().take(6) {
        diagnostic = diagnostic.label(
            program.rules[other.index()].condition.span,
            message!("this is tried first and holds as well"),
        );
    }
    let help = match kind {
        TableKind::Choice if is_same => {
            message!("change one of the two conditions, or remove one of the branches")
        }
        _ if is_same => message!("change one of the two conditions, or remove one of the routes"),
        TableKind::Choice => {
            message!("the last branch that holds is chosen: move it below those, or narrow their conditions")
        }
        TableKind::Routes
            if hiding_rules.iter().any(|other| program.rules[other.index()].priority > rule.priority) =>
        {
            let greatest = hiding_rules.iter().map(|other| program.rules[other.index()].priority).max();
            message!(
                "the greatest priority is tried first: give `{}` a priority above {}, or narrow the conditions \
                of the others",
                rule.name,
                greatest.unwrap_or_default()
            )
        }
        TableKind::Routes => {
            message!("move it before those routes, give it a higher priority, or narrow their conditions")
        }
        _ => message!("move it before those, or narrow their conditions"),
    };
    report.add_finding(diagnostic.help(help), None);
}
