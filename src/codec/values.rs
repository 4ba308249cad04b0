//! The codec of numbers, texts and collections.

use super::{Fault, Reader, Stored, Writer};
use std::sync::Arc;

/// At most these bytes are set aside before what a count promises has been seen.
const TRUST: usize = 1 << 20;

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Stored for $ty {
            fn write(&self, to: &mut Writer) {
                to.number(*self as u64);
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
                <$ty>::try_from(from.number()?).map_err(|_| Fault("a number is too large"))
            }
        }
    )*};
}
numbers!(u16 u32 u64 usize);

impl Stored for u8 {
    fn write(&self, to: &mut Writer) {
        to.byte(*self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        from.byte()
    }
}

impl Stored for bool {
    fn write(&self, to: &mut Writer) {
        to.byte(u8::from(*self));
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Fault("a bool is neither true nor false")),
        }
    }
}

impl Stored for i64 {
    fn write(&self, to: &mut Writer) {
        to.signed(*self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        from.signed()
    }
}

impl Stored for f64 {
    fn write(&self, to: &mut Writer) {
        to.raw(&self.to_bits().to_le_bytes());
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let bytes = from.raw(8)?.first_chunk().copied().unwrap_or_default();
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }
}

impl Stored for Arc<str> {
    fn write(&self, to: &mut Writer) {
        to.text(self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        from.text()
    }
}

impl Stored for Box<str> {
    fn write(&self, to: &mut Writer) {
        to.text(self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok((&*from.text()?).into())
    }
}

impl Stored for String {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        to.raw(self.as_bytes());
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let length = from.count()?;
        let text = std::str::from_utf8(from.raw(length)?).map_err(|_| Fault("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, to: &mut Writer) {
        to.byte(u8::from(self.is_some()));
        if let Some(item) = self {
            item.write(to);
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        self.iter().for_each(|item| item.write(to));
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let count = from.count()?;
        // A count may promise more than the bytes hold, so room is made for what has come.
        let room = count.min(TRUST.max(from.rest.len()) / size_of::<T>().max(1));
        let mut items = Vec::with_capacity(room);
        from.nested(|from| {
            for _ in 0..count {
                items.push(T::read(from)?);
            }
            Ok(())
        })?;
        items.shrink_to_fit();
        Ok(items)
    }
}

impl<T: Stored> Stored for Box<[T]> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        self.iter().for_each(|item| item.write(to));
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Vec::read(from)?.into())
    }
}

impl<T: Stored> Stored for Box<T> {
    fn write(&self, to: &mut Writer) {
        (**self).write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Box::new(from.nested(T::read)?))
    }
}

impl<T: Stored> Stored for Arc<T> {
    fn write(&self, to: &mut Writer) {
        (**self).write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Arc::new(from.nested(T::read)?))
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
        self.1.write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok((A::read(from)?, B::read(from)?))
    }
}
