//! Checks `workflow` statements: each node with its router, then the whole graph.

use super::{Checked, Checker, join_names};
use crate::hir::{MAX_GRAPH_SIZE, Merge, NEXT_FIELD, Node, PARALLEL_KIND, TableId, TableKind, Workflow};
use crate::resolve::duplicate_error;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::{Span, Spanned};
use rulec_base::{broken_invariant, message};
use rulec_lang::graph::{self, Finding, FindingKind, NodeId, Severity, Vertex};
use rulec_syntax::ast::{self, Ident, Literal, Statement, StatementKind};
use std::collections::HashMap;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Checks every workflow of the main file and its imports.
    pub(super) fn check_workflows(&mut self) {
        let mut first_spans: HashMap<&str, Span> = HashMap::new();
        for statement in self.statements() {
            let StatementKind::Workflow(workflow) = &statement.kind else { continue };
            let name = &workflow.name;
            let first_span = *first_spans.entry(&name.node).or_insert(name.span);
            if first_span != name.span {
                self.diagnostics.push(duplicate_error(
                    message!("workflow"),
                    &name.node,
                    first_span,
                    name.span,
                ));
                continue;
            }
            self.check_workflow(workflow, statement);
        }
    }

    fn check_workflow(&mut self, workflow: &'a ast::Workflow, statement: &'a Statement) {
        let name = &workflow.name;
        if workflow.nodes.is_empty() {
            let message = message!("the workflow `{}` has no node", name.node);
            let help = message!("add a first node: `node draft echo -> review`");
            return self.emit(Code::WorkflowStalls, name.span, message, help);
        }
        let keys =
            self.without_duplicates(message!("passthrough key"), &workflow.passthrough_fields, |key| key);
        let passthrough = keys.into_iter().map(|key| key.node.as_str().into()).collect();
        let nodes = self.without_duplicates(message!("node"), &workflow.nodes, |node| &node.id);
        let nodes: Vec<Checked<Node>> = nodes.into_iter().map(|node| self.check_node(node)).collect();
        // If one node is invalid, the graph cannot be checked.
        let Ok(nodes) = nodes.into_iter().collect::<Checked<Vec<Node>>>() else { return };
        self.program.workflows.push(Workflow {
            name: name.node.as_str().into(),
            nodes,
            passthrough,
            span: name.span,
            docs: statement.docs.as_str().into(),
        });
    }

    fn check_node(&mut self, node: &'a ast::Node) -> Checked<Node> {
        let to_arc = |name: &Ident| -> Arc<str> { name.node.as_str().into() };
        let config = self.evaluate_constant_entries(&node.config);
        let time_limit = node.time_limit.as_ref().map(|limit| self.check_time_limit(limit)).transpose();
        let merge = node.merge_mode.as_ref().map(|merge| self.resolve_merge(merge)).transpose();
        let router = node.router.as_ref().map(|router| self.resolve_router(router)).transpose();
        if let Ok(config) = &config {
            self.warn_node_settings(node, config);
        }
        node.config.iter().for_each(|(key, value)| self.warn_addresses_without_scheme(&key.node, value));
        if node.kind.node == PARALLEL_KIND && !(node.config.is_empty() && node.time_limit.is_none()) {
            let message = message!(
                "the parallel node `{}` has no processor, so its configuration or time limit has no effect",
                node.id.node
            );
            let help = message!("write it at the child nodes, which run in parallel");
            self.emit(Code::WorkflowDoubt, node.kind.span, message, help);
        }
        Ok(Node {
            id: to_arc(&node.id),
            processor_kind: to_arc(&node.kind),
            config: Arc::new(config?),
            time_limit_ms: time_limit?,
            merge: merge?,
            next_nodes: node.next_nodes.iter().map(to_arc).collect(),
            router: router?,
            span: node.id.span,
        })
    }

    /// Converts a time limit to milliseconds. A limit below one millisecond or above one year is an
    /// error.
    fn check_time_limit(&mut self, limit: &Spanned<Literal>) -> Checked<u64> {
        let seconds = match limit.node {
            Literal::Int(seconds) => seconds as f64,
            Literal::Float(seconds) => seconds,
            _ => 0.0,
        };
        // The upper bound is a year, so the number of milliseconds fits into the integer type.
        let millis = (seconds * 1000.0).round();
        if (1.0..=31_536_000_000.0).contains(&millis) {
            self.warn_no_unit(limit.span);
            return Ok(millis as u64);
        }
        let help = message!("write a duration from `1ms` to one year, such as `within 30s`");
        self.fail(Code::NumberOutOfRange, limit.span, message!("this time limit is out of range"), help)
    }

    fn resolve_merge(&mut self, name: &Ident) -> Checked<Merge> {
        if let Some((_, merge)) = Merge::NAMES.iter().find(|(known, _)| *known == name.node) {
            return Ok(*merge);
        }
        let known = Merge::NAMES.map(|(known, _)| known);
        let help = message!("write `merge` and one of {}", join_names(known.into_iter()));
        let message = message!("inputs cannot be merged by `{}`", name.node);
        self.report_unknown_or_nearest(Code::UnknownMerge, name, message, known.into_iter(), help)
    }

    fn resolve_router(&mut self, name: &Ident) -> Checked<TableId> {
        let tables = &self.program.tables;
        let is_router = |id: &TableId| tables[id.index()].kind == TableKind::Router;
        if let Some(id) = self.entry_tables.get(name.node.as_str()).copied().filter(is_router) {
            return Ok(id);
        }
        let routers: Vec<Arc<str>> = tables
            .iter()
            .filter(|table| table.kind == TableKind::Router)
            .map(|table| table.name.clone())
            .collect();
        let help = match routers.is_empty() {
            true => message!(
                "declare it: `router {}(output) {{ when output.ok -> next[1]  otherwise -> next[0] loopback }}`",
                name.node
            ),
            false => message!("the routers are {}", join_names(routers.iter().map(|router| &**router))),
        };
        let message = message!("there is no router `{}`", name.node);
        self.report_unknown_or_nearest(
            Code::WorkflowNode,
            name,
            message,
            routers.iter().map(|router| &**router),
            help,
        )
    }

    /// Checks the graphs of all workflows. Runs after all routers are checked, and only if there is
    /// no error. An error in a router would otherwise also be reported as a missing edge.
    pub(super) fn check_graphs(&mut self) {
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return;
        }
        for workflow in std::mem::take(&mut self.program.workflows) {
            if workflow.graph_size(&self.program) > MAX_GRAPH_SIZE {
                let message = message!("the workflow `{}` is too large", workflow.name);
                let help = message!(
                    "a workflow may have at most {MAX_GRAPH} nodes, next nodes and router targets together; \
                    split it",
                    MAX_GRAPH = MAX_GRAPH_SIZE
                );
                self.emit(Code::WorkflowStalls, workflow.span, message, help);
                continue;
            }
            let mut vertices = workflow.to_vertices(&self.program);
            let node_indexes: HashMap<NodeId, usize> =
                vertices.iter().enumerate().map(|(index, vertex)| (vertex.id.clone(), index)).collect();
            graph::set_incoming_edges(&mut vertices, &node_indexes);
            for (node, vertex) in workflow.nodes.iter().zip(&vertices) {
                if node.merge.is_some() && vertex.incoming_sources.len() < 2 {
                    let message = message!("`{}` has no two inputs to merge", node.id);
                    let help = message!("remove `merge`, or add an edge that leads here");
                    self.emit(Code::WorkflowDoubt, node.span, message, help);
                }
            }
            let findings = graph::check_graph(&vertices, &node_indexes, 0);
            // A wrong edge is the cause of nodes that no path leads to.
            let has_error = findings.iter().any(|finding| finding.kind == FindingKind::UnknownNext);
            let findings =
                findings.iter().filter(|finding| !has_error || finding.severity == Severity::Error);
            for finding in findings {
                let faulty_node = finding
                    .node
                    .as_ref()
                    .and_then(|id| node_indexes.get(id))
                    .map(|index| &workflow.nodes[*index]);
                let is_unreachable = finding.kind == FindingKind::Unreachable;
                let unreachable = finding.path.first().filter(|_| is_unreachable);
                if unreachable.is_some_and(|id| is_after_unreachable_source(&vertices, &node_indexes, id)) {
                    continue;
                }
                let first_help = unreachable.and_then(|id| first_node_help(&vertices, &node_indexes, id));
                self.report_graph_finding(&workflow, faulty_node, finding, first_help);
            }
            self.program.workflows.push(workflow);
        }
    }

    fn report_graph_finding(
        &mut self,
        workflow: &Workflow,
        faulty_node: Option<&Node>,
        finding: &Finding,
        first_help: Option<Message>,
    ) {
        use FindingKind::{MissingTarget, UnknownNext, UnknownTarget};
        let node_span = faulty_node.map_or(workflow.span, |node| node.span);
        let code = match (finding.severity, finding.kind) {
            (Severity::Warning, _) => Code::WorkflowDoubt,
            (Severity::Error, UnknownNext | UnknownTarget | MissingTarget) => Code::WorkflowNode,
            (Severity::Error, _) => Code::WorkflowStalls,
        };
        let unknown_name = finding.path.last().map(NodeId::as_str).filter(|_| finding.kind == UnknownNext);
        let next_span = unknown_name.and_then(|name| self.next_node_span(node_span, name));
        let router = faulty_node.and_then(|node| node.router).filter(|_| finding.is_about_routes());
        let router_span = router.and_then(|router| self.program.tables[router.index()].span);
        let count = faulty_node.map(|node| node.next_nodes.len()).filter(|_| finding.kind == MissingTarget);
        let index_span =
            count.zip(router_span).and_then(|(count, span)| self.span_of_index_beyond(span, count));
        let place = index_span.or(next_span).unwrap_or(node_span);
        let mut diagnostic = Diagnostic::new(code, place, finding.message.clone());
        if let Some(span) = router_span {
            diagnostic = diagnostic.label(span, message!("decided by this router"));
        }
        let path: Vec<&str> = finding.path.iter().map(NodeId::as_str).collect();
        let help = match path.len() {
            0..=2 => finding.help(),
            _ => message!("{}; the path is {}", finding.help(), path.join(" → ")),
        };
        let near =
            unknown_name.and_then(|name| self.nearest(name, workflow.nodes.iter().map(|node| &*node.id)));
        if let Some(help) = first_help {
            if let Some(start) = workflow.nodes.first() {
                diagnostic = diagnostic.label(start.span, message!("the run begins here"));
            }
            return self.diagnostics.push(diagnostic.help(help));
        }
        self.diagnostics.push(match near {
            Some(near) => {
                let near = near.to_owned();
                let diagnostic = diagnostic.help(message!("did you mean `{near}`? {help}"));
                match next_span {
                    Some(span) => diagnostic.likely_fix(span, near),
                    None => diagnostic,
                }
            }
            None => diagnostic.help(help),
        });
    }

    /// Returns the span of the first `next[INDEX]` of a router whose index is `count` or greater.
    /// `router` is the span of the router's name. `None` if it has no such destination.
    fn span_of_index_beyond(&self, router: Span, count: usize) -> Option<Span> {
        let routers = self.statements().filter_map(|statement| match &statement.kind {
            StatementKind::Router(found) => Some(found),
            _ => None,
        });
        let cases = &routers.into_iter().find(|found| found.name.span == router)?.cases;
        let is_beyond = |destination: &&ast::Expr| match &destination.kind {
            ast::ExprKind::Index(base, index) => {
                let is_next = matches!(&base.kind, ast::ExprKind::Name(name) if name == NEXT_FIELD);
                let index = match index.kind {
                    ast::ExprKind::Literal(ast::Literal::Int(index)) => usize::try_from(index).ok(),
                    _ => None,
                };
                is_next && index.is_some_and(|index| index >= count)
            }
            _ => false,
        };
        cases.iter().flat_map(|case| &case.destinations).find(is_beyond).map(|found| found.span)
    }

    /// Returns the span where the declaration of a node names the next node `next`; `None` if it
    /// does not. `node` is the span of the declared node's id.
    fn next_node_span(&self, node: Span, next: &str) -> Option<Span> {
        let workflows = self.statements().filter_map(|statement| match &statement.kind {
            StatementKind::Workflow(workflow) => Some(workflow),
            _ => None,
        });
        let declared = workflows.flat_map(|workflow| &workflow.nodes).find(|other| other.id.span == node)?;
        declared.next_nodes.iter().find(|id| id.node == next).map(|id| id.span)
    }
}

/// Returns the indexes of the nodes to which a path leads from the node at `start`, including
/// `start`.
fn reachable_indexes(vertices: &[Vertex], node_indexes: &HashMap<NodeId, usize>, start: usize) -> Vec<usize> {
    let mut reached = vec![start];
    let mut next = 0;
    while let Some(&index) = reached.get(next) {
        for target in vertices[index].next.iter().filter_map(|id| node_indexes.get(id)) {
            if !reached.contains(target) {
                reached.push(*target);
            }
        }
        next += 1;
    }
    reached
}

/// True if a path leads to a node from another unreachable node that has no incoming edges. A
/// finding about that other node is enough.
fn is_after_unreachable_source(
    vertices: &[Vertex],
    node_indexes: &HashMap<NodeId, usize>,
    id: &NodeId,
) -> bool {
    let Some(node) = node_indexes.get(id) else {
        broken_invariant!("an unreachable node is a node of the workflow");
        return false;
    };
    let reached = reachable_indexes(vertices, node_indexes, 0);
    let sources = (1..vertices.len())
        .filter(|index| vertices[*index].incoming_sources.is_empty() && !reached.contains(index));
    let mut others = sources.filter(|index| index != node);
    others.any(|source| reachable_indexes(vertices, node_indexes, source).contains(node))
}

/// Returns the help text for a node that no path leads to, if the run probably begins at this node:
/// the first node leads nowhere, or a path leads from this node to it. `None` for other nodes.
fn first_node_help(
    vertices: &[Vertex],
    node_indexes: &HashMap<NodeId, usize>,
    id: &NodeId,
) -> Option<Message> {
    let node = *node_indexes.get(id)?;
    let (first, vertex) = (vertices.first()?, vertices.get(node)?);
    let leads_to_first = reachable_indexes(vertices, node_indexes, node).contains(&0);
    let leads_nowhere = reachable_indexes(vertices, node_indexes, 0).len() == 1;
    let may_begin = vertex.incoming_sources.is_empty() && !vertex.next.is_empty();
    (may_begin && (leads_to_first || leads_nowhere)).then(|| match leads_nowhere {
        true => message!(
            "a run begins at the first node, and `{}` has no next node: write `node {id} …` first",
            first.id
        ),
        false => {
            message!("a run begins at the first node, which is `{}`: write `node {id} …` first", first.id)
        }
    })
}
