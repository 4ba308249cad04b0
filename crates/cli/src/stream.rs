//! Processes every line of a stream on several threads ([`ordered_pool`]), and writes the results
//! in the order of the lines. Before this module waits for more input, it flushes all finished
//! results.

use super::CliError;
use super::compiled::is_artifact;
use super::files;
use super::language::{language, localized};
use super::lines::{LineChunk, LineReader};
use super::ordered_pool::{self, OrderedResults};
use super::panic;
use super::progress::InputProgress;
use super::signals::{self, InputSource};
use super::stdio;
use super::term::{Out, Term};
use rulec::Code;
use rulec::JsonError;
use rulec::Message;
use rulec_base::json;
use rulec_base::message;
use rulec_report::answer::{LineError, RejectedLine};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

/// Arguments that name the input stream and set the number of threads.
#[derive(clap::Args)]
pub struct StreamArgs {
    /// The messages: one JSON object per line, or a file in another `--input-format`; `-` or no
    /// argument reads standard input
    input: Option<PathBuf>,
    /// The number of threads that decide, at most 1024; 0 means one for each processor. Answers
    /// keep the order of the messages [default: 0]
    #[arg(
        long,
        short,
        default_value = "0",
        value_parser = parse_jobs,
        allow_hyphen_values = true,
        value_name = "N",
        hide_default_value = true,
        display_order = 800
    )]
    jobs: usize,
}

/// Maximum number of lines in a chunk (the batch of lines that a worker takes at once) if the
/// workers wait for another program. At least 2, because [`refuse_multiline_json`] compares the
/// first two lines of the input.
const MAX_WAITING_CHUNK_LINES: usize = 2;

/// Maximum number of threads: far more than is useful, and far fewer than a system can start.
const MAX_WORKER_THREADS: usize = 1024;

fn parse_jobs(text: &str) -> Result<usize, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let localized_error = |message: &Message| localized(message).into_owned();
    match text.parse() {
        Ok(jobs) if jobs <= MAX_WORKER_THREADS && is_number => Ok(jobs),
        _ if is_number => Err(localized_error(&message!(
            "at most {MAX_WORKER_THREADS} threads are allowed; 0 means one for each processor"
        ))),
        _ => Err(localized_error(&message!(
            "expected a whole number from 0 to {MAX_WORKER_THREADS}; 0 means one thread for each processor"
        ))),
    }
}

/// An open input stream: the reader, its name, and the input's size in bytes if known.
pub type OpenInput<R> = (R, String, Option<u64>);

/// Whether a line of the input has a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LineOutcome {
    /// The result of the line was written.
    Answered,
    /// The line has no result. An error line was written, or nothing if the stream ends before this
    /// line.
    Rejected,
}

/// The reason why a line of the input has no result. The caller must write an error line.
pub enum LineFailure {
    /// The line is not a valid message, because its JSON is invalid or is not an object.
    Invalid(JsonError),
    /// The line has no result for another reason. For example, a language model has not answered,
    /// or an input field has a wrong type. `code`, `message` and `help` describe the error for the
    /// user.
    NoAnswer { code: Code, message: Message, help: Message },
}

impl From<JsonError> for LineFailure {
    fn from(error: JsonError) -> LineFailure {
        LineFailure::Invalid(error)
    }
}

/// A worker that processes lines, such as by deciding or validating messages.
pub trait LineWorker: Send {
    /// Writes the result for a message, including the line break. `number` is the line number of
    /// the message.
    ///
    /// # Errors
    /// If the line has no result. After an error or a panic, the caller writes an error line
    /// instead.
    fn answer(&mut self, number: u64, message: &[u8], out: &mut Vec<u8>) -> Result<LineOutcome, LineFailure>;

    /// True if the worker waits for another program, such as a service. More threads than
    /// processors are then useful. Also, chunks should be small, so that finished results are
    /// written early.
    fn waits_for_program(&self) -> bool {
        false
    }

    /// True if an answer can depend on earlier lines. Then a single worker answers all lines in
    /// order.
    fn keeps_order(&self) -> bool {
        false
    }

    /// True if the latest line could not be recorded. The stream then ends before this line: a
    /// later line would wait for the same store, and its answer would not be written.
    fn has_failed(&self) -> bool {
        false
    }

    /// Waits until everything that the worker has recorded is on disk. Called before the answers of
    /// a chunk are written.
    ///
    /// # Errors
    /// If the records cannot be written. The answers of the chunk are then not written either.
    fn end_chunk(&mut self) -> Result<ChunkEnd, CliError> {
        Ok(ChunkEnd::default())
    }

    /// Returns the lines for the decision log (a file with a line for each decision and its
    /// message) that were added since the last call.
    fn take_log_lines(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

/// A file to which lines are appended: a decision log, or the recorded answers of a language model.
pub struct LogFile {
    name: String,
    file: BufWriter<File>,
}

impl LogFile {
    /// Opens a file for appending lines, and creates it if it does not exist.
    pub fn open(path: &Path) -> Result<LogFile, CliError> {
        let name = path.display().to_string();
        match OpenOptions::new().append(true).create(true).open(path) {
            Ok(file) => Ok(LogFile { name, file: BufWriter::new(file) }),
            Err(error) => Err(log_error(&name, &error)),
        }
    }

    pub fn write(&mut self, lines: &[u8]) -> Result<(), CliError> {
        self.file.write_all(lines).map_err(|error| log_error(&self.name, &error))
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        self.file.flush().map_err(|error| log_error(&self.name, &error))
    }
}

fn log_error(name: &str, error: &io::Error) -> CliError {
    CliError::usage_error(message!("`{name}` cannot be written: {error}"))
}

/// Opens a file as a stream of lines, or standard input if `path` is `None` or `-`.
pub fn open_input(path: Option<&Path>, term: &Term) -> Result<OpenInput<Box<dyn InputSource>>, CliError> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        let input = stdio::take_stdin()?;
        if input.is_terminal() {
            term.print_note(&message!("reading messages from standard input, one JSON object per line"));
        }
        return Ok((Box::new(input), stdio::stdin_name(), None));
    };
    let name = path.display().to_string();
    let open_error = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => files::unreadable_error(&name, &message!("there is no such file")),
        _ => files::unreadable_error(&name, &error),
    };
    // The path may also be a named pipe; opening it waits for the writer.
    let file = File::open(path).map_err(open_error)?;
    let metadata = file.metadata().map_err(open_error)?;
    if is_artifact(path) {
        return Err(files::unexpected_artifact_error(&name));
    }
    if metadata.is_dir() {
        return Err(CliError::usage_error(message!("`{name}` is a folder; give a file of messages")));
    }
    Ok((Box::new(file), name, metadata.is_file().then_some(metadata.len())))
}

/// Reads the JSON objects of a JSON lines file, or of standard input, and passes each with its line
/// number to `on_object`. Lines that are not objects are reported and skipped. Returns the number
/// of skipped lines. Blank lines are ignored. `mask_error` masks the names of private fields that
/// an error message quotes.
pub fn read_json_objects(
    input: &Path,
    term: &Term,
    mask_error: impl Fn(JsonError) -> JsonError,
    mut on_object: impl FnMut(u64, Map<String, Json>),
) -> Result<usize, CliError> {
    let (input, name, _) = open_input(Some(input), term)?;
    let (mut lines, mut skipped_lines) = (LineReader::new(name.clone(), input), 0);
    while let Some(chunk) = lines.next_chunk()? {
        refuse_multiline_json(Some(&chunk), &name)?;
        for (number, line) in chunk.lines() {
            let result = match line {
                Some(line) if line.trim_ascii().is_empty() => continue,
                Some(line) => json::parse_object_bytes(line).map_err(|error| mask_error(error).to_message()),
                None => Err(message!("the line is too long")),
            };
            match result {
                Ok(object) => on_object(number, object),
                Err(why) => {
                    skipped_lines += 1;
                    term.print_error(&message!("`{name}`, line {number} is not a JSON object: {why}"));
                }
            }
        }
    }
    Ok(skipped_lines)
}

/// Returns an error if the input is not JSON lines: it has another format, such as CSV, or begins
/// with a JSON value over several lines. One error is clearer than an error for each line. `chunk`
/// is a batch of lines; `None` at the end of the input. Only the first batch is checked.
fn refuse_multiline_json(chunk: Option<&LineChunk>, name: &str) -> Result<(), CliError> {
    if let Some(format) = chunk.and_then(|chunk| chunk.non_json_lines_format(name)) {
        return Err(CliError::input_error(message!(
            "`{name}` is {format}; messages are JSON objects, one on each line: save the data as JSON lines"
        )));
    }
    match chunk {
        Some(chunk) if chunk.begins_with_incomplete_json() => Err(CliError::input_error(message!(
            "`{name}` contains JSON over several lines; write one message a line, for example with \
            `jq -c` (`jq -c '.[]'` for a list)"
        ))),
        _ => Ok(()),
    }
}

pub fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    // Cannot fail: the destination is memory, and all map keys are strings.
    let _ = serde_json::to_writer(&mut *out, value);
    out.push(b'\n');
}

impl StreamArgs {
    /// Returns the path of the input that the command line names. `None` if it names none, which
    /// means standard input.
    pub fn input_path(&self) -> Option<&Path> {
        self.input.as_deref()
    }

    /// Opens the input stream. A signal ends the stream.
    pub fn open_input(&self, term: &Term) -> Result<OpenInput<signals::InterruptibleInput>, CliError> {
        let (input, name, size) = open_input(self.input_path(), term)?;
        Ok((signals::InterruptibleInput::new(input).map_err(CliError::from_io_error)?, name, size))
    }

    /// Writes one result line for every message of the stream. `worker` creates the worker of each
    /// thread. Stops at the end of the stream, when the output closes, or at a signal. If there is
    /// a log, the workers' log lines are written to it. Returns the workers, for example to add up
    /// what they counted, and the number of lines that are not messages.
    pub fn answer_stream<W: LineWorker>(
        &self,
        term: &Term,
        (out, mut log): (&mut Out, Option<LogFile>),
        worker: impl Fn() -> W,
    ) -> Result<(Vec<W>, usize), CliError> {
        let (input, name, size) = self.open_input(term)?;
        let mut workers = vec![worker()];
        let (mut lines, mut progress) = (LineReader::new(name, input), InputProgress::new(size));
        let size_in_memory = if workers[0].waits_for_program() {
            lines = lines.with_max_chunk_lines(MAX_WAITING_CHUNK_LINES);
            None
        } else {
            size
        };
        let count = if workers[0].keeps_order() { 1 } else { self.worker_count(size_in_memory) };
        workers.extend((1..count).map(|_| worker()));
        let next_job = || {
            let chunk = lines.next_chunk()?;
            refuse_multiline_json(chunk.as_ref(), lines.input_name())?;
            progress.set_position(lines.bytes_read());
            Ok(chunk)
        };
        let rejected = ordered_pool::run_ordered(
            &mut workers,
            next_job,
            |worker, chunk| (answer_chunk(worker, &chunk), worker.take_log_lines(), worker.end_chunk()),
            |results| write_in_order(out, log.as_mut(), &results),
        )?;
        if !out.is_closed() {
            lines.check_not_truncated(size)?;
        }
        Ok((workers, rejected))
    }

    /// Returns the number of threads to use for an input of `size` bytes. The number is the
    /// requested one, but smaller for a small input. `None` means that the size is unknown.
    pub fn worker_count(&self, size: Option<u64>) -> usize {
        let jobs = match self.jobs {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            jobs => jobs,
        };
        // A small input gains nothing from many threads, so there is at most one thread per 64 KiB.
        let useful_jobs = size.map_or(usize::MAX, |size| usize::try_from(size >> 16).unwrap_or(usize::MAX));
        jobs.min(useful_jobs.saturating_add(1))
    }
}

/// The result of [`LineWorker::end_chunk`]: the records of the chunk are on disk.
#[derive(Default)]
pub struct ChunkEnd {
    /// The error at which the worker has failed. The stream ends with this error after the answers
    /// of the lines before the failure. `None` if the worker has not failed.
    pub failure: Option<CliError>,
}

/// The output for a chunk of lines, and the number of lines in the chunk that are not messages.
pub type AnsweredChunk = (Vec<u8>, usize);

/// Processes the lines of a chunk with `worker`. Returns the output, and the number of lines that
/// are not messages.
pub fn answer_chunk(worker: &mut impl LineWorker, chunk: &LineChunk) -> AnsweredChunk {
    let (mut answers, mut rejected) = (Vec::new(), 0);
    for (number, line) in chunk.lines().filter(|(_, line)| !line.is_some_and(is_blank_line)) {
        if worker.has_failed() {
            break;
        }
        let earlier_length = answers.len();
        let outcome = answer_message(worker, number, line, &mut answers);
        if worker.has_failed() {
            answers.truncate(earlier_length);
            break;
        }
        rejected += usize::from(outcome == LineOutcome::Rejected);
    }
    (answers, rejected)
}

fn is_blank_line(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Processes one message, and appends its result to the output. `number` is the number of its line.
/// `message` is `None` if the line is too long. Writes an error line if the message is invalid or
/// too long.
pub fn answer_message(
    worker: &mut impl LineWorker,
    number: u64,
    message: Option<&[u8]>,
    answers: &mut Vec<u8>,
) -> LineOutcome {
    let start_length = answers.len();
    let result = match message {
        // After a panic, the partial output and the counts of this message are discarded.
        Some(message) => panic::catch_panic(|| worker.answer(number, message, answers)),
        None => Ok(Err(JsonError::too_long().into())),
    };
    let result = result.map(|result| {
        result.map_err(|failure| match failure {
            LineFailure::Invalid(error) => LineFailure::Invalid(error.localized(language())),
            other => other,
        })
    });
    let error = match &result {
        Ok(Ok(outcome)) => return *outcome,
        Ok(Err(LineFailure::NoAnswer { code, message, help })) => LineError {
            code: *code,
            message: localized(message),
            column: None,
            path: "",
            help: Some(localized(help)),
        },
        Ok(Err(LineFailure::Invalid(error))) => LineError::from(error),
        Err(mistake) => LineError {
            code: Code::DecisionFailed,
            message: localized(mistake),
            column: None,
            path: "",
            help: Some(localized(&panic::BUG_REPORT_HINT).into_owned().into()),
        },
    };
    answers.truncate(start_length);
    write_json(answers, &RejectedLine { line: number, error });
    LineOutcome::Rejected
}

/// Writes the results in input order until no results are left or the reader has closed the output.
/// A result is the output for a chunk of lines, and the chunk's lines for the decision log. Returns
/// the number of lines that were not messages.
fn write_in_order(
    out: &mut Out,
    mut log: Option<&mut LogFile>,
    results: &OrderedResults<(AnsweredChunk, Vec<u8>, Result<ChunkEnd, CliError>)>,
) -> Result<usize, CliError> {
    let mut total_rejected = 0;
    let flush = |out: &mut Out, log: &mut Option<&mut LogFile>| {
        out.flush()?;
        log.as_mut().map_or(Ok(()), |log| log.flush())
    };
    while let Some(((answers, rejected), log_lines, ended)) = results.next(|| flush(out, &mut log))? {
        let ChunkEnd { failure } = ended?;
        total_rejected += rejected;
        out.write_answers(&answers)?;
        if let Some(log) = &mut log {
            log.write(&log_lines)?;
        }
        if let Some(error) = failure {
            flush(out, &mut log)?;
            return Err(error);
        }
        if out.is_closed() {
            break;
        }
    }
    flush(out, &mut log).map(|()| total_rejected)
}

#[cfg(test)]
mod tests;
