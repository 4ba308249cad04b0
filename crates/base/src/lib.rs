//! Basics that every part of `rulec` uses: spans in source text, diagnostics, localized messages,
//! and operations on JSON and on text.
//!
//! | module | contents |
//! |---|---|
//! | [`span`] [`source`] | byte ranges in source files; the files and their lines |
//! | [`decimal`] | exact decimal numbers of up to 28 digits |
//! | [`diag`] | diagnostics as plain data, the table of codes, localized messages |
//! | [`codec`] | the binary encoding of values; its decoder accepts untrusted bytes |
//! | [`json`] | reads one JSON message; rejects duplicate keys and deep nesting |
//! | [`text`] | case folding, normalization, word boundaries, globs, regexes, similarity |
//! | [`parallel`] | divides the compilation of large rule sets among threads |

#![forbid(unsafe_code)]

pub mod codec;
pub mod decimal;
pub mod diag;
pub mod json;
pub mod parallel;
pub mod source;
pub mod span;
pub mod text;

/// The items that the expansion of [`message!`] refers to. Only the macro uses them.
#[doc(hidden)]
pub mod macros {
    pub use rulec_message_macros::message_at;
}

/// Reports that an invariant of this program is broken. The argument says what should be true. The
/// macro panics in debug builds. In release builds it does nothing, and the caller continues with a
/// harmless result.
///
/// Data from outside has no invariants: a message, a file or bytecode may be anything.
///
/// ```
/// use rulec_base::broken_invariant;
///
/// fn first_line(starts: &[u32]) -> u32 {
///     let Some(start) = starts.first() else {
///         broken_invariant!("a file has at least one line");
///         return 0;
///     };
///     *start
/// }
/// assert_eq!(first_line(&[3, 8]), 3);
/// ```
#[macro_export]
macro_rules! broken_invariant {
    ($($what:tt)+) => { debug_assert!(false, $($what)+) };
}

/// Builds a [`diag::Message`] from a template and its arguments, as `format!` builds a string.
///
/// `{name}` is a variable in scope, or an argument `name = …`. `{}` is the next positional
/// argument. `{{` and `}}` are literal braces. Arguments have no format specifiers: a translation
/// decides their order and wording.
///
/// ```
/// use rulec_base::{diag::Language, message};
///
/// let name = "show_files";
/// let message = message!("there is no route `{name}` in {}", "a.rules");
/// assert_eq!(message.to_string(), "there is no route `show_files` in a.rules");
/// ```
#[macro_export]
macro_rules! message {
    ($($part:tt)*) => { $crate::macros::message_at!($crate $($part)*) };
}
