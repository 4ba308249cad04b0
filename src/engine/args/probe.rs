//! Checks that a Rust type accepts the arguments that rules give to a handler, before any message
//! arrives. Only the types of the arguments are known then. So the check deserializes the Rust type
//! with serde from a sample value for each argument. If the Rust type asks serde for a kind of
//! value that an argument does not have, the check fails.

use super::ArgsError;
use rulec_base::message;
use rulec_lang::ty::{InnerType, Kind, KindSet, Ty};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use std::cell::Cell;
use std::fmt;

/// The settings of a check that a Rust type accepts the arguments of a handler: the handler, and
/// how strict the check is.
#[derive(Clone, Copy)]
pub(super) struct ArgumentsCheck<'a> {
    pub handler: &'a str,
    /// Whether the Rust type must accept every kind of value (string, integer, …) of an argument's
    /// type. If false, one accepted kind is enough.
    pub is_strict: bool,
}

impl ArgumentsCheck<'_> {
    /// Checks that the Rust type `T` accepts the arguments `given`, which are pairs of name and
    /// type. If the own code of `T` refuses a sample value, it might still accept the real value.
    /// The check then runs again without the argument whose sample was refused.
    pub fn check_all_arguments<T: DeserializeOwned>(self, given: &[(&str, &Ty)]) -> Result<(), ArgsError> {
        let mut given = given.to_vec();
        let mut undecided: Vec<&str> = Vec::new();
        loop {
            let current_argument = Cell::new(None);
            let probe = ArgumentsProbe {
                arguments: &given,
                is_strict: self.is_strict,
                current_argument: &current_argument,
            };
            let problem = match T::deserialize(probe) {
                Ok(_) => return Ok(()),
                Err(problem) => problem,
            };
            let (handler, at) = (self.handler, current_argument.get());
            let message = match (problem, at.and_then(|at| given.get(at))) {
                (ProbeError::Missing(name), None) if undecided.contains(&&*name) => return Ok(()),
                (ProbeError::Missing(name), None) => message!(
                    "the rules give `{handler}` no argument `{name}`, which the program requires; add it to \
                     the rules, or make it an `Option`"
                ),
                (ProbeError::Unknown(name), None) => {
                    message!(
                        "the rules give `{handler}` the argument `{name}`, which the program does not take"
                    )
                }
                (ProbeError::Mismatch(expected), Some((name, ty))) => message!(
                    "the rules give `{handler}` the argument `{name}` of type {ty}, but the program takes \
                     {expected}"
                ),
                (ProbeError::Mismatch(expected), None) => {
                    message!("the rules give `{handler}` named arguments, but the program takes {expected}")
                }
                (ProbeError::Missing(field) | ProbeError::Unknown(field), Some((name, _))) => message!(
                    "the rules give `{handler}` the argument `{name}`, whose field `{field}` differs from \
                     what the program takes"
                ),
                (ProbeError::Undecided, Some((name, _))) => {
                    undecided.push(name);
                    given.remove(at.unwrap_or_default());
                    continue;
                }
                (ProbeError::Undecided, None) => return Ok(()),
            };
            return Err(ArgsError { message });
        }
    }
}

/// The reason why a Rust type could not be deserialized from sample values.
#[derive(Debug)]
enum ProbeError {
    /// The Rust type expects another kind of value, which the text names.
    Mismatch(String),
    Missing(String),
    Unknown(String),
    /// The `Deserialize` implementation of the Rust type refused the sample value. The
    /// implementation might accept the real value, so the check has no result.
    Undecided,
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ProbeError {}

impl de::Error for ProbeError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        ProbeError::Undecided
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        ProbeError::Mismatch(expected.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        ProbeError::Missing(field.to_owned())
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        ProbeError::Unknown(field.to_owned())
    }
}

/// Deserializer that provides all arguments of a handler as one object of sample values.
struct ArgumentsProbe<'p> {
    arguments: &'p [(&'p str, &'p Ty)],
    is_strict: bool,
    /// Index of the argument that is being read, for error messages; `None` if no argument is being
    /// read.
    current_argument: &'p Cell<Option<usize>>,
}

impl<'de> Deserializer<'de> for ArgumentsProbe<'_> {
    type Error = ProbeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        let fields = self.arguments.iter().map(|(name, ty)| (*name, Some(*ty))).collect();
        visitor.visit_map(FieldsProbe {
            fields,
            is_strict: self.is_strict,
            next_index: 0,
            current_argument: Some(self.current_argument),
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_some(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Deserializer that provides sample values for the fields of an object, each with its type.
struct FieldsProbe<'p> {
    fields: Vec<(&'p str, Option<&'p Ty>)>,
    is_strict: bool,
    next_index: usize,
    current_argument: Option<&'p Cell<Option<usize>>>,
}

impl FieldsProbe<'_> {
    fn set_current_argument(&self, field: Option<usize>) {
        if let Some(current_argument) = self.current_argument {
            current_argument.set(field);
        }
    }
}

impl<'de> MapAccess<'de> for FieldsProbe<'_> {
    type Error = ProbeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ProbeError> {
        let Some((name, _)) = self.fields.get(self.next_index) else { return Ok(None) };
        let key: StrDeserializer<'_, ProbeError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ProbeError> {
        let ty = self.fields.get(self.next_index).and_then(|(_, ty)| *ty);
        self.set_current_argument(Some(self.next_index));
        self.next_index += 1;
        let value = seed.deserialize(TypeProbe { ty: ty.unwrap_or(ANY_TYPE), is_strict: self.is_strict })?;
        self.set_current_argument(None);
        Ok(value)
    }
}

/// Deserializer that provides a sample value of one type.
#[derive(Clone, Copy)]
struct TypeProbe<'p> {
    ty: &'p Ty,
    is_strict: bool,
}

const ANY_TYPE: &Ty = &Ty::ANY;

const TEXT_KINDS: KindSet = KindSet::STRING.union(KindSet::DATETIME).union(KindSet::VERSION);

impl<'p> TypeProbe<'p> {
    /// Checks that the argument's type has one of the kinds of values that the Rust type expects.
    /// If not, returns an error in which `expected` names those kinds.
    fn expect_kinds(self, kinds: KindSet, expected: impl fmt::Display) -> Result<(), ProbeError> {
        let found = self.ty.kinds;
        let fits = found == KindSet::MESSAGE_KINDS
            || if self.is_strict { found.is_subset_of(kinds) } else { found.overlaps(kinds) };
        fits.then_some(()).ok_or_else(|| ProbeError::Mismatch(expected.to_string()))
    }

    fn element_probe(self) -> TypeProbe<'p> {
        match &self.ty.inner {
            InnerType::Element(element) => TypeProbe { ty: element, ..self },
            _ => TypeProbe { ty: ANY_TYPE, ..self },
        }
    }

    fn fields_probe(self) -> FieldsProbe<'p> {
        let record = self.ty.fields().map(|record| record.fields.iter());
        let fields = record.into_iter().flatten().map(|field| (&*field.name, Some(&field.ty))).collect();
        FieldsProbe { fields, is_strict: self.is_strict, next_index: 0, current_argument: None }
    }

    /// Returns a sample string that is valid for the type.
    fn sample_text(self) -> &'static str {
        match self.ty.kinds {
            KindSet::DATETIME => "2026-01-31T00:00:00Z",
            KindSet::VERSION => "1.0.0",
            KindSet::DECIMAL => "1",
            _ => "a",
        }
    }
}

macro_rules! scalar_hints {
    ($($method:ident $ty:ident $visit:ident $kinds:expr, $value:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
            self.expect_kinds($kinds, stringify!($ty))?;
            visitor.$visit($value)
        }
    )*};
}

impl<'de> Deserializer<'de> for TypeProbe<'_> {
    type Error = ProbeError;

    scalar_hints! {
        deserialize_bool bool visit_bool KindSet::BOOL, true;
        deserialize_i8 i8 visit_i8 KindSet::INT, 1;
        deserialize_i16 i16 visit_i16 KindSet::INT, 1;
        deserialize_i32 i32 visit_i32 KindSet::INT, 1;
        deserialize_i64 i64 visit_i64 KindSet::INT, 1;
        deserialize_i128 i128 visit_i128 KindSet::INT, 1;
        deserialize_u8 u8 visit_u8 KindSet::INT, 1;
        deserialize_u16 u16 visit_u16 KindSet::INT, 1;
        deserialize_u32 u32 visit_u32 KindSet::INT, 1;
        deserialize_u64 u64 visit_u64 KindSet::INT, 1;
        deserialize_u128 u128 visit_u128 KindSet::INT, 1;
        deserialize_f32 f32 visit_f32 KindSet::NUMBER, 1.0;
        deserialize_f64 f64 visit_f64 KindSet::NUMBER, 1.0;
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.expect_kinds(TEXT_KINDS, "a string")?;
        visitor.visit_str(self.sample_text())
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        match self.ty.kinds.iter().next() {
            // The type is unknown, and the sample string is only a guess. So if the Rust type
            // refuses the string, the check has no result.
            _ if self.ty.kinds == KindSet::MESSAGE_KINDS => {
                visitor.visit_str(self.sample_text()).map_err(|_: ProbeError| ProbeError::Undecided)
            }
            Some(Kind::Bool) => visitor.visit_bool(true),
            Some(Kind::Int) => visitor.visit_i64(1),
            Some(Kind::Float) => visitor.visit_f64(1.0),
            // A decimal with many digits arrives as a string, so the Rust type must accept strings.
            Some(Kind::String | Kind::DateTime | Kind::Version | Kind::Decimal) => {
                visitor.visit_str(self.sample_text())
            }
            Some(Kind::List) => self.deserialize_seq(visitor),
            Some(Kind::Dict) => self.deserialize_map(visitor),
            None => Err(ProbeError::Undecided),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.expect_kinds(KindSet::LIST, "a list")?;
        visitor.visit_seq(OneElementList(Some(self.element_probe())))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ProbeError> {
        self.expect_kinds(KindSet::LIST, "a list")?;
        // The length of the list is unknown.
        Err(ProbeError::Undecided)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.expect_kinds(KindSet::DICT, "an object")?;
        visitor.visit_map(self.fields_probe())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.expect_kinds(KindSet::DICT, format_args!("an object, {name}"))?;
        match self.ty.fields() {
            Some(_) => visitor.visit_map(self.fields_probe()),
            None => Err(ProbeError::Undecided),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.expect_kinds(TEXT_KINDS.union(KindSet::DICT), format_args!("a variant of {name}"))?;
        let first = variants.first().ok_or(ProbeError::Undecided)?;
        // It is unknown which variant the argument will name, so a refusal of this one is no
        // result.
        visitor.visit_enum(FirstEnumVariant(first)).map_err(|_: ProbeError| ProbeError::Undecided)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_unit()
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.deserialize_str(visitor)
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit unit_struct identifier }
}

/// A sample list with one element, from which serde reads. `None` after the element was read.
struct OneElementList<'p>(Option<TypeProbe<'p>>);

impl<'de> SeqAccess<'de> for OneElementList<'_> {
    type Error = ProbeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ProbeError> {
        self.0.take().map(|element| seed.deserialize(element)).transpose()
    }
}

/// A sample enum value: the variant with this name, without data. The name is the first that the
/// Rust type declares. If this variant has data, the check ends without a result
/// ([`ProbeError::Undecided`]).
struct FirstEnumVariant(&'static str);

impl<'de> EnumAccess<'de> for FirstEnumVariant {
    type Error = ProbeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ProbeError> {
        let name: StrDeserializer<'_, ProbeError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for FirstEnumVariant {
    type Error = ProbeError;

    fn unit_variant(self) -> Result<(), ProbeError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, ProbeError> {
        Err(ProbeError::Undecided)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ProbeError> {
        Err(ProbeError::Undecided)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ProbeError> {
        Err(ProbeError::Undecided)
    }
}
