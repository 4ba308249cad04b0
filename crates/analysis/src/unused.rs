//! Finds unused declarations of the main file, and tests with equal names. The rules compile, but
//! such a declaration or test is probably a mistake.

use super::report::AnalysisReport;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_sema::hir::{Outcome, Program, TableId, TableKind, UnusedDeclaration};
use std::collections::{BTreeMap, BTreeSet};

/// The id of the main file, which is always the first file.
const MAIN_FILE_ID: FileId = FileId(0);

pub(super) fn report_unused_definitions(report: &mut AnalysisReport<'_>) {
    let program = report.program;
    let outcomes = || {
        let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
        program.rules.iter().map(|rule| &rule.outcome).chain(defaults)
    };
    let used: BTreeSet<&str> = outcomes()
        .filter_map(|outcome| match outcome {
            Outcome::Handler { name, .. } => Some(&**name),
            _ => None,
        })
        .collect();
    let unused_diagnostic = |what: Message, name: &str, span: Span, help: Message| {
        Diagnostic::new(Code::UnusedDeclaration, span, message!("{what} `{name}` is not used")).help(help)
    };
    // A file that only declares is meant to be imported.
    let decides = program.rules.iter().any(|rule| rule.span.file == MAIN_FILE_ID);
    for handler in
        program.handlers.iter().flatten().filter(|handler| decides && handler.span.file == MAIN_FILE_ID)
    {
        if !used.contains(&*handler.name) {
            let help = message!("no route leads to the handler: remove the handler, or write a route to it");
            report.add_finding(
                unused_diagnostic(message!("the handler"), &handler.name, handler.span, help),
                None,
            );
        }
    }
    let reachable_tables = goto_targets(program);
    let main = &program.tables[0];
    for (index, table) in program.tables.iter().enumerate().skip(1) {
        let id = TableId(index as u32);
        let Some(span) =
            table.span.filter(|span| span.file == MAIN_FILE_ID && table.kind == TableKind::Routes)
        else {
            continue;
        };
        if (!main.evaluation_order.is_empty() || main.default.is_some()) && !reachable_tables.contains(&id) {
            let same_name = program
                .rules
                .iter()
                .find(|rule| matches!(&rule.outcome, Outcome::Handler { name, .. } if *name == table.name));
            let is_handler = program.handlers.iter().flatten().any(|handler| handler.name == table.name);
            if let Some(rule) = same_name.filter(|_| !is_handler) {
                let name = &table.name;
                let message = message!("`-> {name}` leads to a handler, although `{name}` is a table");
                let diagnostic = Diagnostic::new(Code::UnusedDeclaration, rule.span, message)
                    .label(span, message!("no `goto` leads to this table"))
                    .help(message!("to enter the table, write `-> goto {name}`"));
                report.add_finding(diagnostic, None);
                continue;
            }
            let help = message!(
                "no `goto` leads to the table: write one, or remove the table; if a program uses the table \
                as an entry, write `# rulec: allow W0103 reason` before it"
            );
            report.add_finding(unused_diagnostic(message!("the table"), &table.name, span, help), None);
        }
    }
    report_unused_fields_and_imports(report);
    report_duplicate_test_names(report);
}

/// Maximum number of names that one finding lists.
const MAX_LISTED_NAMES: usize = 5;

/// Reports unused `input` fields and imports, which the checker collected. One finding lists all
/// unused fields.
fn report_unused_fields_and_imports(report: &mut AnalysisReport<'_>) {
    let mut fields = Vec::new();
    for declaration in &report.program.unused_declarations {
        match declaration {
            UnusedDeclaration::Field(name, span) => fields.push((name, *span)),
            UnusedDeclaration::RoutesOfImport(path, span, route) => {
                let message = message!("the routes of `{path}`, such as `{route}`, are not imported");
                let help = message!(
                    "an import takes lists, definitions, handlers, types and tables: write the routes here, or in \
                    the imported file as `table NAME {{ … }}` and here `-> goto NAME`"
                );
                report.add_finding(Diagnostic::new(Code::UnusedImport, *span, message).help(help), None);
            }
            UnusedDeclaration::Import(path, span) => {
                let message = message!("the import `{path}` is not used");
                let help = message!("remove the import, or use a name that it defines");
                report.add_finding(Diagnostic::new(Code::UnusedImport, *span, message).help(help), None);
            }
        }
    }
    let Some((first, rest)) = fields.split_first() else { return };
    let message = match rest {
        [] => message!("no rule reads the input field `{}`", first.0),
        _ => {
            let names: Vec<String> =
                fields.iter().take(MAX_LISTED_NAMES).map(|(name, _)| format!("`{name}`")).collect();
            let more = if fields.len() > MAX_LISTED_NAMES { message!(", …") } else { Message::default() };
            message!("no rule reads these {} input fields: {}{more}", fields.len(), names.join(", "))
        }
    };
    let help = message!(
        "remove the fields that messages do not contain; if messages do contain them, write `# rulec: allow \
        W0105 reason` before `input`"
    );
    let finding = Diagnostic::new(Code::UnreadField, first.1, message).help(help);
    let more_fields = rest.iter().take(MAX_LISTED_NAMES - 1);
    let finding = more_fields
        .fold(finding, |finding, (_, span)| finding.label(*span, message!("this field is not read either")));
    report.add_finding(finding, None);
}

/// Returns the tables with an incoming `goto`.
pub(super) fn goto_targets(program: &Program) -> BTreeSet<TableId> {
    let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
    let outcomes = program.rules.iter().map(|rule| &rule.outcome).chain(defaults);
    outcomes
        .filter_map(|outcome| match outcome {
            Outcome::Goto(table) => Some(*table),
            _ => None,
        })
        .collect()
}

fn report_duplicate_test_names(report: &mut AnalysisReport<'_>) {
    let mut first_spans: BTreeMap<&str, Span> = BTreeMap::new();
    let tests = &report.program.tests;
    for test in tests {
        match first_spans.get(&*test.name) {
            None => drop(first_spans.insert(&test.name, test.span)),
            Some(earlier) => {
                let diagnostic = Diagnostic::new(
                    Code::SameTestName,
                    test.span,
                    message!("another test is also named `{}`", test.name),
                )
                .label(*earlier, message!("the first one"))
                .help(message!("give each test a different name, so that a failure shows which test failed"));
                report.add_finding(diagnostic, None);
            }
        }
    }
}
