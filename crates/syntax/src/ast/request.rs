//! The syntax tree of the statements that describe what to find in the text of a message: `intent`,
//! `entity`, `lexicon`.

use super::{Expr, Ident};
use rulec_base::span::Spanned;
use rulec_lang::operators::Case;

#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// The name of the intent, which is the value of `request.intent` when the intent is found.
    pub name: Ident,
    /// The description of the intent's subject, as one sentence, if the author wrote one.
    pub description: Option<Spanned<String>>,
    /// The lists after each word `keywords`, which may occur several times. Each is a list literal,
    /// or the name of a `list` statement.
    pub keywords: Vec<Expr>,
    /// The lists after each word `examples`, which may occur several times. Each is a list literal,
    /// or the name of a `list` statement.
    pub examples: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// The name of the entity, which is also a field of `request.entities`.
    pub name: Ident,
    /// The regular expressions that match the entity, tried in order.
    pub patterns: Vec<Expr>,
    /// `ignoring case` or `matching case`. Without either, the settings of the file decide.
    pub case: Option<Case>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lexicon {
    /// The name of the lexicon, which is also a field of `request`.
    pub name: Ident,
    pub entries: Vec<WeightedWord>,
}

/// A word of a lexicon with its weight: `"urgent": 0.8`.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedWord {
    pub word: Spanned<String>,
    /// The weight that the word adds to the score of the lexicon if the word occurs.
    pub weight: Spanned<f64>,
}
