//! The worst-case work of a decision, in steps. A step is one comparison, or one byte or element
//! read. The estimate assumes that no condition is skipped or shared and that the index excludes no
//! rule. Values are assumed to be as large as the limits allow. The result is an upper bound for
//! any message, not the typical cost.

use hashbrown::HashMap;
use rulec_base::text;
use rulec_lang::builtins::Function;
use rulec_lang::limits::Limit;
use rulec_lang::operators::{Cost as Class, Search};
use rulec_sema::hir::{Program, TableId, TableKind};
use rulec_sema::normal::{CondId, NormalCond, NormalExpr, NormalForm, NormalPredicate, Part, TestKind};
use serde::Serialize;
use serde_json::Value as Json;

/// The worst-case work of a decision by one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableCost {
    /// The name of the table; `routes` for the routes outside any table.
    pub table: String,
    /// Steps of the conditions of all statements in the table, and in the tables that a `goto` can
    /// reach from it.
    pub steps: u64,
    /// The number of host function calls in the conditions that `steps` counts.
    pub calls: u64,
    /// The cost of each statement of the table, the most expensive first.
    pub statements: Vec<StatementCost>,
}

/// The worst-case work of one statement's condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StatementCost {
    /// The name of the statement, such as the name of a route.
    pub name: String,
    /// The steps of the statement's condition. The table to which a `goto` leads is counted
    /// separately.
    pub steps: u64,
    /// The number of host function calls in the statement's condition.
    pub calls: u64,
    /// Whether the work of the condition grows with the number of messages in the history.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub grows_with_history: bool,
}

/// An amount of work: steps, and host function calls.
#[derive(Clone, Copy, Default)]
struct EstimatedWork {
    steps: u64,
    host_call_count: u64,
    grows_with_history: bool,
}

impl EstimatedWork {
    fn add(&mut self, other: EstimatedWork) {
        self.steps = self.steps.saturating_add(other.steps);
        self.host_call_count = self.host_call_count.saturating_add(other.host_call_count);
        self.grows_with_history |= other.grows_with_history;
    }

    fn repeated_times(self, count: u64) -> EstimatedWork {
        let (steps, calls) = (self.steps.saturating_mul(count), self.host_call_count.saturating_mul(count));
        EstimatedWork { steps, host_call_count: calls, ..self }
    }
}

/// Computes the cost of each table with which a decision can start. `growing` returns true for a
/// part of a condition that is a loop whose work grows with the number of recorded messages.
#[doc(hidden)]
pub fn table_costs(program: &Program, normal: &NormalForm, growing: &dyn Fn(Part) -> bool) -> Vec<TableCost> {
    let mut walk = CostEstimator { program, normal, growing, work_by_part: HashMap::new() };
    let mut tables: Vec<(TableCost, Vec<TableId>)> = Vec::new();
    for (table_index, routes) in normal.tables.iter().enumerate() {
        let mut total = EstimatedWork::default();
        let mut statements = Vec::new();
        for route in routes {
            let work = walk.work_of_cond(route.cond);
            total.add(work);
            let name = program.rules[route.rule.index()].name.to_string();
            let EstimatedWork { steps, host_call_count: calls, grows_with_history } = work;
            statements.push(StatementCost { name, steps, calls, grows_with_history });
        }
        statements.sort_by_key(|statement| std::cmp::Reverse(statement.steps));
        let table = program.tables[table_index].name.to_string();
        let jumps = routes.iter().filter_map(|route| route.goto).collect();
        tables
            .push((TableCost { table, steps: total.steps, calls: total.host_call_count, statements }, jumps));
    }
    let reached: Vec<EstimatedWork> =
        (0..tables.len()).map(|table_index| reachable_work(program, &tables, table_index)).collect();
    let entries = tables.into_iter().zip(reached).enumerate().filter(|(table_index, ((table, _), _))| {
        program.tables[*table_index].kind != TableKind::Requirements && !table.statements.is_empty()
    });
    entries
        .map(|(_, ((table, _), total))| TableCost {
            steps: total.steps,
            calls: total.host_call_count,
            ..table
        })
        .collect()
}

/// Returns the work of the table with index `start` and of all tables reachable from it by `goto`.
/// Each table counts once. `tables` contains the cost of each table, and the tables to which its
/// `goto`s lead.
fn reachable_work(program: &Program, tables: &[(TableCost, Vec<TableId>)], start: usize) -> EstimatedWork {
    let (mut total, mut visited, mut pending) =
        (EstimatedWork::default(), vec![false; tables.len()], vec![start]);
    while let Some(table_index) = pending.pop() {
        if std::mem::replace(&mut visited[table_index], true) {
            continue;
        }
        let (table, jumps) = &tables[table_index];
        total.add(EstimatedWork {
            steps: table.steps,
            host_call_count: table.calls,
            grows_with_history: false,
        });
        pending.extend(jumps.iter().map(|target| target.index()));
        if let Some(rulec_sema::hir::Outcome::Goto(target)) = &program.tables[table_index].default {
            pending.push(target.index());
        }
    }
    total
}

/// Computes the work of conditions and values recursively. Caches the work of each condition,
/// predicate and expression.
struct CostEstimator<'a> {
    program: &'a Program,
    normal: &'a NormalForm,
    growing: &'a dyn Fn(Part) -> bool,
    work_by_part: HashMap<Part, EstimatedWork>,
}

impl CostEstimator<'_> {
    fn work_of_cond(&mut self, id: CondId) -> EstimatedWork {
        self.work_of_part(Part::Cond(id.0))
    }

    fn work_of_part(&mut self, part: Part) -> EstimatedWork {
        if let Some(cached) = self.work_by_part.get(&part) {
            return *cached;
        }
        let mut parts = Vec::new();
        self.normal.for_each_child(part, &mut |inner| parts.push(inner));
        let mut work = EstimatedWork::default();
        parts.iter().for_each(|inner| work.add(self.work_of_part(*inner)));
        // The body of a quantifier is evaluated for each element.
        let nest_depth = match part {
            Part::Cond(id) => match &self.normal.conds[id as usize] {
                NormalCond::Each { nest, .. } => Some(nest.depth),
                _ => None,
            },
            Part::Expr(id) => match &self.normal.exprs[id as usize] {
                NormalExpr::Fold { nest, .. } | NormalExpr::Quantifier { nest, .. } => Some(nest.depth),
                _ => None,
            },
            Part::Pred(_) => None,
        };
        if let Some(depth) = nest_depth {
            work = work.repeated_times(self.program.limits.max_elements_per_quantifier(depth.max(1)));
        }
        work.add(self.own_work(part));
        work.grows_with_history |= (self.growing)(part);
        self.work_by_part.insert(part, work);
        work
    }

    /// Returns the work of a condition, predicate or expression alone, without the work of its
    /// operands.
    fn own_work(&self, part: Part) -> EstimatedWork {
        let steps = |steps| EstimatedWork { steps, ..EstimatedWork::default() };
        match part {
            Part::Pred(id) => steps(self.predicate_steps(&self.normal.preds[id as usize])),
            Part::Expr(id) => match &self.normal.exprs[id as usize] {
                NormalExpr::Call(Function::Similarity, _) => {
                    let max_characters = self.program.limits.get(Limit::SimilarityCharacters);
                    steps(max_characters.saturating_mul(max_characters))
                }
                NormalExpr::Call(function, _) => steps(match function.info().cost {
                    Class::Scalar | Class::Lookup => 1,
                    _ => self.program.limits.get(Limit::ValueBytes),
                }),
                NormalExpr::Extern(id, _) => match self.program.externs.get(id.index()) {
                    Some(host) if host.feature.is_some() => {
                        steps(self.program.limits.get(Limit::RequestWork))
                    }
                    _ => EstimatedWork { steps: 1, host_call_count: 1, grows_with_history: false },
                },
                NormalExpr::Op(..) | NormalExpr::List(_) | NormalExpr::Index(..) | NormalExpr::Window(..) => {
                    steps(1)
                }
                _ => EstimatedWork::default(),
            },
            Part::Cond(_) => EstimatedWork::default(),
        }
    }

    fn predicate_steps(&self, pred: &NormalPredicate) -> u64 {
        let TestKind::Op(op) = pred.test_kind else { return 1 };
        let limits = &self.program.limits;
        let constant = pred
            .right
            .and_then(|right| self.normal.constant(right))
            .map(|constant| constant.value().to_json());
        let words: u64 = match &constant {
            Some(Json::Array(words)) => words.len().max(1) as u64,
            _ => 1,
        };
        match (op.info().search, constant) {
            (Some(Search::Regex), Some(pattern)) => {
                let patterns: Vec<&Json> = match &pattern {
                    Json::Array(patterns) => patterns.iter().collect(),
                    one => vec![one],
                };
                let states = patterns.iter().filter_map(|pattern| {
                    let hir = text::parse_cached(pattern.as_str()?, pred.mode.text.folds_case).ok()?;
                    Some(text::automaton_state_count(&hir))
                });
                let states = states.fold(0_u64, u64::saturating_add).max(1);
                limits
                    .get(Limit::RegexBytes)
                    .saturating_mul(states)
                    .min(limits.get(Limit::RegexWork).saturating_mul(words))
            }
            (Some(_), Some(_)) => limits.get(Limit::RegexBytes).saturating_mul(words),
            (_, Some(_)) if matches!(op.info().cost, Class::Scalar | Class::Lookup) => 1,
            (_, Some(_)) => limits.get(Limit::RegexBytes),
            (None, None) if op.info().cost == Class::Scalar => 1,
            (_, None) => limits.get(Limit::SearchWork),
        }
    }
}
