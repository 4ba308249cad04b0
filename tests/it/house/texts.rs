//! Finds the texts that people read in files of any kind: strings and comments of programs, and
//! the lines of pages. [`super::prose`] checks their English.

use super::{is_test, project_root};
use std::fs;
use std::path::{Path, PathBuf};

/// A text that people read.
pub struct Text {
    /// The line of the file at which the text begins, from one.
    pub number: usize,
    pub text: String,
}

/// The marks by which a scan finds the strings and comments of a language.
struct Marks {
    line_comment: Option<&'static str>,
    block_comment: Option<(&'static str, &'static str)>,
    /// Opening and closing marks of strings. A longer mark comes before its prefix. The flag is
    /// true if the string may have several lines.
    strings: &'static [(&'static str, &'static str, bool)],
}

const RUST: Marks = Marks {
    line_comment: Some("//"),
    block_comment: Some(("/*", "*/")),
    strings: &[("r##\"", "\"##", true), ("r#\"", "\"#", true), ("r\"", "\"", true), ("\"", "\"", true)],
};
const PYTHON: Marks = Marks {
    line_comment: Some("#"),
    block_comment: None,
    strings: &[("\"\"\"", "\"\"\"", true), ("'''", "'''", true), ("\"", "\"", false), ("'", "'", false)],
};
const SCRIPT: Marks = Marks {
    line_comment: Some("//"),
    block_comment: Some(("/*", "*/")),
    strings: &[("`", "`", true), ("\"", "\"", false), ("'", "'", false)],
};
const STYLE: Marks = Marks { line_comment: None, block_comment: Some(("/*", "*/")), strings: &[] };
const RULES: Marks = Marks { line_comment: Some("#"), block_comment: None, strings: &[("\"", "\"", false)] };

/// Returns the files whose texts are checked, except Chinese ones: programs, rules and pages.
/// Folders with data of tests and with files that tools write are left out.
pub fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect_files(project_root(), &mut found);
    found.sort();
    found
}

fn collect_files(folder: &Path, found: &mut Vec<PathBuf>) {
    const SKIPPED: &[&str] = &[
        "zh",
        "target",
        "node_modules",
        "dist",
        "build",
        "venv",
        "__pycache__",
        "test-results",
        "corpus",
        "conformance",
        "dogwood",
        "golden",
        "fixtures",
        "snapshots",
        "ui-tests",
    ];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            let is_skipped = SKIPPED.contains(&&*name) && !is_crate_folder(folder);
            if !is_skipped && !name.starts_with('.') {
                collect_files(&path, found);
            }
        } else if marks(&name).is_some() || name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// True for the folder `crates`, whose members may have any name.
fn is_crate_folder(folder: &Path) -> bool {
    folder.ends_with("crates")
}

/// Returns the marks for a file's name. `None` for files without strings and comments to check.
fn marks(name: &str) -> Option<&'static Marks> {
    Some(match name.rsplit_once('.')?.1 {
        "rs" => &RUST,
        "py" | "pyi" | "toml" | "sh" => &PYTHON,
        "ts" | "tsx" | "js" | "mjs" => &SCRIPT,
        "css" => &STYLE,
        "rules" => &RULES,
        _ => return None,
    })
}

/// Returns the lines of a page outside code blocks.
pub fn page_lines(source: &str) -> Vec<Text> {
    let (mut found, mut in_code) = (Vec::new(), false);
    for (index, line) in source.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.push(Text { number: index + 1, text: line.to_owned() });
        }
    }
    found
}

/// Returns the strings of a program that have several words, and its comments. Leaves out strings
/// of tests, benchmarks and example rules, because they are data. Also leaves out comments in Rust,
/// because [`super::prose`] reads them line by line.
pub fn strings_and_comments(path: &Path, source: &str) -> Vec<Text> {
    let name = path.file_name().map_or("", |name| name.to_str().unwrap_or_default());
    let Some(marks) = marks(name) else { return Vec::new() };
    let is_rust = name.ends_with(".rs");
    let is_data =
        |part: &std::ffi::OsStr| matches!(part.to_str(), Some("bench" | "benches" | "e2e" | "test" | "fuzz"));
    let has_data = is_test(path)
        || path.iter().any(is_data)
        || name.contains(".test.")
        || name.ends_with(".rules") && !path.starts_with("rules");
    let unit_tests = source.find("\n#[cfg(test)]\nmod ").filter(|_| is_rust);
    let source = &source[..unit_tests.unwrap_or(source.len())];
    let mut scan = Scan { source, offset: 0, found: Vec::new() };
    while scan.offset < source.len() {
        scan.read_next(marks, !is_rust, !has_data);
    }
    scan.found
}

struct Scan<'s> {
    source: &'s str,
    offset: usize,
    found: Vec<Text>,
}

impl Scan<'_> {
    /// Reads a comment, a string or one character. Adds a comment if `keeps_comments`, and a string
    /// of several words if `keeps_strings`.
    fn read_next(&mut self, marks: &Marks, keeps_comments: bool, keeps_strings: bool) {
        let rest = &self.source[self.offset..];
        if let Some(mark) = marks.line_comment.filter(|mark| rest.starts_with(mark)) {
            let length = rest.find('\n').unwrap_or(rest.len());
            return self.add(mark.len()..length, length, keeps_comments);
        }
        if let Some((open, close)) = marks.block_comment.filter(|(open, _)| rest.starts_with(open)) {
            let end = rest.find(close).unwrap_or(rest.len());
            return self.add(open.len()..end, end + close.len(), keeps_comments);
        }
        // `r` at the end of a name begins no raw string, and a character in quotes no string.
        let before = self.source[..self.offset].chars().next_back();
        let is_in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_quoted = rest.starts_with('"') && before == Some('\'') && rest[1..].starts_with('\'');
        for (open, close, has_lines) in marks.strings {
            if !rest.starts_with(open) || is_quoted || is_in_name && open.starts_with('r') {
                continue;
            }
            let is_raw = open.starts_with('r');
            let Some(end) = end_of_string(&rest[open.len()..], close, *has_lines, is_raw) else { continue };
            let inner = open.len()..open.len() + end;
            let is_prose = rest[inner.clone()].split_whitespace().nth(1).is_some();
            return self.add(inner.clone(), inner.end + close.len(), keeps_strings && is_prose);
        }
        self.offset += rest.chars().next().map_or(1, char::len_utf8);
    }

    /// Goes `length` bytes on, and adds the text in the range `inner` of the rest if `keeps`.
    fn add(&mut self, inner: std::ops::Range<usize>, length: usize, keeps: bool) {
        let begin = self.offset + inner.start;
        let end = (self.offset + inner.end).max(begin);
        if keeps {
            let number = self.source[..begin].matches('\n').count() + 1;
            self.found.push(Text { number, text: without_escapes(&self.source[begin..end]) });
        }
        self.offset = (self.offset + length).min(self.source.len());
    }
}

/// Returns the length of a string that ends before `close`; `None` if it does not end.
fn end_of_string(text: &str, close: &str, has_lines: bool, is_raw: bool) -> Option<usize> {
    let mut offset = 0;
    while offset < text.len() {
        let rest = &text[offset..];
        if rest.starts_with(close) {
            return Some(offset);
        }
        let mut chars = rest.chars();
        let c = chars.next()?;
        if c == '\n' && !has_lines {
            return None;
        }
        offset += c.len_utf8();
        if c == '\\' && !is_raw {
            offset += chars.next().map_or(0, char::len_utf8);
        }
    }
    None
}

/// Replaces escapes such as `\n`, and placeholders such as `{name}`, which are no words.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    let mut depth = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
                plain.push(' ');
            }
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                plain.push('_');
            }
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

#[test]
fn strings_and_comments_are_found() {
    let cases = [
        ("a.rs", "let a = \"one two\"; // three four", vec!["one two"]),
        ("a.rs", "f('\"', r#\"one \" two\"#, b\"x\", \"word\")", vec!["one \" two"]),
        ("a.rs", "let a = \"one\\ntwo {name} three\";", vec!["one two _ three"]),
        ("a.rs", "f(\"one two\");\n#[cfg(test)]\nmod tests { fn f() { \"three four\" } }", vec!["one two"]),
        ("a.py", "\"\"\"One\ntwo.\"\"\"\na = 'it is'  # three", vec!["One\ntwo.", "it is", " three"]),
        ("a.ts", "const a = `one two`; /* three */ const b = /'/;", vec!["one two", " three "]),
        ("a.test.ts", "test('one two', f); // three", vec![" three"]),
        ("a.css", "/* one */ .two { content: 'three four' }", vec![" one "]),
        ("rules/a.rules", "route a when text == \"one two\" -> b # three", vec!["one two", " three"]),
        ("examples/a.rules", "route a when text == \"one two\" -> b # three", vec![" three"]),
        ("a.toml", "a = \"one two\" # three", vec!["one two", " three"]),
    ];
    for (name, source, expected) in cases {
        let found = strings_and_comments(Path::new(name), source);
        assert_eq!(found.iter().map(|text| &*text.text).collect::<Vec<_>>(), expected, "{source}");
    }
    let lines = page_lines("one\n```\ntwo\n```\nthree");
    assert_eq!(
        lines.iter().map(|line| (line.number, &*line.text)).collect::<Vec<_>>(),
        [(1, "one"), (5, "three")]
    );
}
