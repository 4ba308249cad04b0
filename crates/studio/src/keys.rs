//! Keys of statements, such as `routes/refunds`. API responses with counts, rows, maps and
//! decisions use the same keys. A key consists of the names of the table and the statement. So a
//! statement has the same key in all versions of the rules in which it keeps its name.

use rulec_eval::decision::Chosen;
use rulec_report::drawing;
use rulec_sema::hir::{FLOWS_TABLE, Outcome, Program, RuleId, TableId, Trigger};
use std::collections::HashMap;

/// Name in the key of a decision that chose no statement, as in `routes/none`.
pub(crate) const NO_STATEMENT: &str = "none";
/// The results of validating a payload. The key of a result is the name of the `payload` statement
/// and one of these words, as in `order/reject`.
pub(crate) const PAYLOAD_OUTCOMES: [&str; 3] = ["accept", "accept_corrected", "reject"];

/// Builds the key of a statement from the name of its table and its own name, as in
/// `routes/refunds`.
pub(crate) fn statement_key(table: &str, name: &str) -> String {
    format!("{table}/{name}")
}

/// A statement (such as a route) of the rules, with its key: the text that identifies the
/// statement.
#[derive(Clone, Debug)]
pub(crate) struct KeyedStatement {
    pub key: String,
    pub table_name: String,
    pub name: String,
    /// Text that names the statement's target, such as a handler.
    pub target: String,
    /// Whether a decision can end with this statement. False for a `goto`, which leads to another
    /// table, and for a disabled rule.
    pub can_be_chosen: bool,
}

/// All statements of a program that have a key, including those that no decision can end with, such
/// as a `goto`.
pub(crate) struct StatementKeys {
    pub statements: Vec<KeyedStatement>,
    index_by_key: HashMap<String, usize>,
    statement_index_by_rule: Vec<Option<usize>>,
}

impl StatementKeys {
    pub fn new(program: &Program) -> StatementKeys {
        let mut keys = StatementKeys {
            statements: Vec::new(),
            index_by_key: HashMap::new(),
            statement_index_by_rule: Vec::new(),
        };
        let payload_tables: Vec<TableId> =
            program.payloads.iter().flat_map(|payload| payload.block.tables()).collect();
        for rule in &program.rules {
            let table = &program.tables[rule.table.index()];
            let target = drawing::describe_target(program, &rule.outcome, &rule.name);
            let can_be_chosen = !rule.is_disabled && !matches!(rule.outcome, Outcome::Goto(_));
            let index = (!payload_tables.contains(&rule.table))
                .then(|| keys.add_statement(&table.name, &rule.name, target, can_be_chosen));
            keys.statement_index_by_rule.push(index);
        }
        for (index, table) in program.tables.iter().enumerate() {
            if payload_tables.contains(&TableId(index as u32)) {
                continue;
            }
            if let Some(outcome) = &table.default {
                let target = drawing::describe_target(program, outcome, "default");
                keys.add_statement(&table.name, "default", target, !matches!(outcome, Outcome::Goto(_)));
            }
        }
        for flow in program.flows.iter().filter(|flow| matches!(flow.trigger, Trigger::Intent { .. })) {
            keys.add_statement(FLOWS_TABLE, &flow.name, flow.id.to_string(), true);
        }
        for payload in &program.payloads {
            PAYLOAD_OUTCOMES.iter().for_each(|verdict| {
                keys.add_statement(&payload.name, verdict, String::new(), true);
            });
        }
        keys
    }

    fn add_statement(&mut self, table: &str, name: &str, target: String, can_be_chosen: bool) -> usize {
        let key = statement_key(table, name);
        if let Some(index) = self.index_by_key.get(&key) {
            return *index;
        }
        self.index_by_key.insert(key.clone(), self.statements.len());
        self.statements.push(KeyedStatement {
            key,
            table_name: table.to_owned(),
            name: name.to_owned(),
            target,
            can_be_chosen,
        });
        self.statements.len() - 1
    }

    /// Returns the statement that belongs to a rule id. `None` for a rule inside a `payload`: it
    /// has an id too, but a decision cannot choose it.
    pub fn statement_of_rule(&self, id: RuleId) -> Option<&KeyedStatement> {
        self.statement_index_by_rule.get(id.index()).copied().flatten().map(|index| &self.statements[index])
    }

    pub fn find_by_key(&self, key: &str) -> Option<&KeyedStatement> {
        self.index_by_key.get(key).map(|index| &self.statements[*index])
    }

    /// Returns the key of the statement that a decision by `entry` (such as a table) chose. If
    /// `chosen` is `None`, the decision chose no statement, and the key is `ENTRY/none`.
    pub fn chosen_key(&self, program: &Program, entry: &str, chosen: Option<Chosen>) -> String {
        match chosen {
            None => statement_key(entry, NO_STATEMENT),
            Some(Chosen::Rule(id)) => self
                .statement_of_rule(id)
                .map_or_else(|| statement_key(entry, NO_STATEMENT), |statement| statement.key.clone()),
            Some(Chosen::Default(table)) => statement_key(&program.tables[table.index()].name, "default"),
        }
    }
}
