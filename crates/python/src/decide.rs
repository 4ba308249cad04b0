//! How rules decide messages: one, many, prepared ones, and the messages of a session.

use super::decision::Decision;
use super::error::{is_message_error, message_error};
use super::message::{DirectValue, as_dict, object, text_bytes};
use super::pace::Pace;
use super::prepared::{Prepared, Resolved, message_to_json};
use super::rules::Rules;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use rulec::Entry;
use std::sync::{Mutex, PoisonError};

/// Decides one message, given as any supported Python value. The message is read with the GIL and
/// decided without the GIL if that takes long; see [`Pace`].
fn decide_one(
    py: Python<'_>,
    entry: &Entry<'_>,
    pace: &Pace,
    message: &Bound<'_, PyAny>,
) -> PyResult<Decision> {
    if let Ok(prepared) = message.cast::<Prepared>() {
        let prepared = prepared.get();
        return Ok(Decision::new(without_gil(py, || {
            prepared.0.with_dependent(|_, record| entry.decide_prepared(record))
        })));
    }
    let message = as_dict(message)?;
    if message.cast::<PyDict>().is_ok()
        && let Ok(decision) =
            entry.decide_value_without_lock(&DirectValue::new(&message), |decide| pace.run(py, 0, decide))
    {
        return Ok(Decision::new(decision));
    }
    let message = object(&message, entry.decimal_paths())?;
    Ok(Decision::new(without_gil(py, || entry.decide(&message))))
}

#[pymethods]
impl Rules {
    #[pyo3(signature = (message, *, entry = None))]
    fn decide(&self, py: Python<'_>, message: &Bound<'_, PyAny>, entry: Option<&str>) -> PyResult<Decision> {
        decide_one(py, &self.entry(entry)?, &self.pace, message)
    }

    /// Decides a message given as JSON text. `entry` names the table, choice or router that
    /// decides; by default, the routes outside any table decide.
    #[pyo3(signature = (text, *, entry = None))]
    fn decide_json(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Decision> {
        let entry = self.entry(entry)?;
        let text = text_bytes(text)?;
        let decision = self.pace.run(py, text.len(), || entry.decide_line(text));
        decision.map(Decision::new).map_err(|error| message_error(error.to_string()))
    }

    /// Decides a sequence of messages by `entry`, as in `decide_json`. The error for an invalid
    /// message contains the index of the message.
    #[pyo3(signature = (messages, *, entry = None))]
    fn decide_many(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Vec<Decision>> {
        let entry = self.entry(entry)?;
        let decide = |(index, message): (usize, PyResult<Bound<'_, PyAny>>)| {
            decide_one(py, &entry, &self.pace, &message?).map_err(|error| {
                match is_message_error(py, &error) {
                    true => message_error(format!("message {index}: {}", error.value(py))),
                    false => error,
                }
            })
        };
        messages.try_iter()?.enumerate().map(decide).collect()
    }

    /// Decides a sequence of messages given as JSON text, on `threads` threads. The interpreter
    /// lock is released for the whole sequence. The error for an invalid message contains the index
    /// of the message.
    #[pyo3(signature = (texts, *, entry = None, threads = 1))]
    fn decide_json_many(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        entry: Option<&str>,
        threads: usize,
    ) -> PyResult<Vec<Decision>> {
        let entry = self.entry(entry)?;
        let texts = texts.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let lines = texts.iter().map(text_bytes).collect::<PyResult<Vec<_>>>()?;
        let size = lines.len().div_ceil(threads.max(1)).max(1);
        let decide = |lines: &[&[u8]]| {
            let mut session = entry.session();
            lines.iter().map(|line| session.decide_line(line)).collect::<Vec<_>>()
        };
        let results: Vec<_> = without_gil(py, || match threads {
            0 | 1 => decide(&lines),
            _ => std::thread::scope(|scope| {
                let parts: Vec<_> =
                    lines.chunks(size).map(|part| scope.spawn(move || decide(part))).collect();
                parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
            }),
        });
        let decided = results.into_iter().enumerate().map(|(index, decision)| match decision {
            Ok(decision) => Ok(Decision::new(decision)),
            Err(error) => Err(message_error(format!("message {index}: {error}"))),
        });
        decided.collect()
    }

    /// Returns a session: the fastest way to decide many messages, one after another, in one
    /// thread.
    #[pyo3(signature = (*, entry = None))]
    fn session(&self, entry: Option<&str>) -> PyResult<Session> {
        Ok(Session(Mutex::new(self.entry(entry)?.session())))
    }

    /// Reads the fields of a message and returns the prepared message. Several decisions can use
    /// the prepared message without reading the fields again.
    fn prepare(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<Prepared> {
        let message = object(&as_dict(message)?, self.rules.decimal_paths())?;
        Ok(Prepared(without_gil(py, || Resolved::new(message, |message| self.rules.prepare(message)))))
    }
}

/// Rules with their own working memory, for the decisions of one thread.
#[pyclass(frozen, module = "rulec")]
pub struct Session(Mutex<rulec::Session>);

#[pymethods]
impl Session {
    /// Decides a message. The interpreter lock is not released.
    fn decide(&self, message: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let mut session = self.0.lock_py_attached(message.py()).unwrap_or_else(PoisonError::into_inner);
        if message.cast::<PyDict>().is_ok()
            && let Ok(decision) = session.decide_value(&DirectValue::new(message))
        {
            return Ok(Decision::new(decision));
        }
        let message = message_to_json(message, session.decimal_paths())?;
        Ok(Decision::new(session.decide(&message)))
    }

    /// Decides a message given as JSON text. The interpreter lock is not released.
    fn decide_json(&self, text: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let mut session = self.0.lock_py_attached(text.py()).unwrap_or_else(PoisonError::into_inner);
        let decision = session.decide_line(text_bytes(text)?);
        decision.map(Decision::new).map_err(|error| message_error(error.to_string()))
    }

    fn __repr__(&self) -> &'static str {
        "<Session>"
    }
}
