//! `rulec run --history`: keeps the earlier messages of a stream in memory.

use crate::term::Term;
use crate::{CliError, stream::write_json};
use rulec::history::{MemoryStore, Past};
use rulec::{Decision, Rules};
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The field of a message that is only recorded, and not decided.
const OBSERVE_FIELD: &str = "observe";

/// The history of a run.
#[derive(Default)]
pub struct RunHistory {
    store: MemoryStore,
    /// The number of messages that could not be recorded.
    unrecorded: AtomicUsize,
}

impl RunHistory {
    /// Opens an empty history, if `is_wanted`. Otherwise prints a note if the rules read one.
    ///
    /// # Errors
    /// If the rules keep no history.
    pub fn open(rules: &Rules, is_wanted: bool, term: &Term) -> Result<Option<RunHistory>, CliError> {
        match (is_wanted, rules.has_history()) {
            (true, true) => Ok(Some(RunHistory::default())),
            (true, false) => Err(CliError::usage(message!(
                "`--history` has no effect: the rules keep no history; declare one, as in `history by ctx.session keep 24h`"
            ))),
            (false, true) => {
                term.print_note(&message!(
                    "the rules read a history, which is empty here; `--history` records the messages"
                ));
                Ok(None)
            }
            (false, false) => Ok(None),
        }
    }

    /// Returns the earlier messages that the decision about a message sees.
    pub fn past(&self, rules: &Rules, message: &Json) -> Past {
        // A store in memory does not fail.
        rules.past(&self.store, message).unwrap_or_default()
    }

    /// If the message is only to be observed, records it, writes its line to `out`, and returns
    /// true.
    pub fn observe(&self, rules: &Rules, line: u64, message: &mut Json, out: &mut Vec<u8>) -> bool {
        let Some(fields) = message.as_object_mut() else { return false };
        if fields.get(OBSERVE_FIELD) != Some(&Json::Bool(true)) {
            return false;
        }
        fields.remove(OBSERVE_FIELD);
        let recorded = rules.observe(&self.store, message).is_ok();
        self.count(recorded);
        write_json(out, &json!({ "line": line, "observed": recorded }));
        true
    }

    /// Records a message with its decision.
    pub fn record(&self, rules: &Rules, message: &Json, decision: &Decision) {
        self.count(rules.record(&self.store, message, decision).is_ok());
    }

    fn count(&self, recorded: bool) {
        self.unrecorded.fetch_add(usize::from(!recorded), Ordering::Relaxed);
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
