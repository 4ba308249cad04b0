//! Searches a table, either route by route or with the index. The VM gives the index the values of
//! the message, and evaluates the candidate routes that the index finds.

use super::memo::Memo;
use super::{SlotValueSource, Vm};
use crate::bytecode::chunk::{Operand, RuleCode};
use crate::bytecode::fields::FieldLookup;
use crate::bytecode::instr::Instr;
use crate::index::Index;
use crate::index::lookup::{IndexEngine, IndexLookup};
use crate::index::tombstones::Tombstones;
use crate::table_search::{self, SearchResult, Searcher};
use rulec_base::broken_invariant;
use rulec_base::text::PreparedTexts;
use rulec_eval::decision::Choice;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{RuleId, SlotId, TableId};
use std::ops::Range;

impl<'a, M: SlotValueSource<'a>> Vm<'a, M> {
    /// Makes the VM use an index of the same rules. If `always` is true, the index is used for all
    /// tables, else only for tables where the index is faster.
    #[inline]
    pub fn use_index(&mut self, index: &'a Index, always: bool) {
        let Some(buffers) = self.lookup_buffers.take() else {
            return broken_invariant!("a VM is given an index only once");
        };
        self.texts.ensure_slot_count(index.cached_text_count as usize);
        (self.lookup, self.always_uses_index) =
            (Some(buffers.begin_decision(index, self.memo.epoch)), always);
    }

    /// Excludes the routes that `tombstones` marks as removed in this version of the rule set or
    /// earlier.
    pub fn exclude_removed(&mut self, tombstones: &'a Tombstones, version: u64) {
        self.tombstones_and_version = Some((tombstones, version));
    }

    /// Returns the index lookup if the VM uses the index for a table; otherwise `None`.
    #[inline]
    fn lookup_for_table(&self, table: TableId) -> Option<IndexLookup<'a>> {
        self.lookup.filter(|lookup| lookup.is_used_for_table(table, self.always_uses_index))
    }

    /// Decides by the table `entry`: returns the first route whose condition is true, or else the
    /// default. Follows jumps to other tables.
    #[inline(always)]
    pub fn decide(&mut self, entry: TableId) -> Choice {
        let result = self.search_from(self.start_position(entry));
        table_search::resolve_choice(self, result)
    }

    /// Searches a table within a range of ranks (positions in the table) for the first matching
    /// route. Removed routes are skipped. The result is [`SearchResult::Nothing`] if no route in
    /// the range matches, also if the table has a default.
    pub fn search_ranks(&mut self, table: TableId, ranks: Range<u32>) -> SearchResult<(TableId, usize)> {
        let hit = match self.lookup_for_table(table) {
            Some(lookup) => lookup.first_matching_rank(self, table, ranks),
            None => self.first_match_in_order(table, ranks),
        };
        hit.map_or(SearchResult::Nothing, |rank| self.result_of_route(table, rank))
    }

    /// Evaluates a table; returns every route whose condition is true, in the order in which routes
    /// are tried. Removed routes are skipped.
    pub fn matching_rules(&mut self, entry: TableId) -> Vec<RuleId> {
        let hits = match self.lookup_for_table(entry) {
            Some(lookup) => lookup.all_matching_ranks(self, entry),
            None => {
                let routes = self.chunk.tables.get(entry.index()).map_or(0, |table| table.routes.len());
                (0..routes as u32).filter(|rank| self.verify_route(entry, *rank)).collect()
            }
        };
        let route = |rank: u32| match self.result_of_route(entry, rank) {
            SearchResult::Choose(route) | SearchResult::Goto { route, .. } => Some(route),
            _ => None,
        };
        hits.into_iter().filter_map(route).collect()
    }

    /// Evaluates the condition of the route at a position of a table. False if the condition is
    /// unknown, or if there is no such route.
    #[inline(always)]
    pub fn eval_route(&mut self, table: TableId, position: usize) -> bool {
        let routes = self.chunk.tables.get(table.index()).map(|table| &table.routes);
        let code = routes.and_then(|routes| routes.get(position));
        code.is_some_and(|code| self.eval_route_code(*code))
    }

    /// Evaluates the condition of the route with this code. False if the condition is unknown.
    #[inline(always)]
    fn eval_route_code(&mut self, code: RuleCode) -> bool {
        let end = self.run_blocks::<true>(code.start as usize, code.end as usize);
        matches!(end, Some((Instr::Choose { .. } | Instr::Goto { .. }, _)))
    }

    /// Returns the result of searching a table whose first matching route has the given rank
    /// (position in the table). The last instruction of the route's code contains the result.
    #[inline]
    fn result_of_route(&self, table: TableId, rank: u32) -> SearchResult<(TableId, usize)> {
        let routes = self.chunk.tables.get(table.index()).map(|table| &table.routes);
        let code = routes.and_then(|routes| routes.get(rank as usize));
        let last_instr = code.and_then(|code| self.chunk.instrs.get((code.end as usize).wrapping_sub(1)));
        match last_instr {
            Some(instr) => SearchResult::from_instr(instr, rank as usize).map_position(|rank| (table, rank)),
            None => SearchResult::Nothing,
        }
    }

    /// Returns the result of searching a table in which no route matches: its default, another
    /// table to search, or nothing.
    fn result_without_route(&self, table: TableId) -> SearchResult<(TableId, usize)> {
        let code = self.chunk.tables.get(table.index());
        let block = code.and_then(|code| self.chunk.blocks.get(code.block as usize));
        let last_instr = block.and_then(|block| self.chunk.instrs.get((block.end as usize).wrapping_sub(1)));
        match last_instr.map(|last_instr| SearchResult::from_instr(last_instr, 0)) {
            Some(SearchResult::Default(table)) => SearchResult::Default(table),
            Some(SearchResult::Continue(table)) => SearchResult::Continue(table),
            _ => SearchResult::Nothing,
        }
    }

    #[inline(always)]
    fn is_excluded(&self, table: TableId, rank: u32) -> bool {
        self.tombstones_and_version
            .is_some_and(|(tombstones, version)| tombstones.is_removed(table, rank, version))
    }
}

/// Search of one table. A position is a table with an address in its code. If the index is used,
/// the position has a rank (route number) instead of an address.
impl<'a, M: SlotValueSource<'a>> Searcher for Vm<'a, M> {
    type Position = (TableId, usize);
    type Rule = RuleId;

    #[inline]
    fn start_position(&self, table: TableId) -> (TableId, usize) {
        if self.lookup_for_table(table).is_some() {
            return (table, 0);
        }
        let block = self.chunk.tables.get(table.index()).map(|table| table.block);
        let block = block.and_then(|block| self.chunk.blocks.get(block as usize));
        // A search that starts past the end of the code returns `Nothing`.
        (table, block.map_or(usize::MAX, |block| block.start as usize))
    }

    #[inline(always)]
    fn search_from(&mut self, (table, from): (TableId, usize)) -> SearchResult<(TableId, usize)> {
        let Some(lookup) = self.lookup_for_table(table) else {
            return match self.run_blocks::<false>(from, 0) {
                Some((instr, at)) => SearchResult::from_instr(instr, at).map_position(|at| (table, at)),
                None => SearchResult::Nothing,
            };
        };
        let from = u32::try_from(from).unwrap_or(u32::MAX);
        match lookup.first_matching_rank(self, table, from..u32::MAX) {
            Some(rank) => self.result_of_route(table, rank),
            None => self.result_without_route(table),
        }
    }

    fn is_exhausted(&self, table: TableId) -> bool {
        self.memo.memoized_result(Memo::table_cell_index(self.chunk, table)).is_some()
    }

    fn mark_exhausted(&mut self, table: TableId) {
        self.memo.store(Memo::table_cell_index(self.chunk, table), Tri::False);
    }
}

impl<'a, M: SlotValueSource<'a>> IndexEngine<'a> for Vm<'a, M> {
    #[inline]
    fn operand_value(&mut self, operand: Operand) -> Value<'a> {
        Vm::operand_value(self, operand)
    }

    #[inline]
    fn slot_ref(&mut self, slot: SlotId) -> &Value<'a> {
        self.message.slot_value(slot.index())
    }

    fn read_present_slots(&mut self, fields: &FieldLookup, into: &mut Vec<u32>) {
        self.message.read_present_slots(fields, self.chunk.slots.len() as u32, into);
    }

    #[inline]
    fn prepared_texts(&mut self) -> &mut PreparedTexts {
        self.texts
    }

    // Inlined, because it is called for each candidate.
    #[inline(always)]
    fn verify_route(&mut self, table: TableId, rank: u32) -> bool {
        !self.is_excluded(table, rank) && self.eval_route(table, rank as usize)
    }

    #[inline(always)]
    fn verify_route_code(&mut self, table: TableId, rank: u32, code: RuleCode) -> bool {
        !self.is_excluded(table, rank) && self.eval_route_code(code)
    }

    fn first_match_in_order(&mut self, table: TableId, ranks: Range<u32>) -> Option<u32> {
        let table_routes = &self.chunk.tables.get(table.index())?.routes;
        let (mut from, end) = (ranks.start, (table_routes.len() as u32).min(ranks.end));
        while from < end {
            // The routes' code is contiguous, so it runs as a whole, up to an excluded route.
            let next_removed = match self.tombstones_and_version {
                None => end,
                Some((tombstones, version)) => {
                    tombstones.first_removed(table, from..end, version).unwrap_or(end)
                }
            };
            let routes = table_routes.get(from as usize..next_removed as usize)?;
            if let (Some(first), Some(last)) = (routes.first(), routes.last())
                && let Some((_, at)) = self.run_blocks::<true>(first.start as usize, last.end as usize)
            {
                let passed = routes.partition_point(|code| code.end as usize <= at);
                return (passed < routes.len()).then_some(from + passed as u32);
            }
            from = next_removed + 1;
        }
        None
    }
}
