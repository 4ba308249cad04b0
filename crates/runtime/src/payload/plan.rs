//! Plans: workflows that a language model writes as payloads. This file reads a plan from its
//! payload, and changes the plan as later decisions require.

use super::NodeFailure;
use rulec::condition::Condition;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::arena::Arena;
use rulec_lang::builtins::{self, Function};
use rulec_lang::value::Value as View;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use thiserror::Error;

/// A workflow that a language model wrote. Its node ids are unique, and its edges connect existing
/// nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "PlanPayload", into = "PlanPayload")]
pub(super) struct Plan {
    /// The payload (JSON object) from which this plan was read. Later changes of nodes are only in
    /// the field `nodes` of the plan.
    plan_payload: PlanPayload,
    pub nodes: Vec<PlanNode>,
    pub edges: Vec<PlanEdge>,
}

/// The fields of a plan's JSON object that this module uses. All other fields are stored in
/// `other_fields`, so that writing the plan preserves them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct PlanPayload {
    #[serde(default)]
    nodes: Vec<PlanNode>,
    #[serde(default)]
    edges: Vec<PlanPayloadEdge>,
    #[serde(flatten)]
    other_fields: Map<String, Json>,
}

/// A node of a workflow that a language model wrote, with the fields of the node's JSON object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PlanNode {
    #[serde(rename = "node_id")]
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub config: Map<String, Json>,
    #[serde(default)]
    pub input_mapping: Option<Map<String, Json>>,
    #[serde(default)]
    pub output_mapping: Option<Map<String, Json>>,
    #[serde(flatten)]
    pub other_fields: Map<String, Json>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlanPayloadEdge {
    source: String,
    target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
}

/// An edge between two nodes of a plan, with its compiled condition.
#[derive(Clone, Debug)]
pub(super) struct PlanEdge {
    pub source_id: String,
    pub target_id: String,
    pub condition: Option<Condition>,
}

/// The reason why a plan (a workflow that a language model writes) cannot be read, changed or run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct PlanError(pub(super) Message);

impl PlanError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        self.0.clone()
    }
}

impl TryFrom<PlanPayload> for Plan {
    type Error = PlanError;

    fn try_from(plan_payload: PlanPayload) -> Result<Plan, PlanError> {
        let mut ids = HashSet::new();
        for node in &plan_payload.nodes {
            if !ids.insert(node.id.as_str()) {
                return Err(PlanError(message!("two nodes are called `{}`; rename one of them", node.id)));
            }
        }
        if plan_payload.nodes.is_empty() {
            return Err(PlanError(message!("the plan has no nodes; add one")));
        }
        let edge = |(at, edge): (usize, &PlanPayloadEdge)| {
            for end in [&edge.source, &edge.target] {
                if !ids.contains(end.as_str()) {
                    return Err(PlanError(message!(
                        "edge {at} names `{end}`, which is no node; use a `node_id`"
                    )));
                }
            }
            let compile = |text: &String| {
                Condition::compile(text).map_err(|error| {
                    let wrong = message!("the condition `{text}` of edge {at} is none: {}", error.message);
                    PlanError(error.help.map_or(wrong.clone(), |help| message!("{wrong}; {help}")))
                })
            };
            let condition = edge.condition.as_ref().map(compile).transpose()?;
            Ok(PlanEdge { source_id: edge.source.clone(), target_id: edge.target.clone(), condition })
        };
        let edges = plan_payload.edges.iter().enumerate().map(edge).collect::<Result<_, _>>()?;
        Ok(Plan { nodes: plan_payload.nodes.clone(), edges, plan_payload })
    }
}

impl From<Plan> for PlanPayload {
    fn from(plan: Plan) -> PlanPayload {
        PlanPayload { nodes: plan.nodes, ..plan.plan_payload }
    }
}

impl Plan {
    /// Reads a plan (a workflow) from a payload that was validated. Returns an error if the payload
    /// is not a valid plan.
    pub fn from_payload(payload: &Json) -> Result<Plan, PlanError> {
        let to_error = |why: Message| PlanError(message!("this is no plan: {why}"));
        let plan_payload: PlanPayload = serde_json::from_value(payload.clone())
            .map_err(|error| to_error(Message::verbatim(error.to_string())))?;
        Plan::try_from(plan_payload).map_err(|error| to_error(error.to_message()))
    }

    /// Creates a plan of one node from a payload of the kind `create_node`. Returns an error if the
    /// payload does not describe a valid node.
    pub fn from_node_payload(payload: &Json) -> Result<Plan, PlanError> {
        let name = &payload["node_name"];
        let mut node = json!({
            "node_id": name, "name": name, "type": payload["node_type"], "config": payload["config"],
        });
        if payload[RETRY_FIELD].is_object() {
            node[RETRY_FIELD] = payload[RETRY_FIELD].clone();
        }
        Plan::from_payload(&json!({"name": name, "description": name, "nodes": [node], "edges": []}))
    }

    /// Copies the retry settings of each node of `other` to the node with the same id. Needed after
    /// validation, because the rules' corrections remove these settings.
    #[must_use]
    pub fn with_retry_settings_of(mut self, other: &Plan) -> Plan {
        for node in &mut self.nodes {
            if let Some(retry) = other.node(&node.id).and_then(|node| node.other_fields.get(RETRY_FIELD)) {
                node.other_fields.insert(RETRY_FIELD.to_owned(), retry.clone());
            }
        }
        self
    }

    /// Returns the plan as a payload (JSON object). The payload includes the changes since the plan
    /// was read.
    pub fn to_payload(&self) -> Json {
        serde_json::to_value(self).unwrap_or(Json::Null)
    }

    /// Returns a description of the plan for the input `context` of the payload validators: the
    /// status, the inputs and the nodes.
    pub fn to_context(&self, status: &str) -> Json {
        let nodes: Map<String, Json> = self
            .nodes
            .iter()
            .map(|node| (node.id.clone(), json!({"type": node.kind, "config": node.config})))
            .collect();
        json!({"status": status, "inputs": self.required_inputs(), "nodes": nodes})
    }

    /// Returns the inputs that a run needs: the names in placeholders that the plan itself does not
    /// define. Maps each name to the JSON description of the input.
    fn required_inputs(&self) -> Map<String, Json> {
        let mut inputs = Map::new();
        for node in &self.nodes {
            let mapping = node.input_mapping.as_ref();
            // Values of the mapping may fill placeholders in the config, but not in the mapping
            // itself.
            let parts = [(Some(&node.config), mapping), (mapping, None)];
            for (fields, defined) in parts {
                let text = fields.map_or_else(String::new, |fields| json!(fields).to_string());
                let names = text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.trim()));
                for name in names.map(|path| path.split('.').next().unwrap_or(path)) {
                    let known = self.node(name).is_some()
                        || defined.is_some_and(|defined| defined.contains_key(name))
                        || self.placeholder_values().is_some_and(|values| values.contains_key(name));
                    if !known {
                        inputs.insert(name.to_owned(), json!({"type": "any", "required": false}));
                    }
                }
            }
        }
        inputs
    }

    pub fn node(&self, id: &str) -> Option<&PlanNode> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Returns the ids of all direct and indirect predecessors of a node.
    pub fn predecessor_ids<'p>(&'p self, node: &'p str) -> HashSet<&'p str> {
        let mut ancestors = HashSet::new();
        let mut pending = vec![node];
        while let Some(node_id) = pending.pop() {
            let edges = self.edges.iter().filter(|edge| edge.target_id == node_id);
            pending.extend(edges.map(|edge| edge.source_id.as_str()).filter(|from| ancestors.insert(*from)));
        }
        ancestors
    }

    /// Returns the time limit of a whole run of the plan; `None` if the plan sets no limit.
    pub fn time_limit(&self) -> Option<Duration> {
        parse_seconds(&self.plan_payload.other_fields.get("global_config")?["timeout"])
    }

    /// Returns the named values for placeholders that the plan sets in `global_config.env`; `None`
    /// if it sets none.
    pub fn placeholder_values(&self) -> Option<&Map<String, Json>> {
        self.plan_payload.other_fields.get("global_config")?["env"].as_object()
    }

    /// Changes fields of a node. A key of `changes` is the name of a field, or a dotted path such
    /// as `config.timeout`. Returns an error if the node does not exist, if the changed node is not
    /// valid, or if its id would change.
    pub fn change_node(&mut self, node: &str, changes: &Map<String, Json>) -> Result<(), PlanError> {
        let Some(index) = self.nodes.iter().position(|candidate| candidate.id == node) else {
            return Err(PlanError(message!("the plan has no node `{node}`")));
        };
        let old_node = serde_json::to_value(&self.nodes[index]).unwrap_or(Json::Null);
        let changes = Json::Object(changes.clone());
        // Validation by the rules applies changes with this same function, so both results are
        // equal.
        let limits = rulec_lang::limits::Limits::default();
        let arena = Arena::new(&limits);
        let updated = builtins::TABLE[Function::Updated as usize].implementation;
        let changed_node =
            updated(&[View::from_json(&old_node), View::from_json(&changes)], &arena).to_json();
        let changed: PlanNode = serde_json::from_value(changed_node)
            .map_err(|error| PlanError(message!("the changes of `{node}` leave no node: {error}")))?;
        if changed.id != node {
            return Err(PlanError(message!("the id of `{node}` cannot be changed")));
        }
        self.nodes[index] = changed;
        Ok(())
    }

    /// Returns the plan after the `suggested_changes` of `payload`: removes nodes, adds or replaces
    /// nodes, and adds edges or replaces edges with the same source and target. A node without an
    /// id gets its name as id. Returns an error if the changed plan is not valid.
    pub fn with_changes(&self, payload: &Json) -> Result<Plan, PlanError> {
        let changes = &payload["suggested_changes"];
        let list_of = |key: &str| changes[key].as_array().cloned().unwrap_or_default();
        let mut plan_payload = PlanPayload::from(self.clone());
        let removed: HashSet<String> =
            list_of("remove_nodes").iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
        plan_payload.nodes.retain(|node| !removed.contains(&node.id));
        plan_payload.edges.retain(|edge| !removed.contains(&edge.source) && !removed.contains(&edge.target));
        for mut node in list_of("add_nodes") {
            if node["node_id"].is_null() {
                node["node_id"] = node["name"].clone();
            }
            let to_error = |error| PlanError(message!("a node of `add_nodes` is none: {error}"));
            let node: PlanNode = serde_json::from_value(node).map_err(to_error)?;
            plan_payload.nodes.retain(|existing| existing.id != node.id);
            plan_payload.nodes.push(node);
        }
        for edge in list_of("update_edges") {
            let to_error = |error| PlanError(message!("an edge of `update_edges` is none: {error}"));
            let edge: PlanPayloadEdge = serde_json::from_value(edge).map_err(to_error)?;
            plan_payload
                .edges
                .retain(|existing| (&existing.source, &existing.target) != (&edge.source, &edge.target));
            plan_payload.edges.push(edge);
        }
        Plan::try_from(plan_payload)
    }
}

impl PlanNode {
    /// Returns the time limit of one attempt to run this node; `None` if the node sets no limit.
    pub fn time_limit(&self) -> Option<Duration> {
        parse_seconds(self.config.get("timeout")?)
    }

    /// Returns how often the node is tried again after a failure, before a recovery decision is
    /// requested. Also returns the pause between two attempts.
    pub fn retry_count_and_pause(&self) -> (u64, Duration) {
        let retry = self.other_fields.get(RETRY_FIELD).unwrap_or(&Json::Null);
        let max_retries = retry["max_retries"].as_u64().unwrap_or(0).min(MAX_ATTEMPTS);
        (max_retries, parse_seconds(&retry["retry_delay"]).unwrap_or_default())
    }
}

/// Name of the node field that contains the retry settings.
const RETRY_FIELD: &str = "retry_config";
/// Maximum number of retries of one node that a plan can request, and of attempts that a recovery
/// decision can request. A greater number is reduced to this one.
const MAX_ATTEMPTS: u64 = 100;
/// Longest time limit or pause that a plan can request, in seconds: one week.
const MAX_LIMIT_SECONDS: f64 = 7.0 * 24.0 * 3600.0;

/// Reads a positive number of seconds, capped at [`MAX_LIMIT_SECONDS`]. Returns `None` for any
/// other value.
fn parse_seconds(value: &Json) -> Option<Duration> {
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0)?;
    Some(Duration::from_secs_f64(seconds.min(MAX_LIMIT_SECONDS)))
}

/// How a run continues or ends after a node's failure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RecoveryAction {
    /// Runs the node again, at most `attempts` times, with the pause `delay` before each attempt.
    /// The fields in `changes` are changed first. `alternative_node` names another node that runs
    /// in place of the failed node; `None` to run the failed node.
    Retry { attempts: u64, delay: Duration, changes: Map<String, Json>, alternative_node: Option<String> },
    /// Skips the node: the run continues as if the node's output were an empty object.
    Skip,
    /// Ends the whole run.
    Abort,
    /// Continues the run with a changed plan. Contains the payload that describes the changes.
    Replan(Json),
}

impl RecoveryAction {
    /// Reads a recovery action from the payload of a validated decision of the kind `kind`. `None`
    /// if the payload contains no recovery action.
    pub fn from_payload(kind: &str, payload: &Json) -> Option<RecoveryAction> {
        if kind == REPLAN_KIND {
            return Some(RecoveryAction::Replan(payload.clone()));
        }
        let plan = payload.get("recovery_plan")?;
        let changes = plan["modifications"].as_object().cloned().unwrap_or_default();
        let alternative_node = plan["alternative_node"].as_str().map(str::to_owned);
        let delay = parse_seconds(&plan["delay"]).unwrap_or_default();
        let attempts = plan["max_attempts"].as_u64().unwrap_or(1).clamp(1, MAX_ATTEMPTS);
        Some(match plan["action"].as_str()? {
            "RETRY" => RecoveryAction::Retry { attempts, delay, changes, alternative_node },
            "MODIFY" => RecoveryAction::Retry { attempts: 1, delay, changes, alternative_node },
            "SKIP" if alternative_node.is_some() => {
                RecoveryAction::Retry { attempts: 1, delay, changes, alternative_node }
            }
            "SKIP" => RecoveryAction::Skip,
            _ => RecoveryAction::Abort,
        })
    }
}

/// The payload kind of a decision that changes a workflow during its run.
pub(super) const REPLAN_KIND: &str = "replan_workflow";

/// The progress of a run, which is saved so that the run can be resumed: its input, the nodes'
/// outputs, and the nodes that failed, were skipped or were not reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RunProgress {
    /// The input with which the run was started.
    pub input: Json,
    /// The nodes' outputs by node id; an empty object for each node that was skipped after a
    /// failure.
    pub outputs: BTreeMap<String, Json>,
    /// Ids of the nodes that did not run, because no edge to them was taken.
    pub unreached: Vec<String>,
    /// Number of failed attempts and the last error, by node id.
    pub failures: BTreeMap<String, (u64, String)>,
    /// Ids of the nodes that failed and were then skipped.
    pub skipped: Vec<String>,
}

impl RunProgress {
    /// Returns the failure of the node `node`, with facts about the run so far. The rules and the
    /// program's recovery function read these facts.
    pub fn node_failure(&self, workflow: &str, node: &str) -> NodeFailure {
        let no_failure = (0, String::new());
        let (attempts, reason) = self.failures.get(node).unwrap_or(&no_failure);
        let mut failure = NodeFailure::new(workflow, node, reason.clone());
        let outputs_with_status =
            self.outputs.iter().map(|(id, output)| (id.clone(), json!({"status": "done", "output": output})));
        let mut outputs: Map<String, Json> = outputs_with_status.collect();
        outputs.insert(node.to_owned(), json!({"status": "failed", "error": reason}));
        failure.execution_context = Map::from_iter([
            ("executed_nodes".to_owned(), json!(self.outputs.keys().collect::<Vec<_>>())),
            ("node_outputs".to_owned(), Json::Object(outputs)),
            ("failed_node_id".to_owned(), json!(node)),
            ("failed_attempts".to_owned(), json!(attempts)),
        ]);
        failure
    }
}
