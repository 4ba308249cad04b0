//! The message as hand-written code reads it during one decision: its fields, and the lower-case
//! text. The lower-case text is computed once, and only if some test ignores case. The buffer of
//! the lower-case text is reused by the next decision.

use crate::workload::Message;
use std::cell::{Cell, OnceCell};

/// A message being decided.
pub struct View<'m> {
    pub message: &'m Message,
    lower: OnceCell<String>,
    buffer: &'m Cell<String>,
}

impl<'m> View<'m> {
    pub fn new(message: &'m Message, buffer: &'m Cell<String>) -> View<'m> {
        View { message, lower: OnceCell::new(), buffer }
    }

    pub fn text(&self) -> &[u8] {
        self.message.text.as_bytes()
    }

    /// Returns the text in lower case. Only ASCII is folded, which is the fastest way in Rust; the
    /// words of the workload have no other letters with case.
    pub fn lower(&self) -> &[u8] {
        let lower = self.lower.get_or_init(|| {
            let mut buffer = self.buffer.take();
            buffer.clear();
            buffer.push_str(&self.message.text);
            buffer.make_ascii_lowercase();
            buffer
        });
        lower.as_bytes()
    }

    pub fn string(&self, field: usize) -> &str {
        &self.message.strings[field]
    }

    pub fn number(&self, field: usize) -> f64 {
        self.message.numbers[field]
    }

    pub fn tagged(&self, tag: &str) -> bool {
        self.message.tags.iter().any(|have| have == tag)
    }

    pub fn is_new(&self) -> bool {
        self.message.is_new == Some(true)
    }

    /// Hands the buffer of the lower-case text to the next decision.
    pub fn done(self) {
        if let Some(lower) = self.lower.into_inner() {
            self.buffer.set(lower);
        }
    }
}
