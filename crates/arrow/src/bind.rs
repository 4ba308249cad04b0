//! Binds the columns of a schema to the message fields that the rules read, once per schema. Values
//! of a bound field go directly into its *slot*, which is the engine's variable for that field. All
//! missing and unusable columns are reported in one error before the first row.

mod error;

pub use error::{BindError, ColumnsError};

use crate::cell::{TextFormat, TypedColumn, is_json};
use crate::kinds::{can_be_read_as, possible_kinds};
use crate::needs::NeededFields;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use rulec::{Language, Message, Session};
use rulec_base::diag::{comma_list, nearest};
use rulec_base::json::DecimalPaths;
use rulec_base::message;
use rulec_lang::ty::{Kind, KindSet};
use rulec_vm::input::{InputPlan, PathId, ROOT_PATH};
use std::collections::BTreeSet;

/// Options of [`Decider`](crate::Decider): how it reads the columns of batches, and the content and
/// language of its answers.
#[derive(Clone, Debug, Default)]
pub struct Options {
    json_columns: BTreeSet<String>,
    allows_missing: bool,
    has_untyped_cells: bool,
    adds_matched_column: bool,
    language: Language,
}

impl Options {
    /// Declares that the texts of the column `column` are JSON values, which are parsed. Columns of
    /// the Arrow extension type `arrow.json` need no such option.
    #[must_use]
    pub fn json_column(mut self, column: impl Into<String>) -> Options {
        self.json_columns.insert(column.into());
        self
    }

    /// Allows a field that the rules read to have no column. Such a field is missing in every row.
    #[must_use]
    pub fn allow_missing(self) -> Options {
        Options { allows_missing: true, ..self }
    }

    /// Declares that text columns have untyped cells, such as CSV cells. If the rules read only
    /// text from a column, its cells are text. Otherwise a cell is parsed as JSON, and is text if
    /// parsing fails.
    #[must_use]
    pub fn untyped_cells(self) -> Options {
        Options { has_untyped_cells: true, ..self }
    }

    /// Adds a column `matched`, with the names of all matching routes, to the answers.
    #[must_use]
    pub fn matched_column(self) -> Options {
        Options { adds_matched_column: true, ..self }
    }

    /// Sets the language of the error messages about rows that are not valid messages.
    #[must_use]
    pub fn language(self, language: Language) -> Options {
        Options { language, ..self }
    }

    pub(crate) fn error_language(&self) -> Language {
        self.language
    }

    pub(crate) fn wants_matched_column(&self) -> bool {
        self.adds_matched_column
    }
}

/// The columns of a schema, each bound to the message field whose value it contains.
#[derive(Clone, Debug)]
pub(crate) struct ColumnBinding {
    schema: SchemaRef,
    /// Fields of the message, each with its column or columns.
    columns: Vec<(String, FieldSource)>,
    /// Fields that the rules read. The index in each [`BoundField`] is an index into `columns`.
    pub bound_fields: Vec<BoundField>,
    /// Whether the slots (the engine's variables for message fields) of all bound fields can be
    /// filled column by column. Otherwise they are filled row by row.
    pub is_columnar: bool,
    /// The paths in messages at which the rules read decimals. Numbers there keep all digits and
    /// are not rounded to floats.
    decimal_paths: DecimalPaths,
}

/// The column or columns that a message field comes from.
#[derive(Clone, Debug)]
enum FieldSource {
    Column(usize, TextFormat),
    /// Columns with a dotted name, such as `ctx.n`, which form an object.
    Group(Vec<(String, FieldSource)>),
}

impl FieldSource {
    fn collect_columns(&self, columns: &mut Vec<usize>) {
        match self {
            FieldSource::Column(index, _) => columns.push(*index),
            FieldSource::Group(inner) => inner.iter().for_each(|(_, source)| source.collect_columns(columns)),
        }
    }
}

/// A message field that the rules read, bound to its column.
#[derive(Clone, Debug)]
pub(crate) struct BoundField {
    /// The index of the field's column in `columns` or, inside an object, among the object's
    /// columns.
    pub column_index: usize,
    pub path_id: PathId,
    /// Which of the kinds list and dict the rules read from this field as a whole, as in a
    /// comparison of two lists. Empty if the rules read only elements of lists and fields of dicts.
    pub whole_kinds: KindSet,
    /// Whether the rules also read this field as text. In that case, a time must be converted to
    /// text.
    pub is_read_as_text: bool,
    /// Whether the field is an object with the same fields in every row.
    pub is_object: bool,
    /// The fields of this object that the rules read; empty if the field is not an object.
    pub inner_fields: Vec<BoundField>,
    /// The kinds of value that the column can contain.
    column_kinds: KindSet,
    /// Whether the column type guarantees that all values of the column have the same type.
    is_uniform: bool,
}

impl BoundField {
    /// True if the column type guarantees that each value of the field has one of these kinds.
    pub fn always_has_kinds(&self, kinds: KindSet) -> bool {
        self.column_kinds.is_subset_of(kinds)
    }

    /// True if the slots (the engine's variables) of the field and its subfields can be filled
    /// column by column.
    fn is_columnar(&self) -> bool {
        match self.is_object {
            true => {
                self.is_uniform
                    && !self.whole_kinds.has(Kind::Dict)
                    && self.inner_fields.iter().all(BoundField::is_columnar)
            }
            false => self.is_uniform,
        }
    }
}

impl ColumnBinding {
    /// Binds the columns of a schema to the message fields that a session's rules read. Binds none
    /// if the session needs each row as a JSON tree (a parsed JSON message).
    pub fn new(schema: SchemaRef, session: &Session, options: &Options) -> Result<ColumnBinding, BindError> {
        let decimal_paths = session.decimal_paths().clone();
        let Some(plan) = session.plan() else {
            return Ok(ColumnBinding { decimal_paths, ..ColumnBinding::bind_all(schema, options) });
        };
        let needs = NeededFields::new(session, plan);
        let mut binder = ColumnBinder { plan, needs, schema: &schema, options, problems: Vec::new() };
        let columns = binder.map_columns();
        let bound = binder.bind_inner_fields(ROOT_PATH, &columns, "");
        let columnar = bound.iter().all(BoundField::is_columnar) && !plan.reads_kind(ROOT_PATH, Kind::Dict);
        match binder.problems {
            problems if problems.is_empty() => Ok(ColumnBinding {
                columns,
                bound_fields: bound,
                is_columnar: columnar,
                decimal_paths,
                schema,
            }),
            problems => Err(BindError { problems }),
        }
    }

    /// Binds all columns as fields of a JSON object, regardless of what the rules read.
    pub fn bind_all(schema: SchemaRef, options: &Options) -> ColumnBinding {
        let columns = schema.fields().iter().enumerate();
        let columns = columns.map(|(index, field)| {
            (
                field.name().clone(),
                FieldSource::Column(index, options.text_format(field, KindSet::MESSAGE_KINDS)),
            )
        });
        let decimal_paths = DecimalPaths::default();
        ColumnBinding {
            columns: columns.collect(),
            bound_fields: Vec::new(),
            is_columnar: false,
            decimal_paths,
            schema,
        }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the schema indices of the columns that the rules read; all columns if no fields are
    /// bound.
    pub fn read_column_indexes(&self) -> Vec<usize> {
        if self.bound_fields.is_empty() {
            return (0..self.schema.fields().len()).collect();
        }
        let mut indices = Vec::new();
        for bound in &self.bound_fields {
            self.columns[bound.column_index].1.collect_columns(&mut indices);
        }
        indices.sort_unstable();
        indices
    }

    /// Returns a reader of the batch's rows. Each row is an object whose fields are the message
    /// fields.
    ///
    /// # Errors
    /// Returns an error if the batch's columns differ from the bound schema.
    pub fn open_batch<'b>(&'b self, batch: &'b RecordBatch) -> Result<TypedColumn<'b>, ColumnsError> {
        let (expected, actual) = (self.schema.fields(), batch.schema_ref().fields());
        let is_same = |(one, other): (&FieldRef, &FieldRef)| {
            one.name() == other.name() && one.data_type() == other.data_type()
        };
        if expected.len() != actual.len() || !expected.iter().zip(actual).all(is_same) {
            let names: Vec<String> =
                actual.iter().map(|field| format!("`{}` {}", field.name(), field.data_type())).collect();
            return Err(ColumnsError::Schema(names.join(", ")));
        }
        let mut message = TypedColumn::group(self.group_columns(&self.columns, batch));
        message.keep_digits(&self.decimal_paths);
        Ok(message)
    }

    /// Returns the paths in messages at which numbers keep all their digits.
    pub fn decimal_paths(&self) -> &DecimalPaths {
        &self.decimal_paths
    }

    fn group_columns<'b>(
        &'b self,
        sources: &'b [(String, FieldSource)],
        batch: &'b RecordBatch,
    ) -> Vec<(&'b str, TypedColumn<'b>)> {
        let typed_column = |source: &'b FieldSource| match source {
            FieldSource::Column(index, text_format) => {
                TypedColumn::new(batch.column(*index), self.schema.field(*index), *text_format)
            }
            FieldSource::Group(inner) => TypedColumn::group(self.group_columns(inner, batch)),
        };
        sources.iter().map(|(name, source)| (name.as_str(), typed_column(source))).collect()
    }
}

impl Options {
    /// Returns how to interpret a column's texts, given the kinds that the rules read from the
    /// column.
    fn text_format(&self, field: &Field, kinds: KindSet) -> TextFormat {
        let texts = KindSet::STRING.union(KindSet::DATETIME).union(KindSet::VERSION);
        if self.json_columns.contains(field.name()) {
            TextFormat::Json
        } else if self.has_untyped_cells && (kinds.is_empty() || !kinds.is_subset_of(texts)) {
            TextFormat::Untyped
        } else {
            TextFormat::Text
        }
    }
}

struct ColumnBinder<'s> {
    plan: &'s InputPlan,
    needs: NeededFields<'s>,
    schema: &'s Schema,
    options: &'s Options,
    problems: Vec<Message>,
}

impl ColumnBinder<'_> {
    /// Returns the message fields with the columns that fill them, matched by name. A column with a
    /// dotted name, such as `ctx.n`, becomes part of the object `ctx` if the rules read fields of
    /// that object. If there is also a column `ctx`, that column is the object instead.
    fn map_columns(&mut self) -> Vec<(String, FieldSource)> {
        let mut sources = Vec::new();
        let names: BTreeSet<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        for (i, field) in self.schema.fields().iter().enumerate() {
            let name = field.name().as_str();
            let is_part = name.split_once('.').is_some_and(|(first, _)| {
                !names.contains(first)
                    && self.plan.child_paths(self.plan.child_named(ROOT_PATH, first)).next().is_some()
            });
            let path: Vec<&str> = if is_part { name.split('.').collect() } else { vec![name] };
            let path_id = path.iter().fold(ROOT_PATH, |path_id, key| self.plan.child_named(path_id, key));
            let column =
                FieldSource::Column(i, self.options.text_format(field, self.plan.accepted_kinds(path_id)));
            if insert_column(&mut sources, &path, column).is_none() {
                self.problems.push(message!("the column `{name}` exists twice; rename one of the two"));
            }
        }
        sources
    }

    /// Binds the fields that the rules read inside an object, and returns them. `sources` are the
    /// object's columns, and `path` is the object's name in error messages.
    fn bind_inner_fields(
        &mut self,
        object: PathId,
        sources: &[(String, FieldSource)],
        path: &str,
    ) -> Vec<BoundField> {
        let find = |name: &str| sources.iter().position(|(source_name, _)| source_name == name);
        let mut bound = Vec::new();
        for (name, path_id) in self.plan.child_paths(object) {
            let path = join_path(path, name);
            match find(name).map(|index| (index, &sources[index].1)) {
                None => {
                    self.report_missing_column(path_id, &path, sources.iter().map(|(name, _)| name.as_str()))
                }
                Some((index, FieldSource::Group(inner))) => {
                    let inside = self.bind_inner_fields(path_id, inner, &path);
                    bound.push(self.bind_field(index, path_id, Some(inside), (KindSet::DICT, false)));
                }
                Some((index, FieldSource::Column(column, text_format))) => {
                    let field = self.schema.field(*column);
                    if self.needs.can_skip_column(path_id, field, *text_format) {
                        continue;
                    }
                    let inside = self.check_column(path_id, field, *text_format, &path);
                    bound.push(self.bind_field(index, path_id, inside, column_kinds(field, *text_format)));
                }
            }
        }
        bound
    }

    /// Binds the message field `path_id` to its column. `column_index` is the position of the
    /// column in the record batch or, for a field inside an object, among the columns of that
    /// object. `inner_fields` contains the bound fields of an object that has the same fields in
    /// every row; `None` for any other field. `column_kinds` are the kinds of value that the column
    /// can contain. `is_uniform` is true if the column type guarantees one type for all its values.
    fn bind_field(
        &self,
        column_index: usize,
        path_id: PathId,
        inner_fields: Option<Vec<BoundField>>,
        (column_kinds, is_uniform): (KindSet, bool),
    ) -> BoundField {
        let is_object = inner_fields.is_some();
        let kinds = [Kind::List, Kind::Dict].into_iter().filter(|kind| self.plan.reads_kind(path_id, *kind));
        let whole_kinds = kinds.fold(KindSet::EMPTY, |union, kind| union.union(KindSet::single(kind)));
        BoundField {
            column_index,
            path_id,
            whole_kinds,
            is_read_as_text: self.plan.accepted_kinds(path_id).has(Kind::String),
            is_object,
            inner_fields: inner_fields.unwrap_or_default(),
            column_kinds,
            is_uniform,
        }
    }

    /// Checks the type of a column, or of a field of a struct column, and reports a type that the
    /// rules cannot read. Returns the bound fields of a struct; `None` for other types.
    fn check_column(
        &mut self,
        path_id: PathId,
        field: &Field,
        text_format: TextFormat,
        field_path: &str,
    ) -> Option<Vec<BoundField>> {
        let is_object = self.plan.child_paths(path_id).next().is_some();
        let readable_kinds = match self.plan.accepted_kinds(path_id) {
            kinds if is_object => kinds.union(KindSet::DICT),
            kinds => kinds,
        };
        let kinds = possible_kinds(field, text_format);
        if !can_be_read_as(kinds, readable_kinds) {
            if self.needs.contains(path_id) {
                self.problems.push(unfit_column_message(field, text_format, field_path, readable_kinds));
            }
            return None;
        }
        match field.data_type() {
            DataType::Struct(fields) if is_object => {
                let mut bound = Vec::new();
                for (name, inner) in self.plan.child_paths(path_id) {
                    let path = join_path(field_path, name);
                    match fields.find(name) {
                        Some((_, field)) if self.needs.can_skip_column(inner, field, TextFormat::Text) => {}
                        Some((index, field)) => {
                            let inside = self.check_column(inner, field, TextFormat::Text, &path);
                            let kinds = column_kinds(field, TextFormat::Text);
                            bound.push(self.bind_field(index, inner, inside, kinds));
                        }
                        None => self.report_missing_column(
                            inner,
                            &path,
                            fields.iter().map(|field| &**field.name()),
                        ),
                    }
                }
                Some(bound)
            }
            _ => None,
        }
    }

    /// Reports that the field `path` has no column, unless the rules or the options allow it to be
    /// missing. `names` are the existing columns, from which a similar name is suggested.
    fn report_missing_column<'n>(
        &mut self,
        path_id: PathId,
        path: &str,
        names: impl Iterator<Item = &'n str>,
    ) {
        if self.options.allows_missing || self.plan.is_optional(path_id) || !self.needs.contains(path_id) {
            return;
        }
        let names: Vec<&str> = names.collect();
        let last = path.rsplit('.').next().unwrap_or(path);
        let there = match nearest(last, names.iter().copied()) {
            Some(near) => message!("did you mean `{near}`?"),
            None if names.is_empty() => message!("no columns exist"),
            None => {
                let shown = names.iter().take(20).map(|name| format!("`{name}`"));
                message!("there are {}", comma_list(shown.chain((names.len() > 20).then(|| "…".to_owned()))))
            }
        };
        self.problems.push(message!(
            "the rules read `{path}`, but there is no such column; {there} (if the value may be missing in \
            every row, declare the field with `?` or allow missing columns)"
        ));
    }
}

/// Returns the kinds that a column's values can have, and whether all values have one type.
fn column_kinds(field: &Field, text_format: TextFormat) -> (KindSet, bool) {
    let is_uniform = match field.data_type() {
        DataType::Union(..) | DataType::Map(..) | DataType::Null => false,
        DataType::Dictionary(_, values) => {
            matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        }
        _ => true,
    };
    (possible_kinds(field, text_format), is_uniform && text_format == TextFormat::Text && !is_json(field))
}

fn join_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Inserts `column` into `sources` at the dotted path `path`, here as a list of names. Returns
/// `None`, and inserts nothing, if there is already a column at this path.
fn insert_column(sources: &mut Vec<(String, FieldSource)>, path: &[&str], column: FieldSource) -> Option<()> {
    let (name, rest) = path.split_first()?;
    let index = sources.iter().position(|(source_name, _)| source_name == name);
    match (index.map(|index| &mut sources[index].1), rest) {
        (None, []) => sources.push(((*name).to_owned(), column)),
        (None, rest) => {
            let mut inner = Vec::new();
            insert_column(&mut inner, rest, column)?;
            sources.push(((*name).to_owned(), FieldSource::Group(inner)));
        }
        (Some(FieldSource::Group(inner)), [_, ..]) => return insert_column(inner, rest, column),
        (Some(_), _) => return None,
    }
    Some(())
}

/// Builds the message about a column whose type the rules cannot read, with a suggested correction.
/// `path` is the name of the column, and `wanted` are the kinds of value that the rules read from
/// it.
fn unfit_column_message(field: &Field, text_format: TextFormat, path: &str, wanted: KindSet) -> Message {
    let wanted = if wanted == KindSet::DICT { "record".to_owned() } else { wanted.to_string() };
    let remedy = match field.data_type() {
        DataType::Timestamp(_, None) => message!("give its times a time zone, such as UTC"),
        DataType::Timestamp(_, Some(zone)) => message!("`{zone}` is not a time zone"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if text_format == TextFormat::Text => {
            message!("if its texts are JSON, set the option `json`")
        }
        _ => message!("convert the column, or change the rules"),
    };
    let found = field.data_type().to_string();
    message!("the column `{path}` is {found}, but the rules read {wanted} there; {remedy}")
}
