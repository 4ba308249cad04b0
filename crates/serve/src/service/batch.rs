//! Answers batches: requests with many messages for one entry (such as a table). Each message gets
//! its own answer or its own error.

use super::Service;
use super::decide::{AnswerError, MessageDecider};
use crate::limits::RequestDeadline;
use crate::log::{DecisionLog, MemoryReservation};
use crate::problem::Problem;
use crate::receipt::Receipt;
use crate::rules::RuleSet;
use crate::trace::TraceId;
use bytes::Bytes;
use rulec::history::RecordError;
use rulec::{Code, JsonError};
use rulec_report::answer::{AnswerOptions, LineError, RejectedLine};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The memory that a block reserves for each of its answers, in bytes.
const MIN_ANSWER_BYTES: usize = 128;

/// The settings that apply to all messages of a batch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BatchSettings {
    pub rules: Option<String>,
    pub entry: Option<String>,
    pub explain: bool,
    pub matched: bool,
    pub analysis: bool,
    pub record: bool,
}

impl BatchSettings {
    /// Combines two groups of settings. A name that `self` lacks is taken from `other`. A flag is
    /// set if it is set in at least one of the two groups.
    pub fn with_fallback(self, other: BatchSettings) -> BatchSettings {
        BatchSettings {
            rules: self.rules.or(other.rules),
            entry: self.entry.or(other.entry),
            explain: self.explain || other.explain,
            matched: self.matched || other.matched,
            analysis: self.analysis || other.analysis,
            record: self.record || other.record,
        }
    }
}

/// A batch as one JSON object: the settings, and an array of the messages.
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
    #[serde(default)]
    record: bool,
    #[serde(borrow)]
    messages: Vec<&'m RawValue>,
}

impl BatchRequest<'_> {
    /// Returns the byte range of each message in `body`. `body` must be the text from which this
    /// request was read.
    pub fn message_ranges(&self, body: &[u8]) -> Vec<Range<usize>> {
        let ranges = self.messages.iter().map(|message| {
            let text = message.get();
            let start = (text.as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
            start..start + text.len()
        });
        ranges.collect()
    }

    pub fn settings(&self) -> BatchSettings {
        let BatchRequest { explain, matched, analysis, record, .. } = *self;
        let (rules, entry) = (self.rules.clone(), self.entry.clone());
        BatchSettings { rules, entry, explain, matched, analysis, record }
    }
}

/// How the answers to a batch of messages are joined to one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchLayout {
    /// The answers are lines, one for each line with a message. Blank lines have no answer.
    Lines,
    /// The answers are the elements of a JSON array. The text begins with the opening bracket, and
    /// the caller writes the closing bracket.
    Array,
}

/// A batch of messages: the rules and the entry (such as a table) that decide them, and the layout
/// of the answers.
#[derive(Clone)]
pub(crate) struct MessageBatch {
    set: Arc<RuleSet>,
    entry_name: Option<String>,
    options: AnswerOptions,
    /// Whether each message is recorded in the history together with its decision.
    should_record: bool,
    layout: BatchLayout,
    /// The trace id that the caller has sent, for the decision log.
    trace_id: Option<TraceId>,
}

/// Consecutive messages of a batch that are answered together.
#[derive(Debug)]
pub(crate) struct MessageBlock {
    /// The number of the block's first message in the batch, from 1.
    pub first_message_number: u64,
    /// The messages as JSON text. `None` for a line that was dropped because it exceeds the limit.
    pub message_lines: Vec<Option<Bytes>>,
}

impl MessageBatch {
    /// Creates a batch. Checks first that its rule set and its entry exist.
    ///
    /// # Errors
    /// If the service has no such rules, or the rules have no such entry. Also if the messages are
    /// to be recorded, but the rules keep no history.
    pub fn new(
        service: &Service,
        settings: BatchSettings,
        layout: BatchLayout,
        trace: Option<TraceId>,
    ) -> Result<MessageBatch, Problem> {
        let set = service.rule_set(settings.rules.as_deref())?;
        let version = set.active();
        version.live().rules().entry(version.entry_name(settings.entry.as_deref())?)?;
        let BatchSettings { matched, explain: explanation, analysis, entry, record, .. } = settings;
        if record && !version.has_history() {
            return Err(RecordError::NoHistory.into());
        }
        let options = AnswerOptions {
            includes_matched: matched,
            includes_explanation: explanation,
            includes_analysis: analysis,
            ..AnswerOptions::default()
        };
        Ok(MessageBatch { set, entry_name: entry, options, should_record: record, layout, trace_id: trace })
    }

    /// Returns the maximum number of messages of a block. Blocks with explanations are smaller,
    /// because an explanation can be a thousand times as long as its message. So are blocks whose
    /// messages are recorded, because a block that is not answered in time may be recorded in part.
    pub fn max_messages_per_block(&self) -> usize {
        let AnswerOptions {
            includes_matched: matched,
            includes_explanation: explanation,
            includes_analysis: analysis,
            ..
        } = self.options;
        if matched || explanation || analysis || self.should_record { 16 } else { 1024 }
    }

    /// True if a block of messages may be answered only after all earlier blocks. This is so if
    /// messages are recorded, because each decision reads the messages recorded before it.
    pub fn keeps_order(&self) -> bool {
        self.should_record
    }

    /// Answers the messages of a block, in order. If a message cannot be decided, its answer is an
    /// error.
    ///
    /// # Errors
    /// If the deadline has passed, or the decision log cannot be written.
    pub fn answer_block(
        &self,
        service: &Service,
        block: &MessageBlock,
        deadline: RequestDeadline,
    ) -> Result<Vec<u8>, Problem> {
        // The answers to most messages are short.
        let answer_bytes = Vec::with_capacity(MIN_ANSWER_BYTES * block.message_lines.len());
        let (log, receipts) = (service.log(), Vec::new());
        let mut answers = BlockAnswerWriter { batch: self, log, deadline, answer_bytes, receipts };
        for (line, number) in block.message_lines.iter().zip(block.first_message_number..) {
            deadline.check_not_passed()?;
            let is_blank = line.as_ref().is_some_and(|line| line.trim_ascii().is_empty());
            match self.layout {
                BatchLayout::Lines if is_blank => continue,
                BatchLayout::Lines => {}
                BatchLayout::Array => answers.answer_bytes.push(if number == 1 { b'[' } else { b',' }),
            }
            match line {
                Some(line) => answers.answer_line(number, line)?,
                None => {
                    write_error(number, LineError::from(&JsonError::too_long()), &mut answers.answer_bytes)
                }
            }
            if self.layout == BatchLayout::Lines {
                answers.answer_bytes.push(b'\n');
            }
        }
        answers.finish_when_logged()
    }
}

/// Writes the answers of one block. Also collects the receipts, with which it waits until the
/// decisions are in the decision log.
struct BlockAnswerWriter<'b> {
    batch: &'b MessageBatch,
    log: Option<&'b DecisionLog>,
    deadline: RequestDeadline,
    answer_bytes: Vec<u8>,
    receipts: Vec<Receipt>,
}

impl BlockAnswerWriter<'_> {
    /// Waits until the lines of the decisions are in the decision log, if the mode of the log
    /// requires that. Returns the answers as bytes.
    ///
    /// # Errors
    /// If the log cannot be written, or the deadline passes first.
    fn finish_when_logged(self) -> Result<Vec<u8>, Problem> {
        let BlockAnswerWriter { answer_bytes, receipts, deadline, .. } = self;
        let written = async {
            for receipt in receipts {
                receipt.wait().await?;
            }
            Ok::<_, Problem>(())
        };
        deadline.block_on(written)??;
        Ok(answer_bytes)
    }

    /// Appends the answer to one message; if the message cannot be decided, its answer is the
    /// error. `number` is the number of the message's line.
    ///
    /// # Errors
    /// If the decision log still has no memory for the decision at the deadline.
    fn answer_line(&mut self, number: u64, message: &[u8]) -> Result<(), Problem> {
        let reservation = match self.log {
            Some(log) => match log.try_reserve_memory(message.len()) {
                Ok(reservation) => reservation,
                Err(_) => self.deadline.block_on(log.reserve_memory(message.len()))?,
            },
            None => MemoryReservation::default(),
        };
        let BlockAnswerWriter { batch, log, deadline, answer_bytes, receipts } = self;
        let start = answer_bytes.len();
        let answered = catch_unwind(AssertUnwindSafe(|| -> Result<Receipt, AnswerError> {
            let version = batch.set.active();
            let decider = MessageDecider {
                set: &batch.set,
                version: &version,
                entry_name: version.entry_name(batch.entry_name.as_deref())?,
                options: batch.options,
                why_not_route: None,
                log: *log,
                deadline: *deadline,
                should_record: batch.should_record,
                trace: batch.trace_id,
            };
            Ok(decider.answer_message(message, Some(number), reservation, answer_bytes)?.receipt)
        }));
        let problem = match answered {
            Ok(Ok(receipt)) => {
                receipts.push(receipt);
                return Ok(());
            }
            Ok(Err(AnswerError::Invalid(error))) => {
                answer_bytes.truncate(start);
                write_error(number, LineError::from(&error), answer_bytes);
                return Ok(());
            }
            Ok(Err(AnswerError::Problem(problem))) => problem,
            Err(_) => Problem::broken("rulec stopped because of an internal error"),
        };
        answer_bytes.truncate(start);
        let message = problem.detail().into();
        let error = LineError { code: Code::DecisionFailed, message, column: None, path: "", help: None };
        write_error(number, error, answer_bytes);
        Ok(())
    }
}

fn write_error(line: u64, error: LineError<'_>, out: &mut Vec<u8>) {
    // Writing to memory cannot fail, and the error consists of texts and numbers.
    let _ = serde_json::to_writer(out, &RejectedLine { line, error });
}
