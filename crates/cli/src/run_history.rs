//! Implements `rulec run --history`: records the messages of a stream in a history, in memory, in a
//! folder, or at a Redis server.

use crate::CliError;
use crate::history;
#[cfg(feature = "history")]
use crate::server::rules_name;
use crate::stream::{ChunkEnd, write_json};
use crate::term::Term;
use rulec::history::{MemoryStore, Past, RecordError, Store, StoreError};
use rulec::{Decision, Entry, Rules};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_report::log::without_observed_mark;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The store in which `rulec run` records messages, so that later decisions can read them.
#[derive(Default)]
pub struct RunHistory {
    store: RunHistoryStore,
    /// The number of messages that could not be recorded because they lack the time or the key.
    unrecorded_count: AtomicUsize,
    /// The first error of the store of recorded messages, if any. The error ends the run with an
    /// error status.
    failure: Mutex<Option<StoreError>>,
}

enum RunHistoryStore {
    Memory(MemoryStore),
    #[cfg(feature = "history")]
    Persistent(history::PersistentStore),
}

impl RunHistoryStore {
    /// Opens the history in the folder `place` or at the server `place`. Messages may reach the
    /// disk later; [`RunHistory::flush`] waits for this. At a server, the history is named after
    /// the rules file `rules`.
    #[cfg(feature = "history")]
    fn open(place: &Path, rules: &Path) -> Result<RunHistoryStore, CliError> {
        Ok(RunHistoryStore::Persistent(history::open(place, &rules_name(rules))?.with_deferred_writes()))
    }

    /// Opens the existing history in the folder `place` or at the server `place`. At a server, the
    /// history is named after the rules file `rules`.
    ///
    /// # Errors
    /// If there is no such history.
    #[cfg(feature = "history")]
    fn open_existing(place: &Path, rules: &Path) -> Result<RunHistoryStore, CliError> {
        Ok(RunHistoryStore::Persistent(history::open_existing(place, Some(&rules_name(rules)))?))
    }

    #[cfg(not(feature = "history"))]
    fn open(_: &Path, _: &Path) -> Result<RunHistoryStore, CliError> {
        Err(history::not_built_error())
    }

    #[cfg(not(feature = "history"))]
    fn open_existing(_: &Path, _: &Path) -> Result<RunHistoryStore, CliError> {
        Err(history::not_built_error())
    }
}

impl Default for RunHistoryStore {
    fn default() -> RunHistoryStore {
        RunHistoryStore::Memory(MemoryStore::default())
    }
}

fn store_error(error: &StoreError) -> CliError {
    CliError::input_error(Message::verbatim(error.to_string()))
}

/// Checks that the rules declare a history, because `--history` has no effect without a declared
/// history.
///
/// # Errors
/// If the rules declare no history.
fn require_history(rules: &Rules) -> Result<(), CliError> {
    if rules.has_history() {
        return Ok(());
    }
    Err(CliError::usage_error(message!(
        "`--history` has no effect: the rules keep no history; declare one, as in `history by ctx.session keep 24h`"
    )))
}

impl RunHistory {
    /// Opens the history for the option `--history`, if the option was given: in memory if the
    /// option has no value, otherwise in the folder or at the server `requested_place`. Without the
    /// option, returns `None`; if the rules declare a history, prints a note that it is empty.
    /// `path` is the path of the rules file.
    ///
    /// # Errors
    /// If the option was given, but the rules declare no history, or the folder or server cannot be
    /// used.
    pub fn open(
        (rules, path): (&Rules, &Path),
        requested_place: Option<&Option<PathBuf>>,
        term: &Term,
    ) -> Result<Option<RunHistory>, CliError> {
        let Some(place) = requested_place else {
            if rules.has_history() {
                term.print_note(&message!(
                    "the rules read a history, which is empty here; `--history` records the messages"
                ));
            }
            return Ok(None);
        };
        require_history(rules)?;
        let store = match place {
            None => RunHistoryStore::default(),
            Some(place) => RunHistoryStore::open(place, path)?,
        };
        Ok(Some(RunHistory { store, ..RunHistory::default() }))
    }

    /// Opens the existing history in the folder or at the server `place`, to read the messages that
    /// earlier runs recorded. `path` is the path of the rules file.
    ///
    /// # Errors
    /// If the rules declare no history, or there is no history at `place`.
    pub fn open_existing((rules, path): (&Rules, &Path), place: &Path) -> Result<RunHistory, CliError> {
        require_history(rules)?;
        Ok(RunHistory { store: RunHistoryStore::open_existing(place, path)?, ..RunHistory::default() })
    }

    fn store(&self) -> &dyn Store {
        match &self.store {
            RunHistoryStore::Memory(store) => store,
            #[cfg(feature = "history")]
            RunHistoryStore::Persistent(store) => store,
        }
    }

    /// Returns the recorded messages that the decision about a message can read.
    ///
    /// # Errors
    /// If the store fails.
    pub fn past(&self, rules: &Rules, message: &Json) -> Result<Past, CliError> {
        rules.past(self.store(), message).map_err(|error| store_error(&error))
    }

    /// Handles a message that could not be recorded because of `error`. Returns the recorded
    /// messages that the decision about this message can read. After an error of the store, the run
    /// ends before this line (see `LineWorker::has_failed`), so the store is not asked again.
    fn past_of_unrecorded(&self, rules: &Rules, message: &Json, error: RecordError) -> Past {
        let has_failed = matches!(error, RecordError::Store(_));
        self.note_recording_result(Err(error));
        if has_failed {
            return Past::default();
        }
        rules.past(self.store(), message).unwrap_or_else(|error| {
            self.record_failure(error);
            Past::default()
        })
    }

    /// If the message is marked with `observe` (record only, do not decide), records it, writes its
    /// answer line to `out`, and returns true. Otherwise returns false.
    pub fn record_if_observe_only(
        &self,
        rules: &Rules,
        line: u64,
        message: &Json,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(observed) = without_observed_mark(message) else { return false };
        let recorded = self.note_recording_result(rules.observe(self.store(), &observed));
        write_json(out, &json!({ "line": line, "observed": recorded }));
        true
    }

    /// Records a message whose payload will be validated, and returns the earlier messages with the
    /// same history key. No other message with this key is recorded in between. So two programs
    /// that share a history never validate two payloads against the same earlier messages.
    pub fn observe_and_return_past(&self, rules: &Rules, message: &Json) -> Past {
        let recorded = rules.observe_and_keep(self.store(), message);
        recorded.unwrap_or_else(|error| self.past_of_unrecorded(rules, message, error))
    }

    /// Decides a message with the earlier messages that have the same history key, and records it.
    /// No other message with this key is recorded between the decision and the recording. If
    /// `keeps_past` is true, also returns the earlier messages. If the message cannot be recorded,
    /// decides without recording.
    pub fn decide_and_record(
        &self,
        (rules, entry): (&Rules, Entry<'_>),
        message: &Json,
        keeps_past: bool,
    ) -> (Decision, Past) {
        // Returning the past copies the messages of the key, so it is returned only on request.
        let recorded = match keeps_past {
            true => entry.decide_record_and_keep(self.store(), message, usize::MAX),
            false => entry.decide_and_record(self.store(), message).map(|made| (made, None)),
        };
        match recorded {
            Ok((decision, past)) => (decision, past.unwrap_or_default()),
            Err(error) => {
                let past = self.past_of_unrecorded(rules, message, error);
                (entry.with_history(&past).decide(message), past)
            }
        }
    }

    /// Handles the result of recording a message. Returns true if it was recorded. Otherwise counts
    /// the message as not recorded, or remembers the error of the store.
    fn note_recording_result(&self, result: Result<(), RecordError>) -> bool {
        match result {
            Ok(()) => return true,
            Err(RecordError::Store(error)) => self.record_failure(error),
            Err(_) => drop(self.unrecorded_count.fetch_add(1, Ordering::Relaxed)),
        }
        false
    }

    fn record_failure(&self, error: StoreError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// True if the store has failed, so that a message was not recorded.
    pub fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Waits until all recorded messages are stored durably. If the store failed earlier in the
    /// run, the result holds this error; the messages before the failure are stored durably.
    ///
    /// # Errors
    /// If the recorded messages cannot be stored durably.
    pub fn flush(&self) -> Result<ChunkEnd, CliError> {
        #[cfg(feature = "history")]
        if let RunHistoryStore::Persistent(store) = &self.store {
            store.flush().map_err(|error| store_error(&error))?;
        }
        // The error is not removed, so that a worker which gets another chunk does not record its
        // lines.
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(store_error);
        Ok(ChunkEnd { failure })
    }

    /// Prints how many messages could not be recorded because they lack the time or the key. Prints
    /// nothing if all were recorded.
    pub fn report_unrecorded(&self, term: &Term) {
        let unrecorded = self.unrecorded_count.load(Ordering::Relaxed);
        if unrecorded > 0 {
            term.print_note(&message!(
                "messages that were not recorded, because they have no time `now` or no key of the history: {unrecorded}"
            ));
        }
    }
}
