//! Tests of fixes for parts of statements in the form of other languages. Each fix is in the help,
//! and leaves no error.

use super::errors::check_repair;
use super::{FILE, findings};
use rulec_base::parallel::ThreadLimit;
use rulec_syntax::parse::{foreign_duration_at, parse};

/// Returns the help of the first diagnostic.
fn help(text: &str) -> String {
    let diagnostic = parse(ThreadLimit::All, FILE, text).diagnostics.swap_remove(0);
    diagnostic.help.as_deref().unwrap_or_default().to_owned()
}

#[test]
fn conditions_on_elements_have_their_own_order() {
    let check = |condition: &str, written: &str| {
        check_repair(&format!("route a when {condition} -> h"), &format!("write `{written}`"));
    };
    check("count (o in orders: o.total < 3) > 5", "(count o in orders: o.total < 3)");
    check("any(o.total > 3 for o in orders)", "any o in orders: o.total > 3");
    check("any([o.total < 3 for o in orders])", "any o in orders: o.total < 3");
    check("sum(1 for o in orders if o.total > 3) > 1", "(count o in orders: o.total > 3)");
    check("any o in orders, o.total > 3", "any o in orders: o.total > 3");
    check("all o in orders | o.total > 3", "all o in orders: o.total > 3");
    check("(1 if vip else 2) > n", "if vip then 1 else 2");
    check("orders.any { it.total > 3 }", "any it in orders: it.total > 3");
    // The condition of another value is no condition on the elements.
    assert!(help("route a when any o in orders, vip -> h").contains("len(orders) > 0"));
}

#[test]
fn parts_of_workflows_and_routers_have_no_brackets() {
    let node = |node: &str, written: &str| {
        check_repair(
            &format!("workflow w {{ {node} node b echo node c echo }}"),
            &format!("write `{written}`"),
        );
    };
    node("node a vote(threshold=0.6) -> b", "vote { threshold: 0.6 }");
    node("node a vote[\"threshold\": 0.6] -> b", "vote { threshold: 0.6 }");
    node("node a echo -> [b, c]", "-> b, c");
    node("node a echo -> b & c", "-> b, c");
    node("node a echo within \"5s\" -> b", "5s");
    node("node a echo within 5*time.Second -> b", "5s");
    node("node a echo within time.Minute * 2 -> b", "2min");
    check_repair("router r(o) { when o.a -> b; c\n otherwise -> d }", "write `-> b, c`");
    // A `;` also separates cases.
    assert!(findings("router r(o) { when o.a -> b otherwise -> d }").is_empty());
}

#[test]
fn definitions_and_targets_have_their_own_brackets() {
    check_repair("def f[a: int] = a > 3", "write `def f(a: int)`");
    check_repair("handler h{a: int}", "write `handler h(a: int)`");
    check_repair("extern fn f[a: int] -> bool", "write `extern fn f(a: int)`");
    check_repair("route a when n > 3 -> [h]", "write `-> h`");
    check_repair("table t { default -> h }\nroute a when n > 3 -> goto t!b", "write `goto t`");
    check_repair("table t { default -> h }\nroute a when n > 3 -> goto data.t", "write `goto t`");
    assert!(help("def f(n: int) { n > 100 }").ends_with("write `def f(n: int) = n > 100`"));
    assert!(help("handler h(a: string = \"x\")").contains("`a?: string`"));
    assert!(help("test(\"a\", () => {\n given text = \"x\"\n expect a\n})").contains("test \"a\" { given"));
    check_repair("test \"a\" {\n given text = \"x\"\n assert a\n}", "write `expect a`");
}

#[test]
fn a_block_after_a_colon_has_one_error() {
    let text = "default -> h\ntable t:\n  route a when n > 3 -> h\n  default -> g";
    let parsed = parse(ThreadLimit::All, FILE, text);
    assert_eq!(parsed.diagnostics.len(), 1);
    // The routes of the block belong to the table, and not to the file.
    assert_eq!(parsed.statements.len(), 1);
    assert!(help(text).contains("write `table t {`"));
}

#[test]
fn values_of_a_shell_and_grouped_numbers_are_rewritten() {
    let check = |condition: &str, written: &str| {
        check_repair(&format!("route a when {condition} -> h"), &format!("write `{written}`"));
    };
    check("${role:-guest} == \"guest\"", "(role ?? \"guest\")");
    check("${user.role} == \"guest\"", "user.role");
    check("n > 10，000，000", "10_000_000");
    check("text matches /^(a|b)$/", "r\"^(a|b)$\"");
    assert_eq!(help("route a when n in [100，200] -> h"), "write `,`");
}

#[test]
fn a_word_of_another_language_means_a_statement() {
    check_repair("source \"a.rules\"\ndefault -> h", "did you mean `import`?");
    check_repair("load \"a.rules\"\ndefault -> h", "did you mean `import`?");
    check_repair("设 late = n > 3", "did you mean `let`?");
    check_repair("rout a when n > 3 -> h", "did you mean `route`?");
    // Only `import` and `test` continue with a text.
    assert!(!help("ruote \"a\"").contains("`route`?"));
}

#[test]
fn the_name_of_a_list_file_is_replaced_in_any_statement() {
    check_repair("default -> h\nlist words = words.txt", "write `from \"words.txt\"`");
}

#[test]
fn a_duration_of_another_language_has_a_module_or_a_call() {
    assert_eq!(foreign_duration_at("n > 2 * time.Hour", 8), Some((4..17, "2h".to_owned())));
    assert_eq!(foreign_duration_at("n > 2 * order.total", 8), None);
}
