//! Tests findings of the analysis that follow from one element of a list or from an intent. Also
//! tests findings about payload rules and imports.

use rulec::Compiler;
use rulec_syntax::loader::MemoryLoader;

/// Returns the code, the underlined text and the help text of each finding, without the findings
/// about unread fields.
fn findings(loader: &MemoryLoader) -> Vec<(String, String)> {
    let rules = Compiler::new().allow_missing_functions().compile_with(loader, "main.rules");
    let rules = rules.unwrap_or_else(|error| panic!("{error}"));
    let mut found: Vec<(String, String)> = Vec::new();
    for finding in rules.analyse() {
        let diagnostic = finding.diagnostic;
        let underlined = rules.sources().slice(diagnostic.span().expect("a place"));
        let help = diagnostic.help.as_deref().unwrap_or_default().to_owned();
        if diagnostic.code.as_str() != "W0105" {
            found.push((format!("{} `{underlined}`", diagnostic.code), help));
        }
    }
    found
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = findings(&MemoryLoader::new().with("main.rules", text));
    let found: Vec<&str> = found.iter().map(|(finding, _)| finding.as_str()).collect();
    assert_eq!(found, expected, "{text}");
}

/// Checks a route with the condition `first` before a route with the condition `second`.
#[track_caller]
fn check_order(first: &str, second: &str, expected: &[&str]) {
    let text = format!("route one when {first} -> a\nroute two when {second} -> b\ndefault -> d");
    check(&text, expected);
}

#[test]
fn a_quantifier_hides_a_narrower_one() {
    let hidden = |condition: &str| format!("W0213 `{condition}`");
    let any = |condition: &str| format!("any o in orders: {condition}");
    let pairs = [
        (any("o.total > 10"), any("o.total > 1000")),
        (any("o.total > 10 or o.vip == true"), any("o.total > 50 and o.name == \"a\"")),
        (any("lower(o.name) contains \"a\""), any("lower(o.name) == \"abc\"")),
        ("all o in orders: o.total > 10".to_owned(), "all o in orders: o.total > 1000".to_owned()),
        ("any o in orders: o.total in 1..9".to_owned(), "any x in orders: x.total == 5".to_owned()),
        ("len(orders) > 0".to_owned(), any("o.total > 10")),
        ("(count o in orders: o.total > 5) > 0".to_owned(), any("o.total > 10")),
        ("any t in tags: t starts_with \"a\"".to_owned(), "any t in tags: t starts_with \"ab\"".to_owned()),
        (
            "any o in orders: any p in o.parts: p.n > 1".to_owned(),
            "any o in orders: any p in o.parts: p.n > 2".to_owned(),
        ),
    ];
    for (first, second) in pairs {
        check_order(&first, &second, &[&hidden(&second)]);
    }
    let apart = [
        (any("o.total > 1000"), any("o.total > 10")),
        (any("o.total > 10"), "any o in others: o.total > 1000".to_owned()),
        (any("o.total > 10"), "all o in orders: o.total > 1000".to_owned()),
        ("all o in orders: o.total > 10".to_owned(), any("o.total > 1000")),
        (any("o.total > 10 and o.vip == true"), any("o.total > 1000")),
        (any("o.total > 10"), any("o.weight > 1000")),
        ("len(orders) > 1".to_owned(), any("o.total > 10")),
        ("(count o in orders: o.total > 15) > 0".to_owned(), any("o.total > 10")),
    ];
    for (first, second) in apart {
        check_order(&first, &second, &[]);
    }
}

#[test]
fn quantifiers_that_exclude_each_other_are_found() {
    let one = |condition: &str, expected: &[&str]| {
        check(&format!("route one when {condition} -> a\ndefault -> d"), expected);
    };
    let any = "(any i in items: i.price > 5)";
    one(&format!("{any} and all i in items: i.price < 3"), &[&format!("W0210 `{any}`")]);
    one(&format!("{any} and not (any i in items: i.price > 1)"), &[&format!("W0210 `{any}`")]);
    one(&format!("{any} and len(items) == 0"), &[&format!("W0210 `{any}`")]);
    one(&format!("{any} and len(items) < 1"), &[&format!("W0210 `{any}`")]);
    one(&format!("{any} and (count i in items: i.price > 1) == 0"), &[&format!("W0210 `{any}`")]);
    one(&format!("{any} and items is missing"), &[&format!("W0210 `{any}`")]);
    one(&format!("{any} and len(items) > 0"), &["W0209 `len(items) > 0`"]);
    one(&format!("{any} and all i in items: i.price < 30"), &[]);
    one(&format!("{any} and any i in items: i.price < 3"), &[]);
    one(&format!("{any} and len(items) == 1"), &[]);
}

#[test]
fn a_route_of_an_intent_that_others_take_is_hidden() {
    let intents = "intent refund { keywords [\"refund\"] examples [\"I want my money back\"] }\n\
                   intent invoice { keywords [\"invoice\"] examples [\"send me the invoice\"] }\n";
    let both = "request.intent in [\"refund\", \"invoice\"]";
    let refund = "request.intent == \"refund\"";
    let order = |priority: i64, first: &str, second: &str, expected: &[&str]| {
        let text = format!(
            "{intents}route one when {first} -> a\nroute two priority {priority} when {second} -> b\n\
             default -> d"
        );
        check(&text, expected);
    };
    order(2, refund, both, &[&format!("W0213 `{refund}`")]);
    order(
        -1,
        both,
        &format!("{refund} and text contains \"now\""),
        &[&format!("W0213 `{refund} and text contains \"now\"`")],
    );
    order(-1, refund, both, &[]);
    order(-1, both, "request.intent == \"refund\" or text == \"x\"", &[]);
    let host = "extern fn score(text: string) -> float\n";
    let text = |first: &str, second: &str| {
        format!("{host}route one when {first} -> a\nroute two when {second} -> b\ndefault -> d")
    };
    check(&text("score(text) > 0.5", "score(text) > 0.9"), &["W0213 `score(text) > 0.9`"]);
    check(&text("score(text) > 0.9", "score(text) > 0.5"), &[]);
    check(&text("score(text) > 0.5", "score(lower(text)) > 0.9"), &[]);
}

#[test]
fn parts_of_payload_rules_that_never_hold_together_are_found() {
    let one = |rule: &str, expected: &[&str]| {
        let fields = "amount: number; items: list<{ price: number }>; note?: string";
        check(&format!("payload pay {{ {fields}; {rule} }}"), expected);
    };
    let any = "any i in items: i.price >= 0";
    let empty = "len(items) == 0";
    let found = format!("W0210 `{empty}`");
    one(&format!("forbid \"a\" at items when {empty} and {any}"), &[&found]);
    one(&format!("require \"a\" at items: {empty} and {any}"), &[&found]);
    one(&format!("require \"a\" at items when {empty} and {any}: amount > 5"), &[&found]);
    one(
        "forbid \"a\" at note when note starts_with \"a\" and note == \"b\"",
        &["W0210 `note starts_with \"a\"`"],
    );
    one(&format!("forbid \"a\" at items when {empty} and amount > 5"), &[]);
    one(&format!("require \"a\" at items when {empty}: not ({any})"), &[]);
    one("require \"a\" at amount: amount > 5 or amount < 3", &[]);
    one("require \"a\" at note when note is present: note != \"\"", &[]);
}

#[test]
fn an_import_for_its_routes_is_found() {
    let imported = |main: &str, other: &str, expected: &[&str]| {
        let found = findings(&MemoryLoader::new().with("main.rules", main).with("vip.rules", other));
        let found: Vec<&str> = found.iter().map(|(finding, _)| finding.as_str()).collect();
        assert_eq!(found, expected, "{main}");
    };
    let import = "import \"vip.rules\"\n";
    let vip = "input { text: string }\nhandler vip_desk()\nroute vip when text == \"vip\" -> vip_desk\n";
    let route = "input { text: string }\nroute other when text == \"x\" -> ";
    let found: &[&str] = &["W0106 `\"vip.rules\"`"];
    imported(&format!("{import}{route} desk\ndefault -> desk\nhandler desk()"), vip, found);
    imported(&format!("{import}default -> desk\nhandler desk()\ninput {{ text: string }}"), vip, found);
    let with_table = format!("{vip}table more {{ default -> vip_desk }}");
    imported(&format!("{import}{route} vip_desk\ndefault -> vip_desk"), vip, &[]);
    imported(&format!("{import}{route} goto more\ndefault -> desk\nhandler desk()"), &with_table, &[]);
    let with_list = format!("{vip}list words = [\"a\"]");
    let uses = "route more when text contains any words -> desk\ndefault -> desk\nhandler desk()";
    imported(&format!("{import}{uses}"), &with_list, &[]);
    imported(
        &format!("{import}route a when text == \"x\" -> desk\nhandler desk()\ndefault -> desk"),
        vip,
        &[],
    );
}

#[test]
fn misplaced_anchors_are_explained() {
    let one = |pattern: &str, expected: &str| {
        let text = format!("route one when text matches r\"{pattern}\" -> a\ndefault -> d");
        let found = findings(&MemoryLoader::new().with("main.rules", text));
        let help = found.iter().find(|(finding, _)| finding.starts_with("W0201")).map(|(_, help)| &**help);
        assert!(help.is_some_and(|help| help.starts_with(expected)), "{pattern}: {found:?}");
    };
    one("$refund^", "`^` is the start of the text, and `$` its end: write `r\"^refund$\"`");
    one("$refund", "`$` is the end of the text, so nothing follows it");
    one("price $\\d+", "`$` is the end of the text, so nothing follows it");
    one("refund^", "`^` is the start of the text, so nothing comes before it");
    one("(a)(^b)", "`^` is the start of the text, so nothing comes before it");
}
