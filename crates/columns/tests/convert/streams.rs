//! Arrow streams that somebody has changed on the way: whole ones in each form that a writer gives them, and what is read
//! of them with bytes changed.

use super::{Mixed, batch};
use crate::support::generate::message;
use crate::support::random::Random;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use rulec_columns::formats::{Format, stream};
use serde_json::Value as Json;
use std::io::Cursor;

/// Rows after which no more are asked for: a changed stream may say that it has two thousand million.
const ROWS: usize = 1 << 18;

/// Streams of random messages, in every form of columns, not compressed and compressed in both ways.
pub fn streams(random: &mut Random) -> Vec<Vec<u8>> {
    let messages: Vec<Json> = (0..6).map(|_| message(random)).filter(Json::is_object).collect();
    let batches = [Mixed::Union, Mixed::Json, Mixed::AllJson].map(|mixed| batch(&messages, mixed));
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

/// Reads what may be a stream: the number of rows up to its end, or up to what is wrong, and the words about that.
pub fn read(bytes: Vec<u8>) -> (usize, Option<String>) {
    let size = bytes.len() as u64;
    let mut rows = 0;
    let read = || {
        let mut source = stream(Format::Arrow, Cursor::new(bytes), Some(size))?;
        while let Some(part) = source.next()? {
            rows += part.batch.num_rows();
            if rows >= ROWS {
                break;
            }
        }
        Ok(())
    };
    let error = read().err().map(|error: rulec_columns::formats::FormatError| error.to_string());
    (rows, error)
}
