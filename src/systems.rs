//! The systems over the one engine. None has an evaluator of its own: each brings messages to the
//! compiled rules and acts on what they decide.
//!
//! | module | what it holds | feature |
//! |---|---|---|
//! | [`import`] | other systems' JSON to `.rules` files: routes, choices, flows | |
//! | [`conformance`] | cases with expected results, held against the engines | |
//! | [`payload`] | judging payloads: violations with places, corrections, arbitration, JSON Schema | |
//! | [`flow`] | which flow a message wants: patterns, classifier, language model; executing it | (`http` for the last two) |
//! | [`choice`] | choices that a language model makes | `http` |
//! | [`prompt`] | what a language model is told of the flows, and the tool it answers by | |
//! | [`route`] | a rule set with a handler for each of its targets, swapped while serving; the decision log | `runtime` |
//! | [`events`] | a typed event bus with middleware and bounded queues | `runtime` |
//! | [`shipped`] | the rule files that come with the project | |
//! | [`workflow`] | graphs of nodes whose outputs go where a `router` says | `runtime` |
//! | [`http`] | calls to the outside under limits: flows, handlers, language models | `http` |

#[cfg(feature = "http")]
pub mod choice;
pub mod conformance;
#[cfg(feature = "runtime")]
pub mod events;
pub mod flow;
#[cfg(feature = "http")]
pub mod http;
pub mod import;
pub mod payload;
pub mod prompt;
#[cfg(feature = "runtime")]
pub mod route;
pub mod shipped;
#[cfg(feature = "runtime")]
mod task;
#[cfg(feature = "runtime")]
pub mod workflow;
