//! Imports message routes from JSON: `[{"name", "priority", "condition", "handler", "metadata"},
//! …]`, or an object with `routes` and optionally the `default` handler.

use super::condition::ConditionFacts;
use super::derived::{LENGTH_STATEMENT, urgency_statements};
use super::document::{ImportedStatement, RulesDocument};
use super::export::export_route_conditions;
use super::handlers::UsedHandlers;
use super::located::{JsonNode, ReadResult};
use super::report::ItemKind;
use super::write::{self, NameAllocator, quote_for_comment, quote_name};
use rulec_base::message;
use serde_json::{Map, Value as Json, json};

pub(super) fn read_document(root: &JsonNode<'_>, document: &mut RulesDocument) -> ReadResult<()> {
    document.header = "Routes of a message router, imported from its JSON.\n\
                 They are tried by priority, greatest first, then in this order; the first that holds is chosen."
        .to_owned();
    let mut default = None;
    let routes = if root.value.is_array() {
        root.as_list(&message!("routes"))?
    } else {
        let object = root.as_object(&message!("a list of routes, or an object with `routes`"))?;
        let routes =
            object.get_required("routes", &message!("the document"))?.as_list(&message!("routes"))?;
        if let Some(node) = object.get("default") {
            default = document.part_or_skip(ItemKind::Default, "", read_handler(&node))?;
            if default.is_none() {
                document.kept_in_header.insert("default".to_owned(), node.value.clone());
            }
        }
        document.keep_unread_in_header(&object);
        routes
    };

    let mut facts = ConditionFacts::default();
    let mut handlers = UsedHandlers::default();
    let mut names = NameAllocator::reserving(&["default", "none"]);
    let mut imported_routes = Vec::new();
    for node in &routes {
        let read = |document: &mut RulesDocument| {
            let route = read_route(node, &mut facts, &mut names, document)?;
            handlers.record_handler(&route.handler, node)?;
            Ok(route)
        };
        imported_routes.extend(document.read_item(ItemKind::Route, node, &["name"], read)?);
    }
    document.keep_skipped_in_header("routes", &routes);
    handlers.declare_handlers(default.as_deref(), document);
    add_derived_values(&facts, document);
    let conditions: Vec<String> =
        imported_routes.iter().map(|(_, route)| facts.write_route_condition(&route.condition)).collect();
    let mut written = export_conditions(&facts, &conditions).into_iter();
    for ((item, route), condition) in imported_routes.into_iter().zip(conditions) {
        let ImportedRoute {
            statement_head: head,
            written_target: target,
            mut comments,
            docs,
            original_condition: original,
            kept_members: mut kept,
            ..
        } = route;
        // If an export would write the condition differently, a comment keeps the original.
        if written.next().flatten().as_ref() != Some(&original) {
            kept.insert("condition".to_owned(), original);
        }
        comments.extend(document.kept_comment(&kept));
        let one_line = format!("{head} when {condition} -> {target}");
        let body = if one_line.chars().count() <= 80 && !condition.contains('\n') {
            one_line
        } else {
            format!("{head}\n  when {condition}\n  -> {target}")
        };
        let item_index = Some(item);
        document.statements.push(ImportedStatement {
            comments,
            docs,
            body,
            item_index,
            ..ImportedStatement::default()
        });
    }
    if let Some(handler) = default {
        let body = format!("default -> {handler}");
        document.statements.push(ImportedStatement { body, ..ImportedStatement::default() });
    }
    document.add_input_if_empty("There was no route.");
    Ok(())
}

/// Returns the JSON that an export writes for each of `conditions`, which are in rule syntax. An
/// element is `None` if an export cannot write the condition. `facts` says which derived values,
/// such as the message's length, the conditions use.
fn export_conditions(facts: &ConditionFacts, conditions: &[String]) -> Vec<Option<Json>> {
    let mut statements = Vec::new();
    if facts.reads_length {
        statements.push(LENGTH_STATEMENT.to_owned());
    }
    if facts.reads_urgency {
        statements.extend(urgency_statements());
    }
    let route = |(index, condition): (usize, &String)| format!("route r{index} when {condition} -> h");
    statements.extend(conditions.iter().enumerate().map(route));
    export_route_conditions(&statements.join("\n"))
}

struct ImportedRoute {
    statement_head: String,
    condition: super::condition::Formula,
    /// The condition of the route, as it is in the JSON document.
    original_condition: Json,
    /// The JSON members of the route that rules cannot express. A comment stores them for a later
    /// export.
    kept_members: Map<String, Json>,
    handler: String,
    written_target: String,
    comments: Vec<String>,
    docs: String,
}

fn read_route(
    node: &JsonNode<'_>,
    facts: &mut ConditionFacts,
    names: &mut NameAllocator,
    document: &mut RulesDocument,
) -> ReadResult<ImportedRoute> {
    let object = node.as_object(&message!("a route"))?;
    let node = object.get_required("name", &message!("a route"))?;
    let original = node.as_text()?;
    if original.is_empty() {
        return node.refuse(message!("a route needs a name"));
    }
    let new_name = names.unique_name(original);
    document.record_rename(&new_name, original);
    let mut comments = Vec::new();
    if new_name != original {
        comments.push(format!("Named {} in the original.", quote_for_comment(original)));
        document.add_rename_note(&new_name, original);
    }
    let priority = object.get("priority").map(|node| node.as_int()).transpose()?.unwrap_or(0);
    let handler = read_handler(&object.get_required("handler", &message!("a route"))?)?;
    let metadata = match object.get("metadata") {
        Some(node) => read_metadata(&node)?,
        None => String::new(),
    };
    let condition_node = object.get_required("condition", &message!("a route"))?;
    let condition = facts.read_formula(&condition_node)?;
    let remarks = std::mem::take(&mut facts.remarks);
    comments.extend(remarks.iter().map(ToString::to_string));
    remarks.into_iter().for_each(|remark| document.report.add_note(remark));
    let docs = object.get_text("description")?.unwrap_or_default().to_owned();
    let of = message!("the route {}", quote_for_comment(original));
    let mut kept = document.collect_unread_members(&object, &of);
    if new_name != original {
        kept.insert("name".to_owned(), json!(original));
    }
    if write::imported_doc_text(&docs) != docs {
        kept.insert("description".to_owned(), Json::from(&*docs));
    }
    let priority = if priority == 0 { String::new() } else { format!(" priority {priority}") };
    Ok(ImportedRoute {
        statement_head: format!("route {}{priority}", quote_name(&new_name)),
        condition,
        original_condition: condition_node.value.clone(),
        kept_members: kept,
        written_target: format!("{handler}{metadata}"),
        handler,
        comments,
        docs,
    })
}

fn read_handler(node: &JsonNode<'_>) -> ReadResult<String> {
    match node.as_text()? {
        text if text.is_empty() || text.contains(['`', '\n', '\r']) => {
            node.refuse(message!("{} cannot be a handler's name", quote_for_comment(text)))
        }
        // A `goto` without backquotes after the arrow would be parsed as a jump.
        "goto" => Ok("`goto`".to_owned()),
        text => Ok(quote_name(text)),
    }
}

fn read_metadata(node: &JsonNode<'_>) -> ReadResult<String> {
    let Some(map) = node.value.as_object() else {
        return node.refuse(message!("metadata must be an object"));
    };
    if map.is_empty() {
        return Ok(String::new());
    }
    let line = write::format_value(node.value);
    if line.chars().count() <= 70 {
        return Ok(format!(" {line}"));
    }
    let entries: Vec<String> = map
        .iter()
        .map(|(name, json)| format!("    {}: {},\n", write::format_key(name), write::format_value(json)))
        .collect();
    Ok(format!(" {{\n{}  }}", entries.concat()))
}

/// Adds `let` statements for the message's length and urgency, if conditions use them. Each `let`
/// takes the value from the context `ctx`, or computes it from the message text if `ctx` has no
/// value.
fn add_derived_values(facts: &ConditionFacts, document: &mut RulesDocument) {
    let mut add_statement = |comment: &str, body: String, is_adjacent: bool| {
        let comments = if comment.is_empty() { Vec::new() } else { vec![comment.to_owned()] };
        document.statements.push(ImportedStatement {
            comments,
            body,
            is_adjacent,
            ..ImportedStatement::default()
        });
    };
    if facts.reads_length {
        let comment = "The message's length in characters, where the context does not give one.";
        add_statement(comment, LENGTH_STATEMENT.to_owned(), false);
    }
    if facts.reads_urgency {
        let comment =
            "What makes a message urgent, where the context does not say: change the list as you like.";
        let [words, urgency] = urgency_statements();
        add_statement(comment, words, false);
        add_statement("", urgency, true);
    }
}
