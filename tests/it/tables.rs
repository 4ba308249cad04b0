//! Tests every row of the tables of operators and functions. The example of a row must hold on
//! every engine, and its negation must not. The reference page must match the table
//! (`INSTA_UPDATE=always` rewrites the page).

use crate::support::engines;
use crate::support::golden;
use crate::textmate;
use engines::{COLUMNS, Column};
use rulec::Rules;
use rulec_lang::builtins::{self, FunctionResult};
use rulec_lang::limits::{self, LimitInfo};
use rulec_lang::operators::{self, Fixity, Negation, OperatorResult, RightOperand};
use rulec_sema::check::{SETTINGS, Setting};
use rulec_syntax::parse::{UNITS_WITH_FACTORS, keywords};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

fn chosen_route(cond: &str, message: &Json, column: Column) -> Option<String> {
    let rules = Rules::from_text(&format!("route hit when {cond} -> h"))
        .unwrap_or_else(|error| panic!("{cond}: {error}"));
    column.compile(&rules).decide(message).chosen().map(str::to_owned)
}

fn check_example(name: &str, (cond, message): (&str, &str)) {
    let message: Json = serde_json::from_str(message).unwrap();
    for &column in COLUMNS {
        let by = |cond: &str| chosen_route(cond, &message, column);
        assert_eq!(by(cond).as_deref(), Some("hit"), "{name} by {column:?}: {cond}");
        assert_eq!(by(&format!("not ({cond})")), None, "{name} by {column:?}: not ({cond})");
    }
}

#[test]
fn examples_of_operators_hold() {
    for row in operators::TABLE {
        check_example(row.spelling, row.example);
    }
}

#[test]
fn examples_of_functions_hold() {
    for row in builtins::TABLE {
        check_example(row.name, row.example);
    }
}

#[test]
fn a_predicate_over_what_is_missing_matches_neither_way() {
    for row in operators::TABLE
        .iter()
        .filter(|row| row.forms.iter().any(|form| form.result == OperatorResult::Condition))
    {
        if matches!(
            row.op,
            operators::Op::And
                | operators::Op::Or
                | operators::Op::Not
                | operators::Op::IsMissing
                | operators::Op::IsPresent
        ) {
            continue;
        }
        for &column in COLUMNS {
            let message = Json::Object(serde_json::Map::new());
            assert_eq!(chosen_route(row.example.0, &message, column), None, "{}", row.spelling);
            assert_eq!(
                chosen_route(&format!("not ({})", row.example.0), &message, column),
                None,
                "not {}",
                row.spelling
            );
        }
    }
}

fn reference_page() -> String {
    let mut page = String::from(
        "# Operators and functions\n\n*For authors who look up what an operator or a function does.*\n\n\
         Generated from `crates/lang/src/operators/table.rs` and `crates/lang/src/builtins.rs` by\n`INSTA_UPDATE=always cargo test --test it tables`.\n\n\
         ## Operators, loosest first\n\n| operator | works on | negative | modifiers | what it tests or computes | example |\n|---|---|---|---|---|---|\n",
    );
    for row in operators::TABLE {
        let kinds: Vec<String> = row
            .forms
            .iter()
            .map(|form| match form.right {
                RightOperand::Nothing => form.left.to_string(),
                RightOperand::Kinds(kinds) => format!("{}, {kinds}", form.left),
                RightOperand::Same => format!("{}, the same", form.left),
                RightOperand::SomeText => format!("{}, string", form.left),
                RightOperand::Element => format!("{}, an element", form.left),
                RightOperand::Text => format!("{}, string", form.left),
                RightOperand::Pattern => format!("{}, constant regex", form.left),
                RightOperand::Network => format!("{}, network", form.left),
                RightOperand::Members => format!("{}, list or range", form.left),
                RightOperand::Type => format!("{}, a type", form.left),
                RightOperand::Condition => "conditions".to_owned(),
            })
            .collect();
        let negative = match row.negation {
            Negation::Op(op) => format!("`{}`", op.info().spelling),
            Negation::NotBefore => format!("`not {}`", row.spelling),
            Negation::NotWhole => "`not (…)`".to_owned(),
            Negation::None => String::new(),
        };
        let modifiers: Vec<&str> = [
            (row.accepted_modifiers.accepts_word, "`word`"),
            (row.accepted_modifiers.accepts_quantity, "`any` `all` `none`"),
            (row.accepted_modifiers.accepts_case, "`ignoring case` `matching case`"),
        ]
        .into_iter()
        .filter_map(|(takes, text)| takes.then_some(text))
        .collect();
        let place = match row.fixity {
            Fixity::Prefix => " x",
            Fixity::Infix | Fixity::Postfix => "",
        };
        let _ = writeln!(
            page,
            "| `{}{place}` | {} | {negative} | {} | {} | `{}` |",
            row.spelling,
            kinds.join("; "),
            modifiers.join(" "),
            row.doc,
            row.example.0
        );
    }
    add_functions(&mut page);
    page
}

fn add_functions(page: &mut String) {
    page.push_str("\n## Functions\n\n| function | gives | what it computes | example |\n|---|---|---|---|\n");
    for row in builtins::TABLE {
        let partial = if row.missing_result_reason().is_some() { ", or missing" } else { "" };
        let result = match &row.result {
            FunctionResult::Maybe(result, _) => result,
            result => result,
        };
        let result = match result {
            FunctionResult::Kinds(kinds) => kinds.to_string(),
            FunctionResult::Strings => "list<string>".to_owned(),
            FunctionResult::LikeArguments => "number, like its arguments".to_owned(),
            FunctionResult::Ints => "list<int>".to_owned(),
            FunctionResult::ValuesOfFirst => "list of the dict's values".to_owned(),
            FunctionResult::LikeFirst => "list, like the first".to_owned(),
            FunctionResult::ElementOfFirst => "an element".to_owned(),
            FunctionResult::SumOfFirst => "number, like the elements".to_owned(),
            FunctionResult::Decimals => "list<decimal>".to_owned(),
            FunctionResult::Rounded => "int; with places decimal".to_owned(),
            FunctionResult::Bucket => "int; with a hash number".to_owned(),
            FunctionResult::Maybe(..) => unreachable!("it is taken off above"),
        };
        let _ = writeln!(
            page,
            "| `{}` | {result}{partial} | {} | `{}` |",
            row.signature(),
            row.doc,
            row.example.0
        );
    }
}

/// Compares the rows of a table on a page, between its marker comments, with the rows of the
/// source.
fn assert_table(page: &str, what: &str, head: &str, rows: impl IntoIterator<Item = String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let (begin, end) = (format!("<!-- the table of {what} -->\n"), "<!-- end of the table -->\n");
    let (before, rest) = text.split_once(&begin).expect("the table has a beginning");
    let (_, after) = rest.split_once(end).expect("the table has an end");
    let columns = head.matches(" | ").count() + 1;
    let rows: String = rows.into_iter().map(|row| row + "\n").collect();
    let table = format!("{head}\n|{}\n{rows}", "---|".repeat(columns));
    golden::assert_file(&path, &format!("{before}{begin}{table}{end}{after}"));
}

#[test]
fn the_page_of_limits_is_up_to_date() {
    let rows = limits::TABLE.iter().map(
        |LimitInfo { name, default_text: written, unit, doc, effect_if_exceeded: beyond, .. }| {
            format!("| `{name}` | `{written}` | {unit} | {doc} | {beyond} |")
        },
    );
    let head = "| setting | default | unit | what it bounds | beyond it |";
    assert_table("limits.md", "`src/limits.rs`", head, rows);
}

/// Former bug: the page of E0211 listed two settings when there were five.
#[test]
fn the_pages_of_settings_are_up_to_date() {
    let head = "| setting | is | without it | what it says | holds for |";
    for page in ["language.md", "codes/E0211.md"] {
        let rows = SETTINGS.iter().map(
            |Setting { name, allowed_values: values, default, is_per_file: of_file, doc, .. }| {
                let holds = if *of_file { "its file" } else { "all rules" };
                format!("| `{name}` | {values} | {default} | {doc} | {holds} |")
            },
        );
        assert_table(page, "settings", head, rows);
    }
}

#[test]
fn the_page_of_the_language_names_each_unit() {
    let rows = UNITS_WITH_FACTORS
        .iter()
        .map(|&(name, factor, divisor)| format!("| `1{name}` | {} |", factor as f64 / divisor as f64));
    assert_table("language.md", "units", "| unit | meaning |", rows);
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operators.md");
    golden::assert_file(&path, &reference_page());
}

#[test]
fn the_grammar_of_editors_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/vscode/syntaxes/rules.tmLanguage.json");
    golden::assert_file(&path, &textmate::grammar());
}

/// Checks the dictionary for fuzzers, which lists the keywords, operators and functions of the
/// language.
#[test]
fn the_dictionary_of_the_fuzzers_is_up_to_date() {
    let operators = operators::TABLE.iter().map(|row| row.spelling);
    let functions = builtins::TABLE.iter().map(|row| row.name);
    let statements = keywords().map(|(word, _)| word);
    let words: BTreeSet<&str> = operators.chain(functions).chain(statements).collect();
    let lines = words.iter().fold(String::new(), |mut lines, word| {
        let _ = writeln!(lines, "\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
        lines
    });
    golden::assert_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/rules.dict"), &lines);
}

/// The tree-sitter grammar is written by hand, because it has the structure of statements. It must
/// read each word of the language, and colour it.
#[test]
fn the_tree_sitter_grammar_has_each_word() {
    let read = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/tree-sitter-rulec");
        std::fs::read_to_string(folder.join(name)).expect("the file is there")
    };
    let (grammar, colours) = (read("grammar.js"), read("queries/highlights.scm"));
    let spelled = operators::TABLE.iter().flat_map(|row| row.spelling.split(' '));
    let words = keywords().map(|(word, _)| word).chain(spelled).chain(operators::reserved_words());
    let words: BTreeSet<&str> = words.collect();
    let lacks = |text: &str, word: &str| !text.contains(&format!("\"{word}\""));
    let unread: Vec<&&str> = words.iter().filter(|word| lacks(&grammar, word)).collect();
    assert_eq!(unread, Vec::<&&str>::new(), "words that grammar.js lacks");
    let is_literal = |word: &str| matches!(word, "true" | "false");
    let plain: Vec<&&str> = words.iter().filter(|word| lacks(&colours, word) && !is_literal(word)).collect();
    assert_eq!(plain, Vec::<&&str>::new(), "words that highlights.scm lacks");
}
