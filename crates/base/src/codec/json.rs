//! The codec of types from other crates: JSON values and points in time.

use super::{Codec, DecodeError, Reader, Writer};
use serde_json::{Map, Number, Value as Json};
use time::{OffsetDateTime, UtcOffset};

impl Codec for Json {
    fn write(&self, to: &mut Writer) {
        match self {
            Json::Null => to.byte(0),
            Json::Bool(false) => to.byte(1),
            Json::Bool(true) => to.byte(2),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => {
                    to.byte(3);
                    to.signed(int);
                }
                (_, Some(int), _) => {
                    to.byte(4);
                    to.number(int);
                }
                (.., float) => {
                    to.byte(5);
                    float.unwrap_or_default().write(to);
                }
            },
            Json::String(text) => {
                to.byte(6);
                to.text(text);
            }
            Json::Array(items) => {
                to.byte(7);
                items.write(to);
            }
            Json::Object(map) => {
                to.byte(8);
                map.write(to);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match from.byte()? {
            0 => Json::Null,
            1 => Json::Bool(false),
            2 => Json::Bool(true),
            3 => from.signed()?.into(),
            4 => from.number()?.into(),
            5 => {
                Json::Number(Number::from_f64(f64::read(from)?).ok_or(DecodeError("a number is not finite"))?)
            }
            6 => Json::String((*from.text()?).to_owned()),
            7 => Json::Array(Vec::read(from)?),
            8 => Json::Object(Map::read(from)?),
            _ => return Err(DecodeError("there is no such JSON value")),
        })
    }
}

impl Codec for Map<String, Json> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        for (key, value) in self {
            to.text(key);
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.count()?;
        from.nested(|from| (0..count).map(|_| Ok(((*from.text()?).to_owned(), Json::read(from)?))).collect())
    }
}

impl Codec for OffsetDateTime {
    fn write(&self, to: &mut Writer) {
        to.signed(self.unix_timestamp());
        to.number(self.nanosecond().into());
        to.signed(self.offset().whole_seconds().into());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let fault = DecodeError("there is no such time");
        let at = OffsetDateTime::from_unix_timestamp(from.signed()?).map_err(|_| fault)?;
        let nanoseconds = u32::read(from)?;
        let at = at.replace_nanosecond(nanoseconds).map_err(|_| fault)?;
        let offset = i32::try_from(from.signed()?).map_err(|_| fault)?;
        let offset = UtcOffset::from_whole_seconds(offset).map_err(|_| fault)?;
        at.checked_to_offset(offset).ok_or(fault)
    }
}
