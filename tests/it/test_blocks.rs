//! Tests of `test` blocks with one message or several cases, and with every kind of expectation. A
//! wrong expectation fails and shows the actual result. An impossible expectation does not compile.

use rulec::{Compiler, Rules, TestOutcome, run_tests};

fn compiled(text: &str) -> Rules {
    Compiler::new().compile_text(text).unwrap_or_else(|error| panic!("{}", error.render()))
}

/// Returns the name of each test, whether it passed, the expected result and the actual result.
fn run_outcomes(text: &str) -> Vec<(String, bool, String, String)> {
    let of =
        |outcome: TestOutcome| (outcome.name, outcome.passed, outcome.expected, outcome.actual.to_string());
    run_tests(&compiled(text)).into_iter().map(of).collect()
}

#[track_caller]
fn assert_passes(text: &str) {
    let failed: Vec<_> = run_outcomes(text).into_iter().filter(|outcome| !outcome.1).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(!run_outcomes(text).is_empty(), "there is no test");
}

/// Asserts that the single test fails with these expected and actual results.
#[track_caller]
fn assert_fails(text: &str, expected: &str, actual: &str) {
    let outcomes = run_outcomes(text);
    let [(_, false, wanted, came)] = outcomes.as_slice() else { panic!("{outcomes:#?}") };
    assert_eq!((wanted.as_str(), came.as_str()), (expected, actual));
}

/// Asserts the code and the message of each compile error, and that each error suggests a fix.
#[track_caller]
fn assert_errors(text: &str, expected: &[(&str, &str)]) {
    let error = Compiler::new().compile_text(text).err().unwrap_or_else(|| panic!("it compiles: {text}"));
    let found: Vec<(&str, &str)> =
        error.diagnostics().iter().map(|found| (found.code.as_str(), found.message.as_str())).collect();
    assert_eq!(found, expected, "{}", error.render());
    assert!(error.diagnostics().iter().all(|found| found.help.is_some()), "{}", error.render());
}

const ROUTES: &str = "
    route refunds when text contains \"refund\" -> refund_handler(amount: ctx.amount, kind: \"money\") { team: \"a\", level: 2 }
    default -> answer
";

fn routes(test: &str) -> String {
    format!("{ROUTES}{test}")
}

#[test]
fn each_case_is_a_test_of_its_own() {
    let rules = routes(
        "test \"t\" { given ctx.amount = 1 given text, ctx.vip
           expect refunds for \"refund\", true
           expect default for \"hello\", false
           expect refunds for \"hello\", null }",
    );
    let names: Vec<(String, bool)> =
        run_outcomes(&rules).into_iter().map(|outcome| (outcome.0, outcome.1)).collect();
    let expected =
        [("t: \"refund\", true", true), ("t: \"hello\", false", true), ("t: \"hello\", null", false)];
    assert_eq!(names, expected.map(|(name, passed)| (name.to_owned(), passed)));
}

/// Former bug: if a test expected another handler than the chosen one, the failure showed the
/// arguments of the expected handler as null.
#[test]
fn another_handler_is_told_with_its_own_arguments() {
    assert_fails(
        "route big when n > 3 -> h(a: 1)\nroute small when n < 0 -> k(q: \"s\")\n\
         test \"t\" { given n = 5 expect small -> k(q: \"s\") }",
        "small -> k(q: \"s\")",
        "big -> h(a: 1)",
    );
}

#[test]
fn handlers_arguments_and_metadata_are_expected() {
    assert_passes(&routes(
        "test \"a\" { given text = \"refund\" given ctx.amount = 2 expect refunds -> refund_handler(amount: 2.0) { team: \"a\" } }
         test \"b\" { given text = \"refund\" expect -> refund_handler(kind: \"money\", amount: null) }
         test \"c\" { given text = \"x\" expect default -> answer }
         test \"d\" { given text = \"refund\" expect refunds { } }"
            .replace("expect refunds { }", "expect refunds")
            .as_str(),
    ));
    assert_fails(
        &routes(
            "test \"t\" { given text = \"refund\" given ctx.amount = 2 expect refunds -> refund_handler(amount: 3) { level: 1 } }",
        ),
        "refunds -> refund_handler(amount: 3) { level: 1 }",
        "refunds -> refund_handler(amount: 2) { level: 2 }",
    );
    assert_fails(
        &routes("test \"t\" { given text = \"x\" expect -> refund_handler }"),
        "-> refund_handler",
        "default -> answer",
    );
}

#[test]
fn next_nodes_are_expected() {
    let rules = |expect: &str| {
        format!(
            "router rounds(output) {{ when output.done -> next[1] otherwise -> next[0] loopback }}
             test \"t\" {{ given next = [\"debate\", \"ballot\"] given output.done = false {expect} }}"
        )
    };
    assert_passes(&rules("expect rounds -> debate loopback"));
    assert_passes(&rules("expect rounds.otherwise -> debate loopback"));
    assert_fails(&rules("expect rounds -> debate"), "-> debate", "rounds.otherwise -> debate loopback");
    assert_fails(
        &rules("expect rounds -> ballot, debate loopback"),
        "-> ballot, debate loopback",
        "rounds.otherwise -> debate loopback",
    );
}

const FLOWS: &str = "
    flow refund \"gives money back\" intent [\"give me my money back\", \"I want a refund\"] -> \"refund\"
    flow weather \"tells the weather\" intent [\"will it rain tomorrow\", \"how warm is it\"] -> \"weather\"
";

#[test]
fn scores_of_intent_flows_are_expected() {
    assert_passes(&format!(
        "{FLOWS} test \"t\" {{ given text = \"give me my money back\" expect flows.refund score >= 0.1 }}"
    ));
    let rules = format!(
        "{FLOWS} test \"t\" {{ given text = \"give me my money back\" expect flows.refund score < 0.1 }}"
    );
    let outcomes = run_outcomes(&rules);
    let [(_, false, expected, actual)] = outcomes.as_slice() else { panic!("{outcomes:#?}") };
    assert_eq!(expected, "flows.refund score < 0.1");
    assert!(actual.starts_with("flows.refund score 0."), "{actual}");
}

const PAYLOAD: &str = "
    payload note { response: string not blank; count?: int in 1..=5 }
";

#[test]
fn places_of_breaches_are_expected() {
    let rules = |expect: &str| {
        format!("{PAYLOAD} test \"t\" {{ given payload = {{ response: \" \", count: 9 }} {expect} }}")
    };
    assert_passes(&rules("expect note.reject"));
    let broken = "\"note.response.empty\" at \"$.response\" \"note.count.range\"";
    assert_passes(&rules(&format!("expect note.reject {broken}")));
    assert_fails(
        &rules("expect note.reject \"note.response.empty\" at \"$.count\" \"note.count.range\""),
        "note.reject \"note.count.range\" \"note.response.empty\" at \"$.count\"",
        "note.reject \"note.count.range\" at \"$.count\" \"note.response.empty\" at \"$.response\"",
    );
}

#[test]
fn what_nothing_could_give_is_an_error() {
    let cases = [
        ("expect -> refund_handlr", "no route leads to `refund_handlr`"),
        ("expect -> refund_handler(amont: 2)", "no route passes `refund_handler` an argument `amont`"),
        (
            "expect refunds -> refund_handler { tem: 2 }",
            "no route to `refund_handler` has `tem` in its metadata",
        ),
        ("expect refunds -> answer, refund_handler", "a route can lead to only one handler"),
        ("expect refunds -> answer loopback", "a route cannot loop back"),
        ("expect none -> answer", "`none` has no target"),
        ("expect refunds score >= 0.5", "only an intent flow has a score"),
        ("expect refunds \"rule\"", "only a payload can break rules"),
        ("expect refunds expect default", "a test of one message can have only one expectation"),
    ];
    for (expect, message) in cases {
        assert_errors(
            &routes(&format!("test \"t\" {{ given text = \"x\" {expect} }}")),
            &[("E0505", message)],
        );
    }
    assert_errors(
        &format!("{FLOWS} test \"t\" {{ given text = \"x\" expect flows.refund score != 0.5 }}"),
        &[("E0505", "a score cannot be compared with `!=`")],
    );
    assert_errors(
        &format!("{FLOWS} test \"t\" {{ given text = \"x\" expect flows.refund score > 2 }}"),
        &[("E0505", "a score must be from 0 to 1")],
    );
}

#[test]
fn values_that_fit_no_field_are_errors() {
    let test = |body: &str| routes(&format!("test \"t\" {{ {body} }}"));
    assert_errors(&test("given text, ctx.n expect refunds for \"a\""), &[("E0510", "1 value for 2 fields")]);
    assert_errors(&test("given text expect refunds"), &[("E0510", "0 values for 1 field")]);
    assert_errors(
        &test("given text = \"x\" expect refunds for \"a\""),
        &[("E0510", "the fields of these values are not named")],
    );
    assert_errors(
        &test("given text = \"x\" given text expect refunds for \"a\""),
        &[("E0510", "`text` is given twice, or both as a value and as a record")],
    );
    let declared = "input { text: string, n: int } route a when n > 3 and text == \"x\" -> h ";
    assert_errors(
        &format!(
            "{declared} test \"t\" {{ given text, n expect a for \"x\", 4 expect none for \"x\", \"4\" }}"
        ),
        &[("E0510", "`n` is declared as int, but this is a string")],
    );
    assert_errors(
        &format!("{declared} test \"t\" {{ given text, m expect a for \"x\", 4 expect none for \"x\", 5 }}"),
        &[("E0510", "`m` is not an input")],
    );
}

/// Thousands of tests in a file run on several threads; the results keep the order of the file.
#[test]
fn many_tests_come_in_their_order() {
    let cases: String = (0..2_000).map(|n| format!("expect refunds for \"refund {n}\"\n")).collect();
    let outcomes = run_outcomes(&routes(&format!("test \"t\" {{ given text\n{cases} }}")));
    assert_eq!(outcomes.len(), 2_000);
    for (n, (name, passed, ..)) in outcomes.iter().enumerate() {
        assert_eq!((name.as_str(), *passed), (format!("t: \"refund {n}\"").as_str(), true));
    }
}

/// Artifacts must contain the tests of the rules.
#[test]
fn artifacts_keep_what_tests_expect() {
    let rules = compiled(&routes(
        "test \"t\" { given ctx.amount = 1 given text expect refunds -> refund_handler(amount: 2) for \"refund\" }",
    ));
    let loaded = Rules::from_artifact(&rules.to_artifact(false)).expect("it loads");
    let of = |rules: &Rules| -> Vec<String> {
        run_tests(rules)
            .into_iter()
            .map(|outcome| format!("{} {} {}", outcome.name, outcome.expected, outcome.actual))
            .collect()
    };
    assert_eq!(of(&loaded), of(&rules));
    assert_eq!(
        of(&loaded),
        ["t: \"refund\" refunds -> refund_handler(amount: 2) refunds -> refund_handler(amount: 1)"]
    );
}
