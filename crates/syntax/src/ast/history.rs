//! The syntax tree of the `history` statement, and of expressions that select recorded messages.

use super::{Expr, Ident, Literal};
use rulec_base::span::{Span, Spanned};

/// The `history` statement, which selects the messages to keep: `history by ctx.session keep 24h at
/// most 10_000`.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The path of the field that is the key of a history, such as `ctx.session`. Empty if all
    /// messages share one history.
    pub key_path: Vec<Ident>,
    /// The time in seconds after which a message is removed; `None` keeps messages of any age.
    pub max_age: Option<Spanned<Literal>>,
    /// The maximum number of messages kept for each key; `None` if the statement has no `at most`.
    pub max_messages: Option<Spanned<Literal>>,
}

/// A selection of the recorded messages: `history within 1h after p`. A bound that is absent in the
/// source is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPart {
    /// The span of the word `history`, for diagnostics.
    pub keyword_span: Span,
    /// The `DURATION` of `within DURATION`: only messages that are at most this number of seconds
    /// older than `now` are selected. `None` without this bound.
    pub max_age: Option<Expr>,
    /// The `p` of `after p`: only messages that were recorded after the message `p` of the same
    /// history are selected. `None` without this bound.
    pub after_message: Option<Expr>,
    /// The `p` of `before p`: only messages that were recorded before the message `p` of the same
    /// history are selected. `None` without this bound.
    pub before_message: Option<Expr>,
}
