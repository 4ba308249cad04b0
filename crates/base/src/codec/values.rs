//! The codec of numbers, texts and collections.

use super::{Codec, DecodeError, Reader, Writer};
use std::sync::Arc;

/// Maximum number of bytes to preallocate for a collection, because its encoded length may be
/// false.
const MAX_PREALLOCATED_BYTES: usize = 1 << 20;

macro_rules! impl_codec_for_unsigned {
    ($($ty:ty)*) => {$(
        impl Codec for $ty {
            fn write(&self, to: &mut Writer) {
                to.write_number(*self as u64);
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                <$ty>::try_from(from.read_number()?).map_err(|_| DecodeError("a number is too large"))
            }
        }
    )*};
}
impl_codec_for_unsigned!(u16 u32 u64 usize);

impl Codec for u8 {
    fn write(&self, to: &mut Writer) {
        to.write_byte(*self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.read_byte()
    }
}

impl Codec for bool {
    fn write(&self, to: &mut Writer) {
        to.write_byte(u8::from(*self));
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.read_byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError("a bool is neither true nor false")),
        }
    }
}

impl Codec for i64 {
    fn write(&self, to: &mut Writer) {
        to.write_signed(*self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.read_signed()
    }
}

impl Codec for f64 {
    fn write(&self, to: &mut Writer) {
        to.write_raw(&self.to_bits().to_le_bytes());
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = from.read_raw(8)?.first_chunk().copied().unwrap_or_default();
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }
}

impl Codec for Arc<str> {
    fn write(&self, to: &mut Writer) {
        to.write_text(self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.read_text()
    }
}

impl Codec for Box<str> {
    fn write(&self, to: &mut Writer) {
        to.write_text(self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((&*from.read_text()?).into())
    }
}

impl Codec for String {
    fn write(&self, to: &mut Writer) {
        to.write_number(self.len() as u64);
        to.write_raw(self.as_bytes());
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = from.read_count()?;
        let text =
            std::str::from_utf8(from.read_raw(length)?).map_err(|_| DecodeError("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

impl<T: Codec> Codec for Option<T> {
    fn write(&self, to: &mut Writer) {
        to.write_byte(u8::from(self.is_some()));
        if let Some(item) = self {
            item.write(to);
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Codec> Codec for Vec<T> {
    fn write(&self, to: &mut Writer) {
        to.write_number(self.len() as u64);
        self.iter().for_each(|item| item.write(to));
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.read_count()?;
        // An untrusted count may exceed the actual elements, so the preallocation is limited.
        let room = count.min(MAX_PREALLOCATED_BYTES.max(from.rest.len()) / size_of::<T>().max(1));
        let mut items = Vec::with_capacity(room);
        from.read_nested(|from| {
            for _ in 0..count {
                items.push(T::read(from)?);
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
            fn write(&self, to: &mut Writer) {
                (**self).write(to);
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                from.read_nested(T::read).map($pointer::new)
            }
        }
    )*};
}
impl_codec_for_pointers!(Box Arc);

impl<A: Codec, B: Codec> Codec for (A, B) {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
        self.1.write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((A::read(from)?, B::read(from)?))
    }
}
