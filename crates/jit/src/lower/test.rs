//! Translates the bytecode instructions that evaluate a predicate and jump depending on its result,
//! and the predicates themselves.

use super::arith::constant_for_registers;
use super::body::{AnyHelpers, FunctionBody, OperandSource, PredTargets, Scalar, TagSet};
use super::{JitError, malformed_bytecode_error};
use crate::code::layout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value, types};
use cranelift_module::Module;
use rulec_lang::value::Tri;
use rulec_sema::hir::SlotId;
use rulec_sema::normal::TestKind;
use rulec_vm::bytecode::chunk::{Operand, Pred, PredCheck, SharedCondition};
use rulec_vm::bytecode::instr::{CmpJump, Comparison, Instr, JumpOn};
use std::mem::offset_of;

/// Returns the block for each result of a predicate: `jump_target` if the instruction jumps on the
/// result, else `next`.
fn targets_of_jump(jump: JumpOn, jump_target: Block, next: Block) -> PredTargets {
    let target_for = |result| if jump.jumps_on(result) { jump_target } else { next };
    PredTargets { yes: target_for(Tri::True), no: target_for(Tri::False), unknown: target_for(Tri::Unknown) }
}

/// Returns the block for each result of a comparison: `jump_target` if the instruction jumps on the
/// result, else `next`. A comparison of values without an order counts as false.
fn targets_of_comparison(jump: CmpJump, jump_target: Block, next: Block) -> PredTargets {
    let (yes, no) = if jump.jumps_if_true() { (jump_target, next) } else { (next, jump_target) };
    PredTargets { yes, no, unknown: no }
}

impl FunctionBody<'_, '_, '_> {
    /// Translates an instruction that evaluates a predicate and jumps depending on the result. The
    /// emitted code continues at `jump_target` if the instruction jumps, else at `next`.
    pub fn lower_test_instr(
        &mut self,
        instr: &Instr,
        jump_target: Block,
        next: Block,
    ) -> Result<(), JitError> {
        match *instr {
            Instr::Int { how: cmp, slot, value, .. } => {
                self.emit_int_comparison(
                    self.slot_source(SlotId(slot.into())),
                    cmp.comparison(),
                    value,
                    targets_of_comparison(cmp, jump_target, next),
                );
            }
            Instr::Float { how: cmp, slot, value, .. } => {
                self.emit_float_comparison(
                    self.slot_source(SlotId(slot.into())),
                    cmp.comparison(),
                    value,
                    targets_of_comparison(cmp, jump_target, next),
                );
            }
            Instr::Truth { on: jump, slot, .. } => {
                self.emit_truth_test(
                    self.slot_source(SlotId(slot.into())),
                    targets_of_jump(jump, jump_target, next),
                );
            }
            Instr::Missing { on: jump, slot, .. } => {
                self.emit_missing_test(
                    self.slot_source(SlotId(slot.into())),
                    targets_of_jump(jump, jump_target, next),
                );
            }
            Instr::Text { on: jump, slot, string, .. } => {
                self.emit_text_test(slot.into(), string, targets_of_jump(jump, jump_target, next))?;
            }
            Instr::Test { on: jump, pred, .. } => {
                self.lower_pred(pred, targets_of_jump(jump, jump_target, next))?
            }
            Instr::Memo { on: jump, pred, .. } => {
                let targets = targets_of_jump(jump, jump_target, next);
                self.emit_memoized(pred as usize, targets, |body, targets| body.lower_pred(pred, targets))?;
            }
            Instr::Shared { on: jump, shared, .. } => {
                self.emit_shared_condition(shared, targets_of_jump(jump, jump_target, next))?
            }
            Instr::Each { on: jump, each: loop_id, .. } => {
                let loop_id = self.int_const(loop_id.into());
                let is_true = self.emit_helper_call(offset_of!(AnyHelpers, eval_loop), &[loop_id]);
                self.emit_bool_branch(is_true, targets_of_jump(jump, jump_target, next));
            }
            _ => return Err(malformed_bytecode_error("an instruction out of its kind of block")),
        }
        Ok(())
    }

    pub fn emit_truth_test(&mut self, source: OperandSource, targets: PredTargets) {
        let bool_block = self.builder.create_block();
        self.emit_tag_dispatch(source, &[(layout::BOOL_TAG, bool_block)], targets.unknown, targets.unknown);
        if source.tags().has(layout::BOOL_TAG) {
            self.switch_to(bool_block);
            let truth = self.load_bool(source);
            self.emit_bool_branch(truth, targets);
        }
    }

    pub fn emit_missing_test(&mut self, source: OperandSource, targets: PredTargets) {
        self.emit_tag_dispatch(source, &[], targets.yes, targets.no);
    }

    fn emit_shared_condition(&mut self, id: u32, targets: PredTargets) -> Result<(), JitError> {
        let chunk = self.lowering.bytecode.chunk();
        let shared = chunk.shared_conditions.get(id as usize).copied();
        let SharedCondition { block, is_memoized: memo } =
            shared.ok_or_else(|| malformed_bytecode_error("no shared condition"))?;
        let emit_evaluation = |body: &mut Self, targets: PredTargets| {
            let id = body.lowering.condition_function(block)?;
            let function = body.lowering.module.declare_func_in_func(id, body.builder.func);
            // In a large process, functions may be too far apart in memory for a near call.
            body.builder.func.dfg.ext_funcs[function].colocated = false;
            let call = body.builder.ins().call(function, &[body.machine]);
            let is_true = body.builder.inst_results(call)[0];
            body.emit_bool_branch(is_true, targets);
            Ok(())
        };
        if memo {
            self.emit_memoized(chunk.preds.len() + id as usize, targets, emit_evaluation)
        } else {
            emit_evaluation(self, targets)
        }
    }

    /// Emits code that uses the result in the memo cell (cached result) with the index `cell`, if
    /// the cell is valid. Otherwise the code computes the result and stores it in the cell.
    /// `emit_evaluation` emits the computation.
    fn emit_memoized(
        &mut self,
        cell: usize,
        targets: PredTargets,
        emit_evaluation: impl FnOnce(&mut Self, PredTargets) -> Result<(), JitError>,
    ) -> Result<(), JitError> {
        let offset =
            i32::try_from(cell * 4).map_err(|_| malformed_bytecode_error("too many answers to keep"))?;
        let (cells, epoch) = self.load_memo_and_epoch();
        let stamp = self.builder.ins().load(types::I32, MemFlags::trusted(), cells, offset);
        let result = self.builder.ins().bxor(stamp, epoch);
        let [cached_block, uncached_block] = [(); 2].map(|()| self.builder.create_block());
        let is_cached = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, result, 4);
        self.builder.ins().brif(is_cached, cached_block, &[], uncached_block, &[]);
        self.switch_to(cached_block);
        self.emit_tri_branch(result, targets);
        self.switch_to(uncached_block);
        let [yes, no, unknown] = [(); 3].map(|()| self.builder.create_block());
        emit_evaluation(self, PredTargets { yes, no, unknown })?;
        for (block, result, target) in [
            (yes, Tri::True, targets.yes),
            (no, Tri::False, targets.no),
            (unknown, Tri::Unknown, targets.unknown),
        ] {
            self.switch_to(block);
            let (cells, epoch) = self.load_memo_and_epoch();
            let stamp = self.builder.ins().bor_imm(epoch, result as i64);
            self.builder.ins().store(MemFlags::trusted(), stamp, cells, offset);
            self.builder.ins().jump(target, &[]);
        }
        Ok(())
    }

    /// Lowers the predicate with the index `id`: to inline code if possible, else to a call of the
    /// VM.
    pub fn lower_pred(&mut self, id: u32, targets: PredTargets) -> Result<(), JitError> {
        let chunk = self.lowering.bytecode.chunk();
        let pred = chunk.preds.get(id as usize).ok_or_else(|| malformed_bytecode_error("no predicate"))?;
        if !self.emit_inline_pred(id, pred, targets)? {
            self.emit_vm_test(id, targets);
        }
        Ok(())
    }

    pub fn emit_vm_test(&mut self, id: u32, targets: PredTargets) {
        let id = self.int_const(id.into());
        let result = self.emit_helper_call(offset_of!(AnyHelpers, eval_pred), &[id]);
        self.emit_tri_branch(result, targets);
    }

    /// Emits inline code for the predicate `pred`, which has the index `id`; returns false if there
    /// is none. For all values, the code must give the same result as the VM. The code may call the
    /// VM in rare cases.
    fn emit_inline_pred(&mut self, id: u32, pred: &Pred, targets: PredTargets) -> Result<bool, JitError> {
        match (pred.left, pred.check) {
            (Operand::Slot(slot), PredCheck::Equals(_) | PredCheck::Keywords(_) | PredCheck::Members(_)) => {
                return self.lower_text_pred(id, pred, slot.0, targets);
            }
            (Operand::Slot(slot), PredCheck::Length(cmp, length)) => {
                self.emit_length_comparison(id, slot.0, cmp, length, targets);
                return Ok(true);
            }
            (_, PredCheck::Generic) => return self.lower_number_comparison(id, pred, targets),
            (_, PredCheck::Truth | PredCheck::Missing | PredCheck::Int(..) | PredCheck::Float(..)) => {}
            _ => return Ok(false),
        }
        let Some(source) = self.inline_operand(pred.left)? else { return Ok(false) };
        match pred.check {
            PredCheck::Int(cmp, int) => self.emit_int_comparison(source, cmp, int, targets),
            PredCheck::Float(cmp, float) => self.emit_float_comparison(source, cmp, float, targets),
            PredCheck::Missing => self.emit_missing_test(source, targets),
            _ => self.emit_truth_test(source, targets),
        }
        Ok(true)
    }

    /// Lowers the predicate `pred`, which has the index `id`, if it compares two values that may be
    /// numbers. Returns false if there is no inline code for the comparison.
    fn lower_number_comparison(
        &mut self,
        id: u32,
        pred: &Pred,
        targets: PredTargets,
    ) -> Result<bool, JitError> {
        let TestKind::Op(op) = pred.test_kind else { return Ok(false) };
        let Some(cmp) = Comparison::from_op(op).filter(|_| pred.mode.quantity.is_none()) else {
            return Ok(false);
        };
        // Emits an operand only if there is inline code for both.
        if !self.is_inline_number(pred.left) || !self.is_inline_number(pred.right) {
            return Ok(false);
        }
        let (Some(left), Some(right)) = (self.inline_operand(pred.left)?, self.inline_operand(pred.right)?)
        else {
            return Ok(false);
        };
        let other = self.builder.create_block();
        self.emit_two_number_comparison(left, right, cmp, targets, other);
        self.switch_to(other);
        self.emit_vm_test(id, targets);
        Ok(true)
    }

    /// True if there is inline code that loads the operand, and the operand may be a number.
    fn is_inline_number(&self, operand: Operand) -> bool {
        match operand {
            Operand::Slot(slot) => self.slot_source(slot).tags().may_be_number(),
            Operand::Const(id) => constant_for_registers(self.lowering.chunk(), id)
                .is_some_and(|(tags, _)| tags.may_be_number()),
            Operand::Block(block) => self.is_inline_block(block),
            _ => false,
        }
    }

    /// Returns an operand as a [`OperandSource`], the form in which inline predicates take
    /// operands. `None` if there is no inline code that loads the operand.
    fn inline_operand(&mut self, operand: Operand) -> Result<Option<OperandSource>, JitError> {
        Ok(match operand {
            Operand::Slot(slot) => Some(self.slot_source(slot)),
            Operand::Const(id) => constant_for_registers(self.lowering.chunk(), id)
                .map(|constant| OperandSource::Scalar(self.scalar_const(constant))),
            Operand::Block(block) if self.is_inline_block(block) => {
                Some(OperandSource::Scalar(self.emit_value_block(block)?))
            }
            _ => None,
        })
    }

    pub fn scalar_const(&mut self, (tags, bits): (TagSet, u64)) -> Scalar {
        let tag = self.tag_const(tags.0.trailing_zeros() as u8);
        let bits = self.int_const(bits as i64);
        Scalar { tags, tag, bits }
    }

    pub fn tag_const(&mut self, tag: u8) -> Value {
        self.builder.ins().iconst(types::I8, i64::from(tag))
    }
}
