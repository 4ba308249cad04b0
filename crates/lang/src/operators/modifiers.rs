//! The words that may stand beside an operator: `word`, `any`, `all`, `none`, `ignoring case`. As written,
//! and with the file's settings applied.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use rulec_base::codec::impl_codec;
use rulec_base::text::TextMode;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    pub word: bool,
    pub quantity: Option<Quantity>,
    /// `ignoring case` or `matching case`; otherwise the file's setting holds.
    pub case: Option<Case>,
}

/// The treatment of upper and lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// `ignoring case`: they do not.
    Ignore,
    /// `matching case`: they do.
    Match,
}

/// The number of elements of the list on the right that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantity {
    Any,
    All,
    None,
}

/// The modifiers with the file's settings applied: how a predicate is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TestMode {
    pub word: bool,
    /// Over the elements of the right operand.
    pub quantity: Option<Quantity>,
    /// The way both texts are prepared.
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
