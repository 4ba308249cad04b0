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
    output_paths: Vec<&'a Path>,
    /// The folders of the source files that were read, see [`FileWatch::watch_sources`].
    folders: Vec<PathBuf>,
    /// The state of the watched files at the last call of [`FileWatch::record_state`].
    recorded: FileStamps,
}

impl<'a> FileWatch<'a> {
    pub fn new(paths: &'a [PathBuf], output_paths: Vec<&'a Path>) -> FileWatch<'a> {
        FileWatch { paths, output_paths, folders: Vec::new(), recorded: FileStamps::new() }
    }

    /// Records the state of the watched files, before the files are read.
    pub fn record_state(&mut self) {
        self.recorded = self.current_stamps();
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
        let mut current = self.current_stamps();
        // A file that was not watched when the state was recorded is not a change.
        let is_unchanged = |stamps: &FileStamps| {
            self.recorded.keys().all(|path| stamps.get(path) == self.recorded.get(path))
        };
        let first = current.clone();
        while is_unchanged(&current) && current == first {
            thread::sleep(POLL_INTERVAL);
            current = self.current_stamps();
        }
    }

    fn current_stamps(&self) -> FileStamps {
        let mut files = files::list_rules_files(self.paths).unwrap_or_default();
        for folder in &self.folders {
            files.extend(fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        files.retain(|path| !self.output_paths.iter().any(|output| is_same_path(path, output)));
        let stamp = |path: &Path| {
            let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
            Some((file.modified().ok()?, file.len()))
        };
        files.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
    }
}

/// True if two paths are equal except for a leading `./`.
fn is_same_path(left: &Path, right: &Path) -> bool {
    let without_dot = |path: &Path| path.strip_prefix(".").unwrap_or(path).to_path_buf();
    without_dot(left) == without_dot(right)
}
