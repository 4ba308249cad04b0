//! Where rules come from: files and artifacts, which are watched.

use super::RuleSet;
use crate::events::Events;
use crate::metrics::Metrics;
use rulec::{CompileError, Compiler, DiskLoader, Message, VerifyingKey};
use rulec_base::message;
use rulec_runtime::route::{WatchError, WatchedRules};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use tokio::task::AbortHandle;

/// A file with rules, or an artifact (a file of compiled rules), and the name of its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    /// The name under which requests select the rules.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The folder that imports must stay inside; `None` for the folder of the file.
    pub root: Option<PathBuf>,
}

/// The files of a source, for compiling its texts again.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceFiles {
    /// The name of the main file.
    pub main: String,
    /// Reads word lists in files of their own.
    pub disk: Option<DiskLoader>,
    /// Whether only signed artifacts are accepted.
    pub signed_only: bool,
}

/// The reason why the service cannot start.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum StartError {
    /// The rules of a source cannot be loaded.
    Rules(PathBuf, Box<WatchError>),
    /// The rules of a source do not compile.
    Compile(PathBuf, Box<CompileError>),
    /// Two sources have the same name.
    SameName(String),
    /// The service cannot listen at an address.
    Listen(String, std::io::Error),
    /// A file that the service needs cannot be used: the file, and the reason.
    File(PathBuf, Message),
    /// The options contradict each other.
    Options(Message),
}

impl StartError {
    /// Returns the reason as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            StartError::Rules(path, error) => message!("`{}`: {}", path.display(), error.to_message()),
            StartError::Compile(path, error) => message!("`{}`: {}", path.display(), error.to_message()),
            StartError::SameName(name) => message!(
                "two files of rules have the name `{name}`; name them: `rulec serve a={name}.rules b=other/{name}.rules`"
            ),
            StartError::Listen(address, error) => {
                message!("the service cannot listen on {address}: {}", error.to_string())
            }
            StartError::File(path, why) => message!("`{}` cannot be used: {why}", path.display()),
            StartError::Options(why) => why.clone(),
        }
    }
}

/// Returns the compiler of the service. Rules may declare functions of an embedding program; here
/// their results count as missing.
pub(crate) fn compiler() -> Compiler {
    Compiler::new().allow_missing_functions()
}

/// The watch of a file, and the task that puts its new versions into force.
pub(super) struct Feed {
    watched: WatchedRules,
    task: AbortHandle,
}

impl Feed {
    pub fn check(&self) {
        self.watched.check();
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Loads the rules of each source, and watches the files. With keys, only artifacts that one of the
/// keys signed are loaded.
///
/// Must run inside a tokio runtime.
///
/// # Errors
/// If a source cannot be loaded, or two sources have the same name.
pub(crate) async fn open_all(
    sources: &[RuleSource],
    trusted: &[VerifyingKey],
    metrics: &Metrics,
    events: &Events,
) -> Result<Vec<Arc<RuleSet>>, StartError> {
    let mut sets: Vec<Arc<RuleSet>> = Vec::with_capacity(sources.len());
    for source in sources {
        if sets.iter().any(|set| set.name() == source.name) {
            return Err(StartError::SameName(source.name.clone()));
        }
        sets.push(open(source, trusted, metrics, events).await?);
    }
    Ok(sets)
}

async fn open(
    source: &RuleSource,
    trusted: &[VerifyingKey],
    metrics: &Metrics,
    events: &Events,
) -> Result<Arc<RuleSet>, StartError> {
    let mut compiler = trusted.iter().fold(compiler(), |compiler, key| compiler.trust(*key));
    if let Some(root) = &source.root {
        compiler = compiler.root(root);
    }
    let signed_only = !trusted.is_empty();
    let (disk, main) = compiler
        .on_disk(&source.path)
        .map_err(|error| StartError::Compile(source.path.clone(), Box::new(error)))?;
    let watched = WatchedRules::builder(compiler, &source.path).signed_only(signed_only).open().await;
    let watched = watched.map_err(|error| match error {
        WatchError::Compile(error) => StartError::Compile(source.path.clone(), Box::new(error)),
        error => StartError::Rules(source.path.clone(), Box::new(error)),
    })?;
    let files = SourceFiles { main, disk: Some(disk), signed_only };
    let set = Arc::new(RuleSet::new(source.name.clone(), watched.rules(), files, (metrics, events)));
    let task = tokio::spawn(feed(Arc::downgrade(&set), watched.clone())).abort_handle();
    let _ = set.feed.set(Feed { watched, task });
    Ok(set)
}

/// Puts each new version of the watched files into force.
async fn feed(set: Weak<RuleSet>, mut watched: WatchedRules) {
    let mut seen = watched.status();
    loop {
        let status = watched.changed().await;
        let Some(set) = set.upgrade() else { return };
        let rules = (status.loaded > seen.loaded).then(|| watched.rules());
        let error = status.error.as_ref().filter(|_| status.refused > seen.refused).map(ToString::to_string);
        // A change that is being made may hold the lock of the rules for long.
        let applied = tokio::task::spawn_blocking(move || {
            if let Some(rules) = rules {
                set.load(rules);
            }
            if let Some(error) = error {
                set.refuse(error);
            }
        });
        // A panic is reported by the runtime, and the next version is tried.
        let _ = applied.await;
        seen = status;
    }
}
