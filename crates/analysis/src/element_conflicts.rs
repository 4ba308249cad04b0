//! Finds quantifiers that exclude each other because of what they require of one element. For
//! example, if `any x in list: x > 9` is true, then `any x in list: x > 5` cannot be false, and the
//! list cannot be empty.

use super::atoms::{AtomLiteral, FALSE, TRUE};
use super::goal::{SolverAnswer, SolverGoal};
use super::solver::MessageSolver;
use super::values::SolvedValue;
use rulec_base::broken_invariant;
use rulec_lang::builtins::Function;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_sema::normal::{
    CondId, ExprId, NormalCond, NormalExpr, NormalFold, NormalForm, is_part_of_message,
};
use std::collections::BTreeMap;

/// The requirements of quantifiers over one list, such as `any x in list: x > 9`. In the conditions
/// of all these quantifiers, the element is the same variable, so the conditions can be combined.
#[derive(Default)]
struct ListRequirements {
    /// A literal (required truth value of a quantifier) that is satisfied only if the message has
    /// the list; `None` if there is none.
    presence_literal: Option<AtomLiteral>,
    /// Literals such as "`any` is true", each with the goal (a condition and its required value)
    /// that at least one element must satisfy.
    some_element_goals: Vec<(AtomLiteral, SolverGoal)>,
    /// Literals such as "`all` is not true", each with the goal that at least one element must
    /// satisfy if the list is present.
    some_if_present_goals: Vec<(AtomLiteral, SolverGoal)>,
    /// Literals such as "`all` is true" or "`any` is not true", each with the goal that every
    /// element must satisfy.
    every_element_goals: Vec<(AtomLiteral, SolverGoal)>,
}

/// Identifies the element variable of a quantifier: the list, the quantifier's level (a number that
/// distinguishes nested quantifiers), and the kinds of the element's values.
type QuantifierElementKey = (ExprId, u32, KindSet);

impl MessageSolver<'_> {
    /// Returns literals (required truth values) of which it is proven that no message satisfies
    /// all, because no element of a list can meet the requirements. `None` if none are found.
    pub fn find_element_conflict(&mut self, literals: &[AtomLiteral]) -> Option<Vec<AtomLiteral>> {
        let by_list = self.requirements_by_list(literals);
        for (key, requirements) in &by_list {
            let list = key.0;
            let ListRequirements {
                presence_literal: present,
                some_element_goals: some,
                some_if_present_goals: some_if_present,
                ..
            } = requirements;
            let every = self.goals_of_each_element(&by_list, *key);
            if let Some((present, missing)) = (*present).zip(self.missing_list_literal(literals, list)) {
                return Some(vec![present.min(missing), present.max(missing)]);
            }
            let supported = some_if_present.iter().filter_map(|found| Some((*found, Some((*present)?))));
            for ((literal, goal), support) in some.iter().map(|found| (*found, None)).chain(supported) {
                let mut core = vec![literal];
                core.extend(support.filter(|support| *support != literal));
                let others: Vec<_> = every.iter().filter(|(other, _)| *other != literal).collect();
                let goals: Vec<SolverGoal> =
                    std::iter::once(goal).chain(others.iter().map(|(_, goal)| *goal)).collect();
                if let Some(indexes) = self.contradicting_goals(goals) {
                    let needed =
                        indexes.iter().filter_map(|index| Some(others.get(index.checked_sub(1)?)?.0));
                    core.extend(needed);
                    core.sort_unstable();
                    core.dedup();
                    return Some(core);
                }
                if let Some(counted) = self.find_length_conflict(literals, list, goal) {
                    core.extend(counted);
                    core.sort_unstable();
                    core.dedup();
                    return Some(core);
                }
            }
        }
        self.find_count_conflict(literals)
    }

    /// Returns the goals that every element of a list must satisfy, each with the literal that
    /// requires it. These include the goals for the elements of longer lists that contain the list,
    /// as `history` contains `history within 1h`.
    fn goals_of_each_element(
        &self,
        by_list: &BTreeMap<QuantifierElementKey, ListRequirements>,
        (list, level, kinds): QuantifierElementKey,
    ) -> Vec<(AtomLiteral, SolverGoal)> {
        let normal = self.builder.normal_so_far();
        let containing = by_list.iter().filter(|((other, other_level, other_kinds), _)| {
            (level, kinds) == (*other_level, *other_kinds) && contains_list(normal, *other, list)
        });
        containing.flat_map(|(_, requirements)| requirements.every_element_goals.iter().copied()).collect()
    }

    /// Returns the literal that requires that the list is missing; `None` if there is none.
    fn missing_list_literal(&self, literals: &[AtomLiteral], list: ExprId) -> Option<AtomLiteral> {
        let NormalExpr::Slot(slot) = self.builder.normal_so_far().expr(list) else { return None };
        let atoms = &self.theory.value_search.atoms.atoms;
        let is_missing = |literal: &&AtomLiteral| {
            literal.allowed == TRUE && atoms[literal.atom_index].missing_slot == Some(*slot)
        };
        literals.iter().find(is_missing).copied()
    }

    /// Returns the indexes of goals (conditions with required values) that no list element
    /// satisfies together. `None` if it is not proven that there are such goals.
    pub(super) fn contradicting_goals(&mut self, goals: Vec<SolverGoal>) -> Option<Vec<usize>> {
        if let Some(known) = self.element_contradictions.get(&goals) {
            return known.clone();
        }
        let found = match self.solve(&goals) {
            SolverAnswer::Never(indexes) => Some(indexes),
            _ => None,
        };
        if found.is_some() || !self.budget().is_share_exhausted() {
            self.element_contradictions.insert(goals, found.clone());
        }
        found
    }

    /// Collects what the quantifiers among the literals require of list elements, grouped by the
    /// lists.
    fn requirements_by_list(
        &self,
        literals: &[AtomLiteral],
    ) -> BTreeMap<QuantifierElementKey, ListRequirements> {
        let normal = self.builder.normal_so_far();
        let mut by_list: BTreeMap<QuantifierElementKey, ListRequirements> = BTreeMap::new();
        for literal in literals {
            let Some(each) = self.theory.value_search.atoms.atoms[literal.atom_index].quantifier else {
                continue;
            };
            let NormalCond::Each { is_all: all, list, kinds, body, level, .. } = normal.cond(each) else {
                continue;
            };
            if !is_part_of_message(normal, *list) {
                continue;
            }
            let requirements = by_list.entry((*list, *level, *kinds)).or_default();
            let holds = literal.allowed == TRUE;
            if !holds && literal.allowed & TRUE != 0 {
                continue;
            }
            if holds {
                requirements.presence_literal.get_or_insert(*literal);
            }
            let goal = (*body, holds);
            match (*all, holds) {
                (false, true) => requirements.some_element_goals.push((*literal, goal)),
                (true, false) => requirements.some_if_present_goals.push((*literal, goal)),
                (true, true) | (false, false) => requirements.every_element_goals.push((*literal, goal)),
            }
        }
        by_list
    }

    /// Returns literals that no message satisfies if the list has an element that satisfies `goal`.
    /// The literals restrict the length of the list, such as `len(list) == 0`, or a count of its
    /// elements. `None` if there are no such literals.
    fn find_length_conflict(
        &mut self,
        literals: &[AtomLiteral],
        list: ExprId,
        goal: SolverGoal,
    ) -> Option<Vec<AtomLiteral>> {
        let mut by_term: BTreeMap<usize, Vec<AtomLiteral>> = BTreeMap::new();
        for literal in literals {
            if let Some((term, _)) =
                &self.theory.value_search.atoms.atoms[literal.atom_index].term_index_and_cond
            {
                by_term.entry(*term).or_default().push(*literal);
            }
        }
        for (term, mut literals) in by_term {
            let expr = self.theory.value_search.atoms.terms[term].expr;
            let normal = self.builder.normal_so_far();
            let counted = match normal.expr(expr) {
                NormalExpr::Call(Function::Len, args)
                    if args.first().is_some_and(|whole| contains_list(normal, *whole, list)) =>
                {
                    None
                }
                NormalExpr::Fold { fold: NormalFold::Count, list: counted, body, .. }
                    if contains_list(normal, *counted, list) =>
                {
                    Some(*body)
                }
                _ => continue,
            };
            if counted.is_some_and(|body| self.contradicting_goals(vec![goal, (body, false)]).is_none()) {
                continue;
            }
            let below_one = self.builder.build_is_below(expr, 1);
            let atom = self.atom_of_cond(below_one)?;
            let not_empty = AtomLiteral { atom_index: atom, allowed: FALSE };
            literals.push(not_empty);
            literals.sort_unstable();
            if matches!(self.theory.value_search.find_value(term, &literals, false), SolvedValue::Never) {
                let conflict = self.theory.value_search.minimise_conflict(term, literals, false);
                return Some(conflict.into_iter().filter(|literal| *literal != not_empty).collect());
            }
        }
        None
    }

    pub(super) fn atom_of_cond(&mut self, cond: CondId) -> Option<usize> {
        let normal = self.builder.normal_so_far();
        let NormalCond::Predicate { pred, .. } = normal.cond(cond) else {
            broken_invariant!("a comparison with the length of a list is a predicate");
            return None;
        };
        Some(self.theory.value_search.atoms.atom_of_pred(normal, *pred))
    }
}

/// The longest duration in seconds whose windows are compared: 9,000 years. The start of such a
/// window is always a time that can be computed. So the window is present if `now` is.
const MAX_COMPARED_WINDOW: f64 = 9_000.0 * 365.0 * 86_400.0;

/// True if it is proven that the list `outer` has each element of the list `inner`. It must also be
/// proven that `outer` is present if `inner` is present. Recognizes equal lists, and parts of the
/// history. Of two windows of the history, the outer one must not be shorter.
pub(super) fn contains_list(normal: &NormalForm, outer: ExprId, inner: ExprId) -> bool {
    let (outer, inner) =
        (without_typed_reads_of_list(normal, outer), without_typed_reads_of_list(normal, inner));
    if outer == inner {
        return true;
    }
    let NormalExpr::Window(bound, part_of, start) = normal.expr(inner) else { return false };
    if *bound == WindowBound::Hashed {
        return false;
    }
    let is_longer_window = match normal.expr(outer) {
        NormalExpr::Window(WindowBound::Since, whole, outer_start) if *bound == WindowBound::Since => {
            let lengths = seconds_before_now(normal, *outer_start).zip(seconds_before_now(normal, *start));
            without_typed_reads_of_list(normal, *whole) == without_typed_reads_of_list(normal, *part_of)
                && lengths.is_some_and(|((now, long), (same_now, short))| {
                    now == same_now && short <= long && long <= MAX_COMPARED_WINDOW
                })
        }
        _ => false,
    };
    is_longer_window || contains_list(normal, outer, *part_of)
}

fn without_typed_reads_of_list(normal: &NormalForm, mut list: ExprId) -> ExprId {
    while let NormalExpr::Read(inner, _) = normal.expr(list) {
        list = *inner;
    }
    list
}

/// Returns the parts of a difference such as `now - 3600`: the time, and the constant number of
/// seconds. `None` for other expressions.
fn seconds_before_now(normal: &NormalForm, start: ExprId) -> Option<(ExprId, f64)> {
    let NormalExpr::Op(Op::Sub, now, Some(length)) = normal.expr(start) else { return None };
    Some((*now, normal.constant(*length)?.value().to_json().as_f64()?))
}
