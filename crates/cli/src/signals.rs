//! Shutdown on SIGTERM, SIGINT and SIGHUP. At the first signal, a subcommand that processes a
//! stream stops reading, finishes all messages already read, and reports the signal in the exit
//! status. A second signal ends the process at once. Other subcommands end at the first signal.

pub use platform::{InputSource, InterruptibleInput, caught_signal, ignore_file_size_signal};

#[cfg(not(unix))]
use elsewhere as platform;
#[cfg(unix)]
use unix as platform;

use std::fmt;

/// The error with which a read fails after a signal has stopped the stream.
#[derive(Debug)]
pub struct StoppedBySignal;

impl fmt::Display for StoppedBySignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ended by a signal")
    }
}

impl std::error::Error for StoppedBySignal {}

#[cfg(unix)]
mod unix {
    use super::StoppedBySignal;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::{flag, low_level};
    use std::io::{self, Read};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, LazyLock};

    static CAUGHT_SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

    /// Returns the number of the signal that stopped the reading of messages. `None` if no signal
    /// has arrived.
    pub fn caught_signal() -> Option<u8> {
        u8::try_from(CAUGHT_SIGNAL.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
    }

    /// Makes writes beyond the file size limit fail, like writes to a full disk. Without this, the
    /// signal SIGXFSZ would end the process.
    pub fn ignore_file_size_signal() {
        let _ = flag::register(SIGXFSZ, Arc::default());
    }

    /// An input, such as a file or pipe, for which the system call `poll` can wait.
    pub trait InputSource: Read + AsFd + Send {}

    impl<R: Read + AsFd + Send> InputSource for R {}

    /// An input whose reads fail with [`StoppedBySignal`] after a signal, even while waiting for
    /// data.
    pub struct InterruptibleInput {
        inner: Box<dyn InputSource>,
        /// A socket that becomes readable when a signal arrives.
        signal_stream: UnixStream,
    }

    impl InterruptibleInput {
        /// Creates the input and begins to listen for signals.
        ///
        /// # Errors
        /// If the signal handlers or the socket pair cannot be created.
        pub fn new(inner: Box<dyn InputSource>) -> io::Result<Self> {
            let (signal_stream, waker) = UnixStream::pair()?;
            let stop_requested = Arc::new(AtomicBool::new(false));
            let hangup = (!is_hangup_ignored()).then_some(SIGHUP);
            for signal in [SIGTERM, SIGINT].into_iter().chain(hangup) {
                // The order matters. At the first signal, the handler that ends the process runs
                // before the flag is set, so it does nothing. At a second signal, it finds the flag
                // set.
                flag::register_conditional_default(signal, Arc::clone(&stop_requested))?;
                flag::register(signal, Arc::clone(&stop_requested))?;
                flag::register_usize(signal, Arc::clone(&CAUGHT_SIGNAL), signal.unsigned_abs() as usize)?;
                low_level::pipe::register(signal, waker.try_clone()?)?;
            }
            Ok(InterruptibleInput { inner, signal_stream })
        }
    }

    /// True if the process ignores SIGHUP, for example because `nohup` started it. Also true if
    /// this is unknown: handling SIGHUP could end a run that `nohup` should protect.
    fn is_hangup_ignored() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_none_or(|mask| mask & (1 << (SIGHUP - 1)) != 0)
    }

    impl Read for InterruptibleInput {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut poll_fds = [
                PollFd::new(&self.inner, PollFlags::IN),
                PollFd::from_borrowed_fd(self.signal_stream.as_fd(), PollFlags::IN),
            ];
            match poll(&mut poll_fds, None) {
                Ok(_) if !poll_fds[1].revents().is_empty() => Err(io::Error::other(StoppedBySignal)),
                // Inputs that do not support `poll`, such as regular files, never wait, so they are
                // read directly.
                Ok(_) | Err(Errno::INVAL) => self.inner.read(buffer),
                Err(error) => Err(error.into()),
            }
        }
    }
}

// Tests compile this module on all systems.
#[cfg(any(not(unix), test))]
mod elsewhere {
    use std::io::{self, Read};

    pub trait InputSource: Read + Send {}

    impl<R: Read + Send> InputSource for R {}

    pub fn caught_signal() -> Option<u8> {
        None
    }

    pub fn ignore_file_size_signal() {}

    /// An input on systems without Unix signals, where no signal ends a read.
    pub struct InterruptibleInput(Box<dyn InputSource>);

    impl InterruptibleInput {
        pub fn new(inner: Box<dyn InputSource>) -> io::Result<Self> {
            Ok(InterruptibleInput(inner))
        }
    }

    impl Read for InterruptibleInput {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::elsewhere::{InputSource, InterruptibleInput, caught_signal, ignore_file_size_signal};
    use std::io::{Cursor, Read};

    #[test]
    fn systems_without_signals_have_the_same_functions() {
        ignore_file_size_signal();
        assert_eq!(caught_signal(), None);
        let source: Box<dyn InputSource> = Box::new(Cursor::new("abc"));
        let mut text = String::new();
        let mut input = InterruptibleInput::new(source).expect("it needs nothing");
        input.read_to_string(&mut text).expect("it reads from memory");
        assert_eq!(text, "abc");
    }
}
