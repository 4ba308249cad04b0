//! The files of the workspace. Open documents override files on disk. A file that other files
//! import is analysed together with its importers, as `rulec check` does for a folder.

use super::lines::{self, LineScan, TextLines};
use super::pages::PageSupport;
use super::search::{FileSearch, file_system_id, imported_paths, normalise_path, relative_path};
use ls_types::{Position, Range, SemanticToken, TextDocumentContentChangeEvent, Uri};
use rulec::{
    AnalysisOptions, Code, Diagnostic, DiskLoader, FileId, Finding, Language, LoadError, Loader, Span,
};
use rulec_config::{Settings, SettingsCache, SettingsError, WarningLevel};
use rulec_ide::Analysis;
use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// For each open document, by path: the semantic tokens that were last sent, and their id, by which
/// the editor requests the difference from them.
pub type SentTokens = HashMap<PathBuf, (String, Vec<SemanticToken>)>;

/// A document that is open in the editor.
pub struct OpenDocument {
    pub uri: Uri,
    pub text: String,
    pub version: i32,
}

impl OpenDocument {
    /// Replaces a range of the document's text. If `range` is `None`, replaces the whole text.
    /// `scan` holds the line starts of the text.
    fn change(&mut self, range: Option<Range>, text: &str, scan: &mut LineScan) {
        let Some(range) = range else {
            text.clone_into(&mut self.text);
            scan.forget_after(0);
            return;
        };
        let (start, end) = (scan.offset(&self.text, range.start), scan.offset(&self.text, range.end));
        self.text.replace_range(start..end.max(start), text);
        scan.forget_after(start);
    }
}

/// The analysis of a main file and its imports. The settings of the main file's folder determine
/// the severity of each warning. Warnings that the settings allow are removed.
pub struct AnalyzedFile {
    pub analysis: Analysis,
    settings: Settings,
    /// The error in the settings file; `None` if the file is valid. After an error, the analysis
    /// uses the default settings.
    pub settings_error: Option<SettingsError>,
    /// The language in which the diagnostics of this analysis are written.
    pub language: Language,
    pub page_support: PageSupport,
    /// The root folder. The analysis names its files by their paths relative to this folder.
    root: PathBuf,
    diagnostics: OnceLock<Vec<Diagnostic>>,
    findings: OnceLock<Vec<Finding>>,
    /// The line starts of each file, computed on first use.
    line_starts: Vec<OnceLock<Arc<[u32]>>>,
    /// The URI of each file; `None` if its path cannot be written as a URI. For an open document,
    /// the exact spelling that the editor sent.
    uris: Vec<Option<Uri>>,
}

impl AnalyzedFile {
    /// Returns the errors and warnings of the compiler, which runs on the first call only.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.diagnostics.get_or_init(|| {
            let shown = self.analysis.diagnostics().iter();
            shown.filter(|diagnostic| is_shown(&self.settings, diagnostic)).cloned().collect()
        })
    }

    /// Returns the errors and warnings if the compiler has run; otherwise an empty list.
    pub fn diagnostics_so_far(&self) -> &[Diagnostic] {
        self.diagnostics.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the findings of the rule analysis, which runs on the first call only.
    pub fn findings(&self) -> &[Finding] {
        self.findings.get_or_init(|| {
            let options = AnalysisOptions::default().strict_ties(self.settings.strict_ties);
            let mut findings = self.analysis.findings(options);
            findings.retain(|finding| is_shown(&self.settings, &finding.diagnostic));
            findings
        })
    }

    /// Returns the findings if the analysis has run; otherwise an empty list.
    pub fn findings_so_far(&self) -> &[Finding] {
        self.findings.get().map_or(&[], Vec::as_slice)
    }

    /// True if the analysis has run.
    pub fn has_findings(&self) -> bool {
        self.findings.get().is_some()
    }

    /// True for a warning that the settings raise to an error.
    pub fn is_denied(&self, code: Code) -> bool {
        self.settings.level(code) == WarningLevel::Deny
    }

    /// Returns the id of the file with this path, if it is part of this analysis.
    fn file_id(&self, path: &Path) -> Option<FileId> {
        self.analysis.file_id(&relative_path(&self.root, path)?)
    }

    /// Returns the absolute path of a file of this analysis.
    pub fn path(&self, file: FileId) -> PathBuf {
        self.absolute_path(self.analysis.sources.get(file).map_or("", |file| &file.name))
    }

    /// Returns the absolute path of a file. `name` is its path relative to the root folder.
    pub fn absolute_path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn uri(&self, file: FileId) -> Option<Uri> {
        self.uris.get(file.0 as usize).cloned().flatten()
    }

    pub fn range(&self, span: Span) -> Range {
        self.lines(span.file).range(span.range())
    }

    /// Returns the text of a file of this analysis, with its line starts.
    pub fn lines(&self, file: FileId) -> TextLines<'_> {
        let text = self.analysis.text(file);
        match self.line_starts.get(file.0 as usize) {
            Some(starts) => {
                TextLines::with_starts(text, starts.get_or_init(|| lines::line_starts(text)).clone())
            }
            None => TextLines::new(text),
        }
    }
}

/// The position of a request, resolved to a byte offset in an analysed file.
pub struct RequestPosition {
    pub analyzed_file: Arc<AnalyzedFile>,
    pub file: FileId,
    pub byte_offset: u32,
}

#[derive(Default)]
pub struct Workspace {
    folders: Vec<PathBuf>,
    /// The language in which messages and diagnostics are written.
    language: Language,
    page_support: PageSupport,
    /// Whether the editor accepts completion items with placeholders.
    supports_snippets: bool,
    settings: RefCell<SettingsCache>,
    open_documents: BTreeMap<PathBuf, OpenDocument>,
    analyses: RefCell<HashMap<PathBuf, Arc<AnalyzedFile>>>,
    sent_tokens: RefCell<SentTokens>,
    /// The files that each rule file imports. `None` until this map is first needed.
    imports_by_file: RefCell<Option<BTreeMap<PathBuf, Vec<PathBuf>>>>,
}

impl Workspace {
    pub fn new(folders: Vec<PathBuf>, language: Language, page_support: PageSupport) -> Workspace {
        Workspace { folders, language, page_support, ..Workspace::default() }
    }

    /// Sets whether the editor accepts completion items with placeholders. Default: it does not.
    pub fn with_snippets(self, supports_snippets: bool) -> Workspace {
        Workspace { supports_snippets, ..self }
    }

    pub fn supports_snippets(&self) -> bool {
        self.supports_snippets
    }

    /// Returns the semantic tokens that were last sent for each document.
    pub fn sent_tokens(&self) -> RefMut<'_, SentTokens> {
        self.sent_tokens.borrow_mut()
    }

    /// Returns how the editor can show the documentation page of a diagnostic code.
    pub fn page_support(&self) -> PageSupport {
        self.page_support
    }

    /// Returns the language of messages to the user.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Removes the folders `removed` from the workspace and adds the folders `added`.
    pub fn change_folders(&mut self, removed: &[PathBuf], added: impl IntoIterator<Item = PathBuf>) {
        self.folders.retain(|folder| !removed.contains(folder));
        self.folders.extend(added);
        self.discard_cached();
    }

    pub fn open(&mut self, document: OpenDocument) {
        self.open_documents.insert(path_of(&document.uri), document);
        self.discard_cached();
    }

    pub fn close(&mut self, uri: &Uri) {
        self.open_documents.remove(&path_of(uri));
        self.sent_tokens.get_mut().remove(&path_of(uri));
        self.discard_cached();
    }

    /// Applies changes to an open document. Discards the cached analyses that include the document,
    /// and keeps all others.
    pub fn change(&mut self, uri: &Uri, version: i32, changes: &[TextDocumentContentChangeEvent]) {
        let path = path_of(uri);
        let Some(document) = self.open_documents.get_mut(&path) else { return };
        document.version = version;
        let mut scan = LineScan::new();
        changes.iter().for_each(|change| document.change(change.range, &change.text, &mut scan));
        if let Some(imports) = self.imports_by_file.get_mut() {
            imports.insert(path.clone(), imported_paths(&document.text, &path));
        }
        self.analyses.get_mut().retain(|_, analyzed_file| analyzed_file.file_id(&path).is_none());
    }

    /// Discards the cached analyses, settings and imports, because files on disk or open documents
    /// have changed.
    pub fn discard_cached(&mut self) {
        self.analyses.get_mut().clear();
        *self.settings.get_mut() = SettingsCache::default();
        *self.imports_by_file.get_mut() = None;
    }

    /// Returns the open documents with their paths.
    pub fn documents(&self) -> impl Iterator<Item = (&Path, &OpenDocument)> {
        self.open_documents.iter().map(|(path, document)| (path.as_path(), document))
    }

    /// Returns the analysis that contains a file, and the id of the file in this analysis. `None`
    /// if no analysis contains the file.
    pub fn find_analysis(&self, path: &Path) -> Option<(Arc<AnalyzedFile>, FileId)> {
        let main = self.find_main_file(path);
        let main_analysis = self.analyse_cached(&main);
        if let Some(file) = main_analysis.file_id(path) {
            return Some((main_analysis, file));
        }
        let own_analysis = self.analyse_cached(path);
        let file = own_analysis.file_id(path)?;
        Some((own_analysis, file))
    }

    /// Converts the position of a request to a byte offset in the analysis that contains the
    /// document. `None` if no analysis contains the document.
    pub fn resolve_position(&self, uri: &Uri, position: Position) -> Option<RequestPosition> {
        let (analyzed_file, file) = self.find_analysis(&path_of(uri))?;
        let offset = analyzed_file.lines(file).offset(position);
        Some(RequestPosition { analyzed_file, file, byte_offset: offset })
    }

    /// Returns the analyses of all main files, for requests about the whole workspace.
    pub fn all_analyses(&self) -> Vec<Arc<AnalyzedFile>> {
        let files: BTreeSet<PathBuf> = self.with_import_graph(|imports| imports.keys().cloned().collect());
        let main_paths: BTreeSet<PathBuf> =
            files.iter().chain(self.open_documents.keys()).map(|path| self.find_main_file(path)).collect();
        main_paths.iter().map(|path| self.analyse_cached(path)).collect()
    }

    /// Calls `use_loader` with a loader that reads files as the analysis of `analyzed_file` does:
    /// open documents, or files on disk.
    pub fn with_loader<T>(
        &self,
        analyzed_file: &AnalyzedFile,
        use_loader: impl FnOnce(&dyn Loader) -> T,
    ) -> T {
        let root = &*analyzed_file.root;
        use_loader(&WorkspaceLoader { workspace: self, disk: DiskLoader::new(root).ok(), root })
    }

    fn analyse_cached(&self, path: &Path) -> Arc<AnalyzedFile> {
        if let Some(analyzed_file) = self.analyses.borrow().get(path) {
            return analyzed_file.clone();
        }
        let root = self.find_root(path);
        let files = WorkspaceLoader { workspace: self, disk: DiskLoader::new(&root).ok(), root: &root };
        let mut analysis = Analysis::new(&files, &relative_path(&root, path).unwrap_or_default());
        let (settings, settings_error) = match self.settings.borrow_mut().for_file(path) {
            Ok(settings) => (settings, None),
            Err(settings_error) => (Settings::default(), Some(settings_error)),
        };
        analysis.importable_files = self.with_import_graph(|imports| {
            imports.keys().filter_map(|path| relative_path(&root, path)).collect()
        });
        let uri = |name: &str| {
            let path = root.join(name);
            self.open_documents
                .get(&path)
                .map_or_else(|| uri_of(&path), |document| Some(document.uri.clone()))
        };
        let uris = analysis.sources.iter().map(|(_, file)| uri(&file.name)).collect();
        let lines = vec![OnceLock::new(); analysis.sources.len()];
        let (language, page_support) = (self.language, self.page_support);
        let (diagnostics, findings) = (OnceLock::new(), OnceLock::new());
        let analyzed_file = Arc::new(AnalyzedFile {
            analysis,
            settings,
            settings_error,
            language,
            page_support,
            root,
            diagnostics,
            findings,
            line_starts: lines,
            uris,
        });
        self.analyses.borrow_mut().insert(path.to_owned(), analyzed_file.clone());
        analyzed_file
    }

    /// Returns the root folder of a file. Imports are resolved relative to the root folder. The
    /// root folder is the outermost workspace folder that contains the file, or else the file's own
    /// folder.
    fn find_root(&self, path: &Path) -> PathBuf {
        let containing_folders = self.folders.iter().filter(|folder| path.starts_with(folder));
        let outermost = containing_folders.min_by_key(|folder| folder.components().count());
        outermost.cloned().unwrap_or_else(|| path.parent().unwrap_or(Path::new("/")).to_owned())
    }

    /// Returns the main file with which a file is analysed. A main file imports the file directly
    /// or indirectly, and is imported by no file. If there are several, returns the first by path.
    /// If no file imports the file, returns the file itself.
    fn find_main_file(&self, path: &Path) -> PathBuf {
        self.with_import_graph(|imports| {
            let importers = |path: &Path| {
                let direct_importers = imports
                    .iter()
                    .filter(|(_, imported)| imported.iter().any(|imported_path| imported_path == path));
                direct_importers.map(|(importer, _)| importer.clone()).collect::<Vec<_>>()
            };
            let (mut visited, mut pending) = (BTreeSet::from([path.to_owned()]), vec![path.to_owned()]);
            let mut main_files = BTreeSet::new();
            while let Some(file) = pending.pop() {
                let importers = importers(&file);
                if importers.is_empty() {
                    main_files.insert(file);
                    continue;
                }
                pending.extend(importers.into_iter().filter(|importer| visited.insert(importer.clone())));
            }
            main_files.into_iter().next().unwrap_or_else(|| path.to_owned())
        })
    }

    fn with_import_graph<T>(&self, query: impl FnOnce(&BTreeMap<PathBuf, Vec<PathBuf>>) -> T) -> T {
        let mut imports = self.imports_by_file.borrow_mut();
        let imports = imports.get_or_insert_with(|| {
            let mut search = FileSearch::default();
            self.folders.iter().for_each(|folder| search.collect_files(folder, file_system_id(folder)));
            let mut files = search.files;
            files.extend(self.open_documents.keys().cloned());
            let read_imports = |path: PathBuf| {
                let text = match self.open_documents.get(&path) {
                    Some(document) => document.text.clone(),
                    // A file over the size limit cannot be part of any rules.
                    None => {
                        let bytes = rulec::files::read_limited(&path).unwrap_or_default();
                        String::from_utf8(bytes).unwrap_or_default()
                    }
                };
                let imported = imported_paths(&text, &path);
                (path, imported)
            };
            files.into_iter().map(read_imports).collect()
        });
        query(imports)
    }
}

/// Returns the path of a document. A document without a file, such as an unsaved one, gets a path
/// that no other document has.
pub fn path_of(uri: &Uri) -> PathBuf {
    match uri.to_file_path() {
        Some(path) if uri.as_str().starts_with("file:") => normalise_path(&path),
        _ => PathBuf::from("/unsaved").join(uri.as_str().replace(['/', '\\'], "_")),
    }
}

/// True if a diagnostic is shown: every error, and each warning that the settings do not allow.
fn is_shown(settings: &Settings, diagnostic: &Diagnostic) -> bool {
    diagnostic.is_error() || settings.level(diagnostic.code) != WarningLevel::Allow
}

pub fn uri_of(path: &Path) -> Option<Uri> {
    Uri::from_file_path(path)
}

/// A loader of the files below a root folder. Open documents override files on disk.
struct WorkspaceLoader<'w> {
    workspace: &'w Workspace,
    disk: Option<DiskLoader>,
    root: &'w Path,
}

impl Loader for WorkspaceLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        if let Some(document) = self.workspace.open_documents.get(&self.root.join(path)) {
            return Ok(document.text.clone().into_bytes());
        }
        self.disk.as_ref().map_or(Err(LoadError::NotFound), |disk| disk.load(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_document(text: &str) -> (Workspace, Uri) {
        let uri = uri_of(Path::new("/project/a.rules")).expect("the path is absolute");
        let mut workspace = Workspace::new(Vec::new(), Language::default(), PageSupport::default());
        workspace.open(OpenDocument { uri: uri.clone(), text: text.to_owned(), version: 0 });
        (workspace, uri)
    }

    #[test]
    fn many_changes_in_one_notification_are_applied() {
        let text = "route a when text contains word \"one\" -> h\n".repeat(20_000);
        let lines = 0..10_000;
        for lines in [lines.clone().collect::<Vec<_>>(), lines.rev().collect()] {
            let change = |line: &u32| {
                let at = |character| Position { line: line * 2, character };
                let range = Some(Range { start: at(6), end: at(7) });
                TextDocumentContentChangeEvent { range, range_length: None, text: "bc".to_owned() }
            };
            let changes: Vec<_> = lines.iter().map(change).collect();
            let (mut workspace, uri) = open_document(&text);
            workspace.change(&uri, 1, &changes);
            let (_, document) = workspace.documents().next().expect("it is open");
            let expected: Vec<_> =
                (0..20_000).map(|line| if line % 2 == 0 { "route bc" } else { "route a" }).collect();
            let found: Vec<_> =
                document.text.lines().map(|line| line.split(" when").next().unwrap_or_default()).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn imports_of_a_file_over_the_size_limit_are_not_read() {
        let folder = tempfile::tempdir().expect("there is a place for files");
        let root = folder.path().canonicalize().expect("it exists");
        let (large, imported) = (root.join("a.rules"), root.join("b.rules"));
        std::fs::write(&imported, "default -> d\n").expect("it can be written");
        std::fs::write(&large, "import \"b.rules\"\n").expect("it can be written");
        let workspace = || Workspace::new(vec![root.clone()], Language::default(), PageSupport::default());
        assert_eq!(workspace().find_main_file(&imported), large);
        let file = std::fs::File::options().write(true).open(&large).expect("it can be opened");
        file.set_len(65 << 20).expect("the file has holes");
        assert_eq!(workspace().find_main_file(&imported), imported);
    }
}
