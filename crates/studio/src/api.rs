//! The requests and answers between the server and the page: the one place where their forms stand. The page's types are
//! written from them, to `studio/src/api/types.ts`, so that neither side can change alone.
//!
//! Names of fields are as in the rest of `rulec`'s JSON. Places in texts are offsets in UTF-16 units, as browsers count.

mod decide;
mod edit;
mod explanation;
mod map;
mod replay;
mod report;
mod session;
#[cfg(test)]
mod types;

pub use decide::*;
pub use edit::*;
pub use explanation::*;
pub use map::*;
pub use replay::*;
pub use report::*;
pub use session::*;
