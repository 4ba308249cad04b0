//! Stores of recorded messages, which rules read as `history`: a store in memory, and stores that a
//! program implements in Python.

use super::error::{exception_text, library_error};
use super::message::python_to_json;
use super::repr::count_with_noun;
use super::shutdown::with_gil;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PySlice;
use pythonize::pythonize;
use rulec::history::{self, Events, HashKey, RecordError, Store, StoreError};
use serde_json::Value as Json;
use std::sync::Arc;

/// Keeps the recorded messages of each history key (such as a user id) in memory. Threads and
/// sessions can share a store. If there are more than `max_keys` keys, removes the messages of the
/// least recently used key.
#[pyclass(frozen, module = "rulec")]
pub struct MemoryStore(Arc<history::MemoryStore>);

#[pymethods]
impl MemoryStore {
    #[new]
    #[pyo3(signature = (max_keys = None))]
    fn new(max_keys: Option<usize>) -> MemoryStore {
        let max_keys = max_keys.unwrap_or(history::MemoryStore::DEFAULT_KEYS);
        MemoryStore(Arc::new(history::MemoryStore::new(max_keys)))
    }

    /// The number of history keys (such as user ids) that have messages.
    #[getter]
    fn key_count(&self) -> usize {
        self.0.key_count()
    }

    fn __repr__(&self) -> String {
        format!("<MemoryStore: {}>", count_with_noun(self.0.key_count(), "key"))
    }
}

/// A store that is a Python object. Its method `with_key` returns a context manager, which provides
/// the list of recorded messages of a history key (such as a user id). At the end of the `with`
/// block, the context manager stores the changed list.
struct PythonStore {
    store: Py<PyAny>,
    /// The secret key of the hash function; the store contains hashes in place of private texts.
    hash_key: HashKey,
}

impl PythonStore {
    fn change_elements(&self, py: Python<'_>, key: &str, work: &mut dyn FnMut(&mut Events)) -> PyResult<()> {
        let context = self.store.bind(py).call_method1(intern!(py, "with_key"), (key,))?;
        let messages = context.call_method0(intern!(py, "__enter__"))?;
        let changed = change_messages(&messages, self.hash_key, work);
        let none = py.None();
        let exit = intern!(py, "__exit__");
        match &changed {
            Ok(()) => context.call_method1(exit, (&none, &none, &none))?,
            Err(error) => context.call_method1(exit, (error.get_type(py), error.value(py), &none))?,
        };
        changed
    }
}

/// Calls `work` with the recorded messages in a Python list, and applies the changes of `work` to
/// the list. In these messages, private texts are replaced by hashes with the secret `hash_key`.
fn change_messages(
    messages: &Bound<'_, PyAny>,
    hash_key: HashKey,
    work: &mut dyn FnMut(&mut Events),
) -> PyResult<()> {
    let Json::Array(elements) = python_to_json(messages, "the history")? else {
        return Err(library_error("the context manager of `with_key` gives a list of dicts"));
    };
    let mut events = Events::from_elements(elements, hash_key);
    work(&mut events);
    let py = messages.py();
    messages.set_item(PySlice::full(py), pythonize(py, events.elements())?)
}

impl Store for PythonStore {
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError> {
        with_gil(|py| {
            self.change_elements(py, key, work).map_err(|error| StoreError(exception_text(py, &error)))
        })
    }
}

/// Converts the store that a program passes for sessions of these rules. Fails if the rules have no
/// `history` statement, or the object is not a store.
pub fn extract_history_store(rules: &rulec::Rules, store: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Store>> {
    if !rules.has_history() {
        return Err(library_error(RecordError::NoHistory));
    }
    if let Ok(memory) = store.cast::<MemoryStore>() {
        return Ok(memory.get().0.clone());
    }
    if !store.hasattr(intern!(store.py(), "with_key"))? {
        let help = "give a `MemoryStore`, or an object with the method `with_key`";
        return Err(library_error(format!("{} keeps no messages; {help}", store.get_type())));
    }
    let hash_key = match store.getattr_opt(intern!(store.py(), "hash_key"))? {
        Some(key) => read_hash_key(&key)?,
        None if rules.hashes_history() => {
            return Err(library_error(
                "the rules keep hashes of private texts: give the store an attribute `hash_key`, 16 random bytes \
                that it keeps as long as the messages, as from `secrets.token_bytes(16)`",
            ));
        }
        None => HashKey::default(),
    };
    Ok(Arc::new(PythonStore { store: store.clone().unbind(), hash_key }))
}

fn read_hash_key(key: &Bound<'_, PyAny>) -> PyResult<HashKey> {
    let bytes = key.extract::<[u8; 16]>();
    bytes.map(HashKey::from_bytes).map_err(|_| library_error("the `hash_key` of a store is 16 bytes"))
}
