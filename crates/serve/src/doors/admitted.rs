//! A request that was admitted: its scopes, its permit and its deadline.

use crate::auth::Grant;
use crate::limits::Deadline;
use crate::trace::TraceId;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The permission to be answered. Work that goes on after its request was cancelled keeps it.
#[derive(Clone)]
pub(crate) struct Permit {
    /// Its drop ends the permission.
    _held: Arc<OwnedSemaphorePermit>,
}

impl Permit {
    pub fn new(held: OwnedSemaphorePermit) -> Permit {
        Permit { _held: Arc::new(held) }
    }
}

/// A request that was admitted: what it may do, its permit, and its deadline.
#[derive(Clone)]
pub(crate) struct Admitted {
    pub grant: Grant,
    pub permit: Permit,
    pub deadline: Deadline,
    /// The trace of the caller.
    pub trace: Option<TraceId>,
}
