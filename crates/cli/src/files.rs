//! Which files a verb works on, compiling them, and how their names are shown.

use super::report::{Found, human};
use super::term::{Term, plural};
use super::{Status, Stop};
use rulec::FileId;
use rulec::SourceMap;
use rulec::internals::artifact;
use rulec::{Code, Diagnostic};
use rulec::{CompileError, Compiler, Rules};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// A file to work on.
#[derive(Clone, Debug)]
pub struct Target {
    /// The path as the user would write it.
    pub path: PathBuf,
    /// The folder that its imports may not leave; its own when there is none.
    pub root: Option<PathBuf>,
    /// Which of the given folders it was found in.
    pub folder: Option<usize>,
}

/// A compiled file, or why it did not compile.
pub struct Compiled {
    /// The file.
    pub target: Target,
    /// What came out.
    pub result: Result<Rules, CompileError>,
}

/// The files named, and all `*.rules` below the folders named, in order.
pub fn collect(paths: &[PathBuf], root: Option<&Path>) -> Result<Vec<Target>, Stop> {
    let mut targets = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        if !path.is_dir() {
            targets.push(Target { path: path.clone(), root: root.map(Path::to_path_buf), folder: None });
            continue;
        }
        let mut found = Vec::new();
        walk(path, &mut found)?;
        if found.is_empty() {
            return Err(Stop::usage(format!("there is no `.rules` file below `{}`", path.display())));
        }
        found.sort();
        let root = root.unwrap_or(path).to_path_buf();
        targets.extend(found.into_iter().map(|path| Target {
            path,
            root: Some(root.clone()),
            folder: Some(index),
        }));
    }
    Ok(targets)
}

/// Finds rule files; hidden folders are left out, and links to folders not followed, since they may
/// lead in a circle.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Stop> {
    let refused = |error: io::Error| Stop::usage(format!("`{}` cannot be read: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let name = entry.file_name();
        let path = if folder == Path::new(".") { PathBuf::from(&name) } else { entry.path() };
        if entry.file_type().map_err(refused)?.is_dir() {
            if !name.as_encoded_bytes().starts_with(b".") {
                walk(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rules") && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether a file holds compiled rules. Only a regular file is looked into: what a pipe holds can be
/// read but once.
pub fn is_artifact(path: &Path) -> bool {
    let mut beginning = Vec::new();
    path.is_file()
        && std::fs::File::open(path)
            .and_then(|file| file.take(artifact::MAGIC.len() as u64).read_to_end(&mut beginning))
            .is_ok_and(|_| artifact::is_artifact(&beginning))
}

impl Target {
    /// Compiles the file, or loads it when it is compiled already. Host functions may be missing: this program has none to offer.
    pub fn compile(self) -> Compiled {
        let mut compiler = Compiler::new().allow_missing_functions();
        if let Some(root) = &self.root {
            compiler = compiler.root(root);
        }
        let result = if is_artifact(&self.path) {
            compiler.load_artifact_path(&self.path)
        } else {
            compiler.compile_path(&self.path)
        };
        Compiled { target: self, result }
    }
}

impl Compiled {
    /// Errors and warnings.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &self.result {
            Ok(rules) => rules.warnings(),
            Err(error) => error.diagnostics(),
        }
    }

    /// The texts they point into.
    pub fn sources(&self) -> &SourceMap {
        match &self.result {
            Ok(rules) => rules.sources(),
            Err(error) => error.sources(),
        }
    }

    /// Whether the file itself could not be read.
    pub fn is_unreadable(&self) -> bool {
        self.sources().iter().next().is_none()
            && self.diagnostics().iter().any(|diagnostic| {
                let code = diagnostic.code;
                code == Code::FileUnreadable || code == Code::ArtifactVersion || code == Code::ArtifactDamaged
            })
    }

    /// The findings, ready to be shown.
    pub fn found(&self) -> impl Iterator<Item = Found<'_>> {
        self.diagnostics().iter().map(|diagnostic| Found { diagnostic, compiled: self })
    }

    /// A file's name as the user would write it; sources are named as seen from the root.
    pub fn name(&self, file: FileId) -> String {
        let folder = match &self.target.root {
            Some(root) => root.as_path(),
            None => self.target.path.parent().unwrap_or(Path::new("")),
        };
        let name = self.sources().get(file).map_or("", |file| file.name.as_str());
        let folder = if folder == Path::new(".") { Path::new("") } else { folder };
        folder.join(name).display().to_string()
    }

    /// The status this file alone would end with, warnings aside.
    fn status(&self) -> Status {
        match &self.result {
            Ok(_) => Status::Fine,
            Err(_) if self.is_unreadable() => Status::Usage,
            Err(_) => Status::Errors,
        }
    }
}

/// Marks the files of a folder that others of the same folder import. They are judged as part of
/// those: a fragment alone lacks the `input` it is written for.
pub fn imported(all: &[Compiled]) -> Vec<bool> {
    let mut places = HashMap::new();
    for (index, compiled) in all.iter().enumerate() {
        if let (Some(folder), Some((_, main))) = (compiled.target.folder, compiled.sources().iter().next()) {
            places.insert((folder, main.name.as_str()), index);
        }
    }
    let imports: Vec<BTreeSet<usize>> = all
        .iter()
        .map(|compiled| {
            let Some(folder) = compiled.target.folder else { return BTreeSet::new() };
            let others = compiled.sources().iter().skip(1);
            others.filter_map(|(_, file)| places.get(&(folder, file.name.as_str())).copied()).collect()
        })
        .collect();
    let mut marks = vec![false; all.len()];
    for (importer, imported) in imports.iter().enumerate() {
        for &file in imported {
            // Of files that import each other in a circle the first stands for all.
            let first_of_circle = imports[file].contains(&importer) && file < importer;
            marks[file] |= !first_of_circle && file != importer;
        }
    }
    marks
}

/// Why a file that was named cannot be used.
pub fn unreadable(name: &str, error: &io::Error) -> Stop {
    match error.kind() {
        io::ErrorKind::NotFound => Stop::usage(format!("`{name}` cannot be read: there is no such file")),
        _ => Stop::usage(format!("`{name}` cannot be read: {error}")),
    }
}

/// Compiles the one file that `run` and `why` decide by. What is wrong with it is shown on standard
/// error, since standard output is for decisions.
pub fn load(path: &Path, root: Option<&Path>, term: &Term) -> Result<Compiled, Stop> {
    if path.is_dir() {
        return Err(Stop::usage(format!("`{}` is a folder; name one rules file", path.display())));
    }
    let target = Target { path: path.to_path_buf(), root: root.map(Path::to_path_buf), folder: None };
    let compiled = target.compile();
    if compiled.result.is_err() {
        show_errors(&compiled, term);
        return Err(Stop::shown(compiled.status()));
    }
    let warnings = compiled.diagnostics().len();
    if warnings > 0 {
        let path = path.display();
        term.note(&format!("`{path}` has {}; see `rulec check {path}`", plural(warnings, "warning")));
    }
    note_missing_functions(&compiled, term);
    Ok(compiled)
}

/// Shows why a file did not compile, on standard error.
pub fn show_errors(compiled: &Compiled, term: &Term) {
    let terminal = io::stderr().is_terminal();
    for found in compiled.found().filter(|found| found.diagnostic.is_error()) {
        term.say(&human(&found, term.color_err(), term.width(terminal)));
    }
}

/// Says that what only the embedding program can compute counts as missing here.
pub fn note_missing_functions(compiled: &Compiled, term: &Term) {
    let Ok(rules) = &compiled.result else { return };
    let names: Vec<String> =
        rules.program().externs.iter().map(|function| format!("`{}`", function.name)).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        term.note(&format!("only an embedding program can call {names}; here the results count as missing"));
    }
}
