//! The sources of rules: files of rules and artifacts. The service watches them for changes.

use super::RuleSet;
use crate::events::Events;
use crate::metrics::Metrics;
use rulec::{CompileError, Compiler, DiskLoader, Message, VerifyingKey};
use rulec_base::message;
use rulec_runtime::route::{WatchError, WatchedRules};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use tokio::task::AbortHandle;

/// A source of rules: the path of a file of rules or of an artifact (a file of compiled rules), and
/// a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    /// The name under which requests select the rules.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The folder that contains all imported files. Imports from outside fail. `None` for the
    /// folder of the file.
    pub root: Option<PathBuf>,
}

/// The names and the loader that are needed to compile the texts of a source again.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceFiles {
    /// The name of the main file.
    pub main: String,
    /// Reads word lists that are in files of their own.
    pub disk: Option<DiskLoader>,
    /// Whether only artifacts that a trusted key has signed are accepted.
    pub signed_only: bool,
}

/// The reason why the service cannot start, or cannot read a file again.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum StartError {
    /// The rules at this path cannot be loaded, for example because the file cannot be read.
    Rules(PathBuf, Box<WatchError>),
    /// The rules at this path do not compile.
    Compile(PathBuf, Box<CompileError>),
    /// Two sources have this name.
    SameName(String),
    /// The service cannot listen at this address, or standard input failed.
    Listen(String, std::io::Error),
    /// The file at this path cannot be used, for this reason.
    File(PathBuf, Message),
    /// The options contradict each other, for this reason.
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

/// Returns the compiler of the service. Rules may declare functions of an embedding program. The
/// service has no such functions, so their results are missing values.
pub(crate) fn compiler() -> Compiler {
    Compiler::new().allow_missing_functions()
}

/// The watch of a source, and the task that puts new versions into force. Dropping it ends the
/// task.
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

/// Loads the rules of each source, and watches its file. If `trusted` is not empty, only artifacts
/// that one of these keys has signed are loaded.
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

/// Waits for new versions of the watched source, and puts each one into force. Ends when the rule
/// set is dropped.
async fn feed(set: Weak<RuleSet>, mut watched: WatchedRules) {
    let mut seen = watched.status();
    loop {
        let status = watched.changed().await;
        let Some(set) = set.upgrade() else { return };
        let rules = (status.loaded > seen.loaded).then(|| watched.rules());
        let error = status.error.as_ref().filter(|_| status.refused > seen.refused).map(ToString::to_string);
        // Loading waits for the lock of the rule set, so it must not block the runtime.
        let applied = tokio::task::spawn_blocking(move || {
            if let Some(rules) = rules {
                set.load(rules);
            }
            if let Some(error) = error {
                set.refuse(error);
            }
        });
        // If loading panics, the panic hook prints it, and the next version is tried.
        let _ = applied.await;
        seen = status;
    }
}
