//! The studio: a web UI for rule sets, served on loopback. The server answers the page's requests
//! with the same library functions that the command line uses. The studio has no decision,
//! explanation or analysis logic of its own.
//!
//! | module | what it holds |
//! |---|---|
//! | [`api`] | request and response types, from which the page's TypeScript types are generated |
//! | `server` | the listener, the request paths, the page itself |
//! | `guard` | access control by token, `Host` and `Origin`; the content security policy |
//! | `handle` | handlers: each runs on a blocking thread, from decoded request to JSON response |
//! | `language` | the language of a response |
//! | `state` | the rule sets, files and replays of a studio |
//! | `project` | a rule set: its files on disk and the unsaved texts of the editor |
//! | `snapshot` | cached analysis results; `keys` names statements, `utf16` converts offsets |
//! | `answers` | the handler of each kind of request |
//! | `replay` | decides many recorded messages again, with progress and result rows |
//! | `report` | the report: one HTML file that needs no server |

pub mod api;

mod answers;
mod assets;
mod difference;
mod error;
mod guard;
mod handle;
mod keys;
mod language;
mod project;
mod replay;
mod report;
mod server;
mod snapshot;
mod state;
mod utf16;

pub use handle::answer_holding;
pub use project::LiveRuleSet;
pub use report::{ReportError, ReportOptions, report};
#[doc(hidden)]
pub use server::route_methods_and_paths;
pub use server::{Server, StartError, router_of_service};
pub use state::{Options, RulesFile};
