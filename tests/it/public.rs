//! Compares the public items of the library and of the service crates with `docs/public.txt`. An
//! item therefore cannot become public, or be removed, without a change of that file.
//! `INSTA_UPDATE=always cargo test --test it public` rewrites the list.
//!
//! The test reads the sources as formatted by rustfmt. It follows `pub use` and `pub mod` from the
//! crate root to the items. Methods of an item are in the `impl` blocks of the files of its module.

use crate::support::golden;
use std::collections::{BTreeMap, BTreeSet};
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

/// The public items, and the names of the types in their signatures with the items that use them.
#[derive(Default)]
struct Items {
    paths: BTreeSet<String>,
    used: BTreeMap<String, BTreeSet<String>>,
}

impl Items {
    fn insert(&mut self, path: String) {
        self.paths.insert(path);
    }

    /// Returns the public items of the crates in [`CRATES`].
    fn of_all_crates() -> Items {
        let mut found = Items::default();
        for (name, folder) in CRATES {
            Module::root(&project_root().join(folder)).list_items(name, &mut found);
        }
        found
    }
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
                // A hidden item ends at its closing brace or semicolon, a hidden field at a comma.
                Some(of) if of == indent && (line.trim() == "}" || line.ends_with([';', ','])) => {
                    hidden = None;
                }
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
    fn list_items(&self, path: &str, found: &mut Items) {
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
    fn follow_use(&self, path: &str, used: &[String], found: &mut Items) {
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
            None => found.insert(format!("{path}::{name}")),
        }
    }

    fn put_item(&self, path: &str, kind: &str, name: &str, found: &mut Items) {
        found.insert(format!("{path}::{name} {kind}"));
        let mut files = vec![self.file.clone()];
        collect_sources(&self.children, &mut files);
        for file in files {
            let part = Module { file, children: PathBuf::new() };
            let code = part.source_code();
            for method in public_methods(&code, name) {
                found.insert(format!("{path}::{name}::{method} fn"));
            }
            for used in signature_names(&code, name) {
                found.used.entry(used).or_default().insert(format!("{path}::{name}"));
            }
        }
    }
}

/// The names in public signatures that are not items of these crates. They are from the standard
/// library, `serde`, `serde_json`, `smallvec` and `tokio`.
const OTHER_NAMES: &str =
    "Arc AsRef BTreeMap BTreeSet Box Clone Cow Deserialize DeserializeOwned Duration Error
    File Fn FnMut FnOnce Future Into IntoIterator Item Iterator JoinError Json Map MutexGuard Option Output
    Path PathBuf Pin Range Result Self Send Serialize Sized SmallVec String Sync UnboundedSender Value Vec
    Write";

/// The names of generic parameters.
const GENERIC_NAMES: [&str; 2] = ["Args", "Fut"];

/// Returns the names of types in the public signatures of an item. The signatures are its fields,
/// variants and methods, and the traits that it names.
fn signature_names(code: &str, item: &str) -> BTreeSet<String> {
    let mut signatures = String::new();
    let mut lines = code.lines();
    let (mut in_impl, mut body) = (false, None);
    while let Some(line) = lines.next() {
        let is_item = parse_item(line).is_some_and(|(_, name)| name == item);
        if line.starts_with("impl") {
            let head =
                line.strip_prefix("impl<").and_then(|rest| rest.split_once("> ")).map(|(_, rest)| rest);
            let head = head.or(line.strip_prefix("impl ")).unwrap_or_default();
            in_impl = !line.contains(" for ") && first_word(head) == item;
        } else if is_item && line.ends_with('{') && !line.contains("fn ") {
            body = parse_item(line).map(|(kind, _)| kind);
        } else if line.starts_with('}') {
            (in_impl, body) = (false, None);
        } else if let Some(inner) = line.strip_prefix("    ") {
            match body {
                Some("struct") if inner.starts_with("pub ") => signatures.push_str(inner),
                // The name of a variant is not a type.
                Some("enum") if !inner.starts_with(['#', ' ']) => {
                    signatures.push_str(inner.trim_start_matches(char::is_alphanumeric));
                }
                Some("enum") if !inner.trim_start().starts_with('#') => signatures.push_str(inner),
                Some("trait") if !inner.starts_with(['#', ' ']) => signatures.push_str(inner),
                _ => {}
            }
        }
        let is_method = in_impl && line.strip_prefix("    ").and_then(parse_item).is_some();
        if is_item && line.starts_with("pub struct") && line.ends_with(';') {
            line.split(['(', ',']).filter(|field| field.trim().starts_with("pub ")).skip(1).for_each(
                |field| {
                    signatures.push_str(field);
                },
            );
        } else if is_method || is_item && (line.contains("fn ") || line.ends_with(';')) {
            let mut next = Some(line);
            while let Some(line) = next {
                // The value of a constant is no part of the signature.
                signatures.push_str(line.split(" = ").next().unwrap());
                next = lines.next().filter(|_| !line.ends_with(['{', ';', '}']));
            }
        }
        signatures.push('\n');
    }
    let words = signatures.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_type = |word: &&str| word.len() > 1 && word.starts_with(char::is_uppercase);
    // A constant is written in capitals.
    let is_name = |word: &&str| is_type(word) && word.contains(char::is_lowercase);
    words.filter(is_name).map(str::to_owned).collect()
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
    let mut list = String::new();
    for item in &Items::of_all_crates().paths {
        writeln!(list, "{item}").unwrap();
    }
    golden::assert_file(&project_root().join(LIST_PATH), &list);
}

/// A program that depends only on these crates can name every type in their public signatures.
#[test]
fn types_in_public_signatures_are_public_themselves() {
    let items = Items::of_all_crates();
    let names: BTreeSet<&str> =
        items.paths.iter().filter_map(|path| path.split(' ').next()?.rsplit("::").next()).collect();
    let others: BTreeSet<&str> = OTHER_NAMES.split_whitespace().chain(GENERIC_NAMES).collect();
    let is_unknown = |name: &str| !names.contains(name) && !others.contains(name);
    let unknown: Vec<_> = items.used.iter().filter(|(name, _)| is_unknown(name)).collect();
    assert!(unknown.is_empty(), "not exported, with the items that need them: {unknown:#?}");
    // The test reads signatures at all.
    assert!(items.used["Decision"].contains("rulec::Rules"), "{:?}", items.used["Decision"]);
}
