//! Finds what an author means by text around a character that the language does not have: a
//! negation such as `doesn't contain`, or a regular expression between slashes.

use super::super::foreign;
use rulec_base::span::Span;
use rulec_lang::operators::Op;

/// Verbs of English to which `n't` is joined.
const VERBS: &[&str] = &[
    "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "won", "can", "couldn",
    "shouldn", "wouldn", "mustn",
];

/// Returns the span of a negation such as `doesn't contain`, and the operator that means the same.
/// `apostrophe` is the span of the apostrophe. `None` for other words.
pub(super) fn meant_test(text: &str, apostrophe: Span) -> Option<(Span, String)> {
    let before = &text[..apostrophe.start as usize];
    let start = before.trim_end_matches(char::is_alphabetic).len();
    if !VERBS.contains(&before[start..].to_lowercase().as_str()) {
        return None;
    }
    let line = text[apostrophe.start as usize + 1..].lines().next()?;
    let line = line.strip_prefix('t')?;
    // The words after the verb, each with the offset of its end in the line.
    let words: Vec<(String, usize)> = line
        .split_whitespace()
        .take(3)
        .map(|word| (word.to_lowercase(), word.as_ptr() as usize - line.as_ptr() as usize + word.len()))
        .collect();
    let word = |index: usize| words.get(index).map_or("", |(word, _)| word.as_str());
    let (meant, count): (String, usize) = match (word(0), word(1)) {
        (
            "exist" | "exists" | "set" | "defined" | "present" | "given" | "there" | "provided" | "known",
            _,
        ) => ("is missing".to_owned(), 1),
        ("have", "value") => ("is missing".to_owned(), 2),
        ("missing" | "absent" | "null" | "none" | "undefined" | "nil", _) => ("is present".to_owned(), 1),
        ("empty" | "blank", _) => ("!= \"\"".to_owned(), 1),
        ("start" | "begin", "with") => ("not starts_with".to_owned(), 2),
        ("end", "with") => ("not ends_with".to_owned(), 2),
        ("equal" | "equals", "to") => ("!=".to_owned(), 2),
        ("equal" | "equals", _) => ("!=".to_owned(), 1),
        ("greater" | "more", "than") => ("<=".to_owned(), 2),
        ("less" | "fewer", "than") => (">=".to_owned(), 2),
        (value, _) if value.starts_with(|c: char| c == '"' || c.is_ascii_digit()) => ("!=".to_owned(), 0),
        (verb, _) => {
            let operator =
                foreign::infix_operator(verb).or_else(|| foreign::infix_operator(&format!("{verb}s")));
            let spelling =
                operator.or_else(|| Op::from_spelling(verb).is_some_and(|op| op == Op::In).then_some("in"));
            (format!("not {}", spelling?), 1)
        }
    };
    let length = count.checked_sub(1).map_or(0, |last| words[last].1);
    let end = apostrophe.start + 2 + length as u32;
    Some((Span { start: start as u32, end, ..apostrophe }, meant))
}

/// Returns the span of a regular expression between slashes, as in `/order (\d+)/`, and the
/// expression in quotes. `backslash` is the span of a backslash inside it. `None` without slashes.
pub(super) fn regex_between_slashes(text: &str, backslash: Span) -> Option<(Span, String)> {
    let at = backslash.start as usize;
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let open = line_start + text[line_start..at].rfind('/')?;
    let before = text[line_start..open].trim_end();
    // A slash after a value divides it.
    let is_start = before.ends_with(['(', ',', '=', '[', '~', '>'])
        || before
            .rsplit(char::is_whitespace)
            .next()
            .is_some_and(|word| foreign::infix_operator(word).is_some());
    let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let mut escaped = false;
    let close = text[at..line_end].char_indices().find(|(_, c)| {
        let closes = *c == '/' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    })?;
    let close = at + close.0;
    let inner = text[open + 1..close].replace("\\/", "/");
    let flags = text[close + 1..].chars().take_while(char::is_ascii_alphabetic).count();
    if !is_start || inner.contains('"') {
        return None;
    }
    let mark = if text[close + 1..close + 1 + flags].contains('i') { "(?i)" } else { "" };
    let span = Span { start: open as u32, end: (close + 1 + flags) as u32, ..backslash };
    Some((span, format!("r\"{mark}{inner}\"")))
}
