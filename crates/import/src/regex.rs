//! Python's regular expressions (the module `re`, on text) as those of the `regex` crate.
//!
//! Both look much alike, and some expressions mean different things to them: `$` also stands before
//! a last line break in Python, `[[a]` is a class with two characters there, `{` may be itself, and
//! `\Z` is what is `\z` here. What has no counterpart (look-around, back-references, possessive and
//! atomic groups) is refused, and so is what Python refuses itself.
//!
//! Two differences are left, both at the edge of Unicode: `\w` here holds combining marks and not
//! numbers such as `²`, and `\s` holds no separators of information (U+001C to U+001F).

mod class;

use super::located::{Located, Read};
use super::write::{is_name, shown};
use rulec::Message;
use rulec_base::message;
use std::iter::Peekable;
use std::str::Chars;

/// Groups inside one another; deeper ones are refused before they cost stack.
const MAX_DEPTH: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// In the syntax of the `regex` crate.
    pub(super) text: String,
    /// True when it stands for several expressions with `|` between them.
    pub(super) alternatives: bool,
    /// True when it begins where the text begins, in any case.
    pub(super) anchored: bool,
}

impl Pattern {
    /// The expression found at the beginning of a text only, as Python's `re.match` does.
    pub(super) fn at_start(&self) -> String {
        match self {
            Pattern { alternatives: true, text, .. } => format!("^(?:{text})"),
            Pattern { anchored: true, text, .. } => text.clone(),
            Pattern { text, .. } => format!("^{text}"),
        }
    }
}

/// Why an expression was not translated, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TranslateError {
    /// Python refuses it too.
    #[error("{0}")]
    Invalid(Message),
    /// Python knows it, and the `regex` crate has nothing like it.
    #[error("{0}")]
    Unsupported(Message),
}

impl TranslateError {
    /// The end of the sentence.
    pub(super) fn why(&self) -> &Message {
        match self {
            TranslateError::Invalid(why) | TranslateError::Unsupported(why) => why,
        }
    }
}

/// The expression of a node, translated; `what` names it where it cannot be.
pub(super) fn read(node: &Located<'_>, what: &Message, ignore_case: bool) -> Read<Pattern> {
    let pattern = node.text()?;
    translate(pattern, ignore_case)
        .or_else(|why| node.refuse(message!("{what} {} cannot be translated: {}", shown(pattern), why.why())))
}

/// Translates an expression, and makes sure that it compiles.
///
/// # Errors
/// What is wrong with it, or has no counterpart.
pub(super) fn translate(pattern: &str, ignore_case: bool) -> Result<Pattern, TranslateError> {
    let mut reader = Reader {
        chars: pattern.chars().peekable(),
        out: String::new(),
        flags: Flags::default(),
        depth: 0,
        begun: false,
        alternatives: false,
        anchored: false,
    };
    reader.alternatives()?;
    if reader.chars.next().is_some() {
        return err(message!("it has a `)` without its `(`"));
    }
    let Reader { out: text, alternatives, anchored, .. } = reader;
    match rulec_base::text::regex(&text, ignore_case) {
        Ok(_) => Ok(Pattern { text, alternatives, anchored }),
        Err(regex::Error::CompiledTooBig(_)) => unsupported(message!("it is too large when compiled")),
        Err(error) => {
            let message = error.to_string();
            // It is told in English alone.
            let last = message.lines().last().unwrap_or_default();
            unsupported(Message::verbatim(last.trim_start_matches("error: ")))
        }
    }
}

/// The flags that change what is read, in force at a place.
#[derive(Clone, Copy, Default)]
struct Flags {
    multiline: bool,
    verbose: bool,
    ascii: bool,
}

/// The thing that a quantifier would repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Item,
    Repeated,
}

struct Reader<'p> {
    chars: Peekable<Chars<'p>>,
    out: String,
    flags: Flags,
    depth: usize,
    /// True when something stands before, so that flags for all of it come too late.
    begun: bool,
    alternatives: bool,
    anchored: bool,
}

type Done<T = ()> = Result<T, TranslateError>;

fn err<T>(message: Message) -> Done<T> {
    Err(TranslateError::Invalid(message))
}

fn unsupported<T>(message: Message) -> Done<T> {
    Err(TranslateError::Unsupported(message))
}

impl Reader<'_> {
    fn eat(&mut self, wanted: char) -> bool {
        self.chars.next_if_eq(&wanted).is_some()
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.chars.next_if(|c| fits(*c)) {
            taken.push(c);
        }
        taken
    }

    /// Everything up to the `)` of the group, or the end.
    fn alternatives(&mut self) -> Done {
        let mut last = Last::Nothing;
        while let Some(&c) = self.chars.peek() {
            if c == ')' {
                break;
            }
            self.chars.next();
            if self.flags.verbose && (c.is_ascii_whitespace() || c == '#') {
                if c == '#' {
                    self.take_while(|c| c != '\n');
                }
                continue;
            }
            last = match c {
                '|' => {
                    self.alternatives |= self.depth == 0;
                    self.out.push('|');
                    Last::Nothing
                }
                '*' | '+' | '?' => self.repeat(&c.to_string(), last)?,
                '{' => match self.bounds()? {
                    Some(bounds) => self.repeat(&bounds, last)?,
                    None => {
                        self.out.push_str("\\{");
                        Last::Item
                    }
                },
                '^' => {
                    self.anchored |= !self.begun && self.depth == 0 && !self.flags.multiline;
                    self.out.push('^');
                    Last::Nothing
                }
                '$' => {
                    self.out.push_str(if self.flags.multiline { "$" } else { r"\n?$" });
                    Last::Nothing
                }
                '.' => {
                    self.out.push('.');
                    Last::Item
                }
                '[' => self.class()?,
                '(' => self.group(last)?,
                '\\' => self.escape()?,
                c => self.literal(c),
            };
            self.begun = true;
        }
        Ok(())
    }

    fn repeat(&mut self, quantifier: &str, last: Last) -> Done<Last> {
        match last {
            Last::Nothing => return err(message!("`{quantifier}` has nothing to repeat")),
            Last::Repeated => return err(message!("`{quantifier}` repeats a repetition")),
            Last::Item => {}
        }
        self.out.push_str(quantifier);
        if self.eat('?') {
            self.out.push('?');
        } else if self.chars.peek() == Some(&'+') {
            return unsupported(message!("the possessive `{quantifier}+` is not supported"));
        }
        Ok(Last::Repeated)
    }

    /// Reads what stands after `{` when it is a quantifier, as the `regex` crate writes it.
    fn bounds(&mut self) -> Done<Option<String>> {
        let mut ahead = Reader { out: String::new(), chars: self.chars.clone(), ..*self };
        let low = ahead.take_while(|c| c.is_ascii_digit());
        let comma = ahead.eat(',');
        let high = if comma { ahead.take_while(|c| c.is_ascii_digit()) } else { low.clone() };
        if !ahead.eat('}') || (low.is_empty() && !comma) {
            return Ok(None);
        }
        self.chars = ahead.chars;
        let number = |digits: &str| {
            let number = digits.parse::<u32>();
            number.map_err(|_| TranslateError::Unsupported(message!("`{{{digits}}}` is too much")))
        };
        if !low.is_empty() && !high.is_empty() && number(&low)? > number(&high)? {
            return err(message!("`{{{low},{high}}}` has its bounds the wrong way round"));
        }
        let low = if low.is_empty() { "0".to_owned() } else { low };
        Ok(Some(match comma {
            true => format!("{{{low},{high}}}"),
            false => format!("{{{low}}}"),
        }))
    }

    /// Reads what stands after `(`.
    fn group(&mut self, last: Last) -> Done<Last> {
        let outer = self.flags;
        if !self.eat('?') {
            self.out.push('(');
            return self.inner(outer);
        }
        match self.chars.next() {
            Some(':') => self.out.push_str("(?:"),
            Some('#') => {
                self.take_while(|c| c != ')');
                return if self.eat(')') { Ok(last) } else { err(message!("a comment in it is not closed")) };
            }
            Some('P') => match self.chars.next() {
                Some('<') => {
                    let name = self.take_while(|c| c != '>');
                    if !self.eat('>') || !is_name(&name) {
                        return err(message!("`{name}` is no name for a group"));
                    }
                    self.out.push_str(&format!("(?P<{name}>"));
                }
                Some('=') => return unsupported(message!("back-references are not supported")),
                _ => return err(message!("it has an unknown `(?P`")),
            },
            Some('=' | '!') => return unsupported(message!("look-around is not supported")),
            Some('<') if matches!(self.chars.peek(), Some('=' | '!')) => {
                return unsupported(message!("look-around is not supported"));
            }
            Some('>') => return unsupported(message!("atomic groups are not supported")),
            Some('(') => return unsupported(message!("conditional groups are not supported")),
            Some(c) if c.is_ascii_alphabetic() || c == '-' => return self.flagged(c, outer),
            _ => return err(message!("it has an unknown `(?`")),
        }
        self.inner(outer)
    }

    /// The inside of a group, and its end; what flags it sets end with it.
    fn inner(&mut self, outer: Flags) -> Done<Last> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return unsupported(message!("its groups are nested too deep"));
        }
        self.begun = true;
        self.alternatives()?;
        self.depth -= 1;
        self.flags = outer;
        if !self.eat(')') {
            return err(message!("a group in it is not closed"));
        }
        self.out.push(')');
        Ok(Last::Item)
    }

    /// `(?im)` or `(?i-s:…)`, from its first character on.
    fn flagged(&mut self, first: char, outer: Flags) -> Done<Last> {
        let (mut on, mut written) = (true, String::new());
        let mut next = Some(first);
        loop {
            let Some(c) = next else { return err(message!("a group in it is not closed")) };
            match c {
                'i' | 's' => written.push(c),
                'm' => {
                    self.flags.multiline = on;
                    written.push(c);
                }
                'x' => self.flags.verbose = on,
                'a' if on => self.flags.ascii = true,
                'u' if on => self.flags.ascii = false,
                '-' if on => {
                    on = false;
                    written.push('-');
                }
                ':' => {
                    let written = written.trim_end_matches('-');
                    self.out.push_str(&format!("(?{written}:"));
                    return self.inner(outer);
                }
                ')' if self.begun || self.depth > 0 || !on => {
                    return err(message!("flags for all of it must stand at its beginning"));
                }
                ')' => {
                    if !written.is_empty() {
                        self.out.push_str(&format!("(?{written})"));
                    }
                    return Ok(Last::Nothing);
                }
                c => return err(message!("it has an unknown flag `{c}`")),
            }
            next = self.chars.next();
        }
    }

    /// Reads what stands after `\`.
    fn escape(&mut self) -> Done<Last> {
        let Some(c) = self.chars.next() else { return err(message!("it ends with a `\\`")) };
        let position = match (c, self.flags.ascii) {
            ('A', _) => {
                self.anchored |= !self.begun && self.depth == 0;
                Some(r"\A")
            }
            ('Z', _) => Some(r"\z"),
            ('b', false) => Some(r"\b"),
            ('B', false) => Some(r"\B"),
            ('b', true) => Some(r"(?-u:\b)"),
            ('B', true) => return unsupported(message!("`\\B` with the flag `a` is not supported")),
            _ => None,
        };
        if let Some(position) = position {
            self.out.push_str(position);
            return Ok(Last::Nothing);
        }
        let Some(category) = self.category(c) else {
            let c = self.escaped(c, false)?;
            return Ok(self.literal(c));
        };
        self.out.push_str(category);
        Ok(Last::Item)
    }

    /// `\d` and its kind.
    fn category(&self, c: char) -> Option<&'static str> {
        Some(match (c, self.flags.ascii) {
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

    /// The character that `\c` stands for.
    fn escaped(&mut self, c: char, in_class: bool) -> Done<char> {
        Ok(match c {
            'a' => '\u{7}',
            'b' if in_class => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.coded(2)?,
            'u' => self.coded(4)?,
            'U' => self.coded(8)?,
            'N' => return unsupported(message!("characters by their names are not supported")),
            '0'..='9' => self.octal(c, in_class)?,
            c if c.is_ascii_alphabetic() => return err(message!("`\\{c}` is no escape")),
            c => c,
        })
    }

    fn coded(&mut self, digits: usize) -> Done<char> {
        let code: String = (0..digits).filter_map(|_| self.chars.next_if(char::is_ascii_hexdigit)).collect();
        let known = (code.len() == digits).then(|| u32::from_str_radix(&code, 16).ok()).flatten();
        let incomplete = || TranslateError::Invalid(message!("it has an incomplete escape"));
        known.and_then(char::from_u32).ok_or_else(incomplete)
    }

    /// `\0`, `\012`, or a back-reference.
    fn octal(&mut self, first: char, in_class: bool) -> Done<char> {
        let mut digits = String::from(first);
        while digits.len() < 3 {
            let Some(digit) = self.chars.next_if(|c| ('0'..='7').contains(c)) else { break };
            digits.push(digit);
        }
        let is_octal = first == '0' || (first < '8' && (in_class || digits.len() == 3));
        if !is_octal {
            return unsupported(message!("back-references are not supported"));
        }
        let code = u32::from_str_radix(&digits, 8).ok().filter(|code| *code <= 0o377);
        let outside = || TranslateError::Invalid(message!("`\\{digits}` is out of range"));
        code.and_then(char::from_u32).ok_or_else(outside)
    }

    fn literal(&mut self, c: char) -> Last {
        if r"\.+*?()|[{^$".contains(c) {
            self.out.push('\\');
        }
        self.character(c);
        Last::Item
    }

    /// A character that can be seen, or its escape.
    fn character(&mut self, c: char) {
        match c {
            '\n' => self.out.push_str(r"\n"),
            '\t' => self.out.push_str(r"\t"),
            '\r' => self.out.push_str(r"\r"),
            c if c.is_control() => self.out.push_str(&format!(r"\x{{{:x}}}", c as u32)),
            c => self.out.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
