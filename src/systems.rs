//! What runs beside the engine on tokio: a decision is made in microseconds and by itself; here it
//! meets handlers that wait, files that fill up and subscribers that fall behind.
//!
//! | module | what it holds |
//! |---|---|
//! | [`router`] | a rule set with a handler for each of its targets, swapped while serving; the decision log |
//! | [`events`] | a typed event bus with middleware and bounded queues |
//! | `task` | running a future of somebody else's under a limit, its panic caught |

pub mod events;
pub mod router;
mod task;
