//! Finds the loops over the history (earlier messages) whose results can be cached between
//! decisions. The condition of such a loop reads only the element, so its result does not depend on
//! the current message. The condition may also compare the element with values of the current
//! message; the cached results are then grouped by the compared values.

use super::{LowerError, Lowering, checked_index, find_cond};
use crate::bytecode::chunk::{HistoryLoop, KeyComparison, MAX_COMPARED_BYTES, MAX_ELEMENT_GROUPS};
use crate::bytecode::instr::{BlockId, BlockKind, Instr};
use rulec_base::message;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Cost, Op};
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_sema::normal::{
    CondId, ExprId, NormalCond, NormalExpr, NormalPredicate, Part, PossibleKinds, TestKind,
};
use smallvec::SmallVec;

/// The kinds of value by which elements of a loop can be grouped.
const GROUPABLE_KINDS: KindSet = KindSet::STRING
    .union(KindSet::NUMBER)
    .union(KindSet::BOOL)
    .union(KindSet::DECIMAL)
    .union(KindSet::DATETIME);

impl Lowering<'_> {
    /// Returns how the results of a loop can be cached between decisions. `None` in three cases:
    /// - The list `list` is neither the history (recorded messages) nor a window of it.
    /// - The value `summed` is expensive, or reads anything but the loop's element.
    /// - The condition `body` is expensive, or reads anything but the loop's element. At most
    ///   [`MAX_ELEMENT_GROUPS`] comparisons with the current message are allowed.
    ///
    /// Expensive operators are excluded, because their work limits depend on the number of
    /// elements.
    ///
    /// Also records the loop `part` in `growing_loops` if its work grows with the history. It grows
    /// if the results cannot be cached, or if the loop compares values such as lists, by which
    /// elements cannot be grouped.
    pub(super) fn history_loop(
        &mut self,
        part: Part,
        list: ExprId,
        body: CondId,
        summed: Option<ExprId>,
        level: u32,
    ) -> Result<Option<HistoryLoop>, LowerError> {
        let found = self.cached_history_loop(list, body, summed, level)?;
        let is_cached = found.is_some_and(|(_, has_groups_only)| has_groups_only);
        self.record_growing_loop(part, list, is_cached);
        Ok(found.map(|(history_loop, _)| history_loop))
    }

    /// Returns how the results of a loop can be cached; see [`Self::history_loop`]. The bool is
    /// true unless a comparison may need more than groups of elements.
    fn cached_history_loop(
        &mut self,
        list: ExprId,
        body: CondId,
        summed: Option<ExprId>,
        level: u32,
    ) -> Result<Option<(HistoryLoop, bool)>, LowerError> {
        if !self.is_history(list)
            || summed.is_some_and(|value| !self.is_cheap_and_reads_only_element(Part::Expr(value.0), level))
        {
            return Ok(None);
        }
        let normal = self.normal;
        let parts: SmallVec<[CondId; 4]> = match find_cond(normal, body)? {
            NormalCond::And(parts) => parts.iter().copied().collect(),
            _ => SmallVec::from_elem(body, 1),
        };
        let (mut closed, open): (SmallVec<[CondId; 4]>, SmallVec<[CondId; 4]>) = parts
            .into_iter()
            .partition(|part| self.is_cheap_and_reads_only_element(Part::Cond(part.0), level));
        if open.len() > MAX_ELEMENT_GROUPS {
            return Ok(None);
        }
        let mut comparisons = SmallVec::<[KeyComparison; MAX_ELEMENT_GROUPS]>::new();
        let mut has_groups_only = true;
        for cond in open {
            let Some((comparison, is_groupable)) = self.split_key_comparison(cond, level)? else {
                return Ok(None);
            };
            comparisons.push(comparison);
            has_groups_only &= is_groupable;
        }
        // Comparisons with constants form groups too. So loops that differ only in their constants
        // share results, and each element is evaluated once for all of these loops.
        for cond in std::mem::take(&mut closed) {
            match self.split_key_comparison(cond, level)?.filter(|_| comparisons.len() < MAX_ELEMENT_GROUPS) {
                Some((comparison, is_groupable)) => {
                    comparisons.push(comparison);
                    has_groups_only &= is_groupable;
                }
                None => closed.push(cond),
            }
        }
        // Loops with the same comparisons in another order share results as well.
        comparisons.sort_by_key(|comparison| comparison.key_block);
        let body = self.block_for_conjunction(&closed)?;
        let keys = comparisons.iter().map(|comparison| comparison.key_block).collect();
        let mut groups = [None; MAX_ELEMENT_GROUPS];
        groups.iter_mut().zip(comparisons).for_each(|(place, comparison)| *place = Some(comparison));
        let key = (body, keys, summed.map(|value| value.0));
        let next = checked_index(self.history_memo_numbers.len(), message!("loops"))?;
        let memo = *self.history_memo_numbers.entry(key).or_insert(next);
        Ok(Some((HistoryLoop { body, groups, memo_number: memo }, has_groups_only)))
    }

    /// Records the loop `part` if its list is the history, because its work then grows with the
    /// history. Does nothing if `is_remembered`: the results of the loop are cached between
    /// decisions.
    pub(super) fn record_growing_loop(&mut self, part: Part, list: ExprId, is_remembered: bool) {
        if !is_remembered && self.is_history(list) {
            self.growing_loops.insert(part);
        }
    }

    /// True if an expression is the history or a window of it, such as the last hour.
    fn is_history(&self, list: ExprId) -> bool {
        match self.normal.exprs.get(list.index()) {
            Some(NormalExpr::History(_)) => true,
            Some(NormalExpr::Window(WindowBound::Hashed, ..)) => false,
            Some(NormalExpr::Window(_, list, _)) => self.is_history(*list),
            _ => false,
        }
    }

    /// Returns the two sides of a condition `KEY == OTHER`. `KEY` must read only the element of the
    /// loop, and `OTHER` must read no element and take little work (see `is_cheap`). `None` for any
    /// other condition, and for a constant by which elements cannot be grouped, such as a version.
    /// The bool is true if elements can be grouped by all values that the two sides may have.
    /// `level` is the nesting level of the loop.
    fn split_key_comparison(
        &mut self,
        cond: CondId,
        level: u32,
    ) -> Result<Option<(KeyComparison, bool)>, LowerError> {
        let NormalCond::Predicate { pred, want: true } = find_cond(self.normal, cond)? else {
            return Ok(None);
        };
        let Some(NormalPredicate { test_kind: TestKind::Op(Op::Eq), mode, left, right: Some(right) }) =
            self.normal.preds.get(pred.index())
        else {
            return Ok(None);
        };
        if !mode.text.is_plain() {
            return Ok(None);
        }
        for (key, other) in [(*left, *right), (*right, *left)] {
            let other_info = self.uses.use_info(Part::Expr(other.0));
            let is_cheap = self.is_cheap(Part::Expr(other.0));
            let constant = self.normal.constant(other).map(|constant| constant.value());
            if constant.is_some_and(|value| !can_be_group_key(value)) {
                continue;
            }
            if self.is_cheap_and_reads_only_element(Part::Expr(key.0), level)
                && other_info.is_loop_invariant()
                && is_cheap
            {
                // A list as a key equals no other value, but a version ends the caching.
                let (key_kinds, other_kinds) = (self.kinds_of(key), self.kinds_of(other));
                let is_groupable = key_kinds.intersect(KindSet::VERSION).is_empty()
                    && other_kinds.is_subset_of(GROUPABLE_KINDS);
                let comparison = KeyComparison {
                    key_block: self.block_for_expr(key)?,
                    other_operand: self.lower_operand(other)?,
                };
                return Ok(Some((comparison, is_groupable)));
            }
        }
        Ok(None)
    }

    /// Returns the kinds of value that an expression may have.
    fn kinds_of(&self, expr: ExprId) -> KindSet {
        PossibleKinds::new(self.slots, &[]).kinds_of(self.normal, expr)
    }

    /// True if a condition, predicate or value reads only constants and the element of the loop at
    /// nesting level `level`, and is cheap (see [`Self::is_cheap`]).
    fn is_cheap_and_reads_only_element(&self, part: Part, level: u32) -> bool {
        let reads_other = match part {
            Part::Expr(id) => match self.normal.exprs.get(id as usize) {
                Some(NormalExpr::Slot(_) | NormalExpr::History(_)) => true,
                Some(NormalExpr::Var(other)) => *other != level,
                _ => false,
            },
            _ => false,
        };
        let mut is_cheap_and_reads_only_element = !reads_other && self.is_cheap_itself(part);
        let _ = self.normal.for_each_child(part, &mut |child| {
            is_cheap_and_reads_only_element =
                is_cheap_and_reads_only_element && self.is_cheap_and_reads_only_element(child, level);
        });
        is_cheap_and_reads_only_element
    }

    /// True if a condition, predicate or value is cheap with all its operands: no host function, no
    /// loop, and no work limit that depends on the number of elements.
    fn is_cheap(&self, part: Part) -> bool {
        let mut is_cheap = self.is_cheap_itself(part);
        let _ = self.normal.for_each_child(part, &mut |child| is_cheap = is_cheap && self.is_cheap(child));
        is_cheap
    }

    fn is_cheap_itself(&self, part: Part) -> bool {
        match part {
            Part::Expr(id) => match self.normal.exprs.get(id as usize) {
                Some(NormalExpr::Call(function, _)) => function.info().cost <= Cost::Scalar,
                Some(
                    NormalExpr::Extern(..)
                    | NormalExpr::Fold { .. }
                    | NormalExpr::Quantifier { .. }
                    | NormalExpr::List(_),
                ) => false,
                expr => expr.is_some(),
            },
            Part::Pred(id) => self.normal.preds.get(id as usize).is_some_and(|pred| self.is_cheap_test(pred)),
            Part::Cond(id) => match self.normal.conds.get(id as usize) {
                Some(NormalCond::Each { .. }) | None => false,
                Some(_) => true,
            },
        }
    }

    /// True for a cheap predicate: a comparison with a constant scalar, or `in` with a constant
    /// list.
    fn is_cheap_test(&self, pred: &NormalPredicate) -> bool {
        let op = match pred.test_kind {
            TestKind::Truth => return true,
            TestKind::Op(op) => op,
        };
        let constant = |id: ExprId| self.normal.constant(id).map(|constant| constant.value());
        let is_scalar = |id: ExprId| {
            constant(id)
                .is_some_and(|value| value.own_size() <= MAX_COMPARED_BYTES && value.list_len().is_none())
        };
        let is_plain = pred.mode.text.is_plain() && pred.mode.quantity.is_none();
        match (op, pred.right) {
            (Op::IsMissing | Op::IsPresent, _) => true,
            (Op::In, Some(right)) => {
                is_plain && constant(right).is_some_and(|value| value.list_len().is_some())
            }
            // Comparing numbers, times and versions has no work limit. Comparing a text with a
            // short text ends early.
            (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, Some(right)) => {
                is_plain && (is_scalar(right) || is_scalar(pred.left))
            }
            _ => false,
        }
    }

    /// Emits a block that yields true if all of the conditions `conds` are true.
    fn block_for_conjunction(&mut self, conds: &[CondId]) -> Result<BlockId, LowerError> {
        if let [only] = conds {
            return self.block_for_cond(*only);
        }
        let key: SmallVec<[u32; 4]> = conds.iter().map(|cond| cond.0).collect();
        if let Some(block) = self.conjunction_blocks.get(&key) {
            return Ok(*block);
        }
        let start = self.current_address()?;
        let mut labels = SmallVec::<[_; 4]>::new();
        for cond in conds {
            labels.push(self.emit_cond(*cond)?);
        }
        self.emit(Instr::Answer { holds: true })?;
        let mut can_fail = false;
        for label in labels.into_iter().filter(|label| !label.jump_addresses.is_empty()) {
            can_fail = true;
            self.bind_label(label)?;
        }
        if can_fail {
            self.emit(Instr::Answer { holds: false })?;
        }
        let block = self.close_block(BlockKind::Condition, start, 0, None)?;
        self.conjunction_blocks.insert(key, block);
        Ok(block)
    }
}

/// True for a constant by which elements can be grouped: equal elements are written alike.
fn can_be_group_key(constant: Value<'_>) -> bool {
    constant.kind().is_some_and(|kind| KindSet::single(kind).is_subset_of(GROUPABLE_KINDS))
}
