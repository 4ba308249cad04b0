//! Reads values in Python's literal syntax: `'text'`, `[1, 2]`, `{'a': None}`, `True`.
//!
//! This is a parser of literals, not an evaluator: names, sums and calls are no literals. Tuples,
//! sets, bytes and non-string dict keys are literals that JSON cannot represent. No value of a
//! message equals a list or dict that contains one of these. Such a list or dict is returned as
//! `Literal::OddList` or `Literal::OddDict`.

use serde_json::{Map, Number, Value as Json};

/// Maximum nesting of lists and dicts.
const MAX_DEPTH: usize = 60;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// A value that JSON can represent.
    Json(Json),
    /// A list with an element that JSON cannot represent.
    OddList,
    /// A dict with a key or value that JSON cannot represent.
    OddDict,
    /// A tuple, a set, bytes, or a number that JSON cannot represent, such as infinity.
    Other,
}

/// Returns the value of a literal; `None` if the text is not a literal.
pub(super) fn parse_literal(text: &str) -> Option<Literal> {
    let mut reader = LiteralParser { text: text.trim_start_matches([' ', '\t']), at: 0, depth: 0 };
    let value = reader.parse_items(&[])?;
    reader.skip_space();
    reader.rest().is_empty().then_some(value)
}

struct LiteralParser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> LiteralParser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len();
    }

    fn eat_text(&mut self, wanted: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    /// Reads one value, or several values separated by commas, which form a tuple. `ends` are the
    /// delimiters that may close the values.
    fn parse_items(&mut self, ends: &[&str]) -> Option<Literal> {
        let first = self.parse_value()?;
        let mut tuple = false;
        while self.eat_text(",") {
            tuple = true;
            self.skip_space();
            if self.rest().is_empty() || ends.iter().any(|end| self.rest().starts_with(end)) {
                break;
            }
            self.parse_value()?;
        }
        Some(if tuple { Literal::Other } else { first })
    }

    fn parse_value(&mut self) -> Option<Literal> {
        self.skip_space();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let value = match self.rest().chars().next()? {
            '[' => self.parse_list(),
            '{' => self.parse_dict(),
            '(' => {
                self.at += 1;
                if self.eat_text(")") {
                    Some(Literal::Other)
                } else {
                    let value = self.parse_items(&[")"])?;
                    self.eat_text(")").then_some(value)
                }
            }
            '+' | '-' | '.' | '0'..='9' => self.parse_number(),
            '\'' | '"' => self.parse_strings(),
            _ => self.parse_word(),
        };
        self.depth -= 1;
        value
    }

    /// Reads items separated by commas, with an optional trailing comma, up to `end`.
    fn parse_sequence(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        while !self.eat_text(end) {
            item(self)?;
            if !self.eat_text(",") {
                return self.eat_text(end).then_some(());
            }
        }
        Some(())
    }

    fn parse_list(&mut self) -> Option<Literal> {
        self.at += 1;
        let (mut items, mut odd) = (Vec::new(), false);
        self.parse_sequence("]", |reader| {
            match reader.parse_value()? {
                Literal::Json(item) => items.push(item),
                _ => odd = true,
            }
            Some(())
        })?;
        Some(if odd { Literal::OddList } else { Literal::Json(Json::Array(items)) })
    }

    fn parse_dict(&mut self) -> Option<Literal> {
        self.at += 1;
        let (mut map, mut odd, mut set) = (Map::new(), false, None);
        self.parse_sequence("}", |reader| {
            let key = reader.parse_value()?;
            let is_set = !reader.eat_text(":");
            if *set.get_or_insert(is_set) != is_set {
                return None;
            }
            // An unhashable value cannot be a key or a set element.
            if matches!(
                key,
                Literal::OddList | Literal::OddDict | Literal::Json(Json::Array(_) | Json::Object(_))
            ) {
                return None;
            }
            if !is_set {
                match (key, reader.parse_value()?) {
                    // If two keys are equal, the later entry is used.
                    (Literal::Json(Json::String(key)), Literal::Json(value)) => drop(map.insert(key, value)),
                    _ => odd = true,
                }
            }
            Some(())
        })?;
        Some(match (set, odd) {
            (Some(true), _) => Literal::Other,
            (_, true) => Literal::OddDict,
            _ => Literal::Json(Json::Object(map)),
        })
    }

    /// Reads a number with at most one sign. The sum of a real and an imaginary number is not read,
    /// because JSON cannot represent it.
    fn parse_number(&mut self) -> Option<Literal> {
        let negative = self.rest().starts_with('-');
        if self.rest().starts_with(['-', '+']) {
            self.at += 1;
            self.skip_space();
        }
        let word_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let mut end = self.rest().find(|c| !word_char(c)).unwrap_or(self.rest().len());
        let exponent = self.rest()[..end].ends_with(['e', 'E']) && !self.rest().starts_with("0x");
        if exponent && self.rest()[end..].starts_with(['+', '-']) {
            let tail = &self.rest()[end + 1..];
            end += 1 + tail.find(|c| !word_char(c)).unwrap_or(tail.len());
        }
        let written = &self.rest()[..end];
        let number = parse_unsigned(written)?;
        self.at += end;
        Some(match number {
            UnsignedNumber::Whole(value) => {
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
        let end = self.rest().find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        let word = &self.rest()[..end];
        let value = match word {
            "True" => Literal::Json(true.into()),
            "False" => Literal::Json(false.into()),
            "None" => Literal::Json(Json::Null),
            _ if self.rest()[end..].starts_with(['\'', '"']) => return self.parse_strings(),
            _ => return None,
        };
        self.at += end;
        Some(value)
    }

    /// Reads adjacent string literals, which form one string.
    fn parse_strings(&mut self) -> Option<Literal> {
        let (mut text, mut bytes) = (String::new(), None);
        loop {
            self.skip_space();
            let rest = self.rest();
            let prefix = &rest[..rest.find(['\'', '"']).unwrap_or(rest.len())];
            let next_is_string = rest.len() > prefix.len()
                && matches!(prefix.to_ascii_lowercase().as_str(), "" | "r" | "u" | "b" | "br" | "rb");
            if !next_is_string {
                break;
            }
            let is_bytes = prefix.contains(['b', 'B']);
            if *bytes.get_or_insert(is_bytes) != is_bytes {
                return None;
            }
            self.at += prefix.len();
            self.parse_string(prefix.contains(['r', 'R']), &mut text)?;
        }
        match bytes {
            Some(true) => Some(Literal::Other),
            Some(false) => Some(Literal::Json(Json::String(text))),
            None => None,
        }
    }

    fn parse_string(&mut self, raw: bool, text: &mut String) -> Option<()> {
        let quote = &self.rest()[..1];
        let triple = quote.repeat(3);
        let (quote, long) =
            if self.rest().starts_with(&triple) { (triple.as_str(), true) } else { (quote, false) };
        self.at += quote.len();
        loop {
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                return Some(());
            }
            match self.next_char()? {
                '\n' | '\r' if !long => return None,
                '\\' if raw => {
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
        let plain = match c {
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
                let more = self.rest().chars().take(2).take_while(|c| ('0'..='7').contains(c)).count();
                let code = u32::from_str_radix(self.text.get(self.at - 1..self.at + more)?, 8).ok()?;
                self.at += more;
                char::from_u32(code)?
            }
            // Python keeps the backslash of an unknown escape.
            other => {
                text.push('\\');
                other
            }
        };
        text.push(plain);
        Some(())
    }

    fn parse_char_code(&mut self, digits: usize) -> Option<char> {
        let code =
            self.rest().get(..digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.at += digits;
        char::from_u32(u32::from_str_radix(code, 16).ok()?)
    }
}

enum UnsignedNumber {
    Whole(i128),
    Float(f64),
}

/// Parses a number without its sign. Underscores are allowed between digits, and a decimal integer
/// must not start with zero.
fn parse_unsigned(written: &str) -> Option<UnsignedNumber> {
    let lower = written.to_ascii_lowercase();
    let misplaced = lower.ends_with('_') || lower.starts_with('_') || lower.contains("__");
    let by_digit = lower.match_indices('_').all(|(at, _)| {
        let around = [lower.as_bytes().get(at.wrapping_sub(1)), lower.as_bytes().get(at + 1)];
        around.iter().all(|byte| byte.is_some_and(|byte| byte.is_ascii_hexdigit() || b"xob".contains(byte)))
    });
    if misplaced || !by_digit {
        return None;
    }
    let plain = lower.replace('_', "");
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = plain.strip_prefix(prefix) {
            return i128::from_str_radix(digits, radix)
                .ok()
                .filter(|_| !digits.starts_with('+'))
                .map(UnsignedNumber::Whole);
        }
    }
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        let leading_zero =
            plain.len() > 1 && plain.starts_with('0') && plain.bytes().any(|byte| byte != b'0');
        return match plain.parse::<i128>() {
            _ if plain.is_empty() || leading_zero => None,
            Ok(value) => Some(UnsignedNumber::Whole(value)),
            Err(_) => plain.parse().ok().map(UnsignedNumber::Float),
        };
    }
    let is_float = plain.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
    let value = plain.parse().ok().filter(|_| is_float)?;
    Some(UnsignedNumber::Float(value))
}

#[cfg(test)]
mod tests;
