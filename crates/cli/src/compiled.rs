//! A file of rules and what came of compiling it, with names as the user would write them.

use rulec::internals::artifact;
use rulec::{Code, CompileError, Compiler, Diagnostic, FileId, Rules, SourceMap};
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Target {
    /// The path as the user would write it.
    pub path: PathBuf,
    /// The folder that its imports may not leave; its own when there is none.
    pub root: Option<PathBuf>,
    /// The number of the given folder it was found in.
    pub folder: Option<usize>,
}

pub struct Compiled {
    pub target: Target,
    pub result: Result<Rules, CompileError>,
}

/// True when a file holds compiled rules. Only a regular file is looked into: what a pipe holds can be
/// read but once.
fn is_artifact(path: &Path) -> bool {
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
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &self.result {
            Ok(rules) => rules.warnings(),
            Err(error) => error.diagnostics(),
        }
    }

    pub fn sources(&self) -> &SourceMap {
        match &self.result {
            Ok(rules) => rules.sources(),
            Err(error) => error.sources(),
        }
    }

    pub fn is_unreadable(&self) -> bool {
        self.sources().iter().next().is_none()
            && self.diagnostics().iter().any(|diagnostic| {
                let code = diagnostic.code;
                code == Code::FileUnreadable || code == Code::ArtifactVersion || code == Code::ArtifactDamaged
            })
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
}
