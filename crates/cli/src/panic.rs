//! Handles panics, which are internal errors of the program. A panic ends only the line or
//! subcommand in which it happens, and is reported as a message. If `RUST_BACKTRACE` is set and not
//! `0`, the standard hook of Rust also prints the panic.

use rulec::Message;
use rulec_base::message;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

/// The message that says how to report an internal error.
pub const BUG_REPORT_HINT: Message =
    message!("this is a bug in rulec; please report it with the rules and the message");

thread_local! {
    /// The message and source location of the last panic on this thread.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook that prints nothing unless `RUST_BACKTRACE` is set to another value than
/// `0`. The hook keeps a description of the panic for [`catch_panic`].
pub fn install_panic_hook() {
    let verbose = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    let previous_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        LAST_PANIC.with(|last| last.replace(describe_panic(info)));
        if verbose {
            previous_hook(info);
        }
    }));
}

fn describe_panic(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload.downcast_ref::<&str>().copied();
    let message =
        message.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("it panicked");
    match info.location() {
        Some(location) => format!("{message} ({}:{})", location.file(), location.line()),
        None => message.to_owned(),
    }
}

/// Runs `work`. If `work` panics, returns a message about the panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Message> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let panic_text = LAST_PANIC.with(RefCell::take);
        match panic_text.is_empty() {
            true => message!("rulec stopped because of an internal error"),
            false => message!("rulec stopped because of an internal error: {what}", what = panic_text),
        }
    })
}
