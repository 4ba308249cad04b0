//! Makes decisions with compiled code: prepares the state, runs the compiled functions of tables
//! until a route matches, and computes the values of the chosen outcome. A *slot* is a message
//! field that the rules read. A long table is compiled to several functions, its *segments*.

use super::code::{EntryCode, JitCode, Machine};
use super::lower::{
    DEFAULT_RESULT, INSTRUCTION_RESULT, NEXT_SEGMENT_RESULT, NO_CHOICE_RESULT, RESULT_KIND_SHIFT,
    ROUTE_RESULT,
};
use rulec_base::broken_invariant;
use rulec_eval::decision::{Choice, DecisionDetails};
use rulec_eval::host::RegisteredFunction;
use rulec_lang::arena::EachBlocks;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{BindingId, Outcome, RuleId, Slot, TableId, ValueId};
use rulec_vm::table_search::{self, SearchResult, Searcher};
use rulec_vm::vm::compiled::Memo;
use rulec_vm::vm::{BindingSlots, JsonMessage, Scratch, SlotValueSource, SlotValues};
use serde_json::Value as Json;

impl JitCode {
    /// Prepares a decision over slot values that were already read from a message. Each value is
    /// missing, or of a kind that the slot accepts. Slots beyond the end of `slots` are missing.
    /// `host_functions` are the functions of the embedding program that rules may call. `scratch`
    /// is the thread's memory, which decisions reuse.
    #[inline(always)]
    pub fn machine_over_slots<'a>(
        &'a self,
        host_functions: &'a [RegisteredFunction],
        slots: SlotValues<'a>,
        scratch: &'a mut Scratch,
    ) -> Machine<'a, SlotValues<'a>> {
        let (code, chunk) = (self.bytecode(), self.bytecode().chunk());
        // The machine is constructed in place in both branches, because moving it would copy it.
        if slots.values.len() >= chunk.slots.len() {
            Machine::with_slot_values(
                self,
                scratch.start_decision(code, host_functions, chunk.memo_cell_count()),
                slots,
            )
        } else {
            Machine::with_slot_cells(
                self,
                scratch.start_decision(code, host_functions, chunk.memo_cell_count()),
                slots,
            )
        }
    }

    /// Prepares a decision over a JSON message. Each field is looked up when it is first used.
    #[inline(always)]
    pub fn machine_over_json<'a>(
        &'a self,
        host_functions: &'a [RegisteredFunction],
        message: &'a Json,
        scratch: &'a mut Scratch,
    ) -> Machine<'a, JsonMessage<'a>> {
        let (memory, message) = scratch.start_json_decision(self.bytecode(), host_functions, message);
        Machine::with_slot_cells(self, memory, message)
    }

    /// Prepares a decision by compiled code over a message and `binding_count` bindings (named
    /// values, which change during the decision). No binding has a value yet.
    pub fn machine_over_bindings<'a>(
        &'a self,
        host_functions: &'a [RegisteredFunction],
        slots: &'a [Slot],
        message: &'a Json,
        binding_count: usize,
        scratch: &'a mut Scratch,
    ) -> Machine<'a, BindingSlots<'a>> {
        let (memory, message) =
            scratch.start_bindings_decision(self.bytecode(), host_functions, slots, message, binding_count);
        Machine::with_slot_cells(self, memory, message)
    }

    /// Prepares a decision over any source of the values of slots (fields that rules read).
    #[cfg(test)]
    pub(super) fn machine_over_message<'a, M: SlotValueSource<'a> + 'a>(
        &'a self,
        host_functions: &'a [RegisteredFunction],
        message: M,
        scratch: &'a mut Scratch,
    ) -> Machine<'a, M> {
        let memory = scratch.start_decision(
            self.bytecode(),
            host_functions,
            self.bytecode().chunk().memo_cell_count(),
        );
        Machine::with_slot_cells(self, memory, message)
    }
}

impl EntryCode {
    /// Chooses a route or the default of the table, by compiled code. The parameters are the same
    /// as those that [`JitCode::machine_over_slots`] describes.
    #[inline]
    pub fn choose(
        &self,
        host_functions: &[RegisteredFunction],
        slots: SlotValues<'_>,
        scratch: &mut Scratch,
    ) -> Choice {
        if slots.values.len() < self.slot_count {
            return self.code.machine_over_slots(host_functions, slots, scratch).decide(self.table);
        }
        let memory = scratch.start_decision(self.code.bytecode(), host_functions, self.memo_cell_count);
        let mut machine = Machine::with_slot_values(&self.code, memory, slots);
        let encoded_result = self.search_first_segment(&mut machine);
        let end = machine.decode_result(self.table, 0, encoded_result);
        let choice = table_search::resolve_choice(&mut machine, end);
        // Most decisions have nothing to release, so dropping every part of the machine would waste
        // time.
        if !machine.must_release() {
            std::mem::forget(machine);
        }
        choice
    }
}

/// A position in a table: the table's id, and the index of a route. Routes are numbered in the
/// order in which they are tried.
type RoutePosition = (TableId, u32);

impl<'a, M: SlotValueSource<'a> + 'a> Machine<'a, M> {
    /// Returns the choice by the table `entry`: the first route whose condition is true, or the
    /// default. Jumps to other tables are followed.
    #[inline(always)]
    pub fn decide(&mut self, entry: TableId) -> Choice {
        let end = self.run_segments(entry, 0, 0);
        table_search::resolve_choice(self, end)
    }

    /// Returns every route of the table whose condition is true, in the order in which routes are
    /// tried.
    ///
    /// If the table is evaluated for each element of a list, the VM evaluates it instead. The
    /// reason is that compiled code does not count repetitions against the limits.
    pub fn matching_rules(&mut self, entry: TableId) -> Vec<RuleId> {
        if self.vm_if_created().is_some_and(|vm| vm.arena().is_repeated()) {
            return self.vm().map_or_else(Vec::new, |vm| vm.matching_rules(entry));
        }
        let (mut routes, mut next_position) = (Vec::new(), 0);
        while let Some((position, route)) = self.first_match(entry, next_position) {
            routes.push(route);
            next_position = position + 1;
        }
        routes
    }

    /// Returns the position and the id of the first matching route of a table at or after the
    /// position `start`; `None` if no such route matches.
    pub(super) fn first_match(&mut self, table: TableId, start: u32) -> Option<(u32, RuleId)> {
        match self.search_from((table, start)) {
            SearchResult::Goto { route, resume_position: (_, resume_position), .. } => {
                Some((resume_position - 1, route))
            }
            SearchResult::Choose(route) => {
                let mut order = self.code.bytecode().chunk().route_order(table.index()).skip(start as usize);
                Some((start + order.position(|other| other == route)? as u32, route))
            }
            _ => None,
        }
    }

    /// Returns the index of the segment (function of compiled code) that contains a position, and
    /// the position relative to the start of the segment. `None` if the table has no code.
    fn find_segment(&self, (table, position): RoutePosition) -> Option<(usize, usize)> {
        let segments = self.code.segments(table.index());
        let index = segments.partition_point(|segment| segment.first_route <= position).checked_sub(1)?;
        Some((index, (position - segments.get(index)?.first_route) as usize))
    }

    /// Searches a table, beginning with the route at index `first_route` of a segment (a range of
    /// routes with its own function). Continues in the following segments as needed. Returns the
    /// result.
    #[inline(always)]
    fn run_segments(
        &mut self,
        table: TableId,
        segment: usize,
        first_route: usize,
    ) -> SearchResult<RoutePosition> {
        let encoded_result = self.search_segment(segment, table.index(), first_route);
        self.decode_result(table, segment, encoded_result)
    }

    /// Converts the encoded result of a segment (range of routes) to the result of the search in
    /// the table. Runs the following segments if the segment has no match. If `encoded_result` is
    /// `None`, the segment does not exist, so no route was found.
    #[inline(always)]
    fn decode_result(
        &mut self,
        table: TableId,
        segment: usize,
        mut encoded_result: Option<u64>,
    ) -> SearchResult<RoutePosition> {
        if encoded_result == Some(NEXT_SEGMENT_RESULT) {
            encoded_result = self.search_next_segments(table, segment);
        }
        let encoded_result = encoded_result.unwrap_or(NO_CHOICE_RESULT);
        let id_or_address = encoded_result as u32;
        match encoded_result >> RESULT_KIND_SHIFT {
            ROUTE_RESULT => SearchResult::Choose(RuleId(id_or_address)),
            DEFAULT_RESULT => SearchResult::Default(TableId(id_or_address)),
            INSTRUCTION_RESULT => self.result_at_instr(table, id_or_address),
            _ => SearchResult::Nothing,
        }
    }

    /// Returns the result of a search in a table that ended with the bytecode instruction at
    /// `address`.
    #[inline(never)]
    fn result_at_instr(&self, table: TableId, address: u32) -> SearchResult<RoutePosition> {
        let (chunk, address) = (self.code.bytecode().chunk(), address as usize);
        let Some(instr) = chunk.instrs.get(address) else {
            broken_invariant!("compiled code returns an instruction of its chunk");
            return SearchResult::Nothing;
        };
        let routes = || chunk.tables.get(table.index()).map_or(&[][..], |table| &table.routes);
        let routes_before = |pc| routes().partition_point(|route| (route.start as usize) < pc);
        SearchResult::from_instr(instr, address).map_position(|resume| (table, routes_before(resume) as u32))
    }

    /// Runs the segments (ranges of routes) after `segment`, until one has another result than
    /// [`NEXT_SEGMENT_RESULT`]. `None` if the table has no further segment.
    #[inline(never)]
    fn search_next_segments(&mut self, table: TableId, mut segment: usize) -> Option<u64> {
        loop {
            segment += 1;
            match self.search_segment(segment, table.index(), 0) {
                Some(NEXT_SEGMENT_RESULT) => {}
                encoded_result => return encoded_result,
            }
        }
    }
}

impl<'a, M: SlotValueSource<'a> + 'a> Searcher for Machine<'a, M> {
    type Position = RoutePosition;
    type Rule = RuleId;

    fn start_position(&self, table: TableId) -> RoutePosition {
        (table, 0)
    }

    fn search_from(&mut self, position: RoutePosition) -> SearchResult<RoutePosition> {
        let Some((segment, first_route)) = self.find_segment(position) else { return SearchResult::Nothing };
        self.run_segments(position.0, segment, first_route)
    }

    fn is_exhausted(&self, table: TableId) -> bool {
        self.memo.memoized_result(Memo::table_cell_index(self.code.bytecode().chunk(), table)).is_some()
    }

    fn mark_exhausted(&mut self, table: TableId) {
        self.memo.store(Memo::table_cell_index(self.code.bytecode().chunk(), table), Tri::False);
    }
}

/// Computation of the values of outcomes (such as handler arguments), by the VM.
impl<'a, M: SlotValueSource<'a> + 'a> Machine<'a, M> {
    pub fn eval_value(&mut self, id: ValueId) -> Value<'a> {
        self.vm().map_or(Value::Missing, |vm| vm.eval_value(id))
    }

    /// Computes a handler's arguments, or the nodes to which a router sends the message. `None` if
    /// the outcome has no values to compute.
    #[inline]
    pub fn eval_outcome(&mut self, outcome: &Outcome) -> Option<Box<DecisionDetails>> {
        if outcome.has_values() { self.vm()?.eval_outcome(outcome) } else { None }
    }

    /// Adds to `details` the failures and the duration of host function calls, and the exceeded
    /// limits. If `details` is `None` and there is something to add, creates the details.
    #[inline]
    pub fn add_calls(&self, details: &mut Option<Box<DecisionDetails>>) {
        if let Some(vm) = self.vm_if_created() {
            vm.add_call_details(details);
        }
    }
}

/// Access to the bindings of a machine. A binding is a name whose value can change between runs of
/// the compiled code.
impl<'a> Machine<'a, BindingSlots<'a>> {
    /// Sets the value of a binding. Memoized results and all slot values (fields already read)
    /// become invalid.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        if let Some(vm) = self.vm() {
            self.memo.epoch = vm.bind(binding, value);
        }
        self.slot_cells.iter().flat_map(|slots| &slots.cells).for_each(|cell| cell.set(None));
    }

    /// Sets which `each` blocks of a payload enclose the expressions that are evaluated after this
    /// call. An `each` block evaluates an expression once for each element of a list. So the limits
    /// on work count an expression's work as many times as there are elements.
    pub fn set_enclosing_blocks(&mut self, blocks: EachBlocks) {
        if let Some(vm) = self.vm() {
            vm.arena().set_enclosing_blocks(blocks);
        }
    }

    /// Returns the current values of the bindings (names whose value can change).
    pub fn binding_values(&mut self) -> &[Value<'a>] {
        self.vm().map_or(&[], |vm| vm.binding_values())
    }
}
