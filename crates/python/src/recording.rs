//! Sessions that decide with recorded messages, and that record messages in a store.

use super::decide::Session;
use super::decision::Decision;
use super::error::{library_error, message_error};
use super::prepared::message_to_json;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use rulec::history::RecordError;
use serde_json::Value as Json;
use std::sync::PoisonError;

fn record_error(error: &RecordError) -> PyErr {
    match error {
        RecordError::NoKey(_) | RecordError::NoTime => message_error(error.to_string()),
        error => library_error(error),
    }
}

impl Session {
    /// Calls `work` with the session and a message, without the GIL. `work` may wait for another
    /// thread that uses the same key and needs the GIL.
    fn with_store<T: Send>(
        &self,
        message: &Bound<'_, PyAny>,
        work: impl FnOnce(&mut rulec::Session, &Json) -> Result<T, RecordError> + Send,
    ) -> PyResult<T> {
        if !self.has_store {
            let help = "give it one: `rules.session(history=MemoryStore())`";
            return Err(library_error(format!("the session has no store of earlier messages; {help}")));
        }
        let message_json = message_to_json(message, self.rules.decimal_paths())?;
        without_gil(message.py(), || {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut session, &message_json)
        })
        .map_err(|error| record_error(&error))
    }
}

#[pymethods]
impl Session {
    /// Decides a message with the recorded messages of its key, and records it with the decision.
    /// No other message with this key is recorded in between.
    fn decide_and_record(&self, message: &Bound<'_, PyAny>) -> PyResult<Decision> {
        self.with_store(message, |session, message| session.decide_and_record(message)).map(Decision::new)
    }

    /// Decides a message with the recorded messages of its key, without recording it.
    fn decide_with_history(&self, message: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let decision = self.with_store(message, |session, message| Ok(session.decide_with_history(message)?));
        decision.map(Decision::new)
    }

    /// Records a message with the decision about it, for example after the handler succeeded.
    fn record(&self, message: &Bound<'_, PyAny>, decision: &Bound<'_, Decision>) -> PyResult<()> {
        let decision = decision.get().made()?;
        self.with_store(message, |session, message| session.record(message, decision))
    }

    /// Records a message without deciding it, such as the result of a tool.
    fn observe(&self, message: &Bound<'_, PyAny>) -> PyResult<()> {
        self.with_store(message, |session, message| session.observe(message))
    }
}
