//! Shows a table as a decision table, as in a spreadsheet: one row per route, one column per
//! message field. Also lists messages that no row matches, and rows that can match the same
//! message.

use super::map::findings_in_span;
use crate::api::{Column, DecisionTable, Gap, Overlap, TableRow};
use crate::error::{Answer, RequestError};
use crate::keys;
use crate::language::{localized, localized_diagnostic};
use crate::snapshot::ProjectSnapshot;
use crate::state::Studio;
use rulec::{Code, Rules, Span};
use rulec_base::message;
use rulec_report::drawing::{describe_target, to_label_line};
use rulec_sema::hir::{Cond, CondKind, Part, Program, ROUTES_TABLE, Rule, TableKind};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Maximum number of columns of a decision table. Conditions on other fields are listed after the
/// cells.
const MAX_TABLE_COLUMNS: usize = 40;

#[derive(Deserialize)]
pub(crate) struct TableQuery {
    rules: usize,
    #[serde(default)]
    draft: bool,
    table: String,
    /// Whether to wait for the analysis of the rules, which finds overlaps and gaps.
    #[serde(default)]
    analysed: bool,
}

pub(crate) fn decision_table(studio: &Arc<Studio>, request: TableQuery) -> Answer<DecisionTable> {
    let snapshot = studio.snapshot(crate::api::Version { rules: request.rules, draft: request.draft })?;
    build_table(&snapshot, &request.table, request.analysed)
}

/// One conjunct (operand of `and`) of a route's condition, with its text and its column.
pub(super) struct Conjunct {
    /// The field whose column shows the conjunct; `None` if the conjunct fits no column.
    pub column_field: Option<String>,
    text: String,
    /// The position of the conjunct in its file. For an exception, without the word `unless`.
    pub span: Span,
    /// Whether the conjunct is an exception, written after `unless`.
    pub is_exception: bool,
    /// Whether the conjunct needs parentheses as an operand of `and`.
    pub needs_parentheses: bool,
}

/// Builds the decision table for the table, choice or router of this name. If `analysed`, waits for
/// the analysis, and includes overlaps, gaps and all findings. Otherwise, includes only the
/// findings that are already known.
pub(crate) fn build_table(snapshot: &ProjectSnapshot, name: &str, analysed: bool) -> Answer<DecisionTable> {
    let rules = snapshot.rules()?;
    let program = rules.program();
    let named_table = program.table_named(name).map(|id| &program.tables[id.index()]);
    let table = named_table
        .filter(|table| table.kind != TableKind::Requirements)
        .ok_or_else(|| RequestError::missing(message!("there is no table `{name}`")))?;
    let id = program.table_named(name);
    let disabled = program.rules.iter().filter(|rule| rule.is_disabled && Some(rule.table) == id);
    let enabled =
        table.evaluation_order.iter().map(|id| &program.rules[id.index()]).filter(|rule| !rule.is_disabled);
    let rows: Vec<&Rule> = enabled.chain(disabled).collect();
    let findings = snapshot.findings_if(analysed).unwrap_or_default();
    let conjuncts: Vec<Vec<Conjunct>> = rows.iter().map(|rule| rule_conjuncts(rules, rule)).collect();
    let mut columns = choose_columns(&conjuncts);
    if columns.is_empty() && table.kind == TableKind::Routes {
        columns = field_columns(program);
    }
    let column_indexes: HashMap<&str, usize> =
        columns.iter().enumerate().map(|(index, column)| (column.field.as_str(), index)).collect();
    let mut table_rows: Vec<TableRow> = rows
        .iter()
        .zip(&conjuncts)
        .map(|(rule, conjuncts)| {
            let (cells, others) = row_cells(conjuncts, &column_indexes, columns.len());
            TableRow {
                key: keys::statement_key(&table.name, &rule.name),
                name: rule.name.to_string(),
                cells,
                others,
                to: describe_target(program, &rule.outcome, &rule.name),
                disabled: rule.is_disabled,
                editable: table.kind == TableKind::Routes,
                findings: findings_in_span(snapshot, findings, rule.span),
            }
        })
        .collect();
    table_rows.extend(table.default.as_ref().map(|outcome| TableRow {
        key: keys::statement_key(&table.name, "default"),
        name: "default".to_owned(),
        cells: vec![None; columns.len()],
        others: Vec::new(),
        to: describe_target(program, outcome, "default"),
        disabled: false,
        editable: false,
        findings: Vec::new(),
    }));
    let overlaps = match table.kind {
        TableKind::Flows | TableKind::Requirements => Default::default(),
        _ if !analysed => Default::default(),
        _ => rules.overlaps(name).map_err(|error| RequestError::missing(error.to_message()))?,
    };
    let uncovered = overlaps.untaken.iter().map(|message| Gap {
        message: localized(&message!("no row matches this message")),
        example: Some(message.to_string()),
    });
    let uncovered = uncovered.collect();
    let more_overlaps = analysed && !overlaps.all && table.kind != TableKind::Flows;
    let overlaps = overlaps.pairs.into_iter().map(|pair| Overlap {
        first: keys::statement_key(&table.name, &pair.first),
        second: keys::statement_key(&table.name, &pair.second),
        example: pair.example.to_string(),
        differs: pair.differs,
    });
    let overlaps = overlaps.collect();
    let gaps = if name == ROUTES_TABLE { find_gaps(findings) } else { uncovered };
    let table = name.to_owned();
    Ok(DecisionTable { table, columns, rows: table_rows, gaps, overlaps, more_overlaps, analysed })
}

/// Returns the conjuncts of a rule's condition (its parts joined by `and`).
pub(super) fn rule_conjuncts(rules: &Rules, rule: &Rule) -> Vec<Conjunct> {
    let mut conjuncts = Vec::new();
    collect_conjuncts(rules, &rule.condition, &mut conjuncts);
    conjuncts
}

fn collect_conjuncts(rules: &Rules, cond: &Cond, conjuncts: &mut Vec<Conjunct>) {
    match &cond.kind {
        CondKind::And(parts) => parts.iter().for_each(|part| collect_conjuncts(rules, part, conjuncts)),
        CondKind::Branch { requires_all: true, conditions } => {
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
            let column = column_of_fields(&fields);
            let text = to_label_line(rules.sources().slice(cond.span));
            let is_exception = matches!(kind, CondKind::NotTrue(_));
            let text = if is_exception { format!("unless {text}") } else { text };
            let needs_parentheses = matches!(kind, CondKind::Or(_) | CondKind::Quantifier { .. });
            conjuncts.push(Conjunct {
                column_field: column,
                text,
                span: cond.span,
                is_exception,
                needs_parentheses,
            });
        }
    }
}

/// Returns the field whose column shows a conjunct (operand of an `and`) that reads `fields`. This
/// is the only field or, for several fields, the innermost record that contains all of them. `None`
/// if there are no fields, or if only the message itself contains all of them.
fn column_of_fields(fields: &[String]) -> Option<String> {
    let (first, others) = fields.split_first()?;
    if others.is_empty() {
        return Some(first.clone());
    }
    let keys: Vec<&str> = first.split('.').collect();
    let common = others.iter().fold(keys.len(), |common, field| {
        keys.iter().zip(field.split('.')).take(common).take_while(|(key, other)| *key == other).count()
    });
    (common > 1).then(|| keys[..common].join("."))
}

/// Chooses the columns of a decision table. A field gets a column if some conjunct (operand of an
/// `and`) reads only this field or its parts. Fields that the most rows test come first.
fn choose_columns(rows: &[Vec<Conjunct>]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut indexes: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        let mut row_fields: Vec<&str> = Vec::new();
        for conjunct in row {
            let Some(field) = &conjunct.column_field else { continue };
            if row_fields.contains(&field.as_str()) {
                continue;
            }
            row_fields.push(field);
            let index = *indexes.entry(field).or_insert_with(|| {
                columns.push(Column { field: field.clone(), rows: 0 });
                columns.len() - 1
            });
            columns[index].rows += 1;
        }
    }
    columns.sort_by_key(|column| std::cmp::Reverse(column.rows));
    columns.truncate(MAX_TABLE_COLUMNS);
    columns
}

/// Returns a column for each field that the rules read. It is used for a table whose rows have no
/// conditions, so that an author can write the first conditions in these columns.
fn field_columns(program: &Program) -> Vec<Column> {
    let fields = program.slots.iter().filter(|slot| slot.root.is_none()).map(|slot| slot.name());
    let fields: BTreeSet<String> = fields.chain(["text".to_owned()]).collect();
    fields.into_iter().take(MAX_TABLE_COLUMNS).map(|field| Column { field, rows: 0 }).collect()
}

/// Returns the cells of a row of the decision table (`None` for an empty cell). Also returns the
/// texts of the conjuncts (operands of an `and`) that fit no column. `column_count` is the number
/// of columns; `column_indexes` finds the column of a field.
fn row_cells(
    conjuncts: &[Conjunct],
    column_indexes: &HashMap<&str, usize>,
    column_count: usize,
) -> (Vec<Option<String>>, Vec<String>) {
    let (mut cells, mut others) = (vec![None; column_count], Vec::new());
    for Conjunct { column_field: column, text, .. } in conjuncts {
        let column = column.as_ref().and_then(|field| Some((*column_indexes.get(field.as_str())?, field)));
        let Some((index, field)) = column else {
            others.push(text.clone());
            continue;
        };
        // The column header already names the field, so the cell omits it.
        let after_field = text.strip_prefix(field.as_str()).filter(|rest| rest.starts_with(' '));
        let cell: &mut Option<String> = &mut cells[index];
        // Only the first condition of a cell may omit the field, because only that condition
        // directly follows the column header.
        *cell = Some(match cell.take() {
            Some(earlier_text) => format!("{earlier_text} and {text}"),
            None => after_field.map_or(text.as_str(), str::trim_start).to_owned(),
        });
    }
    (cells, others)
}

/// Returns the gaps of the routes outside any table: messages that no route matches, according to
/// the analysis findings.
fn find_gaps(findings: &[rulec::Finding]) -> Vec<Gap> {
    let no_default_findings = findings
        .iter()
        .filter(|finding| matches!(finding.diagnostic.code, Code::NoDefault | Code::NoDefaultUnpromised));
    let to_gap = |finding: &rulec::Finding| Gap {
        message: localized_diagnostic(&finding.diagnostic).message.to_string(),
        example: finding.witness.as_ref().map(ToString::to_string),
    };
    no_default_findings.map(to_gap).collect()
}
