//! Decides a message: searches a table for the first rule whose condition is true, and falls back
//! to the table's default. A `goto` searches another table.

use super::Evaluator;
use super::observe::{EvalStep, Observer};
use crate::decision::{Choice, Chosen};
use rulec_lang::value::Tri;
use rulec_sema::hir::{Outcome, Rule, RuleId, TableId};
use smallvec::SmallVec;

/// The progress of the search in one decision: the `goto`s that were followed, and the tables whose
/// search has begun.
struct SearchState {
    /// Rules whose `goto` led to the current table, in the order in which the search followed the
    /// `goto`s.
    goto_rules: SmallVec<[RuleId; 4]>,
    /// For each table, whether its search has begun. A table is not searched twice: if its first
    /// search had chosen a statement, the decision would have ended.
    searched_tables: Vec<bool>,
}

impl<'a, O: Observer<'a>> Evaluator<'a, O> {
    /// Decides the message by the table `entry`: chooses the first rule whose condition is true,
    /// otherwise the default. Chooses nothing if the message is not an object.
    pub fn decide(&mut self, entry: TableId) -> Choice {
        if !self.message.is_object() {
            return Choice::none_chosen();
        }
        let mut state = SearchState {
            goto_rules: SmallVec::new(),
            searched_tables: vec![false; self.program.tables.len()],
        };
        match self.search_table(entry, &mut state) {
            Some(chosen) => Choice { chosen: Some(chosen), path: state.goto_rules },
            None => Choice::none_chosen(),
        }
    }

    fn search_table(&mut self, id: TableId, state: &mut SearchState) -> Option<Chosen> {
        if std::mem::replace(&mut state.searched_tables[id.index()], true) {
            return self.observe_step(EvalStep::SearchedBefore(id), |_| None);
        }
        self.observe_step(EvalStep::Table(id), |eval| {
            for (rule, info) in eval.enabled_rules(id) {
                let chosen = eval.observe_step(EvalStep::Rule(rule), |eval| eval.try_rule(rule, info, state));
                if chosen.is_some() {
                    return chosen;
                }
            }
            let default = eval.program.tables[id.index()].default.as_ref()?;
            eval.observe_step(EvalStep::Default(id), |eval| match default {
                Outcome::Goto(inner) => eval.search_table(*inner, state),
                _ => Some(Chosen::Default(id)),
            })
        })
    }

    fn try_rule(&mut self, id: RuleId, rule: &'a Rule, state: &mut SearchState) -> Option<Chosen> {
        if !self.eval_cond(&rule.condition).holds() {
            return None;
        }
        let Outcome::Goto(inner) = rule.outcome else { return Some(Chosen::Rule(id)) };
        state.goto_rules.push(id);
        let chosen = self.search_table(inner, state);
        if chosen.is_none() {
            state.goto_rules.pop();
        }
        chosen
    }

    /// Returns the rules of a table that the author has not disabled, in evaluation order.
    fn enabled_rules(&self, id: TableId) -> impl Iterator<Item = (RuleId, &'a Rule)> + use<'a, O> {
        let program = self.program;
        let order = program.tables[id.index()].evaluation_order.iter();
        order.map(|&id| (id, &program.rules[id.index()])).filter(|(_, rule)| !rule.is_disabled)
    }

    /// Returns every enabled rule of the table whose condition is true, in evaluation order. For a
    /// rule with a `goto`, only its own condition counts; the target table is not searched.
    pub fn matching_rules(&mut self, entry: TableId) -> Vec<RuleId> {
        let rules = self.enabled_rules(entry);
        rules.filter(|(_, rule)| self.eval_cond(&rule.condition).holds()).map(|(id, _)| id).collect()
    }

    /// Returns the statements that a decision may choose if some fields of the message are not
    /// known yet. The result contains the rules whose condition is true or unknown, up to the first
    /// rule that the decision certainly chooses. A `goto` is replaced by the statements that its
    /// target may choose.
    pub fn possible_choices(&mut self, entry: TableId) -> Vec<Chosen> {
        let mut choices = Vec::new();
        self.collect_possible_choices(entry, &mut vec![false; self.program.tables.len()], &mut choices);
        choices
    }

    /// Adds to `choices` the statements that a table may choose. `searched_tables` says for each
    /// table whether its search has begun; such a table is not searched again. Returns true if
    /// the table certainly chooses one of the added statements.
    fn collect_possible_choices(
        &mut self,
        id: TableId,
        searched_tables: &mut [bool],
        choices: &mut Vec<Chosen>,
    ) -> bool {
        if std::mem::replace(&mut searched_tables[id.index()], true) {
            return false;
        }
        let mut add_choices = |eval: &mut Self, outcome: &Outcome, chosen: Chosen| match outcome {
            Outcome::Goto(inner) => eval.collect_possible_choices(*inner, searched_tables, choices),
            _ => {
                choices.push(chosen);
                true
            }
        };
        for (rule, info) in self.enabled_rules(id) {
            let truth = self.eval_cond(&info.condition);
            if truth != Tri::False && add_choices(self, &info.outcome, Chosen::Rule(rule)) && truth.holds() {
                return true;
            }
        }
        let default = self.program.tables[id.index()].default.as_ref();
        default.is_some_and(|outcome| add_choices(self, outcome, Chosen::Default(id)))
    }
}
