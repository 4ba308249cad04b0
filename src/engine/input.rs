//! The two representations of a message that engines accept: a JSON tree, or the values that were
//! read from it in advance.

use rulec_lang::schema::InputViolation;
use rulec_lang::value::Value;
use rulec_vm::vm::SlotValues;
use serde_json::Value as Json;

/// A message whose fields were read into slots by [`Rules::prepare`](super::Rules::prepare). A slot
/// holds the value of one field that the rules use.
#[derive(Clone, Debug)]
pub struct PreparedMessage<'m> {
    pub(super) values: Vec<Value<'m>>,
    /// The indexes of the fields (slots) that have a value in this message.
    pub(super) present_slots: Vec<u32>,
    pub(super) message: &'m Json,
    pub(super) breaches: Vec<InputViolation>,
    pub(super) generation: u64,
}

impl PreparedMessage<'_> {
    /// Returns the values of the message fields that the rules use, one per slot.
    #[inline(always)]
    pub(super) fn slot_values(&self) -> SlotValues<'_> {
        SlotValues { values: &self.values, present_slot_ids: Some(&self.present_slots) }
    }
}

/// A message as engines read it: a JSON tree, or the values of the fields that the rules use
/// (slots).
#[derive(Clone, Copy)]
pub(crate) enum Input<'m> {
    /// A JSON tree, whose fields are looked up on first use.
    Tree(&'m Json),
    /// The values of the fields that the rules use (slots), and the message's violations of the
    /// `input` declaration.
    Slots(SlotValues<'m>, &'m [InputViolation]),
}

impl<'m> Input<'m> {
    /// True if the message is not an object. No engine runs for such a message, and nothing is
    /// chosen.
    pub fn is_refused(self) -> bool {
        matches!(self, Input::Tree(message) if !message.is_object())
    }

    /// Returns the message whose fields were read into `slots`. `None` if it violates the `input`
    /// declaration (`satisfies_contract` is false), because violations are computed from the whole
    /// JSON tree.
    pub fn from_filled_slots(slots: SlotValues<'m>, satisfies_contract: bool) -> Option<Input<'m>> {
        satisfies_contract.then_some(Input::Slots(slots, &[]))
    }
}
