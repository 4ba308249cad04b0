//! The files next to a decision log in which lines wait that come faster than they can be
//! written. New lines go to one file, while the writer takes the lines of another.

use crate::rules::StartError;
use rulec::Message;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines that wait in files, in order.
pub(super) struct Spill {
    /// The file of new lines.
    path: PathBuf,
    /// The file whose lines the writer takes.
    draining: PathBuf,
    state: Mutex<SpillState>,
}

struct SpillState {
    file: File,
    /// Number of lines in `file`. While it is not zero, all further lines go there.
    lines: u64,
    /// Whether the writer knows that lines wait.
    is_woken: bool,
}

impl Spill {
    /// Opens the file `PATH.spill` for the log at `path`. Lines that an earlier process has left
    /// are kept.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn open(path: &Path) -> Result<Spill, StartError> {
        let with = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let (path, draining) = (with(".spill"), with(".spill.draining"));
        let to_error =
            |error: io::Error| StartError::File(path.clone(), Message::verbatim(error.to_string()));
        let file = open_for_lines(&path).map_err(to_error)?;
        let left = File::open(&path).map_err(to_error)?;
        let lines = BufReader::new(left).split(b'\n').count() as u64;
        let state = Mutex::new(SpillState { file, lines, is_woken: false });
        Ok(Spill { path, draining, state })
    }

    /// True if no new line waits in the file.
    pub fn is_empty(&self) -> bool {
        self.lock().lines == 0
    }

    /// True if an earlier process has left lines.
    pub fn has_left_lines(&self) -> bool {
        !self.is_empty() || self.draining.exists()
    }

    fn lock(&self) -> MutexGuard<'_, SpillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line. Returns whether the writer must be woken.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn add(&self, line: &[u8]) -> io::Result<bool> {
        let mut state = self.lock();
        state.file.write_all(&[line, b"\n"].concat())?;
        state.lines += 1;
        Ok(!std::mem::replace(&mut state.is_woken, true))
    }

    /// Calls `write` with groups of the waiting lines, in order, and removes the lines at the end.
    /// New lines may come at the same time; they wait for the next call.
    ///
    /// # Errors
    /// If the lines cannot be read or written. They are then kept, and may be written again later.
    pub fn drain(&self, mut write: impl FnMut(Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        self.lock().is_woken = false;
        // A file is left there if an earlier call has failed.
        if !self.draining.exists() {
            let mut state = self.lock();
            if state.lines == 0 {
                return Ok(());
            }
            std::fs::rename(&self.path, &self.draining)?;
            (state.file, state.lines) = (open_for_lines(&self.path)?, 0);
        }
        for line in BufReader::new(File::open(&self.draining)?).split(b'\n') {
            // A process that was killed may have left half a line at the end.
            let line = line?;
            if line.ends_with(b"}") {
                write(line)?;
            }
        }
        Ok(())
    }

    /// Removes the lines that [`Spill::drain`] has returned.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn end_drain(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.draining) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn open_for_lines(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(spill: &Spill) -> Vec<String> {
        let mut lines = Vec::new();
        let take = |line: Vec<u8>| {
            lines.push(String::from_utf8_lossy(&line).into_owned());
            Ok(())
        };
        spill.drain(take).and_then(|()| spill.end_drain()).expect("it can be read");
        lines
    }

    #[test]
    fn lines_keep_their_order_also_over_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let spill = Spill::open(&path).expect("it opens");
        assert!(!spill.has_left_lines());
        assert!(spill.add(b"{1}").expect("it is written"));
        assert!(!spill.add(b"{2}").expect("it is written"));
        assert!(spill.drain(|_| Err(io::Error::other("full"))).is_err());
        assert!(spill.add(b"{3}").expect("the writer must be woken again"));
        drop(spill);
        let spill = Spill::open(&path).expect("it opens");
        assert!(spill.has_left_lines());
        assert_eq!(drained(&spill), ["{1}", "{2}"]);
        std::fs::write(path.with_extension("spill"), "{3}\n{hal").expect("it can be written");
        assert_eq!(drained(&spill), ["{3}"]);
        assert_eq!(drained(&spill), [""; 0]);
    }
}
