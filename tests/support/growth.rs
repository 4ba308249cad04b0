//! Sources with n statements or list elements of one kind, to measure how compile time grows.

#[path = "growth/lists.rs"]
mod lists;
#[path = "growth/mistakes.rs"]
mod mistakes;
#[path = "growth/statements.rs"]
mod statements;

/// The result of compiling a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    /// The source compiles.
    Right,
    /// The source has errors, in proportion to its size.
    Wrong,
}

/// A kind of statement or list: its name, a function from the count to the source, and the result.
pub type Kind = (&'static str, fn(usize) -> String, Comes);

/// Every kind of statement, every list that may be long, and repeated mistakes.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    [statements::KINDS, lists::KINDS, mistakes::KINDS].into_iter().flatten()
}

const ROUTE: &str = "route r when text == \"a\" -> h";

fn each(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect()
}

fn join(n: usize, between: &str, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(between)
}

fn input(fields: &str) -> String {
    format!("input {{ text: string\n{fields} }}\n")
}
