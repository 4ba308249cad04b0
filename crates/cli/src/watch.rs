//! Waits until a file changes. The files are polled a few times a second. Polling works on every
//! file system, and needs only the modification times.

use super::files::{self, CompiledFile};
use super::stdio;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

/// The time between two checks of the watched files.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The modification time and length of each file, by path. `None` if the path is not a file, or if
/// the file is the standard output or standard error of this program.
type FileStamps = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// The watched files: the files in `paths`, all rule files below the folders in `paths`, and the
/// files that the rules import.
pub struct FileWatch<'a> {
    paths: &'a [PathBuf],
    /// Files that this program writes. Changes of these files are ignored, because they may be in a
    /// watched folder. The files of standard output and standard error are ignored, too.
    output_paths: Vec<&'a Path>,
    /// The files that the rules import. Includes files that do not exist yet.
    imported_files: BTreeSet<PathBuf>,
    /// The state of the watched files at the last call of [`FileWatch::record_state`].
    recorded_stamps: FileStamps,
}

impl<'a> FileWatch<'a> {
    pub fn new(paths: &'a [PathBuf], output_paths: Vec<&'a Path>) -> FileWatch<'a> {
        FileWatch { paths, output_paths, imported_files: BTreeSet::new(), recorded_stamps: FileStamps::new() }
    }

    /// Stores the current state of the watched files. Must be called before the files are read, so
    /// that a later change is always noticed.
    pub fn record_state(&mut self) {
        self.recorded_stamps = self.current_stamps();
    }

    /// Also watches the files that the compiler read, or found missing, such as imports. Replaces
    /// the list of an earlier call.
    pub fn watch_sources(&mut self, compiled_files: &[CompiledFile]) {
        self.imported_files =
            compiled_files.iter().flat_map(|file| file.compiled.requested_files.iter().cloned()).collect();
    }

    /// Waits until a watched file differs from the recorded state, or a new file appears.
    pub fn wait_for_change(&self) {
        let mut current = self.current_stamps();
        // A file that was not watched when the state was recorded does not count as changed.
        let is_unchanged = |stamps: &FileStamps| {
            self.recorded_stamps.keys().all(|path| stamps.get(path) == self.recorded_stamps.get(path))
        };
        let first = current.clone();
        // Sleeps at least once, so that files that change all the time do not cause runs without a
        // pause.
        loop {
            let is_changed = !is_unchanged(&current) || current != first;
            thread::sleep(POLL_INTERVAL);
            if is_changed {
                return;
            }
            current = self.current_stamps();
        }
    }

    fn current_stamps(&self) -> FileStamps {
        let mut files = files::list_rules_files(self.paths).unwrap_or_default();
        files.extend(self.imported_files.iter().cloned());
        files.retain(|path| !self.output_paths.iter().any(|output| is_same_path(path, output)));
        let output = stdio::output_file_metadata();
        let stamp = |path: &Path| {
            let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
            if output.iter().any(|output| stdio::is_same_file(output, &file)) {
                return None;
            }
            Some((file.modified().ok()?, file.len()))
        };
        files.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
    }
}

/// True if two paths are equal except for a leading `./`, or if both lead to the same file.
fn is_same_path(left: &Path, right: &Path) -> bool {
    let without_dot = |path: &Path| path.strip_prefix(".").unwrap_or(path).to_path_buf();
    let canonical = |path: &Path| path.canonicalize().ok();
    without_dot(left) == without_dot(right)
        || canonical(left).is_some_and(|left| canonical(right) == Some(left))
}
