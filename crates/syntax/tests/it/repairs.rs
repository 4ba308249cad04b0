//! Regression tests of suggested fixes: a fix keeps comments, uses the words of the author
//! correctly, and leaves a text that compiles.

use super::errors::check_repair;
use super::{FILE, findings};
use rulec_base::diag::Diagnostic;
use rulec_base::parallel::ThreadLimit;
use rulec_syntax::parse::parse;

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    parse(ThreadLimit::All, FILE, text).diagnostics
}

/// Returns the text with the fixes of its first diagnostic.
fn repaired(text: &str) -> String {
    let mut repaired = text.to_owned();
    let first = diagnostics(text).swap_remove(0);
    for fix in &first.fixes {
        repaired.replace_range(fix.span.range(), &fix.replacement);
    }
    repaired
}

/// Checks that the first diagnostic of a route with this condition has this help, and no fix.
#[track_caller]
fn check_no_fix(condition: &str, help: &str) {
    let first = diagnostics(&format!("route a when {condition} -> h")).swap_remove(0);
    let found = first.help.as_deref().unwrap_or_default();
    assert!(found.contains(help), "{condition}: {found}");
    assert!(first.fixes.is_empty(), "{condition}: {first:?}");
}

#[track_caller]
fn check_condition(condition: &str, written: &str) {
    check_repair(&format!("route a when {condition} -> h"), &format!("write `{written}`"));
}

/// Regression test: the list was written again from its constants only, so the fix deleted the
/// comments between them.
#[test]
fn a_list_in_other_brackets_keeps_its_comments() {
    let check = |list: &str, expected: &str| {
        let text = format!("route a when x in {list} -> h");
        check_repair(&text, "write `[\"a\", \"b\"]`");
        assert_eq!(repaired(&text), format!("route a when x in {expected} -> h"));
    };
    check("{\"a\", # first\n \"b\"  # second\n }", "[\"a\", # first\n \"b\"  # second\n ]");
    check("(\"a\", # first;\n \"b\"\n )", "[\"a\", # first;\n \"b\"\n ]");
    check("{\"a\" # first;\n \"b\";\n }", "[\"a\", # first;\n \"b\",\n ]");
    check("{ \"a\"; \"b\" }", "[\"a\", \"b\"]");
}

/// Regression test: the apostrophes of two unknown negations were read as the quotes of a text.
#[test]
fn a_negation_is_never_a_text() {
    for condition in [
        "x isn't true and y isn't \"b\"",
        "x isn't 'a'",
        "phone isn't given, y isn't one of [1]",
        "x isn't quite a and y isn't quite b",
        "x ain't a and y ain't b",
    ] {
        let text = format!("route a when {condition} -> h");
        for diagnostic in diagnostics(&text) {
            assert!(diagnostic.fixes.iter().all(|fix| !fix.replacement.contains('"')), "{diagnostic:?}");
        }
    }
    check_condition("x isn't true", "!=");
    check_condition("x isn't -3", "!=");
    check_condition("(phone isn't set)", "is missing");
    check_condition("y isn't one of [1]", "not in");
    let first = "route a when x isn't true and y isn't \"b\" -> h";
    assert_eq!(repaired(first), "route a when x != true and y isn't \"b\" -> h");
    assert_eq!(repaired("route a when x isn't 'a' -> h"), "route a when x != 'a' -> h");
    let given = "route a when phone isn't given, y isn't one of [1] -> h";
    assert_eq!(repaired(given), "route a when phone is missing, y isn't one of [1] -> h");
    check_no_fix("x isn't quite a and y isn't quite b", "`not` comes before the operator");
}

/// Regression test: the comparison with `-1` after the search was not replaced, so the suggested
/// text did not compile.
#[test]
fn a_search_by_a_regular_expression_is_replaced_with_its_comparison() {
    check_condition("text.search(\"a\") != -1", "text matches \"a\"");
    check_condition("text.search(r\"a\") == -1 and n > 3", "text not matches r\"a\"");
    check_condition("text.findall(\"a\")", "text matches \"a\"");
    check_condition("not text.search(\"a\")", "text matches \"a\"");
    check_no_fix("text.search(\"a\") > 3", "write `text matches \"a\"`");
    check_no_fix("text.matches(\"a\") == true", "write `text matches \"a\"`");
    check_no_fix("n + text.search(\"a\") == -1", "write `text matches \"a\"`");
}

/// Regression test: a search position was replaced by a condition although it was part of a sum.
/// The same happened to an element whose field is read.
#[test]
fn a_position_in_a_longer_operand_stays_a_number() {
    check_condition("n + text.find(\"a\") == -1", "index_of(text, \"a\")");
    check_condition("n - 1 == text.find(\"a\")", "index_of(text, \"a\")");
    check_no_fix("items.find(\"a\").name == \"b\"", "write `any x in items: …`");
    check_no_fix("items.find(\"a\")[0] == \"b\"", "write `any x in items: …`");
}

/// Regression test: the search for the start of a path ignored the tokens between the dots, as in
/// `substring(].name, 0, 2)`.
#[test]
fn a_path_contains_only_names() {
    check_no_fix("items[0].name[:2] == \"a\"", "write `list[0]`");
    check_no_fix("f(x).name[:2] == \"a\"", "write `list[0]`");
    check_condition("user.`full name`[:2] == \"a\"", "substring(user.`full name`, 0, 2)");
    for diagnostic in diagnostics("route a when items[0].tags any t: t == \"a\" -> h") {
        assert!(diagnostic.fixes.is_empty(), "{diagnostic:?}");
    }
}

/// Regression test: for each text in single quotes, the file was read back to the last line without
/// indentation. This took minutes for this file.
#[test]
fn many_texts_in_single_quotes_are_read() {
    let lines = "    \"x\" -> 'orders'\n".repeat(50_000);
    assert!(diagnostics(&format!("flow orders \"a\"\n{lines}")).len() >= 50_000);
}

#[test]
fn the_target_of_a_flow_is_a_text() {
    let check = |text: &str, written: &str| {
        let found = diagnostics(text);
        let has = |diagnostic: &Diagnostic| diagnostic.help.as_deref() == Some(written);
        assert!(found.iter().any(has), "{text}: {found:?}");
    };
    check("flow orders \"a\" keyword contains [\"b\"]\n  -> 'orders'", "write `\"orders\"`");
    check("flow orders \"a\" keyword contains [\n  \"b\"\n]\n  -> 'orders'", "write `\"orders\"`");
    check("flow a \"a\" keyword contains [\"b\"] -> \"b\"\nroute b when c -> 'd'", "write `d`");
    check("route b when c -> 'd'\nflow a \"a\" keyword contains [\"b\"] -> 'b'", "write `\"b\"`");
}

/// Regression test: the `=` of a definition was read as a comparison.
#[test]
fn a_pattern_with_a_name_stays_a_pattern() {
    check_repair("let p = /\\d+/", "write `r\"\\d+\"`");
    check_repair("route a when text matches p where p = /\\d+/ -> h", "write `r\"\\d+\"`");
    check_repair("let found = text = /\\d+/", "write `matches r\"\\d+\"`");
    assert_eq!(repaired("let p = /\\d+/"), "let p = r\"\\d+\"");
    check_no_fix("any x in l: /\\d+/", "`x matches r\"…\"`");
    check_no_fix("text contains any /\\d+/", "`x matches r\"…\"`");
    check_no_fix("text contains word /\\d+/", "`x matches r\"…\"`");
}

/// Regression test: the words after the name of the file were a second error with a wrong fix.
#[test]
fn an_import_of_names_is_one_error() {
    let text = "from \"x.rules\" import a\nroute b when c -> d";
    assert_eq!(findings(text), [("E0102", "from".to_owned())]);
    assert_eq!(findings("from x import a, b\nroute b when c -> d").len(), 1);
    assert_eq!(findings("from \"x.rules\"\nimport \"a.rules\"").len(), 1);
}

/// Regression test: brackets inside a text were counted, and reserved words were suggested as
/// names.
#[test]
fn a_definition_of_another_language_is_read_by_its_tokens() {
    let help = |text: &str| diagnostics(text)[0].help.as_deref().unwrap_or_default().to_owned();
    assert!(help("with big as (text == \")\")").contains("`let big = text == \")\"`"));
    assert!(!help("with true as (b)").contains("let true"));
    assert!(!help("with contains as (b)").contains("let contains"));
}

/// Regression test: the suggested number was not valid in the language.
#[test]
fn a_number_in_quotes_has_digits_at_its_ends() {
    check_condition("x > '0.5'", "0.5");
    check_condition("x > '-1.5'", "-1.5");
    check_condition("x > '.5'", "\".5\"");
    check_condition("x > '1.'", "\"1.\"");
}

/// Regression test: a text on a line of its own before `test` or `import` began a statement.
#[test]
fn a_text_continues_the_statement_before_it() {
    let after = "\"t\" { given text = \"a\" expect default }\ndefault -> h";
    for before in [
        "list x = from\n\"a.txt\" test",
        "import\n\"w.rules\" test",
        "let z = if text == \"a\" then \"b\" else\n\"c\" test",
        "let z = if text == \"a\" then\n\"b\" else \"c\" test",
    ] {
        assert!(findings(&format!("{before} {after}")).is_empty(), "{before}");
    }
    assert!(findings("import\n\"w.rules\" import \"w2.rules\"").is_empty());
    assert_eq!(findings("default -> h\n\"w.rules\" import"), [("E0102", "import".to_owned())]);
}

/// Regression test: the colon before a target was read as the colon of a quantifier.
#[test]
fn a_colon_before_a_target_is_no_quantifier() {
    for text in [
        "route a when text not in words: h",
        "route a when not kind in kinds: h",
        "route a when not (kind in kinds): h",
        "route a when kind in kinds: h -> x",
        "route a when if role in roles: vip else false -> h",
        "payload p { kind: string\n count: int\n forbid \"a\" when kind in kinds: count > 3 }",
        "choice c { branch a { kind in kinds: x }\n default branch b }",
        "router r(output) { when not kind in kinds: next[1]\n otherwise -> next[0] }",
    ] {
        let first = diagnostics(text).swap_remove(0);
        let shown = format!("{first:?}");
        assert!(!shown.contains("quantifier") && !shown.contains("any kind"), "{text}: {shown}");
    }
    check_condition("not x in xs: x > 3", "not any x in xs: …");
}

/// Regression test: arguments were assigned to parameters in source order although their names say
/// otherwise.
#[test]
fn arguments_with_the_names_of_parameters_belong_to_them() {
    let check = |arguments: &str, expected: &str| {
        let text = format!("handler order(id: string, kind: string)\nroute a when x -> order({arguments})");
        let help = diagnostics(&text)[0].help.as_deref().unwrap_or_default().to_owned();
        assert_eq!(help, format!("write `order({expected})`"));
    };
    check("kind, id", "id: id, kind: kind");
    check("user.kind, user.id", "id: user.id, kind: user.kind");
    check("kind, name", "id: name, kind: kind");
    check("a.id, b.id", "id: a.id, kind: b.id");
    check("name, \"x\"", "id: name, kind: \"x\"");
    check("kind", "id: …, kind: kind");
}

/// Regression test: a type and a target were suggested as values to compare with.
#[test]
fn a_name_after_a_colon_is_no_value() {
    check_repair("let total = price: decimal", "write `price as decimal`");
    let help = |text: &str| diagnostics(text)[0].help.as_deref().unwrap_or_default().to_owned();
    assert!(!help("route f when vip: h -> x").contains("=="));
    assert!(!help("new handler (id: string)").contains("handler new"));
    check_condition("n: 3", "n == 3");
}
