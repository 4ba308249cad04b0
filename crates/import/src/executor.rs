//! Imports the tool that a language model calls to execute flows, from the object that also
//! contains the flows: `{"tools": [{"name": "flow_executor", "description", "parameters",
//! "endpoint"}]}`.

use super::document::{ImportedStatement, RulesDocument};
use super::located::{JsonNode, ObjectReader, ReadResult};
use super::report::ItemKind;
use super::write::{self, NameAllocator, quote_for_comment, quote_name, quote_string};
use rulec_base::message;
use serde_json::{Map, Value as Json, json};

/// Name of the tool that executes flows. The original system looks the tool up by this name.
pub(super) const EXECUTOR_NAME: &str = "flow_executor";
/// Name of the only parameter of the tool that executes flows.
const FLOW_ID_PARAMETER: &str = "flow_id";

/// Returns the statement that declares the tool for executing flows, read from the member `tools`.
/// `None` if no tool has the name [`EXECUTOR_NAME`]. Each other tool becomes a comment.
pub(super) fn read_executor_statement(
    object: &ObjectReader<'_>,
    document: &mut RulesDocument,
) -> ReadResult<Option<ImportedStatement>> {
    let mut statement = None;
    let tools = object.get_list("tools", &message!("tools"));
    let tools = document.part_or_skip(ItemKind::Tool, "", tools)?.unwrap_or_default();
    let mut others = document.skipped_elements(&tools);
    for (position, node) in tools.iter().enumerate() {
        let is_first = statement.is_none();
        let read = |document: &mut RulesDocument| read_tool(node, is_first, document);
        match document.read_item(ItemKind::Tool, node, &["name"], read)? {
            Some((item, Some(executor))) => {
                statement = Some(ImportedStatement { item_index: Some(item), ..executor });
            }
            Some((_, None)) => drop(others.insert(position.to_string(), node.value.clone())),
            None => {}
        }
    }
    if !others.is_empty() {
        document.kept_in_header.insert("tools".to_owned(), Json::Object(others));
    }
    Ok(statement)
}

/// Reads one member of the list `tools`. Returns its statement if it is the first tool named
/// [`EXECUTOR_NAME`]; `is_first` is true if no earlier tool has this name. Any other tool becomes a
/// comment, and the result is `None`.
fn read_tool(
    node: &JsonNode<'_>,
    is_first: bool,
    document: &mut RulesDocument,
) -> ReadResult<Option<ImportedStatement>> {
    let tool = node.as_object(&message!("a tool"))?;
    let tool_name = tool.get_required("name", &message!("a tool"))?;
    let tool_name = tool_name.as_text()?;
    if tool_name == EXECUTOR_NAME && is_first {
        return write_executor_statement(tool_name, &tool, document).map(Some);
    }
    let name = quote_for_comment(tool_name);
    document.report.add_note(message!("the tool {name} executes no flow; it is kept as a comment"));
    Ok(None)
}

fn write_executor_statement(
    tool_name: &str,
    tool: &ObjectReader<'_>,
    document: &mut RulesDocument,
) -> ReadResult<ImportedStatement> {
    let description = tool.get_text("description")?.unwrap_or_default();
    let mut kept = Map::new();
    let mut entries = Vec::new();
    if let Some(parameters) = tool.get("parameters") {
        let parameter_description = |node: &JsonNode<'_>| {
            Some(
                node.value
                    .get("properties")?
                    .get(FLOW_ID_PARAMETER)?
                    .get("description")?
                    .as_str()?
                    .to_owned(),
            )
        };
        let description = parameter_description(&parameters).filter(|text| !text.is_empty());
        if description.as_deref().map(parameters_schema).as_ref() != Some(parameters.value) {
            kept.insert("parameters".to_owned(), parameters.value.clone());
        }
        if let Some(text) = description {
            entries.push(format!("  parameter: {},\n", quote_string(&text)));
        }
        let properties = parameters.value.get("properties").and_then(Json::as_object);
        for (parameter, _) in properties.into_iter().flatten().filter(|(name, _)| *name != FLOW_ID_PARAMETER)
        {
            document.report.add_note(message!(
                "the parameter {} of the tool is kept as a comment, because flows are executed by their id \
                alone",
                quote_for_comment(parameter)
            ));
        }
    }
    if let Some(endpoint) = tool.get("endpoint") {
        let endpoint = endpoint.as_object(&message!("an endpoint"))?;
        endpoint.get_required("url", &message!("an endpoint"))?.as_text()?;
        let known_fields: Vec<(&str, JsonNode<'_>)> = ["url", "method", "headers", "body"]
            .iter()
            .filter_map(|key| Some((*key, endpoint.get(key)?)))
            .collect();
        let unread = document.collect_unread_members(&endpoint, &message!("the endpoint"));
        if !unread.is_empty() {
            kept.insert("endpoint".to_owned(), Json::Object(unread));
        }
        let fields: Vec<String> = known_fields
            .iter()
            .map(|(key, node)| format!("    {key}: {},\n", format_record(node.value, 4)))
            .collect();
        entries.push(format!("  endpoint: {{\n{}  }},\n", fields.concat()));
    }
    kept.extend(document.collect_unread_members(tool, &message!("the tool")));
    let comments = document.kept_comment(&kept).into_iter().collect();
    let tool_name = quote_name(&NameAllocator::default().unique_name(tool_name));
    let description =
        if description.is_empty() { String::new() } else { format!(" {}", quote_string(description)) };
    let body = match entries.concat().as_str() {
        "" => format!("flow tool {tool_name}{description} {{ }}"),
        entries => format!("flow tool {tool_name}{description} {{\n{entries}}}"),
    };
    Ok(ImportedStatement { comments, body, ..ImportedStatement::default() })
}

/// Returns the JSON schema of the tool's parameters, for this description of its only parameter.
pub(super) fn parameters_schema(description: &str) -> Json {
    json!({
        "type": "object",
        "properties": {FLOW_ID_PARAMETER: {"type": "string", "description": description}},
        "required": [FLOW_ID_PARAMETER],
    })
}

/// Returns `schema`, the JSON schema of the tool's parameters that an import stored in a comment,
/// with `description` as the description of the parameter `flow_id`. `None` if the schema has no
/// such parameter.
pub(super) fn schema_with_description(mut schema: Json, description: &str) -> Option<Json> {
    let parameter = schema.get_mut("properties")?.get_mut(FLOW_ID_PARAMETER)?.as_object_mut()?;
    parameter.insert("description".to_owned(), json!(description));
    Some(schema)
}

/// Formats a JSON object as a record literal of the rules. A long record has one member per line,
/// indented by two spaces more than `indent`.
fn format_record(json: &Json, indent: usize) -> String {
    let line = write::format_value(json);
    match json {
        Json::Object(map) if line.chars().count() > 60 => {
            let pad = " ".repeat(indent + 2);
            let entries: Vec<String> = map
                .iter()
                .map(|(name, json)| {
                    format!("{pad}{}: {},\n", write::format_key(name), format_record(json, indent + 2))
                })
                .collect();
            format!("{{\n{}{}}}", entries.concat(), " ".repeat(indent))
        }
        _ => line,
    }
}
