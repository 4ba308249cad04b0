//! Streams of messages: newline-delimited JSON in and out, answered in order, with bounded memory.

use super::admitted::Admitted;
use super::app::{App, json_response, run_in_task};
use crate::limits::{LimitName, Limits};
use crate::problem::Problem;
use crate::service::{BatchSettings, MessageBatch, MessageBlock};
use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use std::io::{self, BufRead};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of blocks (groups of lines) of one stream that are answered at the same time.
const MAX_OPEN_BLOCKS: usize = 4;
/// Number of bytes after which a block (a group of lines that are answered together) takes no
/// further part of the body. A larger block has less overhead for each line, and takes more memory.
const MAX_BLOCK_BYTES: usize = 256 << 10;
/// The media type of newline-delimited JSON.
pub(super) const LINES_MEDIA_TYPE: &str = "application/x-ndjson";

/// Parses the settings of a batch from the query string of a URL, such as
/// `entry=billing&explain=true`.
///
/// # Errors
/// If a setting is unknown, or if its value is invalid.
pub(super) fn parse_batch_settings(query: &str) -> Result<BatchSettings, Problem> {
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
            "record" => settings.record = flag()?,
            _ => {
                return Err(Problem::invalid(format!(
                    "there is no setting `{key}`; there are rules, entry, explain, matched, analysis and record"
                )));
            }
        }
    }
    Ok(settings)
}

/// Answers each line of a request's body. As soon as a part of the body arrives, the complete lines
/// are answered. So a client may wait for an answer before it sends the next line.
pub(super) fn answer_lines(app: &Arc<App>, batch: MessageBatch, body: Body, admitted: &Admitted) -> Response {
    let splitter = LineSplitter::new(body, batch.max_messages_per_block(), app.service().limits());
    let blocks = stream::try_unfold(splitter, |mut splitter| async move {
        let block = splitter.next_block().await?;
        Ok(block.map(|block| (block, splitter)))
    });
    let answers = answer_blocks(app, batch, blocks, admitted);
    let mut response = Response::new(Body::from_stream(end_on_problem(app, answers)));
    let media_type = HeaderValue::from_static(LINES_MEDIA_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

/// Answers the messages of a JSON array. `messages` holds the byte range of each message in `body`.
/// A short answer is sent whole, so that an error can still set the status. A long answer is sent
/// in parts.
///
/// # Errors
/// If the deadline has passed, or the decision log cannot be written, before a part was sent.
pub(super) async fn answer_array(
    app: &Arc<App>,
    batch: MessageBatch,
    (body, messages): (Bytes, Vec<Range<usize>>),
    admitted: &Admitted,
) -> Result<Response, Problem> {
    if messages.is_empty() {
        return Ok(json_response("[]"));
    }
    let size = batch.max_messages_per_block();
    let blocks = (0..messages.len().div_ceil(size)).map(move |at| {
        let messages = messages.iter().skip(at * size).take(size);
        let lines = messages.map(|range| Some(body.slice(range.clone()))).collect();
        Ok(MessageBlock { first_message_number: (at * size) as u64 + 1, message_lines: lines })
    });
    let mut answers = Box::pin(answer_blocks(app, batch, stream::iter(blocks), admitted));
    let mut start = Vec::new();
    while start.len() < MAX_WHOLE_ANSWER_BYTES {
        match answers.next().await {
            Some(part) => start.extend_from_slice(&part?),
            None => {
                start.push(b']');
                return Ok(json_response(start));
            }
        }
    }
    let start = stream::iter([Ok(Bytes::from(start))]);
    let end = stream::iter([Ok(Bytes::from_static(b"]"))]);
    let parts = start.chain(end_on_problem(app, answers)).chain(end);
    Ok(json_response(Body::from_stream(parts)))
}

/// Maximum size in bytes of an answer to a JSON array that is sent whole. A longer answer is sent
/// in parts.
const MAX_WHOLE_ANSWER_BYTES: usize = 256 << 10;

/// Answers blocks of messages, at most [`MAX_OPEN_BLOCKS`] at the same time, or one after another
/// if they are recorded. The answers keep the order of the blocks. Each block has a deadline of its
/// own.
fn answer_blocks(
    app: &Arc<App>,
    batch: MessageBatch,
    blocks: impl Stream<Item = Result<MessageBlock, Problem>> + Send + 'static,
    admitted: &Admitted,
) -> impl Stream<Item = Result<Bytes, Problem>> + Send + 'static {
    let (app, admitted) = (app.clone(), admitted.clone());
    let open_blocks = if batch.keeps_order() { 1 } else { MAX_OPEN_BLOCKS };
    let answers = blocks.map(move |block| {
        let (app, batch, admitted) = (app.clone(), batch.clone(), admitted.clone());
        async move {
            let block = block?;
            run_in_task(async move {
                let admitted = app.admit_part(&admitted).await?;
                let deadline = admitted.deadline;
                app.run_blocking(&admitted, move |service| batch.answer_block(service, &block, deadline))
                    .await
            })
            .await?
        }
    });
    answers.buffered(open_blocks).map_ok(Bytes::from)
}

/// Replaces an error in a stream of answers by an I/O error, which ends the response early. The
/// HTTP status cannot report the error, because it was sent before.
fn end_on_problem(
    app: &Arc<App>,
    answers: impl Stream<Item = Result<Bytes, Problem>> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let app = app.clone();
    answers.map_err(move |problem| {
        if problem.status() == StatusCode::GATEWAY_TIMEOUT {
            app.service().metrics().count_limit(LimitName::deadline);
        }
        io::Error::other(problem.detail().to_owned())
    })
}

/// Splits the body of a request into blocks of lines.
struct LineSplitter {
    body: BodyDataStream,
    /// The bytes of the last received part of the body that are not split into lines yet.
    unsplit_bytes: Bytes,
    /// The start of a line of the body whose line feed has not arrived.
    incomplete_line: BytesMut,
    /// Whether the current line is longer than the limit. The rest of the line is then dropped.
    is_line_too_long: bool,
    next_line_number: u64,
    /// Maximum number of lines in a block. The lines of a block are answered together.
    max_block_lines: usize,
    /// Maximum number of bytes in a line. A longer line gets an error as its answer.
    max_line_bytes: usize,
    block_time_limit: Duration,
    is_body_complete: bool,
}

impl LineSplitter {
    fn new(body: Body, block_size: usize, limits: &Limits) -> LineSplitter {
        LineSplitter {
            body: body.into_data_stream(),
            unsplit_bytes: Bytes::new(),
            incomplete_line: BytesMut::new(),
            is_line_too_long: false,
            next_line_number: 1,
            max_block_lines: block_size,
            max_line_bytes: limits.max_body_bytes,
            block_time_limit: limits.request_time_limit,
            is_body_complete: false,
        }
    }

    /// Waits for the next complete lines and returns them as a block; `None` at the end of the
    /// body.
    ///
    /// # Errors
    /// If the client has disconnected, or sends no complete line before the deadline.
    async fn next_block(&mut self) -> Result<Option<MessageBlock>, Problem> {
        let lines = tokio::time::timeout(self.block_time_limit, self.next_lines()).await;
        let lines = lines.map_err(|_| Problem::too_slow("no line came in time; see `--deadline`"))??;
        let first = self.next_line_number;
        self.next_line_number += lines.len() as u64;
        Ok((!lines.is_empty()).then_some(MessageBlock { first_message_number: first, message_lines: lines }))
    }

    async fn next_lines(&mut self) -> Result<Vec<Option<Bytes>>, Problem> {
        let (mut lines, mut block_bytes) = (Vec::new(), 0);
        self.take_lines(&mut lines);
        while !self.is_body_complete
            && (lines.is_empty() || lines.len() < self.max_block_lines && block_bytes < MAX_BLOCK_BYTES)
        {
            let part = match lines.is_empty() {
                true => self.body.next().await,
                // A client may wait for the answers to these lines before it sends more.
                false => match self.next_arrived_part().await {
                    Some(part) => part,
                    None => break,
                },
            };
            match part {
                Some(part) => {
                    self.unsplit_bytes = part.map_err(|error| Problem::invalid(error.to_string()))?;
                    block_bytes += self.unsplit_bytes.len();
                    self.take_lines(&mut lines);
                }
                None => {
                    self.is_body_complete = true;
                    if self.is_line_too_long || !self.incomplete_line.is_empty() {
                        lines.push(self.end_line());
                    }
                }
            }
        }
        Ok(lines)
    }

    /// Returns the next part of the body if it has arrived. `None` if it has not. The HTTP library
    /// reads one part at a time, in a task that must run before the next part is here.
    async fn next_arrived_part(&mut self) -> Option<Option<Result<Bytes, axum::Error>>> {
        if let Some(part) = self.body.next().now_or_never() {
            return Some(part);
        }
        tokio::task::yield_now().await;
        self.body.next().now_or_never()
    }

    /// Moves the complete lines of the last received part to `lines`, until `lines` holds
    /// `max_block_lines` lines. Moves the start of an incomplete line to `incomplete_line`.
    fn take_lines(&mut self, lines: &mut Vec<Option<Bytes>>) {
        while lines.len() < self.max_block_lines {
            let Some(end) = line_end(&self.unsplit_bytes) else {
                let part = std::mem::take(&mut self.unsplit_bytes);
                return self.append_to_line(&part);
            };
            let mut line = self.unsplit_bytes.split_to(end + 1);
            line.truncate(end);
            let is_whole = self.incomplete_line.is_empty()
                && !self.is_line_too_long
                && line.len() <= self.max_line_bytes;
            if is_whole {
                lines.push(Some(line));
            } else {
                self.append_to_line(&line);
                lines.push(self.end_line());
            }
        }
    }

    /// Appends a part of a line to `incomplete_line`. If the line then exceeds the limit, drops the
    /// line instead, and marks it as too long.
    fn append_to_line(&mut self, part: &[u8]) {
        if self.is_line_too_long || self.incomplete_line.len() + part.len() > self.max_line_bytes {
            self.is_line_too_long = true;
            self.incomplete_line.clear();
        } else {
            self.incomplete_line.extend_from_slice(part);
        }
    }

    fn end_line(&mut self) -> Option<Bytes> {
        let line = self.incomplete_line.split().freeze();
        (!std::mem::take(&mut self.is_line_too_long)).then_some(line)
    }
}

/// Returns the position of the first line feed. Several times as fast as a comparison of each byte.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    // Reading from memory cannot fail.
    let line_length = rest.skip_until(b'\n').unwrap_or_default();
    line_length.checked_sub(1).filter(|end| bytes.get(*end) == Some(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn split_lines(parts: &[&'static str], limit: usize) -> Vec<(u64, Vec<Option<String>>)> {
        split_into_blocks(parts, limit, 100).await
    }

    async fn split_into_blocks(
        parts: &[&'static str],
        limit: usize,
        block_size: usize,
    ) -> Vec<(u64, Vec<Option<String>>)> {
        let parts: Vec<io::Result<Bytes>> = parts.iter().map(|part| Ok(Bytes::from(*part))).collect();
        let body = Body::from_stream(stream::iter(parts));
        let mut splitter =
            LineSplitter::new(body, block_size, &Limits { max_body_bytes: limit, ..Limits::default() });
        let mut blocks = Vec::new();
        while let Some(block) = splitter.next_block().await.expect("no client is gone") {
            let to_text = |line: Bytes| String::from_utf8(line.to_vec()).expect("UTF-8");
            blocks.push((
                block.first_message_number,
                block.message_lines.into_iter().map(|line| line.map(to_text)).collect(),
            ));
        }
        blocks
    }

    #[tokio::test]
    async fn lines_are_split_wherever_the_parts_end() {
        let line = |text: &str| Some(text.to_owned());
        assert_eq!(
            split_lines(&["a\nb", "c", "\nd\n\n", "e"], 10).await,
            [(1, vec![line("a"), line("bc"), line("d"), line(""), line("e")])]
        );
        assert_eq!(split_lines(&[], 10).await, []);
        assert_eq!(
            split_into_blocks(&["a\nb\nc\nd", "e\n"], 10, 2).await,
            [(1, vec![line("a"), line("b")]), (3, vec![line("c"), line("de")])]
        );
        let limited = split_lines(&["123456\n12345\n12", "3456", "7\nx\n", "123456"], 5).await;
        assert_eq!(limited, [(1, vec![None, line("12345"), None, line("x"), None])]);
    }

    /// A client may wait for an answer before it sends the next line.
    #[tokio::test]
    async fn a_block_does_not_wait_for_parts_that_have_not_arrived() {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let parts =
            stream::unfold(receiver, |mut parts: tokio::sync::mpsc::UnboundedReceiver<_>| async move {
                Some((Ok::<Bytes, io::Error>(parts.recv().await?), parts))
            });
        let mut splitter = LineSplitter::new(Body::from_stream(parts), 10, &Limits::default());
        let send = |part: &'static str| sender.send(Bytes::from_static(part.as_bytes())).expect("it is open");
        send("a\nb");
        let block = splitter.next_block().await.expect("no client is gone").expect("a block");
        assert_eq!(block.message_lines, [Some(Bytes::from_static(b"a"))]);
        send("\nc\n");
        let block = splitter.next_block().await.expect("no client is gone").expect("a block");
        assert_eq!(block.message_lines.len(), 2);
    }

    /// The lines of a block are kept in memory until they are answered.
    #[tokio::test]
    async fn a_block_of_long_lines_has_few_lines() {
        let long = || Bytes::from(vec![b'x'; MAX_BLOCK_BYTES]);
        let parts = [long(), Bytes::from_static(b"\n"), long(), Bytes::from_static(b"\n")];
        let body = Body::from_stream(stream::iter(parts.map(Ok::<_, io::Error>)));
        let mut splitter = LineSplitter::new(body, 10, &Limits::default());
        for _ in 0..2 {
            let block = splitter.next_block().await.expect("no client is gone").expect("a block");
            assert_eq!(block.message_lines, [Some(long())]);
        }
        assert!(splitter.next_block().await.expect("no client is gone").is_none());
    }

    /// Without the deadline, a client that never ends a line would keep one of the limited number
    /// of streams for ever.
    #[tokio::test]
    async fn a_client_that_ends_no_line_times_out() {
        let parts = stream::unfold((), |()| async {
            tokio::task::yield_now().await;
            Some((Ok::<_, io::Error>(Bytes::from_static(b"x")), ()))
        });
        let limits =
            Limits { max_body_bytes: 10, request_time_limit: Duration::from_millis(10), ..Limits::default() };
        let mut splitter = LineSplitter::new(Body::from_stream(parts), 10, &limits);
        let problem = splitter.next_block().await.expect_err("no line ends");
        assert_eq!(problem.status(), StatusCode::GATEWAY_TIMEOUT);
    }

    #[test]
    fn settings_are_read_from_a_query() {
        let settings = parse_batch_settings("entry=a%20b&explain&matched=false&record=true");
        let settings = settings.expect("they are settings");
        assert_eq!(
            (settings.entry.as_deref(), settings.explain, settings.matched, settings.record),
            (Some("a b"), true, false, true)
        );
        for wrong in ["entri=a", "explain=1", "entry=%ff"] {
            assert!(parse_batch_settings(wrong).is_err(), "{wrong}");
        }
    }
}
