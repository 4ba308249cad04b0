//! Opens histories that outlive the program: in a folder, or at a Redis server.

use crate::CliError;
use rulec::history::{Events, Store, StoreError};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_history_store::{DurableStore, StoreReport, StoredMessage};
#[cfg(feature = "shared")]
use rulec_history_store::{SharedAddress, SharedStore};
use std::path::Path;

/// The environment variable with the password for a server whose address contains no password.
#[cfg(feature = "shared")]
const PASSWORD_VARIABLE: &str = "RULEC_HISTORY_PASSWORD";

/// A history that is stored outside the program: in a folder or at a server.
#[derive(Debug)]
pub enum PersistentStore {
    Disk(DurableStore),
    #[cfg(feature = "shared")]
    Shared(Box<SharedStore>),
}

pub(super) fn store_error(error: &StoreError) -> CliError {
    CliError::input_error(Message::verbatim(error.0.clone()))
}

/// True if `place` is the address of a server and not a folder.
pub fn is_server_address(place: &Path) -> bool {
    place.to_string_lossy().contains("://")
}

/// Opens the history in the folder `place` or at the server `place`, or creates it. At a server,
/// the history has the name that the address contains, or else `name`.
pub fn open(place: &Path, name: &str) -> Result<PersistentStore, CliError> {
    if is_server_address(place) {
        return open_shared_history(place, Some(name), true);
    }
    if place.is_file() {
        return Err(CliError::usage_error(message!(
            "`{}` is a file, and a history is kept in a folder; write the rules before `--history`",
            place.display()
        )));
    }
    DurableStore::open(place).map(PersistentStore::Disk).map_err(|error| store_error(&error))
}

/// Opens the existing history in the folder `place` or at the server `place`. At a server, the
/// history has the name that the address contains, or else `name`. Without both names, opens the
/// only history at the server.
///
/// # Errors
/// If there is no such history.
pub fn open_existing(place: &Path, name: Option<&str>) -> Result<PersistentStore, CliError> {
    if is_server_address(place) {
        return open_shared_history(place, name, false);
    }
    if !place.is_dir() {
        return Err(CliError::usage_error(message!("there is no folder `{}`", place.display())));
    }
    if !DurableStore::exists(place) {
        return Err(CliError::usage_error(message!("the folder `{}` has no history", place.display())));
    }
    open(place, "")
}

#[cfg(feature = "shared")]
fn open_shared_history(place: &Path, name: Option<&str>, creates: bool) -> Result<PersistentStore, CliError> {
    let wrong = |error: StoreError| CliError::usage_error(Message::verbatim(error.0));
    let mut address = SharedAddress::parse(&place.to_string_lossy()).map_err(wrong)?;
    if let Some(password) =
        crate::variables::read_environment_variable(PASSWORD_VARIABLE).filter(|text| !text.is_empty())
    {
        address = address.with_password(&password);
    }
    if let Some(name) = name {
        address = address.with_name(name);
    }
    let store = match creates {
        true => SharedStore::open(&address),
        false => SharedStore::open_existing(&address),
    };
    store.map(|store| PersistentStore::Shared(Box::new(store))).map_err(|error| store_error(&error))
}

#[cfg(not(feature = "shared"))]
fn open_shared_history(_: &Path, _: Option<&str>, _: bool) -> Result<PersistentStore, CliError> {
    Err(CliError::usage_error(message!(
        "this program was built without histories at a server: `cargo build -p rulec-cli --features shared` builds a program that has them"
    )))
}

impl PersistentStore {
    /// Lets calls that record messages return before the messages are on disk. Has no effect for a
    /// history at a server.
    #[must_use]
    pub fn with_deferred_writes(self) -> PersistentStore {
        match self {
            PersistentStore::Disk(store) => PersistentStore::Disk(store.deferred()),
            #[cfg(feature = "shared")]
            store @ PersistentStore::Shared(_) => store,
        }
    }

    /// Waits until the changes of all earlier calls are on disk. Returns at once for a history at a
    /// server, because each call waits for the server.
    pub fn flush(&self) -> Result<(), StoreError> {
        match self {
            PersistentStore::Disk(store) => store.flush(),
            #[cfg(feature = "shared")]
            PersistentStore::Shared(_) => Ok(()),
        }
    }

    pub(super) fn for_each_message(
        &self,
        key: Option<&str>,
        visit: impl FnMut(StoredMessage) -> bool + Send + 'static,
    ) -> Result<(), StoreError> {
        match self {
            PersistentStore::Disk(store) => store.for_each(key, visit),
            #[cfg(feature = "shared")]
            PersistentStore::Shared(store) => store.for_each(key, visit),
        }
    }

    pub(super) fn check(&self) -> Result<StoreReport, StoreError> {
        match self {
            PersistentStore::Disk(store) => store.check(),
            #[cfg(feature = "shared")]
            PersistentStore::Shared(store) => store.check(),
        }
    }

    pub(super) fn compact(&self, before: Option<&str>) -> Result<usize, StoreError> {
        match self {
            PersistentStore::Disk(store) => store.compact(before),
            #[cfg(feature = "shared")]
            PersistentStore::Shared(store) => store.compact(before),
        }
    }
}

impl Store for PersistentStore {
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError> {
        match self {
            PersistentStore::Disk(store) => store.with_key(key, work),
            #[cfg(feature = "shared")]
            PersistentStore::Shared(store) => store.with_key(key, work),
        }
    }
}
