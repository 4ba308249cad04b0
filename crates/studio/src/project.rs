//! A rule set of the studio: its files on disk, and the editor's unsaved texts.

use crate::api::{FileText, RuleSet, Save, Saved};
use crate::difference::diff_lines;
use crate::error::{Answer, RequestError};
use crate::snapshot::ProjectSnapshot;
use rulec::{DiskLoader, LoadError, Loader, MemoryLoader};
use rulec_base::message;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

pub(crate) struct RuleSetProject {
    pub id: usize,
    /// Name of the rule set as the user entered it.
    pub name: String,
    /// Name of the main file, as diagnostics and file lists show it.
    main_file_name: String,
    origin: TextOrigin,
    state: Mutex<ProjectState>,
    /// Held while a row of a decision table is changed. Two changes at the same time would start
    /// from the same text, and one would be lost.
    row_edit_lock: Mutex<()>,
}

/// Where the texts of a rule set come from.
enum TextOrigin {
    /// Files in a folder on disk. The name of the main file is its path relative to the folder.
    Disk(DiskLoader),
    /// The text of an uploaded rule set, which has one file.
    Uploaded(String),
    /// The current rules of a running service, which may change at any time.
    Live(Arc<dyn LiveRuleSet>),
}

/// A rule set with which a running service decides. Its texts may change while the studio shows
/// them.
pub trait LiveRuleSet: Send + Sync {
    /// Returns the name of the rule set.
    fn name(&self) -> String;
    /// Returns the name of the main file.
    fn main_file_name(&self) -> String;
    /// Returns the generation (version number) of the current rules, which changes when their texts
    /// change.
    fn generation(&self) -> u64;
    /// Returns the texts of the rule files, each with the name of its file.
    fn named_texts(&self) -> Vec<(String, String)>;
    /// Returns a loader that reads other files, such as word lists. `None` if the rules can read no
    /// such files.
    fn other_file_loader(&self) -> Option<DiskLoader>;
}

/// Loads the rule files of a service from memory, and other files, such as word lists, from disk.
struct LiveLoader {
    texts: MemoryLoader,
    disk: Option<DiskLoader>,
}

impl LiveLoader {
    fn new(rules: &dyn LiveRuleSet) -> LiveLoader {
        let texts = rules.named_texts().into_iter();
        let texts = texts.fold(MemoryLoader::new(), |loader, (name, text)| loader.with(name, text));
        LiveLoader { texts, disk: rules.other_file_loader() }
    }
}

impl Loader for LiveLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        match (self.texts.load(path), &self.disk) {
            (Err(LoadError::NotFound), Some(disk)) => disk.load(path),
            (loaded, _) => loaded,
        }
    }
}

#[derive(Default)]
struct ProjectState {
    /// Unsaved texts of the editor (drafts), by file name.
    draft_by_file: BTreeMap<String, String>,
    /// Generation (version number) of a service's rules for which the cached analyses were made. 0
    /// for rules that do not come from a service.
    live_generation: u64,
    saved_snapshot: Option<CachedSnapshot>,
    draft_snapshot: Option<CachedSnapshot>,
}

/// A cached analysis (snapshot), with the modification time and size of each file that it read from
/// disk. If one of these files has changed, the snapshot is out of date.
type CachedSnapshot = (Arc<ProjectSnapshot>, FileStamps);

/// Modification time and size of each file, to detect changes without reading the file. `None` if
/// the file has no metadata, for example because it does not exist.
type FileStamps = BTreeMap<String, Option<(SystemTime, u64)>>;

/// Lock for saving files. A request holds it from comparing a file with the client's fingerprint
/// until the file is written. One lock serves all rule sets, because two rule sets may share a
/// file.
static SAVING_LOCK: Mutex<()> = Mutex::new(());

/// Prevents other requests from saving files until the returned guard is dropped.
pub(crate) fn lock_saving() -> MutexGuard<'static, ()> {
    SAVING_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loader that returns the editor's text for edited files, and reads other files with the loader
/// `file_loader`. Hidden files are not found.
struct EditedLoader<'a> {
    project: &'a RuleSetProject,
    file_loader: &'a dyn Loader,
    edited_texts: &'a BTreeMap<String, String>,
    /// Modification times and sizes (stamps) of the files that were read from disk. A stamp is
    /// recorded before its file is read, so a later change is always noticed.
    stamps: RefCell<FileStamps>,
}

impl Loader for EditedLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        match self.edited_texts.get(path) {
            Some(text) => Ok(text.clone().into_bytes()),
            None if is_hidden(path) => Err(LoadError::NotFound),
            None => {
                let mut stamps = self.stamps.borrow_mut();
                stamps.entry(path.to_owned()).or_insert_with(|| self.project.file_stamp(path));
                self.file_loader.load(path)
            }
        }
    }
}

/// True if the file or one of its folders is hidden, such as `.env`, and the file does not have the
/// extension `.rules`. Such a file may contain secrets, which diagnostics or decisions could show.
fn is_hidden(path: &str) -> bool {
    !path.ends_with(".rules") && path.split('/').any(|part| part.starts_with('.') && part != "..")
}

impl RuleSetProject {
    pub fn from_disk(id: usize, name: String, files: DiskLoader, main: String) -> RuleSetProject {
        RuleSetProject::new(id, name, main, TextOrigin::Disk(files))
    }

    pub fn from_text(id: usize, name: String, text: String) -> RuleSetProject {
        RuleSetProject::new(id, name.clone(), name, TextOrigin::Uploaded(text))
    }

    pub fn from_live(id: usize, rules: Arc<dyn LiveRuleSet>) -> RuleSetProject {
        RuleSetProject::new(id, rules.name(), rules.main_file_name(), TextOrigin::Live(rules))
    }

    fn new(id: usize, name: String, main_file: String, origin: TextOrigin) -> RuleSetProject {
        RuleSetProject {
            id,
            name,
            main_file_name: main_file,
            origin,
            state: Mutex::default(),
            row_edit_lock: Mutex::default(),
        }
    }

    /// Prevents other changes of rows of decision tables until the returned guard is dropped.
    pub fn lock_row_edits(&self) -> MutexGuard<'_, ()> {
        self.row_edit_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_state(&self) -> MutexGuard<'_, ProjectState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the main file, as diagnostics and file lists show it.
    pub fn main_file_name(&self) -> &str {
        &self.main_file_name
    }

    /// Returns the path of a file of the rule set. `None` for an uploaded rule set and for the
    /// rules of a service.
    pub fn file_path(&self, file: &str) -> Option<PathBuf> {
        match &self.origin {
            TextOrigin::Disk(files) => Some(files.root().join(file)),
            TextOrigin::Uploaded(_) | TextOrigin::Live(_) => None,
        }
    }

    pub fn describe(&self) -> RuleSet {
        let snapshot = self.snapshot(false);
        RuleSet {
            id: self.id,
            name: self.name.clone(),
            files: snapshot.file_names(),
            on_disk: matches!(self.origin, TextOrigin::Disk(_)),
            compiles: snapshot.analysis.rules().is_some(),
            has_draft: !self.lock_state().draft_by_file.is_empty(),
        }
    }

    /// Returns the cached analysis of the texts on disk, or of the editor's texts if `draft` is
    /// true. If a file has changed on disk, the rule set is analysed again.
    pub fn snapshot(&self, draft: bool) -> Arc<ProjectSnapshot> {
        let mut state = self.lock_state();
        let generation = match &self.origin {
            TextOrigin::Live(rules) => rules.generation(),
            _ => 0,
        };
        if state.live_generation != generation {
            (state.saved_snapshot, state.draft_snapshot) = (None, None);
            state.live_generation = generation;
        }
        let saved = match &state.saved_snapshot {
            Some((snapshot, stamps)) if self.is_current(stamps) => snapshot.clone(),
            _ => {
                state.draft_snapshot = None;
                state.saved_snapshot.insert(self.analyse_texts(&BTreeMap::new())).0.clone()
            }
        };
        if !draft || state.draft_by_file.is_empty() {
            return saved;
        }
        if let Some((snapshot, stamps)) = &state.draft_snapshot
            && self.is_current(stamps)
        {
            return snapshot.clone();
        }
        let cached = self.analyse_texts(&state.draft_by_file);
        state.draft_snapshot.insert(cached).0.clone()
    }

    fn analyse_texts(&self, texts: &BTreeMap<String, String>) -> CachedSnapshot {
        let analyse = |files: &dyn Loader| {
            let loader = EditedLoader {
                project: self,
                file_loader: files,
                edited_texts: texts,
                stamps: RefCell::default(),
            };
            let snapshot = ProjectSnapshot::new(&loader, self.main_file_name());
            (Arc::new(snapshot), loader.stamps.into_inner())
        };
        match &self.origin {
            TextOrigin::Disk(files) => analyse(files),
            TextOrigin::Live(rules) => analyse(&LiveLoader::new(&**rules)),
            TextOrigin::Uploaded(text) => analyse(&MemoryLoader::new().with(self.name.clone(), text.clone())),
        }
    }

    fn file_stamp(&self, file: &str) -> Option<(SystemTime, u64)> {
        let metadata = std::fs::metadata(self.file_path(file)?).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }

    /// True if no file has changed since its stamp (modification time and size) was recorded.
    fn is_current(&self, stamps: &FileStamps) -> bool {
        stamps.iter().all(|(file, stamp)| self.file_stamp(file) == *stamp)
    }

    /// Returns an error for a file that requests may not read or write. Files that the texts on
    /// disk import are allowed, and the main file even if it does not exist.
    ///
    /// The unsaved texts could import any file of the folder. A file that only they import is
    /// therefore allowed only if its name ends in `.rules`.
    fn check_access(&self, file: &str) -> Answer<()> {
        match self.snapshot(false).find_file(file) {
            Ok(_) => Ok(()),
            Err(_) if file == self.main_file_name() => Ok(()),
            Err(_) if file.ends_with(".rules") => self.snapshot(true).find_file(file).map(drop),
            Err(refusal) => Err(refusal),
        }
    }

    /// Sets the editor's unsaved text of a file. `None`, or a text that equals the text on disk,
    /// discards the unsaved text. Returns the analysis of the texts with all unsaved changes.
    pub fn set_draft(&self, file: &str, text: Option<String>) -> Answer<Arc<ProjectSnapshot>> {
        let saved = self.snapshot(false);
        let id = saved.find_file(file);
        let mut state = self.lock_state();
        if id.is_err() && !state.draft_by_file.contains_key(file) {
            drop(state);
            self.check_access(file)?;
            state = self.lock_state();
        }
        let saved_text = id.ok().map(|id| saved.analysis.text(id));
        match text {
            Some(text) if Some(&*text) != saved_text => {
                if state.draft_by_file.get(file) != Some(&text) {
                    state.draft_by_file.insert(file.to_owned(), text);
                    state.draft_snapshot = None;
                }
            }
            _ => {
                if state.draft_by_file.remove(file).is_some() {
                    state.draft_snapshot = None;
                }
            }
        }
        drop(state);
        Ok(self.snapshot(true))
    }

    /// Returns the analysis of the rule set as if the file `file` had the text `text`. The other
    /// files have the editor's unsaved texts if `draft` is true, otherwise the texts on disk. The
    /// result is not cached.
    pub fn snapshot_with_text(&self, file: &str, text: &str, draft: bool) -> Arc<ProjectSnapshot> {
        let mut texts = if draft { self.lock_state().draft_by_file.clone() } else { BTreeMap::new() };
        texts.insert(file.to_owned(), text.to_owned());
        self.analyse_texts(&texts).0
    }

    /// Returns the text of a file as it is on disk and as it is in the editor.
    pub fn file_text(&self, file: &str) -> Answer<FileText> {
        self.check_access(file)?;
        let saved = self.read_from_disk(file)?;
        Ok(FileText {
            file: file.to_owned(),
            stamp: text_fingerprint(&saved),
            draft: self.lock_state().draft_by_file.get(file).cloned(),
            writable: self.is_writable(file),
            saved,
        })
    }

    fn is_writable(&self, file: &str) -> bool {
        let metadata = self.file_path(file).and_then(|path| std::fs::metadata(path).ok());
        metadata.is_some_and(|metadata| !metadata.permissions().readonly())
    }

    fn read_from_disk(&self, file: &str) -> Answer<String> {
        let bytes = match &self.origin {
            TextOrigin::Disk(files) => files.load(file),
            TextOrigin::Live(rules) => LiveLoader::new(&**rules).load(file),
            TextOrigin::Uploaded(text) => Ok(text.clone().into_bytes()),
        };
        let bytes =
            bytes.map_err(|error| RequestError::missing(message!("`{file}` cannot be read: {error}")))?;
        String::from_utf8(bytes).map_err(|_| RequestError::invalid(message!("`{file}` is not UTF-8")))
    }

    /// Writes the editor's text to the file on disk. If the file has changed since the client read
    /// it, writes nothing and returns [`Saved::Changed`] with the differences.
    pub fn save(&self, save: Save) -> Answer<Saved> {
        let not_on_disk = || {
            RequestError::invalid(match self.origin {
                TextOrigin::Live(_) => message!(
                    "the studio of a service writes no file; change the source of the rules, or edit them with `POST /v1/rules/{}/edits`",
                    self.name
                ),
                _ => message!("`{}` was uploaded and is not on disk", self.name),
            })
        };
        let path = self.file_path(&save.file).ok_or_else(not_on_disk)?;
        self.check_access(&save.file)?;
        let saving = lock_saving();
        // A file that was removed counts as empty, so that a second save writes it again.
        let disk_text = match path.try_exists() {
            Ok(false) => String::new(),
            _ => self.read_from_disk(&save.file)?,
        };
        if text_fingerprint(&disk_text) != save.stamp {
            let diff = diff_lines(&disk_text, &save.text);
            return Ok(Saved::Changed { stamp: text_fingerprint(&disk_text), text: disk_text, diff });
        }
        rulec_report::files::replace_file(&path, save.text.as_bytes()).map_err(|error| {
            RequestError::new(
                axum::http::StatusCode::FORBIDDEN,
                "broken",
                message!("`{}` cannot be written: {error}", save.file),
            )
        })?;
        drop(saving);
        let mut state = self.lock_state();
        state.draft_by_file.remove(&save.file);
        (state.saved_snapshot, state.draft_snapshot) = (None, None);
        Ok(Saved::Saved { stamp: text_fingerprint(&save.text) })
    }
}

/// Returns a fingerprint (hash) of a text. A different fingerprint means that the text has changed.
pub(crate) fn text_fingerprint(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}-{}", hasher.finish(), text.len())
}
