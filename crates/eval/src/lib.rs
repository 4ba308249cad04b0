//! Evaluates rules in the simplest correct way, and explains the decisions. The reference evaluator
//! runs the typed program in source order. Tests compare every faster engine with it, and
//! explanations are built from its steps.
//!
//! | module | contents |
//! |---|---|
//! | [`evaluator`] | the reference evaluator: the oracle that every other engine is compared with |
//! | [`decision`] | the result type that every engine returns |
//! | [`trace`] [`explain`] | the steps of an evaluation as data, and explanations for users |
//! | [`host`] | functions of the embedding program, and their calls during one decision |
//! | [`text_analysis`] | `request.…`: the intents, entities and keywords of a text |

#![forbid(unsafe_code)]

pub mod decision;
pub mod evaluator;
pub mod explain;
pub mod host;
pub mod text_analysis;
pub mod trace;
