//! Streams of lines: newline-delimited JSON in and out, in order, with bounded memory.

use super::app::App;
use super::gate::Permit;
use crate::metrics::LimitName;
use crate::problem::Problem;
use crate::service::{Batch, BatchSettings};
use axum::body::{Body, BodyDataStream};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of blocks of one stream that are answered at the same time.
const OPEN_BLOCKS: usize = 4;

/// Reads the settings of a batch from the query of its address, as in `entry=billing&explain=true`.
///
/// # Errors
/// If there is an unknown setting, or a value has another form.
pub(super) fn read_settings(query: &str) -> Result<BatchSettings, Problem> {
    let mut settings = BatchSettings::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, "true"));
        let value = percent_encoding::percent_decode_str(value)
            .decode_utf8()
            .map_err(|_| Problem::invalid(format!("`{key}` is not UTF-8")))?;
        let flag = || match &*value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Problem::invalid(format!("`{key}` must be `true` or `false`"))),
        };
        match key {
            "rules" => settings.rules = Some(value.into_owned()),
            "entry" => settings.entry = Some(value.into_owned()),
            "explain" => settings.explain = flag()?,
            "matched" => settings.matched = flag()?,
            "analysis" => settings.analysis = flag()?,
            _ => {
                return Err(Problem::invalid(format!(
                    "there is no setting `{key}`; there are rules, entry, explain, matched and analysis"
                )));
            }
        }
    }
    Ok(settings)
}

/// Answers the lines of a body. A part that arrives is answered as soon as it holds a complete
/// line. So a client may wait for an answer before it sends the next line.
pub(super) fn answer(
    app: Arc<App>,
    batch: Batch,
    body: Body,
    permit: Permit,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let limits = *app.service().limits();
    let splitter = LineSplitter {
        body: body.into_data_stream(),
        pending: BytesMut::new(),
        is_too_long: false,
        next_line: 1,
        limit: limits.body,
        deadline: limits.deadline,
        is_done: false,
    };
    let blocks = stream::try_unfold(splitter, |mut splitter| async move {
        let block = splitter.next_block().await?;
        Ok::<_, io::Error>(block.map(|block| (block, splitter)))
    });
    let answers = blocks.map(move |block| {
        let (app, batch, permit) = (app.clone(), batch.clone(), permit.clone());
        async move {
            let block = block.inspect_err(|error| {
                if error.kind() == io::ErrorKind::TimedOut {
                    app.service().metrics().count_limit(LimitName::deadline);
                }
            })?;
            let answers = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                batch.answer_lines(app.service(), block.first, block.lines.iter().map(Option::as_deref))
            });
            let answers = answers.await.map_err(io::Error::other)?;
            answers.map(Bytes::from).map_err(|problem| io::Error::other(problem.detail().to_owned()))
        }
    });
    answers.buffered(OPEN_BLOCKS)
}

/// Consecutive lines of a stream. A line over the limit is `None`.
struct Block {
    first: u64,
    lines: Vec<Option<Bytes>>,
}

/// Splits the parts of a body into lines.
struct LineSplitter {
    body: BodyDataStream,
    /// The start of a line whose end has not arrived.
    pending: BytesMut,
    /// Whether the current line is already over the limit, so that its bytes are dropped.
    is_too_long: bool,
    next_line: u64,
    limit: usize,
    deadline: Duration,
    is_done: bool,
}

impl LineSplitter {
    /// Returns the next lines; `None` at the end of the stream.
    ///
    /// # Errors
    /// If the client is gone, or sends nothing until the deadline.
    async fn next_block(&mut self) -> io::Result<Option<Block>> {
        let mut lines = Vec::new();
        while !self.is_done && lines.is_empty() {
            let part = tokio::time::timeout(self.deadline, self.body.next()).await;
            match part.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no line came in time"))? {
                Some(part) => self.take_lines(part.map_err(io::Error::other)?, &mut lines),
                None => {
                    self.is_done = true;
                    if self.is_too_long || !self.pending.is_empty() {
                        lines.push(self.end_line());
                    }
                }
            }
        }
        let first = self.next_line;
        self.next_line += lines.len() as u64;
        Ok((!lines.is_empty()).then_some(Block { first, lines }))
    }

    /// Adds the lines that end in `part`, and keeps the rest.
    fn take_lines(&mut self, mut part: Bytes, lines: &mut Vec<Option<Bytes>>) {
        while let Some(end) = part.iter().position(|byte| *byte == b'\n') {
            let mut line = part.split_to(end + 1);
            line.truncate(end);
            let is_whole = self.pending.is_empty() && !self.is_too_long && line.len() <= self.limit;
            if is_whole {
                lines.push(Some(line));
            } else {
                self.keep(&line);
                lines.push(self.end_line());
            }
        }
        self.keep(&part);
    }

    /// Keeps a part of a line, unless the line is over the limit.
    fn keep(&mut self, part: &[u8]) {
        if self.is_too_long || self.pending.len() + part.len() > self.limit {
            self.is_too_long = true;
            self.pending.clear();
        } else {
            self.pending.extend_from_slice(part);
        }
    }

    fn end_line(&mut self) -> Option<Bytes> {
        let line = self.pending.split().freeze();
        (!std::mem::take(&mut self.is_too_long)).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn split(parts: &[&'static str], limit: usize) -> Vec<(u64, Vec<Option<String>>)> {
        let parts: Vec<io::Result<Bytes>> = parts.iter().map(|part| Ok(Bytes::from(*part))).collect();
        let mut splitter = LineSplitter {
            body: Body::from_stream(stream::iter(parts)).into_data_stream(),
            pending: BytesMut::new(),
            is_too_long: false,
            next_line: 1,
            limit,
            deadline: Duration::from_secs(10),
            is_done: false,
        };
        let mut blocks = Vec::new();
        while let Some(block) = splitter.next_block().await.expect("no client is gone") {
            let to_text = |line: Bytes| String::from_utf8(line.to_vec()).expect("UTF-8");
            blocks.push((block.first, block.lines.into_iter().map(|line| line.map(to_text)).collect()));
        }
        blocks
    }

    #[tokio::test]
    async fn lines_are_split_wherever_the_parts_end() {
        let line = |text: &str| Some(text.to_owned());
        assert_eq!(
            split(&["a\nb", "c", "\nd\n\n", "e"], 10).await,
            [(1, vec![line("a")]), (2, vec![line("bc"), line("d"), line("")]), (5, vec![line("e")])]
        );
        assert_eq!(split(&[], 10).await, []);
        let limited = split(&["123456\n12345\n12", "3456", "7\nx\n", "123456"], 5).await;
        assert_eq!(limited, [(1, vec![None, line("12345")]), (3, vec![None, line("x")]), (5, vec![None])]);
    }

    #[test]
    fn settings_are_read_from_a_query() {
        let settings = read_settings("entry=a%20b&explain&matched=false").expect("they are settings");
        assert_eq!(
            (settings.entry.as_deref(), settings.explain, settings.matched),
            (Some("a b"), true, false)
        );
        for wrong in ["entri=a", "explain=1", "entry=%ff"] {
            assert!(read_settings(wrong).is_err(), "{wrong}");
        }
    }
}
