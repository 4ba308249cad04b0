//! Implements the built-in functions on times: the year, the hour and other fields, dates and times
//! of day as texts, and times from epoch numbers. A field is read at the time's own UTC offset or
//! in a named time zone.

use super::Function;
use crate::arena::Arena;
use crate::value::{Value, parse_datetime};
use rulec_base::text::zone;
use std::fmt::{self, Write};
use std::ops::RangeInclusive;
use time::{Date, Month, OffsetDateTime, UtcOffset};

/// Returns the time in the time zone that the second argument names. Without a second argument,
/// returns the time at its own UTC offset. `None` for an unknown time zone, or if the first
/// argument is not a time.
fn to_local_time(args: &[Value<'_>]) -> Option<OffsetDateTime> {
    match *args {
        [Value::DateTime(time)] => Some(time),
        [Value::DateTime(time), Value::Str(name)] => {
            let seconds = zone::utc_offset_seconds(name, time.unix_timestamp())?;
            time.checked_to_offset(UtcOffset::from_whole_seconds(seconds).ok()?)
        }
        _ => None,
    }
}

/// Returns a clock or calendar field of a time as an int, as `compute_field` computes it. If the
/// second argument names a time zone, the time is first converted to that zone. Missing if the
/// conversion fails.
pub(super) fn clock_field<'a>(
    args: &[Value<'a>],
    compute_field: impl Fn(OffsetDateTime) -> i32,
) -> Value<'a> {
    to_local_time(args).map_or(Value::Missing, |time| Value::Int(compute_field(time).into()))
}

/// A date (year, month, day) or a time of day (hour, minute, second). `Display` writes it as the
/// functions `date` and `time` return it.
#[derive(Clone, Copy)]
enum ClockText {
    Date([u16; 3]),
    Time([u16; 3]),
}

impl fmt::Display for ClockText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockText::Date([year, month, day]) => write!(f, "{year:04}-{month:02}-{day:02}"),
            ClockText::Time([hour, minute, second]) => write!(f, "{hour:02}:{minute:02}:{second:02}"),
        }
    }
}

impl ClockText {
    /// Returns a date as text; `None` for a year before 0. Such a year occurs only if a time at the
    /// start of the year 0 is shifted to another time zone.
    fn from_date(date: Date) -> Option<ClockText> {
        let year = u16::try_from(date.year()).ok()?;
        Some(ClockText::Date([year, u8::from(date.month()).into(), date.day().into()]))
    }

    /// Builds the date or time of day as a text in the arena; returns missing if `text` is `None`.
    fn to_value<'a>(text: Option<ClockText>, arena: &'a Arena) -> Value<'a> {
        let Some(text) = text else { return Value::Missing };
        // Writing to a text of the arena never fails.
        arena.build_text("2026-01-31".len(), |buffer| {
            let _ = write!(buffer, "{text}");
        })
    }
}

/// Implements the function `date`. The argument is a time, or a text that contains a date or a date
/// with time.
pub(super) fn date_text<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    ClockText::to_value(read_clock_text(args, read_date, |time| ClockText::from_date(time.date())), arena)
}

/// Implements the function `time`. The argument is a time, or a text that contains a time of day or
/// a date with time.
pub(super) fn time_of_day_text<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let of_time = |time: OffsetDateTime| {
        Some(ClockText::Time([time.hour(), time.minute(), time.second()].map(u16::from)))
    };
    ClockText::to_value(read_clock_text(args, read_time_of_day, of_time), arena)
}

/// Returns the result of `convert_time` if the first argument is a time, or a text with date and
/// time. Returns the result of `parse_text` for any other text. `None` for other values, and for an
/// unknown time zone in the second argument.
fn read_clock_text(
    args: &[Value<'_>],
    parse_text: fn(&str) -> Option<ClockText>,
    convert_time: impl Fn(OffsetDateTime) -> Option<ClockText>,
) -> Option<ClockText> {
    let [first, zone @ ..] = args else { return None };
    let Value::Str(text) = *first else { return to_local_time(args).and_then(convert_time) };
    match (parse_datetime(text), zone) {
        (None, []) => parse_text(text),
        // The result of reading a text does not depend on the zone. But an unknown zone still gives
        // missing.
        (None, [Value::Str(name)]) => parse_text(text).filter(|_| zone::is_zone_name(name)),
        (Some(time), []) => convert_time(time),
        (Some(time), [zone]) => to_local_time(&[Value::DateTime(time), *zone]).and_then(convert_time),
        _ => None,
    }
}

/// Converts a text to the text that the function `date` or `time` returns for it, such as "9:05" to
/// "09:05:00". `None` if the text is invalid, or if `function` is neither `date` nor `time`.
pub fn canonical_clock_text(function: Function, text: &str) -> Option<String> {
    let text = match function {
        Function::Date => read_date(text),
        Function::Time => read_time_of_day(text),
        _ => None,
    };
    text.map(|text| text.to_string())
}

/// Parses a number that is one part of a date or a time of day. `None` if the part is not a number,
/// or if its number of digits is not in `lengths`.
fn parse_digits(part: &str, lengths: RangeInclusive<usize>) -> Option<u16> {
    let are_digits = lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    part.parse().ok().filter(|_| are_digits)
}

fn read_date(text: &str) -> Option<ClockText> {
    let mut parts = text.trim().split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let year = parse_digits(year, 4..=4)?;
    let [month, day] = [month, day].map(|part| parse_digits(part, 2..=2).map(|number| number as u8));
    let date = Date::from_calendar_date(year.into(), Month::try_from(month?).ok()?, day?).ok()?;
    parts.next().is_none().then_some(date).and_then(ClockText::from_date)
}

/// Parses a time of day such as `9:05` or `09:05:30`; `None` if it is invalid. The last valid time
/// is 24:00, the end of the day.
fn read_time_of_day(text: &str) -> Option<ClockText> {
    let mut parts = text.trim().split(':');
    let (hour, minute) = (parse_digits(parts.next()?, 1..=2)?, parse_digits(parts.next()?, 2..=2)?);
    let second = parts.next().map_or(Some(0), |part| parse_digits(part, 2..=2))?;
    let is_valid = minute < 60 && second < 60 && (hour < 24 || (hour, minute, second) == (24, 0, 0));
    (is_valid && parts.next().is_none()).then_some(ClockText::Time([hour, minute, second]))
}

/// Returns the days before and after a date, or the seconds before and after a time of day. The
/// analysis of rules uses these texts to find messages just below or above a constant. Empty for a
/// text that `date` and `time` never return.
pub fn neighbouring_clock_texts(text: &str) -> Vec<String> {
    let clock_text = read_date(text).or_else(|| read_time_of_day(text));
    let neighbours = match clock_text.filter(|clock_text| clock_text.to_string() == text) {
        None => [None, None],
        Some(ClockText::Date([year, month, day])) => {
            let month = Month::try_from(month as u8).ok();
            let date = month.and_then(|month| Date::from_calendar_date(year.into(), month, day as u8).ok());
            [date.and_then(Date::previous_day), date.and_then(Date::next_day)]
                .map(|date| date.and_then(ClockText::from_date))
        }
        Some(ClockText::Time([hour, minute, second])) => {
            let second = i32::from(hour) * 3600 + i32::from(minute) * 60 + i32::from(second);
            [second - 1, second + 1].map(|second| {
                let numbers = [second / 3600, second / 60 % 60, second % 60].map(|number| number as u16);
                (0..=24 * 3600).contains(&second).then_some(ClockText::Time(numbers))
            })
        }
    };
    neighbours.into_iter().flatten().map(|text| text.to_string()).collect()
}

/// Implements the functions `from_epoch_seconds` and `from_epoch_millis`. Returns the time, in UTC,
/// that lies the number of units in `args` after 1970-01-01T00:00:00Z. A second has
/// `units_per_second` units. Missing outside the years 0 to 9999, which RFC 3339 cannot write.
pub(super) fn from_epoch<'a>(args: &[Value<'a>], units_per_second: i64) -> Value<'a> {
    let nanoseconds_per_unit = i128::from(1_000_000_000 / units_per_second);
    let nanoseconds = match *args {
        [Value::Int(units)] => Some(i128::from(units) * nanoseconds_per_unit),
        [Value::Wide(units)] => Some(i128::from(units) * nanoseconds_per_unit),
        // A float outside the range of `i128` is converted to the nearest integer in the range.
        [Value::Float(units)] => Some((units * nanoseconds_per_unit as f64).round() as i128),
        _ => None,
    };
    nanoseconds
        .and_then(|nanoseconds| OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok())
        .filter(|time| (0..=9999).contains(&time.year()))
        .map_or(Value::Missing, Value::DateTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_of_day_have_one_spelling() {
        let check = |function, text: &str, expected: Option<&str>| {
            assert_eq!(canonical_clock_text(function, text).as_deref(), expected, "{text}");
        };
        for (text, expected) in [
            ("2026-01-31", Some("2026-01-31")),
            (" 2028-02-29 ", Some("2028-02-29")),
            ("2026-02-29", None),
            ("2026-1-31", None),
            ("2026-01-31-", None),
            ("26-01-31", None),
            ("+026-01-31", None),
            ("2026-13-01", None),
        ] {
            check(Function::Date, text, expected);
        }
        for (text, expected) in [
            ("22:30", Some("22:30:00")),
            ("9:05", Some("09:05:00")),
            ("23:59:59", Some("23:59:59")),
            ("24:00", Some("24:00:00")),
            ("24:01", None),
            ("25:00", None),
            ("22:60", None),
            ("22:5", None),
            ("22", None),
            ("22:30:15:00", None),
            ("22:30:", None),
            ("+2:30", None),
        ] {
            check(Function::Time, text, expected);
        }
    }

    #[test]
    fn dates_and_times_of_day_have_neighbours() {
        for (text, neighbours) in [
            ("2026-03-01", vec!["2026-02-28", "2026-03-02"]),
            ("0000-01-01", vec!["0000-01-02"]),
            ("9999-12-31", vec!["9999-12-30"]),
            ("00:00:00", vec!["00:00:01"]),
            ("22:59:59", vec!["22:59:58", "23:00:00"]),
            ("24:00:00", vec!["23:59:59"]),
            ("9:05", vec![]),
            ("x", vec![]),
        ] {
            assert_eq!(neighbouring_clock_texts(text), neighbours, "{text}");
        }
    }

    #[test]
    fn epoch_numbers_are_times() {
        let check = |value: Value<'_>, units: i64, expected: Option<&str>| {
            let time = from_epoch(&[value], units);
            assert_eq!(time.to_json().as_str(), expected);
        };
        check(Value::Int(0), 1, Some("1970-01-01T00:00:00Z"));
        check(Value::Int(-1), 1, Some("1969-12-31T23:59:59Z"));
        check(Value::Float(1.5), 1, Some("1970-01-01T00:00:01.5Z"));
        check(Value::Int(1_767_225_600_123), 1000, Some("2026-01-01T00:00:00.123Z"));
        check(Value::Int(253_402_300_799), 1, Some("9999-12-31T23:59:59Z"));
        check(Value::Int(253_402_300_800), 1, None);
        check(Value::Int(i64::MAX), 1000, None);
        check(Value::Wide(u64::MAX), 1, None);
        check(Value::Float(1e300), 1, None);
        check(Value::Str("0"), 1, None);
    }
}
