//! Writes the lines of a decision log to a file, a writer or a server, and links them in a hash
//! chain. The chain continues in the next file and, for a file, after a restart.

use super::file::LogFile;
#[cfg(feature = "remote")]
use super::remote::{LogSendError, RemoteSink};
use super::{LogMode, LogTarget};
use crate::rules::StartError;
use rulec::SigningKey;
use rulec_report::chain::HashChain;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of lines between two checkpoints (signed lines that confirm all lines before them).
const LINES_PER_CHECKPOINT: u64 = 1000;

enum LogDestination {
    File(LogFile),
    Writer(Box<dyn Write + Send>),
    #[cfg(feature = "remote")]
    Remote(Box<RemoteSink>),
}

/// The reason why pending lines of the decision log were not written.
pub(super) enum LogFlushError {
    /// The write failed. The lines are no longer pending, and the hash chain continues as if they
    /// had not been added.
    Failed(io::Error),
    /// As [`LogFlushError::Failed`], and the server would not accept the same lines later either.
    #[cfg(feature = "remote")]
    Refused(io::Error),
    /// The lines are still pending, because the server may have received them. The next flush sends
    /// the same bytes.
    #[cfg(feature = "remote")]
    Kept(io::Error),
}

impl LogFlushError {
    /// True if the lines that could not be written are still pending, so that a later flush writes
    /// them.
    pub fn keeps_lines(&self) -> bool {
        match self {
            LogFlushError::Failed(_) => false,
            #[cfg(feature = "remote")]
            LogFlushError::Refused(_) => false,
            #[cfg(feature = "remote")]
            LogFlushError::Kept(_) => true,
        }
    }

    /// True if a server has refused the lines, so that the caller must not add them again.
    pub fn is_refusal(&self) -> bool {
        match self {
            LogFlushError::Failed(_) => false,
            #[cfg(feature = "remote")]
            LogFlushError::Refused(_) => true,
            #[cfg(feature = "remote")]
            LogFlushError::Kept(_) => false,
        }
    }

    pub fn into_io_error(self) -> io::Error {
        match self {
            LogFlushError::Failed(error) => error,
            #[cfg(feature = "remote")]
            LogFlushError::Refused(error) | LogFlushError::Kept(error) => error,
        }
    }
}

impl LogDestination {
    /// Writes lines of the decision log. Returns the number of lines that a server reports as
    /// rejected.
    fn write(&mut self, lines: &[u8], syncs: bool) -> Result<u64, LogFlushError> {
        match self {
            LogDestination::Writer(writer) => {
                let written = writer.write_all(lines).and_then(|()| writer.flush());
                written.map(|()| 0).map_err(LogFlushError::Failed)
            }
            LogDestination::File(file) => file.write(lines, syncs).map(|()| 0).map_err(|error| {
                // If this fails too, the next write repairs the file.
                let _ = file.remove_torn_line();
                LogFlushError::Failed(error)
            }),
            #[cfg(feature = "remote")]
            LogDestination::Remote(sink) => sink.send(lines).map_err(|error| match error {
                LogSendError::Refused(error) => LogFlushError::Refused(error),
                LogSendError::Unreached(error) => LogFlushError::Kept(error),
            }),
        }
    }
}

/// The end of the hash chain, up to the last line that was written. The writer's thread updates it,
/// and other threads read it.
#[derive(Clone, Default)]
pub(super) struct WrittenLogEnd(Arc<Mutex<HashChain>>);

impl WrittenLogEnd {
    pub fn get(&self) -> HashChain {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, chain: &HashChain) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(chain);
    }
}

/// Collects lines of the decision log, adds them to the hash chain, and writes them together.
pub(super) struct LogOutput {
    target: LogDestination,
    chain: HashChain,
    /// The end of the hash chain up to the last written line. After a failed write, the chain
    /// continues from there.
    written_end: WrittenLogEnd,
    /// The key that signs checkpoints, and the maximum time from a line to the next checkpoint.
    /// `None` for a log without checkpoints.
    signing: Option<(SigningKey, Duration)>,
    /// The time at which the next checkpoint is due. `None` if no line was added since the last
    /// checkpoint, or the log has no checkpoints.
    next_checkpoint: Option<Instant>,
    rotate_bytes: u64,
    /// Number of lines of the decision log, written or pending, since the last checkpoint (a line
    /// that signs the lines before it).
    lines_since_checkpoint: u64,
    /// Number of lines that were written to the decision log after the last written checkpoint.
    /// After a failed write, `lines_since_checkpoint` is reset to this number.
    written_lines_since_checkpoint: u64,
    /// Whether the last attempt to start a new file has failed, so that lines still go to the full
    /// file.
    has_rotation_failed: bool,
    /// The bytes of the log's lines that were added and are not written yet.
    pending_lines: Vec<u8>,
}

impl LogOutput {
    /// Opens the file, the writer or the server for the lines of the log. If the file exists, new
    /// lines continue its hash chain. A file of `rotate_bytes` bytes is full. `signing` has the key
    /// that signs checkpoints, and the maximum time from a line to the next checkpoint. Only a
    /// server needs the mode.
    ///
    /// # Errors
    /// As [`LogFile::open`], or if the server's address or token cannot be used.
    #[cfg_attr(not(feature = "remote"), allow(unused_variables, reason = "only a server needs the mode"))]
    pub fn open(
        target: LogTarget,
        mode: LogMode,
        rotate_bytes: u64,
        signing: Option<(SigningKey, Duration)>,
    ) -> Result<LogOutput, StartError> {
        let (target, chain) = match target {
            LogTarget::Writer(writer) => (LogDestination::Writer(writer), HashChain::default()),
            LogTarget::File(path) => {
                let (file, chain) = LogFile::open(&path)?;
                (LogDestination::File(file), chain)
            }
            #[cfg(feature = "remote")]
            LogTarget::Remote(remote) => {
                // In the other modes, the thread of the log repeats requests without an end.
                let sink = RemoteSink::open(remote, mode == LogMode::Sync)?;
                (LogDestination::Remote(Box::new(sink)), HashChain::default())
            }
        };
        let written = WrittenLogEnd::default();
        written.set(&chain);
        let (lines_since_checkpoint, has_rotation_failed, pending) = (0, false, Vec::new());
        let written_since_checkpoint = 0;
        Ok(LogOutput {
            target,
            chain,
            written_end: written,
            signing,
            next_checkpoint: None,
            rotate_bytes,
            lines_since_checkpoint,
            written_lines_since_checkpoint: written_since_checkpoint,
            has_rotation_failed,
            pending_lines: pending,
        })
    }

    /// Returns the end of the hash chain up to the last written line. Later writes update it.
    pub fn written_end(&self) -> &WrittenLogEnd {
        &self.written_end
    }

    /// Adds a line of the decision log to the lines that wait to be written. `line` is the text of
    /// a JSON object, without its number and hash in the chain.
    pub fn add_line(&mut self, mut line: Vec<u8>) {
        if self.pending_lines.is_empty() && self.is_at_start() {
            self.pending_lines = self.chain.file_header_line();
            self.chain.append_line(&mut self.pending_lines);
        }
        self.chain.append_line(&mut line);
        self.pending_lines.extend_from_slice(&line);
        self.lines_since_checkpoint += 1;
        if let (Some((_, interval)), None) = (&self.signing, self.next_checkpoint) {
            self.next_checkpoint = Instant::now().checked_add(*interval);
        }
        if self.lines_since_checkpoint >= LINES_PER_CHECKPOINT {
            self.add_checkpoint();
        }
    }

    /// True if the file or writer has no line yet, so that a header line must come first.
    fn is_at_start(&self) -> bool {
        match &self.target {
            LogDestination::File(file) => file.complete_bytes() == 0,
            _ => self.chain.next_line_number() == 1,
        }
    }

    /// Returns the time until the next checkpoint is due; zero if it is due. `None` if no line
    /// waits for a checkpoint, or lines are still pending.
    pub fn time_to_checkpoint(&self) -> Option<Duration> {
        let due = self.next_checkpoint.filter(|_| !self.has_pending_lines())?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Adds a checkpoint (a signed line) to the pending lines, if the log has a key.
    pub fn add_checkpoint(&mut self) {
        self.lines_since_checkpoint = 0;
        self.next_checkpoint = None;
        if let Some((key, _)) = &self.signing {
            let mut line = self.chain.checkpoint_line(key);
            self.chain.append_line(&mut line);
            self.pending_lines.extend_from_slice(&line);
        }
    }

    /// Returns the number of bytes of the lines that wait to be written.
    pub fn pending_bytes(&self) -> usize {
        self.pending_lines.len()
    }

    pub fn has_pending_lines(&self) -> bool {
        !self.pending_lines.is_empty()
    }

    /// Writes the pending lines of the decision log. If `syncs` is true, waits until they are on
    /// the disk. Returns the number of lines that a server reports as rejected, 0 for a file.
    ///
    /// # Errors
    /// If the lines cannot be written. The caller must add further lines only after a flush that
    /// does not keep the pending lines.
    pub fn flush(&mut self, syncs: bool) -> Result<u64, LogFlushError> {
        if self.pending_lines.is_empty() {
            return Ok(0);
        }
        let written = self.target.write(&self.pending_lines, syncs);
        if !written.as_ref().is_err_and(LogFlushError::keeps_lines) {
            // Frees the memory too, because a group of lines can be large.
            self.pending_lines = Vec::new();
            match &written {
                Ok(_) => {
                    self.written_end.set(&self.chain);
                    self.written_lines_since_checkpoint = self.lines_since_checkpoint;
                }
                Err(_) => {
                    self.chain = self.written_end.get();
                    self.lines_since_checkpoint = self.written_lines_since_checkpoint;
                }
            }
        }
        written
    }

    /// Starts a new log file if the current file is full. The caller must have flushed all lines.
    ///
    /// # Errors
    /// If the new file cannot be started. No line is lost: lines go to the full file until a
    /// further call succeeds.
    pub fn rotate_if_full(&mut self) -> io::Result<()> {
        match &self.target {
            LogDestination::File(file) if file.is_full(self.rotate_bytes) => {}
            _ => return Ok(()),
        }
        // If a new file cannot be started, only the first attempt writes a checkpoint.
        if self.lines_since_checkpoint > 0 && !std::mem::replace(&mut self.has_rotation_failed, true) {
            self.add_checkpoint();
        }
        self.flush(true).map_err(LogFlushError::into_io_error)?;
        if let LogDestination::File(file) = &mut self.target {
            file.rotate(self.chain.next_line_number())?;
        }
        self.has_rotation_failed = false;
        Ok(())
    }

    /// Writes a last checkpoint (a signed line) if the log has a key, and waits until all lines are
    /// on the disk.
    ///
    /// # Errors
    /// If the lines cannot be written.
    pub fn close(&mut self) -> io::Result<()> {
        if self.lines_since_checkpoint > 0 {
            self.add_checkpoint();
        }
        self.flush(true).map(drop).map_err(LogFlushError::into_io_error)
    }
}
