//! Imports workflow branches: `[{"branch_id", "logic", "conditions", "is_default"}, …]`, or an
//! object with `choices` (or `branches`).

use super::compare::{self, Difference, Findings};
use super::document::{Document, Statement};
use super::located::{JsonNode, Read};
use super::write::{self, Names, comment, quote_string, shown};
use rulec_base::message;

/// Name of the imported choice, because the original may have no name.
const NAME: &str = "next_step";

pub(super) fn document(root: &JsonNode<'_>) -> Read<Document> {
    let mut document = Document {
        header: "Branches of a workflow step, imported from its JSON.".to_owned(),
        ..Document::default()
    };
    let mut title = None;
    let mut docs = String::new();
    let mut to_user = false;
    let branches = if root.value.is_array() {
        root.list(&message!("branches"))?
    } else {
        let object = root.object(&message!("a list of branches, or an object with `choices`"))?;
        let Some(list) = object.get("choices").or_else(|| object.get("branches")) else {
            return root.refuse(message!("the document needs `choices`, a list of branches"));
        };
        title = object.text("name")?;
        docs = object.text("description")?.unwrap_or_default().to_owned();
        to_user = object.bool("to_user", false)?;
        document.keep_in_header(&object);
        list.list(&message!("branches"))?
    };
    let mut findings = Findings::default();
    let mut ids = Names::default();
    let mut body = String::new();
    for node in &branches {
        let lines = branch(node, &mut ids, &mut findings, &mut document);
        body.push_str(&lines.map_err(|refusal| refusal.at_node(&message!("branch"), node, &["branch_id"]))?);
    }
    let mut names = Names::reserving(&["none", "default", "routes", "flows"]);
    let title = names.take(title.filter(|title| !title.is_empty()).unwrap_or(NAME));
    let mut comments = vec![
        "Branches are tried from the last to the first. A condition that reads what is missing, or is of \
         another type than it says, is left out of its branch; a branch of which nothing is left is passed over."
            .to_owned(),
    ];
    if !findings.different.is_empty() {
        let lines: Vec<String> =
            findings.different.iter().map(|it: &Difference| format!("- {}", it.text())).collect();
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
    document.statements.push(Statement { comments, docs, body, close: false });
    Ok(document)
}

fn branch(
    node: &JsonNode<'_>,
    ids: &mut Names,
    findings: &mut Findings,
    document: &mut Document,
) -> Read<String> {
    let object = node.object(&message!("a branch"))?;
    let id = object.need("branch_id", &message!("a branch"))?.text()?;
    let any = match object.raw("logic") {
        None => false,
        Some(logic) => match logic.value.as_str() {
            Some("and" | "AND" | "Logic.AND") => false,
            Some("or" | "OR" | "Logic.OR") => true,
            _ => return logic.refuse(message!("a branch's logic must be `and` or `or`")),
        },
    };
    let default = object.raw("is_default").map(|node| node.bool()).transpose()?.unwrap_or(true);
    // Any text is a valid id, because an id that is not a name is quoted.
    let written = ids.take_as_is(id);
    document.renamed(&written, id);
    let mut out = String::new();
    let say = |out: &mut String, text: &str| out.push_str(&comment("#", text, 2));
    if written != id {
        say(&mut out, &format!("Its id is {} in the original, as another's is.", shown(id)));
    }
    let conditions = object.list("conditions", &message!("conditions"))?;
    let label = shown(id);
    for kept in document.kept(&object, &message!("the branch {label}")) {
        say(&mut out, &kept);
    }
    let id = branch_name(&written);
    if default {
        if !conditions.is_empty() {
            let shown: Vec<String> = conditions.iter().map(compare::original).collect();
            say(
                &mut out,
                &format!("A default answers whatever its conditions say: left out {}.", shown.join(", ")),
            );
            document.notes.push(message!("the conditions of the default branch {label} were left out"));
        }
        out.push_str(&format!("  default branch {id}\n"));
        return Ok(out);
    }
    let (mut lines, mut plain) = (String::new(), Vec::new());
    for node in &conditions {
        let condition = compare::condition(node, findings)?;
        for member in findings.unknown.drain(..) {
            lines.push_str(&comment("#", &member, 4));
            plain.push(None);
            document.notes.push(message!(
                "{} in a condition of the branch {label} has no effect here; it is kept as a comment",
                shown(&member)
            ));
        }
        match condition {
            Ok((text, remark)) => {
                if let Some(remark) = remark {
                    lines.push_str(&comment("#", &remark, 4));
                    plain.push(None);
                }
                lines.push_str(&format!("    {text};\n"));
                plain.push(Some(text));
            }
            Err(reason) => {
                let original = compare::original(node);
                lines.push_str(&comment("#", &format!("Left out: {original}, since {reason}."), 4));
                plain.push(None);
                tracing::warn!(target: "rulec::import", branch = label, condition = original, %reason, "skipped");
                document
                    .notes
                    .push(message!("a condition of the branch {label} was left out because {reason}"));
            }
        }
    }
    let word = if any && plain.iter().flatten().count() > 1 { " any" } else { "" };
    let line = match plain.as_slice() {
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

fn branch_name(id: &str) -> String {
    if write::is_name(id) && write::quote_name(id) == id { id.to_owned() } else { quote_string(id) }
}
