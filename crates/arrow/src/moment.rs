//! Converts Arrow timestamps to the rule language's datetimes: an instant with the UTC offset of
//! its zone.

use arrow_schema::TimeUnit;
use rulec_base::text::zone;
use time::{Date, OffsetDateTime, UtcOffset};

/// Time zone of a timestamp column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnTimeZone {
    /// A fixed UTC offset.
    Fixed(UtcOffset),
    /// A named zone, by its IANA name.
    Named(Box<str>),
}

impl ColumnTimeZone {
    /// Parses the zone of a column type, such as `UTC`, `+02:00` or `Asia/Shanghai`; `None` if the
    /// zone is not known.
    pub fn from_name(name: &str) -> Option<ColumnTimeZone> {
        match name {
            "UTC" | "Z" | "utc" => Some(ColumnTimeZone::Fixed(UtcOffset::UTC)),
            _ if name.starts_with(['+', '-']) => parse_offset(name).map(ColumnTimeZone::Fixed),
            _ => zone::is_zone_name(name).then(|| ColumnTimeZone::Named(name.into())),
        }
    }

    fn offset_at(&self, seconds: i64) -> Option<UtcOffset> {
        match self {
            ColumnTimeZone::Fixed(offset) => Some(*offset),
            ColumnTimeZone::Named(name) => {
                UtcOffset::from_whole_seconds(zone::utc_offset_seconds(name, seconds)?).ok()
            }
        }
    }

    /// Converts a timestamp to a datetime in this zone. `count` is the number of time units `unit`
    /// since 1970-01-01 in UTC. `None` outside the years 0 to 9999.
    pub fn to_datetime(&self, count: i64, unit: TimeUnit) -> Option<OffsetDateTime> {
        let nanoseconds = i128::from(count)
            * match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
        let time = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok()?;
        let time = time.checked_to_offset(self.offset_at(time.unix_timestamp())?)?;
        // Messages contain times in RFC 3339, which has no other years.
        (0..=9999).contains(&time.year()).then_some(time)
    }
}

/// Parses a UTC offset such as `+02:00`, `+0200` or `+02`; `None` for other texts.
fn parse_offset(text: &str) -> Option<UtcOffset> {
    let (sign, digits) = (if text.starts_with('-') { -1 } else { 1 }, text.get(1..)?.replace(':', ""));
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = digits.split_at(2);
    let minutes: i8 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    UtcOffset::from_hms(sign * hours.parse::<i8>().ok()?, sign * minutes, 0).ok()
}

/// Formats a count of days since 1970-01-01 as `2026-01-31`; `None` outside the years 0 to 9999.
pub(crate) fn format_day(count: i64) -> Option<String> {
    const JULIAN_DAY_OF_1970: i32 = 2_440_588;
    let date = Date::from_julian_day(JULIAN_DAY_OF_1970.checked_add(i32::try_from(count).ok()?)?).ok()?;
    (0..=9999).contains(&date.year()).then(|| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_lang::value::format_datetime;

    #[test]
    fn a_time_has_the_offset_of_its_zone() {
        let check = |zone: &str, count, unit, expected: Option<&str>| {
            let time = ColumnTimeZone::from_name(zone).and_then(|zone| zone.to_datetime(count, unit));
            assert_eq!(time.map(format_datetime).as_deref(), expected, "{zone} {count}");
        };
        check("UTC", 0, TimeUnit::Second, Some("1970-01-01T00:00:00Z"));
        check("+02:00", 1_500, TimeUnit::Millisecond, Some("1970-01-01T02:00:01.5+02:00"));
        check("-0330", -1, TimeUnit::Second, Some("1969-12-31T20:29:59-03:30"));
        check("+05", 1, TimeUnit::Nanosecond, Some("1970-01-01T05:00:00.000000001+05:00"));
        check(
            "Europe/Berlin",
            1_782_864_000_000_000,
            TimeUnit::Microsecond,
            Some("2026-07-01T02:00:00+02:00"),
        );
        check("Mars/Olympus", 0, TimeUnit::Second, None);
        check("+99", 0, TimeUnit::Second, None);
        check("UTC", i64::MAX, TimeUnit::Second, None);
        // RFC 3339 cannot represent the year 10000.
        check("UTC", 253_402_300_800, TimeUnit::Second, None);
    }

    #[test]
    fn a_day_is_written_with_dashes() {
        assert_eq!(format_day(0).as_deref(), Some("1970-01-01"));
        assert_eq!(format_day(-1).as_deref(), Some("1969-12-31"));
        assert_eq!(format_day(i64::MAX), None);
    }
}
