//! Shows a table as a decision table, the form that spreadsheet users know: a row per route, a
//! column per message field. Also lists messages that no row matches, and rows that can match the
//! same message.

use super::map::findings_in_span;
use crate::api::{Column, DecisionTable, Gap, Overlap, TableRow};
use crate::error::{Answer, RequestError};
use crate::keys;
use crate::language::{localized, localized_diagnostic};
use crate::snapshot::ProjectSnapshot;
use crate::state::Studio;
use rulec::{Code, Rules};
use rulec_base::message;
use rulec_report::drawing::{describe_target, one_line};
use rulec_sema::hir::{Cond, CondKind, Part, ROUTES_TABLE, Rule, TableKind};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of columns of a decision table. Conditions on other fields are listed after the
/// cells.
const MAX_COLUMNS: usize = 40;

#[derive(Deserialize)]
pub(crate) struct TableQuery {
    rules: usize,
    #[serde(default)]
    draft: bool,
    table: String,
}

pub(crate) fn table(studio: &Arc<Studio>, request: TableQuery) -> Answer<DecisionTable> {
    let snapshot = studio.snapshot(crate::api::Version { rules: request.rules, draft: request.draft })?;
    build_table(&snapshot, &request.table)
}

/// A conjunct, one of the parts that `and` joins in a route's condition: the fields that the part
/// reads, and its text.
struct Conjunct {
    fields: Vec<String>,
    text: String,
}

/// Builds the decision table for the table, choice or router of this name.
pub(crate) fn build_table(snapshot: &ProjectSnapshot, name: &str) -> Answer<DecisionTable> {
    let rules = snapshot.rules()?;
    let program = rules.program();
    let named_table = program.table_named(name).map(|id| &program.tables[id.index()]);
    let table = named_table
        .filter(|table| table.kind != TableKind::Requirements)
        .ok_or_else(|| RequestError::missing(message!("there is no table `{name}`")))?;
    let rows: Vec<&Rule> = table.order.iter().map(|id| &program.rules[id.index()]).collect();
    let conjuncts: Vec<Vec<Conjunct>> = rows.iter().map(|rule| rule_conjuncts(rules, rule)).collect();
    let columns = choose_columns(&conjuncts);
    let column_indexes: HashMap<&str, usize> =
        columns.iter().enumerate().map(|(index, column)| (column.field.as_str(), index)).collect();
    let mut table_rows: Vec<TableRow> = rows
        .iter()
        .zip(&conjuncts)
        .map(|(rule, conjuncts)| {
            let (cells, others) = row_cells(conjuncts, &column_indexes, columns.len());
            TableRow {
                key: keys::key(&table.name, &rule.name),
                name: rule.name.to_string(),
                cells,
                others,
                to: describe_target(program, &rule.outcome, &rule.name),
                findings: findings_in_span(snapshot, rule.span),
            }
        })
        .collect();
    table_rows.extend(table.default.as_ref().map(|outcome| TableRow {
        key: keys::key(&table.name, "default"),
        name: "default".to_owned(),
        cells: vec![None; columns.len()],
        others: Vec::new(),
        to: describe_target(program, outcome, "default"),
        findings: Vec::new(),
    }));
    let overlaps = match table.kind {
        TableKind::Flows | TableKind::Requirements => Default::default(),
        _ => rules.overlaps(name).map_err(|error| RequestError::missing(error.to_message()))?,
    };
    let uncovered = overlaps.untaken.iter().map(|message| Gap {
        message: localized(&message!("no row matches this message")),
        example: Some(message.to_string()),
    });
    let uncovered = uncovered.collect();
    let more_overlaps = !overlaps.all && table.kind != TableKind::Flows;
    let overlaps = overlaps.pairs.into_iter().map(|pair| Overlap {
        first: keys::key(&table.name, &pair.first),
        second: keys::key(&table.name, &pair.second),
        example: pair.example.to_string(),
        differs: pair.differs,
    });
    let overlaps = overlaps.collect();
    let gaps = if name == ROUTES_TABLE { find_gaps(snapshot) } else { uncovered };
    Ok(DecisionTable { table: name.to_owned(), columns, rows: table_rows, gaps, overlaps, more_overlaps })
}

/// Returns the conjuncts of a rule's condition (its parts joined by `and`).
fn rule_conjuncts(rules: &Rules, rule: &Rule) -> Vec<Conjunct> {
    let mut conjuncts = Vec::new();
    collect_conjuncts(rules, &rule.condition, &mut conjuncts);
    conjuncts
}

fn collect_conjuncts(rules: &Rules, cond: &Cond, conjuncts: &mut Vec<Conjunct>) {
    match &cond.kind {
        CondKind::And(parts) => parts.iter().for_each(|part| collect_conjuncts(rules, part, conjuncts)),
        CondKind::Branch { all: true, conditions } => {
            conditions.iter().for_each(|part| collect_conjuncts(rules, &part.cond, conjuncts));
        }
        CondKind::Const(true) => {}
        kind => {
            let program = rules.program();
            let mut fields: Vec<String> = program
                .field_reads(Part::Cond(cond))
                .into_iter()
                .map(|(slot, _)| program.slots[slot.index()].name())
                .collect();
            fields.sort();
            fields.dedup();
            let text = one_line(rules.sources().slice(cond.span));
            let text = if matches!(kind, CondKind::NotTrue(_)) { format!("unless {text}") } else { text };
            conjuncts.push(Conjunct { fields, text });
        }
    }
}

/// Chooses the columns of a decision table. A field gets a column if some conjunct (operand of an
/// `and`) reads only this field. Fields that the most rows test come first.
fn choose_columns(rows: &[Vec<Conjunct>]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for row in rows {
        let mut row_fields: Vec<&str> = Vec::new();
        for conjunct in row {
            let [field] = conjunct.fields.as_slice() else { continue };
            if row_fields.contains(&field.as_str()) {
                continue;
            }
            row_fields.push(field);
            match columns.iter_mut().find(|column| column.field == *field) {
                Some(column) => column.rows += 1,
                None => columns.push(Column { field: field.clone(), rows: 1 }),
            }
        }
    }
    columns.sort_by_key(|column| std::cmp::Reverse(column.rows));
    columns.truncate(MAX_COLUMNS);
    columns
}

/// Returns the cells of a row (`None` for an empty cell), and the texts of the conjuncts (operands
/// of an `and`) that fit no column. `columns` is the number of columns; `column_indexes` finds the
/// column of a field.
fn row_cells(
    conjuncts: &[Conjunct],
    column_indexes: &HashMap<&str, usize>,
    columns: usize,
) -> (Vec<Option<String>>, Vec<String>) {
    let (mut cells, mut others) = (vec![None; columns], Vec::new());
    for Conjunct { fields, text } in conjuncts {
        let column = match fields.as_slice() {
            [field] => column_indexes.get(field.as_str()).map(|index| (*index, field)),
            _ => None,
        };
        let Some((index, field)) = column else {
            others.push(text.clone());
            continue;
        };
        // The column header already names the field, so the cell omits it.
        let after_field = text.strip_prefix(field.as_str()).filter(|rest| rest.starts_with(' '));
        let text = after_field.map_or(text.as_str(), str::trim_start);
        let cell: &mut Option<String> = &mut cells[index];
        *cell = Some(match cell.take() {
            Some(earlier_text) => format!("{earlier_text} and {text}"),
            None => text.to_owned(),
        });
    }
    (cells, others)
}

/// Returns messages that no route matches, for the routes outside any table.
fn find_gaps(snapshot: &ProjectSnapshot) -> Vec<Gap> {
    let no_default_findings = snapshot
        .findings()
        .iter()
        .filter(|finding| matches!(finding.diagnostic.code, Code::NoDefault | Code::NoDefaultUnpromised));
    let to_gap = |finding: &rulec::Finding| Gap {
        message: localized_diagnostic(&finding.diagnostic).message.to_string(),
        example: finding.witness.as_ref().map(ToString::to_string),
    };
    no_default_findings.map(to_gap).collect()
}
