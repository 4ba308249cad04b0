//! The places in a message where a number keeps all its digits. A float would round a long decimal
//! number such as `0.1234567890123456789`.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The places, at a value and inside it, where numbers keep all their digits. The rules read
/// decimals at these places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecimalPaths {
    /// Whether the value itself is such a place.
    has_number: bool,
    /// The places inside each element of a list, or inside the value of each key of a dict.
    elements: Option<Box<DecimalPaths>>,
    /// The places inside the fields of a record.
    fields: BTreeMap<Arc<str>, DecimalPaths>,
}

impl DecimalPaths {
    /// Returns a set without places.
    pub fn none() -> &'static DecimalPaths {
        static NONE: DecimalPaths =
            DecimalPaths { has_number: false, elements: None, fields: BTreeMap::new() };
        &NONE
    }

    /// True if there are no places.
    pub fn is_empty(&self) -> bool {
        !self.has_number && self.elements.is_none() && self.fields.is_empty()
    }

    /// True if a number at the value itself keeps its digits.
    pub fn has_number(&self) -> bool {
        self.has_number
    }

    /// Returns the places inside each element of the value, if the value is a list.
    pub fn elements(&self) -> Option<&DecimalPaths> {
        self.elements.as_deref()
    }

    /// Returns the places inside the value of a key, if the value is a dict or record.
    pub fn field(&self, name: &str) -> Option<&DecimalPaths> {
        self.fields.get(name).or(self.elements.as_deref())
    }

    /// Adds the value itself to the places: a number there keeps all its digits.
    pub fn add_number(&mut self) {
        self.has_number = true;
    }

    /// Adds places inside each element of the value.
    pub fn add_elements(&mut self, places: DecimalPaths) {
        if !places.is_empty() {
            self.elements.get_or_insert_default().merge(places);
        }
    }

    /// Adds places inside a field of the value.
    pub fn add_field(&mut self, name: &Arc<str>, places: DecimalPaths) {
        if !places.is_empty() {
            self.fields.entry(name.clone()).or_default().merge(places);
        }
    }

    /// Adds all places of another set.
    pub fn merge(&mut self, other: DecimalPaths) {
        self.has_number |= other.has_number;
        if let Some(elements) = other.elements {
            self.add_elements(*elements);
        }
        for (name, places) in other.fields {
            self.add_field(&name, places);
        }
    }
}
