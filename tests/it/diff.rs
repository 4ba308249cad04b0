//! Compares `Rules::diff` with brute force, on random small programs and their mutants. If some
//! input distinguishes a program and its mutant, `diff` must report a difference and a message that
//! shows the difference. The verdict "proven the same" is allowed only if no input distinguishes
//! them.

use crate::support::random;
use crate::support::small;
use crate::support::trials;
use random::Random;
use rulec::Rules;
use rulec::diff::{ChangeKind, Verdict, answer};
use serde_json::Value as Json;
use small::{Field, Program, Route, condition, is_plain, program};

const PROGRAMS: u64 = 250;

fn rules(text: &str) -> Rules {
    Rules::from_text(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Applies one random edit to the program. Some edits change only the spelling.
fn mutate_program(random: &mut Random, program: &mut Program) {
    let fields: Vec<&Field> = program.fields.iter().collect();
    let fresh = condition(random, &fields, 2);
    let (one, other) = (random.below(program.routes.len()), random.below(program.routes.len()));
    let several = program.routes.len() > 1;
    let target = program.routes[other].target.clone();
    let route = &mut program.routes[one];
    let own = route.condition.clone();
    match random.below(14) {
        0 => route.condition = fresh,
        1 => route.condition = own.replacen('2', "3", 1),
        2 => route.condition = own.replacen(" < ", " <= ", 1).replacen(" > ", " >= ", 1),
        3 => route.condition = own.replacen(" and ", " or ", 1),
        4 => route.condition = format!("not (not ({own}))"),
        5 => route.condition = format!("({own}) and (({own}) or ({fresh}))"),
        6 => route.condition = format!("(({own}) and ({fresh})) or (({own}) unless ({fresh}))"),
        7 => {
            route.target =
                ["h0", "other", "h1(x: n)", "h1(x: n ?? 1)", "h1 { a: 1 }"][random.below(5)].to_owned()
        }
        8 => route.name = "renamed".to_owned(),
        9 => program.routes.swap(one, other),
        10 if several => drop(program.routes.remove(one)),
        11 => {
            let name = "added".to_owned();
            program.routes.insert(one, Route { name, priority: None, condition: fresh, target });
        }
        12 => route.priority = Some(random.below(3)),
        _ => program.default = random.chance(50).then(|| "h0".to_owned()),
    }
}

/// Returns the parts of the decision that a service acts on.
fn acted_decision(rules: &Rules, message: &Json) -> Json {
    answer(&serde_json::to_value(rules.decide(message)).expect("a decision is JSON"))
}

/// Counts of pairs of programs. The first two count pairs whose answers differ, and those for which
/// `diff` finds the difference. The last two count pairs whose answers agree, and those for which
/// `diff` proves it. Element 0 counts programs without function calls, element 1 the others.
#[derive(Default)]
struct Shares {
    differ: [usize; 2],
    found: [usize; 2],
    agree: [usize; 2],
    proven: [usize; 2],
}

fn check_seed(seed: u64, shares: &mut Shares) {
    let mut random = Random::new(seed);
    let mut own = program(&mut random);
    let before = own.text();
    for _ in 0..=random.below(3) {
        mutate_program(&mut random, &mut own);
    }
    // Route names must be unique.
    let mut seen = std::collections::HashSet::new();
    own.routes.retain(|route| seen.insert(route.name.clone()));
    let after = own.text();
    let (old, new) = (rules(&before), rules(&after));
    let diff = old.diff(&new);
    let differs = own.inputs.iter().any(|input| acted_decision(&old, input) != acted_decision(&new, input));
    let verdict = diff.verdict();
    let context = format!("seed {seed}\n{before}---\n{after}---\n{diff:#?}");
    let examples = diff.entries.iter().flat_map(|entry| &entry.changes).flat_map(|change| &change.examples);
    for example in examples.clone() {
        assert_ne!(
            acted_decision(&old, &example.message),
            acted_decision(&new, &example.message),
            "{context}"
        );
    }
    assert_eq!(examples.count() > 0, verdict == Verdict::Different, "{context}");
    assert!(!(differs && verdict == Verdict::Same), "some message is answered otherwise: {context}");
    let kind = usize::from(!is_plain(&format!("{before}{after}")));
    assert!(kind > 0 || !differs || verdict == Verdict::Different, "the difference was missed: {context}");
    shares.differ[kind] += usize::from(differs);
    shares.found[kind] += usize::from(differs && verdict == Verdict::Different);
    shares.agree[kind] += usize::from(!differs && verdict != Verdict::Different);
    shares.proven[kind] += usize::from(verdict == Verdict::Same);
}

#[test]
fn differences_are_those_of_brute_force() {
    let mut shares = Shares::default();
    trials::seeds(PROGRAMS).for_each(|seed| check_seed(seed, &mut shares));
    for (kind, name) in ["plain", "with functions"].into_iter().enumerate() {
        let Shares { differ, found, agree, proven } = &shares;
        println!("{name}: {} of {} differences found", found[kind], differ[kind]);
        println!("{name}: {} of {} without one proven", proven[kind], agree[kind]);
        let least = [98, 60][kind];
        assert!(proven[kind] * 100 >= agree[kind] * least, "{name}: too few are proven");
        assert!(found[kind] * 100 >= differ[kind] * [100, 90][kind], "{name}: too few are found");
    }
}

/// Formats each change as its kind, name and example message.
fn diff_changes(before: &str, after: &str) -> Vec<String> {
    let diff = rules(before).diff(&rules(after));
    let all = diff.entries.iter().flat_map(|entry| &entry.changes);
    all.map(|change| {
        let shown: Vec<String> = change.examples.iter().map(|example| example.message.to_string()).collect();
        let was = change.was.as_ref().map_or_else(String::new, |was| format!(" was {was}"));
        format!("{:?} {}{was} {}", change.kind, change.route, shown.join(" ")).trim_end().to_owned()
    })
    .collect()
}

#[track_caller]
fn check(before: &str, after: &str, expected: &[&str], verdict: Verdict) {
    assert_eq!(diff_changes(before, after), expected, "{before}\n{after}");
    assert_eq!(rules(before).diff(&rules(after)).verdict(), verdict, "{before}\n{after}");
}

#[test]
fn spelling_is_no_difference() {
    let before = "let many = n > 5\nroute a when many and text contains \"x\" -> a\nroute b when n == 1 -> b\ndefault -> d";
    let after = "# now in one line\nroute b when n in [1] -> b\nroute a when not (n <= 5) and text like \"*x*\" -> a\ndefault -> d";
    assert_eq!(rules(before).diff(&rules(after)).verdict(), Verdict::Same);
    check("route a when n > 5 -> a", "route b when n > 5 -> a", &["Renamed b was a"], Verdict::Same);
}

#[test]
fn each_change_is_shown_by_a_message() {
    let before = "route a when n > 5 -> a\nroute b when n > 3 -> b\ndefault -> d";
    check(
        before,
        "route a when n > 4 -> a\nroute b when n > 3 -> b\ndefault -> d",
        &["Changed a {\"n\":5}"],
        Verdict::Different,
    );
    check(before, "route b when n > 3 -> b\ndefault -> d", &["Removed a {\"n\":6}"], Verdict::Different);
    check(
        before,
        "route b when n > 3 -> b\nroute a when n > 5 -> a\ndefault -> d",
        &["Moved b {\"n\":6}"],
        Verdict::Different,
    );
    check(before, &format!("{before}\nroute c when n == 1 -> c"), &["Added c {\"n\":1}"], Verdict::Different);
    // The new route comes after routes that match all of its messages, so it changes no decision.
    check(before, &format!("{before}\nroute c when n == 7 -> c"), &["Added c"], Verdict::Same);
    // A route may have the name that the comparison gives to "nothing is chosen".
    check(before, &format!("{before}\nroute nothing when n == 7 -> c"), &["Added nothing"], Verdict::Same);
    check(before, &before.replace("-> d", "-> e"), &["Changed default {}"], Verdict::Different);
    check(
        before,
        "route a when n > 5 -> a\nroute b when n > 3 -> b",
        &["Removed default {}"],
        Verdict::Different,
    );
}

#[test]
fn arguments_and_metadata_are_part_of_the_answer() {
    let before = "route a when n > 5 -> a(x: m ?? 1) { k: 1 }";
    check(
        before,
        "route a when n > 5 -> a(x: m ?? 2) { k: 1 }",
        &["Changed a {\"n\":6}"],
        Verdict::Different,
    );
    check(
        before,
        "route a when n > 5 -> a(x: m ?? 1) { k: 2 }",
        &["Changed a {\"n\":6}"],
        Verdict::Different,
    );
    // If the argument is present, both versions give the same answer.
    let found =
        rules("route a when m > 5 -> a(x: m ?? 1)").diff(&rules("route a when m > 5 -> a(x: m ?? 2)"));
    assert_eq!(found.verdict(), Verdict::Same, "{found:#?}");
}

/// Former bug: two answers that were equal for the first message tried were reported equal for all
/// messages. They differed in the value of a missing argument, in which argument was present, or in
/// the field that names the next node.
#[test]
fn answers_that_are_alike_for_one_message_may_differ_for_another() {
    // The first message tried has an `m` with the same value in both answers.
    let route = |handler: &str, call: &str| {
        format!(
            "{handler}\nroute a when n > 5 and (m == 3 or k is missing) and (m == 3 or l == 3) -> h({call})"
        )
    };
    let (required, optional) = ("handler h(x: int)", "handler h(x?: int)");
    let named = "handler h(x?: int, y?: int)";
    for (before, after) in [
        (route(required, "x: m ?? 1"), route(required, "x: m ?? 2")),
        (route(optional, "x: m"), route(required, "x: m ?? 1")),
        (route(optional, "x: m"), route(required, "x: m")),
        (route(required, "x: m"), route(optional, "x: m")),
    ] {
        check(&before, &after, &["Changed a {\"l\":3,\"n\":6}"], Verdict::Different);
    }
    // Here the first message has no `m`, so that neither answer has an argument.
    let gone = |call: &str| {
        format!("{named}\ninput {{ m?: int, k?: int, l?: int }}\nroute a when k is missing -> h({call})")
    };
    for (before, after) in [("x: m", ""), ("", "x: m"), ("x: m", "y: m"), ("x: m, y: l", "y: l")] {
        check(&gone(before), &gone(after), &["Changed a {\"m\":0}"], Verdict::Different);
    }
    // If the value is present, it does not matter whether the parameter is optional. If the value
    // is missing, it does not matter whether the call names the argument.
    let there = |handler: &str| format!("{handler}\nroute a when m > 5 -> h(x: m)");
    check(&there(optional), &there(required), &["Changed a"], Verdict::Same);
    let never = |call: &str| {
        format!("{named}\ninput {{ m?: int, n?: int }}\nroute a when m is missing and n > 5 -> h({call})")
    };
    check(&never("x: m"), &never(""), &["Changed a"], Verdict::Same);
    // Metadata is constant, so a difference in it changes every message.
    let metadata = |number: &str| format!("route a when n > 5 -> h {{ k: {number} }}");
    check(&metadata("1"), &metadata("1.0"), &["Changed a"], Verdict::Same);
    let next = |to: &str| {
        format!(
            "router r(output) {{ when output.to == \"a\" or output.k == 1 and output.to == \"b\" -> {to}  otherwise -> next }}"
        )
    };
    check(&next("\"a\""), &next("output.to"), &["Changed when 1"], Verdict::Undecided);
}

/// If nothing matches, a choice returns the empty branch, and other tables return nothing. Both
/// count as the same answer.
#[test]
fn nothing_is_the_same_answer_whatever_kind_of_table_gives_it() {
    let answers = ["choice c { branch some { s.n > 2 } }", "table c { route some when s.n > 2 -> some }"]
        .map(|text| {
            let rules = rules(text);
            let decision = rules.entry("c").expect("it is there").decide(&serde_json::json!({}));
            answer(&serde_json::to_value(decision).expect("a decision is JSON"))
        });
    assert_eq!(answers, [serde_json::json!({}), serde_json::json!({})]);
}

#[test]
fn tables_count_where_jumps_lead_to_them() {
    let table = "table t { route x when text contains \"x\" -> x  default -> y }";
    let before = format!("route jump when n > 1 -> goto t\ndefault -> d\n{table}");
    let flat = "route one when n > 1 and text contains \"x\" -> x\nroute two when n > 1 -> y\ndefault -> d";
    assert_eq!(rules(&before).diff(&rules(flat)).verdict(), Verdict::Same);
    let after = before.replace("\"x\"", "\"z\"");
    let found = diff_changes(&before, &after);
    assert!(found[0].starts_with("Changed jump → x {\"n\":"), "{found:?}");
}

#[test]
fn choices_routers_and_flows_are_compared() {
    let check = |before: &str, after: &str, expected: &str| {
        let found = diff_changes(before, after);
        assert!(found.iter().any(|change| change.starts_with(expected)), "{found:?}");
        assert!(rules(before).diff(&rules(before)).verdict() == Verdict::Same);
    };
    check(
        "choice c { default branch rest  branch some { s.n > 2 } }",
        "choice c { default branch rest  branch some { s.n > 3 } }",
        "Changed some {\"s\":{\"n\":3}}",
    );
    check(
        "router r(output) { when output.ok == true -> next[0]  otherwise -> next }",
        "router r(output) { when output.ok == true -> next[1]  otherwise -> next }",
        "Changed when 1",
    );
    check(
        "flow f \"f\" keyword contains [\"refund\"] -> \"f\"",
        "flow f \"f\" keyword contains [\"refund\", \"money\"] -> \"f\"",
        "Added f `money` {\"text\":",
    );
    // A removed choice has no branch to answer with.
    let found = rules("route a when n > 1 -> a\nchoice c { default branch rest }")
        .diff(&rules("route a when n > 1 -> a"));
    assert_eq!((found.verdict(), found.entries.len()), (Verdict::Different, 2));
    assert_eq!(found.entries[1].changes[0].kind, ChangeKind::Removed);
}

/// Flows that match by intent have no condition, so `diff` compares their intents and examples.
#[test]
fn flows_by_intent_are_compared_by_their_examples() {
    let flow = |name: &str, example: &str| {
        format!("flow {name} \"{name}\" intent examples [\"{example}\"] -> \"{name}\"\n")
    };
    let keyword = "flow kept \"kept\" keyword contains [\"refund\"] -> \"kept\"\n".to_owned();
    let before = [keyword.clone(), flow("same", "pay"), flow("other", "go"), flow("gone", "sit")].concat();
    let after = [keyword, flow("same", "pay"), flow("other", "leave"), flow("new", "stand")].concat();
    let found = rules(&before).diff(&rules(&after));
    let told: Vec<_> = found
        .entries
        .iter()
        .flat_map(|entry| &entry.changes)
        .map(|change| (change.kind, &*change.route))
        .collect();
    let expected =
        [(ChangeKind::Changed, "other"), (ChangeKind::Added, "new"), (ChangeKind::Removed, "gone")];
    assert_eq!(told, expected);
}

#[test]
fn what_cannot_be_decided_is_said_to_be_open() {
    let before = "route a when n * m == 12.5 and len(split(text, \",\")) > 3 -> a";
    let found = rules(before).diff(&rules(&before.replace("> 3", ">= 4")));
    assert_ne!(found.verdict(), Verdict::Different);
    let host = "extern fn f(a: string) -> int\nroute a when f(text) > 3 -> a";
    let compiler = rulec::Compiler::new().function("f", |text: String| text.len() as i64);
    let compile = |text: &str| compiler.compile_text(text).expect("it compiles");
    let found = compile(host).diff(&compile(&host.replace("> 3", "> 5")));
    assert_eq!(found.verdict(), Verdict::Undecided);
    assert_eq!(compile(host).diff(&compile(host)).verdict(), Verdict::Same);
    let payload = "payload p rank 1 { a: int }";
    for (before, after) in [(payload, ""), ("", payload), (payload, payload)] {
        let notes: Vec<String> = rules(&format!("{before}\nroute a when n > 1 -> a"))
            .diff(&rules(&format!("{after}\nroute a when n > 1 -> a")))
            .notes
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(notes.iter().any(|note| note == "payload kinds are not compared"), "{notes:?}");
    }
    let limited = rules("settings { regex_bytes: 10 }\nroute a when n > 1 -> a");
    assert_eq!(rules("route a when n > 1 -> a").diff(&limited).verdict(), Verdict::Undecided);
}

/// Regression: the elements of a list were tried with one field each, so no example was found.
#[test]
fn elements_of_several_fields_are_found() {
    let rules = |condition: &str| format!("route a when {condition} -> a\ndefault -> d");
    let example = |before: &str, after: &str| {
        let [old, new] = [before, after].map(|condition| self::rules(&rules(condition)));
        let found = old.diff(&new);
        found.entries[0].changes[0].examples.first().map(|example| example.message.to_string())
    };
    let any = |test: &str| format!("any x in errors: x.code == \"E1\" and x.count {test}");
    let shown = example(&any(">= 3"), &any("> 3"));
    assert_eq!(shown.as_deref(), Some(r#"{"errors":[{"code":"E1","count":3}]}"#));
    let count = |test: &str| format!("(count x in errors: x.code == \"E1\") {test}");
    let shown = example(&count(">= 2"), &count("> 2"));
    assert_eq!(shown.as_deref(), Some(r#"{"errors":[{"code":"E1"},{"code":"E1"}]}"#));
    let nested = |code: &str| format!("any x in orders: any y in x.items: y.code == \"{code}\" and y.n > 1");
    let shown = example(&nested("a"), &nested("b"));
    assert_eq!(shown.as_deref(), Some(r#"{"orders":[{"items":[{"code":"a","n":2}]}]}"#));
    let both = "(any x in l: x.a == 1 and x.b == 2) and (any x in l: x.a == 2 and x.b == 1)";
    assert!(example(both, &format!("({both}) and n == 1")).is_some());
}

/// Returns rules with a `history` statement and these routes.
fn rules_with_history(history: &str, routes: &str) -> String {
    let input = "input { user: string, tool: string, n?: int, card: string @private, now: datetime }";
    format!("{input}\nhistory {history}\n{routes}\n")
}

#[test]
fn histories_are_compared() {
    let routes = "route a when any p in history within 1h: p.tool == tool -> a\nroute b when n == 1 -> b\n\
        choice c { default branch y branch x { n == 2 } }";
    let before = rules_with_history("by user keep 2h at most 100", routes);
    let changes = |after: &str| {
        let diff = rules(&before).diff(&rules(after));
        // The choice reads no history, so it is proven in any case.
        assert_eq!(diff.entries[1].verdict, Verdict::Same, "{diff:#?}");
        assert_eq!(diff.history.is_empty(), diff.verdict() == Verdict::Same, "{diff:#?}");
        let changes = diff.history.into_iter();
        changes.map(|change| format!("{:?} -> {:?}", change.before, change.after)).collect::<Vec<_>>()
    };
    let with = |history: &str| changes(&rules_with_history(history, routes));
    assert!(with("by user keep 120m at most 100").is_empty());
    assert_eq!(with("by user keep 3h at most 100"), [r#"Some("keep 2h") -> Some("keep 3h")"#]);
    assert_eq!(with("by user at most 100"), [r#"Some("keep 2h") -> None"#]);
    assert_eq!(with("by tool keep 2h at most 100"), [r#"Some("by user") -> Some("by tool")"#]);
    assert_eq!(with("keep 2h at most 100"), [r#"Some("by user") -> None"#]);
    assert_eq!(with("by user keep 2h"), [r#"Some("at most 100") -> Some("at most 10000")"#]);
    let unused = "\nlet later = any p in history: p.card == card";
    let after = rules_with_history("by user keep 2h at most 100", &format!("{routes}{unused}"));
    assert_eq!(changes(&after), [r#"Some("fields tool") -> Some("fields card (hashed), tool")"#]);
}

#[test]
fn a_new_name_counts_where_rules_read_the_names_of_earlier_decisions() {
    let verdict = |condition: &str, name: &str| {
        let routes = |name: &str| format!("route r when {condition} -> r\nroute {name} when n == 1 -> a");
        let [before, after] = ["old", name].map(|name| rules_with_history("keep 1h", &routes(name)));
        rules(&before).diff(&rules(&after)).verdict()
    };
    assert_eq!(verdict("previous.decision.chosen == \"old\"", "old"), Verdict::Same);
    assert_eq!(verdict("previous.decision.chosen == \"old\"", "new"), Verdict::Undecided);
    assert_eq!(verdict("previous.decision.target == \"a\"", "new"), Verdict::Same);
}
