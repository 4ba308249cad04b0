//! Computes the values of string and number literals: escapes, units and ranges of numbers.

mod units;

pub use units::{UNITS_WITH_FACTORS, meant_number};
pub(super) use units::{
    decimal_and_octal_values, meant_unit, number_times_power_of_ten, number_with_meant_unit,
    write_sum_of_durations,
};

use crate::ast::Literal;
use rulec_base::diag::Message;
use rulec_base::message;
use std::ops::Range;
use units::{digits_end, unknown_unit_error};

/// The error for an invalid string or number literal, from which a diagnostic is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LiteralError {
    /// The byte range of the error within the literal.
    pub(super) error_range: Range<usize>,
    pub(super) message: Message,
    pub(super) help: Message,
    /// The literal that the author probably meant, if there is one.
    pub(super) replacement: Option<String>,
}

/// Returns the value of a number literal. `negative` is true if a minus sign precedes it. Fails if
/// the unit is unknown or the number is out of range.
pub(super) fn parse_number(text: &str, negative: bool) -> Result<Literal, LiteralError> {
    let (digits, unit) = text.split_at(digits_end(text));
    let is_integer = !digits.contains(['.', 'e', 'E']);
    let (_, factor, divisor) = match UNITS_WITH_FACTORS.iter().find(|(name, ..)| *name == unit) {
        Some(row) => *row,
        None if unit.is_empty() => ("", 1, 1),
        None => return Err(unknown_unit_error(text, digits, unit)),
    };
    let range_error = |help: Message| LiteralError {
        error_range: 0..text.len(),
        message: message!("the number `{text}` is out of range"),
        help,
        replacement: None,
    };
    let plain_digits: String = digits.chars().filter(|c| *c != '_').collect();
    if is_integer && divisor == 1 {
        let sign = if negative { -1 } else { 1 };
        let value =
            plain_digits.parse::<i128>().ok().and_then(|value| value.checked_mul(i128::from(factor) * sign));
        return match value.map(|value| (i64::try_from(value), u64::try_from(value))) {
            Some((Ok(int), _)) => Ok(Literal::Int(int)),
            Some((_, Ok(int))) => Ok(Literal::Wide(int)),
            _ => Err(range_error(message!(
                "whole numbers lie between -9223372036854775808 and 18446744073709551615; to make the number \
                a float, write `.0` after it"
            ))),
        };
    }
    let value: f64 = plain_digits.parse().unwrap_or(f64::INFINITY);
    let value = value * factor as f64 / divisor as f64;
    if !value.is_finite() {
        return Err(range_error(message!("the largest float is about 1.8e308")));
    }
    Ok(Literal::Float(if negative { -value } else { value }))
}

/// Returns the value of a number with a unit, and whether the unit is a size such as `kB`, and not
/// a duration. `None` for a number without a unit, or if the number is invalid.
pub fn number_with_unit(text: &str) -> Option<(Literal, bool)> {
    let unit = &text[digits_end(text)..];
    let value = parse_number(text, false).ok()?;
    (!unit.is_empty()).then(|| (value, unit.ends_with('B')))
}

/// Returns the number that a 64-bit float stores in place of the decimal number `text`, if its
/// digits differ from the digits of `text`. The caller warns the author. `None` if the float keeps
/// all digits, or if `text` is an integer.
pub(super) fn inexact_number(text: &str) -> Option<String> {
    let (digits, unit) = text.split_at(digits_end(text));
    let plain_digits: String = digits.chars().filter(|c| *c != '_').collect();
    let is_integer = !digits.contains(['.', 'e', 'E']) && unit != "ms";
    let value: f64 = plain_digits.parse().ok().filter(|value: &f64| !is_integer && value.is_finite())?;
    if plain_digits.len() <= MAX_EXACT_DIGITS && value.is_normal() {
        return None;
    }
    let kept = format!("{value:?}");
    (significant_digits(&plain_digits) != significant_digits(&kept)).then(|| kept + unit)
}

/// Number of decimal digits that a 64-bit float always keeps: 15. Subnormal floats, which are close
/// to 0, keep fewer.
const MAX_EXACT_DIGITS: usize = f64::DIGITS as usize;

/// Returns the digits of a decimal number without zeros at both ends, and the power of ten by which
/// the digits are multiplied.
fn significant_digits(number: &str) -> (String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let zeros = (digits.len() - kept.len()) as i64;
    let kept = kept.trim_start_matches('0').to_owned();
    // An exponent beyond 64 bits does not matter: the caller found the float to be finite, so the
    // number is 0.
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let power = if kept.is_empty() { 0 } else { exponent - fraction.len() as i64 + zeros };
    (kept, power)
}

/// Returns the value of a string literal, raw or not. `text` includes the quotes. Fails if an
/// escape is invalid.
pub(super) fn parse_string(text: &str) -> Result<String, LiteralError> {
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        return Ok(raw[hashes + 1..raw.len() - hashes - 1].to_owned());
    }
    let inner = &text[1..text.len() - 1];
    if !inner.contains('\\') {
        return Ok(inner.to_owned());
    }
    let mut value = String::with_capacity(inner.len());
    let mut offset = 0;
    while let Some(distance) = inner[offset..].find('\\') {
        value.push_str(&inner[offset..offset + distance]);
        let start = offset + distance;
        let (c, length) = parse_escape(&inner[start..]).map_err(|(length, help)| LiteralError {
            error_range: start + 1..start + 1 + length,
            message: match length {
                1 => message!("an escape needs a letter after the backslash"),
                _ => message!("`{}` is not an escape", &inner[start..start + length]),
            },
            help,
            replacement: None,
        })?;
        value.push(c);
        offset = start + length;
    }
    value.push_str(&inner[offset..]);
    Ok(value)
}

/// True if an invalid string literal is probably meant as a regular expression, so that a raw
/// string is suggested. The literal is not raw, has escapes, and all of them are escapes of regular
/// expressions, such as `\d`.
pub(super) fn looks_like_regex(written: &str) -> bool {
    let escapes: Vec<char> = written.split('\\').skip(1).filter_map(|rest| rest.chars().next()).collect();
    let is_regex = |c: &char| "dwsbDWSB.+*?()[]{}|^$-".contains(*c);
    !written.starts_with('r') && !escapes.is_empty() && escapes.iter().all(is_regex)
}

/// Returns the character of the escape at the start of `text`, which begins with a backslash, and
/// the escape's length in bytes. On error, returns the length of the invalid part and a help text.
fn parse_escape(text: &str) -> Result<(char, usize), (usize, Message)> {
    let Some(kind) = text[1..].chars().next() else { return Err((1, valid_escapes_help())) };
    let character = match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        '\\' | '"' | '\'' | '/' => kind,
        'x' => {
            let digits = text.get(2..4).unwrap_or("");
            let code = parse_hex(digits).filter(|code| digits.len() == 2 && *code < 0x80);
            let length = 2 + text[2..].chars().take(2).take_while(char::is_ascii_hexdigit).count();
            let help =
                message!(r"`\x` takes two hexadecimal digits up to 7F; for larger codes write `\u{{…}}`");
            return code.and_then(char::from_u32).map(|c| (c, 4)).ok_or((length, help));
        }
        'u' => {
            let help = message!(r"write the character's hexadecimal number in braces, such as `\u{{6587}}`");
            return parse_unicode_escape(text).map_err(|length| (length, help));
        }
        _ => return Err((1 + kind.len_utf8(), valid_escapes_help())),
    };
    Ok((character, 2))
}

/// Returns the character of a `\u` escape at the start of `text`, and the escape's length in bytes.
/// On error, returns only the length of the invalid part.
fn parse_unicode_escape(text: &str) -> Result<(char, usize), usize> {
    if let Some(rest) = text[2..].strip_prefix('{') {
        let end = rest.find('}').ok_or(2_usize)?;
        let code = parse_hex(&rest[..end]).filter(|_| end <= 6).and_then(char::from_u32);
        return code.map(|c| (c, end + 4)).ok_or(end + 4);
    }
    // The JSON form `\u6587`, with surrogate pairs.
    let code_unit = |offset: usize| text.get(offset..offset + 4).and_then(parse_hex);
    let first_unit = code_unit(2).ok_or(2_usize)?;
    if let Some(c) = char::from_u32(first_unit) {
        return Ok((c, 6));
    }
    let second_unit = if text.get(6..8) == Some(r"\u") { code_unit(8) } else { None };
    let low =
        second_unit.filter(|low| first_unit < 0xDC00 && (0xDC00..0xE000).contains(low)).ok_or(6_usize)?;
    char::from_u32(0x10000 + ((first_unit - 0xD800) << 10) + (low - 0xDC00)).map(|c| (c, 12)).ok_or(6)
}

fn parse_hex(digits: &str) -> Option<u32> {
    let is_valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_valid { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// Returns the help text for an unknown escape, which lists the valid escapes.
fn valid_escapes_help() -> Message {
    message!(
        r#"the escapes are `\n` `\t` `\r` `\0` `\\` `\"` `\xNN` `\u{{…}}`; for a regular expression write a raw string, `r"…"`"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed() {
        let check =
            |text: &str, expected: Literal| assert_eq!(parse_number(text, false), Ok(expected), "{text}");
        check("1_000", Literal::Int(1000));
        check("0.5", Literal::Float(0.5));
        check("1e3", Literal::Float(1000.0));
        check("1.5e-3", Literal::Float(0.0015));
        check("10ms", Literal::Float(0.01));
        check("30s", Literal::Int(30));
        check("5m", Literal::Int(300));
        check("2h", Literal::Int(7200));
        check("1.5h", Literal::Float(5400.0));
        check("7d", Literal::Int(604_800));
        check("2w", Literal::Int(1_209_600));
        check("5min", Literal::Int(300));
        check("64kB", Literal::Int(64_000));
        check("64KB", Literal::Int(64_000));
        check("2GB", Literal::Int(2_000_000_000));
        check("2GiB", Literal::Int(1 << 31));
        check("1.5GB", Literal::Float(1.5e9));
        check("1TiB", Literal::Int(1 << 40));
        check("1MB", Literal::Int(1_000_000));
        check("64KiB", Literal::Int(65_536));
        check("1MiB", Literal::Int(1_048_576));
        check("9223372036854775807", Literal::Int(i64::MAX));
        check("9223372036854775808", Literal::Wide(1 << 63));
        check("18446744073709551615", Literal::Wide(u64::MAX));
        assert_eq!(parse_number("9223372036854775808", true), Ok(Literal::Int(i64::MIN)));
        assert_eq!(parse_number("0.0", true), Ok(Literal::Float(-0.0)));
    }

    #[test]
    fn inexact_numbers_are_known() {
        for (text, kept) in [
            ("17.999999999999999999", Some("18.0")),
            ("9007199254740993.0", Some("9007199254740992.0")),
            ("3.14159265358979323846", Some("3.141592653589793")),
            ("1.00000000000000000001s", Some("1.0s")),
            ("1_000.000_000_000_000_000_01", Some("1000.0")),
            ("1e-400", Some("0.0")),
            ("9007199254740993ms", Some("9007199254740992.0ms")),
            ("0.1", None),
            ("0.10000000000000000000", None),
            ("0000000000000000000.5", None),
            ("0.30000000000000004", None),
            ("5e-324", None),
            ("0.0", None),
            ("0e999999999999999999999", None),
            ("1.7976931348623157e308", None),
            ("100e20", None),
            ("1e400", None),
            ("18446744073709551615", None),
            ("5ms", None),
            ("1_000.50", None),
        ] {
            assert_eq!(inexact_number(text).as_deref(), kept, "{text}");
        }
    }

    #[test]
    fn invalid_numbers_are_reported() {
        let check = |text: &str, place: &str| {
            let error = parse_number(text, false).expect_err(text);
            assert_eq!(&text[error.error_range], place, "{text}");
        };
        check("18446744073709551616", "18446744073709551616");
        check("9223372036854775h", "9223372036854775h");
        check("1e400", "1e400");
        check("10x", "x");
        check("10kb", "kb");
        check("0x1F", "x1F");
        check("1e", "e");
        check(&"9".repeat(50), &"9".repeat(50));
    }

    #[test]
    fn strings_are_unescaped() {
        let check =
            |text: &str, expected: &str| assert_eq!(parse_string(text).as_deref(), Ok(expected), "{text}");
        check(r#""a\n\t\r\\\"\0\x41\u{6587}""#, "a\n\t\r\\\"\0A文");
        check(r#""\u6587\ud83d\ude00""#, "文😀");
        check(r##"r#"a"\b"#"##, r#"a"\b"#);
        check(r#""""#, "");
        check("r\"\"", "");
    }

    #[test]
    fn invalid_escapes_are_reported() {
        let check = |text: &str, place: &str| {
            let error = parse_string(text).expect_err(text);
            assert_eq!(&text[error.error_range], place, "{text}");
        };
        check(r#""a\bc""#, r"\b");
        check(r#""\文""#, r"\文");
        check(r#""\u{110000}""#, r"\u{110000}");
        check(r#""\u{d800}""#, r"\u{d800}");
        check(r#""\u{12""#, r"\u");
        check(r#""\xZ""#, r"\x");
        check(r#""\xff""#, r"\xff");
        check(r#""\ud83d""#, r"\ud83d");
    }
}
