//! Suggests a correction of an invalid regular expression. The regex library only reports the
//! error.

use regex_syntax::Error::{Parse, Translate};
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir;

/// Maximum number of closing parentheses that a suggested correction adds to an expression.
const MAX_ADDED_PARENTHESES: usize = 5;

/// Returns the expression that `pattern` probably means, for example `[a-zA-Z]` for `[a-Z]`.
/// `error` is the error of the parser. `None` if the meaning is not clear.
pub(super) fn suggest_regex(pattern: &str, error: &regex_syntax::Error) -> Option<String> {
    let meant = match error {
        Parse(error) if matches!(error.kind(), ErrorKind::GroupNameDuplicate { .. }) => {
            let span = error.span();
            with_one_group(pattern, pattern.get(span.start.offset..span.end.offset)?)?
        }
        Parse(error) => {
            let span = error.span();
            let wrong = pattern.get(span.start.offset..span.end.offset)?;
            let (at, replacement) = find_replacement(pattern, (span.start.offset, wrong), error.kind())?;
            [&pattern[..at.start], &replacement, &pattern[at.end..]].concat()
        }
        Translate(error)
            if matches!(
                error.kind(),
                hir::ErrorKind::UnicodePropertyValueNotFound | hir::ErrorKind::UnicodePropertyNotFound
            ) =>
        {
            let span = error.span();
            let class = pattern.get(span.start.offset..span.end.offset)?.to_lowercase();
            let script = match class.trim_start_matches("\\p{").trim_end_matches('}') {
                "chinese" | "cjk" | "hanzi" | "ischinese" | "ishan" => "\\p{Han}",
                "letter" | "letters" | "isletter" => "\\p{L}",
                "japanese" => "[\\p{Hiragana}\\p{Katakana}\\p{Han}]",
                _ => return None,
            };
            [&pattern[..span.start.offset], script, &pattern[span.end.offset..]].concat()
        }
        _ => return None,
    };
    regex_syntax::parse(&meant).is_ok().then_some(meant)
}

/// Returns the byte range of `pattern` to replace, and the replacement. `wrong` is the invalid part
/// that the parser reports, with its offset. `None` if no replacement is known.
fn find_replacement(
    pattern: &str,
    (start, wrong): (usize, &str),
    kind: &ErrorKind,
) -> Option<(std::ops::Range<usize>, String)> {
    let whole = start..start + wrong.len();
    let escaped = |at: usize| {
        let c = pattern[at..].chars().next()?;
        Some((at..at + c.len_utf8(), format!("\\{c}")))
    };
    match kind {
        ErrorKind::ClassRangeInvalid => {
            let (low, high) = wrong.split_once('-')?;
            let range = match (low.chars().next()?, high.chars().next()?) {
                (low @ 'a'..='z', 'A'..='Z') => format!("{low}-z{}-{high}", low.to_ascii_uppercase()),
                _ => format!("{high}-{low}"),
            };
            Some((whole, range))
        }
        ErrorKind::RepetitionCountInvalid => {
            let (low, high) = wrong.trim_matches(['{', '}']).split_once(',')?;
            Some((whole, format!("{{{high},{low}}}")))
        }
        ErrorKind::RepetitionCountDecimalEmpty | ErrorKind::DecimalEmpty => {
            let open = pattern[..start + wrong.len()].rfind('{')?;
            match pattern[open + 1..].starts_with(',') {
                true => Some((open + 1..open + 1, "0".to_owned())),
                false => escaped(open),
            }
        }
        ErrorKind::RepetitionCountUnclosed => escaped(pattern[..start + wrong.len()].rfind('{')?),
        ErrorKind::RepetitionMissing => {
            let at = start + pattern[start..].find(['*', '+', '?', '{'])?;
            match pattern[at..].starts_with('*') {
                true => Some((at..at, ".".to_owned())),
                false => escaped(at),
            }
        }
        ErrorKind::GroupUnclosed if has_regex_syntax(&pattern[start + 1..]) => {
            let close = pattern.strip_suffix('$').map_or(pattern.len(), str::len);
            let is_valid = |count: &usize| {
                let closed = [&pattern[..close], &")".repeat(*count), &pattern[close..]].concat();
                regex_syntax::parse(&closed).is_ok()
            };
            let count = (1..=MAX_ADDED_PARENTHESES).find(is_valid)?;
            Some((close..close, ")".repeat(count)))
        }
        ErrorKind::ClassUnclosed if looks_like_class(&pattern[start + 1..]) => {
            let inside = &pattern[start + 1..];
            let close = inside.find(['+', '*', '?', '{', '$', ')']).unwrap_or(inside.len());
            Some((start + 1 + close..start + 1 + close, "]".to_owned()))
        }
        ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened | ErrorKind::ClassUnclosed => escaped(start),
        ErrorKind::EscapeUnrecognized => Some((
            whole,
            match wrong {
                "\\Z" => "\\z".to_owned(),
                "\\h" => "[ \\t]".to_owned(),
                "\\R" => "\\r?\\n".to_owned(),
                other => other.trim_start_matches('\\').to_owned(),
            },
        )),
        ErrorKind::EscapeUnexpectedEof => Some((whole, "\\\\".to_owned())),
        _ => None,
    }
}

/// Returns an expression in which a group occurs once, for alternatives that each contain this
/// group: `(?:a|b)(?<id>c)` for `a(?<id>c)|b(?<id>c)`. `None` if the groups differ, or if the
/// alternatives differ on both sides of the group.
fn with_one_group(pattern: &str, name: &str) -> Option<String> {
    // Flags, as in `(?i)`, would hold for other parts than before.
    if pattern.split("(?").skip(1).any(|rest| !rest.starts_with([':', '<', 'P'])) {
        return None;
    }
    let branches = split_alternatives(pattern)?;
    let mut parts = Vec::new();
    for branch in &branches {
        let marks = [format!("(?<{name}>"), format!("(?P<{name}>")];
        let start = marks.iter().find_map(|mark| branch.find(mark.as_str()))?;
        let end = start + leading_group_length(&branch[start..])?;
        parts.push((&branch[..start], &branch[start..end], &branch[end..]));
    }
    let (before, group, after) = *parts.first()?;
    let joined = |texts: Vec<&str>| format!("(?:{})", texts.join("|"));
    if parts.len() < 2 || parts.iter().any(|part| part.1 != group) {
        return None;
    }
    if parts.iter().all(|part| part.2 == after) {
        return Some([&joined(parts.iter().map(|part| part.0).collect()), group, after].concat());
    }
    let is_same = parts.iter().all(|part| part.0 == before);
    is_same.then(|| [before, group, &joined(parts.iter().map(|part| part.2).collect())].concat())
}

/// Splits an expression at the `|` outside all groups and classes. `None` if brackets do not match.
fn split_alternatives(pattern: &str) -> Option<Vec<&str>> {
    let (mut branches, mut start, mut depth, mut is_in_class) = (Vec::new(), 0, 0_usize, false);
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            ']' => is_in_class = false,
            _ if is_in_class => {}
            '[' => is_in_class = true,
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            '|' if depth == 0 => {
                branches.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&pattern[start..]);
    (depth == 0).then_some(branches)
}

/// Returns the length in bytes of the group at the start of a text, including a repetition after it
/// such as `*`. `None` if the group is not closed.
fn leading_group_length(text: &str) -> Option<usize> {
    let (mut depth, mut is_in_class) = (0_usize, false);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            ']' => is_in_class = false,
            _ if is_in_class => {}
            '[' => is_in_class = true,
            '(' => depth += 1,
            ')' if depth == 1 => {
                let rest = &text[at + 1..];
                return Some(at + 1 + rest.len() - rest.trim_start_matches(['?', '*', '+']).len());
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// True if the inside of an unclosed group uses the syntax of regular expressions, so that its
/// parenthesis is probably not meant literally.
fn has_regex_syntax(inside: &str) -> bool {
    inside.contains(['\\', '|', '[', '+', '*', '?', '{', '^']) || inside.contains(".")
}

/// True if the text inside an unclosed class has a range, an escape or a negation. The `[` before
/// it is then probably not meant literally.
fn looks_like_class(inside: &str) -> bool {
    let is_range = |window: &[u8]| window[1] == b'-' && window.iter().all(|byte| *byte != b' ');
    inside.starts_with(['^', '\\']) || inside.as_bytes().windows(3).next().is_some_and(is_range)
}

/// Converts a regular expression between slashes, as other languages write it, to the syntax of
/// rules: `/refund/i` to `(?i)refund`. `is_path` is true if the expression is matched with a path.
/// `None` if the slashes are probably meant literally.
pub(super) fn without_slashes(pattern: &str, is_path: bool) -> Option<String> {
    let (inner, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
    let is_flag = |flag: char| matches!(flag, 'g' | 'i' | 'm' | 's' | 'u' | 'x' | 'y');
    let plain = inner.replace("\\\\", "").replace("\\/", "");
    if inner.is_empty() || plain.contains('/') || plain.ends_with('\\') || !flags.chars().all(is_flag) {
        return None;
    }
    let never_matches = inner.starts_with('^') || inner.ends_with('$') && !inner.ends_with("\\$");
    let has_syntax = plain.contains(['\\', '(', '[', '|', '+', '*', '?']);
    let is_common_flag =
        flags.len() <= 3 && flags.contains(['i', 'g']) && !flags.contains(['s', 'u', 'x', 'y']);
    let is_delimited = never_matches
        || inner.contains("\\/")
        || !is_path && !flags.is_empty() && (has_syntax || is_common_flag);
    if !is_delimited {
        return None;
    }
    let kept: String = flags.chars().filter(|flag| matches!(flag, 'i' | 'm' | 's' | 'x')).collect();
    let prefix = if kept.is_empty() { kept } else { format!("(?{kept})") };
    let meant = format!("{prefix}{}", inner.replace("\\/", "/"));
    regex_syntax::parse(&meant).is_ok().then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_regexes_are_corrected() {
        for (pattern, expected) in [
            (r"^[a-Z]+$", Some(r"^[a-zA-Z]+$")),
            (r"[9-0]", Some(r"[0-9]")),
            (r"a{3,1}", Some(r"a{1,3}")),
            (r"a{,3}", Some(r"a{0,3}")),
            (r"+49 \d+", Some(r"\+49 \d+")),
            (r"*.txt", Some(r".*.txt")),
            (r"(a", Some(r"\(a")),
            (r"order #(\d+", Some(r"order #(\d+)")),
            (r"^(get|post", Some(r"^(get|post)")),
            (r"^((a|b) (c|d$", Some(r"^((a|b) (c|d))$")),
            (r"id [0-9+", Some(r"id [0-9]+")),
            (r"[^,", Some(r"[^,]")),
            (r"a)", Some(r"a\)")),
            (r"[ab", Some(r"\[ab")),
            (r"a\yb", Some(r"ayb")),
            (r"end\Z", Some(r"end\z")),
            (r"\p{Chinese}+", Some(r"\p{Han}+")),
            (r"order (?<id>\d+)|#(?<id>\d+)", Some(r"(?:order |#)(?<id>\d+)")),
            (r"(?P<n>\d+) kg|(?P<n>\d+) lbs?", Some(r"(?P<n>\d+)(?: kg| lbs?)")),
            (r"a(?<id>x)|b(?<id>x)|[|(](?<id>x)", Some(r"(?:a|b|[|(])(?<id>x)")),
            (r"a(?<id>\d)|b(?<id>\w)", None),
            (r"a(?<id>x)c|b(?<id>x)d", None),
            (r"(?<id>x)(?<id>x)", None),
            (r"(?i)a(?<id>x)|b(?<id>x)", None),
            (r"\p{Nonsense}", None),
            (r"(?=a)", None),
        ] {
            let Err(error) = regex_syntax::parse(pattern) else { panic!("{pattern} is valid") };
            assert_eq!(suggest_regex(pattern, &error).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn slashes_of_other_languages_are_removed() {
        for (pattern, is_path, expected) in [
            (r"/os\.environ/i", false, Some(r"(?i)os\.environ")),
            (r"/refund/i", false, Some(r"(?i)refund")),
            (r"/refund|return/gi", false, Some(r"(?i)refund|return")),
            (r"/^refund$/", true, Some(r"^refund$")),
            (r"/a\/b/", false, Some(r"a/b")),
            // These are paths.
            (r"/api/v1/", false, None),
            (r"/api/", false, None),
            (r"/v\d+/", false, None),
            (r"/users/i", true, None),
            (r"/news/us", false, None),
            (r"//", false, None),
            (r"refund", false, None),
        ] {
            assert_eq!(without_slashes(pattern, is_path).as_deref(), expected, "{pattern}");
        }
    }
}
