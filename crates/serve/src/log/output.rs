//! Where the lines of a decision log go, with their hash chain. The chain goes on over full files
//! and restarts.

use super::LogTarget;
use super::file::LogFile;
use crate::rules::StartError;
use rulec::SigningKey;
use rulec_report::chain::Chain;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of lines after which a checkpoint is written.
const CHECKPOINT_LINES: u64 = 1000;

enum Target {
    File(LogFile),
    Writer(Box<dyn Write + Send>),
}

impl Target {
    fn write(&mut self, lines: &[u8], syncs: bool) -> io::Result<()> {
        match self {
            Target::Writer(writer) => writer.write_all(lines).and_then(|()| writer.flush()),
            Target::File(file) => file.write(lines, syncs).inspect_err(|_| {
                // The next write tries it again.
                let _ = file.mend();
            }),
        }
    }
}

/// The end of the chain that is written, for readers on other threads.
#[derive(Clone, Default)]
pub(super) struct LogEnd(Arc<Mutex<Chain>>);

impl LogEnd {
    pub fn get(&self) -> Chain {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, chain: &Chain) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(chain);
    }
}

/// The lines that are written together, and where they go.
pub(super) struct Output {
    target: Target,
    chain: Chain,
    /// The end of the chain that is written. After a failed write, the chain goes on from there.
    written: LogEnd,
    key: Option<SigningKey>,
    rotate_bytes: u64,
    /// Number of lines since the last checkpoint.
    since_checkpoint: u64,
    /// Number of written lines since the last written checkpoint.
    written_since_checkpoint: u64,
    /// Whether the last attempt to begin a new file has failed.
    is_stuck: bool,
    /// The lines that are not written yet.
    pending: Vec<u8>,
}

impl Output {
    /// Opens the target, and continues its chain.
    ///
    /// # Errors
    /// As [`LogFile::open`].
    pub fn open(target: LogTarget, rotate_bytes: u64, key: Option<SigningKey>) -> Result<Output, StartError> {
        let (target, chain) = match target {
            LogTarget::Writer(writer) => (Target::Writer(writer), Chain::default()),
            LogTarget::File(path) => {
                let (file, chain) = LogFile::open(&path)?;
                (Target::File(file), chain)
            }
        };
        let written = LogEnd::default();
        written.set(&chain);
        let (since_checkpoint, is_stuck, pending) = (0, false, Vec::new());
        let written_since_checkpoint = 0;
        Ok(Output {
            target,
            chain,
            written,
            key,
            rotate_bytes,
            since_checkpoint,
            written_since_checkpoint,
            is_stuck,
            pending,
        })
    }

    /// Returns the end of the chain that is written.
    pub fn end(&self) -> &LogEnd {
        &self.written
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
            Target::File(file) => file.bytes() == 0,
            Target::Writer(_) => self.chain.next_number() == 1,
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

    /// Writes the lines that were added, and with `syncs` waits until they are on the disk.
    ///
    /// # Errors
    /// If they cannot be written. None of them is in the file then, so that the chain stays whole.
    pub fn flush(&mut self, syncs: bool) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        if let Err(error) = self.target.write(&pending, syncs) {
            self.chain = self.written.get();
            self.since_checkpoint = self.written_since_checkpoint;
            return Err(error);
        }
        self.written.set(&self.chain);
        self.written_since_checkpoint = self.since_checkpoint;
        Ok(())
    }

    /// Begins a new file if this one is full. To be called when no line is pending.
    ///
    /// # Errors
    /// If that is impossible now. No line is lost: lines go to the old file, until a further call
    /// succeeds.
    pub fn rotate_if_full(&mut self) -> io::Result<()> {
        match &self.target {
            Target::File(file) if file.is_full(self.rotate_bytes) => {}
            _ => return Ok(()),
        }
        // A file that stays full gets no checkpoint for each attempt.
        if self.since_checkpoint > 0 && !std::mem::replace(&mut self.is_stuck, true) {
            self.add_checkpoint();
        }
        self.flush(true)?;
        if let Target::File(file) = &mut self.target {
            file.rotate(self.chain.next_number())?;
        }
        self.is_stuck = false;
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
