//! Diagnostics as plain data: the mistake, its source spans, and the help text. This module prints
//! nothing. The command line renders diagnostics; editors and services read the data.

pub mod codes;
mod message;
mod render;

pub use codes::{Code, Language, Severity};
pub use message::{Arg, Argument, Message, comma_list, join_lines, list_alternatives, placeholder_names};
pub use render::{Renderer, visible_offset};

use crate::codec::impl_codec;
use crate::message;
use crate::source::SourceMap;
use crate::span::Span;
use std::ops::Range;

/// One error or warning about the rules that an author wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code of the error or warning, such as `E0203`. The code also determines the
    /// severity.
    pub code: Code,
    /// The mistake, as one lower-case sentence; names and code from the source text are in
    /// backticks.
    pub message: Message,
    /// The relevant source spans; the first is the primary span. Empty only if the diagnostic
    /// concerns no span, for example if a file cannot be read.
    pub labels: Vec<Label>,
    /// Help text: how to correct the mistake; `None` if this is not known.
    pub help: Option<Message>,
    /// Edits that would correct the mistake; empty if none is known.
    pub fixes: Vec<Fix>,
}

/// A span of source text that a diagnostic underlines, with a short explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The span of the source text to underline.
    pub span: Span,
    /// A few words of explanation next to the underlined text; may be empty.
    pub text: Message,
}

/// A change of the author's source text that would fix a mistake: one span is replaced by another
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The span of the source text that the edit replaces.
    pub span: Span,
    /// The text that takes the place of the replaced source text.
    pub replacement: String,
    /// How certain the edit is, and thus whether a tool may apply it without asking the user.
    pub applicability: Applicability,
}

/// How likely it is that a suggested edit of the source text is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applicability {
    /// The edit keeps the author's meaning; a tool may apply it without asking.
    MachineApplicable,
    /// The edit is a likely guess ("did you mean"); a tool must ask the user before it applies the
    /// edit.
    MaybeIncorrect,
}

impl Diagnostic {
    /// Creates a diagnostic with a code, a message, and the primary span, which is underlined.
    pub fn new(code: Code, span: Span, message: impl Into<Message>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            labels: vec![Label { span, text: Message::default() }],
            help: None,
            fixes: Vec::new(),
        }
    }

    /// Creates a diagnostic without a source span, for example about a file that cannot be read.
    pub fn without_place(code: Code, message: impl Into<Message>) -> Self {
        Diagnostic { code, message: message.into(), labels: Vec::new(), help: None, fixes: Vec::new() }
    }

    /// Sets the short explanation that is shown next to the primary span, the first label. Does
    /// nothing if there is no span.
    #[must_use]
    pub fn here(mut self, text: impl Into<Message>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Adds another source span to underline, with a short explanation that is shown next to it.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<Message>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// If `declaration` is a span, adds it as a label with the text "declared here".
    #[must_use]
    #[doc(hidden)]
    pub fn label_declaration(self, declaration: Option<Span>) -> Self {
        match declaration {
            Some(declaration) => self.label(declaration, message!("declared here")),
            None => self,
        }
    }

    /// Sets the help text, which explains how to correct the mistake.
    #[must_use]
    pub fn help(mut self, help: impl Into<Message>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// If there is a `candidate`, suggests it as a likely replacement of the span, in the help text
    /// and as a fix.
    #[must_use]
    pub fn did_you_mean(mut self, span: Span, candidate: Option<&str>) -> Self {
        if let Some(candidate) = candidate {
            self.help = Some(message!("did you mean `{candidate}`?"));
            self = self.likely_fix(span, candidate);
        }
        self
    }

    /// If there is a `near` spelling from [`nearest`], suggests it as a replacement of the span.
    /// Otherwise sets the help text to `help`.
    #[must_use]
    #[doc(hidden)]
    pub fn suggest_or_help(self, span: Span, near: Option<&str>, help: impl Into<Message>) -> Self {
        match near {
            None => self.help(help),
            near => self.did_you_mean(span, near),
        }
    }

    /// Adds an edit that replaces `span` by `replacement`. A tool may apply the edit without asking
    /// the user, because it certainly keeps the author's meaning.
    #[must_use]
    #[doc(hidden)]
    pub fn fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.with_fix(span, replacement.into(), Applicability::MachineApplicable)
    }

    /// If `is_certain` is true, marks all edits added so far as safe to apply without asking the
    /// user.
    #[must_use]
    #[doc(hidden)]
    pub fn mark_fixes_certain_if(mut self, is_certain: bool) -> Self {
        if is_certain {
            self.fixes.iter_mut().for_each(|fix| fix.applicability = Applicability::MachineApplicable);
        }
        self
    }

    /// Adds an edit that replaces `span` by `replacement`, which the author probably meant. A tool
    /// must ask the user before it applies the edit.
    #[must_use]
    #[doc(hidden)]
    pub fn likely_fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.with_fix(span, replacement.into(), Applicability::MaybeIncorrect)
    }

    fn with_fix(mut self, span: Span, replacement: String, applicability: Applicability) -> Self {
        self.fixes.push(Fix { span, replacement, applicability });
        self
    }

    /// Returns the diagnostic with its message, labels and help text in `language`.
    #[must_use]
    pub fn localized(&self, language: Language) -> Diagnostic {
        let translate = |message: &Message| message.in_language(language);
        let label = |label: &Label| Label { span: label.span, text: translate(&label.text) };
        Diagnostic {
            message: translate(&self.message),
            labels: self.labels.iter().map(label).collect(),
            help: self.help.as_ref().map(translate),
            ..self.clone()
        }
    }

    /// Returns whether the diagnostic is an error or a warning, which depends only on its code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// True if the diagnostic is an error, so that the rules do not compile. False for a warning.
    pub fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }

    /// Returns the source span that the diagnostic is about; `None` if it concerns no span.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// Renders the diagnostic as plain text with the source lines underlined. [`Renderer`] also
    /// supports colours and other file names.
    pub fn render(&self, sources: &SourceMap) -> String {
        let name = |file| sources.get(file).map_or_else(String::new, |file| file.name.clone());
        Renderer { sources, color: false, language: Language::English, name: &name }.render(self)
    }
}

/// Returns the candidate nearest to `name` in spelling, which the author probably meant. `None` if
/// no candidate is near enough for a likely typing error.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let letters = letters_and_digits_in_lowercase(name);
    // A one-letter name is near every other one-letter name, so it gets no suggestion.
    let max_distance = match length {
        0 | 1 => return None,
        2 => 1,
        _ => (length / 3).max(1) + usize::from(length > 4),
    };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| {
            let distance = strsim::osa_distance(name, candidate);
            let is_near = distance <= max_distance
                && distance < candidate.chars().count().max(2)
                && is_near_without_common_words(name, candidate, distance);
            let is_same = || {
                candidate.len().abs_diff(name.len()) <= length
                    && letters_and_digits_in_lowercase(candidate) == letters
            };
            match is_near {
                true => Some((distance, candidate)),
                // A spelling such as `MAX_LEN` or `maxLen` for `max_len` is no typing error.
                false => is_same().then_some((0, candidate)),
            }
        })
        .min_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)))
        .map(|(_, candidate)| candidate)
}

/// Sorts candidates for a misspelt name by the number of typing errors, the nearest first. Removes
/// candidates with at least two errors more than the nearest. Two letters in the wrong order count
/// as one error.
pub fn sort_by_spelling(name: &str, candidates: &mut Vec<String>) {
    let distance = |candidate: &String| strsim::osa_distance(name, candidate);
    candidates.sort_by_cached_key(distance);
    let Some(least) = candidates.first().map(distance) else { return };
    candidates.retain(|candidate| distance(candidate) < least + 2);
}

/// Returns the letters and digits of a name in lower case. So `GREETINGS` equals `greetings`, and
/// `maxLen` equals `max_len`.
fn letters_and_digits_in_lowercase(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// True if two names are also similar without the words with which both begin. So `choice_timeout`
/// is not near `choice_tool`, and `Asia/Beijing` is not near `Asia/Beirut`. `distance` is the
/// number of edits that turn one name into the other.
fn is_near_without_common_words(name: &str, candidate: &str, distance: usize) -> bool {
    let common = name.char_indices().zip(candidate.chars()).take_while(|((_, a), b)| a == b);
    let words = common.filter(|((_, c), _)| matches!(c, '_' | '/' | '.' | '-')).last();
    let Some(((end, _), _)) = words else { return true };
    let (rest, other) = (&name[end + 1..], &candidate[end + 1..]);
    let shorter = rest.chars().count().min(other.chars().count());
    // Both rests are as far apart as the names, because they differ only there.
    let is_longer_form = shorter > 0 && (rest.starts_with(other) || other.starts_with(rest));
    is_longer_form || distance <= (shorter / 2).max(1)
}

/// True if one of two different names is probably the other with a typing error. False for names
/// that differ only in digits or in a plural `s`, and for very short names.
pub fn is_typing_error(name: &str, other: &str) -> bool {
    const MIN_NAME_CHARS: usize = 4;
    const MIN_NAME_CHARS_FOR_TWO_ERRORS: usize = 9;
    let length = name.chars().count().min(other.chars().count());
    let max_distance = 1 + usize::from(length >= MIN_NAME_CHARS_FOR_TWO_ERRORS);
    let without_digits = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let is_plural = |one: &str, many: &str| many.strip_suffix('s') == Some(one);
    length >= MIN_NAME_CHARS
        && name.len().abs_diff(other.len()) <= 4 * max_distance
        && strsim::osa_distance(name, other) <= max_distance
        && without_digits(name) != without_digits(other)
        && !is_plural(name, other)
        && !is_plural(other, name)
}

/// True if exactly one candidate differs from `name` by one typing error: a letter too many, a
/// letter too few, another letter, or two letters in the wrong order. False for names of at most
/// two characters.
pub fn has_one_near_candidate<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> bool {
    let mut close = candidates.into_iter().filter(|candidate| strsim::osa_distance(name, candidate) == 1);
    name.chars().count() > 2 && close.next().is_some() && close.next().is_none()
}

/// Adds spaces around a replacement where it would merge with a neighbouring word: `a&&b` becomes
/// `a and b`. The replacement takes the place of the bytes `range` of `text`.
#[doc(hidden)]
pub fn pad_replacement(text: &str, range: Range<usize>, replacement: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (preceding, following) = (text[..range.start].chars().next_back(), text[range.end..].chars().next());
    let space_before = replacement.starts_with(|c| is_word(c) || c == '"') && preceding.is_some_and(is_word);
    let space_after = replacement.ends_with(is_word) && following.is_some_and(is_word);
    format!("{}{replacement}{}", if space_before { " " } else { "" }, if space_after { " " } else { "" })
}

impl_codec!(struct Diagnostic { code, message, labels, help, fixes });
impl_codec!(struct Label { span, text });
impl_codec!(struct Fix { span, replacement, applicability });
impl_codec!(enum Applicability { 0 MachineApplicable, 1 MaybeIncorrect });

#[cfg(test)]
mod tests {
    use super::{has_one_near_candidate, is_typing_error, nearest, pad_replacement, sort_by_spelling};

    #[test]
    fn typing_errors_are_recognized() {
        for (name, other) in [("teir", "tier"), ("messge", "message"), ("mesage_cuont", "message_count")] {
            assert!(is_typing_error(name, other) && is_typing_error(other, name), "{name} {other}");
        }
        for (name, other) in [
            ("tier", "tier"),
            ("item", "items"),
            ("line1", "line2"),
            ("age", "ago"),
            ("price", "prize_won"),
            ("in_time", "to_time"),
        ] {
            assert!(!is_typing_error(name, other) && !is_typing_error(other, name), "{name} {other}");
        }
    }

    #[test]
    fn a_single_slip_fits_one_candidate() {
        assert!(has_one_near_candidate("teir", ["tier", "total"]));
        assert!(has_one_near_candidate("ruote", ["route", "router"]));
        assert!(!has_one_near_candidate("tie", ["tier", "ties"]));
        assert!(!has_one_near_candidate("ab", ["abc"]));
        assert!(!has_one_near_candidate("tiger", ["total"]));
    }

    #[test]
    fn candidates_are_sorted_by_typing_errors() {
        let check = |name: &str, candidates: &[&str], expected: &[&str]| {
            let mut sorted: Vec<String> = candidates.iter().map(|name| (*name).to_owned()).collect();
            sort_by_spelling(name, &mut sorted);
            assert_eq!(sorted, expected, "{name}");
        };
        check("chek", &["schema", "check"], &["check"]);
        // Two letters in the wrong order are one error.
        check("cehck", &["explain", "check"], &["check"]);
        check("tets", &["text", "test", "resting"], &["test", "text"]);
        check("x", &[], &[]);
    }

    #[test]
    fn nearest_finds_only_names_with_typing_errors() {
        let names = ["message_count", "user", "last_error"];
        let check = |name: &str, expected: Option<&str>| assert_eq!(nearest(name, names), expected, "{name}");
        check("mesage_count", Some("message_count"));
        check("usr", Some("user"));
        check("lasterror", Some("last_error"));
        check("zebra", None);
        check("u", None);
        // Other languages write the same name in capital letters, or in camel case.
        check("MESSAGE_COUNT", Some("message_count"));
        check("MessageCount", Some("message_count"));
        check("USER", Some("user"));
        check("U", None);
    }

    /// Regression test: `x&&y` became the name `xandy`, which compiled.
    #[test]
    fn a_replacement_does_not_grow_together_with_its_neighbours() {
        assert_eq!(pad_replacement("x&&y", 1..3, "and"), " and ");
        assert_eq!(pad_replacement("x && y", 2..4, "and"), "and");
        assert_eq!(pad_replacement("!x", 0..1, "not"), "not ");
        assert_eq!(pad_replacement("r'x'", 1..4, "\"x\""), " \"x\"");
        assert_eq!(pad_replacement("a=>b", 1..3, "->"), "->");
    }
}
