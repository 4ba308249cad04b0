//! Tests of the importers and of the export.

mod import;
mod kept;
mod load;
mod round_trip;
