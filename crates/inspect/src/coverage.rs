//! Coverage: which routes of a rule set were chosen by some decisions, which predicates they saw true and false, and
//! why the others were never reached. It is gathered from explanations, so it counts what the reference evaluator asks
//! in the author's order; the engines may ask less. `test --coverage`, `doctor` and the studio show it.

use rulec::flow::FlowMatcher;
use rulec::internals::sema::hir::{Cond, CondKind, Expect, Program, RuleId, TableId, Term};
use rulec::internals::syntax::ast::StatementKind;
use rulec::internals::syntax::parse::parse;
use rulec::internals::threads::Threads;
use rulec::internals::trace::{Mark, NodeKind, Note, RouteTrace, TableTrace, TraceNode};
use rulec::payload::{Judge, Judgement};
use rulec::{Code, Explanation, Finding, Rules, Span, TableKind};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The name of the routes outside any table.
const MAIN: &str = "routes";
/// Characters of a condition that are shown.
const LONG: usize = 80;
/// Most names that are listed as the reason of one gap.
const NAMED: usize = 3;

/// The counts of the decisions by one rule set.
pub struct Coverage<'r> {
    rules: &'r Rules,
    /// Decisions and judgements that were counted.
    decisions: usize,
    routes: Vec<Route>,
    tables: Vec<Searched>,
    /// By their places in the text; a `let` or `def` that several routes use is one.
    predicates: BTreeMap<Place, Predicate>,
    /// The payloads of each kind that were judged, and the rules they broke.
    judged: BTreeMap<String, usize>,
    broken: BTreeMap<(String, String), usize>,
}

/// File, line and column.
type Place = (String, usize, usize);

#[derive(Clone, Default)]
struct Route {
    tried: usize,
    chosen: usize,
    /// The times it was not tried, by the route that was chosen before.
    before: BTreeMap<String, usize>,
}

#[derive(Clone, Default)]
struct Searched {
    times: usize,
    /// The times that the default was taken.
    default: usize,
}

struct Predicate {
    span: Span,
    /// The rules whose conditions reach it.
    rules: BTreeSet<RuleId>,
    yes: usize,
    no: usize,
    unknown: usize,
    /// The times that a choice left it out, for want of a value.
    left_out: usize,
}

/// A route or the like, or a predicate, with what was seen of it.
pub struct Item {
    /// `route`, `branch`, `case`, `pattern`, `default`, `rule` or `condition`.
    pub what: &'static str,
    /// Its name; of a condition the author's text.
    pub name: String,
    /// Its place.
    pub span: Span,
    /// The times it was tried.
    pub tried: usize,
    /// The times it was chosen, or held; of a payload's rule, those it was broken.
    pub yes: usize,
    /// The times it was tried and did not.
    pub no: usize,
    /// The gap, and the reason; `None` where all was seen.
    pub gap: Option<String>,
}

impl<'r> Coverage<'r> {
    /// Nothing has been decided yet.
    pub fn new(rules: &'r Rules) -> Coverage<'r> {
        let program = rules.program();
        let mut coverage = Coverage {
            rules,
            decisions: 0,
            routes: vec![Route::default(); program.rules.len()],
            tables: vec![Searched::default(); program.tables.len()],
            predicates: BTreeMap::new(),
            judged: BTreeMap::new(),
            broken: BTreeMap::new(),
        };
        for (at, rule) in program.rules.iter().enumerate() {
            let kind = program.tables[rule.table.index()].kind;
            // A pattern is its own condition; what is asked of a payload is told by its rules.
            if !rule.disabled && !matches!(kind, TableKind::Flows | TableKind::Requirements) {
                coverage.collect(program, RuleId(at as u32), &rule.condition, &mut BTreeSet::new());
            }
        }
        coverage
    }

    /// The rules that decide.
    pub fn rules(&self) -> &'r Rules {
        self.rules
    }

    /// The number of decisions and judgements that were counted.
    pub fn decisions(&self) -> usize {
        self.decisions
    }

    /// Finds the predicates of a condition.
    fn collect(&mut self, program: &Program, rule: RuleId, cond: &Cond, lets: &mut BTreeSet<u32>) {
        match &cond.kind {
            CondKind::Const(_) => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) | CondKind::Call(_, inner) => {
                self.collect(program, rule, inner, lets);
            }
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter().for_each(|part| self.collect(program, rule, part, lets));
            }
            CondKind::Branch { conditions, .. } => {
                conditions.iter().for_each(|part| self.collect(program, rule, &part.cond, lets));
            }
            CondKind::Test(_) => self.add(rule, cond.span),
            CondKind::Quantifier { body, .. } => {
                self.add(rule, cond.span);
                self.collect(program, rule, body, lets);
            }
            CondKind::Let(id) => match program.let_body(*id) {
                Term::Expr(_) => self.add(rule, cond.span),
                Term::Cond(body) if lets.insert(id.0) => self.collect(program, rule, body, lets),
                Term::Cond(_) => {}
            },
        }
    }

    fn add(&mut self, rule: RuleId, span: Span) {
        let Some(place) = self.place(span) else { return };
        let none = Predicate { span, rules: BTreeSet::new(), yes: 0, no: 0, unknown: 0, left_out: 0 };
        self.predicates.entry(place).or_insert(none).rules.insert(rule);
    }

    fn place(&self, span: Span) -> Option<Place> {
        let file = self.rules.sources().get(span.file)?;
        let position = file.position(span.start);
        Some((file.name.clone(), position.line, position.column))
    }

    /// Counts a decision.
    pub fn see(&mut self, explanation: &Explanation) {
        self.decisions += 1;
        self.table(&explanation.trace);
    }

    /// Counts what a payload was found to be.
    pub fn judge(&mut self, kind: &str, judgement: &Judgement) {
        self.decisions += 1;
        *self.judged.entry(kind.to_owned()).or_default() += 1;
        let broken = judgement.violations().iter().chain(judgement.warnings()).map(|broken| &*broken.rule);
        for rule in broken.collect::<BTreeSet<&str>>() {
            *self.broken.entry((kind.to_owned(), rule.to_owned())).or_default() += 1;
        }
    }

    /// Counts a decision of which only the outcome is known: the entry, the tables walked through, and the route.
    pub fn outcome(&mut self, tables: &[&str], route: Option<&str>) {
        self.decisions += 1;
        let program = self.rules.program();
        let ids: Vec<TableId> = tables.iter().filter_map(|name| program.table_named(name)).collect();
        for id in &ids {
            self.tables[id.index()].times += 1;
        }
        let (Some(table), Some(route)) = (ids.last(), route) else { return };
        if route == "default" {
            self.tables[table.index()].default += 1;
        }
        let named = |(_, rule): &(usize, &rulec::internals::sema::hir::Rule)| {
            rule.table == *table && *rule.name == *route
        };
        if let Some((at, _)) = program.rules.iter().enumerate().find(named) {
            self.routes[at].chosen += 1;
            self.routes[at].tried += 1;
        }
    }

    fn table(&mut self, trace: &TableTrace) {
        let program = self.rules.program();
        let Some(id) = program.table_named(&trace.table).filter(|_| !trace.searched_before) else { return };
        let searched = &mut self.tables[id.index()];
        searched.times += 1;
        searched.default +=
            usize::from(trace.default.as_ref().is_some_and(|default| default.result == Mark::True));
        let enabled =
            program.tables[id.index()].order.iter().filter(|id| !program.rules[id.index()].disabled);
        let mut tried = trace.routes.iter();
        for rule in enabled {
            let count = &mut self.routes[rule.index()];
            match (tried.next(), trace.routes.last()) {
                (Some(route), _) => {
                    count.tried += 1;
                    count.chosen += usize::from(route.chosen);
                    self.route(route);
                }
                (None, Some(last)) => *count.before.entry(last.route.clone()).or_default() += 1,
                (None, None) => {}
            }
        }
        if let Some(inner) = trace.default.as_ref().and_then(|default| default.table.as_ref()) {
            self.table(inner);
        }
    }

    fn route(&mut self, route: &RouteTrace) {
        self.node(&route.when);
        if let Some(inner) = &route.table {
            self.table(inner);
        }
    }

    fn node(&mut self, node: &TraceNode) {
        // `a and b` begins where `a` does.
        let is_leaf = matches!(node.kind, NodeKind::Test | NodeKind::Any | NodeKind::All | NodeKind::Let);
        if let Some(at) = node.place.as_ref().filter(|_| is_leaf)
            && let Some(seen) = self.predicates.get_mut(&(at.file.clone(), at.line, at.column))
        {
            match node.result {
                Mark::True => seen.yes += 1,
                Mark::False => seen.no += 1,
                Mark::Unknown => seen.unknown += 1,
                Mark::Skipped => seen.left_out += usize::from(node.note == Some(Note::LeftOut)),
            }
        }
        node.children.iter().for_each(|child| self.node(child));
        for element in node.elements.iter().flat_map(|elements| &elements.shown) {
            self.node(&element.when);
        }
    }

    /// Everything that can be chosen, with what was seen of it, in the order of the text.
    pub fn routes(&self, findings: &[Finding]) -> Vec<Item> {
        let program = self.rules.program();
        let (mut items, places) = (Vec::new(), defaults(self.rules));
        for (at, rule) in program.rules.iter().enumerate() {
            let table = &program.tables[rule.table.index()];
            let what = match table.kind {
                TableKind::Routes => "route",
                TableKind::Choice => "branch",
                TableKind::Flows => "pattern",
                TableKind::Router => "case",
                TableKind::Requirements => continue,
            };
            let (seen, searched) = (&self.routes[at], &self.tables[rule.table.index()]);
            let gap = match (seen.chosen, rule.disabled) {
                (1.., _) => None,
                (0, true) => Some("never chosen: it is disabled".to_owned()),
                (0, false) => {
                    Some(format!("never chosen: {}", self.why_not(rule.span, seen, searched, findings)))
                }
            };
            let name = named(program, rule.table, &rule.name);
            let (tried, yes) = (seen.tried, seen.chosen);
            items.push(Item { what, name, span: rule.span, tried, yes, no: tried.saturating_sub(yes), gap });
        }
        for (at, table) in program.tables.iter().enumerate().filter(|(_, table)| table.default.is_some()) {
            let searched = &self.tables[at];
            let id = TableId(at as u32);
            let Some(span) = places.get(&*table.name).copied().or(table.span) else { continue };
            let gap = match (searched.default, searched.times) {
                (0, 0) => Some("never taken: its table was never entered".to_owned()),
                (0, _) => Some("never taken: a route was chosen each time".to_owned()),
                _ => None,
            };
            let (tried, yes) = (searched.times, searched.default);
            let name = named(program, id, "default");
            items.push(Item { what: "default", name, span, tried, yes, no: tried - yes, gap });
        }
        items.extend(self.requirements());
        items.sort_by_key(|item| item.span);
        items
    }

    /// The reason why a route was never chosen.
    fn why_not(&self, span: Span, seen: &Route, searched: &Searched, findings: &[Finding]) -> String {
        let hidden = findings.iter().map(|finding| &finding.diagnostic).find(|diagnostic| {
            let is_about = diagnostic
                .span()
                .is_some_and(|at| at.file == span.file && at.start >= span.start && at.end <= span.end);
            is_about && matches!(diagnostic.code, Code::RouteHidden | Code::NeverMatches)
        });
        if let Some(hidden) = hidden {
            return format!("{} ({})", hidden.message, hidden.code);
        }
        match (searched.times, seen.tried) {
            (0, _) => "its table was never entered".to_owned(),
            (_, 0) => {
                let mut before: Vec<(&String, &usize)> = seen.before.iter().collect();
                before.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
                let more = if before.len() > NAMED { " and others" } else { "" };
                let names: Vec<String> =
                    before.iter().take(NAMED).map(|(name, _)| format!("`{name}`")).collect();
                format!("never tried, hidden by {}{more}, chosen before it each time", names.join(", "))
            }
            (_, tried) => format!("its condition did not hold, asked {}", times(tried)),
        }
    }

    /// The rules of the payload kinds.
    fn requirements(&self) -> Vec<Item> {
        let program = self.rules.program();
        let mut items = Vec::new();
        for payload in &program.payloads {
            let judged = self.judged.get(&*payload.name).copied().unwrap_or_default();
            for rule in payload.rules(program) {
                let tables = payload.block.tables();
                let of_payload =
                    program.rules.iter().find(|one| *one.name == *rule && tables.contains(&one.table));
                let Some(span) = of_payload.map(|rule| rule.span) else { continue };
                let broken = self
                    .broken
                    .get(&(payload.name.to_string(), rule.to_owned()))
                    .copied()
                    .unwrap_or_default();
                let gap = match (judged, broken) {
                    (0, _) => Some(format!("never asked: no `{}` was judged", payload.name)),
                    (_, 0) => Some("never broken".to_owned()),
                    (judged, broken) if judged == broken => Some("never kept".to_owned()),
                    _ => None,
                };
                let (name, no) = (rule.to_owned(), judged - broken);
                items.push(Item { what: "rule", name, span, tried: judged, yes: broken, no, gap });
            }
        }
        items
    }

    /// The predicates of conditions with what was seen of them, in the order of the text.
    pub fn predicates(&self) -> Vec<Item> {
        let mut items: Vec<Item> = self
            .predicates
            .values()
            .map(|seen| Item {
                what: "condition",
                name: one_line(self.rules.sources().slice(seen.span)),
                span: seen.span,
                tried: seen.yes + seen.no + seen.unknown,
                yes: seen.yes,
                no: seen.no,
                gap: self.gap(seen),
            })
            .collect();
        items.sort_by_key(|item| item.span);
        items
    }

    fn gap(&self, seen: &Predicate) -> Option<String> {
        let unknown = match seen.unknown {
            0 => String::new(),
            count => format!("; unknown {}, for want of a value", times(count)),
        };
        match (seen.yes, seen.no) {
            (1.., 1..) => None,
            (1.., 0) => Some(format!("never false{unknown}")),
            (0, 1..) => Some(format!("never true{unknown}")),
            (0, 0) if seen.unknown > 0 => {
                Some(format!("always unknown, for want of a value: {}", times(seen.unknown)))
            }
            (0, 0) if seen.left_out > 0 => {
                Some(format!("never reached: left out for want of a value, {}", times(seen.left_out)))
            }
            (0, 0) => {
                let tried = seen.rules.iter().map(|rule| self.routes[rule.index()].tried).sum();
                Some(match tried {
                    0 => "never reached: its route was never tried".to_owned(),
                    tried => {
                        format!("never reached: short-circuited by what stands before it, {}", times(tried))
                    }
                })
            }
        }
    }
}

impl<'r> Coverage<'r> {
    /// The coverage by the tests of a rule set, those whose names are wanted.
    pub fn of_tests(rules: &'r Rules, wanted: impl Fn(&str) -> bool) -> Coverage<'r> {
        let (program, mut coverage) = (rules.program(), Coverage::new(rules));
        let matcher = program.has_intents().then(|| FlowMatcher::offline(rules).ok()).flatten();
        for test in program.tests.iter().filter(|test| wanted(&test.name)) {
            if let Expect::Judgement { kind, .. } = &test.expect {
                if let Ok(judgement) = judged(rules, kind, &test.message) {
                    coverage.judge(kind, &judgement);
                }
                continue;
            }
            let table = &program.tables[test.entry.index()];
            let Ok(entry) = rules.entry_of_kind(&table.name, table.kind) else { continue };
            let matcher = matcher.as_ref().filter(|_| table.kind == TableKind::Flows);
            let explanation = matcher.and_then(|matcher| matcher.explain(&test.message, true));
            coverage.see(&explanation.unwrap_or_else(|| entry.explain(&test.message, true)));
        }
        coverage
    }
}

/// The judgement of the payload that a test gives.
fn judged(rules: &Rules, kind: &str, message: &Json) -> Result<Judgement, String> {
    let mut judge = Judge::new(rules, kind).map_err(|error| error.to_string())?;
    for (name, value) in message.as_object().into_iter().flatten().filter(|(name, _)| *name != "payload") {
        judge = judge.input(name, value.clone()).map_err(|error| error.to_string())?;
    }
    Ok(judge.judge(message.get("payload").unwrap_or(&Json::Null)))
}

/// `TABLE.ROUTE`, or the route alone outside any table.
fn named(program: &Program, table: TableId, name: &str) -> String {
    match table.0 {
        0 => name.to_owned(),
        _ => format!("{}.{name}", program.tables[table.index()].name),
    }
}

/// The places of the defaults, by the name of their table.
pub fn defaults(rules: &Rules) -> HashMap<String, Span> {
    let mut places = HashMap::new();
    for (at, (id, file)) in rules.sources().iter().enumerate() {
        for statement in parse(Threads::One, id, &file.text).statements {
            match &statement.kind {
                // Of an imported file only the tables count.
                StatementKind::Default { .. } if at == 0 => {
                    places.insert(MAIN.to_owned(), statement.span);
                }
                StatementKind::Table { name, statements } => {
                    let default =
                        statements.iter().find(|inner| matches!(inner.kind, StatementKind::Default { .. }));
                    places.extend(default.map(|default| (name.node.clone(), default.span)));
                }
                _ => {}
            }
        }
    }
    places
}

/// The author's text, as far as it helps to find it.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The number of times, in words.
pub fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
