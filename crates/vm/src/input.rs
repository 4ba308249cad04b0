//! Reads messages directly into slots. The fields that rules read become values, the rest is only
//! checked for errors, and no tree is built.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | the slots and declared fields at each path; built once per rule set |
//! | `fill` | the values of one message, as a source finds them |
//! | `text` | JSON text as a source, with exactly the checks of [`json`](rulec_base::json) |
//! | `scan` | strings and numbers in JSON text |
//! | `block` | sixteen bytes of JSON text at once |
//! | `serialize` | any `Serialize` value as a source |
//!
//! Other crates add sources with [`InputScratch::fill`]: `rulec-arrow` reads rows of record
//! batches.
//!
//! A source gives up on any error, and may give up on rare valid input. The message is then read
//! into a tree, and the decision uses the tree. So only the tree's reader reports errors, and both
//! readers refuse the same messages. What a source accepts, the tree's reader accepts too; a test
//! checks this.

mod block;
mod fill;
mod plan;
mod scan;
mod serialize;
mod text;

pub use fill::Fill;
pub use plan::{Place, Plan, ROOT};

use bumpalo::Bump;
use fill::Kept;
use rulec_base::json::{MAX_BYTES, may_hold_too_many_objects};
use rulec_lang::arena;
use rulec_lang::value::Value;
use serde::Serialize;

/// Memory reused from message to message.
#[derive(Debug, Default)]
pub struct InputScratch {
    bump: Bump,
    kept: Kept,
}

/// The values of a message's slots.
#[derive(Debug)]
pub struct Filled<'v, 'a> {
    /// The values, in the order of the program's slots.
    pub values: &'v [Value<'a>],
    /// Whether the message satisfies the declared input contract.
    pub kept: bool,
}

impl InputScratch {
    /// Reads JSON text. `None` if the text is invalid, or must be read into a JSON tree.
    pub fn read<T>(&mut self, plan: &Plan, text: &[u8], then: impl FnOnce(Filled<'_, '_>) -> T) -> Option<T> {
        if text.len() > MAX_BYTES || may_hold_too_many_objects(text) {
            return None;
        }
        let text = simdutf8::basic::from_utf8(text).ok()?;
        self.fill(plan, |fill| text::read(fill, text), then)
    }

    /// Reads a `Serialize` value. `None` if the value does not serialize to an object, or must be
    /// read into a JSON tree.
    pub fn take<T>(
        &mut self,
        plan: &Plan,
        message: &impl Serialize,
        then: impl FnOnce(Filled<'_, '_>) -> T,
    ) -> Option<T> {
        self.fill(plan, |fill| serialize::take(fill, message), then)
    }

    /// Lets `source` fill the slots of a message, then calls `then`. `None` if the source gives up.
    pub fn fill<'a, T>(
        &'a mut self,
        plan: &'a Plan,
        source: impl FnOnce(&mut Fill<'a>) -> Option<()>,
        then: impl FnOnce(Filled<'_, 'a>) -> T,
    ) -> Option<T> {
        arena::empty(&mut self.bump);
        let mut fill = Fill::new(plan, &self.bump, std::mem::take(&mut self.kept));
        let done = source(&mut fill).map(|()| then(fill.filled()));
        self.kept = fill.into_kept();
        done
    }
}
