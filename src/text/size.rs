//! The size of compiled regular expressions, estimated from above by their syntax.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The most memory one compiled expression may take, in bytes.
pub const REGEX_SIZE_LIMIT: usize = 10 << 20;

/// More memory than any one state of an automaton takes, in bytes.
const STATE_SIZE: usize = 64;
/// More states than one range of characters takes, read in either direction.
const STATES_PER_RANGE: usize = 16;
/// The margin by which an estimate stays below the limit.
const MARGIN: usize = 4;

/// True when an expression's syntax alone shows that it compiles. Beside bad syntax only size makes
/// compiling fail.
pub fn surely_compiles(hir: &Hir) -> bool {
    states(hir) <= REGEX_SIZE_LIMIT / STATE_SIZE / MARGIN
}

/// The memory that an expression takes once compiled, in bytes.
pub(super) fn compiled_size(hir: &Hir) -> usize {
    states(hir).saturating_mul(STATE_SIZE).min(REGEX_SIZE_LIMIT)
}

/// A number of states that the expression's automaton surely stays below.
pub(super) fn states(hir: &Hir) -> usize {
    let all = |parts: &[Hir]| parts.iter().fold(2, |sum: usize, part| sum.saturating_add(states(part) + 2));
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 2,
        HirKind::Literal(literal) => literal.0.len() + 2,
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().saturating_mul(STATES_PER_RANGE) + 2,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() + 2,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(repetition.min).max(1) as usize + 1;
            states(&repetition.sub).saturating_add(4).saturating_mul(times)
        }
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(4),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
    }
}
