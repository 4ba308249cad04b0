//! Replacements for values in the syntax of other languages: texts with a prefix, dates and
//! addresses without quotes, lists with dashes, and ranges with `between`.

use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::{Function, canonical_clock_text};

/// Returns the string that replaces a string with a prefix of another language, such as `f"hi
/// {name}"`. `text` includes the quotes. `None` if no language has this prefix.
pub(in super::super) fn string_without_prefix(prefix: &str, text: &str) -> Option<String> {
    match prefix {
        "R" => Some(format!("r{text}")),
        "b" | "B" | "u" | "U" | "s" | "t" | "f" | "F" | "fr" | "rf" => {
            let inner = text.trim_start_matches('r').trim_matches('"');
            Some(template_to_join_call(inner).unwrap_or_else(|| text.to_owned()))
        }
        _ => None,
    }
}

/// Returns the call `join([…], "")` that replaces a string template of another language, such as
/// `hi {name}`. The braces may be doubled, or follow a `$`. `None` if the template contains no name
/// in braces.
pub fn template_to_join_call(template: &str) -> Option<String> {
    let (mut parts, mut has_name) = (Vec::new(), false);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let inner = rest[open..].trim_start_matches('{');
        let close = inner.find('}')?;
        let name = inner[..close].trim();
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if !is_name {
            return None;
        }
        let before = rest[..open].trim_end_matches('$');
        parts.extend((!before.is_empty()).then(|| format!("\"{before}\"")));
        parts.push(name.to_owned());
        has_name = true;
        rest = inner[close..].trim_start_matches('}');
    }
    parts.extend((!rest.is_empty()).then(|| format!("\"{rest}\"")));
    match parts.as_slice() {
        [name] if has_name => Some(name.clone()),
        _ => has_name.then(|| format!("join([{}], \"\")", parts.join(", "))),
    }
}

/// Returns the diagnostic for a date, time, network address or version without quotes. `None` for
/// any other text.
pub(in super::super) fn bare_literal_error(span: Span, text: &str) -> Option<Diagnostic> {
    let (message, replacement): (Message, String) = if let Some(date) = to_iso_date(text) {
        match date.contains('T') {
            true => (message!("a time is written as a text"), format!("\"{date}\"")),
            false => {
                (message!("a date is written as a text: `{text}` is arithmetic"), format!("date(\"{date}\")"))
            }
        }
    } else if is_ipv4_address(text) {
        (message!("a network address is written as a text"), format!("\"{text}\""))
    } else if is_version(text) {
        (message!("a version is written as a text"), format!("version(\"{text}\")"))
    } else {
        return None;
    };
    let diagnostic = Diagnostic::new(Code::Unexpected, span, message);
    Some(diagnostic.help(message!("write `{replacement}`")).likely_fix(span, replacement))
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Converts a date such as `31.01.2026` to the order of ISO 8601, with the time after it if there
/// is one. A time without an offset gets the offset `Z`. `None` if the text is no date.
fn to_iso_date(text: &str) -> Option<String> {
    let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
    let separator = date.find(['-', '/', '.']).map(|at| &date[at..=at])?;
    let parts: Vec<&str> = date.split(separator).collect();
    let [first, second, third] = parts.as_slice() else { return None };
    if ![first, second, third].iter().all(|part| are_digits(part)) {
        return None;
    }
    let (year, month, day) = match (first.len(), second.len(), third.len()) {
        (4, 1 | 2, 1 | 2) => (first, second, third),
        // In `1/31/2026` the second number is above 12, so it is the day, and the first is the
        // month.
        (1 | 2, 1 | 2, 4) if second.parse::<u8>().is_ok_and(|second| second > 12) => (third, first, second),
        (1 | 2, 1 | 2, 4) => (third, second, first),
        _ => return None,
    };
    let date = format!("{year}-{month:0>2}-{day:0>2}");
    Some(match time {
        None => date,
        Some(time) if time.ends_with('Z') || time.contains(['+', '-']) => format!("{date}T{time}"),
        Some(time) if time.matches(':').count() == 1 => format!("{date}T{time}:00Z"),
        Some(time) => format!("{date}T{time}Z"),
    })
}

fn is_ipv4_address(text: &str) -> bool {
    let address = text.split_once('/').map_or(text, |(address, _)| address);
    address.split('.').count() == 4 && address.split('.').all(|part| part.parse::<u8>().is_ok())
}

fn is_version(text: &str) -> bool {
    text.split('.').count() == 3 && text.split('.').all(are_digits)
}

/// Converts lines with dashes, as in YAML, to a list literal. Elements that are not numbers get
/// quotes. `None` if a line has no dash, or if there is no line.
pub(in super::super) fn dashed_lines_to_list(text: &str) -> Option<String> {
    let mut elements = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let element = line.strip_prefix('-')?.trim();
        let is_complete = element.starts_with('"') || element.parse::<f64>().is_ok();
        elements.push(if is_complete {
            element.to_owned()
        } else {
            format!("\"{}\"", element.trim_matches('\'').replace('\\', "\\\\").replace('"', "\\\""))
        });
    }
    (!elements.is_empty()).then(|| format!("[{}]", elements.join(", ")))
}

/// Returns the condition of this language that means the same as `left between low and high`.
pub(in super::super) fn translate_between(left: &str, low: &str, high: &str) -> String {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if is_number(low) && is_number(high) {
        return format!("{left} in {low}..={high}");
    }
    let unquoted = |text: &str| text.strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    let Some((from, until)) = unquoted(low).zip(unquoted(high)) else {
        return format!("{left} >= {low} and {left} <= {high}");
    };
    let inner = left.strip_suffix(')').and_then(|call| call.split_once('('));
    let time = match inner {
        Some(("hour" | "time" | "time_of_day" | "date", time)) => time,
        _ => left,
    };
    let reads =
        |function| [&from, &until].into_iter().all(|text| canonical_clock_text(function, text).is_some());
    match [Function::Time, Function::Date].into_iter().find(|function| reads(*function)) {
        Some(function) => format!("{}({time}) in {low}..={high}", function.info().name),
        None => format!("{left} >= {low} and {left} <= {high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_become_calls_of_join() {
        let check = |template: &str, expected: Option<&str>| {
            assert_eq!(template_to_join_call(template).as_deref(), expected, "{template}");
        };
        check("hi {user.name}!", Some("join([\"hi \", user.name, \"!\"], \"\")"));
        check("{{text}}", Some("text"));
        check("a${b}{{ c }}", Some("join([\"a\", b, c], \"\")"));
        check("plain", None);
        check("{1}", None);
        check("{a", None);
    }

    #[test]
    fn dates_addresses_and_versions_are_known_without_quotes() {
        let check = |text: &str, expected: Option<&str>| {
            let span = Span::new(rulec_base::span::FileId(0), 0, text.len());
            let fix = bare_literal_error(span, text).map(|error| error.fixes[0].replacement.clone());
            assert_eq!(fix.as_deref(), expected, "{text}");
        };
        check("2026-01-31", Some("date(\"2026-01-31\")"));
        check("2026/1/3", Some("date(\"2026-01-03\")"));
        check("31.01.2026", Some("date(\"2026-01-31\")"));
        check("01/31/2026", Some("date(\"2026-01-31\")"));
        check("2026-01-31T10:00", Some("\"2026-01-31T10:00:00Z\""));
        check("2026-01-31T10:00:00+08:00", Some("\"2026-01-31T10:00:00+08:00\""));
        check("10.0.0.1", Some("\"10.0.0.1\""));
        check("10.0.0.0/8", Some("\"10.0.0.0/8\""));
        check("1.2.3", Some("version(\"1.2.3\")"));
        check("10-3-2", None);
        check("1.2", None);
        check("999.0.0.1", None);
    }

    #[test]
    fn between_becomes_a_range() {
        let check = |left: &str, low: &str, high: &str, expected: &str| {
            assert_eq!(translate_between(left, low, high), expected);
        };
        check("n", "3", "5", "n in 3..=5");
        check("hour(now)", "\"09:00\"", "\"18:00\"", "time(now) in \"09:00\"..=\"18:00\"");
        check("time(now)", "\"22:00\"", "\"6:00\"", "time(now) in \"22:00\"..=\"6:00\"");
        check("at", "\"2026-01-01\"", "\"2026-01-31\"", "date(at) in \"2026-01-01\"..=\"2026-01-31\"");
        check("name", "\"a\"", "\"b\"", "name >= \"a\" and name <= \"b\"");
        check("at", "ctx.a", "ctx.b", "at >= ctx.a and at <= ctx.b");
    }
}
