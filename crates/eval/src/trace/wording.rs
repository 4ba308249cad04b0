//! Describes values and types in the sentences of explanations, such as `"7", a string`.

use super::Operand;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::ty::{KindSet, Ty};
use rulec_lang::value::Value;

/// Formats a value and its kind, such as `"7", a string`; only the kind if the value is long or
/// masked.
pub(super) fn describe_value(operand: &Operand, value: Value<'_>) -> Message {
    let kind = kinds_with_article(value.kind().map_or(KindSet::EMPTY, KindSet::single));
    match &operand.value {
        Some(json) if !operand.masked => {
            let text = json.to_string();
            if text.chars().count() <= 40 { message!("{text}, {kind}") } else { kind }
        }
        _ => kind,
    }
}

pub(super) fn comparable_kinds(value: Value<'_>) -> KindSet {
    value.kind().map_or(KindSet::MESSAGE_KINDS, |kind| KindSet::single(kind).with_comparable_kinds())
}

/// Formats kinds with an article: `a string or list`, `an int`.
pub(super) fn kinds_with_article(kinds: KindSet) -> Message {
    match kinds == KindSet::EMPTY {
        true => kinds.to_message(),
        false => Ty::from_kinds(kinds).with_article(),
    }
}

/// True if the source text of a constant is a name, not a literal. The trace then shows the value,
/// because the source text does not contain it.
pub(super) fn is_constant_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '`')
        && text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '`')
        && !matches!(text, "true" | "false")
}

pub(super) fn push_distinct_operand(operand: Operand, listed: &mut Vec<Operand>) {
    if !listed.contains(&operand) {
        listed.push(operand);
    }
}
