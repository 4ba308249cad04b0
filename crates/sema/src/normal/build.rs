//! Lowers the HIR to the normal form: pushes negations down, expands `let`s, shares equal nodes,
//! folds constants, and orders operands by cost.

mod constants;
mod join;
mod test;

use super::cost::CostTable;
use super::intern::ValueIds;
use super::{
    CondId, ExprId, NormalCond, NormalConst, NormalExpr, NormalFold, NormalForm, NormalPredicate, NormalRule,
    PredId, QuantifierLevels, QuantifierNesting, TestKind,
};
use crate::hir::{
    Cond, CondKind, Const, Expr, ExprKind, Fold, LetId, Outcome, Part, Program, QuantifierFacts, TableKind,
    Term, Var, VarId,
};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::implementations;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::value::Tri;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// Lowers a checked program to the normal form. The returned diagnostics warn about conditions that
/// are always true or always false.
pub fn build_normal_form(program: &Program) -> (NormalForm, Vec<Diagnostic>) {
    let mut builder = NormalBuilder::new(program);
    for table in &program.tables {
        let mut routes = Vec::new();
        let mut always_true_span: Option<Span> = None;
        for id in &table.evaluation_order {
            let route = &program.rules[id.index()];
            let earlier_diagnostics = builder.diagnostics.len();
            let cond = builder.build_cond(&route.condition, true);
            // If an operand is always missing, a warning was already given for it. Each cause gets
            // only one warning.
            let has_warning = builder.diagnostics.len() > earlier_diagnostics;
            let condition_span = route.condition.span;
            let is_literal = matches!(route.condition.kind, CondKind::Const(_));
            match builder.normal.cond(cond) {
                // A field's type often makes a requirement constant, so requirements are not
                // reported.
                NormalCond::Const(false) => {
                    if !is_literal && !has_warning && table.kind != TableKind::Requirements {
                        let message = message!("the condition of `{}` can never hold", route.name);
                        let help = match table.kind {
                            TableKind::Routes => {
                                message!(
                                    "constant parts prevent this condition from holding; remove the route \
                                    or write `disabled`"
                                )
                            }
                            _ => message!("constant parts prevent this condition from holding; remove it"),
                        };
                        builder
                            .diagnostics
                            .push(Diagnostic::new(Code::NeverMatches, condition_span, message).help(help));
                    }
                    continue;
                }
                // The checker reports branches that a default hides; a router ends in `otherwise`.
                _ if table.kind != TableKind::Routes => {}
                NormalCond::Const(true)
                    if always_true_span.is_none() && !matches!(route.outcome, Outcome::Goto(_)) =>
                {
                    always_true_span = Some(condition_span);
                }
                _ => {
                    if let Some(first) = always_true_span.take() {
                        builder.diagnostics.push(
                            Diagnostic::new(
                                Code::AlwaysMatches,
                                first,
                                message!("this condition always holds"),
                            )
                            .label(route.span, message!("`{}` is never reached", route.name))
                            .help(message!(
                                "write `default -> …` for the remaining messages, or add a \
                                    condition that can be false"
                            )),
                        );
                    }
                }
            }
            let goto = match route.outcome {
                Outcome::Goto(table) => Some(table),
                _ => None,
            };
            routes.push(NormalRule { rule: *id, cond, goto });
        }
        builder.normal.tables.push(routes);
    }
    // A value outside a condition may be missing, so the warnings about always-missing operands
    // are dropped.
    let earlier_diagnostics = builder.diagnostics.len();
    builder.normal.values = program.values.iter().map(|value| builder.build_expr(value)).collect();
    builder.diagnostics.truncate(earlier_diagnostics);
    (builder.normal, builder.diagnostics)
}

/// Lowers one condition after another to the normal form. Equal nodes get the same id.
pub struct NormalBuilder<'a> {
    program: &'a Program,
    normal: NormalForm,
    expr_ids: ValueIds,
    pred_ids: ValueIds,
    cond_ids: ValueIds,
    costs: CostTable,
    /// Ids of constants by address, so that a long list is hashed only once.
    constants: HashMap<*const Json, ExprId, foldhash::fast::RandomState>,
    conds_of_lets: HashMap<(LetId, u32, bool), CondId, foldhash::fast::RandomState>,
    exprs_of_lets: HashMap<(LetId, u32), ExprId, foldhash::fast::RandomState>,
    /// For a condition C that is used as a value: the ids of the conditions "C is true" and "C is
    /// false". The key is the address of C and the quantifier depth.
    cond_polarities: HashMap<(*const Cond, u32), (CondId, CondId), foldhash::fast::RandomState>,
    /// The nesting level of each quantifier variable in scope; the outermost quantifier has level
    /// 0.
    quantifier_levels: HashMap<VarId, u32>,
    quantifier_depth: u32,
    quantifier_facts: QuantifierFacts,
    /// The number of enclosing quantifiers that count for the nesting depth of the current node. A
    /// quantifier that reads no element of an enclosing quantifier starts the count again.
    enclosing_quantifier_count: u32,
    /// Whether the current part needs two conditions: one for "it is true", and one for "it is
    /// false". This is the case for a condition that is used as a value.
    needs_both_polarities: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> NormalBuilder<'a> {
    /// Returns a builder without any conditions.
    pub fn new(program: &'a Program) -> NormalBuilder<'a> {
        NormalBuilder {
            program,
            normal: NormalForm::default(),
            expr_ids: ValueIds::default(),
            pred_ids: ValueIds::default(),
            cond_ids: ValueIds::default(),
            costs: CostTable::default(),
            constants: HashMap::default(),
            conds_of_lets: HashMap::default(),
            exprs_of_lets: HashMap::default(),
            cond_polarities: HashMap::default(),
            quantifier_levels: HashMap::new(),
            quantifier_depth: 0,
            quantifier_facts: QuantifierFacts::default(),
            enclosing_quantifier_count: 0,
            needs_both_polarities: false,
            diagnostics: Vec::new(),
        }
    }

    /// Returns the normal form of the nodes that were built so far. It has no tables yet.
    pub fn normal_so_far(&self) -> &NormalForm {
        &self.normal
    }

    /// Builds the condition that `cond` has the truth value `want`; it is false where `cond` is
    /// unknown. Returns its id. Precondition: the tree does not move while the builder lives,
    /// because the builder caches nodes by address.
    pub fn build_cond(&mut self, cond: &Cond, want: bool) -> CondId {
        match &cond.kind {
            CondKind::Const(value) => self.constant_cond(*value == want),
            CondKind::Not(inner) => self.build_cond(inner, !want),
            CondKind::And(parts) => self.build_junction(parts, want, want),
            CondKind::Or(parts) => self.build_junction(parts, want, !want),
            CondKind::NotTrue(inner) => {
                let holds = self.build_cond(inner, true);
                if want { self.build_complement(holds) } else { holds }
            }
            CondKind::Predicate(test) => self.build_predicate(test, cond.span, want),
            CondKind::Quantifier { is_all: all, list, var, body } => {
                let reads = self.levels_of_read_elements(Part::Cond(cond));
                let list = self.build_expr(list);
                let kinds = var.element_kinds;
                let (level, nest, (polarities, body)) =
                    self.build_in_quantifier(var, reads, body, |builder| {
                        let polarities =
                            builder.needs_both_polarities.then(|| builder.build_both_polarities(body));
                        let body = match polarities {
                            Some((holds, fails)) => {
                                if want {
                                    holds
                                } else {
                                    fails
                                }
                            }
                            None => builder.build_cond(body, want),
                        };
                        (polarities, body)
                    });
                match (self.normal.cond(body), *all == want, polarities) {
                    // An `any` whose body is false for every element is itself false. No other
                    // quantifier is constant: `all` is true over an empty list, and both are false
                    // over a missing list.
                    (NormalCond::Const(false), false, _) => body,
                    (_, all, None) => {
                        self.add_cond(NormalCond::Each { is_all: all, list, kinds, body, level, nest })
                    }
                    (.., Some((holds, fails))) => {
                        let value = NormalExpr::Quantifier {
                            is_all: *all,
                            list,
                            kinds,
                            true_cond: holds,
                            false_cond: fails,
                            level,
                            nest,
                        };
                        let value = self.add_expr(value);
                        self.build_truth_test(value, want)
                    }
                }
            }
            CondKind::Let(id) => {
                let key = (*id, self.quantifier_depth, want);
                if let Some(cached) = self.conds_of_lets.get(&key) {
                    return *cached;
                }
                let built = self.build_outside_quantifiers(|builder| match builder.program.let_body(*id) {
                    Term::Cond(body) => builder.build_cond(body, want),
                    Term::Expr(body) => {
                        let left = builder.build_expr(body);
                        builder.build_truth_test(left, want)
                    }
                });
                self.conds_of_lets.insert(key, built);
                built
            }
            CondKind::Call(_, _, body) => self.build_cond(body, want),
            CondKind::Branch { requires_all: all, conditions } => self.build_branch(*all, conditions, want),
        }
    }

    fn build_truth_test(&mut self, left: ExprId, want: bool) -> CondId {
        if let NormalExpr::Cond { true_cond: holds, false_cond: fails, .. } = self.normal.expr(left) {
            return if want { *holds } else { *fails };
        }
        // A predicate on `if C then a else b` becomes one condition for each case. The index can
        // then find the rule by either case.
        if let NormalExpr::If { cond, then_value: then, else_value: other, .. } = *self.normal.expr(left) {
            let (then, other) = (self.build_truth_test(then, want), self.build_truth_test(other, want));
            let fails = self.build_complement(cond);
            let (then, other) = (self.join_conds([cond, then], true), self.join_conds([fails, other], true));
            return self.join_conds([then, other], false);
        }
        if let Some(constant) = self.constant_operand(Some(left)) {
            let tri = implementations::value_to_tri(constant);
            return self.constant_cond(tri == Tri::from(want));
        }
        self.add_predicate(
            NormalPredicate { test_kind: TestKind::Truth, mode: TestMode::default(), left, right: None },
            want,
        )
    }

    /// Calls `build` while the variable `var` of a quantifier is in scope. `reads` are the levels
    /// of the enclosing quantifiers that the quantifier reads, and `body` is its condition. Returns
    /// the level of the quantifier, its nesting, and the result of `build`.
    fn build_in_quantifier<T>(
        &mut self,
        var: &Var,
        reads: QuantifierLevels,
        body: &Cond,
        build: impl FnOnce(&mut Self) -> T,
    ) -> (u32, QuantifierNesting, T) {
        let (level, enclosing) = (self.quantifier_depth, self.enclosing_quantifier_count);
        let outer_level = self.quantifier_levels.insert(var.id, level);
        if reads.is_empty() {
            self.enclosing_quantifier_count = 0;
        }
        let nest = QuantifierNesting {
            depth: self.quantifier_facts.quantifier_depth(self.enclosing_quantifier_count, body),
            read_levels: reads,
        };
        self.quantifier_depth += 1;
        self.enclosing_quantifier_count += 1;
        let result = build(self);
        (self.quantifier_depth, self.enclosing_quantifier_count) = (level, enclosing);
        match outer_level {
            Some(outer_level) => self.quantifier_levels.insert(var.id, outer_level),
            None => self.quantifier_levels.remove(&var.id),
        };
        (level, nest, result)
    }

    /// Calls `build` to build the body of a `let`. The body is outside every quantifier, even if
    /// the use of the `let` is inside, so `build` counts no enclosing quantifier.
    fn build_outside_quantifiers<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> T {
        let enclosing = std::mem::take(&mut self.enclosing_quantifier_count);
        let result = build(self);
        self.enclosing_quantifier_count = enclosing;
        result
    }

    fn build_expr(&mut self, expr: &Expr) -> ExprId {
        let built = match &expr.kind {
            ExprKind::Const(Const::Json(json)) => {
                if let Some(cached) = self.constants.get(&Arc::as_ptr(json)) {
                    return *cached;
                }
                let id = self.add_expr(NormalExpr::Const(NormalConst(Const::Json(json.clone()))));
                self.constants.insert(Arc::as_ptr(json), id);
                return id;
            }
            ExprKind::Const(constant) => NormalExpr::Const(NormalConst(constant.clone())),
            ExprKind::Slot(id) => match &self.program.slots[id.index()].root {
                Some(root) if root.is_history() => NormalExpr::History(*id),
                _ => NormalExpr::Slot(*id),
            },
            ExprKind::Var(id) => NormalExpr::Var(self.quantifier_levels.get(id).copied().unwrap_or(0)),
            // Calls substitute all parameters, so none is left here; null is a placeholder.
            ExprKind::Param(_) => NormalExpr::Const(NormalConst(Const::Json(Arc::new(Json::Null)))),
            ExprKind::Field(base, name) => NormalExpr::Field(self.build_expr(base), name.clone()),
            ExprKind::Index(base, index) => NormalExpr::Index(self.build_expr(base), self.build_expr(index)),
            ExprKind::List(items) => NormalExpr::List(self.build_exprs(items)),
            ExprKind::Op(op, left, right) => {
                let left = self.build_expr(left);
                let right = right.as_ref().map(|right| self.build_expr(right));
                NormalExpr::Op(*op, left, right)
            }
            ExprKind::Read(inner, kinds) => {
                let inner = self.build_expr(inner);
                self.build_typed_read(inner, *kinds)
            }
            ExprKind::Call(function, args) => NormalExpr::Call(*function, self.build_exprs(args)),
            ExprKind::Extern(id, args) => NormalExpr::Extern(*id, self.build_exprs(args)),
            ExprKind::Fold { fold, list, var, body } => {
                let reads = self.levels_of_read_elements(Part::Expr(expr));
                let list = self.build_expr(list);
                let (level, nest, (fold, body)) = self.build_in_quantifier(var, reads, body, |builder| {
                    builder.with_needs_both_polarities(false, |builder| {
                        (builder.build_fold(fold), builder.build_cond(body, true))
                    })
                });
                NormalExpr::Fold { fold, list, kinds: var.element_kinds, body, level, nest }
            }
            ExprKind::Window { list, bound, operand } => {
                NormalExpr::Window(*bound, self.build_expr(list), self.build_expr(operand))
            }
            ExprKind::Cond(cond) => self.build_cond_value(cond),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                let cond = self.with_needs_both_polarities(false, |builder| builder.build_cond(cond, true));
                let (then, other) = (self.build_expr(then), self.build_expr(other));
                NormalExpr::If {
                    cond,
                    then_value: then,
                    else_value: other,
                    read_levels: self.levels_of_read_elements(Part::Expr(expr)),
                }
            }
            ExprKind::Let(id) => {
                let key = (*id, self.quantifier_depth);
                if let Some(cached) = self.exprs_of_lets.get(&key) {
                    return *cached;
                }
                let built = self.build_outside_quantifiers(|builder| match builder.program.let_body(*id) {
                    Term::Expr(body) => builder.build_expr(body),
                    Term::Cond(body) => {
                        let value = builder.build_cond_value(body);
                        builder.add_expr(value)
                    }
                });
                self.exprs_of_lets.insert(key, built);
                return built;
            }
        };
        let built = self.fold_constants(built);
        self.add_expr(built)
    }

    fn build_fold(&mut self, fold: &Fold) -> NormalFold {
        match fold {
            Fold::Count => NormalFold::Count,
            Fold::Sum(value) => NormalFold::Sum(self.build_expr(value)),
            Fold::First => NormalFold::First,
            Fold::Last => NormalFold::Last,
        }
    }

    fn build_cond_value(&mut self, cond: &Cond) -> NormalExpr {
        let (holds, fails) = self.build_both_polarities(cond);
        NormalExpr::Cond {
            true_cond: holds,
            false_cond: fails,
            read_levels: self.levels_of_read_elements(Part::Cond(cond)),
        }
    }

    /// Returns the levels (nesting depths) of the enclosing quantifiers whose elements a condition
    /// or value reads.
    fn levels_of_read_elements(&mut self, part: Part<'_>) -> QuantifierLevels {
        let free = self.quantifier_facts.free_variables(part);
        let levels = free.iter().filter_map(|id| self.quantifier_levels.get(id));
        levels.fold(QuantifierLevels::EMPTY, |levels, level| levels.union(QuantifierLevels::new(*level)))
    }

    /// Builds two conditions, and returns their ids: that `cond` is true, and that it is false.
    fn build_both_polarities(&mut self, cond: &Cond) -> (CondId, CondId) {
        let key = (std::ptr::from_ref(cond), self.quantifier_depth);
        // Both polarities visit the values inside; without this cache, every nesting level would
        // double the work.
        if let Some(cached) = self.cond_polarities.get(&key) {
            return *cached;
        }
        let polarities = self.with_needs_both_polarities(true, |builder| {
            (builder.build_cond(cond, true), builder.build_cond(cond, false))
        });
        self.cond_polarities.insert(key, polarities);
        polarities
    }

    /// Runs `build` with the field `needs_both_polarities` set to this value, and then restores the
    /// field.
    fn with_needs_both_polarities<T>(
        &mut self,
        needs_both_polarities: bool,
        build: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = std::mem::replace(&mut self.needs_both_polarities, needs_both_polarities);
        let result = build(self);
        self.needs_both_polarities = outer;
        result
    }

    fn build_exprs(&mut self, items: &[Expr]) -> Box<[ExprId]> {
        items.iter().map(|item| self.build_expr(item)).collect()
    }

    fn add_expr(&mut self, expr: NormalExpr) -> ExprId {
        let (id, is_new) = self.expr_ids.intern(expr, &mut self.normal.exprs);
        if is_new {
            self.costs.add_expr(self.normal.expr(ExprId(id)));
        }
        ExprId(id)
    }

    /// Builds the condition that the value of an expression is a number below `bound`.
    pub fn build_is_below(&mut self, expr: ExprId, bound: i64) -> CondId {
        let bound = self.add_expr(NormalExpr::Const(NormalConst(Const::Json(Arc::new(bound.into())))));
        self.build_comparison(Op::Lt, expr, Some(bound), TestMode::default(), true)
    }

    pub fn constant_cond(&mut self, value: bool) -> CondId {
        self.add_cond(NormalCond::Const(value))
    }

    fn add_predicate(&mut self, pred: NormalPredicate, want: bool) -> CondId {
        let (id, _) = self.pred_ids.intern(pred, &mut self.normal.preds);
        self.add_cond(NormalCond::Predicate { pred: PredId(id), want })
    }

    fn add_cond(&mut self, cond: NormalCond) -> CondId {
        let (id, is_new) = self.cond_ids.intern(cond, &mut self.normal.conds);
        if is_new {
            self.costs.add_cond(self.normal.cond(CondId(id)), &self.normal);
        }
        CondId(id)
    }
}
