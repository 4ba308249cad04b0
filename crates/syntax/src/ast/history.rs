//! The syntax tree of the `history` statement, and of expressions for a part of the history.

use super::{Expr, Ident, Literal};
use rulec_base::span::{Span, Spanned};

/// The `history` statement, which selects the messages to keep: `history by ctx.session keep 24h at
/// most 10_000`.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The path of the field that is the key of a history, such as `ctx.session`. Empty if all
    /// messages share one history.
    pub key: Vec<Ident>,
    /// The time in seconds after which a message is removed; `None` keeps messages of any age.
    pub keep: Option<Spanned<Literal>>,
    /// The maximum number of messages kept for each key; `None` if the statement has no `at most`.
    pub at_most: Option<Spanned<Literal>>,
}

/// A part of the history, limited by bounds: `history within 1h after p`. A bound that is absent in
/// the source is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPart {
    /// The span of the word `history`.
    pub word: Span,
    /// `within DURATION`: only messages that are at most this number of seconds older than `now`.
    pub within: Option<Expr>,
    /// `after p`: only messages after the element `p`.
    pub after: Option<Expr>,
    /// `before p`: only messages before the element `p`.
    pub before: Option<Expr>,
}
