//! Texts for random tests: a random number generator, tokens, and the rule files of the project.
//! The unit tests of the splitter use this file, too.

/// A small random number generator (xorshift), so that failures are reproducible.
pub struct Random(pub u64);

impl Random {
    pub fn next_below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

pub const TOKEN_SOUP: &[&str] = &[
    "route",
    "when",
    "let",
    "default",
    "table",
    "test",
    "given",
    "expect",
    "input",
    "list",
    "def",
    "any",
    "all",
    "none",
    "count",
    "in",
    "not",
    "and",
    "or",
    "is",
    "missing",
    "present",
    "as",
    "contains",
    "word",
    "ignoring",
    "case",
    "priority",
    "goto",
    "x",
    "ctx",
    "text",
    "查",
    "`when`",
    "1",
    "0.5",
    "10ms",
    "1_0",
    "9e999",
    "\"s\"",
    "\"o",
    "r\"a\"",
    "r#\"b\"#",
    "r#\"",
    "'q'",
    "“t”",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    ".",
    "..",
    "..=",
    "->",
    "=>",
    "=",
    "==",
    "!=",
    "<",
    ">",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "??",
    "?",
    "@private",
    "#",
    "##",
    "//",
    "\n",
    "\r\n",
    " ",
    "\t",
    "\u{FEFF}",
    "（",
    "\0",
    "\u{202E}",
    "list<string>",
    "true",
    "null",
    "intent",
    "flow",
];

/// Returns the rule files that the project ships and tests with.
pub fn rule_files() -> Vec<String> {
    let folders = ["rules", "examples", "tests/ui", "tests/golden", "crates/syntax/tests/it"];
    let mut paths: Vec<_> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"))).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rules"))
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}
