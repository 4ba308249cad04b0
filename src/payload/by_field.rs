//! Validates payloads of several kinds. A payload, or the decision that carries it, names its kind.
//! A payload without a known kind is rejected like any invalid payload. The violation names the
//! known kinds.

use super::{Judge, Judgement, Violation, kinds, unknown_name_hint};
use crate::engine::Rules;
use rulec_base::json::{self, JsonError};
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Validates payloads of all kinds of a rule set. A field of each payload names its kind, the
/// `payload` statement that applies. Cheap to clone.
///
/// ```
/// use rulec::{Rules, payload::{Judge, JudgeByField}};
/// use serde_json::json;
///
/// let rules = Rules::from_text("payload refund { kind: any const decision; amount: number }")?;
/// let judge = JudgeByField::new(&rules, "kind", Ok::<Judge, std::convert::Infallible>)?;
/// assert!(judge.judge(&json!({"kind": "refund", "amount": 20})).is_accepted());
/// assert_eq!(judge.judge(&json!({"amount": 20})).violations()[0].rule, "refund.kind.required".into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JudgeByField {
    rules: Rules,
    /// Name of the field in which a payload names its kind (a `payload` statement).
    field_name: String,
    judges_by_kind: Arc<BTreeMap<String, Judge>>,
}

impl JudgeByField {
    /// Creates a validator for each `payload` statement of the rules. `field` is the field in which
    /// a payload names its kind. `configure` sets the inputs of each validator.
    ///
    /// # Errors
    /// If `configure` fails.
    pub fn new<E>(
        rules: &Rules,
        field: &str,
        configure: impl Fn(Judge) -> Result<Judge, E>,
    ) -> Result<JudgeByField, E> {
        let judges = kinds(rules).filter_map(|kind| Some((kind.to_owned(), Judge::new(rules, kind).ok()?)));
        let judges = judges.map(|(kind, judge)| Ok((kind, configure(judge)?))).collect::<Result<_, E>>()?;
        Ok(JudgeByField {
            rules: rules.clone(),
            field_name: field.to_owned(),
            judges_by_kind: Arc::new(judges),
        })
    }

    /// Returns the validator for a payload.
    ///
    /// # Errors
    /// If the payload names no payload kind of the rules. The error is the rejection of the
    /// payload.
    pub fn find(&self, payload: &Json) -> Result<&Judge, Box<Judgement>> {
        let judge = payload
            .get(&self.field_name)
            .and_then(Json::as_str)
            .and_then(|kind| self.judges_by_kind.get(kind));
        judge.ok_or_else(|| Box::new(reject_payload(&self.rules, Some(&self.field_name), payload)))
    }

    /// Validates a payload as [`Judge::judge`] does for its kind (a `payload` statement). Rejects a
    /// payload that names no kind of the rules.
    pub fn judge(&self, payload: &Json) -> Judgement {
        self.find(payload).map_or_else(|rejection| *rejection, |judge| judge.judge(payload))
    }

    /// Parses a payload given as JSON text and validates it like [`JudgeByField::judge`].
    ///
    /// # Errors
    /// As [`Judge::judge_text`].
    pub fn judge_text(&self, text: &str) -> Result<Judgement, JsonError> {
        let payload = json::parse_object(text).map_err(|error| self.masked_error(error))?;
        Ok(self.judge(&Json::Object(payload)))
    }

    /// Masks the keys of `@private` dicts, of all payload kinds, in an error about the JSON text of
    /// a payload.
    #[must_use]
    pub fn masked_error(&self, error: JsonError) -> JsonError {
        self.judges_by_kind.values().fold(error, |error, judge| judge.masked_error(error))
    }
}

/// Rejects the payload of a decision that names no payload kind (a `payload` statement). `kind` is
/// the unknown name in the decision; empty if there is none. The violation is reported at the field
/// in which payloads name their kind (`const decision`), or at the payload if the rules have no
/// such field.
#[must_use]
pub fn reject_unknown_kind(rules: &Rules, kind: &str, payload: &Json) -> Judgement {
    let field = kind_field(rules);
    let mut payload = if payload.is_object() { payload.clone() } else { json!({}) };
    payload[field.unwrap_or(DEFAULT_KIND_FIELD)] = if kind.is_empty() { Json::Null } else { kind.into() };
    reject_payload(rules, field, &payload)
}

/// The name under which rules read the kind of a payload. Also the field that a violation names if
/// no `payload` statement has a field with `const decision`.
const DEFAULT_KIND_FIELD: &str = "decision";

/// Returns the field in which payloads name their kind: in the first `payload` statement, the field
/// that must equal the kind (`const decision`). `None` without such a field.
fn kind_field(rules: &Rules) -> Option<&str> {
    let payload = rules.program().payloads.first()?;
    let mut fields = payload.object.fields.iter();
    let names_kind = |exactly: &Json| exactly.as_str() == Some(&*payload.name);
    fields.find(|field| field.only_value.as_ref().is_some_and(names_kind)).map(|field| &*field.name)
}

/// Rejects a payload whose field `field` is missing or names no payload kind. If `field` is `None`,
/// the field [`DEFAULT_KIND_FIELD`] of `payload` is used.
///
/// The violation needs the name of a rule. To find a name, the payload is validated as the first
/// kind that the rules declare. The violated rule at `field` gives the name. Without such a rule,
/// the name is `FIELD.required` or `FIELD.match`.
fn reject_payload(rules: &Rules, field: Option<&str>, payload: &Json) -> Judgement {
    let path = field.map_or_else(|| "$".to_owned(), |field| format!("$.{field}"));
    let field = field.unwrap_or(DEFAULT_KIND_FIELD);
    let given = payload.get(field).filter(|kind| !kind.is_null());
    let (message, suffix) = match given {
        None => (message!("`{field}` must name the kind of the payload"), "required"),
        Some(kind) => (message!("`{field}` is {kind}, which is not a payload kind"), "match"),
    };
    let rule_of_kind = |kind: &str| {
        let judgement = Judge::new(rules, kind).ok()?.judge(payload);
        let mut violations = judgement.violations().iter();
        violations.find(|violation| violation.path == path).map(|violation| violation.rule.clone())
    };
    let rule = kinds(rules).next().and_then(rule_of_kind);
    let rule = rule.unwrap_or_else(|| format!("{field}.{suffix}").into());
    let name = given.and_then(Json::as_str).unwrap_or_default();
    let repair = unknown_name_hint(name, kinds(rules), message!("kinds"));
    Judgement::rejected(name, Violation { rule, path, message, repair })
}
