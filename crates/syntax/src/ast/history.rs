//! The syntax tree of rules over earlier messages: the `history` statement and parts of the
//! history.

use super::{Expr, Ident, Literal};
use rulec_base::span::{Span, Spanned};

/// The statement that says which earlier messages are kept: `history by ctx.session keep 24h at
/// most 10_000`.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The path of the field whose value separates histories, such as `ctx.session`. Empty if all
    /// messages share one history.
    pub key: Vec<Ident>,
    /// The time in seconds for which a message is kept; `None` keeps messages of every age.
    pub keep: Option<Spanned<Literal>>,
    /// The number of messages that are kept for each key; `None` if the statement does not say.
    pub at_most: Option<Spanned<Literal>>,
}

/// The part of a history after a bound: `history within 1h after p`. A bound that is not written is
/// `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPart {
    /// The span of the word `history`.
    pub word: Span,
    /// `within DURATION`: only messages that are not older than this number of seconds before
    /// `now`.
    pub within: Option<Expr>,
    /// `after p`: only messages after the element `p`.
    pub after: Option<Expr>,
    /// `before p`: only messages before the element `p`.
    pub before: Option<Expr>,
}
