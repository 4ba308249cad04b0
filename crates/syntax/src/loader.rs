//! Loads the files of a rule set: the main file, its imports and their list files, each file once.
//! A [`Loader`] supplies the bytes; this module handles only paths inside a root folder.

mod paths;

use crate::ast::{Ident, Statement, StatementKind};
use crate::parse;
use rulec_base::diag::{Arg, Argument, Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span, Spanned};
use rulec_base::text::invisible::invisible_runs;
use rulec_base::text::to_one_line;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum size of a source file or list file in bytes: 64 MiB.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Maximum number of files in a chain of imports, where each file imports the next one.
pub const MAX_IMPORT_DEPTH: usize = 64;

/// Maximum number of lines of a list file for which invisible characters are reported, so that a
/// damaged file does not flood the report.
const MAX_LINE_WARNINGS: usize = 20;

/// A source of files. Paths are relative to the root folder, use `/` as the separator, and contain
/// no `.` or `..` parts.
pub trait Loader {
    /// Returns the bytes of the file at this path, or the reason why it cannot be loaded.
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError>;
}

/// The reason why a file could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum LoadError {
    /// The file does not exist.
    NotFound,
    /// The path, or a link in the path, leads out of the root folder.
    OutsideRoot,
    /// The file has this many bytes, more than [`MAX_FILE_BYTES`].
    TooLarge(u64),
    /// The path names a folder.
    Folder,
    /// The path names a pipe, socket or device, which may have no end.
    NotRegular,
    /// Any other error, with the message of the operating system.
    Unreadable(String),
}

impl LoadError {
    /// Returns the reason why the file could not be loaded, as a message that can be localized.
    pub fn to_message(&self) -> Message {
        match self {
            LoadError::NotFound => message!("there is no such file"),
            LoadError::OutsideRoot => message!("it is outside the root folder"),
            LoadError::TooLarge(size) => {
                message!("it has {size} bytes, more than the limit of 64 MiB for a file")
            }
            LoadError::Folder => message!("it is a folder, not a file"),
            LoadError::NotRegular => message!("it is not a regular file but a pipe, socket or device"),
            LoadError::Unreadable(reason) => Message::verbatim(reason),
        }
    }

    /// Returns the code of the diagnostic that reports this error.
    fn code(&self) -> Code {
        match self {
            LoadError::TooLarge(_) => Code::FileTooLarge,
            _ => Code::FileUnreadable,
        }
    }

    /// Adds a help text with a remedy for this error to a diagnostic, if there is a remedy.
    fn add_remedy(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self {
            LoadError::NotRegular => {
                diagnostic.help(message!("save the contents to a file, and name that file"))
            }
            LoadError::Folder => diagnostic.help(message!("name a file in the folder")),
            _ => diagnostic,
        }
    }
}

/// A loader of files in memory, for tests, editors and generated rules.
#[derive(Clone, Debug, Default)]
pub struct MemoryLoader {
    files: HashMap<String, Vec<u8>>,
}

impl MemoryLoader {
    /// Creates a loader that has no files yet; [`Self::with`] adds them.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. `path` is its path relative to the root folder, with `/` between names.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), bytes.into());
        self
    }
}

impl Loader for MemoryLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        self.files.get(path).cloned().ok_or(LoadError::NotFound)
    }
}

/// A parsed file of a rule set, with everything that the checker needs from it.
#[derive(Debug)]
pub struct ParsedFile {
    /// The id of the file in the [`SourceMap`], to which spans refer.
    pub file: FileId,
    /// The files that this file imports directly.
    pub imports: Vec<FileId>,
    /// The statements of the file, in source order.
    pub statements: Vec<Statement>,
    /// The names of statements with errors. The checker does not report uses of these names as
    /// unknown.
    pub broken_names: Vec<Ident>,
    /// Whether declarations may be missing, because an import or the file itself could not be read.
    /// The checker then does not report unknown names.
    pub is_incomplete: bool,
    /// The elements of each `list NAME = from "…"` statement, keyed by `NAME`.
    pub elements_by_list: HashMap<String, Vec<String>>,
}

impl Argument for LoadError {
    fn to_arg(&self) -> Arg {
        self.to_message().to_arg()
    }
}

/// The files of a rule set. Imported files precede the files that import them; the main file is
/// last.
#[derive(Debug, Default)]
pub struct LoadedFiles {
    /// The source texts of all loaded files.
    pub sources: SourceMap,
    /// The parsed files, each after the files that it imports.
    pub files: Vec<ParsedFile>,
    /// The errors and warnings from loading and parsing all files.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads and parses the file at `path` and all files it imports. A file that cannot be read is
/// reported in the diagnostics of the result.
pub fn load(threads: ThreadLimit, loader: &dyn Loader, path: &str) -> LoadedFiles {
    let (file_states, import_chain) = (HashMap::new(), Vec::new());
    let mut import_loader =
        ImportLoader { threads, loader, loaded: LoadedFiles::default(), file_states, import_chain };
    match loader.load(path) {
        Ok(bytes) => drop(import_loader.add_file(path, bytes)),
        Err(error) => {
            let diagnostic =
                Diagnostic::without_place(error.code(), message!("`{path}` cannot be read: {error}"));
            import_loader.report(match path.contains(['*', '?']) {
                true => diagnostic.help(message!(
                    "a path has no pattern: name the folder, or write the pattern without quotes, so that the \
                    shell expands it"
                )),
                false => match paths::find_similar_file(loader, path).filter(|_| error == LoadError::NotFound) {
                    Some(near) => diagnostic.help(message!("did you mean `{near}`?")),
                    None => error.add_remedy(diagnostic),
                },
            });
        }
    }
    import_loader.loaded
}

#[derive(Clone, Copy, PartialEq)]
enum FileState {
    Loading,
    /// The file was loaded, or could not be read. In the second case, the id is `None`.
    Done(Option<FileId>),
}

/// Returns the offset at which the JSON begins if a file contains JSON or JSON lines instead of
/// rules. The caller reports this mistake. `None` if the text does not begin with a JSON object or
/// list.
fn find_json_start(text: &str) -> Option<usize> {
    let start = text.find(|c: char| !c.is_whitespace() && c != '\u{feff}')?;
    let looks_like_json = text[start..].starts_with(['{', '[']);
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<serde::de::IgnoredAny>();
    (looks_like_json && matches!(values.next(), Some(Ok(_)))).then_some(start)
}

struct ImportLoader<'a> {
    threads: ThreadLimit,
    loader: &'a dyn Loader,
    loaded: LoadedFiles,
    file_states: HashMap<String, FileState>,
    import_chain: Vec<String>,
}

impl ImportLoader<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.loaded.diagnostics.push(diagnostic);
    }

    fn add_file(&mut self, path: &str, bytes: Vec<u8>) -> Option<FileId> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
                let message =
                    message!("`{path}` is not UTF-8: the byte at offset {at} (line {line}) is invalid");
                let help = match error.as_bytes().contains(&0) {
                    true => {
                        message!(
                            "this file has another encoding than UTF-8, contains compiled rules, or is not \
                            a text file"
                        )
                    }
                    false => message!("save the file as UTF-8"),
                };
                // The text before the invalid byte is unchanged by the lossy conversion, so the
                // offset is still right.
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let file = self.loaded.sources.add(path, text);
                let span = Span::new(file, at, at + '\u{fffd}'.len_utf8());
                self.report(Diagnostic::new(Code::NotUtf8, span, message).help(help));
                self.file_states.insert(path.to_owned(), FileState::Done(None));
                return None;
            }
        };
        let json_offset = find_json_start(&text);
        let file = self.loaded.sources.add(path, text);
        if let Some(start) = json_offset {
            let message = message!("`{path}` contains JSON, not rules");
            let help = message!(
                "a rule is written `route NAME when CONDITION -> HANDLER`; messages are named after the rules, as \
                in `rulec run my.rules messages.jsonl`; routes, choices and flows of other systems are \
                converted by `rulec import`"
            );
            let span = Span::new(file, start, start + 1);
            self.report(Diagnostic::new(Code::JsonFile, span, message).help(help));
            self.file_states.insert(path.to_owned(), FileState::Done(None));
            return None;
        }
        let parsed = parse(self.threads, file, &self.loaded.sources.file(file).text);
        self.loaded.diagnostics.extend(parsed.diagnostics);
        self.file_states.insert(path.to_owned(), FileState::Loading);
        self.import_chain.push(path.to_owned());
        let (mut lists, mut imports) = (HashMap::new(), Vec::new());
        let mut incomplete = parsed.is_incomplete;
        for statement in &parsed.statements {
            match &statement.kind {
                StatementKind::Import { path: import } => {
                    let imported = self.load_import(path, import);
                    incomplete |= imported.is_none();
                    imports.extend(imported);
                }
                StatementKind::List { name, source: crate::ast::ListSource::File(list) } => {
                    if let Some(words) = self.load_list_file(path, list) {
                        lists.insert(name.node.clone(), words);
                    }
                }
                _ => {}
            }
        }
        self.import_chain.pop();
        self.file_states.insert(path.to_owned(), FileState::Done(Some(file)));
        self.loaded.files.push(ParsedFile {
            file,
            imports,
            statements: parsed.statements,
            broken_names: parsed.broken_names,
            is_incomplete: incomplete,
            elements_by_list: lists,
        });
        Some(file)
    }

    fn load_import(&mut self, importer: &str, import: &Spanned<String>) -> Option<FileId> {
        let Some(path) = resolve_path(importer, &import.node) else {
            let (diagnostic, help) = outside_root_error(import.span, &import.node);
            self.report(self.with_path_remedy(diagnostic, importer, import, "rules", help));
            return None;
        };
        let to_diagnostic =
            |code, message, help: Message| Diagnostic::new(code, import.span, message).help(help);
        let diagnostic = match self.file_states.get(&path) {
            Some(FileState::Done(file)) => return *file,
            Some(FileState::Loading) => {
                let start = self.import_chain.iter().position(|open| *open == path).unwrap_or(0);
                let circle = [&self.import_chain[start..], std::slice::from_ref(&path)].concat();
                let message = match circle.len() {
                    0..=2 => message!("`{path}` imports itself"),
                    _ => message!("`{path}` imports itself through other files"),
                };
                let circle = circle.join(" → ");
                let help = message!(
                    "the cycle is {circle}; move the declarations that both files need into a third file"
                );
                to_diagnostic(Code::ImportCycle, message, help).here(message!("closes the cycle"))
            }
            None if self.import_chain.len() > MAX_IMPORT_DEPTH => {
                let message = message!("files import each other more than {MAX_IMPORT_DEPTH} levels deep");
                let help = message!("import shared files directly instead of through one another");
                to_diagnostic(Code::ImportTooDeep, message, help)
            }
            None => match self.loader.load(&path) {
                Ok(bytes) => return self.add_file(&path, bytes),
                Err(error) => {
                    self.file_states.insert(path.clone(), FileState::Done(None));
                    match error {
                        LoadError::OutsideRoot => {
                            let (diagnostic, help) = outside_root_error(import.span, &import.node);
                            diagnostic.help(help)
                        }
                        LoadError::NotFound => {
                            let message = message!("there is no file `{path}`");
                            let diagnostic = Diagnostic::new(Code::ImportNotFound, import.span, message);
                            let help = message!("the path is relative to the importing file");
                            self.with_path_remedy(diagnostic, importer, import, "rules", help)
                        }
                        _ => {
                            let message = message!("`{path}` cannot be read: {error}");
                            error.add_remedy(Diagnostic::new(error.code(), import.span, message))
                        }
                    }
                }
            },
        };
        self.report(diagnostic);
        None
    }

    /// Reads a list file: one element per line, without surrounding white space. Empty lines are
    /// skipped. The path in `list` is relative to the folder of the file `importer`. If the file
    /// cannot be read, reports an error and returns `None`.
    fn load_list_file(&mut self, importer: &str, list: &Spanned<String>) -> Option<Vec<String>> {
        let read_text = || -> Result<(String, String), Message> {
            let path =
                resolve_path(importer, &list.node).ok_or_else(|| LoadError::OutsideRoot.to_message())?;
            let bytes = self.loader.load(&path).map_err(|error| error.to_message())?;
            let text = String::from_utf8(bytes).map_err(|error| {
                message!("it is not UTF-8 at byte offset {}", error.utf8_error().valid_up_to())
            })?;
            Ok((path, text))
        };
        match read_text() {
            Ok((path, text)) => {
                self.check_list_lines(list, &path, &text);
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                Some(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
            }
            Err(error) => {
                let message = message!("the list file `{}` cannot be used: {error}", list.node);
                let help = message!("the path is relative to this file and must lie inside the root folder");
                let diagnostic = Diagnostic::new(Code::ListFile, list.span, message);
                self.report(self.with_path_remedy(diagnostic, importer, list, "txt", help));
                None
            }
        }
    }
}

impl ImportLoader<'_> {
    /// Warns about invisible characters in the lines of a list file. The file then becomes a
    /// source, because the fixes refer to it.
    fn check_list_lines(&mut self, list: &Spanned<String>, path: &str, text: &str) {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let runs = |line: &str| -> Vec<Range<usize>> {
            let start = line.as_ptr().addr() - text.as_ptr().addr();
            invisible_runs(line).into_iter().map(|run| start + run.start..start + run.end).collect()
        };
        let lines = (1..).zip(body.lines()).map(|(number, line)| (number, line, runs(line)));
        let mut damaged = lines.filter(|(.., runs)| !runs.is_empty()).peekable();
        if damaged.peek().is_none() {
            return;
        }
        let known = self.loaded.sources.iter().find(|(_, source)| source.name == path).map(|(file, _)| file);
        let file = known.unwrap_or_else(|| self.loaded.sources.add(path, text));
        let span = |run: Range<usize>| Span::new(file, run.start, run.end);
        let mut reported = 0;
        while let Some((number, line, mut runs)) = damaged.next() {
            reported += 1;
            let message = message!(
                "line {number} of the list file `{}` contains an invisible character: `{}`",
                list.node,
                to_one_line(line)
            );
            let help = message!(
                "remove the character from the list file, or ignore such characters by `settings {{ normalize: \
                nfkc }}`"
            );
            // The fix of the last warning repairs the lines after it too.
            if reported == MAX_LINE_WARNINGS {
                runs.extend(damaged.by_ref().flat_map(|(.., runs)| runs));
            }
            let warning = Diagnostic::new(Code::InvisibleCharacter, list.span, message).help(help);
            self.report(runs.into_iter().fold(warning, |warning, run| warning.fix(span(run), "")));
        }
    }
}

/// Returns the diagnostic for a path outside the root folder. Also returns the help text to show
/// with it if no better help is known.
fn outside_root_error(span: Span, path: &str) -> (Diagnostic, Message) {
    let message = message!("`{path}` is outside the root folder");
    let help = message!(
        "files may import only files in the folder of the main file, or in the folder given as root"
    );
    (Diagnostic::new(Code::ImportOutsideRoot, span, message), help)
}

/// Resolves `path` relative to the folder of the file `importer`. Returns `None` if the result is
/// outside the root.
fn resolve_path(importer: &str, path: &str) -> Option<String> {
    if path.starts_with(['/', '\\']) || path.contains(':') {
        return None;
    }
    let mut parts: Vec<&str> = importer.split('/').collect();
    parts.pop();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside_the_root() {
        let check = |from: &str, path: &str, expected: Option<&str>| {
            assert_eq!(resolve_path(from, path).as_deref(), expected, "{path} from {from}");
        };
        check("main.rules", "shared/words.rules", Some("shared/words.rules"));
        check("shared/words.rules", "../main.rules", Some("main.rules"));
        check("shared/words.rules", "../../main.rules", None);
        check("main.rules", "/etc/passwd", None);
        check("main.rules", "C:\\secrets", None);
        check("a/b.rules", "./c.rules", Some("a/c.rules"));
    }
}
