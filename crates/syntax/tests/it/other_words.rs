//! Tests of suggestions for the words and syntax of other languages: each suggested text is in the
//! help, and the fix leaves no error.

use super::errors::check_repair;
use super::{FILE, findings, parse_clean};
use rulec_base::parallel::ThreadLimit;
use rulec_syntax::parse::parse;

#[track_caller]
fn check_condition(condition: &str, written: &str) {
    check_repair(&format!("route a when {condition} -> h"), &format!("write `{written}`"));
}

/// Returns the help of the first diagnostic.
fn help(text: &str) -> String {
    let diagnostic = parse(ThreadLimit::All, FILE, text).diagnostics.swap_remove(0);
    diagnostic.help.as_deref().unwrap_or_default().to_owned()
}

#[test]
fn an_import_takes_a_whole_file() {
    let check = |text: &str, written: &str| check_repair(&format!("{text}\ndefault -> h"), written);
    check("import \"a.rules\" except b, c", "remove `except b, c`");
    check("import \"a.rules\" as a", "remove `as a`");
    check("import \"a.rules\" (b)", "remove `(b)`");
    check("import \"a.rules\", \"b.rules\"", "`import \"a.rules\"`, `import \"b.rules\"`");
    check("import \"a.rules\" import b", "remove `import b`");
    check("\"a.rules\" import", "write `import \"a.rules\"`");
    check("import \"b.rules\"\n\"a.rules\" import", "write `import \"a.rules\"`");
    check("words list = [\"a\"]", "write `list words`");
    check("refunds route when text == \"a\" -> h", "write `route refunds`");
    check("h handler(id: string)", "write `handler h`");
    check("\"a refund\" test { given text = \"a\" expect default }", "write `test \"a refund\"`");
    for text in ["import \"a.rules\" as a", "\"a.rules\" import", "from \"a.rules\" import a"] {
        assert!(parse(ThreadLimit::All, FILE, text).is_incomplete, "{text}");
    }
    assert!(!parse(ThreadLimit::All, FILE, "import \"a.rules\"\nroute a when").is_incomplete);
}

#[test]
fn a_quantifier_is_recognized_by_its_form() {
    check_repair("route a when nay x in xs: x > 3 -> h", "did you mean `any`?");
    check_repair("route a when (cuont x in xs: x > 3) > 2 -> h", "did you mean `count`?");
    check_repair("let a = Any x in xs: x > 3", "did you mean `any`?");
    check_condition("none x in xs: x > 3", "not any x in xs: …");
    check_condition("not x in xs: x > 3", "not any x in xs: …");
    assert!(help("route a when most x in xs: x > 3 -> h").starts_with("write `any x in xs: …` or"));
    assert!(help("route a when x in xs: x > 3 -> h").starts_with("write `any x in xs: …` or"));
    assert_eq!(help("route a when x in xs: h"), "write `->`");
    parse_clean("route a when all x in xs: x > 3 -> h");
}

#[test]
fn a_list_of_words_is_searched_by_an_operator() {
    let check = |condition: &str, written: &str| {
        check_repair(
            &format!("list words = [\"a\"]\nroute a when {condition} -> h"),
            &format!("write `{written}`"),
        );
    };
    check("any words in text", "text contains any words");
    check("all words in user.tags and b", "user.tags contains all words");
    check("(count words in text) > 1", "count x in words: text contains x");
    check("any of words in text", "text contains any words");
    check("any [\"a\", \"b\"] in text and b", "text contains any [\"a\", \"b\"]");
    check("any word words in text", "text contains word any words");
    let help = |condition: &str| help(&format!("route a when {condition} -> h"));
    assert!(help("(count p in history within 1h) > 3").contains("`len(history within 1h)`"));
    assert!(help("(count p in history within 1h) > 3").contains("`count p in history within 1h: CONDITION`"));
    assert!(help("any x in xs and b").contains("`len(xs) > 0`"));
    assert!(help("all x in xs").contains("`all x in xs: CONDITION`"));
}

#[test]
fn arguments_are_named_by_their_types() {
    let declared = "input { text: string, id: string, kind: string, n: int, age?: int }\n\
        handler file(kind: string, limit: int)\nhandler order(id: string, kind: string)\n\
        handler many(kind: string, limit?: int)\nhandler aged(age: int)\n";
    let check = |target: &str, written: &str| {
        check_repair(&format!("{declared}default -> {target}"), &format!("write `{written}`"));
    };
    check("file(10, \"list\")", "file(kind: \"list\", limit: 10)");
    check("file(\"list\", 10)", "file(kind: \"list\", limit: 10)");
    check("file(n, kind)", "file(kind: kind, limit: n)");
    check("order(\"a\", \"b\")", "order(id: \"a\", kind: \"b\")");
    check("order(*)", "order(id: id, kind: kind)");
    check("order(...)", "order(id: id, kind: kind)");
    check("order(id: \"a\", *)", "order(id: \"a\", kind: kind)");
    check("order(kind: \"a\", id)", "order(id: id, kind: \"a\")");
    check("order({ id: id, kind: \"a\" })", "order(id: id, kind: \"a\")");
    check("many(\"a\")", "many(kind: \"a\")");
    let help = |target: &str| help(&format!("{declared}default -> {target}"));
    assert_eq!(help("file(true, \"a\")"), "write `file(kind: …, limit: …)`");
    assert_eq!(help("file(\"a\")"), "write `file(kind: \"a\", limit: …)`");
    assert_eq!(help("aged(*)"), "write `aged(age: …)`");
    assert_eq!(help("order(1, \"b\", \"c\")"), "write `order(id: …, kind: …)`");
}

#[test]
fn an_entry_has_a_value() {
    let check = |entries: &str, written: &str| {
        check_repair(&format!("default -> h {{ {entries} }}"), &format!("write `{written}`"));
    };
    check("type: \"a\", not cached", "cached: false");
    check("!cached, type: \"a\"", "cached: false");
    check("cached", "cached: true");
    check("cached true", "cached: true");
    check("owner sales", "owner: \"sales\"");
    check_repair("settings { case insensitive }", "write `case: insensitive`");
    check_repair("lexicon anger { \"furious\" 0.8 }", "write `\"furious\": 0.8`");
}

#[test]
fn a_record_is_no_condition() {
    check_condition("{ \"endsWith\": [user.email, \"@a\"] } and b", "user.email ends_with \"@a\"");
    check_condition("{ n: 3 }", "n == 3");
    check_condition("{ \"n\": { \"gte\": 3, \"$lt\": 9 }, app: \"a\" }", "n >= 3 and n < 9 and app == \"a\"");
    check_condition("b and { n: 1, m: 2 }", "(n == 1 and m == 2)");
    check_condition("{ \"and\": [n > 3, { \"or\": [{ n: 1 }, { m: 2 }] }] }", "n > 3 and (n == 1 or m == 2)");
    check_condition("not { n: null }", "n is missing");
    check_condition("{ \">\": [{ \"var\": \"a.n\" }, 3] }", "a.n > 3");
    check_condition("version(app) { lt: \"1.9\" }", "version(app) < \"1.9\"");
    check_condition("n { gte: 3, lt: 9 } and b", "n >= 3 and n < 9");
    check_condition("n { nin: [1, 2] }", "n not in [1, 2]");
    check_condition("b and \"url\": \"https://a\"", "url == \"https://a\"");
    check_condition("user.n: { gt: 3, lte: 9 } and b", "user.n > 3 and user.n <= 9");
    check_condition("n: [1, 2]", "n in [1, 2]");
    check_repair("let a = n: 3", "write `n == 3`");
    check_condition("(n: 4 or b)", "n == 4 or b");
    check_repair("route a when n == 1: -> h", "remove the `:`");
    check_repair("route a when n == 1 then -> h", "remove the `then`");
    assert_eq!(help("route a when n == 1: h"), "write `->`");
    assert!(help("route a when n == 1: m == 3 -> h").starts_with("join conditions"));
    parse_clean("let a = { n: 3 }");
    parse_clean("route a when { n: 3 } == b and c -> h");
    parse_clean("route a when b == { n: 3 } or x in [{ n: 3 }] -> h { n: 3 }");
}

#[test]
fn a_duration_is_one_number() {
    check_condition("waited > 2h & 30min", "150min");
    check_condition("waited > 1h and 30min and n > 3", "90min");
    check_condition("waited > 1min && 30s", "90s");
    parse_clean("route a when waited > 2h and 3h < n -> h");
    parse_clean("route a when waited > 2h and n > 3 -> h");
}

#[test]
fn a_negation_precedes_its_operator() {
    check_condition("text contains not any words", "not (text contains any words)");
    check_condition("b and text contains not \"a\" and c", "text not contains \"a\"");
    check_condition("n in not [1, 2]", "n not in [1, 2]");
    check_condition("text starts_with !\"a\"", "text not starts_with \"a\"");
    parse_clean("route a when b == not c -> h");
}

#[test]
fn a_part_of_the_history_follows_within() {
    for bound in ["seconds 60", "last 60s", "since 60s", "in 60s", "in the last 60s", "60s", "(60s)", "[60s]"]
    {
        check_condition(&format!("any p in history {bound}: p.a == b"), "history within 60s");
    }
    check_repair("route a when any p in history witin 60s: b -> h", "did you mean `within`?");
    assert!(help("route a when any p in history window 60: b -> h").contains("`history within 1h`"));
    check_repair("route a when any p in history within: 1h: b -> h", "remove the `:`");
    check_repair("history keep 1d by user.id", "write `history by user.id keep 1d`");
    check_repair("history at most 5 by a.b keep 1d", "write `history by a.b keep 1d at most 5`");
    check_repair("history per user.id keep 1d", "write `by`");
    check_repair("history user.id keep 1d", "write `by user.id`");
}

#[test]
fn an_arrow_precedes_what_follows() {
    let flow = |end: &str, written: &str| {
        check_repair(&format!("flow a \"b\" keyword contains [\"c\"] {end}"), &format!("write `{written}`"));
    };
    flow("return \"d\"", "-> \"d\"");
    flow("then d", "-> d");
    flow(": \"d\"", "-> \"d\"");
    flow("\"d\"", "-> \"d\"");
    flow("ignoring cas -> d", "ignoring case");
    check_repair("flow a \"b\" intent examples [\"c\"] return \"d\"", "write `-> \"d\"`");
    assert!(help("flow a keyword contains [\"c\"] \"b\" -> d").starts_with("write `flow a \"b\"`"));
    check_repair("router a(o) { when o.b return next[1] otherwise -> next }", "write `->`");
    check_repair("router a(o) { when o.b -> next[1] otherwise next }", "write `-> next`");
    check_repair("workflow a { node b echo then c node c echo }", "write `->`");
}

#[test]
fn a_workflow_has_only_nodes() {
    let check = |parts: &str, written: &str| check_repair(&format!("workflow a {{ {parts} }}"), written);
    let help = |parts: &str| help(&format!("workflow a {{ {parts} }}"));
    check("start b node b echo", "remove `start b`");
    check("start node b echo", "remove `start`");
    check("node b echo end b", "remove `end b`");
    check("state b echo", "write `node`");
    assert!(
        help("initial: c node b echo -> c node c echo").contains("write `node c` before the other nodes")
    );
    assert!(help("edge b -> c node b echo node c echo").contains("`-> c` at the end of `node b`"));
    assert!(help("node b echo node c echo edge b -> c").contains("`-> c` at the end of `node b`"));
    assert!(help("node b echo node c echo <- b node d echo").contains("`-> c` at the end of `node b`"));
    assert!(help("node b echo node c echo <-- b, d").contains("at the end of `node b`, `node d`"));
    check_repair("workflow a start b { node b echo }", "remove `start b`");
    parse_clean("workflow a { node start echo -> end node end echo }");
}

#[test]
fn operators_of_query_languages() {
    for (condition, written) in [
        ("n _gte 3", ">="),
        ("n _nin [1]", "not in"),
        ("n not_in [1]", "not in"),
        ("text notContains \"a\"", "not contains"),
        ("n greaterThanOrEqual 3", ">="),
        ("text _is_null false", "is present"),
        ("text icontains \"a\" and b", "text contains \"a\" ignoring case"),
        ("text _nilike \"a*\"", "text not like \"a*\" ignoring case"),
        ("b and text ~* \"a|b\"", "text matches \"a|b\" ignoring case"),
        ("text !~* \"a\" and b", "text not matches \"a\" ignoring case"),
        ("text !~ \"a\"", "not matches"),
        ("text ^= \"a\"", "starts_with"),
        ("text *= \"a\"", "contains"),
    ] {
        check_condition(condition, written);
    }
    assert_eq!(findings("route a when n _sizes 3 -> h"), [("E0110", "_sizes".to_owned())]);
}

#[test]
fn a_brace_follows_its_name() {
    for head in ["payload a:", "payload a =", "payload a rank 3:", "group a:", "payload a is"] {
        check_repair(&format!("{head} {{ n: int }}"), "remove");
    }
    check_repair("table a: { default -> h }", "remove `:`");
    assert_eq!(help("payload a extends b { n: int }"), "write `include b` there");
    check_repair("payload a { xs: list<int>\n each x in xs: { require \"b\": x > 3 } }", "remove `:`");
}

#[test]
fn a_misspelt_suppression_is_reported() {
    let codes = |comment: &str| findings(&format!("{comment}\nlet a = b")).len();
    for comment in ["# rulec: alow W0102 x", "# rulec: disable W0102", "# noqa: W0102", "# ruelc allow W0102"]
    {
        assert_eq!(codes(comment), 1, "{comment}");
    }
    for comment in ["# rulec: allow W0102 x", "# We allow W0102 here.", "# ignore it", "# W0102 is allowed"] {
        assert_eq!(codes(comment), 0, "{comment}");
    }
}
