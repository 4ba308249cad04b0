//! Imports message routes: `[{"name", "priority", "condition", "handler", "metadata"}, …]`, or an
//! object with `routes` and optionally the `default` handler.

use super::condition::Facts;
use super::document::{Document, Statement};
use super::handlers::Handlers;
use super::located::{JsonNode, Read};
use super::write::{self, Names, quote_name, quote_string, shown};
use rulec_base::message;

/// Words that make a message urgent; the author may change them in the file.
const URGENT: [&str; 9] =
    ["urgent", "asap", "immediately", "emergency", "critical", "紧急", "马上", "立即", "尽快"];

pub(super) fn document(root: &JsonNode<'_>) -> Read<Document> {
    let mut document = Document {
        header: "Routes of a message router, imported from its JSON.\n\
                 They are tried by priority, greatest first, then as they stand here; the first that holds is chosen."
            .to_owned(),
        ..Document::default()
    };
    let mut default = None;
    let routes = if root.value.is_array() {
        root.list(&message!("routes"))?
    } else {
        let object = root.object(&message!("a list of routes, or an object with `routes`"))?;
        let routes = object.need("routes", &message!("the document"))?.list(&message!("routes"))?;
        if let Some(node) = object.get("default") {
            default = Some(handler(&node)?);
        }
        document.keep_in_header(&object);
        routes
    };

    let mut facts = Facts::default();
    let mut handlers = Handlers::default();
    let mut names = Names::reserving(&["default", "none"]);
    let mut read = Vec::new();
    for node in &routes {
        let route = route(node, &mut facts, &mut names, &mut document).and_then(|route| {
            handlers.used(&route.handler, node)?;
            Ok(route)
        });
        read.push(route.map_err(|refusal| refusal.at_node(&message!("route"), node, &["name"]))?);
    }
    handlers.declare(default.as_deref(), &mut document);
    derived(&facts, &mut document);
    for route in read {
        let condition = facts.write(&route.condition, "  when ".len(), 4);
        let Route { head, target, comments, docs, .. } = route;
        let one_line = format!("{head} when {condition} -> {target}");
        let body = if one_line.chars().count() <= 80 && !condition.contains('\n') {
            one_line
        } else {
            format!("{head}\n  when {condition}\n  -> {target}")
        };
        document.statements.push(Statement { comments, docs, body, close: false });
    }
    if let Some(handler) = default {
        let body = format!("default -> {handler}");
        document.statements.push(Statement { body, ..Statement::default() });
    }
    document.never_empty("There was no route.");
    Ok(document)
}

struct Route {
    head: String,
    condition: super::condition::Formula,
    handler: String,
    target: String,
    comments: Vec<String>,
    docs: String,
}

fn route(node: &JsonNode<'_>, facts: &mut Facts, names: &mut Names, document: &mut Document) -> Read<Route> {
    let object = node.object(&message!("a route"))?;
    let node = object.need("name", &message!("a route"))?;
    let original = node.text()?;
    if original.is_empty() {
        return node.refuse(message!("a route needs a name"));
    }
    let written = names.take(original);
    document.renamed(&written, original);
    let mut comments = Vec::new();
    if written != original {
        comments.push(format!("Named {} in the original.", shown(original)));
    }
    let priority = object.get("priority").map(|node| node.int()).transpose()?.unwrap_or(0);
    let handler = handler(&object.need("handler", &message!("a route"))?)?;
    let metadata = match object.get("metadata") {
        Some(node) => metadata(&node)?,
        None => String::new(),
    };
    let condition = facts.read(&object.need("condition", &message!("a route"))?)?;
    comments.append(&mut facts.remarks);
    let docs = object.text("description")?.unwrap_or_default().to_owned();
    comments.extend(document.kept(&object, &message!("the route {}", shown(original))));
    let priority = if priority == 0 { String::new() } else { format!(" priority {priority}") };
    Ok(Route {
        head: format!("route {}{priority}", quote_name(&written)),
        condition,
        target: format!("{handler}{metadata}"),
        handler,
        comments,
        docs,
    })
}

fn handler(node: &JsonNode<'_>) -> Read<String> {
    match node.text()? {
        text if text.is_empty() || text.contains(['`', '\n', '\r']) => {
            node.refuse(message!("{} cannot be a handler's name", shown(text)))
        }
        // A `goto` without backquotes after the arrow would be parsed as a jump.
        "goto" => Ok("`goto`".to_owned()),
        text => Ok(quote_name(text)),
    }
}

fn metadata(node: &JsonNode<'_>) -> Read<String> {
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

/// Adds `let` statements for the message's length and urgency. They compute the value from the text
/// if the context lacks it.
fn derived(facts: &Facts, document: &mut Document) {
    let mut add = |comment: &str, body: String, close: bool| {
        let comments = if comment.is_empty() { Vec::new() } else { vec![comment.to_owned()] };
        document.statements.push(Statement { comments, body, close, ..Statement::default() });
    };
    if facts.length {
        let comment = "The message's length in characters, where the context does not give one.";
        add(comment, "let message_length = ctx.message_length ?? len(text)".to_owned(), false);
    }
    if facts.urgency {
        let words: Vec<String> = URGENT.iter().map(|word| quote_string(word)).collect();
        let comment =
            "What makes a message urgent, where the context does not say: change the list as you like.";
        add(comment, format!("list urgent_words = {}", write::list(&words, 0)), false);
        let body = "let urgency = ctx.urgency\n  \
                    ?? [\"normal\", \"high\"][min(count term in urgent_words: text contains term ignoring case, 1)]";
        add("", body.to_owned(), true);
    }
}
