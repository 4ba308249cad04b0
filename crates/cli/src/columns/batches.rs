//! Answering batch by batch. One thread reads, so that memory holds a few batches however long the input is.

use super::{ColumnArgs, LINES};
use crate::language::{language, tell};
use crate::lines::Lines;
use crate::progress::Progress;
use crate::stream::{self, StreamArgs, Worker};
use crate::summary::Summary;
use crate::term::Term;
use crate::{CliError, files, mistake};
use rulec::internals::diag::said;
use rulec::{Entry, Rules};
use rulec_columns::formats::{self, Format, Sink, Source};
use rulec_columns::{AnswerColumns, Decider, Messages, Options, Part, RecordBatch, SchemaRef, write_lines};
use serde_json::{Value as Json, json};
use std::fmt::Display;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};

/// A worker that answers messages.
pub struct Answering<'a, W> {
    /// The rules and the entry, where an answer is a decision and nothing else, so that columns are decided as they are.
    decisions: Option<(&'a Rules, Entry<'a>)>,
    /// True when all routes that hold are asked for.
    matched: bool,
    /// The worker for everything else.
    pub worker: W,
    /// The columns of its answers.
    answers: AnswerColumns,
    /// The decisions by columns.
    pub summary: Summary,
    /// The messages that were none.
    pub refused: usize,
    /// The worker's answers that are not written yet.
    text: Vec<u8>,
}

impl<'a, W> Answering<'a, W> {
    /// A worker's answers, which have these columns.
    pub fn new(worker: W, answers: AnswerColumns) -> Answering<'a, W> {
        let (decisions, matched, summary) = (None, false, Summary::default());
        Answering { decisions, matched, worker, answers, summary, refused: 0, text: Vec::new() }
    }

    /// The same where an answer is a decision by an entry and nothing else, with all routes that hold if `matched`.
    pub fn of_decisions(self, rules: &'a Rules, entry: Entry<'a>, matched: bool) -> Answering<'a, W> {
        Answering { decisions: Some((rules, entry)), matched, ..self }
    }
}

enum Output {
    Lines(Box<dyn Write + Send>),
    Columns(Box<dyn Sink>),
}

impl Output {
    fn write(&mut self, answers: &RecordBatch, first: u64) -> Result<(), CliError> {
        match self {
            Output::Lines(out) => write_lines(answers, first, out).map_err(unwritten),
            Output::Columns(sink) => sink.write(answers).map_err(unwritten),
        }
    }

    fn finish(&mut self) -> Result<(), CliError> {
        match self {
            Output::Lines(out) => out.flush().map_err(unwritten),
            Output::Columns(sink) => sink.finish().map_err(unwritten),
        }
    }
}

fn unwritten(error: impl Display) -> CliError {
    CliError::usage(said!("the answers cannot be written: {}", error.to_string()))
}

impl ColumnArgs {
    /// Answers every message of the stream. What was answered before the input turns out to be broken is written whole.
    pub fn answer<W: Worker>(
        &self,
        stream: &StreamArgs,
        term: &Term,
        mut answering: Answering<'_, W>,
    ) -> Result<(W, Summary, usize), CliError> {
        let form = self.input(stream.path());
        if form == LINES {
            let (input, name, _) = stream::open(stream.path(), term)?;
            let mut out = self.create(&answering.answers.schema())?;
            let answered = answering.lines(Lines::new(name, input), &mut out);
            out.finish().and(answered)?;
            return Ok((answering.worker, answering.summary, answering.refused));
        }
        let mut source = self.source(&form, stream, term)?;
        let mut out;
        let answered = match answering.decisions {
            Some((rules, entry)) => {
                let options = self.options(&*source, answering.matched);
                let decider = Decider::new(rules, Some(entry.name()), source.schema(), &options);
                let mut decider = decider.map_err(CliError::foreign)?;
                out = self.create(&decider.schema())?;
                answering.decide(&mut *source, &mut decider, &mut out)
            }
            None => {
                out = self.create(&answering.answers.schema())?;
                let messages = Messages::new(source.schema(), &self.options(&*source, false));
                answering.work(&mut *source, &messages, &mut out)
            }
        };
        out.finish().and(answered)?;
        match source.cut() {
            Some(cut) => Err(CliError::usage(said!("`{}`: {}", name(stream), cut.to_string()))),
            None => Ok((answering.worker, answering.summary, answering.refused)),
        }
    }

    fn options(&self, source: &dyn Source, matched: bool) -> Options {
        let mut options =
            self.json_column.iter().fold(Options::default(), |options, name| options.json(name));
        if self.allow_missing_columns {
            options = options.allow_missing();
        }
        if source.is_untyped() {
            options = options.untyped();
        }
        if matched { options.matched() } else { options }
    }

    fn source(&self, form: &str, stream: &StreamArgs, term: &Term) -> Result<Box<dyn Source>, CliError> {
        let format = format(form)?;
        let failed = |error: formats::FormatError| files::unreadable(&name(stream), &error.to_string());
        let path = stream.path().filter(|path| *path != std::path::Path::new("-"));
        // What is no file of messages is refused as with lines.
        let (input, _, size) = stream::open(stream.path(), term)?;
        let source = match path {
            Some(path) => formats::open(
                format,
                File::open(path).map_err(|error| files::unreadable(&name(stream), &error))?,
            ),
            None => formats::stream(format, input, size),
        };
        Ok(Box::new(Watched {
            source: source.map_err(failed)?,
            progress: Progress::new(size),
            size,
            name: name(stream),
        }))
    }

    fn create(&self, schema: &SchemaRef) -> Result<Output, CliError> {
        let form = self.out();
        let out: Box<dyn Write + Send> = match &self.output {
            Some(path) => Box::new(std::io::BufWriter::new(
                File::create(path).map_err(|error| files::unwritable(path, &error))?,
            )),
            None if form != LINES && form != "csv" && std::io::stdout().is_terminal() => {
                return Err(CliError::usage(said!("{form} is no text; name a file with `--output`")));
            }
            None => Box::new(std::io::BufWriter::new(std::io::stdout())),
        };
        if form == LINES {
            return Ok(Output::Lines(out));
        }
        formats::create(format(&form)?, schema, out).map(Output::Columns).map_err(unwritten)
    }
}

fn format(name: &str) -> Result<Format, CliError> {
    let mut all = Format::ALL.into_iter();
    all.find(|format| format.name() == name)
        .ok_or_else(|| CliError::usage(said!("`{name}` is no form of columns")))
}

fn name(stream: &StreamArgs) -> String {
    stream.path().map_or_else(crate::standard::name, |path| path.display().to_string())
}

/// A source with a progress bar.
struct Watched {
    source: Box<dyn Source>,
    progress: Progress,
    size: Option<u64>,
    name: String,
}

impl Source for Watched {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a bar"
    )]
    fn next(&mut self) -> Result<Option<Part>, formats::FormatError> {
        let part = self.source.next().map_err(|error| error.of(&self.name))?;
        match (&part, self.size, self.source.share()) {
            (Some(_), Some(size), Some(share)) => self.progress.at((share * size as f64) as u64),
            (None, ..) => self.progress.finish(),
            _ => {}
        }
        Ok(part)
    }

    fn is_untyped(&self) -> bool {
        self.source.is_untyped()
    }

    fn cut(&self) -> Option<&str> {
        self.source.cut()
    }
}

impl<W: Worker> Answering<'_, W> {
    /// Decides columns as they are.
    fn decide(
        &mut self,
        source: &mut dyn Source,
        decider: &mut Decider,
        out: &mut Output,
    ) -> Result<(), CliError> {
        let mut first = 1;
        while let Some(part) = source.next().map_err(CliError::foreign)? {
            let mut decided = 0;
            let answers = decider.decide_part(&part, |decision| {
                decided += 1;
                self.summary.decided(decision);
            });
            out.write(&answers.map_err(CliError::foreign)?, first)?;
            first += part.batch.num_rows() as u64;
            self.refused += part.batch.num_rows() - decided;
        }
        Ok(())
    }

    /// Has the worker answer rows, each as a message of JSON.
    fn work(
        &mut self,
        source: &mut dyn Source,
        messages: &Messages,
        out: &mut Output,
    ) -> Result<(), CliError> {
        let mut first = 1;
        while let Some(part) = source.next().map_err(CliError::foreign)? {
            let each = messages.each(&part, |row, message| match message {
                Ok(message) => self.message(first + row as u64, message.to_string().as_bytes()),
                Err(error) => {
                    let error = json!({"code": error.code(), "message": error.message()});
                    self.refuse(first + row as u64, &error);
                }
            });
            each.map_err(CliError::foreign)?;
            self.write(out)?;
            first += part.batch.num_rows() as u64;
        }
        Ok(())
    }

    /// Has the worker answer lines.
    fn lines(&mut self, mut lines: Lines<Box<dyn Read + Send>>, out: &mut Output) -> Result<(), CliError> {
        while let Some(chunk) = lines.next_chunk()? {
            for (number, line) in chunk.lines() {
                match line {
                    Some(line) if line.trim_ascii().is_empty() => {}
                    Some(line) => self.message(number, line),
                    None => {
                        let error = rulec::JsonError::too_long().told_in(language());
                        self.refuse(
                            number,
                            &json!({"code": error.kind().code(), "message": error.message()}),
                        );
                    }
                }
            }
            self.write(out)?;
        }
        Ok(())
    }

    /// Has the worker answer a message.
    fn message(&mut self, number: u64, message: &[u8]) {
        let before = self.text.len();
        let error = match mistake::caught(|| self.worker.answer(number, message, &mut self.text)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                let error = error.told_in(language());
                json!({
                    "code": error.kind().code(), "message": error.message(), "column": error.column(),
                    "path": error.path(), "help": error.help(),
                })
            }
            Err(mistake) => json!({
                "code": rulec::Code::DecisionFailed, "message": tell(&mistake), "help": tell(&mistake::REPORT),
            }),
        };
        self.text.truncate(before);
        self.refuse(number, &error);
    }

    fn refuse(&mut self, number: u64, error: &Json) {
        self.refused += 1;
        stream::write_json(&mut self.text, &json!({ "line": number, "error": error }));
    }

    /// Writes the answers so far: as they are, or as columns.
    fn write(&mut self, out: &mut Output) -> Result<(), CliError> {
        let text = std::mem::take(&mut self.text);
        match out {
            Output::Lines(out) => out.write_all(&text).map_err(unwritten),
            Output::Columns(sink) => {
                for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    self.answers.push(&serde_json::from_slice(line).map_err(unwritten)?);
                }
                sink.write(&self.answers.finish()).map_err(unwritten)
            }
        }
    }
}
