//! What happened before: the earlier messages that rules read as `history`.
//!
//! A [`Store`] keeps them, separated by key. A decision never writes: the embedding program records
//! a message after it was decided, or observes one that is not decided. See
//! [`Session::with_history`](crate::Session::with_history).

pub use crate::engine::past::{Events, MemoryStore, Store, StoreError};
pub use crate::engine::recording::RecordError;
pub use rulec_vm::vm::Past;
