//! Reads messages directly into slots. The fields that rules read become values, the rest is only
//! checked for errors, and no tree is built.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | the slots and declared fields at each path; built once per rule set |
//! | `fill` | the slot values of one message, stored as a source reads the fields |
//! | `text` | JSON text as a source, with exactly the checks of [`json`](rulec_base::json) |
//! | `scan` | strings and numbers in JSON text |
//! | `block` | sixteen bytes of JSON text at once |
//! | `serialize` | any `Serialize` value as a source |
//!
//! [`Scratch`](crate::vm::Scratch) has the functions that read a message. Other crates add sources
//! with [`Scratch::fill`](crate::vm::Scratch::fill): `rulec-arrow` reads rows of record batches.
//!
//! A source gives up on every message with an error, and on some rare valid messages. Such a
//! message is then read into a tree, and the decision uses the tree. So only the tree's reader
//! reports errors, and both readers refuse the same messages. A message that a source accepts is
//! always accepted by the tree's reader; a test checks this.

mod block;
mod fill;
mod plan;
mod scan;
mod serialize;
mod text;

pub(crate) use fill::InputBuffers;
pub use fill::{SlotFiller, SlotValues};
pub use plan::{InputPlan, PathId, ROOT_PATH};
pub(crate) use serialize::read_value;
pub(crate) use text::read_text;
