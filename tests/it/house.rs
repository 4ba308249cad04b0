//! The rules of the house that can be counted, held over the sources of every package: how long a file
//! is, how it opens, how a doc comment begins, that siblings do not import one another in a circle, and that
//! the compiler of `rust-version` knows the syntax, of which clippy sees the standard library alone.
//! Functions that are too long, or take too many parameters, are clippy's to find (`clippy.toml`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, Token};

const MOST_LINES: usize = 500;

/// Words that begin a question, or the half of a sentence: a doc comment says what the thing is.
const BAD_STARTS: [&str; 8] = ["What", "Whether", "How", "Which", "Where", "Who", "Whose", "So many"];

/// A module as the names of its ancestors and its own; a package's root is the empty one.
type Module = Vec<String>;

/// The files of a package: each module's path in the repository and its text, unit tests left out.
#[derive(Default)]
struct Package {
    modules: BTreeMap<Module, (String, String)>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The folders of that name in the package at the root and in the members under `crates/`.
fn folders(name: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join(name)];
    if let Ok(members) = fs::read_dir(root().join("crates")) {
        folders.extend(members.map(|member| member.expect("an entry").path().join(name)));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

fn name_of(path: &Path) -> String {
    let inner = path.strip_prefix(root()).expect("it lies in the repository");
    inner.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| matches!(part.to_str(), Some("tests" | "tests.rs" | "fixture.rs")))
}

/// The code of a file without comments, unit tests at its end and what only they import.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        match line.trim() {
            "#[cfg(test)]" => drop(lines.next()),
            comment if comment.starts_with("//") => {}
            line => code.extend([line.split(" // ").next().unwrap_or(line), "\n"]),
        }
    }
    code
}

impl Package {
    fn read(folder: &Path) -> Package {
        let mut files = Vec::new();
        rust_files(folder, &mut files);
        let mut package = Package::default();
        for file in files.iter().filter(|file| !is_test(file.strip_prefix(folder).expect("it lies there"))) {
            let inner = file.strip_prefix(folder).expect("it lies there").with_extension("");
            let mut module: Module = inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            match module.last().map(String::as_str) {
                Some("main") if module.len() == 1 => continue,
                Some("lib") if module.len() == 1 => module.clear(),
                Some("mod") => drop(module.pop()),
                _ => {}
            }
            package.add(module, &name_of(file), &fs::read_to_string(file).expect("a text"));
        }
        package
    }

    fn add(&mut self, module: Module, file: &str, text: &str) {
        self.modules.insert(module, (file.to_owned(), code(text)));
    }

    /// The names that a module brings into scope, each with the path it stands for.
    fn imports(&self, module: &Module) -> BTreeMap<String, Module> {
        let Some((_, text)) = self.modules.get(module) else { return BTreeMap::new() };
        let mut names = BTreeMap::new();
        for (at, _) in text.match_indices("use ") {
            let starts = text[..at].chars().next_back().is_none_or(|before| before == '\n' || before == ' ');
            if starts {
                let tree = text[at + 4..].split(';').next().unwrap_or("");
                for path in expand(tree) {
                    let path = absolute(module, path);
                    names.extend(path.last().cloned().map(|name| (name, path)));
                }
            }
        }
        names
    }

    /// The module in which the thing of that path is written, imports on the way followed.
    fn home(&self, path: &Module, depth: usize) -> Module {
        let mut module = Module::new();
        for (at, name) in path.iter().enumerate() {
            let mut inner = module.clone();
            inner.push(name.clone());
            if self.modules.contains_key(&inner) {
                module = inner;
                continue;
            }
            return match self.imports(&module).get(name) {
                Some(target) if depth > 0 && *target != path[..=at] => self.home(target, depth - 1),
                _ => module,
            };
        }
        module
    }

    /// For each folder, which of its modules import which other ones.
    fn siblings(&self) -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
        let mut folders: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, (_, text)) in &self.modules {
            for path in references(text) {
                let home = self.home(&absolute(module, path), 4);
                let common = module.iter().zip(&home).take_while(|(one, other)| one == other).count();
                if let (Some(from), Some(to)) = (module.get(common), home.get(common)) {
                    let folder = folders.entry(module[..common].to_vec()).or_default();
                    folder.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        folders
    }

    /// The files that take part in a circle of imports among the modules of a folder, each with the
    /// siblings that it imports and that lead back to it.
    fn circles(&self) -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::new();
        for (folder, graph) in self.siblings() {
            for (name, imported) in &graph {
                let back: Vec<String> =
                    imported.iter().filter(|other| reaches(&graph, other, name)).cloned().collect();
                let module: Module = folder.iter().chain([name]).cloned().collect();
                if let (false, Some((file, _))) = (back.is_empty(), self.modules.get(&module)) {
                    found.insert(file.clone(), back);
                }
            }
        }
        found
    }
}

/// True when one name leads to another along one edge or more.
fn reaches(graph: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(name) = open.pop() {
        for next in graph.get(name).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// The paths of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`. What is renamed keeps its own name.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        let names = path.split("::").map(str::trim).filter(|name| !matches!(*name, "" | "*" | "self"));
        return vec![names.map(str::to_owned).collect()];
    };
    let inner = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let head = expand(head).remove(0);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(expand);
    parts.map(|part| head.iter().cloned().chain(part).collect()).collect()
}

/// The paths that begin at `crate` or `super`, in `use` lines and elsewhere.
fn references(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = ["crate::", "super::"].iter().filter_map(|start| code[from..].find(start)).min() {
        let start = from + at;
        let part_of_a_name = code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let length = path_length(&code[start..]);
        from = start + length.max(1);
        if !part_of_a_name {
            found.extend(expand(&code[start..start + length]));
        }
    }
    found
}

/// The length of the path or use tree at the start of a text.
fn path_length(text: &str) -> usize {
    let (mut depth, mut last) = (0_usize, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '{' if last == ':' || depth > 0 => depth += 1,
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            c if depth > 0 || c.is_alphanumeric() || matches!(c, '_' | ':' | '*') => {}
            _ => return at,
        }
        last = c;
    }
    text.len()
}

/// A path as it is seen from the root of the package.
fn absolute(module: &Module, path: Vec<String>) -> Module {
    let mut out = module.clone();
    for name in path {
        match &*name {
            "crate" => out.clear(),
            "super" => drop(out.pop()),
            _ => out.push(name),
        }
    }
    out
}

/// The lines on which a doc comment begins with a word that it should not.
fn bad_starts(text: &str) -> Vec<usize> {
    let doc = |line: &str| {
        let line = line.trim_start();
        let words = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
        Some(words.trim_start().to_owned())
    };
    let (mut inside, mut found) = (false, Vec::new());
    for (at, line) in text.lines().enumerate() {
        let words = doc(line);
        let bad = |words: &String| {
            let mut rests = BAD_STARTS.iter().filter_map(|start| words.strip_prefix(start));
            rests.any(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        if !inside && words.as_ref().is_some_and(bad) {
            found.push(at + 1);
        }
        inside = words.is_some();
    }
    found
}

/// The lines of match guards that hold a `let`, which compilers know since Rust 1.95.
#[derive(Default)]
struct LetGuards(Vec<usize>);

impl LetGuards {
    fn of(text: &str) -> syn::Result<Vec<usize>> {
        let mut guards = LetGuards::default();
        guards.visit_file(&syn::parse_file(text)?);
        Ok(guards.0)
    }
}

impl<'t> Visit<'t> for LetGuards {
    fn visit_arm(&mut self, arm: &'t Arm) {
        if let Some((word, guard)) = &arm.guard
            && holds_let(guard)
        {
            self.0.push(word.span.start().line);
        }
        visit::visit_arm(self, arm);
    }

    /// Macros are given tokens, which are mostly expressions or statements.
    fn visit_macro(&mut self, given: &'t syn::Macro) {
        if let Ok(given) = given.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            given.iter().for_each(|expression| LetGuards::visit_expr(self, expression));
        } else if let Ok(given) = given.parse_body_with(Block::parse_within) {
            given.iter().for_each(|statement| LetGuards::visit_stmt(self, statement));
        }
    }
}

/// True when a `let` is the condition, or one of those that are joined.
fn holds_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(joined) => holds_let(&joined.left) || holds_let(&joined.right),
        Expr::Paren(inner) => holds_let(&inner.expr),
        _ => false,
    }
}

/// Every breach of a rule, as a line of the list.
fn breaches() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut breach = |rule: &str, file: &str, why: String| drop(found.insert(format!("{rule} {file}"), why));
    for folder in folders("src").into_iter().chain(folders("tests")) {
        let mut files = Vec::new();
        rust_files(&folder, &mut files);
        assert!(!files.is_empty(), "{} holds no source", folder.display());
        for path in files {
            let (name, text) = (name_of(&path), fs::read_to_string(&path).expect("a text"));
            let lines = text.lines().count();
            if lines > MOST_LINES {
                breach("length", &name, format!("{lines} lines"));
            }
            if !text.starts_with("//!") {
                breach("opening", &name, "it does not open with `//!`".to_owned());
            }
            let bad = bad_starts(&text);
            if !bad.is_empty() {
                breach("start", &name, format!("doc comments begin with a question on the lines {bad:?}"));
            }
        }
    }
    for folder in folders("src") {
        let package = Package::read(&folder);
        for (file, back) in package.circles() {
            breach("circle", &file, format!("it imports {}, and is imported in turn", back.join(", ")));
        }
    }
    found
}

#[test]
fn the_sources_keep_the_rules_of_the_house() {
    let breaches = breaches();
    let broken: String = breaches.iter().map(|(breach, why)| format!("{breach}: {why}\n")).collect();
    assert!(broken.is_empty(), "rules of the house are broken:\n{broken}");
}

/// One stood in the engine while `rust-version` was 1.88.
#[test]
fn no_guard_needs_a_newer_compiler() {
    let mut files = Vec::new();
    let own = ["src", "tests", "benches", "examples"].into_iter().flat_map(folders);
    own.chain(["fuzz/fuzz_targets", "fuzz/src"].map(|folder| root().join(folder)))
        .for_each(|folder| rust_files(&folder, &mut files));
    let mut found = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).expect("a text");
        let lines = LetGuards::of(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        found.extend(lines.iter().map(|line| format!("{}:{line}\n", name_of(path))));
    }
    assert!(files.len() > 700, "{} files", files.len());
    assert!(found.is_empty(), "`if let` guards, which Rust knows since 1.95:\n{}", found.concat());
}

#[test]
fn a_let_in_a_guard_is_found_wherever_it_stands() {
    let guarded = |arm: &str| format!("fn f() {{\n  match a {{\n    {arm}\n    _ => c,\n  }};\n}}");
    for arm in ["A if let Some(b) = d => b,", "A if e && (let Some(b) = d) && b => c,"] {
        assert_eq!(LetGuards::of(&guarded(arm)).expect("it parses"), [3], "{arm}");
        let inside = format!("fn g() {{ assert!(h, {}, i); }}", &guarded(arm)[9..guarded(arm).len() - 3]);
        assert_eq!(LetGuards::of(&inside).expect("it parses").len(), 1, "{inside}");
    }
    for arm in
        ["A if { if let Some(b) = d { b } else { e } } => c,", "A => if let Some(b) = d { b } else { e },"]
    {
        assert!(LetGuards::of(&guarded(arm)).expect("it parses").is_empty(), "{arm}");
    }
}

#[test]
fn a_circle_is_found_wherever_it_is_written() {
    let circles = |files: &[(&str, &str)]| {
        let mut package = Package::default();
        for (name, text) in [("m", "")].iter().chain(files) {
            let module = name.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            package.add(module, name, text);
        }
        package.circles().into_keys().collect::<Vec<_>>()
    };
    let both = ["m/a", "m/b"];
    assert_eq!(circles(&[("m/a", "use super::b::X;"), ("m/b", "use super::a::Y;")]), both);
    assert_eq!(circles(&[("m/a", "use super::{b, c};"), ("m/b", "fn f() -> crate::m::a::Y {}")]), both);
    assert_eq!(circles(&[("m/a", "use super::b::X;"), ("m/b", "use super::{c::{self, D}, a};")]), both);
    // The name comes by way of the parent.
    let parent = ("m", "mod a; mod b;\npub use b::X;");
    assert_eq!(circles(&[parent, ("m/a", "use super::X;"), ("m/b", "use super::a;")]), both);
    // A file below one of them counts as part of it.
    assert_eq!(circles(&[("m/a", ""), ("m/a/in", "use crate::m::b;"), ("m/b", "use super::a;")]), both);
    let none: [&str; 0] = [];
    assert_eq!(
        circles(&[("m/a", "use super::b::X;"), ("m/b", "// super::a\n#[cfg(test)]\nuse super::a;")]),
        none
    );
    assert_eq!(circles(&[parent, ("m/a", "use super::{X, Of};"), ("m/b", "use super::Of;")]), none);
}

#[test]
fn a_doc_comment_that_begins_with_a_question_is_found() {
    let text = "//! How it works.\n\n/// Whether it can.\nfn a() {}\n/// So many of them.\n/// What it is.\n\n/// Whatever.\n/// Which.\n";
    assert_eq!(bad_starts(text), [1, 3, 5]);
}
