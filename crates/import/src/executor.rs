//! Imports the tool that executes flows, from the object that also contains the flows:
//! `{"tools": [{"name": "flow_executor", "description", "parameters", "endpoint"}]}`.

use super::document::{Document, Statement};
use super::located::{JsonNode, Object, Read};
use super::write::{self, Names, quote_name, quote_string, shown};
use rulec_base::message;
use serde_json::Value as Json;

/// Name of the tool in the original, which the original's code looks up.
const EXECUTOR: &str = "flow_executor";
/// Name of the tool's only parameter.
const FLOW_ID: &str = "flow_id";

/// Returns the statement for the flow executor in `tools`; other tools are kept as comments.
pub(super) fn statement(object: &Object<'_>, document: &mut Document) -> Read<Option<Statement>> {
    let mut statement = None;
    for node in object.list("tools", &message!("tools"))? {
        let tool = node.object(&message!("a tool"))?;
        let called = tool.need("name", &message!("a tool"))?;
        let called = called.text()?;
        if called != EXECUTOR || statement.is_some() {
            document
                .notes
                .push(message!("the tool {} executes no flow; it is kept as a comment", shown(called)));
            document.header.push_str(&format!("\ntool: {}", write::format_value(node.value)));
            continue;
        }
        let read = executor(called, &tool, document);
        statement = Some(read.map_err(|refusal| refusal.at_node(&message!("tool"), &node, &["name"]))?);
    }
    Ok(statement)
}

fn executor(called: &str, tool: &Object<'_>, document: &mut Document) -> Read<Statement> {
    let description = tool.text("description")?.unwrap_or_default();
    let mut comments = Vec::new();
    let mut entries = Vec::new();
    if let Some(parameters) = tool.get("parameters") {
        let described = |node: &JsonNode<'_>| {
            Some(node.value.get("properties")?.get(FLOW_ID)?.get("description")?.as_str()?.to_owned())
        };
        if let Some(text) = described(&parameters).filter(|text| !text.is_empty()) {
            entries.push(format!("  parameter: {},\n", quote_string(&text)));
        }
        let properties = parameters.value.get("properties").and_then(Json::as_object);
        for (parameter, schema) in properties.into_iter().flatten().filter(|(name, _)| *name != FLOW_ID) {
            comments.push(format!("parameter {parameter}: {}", write::format_value(schema)));
            document.notes.push(message!(
                "the parameter {} of the tool is kept as a comment, because flows are executed by their id \
                alone",
                shown(parameter)
            ));
        }
    }
    if let Some(endpoint) = tool.get("endpoint") {
        let endpoint = endpoint.object(&message!("an endpoint"))?;
        endpoint.need("url", &message!("an endpoint"))?.text()?;
        let known: Vec<(&str, JsonNode<'_>)> = ["url", "method", "headers", "body"]
            .iter()
            .filter_map(|key| Some((*key, endpoint.get(key)?)))
            .collect();
        comments.extend(document.kept(&endpoint, &message!("the endpoint")));
        let fields: Vec<String> =
            known.iter().map(|(key, node)| format!("    {key}: {},\n", record(node.value, 4))).collect();
        entries.push(format!("  endpoint: {{\n{}  }},\n", fields.concat()));
    }
    comments.extend(document.kept(tool, &message!("the tool")));
    let called = quote_name(&Names::default().take(called));
    let description =
        if description.is_empty() { String::new() } else { format!(" {}", quote_string(description)) };
    let body = match entries.concat().as_str() {
        "" => format!("flow tool {called}{description} {{ }}"),
        entries => format!("flow tool {called}{description} {{\n{entries}}}"),
    };
    Ok(Statement { comments, body, ..Statement::default() })
}

/// Formats an object as a record literal; a long record has one entry per line.
fn record(json: &Json, indent: usize) -> String {
    let line = write::format_value(json);
    match json {
        Json::Object(map) if line.chars().count() > 60 => {
            let pad = " ".repeat(indent + 2);
            let entries: Vec<String> = map
                .iter()
                .map(|(name, json)| {
                    format!("{pad}{}: {},\n", write::format_key(name), record(json, indent + 2))
                })
                .collect();
            format!("{{\n{}{}}}", entries.concat(), " ".repeat(indent))
        }
        _ => line,
    }
}
