//! Folders of rules. A file that appears in a folder becomes a rule set. If a file is removed, its
//! rule set is removed from the service.

use super::loading::{RulesLoadingContext, StartError};
use super::{OpenHistory, RuleSet, RuleSource, RulesLocation, file};
use crate::events::Events;
use crate::metrics::Metrics;
use notify::event::ModifyKind;
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rulec::{Message, VerifyingKey};
use rulec_base::{broken_invariant, message};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Time without changes in the folders of rules after which they are listed again. So a program can
/// write several files before they are read.
const QUIET_PERIOD: Duration = Duration::from_millis(100);

/// The rule files that were found in folders.
#[derive(Clone, Debug, Default)]
pub struct RuleListing {
    /// The sources of the rule sets: the files that no other file imports.
    pub sources: Vec<RuleSource>,
    /// The rule files that another rule file imports.
    pub imported_paths: Vec<PathBuf>,
    /// Whether all files compile. If some do not, `imported_paths` may lack files that they import.
    pub is_complete: bool,
}

/// A function that lists the rule files in folders. It returns the reason if a folder cannot be
/// read.
pub type ListRules = Arc<dyn Fn() -> Result<RuleListing, Message> + Send + Sync>;

/// Folders whose rule files are rule sets of the service.
#[derive(Clone)]
pub struct RuleFolders {
    /// The paths of the folders. Subfolders are included.
    pub paths: Vec<PathBuf>,
    /// The rule files that the folders contain when the service starts.
    pub initial_listing: RuleListing,
    /// The function that lists the rule files again, after a change or when the service is asked to
    /// reload.
    pub list_rules: ListRules,
}

/// The service as a [`FolderWatch`] uses it: to add and remove rule sets, and to report events.
pub(crate) trait RuleHost: Send + Sync {
    fn metrics(&self) -> &Metrics;
    fn events(&self) -> &Events;
    /// True if the service has a rule set of this name.
    fn has_set(&self, name: &str) -> bool;
    fn add_set(&self, set: Arc<RuleSet>);
    fn remove_set(&self, name: &str);
    /// Called after rule sets were added or removed.
    fn on_sets_changed(&self);
}

/// The task that lists the folders again after each change.
pub(crate) struct FolderWatch {
    check_signal: Arc<Notify>,
    task: AbortHandle,
}

impl FolderWatch {
    /// Starts to watch folders. The service `app` must already have the rule sets of
    /// `folders.initial_listing`. `trusted_keys` are the keys that sign artifacts, and
    /// `open_history` opens the stores of histories.
    ///
    /// Must run inside a tokio runtime.
    ///
    /// # Errors
    /// If the operating system cannot watch a folder.
    pub fn start(
        folders: RuleFolders,
        trusted: Vec<VerifyingKey>,
        history: Option<OpenHistory>,
        app: Weak<dyn RuleHost>,
    ) -> Result<FolderWatch, StartError> {
        let check_signal = Arc::<Notify>::default();
        let has_refused = Arc::<AtomicBool>::default();
        let watcher = watch_folders(&folders.paths, &check_signal, &has_refused)?;
        let open = folders.initial_listing.sources.iter().filter_map(named_path).collect();
        let imported = folders.initial_listing.imported_paths;
        let list = folders.list_rules;
        let state = FolderTask {
            list_rules: list,
            trusted_keys: trusted,
            open_history: history,
            open_sets: open,
            imported_paths: imported,
            error_by_name: HashMap::new(),
            has_refused_files: has_refused,
            _watcher: watcher,
        };
        let task = tokio::spawn(state.run(check_signal.clone(), app)).abort_handle();
        Ok(FolderWatch { check_signal, task })
    }

    /// Asks the task to list the files in the folders of rules soon.
    pub fn check_soon(&self) {
        self.check_signal.notify_one();
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Makes the operating system report changes in the folders, each of which notifies `check_signal`.
/// A change of a file's content is normally ignored, because the rule sets in force watch their own
/// files. Such a change counts while a file is refused (`has_refused`), because the change may
/// correct the error.
fn watch_folders(
    paths: &[PathBuf],
    check_signal: &Arc<Notify>,
    has_refused: &Arc<AtomicBool>,
) -> Result<RecommendedWatcher, StartError> {
    let (check_signal, has_refused) = (check_signal.clone(), has_refused.clone());
    let on_event = move |event: Result<Event, notify::Error>| {
        let matters = match event.map(|event| event.kind) {
            Ok(EventKind::Access(_)) => false,
            Ok(EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))) => {
                has_refused.load(Ordering::Relaxed)
            }
            _ => true,
        };
        if matters {
            check_signal.notify_one();
        }
    };
    let to_error = |path: &Path, error: notify::Error| {
        StartError::File(path.to_owned(), message!("the folder cannot be watched: {}", error.to_string()))
    };
    let first = paths.first().map(PathBuf::as_path).unwrap_or(Path::new("."));
    let mut watcher =
        RecommendedWatcher::new(on_event, Config::default()).map_err(|error| to_error(first, error))?;
    for path in paths {
        watcher.watch(path, RecursiveMode::Recursive).map_err(|error| to_error(path, error))?;
    }
    Ok(watcher)
}

fn named_path(source: &RuleSource) -> Option<(String, PathBuf)> {
    match &source.location {
        RulesLocation::File { path, .. } => Some((source.rule_set_name.clone(), path.clone())),
        #[cfg(feature = "remote")]
        RulesLocation::Address(_) => None,
    }
}

/// The state of the task that lists the files in the folders of rules.
struct FolderTask {
    list_rules: ListRules,
    trusted_keys: Vec<VerifyingKey>,
    open_history: Option<OpenHistory>,
    /// The names of the rule sets that the folders have added, each with the path of its file.
    open_sets: HashMap<String, PathBuf>,
    /// The imported files, according to the last listing in which all files compiled.
    imported_paths: Vec<PathBuf>,
    /// The error of each rule set that could not be loaded, by name. The empty name is for an error
    /// of the listing itself. An unchanged error is not reported again.
    error_by_name: HashMap<String, String>,
    has_refused_files: Arc<AtomicBool>,
    _watcher: RecommendedWatcher,
}

impl FolderTask {
    async fn run(mut self, check_signal: Arc<Notify>, app: Weak<dyn RuleHost>) {
        loop {
            check_signal.notified().await;
            let quiet =
                async { while tokio::time::timeout(QUIET_PERIOD, check_signal.notified()).await.is_ok() {} };
            // Other files in the folders may change all the time.
            let _ = tokio::time::timeout(10 * QUIET_PERIOD, quiet).await;
            let Some(app) = app.upgrade() else { return };
            self.update_rule_sets(&*app).await;
        }
    }

    async fn update_rule_sets(&mut self, app: &dyn RuleHost) {
        let list = self.list_rules.clone();
        let listed = tokio::task::spawn_blocking(move || list()).await;
        let listed = listed.unwrap_or_else(|_| Err(message!("rulec stopped because of an internal error")));
        let listing = match listed {
            Ok(listing) => listing,
            Err(error) => {
                let error = error.to_string();
                if self.error_by_name.get("") != Some(&error) {
                    app.events().report("failure", json!({ "error": error }));
                    self.error_by_name.insert(String::new(), error);
                }
                return;
            }
        };
        let names: Vec<String> = listing.sources.iter().map(|source| source.rule_set_name.clone()).collect();
        self.error_by_name.retain(|name, _| names.contains(name));
        let removed = self.remove_missing_sets(app, &listing).await;
        let mut has_added = false;
        for source in &listing.sources {
            has_added |= self.add_rule_set(app, source, listing.is_complete).await;
        }
        self.has_refused_files.store(!self.error_by_name.is_empty(), Ordering::Relaxed);
        if listing.is_complete {
            self.imported_paths = listing.imported_paths;
        }
        if removed || has_added {
            app.on_sets_changed();
        }
    }

    /// Removes the rule sets whose files are gone, or are imported by another file now. Returns
    /// true if any rule set was removed.
    async fn remove_missing_sets(&mut self, app: &dyn RuleHost, listing: &RuleListing) -> bool {
        let is_gone =
            |path: &PathBuf| !path.exists() || (listing.is_complete && listing.imported_paths.contains(path));
        if !self.open_sets.values().any(is_gone) {
            return false;
        }
        // Some editors remove a file for a moment while they save it.
        tokio::time::sleep(QUIET_PERIOD).await;
        let gone: Vec<String> =
            self.open_sets.iter().filter(|(_, path)| is_gone(path)).map(|(name, _)| name.clone()).collect();
        for name in &gone {
            self.open_sets.remove(name);
            app.remove_set(name);
            let _ = app.events().audit("removed", json!({ "rules": name }));
        }
        !gone.is_empty()
    }

    /// Adds the rule set of a source, unless the service has it already, or its file may still be
    /// imported by a file with errors. `is_complete` is true if all files in the folders compile.
    /// Returns true if the rule set was added.
    async fn add_rule_set(&mut self, app: &dyn RuleHost, source: &RuleSource, is_complete: bool) -> bool {
        let Some((name, path)) = named_path(source) else {
            broken_invariant!("the rule sets of a folder are files");
            return false;
        };
        let is_hidden_import = !is_complete && self.imported_paths.contains(&path);
        if self.open_sets.get(&name) == Some(&path) || is_hidden_import {
            return false;
        }
        let opened = self.open_set(app, source).await;
        match opened {
            Ok(()) => {
                self.error_by_name.remove(&name);
                self.open_sets.insert(name, path);
                true
            }
            Err(error) => {
                let error = error.to_string();
                if self.error_by_name.get(&name) != Some(&error) {
                    let _ = app.events().audit("refused", json!({ "rules": name, "error": error }));
                    self.error_by_name.insert(name, error);
                }
                false
            }
        }
    }

    async fn open_set(&self, app: &dyn RuleHost, source: &RuleSource) -> Result<(), StartError> {
        let RuleSource { rule_set_name: name, location, document } = source;
        let (path, root) = match location {
            RulesLocation::File { path, import_root } => (path, import_root),
            #[cfg(feature = "remote")]
            RulesLocation::Address(_) => {
                broken_invariant!("the rule sets of a folder are files");
                return Ok(());
            }
        };
        if app.has_set(name) {
            return Err(StartError::SameName(name.clone()));
        }
        let loaders = RulesLoadingContext {
            trusted_keys: &self.trusted_keys,
            metrics: app.metrics(),
            events: app.events(),
            open_history: self.open_history.as_ref(),
        };
        let set = file::open_rule_file(name, path, root.as_deref(), *document, &loaders).await?;
        let _ = app.events().audit("added", json!({ "rules": name, "generation": set.generation() }));
        app.add_set(set);
        Ok(())
    }
}
