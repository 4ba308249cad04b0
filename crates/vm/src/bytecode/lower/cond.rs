//! Lowering of conditions to sequences of test instructions, which jump depending on their results.

use super::{Label, LowerError, Lowering, checked_index, find_cond};
use crate::bytecode::chunk::{Loop, Operand, Pred, PredCheck};
use crate::bytecode::instr::{CmpJump, Instr, JumpOn};
use rulec_base::{broken_invariant, message};
use rulec_sema::normal::{CondId, NCond, Part, PredId};
use smallvec::SmallVec;

/// A pending step of the lowering, on an explicit stack.
#[derive(Clone)]
enum LoweringTask {
    /// Emits code that jumps to `label` if the condition is true; with `when` false, if the
    /// condition is not true.
    Emit { cond: CondId, when: bool, label: usize },
    /// Makes the current address the target of a label.
    Bind(usize),
}

/// Stack of pending tasks. The inline capacity is enough for most conditions.
type Tasks = SmallVec<[LoweringTask; 8]>;
type Labels = SmallVec<[Label; 2]>;

impl Lowering<'_> {
    /// Emits code that jumps if a condition is not true. If the condition is true, execution
    /// continues after the code. Returns the label of the jumps, which the caller must bind.
    pub(super) fn emit_cond(&mut self, root: CondId) -> Result<Label, LowerError> {
        let normal = self.normal;
        let mut labels = Labels::from_elem(Label::default(), 1);
        let mut tasks = Tasks::from_elem(LoweringTask::Emit { cond: root, when: false, label: 0 }, 1);
        while let Some(task) = tasks.pop() {
            let (cond, when, label) = match task {
                LoweringTask::Emit { cond, when, label } => (cond, when, label),
                LoweringTask::Bind(label) => {
                    let label = std::mem::take(&mut labels[label]);
                    self.bind_label(label)?;
                    continue;
                }
            };
            let on = JumpOn::new(true, when);
            if let Some(shared) = self.shared.get(&cond.0).copied() {
                self.emit_jump(Instr::Shared { on, to: 0, shared }, &mut labels[label])?;
                continue;
            }
            match find_cond(normal, cond)? {
                NCond::Const(holds) if *holds == when => {
                    self.emit_jump(Instr::Jump { to: 0 }, &mut labels[label])?;
                }
                NCond::Const(_) => {}
                NCond::Test { pred, want } => self.emit_test(*pred, *want, when, &mut labels[label])?,
                NCond::Each { .. } => {
                    let each = self.find_loop(Part::Cond(cond.0))?;
                    self.emit_jump(Instr::Each { on, to: 0, each }, &mut labels[label])?;
                }
                NCond::Not(inner) => tasks.push(LoweringTask::Emit { cond: *inner, when: !when, label }),
                NCond::And(parts) => push_operand_tasks(parts, false, when, label, &mut tasks, &mut labels),
                NCond::Or(parts) => push_operand_tasks(parts, true, when, label, &mut tasks, &mut labels),
            }
        }
        Ok(std::mem::take(&mut labels[0]))
    }

    fn emit_test(&mut self, id: PredId, want: bool, when: bool, label: &mut Label) -> Result<(), LowerError> {
        let pred = self.chunk.preds.get(id.index()).ok_or(LowerError::Malformed("unknown predicate"))?;
        let on = JumpOn::new(want, when);
        let instr = slot_test_instr(pred, want, when).unwrap_or(if pred.memo {
            Instr::Memo { on, to: 0, pred: id.0 }
        } else {
            Instr::Test { on, to: 0, pred: id.0 }
        });
        self.emit_jump(instr, label)
    }

    pub(super) fn add_loop(&mut self, part: Part, each: Loop) -> Result<(), LowerError> {
        let id = checked_index(self.chunk.loops.len(), message!("loops"))?;
        self.chunk.levels = self.chunk.levels.max(each.level.saturating_add(1));
        self.chunk.loops.push(each);
        self.loops.insert(part, id);
        Ok(())
    }

    pub(super) fn find_loop(&self, part: Part) -> Result<u32, LowerError> {
        self.loops.get(&part).copied().ok_or(LowerError::Malformed("unknown loop"))
    }
}

/// Adds tasks for the operands of an `and` or `or`. One operand with the result `decisive` decides
/// the whole condition: `false` for `and`, `true` for `or`.
fn push_operand_tasks(
    parts: &[CondId],
    decisive: bool,
    when: bool,
    label: usize,
    tasks: &mut Tasks,
    labels: &mut Labels,
) {
    if when == decisive {
        tasks.extend(parts.iter().rev().map(|cond| LoweringTask::Emit { cond: *cond, when, label }));
        return;
    }
    let Some((last, rest)) = parts.split_last() else {
        return broken_invariant!("an `and` or `or` has parts");
    };
    let behind = labels.len();
    labels.push(Label::default());
    tasks.push(LoweringTask::Bind(behind));
    tasks.push(LoweringTask::Emit { cond: *last, when, label });
    tasks.extend(rest.iter().rev().map(|cond| LoweringTask::Emit {
        cond: *cond,
        when: decisive,
        label: behind,
    }));
}

/// Returns the specialized instruction for a predicate on a slot; `None` if there is none.
fn slot_test_instr(pred: &Pred, want: bool, when: bool) -> Option<Instr> {
    let Operand::Slot(slot) = pred.left else { return None };
    let slot = u16::try_from(slot.0).ok()?;
    let on = JumpOn::new(want, when);
    let how =
        |cmp: crate::bytecode::instr::Comparison| CmpJump::new(if want { cmp } else { cmp.negated() }, when);
    Some(match pred.check {
        PredCheck::Int(cmp, value) => Instr::Int { how: how(cmp), slot, to: 0, value },
        PredCheck::Float(cmp, value) => Instr::Float { how: how(cmp), slot, to: 0, value },
        PredCheck::Truth => Instr::Truth { on, slot, to: 0 },
        PredCheck::Missing => Instr::Missing { on, slot, to: 0 },
        PredCheck::Equals(string) if pred.mode.text.is_plain() => Instr::Text { on, slot, to: 0, string },
        _ => return None,
    })
}
