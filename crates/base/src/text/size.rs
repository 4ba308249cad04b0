//! The size of compiled regular expressions, estimated from above by their syntax: states of automata, and memory.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

/// The most memory one compiled expression may take, in bytes.
pub const REGEX_SIZE_LIMIT: usize = 10 << 20;
/// The most memory that the expressions of a rule set may take together, in bytes and by estimate, unless
/// `settings` says otherwise.
pub const REGEX_MEMORY: usize = 256 << 20;

/// More memory than any one state of an automaton takes, in bytes.
const STATE_SIZE: usize = 64;
/// The margin by which an estimate stays below the limit.
const MARGIN: usize = 4;

/// True when an expression's syntax alone shows that it compiles. Beside bad syntax only size makes
/// compiling fail.
pub fn surely_compiles(hir: &Hir) -> bool {
    states(hir) <= REGEX_SIZE_LIMIT / STATE_SIZE / MARGIN
}

/// The memory that an expression takes once compiled, in bytes.
pub fn compiled_size(hir: &Hir) -> usize {
    states(hir).saturating_mul(STATE_SIZE).min(REGEX_SIZE_LIMIT)
}

/// The number of states of an expression's automaton, by its syntax: the memory it takes, and the work that a search
/// does for each byte at most. The automaton has no more.
pub fn automaton_states(hir: &Hir) -> u64 {
    states(hir) as u64
}

pub(super) fn states(hir: &Hir) -> usize {
    let all = |parts: &[Hir]| parts.iter().fold(2, |sum: usize, part| sum.saturating_add(states(part) + 2));
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 2,
        HirKind::Literal(literal) => literal.0.len() + 2,
        HirKind::Class(Class::Unicode(class)) => class_states(class) + 2,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() + 2,
        HirKind::Repetition(repetition) => {
            // A copy for each time that is counted.
            let times = repetition.max.unwrap_or(repetition.min).max(repetition.min).max(1) as usize;
            states(&repetition.sub).saturating_add(4).saturating_mul(times)
        }
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(4),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
    }
}

/// The nodes of the tree of byte ranges that a class is written as in UTF-8, which the automaton has no more
/// states than.
fn class_states(class: &ClassUnicode) -> usize {
    // A range of single bytes adds no node, and comes before all others.
    let ranges = class.ranges().iter().filter(|range| !range.end().is_ascii());
    let sequences = ranges.flat_map(|range| Utf8Sequences::new(range.start(), range.end()));
    let (mut nodes, mut before) = (1, None::<Utf8Sequence>);
    for sequence in sequences {
        let inner = sequence.len() - 1;
        let other = before.as_ref().map_or(&[][..], Utf8Sequence::as_slice);
        let shared = sequence.as_slice().iter().zip(other).take_while(|(a, b)| a == b).count();
        nodes += inner - shared.min(inner);
        before = Some(sequence);
    }
    nodes
}

/// The names of an expression's groups, in their order.
pub fn group_names(hir: &Hir) -> Vec<&str> {
    let mut names = Vec::new();
    add_group_names(hir, &mut names);
    names
}

fn add_group_names<'h>(hir: &'h Hir, names: &mut Vec<&'h str>) {
    if let HirKind::Capture(capture) = hir.kind() {
        names.extend(capture.name.as_deref());
    }
    hir.kind().subs().iter().for_each(|part| add_group_names(part, names));
}
