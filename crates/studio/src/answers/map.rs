//! Builds the map of a rule set: tables with their statements, access paths and findings, and
//! workflows with their edges.

use super::to_entry_kind;
use crate::api::{
    EntryKind, FindingKind, HowFound, Map, MapEdge, MapFinding, MapNode, MapRoute, MapTable, MapWorkflow,
};
use crate::error::Answer;
use crate::keys;
use crate::language::{localized, localized_diagnostic};
use crate::snapshot::ProjectSnapshot;
use crate::state::Studio;
use rulec::{Code, Finding, Rules, Span};
use rulec_report::{coverage, drawing};
use rulec_sema::hir::{
    FLOWS_TABLE, Outcome, Payload, Program, Rule, RuleId, Table, TableId, TableKind, Trigger,
};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

#[derive(Deserialize)]
pub(crate) struct MapQuery {
    rules: usize,
    #[serde(default)]
    draft: bool,
    /// Whether to wait for the analysis of the rules, which finds hidden statements.
    #[serde(default)]
    analysed: bool,
}

pub(crate) fn rules_map(studio: &Arc<Studio>, request: MapQuery) -> Answer<Map> {
    let snapshot = studio.snapshot(crate::api::Version { rules: request.rules, draft: request.draft })?;
    build_map(&snapshot, request.analysed)
}

/// Builds the map of a rule set: its tables, payload kinds, statements and workflows. If
/// `analysed`, waits for the analysis and includes all findings. Otherwise, includes only the
/// findings that are already known. Refuses the request if the rules do not compile.
pub(crate) fn build_map(snapshot: &ProjectSnapshot, analysed: bool) -> Answer<Map> {
    let rules = snapshot.rules()?;
    let program = rules.program();
    let findings = snapshot.findings_if(analysed);
    let builder = MapBuilder::new(snapshot, rules, findings.unwrap_or_default());
    let entered_tables = drawing::goto_target_tables(program);
    let payload_tables: BTreeSet<TableId> =
        program.payloads.iter().flat_map(|payload| payload.block.tables()).collect();
    let mut tables: Vec<MapTable> = Vec::new();
    for (table, id) in program.tables.iter().zip((0..).map(TableId)) {
        let has_intents = table.kind == TableKind::Flows && !program.flows.is_empty();
        if !payload_tables.contains(&id)
            && (!table.evaluation_order.is_empty() || table.default.is_some() || has_intents)
        {
            tables.push(builder.map_table(id, table, entered_tables.contains(&*table.name)));
        }
    }
    tables.sort_by_key(|table| table.entered);
    Ok(Map {
        analysed: findings.is_some(),
        tables,
        targets: target_names(rules),
        workflows: program.workflows.iter().map(|workflow| map_workflow(rules, workflow)).collect(),
        payloads: program.payloads.iter().map(|payload| builder.map_payload(payload)).collect(),
    })
}

/// Returns the names of the targets of the rules, without duplicates. The order is: declared
/// handlers, targets of statements, targets of defaults, ids of flows. The field `to` of a
/// [`MapRoute`] contains one of these names.
pub(crate) fn target_names(rules: &Rules) -> Vec<String> {
    let program = rules.program();
    let declared = program.handlers.iter().flatten().map(|handler| handler.name.to_string());
    let of_rules = program.rules.iter().filter_map(|rule| match rule.outcome {
        Outcome::Goto(_) => None,
        _ if program.tables[rule.table.index()].kind == TableKind::Requirements => None,
        _ => Some(drawing::describe_target(program, &rule.outcome, &rule.name)),
    });
    let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
    let of_defaults = defaults
        .filter(|outcome| !matches!(outcome, Outcome::Goto(_)))
        .map(|outcome| drawing::describe_target(program, outcome, "default"));
    let of_flows = program.flows.iter().map(|flow| flow.id.to_string());
    let mut distinct = BTreeSet::new();
    let names = declared.chain(of_rules).chain(of_defaults).chain(of_flows);
    names.filter(|name| distinct.insert(name.clone())).collect()
}

fn map_workflow(rules: &Rules, workflow: &rulec_sema::hir::Workflow) -> MapWorkflow {
    let program = rules.program();
    let nodes = workflow.nodes.iter().map(|node| MapNode {
        id: node.id.to_string(),
        kind: node.processor_kind.to_string(),
        parallel: node.is_parallel(),
        router: node.router.map(|router| program.tables[router.index()].name.to_string()),
    });
    let edges = drawing::draw_workflow(rules, workflow).edges.into_iter();
    let edges = edges.map(|edge| MapEdge {
        start_index: edge.start_index,
        end_index: edge.end_index,
        label: edge.label,
        loop_back: edge.is_dashed,
    });
    MapWorkflow { name: workflow.name.to_string(), nodes: nodes.collect(), edges: edges.collect() }
}

/// Returns the findings about the rule whose source text is at `span`. These are the compiler's
/// diagnostics and the analysis findings (`findings`) whose own span lies inside `span`.
pub(crate) fn findings_in_span(
    snapshot: &ProjectSnapshot,
    findings: &[Finding],
    span: Span,
) -> Vec<MapFinding> {
    let is_inside = |diagnostic_span: Span| {
        diagnostic_span.file == span.file
            && span.start <= diagnostic_span.start
            && diagnostic_span.end <= span.end
    };
    let diagnostics =
        snapshot.analysis.diagnostics().iter().chain(findings.iter().map(|finding| &finding.diagnostic));
    let rule_diagnostics = diagnostics.filter(|diagnostic| diagnostic.span().is_some_and(is_inside));
    let to_finding = |diagnostic: &rulec::Diagnostic| {
        let diagnostic = localized_diagnostic(diagnostic);
        MapFinding {
            kind: match diagnostic.code {
                Code::RouteHidden | Code::BranchNeverChosen | Code::PatternHidden => FindingKind::Shadowed,
                Code::NeverMatches
                | Code::Contradiction
                | Code::EmptyRange
                | Code::OutOfRange
                | Code::AlwaysMissing => FindingKind::Unreachable,
                _ => FindingKind::Other,
            },
            code: diagnostic.code.to_string(),
            message: diagnostic.message.to_string(),
            help: diagnostic.help.as_ref().map(ToString::to_string),
        }
    };
    rule_diagnostics.map(to_finding).collect()
}

struct MapBuilder<'k> {
    snapshot: &'k ProjectSnapshot,
    rules: &'k Rules,
    /// Findings of the analysis to show; empty before the analysis.
    findings: &'k [Finding],
    /// For each rule, how the engine finds it (such as by an index key).
    access_paths: HashMap<RuleId, HowFound>,
    /// Tables for which the engine has an index, which finds the rules that a message may match.
    indexed_tables: BTreeSet<TableId>,
    /// Worst-case number of evaluation steps of each statement, by table name and statement name.
    steps_by_statement: HashMap<(String, String), u64>,
    default_span_by_table: HashMap<String, Span>,
}

impl<'k> MapBuilder<'k> {
    fn new(snapshot: &'k ProjectSnapshot, rules: &'k Rules, findings: &'k [Finding]) -> MapBuilder<'k> {
        let plans = rules.plan();
        let access_paths = plans.iter().flat_map(|plan| &plan.routes).map(|route| {
            let ((by, description), shared) =
                (route.found.name_and_message(), route.found.shared_route_count());
            (RuleId(route.rule), HowFound { by: by.to_owned(), what: localized(&description), shared })
        });
        let steps = rules.cost().into_iter().flat_map(|table| {
            let name = table.table;
            table
                .statements
                .into_iter()
                .map(move |statement| ((name.clone(), statement.name), statement.steps))
        });
        MapBuilder {
            snapshot,
            rules,
            findings,
            access_paths: access_paths.collect(),
            indexed_tables: plans
                .iter()
                .filter(|plan| plan.indexed)
                .map(|plan| TableId(plan.table))
                .collect(),
            steps_by_statement: steps.collect(),
            default_span_by_table: coverage::default_spans_by_table(rules),
        }
    }

    fn program(&self) -> &'k Program {
        self.rules.program()
    }

    fn map_table(&self, id: TableId, table: &Table, entered: bool) -> MapTable {
        let program = self.program();
        let mut routes: Vec<MapRoute> = table
            .evaluation_order
            .iter()
            .map(|id| self.map_route(*id, &program.rules[id.index()], table))
            .collect();
        if table.kind == TableKind::Flows {
            routes.extend(self.map_intents());
        }
        routes.extend(table.default.as_ref().map(|outcome| self.map_default(table, outcome)));
        let all_rules = program.rules.iter().zip((0..).map(RuleId));
        let disabled = all_rules.filter(|(rule, _)| rule.table == id && rule.is_disabled);
        routes.extend(disabled.map(|(rule, id)| self.map_route(id, rule, table)));
        MapTable {
            name: table.name.to_string(),
            kind: to_entry_kind(table.kind),
            docs: table.docs.to_string(),
            entered,
            indexed: self.indexed_tables.contains(&id),
            routes,
        }
    }

    fn map_route(&self, id: RuleId, rule: &Rule, table: &Table) -> MapRoute {
        let program = self.program();
        let goto = match rule.outcome {
            Outcome::Goto(inner) => Some(program.tables[inner.index()].name.to_string()),
            _ => None,
        };
        let condition = match &rule.outcome {
            Outcome::Flow { pattern, .. } => pattern.to_string(),
            _ => drawing::to_label_line(self.rules.sources().slice(rule.condition.span)),
        };
        let steps = self.steps_by_statement.get(&(table.name.to_string(), rule.name.to_string()));
        MapRoute {
            key: keys::statement_key(&table.name, &rule.name),
            name: rule.name.to_string(),
            is_default: false,
            disabled: rule.is_disabled,
            priority: rule.priority,
            condition,
            docs: rule.docs.to_string(),
            to: drawing::describe_target(program, &rule.outcome, &rule.name),
            goto,
            found: self.access_paths.get(&id).cloned(),
            steps: steps.copied().unwrap_or_default(),
            findings: findings_in_span(self.snapshot, self.findings, rule.span),
            place: self.snapshot.source_range(rule.span),
        }
    }

    fn map_default(&self, table: &Table, outcome: &Outcome) -> MapRoute {
        let program = self.program();
        let span = self.default_span_by_table.get(&*table.name);
        MapRoute {
            is_default: true,
            goto: match outcome {
                Outcome::Goto(inner) => Some(program.tables[inner.index()].name.to_string()),
                _ => None,
            },
            place: span.and_then(|span| self.snapshot.source_range(*span)),
            ..plain_route(
                keys::statement_key(&table.name, "default"),
                "default",
                drawing::describe_target(program, outcome, "default"),
            )
        }
    }

    /// Returns the flows that the intent classifier can choose, as rows of the table `flows` on the
    /// map. The condition of such a row lists the example sentences.
    fn map_intents(&self) -> impl Iterator<Item = MapRoute> + '_ {
        self.program().flows.iter().filter_map(|flow| {
            let Trigger::Intent { examples, .. } = &flow.trigger else { return None };
            let examples: Vec<String> = examples.iter().map(|example| format!("\"{example}\"")).collect();
            Some(MapRoute {
                condition: examples.join(", "),
                docs: flow.description.to_string(),
                findings: findings_in_span(self.snapshot, self.findings, flow.span),
                place: self.snapshot.source_range(flow.span),
                ..plain_route(keys::statement_key(FLOWS_TABLE, &flow.name), &flow.name, flow.id.to_string())
            })
        })
    }

    /// Returns a payload kind (one `payload` statement) as a table of the rule set's map. Each rule
    /// is a row; rules with the same name share one row.
    fn map_payload(&self, payload: &Payload) -> MapTable {
        let program = self.program();
        let tables = payload.block.tables();
        let mut distinct_names = BTreeSet::new();
        let rules = program.rules.iter().filter(|rule| tables.contains(&rule.table));
        let routes = rules.filter(|rule| distinct_names.insert(rule.name.clone())).map(|rule| MapRoute {
            condition: drawing::to_label_line(self.rules.sources().slice(rule.span)),
            docs: rule.docs.to_string(),
            findings: findings_in_span(self.snapshot, self.findings, rule.span),
            place: self.snapshot.source_range(rule.span),
            ..plain_route(keys::statement_key(&payload.name, &rule.name), &rule.name, String::new())
        });
        MapTable {
            name: payload.name.to_string(),
            kind: EntryKind::Payload,
            docs: payload.docs.to_string(),
            entered: false,
            indexed: false,
            routes: routes.collect(),
        }
    }
}

fn plain_route(key: String, name: &str, to: String) -> MapRoute {
    MapRoute {
        key,
        name: name.to_owned(),
        is_default: false,
        disabled: false,
        priority: 0,
        condition: String::new(),
        docs: String::new(),
        to,
        goto: None,
        found: None,
        steps: 0,
        findings: Vec::new(),
        place: None,
    }
}
