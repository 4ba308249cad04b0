//! Rule files that are part of the library. Use them unchanged, or copy and adapt them.

/// Rule file with the `payload` statements of an agent's decisions (their fields and ranks), and a
/// table that maps intents to decisions.
pub const DECISIONS: &str = include_str!("../rules/decisions.rules");
/// Rule file with routers for the loops and votes of a workflow.
pub const WORKFLOW: &str = include_str!("../rules/workflow.rules");
