//! Compares the public items of the library and of the service crates with `docs/public.txt`. An
//! item therefore cannot become public, or be removed, without a change of that file.
//! `INSTA_UPDATE=always cargo test --test public` rewrites the list.
//!
//! The test reads the sources as formatted by rustfmt. It follows `pub use` and `pub mod` from the
//! crate root to the items. Methods of an item are in the `impl` blocks of the files of its module.

use crate::support::golden;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of each crate, and the folder of its sources.
const CRATES: [(&str, &str); 4] = [
    ("rulec", "src"),
    ("rulec_runtime", "crates/runtime/src"),
    ("rulec_http", "crates/http/src"),
    ("rulec_import", "crates/import/src"),
];
const LIST_PATH: &str = "docs/public.txt";

fn project_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A module: its file, and the folder of its child modules.
struct Module {
    file: PathBuf,
    children: PathBuf,
}

impl Module {
    fn root(sources: &Path) -> Module {
        Module { file: sources.join("lib.rs"), children: sources.to_owned() }
    }

    /// Returns the root module of another crate of the workspace.
    fn crate_module(name: &str) -> Module {
        let folder = name.trim_start_matches("rulec_").replace('_', "-");
        Module::root(&project_root().join(format!("crates/{folder}/src")))
    }

    fn child(&self, name: &str) -> Option<Module> {
        let file = self.children.join(format!("{name}.rs"));
        file.exists().then(|| Module { file, children: self.children.join(name) })
    }

    /// Returns the code without comments, tests and items hidden from the docs.
    fn source_code(&self) -> String {
        let text = fs::read_to_string(&self.file).unwrap_or_else(|error| panic!("{:?}: {error}", self.file));
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let mut code = String::new();
        let mut hidden: Option<String> = None;
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let indent = &line[..line.len() - line.trim_start().len()];
            match &hidden {
                // A hidden item ends at its closing brace, or at a semicolon.
                Some(of) if of == indent && (line.trim() == "}" || line.ends_with(';')) => hidden = None,
                Some(_) => {}
                None if line.trim() == "#[doc(hidden)]" => hidden = Some(indent.to_owned()),
                None => {
                    code.push_str(line);
                    code.push('\n');
                }
            }
        }
        code
    }

    /// Adds the public items of the module to `found`, with paths that begin with `path`.
    fn list_items(&self, path: &str, found: &mut BTreeSet<String>) {
        let code = self.source_code();
        for line in code.lines() {
            if let Some(name) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) {
                found.insert(format!("{path}::{name} mod"));
                let child = self.child(name).unwrap_or_else(|| panic!("{path}: no file of `{name}`"));
                child.list_items(&format!("{path}::{name}"), found);
            } else if let Some((kind, name)) = parse_item(line) {
                self.put_item(path, kind, name, found);
            }
        }
        for used in use_paths(&code) {
            self.follow_use(path, &used, found);
        }
    }

    /// Adds the item that a `pub use` names, and follows re-exports to its definition.
    fn follow_use(&self, path: &str, used: &[String], found: &mut BTreeSet<String>) {
        let (name, way) = used.split_last().unwrap();
        if let Some((krate, alias)) = name.split_once(" as ") {
            found.insert(format!("{path}::{alias} mod"));
            return Module::crate_module(krate).list_items(&format!("{path}::{alias}"), found);
        }
        let (mut module, way) = match way {
            // The item belongs to another crate of the workspace.
            [krate, way @ ..] if krate.starts_with("rulec_") => (Module::crate_module(krate), way),
            way => (Module { file: self.file.clone(), children: self.children.clone() }, way),
        };
        for step in way {
            module = module.child(step).unwrap_or_else(|| panic!("{path}: no module `{step}`"));
        }
        let begins = |line: &str| parse_item(line).is_some_and(|(_, item)| item == name);
        if let Some(inner) = module.child(name).filter(|_| !module.source_code().lines().any(begins)) {
            found.insert(format!("{path}::{name} mod"));
            return inner.list_items(&format!("{path}::{name}"), found);
        }
        let code = module.source_code();
        if let Some((kind, name)) = code.lines().filter_map(parse_item).find(|(_, item)| item == name) {
            return module.put_item(path, kind, name, found);
        }
        match use_paths(&code).into_iter().find(|inner| inner.last() == Some(name)) {
            Some(inner) => module.follow_use(path, &inner, found),
            // A macro defines the item, such as each diagnostic code.
            None => _ = found.insert(format!("{path}::{name}")),
        }
    }

    fn put_item(&self, path: &str, kind: &str, name: &str, found: &mut BTreeSet<String>) {
        found.insert(format!("{path}::{name} {kind}"));
        let mut files = vec![self.file.clone()];
        collect_sources(&self.children, &mut files);
        for file in files {
            let part = Module { file, children: PathBuf::new() };
            for method in public_methods(&part.source_code(), name) {
                found.insert(format!("{path}::{name}::{method} fn"));
            }
        }
    }
}

fn collect_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect_sources(&path, found),
            false => found.push(path),
        }
    }
}

/// Returns the kind and name if the line begins a public item.
fn parse_item(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("pub ")?;
    let rest =
        rest.strip_prefix("async ").or(rest.strip_prefix("const fn").map(|_| &rest[6..])).unwrap_or(rest);
    let (kind, rest) = rest.split_once(' ')?;
    matches!(kind, "struct" | "enum" | "trait" | "fn" | "type" | "const" | "static")
        .then(|| (kind, first_word(rest)))
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Returns the public methods in the inherent `impl` blocks of a type.
fn public_methods(code: &str, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in code.lines() {
        if line.starts_with("impl") {
            let head =
                line.strip_prefix("impl<").and_then(|rest| rest.split_once("> ")).map(|(_, rest)| rest);
            let head = head.or(line.strip_prefix("impl ")).unwrap_or_default();
            inside = !line.contains(" for ") && first_word(head) == name;
        } else if let Some((_, method)) = line.strip_prefix("    ").filter(|_| inside).and_then(parse_item) {
            found.insert(method.to_owned());
        }
    }
    found
}

/// Returns the names in `pub use` declarations, each with its module path.
fn use_paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for part in code.split("\npub use ").skip(1) {
        let part = part.split(';').next().unwrap();
        let (way, names) = part.split_once('{').unwrap_or((part, ""));
        let mut way: Vec<String> = way.split("::").map(|step| step.trim().to_owned()).collect();
        let last = way.pop().unwrap();
        let names = if names.is_empty() { last } else { names.trim_end_matches('}').to_owned() };
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            found.push(way.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    found
}

#[test]
fn the_public_items_are_those_of_the_list() {
    let mut found = BTreeSet::new();
    for (name, folder) in CRATES {
        Module::root(&project_root().join(folder)).list_items(name, &mut found);
    }
    let mut list = String::new();
    for item in &found {
        writeln!(list, "{item}").unwrap();
    }
    golden::assert_file(&project_root().join(LIST_PATH), &list);
}
