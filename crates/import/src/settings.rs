//! Reads the settings of a document with flows: `{"settings": {"intent_threshold", "intent_margin",
//! "flow_prompt"}}`. An export writes these settings again, because they decide which flow a
//! message starts.

use super::document::RulesDocument;
use super::kept::SETTINGS_KEY;
use super::located::{JsonNode, ObjectReader, ReadResult};
use super::report::ItemKind;
use super::write::{format_value, quote_for_comment, quote_string};
use rulec_base::message;
use rulec_sema::hir::{PromptTemplate, TemplatePart, template_parts};
use serde_json::{Value as Json, json};

/// Returns the entries of a `settings` statement, in rule syntax. The settings apply only to intent
/// flows. If the document has no intent flow, or a setting is unknown, a comment stores the JSON of
/// the settings instead.
pub(super) fn read_settings(
    object: &ObjectReader<'_>,
    has_intents: bool,
    document: &mut RulesDocument,
) -> ReadResult<Vec<String>> {
    let Some(node) = object.get(SETTINGS_KEY) else { return Ok(Vec::new()) };
    let mut entries = Vec::new();
    let settings = node.as_object(&message!("settings"));
    let Some(settings) = document.part_or_skip(ItemKind::Field, SETTINGS_KEY, settings)? else {
        document.kept_in_header.insert(SETTINGS_KEY.to_owned(), node.value.clone());
        return Ok(entries);
    };
    for (key, node) in settings.members() {
        let entry = match key {
            _ if node.has_unreadable() => node.refuse(message!("the value is no JSON")),
            "intent_threshold" | "intent_margin" if has_intents => read_fraction(&node).map(Some),
            "flow_prompt" if has_intents => read_prompt(&node).map(Some),
            _ => {
                let key = quote_for_comment(key);
                document
                    .report
                    .add_note(message!("the setting {key} has no meaning here and is kept as a comment"));
                Ok(None)
            }
        };
        match document.part_or_skip(ItemKind::Field, key, entry)?.flatten() {
            Some(value) => entries.push(format!("{key}: {value}")),
            None => {
                let kept = document.kept_in_header.entry(SETTINGS_KEY).or_insert_with(|| json!({}));
                if let Json::Object(kept) = kept {
                    kept.insert(key.to_owned(), node.value.clone());
                }
            }
        }
    }
    Ok(entries)
}

fn read_fraction(node: &JsonNode<'_>) -> ReadResult<String> {
    match node.as_number()?.as_f64() {
        // The rules have no negative zero.
        Some(0.0) => Ok("0".to_owned()),
        Some(fraction) if (0.0..=1.0).contains(&fraction) => Ok(format_value(node.value)),
        _ => node.refuse(message!("this setting must be a number from 0 to 1")),
    }
}

fn read_prompt(node: &JsonNode<'_>) -> ReadResult<String> {
    let text = node.as_text()?;
    let known = PromptTemplate::FLOW_PROMPT.placeholders;
    let is_usable = template_parts(text).all(|part| match part {
        TemplatePart::Text(_) => true,
        TemplatePart::Placeholder(name) => known.contains(&name),
        TemplatePart::Unclosed => false,
    });
    let lists_flows = template_parts(text).any(|part| part == TemplatePart::Placeholder(known[0]));
    match is_usable && lists_flows {
        true => Ok(quote_string(text)),
        false => node.refuse(message!(
            "the prompt must contain `{{flows}}` and may contain `{{tool}}`; write other braces twice"
        )),
    }
}
