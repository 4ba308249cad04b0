//! Standard input and output. Using a standard stream that was closed at program start is an error.
//! Rust would replace such a stream with `/dev/null`, which is empty as input and discards all
//! output.

use super::CliError;
use super::language::localized;
use rulec_base::message;
use std::fs::Metadata;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns standard input. Only the first call succeeds, because two callers cannot share the
/// input.
pub fn take_stdin() -> Result<io::Stdin, CliError> {
    static STDIN_TAKEN: AtomicBool = AtomicBool::new(false);
    if was_closed_at_start(0) {
        return Err(CliError::usage_error(message!("standard input cannot be read: it is closed")));
    }
    match STDIN_TAKEN.swap(true, Ordering::Relaxed) {
        true => Err(CliError::usage_error(message!(
            "standard input is used twice; name a file for one of the two"
        ))),
        false => Ok(io::stdin()),
    }
}

/// Returns the localized name of standard input.
pub fn stdin_name() -> String {
    localized(&message!("standard input")).into_owned()
}

/// Reads all of standard input, or `limit + 1` bytes if there are more than `limit`.
pub fn read_stdin(limit: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    match take_stdin()?.lock().take(limit + 1).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(CliError::usage_error(message!("standard input cannot be read: {error}"))),
    }
}

/// Returns standard output as a plain file. `std::io::Stdout` would silently ignore the write
/// errors of an output that is open only for reading.
pub fn open_stdout() -> Box<dyn Write + Send> {
    if was_closed_at_start(1) {
        return Box::new(ClosedOutput);
    }
    #[cfg(unix)]
    if let Ok(owned_fd) = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned() {
        return Box::new(std::fs::File::from(owned_fd));
    }
    Box::new(io::stdout())
}

/// Writes a line to standard error. An error of writing is ignored, because it could be reported
/// nowhere else.
#[cfg(feature = "serve")]
pub fn write_stderr_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Returns the metadata of the files to which standard output and standard error are redirected. A
/// caller that watches files uses the metadata to ignore the files that this program writes itself.
pub fn output_file_metadata() -> Vec<Metadata> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let metadata_of = |stream: std::os::fd::BorrowedFd<'_>| {
            std::fs::File::from(stream.try_clone_to_owned().ok()?).metadata().ok()
        };
        let (output, errors) = (io::stdout(), io::stderr());
        [metadata_of(output.as_fd()), metadata_of(errors.as_fd())]
            .into_iter()
            .flatten()
            .filter(Metadata::is_file)
            .collect()
    }
    #[cfg(not(unix))]
    Vec::new()
}

/// True if both metadata belong to the same file, even if the file was found under different paths.
/// Always false on systems other than Unix.
pub fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        false
    }
}

/// An output that rejects all writes, used if standard output is closed.
struct ClosedOutput;

impl Write for ClosedOutput {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("it is closed"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
use linux::was_closed_at_start;

#[cfg(not(target_os = "linux"))]
fn was_closed_at_start(_: usize) -> bool {
    false
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Whether standard input (at index 0) and standard output (at index 1) were closed when the
    /// program began.
    static CLOSED_AT_START: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

    /// True if the standard stream with this number was closed when the program began: 0 is
    /// standard input, 1 is standard output.
    pub(super) fn was_closed_at_start(number: usize) -> bool {
        CLOSED_AT_START[number].load(Ordering::Relaxed)
    }

    extern "C" fn record_closed_streams() {
        let can_check = Path::new("/proc/self/fd").is_dir();
        for (closed, path) in CLOSED_AT_START.iter().zip(["/proc/self/fd/0", "/proc/self/fd/1"]) {
            closed.store(can_check && std::fs::symlink_metadata(path).is_err(), Ordering::Relaxed);
        }
    }

    // Rust's runtime reopens closed standard streams before `main`, so `record_closed_streams` must
    // run even earlier. `record_closed_streams` needs nothing that the runtime sets up.
    #[allow(unsafe_code, reason = "the section of functions that the loader calls first has no safe name")]
    #[unsafe(link_section = ".init_array")]
    #[used]
    static CHECK_STREAMS_BEFORE_MAIN: extern "C" fn() = record_closed_streams;
}
