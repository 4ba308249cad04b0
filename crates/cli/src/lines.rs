//! Reads the lines of an input stream with bounded memory. A line may contain any bytes, and may be
//! of any length.

use super::CliError;
use super::signals::{StoppedBySignal, caught_signal};
use rulec_base::diag::Message;
use rulec_base::message;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;

/// Maximum size of a line in bytes: 16 MiB, the limit for a JSON message.
const MAX_LINE_BYTES: usize = rulec_base::json::MAX_MESSAGE_BYTES;

/// A reader of lines that counts lines and bytes, and limits the length of a line.
pub struct LineReader<R> {
    reader: BufReader<R>,
    input_name: String,
    lines_read: u64,
    bytes_read: u64,
    max_line_bytes: usize,
    /// Maximum number of lines in a [`LineChunk`].
    max_chunk_lines: usize,
}

/// A batch of consecutive lines of the input.
#[derive(Default)]
pub struct LineChunk {
    bytes: Vec<u8>,
    /// Byte range of each line in `bytes`; `None` for a line over the size limit.
    line_ranges: Vec<Option<Range<usize>>>,
    /// Number of the chunk's first line in the input, from 1.
    first_line_number: u64,
}

impl LineChunk {
    /// Returns the lines with their numbers, without line breaks and without the byte order mark of
    /// the input. A line over the limit is `None`.
    pub fn lines(&self) -> impl Iterator<Item = (u64, Option<&[u8]>)> {
        (self.first_line_number..).zip(self.line_ranges.iter().map(|line| Some(&self.bytes[line.clone()?])))
    }

    /// True if the input begins with a JSON value that continues on the next line. The caller then
    /// refuses the whole input, instead of reporting each line. Always false for a later batch.
    pub fn begins_with_incomplete_json(&self) -> bool {
        let lines = self.lines().filter_map(|(_, line)| line).map(<[u8]>::trim_ascii);
        let mut lines = lines.filter(|line| !line.is_empty());
        let (Some(first), Some(second)) =
            (lines.next().filter(|_| self.first_line_number == 1), lines.next())
        else {
            return false;
        };
        match first {
            // If the second line begins like a message, the first line is a damaged message and not
            // the start of a longer JSON value.
            b"{" => !second.starts_with(b"{"),
            _ => first.starts_with(b"[") && !first.ends_with(b"]"),
        }
    }

    /// Returns a description of the input's format if it is not JSON lines, such as "a gzip
    /// archive". The first bytes or the file name `name` show the format. `None` for later batches,
    /// and for all other inputs.
    pub fn non_json_lines_format(&self, name: &str) -> Option<Message> {
        const FORMAT_MAGIC_BYTES: &[(&[u8], Message)] = &[
            (b"PK\x03\x04", message!("a zip archive, such as an Excel or Word file")),
            (b"\xd0\xcf\x11\xe0", message!("an old Excel or Word file")),
            (b"\x1f\x8b", message!("a gzip archive")),
            (b"\x28\xb5\x2f\xfd", message!("a zstd archive")),
            (b"%PDF", message!("a PDF file")),
            (b"SQLite format 3", message!("an SQLite database")),
            (b"PAR1", message!("a Parquet file")),
            (b"ARROW1", message!("an Arrow file")),
            (b"\x89PNG", message!("an image")),
        ];
        if self.first_line_number != 1 {
            return None;
        }
        if let Some((_, format)) = FORMAT_MAGIC_BYTES.iter().find(|(magic, _)| self.bytes.starts_with(magic))
        {
            return Some(format.clone());
        }
        let first = self.lines().find_map(|(_, line)| line)?.trim_ascii();
        let lower = name.to_lowercase();
        let is_table = lower.ends_with(".csv") || lower.ends_with(".tsv") || self.has_csv_header();
        (is_table && !first.starts_with(b"{")).then_some(message!("a table of values (CSV)"))
    }

    /// True if this batch begins like a CSV table. The first line then consists of column names
    /// with separators (`,`, `;` or tabs), and the second line has at least as many separators.
    fn has_csv_header(&self) -> bool {
        let lines = self.lines().filter_map(|(_, line)| line).map(<[u8]>::trim_ascii);
        let mut lines = lines.filter(|line| !line.is_empty());
        let (Some(header), Some(second)) = (lines.next(), lines.next()) else { return false };
        let is_name = |cell: &[u8]| {
            let cell = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell);
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
            cell.first().is_some_and(u8::is_ascii_alphabetic) && cell.iter().all(is_part)
        };
        // If the second line begins a JSON object, the first line is a damaged message, not a
        // header.
        !second.starts_with(b"{")
            && [b',', b';', b'\t'].into_iter().any(|separator| {
                let count = |line: &[u8]| line.iter().filter(|byte| **byte == separator).count();
                let columns = header.split(|byte| *byte == separator);
                count(header) > 0 && columns.clone().all(is_name) && count(second) >= count(header)
            })
    }

    /// Adds a line to this batch. The line's bytes begin at `start` and end where the bytes of this
    /// batch end. If `is_too_long` is set, the line is stored without its bytes. If
    /// `is_first_of_input` is set, a byte order mark is removed from it.
    fn push_line(&mut self, start: usize, is_first_of_input: bool, is_too_long: bool) {
        if is_too_long {
            self.bytes.truncate(start);
            self.bytes.shrink_to_fit();
            self.line_ranges.push(None);
            return;
        }
        let line = &self.bytes[start..];
        let bom_length = if is_first_of_input && line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let end = self.bytes.len() - usize::from(line.len() > bom_length && line.ends_with(b"\r"));
        self.line_ranges.push(Some(start + bom_length..end));
    }
}

impl<R: Read> LineReader<R> {
    /// Creates a reader of the lines of `reader`. `name` is the name of the input in error
    /// messages.
    pub fn new(name: impl Into<String>, reader: R) -> Self {
        LineReader {
            reader: BufReader::with_capacity(64 << 10, reader),
            input_name: name.into(),
            lines_read: 0,
            bytes_read: 0,
            max_line_bytes: MAX_LINE_BYTES,
            max_chunk_lines: usize::MAX,
        }
    }

    /// Sets the maximum number of lines in a [`LineChunk`].
    pub fn with_max_chunk_lines(self, lines: usize) -> Self {
        LineReader { max_chunk_lines: lines, ..self }
    }

    /// Returns the name of the input for error messages.
    pub fn input_name(&self) -> &str {
        &self.input_name
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Returns an error if fewer bytes were read than `size`, the input's size when it was opened.
    /// If `size` is `None`, the size is unknown, and nothing is checked. After a signal, the rest
    /// is unread on purpose, which is no error.
    pub fn check_not_truncated(&self, size: Option<u64>) -> Result<(), CliError> {
        match size {
            Some(size) if self.bytes_read < size && caught_signal().is_none() => {
                Err(CliError::usage_error(message!(
                    "`{}` was truncated while it was read: {} of {size} bytes were read",
                    self.input_name,
                    self.bytes_read
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns all lines that are currently available, up to the limit of a chunk, or `None` at the
    /// end of the input. Waits for input only if no line is available, so complete lines are never
    /// delayed.
    pub fn next_chunk(&mut self) -> Result<Option<LineChunk>, CliError> {
        let mut chunk = LineChunk { first_line_number: self.lines_read + 1, ..LineChunk::default() };
        let (mut start, mut has_line, mut is_too_long) = (0, false, false);
        loop {
            // Lines that were already read are returned first, because the next read may wait for
            // any length of time.
            let is_full = chunk.line_ranges.len() >= self.max_chunk_lines;
            if (is_full || self.reader.buffer().is_empty()) && !chunk.line_ranges.is_empty() {
                return Ok(Some(chunk));
            }
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // After a signal, an incomplete line is dropped.
                Err(error) if error.get_ref().is_some_and(|inner| inner.is::<StoppedBySignal>()) => {
                    return Ok(None);
                }
                Err(error) => {
                    return Err(CliError::usage_error(message!(
                        "`{}` cannot be read: {error}",
                        self.input_name
                    )));
                }
            };
            let end = memchr::memchr(b'\n', buffer);
            if buffer.is_empty() {
                if has_line {
                    self.lines_read += 1;
                    chunk.push_line(start, self.lines_read == 1, is_too_long);
                }
                return Ok(has_line.then_some(chunk));
            }
            if end.is_none() && !chunk.line_ranges.is_empty() {
                // The rest of this line has not arrived yet, so it stays in the buffer.
                return Ok(Some(chunk));
            }
            has_line = true;
            let part = &buffer[..end.unwrap_or(buffer.len())];
            is_too_long |= chunk.bytes.len() - start + part.len() > self.max_line_bytes;
            if !is_too_long {
                chunk.bytes.extend_from_slice(part);
            }
            let consumed = end.map_or(buffer.len(), |end| end + 1);
            self.reader.consume(consumed);
            self.bytes_read += consumed as u64;
            if end.is_some() {
                self.lines_read += 1;
                chunk.push_line(start, self.lines_read == 1, is_too_long);
                (start, has_line, is_too_long) = (chunk.bytes.len(), false, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns at most the given number of bytes per read.
    struct SlowReader<'a>(&'a [u8], usize);

    impl Read for SlowReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (now, later) = self.0.split_at(self.1.min(self.0.len()));
            self.0 = later;
            buffer[..now.len()].copy_from_slice(now);
            Ok(now.len())
        }
    }

    /// Reads a text with at most `at_once` bytes per read and `limit` bytes per line. Returns the
    /// lines, and the number of lines in each chunk.
    fn read_in_pieces(text: &str, at_once: usize, limit: usize) -> (Vec<String>, Vec<usize>) {
        let mut lines = LineReader {
            max_line_bytes: limit,
            ..LineReader::new("test", SlowReader(text.as_bytes(), at_once))
        };
        let (mut out, mut counts) = (Vec::new(), Vec::new());
        while let Some(chunk) = lines.next_chunk().expect("text can be read") {
            counts.push(chunk.lines().count());
            for (number, line) in chunk.lines() {
                out.push(match line {
                    Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    None => "(too long)".to_owned(),
                });
                assert_eq!(number as usize, out.len());
            }
        }
        assert_eq!((lines.lines_read as usize, lines.bytes_read() as usize), (out.len(), text.len()));
        (out, counts)
    }

    #[test]
    fn lines_end_with_a_feed_or_the_input() {
        let check = |text: &str, expected: &[&str]| {
            for at_once in [1, 2, 3, 7, 1000] {
                assert_eq!(read_in_pieces(text, at_once, 5).0, expected, "{text:?} by {at_once}");
            }
        };
        check("", &[]);
        check("a", &["a"]);
        check("a\n", &["a"]);
        check("a\n\nb", &["a", "", "b"]);
        check("\u{feff}a\r\nb\r\n", &["a", "b"]);
        check("12345\n123456\nx", &["12345", "(too long)", "x"]);
        check("123456", &["(too long)"]);
    }

    #[test]
    fn no_line_waits_for_the_next() {
        let check =
            |at_once, expected: &[usize]| assert_eq!(read_in_pieces("ab\ncd\nef\ng", at_once, 5).1, expected);
        check(3, &[1, 1, 1, 1]);
        check(7, &[2, 1, 1]);
        check(1000, &[3, 1]);
    }

    #[test]
    fn a_chunk_has_at_most_the_given_number_of_lines() {
        let reader = LineReader::new("test", "a\nb\n\nc\nd".as_bytes());
        let (mut lines, mut chunks) = (reader.with_max_chunk_lines(2), Vec::new());
        while let Some(chunk) = lines.next_chunk().expect("text can be read") {
            let texts = chunk.lines().map(|(number, line)| (number, line.expect("short").to_vec()));
            chunks.push(texts.collect::<Vec<_>>());
        }
        let line = |number, text: &str| (number, text.as_bytes().to_vec());
        assert_eq!(
            chunks,
            [vec![line(1, "a"), line(2, "b")], vec![line(3, ""), line(4, "c")], vec![line(5, "d")]]
        );
    }
}
