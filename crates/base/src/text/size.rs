//! Estimates upper bounds for the size of compiled regular expressions from their syntax: automaton
//! states and memory. Limits on work and memory use these bounds, so an expression need not be
//! compiled to check a limit.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

/// Maximum memory of one compiled regular expression, in bytes. The value only bounds memory; it is
/// not tuned.
pub const MAX_REGEX_BYTES: usize = 10 << 20;
/// Default limit on the estimated memory of all regular expressions of a rule set, in bytes.
/// The setting `regex_memory` changes this limit. The value only bounds memory; it is not tuned.
pub const DEFAULT_REGEX_MEMORY_BYTES: usize = 256 << 20;

/// Upper bound for the memory of one automaton state, in bytes. Not tuned: with a smaller bound,
/// rules could exceed the limits on memory.
const STATE_BYTES: usize = 64;
/// Safety factor between the estimated size and the size limit. Not tuned: a regular expression
/// that the estimate accepts must compile.
const SIZE_SAFETY_FACTOR: usize = 4;

/// True if the syntax alone shows that a regular expression compiles, so that it can be compiled
/// later without a check. A valid expression fails to compile only if it is too large.
pub fn surely_compiles(hir: &Hir) -> bool {
    count_states(hir) <= MAX_REGEX_BYTES / STATE_BYTES / SIZE_SAFETY_FACTOR
}

/// Returns an upper bound for the memory of a compiled regular expression, in bytes.
pub fn max_compiled_bytes(hir: &Hir) -> usize {
    count_states(hir).saturating_mul(STATE_BYTES).min(MAX_REGEX_BYTES)
}

/// Returns an upper bound for the number of automaton states of a regular expression, estimated
/// from the syntax. The memory, and the search time per byte of text, are proportional to this
/// number.
pub fn automaton_state_count(hir: &Hir) -> u64 {
    count_states(hir) as u64
}

pub(super) fn count_states(hir: &Hir) -> usize {
    let sum_states =
        |parts: &[Hir]| parts.iter().fold(2, |sum: usize, part| sum.saturating_add(count_states(part) + 2));
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 2,
        HirKind::Literal(literal) => literal.0.len() + 2,
        HirKind::Class(Class::Unicode(class)) => count_class_states(class) + 2,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() + 2,
        HirKind::Repetition(repetition) => {
            // A counted repetition compiles to one copy of its content per count.
            let times = repetition.max.unwrap_or(repetition.min).max(repetition.min).max(1) as usize;
            count_states(&repetition.sub).saturating_add(4).saturating_mul(times)
        }
        HirKind::Capture(capture) => count_states(&capture.sub).saturating_add(4),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum_states(parts),
    }
}

/// Returns an upper bound for the number of automaton states of a character class. The bound is the
/// number of nodes in a tree of the UTF-8 byte sequences of the class, in which common prefixes
/// share nodes.
fn count_class_states(class: &ClassUnicode) -> usize {
    // An ASCII character is a single byte and adds no node. ASCII ranges come before all other
    // ranges.
    let ranges = class.ranges().iter().filter(|range| !range.end().is_ascii());
    let sequences = ranges.flat_map(|range| Utf8Sequences::new(range.start(), range.end()));
    let (mut nodes, mut previous_sequence) = (1, None::<Utf8Sequence>);
    for sequence in sequences {
        let inner = sequence.len() - 1;
        let previous = previous_sequence.as_ref().map_or(&[][..], Utf8Sequence::as_slice);
        let shared = sequence.as_slice().iter().zip(previous).take_while(|(a, b)| a == b).count();
        nodes += inner - shared.min(inner);
        previous_sequence = Some(sequence);
    }
    nodes
}

/// A capture group of a regular expression, with its number and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegexGroup<'h> {
    pub number: u32,
    pub name: Option<&'h str>,
    /// True if every match of the expression sets this capture group. False for an optional group.
    pub always_matches: bool,
}

/// Returns the capture groups of a regular expression, in the order of their numbers.
pub fn capture_groups(hir: &Hir) -> Vec<RegexGroup<'_>> {
    let mut groups = Vec::new();
    add_groups(hir, true, &mut groups);
    groups
}

fn add_groups<'h>(hir: &'h Hir, always_matches: bool, groups: &mut Vec<RegexGroup<'h>>) {
    let parts_always_match = match hir.kind() {
        HirKind::Alternation(_) => false,
        HirKind::Repetition(repetition) => repetition.min > 0,
        HirKind::Capture(capture) => {
            groups.push(RegexGroup { number: capture.index, name: capture.name.as_deref(), always_matches });
            true
        }
        _ => true,
    };
    hir.kind().subs().iter().for_each(|part| add_groups(part, always_matches && parts_always_match, groups));
}
