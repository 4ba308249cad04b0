//! One query of the analysis, encoded as clauses of the SAT solver. Each atom (a predicate or
//! quantifier) has two SAT literals, "the atom is true" and "the atom is false".

use super::atoms::{AtomLiteral, FALSE, TRUE, TruthSet, UNKNOWN};
use super::budget::StepBudget;
use super::goal::{SolverAnswer, SolverGoal};
use super::orders::number_order_conflicts;
use super::theory::{BaseMessage, MessageTheory};
use batsat::{Callbacks, ClauseKind, Lit, SolverInterface, SolverOpts, lbool};
use hashbrown::{HashMap, HashSet};
use rulec_lang::ty::KindSet;
use rulec_sema::hir::SlotId;
use rulec_sema::normal::{CondId, NormalCond, NormalForm};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Steps that are charged for creating one variable of the SAT solver.
const STEPS_PER_VARIABLE: usize = 4;
/// Number of SAT literals whose propagation by the SAT solver is charged as one step.
const PROPAGATIONS_PER_STEP: u64 = 4;

/// Charges the clauses that the SAT solver learns, and stops the solver if too few steps are left.
pub(super) struct SatBudget(StepBudget);

impl Callbacks for SatBudget {
    fn on_new_clause(&mut self, clause: &[Lit], kind: ClauseKind) {
        if kind == ClauseKind::Learnt {
            self.0.charge(clause.len());
        }
    }

    fn stop(&self) -> bool {
        self.0.is_share_exhausted()
    }
}

/// One query, encoded as clauses of the SAT solver.
pub(super) struct SatQuery {
    pub solver: batsat::Solver<SatBudget>,
    budget: StepBudget,
    lit_by_cond: HashMap<CondId, Lit>,
    /// For each atom (predicate or quantifier), the SAT literals "the atom is true" and "the atom
    /// is false".
    lits_by_atom: BTreeMap<usize, (Lit, Lit)>,
    /// The atom (predicate or quantifier) to which each SAT variable belongs.
    atom_by_variable: HashMap<u32, usize>,
    /// A SAT literal that every query assumes to be true. A proposal (a set of truth values) is
    /// excluded under this assumption if no message was found for it, but one may exist. A result
    /// that depends on this literal is therefore not a proof.
    pub certain: Lit,
}

impl SatQuery {
    pub fn new(budget: StepBudget) -> SatQuery {
        let mut solver = batsat::Solver::new(SolverOpts::default(), SatBudget(budget.clone()));
        let certain = Lit::new(solver.new_var_default(), true);
        let (conds, atoms, atom_by_variable) = (HashMap::new(), BTreeMap::new(), HashMap::new());
        SatQuery { solver, budget, lit_by_cond: conds, lits_by_atom: atoms, atom_by_variable, certain }
    }

    /// Runs the SAT solver under assumptions. The result is neither true nor false if too few steps
    /// are left to decide.
    pub fn solve(&mut self, assumptions: &[Lit]) -> lbool {
        let old_propagations = self.solver.num_propagations();
        let result = self.solver.solve_limited(assumptions);
        let taken = (self.solver.num_propagations() - old_propagations) / PROPAGATIONS_PER_STEP;
        self.budget.charge(usize::try_from(taken).unwrap_or(usize::MAX));
        result
    }

    fn fresh_literal(&mut self) -> Lit {
        self.budget.charge(STEPS_PER_VARIABLE);
        Lit::new(self.solver.new_var(lbool::FALSE, true), true)
    }

    fn add_clause(&mut self, lits: impl IntoIterator<Item = Lit>) {
        let mut lits: Vec<Lit> = lits.into_iter().collect();
        self.budget.charge(lits.len());
        self.solver.add_clause_reuse(&mut lits);
    }

    /// Returns the SAT literal of a condition. The first call for a condition adds the clauses that
    /// define the literal.
    pub fn literal_of(&mut self, normal: &NormalForm, theory: &mut MessageTheory, cond: CondId) -> Lit {
        if let Some(existing) = self.lit_by_cond.get(&cond) {
            return *existing;
        }
        if self.budget.is_share_exhausted() {
            // The query will end without an answer, so any literal is correct.
            return self.certain;
        }
        let lit = match normal.cond(cond) {
            NormalCond::Const(value) => {
                let lit = self.fresh_literal();
                self.add_clause([if *value { lit } else { !lit }]);
                lit
            }
            NormalCond::Predicate { pred, want } => {
                let atom = theory.value_search.atoms.atom_of_pred(normal, *pred);
                let (holds, fails) = self.literals_of_atom(atom);
                if *want { holds } else { fails }
            }
            NormalCond::Each { .. } => {
                let atom = theory.value_search.atoms.atom_of_quantifier(normal, cond);
                self.literals_of_atom(atom).0
            }
            NormalCond::Not(inner) => !self.literal_of(normal, theory, *inner),
            NormalCond::And(parts) | NormalCond::Or(parts) => {
                let is_conjunction = matches!(normal.cond(cond), NormalCond::And(_));
                let parts: Vec<Lit> =
                    parts.iter().map(|part| self.literal_of(normal, theory, *part)).collect();
                let lit = self.fresh_literal();
                let sign = |lit: Lit| if is_conjunction { lit } else { !lit };
                for part in &parts {
                    self.add_clause([!sign(lit), sign(*part)]);
                }
                self.add_clause(parts.iter().map(|part| !sign(*part)).chain([sign(lit)]));
                lit
            }
        };
        self.lit_by_cond.insert(cond, lit);
        lit
    }

    fn literals_of_atom(&mut self, atom: usize) -> (Lit, Lit) {
        if let Some(existing) = self.lits_by_atom.get(&atom) {
            return *existing;
        }
        let (holds, fails) = (self.fresh_literal(), self.fresh_literal());
        self.add_clause([!holds, !fails]);
        self.lits_by_atom.insert(atom, (holds, fails));
        self.atom_by_variable.extend([holds, fails].map(|lit| (lit.var().idx(), atom)));
        (holds, fails)
    }

    /// Adds clauses for the query's `is missing` predicates: if a field is missing, each predicate
    /// on this field alone has the truth value that it has for an empty message. Predicates on
    /// fields inside the missing field are included.
    pub fn add_missing_field_clauses(&mut self, theory: &MessageTheory) {
        let table = &theory.value_search.atoms;
        let mut missing_atoms: HashMap<&[Arc<str>], Vec<(usize, SlotId)>> = HashMap::new();
        for atom in self.lits_by_atom.keys() {
            if let Some(slot) = table.atoms[*atom].missing_slot {
                missing_atoms.entry(&table.slot(slot).path).or_default().push((*atom, slot));
            }
        }
        if missing_atoms.is_empty() {
            return;
        }
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for atom in self.lits_by_atom.keys() {
            let other_atom = &table.atoms[*atom];
            let first_slot = other_atom
                .slots
                .first()
                .filter(|_| !other_atom.reads_beyond_message && other_atom.pred.is_some());
            let Some(first_slot) = first_slot else { continue };
            let path = &table.slot(*first_slot).path;
            let outer_paths = (1..=path.len()).filter_map(|length| missing_atoms.get(&path[..length]));
            for (missing_atom, slot) in outer_paths.flatten().filter(|(missing, _)| missing != atom) {
                let missing_field = table.slot(*slot);
                let is_inside = |inner_slot: SlotId| {
                    let inner_field = table.slot(inner_slot);
                    inner_field.path.len() > missing_field.path.len()
                        && inner_field.path.starts_with(&missing_field.path)
                        && KindSet::DICT.is_subset_of(missing_field.kinds)
                };
                if other_atom.slots.iter().all(|read_slot| read_slot == slot || is_inside(*read_slot)) {
                    pairs.push((*missing_atom, *atom));
                }
            }
        }
        pairs.sort_unstable();
        for (missing_atom, atom) in pairs {
            let truth = table.truth_for_empty_message(atom);
            let missing = AtomLiteral { atom_index: missing_atom, allowed: TRUE };
            let other = AtomLiteral { atom_index: atom, allowed: (TRUE | FALSE | UNKNOWN) & !truth };
            self.exclude_literals(&[missing, other], true);
        }
    }

    /// Adds clauses about operands that are compared with many numbers, such as "`n < 3` implies `n
    /// < 5`".
    pub fn add_order_clauses(&mut self, normal: &NormalForm, theory: &MessageTheory) {
        for conflict in
            number_order_conflicts(normal, &theory.value_search.atoms, self.lits_by_atom.keys().copied())
        {
            self.exclude_literals(&conflict, true);
        }
    }

    /// Adds clauses with which the SAT solver finds out which fields of a given message (`base`)
    /// must change. Creates a SAT literal "the field is unchanged" for each field that should not
    /// change. If all fields of an atom (predicate or quantifier) are unchanged, the atom has the
    /// same truth value as for `base`. Returns the path index and the literal of each field. The
    /// caller assumes that the literals are true. If there is then no solution, at least one field
    /// whose literal the proof uses must change.
    pub fn add_unchanged_path_clauses(
        &mut self,
        theory: &MessageTheory,
        base: &BaseMessage<'_>,
    ) -> Vec<(usize, Lit)> {
        let atom_table = &theory.value_search.atoms;
        let mut unchanged_lits: BTreeMap<usize, Lit> = BTreeMap::new();
        let atoms: Vec<(usize, (Lit, Lit))> =
            self.lits_by_atom.iter().map(|(atom, lits)| (*atom, *lits)).collect();
        for (atom, (holds, fails)) in atoms {
            let read_atom = &atom_table.atoms[atom];
            if read_atom.reads_beyond_message
                || read_atom.path_indexes.is_empty()
                || read_atom.path_indexes.iter().any(|path| base.is_free_path(atom_table, *path))
            {
                continue;
            }
            let mut clause: Vec<Lit> = Vec::new();
            for path in &read_atom.path_indexes {
                let lit = *unchanged_lits.entry(*path).or_insert_with(|| self.fresh_literal());
                clause.push(!lit);
            }
            let truth = atom_table.truth_of_atom(atom, base.message);
            for (lit, expected) in [(holds, TRUE), (fails, FALSE)] {
                self.add_clause(clause.iter().copied().chain([if truth == expected { lit } else { !lit }]));
            }
        }
        unchanged_lits.into_iter().collect()
    }

    /// Returns the lemmas (sets of literals that no message satisfies together) whose atoms all
    /// occur in the query. The key in `lemmas` is the atom of a lemma's first literal.
    pub fn applicable_lemmas(&self, lemmas: &HashMap<usize, Vec<Vec<AtomLiteral>>>) -> Vec<Vec<AtomLiteral>> {
        let candidates = self.lits_by_atom.keys().filter_map(|atom| lemmas.get(atom));
        self.budget.charge(candidates.clone().map(Vec::len).sum());
        candidates
            .flatten()
            .filter(|lemma| lemma.iter().all(|literal| self.lits_by_atom.contains_key(&literal.atom_index)))
            .cloned()
            .collect()
    }

    /// Adds a clause that excludes messages that satisfy all of the `literals`. If `proven` is
    /// false, the clause applies only under the assumption of the SAT literal `certain`.
    pub fn exclude_literals(&mut self, literals: &[AtomLiteral], proven: bool) {
        let mut clause: Vec<Lit> = if proven { Vec::new() } else { vec![!self.certain] };
        for literal in literals {
            let (holds, fails) = self.literals_of_atom(literal.atom_index);
            match literal.allowed {
                TRUE => clause.push(!holds),
                FALSE => clause.push(!fails),
                UNKNOWN => clause.extend([holds, fails]),
                allowed if allowed & TRUE == 0 => clause.push(holds),
                allowed if allowed & FALSE == 0 => clause.push(fails),
                // Allowed are true and false, but not unknown.
                _ => {
                    let either = self.fresh_literal();
                    self.add_clause([!either, holds, fails]);
                    self.add_clause([either, !holds]);
                    self.add_clause([either, !fails]);
                    clause.push(!either);
                }
            }
        }
        self.add_clause(clause);
    }

    /// Returns the indexes of goals (conditions with required values) that exclude each other.
    /// Precondition: the SAT solver found no solution. Returns `Unknown` if the proof depends on
    /// the assumption `certain`.
    pub fn unsatisfiable_goals(&self, goal_lits: &[Lit]) -> SolverAnswer {
        if self.solver.unsat_core_contains_var(self.certain.var()) {
            return SolverAnswer::Unknown;
        }
        let core =
            goal_lits.iter().enumerate().filter(|(_, lit)| self.solver.unsat_core_contains_var(lit.var()));
        SolverAnswer::Never(core.map(|(goal_index, _)| goal_index).collect())
    }

    /// Extracts from the SAT solver's solution a subset of literals (truth values of predicates)
    /// that is sufficient to satisfy the goals.
    pub fn extract_proposal(&self, normal: &NormalForm, goals: &[SolverGoal]) -> Vec<AtomLiteral> {
        let mut allowed_by_atom: HashMap<usize, TruthSet> = HashMap::new();
        let mut visited = HashSet::new();
        let mut pending: Vec<SolverGoal> = goals.to_vec();
        let proposed_value = |cond: CondId| {
            self.lit_by_cond.get(&cond).is_some_and(|lit| self.solver.value_lit(*lit) == lbool::TRUE)
        };
        while let Some((cond, value)) = pending.pop() {
            if !visited.insert((cond, value)) {
                continue;
            }
            match normal.cond(cond) {
                NormalCond::Const(_) => {}
                NormalCond::Not(inner) => pending.push((*inner, !value)),
                NormalCond::And(parts) | NormalCond::Or(parts) => {
                    self.budget.charge(parts.len());
                    if matches!(normal.cond(cond), NormalCond::And(_)) == value {
                        pending.extend(parts.iter().map(|part| (*part, value)));
                    } else {
                        // One operand is enough. Prefers an operand that other goals need too.
                        let matching_parts =
                            || parts.iter().copied().filter(|part| proposed_value(*part) == value);
                        let part = matching_parts()
                            .find(|part| visited.contains(&(*part, value)))
                            .or_else(|| matching_parts().next());
                        pending.extend(part.map(|part| (part, value)));
                    }
                }
                NormalCond::Predicate { .. } | NormalCond::Each { .. } => {
                    let Some((atom, true_side)) = self.atom_polarity(normal, cond) else { continue };
                    let truth = if true_side { TRUE } else { FALSE };
                    let allowed = if value { truth } else { !truth & (TRUE | FALSE | UNKNOWN) };
                    *allowed_by_atom.entry(atom).or_insert(TRUE | FALSE | UNKNOWN) &= allowed;
                }
            }
        }
        let mut literals: Vec<AtomLiteral> = allowed_by_atom
            .into_iter()
            .map(|(atom, allowed)| AtomLiteral { atom_index: atom, allowed })
            .collect();
        literals.sort_unstable();
        literals
    }

    /// Returns the predicate or quantifier (atom) of a condition. The bool is true if the condition
    /// is "the atom is true", and false if it is "the atom is false". `None` for a condition with
    /// operands, such as `and`, or if the query does not contain the condition.
    fn atom_polarity(&self, normal: &NormalForm, cond: CondId) -> Option<(usize, bool)> {
        let atom = self.atom_by_variable.get(&self.lit_by_cond.get(&cond)?.var().idx())?;
        Some((*atom, !matches!(normal.cond(cond), NormalCond::Predicate { want: false, .. })))
    }
}
