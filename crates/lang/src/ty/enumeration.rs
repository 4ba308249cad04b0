//! Enumerations: the texts that a field may have, as in `tier: "free" | "gold"`.

use rulec_base::codec::{Codec, DecodeError, Reader, Writer};
use std::fmt;
use std::sync::Arc;

/// The texts of an enumeration, in declaration order, without duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enumeration(Arc<[Arc<str>]>);

/// Maximum number of texts that a message about an enumeration shows, so that the message stays
/// short.
const MAX_SHOWN_VALUES: usize = 12;

impl Enumeration {
    /// Creates the enumeration that allows exactly these texts.
    pub fn new(values: impl IntoIterator<Item = Arc<str>>) -> Enumeration {
        Enumeration(values.into_iter().collect())
    }

    /// Returns the allowed texts, in declaration order.
    pub fn values(&self) -> &[Arc<str>] {
        &self.0
    }

    /// True if the enumeration allows this text.
    pub fn contains(&self, text: &str) -> bool {
        self.0.iter().any(|value| **value == *text)
    }

    /// True if `other` allows every text that this enumeration allows.
    pub fn is_subset_of(&self, other: &Enumeration) -> bool {
        self.0.iter().all(|value| other.contains(value))
    }
}

impl fmt::Display for Enumeration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            if index == MAX_SHOWN_VALUES {
                return f.write_str("…");
            }
            write!(f, "\"{}\"", value.escape_debug())?;
        }
        Ok(())
    }
}

impl Codec for Enumeration {
    fn write(&self, to: &mut Writer) {
        self.0.to_vec().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Enumeration, DecodeError> {
        Vec::<Arc<str>>::read(from).map(Enumeration::new)
    }
}
