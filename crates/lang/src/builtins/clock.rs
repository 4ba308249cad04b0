//! Functions that read the clock and calendar of a time: at the offset it is written with, or in a time zone.

use crate::arena::Arena;
use crate::value::Value;
use rulec_base::text::zone;
use time::{OffsetDateTime, UtcOffset};

/// The time that is asked for, in the zone that is named beside it.
fn local(args: &[Value<'_>]) -> Option<OffsetDateTime> {
    match *args {
        [Value::DateTime(at)] => Some(at),
        [Value::DateTime(at), Value::Str(name)] => {
            let seconds = zone::offset(name, at.unix_timestamp())?;
            at.checked_to_offset(UtcOffset::from_whole_seconds(seconds).ok()?)
        }
        _ => None,
    }
}

/// A number on the clock or in the calendar.
pub(super) fn part<'a>(args: &[Value<'a>], part: impl Fn(OffsetDateTime) -> i32) -> Value<'a> {
    local(args).map_or(Value::Missing, |at| Value::Int(part(at).into()))
}

pub(super) fn date<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let Some(at) = local(args) else { return Value::Missing };
    let date = at.date().to_string();
    arena.text(date.len(), |made| made.push_str(&date))
}
