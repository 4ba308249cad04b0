//! The file of a decision log. A full file is renamed, and a new file is started. A lock ensures
//! that only one process writes the log.

use crate::rules::StartError;
use rulec::Message;
use rulec_base::message;
use rulec_report::chain::HashChain;
use rulec_report::log_files::{find_full_files, folder_of, full_file_path};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Maximum length of a line of the decision log in bytes. To find the last line, at most this many
/// bytes at the end of the file are read.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// The permissions of a new file. Only the owner may read it, because messages may hold personal
/// data.
pub(super) const OWNER_ONLY_MODE: u32 = 0o600;

/// The file to which the lines of the decision log are appended.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// Number of bytes of the complete lines in the log file.
    complete_bytes: u64,
    /// Whether a failed write may have left an incomplete line at the end of the log file.
    may_have_partial_line: bool,
    /// Whether the full file was renamed already, but no new file could be created in its place.
    is_renamed: bool,
    /// True for a device, such as a terminal. A device is never renamed.
    is_device: bool,
    /// The lock file, which is locked until the process ends. `None` for a device.
    _lock: Option<File>,
}

impl LogFile {
    /// Opens a log file, and returns the end of its hash chain. Removes an incomplete last line,
    /// which a killed process may have left. In the mode `sync`, no answer was sent for such a
    /// line.
    ///
    /// # Errors
    /// If the file cannot be used, is not a log with a hash chain, or another process writes the
    /// log.
    pub fn open(path: &Path) -> Result<(LogFile, HashChain), StartError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let to_error =
            |error: io::Error| StartError::File(path.clone(), Message::verbatim(error.to_string()));
        let is_device = path.metadata().is_ok_and(|metadata| !metadata.is_file());
        let lock = if is_device { None } else { Some(lock(&path)?) };
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .append(true)
            .create(true)
            .mode(OWNER_ONLY_MODE)
            .open(&path)
            .map_err(to_error)?;
        let (mut chain, bytes) = read_chain_end(&mut file, &path)?;
        if !is_device {
            if bytes < file.metadata().map_err(to_error)?.len() {
                file.set_len(bytes).map_err(to_error)?;
            }
            sync_folder(&path).map_err(to_error)?;
            if let (0, Some(full)) = (bytes, find_full_files(&path).map_err(to_error)?.last()) {
                let mut full_file = File::open(full).map_err(to_error)?;
                chain = read_chain_end(&mut full_file, full)?.0;
            }
        }
        let file = LogFile {
            path,
            file,
            complete_bytes: bytes,
            may_have_partial_line: false,
            is_renamed: false,
            is_device,
            _lock: lock,
        };
        Ok((file, chain))
    }

    /// Returns the number of bytes of the complete lines in the file.
    pub fn complete_bytes(&self) -> u64 {
        self.complete_bytes
    }

    /// True if the file has at least `limit` bytes, so that a new file must be started. Never true
    /// for a device.
    pub fn is_full(&self, limit: u64) -> bool {
        !self.is_device && self.complete_bytes >= limit
    }

    /// Appends lines to the file. If `syncs` is true, waits until they are on the disk.
    ///
    /// # Errors
    /// If the lines cannot be written. The next call then removes any part of them that was
    /// written.
    pub fn write(&mut self, lines: &[u8], syncs: bool) -> io::Result<()> {
        if self.may_have_partial_line {
            self.file.set_len(self.complete_bytes)?;
        }
        self.may_have_partial_line = true;
        self.file.write_all(lines)?;
        if syncs {
            self.file.sync_data()?;
        }
        self.complete_bytes += lines.len() as u64;
        self.may_have_partial_line = false;
        Ok(())
    }

    /// Removes the incomplete line that a failed write has left at the end of the log file.
    ///
    /// # Errors
    /// If the part cannot be removed. The next write tries again.
    pub fn remove_torn_line(&mut self) -> io::Result<()> {
        if self.may_have_partial_line {
            self.file.set_len(self.complete_bytes)?;
            self.may_have_partial_line = false;
        }
        Ok(())
    }

    /// Renames the full log file, and starts a new file. `next` is the number of the next line, and
    /// becomes part of the full file's name.
    ///
    /// # Errors
    /// If a file cannot be renamed or created. Lines can still be written, and a further call tries
    /// again.
    pub fn rotate(&mut self, next: u64) -> io::Result<()> {
        if !self.is_renamed {
            let full = full_file_path(&self.path, next);
            if full.try_exists()? {
                let why = format!("`{}` exists already; move it away", full.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            std::fs::rename(&self.path, full)?;
            self.is_renamed = true;
        }
        self.file =
            OpenOptions::new().append(true).create_new(true).mode(OWNER_ONLY_MODE).open(&self.path)?;
        (self.complete_bytes, self.may_have_partial_line, self.is_renamed) = (0, false, false);
        sync_folder(&self.path)
    }
}

/// Locks the log at `path` for this process. The lock file is never removed. Otherwise two
/// processes could lock two different files of the same name.
pub(super) fn lock(path: &Path) -> Result<File, StartError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let file = OpenOptions::new().append(true).create(true).open(&name);
    let file = file.map_err(|error| StartError::File(name, Message::verbatim(error.to_string())))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
        let why = message!("another process writes this log; end that process, or give another file");
        StartError::File(path.to_owned(), why)
    })?;
    Ok(file)
}

/// Waits until renamed and new file names in the folder of `path` are on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// Returns the end of the hash chain in a log file, and the number of bytes of its complete lines.
/// Only error messages need `path`.
///
/// # Errors
/// If the file cannot be read, or is not a log with a hash chain. The file is not changed.
fn read_chain_end(file: &mut File, path: &Path) -> Result<(HashChain, u64), StartError> {
    let to_error = |error: io::Error| StartError::File(path.to_owned(), Message::verbatim(error.to_string()));
    // A device has no end, but the size 0.
    let size = file.metadata().map_err(to_error)?.len();
    let start = size.saturating_sub(MAX_LINE_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(to_error)?;
    let mut end = Vec::new();
    file.take(size - start).read_to_end(&mut end).map_err(to_error)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = end[..whole].strip_suffix(b"\n").unwrap_or_default();
    let last = &last[last.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)..];
    let chain = match last {
        // A file without a complete line may hold only an incomplete first line of a log.
        b"" if start == 0 && whole == 0 && HashChain::is_start_of_log(&end) => Some(HashChain::default()),
        last => HashChain::after(last),
    };
    let not_a_log =
        || message!("its last line has no hash of a chain; give a new file, or move this one away");
    let chain = chain.ok_or_else(|| StartError::File(path.to_owned(), not_a_log()))?;
    Ok((chain, start + whole as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a device counted as full, it would be renamed.
    #[test]
    fn a_device_is_never_full() {
        let (mut file, _) = LogFile::open(Path::new("/dev/null")).expect("it opens");
        file.write(b"{}\n", false).expect("it is written");
        assert!(file.complete_bytes() > 0 && !file.is_full(1));
        let folder = tempfile::tempdir().expect("a folder");
        let (mut file, _) = LogFile::open(&folder.path().join("log")).expect("it opens");
        assert!(!file.is_full(1));
        file.write(b"{}\n", false).expect("it is written");
        assert!(file.is_full(1));
    }
}
