//! The texts behind live rules, which are the truth: statements are taken out of them, put in another's
//! place, and appended, as an author would edit the files.

use crate::engine::Rules;
use crate::files::DiskLoader;
use hashbrown::HashMap;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span};
use rulec_sema::hir::{RuleId, TableId};
use rulec_syntax::ast::{Statement, StatementKind};
use rulec_syntax::loader::{LoadError, Loader, Unit};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// The files besides those with rules: lists of words, and rules that nothing imports any more. They stay as they were
/// when they were loaded.
#[derive(Clone, Default)]
pub(super) struct Files {
    pub main: String,
    others: Arc<HashMap<String, Vec<u8>>>,
    /// The folder that the rules came from, for files that they come to name later.
    disk: Option<DiskLoader>,
}

/// Passes files on and keeps them.
pub(super) struct Recorder<'l> {
    loader: &'l dyn Loader,
    files: RefCell<HashMap<String, Vec<u8>>>,
}

impl<'l> Recorder<'l> {
    pub fn new(loader: &'l dyn Loader) -> Recorder<'l> {
        Recorder { loader, files: RefCell::default() }
    }

    /// The files that were loaded, and those of `before`, but for those with rules.
    pub fn finish(self, before: &Files, sources: &SourceMap) -> Files {
        let mut others = HashMap::clone(&before.others);
        others.extend(self.files.into_inner());
        sources.iter().for_each(|(_, file)| drop(others.remove(&file.name)));
        Files { others: Arc::new(others), ..before.clone() }
    }
}

impl Loader for Recorder<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        let bytes = self.loader.load(path)?;
        self.files.borrow_mut().insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

/// The places in the texts of the routes, and of what can be added.
#[derive(Default)]
pub(super) struct Places {
    /// For each route the end of the statement before it.
    leads: Vec<u32>,
    /// For each table where its closing brace stands; the first has none.
    ends: Vec<Option<Span>>,
    main: Option<FileId>,
}

impl Places {
    /// Of files without errors: routes and tables are numbered as the checker numbers them.
    pub fn of(units: &[Unit]) -> Places {
        let mut places =
            Places { leads: Vec::new(), ends: vec![None], main: units.last().map(|unit| unit.file) };
        let mut keep_leads = |statements: &[Statement], mut lead: u32| {
            for statement in statements {
                if matches!(statement.kind, StatementKind::Route(_)) {
                    places.leads.push(lead);
                }
                lead = statement.span.end;
            }
        };
        units.last().into_iter().for_each(|main| keep_leads(&main.statements, 0));
        for statement in units.iter().flat_map(|unit| &unit.statements) {
            let StatementKind::Table { statements, .. } = &statement.kind else { continue };
            keep_leads(statements, statement.span.start);
            let end = statement.span.end;
            places.ends.push(Some(Span { start: end.saturating_sub(1), ..statement.span }));
        }
        places
    }
}

/// The edits to a base's routes.
#[derive(Clone, Default)]
pub(super) struct Changes {
    /// Those that are gone.
    pub removed: Vec<RuleId>,
    /// Those that another text stands in place of.
    pub replaced: Vec<(RuleId, Arc<str>)>,
    /// The routes that come behind all others of their tables, in order.
    pub appended: Vec<(TableId, Arc<str>)>,
}

/// An edit of a file: these bytes become that text.
pub(super) type Splice = (Range<usize>, String);

impl Changes {
    /// The files as they are with the changes: name and text, in the order of the base.
    pub fn apply(&self, base: &Rules, places: &Places) -> Vec<(String, String)> {
        let sources = base.sources();
        let mut edits: HashMap<FileId, Vec<Splice>> = HashMap::new();
        let rules = &base.program().rules;
        let replaced = self.replaced.iter().map(|(id, text)| (*id, Some(&**text)));
        for (id, text) in self.removed.iter().map(|id| (*id, None)).chain(replaced) {
            let (Some(rule), Some(lead)) = (rules.get(id.index()), places.leads.get(id.index())) else {
                continue;
            };
            let file = edits.entry(rule.span.file).or_default();
            let source = &sources.file(rule.span.file).text;
            let statement = rule.span.range();
            file.extend(put(source, *lead, statement, rule.table != TableId(0), text));
        }
        for (table, text) in &self.appended {
            let place = match places.ends.get(table.index()).copied().flatten() {
                Some(brace) => Some((brace.file, brace.start as usize)),
                None => places.main.map(|file| (file, sources.file(file).text.len())),
            };
            if let Some((file, at)) = place {
                edits.entry(file).or_default().push(appended(at, *table != TableId(0), text));
            }
        }
        let edited = |(id, file): (FileId, &rulec_base::source::SourceFile)| {
            let text = match edits.remove(&id) {
                Some(edits) => spliced(&file.text, edits),
                None => file.text.clone(),
            };
            (file.name.clone(), text)
        };
        sources.iter().map(edited).collect()
    }
}

impl Files {
    /// None but the main file; further ones come from the folder, if any.
    pub fn new(main: &str, disk: Option<DiskLoader>) -> Files {
        Files { main: main.to_owned(), disk, ..Files::default() }
    }

    /// The same with these texts, of rules, in place of what is kept under their names.
    pub fn with(&self, texts: Vec<(String, String)>) -> Files {
        let mut others = HashMap::clone(&self.others);
        others.extend(texts.into_iter().map(|(path, text)| (path, text.into_bytes())));
        Files { others: Arc::new(others), ..self.clone() }
    }
}

/// A file that is not kept is looked for in the folder.
impl Loader for Files {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        match (self.others.get(path), &self.disk) {
            (Some(bytes), _) => Ok(bytes.clone()),
            (None, Some(disk)) => disk.load(path),
            (None, None) => Err(LoadError::NotFound),
        }
    }
}

/// The lines with documentation of a statement, or with what it allows, between the end of the one
/// before and its first word.
fn comments_before(text: &str, lead: usize, start: usize) -> impl Iterator<Item = Range<usize>> {
    let between = text.get(lead..start).unwrap_or("");
    let mut at = lead;
    let lines = between.split_inclusive('\n').map(move |line| {
        let from = at;
        at += line.len();
        (from, line)
    });
    lines.filter_map(move |(from, line)| {
        // What stands on the line where the statement before ends belongs to that.
        let own_line = from > lead || lead == 0;
        let comment = line.trim().strip_prefix('#')?;
        let gone = comment.starts_with('#') || comment.trim_start().starts_with("rulec:");
        (own_line && gone && line.ends_with('\n')).then(|| from..from + line.len())
    })
}

/// A statement's text as it can stand in the place of another: on lines of its own where it has to.
fn in_place(source: &str, old: &Range<usize>, text: &str) -> String {
    let before = source.get(..old.start).and_then(|before| before.rsplit('\n').next()).unwrap_or("");
    let after = source.get(old.end..).and_then(|after| after.split('\n').next()).unwrap_or("");
    let mut placed = String::with_capacity(text.len() + 2);
    if !before.trim().is_empty() {
        placed.push('\n');
    }
    placed.push_str(text.trim());
    if !after.trim().is_empty() {
        placed.push('\n');
    }
    placed
}

/// A statement's text as it can stand in a table, or outside any.
fn as_in(table: bool, text: &str) -> Cow<'_, str> {
    if table { indented(text).into() } else { text.trim().into() }
}

/// Puts a text, or nothing, in the place of a statement in a table or outside any, and of the comments that belong to
/// it; `lead` is where the statement before it ends.
pub(super) fn put(
    source: &str,
    lead: u32,
    statement: Range<usize>,
    in_table: bool,
    text: Option<&str>,
) -> impl Iterator<Item = Splice> {
    let text = text.map(|text| in_place(source, &statement, &as_in(in_table, text))).unwrap_or_default();
    let comments = comments_before(source, lead as usize, statement.start);
    comments.map(|range| (range, String::new())).chain(std::iter::once((statement, text)))
}

/// Adds a statement at the end of a file, or before the brace of a table.
pub(super) fn appended(at: usize, in_table: bool, text: &str) -> Splice {
    (at..at, format!("\n{}\n", as_in(in_table, text)))
}

/// A statement's text as it can stand in a table: a statement at the margin would end it.
fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    let mut before = true;
    for line in text.trim().split_inclusive('\n') {
        if before && !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            before = false;
            out.push_str("  ");
        }
        out.push_str(line);
    }
    out
}

/// A text with edits made in it.
pub(super) fn spliced(text: &str, mut edits: Vec<Splice>) -> String {
    // Stable, so that what is appended at one place keeps its order.
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(text.get(at..range.start).unwrap_or(""));
        out.push_str(&new);
        at = range.end.max(at);
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_goes_with_its_statement() {
        let check = |text: &str, lead: usize, expected: &str| {
            let start = text.find("route").expect("the text has a route");
            let edits: Vec<Splice> =
                comments_before(text, lead, start).map(|range| (range, String::new())).collect();
            assert_eq!(spliced(text, edits), expected, "{text:?}");
        };
        check("## one\n# plain\nroute", 0, "# plain\nroute");
        check("a ## of a\n\n  ## one\n  # rulec: allow W0001 x\n  route", 1, "a ## of a\n\n  route");
        check("a route", 1, "a route");
    }

    #[test]
    fn a_statement_in_a_table_is_indented() {
        assert_eq!(indented("\nroute a\nwhen b\n"), "  route a\nwhen b");
        assert_eq!(indented("## x\n\nroute a"), "## x\n\n  route a");
    }

    #[test]
    fn a_statement_takes_the_place_of_another() {
        let check = |source: &str, text: &str, expected: &str| {
            let start = source.find("route").expect("there is a route");
            let old = start..start + "route".len();
            assert_eq!(spliced(source, vec![(old.clone(), in_place(source, &old, text))]), expected);
        };
        check("a\n  route\nb", " new ", "a\n  new\nb");
        check("a route b", "## x\nnew # y", "a \n## x\nnew # y\n b");
    }
}
