//! Request and response types between the server and the page. The page's TypeScript types are
//! generated from them into `studio/src/api/types.ts`, so neither side can change alone.
//!
//! Field names follow the rest of `rulec`'s JSON. Text offsets are in UTF-16 units, which browsers
//! use. The types of an explanation are in `rulec-eval`, which generates their TypeScript itself.

mod decide;
mod edit;
mod history;
mod map;
mod replay;
mod report;
mod session;
#[cfg(test)]
mod types;

pub use decide::*;
pub use edit::*;
pub use history::*;
pub use map::*;
pub use replay::*;
pub use report::*;
pub use session::*;
