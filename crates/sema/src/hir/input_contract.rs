//! The input contract of a program (the types that it requires of message fields), and how messages
//! violate the contract.

use super::{Program, Slot};
use rulec_base::broken_invariant;
use rulec_base::codec::impl_codec;
use rulec_base::json::DecimalPaths;
use rulec_lang::schema::{self, InputViolation};
use rulec_lang::ty::{Field, KindSet, RecordType, Ty};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::Arc;

/// An undeclared field with its inferred type: the kinds of value that every use of the field
/// accepts.
#[derive(Clone, Debug)]
pub struct InferredField {
    pub path: Vec<Arc<str>>,
    pub kinds: KindSet,
    /// A text that names the statement from which the type was inferred, for the error message of a
    /// violation.
    pub statement_description: Arc<str>,
}

impl Program {
    /// Returns the input contract: the declared `input`, or else the inferred fields, all optional.
    /// `None` if there is no `input` and no inferred field.
    pub fn input_contract(&self) -> Option<Cow<'_, RecordType>> {
        if let Some(input) = &self.input {
            return Some(Cow::Borrowed(input));
        }
        let mut record = RecordType::default();
        for InferredField { path, kinds, .. } in &self.inferred {
            insert_field(&mut record, path, *kinds);
        }
        (!self.inferred.is_empty()).then_some(Cow::Owned(record))
    }

    /// Returns the fields of a message: the declared `input`, or else all fields that the rules
    /// read, all optional.
    pub fn known_fields(&self) -> Cow<'_, RecordType> {
        if let Some(input) = &self.input {
            return Cow::Borrowed(input);
        }
        let mut record = RecordType::default();
        for slot in self.slots.iter().filter(|slot| slot.root.is_none()) {
            insert_field(&mut record, &slot.path, slot.kinds);
        }
        Cow::Owned(record)
    }

    /// Returns the positions in messages where the rules read decimals. A JSON reader must keep all
    /// digits of the numbers at these positions.
    pub fn decimal_paths(&self) -> DecimalPaths {
        let mut places = DecimalPaths::default();
        if let Some(input) = &self.input {
            places.merge(Ty::record(input.clone()).decimal_paths());
        }
        let decimals = |slot: &&Slot| slot.root.is_none() && slot.kinds.overlaps(KindSet::DECIMAL);
        for slot in self.slots.iter().filter(decimals) {
            let mut place = DecimalPaths::default();
            place.add_root_path();
            for name in slot.path.iter().rev() {
                let inner = std::mem::take(&mut place);
                place.add_field(name, inner);
            }
            places.merge(place);
        }
        places
    }

    /// Returns how a message violates the input contract (the declared or inferred types of its
    /// fields).
    pub fn contract_violations(&self, message: &Json) -> Vec<InputViolation> {
        let Some(contract) = self.input_contract() else { return Vec::new() };
        let mut violations = schema::find_input_violations(&contract, message);
        if self.input.is_none() {
            let inferred_field = |violation: &InputViolation| {
                self.inferred.iter().find(|field| field.path.join(".") == violation.path)
            };
            violations.retain_mut(|violation| {
                violation.hint =
                    inferred_field(violation).map(|field| field.statement_description.to_string());
                violation.hint.is_some()
            });
        }
        violations
    }
}

fn insert_field(record: &mut RecordType, path: &[Arc<str>], kinds: KindSet) {
    let Some((name, rest)) = path.split_first() else {
        return broken_invariant!("the path of a message field has a name");
    };
    let index = record.fields.iter().position(|field| field.name == *name).unwrap_or_else(|| {
        let ty = if rest.is_empty() { Ty::from_kinds(kinds) } else { Ty::record(RecordType::default()) };
        record.fields.push(Field { name: name.clone(), ty, is_optional: true, is_private: false });
        record.fields.len() - 1
    });
    let field = &mut record.fields[index];
    let mut inner = field.ty.fields().cloned().unwrap_or_default();
    if !rest.is_empty() {
        insert_field(&mut inner, rest, kinds);
        field.ty = Ty::record(inner);
    }
}

impl_codec!(struct InferredField { path, kinds, statement_description });
