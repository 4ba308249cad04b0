//! Value blocks that compute with numbers, compiled to arithmetic in registers. The VM computes all
//! other value blocks. It also computes a compiled block that reads a point in time at run time.

use super::body::{AnyHelpers, Body, Scalar, Tags};
use super::{JitError, malformed};
use crate::code::layout;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value, types};
use cranelift_frontend::Variable;
use hashbrown::HashMap;
use rulec_lang::operators::Op;
use rulec_lang::value::Value as Known;
use rulec_sema::hir::SlotId;
use rulec_vm::bytecode::Chunk;
use rulec_vm::bytecode::chunk::Block as Code;
use rulec_vm::bytecode::instr::{BlockId, BlockKind, Instr, Reg};
use std::mem::offset_of;

/// Maximum number of instructions in an inline block, with the blocks that it uses. Larger blocks
/// are computed by the VM, which caches the value for the decision.
const SIZE: u32 = 48;

/// Cranelift variables for the tag and the payload of a register of a value block.
#[derive(Clone, Copy)]
struct Register {
    tag: Variable,
    bits: Variable,
}

/// Registers of a value block that have been set, with the tags that each may have.
#[derive(Default)]
struct Registers {
    /// One pair of variables for each register, on all control flow paths.
    places: HashMap<Reg, Register>,
    tags: HashMap<Reg, Tags>,
    /// For each jump target, its Cranelift block, and the tags that registers may have on jumps to
    /// it.
    targets: HashMap<u32, (Block, HashMap<Reg, Tags>)>,
}

/// Returns for each block its number of instructions when compiled inline, with the blocks that it
/// uses. `None` for a block that is not compiled inline.
pub(super) fn sizes(chunk: &Chunk) -> Vec<Option<u32>> {
    let mut sizes: Vec<Option<u32>> = Vec::with_capacity(chunk.blocks.len());
    for block in &chunk.blocks {
        // A block uses only earlier blocks.
        let size = size(chunk, block, &sizes).filter(|size| *size <= SIZE);
        sizes.push(size);
    }
    sizes
}

fn size(chunk: &Chunk, block: &Code, sizes: &[Option<u32>]) -> Option<u32> {
    let instrs = chunk.instrs.get(block.start as usize..block.end as usize)?;
    if block.kind != BlockKind::Value || instrs.len() > SIZE as usize {
        return None;
    }
    let mut sum = instrs.len() as u32;
    for instr in instrs {
        match *instr {
            Instr::Slot { .. } | Instr::IfPresent { .. } | Instr::Yield { .. } => {}
            Instr::Const { constant: id, .. } => drop(constant(chunk, id)?),
            Instr::Binary { op: Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem, .. }
            | Instr::Unary { op: Op::Neg, .. } => {}
            // A block that is not compiled inline is a call.
            Instr::Eval { block, .. } => sum += sizes.get(block as usize)?.unwrap_or(0),
            _ => return None,
        }
    }
    Some(sum)
}

/// Returns a constant that fits into registers as its tag and the first eight bytes of its payload;
/// else `None`.
pub(super) fn constant(chunk: &Chunk, id: u32) -> Option<(Tags, u64)> {
    Some(match chunk.consts.get(id as usize)?.value() {
        Known::Missing => (Tags::MISSING, 0),
        Known::Bool(value) => (Tags::single(layout::BOOL), value.into()),
        Known::Int(value) => (Tags::single(layout::INT), value as u64),
        Known::Float(value) => (Tags::single(layout::FLOAT), value.to_bits()),
        _ => return None,
    })
}

impl Body<'_, '_, '_> {
    pub fn is_arithmetic(&self, block: BlockId) -> bool {
        self.lowering.arithmetic.get(block as usize).is_some_and(Option::is_some)
    }

    /// Emits inline code for a value block that `sizes` accepted, and returns the block's value.
    pub fn value(&mut self, id: BlockId) -> Result<Scalar, JitError> {
        let code = self.lowering.code;
        let block = code.chunk().blocks.get(id as usize).copied();
        let Code { start, end, .. } = block.ok_or_else(|| malformed("no value block"))?;
        let instrs = code.chunk().instrs.get(start as usize..end as usize);
        let instrs = instrs.ok_or_else(|| malformed("a block outside the code"))?;

        let done = self.b.create_block();
        self.b.append_block_param(done, types::I8);
        self.b.append_block_param(done, types::I64);
        let slow = self.cold();
        let mut slow_used = false;
        let (mut out, mut registers) = (Tags(0), Registers::default());
        let mut reachable = true;
        for (pc, instr) in (start..).zip(instrs) {
            reachable = self.join(&mut registers, pc, reachable);
            if !reachable {
                continue;
            }
            match *instr {
                Instr::Slot { dst, slot } => {
                    let scalar = self.scalar_of_slot(slot);
                    self.set(&mut registers, dst, scalar);
                }
                Instr::Const { dst, constant } => {
                    let constant = self::constant(code.chunk(), constant);
                    let scalar = self.scalar(constant.ok_or_else(|| malformed("no constant"))?);
                    self.set(&mut registers, dst, scalar);
                }
                Instr::Eval { dst, block } => {
                    let scalar = match self.is_arithmetic(block) {
                        true => self.value(block)?,
                        false => self.eval(block),
                    };
                    self.set(&mut registers, dst, scalar);
                }
                Instr::Binary { op, dst, left, right } => {
                    let (left, right) = (self.get(&registers, left), self.get(&registers, right));
                    // Seconds can be added to a time, or subtracted from it. In a sum, the time may
                    // be on either side.
                    for (side, may) in [(left, matches!(op, Op::Add | Op::Sub)), (right, op == Op::Add)] {
                        if may && side.tags.has(layout::DATETIME) {
                            slow_used = true;
                            self.leave_when(side.tag, layout::DATETIME, slow);
                        }
                    }
                    let scalar = self.binary(op, left, right);
                    self.set(&mut registers, dst, scalar);
                }
                Instr::Unary { dst, src, .. } => {
                    let operand = self.get(&registers, src);
                    let scalar = self.negated(operand);
                    self.set(&mut registers, dst, scalar);
                }
                Instr::IfPresent { src, to } => {
                    if to <= pc || to >= end {
                        return Err(malformed("a jump out of its block"));
                    }
                    self.jump_if_present(&mut registers, src, to);
                }
                Instr::Yield { src } => {
                    let Scalar { tags, tag, bits } = self.get(&registers, src);
                    out = out.or(tags);
                    self.b.ins().jump(done, &[tag.into(), bits.into()]);
                    reachable = false;
                }
                _ => return Err(malformed("an instruction out of its kind of block")),
            }
        }
        if reachable {
            return Err(malformed("a value block without an end"));
        }
        if slow_used {
            self.go(slow);
            let Scalar { tag, bits, .. } = self.eval(id);
            self.b.ins().jump(done, &[tag.into(), bits.into()]);
            out = Tags::ALL;
        }
        self.go(done);
        let (tag, bits) = (self.b.block_params(done)[0], self.b.block_params(done)[1]);
        Ok(Scalar { tags: out, tag, bits })
    }

    /// Begins the Cranelift block of an instruction if the instruction is a jump target. Returns
    /// whether the instruction is reachable.
    fn join(&mut self, registers: &mut Registers, pc: u32, reachable: bool) -> bool {
        let Some((block, other)) = registers.targets.remove(&pc) else { return reachable };
        if reachable {
            self.b.ins().jump(block, &[]);
        }
        self.go(block);
        registers.tags = if reachable { meet(&registers.tags, &other) } else { other };
        true
    }

    fn jump_if_present(&mut self, registers: &mut Registers, src: Reg, to: u32) {
        let operand = self.get(registers, src);
        let mut there = registers.tags.clone();
        if let Some(tags) = there.get_mut(&src) {
            *tags = Tags(tags.0 & !Tags::MISSING.0);
        }
        let (target, kept) = match registers.targets.remove(&to) {
            Some((block, other)) => (block, meet(&other, &there)),
            None => (self.b.create_block(), there),
        };
        registers.targets.insert(to, (target, kept));
        let next = self.b.create_block();
        let is_missing = self.is(operand.tag, layout::MISSING);
        self.b.ins().brif(is_missing, next, &[], target, &[]);
        self.go(next);
    }

    /// Emits a jump to the block `to` for values whose tag is `unwanted`.
    fn leave_when(&mut self, tag: Value, unwanted: u8, to: Block) {
        let go_on = self.b.create_block();
        let is_it = self.is(tag, unwanted);
        self.b.ins().brif(is_it, to, &[], go_on, &[]);
        self.go(go_on);
    }

    /// Emits a call that lets the VM compute a value block.
    fn eval(&mut self, block: BlockId) -> Scalar {
        let block = self.number(block.into());
        let at = self.call(offset_of!(AnyHelpers, eval), &[block]);
        let flags = MemFlags::trusted();
        let tag = self.b.ins().load(types::I8, flags, at, 0);
        let bits = self.b.ins().load(types::I64, flags, at, layout::PAYLOAD as i32);
        let bits = self.whole(Tags::ALL, tag, bits);
        Scalar { tags: Tags::ALL, tag, bits }
    }

    /// Clears the unused bytes of the payload if the value is a bool.
    fn whole(&mut self, tags: Tags, tag: Value, bits: Value) -> Value {
        if !tags.has(layout::BOOL) {
            return bits;
        }
        let is_bool = self.is(tag, layout::BOOL);
        let byte = self.b.ins().band_imm(bits, 0xff);
        self.b.ins().select(is_bool, byte, bits)
    }

    fn scalar_of_slot(&mut self, slot: u32) -> Scalar {
        let tags = self.slot(SlotId(slot)).tags();
        let (unread, read) = (self.cold(), self.b.create_block());
        let tag = self.load(types::I8, slot, 0);
        let is_unread = self.is(tag, layout::UNREAD);
        self.b.ins().brif(is_unread, unread, &[], read, &[]);
        self.go(unread);
        self.read(slot);
        self.b.ins().jump(read, &[]);
        self.go(read);
        let tag = self.load(types::I8, slot, 0);
        let bits = self.load(types::I64, slot, layout::PAYLOAD);
        let bits = self.whole(tags, tag, bits);
        Scalar { tags, tag, bits }
    }

    fn set(&mut self, registers: &mut Registers, register: Reg, scalar: Scalar) {
        let Register { tag, bits } = *registers.places.entry(register).or_insert_with(|| Register {
            tag: self.b.declare_var(types::I8),
            bits: self.b.declare_var(types::I64),
        });
        self.b.def_var(tag, scalar.tag);
        self.b.def_var(bits, scalar.bits);
        registers.tags.insert(register, scalar.tags);
    }

    /// Returns the value of a register; missing before the register is set.
    fn get(&mut self, registers: &Registers, register: Reg) -> Scalar {
        match (registers.places.get(&register), registers.tags.get(&register)) {
            (Some(Register { tag, bits }), Some(tags)) => {
                Scalar { tags: *tags, tag: self.b.use_var(*tag), bits: self.b.use_var(*bits) }
            }
            _ => self.scalar((Tags::MISSING, 0)),
        }
    }

    /// Emits an arithmetic operator. The result is missing if an operand is not a number, or the
    /// result is out of range.
    fn binary(&mut self, op: Op, left: Scalar, right: Scalar) -> Scalar {
        let done = self.b.create_block();
        let tag = self.b.append_block_param(done, types::I8);
        let bits = self.b.append_block_param(done, types::I64);
        let (int, float) = (layout::INT, layout::FLOAT);
        let mut tags = Tags::MISSING;
        let ints = op != Op::Div && left.tags.has(int) && right.tags.has(int);
        if ints {
            tags = tags.or(Tags::single(int));
            let (both, rest) = (self.b.create_block(), self.b.create_block());
            let (l, r) = (self.is(left.tag, int), self.is(right.tag, int));
            let is = self.b.ins().band(l, r);
            self.b.ins().brif(is, both, &[], rest, &[]);
            self.go(both);
            let (fails, value) = self.on_ints(op, left.bits, right.bits);
            let (missing, int) = (self.tag(layout::MISSING), self.tag(int));
            let tag = self.b.ins().select(fails, missing, int);
            self.b.ins().jump(done, &[tag.into(), value.into()]);
            self.go(rest);
        }
        let floats = left.tags.numeric()
            && right.tags.numeric()
            && (op == Op::Div || left.tags.has(float) || right.tags.has(float));
        if floats {
            tags = tags.or(Tags::single(float));
            let (both, rest) = (self.b.create_block(), self.b.create_block());
            let (l, r) = (self.is_number(left), self.is_number(right));
            let is = self.b.ins().band(l, r);
            self.b.ins().brif(is, both, &[], rest, &[]);
            self.go(both);
            let (l, r) = (self.as_float(left), self.as_float(right));
            let value = match op {
                Op::Add => self.b.ins().fadd(l, r),
                Op::Sub => self.b.ins().fsub(l, r),
                Op::Mul => self.b.ins().fmul(l, r),
                Op::Div => self.b.ins().fdiv(l, r),
                _ => {
                    let helper = offset_of!(AnyHelpers, rem);
                    self.call_plain(helper, &[types::F64; 2], types::F64, &[l, r])
                }
            };
            let size = self.b.ins().fabs(value);
            let infinite = self.b.ins().f64const(f64::INFINITY);
            let finite = self.b.ins().fcmp(FloatCC::LessThan, size, infinite);
            let (missing, float) = (self.tag(layout::MISSING), self.tag(float));
            let tag = self.b.ins().select(finite, float, missing);
            let value = self.b.ins().bitcast(types::I64, MemFlags::new(), value);
            self.b.ins().jump(done, &[tag.into(), value.into()]);
            self.go(rest);
        }
        let (missing, zero) = (self.tag(layout::MISSING), self.number(0));
        self.b.ins().jump(done, &[missing.into(), zero.into()]);
        self.go(done);
        Scalar { tags, tag, bits }
    }

    /// Emits an operator on two integers. Returns a flag that is set on overflow or division by
    /// zero, and the result.
    fn on_ints(&mut self, op: Op, a: Value, b: Value) -> (Value, Value) {
        let ins = |body: &mut Self, value: Value, a: Value, b: Value| {
            // Overflow: the result's sign differs from the signs of both operands.
            let (x, y) = (body.b.ins().bxor(a, value), body.b.ins().bxor(b, value));
            let both = body.b.ins().band(x, y);
            body.b.ins().icmp_imm(IntCC::SignedLessThan, both, 0)
        };
        match op {
            Op::Add => {
                let value = self.b.ins().iadd(a, b);
                (ins(self, value, a, b), value)
            }
            Op::Sub => {
                let value = self.b.ins().isub(a, b);
                let not = self.b.ins().bnot(b);
                (ins(self, value, a, not), value)
            }
            Op::Mul => {
                let value = self.b.ins().imul(a, b);
                let high = self.b.ins().smulhi(a, b);
                let sign = self.b.ins().sshr_imm(value, 63);
                (self.b.ins().icmp(IntCC::NotEqual, high, sign), value)
            }
            _ => {
                // Division by 0 has no remainder. Division by -1 leaves 0, as does division by 1,
                // which cannot overflow.
                let by_zero = self.b.ins().icmp_imm(IntCC::Equal, b, 0);
                let by_minus = self.b.ins().icmp_imm(IntCC::Equal, b, -1);
                let odd = self.b.ins().bor(by_zero, by_minus);
                let one = self.number(1);
                let by = self.b.ins().select(odd, one, b);
                (by_zero, self.b.ins().srem(a, by))
            }
        }
    }

    fn is_number(&mut self, scalar: Scalar) -> Value {
        let above = self.b.ins().iadd_imm(scalar.tag, -i64::from(layout::INT));
        self.b.ins().icmp_imm(IntCC::UnsignedLessThan, above, 2)
    }

    fn as_float(&mut self, scalar: Scalar) -> Value {
        let Scalar { tags, tag, bits } = scalar;
        let float = self.b.ins().bitcast(types::F64, MemFlags::new(), bits);
        if !tags.has(layout::INT) {
            return float;
        }
        let converted = self.b.ins().fcvt_from_sint(types::F64, bits);
        if !tags.has(layout::FLOAT) {
            return converted;
        }
        let is_int = self.is(tag, layout::INT);
        self.b.ins().select(is_int, converted, float)
    }

    fn negated(&mut self, operand: Scalar) -> Scalar {
        let Scalar { tags, tag, bits } = operand;
        let (is_int, is_float) = (self.is(tag, layout::INT), self.is(tag, layout::FLOAT));
        let minus = self.b.ins().ineg(bits);
        let float = self.b.ins().bxor_imm(bits, i64::MIN);
        let value = self.b.ins().select(is_int, minus, float);
        let fits = self.b.ins().icmp_imm(IntCC::NotEqual, bits, i64::MIN);
        let int = self.b.ins().band(is_int, fits);
        let is = self.b.ins().bor(int, is_float);
        let missing = self.tag(layout::MISSING);
        let tag = self.b.ins().select(is, tag, missing);
        let numbers = Tags::single(layout::INT).or(Tags::single(layout::FLOAT));
        Scalar { tags: Tags(tags.0 & numbers.0).or(Tags::MISSING), tag, bits: value }
    }
}

/// Merges the tags of registers where two control flow paths meet. A register set on only one path
/// may be missing, because its variable holds zeros on the other path.
fn meet(a: &HashMap<Reg, Tags>, b: &HashMap<Reg, Tags>) -> HashMap<Reg, Tags> {
    let either = |register: &Reg| match (a.get(register), b.get(register)) {
        (Some(a), Some(b)) => a.or(*b),
        (Some(one), None) | (None, Some(one)) => one.or(Tags::MISSING),
        (None, None) => Tags::MISSING,
    };
    a.keys().chain(b.keys()).map(|register| (*register, either(register))).collect()
}
