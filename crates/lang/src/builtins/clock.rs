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
        [Value::DateTime(at)] => Some(at),
        [Value::DateTime(at), Value::Str(name)] => {
            let seconds = zone::utc_offset(name, at.unix_timestamp())?;
            at.checked_to_offset(UtcOffset::from_whole_seconds(seconds).ok()?)
        }
        _ => None,
    }
}

/// Returns a clock or calendar field of a time as an int. The time may be converted to a time zone.
pub(super) fn clock_field<'a>(args: &[Value<'a>], part: impl Fn(OffsetDateTime) -> i32) -> Value<'a> {
    to_local_time(args).map_or(Value::Missing, |at| Value::Int(part(at).into()))
}

pub(super) fn date<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let Some(at) = to_local_time(args) else { return Value::Missing };
    let date = at.date().to_string();
    arena.build_text(date.len(), |made| made.push_str(&date))
}
