//! Lowering of conditions to bytecode: sequences of instructions that evaluate predicates and jump
//! depending on the results.

use super::{Label, LowerError, Lowering, checked_index, find_cond};
use crate::bytecode::chunk::{Loop, Operand, Pred, PredCheck};
use crate::bytecode::instr::{CmpJump, Instr, JumpOn};
use rulec_base::{broken_invariant, message};
use rulec_sema::normal::{CondId, NormalCond, Part, PredId};
use smallvec::SmallVec;

/// Work that remains to be done while a condition is lowered. The tasks are on an explicit stack,
/// so that deep nesting cannot overflow the call stack.
#[derive(Clone)]
enum LoweringTask {
    /// Emits code that jumps to a label if the condition is true. If `jump_if` is false, the code
    /// jumps if the condition is not true. `label` is an index into the labels of the whole
    /// condition.
    Emit { cond: CondId, jump_if: bool, label: usize },
    /// Makes the current address the target of the label with this index.
    Bind(usize),
}

/// Stack of pending tasks. The inline capacity is enough for most conditions.
type Tasks = SmallVec<[LoweringTask; 8]>;
type Labels = SmallVec<[Label; 2]>;

impl Lowering<'_> {
    /// Emits code that jumps to a new label if a condition is not true. If the condition is true,
    /// execution continues after the code. Returns the label; the caller must bind it to an
    /// address.
    pub(super) fn emit_cond(&mut self, root: CondId) -> Result<Label, LowerError> {
        let normal = self.normal;
        let mut labels = Labels::from_elem(Label::default(), 1);
        let mut tasks = Tasks::from_elem(LoweringTask::Emit { cond: root, jump_if: false, label: 0 }, 1);
        while let Some(task) = tasks.pop() {
            let (cond, jump_if, label) = match task {
                LoweringTask::Emit { cond, jump_if, label } => (cond, jump_if, label),
                LoweringTask::Bind(label) => {
                    let label = std::mem::take(&mut labels[label]);
                    self.bind_label(label)?;
                    continue;
                }
            };
            let on = JumpOn::new(true, jump_if);
            if let Some(shared) = self.shared_cond_indexes.get(&cond.0).copied() {
                self.emit_jump(Instr::Shared { on, to: 0, shared }, &mut labels[label])?;
                continue;
            }
            match find_cond(normal, cond)? {
                NormalCond::Const(holds) if *holds == jump_if => {
                    self.emit_jump(Instr::Jump { to: 0 }, &mut labels[label])?;
                }
                NormalCond::Const(_) => {}
                NormalCond::Predicate { pred, want } => {
                    self.emit_test(*pred, *want, jump_if, &mut labels[label])?
                }
                NormalCond::Each { .. } => {
                    let each = self.find_loop(Part::Cond(cond.0))?;
                    self.emit_jump(Instr::Each { on, to: 0, each }, &mut labels[label])?;
                }
                NormalCond::Not(inner) => {
                    tasks.push(LoweringTask::Emit { cond: *inner, jump_if: !jump_if, label })
                }
                NormalCond::And(parts) => {
                    push_operand_tasks(parts, false, jump_if, label, &mut tasks, &mut labels)
                }
                NormalCond::Or(parts) => {
                    push_operand_tasks(parts, true, jump_if, label, &mut tasks, &mut labels)
                }
            }
        }
        Ok(std::mem::take(&mut labels[0]))
    }

    fn emit_test(
        &mut self,
        id: PredId,
        wanted_result: bool,
        jump_if: bool,
        label: &mut Label,
    ) -> Result<(), LowerError> {
        let pred = self.chunk.preds.get(id.index()).ok_or(LowerError::Malformed("unknown predicate"))?;
        let on = JumpOn::new(wanted_result, jump_if);
        let instr = select_slot_test_instr(pred, wanted_result, jump_if).unwrap_or(if pred.is_memoized {
            Instr::Memo { on, to: 0, pred: id.0 }
        } else {
            Instr::Test { on, to: 0, pred: id.0 }
        });
        self.emit_jump(instr, label)
    }

    pub(super) fn add_loop(&mut self, part: Part, each: Loop) -> Result<(), LowerError> {
        let id = checked_index(self.chunk.loops.len(), message!("loops"))?;
        self.chunk.max_loop_depth = self.chunk.max_loop_depth.max(each.level.saturating_add(1));
        self.chunk.loops.push(each);
        self.loop_indexes.insert(part, id);
        Ok(())
    }

    pub(super) fn find_loop(&self, part: Part) -> Result<u32, LowerError> {
        self.loop_indexes.get(&part).copied().ok_or(LowerError::Malformed("unknown loop"))
    }
}

/// Adds tasks for the operands of an `and` or `or`. One operand with the result `deciding_result`
/// decides the whole condition: `false` for `and`, `true` for `or`. The code of these tasks jumps
/// to `label` if the whole condition is true or, with `jump_if` false, if it is not true.
fn push_operand_tasks(
    parts: &[CondId],
    deciding_result: bool,
    jump_if: bool,
    label: usize,
    tasks: &mut Tasks,
    labels: &mut Labels,
) {
    if jump_if == deciding_result {
        tasks.extend(parts.iter().rev().map(|cond| LoweringTask::Emit { cond: *cond, jump_if, label }));
        return;
    }
    let Some((last, rest)) = parts.split_last() else {
        return broken_invariant!("an `and` or `or` has parts");
    };
    let after_label = labels.len();
    labels.push(Label::default());
    tasks.push(LoweringTask::Bind(after_label));
    tasks.push(LoweringTask::Emit { cond: *last, jump_if, label });
    tasks.extend(rest.iter().rev().map(|cond| LoweringTask::Emit {
        cond: *cond,
        jump_if: deciding_result,
        label: after_label,
    }));
}

/// Returns a specialized instruction that evaluates a predicate on a message field, and jumps. If
/// `jump_if` is true, it jumps when the result is `want`; if `jump_if` is false, it jumps when the
/// result is not `want`. `None` if no specialized instruction fits the predicate.
fn select_slot_test_instr(pred: &Pred, want: bool, jump_if: bool) -> Option<Instr> {
    let Operand::Slot(slot) = pred.left else { return None };
    let slot = u16::try_from(slot.0).ok()?;
    let on = JumpOn::new(want, jump_if);
    let to_jump = |cmp: crate::bytecode::instr::Comparison| {
        CmpJump::new(if want { cmp } else { cmp.negated() }, jump_if)
    };
    Some(match pred.check {
        PredCheck::Int(cmp, value) => Instr::Int { how: to_jump(cmp), slot, to: 0, value },
        PredCheck::Float(cmp, value) => Instr::Float { how: to_jump(cmp), slot, to: 0, value },
        PredCheck::Truth => Instr::Truth { on, slot, to: 0 },
        PredCheck::Missing => Instr::Missing { on, slot, to: 0 },
        PredCheck::Equals(string) if pred.mode.text.is_plain() => Instr::Text { on, slot, to: 0, string },
        _ => return None,
    })
}
