//! Types that are used both to load rules from files and to fetch them from HTTP addresses.

use super::{HistoryStorage, OpenHistory, RuleSet};
use crate::events::Events;
use crate::metrics::Metrics;
use rulec::history::MemoryStore;
use rulec::{CompileError, Compiler, DiskLoader, Message, VerifyingKey};
use rulec_base::message;
use rulec_import::DocumentOptions;
use rulec_runtime::route::{LoadedRules, SourceLoader, WatchError};
use std::path::{Path, PathBuf};
use tokio::task::AbortHandle;

/// The data that is needed to compile the texts of a rule set again, for a rollback or for shadow
/// rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceFiles {
    /// The name of the main file, which imports the other files.
    pub main_file: String,
    /// Loads the word lists that rules read from separate files. `None` if the rules can read no
    /// such files.
    pub disk: Option<DiskLoader>,
    /// Whether the service accepts only artifacts (compiled rules) that a trusted key has signed.
    pub requires_signature: bool,
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
    /// Two sources of rules have the same name, so that requests could not select one of them.
    SameName(String),
    /// The rules at an address cannot be fetched: the address, and the reason.
    Address(String, Message),
    /// The service cannot listen at its address, for example because the address is in use.
    Listen(String, std::io::Error),
    /// A file that the service needs cannot be used: the file, and the reason.
    File(PathBuf, Message),
    /// The store of a history cannot be used.
    History(Message),
    /// The options of the service contradict each other, or one of them cannot be used.
    Options(Message),
}

impl StartError {
    /// Converts the error of rules that cannot be loaded. `place` is the path or address of the
    /// rules.
    pub(super) fn from_watch_error(place: &Path, error: WatchError) -> StartError {
        match error {
            WatchError::Compile(error) => StartError::Compile(place.to_owned(), Box::new(error)),
            error => StartError::Rules(place.to_owned(), Box::new(error)),
        }
    }

    /// Returns the reason why the service cannot start, as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            StartError::Rules(path, error) => message!("`{}`: {}", path.display(), error.to_message()),
            StartError::Compile(path, error) => message!("`{}`: {}", path.display(), error.to_message()),
            StartError::SameName(name) => message!(
                "two files of rules have the name `{name}`; name them: `rulec serve a={name}.rules b=other/{name}.rules`"
            ),
            StartError::Address(url, why) => message!("the rules at `{url}` cannot be fetched: {why}"),
            StartError::Listen(address, error) => {
                message!("the service cannot listen on {address}: {}", error.to_string())
            }
            StartError::File(path, why) => message!("`{}` cannot be used: {why}", path.display()),
            StartError::History(why) | StartError::Options(why) => why.clone(),
        }
    }
}

/// Returns the compiler with the settings of the service. Rules may declare functions that an
/// embedding program supplies. The service supplies none, so their results count as missing.
pub(crate) fn compiler() -> Compiler {
    Compiler::new().allow_missing_functions()
}

/// The watch of a source of rules, and the task that puts each new version of the rules into force.
pub(super) struct SourceFeed {
    check_source: Box<dyn Fn() + Send + Sync>,
    task: AbortHandle,
}

impl SourceFeed {
    /// Creates a feed. `check` makes the task `task` check soon whether the source has changed.
    pub fn new(check: impl Fn() + Send + Sync + 'static, task: AbortHandle) -> SourceFeed {
        SourceFeed { check_source: Box::new(check), task }
    }

    pub fn check_source(&self) {
        (self.check_source)();
    }
}

impl Drop for SourceFeed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The data with which the rules of every source are loaded: the trusted keys, the metrics, the
/// events, and the stores of histories.
pub(super) struct RulesLoadingContext<'a> {
    pub trusted_keys: &'a [VerifyingKey],
    pub metrics: &'a Metrics,
    pub events: &'a Events,
    /// The function that opens the store of recorded messages for a rule set; `None` if the
    /// messages are kept in memory.
    pub open_history: Option<&'a OpenHistory>,
}

impl RulesLoadingContext<'_> {
    /// Returns a compiler that accepts artifacts signed with the trusted keys.
    pub fn compiler(&self) -> Compiler {
        self.trusted_keys.iter().fold(compiler(), |compiler, key| compiler.trust(*key))
    }

    /// Returns the loader of a source. `compiler` is [`RulesLoadingContext::compiler`] with the
    /// settings of the source, and `document` says how a JSON document is read.
    pub fn source_loader(&self, compiler: Compiler, document: DocumentOptions) -> SourceLoader {
        SourceLoader::from(compiler).document(document).signed_only(self.requires_signature())
    }

    /// True if only artifacts (compiled rules) that a trusted key has signed are accepted.
    pub fn requires_signature(&self) -> bool {
        !self.trusted_keys.is_empty()
    }

    /// Returns the rule set of a source whose first version is loaded. `main` is the name of its
    /// main file, and `disk` loads its word lists.
    ///
    /// # Errors
    /// If the store of its history cannot be used.
    pub fn create_rule_set(
        &self,
        name: &str,
        rules: LoadedRules,
        main: String,
        disk: Option<DiskLoader>,
    ) -> Result<RuleSet, StartError> {
        let files = SourceFiles { main_file: main, disk, requires_signature: self.requires_signature() };
        let store = match self.open_history {
            Some(open) => HistoryStorage::Persistent(open(name).map_err(StartError::History)?),
            None => HistoryStorage::Memory(MemoryStore::default()),
        };
        Ok(RuleSet::new(name.to_owned(), rules, files, store, (self.metrics, self.events)))
    }
}
