//! The data that is attached to a request when it is admitted, such as its permissions and its
//! deadline. The handlers of all protocols read it.

use crate::auth::RequestPermissions;
use crate::limits::RequestDeadline;
use crate::trace::TraceId;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A permit from the semaphore that limits the number of open requests. Work that continues after
/// its request was cancelled still holds the permit.
#[derive(Clone)]
pub(crate) struct RequestPermit {
    /// The permit of the semaphore, which gets the permit back when the last clone of this value is
    /// dropped.
    _held: Arc<OwnedSemaphorePermit>,
}

impl RequestPermit {
    pub fn new(held: OwnedSemaphorePermit) -> RequestPermit {
        RequestPermit { _held: Arc::new(held) }
    }
}

/// The data of an admitted request: its permissions, its permit and its deadline.
#[derive(Clone)]
pub(crate) struct Admitted {
    pub grant: RequestPermissions,
    pub permit: RequestPermit,
    pub deadline: RequestDeadline,
    /// The trace id that the caller has sent, or that the OpenTelemetry export has created. `None`
    /// if there is neither.
    pub trace: Option<TraceId>,
}
