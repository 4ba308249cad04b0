//! Fuzzes columnar input.
//!
//! Any bytes are read as an Arrow stream or as CSV, and valid Arrow streams and Parquet files are
//! read with changed bytes. Either the reader refuses the input, or the rules decide without a
//! panic. Messages generated from the bytes are also decided as columns, and must give the same
//! results as JSON lines.

use crate::convert::streams::{ipc_streams, parquet_files};
use crate::convert::{MixedTypes, remove_nulls, to_batch};
use crate::support::generate::{Generator, message};
use crate::support::random::Random;
use crate::{READING, fuzz_compiler};
use rulec_arrow::formats::{Format, FormatError, Source, open_source, open_stream};
use rulec_arrow::{Decider, Options, write_lines};
use serde_json::Value as Json;
use std::io::{Cursor, Write};
use std::sync::OnceLock;

/// Number of rows after which reading stops. A limit is needed because a few bytes may claim that a
/// batch has two billion rows.
const ROWS: usize = 10_000;

/// Ignores panics of the Arrow and Parquet libraries over invalid data, which rulec's readers
/// catch. Any other panic is a bug.
pub fn ignore_library_panics() {
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let of_library = |place: &str| ["/arrow-", "/parquet-"].iter().any(|name| place.contains(name));
        if !info.location().is_some_and(|place| of_library(place.file())) {
            ends(info);
        }
    }));
}

fn source(format: Format, bytes: &[u8]) -> Result<Box<dyn Source>, FormatError> {
    if format != Format::Parquet {
        return open_stream(format, Cursor::new(bytes.to_vec()), Some(bytes.len() as u64));
    }
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("it can be written");
    open_source(format, file)
}

fn any_bytes(format: Format, bytes: &[u8]) {
    let rules = fuzz_compiler().compile_text(READING).expect("it compiles");
    let Ok(mut source) = source(format, bytes) else { return };
    let options = if source.is_untyped() { Options::default().untyped_cells() } else { Options::default() };
    let Ok(mut decider) = Decider::new(&rules, None, source.schema(), &options) else { return };
    let mut rows = 0;
    while let Ok(Some(part)) = source.next() {
        rows += part.batch.num_rows();
        if rows > ROWS {
            return;
        }
        let _ = decider.decide_batch_with_errors(&part, |_| ());
    }
}

/// Reads a valid stream or file with changed bytes. The first byte selects the stream or file; the
/// next bytes are pairs of an offset (two bytes) and a value.
fn changed(bytes: &[u8]) {
    static WHOLE: OnceLock<Vec<(Format, Vec<u8>)>> = OnceLock::new();
    let whole = WHOLE.get_or_init(|| {
        let streams = ipc_streams(&mut Random::new(0)).into_iter().map(|bytes| (Format::Arrow, bytes));
        streams
            .chain(parquet_files(&mut Random::new(0)).into_iter().map(|bytes| (Format::Parquet, bytes)))
            .collect()
    });
    let Some((which, changes)) = bytes.split_first() else { return };
    let (format, mut changed) = whole[usize::from(*which) % whole.len()].clone();
    for change in changes.chunks_exact(3) {
        let [low, high, byte] = change else { continue };
        let at = usize::from(u16::from_le_bytes([*low, *high])) % changed.len();
        changed[at] = *byte;
    }
    any_bytes(format, &changed);
}

fn generated(bytes: &[u8]) {
    let mut random = Random::from_bytes(bytes);
    let program = Generator::program(&mut random);
    let Ok(rules) = fuzz_compiler().compile_text(&program.source) else { return };
    let mut messages: Vec<Json> = (0..4).map(|_| message(&mut random)).filter(Json::is_object).collect();
    remove_nulls(&mut messages);
    let mixed = match random.below(3) {
        0 => MixedTypes::Union,
        1 => MixedTypes::Json,
        _ => MixedTypes::AllJson,
    };
    let batch = to_batch(&messages, mixed);
    let options = Options::default().allow_missing();
    let mut decider = match Decider::new(&rules, None, batch.schema(), &options) {
        Ok(decider) => decider,
        // With only a few messages, all values of a column may have one type, and columns that the
        // rules read may be missing.
        Err(error) => return assert!(error.to_string().contains(", but the rules read "), "{error}"),
    };
    let mut lines = Vec::new();
    write_lines(&decider.decide(&batch).expect("the same columns"), 1, &mut lines).expect("memory");
    for (line, message) in String::from_utf8(lines).expect("a text").lines().zip(&messages) {
        let expected = rules.main().decide_line(message.to_string().as_bytes()).expect("a message");
        let expected = serde_json::to_string(&expected).expect("JSON");
        assert!(line.ends_with(&expected[1..]), "{line}\n{expected}\n{message}\n{}", program.source);
    }
}

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, bytes)) => any_bytes(Format::Arrow, bytes),
        Some((1, bytes)) => any_bytes(Format::Csv, bytes),
        Some((2, bytes)) => changed(bytes),
        Some((_, bytes)) => generated(bytes),
        None => {}
    }
}
