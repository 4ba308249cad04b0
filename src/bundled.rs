//! The rule files that come with the project, to be used as they are or copied and changed.

/// The rules of an agent's decision payloads, with their ranks and the table from intents to
/// decisions.
pub const DECISIONS: &str = include_str!("../rules/decisions.rules");
/// The routers of a workflow's loops and votes.
pub const WORKFLOW: &str = include_str!("../rules/workflow.rules");
