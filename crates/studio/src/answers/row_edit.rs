//! Changes a row of a decision table in the text of the rules. The result is compiled and formatted
//! before it becomes the editor's text.

use super::row_new::new_row;
use super::row_text::{TextReplacement, block_start, gap_after};
use super::table::{Conjunct, rule_conjuncts};
use crate::api::{EditRow, EditedRow, RowChange};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::keys;
use crate::project::RuleSetProject;
use crate::snapshot::ProjectSnapshot;
use crate::state::Studio;
use rulec::{Rules, Span};
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_sema::hir::{Program, Rule};
use rulec_syntax::ast::{Route, Statement, StatementKind, Target};
use rulec_syntax::{format as formatter, parse, write};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A row of a decision table: the text of its file, and the row's statement in it.
struct RowInFile<'a> {
    file_text: &'a str,
    statement: &'a Statement,
    route: &'a Route,
}

pub(crate) fn edit_row(studio: &Arc<Studio>, request: EditRow) -> Answer<EditedRow> {
    let project = studio.project(request.rules)?;
    let _one_at_a_time = project.lock_row_edits();
    let snapshot = project.snapshot(true);
    let rules = snapshot.rules()?;
    let (file, candidates) = match &request.change {
        RowChange::New {} => {
            let (file, added) = new_row(rules, &request.key)?;
            (file, vec![vec![added]])
        }
        change => change_row(&snapshot, rules, &request.key, change)?,
    };
    let (file, text) = (snapshot.file_name(file), snapshot.analysis.text(file));
    let was_formatted = formatter::format(text).is_ok_and(|formatted| formatted.text == text);
    let mut first_error = None;
    for replacements in candidates {
        let changed = apply_replacements(text, replacements);
        let changed = match formatter::format(&changed) {
            Ok(formatted) if was_formatted => formatted.text,
            _ => changed,
        };
        match check_compiles(&project, &file, &changed) {
            Ok(()) => {
                project.set_draft(&file, Some(changed.clone()))?;
                return Ok(EditedRow { file, before: text.to_owned(), text: changed });
            }
            Err(error) => _ = first_error.get_or_insert(error),
        }
    }
    Err(first_error.unwrap_or_else(|| RequestError::invalid(message!("this changes nothing"))))
}

/// Returns the file of the row with the key `row_key`, and the candidate edits for a change of the
/// row. Each candidate is a list of replacements. The caller uses the first one after which the
/// rules compile.
fn change_row(
    snapshot: &ProjectSnapshot,
    rules: &Rules,
    row_key: &str,
    change: &RowChange,
) -> Answer<(FileId, Vec<Vec<TextReplacement>>)> {
    let rule = find_rule(rules.program(), row_key)?;
    let file = rule.span.file;
    let text = snapshot.analysis.text(file);
    let statements = parse::parse(ThreadLimit::default(), file, text).statements;
    let row = find_row(&statements, text, rule.span)?;
    let candidates = match change {
        RowChange::Cell { field, text } => change_cell(rules, rule, &row, (field, text.trim()))?,
        RowChange::Target { text } => vec![change_target(&row, text.trim())],
        RowChange::Disable { disabled } => vec![set_disabled(&row, *disabled)],
        RowChange::Add {} => vec![add_row_copy(rules.program(), rule, &row)],
        RowChange::New {} => Vec::new(),
        RowChange::Move { before } => {
            let other = find_rule(rules.program(), before)?;
            if other.table != rule.table || other.span.file != file {
                return Err(RequestError::invalid(message!(
                    "a row can be moved only inside its table and its file"
                )));
            }
            vec![move_row_before(&row, &find_row(&statements, text, other.span)?, other.priority)]
        }
    };
    Ok((file, candidates))
}

/// Compiles the rule set as if the file `file` had the text `text`. If it does not compile, returns
/// the first compile error as the error.
fn check_compiles(project: &RuleSetProject, file: &str, text: &str) -> Answer<()> {
    let snapshot: Arc<ProjectSnapshot> = project.snapshot_with_text(file, text, true);
    match snapshot.first_error() {
        Some(error) => Err(RequestError::invalid(verbatim_message(error))),
        None => Ok(()),
    }
}

fn find_rule<'p>(program: &'p Program, key: &str) -> Answer<&'p Rule> {
    let has_key =
        |rule: &&Rule| keys::statement_key(&program.tables[rule.table.index()].name, &rule.name) == key;
    program
        .rules
        .iter()
        .find(has_key)
        .ok_or_else(|| RequestError::missing(message!("there is no row `{key}`")))
}

fn find_row<'a>(statements: &'a [Statement], text: &'a str, span: Span) -> Answer<RowInFile<'a>> {
    fn find_route(statements: &[Statement], start: u32) -> Option<(&Statement, &Route)> {
        statements.iter().find_map(|statement| match &statement.kind {
            StatementKind::Route(route) if statement.span.start == start => Some((statement, route)),
            StatementKind::Table { statements, .. } => find_route(statements, start),
            _ => None,
        })
    }
    let (statement, route) = find_route(statements, span.start).ok_or_else(|| {
        RequestError::invalid(message!("only routes are changed in the table; change others in the editor"))
    })?;
    Ok(RowInFile { file_text: text, statement, route })
}

fn byte_range(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}

fn apply_replacements(text: &str, mut replacements: Vec<TextReplacement>) -> String {
    replacements.sort_by_key(|(range, _)| std::cmp::Reverse((range.start, range.end)));
    let mut changed = text.to_owned();
    for (range, replacement) in replacements {
        changed.replace_range(range, &replacement);
    }
    changed
}

/// Returns the candidate edits that set the cell of the column `field` to the conditions in `cell`.
/// The author may leave out the field's name, because the column's header shows it. So there is one
/// candidate with the name in front of the text, and one without it. An empty `cell` removes the
/// conditions.
fn change_cell(
    rules: &Rules,
    rule: &Rule,
    row: &RowInFile<'_>,
    (field, cell): (&str, &str),
) -> Answer<Vec<Vec<TextReplacement>>> {
    let conjuncts = rule_conjuncts(rules, rule);
    let is_of_field = |conjunct: &Conjunct| conjunct.column_field.as_deref() == Some(field);
    if cell.is_empty() {
        let kept: Vec<&Conjunct> = conjuncts.iter().filter(|conjunct| !is_of_field(conjunct)).collect();
        if kept.iter().all(|conjunct| conjunct.is_exception) {
            return Err(RequestError::invalid(message!(
                "a route needs a condition; disable the row, or make its target the `default`"
            )));
        }
        let condition = join_conjuncts(&kept, row.file_text, None);
        return Ok(vec![vec![(byte_range(row.route.condition.span), condition)]]);
    }
    let readings = [format!("{field} {cell}"), cell.to_owned()];
    let mut of_field = conjuncts.iter().filter(|conjunct| is_of_field(conjunct));
    Ok(match (of_field.next(), of_field.next()) {
        (Some(only), None) => readings.map(|reading| vec![(byte_range(only.span), reading)]).to_vec(),
        _ => {
            let kept: Vec<&Conjunct> = conjuncts.iter().filter(|conjunct| !is_of_field(conjunct)).collect();
            let joined = |reading: String| join_conjuncts(&kept, row.file_text, Some(&reading));
            readings.map(|reading| vec![(byte_range(row.route.condition.span), joined(reading))]).to_vec()
        }
    })
}

/// Returns the text of a route's condition: the conditions joined by `and`, then the exceptions
/// after `unless`. `text` is the text of the file. `added` is one more condition.
fn join_conjuncts(conjuncts: &[&Conjunct], text: &str, added: Option<&str>) -> String {
    let source = |conjunct: &Conjunct| text[byte_range(conjunct.span)].to_owned();
    let several = conjuncts.len() + usize::from(added.is_some()) > 1;
    let conditions = conjuncts.iter().filter(|conjunct| !conjunct.is_exception).map(|conjunct| {
        let source = source(conjunct);
        if several && conjunct.needs_parentheses && !source.starts_with('(') {
            format!("({source})")
        } else {
            source
        }
    });
    let conditions: Vec<String> = conditions.chain(added.map(str::to_owned)).collect();
    let exceptions = conjuncts.iter().filter(|conjunct| conjunct.is_exception);
    let exceptions = exceptions.map(|exception| format!(" unless {}", source(exception)));
    conditions.join(" and ") + &exceptions.collect::<String>()
}

/// Returns the replacements that change the target of a row to `target`. If the row's target is a
/// handler and `target` is only a name, the arguments and metadata stay.
fn change_target(row: &RowInFile<'_>, target: &str) -> Vec<TextReplacement> {
    let span = match &row.route.target {
        Target::Handler { name, .. } if write::is_name(target) => name.span,
        Target::Handler { span, .. } | Target::Goto { span, .. } => *span,
    };
    vec![(byte_range(span), target.to_owned())]
}

fn set_disabled(row: &RowInFile<'_>, disabled: bool) -> Vec<TextReplacement> {
    match (row.route.disabled_span, disabled) {
        (None, true) => {
            let end = row.route.name.span.end as usize;
            vec![(end..end, " disabled".to_owned())]
        }
        (Some(word), false) => {
            let mut word = byte_range(word);
            word.start -= row.file_text[..word.start].len() - row.file_text[..word.start].trim_end().len();
            vec![(word, String::new())]
        }
        _ => Vec::new(),
    }
}

/// Returns the replacement that inserts a copy of a row after it. The copy is disabled, so that it
/// does not change decisions until the author has edited its condition.
fn add_row_copy(program: &Program, rule: &Rule, row: &RowInFile<'_>) -> Vec<TextReplacement> {
    let taken: BTreeSet<&str> =
        program.rules.iter().filter(|other| other.table == rule.table).map(|other| &*other.name).collect();
    let name = (2..).map(|number| format!("{}_{number}", rule.name)).find(|name| !taken.contains(&**name));
    let (statement, head) = (byte_range(row.statement.span), byte_range(row.route.name.span));
    let disabled = if row.route.disabled_span.is_some() { "" } else { " disabled" };
    let copy = format!(
        "{}{}{}{disabled}{}",
        gap_after(row.file_text, statement.start),
        &row.file_text[statement.start..head.start],
        write::quote_name(&name.unwrap_or_default()),
        &row.file_text[head.end..statement.end]
    );
    vec![(statement.end..statement.end, copy)]
}

/// Returns the replacements that move a row, with the comments before it, in front of the row
/// `other`. The moved row also gets `priority`, because rows are ordered by priority first.
fn move_row_before(row: &RowInFile<'_>, other: &RowInFile<'_>, priority: i64) -> Vec<TextReplacement> {
    let (moved, place) = (whole_line_range(row), whole_line_range(other).start);
    if moved.start <= place && place <= moved.end {
        return Vec::new();
    }
    let start = moved.start;
    let in_block = |position: u32| position as usize - start;
    let mut text = row.file_text[moved.clone()].trim_end().to_owned();
    match &row.route.priority {
        Some(written) if written.node != priority => {
            let span = in_block(written.span.start)..in_block(written.span.end);
            text.replace_range(span, &priority.to_string());
        }
        None if priority != 0 => {
            text.insert_str(in_block(row.route.name.span.end), &format!(" priority {priority}"));
        }
        _ => {}
    }
    text.push_str("\n\n");
    vec![(moved, String::new()), (place..place, text)]
}

/// Returns the byte range of a row's statement in whole lines. Includes the comments directly
/// before it, and the blank lines after it.
fn whole_line_range(row: &RowInFile<'_>) -> std::ops::Range<usize> {
    let start = block_start(row.file_text, row.statement.span.start as usize);
    let end = row.statement.span.end as usize;
    let after = &row.file_text[end..];
    let blank = after.len() - after.trim_start().len();
    let next_line = after[..blank].rfind('\n').map_or(0, |newline| newline + 1);
    start..end + next_line
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES_TEXT: &str =
        "## One.\nroute a priority 5 when x > 1 -> h(n: 1)\n\nroute b disabled when y > 1 -> g\n";

    fn changed_rules_text(change: impl Fn(&RowInFile<'_>, &RowInFile<'_>) -> Vec<TextReplacement>) -> String {
        let statements = parse::parse(ThreadLimit::One, FileId(0), RULES_TEXT).statements;
        let row =
            |index: usize| find_row(&statements, RULES_TEXT, statements[index].span).expect("it is a route");
        apply_replacements(RULES_TEXT, change(&row(0), &row(1)))
    }

    #[test]
    fn a_target_keeps_its_arguments_unless_they_are_written() {
        assert!(changed_rules_text(|a, _| change_target(a, "k")).contains("-> k(n: 1)"));
        assert!(changed_rules_text(|a, _| change_target(a, "k(m: 2)")).contains("-> k(m: 2)\n"));
        assert!(changed_rules_text(|a, _| change_target(a, "goto t")).contains("-> goto t\n"));
    }

    #[test]
    fn a_row_is_disabled_and_enabled() {
        assert!(
            changed_rules_text(|a, _| set_disabled(a, true)).contains("route a disabled priority 5 when")
        );
        assert!(changed_rules_text(|_, b| set_disabled(b, false)).contains("route b when y"));
        assert_eq!(changed_rules_text(|_, b| set_disabled(b, true)), RULES_TEXT);
    }

    #[test]
    fn a_moved_row_takes_its_comments_along_and_gets_the_priority_of_its_place() {
        let moved = changed_rules_text(|a, b| move_row_before(b, a, 5));
        assert!(
            moved.starts_with("route b priority 5 disabled when y > 1 -> g\n\n## One.\nroute a"),
            "{moved}"
        );
    }
}
