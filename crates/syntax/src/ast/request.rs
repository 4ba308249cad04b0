//! The statements that say what is looked for in a message's text: `intent`, `entity`, `lexicon`.

use super::{Expr, Ident};
use rulec_base::span::{Span, Spanned};

#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// Its name, which `request.intent` gives.
    pub name: Ident,
    /// Its subject, in a sentence.
    pub description: Option<Spanned<String>>,
    /// Each `keywords`: a list in place, or the name of one.
    pub keywords: Vec<Expr>,
    /// Each `examples`: a list in place, or the name of one.
    pub examples: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its name, which `request.entities` has as a field.
    pub name: Ident,
    /// The expressions that find it, tried in order.
    pub patterns: Vec<Expr>,
    pub ignoring_case: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lexicon {
    /// Its name, which `request` has as a field.
    pub name: Ident,
    pub entries: Vec<Weight>,
}

/// `"urgent": 0.8`
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    pub word: Spanned<String>,
    /// The score it adds.
    pub weight: Spanned<f64>,
}
