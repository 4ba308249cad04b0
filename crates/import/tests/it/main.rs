//! Tests of the importers and of the export.

mod examples;
mod import;
mod kept;
mod load;
mod round_trip;
