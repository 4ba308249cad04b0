//! Compiles arithmetic on numbers to machine instructions on registers, so that most conditions
//! with computed values need no call of the VM.
//!
//! A *value block* is a block of bytecode that computes a value. Only value blocks that compute
//! with numbers are compiled here; the VM computes all others. If a compiled block reads a point in
//! time or a decimal at run time, the VM runs the block instead. A value in registers has a *tag*,
//! which identifies its type, and a *payload*, the data.

use super::body::{AnyHelpers, FunctionBody, Scalar, TagSet};
use super::{JitError, malformed_bytecode_error};
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

/// Maximum number of instructions in a block that is compiled inline, including the blocks that it
/// uses. The VM computes larger blocks and caches their values for the decision.
/// Compared with other values in benches/notes/constants.md.
const MAX_INLINE_INSTRS: u32 = 48;

/// Cranelift variables that hold the tag (type) and the payload (data) of one bytecode register.
#[derive(Clone, Copy)]
struct RegisterVars {
    tag: Variable,
    bits: Variable,
}

/// The bytecode registers that were set so far in a block, with the tags (types) that each may have
/// at the current instruction.
#[derive(Default)]
struct RegisterState {
    /// The pair of Cranelift variables of each bytecode register. The pair is the same on all
    /// control flow paths.
    variables: HashMap<Reg, RegisterVars>,
    tags: HashMap<Reg, TagSet>,
    /// For each jump target, its Cranelift block, and the tags (types) that registers may have when
    /// code jumps there.
    jump_targets: HashMap<u32, (Block, HashMap<Reg, TagSet>)>,
}

/// Returns the number of instructions of each block, including the instructions of the blocks that
/// it uses. `None` for a block that is not compiled inline.
pub(super) fn inline_sizes(chunk: &Chunk) -> Vec<Option<u32>> {
    let mut sizes: Vec<Option<u32>> = Vec::with_capacity(chunk.blocks.len());
    for block in &chunk.blocks {
        // A block uses only earlier blocks.
        let size = inline_size(chunk, block, &sizes).filter(|size| *size <= MAX_INLINE_INSTRS);
        sizes.push(size);
    }
    sizes
}

fn inline_size(chunk: &Chunk, block: &Code, sizes: &[Option<u32>]) -> Option<u32> {
    let instrs = chunk.instrs.get(block.start as usize..block.end as usize)?;
    if block.kind != BlockKind::Value || instrs.len() > MAX_INLINE_INSTRS as usize {
        return None;
    }
    let mut sum = instrs.len() as u32;
    for instr in instrs {
        match *instr {
            Instr::Slot { .. } | Instr::IfPresent { .. } | Instr::Yield { .. } => {}
            Instr::Const { constant: id, .. } => drop(constant_for_registers(chunk, id)?),
            Instr::Binary { op: Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem, .. }
            | Instr::Unary { op: Op::Neg, .. } => {}
            // A block that is not compiled inline becomes a call, which adds no inline instruction.
            Instr::Eval { block, .. } => sum += sizes.get(block as usize)?.unwrap_or(0),
            _ => return None,
        }
    }
    Some(sum)
}

/// Returns the tag (type marker) of the constant with the index `id`, and the first eight bytes of
/// its payload (data). `None` if the constant does not fit into registers.
pub(super) fn constant_for_registers(chunk: &Chunk, id: u32) -> Option<(TagSet, u64)> {
    Some(match chunk.consts.get(id as usize)?.value() {
        Known::Missing => (TagSet::MISSING_ONLY, 0),
        Known::Bool(value) => (TagSet::single(layout::BOOL_TAG), value.into()),
        Known::Int(value) => (TagSet::single(layout::INT_TAG), value as u64),
        Known::Wide(value) => (TagSet::single(layout::WIDE_TAG), value),
        Known::Float(value) => (TagSet::single(layout::FLOAT_TAG), value.to_bits()),
        _ => return None,
    })
}

impl FunctionBody<'_, '_, '_> {
    pub fn is_inline_block(&self, block: BlockId) -> bool {
        self.lowering.inline_sizes.get(block as usize).is_some_and(Option::is_some)
    }

    /// Emits inline code for a block that computes a value, and returns the value. Precondition:
    /// the block has a size in [`inline_sizes`].
    pub fn emit_value_block(&mut self, id: BlockId) -> Result<Scalar, JitError> {
        let code = self.lowering.bytecode;
        let block = code.chunk().blocks.get(id as usize).copied();
        let Code { start, end, .. } = block.ok_or_else(|| malformed_bytecode_error("no value block"))?;
        let instrs = code.chunk().instrs.get(start as usize..end as usize);
        let instrs = instrs.ok_or_else(|| malformed_bytecode_error("a block outside the code"))?;

        let done_block = self.builder.create_block();
        self.builder.append_block_param(done_block, types::I8);
        self.builder.append_block_param(done_block, types::I64);
        let slow_block = self.create_cold_block();
        let mut is_slow_used = false;
        let (mut result_tags, mut registers) = (TagSet(0), RegisterState::default());
        let mut reachable = true;
        for (pc, instr) in (start..).zip(instrs) {
            reachable = self.begin_at_jump_target(&mut registers, pc, reachable);
            if !reachable {
                continue;
            }
            match *instr {
                Instr::Slot { dst, slot } => {
                    let scalar = self.emit_slot_scalar(slot);
                    self.set_register(&mut registers, dst, scalar);
                }
                Instr::Const { dst, constant } => {
                    let constant = self::constant_for_registers(code.chunk(), constant);
                    let scalar =
                        self.scalar_const(constant.ok_or_else(|| malformed_bytecode_error("no constant"))?);
                    self.set_register(&mut registers, dst, scalar);
                }
                Instr::Eval { dst, block } => {
                    let scalar = match self.is_inline_block(block) {
                        true => self.emit_value_block(block)?,
                        false => self.emit_vm_eval(block),
                    };
                    self.set_register(&mut registers, dst, scalar);
                }
                Instr::Binary { op, dst, left, right } => {
                    let (left, right) = (
                        self.scalar_of_register(&registers, left),
                        self.scalar_of_register(&registers, right),
                    );
                    is_slow_used |= self.emit_operand_guards(op, left, right, slow_block);
                    let scalar = self.emit_binary_operator(op, left, right);
                    self.set_register(&mut registers, dst, scalar);
                }
                Instr::Unary { dst, src, .. } => {
                    let operand = self.scalar_of_register(&registers, src);
                    is_slow_used |= self.emit_tag_guard(operand, layout::WIDE_TAG, slow_block);
                    is_slow_used |= self.emit_tag_guard(operand, layout::DECIMAL_TAG, slow_block);
                    let scalar = self.emit_negation(operand);
                    self.set_register(&mut registers, dst, scalar);
                }
                Instr::IfPresent { src, to } => {
                    if to <= pc || to >= end {
                        return Err(malformed_bytecode_error("a jump out of its block"));
                    }
                    self.emit_jump_if_present(&mut registers, src, to);
                }
                Instr::Yield { src } => {
                    let Scalar { tags, tag, bits } = self.scalar_of_register(&registers, src);
                    result_tags = result_tags.union(tags);
                    self.builder.ins().jump(done_block, &[tag.into(), bits.into()]);
                    reachable = false;
                }
                _ => return Err(malformed_bytecode_error("an instruction out of its kind of block")),
            }
        }
        if reachable {
            return Err(malformed_bytecode_error("a value block without an end"));
        }
        if is_slow_used {
            self.switch_to(slow_block);
            let Scalar { tag, bits, .. } = self.emit_vm_eval(id);
            self.builder.ins().jump(done_block, &[tag.into(), bits.into()]);
            result_tags = TagSet::ALL;
        }
        self.switch_to(done_block);
        let (tag, bits) =
            (self.builder.block_params(done_block)[0], self.builder.block_params(done_block)[1]);
        Ok(Scalar { tags: result_tags, tag, bits })
    }

    /// Emits jumps to `slow_block`, which are taken if an operand has a type for which the operator
    /// has no inline code. Returns false if it emitted no jump. The caller must fill `slow_block`
    /// only if there is a jump.
    fn emit_operand_guards(&mut self, op: Op, left: Scalar, right: Scalar, slow_block: Block) -> bool {
        let mut is_emitted = false;
        for side in [left, right] {
            is_emitted |= self.emit_tag_guard(side, layout::WIDE_TAG, slow_block);
            is_emitted |= self.emit_tag_guard(side, layout::DECIMAL_TAG, slow_block);
        }
        // Seconds can be added to a point in time, or subtracted from it. In a sum, either operand
        // may be the point in time.
        if matches!(op, Op::Add | Op::Sub) {
            is_emitted |= self.emit_tag_guard(left, layout::DATETIME_TAG, slow_block);
        }
        if op == Op::Add {
            is_emitted |= self.emit_tag_guard(right, layout::DATETIME_TAG, slow_block);
        }
        is_emitted
    }

    /// Emits a jump to `slow_block`, which is taken if the value has this tag (type). Returns
    /// false, and emits nothing, if the value cannot have the tag.
    fn emit_tag_guard(&mut self, value: Scalar, tag: u8, slow_block: Block) -> bool {
        let is_possible = value.tags.has(tag);
        if is_possible {
            self.emit_jump_if_tag(value.tag, tag, slow_block);
        }
        is_possible
    }

    /// Begins a new Cranelift block if the instruction at `pc` is a jump target. `reachable` is
    /// true if control also reaches that instruction from the previous one. Returns whether the
    /// instruction at `pc` is reachable.
    fn begin_at_jump_target(&mut self, registers: &mut RegisterState, pc: u32, reachable: bool) -> bool {
        let Some((block, jump_tags)) = registers.jump_targets.remove(&pc) else { return reachable };
        if reachable {
            self.builder.ins().jump(block, &[]);
        }
        self.switch_to(block);
        registers.tags = if reachable { merge_register_tags(&registers.tags, &jump_tags) } else { jump_tags };
        true
    }

    fn emit_jump_if_present(&mut self, registers: &mut RegisterState, src: Reg, target_pc: u32) {
        let operand = self.scalar_of_register(registers, src);
        let mut tags_at_target = registers.tags.clone();
        if let Some(tags) = tags_at_target.get_mut(&src) {
            *tags = TagSet(tags.0 & !TagSet::MISSING_ONLY.0);
        }
        let (target, merged_tags) = match registers.jump_targets.remove(&target_pc) {
            Some((block, other)) => (block, merge_register_tags(&other, &tags_at_target)),
            None => (self.builder.create_block(), tags_at_target),
        };
        registers.jump_targets.insert(target_pc, (target, merged_tags));
        let next = self.builder.create_block();
        let is_missing = self.emit_tag_test(operand.tag, layout::MISSING_TAG);
        self.builder.ins().brif(is_missing, next, &[], target, &[]);
        self.switch_to(next);
    }

    /// Emits a jump to the block `target` if the tag (type) of a value is `jump_tag`.
    fn emit_jump_if_tag(&mut self, tag: Value, jump_tag: u8, target: Block) {
        let next = self.builder.create_block();
        let is_jump_tag = self.emit_tag_test(tag, jump_tag);
        self.builder.ins().brif(is_jump_tag, target, &[], next, &[]);
        self.switch_to(next);
    }

    /// Emits a call by which the VM runs a block of bytecode. Returns the value that the block
    /// computes.
    fn emit_vm_eval(&mut self, block: BlockId) -> Scalar {
        let block = self.int_const(block.into());
        let address = self.emit_helper_call(offset_of!(AnyHelpers, eval_block), &[block]);
        let flags = MemFlags::trusted();
        let tag = self.builder.ins().load(types::I8, flags, address, 0);
        let bits = self.builder.ins().load(types::I64, flags, address, layout::PAYLOAD_OFFSET as i32);
        let bits = self.clear_unused_bytes(TagSet::ALL, tag, bits);
        Scalar { tags: TagSet::ALL, tag, bits }
    }

    /// Emits code that clears all but the first byte of a value's payload if the value is a bool. A
    /// bool has only one byte; the bytes after it are arbitrary. Returns the payload.
    fn clear_unused_bytes(&mut self, tags: TagSet, tag: Value, bits: Value) -> Value {
        if !tags.has(layout::BOOL_TAG) {
            return bits;
        }
        let is_bool = self.emit_tag_test(tag, layout::BOOL_TAG);
        let byte = self.builder.ins().band_imm(bits, 0xff);
        self.builder.ins().select(is_bool, byte, bits)
    }

    fn emit_slot_scalar(&mut self, slot: u32) -> Scalar {
        let tags = self.slot_source(SlotId(slot)).tags();
        let (unread_block, read_block) = (self.create_cold_block(), self.builder.create_block());
        let tag = self.load_slot_field(types::I8, slot, 0);
        let is_unread = self.emit_tag_test(tag, layout::UNREAD_TAG);
        self.builder.ins().brif(is_unread, unread_block, &[], read_block, &[]);
        self.switch_to(unread_block);
        self.emit_slot_read(slot);
        self.builder.ins().jump(read_block, &[]);
        self.switch_to(read_block);
        let tag = self.load_slot_field(types::I8, slot, 0);
        let bits = self.load_slot_field(types::I64, slot, layout::PAYLOAD_OFFSET);
        let bits = self.clear_unused_bytes(tags, tag, bits);
        Scalar { tags, tag, bits }
    }

    fn set_register(&mut self, registers: &mut RegisterState, register: Reg, scalar: Scalar) {
        let RegisterVars { tag, bits } =
            *registers.variables.entry(register).or_insert_with(|| RegisterVars {
                tag: self.builder.declare_var(types::I8),
                bits: self.builder.declare_var(types::I64),
            });
        self.builder.def_var(tag, scalar.tag);
        self.builder.def_var(bits, scalar.bits);
        registers.tags.insert(register, scalar.tags);
    }

    /// Returns the value of a bytecode register, or a missing value if no instruction has set the
    /// register yet.
    fn scalar_of_register(&mut self, registers: &RegisterState, register: Reg) -> Scalar {
        match (registers.variables.get(&register), registers.tags.get(&register)) {
            (Some(RegisterVars { tag, bits }), Some(tags)) => {
                Scalar { tags: *tags, tag: self.builder.use_var(*tag), bits: self.builder.use_var(*bits) }
            }
            _ => self.scalar_const((TagSet::MISSING_ONLY, 0)),
        }
    }

    /// Emits an arithmetic operator and returns its result. The result is missing if an operand is
    /// not a number, or if the computed number is out of range.
    fn emit_binary_operator(&mut self, op: Op, left: Scalar, right: Scalar) -> Scalar {
        let done_block = self.builder.create_block();
        let tag = self.builder.append_block_param(done_block, types::I8);
        let bits = self.builder.append_block_param(done_block, types::I64);
        let (int, float) = (layout::INT_TAG, layout::FLOAT_TAG);
        let mut tags = TagSet::MISSING_ONLY;
        let may_be_ints = op != Op::Div && left.tags.has(int) && right.tags.has(int);
        if may_be_ints {
            tags = tags.union(TagSet::single(int));
            let (numbers_block, other_block) = (self.builder.create_block(), self.builder.create_block());
            let (l, r) = (self.emit_tag_test(left.tag, int), self.emit_tag_test(right.tag, int));
            let are_numbers = self.builder.ins().band(l, r);
            self.builder.ins().brif(are_numbers, numbers_block, &[], other_block, &[]);
            self.switch_to(numbers_block);
            let (has_failed, value) = self.emit_int_operator(op, left.bits, right.bits);
            let (missing, int) = (self.tag_const(layout::MISSING_TAG), self.tag_const(int));
            let tag = self.builder.ins().select(has_failed, missing, int);
            self.builder.ins().jump(done_block, &[tag.into(), value.into()]);
            self.switch_to(other_block);
        }
        let may_be_floats = left.tags.may_be_number()
            && right.tags.may_be_number()
            && (op == Op::Div || left.tags.has(float) || right.tags.has(float));
        if may_be_floats {
            tags = tags.union(TagSet::single(float));
            let (numbers_block, other_block) = (self.builder.create_block(), self.builder.create_block());
            let (l, r) = (self.emit_is_number(left), self.emit_is_number(right));
            let are_numbers = self.builder.ins().band(l, r);
            self.builder.ins().brif(are_numbers, numbers_block, &[], other_block, &[]);
            self.switch_to(numbers_block);
            let (l, r) = (self.emit_as_float(left), self.emit_as_float(right));
            let value = match op {
                Op::Add => self.builder.ins().fadd(l, r),
                Op::Sub => self.builder.ins().fsub(l, r),
                Op::Mul => self.builder.ins().fmul(l, r),
                Op::Div => self.builder.ins().fdiv(l, r),
                _ => {
                    let helper = offset_of!(AnyHelpers, remainder);
                    self.emit_plain_call(helper, &[types::F64; 2], types::F64, &[l, r])
                }
            };
            let magnitude = self.builder.ins().fabs(value);
            let infinite = self.builder.ins().f64const(f64::INFINITY);
            let is_finite = self.builder.ins().fcmp(FloatCC::LessThan, magnitude, infinite);
            let (missing, float) = (self.tag_const(layout::MISSING_TAG), self.tag_const(float));
            let tag = self.builder.ins().select(is_finite, float, missing);
            let value = self.builder.ins().bitcast(types::I64, MemFlags::new(), value);
            self.builder.ins().jump(done_block, &[tag.into(), value.into()]);
            self.switch_to(other_block);
        }
        let (missing, zero) = (self.tag_const(layout::MISSING_TAG), self.int_const(0));
        self.builder.ins().jump(done_block, &[missing.into(), zero.into()]);
        self.switch_to(done_block);
        Scalar { tags, tag, bits }
    }

    /// Emits an operator on two integers. Returns a flag that is set on overflow or division by
    /// zero, and the result.
    fn emit_int_operator(&mut self, op: Op, a: Value, b: Value) -> (Value, Value) {
        let overflows = |body: &mut Self, value: Value, a: Value, b: Value| {
            // Overflow: the result's sign differs from the signs of both operands.
            let (x, y) = (body.builder.ins().bxor(a, value), body.builder.ins().bxor(b, value));
            let both_signs = body.builder.ins().band(x, y);
            body.builder.ins().icmp_imm(IntCC::SignedLessThan, both_signs, 0)
        };
        match op {
            Op::Add => {
                let value = self.builder.ins().iadd(a, b);
                (overflows(self, value, a, b), value)
            }
            Op::Sub => {
                let value = self.builder.ins().isub(a, b);
                let not = self.builder.ins().bnot(b);
                (overflows(self, value, a, not), value)
            }
            Op::Mul => {
                let value = self.builder.ins().imul(a, b);
                let high = self.builder.ins().smulhi(a, b);
                let sign = self.builder.ins().sshr_imm(value, 63);
                (self.builder.ins().icmp(IntCC::NotEqual, high, sign), value)
            }
            _ => {
                // The processor cannot divide by 0, and dividing the least integer by -1 overflows,
                // so both divisors are replaced by 1. Division by 0 has no remainder, which
                // `by_zero` reports. Division by -1 leaves the remainder 0, as does division by 1.
                let by_zero = self.builder.ins().icmp_imm(IntCC::Equal, b, 0);
                let by_minus_one = self.builder.ins().icmp_imm(IntCC::Equal, b, -1);
                let is_special = self.builder.ins().bor(by_zero, by_minus_one);
                let one_const = self.int_const(1);
                let divisor = self.builder.ins().select(is_special, one_const, b);
                (by_zero, self.builder.ins().srem(a, divisor))
            }
        }
    }

    fn emit_is_number(&mut self, scalar: Scalar) -> Value {
        let tag_distance = self.builder.ins().iadd_imm(scalar.tag, -i64::from(layout::INT_TAG));
        self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, tag_distance, 2)
    }

    fn emit_as_float(&mut self, scalar: Scalar) -> Value {
        let Scalar { tags, tag, bits } = scalar;
        let float = self.builder.ins().bitcast(types::F64, MemFlags::new(), bits);
        if !tags.has(layout::INT_TAG) {
            return float;
        }
        let converted = self.builder.ins().fcvt_from_sint(types::F64, bits);
        if !tags.has(layout::FLOAT_TAG) {
            return converted;
        }
        let is_int = self.emit_tag_test(tag, layout::INT_TAG);
        self.builder.ins().select(is_int, converted, float)
    }

    fn emit_negation(&mut self, operand: Scalar) -> Scalar {
        let Scalar { tags, tag, bits } = operand;
        let (is_int, is_float) =
            (self.emit_tag_test(tag, layout::INT_TAG), self.emit_tag_test(tag, layout::FLOAT_TAG));
        let negated_int = self.builder.ins().ineg(bits);
        let negated_float = self.builder.ins().bxor_imm(bits, i64::MIN);
        let value = self.builder.ins().select(is_int, negated_int, negated_float);
        let can_negate = self.builder.ins().icmp_imm(IntCC::NotEqual, bits, i64::MIN);
        let int = self.builder.ins().band(is_int, can_negate);
        let has_result = self.builder.ins().bor(int, is_float);
        let missing = self.tag_const(layout::MISSING_TAG);
        let tag = self.builder.ins().select(has_result, tag, missing);
        let numbers = TagSet::single(layout::INT_TAG).union(TagSet::single(layout::FLOAT_TAG));
        Scalar { tags: TagSet(tags.0 & numbers.0).union(TagSet::MISSING_ONLY), tag, bits: value }
    }
}

/// Merges the possible tags (types) of each register where two control flow paths meet. A register
/// that only one path has set may be missing: on the other path, its tag variable is zero, which is
/// the tag of a missing value.
fn merge_register_tags(a: &HashMap<Reg, TagSet>, b: &HashMap<Reg, TagSet>) -> HashMap<Reg, TagSet> {
    let merged = |register: &Reg| match (a.get(register), b.get(register)) {
        (Some(a), Some(b)) => a.union(*b),
        (Some(tags), None) | (None, Some(tags)) => tags.union(TagSet::MISSING_ONLY),
        (None, None) => TagSet::MISSING_ONLY,
    };
    a.keys().chain(b.keys()).map(|register| (*register, merged(register))).collect()
}
