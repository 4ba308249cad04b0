//! Flattens a table into one sequence of leaves. A leaf is a condition with the answer (the
//! outcome) that it selects. `goto`s are inlined, a default has a condition that is always true,
//! and the last leaf is "nothing is chosen". Rules can then be compared even if the two versions
//! divide them into different tables.

use super::answers::{AnswerIds, ComputedValue};
use super::solver::MessageSolver;
use hashbrown::{HashMap, HashSet};
use rulec_eval::decision::{Choice, Chosen};
use rulec_sema::hir::{Cond, Expr, Outcome, Program, RuleId, TableId, TableKind};
use rulec_sema::normal::CondId;
use smallvec::SmallVec;

/// Maximum number of leaves in a sequence. A leaf is a condition with the answer that it selects. A
/// statement becomes one leaf for each path of `goto`s that leads to the statement.
const MAX_SEQUENCE_LEAVES: usize = 100_000;

/// A statement that can be chosen, with the `goto`s that lead to it. Also represents the case that
/// nothing is chosen.
pub(super) struct SequenceLeaf {
    /// The name of the statement, after the names of the `goto`s that lead to it. The names are
    /// joined by ` → `.
    pub name: String,
    /// The conjunction of the statement's condition and the conditions of the `goto`s.
    pub cond: CondId,
    /// The id of the answer (the outcome with its arguments). Leaves with equal ids give equal
    /// answers.
    pub answer_id: u32,
    /// The id of the constant part of the answer, without its computed values. Two leaves with
    /// equal ids give equal answers to a message if their `args` have equal values for this
    /// message.
    pub fixed_part_id: u32,
    pub args: Vec<ComputedValue>,
}

/// Identifies one outcome of a flattened table, a leaf: the `goto` rules that are followed, in
/// order, and the statement that is chosen. `None` in place of the statement means that nothing is
/// chosen.
type SequenceKey = (SmallVec<[RuleId; 4]>, Option<Chosen>);

/// A flattened table: conditions with their answers (leaves), in evaluation order. A message gets
/// the answer of the first leaf whose condition is true.
#[derive(Default)]
pub(super) struct LeafSequence {
    pub leaves: Vec<SequenceLeaf>,
    /// Maps each outcome of the table to its index in `leaves`.
    index_by_key: HashMap<SequenceKey, usize>,
}

impl LeafSequence {
    /// Returns the rules whose conditions must be true so that this outcome (leaf) is chosen: the
    /// `goto`s that lead to its statement, and the rule of the statement.
    pub fn rules_to_leaf(&self, leaf: usize) -> Vec<RuleId> {
        let entry = self.index_by_key.iter().find(|(_, other)| **other == leaf);
        entry.map_or_else(Vec::new, |((path, chosen), _)| {
            let final_rule = match chosen {
                Some(Chosen::Rule(id)) => Some(*id),
                _ => None,
            };
            path.iter().copied().chain(final_rule).collect()
        })
    }

    /// Returns the index of the leaf (a statement with the `goto`s that lead to it) that a decision
    /// chose. `None` if the sequence has no such leaf.
    pub fn leaf_index(&self, choice: &Choice) -> Option<usize> {
        self.index_by_key.get(&(choice.path.clone(), choice.chosen)).copied()
    }
}

/// Flattens tables of a program into sequences. The program may be one of the two programs in a
/// merged program.
pub(super) struct SequenceBuilder<'r, 'p> {
    pub program: &'r Program,
    /// The renumbered conditions of a merged program; `None` to use the program's own conditions.
    pub renumbered_conditions: Option<&'r [Cond]>,
    pub computed_values: &'r [Expr],
    pub solver: &'r mut MessageSolver<'p>,
    pub answer_ids: &'r mut AnswerIds,
}

/// The `goto`s that lead to a table: their names, conditions and rules.
#[derive(Clone)]
struct GotoPrefix {
    joined_names: String,
    conds: Vec<CondId>,
    goto_rules: SmallVec<[RuleId; 4]>,
}

impl SequenceBuilder<'_, '_> {
    /// Flattens a table into its sequence of leaves (conditions with answers). Without a table, the
    /// sequence has only "nothing is chosen". `None` if there would be too many leaves.
    pub fn build_sequence(&mut self, table: Option<TableId>) -> Option<LeafSequence> {
        let mut sequence = LeafSequence::default();
        if let Some(table) = table {
            let start =
                GotoPrefix { joined_names: String::new(), conds: Vec::new(), goto_rules: SmallVec::new() };
            self.add_table(table, &start, &mut sequence)?;
        }
        let always_true = self.solver.builder.constant_cond(true);
        let [nothing, constant] = ["nothing", "constant"].map(|key| self.answer_ids.id_of(key.to_owned()));
        sequence.index_by_key.entry((SmallVec::new(), None)).or_insert(sequence.leaves.len());
        let name = "nothing".to_owned();
        sequence.leaves.push(SequenceLeaf {
            name,
            cond: always_true,
            answer_id: nothing,
            fixed_part_id: constant,
            args: Vec::new(),
        });
        Some(sequence)
    }

    fn add_table(&mut self, id: TableId, prefix: &GotoPrefix, sequence: &mut LeafSequence) -> Option<()> {
        let table = &self.program.tables[id.index()];
        for rule in &table.evaluation_order {
            let rule_cond = match self.renumbered_conditions {
                Some(conditions) => &conditions[rule.index()],
                None => &*self.program.rules[rule.index()].condition,
            };
            let cond = self.solver.builder.build_cond(rule_cond, true);
            let outcome = &self.program.rules[rule.index()].outcome;
            self.add_outcome(outcome, Chosen::Rule(*rule), Some(cond), (prefix, sequence))?;
        }
        match &table.default {
            Some(outcome) => self.add_outcome(outcome, Chosen::Default(id), None, (prefix, sequence)),
            None => Some(()),
        }
    }

    fn add_outcome(
        &mut self,
        outcome: &Outcome,
        chosen: Chosen,
        cond: Option<CondId>,
        (prefix, sequence): (&GotoPrefix, &mut LeafSequence),
    ) -> Option<()> {
        if sequence.leaves.len() >= MAX_SEQUENCE_LEAVES {
            return None;
        }
        let mut extended = prefix.clone();
        extended.conds.extend(cond);
        if let Outcome::Goto(inner) = outcome {
            if let Chosen::Rule(rule) = chosen {
                extended.goto_rules.push(rule);
            }
            extended.joined_names = format!("{}{} → ", prefix.joined_names, chosen.name(self.program));
            return self.add_table(*inner, &extended, sequence);
        }
        let program = (self.program, self.computed_values);
        let answer = self.answer_ids.build_answer(&mut self.solver.builder, program, outcome, chosen);
        // Apart from its arguments, the answer of a handler, a branch or a flow is constant.
        let fixed_part = match outcome {
            Outcome::Next { .. } => answer.fixed_part_id,
            _ => self.answer_ids.id_of("constant".to_owned()),
        };
        let cond = self.solver.builder.join_conds(extended.conds, true);
        let name = match outcome {
            // All patterns of a flow have the same name, so the pattern is added.
            Outcome::Flow { pattern, .. } => format!("{} `{pattern}`", chosen.name(self.program)),
            _ => format!("{}{}", prefix.joined_names, chosen.name(self.program)),
        };
        sequence.index_by_key.entry((extended.goto_rules, Some(chosen))).or_insert(sequence.leaves.len());
        sequence.leaves.push(SequenceLeaf {
            name,
            cond,
            answer_id: answer.answer_id,
            fixed_part_id: fixed_part,
            args: answer.args,
        });
        Some(())
    }
}

/// Returns the tables that can be an entry point: the routes outside any table, choices, routers,
/// flows, and tables without an incoming `goto`.
fn entry_points(program: &Program) -> Vec<TableId> {
    let targets = super::unused::goto_targets(program);
    let is_entry = |id: &TableId| {
        let table = &program.tables[id.index()];
        let is_empty = table.evaluation_order.is_empty() && table.default.is_none();
        match table.kind {
            _ if is_empty => false,
            TableKind::Requirements => false,
            TableKind::Routes => id.0 == 0 || !targets.contains(id),
            _ => true,
        }
    };
    (0..program.tables.len() as u32).map(TableId).filter(is_entry).collect()
}

/// The name and kind of a table, and its id in the old and in the new version; `None` in a version
/// without this table.
pub(super) type ComparedTable = (String, TableKind, (Option<TableId>, Option<TableId>));

/// Returns the tables of both versions that can be an entry point, a table with which a decision
/// starts.
pub(super) fn entry_tables(old: &Program, new: &Program) -> Vec<ComparedTable> {
    let by_name = |program: &Program| -> HashMap<String, TableId> {
        // If several tables have the same name, the first one counts.
        let tables = program.tables.iter().enumerate().rev();
        let tables = tables.filter(|(_, table)| table.kind != TableKind::Requirements);
        tables.map(|(index, table)| (table.name.to_string(), TableId(index as u32))).collect()
    };
    let (old_names, new_names) = (by_name(old), by_name(new));
    let mut compared: Vec<ComparedTable> = Vec::new();
    let mut listed: HashSet<(&str, TableKind)> = HashSet::new();
    for id in entry_points(new) {
        let table = &new.tables[id.index()];
        let old_id = old_names.get(&*table.name).copied();
        let old_id = old_id.filter(|id| old.tables[id.index()].kind == table.kind);
        listed.insert((&*table.name, table.kind));
        compared.push((table.name.to_string(), table.kind, (old_id, Some(id))));
    }
    for id in entry_points(old) {
        let table = &old.tables[id.index()];
        if listed.insert((&*table.name, table.kind)) {
            let new_id = new_names.get(&*table.name).copied();
            let new_id = new_id.filter(|id| new.tables[id.index()].kind == table.kind);
            compared.push((table.name.to_string(), table.kind, (Some(id), new_id)));
        }
    }
    compared
}
