//! Checks the documentation. Every `rules` block of the README and of `docs/` must compile and its
//! tests must pass. The table of statements must form one program that uses every statement.

use crate::support::golden;
use rulec::{Code, Compiler, MemoryLoader, run_tests};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn project_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the README and the pages of `docs/` and `docs/zh/`. The pages of diagnostic codes have
/// their own test.
fn all_pages() -> Vec<PathBuf> {
    let folders = ["docs", "docs/zh"].map(|name| project_root().join(name));
    let mut pages: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("the folder of pages"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(project_root().join("README.md"));
    pages.sort();
    pages
}

/// Returns the blocks fenced as `rules`, each with the number of its first line.
fn code_blocks(page: &str) -> Vec<(usize, String)> {
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

/// Returns the faults of a program: its compile errors, or its failed tests.
fn compile_faults(loader: &MemoryLoader) -> Vec<String> {
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
    for path in all_pages() {
        let page = fs::read_to_string(&path).expect("a page can be read");
        for (line, text) in code_blocks(&page) {
            tried += 1;
            let faults = compile_faults(&MemoryLoader::new().with("main.rules", text));
            wrong.extend(faults.into_iter().map(|fault| format!("{}:{line}: {fault}", path.display())));
        }
    }
    assert!(tried >= 6, "only {tried} blocks were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every fenced block must name its language. Otherwise a block of rules would not be tested; once,
/// a page contained the wrong rule `closed ["id"]` in such a block.
#[test]
fn each_block_says_its_language() {
    let mut wrong = Vec::new();
    for path in all_pages() {
        let page = fs::read_to_string(&path).expect("a page can be read");
        let fences = page.lines().enumerate().filter(|(_, line)| line.starts_with("```"));
        let bare = fences.step_by(2).filter(|(_, line)| *line == "```");
        wrong.extend(bare.map(|(number, _)| format!("{}:{}", path.display(), number + 1)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A blank line inside a Markdown table ends the table, and the following rows render as text.
#[test]
fn no_table_is_broken_by_a_blank_line() {
    let mut wrong = Vec::new();
    for path in all_pages() {
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

/// The site shows exactly the pages that its summary lists. The table of diagnostic codes adds the
/// pages of the codes.
#[test]
fn the_summary_of_the_site_names_each_page() {
    let docs = project_root().join("docs");
    let path = docs.join("SUMMARY.md");
    let summary = fs::read_to_string(&path).expect("the page can be read");
    let pages = all_pages();
    let names = pages.iter().filter_map(|path| path.strip_prefix(&docs).ok()?.to_str());
    let missing: Vec<&str> =
        names.filter(|name| *name != "SUMMARY.md" && !summary.contains(&format!("({name})"))).collect();
    assert_eq!(missing, Vec::<&str>::new());

    let codes = "- [Errors and warnings](codes/README.md)\n";
    let (before, _) = summary.split_once(codes).expect("the pages of codes are listed");
    let all: String =
        Code::ALL.iter().map(|code| format!("  - [{code}: {}](codes/{code}.md)\n", code.title())).collect();
    golden::assert_file(&path, &format!("{before}{codes}{all}"));
}

/// Returns the anchor of a heading, as both the site and code-hosting services generate it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
}

/// Returns the lines outside fenced blocks, with their numbers.
fn prose_lines(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().enumerate().filter(move |(_, line)| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// Returns the link targets of a page, each with its line number.
fn page_links(page: &str) -> Vec<(usize, String)> {
    let line_links = |(number, line): (usize, &str)| {
        let targets = line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        targets.map(|target| (number + 1, target.to_owned())).collect::<Vec<_>>()
    };
    prose_lines(page).flat_map(line_links).collect()
}

/// Each link must lead to an existing page and heading. Links between site pages must stay on the
/// site.
#[test]
fn every_link_leads_somewhere() {
    let codes = Code::ALL.iter().map(|code| project_root().join(format!("docs/codes/{code}.md")));
    let all: Vec<PathBuf> =
        all_pages().into_iter().chain(codes).chain([project_root().join("docs/codes/README.md")]).collect();
    let (mut tried, mut wrong) = (0, Vec::new());
    for path in &all {
        let page = fs::read_to_string(path).expect("a page can be read");
        for (line, target) in
            page_links(&page).into_iter().filter(|(_, target)| !target.starts_with("https://"))
        {
            tried += 1;
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let to = if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            let to = to.canonicalize().unwrap_or_default();
            let text = fs::read_to_string(&to).unwrap_or_default();
            let mut headings = prose_lines(&text).filter_map(|(_, line)| line.strip_prefix('#'));
            let found = heading.is_empty()
                || headings.any(|text| anchor(text.trim_start_matches('#').trim_start()) == heading);
            let docs = project_root().join("docs").canonicalize().expect("the folder of pages");
            let leaves = path.starts_with(project_root().join("docs")) && !to.starts_with(docs);
            if to.as_os_str().is_empty() || !found || leaves {
                wrong.push(format!("{}:{line}: {target}", path.display()));
            }
        }
    }
    assert!(tried > 200, "only {tried} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every page of the site must name its readers near the top.
/// A stranger reads both pages as a whole before anything else.
#[test]
fn the_first_pages_are_short() {
    for (page, max_lines) in [("README.md", 100), ("ARCHITECTURE.md", 200)] {
        let lines =
            fs::read_to_string(project_root().join(page)).expect("a page can be read").lines().count();
        assert!(lines <= max_lines, "{page} has {lines} lines; at most {max_lines} are read at once");
    }
}

#[test]
fn every_page_says_for_whom_it_is() {
    let silent: Vec<PathBuf> = all_pages()
        .into_iter()
        .filter(|path| !path.ends_with("README.md") && !path.ends_with("SUMMARY.md"))
        .filter(|path| {
            let page = fs::read_to_string(path).expect("a page can be read");
            !page.lines().take(5).any(|line| line.starts_with("*For ") || line.starts_with("*写给"))
        })
        .collect();
    assert_eq!(silent, Vec::<PathBuf>::new());
}

/// Compares the table of features on the page `installing` with the manifest.
#[test]
fn the_page_on_installing_names_each_feature() {
    let read = |name: &str| fs::read_to_string(project_root().join(name)).expect("it can be read");
    let (manifest, readme) = (read("Cargo.toml"), read("docs/installing.md"));
    let features = manifest.split("[features]").nth(1).and_then(|rest| rest.split("\n[").next());
    let names = features.expect("features").lines().filter_map(|line| Some(line.split_once(" = ")?.0));
    for name in names.filter(|name| *name != "default") {
        assert!(readme.contains(&format!("| `{name}` |")), "docs/installing.md lacks `{name}`");
    }
}

/// The table of options in `docs/payloads.md` names each option that the bundled rules declare, and
/// each rule `option.…`.
#[test]
fn the_page_on_payloads_names_each_option_of_the_bundled_rules() {
    let read = |name: &str| fs::read_to_string(project_root().join(name)).expect("it can be read");
    let page = read("docs/payloads.md");
    let section = page.split("## Options of the bundled rules").nth(1).expect("the section");
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect())
        .collect();
    let described: BTreeSet<String> = rows.iter().map(|row| row[0].to_owned()).collect();
    let named: BTreeSet<String> = rows.iter().map(|row| row[2].to_owned()).collect();

    let (mut declared, mut rules) = (BTreeSet::new(), BTreeSet::from(["general.code.sandbox".to_owned()]));
    for entry in fs::read_dir(project_root().join("rules")).expect("the folder of the bundled rules") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("it can be read");
        let block = text.split("options?: {").nth(1).and_then(|rest| rest.split("\n  }").next());
        let fields = block.into_iter().flat_map(str::lines).filter_map(|line| line.split_once("?:"));
        declared.extend(fields.map(|(name, _)| name.trim().to_owned()));
        let ids = text.split("\"option.").skip(1).filter_map(|rest| rest.split('"').next());
        rules.extend(ids.map(|id| format!("option.{id}")));
    }
    assert_eq!(described, declared);
    assert_eq!(named, rules);
}

#[test]
fn the_table_of_statements_is_one_program_and_complete() {
    let page = fs::read_to_string(project_root().join("docs/statements.md")).expect("the page can be read");
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
    assert_eq!(compile_faults(&loader), Vec::<String>::new());

    for (statement, example) in &rows {
        let word = statement.split(' ').next().unwrap_or(statement);
        assert!(example.starts_with(word), "`{example}` is no example of `{statement}`");
    }
    let shown: BTreeSet<&str> =
        rows.iter().filter_map(|(statement, _)| statement.split(' ').next()).collect();
    let grammar =
        fs::read_to_string(project_root().join("grammar/rules.pest")).expect("the grammar can be read");
    let known = grammar.lines().filter_map(|line| Some(line.split_once("_statement ")?.0));
    let known: BTreeSet<&str> = known.filter(|word| word.chars().all(char::is_alphabetic)).collect();
    assert_eq!(shown, known);
}
