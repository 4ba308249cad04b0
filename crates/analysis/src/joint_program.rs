//! Merges the old and the new program into one, so that one solver can compare the conditions of
//! both programs. Equal fields share a slot, and equally declared functions share an id.

use hashbrown::HashMap;
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, Extern, ExternId, Fold, GuardedCondition, Operand, Program, Slot, SlotId,
    Term,
};
use std::sync::Arc;

/// The old and the new program, merged. The ids of the old program are unchanged; the ids in the
/// new program's conditions are renumbered.
pub(super) struct MergedPrograms {
    /// The fields, `let`s and functions of both programs.
    pub program: Program,
    /// The renumbered conditions of the new program's rules, indexed by rule id.
    pub conditions: Vec<Cond>,
    /// The expressions of computed values (such as arguments) of the old program, followed by the
    /// renumbered ones of the new program.
    pub computed_values: Vec<Expr>,
    /// Whether equal conditions have equal results in both programs. False if the limits on the
    /// work of a decision differ, because a condition may then exceed the limit of only one
    /// program.
    pub has_comparable_conditions: bool,
}

impl MergedPrograms {
    pub fn new(old: &Program, new: &Program) -> MergedPrograms {
        let mut program = Program {
            slots: old.slots.clone(),
            lets: old.lets.clone(),
            externs: old.externs.clone(),
            limits: old.limits,
            input: new.input.clone().or_else(|| old.input.clone()),
            ..Program::default()
        };
        let mut by_path: HashMap<Vec<Arc<str>>, Vec<usize>> = HashMap::new();
        for (index, slot) in old.slots.iter().enumerate() {
            by_path.entry(slot.path.clone()).or_default().push(index);
        }
        let slots = new.slots.iter().map(|slot| {
            let indexes = by_path.entry(slot.path.clone()).or_default();
            let existing = indexes.iter().copied().find(|index| is_same_slot(&program.slots[*index], slot));
            let index = existing.unwrap_or_else(|| {
                program.slots.push(slot.clone());
                indexes.push(program.slots.len() - 1);
                program.slots.len() - 1
            });
            SlotId(index as u32)
        });
        let slots: Vec<SlotId> = slots.collect();
        // A function that analyses the request (`feature`) also depends on the program's
        // declarations for this analysis, so these must be equal too.
        let is_same_function = |a: &Extern, b: &Extern| {
            (&a.name, &a.params, &a.result, &a.feature) == (&b.name, &b.params, &b.result, &b.feature)
                && (a.feature.is_none() || old.analysis == new.analysis)
        };
        let externs = new.externs.iter();
        let externs = externs
            .map(|host| {
                ExternId(find_or_push(&mut program.externs, host, |other| is_same_function(other, host)))
            })
            .collect();
        let merged_ids = MergedIds { slots, externs, let_offset: old.lets.len() as u32 };
        let renumbered = |cond: &Cond| {
            let mut cond = cond.clone();
            merged_ids.renumber_cond(&mut cond);
            cond
        };
        program.lets.extend(new.lets.iter().cloned().map(|mut definition| {
            match &mut definition.body {
                Term::Cond(cond) => merged_ids.renumber_cond(cond),
                Term::Expr(expr) => merged_ids.renumber_expr(expr),
            }
            definition
        }));
        let values = new.values.iter().cloned().map(|mut value| {
            merged_ids.renumber_expr(&mut value);
            value
        });
        let values = old.values.iter().cloned().chain(values).collect();
        let conditions = new.rules.iter().map(|rule| renumbered(&rule.condition)).collect();
        MergedPrograms {
            program,
            conditions,
            computed_values: values,
            has_comparable_conditions: old.limits == new.limits,
        }
    }
}

/// True if both slots read the same field as the same kinds of value. The order of the texts in an
/// enumeration does not matter.
fn is_same_slot(a: &Slot, b: &Slot) -> bool {
    let is_same_enumeration = match (&a.values, &b.values) {
        (Some(a), Some(b)) => a.is_subset_of(b) && b.is_subset_of(a),
        (None, None) => true,
        _ => false,
    };
    let is_same_field = (&a.root, &a.path, a.kinds) == (&b.root, &b.path, b.kinds);
    is_same_field && a.is_private == b.is_private && is_same_enumeration
}

/// Returns the index of the first element that `is_like` accepts. If there is none, appends `value`
/// and returns its index.
fn find_or_push<T: Clone>(list: &mut Vec<T>, value: &T, is_like: impl Fn(&T) -> bool) -> u32 {
    let index = list.iter().position(is_like).unwrap_or_else(|| {
        list.push(value.clone());
        list.len() - 1
    });
    index as u32
}

/// The ids that the fields, functions and `let`s of the new program have in the merged program.
struct MergedIds {
    /// The ids of the new program's fields in the merged program, indexed by the id in the new
    /// program.
    slots: Vec<SlotId>,
    /// The ids of the new program's functions in the merged program, indexed by the id in the new
    /// program.
    externs: Vec<ExternId>,
    /// The number to add to a `LetId` of the new program to get its id in the merged program.
    let_offset: u32,
}

impl MergedIds {
    fn renumber_cond(&self, cond: &mut Cond) {
        match &mut cond.kind {
            CondKind::Const(_) => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) | CondKind::Call(_, _, inner) => {
                self.renumber_cond(inner)
            }
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter_mut().for_each(|part| self.renumber_cond(part))
            }
            CondKind::Predicate(test) => {
                self.renumber_expr(&mut test.left);
                match &mut test.right {
                    Operand::Nothing => {}
                    Operand::Value(value) => self.renumber_expr(value),
                    Operand::Range { start, end, .. } => {
                        [start, end].into_iter().for_each(|end| self.renumber_expr(end))
                    }
                }
            }
            CondKind::Quantifier { list, body, .. } => {
                self.renumber_expr(list);
                self.renumber_cond(body);
            }
            CondKind::Let(id) => id.0 += self.let_offset,
            CondKind::Branch { conditions, .. } => {
                for GuardedCondition { presence_condition: usable, cond } in conditions {
                    [usable, cond].into_iter().for_each(|part| self.renumber_cond(part));
                }
            }
        }
    }

    fn renumber_expr(&self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Param(_) => {}
            ExprKind::Slot(id) => *id = self.slots[id.index()],
            ExprKind::Let(id) => id.0 += self.let_offset,
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => self.renumber_expr(inner),
            ExprKind::Index(base, index) => {
                [base, index].into_iter().for_each(|part| self.renumber_expr(part))
            }
            ExprKind::Op(_, left, right) => {
                std::iter::once(left).chain(right).for_each(|part| self.renumber_expr(part));
            }
            ExprKind::List(items) | ExprKind::Call(_, items) => {
                items.iter_mut().for_each(|item| self.renumber_expr(item));
            }
            ExprKind::Extern(id, items) => {
                *id = self.externs[id.index()];
                items.iter_mut().for_each(|item| self.renumber_expr(item));
            }
            ExprKind::Fold { fold, list, body, .. } => {
                self.renumber_expr(list);
                self.renumber_cond(body);
                if let Fold::Sum(value) = fold {
                    self.renumber_expr(value);
                }
            }
            ExprKind::Window { list, operand, .. } => {
                [list, operand].into_iter().for_each(|part| self.renumber_expr(part))
            }
            ExprKind::Cond(cond) => self.renumber_cond(cond),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                self.renumber_cond(cond);
                [then, other].into_iter().for_each(|part| self.renumber_expr(part));
            }
        }
    }
}
