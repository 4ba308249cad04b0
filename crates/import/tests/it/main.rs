//! Tests of the importers and of the export.

mod import;
mod load;
mod round_trip;
