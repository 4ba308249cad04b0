//! Suggests a correction of an invalid regular expression.

use regex_syntax::Error::{Parse, Translate};
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir;

/// Returns the expression that the author of `pattern` probably intended, for example `[a-zA-Z]`
/// for `[a-Z]`. `error` is the parser's error. `None` if the intention is not clear.
pub(super) fn meant_regex(pattern: &str, error: &regex_syntax::Error) -> Option<String> {
    let meant = match error {
        Parse(error) => {
            let span = error.span();
            let wrong = pattern.get(span.start.offset..span.end.offset)?;
            let (at, replacement) = meant_part(pattern, (span.start.offset, wrong), error.kind())?;
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

/// Returns the range to replace, and the replacement. `wrong` is the invalid part that the parser
/// reports, with its offset.
fn meant_part(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meaning_of_slips_is_found() {
        for (pattern, expected) in [
            (r"^[a-Z]+$", Some(r"^[a-zA-Z]+$")),
            (r"[9-0]", Some(r"[0-9]")),
            (r"a{3,1}", Some(r"a{1,3}")),
            (r"a{,3}", Some(r"a{0,3}")),
            (r"+49 \d+", Some(r"\+49 \d+")),
            (r"*.txt", Some(r".*.txt")),
            (r"(a", Some(r"\(a")),
            (r"a)", Some(r"a\)")),
            (r"[ab", Some(r"\[ab")),
            (r"a\yb", Some(r"ayb")),
            (r"end\Z", Some(r"end\z")),
            (r"\p{Chinese}+", Some(r"\p{Han}+")),
            (r"\p{Nonsense}", None),
            (r"(?=a)", None),
        ] {
            let Err(error) = regex_syntax::parse(pattern) else { panic!("{pattern} is valid") };
            assert_eq!(meant_regex(pattern, &error).as_deref(), expected, "{pattern}");
        }
    }
}
