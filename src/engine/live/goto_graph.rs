//! The graph of the jumps (`goto`) between tables. It must have no cycle and a limited depth, so
//! that every decision ends.

use hashbrown::HashMap;
use rulec_base::diag::{Code, Message};
use rulec_base::{broken_invariant, message};
use rulec_sema::hir::{MAX_JUMPS, Outcome, Program, TableId, TableKind};

/// A jump (`goto`) between tables: the table that contains the `goto`, and its target table.
pub(super) type GotoJump = (TableId, TableId);

/// The number of jumps (`goto`) from one table to another, for each pair of tables.
#[derive(Default)]
pub(super) struct GotoGraph {
    jump_counts: HashMap<GotoJump, u32>,
}

impl GotoGraph {
    /// Counts the jumps (`goto`) in all routes and defaults of a program, for each pair of tables.
    pub fn new(program: &Program) -> GotoGraph {
        let mut graph = GotoGraph::default();
        let rule_outcomes = program.rules.iter().map(|rule| (rule.table, &rule.outcome));
        let defaults = program.tables.iter().enumerate();
        let defaults = defaults.filter_map(|(at, table)| Some((TableId(at as u32), table.default.as_ref()?)));
        for (from, outcome) in rule_outcomes.chain(defaults) {
            if let Outcome::Goto(to) = outcome
                && program.tables[from.index()].kind == TableKind::Routes
            {
                graph.add_jump((from, *to));
            }
        }
        graph
    }

    /// Adds one jump (`goto`) between two tables to the counts.
    pub fn add_jump(&mut self, jump: GotoJump) {
        *self.jump_counts.entry(jump).or_default() += 1;
    }

    /// Removes one jump (`goto`) between two tables from the counts.
    pub fn remove_jump(&mut self, jump: GotoJump) {
        let Some(count) = self.jump_counts.get_mut(&jump).filter(|count| **count > 0) else {
            return broken_invariant!("the removed jump {jump:?} was counted");
        };
        *count -= 1;
    }

    /// Checks that a jump from the table `from` to the table `to` may be added to the graph. If an
    /// edit replaces a jump by this one, `replaced_jump` is the old jump, and it counts as already
    /// removed.
    ///
    /// # Errors
    /// If the jump would close a cycle, or make a chain of jumps too long.
    pub fn check_jump(
        &self,
        from: TableId,
        to: TableId,
        replaced_jump: Option<GotoJump>,
    ) -> Result<(), (Code, Message)> {
        let remains = |edge: &(TableId, TableId), count: u32| count > u32::from(Some(*edge) == replaced_jump);
        let edges: Vec<(TableId, TableId)> =
            self.jump_counts.iter().filter(|(edge, n)| remains(edge, **n)).map(|(edge, _)| *edge).collect();
        if edges.contains(&(from, to)) {
            return Ok(());
        }
        // Returns the lengths of the longest paths from `start` to all tables that it reaches:
        // along the jumps if `forward`, else against them. The graph has no cycle yet.
        let longest_paths = |start: TableId, forward: bool| {
            let mut lengths: HashMap<TableId, usize> = HashMap::from([(start, 0)]);
            let mut pending = vec![start];
            while let Some(at) = pending.pop() {
                let next_length = lengths[&at] + 1;
                for (a, b) in &edges {
                    let (near, far) = if forward { (*a, *b) } else { (*b, *a) };
                    if near == at && lengths.get(&far).is_none_or(|known| *known < next_length) {
                        lengths.insert(far, next_length);
                        pending.push(far);
                    }
                }
            }
            lengths
        };
        let (from_target, to_source) = (longest_paths(to, true), longest_paths(from, false));
        if from_target.contains_key(&from) {
            return Err((Code::JumpCycle, message!("these jumps form a cycle")));
        }
        let deepest = |depths: &HashMap<TableId, usize>| depths.values().copied().max().unwrap_or(0);
        if deepest(&from_target) + deepest(&to_source) + 1 > MAX_JUMPS {
            return Err((Code::JumpsTooDeep, message!("jumps lead through more than {MAX_JUMPS} tables")));
        }
        Ok(())
    }
}
