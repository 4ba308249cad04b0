//! The rules file that an importer writes: its statements and comments. The text is compiled before
//! it is returned, so that an import never gives rules that do not compile.

use super::kept;
use super::located::{JsonNode, ObjectReader, PathStep, ReadResult};
use super::report::{ItemKind, Outcome, ReportBuilder, ReportItem};
use super::unreadable::UnreadablePart;
use super::write::{quote_for_comment, write_comment};
use super::{ImportError, Imported, Untranslatable};
use rulec::{Code, CompileError, Compiler, Diagnostic, Message, Rules, bundled};
use rulec_base::message;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Default)]
pub(super) struct ImportedStatement {
    /// Comments to write before the statement, one paragraph each.
    pub(super) comments: Vec<String>,
    pub(super) docs: String,
    /// Rule text of the statement, without a final line break.
    pub(super) body: String,
    /// Whether the statement follows the previous statement without an empty line.
    pub(super) is_adjacent: bool,
    /// The item from which the statement was written, as its index in the report. `None` if the
    /// statement comes from no item.
    pub(super) item_index: Option<usize>,
    /// The parts of the body that come from items of their own, such as the branches of a choice.
    /// Each has the number of lines of the body before the part, and the index of its item in the
    /// report.
    pub(super) body_lines_and_items: Vec<(usize, usize)>,
}

#[derive(Default)]
pub(super) struct RulesDocument {
    /// Comment at the start of the file that describes the file.
    pub(super) header: String,
    pub(super) statements: Vec<ImportedStatement>,
    /// Parts of the JSON document that rules cannot express and that belong to no statement. A
    /// comment at the start of the rules file stores these parts for a later export.
    pub(super) kept_in_header: Map<String, Json>,
    /// The JSON object that the bundled payload rules read as `context`. `None` unless such a
    /// context is imported; the file then has no statements.
    pub(super) payload_context: Option<Json>,
    /// The report under construction: whether each item that was read was loaded, changed or
    /// skipped.
    pub(super) report: ReportBuilder,
    /// Whether an item that cannot be translated ends the import with an error. If false, the item
    /// is skipped.
    pub(super) is_strict: bool,
    /// Whether the patterns of keyword flows are compared literally: case and white space count.
    pub(super) compares_patterns_literally: bool,
    /// Whether the document had values that are not JSON, such as `NaN`. Marked objects (objects
    /// with the key `UNREADABLE_KEY`) now replace these values.
    pub(super) has_marked_objects: bool,
    /// Items (such as routes) that cannot be translated, by path. They were found in earlier passes
    /// over the document. The current pass skips and reports these items.
    pub(super) refused_items: BTreeMap<Vec<PathStep>, Untranslatable>,
    /// Items (such as routes) that cannot be translated, found in the current pass over the
    /// document. Reading such an item may have left names or facts in this struct. So another pass
    /// reads the document without the item.
    pub(super) newly_refused: Vec<(Vec<PathStep>, Untranslatable)>,
    /// Paths of the values that are not JSON and belong to no item, each with the reason.
    pub(super) unreadable_values: Vec<(Vec<PathStep>, Message)>,
    /// Original texts of the names and patterns that the importer changed. The key is the new text
    /// in the rules file.
    pub(super) original_names: HashMap<String, String>,
}

/// The text of a rules file, and where its statements are.
struct RenderedRules {
    text: String,
    /// The number of the last line of each statement in the rules file.
    statement_last_lines: Vec<usize>,
    /// The parts of the text, in order: a whole statement with the comments before it, or a part of
    /// its body, such as a branch of a choice. Each has the number of its first line, and the index
    /// in the report of the item that it comes from; `None` if it comes from no item.
    part_lines_and_items: Vec<(usize, Option<usize>)>,
}

impl RulesDocument {
    /// Reads an item by `read`, and records it in the report. Returns the item's index in the
    /// report and the result of `read`. The name of the item is the first text among its members
    /// `name_keys`. If the document is not loaded strictly, an item that cannot be translated is
    /// skipped; the result is then `None`.
    pub(super) fn read_item<T>(
        &mut self,
        kind: ItemKind,
        node: &JsonNode<'_>,
        name_keys: &[&str],
        read: impl FnOnce(&mut RulesDocument) -> ReadResult<T>,
    ) -> ReadResult<Option<(usize, T)>> {
        self.read_named_item(kind, node, node.item_name(name_keys), read)
    }

    /// Like [`RulesDocument::read_item`], but for an item whose `name` is not one of its members:
    /// it is the key that leads to the item.
    pub(super) fn read_named_item<T>(
        &mut self,
        kind: ItemKind,
        node: &JsonNode<'_>,
        name: &str,
        read: impl FnOnce(&mut RulesDocument) -> ReadResult<T>,
    ) -> ReadResult<Option<(usize, T)>> {
        if let Some(refusal) = self.refused_items.get(&node.steps) {
            self.report.add_skipped_item(kind, name, &refusal.steps, refusal.message.clone());
            return Ok(None);
        }
        let outer = self.report.current_item_index();
        let index = self.report.begin_item(kind, name, &node.steps);
        let result = read(self);
        self.report.end_item(outer);
        match result {
            Ok(item) => Ok(Some((index, item))),
            Err(refusal) if self.is_strict => Err(refusal.with_item_name(&kind.to_message(), name)),
            Err(refusal) => {
                self.report.discard_items_from(index);
                self.newly_refused.push((node.steps.clone(), refusal));
                Ok(None)
            }
        }
    }

    /// Returns the result of reading a part of an item, such as one pattern of a flow. A part that
    /// cannot be translated is an error if the import is strict. Otherwise the part is reported as
    /// skipped, and `None` is returned.
    pub(super) fn part_or_skip<T>(
        &mut self,
        kind: ItemKind,
        name: &str,
        part: ReadResult<T>,
    ) -> ReadResult<Option<T>> {
        match part {
            Ok(part) => Ok(Some(part)),
            Err(refusal) if self.is_strict => Err(refusal),
            Err(refusal) => {
                self.report.add_skipped_item(kind, name, &refusal.steps, refusal.message);
                Ok(None)
            }
        }
    }

    /// Refuses the items that contain values which are not JSON, so that the next pass over the
    /// document skips these items. `unreadable` contains the path of each value, and the reason. A
    /// value that belongs to no item is listed in the report as a skipped field.
    pub(super) fn refuse_unreadable_items(&mut self, unreadable: &[UnreadablePart]) {
        let is_context = self.payload_context.is_some();
        for UnreadablePart { steps, reason, .. } in unreadable {
            if self.refused_items.keys().any(|item| steps.starts_with(item)) {
                self.report.set_skip_reason(steps, reason);
                continue;
            }
            // Without the value, a condition may be left out of its branch, which then matches too
            // often. So the branch is skipped.
            let is_part = |item: &ReportItem| {
                item.outcome == Outcome::Skipped
                    && match item.kind {
                        ItemKind::Pattern | ItemKind::Node => true,
                        ItemKind::Field | ItemKind::Default => !is_context,
                        _ => false,
                    }
            };
            if self.report.item_around(steps, is_part).is_some() {
                self.report.set_skip_reason(steps, reason);
                continue;
            }
            let is_item = |item: &ReportItem| {
                item.outcome != Outcome::Skipped
                    && !matches!(item.kind, ItemKind::Document | ItemKind::Choice)
            };
            match self.report.item_around(steps, is_item) {
                Some(item) => {
                    let message = reason.clone();
                    let refusal =
                        Untranslatable { message, steps: steps.clone(), position: None, range: None };
                    self.newly_refused.push((item.steps.clone(), refusal));
                }
                None => self.unreadable_values.push((steps.clone(), reason.clone())),
            }
        }
        if self.newly_refused.is_empty() {
            for (steps, reason) in &self.unreadable_values {
                self.report.add_skipped_item(ItemKind::Field, "", steps, reason.clone());
            }
        }
    }

    /// Records that the item `original` of the JSON document, such as a route, branch or flow, is
    /// called `new_name` in the rules. Does nothing if both names are equal.
    pub(super) fn record_rename(&mut self, new_name: &str, original: &str) {
        if new_name != original {
            self.original_names.insert(new_name.to_owned(), original.to_owned());
        }
    }

    /// Adds a note for the author: the route, branch or flow `original` has the name `new_name` in
    /// the rules. The name `original` is already taken, or is not a valid name.
    pub(super) fn add_rename_note(&mut self, new_name: &str, original: &str) {
        let (new_name, original) = (quote_for_comment(new_name), quote_for_comment(original));
        self.report.add_note(message!(
            "the name {original} is taken or cannot be the name of a rule; it is {new_name} here"
        ));
    }

    /// Returns the members of `object` that the importer did not read, so that a comment in the
    /// rules can store them. Members with a value that is not JSON are left out. For each returned
    /// member, adds a note for the author. `of` names the object in the note.
    pub(super) fn collect_unread_members(
        &mut self,
        object: &ObjectReader<'_>,
        of: &Message,
    ) -> Map<String, Json> {
        let mut unread = Map::new();
        for (key, node) in object.unread_members() {
            if node.has_unreadable() {
                continue;
            }
            self.report.add_note(message!("`{key}` of {of} has no meaning here and is kept as a comment"));
            unread.insert(key.to_owned(), node.value.clone());
        }
        unread
    }

    /// Returns a rules comment that stores these members of the JSON document for a later export;
    /// `None` if no member is left. See [`kept::members_comment`].
    pub(super) fn kept_comment(&self, members: &Map<String, Json>) -> Option<String> {
        kept::members_comment(members, self.has_marked_objects)
    }

    /// Stores the members of the document's top-level object that the importer did not read in a
    /// comment at the start of the rules file. Adds a note for the author about each of them.
    pub(super) fn keep_unread_in_header(&mut self, object: &ObjectReader<'_>) {
        let unread = self.collect_unread_members(object, &message!("the document"));
        self.kept_in_header.extend(unread);
    }

    /// Returns the elements of the list `nodes` that were skipped completely, with their positions
    /// as keys. A comment in the rules file stores these elements for a later export.
    pub(super) fn skipped_elements(&self, nodes: &[JsonNode<'_>]) -> Map<String, Json> {
        let skipped =
            nodes.iter().enumerate().filter(|(_, node)| self.refused_items.contains_key(&node.steps));
        skipped.map(|(position, node)| (position.to_string(), node.value.clone())).collect()
    }

    /// Stores the skipped elements of the top-level list `key` in a comment at the start of the
    /// rules file, for a later export.
    pub(super) fn keep_skipped_in_header(&mut self, key: &str, nodes: &[JsonNode<'_>]) {
        let skipped = self.skipped_elements(nodes);
        if !skipped.is_empty() {
            self.kept_in_header.insert(key.to_owned(), Json::Object(skipped));
        }
    }

    /// If there is no statement, adds an `input` statement with a comment, because a rules file
    /// must not be empty.
    pub(super) fn add_input_if_empty(&mut self, comment: &str) {
        if self.statements.is_empty() {
            let (comments, body) = (vec![comment.to_owned()], "input { text: string }".to_owned());
            self.statements.push(ImportedStatement { comments, body, ..ImportedStatement::default() });
        }
    }

    /// Writes the rules file. Returns its text, and the line numbers of the statements in it.
    /// `allows` contains, by statement index, the warning codes that a comment before the statement
    /// suppresses.
    fn render_rules(&self, allows: &BTreeMap<usize, BTreeSet<Code>>) -> RenderedRules {
        let kept = kept::document_comment(&self.kept_in_header, self.has_marked_objects);
        let header: Vec<String> = [self.header.clone()].into_iter().chain(kept).collect();
        let mut text = write_comment("#", &header.join("\n"), 0);
        let (mut last_lines, mut parts) = (Vec::new(), Vec::new());
        // `lines` is the number of lines of the text before the offset `counted`. `part` is the
        // number of the first line of the next statement with its comments.
        let (mut lines, mut counted, mut part) = (0, 0, 1);
        for (index, statement) in self.statements.iter().enumerate() {
            if !statement.is_adjacent {
                text.push('\n');
            }
            for paragraph in &statement.comments {
                text.push_str(&write_comment("#", paragraph, 0));
            }
            if !statement.docs.is_empty() {
                text.push_str(&write_comment("##", &statement.docs, 0));
            }
            for code in allows.get(&index).into_iter().flatten() {
                text.push_str(&format!("# rulec: allow {code} {}\n", suppression_reason(*code)));
            }
            lines += text[counted..].matches('\n').count();
            parts.push((part, statement.item_index));
            parts.extend(
                statement.body_lines_and_items.iter().map(|(offset, item)| (lines + 1 + offset, Some(*item))),
            );
            counted = text.len();
            text.push_str(&statement.body);
            text.push('\n');
            lines += text[counted..].matches('\n').count();
            counted = text.len();
            last_lines.push(lines);
            part = lines + 1;
        }
        RenderedRules { text, statement_last_lines: last_lines, part_lines_and_items: parts }
    }

    /// Compiles the rules file and returns the result of the import. A comment with a reason before
    /// each statement suppresses the warnings that the statement causes.
    pub(super) fn compile_and_finish(self) -> Result<Imported, ImportError> {
        let compile = |text: &str| {
            Compiler::new()
                .compile_text(text)
                .map_err(|error| ImportError::Internal(describe_compile_error(&error, text)))
        };
        if let Some(context) = self.payload_context {
            let text = bundled::DECISIONS.to_owned();
            let (rules, (report, _)) = (compile(&text)?, self.report.finish_report(Vec::new()));
            return Ok(Imported {
                parts: Vec::new(),
                text,
                report,
                rules,
                context: Some(context),
                original_names: HashMap::new(),
            });
        }
        let mut rendered = self.render_rules(&BTreeMap::new());
        let mut rules = compile(&rendered.text)?;
        let warnings = self.collect_warnings(&rules);
        let mut item_warnings = Vec::new();
        if !warnings.is_empty() {
            let last_lines = &rendered.statement_last_lines;
            let allows = warning_codes_by_statement(&rules, &warnings, last_lines);
            item_warnings.extend(warnings.iter().filter_map(|warning| {
                let item = self
                    .statements
                    .get(statement_index_of_warning(&rules, warning, last_lines)?)?
                    .item_index?;
                Some((item, warning.code, warning.message.clone()))
            }));
            rendered = self.render_rules(&allows);
            rules = compile(&rendered.text)?;
            // Only a remaining warning of the compiler is an error. The analysis is not repeated,
            // because its findings do not prevent the import.
            if let Some(remaining) = rules.warnings().first() {
                let message = message!("{}: {}", remaining.code, remaining.message);
                return Err(ImportError::Internal(message));
            }
        }
        let (report, first_item) = self.report.finish_report(item_warnings);
        let parts = rendered
            .part_lines_and_items
            .into_iter()
            .map(|(line, item)| (line, item.map(|item| item + first_item)));
        Ok(Imported {
            parts: parts.collect(),
            text: rendered.text,
            report,
            rules,
            context: None,
            original_names: self.original_names,
        })
    }

    /// Returns the warnings of the compiler and of the analysis, which compares the rules with each
    /// other. A file of more than [`MAX_ANALYSED_STATEMENTS`] statements is not analysed.
    fn collect_warnings(&self, rules: &Rules) -> Vec<Diagnostic> {
        let analysed =
            if self.statements.len() <= MAX_ANALYSED_STATEMENTS { rules.analyse() } else { Vec::new() };
        let analysed = analysed.into_iter().map(|finding| finding.diagnostic);
        rules.warnings().iter().cloned().chain(analysed).collect()
    }
}

/// Maximum number of statements of a file that is analysed for warnings, which would take too long
/// for larger files. Larger files are only compiled.
const MAX_ANALYSED_STATEMENTS: usize = 1_000;

/// Returns the codes of `warnings`, grouped by the index of the statement that causes them.
/// `last_lines` contains the number of the last line of each statement.
fn warning_codes_by_statement(
    rules: &Rules,
    warnings: &[Diagnostic],
    last_lines: &[usize],
) -> BTreeMap<usize, BTreeSet<Code>> {
    let mut allows: BTreeMap<usize, BTreeSet<Code>> = BTreeMap::new();
    for warning in warnings {
        if let Some(index) = statement_index_of_warning(rules, warning, last_lines) {
            allows.entry(index).or_default().insert(warning.code);
        }
    }
    allows
}

/// Returns the index of the statement that causes a warning; `None` if the warning has no position.
/// `last_lines` contains the number of the last line of each statement.
fn statement_index_of_warning(rules: &Rules, warning: &Diagnostic, last_lines: &[usize]) -> Option<usize> {
    let line = rules.sources().position(warning.span()?).line;
    Some(last_lines.partition_point(|end| *end < line))
}

/// Returns why the importer suppresses warnings with this code. The reason is written into the
/// comment that suppresses them.
fn suppression_reason(code: Code) -> &'static str {
    match code {
        Code::NeverMatches => "so it was in the original",
        Code::AlwaysMatches => "so it was in the original: it hides what comes after",
        Code::EmptyList => "the original's list is empty",
        Code::DefaultHides => "the original's default is here",
        Code::OtherFamily => "as in the original, such a condition counts and never holds",
        Code::BranchNeverChosen => "the original leaves out a branch without a condition it can use",
        Code::PatternHidden => "so it was in the original: an earlier pattern answers first",
        Code::CatchesExample => "so it was in the original: keyword flows are tried first",
        Code::MixedScript => "the original's name",
        Code::RouteHidden => "so it was in the original: others match every message that it matches",
        Code::EqualPriority => "so it was in the original: the order decides",
        Code::NoDefault | Code::NoDefaultUnpromised => "the original has no default",
        _ => "as in the original",
    }
}

fn describe_compile_error(error: &CompileError, text: &str) -> Message {
    let line = error.diagnostics().iter().find(|diagnostic| diagnostic.is_error()).and_then(|diagnostic| {
        let line = error.sources().position(diagnostic.span()?).line;
        text.lines().nth(line.checked_sub(1)?)
    });
    match line {
        Some(line) => message!("{}, in {}", error.to_string(), quote_for_comment(line.trim())),
        None => Message::verbatim(error.to_string()),
    }
}
