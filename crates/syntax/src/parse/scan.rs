//! Checks that need only the tokens of a file. They find deceptive or invalid characters, unclosed
//! strings, syntax of other languages, and nesting that would exhaust the stack.

mod contractions;
mod quotes;
mod substitutions;

use super::splitter::MAX_BRACKET_DEPTH;
use super::stream::SignificantToken;
use super::{foreign, unknown};
use crate::lex::{Token, TokenKind};
use quotes::{FlowTracker, prose_line_error, unclosed_string_error, wrong_quotes_error};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_base::text::invisible::{invisible_runs, is_default_ignorable};
use rulec_base::text::to_one_line;
use std::collections::HashSet;
pub(super) use substitutions::floor_divisions;
use unicode_security::{MixedScript, RestrictionLevel, RestrictionLevelDetection};

/// Maximum number of stray characters (characters that no statement allows) that are reported. A
/// file with more is probably not text.
const MAX_REPORTED_STRAY_CHARACTERS: usize = 50;

pub(super) struct CharacterChecker<'d, 'a> {
    file: FileId,
    diagnostics: &'d mut Vec<Diagnostic>,
    /// The names with non-ASCII characters that were already checked. Each name is checked once.
    checked_names: HashSet<&'a str>,
    stray_count: usize,
    text: &'a str,
    flow_tracker: FlowTracker,
}

impl<'d, 'a> CharacterChecker<'d, 'a> {
    pub(super) fn new(file: FileId, text: &'a str, diagnostics: &'d mut Vec<Diagnostic>) -> Self {
        let flow_tracker = FlowTracker::default();
        CharacterChecker {
            file,
            diagnostics,
            checked_names: HashSet::new(),
            stray_count: 0,
            text,
            flow_tracker,
        }
    }

    /// Checks the next token of the file; `slice` is its text.
    pub(super) fn check_token(&mut self, token: Token, slice: &'a str) {
        use TokenKind::{
            Comment, DocComment, Quoted, RawString, SingleQuoted, SlashComment, SmartQuoted, Stray, String,
            UnclosedRaw, UnclosedString, Word,
        };
        let (file, span, diagnostics) = (self.file, token.span(self.file), &mut *self.diagnostics);
        match token.kind {
            Stray => {
                self.stray_count += 1;
                if self.stray_count <= MAX_REPORTED_STRAY_CHARACTERS {
                    let is_heading =
                        !slice.is_ascii() && unknown::is_heading(self.text, token.start as usize);
                    let diagnostic = match is_heading {
                        true => prose_line_error(span, self.text),
                        false => stray_character_error(span, slice, self.text),
                    };
                    // A regular expression between slashes has several stray characters.
                    if diagnostics.last().is_none_or(|last| last.span() != diagnostic.span()) {
                        diagnostics.push(diagnostic);
                    }
                }
            }
            UnclosedString | UnclosedRaw => {
                check_bidi(token, file, slice, Code::BidiInString, diagnostics);
                diagnostics.push(unclosed_string_error(token, span, slice, self.text));
            }
            SingleQuoted | SmartQuoted => {
                // The apostrophes of two negations on a line look like the quotes of a text.
                let apostrophe = slice.chars().next().filter(|c| matches!(c, '\'' | '’'));
                let negation = apostrophe.and_then(|c| {
                    let apostrophe = Span { end: span.start + c.len_utf8() as u32, ..span };
                    contractions::negation_error(self.text, apostrophe)
                });
                let is_in_flow = self.flow_tracker.is_in_flow(self.text, token.start as usize);
                diagnostics
                    .push(negation.unwrap_or_else(|| wrong_quotes_error(span, slice, self.text, is_in_flow)));
            }
            // In `https://example.com`, the parser reports the whole address.
            SlashComment if self.text[..token.start as usize].ends_with(':') => {}
            SlashComment => {
                let slashes_span = Span { end: span.start + 2, ..span };
                let comment =
                    || foreign::foreign_syntax_error(slashes_span, message!("comments start with `#`"), "#");
                let division = substitutions::floor_division_error(self.text, slashes_span);
                diagnostics.push(division.unwrap_or_else(comment));
                check_bidi(token, file, slice, Code::BidiControl, diagnostics);
            }
            String | RawString => {
                check_bidi(token, file, slice, Code::BidiInString, diagnostics);
                check_invisible(span, slice, diagnostics);
            }
            Comment | DocComment => check_bidi(token, file, slice, Code::BidiControl, diagnostics),
            Word | Quoted if !slice.is_ascii() => {
                check_bidi(token, file, slice, Code::BidiControl, diagnostics);
                check_invisible(span, slice, diagnostics);
                if self.checked_names.insert(slice) {
                    check_mixed_scripts(span, slice, diagnostics);
                }
            }
            _ => {}
        }
    }
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns the code point of a character in Unicode notation, such as `U+200B`, for messages.
fn format_code_point(c: char) -> String {
    format!("U+{:04X}", c as u32)
}

fn check_bidi(token: Token, file: FileId, slice: &str, code: Code, diagnostics: &mut Vec<Diagnostic>) {
    if slice.is_ascii() {
        return;
    }
    if let Some((offset, c)) = slice.char_indices().find(|(_, c)| is_bidi_control(*c)) {
        let start = token.start as usize + offset;
        let (message, help) = match code {
            Code::BidiInString => (
                message!(
                    "the invisible character {} in a string changes the display order of the text",
                    format_code_point(c)
                ),
                message!(
                    "if this is intended, write `{}`",
                    c.escape_unicode().to_string().to_uppercase().replacen('U', "u", 1)
                ),
            ),
            _ => (
                message!(
                    "the invisible character {} outside a string changes the display order of the text",
                    format_code_point(c)
                ),
                message!("remove the character: with it, the text looks different from the compiled text"),
            ),
        };
        diagnostics
            .push(Diagnostic::new(code, Span::new(file, start, start + c.len_utf8()), message).help(help));
    }
}

/// Warns about invisible characters in a string or a name. The characters that change the display
/// order have warnings of their own.
fn check_invisible(token: Span, slice: &str, diagnostics: &mut Vec<Diagnostic>) {
    for run in invisible_runs(slice) {
        if slice[run.clone()].contains(is_bidi_control) {
            continue;
        }
        let points: Vec<_> = slice[run.clone()].chars().map(format_code_point).collect();
        let start = token.start as usize + run.start;
        let span = Span::new(token.file, start, start + run.len());
        let message = message!(
            "`{}` contains the invisible character {}",
            to_one_line(slice.trim_matches(['"', '`'])),
            points.join(" ")
        );
        let help = message!(
            "remove the character; if it is intended, write it as an escape, or ignore such characters by \
            `settings {{ normalize: nfkc }}`"
        );
        diagnostics.push(Diagnostic::new(Code::InvisibleCharacter, span, message).help(help).fix(span, ""));
    }
}

/// Returns the ASCII text meant by a full-width or typographic character. `None` for any other
/// character.
pub(super) fn ascii_equivalent(c: char) -> Option<&'static str> {
    Some(match c {
        '（' => "(",
        '）' => ")",
        '［' | '【' => "[",
        '］' | '】' => "]",
        '｛' => "{",
        '｝' => "}",
        '，' | '、' => ",",
        '：' => ":",
        '；' => ";",
        '。' | '．' => ".",
        '＝' => "=",
        '＜' => "<",
        '＞' => ">",
        '！' => "!",
        '？' => "?",
        '＋' => "+",
        '－' | '−' | '–' | '—' => "-",
        '＊' | '×' => "*",
        '／' | '÷' => "/",
        '％' => "%",
        '～' | '〜' => "..=",
        '｜' | '∣' | '│' | '¦' => "|",
        '＠' => "@",
        '＃' => "#",
        '≥' => ">=",
        '≤' => "<=",
        '≠' => "!=",
        '“' | '”' | '„' | '«' | '»' | '「' | '」' | '＂' | '‘' | '’' | '\'' => "\"",
        _ => return None,
    })
}

/// Converts a full-width digit to ASCII. Any other character must be a decimal point, and becomes
/// `.`.
fn to_ascii_digit(c: char) -> char {
    match c {
        '０'..='９' => char::from(b'0' + (c as u32 - '０' as u32) as u8),
        _ => '.',
    }
}

fn stray_character_error(span: Span, slice: &str, text: &str) -> Diagnostic {
    let c = slice.chars().next().unwrap_or('\0');
    if is_bidi_control(c) {
        let message = message!(
            "the invisible character {} changes the display order of the text",
            format_code_point(c)
        );
        return Diagnostic::new(Code::BidiControl, span, message).help(message!(
            "remove the character: with it, the text looks different from the compiled text"
        ));
    }
    if ('０'..='９').contains(&c) {
        let ascii: String = slice.chars().map(to_ascii_digit).collect();
        let message = message!("`{slice}` is written in full-width digits");
        return Diagnostic::new(Code::StrayCharacter, span, message)
            .help(message!("write `{ascii}`"))
            .fix(span, ascii);
    }
    let meant = match c {
        '\'' | '’' => {
            contractions::negation_error(text, Span { end: span.start + c.len_utf8() as u32, ..span })
        }
        '\\' => contractions::regex_in_slashes_error(text, span),
        '$' => contractions::regex_in_slashes_error(text, span)
            .or_else(|| substitutions::substitution_error(text, span)),
        '，' | '、' => substitutions::grouped_number_error(text, span),
        _ => None,
    };
    if let Some(diagnostic) = meant {
        return diagnostic;
    }
    if let Some(ascii) = ascii_equivalent(c) {
        let message = message!("`{c}` is not the character `{ascii}`");
        let help = match c {
            '\'' if slice.starts_with("'t ") => {
                return Diagnostic::new(Code::StrayCharacter, span, message)
                    .help(message!("`not` comes before the operator: `x not contains \"a\"`"));
            }
            '\'' => {
                // Without a closing quote, the character reaches to the end of the line.
                let help = message!("write strings in double quotes, `\"`");
                return Diagnostic::new(Code::StrayCharacter, span, message).help(help);
            }
            _ => message!("write `{ascii}`"),
        };
        return Diagnostic::new(Code::StrayCharacter, span, message).help(help).fix(span, ascii);
    }
    let message = if c.is_control() || is_default_ignorable(c) {
        message!("the character {} is not allowed in a rules file", format_code_point(c))
    } else {
        message!("the character `{c}` is not allowed here")
    };
    let help = match c {
        '`' => message!("a quoted name needs its closing backquote on the same line"),
        '\0' => message!("save the file as UTF-8 text"),
        '$' | '€' | '£' | '¥' | '￥' => {
            let help = message!("write the name or the number without `{c}`");
            return Diagnostic::new(Code::StrayCharacter, span, message).help(help).fix(span, "");
        }
        _ if is_default_ignorable(c) => {
            let help = message!("remove the character, which no reader sees");
            return Diagnostic::new(Code::StrayCharacter, span, message).help(help).fix(span, "");
        }
        '\\' => message!("remove it: a statement can continue on the next line without a mark"),
        _ => message!("this character is allowed only in a string or a comment"),
    };
    Diagnostic::new(Code::StrayCharacter, span, message).help(help)
}

fn check_mixed_scripts(span: Span, name: &str, diagnostics: &mut Vec<Diagnostic>) {
    // Another warning reports invisible characters, which are no letters.
    let name: String = name.chars().filter(|c| !is_default_ignorable(*c)).collect();
    if name.detect_restriction_level() > RestrictionLevel::ModeratelyRestrictive {
        let foreign_letters: Vec<String> = name
            .chars()
            .filter(|c| !format!("a{c}").is_single_script())
            .take(3)
            .map(|c| format!("`{c}` (U+{:04X})", c as u32))
            .collect();
        diagnostics.push(
            Diagnostic::new(
                Code::MixedScript,
                span,
                message!("`{name}` mixes letters of different scripts that look alike"),
            )
            .help(message!("not Latin: {}", foreign_letters.join(", "))),
        );
    }
}

/// The markers that git writes into a file with a merge conflict, in order.
const CONFLICT_MARKS: [&str; 3] = ["<<<<<<<", "=======", ">>>>>>>"];

/// Returns the diagnostic for a merge conflict that was left in a file. `None` without a conflict.
pub(super) fn merge_conflict_error(
    file: FileId,
    text: &str,
    significant: &[SignificantToken],
) -> Option<Diagnostic> {
    // A marker counts only if it is a token, and not if it is inside a multi-line text.
    let is_token = |offset: usize| {
        let index = significant.partition_point(|item| (item.token.start as usize) < offset);
        significant.get(index).is_some_and(|item| item.token.start as usize == offset)
    };
    let find = |mark: &str, from: usize| {
        let mut places = memchr::memmem::find_iter(&text.as_bytes()[from..], mark).map(|at| from + at);
        let is_line_start = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
        let start = places.find(|at| is_line_start(at) && is_token(*at))?;
        let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        Some(Span::new(file, start, start + text[start..end].trim_end().len()))
    };
    let [ours, middle, theirs] = CONFLICT_MARKS;
    let first = find(ours, 0)?;
    let second = find(middle, first.end as usize)?;
    let third = find(theirs, second.end as usize)?;
    let message = message!("this file contains a merge conflict");
    let help = message!(
        "keep one of the two versions, and remove the lines that begin with `{ours}`, `{middle}` and `{theirs}`"
    );
    let diagnostic = Diagnostic::new(Code::Unexpected, first, message);
    let diagnostic = diagnostic.label(second, message!("the other version begins here"));
    Some(diagnostic.label(third, message!("the conflict ends here")).help(help))
}

/// Returns the first token that is nested deeper than [`MAX_BRACKET_DEPTH`]; `None` if there is
/// none. Brackets, consecutive `not` and `-`, quantifiers and `if` each add one level.
pub(super) fn find_too_deep(text: &str, significant: &[SignificantToken]) -> Option<Token> {
    // Each token opens at most one level, so a text with few tokens cannot exceed the limit.
    if significant.len() <= MAX_BRACKET_DEPTH {
        return None;
    }
    // For each open bracket: its level, and the numbers of open quantifiers and open types before
    // the bracket.
    let mut open_brackets: Vec<(usize, usize, usize)> = Vec::new();
    let (mut depth, mut quantifiers, mut types) = (0, 0, 0);
    // Number of consecutive prefix operators before the next operand.
    let mut prefix_count = 0;
    for (index, item) in significant.iter().enumerate() {
        let token = item.token;
        let previous = index.checked_sub(1).map(|previous| significant[previous].token);
        let before_text = previous.map_or("", |token| token.text(text));
        match token.kind {
            kind if kind.opens_bracket() => {
                let level = quantifiers + types + prefix_count + 1;
                open_brackets.push((level, quantifiers, types));
                depth += level;
                (quantifiers, types, prefix_count) = (0, 0, 0);
            }
            kind if kind.closes_bracket() => {
                let (level, outer_quantifiers, outer_types) = open_brackets.pop().unwrap_or_default();
                depth -= level;
                (quantifiers, types, prefix_count) = (outer_quantifiers, outer_types, 0);
            }
            TokenKind::Comma | TokenKind::Semicolon | TokenKind::Arrow => {
                (quantifiers, types, prefix_count) = (0, 0, 0)
            }
            TokenKind::Word => match token.text(text) {
                "not" => prefix_count += 1,
                "any" | "all" | "count" | "first" | "last" | "for" => {
                    let word_after_name = significant.get(index + 2).map(|item| item.token.text(text));
                    quantifiers += usize::from(word_after_name == Some("in")) + prefix_count;
                    prefix_count = 0;
                }
                // Like a quantifier, `if` extends to the end of the enclosing brackets.
                "if" if before_text != "." => {
                    quantifiers += 1 + prefix_count;
                    prefix_count = 0;
                }
                _ => prefix_count = 0,
            },
            TokenKind::Operator => match token.text(text) {
                "-" | "!"
                    if before_text == "not"
                        || !previous.is_some_and(|previous| previous.kind.ends_operand()) =>
                {
                    prefix_count += 1
                }
                "<" if matches!(before_text, "list" | "dict") => types += 1,
                ">" => (types, prefix_count) = (types.saturating_sub(1), 0),
                _ => prefix_count = 0,
            },
            _ => prefix_count = 0,
        }
        if depth + quantifiers + types + prefix_count > MAX_BRACKET_DEPTH {
            return Some(token);
        }
    }
    None
}
