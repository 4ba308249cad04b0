//! Translates one condition of a workflow branch to rule syntax. A condition that has no
//! translation is left out of the branch, and the reason is reported.

use super::Untranslatable;
use super::literal::{self, Literal};
use super::located::{JsonNode, ObjectReader, ReadResult, kind_with_article};
use super::operator::{Comparison, Operator, ValueType, operand_types_for_capitals, verb_from_capitals};
use super::regex::{self, TranslateError};
use super::write::{format_path, format_value, quote_for_comment, quote_raw_string};
use rulec::Message;
use rulec_base::diag::comma_list;
use rulec_base::message;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

enum RightSide {
    /// The right side is a constant or a regular expression. Contains its text in rule syntax, and
    /// its type.
    Constant(String, ValueType),
    /// The right side is a list or dict that JSON cannot represent. No message can contain such a
    /// value, so no value of a message equals it.
    NonJson(ValueType),
    /// The right side is an invalid regular expression; contains the reason.
    InvalidRegex(String),
    /// The right side is the output of a workflow step. Contains its text in rule syntax, and its
    /// type.
    Step(String, ValueType),
}

/// A condition in rule syntax, with a remark for the author of the rules.
pub(super) struct WrittenCondition {
    pub(super) text: String,
    /// Says that the condition is constant, or how it differs from the original; `None` if neither
    /// is true.
    pub(super) remark: Option<String>,
}

/// A reason why the original system (a Python module) decides differently from the imported rules.
/// A comment in the imported rules describes each reason once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DecisionDifference {
    PlainText,
    Length,
    Member,
    Booleans,
    Operator,
    Path,
}

impl DecisionDifference {
    pub(super) fn comment_text(self) -> &'static str {
        match self {
            DecisionDifference::PlainText => {
                "a text without quotes is itself here; the module evaluates it as Python, and fails or skips the condition"
            }
            DecisionDifference::Length => {
                "lengths are compared here; the module takes no number on the right side of a length"
            }
            DecisionDifference::Member => {
                "an element of a list and a key of a dict may be a text here; the module wants a list or a dict on the right side"
            }
            DecisionDifference::Booleans => {
                "true and false are no numbers here; to the module they are 1 and 0"
            }
            DecisionDifference::Operator => {
                "a condition without a known operator or type is left out here; the module fails on it"
            }
            DecisionDifference::Path => {
                "a path through a value that is no dict leads to nothing here; the module fails on it"
            }
        }
    }
}

/// Facts about the conditions read so far that the importer reports to the author of the rules.
#[derive(Default)]
pub(super) struct ConditionFindings {
    /// Reasons why the original system may decide differently from the imported rules.
    pub(super) differences: BTreeSet<DecisionDifference>,
    /// Members of a JSON condition that the importer did not read. The unread members of its left
    /// and right sides are in the objects `left` and `right`.
    pub(super) unread_members: Map<String, Json>,
}

impl ConditionFindings {
    /// Records the members of an object that the importer did not read. The original system ignores
    /// such members. `side` is `left` or `right` if the object is a side of a condition, and `None`
    /// if it is the condition itself.
    fn record_unread_members(&mut self, object: &ObjectReader<'_>, side: Option<&str>) {
        let unread = object.unread_members().into_iter();
        let mut unread: Map<String, Json> =
            unread.map(|(key, node)| (key.to_owned(), node.value.clone())).collect();
        match side {
            Some(side) if !unread.is_empty() => {
                drop(self.unread_members.insert(side.to_owned(), unread.into()))
            }
            Some(_) => {}
            None => self.unread_members.append(&mut unread),
        }
    }

    /// Returns the members of JSON conditions that were recorded as unread, and removes them from
    /// the record. The second value contains the same members as texts `key: value`, for notes to
    /// the author.
    pub(super) fn take_unread_members(&mut self) -> (Map<String, Json>, Vec<String>) {
        let unread = std::mem::take(&mut self.unread_members);
        let mut texts = Vec::new();
        for (key, value) in &unread {
            match value.as_object().filter(|_| matches!(key.as_str(), "left" | "right")) {
                Some(side) => {
                    texts.extend(side.iter().map(|(key, value)| format!("{key}: {}", format_value(value))))
                }
                None => texts.push(format!("{key}: {}", format_value(value))),
            }
        }
        (unread, texts)
    }
}

/// Translates a condition to rule syntax. The inner error is the reason why the condition is left
/// out of its branch. The outer error means that the condition cannot be translated, which ends a
/// strict import.
pub(super) fn read_condition(
    node: &JsonNode<'_>,
    findings: &mut ConditionFindings,
) -> ReadResult<Result<WrittenCondition, Message>> {
    let object = node.as_object(&message!("a condition"))?;
    object.get("id");
    let (left, operator_node, right) = (object.get("left"), object.get("operate"), object.get("right"));
    findings.record_unread_members(&object, None);
    match translate_condition(left, operator_node, right, findings) {
        Ok(WrittenCondition { text, remark }) => {
            let remark = remark.map(|remark| format!("{} {remark}.", original_condition(node)));
            Ok(Ok(WrittenCondition { text, remark }))
        }
        Err(SkipReason::Skipped(reason)) => Ok(Err(reason)),
        Err(SkipReason::Refused(refusal)) => Err(refusal),
    }
}

/// Reason why a condition of a branch is not translated.
enum SkipReason {
    /// The original system ignores this condition, so the importer leaves it out. Contains the
    /// reason.
    Skipped(Message),
    /// The condition cannot be translated. A strict import fails; any other import leaves the
    /// condition out.
    Refused(Untranslatable),
}

impl From<Untranslatable> for SkipReason {
    fn from(refusal: Untranslatable) -> Self {
        SkipReason::Refused(refusal)
    }
}

fn skip_because(reason: Message) -> SkipReason {
    SkipReason::Skipped(reason)
}

fn translate_condition(
    left: Option<JsonNode<'_>>,
    operator_node: Option<JsonNode<'_>>,
    right: Option<JsonNode<'_>>,
    findings: &mut ConditionFindings,
) -> Result<WrittenCondition, SkipReason> {
    let left = left
        .ok_or_else(|| skip_because(message!("it has no left value")))?
        .as_object(&message!("the left value"))?;
    // The documented JSON format spells operators and types in capitals; a condition must use one
    // spelling throughout.
    let operator_json = operator_node.ok_or_else(|| skip_because(message!("it has no operator")))?.value;
    let operator_name = operator_json.as_str();
    let uses_capitals = operator_name.is_some_and(|name| verb_from_capitals(name).is_some());
    let unknown_operator =
        || skip_because(message!("there is no operator {}", quote_for_comment(&format_json(operator_json))));
    // The operator is checked before the types, whose spelling depends on the operator.
    if !uses_capitals && operator_name.and_then(Operator::from_name).is_none() {
        findings.differences.insert(DecisionDifference::Operator);
        return Err(unknown_operator());
    }
    let (left, left_type) = read_step_output(&left, ("left", &message!("left")), uses_capitals, findings)?
        .ok_or_else(|| skip_because(message!("the left value does not come from a step")))?;
    let find_operator = |name| match uses_capitals {
        true => Operator::from_spelling(name, Some(left_type)),
        false => Operator::from_name(name),
    };
    let operator = operator_name.and_then(find_operator).ok_or_else(|| {
        findings.differences.insert(DecisionDifference::Operator);
        let operand_types = operator_name.map_or(&[][..], operand_types_for_capitals);
        match operand_types.is_empty() {
            true => unknown_operator(),
            false => skip_because(message!(
                "the operator {} does not take {} on its left side, only {}",
                quote_for_comment(&format_json(operator_json)),
                left_type.name_with_article(),
                comma_list(operand_types.iter().map(|ty| ty.name()))
            )),
        }
    })?;
    let right = right
        .ok_or_else(|| skip_because(message!("it has no right value")))?
        .as_object(&message!("the right value"))?;
    let right = match read_step_output(&right, ("right", &message!("right")), uses_capitals, findings)? {
        Some((access, ty)) => RightSide::Step(access, ty),
        None => read_constant(&right, operator, uses_capitals, findings)?,
    };
    match (operator.comparison, &right) {
        (Comparison::Length(_), RightSide::Constant(..) | RightSide::Step(_, ValueType::Number)) => {
            findings.differences.insert(DecisionDifference::Length);
        }
        (Comparison::Infix("contains" | "not contains"), RightSide::Constant(..))
            if operator.operand_type == ValueType::List =>
        {
            findings.differences.insert(DecisionDifference::Member);
        }
        (Comparison::Infix("has_key" | "not has_key"), RightSide::Constant(..)) => {
            findings.differences.insert(DecisionDifference::Member);
        }
        _ => {}
    }
    Ok(write_condition(&left, left_type, operator, &right))
}

/// Reads the left or right side of a condition as the output of a workflow step. Returns an
/// expression for the output in rule syntax, and the declared type of the output. Returns `None` if
/// the side has no `step_id`. The key `name` is accepted in place of `value`.
///
/// `key` is the key of the side in the condition, and `which` is the word for it in messages.
/// `uses_capitals` is true if the condition spells the names of operators and types in capitals.
fn read_step_output(
    side: &ObjectReader<'_>,
    (key, which): (&str, &Message),
    uses_capitals: bool,
    findings: &mut ConditionFindings,
) -> Result<Option<(String, ValueType)>, SkipReason> {
    let (id, type_node) = (side.get("step_id"), side.get("type"));
    let output = side.get("value").or_else(|| side.get("name"));
    findings.record_unread_members(side, Some(key));
    let Some(id) = id else { return Ok(None) };
    let id = id.as_text()?;
    if id.is_empty() {
        return Err(skip_because(message!("the {which} value names no step")));
    }
    let output = output.as_ref().and_then(|node| node.value.as_str());
    let output = output.ok_or_else(|| {
        skip_because(message!("the {which} value names no output of the step {}", quote_for_comment(id)))
    })?;
    let type_node = type_node.ok_or_else(|| skip_because(message!("the {which} value has no type")))?.value;
    let ty = type_node.as_str().and_then(|name| ValueType::from_spelling(name, uses_capitals)).ok_or_else(
        || {
            findings.differences.insert(DecisionDifference::Operator);
            skip_because(message!("there is no type {}", quote_for_comment(&format_json(type_node))))
        },
    )?;
    if ty == ValueType::Number {
        findings.differences.insert(DecisionDifference::Booleans);
    }
    if output.contains('/') {
        findings.differences.insert(DecisionDifference::Path);
    }
    let keys = std::iter::once(id).chain(output.split('/'));
    Ok(Some((format_path("steps", keys), ty)))
}

/// Reads a constant on the right side of a condition, as the type that the operator expects.
/// `uses_capitals` is true if the condition spells the names of operators and types in capitals.
fn read_constant(
    side: &ObjectReader<'_>,
    operator: Operator,
    uses_capitals: bool,
    findings: &mut ConditionFindings,
) -> Result<RightSide, SkipReason> {
    let expected_type = operator.literal_type();
    let declared = side.get("type");
    let declared = declared.as_ref().map(|node| format_json(node.value));
    if declared.as_deref().and_then(|name| ValueType::from_spelling(name, uses_capitals))
        != Some(expected_type)
    {
        let found =
            declared.map_or(message!("no type"), |ty| message!("the type {}", quote_for_comment(&ty)));
        let wanted = expected_type.name_with_article();
        return Err(skip_because(message!("the operator needs {wanted}, but the right value has {found}")));
    }
    let node = side.get("value").ok_or_else(|| skip_because(message!("the right value is missing")))?;
    let parsed = match node.value {
        Json::String(text) => literal::parse_literal(text),
        other => Some(Literal::Json(other.clone())),
    };
    let type_mismatch = || {
        let found = match node.value {
            Json::String(text) => Message::verbatim(quote_for_comment(text)),
            other => kind_with_article(other),
        };
        let wanted = expected_type.name_with_article();
        Err(skip_because(message!("the operator needs {wanted}, but the right value is {found}")))
    };
    let json = match (expected_type, parsed) {
        (ValueType::String, Some(Literal::Json(Json::String(text)))) => Json::String(text),
        (ValueType::String, _) => match node.value {
            // A text without quotes is taken literally.
            Json::String(text) => {
                findings.differences.insert(DecisionDifference::PlainText);
                Json::String(text.clone())
            }
            _ => return type_mismatch(),
        },
        (ValueType::List, Some(Literal::NonJsonList)) => return Ok(RightSide::NonJson(ValueType::List)),
        (ValueType::Dict, Some(Literal::NonJsonDict)) => return Ok(RightSide::NonJson(ValueType::Dict)),
        (ValueType::Number, Some(Literal::Json(json @ Json::Number(_))))
        | (ValueType::Bool, Some(Literal::Json(json @ Json::Bool(_))))
        | (ValueType::List, Some(Literal::Json(json @ Json::Array(_))))
        | (ValueType::Dict, Some(Literal::Json(json @ Json::Object(_)))) => json,
        _ => return type_mismatch(),
    };
    if operator.comparison == Comparison::Regex {
        let pattern = json.as_str().unwrap_or_default();
        return match regex::translate(pattern, false) {
            Ok(translated) => {
                Ok(RightSide::Constant(quote_raw_string(&translated.anchored_at_start()), expected_type))
            }
            Err(TranslateError::Invalid(why)) => Ok(RightSide::InvalidRegex(format!(
                "{} is not a regular expression: {why}",
                quote_for_comment(pattern)
            ))),
            Err(why) => Ok(node.refuse(message!(
                "the regular expression {} cannot be translated: {}",
                quote_for_comment(pattern),
                why.to_message()
            ))?),
        };
    }
    Ok(RightSide::Constant(format_value(&json), expected_type))
}

fn write_condition(
    left: &str,
    left_type: ValueType,
    operator: Operator,
    right: &RightSide,
) -> WrittenCondition {
    let left_text = format!("{left} as {}", left_type.name());
    let right_type = match right {
        RightSide::Constant(_, ty) | RightSide::NonJson(ty) | RightSide::Step(_, ty) => *ty,
        RightSide::InvalidRegex(_) => ValueType::String,
    };
    let constant_remark = |effect: &str| format!("{effect}: no step returns what its right value was");
    let never_holds = match right {
        _ if left_type != operator.operand_type => Some(format!(
            "never holds: the operator is for {}, the left value is {}",
            operator.operand_type.name_with_article(),
            left_type.name_with_article()
        )),
        RightSide::Step(_, ty) if !operator.accepts_type(*ty) => Some(format!(
            "never holds: the operator does not take {} on its right side",
            ty.name_with_article()
        )),
        RightSide::InvalidRegex(reason) => Some(format!("never holds: {reason}")),
        RightSide::NonJson(_) if operator.comparison != Comparison::Infix("!=") => {
            Some(constant_remark("never holds"))
        }
        _ => None,
    };
    let is_unwritable = matches!(right, RightSide::NonJson(_) | RightSide::InvalidRegex(_));
    if never_holds.is_some() && (is_unwritable || operator.can_be_true(left_type, right_type)) {
        return WrittenCondition { text: never_true_condition(&left_text, right), remark: never_holds };
    }
    let (text, remark) = match (right, operator.comparison) {
        (RightSide::NonJson(_), _) => {
            (format!("len({left_text}) >= 0"), Some(constant_remark("holds for every value of its type")))
        }
        (RightSide::InvalidRegex(_), _) => (never_true_condition(&left_text, right), None),
        (RightSide::Constant(text, _), Comparison::Length(op)) => {
            (format!("len({left_text}) {op} {text}"), None)
        }
        (RightSide::Step(access, ty @ (ValueType::String | ValueType::List)), Comparison::Length(op)) => {
            (format!("len({left_text}) {op} len({access} as {})", ty.name()), None)
        }
        (RightSide::Step(access, ty), Comparison::Length(op)) => {
            (format!("len({left_text}) {op} {access} as {}", ty.name()), None)
        }
        (RightSide::Step(access, ValueType::String), Comparison::Regex) => {
            let reason = "takes the step's text as an expression of this language, not of Python";
            (
                format!("{left_text} matches join([\"^(?:\", {access} as string, \")\"], \"\")"),
                Some(reason.to_owned()),
            )
        }
        (RightSide::Step(access, ty), Comparison::Regex) => {
            (format!("{left_text} matches ({access} as {})", ty.name()), None)
        }
        // To search a list for a list or dict, the element type must be declared.
        (RightSide::Step(access, ty @ (ValueType::List | ValueType::Dict)), Comparison::Infix(op))
            if operator.operand_type == ValueType::List
                && op.ends_with("contains")
                && left_type == ValueType::List =>
        {
            (format!("{left_text}<{}> {op} {access} as {}", ty.name(), ty.name()), None)
        }
        (RightSide::Step(access, ty), Comparison::Infix(op)) => {
            (format!("{left_text} {op} {access} as {}", ty.name()), None)
        }
        (RightSide::Constant(text, _), Comparison::Infix(op)) => (format!("{left_text} {op} {text}"), None),
        (RightSide::Constant(text, _), Comparison::Regex) => (format!("{left_text} matches {text}"), None),
    };
    WrittenCondition { text, remark: never_holds.or(remark) }
}

/// Returns a condition that is never true, for a comparison that is never true in the original. The
/// returned condition is unknown if the value of a side is missing, otherwise false.
fn never_true_condition(left: &str, right: &RightSide) -> String {
    match right {
        RightSide::Step(access, ty) => format!("[{left}, {access} as {}] == []", ty.name()),
        _ => format!("[{left}] == []"),
    }
}

/// Formats a JSON value for a message. A string is shown without quotation marks.
fn format_json(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Returns a condition as the original system writes it. A comment in the rules shows this text
/// next to the reason why the condition was left out.
pub(super) fn original_condition(node: &JsonNode<'_>) -> String {
    let side = |key: &str| {
        let side = node.value.get(key)?;
        let output = side.get("value").or_else(|| side.get("name")).map(|value| value.to_string());
        Some(match side.get("step_id").and_then(Json::as_str) {
            Some(id) => format!("{id}/{}", output.as_deref().unwrap_or("").trim_matches('"')),
            None => output.unwrap_or_else(|| "nothing".to_owned()),
        })
    };
    let operate = node.value.get("operate").map(format_json);
    let parts = [side("left"), operate, side("right")];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    match (text.is_empty(), node.value.get("id").and_then(Json::as_str)) {
        (true, Some(id)) => quote_for_comment(id),
        (true, None) => "a condition".to_owned(),
        (false, _) => quote_for_comment(&text),
    }
}
