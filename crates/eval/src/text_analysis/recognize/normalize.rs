//! Checks the matches of the recognizers, and normalizes their fields. Each public function is for
//! one kind of entity, such as dates. It returns false if the match is not an entity of this kind.
//! The functions also look at the characters around a match, which its regular expression cannot
//! do.

use super::super::entity::EntityMatch;
use rulec_base::broken_invariant;
use serde_json::{Map, Value as Json};
use time::{Date, Month};

const MONTH_PREFIXES: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

fn text_before<'t>(text: &'t str, found: &EntityMatch) -> &'t str {
    &text[..found.range.start]
}

fn text_after<'t>(text: &'t str, found: &EntityMatch) -> &'t str {
    &text[found.range.end..]
}

fn is_word_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// True if the match is a whole word or number. False if it is a part of a longer one, such as
/// `2.3` in the version `1.2.3`.
fn is_whole_word_or_number(text: &str, found: &EntityMatch) -> bool {
    let (before, after, matched) =
        (text_before(text, found), text_after(text, found), &text[found.range.clone()]);
    let number_before = before.strip_suffix(['.', ',']).is_some_and(|rest| rest.ends_with(is_digit));
    let number_after = after.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(is_digit));
    let starts_inside =
        matched.starts_with(is_word_part) && (before.ends_with(is_word_part) || number_before);
    let ends_inside = matched.ends_with(is_word_part) && (after.starts_with(is_word_part) || number_after);
    !starts_inside && !ends_inside
}

fn parse_number_field(fields: &Map<String, Json>, name: &str) -> Option<u16> {
    fields.get(name)?.as_str()?.parse().ok()
}

fn take_lowercase_text(fields: &mut Map<String, Json>, name: &str) -> Option<String> {
    fields.remove(name)?.as_str().map(str::to_lowercase)
}

/// Sets the fields `year`, `month` and `day` without leading zeros, and `date` as `2026-01-31` if
/// all three are known. Returns false if the calendar lacks the day, or if the match is a part of a
/// longer word or number.
pub fn normalize_date(text: &str, found: &mut EntityMatch) -> bool {
    // The time of a timestamp follows without a space: `2026-01-31T03:12`.
    let is_timestamp =
        text_after(text, found).strip_prefix('T').is_some_and(|rest| rest.starts_with(is_digit));
    let alone = match is_timestamp {
        true => is_whole_word_or_number(&text[..found.range.end], found),
        false => is_whole_word_or_number(text, found),
    };
    let fields = &mut found.fields;
    let month = fields.get("month").and_then(Json::as_str).map(str::to_lowercase);
    let month = month.and_then(|month| match month.parse::<u8>() {
        Ok(number) => Some(number),
        Err(_) => MONTH_PREFIXES
            .iter()
            .zip(1..)
            .find(|(name, _)| month.starts_with(**name))
            .map(|(_, number)| number),
    });
    let (year, day) = (parse_number_field(fields, "year"), parse_number_field(fields, "day"));
    let (Some(month), Some(day)) = (month, day) else {
        fields.extend(month.map(|month| ("month".to_owned(), month.to_string().into())));
        return alone;
    };
    // A date without its year may be in a leap year.
    let checked_year = year.map_or(2000, i32::from);
    let month_name = Month::try_from(month).ok();
    let date = month_name
        .and_then(|month| Date::from_calendar_date(checked_year, month, u8::try_from(day).ok()?).ok());
    fields.insert("month".to_owned(), month.to_string().into());
    fields.insert("day".to_owned(), day.to_string().into());
    if let Some(year) = year {
        fields.insert("date".to_owned(), format!("{year:04}-{month:02}-{day:02}").into());
    }
    alone && date.is_some()
}

/// Replaces the matched fields, such as `hour` and `minute`, by one field `time` on the 24-hour
/// clock: `15:30` or `15:30:05`. Returns false if the match is no time of day, or if it belongs to
/// a longer word or number.
pub fn normalize_time(text: &str, found: &mut EntityMatch) -> bool {
    let follows_date =
        text_before(text, found).strip_suffix(['T', 't']).is_some_and(|rest| rest.ends_with(is_digit));
    let (before, after) = (text_before(text, found), text_after(text, found));
    let is_joined = before.ends_with(|c: char| is_word_part(c) || matches!(c, ':' | '.' | '-'))
        && !follows_date
        || after.strip_prefix([':', '.']).is_some_and(|rest| rest.starts_with(is_digit))
        || after.starts_with(is_digit);
    let fields = &mut found.fields;
    let Some(mut hour) = parse_number_field(fields, "hour") else {
        broken_invariant!("each regular expression for a time captures an hour");
        return false;
    };
    let minute = match take_lowercase_text(fields, "quarter").as_deref() {
        Some("半") => 30,
        Some("一刻") => 15,
        Some("三刻") => 45,
        _ => parse_number_field(fields, "minute").unwrap_or_default(),
    };
    let part = take_lowercase_text(fields, "part");
    match (take_lowercase_text(fields, "half").as_deref(), part.as_deref()) {
        (Some(_), _) if hour > 12 => return false,
        (Some("a"), _) | (None, Some("凌晨")) if hour == 12 => hour = 0,
        (Some("p"), _) | (None, Some("下午" | "傍晚" | "晚上")) if hour < 12 => hour += 12,
        (None, Some("中午")) if hour < 3 => hour += 12,
        _ => {}
    }
    let second = parse_number_field(fields, "second").map_or(String::new(), |second| format!(":{second:02}"));
    *fields = Map::from_iter([("time".to_owned(), format!("{hour:02}:{minute:02}{second}").into())]);
    !is_joined
}

/// Words that begin with a Chinese unit of numbers, such as 万圣节 (Halloween). After a number, the
/// unit is a part of such a word and not of the number. Short words such as 万一 and 万能 are not
/// listed, because in `3万一个月` and `3万能买吗`, 万 is a unit.
const WORDS_WITH_NUMBER_UNIT: [&str; 12] = [
    "万圣节",
    "万圣夜",
    "万宝路",
    "万达广场",
    "万豪酒店",
    "万事达卡",
    "万事如意",
    "万能钥匙",
    "万年历",
    "万花筒",
    "千万富翁",
    "亿万富翁",
];

/// Removes a Chinese unit from the end of a match if it is the start of the next word, as in
/// `2026 万圣节`.
fn cut_unit_of_next_word(text: &str, found: &mut EntityMatch) {
    let scale = found.fields.get("scale").and_then(Json::as_str);
    let Some(number) = scale.and_then(|scale| text[found.range.clone()].strip_suffix(scale)) else { return };
    let end = found.range.start + number.len();
    if WORDS_WITH_NUMBER_UNIT.iter().any(|word| text[end..].starts_with(word)) {
        found.range.end = found.range.start + number.trim_end().len();
        found.fields.remove("scale");
    }
}

/// Sets the field `amount` to a plain number, and `currency` to its code of three letters. `$`
/// counts as US dollars, and `¥` as yuan. Returns false if the match belongs to a longer word or
/// number.
pub fn normalize_money(text: &str, found: &mut EntityMatch) -> bool {
    let fields = &mut found.fields;
    let (Some(amount), Some(currency)) =
        (take_lowercase_text(fields, "amount"), take_lowercase_text(fields, "currency"))
    else {
        return false;
    };
    let places = power_of_ten_of_scale(take_lowercase_text(fields, "scale").as_deref());
    let currency = match &*currency {
        "$" | "us$" | "美元" | "美金" => "USD".to_owned(),
        "€" | "欧元" => "EUR".to_owned(),
        "£" | "英镑" => "GBP".to_owned(),
        "¥" | "￥" | "元" | "块" | "块钱" | "人民币" | "rmb" | "yuan" => "CNY".to_owned(),
        "hk$" | "港币" | "港元" => "HKD".to_owned(),
        "日元" => "JPY".to_owned(),
        "₹" => "INR".to_owned(),
        "₩" => "KRW".to_owned(),
        word if word.starts_with("dollar") => "USD".to_owned(),
        word if word.starts_with("euro") => "EUR".to_owned(),
        word if word.starts_with("pound") => "GBP".to_owned(),
        code => code.to_uppercase(),
    };
    fields
        .insert("amount".to_owned(), shift_decimal_point(&write_with_decimal_point(&amount), places).into());
    fields.insert("currency".to_owned(), currency.into());
    is_whole_word_or_number(text, found)
}

/// Returns the exponent of the power of ten by which the unit `scale` multiplies, such as 4 for 万.
/// Without a unit, or for an unknown one, returns 0.
fn power_of_ten_of_scale(scale: Option<&str>) -> usize {
    match scale {
        Some("千" | "k" | "thousand") => 3,
        Some("万") => 4,
        Some("十万") => 5,
        Some("m" | "million" | "百万") => 6,
        Some("千万") => 7,
        Some("亿") => 8,
        Some("bn" | "billion" | "十亿") => 9,
        Some("百亿") => 10,
        Some("千亿") => 11,
        Some("万亿") => 12,
        _ => 0,
    }
}

/// Removes the separators of thousands from a number, and writes its decimal separator as a point.
/// A single comma before one or two digits, and a comma after points, is a decimal comma.
fn write_with_decimal_point(number: &str) -> String {
    let is_european = match (number.rfind(','), number.rfind('.')) {
        (Some(comma), Some(point)) => comma > point,
        (Some(comma), None) => number.len() - comma <= 3,
        (None, _) => number.matches('.').count() > 1,
    };
    match is_european {
        true => number.replace('.', "").replace(',', "."),
        false => number.replace(',', ""),
    }
}

/// Multiplies a decimal number by 10^`places`. The result is exact.
fn shift_decimal_point(number: &str, places: usize) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if places == 0 {
        return number.to_owned();
    }
    let moved = &fraction[..places.min(fraction.len())];
    let zeros = "0".repeat(places - moved.len());
    let shifted = format!("{whole}{moved}{zeros}");
    let whole = shifted.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    match fraction[moved.len()..].trim_end_matches('0') {
        "" => whole.to_owned(),
        rest => format!("{whole}.{rest}"),
    }
}

/// Sets the field `digits` to the digits of the phone number, with `+` before an international
/// number. Returns false if the match belongs to a longer word or number, or has fewer than 7 or
/// more than 15 digits.
pub fn normalize_phone(text: &str, found: &mut EntityMatch) -> bool {
    let matched = &text[found.range.clone()];
    let is_joined = text_before(text, found)
        .ends_with(|c: char| is_word_part(c) || matches!(c, '-' | '.' | '+'))
        || text_after(text, found).starts_with(|c: char| is_word_part(c) || c == '-');
    let digits: String = matched.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
    let count = digits.trim_start_matches('+').len();
    found.fields.insert("digits".to_owned(), digits.into());
    !is_joined && (7..=15).contains(&count)
}

/// Sets the field `number` to the number with its sign and without thousands separators. For a
/// percentage, also sets `percent`. A unit such as 亿 multiplies the number. Returns false if the
/// match is a part of a longer word or number.
pub fn normalize_number(text: &str, found: &mut EntityMatch) -> bool {
    cut_unit_of_next_word(text, found);
    if !is_whole_word_or_number(text, found) {
        return false;
    }
    let sign = text_before(text, found).strip_suffix('-').filter(|rest| {
        rest.chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '=' | '：' | '，'))
    });
    if let Some(rest) = sign {
        found.range.start = rest.len();
    }
    let places = power_of_ten_of_scale(take_lowercase_text(&mut found.fields, "scale").as_deref());
    let matched = &text[found.range.clone()];
    let written = matched.trim_end_matches(['%', '％', ' ', '十', '百', '千', '万', '亿']);
    let (sign, written) = written.strip_prefix('-').map_or(("", written), |rest| ("-", rest));
    let value = format!("{sign}{}", shift_decimal_point(&write_with_decimal_point(written), places));
    if found.fields.remove("percent").is_some() {
        found.fields.insert("percent".to_owned(), value.clone().into());
    }
    found.fields.remove("amount");
    found.fields.insert("number".to_owned(), value.into());
    true
}
