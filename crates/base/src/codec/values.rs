//! Implements [`Codec`] for numbers, texts and collections. All other types of compiled rules are
//! encoded as sequences of such values.

use super::{Codec, DecodeError, Reader, Writer};
use std::sync::Arc;

/// Maximum number of bytes to preallocate for a collection. A false length in damaged data could
/// otherwise claim any amount of memory.
const MAX_PREALLOCATED_BYTES: usize = 1 << 20;

macro_rules! impl_codec_for_unsigned {
    ($($ty:ty)*) => {$(
        impl Codec for $ty {
            fn write(&self, writer: &mut Writer) {
                writer.write_number(*self as u64);
            }
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                <$ty>::try_from(reader.read_number()?).map_err(|_| DecodeError("a number is too large"))
            }
        }
    )*};
}
impl_codec_for_unsigned!(u16 u32 u64 usize);

impl Codec for u8 {
    fn write(&self, writer: &mut Writer) {
        writer.write_byte(*self);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.read_byte()
    }
}

impl Codec for bool {
    fn write(&self, writer: &mut Writer) {
        writer.write_byte(u8::from(*self));
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.read_byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError("a bool is neither true nor false")),
        }
    }
}

impl Codec for i64 {
    fn write(&self, writer: &mut Writer) {
        writer.write_signed(*self);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.read_signed()
    }
}

impl Codec for f64 {
    fn write(&self, writer: &mut Writer) {
        writer.write_raw(&self.to_bits().to_le_bytes());
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.read_raw(8)?.first_chunk().copied().unwrap_or_default();
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }
}

impl Codec for Arc<str> {
    fn write(&self, writer: &mut Writer) {
        writer.write_text(self);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.read_text()
    }
}

impl Codec for Box<str> {
    fn write(&self, writer: &mut Writer) {
        writer.write_text(self);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((&*reader.read_text()?).into())
    }
}

impl Codec for String {
    fn write(&self, writer: &mut Writer) {
        writer.write_number(self.len() as u64);
        writer.write_raw(self.as_bytes());
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = reader.read_count()?;
        let text =
            std::str::from_utf8(reader.read_raw(length)?).map_err(|_| DecodeError("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

impl<T: Codec> Codec for Option<T> {
    fn write(&self, writer: &mut Writer) {
        writer.write_byte(u8::from(self.is_some()));
        if let Some(item) = self {
            item.write(writer);
        }
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(if bool::read(reader)? { Some(T::read(reader)?) } else { None })
    }
}

impl<T: Codec> Codec for Vec<T> {
    fn write(&self, writer: &mut Writer) {
        writer.write_number(self.len() as u64);
        self.iter().for_each(|item| item.write(writer));
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.read_count()?;
        // An untrusted count may exceed the actual elements, so the preallocation is limited.
        let capacity =
            count.min(MAX_PREALLOCATED_BYTES.max(reader.unread_bytes.len()) / size_of::<T>().max(1));
        let mut items = Vec::with_capacity(capacity);
        reader.read_nested(|reader| {
            for _ in 0..count {
                items.push(T::read(reader)?);
            }
            Ok(())
        })?;
        items.shrink_to_fit();
        Ok(items)
    }
}

macro_rules! impl_codec_for_pointers {
    ($($pointer:ident)*) => {$(
        impl<T: Codec> Codec for $pointer<T> {
            fn write(&self, writer: &mut Writer) {
                (**self).write(writer);
            }
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                reader.read_nested(T::read).map($pointer::new)
            }
        }
    )*};
}
impl_codec_for_pointers!(Box Arc);

impl<A: Codec, B: Codec> Codec for (A, B) {
    fn write(&self, writer: &mut Writer) {
        self.0.write(writer);
        self.1.write(writer);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((A::read(reader)?, B::read(reader)?))
    }
}
