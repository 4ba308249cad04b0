//! The statements that describe what to find in the text of a message: `intent`, `entity`,
//! `lexicon`.

use super::{Expr, Ident};
use rulec_base::span::{Span, Spanned};

#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// The name of the intent, which `request.intent` returns.
    pub name: Ident,
    /// The subject of the intent, as one sentence.
    pub description: Option<Spanned<String>>,
    /// One expression for each `keywords`: a list literal or the name of a list.
    pub keywords: Vec<Expr>,
    /// One expression for each `examples`: a list literal or the name of a list.
    pub examples: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// The name of the entity, which is also a field of `request.entities`.
    pub name: Ident,
    /// The regular expressions that match the entity, tried in order.
    pub patterns: Vec<Expr>,
    pub ignoring_case: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lexicon {
    /// The name of the lexicon, which is also a field of `request`.
    pub name: Ident,
    pub entries: Vec<Weight>,
}

/// An entry of a lexicon: `"urgent": 0.8`.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    pub word: Spanned<String>,
    /// The score that the word adds.
    pub weight: Spanned<f64>,
}
