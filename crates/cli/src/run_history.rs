//! Implements `rulec run --history`: records the messages of a stream, in memory or in a folder, so
//! that rules can read earlier messages.

use crate::history;
use crate::term::Term;
use crate::{CliError, stream::write_json};
use rulec::history::{MemoryStore, Past, RecordError, Store, StoreError};
use rulec::{Decision, Rules};
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The field that marks a message as observed. Such a message is recorded, but not decided.
const OBSERVE_FIELD: &str = "observe";

/// Returns a message that is marked as observed, without the mark. `None` for other messages.
pub fn observed_message(message: &Json) -> Option<Json> {
    if message.get(OBSERVE_FIELD) != Some(&Json::Bool(true)) {
        return None;
    }
    let mut observed = message.clone();
    observed.as_object_mut()?.remove(OBSERVE_FIELD);
    Some(observed)
}

/// The store in which a run records its messages.
#[derive(Default)]
pub struct RunHistory {
    store: RunStore,
    /// The number of messages that could not be recorded because they lack the time or the key.
    unrecorded: AtomicUsize,
    /// The first error of the store. It ends the run with an error status.
    failure: Mutex<Option<StoreError>>,
}

enum RunStore {
    Memory(MemoryStore),
    #[cfg(feature = "history")]
    Disk(rulec_history_store::DurableStore),
}

impl RunStore {
    /// Opens the history in a folder. Writes to it do not wait for the disk.
    #[cfg(feature = "history")]
    fn open(folder: &Path) -> Result<RunStore, CliError> {
        Ok(RunStore::Disk(history::open(folder)?.deferred()))
    }

    /// Opens the history in a folder. Fails if the folder has no history.
    #[cfg(feature = "history")]
    fn open_existing(folder: &Path) -> Result<RunStore, CliError> {
        Ok(RunStore::Disk(history::open_existing(folder)?))
    }

    #[cfg(not(feature = "history"))]
    fn open(_: &Path) -> Result<RunStore, CliError> {
        Err(history::not_built())
    }

    #[cfg(not(feature = "history"))]
    fn open_existing(_: &Path) -> Result<RunStore, CliError> {
        Err(history::not_built())
    }
}

impl Default for RunStore {
    fn default() -> RunStore {
        RunStore::Memory(MemoryStore::default())
    }
}

/// Checks that the rules keep a history, because `--history` has no effect without one.
///
/// # Errors
/// If the rules keep no history.
fn require_history(rules: &Rules) -> Result<(), CliError> {
    if rules.has_history() {
        return Ok(());
    }
    Err(CliError::usage(message!(
        "`--history` has no effect: the rules keep no history; declare one, as in `history by ctx.session keep 24h`"
    )))
}

impl RunHistory {
    /// Opens the history that the option `--history` asks for: in a folder, or in memory if
    /// `wanted` has no folder. Without the option, returns `None`, and prints a note if the rules
    /// read a history.
    ///
    /// # Errors
    /// If the rules keep no history, or the folder cannot be used.
    pub fn open(
        rules: &Rules,
        wanted: Option<&Option<PathBuf>>,
        term: &Term,
    ) -> Result<Option<RunHistory>, CliError> {
        let Some(folder) = wanted else {
            if rules.has_history() {
                term.print_note(&message!(
                    "the rules read a history, which is empty here; `--history` records the messages"
                ));
            }
            return Ok(None);
        };
        require_history(rules)?;
        let store = match folder {
            None => RunStore::default(),
            Some(folder) => RunStore::open(folder)?,
        };
        Ok(Some(RunHistory { store, ..RunHistory::default() }))
    }

    /// Opens the history in an existing folder, to read what earlier runs recorded.
    ///
    /// # Errors
    /// If the rules keep no history, or the folder has none.
    pub fn open_existing(rules: &Rules, folder: &Path) -> Result<RunHistory, CliError> {
        require_history(rules)?;
        Ok(RunHistory { store: RunStore::open_existing(folder)?, ..RunHistory::default() })
    }

    fn store(&self) -> &dyn Store {
        match &self.store {
            RunStore::Memory(store) => store,
            #[cfg(feature = "history")]
            RunStore::Disk(store) => store,
        }
    }

    /// Returns the recorded messages that the decision about a message can read. If the store
    /// fails, keeps the error for [`RunHistory::flush`].
    pub fn past(&self, rules: &Rules, message: &Json) -> Past {
        rules.past(self.store(), message).unwrap_or_else(|error| {
            self.fail(error);
            Past::default()
        })
    }

    /// If the message is marked as observed, records it, writes its answer line to `out`, and
    /// returns true. Otherwise returns false.
    pub fn observe(&self, rules: &Rules, line: u64, message: &Json, out: &mut Vec<u8>) -> bool {
        let Some(observed) = observed_message(message) else { return false };
        let recorded = self.count(rules.observe(self.store(), &observed));
        write_json(out, &json!({ "line": line, "observed": recorded }));
        true
    }

    /// Records a message whose payload was validated. No decision is recorded, because a validation
    /// is not one.
    pub fn observe_judged(&self, rules: &Rules, message: &Json) {
        self.count(rules.observe(self.store(), message));
    }

    /// Records a message, with the decision about it, in the history of this run.
    pub fn record(&self, rules: &Rules, message: &Json, decision: &Decision) {
        self.count(rules.record(self.store(), message, decision));
    }

    /// Handles the result of recording a message. Returns true if it was recorded. Otherwise counts
    /// the message, or keeps the error of the store.
    fn count(&self, result: Result<(), RecordError>) -> bool {
        match result {
            Ok(()) => return true,
            Err(RecordError::Store(error)) => self.fail(error),
            Err(_) => drop(self.unrecorded.fetch_add(1, Ordering::Relaxed)),
        }
        false
    }

    fn fail(&self, error: StoreError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Waits until all recorded messages are on disk.
    ///
    /// # Errors
    /// If the store fails now, or has failed earlier in the run.
    pub fn flush(&self) -> Result<(), CliError> {
        #[cfg(feature = "history")]
        if let RunStore::Disk(store) = &self.store
            && let Err(error) = store.flush()
        {
            self.fail(error);
        }
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(CliError::error(Message::verbatim(error.to_string()))),
            None => Ok(()),
        }
    }

    /// Prints how many messages could not be recorded.
    pub fn report(&self, term: &Term) {
        let unrecorded = self.unrecorded.load(Ordering::Relaxed);
        if unrecorded > 0 {
            term.print_note(&message!(
                "{unrecorded} messages were not recorded, because they have no time `now` or no key of the history"
            ));
        }
    }
}
