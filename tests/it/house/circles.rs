//! Checks that sibling modules do not import one another in a circle. Each folder can then be read
//! from the bottom up.

use super::{folders, is_test, relative_name, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path of a module: the names of its ancestors and its own name. The root of a package is
/// empty.
type Module = Vec<String>;

/// The modules of a package: the path of each file in the repository, and its code without tests.
#[derive(Default)]
struct Package {
    modules: BTreeMap<Module, (String, String)>,
}

/// Returns the code of a file without comments, without unit tests at its end, and without imports
/// for the unit tests.
fn strip_code(text: &str) -> String {
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
    fn read_package(folder: &Path) -> Package {
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
            package.add_file(module, &relative_name(file), &fs::read_to_string(file).expect("a text"));
        }
        package
    }

    fn add_file(&mut self, module: Module, file: &str, text: &str) {
        self.modules.insert(module, (file.to_owned(), strip_code(text)));
    }

    /// Returns the names that a module brings into scope, each with its path.
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

    /// Returns the module that defines the item at a path. Follows up to `depth` imports.
    fn module_file(&self, path: &Module, depth: usize) -> Module {
        let mut module = Module::new();
        for (at, name) in path.iter().enumerate() {
            let mut inner = module.clone();
            inner.push(name.clone());
            if self.modules.contains_key(&inner) {
                module = inner;
                continue;
            }
            return match self.imports(&module).get(name) {
                Some(target) if depth > 0 && *target != path[..=at] => self.module_file(target, depth - 1),
                _ => module,
            };
        }
        module
    }

    /// Returns, for each folder, which of its modules import which sibling modules.
    fn siblings(&self) -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
        let mut folders: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, (_, text)) in &self.modules {
            for path in references(text) {
                let home = self.module_file(&absolute(module, path), 4);
                let common = module.iter().zip(&home).take_while(|(one, other)| one == other).count();
                if let (Some(from), Some(to)) = (module.get(common), home.get(common)) {
                    let folder = folders.entry(module[..common].to_vec()).or_default();
                    folder.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        folders
    }

    /// Returns the files that are in circles of imports among the modules of a folder. Each file
    /// comes with the siblings that it imports and that import it in turn, directly or indirectly.
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

/// True if a path of at least one edge leads from one name to the other.
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

/// Returns the paths in a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`. A renamed item is
/// listed by its original name.
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

/// Returns the paths that begin with `crate` or `super`, in `use` lines and elsewhere.
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

/// Returns the length of the path or use tree at the start of a text.
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

/// Converts a path in a module to a path from the root of the package.
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

#[test]
fn siblings_do_not_import_one_another_in_a_circle() {
    let mut broken = String::new();
    for folder in folders("src") {
        for (file, back) in Package::read_package(&folder).circles() {
            broken.push_str(&format!("{file} imports {}, which lead back to it\n", back.join(", ")));
        }
    }
    assert!(broken.is_empty(), "circles of imports:\n{broken}");
}

#[test]
fn a_circle_is_found_wherever_it_is_written() {
    let circles = |files: &[(&str, &str)]| {
        let mut package = Package::default();
        for (name, text) in [("m", "")].iter().chain(files) {
            let module = name.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            package.add_file(module, name, text);
        }
        package.circles().into_keys().collect::<Vec<_>>()
    };
    let both = ["m/a", "m/b"];
    assert_eq!(circles(&[("m/a", "use super::b::X;"), ("m/b", "use super::a::Y;")]), both);
    assert_eq!(circles(&[("m/a", "use super::{b, c};"), ("m/b", "fn f() -> crate::m::a::Y {}")]), both);
    assert_eq!(circles(&[("m/a", "use super::b::X;"), ("m/b", "use super::{c::{self, D}, a};")]), both);
    // The name `X` is imported through the parent module.
    let parent = ("m", "mod a; mod b;\npub use b::X;");
    assert_eq!(circles(&[parent, ("m/a", "use super::X;"), ("m/b", "use super::a;")]), both);
    // A file in a subfolder of a sibling counts as part of that sibling.
    assert_eq!(circles(&[("m/a", ""), ("m/a/in", "use crate::m::b;"), ("m/b", "use super::a;")]), both);
    let none: [&str; 0] = [];
    assert_eq!(
        circles(&[("m/a", "use super::b::X;"), ("m/b", "// super::a\n#[cfg(test)]\nuse super::a;")]),
        none
    );
    assert_eq!(circles(&[parent, ("m/a", "use super::{X, Of};"), ("m/b", "use super::Of;")]), none);
}
