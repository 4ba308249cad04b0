//! Translates one condition of a workflow branch to rule syntax, or returns the reason why the
//! condition is left out.

use super::Untranslatable;
use super::literal::{self, Literal};
use super::located::{JsonNode, Object, Read, kind};
use super::operator::{Operator, Type, Verb, verb_in_capitals};
use super::regex::{self, TranslateError};
use super::write::{format_path, format_value, quote_raw_string, shown};
use rulec::Message;
use rulec_base::message;
use serde_json::Value as Json;
use std::collections::BTreeSet;

enum Right {
    /// The right side is a constant or a regular expression, in rule syntax.
    Constant(String, Type),
    /// The right side is a list or dict that JSON cannot represent, so no message can contain it.
    Odd(Type),
    /// The right side is an expression that Python refuses, with the reason.
    Broken(String),
    /// The right side is the output of a workflow step, in rule syntax.
    Step(String, Type),
}

/// A condition in rule syntax. The second text is a remark for the author, if the condition is
/// constant or differs from the original.
type Written = (String, Option<String>);

/// A reason why the original Python module decides differently from the imported rules. Each reason
/// is described once per file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Difference {
    PlainText,
    Length,
    Member,
    Booleans,
    Operator,
    Path,
}

impl Difference {
    pub(super) fn text(self) -> &'static str {
        match self {
            Difference::PlainText => {
                "a text without quotes is itself here; the module evaluates it as Python, and fails or skips the condition"
            }
            Difference::Length => {
                "lengths are compared here; the module takes no number on the right side of a length"
            }
            Difference::Member => {
                "an element of a list and a key of a dict may be a text here; the module wants a list or a dict on the right side"
            }
            Difference::Booleans => "true and false are no numbers here; to the module they are 1 and 0",
            Difference::Operator => {
                "a condition without a known operator or type is left out here; the module fails on it"
            }
            Difference::Path => {
                "a path through what is no dict leads to nothing here; the module fails on it"
            }
        }
    }
}

/// Findings collected while reading conditions.
#[derive(Default)]
pub(super) struct Findings {
    /// Reasons why the Python module decides differently.
    pub(super) different: BTreeSet<Difference>,
    /// JSON members that have no meaning to the importer, as keys and values.
    pub(super) unknown: Vec<String>,
}

impl Findings {
    /// Records the members of an object that were not read; the original ignores them.
    fn rest(&mut self, object: &Object<'_>) {
        let rest = object.rest();
        self.unknown.extend(rest.iter().map(|(key, node)| format!("{key}: {}", format_value(node.value))));
    }
}

/// Reads a condition; the inner error is the reason why the condition is left out.
pub(super) fn condition(node: &JsonNode<'_>, findings: &mut Findings) -> Read<Result<Written, Message>> {
    let object = node.object(&message!("a condition"))?;
    object.get("id");
    let (left, operate, right) = (object.get("left"), object.get("operate"), object.get("right"));
    findings.rest(&object);
    match translate(left, operate, right, findings) {
        Ok((text, remark)) => {
            let remark = remark.map(|remark| format!("{} {remark}.", original(node)));
            Ok(Ok((text, remark)))
        }
        Err(Unusable::Skipped(reason)) => Ok(Err(reason)),
        Err(Unusable::Refused(refusal)) => Err(refusal),
    }
}

/// Reason why a condition is not translated.
enum Unusable {
    /// The condition is left out for this reason, as the original does.
    Skipped(Message),
    /// The condition cannot be translated, so the import fails.
    Refused(Untranslatable),
}

impl From<Untranslatable> for Unusable {
    fn from(refusal: Untranslatable) -> Self {
        Unusable::Refused(refusal)
    }
}

fn skipped(reason: Message) -> Unusable {
    Unusable::Skipped(reason)
}

fn translate(
    left: Option<JsonNode<'_>>,
    operate: Option<JsonNode<'_>>,
    right: Option<JsonNode<'_>>,
    findings: &mut Findings,
) -> Result<Written, Unusable> {
    let left =
        left.ok_or_else(|| skipped(message!("it has no left value")))?.object(&message!("the left value"))?;
    // The documented JSON format spells operators and types in capitals; a condition must use one
    // spelling throughout.
    let capitals = operate.as_ref().and_then(|node| node.value.as_str());
    let capitals = capitals.is_some_and(|name| verb_in_capitals(name).is_some());
    let (left, left_type) = step(&left, &message!("left"), capitals, findings)?
        .ok_or_else(|| skipped(message!("the left value does not come from a step")))?;
    let operate = operate.ok_or_else(|| skipped(message!("it has no operator")))?.value;
    let named = |name| match capitals {
        true => Operator::spelt(name, Some(left_type)),
        false => Operator::named(name),
    };
    let operator = operate.as_str().and_then(named).ok_or_else(|| {
        findings.different.insert(Difference::Operator);
        skipped(message!("there is no operator {}", shown(&plain(operate))))
    })?;
    let right = right
        .ok_or_else(|| skipped(message!("it has no right value")))?
        .object(&message!("the right value"))?;
    let right = match step(&right, &message!("right"), capitals, findings)? {
        Some((read, ty)) => Right::Step(read, ty),
        None => constant(&right, operator, capitals, findings)?,
    };
    match (operator.verb, &right) {
        (Verb::Length(_), Right::Constant(..) | Right::Step(_, Type::Number)) => {
            findings.different.insert(Difference::Length);
        }
        (Verb::Infix("contains" | "not contains"), Right::Constant(..)) if operator.family == Type::List => {
            findings.different.insert(Difference::Member);
        }
        (Verb::Infix("has_key" | "not has_key"), Right::Constant(..)) => {
            findings.different.insert(Difference::Member);
        }
        _ => {}
    }
    Ok(written(&left, left_type, operator, &right))
}

/// Reads one side of a condition that is a step's output, as a field access with a declared type.
/// Returns `None` if the side names no step. The key `name` is accepted in place of `value`.
fn step(
    side: &Object<'_>,
    which: &Message,
    capitals: bool,
    findings: &mut Findings,
) -> Result<Option<(String, Type)>, Unusable> {
    let (id, of, at, name) = (side.get("step_id"), side.get("type"), side.get("value"), side.get("name"));
    let at = at.or(name);
    findings.rest(side);
    let Some(id) = id else { return Ok(None) };
    let id = id.text()?;
    if id.is_empty() {
        return Err(skipped(message!("the {which} value names no step")));
    }
    let at = at.as_ref().and_then(|node| node.value.as_str());
    let at =
        at.ok_or_else(|| skipped(message!("the {which} value names no output of the step {}", shown(id))))?;
    let of = of.ok_or_else(|| skipped(message!("the {which} value has no type")))?.value;
    let ty = of.as_str().and_then(|name| Type::spelt(name, capitals)).ok_or_else(|| {
        findings.different.insert(Difference::Operator);
        skipped(message!("there is no type {}", shown(&plain(of))))
    })?;
    if ty == Type::Number {
        findings.different.insert(Difference::Booleans);
    }
    if at.contains('/') {
        findings.different.insert(Difference::Path);
    }
    let keys = std::iter::once(id).chain(at.split('/'));
    Ok(Some((format_path("steps", keys), ty)))
}

/// Reads a literal on the right side of a condition, as the type that the operator expects.
fn constant(
    side: &Object<'_>,
    operator: Operator,
    capitals: bool,
    findings: &mut Findings,
) -> Result<Right, Unusable> {
    let wanted = operator.literal();
    let declared = side.get("type");
    let declared = declared.as_ref().map(|node| plain(node.value));
    if declared.as_deref().and_then(|name| Type::spelt(name, capitals)) != Some(wanted) {
        let found = declared.map_or(message!("no type"), |ty| message!("the type {}", shown(&ty)));
        let wanted = wanted.with_article();
        return Err(skipped(message!("the operator needs {wanted}, but the right value has {found}")));
    }
    let node = side.get("value").ok_or_else(|| skipped(message!("the right value is missing")))?;
    let read = match node.value {
        Json::String(text) => literal::read(text),
        other => Some(Literal::Json(other.clone())),
    };
    let type_mismatch = || {
        let found = match node.value {
            Json::String(text) => Message::verbatim(shown(text)),
            other => kind(other),
        };
        let wanted = wanted.with_article();
        Err(skipped(message!("the operator needs {wanted}, but the right value is {found}")))
    };
    let json = match (wanted, read) {
        (Type::String, Some(Literal::Json(Json::String(text)))) => Json::String(text),
        (Type::String, _) => match node.value {
            // A text without quotes is taken literally.
            Json::String(text) => {
                findings.different.insert(Difference::PlainText);
                Json::String(text.clone())
            }
            _ => return type_mismatch(),
        },
        (Type::List, Some(Literal::OddList)) => return Ok(Right::Odd(Type::List)),
        (Type::Dict, Some(Literal::OddDict)) => return Ok(Right::Odd(Type::Dict)),
        (Type::Number, Some(Literal::Json(json @ Json::Number(_))))
        | (Type::Bool, Some(Literal::Json(json @ Json::Bool(_))))
        | (Type::List, Some(Literal::Json(json @ Json::Array(_))))
        | (Type::Dict, Some(Literal::Json(json @ Json::Object(_)))) => json,
        _ => return type_mismatch(),
    };
    if operator.verb == Verb::Regex {
        let pattern = json.as_str().unwrap_or_default();
        return match regex::translate(pattern, false) {
            Ok(translated) => Ok(Right::Constant(quote_raw_string(&translated.at_start()), wanted)),
            Err(TranslateError::Invalid(why)) => {
                Ok(Right::Broken(format!("{} is not a regular expression: {why}", shown(pattern))))
            }
            Err(why) => Ok(node.refuse(message!(
                "the regular expression {} cannot be translated: {}",
                shown(pattern),
                why.to_message()
            ))?),
        };
    }
    Ok(Right::Constant(format_value(&json), wanted))
}

fn written(left: &str, left_type: Type, operator: Operator, right: &Right) -> Written {
    let read = format!("{left} as {}", left_type.name());
    let right_type = match right {
        Right::Constant(_, ty) | Right::Odd(ty) | Right::Step(_, ty) => *ty,
        Right::Broken(_) => Type::String,
    };
    let constant = |what: &str| format!("{what}: no step returns what its right value was");
    let never_holds = match right {
        _ if left_type != operator.family => Some(format!(
            "never holds: the operator is for {}, the left value is {}",
            operator.family.with_article(),
            left_type.with_article()
        )),
        Right::Step(_, ty) if !operator.takes(*ty) => {
            Some(format!("never holds: the operator does not take {} on its right side", ty.with_article()))
        }
        Right::Broken(why) => Some(format!("never holds: {why}")),
        Right::Odd(_) if operator.verb != Verb::Infix("!=") => Some(constant("never holds")),
        _ => None,
    };
    let has_no_words = matches!(right, Right::Odd(_) | Right::Broken(_));
    if never_holds.is_some() && (has_no_words || operator.would_hold(left_type, right_type)) {
        return (never(&read, right), never_holds);
    }
    let (text, remark) = match (right, operator.verb) {
        (Right::Odd(_), _) => {
            (format!("len({read}) >= 0"), Some(constant("holds for every value of its type")))
        }
        (Right::Broken(_), _) => (never(&read, right), None),
        (Right::Constant(text, _), Verb::Length(op)) => (format!("len({read}) {op} {text}"), None),
        (Right::Step(at, ty @ (Type::String | Type::List)), Verb::Length(op)) => {
            (format!("len({read}) {op} len({at} as {})", ty.name()), None)
        }
        (Right::Step(at, ty), Verb::Length(op)) => (format!("len({read}) {op} {at} as {}", ty.name()), None),
        (Right::Step(at, Type::String), Verb::Regex) => {
            let why = "takes the step's text as an expression of this language, not of Python";
            (format!("{read} matches join([\"^(?:\", {at} as string, \")\"], \"\")"), Some(why.to_owned()))
        }
        (Right::Step(at, ty), Verb::Regex) => (format!("{read} matches ({at} as {})", ty.name()), None),
        // To search a list for a list or dict, the element type must be declared.
        (Right::Step(at, ty @ (Type::List | Type::Dict)), Verb::Infix(op))
            if operator.family == Type::List && op.ends_with("contains") && left_type == Type::List =>
        {
            (format!("{read}<{}> {op} {at} as {}", ty.name(), ty.name()), None)
        }
        (Right::Step(at, ty), Verb::Infix(op)) => (format!("{read} {op} {at} as {}", ty.name()), None),
        (Right::Constant(text, _), Verb::Infix(op)) => (format!("{read} {op} {text}"), None),
        (Right::Constant(text, _), Verb::Regex) => (format!("{read} matches {text}"), None),
    };
    (text, never_holds.or(remark))
}

/// Returns a condition that is never true, and unknown if the value of a side is missing.
fn never(read: &str, right: &Right) -> String {
    match right {
        Right::Step(at, ty) => format!("[{read}, {at} as {}] == []", ty.name()),
        _ => format!("[{read}] == []"),
    }
}

/// Formats a JSON value for a message; a text is shown without quotes.
fn plain(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Returns a condition in the notation of the original, for the comment that explains why the
/// condition was left out.
pub(super) fn original(node: &JsonNode<'_>) -> String {
    let side = |key: &str| {
        let side = node.value.get(key)?;
        let at = side.get("value").or_else(|| side.get("name")).map(|value| value.to_string());
        Some(match side.get("step_id").and_then(Json::as_str) {
            Some(id) => format!("{id}/{}", at.as_deref().unwrap_or("").trim_matches('"')),
            None => at.unwrap_or_else(|| "nothing".to_owned()),
        })
    };
    let operate = node.value.get("operate").map(plain);
    let parts = [side("left"), operate, side("right")];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    match (text.is_empty(), node.value.get("id").and_then(Json::as_str)) {
        (true, Some(id)) => shown(id),
        (true, None) => "a condition".to_owned(),
        (false, _) => shown(&text),
    }
}
