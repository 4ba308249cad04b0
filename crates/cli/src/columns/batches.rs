//! Decides or validates messages batch by batch on several threads. Only a few batches are in
//! progress at once, so that memory does not grow with the input.

use super::{ColumnArgs, LINES_FORMAT};
use crate::language::{language, localized};
use crate::lines::{LineChunk, LineReader};
use crate::ordered_pool::{self, OrderedResults};
use crate::progress::InputProgress;
use crate::stream::{self, LineOutcome, LineWorker, StreamArgs};
use crate::summary::DecisionSummary;
use crate::term::{Out, Term};
use crate::{CliError, files, signals, stdio};
use rulec::{Entry, Rules};
use rulec_arrow::formats::{self, Format, FormatError, Sink, Source};
use rulec_arrow::{
    AnswerColumns, BatchWithErrors, Decider, MessageConverter, Options, RecordBatch, SchemaRef, write_lines,
};
use rulec_base::message;
use rulec_report::files::FileReplacement;
use serde_json::json;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a run computes the results of its messages. Plain decisions (without explanation or intent
/// flow) are made directly on columns. Workers compute all other results from JSON messages, and
/// write them to columns that `create_columns` creates.
pub struct AnswerMode<'a> {
    /// The rules and the entry (a table or router) that decide, if each message needs only a plain
    /// decision. Such decisions are made directly on columns. `None` if workers compute the results
    /// from JSON messages, for example to explain decisions.
    rules_and_entry: Option<(&'a Rules, Entry<'a>)>,
    /// Whether a result also lists all matching routes.
    lists_matches: bool,
    /// A function that creates the builder of output columns for the results of workers.
    create_columns: &'a (dyn Fn() -> AnswerColumns + 'a),
}

impl<'a> AnswerMode<'a> {
    /// Returns a mode in which workers compute all results. `answers` creates the builder of output
    /// columns.
    pub fn new(answers: &'a (dyn Fn() -> AnswerColumns + 'a)) -> AnswerMode<'a> {
        AnswerMode { rules_and_entry: None, lists_matches: false, create_columns: answers }
    }

    /// Returns this mode with decisions by `entry` (a table or router) directly on columns, without
    /// workers. If `matched`, each result also lists all matching routes.
    pub fn with_plain_decisions(self, rules: &'a Rules, entry: Entry<'a>, matched: bool) -> AnswerMode<'a> {
        AnswerMode { rules_and_entry: Some((rules, entry)), lists_matches: matched, ..self }
    }
}

/// The outcome of a whole run: the workers with their own counts, the summary of the decisions that
/// were made directly on columns, and the number of rejected messages.
pub type StreamResult<W> = (Vec<W>, DecisionSummary, usize);

/// The input of one job of a worker thread: a batch of lines or a batch of rows.
enum InputBatch {
    Lines(LineChunk),
    /// A batch of rows, and the number of its first row in the input, counted from 1.
    Rows(BatchWithErrors, u64),
}

/// A batch of results: JSON lines, or columns for a columnar output format.
enum OutputBatch {
    Lines(Vec<u8>),
    Columns(RecordBatch),
}

/// What one worker thread needs to compute results, and its counts.
struct WorkerState<W> {
    /// Decides messages directly on columns; `None` if the worker must process each message.
    decider: Option<Decider>,
    /// Processes the messages that `decider` does not decide.
    worker: W,
    /// The builder of output columns for the results; `None` if the output is JSON lines.
    columns: Option<AnswerColumns>,
    summary: DecisionSummary,
    /// Number of messages that were rejected because they are not valid.
    rejected_count: usize,
}

/// Destination of the results: standard output or a file.
struct ResultOutput<'o> {
    writer: OutputWriter<'o>,
    /// The output file, if the user named one. Results are written to a temporary file, which gets
    /// this name only after all results are written.
    file: Option<FileReplacement>,
}

enum OutputWriter<'o> {
    Standard(&'o mut Out),
    Lines(BufWriter<File>),
    Columns(Box<dyn Sink>, Arc<AtomicBool>),
}

impl ResultOutput<'_> {
    fn write(&mut self, answers: &OutputBatch) -> Result<(), CliError> {
        let outcome = match (&mut self.writer, answers) {
            (OutputWriter::Standard(out), OutputBatch::Lines(lines)) => out.write_answers(lines),
            (OutputWriter::Lines(out), OutputBatch::Lines(lines)) => {
                out.write_all(lines).map_err(write_error)
            }
            (OutputWriter::Columns(sink, _), OutputBatch::Columns(batch)) => {
                sink.write(batch).map_err(write_error)
            }
            // Worker threads produce results in the format of the output, so no other combination
            // occurs.
            _ => Ok(()),
        };
        // After a write error, the incomplete output file is discarded.
        outcome.inspect_err(|_| drop(self.file.take()))
    }

    fn flush(&mut self) -> Result<(), CliError> {
        let outcome = match &mut self.writer {
            OutputWriter::Standard(out) => out.flush(),
            OutputWriter::Lines(out) => out.flush().map_err(write_error),
            OutputWriter::Columns(..) => Ok(()),
        };
        outcome.inspect_err(|_| drop(self.file.take()))
    }

    fn finish(&mut self) -> Result<(), CliError> {
        match &mut self.writer {
            OutputWriter::Columns(sink, _) => sink.finish().map_err(write_error),
            _ => self.flush(),
        }?;
        self.file.take().map_or(Ok(()), |file| file.finish().map_err(write_error))
    }

    /// True if the program that reads the output has closed the pipe.
    fn is_closed(&self) -> bool {
        match &self.writer {
            OutputWriter::Standard(out) => out.is_closed(),
            OutputWriter::Lines(_) => false,
            OutputWriter::Columns(_, closed) => closed.load(Ordering::Relaxed),
        }
    }

    fn is_columns(&self) -> bool {
        matches!(self.writer, OutputWriter::Columns(..))
    }

    /// Writes results in input order until no results are left or the reader has closed the output.
    fn write_results(
        &mut self,
        results: &OrderedResults<Result<OutputBatch, CliError>>,
    ) -> Result<(), CliError> {
        while !self.is_closed()
            && let Some(answers) = results.next(|| self.flush())?
        {
            self.write(&answers?)?;
        }
        Ok(())
    }
}

fn write_error(error: impl Display) -> CliError {
    CliError::usage_error(message!("the answers cannot be written: {}", error.to_string()))
}

/// Standard output for columnar formats. After the reader closes the pipe, further output is
/// discarded.
struct StdoutWriter {
    inner: Box<dyn Write + Send>,
    is_closed: Arc<AtomicBool>,
}

impl StdoutWriter {
    fn try_write<T>(&mut self, result: io::Result<T>, value_if_closed: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed.store(true, Ordering::Relaxed);
                Ok(value_if_closed)
            }
            result => result,
        }
    }
}

impl Write for StdoutWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.try_write(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.try_write(result, ())
    }
}

impl ColumnArgs {
    /// Decides or validates every message of the stream in the given mode, and writes the results.
    /// `worker` creates a worker for each thread. If the input turns out to be damaged, all earlier
    /// results are still written.
    pub fn answer_columns<W: LineWorker>(
        &self,
        stream: &StreamArgs,
        term: &Term,
        out: &mut Out,
        mode: &AnswerMode<'_>,
        worker: impl Fn() -> W,
    ) -> Result<StreamResult<W>, CliError> {
        self.check_output_is_not_input(stream)?;
        let new_state = |decider: Option<Decider>, columns: bool| WorkerState {
            decider,
            worker: worker(),
            columns: columns.then(|| (mode.create_columns)()),
            summary: DecisionSummary::default(),
            rejected_count: 0,
        };
        let format_name = self.input_format(stream.input_path());
        if format_name == LINES_FORMAT {
            let (input, name, size) = stream.open_input(term)?;
            let mut output = self.create_output(&(mode.create_columns)().schema(), out)?;
            let (mut lines, mut progress) = (LineReader::new(name, input), InputProgress::new(size));
            let next_job = || {
                let chunk = lines.next_chunk()?;
                progress.set_position(lines.bytes_read());
                Ok(chunk.map(InputBatch::Lines))
            };
            let states =
                (0..stream.worker_count(size)).map(|_| new_state(None, output.is_columns())).collect();
            let result = answer_all_batches(states, next_job, None, &mut output)?;
            return lines.check_not_truncated(size).map(|()| result);
        }
        let mut source = self.open_source(&format_name, stream, term)?;
        let (columns, options) =
            (source.source.schema(), self.column_options(&*source.source, mode.lists_matches));
        let decider = mode.rules_and_entry.map(|(rules, entry)| {
            Decider::new(rules, Some(entry.name()), Arc::clone(&columns), &options)
                .map_err(|error| CliError::usage_error(error.to_message()))
        });
        let (decider, messages) = (decider.transpose()?, MessageConverter::new(columns, &options));
        let schema = decider.as_ref().map_or_else(|| (mode.create_columns)().schema(), Decider::schema);
        let mut output = self.create_output(&schema, out)?;
        let clone_decider = || decider.as_ref().map(Decider::clone_for_thread);
        let states = (0..stream.worker_count(source.input_bytes))
            .map(|_| new_state(clone_decider(), output.is_columns()))
            .collect();
        let result = answer_all_batches(states, || source.next_batch(), Some(&messages), &mut output)?;
        match source.source.truncation_message() {
            Some(cut) if signals::caught_signal().is_none() => {
                Err(CliError::usage_error(message!("`{}`: {cut}", stream_name(stream))))
            }
            _ => Ok(result),
        }
    }

    /// Returns an error if the output file is also the input file.
    fn check_output_is_not_input(&self, stream: &StreamArgs) -> Result<(), CliError> {
        let canonical_path = |path: Option<&Path>| path.and_then(|path| path.canonicalize().ok());
        match (canonical_path(stream.input_path()), canonical_path(self.output.as_deref())) {
            (Some(input), Some(output)) if input == output => Err(CliError::usage_error(message!(
                "`{}` contains the input messages; choose another file with `--output`",
                stream_name(stream)
            ))),
            _ => Ok(()),
        }
    }

    fn column_options(&self, source: &dyn Source, matched: bool) -> Options {
        let mut options =
            self.json_column.iter().fold(Options::default(), |options, name| options.json_column(name));
        options = options.language(language());
        if self.allow_missing_columns {
            options = options.allow_missing();
        }
        if source.is_untyped() {
            options = options.untyped_cells();
        }
        if matched { options.matched_column() } else { options }
    }

    fn open_source(
        &self,
        format_name: &str,
        stream: &StreamArgs,
        term: &Term,
    ) -> Result<ProgressSource, CliError> {
        let format = parse_format(format_name)?;
        let read_error =
            |error: FormatError| files::unreadable_error(&stream_name(stream), &error.to_message());
        let path = stream.input_path().filter(|path| *path != Path::new("-"));
        // Like for JSON lines, `open` rejects inputs that cannot be message files, such as folders.
        let (input, _, size) = stream.open_input(term)?;
        let source = match path {
            Some(path) => formats::open_source(
                format,
                File::open(path).map_err(|error| files::unreadable_error(&stream_name(stream), &error))?,
            ),
            None => formats::open_stream(format, input, size),
        };
        let (source, progress) = (source.map_err(read_error)?, InputProgress::new(size));
        Ok(ProgressSource {
            source,
            progress,
            input_bytes: size,
            source_name: stream_name(stream),
            rows_read: 0,
        })
    }

    fn create_output<'o>(&self, schema: &SchemaRef, out: &'o mut Out) -> Result<ResultOutput<'o>, CliError> {
        let (form, closed) = (self.output_format(), Arc::default());
        let replacement = self.output.as_ref().map(|path| {
            let open = || -> io::Result<(FileReplacement, BufWriter<File>)> {
                let mut file = FileReplacement::start_replace(path)?;
                let writer = file.file().try_clone()?;
                Ok((file, BufWriter::new(writer)))
            };
            open().map_err(|error| files::unwritable_error(path, &error))
        });
        let (file, writer) = replacement.transpose()?.unzip();
        if form == LINES_FORMAT {
            return Ok(ResultOutput {
                writer: writer.map_or(OutputWriter::Standard(out), OutputWriter::Lines),
                file,
            });
        }
        if file.is_none() && form != "csv" && io::stdout().is_terminal() {
            return Err(CliError::usage_error(message!(
                "{form} is not a text format; name a file with `--output`"
            )));
        }
        let out: Box<dyn Write + Send> = match writer {
            Some(writer) => Box::new(writer),
            None => Box::new(BufWriter::new(StdoutWriter {
                inner: stdio::open_stdout(),
                is_closed: Arc::clone(&closed),
            })),
        };
        let sink = formats::create_sink(parse_format(&form)?, schema, out).map_err(write_error)?;
        Ok(ResultOutput { writer: OutputWriter::Columns(sink, closed), file })
    }
}

/// Lets the worker threads process the whole input, and writes the results to `output`. `states`
/// has one element for each thread. `next_job` reads the next batch of the input. `messages`
/// converts rows to JSON messages; it is `None` if the input is lines.
fn answer_all_batches<W: LineWorker>(
    mut states: Vec<WorkerState<W>>,
    next_job: impl FnMut() -> Result<Option<InputBatch>, CliError> + Send,
    messages: Option<&MessageConverter>,
    output: &mut ResultOutput<'_>,
) -> Result<StreamResult<W>, CliError> {
    let outcome = ordered_pool::run_ordered(
        &mut states,
        next_job,
        |state, job| state.answer_batch(job, messages),
        |results| output.write_results(&results),
    );
    output.finish().and(outcome)?;
    let (mut summary, mut rejected, mut workers) = (DecisionSummary::default(), 0, Vec::new());
    for state in states {
        summary.merge(state.summary);
        rejected += state.rejected_count;
        workers.push(state.worker);
    }
    Ok((workers, summary, rejected))
}

fn parse_format(name: &str) -> Result<Format, CliError> {
    let mut formats = Format::ALL.into_iter();
    formats
        .find(|format| format.name() == name)
        .ok_or_else(|| CliError::usage_error(message!("`{name}` is not a column format")))
}

fn stream_name(stream: &StreamArgs) -> String {
    stream.input_path().map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
}

/// Reads batches of rows from a columnar input, and updates the progress bar.
struct ProgressSource {
    source: Box<dyn Source>,
    progress: InputProgress,
    input_bytes: Option<u64>,
    source_name: String,
    /// Number of rows read so far from the source.
    rows_read: u64,
}

impl ProgressSource {
    /// Reads the next batch of rows. `None` at the end of the input, or after a signal that stops
    /// the program.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a bar"
    )]
    fn next_batch(&mut self) -> Result<Option<InputBatch>, CliError> {
        let read_error =
            |error: FormatError| CliError::usage_error(error.with_file_name(&self.source_name).to_message());
        let part = match self.source.next() {
            // After a signal, reading stops at once, even within a batch.
            _ if signals::caught_signal().is_some() => return Ok(None),
            part => part.map_err(read_error)?,
        };
        let Some(part) = part else { return Ok(None) };
        if let (Some(size), Some(share)) = (self.input_bytes, self.source.fraction_read()) {
            self.progress.set_position((share * size as f64) as u64);
        }
        let first_row = self.rows_read + 1;
        self.rows_read += part.batch.num_rows() as u64;
        Ok(Some(InputBatch::Rows(part, first_row)))
    }
}

impl<W: LineWorker> WorkerState<W> {
    fn answer_batch(
        &mut self,
        job: InputBatch,
        messages: Option<&MessageConverter>,
    ) -> Result<OutputBatch, CliError> {
        let text = match (job, &mut self.decider) {
            (InputBatch::Rows(part, first_row), Some(_)) => return self.decide_batch(&part, first_row),
            (InputBatch::Rows(part, first_row), None) => self.answer_rows(&part, first_row, messages)?,
            (InputBatch::Lines(chunk), _) => {
                let (text, rejected) = stream::answer_chunk(&mut self.worker, &chunk);
                self.rejected_count += rejected;
                text
            }
        };
        let Some(columns) = &mut self.columns else { return Ok(OutputBatch::Lines(text)) };
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            columns.push(&serde_json::from_slice(line).map_err(write_error)?);
        }
        Ok(OutputBatch::Columns(columns.finish()))
    }

    /// Decides a batch of rows directly on its columns. `first_row` is the number of the batch's
    /// first row in the input.
    fn decide_batch(&mut self, part: &BatchWithErrors, first_row: u64) -> Result<OutputBatch, CliError> {
        let WorkerState { decider: Some(decider), summary, rejected_count, columns, .. } = self else {
            return Ok(OutputBatch::Lines(Vec::new()));
        };
        let mut decided = 0;
        let answers = decider.decide_batch_with_errors(part, |decision| {
            decided += 1;
            summary.count_decision(decision);
        });
        let answers = answers.map_err(|error| CliError::usage_error(error.to_message()))?;
        *rejected_count += part.batch.num_rows() - decided;
        if columns.is_some() {
            return Ok(OutputBatch::Columns(answers));
        }
        let mut lines = Vec::new();
        write_lines(&answers, first_row, &mut lines).map_err(write_error)?;
        Ok(OutputBatch::Lines(lines))
    }

    /// Converts each row of the batch `part` to a JSON message with `messages`, and lets the worker
    /// process the message. `first_row` is the number of the batch's first row in the input.
    /// Returns the results as JSON lines. Without `messages`, returns an empty text.
    fn answer_rows(
        &mut self,
        part: &BatchWithErrors,
        first_row: u64,
        messages: Option<&MessageConverter>,
    ) -> Result<Vec<u8>, CliError> {
        let (WorkerState { worker, rejected_count, .. }, mut text) = (self, Vec::new());
        let Some(messages) = messages else { return Ok(text) };
        let outcome = messages.convert_each_row(part, |row, message| {
            let number = first_row + row as u64;
            let outcome = match message {
                Ok(message) => {
                    stream::answer_message(worker, number, Some(message.to_string().as_bytes()), &mut text)
                }
                Err(error) => {
                    let error = json!({"code": error.code(), "message": localized(&error.to_message())});
                    stream::write_json(&mut text, &json!({ "line": number, "error": error }));
                    LineOutcome::Rejected
                }
            };
            *rejected_count += usize::from(outcome == LineOutcome::Rejected);
        });
        outcome.map(|()| text).map_err(|error| CliError::usage_error(error.to_message()))
    }
}
