//! The systems over the one engine. None has an evaluator of its own: each brings messages to the
//! compiled rules and acts on what they decide.
//!
//! | module | what it holds |
//! |---|---|
//! | [`payload`] | judging payloads: violations with places, corrections, arbitration, JSON Schema |
//! | [`flow`] | which flow a message wants: patterns, classifier |
//! | [`condition`] | conditions that come as texts while the program runs |
//! | [`prompt`] | what a language model is told of the flows, and the tool it answers by |
//! | [`shipped`] | the rule files that come with the project |
//!
//! The systems that need an async runtime or an HTTP client are packages of their own: `rulec-runtime`, `rulec-http`.

pub mod condition;
pub mod flow;
pub mod payload;
pub mod prompt;
pub mod shipped;
