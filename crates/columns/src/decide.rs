//! Deciding batch by batch.

use crate::answers::Answers;
use crate::bind::{Binding, ColumnsError, Options};
use crate::cell::Reader;
use crate::lanes::{BLOCK, Block, Lanes};
use crate::rows::{self, RowError};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bumpalo::Bump;
use rulec::payload::Judge;
use rulec::{Decision, Rules, Session};
use std::borrow::Cow;
use std::sync::Arc;

/// Decides the rows of record batches of one schema: for each batch one of answers. A thread has its own.
///
/// ```
/// use arrow_array::{Int64Array, RecordBatch, StringArray, record_batch};
/// use rulec::Rules;
/// use rulec_columns::{Decider, Options};
///
/// let rules = Rules::from_text("route small when n < 10 -> few(n: n)\ndefault -> many")?;
/// let batch = record_batch!(("n", Int64, [Some(3), None, Some(30)]))?;
/// let mut decider = Decider::new(&rules, None, batch.schema(), &Options::default())?;
/// let answers = decider.decide(&batch)?;
///
/// let mut lines = Vec::new();
/// rulec_columns::write_lines(&answers, 1, &mut lines)?;
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
        let answers = Answers::of(rules, by, options.wants_matched());
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
            answers: Answers::of(&self.rules, entry, self.options.wants_matched()),
        }
    }

    /// Decides every row of a batch; the answers are its rows in their order.
    ///
    /// # Errors
    /// When the batch has other columns than those that were bound. A row that is no message has its `error`.
    pub fn decide(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ColumnsError> {
        let Decider { rules, binding, options, session, answers, .. } = self;
        let message = binding.open(batch)?;
        if !options.wants_matched() {
            each(session, binding, &message, batch.num_rows(), |_, decision| match decision {
                Ok(decision) => answers.push(&decision, None),
                Err(error) => answers.push_error(&error),
            });
            return Ok(answers.finish());
        }
        for row in 0..batch.num_rows() {
            match row_of(session, binding, &message, row) {
                Ok(decision) => {
                    let matched = matched(session, rules, binding, &message, row);
                    answers.push(&decision, Some(&matched));
                }
                Err(error) => answers.push_error(&error),
            }
        }
        Ok(answers.finish())
    }

    /// Decides every row of a batch and hands out each decision, or why the row is no message.
    ///
    /// # Errors
    /// When the batch has other columns than those that were bound.
    pub fn each(
        &mut self,
        batch: &RecordBatch,
        take: impl FnMut(usize, Result<Decision, RowError>),
    ) -> Result<(), ColumnsError> {
        let message = self.binding.open(batch)?;
        each(&mut self.session, &self.binding, &message, batch.num_rows(), take);
        Ok(())
    }
}

/// Decides every row: column by column where every column is of one type, else row by row.
fn each(
    session: &mut Session,
    binding: &Binding,
    message: &Reader<'_>,
    rows: usize,
    mut take: impl FnMut(usize, Result<Decision, RowError>),
) {
    let lanes = session.plan().filter(|_| binding.lanes);
    let Some(lanes) = lanes.map(|plan| Lanes::new(plan, &binding.bound, message, rows)) else {
        (0..rows).for_each(|row| take(row, row_of(session, binding, message, row)));
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
    schema: SchemaRef,
    binding: Binding,
    answers: Answers,
}

impl PayloadJudge {
    /// A judge of the rows of batches of a schema. What a payload lacks is a matter for its rules, so that no column
    /// has to be there.
    pub fn new(judge: Judge, schema: SchemaRef, options: &Options) -> PayloadJudge {
        let binding = Binding::whole(Arc::clone(&schema), options);
        PayloadJudge { judge, schema, binding, answers: Answers::of_payloads() }
    }

    /// The columns of the judgements.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.answers.schema())
    }

    /// The columns of the batches.
    pub fn input_schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Judges every row of a batch.
    ///
    /// # Errors
    /// When the batch has other columns than those that were bound.
    pub fn judge(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ColumnsError> {
        let message = self.binding.open(batch)?;
        for row in 0..batch.num_rows() {
            match rows::tree(&message, row) {
                Ok(payload) => {
                    let judgement = serde_json::to_value(self.judge.judge(&payload)).unwrap_or_default();
                    self.answers.push_json(&judgement);
                }
                Err(error) => self.answers.push_error(&error),
            }
        }
        Ok(self.answers.finish())
    }
}
