//! Ending when the system asks for it. A stream that is told to end (SIGTERM, SIGINT) reads no further; what was read is
//! answered, and the exit status names the signal. Whoever asks twice does not wait. Other verbs end at once, as programs do.

#[cfg(unix)]
pub use unix::{Input, Readable, caught, refuse_large_files};

#[cfg(not(unix))]
pub use elsewhere::{Input, Readable, caught, refuse_large_files};

use std::fmt;

/// The error of a reader that is told to end.
#[derive(Debug)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("told to end")
    }
}

impl std::error::Error for Stopped {}

#[cfg(unix)]
mod unix {
    use super::Stopped;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::{flag, low_level};
    use std::io::{self, Read};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, LazyLock};

    static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

    /// Returns the signal that told a stream to end.
    pub fn caught() -> Option<u8> {
        u8::try_from(CAUGHT.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
    }

    /// Has writing beyond the size that files may have fail, as it does on a full disk, rather than end the program.
    pub fn refuse_large_files() {
        let _ = flag::register(SIGXFSZ, Arc::default());
    }

    /// Something to read that can be waited for.
    pub trait Readable: Read + AsFd + Send {}

    impl<R: Read + AsFd + Send> Readable for R {}

    /// An input whose reading ends when a signal says so, even while it waits.
    pub struct Input {
        inner: Box<dyn Readable>,
        /// Readable when a signal has come.
        wake: UnixStream,
    }

    impl Input {
        /// Listens to the signals from now on.
        ///
        /// # Errors
        /// When the system does not let it.
        pub fn new(inner: Box<dyn Readable>) -> io::Result<Self> {
            let (wake, waker) = UnixStream::pair()?;
            let asked = Arc::new(AtomicBool::new(false));
            for signal in [SIGTERM, SIGINT] {
                // In that order: the first signal finds that none was before.
                flag::register_conditional_default(signal, Arc::clone(&asked))?;
                flag::register(signal, Arc::clone(&asked))?;
                flag::register_usize(signal, Arc::clone(&CAUGHT), signal.unsigned_abs() as usize)?;
                low_level::pipe::register(signal, waker.try_clone()?)?;
            }
            Ok(Input { inner, wake })
        }
    }

    impl Read for Input {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut places = [
                PollFd::new(&self.inner, PollFlags::IN),
                PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN),
            ];
            match poll(&mut places, None) {
                Ok(_) if !places[1].revents().is_empty() => Err(io::Error::other(Stopped)),
                // What cannot be waited for is there at once.
                Ok(_) | Err(Errno::INVAL) => self.inner.read(buffer),
                Err(error) => Err(error.into()),
            }
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io::{self, Read};

    pub trait Readable: Read + Send {}

    impl<R: Read + Send> Readable for R {}

    pub fn caught() -> Option<u8> {
        None
    }

    pub fn refuse_large_files() {}

    /// An input as it is.
    pub struct Input(Box<dyn Readable>);

    impl Input {
        pub fn new(inner: Box<dyn Readable>) -> io::Result<Self> {
            Ok(Input(inner))
        }
    }

    impl Read for Input {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }
}
