//! Services on tokio around the rule engine, for programs that act on decisions. The engine itself
//! has no async runtime. Each module here passes messages to compiled rules and acts on the
//! decisions.
//!
//! | module | contents |
//! |---|---|
//! | [`route`] | a router: swappable rules with one handler per target; the decision log |
//! | [`events`] | a typed event bus with middleware and bounded queues |
//! | [`payload`] | payloads of a language model, validated by rules and published as events |
//! | [`workflow`] | graphs of nodes; a `router` selects the edges that a node's output follows |

pub mod events;
pub mod payload;
pub mod route;
mod task;
pub mod workflow;
