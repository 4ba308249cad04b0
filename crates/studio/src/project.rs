//! A rule set of the studio: its files on disk, and the editor's unsaved texts.

use crate::api::{FileText, RuleSet, Save, Saved};
use crate::difference::difference;
use crate::error::{Answer, RequestError};
use crate::snapshot::ProjectSnapshot;
use rulec::{DiskLoader, LoadError, Loader, MemoryLoader};
use rulec_base::message;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

pub(crate) struct Project {
    pub id: usize,
    /// Name of the rule set as the user gave it.
    pub name: String,
    origin: Origin,
    state: Mutex<State>,
}

/// Where the texts of a rule set come from.
enum Origin {
    /// Files in a folder on disk. `main` is the main file's path relative to the folder.
    Disk { files: DiskLoader, main: String },
    /// The text of an uploaded rule set, which has one file.
    Text(String),
}

#[derive(Default)]
struct State {
    /// Unsaved texts of the editor (drafts), by file name.
    drafts: BTreeMap<String, String>,
    saved: Option<(Arc<ProjectSnapshot>, Vec<Stamp>)>,
    draft: Option<Arc<ProjectSnapshot>>,
}

/// Name of a file with its modification time and size, to detect changes without reading the file.
/// `None` if the file has no metadata.
type Stamp = (String, Option<(SystemTime, u64)>);

/// A loader that returns the editor's text for edited files, and reads other files from disk.
struct Edited<'a> {
    files: &'a dyn Loader,
    texts: &'a BTreeMap<String, String>,
}

impl Loader for Edited<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        match self.texts.get(path) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => self.files.load(path),
        }
    }
}

impl Project {
    pub fn on_disk(id: usize, name: String, files: DiskLoader, main: String) -> Project {
        Project { id, name, origin: Origin::Disk { files, main }, state: Mutex::default() }
    }

    pub fn of_text(id: usize, name: String, text: String) -> Project {
        Project { id, name, origin: Origin::Text(text), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the main file, as used in the source map.
    pub fn main(&self) -> &str {
        match &self.origin {
            Origin::Disk { main, .. } => main,
            Origin::Text(_) => &self.name,
        }
    }

    /// Returns the path of a file of the rule set; `None` for an uploaded rule set.
    pub fn path(&self, file: &str) -> Option<PathBuf> {
        match &self.origin {
            Origin::Disk { files, .. } => Some(files.root().join(file)),
            Origin::Text(_) => None,
        }
    }

    pub fn describe(&self) -> RuleSet {
        let known = self.known(false);
        RuleSet {
            id: self.id,
            name: self.name.clone(),
            files: known.names(),
            on_disk: matches!(self.origin, Origin::Disk { .. }),
            compiles: known.analysis.rules.is_some(),
            has_draft: !self.state().drafts.is_empty(),
        }
    }

    /// Returns the cached analysis of the texts on disk, or of the editor's texts if `draft` is
    /// true. If a file has changed on disk, the rule set is analysed again.
    pub fn known(&self, draft: bool) -> Arc<ProjectSnapshot> {
        let mut state = self.state();
        let saved = match &state.saved {
            Some((known, stamps)) if *stamps == self.stamps(known) => known.clone(),
            _ => {
                state.draft = None;
                let known = Arc::new(self.read(&BTreeMap::new()));
                let stamps = self.stamps(&known);
                state.saved = Some((known.clone(), stamps));
                known
            }
        };
        if !draft || state.drafts.is_empty() {
            return saved;
        }
        if let Some(known) = &state.draft {
            return known.clone();
        }
        let known = Arc::new(self.read(&state.drafts));
        state.draft = Some(known.clone());
        known
    }

    fn read(&self, texts: &BTreeMap<String, String>) -> ProjectSnapshot {
        match &self.origin {
            Origin::Disk { files, main } => ProjectSnapshot::new(&Edited { files, texts }, main),
            Origin::Text(text) => {
                let files = MemoryLoader::new().with(self.name.clone(), text.clone());
                ProjectSnapshot::new(&Edited { files: &files, texts }, &self.name)
            }
        }
    }

    fn stamps(&self, known: &ProjectSnapshot) -> Vec<Stamp> {
        let mut names = known.names();
        if names.is_empty() {
            names.push(self.main().to_owned());
        }
        let stamp = |name: String| {
            let metadata = self.path(&name).and_then(|path| std::fs::metadata(path).ok());
            let stamp = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
            (name, stamp)
        };
        names.into_iter().map(stamp).collect()
    }

    /// Sets the unsaved text of a file; `None` discards the unsaved text. Returns the analysis with
    /// all unsaved texts.
    pub fn edit(&self, file: &str, text: Option<String>) -> Answer<Arc<ProjectSnapshot>> {
        let saved = self.known(false);
        let id = saved.file(file);
        let mut state = self.state();
        if id.is_err() && !state.drafts.contains_key(file) {
            drop(state);
            // The saved texts do not import this file, so the drafts must import it.
            self.known(true).file(file)?;
            state = self.state();
        }
        let on_disk = id.ok().map(|id| saved.analysis.text(id));
        match text {
            Some(text) if Some(&*text) != on_disk => {
                if state.drafts.get(file) != Some(&text) {
                    state.drafts.insert(file.to_owned(), text);
                    state.draft = None;
                }
            }
            _ => {
                if state.drafts.remove(file).is_some() {
                    state.draft = None;
                }
            }
        }
        drop(state);
        Ok(self.known(true))
    }

    /// Analyses the rule set with a different text for one file. The result is not cached.
    pub fn with_text(&self, file: &str, text: &str, draft: bool) -> ProjectSnapshot {
        let mut texts = if draft { self.state().drafts.clone() } else { BTreeMap::new() };
        texts.insert(file.to_owned(), text.to_owned());
        self.read(&texts)
    }

    /// Returns the text of a file as it is on disk and as it is in the editor.
    pub fn file(&self, file: &str) -> Answer<FileText> {
        self.known(true).file(file).or_else(|_| self.known(false).file(file))?;
        let saved = self.on_disk_now(file)?;
        Ok(FileText {
            file: file.to_owned(),
            stamp: stamp(&saved),
            draft: self.state().drafts.get(file).cloned(),
            writable: self.is_writable(file),
            saved,
        })
    }

    fn is_writable(&self, file: &str) -> bool {
        let metadata = self.path(file).and_then(|path| std::fs::metadata(path).ok());
        metadata.is_some_and(|metadata| !metadata.permissions().readonly())
    }

    fn on_disk_now(&self, file: &str) -> Answer<String> {
        let bytes = match &self.origin {
            Origin::Disk { files, .. } => files.load(file),
            Origin::Text(text) => Ok(text.clone().into_bytes()),
        };
        let bytes =
            bytes.map_err(|error| RequestError::missing(message!("`{file}` cannot be read: {error}")))?;
        String::from_utf8(bytes).map_err(|_| RequestError::invalid(message!("`{file}` is not UTF-8")))
    }

    /// Writes a text to its file. If the file has changed since the client read its text, nothing
    /// is written.
    pub fn save(&self, save: Save) -> Answer<Saved> {
        let unsaved = || RequestError::invalid(message!("`{}` was uploaded and is not on disk", self.name));
        let path = self.path(&save.file).ok_or_else(unsaved)?;
        self.known(true).file(&save.file).or_else(|_| self.known(false).file(&save.file))?;
        let now = self.on_disk_now(&save.file)?;
        if stamp(&now) != save.stamp {
            let diff = difference(&now, &save.text);
            return Ok(Saved::Changed { stamp: stamp(&now), text: now, diff });
        }
        rulec_report::files::replace(&path, save.text.as_bytes()).map_err(|error| {
            RequestError::new(
                axum::http::StatusCode::FORBIDDEN,
                "broken",
                message!("`{}` cannot be written: {error}", save.file),
            )
        })?;
        let mut state = self.state();
        state.drafts.remove(&save.file);
        (state.saved, state.draft) = (None, None);
        Ok(Saved::Saved { stamp: stamp(&save.text) })
    }
}

/// Returns a fingerprint of a text, with which a change of the text is detected.
pub(crate) fn stamp(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}-{}", hasher.finish(), text.len())
}
