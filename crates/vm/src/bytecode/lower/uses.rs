//! Use analysis: collects the facts about each part of a program that lowering needs before it
//! emits code. A part is a condition, predicate or value. The facts are the part's users, its cost,
//! the loops whose elements it reads, and the size of its code.

use super::LowerError;
use rulec_base::message;
use rulec_lang::operators::{Cost, Op};
use rulec_sema::normal::{ExprId, NCond, NConst, NExpr, NPred, Normal, Part, QuantifierLevels, TestKind};

/// Facts about one part: a condition, predicate or value.
#[derive(Clone, Copy, Debug)]
pub(super) struct UseInfo {
    /// Number of parts, routes and arguments that use the part; 0 if the part is not needed.
    pub uses: u32,
    /// Number of code locations that evaluate the part. At least 2 for a part inside a loop,
    /// because the loop repeats the evaluation.
    pub asks: u32,
    /// Cost class of evaluating the part: the maximum of the classes of the part itself and its
    /// children.
    pub cost: Cost,
    /// Enclosing loops whose current elements the part reads, according to the normal form or the
    /// author's source.
    pub free: QuantifierLevels,
    /// Approximate number of instructions that the code of each user needs for the part.
    pub size: u32,
    /// Nesting depth of those operands of the part that have no block of their own.
    pub height: u32,
    /// Whether the part is, or contains, a condition whose truth value is used as a value.
    pub has_truths: bool,
}

impl UseInfo {
    /// Facts about a part that no route or argument needs.
    const UNUSED: UseInfo = UseInfo {
        uses: 0,
        asks: 0,
        cost: Cost::Scalar,
        free: QuantifierLevels::EMPTY,
        size: 1,
        height: 0,
        has_truths: false,
    };

    /// Returns true if the part reads no loop element, so that its value is the same throughout a
    /// decision.
    pub fn is_loop_invariant(&self) -> bool {
        self.free.is_empty()
    }
}

/// Maximum depth of nested values in one block. Bound on recursion, not tuned: a deeper value gets
/// a block of its own.
const MAX_INLINE_DEPTH: u32 = 32;
/// Minimum size in instructions of a condition or value that gets its own block because it has
/// several users.
const MIN_SHARED_BLOCK_SIZE: u32 = 4;

/// Result of the use analysis: the facts about every part.
pub(super) struct UseAnalysis {
    /// The parts that routes and arguments need; operands come before their users.
    pub order: Vec<Part>,
    infos: Vec<UseInfo>,
    own: Vec<bool>,
    exprs: usize,
    preds: usize,
}

impl UseAnalysis {
    pub fn new(normal: &Normal) -> Result<UseAnalysis, LowerError> {
        let (exprs, preds) = (normal.exprs.len(), normal.preds.len());
        let total = exprs + preds + normal.conds.len();
        super::checked_index(total, message!("parts of conditions"))?;
        let (infos, own) = (vec![UseInfo::UNUSED; total], vec![false; total]);
        let mut analysis = UseAnalysis { order: Vec::with_capacity(total), infos, own, exprs, preds };
        analysis.sort_topologically(normal)?;
        analysis.compute_infos(normal);
        analysis.count_evaluations(normal);
        Ok(analysis)
    }

    fn part_index(&self, part: Part) -> usize {
        match part {
            Part::Expr(id) => id as usize,
            Part::Pred(id) => self.exprs + id as usize,
            Part::Cond(id) => self.exprs + self.preds + id as usize,
        }
    }

    /// Returns the facts about a part; [`UseInfo::UNUSED`] if no route or argument needs the part.
    pub fn use_info(&self, part: Part) -> UseInfo {
        self.infos.get(self.part_index(part)).copied().unwrap_or(UseInfo::UNUSED)
    }

    /// Returns true if a part is compiled as a block of its own, which all users of the part share.
    pub fn has_own_block(&self, part: Part) -> bool {
        self.own.get(self.part_index(part)).copied().unwrap_or(false)
    }

    /// Sorts the parts so that operands come before their users, and counts the uses of each part.
    fn sort_topologically(&mut self, normal: &Normal) -> Result<(), LowerError> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; self.infos.len()];
        let mut stack: Vec<Part> = Vec::with_capacity(16);
        let mut children = Vec::with_capacity(8);
        for root in root_parts(normal) {
            let at = self.part_index(root);
            self.infos.get_mut(at).ok_or(LowerError::Malformed("unknown part"))?.uses += 1;
            stack.push(root);
            while let Some(part) = stack.last().copied() {
                let at = self.part_index(part);
                match state.get(at).copied() {
                    None => return Err(LowerError::Malformed("unknown part")),
                    Some(State::New) => {
                        state[at] = State::Open;
                        children.clear();
                        visit_children(normal, part, &mut |child| children.push(child))?;
                        for child in &children {
                            let at = self.part_index(*child);
                            match state.get(at) {
                                Some(State::Done) => {}
                                Some(State::New) => stack.push(*child),
                                Some(State::Open) => return Err(LowerError::Malformed("a part of itself")),
                                None => return Err(LowerError::Malformed("unknown part")),
                            }
                            self.infos[at].uses = self.infos[at].uses.saturating_add(1);
                        }
                    }
                    Some(State::Open) => {
                        state[at] = State::Done;
                        self.order.push(part);
                        stack.pop();
                    }
                    Some(State::Done) => {
                        stack.pop();
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the code locations that evaluate each part, from users to their operands. The
    /// operands of a part with its own block are evaluated in one location, the block.
    fn count_evaluations(&mut self, normal: &Normal) {
        for root in root_parts(normal) {
            let at = self.part_index(root);
            if let Some(info) = self.infos.get_mut(at) {
                info.asks += 1;
            }
        }
        for at in (0..self.order.len()).rev() {
            let part = self.order[at];
            let info = &self.infos[self.part_index(part)];
            let places = match (self.own[self.part_index(part)], info.is_loop_invariant()) {
                (true, true) => 1,
                // A loop runs the part for each element of a list: more than once.
                (_, false) => info.asks.max(2),
                (false, true) => info.asks,
            };
            let _ = visit_children(normal, part, &mut |child| {
                let at = self.part_index(child);
                let is_body = loop_level_of_body(normal, part, child).is_some();
                let places = if is_body { places.max(2) } else { places };
                self.infos[at].asks = self.infos[at].asks.saturating_add(places);
            });
        }
    }

    /// Computes the facts about each part except `uses` and `asks`, from operands to their users.
    fn compute_infos(&mut self, normal: &Normal) {
        for at in 0..self.order.len() {
            let part = self.order[at];
            let mut sum = UseInfo {
                cost: own_cost(normal, part),
                has_truths: is_condition_value(normal, part),
                ..self.use_info(part)
            };
            // The order contains only parts whose children are known, so this cannot fail.
            let _ = visit_children(normal, part, &mut |child: Part| {
                let info = self.use_info(child);
                sum.cost = sum.cost.max(info.cost);
                sum.has_truths |= info.has_truths;
                sum.free = sum.free.union(match loop_level_of_body(normal, part, child) {
                    Some(level) => info.free.without_level(level),
                    None => info.free,
                });
            });
            sum.free = sum.free.union(own_loop_reads(normal, part));
            let _ = visit_children(normal, part, &mut |child: Part| {
                let is_body = loop_level_of_body(normal, part, child).is_some();
                self.make_block_if_invariant(normal, child, is_body || !sum.is_loop_invariant());
                let nests =
                    matches!((part, child), (Part::Cond(_), Part::Cond(_)) | (Part::Expr(_), Part::Expr(_)));
                if nests && !self.has_own_block(child) {
                    let info = self.use_info(child);
                    sum.size = sum.size.saturating_add(info.size);
                    sum.height = sum.height.max(info.height + 1);
                }
            });
            let at = self.part_index(part);
            self.own[at] = wants_block(normal, part, &sum);
            self.infos[at] = sum;
        }
    }

    /// Gives a part its own block with a cached value if a loop would otherwise repeat the
    /// evaluation. Only parts whose value does not depend on loop elements get such a block.
    fn make_block_if_invariant(&mut self, normal: &Normal, part: Part, repeats: bool) {
        let info = self.use_info(part);
        let is_simple = match part {
            Part::Pred(_) => true,
            Part::Cond(id) => !matches!(normal.conds.get(id as usize), Some(NCond::Each { .. })),
            Part::Expr(id) => {
                matches!(
                    normal.exprs.get(id as usize),
                    Some(NExpr::Const(_) | NExpr::Slot(_) | NExpr::Var(_))
                )
            }
        };
        if repeats && info.is_loop_invariant() && info.cost > Cost::Scalar && !is_simple {
            let at = self.part_index(part);
            self.own[at] = true;
        }
    }
}

/// Returns the parts from which all needed parts can be reached: the conditions of routes, and the
/// values of arguments and destinations.
fn root_parts(normal: &Normal) -> impl Iterator<Item = Part> {
    let conditions = normal.tables.iter().flatten().map(|route| Part::Cond(route.cond.0));
    conditions.chain(normal.values.iter().map(|value| Part::Expr(value.0)))
}

/// Returns the nesting level of the loop `part` if `child` is its body; otherwise `None`.
fn loop_level_of_body(normal: &Normal, part: Part, child: Part) -> Option<u32> {
    match (part, child) {
        (Part::Cond(id), Part::Cond(_)) => match normal.conds.get(id as usize) {
            Some(NCond::Each { level, .. }) => Some(*level),
            _ => None,
        },
        (Part::Expr(id), Part::Cond(_)) => match normal.exprs.get(id as usize) {
            Some(NExpr::Count { level, .. } | NExpr::Quantifier { level, .. }) => Some(*level),
            _ => None,
        },
        _ => None,
    }
}

fn wants_block(normal: &Normal, part: Part, info: &UseInfo) -> bool {
    let large = info.size >= MIN_SHARED_BLOCK_SIZE;
    match part {
        Part::Pred(_) => false,
        Part::Cond(id) => match normal.conds.get(id as usize) {
            Some(NCond::And(_) | NCond::Or(_)) => info.uses > 1 && large,
            Some(NCond::Each { .. }) => info.uses > 1,
            _ => false,
        },
        Part::Expr(id) => match normal.exprs.get(id as usize) {
            Some(NExpr::Const(_) | NExpr::Slot(_) | NExpr::Var(_)) | None => false,
            _ => info.height >= MAX_INLINE_DEPTH || (info.uses > 1 && (large || info.cost > Cost::Scalar)),
        },
    }
}

fn is_condition_value(normal: &Normal, part: Part) -> bool {
    let Part::Expr(id) = part else { return false };
    matches!(normal.exprs.get(id as usize), Some(NExpr::Cond { .. } | NExpr::Quantifier { .. }))
}

/// Returns the enclosing loops whose current elements the part itself reads, according to the
/// normal form or the author's source. Elements that only its children read are not included.
fn own_loop_reads(normal: &Normal, part: Part) -> QuantifierLevels {
    let reads = match part {
        Part::Expr(id) => match normal.exprs.get(id as usize) {
            Some(NExpr::Var(level)) => Some(QuantifierLevels::new(*level)),
            Some(NExpr::Cond { reads, .. } | NExpr::If { reads, .. }) => Some(*reads),
            Some(NExpr::Count { nest, .. } | NExpr::Quantifier { nest, .. }) => Some(nest.reads),
            _ => None,
        },
        Part::Cond(id) => match normal.conds.get(id as usize) {
            Some(NCond::Each { nest, .. }) => Some(nest.reads),
            _ => None,
        },
        Part::Pred(_) => None,
    };
    reads.unwrap_or_default()
}

/// Returns the cost of a part without its children.
fn own_cost(normal: &Normal, part: Part) -> Cost {
    let is_scalar = |operand: ExprId| match normal.exprs.get(operand.index()) {
        Some(NExpr::Const(NConst(constant))) => {
            let value = constant.value();
            value.list_len().or(value.dict_len()).is_none()
        }
        _ => false,
    };
    match part {
        Part::Expr(id) => match normal.exprs.get(id as usize) {
            Some(NExpr::Field(..) | NExpr::Index(..) | NExpr::List(_)) => Cost::Lookup,
            Some(NExpr::Call(function, _)) => function.info().cost.max(Cost::Lookup),
            Some(NExpr::Extern(..)) => Cost::Host,
            Some(NExpr::Count { .. } | NExpr::Quantifier { .. }) => Cost::Loop,
            _ => Cost::Scalar,
        },
        Part::Pred(id) => match normal.preds.get(id as usize) {
            // A comparison with a scalar cannot compare large values.
            Some(NPred { ask: TestKind::Op(Op::Eq), left, right, mode })
                if !mode.text.is_plain() || ![Some(*left), *right].into_iter().flatten().any(is_scalar) =>
            {
                Cost::Lookup
            }
            Some(NPred { ask: TestKind::Op(op), .. }) => op.info().cost,
            _ => Cost::Scalar,
        },
        Part::Cond(id) => match normal.conds.get(id as usize) {
            Some(NCond::Each { .. }) => Cost::Loop,
            _ => Cost::Scalar,
        },
    }
}

/// Visits every direct child of a part.
fn visit_children(normal: &Normal, part: Part, visit: &mut dyn FnMut(Part)) -> Result<(), LowerError> {
    normal.for_each_child(part, visit).ok_or(LowerError::Malformed(match part {
        Part::Expr(_) => "unknown value",
        Part::Pred(_) => "unknown predicate",
        Part::Cond(_) => "unknown condition",
    }))
}
