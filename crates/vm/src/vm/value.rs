//! Operands, and the dispatch loop of value blocks.

use super::scratch::Moment;
use super::{Message, Vm};
use crate::bytecode::chunk::{Block, Kept, Operand};
use crate::bytecode::instr::{BlockId, BlockKind, Instr, Reg, Registers};
use rulec_lang::builtins::within_budget_similarity;
use rulec_lang::operators::Implementation;
use rulec_lang::operators::implementations;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::ExternId;

impl<'a, M: Message<'a>> Vm<'a, M> {
    // Nearly all operands are slots.
    #[inline(always)]
    pub(super) fn operand(&mut self, operand: Operand) -> Value<'a> {
        match operand {
            Operand::Slot(slot) => *self.message.slot(slot.index()),
            _ => self.computed(operand),
        }
    }

    #[inline(never)]
    fn computed(&mut self, operand: Operand) -> Value<'a> {
        match operand {
            Operand::Slot(slot) => *self.message.slot(slot.index()),
            Operand::Const(constant) => self.constant(constant),
            Operand::Var(level) => self.var(level),
            Operand::Block(block) => self.eval(block),
            Operand::Missing => Value::Missing,
        }
    }

    fn constant(&self, constant: u32) -> Value<'a> {
        let chunk = self.chunk;
        chunk.consts.get(constant as usize).map_or(Value::Missing, |constant| constant.value())
    }

    fn var(&self, level: u32) -> Value<'a> {
        self.values.get(level as usize).copied().unwrap_or(Value::Missing)
    }

    /// Returns the value of a value block. If the block has a valid cached value, the block does
    /// not run again.
    pub fn eval(&mut self, id: BlockId) -> Value<'a> {
        let Some(block) = self.chunk.blocks.get(id as usize).filter(|b| b.kind == BlockKind::Value) else {
            return Value::Missing;
        };
        let Some(Kept { cell, varies }) = block.kept else { return self.eval_now(block) };
        let (cell, at) = (cell as usize, self.chunk.levels as usize + cell as usize);
        let moment = Moment { epoch: self.memo.epoch, element: if varies { self.element } else { 0 } };
        if self.cached.get(cell) == Some(&moment) {
            return self.values.get(at).copied().unwrap_or(Value::Missing);
        }
        let value = if varies { self.eval_now(block) } else { self.outside(|vm| vm.eval_now(block)) };
        if let (Some(stamp), Some(kept)) = (self.cached.get_mut(cell), self.values.get_mut(at)) {
            (*stamp, *kept) = (moment, value);
        }
        value
    }

    fn eval_now(&mut self, block: &Block) -> Value<'a> {
        let base = self.values.len();
        self.values.resize(base + block.frame(), Value::Missing);
        let value = self.compute(block.start as usize, base);
        self.values.truncate(base);
        value
    }

    fn get(&self, base: usize, register: Reg) -> Value<'a> {
        self.values.get(base + usize::from(register)).copied().unwrap_or(Value::Missing)
    }

    /// Runs a value block: the dispatch loop.
    fn compute(&mut self, start: usize, base: usize) -> Value<'a> {
        let chunk = self.chunk;
        let mut pc = start;
        loop {
            let Some(instr) = chunk.instrs.get(pc) else { return Value::Missing };
            pc += 1;
            let (dst, value) = match *instr {
                Instr::Slot { dst, slot } => (dst, *self.message.slot(slot as usize)),
                Instr::Const { dst, constant } => (dst, self.constant(constant)),
                Instr::Var { dst, level } => (dst, self.var(level)),
                Instr::Eval { dst, block } => (dst, self.eval(block)),
                Instr::Field { dst, base: object, key } => {
                    let object = self.get(base, object);
                    let key = chunk.strings.get(key as usize);
                    (dst, key.map_or(Value::Missing, |key| object.field(key)))
                }
                Instr::Index { dst, base: object, key } => {
                    (dst, self.get(base, object).index(self.get(base, key)))
                }
                Instr::Read { dst, src, kinds } => (dst, self.get(base, src).read(kinds)),
                Instr::List { dst, items } => {
                    (dst, self.arena.list(self.window(base, items).iter().copied()))
                }
                Instr::Binary { op, dst, left, right } => {
                    (dst, combine(op, self.get(base, left), self.get(base, right)))
                }
                Instr::Unary { op, dst, src } => (dst, combine(op, self.get(base, src), Value::Missing)),
                Instr::Call { function, dst, args } => {
                    (dst, function.call(self.window(base, args), self.arena))
                }
                Instr::Similar { dst, src, to } => {
                    let score = match (self.get(base, src), self.pools.similar.get(to as usize)) {
                        (Value::Str(text), Some(other))
                            if within_budget_similarity(
                                text.chars().count(),
                                other.char_count(),
                                self.arena,
                            ) =>
                        {
                            implementations::finite(other.score(text, self.similarity))
                        }
                        _ => Value::Missing,
                    };
                    (dst, score)
                }
                Instr::Extern { dst, args, function } => {
                    let first = base + usize::from(args.first);
                    let args = self.values.get(first..first + usize::from(args.len)).unwrap_or_default();
                    (dst, self.hosts.call(ExternId(function), args, self.arena))
                }
                Instr::Count { dst, each } => (dst, self.count(each)),
                Instr::Quantifier { dst, each, fails } => (dst, self.quantifier(each, fails)),
                Instr::Cond { dst, holds, fails } => {
                    let value = if self.condition(holds) {
                        Value::Bool(true)
                    } else if self.condition(fails) {
                        Value::Bool(false)
                    } else {
                        Value::Missing
                    };
                    (dst, value)
                }
                Instr::IfPresent { src, to } => {
                    if !self.get(base, src).is_missing() {
                        pc = to as usize;
                    }
                    continue;
                }
                Instr::IfNot { block, to } => {
                    if !self.condition(block) {
                        pc = to as usize;
                    }
                    continue;
                }
                Instr::Jump { to } => {
                    pc = to as usize;
                    continue;
                }
                Instr::Yield { src } => return self.get(base, src),
                _ => return Value::Missing,
            };
            if let Some(register) = self.values.get_mut(base + usize::from(dst)) {
                *register = value;
            }
        }
    }

    fn window(&self, base: usize, Registers { first, len }: Registers) -> &[Value<'a>] {
        let first = base + usize::from(first);
        self.values.get(first..first + usize::from(len)).unwrap_or_default()
    }

    /// Returns the number of elements for which a loop's condition is true; missing if the operand
    /// is no list.
    fn count(&mut self, each: u32) -> Value<'a> {
        let Some(each) = self.chunk.loops.get(each as usize).copied() else { return Value::Missing };
        let list = self.operand(each.list);
        let count = |vm: &mut Self| {
            let elements = list.elements().into_iter().flatten();
            elements.map(|element| i64::from(vm.holds_for(&each, element))).sum()
        };
        self.run_loop(&each, list, count).map_or(Value::Missing, Value::Int)
    }

    /// Returns the truth value of `any` or `all` over a list. Missing if the truth value is
    /// unknown, or if the operand is no list.
    fn quantifier(&mut self, each: u32, fails: BlockId) -> Value<'a> {
        let Some(each) = self.chunk.loops.get(each as usize).copied() else { return Value::Missing };
        let list = self.operand(each.list);
        let truth = |vm: &mut Self| {
            let results = list.elements().into_iter().flatten().map(|element| {
                if vm.holds_for(&each, element) {
                    Tri::True
                } else if vm.condition(fails) {
                    Tri::False
                } else {
                    Tri::Unknown
                }
            });
            if each.all { Tri::all(results) } else { Tri::any(results) }
        };
        self.run_loop(&each, list, truth).map_or(Value::Missing, Value::from)
    }
}

fn combine<'a>(op: rulec_lang::operators::Op, left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match op.info().implementation {
        Implementation::Value(meaning) => meaning(left, right),
        _ => Value::Missing,
    }
}
