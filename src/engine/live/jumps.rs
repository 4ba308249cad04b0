//! The jumps between tables of routes: they may not lead in a circle, nor too deep.

use hashbrown::HashMap;
use rulec_base::diag::{Code, Message};
use rulec_base::message;
use rulec_sema::hir::{MAX_JUMPS, Outcome, Program, TableId, TableKind};

/// A jump from a table to another.
pub(super) type Jump = (TableId, TableId);

/// The number of jumps that lead from each table to another.
#[derive(Default)]
pub(super) struct Jumps {
    counts: HashMap<Jump, u32>,
}

impl Jumps {
    /// The jumps of a program's routes and defaults.
    pub fn of(program: &Program) -> Jumps {
        let mut jumps = Jumps::default();
        let of_rules = program.rules.iter().map(|rule| (rule.table, &rule.outcome));
        let defaults = program.tables.iter().enumerate();
        let defaults = defaults.filter_map(|(at, table)| Some((TableId(at as u32), table.default.as_ref()?)));
        for (from, outcome) in of_rules.chain(defaults) {
            if let Outcome::Goto(to) = outcome
                && program.tables[from.index()].kind == TableKind::Routes
            {
                jumps.add((from, *to));
            }
        }
        jumps
    }

    /// Counts one that comes.
    pub fn add(&mut self, jump: Jump) {
        *self.counts.entry(jump).or_default() += 1;
    }

    /// Counts one that goes.
    pub fn remove(&mut self, jump: Jump) {
        if let Some(count) = self.counts.get_mut(&jump) {
            *count -= 1;
        }
    }

    /// Checks that a jump from a table to another may be, `without` another.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, from: TableId, to: TableId, without: Option<Jump>) -> Result<(), (Code, Message)> {
        let count = |edge: &(TableId, TableId), count: u32| count > u32::from(Some(*edge) == without);
        let edges: Vec<(TableId, TableId)> =
            self.counts.iter().filter(|(edge, n)| count(edge, **n)).map(|(edge, _)| *edge).collect();
        if edges.contains(&(from, to)) {
            return Ok(());
        }
        // The longest ways that begin, or end, at a table: there are no circles yet.
        let longest = |start: TableId, forward: bool| {
            let mut depth: HashMap<TableId, usize> = HashMap::from([(start, 0)]);
            let mut open = vec![start];
            while let Some(at) = open.pop() {
                let next = depth[&at] + 1;
                for (a, b) in &edges {
                    let (here, there) = if forward { (*a, *b) } else { (*b, *a) };
                    if here == at && depth.get(&there).is_none_or(|known| *known < next) {
                        depth.insert(there, next);
                        open.push(there);
                    }
                }
            }
            depth
        };
        let (behind, ahead) = (longest(to, true), longest(from, false));
        if behind.contains_key(&from) {
            return Err((Code::JumpCycle, message!("these jumps go round in a circle")));
        }
        let deepest = |depths: &HashMap<TableId, usize>| depths.values().copied().max().unwrap_or(0);
        if deepest(&behind) + deepest(&ahead) + 1 > MAX_JUMPS {
            return Err((Code::JumpsTooDeep, message!("jumps lead through more than {MAX_JUMPS} tables")));
        }
        Ok(())
    }
}
