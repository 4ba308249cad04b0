//! Imports workflow branches from JSON: `[{"branch_id", "logic", "conditions", "is_default"}, …]`,
//! or an object with `choices` (or `branches`). Each list of branches becomes a `choice` of the
//! rules.

use super::Untranslatable;
use super::compare::{self, ConditionFindings, DecisionDifference};
use super::document::{ImportedStatement, RulesDocument};
use super::located::{JsonNode, ObjectReader, PathStep, ReadResult};
use super::report::ItemKind;
use super::spelling::Spelling;
use super::write::{self, NameAllocator, quote_for_comment, quote_string, write_comment};
use rulec_base::message;
use serde_json::{Map, Value as Json, json};

/// Name of the imported choice if the JSON document has no name for it.
pub(super) const DEFAULT_CHOICE_NAME: &str = "next_step";
/// Names that an imported choice never gets, because they have another meaning in the rules.
pub(super) const RESERVED_CHOICE_NAMES: [&str; 4] = ["none", "default", "routes", "flows"];
/// The keys under which a JSON document stores the name of a workflow step or choice, in the order
/// of precedence.
pub(super) const NAME_KEYS: [&str; 4] = ["step_id", "stepId", "id", "name"];
/// The [`NAME_KEYS`] that hold the id of a step. An id is preferred to a name, which
/// several steps may share.
const ID_KEYS: [&str; 3] = ["step_id", "stepId", "id"];
/// The keys under which a JSON document stores a list of branches.
const BRANCH_KEYS: [&str; 2] = ["choices", "branches"];

pub(super) fn read_document(root: &JsonNode<'_>, document: &mut RulesDocument) -> ReadResult<()> {
    document.header = "Branches of a workflow step, imported from its JSON.".to_owned();
    let mut names = NameAllocator::reserving(&RESERVED_CHOICE_NAMES);
    let choices = find_choices(root)?;
    let is_only = choices.len() == 1;
    for choice in &choices {
        let mut read = |document: &mut RulesDocument| read_choice(choice, &mut names, document);
        let node = &choice.node;
        let keys: &[&str] = if node.value.is_array() { &[] } else { &NAME_KEYS };
        // If the only choice of a document is not imported, nothing is loaded. So the error is
        // returned even if the import is not strict.
        let strict = document.is_strict;
        document.is_strict |= is_only;
        let result = document.read_item(ItemKind::Choice, node, keys, |document| {
            document.is_strict = strict;
            let statement = read(document);
            document.is_strict |= is_only;
            statement
        });
        document.is_strict = strict;
        if let Some((item, statement)) = result? {
            document.statements.push(ImportedStatement { item_index: Some(item), ..statement });
        }
    }
    Ok(())
}

/// A choice in a JSON document: a list of branches, or an object that contains this list.
struct ChoiceNode<'j> {
    node: JsonNode<'j>,
    /// Name of the workflow step that contains the choice; empty if the document has no name for
    /// it.
    step_name: String,
}

/// Returns the choices of a JSON document. A list of branches is one choice. An object with a list
/// of branches is one choice, and may be anywhere in the document, such as in a workflow step.
fn find_choices<'j>(root: &JsonNode<'j>) -> ReadResult<Vec<ChoiceNode<'j>>> {
    let has_branches =
        |value: &Json| BRANCH_KEYS.iter().any(|key| value.get(key).is_some_and(|list| !list.is_null()));
    let is_choice_document = match root.value {
        Json::Array(items) => !items.iter().any(|item| contains_value(item, &has_branches)),
        value => has_branches(value),
    };
    if is_choice_document {
        return Ok(vec![ChoiceNode { node: root.clone(), step_name: root.item_name(&NAME_KEYS).to_owned() }]);
    }
    root.as_list(&message!("branches")).map(drop).or_else(|_| {
        root.as_object(&message!("a list of branches, or an object with `choices`")).map(drop)
    })?;
    let mut choices = Vec::new();
    // The stack of nodes to search. Each node has the name of the step that contains it, and
    // whether this name is an id.
    let mut pending = vec![(root.clone(), String::new(), false)];
    while let Some((node, step, is_id)) = pending.pop() {
        let id = node.item_name(&ID_KEYS);
        let name = if is_id || !id.is_empty() { id } else { node.item_name(&NAME_KEYS) };
        let is_id = is_id || !id.is_empty();
        let step = if name.is_empty() { step } else { name.to_owned() };
        if has_branches(node.value) {
            choices.push(ChoiceNode { node, step_name: step });
            continue;
        }
        let children: Vec<(JsonNode<'_>, String, bool)> = match node.value {
            Json::Array(_) => {
                let steps = node.as_list(&message!("steps"))?.into_iter();
                steps.map(|child| (child, step.clone(), false)).collect()
            }
            Json::Object(map) => map
                .iter()
                .map(|(key, value)| {
                    // In a map of steps, the key is the step's id.
                    let is_part = STEP_KEYS.contains(&key.as_str());
                    let inner = if is_part { &step } else { key };
                    (node.child(PathStep::Key(key.clone()), value), inner.clone(), is_id || !is_part)
                })
                .collect(),
            _ => continue,
        };
        pending.extend(children.into_iter().rev());
    }
    if choices.is_empty() {
        return root.refuse(message!("the document needs `choices`, a list of branches"));
    }
    Ok(choices)
}

/// The keys that lead from a workflow step to its choice, or to a list of steps. Any other key of a
/// document is taken as the id of a step.
const STEP_KEYS: [&str; 7] = ["steps", "flow", "params", "parameters", "input_parameters", "config", "call"];

/// True if `satisfies` returns true for `value`, or for a value at any depth inside it.
fn contains_value(value: &Json, satisfies: &dyn Fn(&Json) -> bool) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        if satisfies(value) {
            return true;
        }
        match value {
            Json::Array(items) => pending.extend(items),
            Json::Object(map) => pending.extend(map.values()),
            _ => {}
        }
    }
    false
}

fn read_choice(
    choice: &ChoiceNode<'_>,
    names: &mut NameAllocator,
    document: &mut RulesDocument,
) -> ReadResult<ImportedStatement> {
    let node = &choice.node;
    let mut docs = String::new();
    let mut to_user = false;
    let (mut comments, mut kept) = (Vec::new(), Map::new());
    let branches = if node.value.is_array() {
        node.as_list(&message!("branches"))?
    } else {
        let object = node.as_object(&message!("a choice"))?;
        // A second list is not read. Like any unknown member, it is kept in a comment and reported.
        let list = BRANCH_KEYS.iter().find_map(|key| object.get(key));
        NAME_KEYS.iter().for_each(|key| drop(object.get(key)));
        document.part_or_skip(ItemKind::Field, "name", object.get_text("name"))?;
        let description = object.get_text("description");
        let description = document.part_or_skip(ItemKind::Field, "description", description)?.flatten();
        docs = description.unwrap_or_default().to_owned();
        let flag = object.get_bool("to_user", false);
        to_user = document.part_or_skip(ItemKind::Field, "to_user", flag)?.unwrap_or(false);
        kept = document.collect_unread_members(&object, &message!("the document"));
        keep_underivable_fields(&mut kept, &object, &docs);
        list.as_ref().unwrap_or(node).as_list(&message!("branches"))?
    };
    let spelling = Spelling::of_choice(branches.iter().map(|branch| branch.value));
    let mut findings = ConditionFindings::default();
    let mut ids = NameAllocator::default();
    let (mut body, mut parts, mut line) = (String::new(), Vec::new(), 1);
    for node in &branches {
        let read =
            |document: &mut RulesDocument| read_branch(node, spelling, (&mut ids, &mut findings), document);
        let lines = document.read_item(ItemKind::Branch, node, &["branch_id"], read)?;
        if let Some((item, lines)) = lines {
            parts.push((line, item));
            line += lines.matches('\n').count();
            body.push_str(&lines);
        }
    }
    let skipped = document.skipped_elements(&branches);
    if !skipped.is_empty() {
        kept.insert("choices".to_owned(), Json::Object(skipped));
    }
    comments.extend(spelling.kept_comment());
    comments.extend(document.kept_comment(&kept));
    let own_name =
        Some(choice.step_name.as_str()).filter(|name| !name.is_empty()).unwrap_or(DEFAULT_CHOICE_NAME);
    let title = names.unique_name(own_name);
    if title != own_name {
        document.add_rename_note(&title, own_name);
        document.record_rename(&title, own_name);
    }
    comments.push(
        "Branches are tried from the last to the first. A condition that reads a missing value, or a \
         value of another type than it says, is left out of its branch. A branch without any condition left is skipped."
            .to_owned(),
    );
    if !findings.differences.is_empty() {
        let lines: Vec<String> = findings
            .differences
            .iter()
            .map(|difference: &DecisionDifference| format!("- {}", difference.comment_text()))
            .collect();
        comments.push(format!("Where this decides otherwise than the Python module:\n{}", lines.join("\n")));
        let count = match lines.len() {
            1 => message!("one point"),
            more => message!("{more} points"),
        };
        document.report.add_note(message!(
            "the Python module decides differently in {count}; comments in the rules describe them"
        ));
    }
    let head = format!("choice {}{}", write::quote_name(&title), if to_user { " to_user" } else { "" });
    let body = match body.as_str() {
        "" => format!("{head} {{ }}"),
        body => format!("{head} {{\n{body}}}"),
    };
    Ok(ImportedStatement {
        comments,
        docs,
        body,
        body_lines_and_items: parts,
        ..ImportedStatement::default()
    })
}

/// Returns true for the logic "or" (one true condition suffices for the branch), and false for
/// "and" (all must be true). `None` for any other text.
pub(super) fn is_or_logic(logic: &str) -> Option<bool> {
    match logic {
        "and" | "AND" | "Logic.AND" => Some(false),
        "or" | "OR" | "Logic.OR" => Some(true),
        _ => None,
    }
}

/// Adds to `kept` the JSON fields of a choice that an export cannot derive from the rules: fields
/// of a wrong type, and a name under another key than `name`. Also a description that differs from
/// `docs`, its text in the rules, for example in line breaks. The caller stores `kept` in a comment
/// of the rules file.
fn keep_underivable_fields(kept: &mut Map<String, Json>, object: &ObjectReader<'_>, docs: &str) {
    let names: Vec<(&str, JsonNode<'_>)> =
        NAME_KEYS.iter().filter_map(|key| Some((*key, object.get_with_null(key)?))).collect();
    if names.iter().any(|(key, node)| *key != "name" || !node.value.is_string()) {
        kept.extend(names.iter().map(|(key, node)| ((*key).to_owned(), node.value.clone())));
    }
    let is_kept = |key: &str, value: &Json| match key {
        "description" => write::imported_doc_text(docs) != value.as_str().unwrap_or("\n"),
        _ => !value.is_boolean(),
    };
    for key in ["description", "to_user"] {
        let value = object.get(key).map(|node| node.value);
        kept.extend(value.filter(|value| is_kept(key, value)).map(|value| (key.to_owned(), value.clone())));
    }
}

fn read_branch(
    node: &JsonNode<'_>,
    spelling: Spelling,
    (ids, findings): (&mut NameAllocator, &mut ConditionFindings),
    document: &mut RulesDocument,
) -> ReadResult<String> {
    let object = node.as_object(&message!("a branch"))?;
    let id = object.get_required("branch_id", &message!("a branch"))?.as_text()?;
    let logic = object.get_with_null("logic");
    let is_any = match &logic {
        None => false,
        Some(logic) => match logic.value.as_str().and_then(is_or_logic) {
            Some(is_any) => is_any,
            None => return logic.refuse(message!("a branch's logic must be `and` or `or`")),
        },
    };
    let logic = logic.map(|logic| logic.value);
    let is_default =
        object.get_with_null("is_default").map(|node| node.as_bool()).transpose()?.unwrap_or(true);
    // Any text is a valid id, because an id that is not a name is quoted.
    let unique_id = ids.unique_text(id);
    document.record_rename(&unique_id, id);
    let mut out = String::new();
    let add_comment = |out: &mut String, text: &str| out.push_str(&write_comment("#", text, 2));
    if unique_id != id {
        add_comment(
            &mut out,
            &format!("Its id is {} in the original, as another's is.", quote_for_comment(id)),
        );
        document.add_rename_note(&unique_id, id);
    }
    let conditions = object.get_list("conditions", &message!("conditions"))?;
    let label = quote_for_comment(id);
    let mut kept = document.collect_unread_members(&object, &message!("the branch {label}"));
    if unique_id != id {
        kept.insert("branch_id".to_owned(), json!(id));
    }
    let id = branch_name(&unique_id);
    if is_default {
        if !conditions.is_empty() {
            let originals: Vec<String> = conditions.iter().map(compare::original_condition).collect();
            add_comment(
                &mut out,
                &format!("A default answers whatever its conditions say: left out {}.", originals.join(", ")),
            );
            document.report.add_note(message!("the conditions of the default branch {label} were left out"));
            kept.insert("conditions".to_owned(), conditions.iter().map(|node| node.value.clone()).collect());
        }
        let logic = logic.filter(|logic| *logic != spelling.logic_word(false));
        kept.extend(logic.map(|logic| ("logic".to_owned(), logic.clone())));
        document.kept_comment(&kept).iter().for_each(|comment| add_comment(&mut out, comment));
        out.push_str(&format!("  default branch {id}\n"));
        return Ok(out);
    }
    let BranchConditions { body_text, condition_texts, skipped_conditions } =
        read_conditions(&conditions, (is_any, spelling), &label, findings, document)?;
    let word = if is_any && condition_texts.iter().flatten().count() > 1 { " any" } else { "" };
    if !skipped_conditions.is_empty() {
        kept.insert("conditions".to_owned(), Json::Object(skipped_conditions));
    }
    let logic = logic.filter(|logic| *logic != spelling.logic_word(!word.is_empty()));
    kept.extend(logic.map(|logic| ("logic".to_owned(), logic.clone())));
    if condition_texts.iter().flatten().next().is_none() {
        // The compiled rules do not contain a branch without conditions, so a comment keeps the
        // whole branch.
        kept = Map::from_iter([("branch".to_owned(), node.value.clone())]);
    }
    document.kept_comment(&kept).iter().for_each(|comment| add_comment(&mut out, comment));
    let line = match condition_texts.as_slice() {
        [] => Some("{ }".to_owned()),
        [Some(only)] => Some(format!("{{ {only} }}")),
        _ => None,
    };
    match line.map(|line| format!("  branch {id}{word} {line}\n")) {
        Some(line) if line.chars().count() <= 96 => out.push_str(&line),
        _ => out.push_str(&format!("  branch {id}{word} {{\n{body_text}  }}\n")),
    }
    Ok(out)
}

/// The translated conditions of a branch.
struct BranchConditions {
    /// The text to write between the braces of the branch: conditions and comments.
    body_text: String,
    /// An element for each condition and comment of `body_text`, in order: the text of a condition,
    /// or `None` for a comment.
    condition_texts: Vec<Option<String>>,
    /// The JSON conditions that were left out, with their positions as keys.
    skipped_conditions: Map<String, Json>,
}

/// Translates the conditions of the branch `label`. Adds differences from the original system to
/// `findings`. `is_any` is true if one true condition suffices for the branch. `spelling` says
/// whether the JSON of the choice spells operators in capitals, such as `GREATER_THAN`.
fn read_conditions(
    conditions: &[JsonNode<'_>],
    (is_any, spelling): (bool, Spelling),
    label: &str,
    findings: &mut ConditionFindings,
    document: &mut RulesDocument,
) -> ReadResult<BranchConditions> {
    let (mut body_text, mut condition_texts, mut skipped_conditions) =
        (String::new(), Vec::new(), Map::new());
    for (position, node) in conditions.iter().enumerate() {
        let name = node.item_name(&["id"]);
        let condition = match compare::read_condition(node, findings) {
            // The original system evaluates this condition. Without it, the branch would be chosen
            // for more messages, so the branch is skipped.
            Err(refusal) if !document.is_strict && !is_any => {
                let condition = compare::original_condition(node);
                let message = message!(
                    "its condition {} cannot be translated, and without the condition the branch would be \
                     chosen too often: {}",
                    quote_for_comment(&condition),
                    refusal.message
                );
                Err(Untranslatable { message, ..refusal })
            }
            // Without this condition, the branch is chosen for fewer messages at most.
            Err(refusal) if !document.is_strict => Ok(Err((refusal.message, refusal.steps))),
            other => other.map(|condition| condition.map_err(|reason| (reason, node.steps.clone()))),
        }?;
        let (mut kept, unread) = findings.take_unread_members();
        for member in unread {
            document.report.add_note(message!(
                "{} in a condition of the branch {label} has no effect here; it is kept as a comment",
                quote_for_comment(&member)
            ));
        }
        match condition {
            Ok(compare::WrittenCondition { text, remark }) => {
                let is_otherwise = remark.is_some() || !spelling.is_spelling_of_condition(node.value);
                if let Some(remark) = remark {
                    body_text.push_str(&write_comment("#", &remark, 4));
                    condition_texts.push(None);
                }
                if is_otherwise {
                    // An export would write this condition differently, so a comment keeps the
                    // original.
                    kept = Map::from_iter([("condition".to_owned(), node.value.clone())]);
                } else if let Some(id) =
                    node.value.get("id").filter(|id| **id != default_condition_id(position))
                {
                    kept.insert("id".to_owned(), id.clone());
                }
                if let Some(comment) = document.kept_comment(&kept) {
                    body_text.push_str(&write_comment("#", &comment, 4));
                    condition_texts.push(None);
                }
                body_text.push_str(&format!("    {text};\n"));
                condition_texts.push(Some(text));
            }
            Err((reason, steps)) => {
                skipped_conditions.insert(position.to_string(), node.value.clone());
                let original = compare::original_condition(node);
                body_text.push_str(&write_comment("#", &format!("Left out: {original}, since {reason}."), 4));
                condition_texts.push(None);
                tracing::warn!(target: "rulec::import", branch = label, condition = original, %reason, "skipped");
                let name = if name.is_empty() { &original } else { name };
                document.report.add_skipped_item(ItemKind::Condition, name.trim_matches('`'), &steps, reason);
            }
        }
    }
    Ok(BranchConditions { body_text, condition_texts, skipped_conditions })
}

/// Returns the id that an export gives to the condition at this position of a branch, unless a
/// comment in the rules stores another id.
pub(super) fn default_condition_id(position: usize) -> Json {
    json!(format!("c{}", position + 1))
}

fn branch_name(id: &str) -> String {
    if write::is_name(id) && write::quote_name(id) == id { id.to_owned() } else { quote_string(id) }
}
