//! Tests of the diagnostic for each mistake: its code and the underlined text.

use super::{FILE, findings, parse_clean};
use rulec_base::diag::Applicability;
use rulec_base::parallel::ThreadLimit;
use rulec_syntax::parse::{WordRole, parse};
use std::time::{Duration, Instant};

/// Checks that a text has exactly one diagnostic, with this code and underlined text.
fn check(text: &str, code: &str, place: &str) {
    assert_eq!(findings(text), [(code, place.to_owned())], "{text}");
}

/// Parses a text, and returns the help text of its first diagnostic.
fn first_help(text: &str) -> String {
    parse(ThreadLimit::All, FILE, text).diagnostics[0].help.as_deref().unwrap_or_default().to_owned()
}

#[test]
fn slips_in_conditions() {
    let check =
        |condition: &str, code: &str, place: &str| check(&format!("let x = {condition}"), code, place);
    check("text contians \"x\"", "E0110", "contians");
    check("text startswith \"x\"", "E0110", "startswith");
    check("text not contians \"x\"", "E0110", "contians");
    check("text = \"x\"", "E0101", "=");
    check("a && b", "E0101", "&&");
    check("a || b", "E0101", "||");
    check("!a", "E0101", "!");
    check("a <> b", "E0101", "<>");
    check("1 < x < 5", "E0111", "<");
    check("a == b == c", "E0111", "==");
    check("text contains", "E0101", "contains");
    check("a and", "E0101", "and");
    check("and a", "E0101", "and");
    check("a and or b", "E0101", "or");
    check("a b", "E0101", "b");
    check("a \"x\"", "E0101", "\"x\"");
    check("like == 1", "E0109", "like");
    check("word", "E0109", "word");
    check("f(type)", "E0109", "type");
    check("a == type", "E0109", "type");
    check("text not == \"x\"", "E0101", "not ==");
    check("x is null", "E0101", "is null");
    check("x is not missing", "E0101", "is not missing");
    check("x is 3", "E0101", "is 3");
    check("x is", "E0101", "is");
    check("1..3", "E0101", "..");
    check("x + 1 ignoring case", "E0310", "ignoring");
    check("x == \"a\" ignoring", "E0101", "ignoring");
    check("any", "E0101", "any");
    check("any x in l", "E0101", "any x in l");
    check("for x in l: c", "E0101", "for x in l: c");
    check("any p in history after q within 1h: c", "E0101", "within");
    check("any p in history within 1h within 2h: c", "E0101", "within");
    check("all { }", "E0101", "all { }");
    check("all { a: 1 }", "E0101", "a: 1");
    check("{ a == 1 }", "E0101", "a == 1");
    check("()", "E0101", "()");
    check("(a, b)", "E0101", "(a, b)");
    check("l[1, 2]", "E0101", "[1, 2]");
    check("(a)(b)", "E0101", "(b)");
    check("a.b(c)", "E0101", "a.b(c)");
    check("[1, , 2]", "E0101", ",");
    check("a ? b", "E0110", "?");
    check("x CONTAINS 1", "E0110", "CONTAINS");
}

#[test]
fn slips_in_statements() {
    check("route a text == \"x\" -> h", "E0101", "text");
    check("route a if x -> h", "E0101", "if");
    check("route a when x => h", "E0101", "=>");
    check("route a when x → h", "E0101", "→");
    check("route a when x then h", "E0101", "then");
    check("route a when x: h", "E0101", ":");
    check("route a when x h", "E0101", "h");
    check("route a when x", "E0101", "x");
    check("route a when -> h", "E0101", "->");
    check("route a when x ->", "E0101", "->");
    check("route a when x -> default", "E0109", "default");
    check("route a priority high when x -> h", "E0101", "high");
    check("route a priority 1.5 when x -> h", "E0108", "1.5");
    check("route a when x priority 3 -> h", "E0101", "priority");
    check("route a when x -> h;", "E0101", ";");
    check("route \"a b\" when x -> h", "E0101", "\"a b\"");
    check("route route when x -> h", "E0109", "route");
    check("route when x -> h", "E0109", "when");
    check("route contains when x -> h", "E0109", "contains");
    check("let when = 1", "E0109", "when");
    check("let a: int = 1", "E0101", ":");
    check("let a == 1", "E0101", "==");
    check("let a === 1", "E0101", "===");
    check("let a => 1", "E0101", "=>");
    check("let a = b := 1", "E0101", ":=");
    check("let a = b. .c", "E0101", ".");
    check("input { a: list<> }", "E0101", "<>");
    // The lexer takes the longest symbol first: `>=` and then `=`.
    check("let a = b as list<int>== c", "E0101", "=");
    parse_clean("let a = b as list<int>>= c");
    check("default h", "E0101", "h");
    check("handler h(a: string?)", "E0101", "?");
    check("def f(x) = 1", "E0101", ")");
    check("test \"a\" { given x = 1 }", "E0101", "}");
    check("input { text string }", "E0101", "text string");
    check("extern g() -> int", "E0101", "g");
    check("table t", "E0101", "t");
    check("table t { let a = 1 }", "E0112", "let");
    check("table t { table u { } }", "E0112", "table");
    check("import words", "E0101", "words");
    check("choice c { branch }", "E0101", "}");
    check("choice c { a { x } }", "E0101", "a");
    check("choice c ask { branch a }", "E0101", "{");
    check("flow f exact [\"a\"] -> f", "E0101", "exact");
    check("flow f keyword exact \"a\" -> f", "E0101", "\"a\"");
    check("flow f keyword exact [\"a\"]", "E0101", "]");
    check("router r(output) { otherwise -> }", "E0101", "}");
    check("router r { otherwise -> next }", "E0101", "{");
    check("rout a when x -> h", "E0102", "rout");
    check("let a = 1 rout b when x -> h", "E0102", "rout");
    check("when x -> h", "E0102", "when");
    check("\"x\"", "E0102", "\"x\"");
}

#[test]
fn literals() {
    check("let a = \"a\\qb\"", "E0107", "\\q");
    check("let a = 10x", "E0108", "x");
    check("let a = 18446744073709551616", "E0108", "18446744073709551616");
    check("let a = 1e400", "E0108", "1e400");
    check("let a = \"open\nlet b = 1", "E0103", "\"open");
    check("let a = r\"open\nlet b = 1", "E0103", "r\"open");
    check("route a when f(text, \"open) -> h\nlet b = 1", "E0103", "\"open) -> h");
    check("let a = 'x'", "E0101", "'x'");
    check("let a = “x”", "E0101", "“x”");
    parse_clean("let a = \"“x” 'y' （\"");
}

#[test]
fn characters() {
    check("", "E0004", "");
    check("\u{FEFF}# only a comment\r\n", "E0004", "");
    check("let a = f（1)", "E0011", "（");
    check("let a = [1，2]", "E0011", "，");
    check("let a = 1 \0", "E0011", "\0");
    check("let a = $b", "E0011", "$");
    check("# \u{202E}\nlet a = 1", "E0010", "\u{202E}");
    check("let a\u{2066} = 1", "E0010", "\u{2066}");
    check("let a = \"\u{202E}\"", "W0001", "\u{202E}");
    check("let p\u{0430}ss = 1 let b = p\u{0430}ss", "W0002", "p\u{0430}ss");
    check("// c\nlet a = 1", "E0101", "//");
    parse_clean("let 查order = 1　let b = `a b`");
}

#[test]
fn brackets() {
    check("let a = (1\nlet b = 2", "E0104", "(");
    check("let a = f([1)\nlet b = 2", "E0104", "[");
    check("let a = 1)\nlet b = 2", "E0105", ")");
    check("table t {\n  route a when (x -> h\n  default -> h\n}\nlet b = 2", "E0104", "(");
    check("table t {\n  route a when x -> h\nlet b = 2", "E0104", "{");
    check("test \"a\" {\n  given x = { a: 1\n  expect none\n}\nlet b = 1", "E0104", "{");
    let text = "input {\n  a: {\n b: int\n\nlet b = 2";
    assert_eq!(findings(text), [("E0104", "{".to_owned()), ("E0104", "{".to_owned())]);
    check("}", "E0105", "}");
    let text = "let u = (text == \"x\"\nlet v = text == \"y\")\nlet w = 1";
    assert_eq!(findings(text), [("E0104", "(".to_owned()), ("E0105", ")".to_owned())]);
    let unindented = "table t {\nroute a when x -> h\ndefault -> h\n}\nlet b = (1)";
    assert_eq!(parse_clean(unindented).len(), 2);
}

#[test]
fn one_run_reports_every_error() {
    let text = "let a = text contians \"x\"\nlet b = (1\nlet c = \"open\nroute good when true -> h\n\
                rout d when x -> h\nroute e when x = 1 -> h\nlet when = 1\n\
                table t {\n  route f when x h\n  route good2 when true -> h\n  let g = 1\n}\nlet z = 10q";
    let codes: Vec<_> = findings(text).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["E0110", "E0104", "E0103", "E0102", "E0101", "E0109", "E0101", "E0112", "E0108"]);
    let parsed = parse(ThreadLimit::All, FILE, text);
    // `=` is treated as `==` after it is reported, so that statement is kept. The table keeps its
    // valid statements.
    assert_eq!(parsed.statements.len(), 3);
    let broken: Vec<_> = parsed.broken_names.iter().map(|name| name.node.as_str()).collect();
    assert_eq!(broken, ["a", "b", "c", "f", "g", "z"]);
}

#[test]
fn helps_and_fixes_say_what_to_write() {
    let check = |text: &str, expected: &str| {
        assert!(first_help(text).contains(expected), "{text}: {}", first_help(text))
    };
    check("rout a when x -> h", "`route`");
    check("let a = text contians \"x\"", "`contains`");
    check("let when = 1", "`` `when` ``");
    check("let a = f（1)", "`(`");
    check("let a = 1 < x < 5", "`1 < x and x < 5`");
    check("let a = 10x", "`ms`");
    check("let a = \"x\\d\"", "`r\"x\\d\"`");
    check("route -> h", "for example");
    for (text, fixed) in [
        ("let x = a && b", "let x = a and b"),
        ("let x = a = b", "let x = a == b"),
        ("route a when x => h", "route a when x -> h"),
        ("let a = 'x'", "let a = \"x\""),
        ("let a = 1;", "let a = 1"),
        ("let a = !b", "let a = not b"),
        ("let a = f（1)", "let a = f(1)"),
        ("let a = x is not missing", "let a = x is present"),
        ("// c\nlet a = 1", "# c\nlet a = 1"),
        ("let a = b =< 1", "let a = b <= 1"),
        ("let a = b ! = 1", "let a = b != 1"),
        ("let a = NOT b", "let a = not b"),
        ("let a = b NOT IN c", "let a = b not in c"),
        ("let a = b IS NULL", "let a = b is missing"),
        ("let a = \"say \"hi\"\"", "let a = \"say \\\"hi\\\"\""),
        ("let a = f\"x {b}\"", "let a = join([\"x \", b], \"\")"),
        ("let a = b contains \"x\" ignoring_case", "let a = b contains \"x\" ignoring case"),
        ("list a = from b.txt", "list a = from \"b.txt\""),
        ("list a:\n- b\n- 1", "list a = [\"b\", 1]"),
        ("list a = - \"b\"\n- \"c\"", "list a = [\"b\", \"c\"]"),
        ("let a = b in (\"x\")", "let a = b in [\"x\"]"),
        ("let a = b contains any {\"x\", \"y\"}", "let a = b contains any [\"x\", \"y\"]"),
        ("let a = b > 3 and < 5", "let a = b > 3 and b < 5"),
        ("let a = any x in l where x > 3", "let a = any x in l: x > 3"),
        ("let a = b > 30 seconds", "let a = b > 30s"),
        ("let a = b > １２", "let a = b > 12"),
        ("let a = b 并且 c", "let a = b and c"),
        ("let a = b.lower()", "let a = lower(b)"),
        ("ruote a when x -> h", "route a when x -> h"),
        ("route a when x h", "route a when x -> h"),
        ("route a when x -> handler h", "route a when x -> h"),
        ("route a when n => 3 -> h", "route a when n >= 3 -> h"),
        ("route a when x -> h else -> g", "route a when x -> h \ndefault -> g"),
        (
            "test \"t\" { given a = 1, b = 2 expect none }",
            "test \"t\" { given a = 1 given b = 2 expect none }",
        ),
    ] {
        let diagnostic = parse(ThreadLimit::All, FILE, text).diagnostics.remove(0);
        let fix = &diagnostic.fixes[0];
        assert_eq!(fix.applicability, Applicability::MachineApplicable, "{text}");
        let mut result = text.to_owned();
        result.replace_range(fix.span.range(), &fix.replacement);
        assert_eq!(result.replace("  ", " "), fixed);
        parse_clean(&result);
    }
}

#[test]
fn deep_nesting_is_refused_quickly() {
    let quickly = |text: String, code: &str| {
        let start = Instant::now();
        let codes: Vec<_> = parse(ThreadLimit::All, FILE, &text)
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code.as_str())
            .collect();
        let taken = start.elapsed();
        assert_eq!(codes, [code], "{}", &text[..40]);
        // Far above what a busy machine takes. Only work that grows faster than the nesting takes
        // longer.
        assert!(taken < Duration::from_secs(60), "{taken:?}");
    };
    let n = 100_000;
    quickly(format!("let a = {}1{}", "(".repeat(n), ")".repeat(n)), "E0106");
    quickly(format!("let a = {}", "(".repeat(n)), "E0106");
    quickly(format!("let a = {}1", "[".repeat(n)), "E0106");
    quickly(format!("let a = {} b", "not ".repeat(n)), "E0106");
    quickly(format!("let a = {}1", "- ".repeat(n)), "E0106");
    quickly(format!("let a = {} b", "not (".repeat(n)), "E0106");
    quickly(format!("let a = {} c", "any x in l: ".repeat(n)), "E0106");
    quickly(format!("let a = {} c", "all { ".repeat(n)), "E0106");
    quickly(format!("type a = {} int", "list< ".repeat(n)), "E0106");
    quickly(format!("let a = b{}", " and any x in (l): c".repeat(n)), "E0106");
    let n = 10_000;
    quickly(format!("let a = 1{}", " + 1".repeat(n)), "E0106");
    quickly(format!("let a = b{}", ".c".repeat(n)), "E0106");
    quickly(format!("let a = b{}", "[0]".repeat(n)), "E0106");
    quickly(format!("let a = b{}", " ?? 1".repeat(n)), "E0106");
    quickly(format!("let a = b{}", " as int".repeat(n)), "E0106");
}

#[test]
fn what_is_not_too_deep_is_read() {
    let n = 128;
    parse_clean(&format!("let a = {}1{}", "(".repeat(n), ")".repeat(n)));
    parse_clean(&format!("let a = {}1{}", "[".repeat(n), "]".repeat(n)));
    parse_clean(&format!("let a = {} b", "not ".repeat(n)));
    parse_clean(&format!("let a = {} c", "any x in l: ".repeat(n)));
    parse_clean(&format!("let a = 1{}", " + 1".repeat(400)));
    parse_clean(&format!("let a = b{}", " and b".repeat(100_000)));
    parse_clean(&format!("let a = b{}", " or not b == 1".repeat(20_000)));
    parse_clean(&format!("list a = [{}]", "\"w\", ".repeat(50_000)));
    parse_clean("list a = [-1, -2]");
}

/// Regression test: the help text lists the words that begin statements. The list was written by
/// hand, and lacked `payload` and `group`.
#[test]
fn the_help_for_an_unknown_statement_names_every_word_that_starts_one() {
    let help = first_help("zzzzzzzz a\n");
    let words = rulec_syntax::parse::keywords().filter(|(_, role)| *role == WordRole::Statement);
    for (word, _) in words {
        assert!(help.contains(&format!("`{word}`")), "{word}: {help}");
    }
}

#[test]
fn a_merge_conflict_is_reported_once() {
    let text = "let a = 1\n<<<<<<< HEAD\nlet b = c d\n=======\nlet b = e f\n>>>>>>> other\n";
    check(text, "E0101", "<<<<<<< HEAD");
    assert!(first_help(text).starts_with("keep one of the two versions"), "{}", first_help(text));
    // A line of `=` is no conflict without the other marks, or inside a text.
    assert!(!first_help("let a = 1\n=======\nlet b = 2\n").starts_with("keep"));
    parse_clean("let a = r\"\n<<<<<<< a\n=======\n>>>>>>> b\n\"\n");
}

/// Checks that the first diagnostic proposes this text, and that its fix leaves no error.
pub(super) fn check_repair(text: &str, written: &str) {
    let diagnostics = parse(ThreadLimit::All, FILE, text).diagnostics;
    assert_eq!(diagnostics.len(), 1, "{text}: {diagnostics:?}");
    let diagnostic = &diagnostics[0];
    let help = diagnostic.help.as_deref().unwrap_or_default();
    assert!(help.contains(written), "{text}: {help}");
    let mut repaired = text.to_owned();
    for fix in &diagnostic.fixes {
        repaired.replace_range(fix.span.range(), &fix.replacement);
    }
    assert_ne!(repaired, text);
    parse_clean(&repaired);
}

/// Regression test: the name of a file was read as a path, so that the list seemed to be a cycle.
#[test]
fn the_name_of_a_file_in_place_of_a_list_is_quoted() {
    check_repair("list words = words.txt", "`from \"words.txt\"`");
    check_repair("list words = ./lists/words.txt", "`from \"./lists/words.txt\"`");
    check_repair("list words = lists/words.csv", "`from \"lists/words.csv\"`");
    check_repair("list words from \"words.txt\"", "`list words = from`");
    parse_clean("list words = user.words");
}

#[test]
fn negations_of_english_are_tests_or_operators() {
    let check = |condition: &str, written: &str| {
        check_repair(&format!("route a when {condition} -> h"), &format!("write `{written}`"));
    };
    check("phone doesn't exist", "is missing");
    check("phone isn't set", "is missing");
    check("phone isn't missing", "is present");
    check("phone isn't \"a\"", "!=");
    check("text doesn't contain \"a\"", "not contains");
    check("text doesn't start with \"a\"", "not starts_with");
    check("text doesn't match r\"a\"", "not matches");
    check("text isn't in [\"a\"]", "not in");
    check("count isn't greater than 3", "<=");
    check("count isn't greater than or equal to 3", "<");
    check("count isn't less than or equal 3", ">");
    check("count isn't == 3", "!=");
    check("count doesn't eq 3", "!=");
    check("tags hasn't \"a\"", "not contains");
    check("phone isn’t \"a\"", "!=");
    let has_no_fix = |condition: &str, help: &str| {
        let text = format!("route a when {condition} -> h");
        let diagnostic = parse(ThreadLimit::All, FILE, &text).diagnostics.swap_remove(0);
        assert!(diagnostic.fixes.is_empty(), "{diagnostic:?}");
        assert!(first_help(&text).contains(help), "{}", first_help(&text));
    };
    has_no_fix("ctx.tags isn't empty", "for a list `len(ctx.tags) > 0`");
    has_no_fix("text isn't blank", "write `trim(text) != \"\"`");
    has_no_fix("text doesn't \"a\"", "`not` comes before the operator");
    has_no_fix("text isn't and n > 3", "`not` comes before the operator");
    // The apostrophes of two negations are no quotes of a text.
    let help = first_help("route a when x isn't \"a\" and y isn't \"b\" -> h");
    assert_eq!(help, "write `!=`");
}

#[test]
fn a_regular_expression_between_slashes_is_quoted() {
    check_repair("route a when text matches /order (\\d+)/i -> h", "`r\"(?i)order (\\d+)\"`");
    check_repair("let a = capture(text, /order (\\d+)/)", "`r\"order (\\d+)\"`");
    check_repair("route a when text matches /(\\d+) (\\w+)/gm -> h", "`r\"(?m)(\\d+) (\\w+)\"`");
    check_repair("route a when text matches /a\\/b\\d/ -> h", "`r\"a/b\\d\"`");
    // Other operators read a text literally.
    check_repair("route a when text contains /\\d+/ -> h", "write `matches r\"\\d+\"`");
    check_repair("route a when text not like /\\d/ -> h", "write `matches r\"\\d\"`");
    check_repair("route a when text == /\\d/ -> h", "write `matches r\"\\d\"`");
    check_repair("route a when text != /\\d/ -> h", "write `not matches r\"\\d\"`");
    for condition in ["replace(text, /\\s+/g, \"\") == \"ab\"", "text in [/\\d/]", "text matches /\\d/y"] {
        let text = format!("route a when {condition} -> h");
        let diagnostics = parse(ThreadLimit::All, FILE, &text).diagnostics;
        assert!(diagnostics[0].fixes.is_empty(), "{:?}", diagnostics[0]);
        assert!(first_help(&text).contains("`x matches r\"…\"`"), "{}", first_help(&text));
    }
}

#[test]
fn a_position_that_is_compared_is_a_search() {
    let check = |condition: &str, written: &str| {
        check_repair(&format!("route a when {condition} -> h"), &format!("write `{written}`"));
    };
    check("text.find(\"a\") == -1", "text not contains \"a\"");
    check("text.indexOf(\"a\") < 0", "text not contains \"a\"");
    check("ctx.text.indexOf(\"a\") >= 0", "ctx.text contains \"a\"");
    check("text.find(\"a\") == 3", "index_of(text, \"a\")");
}

#[test]
fn a_duration_in_parts_with_spaces_is_added_up() {
    let check = |duration: &str, written: &str| {
        check_repair(&format!("route a when waited > {duration} -> h"), &format!("`{written}`"));
    };
    check("2 min 30 sec", "150s");
    check("1 hour and 30 minutes", "90min");
    check("1h 30 minutes", "90min");
    check("90 min", "90min");
}

#[test]
fn a_part_of_a_text_is_read_by_a_function() {
    let check = |part: &str, written: &str| {
        check_repair(&format!("route a when {part} == \"l\" -> h"), &format!("write `{written}`"));
    };
    check("user.name[0:5]", "substring(user.name, 0, 5)");
    check("text[:5]", "substring(text, 0, 5)");
    check("text[2:]", "substring(text, 2)");
    check("text[-3:]", "substring(text, -3)");
    check("text[:-1]", "substring(text, 0, len(text) - 1)");
}

/// Regression test: the bounds were negated and subtracted without a check.
#[test]
fn a_part_of_a_text_with_extreme_bounds_is_an_error() {
    for part in
        ["text[:-9223372036854775808]", "text[-9223372036854775808:-1]", "text[0:9223372036854775807]"]
    {
        let text = format!("route a when {part} == \"l\" -> h");
        assert!(!parse(ThreadLimit::All, FILE, &text).diagnostics.is_empty());
    }
}

/// Regression test: the word `history` began a statement, so that one mistake had two errors.
#[test]
fn a_count_of_the_history_is_one_error() {
    let text = "route a when count history > 3 -> h";
    check(text, "E0101", "count");
    assert!(first_help(text).starts_with("write `len(history)`"), "{}", first_help(text));
    parse_clean("route a when len(history) > 3 -> h history by user keep 1h at most 3");
    parse_clean("let big = n > count history by user keep 1h at most 3");
}

#[test]
fn a_count_names_the_whole_path() {
    let check = |count: &str, written: &str| {
        let help = first_help(&format!("route a when {count} > 3 -> h"));
        assert!(help.contains(written), "{count}: {help}");
    };
    check("count user.tags", "`len(user.tags)`");
    check("count of tags", "`len(tags)`");
    check("count items[0].tags", "`len(items[0].tags)`");
    let help = first_help("route a when count distinct tags > 3 -> h");
    assert!(!help.contains("distinct"), "{help}");
}

#[test]
fn statements_of_other_languages_are_written_in_full() {
    let help = |text: &str, written: &str| {
        assert!(first_help(text).contains(written), "{text}: {}", first_help(text));
    };
    help("from \"x.rules\" import y", "write `import \"x.rules\"`");
    help("with big as (total > 1000)", "write `let big = total > 1000`");
    help("interface Message { text: string }", "`input { text: string }`");
    help("flows {\n  greet exact [\"a\"]\n}", "each `flow` is a statement of its own");
    help("select a from b", "there are no queries");
    help("with a as (x > 1), b as (y > 2)", "there are no queries");
    help("with recursive t as (select a)", "there are no queries");
    help("with t as (\n  x > 1\n)", "there are no queries");
    help("With this file we route as needed", "a comment begins with `#`");
    help("Message routing for the shop", "a comment begins with `#`");
    help("class Address { street: string }", "did you mean `type`?");
    help("class Event { text: string }", "`input { text: string }`");
}
