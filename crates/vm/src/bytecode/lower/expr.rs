//! Lowering of values to bytecode. A simple value, such as a message field, becomes an operand. Any
//! other value becomes a block of instructions that computes into registers.

use super::{Label, LowerError, Lowering, checked_index};
use crate::bytecode::chunk::{CacheCell, Loop, Operand};
use crate::bytecode::instr::{BlockId, BlockKind, Instr, Reg, RegisterRange};
use rulec_base::message;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_sema::normal::{ExprId, NormalConst, NormalExpr, NormalFold, Part};

impl Lowering<'_> {
    pub(super) fn find_expr(&self, id: ExprId) -> Result<&NormalExpr, LowerError> {
        self.normal.exprs.get(id.index()).ok_or(LowerError::Malformed("unknown value"))
    }

    /// Prepares an expression, whose id is `expr`, before the code that uses it is emitted. If the
    /// expression is a loop or contains conditions, adds the loop and emits the blocks of the
    /// conditions. If the use analysis gave the expression a block of its own, emits that block
    /// too.
    pub(super) fn prepare_expr(&mut self, expr: u32) -> Result<(), LowerError> {
        let id = ExprId(expr);
        match self.find_expr(id)?.clone() {
            NormalExpr::Fold { fold, list, kinds, body, level, nest } => {
                let history = self.history_loop(Part::Expr(expr), list, body, fold.summed_expr(), level)?;
                let (list, body) = (self.lower_operand(list)?, self.block_for_cond(body)?);
                if let Some(summed) = fold.summed_expr() {
                    self.block_for_expr(summed)?;
                }
                self.add_loop(
                    Part::Expr(expr),
                    Loop { list, kinds, body, level, requires_all: false, nesting: nest, history },
                )?;
            }
            NormalExpr::Quantifier {
                is_all: all,
                list,
                kinds,
                true_cond: holds,
                false_cond: fails,
                level,
                nest,
            } => {
                self.record_growing_loop(Part::Expr(expr), list, false);
                let (list, body) = (self.lower_operand(list)?, self.block_for_cond(holds)?);
                self.block_for_cond(fails)?;
                self.add_loop(
                    Part::Expr(expr),
                    Loop { list, kinds, body, level, requires_all: all, nesting: nest, history: None },
                )?;
            }
            NormalExpr::Cond { true_cond: holds, false_cond: fails, .. } => {
                self.block_for_cond(holds)?;
                self.block_for_cond(fails)?;
            }
            NormalExpr::If { cond, .. } => {
                self.block_for_cond(cond)?;
            }
            _ => {}
        }
        if self.uses.has_own_block(Part::Expr(expr)) {
            self.block_for_expr(id)?;
        }
        Ok(())
    }

    /// Returns the operand that yields an expression's value. Emits a block first if the value must
    /// be computed.
    pub(super) fn lower_operand(&mut self, id: ExprId) -> Result<Operand, LowerError> {
        Ok(match self.find_expr(id)? {
            NormalExpr::Slot(slot) => Operand::Slot(*slot),
            NormalExpr::Var(level) => Operand::Var(*level),
            NormalExpr::History(_) => Operand::History,
            NormalExpr::Const(NormalConst(constant)) => {
                let constant = constant.clone();
                Operand::Const(self.constant_index(&constant)?)
            }
            _ => Operand::Block(self.block_for_expr(id)?),
        })
    }

    pub(super) fn block_for_expr(&mut self, id: ExprId) -> Result<BlockId, LowerError> {
        if let Some(block) = self.expr_blocks.get(&id.0) {
            return Ok(*block);
        }
        let start = self.current_address()?;
        let mut registers = 0;
        self.emit_expr(id, 0, &mut registers, true)?;
        self.emit(Instr::Yield { src: 0 })?;
        let info = self.uses.use_info(Part::Expr(id.0));
        // A condition used as a value has two blocks, "is true" and "is false", which evaluate the
        // same operands. Without the cache, each nested condition used as a value would double the
        // work.
        let cache_cell =
            if info.evaluation_count > 1 && (info.is_loop_invariant() || info.has_condition_value) {
                let cell = self.chunk.cached_block_count;
                self.chunk.cached_block_count = checked_index(cell as usize + 1, message!("values"))?;
                Some(CacheCell { cell_index: cell, depends_on_loops: !info.is_loop_invariant() })
            } else {
                None
            };
        let block = self.close_block(BlockKind::Value, start, registers, cache_cell)?;
        self.expr_blocks.insert(id.0, block);
        Ok(block)
    }

    /// Emits code that computes an expression into the register `dst`. The code changes no register
    /// with a lower number. Raises `registers`, the number of registers of the block, if the code
    /// needs more. If the expression has its own block, the code runs that block. `is_root` is true
    /// only while that block itself is emitted: the code then computes the expression.
    ///
    /// The recursion is bounded, because the use analysis limits how deep expressions nest in one
    /// block.
    fn emit_expr(
        &mut self,
        id: ExprId,
        dst: Reg,
        registers: &mut u16,
        is_root: bool,
    ) -> Result<(), LowerError> {
        *registers = (*registers).max(next_register(dst)?);
        if !is_root && let Some(block) = self.expr_blocks.get(&id.0).copied() {
            return self.emit(Instr::Eval { dst, block });
        }
        match self.find_expr(id)?.clone() {
            NormalExpr::Const(NormalConst(constant)) => {
                let constant = self.constant_index(&constant)?;
                self.emit(Instr::Const { dst, constant })
            }
            NormalExpr::Slot(slot) => self.emit(Instr::Slot { dst, slot: slot.0 }),
            NormalExpr::Var(level) => self.emit(Instr::Var { dst, level }),
            NormalExpr::History(_) => self.emit(Instr::History { dst }),
            NormalExpr::Window(bound, list, operand) => {
                let operand = self.emit_operand_pair(list, operand, dst, registers)?;
                self.emit(Instr::Window { bound, dst, list: dst, operand })
            }
            NormalExpr::Field(base, key) => {
                self.emit_expr(base, dst, registers, false)?;
                let key = self.string_index(&key)?;
                self.emit(Instr::Field { dst, base: dst, key })
            }
            NormalExpr::Index(base, key) => {
                let key_register = self.emit_operand_pair(base, key, dst, registers)?;
                self.emit(Instr::Index { dst, base: dst, key: key_register })
            }
            NormalExpr::List(items) => {
                let items = self.emit_consecutive(&items, dst, registers)?;
                self.emit(Instr::List { dst, items })
            }
            NormalExpr::Op(Op::Coalesce, left, Some(right)) => {
                self.emit_expr(left, dst, registers, false)?;
                let mut present = Label::default();
                self.emit_jump(Instr::IfPresent { src: dst, to: 0 }, &mut present)?;
                self.emit_expr(right, dst, registers, false)?;
                self.bind_label(present)
            }
            NormalExpr::Op(op, left, Some(right)) => {
                let right = self.emit_operand_pair(left, right, dst, registers)?;
                self.emit(Instr::Binary { op, dst, left: dst, right })
            }
            NormalExpr::Op(op, operand, None) => {
                self.emit_expr(operand, dst, registers, false)?;
                self.emit(Instr::Unary { op, dst, src: dst })
            }
            NormalExpr::Read(inner, kinds) => {
                self.emit_expr(inner, dst, registers, false)?;
                self.emit(Instr::Read { dst, src: dst, kinds })
            }
            NormalExpr::Call(function, args) => self.emit_call(function, &args, dst, registers),
            NormalExpr::Extern(function, args) => {
                let args = self.emit_consecutive(&args, dst, registers)?;
                self.emit(Instr::Extern { dst, args, function: function.0 })
            }
            NormalExpr::Fold { fold, .. } => self.emit_fold(id, fold, dst),
            NormalExpr::Quantifier { false_cond: fails, .. } => {
                let (each, fails) = (self.find_loop(Part::Expr(id.0))?, self.block_for_cond(fails)?);
                self.emit(Instr::Quantifier { dst, each, fails })
            }
            NormalExpr::Cond { true_cond: holds, false_cond: fails, .. } => {
                let (holds, fails) = (self.block_for_cond(holds)?, self.block_for_cond(fails)?);
                self.emit(Instr::Cond { dst, holds, fails })
            }
            NormalExpr::If { cond, then_value: then, else_value: other, .. } => {
                let (mut fails, mut end) = (Label::default(), Label::default());
                let block = self.block_for_cond(cond)?;
                self.emit_jump(Instr::IfNot { block, to: 0 }, &mut fails)?;
                self.emit_expr(then, dst, registers, false)?;
                self.emit_jump(Instr::Jump { to: 0 }, &mut end)?;
                self.bind_label(fails)?;
                self.emit_expr(other, dst, registers, false)?;
                self.bind_label(end)
            }
        }
    }

    fn emit_fold(&mut self, id: ExprId, fold: NormalFold, dst: Reg) -> Result<(), LowerError> {
        let each = self.find_loop(Part::Expr(id.0))?;
        match fold {
            NormalFold::Count => self.emit(Instr::Count { dst, each }),
            NormalFold::Sum(value) => {
                let value = self.block_for_expr(value)?;
                self.emit(Instr::Sum { dst, each, value })
            }
            NormalFold::First => self.emit(Instr::Find { dst, each, last: false }),
            NormalFold::Last => self.emit(Instr::Find { dst, each, last: true }),
        }
    }

    fn emit_call(
        &mut self,
        function: Function,
        args: &[ExprId],
        dst: Reg,
        registers: &mut u16,
    ) -> Result<(), LowerError> {
        if let (Function::Similarity, [a, b]) = (function, args) {
            for (text, other) in [(*b, *a), (*a, *b)] {
                let constant = self.constant_value(text);
                if let Some(text) = constant.as_ref().and_then(|constant| constant.value().as_str()) {
                    self.emit_expr(other, dst, registers, false)?;
                    let to = checked_index(self.chunk.similarity_texts.len(), message!("texts"))?;
                    self.chunk.similarity_texts.push(text.into());
                    return self.emit(Instr::Similar { dst, src: dst, to });
                }
            }
        }
        let args = self.emit_consecutive(args, dst, registers)?;
        self.emit(Instr::Call { function, dst, args })
    }

    fn emit_operand_pair(
        &mut self,
        left: ExprId,
        right: ExprId,
        dst: Reg,
        registers: &mut u16,
    ) -> Result<Reg, LowerError> {
        self.emit_expr(left, dst, registers, false)?;
        let right_register = next_register(dst)?;
        self.emit_expr(right, right_register, registers, false)?;
        Ok(right_register)
    }

    /// Emits code that computes expressions into consecutive registers, beginning with `first`.
    /// Raises `registers`, the number of registers of the block, if the code needs more.
    fn emit_consecutive(
        &mut self,
        items: &[ExprId],
        first: Reg,
        registers: &mut u16,
    ) -> Result<RegisterRange, LowerError> {
        let len =
            u16::try_from(items.len()).map_err(|_| LowerError::TooLarge(message!("elements in one list")))?;
        for (offset, item) in (0..len).zip(items) {
            let dst = first
                .checked_add(offset)
                .ok_or(LowerError::TooLarge(message!("values in one expression")))?;
            self.emit_expr(*item, dst, registers, false)?;
        }
        Ok(RegisterRange { first, len })
    }
}

fn next_register(register: Reg) -> Result<Reg, LowerError> {
    register.checked_add(1).ok_or(LowerError::TooLarge(message!("values in one expression")))
}
