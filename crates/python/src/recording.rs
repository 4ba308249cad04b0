//! Sessions and live rules that decide with recorded messages, and that record messages in a store.

use super::decide::Session;
use super::decision::Decision;
use super::error::{library_error, message_error, unknown_name_error};
use super::history::store_of;
use super::live::{LiveRules, ROUTES};
use super::prepared::message_to_json;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use rulec::history::{RecordError, Store};
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
        let decision = self.with_store(message, |session, message| session.decide_and_record(message))?;
        Decision::new(decision, || message_to_json(message, self.rules.decimal_paths()))
    }

    /// Decides a message with the recorded messages of its key, without recording it.
    fn decide_with_history(&self, message: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let decision = self.with_store(message, |session, message| Ok(session.decide_with_history(message)?));
        Decision::new(decision?, || message_to_json(message, self.rules.decimal_paths()))
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

impl LiveRules {
    /// Calls `work` with the rules, a store and a message, without the GIL. Also returns the
    /// message.
    fn with_store<T: Send>(
        &self,
        message: &Bound<'_, PyAny>,
        history: &Bound<'_, PyAny>,
        work: impl FnOnce(&rulec::LiveRules, &dyn Store, &Json) -> Result<T, RecordError> + Send,
    ) -> PyResult<(T, Json)> {
        let store = store_of(&self.rules.rules(), history)?;
        let message_json = message_to_json(message, &self.rules.decimal_paths())?;
        let result = without_gil(message.py(), || work(&self.rules, &*store, &message_json));
        Ok((result.map_err(|error| record_error(&error))?, message_json))
    }
}

#[pymethods]
impl LiveRules {
    /// Decides a message by the routes outside any table, with the messages that the store
    /// `history` has of its key, and records it. No other message with this key is recorded in
    /// between. Edits keep the history.
    #[pyo3(signature = (message, *, history))]
    fn decide_and_record(
        &self,
        message: &Bound<'_, PyAny>,
        history: &Bound<'_, PyAny>,
    ) -> PyResult<Decision> {
        let decide = |rules: &rulec::LiveRules, store: &dyn Store, message: &Json| {
            rules.decide_and_record(store, message)
        };
        let (decision, message) = self.with_store(message, history, decide)?;
        Decision::new(decision, || Ok(message))
    }

    /// Decides a message with the recorded messages of its key, without recording it.
    #[pyo3(signature = (message, *, history, entry = None))]
    fn decide_with_history(
        &self,
        message: &Bound<'_, PyAny>,
        history: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Decision> {
        let entry = entry.unwrap_or(ROUTES);
        let (decision, message) = self.with_store(message, history, |rules, store, message| {
            let past = rules.past(store, message)?;
            Ok(rules.decide_with_history(entry, message, &past))
        })?;
        Decision::new(decision.map_err(unknown_name_error)?, || Ok(message))
    }

    /// Records a message with the decision about it, for example after the handler succeeded.
    #[pyo3(signature = (message, decision, *, history))]
    fn record(
        &self,
        message: &Bound<'_, PyAny>,
        decision: &Bound<'_, Decision>,
        history: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let made = decision.get().made()?;
        self.with_store(message, history, |rules, store, message| rules.record(store, message, made))?;
        Ok(())
    }

    /// Records a message without deciding it, such as the result of a tool.
    #[pyo3(signature = (message, *, history))]
    fn observe(&self, message: &Bound<'_, PyAny>, history: &Bound<'_, PyAny>) -> PyResult<()> {
        self.with_store(message, history, |rules, store, message| rules.observe(store, message))?;
        Ok(())
    }
}
