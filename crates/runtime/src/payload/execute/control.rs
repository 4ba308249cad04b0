//! Runs the two node types of a plan that the engine executes itself, without code of the program.
//! A `CONDITION` node evaluates a condition, and a `LOOP` node runs the node in its `body` several
//! times.

use super::super::plan::{Plan, PlanError, PlanNode};
use super::super::usage::HTTP_NODE_KIND;
use super::{RunSettings, RunState};
use rulec::condition::Condition;
use rulec_base::diag::Message;
use rulec_base::message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// The type of a node that evaluates a condition and outputs the result.
pub(in super::super) const CONDITION_KIND: &str = "CONDITION";
/// The type of a node that runs another node several times.
pub(in super::super) const LOOP_KIND: &str = "LOOP";

/// The config field of a `LOOP` node that contains the node to repeat.
const BODY_FIELD: &str = "body";
/// The two names of the config field of a `CONDITION` or `LOOP` node that contains the condition.
/// If both fields are set, the first one applies.
const CONDITION_FIELDS: [&str; 2] = ["condition", "expression"];
/// The two names of the config field of a `LOOP` node that contains the list to iterate over. If
/// both fields are set, the first one applies.
const LIST_FIELDS: [&str; 2] = ["items", "collection"];
/// The config fields of a `LOOP` node that limit its rounds. If both are set, the smaller number
/// applies.
const MAX_ROUNDS_FIELDS: [&str; 2] = ["iterations", "max_iterations"];

/// The node that a `LOOP` node repeats, as the config field `body` describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopBody {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    config: Map<String, Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_mapping: Option<Map<String, Json>>,
}

/// The settings of a `LOOP` node, after the placeholders in its list and its numbers are filled.
pub(super) struct LoopSettings {
    /// The node that runs in each round. Its placeholders are filled in each round.
    pub body: PlanNode,
    items: Option<Vec<Json>>,
    /// The number of rounds that the config of the `LOOP` node allows: the minimum of the length of
    /// its list and its numbers of rounds. `None` if the config has neither a list nor a number.
    max_rounds: Option<u64>,
    condition: Option<Condition>,
}

/// Returns the node without its condition and its loop body, so that the placeholders in the rest
/// of its config can be filled. In the condition, `${a.b}` must stay, because the engine evaluates
/// it as a name; a value in its place could change the condition. The body of a loop is filled in
/// each round.
pub(super) fn without_control_fields(node: &PlanNode) -> PlanNode {
    let mut node = node.clone();
    node.config.retain(|name, _| *name != BODY_FIELD && !CONDITION_FIELDS.contains(&&**name));
    node
}

/// Checks the config of a `CONDITION` or `LOOP` node before the plan runs. Returns an error if the
/// node cannot run with this config.
pub(super) fn check_control_config(node: &PlanNode, settings: &RunSettings) -> Result<(), PlanError> {
    let known: &[&str] = match &*node.kind {
        CONDITION_KIND => &["timeout"],
        _ => &[
            BODY_FIELD,
            "timeout",
            LIST_FIELDS[0],
            LIST_FIELDS[1],
            MAX_ROUNDS_FIELDS[0],
            MAX_ROUNDS_FIELDS[1],
        ],
    };
    let is_known = |name: &String| known.contains(&&**name) || CONDITION_FIELDS.contains(&&**name);
    let refused = |why: Message| PlanError(message!("`{}` cannot run: {why}", node.id));
    if let Some(name) = node.config.keys().find(|name| !is_known(name)) {
        let kind = &node.kind;
        return Err(refused(message!("a {kind} node has no `config.{name}`; leave it out")));
    }
    let condition = read_condition(node).map_err(refused)?;
    if node.kind == CONDITION_KIND {
        return match condition {
            Some(_) => Ok(()),
            None => {
                Err(refused(message!("it has no `config.condition`; write one, such as \"amount > 100\"")))
            }
        };
    }
    let body = read_body(node).map_err(refused)?;
    match settings.work_by_node_kind.get(&body.kind) {
        Some(super::NodeWork::Processor(_)) => Ok(()),
        Some(_) => Err(refused(message!(
            "its body is a {}, which cannot be repeated; repeat a node that does work",
            body.kind
        ))),
        None => Err(super::unknown_kind_error(&body.kind, &node.id, settings)),
    }
}

fn read_condition(node: &PlanNode) -> Result<Option<Condition>, Message> {
    let Some(value) = CONDITION_FIELDS.iter().find_map(|name| node.config.get(*name)) else {
        return Ok(None);
    };
    let text = value.as_str().ok_or_else(|| message!("its condition must be a text"))?;
    match Condition::compile(text) {
        Ok(condition) => Ok(Some(condition)),
        Err(error) => Err(message!("its condition `{text}` is not valid: {}", error.message)),
    }
}

fn read_body(node: &PlanNode) -> Result<PlanNode, Message> {
    let no_body =
        || message!("a loop needs a `config.body` with the `type` and `config` of a node to repeat");
    let body = node.config.get(BODY_FIELD).ok_or_else(no_body)?;
    let LoopBody { kind, config, input_mapping } =
        LoopBody::deserialize(body).map_err(|error| message!("`config.body` is not a node: {error}"))?;
    Ok(PlanNode { id: node.id.clone(), kind, config, input_mapping, ..PlanNode::default() })
}

/// Reads a number of rounds. Rules accept any number without a fraction, such as `3.0`, so this
/// function accepts such numbers too. `None` for any other value.
fn parse_round_count(value: &Json) -> Option<u64> {
    // A number outside of this range is refused, because its conversion would saturate.
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..u64::MAX as f64).contains(number);
    value.as_u64().or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
}

/// Evaluates a `CONDITION` node. Returns the fields of the input, and the field `result` with true
/// or false. An error if the condition is missing or does not compile.
pub(super) fn evaluate_condition(state: &RunState, node: &PlanNode, input: &Json) -> Result<Json, String> {
    let condition = read_condition(node).map_err(|error| error.to_string())?;
    let condition = condition.ok_or("it has no condition")?;
    let mut fields = input.as_object().cloned().unwrap_or_default();
    fields
        .insert("result".to_owned(), condition.holds(&state.edge_condition_message(&node.id, input)).into());
    Ok(Json::Object(fields))
}

impl LoopSettings {
    /// Reads the settings of a `LOOP` node: the condition and the body from `node`, the list and
    /// the numbers of rounds from `filled_config`, where placeholders are filled. Returns an error
    /// if a setting is invalid, or if nothing ends the loop.
    pub fn read(node: &PlanNode, filled_config: &Json) -> Result<LoopSettings, String> {
        let body = read_body(node).map_err(|error| error.to_string())?;
        let condition = read_condition(node).map_err(|error| error.to_string())?;
        let items = LIST_FIELDS.iter().find_map(|name| filled_config.get(*name));
        let items = match items {
            None => None,
            Some(Json::Array(items)) => Some(items.clone()),
            Some(other) => return Err(format!("a loop goes through a list, and not through {other}")),
        };
        let mut bound = items.as_ref().map(|items| items.len() as u64);
        for name in MAX_ROUNDS_FIELDS {
            let Some(value) = filled_config.get(name) else { continue };
            let rounds =
                parse_round_count(value).ok_or_else(|| format!("`config.{name}` must be a whole number"))?;
            bound = Some(bound.map_or(rounds, |bound| bound.min(rounds)));
        }
        if bound.is_none() && condition.is_none() {
            return Err("nothing ends this loop; give `items`, `iterations` or a `condition`".to_owned());
        }
        Ok(LoopSettings { body, items, max_rounds: bound, condition })
    }

    /// Returns the number of rounds that the loop's config allows; `u64::MAX` if only the loop's
    /// condition ends the loop. The caller ends every loop after `limit` rounds.
    ///
    /// # Errors
    /// If the config of a loop without a condition allows more than `limit` rounds.
    pub fn rounds_within(&self, limit: u64) -> Result<u64, String> {
        match self.max_rounds {
            Some(bound) if bound > limit && self.condition.is_none() => {
                Err(format!("the loop has {bound} rounds, and at most {limit} are allowed"))
            }
            bound => Ok(bound.unwrap_or(u64::MAX)),
        }
    }

    /// Returns the input of the node that a loop repeats: the loop's input with up to three more
    /// fields. `index` is the number of the round from 0. `item` is the list item of the round, if
    /// the loop has a list. `last` is the output of the previous round, if there was one.
    pub fn round_input(&self, input: &Json, index: u64, last: Option<&Json>) -> Json {
        let mut fields = input.as_object().cloned().unwrap_or_default();
        fields.insert("index".to_owned(), index.into());
        let item = usize::try_from(index).ok().and_then(|index| self.items.as_ref()?.get(index));
        fields.extend(item.map(|item| ("item".to_owned(), item.clone())));
        fields.extend(last.map(|last| ("last".to_owned(), last.clone())));
        Json::Object(fields)
    }

    /// True if the loop has no condition, or if the condition is true after a round with this input
    /// and this output.
    pub fn should_continue(&self, state: &RunState, round_input: &Json, output: &Json) -> bool {
        let mut fields = round_input.as_object().cloned().unwrap_or_default();
        fields.insert("last".to_owned(), output.clone());
        let message = || state.edge_condition_message(&self.body.id, &Json::Object(fields));
        self.condition.as_ref().is_none_or(|condition| condition.holds(&message()))
    }
}

impl Plan {
    /// Returns the plan as a payload in which the body of each loop is also a separate node after
    /// the loop. So the rules validate a body like any other node.
    pub fn to_payload_with_bodies(&self) -> Json {
        let mut payload = self.to_payload();
        for node in self.nodes.iter().filter(|node| node.kind == LOOP_KIND) {
            let Ok(body) = read_body(node) else { continue };
            let id = self.loop_body_id(node);
            let edge = json!({"source": node.id, "target": id});
            let written = json!({"node_id": id, "name": id, "type": body.kind, "config": body.config});
            for (field, value) in [("nodes", written), ("edges", edge)] {
                if let Some(list) = payload[field].as_array_mut() {
                    list.push(value);
                }
            }
        }
        payload
    }

    /// Returns the number of loops whose body makes HTTP requests.
    pub fn http_body_count(&self) -> u64 {
        let loops = self.nodes.iter().filter(|node| node.kind == LOOP_KIND);
        loops.filter(|node| read_body(node).is_ok_and(|body| body.kind == HTTP_NODE_KIND)).count() as u64
    }

    /// Reads a plan from a payload that [`Plan::to_payload_with_bodies`] wrote and the rules may
    /// have corrected. The corrected bodies replace the loop bodies of `self`. Returns an error if
    /// the corrected payload is no valid plan.
    pub fn plan_with_bodies(&self, payload: &Json) -> Result<Plan, PlanError> {
        let mut payload = payload.clone();
        for node in self.nodes.iter().filter(|node| node.kind == LOOP_KIND) {
            let id = self.loop_body_id(node);
            let Some(nodes) = payload["nodes"].as_array_mut() else { continue };
            let Some(at) = nodes.iter().position(|other| other["node_id"] == id) else { continue };
            let config = nodes.remove(at)["config"].take();
            let own = nodes.iter_mut().find(|other| other["node_id"] == node.id);
            if let Some(body) = own.and_then(|own| own.pointer_mut("/config/body")) {
                body["config"] = config;
            }
            if let Some(edges) = payload["edges"].as_array_mut() {
                edges.retain(|edge| edge["target"] != id);
            }
        }
        Plan::from_payload(&payload)
    }

    /// Returns the id that the body of a loop has while the rules validate it. No other node has
    /// this id.
    fn loop_body_id(&self, node: &PlanNode) -> String {
        let mut id = format!("{}.body", node.id);
        while self.node(&id).is_some() {
            id.push('_');
        }
        id
    }
}
