//! The reason why a use of an undeclared field narrows the field's type. Conflicts and warnings
//! show it to the author.

use rulec_base::diag::{Arg, Argument, Message};
use rulec_base::message;
use rulec_lang::ty::{KindSet, Ty};
use std::sync::Arc;

/// The reason why a use narrows the type of a field. Formatted only if a diagnostic shows it.
#[derive(Clone)]
pub(in crate::check) enum NarrowingReason {
    Fixed(Message),
    Field(Arc<str>),
    Side(KindSet, Message, &'static str),
    Operand(KindSet, &'static str),
    Argument(Ty, Arc<str>, Arc<str>),
}

impl NarrowingReason {
    /// Returns the reason for narrowing a value to a record: the rules read its field `name`.
    pub(in crate::check) fn for_field(name: &str) -> NarrowingReason {
        NarrowingReason::Field(name.into())
    }

    /// True if a use is the right side of `in`, which looks for an element of a list.
    pub(in crate::check) fn is_right_of_in(&self) -> bool {
        matches!(self, NarrowingReason::Side(_, _, "in") | NarrowingReason::Operand(_, "in"))
    }
}

impl Argument for NarrowingReason {
    fn to_arg(&self) -> Arg {
        let text = match self {
            NarrowingReason::Fixed(text) => text.clone(),
            NarrowingReason::Field(_) => message!("a record, because one of its fields is read"),
            NarrowingReason::Side(kinds, side, operator) => message!("{kinds}, {side} of `{operator}`"),
            NarrowingReason::Operand(kinds, operator) => message!("{kinds}, an operand of `{operator}`"),
            NarrowingReason::Argument(wanted, name, function) => {
                message!("{wanted}, the argument `{name}` of `{function}`")
            }
        };
        text.to_arg()
    }
}
