//! Decides which operands the index may evaluate before any condition needs their values.

use crate::bytecode::chunk::{Chunk, Operand};
use crate::bytecode::instr::{BlockId, Instr};
use rulec_lang::operators::Cost;

/// True if the index may evaluate an operand before any condition needs its value. The value must
/// depend only on the message, and its computation must be short and call no host function.
pub(super) fn can_evaluate_early(chunk: &Chunk, operand: Operand) -> bool {
    match operand {
        Operand::Slot(_) => true,
        Operand::Block(block) => is_cheap_block(chunk, block, 4),
        _ => false,
    }
}

fn is_cheap_block(chunk: &Chunk, block: BlockId, depth: u32) -> bool {
    let Some(block) = chunk.blocks.get(block as usize) else { return false };
    let instrs = chunk.instrs.get(block.start as usize..block.end as usize).unwrap_or_default();
    depth > 0
        && instrs.len() <= 16
        && instrs.iter().all(|instr| match instr {
            Instr::Slot { .. }
            | Instr::Const { .. }
            | Instr::Field { .. }
            | Instr::Index { .. }
            | Instr::Read { .. }
            | Instr::Binary { .. }
            | Instr::Unary { .. }
            | Instr::IfPresent { .. }
            | Instr::Yield { .. } => true,
            Instr::Call { function, .. } => function.info().cost <= Cost::Scan,
            Instr::Eval { block, .. } => is_cheap_block(chunk, *block, depth - 1),
            _ => false,
        })
}
