//! Rule files that are watched: a new version is put in force when it compiles and fits the router; else the last good
//! one stays, and everybody who asks is told why.

use super::{Router, RouterError};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rulec::{CompileError, Compiler, DiskLoader, LiveRules};
use rulec_syntax::loader::{LoadError, Loader};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

/// Editors write a file in several steps: what is read is what has been left alone for so long.
const QUIET: Duration = Duration::from_millis(50);
/// Some file systems tell of no changes, and a file may come to be missed: so often the files are looked at anyway.
const LOOK: Duration = Duration::from_secs(5);

/// Why files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// They do not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// They hold nothing, like a file that is being written.
    #[error("the rule file `{}` holds no statement", .0.display())]
    Empty(PathBuf),
    /// They do not fit the router.
    #[error(transparent)]
    Router(#[from] RouterError),
    /// The operating system does not watch them.
    #[error("the rule files cannot be watched: {0}")]
    System(#[from] notify::Error),
    /// There is no runtime to compile them on.
    #[error("the rule files cannot be loaded: {0}")]
    Runtime(#[from] tokio::task::JoinError),
}

/// The state of files that are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchStatus {
    /// The generation of the last version that was put in force.
    pub generation: u64,
    /// The number of versions that were put in force, the first included.
    pub loaded: u64,
    /// The number of versions that were refused.
    pub refused: u64,
    /// Why the version that lies there now is not in force; `None` when it is.
    pub error: Option<String>,
}

/// The files behind a router's rules, watched until this is dropped; see [`Router::watch`].
#[derive(Debug)]
pub struct Watch {
    status: watch::Receiver<WatchStatus>,
    task: AbortHandle,
}

impl Watch {
    /// The state of the files.
    pub fn status(&self) -> WatchStatus {
        self.status.borrow().clone()
    }

    /// Waits until a version is put in force or refused that has not been told of yet.
    pub async fn changed(&mut self) -> WatchStatus {
        // The sender lives as long as the task, which ends with this value.
        let _ = self.status.changed().await;
        self.status.borrow_and_update().clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Router {
    /// Puts the rules of a file in force, and every new version of it, of the files that it imports and of its lists
    /// of words as soon as it lies there. A version that does not compile, or leads to a handler there is not, is
    /// refused with a warning, and the last good one stays in force. Edits of the rules that were in force are not in a
    /// new version: the files are the truth. They are texts, which a compiler that trusts keys refuses.
    ///
    /// Must run inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// When the file as it is now cannot be put in force, and when the operating system does not watch files.
    pub async fn watch(&self, compiler: Compiler, path: impl AsRef<Path>) -> Result<Watch, WatchError> {
        let files = Files { compiler, path: path.as_ref().to_owned() };
        let version = files.clone().read().await?;
        let swapped = self.swap(version.rules?)?;
        let told = Arc::new(Notify::new());
        let mut folders = Folders::new(&told)?;
        folders.watch(&version.seen.folders())?;
        let status = WatchStatus { generation: swapped.generation, loaded: 1, ..WatchStatus::default() };
        let (tell, status) = watch::channel(status);
        let watching = Watching { router: self.clone(), files, told, folders, seen: version.seen, tell };
        Ok(Watch { status, task: tokio::spawn(watching.run()).abort_handle() })
    }
}

/// The files to watch.
#[derive(Clone)]
struct Files {
    compiler: Compiler,
    path: PathBuf,
}

/// A version of the files.
struct Version {
    rules: Result<LiveRules, WatchError>,
    seen: Seen,
}

impl Files {
    /// Reads and compiles the files, on a thread where that is no harm.
    async fn read(self) -> Result<Version, tokio::task::JoinError> {
        tokio::task::spawn_blocking(move || match self.compiler.on_disk(&self.path) {
            Ok((disk, name)) => {
                let loader = Seeing { disk: &disk, digests: RefCell::default() };
                let rules = LiveRules::new(self.compiler.clone(), &loader, &name);
                let rules = rules.map_err(WatchError::from).and_then(|rules| match is_empty(&rules, &name) {
                    true => Err(WatchError::Empty(self.path.clone())),
                    false => Ok(rules),
                });
                let digests = loader.digests.into_inner();
                Version { rules, seen: Seen { disk: Some(disk), digests } }
            }
            Err(error) => Version { rules: Err(error.into()), seen: Seen::default() },
        })
        .await
    }
}

/// Rules may be empty where routes are to be inserted; those of a file that somebody writes are not.
fn is_empty(rules: &LiveRules, main: &str) -> bool {
    rules.texts().iter().any(|(name, text)| name == main && text.trim().is_empty())
}

/// Passes files on, and keeps a digest of each: of one that is missing too, since it may come.
struct Seeing<'d> {
    disk: &'d DiskLoader,
    digests: RefCell<BTreeMap<String, u64>>,
}

impl Loader for Seeing<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        let loaded = self.disk.load(path);
        self.digests.borrow_mut().insert(path.to_owned(), digest(&loaded));
        loaded
    }
}

fn digest(loaded: &Result<Vec<u8>, LoadError>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match loaded {
        Ok(bytes) => bytes.hash(&mut hasher),
        Err(error) => error.to_string().hash(&mut hasher),
    }
    hasher.finish()
}

/// The files as they were read last.
#[derive(Default)]
struct Seen {
    /// `None` when not even their folder could be found.
    disk: Option<DiskLoader>,
    digests: BTreeMap<String, u64>,
}

impl Seen {
    /// True when a file is no longer as it was.
    fn is_old(&self) -> bool {
        let Some(disk) = &self.disk else { return true };
        self.digests.iter().any(|(path, known)| digest(&disk.load(path)) != *known)
    }

    /// The folders that the files lie in. Editors put another file in the place of one, so folders are watched.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let Some(disk) = &self.disk else { return BTreeSet::new() };
        let folder = |path: &String| disk.root().join(path).parent().map(Path::to_owned);
        self.digests.keys().filter_map(folder).collect()
    }
}

/// The folders that the operating system watches.
struct Folders {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl Folders {
    fn new(told: &Arc<Notify>) -> Result<Folders, notify::Error> {
        let told = told.clone();
        let tell = move |event: Result<Event, notify::Error>| {
            // That a file was read is no news: this reads them too.
            if !matches!(&event, Ok(Event { kind: EventKind::Access(_), .. })) {
                told.notify_one();
            }
        };
        let watcher = RecommendedWatcher::new(tell, Config::default())?;
        Ok(Folders { watcher, watched: BTreeSet::new() })
    }

    /// Watches these folders and no others.
    fn watch(&mut self, folders: &BTreeSet<PathBuf>) -> Result<(), notify::Error> {
        for gone in self.watched.difference(folders) {
            // It may no longer be there.
            let _ = self.watcher.unwatch(gone);
        }
        let new: Vec<PathBuf> = folders.difference(&self.watched).cloned().collect();
        self.watched.retain(|folder| folders.contains(folder));
        for folder in new {
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.watched.insert(folder)),
                // An import may name a folder that is not there yet, which is looked for from time to time.
                Err(_) if !folder.exists() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Watching, as long as its task runs.
struct Watching {
    router: Router,
    files: Files,
    told: Arc<Notify>,
    folders: Folders,
    seen: Seen,
    tell: watch::Sender<WatchStatus>,
}

impl Watching {
    async fn run(mut self) {
        loop {
            if tokio::time::timeout(LOOK, self.told.notified()).await.is_ok() {
                // Not for ever: something else may be written beside the rules all the time.
                let quiet =
                    async { while tokio::time::timeout(QUIET, self.told.notified()).await.is_ok() {} };
                let _ = tokio::time::timeout(10 * QUIET, quiet).await;
            }
            let seen = std::mem::take(&mut self.seen);
            let looked = tokio::task::spawn_blocking(move || (seen.is_old(), seen)).await;
            let Ok((is_old, seen)) = looked else { return };
            self.seen = seen;
            if is_old && self.load().await.is_err() {
                return;
            }
        }
    }

    /// Puts the files as they are in force, or says why not.
    async fn load(&mut self) -> Result<(), tokio::task::JoinError> {
        let Version { rules, seen } = self.files.clone().read().await?;
        self.seen = seen;
        if let Err(error) = self.folders.watch(&self.seen.folders()) {
            tracing::warn!(target: "rulec::router", %error, "a folder of rule files cannot be watched");
        }
        let swapped = rules.and_then(|rules| Ok(self.router.swap(rules)?));
        let path = self.files.path.display();
        match swapped {
            Ok(swapped) => {
                let generation = swapped.generation;
                tracing::info!(target: "rulec::router", file = %path, generation, "a new version of the rules is in force");
                self.tell.send_modify(|status| {
                    (status.generation, status.error) = (generation, None);
                    status.loaded += 1;
                });
            }
            Err(error) => {
                let generation = self.router.rules().generation();
                let error = error.to_string();
                tracing::warn!(
                    target: "rulec::router", file = %path, generation, error,
                    "a new version of the rules is refused; the last good one stays in force"
                );
                self.tell.send_modify(|status| {
                    status.error = Some(error);
                    status.refused += 1;
                });
            }
        }
        Ok(())
    }
}
