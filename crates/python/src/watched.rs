//! The file that a router watches.

use rulec_runtime::route;
use std::sync::{Arc, Mutex, PoisonError};

/// The watched file of a router; `None` if it watches none. It is kept here, because the file is
/// watched only as long as its [`route::Watch`] lives.
#[derive(Clone, Default)]
pub struct WatchedFile(Arc<Mutex<Option<Arc<route::Watch>>>>);

impl WatchedFile {
    /// Keeps another watch, or none, and closes the one before it.
    pub fn replace(&self, watch: Option<Arc<route::Watch>>) {
        let former = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), watch);
        if let Some(former) = former {
            former.close();
        }
    }
}
