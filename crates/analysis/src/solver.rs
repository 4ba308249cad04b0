//! Searches for messages that make some given conditions true and other given conditions not true.
//! A SAT solver proposes truth values for predicates. The module `theory` finds a message with
//! these truth values, or returns predicates that exclude each other. The SAT solver then never
//! proposes these truth values together again. If `theory` cannot decide, the proposal is excluded
//! under an assumption. A result that depends on the assumption is not a proof.

use super::atoms::AtomLiteral;
use super::budget::StepBudget;
use super::forced::forced_literals;
use super::goal::{SolverAnswer, SolverGoal};
use super::sat::SatQuery;
use super::theory::{BaseMessage, LiteralConflict, MessageTheory};
use batsat::{Lit, SolverInterface, lbool};
use hashbrown::HashMap;
use rulec_sema::hir::Program;
use rulec_sema::normal::NormalBuilder;

/// Maximum number of proposals in one query. A proposal is a set of truth values for predicates,
/// which the SAT solver suggests. For each proposal, the solver searches for a message.
const MAX_PROPOSALS_PER_QUERY: usize = 60;
/// Steps of the work limit that are charged for a query, and for creating a SAT solver.
const STEPS_PER_QUERY: usize = 30;
const STEPS_PER_SAT_SOLVER: usize = 300;

/// Finds messages that satisfy conditions of a program. Contains the normal forms (simplified
/// forms) of these conditions.
pub(super) struct MessageSolver<'p> {
    pub builder: NormalBuilder<'p>,
    pub theory: MessageTheory,
    /// Sets of literals (required truth values of predicates) that no message satisfies together.
    /// The key is the atom (predicate) of the first literal.
    lemmas_by_atom: HashMap<usize, Vec<Vec<AtomLiteral>>>,
    /// Cached conflicts: for goals (conditions with required values) on one list element, the
    /// indexes of the goals that contradict each other. `None` if no contradiction was proven.
    pub(super) element_contradictions: HashMap<Vec<SolverGoal>, Option<Vec<usize>>>,
}

impl<'p> MessageSolver<'p> {
    pub fn new(program: &'p Program) -> MessageSolver<'p> {
        MessageSolver {
            builder: NormalBuilder::new(program),
            theory: MessageTheory::new(program),
            lemmas_by_atom: HashMap::new(),
            element_contradictions: HashMap::new(),
        }
    }

    /// Returns the step budget that all queries of the analysis share.
    pub fn budget(&self) -> &StepBudget {
        &self.theory.value_search.atoms.budget
    }

    /// Searches for a message that satisfies all goals.
    pub fn solve(&mut self, goals: &[SolverGoal]) -> SolverAnswer {
        self.search(goals, None).0
    }

    /// Searches for a message that satisfies all goals and differs from the base message only in
    /// the base's free paths (fields that may change). If it is proven that there is none, also
    /// returns a set of other paths, at least one of which must change.
    pub fn solve_near(&mut self, goals: &[SolverGoal], base: &BaseMessage<'_>) -> (SolverAnswer, Vec<usize>) {
        self.search(goals, Some(base))
    }

    fn search(&mut self, goals: &[SolverGoal], base: Option<&BaseMessage<'_>>) -> (SolverAnswer, Vec<usize>) {
        let budget = self.budget().clone();
        let unknown = (SolverAnswer::Unknown, Vec::new());
        if !budget.charge(STEPS_PER_QUERY) {
            return unknown;
        }
        // Most queries leave no choice between alternatives. The SAT solver is only needed for the
        // other queries, and for proofs.
        if base.is_none()
            && let Some(literals) = forced_literals(self.builder.normal_so_far(), &mut self.theory, goals)
            && let Ok(message) = self.theory.find_message(self.builder.normal_so_far(), &literals, None)
            && !budget.is_share_exhausted()
        {
            return (SolverAnswer::Yes(message), Vec::new());
        }
        if !budget.charge(STEPS_PER_SAT_SOLVER) {
            return unknown;
        }
        let mut query = SatQuery::new(budget.clone());
        let mut goal_lits: Vec<Lit> = Vec::new();
        for (cond, value) in goals {
            let lit = query.literal_of(self.builder.normal_so_far(), &mut self.theory, *cond);
            goal_lits.push(if *value { lit } else { !lit });
        }
        query.add_missing_field_clauses(&self.theory);
        query.add_order_clauses(self.builder.normal_so_far(), &self.theory);
        for lemma in query.applicable_lemmas(&self.lemmas_by_atom) {
            query.exclude_literals(&lemma, true);
        }
        let unchanged_paths =
            base.map(|base| query.add_unchanged_path_clauses(&self.theory, base)).unwrap_or_default();
        let mut assumptions: Vec<Lit> = goal_lits.iter().copied().chain([query.certain]).collect();
        assumptions.extend(unchanged_paths.iter().map(|(_, lit)| *lit));
        for _ in 0..MAX_PROPOSALS_PER_QUERY {
            let result = query.solve(&assumptions);
            if budget.is_share_exhausted() {
                return unknown;
            }
            match result {
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
            let proposed = self.theory.find_message(self.builder.normal_so_far(), &literals, base);
            if budget.is_share_exhausted() {
                return unknown;
            }
            match proposed {
                Ok(message) => return (SolverAnswer::Yes(message), Vec::new()),
                Err(LiteralConflict { literals: unsolved, is_proven: proven }) => {
                    let conflict = if proven { None } else { self.find_element_conflict(&literals) };
                    if budget.is_share_exhausted() {
                        return unknown;
                    }
                    let (literals, proven) = match conflict {
                        Some(conflict) => (conflict, true),
                        None => (unsolved, proven),
                    };
                    query.exclude_literals(&literals, proven);
                    if proven && literals.len() > 1 {
                        self.lemmas_by_atom.entry(literals[0].atom_index).or_default().push(literals);
                    }
                }
            }
        }
        unknown
    }
}

/// A solver that refuses further queries after a given number of queries.
pub(super) struct LimitedSolver<'c, 's> {
    pub solver: &'c mut MessageSolver<'s>,
    /// The number of queries that the solver may still run. Each query reduces this number by one.
    queries_left: &'c mut usize,
    pub queries_used: usize,
}

impl<'c, 's> LimitedSolver<'c, 's> {
    pub fn new(solver: &'c mut MessageSolver<'s>, queries_left: &'c mut usize) -> LimitedSolver<'c, 's> {
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
