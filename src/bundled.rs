//! Rule files that the library contains as texts, so that a program needs no files to use them. Use
//! them unchanged, or copy and adapt them.

/// Rule file for the decisions that an agent proposes. Each kind of decision has a `payload`
/// statement. This statement declares the fields of the decision, and its rank among decisions
/// proposed at the same time. A table maps intents to decisions.
pub const DECISIONS: &str = include_str!("../rules/decisions.rules");
/// Rule file with routers for workflow nodes. The routers decide when a loop ends, and to which
/// node the result of a vote leads.
pub const WORKFLOW: &str = include_str!("../rules/workflow.rules");
