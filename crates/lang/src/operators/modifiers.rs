//! The modifiers of an operator: `word`, `any`, `all`, `none`, `ignoring case`. [`Modifiers`] are
//! the modifiers as written; a [`TestMode`] also includes the settings of the file.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use rulec_base::codec::impl_codec;
use rulec_base::text::TextMode;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    pub whole_word: bool,
    pub quantity: Option<Quantity>,
    /// The modifier `ignoring case` or `matching case`; `None` if the setting of the file applies.
    pub case: Option<Case>,
}

/// Whether upper and lower case differ when texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// The modifier `ignoring case`: upper and lower case are equal.
    Ignore,
    /// The modifier `matching case`: upper and lower case differ.
    Match,
}

/// How many elements of the list on the right must satisfy the predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantity {
    Any,
    All,
    None,
}

/// How a predicate is evaluated: the modifiers with the file's settings applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TestMode {
    pub whole_word: bool,
    /// The modifier `any`, `all` or `none`; `None` if the predicate applies to the right operand as
    /// a whole, not to each of its elements.
    pub quantity: Option<Quantity>,
    /// How both texts are prepared before the comparison, such as by case folding.
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
impl_codec!(struct TestMode { whole_word, quantity, text });
