//! Implements [`Codec`] for JSON values and points in time, whose types come from other crates.
//! Compiled rules can contain such values.

use super::{Codec, DecodeError, Reader, Writer};
use serde_json::{Map, Number, Value as Json};
use time::{OffsetDateTime, UtcOffset};

impl Codec for Json {
    fn write(&self, writer: &mut Writer) {
        match self {
            Json::Null => writer.write_byte(0),
            Json::Bool(false) => writer.write_byte(1),
            Json::Bool(true) => writer.write_byte(2),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => {
                    writer.write_byte(3);
                    writer.write_signed(int);
                }
                (_, Some(int), _) => {
                    writer.write_byte(4);
                    writer.write_number(int);
                }
                (.., float) => {
                    writer.write_byte(5);
                    float.unwrap_or_default().write(writer);
                }
            },
            Json::String(text) => {
                writer.write_byte(6);
                writer.write_text(text);
            }
            Json::Array(items) => {
                writer.write_byte(7);
                items.write(writer);
            }
            Json::Object(map) => {
                writer.write_byte(8);
                map.write(writer);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.read_byte()? {
            0 => Json::Null,
            1 => Json::Bool(false),
            2 => Json::Bool(true),
            3 => reader.read_signed()?.into(),
            4 => reader.read_number()?.into(),
            5 => Json::Number(
                Number::from_f64(f64::read(reader)?).ok_or(DecodeError("a number is not finite"))?,
            ),
            6 => Json::String((*reader.read_text()?).to_owned()),
            7 => Json::Array(Vec::read(reader)?),
            8 => Json::Object(Map::read(reader)?),
            _ => return Err(DecodeError("there is no such JSON value")),
        })
    }
}

impl Codec for Map<String, Json> {
    fn write(&self, writer: &mut Writer) {
        writer.write_number(self.len() as u64);
        for (key, value) in self {
            writer.write_text(key);
            value.write(writer);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.read_count()?;
        reader.read_nested(|reader| {
            (0..count).map(|_| Ok(((*reader.read_text()?).to_owned(), Json::read(reader)?))).collect()
        })
    }
}

impl Codec for OffsetDateTime {
    fn write(&self, writer: &mut Writer) {
        writer.write_signed(self.unix_timestamp());
        writer.write_number(self.nanosecond().into());
        writer.write_signed(self.offset().whole_seconds().into());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let invalid_time = DecodeError("there is no such time");
        let time = OffsetDateTime::from_unix_timestamp(reader.read_signed()?).map_err(|_| invalid_time)?;
        let nanoseconds = u32::read(reader)?;
        let time = time.replace_nanosecond(nanoseconds).map_err(|_| invalid_time)?;
        let offset = i32::try_from(reader.read_signed()?).map_err(|_| invalid_time)?;
        let offset = UtcOffset::from_whole_seconds(offset).map_err(|_| invalid_time)?;
        time.checked_to_offset(offset).ok_or(invalid_time)
    }
}
