//! Decides the rows of Arrow record batches, or checks the rows as payloads. Callers with columnar
//! data, such as Parquet files, thus need no JSON messages.

use crate::answers::AnswerBuilder;
use crate::bind::{ColumnBinding, ColumnsError, Options};
use crate::block::{ROWS_PER_BLOCK, RowBlock};
use crate::cell::TypedColumn;
use crate::rows::{self, BatchWithErrors, RowError};
use crate::typed_columns::ColumnsWithSlots;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bumpalo::Bump;
use rulec::payload::Judge;
use rulec::{Decision, Entry, Rules, Session, UnknownEntry};
use rulec_lang::privacy::Privacy;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::Arc;

/// Returns the entry (table, choice or router) with the name `name`. If `name` is `None`, returns
/// [`Rules::default_entry`], or the top-level routes if there is no default entry.
fn find_entry<'r>(rules: &'r Rules, name: Option<&str>) -> Result<Entry<'r>, UnknownEntry> {
    name.map_or_else(|| Ok(rules.default_entry().unwrap_or_else(|_| rules.main())), |name| rules.entry(name))
}

/// Decides the rows of record batches of one schema; each input batch gives one batch of answers.
/// Use one decider per thread.
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
    /// Name of the table, choice or router that decides; `None` means [`Rules::default_entry`].
    entry_name: Option<String>,
    binding: Arc<ColumnBinding>,
    options: Options,
    session: Session,
    answers: AnswerBuilder,
}

impl Decider {
    /// Creates a decider for batches of a schema. `entry` is the name of the table, choice or
    /// router that decides; `None` means [`Rules::default_entry`].
    ///
    /// # Errors
    /// Returns an error if the entry does not exist, or if a column that the rules read is missing
    /// or has an unusable type.
    pub fn new(
        rules: &Rules,
        entry_name: Option<&str>,
        schema: SchemaRef,
        options: &Options,
    ) -> Result<Decider, ColumnsError> {
        let decision_entry = find_entry(rules, entry_name)?;
        let session = decision_entry.session();
        let binding = Arc::new(ColumnBinding::new(schema, &session, options)?);
        let answers = AnswerBuilder::for_entry(rules, decision_entry, options.wants_matched_column())
            .with_language(options.error_language());
        let (rules, entry, options) = (rules.clone(), entry_name.map(str::to_owned), options.clone());
        Ok(Decider { rules, entry_name: entry, binding, options, session, answers })
    }

    /// Returns the schema of the batches of answers.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.answers.schema())
    }

    /// Returns the schema of the input batches.
    pub fn input_schema(&self) -> &SchemaRef {
        self.binding.schema()
    }

    /// Returns the indices of the input columns that the rules read. Returns all columns if the
    /// rules read no column, or if each row must be converted to a JSON message first.
    pub fn read_columns(&self) -> Vec<usize> {
        self.binding.read_column_indexes()
    }

    /// Returns a decider for another thread. The two deciders share the mapping from columns to
    /// message fields.
    #[must_use]
    pub fn clone_for_thread(&self) -> Decider {
        let entry = find_entry(&self.rules, self.entry_name.as_deref()).unwrap_or_else(|_| self.rules.main());
        Decider {
            rules: self.rules.clone(),
            entry_name: self.entry_name.clone(),
            binding: Arc::clone(&self.binding),
            options: self.options.clone(),
            session: entry.session(),
            answers: AnswerBuilder::for_entry(&self.rules, entry, self.options.wants_matched_column())
                .with_language(self.options.error_language()),
        }
    }

    /// Decides every row of a batch. Row `n` of the answers belongs to row `n` of the batch. For a
    /// row that is not a valid message, the column `error` is set.
    ///
    /// # Errors
    /// Returns an error if the batch's columns differ from the bound schema.
    pub fn decide(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ColumnsError> {
        self.decide_batch_with_errors(&BatchWithErrors::from(batch.clone()), |_| ())
    }

    /// Decides every row of `part`: a batch, together with errors for the rows that could not be
    /// read. Calls `on_decision` with each decision. Returns the answers.
    ///
    /// # Errors
    /// Returns an error if the batch's columns differ from the bound schema.
    pub fn decide_batch_with_errors(
        &mut self,
        part: &BatchWithErrors,
        mut on_decision: impl FnMut(&Decision),
    ) -> Result<RecordBatch, ColumnsError> {
        let Decider { rules, binding, options, session, answers, .. } = self;
        let message = binding.open_batch(&part.batch)?;
        if options.wants_matched_column() {
            for row in 0..part.batch.num_rows() {
                let decision =
                    part.error(row).map_or_else(|| decide_row(session, binding, &message, row), Err);
                let matched =
                    decision.is_ok().then(|| matching_routes(session, rules, binding, &message, row));
                append_answer(answers, decision, matched.as_deref(), &mut on_decision);
            }
        } else {
            decide_rows(session, binding, &message, part, |_, decision| {
                append_answer(answers, decision, None, &mut on_decision)
            });
        }
        Ok(answers.finish())
    }

    /// Decides every row of `part`: a batch, together with errors for the rows that could not be
    /// read. `on_row` receives the row index, and the decision or the row's error.
    ///
    /// # Errors
    /// Returns an error if the batch's columns differ from the bound schema.
    pub fn decide_each_row(
        &mut self,
        part: &BatchWithErrors,
        on_row: impl FnMut(usize, Result<Decision, RowError>),
    ) -> Result<(), ColumnsError> {
        let message = self.binding.open_batch(&part.batch)?;
        decide_rows(&mut self.session, &self.binding, &message, part, on_row);
        Ok(())
    }
}

/// Appends the answer for a row: its decision or its error. Calls `on_decision` if there is a
/// decision. `matching_routes` contains the names of all matching routes, if they were requested.
fn append_answer(
    answers: &mut AnswerBuilder,
    decision: Result<Decision, RowError>,
    matching_routes: Option<&[Cow<'_, str>]>,
    on_decision: &mut impl FnMut(&Decision),
) {
    match decision {
        Ok(decision) => {
            on_decision(&decision);
            answers.push(&decision, matching_routes);
        }
        Err(error) => answers.push_error(&error),
    }
}

/// Decides every row of a part (a batch with errors for unreadable rows). If all values of each
/// column have one type and no row is unreadable, fills the engine's slots column by column,
/// otherwise row by row. `on_row` receives the index of each row, and the row's decision or error.
fn decide_rows(
    session: &mut Session,
    binding: &ColumnBinding,
    message: &TypedColumn<'_>,
    part: &BatchWithErrors,
    mut on_row: impl FnMut(usize, Result<Decision, RowError>),
) {
    let rows = part.batch.num_rows();
    let fill = session.plan().filter(|_| binding.is_columnar && part.row_errors.is_empty());
    let Some(fill) = fill.map(|plan| ColumnsWithSlots::new(plan, &binding.bound_fields, message, rows))
    else {
        for row in 0..rows {
            on_row(row, part.error(row).map_or_else(|| decide_row(session, binding, message, row), Err));
        }
        return;
    };
    let mut bump = Bump::new();
    for start in (0..rows).step_by(ROWS_PER_BLOCK) {
        bump.reset();
        let (block_rows, mut block) = (start..rows.min(start + ROWS_PER_BLOCK), RowBlock::new());
        fill.fill_block(block_rows.clone(), &bump, &mut block);
        for (index, row) in block_rows.enumerate() {
            let decision = block.row_slots(index).and_then(|slots| session.decide_slots(slots));
            on_row(row, decision.map_or_else(|| decide_row_as_json(session, message, row), Ok));
        }
    }
}

/// Decides a row from its JSON tree, which is the row as a parsed JSON message.
fn decide_row_as_json(
    session: &mut Session,
    message: &TypedColumn<'_>,
    row_index: usize,
) -> Result<Decision, RowError> {
    let tree =
        rows::row_to_json(message, row_index, session.decimal_paths(), |error| session.masked_error(error))?;
    Ok(session.decide(&tree))
}

/// Decides a row from its slots (the values of the fields that the rules read). If slots cannot
/// represent the row, decides it from its JSON tree.
fn decide_row(
    session: &mut Session,
    binding: &ColumnBinding,
    message: &TypedColumn<'_>,
    row_index: usize,
) -> Result<Decision, RowError> {
    if let Some(decision) = session.decide_from(message, |filler, message| {
        rows::fill_row_slots(filler, &binding.bound_fields, message, row_index)
    }) {
        return Ok(decision);
    }
    decide_row_as_json(session, message, row_index)
}

/// Evaluates the conditions of all routes for a row, and returns the names of the routes that
/// match.
fn matching_routes<'r>(
    session: &mut Session,
    rules: &'r Rules,
    binding: &ColumnBinding,
    message: &TypedColumn<'_>,
    row_index: usize,
) -> Vec<Cow<'r, str>> {
    if let Some(matched_ids) = session.matched_from(message, |filler, message| {
        rows::fill_row_slots(filler, &binding.bound_fields, message, row_index)
    }) {
        return matched_ids
            .into_iter()
            .map(|id| Cow::Borrowed(&*rules.program().rules[id.index()].name))
            .collect();
    }
    let Ok(tree) = rows::row_to_json(message, row_index, binding.decimal_paths(), |error| error) else {
        return Vec::new();
    };
    session.matched(&tree).into_iter().map(|name| Cow::Owned(name.to_owned())).collect()
}

/// Checks each row of record batches as a payload of one kind.
pub struct PayloadJudge {
    judge: Judge,
    messages: MessageConverter,
    answers: AnswerBuilder,
}

impl PayloadJudge {
    /// Creates a checker for batches of a schema. No column is required, because the rules of the
    /// `payload` statement report missing fields.
    pub fn new(judge: Judge, schema: SchemaRef, options: &Options) -> PayloadJudge {
        let answers = AnswerBuilder::for_payloads().with_language(options.error_language());
        PayloadJudge { judge, messages: MessageConverter::new(schema, options), answers }
    }

    /// Returns the schema of the batches of results.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.answers.schema())
    }

    /// Checks every row of a batch as a payload. Row `n` of the results belongs to row `n` of the
    /// batch.
    ///
    /// # Errors
    /// Returns an error if the batch's columns differ from the bound schema.
    pub fn judge(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ColumnsError> {
        let PayloadJudge { judge, messages, answers } = self;
        messages.convert_each_row(&BatchWithErrors::from(batch.clone()), |_, payload| match payload {
            Ok(payload) => {
                answers.push_json(&serde_json::to_value(judge.judge(&payload)).unwrap_or_default())
            }
            Err(error) => answers.push_error(&error),
        })?;
        Ok(answers.finish())
    }
}

/// Converts rows of record batches to JSON messages, for callers that use the messages themselves,
/// not only decisions about them.
pub struct MessageConverter {
    binding: ColumnBinding,
}

impl MessageConverter {
    /// Creates a converter for batches of a schema.
    pub fn new(schema: SchemaRef, options: &Options) -> MessageConverter {
        MessageConverter { binding: ColumnBinding::bind_all(schema, options) }
    }

    /// Converts every row of a part to a message. A part is a batch with errors for unreadable
    /// rows. `on_message` receives the row index, and the message or the row's error.
    ///
    /// # Errors
    /// Returns an error if the batch's columns differ from the schema.
    pub fn convert_each_row(
        &self,
        part: &BatchWithErrors,
        mut on_message: impl FnMut(usize, Result<Json, RowError>),
    ) -> Result<(), ColumnsError> {
        let message = self.binding.open_batch(&part.batch)?;
        for row in 0..part.batch.num_rows() {
            // Every key in an error is masked, because it is not known here which fields are
            // private.
            let mask_error = |error| Privacy::Private(None).mask_error(error);
            on_message(
                row,
                part.error(row).map_or_else(
                    || rows::row_to_json(&message, row, self.binding.decimal_paths(), mask_error),
                    Err,
                ),
            );
        }
        Ok(())
    }
}

/// Converts decisions and judgements that exist as JSON to columns, one row each. [`Decider`] and
/// [`PayloadJudge`] have the same schema.
pub struct AnswerColumns {
    answers: AnswerBuilder,
}

impl AnswerColumns {
    /// Creates a builder for answers of `entry` (a table, choice or router, or the flows). If
    /// `matched` is true, a column contains all matching routes. If `explained` is true, a column
    /// contains explanations.
    pub fn for_entry(rules: &Rules, entry: Entry<'_>, matched: bool, explained: bool) -> AnswerColumns {
        AnswerColumns {
            answers: AnswerBuilder::for_entry(rules, entry, matched).with_explanations(explained),
        }
    }

    /// Creates a builder for the results of payload checks.
    pub fn for_payloads() -> AnswerColumns {
        AnswerColumns { answers: AnswerBuilder::for_payloads() }
    }

    /// Returns the schema of the answer columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.answers.schema())
    }

    /// Appends an answer, as the JSON object that `rulec run` prints.
    pub fn push(&mut self, answer: &Json) {
        self.answers.push_json(answer);
    }

    /// Returns the answers so far as a batch and resets the builder.
    pub fn finish(&mut self) -> RecordBatch {
        self.answers.finish()
    }
}
