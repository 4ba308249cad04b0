//! The files of the editor: open documents stand before those on disk. A file that others import is judged as a part of
//! them, as `rulec check` judges a folder.

use super::lines::{self, Lines};
use ls_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use rulec::{
    AnalysisOptions, Code, Diagnostic, DiskLoader, FileId, Finding, Language, LoadError, Loader, Span,
};
use rulec_config::{Found, Level, Refused, Settings};
use rulec_ide::Analysis;
use rulec_syntax::lex::{self, TokenKind};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// The most rule files of a workspace that are searched for imports.
const MAX_FILES: usize = 2_000;

/// An open document.
pub struct Document {
    pub uri: Uri,
    pub text: String,
    pub version: i32,
}

impl Document {
    /// Puts a text in the place of a range, or of everything.
    fn change(&mut self, range: Option<Range>, text: &str) {
        let Some(range) = range else {
            text.clone_into(&mut self.text);
            return;
        };
        let lines = Lines::new(&self.text);
        let (start, end) = (lines.offset(range.start) as usize, lines.offset(range.end) as usize);
        self.text.replace_range(start..end.max(start), text);
    }
}

/// An analysis of a main file, as severe as the settings of its folder say: what they allow is not in it.
pub struct Known {
    pub analysis: Analysis,
    settings: Settings,
    /// Why the settings cannot be used, which are the usual ones then.
    pub refused: Option<Refused>,
    /// The language that findings are told in.
    pub language: Language,
    /// The folder that its files are named from.
    root: PathBuf,
    findings: OnceCell<Vec<Finding>>,
    /// The starts of the lines of each file.
    lines: Vec<OnceCell<Rc<[u32]>>>,
    /// The address of each file, as the editor writes it where it is open.
    uris: Vec<Option<Uri>>,
}

impl Known {
    /// The findings of the analysis, found out once.
    pub fn findings(&self) -> &[Finding] {
        self.findings.get_or_init(|| {
            let options = AnalysisOptions::default().strict_ties(self.settings.strict_ties);
            let mut findings = self.analysis.findings(options);
            findings.retain(|finding| is_told(&self.settings, &finding.diagnostic));
            findings
        })
    }

    /// True for a warning that counts as an error here.
    pub fn is_denied(&self, code: Code) -> bool {
        self.settings.level(code) == Level::Deny
    }

    /// The file of a path, where it has a part in this.
    fn file(&self, path: &Path) -> Option<FileId> {
        self.analysis.file(&name_in(&self.root, path)?)
    }

    /// The path of one of its files.
    pub fn path(&self, file: FileId) -> PathBuf {
        self.root.join(self.analysis.sources.get(file).map_or("", |file| &file.name))
    }

    pub fn uri(&self, file: FileId) -> Option<Uri> {
        self.uris.get(file.0 as usize).cloned().flatten()
    }

    pub fn range(&self, span: Span) -> Range {
        self.lines(span.file).range(span.range())
    }

    /// The lines of one of its files.
    pub fn lines(&self, file: FileId) -> Lines<'_> {
        let text = self.analysis.text(file);
        match self.lines.get(file.0 as usize) {
            Some(known) => Lines::at(text, known.get_or_init(|| lines::starts(text)).clone()),
            None => Lines::new(text),
        }
    }
}

/// A place that a request is about.
pub struct Place {
    pub known: Rc<Known>,
    pub file: FileId,
    pub offset: u32,
}

#[derive(Default)]
pub struct Workspace {
    folders: Vec<PathBuf>,
    /// The language that findings are told in.
    language: Language,
    settings: RefCell<Found>,
    open: BTreeMap<PathBuf, Document>,
    analyses: RefCell<HashMap<PathBuf, Rc<Known>>>,
    /// The files that each rule file of a folder imports.
    imports: RefCell<Option<BTreeMap<PathBuf, Vec<PathBuf>>>>,
}

impl Workspace {
    pub fn new(folders: Vec<PathBuf>, language: Language) -> Workspace {
        Workspace { folders, language, ..Workspace::default() }
    }

    /// The language that the author is told things in.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Takes folders away and puts others in.
    pub fn change_folders(&mut self, gone: &[PathBuf], new: impl IntoIterator<Item = PathBuf>) {
        self.folders.retain(|folder| !gone.contains(folder));
        self.folders.extend(new);
        self.forget();
    }

    pub fn open(&mut self, document: Document) {
        self.open.insert(path_of(&document.uri), document);
        self.forget();
    }

    pub fn close(&mut self, uri: &Uri) {
        self.open.remove(&path_of(uri));
        self.forget();
    }

    /// Changes a document. What is known of files that have no part in it stays.
    pub fn change(&mut self, uri: &Uri, version: i32, changes: &[TextDocumentContentChangeEvent]) {
        let path = path_of(uri);
        let Some(document) = self.open.get_mut(&path) else { return };
        document.version = version;
        changes.iter().for_each(|change| document.change(change.range, &change.text));
        if let Some(imports) = self.imports.get_mut() {
            imports.insert(path.clone(), imported(&document.text, &path));
        }
        self.analyses.get_mut().retain(|_, known| known.file(&path).is_none());
    }

    /// Forgets what is known: files have changed.
    pub fn forget(&mut self) {
        self.analyses.get_mut().clear();
        *self.settings.get_mut() = Found::default();
        *self.imports.get_mut() = None;
    }

    /// The open documents.
    pub fn documents(&self) -> impl Iterator<Item = (&Path, &Document)> {
        self.open.iter().map(|(path, document)| (path.as_path(), document))
    }

    /// The analysis that a file is judged by, and the file in it.
    pub fn known(&self, path: &Path) -> Option<(Rc<Known>, FileId)> {
        let main = self.main_of(path);
        let judged = self.analysis(&main);
        if let Some(file) = judged.file(path) {
            return Some((judged, file));
        }
        let own = self.analysis(path);
        let file = own.file(path)?;
        Some((own, file))
    }

    /// The place that a request is about.
    pub fn place(&self, uri: &Uri, position: Position) -> Option<Place> {
        let (known, file) = self.known(&path_of(uri))?;
        let offset = known.lines(file).offset(position);
        Some(Place { known, file, offset })
    }

    /// The analyses of all rule files, for what is asked of the whole workspace.
    pub fn all(&self) -> Vec<Rc<Known>> {
        let files: BTreeSet<PathBuf> = self.with_imports(|imports| imports.keys().cloned().collect());
        let mains: BTreeSet<PathBuf> =
            files.iter().chain(self.open.keys()).map(|path| self.main_of(path)).collect();
        mains.iter().map(|path| self.analysis(path)).collect()
    }

    fn analysis(&self, path: &Path) -> Rc<Known> {
        if let Some(known) = self.analyses.borrow().get(path) {
            return known.clone();
        }
        let root = self.root_of(path);
        let files = Files { workspace: self, disk: DiskLoader::new(&root).ok(), root: &root };
        let mut analysis = Analysis::of(&files, &name_in(&root, path).unwrap_or_default());
        let (settings, refused) = match self.settings.borrow_mut().of(path) {
            Ok(settings) => (settings, None),
            Err(refused) => (Settings::default(), Some(refused)),
        };
        analysis.diagnostics.retain(|found| is_told(&settings, found));
        let uri = |name: &str| {
            let path = root.join(name);
            self.open.get(&path).map_or_else(|| uri_of(&path), |document| Some(document.uri.clone()))
        };
        let uris = analysis.sources.iter().map(|(_, file)| uri(&file.name)).collect();
        let lines = vec![OnceCell::new(); analysis.sources.len()];
        let (language, findings) = (self.language, OnceCell::new());
        let known = Rc::new(Known { analysis, settings, refused, language, root, findings, lines, uris });
        self.analyses.borrow_mut().insert(path.to_owned(), known.clone());
        known
    }

    /// The folder that the imports of a file may not leave: the workspace's, or its own.
    fn root_of(&self, path: &Path) -> PathBuf {
        let around = self.folders.iter().filter(|folder| path.starts_with(folder));
        let widest = around.min_by_key(|folder| folder.components().count());
        widest.cloned().unwrap_or_else(|| path.parent().unwrap_or(Path::new("/")).to_owned())
    }

    /// The file that a file is judged as a part of: one that imports it and that none imports, the first by name.
    fn main_of(&self, path: &Path) -> PathBuf {
        self.with_imports(|imports| {
            let importers = |path: &Path| {
                let of = imports.iter().filter(|(_, imported)| imported.iter().any(|one| one == path));
                of.map(|(importer, _)| importer.clone()).collect::<Vec<_>>()
            };
            let (mut seen, mut open) = (BTreeSet::from([path.to_owned()]), vec![path.to_owned()]);
            let mut mains = BTreeSet::new();
            while let Some(at) = open.pop() {
                let importers = importers(&at);
                if importers.is_empty() {
                    mains.insert(at);
                    continue;
                }
                open.extend(importers.into_iter().filter(|importer| seen.insert(importer.clone())));
            }
            mains.into_iter().next().unwrap_or_else(|| path.to_owned())
        })
    }

    fn with_imports<T>(&self, ask: impl FnOnce(&BTreeMap<PathBuf, Vec<PathBuf>>) -> T) -> T {
        let mut imports = self.imports.borrow_mut();
        let imports = imports.get_or_insert_with(|| {
            let mut files = BTreeSet::new();
            self.folders.iter().for_each(|folder| collect(folder, &mut files));
            files.extend(self.open.keys().cloned());
            let of = |path: PathBuf| {
                let text = match self.open.get(&path) {
                    Some(document) => document.text.clone(),
                    None => std::fs::read_to_string(&path).unwrap_or_default(),
                };
                let imported = imported(&text, &path);
                (path, imported)
            };
            files.into_iter().map(of).collect()
        });
        ask(imports)
    }
}

/// The rule files below a folder. Hidden folders are left out, and links not followed.
fn collect(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, is_dir) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let name = entry.file_name();
        let passed = name.as_encoded_bytes().starts_with(b".")
            || matches!(name.to_str(), Some("target" | "node_modules"));
        if found.len() >= MAX_FILES {
            return;
        } else if is_dir && !passed {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rules") && path.is_file() {
            found.insert(path);
        }
    }
}

/// The files that a text imports, as its statements say at the start of a line.
fn imported(text: &str, path: &Path) -> Vec<PathBuf> {
    let mut tokens = lex::tokens(text, 0).filter(|token| token.kind != TokenKind::White).peekable();
    let (mut found, mut begins) = (Vec::new(), true);
    while let Some(token) = tokens.next() {
        if begins
            && token.text(text) == "import"
            && let Some(name) = tokens.next_if(|next| next.kind == TokenKind::String)
        {
            let name = name.text(text).trim_matches('"');
            found.extend(path.parent().map(|folder| plain(&folder.join(name))));
        }
        begins = token.kind == TokenKind::Newline;
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// A path as it is named from a root.
fn name_in(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components();
    Some(parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/"))
}

/// The path of a document; for one that has none, such as an unsaved one, a path that nothing else has.
pub fn path_of(uri: &Uri) -> PathBuf {
    match uri.to_file_path() {
        Some(path) if uri.as_str().starts_with("file:") => plain(&path),
        _ => PathBuf::from("/unsaved").join(uri.as_str().replace(['/', '\\'], "_")),
    }
}

/// True for what the settings do not allow.
fn is_told(settings: &Settings, found: &Diagnostic) -> bool {
    found.is_error() || settings.level(found.code) != Level::Allow
}

pub fn uri_of(path: &Path) -> Option<Uri> {
    Uri::from_file_path(path)
}

/// The files below a root: open documents before those on disk.
struct Files<'w> {
    workspace: &'w Workspace,
    disk: Option<DiskLoader>,
    root: &'w Path,
}

impl Loader for Files<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        if let Some(document) = self.workspace.open.get(&self.root.join(path)) {
            return Ok(document.text.clone().into_bytes());
        }
        self.disk.as_ref().map_or(Err(LoadError::NotFound), |disk| disk.load(path))
    }
}
