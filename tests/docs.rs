//! The pages show what is right: every `rules` block of the README and of `docs/` compiles and its
//! tests pass, and the table of statements is one program that knows every statement.

use rulec::{Compiler, MemoryLoader, run_tests};
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
            let failed = run_tests(&rules).into_iter().filter(|test| !test.passed);
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

/// A block of rules without its language would be tried by nobody: so stood `closed ["id"]` on a page.
#[test]
fn each_block_says_its_language() {
    let mut wrong = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page can be read");
        let fences = page.lines().enumerate().filter(|(_, line)| line.starts_with("```"));
        let bare = fences.step_by(2).filter(|(_, line)| *line == "```");
        wrong.extend(bare.map(|(number, _)| format!("{}:{}", path.display(), number + 1)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A blank line in a table ends it, and what follows is shown as text.
#[test]
fn no_table_is_broken_by_a_blank_line() {
    let mut wrong = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page can be read");
        let lines: Vec<&str> = page.lines().collect();
        for (number, three) in lines.windows(3).enumerate() {
            let [above, blank, row] = three else { continue };
            let head = lines.get(number + 3).is_some_and(|below| below.starts_with("|-"));
            if above.starts_with('|') && blank.trim().is_empty() && row.starts_with('|') && !head {
                wrong.push(format!("{}:{}", path.display(), number + 2));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_index_of_the_pages_names_each() {
    let index = fs::read_to_string(root().join("docs/README.md")).expect("the page can be read");
    let names = pages().into_iter().filter(|path| path.starts_with(root().join("docs")));
    let names = names.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let missing: Vec<String> =
        names.filter(|name| name != "README.md" && !index.contains(&format!("({name})"))).collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// The table of features is held against the manifest.
#[test]
fn the_readme_names_each_feature() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("it can be read");
    let (manifest, readme) = (read("Cargo.toml"), read("README.md"));
    let features = manifest.split("[features]").nth(1).and_then(|rest| rest.split("\n[").next());
    let names = features.expect("features").lines().filter_map(|line| Some(line.split_once(" = ")?.0));
    for name in names.filter(|name| *name != "default") {
        assert!(readme.contains(&format!("| `{name}` |")), "the README's table lacks `{name}`");
    }
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
