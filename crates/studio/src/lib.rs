//! The studio: what the library knows of rules, shown in a browser. A server on loopback answers the page's requests from the
//! functions that the program has as well: nothing is decided, explained or analysed here a second time.
//!
//! | module | what it holds |
//! |---|---|
//! | [`api`] | the forms of requests and answers, from which the page's types are written |
//! | `server` | the listener, the paths of the requests, the page itself |
//! | `guard` | who is answered: by token, `Host` and `Origin`; and what a browser may load |
//! | `handle` | a handler's thread, its question and its answer |
//! | `language` | the language that a request is answered in |
//! | `state` | the rule sets, files and replays of a studio |
//! | `project` | a rule set: on disk, and with the texts that an editor holds |
//! | `known` | all that is known of one state of the texts; `keys` names their statements, `places` counts as browsers do |
//! | `answers` | each kind of request |
//! | `replay` | many messages decided again, with progress and rows |
//! | `report` | the file that needs no server |

pub mod api;

mod answers;
mod assets;
mod difference;
mod guard;
mod handle;
mod keys;
mod known;
mod language;
mod places;
mod project;
mod refusal;
mod replay;
mod report;
mod server;
mod state;

pub use report::{ReportError, ReportOptions, report};
pub use server::{Server, StartError};
pub use state::{Options, RulesFile};
