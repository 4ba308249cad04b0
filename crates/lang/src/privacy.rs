//! Hides the values of `@private` fields. Every value or key of a message that an explanation,
//! error or log shows must pass through this file. This file replaces private values and keys by a
//! mask.

use crate::ty::{InnerType, KindSet, RecordType, Ty};
use rulec_base::diag::nearest;
use rulec_base::json::{JsonError, PathStep};
use serde_json::{Map, Value as Json};

/// The text that replaces a private value or key.
pub const MASK: &str = "•••";

/// The privacy of a value at some path of a message. If the shape of a value does not fit its
/// declared type, the value is private if the type contains any private field.
#[derive(Clone, Copy, Debug)]
pub enum Privacy<'t> {
    /// The value and all values inside it may be shown.
    Public,
    /// The message itself. Its undeclared fields are public, unless the name of a field looks like
    /// a misspelt private one.
    Message(&'t RecordType),
    /// A value whose type has private fields. The other fields that the type declares may be shown;
    /// undeclared fields count as private.
    Partly(&'t Ty),
    /// The whole value is private, except the names of declared fields, which are public. The type
    /// is used only for these names; `None` if no type is declared.
    Private(Option<&'t Ty>),
}

impl<'t> Privacy<'t> {
    /// Returns the privacy of a value of a declared type.
    pub fn of_type(ty: &'t Ty) -> Privacy<'t> {
        if may_contain_private(ty) { Privacy::Partly(ty) } else { Privacy::Public }
    }

    /// Returns the privacy of a message with these declared fields.
    pub fn of_message(input: &'t RecordType) -> Privacy<'t> {
        if has_private_field(input) { Privacy::Message(input) } else { Privacy::Public }
    }

    /// True if the value and all values inside it may be shown.
    pub fn is_public(self) -> bool {
        matches!(self, Privacy::Public)
    }

    /// Returns the privacy of the value under a key, and whether the key itself is private.
    pub fn at_key(self, key: &str) -> (Privacy<'t>, bool) {
        match self {
            Privacy::Public => (Privacy::Public, false),
            Privacy::Message(record) => match Privacy::privacy_of_field(record, key) {
                Some(privacy) => (privacy, false),
                None if is_misspelt_private(record, key) => (Privacy::Private(None), false),
                None => (Privacy::Public, false),
            },
            Privacy::Partly(ty) => match &ty.inner {
                InnerType::Fields(record) => Privacy::privacy_of_field(record, key)
                    .map_or((Privacy::Private(None), true), |privacy| (privacy, false)),
                InnerType::Element(value) if ty.kinds.overlaps(KindSet::DICT) => {
                    (Privacy::of_type(value), false)
                }
                InnerType::Element(_) | InnerType::Values(_) | InnerType::Unknown => {
                    (Privacy::Private(None), true)
                }
            },
            Privacy::Private(ty) => match ty.map(|ty| &ty.inner) {
                Some(InnerType::Fields(record)) => match record.get(key) {
                    Some(field) => (Privacy::Private(Some(&field.ty)), false),
                    None => (Privacy::Private(None), true),
                },
                Some(InnerType::Element(value)) => (Privacy::Private(Some(value)), true),
                Some(InnerType::Values(_) | InnerType::Unknown) | None => (Privacy::Private(None), true),
            },
        }
    }

    /// Returns the privacy of the elements of a list that has this privacy.
    pub fn at_index(self) -> Privacy<'t> {
        match self {
            Privacy::Public => Privacy::Public,
            Privacy::Message(_) => Privacy::Private(None),
            Privacy::Partly(ty) => match &ty.inner {
                InnerType::Element(element) if ty.kinds.overlaps(KindSet::LIST) => Privacy::of_type(element),
                _ => Privacy::Private(None),
            },
            Privacy::Private(ty) => match ty.map(|ty| &ty.inner) {
                Some(InnerType::Element(element)) => Privacy::Private(Some(element)),
                _ => Privacy::Private(None),
            },
        }
    }

    /// Masks the private keys in an error about JSON text: the keys in the error's path, and the
    /// key that the error reports as duplicate.
    #[must_use]
    pub fn mask_error(self, error: JsonError) -> JsonError {
        error.with_keys_changed(|steps, duplicate| {
            let mut privacy = self;
            for step in steps {
                match step {
                    PathStep::Index(_) => privacy = privacy.at_index(),
                    PathStep::Key(key) => privacy = privacy.mask_key(key),
                }
            }
            if let Some(key) = duplicate {
                privacy.mask_key(key);
            }
        })
    }

    /// Masks a key if it is private. Returns the privacy of the value under the key.
    fn mask_key(self, key: &mut String) -> Privacy<'t> {
        let (privacy, hidden) = self.at_key(key);
        if hidden {
            MASK.clone_into(key);
        }
        privacy
    }

    fn privacy_of_field(record: &'t RecordType, key: &str) -> Option<Privacy<'t>> {
        let field = record.get(key)?;
        Some(if field.is_private { Privacy::Private(Some(&field.ty)) } else { Privacy::of_type(&field.ty) })
    }

    /// Replaces the private values inside a value by [`MASK`], and the private keys too. A value
    /// whose shape does not fit its declared type is replaced as a whole. Null is not replaced,
    /// because it counts as missing.
    pub fn mask(self, json: Json) -> Json {
        match (self, json) {
            (Privacy::Public, json) => json,
            // Null counts as missing, so a mask would claim that there is a value.
            (_, Json::Null) => Json::Null,
            (Privacy::Private(_), _) => Json::from(MASK),
            (_, Json::Object(map)) if self.may_show_object() => {
                let entries = map.into_iter().map(|(key, value)| {
                    let (privacy, hidden) = self.at_key(&key);
                    (if hidden { MASK.to_owned() } else { key }, privacy.mask(value))
                });
                Json::Object(entries.collect::<Map<String, Json>>())
            }
            (Privacy::Partly(ty), Json::Array(items)) if ty.kinds.overlaps(KindSet::LIST) => {
                Json::Array(items.into_iter().map(|item| self.at_index().mask(item)).collect())
            }
            // The value does not have the declared shape, so any part may be private.
            _ => Json::from(MASK),
        }
    }

    fn may_show_object(self) -> bool {
        match self {
            Privacy::Partly(ty) => ty.kinds.overlaps(KindSet::DICT),
            Privacy::Public | Privacy::Message(_) => true,
            Privacy::Private(_) => false,
        }
    }
}

/// True if values of the type may contain a private field.
pub fn may_contain_private(ty: &Ty) -> bool {
    match &ty.inner {
        InnerType::Unknown | InnerType::Values(_) => false,
        InnerType::Element(element) => may_contain_private(element),
        InnerType::Fields(record) => has_private_field(record),
    }
}

fn has_private_field(record: &RecordType) -> bool {
    record.fields.iter().any(|field| field.is_private || may_contain_private(&field.ty))
}

fn is_misspelt_private(record: &RecordType, key: &str) -> bool {
    let lower = key.to_lowercase();
    let private = record.fields.iter().filter(|field| field.is_private || may_contain_private(&field.ty));
    let mut names = private.map(|field| &*field.name).peekable();
    names.peek().is_some() && names.any(|name| name.to_lowercase() == lower || nearest(key, [name]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ty::Field;
    use serde_json::json;

    fn record_type(fields: &[(&str, Ty, bool)]) -> RecordType {
        let field = |(name, ty, private): &(&str, Ty, bool)| Field {
            name: (*name).into(),
            ty: ty.clone(),
            is_optional: true,
            is_private: *private,
        };
        fields.iter().map(field).collect()
    }

    #[test]
    fn values_of_undeclared_shape_are_masked() {
        let user = Ty::record(record_type(&[("id", Ty::INT, false), ("phone", Ty::STRING, true)]));
        let input = record_type(&[
            ("user", user.clone(), false),
            ("users", Ty::list(user.clone()), false),
            ("by_name", Ty::dict(user), false),
            ("book", Ty::dict(Ty::STRING), true),
            ("text", Ty::STRING, false),
        ]);
        let check = |message: Json, expected: Json| {
            assert_eq!(Privacy::of_message(&input).mask(message.clone()), expected, "{message}");
        };
        check(json!({"text": ["a"], "x": {"y": 1}}), json!({"text": ["a"], "x": {"y": 1}}));
        check(json!({"user": {"id": 1, "phone": "S"}}), json!({"user": {"id": 1, "phone": MASK}}));
        check(json!({"user": {"id": 1, "fone": "S"}}), json!({"user": {"id": 1, MASK: MASK}}));
        check(json!({"user": [{"phone": "S"}]}), json!({"user": MASK}));
        check(json!({"users": {"S": {"phone": "S"}}}), json!({"users": MASK}));
        check(
            json!({"users": ["S", null, [1], {"id": "S"}]}),
            json!({"users": [MASK, null, MASK, {"id": "S"}]}),
        );
        check(json!({"by_name": {"ann": {"phone": 1}}}), json!({"by_name": {"ann": {"phone": MASK}}}));
        check(json!({"by_name": [{"phone": "S"}]}), json!({"by_name": MASK}));
        check(
            json!({"book": {"S": "S"}, "Book": "S", "boook": 1}),
            json!({"book": MASK, "Book": MASK, "boook": MASK}),
        );
        check(json!(["S"]), json!(MASK));
    }

    #[test]
    fn keys_of_private_dicts_are_private() {
        let book = Ty::dict(Ty::dict(Ty::STRING));
        let input = record_type(&[
            ("book", book, true),
            ("card", Ty::record(record_type(&[("pin", Ty::INT, false)])), true),
        ]);
        let hidden = |path: &[&str]| {
            let mut privacy = Privacy::of_message(&input);
            let mut keys = Vec::new();
            for key in path {
                let (next, hidden) = privacy.at_key(key);
                (privacy, _) = (next, keys.push(hidden));
            }
            keys
        };
        assert_eq!(hidden(&["book", "S", "S"]), [false, true, true]);
        assert_eq!(hidden(&["card", "pin"]), [false, false]);
        assert_eq!(hidden(&["card", "S", "pin"]), [false, true, true]);
        assert_eq!(hidden(&["other", "S"]), [false, false]);
    }
}
