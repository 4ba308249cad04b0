//! Conditions of message routes, as formulas. A formula is written as text only after all
//! conditions of the file are read.

use super::located::{JsonNode, Object, Read, kind};
use super::regex;
use super::write::{format_number, format_path, format_value, list, quote_raw_string, quote_string, shown};
use rulec_base::message;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Maximum width of a condition on one line.
const COLUMNS: usize = 92;

#[derive(Clone, Debug)]
pub(super) enum Formula {
    /// Condition that is already written as text.
    Text(String),
    /// Comparison of a context field with a constant: `ctx.n > 3`.
    Compare {
        field: String,
        ty: &'static str,
        op: &'static str,
        constant: String,
    },
    Joined(Join, Vec<Formula>),
    Not(Box<Formula>),
    Always,
    Never,
    /// Condition that is unknown for every message: neither the condition nor its negation is true.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    All,
    Any,
}

/// Facts shared by the conditions of a file.
#[derive(Default)]
pub(super) struct Facts {
    /// The types at which the conditions read each context field.
    uses: BTreeMap<String, BTreeSet<&'static str>>,
    /// Whether a condition reads the message's length (`length`) or its urgency (`urgency`).
    pub(super) length: bool,
    pub(super) urgency: bool,
    /// Remarks on the current condition.
    pub(super) remarks: Vec<String>,
}

const COMPARISONS: &[(&str, &str)] =
    &[("gt", ">"), ("lt", "<"), ("gte", ">="), ("lte", "<="), ("eq", "=="), ("ne", "!=")];

impl Facts {
    fn uses(&mut self, field: &str, ty: &'static str) {
        self.uses.entry(field.to_owned()).or_default().insert(ty);
    }

    /// True if each access to the field must declare a type, because conditions read the field at
    /// several types.
    fn is_mixed(&self, field: &str) -> bool {
        self.uses.get(field).is_some_and(|types| types.len() > 1)
    }

    fn remark(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    pub(super) fn read(&mut self, node: &JsonNode<'_>) -> Read<Formula> {
        let object = node.object(&message!("a condition"))?;
        let ty = object.need("type", &message!("a condition"))?;
        let formula = match ty.text()? {
            "TextCondition" => self.text(&object)?,
            "RegexCondition" => self.regex(&object)?,
            "SimilarityCondition" => similarity(&object)?,
            "ContextCondition" => return self.context(&object),
            "ErrorCondition" => self.error(&object)?,
            "PermissionCondition" => self.permission(&object)?,
            "AndCondition" => Formula::Joined(Join::All, self.parts(&object)?),
            "OrCondition" => Formula::Joined(Join::Any, self.parts(&object)?),
            "NotCondition" => {
                let inner = self.read(&object.need("condition", &message!("a `NotCondition`"))?)?;
                Formula::Not(Box::new(inner))
            }
            other => {
                return ty.refuse(message!(
                    "unknown condition {}; the conditions are TextCondition, RegexCondition, \
                    SimilarityCondition, ContextCondition, ErrorCondition, PermissionCondition, \
                    AndCondition, OrCondition and NotCondition",
                    shown(other)
                ));
            }
        };
        object.nothing_else(&message!("a `{}`", ty.text()?))?;
        Ok(formula)
    }

    fn parts(&mut self, object: &Object<'_>) -> Read<Vec<Formula>> {
        let parts = object.need("conditions", &message!("this condition"))?.list(&message!("conditions"))?;
        parts.iter().map(|part| self.read(part)).collect()
    }

    fn text(&mut self, object: &Object<'_>) -> Read<Formula> {
        let sensitive = object.bool("case_sensitive", false)?;
        let case = if sensitive { "" } else { " ignoring case" };
        let mut parts = Vec::new();
        for (key, op) in [("contains", "contains"), ("keywords", "contains word")] {
            let Some(node) = object.get(key) else { continue };
            let words = node.texts()?;
            if key == "keywords" && words.contains(&"") {
                return node.refuse(message!("an empty keyword is not a word and is never found; remove it"));
            }
            if words.is_empty() {
                self.remark("An empty list holds for nothing.");
            }
            let words: Vec<String> = words.into_iter().map(quote_string).collect();
            let words = match words.as_slice() {
                [word] => word.clone(),
                words => format!("any {}", list(words, 4)),
            };
            parts.push(Formula::Text(format!("text {op} {words}{case}")));
        }
        if parts.is_empty() {
            return object.node.refuse(message!("a `TextCondition` needs `contains` or `keywords`"));
        }
        Ok(Formula::Joined(Join::All, parts))
    }

    fn regex(&mut self, object: &Object<'_>) -> Read<Formula> {
        let node = object.need("pattern", &message!("a `RegexCondition`"))?;
        let sensitive = object.bool("case_sensitive", true)?;
        let (pattern, translated) =
            (node.text()?, regex::read(&node, &message!("the regular expression"), !sensitive)?);
        if translated.text != pattern {
            self.remark(format!("Written otherwise in Python: {}.", shown(pattern)));
        }
        let case = if sensitive { "" } else { " ignoring case" };
        Ok(Formula::Text(format!("text matches {}{case}", quote_raw_string(&translated.text))))
    }

    /// Reads a condition on the context: members such as `n__gt`, of which all must be true.
    fn context(&mut self, object: &Object<'_>) -> Read<Formula> {
        let mut parts = Vec::new();
        for (key, node) in object.members() {
            if key == "type" {
                continue;
            }
            let (field, op) = match key.rsplit_once("__") {
                None => (key, "=="),
                Some((field, word)) => match COMPARISONS.iter().find(|(known, _)| *known == word) {
                    Some((_, op)) if !field.is_empty() => (field, *op),
                    _ => {
                        let known: Vec<&str> = COMPARISONS.iter().map(|(word, _)| *word).collect();
                        let known = known.join(", ");
                        return node.refuse(message!(
                            "unknown comparison {}; the comparisons are {known}",
                            shown(word)
                        ));
                    }
                },
            };
            parts.push(self.comparison(field, op, &node)?);
        }
        Ok(self.all(parts))
    }

    fn all(&mut self, parts: Vec<Formula>) -> Formula {
        if parts.is_empty() {
            self.remark("This condition asks for nothing and holds for every message.");
        }
        Formula::Joined(Join::All, parts)
    }

    fn comparison(&mut self, field: &str, op: &'static str, node: &JsonNode<'_>) -> Read<Formula> {
        if node.value.is_null() {
            self.remark(format!(
                "{} was compared with null: what is missing is neither equal nor unequal to anything, so this never holds, \
                 and neither does its negation.",
                shown(field)
            ));
            return Ok(Formula::Unknown);
        }
        let equality = matches!(op, "==" | "!=");
        let ty = match node.value {
            Json::Number(_) => "number",
            Json::String(text) if !equality && OffsetDateTime::parse(text, &Rfc3339).is_ok() => "datetime",
            _ if !equality => {
                return node.refuse(message!(
                    "`{op}` compares numbers, or times such as 2026-01-31T09:30:00Z; this is {}",
                    kind(node.value)
                ));
            }
            Json::String(_) => "string",
            Json::Bool(_) => "bool",
            Json::Array(_) => "list",
            Json::Object(_) | Json::Null => "dict",
        };
        let constant = format_value(node.value);
        let derived = match field {
            "message_length" => Some(("number", &mut self.length)),
            "urgency" => Some(("string", &mut self.urgency)),
            _ => None,
        };
        if let Some((wanted, asked)) = derived {
            if ty != wanted {
                return node
                    .refuse(message!("`{field}` must be a {wanted}, but this is {}", kind(node.value)));
            }
            *asked = true;
            return Ok(Formula::Text(format!("{field} {op} {constant}")));
        }
        let field = format_path("ctx", [field]);
        self.uses(&field, ty);
        Ok(Formula::Compare { field, ty, op, constant })
    }

    fn error(&mut self, object: &Object<'_>) -> Read<Formula> {
        let kind = object.text("last_error_type")?;
        let mut parts = Vec::new();
        let last = format_path("ctx", ["last_error_type"]);
        if let Some(kind) = kind {
            self.uses(&last, "string");
            parts.push(Formula::Text(format!("{last} == {}", quote_string(kind))));
        }
        let counts = std::iter::once(("occurrence_count".to_owned(), "=="))
            .chain(COMPARISONS.iter().map(|(word, op)| (format!("occurrence_count__{word}"), *op)));
        for (key, op) in counts {
            let Some(node) = object.get(&key) else { continue };
            self.uses(&format_path("ctx", ["error_counts"]), "dict");
            let limit = format_number(node.number()?);
            let kind = match kind {
                Some(kind) => quote_string(kind),
                None => {
                    self.uses(&last, "string");
                    last.clone()
                }
            };
            parts.push(Formula::Text(format!("(ctx.error_counts[{kind}] ?? 0) {op} {limit}")));
        }
        Ok(self.all(parts))
    }

    fn permission(&mut self, object: &Object<'_>) -> Read<Formula> {
        let mut parts = Vec::new();
        self.uses(&format_path("ctx", ["user"]), "dict");
        if let Some(node) = object.get("user_role") {
            parts.push(Formula::Text(format!("ctx.user.role == {}", quote_string(node.text()?))));
        }
        if let Some(node) = object.get("required_permissions") {
            let permissions = node.texts()?;
            let held = permissions
                .into_iter()
                .map(|it| format!("ctx.user.permissions contains {}", quote_string(it)));
            parts.extend(held.map(Formula::Text));
        }
        Ok(self.all(parts))
    }

    /// Writes the formula as text that starts at column `column`, with further lines indented by
    /// `indent`.
    pub(super) fn write(&self, formula: &Formula, column: usize, indent: usize) -> String {
        let formula = simplified(formula.clone(), true);
        let line = self.inline(&formula, Binding::Loose);
        match &formula {
            _ if fits(&line, column) => line,
            Formula::Joined(Join::All, parts) => {
                let parts: Vec<String> =
                    parts.iter().map(|part| self.block(part, indent, Binding::And)).collect();
                parts.join(&format!("\n{}and ", " ".repeat(indent)))
            }
            _ => self.block(&formula, indent - 2, Binding::Loose),
        }
    }

    /// Writes the formula on one line if it fits, otherwise as a block indented by `indent`.
    fn block(&self, formula: &Formula, indent: usize, binding: Binding) -> String {
        let line = self.inline(formula, binding);
        let (word, parts) = match formula {
            _ if fits(&line, indent) => return line,
            Formula::Joined(Join::All, parts) => ("all", parts),
            Formula::Joined(Join::Any, parts) => ("any", parts),
            Formula::Not(inner) => {
                return format!("not ({})", self.block(inner, indent, Binding::Loose));
            }
            _ => return line,
        };
        let inner = " ".repeat(indent + 2);
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("{inner}{}", self.block(part, indent + 2, Binding::Loose)))
            .collect();
        format!("{word} {{\n{}\n{}}}", parts.join(";\n"), " ".repeat(indent))
    }

    fn inline(&self, formula: &Formula, binding: Binding) -> String {
        match formula {
            Formula::Text(text) => text.clone(),
            Formula::Compare { field, ty, op, constant } => {
                if self.is_mixed(field) || *ty == "datetime" {
                    format!("{field} as {ty} {op} {constant}")
                } else {
                    format!("{field} {op} {constant}")
                }
            }
            Formula::Joined(join, parts) => {
                let (word, own) = match join {
                    Join::All => (" and ", Binding::And),
                    Join::Any => (" or ", Binding::Or),
                };
                let parts: Vec<String> = parts.iter().map(|part| self.inline(part, own)).collect();
                let text = parts.join(word);
                if binding > own { format!("({text})") } else { text }
            }
            Formula::Not(inner) => format!("not ({})", self.inline(inner, Binding::Loose)),
            Formula::Always => "true".to_owned(),
            Formula::Never | Formula::Unknown => "false".to_owned(),
        }
    }
}

/// Precedence of the operator that encloses a formula, loosest first. It determines whether the
/// formula needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loose,
    Or,
    And,
}

fn fits(text: &str, indent: usize) -> bool {
    !text.contains('\n') && indent + text.chars().count() <= COLUMNS
}

/// Returns the shortest equivalent condition. Routing does not distinguish unknown from false. So
/// an unknown part becomes false under an even number of negations (`positive`), and true under an
/// odd number.
fn simplified(formula: Formula, positive: bool) -> Formula {
    match formula {
        Formula::Joined(join, parts) => {
            let mut parts: Vec<Formula> = parts.into_iter().map(|part| simplified(part, positive)).collect();
            match (parts.len(), join) {
                (0, Join::All) => Formula::Always,
                (0, Join::Any) => Formula::Never,
                (1, _) => parts.remove(0),
                _ => {
                    let flat = |part| match part {
                        Formula::Joined(inner, parts) if inner == join => parts,
                        other => vec![other],
                    };
                    Formula::Joined(join, parts.into_iter().flat_map(flat).collect())
                }
            }
        }
        Formula::Not(inner) => match simplified(*inner, !positive) {
            Formula::Not(inner) => *inner,
            Formula::Always => Formula::Never,
            Formula::Never => Formula::Always,
            inner => Formula::Not(Box::new(inner)),
        },
        Formula::Unknown if positive => Formula::Never,
        Formula::Unknown => Formula::Always,
        other => other,
    }
}

fn similarity(object: &Object<'_>) -> Read<Formula> {
    let text = object.need("text", &message!("a `SimilarityCondition`"))?;
    let threshold = object.need("threshold", &message!("a `SimilarityCondition`"))?;
    let (text, threshold) = (quote_string(text.text()?), format_number(threshold.number()?));
    Ok(Formula::Text(format!("similarity(text, {text}) >= {threshold}")))
}
