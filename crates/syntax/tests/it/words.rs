//! Tests of the explanations of words, which editors show.

use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_syntax::parse::{WordRole, keywords, parse, word_doc, word_docs};

#[test]
fn each_word_has_a_valid_example() {
    for row in word_docs() {
        let mut words = row.word.split(' ');
        assert!(words.all(|word| row.example.contains(word)), "`{}` lacks `{}`", row.example, row.word);
        let faults = parse(ThreadLimit::All, FileId(0), row.example).diagnostics;
        let faults: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(faults, Vec::<&str>::new(), "`{}`", row.example);
    }
}

/// Each statement is explained by the same text in `docs/statements.md`, which people read, and
/// in the table of words, which editors show.
#[test]
fn statements_are_explained_as_on_their_page() {
    let page = include_str!("../../../../docs/statements.md");
    for (word, _) in keywords().filter(|(_, role)| *role == WordRole::Statement) {
        let doc = word_doc(word).expect("each word has a row").doc.as_str();
        let head = if word == "extern" { "extern fn" } else { word };
        let row = page.lines().find(|line| line.starts_with(&format!("| `{head}` | "))).expect("a row");
        let meaning = row.split(" | ").nth(1).expect("a meaning");
        // A link to another page, at the end of the text, is only for readers.
        let meaning = meaning.split(" ([").next().and_then(|text| text.split("; see [").next());
        assert_eq!(meaning.map(without_links).as_deref(), Some(doc), "`{word}`");
    }
}

/// Returns a Markdown text with the text of each link in place of the link.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split("](").enumerate() {
        let part = if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) };
        match part.rsplit_once('[') {
            Some((before, link)) => out.extend([before, link]),
            None => out.push_str(part),
        }
    }
    out
}
