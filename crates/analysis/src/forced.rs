//! Finds the truth values of predicates that follow directly from goals, by unit propagation. A
//! goal is a condition that must be true or must not be true. If the goals leave only one
//! alternative in each disjunction, the query needs no SAT solver, which is slower.

use super::atoms::{AtomLiteral, FALSE, TRUE, TruthSet, UNKNOWN};
use super::goal::SolverGoal;
use super::theory::MessageTheory;
use hashbrown::{HashMap, HashSet};
use rulec_sema::normal::{CondId, NormalCond, NormalForm};

const ANY_TRUTH: TruthSet = TRUE | FALSE | UNKNOWN;

/// Returns the literals (required truth values of predicates) that satisfy all goals (conditions
/// with required values), sorted. `None` if the goals leave a choice between several literals, or
/// if they contradict each other.
pub(super) fn forced_literals(
    normal: &NormalForm,
    theory: &mut MessageTheory,
    goals: &[SolverGoal],
) -> Option<Vec<AtomLiteral>> {
    let mut search =
        GoalPropagation { normal, theory, allowed_by_atom: HashMap::new(), visited: HashSet::new() };
    let mut alternatives = search.propagate_goals(goals.to_vec())?;
    while !alternatives.is_empty() {
        let mut open = Vec::new();
        let mut forced = Vec::new();
        for (cond, value) in alternatives.drain(..) {
            match search.open_operands(cond, value) {
                OpenOperands::Satisfied => {}
                OpenOperands::One(part) => forced.push((part, value)),
                OpenOperands::Several => open.push((cond, value)),
                OpenOperands::None => return None,
            }
        }
        if forced.is_empty() && !open.is_empty() {
            return None;
        }
        alternatives = search.propagate_goals(forced)?;
        alternatives.append(&mut open);
    }
    let mut literals: Vec<AtomLiteral> = search
        .allowed_by_atom
        .into_iter()
        .map(|(atom, allowed)| AtomLiteral { atom_index: atom, allowed })
        .collect();
    literals.sort_unstable();
    Some(literals)
}

/// The operands of a goal (a condition with a required value) that may still satisfy the goal. The
/// goal is an `or` that must be true, or an `and` that must not be true, so one operand with the
/// required value suffices. If only one such operand is left, it must have this value.
enum OpenOperands {
    /// The goal is already satisfied: because of other goals, one operand has the required value.
    Satisfied,
    One(CondId),
    Several,
    None,
}

/// The state of the unit propagation: what follows so far from the goals (conditions with required
/// values).
struct GoalPropagation<'a> {
    normal: &'a NormalForm,
    theory: &'a mut MessageTheory,
    /// The truth values that the goals allow for each atom (predicate or quantifier).
    allowed_by_atom: HashMap<usize, TruthSet>,
    /// The goals that were processed, including the goals that follow from them.
    visited: HashSet<SolverGoal>,
}

impl GoalPropagation<'_> {
    /// Adds the literals (required truth values of predicates) that the goals `pending` require.
    /// Returns the goals that leave a choice between several operands, such as an `or` that must be
    /// true. `None` if the goals contradict each other, or if too few steps are left.
    fn propagate_goals(&mut self, mut pending: Vec<SolverGoal>) -> Option<Vec<SolverGoal>> {
        let mut alternatives = Vec::new();
        while let Some((cond, value)) = pending.pop() {
            if !self.visited.insert((cond, value)) {
                continue;
            }
            if self.visited.contains(&(cond, !value)) {
                return None;
            }
            match self.normal.cond(cond) {
                NormalCond::Const(constant) if *constant == value => {}
                NormalCond::Const(_) => return None,
                NormalCond::Not(inner) => pending.push((*inner, !value)),
                NormalCond::And(parts) | NormalCond::Or(parts) => {
                    if !self.theory.value_search.atoms.budget.charge(parts.len()) {
                        return None;
                    }
                    if matches!(self.normal.cond(cond), NormalCond::And(_)) == value {
                        // In reverse order, so that the first operand is popped first.
                        pending.extend(parts.iter().rev().map(|part| (*part, value)));
                    } else {
                        alternatives.push((cond, value));
                    }
                }
                NormalCond::Predicate { .. } | NormalCond::Each { .. } => {
                    let (atom, allowed) = self.literal_of(cond, value)?;
                    let allowed_so_far = self.allowed_by_atom.entry(atom).or_insert(ANY_TRUTH);
                    *allowed_so_far &= allowed;
                    if *allowed_so_far == 0 {
                        return None;
                    }
                }
            }
        }
        Some(alternatives)
    }

    /// Converts a goal, "`cond` is true" or "`cond` is not true" (`value` is false), to a
    /// requirement for one atom. Returns the atom (predicate or quantifier) and the truth values
    /// that satisfy the goal. `None` if the condition is not a single atom.
    fn literal_of(&mut self, cond: CondId, value: bool) -> Option<(usize, TruthSet)> {
        let atoms = &mut self.theory.value_search.atoms;
        let (atom, truth) = match self.normal.cond(cond) {
            NormalCond::Predicate { pred, want } => {
                (atoms.atom_of_pred(self.normal, *pred), if *want { TRUE } else { FALSE })
            }
            NormalCond::Each { .. } => (atoms.atom_of_quantifier(self.normal, cond), TRUE),
            _ => return None,
        };
        Some((atom, if value { truth } else { ANY_TRUTH & !truth }))
    }

    fn open_operands(&mut self, cond: CondId, value: bool) -> OpenOperands {
        let (NormalCond::And(parts) | NormalCond::Or(parts)) = self.normal.cond(cond) else {
            return OpenOperands::Several;
        };
        if !self.theory.value_search.atoms.budget.charge(parts.len()) {
            return OpenOperands::None;
        }
        let mut remaining = OpenOperands::None;
        for part in parts {
            if self.visited.contains(&(*part, value)) {
                return OpenOperands::Satisfied;
            }
            if self.visited.contains(&(*part, !value)) {
                continue;
            }
            if let Some((atom, allowed)) = self.literal_of(*part, value) {
                let allowed_so_far = self.allowed_by_atom.get(&atom).copied().unwrap_or(ANY_TRUTH);
                if allowed_so_far & allowed == allowed_so_far {
                    return OpenOperands::Satisfied;
                }
                if allowed_so_far & allowed == 0 {
                    continue;
                }
            }
            remaining = match remaining {
                OpenOperands::None => OpenOperands::One(*part),
                _ => OpenOperands::Several,
            };
        }
        remaining
    }
}
