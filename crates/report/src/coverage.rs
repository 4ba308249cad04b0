//! Coverage: which routes of a rule set were chosen, which conditions were true and false, and why
//! other routes and conditions were never reached. The counts come from the reference evaluator,
//! which evaluates conditions in the order in which the author wrote them. The other engines may
//! evaluate fewer conditions. `test --coverage`, `doctor` and the studio show the coverage.

mod conditions;
mod test_runs;

use conditions::{ConditionIndex, ConditionOwner};
use rulec::payload::Judgement;
use rulec::{Code, Explanation, FileId, Finding, Message, Rules, Span, TableKind};
use rulec_base::diag::comma_list;
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_eval::trace::{ConditionCoverage, Mark, RouteTrace, TableTrace};
use rulec_sema::hir::{Outcome, Payload, Program, TableId, Trigger};
use rulec_syntax::ast::{Statement, StatementKind};
use rulec_syntax::parse::parse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Name of the implicit table that contains the routes outside any `table` statement.
const MAIN_TABLE_NAME: &str = "routes";
/// Maximum number of characters of a condition's text that are shown.
const MAX_SHOWN_CHARS: usize = 80;
/// Maximum number of route names that are listed in the reason why a route was never chosen.
const MAX_NAMED_ROUTES: usize = 3;

/// How often the decisions of a rule set evaluated and chose each of its rules and conditions.
pub struct Coverage<'r> {
    rules: &'r Rules,
    /// Number of decisions and validated payloads that were counted.
    decision_count: usize,
    route_counts: Vec<RouteCounts>,
    table_counts: Vec<TableCounts>,
    conditions: ConditionIndex,
    /// Number of decisions in which the classifier ranked the intent flows (flows that are chosen
    /// by the meaning of a text).
    intent_decision_count: usize,
    /// How often each intent flow (chosen by the meaning of a text) was chosen, by flow name.
    chosen_flow_counts: BTreeMap<String, usize>,
    /// Number of validated payloads, by payload kind (the name of a `payload` statement).
    validated_by_kind: BTreeMap<String, usize>,
    /// Number of payloads that violated a rule, by payload kind (name of a `payload` statement) and
    /// rule name.
    violation_counts: BTreeMap<(String, String), usize>,
}

#[derive(Clone, Default)]
struct RouteCounts {
    /// How often the route's condition was evaluated.
    tried_count: usize,
    chosen_count: usize,
    /// Counts the decisions in which an earlier route of the table was chosen, so that this route
    /// was not tried. The key is the name of the chosen route.
    earlier_chosen_counts: BTreeMap<String, usize>,
}

#[derive(Clone, Default)]
struct TableCounts {
    search_count: usize,
    /// How often the table's default was taken, because no route of the table matched.
    default_count: usize,
}

/// A statement (such as a route) or a condition, with its coverage counts.
pub struct CoveredItem {
    /// Kind of the item: `route`, `branch`, `case`, `pattern`, `flow`, `default`, `rule` or
    /// `condition`.
    pub item_kind: &'static str,
    /// Name of the statement, or source text of the condition.
    pub name: String,
    /// Source span of the statement or condition.
    pub span: Span,
    /// How often the statement or condition was evaluated.
    pub tried_count: usize,
    /// How often the statement was chosen or the condition was true. For a payload rule, how often
    /// the rule was violated.
    pub yes_count: usize,
    /// For a statement, how often it was evaluated but not chosen. For a condition, how often it
    /// was false, and not unknown. For a payload rule, how often it was not violated.
    pub no_count: usize,
    /// Which part of the coverage is missing, and why; `None` if the statement or condition is
    /// fully covered.
    pub gap: Option<Message>,
}

impl<'r> Coverage<'r> {
    /// Creates coverage of a rule set in which every count is zero.
    pub fn new(rules: &'r Rules) -> Coverage<'r> {
        let program = rules.program();
        Coverage {
            rules,
            decision_count: 0,
            route_counts: vec![RouteCounts::default(); program.rules.len()],
            table_counts: vec![TableCounts::default(); program.tables.len()],
            conditions: ConditionIndex::new(program, &parse_statements(rules)),
            intent_decision_count: 0,
            chosen_flow_counts: BTreeMap::new(),
            validated_by_kind: BTreeMap::new(),
            violation_counts: BTreeMap::new(),
        }
    }

    /// Returns the rule set whose coverage is counted.
    pub fn rules(&self) -> &'r Rules {
        self.rules
    }

    /// Returns the number of decisions and validated payloads that were counted.
    pub fn decision_count(&self) -> usize {
        self.decision_count
    }

    /// Returns the counts of conditions, so that the caller can add the condition results of a
    /// decision or payload.
    pub fn condition_coverage_mut(&mut self) -> &mut ConditionCoverage {
        &mut self.conditions.coverage
    }

    /// Counts an explained decision: the searched tables, the tried routes and the chosen flow.
    /// Does not count conditions: the caller counts them through `condition_coverage_mut`.
    pub fn add_decision(&mut self, explanation: &Explanation) {
        self.decision_count += 1;
        self.add_table_trace(&explanation.trace);
        if let Some(intents) = &explanation.intents {
            self.intent_decision_count += 1;
            for flow in intents.ranked.iter().filter(|flow| flow.chosen) {
                *self.chosen_flow_counts.entry(flow.name.clone()).or_default() += 1;
            }
        }
    }

    /// Counts one validated payload of the kind `kind`, and each rule that the payload violates.
    /// Does not count conditions: the caller counts them through `condition_coverage_mut`.
    pub fn add_judgement(&mut self, kind: &str, judgement: &Judgement) {
        self.decision_count += 1;
        *self.validated_by_kind.entry(kind.to_owned()).or_default() += 1;
        let violations =
            judgement.violations().iter().chain(judgement.warnings()).map(|violation| &*violation.rule);
        for rule in violations.collect::<BTreeSet<&str>>() {
            *self.violation_counts.entry((kind.to_owned(), rule.to_owned())).or_default() += 1;
        }
    }

    /// Counts a decision from a log line that has no message. Conditions cannot be counted without
    /// the message. `tables` are the names of the searched tables, in order. `route` is the chosen
    /// route, or `default`; `None` if nothing was chosen. `pattern` is the matching pattern of a
    /// chosen flow. If the pattern is unknown (`None`), the first pattern of the flow counts as
    /// chosen.
    pub fn add_logged_outcome(&mut self, tables: &[&str], route: Option<&str>, pattern: Option<&str>) {
        self.decision_count += 1;
        let program = self.rules.program();
        let ids: Vec<TableId> = tables.iter().filter_map(|name| program.table_named(name)).collect();
        for id in &ids {
            self.table_counts[id.index()].search_count += 1;
        }
        let (Some(table), Some(route)) = (ids.last(), route) else { return };
        if program
            .flows
            .iter()
            .any(|flow| *flow.name == *route && matches!(flow.trigger, Trigger::Intent { .. }))
        {
            self.intent_decision_count += 1;
            *self.chosen_flow_counts.entry(route.to_owned()).or_default() += 1;
        }
        if route == "default" {
            self.table_counts[table.index()].default_count += 1;
        }
        let routes = program.rules.iter().enumerate();
        let mut chosen = routes.filter(|(_, rule)| rule.table == *table && *rule.name == *route).peekable();
        let first = chosen.peek().map(|(index, _)| *index);
        let matching = chosen.find(|(_, rule)| match (&rule.outcome, pattern) {
            (Outcome::Flow { pattern: written, .. }, Some(pattern)) => **written == *pattern,
            _ => false,
        });
        if let Some(index) = matching.map(|(index, _)| index).or(first) {
            self.route_counts[index].chosen_count += 1;
            self.route_counts[index].tried_count += 1;
        }
    }

    fn add_table_trace(&mut self, trace: &TableTrace) {
        let program = self.rules.program();
        let Some(id) = program.table_named(&trace.table).filter(|_| !trace.searched_before) else { return };
        let table_counts = &mut self.table_counts[id.index()];
        table_counts.search_count += 1;
        table_counts.default_count +=
            usize::from(trace.default.as_ref().is_some_and(|default| default.result == Mark::True));
        let enabled = program.tables[id.index()]
            .evaluation_order
            .iter()
            .filter(|id| !program.rules[id.index()].is_disabled);
        let mut tried_routes = trace.routes.iter();
        for rule in enabled {
            let route_counts = &mut self.route_counts[rule.index()];
            match (tried_routes.next(), trace.routes.last()) {
                (Some(route), _) => {
                    route_counts.tried_count += 1;
                    route_counts.chosen_count += usize::from(route.chosen);
                    self.add_route_trace(route);
                }
                (None, Some(last)) => {
                    *route_counts.earlier_chosen_counts.entry(last.route.clone()).or_default() += 1
                }
                (None, None) => {}
            }
        }
        if let Some(inner) = trace.default.as_ref().and_then(|default| default.table.as_ref()) {
            self.add_table_trace(inner);
        }
    }

    fn add_route_trace(&mut self, route: &RouteTrace) {
        if let Some(inner) = &route.table {
            self.add_table_trace(inner);
        }
    }

    /// Returns every statement that can be chosen and every payload rule, with their counts, in
    /// source order. `findings` help to explain why a statement was never chosen.
    pub fn route_items(&self, findings: &[Finding]) -> Vec<CoveredItem> {
        let program = self.rules.program();
        let (mut items, default_spans) = (Vec::new(), default_spans_by_table(self.rules));
        for (index, rule) in program.rules.iter().enumerate() {
            let table = &program.tables[rule.table.index()];
            let what = match table.kind {
                TableKind::Routes => "route",
                TableKind::Choice => "branch",
                TableKind::Flows => "pattern",
                TableKind::Router => "case",
                TableKind::Requirements => continue,
            };
            let (route_counts, table_counts) =
                (&self.route_counts[index], &self.table_counts[rule.table.index()]);
            let gap = match (route_counts.chosen_count, rule.is_disabled) {
                (1.., _) => None,
                (0, true) => Some(message!("never chosen: it is disabled")),
                (0, false) => Some(message!(
                    "never chosen: {}",
                    self.reason_not_chosen(rule.span, route_counts, table_counts, findings)
                )),
            };
            let name = qualified_name(program, rule.table, &rule.name);
            let (tried, yes) = (route_counts.tried_count, route_counts.chosen_count);
            items.push(CoveredItem {
                item_kind: what,
                name,
                span: rule.span,
                tried_count: tried,
                yes_count: yes,
                no_count: tried.saturating_sub(yes),
                gap,
            });
        }
        for (index, table) in program.tables.iter().enumerate().filter(|(_, table)| table.default.is_some()) {
            let table_counts = &self.table_counts[index];
            let id = TableId(index as u32);
            let Some(span) = default_spans.get(&*table.name).copied().or(table.span) else { continue };
            let gap = match (table_counts.default_count, table_counts.search_count) {
                (0, 0) => Some(message!("never taken: its table was never entered")),
                (0, _) => Some(message!("never taken: a route was chosen each time")),
                _ => None,
            };
            let (tried, yes) = (table_counts.search_count, table_counts.default_count);
            let name = qualified_name(program, id, "default");
            items.push(CoveredItem {
                item_kind: "default",
                name,
                span,
                tried_count: tried,
                yes_count: yes,
                no_count: tried - yes,
                gap,
            });
        }
        items.extend(self.intent_flow_items());
        items.extend(self.requirement_items());
        items.sort_by_key(|item| item.span);
        items
    }

    /// Returns the reason why a route was never chosen, for the author of the rules.
    fn reason_not_chosen(
        &self,
        span: Span,
        route_counts: &RouteCounts,
        table_counts: &TableCounts,
        findings: &[Finding],
    ) -> Message {
        let hidden_finding = findings.iter().map(|finding| &finding.diagnostic).find(|diagnostic| {
            let is_about = diagnostic.span().is_some_and(|finding_span| {
                finding_span.file == span.file
                    && finding_span.start >= span.start
                    && finding_span.end <= span.end
            });
            is_about && matches!(diagnostic.code, Code::RouteHidden | Code::NeverMatches)
        });
        if let Some(hidden_finding) = hidden_finding {
            return message!("{} ({})", hidden_finding.message, hidden_finding.code);
        }
        match (table_counts.search_count, route_counts.tried_count) {
            (0, _) => message!("its table was never entered"),
            (_, 0) => {
                let mut blocking_routes: Vec<(&String, &usize)> =
                    route_counts.earlier_chosen_counts.iter().collect();
                blocking_routes.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
                let names = comma_list(
                    blocking_routes.iter().take(MAX_NAMED_ROUTES).map(|(name, _)| format!("`{name}`")),
                );
                let names = if blocking_routes.len() > MAX_NAMED_ROUTES {
                    message!("{names} and others")
                } else {
                    names
                };
                message!("never tried, because {names} matched first each time")
            }
            (_, tried) => message!("its condition never held (evaluated {})", times_text(tried)),
        }
    }

    /// Returns the intent flows (chosen by the meaning of a text, not by keywords), with their
    /// counts.
    fn intent_flow_items(&self) -> impl Iterator<Item = CoveredItem> {
        let flows = self.rules.program().flows.iter();
        flows.filter(|flow| matches!(flow.trigger, Trigger::Intent { .. })).map(|flow| {
            let (tried, yes) = (
                self.intent_decision_count,
                self.chosen_flow_counts.get(&*flow.name).copied().unwrap_or_default(),
            );
            let gap = match (tried, yes) {
                (0, _) => Some(message!("never chosen: no message reached the intent flows")),
                (_, 0) => {
                    Some(message!("never chosen: never the nearest intent, evaluated {}", times_text(tried)))
                }
                _ => None,
            };
            CoveredItem {
                item_kind: "flow",
                name: flow.name.to_string(),
                span: flow.span,
                tried_count: tried,
                yes_count: yes,
                no_count: tried - yes,
                gap,
            }
        })
    }

    fn judged_payload_count(&self, payload: &Payload) -> usize {
        self.validated_by_kind.get(&*payload.name).copied().unwrap_or_default()
    }

    /// Returns the rules of all payload kinds (`payload` statements), with their counts.
    fn requirement_items(&self) -> Vec<CoveredItem> {
        let program = self.rules.program();
        let mut items = Vec::new();
        for payload in &program.payloads {
            let judged_count = self.judged_payload_count(payload);
            for rule in payload.rule_names(program) {
                let tables = payload.block.tables();
                let payload_rule =
                    program.rules.iter().find(|one| *one.name == *rule && tables.contains(&one.table));
                let Some(span) = payload_rule.map(|rule| rule.span) else { continue };
                let violations = self
                    .violation_counts
                    .get(&(payload.name.to_string(), rule.to_owned()))
                    .copied()
                    .unwrap_or_default();
                let gap = match (judged_count, violations) {
                    (0, _) => Some(message!("never evaluated: no `{}` was judged", payload.name)),
                    (_, 0) => Some(message!("never broken")),
                    (judged_count, violations) if judged_count == violations => {
                        Some(message!("always broken"))
                    }
                    _ => None,
                };
                let (name, no) = (rule.to_owned(), judged_count - violations);
                items.push(CoveredItem {
                    item_kind: "rule",
                    name,
                    span,
                    tried_count: judged_count,
                    yes_count: violations,
                    no_count: no,
                    gap,
                });
            }
        }
        items
    }

    /// Returns all conditions with their counts, in source order.
    pub fn condition_items(&self) -> Vec<CoveredItem> {
        let program = self.rules.program();
        let reach_of_owner = |owner: ConditionOwner| match owner {
            ConditionOwner::Rule(id) => {
                (self.route_counts[id.index()].tried_count, message!("its route was never tried"))
            }
            ConditionOwner::OutcomeOf(id) => {
                (self.route_counts[id.index()].chosen_count, message!("its route was never chosen"))
            }
            ConditionOwner::Default(id) => {
                (self.table_counts[id.index()].default_count, message!("its default was never chosen"))
            }
            ConditionOwner::Payload(index) => {
                let payload = &program.payloads[index];
                (self.judged_payload_count(payload), message!("no `{}` was judged", payload.name))
            }
        };
        let covered = self.conditions.covered_conditions(self.rules.sources(), reach_of_owner);
        covered
            .map(|(span, name, counts, gap)| CoveredItem {
                item_kind: "condition",
                name,
                span,
                tried_count: counts.true_count + counts.false_count + counts.unknown_count,
                yes_count: counts.true_count,
                no_count: counts.false_count,
                gap,
            })
            .collect()
    }
}

/// Returns `TABLE.ROUTE`, or only the name of the route if it is outside any `table` statement.
fn qualified_name(program: &Program, table: TableId, name: &str) -> String {
    match table.0 {
        0 => name.to_owned(),
        _ => format!("{}.{name}", program.tables[table.index()].name),
    }
}

/// Returns the source spans of the `default` statements, by table name.
pub fn default_spans_by_table(rules: &Rules) -> HashMap<String, Span> {
    let mut spans = HashMap::new();
    for statement in parse_statements(rules) {
        match &statement.kind {
            // The main table ignores the default of an imported file; only the tables of such a
            // file are used.
            StatementKind::Default { .. } if statement.span.file == FileId(0) => {
                spans.insert(MAIN_TABLE_NAME.to_owned(), statement.span);
            }
            StatementKind::Table { name, statements } => {
                let default =
                    statements.iter().find(|inner| matches!(inner.kind, StatementKind::Default { .. }));
                spans.extend(default.map(|default| (name.node.clone(), default.span)));
            }
            _ => {}
        }
    }
    spans
}

/// Parses all files of the rule set and returns their statements.
fn parse_statements(rules: &Rules) -> Vec<Statement> {
    let files = rules.sources().iter();
    files.flat_map(|(id, file)| parse(ThreadLimit::One, id, &file.text).statements).collect()
}

/// Joins a text to one line, and truncates the line to [`MAX_SHOWN_CHARS`] characters.
fn to_shown_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns "once" or the number of times, as a localized message.
pub fn times_text(count: usize) -> Message {
    if count == 1 { message!("once") } else { message!("{count} times") }
}
