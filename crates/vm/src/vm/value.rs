//! Computes the values that predicates and arguments use: loads operands, and runs the code blocks
//! that compute values.

use super::scratch::CacheStamp;
use super::{SlotValueSource, Vm};
use crate::bytecode::chunk::{Block, CacheCell, Operand};
use crate::bytecode::instr::{BlockId, BlockKind, Instr, Reg, RegisterRange};
use rulec_lang::builtins::is_similarity_within_budget;
use rulec_lang::operators::Implementation;
use rulec_lang::operators::implementations;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::ExternId;

impl<'a, M: SlotValueSource<'a>> Vm<'a, M> {
    // Inlined for slots, because nearly all operands are slots.
    #[inline(always)]
    pub(super) fn operand_value(&mut self, operand: Operand) -> Value<'a> {
        match operand {
            Operand::Slot(slot) => *self.message.slot_value(slot.index()),
            _ => self.computed_operand(operand),
        }
    }

    #[inline(never)]
    fn computed_operand(&mut self, operand: Operand) -> Value<'a> {
        match operand {
            Operand::Slot(slot) => *self.message.slot_value(slot.index()),
            Operand::Const(constant) => self.constant_value(constant),
            Operand::Var(level) => self.loop_element(level),
            Operand::History => Value::JsonList(self.history.elements()),
            Operand::Block(block) => self.eval_block(block),
            Operand::Missing => Value::Missing,
        }
    }

    fn constant_value(&self, constant: u32) -> Value<'a> {
        let chunk = self.chunk;
        chunk.consts.get(constant as usize).map_or(Value::Missing, |constant| constant.value())
    }

    fn loop_element(&self, level: u32) -> Value<'a> {
        self.working_values.get(level as usize).copied().unwrap_or(Value::Missing)
    }

    /// Returns the value that a code block computes. Does not run the block if its value is cached
    /// and still valid.
    pub fn eval_block(&mut self, id: BlockId) -> Value<'a> {
        let Some(block) = self.chunk.blocks.get(id as usize).filter(|b| b.kind == BlockKind::Value) else {
            return Value::Missing;
        };
        let Some(CacheCell { cell_index: cell, depends_on_loops: varies }) = block.cache_cell else {
            return self.eval_block_uncached(block);
        };
        let (cell, at) = (cell as usize, self.chunk.max_loop_depth as usize + cell as usize);
        let current_stamp =
            CacheStamp { epoch: self.memo.epoch, element_id: if varies { self.element_id } else { 0 } };
        if self.cache_stamps.get(cell) == Some(&current_stamp) {
            return self.working_values.get(at).copied().unwrap_or(Value::Missing);
        }
        let value = if varies {
            self.eval_block_uncached(block)
        } else {
            self.run_outside_loops(|vm| vm.eval_block_uncached(block))
        };
        if let (Some(stamp), Some(value_cell)) =
            (self.cache_stamps.get_mut(cell), self.working_values.get_mut(at))
        {
            (*stamp, *value_cell) = (current_stamp, value);
        }
        value
    }

    fn eval_block_uncached(&mut self, block: &Block) -> Value<'a> {
        let base = self.working_values.len();
        self.working_values.resize(base + block.frame_len(), Value::Missing);
        let value = self.run_value_block(block.start as usize, base);
        self.working_values.truncate(base);
        value
    }

    fn register_value(&self, base: usize, register: Reg) -> Value<'a> {
        self.working_values.get(base + usize::from(register)).copied().unwrap_or(Value::Missing)
    }

    /// Runs a code block that computes a value: the dispatch loop. `start` is the address of the
    /// block's first instruction. The block's register 0 is at index `base` of `working_values`.
    fn run_value_block(&mut self, start: usize, base: usize) -> Value<'a> {
        let chunk = self.chunk;
        let mut pc = start;
        loop {
            let Some(instr) = chunk.instrs.get(pc) else { return Value::Missing };
            pc += 1;
            let (dst, value) = match *instr {
                Instr::Slot { dst, slot } => (dst, *self.message.slot_value(slot as usize)),
                Instr::Const { dst, constant } => (dst, self.constant_value(constant)),
                Instr::Var { dst, level } => (dst, self.loop_element(level)),
                Instr::Eval { dst, block } => (dst, self.eval_block(block)),
                Instr::Field { dst, base: object, key } => {
                    let object = self.register_value(base, object);
                    let key = chunk.strings.get(key as usize);
                    (dst, key.map_or(Value::Missing, |key| object.field(key)))
                }
                Instr::Index { dst, base: object, key } => {
                    (dst, self.register_value(base, object).index(self.register_value(base, key)))
                }
                Instr::Read { dst, src, kinds } => (dst, self.register_value(base, src).read_as(kinds)),
                Instr::List { dst, items } => {
                    (dst, self.arena.build_list(self.register_values(base, items).iter().copied()))
                }
                Instr::Binary { op, dst, left, right } => (
                    dst,
                    apply_operator(op, self.register_value(base, left), self.register_value(base, right)),
                ),
                Instr::Unary { op, dst, src } => {
                    (dst, apply_operator(op, self.register_value(base, src), Value::Missing))
                }
                Instr::Call { function, dst, args } => {
                    (dst, function.call(self.register_values(base, args), self.arena))
                }
                Instr::Similar { dst, src, to } => {
                    (dst, self.similarity_to_constant(self.register_value(base, src), to))
                }
                Instr::Extern { dst, args, function } => {
                    let first = base + usize::from(args.first);
                    let args =
                        self.working_values.get(first..first + usize::from(args.len)).unwrap_or_default();
                    (dst, self.host_calls.call(ExternId(function), args, self.arena))
                }
                Instr::Count { dst, each } => (dst, self.eval_count(each)),
                Instr::Sum { dst, each, value } => (dst, self.eval_sum(each, value)),
                Instr::Find { dst, each, last } => (dst, self.find_element(each, last)),
                Instr::History { dst } => (dst, Value::JsonList(self.history.elements())),
                Instr::Window { bound, dst, list, operand } => {
                    let (list, operand) =
                        (self.register_value(base, list), self.register_value(base, operand));
                    (dst, self.history.window(list, bound, operand))
                }
                Instr::Quantifier { dst, each, fails } => (dst, self.eval_quantifier(each, fails)),
                Instr::Cond { dst, holds, fails } => (dst, self.condition_as_value(holds, fails)),
                Instr::IfPresent { src, to } => {
                    if !self.register_value(base, src).is_missing() {
                        pc = to as usize;
                    }
                    continue;
                }
                Instr::IfNot { block, to } => {
                    if !self.eval_condition(block) {
                        pc = to as usize;
                    }
                    continue;
                }
                Instr::Jump { to } => {
                    pc = to as usize;
                    continue;
                }
                Instr::Yield { src } => return self.register_value(base, src),
                _ => return Value::Missing,
            };
            if let Some(register) = self.working_values.get_mut(base + usize::from(dst)) {
                *register = value;
            }
        }
    }

    #[inline]
    fn similarity_to_constant(&mut self, text: Value<'a>, to: u32) -> Value<'a> {
        match (text, self.pools.similar.get(to as usize)) {
            (Value::Str(text), Some(other))
                if is_similarity_within_budget(
                    text.chars().count(),
                    other.original_char_count(),
                    self.arena,
                ) =>
            {
                implementations::finite_or_missing(other.score(text, self.similarity))
            }
            _ => Value::Missing,
        }
    }

    #[inline]
    fn condition_as_value(&mut self, holds: u32, fails: u32) -> Value<'a> {
        if self.eval_condition(holds) {
            Value::Bool(true)
        } else if self.eval_condition(fails) {
            Value::Bool(false)
        } else {
            Value::Missing
        }
    }

    fn register_values(&self, base: usize, RegisterRange { first, len }: RegisterRange) -> &[Value<'a>] {
        let first = base + usize::from(first);
        self.working_values.get(first..first + usize::from(len)).unwrap_or_default()
    }

    /// Counts the elements for which the condition of the loop with index `loop_index` is true.
    /// Missing if the operand is no list, or exceeds a limit.
    fn eval_count(&mut self, loop_index: u32) -> Value<'a> {
        let Some(each) = self.chunk.loops.get(loop_index as usize).copied() else { return Value::Missing };
        let list = self.operand_value(each.list);
        let count_true = |vm: &mut Self| {
            if let Some(hits) = vm.find_remembered_hits(&each, list, None) {
                return i64::try_from(hits.hit_count).unwrap_or(i64::MAX);
            }
            let elements = list.elements().into_iter().flatten();
            elements.map(|element| i64::from(vm.holds_for_element(&each, element))).sum()
        };
        self.run_loop(&each, list, count_true).map_or(Value::Missing, Value::Int)
    }

    /// Adds the values of the block `value` for the elements for which the condition of the loop
    /// with index `loop_index` is true. Missing if the operand is no list, or exceeds a limit.
    fn eval_sum(&mut self, loop_index: u32, value: BlockId) -> Value<'a> {
        let Some(each) = self.chunk.loops.get(loop_index as usize).copied() else { return Value::Missing };
        let list = self.operand_value(each.list);
        let add_true = |vm: &mut Self| {
            let total = vm.find_remembered_hits(&each, list, Some(value)).and_then(|hits| hits.total);
            total.unwrap_or_else(|| vm.sum_of_elements(&each, list, value))
        };
        self.run_loop(&each, list, add_true).unwrap_or(Value::Missing)
    }

    /// Returns the first or the last element for which the condition of the loop with index
    /// `loop_index` is true. Missing if there is none, or if the operand is no list or exceeds a
    /// limit.
    fn find_element(&mut self, loop_index: u32, last: bool) -> Value<'a> {
        let Some(each) = self.chunk.loops.get(loop_index as usize).copied() else { return Value::Missing };
        let list = self.operand_value(each.list);
        let length = list.list_len().unwrap_or(0);
        let find = |vm: &mut Self| {
            if let Some(hits) = vm.find_remembered_hits(&each, list, None) {
                return Some(hits.first_and_last[usize::from(last)].read_as(each.kinds));
            }
            (0..length).find_map(|offset| {
                let index = if last { length - 1 - offset } else { offset };
                let element = list.index(i64::try_from(index).map_or(Value::Missing, Value::Int));
                vm.holds_for_element(&each, element).then(|| element.read_as(each.kinds))
            })
        };
        self.run_loop(&each, list, find).flatten().unwrap_or(Value::Missing)
    }

    /// Evaluates `any` or `all` over a list to a bool; `loop_index` is the index of the loop. If
    /// the condition is not true for an element, the block `fails` decides between false and
    /// unknown: it yields true if the condition is false. The result is missing if its truth value
    /// is unknown, or if the operand is no list or exceeds a limit.
    fn eval_quantifier(&mut self, loop_index: u32, fails: BlockId) -> Value<'a> {
        let Some(each) = self.chunk.loops.get(loop_index as usize).copied() else { return Value::Missing };
        let list = self.operand_value(each.list);
        let evaluate = |vm: &mut Self| {
            let results = list.elements().into_iter().flatten().map(|element| {
                if vm.holds_for_element(&each, element) {
                    Tri::True
                } else if vm.eval_condition(fails) {
                    Tri::False
                } else {
                    Tri::Unknown
                }
            });
            if each.requires_all { Tri::all(results) } else { Tri::any(results) }
        };
        self.run_loop(&each, list, evaluate).map_or(Value::Missing, Value::from)
    }
}

fn apply_operator<'a>(op: rulec_lang::operators::Op, left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match op.info().implementation {
        Implementation::Value(meaning) => meaning(left, right),
        _ => Value::Missing,
    }
}
