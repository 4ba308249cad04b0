//! `rulec-arrow` decides Arrow record batches: the columns that the rules read are bound once a schema, a row's values
//! go straight from the columns' buffers into the engine, and the answers are columns as well. It decides what
//! [`rulec::Rules::decide`] decides for the same message as JSON; what a column cannot hold (null and missing are one in
//! it) counts as missing.
//!
//! [`Decider`] decides by routes, choices, flows and routers, [`PayloadJudge`] judges payloads, [`write_lines`] writes
//! answers as the lines that `rulec run` prints.

mod answers;
mod bind;
mod block;
mod build;
mod cell;
mod decide;
#[cfg(feature = "formats")]
pub mod formats;
mod lanes;
mod lines;
mod moment;
mod rows;

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;
pub use bind::{BindError, ColumnsError, Options};
pub use decide::{AnswerColumns, Decider, Messages, PayloadJudge};
pub use lines::write_lines;
pub use rows::{Part, RowError};
