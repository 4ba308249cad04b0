//! The file of a decision log, with its hash chain. A full file is renamed, and the next file
//! continues its chain.

use super::LogTarget;
use crate::rules::StartError;
use rulec::{Message, SigningKey};
use rulec_base::message;
use rulec_report::chain::Chain;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Number of lines after which a checkpoint is written.
const CHECKPOINT_LINES: u64 = 1000;
/// Maximum number of bytes of the end of a file that are searched for its last line: the size of
/// the longest line.
const MAX_LINE_BYTES: u64 = 64 << 20;

enum Target {
    File { path: PathBuf, file: File, bytes: u64 },
    Writer(Box<dyn Write + Send>),
}

impl Target {
    /// Writes lines to the end, and with `syncs` waits until they are on the disk. After an error,
    /// a file has none of them.
    fn write(&mut self, lines: &[u8], syncs: bool) -> io::Result<()> {
        match self {
            Target::Writer(writer) => writer.write_all(lines).and_then(|()| writer.flush()),
            Target::File { file, bytes, .. } => {
                let written = file.write_all(lines).and_then(|()| match syncs {
                    true => file.sync_data(),
                    false => Ok(()),
                });
                match written {
                    Ok(()) => *bytes += lines.len() as u64,
                    Err(_) => file.set_len(*bytes)?,
                }
                written
            }
        }
    }
}

/// The lines that are written together, and where they go.
pub(super) struct Output {
    target: Target,
    chain: Chain,
    /// The end of the chain that is written. After a failed write, the chain goes on from there.
    written: Chain,
    key: Option<SigningKey>,
    rotate_bytes: u64,
    /// Number of lines since the last checkpoint.
    since_checkpoint: u64,
    /// The lines that are not written yet.
    pending: Vec<u8>,
}

impl Output {
    /// Opens the file and continues its chain. A last line that is incomplete, because the process
    /// was killed while it wrote, is removed: no answer has waited for it.
    ///
    /// # Errors
    /// If the file cannot be used, or is not a log with a chain.
    pub fn open(target: LogTarget, rotate_bytes: u64, key: Option<SigningKey>) -> Result<Output, StartError> {
        let (target, chain) = match target {
            LogTarget::Writer(writer) => (Target::Writer(writer), Chain::default()),
            LogTarget::File(path) => open_file(path)?,
        };
        let written = chain.clone();
        Ok(Output { target, chain, written, key, rotate_bytes, since_checkpoint: 0, pending: Vec::new() })
    }

    /// Adds a line, the text of a JSON object, to the lines that are written next.
    pub fn add(&mut self, mut line: Vec<u8>) {
        if self.pending.is_empty() && self.is_at_start() {
            self.pending = self.chain.file_header();
            self.chain.add(&mut self.pending);
        }
        self.chain.add(&mut line);
        self.pending.extend_from_slice(&line);
        self.since_checkpoint += 1;
        if self.since_checkpoint >= CHECKPOINT_LINES {
            self.add_checkpoint();
        }
    }

    /// True if nothing is written to the output yet.
    fn is_at_start(&self) -> bool {
        match &self.target {
            Target::File { bytes, .. } => *bytes == 0,
            Target::Writer(_) => self.written.next_number() == 1,
        }
    }

    fn add_checkpoint(&mut self) {
        self.since_checkpoint = 0;
        if let Some(key) = &self.key {
            let mut line = self.chain.checkpoint(key);
            self.chain.add(&mut line);
            self.pending.extend_from_slice(&line);
        }
    }

    /// Number of bytes of the lines that are not written yet.
    pub fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Writes the lines that were added, and with `syncs` waits until they are on the disk. Begins
    /// a new file if this one is full.
    ///
    /// # Errors
    /// If they cannot be written. None of them is in the file then, so that the chain stays whole.
    pub fn flush(&mut self, syncs: bool) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        if let Err(error) = self.target.write(&pending, syncs) {
            self.chain = self.written.clone();
            return Err(error);
        }
        self.written = self.chain.clone();
        self.rotate_if_full()
    }

    fn rotate_if_full(&mut self) -> io::Result<()> {
        match &self.target {
            Target::File { bytes, .. } if *bytes >= self.rotate_bytes => {}
            _ => return Ok(()),
        }
        self.add_checkpoint();
        let checkpoint = std::mem::take(&mut self.pending);
        self.target.write(&checkpoint, true).inspect_err(|_| self.chain = self.written.clone())?;
        self.written = self.chain.clone();
        let Target::File { path, .. } = &self.target else { return Ok(()) };
        let old = PathBuf::from(format!("{}.{:012}", path.display(), self.chain.next_number()));
        std::fs::rename(path, old)?;
        let path = path.clone();
        let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        sync_folder(&path)?;
        self.target = Target::File { path, file, bytes: 0 };
        Ok(())
    }

    /// Writes a last checkpoint, and waits until all lines are on the disk.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn close(&mut self) -> io::Result<()> {
        if self.since_checkpoint > 0 {
            self.add_checkpoint();
        }
        self.flush(true)
    }
}

/// Waits until the names of the files in the folder of `path` are on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn open_file(path: PathBuf) -> Result<(Target, Chain), StartError> {
    let to_error = |error: io::Error| StartError::File(path.clone(), Message::verbatim(error.to_string()));
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(&path).map_err(to_error)?;
    let size = file.metadata().map_err(to_error)?.len();
    let start = size.saturating_sub(MAX_LINE_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(to_error)?;
    let mut end = Vec::new();
    // A device has no end, but the size 0.
    (&mut file).take(size - start).read_to_end(&mut end).map_err(to_error)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let bytes = start + whole as u64;
    if bytes < size {
        file.set_len(bytes).map_err(to_error)?;
    }
    sync_folder(&path).map_err(to_error)?;
    let last = end[..whole].strip_suffix(b"\n").unwrap_or_default();
    let last = &last[last.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)..];
    let chain = match last {
        b"" => Chain::default(),
        last => Chain::after(last).ok_or_else(|| {
            let why =
                message!("its last line has no hash of a chain; give a new file, or move this one away");
            StartError::File(path.clone(), why)
        })?,
    };
    Ok((Target::File { path, file, bytes }, chain))
}
