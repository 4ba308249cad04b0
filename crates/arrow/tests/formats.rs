//! Files of every format: round trips, errors of single rows, and truncated files, which lose no
//! complete rows.

mod convert;
#[path = "../../../tests/support/mod.rs"]
mod support;

use arrow_array::{Int64Array, RecordBatch, record_batch};
use convert::streams::{ipc_streams, parquet_files, read};
use convert::{MixedTypes, limit_ints, to_batch};
use rulec::Rules;
use rulec_arrow::formats::{Format, Source, create_sink, open_source};
use rulec_arrow::{Decider, Options, write_lines};
use serde_json::{Value as Json, json};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use support::generate::message;
use support::random::Random;
use support::trials::seeds;

const RULES: &str = r#"
input {
  text: string
  n?: int
  ctx: { s?: string  count: int  f?: float  b?: bool  tags?: list<string>  user?: { role: string } }
}
route admin priority 9 when ctx.user.role in ["a", "ab", "show"] and n > 1 -> admin(n: n, role: ctx.user.role ?? "")
route tagged priority 5 when ctx.tags contains "files" -> tagged(tags: ctx.tags, f: ctx.f ?? 0.5) { kind: "tags" }
route said when text contains "show" ignoring case -> said(s: ctx.s ?? "none", count: ctx.count ?? 0)
default -> other(b: ctx.b ?? false)
"#;

fn decide_lines(rules: &Rules, messages: &[Json]) -> String {
    let line = |(at, message): (usize, &Json)| {
        let decision = rules.decide_line(message.to_string().as_bytes()).expect("a message");
        format!("{{\"line\":{},{}\n", at + 1, &serde_json::to_string(&decision).expect("JSON")[1..])
    };
    messages.iter().enumerate().map(line).collect()
}

/// Decides a file and returns the answers as lines.
fn decide_source(rules: &Rules, source: &mut dyn Source) -> String {
    let options = if source.is_untyped() { Options::default().untyped_cells() } else { Options::default() };
    let mut decider =
        Decider::new(rules, None, source.schema(), &options).unwrap_or_else(|error| panic!("{error}"));
    let (mut lines, mut first) = (Vec::new(), 1);
    while let Some(part) = source.next().expect("the file is whole") {
        let answers = decider.decide_batch_with_errors(&part, |_| ()).expect("one schema");
        write_lines(&answers, first, &mut lines).expect("memory");
        first += part.batch.num_rows() as u64;
    }
    String::from_utf8(lines).expect("JSON is UTF-8")
}

fn write_file(format: Format, path: &Path, batches: &[RecordBatch]) {
    let out = File::create(path).expect("it can be written");
    let mut sink = create_sink(format, &batches[0].schema(), out).expect("it can be written");
    batches.iter().for_each(|batch| sink.write(batch).expect("it can be written"));
    sink.finish().expect("it can be written");
}

/// Returns `count` random messages that CSV can represent. A CSV cell has no type, so `text` is a
/// non-empty text or missing.
fn random_messages(count: usize, seed: u64) -> Vec<Json> {
    let mut random = Random::new(seed);
    let mut messages = Vec::new();
    while messages.len() < count {
        let made = message(&mut random);
        let mut kept = json!({});
        if let Some(text) = made["text"].as_str().filter(|text| !text.is_empty()) {
            kept["text"] = text.into();
        }
        for (key, value) in [("n", &made["ctx"]["n"]), ("ctx", &made["ctx"])] {
            // CSV cannot represent an empty text, and a text that is JSON would be parsed.
            if !value.is_null() && !value.is_string() {
                kept[key] = value.clone();
            }
        }
        messages.push(kept);
    }
    messages
}

#[test]
fn files_of_every_form_are_answered_as_json_lines_are() {
    let rules = Rules::from_text(RULES).expect("the rules compile");
    let folder = tempfile::tempdir().expect("a folder");
    let messages = random_messages(20_000, 7);
    let expected = decide_lines(&rules, &messages);
    assert!(expected.matches("\"breaches\":").count() > 1_000 && expected.matches("\"admin\"").count() > 100);
    for (format, mixed) in [
        (Format::Parquet, MixedTypes::Json),
        (Format::Parquet, MixedTypes::AllJson),
        (Format::Arrow, MixedTypes::Union),
        (Format::Arrow, MixedTypes::Json),
        (Format::Csv, MixedTypes::AllJson),
    ] {
        let path = folder.path().join(format!("messages.{}", format.name()));
        let mut columns = to_batch(&messages, mixed);
        if format == Format::Csv {
            // The cells of a text column are the unquoted texts.
            let texts: arrow_array::StringArray =
                messages.iter().map(|message| message["text"].as_str()).collect();
            let at = columns.schema().index_of("text").expect("a column");
            let mut all = columns.columns().to_vec();
            all[at] = Arc::new(texts);
            let names: Vec<String> =
                columns.schema().fields().iter().map(|field| field.name().clone()).collect();
            columns = RecordBatch::try_from_iter(names.into_iter().zip(all)).expect("a batch");
        }
        let parts: Vec<RecordBatch> = (0..20).map(|at| columns.slice(at * 1_000, 1_000)).collect();
        write_file(format, &path, &parts);
        let mut source =
            open_source(format, File::open(&path).expect("it is there")).expect("it can be read");
        for (found, expected) in decide_source(&rules, &mut *source).lines().zip(expected.lines()) {
            assert_eq!(found, limit_ints(expected), "{format:?} {mixed:?}");
        }
    }
}

#[test]
fn a_broken_row_of_csv_says_its_line_and_the_rest_goes_on() {
    let rules = Rules::from_text("input { n?: int, text?: string }\nroute a when n > 1 -> a\ndefault -> b")
        .expect("rules");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.csv");
    fs::write(&path, b"\xef\xbb\xbfn,text\n5,x\n7\n,\"two\nlines\"\nfive,x\n9,\xff\n2,5\n").expect("written");
    let mut source = open_source(Format::Csv, File::open(&path).expect("there")).expect("CSV");
    let found = decide_source(&rules, &mut *source);
    let found: Vec<Json> = found.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let chosen: Vec<&str> = found.iter().map(|line| line["chosen"].as_str().unwrap_or("-")).collect();
    assert_eq!(chosen, ["a", "-", "default", "default", "-", "a"]);
    let message = |at: usize| found[at]["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(message(1), "the row at line 3 has 1 cells, but the first line names 2 columns");
    assert_eq!(message(4), "the column `text` is not UTF-8 at line 7");
    assert_eq!(found[3]["breaches"][0]["found"], "string");
    assert!(found[5]["breaches"].is_null(), "a cell is text where text is wanted");
}

#[test]
fn a_parquet_file_that_is_cut_short_loses_nothing_that_was_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let rows = 1 << 17;
    let part = |at: i64| {
        let numbers: Int64Array = (at * rows..(at + 1) * rows).collect();
        RecordBatch::try_from_iter([("n", Arc::new(numbers) as arrow_array::ArrayRef)]).expect("a batch")
    };
    write_file(Format::Parquet, &path, &[part(0), part(1), part(2)]);
    let whole = fs::read(&path).expect("there");
    let count = |path: &Path| {
        let mut source = open_source(Format::Parquet, File::open(path).expect("there"))?;
        let (cut, mut rows) = (source.truncation_message().is_some(), 0);
        while let Some(part) = source.next()? {
            rows += part.batch.num_rows();
        }
        Ok::<_, rulec_arrow::formats::FormatError>((rows, cut))
    };
    assert_eq!(count(&path).expect("it is whole"), (3 << 17, false));
    let cut = folder.path().join("cut.parquet");
    for (length, rows) in [(whole.len() - 1, 3), (whole.len() * 9 / 10, 2), (whole.len() / 2, 1)] {
        fs::write(&cut, &whole[..length]).expect("written");
        assert_eq!(count(&cut).expect("some groups are whole"), (rows << 17, true), "{length} bytes");
    }
    fs::write(&cut, &whole[..whole.len() / 10]).expect("written");
    let error = count(&cut).expect_err("no group is whole").to_string();
    assert!(error.starts_with("it is not a Parquet file, or it is truncated"), "{error}");
}

#[test]
fn the_batches_before_a_cut_of_an_arrow_file_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.arrow");
    let part = record_batch!(("n", Int64, [Some(1), None, Some(3)])).expect("a batch");
    write_file(Format::Arrow, &path, &[part.clone(), part.clone(), part]);
    let whole = fs::read(&path).expect("there");
    fs::write(&path, &whole[..whole.len() - 60]).expect("written");
    let mut source = open_source(Format::Arrow, File::open(&path).expect("there")).expect("an Arrow file");
    assert!(source.next().expect("whole").is_some() && source.next().expect("whole").is_some());
    let error = source.next().expect_err("it is cut short").to_string();
    assert!(error.starts_with("it is damaged or truncated here"), "{error}");
}

/// Regression test: the length in a message was once trusted. Five bytes made Arrow allocate 1.8
/// GB, and other lengths aborted the program.
#[test]
fn a_stream_that_says_it_is_longer_than_it_is_ends_in_the_middle_of_a_message() {
    let length = |bytes: &[u8]| read(Format::Arrow, bytes).1.expect("it is refused");
    for bytes in [&[0, 0, 0, 0x6d][..], &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x6d, 1], &[7], &[0xff; 6]] {
        assert_eq!(
            length(bytes),
            "it is not an Arrow file or stream: it ends in the middle of a message",
            "{bytes:?}"
        );
    }
    assert_eq!(length(&[0xff; 8]), "it is not an Arrow file or stream: a message claims to have -1 bytes");
    assert_eq!(length(&[]), "it is not an Arrow file or stream: it does not begin with a schema");
}

/// Returns the offsets at which a little-endian 64-bit number occurs in bytes.
fn find_number(bytes: &[u8], number: i64) -> Vec<usize> {
    let windows = bytes.windows(8).enumerate();
    windows.filter(|(_, window)| **window == number.to_le_bytes()).map(|(at, _)| at).collect()
}

#[test]
fn lengths_that_cannot_be_true_are_refused_by_their_names() {
    let part = record_batch!(("n", Int64, [Some(1), None, Some(3), Some(4), Some(5), Some(6), Some(7)]));
    let path = tempfile::NamedTempFile::new().expect("a file");
    write_file(Format::Arrow, path.path(), &[part.expect("a batch")]);
    let whole = fs::read(path.path()).expect("there");
    assert_eq!(read(Format::Arrow, &whole), (7, None));
    // Seven rows in one column, whose 56 bytes are part of a body of 128 bytes.
    for (number, false_one, words) in [
        (7, -1, "a batch claims to have -1 rows"),
        (7, i64::MAX, "a batch claims to have 9223372036854775807 rows"),
        (7, 1 << 40, "a column claims to have 1099511627776 values, of which 1 are null"),
        (1, 9, "a column claims to have 7 values, of which 9 are null"),
        (56, 1 << 40, "a column claims 1099511627776 bytes after the first 64 of 128"),
        (56, -3, "a column claims -3 bytes after the first 64 of 128"),
        (64, 90, "a column claims 56 bytes after the first 90 of 128"),
        (128, i64::MAX, "it ends in the middle of a message"),
        (128, i64::MIN, "a message claims to have -9223372036854775808 bytes"),
    ] {
        let words = format!("it is damaged or truncated here: {words}");
        let changed = find_number(&whole, number).into_iter().map(|at| {
            let mut changed = whole.clone();
            changed[at..at + 8].copy_from_slice(&false_one.to_le_bytes());
            read(Format::Arrow, &changed).1.unwrap_or_default()
        });
        let said: Vec<String> = changed.collect();
        assert!(said.contains(&words), "{words}: {said:?}");
    }
}

/// Mutates bytes of valid files and reads the result. Returns the number of files that were
/// refused, and the number of files whose row count did not change.
fn read_mutated_files(format: Format, whole: &[Vec<u8>], trials: u64) -> (usize, usize) {
    let (mut refused, mut unchanged) = (0, 0);
    for whole in whole {
        let rows = read(format, whole);
        assert!(rows.0 > 0 && rows.1.is_none(), "{rows:?}");
        for seed in seeds(trials) {
            let mut random = Random::new(seed);
            let mut changed = whole.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(changed.len());
                changed[at] = [0, 1, 0x7f, 0x80, 0xff, changed[at] ^ 1 << random.below(8)][random.below(6)];
            }
            let found = read(format, &changed);
            refused += usize::from(found.1.is_some());
            unchanged += usize::from(found == rows);
        }
    }
    (refused, unchanged)
}

#[test]
fn a_stream_with_bytes_changed_is_refused_or_read() {
    let (refused, unchanged) = read_mutated_files(Format::Arrow, &ipc_streams(&mut Random::new(190)), 400);
    assert!(refused > 500 && unchanged > 500, "{refused} refused, {unchanged} with as many rows");
}

#[test]
fn a_parquet_file_with_bytes_changed_is_refused_or_read() {
    let (refused, unchanged) =
        read_mutated_files(Format::Parquet, &parquet_files(&mut Random::new(190)), 1_000);
    assert!(refused > 500 && unchanged > 100, "{refused} refused, {unchanged} with as many rows");
}

/// Regression test: a list in the footer states its number of elements. The library once allocated
/// memory for that number without a check.
#[test]
fn a_parquet_file_that_says_its_lists_are_longer_than_it_is_is_refused() {
    for whole in parquet_files(&mut Random::new(190)) {
        let end = whole.len() - 8;
        let length = u32::from_le_bytes(whole[end..end + 4].try_into().expect("four bytes")) as usize;
        let mut forged = 0;
        // Finds a field that is a short list of records; its id is one more than the previous
        // field's id.
        for at in (end - length..end - 1).filter(|at| whole[*at] == 0x19 && whole[at + 1] & 0x0f == 0x0c) {
            let mut longer = whole[..=at].to_vec();
            longer.extend([0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]);
            longer.extend(&whole[at + 2..end]);
            longer.extend((length as u32 + 5).to_le_bytes());
            longer.extend(b"PAR1");
            let (rows, error) = read(Format::Parquet, &longer);
            assert!(rows == 0 && error.is_some(), "{error:?}");
            forged += 1;
        }
        assert!(forged > 3, "{forged} lists");
    }
}

#[test]
fn a_batch_of_many_rows_is_handed_out_in_parts() {
    let numbers: Vec<i64> = (0..150_000).collect();
    let schema =
        arrow_schema::Schema::new(vec![arrow_schema::Field::new("n", arrow_schema::DataType::Int64, false)]);
    let part = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(numbers.clone()))]);
    let path = tempfile::NamedTempFile::new().expect("a file");
    write_file(Format::Arrow, path.path(), &[part.expect("a batch")]);
    let mut source =
        open_source(Format::Arrow, File::open(path.path()).expect("there")).expect("an Arrow file");
    let (mut found, mut parts) = (Vec::new(), 0);
    while let Some(part) = source.next().expect("whole") {
        let column = part.batch.column(0).as_any().downcast_ref::<Int64Array>().expect("integers");
        found.extend(column.values());
        parts += 1;
    }
    assert_eq!((found, parts), (numbers, 3));
}
