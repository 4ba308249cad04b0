//! Generates valid Arrow streams and Parquet files in each column layout, for tests that corrupt
//! them. Also reads the corrupted files.

use super::{MixedTypes, to_batch};
use crate::support::generate::message;
use crate::support::random::Random;
use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use rulec_arrow::formats::{Format, FormatError, create_sink, open_source, open_stream};
use serde_json::Value as Json;
use std::io::{Cursor, Write};

/// Number of rows after which reading stops, because a corrupt stream may claim two billion rows.
const MAX_CLAIMED_ROWS: usize = 1 << 18;

/// Returns random messages in every column layout.
fn random_batches(random: &mut Random) -> [RecordBatch; 3] {
    let messages: Vec<Json> = (0..6).map(|_| message(random)).filter(Json::is_object).collect();
    [MixedTypes::Union, MixedTypes::Json, MixedTypes::AllJson].map(|mixed| to_batch(&messages, mixed))
}

/// Returns Parquet files of random messages.
pub fn parquet_files(random: &mut Random) -> Vec<Vec<u8>> {
    let written = |batch: &RecordBatch| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut sink = create_sink(Format::Parquet, &batch.schema(), file.reopen().expect("it is there"))
            .expect("columns");
        sink.write(batch).expect("it can be written");
        sink.finish().expect("it can be written");
        std::fs::read(file.path()).expect("it is there")
    };
    // Parquet has no union type.
    random_batches(random)[1..].iter().map(written).collect()
}

/// Returns streams of random messages in every column layout: uncompressed, and with each
/// compression.
pub fn ipc_streams(random: &mut Random) -> Vec<Vec<u8>> {
    let batches = random_batches(random);
    let compressions = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    let written = |compression| {
        batches.iter().map(move |batch| {
            let options = IpcWriteOptions::default().try_with_compression(compression).expect("built in");
            let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options)
                .expect("columns that Arrow knows");
            writer.write(batch).expect("memory");
            writer.write(batch).expect("memory");
            writer.into_inner().expect("memory")
        })
    };
    compressions.into_iter().flat_map(written).collect()
}

/// Reads bytes that may be a valid stream or file. Returns the number of rows that were read, and
/// the error message if reading failed.
pub fn read(format: Format, bytes: &[u8]) -> (usize, Option<String>) {
    let mut rows = 0;
    let mut read = || {
        let mut source = match format {
            Format::Parquet => {
                let mut file = tempfile::tempfile().expect("a file");
                file.write_all(bytes).expect("it can be written");
                open_source(format, file)?
            }
            _ => open_stream(format, Cursor::new(bytes.to_vec()), Some(bytes.len() as u64))?,
        };
        while let Some(part) = source.next()? {
            rows += part.batch.num_rows();
            if rows >= MAX_CLAIMED_ROWS {
                break;
            }
        }
        Ok(())
    };
    let error = read().err().map(|error: FormatError| error.to_string());
    (rows, error)
}
