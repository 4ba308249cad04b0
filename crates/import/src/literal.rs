//! Reads values in Python's literal syntax: `'text'`, `[1, 2]`, `{'a': None}`, `True`. Imported
//! JSON documents contain such literals inside strings.
//!
//! This is a parser of literals, not an evaluator: names, sums and calls are no literals. Tuples,
//! sets, bytes and non-string dict keys are literals that JSON cannot represent. No value of a
//! message equals a list or dict that contains one of these. Such a list or dict is returned as
//! `Literal::NonJsonList` or `Literal::NonJsonDict`.

use serde_json::{Map, Number, Value as Json};

/// Maximum nesting depth of lists and dicts in a literal.
const MAX_NESTING_DEPTH: usize = 60;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// A value that JSON can represent.
    Json(Json),
    /// A list with an element that JSON cannot represent.
    NonJsonList,
    /// A dict with a key or value that JSON cannot represent.
    NonJsonDict,
    /// A tuple, a set, bytes, or a number that JSON cannot represent, such as infinity. No message
    /// can contain it.
    Other,
}

/// Returns the value of a Python literal; `None` if the text is not a literal.
pub(super) fn parse_literal(text: &str) -> Option<Literal> {
    let mut reader =
        LiteralParser { text: text.trim_start_matches([' ', '\t']), offset: 0, nesting_depth: 0 };
    let value = reader.parse_value_or_tuple(&[])?;
    reader.skip_space();
    reader.remaining_text().is_empty().then_some(value)
}

struct LiteralParser<'t> {
    text: &'t str,
    /// Byte offset of the next character to read.
    offset: usize,
    /// Number of lists, dicts and other values that enclose the current position.
    nesting_depth: usize,
}

impl<'t> LiteralParser<'t> {
    fn remaining_text(&self) -> &'t str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.remaining_text().chars().next()?;
        self.offset += c.len_utf8();
        Some(c)
    }

    fn skip_space(&mut self) {
        self.offset += self.remaining_text().len()
            - self.remaining_text().trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len();
    }

    fn eat_text(&mut self, expected: &str) -> bool {
        self.skip_space();
        let is_match = self.remaining_text().starts_with(expected);
        self.offset += if is_match { expected.len() } else { 0 };
        is_match
    }

    /// Reads one value, or several values separated by commas, which form a tuple. `closers` are
    /// the delimiters that may follow the last value. `None` if the text is not a literal.
    fn parse_value_or_tuple(&mut self, closers: &[&str]) -> Option<Literal> {
        let first = self.parse_value()?;
        let mut is_tuple = false;
        while self.eat_text(",") {
            is_tuple = true;
            self.skip_space();
            if self.remaining_text().is_empty()
                || closers.iter().any(|end| self.remaining_text().starts_with(end))
            {
                break;
            }
            self.parse_value()?;
        }
        Some(if is_tuple { Literal::Other } else { first })
    }

    fn parse_value(&mut self) -> Option<Literal> {
        self.skip_space();
        self.nesting_depth += 1;
        if self.nesting_depth > MAX_NESTING_DEPTH {
            return None;
        }
        let value = match self.remaining_text().chars().next()? {
            '[' => self.parse_list(),
            '{' => self.parse_dict(),
            '(' => {
                self.offset += 1;
                if self.eat_text(")") {
                    Some(Literal::Other)
                } else {
                    let value = self.parse_value_or_tuple(&[")"])?;
                    self.eat_text(")").then_some(value)
                }
            }
            '+' | '-' | '.' | '0'..='9' => self.parse_number(),
            '\'' | '"' => self.parse_strings(),
            _ => self.parse_word(),
        };
        self.nesting_depth -= 1;
        value
    }

    /// Reads elements separated by commas, with an optional trailing comma, up to `closer`. The
    /// function `parse_item` reads one element and stores it. It returns `None` if the text is not
    /// an element. The result is `None` if an element or a comma is missing.
    fn parse_sequence(
        &mut self,
        closer: &str,
        mut parse_item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        while !self.eat_text(closer) {
            parse_item(self)?;
            if !self.eat_text(",") {
                return self.eat_text(closer).then_some(());
            }
        }
        Some(())
    }

    fn parse_list(&mut self) -> Option<Literal> {
        self.offset += 1;
        let (mut items, mut is_non_json) = (Vec::new(), false);
        self.parse_sequence("]", |reader| {
            match reader.parse_value()? {
                Literal::Json(item) => items.push(item),
                _ => is_non_json = true,
            }
            Some(())
        })?;
        Some(if is_non_json { Literal::NonJsonList } else { Literal::Json(Json::Array(items)) })
    }

    fn parse_dict(&mut self) -> Option<Literal> {
        self.offset += 1;
        let (mut map, mut is_non_json, mut first_is_set) = (Map::new(), false, None);
        self.parse_sequence("}", |reader| {
            let key = reader.parse_value()?;
            let is_set = !reader.eat_text(":");
            if *first_is_set.get_or_insert(is_set) != is_set {
                return None;
            }
            // An unhashable value cannot be a key or a set element.
            if matches!(
                key,
                Literal::NonJsonList | Literal::NonJsonDict | Literal::Json(Json::Array(_) | Json::Object(_))
            ) {
                return None;
            }
            if !is_set {
                match (key, reader.parse_value()?) {
                    // If two keys are equal, the later entry is used.
                    (Literal::Json(Json::String(key)), Literal::Json(value)) => drop(map.insert(key, value)),
                    _ => is_non_json = true,
                }
            }
            Some(())
        })?;
        Some(match (first_is_set, is_non_json) {
            (Some(true), _) => Literal::Other,
            (_, true) => Literal::NonJsonDict,
            _ => Literal::Json(Json::Object(map)),
        })
    }

    /// Reads a number with at most one sign; `None` if there is no number. A complex number such as
    /// `1+2j` is not read, because JSON cannot represent it.
    fn parse_number(&mut self) -> Option<Literal> {
        let negative = self.remaining_text().starts_with('-');
        if self.remaining_text().starts_with(['-', '+']) {
            self.offset += 1;
            self.skip_space();
        }
        let is_word_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let mut end = self.remaining_text().find(|c| !is_word_char(c)).unwrap_or(self.remaining_text().len());
        let has_exponent =
            self.remaining_text()[..end].ends_with(['e', 'E']) && !self.remaining_text().starts_with("0x");
        if has_exponent && self.remaining_text()[end..].starts_with(['+', '-']) {
            let tail = &self.remaining_text()[end + 1..];
            end += 1 + tail.find(|c| !is_word_char(c)).unwrap_or(tail.len());
        }
        let number_text = &self.remaining_text()[..end];
        let number = parse_unsigned_number(number_text)?;
        self.offset += end;
        Some(match number {
            UnsignedNumber::Integer(value) => {
                let value = if negative { -value } else { value };
                Literal::Json(match i64::try_from(value) {
                    Ok(value) => value.into(),
                    Err(_) => Number::from_f64(value as f64).map_or(Json::Null, Json::Number),
                })
            }
            UnsignedNumber::Float(value) => {
                let value = if negative { -value } else { value };
                Number::from_f64(value).map_or(Literal::Other, |number| Literal::Json(Json::Number(number)))
            }
        })
    }

    fn parse_word(&mut self) -> Option<Literal> {
        let end = self
            .remaining_text()
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(self.remaining_text().len());
        let word = &self.remaining_text()[..end];
        let value = match word {
            "True" => Literal::Json(true.into()),
            "False" => Literal::Json(false.into()),
            "None" => Literal::Json(Json::Null),
            _ if self.remaining_text()[end..].starts_with(['\'', '"']) => return self.parse_strings(),
            _ => return None,
        };
        self.offset += end;
        Some(value)
    }

    /// Reads adjacent string literals, such as `'a' 'b'`, which form one string. `None` if a
    /// literal is invalid.
    fn parse_strings(&mut self) -> Option<Literal> {
        let (mut text, mut first_is_bytes) = (String::new(), None);
        loop {
            self.skip_space();
            let remaining_text = self.remaining_text();
            let prefix = &remaining_text[..remaining_text.find(['\'', '"']).unwrap_or(remaining_text.len())];
            let next_is_string = remaining_text.len() > prefix.len()
                && matches!(prefix.to_ascii_lowercase().as_str(), "" | "r" | "u" | "b" | "br" | "rb");
            if !next_is_string {
                break;
            }
            let is_bytes = prefix.contains(['b', 'B']);
            if *first_is_bytes.get_or_insert(is_bytes) != is_bytes {
                return None;
            }
            self.offset += prefix.len();
            self.parse_string(prefix.contains(['r', 'R']), &mut text)?;
        }
        match first_is_bytes {
            Some(true) => Some(Literal::Other),
            Some(false) => Some(Literal::Json(Json::String(text))),
            None => None,
        }
    }

    fn parse_string(&mut self, is_raw: bool, text: &mut String) -> Option<()> {
        let quote = &self.remaining_text()[..1];
        let triple = quote.repeat(3);
        let (quote, is_triple) =
            if self.remaining_text().starts_with(&triple) { (triple.as_str(), true) } else { (quote, false) };
        self.offset += quote.len();
        loop {
            if self.remaining_text().starts_with(quote) {
                self.offset += quote.len();
                return Some(());
            }
            match self.next_char()? {
                '\n' | '\r' if !is_triple => return None,
                '\\' if is_raw => {
                    text.push('\\');
                    text.push(self.next_char()?);
                }
                '\\' => self.parse_escape(text)?,
                c => text.push(c),
            }
        }
    }

    fn parse_escape(&mut self, text: &mut String) -> Option<()> {
        let c = self.next_char()?;
        let decoded = match c {
            '\n' => return Some(()),
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' => c,
            'x' => self.parse_char_code(2)?,
            'u' => self.parse_char_code(4)?,
            'U' => self.parse_char_code(8)?,
            'N' => return None,
            '0'..='7' => {
                let more_digits =
                    self.remaining_text().chars().take(2).take_while(|c| ('0'..='7').contains(c)).count();
                let code = u32::from_str_radix(self.text.get(self.offset - 1..self.offset + more_digits)?, 8)
                    .ok()?;
                self.offset += more_digits;
                char::from_u32(code)?
            }
            // Python keeps the backslash of an unknown escape.
            other => {
                text.push('\\');
                other
            }
        };
        text.push(decoded);
        Some(())
    }

    fn parse_char_code(&mut self, digits: usize) -> Option<char> {
        let code = self
            .remaining_text()
            .get(..digits)
            .filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.offset += digits;
        char::from_u32(u32::from_str_radix(code, 16).ok()?)
    }
}

enum UnsignedNumber {
    Integer(i128),
    Float(f64),
}

/// Parses a number without its sign; `None` if the text is not a number. Underscores are allowed
/// between digits, and a decimal integer must not start with zero.
fn parse_unsigned_number(text: &str) -> Option<UnsignedNumber> {
    let lower = text.to_ascii_lowercase();
    let has_misplaced_underscore = lower.ends_with('_') || lower.starts_with('_') || lower.contains("__");
    let is_between_digits = lower.match_indices('_').all(|(underscore, _)| {
        let neighbours =
            [lower.as_bytes().get(underscore.wrapping_sub(1)), lower.as_bytes().get(underscore + 1)];
        neighbours
            .iter()
            .all(|byte| byte.is_some_and(|byte| byte.is_ascii_hexdigit() || b"xob".contains(byte)))
    });
    if has_misplaced_underscore || !is_between_digits {
        return None;
    }
    let without_underscores = lower.replace('_', "");
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = without_underscores.strip_prefix(prefix) {
            return i128::from_str_radix(digits, radix)
                .ok()
                .filter(|_| !digits.starts_with('+'))
                .map(UnsignedNumber::Integer);
        }
    }
    if without_underscores.bytes().all(|byte| byte.is_ascii_digit()) {
        let has_leading_zero = without_underscores.len() > 1
            && without_underscores.starts_with('0')
            && without_underscores.bytes().any(|byte| byte != b'0');
        return match without_underscores.parse::<i128>() {
            _ if without_underscores.is_empty() || has_leading_zero => None,
            Ok(value) => Some(UnsignedNumber::Integer(value)),
            Err(_) => without_underscores.parse().ok().map(UnsignedNumber::Float),
        };
    }
    let is_float = without_underscores.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
    let value = without_underscores.parse().ok().filter(|_| is_float)?;
    Some(UnsignedNumber::Float(value))
}

#[cfg(test)]
mod tests;
