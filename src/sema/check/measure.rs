//! The size and depth of a condition once every `let` and `def` is put in: evaluators walk it
//! recursively, and definitions that use each other grow quickly.

use super::Measure;
use crate::sema::hir::Part;

/// The size of a part with every `let` put in.
pub(super) fn measure(part: Part<'_>, lets: &[Measure]) -> Measure {
    let mut whole = Measure::default();
    add(part, 1, lets, &mut whole);
    whole
}

fn add(part: Part<'_>, depth: u32, lets: &[Measure], whole: &mut Measure) {
    whole.nodes = whole.nodes.saturating_add(1);
    whole.depth = whole.depth.max(depth);
    for part in part.parts() {
        match part {
            Part::Let(id) => {
                let body = lets.get(id.index()).copied().unwrap_or_default();
                whole.nodes = whole.nodes.saturating_add(body.nodes);
                whole.depth = whole.depth.max(depth.saturating_add(body.depth));
            }
            part => add(part, depth + 1, lets, whole),
        }
    }
}
