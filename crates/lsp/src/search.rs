//! Finds the rule files below the folders of a workspace, and the files that they import.

use rulec_syntax::lex::{self, TokenKind};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Maximum number of rule files in a workspace whose imports are read.
const MAX_RULE_FILES: usize = 2_000;
/// Maximum number of folders that are searched for rule files. Limits the search if the editor has
/// opened the root of a file system.
const MAX_SEARCHED_FOLDERS: usize = 20_000;

/// A search for the rule files below the folders of the workspace.
#[derive(Default)]
pub struct FileSearch {
    pub files: BTreeSet<PathBuf>,
    /// Number of folders that were read so far, to stop at [`MAX_SEARCHED_FOLDERS`].
    folder_count: usize,
}

impl FileSearch {
    /// Searches a folder and its subfolders for rule files. Skips hidden folders, `target`,
    /// `node_modules`, and symbolic links to folders. Also skips folders in another file system
    /// than `file_system`. Stops when the maximum number of files or folders is reached.
    pub fn collect_files(&mut self, folder: &Path, file_system: Option<u64>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        self.folder_count += 1;
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, is_dir) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let name = entry.file_name();
            let is_skipped = name.as_encoded_bytes().starts_with(b".")
                || matches!(name.to_str(), Some("target" | "node_modules"));
            if self.files.len() >= MAX_RULE_FILES || self.folder_count >= MAX_SEARCHED_FOLDERS {
                return;
            } else if is_dir && !is_skipped && file_system_id(&path) == file_system {
                self.collect_files(&path, file_system);
            } else if path.extension().is_some_and(|extension| extension == "rules") && path.is_file() {
                self.files.insert(path);
            }
        }
    }
}

/// Returns the number of the file system that contains a folder. `None` if the operating system has
/// no such number.
pub fn file_system_id(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    return std::fs::metadata(folder).ok().map(|metadata| std::os::unix::fs::MetadataExt::dev(&metadata));
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Returns the paths of the files that the text of a rule file imports; `path` is the path of this
/// rule file. Only `import` statements at the start of a line are found.
pub fn imported_paths(text: &str, path: &Path) -> Vec<PathBuf> {
    let mut tokens = lex::tokenize(text, 0).filter(|token| token.kind != TokenKind::White).peekable();
    let (mut paths, mut at_line_start) = (Vec::new(), true);
    while let Some(token) = tokens.next() {
        if at_line_start
            && token.text(text) == "import"
            && let Some(name) = tokens.next_if(|next| next.kind == TokenKind::String)
        {
            let name = name.text(text).trim_matches('"');
            paths.extend(path.parent().map(|folder| normalise_path(&folder.join(name))));
        }
        at_line_start = token.kind == TokenKind::Newline;
    }
    paths
}

/// Resolves `.` and `..` in a path without access to the disk.
pub fn normalise_path(path: &Path) -> PathBuf {
    let mut normalised = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normalised.pop()),
            part => normalised.push(part),
        }
    }
    normalised
}

/// Returns a path relative to a root folder, with `/` as the separator. `None` if the path is not
/// below the root.
pub fn relative_path(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components();
    Some(parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/"))
}
