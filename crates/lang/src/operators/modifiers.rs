//! The modifiers of an operator: `word`, `any`, `all`, `none`, `ignoring case`. Both as written and
//! with the file's settings applied.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use rulec_base::codec::impl_codec;
use rulec_base::text::TextMode;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    pub word: bool,
    pub quantity: Option<Quantity>,
    /// `ignoring case` or `matching case`; `None` if the file's setting applies.
    pub case: Option<Case>,
}

/// The treatment of upper and lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// `ignoring case`: upper and lower case are equal.
    Ignore,
    /// `matching case`: upper and lower case differ.
    Match,
}

/// How many elements of the right list must satisfy the predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantity {
    Any,
    All,
    None,
}

/// How a predicate is evaluated: the modifiers with the file's settings applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TestMode {
    pub word: bool,
    /// Set if the predicate applies to the elements of the right operand.
    pub quantity: Option<Quantity>,
    /// How both texts are prepared.
    pub text: TextMode,
}

impl Quantity {
    pub fn spelling(self) -> &'static str {
        match self {
            Quantity::Any => "any",
            Quantity::All => "all",
            Quantity::None => "none",
        }
    }
}

impl_codec!(enum Quantity { 0 Any, 1 All, 2 None });
impl_codec!(struct TestMode { word, quantity, text });
