//! What the compiler says about wrong rules, tested by code and underlined text; and for the most
//! frequent errors by their whole wording.
//!
//! Below a line of `tests/ui/*.rules` stands what is reported for it, each as
//! `#~ E0201 "the underlined text"`; line breaks in it are shown as `⏎`, characters that cannot be
//! seen as `\u{202E}`. The set of all findings is compared, so what is not foretold fails as well.
//! Files of subfolders are there to be imported.
//!
//! `RULEC_BLESS=1` writes the annotations anew, `INSTA_UPDATE=always` the snapshots; read the
//! difference before you keep it.

use rulec::Compiler;
use rulec::diag::{Code, Diagnostic, Severity};
use rulec::loader::{LoadError, Loader, MemoryLoader};
use rulec::ops;
use rulec::source::SourceMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const MARK: &str = "#~ ";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui")
}

/// The files of the folder as they are.
struct Folder;

impl Loader for Folder {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        std::fs::read(folder().join(path)).map_err(|_| LoadError::NotFound)
    }
}

/// A finding: the file and line it starts on, its code, the underlined text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    file: String,
    line: usize,
    code: String,
    underlined: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {} \"{}\"", self.file, self.line, self.code, self.underlined)
    }
}

fn compile(loader: &dyn Loader, path: &str) -> (Vec<Diagnostic>, SourceMap) {
    match Compiler::new().allow_missing_functions().compile_with(loader, path) {
        Ok(rules) => (rules.warnings().to_vec(), rules.sources().clone()),
        Err(error) => (error.diagnostics().to_vec(), error.sources().clone()),
    }
}

fn shown(text: &str) -> String {
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
    };
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '\n' => out.push('⏎'),
            c if invisible(c) => out.extend(c.escape_unicode().map(|c| c.to_ascii_uppercase()).skip(2)),
            c => out.push(c),
        }
        out
    })
}

fn findings(path: &str) -> (Vec<Finding>, SourceMap) {
    let (diagnostics, sources) = compile(&Folder, path);
    let mut found: Vec<Finding> = diagnostics
        .iter()
        .map(|diagnostic| match diagnostic.span() {
            Some(span) => Finding {
                file: sources.file(span.file).name.clone(),
                line: sources.position(span).line,
                code: diagnostic.code.to_string(),
                underlined: shown(sources.slice(span)),
            },
            None => Finding {
                file: path.to_owned(),
                line: 1,
                code: diagnostic.code.to_string(),
                underlined: String::new(),
            },
        })
        .collect();
    found.sort();
    (found, sources)
}

/// What a file's annotations foretell.
fn foretold(name: &str, text: &str) -> Vec<Finding> {
    let mut line = 1;
    let mut out = Vec::new();
    for (at, written) in text.lines().enumerate() {
        match written.trim_start().strip_prefix(MARK) {
            Some(annotation) => {
                let (code, text) = annotation.split_once(' ').unwrap_or((annotation, "\"\""));
                let underlined = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let underlined =
                    underlined.unwrap_or_else(|| panic!("{name}:{}: no quoted text", at + 1)).to_owned();
                out.push(Finding { file: name.to_owned(), line, code: code.to_owned(), underlined });
            }
            None => line = at + 1,
        }
    }
    out
}

/// The text with its annotations replaced by those of the findings.
fn blessed(name: &str, text: &str, found: &[Finding]) -> String {
    let mut out = String::new();
    for (at, written) in text.lines().enumerate() {
        if written.trim_start().starts_with(MARK) {
            continue;
        }
        let _ = writeln!(out, "{written}");
        let indent: String = written.chars().take_while(|c| *c == ' ').collect();
        for finding in found.iter().filter(|finding| finding.file == name && finding.line == at + 1) {
            let _ = writeln!(out, "{indent}{MARK}{} \"{}\"", finding.code, finding.underlined);
        }
    }
    out
}

fn rule_files() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of tests")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".rules"))
        .collect();
    names.sort();
    names
}

#[test]
fn findings_are_those_the_files_foretell() {
    let mut faults = String::new();
    for name in rule_files() {
        let (mut found, sources) = findings(&name);
        if std::env::var_os("RULEC_BLESS").is_some() {
            // Old annotations may count as lines; without them the lines are those of the text.
            let bare: Vec<(String, String)> = sources
                .iter()
                .map(|(_, file)| (file.name.clone(), blessed(&file.name, &file.text, &[])))
                .collect();
            let write = |texts: &[(String, String)]| {
                for (name, text) in texts {
                    std::fs::write(folder().join(name), text).expect("the file can be written");
                }
            };
            write(&bare);
            let (bare_found, _) = findings(&name);
            let texts: Vec<(String, String)> =
                bare.iter().map(|(name, text)| (name.clone(), blessed(name, text, &bare_found))).collect();
            write(&texts);
            found = findings(&name).0;
        }
        let mut wanted: Vec<Finding> = match findings(&name).1 {
            sources => sources.iter().flat_map(|(_, file)| foretold(&file.name, &file.text)).collect(),
        };
        wanted.sort();
        for finding in wanted.iter().filter(|finding| !found.contains(finding)) {
            let _ = writeln!(faults, "foretold, not found: {finding}");
        }
        for finding in found.iter().filter(|finding| !wanted.contains(finding)) {
            let _ = writeln!(faults, "found, not foretold: {finding}");
        }
        if wanted.len() != found.len() {
            let _ = writeln!(faults, "{name}: {} foretold, {} found", wanted.len(), found.len());
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}
