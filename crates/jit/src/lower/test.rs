//! Tests: instructions that jump, and the predicates that they evaluate.

use super::arith::constant;
use super::body::{AnyHelpers, Body, Scalar, Source, Tags, Targets};
use super::{JitError, malformed};
use crate::code::layout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value, types};
use cranelift_module::Module;
use rulec_lang::value::Tri;
use rulec_sema::hir::SlotId;
use rulec_sema::normal::TestKind;
use rulec_vm::bytecode::chunk::{Check, Operand, Pred, Shared};
use rulec_vm::bytecode::instr::{Cmp, CmpJump, Instr, On};
use std::mem::offset_of;

/// Returns the block for each result of a three-valued test: `to` if the result jumps, else `next`.
fn on(on: On, to: Block, next: Block) -> Targets {
    let leads = |answer| if on.takes(answer) { to } else { next };
    Targets { yes: leads(Tri::True), no: leads(Tri::False), unknown: leads(Tri::Unknown) }
}

/// Returns the block for each result of a comparison. The comparison of values without an order is
/// false.
fn how(how: CmpJump, to: Block, next: Block) -> Targets {
    let (yes, no) = if how.when() { (to, next) } else { (next, to) };
    Targets { yes, no, unknown: no }
}

impl Body<'_, '_, '_> {
    /// Lowers a test instruction. The code jumps to `to` if the instruction jumps, else to `next`.
    pub fn test_instr(&mut self, instr: &Instr, to: Block, next: Block) -> Result<(), JitError> {
        match *instr {
            Instr::Int { how: cmp, slot, value, .. } => {
                self.compare_int(self.slot(SlotId(slot.into())), cmp.cmp(), value, how(cmp, to, next));
            }
            Instr::Float { how: cmp, slot, value, .. } => {
                self.compare_float(self.slot(SlotId(slot.into())), cmp.cmp(), value, how(cmp, to, next));
            }
            Instr::Truth { on: jump, slot, .. } => {
                self.is_true(self.slot(SlotId(slot.into())), on(jump, to, next));
            }
            Instr::Missing { on: jump, slot, .. } => {
                self.is_missing(self.slot(SlotId(slot.into())), on(jump, to, next));
            }
            Instr::Text { on: jump, slot, string, .. } => {
                self.is_text(slot.into(), string, on(jump, to, next))?;
            }
            Instr::Test { on: jump, pred, .. } => self.pred(pred, on(jump, to, next))?,
            Instr::Memo { on: jump, pred, .. } => {
                let targets = on(jump, to, next);
                self.kept(pred as usize, targets, |body, targets| body.pred(pred, targets))?;
            }
            Instr::Shared { on: jump, shared, .. } => self.shared(shared, on(jump, to, next))?,
            Instr::Each { on: jump, each, .. } => {
                let each = self.number(each.into());
                let holds = self.call(offset_of!(AnyHelpers, each), &[each]);
                self.branch_bool(holds, on(jump, to, next));
            }
            _ => return Err(malformed("an instruction out of its kind of block")),
        }
        Ok(())
    }

    pub fn is_true(&mut self, source: Source, targets: Targets) {
        let on_bool = self.b.create_block();
        self.dispatch(source, &[(layout::BOOL, on_bool)], targets.unknown, targets.unknown);
        if source.tags().has(layout::BOOL) {
            self.go(on_bool);
            let truth = self.truth(source);
            self.branch_bool(truth, targets);
        }
    }

    pub fn is_missing(&mut self, source: Source, targets: Targets) {
        self.dispatch(source, &[], targets.yes, targets.no);
    }

    fn shared(&mut self, id: u32, targets: Targets) -> Result<(), JitError> {
        let chunk = self.lowering.code.chunk();
        let shared = chunk.shared.get(id as usize).copied();
        let Shared { block, memo } = shared.ok_or_else(|| malformed("no shared condition"))?;
        let ask = |body: &mut Self, targets: Targets| {
            let id = body.lowering.condition_of(block)?;
            let function = body.lowering.module.declare_func_in_func(id, body.b.func);
            // Functions may be allocated too far apart for a near call in a large process.
            body.b.func.dfg.ext_funcs[function].colocated = false;
            let call = body.b.ins().call(function, &[body.machine]);
            let holds = body.b.inst_results(call)[0];
            body.branch_bool(holds, targets);
            Ok(())
        };
        if memo { self.kept(chunk.preds.len() + id as usize, targets, ask) } else { ask(self, targets) }
    }

    /// Emits the use of a memo cell: the stored result if the cell is valid, else code that
    /// evaluates the result and stores it.
    fn kept(
        &mut self,
        cell: usize,
        targets: Targets,
        ask: impl FnOnce(&mut Self, Targets) -> Result<(), JitError>,
    ) -> Result<(), JitError> {
        let offset = i32::try_from(cell * 4).map_err(|_| malformed("too many answers to keep"))?;
        let (cells, epoch) = self.memo();
        let stamp = self.b.ins().load(types::I32, MemFlags::trusted(), cells, offset);
        let answer = self.b.ins().bxor(stamp, epoch);
        let [known, fresh] = [(); 2].map(|()| self.b.create_block());
        let is_known = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, answer, 4);
        self.b.ins().brif(is_known, known, &[], fresh, &[]);
        self.go(known);
        self.branch(answer, targets);
        self.go(fresh);
        let [yes, no, unknown] = [(); 3].map(|()| self.b.create_block());
        ask(self, Targets { yes, no, unknown })?;
        for (block, answer, to) in [
            (yes, Tri::True, targets.yes),
            (no, Tri::False, targets.no),
            (unknown, Tri::Unknown, targets.unknown),
        ] {
            self.go(block);
            let (cells, epoch) = self.memo();
            let stamp = self.b.ins().bor_imm(epoch, answer as i64);
            self.b.ins().store(MemFlags::trusted(), stamp, cells, offset);
            self.b.ins().jump(to, &[]);
        }
        Ok(())
    }

    /// Lowers a predicate: inline if possible, else as a call of the VM.
    pub fn pred(&mut self, id: u32, targets: Targets) -> Result<(), JitError> {
        let chunk = self.lowering.code.chunk();
        let pred = chunk.preds.get(id as usize).ok_or_else(|| malformed("no predicate"))?;
        if !self.inline(id, pred, targets)? {
            self.by_vm(id, targets);
        }
        Ok(())
    }

    pub fn by_vm(&mut self, id: u32, targets: Targets) {
        let id = self.number(id.into());
        let answer = self.call(offset_of!(AnyHelpers, test), &[id]);
        self.branch(answer, targets);
    }

    /// Emits inline code for a predicate; returns false if there is none. The code must give the
    /// same result as the VM for all values. For a rare case it may call the VM.
    fn inline(&mut self, id: u32, pred: &Pred, targets: Targets) -> Result<bool, JitError> {
        match (pred.left, pred.check) {
            (Operand::Slot(slot), Check::Equals(_) | Check::Keywords(_) | Check::Members(_)) => {
                return self.text_pred(id, pred, slot.0, targets);
            }
            (Operand::Slot(slot), Check::Length(cmp, length)) => {
                self.length(id, slot.0, cmp, length, targets);
                return Ok(true);
            }
            (_, Check::Generic) => return self.two_numbers(id, pred, targets),
            (_, Check::Truth | Check::Missing | Check::Int(..) | Check::Float(..)) => {}
            _ => return Ok(false),
        }
        let Some(source) = self.operand(pred.left)? else { return Ok(false) };
        match pred.check {
            Check::Int(cmp, int) => self.compare_int(source, cmp, int, targets),
            Check::Float(cmp, float) => self.compare_float(source, cmp, float, targets),
            Check::Missing => self.is_missing(source, targets),
            _ => self.is_true(source, targets),
        }
        Ok(true)
    }

    /// Lowers a comparison of two values that may be numbers.
    fn two_numbers(&mut self, id: u32, pred: &Pred, targets: Targets) -> Result<bool, JitError> {
        let TestKind::Op(op) = pred.ask else { return Ok(false) };
        let Some(cmp) = Cmp::from_op(op).filter(|_| pred.mode.quantity.is_none()) else { return Ok(false) };
        // Emits an operand only if there is inline code for both.
        if !self.is_inline(pred.left) || !self.is_inline(pred.right) {
            return Ok(false);
        }
        let (Some(left), Some(right)) = (self.operand(pred.left)?, self.operand(pred.right)?) else {
            return Ok(false);
        };
        let other = self.b.create_block();
        self.compare_numbers(left, right, cmp, targets, other);
        self.go(other);
        self.by_vm(id, targets);
        Ok(true)
    }

    /// True if there is inline code for an operand, and the operand may be a number.
    fn is_inline(&self, operand: Operand) -> bool {
        match operand {
            Operand::Slot(slot) => self.slot(slot).tags().numeric(),
            Operand::Const(id) => constant(self.lowering.chunk(), id).is_some_and(|(tags, _)| tags.numeric()),
            Operand::Block(block) => self.is_arithmetic(block),
            _ => false,
        }
    }

    /// Returns an operand as a value to be tested; `None` if there is no inline code for it.
    fn operand(&mut self, operand: Operand) -> Result<Option<Source>, JitError> {
        Ok(match operand {
            Operand::Slot(slot) => Some(self.slot(slot)),
            Operand::Const(id) => {
                constant(self.lowering.chunk(), id).map(|constant| Source::Scalar(self.scalar(constant)))
            }
            Operand::Block(block) if self.is_arithmetic(block) => Some(Source::Scalar(self.value(block)?)),
            _ => None,
        })
    }

    pub fn scalar(&mut self, (tags, bits): (Tags, u64)) -> Scalar {
        let tag = self.tag(tags.0.trailing_zeros() as u8);
        let bits = self.number(bits as i64);
        Scalar { tags, tag, bits }
    }

    pub fn tag(&mut self, tag: u8) -> Value {
        self.b.ins().iconst(types::I8, i64::from(tag))
    }
}
