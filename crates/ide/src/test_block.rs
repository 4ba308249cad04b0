//! Writes `test` blocks. A test either repeats the decision for a given message, or tests a given
//! route with a message that the analysis finds for it.

use super::actions::CodeAction;
use super::{Analysis, Edit};
use rulec::Rules;
use rulec::why_not::Remedy;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_sema::hir::{Outcome, ROUTES_TABLE, Rule, Table, TableKind};
use rulec_syntax::loader::{LoadError, Loader};
use rulec_syntax::write;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// Maximum number of characters of the message's text that are used in the name of the test.
const MAX_TEXT_CHARS_IN_NAME: usize = 48;

/// Returns the name of a statement as a test writes it after `expect`, such as `billing.refund`.
pub fn expected_name(table: &Table, name: &str) -> String {
    // As the expected statement, these three words are keywords, which must not be quoted.
    let name = match name {
        "default" | "none" | "otherwise" => name.to_owned(),
        _ => write::quote_name(name),
    };
    match (&*table.name, table.kind) {
        (ROUTES_TABLE, TableKind::Routes) => name,
        (table, _) => format!("{}.{name}", write::quote_name(table)),
    }
}

/// Returns a name for the test that no other test has: `requested_name`, followed by a number if it
/// is taken. Without a requested name, the name is made from the message's text and the expected
/// statement.
pub fn unused_test_name(
    rules: &Rules,
    requested_name: Option<&str>,
    message: &Json,
    expected_statement: &str,
) -> String {
    let text = message.get("text").and_then(Json::as_str).unwrap_or_default();
    let short_text: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_TEXT_CHARS_IN_NAME).collect();
    let plain_outcome = expected_statement.replace(['`', '"'], "");
    let requested_name = match requested_name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(requested_name) => requested_name.to_owned(),
        None if short_text.is_empty() => format!("a message goes to {plain_outcome}"),
        None => format!("{short_text}: {plain_outcome}"),
    };
    let is_taken = |name: &str| rules.program().tests.iter().any(|test| *test.name == *name);
    let numbered = (2..).map(|number| format!("{requested_name} ({number})"));
    std::iter::once(requested_name.clone())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or(requested_name)
}

/// Returns a `test` block with the name `name`. `expected` is the statement that the rules must
/// choose for `message`, and `history` contains the earlier messages.
pub fn write_test_block(name: &str, message: &Json, history: &[GivenMessage], expected: &str) -> String {
    let mut block = format!("test {} {{\n", write::quote_string(name));
    for (name, value) in message.as_object().into_iter().flatten() {
        let _ = writeln!(block, "  given {} = {}", write::quote_name(name), write::format_value(value));
    }
    if !history.is_empty() {
        let lines: Vec<String> =
            history.iter().map(|given| format!("    {}", given.to_rule_text())).collect();
        let _ = writeln!(block, "  given history = [\n{}\n  ]", lines.join(",\n"));
    }
    let _ = writeln!(block, "  expect {expected}\n}}");
    block
}

/// An earlier message in a `test` block.
#[derive(Clone, Debug)]
pub struct GivenMessage {
    /// The fields of the message that the rules read. The field `decision` contains the decision
    /// for the message.
    pub fields: Map<String, Json>,
    /// The time between this message and the message of the test, in milliseconds. `None` if the
    /// fields contain the time of the message.
    pub ago_ms: Option<u64>,
}

impl GivenMessage {
    fn to_rule_text(&self) -> String {
        let fields = self.fields.iter();
        let mut parts: Vec<String> = fields
            .map(|(name, json)| format!("{}: {}", write::format_key(name), write::format_value(json)))
            .collect();
        parts.extend(self.ago_ms.map(|ago| format!("ago: {}", write::format_duration(ago))));
        format!("{{ {} }}", parts.join(", "))
    }
}

impl Analysis {
    /// Returns the name of the route for which a test can be added: the route at the selection.
    /// `None` if there is no route, or if it is disabled or leads to a table.
    pub fn testable_route(&self, selection: Span) -> Option<&str> {
        self.route_at(selection).map(|route| &*route.name)
    }

    fn route_at(&self, selection: Span) -> Option<&Rule> {
        let program = self.rules()?.program();
        program.rules.iter().find(|rule| {
            rule.span.file == selection.file
                && rule.span.start <= selection.start
                && selection.start <= rule.span.end
                && !rule.is_disabled
                && matches!(rule.outcome, Outcome::Handler { .. })
                && program.tables[rule.table.index()].kind == TableKind::Routes
        })
    }

    /// Returns the action that adds a test for the route at the selection, at the end of its file.
    /// The message of the test is found by the analysis. `loader` loads the other files of the
    /// rules, because the rules with the new test are compiled, and the test is run.
    ///
    /// # Errors
    /// If there is no such route, or if no message was found that selects the route.
    pub fn test_for_route(&self, loader: &dyn Loader, selection: Span) -> Result<CodeAction, Message> {
        let (Some(rules), Some(route)) = (self.rules(), self.route_at(selection)) else {
            return Err(message!(
                "a test can be added only for a route to a handler, in rules without errors"
            ));
        };
        let table = &rules.program().tables[route.table.index()];
        let text = self.text(route.span.file);
        let separator = if text.ends_with('\n') { "\n" } else { "\n\n" };
        let expected = expected_name(table, &route.name);
        let mut is_unreachable = true;
        // Most tests of a table's route begin at the top-level routes, from which a jump leads to
        // the table.
        let (main, own) = (rules.main(), rules.table(route.table));
        for entry in std::iter::once(main).chain((own.name() != main.name()).then_some(own)) {
            // An empty message is the start, so the message gets only the fields that are needed.
            let empty = json!({});
            let message = match entry.why_not(&route.name, &empty).map(|found| found.remedy) {
                Ok(Remedy::Chosen) => empty,
                Ok(Remedy::Change { message, .. }) => message,
                Ok(Remedy::Never) | Err(_) => continue,
                Ok(_) => {
                    is_unreachable = false;
                    continue;
                }
            };
            is_unreachable = false;
            let name = unused_test_name(rules, None, &message, &expected);
            let block = format!("{separator}{}", write_test_block(&name, &message, &[], &expected));
            if self.test_passes_with(loader, route.span, &block, &name) {
                let end = text.len() as u32;
                let edit = Edit { span: Span { start: end, end, ..route.span }, replacement: block };
                return Ok(CodeAction {
                    title: add_test_title(&route.name),
                    edits: vec![edit],
                    is_safe: false,
                });
            }
        }
        Err(match is_unreachable {
            true => message!("no message can reach `{}`", route.name),
            false => message!("no message was found that `{}` takes", route.name),
        })
    }

    /// True if the test `name` passes after the text `block` was added to the end of a file.
    /// `place` is a span in this file.
    fn test_passes_with(&self, loader: &dyn Loader, place: Span, block: &str, name: &str) -> bool {
        let file_name = |file| self.sources.get(file).map_or("", |file| &*file.name);
        let changed_text = format!("{}{block}", self.text(place.file));
        let changed = ChangedFileLoader { loader, path: file_name(place.file), text: &changed_text };
        let main_file = self.sources.iter().next().map_or("", |(_, file)| &*file.name);
        let analysis = Analysis::new(&changed, main_file);
        let outcomes = analysis.rules().map(rulec::run_tests).unwrap_or_default();
        outcomes.iter().any(|outcome| outcome.name == name && outcome.passed)
    }
}

/// Returns the title of the action that adds a test for a route.
pub fn add_test_title(route: &str) -> Message {
    message!("add a test for `{route}`")
}

/// A loader that supplies the text `text` for the file `path`, and all other files from `loader`.
struct ChangedFileLoader<'a> {
    loader: &'a dyn Loader,
    path: &'a str,
    text: &'a str,
}

impl Loader for ChangedFileLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        if path == self.path { Ok(self.text.as_bytes().to_vec()) } else { self.loader.load(path) }
    }
}
