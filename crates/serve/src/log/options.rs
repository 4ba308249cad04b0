//! The settings of the decision log: where its lines go, and what happens if they come too fast.

#[cfg(feature = "remote")]
use super::remote::RemoteLog;
use super::sampling::LogSampling;
use crate::limits::LogLimits;
use crate::rules::StartError;
use rulec::SigningKey;
use rulec_base::message;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// What the log does with lines that arrive faster than they can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogMode {
    /// Drops and counts these lines. Before the next line, the log gets a line with the number of
    /// dropped lines.
    #[default]
    Drop,
    /// Stores these lines in a file next to the log until they are written to the log. All lines
    /// for a server are stored in such a file until the server has accepted them. If the file is
    /// full, lines are dropped and counted as in the mode [`LogMode::Drop`].
    Spill,
    /// Each answer waits until its line is on the disk, so no answered decision is lost, even if
    /// the machine stops. Lines that arrive together are written together. If a server receives the
    /// lines, each answer waits until the server has accepted its line.
    Sync,
}

/// Where the decision log writes its lines.
pub enum LogTarget {
    /// The decision log is a file. If it exists, new lines are appended.
    File(PathBuf),
    /// The decision log is written to a writer, such as standard output.
    Writer(Box<dyn Write + Send>),
    /// The lines of the decision log are sent over HTTP to a server.
    #[cfg(feature = "remote")]
    Remote(RemoteLog),
}

impl LogTarget {
    /// Returns the path of the spill file, where lines wait for the log, without its ending
    /// `.spill`. `None` if the mode needs no spill file.
    ///
    /// # Errors
    /// If the mode is impossible for this target.
    pub(super) fn spill_files_of(&self, mode: LogMode) -> Result<Option<PathBuf>, StartError> {
        match (mode, self) {
            (LogMode::Drop, _) | (LogMode::Sync, LogTarget::File(_)) => Ok(None),
            (LogMode::Spill, LogTarget::File(path)) => Ok(Some(path.clone())),
            (_, LogTarget::Writer(_)) => Err(StartError::Options(message!(
                "the modes `spill` and `sync` need a file: give `--log FILE`"
            ))),
            #[cfg(feature = "remote")]
            (LogMode::Sync, LogTarget::Remote(_)) => Ok(None),
            #[cfg(feature = "remote")]
            (LogMode::Spill, LogTarget::Remote(remote)) => match &remote.spill_path {
                Some(path) => Ok(Some(path.clone())),
                None => Err(StartError::Options(message!(
                    "the mode `spill` keeps the lines for a server in a file: give `--log-spill FILE`"
                ))),
            },
        }
    }

    /// True if the lines of the decision log are sent to a server.
    pub(super) fn is_remote(&self) -> bool {
        !matches!(self, LogTarget::File(_) | LogTarget::Writer(_))
    }

    /// Returns the first and the longest pause before the lines are sent to a server again.
    pub(super) fn retry_pauses(&self) -> (Duration, Duration) {
        match self {
            LogTarget::File(_) | LogTarget::Writer(_) => (Duration::ZERO, Duration::ZERO),
            #[cfg(feature = "remote")]
            LogTarget::Remote(remote) => remote.retry_pauses,
        }
    }
}

/// The settings of a decision log, from the options of `rulec serve`.
pub struct LogOptions {
    /// The file, the writer or the server that gets the lines.
    pub target: LogTarget,
    /// What the log does with lines that arrive faster than they can be written.
    pub mode: LogMode,
    /// Maximum number of lines that wait in memory, in the modes `drop` and `spill`.
    pub max_waiting_lines: usize,
    /// Maximum number of bytes in memory for waiting lines. Above this number, lines are dropped,
    /// or stored in the spill file. In the mode `sync`, new requests then get the status 503, and
    /// new lines of a stream wait.
    pub max_waiting_bytes: usize,
    /// Maximum number of bytes of the spill files, in the mode `spill`. Lines about changes of the
    /// rules and about recorded messages are stored in any case.
    pub max_spill_bytes: u64,
    /// Number of bytes after which the file is renamed and a new file is started.
    pub rotate_bytes: u64,
    /// The key that signs checkpoints, which are lines that confirm all lines before them; `None`
    /// for a log without checkpoints. A checkpoint follows after 1,000 lines.
    pub key: Option<SigningKey>,
    /// Maximum time from a line to the next checkpoint, also if fewer lines follow.
    pub checkpoint_interval: Duration,
    /// Which decisions the log keeps.
    pub sampling: LogSampling,
}

impl LogOptions {
    pub(crate) fn limits(&self) -> LogLimits {
        LogLimits {
            max_waiting_lines: self.max_waiting_lines,
            max_waiting_bytes: self.max_waiting_bytes,
            max_spill_bytes: self.max_spill_bytes,
        }
    }
}
