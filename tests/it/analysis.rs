//! Compares the findings of `Rules::analyse` with brute force, on random small programs.
//!
//! Brute force tries every input over a domain that covers all cases the programs can distinguish.
//! If some input contradicts a finding, the finding is a false alarm. The witness of a finding is
//! an input that must show what the finding says. The test prints, for each kind of fact, how many
//! of the facts that brute force finds the analysis also finds.

use crate::support::held::{Shares, check_seed};
use crate::support::random::Random;
use crate::support::small::program;
use crate::support::trials::{run_trials, seeds};
use rulec::{AnalysisOptions, Code, Finding, Rules};
use std::path::Path;

const PROGRAMS: u64 = 1_400;

#[test]
fn findings_are_those_of_brute_force() {
    let shares = run_trials(
        seeds(PROGRAMS),
        |seed, shares: &mut Shares| check_seed(seed, &program(&mut Random::new(seed)), shares),
        |shares, other| {
            for (kind, (all, seen)) in other {
                let sum = shares.entry(kind).or_default();
                *sum = (sum.0 + all, sum.1 + seen);
            }
        },
    );
    for (kind, (all, seen)) in &shares {
        println!("{kind}: {seen} of {all} seen ({:.1}%)", 100.0 * *seen as f64 / (*all).max(1) as f64);
        let least = if kind.ends_with("functions") { 60 } else { 98 };
        assert!(*seen * 100 >= *all * least, "of `{kind}` too few are seen: {seen} of {all}");
    }
}

/// Returns the code and the underlined text of each finding, with its witness input.
fn find_codes(text: &str) -> Vec<String> {
    let rules = Rules::from_text(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let shown = |finding: &Finding| {
        let span = finding.diagnostic.span().expect("a place");
        let witness = finding.witness.as_ref().map_or_else(String::new, |witness| format!(" by {witness}"));
        format!("{} `{}`{witness}", finding.diagnostic.code, &text[span.range()])
    };
    rules.analyse().iter().map(shown).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(find_codes(text), expected, "{text}");
}

/// Checks conditions in arguments that never hold where the route is chosen. A handler may need a
/// field, a presence test or a named condition, although the route makes it constant.
#[test]
fn conditions_of_arguments_that_never_hold_are_found() {
    let one = |arguments: &str, expected: &[&str]| {
        let text = format!(
            "input {{ count: int, vip: bool, role?: string }}\nlet is_many = count > 100\n\
             route one when count < 10 and not vip and role is missing -> h({arguments})\ndefault -> d"
        );
        check(&text, expected);
    };
    one("many: count > 100", &["W0210 `count > 100`"]);
    one("many: (count > 100) ?? false", &["W0210 `(count > 100)`"]);
    one("many: count > 50 or count == 20", &["W0210 `count > 50 or count == 20`"]);
    one(
        "level: if count > 50 then \"a\" else if vip then \"b\" else \"c\"",
        &["W0210 `count > 50`", "W0210 `vip`"],
    );
    one(
        "late: hour(\"2026-01-01T00:00:00Z\" as datetime) == 3 and count > 5 and count < 5",
        &["W0210 `count > 5`"],
    );
    one("many: count > 5, few: count < 50, level: if count < 50 then 1 else 2", &[]);
    one("vip: vip, known: role is present, many: is_many, n: count", &[]);
}

/// Checks mistakes of new authors that the analysis once accepted without a finding.
#[test]
fn mistakes_of_new_authors_are_found() {
    let one = |condition: &str, expected: &[&str]| {
        check(&format!("route one when {condition} -> h\ndefault -> d"), expected);
    };
    one("n > 5 and n < 3", &["W0210 `n > 5`"]);
    one(r#"role == "a" and role == "b""#, &[r#"W0210 `role == "a"`"#]);
    one("n in 5..1", &["W0211 `n in 5..1`"]);
    one("hour(at as datetime) == 24", &["W0212 `hour(at as datetime) == 24`"]);
    one("(count x in l: x) < 1 and (count x in l: x) > -1", &["W0209 `(count x in l: x) > -1`"]);
    one(r#"lower(text) == "ABC""#, &[r#"W0212 `lower(text) == "ABC"`"#]);
    one("n > 3 and n > 5", &["W0209 `n > 3`"]);
    one("n > 3 or n > 5", &["W0209 `n > 5`"]);
    // A blank in a text is no reason for this finding.
    one(r#"n > 5 and (role == "admin " or role is present)"#, &[r#"W0209 `role == "admin "`"#]);
    one(r#"text contains "refund" and text contains "fun""#, &[r#"W0209 `text contains "fun"`"#]);
    one(r#"text contains "a" and not (text contains any ["a", "b"])"#, &[r#"W0210 `text contains "a"`"#]);
    one(r#"text matches "^a+$" and text contains "b""#, &[r#"W0210 `text matches "^a+$"`"#]);
    one(r#"tags contains "x" and tags contains none ["x", "y"]"#, &[r#"W0210 `tags contains "x"`"#]);
    one("ctx.user is missing and ctx.user.role == \"a\"", &["W0210 `ctx.user is missing`"]);
    one("n is present and n > 3", &[]);
    let night = r#"time(at as datetime, "UTC") in "22:00".."6:00""#;
    one(night, &[]);
    let day = r#"time(at as datetime, "UTC") in "9:00".."17:00""#;
    one(&format!("{night} and {day}"), &[&*format!("W0210 `{night}`")]);
    let (after, before) =
        (r#"date(at as datetime, "UTC") > "2026-01-05""#, r#"date(at as datetime, "UTC") < "2026-01-06""#);
    one(&format!("{after} and {before}"), &[&*format!("W0210 `{after}`")]);
    one(r#"text in "22:30".."06:15""#, &[r#"W0211 `text in "22:30".."06:15"`"#]);
}

#[test]
fn routes_hidden_by_one_or_several_are_found() {
    let rest = "\ndefault -> d";
    check(&format!("route wide when n > 1 -> a\nroute some when n > 2 -> b{rest}"), &["W0213 `n > 2`"]);
    check(
        &format!(
            "route low when n < 5 -> a\nroute high when n >= 5 -> b\nroute three when n == 3 or n == 7 -> c{rest}"
        ),
        &["W0213 `n == 3 or n == 7`"],
    );
    // Neither of the first two routes matches a missing `n`.
    check(
        &format!(
            "route low when n < 5 -> a\nroute high when n >= 5 -> b\nroute rest when n is missing -> c{rest}"
        ),
        &[],
    );
    // A `goto` into a table may select nothing.
    check(
        &format!(
            "route jump when n > 1 -> goto t\nroute some when n > 2 -> b{rest}\ntable t {{ route x when text == \"x\" -> c }}"
        ),
        &[],
    );
    check(
        &format!(
            "route jump when n > 1 -> goto t\nroute some when n > 2 -> b{rest}\ntable t {{ default -> c }}"
        ),
        &["W0213 `n > 2`"],
    );
    // A `goto` may select a route for the message tried and nothing for another message.
    check(
        &format!(
            "route jump when n > 1 -> goto t\nroute some when n > 2 -> b{rest}\ntable t {{ route x when n < 10 -> c }}"
        ),
        &[],
    );
    // If the `goto` of one route may select nothing, a second route that it covers stays reachable.
    check(
        &format!(
            "route jump when n > 1 -> goto t\nroute some when n > 0 -> b{rest}\ntable t {{ route x when n > 5 -> c }}"
        ),
        &[],
    );
    check(
        "choice c { default branch rest  branch some { s.n > 2 }  branch more { s.n > 1 } }",
        &["W0213 `branch some { s.n > 2 }`"],
    );
}

#[test]
fn inputs_that_fall_through_are_shown() {
    check("route one when n > 3 -> h", &["W0216 `route one when n > 3 -> h` by {}"]);
    check(
        "input { staff?: bool }\nroute guests when not staff -> h\ndefault -> d",
        &["W0215 `not staff` by {}"],
    );
    let guarded =
        "input { staff?: bool }\nroute guests when staff is missing or not staff -> h\ndefault -> d";
    check(guarded, &[]);
    check(
        "input { text: string, staff?: bool }\nroute guests when text == \"a\" unless staff -> h\ndefault -> d",
        &[],
    );
}

/// Regression: the example message of a finding violated the declared `input`. So routes that match
/// all valid messages seemed to leave a gap.
#[test]
fn gaps_among_promised_messages_are_apart_from_others() {
    let rules = |input: &str, second: &str| {
        format!("input {{ {input} }}\nroute low when credit < 610 -> a\nroute high when {second} -> b")
    };
    let check = |input: &str, second: &str, expected: &str| {
        assert_eq!(find_codes(&rules(input, second)), [expected], "{input} {second}");
    };
    check("credit: number", "credit > 610", r#"W0216 `route high when credit > 610 -> b` by {"credit":610}"#);
    check("credit: number", "credit >= 610", "W0220 `route high when credit >= 610 -> b` by {}");
    check("credit?: number", "credit >= 610", "W0216 `route high when credit >= 610 -> b` by {}");
    let complete = Rules::from_text(&rules("credit: number", "credit >= 610")).expect("it is right");
    let help = complete.analyse()[0].diagnostic.help.clone().map(|help| help.to_string());
    assert!(
        help.is_some_and(|help| help.starts_with("every message that keeps the promise matches a route"))
    );
    assert!(
        Rules::from_text(&(rules("credit: int", "credit >= 610") + "\ndefault -> c"))
            .is_ok_and(|rules| rules.analyse().is_empty())
    );
    // Without the optional record, its required fields may be missing too.
    let nested = |last: &str| {
        format!(
            "input {{ user?: {{ role: string }}, n: int }}\nroute a when n > 1 and user.role == \"a\" -> a\n\
            route b when n > 1 and user is present -> b\nroute c when n <= 1 -> c{last}"
        )
    };
    assert_eq!(find_codes(&nested("")), [r#"W0216 `route c when n <= 1 -> c` by {"n":2}"#]);
    let last = "\nroute d when user is missing and n > 1 -> d";
    assert_eq!(find_codes(&nested(last)), [r#"W0220 `route d when user is missing and n > 1 -> d` by {}"#]);
}

/// Regression: routes to the same handler were not compared, even if they gave it other arguments.
/// Decision tables consist of such routes, so they were not checked.
#[test]
fn ties_compare_the_arguments_and_metadata_of_a_handler() {
    let ties = |routes: &str| -> Vec<String> {
        let rules = Rules::from_text(&format!("input {{ n: int, m: int }}\n{routes}\ndefault -> d"));
        let found =
            rules.expect("the rules are right").analyse_with(AnalysisOptions::default().strict_ties(true));
        let ties = found.iter().filter(|finding| finding.diagnostic.code == Code::EqualPriority);
        ties.map(|tie| tie.witness.as_ref().expect("it has a message").to_string()).collect()
    };
    let pair = |a: &str, b: &str| ties(&format!("route a when n < 5 -> h{a}\nroute b when m > 2 -> h{b}"));
    assert_eq!(pair("(x: 1)", "(x: 2)"), [r#"{"m":3,"n":4}"#]);
    assert_eq!(pair("(x: 1)", "(x: 1)"), [""; 0]);
    assert_eq!(pair(" { q: 1 }", " { q: 2 }").len(), 1);
    assert_eq!(pair("(x: 1)", "(y: 1)").len(), 1);
    assert_eq!(pair("(x: n)", "(x: n)"), [""; 0]);
    // The arguments must differ for the message that is shown.
    let shown = pair("(x: n)", "(x: m)");
    assert_eq!(shown.len(), 1);
    let shown: serde_json::Value = serde_json::from_str(&shown[0]).expect("it is a message");
    assert_ne!(shown["n"], shown["m"]);
    assert_eq!(ties("route a when n == 3 and m == 3 -> h(x: n)\nroute b when n > 2 -> h(x: m)"), [""; 0]);
}

#[test]
fn networks_and_versions_are_compared() {
    let one = |condition: &str, expected: &[&str]| {
        check(&format!("route one when {condition} -> h\ndefault -> d"), expected);
    };
    one(
        r#"ip in_network "10.0.0.0/8" and ip in_network "192.168.0.0/16""#,
        &[r#"W0210 `ip in_network "10.0.0.0/8"`"#],
    );
    one(
        r#"ip in_network "10.0.0.0/8" and ip in_network "10.0.0.1/8""#,
        &[r#"W0209 `ip in_network "10.0.0.1/8"`"#],
    );
    one(r#"version(v) >= "1.10" and version(v) < "1.9""#, &[r#"W0210 `version(v) >= "1.10"`"#]);
    one(r#"version(v) > "1.2.3" and version(v) < "1.2.4""#, &[]);
    one(r#"version(v) > "1.2.3" and version(v) < "1.2.4-0""#, &[r#"W0210 `version(v) > "1.2.3"`"#]);
    let two = |first: &str, second: &str, expected: &[&str]| {
        check(&format!("route a when {first} -> a\nroute b when {second} -> b\ndefault -> d"), expected);
    };
    two(
        r#"ip in_network "10.0.0.0/8""#,
        r#"ip in_network "10.1.0.0/16""#,
        &[r#"W0213 `ip in_network "10.1.0.0/16"`"#],
    );
    two(r#"ip in_network "10.1.0.0/16""#, r#"ip in_network "10.0.0.0/8""#, &[]);
    two(r#"ip in_network "0.0.0.0/0""#, r#"ip == "10.0.0.1""#, &[r#"W0213 `ip == "10.0.0.1"`"#]);
    // An IPv4 address in IPv6 form is in networks of both kinds.
    two(r#"ip in_network "::ffff:0:0/96""#, r#"ip in_network "10.0.0.0/8""#, &[]);
    two(r#"version(v) >= "1.2""#, r#"version(v) == "2.0""#, &[r#"W0213 `version(v) == "2.0"`"#]);
}

#[test]
fn quantifiers_over_elements_are_compared_with_membership() {
    let two = |first: &str, second: &str, expected: &[&str]| {
        let input = "input { tags: list<string> }";
        check(
            &format!("{input}\nroute a when {first} -> a\nroute b when {second} -> b\ndefault -> d"),
            expected,
        );
    };
    let (any, contains) = (r#"any x in tags: x == "a""#, r#"tags contains "a""#);
    let hidden = |condition: &str| format!("W0213 `{condition}`");
    two(any, contains, &[&hidden(contains)]);
    two(contains, any, &[&hidden(any)]);
    two(r#"any x in tags: x in ["a", "b"]"#, contains, &[&hidden(contains)]);
    let all = r#"all x in tags: x != "a""#;
    two(r#"tags not contains "a""#, all, &[&hidden(all)]);
    // A list with a number contains no "a", but not all of its elements differ from "a".
    two(all, r#"tags not contains "a""#, &[]);
}

#[test]
fn fields_that_are_probably_misspelt_are_found() {
    let tiers = "route gold when ctx.tier == \"gold\" -> a\nroute silver when ctx.tier == \"silver\" -> b\n";
    let rest = |condition: &str| format!("{tiers}route rest when {condition} -> c\ndefault -> d");
    check(&rest("ctx.teir == \"bronze\""), &["W0222 `ctx.teir`"]);
    check(&rest("ctx.tiers contains \"bronze\""), &[]);
    check(&rest("ctx.teir > 3"), &[]);
    check(&rest("ctx.region == \"bronze\""), &[]);
    check(&(rest("ctx.teir == \"x\"") + "\ntest \"t\" { given ctx = { teir: \"x\" } expect rest }"), &[]);
    // Both names are read once. Only a slip inside a name is certain enough.
    let twice = |first: &str, second: &str| {
        format!("route one when {first} == \"x\" -> a\nroute two when {second} == \"y\" -> b\ndefault -> c")
    };
    check(&twice("ctx.status", "ctx.staus"), &["W0222 `ctx.staus`"]);
    check(&twice("ctx.amount", "ctx.amuont"), &["W0222 `ctx.amuont`"]);
    check(&twice("ctx.count", "ctx.county"), &[]);
    check(&twice("ctx.data", "ctx.date"), &[]);
    check(&twice("ctx.price", "ctx.prize"), &[]);
    let declared =
        format!("input {{ ctx: {{ tier: string, teir: string }} }}\n{}", rest("ctx.teir == \"x\""));
    check(&declared, &[]);
}

#[test]
fn equal_priorities_and_unused_declarations_are_found() {
    check(
        "route a priority 10 when n > 5 -> a\nroute b priority 10 when n > 3 -> b\ndefault -> d",
        &[r#"W0214 `n > 5` by {"n":6}"#],
    );
    check("route a when n > 5 -> a\nroute b when n > 3 -> b\ndefault -> d", &[]);
    check("handler a()\nhandler b()\nroute one when n > 5 -> a\ndefault -> a", &["W0103 `b`"]);
    check("route one when n > 5 -> a\ndefault -> a\ntable t { default -> a }", &["W0103 `t`"]);
    check(
        "route one when n > 5 -> a\ndefault -> a\ntest \"x\" { given n = 6 expect one }\ntest \"x\" { given n = 1 expect default }",
        &["W0104 `\"x\"`"],
    );
}

#[test]
fn comments_allow_findings_and_must_be_of_use() {
    check("# rulec: allow W0210 a joke\nroute one when n > 5 and n < 3 -> h\ndefault -> d", &[]);
    check(
        "# rulec: allow W0210 a joke\nroute one when n > 5 -> h\ndefault -> d",
        &["W0003 `# rulec: allow W0210 a joke`"],
    );
}

/// A compiler warning suppresses a finding only if both have the same span and the same code.
#[test]
fn warnings_of_compiling_hide_no_findings_of_their_own() {
    check(
        "route one when 1 > 2 -> a\nroute two when not (n > 3 or n <= 3) -> b\ndefault -> d",
        &["W0201 `not (n > 3 or n <= 3)`"],
    );
    let name = "p\u{430}ypal";
    check(
        &format!("handler a()\nhandler {name}()\nroute one when n > 5 -> a\ndefault -> a"),
        &[&format!("W0103 `{name}`")],
    );
}

/// The cost of an extern function is unknown, so it is counted as a call. The text analysis for
/// `request` is counted in steps.
#[test]
fn calls_of_functions_of_the_program_are_counted_apart() {
    let compiler = rulec::Compiler::new().allow_missing_functions();
    let source = "extern fn f(a: string) -> int\nintent refund { examples [\"money back\"] }\n\
                  route a when f(text) > 3 and f(other) > 3 -> a\nroute b when request.intent == \"refund\" -> b";
    let cost = compiler.compile_text(source).expect("it compiles").cost().remove(0);
    let of = |name: &str| cost.statements.iter().find(|one| one.name == name).expect("a statement");
    assert_eq!((of("a").calls, of("a").steps), (2, 4));
    assert_eq!(of("b").calls, 0);
    assert!(of("b").steps > 1_000_000, "{cost:?}");
    assert_eq!((cost.calls, cost.steps), (2, 4 + of("b").steps));
}

#[test]
fn fields_and_imports_that_nothing_uses_are_found() {
    let rest = "route one when n > 5 -> a\ndefault -> a";
    check(&format!("input {{ n: int, m: int }}\n{rest}"), &["W0105 `m: int`"]);
    // One finding reports the outermost unread fields, `o.q` and `r`. A field that is partly read
    // counts as read.
    check(
        &format!(
            "input {{ n: int, o: {{ p: int, q: int }}, r: {{ s?: int }} }}\n{rest}\nroute two when o.p == 1 -> b"
        ),
        &["W0105 `q: int`"],
    );
    check(
        &format!(
            "input {{ n: int, phone: string @private, whole: any }}\n{rest}\nroute two when whole.x == 1 -> b"
        ),
        &[],
    );
    check(&format!("# rulec: allow W0105 a joke\ninput {{ n: int, m: int }}\n{rest}"), &[]);
    let files = |main: &str, other: &str| {
        let loader = rulec::MemoryLoader::new().with("main.rules", main).with("b.rules", other);
        let rules = rulec::Compiler::new().compile_with(&loader, "main.rules").expect("it compiles");
        rules.analyse().iter().map(|finding| finding.diagnostic.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(files(&format!("import \"b.rules\"\n{rest}"), "let big = n < 2"), ["W0106"]);
    assert!(
        files(&format!("import \"b.rules\"\n{rest}\nroute two when big -> b"), "let big = n < 2").is_empty()
    );
    assert!(files(&format!("import \"b.rules\"\n{rest}"), "handler a()\nlet big = n > 9").is_empty());
}

#[test]
fn branches_that_win_without_a_condition_are_found() {
    let choice = |input: &str, conditions: &str| {
        format!("input {{ {input} }}\nchoice c {{ default branch rest  branch some {{ {conditions} }} }}")
    };
    check(&choice("s?: string, n: int", "s == \"paid\"; n > 0"), &[r#"W0217 `s == "paid"` by {"n":1}"#]);
    check(&choice("s: string, n: int", "s == \"paid\"; n > 0"), &[]);
    check(
        &choice("s: any, n: int", "s as string == \"paid\"; n > 0"),
        &[r#"W0217 `s as string == "paid"` by {"n":1}"#],
    );
    check(&choice("s: string, n: int", "s as string == \"paid\"; n > 0"), &[]);
    check(&choice("s?: string, n: int", "s is present; s == \"paid\"; n > 0"), &[]);
}

/// Texts are compared in normalized form, so rules that spell a text differently do not contradict.
#[test]
fn normalized_texts_are_no_contradiction() {
    let source = "settings { normalize: nfkc }\nroute one when text starts_with \"Ａx\" and text starts_with \"Axy\" \
                  and text ends_with \"Ｂ\" -> h\ndefault -> d";
    check(source, &[]);
    let rules = Rules::from_text(source).expect("it compiles");
    assert_eq!(rules.decide(&serde_json::json!({"text": "AxyB"})).chosen(), Some("one"));
}

/// A finding about a constant that a function never returns also lists the values that the function
/// can return.
#[test]
fn values_that_functions_never_give_are_told() {
    for (condition, help) in [
        ("hour(at) == 24", "`hour` gives 0 to 23"),
        ("60 == minute(at)", "`minute` gives 0 to 59"),
        ("weekday(at) == 0", "`weekday` gives 1 for Monday to 7 for Sunday"),
        ("day(at) == 32", "`day` gives 1 to 31"),
        ("month(at) == 13", "`month` gives 1 to 12"),
        ("bucket(user, \"s\") == 100", "`bucket` gives 0 to 99"),
        ("len(user) < 0", "`len` is never below 0"),
        ("abs(n) < 0", "`abs` is never below 0"),
    ] {
        let input = "input { at: datetime, user: string, n: int }";
        let rules = Rules::from_text(&format!("{input}\nroute one when {condition} -> h\ndefault -> d"));
        let found = rules.unwrap_or_else(|error| panic!("{condition}: {error}")).analyse();
        let told = found.iter().any(|finding| finding.diagnostic.message.as_str().contains(help));
        assert!(told, "{condition}: {found:#?}");
    }
}

/// Routes that one message can both match are reported only in the mode `strict_ties`.
#[test]
fn strict_ties_are_found_where_they_are_asked_for() {
    let text = "route a when n > 5 -> a\nroute b when m > 3 -> b\ndefault -> d";
    check(text, &[]);
    let options = rulec::AnalysisOptions::default().strict_ties(true);
    let rules = Rules::from_text(text).expect("it compiles");
    let found = rules.analyse_with(options);
    assert_eq!(found[0].diagnostic.code, Code::EqualPriority);
    assert_eq!(rules.main().matched(found[0].witness.as_ref().expect("a message")), ["a", "b"]);
    let apart = Rules::from_text("route a when n > 5 -> a\nroute b when n < 3 -> b\ndefault -> d")
        .expect("it compiles");
    assert!(apart.analyse_with(options).is_empty());
}

/// A table is entered by `goto` only. A route that holds for none of the messages that enter the
/// table is never chosen.
#[test]
fn routes_that_no_goto_reaches_are_found() {
    let table = |entry: &str, route: &str, expected: &[&str]| {
        let rest = "default -> d\ntable t {\n  route inner when ";
        check(&format!("{entry}\n{rest}{route} -> h\n  default -> h\n}}"), expected);
    };
    table("route big when n > 100 -> goto t", "n < 50", &["W0213 `n < 50`"]);
    table("route big when n > 100 -> goto t", "n > 500", &[]);
    table("route big when n > 100 -> goto t\nroute low when n < 9 -> goto t", "n < 5", &[]);
    table(
        "route big when n > 100 -> goto t\nroute low when n < 9 -> goto t",
        "n == 50",
        &["W0213 `n == 50`"],
    );
    // A message without the field enters the table, too.
    table("route big when n > 100 or n is missing -> goto t", "m < 50", &[]);
}

#[test]
fn a_handler_with_the_name_of_a_table_is_found() {
    let rest = "default -> d\ntable t {\n  default -> h\n}";
    check(&format!("route a when n > 3 -> t\n{rest}"), &["W0103 `route a when n > 3 -> t`"]);
    check(&format!("route a when n > 3 -> goto t\n{rest}"), &[]);
}

#[test]
fn an_empty_range_over_the_end_of_a_cycle_is_explained() {
    let rules =
        Rules::from_text("route night when ctx.hour in 22..6 -> h\ndefault -> d").expect("right rules");
    let finding = rules.analyse().into_iter().next().expect("a finding");
    let help = finding.diagnostic.help.as_deref().unwrap_or_default().to_owned();
    assert!(help.contains("`(ctx.hour >= 22 or ctx.hour < 6)`"), "{help}");
}

/// Regression test: the vote on the page did not name its voters, which is a warning.
#[test]
fn the_workflow_on_the_page_of_statements_has_no_warning() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/statements.md");
    let page = std::fs::read_to_string(page).expect("the page can be read");
    let row = page.lines().find(|line| line.starts_with("| `workflow` |")).expect("a row on workflows");
    let example = row.rsplit('`').nth(1).expect("an example");
    let rules = Rules::from_text(example).expect("the example compiles");
    assert_eq!(rules.warnings().iter().map(|warning| warning.code).collect::<Vec<_>>(), [], "{example}");
}
