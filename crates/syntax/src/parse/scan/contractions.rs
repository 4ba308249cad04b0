//! Recognizes English negations such as `doesn't contain`, by their apostrophe, and regular
//! expressions between slashes, by a backslash. The language has neither, so a diagnostic suggests
//! what the author probably means.

use super::super::foreign;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::{Negation, Op};

/// Verbs of English to which `n't` is joined.
const CONTRACTED_VERBS: &[&str] = &[
    "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "won", "can", "couldn",
    "shouldn", "wouldn", "mustn", "needn", "ain",
];

/// Maximum number of characters after a verb that are searched for the rest of the negation.
const MAX_NEGATION_CHARS: usize = 200;

/// Returns the diagnostic for a negation such as `doesn't contain`, with the operator that means
/// the same. `apostrophe` is the span of the apostrophe. `None` for other words.
pub(super) fn negation_error(text: &str, apostrophe: Span) -> Option<Diagnostic> {
    let (span, meant) = find_negation_meaning(text, apostrophe)?;
    let message = message!("`{}` is not an operator", &text[span.range()]);
    let diagnostic = Diagnostic::new(Code::StrayCharacter, span, message);
    Some(match meant {
        NegationMeaning::Operator(written) => {
            diagnostic.help(message!("write `{written}`")).fix(span, written)
        }
        NegationMeaning::Choice(help) => diagnostic.help(help),
    })
}

/// What an author means by a negation.
enum NegationMeaning {
    /// An operator or test of this language, which the help suggests instead of the negation.
    Operator(String),
    /// One of several tests may be meant; the help text names them.
    Choice(Message),
}

/// Returns the span of a negation, and what it means. `None` for other words.
fn find_negation_meaning(text: &str, apostrophe: Span) -> Option<(Span, NegationMeaning)> {
    let before = &text[..apostrophe.start as usize];
    let start = before.trim_end_matches(char::is_alphabetic).len();
    let verb = before[start..].to_lowercase();
    if !CONTRACTED_VERBS.contains(&verb.as_str()) {
        return None;
    }
    let (is_be, is_have) = (
        matches!(verb.as_str(), "isn" | "aren" | "wasn" | "weren"),
        matches!(verb.as_str(), "hasn" | "haven" | "hadn"),
    );
    let rest = &text[apostrophe.end as usize..];
    let mut chars = rest.char_indices();
    let line_end = chars.by_ref().take(MAX_NEGATION_CHARS).find(|(_, c)| *c == '\n').map(|(at, _)| at);
    let line = &rest[..line_end.unwrap_or_else(|| chars.offset())];
    let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')' | ']' | '}');
    let line = line.strip_prefix('t').filter(|line| line.is_empty() || line.starts_with(is_end))?;
    // The words after the verb, each with the offset of its end in the line.
    let words: Vec<(String, usize)> = line
        .split_whitespace()
        .take(6)
        .map(|word| {
            let start = word.as_ptr() as usize - line.as_ptr() as usize;
            let word = word.trim_end_matches(is_end);
            (word.to_lowercase(), start + word.len())
        })
        .collect();
    let word = |index: usize| words.get(index).map_or("", |(word, _)| word.as_str());
    let or_equal = if word(2) == "or" && word(3) == "equal" { 2 + usize::from(word(4) == "to") } else { 0 };
    let (written, count): (&str, usize) = match (word(0), word(1)) {
        (
            "exist" | "exists" | "set" | "defined" | "present" | "given" | "there" | "provided" | "known",
            _,
        ) => ("is missing", 1),
        ("have", "value") => ("is missing", 2),
        ("missing" | "absent" | "null" | "none" | "undefined" | "nil", _) => ("is present", 1),
        ("start" | "begin", "with") => ("not starts_with", 2),
        ("end", "with") => ("not ends_with", 2),
        ("one" | "any", "of") if is_be => ("not in", 2),
        ("equal" | "equals", "to") => ("!=", 2),
        ("equal" | "equals" | "==" | "eq", _) => ("!=", 1),
        ("greater" | "more", "than") if or_equal > 0 => ("<", 2 + or_equal),
        ("less" | "fewer", "than") if or_equal > 0 => (">", 2 + or_equal),
        ("greater" | "more", "than") => ("<=", 2),
        ("less" | "fewer", "than") => (">=", 2),
        (first, _) if is_be && is_constant(first) => ("!=", 0),
        (first, _) if is_have && is_constant(first) => ("not contains", 0),
        _ => ("", 0),
    };
    let (meant, count) = match word(0) {
        _ if !written.is_empty() => (NegationMeaning::Operator(written.to_owned()), count),
        empty @ ("empty" | "blank") if is_be => {
            (NegationMeaning::Choice(help_for_empty(&before[..start], empty)), 1)
        }
        verb => match write_negated_operator(verb) {
            Some(operator) => (NegationMeaning::Operator(operator), 1),
            None => (
                NegationMeaning::Choice(message!("`not` comes before the operator: `x not contains \"a\"`")),
                0,
            ),
        },
    };
    let length = count.checked_sub(1).map_or(0, |last| words[last].1);
    let end = apostrophe.end + 1 + length as u32;
    Some((Span { start: start as u32, end, ..apostrophe }, meant))
}

/// True for the first word of a constant, such as `"a"`, `-3` or `true`.
fn is_constant(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    matches!(word, "true" | "false")
        || word.starts_with(['"', '\'', '‘', '’', '“', '”'])
        || digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the negation of the operator that a verb names, such as `not contains` for `contain`.
/// `None` for other words.
fn write_negated_operator(verb: &str) -> Option<String> {
    let operator = foreign::meant_infix_operator(verb)
        .or_else(|| foreign::meant_infix_operator(&format!("{verb}s")))
        .or_else(|| (verb == "in").then_some("in"))?;
    match Op::from_spelling(operator)?.info().negation {
        Negation::Op(opposite) => Some(opposite.info().spelling.to_owned()),
        Negation::NotBefore => Some(format!("not {operator}")),
        _ => None,
    }
}

/// Returns the help text for `isn't empty` or `isn't blank`. `word` is `empty` or `blank`, and
/// `before` is the source text before `isn't`. For `empty`, the help names several tests, because
/// the right one depends on the type of the value.
fn help_for_empty(before: &str, word: &str) -> Message {
    let before = before.trim_end();
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let value = match &before[before.trim_end_matches(is_path).len()..] {
        path if path.starts_with(char::is_alphabetic) => path,
        _ => "x",
    };
    if word == "blank" {
        return message!("write `{written}`", written = format!("trim({value}) != \"\""));
    }
    let (missing, sign, length) = ("is present", "!=", "> 0");
    message!(
        "for a field that may be missing write `{value} {missing}`, for a text \
        `{value} {sign} \"\"`, for a list `len({value}) {length}`"
    )
}

/// Returns the diagnostic for a regular expression between slashes, as in `/order (\d+)/`.
/// `backslash` is the span of a backslash inside it. `None` without slashes.
///
/// The language has no such syntax: a text is a regular expression only after `matches`, and as the
/// pattern of `capture`.
pub(super) fn regex_in_slashes_error(text: &str, backslash: Span) -> Option<Diagnostic> {
    let at = backslash.start as usize;
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let open = line_start + opening_slash(&text[line_start..at])?;
    let before = text[line_start..open].trim_end();
    let word_start = before.rfind(char::is_whitespace).map_or(0, |end| end + 1);
    let operator = match &before[word_start..] {
        "=~" | "~" => Some("matches"),
        // A definition can name a pattern that a later `matches` uses.
        "=" if is_definition(&before[..word_start]) => Some("matches"),
        "=" | "!=" => Some("=="),
        word => foreign::meant_infix_operator(word),
    };
    let is_quantity = matches!(&before[word_start..], "any" | "all" | "none" | "word");
    // A slash after a value divides it.
    let begins_condition = matches!(&before[word_start..], "when" | "and" | "or" | "not" | "unless");
    if operator.is_none()
        && !is_quantity
        && !begins_condition
        && !before.ends_with(['(', ',', '=', '[', '~', '>', ':'])
    {
        return None;
    }
    let message = message!("a regular expression is not written between slashes");
    let Some((written, length)) = foreign::slashes_to_raw_string(&text[open..]) else {
        let line = text[at..].lines().next().unwrap_or_default();
        let span = Span { start: open as u32, end: (at + line.rfind('/')? + 1) as u32, ..backslash };
        return Some(Diagnostic::new(Code::StrayCharacter, span, message).help(REGEX_HELP));
    };
    let span = Span { start: open as u32, end: (open + length) as u32, ..backslash };
    let diagnostic = Diagnostic::new(Code::StrayCharacter, span, message);
    // `/refund/.test(text)`
    let call = text[open + length..].strip_prefix(".test(").and_then(|rest| rest.split_once(')'));
    let is_path = |path: &str| path.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    if let Some((value, _)) = call.filter(|(value, _)| !value.is_empty() && is_path(value)) {
        let whole = Span { end: span.end + (".test()".len() + value.len()) as u32, ..span };
        let written = format!("{value} matches {written}");
        let help = message!("write `{written}`", written = written.clone());
        return Some(diagnostic.help(help).likely_fix(whole, written));
    }
    let is_pattern = operator == Some("matches") || is_argument_of_capture(before);
    if is_pattern {
        return Some(diagnostic.help(message!("write `{written}`")).fix(span, written));
    }
    let meant = match (operator, &before[word_start..]) {
        (_, "!=") => "not matches",
        (Some("==" | "contains" | "like"), _) => "matches",
        _ => return Some(diagnostic.help(REGEX_HELP)),
    };
    let (written, whole) = (format!("{meant} {written}"), Span { start: word_start as u32, ..span });
    Some(diagnostic.help(message!("write `{written}`")).likely_fix(whole, written))
}

/// The help for a regular expression where the language does not accept one.
const REGEX_HELP: Message = message!("write a regular expression as a text: `x matches r\"…\"`");

/// True if `line`, a source line up to its `=`, begins a definition, such as `let p`, `list p` or
/// `route a when C where p`.
fn is_definition(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words.as_slice(), ["let" | "list", _] | [.., "where", _])
}

/// Returns the offset of the last slash in `line` that has no backslash directly before it. `None`
/// if there is no such slash.
fn opening_slash(line: &str) -> Option<usize> {
    line.rmatch_indices('/').map(|(at, _)| at).find(|at| !line[..*at].ends_with('\\'))
}

/// True if `before` ends after the first argument of `capture` and its comma. The second argument,
/// the pattern, follows.
fn is_argument_of_capture(before: &str) -> bool {
    let Some(arguments) = before.strip_suffix(',') else { return false };
    let mut depth = 0;
    let open = arguments.char_indices().rev().find(|(_, c)| {
        depth += match c {
            ')' | ']' => 1,
            '(' | '[' => -1,
            ',' if depth == 0 => return true,
            _ => 0,
        };
        depth < 0
    });
    open.is_some_and(|(at, _)| {
        arguments[at..].starts_with('(') && arguments[..at].trim_end().ends_with("capture")
    })
}
