//! Translates Python's regular expressions (module `re`, on text) to the syntax of the `regex`
//! crate.
//!
//! Most of the syntax is common, but some expressions have another meaning in Python:
//!
//! - `$` also matches before a final line break.
//! - `[[a]` is a class of two characters.
//! - `{` may be a literal.
//! - `\Z` matches at the end of the text, like the crate's `\z`.
//!
//! Features that the crate lacks are refused: look-around, back-references, possessive quantifiers
//! and atomic groups. Expressions that Python refuses are refused too.
//!
//! Two Unicode differences remain. `\w` of the crate includes combining marks, and excludes numbers
//! such as `²`. `\s` of the crate excludes the information separators U+001C to U+001F.

mod class;

use super::located::{JsonNode, ReadResult};
use super::write::{is_name, quote_for_comment};
use rulec::Message;
use rulec_base::message;
use std::iter::Peekable;
use std::str::Chars;

/// Maximum nesting of groups, which limits the use of the stack.
const MAX_GROUP_DEPTH: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TranslatedPattern {
    /// The translated expression, in the syntax of the `regex` crate.
    pub(super) text: String,
    /// Whether the expression has a `|` outside all groups.
    pub(super) has_alternatives: bool,
    /// Whether the expression can match only at the start of the text.
    pub(super) is_anchored: bool,
}

impl TranslatedPattern {
    /// Returns an expression that matches only at the start of a text, like Python's `re.match`.
    pub(super) fn anchored_at_start(&self) -> String {
        match self {
            TranslatedPattern { has_alternatives: true, text, .. } => format!("^(?:{text})"),
            TranslatedPattern { is_anchored: true, text, .. } => text.clone(),
            TranslatedPattern { text, .. } => format!("^{text}"),
        }
    }
}

/// Reason why a Python expression was not translated, phrased as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub(super) enum TranslateError {
    /// The expression is invalid in Python too.
    Invalid(Message),
    /// The expression is valid in Python, but the `regex` crate lacks the feature.
    Unsupported(Message),
}

impl TranslateError {
    /// Returns this error as a localized message.
    pub(super) fn to_message(&self) -> Message {
        match self {
            TranslateError::Invalid(why) | TranslateError::Unsupported(why) => why.clone(),
        }
    }
}

/// Reads a JSON string as a regular expression of Python and translates it. `what` names the
/// expression in an error. `ignore_case` says whether a search for the expression ignores case.
pub(super) fn read_regex(
    node: &JsonNode<'_>,
    what: &Message,
    ignore_case: bool,
) -> ReadResult<TranslatedPattern> {
    let pattern = node.as_text()?;
    translate(pattern, ignore_case).or_else(|error| {
        node.refuse(message!(
            "{what} {} cannot be translated: {}",
            quote_for_comment(pattern),
            error.to_message()
        ))
    })
}

/// Translates an expression and checks that the result compiles. `ignore_case` says whether a
/// search for the expression will ignore case. It affects only the check, because an expression
/// that ignores case is larger when it is compiled.
///
/// # Errors
/// Returns an error if the expression is invalid or uses an unsupported feature.
pub(super) fn translate(pattern: &str, ignore_case: bool) -> Result<TranslatedPattern, TranslateError> {
    let mut reader = RegexTranslator {
        chars: pattern.chars().peekable(),
        translated: String::new(),
        flags: RegexFlags::default(),
        group_depth: 0,
        has_read_item: false,
        has_alternatives: false,
        is_anchored: false,
    };
    reader.translate_alternatives()?;
    if reader.chars.next().is_some() {
        return invalid_pattern(message!("it has a `)` without a `(`"));
    }
    let RegexTranslator { translated: text, has_alternatives, is_anchored, .. } = reader;
    match rulec_base::text::compile_regex(&text, ignore_case) {
        Ok(_) => Ok(TranslatedPattern { text, has_alternatives, is_anchored }),
        Err(regex::Error::CompiledTooBig(_)) => {
            unsupported_pattern(message!("it is too large when compiled"))
        }
        Err(error) => {
            let message = error.to_string();
            // The crate's message exists in English only.
            let last = message.lines().last().unwrap_or_default();
            unsupported_pattern(Message::verbatim(last.trim_start_matches("error: ")))
        }
    }
}

/// The regular expression flags that affect parsing, with their values at the current position of
/// the parser.
#[derive(Clone, Copy, Default)]
struct RegexFlags {
    is_multiline: bool,
    is_verbose: bool,
    is_ascii: bool,
}

/// The element (such as a character or a group) directly before the current position. A quantifier
/// such as `*` at this position would repeat the element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastItem {
    /// Before the current position is nothing that a quantifier can repeat.
    Nothing,
    /// An element of the regular expression without a quantifier.
    Item,
    /// An element of the regular expression that already has a quantifier.
    Repeated,
}

struct RegexTranslator<'p> {
    chars: Peekable<Chars<'p>>,
    translated: String,
    flags: RegexFlags,
    group_depth: usize,
    /// Whether an element (such as a character or a group) has been read. After the first element,
    /// flags for the whole expression are an error.
    has_read_item: bool,
    has_alternatives: bool,
    is_anchored: bool,
}

type TranslateResult<T = ()> = Result<T, TranslateError>;

fn invalid_pattern<T>(message: Message) -> TranslateResult<T> {
    Err(TranslateError::Invalid(message))
}

fn unsupported_pattern<T>(message: Message) -> TranslateResult<T> {
    Err(TranslateError::Unsupported(message))
}

impl RegexTranslator<'_> {
    fn eat_char(&mut self, expected: char) -> bool {
        self.chars.next_if_eq(&expected).is_some()
    }

    fn take_while(&mut self, predicate: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(c) = self.chars.next_if(|c| predicate(*c)) {
            text.push(c);
        }
        text
    }

    /// Reads and translates alternatives separated by `|`, up to the closing `)` of the group or to
    /// the end of the expression.
    fn translate_alternatives(&mut self) -> TranslateResult {
        let mut last = LastItem::Nothing;
        while let Some(&c) = self.chars.peek() {
            if c == ')' {
                break;
            }
            self.chars.next();
            if self.flags.is_verbose && (c.is_ascii_whitespace() || c == '#') {
                if c == '#' {
                    self.take_while(|c| c != '\n');
                }
                continue;
            }
            last = match c {
                '|' => {
                    self.has_alternatives |= self.group_depth == 0;
                    self.translated.push('|');
                    LastItem::Nothing
                }
                '*' | '+' | '?' => self.translate_quantifier(&c.to_string(), last)?,
                '{' => match self.translate_repetition_bounds()? {
                    Some(bounds) => self.translate_quantifier(&bounds, last)?,
                    None => {
                        self.translated.push_str("\\{");
                        LastItem::Item
                    }
                },
                '^' => {
                    self.is_anchored |=
                        !self.has_read_item && self.group_depth == 0 && !self.flags.is_multiline;
                    self.translated.push('^');
                    LastItem::Nothing
                }
                '$' => {
                    self.translated.push_str(if self.flags.is_multiline { "$" } else { r"\n?$" });
                    LastItem::Nothing
                }
                '.' => {
                    self.translated.push('.');
                    LastItem::Item
                }
                '[' => self.translate_class()?,
                '(' => self.translate_group(last)?,
                '\\' => self.translate_escape()?,
                c => self.write_literal_char(c),
            };
            self.has_read_item = true;
        }
        Ok(())
    }

    fn translate_quantifier(&mut self, quantifier: &str, last: LastItem) -> TranslateResult<LastItem> {
        match last {
            LastItem::Nothing => return invalid_pattern(message!("`{quantifier}` has nothing to repeat")),
            LastItem::Repeated => return invalid_pattern(message!("`{quantifier}` repeats a repetition")),
            LastItem::Item => {}
        }
        self.translated.push_str(quantifier);
        if self.eat_char('?') {
            self.translated.push('?');
        } else if self.chars.peek() == Some(&'+') {
            return unsupported_pattern(message!("the possessive `{quantifier}+` is not supported"));
        }
        Ok(LastItem::Repeated)
    }

    /// Reads the rest of a quantifier after `{` and returns it in the crate's syntax; `None` if the
    /// brace is a literal.
    fn translate_repetition_bounds(&mut self) -> TranslateResult<Option<String>> {
        let mut lookahead = RegexTranslator { translated: String::new(), chars: self.chars.clone(), ..*self };
        let low = lookahead.take_while(|c| c.is_ascii_digit());
        let comma = lookahead.eat_char(',');
        let high = if comma { lookahead.take_while(|c| c.is_ascii_digit()) } else { low.clone() };
        if !lookahead.eat_char('}') || (low.is_empty() && !comma) {
            return Ok(None);
        }
        self.chars = lookahead.chars;
        let number = |digits: &str| {
            let number = digits.parse::<u32>();
            number.map_err(|_| {
                TranslateError::Unsupported(message!("the repetition count `{{{digits}}}` is too large"))
            })
        };
        if !low.is_empty() && !high.is_empty() && number(&low)? > number(&high)? {
            return invalid_pattern(message!("`{{{low},{high}}}` has its bounds in the wrong order"));
        }
        let low = if low.is_empty() { "0".to_owned() } else { low };
        Ok(Some(match comma {
            true => format!("{{{low},{high}}}"),
            false => format!("{{{low}}}"),
        }))
    }

    /// Translates the rest of a group after `(`. `last` is the element before the group. It is
    /// returned unchanged if the group is a comment, because a comment is no element.
    fn translate_group(&mut self, last: LastItem) -> TranslateResult<LastItem> {
        let outer_flags = self.flags;
        if !self.eat_char('?') {
            self.translated.push('(');
            return self.translate_group_content(outer_flags);
        }
        match self.chars.next() {
            Some(':') => self.translated.push_str("(?:"),
            Some('#') => {
                self.take_while(|c| c != ')');
                return if self.eat_char(')') {
                    Ok(last)
                } else {
                    invalid_pattern(message!("a comment is not closed"))
                };
            }
            Some('P') => match self.chars.next() {
                Some('<') => {
                    let name = self.take_while(|c| c != '>');
                    if !self.eat_char('>') || !is_name(&name) {
                        return invalid_pattern(message!("`{name}` is not a valid name for a group"));
                    }
                    self.translated.push_str(&format!("(?P<{name}>"));
                }
                Some('=') => return unsupported_pattern(message!("back-references are not supported")),
                _ => return invalid_pattern(message!("it has an unknown group syntax `(?P`")),
            },
            Some('=' | '!') => return unsupported_pattern(message!("look-around is not supported")),
            Some('<') if matches!(self.chars.peek(), Some('=' | '!')) => {
                return unsupported_pattern(message!("look-around is not supported"));
            }
            Some('>') => return unsupported_pattern(message!("atomic groups are not supported")),
            Some('(') => return unsupported_pattern(message!("conditional groups are not supported")),
            Some(c) if c.is_ascii_alphabetic() || c == '-' => return self.translate_flags(c, outer_flags),
            _ => return invalid_pattern(message!("it has an unknown group syntax `(?`")),
        }
        self.translate_group_content(outer_flags)
    }

    /// Translates the content and the end of a group. `outer_flags` are the flags before the group.
    /// They apply again after the group, because flags that are set inside a group end with it.
    fn translate_group_content(&mut self, outer_flags: RegexFlags) -> TranslateResult<LastItem> {
        self.group_depth += 1;
        if self.group_depth > MAX_GROUP_DEPTH {
            return unsupported_pattern(message!("its groups are nested too deep"));
        }
        self.has_read_item = true;
        self.translate_alternatives()?;
        self.group_depth -= 1;
        self.flags = outer_flags;
        if !self.eat_char(')') {
            return invalid_pattern(message!("a group is not closed"));
        }
        self.translated.push(')');
        Ok(LastItem::Item)
    }

    /// Translates `(?im)`, or a group with flags such as `(?i-s:…)`. The text up to `first`, which
    /// is the first flag, was already read. `outer_flags` are the flags before the group.
    fn translate_flags(&mut self, first: char, outer_flags: RegexFlags) -> TranslateResult<LastItem> {
        let (mut is_enabled, mut flag_text) = (true, String::new());
        let mut next = Some(first);
        loop {
            let Some(c) = next else { return invalid_pattern(message!("a group is not closed")) };
            match c {
                'i' | 's' => flag_text.push(c),
                'm' => {
                    self.flags.is_multiline = is_enabled;
                    flag_text.push(c);
                }
                'x' => self.flags.is_verbose = is_enabled,
                'a' if is_enabled => self.flags.is_ascii = true,
                'u' if is_enabled => self.flags.is_ascii = false,
                '-' if is_enabled => {
                    is_enabled = false;
                    flag_text.push('-');
                }
                ':' => {
                    let flag_text = flag_text.trim_end_matches('-');
                    self.translated.push_str(&format!("(?{flag_text}:"));
                    return self.translate_group_content(outer_flags);
                }
                ')' if self.has_read_item || self.group_depth > 0 || !is_enabled => {
                    return invalid_pattern(message!("flags for the whole expression must be at its start"));
                }
                ')' => {
                    if !flag_text.is_empty() {
                        self.translated.push_str(&format!("(?{flag_text})"));
                    }
                    return Ok(LastItem::Nothing);
                }
                c => return invalid_pattern(message!("it has an unknown flag `{c}`")),
            }
            next = self.chars.next();
        }
    }

    /// Translates the rest of an escape sequence of a Python regular expression, after its `\`.
    fn translate_escape(&mut self) -> TranslateResult<LastItem> {
        let Some(c) = self.chars.next() else { return invalid_pattern(message!("it ends with a `\\`")) };
        let assertion = match (c, self.flags.is_ascii) {
            ('A', _) => {
                self.is_anchored |= !self.has_read_item && self.group_depth == 0;
                Some(r"\A")
            }
            ('Z', _) => Some(r"\z"),
            ('b', false) => Some(r"\b"),
            ('B', false) => Some(r"\B"),
            ('b', true) => Some(r"(?-u:\b)"),
            ('B', true) => return unsupported_pattern(message!("`\\B` with the flag `a` is not supported")),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.translated.push_str(assertion);
            return Ok(LastItem::Nothing);
        }
        let Some(category) = self.translate_category(c) else {
            let c = self.read_escaped_char(c, false)?;
            return Ok(self.write_literal_char(c));
        };
        self.translated.push_str(category);
        Ok(LastItem::Item)
    }

    /// Returns the translation of a character category such as `\d`, where `c` is the letter after
    /// the backslash. `None` if `c` names no category.
    fn translate_category(&self, c: char) -> Option<&'static str> {
        Some(match (c, self.flags.is_ascii) {
            ('d', false) => r"\d",
            ('D', false) => r"\D",
            ('s', false) => r"\s",
            ('S', false) => r"\S",
            ('w', false) => r"\w",
            ('W', false) => r"\W",
            ('d', true) => "[0-9]",
            ('D', true) => "[^0-9]",
            ('s', true) => r"[ \t-\r]",
            ('S', true) => r"[^ \t-\r]",
            ('w', true) => "[0-9A-Za-z_]",
            ('W', true) => "[^0-9A-Za-z_]",
            _ => return None,
        })
    }

    /// Returns the character of the escape `\c`, where `c` is the character after the backslash.
    /// `in_class` is true inside a character class such as `[\b]`, where some escapes have another
    /// meaning.
    fn read_escaped_char(&mut self, c: char, in_class: bool) -> TranslateResult<char> {
        Ok(match c {
            'a' => '\u{7}',
            'b' if in_class => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.read_char_code(2)?,
            'u' => self.read_char_code(4)?,
            'U' => self.read_char_code(8)?,
            'N' => return unsupported_pattern(message!("characters by their names are not supported")),
            '0'..='9' => self.read_octal_escape(c, in_class)?,
            c if c.is_ascii_alphabetic() => return invalid_pattern(message!("`\\{c}` is not an escape")),
            c => c,
        })
    }

    fn read_char_code(&mut self, digits: usize) -> TranslateResult<char> {
        let code: String = (0..digits).filter_map(|_| self.chars.next_if(char::is_ascii_hexdigit)).collect();
        let code_point = (code.len() == digits).then(|| u32::from_str_radix(&code, 16).ok()).flatten();
        let incomplete_error = || TranslateError::Invalid(message!("it has an incomplete escape"));
        code_point.and_then(char::from_u32).ok_or_else(incomplete_error)
    }

    /// Reads an octal escape such as `\0` or `\012`, from its first digit. Outside a character
    /// class, `\1` is a back-reference, which is an error. `in_class` is true inside a class.
    fn read_octal_escape(&mut self, first: char, in_class: bool) -> TranslateResult<char> {
        let mut digits = String::from(first);
        while digits.len() < 3 {
            let Some(digit) = self.chars.next_if(|c| ('0'..='7').contains(c)) else { break };
            digits.push(digit);
        }
        let is_octal = first == '0' || (first < '8' && (in_class || digits.len() == 3));
        if !is_octal {
            return unsupported_pattern(message!("back-references are not supported"));
        }
        let code = u32::from_str_radix(&digits, 8).ok().filter(|code| *code <= 0o377);
        let out_of_range = || TranslateError::Invalid(message!("`\\{digits}` is out of range"));
        code.and_then(char::from_u32).ok_or_else(out_of_range)
    }

    fn write_literal_char(&mut self, c: char) -> LastItem {
        if r"\.+*?()|[{^$".contains(c) {
            self.translated.push('\\');
        }
        self.write_char(c);
        LastItem::Item
    }

    /// Writes a character to the translated expression, escaped if it is not printable.
    fn write_char(&mut self, c: char) {
        match c {
            '\n' => self.translated.push_str(r"\n"),
            '\t' => self.translated.push_str(r"\t"),
            '\r' => self.translated.push_str(r"\r"),
            c if c.is_control() => self.translated.push_str(&format!(r"\x{{{:x}}}", c as u32)),
            c => self.translated.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
