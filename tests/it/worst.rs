//! Every row of the tables of operators, functions and statements has a worst-case message. All
//! engines must decide this message alike and within the limits. The messages are small here;
//! `benches/worst.sh` counts instructions for messages at the limits.

use crate::support::engines;
use crate::worst_cases as worst;
use engines::COLUMNS;
use rulec_lang::builtins;
use rulec_lang::operators;
use std::collections::BTreeSet;
use worst::{Size, Table, cases, compile, decide};

/// Returns the statements of the grammar that take part in decisions.
fn statements() -> BTreeSet<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("grammar/rules.pest");
    let grammar = std::fs::read_to_string(path).expect("the grammar can be read");
    let known = grammar.lines().filter_map(|line| Some(line.split_once("_statement ")?.0));
    let known = known.filter(|word| word.chars().all(char::is_alphabetic) && !worst::WITHOUT.contains(word));
    known.map(str::to_owned).collect()
}

#[test]
fn each_row_of_the_tables_has_a_worst_message() {
    let rows = |table: Table| -> BTreeSet<String> {
        cases().filter(|(of, ..)| *of == table).map(|(_, row, ..)| (*row).to_owned()).collect()
    };
    let operators: BTreeSet<String> = operators::TABLE.iter().map(|row| format!("{:?}", row.op)).collect();
    let functions: BTreeSet<String> =
        builtins::TABLE.iter().map(|row| format!("{:?}", row.function)).collect();
    assert_eq!(
        rows(Table::Operator),
        operators,
        "write the worst message in tests/support/worst/operators.rs"
    );
    assert_eq!(
        rows(Table::Function),
        functions,
        "write the worst message in tests/support/worst/functions.rs"
    );
    assert_eq!(
        rows(Table::Statement),
        statements(),
        "write the worst message in tests/support/worst/statements.rs"
    );
    let mut names = BTreeSet::new();
    for (table, row, what, _) in cases() {
        assert!(names.insert((format!("{table:?}"), row, what)), "{table:?} {row}: {what}");
    }
}

#[test]
fn the_worst_messages_are_decided_alike_and_within_the_limits() {
    let mut wrong = Vec::new();
    for (table, row, what, make) in cases() {
        let name = format!("{table:?} {row}: {what}");
        let task = make(&Size::REDUCED);
        let rules = match compile(&task.rules) {
            Ok(rules) => rules,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let line = task.message.to_string();
        let mut answers =
            COLUMNS.iter().map(|column| (column, decide(&column.compile(&rules), &line, &task.message)));
        let (_, first) = answers.next().expect("there are engines");
        if let Some(exceeded) = first.1.first() {
            wrong.push(format!("{name}: is not decided, {exceeded}"));
        }
        if first.0.is_empty() {
            wrong.push(format!("{name}: there is nothing to decide"));
        }
        wrong.extend(
            answers.filter(|(_, other)| *other != first).map(|(column, _)| format!("{name}: {column:?}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
