//! Edits of the source texts of live rules. Statements are removed, replaced and appended in the
//! texts, as an author would edit the files. The *base* is the rule set as last compiled in full.

use crate::engine::Rules;
use crate::files::DiskLoader;
use hashbrown::HashMap;
use rulec_base::broken_invariant;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span};
use rulec_sema::hir::{RuleId, TableId};
use rulec_syntax::ast::{Statement, StatementKind};
use rulec_syntax::loader::{LoadError, Loader, ParsedFile};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// The files that a recompilation of live rules needs in addition to the current rule texts: the
/// name of the main file, and the contents of word lists. Contents are stored as they were first
/// loaded. If the rules were not read from disk, unused files are stored too, because they could
/// not be read again.
#[derive(Clone, Default)]
pub(super) struct StoredFiles {
    pub main_file_name: String,
    contents: Arc<HashMap<String, Vec<u8>>>,
    /// The loader for the folder of the rules, used if an edit imports a file for the first time.
    /// `None` if the rules were not read from disk.
    disk_loader: Option<DiskLoader>,
}

/// A loader that stores a copy of each file that it loads.
pub(super) struct RecordingLoader<'l> {
    loader: &'l dyn Loader,
    recorded_files: RefCell<HashMap<String, Vec<u8>>>,
}

impl<'l> RecordingLoader<'l> {
    pub fn new(loader: &'l dyn Loader) -> RecordingLoader<'l> {
        RecordingLoader { loader, recorded_files: RefCell::default() }
    }

    /// Returns the files that were loaded, and the files of `before` that cannot be read from disk
    /// again. Rule files in `sources` are left out, because `sources` contains their current texts.
    pub fn into_files(self, before: &StoredFiles, sources: &SourceMap) -> StoredFiles {
        let mut contents = self.recorded_files.into_inner();
        if before.disk_loader.is_none() {
            for (name, bytes) in before.contents.iter() {
                contents.entry_ref(name).or_insert_with(|| bytes.clone());
            }
        }
        sources.iter().for_each(|(_, file)| drop(contents.remove(&file.name)));
        StoredFiles { contents: Arc::new(contents), ..before.clone() }
    }
}

impl Loader for RecordingLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        let bytes = self.loader.load(path)?;
        self.recorded_files.borrow_mut().insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

/// Byte offsets in the source texts at which edits of routes take place: the ends of statements,
/// and the closing braces of tables.
#[derive(Default)]
pub(super) struct EditOffsets {
    /// For each route, the byte offset at which the previous statement ends. Comments that belong
    /// to the route lie after this offset.
    previous_ends: Vec<u32>,
    /// For each table, the span of its closing brace; `None` for the first table, which is the top
    /// level.
    closing_braces: Vec<Option<Span>>,
    main_file: Option<FileId>,
}

impl EditOffsets {
    /// Collects the offsets and spans from files without errors. They are indexed by the ids that
    /// the checker assigns to routes and tables.
    pub fn new(units: &[ParsedFile]) -> EditOffsets {
        let mut points = EditOffsets {
            previous_ends: Vec::new(),
            closing_braces: vec![None],
            main_file: units.last().map(|unit| unit.file),
        };
        let mut record_ends = |statements: &[Statement], mut previous_end: u32| {
            for statement in statements {
                if matches!(statement.kind, StatementKind::Route(_)) {
                    points.previous_ends.push(previous_end);
                }
                previous_end = statement.span.end;
            }
        };
        units.last().into_iter().for_each(|main| record_ends(&main.statements, 0));
        for statement in units.iter().flat_map(|unit| &unit.statements) {
            let StatementKind::Table { statements, .. } = &statement.kind else { continue };
            record_ends(statements, statement.span.start);
            let statement_end = statement.span.end;
            points
                .closing_braces
                .push(Some(Span { start: statement_end.saturating_sub(1), ..statement.span }));
        }
        points
    }
}

/// The edits of routes since the rules were last compiled in full, as rule ids and new texts.
#[derive(Clone, Default)]
pub(super) struct RouteChanges {
    /// The ids of the routes that edits removed.
    pub removed: Vec<RuleId>,
    /// The ids of the replaced routes, each with its new text.
    pub replaced: Vec<(RuleId, Arc<str>)>,
    /// The routes appended to tables, in order, each with its table and its text.
    pub appended: Vec<(TableId, Arc<str>)>,
}

/// A replacement in a source text: a byte range, and the text that replaces this range.
pub(super) type TextSplice = (Range<usize>, String);

impl RouteChanges {
    /// Applies the edits of routes to the source texts of `base` (the rule set as last compiled in
    /// full). Returns the new files as pairs of name and text, in the order of the files in `base`.
    pub fn apply_to_texts(&self, base: &Rules, points: &EditOffsets) -> Vec<(String, String)> {
        let sources = base.sources();
        let mut edits: HashMap<FileId, Vec<TextSplice>> = HashMap::new();
        let rules = &base.program().rules;
        let replaced = self.replaced.iter().map(|(id, text)| (*id, Some(&**text)));
        for (id, text) in self.removed.iter().map(|id| (*id, None)).chain(replaced) {
            let previous_end = points.previous_ends.get(id.index());
            let Some((rule, previous_end)) = rules.get(id.index()).zip(previous_end) else {
                broken_invariant!("the edited route {id:?} is in the base");
                continue;
            };
            let file_splices = edits.entry(rule.span.file).or_default();
            let source = &sources.file(rule.span.file).text;
            let statement = rule.span.range();
            file_splices.extend(replacement_splices(
                source,
                *previous_end,
                statement,
                rule.table != TableId(0),
                text,
            ));
        }
        for (table, text) in &self.appended {
            let append_point = match points.closing_braces.get(table.index()).copied().flatten() {
                Some(brace) => Some((brace.file, brace.start as usize)),
                None => points.main_file.map(|file| (file, sources.file(file).text.len())),
            };
            let Some((file, at)) = append_point else {
                broken_invariant!("editable rules have a main file");
                continue;
            };
            edits.entry(file).or_default().push(append_splice(at, *table != TableId(0), text));
        }
        let edited_file = |(id, file): (FileId, &rulec_base::source::SourceFile)| {
            let text = match edits.remove(&id) {
                Some(edits) => apply_splices(&file.text, edits),
                None => file.text.clone(),
            };
            (file.name.clone(), text)
        };
        sources.iter().map(edited_file).collect()
    }
}

impl StoredFiles {
    /// Creates a set of files that contains no file yet. `main` is the name of the main file. Files
    /// are read from `disk`, if given.
    pub fn new(main: &str, disk: Option<DiskLoader>) -> StoredFiles {
        StoredFiles { main_file_name: main.to_owned(), disk_loader: disk, ..StoredFiles::default() }
    }

    /// Returns a copy with the rule texts `texts` added, as pairs of name and text. A text replaces
    /// a stored file of the same name.
    pub fn with_texts(&self, texts: Vec<(String, String)>) -> StoredFiles {
        let mut contents = HashMap::clone(&self.contents);
        contents.extend(texts.into_iter().map(|(path, text)| (path, text.into_bytes())));
        StoredFiles { contents: Arc::new(contents), ..self.clone() }
    }
}

/// Loads a file from the stored files. If the file is not stored, loads it from the folder of the
/// rules.
impl Loader for StoredFiles {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        match (self.contents.get(path), &self.disk_loader) {
            (Some(bytes), _) => Ok(bytes.clone()),
            (None, Some(disk)) => disk.load(path),
            (None, None) => Err(LoadError::NotFound),
        }
    }
}

/// Returns the byte ranges of the comment lines that lie before a statement and belong to it: `##`
/// documentation and `# rulec:` comments. `previous_end` is the end of the previous statement;
/// `start` is the first byte of this statement.
fn comments_before(text: &str, previous_end: usize, start: usize) -> impl Iterator<Item = Range<usize>> {
    let gap = text.get(previous_end..start).unwrap_or("");
    let mut offset = previous_end;
    let lines = gap.split_inclusive('\n').map(move |line| {
        let line_start = offset;
        offset += line.len();
        (line_start, line)
    });
    lines.filter_map(move |(line_start, line)| {
        // A comment on the line where the previous statement ends belongs to the previous
        // statement.
        let is_own_line = line_start > previous_end || previous_end == 0;
        let comment = line.trim().strip_prefix('#')?;
        let belongs_to_statement = comment.starts_with('#') || comment.trim_start().starts_with("rulec:");
        (is_own_line && belongs_to_statement && line.ends_with('\n'))
            .then(|| line_start..line_start + line.len())
    })
}

/// Formats the text of a new statement that replaces the statement `old` in `source`. Adds line
/// breaks if other text is on the lines of `old`.
fn format_replacement(source: &str, old: &Range<usize>, text: &str) -> String {
    let line_before = source.get(..old.start).and_then(|before| before.rsplit('\n').next()).unwrap_or("");
    let line_after = source.get(old.end..).and_then(|after| after.split('\n').next()).unwrap_or("");
    let mut formatted = String::with_capacity(text.len() + 2);
    if !line_before.trim().is_empty() {
        formatted.push('\n');
    }
    formatted.push_str(text.trim());
    if !line_after.trim().is_empty() {
        formatted.push('\n');
    }
    formatted
}

/// Formats the text of a statement: indented for a table, unindented for the top level.
fn format_statement(in_table: bool, text: &str) -> Cow<'_, str> {
    if in_table { indent_statement(text).into() } else { text.trim().into() }
}

/// Returns replacements in a source text that replace a statement by `text`, and remove its
/// documentation comments. If `text` is `None`, the statement is only removed. `previous_end` is
/// the end of the previous statement. With `in_table`, the new statement is indented for a table.
pub(super) fn replacement_splices(
    source: &str,
    previous_end: u32,
    statement: Range<usize>,
    in_table: bool,
    text: Option<&str>,
) -> impl Iterator<Item = TextSplice> {
    let text = text
        .map(|text| format_replacement(source, &statement, &format_statement(in_table, text)))
        .unwrap_or_default();
    let comments = comments_before(source, previous_end as usize, statement.start);
    comments.map(|range| (range, String::new())).chain(std::iter::once((statement, text)))
}

/// Returns a replacement that inserts a statement at the byte offset `at`. With `in_table`, this is
/// the offset of a table's closing brace, otherwise the end of a file.
pub(super) fn append_splice(at: usize, in_table: bool, text: &str) -> TextSplice {
    (at..at, format!("\n{}\n", format_statement(in_table, text)))
}

/// Indents a statement for a table, because an unindented statement would end the table.
fn indent_statement(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    let mut before_code = true;
    for line in text.trim().split_inclusive('\n') {
        if before_code && !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            before_code = false;
            out.push_str("  ");
        }
        out.push_str(line);
    }
    out
}

/// Applies the replacements in `edits` to a text, and returns the new text.
pub(super) fn apply_splices(text: &str, mut edits: Vec<TextSplice>) -> String {
    // The sort must be stable, to keep the order of texts that are appended at the same offset.
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut offset = 0;
    for (range, new) in edits {
        out.push_str(text.get(offset..range.start).unwrap_or(""));
        out.push_str(&new);
        offset = range.end.max(offset);
    }
    out.push_str(text.get(offset..).unwrap_or(""));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryLoader;

    #[test]
    fn documentation_is_replaced_with_its_statement() {
        let check = |text: &str, previous_end: usize, expected: &str| {
            let start = text.find("route").expect("the text has a route");
            let edits: Vec<TextSplice> =
                comments_before(text, previous_end, start).map(|range| (range, String::new())).collect();
            assert_eq!(apply_splices(text, edits), expected, "{text:?}");
        };
        check("## one\n# plain\nroute", 0, "# plain\nroute");
        check("a ## of a\n\n  ## one\n  # rulec: allow W0001 x\n  route", 1, "a ## of a\n\n  route");
        check("a route", 1, "a route");
    }

    /// Former bug: every file that was ever imported stayed in memory until the rules were loaded
    /// again.
    #[test]
    fn a_file_that_is_no_longer_used_is_kept_only_if_it_is_not_on_disk() {
        let words = MemoryLoader::new().with("words.txt", "a");
        let folder = tempfile::tempdir().expect("there is a place for files");
        let disk = DiskLoader::new(folder.path()).expect("it is a folder");
        for (disk, expected) in [(None, true), (Some(disk), false)] {
            let load = |before: &StoredFiles, name: &str| {
                let recorder = RecordingLoader::new(&words);
                let _ = recorder.load(name);
                recorder.into_files(before, &SourceMap::default())
            };
            let used = load(&StoredFiles::new("a.rules", disk), "words.txt");
            assert!(used.contents.contains_key("words.txt"));
            let unused = load(&used, "nothing.txt");
            assert_eq!(unused.contents.contains_key("words.txt"), expected);
        }
    }

    #[test]
    fn a_statement_in_a_table_is_indented() {
        assert_eq!(indent_statement("\nroute a\nwhen b\n"), "  route a\nwhen b");
        assert_eq!(indent_statement("## x\n\nroute a"), "## x\n\n  route a");
    }

    #[test]
    fn a_replacement_gets_line_breaks_if_needed() {
        let check = |source: &str, text: &str, expected: &str| {
            let start = source.find("route").expect("there is a route");
            let old = start..start + "route".len();
            assert_eq!(
                apply_splices(source, vec![(old.clone(), format_replacement(source, &old, text))]),
                expected
            );
        };
        check("a\n  route\nb", " new ", "a\n  new\nb");
        check("a route b", "## x\nnew # y", "a \n## x\nnew # y\n b");
    }
}
