//! The language server: what editors ask by the Language Server Protocol, answered by `rulec`'s `ide`. Everything that is
//! known of rules is found out there; here are open documents, the workspace, and the protocol's forms.
//!
//! | module | what it holds |
//! |---|---|
//! | `lines` | places as the protocol counts them: lines, and 16-bit units in a line |
//! | `workspace` | open documents before those on disk, which file a fragment belongs to, analyses |
//! | `answers` | each kind of request |
//! | `kept` | findings of the last analysis, until the next one stands |
//! | `server` | the loop: messages in, answers and diagnostics out |

mod answers;
mod capabilities;
mod findings;
mod kept;
mod lines;
mod server;
mod workspace;

pub use server::{ServeError, serve, stdio};
