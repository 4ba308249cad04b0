//! The answers of a judge.

use rulec_base::diag::{Language, Message};
use rulec_lang::limits::Exceeded;
use rulec_sema::hir::Payload;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;
use std::fmt::Write;
use std::sync::Arc;

/// The fate of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is wrong.
    Accept,
    /// It was wrong, and has been mended.
    AcceptCorrected,
    /// Something is wrong that cannot be mended.
    Reject,
}

impl Outcome {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Accept => "accept",
            Outcome::AcceptCorrected => "accept_corrected",
            Outcome::Reject => "reject",
        }
    }
}

/// Something that is wrong with a payload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// The rule's id.
    pub rule: Arc<str>,
    /// The place, such as `$.nodes[2].config.url`.
    pub path: String,
    /// The mistake, in words.
    pub message: Message,
    /// The repair, in words.
    pub repair: Message,
}

/// A rule that could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Unchecked {
    /// The rule's id.
    pub rule: Arc<str>,
    /// The place it would be about.
    pub path: String,
    /// The reason, in words.
    pub message: Message,
}

/// A correction that was made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Applied {
    /// `default`, `clamp` or `remove`.
    pub kind: &'static str,
    /// The place.
    pub path: String,
}

/// The answer. Serializes to the JSON object that `rulec run --decision` prints: `valid`,
/// `violations`, `outcome` and `event`; where corrections were made `corrections`, `remaining` and,
/// if the payload is accepted so, `corrected`; `fallback` where a rejected kind has one. Beside the verdict
/// stand `warnings` and `unchecked`, where there are any, and `exceeded` where a limit was.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    kind: Arc<str>,
    outcome: Outcome,
    fallback: Option<Arc<str>>,
    findings: Findings,
}

/// All that was found out about a payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Findings {
    pub violations: Vec<Violation>,
    pub corrections: Vec<Applied>,
    pub remaining: Vec<Violation>,
    /// The payload after the corrections, when that is accepted.
    pub corrected: Option<Json>,
    pub warnings: Vec<Violation>,
    pub unchecked: Vec<Unchecked>,
    pub exceeded: Vec<Exceeded>,
}

impl Judgement {
    /// The judgement of a payload of the kind.
    pub(super) fn of(kind: &Payload, mut findings: Findings) -> Judgement {
        let Findings { violations, corrections, remaining, .. } = &findings;
        let outcome = match (violations.is_empty(), corrections.is_empty(), remaining.is_empty()) {
            (true, ..) => Outcome::Accept,
            (false, false, true) => Outcome::AcceptCorrected,
            _ => Outcome::Reject,
        };
        findings.corrected.take_if(|_| outcome != Outcome::AcceptCorrected);
        let fallback = kind.fallback.clone().filter(|_| outcome == Outcome::Reject);
        Judgement { kind: kind.name.clone(), outcome, fallback, findings }
    }

    /// The payload's kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// True when nothing at all was wrong.
    pub fn is_valid(&self) -> bool {
        self.findings.violations.is_empty()
    }

    /// True when the payload, or its corrected form, may be acted on.
    pub fn is_accepted(&self) -> bool {
        self.outcome != Outcome::Reject
    }

    /// The fate of the payload.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The event this is announced as.
    pub fn event(&self) -> &'static str {
        if self.is_accepted() { "DecisionValidatedEvent" } else { "DecisionRejectedEvent" }
    }

    /// Everything that was wrong, by rule, then place.
    pub fn violations(&self) -> &[Violation] {
        &self.findings.violations
    }

    /// The corrections that were made.
    pub fn corrections(&self) -> &[Applied] {
        &self.findings.corrections
    }

    /// The violations that remain after the corrections; empty when none was made.
    pub fn remaining(&self) -> &[Violation] {
        &self.findings.remaining
    }

    /// The corrected payload, when that is accepted.
    pub fn corrected(&self) -> Option<&Json> {
        self.findings.corrected.as_ref()
    }

    /// The kind to turn to instead, when this one is rejected.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The limits that were exceeded on the way to it, each once. What was larger counted as missing, so a rule
    /// about it was not broken.
    pub fn exceeded(&self) -> &[Exceeded] {
        &self.findings.exceeded
    }

    /// The breaches of rules that only warn, by rule, then place. They change nothing in the verdict, and are
    /// about the payload as the corrections left it.
    pub fn warnings(&self) -> &[Violation] {
        &self.findings.warnings
    }

    /// The rules that could not be asked, since an input that they read was not given.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.findings.unchecked
    }

    /// The same with its sentences in a language; those that the author wrote stay as they are.
    #[must_use]
    pub fn told_in(mut self, language: Language) -> Judgement {
        let Findings { violations, remaining, warnings, unchecked, .. } = &mut self.findings;
        for violation in violations.iter_mut().chain(remaining).chain(warnings) {
            violation.message = violation.message.in_language(language);
            violation.repair = violation.repair.in_language(language);
        }
        for unchecked in unchecked {
            unchecked.message = unchecked.message.in_language(language);
        }
        self
    }

    /// All of it as one text that a language model can act on: what is still wrong, where, and how to
    /// repair it, and what it is warned of. Empty when the payload is accepted as it is without a warning.
    pub fn feedback(&self) -> String {
        let mut text = String::new();
        let Findings { violations, corrections, remaining, warnings, .. } = &self.findings;
        let open = if corrections.is_empty() { violations } else { remaining };
        if !open.is_empty() {
            let s = if open.len() == 1 { "" } else { "s" };
            let _ = writeln!(text, "The {} payload was rejected: {} problem{s}.", self.kind, open.len());
            for (at, violation) in open.iter().enumerate() {
                let _ = writeln!(text, "{}. At {}: {}.", at + 1, violation.path, violation.message);
                if violation.repair != violation.message {
                    let _ = writeln!(text, "   To repair it: {}.", violation.repair);
                }
                let _ = writeln!(text, "   (rule {})", violation.rule);
            }
            let _ = writeln!(text, "Send the whole payload again with these repaired.");
        }
        if !corrections.is_empty() {
            let verdict =
                if open.is_empty() { "was accepted after these corrections" } else { "was also corrected" };
            let _ = writeln!(text, "The {} payload {verdict}:", self.kind);
            for correction in corrections {
                let what = match correction.kind {
                    "default" => "was missing and was given its default",
                    "clamp" => "was out of range and was pulled back",
                    _ => "was removed",
                };
                let _ = writeln!(text, "- {} {what}.", correction.path);
            }
        }
        if !warnings.is_empty() {
            let _ = writeln!(text, "Beside that, these are allowed and may be mistakes:");
            for warning in warnings {
                let _ = writeln!(text, "- At {}: {} (rule {}).", warning.path, warning.message, warning.rule);
            }
        }
        if let Some(fallback) = &self.fallback {
            let _ = writeln!(text, "If it cannot be repaired, propose {fallback} instead.");
        }
        text
    }
}

impl Serialize for Judgement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Findings { violations, corrections, remaining, corrected, warnings, unchecked, exceeded } =
            &self.findings;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("decision", &*self.kind)?;
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
        if let Some(fallback) = &self.fallback {
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
        map.end()
    }
}
