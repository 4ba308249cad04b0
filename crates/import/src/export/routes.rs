//! Writes message routes of the rules as JSON, in the format of
//! [`System::Routes`](crate::System::Routes).

use super::condition::ConditionWriter;
use super::{ItemList, WriteResult, exported_name, kept, key_step};
use crate::condition::ConditionFacts;
use crate::located::JsonNode;
use crate::report::{ItemKind, ReportBuilder};
use crate::write::{NameAllocator, imported_doc_text};
use rulec::Rules;
use rulec_base::message;
use rulec_sema::hir::{Outcome, Rule, TableKind};
use serde_json::{Map, Value as Json, json};

/// Key in the JSON metadata of a route. Its value lists the permissions that the route's handler
/// requires.
const REQUIRES_KEY: &str = "requires_permission";

pub(super) fn write_document(rules: &Rules, report: &mut ReportBuilder) -> Json {
    let program = rules.program();
    let conditions = ConditionWriter::new(rules);
    let mut kept = kept::members_in_header(rules.sources());
    let mut routes = ItemList::new(vec![key_step("routes")], kept::take_kept_list(&mut kept, "routes"));
    let mut names = NameAllocator::reserving(&["default", "none"]);
    let mut document = Map::new();
    let sources = rules.sources();
    let (main, rules_of_file) = (rules.main(), rules);
    for (index, table) in program.tables.iter().enumerate() {
        if table.kind != TableKind::Routes {
            continue;
        }
        let is_main = index == main.id().index();
        // The table's evaluation order lacks disabled routes, so the routes are sorted by their
        // positions.
        let mut rules: Vec<&Rule> = program.rules.iter().filter(|rule| rule.table.index() == index).collect();
        rules.sort_by_key(|rule| (rule.span.file, rule.span.start));
        for rule in rules {
            let written = match (is_main, rule.is_disabled) {
                (true, false) => {
                    let kept = kept::kept_members_before(sources, rule.span);
                    write_route(rules_of_file, &conditions, rule, (kept, &mut names))
                }
                (true, true) => {
                    Err(message!("the route is disabled, and the document has no disabled routes"))
                }
                (false, _) => Err(message!("the document has no tables of routes")),
            };
            routes.push_or_report(ItemKind::Route, &rule.name, written, report);
        }
        if let Some(default) = table.default.as_ref().filter(|_| is_main) {
            match write_target(default) {
                Ok((handler, metadata)) if metadata.is_empty() => {
                    document.insert("default".to_owned(), json!(handler));
                }
                Ok(_) => report.add_skipped_item(
                    ItemKind::Default,
                    "",
                    &[],
                    message!("the default of the document has no metadata"),
                ),
                Err(reason) => report.add_skipped_item(ItemKind::Default, "", &[], reason),
            }
        }
    }
    document.insert("routes".to_owned(), Json::Array(routes.into_items()));
    let mut document = Json::Object(document);
    kept::restore_kept(&mut document, kept.into());
    document
}

/// Returns the condition of each route of the rules `text`, converted to JSON as in
/// [`System::Routes`](crate::System::Routes), in the order of the text. An item is `None` if this
/// JSON format cannot express the condition. Empty if the text does not compile.
pub(crate) fn export_route_conditions(text: &str) -> Vec<Option<Json>> {
    let Ok(rules) = Rules::from_text(text) else { return Vec::new() };
    let conditions = ConditionWriter::new(&rules);
    let mut routes: Vec<&Rule> = rules.program().rules.iter().collect();
    routes.sort_by_key(|rule| rule.span.start);
    routes.into_iter().map(|rule| conditions.write(&rule.condition).ok()).collect()
}

fn write_route(
    rules: &Rules,
    conditions: &ConditionWriter<'_>,
    rule: &Rule,
    (mut kept, names): (Map<String, Json>, &mut NameAllocator),
) -> WriteResult<Json> {
    let condition = match kept.remove("condition").filter(|kept| is_unchanged_condition(kept, rules, rule)) {
        Some(kept) => kept,
        None => conditions.write(&rule.condition)?,
    };
    let (handler, mut metadata) = write_target(&rule.outcome)?;
    let required = rules.program().required_permissions(handler);
    if !required.is_empty() && !metadata.contains_key(REQUIRES_KEY) {
        metadata.insert(REQUIRES_KEY.to_owned(), json!(required));
    }
    let mut json = Map::new();
    json.insert("name".to_owned(), json!(exported_name(kept.remove("name"), &rule.name, names)));
    json.insert("priority".to_owned(), json!(rule.priority));
    json.insert("condition".to_owned(), condition);
    json.insert("handler".to_owned(), json!(handler));
    if !metadata.is_empty() {
        json.insert("metadata".to_owned(), Json::Object(metadata));
    }
    let description = exported_description(kept.remove("description"), &rule.docs);
    json.extend(description.map(|description| ("description".to_owned(), description)));
    let mut json = Json::Object(json);
    kept::restore_kept(&mut json, kept.into());
    Ok(json)
}

/// True if `kept`, a JSON condition that an import stored in a comment, is still the condition of
/// `rule`: the author has not changed the rule since the import.
fn is_unchanged_condition(kept: &Json, rules: &Rules, rule: &Rule) -> bool {
    let mut facts = ConditionFacts::default();
    let Ok(formula) = facts.read_formula(&JsonNode::root(kept)) else { return false };
    let rule_text = rules.sources().slice(rule.condition.span);
    facts.assume_types_of(rule_text);
    kept::has_same_tokens(&facts.write_route_condition(&formula), rule_text)
}

/// Returns the JSON value for the description of a rule. `docs` is the description in the rules,
/// and `kept` is the JSON description that an import stored in a comment. Returns `kept` if the
/// author has not changed the description since the import. Otherwise returns `docs`; `None` if
/// `docs` is empty.
pub(super) fn exported_description(kept: Option<Json>, docs: &str) -> Option<Json> {
    match kept {
        Some(Json::String(text)) if imported_doc_text(&text) == docs => Some(text.into()),
        Some(kept) if docs.is_empty() && !kept.is_string() => Some(kept),
        _ => (!docs.is_empty()).then(|| json!(docs)),
    }
}

fn write_target(outcome: &Outcome) -> WriteResult<(&str, Map<String, Json>)> {
    match outcome {
        Outcome::Handler { name, args, metadata } if args.is_empty() => Ok((name, metadata.as_ref().clone())),
        Outcome::Handler { .. } => Err(message!("a handler of the document takes no arguments")),
        _ => Err(message!("the document has no tables of routes")),
    }
}
