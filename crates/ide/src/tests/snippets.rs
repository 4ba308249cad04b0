//! Tests of skeletons and calls: the text that an editor inserts is valid before the author fills
//! it in.

use super::{HELPDESK, MAIN, split_at_mark};
use crate::Analysis;
use crate::complete::CompletionItem;
use crate::complete::snippets::{STATEMENT_SKELETONS, Snippet, SnippetPart, statement_skeleton};
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_syntax::loader::MemoryLoader;
use rulec_syntax::parse::parse;

/// Returns a snippet as text, with its placeholders in `«` and `»`.
fn shown(snippet: &Snippet) -> String {
    let part = |part: &SnippetPart| match part {
        SnippetPart::Text(text) => text.clone(),
        SnippetPart::Placeholder(text) => format!("«{text}»"),
    };
    snippet.parts.iter().map(part).collect()
}

fn items_at(mark: &str) -> Vec<CompletionItem> {
    let (line, at) = split_at_mark(mark);
    let text = format!("{HELPDESK}{line}\n");
    super::analyse(&text).complete(MAIN, HELPDESK.len() as u32 + at).items
}

/// Returns the snippet of the item `label` at the mark.
fn snippet_at(mark: &str, label: &str) -> Option<String> {
    let items = items_at(mark);
    let item = items.iter().find(|item| item.label == label);
    let item = item.unwrap_or_else(|| panic!("no {label} in {mark}: {items:?}"));
    item.snippet.as_ref().map(shown)
}

#[test]
fn every_skeleton_parses_and_checks_with_its_own_texts() {
    for (word, _) in STATEMENT_SKELETONS {
        let text = statement_skeleton(word).expect("it is in the table").default_text();
        let faults = parse(ThreadLimit::All, FileId(0), &text).diagnostics;
        assert!(faults.is_empty(), "{text}: {faults:?}");
        let mut file = format!("{text}\n");
        // The declarations that skeletons name. A statement of which a file has only one is not
        // declared twice.
        for declaration in [
            "input { text: string, condition: bool, session: string, now: datetime }\n",
            "handler target()\n",
            "default -> target()\n",
        ] {
            if !declaration.starts_with(word) || *word == "handler" {
                file += declaration;
            }
        }
        let loader = MemoryLoader::new().with("a.rules", file.clone()).with("file.rules", "let more = 1\n");
        let analysis = Analysis::new(&loader, "a.rules");
        let errors: Vec<_> = analysis.diagnostics().iter().filter(|found| found.is_error()).collect();
        assert!(errors.is_empty(), "{file}: {errors:?}");
    }
}

#[test]
fn calls_of_all_functions_parse_with_their_own_texts() {
    let mut calls = 0;
    for item in items_at("let x = ┃") {
        let Some(snippet) = &item.snippet else { continue };
        let text = format!("let x = {}\n", snippet.default_text());
        // A function without required parameters has an empty placeholder.
        let faults = parse(ThreadLimit::All, FileId(0), &text).diagnostics;
        assert!(faults.is_empty(), "{text}: {faults:?}");
        calls += 1;
    }
    assert!(calls > 30, "{calls}");
}

#[test]
fn calls_have_their_parameters_as_placeholders() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(snippet_at("let x = url┃", "url_query"), some("url_query(«text», \"«key»\")"));
    assert_eq!(snippet_at("let x = ┃", "round"), some("round(«x»)"), "an optional parameter");
    assert_eq!(snippet_at("let x = ov┃", "over"), some("over(«n»)"));
    assert_eq!(snippet_at("route x when money -> ┃", "billing"), some("billing(«»)"));
    let needed = "handler pay(amount: int, note?: string, `to`: string)\nroute x when money -> p┃";
    assert_eq!(snippet_at(needed, "pay"), some("pay(amount: «amount», to: «to»)"));
    assert_eq!(snippet_at("handler bare()\nroute x when money -> ┃", "bare"), None, "nothing to fill in");
    assert_eq!(snippet_at("let x = url┃(text)", "url_query"), None, "parentheses follow");
    assert_eq!(snippet_at("let x = mon┃", "money"), None, "a `let` is no call");
}

#[test]
fn skeletons_are_offered_where_a_statement_may_begin() {
    let route = "route «name» when «condition» -> «target»";
    assert_eq!(snippet_at("ro┃", "route").as_deref(), Some(route));
    assert_eq!(snippet_at("table t {\n  ┃\n}", "route").as_deref(), Some(route));
    assert_eq!(snippet_at("ro┃ x when money -> billing", "route"), None, "the rest is already written");
    assert_eq!(snippet_at("extern┃", "extern"), None, "it has no skeleton");
}
