//! Use analysis: collects the facts about each part of a program that lowering needs before it
//! emits code. A part is a condition, predicate or value. The facts are the part's users, its cost,
//! the loops whose elements it reads, and the size of its code.

use super::LowerError;
use rulec_base::message;
use rulec_lang::operators::{Cost, Op};
use rulec_sema::normal::{
    ExprId, NormalCond, NormalConst, NormalExpr, NormalForm, NormalPredicate, Part, QuantifierLevels,
    TestKind,
};

/// What lowering must know about one condition, predicate or value before it emits code.
#[derive(Clone, Copy, Debug)]
pub(super) struct UseInfo {
    /// Number of users: the conditions, values, routes and arguments that use the condition,
    /// predicate or value; 0 if nothing needs it.
    pub use_count: u32,
    /// Number of code locations that evaluate the condition or value. At least 2 inside a loop,
    /// because the loop repeats the evaluation.
    pub evaluation_count: u32,
    /// Cost class of an evaluation: the maximum of the cost classes of the operator itself and of
    /// its operands.
    pub cost: Cost,
    /// Enclosing loops whose current elements the condition or value reads in the source as the
    /// author wrote it. Includes reads that simplification removed, because the limits on the work
    /// of loops refer to the source.
    pub loop_reads: QuantifierLevels,
    /// Approximate number of instructions of this condition or value. Includes its operands, unless
    /// they have a block of their own.
    pub instruction_count: u32,
    /// Nesting depth of those operands that are compiled inline, without a code block of their own.
    pub inline_depth: u32,
    /// Whether the value, or an operand of it at any depth, is a condition that is used as a bool
    /// value.
    pub has_condition_value: bool,
}

impl UseInfo {
    /// The facts about a condition or value that no route or argument needs.
    const UNUSED: UseInfo = UseInfo {
        use_count: 0,
        evaluation_count: 0,
        cost: Cost::Scalar,
        loop_reads: QuantifierLevels::EMPTY,
        instruction_count: 1,
        inline_depth: 0,
        has_condition_value: false,
    };

    /// Returns true if the condition or value reads no loop element, so that its value is the same
    /// throughout a decision.
    pub fn is_loop_invariant(&self) -> bool {
        self.loop_reads.is_empty()
    }
}

/// Maximum depth of nested values in one block. A deeper value gets a block of its own. The limit
/// bounds the recursion and is not tuned.
const MAX_INLINE_DEPTH: u32 = 32;
/// Minimum size in instructions of a condition or value that gets its own block because several
/// parts of the program use it.
/// Compared with other values in benches/notes/constants.md.
const MIN_SHARED_BLOCK_SIZE: u32 = 4;

/// Result of the use analysis: the facts about every part (condition, predicate or value).
pub(super) struct UseAnalysis {
    /// The parts (conditions, predicates and values) that routes and arguments need; operands come
    /// before their users.
    pub topological_order: Vec<Part>,
    infos: Vec<UseInfo>,
    has_block: Vec<bool>,
    expr_count: usize,
    pred_count: usize,
}

impl UseAnalysis {
    pub fn new(normal: &NormalForm) -> Result<UseAnalysis, LowerError> {
        let (expr_count, pred_count) = (normal.exprs.len(), normal.preds.len());
        let total = expr_count + pred_count + normal.conds.len();
        super::checked_index(total, message!("parts of conditions"))?;
        let (infos, has_block) = (vec![UseInfo::UNUSED; total], vec![false; total]);
        let mut analysis = UseAnalysis {
            topological_order: Vec::with_capacity(total),
            infos,
            has_block,
            expr_count,
            pred_count,
        };
        analysis.sort_topologically(normal)?;
        analysis.compute_infos(normal);
        analysis.count_evaluations(normal);
        Ok(analysis)
    }

    fn part_index(&self, part: Part) -> usize {
        match part {
            Part::Expr(id) => id as usize,
            Part::Pred(id) => self.expr_count + id as usize,
            Part::Cond(id) => self.expr_count + self.pred_count + id as usize,
        }
    }

    /// Returns the facts about a part (condition, predicate or value); [`UseInfo::UNUSED`] if no
    /// route or argument needs the part.
    pub fn use_info(&self, part: Part) -> UseInfo {
        self.infos.get(self.part_index(part)).copied().unwrap_or(UseInfo::UNUSED)
    }

    /// Returns true if a condition or value is compiled as a block of its own, which serves all
    /// parts of the program that use it.
    pub fn has_own_block(&self, part: Part) -> bool {
        self.has_block.get(self.part_index(part)).copied().unwrap_or(false)
    }

    /// Sorts the parts (conditions, predicates and values) so that operands come before their
    /// users, and counts the uses of each part.
    fn sort_topologically(&mut self, normal: &NormalForm) -> Result<(), LowerError> {
        #[derive(Clone, Copy, PartialEq)]
        enum VisitState {
            Unvisited,
            OnStack,
            Done,
        }
        let mut states = vec![VisitState::Unvisited; self.infos.len()];
        let mut stack: Vec<Part> = Vec::with_capacity(16);
        let mut children = Vec::with_capacity(8);
        for root in parts_needed_by_routes(normal) {
            let index = self.part_index(root);
            self.infos.get_mut(index).ok_or(LowerError::Malformed("unknown part"))?.use_count += 1;
            stack.push(root);
            while let Some(part) = stack.last().copied() {
                let index = self.part_index(part);
                match states.get(index).copied() {
                    None => return Err(LowerError::Malformed("unknown part")),
                    Some(VisitState::Unvisited) => {
                        states[index] = VisitState::OnStack;
                        children.clear();
                        visit_children(normal, part, &mut |child| children.push(child))?;
                        for child in &children {
                            let index = self.part_index(*child);
                            match states.get(index) {
                                Some(VisitState::Done) => {}
                                Some(VisitState::Unvisited) => stack.push(*child),
                                Some(VisitState::OnStack) => {
                                    return Err(LowerError::Malformed("a part of itself"));
                                }
                                None => return Err(LowerError::Malformed("unknown part")),
                            }
                            self.infos[index].use_count = self.infos[index].use_count.saturating_add(1);
                        }
                    }
                    Some(VisitState::OnStack) => {
                        states[index] = VisitState::Done;
                        self.topological_order.push(part);
                        stack.pop();
                    }
                    Some(VisitState::Done) => {
                        stack.pop();
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the code locations that evaluate each part (condition, predicate or value). Visits
    /// users before their operands, because the count of a part is the sum over its users. The
    /// operands of a part with its own block are evaluated in one location, the block.
    fn count_evaluations(&mut self, normal: &NormalForm) {
        for root in parts_needed_by_routes(normal) {
            let index = self.part_index(root);
            if let Some(info) = self.infos.get_mut(index) {
                info.evaluation_count += 1;
            }
        }
        for index in (0..self.topological_order.len()).rev() {
            let part = self.topological_order[index];
            let info = &self.infos[self.part_index(part)];
            let evaluations = match (self.has_block[self.part_index(part)], info.is_loop_invariant()) {
                (true, true) => 1,
                // A loop runs the part for each element of a list: more than once.
                (_, false) => info.evaluation_count.max(2),
                (false, true) => info.evaluation_count,
            };
            let _ = visit_children(normal, part, &mut |child| {
                let index = self.part_index(child);
                let is_body = loop_level_of_body(normal, part, child).is_some();
                let evaluations = if is_body { evaluations.max(2) } else { evaluations };
                self.infos[index].evaluation_count =
                    self.infos[index].evaluation_count.saturating_add(evaluations);
            });
        }
    }

    /// Computes the facts about each part (condition, predicate or value) except `use_count` and
    /// `evaluation_count`. Visits operands before their users, because the facts about a part
    /// depend on its operands.
    fn compute_infos(&mut self, normal: &NormalForm) {
        for index in 0..self.topological_order.len() {
            let part = self.topological_order[index];
            let mut sum = UseInfo {
                cost: cost_without_operands(normal, part),
                has_condition_value: is_condition_value(normal, part),
                ..self.use_info(part)
            };
            // The order contains only parts whose children are known, so this cannot fail.
            let _ = visit_children(normal, part, &mut |child: Part| {
                let info = self.use_info(child);
                sum.cost = sum.cost.max(info.cost);
                sum.has_condition_value |= info.has_condition_value;
                sum.loop_reads = sum.loop_reads.union(match loop_level_of_body(normal, part, child) {
                    Some(level) => info.loop_reads.without_level(level),
                    None => info.loop_reads,
                });
            });
            sum.loop_reads = sum.loop_reads.union(loop_reads_without_operands(normal, part));
            let _ = visit_children(normal, part, &mut |child: Part| {
                let is_body = loop_level_of_body(normal, part, child).is_some();
                self.make_block_if_invariant(normal, child, is_body || !sum.is_loop_invariant());
                let same_kind =
                    matches!((part, child), (Part::Cond(_), Part::Cond(_)) | (Part::Expr(_), Part::Expr(_)));
                if same_kind && !self.has_own_block(child) {
                    let info = self.use_info(child);
                    sum.instruction_count = sum.instruction_count.saturating_add(info.instruction_count);
                    sum.inline_depth = sum.inline_depth.max(info.inline_depth + 1);
                }
            });
            let index = self.part_index(part);
            self.has_block[index] = needs_own_block(normal, part, &sum);
            self.infos[index] = sum;
        }
    }

    /// Gives a condition or value its own block with a cached value if a loop would repeat its
    /// evaluation (`is_repeated`). Does nothing if the condition or value is cheap, or depends on
    /// loop elements.
    fn make_block_if_invariant(&mut self, normal: &NormalForm, part: Part, is_repeated: bool) {
        let info = self.use_info(part);
        let is_simple = match part {
            Part::Pred(_) => true,
            Part::Cond(id) => !matches!(normal.conds.get(id as usize), Some(NormalCond::Each { .. })),
            Part::Expr(id) => {
                matches!(
                    normal.exprs.get(id as usize),
                    Some(
                        NormalExpr::Const(_)
                            | NormalExpr::Slot(_)
                            | NormalExpr::History(_)
                            | NormalExpr::Var(_)
                    )
                )
            }
        };
        if is_repeated && info.is_loop_invariant() && info.cost > Cost::Scalar && !is_simple {
            let index = self.part_index(part);
            self.has_block[index] = true;
        }
    }
}

/// Returns the conditions and values that a rule set needs directly: the conditions of its routes,
/// and the values of arguments and destinations.
fn parts_needed_by_routes(normal: &NormalForm) -> impl Iterator<Item = Part> {
    let conditions = normal.tables.iter().flatten().map(|route| Part::Cond(route.cond.0));
    conditions.chain(normal.values.iter().map(|value| Part::Expr(value.0)))
}

/// Returns the nesting level of the loop `part` if the loop evaluates `child` for each element;
/// otherwise `None`.
fn loop_level_of_body(normal: &NormalForm, part: Part, child: Part) -> Option<u32> {
    match (part, child) {
        (Part::Cond(id), Part::Cond(_)) => match normal.conds.get(id as usize) {
            Some(NormalCond::Each { level, .. }) => Some(*level),
            _ => None,
        },
        (Part::Expr(id), Part::Cond(_)) => match normal.exprs.get(id as usize) {
            Some(NormalExpr::Fold { level, .. } | NormalExpr::Quantifier { level, .. }) => Some(*level),
            _ => None,
        },
        (Part::Expr(id), Part::Expr(child)) => match normal.exprs.get(id as usize) {
            Some(NormalExpr::Fold { fold, level, .. }) if fold.summed_expr() == Some(ExprId(child)) => {
                Some(*level)
            }
            _ => None,
        },
        _ => None,
    }
}

fn needs_own_block(normal: &NormalForm, part: Part, info: &UseInfo) -> bool {
    let is_large = info.instruction_count >= MIN_SHARED_BLOCK_SIZE;
    match part {
        Part::Pred(_) => false,
        Part::Cond(id) => match normal.conds.get(id as usize) {
            Some(NormalCond::And(_) | NormalCond::Or(_)) => info.use_count > 1 && is_large,
            Some(NormalCond::Each { .. }) => info.use_count > 1,
            _ => false,
        },
        Part::Expr(id) => match normal.exprs.get(id as usize) {
            Some(
                NormalExpr::Const(_) | NormalExpr::Slot(_) | NormalExpr::History(_) | NormalExpr::Var(_),
            )
            | None => false,
            _ => {
                info.inline_depth >= MAX_INLINE_DEPTH
                    || (info.use_count > 1 && (is_large || info.cost > Cost::Scalar))
            }
        },
    }
}

fn is_condition_value(normal: &NormalForm, part: Part) -> bool {
    let Part::Expr(id) = part else { return false };
    matches!(normal.exprs.get(id as usize), Some(NormalExpr::Cond { .. } | NormalExpr::Quantifier { .. }))
}

/// Returns the enclosing loops whose current elements a condition or value itself reads, without
/// the reads of its operands. Includes reads that simplification removed.
fn loop_reads_without_operands(normal: &NormalForm, part: Part) -> QuantifierLevels {
    let reads = match part {
        Part::Expr(id) => match normal.exprs.get(id as usize) {
            Some(NormalExpr::Var(level)) => Some(QuantifierLevels::new(*level)),
            Some(NormalExpr::Cond { read_levels: reads, .. } | NormalExpr::If { read_levels: reads, .. }) => {
                Some(*reads)
            }
            Some(NormalExpr::Fold { nest, .. } | NormalExpr::Quantifier { nest, .. }) => {
                Some(nest.read_levels)
            }
            _ => None,
        },
        Part::Cond(id) => match normal.conds.get(id as usize) {
            Some(NormalCond::Each { nest, .. }) => Some(nest.read_levels),
            _ => None,
        },
        Part::Pred(_) => None,
    };
    reads.unwrap_or_default()
}

/// Returns the cost class of a condition, predicate or value itself, without the costs of its
/// operands.
fn cost_without_operands(normal: &NormalForm, part: Part) -> Cost {
    let is_scalar = |operand: ExprId| match normal.exprs.get(operand.index()) {
        Some(NormalExpr::Const(NormalConst(constant))) => {
            let value = constant.value();
            value.list_len().or(value.dict_len()).is_none()
        }
        _ => false,
    };
    match part {
        Part::Expr(id) => match normal.exprs.get(id as usize) {
            Some(
                NormalExpr::Field(..) | NormalExpr::Index(..) | NormalExpr::List(_) | NormalExpr::Window(..),
            ) => Cost::Lookup,
            Some(NormalExpr::Call(function, _)) => function.info().cost.max(Cost::Lookup),
            Some(NormalExpr::Extern(..)) => Cost::Host,
            Some(NormalExpr::Fold { .. } | NormalExpr::Quantifier { .. }) => Cost::Loop,
            _ => Cost::Scalar,
        },
        Part::Pred(id) => match normal.preds.get(id as usize) {
            // A comparison with a scalar cannot compare large values.
            Some(NormalPredicate { test_kind: TestKind::Op(Op::Eq), left, right, mode })
                if !mode.text.is_plain() || ![Some(*left), *right].into_iter().flatten().any(is_scalar) =>
            {
                Cost::Lookup
            }
            Some(NormalPredicate { test_kind: TestKind::Op(op), .. }) => op.info().cost,
            _ => Cost::Scalar,
        },
        Part::Cond(id) => match normal.conds.get(id as usize) {
            Some(NormalCond::Each { .. }) => Cost::Loop,
            _ => Cost::Scalar,
        },
    }
}

/// Visits every direct operand of a condition, predicate or value.
fn visit_children(normal: &NormalForm, part: Part, visit: &mut dyn FnMut(Part)) -> Result<(), LowerError> {
    normal.for_each_child(part, visit).ok_or(LowerError::Malformed(match part {
        Part::Expr(_) => "unknown value",
        Part::Pred(_) => "unknown predicate",
        Part::Cond(_) => "unknown condition",
    }))
}
