//! Imports the `context` of agent decisions: `{"workflows": {…}, "subagents": {…}, …}`. The rules
//! that validate these decisions are bundled with the library, and the context is the data that
//! they read.

use super::document::RulesDocument;
use super::located::{JsonNode, ObjectReader, ReadResult};
use super::report::ItemKind;
use rulec_base::message;
use serde_json::{Map, Value as Json, json};

/// Keys of the integer counters in the JSON object that the rules read as `context`: how much the
/// agent has already used, and how often a loop may run. A negative counter or one of a wrong type
/// ends the import with an error, even if the import is not strict. If the counter were left out
/// instead, the rules would reject every payload that its limit concerns.
const INTEGER_COUNTERS: [&str; 3] = ["requests_last_minute", "api_calls", "max_loop_iterations"];
/// Key of the amount that the agent has spent. Unlike the other counters, it may have a fraction.
const COST_KEY: &str = "cost";

pub(super) fn read_document(root: &JsonNode<'_>, document: &mut RulesDocument) -> ReadResult<()> {
    let object = root.as_object(&message!("the context of payloads"))?;
    let mut context = Map::new();
    for counter in INTEGER_COUNTERS.into_iter().chain([COST_KEY]) {
        if let Some(node) = object.get(counter) {
            let number = match counter {
                COST_KEY => node.as_number()?.as_f64().unwrap_or_default(),
                _ => node.as_int()? as f64,
            };
            if number < 0.0 {
                return node.refuse(message!("`{counter}` must not be below 0"));
            }
            context.insert(counter.to_owned(), node.value.clone());
        }
    }
    if let Some(node) = object.get("workflows") {
        let workflows = read_members(&node, ItemKind::Workflow, document, read_workflow)?;
        context.insert("workflows".to_owned(), workflows);
    }
    if let Some(node) = object.get("subagents") {
        let subagents = read_members(&node, ItemKind::Subagent, document, |node, _| {
            check_parameters(node)?;
            Ok(node.value.clone())
        })?;
        context.insert("subagents".to_owned(), subagents);
    }
    // The bundled rules ignore other members. An author's changed copy of these rules may read
    // them.
    for (key, node) in object.unread_members() {
        document.report.add_note(message!("the bundled rules do not read `{key}`"));
        context.insert(key.to_owned(), node.value.clone());
    }
    document.payload_context = Some(Json::Object(context));
    Ok(())
}

/// Reads each member of an object with `read`. Returns an object with the same keys, but without
/// the members that cannot be translated. The report lists these as skipped items of the kind
/// `kind`.
fn read_members(
    node: &JsonNode<'_>,
    kind: ItemKind,
    document: &mut RulesDocument,
    read: fn(&JsonNode<'_>, &mut RulesDocument) -> ReadResult<Json>,
) -> ReadResult<Json> {
    let members = node.as_object(&kind.to_message())?.members();
    let mut kept = Map::new();
    for (name, node) in members {
        if let Some((_, value)) =
            document.read_named_item(kind, &node, name, |document| read(&node, document))?
        {
            kept.insert(name.to_owned(), value);
        }
    }
    Ok(Json::Object(kept))
}

/// Reads a workflow that payloads may refer to. An invalid node is left out, so that no payload may
/// refer to this node. An invalid parameter is an error for the whole workflow, because the rules
/// would require too little of a payload without the parameter.
fn read_workflow(node: &JsonNode<'_>, document: &mut RulesDocument) -> ReadResult<Json> {
    let object = node.as_object(&message!("a workflow"))?;
    object.get_required("status", &message!("a workflow"))?.as_text()?;
    if let Some(inputs) = object.get("inputs") {
        check_parameters(&inputs)?;
    }
    let mut workflow = node.value.as_object().cloned().unwrap_or_default();
    for (key, effect) in [
        ("inputs", message!("no payload may pass a parameter to it")),
        ("nodes", message!("no payload may name a node of it")),
    ] {
        if object.get(key).is_none() {
            workflow.insert(key.to_owned(), json!({}));
            document.report.add_note(message!("the workflow has no `{key}`: {effect}"));
        }
    }
    if let Some(nodes) = object.get("nodes") {
        let mut kept = Map::new();
        for (id, node) in nodes.as_object(&message!("the nodes of a workflow"))?.members() {
            let part = check_workflow_node(&node);
            if document.part_or_skip(ItemKind::Node, id, part)?.is_some() {
                kept.insert(id.to_owned(), node.value.clone());
            }
        }
        workflow.insert("nodes".to_owned(), Json::Object(kept));
    }
    Ok(Json::Object(workflow))
}

fn check_workflow_node(node: &JsonNode<'_>) -> ReadResult<()> {
    let object = node.as_object(&message!("a node"))?;
    object.get_required("type", &message!("a node"))?.as_text()?;
    if let Some(config) = object.get("config") {
        config.as_object(&message!("the configuration of a node"))?;
    }
    Ok(())
}

/// Checks the declared parameters of a workflow or subagent. Returns an error unless they have the
/// form `{name: {"type", "required"}}`, where `required` is optional.
fn check_parameters(node: &JsonNode<'_>) -> ReadResult<()> {
    let parameters: ObjectReader<'_> = node.as_object(&message!("parameters"))?;
    for (_, node) in parameters.members() {
        let parameter = node.as_object(&message!("a parameter"))?;
        parameter.get_required("type", &message!("a parameter"))?.as_text()?;
        parameter.get_bool("required", false)?;
    }
    Ok(())
}
