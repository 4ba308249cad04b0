//! Stores of recorded messages, which rules read as `history`: a store in memory, one in a folder,
//! one at a Redis server, and stores that a program implements in Python.

use super::error::{exception_text, library_error};
use super::message::python_to_json;
use super::repr::count_with_noun;
use super::shutdown::{with_gil, without_gil};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PySlice;
use pythonize::pythonize;
use rulec::Entry;
use rulec::history::{self, Events, HashKey, RecordError, Store, StoreError};
use rulec_history_store::SharedAddress;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::Arc;

/// Earlier messages in memory, for `Rules.session`. Sessions and threads may share a store.
///
/// If there are more than `max_keys` history keys (such as user ids), the messages of the least
/// recently used key are removed.
///
/// >>> rules = Rules.from_text('''
/// ...     input { tool: string, now: datetime }
/// ...     history keep 1d
/// ...     route again when previous.tool == tool -> deny
/// ...     default -> run
/// ... ''')
/// >>> session = rules.session(history=MemoryStore())
/// >>> message = {"tool": "search", "now": "2026-01-31T12:00:00Z"}
/// >>> [session.decide_and_record(message).target for _ in range(2)]
/// ['run', 'deny']
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

/// Earlier messages in a folder, which survive the process. One store at a time can use a folder.
///
/// The folder is created if it does not exist. A call that records a message returns when the
/// message is on disk. `compact(before)` removes older messages, also of keys that are never used
/// again.
///
/// >>> import tempfile
/// >>> rules = Rules.from_text('''
/// ...     input { tool: string, now: datetime }
/// ...     history keep 1d
/// ...     route again when previous.tool == tool -> deny
/// ...     default -> run
/// ... ''')
/// >>> store = DurableStore(tempfile.mkdtemp())
/// >>> session = rules.session(history=store)
/// >>> message = {"tool": "search", "now": "2026-01-31T12:00:00Z"}
/// >>> [session.decide_and_record(message).target for _ in range(2)]
/// ['run', 'deny']
/// >>> store.compact("2026-02-01T00:00:00Z")
/// 2
#[pyclass(frozen, module = "rulec")]
pub struct DurableStore {
    store: Arc<rulec_history_store::DurableStore>,
    folder: PathBuf,
}

#[pymethods]
impl DurableStore {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<DurableStore> {
        let store = without_gil(py, || rulec_history_store::DurableStore::open(&folder));
        Ok(DurableStore { store: Arc::new(store.map_err(library_error)?), folder })
    }

    /// Removes the messages that are older than `before` (a datetime, or a time as RFC 3339 text)
    /// if it is given. Then returns unused space to the file system. Returns the number of removed
    /// messages. A function that rules call cannot call this method: it would wait for its own end.
    #[pyo3(signature = (before = None))]
    fn compact(&self, py: Python<'_>, before: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let before = before.map(time_text).transpose()?;
        without_gil(py, || self.store.compact(before.as_deref())).map_err(library_error)
    }

    fn __repr__(&self) -> String {
        format!("<DurableStore {}>", self.folder.display())
    }
}

/// Earlier messages at a Redis server, for several programs. Threads and sessions can share a
/// store.
///
/// `address` is `redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][#NAME]`; `name` and `password`
/// apply if the address has none.
///
/// >>> try:
/// ...     SharedStore("rediss://localhost/0", name="guard")
/// ... except RulecError as error:
/// ...     "TLS, which is not supported" in str(error)
/// True
#[pyclass(frozen, module = "rulec")]
pub struct SharedStore {
    store: Arc<rulec_history_store::SharedStore>,
    name: String,
}

#[pymethods]
impl SharedStore {
    #[new]
    #[pyo3(signature = (address, *, name = None, password = None))]
    fn new(
        py: Python<'_>,
        address: &str,
        name: Option<&str>,
        password: Option<&str>,
    ) -> PyResult<SharedStore> {
        let mut address = SharedAddress::parse(address).map_err(library_error)?;
        if let Some(name) = name {
            address = address.with_name(name);
        }
        if let Some(password) = password {
            address = address.with_password(password);
        }
        let store = without_gil(py, || rulec_history_store::SharedStore::open(&address));
        let name = address.name().unwrap_or_default().to_owned();
        Ok(SharedStore { store: Arc::new(store.map_err(library_error)?), name })
    }

    /// Removes the messages that are older than `before` (a datetime, or a time as RFC 3339 text)
    /// if it is given. Returns the number of removed messages.
    #[pyo3(signature = (before = None))]
    fn compact(&self, py: Python<'_>, before: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let before = before.map(time_text).transpose()?;
        without_gil(py, || self.store.compact(before.as_deref())).map_err(library_error)
    }

    fn __repr__(&self) -> String {
        format!("<SharedStore {}>", self.name)
    }
}

/// Converts a datetime to RFC 3339 text. A text is returned unchanged.
fn time_text(time: &Bound<'_, PyAny>) -> PyResult<String> {
    match python_to_json(time, "the time")? {
        Json::String(text) => Ok(text),
        other => Err(library_error(format!("a time is a datetime, or a text in RFC 3339, and not {other}"))),
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

/// Calls `work` with the recorded messages of a Python list. `work` may add and remove messages;
/// the Python list is changed in the same way. In these messages, private texts are replaced by
/// hashes with the secret `hash_key`.
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
    if let Ok(durable) = store.cast::<DurableStore>() {
        return Ok(durable.get().store.clone());
    }
    if let Ok(shared) = store.cast::<SharedStore>() {
        return Ok(shared.get().store.clone());
    }
    if !store.hasattr(intern!(store.py(), "with_key"))? {
        let help = "give a store of `rulec.history`, or an object with the method `with_key`";
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

/// Calls `ask` with an entry (such as a table) that reads the recorded messages about `message` in
/// `store`. Without a store, the entry reads no messages. Releases the GIL.
pub fn with_history<T: Send>(
    py: Python<'_>,
    rules: &rulec::Rules,
    entry: Entry<'_>,
    message: &Json,
    store: Option<&Arc<dyn Store>>,
    ask: impl FnOnce(Entry<'_>) -> T + Send,
) -> PyResult<T> {
    let asked = without_gil(py, || {
        let past = store.map(|store| rules.past(&**store, message)).transpose()?;
        Ok(ask(past.as_ref().map_or(entry, |past| entry.with_history(past))))
    });
    asked.map_err(|error: StoreError| library_error(error))
}

fn read_hash_key(key: &Bound<'_, PyAny>) -> PyResult<HashKey> {
    let bytes = key.extract::<[u8; 16]>();
    bytes.map(HashKey::from_bytes).map_err(|_| library_error("the `hash_key` of a store is 16 bytes"))
}
