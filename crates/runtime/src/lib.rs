//! The parts that run beside the rulec engine on tokio. The engine itself knows no runtime: each part here brings
//! messages to compiled rules and acts on what they decide.
//!
//! | module | what it holds |
//! |---|---|
//! | [`route`] | a rule set with a handler for each of its targets, swapped while serving; the decision log |
//! | [`events`] | a typed event bus with middleware and bounded queues |
//! | [`payload`] | judged payloads as events |
//! | [`workflow`] | graphs of nodes whose outputs go where a `router` says |

pub mod events;
pub mod payload;
pub mod route;
mod task;
pub mod workflow;
