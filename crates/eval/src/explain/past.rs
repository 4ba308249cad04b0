//! Names the earlier messages that decided the result of a condition on the history, with their
//! times.

use super::show::{format_message_count, format_thousands};
use crate::trace::{PastMessage, PastTrace, TraceNode};
use rulec_base::diag::{Language, Message};
use rulec_base::message;
use rulec_base::text::to_one_line;

/// Returns the data about the earlier messages that decided a condition: the condition of `node`,
/// or of the only child of `node`, for example if `node` is a negation.
pub(super) fn past_trace_of(node: &TraceNode) -> Option<&PastTrace> {
    node.past.as_ref().or_else(|| match node.children.as_slice() {
        [child] => past_trace_of(child),
        _ => None,
    })
}

/// Returns a phrase that names the newest message that decided the result of the condition. `None`
/// if no message decided it.
pub(super) fn describe_deciding_message(node: &TraceNode, language: Language) -> Option<String> {
    let PastTrace { count, newest, .. } = past_trace_of(node)?;
    let PastMessage { at, age } = newest.as_ref()?;
    let time = match age {
        None => Message::verbatim(to_one_line(at).into_owned()),
        Some(age) if *age < 0 => message!("{} ({} later)", to_one_line(at), format_age(age.unsigned_abs())),
        Some(age) => message!("{} ({} before)", to_one_line(at), format_age(age.unsigned_abs())),
    };
    let phrase = match count {
        1 => message!("because of the message of {time}"),
        _ => message!("because of {} messages, the last of {time}", format_thousands(*count)),
    };
    Some(phrase.localized(language).into_owned())
}

/// Returns the number of messages that a quantifier searched, in words. `None` for other
/// conditions.
pub(super) fn describe_searched_messages(node: &TraceNode, language: Language) -> Option<String> {
    let count = past_trace_of(node)?.searched?;
    Some(format_message_count(count).localized(language).into_owned())
}

/// Formats a number of seconds in its two largest units, such as `1h 5m`.
fn format_age(seconds: u64) -> String {
    let units =
        [("d", seconds / 86_400), ("h", seconds / 3600 % 24), ("m", seconds / 60 % 60), ("s", seconds % 60)];
    let first = units.iter().position(|(_, count)| *count > 0).unwrap_or(units.len() - 1);
    let shown = units[first..].iter().take(2).enumerate();
    let shown = shown.filter(|(index, (_, count))| *index == 0 || *count > 0);
    shown.map(|(_, (unit, count))| format!("{count}{unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_age_has_its_two_largest_units() {
        let ages = [0, 59, 300, 3900, 86_400 + 60].map(super::format_age);
        assert_eq!(ages, ["0s", "59s", "5m", "1h 5m", "1d"]);
    }
}
