//! The codec of types from other crates: JSON values and points in time.

use super::{Codec, DecodeError, Reader, Writer};
use serde_json::{Map, Number, Value as Json};
use time::{OffsetDateTime, UtcOffset};

impl Codec for Json {
    fn write(&self, to: &mut Writer) {
        match self {
            Json::Null => to.write_byte(0),
            Json::Bool(false) => to.write_byte(1),
            Json::Bool(true) => to.write_byte(2),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => {
                    to.write_byte(3);
                    to.write_signed(int);
                }
                (_, Some(int), _) => {
                    to.write_byte(4);
                    to.write_number(int);
                }
                (.., float) => {
                    to.write_byte(5);
                    float.unwrap_or_default().write(to);
                }
            },
            Json::String(text) => {
                to.write_byte(6);
                to.write_text(text);
            }
            Json::Array(items) => {
                to.write_byte(7);
                items.write(to);
            }
            Json::Object(map) => {
                to.write_byte(8);
                map.write(to);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match from.read_byte()? {
            0 => Json::Null,
            1 => Json::Bool(false),
            2 => Json::Bool(true),
            3 => from.read_signed()?.into(),
            4 => from.read_number()?.into(),
            5 => {
                Json::Number(Number::from_f64(f64::read(from)?).ok_or(DecodeError("a number is not finite"))?)
            }
            6 => Json::String((*from.read_text()?).to_owned()),
            7 => Json::Array(Vec::read(from)?),
            8 => Json::Object(Map::read(from)?),
            _ => return Err(DecodeError("there is no such JSON value")),
        })
    }
}

impl Codec for Map<String, Json> {
    fn write(&self, to: &mut Writer) {
        to.write_number(self.len() as u64);
        for (key, value) in self {
            to.write_text(key);
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.read_count()?;
        from.read_nested(|from| {
            (0..count).map(|_| Ok(((*from.read_text()?).to_owned(), Json::read(from)?))).collect()
        })
    }
}

impl Codec for OffsetDateTime {
    fn write(&self, to: &mut Writer) {
        to.write_signed(self.unix_timestamp());
        to.write_number(self.nanosecond().into());
        to.write_signed(self.offset().whole_seconds().into());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let fault = DecodeError("there is no such time");
        let at = OffsetDateTime::from_unix_timestamp(from.read_signed()?).map_err(|_| fault)?;
        let nanoseconds = u32::read(from)?;
        let at = at.replace_nanosecond(nanoseconds).map_err(|_| fault)?;
        let offset = i32::try_from(from.read_signed()?).map_err(|_| fault)?;
        let offset = UtcOffset::from_whole_seconds(offset).map_err(|_| fault)?;
        at.checked_to_offset(offset).ok_or(fault)
    }
}
