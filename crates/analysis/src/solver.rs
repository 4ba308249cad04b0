//! Searches for messages for which given conditions are true or false together. A SAT solver
//! proposes truth values for predicates. The module `theory` finds a message with these truth
//! values, or returns predicates that exclude each other. The SAT solver learns the returned
//! predicates. A proposal that `theory` cannot decide is excluded under an assumption. A result
//! that depends on the assumption is not a proof.

use super::atoms::{AtomLiteral, FALSE, TRUE, TruthSet, UNKNOWN};
use super::theory::{BaseMessage, LiteralConflict, MessageTheory};
use batsat::{BasicSolver, Lit, SolverInterface, lbool};
use hashbrown::{HashMap, HashSet};
use rulec_sema::hir::Program;
use rulec_sema::normal::{CondId, NCond, Normal, NormalBuilder};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A condition of the normal form. The bool is true if the condition must be true, and false if the
/// condition must not be true.
pub(super) type SolverGoal = (CondId, bool);

/// The answer to the query whether all goals can be satisfied together.
#[derive(Clone, Debug)]
pub(super) enum SolverAnswer {
    /// A message that satisfies all goals.
    Yes(Json),
    /// No message satisfies all goals. The indexes select goals that exclude each other.
    Never(Vec<usize>),
    Unknown,
}

impl SolverAnswer {
    pub fn is_unsatisfiable(&self) -> bool {
        matches!(self, SolverAnswer::Never(_))
    }
}

/// Maximum number of proposals of the SAT solver per query.
const MAX_PROPOSALS: usize = 60;

/// Finds messages that satisfy conditions of a program. Contains the normal forms of these
/// conditions.
pub(super) struct Solver<'p> {
    pub builder: NormalBuilder<'p>,
    pub theory: MessageTheory,
    /// Sets of literals that no message satisfies together. The key is the atom (predicate) of the
    /// first literal.
    lemmas: HashMap<usize, Vec<Vec<AtomLiteral>>>,
}

impl<'p> Solver<'p> {
    pub fn new(program: &'p Program) -> Solver<'p> {
        Solver {
            builder: NormalBuilder::new(program),
            theory: MessageTheory::new(program),
            lemmas: HashMap::new(),
        }
    }

    /// Searches for a message that satisfies all goals.
    pub fn solve(&mut self, goals: &[SolverGoal]) -> SolverAnswer {
        self.search(goals, None).0
    }

    /// Searches for a message that satisfies all goals and differs from the base message only in
    /// the base's free paths. If there is none, also returns a set of other paths, at least one of
    /// which must change.
    pub fn solve_near(&mut self, goals: &[SolverGoal], base: &BaseMessage<'_>) -> (SolverAnswer, Vec<usize>) {
        self.search(goals, Some(base))
    }

    fn search(&mut self, goals: &[SolverGoal], base: Option<&BaseMessage<'_>>) -> (SolverAnswer, Vec<usize>) {
        let mut query = SatQuery::new();
        let mut goal_lits: Vec<Lit> = Vec::new();
        for (cond, value) in goals {
            let lit = query.literal_of(self.builder.normal_so_far(), &mut self.theory, *cond);
            goal_lits.push(if *value { lit } else { !lit });
        }
        query.add_missing_field_clauses(self.builder.normal_so_far(), &self.theory);
        for lemma in query.applicable_lemmas(&self.lemmas) {
            query.exclude_literals(&lemma, true);
        }
        let unchanged_paths =
            base.map(|base| query.fix_unchanged_paths(&self.theory, base)).unwrap_or_default();
        let mut assumptions: Vec<Lit> = goal_lits.iter().copied().chain([query.certain]).collect();
        assumptions.extend(unchanged_paths.iter().map(|(_, lit)| *lit));
        for _ in 0..MAX_PROPOSALS {
            match query.solver.solve_limited(&assumptions) {
                result if result == lbool::TRUE => {}
                result if result == lbool::FALSE => {
                    let core = unchanged_paths
                        .iter()
                        .filter(|(_, lit)| query.solver.unsat_core_contains_var(lit.var()));
                    return (query.unsatisfiable_goals(&goal_lits), core.map(|(path, _)| *path).collect());
                }
                _ => break,
            }
            let literals = query.extract_proposal(self.builder.normal_so_far(), goals);
            match self.theory.find_message(self.builder.normal_so_far(), &literals, base) {
                Ok(message) => return (SolverAnswer::Yes(message), Vec::new()),
                Err(LiteralConflict { literals, proven }) => {
                    query.exclude_literals(&literals, proven);
                    if proven && literals.len() > 1 {
                        self.lemmas.entry(literals[0].atom).or_default().push(literals);
                    }
                }
            }
        }
        (SolverAnswer::Unknown, Vec::new())
    }
}

/// A solver with a limited number of queries.
pub(super) struct LimitedSolver<'c, 's> {
    pub solver: &'c mut Solver<'s>,
    /// The number of queries left.
    queries_left: &'c mut usize,
    pub queries_used: usize,
}

impl<'c, 's> LimitedSolver<'c, 's> {
    pub fn new(solver: &'c mut Solver<'s>, queries_left: &'c mut usize) -> LimitedSolver<'c, 's> {
        LimitedSolver { solver, queries_left, queries_used: 0 }
    }

    pub fn is_unsatisfiable(&mut self, goals: &[SolverGoal]) -> bool {
        self.solve(goals).is_unsatisfiable()
    }

    pub fn solve(&mut self, goals: &[SolverGoal]) -> SolverAnswer {
        if *self.queries_left == 0 {
            return SolverAnswer::Unknown;
        }
        *self.queries_left -= 1;
        self.queries_used += 1;
        self.solver.solve(goals)
    }
}

/// One query, encoded as clauses of the SAT solver.
struct SatQuery {
    solver: BasicSolver,
    conds: HashMap<CondId, Lit>,
    /// For each atom, the SAT literals "the atom is true" and "the atom is false".
    atoms: BTreeMap<usize, (Lit, Lit)>,
    /// For each SAT variable in `atoms`, the atom (predicate or quantifier) that the variable
    /// belongs to.
    owners: HashMap<u32, usize>,
    /// SAT literal that every query assumes to be true. Clauses that exclude sets of literals
    /// without a proof apply only under this assumption.
    certain: Lit,
}

impl SatQuery {
    fn new() -> SatQuery {
        let mut solver = BasicSolver::default();
        let certain = Lit::new(solver.new_var_default(), true);
        SatQuery { solver, conds: HashMap::new(), atoms: BTreeMap::new(), owners: HashMap::new(), certain }
    }

    fn fresh_literal(&mut self) -> Lit {
        Lit::new(self.solver.new_var(lbool::FALSE, true), true)
    }

    fn add_clause(&mut self, lits: impl IntoIterator<Item = Lit>) {
        self.solver.add_clause_reuse(&mut lits.into_iter().collect());
    }

    /// Returns the SAT literal of a condition. The first call for a condition adds the clauses that
    /// define the literal.
    fn literal_of(&mut self, normal: &Normal, theory: &mut MessageTheory, cond: CondId) -> Lit {
        if let Some(existing) = self.conds.get(&cond) {
            return *existing;
        }
        let lit = match normal.cond(cond) {
            NCond::Const(value) => {
                let lit = self.fresh_literal();
                self.add_clause([if *value { lit } else { !lit }]);
                lit
            }
            NCond::Test { pred, want } => {
                let atom = theory.values.atoms.atom_of_pred(normal, *pred);
                let (holds, fails) = self.literals_of_atom(atom);
                if *want { holds } else { fails }
            }
            NCond::Each { .. } => {
                let atom = theory.values.atoms.atom_of_each(normal, cond);
                self.literals_of_atom(atom).0
            }
            NCond::Not(inner) => !self.literal_of(normal, theory, *inner),
            NCond::And(parts) | NCond::Or(parts) => {
                let is_conjunction = matches!(normal.cond(cond), NCond::And(_));
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
        self.conds.insert(cond, lit);
        lit
    }

    fn literals_of_atom(&mut self, atom: usize) -> (Lit, Lit) {
        if let Some(existing) = self.atoms.get(&atom) {
            return *existing;
        }
        let (holds, fails) = (self.fresh_literal(), self.fresh_literal());
        self.add_clause([!holds, !fails]);
        self.atoms.insert(atom, (holds, fails));
        self.owners.extend([holds, fails].map(|lit| (lit.var().idx(), atom)));
        (holds, fails)
    }

    /// Adds clauses for fields that may be missing. If a predicate reads only a missing field, its
    /// truth value is the same as for an empty message.
    fn add_missing_field_clauses(&mut self, normal: &Normal, theory: &MessageTheory) {
        let _ = normal;
        let atoms: Vec<usize> = self.atoms.keys().copied().collect();
        let missing_atoms = |atom: &usize| Some((*atom, theory.values.atoms.atoms[*atom].missing_slot?));
        let missing_atoms: Vec<(usize, _)> = atoms.iter().filter_map(missing_atoms).collect();
        for (missing_atom, slot) in missing_atoms {
            let missing_field = theory.values.atoms.slot(slot);
            for &atom in atoms.iter().filter(|atom| **atom != missing_atom) {
                let other_atom = &theory.values.atoms.atoms[atom];
                let is_inside = |inner_slot| {
                    let inner_field = theory.values.atoms.slot(inner_slot);
                    inner_field.path.len() > missing_field.path.len()
                        && inner_field.path.starts_with(&missing_field.path)
                        && rulec_lang::ty::KindSet::DICT.is_subset(missing_field.kinds)
                };
                let reads_only_missing = !other_atom.slots.is_empty()
                    && !other_atom.reads_outside
                    && other_atom.pred.is_some()
                    && other_atom.slots.iter().all(|read_slot| *read_slot == slot || is_inside(*read_slot));
                if reads_only_missing {
                    let truth =
                        theory.values.atoms.truth_of_atom(atom, &Json::Object(serde_json::Map::new()));
                    self.exclude_literals(
                        &[
                            AtomLiteral { atom: missing_atom, allowed: TRUE },
                            AtomLiteral { atom, allowed: (TRUE | FALSE | UNKNOWN) & !truth },
                        ],
                        true,
                    );
                }
            }
        }
    }

    /// Adds clauses that fix the truth of the atoms (predicates) that read only paths that may not
    /// change. Returns each of these paths with the SAT literal "the path is unchanged".
    fn fix_unchanged_paths(&mut self, theory: &MessageTheory, base: &BaseMessage<'_>) -> Vec<(usize, Lit)> {
        let atom_table = &theory.values.atoms;
        let mut unchanged_lits: BTreeMap<usize, Lit> = BTreeMap::new();
        let atoms: Vec<(usize, (Lit, Lit))> = self.atoms.iter().map(|(atom, lits)| (*atom, *lits)).collect();
        for (atom, (holds, fails)) in atoms {
            let read_atom = &atom_table.atoms[atom];
            if read_atom.reads_outside
                || read_atom.paths.is_empty()
                || read_atom.paths.iter().any(|path| base.is_free(atom_table, *path))
            {
                continue;
            }
            let mut clause: Vec<Lit> = Vec::new();
            for path in &read_atom.paths {
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
    /// occur in the query.
    fn applicable_lemmas(&self, lemmas: &HashMap<usize, Vec<Vec<AtomLiteral>>>) -> Vec<Vec<AtomLiteral>> {
        let candidates = self.atoms.keys().filter_map(|atom| lemmas.get(atom)).flatten();
        candidates
            .filter(|lemma| lemma.iter().all(|literal| self.atoms.contains_key(&literal.atom)))
            .cloned()
            .collect()
    }

    /// Adds a clause that excludes messages that satisfy all of the `literals`. If `proven` is
    /// false, the clause applies only under the assumption `certain`.
    fn exclude_literals(&mut self, literals: &[AtomLiteral], proven: bool) {
        let mut clause: Vec<Lit> = if proven { Vec::new() } else { vec![!self.certain] };
        for literal in literals {
            let (holds, fails) = self.literals_of_atom(literal.atom);
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

    /// Returns the indexes of goals that exclude each other, after the SAT solver found no
    /// solution. Returns `Unknown` if the proof depends on the assumption `certain`.
    fn unsatisfiable_goals(&self, goal_lits: &[Lit]) -> SolverAnswer {
        if self.solver.unsat_core_contains_var(self.certain.var()) {
            return SolverAnswer::Unknown;
        }
        let core =
            goal_lits.iter().enumerate().filter(|(_, lit)| self.solver.unsat_core_contains_var(lit.var()));
        SolverAnswer::Never(core.map(|(goal_index, _)| goal_index).collect())
    }

    /// Extracts from the SAT solver's solution a subset of literals that is sufficient to satisfy
    /// the goals.
    fn extract_proposal(&self, normal: &Normal, goals: &[SolverGoal]) -> Vec<AtomLiteral> {
        let mut allowed_by_atom: HashMap<usize, TruthSet> = HashMap::new();
        let mut visited = HashSet::new();
        let mut pending: Vec<SolverGoal> = goals.to_vec();
        let proposed_value = |cond: CondId| {
            self.conds.get(&cond).is_some_and(|lit| self.solver.value_lit(*lit) == lbool::TRUE)
        };
        while let Some((cond, value)) = pending.pop() {
            if !visited.insert((cond, value)) {
                continue;
            }
            match normal.cond(cond) {
                NCond::Const(_) => {}
                NCond::Not(inner) => pending.push((*inner, !value)),
                NCond::And(parts) | NCond::Or(parts) => {
                    if matches!(normal.cond(cond), NCond::And(_)) == value {
                        pending.extend(parts.iter().map(|part| (*part, value)));
                    } else {
                        // One part is enough; prefer a part that is needed anyway.
                        let matching_parts =
                            || parts.iter().copied().filter(|part| proposed_value(*part) == value);
                        let part = matching_parts()
                            .find(|part| visited.contains(&(*part, value)))
                            .or_else(|| matching_parts().next());
                        pending.extend(part.map(|part| (part, value)));
                    }
                }
                NCond::Test { .. } | NCond::Each { .. } => {
                    let Some((atom, true_side)) = self.atom_polarity(normal, cond) else { continue };
                    let truth = if true_side { TRUE } else { FALSE };
                    let allowed = if value { truth } else { !truth & (TRUE | FALSE | UNKNOWN) };
                    *allowed_by_atom.entry(atom).or_insert(TRUE | FALSE | UNKNOWN) &= allowed;
                }
            }
        }
        let mut literals: Vec<AtomLiteral> =
            allowed_by_atom.into_iter().map(|(atom, allowed)| AtomLiteral { atom, allowed }).collect();
        literals.sort_unstable();
        literals
    }

    /// Returns the atom of a condition. The bool is true if the condition is "the atom is true",
    /// and false if the condition is "the atom is false".
    fn atom_polarity(&self, normal: &Normal, cond: CondId) -> Option<(usize, bool)> {
        let atom = self.owners.get(&self.conds.get(&cond)?.var().idx())?;
        Some((*atom, !matches!(normal.cond(cond), NCond::Test { want: false, .. })))
    }
}
