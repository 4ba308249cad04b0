//! Many decisions: a stream of lines, of which each has its own answer or its own error.

use super::Service;
use super::decide::{Decider, Unanswered};
use crate::log::{DecisionLog, Receipt};
use crate::problem::Problem;
use crate::rules::RuleSet;
use rulec::{Code, JsonError};
use rulec_report::answer::{AnswerOptions, LineError, RejectedLine};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The settings that all messages of a batch share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BatchSettings {
    pub rules: Option<String>,
    pub entry: Option<String>,
    pub explain: bool,
    pub matched: bool,
    pub analysis: bool,
}

/// A batch as one JSON object: the settings, and the messages as an array.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchRequest<'m> {
    #[serde(default)]
    rules: Option<String>,
    #[serde(default)]
    entry: Option<String>,
    #[serde(default)]
    explain: bool,
    #[serde(default)]
    matched: bool,
    #[serde(default)]
    analysis: bool,
    #[serde(borrow)]
    messages: Vec<&'m RawValue>,
}

impl BatchRequest<'_> {
    pub fn settings(&self) -> BatchSettings {
        let BatchRequest { explain, matched, analysis, .. } = *self;
        BatchSettings { rules: self.rules.clone(), entry: self.entry.clone(), explain, matched, analysis }
    }
}

/// A batch of messages for one entry.
#[derive(Clone)]
pub(crate) struct Batch {
    set: Arc<RuleSet>,
    entry: Option<String>,
    options: AnswerOptions,
}

impl Batch {
    /// Begins a batch.
    ///
    /// # Errors
    /// If there are no such rules or entry.
    pub fn new(service: &Service, settings: BatchSettings) -> Result<Batch, Problem> {
        let set = service.set(settings.rules.as_deref())?;
        let version = set.active();
        version.live().rules().entry(version.entry_name(settings.entry.as_deref())?)?;
        let BatchSettings { matched, explain: explanation, analysis, entry, .. } = settings;
        let options = AnswerOptions { matched, explanation, analysis, ..AnswerOptions::default() };
        Ok(Batch { set: set.clone(), entry, options })
    }

    /// Answers the messages of a JSON array, as a JSON array in the same order. A message without
    /// an answer has an error in its place.
    ///
    /// # Errors
    /// If the decision log cannot be written.
    pub fn answer_array(&self, service: &Service, request: &BatchRequest<'_>) -> Result<Vec<u8>, Problem> {
        let mut block = Block { batch: self, log: service.log(), out: vec![b'['], receipts: Vec::new() };
        for (message, number) in request.messages.iter().zip(1..) {
            block.answer_line(number, message.get().as_bytes());
            block.out.push(b',');
        }
        block.out.pop_if(|last| *last == b',');
        block.out.push(b']');
        block.finish()
    }

    /// Answers lines, of which the first has the number `first`. Blank lines have no answer. Each
    /// answer ends with a line feed. A line over the limit is `None`.
    ///
    /// # Errors
    /// If the decision log cannot be written.
    pub fn answer_lines<'l>(
        &self,
        service: &Service,
        first: u64,
        lines: impl Iterator<Item = Option<&'l [u8]>>,
    ) -> Result<Vec<u8>, Problem> {
        let mut block = Block { batch: self, log: service.log(), out: Vec::new(), receipts: Vec::new() };
        for (line, number) in lines.zip(first..) {
            match line {
                Some(line) if line.trim_ascii().is_empty() => continue,
                Some(line) => block.answer_line(number, line),
                None => write_error(number, LineError::from(&JsonError::too_long()), &mut block.out),
            }
            block.out.push(b'\n');
        }
        block.finish()
    }
}

/// The answers of messages that are sent together.
struct Block<'b> {
    batch: &'b Batch,
    log: Option<&'b DecisionLog>,
    out: Vec<u8>,
    receipts: Vec<Receipt>,
}

impl Block<'_> {
    /// Waits until the lines of the decision log are on the disk, if the log promises that, and
    /// returns the answers.
    fn finish(self) -> Result<Vec<u8>, Problem> {
        self.receipts.into_iter().try_for_each(Receipt::wait_blocking)?;
        Ok(self.out)
    }

    fn answer_line(&mut self, number: u64, message: &[u8]) {
        let Block { batch, log, out, receipts } = self;
        let start = out.len();
        let answered = catch_unwind(AssertUnwindSafe(|| -> Result<Receipt, Unanswered> {
            let version = batch.set.active();
            let entry = version.entry_name(batch.entry.as_deref())?;
            let (set, options) = (&*batch.set, batch.options);
            let decider = Decider { set, version: &version, entry, options, why_not: None, log: *log };
            Ok(decider.answer(message, Some(number), out)?.receipt)
        }));
        let problem = match answered {
            Ok(Ok(receipt)) => return receipts.push(receipt),
            Ok(Err(Unanswered::Invalid(error))) => {
                out.truncate(start);
                return write_error(number, LineError::from(&error), out);
            }
            Ok(Err(Unanswered::Problem(problem))) => problem,
            Err(_) => Problem::broken("rulec stopped because of an internal error"),
        };
        out.truncate(start);
        let message = problem.detail().into();
        let error = LineError { code: Code::DecisionFailed, message, column: None, path: "", help: None };
        write_error(number, error, out);
    }
}

fn write_error(line: u64, error: LineError<'_>, out: &mut Vec<u8>) {
    // Texts and numbers can always be written as JSON.
    let _ = serde_json::to_writer(out, &RejectedLine { line, error });
}
