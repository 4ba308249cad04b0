//! Sessions and live rules that decide with recorded messages, and that record messages in a store.

use super::decide::Session;
use super::decision::{Decision, Explanation, Message};
use super::error::{library_error, message_error, unknown_name_error};
use super::history::{extract_history_store, with_history};
use super::live::{LiveRules, ROUTES_ENTRY, default_entry_name};
use super::prepared::message_to_json;
use super::queries::why_not_to_python;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use rulec::Entry;
use rulec::history::{RecordError, Store};
use serde_json::Value as Json;
use std::sync::{Arc, PoisonError};

fn to_python_error(error: &RecordError) -> PyErr {
    match error {
        RecordError::NoKey(_) | RecordError::NoTime => message_error(error.to_string()),
        error => library_error(error),
    }
}

impl Session {
    fn required_store(&self) -> PyResult<&Arc<dyn Store>> {
        self.store.as_ref().ok_or_else(|| {
            let help = "give it one: `rules.session(history=MemoryStore())`";
            library_error(format!("the session has no store of earlier messages; {help}"))
        })
    }

    /// Calls `ask` with the entry (such as a table) of the session, which reads the recorded
    /// messages, and with the message. Releases the GIL.
    fn ask_with_history<T: Send>(
        &self,
        message: &Bound<'_, PyAny>,
        ask: impl FnOnce(Entry<'_>, &Json) -> T + Send,
    ) -> PyResult<T> {
        let store = self.required_store()?;
        let entry = self.rules.entry(&self.entry).map_err(unknown_name_error)?;
        let message_json = message_to_json(message, self.rules.decimal_paths())?;
        with_history(message.py(), &self.rules, entry, &message_json, Some(store), |entry| {
            ask(entry, &message_json)
        })
    }

    /// Calls `work` with the session and a message. Releases the GIL during the call: `work` may
    /// wait for another thread that uses the same history key (such as a user id) and needs the
    /// GIL.
    fn with_session_and_message<T: Send>(
        &self,
        message: &Bound<'_, PyAny>,
        work: impl FnOnce(&mut rulec::Session, &Json) -> Result<T, RecordError> + Send,
    ) -> PyResult<T> {
        self.required_store()?;
        let message_json = message_to_json(message, self.rules.decimal_paths())?;
        without_gil(message.py(), || {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut session, &message_json)
        })
        .map_err(|error| to_python_error(&error))
    }

    fn to_python_decision(
        &self,
        decision: rulec::Decision,
        message: &Bound<'_, PyAny>,
    ) -> PyResult<Decision> {
        Decision::new(decision, || {
            let tree = message_to_json(message, self.rules.decimal_paths())?;
            Ok(Message::Tree(Box::new(tree)))
        })
    }
}

#[pymethods]
impl Session {
    /// Decides a message, and records the message with the decision. The rules read the recorded
    /// messages with the same history key (such as a user id). No other message with this key is
    /// recorded between the decision and the recording.
    fn decide_and_record(&self, message: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let decision =
            self.with_session_and_message(message, |session, message| session.decide_and_record(message))?;
        self.to_python_decision(decision, message)
    }

    /// Decides a message without recording it. The rules read the recorded messages with the same
    /// history key (such as a user id).
    fn decide_with_history(&self, message: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let decision = self
            .with_session_and_message(message, |session, message| Ok(session.decide_with_history(message)?));
        self.to_python_decision(decision?, message)
    }

    /// Returns the names of all matching routes, in evaluation order. The rules read the recorded
    /// messages, as in `decide_with_history`.
    fn matched(&self, message: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        self.ask_with_history(message, |entry, message| {
            entry.matched(message).into_iter().map(str::to_owned).collect()
        })
    }

    /// Explains the decision about a message. The rules read the recorded messages, as in
    /// `decide_with_history`.
    #[pyo3(signature = (message, *, show_private = false))]
    fn explain(&self, message: &Bound<'_, PyAny>, show_private: bool) -> PyResult<Explanation> {
        self.ask_with_history(message, |entry, message| entry.explain(message, show_private)).map(Explanation)
    }

    /// Finds the smallest change of `message` after which the session would choose `route`. The
    /// rules read the recorded messages, as in `decide_with_history`.
    #[pyo3(signature = (message, route, *, show_private = false))]
    fn why_not<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        route: &str,
        show_private: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = self.ask_with_history(message, |entry, message| entry.why_not(route, message))?;
        why_not_to_python(message.py(), result, show_private)
    }

    /// Records a message with the decision about it, for example after the handler succeeded.
    fn record(&self, message: &Bound<'_, PyAny>, decision: &Bound<'_, Decision>) -> PyResult<()> {
        let decision = decision.get().library_decision()?;
        self.with_session_and_message(message, |session, message| session.record(message, decision))
    }

    /// Records a message without deciding it, such as the result of a tool.
    fn observe(&self, message: &Bound<'_, PyAny>) -> PyResult<()> {
        self.with_session_and_message(message, |session, message| session.observe(message))
    }
}

impl LiveRules {
    /// Calls `work` with the rules, a store and a message, without the GIL. Returns the result of
    /// `work`, and the message as JSON.
    fn with_store<T: Send>(
        &self,
        message: &Bound<'_, PyAny>,
        history: &Bound<'_, PyAny>,
        work: impl FnOnce(&rulec::LiveRules, &dyn Store, &Json) -> Result<T, RecordError> + Send,
    ) -> PyResult<(T, Json)> {
        let store = extract_history_store(&self.rules.rules(), history)?;
        let message_json = message_to_json(message, &self.rules.decimal_paths())?;
        let result = without_gil(message.py(), || work(&self.rules, &*store, &message_json));
        Ok((result.map_err(|error| to_python_error(&error))?, message_json))
    }
}

#[pymethods]
impl LiveRules {
    /// Decides a message by the routes outside any table, and records the message. The rules read
    /// the messages with the same history key (such as a user id) in the store `history`. No other
    /// message with this key is recorded between the decision and the recording. Edits of the rules
    /// do not change the store.
    #[pyo3(signature = (message, *, history))]
    fn decide_and_record(
        &self,
        message: &Bound<'_, PyAny>,
        history: &Bound<'_, PyAny>,
    ) -> PyResult<Decision> {
        if default_entry_name(&self.rules)? != ROUTES_ENTRY {
            return Err(unknown_name_error(
                "no route lies outside tables; call `decide_with_history`, then `record`",
            ));
        }
        let decide = |rules: &rulec::LiveRules, store: &dyn Store, message: &Json| {
            rules.decide_and_record(store, message)
        };
        let (decision, message) = self.with_store(message, history, decide)?;
        Decision::with_json_message(decision, message)
    }

    /// Decides a message without recording it. The rules read the messages with the same history
    /// key (such as a user id) in the store `history`.
    #[pyo3(signature = (message, *, history, entry = None))]
    fn decide_with_history(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        history: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Decision> {
        let (past, message) =
            self.with_store(message, history, |rules, store, message| Ok(rules.past(store, message)?))?;
        let decision = self.with_entry(entry, |entry| {
            without_gil(py, || self.rules.decide_with_history(entry, &message, &past))
        })?;
        Decision::with_json_message(decision, message)
    }

    /// Records a message with the decision about it, for example after the handler succeeded.
    #[pyo3(signature = (message, decision, *, history))]
    fn record(
        &self,
        message: &Bound<'_, PyAny>,
        decision: &Bound<'_, Decision>,
        history: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let made = decision.get().library_decision()?;
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
