//! Holds the library's imports against the layers that ARCHITECTURE.md lists, since Cargo cannot
//! enforce them inside one package, and the members' manifests against its list of members.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a fenced block of ARCHITECTURE.md.
fn block(name: &str) -> String {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rest = page.split(&format!("```{name}\n")).nth(1).unwrap();
    rest.split("```").next().unwrap().to_owned()
}

/// Module name → level, from the fenced `layers` block.
fn layers() -> BTreeMap<String, usize> {
    block("layers")
        .lines()
        .flat_map(|line| {
            let mut words = line.split_whitespace();
            let level: usize = words.next().unwrap().parse().unwrap();
            words.map(move |word| (word.to_owned(), level)).collect::<Vec<_>>()
        })
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules named after `use crate::` in a text, tests at its end left out.
fn imports(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = BTreeSet::new();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    for part in code.flat_map(|line| line.split("crate::").skip(1)) {
        let name: String = part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        if !name.is_empty() {
            found.insert(name);
        }
    }
    found
}

/// Top-level module → the top-level modules it imports.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let src = root().join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let inner = file.strip_prefix(&src).unwrap();
        let module = inner.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        let is_test =
            inner.iter().any(|part| matches!(part.to_str(), Some("tests" | "tests.rs" | "fixture.rs")));
        if module == "lib" || is_test {
            continue;
        }
        let mut imported = imports(&fs::read_to_string(&file).unwrap());
        imported.remove(&module);
        graph.entry(module).or_default().extend(imported);
    }
    graph
}

#[test]
fn modules_import_only_from_their_level_or_below() {
    let (layers, graph) = (layers(), graph());
    for (module, imported) in &graph {
        let level =
            layers.get(module).unwrap_or_else(|| panic!("ARCHITECTURE.md lists no level for `{module}`"));
        for other in imported {
            let Some(below) = layers.get(other) else { continue };
            assert!(below <= level, "`{module}` (level {level}) imports `{other}` (level {below})");
        }
    }
    for module in layers.keys() {
        assert!(graph.contains_key(module), "ARCHITECTURE.md lists `{module}`, which does not exist");
    }
}

#[test]
fn modules_do_not_import_in_a_circle() {
    let mut graph = graph();
    // Whatever imports nothing that is left can be removed; a circle remains.
    loop {
        let names: BTreeSet<String> = graph.keys().cloned().collect();
        graph.retain(|_, imported| imported.iter().any(|other| names.contains(other)));
        if graph.len() == names.len() {
            break;
        }
    }
    assert!(graph.is_empty(), "a circle among {:?}", graph.keys().collect::<Vec<_>>());
}

/// Member → the packages of this workspace that its manifest names, tests' dependencies left out.
fn members() -> BTreeMap<String, BTreeSet<String>> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    folders
        .map(|folder| {
            let manifest = fs::read_to_string(folder.unwrap().path().join("Cargo.toml")).unwrap();
            let section = |name: &str| {
                let rest = manifest.split(&format!("[{name}]\n")).nth(1).unwrap_or_default().to_owned();
                rest.split("\n[").next().unwrap().to_owned()
            };
            let name = section("package")
                .lines()
                .find_map(|line| Some(line.strip_prefix("name = \"")?.trim_end_matches('"').to_owned()));
            let dependencies = section("dependencies")
                .lines()
                .filter_map(|line| line.split(['.', ' ']).next())
                .filter(|name| name.starts_with("rulec"))
                .map(str::to_owned)
                .collect();
            (name.unwrap(), dependencies)
        })
        .collect()
}

#[test]
fn members_depend_on_what_the_map_says() {
    let map: BTreeMap<String, BTreeSet<String>> = block("members")
        .lines()
        .map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            (words.next().unwrap(), words.collect())
        })
        .collect();
    assert_eq!(members(), map);
}

/// The reference evaluator is the oracle that engines are held against: it decides where it is asked for by
/// name (`Tier::Reference`) and stands behind explanations and coverage. Nothing else may evaluate by it.
#[test]
fn only_explanations_and_the_reference_tier_use_the_oracle() {
    let src = root().join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut found: Vec<String> = files
        .iter()
        .filter(|file| imports(&fs::read_to_string(file).unwrap()).contains("eval"))
        .map(|file| file.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/"))
        .filter(|file| !file.starts_with("eval") && !file.ends_with("tests.rs"))
        .collect();
    found.sort();
    let allowed = [
        "analysis/atoms.rs",
        "analysis/conditions.rs",
        "analysis/report.rs",
        "engine/backend.rs",
        "explain.rs",
        "systems/payload/engine.rs",
        "trace.rs",
        "trace/cond.rs",
        "trace/record.rs",
        "trace/truths.rs",
    ];
    assert_eq!(found, allowed);
}

/// Clocks jump. What lasts is measured by one that does not (`Instant`); the time of day is read for the lines of logs, and times of
/// files are compared for being the same. Nothing else may depend on it.
#[test]
fn only_logs_read_the_time_of_day() {
    let mut files = Vec::new();
    for folder in ["src", "crates"] {
        sources(&root().join(folder), &mut files);
    }
    let mut found: Vec<String> = files
        .iter()
        .filter(|file| {
            let text = fs::read_to_string(file).unwrap();
            ["now_utc(", "now_local(", "SystemTime::now", "Timestamp::now", "Zoned::now"]
                .iter()
                .any(|reads| text.contains(reads))
        })
        .map(|file| file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"))
        .filter(|file| !file.contains("/tests/") && !file.contains("/examples/"))
        .collect();
    found.sort();
    assert_eq!(found, ["crates/runtime/src/route.rs"]);
}
