//! The size of compiled regular expressions, by their syntax: their memory estimated from above, and about how many
//! states their automata have.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

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
    count(hir, &|class| class.ranges().len().saturating_mul(STATES_PER_RANGE) + 2)
}

/// About how many states the expression's automaton has: the measure of what a search takes for each byte.
pub fn automaton_states(hir: &Hir) -> u64 {
    count(hir, &nodes) as u64
}

/// The states of a class of characters: one for each step through their UTF-8 at which the way parts.
fn nodes(class: &ClassUnicode) -> usize {
    // The characters that one byte more tells apart share all bytes before it; a block of them that lies in
    // the class as a whole, or not at all, needs no state of its own.
    let mut last = [None; 3];
    let mut count = 2;
    for range in class.ranges() {
        for (end, past) in
            [(range.start() as u32, range.start() as u32), (range.end() as u32, range.end() as u32 + 1)]
        {
            for (level, last) in last.iter_mut().enumerate() {
                let bits = 6 * (level as u32 + 1);
                if end >= 0x80 && past % (1 << bits) != 0 && *last != Some(end >> bits) {
                    *last = Some(end >> bits);
                    count += 1;
                }
            }
        }
    }
    count
}

fn count(hir: &Hir, class_states: &dyn Fn(&ClassUnicode) -> usize) -> usize {
    let states = |part: &Hir| count(part, class_states);
    let all = |parts: &[Hir]| parts.iter().fold(2, |sum: usize, part| sum.saturating_add(states(part) + 2));
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 2,
        HirKind::Literal(literal) => literal.0.len() + 2,
        HirKind::Class(Class::Unicode(class)) => class_states(class),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() + 2,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(repetition.min).max(1) as usize + 1;
            states(&repetition.sub).saturating_add(4).saturating_mul(times)
        }
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(4),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
    }
}
