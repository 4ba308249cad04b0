//! Runs a workflow and records each step. Nodes of built-in kinds run as usual. Nodes of other
//! kinds, such as calls of external services, return their input.

use crate::api::{NodeFailure, RouterDecision, WorkflowDelivery, WorkflowRun, WorkflowStep};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::language::localized;
use rulec::Rules;
use rulec_base::message;
use rulec_eval::trace::MASK;
use rulec_lang::graph::{Finding, NodeId, Route};
use rulec_runtime::workflow::processors::{Loop, Vote, echo};
use rulec_runtime::workflow::{ConditionalRouter, RulesRouter, Run, Severity, Workflow};
use rulec_sema::hir::{NEXT_FIELD, OUTPUT_FIELD, PARALLEL_KIND, TableId};
use serde_json::{Value as Json, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Builder;

/// Maximum number of node calls in a workflow run.
const MAX_NODE_CALLS: usize = 1_000;

/// Runs a workflow on its input. If the input has private values and `show_private` is false, the
/// answer is masked: the fields with the name of a `@private` field, and all values that are not
/// objects.
pub(crate) fn run_workflow(
    rules: &Rules,
    name: &str,
    input: Json,
    show_private: bool,
) -> Answer<WorkflowRun> {
    let declaration = rules
        .program()
        .workflow_named(name)
        .ok_or_else(|| RequestError::missing(message!("there is no workflow `{name}`")))?;
    let builder =
        Workflow::from_rules(rules, name).map_err(|error| RequestError::missing(error.to_message()))?;
    let mut builder = builder
        .kind("echo", echo)
        .kind("loop", Loop::factory)
        .kind("vote", Vote::factory)
        .step_limit(MAX_NODE_CALLS);
    let built_in_kinds = ["echo", "loop", "vote", PARALLEL_KIND];
    let stand_ins: BTreeSet<&str> = declaration
        .nodes
        .iter()
        .map(|node| &*node.processor_kind)
        .filter(|kind| !built_in_kinds.contains(kind))
        .collect();
    for kind in &stand_ins {
        builder = builder.kind(*kind, echo);
    }
    let recorded = RecordedDecisions::default();
    for node in &declaration.nodes {
        let Some(table) = node.router else { continue };
        builder = builder.router(node.id.clone(), RecordingRouter::new(rules, &node.id, table, &recorded)?);
    }
    let workflow = builder.build().map_err(|error| invalid_workflow(error.findings()))?;
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| RequestError::broken(verbatim_message(error)))?;
    let masking =
        PrivateValueMask { rules, masks_values: !show_private && rules.masked_message(&input) != input };
    let mut run = workflow.begin(input);
    let steps = runtime.block_on(run_steps(&mut run, &recorded, &masking));
    let report = run.finish();
    let failures = report.failures.iter().map(|failure| NodeFailure {
        node: failure.node.to_string(),
        // The message of a failed node may contain values of its input.
        message: if masking.masks_values { MASK.to_owned() } else { failure.message.clone() },
    });
    let mut outputs = serde_json::to_value(&report.outputs).unwrap_or_default();
    for output in outputs.as_object_mut().into_iter().flat_map(|outputs| outputs.values_mut()) {
        *output = masking.masked(output);
    }
    Ok(WorkflowRun {
        workflow: name.to_owned(),
        steps,
        outputs,
        failures: failures.collect(),
        stalled: report.stalled.iter().map(|stall| localized(&stall.to_message())).collect(),
        limit_hit: report.limit_hit,
        stand_ins: stand_ins.into_iter().map(str::to_owned).collect(),
    })
}

/// Masks private values in the response about a workflow run.
struct PrivateValueMask<'r> {
    rules: &'r Rules,
    /// Whether values must be masked: the input of the run has private values, and the studio does
    /// not show them.
    masks_values: bool,
}

impl PrivateValueMask<'_> {
    fn masked(&self, value: &Json) -> Json {
        match value {
            value if !self.masks_values => value.clone(),
            Json::Object(_) => self.rules.masked_message(value),
            // This value may be a part of the input, so it is masked as a whole.
            _ => Json::from(MASK),
        }
    }
}

/// Runs a workflow to its end. Returns a description of each step.
async fn run_steps(
    run: &mut Run,
    recorded: &RecordedDecisions,
    masking: &PrivateValueMask<'_>,
) -> Vec<WorkflowStep> {
    let mut steps = Vec::new();
    let mut rounds: HashMap<(String, String), usize> = HashMap::new();
    loop {
        let (executed_before, deliveries_before) =
            (run.report().executed.len(), run.report().deliveries.len());
        let has_more = run.step().await;
        let report = run.report();
        let nodes: Vec<String> = report.executed[executed_before..].iter().map(ToString::to_string).collect();
        let deliveries = report.deliveries[deliveries_before..].iter().map(|delivery| {
            let (from, to) = (delivery.from.to_string(), delivery.to.to_string());
            let round = rounds.entry((from.clone(), to.clone())).or_default();
            *round += 1;
            WorkflowDelivery { from, to, ready: delivery.ready, loop_back: delivery.loop_back, round: *round }
        });
        let deliveries: Vec<WorkflowDelivery> = deliveries.collect();
        let decisions = std::mem::take(&mut *recorded.lock().unwrap_or_else(PoisonError::into_inner));
        let decisions = decisions.into_iter().map(|decision| RouterDecision {
            node: decision.node_id,
            router: decision.router_name,
            message:
                json!({ OUTPUT_FIELD: masking.masked(&decision.output), NEXT_FIELD: decision.next_nodes })
                    .to_string(),
        });
        let decisions = decisions.collect();
        if !(nodes.is_empty() && deliveries.is_empty()) {
            steps.push(WorkflowStep { nodes, deliveries, decisions });
        }
        if !has_more {
            return steps;
        }
    }
}

/// Returns the error response for a workflow that cannot run; `findings` are the reasons.
fn invalid_workflow(findings: &[Finding]) -> RequestError {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let errors = errors.map(|finding| finding.message.clone());
    let errors = errors.reduce(|all, one| message!("{all}; {one}")).unwrap_or_default();
    RequestError::invalid(message!("the workflow cannot be run: {errors}"))
}

/// The decisions that routers made in the current step of a workflow. Emptied after each step.
type RecordedDecisions = Arc<Mutex<Vec<RecordedDecision>>>;

/// A decision of a router during the run, with the output of the node, which is not masked.
struct RecordedDecision {
    node_id: String,
    router_name: String,
    output: Json,
    next_nodes: Vec<String>,
}

/// Wraps a router of the rules and records its decisions, because the page can open a decision or
/// turn it into a test.
struct RecordingRouter {
    node_id: String,
    router_name: String,
    router: RulesRouter,
    recorded_decisions: RecordedDecisions,
}

impl RecordingRouter {
    fn new(
        rules: &Rules,
        node_id: &str,
        table: TableId,
        recorded: &RecordedDecisions,
    ) -> Answer<RecordingRouter> {
        let name = rules.program().tables[table.index()].name.to_string();
        let router =
            RulesRouter::new(rules, &name).map_err(|error| RequestError::missing(error.to_message()))?;
        Ok(RecordingRouter {
            node_id: node_id.to_owned(),
            router_name: name,
            router,
            recorded_decisions: recorded.clone(),
        })
    }
}

impl ConditionalRouter for RecordingRouter {
    fn route(&self, output: &Json, next: &[NodeId]) -> Route {
        let decision = RecordedDecision {
            node_id: self.node_id.clone(),
            router_name: self.router_name.clone(),
            output: output.clone(),
            next_nodes: next.iter().map(|id| id.to_string()).collect(),
        };
        self.recorded_decisions.lock().unwrap_or_else(PoisonError::into_inner).push(decision);
        self.router.route(output, next)
    }

    fn routes(&self, next: &[NodeId]) -> Vec<Route> {
        self.router.routes(next)
    }
}
