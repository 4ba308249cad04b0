//! Reads messages directly into slots, the fields that rules read. All other fields are only
//! checked for errors, and no tree is built.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | the slots and declared fields at each path; built once per rule set |
//! | `fill` | the slot values of one message, and the checks of the input contract |
//! | `text` | JSON text as a source, with exactly the checks of [`json`](rulec_base::json) |
//! | `scan` | strings and numbers in JSON text |
//! | `block` | scans sixteen bytes of JSON text at once |
//! | `serialize` | any `Serialize` value as a source |
//!
//! A *source* is a reader of one message format. [`Scratch`](crate::vm::Scratch) has the functions
//! that read a message. Other crates add sources with
//! [`Scratch::fill_slots`](crate::vm::Scratch::fill_slots): `rulec-arrow` reads rows of record
//! batches.
//!
//! A source gives up on every message with an error, and on some rare valid messages. Such a
//! message is read into a tree, and the decision uses the tree. So only the reader that builds
//! trees reports errors, and both readers refuse the same messages. The tree reader accepts every
//! message that a source accepts; a test checks this.

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
