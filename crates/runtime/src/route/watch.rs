//! Watches rule files, so that a service uses a new version without a restart. A new version
//! becomes active if it compiles and each of its targets has a handler. Otherwise the last good
//! version stays active, and the error is available in [`WatchStatus`].

use super::Router;
use super::source::{LoadedRules, SourceLoader};
use super::watch_error::WatchError;
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rulec::DiskLoader;
use rulec_base::diag::Message;
use rulec_import::Report;
use rulec_syntax::loader::{LoadError, Loader};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

/// How long the files must be unchanged before they are read. Editors write a file in several
/// steps, so the first event may come too early.
const QUIET_PERIOD: Duration = Duration::from_millis(50);
/// Interval at which the files are checked even without a change event. Some file systems send no
/// events, and events can get lost.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The state of watched rule files: which version is active, and why a newer one is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchStatus {
    /// Generation (version number) of the rules that became active last.
    pub generation: u64,
    /// Number of versions of the files that became active, including the first.
    pub loaded: u64,
    /// Number of versions of the files that were refused, because they could not become active.
    pub refused: u64,
    /// The reason why the current version of the files is not active; `None` if this version is
    /// active.
    pub error: Option<Message>,
    /// The result of importing each item of the JSON document whose rules became active last:
    /// loaded, adapted or skipped. `None` if the file is no such document.
    pub report: Option<Arc<Report>>,
}

/// Watches rule files until this value is dropped; see [`Router::watch`].
#[derive(Debug)]
#[must_use = "the files are watched only as long as this value lives"]
pub struct Watch {
    status: watch::Receiver<WatchStatus>,
    change_notify: Arc<Notify>,
    task: AbortHandle,
}

impl Watch {
    /// Returns the current state of the watched files.
    pub fn status(&self) -> WatchStatus {
        self.status.borrow().clone()
    }

    /// Waits until a version of the files becomes active or is refused, and returns the new state.
    /// Returns at once if such a change has happened since the previous call. After [`close`],
    /// waits forever: no further change happens.
    ///
    /// [`close`]: Watch::close
    pub async fn changed(&mut self) -> WatchStatus {
        next_status(&mut self.status).await
    }

    /// Waits until the state differs from `known`, and returns the new state. Several calls may
    /// wait for the same change. `None` if the watching has ended.
    pub fn changed_since(
        &self,
        known: WatchStatus,
    ) -> impl Future<Output = Option<WatchStatus>> + Send + use<> {
        let mut statuses = self.status.clone();
        async move { statuses.wait_for(|status| *status != known).await.ok().map(|status| status.clone()) }
    }

    /// Stops watching the files. The version of the rules that is active now stays active.
    pub fn close(&self) {
        self.task.abort();
    }

    /// Checks soon whether the files have changed, without waiting for a notification of the
    /// operating system.
    pub fn check(&self) {
        self.change_notify.notify_one();
    }

    /// Returns a further receiver of the states of the watched files. Each receiver gets every new
    /// state, independently of the other receivers.
    pub(super) fn statuses(&self) -> watch::Receiver<WatchStatus> {
        self.status.clone()
    }
}

/// Waits for a state of the watched files that this receiver has not read yet, and returns the
/// state.
pub(super) async fn next_status(statuses: &mut watch::Receiver<WatchStatus>) -> WatchStatus {
    // An error means that the sender was dropped. The task owns the sender, and the task ends only
    // when the `Watch` is dropped or closed. If this function then returned at once, a caller that
    // loops would spin.
    if statuses.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    statuses.borrow_and_update().clone()
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Router {
    /// Loads a rule file into the router and reloads it on changes. A change of the file, its
    /// imports or its word lists makes a new version, which becomes active at once. A version that
    /// does not compile or targets an unregistered handler is refused with a warning, and the last
    /// good version stays active.
    ///
    /// The file may also be an artifact of up to 64 MiB, the result of `rulec build`, or a JSON
    /// document of another system; [`SourceLoader`] describes both. A compiler that
    /// [trusts](rulec::Compiler::trust) keys accepts only artifacts that one of the keys signed.
    ///
    /// Edits of the active rules are lost when a new version loads: the files are authoritative.
    /// Rules from an artifact or a document cannot be edited.
    ///
    /// Must run inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// If the current file cannot become active, or the operating system cannot watch files.
    pub async fn watch(
        &self,
        loader: impl Into<SourceLoader>,
        path: impl AsRef<Path>,
    ) -> Result<Watch, WatchError> {
        let first = FirstRulesVersion::load(WatchedFiles::new(loader.into(), path.as_ref())).await?;
        let swapped = self.swap(first.rules.rules.clone())?;
        first.watch(self.clone(), swapped.generation)
    }
}

/// The receiver of new versions of watched rule files, such as a router.
pub(super) trait WatchTarget: Send + 'static {
    /// Makes a new version of the rules active. Returns the version's generation (version number),
    /// or an error if the version is refused.
    fn activate_version(&self, rules: LoadedRules) -> Result<u64, WatchError>;
    /// Returns the generation (version number) of the active rules.
    fn active_generation(&self) -> u64;
}

impl WatchTarget for Router {
    fn activate_version(&self, rules: LoadedRules) -> Result<u64, WatchError> {
        Ok(self.swap(rules.rules)?.generation)
    }

    fn active_generation(&self) -> u64 {
        self.rules().generation()
    }
}

/// The first version of the watched files, which is loaded before the watching starts: its compiled
/// rules and its file digests.
pub(super) struct FirstRulesVersion {
    pub rules: LoadedRules,
    files: WatchedFiles,
    file_digests: FileDigests,
}

impl FirstRulesVersion {
    pub async fn load(files: WatchedFiles) -> Result<FirstRulesVersion, WatchError> {
        let compiled = files.clone();
        let version = tokio::task::spawn_blocking(move || compile_version(&compiled.loader, &compiled.path));
        let RulesVersion { rules, file_digests } = version.await?;
        Ok(FirstRulesVersion { rules: rules?, files, file_digests })
    }

    /// Starts to watch the files. `generation` is the version number that `target` gave to the
    /// rules of this first version.
    pub fn watch(self, target: impl WatchTarget, generation: u64) -> Result<Watch, WatchError> {
        let change_notify = Arc::new(Notify::new());
        let mut folders = FolderWatcher::new(&change_notify)?;
        folders.watch_only(&self.file_digests.folders())?;
        self.rules.log_skipped_items(&self.files.path);
        let report = self.rules.report().cloned().map(Arc::new);
        let status = WatchStatus { generation, loaded: 1, report, ..WatchStatus::default() };
        let (status_sender, status) = watch::channel(status);
        let watch_task = WatchTask {
            target,
            files: self.files,
            change_notify: change_notify.clone(),
            folder_watcher: folders,
            file_digests: self.file_digests,
            status_sender,
        };
        Ok(Watch { status, change_notify, task: tokio::spawn(watch_task.run_watch_loop()).abort_handle() })
    }
}

/// The rule files to watch: the path of the main file, and the loader that reads it with its
/// imports.
#[derive(Clone)]
pub(super) struct WatchedFiles {
    loader: SourceLoader,
    path: PathBuf,
}

/// One version of the watched rule files: the compiled rules, and digests of the files that detect
/// later changes.
struct RulesVersion {
    rules: Result<LoadedRules, WatchError>,
    file_digests: FileDigests,
}

impl WatchedFiles {
    pub fn new(loader: SourceLoader, path: &Path) -> WatchedFiles {
        WatchedFiles { loader, path: path.to_owned() }
    }
}

/// Reads and compiles the rule files, which blocks the thread. `path` is the path of the main file.
fn compile_version(loader: &SourceLoader, path: &Path) -> RulesVersion {
    match loader.compiler().on_disk(path) {
        Ok((disk, name)) => {
            let files = DigestingLoader { disk_loader: &disk, digests: RefCell::default() };
            let rules = loader.load(path, &name, files.load(&name), &files);
            let digests = files.digests.into_inner();
            RulesVersion { rules, file_digests: FileDigests { disk_loader: Some(disk), digests } }
        }
        Err(error) => RulesVersion { rules: Err(error.into()), file_digests: FileDigests::default() },
    }
}

/// A loader that records a digest of each file that it loads. A missing file is recorded too,
/// because it may be created later.
struct DigestingLoader<'d> {
    disk_loader: &'d dyn Loader,
    digests: RefCell<BTreeMap<String, u64>>,
}

impl Loader for DigestingLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        let loaded = self.disk_loader.load(path);
        self.digests.borrow_mut().insert(path.to_owned(), digest_of_file(&loaded));
        loaded
    }
}

fn digest_of_file(loaded: &Result<Vec<u8>, LoadError>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match loaded {
        Ok(bytes) => bytes.hash(&mut hasher),
        Err(error) => error.to_string().hash(&mut hasher),
    }
    hasher.finish()
}

/// Digests of the rule files when they were last read. A file has changed if its digest differs.
#[derive(Default)]
struct FileDigests {
    /// The loader of the rule files. `None` if their folder does not exist. The files then count as
    /// changed, so that they are read again.
    disk_loader: Option<DiskLoader>,
    digests: BTreeMap<String, u64>,
}

impl FileDigests {
    /// True if a rule file has changed since the last read.
    fn has_changed(&self) -> bool {
        let Some(disk) = &self.disk_loader else { return true };
        self.digests.iter().any(|(path, old_digest)| digest_of_file(&disk.load(path)) != *old_digest)
    }

    /// Returns the folders of the rule files. The folders are watched instead of the files, because
    /// editors replace a file by a new file.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let Some(disk) = &self.disk_loader else { return BTreeSet::new() };
        let folder = |path: &String| disk.root().join(path).parent().map(Path::to_owned);
        self.digests.keys().filter_map(folder).collect()
    }
}

/// Makes the operating system report changes in a set of folders.
struct FolderWatcher {
    watcher: RecommendedWatcher,
    watched_folders: BTreeSet<PathBuf>,
}

impl FolderWatcher {
    fn new(change_notify: &Arc<Notify>) -> Result<FolderWatcher, notify::Error> {
        let change_notify = change_notify.clone();
        let on_event = move |event: Result<Event, notify::Error>| {
            // Read events are ignored, because this module itself causes them when it reads the
            // files.
            if !matches!(&event, Ok(Event { kind: EventKind::Access(_), .. })) {
                change_notify.notify_one();
            }
        };
        let watcher = RecommendedWatcher::new(on_event, Config::default())?;
        Ok(FolderWatcher { watcher, watched_folders: BTreeSet::new() })
    }

    /// Makes the operating system watch exactly these folders: starts to watch new folders, and
    /// stops watching all others.
    fn watch_only(&mut self, folders: &BTreeSet<PathBuf>) -> Result<(), notify::Error> {
        for unwatched in self.watched_folders.difference(folders) {
            // The folder may no longer exist.
            let _ = self.watcher.unwatch(unwatched);
        }
        let new_folders: Vec<PathBuf> = folders.difference(&self.watched_folders).cloned().collect();
        self.watched_folders.retain(|folder| folders.contains(folder));
        for folder in new_folders {
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.watched_folders.insert(folder)),
                // An import may name a folder that does not exist yet. The periodic check finds it
                // later.
                Err(_) if !folder.exists() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The background task that watches rule files and loads each new version into `target`.
struct WatchTask<T> {
    target: T,
    files: WatchedFiles,
    change_notify: Arc<Notify>,
    folder_watcher: FolderWatcher,
    file_digests: FileDigests,
    status_sender: watch::Sender<WatchStatus>,
}

impl<T: WatchTarget> WatchTask<T> {
    async fn run_watch_loop(mut self) {
        loop {
            if tokio::time::timeout(POLL_INTERVAL, self.change_notify.notified()).await.is_ok() {
                // Waits at most `10 * QUIET_PERIOD`, because other files in the folders may change
                // all the time.
                let quiet_period = async {
                    while tokio::time::timeout(QUIET_PERIOD, self.change_notify.notified()).await.is_ok() {}
                };
                let _ = tokio::time::timeout(10 * QUIET_PERIOD, quiet_period).await;
            }
            let file_digests = std::mem::take(&mut self.file_digests);
            let check_result =
                tokio::task::spawn_blocking(move || (file_digests.has_changed(), file_digests)).await;
            let Ok((has_changed, file_digests)) = check_result else { return };
            self.file_digests = file_digests;
            if has_changed && self.reload_rules().await.is_err() {
                return;
            }
        }
    }

    /// Compiles the current rule files and makes them active in the target. If they are refused,
    /// stores the reason in the status. Returns an error only if the compiling thread panics.
    async fn reload_rules(&mut self) -> Result<(), tokio::task::JoinError> {
        let path = self.files.path.clone();
        let compile = move |loader: &SourceLoader| compile_version(loader, &path);
        let RulesVersion { rules, file_digests } = self.files.loader.load_during_decisions(compile).await?;
        self.file_digests = file_digests;
        if let Err(error) = self.folder_watcher.watch_only(&self.file_digests.folders()) {
            tracing::warn!(target: "rulec::router", %error, "a folder of rule files cannot be watched");
        }
        let activated = rules.and_then(|rules| Ok((self.target.activate_version(rules.clone())?, rules)));
        let path = self.files.path.display();
        match activated {
            Ok((generation, loaded)) => {
                tracing::info!(target: "rulec::router", file = %path, generation, "a new version of the rules is in force");
                loaded.log_skipped_items(&self.files.path);
                let report = loaded.report().cloned().map(Arc::new);
                self.status_sender.send_modify(|status| {
                    (status.generation, status.error, status.report) = (generation, None, report);
                    status.loaded += 1;
                });
            }
            Err(error) => {
                let generation = self.target.active_generation();
                let error = error.to_message();
                tracing::warn!(
                    target: "rulec::router", file = %path, generation, error = error.as_str(),
                    "a new version of the rules is refused; the last good one stays in force"
                );
                self.status_sender.send_modify(|status| {
                    status.error = Some(error);
                    status.refused += 1;
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec::Compiler;

    /// A test loader of a file that another process replaces after its first read.
    struct ReplacedFile(RefCell<Vec<&'static str>>);

    impl Loader for ReplacedFile {
        fn load(&self, _: &str) -> Result<Vec<u8>, LoadError> {
            let next = self.0.borrow_mut().pop();
            next.map(|text| text.as_bytes().to_vec()).ok_or(LoadError::NotFound)
        }
    }

    /// Regression test: the main file was read a second time to be compiled, although its bytes
    /// could have changed since the first read.
    #[test]
    fn the_main_file_is_read_once() {
        let disk = ReplacedFile(RefCell::new(vec!["not rules", "default -> d"]));
        let loader = DigestingLoader { disk_loader: &disk, digests: RefCell::default() };
        let source = SourceLoader::from(Compiler::new());
        let content = loader.load("a.rules");
        let loaded = source.load(Path::new("a.rules"), "a.rules", content, &loader);
        let loaded = loaded.expect("the first version compiles");
        assert_eq!(loaded.rules.texts()[0].1, "default -> d");
    }
}
