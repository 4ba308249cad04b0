//! The reference evaluator, which walks the typed program in source order, and what explains its answers.
//!
//! | module | contents |
//! |---|---|
//! | [`evaluator`] | the reference evaluator: the oracle that every other engine is compared with |
//! | [`decision`] | the answer that every engine gives |
//! | [`trace`] [`explain`] | the steps of an evaluation as data; what users read of them |
//! | [`host`] | functions of the embedding program, and their calls during one decision |
//! | [`text_analysis`] | `request.…`: the intents, entities and keywords of a text |

#![forbid(unsafe_code)]

pub mod decision;
pub mod evaluator;
pub mod explain;
pub mod host;
pub mod text_analysis;
pub mod trace;
