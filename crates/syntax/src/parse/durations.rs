//! Recognizes durations in the syntax of another language, such as `timedelta(hours=2)`,
//! `Duration.ofHours(2)`, `2 * time.Hour` and `2.hours`, and returns them as this language writes
//! them.

use super::literal;
use super::stream::SignificantToken;
use crate::lex::{TokenKind, tokenize};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use std::ops::Range;

/// Types and functions of other languages whose calls give a duration, in lower case.
const DURATION_TYPES: [&str; 14] = [
    "timedelta",
    "duration",
    "timespan",
    "period",
    "interval",
    "dateinterval",
    "relativedelta",
    "chrono",
    "timeunit",
    "make_interval",
    "tointerval",
    "durations",
    "offset",
    "dateoffset",
];

/// Modules of other languages whose constants are durations, such as `time.Hour`.
const DURATION_MODULES: [&str; 5] = ["time", "timeunit", "chronounit", "duration", "units"];

/// Maximum length, in bytes, of a text that is searched.
const MAX_SEARCHED_BYTES: usize = 2000;

/// Returns the duration in the syntax of another language that contains the byte `offset` of
/// `text`: its range, and the duration as this language writes it. `None` without such a duration.
///
/// The name at `offset` must be undeclared, so that it can belong to another language.
pub fn foreign_duration_at(text: &str, offset: usize) -> Option<(Range<usize>, String)> {
    let line_start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let line = text[line_start..].lines().next().filter(|line| line.len() <= MAX_SEARCHED_BYTES)?;
    let found = find_foreign_durations(line, false);
    let moved =
        found.into_iter().map(|(range, written)| (range.start + line_start..range.end + line_start, written));
    moved.into_iter().find(|(range, _)| range.contains(&offset))
}

/// Returns the diagnostic for a duration of another language in a statement with errors. The tokens
/// of the statement are `tokens`. `None` without such a duration.
pub(super) fn foreign_duration_error(
    file: FileId,
    text: &str,
    significant: &[SignificantToken],
    tokens: Range<usize>,
    errors: &[Diagnostic],
) -> Option<Diagnostic> {
    let first = significant.get(tokens.start)?.token.start as usize;
    let last = significant.get(tokens.end.checked_sub(1)?)?.token.end as usize;
    let source = text.get(first..last).filter(|source| source.len() <= MAX_SEARCHED_BYTES)?;
    let span_of = |range: &Range<usize>| Span::new(file, first + range.start, first + range.end);
    // Another error of the statement is reported first.
    let explains = |range: &Range<usize>| {
        let span = span_of(range);
        errors
            .iter()
            .filter_map(Diagnostic::span)
            .any(|error| error.start < span.end && span.start < error.end)
    };
    let (range, written) =
        find_foreign_durations(source, true).into_iter().find(|(range, _)| explains(range))?;
    let message = message!("a duration is a number with a unit");
    Some(super::foreign::foreign_syntax_error(span_of(&range), message, &written))
}

/// Returns all durations of other languages in `text`. If `needs_module` is true, a unit must
/// belong to a module, as in `time.Hour`; otherwise `2 * HOUR` is found, too.
fn find_foreign_durations(text: &str, needs_module: bool) -> Vec<(Range<usize>, String)> {
    let words: Vec<Word<'_>> = tokenize(text, 0)
        .filter(|token| !token.kind.is_trivia())
        .map(|token| Word { kind: token.kind, start: token.start as usize, text: token.text(text) })
        .collect();
    let mut found = Vec::new();
    let mut index = 0;
    while index < words.len() {
        match duration_at(text, &words, index, needs_module) {
            Some((end, written)) if end > index => {
                let last = &words[end - 1];
                found.push((words[index].start..last.start + last.text.len(), written));
                index = end;
            }
            _ => index += 1,
        }
    }
    found
}

/// A token with its kind, its byte offset and its text.
struct Word<'t> {
    kind: TokenKind,
    start: usize,
    text: &'t str,
}

/// Returns the duration that begins at the token `index`, and the index after it.
fn duration_at(text: &str, words: &[Word<'_>], index: usize, needs_module: bool) -> Option<(usize, String)> {
    let word = |at: usize| words.get(at).map_or("", |word| word.text);
    let is_number = |at: usize| words.get(at).is_some_and(|word| word.kind == TokenKind::Number);
    if is_number(index) {
        // `2.hours`
        if word(index + 1) == "." {
            let unit = literal::meant_unit(word(index + 2)).filter(|_| word(index + 3) != ".")?;
            return Some((index + 3, if_valid_number(format!("{}{unit}", word(index)))?));
        }
        let end = path_end(words, index + 2).filter(|_| word(index + 1) == "*")?;
        let unit = time_unit_of_path(words, index + 2..end, needs_module)?;
        return Some((end, if_valid_number(literal::number_with_meant_unit(word(index), unit)?)?));
    }
    // `interval '2 hours'`
    if word(index).eq_ignore_ascii_case("interval") {
        let amount = words
            .get(index + 1)
            .filter(|next| matches!(next.kind, TokenKind::String | TokenKind::SingleQuoted))?;
        return Some((index + 2, if_valid_number(write_meant_duration(amount.text, "")?)?));
    }
    let end = path_end(words, index)?;
    if let Some(unit) = time_unit_of_path(words, index..end, needs_module) {
        // `time.Hour * 2`
        if word(end) == "*" && is_number(end + 1) {
            return Some((end + 2, if_valid_number(literal::number_with_meant_unit(word(end + 1), unit)?)?));
        }
    }
    let is_type = |at: usize| DURATION_TYPES.contains(&word(at).to_lowercase().as_str());
    if word(end) != "(" || !(index..end).any(is_type) {
        return None;
    }
    let close = (end + 1..words.len()).find(|at| matches!(word(*at), ")" | "("))?;
    let (args_start, args_end) = (words[end].start + 1, words[close].start);
    let args = text.get(args_start..args_end).filter(|_| word(close) == ")")?;
    Some((close + 1, if_valid_number(write_meant_duration(args, word(end - 1))?)?))
}

/// Returns the index after the path of names that begins at the token `start`, such as `time.Hour`
/// or `Duration::from_secs`. `None` if no name is there.
fn path_end(words: &[Word<'_>], start: usize) -> Option<usize> {
    let is_word = |at: usize| words.get(at).is_some_and(|word| word.kind == TokenKind::Word);
    let text = |at: usize| words.get(at).map_or("", |word| word.text);
    if !is_word(start) || start > 0 && matches!(text(start - 1), "." | "::") {
        return None;
    }
    let mut end = start + 1;
    loop {
        let colons = usize::from(text(end) == ":" && text(end + 1) == ":");
        let is_joint = text(end) == "." || text(end) == "::" || colons == 1;
        if !is_joint || !is_word(end + 1 + colons) {
            return Some(end);
        }
        end += 2 + colons;
    }
}

/// Returns the unit that the path of another language names, such as `Hour` for `time.Hour`.
fn time_unit_of_path<'t>(words: &[Word<'t>], path: Range<usize>, needs_module: bool) -> Option<&'t str> {
    let unit = words.get(path.end.checked_sub(1)?)?.text;
    let module = words.get(path.start)?.text.to_lowercase();
    let has_module = path.len() > 1 && DURATION_MODULES.contains(&module.as_str());
    let is_constant = path.len() == 1 && !needs_module && unit.starts_with(char::is_uppercase);
    let is_unit = unit.len() > 2 && literal::number_with_meant_unit("1", unit).is_some();
    (is_unit && (has_module || is_constant)).then_some(unit)
}

/// Returns the text of a duration if it is a valid number literal of this language, otherwise
/// `None`.
fn if_valid_number(written: String) -> Option<String> {
    literal::parse_number(&written, false).is_ok().then_some(written)
}

/// Returns the duration that the arguments of a call or a text mean: `1d` for `days=1`, for `1` in
/// a call of `ofDays`, and for `1 day`. `None` for other arguments.
pub(super) fn write_meant_duration(args: &str, function: &str) -> Option<String> {
    let unquoted = |text: &'_ str| text.trim_matches(['"', '\'']).to_owned();
    let args = unquoted(args.trim());
    let args = args.as_str();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| text.replace('_', "").parse::<u64>().ok().map(|number| number.to_string());
    let has_names = args.contains(['=', ':']);
    if has_names && args.contains(',') {
        let parts: Option<Vec<String>> = args.split(',').map(|part| write_meant_duration(part, "")).collect();
        let parts = parts?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        return literal::write_sum_of_durations(&parts);
    }
    if let Some((unit, count)) = args.split_once("=>").or_else(|| args.split_once(['=', ':'])) {
        return literal::number_with_meant_unit(&number(&unquoted(count.trim()))?, unit.trim());
    }
    if let Some((count, unit)) = args.split_once([' ', ',']).filter(|(count, _)| is_number(count)) {
        return literal::number_with_meant_unit(count, &unquoted(unit.trim()));
    }
    if is_number(args) && !function.is_empty() {
        let unit = function.to_lowercase();
        let unit =
            ["of", "from", "in"].into_iter().find_map(|prefix| unit.strip_prefix(prefix)).unwrap_or(&unit);
        return literal::number_with_meant_unit(args, unit.trim_start_matches('_'));
    }
    let end = args.find(|c: char| c.is_alphabetic())?;
    literal::number_with_meant_unit(&number(&args[..end])?, &args[end..])
}

#[cfg(test)]
mod tests {
    use super::{foreign_duration_at, write_meant_duration};

    #[test]
    fn calls_and_texts_become_durations() {
        let check = |args: &str, function: &str, expected: Option<&str>| {
            assert_eq!(write_meant_duration(args, function).as_deref(), expected, "{function}({args})");
        };
        check("days=1", "timedelta", Some("1d"));
        check("days=1, hours=2", "timedelta", Some("26h"));
        check("hours: 24", "Duration", Some("24h"));
        check("24", "ofHours", Some("24h"));
        check("24", "from_secs", Some("24s"));
        check("24h", "", Some("24h"));
        check("\"7 days\"", "duration", Some("7d"));
        check("30, \"minutes\"", "duration", Some("30min"));
        check("x", "f", None);
        check("", "f", None);
    }

    #[test]
    fn durations_of_other_languages_are_found_in_a_line() {
        let check = |line: &str, word: &str, expected: Option<&str>| {
            let offset = line.find(word).expect("the word is in the line");
            let found = foreign_duration_at(line, offset).map(|(range, written)| {
                let mut line = line.to_owned();
                line.replace_range(range, &written);
                line
            });
            assert_eq!(found.as_deref(), expected, "{line}");
        };
        check("a > 2 * time.Hour -> h", "time", Some("a > 2h -> h"));
        check("a > time.Hour * 2 -> h", "time", Some("a > 2h -> h"));
        check("a > 2 * HOUR", "HOUR", Some("a > 2h"));
        check("a > timedelta(hours=2) and b", "timedelta", Some("a > 2h and b"));
        check("a > Duration.ofMinutes(5)", "Duration", Some("a > 5min"));
        check("a > Duration::from_secs(5)", "Duration", Some("a > 5s"));
        check("a > TimeSpan.FromHours(5)", "TimeSpan", Some("a > 5h"));
        check("a > interval '2 hours'", "interval", Some("a > 2h"));
        check("a > 2 * order.count", "order", None);
        check("a > time.zone * 2", "time", None);
        check("a > f(hours=2)", "f(", None);
    }
}
