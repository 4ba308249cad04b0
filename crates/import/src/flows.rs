//! Imports keyword and intent flows:
//! `[{"flow_id", "description", "type", "trigger_patterns", "match_type"}, …]`, or an object with
//! `flows`, and optionally `tools`, one of which executes the flows.

use super::document::{ImportedStatement, RulesDocument};
use super::located::{JsonNode, ObjectReader, ReadResult};
use super::write::{
    self, NameAllocator, quote_for_comment, quote_name, quote_raw_string, quote_string, write_list,
};
use super::{executor, regex};
use rulec_base::message;

pub(super) fn read_document(root: &JsonNode<'_>) -> ReadResult<RulesDocument> {
    let mut document = RulesDocument {
        header: "Keyword and intent flows, imported from their JSON.\n\
                 Keyword flows are tried as they stand here, their patterns in order; where none is found, the \
                 intent flows are asked."
            .to_owned(),
        ..RulesDocument::default()
    };
    let mut tool = None;
    let flows = if root.value.is_array() {
        root.as_list(&message!("flows"))?
    } else {
        let object = root.as_object(&message!("a list of flows, or an object with `flows`"))?;
        let flows = object.get_required("flows", &message!("the document"))?.as_list(&message!("flows"))?;
        tool = executor::read_statement(&object, &mut document)?;
        document.keep_unread_in_header(&object);
        flows
    };
    let mut names = NameAllocator::default();
    for node in &flows {
        let statement = read_flow(node, &mut names, &mut document);
        let statement =
            statement.map_err(|refusal| refusal.in_node(&message!("flow"), node, &["flow_id", "name"]))?;
        document.statements.push(statement);
    }
    document.add_input_if_empty("There was no flow.");
    document.statements.extend(tool);
    Ok(document)
}

fn read_flow(
    node: &JsonNode<'_>,
    names: &mut NameAllocator,
    document: &mut RulesDocument,
) -> ReadResult<ImportedStatement> {
    let object = node.as_object(&message!("a flow"))?;
    // An empty id counts as absent.
    let flow_id = object.get("flow_id").filter(|node| node.value.as_str() != Some(""));
    let title = object.get("name");
    let Some(id) = flow_id.as_ref().or(title.as_ref()) else {
        return node.refuse(message!("a flow needs `flow_id` or `name`"));
    };
    let id = id.as_text()?;
    let label = title.map_or(Ok(id), |title| title.as_text())?;
    let label = if label.trim().is_empty() { "flow" } else { label };
    let flow_name = names.unique_name(label);
    let description = object.get_text("description")?.unwrap_or_default();
    let kind = read_word(&object, "type", "FlowType", &["keyword", "intent"])?;
    let matching = read_word(&object, "match_type", "MatchType", &["exact", "contains", "regex"])?;
    let (patterns, examples) = (object.get("trigger_patterns"), object.get("examples"));
    let mut comments = document.comments_for_unread(&object, &message!("the flow {}", quote_for_comment(id)));
    let trigger = match kind {
        Some("keyword") => {
            let patterns = patterns.map_or(Ok(Vec::new()), |list| list.as_list(&message!("patterns")))?;
            let matching = matching.unwrap_or("contains");
            let mut literals = Vec::new();
            for node in patterns {
                literals.push(read_pattern(&node, matching, &flow_name, &mut comments, document)?);
            }
            if let Some(examples) = examples {
                comments.push(format!("examples: {}", write::format_value(examples.value)));
                document.notes.push(message!(
                    "the keyword flow {} has examples; they are kept as a comment",
                    quote_for_comment(id)
                ));
            }
            format!("keyword {matching} {}", write_list(&literals, 2))
        }
        _ => write_intent(patterns, examples, &mut comments)?,
    };
    let head = match description {
        "" => format!("flow {}", quote_name(&flow_name)),
        description => format!("flow {} {}", quote_name(&flow_name), quote_string(description)),
    };
    let arrow = format!("-> {}", quote_string(id));
    let one_line = format!("{head} {trigger} {arrow}");
    let body = if one_line.chars().count() <= 90 && !trigger.contains('\n') {
        one_line
    } else {
        format!("{head}\n  {trigger}\n  {arrow}")
    };
    Ok(ImportedStatement { comments, body, ..ImportedStatement::default() })
}

/// Writes the trigger of an intent flow. In the source system, the patterns of an intent flow only
/// describe the topic.
fn write_intent(
    patterns: Option<JsonNode<'_>>,
    examples: Option<JsonNode<'_>>,
    comments: &mut Vec<String>,
) -> ReadResult<String> {
    let quote_texts =
        |node: JsonNode<'_>| Ok(node.as_texts()?.into_iter().map(quote_string).collect::<Vec<_>>());
    let mut trigger = "intent".to_owned();
    if let Some(examples) = examples {
        trigger.push_str(&format!(" examples {}", write_list(&quote_texts(examples)?, 2)));
    }
    let mut keywords = patterns.map(quote_texts).transpose()?.unwrap_or_default();
    let total = keywords.len();
    keywords.retain(|word| !word.trim_matches('"').trim().is_empty());
    if keywords.len() < total {
        comments.push("Blank patterns, which mean nothing to an intent, were left out.".to_owned());
    }
    if !keywords.is_empty() {
        comments.push(
            "The patterns of an intent flow are never matched; they are kept as keywords of the intent."
                .to_owned(),
        );
        trigger.push_str(&format!(" keywords {}", write_list(&keywords, 2)));
    }
    Ok(trigger)
}

/// Reads a member whose value must be one of `words`. Python's form of an enumeration member, such
/// as `FlowType.KEYWORD`, is accepted.
fn read_word(
    object: &ObjectReader<'_>,
    key: &str,
    class: &str,
    words: &[&'static str],
) -> ReadResult<Option<&'static str>> {
    let Some(node) = object.get(key) else { return Ok(None) };
    let text = node.as_text()?;
    let member_name = text.strip_prefix(class).and_then(|rest| rest.strip_prefix('.')).unwrap_or(text);
    match words.iter().find(|word| member_name.eq_ignore_ascii_case(word)) {
        Some(word) => Ok(Some(word)),
        None => node.refuse(message!(
            "`{key}` cannot be {}; the values are {}",
            quote_for_comment(text),
            words.join(", ")
        )),
    }
}

fn read_pattern(
    node: &JsonNode<'_>,
    matching: &str,
    flow: &str,
    comments: &mut Vec<String>,
    document: &mut RulesDocument,
) -> ReadResult<String> {
    let text = node.as_text()?;
    if text.trim().is_empty() {
        return node.refuse(match text.is_empty() {
            true => message!("this pattern is empty; remove it"),
            false => message!("this pattern is blank; remove it"),
        });
    }
    if matching != "regex" {
        return Ok(quote_string(text));
    }
    let translated = regex::read_regex(node, &message!("the pattern"), true)?;
    if translated.text != text {
        comments.push(format!("Written otherwise in Python: {}.", quote_for_comment(text)));
        document.record_rename(&pattern_key(flow, &translated.text), text);
    }
    Ok(quote_raw_string(&translated.text))
}

/// Returns the key of a flow's pattern in the map of changed names.
pub(super) fn pattern_key(flow: &str, pattern: &str) -> String {
    format!("{flow}\n{pattern}")
}
