//! Reading lines of any bytes and any length, in bounded memory.

use super::Stop;
use std::io::{self, BufRead, BufReader, Read};

/// The most bytes a line may have: 64 MiB.
const MAX_LINE_BYTES: usize = rulec::json::MAX_BYTES;

/// The lines of an input.
pub struct Lines<R> {
    reader: BufReader<R>,
    name: String,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    limit: usize,
}

/// A line without its break.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes; of the first line without a byte order mark.
    Bytes(&'a [u8]),
    /// It is over the limit and was left out.
    TooLong,
}

impl<R: Read> Lines<R> {
    /// The lines of a reader; the name is for errors.
    pub fn new(name: impl Into<String>, reader: R) -> Self {
        Lines {
            reader: BufReader::with_capacity(64 << 10, reader),
            name: name.into(),
            line: Vec::new(),
            number: 0,
            bytes: 0,
            limit: MAX_LINE_BYTES,
        }
    }

    /// The number of the line read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes were read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line. `wait` is called before reading, which may take as long as whoever writes the
    /// input likes: the moment to hand over what was answered so far.
    pub fn next(&mut self, mut wait: impl FnMut() -> Result<(), Stop>) -> Result<Option<Line<'_>>, Stop> {
        self.line.clear();
        let (mut any, mut too_long) = (false, false);
        loop {
            if self.reader.buffer().is_empty() {
                wait()?;
            }
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Stop::usage(format!("`{}` cannot be read: {error}", self.name))),
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            too_long |= self.line.len() + part.len() > self.limit;
            if !too_long {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(used);
            self.bytes += used as u64;
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        if too_long {
            // The memory of a giant is not kept for the rest.
            self.line = Vec::new();
            return Ok(Some(Line::TooLong));
        }
        let mut line = self.line.as_slice();
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        Ok(Some(Line::Bytes(line.strip_suffix(b"\r").unwrap_or(line))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, limit: usize) -> Vec<String> {
        let mut lines = Lines { limit, ..Lines::new("test", text.as_bytes()) };
        let mut out = Vec::new();
        while let Some(line) = lines.next(|| Ok(())).expect("text can be read") {
            out.push(match line {
                Line::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong => "(too long)".to_owned(),
            });
        }
        assert_eq!((lines.number() as usize, lines.bytes() as usize), (out.len(), text.len()));
        out
    }

    #[test]
    fn lines_end_with_a_feed_or_the_input() {
        let check = |text: &str, expected: &[&str]| assert_eq!(read(text, 5), expected, "{text:?}");
        check("", &[]);
        check("a", &["a"]);
        check("a\n", &["a"]);
        check("a\n\nb", &["a", "", "b"]);
        check("\u{feff}a\r\nb\r\n", &["a", "b"]);
        check("12345\n123456\nx", &["12345", "(too long)", "x"]);
        check("123456", &["(too long)"]);
    }
}
