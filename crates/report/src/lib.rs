//! All that is seen of rules and their decisions, as data: the `rulec` program prints it, the studio shows it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`coverage`] | which routes and conditions some decisions reached |
//! | [`drawing`] | workflows and tables as graphs |
//! | [`files`] | writing a file whole or not at all |
//! | [`log`] | the lines of a decision log |

pub mod coverage;
pub mod drawing;
pub mod files;
pub mod log;
