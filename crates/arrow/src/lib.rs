//! `rulec-arrow` decides Arrow record batches. The columns that the rules read are bound once per
//! schema. The values of a row are then copied from the columns into the engine's *slots*, one slot
//! per message field that the rules read. No JSON message is built in between, and the answers are
//! columns too.
//!
//! Every decision equals the decision that [`rulec::Rules::decide`] makes for the row as a JSON
//! message. A column cannot distinguish null from missing, so nulls count as missing.
//!
//! [`Decider`] decides by routes, choices, flows and routers. [`PayloadJudge`] checks payloads.
//! [`write_lines`] writes answers as the lines that `rulec run` prints.

mod answers;
mod bind;
mod block;
mod build;
mod cell;
mod decide;
mod decimal;
#[cfg(feature = "formats")]
pub mod formats;
mod kinds;
mod lines;
mod moment;
mod needs;
mod rows;
mod scale;
mod typed_columns;

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;
pub use bind::{BindError, ColumnsError, Options};
pub use decide::{AnswerColumns, Decider, MessageConverter, PayloadJudge};
pub use lines::write_lines;
pub use rows::{BatchWithErrors, RowError};
