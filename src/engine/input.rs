//! Deciding for messages that are read straight into slots, with trees for what only a tree can tell.

use super::{Decision, Entry, Tier};
use crate::input::{Filled, InputScratch, Plan};
use crate::json::{self, JsonError};
use serde::Serialize;
use serde_json::Value as Json;
use std::cell::RefCell;

thread_local! {
    /// Each thread's room for values. Taken out while it is used, so that a host function may decide
    /// as well.
    static INPUT: RefCell<Option<Box<InputScratch>>> = const { RefCell::new(None) };
}

impl<'r> Entry<'r> {
    /// Decides for a message as JSON text: what [`Entry::decide`] decides for the object that
    /// [`json::parse_object_bytes`] reads, without building it where that can be.
    ///
    /// # Errors
    /// Those of [`json::parse_object_bytes`], for fields that no rule reads as well.
    pub fn decide_line(&self, text: &[u8]) -> Result<Decision<'r>, JsonError> {
        let decided = self.read(|scratch, plan| scratch.read(plan, text, |filled| self.filled(filled)));
        match decided {
            Some(decision) => Ok(decision),
            None => Ok(self.decide(&Json::Object(json::parse_object_bytes(text)?))),
        }
    }

    /// Decides for any value that serializes to an object: what [`Entry::decide`] decides for
    /// `serde_json::to_value` of it, without building that where it can be. The value may be
    /// serialized twice.
    ///
    /// # Errors
    /// When the value cannot be represented as JSON.
    pub fn decide_value<T: Serialize>(&self, message: &T) -> Result<Decision<'r>, serde_json::Error> {
        let decided = self.read(|scratch, plan| scratch.take(plan, message, |filled| self.filled(filled)));
        match decided {
            Some(decision) => Ok(decision),
            None => Ok(self.decide(&serde_json::to_value(message)?)),
        }
    }

    fn read<T>(&self, read: impl FnOnce(&mut InputScratch, &Plan) -> Option<Option<T>>) -> Option<T> {
        // The reference evaluator walks trees.
        if self.how.tier == Tier::Reference {
            return None;
        }
        let plan = self.rules.plan.get_or_init(|| Plan::of(&self.rules.program)).as_ref()?;
        let mut scratch = INPUT.with(RefCell::take).unwrap_or_default();
        let result = read(&mut scratch, plan).flatten();
        INPUT.with(|home| home.replace(Some(scratch)));
        result
    }

    fn filled(&self, filled: Filled<'_, '_>) -> Option<Decision<'r>> {
        // What is wrong with a message is told from the whole of it.
        filled.kept.then(|| {
            let chosen = self.rules.choose(self.how, self.table, &Json::Null, Some(filled.values));
            self.rules.decision(self.table, chosen, Vec::new())
        })
    }
}
