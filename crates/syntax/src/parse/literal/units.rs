//! Units of numbers: durations and sizes. Also recognizes words and symbols that authors write in
//! place of a unit, such as `seconds` or `元`.

use super::LiteralError;
use rulec_base::message;

/// The units of numbers, each with its name, factor and divisor. A number with a unit is multiplied
/// by factor / divisor, so `5ms` is 5 × 1 / 1000 seconds.
pub const UNITS_WITH_FACTORS: &[(&str, i64, i64)] = &[
    ("ms", 1, 1000),
    ("s", 1, 1),
    ("m", 60, 1),
    ("min", 60, 1),
    ("h", 3600, 1),
    ("d", 86_400, 1),
    ("w", 604_800, 1),
    ("kB", 1000, 1),
    ("KB", 1000, 1),
    ("MB", 1_000_000, 1),
    ("GB", 1_000_000_000, 1),
    ("TB", 1_000_000_000_000, 1),
    ("KiB", 1024, 1),
    ("MiB", 1 << 20, 1),
    ("GiB", 1 << 30, 1),
    ("TiB", 1 << 40, 1),
];

/// Returns the byte offset in a number literal at which the digits end, where a unit may begin. An
/// `e` without digits after it begins a unit.
pub(super) fn digits_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let run_end = |start: usize| {
        start + bytes[start..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count()
    };
    let mut end = run_end(0);
    if bytes.get(end) == Some(&b'.') {
        end = run_end(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = run_end(end + 1 + sign);
        }
    }
    end
}

/// Returns the unit that a word such as `seconds` or `kb` likely means. `None` for other words.
pub(in super::super) fn meant_unit(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    Some(match lower.as_str() {
        "millisecond" | "milliseconds" | "msec" | "millis" | "毫秒" => "ms",
        "sec" | "secs" | "second" | "seconds" | "秒" | "秒钟" => "s",
        "mins" | "minute" | "minutes" | "分" | "分钟" => "min",
        "hr" | "hrs" | "hour" | "hours" | "时" | "小时" | "个小时" => "h",
        "day" | "days" | "天" | "日" => "d",
        "week" | "weeks" | "周" | "星期" | "个星期" => "w",
        // `M` is rejected, because it more often means millions or megabytes than minutes.
        "m" if word == "M" => return None,
        _ => {
            return UNITS_WITH_FACTORS
                .iter()
                .map(|(name, ..)| *name)
                .find(|name| name.eq_ignore_ascii_case(word));
        }
    })
}

/// Returns the number with the unit that a word probably means, such as `30s` for `30` and
/// `seconds`. Months and years become days, because the language has no such unit. `None` for other
/// words.
pub(in super::super) fn number_with_meant_unit(digits: &str, word: &str) -> Option<String> {
    if let Some(unit) = meant_unit(word) {
        return Some(format!("{digits}{unit}"));
    }
    let lower = word.to_lowercase();
    let days = match lower.as_str() {
        "mo" | "mon" | "mth" | "mths" | "month" | "months" | "月" | "个月" => 30,
        "y" | "yr" | "yrs" | "year" | "years" | "年" => 365,
        _ => return None,
    };
    Some(format!("{}d", digits.parse::<u32>().ok()?.checked_mul(days)?))
}

/// Returns the number that an author means by digits and a word for a power of ten: `10_000` for
/// `1万`. A currency may follow the word, as in `万元`. `None` for other words, and for a result that
/// is no whole number of at most 10^15.
pub(in super::super) fn number_times_power_of_ten(digits: &str, word: &str) -> Option<String> {
    let word = word.trim_end_matches(is_currency_sign).to_lowercase();
    let factor = match word.as_str() {
        "百" => 100.0,
        "千" | "k" | "thousand" => 1e3,
        "万" | "萬" => 1e4,
        "百万" | "m" | "mio" | "mn" | "mil" | "million" | "millions" => 1e6,
        "千万" => 1e7,
        "亿" | "億" => 1e8,
        "bn" | "billion" | "billions" => 1e9,
        _ => return None,
    };
    let value = digits.replace('_', "").parse::<f64>().ok()? * factor;
    if value.fract() != 0.0 || value > 1e15 {
        return None;
    }
    let plain = format!("{value:.0}");
    let groups = plain.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    Some(groups.collect::<Vec<_>>().join("_"))
}

/// Returns the number that an author means by a text such as `10MB`, `5 minutes`, `$1,000` or `1k`,
/// as it is written in rules. `None` for a text that is no number with a unit.
pub fn meant_number(text: &str) -> Option<String> {
    let written = text.trim();
    let plain = written.trim_start_matches(['$', '€', '£', '¥', '￥']).trim_start();
    let plain = without_group_commas(plain);
    let end = digits_end(&plain);
    let (digits, unit) = (&plain[..end], plain[end..].trim());
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.ends_with('.') {
        return None;
    }
    let number = match unit {
        "" if plain == written => return None,
        "" | "$" | "€" | "£" | "¥" => digits.to_owned(),
        _ => number_with_meant_unit(digits, unit)
            .or_else(|| number_times_power_of_ten(digits, unit))
            .or_else(|| is_currency_or_counting_word(unit).then(|| digits.to_owned()))
            .or_else(|| add_joined_durations(&plain))?,
    };
    super::parse_number(&number, false).is_ok().then_some(number)
}

/// Removes the commas of a number in groups of three digits, such as `1,000`.
fn without_group_commas(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(text.len());
    let mut groups = text[..end].split(',');
    let first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()));
    match first && end > 3 && groups.all(|group| group.len() == 3) {
        true => format!("{}{}", text[..end].replace(',', "_"), &text[end..]),
        false => text.to_owned(),
    }
}

/// Returns the sum of durations, such as `90m` for `1h` and `30m`. The sum has the smallest of the
/// units. `None` if an element is no whole number with a unit of time.
pub(in super::super) fn write_sum_of_durations(parts: &[&str]) -> Option<String> {
    let mut read = Vec::new();
    for part in parts {
        let (digits, unit) = part.split_at(digits_end(part));
        let row = UNITS_WITH_FACTORS.iter().find(|(name, ..)| *name == meant_unit(unit).unwrap_or(unit))?;
        let (name, factor, divisor) = *row;
        if name.ends_with(['B']) || unit.is_empty() {
            return None;
        }
        read.push((digits.replace('_', "").parse::<i64>().ok()?, name, factor * 1000 / divisor));
    }
    let (_, unit, length) = *read.iter().min_by_key(|(.., length)| *length)?;
    let sum = read
        .iter()
        .try_fold(0_i64, |sum, (count, _, millis)| sum.checked_add(count.checked_mul(*millis)?))?;
    Some(format!("{}{unit}", sum / length))
}

fn is_currency_sign(c: char) -> bool {
    matches!(c, '元' | '块' | '円' | '圆' | '원')
}

/// True for a currency or a counting word, such as `times`. The language has no unit for it, so the
/// diagnostic suggests the number alone.
fn is_currency_or_counting_word(unit: &str) -> bool {
    let is_code = unit.len() == 3 && unit.bytes().all(|byte| byte.is_ascii_uppercase());
    let lower = unit.to_lowercase();
    is_code
        || unit.chars().all(is_currency_sign)
        || matches!(
            lower.as_str(),
            "usd"
                | "eur"
                | "gbp"
                | "cny"
                | "rmb"
                | "jpy"
                | "euro"
                | "euros"
                | "dollar"
                | "dollars"
                | "yuan"
                | "人民币"
                | "美元"
                | "b"
                | "byte"
                | "bytes"
                | "times"
                | "次"
                | "条"
                | "个"
                | "岁"
        )
}

/// Returns the decimal value of a number with leading zeros, and its value as an octal number, as
/// other languages read it: `10` and `8` for `010`. `None` if both are equal, or if the text is no
/// octal number of three or more digits.
pub(in super::super) fn decimal_and_octal_values(text: &str) -> Option<(String, String)> {
    let is_octal = text.len() >= 3 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    let decimal = text.trim_start_matches('0');
    let octal = u64::from_str_radix(text, 8).ok()?.to_string();
    (is_octal && !decimal.is_empty() && decimal != octal).then(|| (decimal.to_owned(), octal))
}

/// Returns the decimal digits of a number with the prefix `0x`, `0o` or `0b`. `None` for other
/// texts.
fn to_decimal_digits(text: &str) -> Option<String> {
    let lower = text.to_lowercase().replace('_', "");
    let radix = match lower.get(..2)? {
        "0x" => 16,
        "0o" => 8,
        "0b" => 2,
        _ => return None,
    };
    u64::from_str_radix(&lower[2..], radix).ok().map(|value| value.to_string())
}

/// Returns the sum of a duration that is written in several parts without spaces: `90m` for
/// `1h30m`. `None` for other texts.
fn add_joined_durations(text: &str) -> Option<String> {
    let is_start = |(index, c): &(usize, char)| {
        c.is_ascii_digit() && text[..*index].ends_with(|before: char| before.is_alphabetic())
    };
    let starts: Vec<usize> = text.char_indices().filter(is_start).map(|(index, _)| index).collect();
    let ends = starts.iter().copied().chain([text.len()]);
    let begins = std::iter::once(0).chain(starts.iter().copied());
    let parts: Vec<&str> = begins.zip(ends).map(|(start, end)| &text[start..end]).collect();
    if parts.len() < 2 { None } else { write_sum_of_durations(&parts) }
}

pub(super) fn unknown_unit_error(text: &str, digits: &str, unit: &str) -> LiteralError {
    if let Some(sum) = add_joined_durations(text) {
        return LiteralError {
            error_range: 0..text.len(),
            message: message!("a duration has one number and one unit"),
            help: message!("write `{replacement}`", replacement = sum.clone()),
            replacement: Some(sum),
        };
    }
    let names: Vec<String> = UNITS_WITH_FACTORS.iter().map(|(name, ..)| format!("`{name}`")).collect();
    let number = number_times_power_of_ten(digits, unit);
    let replacement = number_with_meant_unit(digits, unit)
        .or_else(|| number.clone())
        .or_else(|| is_currency_or_counting_word(unit).then(|| digits.to_owned()))
        .or_else(|| to_decimal_digits(text));
    let help = match &replacement {
        Some(_) if matches!(unit, "K" | "k" | "M") && number.is_some() => message!(
            "write `{}` for the number, or `{digits}{}B` for bytes",
            number.unwrap_or_default(),
            if unit == "M" { "M" } else { "k" }
        ),
        Some(replacement) if to_decimal_digits(text).is_some() => {
            message!("write the number in decimal: `{replacement}`", replacement = replacement.clone())
        }
        Some(replacement) if meant_unit(unit).is_some() || number.is_some() => {
            message!("write `{replacement}`")
        }
        Some(replacement) if is_currency_or_counting_word(unit) => {
            message!("write the number alone: `{replacement}`")
        }
        Some(replacement) => {
            message!("months and years differ in length: write days, as in `{replacement}`")
        }
        None if digits == "0" && unit.starts_with(['x', 'X', 'b', 'o']) => {
            message!("write the number in decimal")
        }
        None if unit.chars().all(|c| c.is_alphabetic() || c == '°') && unit.chars().count() <= 8 => {
            message!("write the number alone, `{digits}`, or with one of the units {}", names.join(" "))
        }
        None => {
            message!(
                "write one of the units {} directly after the number; a name cannot start with a digit",
                names.join(" ")
            )
        }
    };
    let message = message!("`{unit}` is not a unit");
    LiteralError { error_range: digits.len()..text.len(), message, help, replacement }
}
