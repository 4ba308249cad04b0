//! Reads the conditions of message routes as formulas, and writes the formulas as rule text after
//! all conditions of the document are read. Only then it is known which fields are compared with
//! values of several types. Each access to such a field must declare a type.

use super::located::{JsonNode, ObjectReader, ReadResult, kind_with_article};
use super::regex;
use super::write::{
    format_number, format_path, format_value, quote_for_comment, quote_raw_string, quote_string, write_list,
};
use rulec::Message;
use rulec_base::message;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Maximum width of a condition on one line, in characters, with its indentation.
const MAX_CONDITION_WIDTH: usize = 92;

#[derive(Clone, Debug)]
pub(super) enum Formula {
    /// Condition that is already written in rule syntax.
    Text(String),
    /// Comparison of a field of the context `ctx` with a constant: `ctx.n > 3`.
    Compare {
        field: String,
        ty: &'static str,
        op: &'static str,
        constant: String,
    },
    Joined(JoinOperator, Vec<Formula>),
    Not(Box<Formula>),
    Always,
    Never,
    /// Condition that is unknown for every message: neither the condition nor its negation is true.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinOperator {
    All,
    Any,
}

/// Facts about the conditions of a JSON document that are complete only after all conditions are
/// read.
#[derive(Default)]
pub(super) struct ConditionFacts {
    /// For each field of `ctx`, the types of the constants with which the conditions compare the
    /// field.
    types_by_field: BTreeMap<String, BTreeSet<&'static str>>,
    /// Whether a condition read so far uses the length of the message.
    pub(super) reads_length: bool,
    /// Whether a condition read so far uses the urgency of the message.
    pub(super) reads_urgency: bool,
    /// Remarks for the author about the condition that is being read.
    pub(super) remarks: Vec<Message>,
}

const COMPARISON_SUFFIXES: &[(&str, &str)] =
    &[("gt", ">"), ("lt", "<"), ("gte", ">="), ("lte", "<="), ("eq", "=="), ("ne", "!=")];

impl ConditionFacts {
    fn record_field_type(&mut self, field: &str, ty: &'static str) {
        self.types_by_field.entry(field.to_owned()).or_default().insert(ty);
    }

    /// True if the conditions compare this field of `ctx` with constants of several types. Each
    /// access to the field must then declare a type.
    fn has_mixed_types(&self, field: &str) -> bool {
        self.types_by_field.get(field).is_some_and(|types| types.len() > 1)
    }

    /// Marks each field whose type `rule_text`, the condition of a rule, declares by `as`. When the
    /// condition is written again from its JSON, the types of marked fields are declared again. One
    /// condition does not show whether the whole document compares a field with constants of
    /// several types, so `rule_text` must.
    pub(super) fn assume_types_of(&mut self, rule_text: &str) {
        for (field, types) in &mut self.types_by_field {
            if rule_text.contains(&format!("{field} as ")) {
                types.extend(["number", "string"]);
            }
        }
    }

    fn add_remark(&mut self, remark: Message) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    pub(super) fn read_formula(&mut self, node: &JsonNode<'_>) -> ReadResult<Formula> {
        let object = node.as_object(&message!("a condition"))?;
        let ty = object.get_required("type", &message!("a condition"))?;
        let formula = match ty.as_text()? {
            "TextCondition" => self.read_text_condition(&object)?,
            "RegexCondition" => self.read_regex_condition(&object)?,
            "SimilarityCondition" => read_similarity_condition(&object)?,
            "ContextCondition" => return self.read_context_condition(&object),
            "ErrorCondition" => self.read_error_condition(&object)?,
            "PermissionCondition" => self.read_permission_condition(&object)?,
            "AndCondition" => Formula::Joined(JoinOperator::All, self.read_inner_formulas(&object)?),
            "OrCondition" => Formula::Joined(JoinOperator::Any, self.read_inner_formulas(&object)?),
            "NotCondition" => {
                let inner =
                    self.read_formula(&object.get_required("condition", &message!("a `NotCondition`"))?)?;
                Formula::Not(Box::new(inner))
            }
            other => {
                return ty.refuse(message!(
                    "unknown condition {}; the conditions are TextCondition, RegexCondition, \
                    SimilarityCondition, ContextCondition, ErrorCondition, PermissionCondition, \
                    AndCondition, OrCondition and NotCondition",
                    quote_for_comment(other)
                ));
            }
        };
        object.refuse_unread_members(&message!("a `{}`", ty.as_text()?))?;
        Ok(formula)
    }

    fn read_inner_formulas(&mut self, object: &ObjectReader<'_>) -> ReadResult<Vec<Formula>> {
        let parts = object
            .get_required("conditions", &message!("this condition"))?
            .as_list(&message!("conditions"))?;
        parts.iter().map(|part| self.read_formula(part)).collect()
    }

    fn read_text_condition(&mut self, object: &ObjectReader<'_>) -> ReadResult<Formula> {
        let sensitive = object.get_bool("case_sensitive", false)?;
        let case = if sensitive { "" } else { " ignoring case" };
        let mut parts = Vec::new();
        for (key, op) in [("contains", "contains"), ("keywords", "contains word")] {
            let Some(node) = object.get(key) else { continue };
            let words = node.as_texts()?;
            if key == "keywords" && words.contains(&"") {
                return node.refuse(message!("an empty keyword is not a word and is never found; remove it"));
            }
            if words.is_empty() {
                self.add_remark(message!("An empty list holds for nothing."));
            }
            let words: Vec<String> = words.into_iter().map(quote_string).collect();
            let words = match words.as_slice() {
                [word] => word.clone(),
                words => format!("any {}", write_list(words, 4)),
            };
            parts.push(Formula::Text(format!("text {op} {words}{case}")));
        }
        if parts.is_empty() {
            return object.node.refuse(message!("a `TextCondition` needs `contains` or `keywords`"));
        }
        Ok(self.join_with_and(parts))
    }

    fn read_regex_condition(&mut self, object: &ObjectReader<'_>) -> ReadResult<Formula> {
        let node = object.get_required("pattern", &message!("a `RegexCondition`"))?;
        let sensitive = object.get_bool("case_sensitive", true)?;
        let (pattern, translated) =
            (node.as_text()?, regex::read_regex(&node, &message!("the regular expression"), !sensitive)?);
        if translated.text != pattern {
            self.add_remark(message!("Written otherwise in Python: {}.", quote_for_comment(pattern)));
        }
        let case = if sensitive { "" } else { " ignoring case" };
        Ok(Formula::Text(format!("text matches {}{case}", quote_raw_string(&translated.text))))
    }

    /// Reads a JSON condition on the field `ctx` of a message. The members of the object, such as
    /// `n__gt`, are comparisons that must all be true.
    fn read_context_condition(&mut self, object: &ObjectReader<'_>) -> ReadResult<Formula> {
        let mut parts = Vec::new();
        for (key, node) in object.members() {
            if key == "type" {
                continue;
            }
            let (field, op) = match key.rsplit_once("__") {
                None => (key, "=="),
                Some((field, word)) => match COMPARISON_SUFFIXES.iter().find(|(known, _)| *known == word) {
                    Some((_, op)) if !field.is_empty() => (field, *op),
                    _ => {
                        let known: Vec<&str> = COMPARISON_SUFFIXES.iter().map(|(word, _)| *word).collect();
                        let known = known.join(", ");
                        return node.refuse(message!(
                            "unknown comparison {}; the comparisons are {known}",
                            quote_for_comment(word)
                        ));
                    }
                },
            };
            parts.push(self.read_comparison(field, op, &node)?);
        }
        Ok(self.join_with_and(parts))
    }

    fn join_with_and(&mut self, parts: Vec<Formula>) -> Formula {
        if parts.is_empty() {
            self.add_remark(message!("This condition asks for nothing and holds for every message."));
        }
        Formula::Joined(JoinOperator::All, parts)
    }

    fn read_comparison(&mut self, field: &str, op: &'static str, node: &JsonNode<'_>) -> ReadResult<Formula> {
        if node.value.is_null() {
            self.add_remark(message!(
                "{} was compared with null: a missing value is neither equal nor unequal to anything, so this never holds, \
                 and neither does its negation.",
                quote_for_comment(field)
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
                    kind_with_article(node.value)
                ));
            }
            Json::String(_) => "string",
            Json::Bool(_) => "bool",
            Json::Array(_) => "list",
            Json::Object(_) | Json::Null => "dict",
        };
        let constant = format_value(node.value);
        let computed_field = match field {
            "message_length" => Some(("number", &mut self.reads_length)),
            "urgency" => Some(("string", &mut self.reads_urgency)),
            _ => None,
        };
        if let Some((wanted, is_used)) = computed_field {
            if ty != wanted {
                return node.refuse(message!(
                    "`{field}` must be a {wanted}, but this is {}",
                    kind_with_article(node.value)
                ));
            }
            *is_used = true;
            return Ok(Formula::Text(format!("{field} {op} {constant}")));
        }
        let field = format_path("ctx", [field]);
        self.record_field_type(&field, ty);
        Ok(Formula::Compare { field, ty, op, constant })
    }

    fn read_error_condition(&mut self, object: &ObjectReader<'_>) -> ReadResult<Formula> {
        let kind = object.get_text("last_error_type")?;
        let mut parts = Vec::new();
        let error_field = format_path("ctx", ["last_error_type"]);
        if let Some(kind) = kind {
            self.record_field_type(&error_field, "string");
            parts.push(Formula::Text(format!("{error_field} == {}", quote_string(kind))));
        }
        let counts = std::iter::once(("occurrence_count".to_owned(), "=="))
            .chain(COMPARISON_SUFFIXES.iter().map(|(word, op)| (format!("occurrence_count__{word}"), *op)));
        for (key, op) in counts {
            let Some(node) = object.get(&key) else { continue };
            self.record_field_type(&format_path("ctx", ["error_counts"]), "dict");
            let limit = format_number(node.as_number()?);
            let kind = match kind {
                Some(kind) => quote_string(kind),
                None => {
                    self.record_field_type(&error_field, "string");
                    error_field.clone()
                }
            };
            parts.push(Formula::Text(format!("(ctx.error_counts[{kind}] ?? 0) {op} {limit}")));
        }
        Ok(self.join_with_and(parts))
    }

    fn read_permission_condition(&mut self, object: &ObjectReader<'_>) -> ReadResult<Formula> {
        let mut parts = Vec::new();
        self.record_field_type(&format_path("ctx", ["user"]), "dict");
        if let Some(node) = object.get("user_role") {
            parts.push(Formula::Text(format!("ctx.user.role == {}", quote_string(node.as_text()?))));
        }
        if let Some(node) = object.get("required_permissions") {
            let permissions = node.as_texts()?;
            let checks = permissions
                .into_iter()
                .map(|permission| format!("ctx.user.permissions contains {}", quote_string(permission)));
            parts.extend(checks.map(Formula::Text));
        }
        Ok(self.join_with_and(parts))
    }

    /// Returns the condition of a route in rule syntax.
    pub(super) fn write_route_condition(&self, formula: &Formula) -> String {
        self.write_formula(formula, "  when ".len(), 4)
    }

    /// Returns the formula in rule syntax. Its first line starts at column `column`, and further
    /// lines are indented by `indent` spaces.
    fn write_formula(&self, formula: &Formula, column: usize, indent: usize) -> String {
        let formula = simplify(formula.clone(), true);
        let line = self.write_inline(&formula, Precedence::Loose);
        match &formula {
            _ if fits_on_line(&line, column) => line,
            Formula::Joined(JoinOperator::All, parts) => {
                let parts: Vec<String> =
                    parts.iter().map(|part| self.write_block(part, indent, Precedence::And)).collect();
                parts.join(&format!("\n{}and ", " ".repeat(indent)))
            }
            _ => self.write_block(&formula, indent - 2, Precedence::Loose),
        }
    }

    /// Writes the formula on one line if it fits, otherwise as a block indented by `indent` spaces.
    /// On one line, the formula is put in parentheses if the enclosing operator (`precedence`)
    /// requires it.
    fn write_block(&self, formula: &Formula, indent: usize, precedence: Precedence) -> String {
        let line = self.write_inline(formula, precedence);
        let (word, parts) = match formula {
            _ if fits_on_line(&line, indent) => return line,
            Formula::Joined(JoinOperator::All, parts) => ("all", parts),
            Formula::Joined(JoinOperator::Any, parts) => ("any", parts),
            Formula::Not(inner) => {
                return format!("not ({})", self.write_block(inner, indent, Precedence::Loose));
            }
            _ => return line,
        };
        let inner = " ".repeat(indent + 2);
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("{inner}{}", self.write_block(part, indent + 2, Precedence::Loose)))
            .collect();
        format!("{word} {{\n{}\n{}}}", parts.join(";\n"), " ".repeat(indent))
    }

    fn write_inline(&self, formula: &Formula, precedence: Precedence) -> String {
        match formula {
            Formula::Text(text) => text.clone(),
            Formula::Compare { field, ty, op, constant } => {
                if self.has_mixed_types(field) || *ty == "datetime" {
                    format!("{field} as {ty} {op} {constant}")
                } else {
                    format!("{field} {op} {constant}")
                }
            }
            Formula::Joined(join, parts) => {
                let (word, operator_precedence) = match join {
                    JoinOperator::All => (" and ", Precedence::And),
                    JoinOperator::Any => (" or ", Precedence::Or),
                };
                let parts: Vec<String> =
                    parts.iter().map(|part| self.write_inline(part, operator_precedence)).collect();
                let text = parts.join(word);
                if precedence > operator_precedence { format!("({text})") } else { text }
            }
            Formula::Not(inner) => format!("not ({})", self.write_inline(inner, Precedence::Loose)),
            Formula::Always => "true".to_owned(),
            Formula::Never | Formula::Unknown => "false".to_owned(),
        }
    }
}

/// Precedence of the operator that encloses a formula, which determines whether the formula needs
/// parentheses. Variants are in order, from the loosest binding to the tightest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Loose,
    Or,
    And,
}

fn fits_on_line(text: &str, indent: usize) -> bool {
    !text.contains('\n') && indent + text.chars().count() <= MAX_CONDITION_WIDTH
}

/// Returns a simpler condition that chooses the same routes. Routing treats unknown like false. So
/// an unknown subformula becomes false under an even number of negations, and true under an odd
/// number. `is_positive` is true if `formula` itself is under an even number.
fn simplify(formula: Formula, is_positive: bool) -> Formula {
    match formula {
        Formula::Joined(join, parts) => {
            let mut parts: Vec<Formula> = parts.into_iter().map(|part| simplify(part, is_positive)).collect();
            match (parts.len(), join) {
                (0, JoinOperator::All) => Formula::Always,
                (0, JoinOperator::Any) => Formula::Never,
                (1, _) => parts.remove(0),
                _ => {
                    let flatten = |part| match part {
                        Formula::Joined(inner, parts) if inner == join => parts,
                        other => vec![other],
                    };
                    Formula::Joined(join, parts.into_iter().flat_map(flatten).collect())
                }
            }
        }
        Formula::Not(inner) => match simplify(*inner, !is_positive) {
            Formula::Not(inner) => *inner,
            Formula::Always => Formula::Never,
            Formula::Never => Formula::Always,
            inner => Formula::Not(Box::new(inner)),
        },
        Formula::Unknown if is_positive => Formula::Never,
        Formula::Unknown => Formula::Always,
        other => other,
    }
}

fn read_similarity_condition(object: &ObjectReader<'_>) -> ReadResult<Formula> {
    let text = object.get_required("text", &message!("a `SimilarityCondition`"))?;
    let threshold = object.get_required("threshold", &message!("a `SimilarityCondition`"))?;
    let (text, threshold) = (quote_string(text.as_text()?), format_number(threshold.as_number()?));
    Ok(Formula::Text(format!("similarity(text, {text}) >= {threshold}")))
}
