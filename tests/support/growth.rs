//! Sources of one kind of statement or list each, of any length, to see how compile time grows with them.

#[path = "growth/lists.rs"]
mod lists;
#[path = "growth/mistakes.rs"]
mod mistakes;
#[path = "growth/statements.rs"]
mod statements;

/// The end that a source comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    /// It compiles.
    Right,
    /// It has errors, a number that grows with the source.
    Wrong,
}

/// A kind of statement or list: its name, and its source with so many of them.
pub type Kind = (&'static str, fn(usize) -> String, Comes);

/// Every kind of statement, every list that an author can make long, and mistakes made again and again.
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
