//! Rule files that are part of the library. Use them unchanged, or copy and adapt them.

/// Payload kinds for the decisions of an agent, with their ranks, and the table that maps intents
/// to decisions.
pub const DECISIONS: &str = include_str!("../rules/decisions.rules");
/// Routers for the loops and votes of a workflow.
pub const WORKFLOW: &str = include_str!("../rules/workflow.rules");
