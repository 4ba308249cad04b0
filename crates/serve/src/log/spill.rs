//! The spill files: files next to a decision log, for lines that arrive faster than they can be
//! written. New lines are appended to one file. The thread that writes the log reads a second one,
//! the draining file.

use super::file::OWNER_ONLY_MODE;
use crate::rules::StartError;
use rulec::Message;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lines that wait in the spill files of a decision log, in order.
pub(super) struct SpillFiles {
    /// Maximum number of bytes of both spill files together.
    max_bytes: u64,
    /// The path of the spill file to which new lines are appended.
    path: PathBuf,
    /// The path of the draining file, from which the log's thread moves lines to the log.
    draining_path: PathBuf,
    state: Mutex<SpillState>,
}

struct SpillState {
    file: File,
    /// Number of complete lines in the spill file for new lines.
    line_count: u64,
    /// Number of bytes of the complete lines in the file for new lines.
    complete_bytes: u64,
    /// Whether a failed write may have left an incomplete line at the end of the spill file for new
    /// lines.
    may_have_partial_line: bool,
    /// Whether the thread that writes the log was already notified that lines wait.
    is_writer_notified: bool,
    /// Whether the draining file (whose lines are being moved to the log) exists. It is removed
    /// once all its lines are in the log.
    is_draining: bool,
    /// Number of bytes at the start of the draining file that are already in the log.
    drained_bytes: u64,
    /// Number of bytes of the draining file. It keeps its size until all its lines are in the log.
    draining_file_bytes: u64,
}

/// The result of adding lines to the spill files, where lines wait for the decision log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpillResult {
    /// The lines are in a spill file. They are the first ones, so the caller must notify the thread
    /// that writes the log.
    First,
    /// The lines are in a spill file. The thread that writes the log knows already that lines wait
    /// there.
    Further,
    /// The spill files have no room for the lines.
    Full,
}

/// Consecutive lines that are moved together from the spill file to the decision log.
pub(super) struct SpilledLineGroup {
    pub lines: Vec<Vec<u8>>,
    /// Number of bytes of the group's lines in the draining file.
    line_bytes: u64,
}

impl SpillFiles {
    /// Opens the spill file `PATH.spill` of the log at `path`. Keeps the lines that an earlier
    /// process has left. Removes an incomplete line at the end, which a killed process leaves. The
    /// files get at most `max_bytes` bytes.
    ///
    /// # Errors
    /// If the file cannot be opened or read.
    pub fn open(path: &Path, max_bytes: u64) -> Result<SpillFiles, StartError> {
        let with = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let (path, draining_path) = (with(".spill"), with(".spill.draining"));
        let left = std::fs::metadata(&draining_path).ok().map(|left| left.len());
        let state = SpillState::open(&path, left)
            .map_err(|error| StartError::File(path.clone(), Message::verbatim(error.to_string())))?;
        Ok(SpillFiles { max_bytes, path, draining_path, state: Mutex::new(state) })
    }

    /// True if no line waits in the spill files. Otherwise, all new lines must be appended there
    /// too, to keep the order of the lines.
    pub fn is_empty(&self) -> bool {
        let state = self.lock();
        state.line_count == 0 && !state.is_draining
    }

    fn lock(&self) -> MutexGuard<'_, SpillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends lines to the spill file for new lines: all of them, or none if the files would then
    /// exceed their maximum size. Lines that `must_keep` are appended in any case.
    ///
    /// # Errors
    /// If the lines cannot be written.
    pub fn add_lines(&self, lines: &[&[u8]], must_keep: bool) -> io::Result<SpillResult> {
        let text: Vec<u8> = lines.iter().flat_map(|line| [line, &b"\n"[..]]).flatten().copied().collect();
        let mut state = self.lock();
        let size = state.complete_bytes + state.draining_file_bytes + text.len() as u64;
        if size > self.max_bytes && !must_keep {
            return Ok(SpillResult::Full);
        }
        if state.may_have_partial_line {
            state.file.set_len(state.complete_bytes)?;
        }
        state.may_have_partial_line = true;
        state.file.write_all(&text)?;
        state.may_have_partial_line = false;
        state.line_count += lines.len() as u64;
        state.complete_bytes += text.len() as u64;
        Ok(match std::mem::replace(&mut state.is_writer_notified, true) {
            true => SpillResult::Further,
            false => SpillResult::First,
        })
    }

    /// Makes the waiting lines available to [`SpillFiles::next_group`]. Renames their file to the
    /// draining file, and starts a new file for further lines. If a draining file exists already,
    /// leaves both files as they are, because the older lines come first.
    ///
    /// # Errors
    /// If the files cannot be renamed or created. No line is lost.
    pub fn begin_drain(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.is_writer_notified = false;
        // If an earlier attempt has failed, the draining file still exists.
        if state.is_draining || state.line_count == 0 {
            return Ok(());
        }
        if state.may_have_partial_line {
            state.file.set_len(state.complete_bytes)?;
        }
        std::fs::rename(&self.path, &self.draining_path)?;
        match SpillState::open(&self.path, Some(state.complete_bytes)) {
            Ok(next) => *state = next,
            Err(error) => {
                std::fs::rename(&self.draining_path, &self.path)?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the next lines of the draining file that are not in the log yet, about `max_bytes`
    /// bytes. Call [`SpillFiles::end_group`] once they are in the log. If no line is left, removes
    /// the draining file and returns `None`. Also returns `None` if there is no draining file.
    ///
    /// # Errors
    /// If the file cannot be read or removed. No line is lost.
    pub fn next_group(&self, max_bytes: usize) -> io::Result<Option<SpilledLineGroup>> {
        let mut state = self.lock();
        if !state.is_draining {
            return Ok(None);
        }
        let mut file = File::open(&self.draining_path)?;
        file.seek(SeekFrom::Start(state.drained_bytes))?;
        let (mut reader, mut group) =
            (BufReader::new(file), SpilledLineGroup { lines: Vec::new(), line_bytes: 0 });
        while group.line_bytes < max_bytes as u64 {
            let mut line = Vec::new();
            group.line_bytes += match reader.read_until(b'\n', &mut line)? {
                0 => break,
                count => count as u64,
            };
            // Skips an incomplete last line, which a killed process may have left.
            if line.pop_if(|last| *last == b'\n').is_some() {
                group.lines.push(line);
            }
        }
        if group.line_bytes > 0 {
            return Ok(Some(group));
        }
        std::fs::remove_file(&self.draining_path)?;
        (state.is_draining, state.drained_bytes, state.draining_file_bytes) = (false, 0, 0);
        Ok(None)
    }

    /// Marks the lines of a group as written to the log, so that they are not returned again.
    pub fn end_group(&self, group: &SpilledLineGroup) {
        self.lock().drained_bytes += group.line_bytes;
    }
}

impl SpillState {
    /// Opens the file for new lines. `draining_file_bytes` is the size of the draining file; `None`
    /// if there is none.
    fn open(path: &Path, draining_file_bytes: Option<u64>) -> io::Result<SpillState> {
        let file = open_for_lines(path)?;
        let mut reader = BufReader::new(File::open(path)?);
        let (mut lines, mut bytes, mut line) = (0, 0, Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 {
            if line.ends_with(b"\n") {
                (lines, bytes) = (lines + 1, bytes + line.len() as u64);
            }
            line.clear();
        }
        file.set_len(bytes)?;
        Ok(SpillState {
            file,
            line_count: lines,
            complete_bytes: bytes,
            may_have_partial_line: false,
            is_writer_notified: false,
            is_draining: draining_file_bytes.is_some(),
            drained_bytes: 0,
            draining_file_bytes: draining_file_bytes.unwrap_or_default(),
        })
    }
}

fn open_for_lines(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(OWNER_ONLY_MODE).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins to drain, unless a draining file exists. Then takes all lines of the draining file,
    /// in groups of one line.
    fn drain_all_lines(spill: &SpillFiles) -> Vec<String> {
        let mut lines = Vec::new();
        spill.begin_drain().expect("it can be renamed");
        while let Some(group) = spill.next_group(1).expect("it can be read") {
            lines.extend(group.lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()));
            spill.end_group(&group);
        }
        lines
    }

    fn add_line(spill: &SpillFiles, line: &[u8]) -> SpillResult {
        spill.add_lines(&[line], false).expect("it can be written")
    }

    #[test]
    fn full_files_take_lines_again_when_they_have_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let spill = SpillFiles::open(&folder.path().join("log"), 8).expect("it opens");
        assert_eq!(add_line(&spill, b"{1}"), SpillResult::First);
        spill.begin_drain().expect("it can be renamed");
        assert_eq!(add_line(&spill, b"{2}"), SpillResult::First);
        assert_eq!(add_line(&spill, b""), SpillResult::Full, "the draining file counts too");
        assert_eq!(spill.add_lines(&[b"{3}"], true).expect("it can be written"), SpillResult::Further);
        assert_eq!(drain_all_lines(&spill), ["{1}"]);
        assert_eq!(
            spill.add_lines(&[b"", b""], false).expect("no error"),
            SpillResult::Full,
            "8 bytes are there"
        );
        drop(spill);
        let spill = SpillFiles::open(&folder.path().join("log"), 10).expect("it opens");
        assert_eq!(add_line(&spill, b"{4}"), SpillResult::Full, "lines of an earlier process count");
        assert_eq!(drain_all_lines(&spill), ["{2}", "{3}"]);
        assert_eq!(add_line(&spill, b"{5}"), SpillResult::First);
    }

    #[test]
    fn lines_keep_their_order_also_over_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let spill = SpillFiles::open(&path, u64::MAX).expect("it opens");
        assert!(spill.is_empty());
        assert_eq!(add_line(&spill, b"{1}"), SpillResult::First);
        assert_eq!(add_line(&spill, b"{2}"), SpillResult::Further);
        spill.begin_drain().expect("it can be renamed");
        assert!(!spill.is_empty(), "a line that came now would be before the others");
        let first = spill.next_group(1).expect("it can be read").expect("a line");
        // The log cannot be written: the same lines are taken again.
        let again = spill.next_group(1).expect("it can be read").expect("a line");
        assert_eq!((&first.lines, &again.lines), (&vec![b"{1}".to_vec()], &vec![b"{1}".to_vec()]));
        spill.end_group(&again);
        assert_eq!(add_line(&spill, b"{3}"), SpillResult::First, "the writer must be woken again");
        assert_eq!(drain_all_lines(&spill), ["{2}"], "no line is written twice");
        assert_eq!(drain_all_lines(&spill), ["{3}"]);
        assert!(spill.is_empty());
        assert_eq!(add_line(&spill, b"{4}"), SpillResult::First);
        spill.begin_drain().expect("it can be renamed");
        drop(spill);
        std::fs::write(path.with_extension("spill"), "{5}\n{hal").expect("it can be written");
        let spill = SpillFiles::open(&path, u64::MAX).expect("it opens");
        assert!(!spill.is_empty());
        assert_eq!(add_line(&spill, b"{6}"), SpillResult::First, "half a line does not spoil the next");
        assert_eq!(drain_all_lines(&spill), ["{4}"]);
        assert_eq!(drain_all_lines(&spill), ["{5}", "{6}"]);
        assert_eq!(drain_all_lines(&spill), [""; 0]);
    }
}
