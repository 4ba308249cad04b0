//! Payloads: objects that a language model proposes, checked against the `payload` statements of a
//! rule set. Each statement declares one *payload kind*: its fields and its rules. Every violation
//! is reported with its path. Violations are repaired where the rules define a correction, and the
//! corrected payload is then checked again.
//!
//! ```
//! use rulec::{Rules, payload::Judge};
//! use serde_json::json;
//!
//! let rules = Rules::from_text(
//!     r#"payload respond rank 1 {
//!          response: string not blank
//!          confidence: number default 1.0 in 0..=1 clamp
//!          closed remove
//!        }"#,
//! )?;
//! let judge = Judge::new(&rules, "respond")?;
//!
//! let judgement = judge.judge(&json!({"response": "hello", "confidence": 7, "mood": "good"}));
//! assert_eq!(judgement.corrected(), Some(&json!({"response": "hello", "confidence": 1})));
//!
//! let judgement = judge.judge(&json!({"response": " "}));
//! assert!(!judgement.is_accepted());
//! assert!(judgement.feedback().contains("`response` must not be blank"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arbitrate;
mod by_field;
mod compare;
mod engine;
mod judgement;
mod path;
mod reads;
mod repair;
mod run;
mod schema;
mod secrets;
mod test;
mod unchecked;
mod why;

pub use arbitrate::{Arbitration, arbitrate};
pub use by_field::{JudgeByField, reject_unknown_kind};
pub use compare::{Change, changes};
pub use judgement::{Applied, Judgement, Outcome, Unchecked, Violation};
pub use schema::schema;
pub use test::run_tests;
pub use why::Why;

use crate::engine::Rules;
use crate::history::Past;
use judgement::PayloadFindings;
use path::OwnedPayloadPath;
use rulec_base::diag::{Message, comma_list, nearest};
use rulec_base::json::{self, JsonError};
use rulec_base::message;
use rulec_eval::trace::ConditionCoverage;
use rulec_lang::limits;
use rulec_lang::schema::{InputViolation, find_nested_violation};
use rulec_lang::ty::RecordType;
use rulec_sema::hir::{Effect, Payload, Program};
use run::{FoundViolation, PassFindings};
use serde_json::{Map, Value as Json, json};
use std::sync::{Arc, OnceLock};
use unchecked::MissingInputs;

/// Validates payloads of one kind (one `payload` statement) against the rules. A judge is cheap to
/// clone and can be shared between threads. The inputs that the rules read, such as `context` and
/// `options`, are set once per judge.
#[derive(Clone, Debug)]
pub struct Judge {
    rules: Rules,
    kind_index: usize,
    /// The values of the inputs that the rules declare by `input`, such as `context` and `options`.
    input: Arc<Json>,
    /// Whether warnings, exceeded limits and unchecked rules (rules that cannot be evaluated) count
    /// as violations.
    is_strict: bool,
    /// The recorded messages that the rules read as `history`; `None` without a history.
    past: Option<Past>,
    /// What cannot be evaluated because the caller did not set an input: some rules, and some lists
    /// whose elements an `each` block checks. Computed on first use.
    missing_inputs: OnceLock<Arc<MissingInputs>>,
}

/// The reason why a [`Judge`] for payloads cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum JudgeError {
    /// No `payload` statement has this name.
    UnknownKind {
        /// The requested name, which no `payload` statement has.
        name: String,
        /// A suggestion for a correction: a similar name, or all names of `payload` statements.
        hint: Message,
    },
    /// The rules declare no input with this name.
    UnknownInput {
        /// The requested name, which no declared input has.
        name: String,
        /// A suggestion for a correction: a similar name, or the names of all inputs.
        hint: Message,
    },
    /// The rules declare no option with this name.
    UnknownOption {
        /// The requested name, which no declared option has.
        name: String,
        /// A suggestion for a correction: a similar name, or the names of all options.
        hint: Message,
    },
    /// An input or option is of another type than declared.
    WrongType {
        /// The path of the wrong field, such as `options.sandbox`.
        path: String,
        /// The declared type of the field.
        expected: String,
        /// The type of the value that was given.
        found: String,
    },
}

impl JudgeError {
    /// Returns the problem and a suggested fix as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            JudgeError::UnknownKind { name, hint } => message!("there is no payload kind `{name}`; {hint}"),
            JudgeError::UnknownInput { name, hint } => {
                message!("the rules declare no input `{name}`; {hint}")
            }
            JudgeError::UnknownOption { name, hint } => message!("there is no option `{name}`; {hint}"),
            JudgeError::WrongType { path, expected, found } => {
                message!("`{path}` must be {expected}, but is {found}")
            }
        }
    }
}

fn unknown_name_hint<'n>(name: &str, names: impl Iterator<Item = &'n str>, what: Message) -> Message {
    let names: Vec<&str> = names.collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => message!("did you mean `{near}`?"),
        None if names.is_empty() => message!("there are no {what}"),
        None => message!("the {what} are {}", comma_list(names)),
    }
}

/// Creates the error for an unknown payload kind (name of a `payload` statement), with a
/// suggestion.
fn unknown_kind_error(program: &Program, name: &str) -> JudgeError {
    let names = program.payloads.iter().map(|payload| &*payload.name);
    JudgeError::UnknownKind { name: name.to_owned(), hint: unknown_name_hint(name, names, message!("kinds")) }
}

impl Judge {
    /// Creates a validator for payloads of this kind (name of a `payload` statement). Its inputs
    /// `context` and `options` are not set.
    ///
    /// # Errors
    /// If the rules have no such payload kind.
    pub fn new(rules: &Rules, kind: &str) -> Result<Judge, JudgeError> {
        let program = rules.program();
        match program.payloads.iter().position(|payload| &*payload.name == kind) {
            Some(kind) => Ok(Judge {
                rules: rules.clone(),
                kind_index: kind,
                input: Arc::new(json!({})),
                is_strict: false,
                past: None,
                missing_inputs: OnceLock::new(),
            }),
            None => Err(unknown_kind_error(program, kind)),
        }
    }

    /// Sets the value of the input `options` of the rules.
    ///
    /// # Errors
    /// If an option is not declared, or is not of its declared type.
    pub fn options(self, mut options: Json) -> Result<Judge, JudgeError> {
        if let (Some(record), Json::Object(given)) = (self.declared_input("options")?, &mut options) {
            if let Some(name) = given.keys().find(|name| record.get(name).is_none()) {
                let hint = unknown_name_hint(
                    name,
                    record.fields.iter().map(|field| &*field.name),
                    message!("options"),
                );
                return Err(JudgeError::UnknownOption { name: name.clone(), hint });
            }
            // A null option counts as not set.
            given.retain(|_, value| !value.is_null());
        }
        self.set_checked_input("options", options)
    }

    /// Sets the value of the input `context` of the rules.
    ///
    /// # Errors
    /// If the rules declare no such input, or the value is not of its declared type.
    pub fn context(self, context: Json) -> Result<Judge, JudgeError> {
        self.input("context", context)
    }

    /// Sets the value of an input that the rules declare.
    ///
    /// # Errors
    /// If the rules declare no such input, or the value is not of its declared type.
    pub fn input(self, name: &str, value: Json) -> Result<Judge, JudgeError> {
        self.declared_input(name)?;
        self.set_checked_input(name, value)
    }

    /// Sets each input that the rules declare to the message field with the same name. Ignores the
    /// other fields. If the rules have no `input` declaration, sets all fields.
    ///
    /// # Errors
    /// If a value is not of the declared type.
    pub fn message(self, message: &Map<String, Json>) -> Result<Judge, JudgeError> {
        let input = self.rules.program().input.as_ref();
        let is_read = |name: &str| input.is_none_or(|input| input.get(name).is_some());
        let fields: Vec<_> = message.iter().filter(|(name, _)| is_read(name)).collect();
        fields.into_iter().try_fold(self, |judge, (name, value)| judge.input(name, value.clone()))
    }

    /// Sets the recorded messages that the rules read as `history`; see
    /// [`Rules::past`](crate::Rules::past).
    #[must_use]
    pub fn with_history(self, past: Past) -> Judge {
        Judge { past: Some(past), ..self }
    }

    /// Makes warnings, unchecked rules and exceeded limits count as violations. Unchecked rules are
    /// rules that cannot be evaluated, for example because they read an input that was not set. If
    /// the `payload` statement contains `strict`, unchecked rules and exceeded limits count without
    /// this call.
    #[must_use]
    pub fn strict(self) -> Judge {
        Judge { is_strict: true, ..self }
    }

    /// Returns the fields that the rules declare for the input `name`. `None` if this input is not
    /// a record, or if the rules have no `input` declaration. Returns an error if the declaration
    /// has no input with this name.
    fn declared_input(&self, name: &str) -> Result<Option<&RecordType>, JudgeError> {
        let Some(input) = &self.rules.program().input else { return Ok(None) };
        match input.get(name) {
            Some(field) => Ok(field.ty.fields()),
            None => {
                let hint = unknown_name_hint(
                    name,
                    input.fields.iter().map(|field| &*field.name),
                    message!("inputs"),
                );
                Err(JudgeError::UnknownInput { name: name.to_owned(), hint })
            }
        }
    }

    fn set_checked_input(mut self, name: &str, value: Json) -> Result<Judge, JudgeError> {
        let field = self.rules.program().input.as_ref().and_then(|input| input.get(name)).cloned();
        let mut message = self.input.as_object().cloned().unwrap_or_default();
        message.insert(name.to_owned(), value);
        let message = Json::Object(message);
        if let Some(field) = field {
            let record = RecordType::from_iter([field]);
            if let Some(InputViolation { path, expected, found, .. }) =
                find_nested_violation(&record, &message)
            {
                return Err(JudgeError::WrongType { path, expected, found });
            }
        }
        self.input = Arc::new(message);
        self.missing_inputs = OnceLock::new();
        Ok(self)
    }

    /// Returns the payload kind that this judge validates: the name of a `payload` statement.
    pub fn kind(&self) -> &str {
        &self.payload().name
    }

    /// Returns the compiled `payload` statement. Not part of the stable API.
    #[doc(hidden)]
    pub fn payload(&self) -> &Payload {
        &self.rules.program().payloads[self.kind_index]
    }

    /// Validates a payload. If the rules can correct a violation, or have a default for a missing
    /// optional field, this method corrects a copy of the payload. It then validates the copy.
    pub fn judge(&self, payload: &Json) -> Judgement {
        let to_violations =
            |found: Vec<FoundViolation>| found.into_iter().map(|found| found.violation).collect();
        let mut pass = self.run_pass(payload, false, &[]);
        let mut findings = PayloadFindings::default();
        if let Some(corrected) = self.correct_copy(payload, &pass, false) {
            findings.masked_correction = self.masked_correction(&corrected.payload, &corrected.private_paths);
            let second_pass = corrected.pass;
            findings.remaining_violations = to_violations(second_pass.violations);
            (pass.warnings, pass.unchecked) = (second_pass.warnings, second_pass.unchecked);
            limits::merge_exceeded(&mut pass.exceeded, second_pass.exceeded);
            findings.corrected_payload = Some(corrected.payload);
            findings.corrections = corrected.applied;
        }
        findings.violations = to_violations(pass.violations);
        findings.warnings = to_violations(pass.warnings);
        (findings.unchecked, findings.exceeded) = (pass.unchecked, pass.exceeded);
        findings.history_gap = self.past.as_ref().and_then(Past::gap);
        Judgement::new(self.payload(), findings)
    }

    /// Corrects a copy of the payload, as the findings in `pass` require, and evaluates all rules
    /// for the copy. A correction may remove an optional field that has a default, which then
    /// completes the copy. `None` if no correction was applied.
    fn correct_copy(&self, payload: &Json, pass: &PassFindings, traced: bool) -> Option<CorrectedCopy> {
        pass.findings_to_correct().next()?;
        let mut corrected = payload.clone();
        let mut applied = repair::apply_corrections(&mut corrected, pass.findings_to_correct());
        if applied.is_empty() {
            return None;
        }
        let mut private_paths = private_corrections(pass.findings_to_correct());
        loop {
            let pass = self.run_pass(&corrected, traced, &private_paths);
            let completed = repair::apply_corrections(&mut corrected, pass.fields_to_default.iter());
            if completed.is_empty() {
                return Some(CorrectedCopy { payload: corrected, applied, private_paths, pass });
            }
            applied.extend(completed);
            private_paths.extend(private_corrections(pass.fields_to_default.iter()));
        }
    }

    /// Evaluates all rules for a payload once, without corrections. The findings are sorted by
    /// rule, then by path, without duplicates. If `traced` is true, each violation has a trace of
    /// the rule's condition. `private` are the paths at which earlier corrections wrote private
    /// values; messages must not show these.
    fn run_pass(&self, payload: &Json, traced: bool, private: &[OwnedPayloadPath]) -> PassFindings {
        let mut pass = run::run_checks(self, payload, traced, private, None);
        if self.is_strict || self.payload().is_strict {
            pass.reject_unchecked_rules(self.payload());
        }
        let has_effect = |effect| move |found: &mut FoundViolation| found.effect == effect;
        pass.fields_to_default = pass.violations.extract_if(.., has_effect(Effect::Completion)).collect();
        if !self.is_strict {
            pass.warnings = pass.violations.extract_if(.., has_effect(Effect::Warning)).collect();
        }
        pass.violations = sort_violations(pass.violations);
        pass.warnings = sort_violations(pass.warnings);
        pass.unchecked.sort_by(|a, b| (&*a.rule, &a.path).cmp(&(&*b.rule, &b.path)));
        pass.unchecked.dedup_by(|a, b| a.rule == b.rule && a.path == b.path);
        pass
    }

    /// Checks the payload without corrections, to measure how well tests cover the rules: counts
    /// the result of every evaluated condition in `coverage`.
    #[doc(hidden)]
    pub fn count_conditions(&self, payload: &Json, coverage: &mut ConditionCoverage) {
        run::run_checks(self, payload, false, &[], Some(coverage));
    }

    /// Returns what cannot be evaluated because the caller did not set an input: some rules, and
    /// some lists whose elements an `each` block checks.
    fn missing_inputs(&self) -> &MissingInputs {
        self.missing_inputs
            .get_or_init(|| Arc::new(MissingInputs::new(self.rules.program(), self.payload(), &self.input)))
    }

    /// Explains each violated rule: its condition, with the values that the condition read.
    /// Warnings come last; as in [`Judge::judge`], they refer to the corrected payload.
    pub fn why(&self, payload: &Json) -> Vec<Why> {
        let mut pass = self.run_pass(payload, true, &[]);
        if let Some(CorrectedCopy { pass: second_pass, .. }) = self.correct_copy(payload, &pass, true) {
            pass.warnings = second_pass.warnings;
            if pass.violations.is_empty() {
                pass.violations = second_pass.violations;
            }
        }
        let PassFindings { violations: found, warnings: warned, .. } = pass;
        let to_why = |warning| {
            move |found: FoundViolation| Why { violation: found.violation, when: found.trace, warning }
        };
        found.into_iter().map(to_why(false)).chain(warned.into_iter().map(to_why(true))).collect()
    }

    /// Parses a payload given as JSON text and validates it like [`Judge::judge`].
    ///
    /// # Errors
    /// If the text is not a JSON object, repeats a key, is nested too deep, or holds a number out
    /// of range.
    pub fn judge_text(&self, text: &str) -> Result<Judgement, JsonError> {
        let payload = json::parse_object(text).map_err(|error| self.masked_error(error))?;
        Ok(self.judge(&Json::Object(payload)))
    }

    /// Masks private keys (keys of dicts that the rules declare `@private`) in an error about the
    /// JSON text of a payload.
    #[must_use]
    pub fn masked_error(&self, error: JsonError) -> JsonError {
        secrets::payload_privacy(self.payload().private_fields().as_deref()).mask_error(error)
    }

    /// Returns a payload for logs: the values of `@private` fields are masked.
    #[must_use]
    pub fn masked_payload(&self, payload: &Json) -> Json {
        secrets::payload_privacy(self.payload().private_fields().as_deref()).mask(payload.clone())
    }

    /// Returns the corrected payload with private values masked, for logs. `None` if it contains no
    /// private values. `paths` are the paths at which corrections wrote private values.
    fn masked_correction(&self, corrected: &Json, paths: &[OwnedPayloadPath]) -> Option<Json> {
        if paths.is_empty() && self.payload().private_fields().is_none() {
            return None;
        }
        let mut masked = corrected.clone();
        secrets::mask_corrected(&mut masked, paths);
        Some(self.masked_payload(&masked))
    }

    /// Returns the JSON Schema of the payloads that this judge validates; see
    /// [`schema`](fn@schema).
    pub fn schema(&self) -> Json {
        schema::build_schema(&self.rules, self.payload())
    }
}

/// Returns the names of the payload kinds (`payload` statements), in the order of their
/// declarations.
pub fn kinds(rules: &Rules) -> impl Iterator<Item = &str> {
    rules.program().payloads.iter().map(|payload| &*payload.name)
}

/// A corrected copy of a payload.
struct CorrectedCopy {
    payload: Json,
    applied: Vec<Applied>,
    /// The paths in the payload at which corrections wrote private values. Reports and logs must
    /// mask the values at these paths.
    private_paths: Vec<OwnedPayloadPath>,
    /// The findings for the copy.
    pass: PassFindings,
}

/// Sorts violations by rule, then by path, and removes duplicates.
fn sort_violations(mut found: Vec<FoundViolation>) -> Vec<FoundViolation> {
    found.sort_by(|a, b| {
        let key = (&*a.violation.rule, &a.violation.path, &a.path_steps);
        key.cmp(&(&*b.violation.rule, &b.violation.path, &b.path_steps))
    });
    // Compare the steps too: different paths can look equal, because private keys are masked.
    found.dedup_by(|a, b| {
        a.violation.rule == b.violation.rule
            && a.violation.path == b.violation.path
            && a.path_steps == b.path_steps
    });
    found
}

/// Returns the paths of the findings whose correction writes a private value.
fn private_corrections<'f>(found: impl Iterator<Item = &'f FoundViolation>) -> Vec<OwnedPayloadPath> {
    let private = found.filter(|found| found.writes_private_value && found.auto_repair.is_some());
    private.map(|found| found.path_steps.clone()).collect()
}

impl Rules {
    /// Creates a validator for payloads of this kind (name of a `payload` statement); see
    /// [`Judge`].
    ///
    /// # Errors
    /// If there is no such kind.
    pub fn judge(&self, kind: &str) -> Result<Judge, JudgeError> {
        Judge::new(self, kind)
    }
}
