//! Uses a `router` of a rules file as a [`ConditionalRouter`], so that a workflow's routing needs
//! no Rust code.

use super::build::{Workflow, WorkflowBuilder};
use super::merge::{AppendValues, ByNode, FirstValues, LatestValues};
use super::node::{Node, NodeId};
use super::router::ConditionalRouter;
use rulec::{Rules, UnknownEntry};
use rulec_base::diag::{Message, comma_list};
use rulec_base::message;
use rulec_lang::graph::{Route, Target};
use rulec_sema::hir::{Merge, TableId, TableKind};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A `router NAME(output) { … }` of a rule set, as a [`ConditionalRouter`].
#[derive(Clone, Debug)]
pub struct RulesRouter {
    rules: Rules,
    table: TableId,
    routes: Vec<Route>,
}

impl RulesRouter {
    /// Returns the router of the rules with this name.
    ///
    /// # Errors
    /// If the rules have no router with this name.
    pub fn new(rules: &Rules, name: &str) -> Result<RulesRouter, UnknownEntry> {
        Ok(RulesRouter::for_table(rules, rules.entry_of_kind(name, TableKind::Router)?.id()))
    }

    fn for_table(rules: &Rules, table: TableId) -> RulesRouter {
        RulesRouter { rules: rules.clone(), table, routes: rules.program().routes_of(table) }
    }
}

impl Workflow {
    /// Starts building a workflow from a `workflow NAME { … }` of a rule set. The builder has the
    /// nodes, routers and passthrough fields. The caller adds the processors of each node kind.
    ///
    /// # Errors
    /// If the rules have no workflow with this name.
    pub fn from_rules(rules: &Rules, name: &str) -> Result<WorkflowBuilder, UnknownWorkflow> {
        let program = rules.program();
        let unknown_workflow = || {
            let known = program.workflows.iter().map(|workflow| workflow.name.to_string());
            UnknownWorkflow { name: name.to_owned(), declared_names: known.collect() }
        };
        let workflow_definition = program.workflow_named(name).ok_or_else(unknown_workflow)?;
        let start = workflow_definition.nodes.first().ok_or_else(unknown_workflow)?;
        let mut builder = Workflow::builder(start.id.clone())
            .passthrough(workflow_definition.passthrough.iter().map(|key| key.to_string()));
        let mut routers: HashMap<TableId, Arc<RulesRouter>> = HashMap::new();
        for node_definition in &workflow_definition.nodes {
            let mut node = Node::new(node_definition.id.clone(), &*node_definition.processor_kind)
                .next(node_definition.next_nodes.iter().cloned());
            node.config = Value::Object((*node_definition.config).clone());
            node.parallel = node_definition.is_parallel();
            node.time_limit_ms = node_definition.time_limit_ms;
            builder = builder.node(node);
            let id = node_definition.id.clone();
            builder = match node_definition.merge {
                None => builder,
                Some(Merge::First) => builder.merge_at(id, FirstValues),
                Some(Merge::Latest) => builder.merge_at(id, LatestValues),
                Some(Merge::Append) => builder.merge_at(id, AppendValues),
                Some(Merge::ByNode) => builder.merge_at(id, ByNode),
            };
            if let Some(table) = node_definition.router {
                let router =
                    routers.entry(table).or_insert_with(|| Arc::new(RulesRouter::for_table(rules, table)));
                builder = builder.shared_router(node_definition.id.clone(), router.clone());
            }
        }
        Ok(builder)
    }
}

/// The error of a call that names a workflow that the rules do not declare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct UnknownWorkflow {
    name: String,
    declared_names: Vec<String>,
}

impl UnknownWorkflow {
    /// Returns the wrong name and the declared workflows as a localized message.
    pub fn to_message(&self) -> Message {
        let name = &self.name;
        match &self.declared_names[..] {
            [] => message!(
                "there is no workflow `{name}`; the rules declare none: `workflow NAME {{ node … }}`"
            ),
            known => {
                let known = known.iter().map(|name| format!("`{name}`"));
                message!("there is no workflow `{name}`; the workflows are {}", comma_list(known))
            }
        }
    }
}

impl ConditionalRouter for RulesRouter {
    fn route(&self, output: &Value, next: &[NodeId]) -> Route {
        let next: Vec<&str> = next.iter().map(|id| &**id).collect();
        let decision = self.rules.table(self.table).decide_output(output, &next);
        match decision.next() {
            Some(next) => Route {
                targets: next.nodes.iter().map(|id| Target::Node(id.as_str().into())).collect(),
                loopback: next.loopback,
            },
            None => Route::to([Target::Every]),
        }
    }

    fn routes(&self, _: &[NodeId]) -> Vec<Route> {
        self.routes.clone()
    }
}
