//! The result of validating a payload: the verdict, the violations and the corrections. The *kind*
//! of a payload is the name of the `payload` statement against which it is validated.

use rulec_base::diag::{Language, Message};
use rulec_lang::history::HistoryGap;
use rulec_lang::limits::Exceeded;
use rulec_sema::hir::{Effect, Payload};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;
use std::fmt::Write;
use std::sync::Arc;

/// The verdict of the rules on a payload (an object that a language model proposes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The payload has no violations.
    Accept,
    /// The payload had violations, and the corrections repaired all of them.
    AcceptCorrected,
    /// The payload has violations that the corrections did not repair.
    Reject,
}

impl Outcome {
    /// Returns the name of the verdict, as the JSON of a judgement contains it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Accept => "accept",
            Outcome::AcceptCorrected => "accept_corrected",
            Outcome::Reject => "reject",
        }
    }
}

/// A rule that a payload violates, and the path of the wrong value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// The id of the violated rule.
    pub rule: Arc<str>,
    /// The path of the wrong value in the payload, such as `$.nodes[2].config.url`.
    pub path: String,
    /// A description of the error in the payload.
    pub message: Message,
    /// A description of how to repair the payload.
    pub repair: Message,
}

/// A rule that could not be evaluated for the payload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Unchecked {
    /// The id of the rule that could not be evaluated.
    pub rule: Arc<str>,
    /// The path in the payload that the rule checks.
    pub path: String,
    /// The reason why the rule could not be evaluated, such as a missing input.
    pub message: Message,
    /// What a violation of the rule would cause, such as a rejection or a warning.
    #[serde(skip)]
    pub(super) effect: Effect,
}

/// A correction that was applied to the payload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Applied {
    /// The kind of correction: `default`, `clamp` or `remove`.
    pub kind: &'static str,
    /// The path of the corrected value in the payload.
    pub path: String,
}

/// The result of validating a payload. Serializes to the JSON object that `rulec run --decision`
/// prints: `decision`, `valid`, `violations`, `outcome` and `event`. Corrections add `corrections`
/// and `remaining`; `corrected` is present if the corrected payload is accepted. `fallback` is
/// present if the payload is rejected and its kind has a fallback. `warnings`, `unchecked` and
/// `exceeded` appear if they are not empty. `history_gap` is `no_key` or `dropped` if
/// [`Judgement::history_gap`] returns a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    kind: Arc<str>,
    outcome: Outcome,
    fallback_kind: Option<Arc<str>>,
    findings: PayloadFindings,
}

/// The findings from which the verdict on a payload is derived: violations, unchecked rules and
/// corrections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PayloadFindings {
    pub violations: Vec<Violation>,
    pub corrections: Vec<Applied>,
    pub remaining_violations: Vec<Violation>,
    /// The corrected payload; `None` unless it is accepted.
    pub corrected_payload: Option<Json>,
    /// The corrected payload with private values masked; `None` if it contains no private values.
    pub masked_correction: Option<Json>,
    pub warnings: Vec<Violation>,
    pub unchecked: Vec<Unchecked>,
    pub exceeded: Vec<Exceeded>,
    pub history_gap: Option<HistoryGap>,
}

impl Judgement {
    /// Derives the verdict on a payload of the kind `kind` from the findings, and creates the
    /// result.
    pub(super) fn new(kind: &Payload, mut findings: PayloadFindings) -> Judgement {
        let PayloadFindings { violations, corrections, remaining_violations: remaining, .. } = &mut findings;
        // The payload has no violations. But corrections may have added defaults of optional
        // fields, which may violate rules.
        if violations.is_empty() {
            violations.clone_from(remaining);
        }
        let outcome = match (violations.is_empty(), corrections.is_empty(), remaining.is_empty()) {
            (true, ..) => Outcome::Accept,
            (false, false, true) => Outcome::AcceptCorrected,
            _ => Outcome::Reject,
        };
        findings.corrected_payload.take_if(|_| outcome == Outcome::Reject);
        let fallback = kind.fallback_payload.clone().filter(|_| outcome == Outcome::Reject);
        Judgement { kind: kind.name.clone(), outcome, fallback_kind: fallback, findings }
    }

    /// Creates the result for a payload that is rejected without validation. `kind` is the payload
    /// kind that the payload names, which may be unknown.
    pub(super) fn rejected(kind: &str, violation: Violation) -> Judgement {
        let findings = PayloadFindings { violations: vec![violation], ..PayloadFindings::default() };
        Judgement { kind: kind.into(), outcome: Outcome::Reject, fallback_kind: None, findings }
    }

    /// Returns the kind of the payload: the name of the `payload` statement against which it was
    /// validated. Empty if the payload names no kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// True if the payload had no violations before corrections.
    pub fn is_valid(&self) -> bool {
        self.findings.violations.is_empty()
    }

    /// True if the payload or its corrected copy is accepted, so that the caller may act on it.
    pub fn is_accepted(&self) -> bool {
        self.outcome != Outcome::Reject
    }

    /// Returns the verdict on the payload.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Returns the name of the event to publish for this verdict: `DecisionValidatedEvent` or
    /// `DecisionRejectedEvent`.
    pub fn event(&self) -> &'static str {
        if self.is_accepted() { "DecisionValidatedEvent" } else { "DecisionRejectedEvent" }
    }

    /// Returns all violations, sorted by rule, then by path.
    pub fn violations(&self) -> &[Violation] {
        &self.findings.violations
    }

    /// Returns the corrections that were applied to the payload.
    pub fn corrections(&self) -> &[Applied] {
        &self.findings.corrections
    }

    /// Returns the violations that the corrected payload still has; empty if no correction was
    /// applied.
    pub fn remaining(&self) -> &[Violation] {
        &self.findings.remaining_violations
    }

    /// Returns the corrected payload, if it is accepted and differs from the payload that was
    /// given. It contains the defaults of optional fields.
    pub fn corrected(&self) -> Option<&Json> {
        self.findings.corrected_payload.as_ref()
    }

    /// Returns the corrected payload for logs, if it is accepted: values of `@private` fields are
    /// masked. This includes private values that a correction took from the context.
    pub fn masked_correction(&self) -> Option<&Json> {
        let corrected = self.corrected()?;
        Some(self.findings.masked_correction.as_ref().unwrap_or(corrected))
    }

    /// Returns the payload kind to propose instead, if this payload is rejected and the rules
    /// declare a `fallback` for its kind. Otherwise `None`.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback_kind.as_deref()
    }

    /// Returns the limits that were exceeded, without duplicates. A value over a limit counted as
    /// missing, so no rule about the value was violated.
    pub fn exceeded(&self) -> &[Exceeded] {
        &self.findings.exceeded
    }

    /// Returns violations of rules that only warn, sorted by rule, then by path. They do not affect
    /// the verdict, and refer to the corrected payload.
    pub fn warnings(&self) -> &[Violation] {
        &self.findings.warnings
    }

    /// Returns the rules that could not be evaluated, for example because an input that they read
    /// was not given. Empty if the judge or the payload kind is strict, because these rules then
    /// count as violations.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.findings.unchecked
    }

    /// Returns the reason why the rules may have read fewer recorded messages than there were.
    /// `None` if the history was complete, or the judge had none.
    pub fn history_gap(&self) -> Option<HistoryGap> {
        self.findings.history_gap
    }

    /// Returns the judgement with its messages translated to `language`. Messages that the author
    /// of the rules wrote are not translated.
    #[must_use]
    pub fn localized(mut self, language: Language) -> Judgement {
        let PayloadFindings { violations, remaining_violations: remaining, warnings, unchecked, .. } =
            &mut self.findings;
        for violation in violations.iter_mut().chain(remaining).chain(warnings) {
            violation.message = violation.message.in_language(language);
            violation.repair = violation.repair.in_language(language);
        }
        for unchecked in unchecked {
            unchecked.message = unchecked.message.in_language(language);
        }
        self
    }

    /// Formats the judgement as a text that a language model can act on. The text lists each
    /// remaining violation with path and repair, the corrections, and the warnings. Empty if the
    /// payload is accepted unchanged and without warnings.
    pub fn feedback(&self) -> String {
        let mut text = String::new();
        let PayloadFindings { violations, corrections, remaining_violations: remaining, warnings, .. } =
            &self.findings;
        let open_violations = if corrections.is_empty() { violations } else { remaining };
        if !open_violations.is_empty() {
            let plural_suffix = if open_violations.len() == 1 { "" } else { "s" };
            let kind = if self.kind.is_empty() { String::new() } else { format!("{} ", self.kind) };
            let count = open_violations.len();
            let _ = writeln!(text, "The {kind}payload was rejected: {count} problem{plural_suffix}.");
            for (at, violation) in open_violations.iter().enumerate() {
                let _ = writeln!(text, "{}. At {}: {}.", at + 1, violation.path, violation.message);
                if violation.repair != violation.message {
                    let _ = writeln!(text, "   To repair it: {}.", violation.repair);
                }
                let _ = writeln!(text, "   (rule {})", violation.rule);
            }
            let _ = writeln!(text, "Send the whole payload again with these repaired.");
        }
        if !corrections.is_empty() {
            let verdict = if open_violations.is_empty() {
                "was accepted after these corrections"
            } else {
                "was also corrected"
            };
            let _ = writeln!(text, "The {} payload {verdict}:", self.kind);
            for correction in corrections {
                let change_text = match correction.kind {
                    "default" => "was missing and was given its default",
                    "clamp" => "was out of range and was pulled back",
                    _ => "was removed",
                };
                let _ = writeln!(text, "- {} {change_text}.", correction.path);
            }
        }
        if !warnings.is_empty() {
            let _ = writeln!(text, "The following is allowed, but may be a mistake:");
            for warning in warnings {
                let _ = writeln!(text, "- At {}: {} (rule {}).", warning.path, warning.message, warning.rule);
            }
        }
        if let Some(fallback) = &self.fallback_kind {
            let _ = writeln!(text, "If it cannot be repaired, propose {fallback} instead.");
        }
        text
    }
}

impl Serialize for Judgement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PayloadFindings {
            violations,
            corrections,
            remaining_violations: remaining,
            corrected_payload: corrected,
            warnings,
            unchecked,
            exceeded,
            history_gap,
            ..
        } = &self.findings;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("decision", &Some(&*self.kind).filter(|kind| !kind.is_empty()))?;
        map.serialize_entry("valid", &self.is_valid())?;
        map.serialize_entry("violations", violations)?;
        map.serialize_entry("outcome", self.outcome.name())?;
        map.serialize_entry("event", self.event())?;
        if !corrections.is_empty() {
            map.serialize_entry("corrections", corrections)?;
            map.serialize_entry("remaining", remaining)?;
        }
        if let Some(corrected) = corrected {
            map.serialize_entry("corrected", corrected)?;
        }
        if let Some(fallback) = &self.fallback_kind {
            map.serialize_entry("fallback", &**fallback)?;
        }
        if !exceeded.is_empty() {
            map.serialize_entry("exceeded", exceeded)?;
        }
        if !warnings.is_empty() {
            map.serialize_entry("warnings", warnings)?;
        }
        if !unchecked.is_empty() {
            map.serialize_entry("unchecked", unchecked)?;
        }
        if let Some(gap) = history_gap {
            map.serialize_entry("history_gap", gap.as_str())?;
        }
        map.end()
    }
}
