//! The size and depth of a condition once every `let` and `def` is put in: evaluators walk it
//! recursively, and definitions that use each other grow quickly.

use super::Part;

/// The size of an expanded expression: its nodes, and its depth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measure {
    pub nodes: u64,
    pub depth: u32,
}

/// The most nodes one expanded condition may have.
pub const MAX_NODES: u64 = 100_000;
/// The most levels one expanded condition may have: evaluators walk it recursively.
pub const MAX_DEPTH: u32 = 256;

impl Measure {
    /// The size of a part with every `let` put in.
    pub fn of(part: Part<'_>, lets: &[Measure]) -> Measure {
        let mut whole = Measure::default();
        whole.add(part, 1, lets);
        whole
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
