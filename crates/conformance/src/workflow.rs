//! Runs conformance cases of workflows, and of the decisions that loop and vote nodes make. A case
//! is a JSON object that contains the expected result; `docs/conformance.md` lists its members.

use rulec::Message;
use rulec_base::diag::comma_list;
use rulec_base::message;
use rulec_runtime::workflow::processors::{Loop, LoopState, vote};
use rulec_runtime::workflow::{
    BoxFuture, Call, ConditionalRouter, Node, NodeId, ProcessResult, Processor, Workflow,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Function that creates the router of a workflow node; the router selects the next nodes. The
/// arguments are the members `rule` (the name of the rule) and `rule_text` that the conformance
/// case gives for the node.
pub type RouterFn<'r> = &'r dyn Fn(&str, &str) -> Result<Arc<dyn ConditionalRouter>, Message>;

/// Names of the kinds of cases that [`check_case`] can run.
pub const CASE_KIND_NAMES: [&str; 3] = ["workflow", "loop_decision", "vote_decision"];

/// Runs a case and compares its result with the expected one. `routers` creates the routers that
/// the case names. Numbers are compared by value. The call blocks the thread, so it must not run
/// inside a tokio runtime.
///
/// # Errors
///
/// Returns an error if the results differ, or if the case cannot be run.
pub fn check_case(case: &Value, routers: RouterFn<'_>) -> Result<(), Message> {
    let actual = run_case(case, routers)?;
    let expected = super::required_member(case, "expected")?;
    first_difference(expected, &actual, "expected").map_or(Ok(()), Err)
}

/// Runs a case and returns its result in the format of `expected`. `routers` creates the routers
/// that the case names. The call blocks the thread like [`check_case`].
///
/// # Errors
///
/// Returns an error if the case cannot be run.
pub fn run_case(case: &Value, routers: RouterFn<'_>) -> Result<Value, Message> {
    match case.get("kind").and_then(Value::as_str) {
        Some("workflow") => run_workflow(read_case(case)?, routers),
        Some("loop_decision") => run_loop_case(read_case(case)?),
        Some("vote_decision") => run_vote_case(read_case(case)?),
        kind => Err(message!(
            "`{}` is not one of the kinds {}",
            kind.unwrap_or_default(),
            comma_list(CASE_KIND_NAMES)
        )),
    }
}

fn read_case<'c, T: Deserialize<'c>>(case: &'c Value) -> Result<T, Message> {
    T::deserialize(case).map_err(|error| Message::verbatim(error.to_string()))
}

#[derive(Deserialize)]
struct WorkflowCase {
    start: NodeId,
    nodes: BTreeMap<NodeId, NodeCase>,
    #[serde(default)]
    outputs: BTreeMap<NodeId, Vec<Value>>,
}

#[derive(Deserialize)]
struct NodeCase {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    next: Vec<NodeId>,
    rule: Option<String>,
    #[serde(default)]
    rule_text: String,
    #[serde(default)]
    fail: bool,
}

fn run_workflow(mut case: WorkflowCase, routers: RouterFn<'_>) -> Result<Value, Message> {
    let mut builder = Workflow::builder(case.start);
    for (id, node) in case.nodes {
        let mut workflow_node = Node::new(id.clone(), node.kind.as_str()).next(node.next);
        workflow_node.parallel = node.kind == "parallel";
        if let Some(rule) = node.rule {
            builder = builder.shared_router(id.clone(), routers(&rule, &node.rule_text)?);
        }
        let outputs = case.outputs.remove(&id).unwrap_or_default();
        builder = builder
            .node(workflow_node)
            .processor(id, Arc::new(ScriptedProcessor { outputs, should_fail: node.fail }));
    }
    let workflow = builder.build_unchecked().map_err(|error| error.to_message())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Message::verbatim(error.to_string()))?;
    let report = runtime.block_on(workflow.run(json!({})));
    let stalled: Vec<&NodeId> = report.stalled.iter().map(|stall| &stall.node).collect();
    Ok(json!({
        "executed": report.executed,
        "deliveries": report.deliveries,
        "stalled": stalled,
        "limit_hit": report.limit_hit,
    }))
}

/// A test double for the code of a workflow node. Each run returns the next of the given outputs.
/// If there are more runs than outputs, each further run returns the last output.
struct ScriptedProcessor {
    outputs: Vec<Value>,
    should_fail: bool,
}

impl Processor for ScriptedProcessor {
    fn process<'a>(&'a self, call: &'a Call, _: Value) -> BoxFuture<'a, ProcessResult> {
        let earlier_runs = {
            let mut memory = call.memory();
            let earlier_runs = memory.as_u64().unwrap_or(0);
            *memory = json!(earlier_runs + 1);
            usize::try_from(earlier_runs).unwrap_or(usize::MAX)
        };
        let output = self.outputs.get(earlier_runs).or(self.outputs.last()).cloned();
        let fail = self.should_fail;
        Box::pin(async move {
            if fail { Err("the case says so".into()) } else { Ok(output.unwrap_or_else(|| json!({}))) }
        })
    }
}

#[derive(Deserialize)]
struct LoopCase {
    inputs: Vec<Value>,
    max_rounds: i64,
    #[serde(default)]
    exit_on_score: f64,
}

fn run_loop_case(case: LoopCase) -> Result<Value, Message> {
    let settings = Loop { max_rounds: case.max_rounds, exit_on_score: case.exit_on_score };
    let mut state = LoopState::default();
    Ok(case.inputs.iter().map(|input| json!(state.decide(&settings, input))).collect())
}

#[derive(Deserialize)]
struct VoteCase {
    inputs: Vec<Value>,
    threshold: f64,
}

fn run_vote_case(case: VoteCase) -> Result<Value, Message> {
    Ok(case.inputs.iter().map(|input| json!(vote(input, case.threshold))).collect())
}

/// Describes the first place where `actual` differs from `expected`; `None` if there is none.
/// Members that only `actual` has are ignored. `place` is the path of the compared values in the
/// whole results; the description begins with it.
pub(super) fn first_difference(expected: &Value, actual: &Value, place: &str) -> Option<Message> {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let missing = expected.keys().find(|key| !actual.contains_key(*key));
            if let Some(key) = missing {
                return Some(message!("{place}.{key} is missing"));
            }
            actual.iter().find_map(|(key, actual)| {
                let place = format!("{place}.{key}");
                first_difference(expected.get(key)?, actual, &place)
            })
        }
        (Value::Array(expected), Value::Array(actual)) => {
            let inner = expected.iter().zip(actual).enumerate().find_map(|(index, (expected, actual))| {
                first_difference(expected, actual, &format!("{place}[{index}]"))
            });
            inner.or_else(|| {
                let (expected, actual) = (expected.len(), actual.len());
                (expected != actual).then(|| message!("{place} has {actual} entries, not {expected}"))
            })
        }
        _ if expected == actual => None,
        (Value::Number(a), Value::Number(b)) if super::is_same_number(a, b) => None,
        _ => Some(message!("{place} is {actual}, not {expected}")),
    }
}
