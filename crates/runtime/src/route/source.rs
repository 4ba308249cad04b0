//! Turns the bytes of a source into rules. A source may be a rules text, an artifact (a file of
//! compiled rules), or a JSON document of another system. Watched files and the service load all
//! their rules here, so a source means the same wherever it comes from.

use super::low_priority::run_at_low_priority;
use super::watch_error::WatchError;
use rulec::{Compiler, LiveRules, artifact};
use rulec_import::{DocumentOptions, Imported, Report};
use rulec_syntax::loader::{LoadError, Loader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::{JoinError, spawn_blocking};

/// Turns the bytes of a source into rules: compiles a rules text, loads an artifact (a file of
/// compiled rules), or imports a JSON document of another system.
///
/// A source is a document if its name ends in `.json`, or if [`SourceLoader::document`] names a
/// system. An item of a document that cannot be used is skipped, and
/// [`LoadedRules::document`] reports the item. The compiler's host functions and settings do not
/// apply to rules from a document, and these rules cannot be edited.
#[derive(Clone)]
pub struct SourceLoader {
    compiler: Compiler,
    document: DocumentOptions,
    /// Whether only artifacts (files of compiled rules) are accepted, not texts of rules.
    requires_artifact: bool,
}

impl From<Compiler> for SourceLoader {
    fn from(compiler: Compiler) -> SourceLoader {
        SourceLoader { compiler, document: DocumentOptions::default(), requires_artifact: false }
    }
}

/// Rules that were loaded from a text, an artifact (a file of compiled rules) or a JSON document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedRules {
    /// The loaded rules, ready to decide messages.
    pub rules: LiveRules,
    /// The result of the import, with the report on each item and the payload context. `None` if
    /// the source was no JSON document.
    pub document: Option<Arc<Imported>>,
}

impl From<LiveRules> for LoadedRules {
    fn from(rules: LiveRules) -> LoadedRules {
        LoadedRules { rules, document: None }
    }
}

impl From<Imported> for LoadedRules {
    fn from(imported: Imported) -> LoadedRules {
        LoadedRules { rules: imported.rules.clone().into(), document: Some(Arc::new(imported)) }
    }
}

impl LoadedRules {
    /// Returns the report on the items of the document; `None` if the source was no JSON document.
    pub fn report(&self) -> Option<&Report> {
        self.document.as_deref().map(|imported| &imported.report)
    }

    /// Logs the items of the document that were skipped, if any. `path` is the path of the
    /// document.
    pub(super) fn log_skipped_items(&self, path: &Path) {
        let skipped = self.report().map_or(0, |report| report.skipped().count());
        let first = self.report().and_then(|report| report.skipped().next()).map(|item| item.messages());
        if let Some(first) = first.iter().flatten().next() {
            tracing::warn!(
                target: "rulec::router", file = %path.display(), skipped, first = first.as_str(),
                "items of the document were skipped; all others are in force"
            );
        }
    }
}

impl SourceLoader {
    /// Sets how JSON documents are read. By default, the system of a document is recognized by its
    /// shape, and an item that cannot be used is skipped.
    #[must_use]
    pub fn document(self, document: DocumentOptions) -> SourceLoader {
        SourceLoader { document, ..self }
    }

    /// Sets whether only artifacts (files of compiled rules) are accepted. The signatures of
    /// artifacts are checked if the compiler [trusts](Compiler::trust) keys. Default: false.
    #[must_use]
    pub fn signed_only(self, signed_only: bool) -> SourceLoader {
        SourceLoader { requires_artifact: signed_only, ..self }
    }

    /// Returns the compiler that compiles rules texts and loads artifacts.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Calls `load` for a new version of rules, while other threads decide by an earlier version.
    /// Their decisions need the processors. So the loader that `load` gets compiles on one thread
    /// (see [`Compiler::single_threaded`]), and this thread has a low priority on Linux.
    ///
    /// Must run inside a tokio runtime.
    ///
    /// # Errors
    /// If `load` panics.
    pub async fn load_during_decisions<T: Send + 'static>(
        &self,
        load: impl FnOnce(&SourceLoader) -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let loader = SourceLoader { compiler: self.compiler.clone().single_threaded(), ..self.clone() };
        spawn_blocking(move || run_at_low_priority(|| load(&loader))).await
    }

    /// Loads rules from the main file of a source. `content` is its content, `name` its name for
    /// diagnostics, and `place` its path or address for error messages. `files` loads the other
    /// files that a rules text reads. Blocks the thread.
    ///
    /// # Errors
    /// If the rules do not compile, the artifact cannot be loaded, or the document cannot be
    /// imported. Also if the text is blank, or is no artifact although only artifacts are accepted.
    pub fn load(
        &self,
        place: &Path,
        name: &str,
        content: Result<Vec<u8>, LoadError>,
        files: &dyn Loader,
    ) -> Result<LoadedRules, WatchError> {
        if let Ok(bytes) = &content {
            if artifact::is_artifact(bytes) {
                return Ok(LiveRules::from(self.compiler.load_artifact(bytes)?).into());
            }
            if self.requires_artifact {
                return Err(WatchError::Unsigned(PathBuf::from(place)));
            }
            if self.document.applies_to(name) {
                return Ok(self.document.import(bytes)?.named(name).into());
            }
        }
        // Reads the main file only once, because another program may replace it at any time.
        let loader = MainFileLoader { main_path: name, content: &content, files };
        let rules = LiveRules::new(self.compiler.clone(), &loader, name)?;
        match is_main_file_blank(&rules, name) {
            true => Err(WatchError::Empty(PathBuf::from(place))),
            false => Ok(rules.into()),
        }
    }
}

/// True if the file `main` is blank. Rules without statements are valid, but a blank main file is
/// probably still being written, so it is refused.
fn is_main_file_blank(rules: &LiveRules, main: &str) -> bool {
    rules.texts().iter().any(|(name, text)| name == main && text.trim().is_empty())
}

/// A loader that returns the content of the main file, which was read before, and loads all other
/// files with `files`.
struct MainFileLoader<'l> {
    main_path: &'l str,
    content: &'l Result<Vec<u8>, LoadError>,
    files: &'l dyn Loader,
}

impl Loader for MainFileLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        if path == self.main_path { self.content.clone() } else { self.files.load(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_new_version_is_loaded_at_a_low_priority() {
        let priority = || rustix::process::nice(0).expect("a priority");
        let before = priority();
        let loader = SourceLoader::from(Compiler::new());
        let loaded = loader.load_during_decisions(move |loader| {
            let content = Ok(b"default -> chat".to_vec());
            let rules = loader.load(Path::new("a.rules"), "a.rules", content, &NoFiles);
            (priority(), rules.expect("they compile").rules.generation())
        });
        let (of_load, generation) = loaded.await.expect("it does not panic");
        assert!(of_load > before || before >= 19, "{of_load}, {before}");
        assert!(generation > 0);
        assert_eq!(priority(), before);
    }

    /// A loader without files.
    struct NoFiles;

    impl Loader for NoFiles {
        fn load(&self, _: &str) -> Result<Vec<u8>, LoadError> {
            Err(LoadError::NotFound)
        }
    }
}
