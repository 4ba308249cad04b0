//! Sources with n statements or n list elements of one kind, to measure how compile time grows with
//! n.

#[path = "growth/check.rs"]
pub mod check;
#[path = "growth/lists.rs"]
mod lists;
#[path = "growth/mistakes.rs"]
mod mistakes;
#[path = "growth/statements.rs"]
mod statements;

/// The expected result of compiling a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingCount {
    /// The source must compile.
    Right,
    /// The source must have errors, whose number grows in proportion to the size of the source.
    Wrong,
}

/// A kind of source: its name, a function that builds a source with n statements or list elements,
/// and the expected result.
pub type Kind = (&'static str, fn(usize) -> String, FindingCount);

/// Returns all kinds of sources: with many statements, with long lists, and with repeated mistakes.
pub fn all_kinds() -> impl Iterator<Item = &'static Kind> {
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
