//! Substitutes the arguments of a call for the parameters in the body of a `def`, because calls of
//! `def`s are inlined.

use super::MAX_CONDITION_NODES;
use super::constant::build_list_value;
use crate::hir::{Cond, CondKind, Expr, ExprKind, Fold, Operand};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, TestMode};

/// Replaces the parameters in the body of a `def` by the arguments of a call.
pub(super) struct Substitution<'s> {
    pub(super) args: &'s [Expr],
    /// The number of nodes of each argument. Whenever an argument is copied, its number is added to
    /// `copied_nodes`.
    pub(super) arg_node_counts: Vec<u64>,
    /// The number of nodes copied so far; copying stops after [`MAX_CONDITION_NODES`].
    pub(super) copied_nodes: u64,
    /// Predicates whose right operand contained a parameter, as operator, mode, left and right
    /// operand. The predicates must be checked again, because the right operand may now be a
    /// constant.
    pub(super) substituted_predicates: Vec<(Op, TestMode, Expr, Expr)>,
    /// Constants that were substituted into function calls and must be checked: the function, the
    /// parameter, and the constant.
    pub(super) substituted_args: Vec<(Function, &'static str, Expr)>,
}

impl Substitution<'_> {
    pub(super) fn substitute_in_cond(&mut self, cond: &mut Cond) {
        match &mut cond.kind {
            // A branch of a choice never occurs in a `def`.
            CondKind::Const(_) | CondKind::Let(_) | CondKind::Branch { .. } => {}
            CondKind::Not(inner) | CondKind::NotTrue(inner) | CondKind::Call(_, _, inner) => {
                self.substitute_in_cond(inner)
            }
            CondKind::And(parts) | CondKind::Or(parts) => {
                parts.iter_mut().for_each(|part| self.substitute_in_cond(part))
            }
            CondKind::Predicate(test) => {
                self.substitute_in_expr(&mut test.left);
                match &mut test.right {
                    Operand::Nothing => {}
                    Operand::Value(value) => {
                        let is_not_constant = value.as_const().is_none();
                        self.substitute_in_expr(value);
                        if let Some(op) = test.op.filter(|_| is_not_constant) {
                            self.substituted_predicates.push((
                                op,
                                test.mode,
                                test.left.clone(),
                                value.clone(),
                            ));
                        }
                    }
                    Operand::Range { start, end, .. } => {
                        self.substitute_in_expr(start);
                        self.substitute_in_expr(end);
                    }
                }
                // An argument of type bool is a condition that was wrapped in an expression, so it
                // is unwrapped.
                if let (None, ExprKind::Cond(inner)) = (test.op, &test.left.kind) {
                    *cond = (**inner).clone();
                }
            }
            CondKind::Quantifier { list, body, .. } => {
                self.substitute_in_expr(list);
                self.substitute_in_cond(body);
            }
        }
    }

    pub(super) fn substitute_in_expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Param(param_index) => {
                let param_index = *param_index as usize;
                if let Some(arg) =
                    self.args.get(param_index).filter(|_| self.copied_nodes <= MAX_CONDITION_NODES)
                {
                    self.copied_nodes = self.copied_nodes.saturating_add(self.arg_node_counts[param_index]);
                    *expr = arg.clone();
                }
            }
            ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Var(_) | ExprKind::Let(_) => {}
            ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => self.substitute_in_expr(inner),
            ExprKind::Index(base, index) => {
                self.substitute_in_expr(base);
                self.substitute_in_expr(index);
            }
            ExprKind::Op(_, left, right) => {
                self.substitute_in_expr(left);
                right.iter_mut().for_each(|right| self.substitute_in_expr(right));
            }
            ExprKind::List(items) => {
                items.iter_mut().for_each(|item| self.substitute_in_expr(item));
                *expr = build_list_value(std::mem::take(items), expr.span);
            }
            ExprKind::Call(function, args) => {
                let params = function.info().params;
                for (arg_index, arg) in args.iter_mut().enumerate() {
                    let is_not_constant = arg.as_const().is_none();
                    self.substitute_in_expr(arg);
                    if is_not_constant && arg.as_const().is_some() {
                        let (param, _) = params[arg_index.min(params.len() - 1)];
                        self.substituted_args.push((*function, param, arg.clone()));
                    }
                }
            }
            ExprKind::Extern(_, args) => args.iter_mut().for_each(|arg| self.substitute_in_expr(arg)),
            ExprKind::Fold { fold, list, body, .. } => {
                self.substitute_in_expr(list);
                self.substitute_in_cond(body);
                if let Fold::Sum(value) = fold {
                    self.substitute_in_expr(value);
                }
            }
            ExprKind::Window { list, operand, .. } => {
                self.substitute_in_expr(list);
                self.substitute_in_expr(operand);
            }
            ExprKind::Cond(cond) => self.substitute_in_cond(cond),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                self.substitute_in_cond(cond);
                self.substitute_in_expr(then);
                self.substitute_in_expr(other);
            }
        }
    }
}
