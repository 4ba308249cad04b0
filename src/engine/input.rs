//! The message of a decision, in the forms that engines accept.

use rulec_lang::schema::Breach;
use rulec_lang::value::Value;
use rulec_vm::vm::Record as Slots;
use serde_json::Value as Json;

/// A message whose fields were read into the slots of one rule set by
/// [`Rules::prepare`](super::Rules::prepare).
#[derive(Clone, Debug)]
pub struct Record<'m> {
    pub(super) slots: Vec<Value<'m>>,
    /// The indexes of slots that have a value.
    pub(super) present: Vec<u32>,
    pub(super) message: &'m Json,
    pub(super) breaches: Vec<Breach>,
    pub(super) generation: u64,
}

#[derive(Clone, Copy)]
pub(crate) enum Input<'m> {
    /// A JSON tree, whose fields are looked up on first use.
    Tree(&'m Json),
    /// A JSON tree together with the slots read from it.
    Record(&'m Record<'m>),
    /// Only the slots, read from JSON text or from a `Serialize` value without building a tree.
    Slots(&'m [Value<'m>]),
}

impl<'m> Input<'m> {
    /// True if fields are looked up on first use.
    #[inline]
    pub fn is_tree(self) -> bool {
        matches!(self, Input::Tree(_))
    }

    /// Returns the message as a JSON tree, if there is one.
    pub fn tree(self) -> Option<&'m Json> {
        match self {
            Input::Tree(message) => Some(message),
            Input::Record(record) => Some(record.message),
            Input::Slots(_) => None,
        }
    }

    /// Returns the values of the slots; `Err` with the tree if the slots have not been read.
    #[inline(always)]
    pub fn slots(self) -> Result<Slots<'m>, &'m Json> {
        match self {
            Input::Tree(message) => Err(message),
            Input::Record(record) => Ok(Slots { values: &record.slots, present: Some(&record.present) }),
            Input::Slots(slots) => Ok(slots.into()),
        }
    }
}
