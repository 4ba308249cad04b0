//! The findings about a file that its tokens alone show: characters that deceive or do not belong,
//! broken strings, habits from other languages, and nesting that would exhaust the stack.

use super::foreign;
use super::splitter::MAX_DEPTH;
use super::stream::Sig;
use crate::diag::{Code, Diagnostic};
use crate::span::{FileId, Span};
use crate::syntax::lex::{MAX_HASHES, Token, TokenKind};
use std::collections::HashSet;
use unicode_security::{RestrictionLevel, RestrictionLevelDetection};

/// Stray characters reported one by one; a file with more is probably not text.
const MAX_STRAYS: usize = 50;

pub(super) struct Characters<'d, 'a> {
    file: FileId,
    diagnostics: &'d mut Vec<Diagnostic>,
    /// The names outside ASCII seen so far.
    names: HashSet<&'a str>,
    strays: usize,
}

impl<'d, 'a> Characters<'d, 'a> {
    pub(super) fn new(file: FileId, diagnostics: &'d mut Vec<Diagnostic>) -> Self {
        Characters { file, diagnostics, names: HashSet::new(), strays: 0 }
    }

    /// Checks the next token, whose text is `slice`.
    pub(super) fn look(&mut self, token: Token, slice: &'a str) {
        use TokenKind::{
            Comment, DocComment, Quoted, RawString, SingleQuoted, SlashComment, SmartQuoted, Stray, String,
            UnclosedRaw, UnclosedString, Word,
        };
        let (file, span, diagnostics) = (self.file, token.span(self.file), &mut *self.diagnostics);
        match token.kind {
            Stray => {
                self.strays += 1;
                if self.strays <= MAX_STRAYS {
                    diagnostics.push(stray(span, slice));
                }
            }
            UnclosedString | UnclosedRaw => {
                bidi(token, file, slice, Code::BidiInString, diagnostics);
                diagnostics.push(unclosed_string(token, span, slice));
            }
            SingleQuoted | SmartQuoted => diagnostics.push(wrong_quotes(span, slice)),
            SlashComment => {
                let marks = Span { end: span.start + 2, ..span };
                diagnostics.push(foreign::syntax(marks, "comments start with `#`", "#"));
                bidi(token, file, slice, Code::BidiControl, diagnostics);
            }
            String | RawString => bidi(token, file, slice, Code::BidiInString, diagnostics),
            Comment | DocComment => bidi(token, file, slice, Code::BidiControl, diagnostics),
            Word | Quoted if !slice.is_ascii() => {
                bidi(token, file, slice, Code::BidiControl, diagnostics);
                if self.names.insert(slice) {
                    mixed_scripts(span, slice, diagnostics);
                }
            }
            _ => {}
        }
    }
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn bidi(token: Token, file: FileId, slice: &str, code: Code, diagnostics: &mut Vec<Diagnostic>) {
    if slice.is_ascii() {
        return;
    }
    if let Some((at, c)) = slice.char_indices().find(|(_, c)| is_bidi(*c)) {
        let start = token.start as usize + at;
        let (place, help) = match code {
            Code::BidiInString => ("in a string", format!("if it is meant, write `\\u{{{:X}}}`", c as u32)),
            _ => ("outside a string", "remove it: what is shown is not what is read".to_owned()),
        };
        let message =
            format!("the invisible character U+{:04X} {place} changes the order of the text", c as u32);
        diagnostics
            .push(Diagnostic::new(code, Span::new(file, start, start + c.len_utf8()), message).help(help));
    }
}

/// The ASCII character meant by a full-width or typographic one.
pub(super) fn ascii_for(c: char) -> Option<&'static str> {
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
        '＃' => "#",
        '≥' => ">=",
        '≤' => "<=",
        '≠' => "!=",
        '“' | '”' | '„' | '«' | '»' | '「' | '」' | '＂' | '‘' | '’' | '\'' => "\"",
        _ => return None,
    })
}

fn stray(span: Span, slice: &str) -> Diagnostic {
    let c = slice.chars().next().unwrap_or('\0');
    if is_bidi(c) {
        let message = format!("the invisible character U+{:04X} changes the order of the text", c as u32);
        return Diagnostic::new(Code::BidiControl, span, message)
            .help("remove it: what is shown is not what is read");
    }
    if let Some(ascii) = ascii_for(c) {
        let message = format!("`{c}` is not the character `{ascii}`");
        let help = match c {
            '\'' => "strings stand in double quotes, `\"`".to_owned(),
            _ => format!("write `{ascii}`"),
        };
        return Diagnostic::new(Code::StrayCharacter, span, message).help(help).fix(span, ascii);
    }
    let message = if c.is_control() || c == '\u{FEFF}' || c == '\u{200B}' {
        format!("the character U+{:04X} cannot stand in a rules file", c as u32)
    } else {
        format!("the character `{c}` cannot stand here")
    };
    let help = match c {
        '`' => "a quoted name needs its closing backquote on the same line",
        '\0' => "is this a text file?",
        '$' => "names are written plain, without `$`",
        '\\' => "a statement may go on on the next line as it is",
        _ => "it may stand in a string or a comment only",
    };
    Diagnostic::new(Code::StrayCharacter, span, message).help(help)
}

fn unclosed_string(token: Token, span: Span, slice: &str) -> Diagnostic {
    if token.kind == TokenKind::UnclosedRaw {
        let count = slice.find('"').unwrap_or(1) - 1;
        if count > MAX_HASHES {
            let message = format!("a raw string has at most {MAX_HASHES} `#` at its ends");
            return Diagnostic::new(Code::UnclosedString, span, message).help("use fewer of them");
        }
        let hashes = "#".repeat(count);
        return Diagnostic::new(Code::UnclosedString, span, "this raw string is not closed")
            .help(format!("a raw string may span lines and ends with `\"{hashes}`"));
    }
    let help = if slice.ends_with("\\\"") {
        "the backslash before the quote makes the quote part of the string; write `\\\\` for a backslash"
    } else {
        "close it with `\"` on the same line; for a line break within it write `\\n`"
    };
    Diagnostic::new(Code::UnclosedString, span, "this string is not closed").help(help)
}

fn wrong_quotes(span: Span, slice: &str) -> Diagnostic {
    let mut inner = slice.chars();
    inner.next();
    inner.next_back();
    let inner = inner.as_str();
    let diagnostic = Diagnostic::new(Code::Unexpected, span, "strings stand in straight double quotes");
    if inner.contains(['"', '\\']) {
        return diagnostic.help("write `\"…\"`");
    }
    let replacement = format!("\"{inner}\"");
    let short = inner.chars().count() <= 40;
    let help = if short { format!("write `{replacement}`") } else { "write `\"…\"`".to_owned() };
    diagnostic.help(help).fix(span, replacement)
}

fn mixed_scripts(span: Span, name: &str, diagnostics: &mut Vec<Diagnostic>) {
    if name.detect_restriction_level() > RestrictionLevel::ModeratelyRestrictive {
        let odd: Vec<String> = name
            .chars()
            .filter(|c| !c.is_ascii())
            .take(3)
            .map(|c| format!("`{c}` (U+{:04X})", c as u32))
            .collect();
        diagnostics.push(
            Diagnostic::new(
                Code::MixedScript,
                span,
                format!("`{name}` mixes letters of scripts that look alike"),
            )
            .help(format!("not Latin: {}", odd.join(", "))),
        );
    }
}

/// The token at which a statement is nested deeper than [`MAX_DEPTH`]: brackets, runs of `not` and
/// `-`, and quantifiers and `if` within each other add up, since each is a level of the tree.
pub(super) fn too_deep(text: &str, sigs: &[Sig]) -> Option<Token> {
    // A token opens one level at most.
    if sigs.len() <= MAX_DEPTH {
        return None;
    }
    // What was open around each open bracket: quantifiers, and `list<` or `dict<` of a type.
    let mut around: Vec<(usize, usize, usize)> = Vec::new();
    let (mut depth, mut quantifiers, mut types) = (0, 0, 0);
    // Prefixes in a row before the next operand.
    let mut run = 0;
    for (index, sig) in sigs.iter().enumerate() {
        let token = sig.token;
        let before = index.checked_sub(1).map(|before| sigs[before].token);
        let before_text = before.map_or("", |token| token.text(text));
        match token.kind {
            kind if kind.opens() => {
                let level = quantifiers + types + run + 1;
                around.push((level, quantifiers, types));
                depth += level;
                (quantifiers, types, run) = (0, 0, 0);
            }
            kind if kind.closes() => {
                let (level, outer_quantifiers, outer_types) = around.pop().unwrap_or_default();
                depth -= level;
                (quantifiers, types, run) = (outer_quantifiers, outer_types, 0);
            }
            TokenKind::Comma | TokenKind::Semicolon | TokenKind::Arrow => {
                (quantifiers, types, run) = (0, 0, 0)
            }
            TokenKind::Word => match token.text(text) {
                "not" => run += 1,
                "any" | "all" | "count" => {
                    let word = sigs.get(index + 2).map(|sig| sig.token.text(text));
                    quantifiers += usize::from(word == Some("in")) + run;
                    run = 0;
                }
                // It reaches as far as a quantifier.
                "if" if before_text != "." => {
                    quantifiers += 1 + run;
                    run = 0;
                }
                _ => run = 0,
            },
            TokenKind::Operator => match token.text(text) {
                "-" | "!"
                    if before_text == "not" || !before.is_some_and(|before| before.kind.ends_operand()) =>
                {
                    run += 1
                }
                "<" if matches!(before_text, "list" | "dict") => types += 1,
                ">" => (types, run) = (types.saturating_sub(1), 0),
                _ => run = 0,
            },
            _ => run = 0,
        }
        if depth + quantifiers + types + run > MAX_DEPTH {
            return Some(token);
        }
    }
    None
}
