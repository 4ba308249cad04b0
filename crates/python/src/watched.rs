//! The file that a router watches.

use rulec_runtime::route;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The file that a router watches, if any. The [`route::Watch`] is stored here, because the file is
/// watched only as long as that value lives.
#[derive(Clone, Default)]
pub struct WatchedFile(Arc<Mutex<WatchState>>);

#[derive(Default)]
struct WatchState {
    watch: Option<Arc<route::Watch>>,
    /// How often the router was closed. This number shows whether the router was closed while a
    /// file was being loaded.
    close_count: u64,
}

impl WatchedFile {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often the router was closed.
    pub fn close_count(&self) -> u64 {
        self.lock().close_count
    }

    /// Replaces the watched file: stores `watch`, and closes the former watch. `close_count` is the
    /// number that [`WatchedFile::close_count`] returned before the file was loaded. If the router
    /// was closed since then, closes `watch` and returns false.
    pub fn store_watch(&self, watch: &Arc<route::Watch>, close_count: u64) -> bool {
        let (former, is_open) = {
            let mut state = self.lock();
            let is_open = state.close_count == close_count;
            (if is_open { state.watch.replace(watch.clone()) } else { Some(watch.clone()) }, is_open)
        };
        if let Some(former) = former {
            former.close();
        }
        is_open
    }

    /// Ends the watching of the file.
    pub fn close(&self) {
        let former = {
            let mut state = self.lock();
            state.close_count += 1;
            state.watch.take()
        };
        if let Some(former) = former {
            former.close();
        }
    }
}
