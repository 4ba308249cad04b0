//! Services on tokio around the rule engine, for programs that act on the decisions of rules. The
//! engine itself has no async runtime.
//!
//! | module | contents |
//! |---|---|
//! | [`route`] | a router: swappable rules with one handler per target; the decision log |
//! | [`events`] | a typed event bus with middleware and bounded queues |
//! | [`payload`] | payloads of a language model, validated by rules and published as events |
//! | [`workflow`] | graphs of nodes; a `router` of the rules selects which nodes run next |

pub mod events;
pub mod payload;
pub mod route;
mod task;
pub mod workflow;
