//! The size and depth of a condition in which every `let` and `def` is replaced by its body. The
//! depth is limited because evaluators are recursive. The size is limited because nested
//! definitions grow exponentially.

use super::Part;

/// The size of an expanded expression: the number of its nodes, and its depth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measure {
    pub nodes: u64,
    pub depth: u32,
}

/// Maximum number of nodes of a condition after its definitions are expanded. It bounds the time
/// and memory for nested definitions.
pub const MAX_NODES: u64 = 100_000;
/// Maximum depth of a condition after its definitions are expanded, because evaluators are
/// recursive.
pub const MAX_DEPTH: u32 = 256;

impl Measure {
    /// Returns the size of a node with every `let` expanded. `lets[i]` is the size of the body of
    /// the `let` with index `i`.
    pub fn new(part: Part<'_>, lets: &[Measure]) -> Measure {
        let mut measure = Measure::default();
        measure.add(part, 1, lets);
        measure
    }

    fn add(&mut self, part: Part<'_>, depth: u32, lets: &[Measure]) {
        self.nodes = self.nodes.saturating_add(1);
        self.depth = self.depth.max(depth);
        for part in part.parts() {
            match part {
                Part::Let(id) => {
                    let body = lets.get(id.index()).copied().unwrap_or_default();
                    self.nodes = self.nodes.saturating_add(body.nodes);
                    self.depth = self.depth.max(depth.saturating_add(body.depth));
                }
                part => self.add(part, depth + 1, lets),
            }
        }
    }
}
