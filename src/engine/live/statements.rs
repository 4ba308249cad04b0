//! Applies edits of any kind of statement to the source texts of live rules, as an author would
//! edit the files.

use super::edit::{EditAction, ParsedEdit};
use super::error::{EditError, UnknownStatement};
use super::source_edits::{TextSplice, append_splice, apply_splices, replacement_splices};
use super::statement_ref::StatementHead;
use crate::engine::UnknownEntry;
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_base::{broken_invariant, message};
use rulec_syntax::ast::{Statement, StatementKind};
use rulec_syntax::parse;
use std::ops::Range;

/// Applies edits to the texts of the files, given as pairs of name and text. A statement is
/// inserted into the file `main_file_name` unless its edit names another file.
///
/// # Errors
/// If a statement is missing, exists already, or is edited twice.
pub(super) fn apply_edits(
    texts: Vec<(String, String)>,
    main_file_name: &str,
    edits: &[ParsedEdit<'_>],
) -> Result<Vec<(String, String)>, EditError> {
    let files: Vec<ParsedFile> = texts.into_iter().map(ParsedFile::new).collect();
    let mut editor = StatementEditor {
        files: &files,
        main_file_name,
        splices: vec![Vec::new(); files.len()],
        ..StatementEditor::default()
    };
    edits.iter().try_for_each(|edit| editor.add_edit(edit).map_err(|error| editor.add_import_note(error)))?;
    let splices = editor.splices;
    let edited_text = |(file, splices): (&ParsedFile, Vec<TextSplice>)| apply_splices(&file.text, splices);
    let texts: Vec<String> = files.iter().zip(splices).map(edited_text).collect();
    Ok(files.into_iter().map(|file| file.name).zip(texts).collect())
}

struct ParsedFile {
    name: String,
    text: String,
    statements: Vec<Statement>,
}

impl ParsedFile {
    fn new((name, text): (String, String)) -> ParsedFile {
        let statements = parse(ThreadLimit::One, FileId(0), &text).statements;
        ParsedFile { name, text, statements }
    }
}

/// A statement and its position in a source file.
#[derive(Clone, Copy)]
struct LocatedStatement<'f> {
    /// The index of the file that contains the statement.
    file_index: usize,
    /// The end offset of the statement before this one in the file.
    previous_end: u32,
    statement: &'f Statement,
}

impl LocatedStatement<'_> {
    fn range(&self) -> Range<usize> {
        self.statement.span.range()
    }
}

/// Collects the text changes of several edits, and checks that the edits do not conflict.
#[derive(Default)]
struct StatementEditor<'f> {
    files: &'f [ParsedFile],
    main_file_name: &'f str,
    /// The replacements of text to apply to each file, by the index of the file.
    splices: Vec<Vec<TextSplice>>,
    /// The statements that edits replaced or removed, as file index and byte range.
    changed_ranges: Vec<(usize, Range<usize>)>,
    /// The statements that edits inserted: file index, byte offset, and keyword with name.
    inserted_statements: Vec<(usize, usize, String)>,
    /// The files that inserted `import` statements name; these files are not read yet.
    imported_file_names: Vec<String>,
}

impl<'f> StatementEditor<'f> {
    fn add_edit(&mut self, edit: &ParsedEdit<'_>) -> Result<(), EditError> {
        let head = edit.head();
        if let Some(name) = edit.table_name {
            self.refuse_if_inserted(StatementHead { keyword: "table", name })?;
        }
        let in_table = edit.table_name.is_some();
        if let EditAction::Insert(new) = &edit.action {
            let (file, at) = self.insertion_point(edit)?;
            let is_duplicate = self
                .matching_statements(edit, head)
                .any(|found| found.file_index == file && !self.is_already_changed(&found));
            let insertion = (file, at, head.to_string());
            if is_duplicate || self.inserted_statements.contains(&insertion) {
                return Err(EditError::Duplicate(head.to_string()));
            }
            self.inserted_statements.push(insertion);
            if head.keyword == "import" && !self.files.iter().any(|file| file.name == head.name) {
                self.imported_file_names.push(head.name.to_owned());
            }
            self.splices[file].push(append_splice(at, in_table, &new.text));
            return Ok(());
        }
        let located = self.single_matching_statement(edit, head)?;
        let (range, text) = (located.range(), &self.files[located.file_index].text);
        let is_inside =
            |file: usize, at: usize| file == located.file_index && range.start < at && at < range.end;
        if self.is_already_changed(&located)
            || self.inserted_statements.iter().any(|(file, at, _)| is_inside(*file, *at))
        {
            return Err(EditError::Twice(head.to_string()));
        }
        let new = edit.new_statement().map(|new| &*new.text);
        let splices = replacement_splices(text, located.previous_end, range.clone(), in_table, new);
        self.splices[located.file_index].extend(splices);
        self.changed_ranges.push((located.file_index, range));
        Ok(())
    }

    /// True if an earlier edit replaced or removed the statement `found`, the table around it, or a
    /// statement inside it.
    fn is_already_changed(&self, found: &LocatedStatement<'_>) -> bool {
        let range = found.range();
        let overlaps_range = |other: &Range<usize>| other.start < range.end && range.start < other.end;
        self.changed_ranges.iter().any(|(file, other)| *file == found.file_index && overlaps_range(other))
    }

    /// Returns the statements that an edit may refer to: the statements in the edit's table,
    /// otherwise the statements at the top level. If the edit names a file, statements of other
    /// files are left out.
    fn statements_in_scope(&self, edit: &ParsedEdit<'_>) -> impl Iterator<Item = LocatedStatement<'f>> {
        let (named, table) = (edit.file_name, edit.table_name);
        let files = self.files.iter().enumerate();
        let files = files.filter(move |(_, file)| named.is_none_or(|name| name == file.name));
        files.flat_map(move |(file, ParsedFile { statements, .. })| {
            let tables = statements.iter().filter_map(move |statement| match &statement.kind {
                StatementKind::Table { name, statements } if Some(&*name.node) == table => {
                    Some(locate_statements(file, statement.span.start, statements))
                }
                _ => None,
            });
            let top_level = table.is_none().then(|| locate_statements(file, 0, statements));
            top_level.into_iter().chain(tables).flatten()
        })
    }

    /// Returns the statements with this keyword and name, among the statements that the edit may
    /// refer to.
    fn matching_statements<'h>(
        &self,
        edit: &ParsedEdit<'_>,
        head: StatementHead<'h>,
    ) -> impl Iterator<Item = LocatedStatement<'f>> + use<'f, 'h> {
        let statements: Vec<LocatedStatement<'f>> = self
            .statements_in_scope(edit)
            .filter(|found| StatementHead::new(&found.statement.kind) == head)
            .collect();
        statements.into_iter()
    }

    /// Returns the only statement with the keyword and name that an edit names. No such statement,
    /// or several of them, is an error.
    fn single_matching_statement(
        &self,
        edit: &ParsedEdit<'_>,
        head: StatementHead<'_>,
    ) -> Result<LocatedStatement<'f>, EditError> {
        self.find_unchanged_table(edit)?;
        let candidates: Vec<LocatedStatement<'f>> = self.matching_statements(edit, head).collect();
        match candidates.as_slice() {
            [one] => Ok(*one),
            [] => {
                self.refuse_if_inserted(head)?;
                let heads =
                    || self.statements_in_scope(edit).map(|found| StatementHead::new(&found.statement.kind));
                let known_names =
                    heads().filter(|other| other.keyword == head.keyword).map(|other| other.name);
                let same_name = heads().find(|other| other.name == head.name && !other.name.is_empty());
                Err(UnknownStatement::new(head, edit.table_name, known_names, same_name).into())
            }
            several => {
                let mut names: Vec<&str> =
                    several.iter().map(|found| &*self.files[found.file_index].name).collect();
                names.dedup();
                let names = names.into_iter().map(|name| message!("`{name}`"));
                let names = names.reduce(|one, other| message!("{one} and {other}")).unwrap_or_default();
                Err(EditError::Ambiguous(head.to_string(), names))
            }
        }
    }

    /// Adds a note to an error about an unknown statement, file or table, if an earlier edit
    /// imports a file that may contain it.
    fn add_import_note(&self, error: EditError) -> EditError {
        match (error, self.imported_file_names.first()) {
            (
                error @ (EditError::UnknownStatement(_)
                | EditError::UnknownFile(..)
                | EditError::UnknownTable(_)),
                Some(file),
            ) => EditError::NotYet(Box::new(error), file.clone()),
            (error, _) => error,
        }
    }

    /// Returns an error if an earlier edit of the same call inserts this statement, because the
    /// statement is not in the texts yet.
    fn refuse_if_inserted(&self, head: StatementHead<'_>) -> Result<(), EditError> {
        let head = head.to_string();
        match self.inserted_statements.iter().any(|(.., inserted)| *inserted == head) {
            true => Err(EditError::Twice(head)),
            false => Ok(()),
        }
    }

    /// Returns the `table` statement that an edit names; `None` if the edit is for the top level.
    /// Checks that the edit's file and table exist, and that no earlier edit changed the table.
    fn find_unchanged_table(&self, edit: &ParsedEdit<'_>) -> Result<Option<LocatedStatement<'f>>, EditError> {
        if let Some(name) = edit.file_name.filter(|name| !self.files.iter().any(|file| file.name == *name)) {
            return Err(self.unknown_file_error(name));
        }
        let table = self.find_table(edit)?;
        let is_changed =
            |table: &LocatedStatement<'_>| self.changed_ranges.contains(&(table.file_index, table.range()));
        match table.as_ref().filter(|table| is_changed(table)) {
            Some(table) => Err(EditError::Twice(StatementHead::new(&table.statement.kind).to_string())),
            None => Ok(table),
        }
    }

    fn find_table(&self, edit: &ParsedEdit<'_>) -> Result<Option<LocatedStatement<'f>>, EditError> {
        let Some(table) = edit.table_name else { return Ok(None) };
        let table_edit = ParsedEdit {
            action: EditAction::Remove(StatementHead { keyword: "table", name: table }),
            table_name: None,
            ..*edit
        };
        let tables = || {
            self.statements_in_scope(&table_edit)
                .filter(|found| StatementHead::new(&found.statement.kind).keyword == "table")
        };
        let table_names: Vec<&str> =
            tables().map(|found| StatementHead::new(&found.statement.kind).name).collect();
        let matching_table = tables().find(|found| StatementHead::new(&found.statement.kind).name == table);
        matching_table.map(Some).ok_or_else(|| UnknownEntry::new(table, &table_names).into())
    }

    /// Returns the position at which an edit inserts its statement: the index of the file, and the
    /// byte offset. Returns an error if the edit names an unknown file or table.
    fn insertion_point(&self, edit: &ParsedEdit<'_>) -> Result<(usize, usize), EditError> {
        if let Some(table) = self.find_unchanged_table(edit)? {
            return Ok((table.file_index, table.range().end.saturating_sub(1)));
        }
        let name = edit.file_name.unwrap_or(self.main_file_name);
        let Some(file) = self.files.iter().position(|file| file.name == name) else {
            // An unknown file in an edit was already refused by `find_unchanged_table`.
            broken_invariant!("the main file `{name}` is among the files");
            return Err(self.unknown_file_error(name));
        };
        Ok((file, self.files[file].text.len()))
    }

    fn unknown_file_error(&self, name: &str) -> EditError {
        let names: Vec<String> = self.files.iter().map(|file| format!("`{}`", file.name)).collect();
        EditError::UnknownFile(name.to_owned(), names.join(", "))
    }
}

/// Returns each statement with the end offset of the statement before it. `file_index` is the index
/// of the file, and `first_previous_end` is the end offset to use for the first statement.
fn locate_statements(
    file_index: usize,
    first_previous_end: u32,
    statements: &[Statement],
) -> impl Iterator<Item = LocatedStatement<'_>> {
    let mut previous_end = first_previous_end;
    statements.iter().map(move |statement| {
        let located = LocatedStatement { file_index, previous_end, statement };
        previous_end = statement.span.end;
        located
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Edit;
    use rulec_base::source::SourceMap;

    /// If the main file is missing, an insertion must fail and not go into another file.
    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "`main.rules` is among the files"))]
    fn an_insertion_without_a_main_file_is_an_error() {
        let texts = vec![("other.rules".to_owned(), String::new())];
        let edit = Edit::insert("default -> h");
        let edits = [edit.parse_edit(&SourceMap::new()).expect("it parses")];
        let result = apply_edits(texts, "main.rules", &edits);
        assert!(matches!(result, Err(EditError::UnknownFile(..))), "{result:?}");
    }
}
