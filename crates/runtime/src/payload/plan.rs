//! A plan as a payload proposes it: nodes, the edges between them with their conditions, and what they are changed by.

use super::NodeFailure;
use rulec::condition::Condition;
use rulec_lang::arena::Arena;
use rulec_lang::builtins::{self, Function};
use rulec_lang::value::Value as View;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use thiserror::Error;

/// A plan that may be run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub(super) struct Plan {
    /// The plan as a payload, which it was read from.
    written: Written,
    pub nodes: Vec<PlanNode>,
    pub edges: Vec<PlanEdge>,
}

/// The fields of a plan's payload that mean something here; all others are kept as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Written {
    #[serde(default)]
    nodes: Vec<PlanNode>,
    #[serde(default)]
    edges: Vec<WrittenEdge>,
    #[serde(flatten)]
    others: Map<String, Json>,
}

/// A node of a plan.
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
    others: Map<String, Json>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct WrittenEdge {
    source: String,
    target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
}

/// An edge of a plan.
#[derive(Clone, Debug)]
pub(super) struct PlanEdge {
    pub from: String,
    pub to: String,
    pub condition: Option<Condition>,
}

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PlanError(pub(super) String);

impl TryFrom<Written> for Plan {
    type Error = PlanError;

    fn try_from(written: Written) -> Result<Plan, PlanError> {
        let mut ids = HashSet::new();
        for node in &written.nodes {
            if !ids.insert(node.id.as_str()) {
                return Err(PlanError(format!("two nodes are called `{}`; rename one of them", node.id)));
            }
        }
        if written.nodes.is_empty() {
            return Err(PlanError("the plan has no nodes; add one".to_owned()));
        }
        let edge = |(at, edge): (usize, &WrittenEdge)| {
            for end in [&edge.source, &edge.target] {
                if !ids.contains(end.as_str()) {
                    return Err(PlanError(format!(
                        "edge {at} names `{end}`, which is no node; use a `node_id`"
                    )));
                }
            }
            let compile = |text: &String| {
                Condition::compile(text).map_err(|error| {
                    let help = error.help.map_or_else(String::new, |help| format!("; {help}"));
                    PlanError(format!("the condition `{text}` of edge {at} is none: {}{help}", error.message))
                })
            };
            let condition = edge.condition.as_ref().map(compile).transpose()?;
            Ok(PlanEdge { from: edge.source.clone(), to: edge.target.clone(), condition })
        };
        let edges = written.edges.iter().enumerate().map(edge).collect::<Result<_, _>>()?;
        Ok(Plan { nodes: written.nodes.clone(), edges, written })
    }
}

impl From<Plan> for Written {
    fn from(plan: Plan) -> Written {
        Written { nodes: plan.nodes, ..plan.written }
    }
}

impl Plan {
    /// Reads the payload of a plan, which has been judged.
    pub fn read(payload: &Json) -> Result<Plan, PlanError> {
        serde_json::from_value(payload.clone())
            .map_err(|error| PlanError(format!("this is no plan: {error}")))
    }

    /// The plan of one node.
    pub fn of_node(payload: &Json) -> Result<Plan, PlanError> {
        let name = &payload["node_name"];
        let mut node = json!({
            "node_id": name, "name": name, "type": payload["node_type"], "config": payload["config"],
        });
        if payload[RETRY].is_object() {
            node[RETRY] = payload[RETRY].clone();
        }
        Plan::read(&json!({"name": name, "description": name, "nodes": [node], "edges": []}))
    }

    /// The same, its nodes tried again as often as those of another: no rule for plans knows of that.
    #[must_use]
    pub fn with_retries_of(mut self, other: &Plan) -> Plan {
        for node in &mut self.nodes {
            if let Some(retry) = other.node(&node.id).and_then(|node| node.others.get(RETRY)) {
                node.others.insert(RETRY.to_owned(), retry.clone());
            }
        }
        self
    }

    /// The payload that the plan was read from, with its changes.
    pub fn payload(&self) -> Json {
        serde_json::to_value(self).unwrap_or(Json::Null)
    }

    /// The plan as the context of judges describes a workflow.
    pub fn described(&self, status: &str) -> Json {
        let nodes: Map<String, Json> = self
            .nodes
            .iter()
            .map(|node| (node.id.clone(), json!({"type": node.kind, "config": node.config})))
            .collect();
        json!({"status": status, "inputs": self.inputs(), "nodes": nodes})
    }

    /// The values that a run may be given: those that placeholders name and the plan itself does not have.
    fn inputs(&self) -> Map<String, Json> {
        let mut inputs = Map::new();
        for node in &self.nodes {
            let mapping = node.input_mapping.as_ref();
            let texts =
                [Some(&node.config), mapping].into_iter().flatten().map(|fields| json!(fields).to_string());
            for text in texts {
                let names = text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.trim()));
                for name in names.map(|path| path.split('.').next().unwrap_or(path)) {
                    let known = self.node(name).is_some()
                        || mapping.is_some_and(|mapping| mapping.contains_key(name))
                        || self.values().is_some_and(|values| values.contains_key(name));
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

    /// The ids of the nodes that come before a node: those from which edges lead to it, over others or directly.
    pub fn before<'p>(&'p self, node: &'p str) -> HashSet<&'p str> {
        let mut before = HashSet::new();
        let mut ends = vec![node];
        while let Some(end) = ends.pop() {
            let edges = self.edges.iter().filter(|edge| edge.to == end);
            ends.extend(edges.map(|edge| edge.from.as_str()).filter(|from| before.insert(*from)));
        }
        before
    }

    /// The time for a whole run.
    pub fn time_limit(&self) -> Option<Duration> {
        seconds(&self.written.others.get("global_config")?["timeout"])
    }

    /// The values that the plan gives its placeholders.
    pub fn values(&self) -> Option<&Map<String, Json>> {
        self.written.others.get("global_config")?["env"].as_object()
    }

    /// Changes a node: `config`, a dotted key such as `config.timeout`, or another of its fields.
    pub fn change(&mut self, node: &str, changes: &Map<String, Json>) -> Result<(), PlanError> {
        let Some(at) = self.nodes.iter().position(|known| known.id == node) else {
            return Err(PlanError(format!("the plan has no node `{node}`")));
        };
        let before = serde_json::to_value(&self.nodes[at]).unwrap_or(Json::Null);
        let changes = Json::Object(changes.clone());
        // As the rules that judged the changes make them.
        let limits = rulec_lang::limits::Limits::default();
        let arena = Arena::new(&limits);
        let updated = builtins::TABLE[Function::Updated as usize].meaning;
        let after = updated(&[View::from_json(&before), View::from_json(&changes)], &arena).to_json();
        let changed: PlanNode = serde_json::from_value(after)
            .map_err(|error| PlanError(format!("the changes of `{node}` leave no node: {error}")))?;
        if changed.id != node {
            return Err(PlanError(format!("the id of `{node}` cannot be changed")));
        }
        self.nodes[at] = changed;
        Ok(())
    }

    /// The plan after the `suggested_changes` of a payload: nodes removed and added, edges added or, where
    /// both ends are the same, replaced. A node without an id is called after its name.
    pub fn replanned(&self, payload: &Json) -> Result<Plan, PlanError> {
        let changes = &payload["suggested_changes"];
        let list = |key: &str| changes[key].as_array().cloned().unwrap_or_default();
        let mut written = Written::from(self.clone());
        let removed: HashSet<String> =
            list("remove_nodes").iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
        written.nodes.retain(|node| !removed.contains(&node.id));
        written.edges.retain(|edge| !removed.contains(&edge.source) && !removed.contains(&edge.target));
        for mut node in list("add_nodes") {
            if node["node_id"].is_null() {
                node["node_id"] = node["name"].clone();
            }
            let wrong = |error| PlanError(format!("a node of `add_nodes` is none: {error}"));
            let node: PlanNode = serde_json::from_value(node).map_err(wrong)?;
            written.nodes.retain(|known| known.id != node.id);
            written.nodes.push(node);
        }
        for edge in list("update_edges") {
            let wrong = |error| PlanError(format!("an edge of `update_edges` is none: {error}"));
            let edge: WrittenEdge = serde_json::from_value(edge).map_err(wrong)?;
            written.edges.retain(|known| (&known.source, &known.target) != (&edge.source, &edge.target));
            written.edges.push(edge);
        }
        Plan::try_from(written)
    }
}

impl PlanNode {
    /// The time for one attempt.
    pub fn time_limit(&self) -> Option<Duration> {
        seconds(self.config.get("timeout")?)
    }

    /// The times it is tried again before anybody is asked, and the pause between.
    pub fn retries(&self) -> (u64, Duration) {
        let retry = self.others.get(RETRY).unwrap_or(&Json::Null);
        let times = retry["max_retries"].as_u64().unwrap_or(0).min(MAX_ATTEMPTS);
        (times, seconds(&retry["retry_delay"]).unwrap_or_default())
    }
}

/// The field that says how often a node is tried again.
const RETRY: &str = "retry_config";
/// The most attempts that a plan or a recovery can ask for at once.
const MAX_ATTEMPTS: u64 = 100;
/// The longest time that a plan can ask for.
const LONGEST: f64 = 7.0 * 24.0 * 3600.0;

/// A positive number of seconds.
fn seconds(value: &Json) -> Option<Duration> {
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0)?;
    Some(Duration::from_secs_f64(seconds.min(LONGEST)))
}

/// The thing to be done about a node that failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Recovery {
    /// Try again so often, changed, after a pause; another node's work may take its place.
    Retry { attempts: u64, delay: Duration, changes: Map<String, Json>, instead: Option<String> },
    /// Go on as if it had put out an empty object.
    Skip,
    /// End the run.
    Abort,
    /// Go on by another plan.
    Replan(Json),
}

impl Recovery {
    /// Reads the payload of a decision that has been judged; none when its kind is no recovery.
    pub fn read(kind: &str, payload: &Json) -> Option<Recovery> {
        if kind == REPLAN {
            return Some(Recovery::Replan(payload.clone()));
        }
        let plan = payload.get("recovery_plan")?;
        let changes = plan["modifications"].as_object().cloned().unwrap_or_default();
        let instead = plan["alternative_node"].as_str().map(str::to_owned);
        let delay = seconds(&plan["delay"]).unwrap_or_default();
        let attempts = plan["max_attempts"].as_u64().unwrap_or(1).clamp(1, MAX_ATTEMPTS);
        Some(match plan["action"].as_str()? {
            "RETRY" => Recovery::Retry { attempts, delay, changes, instead },
            "MODIFY" => Recovery::Retry { attempts: 1, delay, changes, instead },
            "SKIP" if instead.is_some() => Recovery::Retry { attempts: 1, delay, changes, instead },
            "SKIP" => Recovery::Skip,
            _ => Recovery::Abort,
        })
    }
}

/// The kind of payload that plans anew.
pub(super) const REPLAN: &str = "replan_workflow";

/// The facts of a run that are kept: what was put in, what each node has put out, and what became of the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The input of the run.
    pub input: Json,
    /// The outputs of the nodes that have run, and empty objects for those that were skipped on failure.
    pub outputs: BTreeMap<String, Json>,
    /// The nodes that no taken edge leads to.
    pub unreached: Vec<String>,
    /// The times that each node has failed, and what it said last.
    pub failures: BTreeMap<String, (u64, String)>,
    /// The nodes that were skipped because they failed.
    pub skipped: Vec<String>,
}

impl Progress {
    /// The failure of a node, with what a judge and a planner want to know of the run.
    pub fn failure(&self, workflow: &str, node: &str) -> NodeFailure {
        let nothing = (0, String::new());
        let (attempts, reason) = self.failures.get(node).unwrap_or(&nothing);
        let mut failure = NodeFailure::new(workflow, node, reason.clone());
        let done =
            self.outputs.iter().map(|(id, output)| (id.clone(), json!({"status": "done", "output": output})));
        let mut outputs: Map<String, Json> = done.collect();
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
