//! Messages straight into slots: what the rules read of a message becomes values, the rest is only
//! looked at for mistakes, and no tree is built.
//!
//! | module | what it holds |
//! |---|---|
//! | `plan` | which slots and promises stand at which path, once a rule set |
//! | `fill` | the values of one message, as a source comes upon them |
//! | `text` | JSON text as a source: the checks of [`json`](rulec_base::json), and no other |
//! | `scan` | strings and numbers of JSON text |
//! | `block` | sixteen bytes of it at once |
//! | `serialize` | any `Serialize` value as a source |
//!
//! Members bring sources of their own ([`InputScratch::fill`]): `rulec-arrow` the rows of record batches.
//!
//! A source may give up, and gives up on whatever is wrong. Then the message is read into a tree and
//! decided by that; so the tree's reader has the last word on every mistake and words it, and both
//! ways cannot disagree on what is refused. What a source does accept, the tree's reader accepts too:
//! a test holds them to it.

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

/// The memory that is kept from message to message.
#[derive(Debug, Default)]
pub struct InputScratch {
    bump: Bump,
    kept: Kept,
}

/// The values of a message's slots.
#[derive(Debug)]
pub struct Filled<'v, 'a> {
    /// In the order of the program's slots.
    pub values: &'v [Value<'a>],
    /// True when the message keeps every promise of the declared input.
    pub kept: bool,
}

impl InputScratch {
    /// Reads JSON text; `None` when something is wrong with it, or only a tree will do.
    pub fn read<T>(&mut self, plan: &Plan, text: &[u8], then: impl FnOnce(Filled<'_, '_>) -> T) -> Option<T> {
        if text.len() > MAX_BYTES || may_hold_too_many_objects(text) {
            return None;
        }
        let text = simdutf8::basic::from_utf8(text).ok()?;
        self.fill(plan, |fill| text::read(fill, text), then)
    }

    /// Takes a value apart; `None` when it does not serialize to an object, or only a tree will do.
    pub fn take<T>(
        &mut self,
        plan: &Plan,
        message: &impl Serialize,
        then: impl FnOnce(Filled<'_, '_>) -> T,
    ) -> Option<T> {
        self.fill(plan, |fill| serialize::take(fill, message), then)
    }

    /// Has a source put the values of a message in their places; `None` when it gives up.
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
