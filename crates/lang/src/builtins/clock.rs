//! Functions that read clock and calendar fields of a time, at the time's own UTC offset or in a
//! named time zone.

use crate::arena::Arena;
use crate::value::Value;
use rulec_base::text::zone;
use time::{OffsetDateTime, UtcOffset};

/// Returns the time in the time zone that the second argument names. Without a second argument,
/// returns the time at its own UTC offset.
fn to_local_time(args: &[Value<'_>]) -> Option<OffsetDateTime> {
    match *args {
        [Value::DateTime(time)] => Some(time),
        [Value::DateTime(time), Value::Str(name)] => {
            let seconds = zone::utc_offset(name, time.unix_timestamp())?;
            time.checked_to_offset(UtcOffset::from_whole_seconds(seconds).ok()?)
        }
        _ => None,
    }
}

/// Returns a clock or calendar field of a time as an int. If the second argument names a time zone,
/// the time is first converted to that zone.
pub(super) fn clock_field<'a>(args: &[Value<'a>], field: impl Fn(OffsetDateTime) -> i32) -> Value<'a> {
    to_local_time(args).map_or(Value::Missing, |time| Value::Int(field(time).into()))
}

pub(super) fn date<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let Some(time) = to_local_time(args) else { return Value::Missing };
    let date = time.date().to_string();
    arena.build_text(date.len(), |buffer| buffer.push_str(&date))
}
