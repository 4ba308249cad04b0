//! What every part of `rulec` uses: places in source text, diagnostics, messages in several languages, and the
//! operations on JSON and on texts.
//!
//! | module | contents |
//! |---|---|
//! | [`span`] [`source`] | byte ranges; files with their lines |
//! | [`diag`] | diagnostics as plain data, the table of codes, localized messages |
//! | [`codec`] | values as bytes, and bytes that are not trusted as values |
//! | [`json`] | reading one JSON message; duplicate keys, deep nesting and numbers out of range are refused |
//! | [`text`] | case folding, normalization, word boundaries, globs, regexes, similarity, networks, versions, time zones |
//! | [`parallel`] | how many threads compile large rule sets |

#![forbid(unsafe_code)]

pub mod codec;
pub mod diag;
pub mod json;
pub mod parallel;
pub mod source;
pub mod span;
pub mod text;

/// Parts of [`message!`] that only the macro itself uses.
#[doc(hidden)]
pub mod macros {
    pub use rulec_message_macros::message_at;
}

/// Makes a [`diag::Message`] of a template and its arguments, as `format!` makes a text.
///
/// `{name}` is a variable in scope, or an argument `name = …`; `{}` is the next argument; `{{` and `}}` are braces.
/// Arguments have no format: their order and their words belong to the translation.
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
