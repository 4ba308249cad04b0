//! Methods that decide messages: one message, many messages, prepared messages, and the messages of
//! a session.

use super::decision::{Decision, Message};
use super::error::{is_message_error, message_error};
use super::history::extract_history_store;
use super::message::{DirectValue, as_dict, python_to_json_object, text_bytes};
use super::pace::GilPolicy;
use super::prepared::{Prepared, Resolved, message_to_json};
use super::rules::Rules;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use rulec::Entry;
use rulec::history::Store;
use rulec_base::json::JsonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// Decides one message, given as any supported Python value. Holds the GIL while it reads the
/// message. Releases the GIL for the decision if decisions of these rules are slow; see
/// [`GilPolicy`].
fn decide_one(
    py: Python<'_>,
    entry: &Entry<'_>,
    pace: &GilPolicy,
    message: &Bound<'_, PyAny>,
) -> PyResult<Decision> {
    if let Ok(prepared) = message.cast::<Prepared>() {
        let prepared = prepared.get();
        let decision =
            without_gil(py, || prepared.0.with_dependent(|_, record| entry.decide_prepared(record)));
        return Decision::new(decision, || Message::from_immutable(message));
    }
    let message = as_dict(message)?;
    if let Ok(dict) = message.cast::<PyDict>()
        && let Ok(decision) = entry
            .decide_value_without_lock(&DirectValue::new(&message), |decide| pace.run_decision(py, 0, decide))
    {
        return Decision::new(decision, || Message::from_dict(dict));
    }
    let message = python_to_json_object(&message, entry.decimal_paths())?;
    let decision = without_gil(py, || entry.decide(&message));
    Decision::with_json_message(decision, message)
}

/// Converts the result of deciding the JSON text `text` to a Python object.
pub fn convert_text_decision(
    decision: Result<rulec::Decision, JsonError>,
    text: &Bound<'_, PyAny>,
) -> PyResult<Decision> {
    let decision = decision.map_err(|error| message_error(error.to_string()))?;
    Decision::new(decision, || Message::from_immutable(text))
}

/// Adds the index of a message to the error about the message.
pub fn add_message_index(py: Python<'_>, index: usize, error: PyErr) -> PyErr {
    match is_message_error(py, &error) {
        true => message_error(format!("message {index}: {}", error.value(py))),
        false => error,
    }
}

#[pymethods]
impl Rules {
    /// Decides a message: a dict, a dataclass, a pydantic model or a `Prepared`. `entry` names the
    /// table, choice or router that decides. By default, the routes outside any table decide, or
    /// else the only choice, router or set of flows.
    #[pyo3(signature = (message, *, entry = None))]
    fn decide(&self, py: Python<'_>, message: &Bound<'_, PyAny>, entry: Option<&str>) -> PyResult<Decision> {
        decide_one(py, &self.entry(entry)?, &self.pace, message)
    }

    /// Decides a message given as JSON text. `entry` names the table, choice or router that
    /// decides; by default, the routes outside any table decide, or else the only choice, router
    /// or set of flows.
    #[pyo3(signature = (text, *, entry = None))]
    fn decide_json(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Decision> {
        let (entry, bytes) = (self.entry(entry)?, text_bytes(text)?);
        let decision = self.pace.run_decision(py, bytes.len(), || entry.decide_line(bytes));
        convert_text_decision(decision, text)
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
            decide_one(py, &entry, &self.pace, &message?).map_err(|error| add_message_index(py, index, error))
        };
        messages.try_iter()?.enumerate().map(decide).collect()
    }

    /// Decides a sequence of messages given as JSON text, on `threads` threads, without the
    /// interpreter lock. The error for an invalid message contains the index of the message.
    #[pyo3(signature = (texts, *, entry = None, threads = 1))]
    fn decide_json_many(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        entry: Option<&str>,
        threads: usize,
    ) -> PyResult<Vec<Py<Decision>>> {
        let entry = self.entry(entry)?;
        let texts = texts.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let lines = texts.iter().map(text_bytes).collect::<PyResult<Vec<_>>>()?;
        decide_lines(py, entry, &texts, &lines, threads)
    }

    /// Returns a session, which decides many messages in one thread as fast as possible. `history`
    /// is a store of recorded messages, which the session reads and extends.
    #[pyo3(signature = (*, entry = None, history = None))]
    fn session(&self, entry: Option<&str>, history: Option<&Bound<'_, PyAny>>) -> PyResult<Session> {
        let entry = self.entry(entry)?;
        let session = entry.session();
        let store = history.map(|store| extract_history_store(&self.rules, store)).transpose()?;
        let session = match &store {
            Some(store) => session.with_history(store.clone()),
            None => session,
        };
        let (session, rules) = (Mutex::new(session), self.rules.clone());
        Ok(Session { session, rules, entry: entry.name().to_owned(), store })
    }

    /// Reads the fields of a message and returns the prepared message. Several decisions can use
    /// the prepared message without reading the fields again.
    fn prepare(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<Prepared> {
        let message = python_to_json_object(&as_dict(message)?, self.rules.decimal_paths())?;
        Ok(Prepared(without_gil(py, || Resolved::new(message, |message| self.rules.prepare(message)))))
    }
}

/// The number of texts that a thread decides before it passes the results on. A block of this size
/// is large enough that passing results costs little. It is small enough that the decisions of the
/// block fit into the CPU cache.
const TEXTS_PER_BLOCK: usize = 512;

/// Decides JSON texts on `threads` threads; `lines` are the bytes of `texts`. The calling thread
/// converts finished blocks of decisions to Python objects.
fn decide_lines(
    py: Python<'_>,
    entry: Entry<'_>,
    texts: &[Bound<'_, PyAny>],
    lines: &[&[u8]],
    threads: usize,
) -> PyResult<Vec<Py<Decision>>> {
    let blocks: Vec<&[&[u8]]> = lines.chunks(TEXTS_PER_BLOCK).collect();
    let texts_of_block =
        |index: usize| &texts[index * TEXTS_PER_BLOCK..index * TEXTS_PER_BLOCK + blocks[index].len()];
    let decide = |session: &mut rulec::Session, block: &[&[u8]]| -> DecidedBlock {
        block.iter().map(|line| session.decide_line(line)).collect()
    };
    let mut converted = Vec::with_capacity(lines.len());
    if threads <= 1 {
        let mut session = entry.session();
        for (index, block) in blocks.iter().enumerate() {
            let decided = without_gil(py, || decide(&mut session, block));
            converted.extend(convert_block(py, index * TEXTS_PER_BLOCK, decided, texts_of_block(index))?);
        }
        return Ok(converted);
    }
    let mut converted_blocks: Vec<_> = blocks.iter().map(|_| Ok(Vec::new())).collect();
    let (next, blocks, decide) = (AtomicUsize::new(0), &blocks, &decide);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(2 * threads);
        // `without_gil` can borrow the receiver only through a lock. No other thread uses the lock.
        let receiver = Mutex::new(receiver);
        let receive = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        for _ in 0..threads.min(blocks.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                let mut session = entry.session();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(block) = blocks.get(index) else { break };
                    if sender.send((index, decide(&mut session, block))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        while let Ok((index, decided)) = without_gil(py, receive) {
            converted_blocks[index] =
                convert_block(py, index * TEXTS_PER_BLOCK, decided, texts_of_block(index));
        }
    });
    for block in converted_blocks {
        converted.extend(block?);
    }
    Ok(converted)
}

/// The results for the texts of a block, in order.
type DecidedBlock = Vec<Result<rulec::Decision, JsonError>>;

/// Converts the decisions about the texts of a block to Python objects. `first_index` is the index
/// of the block's first text among all texts.
fn convert_block(
    py: Python<'_>,
    first_index: usize,
    decided: DecidedBlock,
    texts: &[Bound<'_, PyAny>],
) -> PyResult<Vec<Py<Decision>>> {
    let decided =
        decided.into_iter().zip(texts).enumerate().map(|(index, (decision, text))| match decision {
            Ok(decision) => Py::new(py, convert_text_decision(Ok(decision), text)?),
            Err(error) => Err(message_error(format!("message {}: {error}", first_index + index))),
        });
    decided.collect()
}

/// Rules with their own working memory: the fastest way to decide in one thread.
///
/// It holds the interpreter lock while it decides. Decide long texts with `Rules.decide`, which
/// releases the lock. With a store of earlier messages, its methods decide by what happened before.
///
/// >>> session = Rules.from_text("route big when n > 9 -> many default -> few").session()
/// >>> session.decide({"n": 12}).target, session.decide_json('{"n": 3}').target
/// ('many', 'few')
#[pyclass(frozen, module = "rulec")]
pub struct Session {
    pub session: Mutex<rulec::Session>,
    pub rules: rulec::Rules,
    /// The name of the entry (such as a table) that decides.
    pub entry: String,
    /// The store of recorded messages; `None` if the session has none.
    pub store: Option<Arc<dyn Store>>,
}

#[pymethods]
impl Session {
    /// Decides a message. Holds the interpreter lock during the decision.
    fn decide(&self, message: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let mut session = self.session.lock_py_attached(message.py()).unwrap_or_else(PoisonError::into_inner);
        if let Ok(dict) = message.cast::<PyDict>()
            && let Ok(decision) = session.decide_value(&DirectValue::new(message))
        {
            return Decision::new(decision, || Message::from_dict(dict));
        }
        let message = message_to_json(message, session.decimal_paths())?;
        Decision::with_json_message(session.decide(&message), message)
    }

    /// Decides a message given as JSON text. Holds the interpreter lock during the decision.
    fn decide_json(&self, text: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let mut session = self.session.lock_py_attached(text.py()).unwrap_or_else(PoisonError::into_inner);
        convert_text_decision(session.decide_line(text_bytes(text)?), text)
    }

    fn __repr__(&self) -> String {
        let history = if self.store.is_some() { " with a history" } else { "" };
        format!("<Session of {}{history}>", self.entry)
    }
}
