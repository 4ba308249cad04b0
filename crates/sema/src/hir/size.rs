//! The size and depth of a condition in which every `let` and `def` is replaced by its body. The
//! depth is limited because evaluators are recursive. The size is limited because nested
//! definitions grow exponentially.

use super::Part;

/// The size of an expanded expression: the number of its nodes, and its depth.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExprSize {
    pub node_count: u64,
    pub depth: u32,
}

/// Maximum number of nodes of a condition after its definitions are expanded. It bounds the time
/// and memory for nested definitions.
pub const MAX_CONDITION_NODES: u64 = 100_000;
/// Maximum depth of a condition after its definitions are expanded, because evaluators are
/// recursive.
pub const MAX_CONDITION_DEPTH: u32 = 256;

impl ExprSize {
    /// Returns the size of a node with every `let` expanded. `lets[i]` is the size of the body of
    /// the `let` with index `i`.
    pub fn new(part: Part<'_>, lets: &[ExprSize]) -> ExprSize {
        let mut measure = ExprSize::default();
        measure.add_part(part, 1, lets);
        measure
    }

    fn add_part(&mut self, part: Part<'_>, depth: u32, lets: &[ExprSize]) {
        self.node_count = self.node_count.saturating_add(1);
        self.depth = self.depth.max(depth);
        for part in part.parts() {
            match part {
                Part::Let(id) => {
                    let body = lets.get(id.index()).copied().unwrap_or_default();
                    self.node_count = self.node_count.saturating_add(body.node_count);
                    self.depth = self.depth.max(depth.saturating_add(body.depth));
                }
                part => self.add_part(part, depth + 1, lets),
            }
        }
    }
}
