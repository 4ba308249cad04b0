//! Compares `docs/dependencies.md` with the manifests of the workspace, the Python package and the
//! editor extension. The page must give a reason for every external package that a manifest names,
//! and must list no other package.
//!
//! Also checks `Cargo.lock` against `deny.toml` as far as no tool is needed: versions
//! with known advisories, and package sources.

use semver::{Version, VersionReq};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Table;

type Names = BTreeSet<String>;

fn read_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_manifest(path: &str) -> Table {
    read_file(path).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Collects the external packages in the dependency tables of a manifest, including tables for one
/// target platform.
fn collect_dependencies(manifest: &Table, found: &mut Names) {
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let named = manifest.get(table).and_then(|table| table.as_table());
        let names = named.into_iter().flat_map(|table| table.keys());
        found.extend(names.filter(|name| !name.starts_with("rulec")).cloned());
    }
    let targets = manifest.get("target").and_then(|targets| targets.as_table());
    for target in targets.into_iter().flat_map(|targets| targets.values()) {
        collect_dependencies(target.as_table().expect("a table"), found);
    }
}

fn workspace_dependencies() -> Names {
    let mut found = Names::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let members = fs::read_dir(crates).expect("a folder").map(|member| member.expect("an entry").path());
    let members = members.map(|member: PathBuf| member.join("Cargo.toml")).filter(|path| path.exists());
    let all = members.map(|path| path.display().to_string());
    for path in all.chain(
        ["Cargo.toml", "benches/peers/Cargo.toml", "fuzz/Cargo.toml", "tools/book/Cargo.toml"]
            .map(str::to_owned),
    ) {
        collect_dependencies(&read_manifest(&path), &mut found);
    }
    found
}

fn documented_dependencies(path: &str) -> Names {
    let package: Json =
        serde_json::from_str(&read_file(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let tables = ["dependencies", "devDependencies"].map(|table| package[table].as_object());
    tables.into_iter().flatten().flat_map(|table| table.keys()).cloned().collect()
}

/// Returns the package name of a requirement such as `ray[data]>=2.40`.
fn required_version(requirement: &str) -> String {
    requirement.split(['[', '>', '<', '=', '~', '!', ' ']).next().unwrap_or_default().to_owned()
}

fn python_dependencies() -> Names {
    let project = read_manifest("python/pyproject.toml");
    let texts = |list: &toml::Value| -> Names {
        let list = list.as_array().expect("a list").iter();
        list.map(|item| required_version(item.as_str().expect("a text"))).collect()
    };
    let mut found = texts(&project["build-system"]["requires"]);
    let extras = project["project"]["optional-dependencies"].as_table().expect("a table");
    extras.values().for_each(|list| found.extend(texts(list)));
    found.extend(project["project"].get("dependencies").map(texts).unwrap_or_default());
    found
}

/// Returns the package names in the table below a heading of the page; each row must give a reason.
fn names_in_section(page: &str, heading: &str) -> Names {
    let section =
        page.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("`{heading}` is missing"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut found = Names::new();
    for row in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| package")) {
        let mut cells = row.trim_matches('|').split(" | ").map(str::trim);
        let names = cells.next().unwrap_or_default();
        assert!(cells.last().is_some_and(|why| why.len() > 3), "without a reason: {row}");
        for name in names.split(", ") {
            assert!(found.insert(name.to_owned()), "`{name}` stands there twice");
        }
    }
    found
}

#[test]
fn every_dependency_has_a_reason() {
    let page = read_file("docs/dependencies.md");
    let parts = [
        ("# Dependencies", workspace_dependencies()),
        ("## The page of the studio", documented_dependencies("studio/package.json")),
        ("## The Python package", python_dependencies()),
        ("## The extension for Visual Studio Code", documented_dependencies("editors/vscode/package.json")),
    ];
    for (heading, named) in parts {
        let told = names_in_section(&format!("\n{page}"), heading);
        let missing: Vec<_> = named.difference(&told).collect();
        let gone: Vec<_> = told.difference(&named).collect();
        assert!(
            missing.is_empty() && gone.is_empty(),
            "{heading}: without a reason {missing:?}, no longer there {gone:?}"
        );
    }
}

/// Returns the versions that `deny.toml` bans because of an advisory, each with its reason.
fn denied_versions() -> Vec<(String, VersionReq, String)> {
    let rules = read_manifest("deny.toml");
    let denied = rules["bans"]["deny"].as_array().expect("a list").iter().map(|rule| {
        let text = |key: &str| rule[key].as_str().expect("a text").to_owned();
        let named = text("crate");
        let (name, versions) = named.split_once(':').unwrap_or_else(|| panic!("`{named}` has no versions"));
        let versions = versions.parse().unwrap_or_else(|error| panic!("`{named}`: {error}"));
        (name.to_owned(), versions, text("reason"))
    });
    denied.collect()
}

/// Returns the locked packages that are banned or do not come from the crates.io registry.
fn refused_packages(locked: &Table, denied: &[(String, VersionReq, String)]) -> Vec<String> {
    let (mut found, mut registries) = (Vec::new(), BTreeSet::new());
    for package in locked["package"].as_array().expect("a list") {
        let text = |key: &str| package.get(key).and_then(|value| value.as_str());
        let (name, version) = text("name").zip(text("version")).expect("a name and a version");
        let parsed: Version = version.parse().unwrap_or_else(|error| panic!("{name} {version}: {error}"));
        let reasons = denied.iter().filter(|(of, versions, _)| of == name && versions.matches(&parsed));
        found.extend(reasons.map(|(_, _, reason)| format!("{name} {version}: {reason}")));
        if let Some(source) = text("source").filter(|source| registries.insert((*source).to_owned())) {
            let known = source.starts_with("registry+") && registries.len() == 1;
            found.extend((!known).then(|| format!("{name} {version} comes from {source}")));
        }
    }
    found
}

#[test]
fn what_is_locked_has_no_known_advisory_and_comes_from_one_registry() {
    let denied = denied_versions();
    assert!(denied.len() > 20);
    let found = refused_packages(&read_manifest("Cargo.lock"), &denied);
    assert!(found.is_empty(), "Cargo.lock:\n{}", found.join("\n"));
    let planted = r#"
        package = [
            { name = "own", version = "0.1.0" },
            { name = "slab", version = "0.4.10", source = "registry+one" },
            { name = "slab", version = "0.4.11", source = "registry+one" },
            { name = "other", version = "1.0.0", source = "git+two" },
        ]"#;
    let found = refused_packages(&planted.parse().expect("it parses"), &denied);
    assert!(
        found.len() == 2 && found[0].starts_with("slab 0.4.10") && found[1].contains("git+two"),
        "{found:?}"
    );
}
