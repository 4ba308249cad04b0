//! The message that a decision is made about, in one of the forms that engines take.

use rulec_lang::schema::Breach;
use rulec_lang::value::Value;
use rulec_vm::vm::Record as Slots;
use serde_json::Value as Json;

/// A message whose fields have been resolved for one rule set, by
/// [`Rules::prepare`](super::Rules::prepare).
#[derive(Clone, Debug)]
pub struct Record<'m> {
    pub(super) slots: Vec<Value<'m>>,
    /// The slots that have a value.
    pub(super) present: Vec<u32>,
    pub(super) message: &'m Json,
    pub(super) breaches: Vec<Breach>,
    pub(super) generation: u64,
}

#[derive(Clone, Copy)]
pub(crate) enum Input<'m> {
    /// A JSON tree, whose fields are looked up when they are first asked for.
    Tree(&'m Json),
    /// A tree with its fields looked up before.
    Record(&'m Record<'m>),
    /// The fields alone, read from JSON text or any `Serialize` value without a tree.
    Slots(&'m [Value<'m>]),
}

impl<'m> Input<'m> {
    /// Returns true when fields are looked up as they are asked for.
    #[inline]
    pub fn is_tree(self) -> bool {
        matches!(self, Input::Tree(_))
    }

    /// The message as a tree, where there is one.
    pub fn tree(self) -> Option<&'m Json> {
        match self {
            Input::Tree(message) => Some(message),
            Input::Record(record) => Some(record.message),
            Input::Slots(_) => None,
        }
    }

    /// The values of the slots; the tree where they have not been read.
    #[inline(always)]
    pub fn slots(self) -> Result<Slots<'m>, &'m Json> {
        match self {
            Input::Tree(message) => Err(message),
            Input::Record(record) => Ok(Slots { values: &record.slots, present: Some(&record.present) }),
            Input::Slots(slots) => Ok(slots.into()),
        }
    }
}
