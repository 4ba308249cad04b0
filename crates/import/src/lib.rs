//! Importers that load another system's JSON, or convert it to a maintainable `.rules` file.
//!
//! An importer keeps the decisions of the original and writes readable names. A comment marks each
//! part whose meaning differs or that was left out. An item that cannot be translated is skipped
//! and reported with its path; a strict import refuses it. The returned text compiles. Warnings
//! that the translation causes are suppressed by `# rulec: allow` comments with a reason.
//!
//! | module | contents |
//! |---|---|
//! | `located` | JSON values with their path, for error messages |
//! | `write` | names, literals and comments |
//! | `document` | the rules file: its statements, formatted and compiled |
//! | `report` | what happened to each item of the JSON |
//! | `kept` | parts of the JSON that rules cannot express, kept in comments |
//! | `regex` | translates Python's regular expressions to the `regex` crate's syntax |
//! | `literal` | values in Python's literal syntax |
//! | `routes`, `condition`, `handlers`, `derived` | message routes |
//! | `choice`, `compare`, `operator`, `spelling` | workflow branches |
//! | `context` | the context of decision payloads |
//! | `flows`, `executor` | keyword and intent flows, and the tool that executes them |
//! | `settings` | the settings of a document with flows |
//! | `unreadable` | values that are not JSON, such as `NaN` |
//! | `from_json` | loads rules by one call |
//! | `input` | a document as bytes, whose system may not be named |
//! | `export` | writes rules as JSON again |

mod choice;
mod compare;
mod condition;
mod context;
mod derived;
mod document;
mod executor;
mod export;
mod flows;
mod from_json;
mod handlers;
mod input;
mod kept;
mod literal;
mod located;
mod operator;
mod regex;
mod report;
mod routes;
mod settings;
mod spelling;
mod unreadable;
mod write;

pub use export::Exported;
pub use from_json::RulesFromJson;
pub use input::{DocumentOptions, is_json_name};
pub use located::kind_with_article;
pub use report::{ItemKind, Outcome, Report, ReportItem};

use document::RulesDocument;
use located::{JsonNode, LineCounter, PathStep, ReadResult};
use rulec::payload::{Judge, JudgeError};
use rulec::{Message, Rules};
use rulec_base::json::{self, JsonError};
use rulec_base::message;
use rulec_base::source::{Position, SourceOrigin};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::str::FromStr;
use unreadable::UnreadablePart;

/// Rules that were loaded from another system's JSON, with a report on the items that were loaded,
/// changed or skipped.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Text of the rules file that the import wrote. With [`Imported::with_rules`], the text of the
    /// author's main file; empty if the compiled rules contain no source.
    pub text: String,
    /// Report on each item of the JSON document: loaded, changed or skipped.
    pub report: Report,
    /// The rules compiled from `text`.
    pub rules: Rules,
    /// The JSON object that the payload rules read as `context`, without the items that were
    /// skipped. `None` unless a context ([`System::Context`]) was imported.
    pub context: Option<Json>,
    /// Original texts of the names and patterns that the importer changed. The key is the new text
    /// in the rules file.
    original_names: HashMap<String, String>,
    /// The parts of `text`, such as routes and branches. Each has the number of its first line, and
    /// the index in the report of the item from which the part was written. `None` for a part that
    /// comes from no item.
    parts: Vec<(usize, Option<usize>)>,
}

impl Imported {
    /// Makes explanations and findings of the rules refer to the JSON document, under the name
    /// `name`, instead of the text of the rules. Has no effect after the first call, or if a JSON
    /// value was imported instead of a text.
    #[must_use]
    pub fn named(self, name: &str) -> Imported {
        let position = |item: &ReportItem| {
            let (line, column) = item.position?;
            Some(Position { line, column })
        };
        let is_located = self.report.items().iter().any(|item| item.position.is_some());
        let start = Position { line: 1, column: 1 };
        let parts = self.parts.iter().map(|(line, item)| {
            let item = item.and_then(|item| self.report.items().get(item));
            (*line, item.and_then(position).unwrap_or(start))
        });
        if let (true, Some((_, file))) = (is_located, self.rules.sources().iter().next()) {
            file.set_origin(SourceOrigin { name: name.to_owned(), part_positions: parts.collect() });
        }
        self
    }

    /// Replaces the bundled rules by `rules`, such as a changed copy of them. The payload context
    /// and the report stay, without the notes on members that the bundled rules do not read. Has no
    /// effect unless a payload context ([`System::Context`]) was imported.
    #[must_use]
    pub fn with_rules(mut self, rules: &Rules) -> Imported {
        if self.context.is_some() {
            self.report.items.retain(|item| item.kind != ItemKind::Document);
            let main = rules.sources().iter().next();
            self.text = main.map(|(_, file)| file.text.clone()).unwrap_or_default();
            self.rules = rules.clone();
        }
        self
    }

    /// Returns the name that a route or branch has in the JSON document, given its name in the
    /// imported rules.
    pub fn original<'n>(&'n self, name: &'n str) -> &'n str {
        self.original_names.get(name).map_or(name, String::as_str)
    }

    /// Returns a pattern of `flow` as it is written in the JSON document. `pattern` is its text in
    /// the imported rules.
    pub fn original_pattern<'n>(&'n self, flow: &str, pattern: &'n str) -> &'n str {
        self.original_names.get(&flows::pattern_key(flow, pattern)).map_or(pattern, String::as_str)
    }

    /// Creates a validator for payloads of one kind, with the loaded context. `kind` is the name of
    /// a `payload` statement in the rules.
    ///
    /// # Errors
    /// If the rules have no such statement. If a context was loaded: also if the rules declare no
    /// input `context`, or the loaded context does not have its declared type.
    pub fn judge(&self, kind: &str) -> Result<Judge, JudgeError> {
        let judge = self.rules.judge(kind)?;
        match &self.context {
            Some(context) => judge.context(context.clone()),
            None => Ok(judge),
        }
    }
}

/// Options of an import. By default, a route, branch, flow or pattern that cannot be translated is
/// skipped and reported, so that it does not stop the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    is_strict: bool,
    is_literal: bool,
}

impl Options {
    /// Makes the import fail if a route, branch, flow or pattern cannot be translated, instead of
    /// skipping it.
    #[must_use]
    pub fn strict(self) -> Options {
        Options { is_strict: true, ..self }
    }

    /// Compares the patterns of keyword flows literally, as `==`, `in` and `re.search` do in the
    /// original system: case and white space count. Without this option, both are ignored.
    /// Documents without keyword flows are not affected.
    #[must_use]
    pub fn literal(self) -> Options {
        Options { is_literal: true, ..self }
    }
}

/// A system whose JSON documents can be imported as rules. Each variant is one format of such
/// documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Message routes: a list of routes, or `{"routes": […], "default": handler}`.
    Routes,
    /// Workflow branches: a list of branches, `{"choices": […]}`, a list of such objects, or a
    /// workflow document whose steps contain one of these forms.
    Choice,
    /// Keyword flows (found by patterns) and intent flows (found by meaning): a list of flows, or
    /// `{"flows": […], "tools": […]}`.
    Flows,
    /// The `context` that rules read when they validate decisions of an agent: `{"workflows": {…},
    /// "subagents": {…}, …}`. The rules are [`rulec::bundled::DECISIONS`].
    Context,
}

impl System {
    /// All formats whose JSON can be imported, in the order of the documentation.
    pub const ALL: [System; 4] = [System::Routes, System::Choice, System::Flows, System::Context];

    /// Returns the name that selects the system on the command line.
    pub fn name(self) -> &'static str {
        match self {
            System::Routes => "routes",
            System::Choice => "choice",
            System::Flows => "flows",
            System::Context => "context",
        }
    }

    /// Returns the system whose JSON documents look like this value; `None` if no system or several
    /// systems fit.
    pub fn recognize(value: &Json) -> Option<System> {
        let shapes: &[(System, &[&str])] = match value {
            Json::Array(_) => &[
                (System::Flows, &["flow_id", "trigger_patterns", "match_type"]),
                (System::Routes, &["condition", "handler"]),
                (System::Choice, &["branch_id", "choices", "branches"]),
            ],
            _ => &[
                (System::Flows, &["flows"]),
                (System::Routes, &["routes"]),
                (System::Choice, &["choices", "branches", "steps", "flow"]),
                (System::Context, &["workflows", "subagents", "requests_last_minute", "api_calls"]),
            ],
        };
        let objects = match value {
            Json::Array(items) => items.as_slice(),
            object => std::slice::from_ref(object),
        };
        let has_shape =
            |keys: &[&str]| objects.iter().any(|object| keys.iter().any(|key| object.get(key).is_some()));
        let mut fitting = shapes.iter().filter(|(_, keys)| has_shape(keys)).map(|(system, _)| *system);
        let system = fitting.next()?;
        fitting.next().is_none().then_some(system)
    }

    /// Returns the system whose JSON format fits this text; `None` if no format or several formats
    /// fit. Values that are not JSON, such as `NaN`, are ignored.
    ///
    /// # Errors
    /// If the text is not JSON for another reason.
    pub fn recognize_text(text: &str) -> Result<Option<System>, ImportError> {
        let value = match json::parse(text) {
            Ok(value) => value,
            Err(error) => unreadable::repair_document(text, error)?.value,
        };
        Ok(System::recognize(&value))
    }

    /// Imports a JSON text. An item with a value that is not JSON, such as `NaN` or half of a
    /// surrogate pair, is skipped, unless the import is strict.
    ///
    /// ```
    /// use rulec_import::{Options, System};
    ///
    /// let json = r#"[{"name": "files", "priority": 10, "handler": "file_handler",
    ///                 "condition": {"type": "TextCondition", "contains": ["file"]}}]"#;
    /// let imported = System::Routes.import(json, Options::default())?;
    /// assert!(imported.text.contains("route files priority 10"));
    /// # Ok::<(), rulec_import::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the text is not JSON or is not a document of this system. With
    /// [`Options::strict`], also if an item cannot be translated.
    pub fn import(self, text: &str, options: Options) -> Result<Imported, ImportError> {
        let (value, repaired) = match json::parse(text) {
            Ok(value) => (value, None),
            Err(error) if options.is_strict => return Err(error.into()),
            Err(error) => {
                let mut repaired = unreadable::repair_document(text, error)?;
                (std::mem::take(&mut repaired.value), Some(repaired))
            }
        };
        let (readable, unreadable) =
            repaired.as_ref().map_or((text, &[][..]), |repaired| (&*repaired.text, &*repaired.unreadable));
        let locate = |paths: &[&[PathStep]]| unreadable::locate_values(readable, unreadable, paths);
        let with_position = |error: ImportError| match error {
            ImportError::Untranslatable(error) => {
                let range = locate(&[&error.steps]).pop().flatten();
                let position =
                    range.as_ref().map(|range| LineCounter::new(text).line_and_column(range.start));
                ImportError::Untranslatable(Untranslatable { position, range, ..error })
            }
            other => other,
        };
        let mut imported = self.import_repaired_value(&value, options, unreadable).map_err(with_position)?;
        imported.report.set_item_positions(text, locate);
        Ok(imported)
    }

    /// Imports a JSON text that the author has never seen, so its line numbers would mislead.
    /// Errors and the report contain paths but no line numbers. Not part of the stable API.
    ///
    /// # Errors
    /// As for [`System::import`].
    #[doc(hidden)]
    pub fn import_without_positions(self, text: &str, options: Options) -> Result<Imported, ImportError> {
        let (position, range) = (None, None);
        let mut imported = self.import(text, options).map_err(|error| match error {
            ImportError::Untranslatable(error) => Untranslatable { position, range, ..error }.into(),
            other => other,
        })?;
        imported.report.remove_positions();
        Ok(imported)
    }

    /// Imports a parsed JSON value. Errors and the report contain paths but no line numbers,
    /// because there is no text.
    ///
    /// # Errors
    /// As for [`System::import`].
    pub fn import_value(self, value: &Json, options: Options) -> Result<Imported, ImportError> {
        self.import_repaired_value(value, options, &[])
    }

    /// Imports a JSON value in which [marked objects](located::UNREADABLE_KEY) replace the parts of
    /// a document that are not JSON. `unreadable` lists these parts. The items that contain them
    /// are skipped.
    fn import_repaired_value(
        self,
        value: &Json,
        options: Options,
        unreadable: &[UnreadablePart],
    ) -> Result<Imported, ImportError> {
        let mut refused = BTreeMap::new();
        loop {
            let mut document = RulesDocument {
                is_strict: options.is_strict,
                compares_patterns_literally: options.is_literal,
                has_marked_objects: !unreadable.is_empty(),
                refused_items: refused,
                ..RulesDocument::default()
            };
            let has_marked_objects = document.has_marked_objects;
            let root = JsonNode { has_marked_objects, ..JsonNode::root(value) };
            self.read_document(&root, &mut document)?;
            if document.newly_refused.is_empty() {
                document.refuse_unreadable_items(unreadable);
            }
            if document.newly_refused.is_empty() {
                if self == System::Context
                    && let Some((steps, message)) = document.unreadable_values.pop()
                {
                    // Without this value, the rules could allow too much.
                    let error = Untranslatable { message, steps, position: None, range: None };
                    return Err(error.into());
                }
                if !unreadable.is_empty() && self != System::Context {
                    document.report.add_document_note(message!(
                        "no comment keeps a part with a value that is no JSON, so an export lacks it"
                    ));
                }
                return document.compile_and_finish();
            }
            refused = document.refused_items;
            refused.extend(document.newly_refused);
        }
    }

    fn read_document(self, root: &JsonNode<'_>, document: &mut RulesDocument) -> ReadResult<()> {
        match self {
            System::Routes => routes::read_document(root, document),
            System::Choice => choice::read_document(root, document),
            System::Flows => flows::read_document(root, document),
            System::Context => context::read_document(root, document),
        }
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = System::ALL.into_iter().find(|system| system.name() == name);
        found.ok_or_else(|| format!("nothing imports `{name}`; choose routes, choice, flows or context"))
    }
}

/// The reason why a JSON document cannot be imported.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A part of the JSON, such as a pattern, cannot be translated.
    #[error(transparent)]
    Untranslatable(#[from] Untranslatable),
    /// No system was named, and the JSON has the shape of no known document, or of several.
    Unrecognized,
    /// Patterns shall be compared literally ([`Options::literal`]), but the document has no flows.
    LiteralWithoutFlows,
    /// The importer wrote a rules file that does not compile; this is a bug of the importer.
    Internal(Message),
}

impl ImportError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            ImportError::Json(error) => error.to_message(),
            ImportError::Untranslatable(refusal) => refusal.to_message(),
            ImportError::Unrecognized => {
                let kinds = System::ALL.map(System::name).join(", ");
                message!("the JSON has the shape of no known document, or of several; name its kind: {kinds}")
            }
            ImportError::LiteralWithoutFlows => {
                message!("only a document of `flows` has patterns that can be compared literally")
            }
            ImportError::Internal(why) => {
                message!("the importer wrote a file that does not compile; please report this: {why}")
            }
        }
    }
}

/// Error: a part of the JSON, such as a pattern, cannot be translated. Contains the path of this
/// part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct Untranslatable {
    message: Message,
    steps: Vec<located::PathStep>,
    position: Option<(usize, usize)>,
    range: Option<Range<usize>>,
}

impl Untranslatable {
    /// Returns the description of the error and a suggested correction.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the path of the part of the document that cannot be translated, such as
    /// `routes[2].condition.pattern`; empty for the whole document.
    pub fn path(&self) -> String {
        located::format_path(&self.steps)
    }

    /// Returns line and column of the part of the document that cannot be translated, both from 1;
    /// the column counts characters. `None` if a JSON value was imported instead of a text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }

    /// Returns the range of the part of the document that cannot be translated, in bytes of the
    /// text. `None` if a JSON value was imported instead of a text.
    pub fn range(&self) -> Option<Range<usize>> {
        self.range.clone()
    }

    /// Returns the error with the kind (`what`) and the name of the enclosing item, such as a
    /// route, at the start of its message.
    fn with_item_name(self, what: &Message, name: &str) -> Untranslatable {
        let message = match name {
            "" => self.message,
            name => message!("{what} {}: {}", write::quote_for_comment(name), self.message),
        };
        Untranslatable { message, ..self }
    }

    /// Returns the error with its path and position, as a localized message.
    pub fn to_message(&self) -> Message {
        let (message, path) = (&self.message, self.path());
        match (path.is_empty(), self.position) {
            (true, _) => message.clone(),
            (false, None) => message!("{message}, at `{path}`"),
            (false, Some((line, column))) => {
                message!("{message}, at `{path}` (line {line}, column {column})")
            }
        }
    }
}
