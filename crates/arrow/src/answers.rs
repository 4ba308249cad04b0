//! Builds the answer columns, with one row per decision. The columns have the names and the order
//! of the keys in the JSON output of `rulec run`. A column that the rules can never fill is left
//! out.

use crate::build::{AnswerType, ColumnBuilder, DictionaryTexts};
use crate::rows::RowError;
use crate::scale::argument_scale;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use rulec::{Decision, Entry, Language, Rules, TableKind};
use rulec_eval::decision::Chosen;
use rulec_lang::ty::{Kind, KindSet};
use rulec_sema::hir::{Expr, Outcome, Program};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Builder of the answer columns for decisions of one entry (such as a table of routes, or a
/// choice).
pub(crate) struct AnswerBuilder {
    schema: SchemaRef,
    columns: Vec<LazyColumn>,
    row_count: usize,
    /// The dictionary keys of the answers to every rule and every default of a table of routes,
    /// computed once. Empty unless a table of routes decides.
    precomputed: PrecomputedKeys,
    /// Language of the error messages about rows that are not valid messages.
    language: Language,
}

/// Builder of one answer column. Most cells are null. The builder therefore appends nulls only
/// before the next value, all pending nulls at once.
struct LazyColumn {
    role: ColumnRole,
    builder: ColumnBuilder,
    /// Number of rows that the builder already contains, including nulls.
    row_count: usize,
}

impl LazyColumn {
    /// Appends nulls for all earlier rows without a value, so that the next value belongs to `row`.
    /// Returns the inner builder.
    fn builder_padded_to(&mut self, row: usize) -> &mut ColumnBuilder {
        if self.row_count < row {
            self.builder.push_nulls(row - self.row_count);
        }
        self.row_count = row + 1;
        &mut self.builder
    }
}

/// Dictionary keys for all answers of a table of routes. An answer column stores each distinct text
/// once, in a dictionary, and a key per row. The struct is empty unless a table of routes decides.
#[derive(Clone, Default)]
struct PrecomputedKeys {
    rule_keys: Vec<AnswerKeys>,
    default_keys: Vec<AnswerKeys>,
    /// The keys for a decision that chose no route and has no default.
    nothing_chosen: AnswerKeys,
}

/// The dictionary keys of one answer: a key for each column that is stored as a dictionary.
#[derive(Clone, Copy, Default)]
struct AnswerKeys {
    chosen_key: Option<i32>,
    target_key: Option<i32>,
    metadata_key: Option<i32>,
}

/// Name of the column that contains the error of a row.
const ERROR_COLUMN: &str = "error";

impl AnswerBuilder {
    /// Creates a builder for decisions by `entry` (a table, choice or router, or the flows). If
    /// `matched` is true, a column contains the names of all matching routes.
    pub fn for_entry(rules: &Rules, entry: Entry<'_>, matched: bool) -> AnswerBuilder {
        let program = rules.program();
        let (mut columns, precomputed) = match entry.kind() {
            TableKind::Routes | TableKind::Requirements => route_columns(program),
            TableKind::Choice => (choice_columns(program), PrecomputedKeys::default()),
            TableKind::Flows => (flow_columns(program), PrecomputedKeys::default()),
            TableKind::Router => (
                vec![("next", AnswerType::list(AnswerType::Text)), ("loopback", AnswerType::Bool)],
                PrecomputedKeys::default(),
            ),
        };
        columns.insert(0, ("entry", dictionary_type([entry.name()])));
        columns.extend(common_columns(program));
        if entry.kind() == TableKind::Choice {
            columns.push(("failure", AnswerType::Text));
            columns.push(("skipped", AnswerType::text_records(&["branch", "condition", "reason"])));
            columns.push(("reason", AnswerType::Text));
        }
        if matched {
            columns.push(("matched", AnswerType::list(AnswerType::Text)));
        }
        AnswerBuilder::new(columns, precomputed)
    }

    /// Adds a column with the explanation of each decision, if `explained` is true.
    pub fn with_explanations(mut self, explained: bool) -> AnswerBuilder {
        if explained {
            let fields = self.schema.fields().iter().map(|field| field.as_ref().clone());
            let fields: Vec<Field> = fields.chain([AnswerType::Json.to_field("explanation")]).collect();
            self.schema = Arc::new(Schema::new(fields));
            self.columns.push(LazyColumn {
                role: ColumnRole::from_name("explanation"),
                builder: ColumnBuilder::new(&AnswerType::Json),
                row_count: 0,
            });
        }
        self
    }

    /// Sets the language of the error messages about rows that are not valid messages.
    pub fn with_language(self, language: Language) -> AnswerBuilder {
        AnswerBuilder { language, ..self }
    }

    /// Creates a builder for the results of payload checks, with one row per checked payload.
    pub fn for_payloads() -> AnswerBuilder {
        let violations = || AnswerType::text_records(&["rule", "path", "message", "repair"]);
        let columns = vec![
            ("decision", AnswerType::Text),
            ("valid", AnswerType::Bool),
            ("violations", violations()),
            ("outcome", AnswerType::Text),
            ("event", AnswerType::Text),
            ("corrections", AnswerType::text_records(&["kind", "path"])),
            ("remaining", violations()),
            ("corrected", AnswerType::Json),
            ("fallback", AnswerType::Text),
            ("exceeded", exceeded_limits_type()),
            ("warnings", violations()),
            ("unchecked", AnswerType::text_records(&["rule", "path", "message"])),
        ];
        AnswerBuilder::new(columns, PrecomputedKeys::default())
    }

    fn new(mut columns: ColumnTypes, precomputed: PrecomputedKeys) -> AnswerBuilder {
        let error = [
            ("code", AnswerType::Text),
            ("message", AnswerType::Text),
            ("column", AnswerType::Count),
            ("path", AnswerType::Text),
        ];
        let error = error.into_iter().chain([("help", AnswerType::Text)]);
        columns.push((
            ERROR_COLUMN,
            AnswerType::Record(error.map(|(name, ty)| (name.to_owned(), ty)).collect()),
        ));
        let fields: Vec<Field> = columns.iter().map(|(name, ty)| ty.to_field(name)).collect();
        AnswerBuilder {
            schema: Arc::new(Schema::new(fields)),
            columns: columns
                .iter()
                .map(|(name, ty)| LazyColumn {
                    role: ColumnRole::from_name(name),
                    builder: ColumnBuilder::new(ty),
                    row_count: 0,
                })
                .collect(),
            row_count: 0,
            precomputed,
            language: Language::default(),
        }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends the answer of a decision. `matched` contains the names of all matching routes, if
    /// they were requested.
    pub fn push(&mut self, decision: &Decision, matched: Option<&[Cow<'_, str>]>) {
        if self.precomputed.is_empty() {
            return self.push_uncommon_decision(decision, matched);
        }
        let keys = self.precomputed.for_decision(decision);
        let is_plain = is_plain_decision(decision);
        let row = self.row_count;
        for column in &mut self.columns {
            match column.role {
                ColumnRole::Entry => column.builder_padded_to(row).push_key(Some(0)),
                ColumnRole::Chosen => column.builder_padded_to(row).push_key(keys.chosen_key),
                ColumnRole::Target => column.builder_padded_to(row).push_key(keys.target_key),
                ColumnRole::Metadata => column.builder_padded_to(row).push_key(keys.metadata_key),
                ColumnRole::Args => column.builder_padded_to(row).push_record(decision.args()),
                ColumnRole::Requires => match decision.required_permissions() {
                    [] => {}
                    permissions => column
                        .builder_padded_to(row)
                        .push_texts(permissions.iter().map(|permission| &**permission)),
                },
                ColumnRole::Path => match decision.path() {
                    path if path.len() < 2 => {}
                    path => column.builder_padded_to(row).push_texts(path.into_iter()),
                },
                ColumnRole::Matched => {
                    column
                        .builder_padded_to(row)
                        .push_texts(matched.unwrap_or_default().iter().map(Cow::as_ref));
                }
                ColumnRole::Other(_) if is_plain => {}
                ColumnRole::Other(name) => {
                    if let Some(value) = rare_attribute(name, decision) {
                        column.builder_padded_to(row).push(Some(&value));
                    }
                }
            }
        }
        self.row_count += 1;
    }

    /// Appends the answer of a decision by a choice, a router or flows, not by a table of routes.
    /// `matched` contains the names of all matching branches, cases or patterns, if requested.
    fn push_uncommon_decision(&mut self, decision: &Decision, matched: Option<&[Cow<'_, str>]>) {
        let mut answer = serde_json::to_value(decision).unwrap_or_default();
        if let (Some(matched), Some(object)) = (matched, answer.as_object_mut()) {
            object.insert("matched".to_owned(), json!(matched));
        }
        self.push_json(&answer);
    }

    /// Appends an answer given as JSON. A member that has no column is left out.
    pub fn push_json(&mut self, answer: &Json) {
        let row = self.row_count;
        for column in &mut self.columns {
            let value = answer.get(column.role.name());
            column.builder_padded_to(row).push(value);
        }
        self.row_count += 1;
    }

    /// Appends the error of a row that is not a valid message.
    pub fn push_error(&mut self, error: &RowError) {
        let message = error.to_message();
        let message = message.localized(self.language);
        self.push_json(&json!({ ERROR_COLUMN: {"code": error.code().as_str(), "message": message} }));
    }

    /// Returns the answers so far as a batch and resets the builder.
    pub fn finish(&mut self) -> RecordBatch {
        let rows = std::mem::take(&mut self.row_count);
        let finish = |column: &mut LazyColumn| {
            column.builder.push_nulls(rows - column.row_count);
            column.row_count = 0;
            column.builder.finish()
        };
        let columns = self.columns.iter_mut().map(finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .unwrap_or_else(|_| RecordBatch::new_empty(Arc::clone(&self.schema)))
    }
}

/// The attribute of a decision that an answer column contains.
#[derive(Clone, Copy)]
enum ColumnRole {
    Entry,
    Chosen,
    Target,
    Args,
    Metadata,
    Requires,
    Path,
    Matched,
    /// An attribute that has no variant of its own. The text is the name of its column, such as
    /// `failures`. A decision by routes rarely or never has a value for such an attribute.
    Other(&'static str),
}

impl ColumnRole {
    fn from_name(name: &'static str) -> ColumnRole {
        let roles = [
            ColumnRole::Entry,
            ColumnRole::Chosen,
            ColumnRole::Target,
            ColumnRole::Args,
            ColumnRole::Metadata,
            ColumnRole::Requires,
            ColumnRole::Path,
        ];
        let mut roles = roles.into_iter().chain([ColumnRole::Matched]);
        roles.find(|role| role.name() == name).unwrap_or(ColumnRole::Other(name))
    }

    fn name(self) -> &'static str {
        match self {
            ColumnRole::Entry => "entry",
            ColumnRole::Chosen => "chosen",
            ColumnRole::Target => "target",
            ColumnRole::Args => "args",
            ColumnRole::Metadata => "metadata",
            ColumnRole::Requires => "requires",
            ColumnRole::Path => "path",
            ColumnRole::Matched => "matched",
            ColumnRole::Other(name) => name,
        }
    }
}

/// True if a decision has no missing arguments, violations, exceeded limits or failures. This holds
/// for most decisions.
fn is_plain_decision(decision: &Decision) -> bool {
    decision.missing_args().next().is_none()
        && decision.breaches().is_empty()
        && decision.exceeded().is_empty()
        && decision.failures().is_empty()
}

/// Returns the attribute of a decision that belongs to the column `name`, such as `failures`, as a
/// JSON list. `None` if the attribute is empty, or if the column has no such attribute.
fn rare_attribute(name: &str, decision: &Decision) -> Option<Json> {
    let list = match name {
        "missing_args" => json!(decision.missing_args().collect::<Vec<_>>()),
        "breaches" => serde_json::to_value(decision.breaches()).ok()?,
        "exceeded" => serde_json::to_value(decision.exceeded()).ok()?,
        "failures" => {
            let failures = decision.failures().iter();
            failures
                .map(|failure| json!({"function": &*failure.function, "message": failure.message}))
                .collect()
        }
        _ => return None,
    };
    list.as_array().is_some_and(|list| !list.is_empty()).then_some(list)
}

impl PrecomputedKeys {
    fn is_empty(&self) -> bool {
        self.default_keys.is_empty()
    }

    fn for_decision(&self, decision: &Decision) -> AnswerKeys {
        let keys = match decision.statement() {
            Some(Chosen::Rule(rule)) => self.rule_keys.get(rule.index()),
            Some(Chosen::Default(table)) => self.default_keys.get(table.index()),
            None => None,
        };
        *keys.unwrap_or(&self.nothing_chosen)
    }
}

/// Returns the type of a dictionary column whose values are among `texts`.
fn dictionary_type<'n>(texts: impl IntoIterator<Item = &'n str>) -> AnswerType {
    let mut names = DictionaryTexts::default();
    for text in texts {
        names.key_of_text(text);
    }
    AnswerType::DictionaryTexts(Arc::new(names))
}

/// Returns the names and types of the answer columns for a table of routes. Also returns the
/// dictionary keys of the answer that each rule and each default gives.
fn route_columns(program: &Program) -> (ColumnTypes, PrecomputedKeys) {
    let (mut chosen, mut target) = (DictionaryTexts::default(), DictionaryTexts::default());
    let mut metadata = DictionaryTexts::for_json();
    let mut keys = |name: &str, outcome: Option<&Outcome>| match outcome {
        Some(Outcome::Handler { name: handler, metadata: constants, .. }) => AnswerKeys {
            chosen_key: Some(chosen.key_of_text(name)),
            target_key: Some(target.key_of_text(handler)),
            metadata_key: Some(metadata.key_of_text(&Json::Object((**constants).clone()).to_string())),
        },
        _ => AnswerKeys {
            chosen_key: Some(chosen.key_of_text(name)),
            target_key: None,
            metadata_key: Some(metadata.key_of_text("{}")),
        },
    };
    let mut precomputed = PrecomputedKeys {
        rule_keys: program.rules.iter().map(|rule| keys(&rule.name, Some(&rule.outcome))).collect(),
        default_keys: program.tables.iter().map(|table| keys("default", table.default.as_ref())).collect(),
        nothing_chosen: AnswerKeys::default(),
    };
    precomputed.nothing_chosen.metadata_key = Some(metadata.key_of_text("{}"));
    let mut columns = vec![
        ("chosen", AnswerType::DictionaryTexts(Arc::new(chosen))),
        ("target", AnswerType::DictionaryTexts(Arc::new(target))),
    ];
    columns.extend(argument_type(program).map(|args| ("args", args)));
    columns.push(("metadata", AnswerType::DictionaryTexts(Arc::new(metadata))));
    if program.handlers.iter().flatten().any(|handler| !handler.required_permissions.is_empty()) {
        columns.push(("requires", AnswerType::list(AnswerType::Text)));
    }
    (columns, precomputed)
}

type ColumnTypes = Vec<(&'static str, AnswerType)>;

/// Iterates over the outcomes of all rules and table defaults.
fn all_outcomes(program: &Program) -> impl Iterator<Item = &Outcome> {
    let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
    program.rules.iter().map(|rule| &rule.outcome).chain(defaults)
}

/// Returns one record type whose fields are the arguments that the rules pass to handlers; `None`
/// if no rule passes arguments. If rules pass values of several types for arguments of one name,
/// the values are written as JSON.
fn argument_type(program: &Program) -> Option<AnswerType> {
    let mut types: BTreeMap<&str, AnswerType> = BTreeMap::new();
    for outcome in all_outcomes(program) {
        let Outcome::Handler { args, .. } = outcome else { continue };
        for argument in args {
            let ty = program
                .values
                .get(argument.value.index())
                .map_or(AnswerType::Json, |value| type_for_value(program, value));
            types
                .entry(&argument.name)
                .and_modify(|column_type| match (&*column_type, &ty) {
                    (AnswerType::Decimal(a), AnswerType::Decimal(b)) => {
                        *column_type = AnswerType::Decimal(*a.max(b));
                    }
                    (a, b) if a == b => {}
                    _ => *column_type = AnswerType::Json,
                })
                .or_insert(ty);
        }
    }
    let fields = types.into_iter().map(|(name, ty)| (name.to_owned(), ty));
    Some(fields.collect()).filter(|fields: &Vec<_>| !fields.is_empty()).map(AnswerType::Record)
}

/// Returns the column type for an argument. A decimal of unknown scale is written as JSON.
fn type_for_value(program: &Program, value: &Expr) -> AnswerType {
    match value.ty.kinds {
        kinds if kinds.has(Kind::Decimal) && kinds.is_subset_of(KindSet::EXACT_NUMBER) => {
            argument_scale(program, value).map_or(AnswerType::Json, AnswerType::Decimal)
        }
        kinds => type_for_kinds(kinds),
    }
}

/// Returns the column type for values of the given kinds. Lists and dicts are written as JSON,
/// because the elements of lists and dicts may have any kind.
fn type_for_kinds(kinds: KindSet) -> AnswerType {
    let texts = KindSet::STRING.union(KindSet::DATETIME).union(KindSet::VERSION);
    match kinds {
        KindSet::BOOL => AnswerType::Bool,
        KindSet::INT => AnswerType::Int,
        KindSet::FLOAT => AnswerType::Float,
        kinds if !kinds.is_empty() && kinds.is_subset_of(texts) => AnswerType::Text,
        _ => AnswerType::Json,
    }
}

fn choice_columns(program: &Program) -> ColumnTypes {
    let branches = program.rules.iter().map(|rule| &*rule.name).chain([""]);
    vec![("branch", dictionary_type(branches)), ("default", AnswerType::Bool), ("to_user", AnswerType::Bool)]
}

fn flow_columns(program: &Program) -> ColumnTypes {
    let patterns = program.rules.iter().filter_map(|rule| match &rule.outcome {
        Outcome::Flow { pattern, .. } => Some(&**pattern),
        _ => None,
    });
    let nearest = ["id", "name"].map(|name| (name.to_owned(), AnswerType::Text));
    let nearest = nearest.into_iter().chain([("score".to_owned(), AnswerType::Float)]).collect();
    vec![
        ("flow", dictionary_type(program.flows.iter().map(|flow| &*flow.id))),
        ("name", dictionary_type(program.flows.iter().map(|flow| &*flow.name))),
        ("pattern", dictionary_type(patterns)),
        ("score", AnswerType::Float),
        ("nearest", AnswerType::list(AnswerType::Record(nearest))),
    ]
}

fn exceeded_limits_type() -> AnswerType {
    let fields = [("limit", AnswerType::Text), ("amount", AnswerType::Count), ("most", AnswerType::Count)];
    AnswerType::list(AnswerType::Record(fields.map(|(name, ty)| (name.to_owned(), ty)).into()))
}

/// Returns the columns that every answer has, whether a table, a choice or a router decides.
fn common_columns(program: &Program) -> ColumnTypes {
    let mut columns: ColumnTypes = Vec::new();
    if all_outcomes(program).any(|outcome| matches!(outcome, Outcome::Goto(_))) {
        columns.push(("path", AnswerType::list(AnswerType::Text)));
    }
    let has_required = |outcome: &Outcome| match outcome {
        Outcome::Handler { args, .. } => args.iter().any(|argument| !argument.is_optional),
        _ => false,
    };
    if all_outcomes(program).any(has_required) {
        columns.push(("missing_args", AnswerType::list(AnswerType::Text)));
    }
    if program.input_contract().is_some() {
        columns.push(("breaches", AnswerType::text_records(&["path", "expected", "found", "hint"])));
    }
    columns.push(("exceeded", exceeded_limits_type()));
    if !program.externs.is_empty() {
        columns.push(("failures", AnswerType::text_records(&["function", "message"])));
    }
    columns
}
