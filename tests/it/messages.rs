//! Tests of Chinese messages. The catalogue has a translation for every message template in the
//! sources, and no other entries. The Chinese diagnostics for the files of `tests/ui` contain no
//! English.

use crate::chinese;
use chinese::{english_in, is_chinese};
use proc_macro2::{TokenStream, TokenTree};
use rulec::{AnalysisOptions, Compiler, Diagnostic, Language};
use rulec_base::diag::{Arg, Message, placeholder_names};
use rulec_base::message;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn project_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn collect_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Collects the templates of the `message!` calls among these tokens.
fn collect_templates(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        collect_templates(group.stream(), found);
        let before = |back: usize| at.checked_sub(back).map(|at| tokens[at].to_string());
        if (before(2).as_deref(), before(1).as_deref()) == (Some("message"), Some("!"))
            && let Some(TokenTree::Literal(literal)) = group.stream().into_iter().next()
        {
            let literal: syn::LitStr = syn::parse_str(&literal.to_string()).expect("a template is a text");
            found.insert(literal.value());
        }
    }
}

/// Returns the message templates of all packages.
fn all_templates() -> BTreeSet<String> {
    let mut files = Vec::new();
    collect_sources(&project_root().join("src"), &mut files);
    for member in fs::read_dir(project_root().join("crates")).expect("the members") {
        collect_sources(&member.expect("an entry").path().join("src"), &mut files);
    }
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a text");
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        collect_templates(tokens, &mut found);
    }
    found
}

/// Returns the words of a template, without backquoted text and argument placeholders, which are
/// the same in every language.
fn template_words(template: &str) -> String {
    let mut out = String::new();
    for (at, piece) in template.replace("``", "`").split('`').enumerate() {
        if at % 2 == 0 {
            out.push_str(piece);
        }
    }
    for placeholder in ["{}".to_owned()]
        .into_iter()
        .chain(placeholder_names(template).iter().map(|name| format!("{{{name}}}")))
    {
        out = out.replace(&placeholder, "");
    }
    out
}

fn read_catalogue() -> BTreeMap<String, String> {
    let text = fs::read_to_string(project_root().join("docs/zh/messages.json")).expect("the catalogue");
    let read: BTreeMap<String, String> =
        serde_json::from_str(&text).expect("the catalogue is texts by templates");
    // A JSON map hides duplicate keys, so the entries are also counted as lines.
    let entries = text.lines().filter(|line| line.starts_with(" \"")).count();
    assert_eq!(entries, read.len(), "a template stands in the catalogue twice");
    read
}

#[test]
fn every_template_has_a_chinese_text_with_the_same_placeholders() {
    let (templates, catalogue) = (all_templates(), read_catalogue());
    assert!(templates.len() > 900, "only {} templates were found", templates.len());
    let mut faults = String::new();
    let wordy = |template: &&String| template_words(template).contains(|c: char| c.is_ascii_alphabetic());
    for template in templates.iter().filter(wordy).filter(|template| !catalogue.contains_key(*template)) {
        let _ = writeln!(faults, "without a Chinese text: {template}");
    }
    for (template, chinese) in &catalogue {
        let sorted = |text| {
            let mut names = placeholder_names(text);
            names.sort();
            names
        };
        if !templates.contains(template) {
            let _ = writeln!(faults, "no longer used: {template}");
        }
        if sorted(template) != sorted(chinese) {
            let _ = writeln!(faults, "other placeholders: {template} | {chinese}");
        }
        if !english_in(chinese).is_empty() {
            let _ = writeln!(faults, "English words: {chinese}");
        }
    }
    assert!(faults.is_empty(), "docs/zh/messages.json:\n{faults}");
}

#[test]
fn a_message_is_localized_with_its_arguments() {
    let (name, inner) = ("size", message!("a list"));
    let message = message!("expected {inner} after `{name}`, found {}", message!("a {}", "number"));
    // This template differs from the one in the sources by its placeholder names, so the catalogue
    // does not contain it.
    assert_eq!(message, "expected a list after `size`, found a number");
    let message = message!(
        "expected {expected} after `{before}`, found {found}",
        expected = inner,
        before = name,
        found = 3
    );
    assert_eq!(message.localized(Language::English), "expected a list after `size`, found 3");
    assert_eq!(message.localized(Language::Chinese), "`size` 之后应当是列表，却是 3");
    // Former bug: a brace that belongs to no placeholder was dropped.
    let brace = Message::fixed("`{`");
    let message = message!(
        "expected {expected} after `{before}`, found {found}",
        expected = brace,
        before = name,
        found = inner
    );
    assert_eq!(message.localized(Language::Chinese), "`size` 之后应当是 `{`，却是列表");
    let (braces, verbatim) = (message!("{{}} {name}"), Message::verbatim("{name}"));
    assert_eq!((braces.as_str(), verbatim.as_str()), ("{} size", "{name}"));
    let twice = Message::new("{a}{a}", vec![Arg::Text("x".into()), Arg::Text("y".into())]);
    assert_eq!(twice, "xy", "each placeholder has its own value");
}

/// Returns the diagnostics for a file of `tests/ui`, including the findings of the analysis.
fn find_in_file(path: &Path) -> Vec<Diagnostic> {
    match Compiler::new().allow_missing_functions().compile_path(path) {
        Ok(rules) => {
            let analysed = rules.analyse_with(AnalysisOptions::default().strict_ties(true));
            let own = rules.warnings().iter().cloned();
            own.chain(analysed.into_iter().map(|finding| finding.diagnostic)).collect()
        }
        Err(error) => error.diagnostics().to_vec(),
    }
}

#[test]
fn findings_read_as_chinese() {
    let mut files = Vec::new();
    for entry in fs::read_dir(project_root().join("tests/ui")).expect("the folder of tests") {
        files.push(entry.expect("an entry").path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rules"));
    files.sort();
    let (mut lines, mut faults) = (BTreeSet::new(), String::new());
    for path in &files {
        for found in find_in_file(path) {
            let localized = found.localized(Language::Chinese);
            assert_eq!(localized.code, found.code);
            let texts = [&localized.message].into_iter().chain(&localized.help);
            for text in texts.chain(localized.labels.iter().map(|label| &label.text)) {
                let left = english_in(text);
                if !left.is_empty() {
                    let _ = writeln!(faults, "{}: {left:?} in: {text}", path.display());
                }
            }
            if !is_chinese(&localized.message) {
                let _ = writeln!(faults, "not Chinese: {}", localized.message);
            }
            let label = localized.labels.first().map_or("", |label| label.text.as_str());
            let help = localized.help.as_deref().unwrap_or_default();
            lines.insert(format!("{}: {} | {label} | {help}", localized.code, localized.message));
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    assert!(lines.len() > 300, "only {} findings were localized", lines.len());
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("chinese", lines.into_iter().collect::<Vec<_>>().join("\n"));
    });
}
