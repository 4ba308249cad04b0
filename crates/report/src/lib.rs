//! Reports about rules and their decisions, as data. The `rulec` program, the decision service and
//! the studio use this crate, so that all of them show the same results.
//!
//! | module | contents |
//! |---|---|
//! | [`answer`] | the answer to a message, as JSON |
//! | [`chain`] | the hash chain of a decision log |
//! | [`coverage`] | which routes and conditions were reached by decisions |
//! | [`drawing`] | workflows and tables as graphs |
//! | [`files`] | atomic writing of files |
//! | [`log`] | the lines of a decision log |
//! | [`log_files`] | the files of a decision log |
//! | [`replay`] | decisions of logged messages, repeated with their history |

pub mod answer;
pub mod chain;
pub mod coverage;
pub mod drawing;
pub mod files;
pub mod log;
pub mod log_files;
pub mod replay;
