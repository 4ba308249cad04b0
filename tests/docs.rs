//! The pages show what is right: every `rules` block of the README and of `docs/` compiles and its
//! tests pass, and the table of statements is one program that knows every statement.

use rulec::{Compiler, MemoryLoader};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and the pages of `docs/`; those of codes have a test of their own.
fn pages() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("docs")).expect("the folder of pages");
    let mut pages: Vec<PathBuf> = folder
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// The blocks fenced as `rules`, each with the line it begins at.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.starts_with("```") {
            let text: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            if line == "```rules" {
                blocks.push((number + 1, text.join("\n")));
            }
        }
    }
    blocks
}

/// The faults of a program: its errors, and its tests that fail.
fn faults(loader: &MemoryLoader) -> Vec<String> {
    match Compiler::new().allow_missing_functions().compile_with(loader, "main.rules") {
        Err(error) => vec![error.to_string()],
        Ok(rules) => {
            let failed = rules.run_tests().into_iter().filter(|test| !test.passed);
            failed.map(|test| format!("the test `{}` comes to {}", test.name, test.actual)).collect()
        }
    }
}

#[test]
fn the_rules_on_the_pages_compile_and_pass_their_tests() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page can be read");
        for (line, text) in blocks(&page) {
            tried += 1;
            let faults = faults(&MemoryLoader::new().with("main.rules", text));
            wrong.extend(faults.into_iter().map(|fault| format!("{}:{line}: {fault}", path.display())));
        }
    }
    assert!(tried >= 6, "only {tried} blocks were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_statements_is_one_program_and_complete() {
    let page = fs::read_to_string(root().join("docs/statements.md")).expect("the page can be read");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |"));
    let rows: Vec<(&str, &str)> = rows
        .map(|row| {
            let (statement, _) = row.split_once('`').expect("a statement");
            (statement, row.rsplit_once(" | `").expect("an example").1)
        })
        .collect();
    let program: String = rows.iter().map(|(_, example)| format!("{example}\n")).collect();
    let loader =
        MemoryLoader::new().with("main.rules", program).with("words.rules", "list shared_words = [\"a\"]");
    assert_eq!(faults(&loader), Vec::<String>::new());

    for (statement, example) in &rows {
        let word = statement.split(' ').next().unwrap_or(statement);
        assert!(example.starts_with(word), "`{example}` is no example of `{statement}`");
    }
    let shown: BTreeSet<&str> =
        rows.iter().filter_map(|(statement, _)| statement.split(' ').next()).collect();
    let grammar = fs::read_to_string(root().join("grammar/rules.pest")).expect("the grammar can be read");
    let known = grammar.lines().filter_map(|line| Some(line.split_once("_statement ")?.0));
    let known: BTreeSet<&str> = known.filter(|word| word.chars().all(char::is_alphabetic)).collect();
    assert_eq!(shown, known);
}
