//! Imports flows, which are found by keywords or by intent: `[{"flow_id", "description", "type",
//! "trigger_patterns", "match_type"}, …]`, or an object with `flows`, and optionally `tools`, one
//! of which executes the flows.

use super::document::{ImportedStatement, RulesDocument};
use super::located::{JsonNode, ObjectReader, ReadResult};
use super::report::ItemKind;
use super::write::{
    NameAllocator, quote_for_comment, quote_name, quote_raw_string, quote_string, write_list,
};
use super::{Untranslatable, executor, regex, settings};
use rulec_base::message;
use serde_json::{Map, Value as Json, json};

/// The comment before the tool that is written because the document has no flow. An export leaves
/// out a tool with this comment.
pub(super) const NO_FLOW_COMMENT: &str = "There was no flow.";

pub(super) fn read_document(root: &JsonNode<'_>, document: &mut RulesDocument) -> ReadResult<()> {
    document.header = "Keyword and intent flows, imported from their JSON.\n\
                 Keyword flows are tried in this order, their patterns in order; where none is found, the \
                 intent flows are asked."
        .to_owned();
    let (mut tool, mut settings) = (None, Vec::new());
    let flows = if root.value.is_array() {
        root.as_list(&message!("flows"))?
    } else {
        let object = root.as_object(&message!("a list of flows, or an object with `flows`"))?;
        let flows = object.get_required("flows", &message!("the document"))?.as_list(&message!("flows"))?;
        tool = executor::read_executor_statement(&object, document)?;
        let is_intent = |node: &JsonNode<'_>| {
            let kind = node.value.get("type").and_then(Json::as_str);
            !document.refused_items.contains_key(&node.steps)
                && kind.is_none_or(|kind| kind.to_ascii_lowercase().ends_with("intent"))
        };
        let has_intents = flows.iter().any(is_intent);
        settings = settings::read_settings(&object, has_intents, document)?;
        document.keep_unread_in_header(&object);
        flows
    };
    let mut names = NameAllocator::default();
    let mut used = PatternKinds::default();
    for node in &flows {
        let read = |document: &mut RulesDocument| read_flow(node, &mut names, &mut used, document);
        if let Some((item, statement)) =
            document.read_item(ItemKind::Flow, node, &["flow_id", "name"], read)?
        {
            document.statements.push(ImportedStatement { item_index: Some(item), ..statement });
        }
    }
    document.keep_skipped_in_header("flows", &flows);
    let mut settings_comments = Vec::new();
    if document.compares_patterns_literally && (used.has_literals || used.has_regexes) {
        let comment =
            "Patterns are compared as they are written, as `==`, `in` and `re.search` of Python do.";
        settings_comments.push(comment.to_owned());
        settings.push("case: sensitive".to_owned());
        settings.extend(used.has_literals.then(|| "white_space: kept".to_owned()));
    }
    if !settings.is_empty() {
        let (comments, body) = (settings_comments, format!("settings {{ {} }}", settings.join(", ")));
        document.statements.insert(0, ImportedStatement { comments, body, ..ImportedStatement::default() });
    }
    // Without any flow, this statement still declares that the rules select flows; no message then
    // matches one.
    let has_flow = document.statements.iter().any(|statement| statement.item_index.is_some());
    if let (false, None) = (has_flow, &tool) {
        let (comments, body) = (vec![NO_FLOW_COMMENT.to_owned()], "flow tool flow_executor { }".to_owned());
        document.statements.push(ImportedStatement { comments, body, ..ImportedStatement::default() });
    }
    document.statements.extend(tool);
    Ok(())
}

/// The kinds of patterns that occur in the keyword flows of a JSON document.
#[derive(Default)]
struct PatternKinds {
    /// Whether any flow has patterns of the kind `exact` or `contains`, which are literal texts.
    has_literals: bool,
    has_regexes: bool,
}

fn read_flow(
    node: &JsonNode<'_>,
    names: &mut NameAllocator,
    used_kinds: &mut PatternKinds,
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
    let label = title.as_ref().map_or(Ok(id), |title| title.as_text())?;
    let has_title = title.is_some();
    let flow_name = names.unique_name(label_or_default(label));
    if flow_name != label {
        document.add_rename_note(&flow_name, label);
    }
    let description = object.get_text("description")?.unwrap_or_default();
    let kind = read_enum_word(&object, "type", "FlowType", &["keyword", "intent"])?;
    let matching = read_enum_word(&object, "match_type", "MatchType", &["exact", "contains", "regex"])?;
    let (patterns, examples) = (object.get("trigger_patterns"), object.get("examples"));
    let mut kept = document.collect_unread_members(&object, &message!("the flow {}", quote_for_comment(id)));
    // An export cannot derive a name that was changed or that equals the id, so a comment keeps
    // such a name.
    if has_title && (flow_name != label || label == id) {
        kept.insert("name".to_owned(), json!(label));
    }
    let mut comments = Vec::new();
    let trigger = match kind {
        Some("keyword") => {
            let patterns = patterns.map_or(Ok(Vec::new()), |list| list.as_list(&message!("patterns")))?;
            let word = matching.unwrap_or("contains");
            let literals = read_patterns(&patterns, word, &flow_name, (&mut comments, &mut kept), document)?;
            let kind =
                if word == "regex" { &mut used_kinds.has_regexes } else { &mut used_kinds.has_literals };
            *kind |= !literals.is_empty();
            // An export cannot derive the word from the rules if there is no pattern.
            if literals.is_empty() {
                kept.extend(matching.map(|matching| ("match_type".to_owned(), json!(matching))));
            }
            if let Some(examples) = examples {
                kept.insert("examples".to_owned(), examples.value.clone());
                document.report.add_note(message!(
                    "the keyword flow {} has examples; they are kept as a comment",
                    quote_for_comment(id)
                ));
            }
            format!("keyword {word} {}", write_list(&literals, 2))
        }
        _ => {
            kept.extend(matching.map(|matching| ("match_type".to_owned(), json!(matching))));
            write_intent(patterns, examples, (&mut comments, &mut kept), document)?
        }
    };
    comments.extend(document.kept_comment(&kept));
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

/// Returns the text from which the name of a flow is made. `name` is the name in the document; if
/// it is blank, the text is `flow`.
pub(super) fn label_or_default(name: &str) -> &str {
    if name.trim().is_empty() { "flow" } else { name }
}

/// Reads the patterns that a message is compared with to select the flow `flow`. `matching` says
/// how they are compared: `exact`, `contains` or `regex`. A pattern that cannot be translated is
/// skipped, and added to `kept`, which a comment stores for a later export. Without any usable
/// pattern, the flow itself cannot be translated. Adds a description of each changed pattern to
/// `comments`.
fn read_patterns(
    patterns: &[JsonNode<'_>],
    matching: &str,
    flow: &str,
    (comments, kept): (&mut Vec<String>, &mut Map<String, Json>),
    document: &mut RulesDocument,
) -> ReadResult<Vec<String>> {
    let (mut literals, mut first_refusal, mut skipped) = (Vec::new(), None, Map::new());
    for (position, node) in patterns.iter().enumerate() {
        let pattern = read_pattern(node, matching, flow, comments, document);
        first_refusal = first_refusal.or_else(|| pattern.as_ref().err().cloned());
        let text = node.value.as_str().unwrap_or_default();
        if let Some(literal) = document.part_or_skip(ItemKind::Pattern, text, pattern)? {
            literals.push(literal);
        } else {
            comments.push(match node.is_unreadable() {
                true => "Left out: a pattern that is no JSON.".to_owned(),
                false => format!("Left out: the pattern {}.", quote_for_comment(&node.value.to_string())),
            });
            skipped.insert(position.to_string(), node.value.clone());
        }
    }
    keep_skipped_patterns(skipped, kept);
    match first_refusal {
        Some(refusal) if literals.is_empty() => {
            let message = message!("none of its patterns can be used: {}", refusal.message);
            Err(Untranslatable { message, ..refusal })
        }
        _ => Ok(literals),
    }
}

/// Adds the skipped patterns of a flow to `kept`, the JSON members that a comment in the rules
/// stores for a later export. The keys of `skipped` are the positions of the patterns.
fn keep_skipped_patterns(skipped: Map<String, Json>, kept: &mut Map<String, Json>) {
    if !skipped.is_empty() {
        kept.insert("trigger_patterns".to_owned(), Json::Object(skipped));
    }
}

/// Writes the trigger of an intent flow (a flow that is selected by the meaning of a message). In
/// the source system, the `patterns` of an intent flow only describe the topic, so they become its
/// keywords. The `examples` become its examples.
fn write_intent(
    patterns: Option<JsonNode<'_>>,
    examples: Option<JsonNode<'_>>,
    (comments, kept): (&mut Vec<String>, &mut Map<String, Json>),
    document: &mut RulesDocument,
) -> ReadResult<String> {
    let quote_texts =
        |node: JsonNode<'_>| Ok(node.as_texts()?.into_iter().map(quote_string).collect::<Vec<_>>());
    let mut trigger = "intent".to_owned();
    if let Some(examples) = examples {
        trigger.push_str(&format!(" examples {}", write_list(&quote_texts(examples)?, 2)));
    }
    let patterns = patterns.map_or(Ok(Vec::new()), |node| node.as_texts())?;
    let is_blank = |pattern: &&str| pattern.trim().is_empty();
    let keywords: Vec<String> =
        patterns.iter().copied().filter(|pattern| !is_blank(pattern)).map(quote_string).collect();
    if keywords.len() < patterns.len() {
        let blank = patterns.iter().enumerate().filter(|(_, pattern)| is_blank(pattern));
        keep_skipped_patterns(
            blank.map(|(position, text)| (position.to_string(), json!(text))).collect(),
            kept,
        );
        comments.push("Blank patterns, which mean nothing to an intent, were left out.".to_owned());
        document.report.add_note(message!("blank patterns, which mean nothing to an intent, were left out"));
    }
    if !keywords.is_empty() {
        comments.push(
            "The patterns of an intent flow are never matched; they are kept as keywords of the intent."
                .to_owned(),
        );
        document
            .report
            .add_note(message!("the patterns of an intent flow are kept as keywords of the intent"));
        trigger.push_str(&format!(" keywords {}", write_list(&keywords, 2)));
    }
    Ok(trigger)
}

/// Reads the member `key`, whose value must be one of `words`. The Python notation of an
/// enumeration member, such as `FlowType.KEYWORD`, is accepted too; `class` is the enumeration's
/// name. Returns `None` if the member is absent.
fn read_enum_word(
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
    let is_compared = document.compares_patterns_literally && matching != "regex";
    if text.is_empty() || text.trim().is_empty() && !is_compared {
        return node.refuse(match text.is_empty() {
            true => message!("this pattern is empty; remove it"),
            false => message!("this pattern is blank; remove it"),
        });
    }
    if matching != "regex" {
        return Ok(quote_string(text));
    }
    let translated =
        regex::read_regex(node, &message!("the pattern"), !document.compares_patterns_literally)?;
    if translated.text != text {
        comments.push(format!("Written otherwise in Python: {}.", quote_for_comment(text)));
        let original = quote_for_comment(text);
        document.report.add_note(message!(
            "the pattern {original} is written as {} here",
            quote_for_comment(&translated.text)
        ));
        document.record_rename(&pattern_key(flow, &translated.text), text);
    }
    Ok(quote_raw_string(&translated.text))
}

/// Returns the key of a flow's pattern in the map `original_names`, which contains the patterns as
/// the JSON document wrote them.
pub(super) fn pattern_key(flow: &str, pattern: &str) -> String {
    format!("{flow}\n{pattern}")
}
