//! Deciding batch by batch.

use crate::answers::Answers;
use crate::bind::{Binding, ColumnsError, Options};
use crate::block::{BLOCK, Block};
use crate::cell::Reader;
use crate::lanes::Lanes;
use crate::rows::{self, Part, RowError};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bumpalo::Bump;
use rulec::payload::Judge;
use rulec::{Decision, Entry, Rules, Session};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::Arc;

/// Decides the rows of record batches of one schema: for each batch one of answers. A thread has its own.
///
/// ```
/// use arrow_array::{Int64Array, RecordBatch, StringArray, record_batch};
/// use rulec::Rules;
/// use rulec_arrow::{Decider, Options};
///
/// let rules = Rules::from_text("route small when n < 10 -> few(n: n)\ndefault -> many")?;
/// let batch = record_batch!(("n", Int64, [Some(3), None, Some(30)]))?;
/// let mut decider = Decider::new(&rules, None, batch.schema(), &Options::default())?;
/// let answers = decider.decide(&batch)?;
///
/// let mut lines = Vec::new();
/// rulec_arrow::write_lines(&answers, 1, &mut lines)?;
/// let lines = String::from_utf8(lines)?;
/// assert!(lines.starts_with(r#"{"line":1,"entry":"routes","chosen":"small","target":"few","args":{"n":3}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Decider {
    rules: Rules,
    /// The entry's name; `None` for the routes outside any table.
    entry: Option<String>,
    binding: Arc<Binding>,
    options: Options,
    session: Session,
    answers: Answers,
}

impl Decider {
    /// A decider by an entry, or by the routes outside any table, for batches of a schema.
    ///
    /// # Errors
    /// When there is no such entry, a column that the rules read is missing, or one is of a type that they cannot read.
    pub fn new(
        rules: &Rules,
        entry: Option<&str>,
        schema: SchemaRef,
        options: &Options,
    ) -> Result<Decider, ColumnsError> {
        let by = entry.map_or_else(|| Ok(rules.main()), |name| rules.entry(name))?;
        let session = by.session();
        let binding = Arc::new(Binding::new(schema, &session, options)?);
        let answers = Answers::of(rules, by, options.wants_matched()).told_in(options.told_in());
        let (rules, entry, options) = (rules.clone(), entry.map(str::to_owned), options.clone());
        Ok(Decider { rules, entry, binding, options, session, answers })
    }

    /// The columns of the answers.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.answers.schema())
    }

    /// The columns of the batches.
    pub fn input_schema(&self) -> &SchemaRef {
        self.binding.schema()
    }

    /// The columns of the batches that the rules read, by their numbers.
    pub fn reads(&self) -> Vec<usize> {
        self.binding.reads()
    }

    /// Another one like it, for another thread. The columns are bound already.
    #[must_use]
    pub fn another(&self) -> Decider {
        let entry = self.entry.as_deref().map_or(Ok(self.rules.main()), |name| self.rules.entry(name));
        let entry = entry.unwrap_or_else(|_| self.rules.main());
        Decider {
            rules: self.rules.clone(),
            entry: self.entry.clone(),
            binding: Arc::clone(&self.binding),
            options: self.options.clone(),
            session: entry.session(),
            answers: Answers::of(&self.rules, entry, self.options.wants_matched())
                .told_in(self.options.told_in()),
        }
    }

    /// Decides every row of a batch; the answers are its rows in their order. A row that is no message has its `error`.
    ///
    /// # Errors
    /// When the batch has other columns than those that were bound.
    pub fn decide(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ColumnsError> {
        self.decide_part(&Part::from(batch.clone()), |_| ())
    }

    /// Decides every row of what was read together, and shows each decision on the way.
    ///
    /// # Errors
    /// When the batch has other columns than those that were bound.
    pub fn decide_part(
        &mut self,
        part: &Part,
        mut seen: impl FnMut(&Decision),
    ) -> Result<RecordBatch, ColumnsError> {
        let Decider { rules, binding, options, session, answers, .. } = self;
        let message = binding.open(&part.batch)?;
        if options.wants_matched() {
            for row in 0..part.batch.num_rows() {
                let decision = part.error(row).map_or_else(|| row_of(session, binding, &message, row), Err);
                let matched = decision.is_ok().then(|| matched(session, rules, binding, &message, row));
                answer(answers, decision, matched.as_deref(), &mut seen);
            }
        } else {
            each(session, binding, &message, part, |_, decision| answer(answers, decision, None, &mut seen));
        }
        Ok(answers.finish())
    }

    /// Decides every row of what was read together, and hands out each decision, or why the row is no message.
    ///
    /// # Errors
    /// When the batch has other columns than those that were bound.
    pub fn each(
        &mut self,
        part: &Part,
        take: impl FnMut(usize, Result<Decision, RowError>),
    ) -> Result<(), ColumnsError> {
        let message = self.binding.open(&part.batch)?;
        each(&mut self.session, &self.binding, &message, part, take);
        Ok(())
    }
}

/// Appends the answer to a row.
fn answer(
    answers: &mut Answers,
    decision: Result<Decision, RowError>,
    matched: Option<&[Cow<'_, str>]>,
    seen: &mut impl FnMut(&Decision),
) {
    match decision {
        Ok(decision) => {
            seen(&decision);
            answers.push(&decision, matched);
        }
        Err(error) => answers.push_error(&error),
    }
}

/// Decides every row: column by column where every column is of one type, else row by row.
fn each(
    session: &mut Session,
    binding: &Binding,
    message: &Reader<'_>,
    part: &Part,
    mut take: impl FnMut(usize, Result<Decision, RowError>),
) {
    let rows = part.batch.num_rows();
    let lanes = session.plan().filter(|_| binding.lanes && part.broken.is_empty());
    let Some(lanes) = lanes.map(|plan| Lanes::new(plan, &binding.bound, message, rows)) else {
        for row in 0..rows {
            take(row, part.error(row).map_or_else(|| row_of(session, binding, message, row), Err));
        }
        return;
    };
    let mut bump = Bump::new();
    for start in (0..rows).step_by(BLOCK) {
        bump.reset();
        let (block_rows, mut block) = (start..rows.min(start + BLOCK), Block::new());
        lanes.fill(block_rows.clone(), &bump, &mut block);
        for (at, row) in block_rows.enumerate() {
            let decision = block.slots(at).and_then(|slots| session.decide_slots(slots));
            take(row, decision.map_or_else(|| tree_of(session, message, row), Ok));
        }
    }
}

/// The decision for a row as a tree.
fn tree_of(session: &mut Session, message: &Reader<'_>, row: usize) -> Result<Decision, RowError> {
    rows::tree(message, row).map(|tree| session.decide(&tree))
}

/// The decision for a row.
fn row_of(
    session: &mut Session,
    binding: &Binding,
    message: &Reader<'_>,
    row: usize,
) -> Result<Decision, RowError> {
    if let Some(decision) = session.decide_from(|fill| rows::fill(fill, &binding.bound, message, row)) {
        return Ok(decision);
    }
    tree_of(session, message, row)
}

/// The names of all routes that hold for a row.
fn matched<'r>(
    session: &mut Session,
    rules: &'r Rules,
    binding: &Binding,
    message: &Reader<'_>,
    row: usize,
) -> Vec<Cow<'r, str>> {
    if let Some(found) = session.matched_from(|fill| rows::fill(fill, &binding.bound, message, row)) {
        return found.into_iter().map(|id| Cow::Borrowed(&*rules.program().rules[id.index()].name)).collect();
    }
    let Ok(tree) = rows::tree(message, row) else { return Vec::new() };
    session.matched(&tree).into_iter().map(|name| Cow::Owned(name.to_owned())).collect()
}

/// Judges the rows of record batches as payloads of one kind.
pub struct PayloadJudge {
    judge: Judge,
    messages: Messages,
    answers: Answers,
}

impl PayloadJudge {
    /// A judge of the rows of batches of a schema. What a payload lacks is a matter for its rules, so that no column
    /// has to be there.
    pub fn new(judge: Judge, schema: SchemaRef, options: &Options) -> PayloadJudge {
        let answers = Answers::of_payloads().told_in(options.told_in());
        PayloadJudge { judge, messages: Messages::new(schema, options), answers }
    }

    /// The columns of the judgements.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.answers.schema())
    }

    /// Judges every row of a batch.
    ///
    /// # Errors
    /// When the batch has other columns than those that were bound.
    pub fn judge(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ColumnsError> {
        let PayloadJudge { judge, messages, answers } = self;
        messages.each(&Part::from(batch.clone()), |_, payload| match payload {
            Ok(payload) => {
                answers.push_json(&serde_json::to_value(judge.judge(&payload)).unwrap_or_default())
            }
            Err(error) => answers.push_error(&error),
        })?;
        Ok(answers.finish())
    }
}

/// The rows of batches as messages of JSON, for whatever asks for more than decisions.
pub struct Messages {
    binding: Binding,
}

impl Messages {
    /// The messages of batches of a schema.
    pub fn new(schema: SchemaRef, options: &Options) -> Messages {
        Messages { binding: Binding::whole(schema, options) }
    }

    /// Hands out every row of what was read together, or why it is no message.
    ///
    /// # Errors
    /// When the batch has other columns than the schema.
    pub fn each(
        &self,
        part: &Part,
        mut take: impl FnMut(usize, Result<Json, RowError>),
    ) -> Result<(), ColumnsError> {
        let message = self.binding.open(&part.batch)?;
        for row in 0..part.batch.num_rows() {
            take(row, part.error(row).map_or_else(|| rows::tree(&message, row), Err));
        }
        Ok(())
    }
}

/// Answers in the form of JSON, as columns: those of [`Decider`] and [`PayloadJudge`] for what is decided elsewhere.
pub struct AnswerColumns {
    answers: Answers,
}

impl AnswerColumns {
    /// The columns of the answers by an entry; with `matched` and `explained` also those that are asked for.
    pub fn of(rules: &Rules, entry: Entry<'_>, matched: bool, explained: bool) -> AnswerColumns {
        AnswerColumns { answers: Answers::of(rules, entry, matched).explained(explained) }
    }

    /// The columns of judgements of payloads.
    pub fn of_payloads() -> AnswerColumns {
        AnswerColumns { answers: Answers::of_payloads() }
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.answers.schema())
    }

    /// Appends an answer: the object that `rulec run` prints.
    pub fn push(&mut self, answer: &Json) {
        self.answers.push_json(answer);
    }

    /// The answers so far, of which none are left.
    pub fn finish(&mut self) -> RecordBatch {
        self.answers.finish()
    }
}
