//! Builds the answer columns, with one row per decision. The columns have the names and the order
//! of the keys in the JSON output of `rulec run`. A column that the rules can never fill is left
//! out.

use crate::build::{Build, Names, Type};
use crate::rows::RowError;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use rulec::{Decision, Entry, Language, Rules, TableKind};
use rulec_eval::decision::Chosen;
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{Outcome, Program};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Builder of the answer columns of an entry.
pub(crate) struct AnswerBuilder {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    /// Precomputed dictionary keys of the answers of each rule and each table's default. Empty
    /// unless the entry is a table of routes.
    known: PrecomputedKeys,
    /// Language of error messages about rows.
    language: Language,
}

/// Builder of a column. Most cells are null, so nulls are appended lazily, many at once.
struct Column {
    role: Role,
    build: Build,
    /// Number of rows already in the builder.
    rows: usize,
}

impl Column {
    /// Appends pending nulls and returns the builder for the value of this row.
    fn at(&mut self, row: usize) -> &mut Build {
        if self.rows < row {
            self.build.push_nulls(row - self.rows);
        }
        self.rows = row + 1;
        &mut self.build
    }
}

/// Precomputed dictionary keys of the rules' answers. Empty unless the entry is a table of routes.
#[derive(Clone, Default)]
struct PrecomputedKeys {
    rules: Vec<Keys>,
    defaults: Vec<Keys>,
    none: Keys,
}

/// Precomputed dictionary keys of one answer, one for each dictionary column.
#[derive(Clone, Copy, Default)]
struct Keys {
    chosen: Option<i32>,
    target: Option<i32>,
    metadata: Option<i32>,
}

/// Name of the column that contains the error of a row.
const ERROR: &str = "error";

impl AnswerBuilder {
    /// Creates a builder for decisions of an entry; `matched` adds a column with all matching
    /// routes.
    pub fn for_entry(rules: &Rules, entry: Entry<'_>, matched: bool) -> AnswerBuilder {
        let program = rules.program();
        let (mut columns, known) = match entry.kind() {
            TableKind::Routes | TableKind::Requirements => routes(program),
            TableKind::Choice => (choice(program), PrecomputedKeys::default()),
            TableKind::Flows => (flows(program), PrecomputedKeys::default()),
            TableKind::Router => {
                (vec![("next", Type::list(Type::Text)), ("loopback", Type::Bool)], PrecomputedKeys::default())
            }
        };
        columns.insert(0, ("entry", names([entry.name()])));
        columns.extend(common(program));
        if entry.kind() == TableKind::Choice {
            columns.push(("failure", Type::Text));
            columns.push(("skipped", Type::texts(&["branch", "condition", "reason"])));
            columns.push(("reason", Type::Text));
        }
        if matched {
            columns.push(("matched", Type::list(Type::Text)));
        }
        AnswerBuilder::new(columns, known)
    }

    /// Adds a column with the explanation of each decision if `explained`.
    pub fn explained(mut self, explained: bool) -> AnswerBuilder {
        if explained {
            let fields = self.schema.fields().iter().map(|field| field.as_ref().clone());
            let fields: Vec<Field> = fields.chain([Type::Json.field("explanation")]).collect();
            self.schema = Arc::new(Schema::new(fields));
            self.columns.push(Column {
                role: Role::from_name("explanation"),
                build: Build::new(&Type::Json),
                rows: 0,
            });
        }
        self
    }

    /// Sets the language of error messages about rows.
    pub fn language(self, language: Language) -> AnswerBuilder {
        AnswerBuilder { language, ..self }
    }

    /// Creates a builder for the results of payload checks.
    pub fn for_payloads() -> AnswerBuilder {
        let violations = || Type::texts(&["rule", "path", "message", "repair"]);
        let columns = vec![
            ("decision", Type::Text),
            ("valid", Type::Bool),
            ("violations", violations()),
            ("outcome", Type::Text),
            ("event", Type::Text),
            ("corrections", Type::texts(&["kind", "path"])),
            ("remaining", violations()),
            ("corrected", Type::Json),
            ("fallback", Type::Text),
            ("exceeded", exceeded()),
            ("warnings", violations()),
            ("unchecked", Type::texts(&["rule", "path", "message"])),
        ];
        AnswerBuilder::new(columns, PrecomputedKeys::default())
    }

    fn new(mut columns: Columns, known: PrecomputedKeys) -> AnswerBuilder {
        let error =
            [("code", Type::Text), ("message", Type::Text), ("column", Type::Count), ("path", Type::Text)];
        let error = error.into_iter().chain([("help", Type::Text)]);
        columns.push((ERROR, Type::Record(error.map(|(name, ty)| (name.to_owned(), ty)).collect())));
        let fields: Vec<Field> = columns.iter().map(|(name, ty)| ty.field(name)).collect();
        AnswerBuilder {
            schema: Arc::new(Schema::new(fields)),
            columns: columns
                .iter()
                .map(|(name, ty)| Column { role: Role::from_name(name), build: Build::new(ty), rows: 0 })
                .collect(),
            rows: 0,
            known,
            language: Language::default(),
        }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends a decision; `matched` lists all matching routes, if requested.
    pub fn push(&mut self, decision: &Decision, matched: Option<&[Cow<'_, str>]>) {
        if self.known.is_empty() {
            return self.push_other(decision, matched);
        }
        let keys = self.known.for_decision(decision);
        let plain = is_plain(decision);
        let row = self.rows;
        for column in &mut self.columns {
            match column.role {
                Role::Entry => column.at(row).push_key(Some(0)),
                Role::Chosen => column.at(row).push_key(keys.chosen),
                Role::Target => column.at(row).push_key(keys.target),
                Role::Metadata => column.at(row).push_key(keys.metadata),
                Role::Args => column.at(row).push_record(decision.args()),
                Role::Requires => match decision.required_permissions() {
                    [] => {}
                    some => column.at(row).push_texts(some.iter().map(|one| &**one)),
                },
                Role::Path => match decision.path() {
                    path if path.len() < 2 => {}
                    path => column.at(row).push_texts(path.into_iter()),
                },
                Role::Matched => {
                    column.at(row).push_texts(matched.unwrap_or_default().iter().map(Cow::as_ref));
                }
                Role::Other(_) if plain => {}
                Role::Other(name) => {
                    if let Some(value) = rest(name, decision) {
                        column.at(row).push(Some(&value));
                    }
                }
            }
        }
        self.rows += 1;
    }

    /// Appends a decision of an entry that is not a table of routes, such as a choice.
    fn push_other(&mut self, decision: &Decision, matched: Option<&[Cow<'_, str>]>) {
        let mut answer = serde_json::to_value(decision).unwrap_or_default();
        if let (Some(matched), Some(object)) = (matched, answer.as_object_mut()) {
            object.insert("matched".to_owned(), json!(matched));
        }
        self.push_json(&answer);
    }

    /// Appends an answer given as JSON.
    pub fn push_json(&mut self, answer: &Json) {
        let row = self.rows;
        for column in &mut self.columns {
            let value = answer.get(column.role.name());
            column.at(row).push(value);
        }
        self.rows += 1;
    }

    /// Appends the error of a row that is not a valid message.
    pub fn push_error(&mut self, error: &RowError) {
        let message = error.to_message();
        let message = message.localized(self.language);
        self.push_json(&json!({ ERROR: {"code": error.code().as_str(), "message": message} }));
    }

    /// Returns the answers so far as a batch and resets the builder.
    pub fn finish(&mut self) -> RecordBatch {
        let rows = std::mem::take(&mut self.rows);
        let finish = |column: &mut Column| {
            column.build.push_nulls(rows - column.rows);
            column.rows = 0;
            column.build.finish()
        };
        let columns = self.columns.iter_mut().map(finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .unwrap_or_else(|_| RecordBatch::new_empty(Arc::clone(&self.schema)))
    }
}

/// The part of a decision that a column contains.
#[derive(Clone, Copy)]
enum Role {
    Entry,
    Chosen,
    Target,
    Args,
    Metadata,
    Requires,
    Path,
    Matched,
    /// Any other part, by the name of its column: a rare part, or a part that decisions by routes
    /// never have.
    Other(&'static str),
}

impl Role {
    fn from_name(name: &'static str) -> Role {
        let roles =
            [Role::Entry, Role::Chosen, Role::Target, Role::Args, Role::Metadata, Role::Requires, Role::Path];
        let mut roles = roles.into_iter().chain([Role::Matched]);
        roles.find(|role| role.name() == name).unwrap_or(Role::Other(name))
    }

    fn name(self) -> &'static str {
        match self {
            Role::Entry => "entry",
            Role::Chosen => "chosen",
            Role::Target => "target",
            Role::Args => "args",
            Role::Metadata => "metadata",
            Role::Requires => "requires",
            Role::Path => "path",
            Role::Matched => "matched",
            Role::Other(name) => name,
        }
    }
}

/// True if a decision has none of the rare parts, such as violations or failures.
fn is_plain(decision: &Decision) -> bool {
    decision.missing_args().next().is_none()
        && decision.breaches().is_empty()
        && decision.exceeded().is_empty()
        && decision.failures().is_empty()
}

/// Returns a rare part of a decision, as a JSON list; `None` if the part is empty.
fn rest(name: &str, decision: &Decision) -> Option<Json> {
    let list = match name {
        "missing_args" => json!(decision.missing_args().collect::<Vec<_>>()),
        "breaches" => serde_json::to_value(decision.breaches()).ok()?,
        "exceeded" => serde_json::to_value(decision.exceeded()).ok()?,
        "failures" => {
            let failures = decision.failures().iter();
            failures.map(|one| json!({"function": &*one.function, "message": one.message})).collect()
        }
        _ => return None,
    };
    list.as_array().is_some_and(|list| !list.is_empty()).then_some(list)
}

impl PrecomputedKeys {
    fn is_empty(&self) -> bool {
        self.defaults.is_empty()
    }

    fn for_decision(&self, decision: &Decision) -> Keys {
        let keys = match decision.statement() {
            Some(Chosen::Rule(rule)) => self.rules.get(rule.index()),
            Some(Chosen::Default(table)) => self.defaults.get(table.index()),
            None => None,
        };
        *keys.unwrap_or(&self.none)
    }
}

/// Returns the type of a dictionary column that contains these texts.
fn names<'n>(texts: impl IntoIterator<Item = &'n str>) -> Type {
    let mut names = Names::default();
    for text in texts {
        names.add(text);
    }
    Type::Names(Arc::new(names))
}

/// Returns the columns for a table of routes, and the precomputed dictionary keys of each rule.
fn routes(program: &Program) -> (Columns, PrecomputedKeys) {
    let (mut chosen, mut target) = (Names::default(), Names::default());
    let mut metadata = Names::of_json();
    let mut keys = |name: &str, outcome: Option<&Outcome>| match outcome {
        Some(Outcome::Handler { name: handler, metadata: constants, .. }) => Keys {
            chosen: Some(chosen.add(name)),
            target: Some(target.add(handler)),
            metadata: Some(metadata.add(&Json::Object((**constants).clone()).to_string())),
        },
        _ => Keys { chosen: Some(chosen.add(name)), target: None, metadata: Some(metadata.add("{}")) },
    };
    let mut known = PrecomputedKeys {
        rules: program.rules.iter().map(|rule| keys(&rule.name, Some(&rule.outcome))).collect(),
        defaults: program.tables.iter().map(|table| keys("default", table.default.as_ref())).collect(),
        none: Keys::default(),
    };
    known.none.metadata = Some(metadata.add("{}"));
    let mut columns =
        vec![("chosen", Type::Names(Arc::new(chosen))), ("target", Type::Names(Arc::new(target)))];
    columns.extend(arguments(program).map(|args| ("args", args)));
    columns.push(("metadata", Type::Names(Arc::new(metadata))));
    if program.handlers.iter().flatten().any(|handler| !handler.requires.is_empty()) {
        columns.push(("requires", Type::list(Type::Text)));
    }
    (columns, known)
}

type Columns = Vec<(&'static str, Type)>;

/// Iterates over the outcomes of all rules and table defaults.
fn outcomes(program: &Program) -> impl Iterator<Item = &Outcome> {
    let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
    program.rules.iter().map(|rule| &rule.outcome).chain(defaults)
}

/// Returns one record type with the arguments of all handlers; `None` if no handler has arguments.
/// An argument that has several types is JSON.
fn arguments(program: &Program) -> Option<Type> {
    let mut types: BTreeMap<&str, Type> = BTreeMap::new();
    for outcome in outcomes(program) {
        let Outcome::Handler { args, .. } = outcome else { continue };
        for argument in args {
            let kinds = program
                .values
                .get(argument.value.index())
                .map_or(KindSet::ALL_WITH_VERSION, |value| value.ty.kinds);
            let ty = of_kinds(kinds);
            types
                .entry(&argument.name)
                .and_modify(|known| {
                    if *known != ty {
                        *known = Type::Json
                    }
                })
                .or_insert(ty);
        }
    }
    let fields = types.into_iter().map(|(name, ty)| (name.to_owned(), ty));
    Some(fields.collect()).filter(|fields: &Vec<_>| !fields.is_empty()).map(Type::Record)
}

/// Returns the column type for values of these kinds. Lists and dicts become JSON, because their
/// elements may have any kind.
fn of_kinds(kinds: KindSet) -> Type {
    let texts = KindSet::STRING.union(KindSet::DATETIME).union(KindSet::VERSION);
    match kinds {
        KindSet::BOOL => Type::Bool,
        KindSet::INT => Type::Int,
        KindSet::FLOAT => Type::Float,
        kinds if !kinds.is_empty() && kinds.is_subset(texts) => Type::Text,
        _ => Type::Json,
    }
}

fn choice(program: &Program) -> Columns {
    let branches = program.rules.iter().map(|rule| &*rule.name).chain([""]);
    vec![("branch", names(branches)), ("default", Type::Bool), ("to_user", Type::Bool)]
}

fn flows(program: &Program) -> Columns {
    let patterns = program.rules.iter().filter_map(|rule| match &rule.outcome {
        Outcome::Flow { pattern, .. } => Some(&**pattern),
        _ => None,
    });
    let nearest = ["id", "name"].map(|name| (name.to_owned(), Type::Text));
    let nearest = nearest.into_iter().chain([("score".to_owned(), Type::Float)]).collect();
    vec![
        ("flow", names(program.flows.iter().map(|flow| &*flow.id))),
        ("name", names(program.flows.iter().map(|flow| &*flow.name))),
        ("pattern", names(patterns)),
        ("score", Type::Float),
        ("nearest", Type::list(Type::Record(nearest))),
    ]
}

fn exceeded() -> Type {
    let fields = [("limit", Type::Text), ("amount", Type::Count), ("most", Type::Count)];
    Type::list(Type::Record(fields.map(|(name, ty)| (name.to_owned(), ty)).into()))
}

/// Returns the columns that every kind of entry has.
fn common(program: &Program) -> Columns {
    let mut columns: Columns = Vec::new();
    if outcomes(program).any(|outcome| matches!(outcome, Outcome::Goto(_))) {
        columns.push(("path", Type::list(Type::Text)));
    }
    let has_required = |outcome: &Outcome| match outcome {
        Outcome::Handler { args, .. } => args.iter().any(|argument| !argument.optional),
        _ => false,
    };
    if outcomes(program).any(has_required) {
        columns.push(("missing_args", Type::list(Type::Text)));
    }
    if program.input_contract().is_some() {
        columns.push(("breaches", Type::texts(&["path", "expected", "found", "hint"])));
    }
    columns.push(("exceeded", exceeded()));
    if !program.externs.is_empty() {
        columns.push(("failures", Type::texts(&["function", "message"])));
    }
    columns
}
