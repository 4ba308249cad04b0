//! The language server: answers requests of the Language Server Protocol with the `rulec-ide`
//! crate. That crate does all analysis. This crate handles open documents, the workspace, and the
//! types of the protocol.
//!
//! | module | contents |
//! |---|---|
//! | `lines` | positions as the protocol counts them: lines, and UTF-16 code units in a line |
//! | `workspace` | the files of the workspace, the main file that imports each of them, analyses |
//! | `capabilities` | the capabilities that the server reports to the editor |
//! | `answers`, `navigation` | one handler for each kind of request |
//! | `completion` | completion items, with snippets for editors that support them |
//! | `colours` | semantic tokens: all, of a range, or the difference from earlier ones |
//! | `commands` | runs a test, adds a test for a route, shows the page of a diagnostic code |
//! | `findings` | converts diagnostics to the type of the protocol |
//! | `kept` | findings of the last analysis, shown until the next analysis is complete |
//! | `pages` | documentation pages of diagnostic codes, as documents or as messages |
//! | `background` | compiles and analyses on another thread |
//! | `publish` | sends diagnostics that have changed |
//! | `search` | the rule files below the folders of the workspace, and their imports |
//! | `transport` | messages over standard input and output |
//! | `server` | the main loop: receives messages, sends answers and diagnostics |

mod answers;
mod background;
mod capabilities;
mod colours;
mod commands;
mod completion;
mod findings;
mod kept;
mod lines;
mod navigation;
mod pages;
mod publish;
mod search;
mod server;
mod transport;
mod workspace;

pub use server::{ServeError, serve, serve_stdio};
