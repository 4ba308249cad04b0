//! Checks that the formatter changes only white space: tokens, comments and the compiled program
//! stay the same. Formatting twice must change nothing more.
//!
//! The inputs are every rules file of the repository, the rules on documentation pages, random
//! programs, and files with tokens removed, duplicated and inserted.

use crate::support::generate::Generator;
use crate::support::generate::payload::Payloads;
use crate::support::layout::check_formatted;
use crate::support::random::Random;
use crate::support::trials::seeds;
use crate::workload;
use rulec::{Compiler, DiskLoader, LoadError, Loader, Rules};
use rulec_sema::hir::{Condition, Program};
use rulec_syntax::format::format;
use rulec_syntax::lex::{Token, TokenKind, tokenize};
use std::fs;
use std::path::{Path, PathBuf};
use workload::detection::Detection;
use workload::{Density, Shape, Variant, Workload};

const PROGRAMS: u64 = 75;
const MUTATIONS: u64 = 1_500;
/// Approximate size of the large files.
const BYTES: u64 = 50_000;

fn project_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns each rules file of the repository and each block of rules on a page, with its text.
fn corpus() -> Vec<(PathBuf, String)> {
    let mut corpus = Vec::new();
    for folder in ["examples", "rules", "tests", "src", "crates", "docs"] {
        collect_files(&project_root().join(folder), &mut corpus);
    }
    corpus.sort();
    assert!(corpus.len() > 100, "only {} texts were found", corpus.len());
    corpus
}

fn collect_files(folder: &Path, corpus: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending {
            _ if path.is_dir() => collect_files(&path, corpus),
            Some("rules") => {
                let bytes = fs::read(&path).expect("a file");
                corpus.extend(String::from_utf8(bytes).ok().map(|text| (path, text)));
            }
            Some("md") => {
                let page = fs::read_to_string(&path).expect("a page");
                for block in page.split("```rules\n").skip(1) {
                    corpus.push((path.clone(), block.split("```").next().unwrap_or("").to_owned()));
                }
            }
            _ => {}
        }
    }
}

/// A loader that replaces one file; all other files come from disk.
struct ReplacingLoader<'a> {
    name: &'a str,
    text: &'a str,
    disk: DiskLoader,
}

impl Loader for ReplacingLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        if path == self.name { Ok(self.text.into()) } else { self.disk.load(path) }
    }
}

/// Returns the compiled program as text without spans, or its diagnostics if it does not compile.
fn compiled_meaning(path: &Path, text: &str) -> String {
    let folder = path.parent().expect("files lie in folders");
    let disk = DiskLoader::new(folder).expect("the folder is there");
    let compiler = Compiler::new().allow_missing_functions();
    let rules =
        compiler.compile_with(&ReplacingLoader { name: "this one.rules", text, disk }, "this one.rules");
    match rules {
        Ok(rules) => without_places(&rules),
        Err(error) => {
            // A message quotes the text of the author as written, with the white space.
            let tight = |message: String| message.split_whitespace().collect::<String>();
            let findings = error.diagnostics().iter();
            findings
                .map(|finding| format!("{} {}\n", finding.code, tight(finding.message.to_string())))
                .collect()
        }
    }
}

fn without_places(rules: &Rules) -> String {
    let program: &Program = rules.program();
    let mut patterns: Vec<_> = program.regex_facts.keys().collect();
    patterns.sort();
    let warnings: Vec<_> = rules.warnings().iter().map(|warning| warning.code).collect();
    // The map of patterns has no order, and conditions are stored as bytes, so both are left out.
    let mut program = Program { regex_facts: Default::default(), ..program.clone() };
    for rule in &mut program.rules {
        rule.condition = Condition::from((*rule.condition).clone());
    }
    let shown = remove_between(&format!("{program:?}"), "Span {", "}");
    // The name index of a record has no order either, and hints contain line numbers.
    let shown = remove_between(&remove_between(&shown, "by_name: OnceLock(", ")"), "this one.rules:", " ");
    // A requirement quotes its condition as written, with the white space. Other tests compare its
    // tokens.
    let shown: String = shown.split_whitespace().collect();
    format!("{patterns:?} {warnings:?} {shown}")
}

/// Removes the text between each pair of marks.
fn remove_between(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(to).map_or("", |(_, rest)| rest));
    }
    out
}

#[track_caller]
fn check(path: &Path, text: &str) {
    let once = check_formatted(&path.display().to_string(), text);
    let (old, new) = (compiled_meaning(path, text), compiled_meaning(path, &once));
    assert!(
        old == new,
        "{} means something else:\n{text}\n--- formatted:\n{once}\n{old}\n{new}",
        path.display()
    );
}

#[test]
fn every_file_of_the_repository_keeps_its_meaning() {
    for (path, text) in corpus() {
        check(&path, &text);
    }
}

/// Regression: a line of a `switch` of another language was moved to the margin. There, `default`
/// begins a statement, so the error was another one.
#[test]
fn a_damaged_switch_of_another_language_keeps_its_errors() {
    let here = project_root().join("damaged.rules");
    for first in ["switch (kind) {\n}  case \"a\": return h;", "switch `(kind) {#\n  case \"a\": return h;"] {
        let text =
            format!("{first}\n  case \"b\": return g;\n  default: return refuse;\n}}\n\ndefault -> h\n");
        check(&here, &text);
    }
}

#[test]
fn random_programs_keep_their_meaning() {
    let here = project_root().join("random.rules");
    let (mut bytes, programs) = (0, seeds(PROGRAMS));
    for seed in programs.clone() {
        let mut random = Random::new(seed);
        for text in [Generator::program(&mut random).source, Payloads::rules(&mut random).source] {
            bytes += text.len();
            check(&here, &text);
        }
    }
    eprintln!("{bytes} bytes of programs were formatted");
    assert!(bytes as u64 > (programs.end - programs.start) * 3_000, "only {bytes} bytes were formatted");
}

/// Replaces each white-space token by random white space, which may contain line breaks.
fn scatter_white_space(random: &mut Random, text: &str) -> String {
    let scattered = |token: Token| match token.kind {
        TokenKind::White | TokenKind::Newline => {
            random.pick(&[" ", "\n", "   ", " \n\n\n  ", "\t"]).to_owned()
        }
        // A line comment needs a line break after it.
        kind if kind.is_trivia() => format!("{}\n", token.text(text)),
        _ => token.text(text).to_owned(),
    };
    tokenize(text, 0).map(scattered).collect()
}

/// Formats two large files in parallel.
#[test]
fn large_files_keep_their_meaning() {
    let here = project_root().join("large.rules");
    let sizes = seeds(BYTES);
    let bytes = (sizes.end - sizes.start) as usize;
    let shape =
        |routes| Shape { routes, variant: Variant::Mixed, density: Density::Rare, no_key: 5, seed: 3 };
    let of_routes = |routes| Workload::new(shape(routes)).source();
    let of_detection = |rules| Detection::new(rules, 5).source();
    for source in [&of_routes as &dyn Fn(usize) -> String, &of_detection] {
        let text = source(bytes * 200 / source(200).len());
        assert!(text.len() > bytes / 2, "only {} bytes", text.len());
        let text = scatter_white_space(&mut Random::new(1), &text);
        let began = std::time::Instant::now();
        let formatted = format(&text).unwrap_or_else(|changed| panic!("{changed}")).text;
        eprintln!("{} bytes laid out as {} in {:?}", text.len(), formatted.len(), began.elapsed());
        check(&here, &text);
    }
}

/// Returns the text with tokens removed, duplicated, inserted and moved, and with changed white
/// space.
fn mutilate(random: &mut Random, text: &str, other: &str) -> String {
    let mut pieces: Vec<&str> = tokenize(text, 0).map(|token| token.text(text)).collect();
    let others: Vec<&str> = tokenize(other, 0).map(|token| token.text(other)).collect();
    const ODD: [&str; 24] = [
        "(", ")", "[", "]", "{", "}", ";", ",", ":", "->", "\n", " ", "\n\n\n", "# a\n", " ## b\n", "\"",
        "`", "route", "list", "default", "each", "\r\n", "\u{feff}", "if",
    ];
    for _ in 0..1 + random.below(6) {
        let at = random.below(pieces.len().max(1));
        match random.below(6) {
            0 if at < pieces.len() => drop(pieces.remove(at)),
            1 if at < pieces.len() => pieces.insert(at, pieces[at]),
            2 if !others.is_empty() => {
                pieces.insert(at.min(pieces.len()), others[random.below(others.len())])
            }
            3 if at + 1 < pieces.len() => pieces.swap(at, at + 1),
            4 if at < pieces.len() && pieces[at].trim().is_empty() => {
                pieces[at] = random.pick(&["\n", " ", "\n  \n\n"])
            }
            _ => pieces.insert(at.min(pieces.len()), random.pick(&ODD)),
        }
    }
    pieces.concat()
}

#[test]
fn mutilated_files_keep_their_tokens_and_their_findings() {
    let corpus = corpus();
    for seed in seeds(MUTATIONS) {
        let mut random = Random::new(seed);
        let (path, text) = &corpus[random.below(corpus.len())];
        if text.len() > 8_000 {
            continue;
        }
        let other = &corpus[random.below(corpus.len())].1;
        let text = mutilate(&mut random, text, other);
        check(path, &text);
    }
}
