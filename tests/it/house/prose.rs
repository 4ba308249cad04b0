//! Checks what can be counted about the English of comments, strings and pages: the width of lines
//! of comments, the length of sentences, and words that this code once used in a private sense. The
//! check cannot know whether a stranger understands a text; only a reader can.
//!
//! `exceptions.txt` lists the breaches that are allowed, one per line. The list only shrinks,
//! because a line without a breach also fails the test.

use super::texts::{self, page_lines, strings_and_comments};
use super::{project_root, relative_name};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const MOST_COLUMNS: usize = 100;
const MOST_WORDS: usize = 25;

/// Words that this code once used in a private sense, each with plain replacements.
const BANNED: &[(&str, &str)] = &[
    ("told", "reports, known, selected"),
    ("tells", "says, reports"),
    ("tell", "say, report"),
    ("anew", "again"),
    ("so many", "the number of"),
    ("whoever", "the caller, the user"),
    ("nobody", "no caller, no user"),
    ("comes upon", "finds"),
    ("come upon", "find"),
    ("stands", "is, lies"),
    ("stand", "are, lie"),
    ("standing", "lying"),
    ("stood", "was, lay"),
    ("behind", "after"),
    ("beside", "next to, with"),
    ("besides", "also"),
    ("that of", "repeat the noun"),
    ("those of", "repeat the noun"),
    ("what is", "name the thing"),
    ("what was", "name the thing"),
    ("said", "given, named"),
    ("makes of", "converts to"),
    ("is to be", "must be, should be"),
    ("are to be", "must be, should be"),
    ("meanwhile", "name the time"),
];

/// A line of a comment or page: its number, whether it is a doc comment, its width, and its text.
struct Line<'t> {
    number: usize,
    is_doc: bool,
    columns: usize,
    text: &'t str,
}

impl Line<'_> {
    /// Treats a line of a page as a doc comment, whose width is not limited.
    fn of_page(line: &texts::Text) -> Line<'_> {
        Line { number: line.number, is_doc: true, columns: 0, text: &line.text }
    }
}

/// Returns the comment lines of a file, without code in doc comments. Code is a block in fences, or
/// an example for Python's doctest, which begins with `>>>` and ends before an empty line.
fn comments(text: &str) -> Vec<Line<'_>> {
    let (mut found, mut in_code, mut in_example) = (Vec::new(), false, false);
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let doc = trimmed.strip_prefix("///").or_else(|| trimmed.strip_prefix("//!"));
        let Some(rest) = doc.or_else(|| trimmed.strip_prefix("//")) else {
            (in_code, in_example) = (false, false);
            continue;
        };
        in_example = doc.is_some() && !rest.trim().is_empty() && (in_example || rest.starts_with(" >>> "));
        if doc.is_some() && rest.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !in_example {
            found.push(Line {
                number: at + 1,
                is_doc: doc.is_some(),
                columns: line.chars().count(),
                text: rest.trim_end(),
            });
        }
    }
    found
}

/// Returns a text without its parts in backquotes, because code has no style, and without the
/// addresses of links.
fn without_code(text: &str) -> String {
    let plain = text.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let mut parts = plain.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "]" + part.split_once(')').map_or(part, |(_, after)| after))
}

/// Returns the sentences of doc comments that are too long, as pairs of the line where the
/// paragraph begins and the number of words.
fn long_sentences(lines: &[Line<'_>]) -> Vec<(usize, usize)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut last = 0;
    for line in lines.iter().filter(|line| line.is_doc) {
        let text = line.text.trim();
        let begins = line.number != last + 1
            || text.is_empty()
            || text.starts_with(['|', '-', '*', '#'])
            || text.chars().next().is_some_and(|c| c.is_ascii_digit());
        match paragraphs.last_mut().filter(|_| !begins) {
            Some((_, paragraph)) => paragraph.extend([" ", text]),
            None => paragraphs.push((line.number, text.to_owned())),
        }
        last = line.number;
    }
    let mut found = Vec::new();
    for (number, paragraph) in paragraphs.iter().filter(|(_, text)| !text.starts_with('|')) {
        let plain = without_code(paragraph);
        let mut words = 0;
        for word in plain.split_whitespace() {
            words += usize::from(word.contains(char::is_alphanumeric));
            if word.trim_end_matches([')', '"', '*', '_']).ends_with(['.', '!', '?', ':', ';']) {
                found.extend((words > MOST_WORDS).then_some((*number, words)));
                words = 0;
            }
        }
        found.extend((words > MOST_WORDS).then_some((*number, words)));
    }
    found
}

/// Returns the banned words that a text contains.
fn banned(text: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let plain = without_code(text).to_lowercase();
    let words: Vec<&str> =
        plain.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).collect();
    let joined = format!(" {} ", words.join(" "));
    BANNED.iter().filter(move |(word, _)| joined.contains(&format!(" {word} ")))
}

/// Returns every breach in a file, as the kind of breach and its description with file and line.
fn breaches(name: &str, text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (pages, strings) = match name.ends_with(".md") {
        true => (page_lines(text), Vec::new()),
        false => (Vec::new(), strings_and_comments(Path::new(name), text)),
    };
    for text in pages.iter().chain(&strings) {
        for (word, instead) in banned(&text.text) {
            found.push((format!("`{word}`"), format!("{name}:{}: `{word}`; write: {instead}", text.number)));
        }
    }
    let mut lines: Vec<Line<'_>> = pages.iter().map(Line::of_page).collect();
    if name.ends_with(".rs") {
        lines = comments(text);
    }
    for line in lines.iter().filter(|_| name.ends_with(".rs")) {
        if line.columns > MOST_COLUMNS {
            found.push(("columns".to_owned(), format!("{name}:{}: {} columns", line.number, line.columns)));
        }
        for (word, instead) in banned(line.text) {
            found.push((format!("`{word}`"), format!("{name}:{}: `{word}`; write: {instead}", line.number)));
        }
    }
    for (number, words) in long_sentences(&lines) {
        found.push(("sentence".to_owned(), format!("{name}:{number}: a sentence of {words} words")));
    }
    found
}

#[test]
fn texts_are_plain_english() {
    let list = project_root().join("tests/it/house/exceptions.txt");
    let list = fs::read_to_string(list).expect("the list of exceptions");
    let mut allowed: BTreeSet<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    let files = texts::files();
    let mut broken = String::new();
    let mut used = BTreeSet::new();
    for path in &files {
        let (name, text) = (relative_name(path), fs::read_to_string(path).expect("a text"));
        for (what, line) in breaches(&name, &text) {
            let exception = format!("{what} {name}");
            match allowed.get(&*exception) {
                Some(line) => _ = used.insert(*line),
                None => broken.push_str(&format!("{line}\n")),
            }
        }
    }
    allowed.retain(|line| !used.contains(line));
    assert!(files.len() > 1_200, "{} files", files.len());
    assert!(broken.is_empty(), "texts that are not plain English:\n{broken}");
    assert!(
        allowed.is_empty(),
        "exceptions that nothing needs any more, to remove from exceptions.txt:\n{allowed:#?}"
    );
}

#[test]
fn breaches_are_found_where_they_are() {
    let long = vec!["word"; 26].join(" ");
    let cases = [
        ("/// Returns the keys.\nfn a() {}", vec![]),
        ("/// The text that stands here.", vec!["`stands`"]),
        ("// It is told here.", vec!["`told`"]),
        ("/// Reads `what is told`.", vec![]),
        ("/// ```\n/// // told\n/// ```", vec![]),
        ("/// >>> told\n/// told\n///\n/// It is told.", vec!["`told`"]),
        ("/// >>> told\nfn a() {}\n/// It is told.", vec!["`told`"]),
        ("// >>> told", vec!["`told`"]),
        (&format!("/// {long}."), vec!["columns", "sentence"]),
        (&format!("// {long}."), vec!["columns"]),
        ("let told = \"// no comment\";", vec![]),
    ];
    for (text, expected) in cases {
        let found: Vec<String> = breaches("f.rs", text).into_iter().map(|(what, _)| what).collect();
        assert_eq!(found, expected, "{text}");
    }
    let cases = [
        ("f.rs", "f(\"it is told\");", vec!["`told`"]),
        ("f.md", "It is told.\n```\ntold\n```\n[It](what-is-told) `told`", vec!["`told`"]),
        ("f.md", &format!("# told\n\nOne.\n{long}\n(two)."), vec!["`told`", "sentence"]),
        ("f.py", "a = \"told\"  # It is told.", vec!["`told`"]),
    ];
    for (name, text, expected) in cases {
        let found: Vec<String> = breaches(name, text).into_iter().map(|(what, _)| what).collect();
        assert_eq!(found, expected, "{text}");
    }
}
