//! Record types: the declared fields of an object, in order. Rules look fields up by name, so a
//! record with many fields also has a hash index of the names.

use super::Ty;
use hashbrown::HashMap;
use rulec_base::codec::{Codec, DecodeError, Reader, Writer, impl_codec};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    pub name: Arc<str>,
    pub ty: Ty,
    pub is_optional: bool,
    pub is_private: bool,
}

/// The fields of a record type, in declaration order. After the first lookup of a name, fields may
/// be added only by `RecordType::push`, which also updates the index of names.
#[derive(Clone, Debug, Default)]
pub struct RecordType {
    pub fields: Vec<Field>,
    /// The position of each name in `fields`, built on the first lookup in a large record.
    position_by_name: OnceLock<Box<HashMap<Arc<str>, usize>>>,
}

/// Minimum number of fields for which a hash index is built. A shorter record is searched linearly,
/// which is faster for few names.
const MIN_INDEXED_FIELDS: usize = 9;

impl RecordType {
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.position(name).map(|index| &self.fields[index])
    }

    /// Returns the position in `fields` of the field with this name; `None` if there is none.
    pub fn position(&self, name: &str) -> Option<usize> {
        if self.fields.len() < MIN_INDEXED_FIELDS {
            return self.fields.iter().position(|field| &*field.name == name);
        }
        let build_index = || {
            let mut positions = HashMap::with_capacity(self.fields.len());
            for (position, field) in self.fields.iter().enumerate() {
                positions.entry(field.name.clone()).or_insert(position);
            }
            Box::new(positions)
        };
        self.position_by_name.get_or_init(build_index).get(name).copied()
    }

    pub fn push(&mut self, field: Field) {
        if let Some(positions) = self.position_by_name.get_mut() {
            positions.entry(field.name.clone()).or_insert(self.fields.len());
        }
        self.fields.push(field);
    }

    /// Returns the names of the record type's fields, in declaration order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| &*field.name)
    }
}

impl FromIterator<Field> for RecordType {
    fn from_iter<I: IntoIterator<Item = Field>>(fields: I) -> RecordType {
        RecordType { fields: fields.into_iter().collect(), position_by_name: OnceLock::new() }
    }
}

impl PartialEq for RecordType {
    fn eq(&self, other: &RecordType) -> bool {
        self.fields == other.fields
    }
}

impl Eq for RecordType {}

impl Hash for RecordType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fields.hash(state);
    }
}

impl Codec for RecordType {
    fn write(&self, to: &mut Writer) {
        self.fields.write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<RecordType, DecodeError> {
        Vec::<Field>::read(from).map(RecordType::from_iter)
    }
}

impl_codec!(struct Field { name, ty, is_optional, is_private });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_whenever_it_is_added() {
        let field = |index: usize| Field {
            name: format!("f{index}").into(),
            ty: Ty::INT,
            is_optional: false,
            is_private: false,
        };
        let mut record = RecordType::default();
        for index in 0..40 {
            assert_eq!(record.position(&format!("f{index}")), None);
            record.push(field(index));
            assert!((0..=index).all(|index| record.position(&format!("f{index}")) == Some(index)), "{index}");
        }
        let collected: RecordType = (0..40).map(field).collect();
        assert_eq!(collected, record);
        assert_eq!(collected.get("f39").map(|field| &*field.name), Some("f39"));
    }
}
