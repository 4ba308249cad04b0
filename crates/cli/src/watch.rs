//! Waits until a file changes. The files are polled a few times a second. Polling works on every
//! file system, and needs only the modification times.

use super::compiled::Compiled;
use super::files;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The modification time and length of each file, by path. `None` if the path is not a file.
type FileStamps = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// The watched files: the named files, all rules below the named folders, and the files in the
/// folders of all imports.
pub struct FileWatch<'a> {
    paths: &'a [PathBuf],
    /// Files that this program writes. Changes of these files are ignored, because they may be in a
    /// watched folder.
    written: Vec<&'a Path>,
    folders: Vec<PathBuf>,
    before: FileStamps,
}

impl<'a> FileWatch<'a> {
    pub fn new(paths: &'a [PathBuf], written: Vec<&'a Path>) -> FileWatch<'a> {
        FileWatch { paths, written, folders: Vec::new(), before: FileStamps::new() }
    }

    /// Records the state of the watched files, before the files are read.
    pub fn record_state(&mut self) {
        self.before = self.current_stamps();
    }

    /// Also watches the folders of all source files that were read. Imported word lists are in
    /// these folders, too.
    pub fn watch_sources(&mut self, compiled: &[(Compiled, bool)]) {
        for (compiled, _) in compiled {
            for (id, _) in compiled.sources().iter() {
                let name = PathBuf::from(compiled.file_name(id));
                let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new(".")).to_path_buf();
                if !self.folders.contains(&folder) {
                    self.folders.push(folder);
                }
            }
        }
    }

    /// Waits until a watched file differs from the recorded state, or a new file appears.
    pub fn wait_for_change(&self) {
        let mut now = self.current_stamps();
        // A file that was not watched when the state was recorded is not a change.
        let known =
            |stamps: &FileStamps| self.before.keys().all(|path| stamps.get(path) == self.before.get(path));
        let first = now.clone();
        while known(&now) && now == first {
            thread::sleep(POLL_INTERVAL);
            now = self.current_stamps();
        }
    }

    fn current_stamps(&self) -> FileStamps {
        let mut files = files::list_rules_files(self.paths).unwrap_or_default();
        for folder in &self.folders {
            files.extend(fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        files.retain(|path| !self.written.iter().any(|written| is_same_path(path, written)));
        let stamp = |path: &Path| {
            let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
            Some((file.modified().ok()?, file.len()))
        };
        files.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
    }
}

/// True if two paths are equal except for a leading `./`.
fn is_same_path(one: &Path, other: &Path) -> bool {
    let plain = |path: &Path| path.strip_prefix(".").unwrap_or(path).to_path_buf();
    plain(one) == plain(other)
}
