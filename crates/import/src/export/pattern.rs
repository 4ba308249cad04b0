//! Writes regular expressions of the rules in Python's syntax. A Python expression is used only if
//! the importer translates it back to an expression with the same meaning.

use super::WriteResult;
use crate::regex::{TranslatedPattern, translate};
use crate::write::quote_for_comment;
use rulec_base::message;

/// Returns the Python expression for a pattern that may match anywhere in a text. `ignore_case` is
/// true if the search ignores case.
pub(super) fn to_python_regex(pattern: &str, ignore_case: bool) -> WriteResult<String> {
    python_candidates(pattern)
        .into_iter()
        .find(|candidate| has_same_meaning(candidate, pattern, ignore_case, |translated| translated.text))
        .ok_or_else(|| inexpressible_pattern_message(pattern))
}

/// Returns the Python expression for a pattern that must match at the start of a text. The rules
/// write the anchor in the pattern; Python's `re.match` needs no anchor.
pub(super) fn to_anchored_python_regex(pattern: &str) -> WriteResult<String> {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let group = inner.strip_prefix("(?:").and_then(|inner| inner.strip_suffix(')'));
    let forms = group.into_iter().chain([inner, pattern]).flat_map(python_candidates);
    forms
        .into_iter()
        .find(|candidate| {
            has_same_meaning(candidate, pattern, false, |translated| translated.anchored_at_start())
        })
        .ok_or_else(|| inexpressible_pattern_message(pattern))
}

fn inexpressible_pattern_message(pattern: &str) -> rulec::Message {
    message!("Python has no such regular expression as {}", quote_for_comment(pattern))
}

/// Returns Python expressions that may have the same meaning as `pattern`, in the order in which
/// they should be tried: the most natural first.
fn python_candidates(pattern: &str) -> Vec<String> {
    let end = pattern.strip_suffix(r"\n?$").map(|start| format!("{start}$"));
    let mut absolute = String::new();
    let (mut escaped, mut in_class) = (false, false);
    for c in pattern.chars() {
        match c {
            'z' if escaped => absolute.push('Z'),
            '$' if !escaped && !in_class => absolute.push_str(r"\Z"),
            c => absolute.push(c),
        }
        in_class = !escaped && c == '[' || in_class && (escaped || c != ']');
        escaped = c == '\\' && !escaped;
    }
    end.into_iter().chain([pattern.to_owned(), absolute]).collect()
}

/// True if the Python expression `candidate`, translated to the `regex` crate's syntax, means the
/// same as `pattern`. `written` converts the translation to the text that is compared with
/// `pattern`, for example by adding an anchor.
fn has_same_meaning(
    candidate: &str,
    pattern: &str,
    ignore_case: bool,
    written: impl Fn(TranslatedPattern) -> String,
) -> bool {
    let parse = |text: &str| regex_syntax::ParserBuilder::new().build().parse(text).ok();
    let Ok(translated) = translate(candidate, ignore_case) else { return false };
    let translated = written(translated);
    translated == pattern || parse(&translated).is_some_and(|tree| parse(pattern) == Some(tree))
}
