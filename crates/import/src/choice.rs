//! Imports workflow branches: `[{"branch_id", "logic", "conditions", "is_default"}, …]`, or an
//! object with `choices` (or `branches`).

use super::compare::{self, ConditionFindings, Difference};
use super::document::{ImportedStatement, RulesDocument};
use super::located::{JsonNode, ReadResult};
use super::write::{self, NameAllocator, quote_for_comment, quote_string, write_comment};
use rulec_base::message;

/// Name of the imported choice if the original has no name.
const CHOICE_NAME: &str = "next_step";

pub(super) fn read_document(root: &JsonNode<'_>) -> ReadResult<RulesDocument> {
    let mut document = RulesDocument {
        header: "Branches of a workflow step, imported from its JSON.".to_owned(),
        ..RulesDocument::default()
    };
    let mut title = None;
    let mut docs = String::new();
    let mut to_user = false;
    let branches = if root.value.is_array() {
        root.as_list(&message!("branches"))?
    } else {
        let object = root.as_object(&message!("a list of branches, or an object with `choices`"))?;
        let Some(list) = object.get("choices").or_else(|| object.get("branches")) else {
            return root.refuse(message!("the document needs `choices`, a list of branches"));
        };
        title = object.get_text("name")?;
        docs = object.get_text("description")?.unwrap_or_default().to_owned();
        to_user = object.get_bool("to_user", false)?;
        document.keep_unread_in_header(&object);
        list.as_list(&message!("branches"))?
    };
    let mut findings = ConditionFindings::default();
    let mut ids = NameAllocator::default();
    let mut body = String::new();
    for node in &branches {
        let lines = read_branch(node, &mut ids, &mut findings, &mut document);
        body.push_str(&lines.map_err(|refusal| refusal.in_node(&message!("branch"), node, &["branch_id"]))?);
    }
    let mut names = NameAllocator::reserving(&["none", "default", "routes", "flows"]);
    let title = names.unique_name(title.filter(|title| !title.is_empty()).unwrap_or(CHOICE_NAME));
    let mut comments = vec![
        "Branches are tried from the last to the first. A condition that reads what is missing, or is of \
         another type than it says, is left out of its branch; a branch of which nothing is left is passed over."
            .to_owned(),
    ];
    if !findings.differences.is_empty() {
        let lines: Vec<String> = findings
            .differences
            .iter()
            .map(|difference: &Difference| format!("- {}", difference.description()))
            .collect();
        comments.push(format!("Where this decides otherwise than the Python module:\n{}", lines.join("\n")));
        let count = match lines.len() {
            1 => message!("one point"),
            more => message!("{more} points"),
        };
        document.notes.push(message!(
            "the Python module decides differently in {count}; comments in the rules describe them"
        ));
    }
    let head = format!("choice {}{}", write::quote_name(&title), if to_user { " to_user" } else { "" });
    let body = match body.as_str() {
        "" => format!("{head} {{ }}"),
        body => format!("{head} {{\n{body}}}"),
    };
    document.statements.push(ImportedStatement { comments, docs, body, is_adjacent: false });
    Ok(document)
}

fn read_branch(
    node: &JsonNode<'_>,
    ids: &mut NameAllocator,
    findings: &mut ConditionFindings,
    document: &mut RulesDocument,
) -> ReadResult<String> {
    let object = node.as_object(&message!("a branch"))?;
    let id = object.get_required("branch_id", &message!("a branch"))?.as_text()?;
    let is_any = match object.get_with_null("logic") {
        None => false,
        Some(logic) => match logic.value.as_str() {
            Some("and" | "AND" | "Logic.AND") => false,
            Some("or" | "OR" | "Logic.OR") => true,
            _ => return logic.refuse(message!("a branch's logic must be `and` or `or`")),
        },
    };
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
    }
    let conditions = object.get_list("conditions", &message!("conditions"))?;
    let label = quote_for_comment(id);
    for comment in document.comments_for_unread(&object, &message!("the branch {label}")) {
        add_comment(&mut out, &comment);
    }
    let id = branch_name(&unique_id);
    if is_default {
        if !conditions.is_empty() {
            let originals: Vec<String> = conditions.iter().map(compare::original_condition).collect();
            add_comment(
                &mut out,
                &format!("A default answers whatever its conditions say: left out {}.", originals.join(", ")),
            );
            document.notes.push(message!("the conditions of the default branch {label} were left out"));
        }
        out.push_str(&format!("  default branch {id}\n"));
        return Ok(out);
    }
    let (lines, condition_texts) = read_conditions(&conditions, &label, findings, document)?;
    let word = if is_any && condition_texts.iter().flatten().count() > 1 { " any" } else { "" };
    let line = match condition_texts.as_slice() {
        [] => Some("{ }".to_owned()),
        [Some(only)] => Some(format!("{{ {only} }}")),
        _ => None,
    };
    match line.map(|line| format!("  branch {id}{word} {line}\n")) {
        Some(line) if line.chars().count() <= 96 => out.push_str(&line),
        _ => out.push_str(&format!("  branch {id}{word} {{\n{lines}  }}\n")),
    }
    Ok(out)
}

/// Reads the conditions of the branch with this label. Returns their lines, and for each line the
/// text of its condition; a comment has none.
fn read_conditions(
    conditions: &[JsonNode<'_>],
    label: &str,
    findings: &mut ConditionFindings,
    document: &mut RulesDocument,
) -> ReadResult<(String, Vec<Option<String>>)> {
    let (mut lines, mut condition_texts) = (String::new(), Vec::new());
    for node in conditions {
        let condition = compare::read_condition(node, findings)?;
        for member in findings.unread_members.drain(..) {
            lines.push_str(&write_comment("#", &member, 4));
            condition_texts.push(None);
            document.notes.push(message!(
                "{} in a condition of the branch {label} has no effect here; it is kept as a comment",
                quote_for_comment(&member)
            ));
        }
        match condition {
            Ok((text, remark)) => {
                if let Some(remark) = remark {
                    lines.push_str(&write_comment("#", &remark, 4));
                    condition_texts.push(None);
                }
                lines.push_str(&format!("    {text};\n"));
                condition_texts.push(Some(text));
            }
            Err(reason) => {
                let original = compare::original_condition(node);
                lines.push_str(&write_comment("#", &format!("Left out: {original}, since {reason}."), 4));
                condition_texts.push(None);
                tracing::warn!(target: "rulec::import", branch = label, condition = original, %reason, "skipped");
                document
                    .notes
                    .push(message!("a condition of the branch {label} was left out because {reason}"));
            }
        }
    }
    Ok((lines, condition_texts))
}

fn branch_name(id: &str) -> String {
    if write::is_name(id) && write::quote_name(id) == id { id.to_owned() } else { quote_string(id) }
}
