//! Tests of the finding about limits that do not hold if a sum over the history is missing (W0229).
//! Also tests the limits in the docs: no huge or missing amount may end them.

use rulec::history::MemoryStore;
use rulec::{Code, Diagnostic, Rules};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const INPUT: &str = "input { tool: string, amount: int, cents?: int, now: datetime }\nhistory keep 1d\n\
    let spent = sum p.amount for p in history: p.decision.target == \"pay\"\n";

fn compile(source: &str) -> Rules {
    Rules::from_text(source).unwrap_or_else(|error| panic!("{source}\n{error}"))
}

fn open_limits(source: &str) -> Vec<Diagnostic> {
    let found = compile(source).analyse().into_iter().map(|finding| finding.diagnostic);
    found.filter(|found| found.code == Code::LimitWithoutSum).collect()
}

/// Checks whether a limit in `routes` is reported, with a message that contains `expected`. An
/// empty text expects no finding.
#[track_caller]
fn check(routes: &str, expected: &str) {
    let found = open_limits(&format!("{INPUT}{routes}"));
    match found.as_slice() {
        [] => assert_eq!(expected, "", "{routes}"),
        [one] => assert!(!expected.is_empty() && one.message.contains(expected), "{routes}: {}", one.message),
        _ => panic!("{routes}: {found:?}"),
    }
}

const DEFAULT: &str = "`over` is skipped and the default is chosen";

#[test]
fn a_limit_that_does_not_hold_without_a_sum_is_found() {
    for condition in [
        "spent + amount > 1_000",
        "spent + amount >= 1_000",
        "1_000 < spent + amount",
        "not (spent + amount <= 1_000)",
        "not not (spent + amount > 1_000)",
        "1_000 - spent - amount < 0",
        "amount > 1_000 - spent",
        "tool == \"pay\" and spent + amount > 1_000",
        "tool == \"pay\" and (tool == \"x\" or spent + amount > 1_000)",
        "spent + amount not in 0..=1_000",
        "(spent ?? 0) + amount > 1_000",
        "(spent ?? 10) + amount > 1_000",
        "spent + (amount ?? 0) > 1_000",
        "(sum p.amount ?? 0 for p in history: true) + amount > 1_000",
        "(sum min(p.amount, 100) for p in history: true) + (if amount > 5 then 5 else 0) > 1_000",
        "(sum p.cents for p in history: p.cents <= 100) + (if amount > 5 then 5 else 0) > 1_000",
        "too_much(1_000)",
        "is_over",
    ] {
        let defs =
            "def too_much(limit: int) = spent + amount > limit\nlet is_over = spent + amount > 1_000\n";
        check(&format!("{defs}route over when {condition} -> deny\ndefault -> pay"), DEFAULT);
    }
    check("route over when spent + amount > 1_000 -> deny", "`over` is skipped");
    check(
        "route over when spent + amount > 1_000 -> deny\nroute pay when tool == \"pay\" -> pay\ndefault -> deny",
        "`over` is skipped and `pay` is chosen",
    );
    // A missing amount is not above 500.
    check(
        "route big when amount > 500 -> deny\nroute over when spent + amount > 1_000 -> deny\ndefault -> pay",
        DEFAULT,
    );
    check(
        "route pay when tool == \"pay\" unless spent + amount > 1_000 -> pay\ndefault -> deny",
        "`pay` is chosen without a limit",
    );
}

#[test]
fn a_limit_that_holds_without_a_sum_is_not_reported() {
    for routes in [
        "route within when spent + amount <= 1_000 -> pay\ndefault -> deny",
        "route within when tool == \"pay\" and amount > 0 and spent + amount <= 1_000 -> pay\n\
         route over when tool == \"pay\" -> deny\ndefault -> pay",
        "route within when not (spent + amount > 1_000) -> pay\ndefault -> deny",
        "route over when tool == \"pay\" unless spent + amount <= 1_000 -> deny\ndefault -> pay",
        "route over when true unless spent + amount <= 1_000 -> deny\ndefault -> pay",
        "route over when spent + amount > 1_000 or (spent + amount) is missing -> deny\ndefault -> pay",
        "route unknown when (spent + amount) is missing -> deny\n\
         route over when spent + amount > 1_000 -> deny\ndefault -> pay",
        "route over when spent + amount > 1_000 -> deny\n\
         route unknown when (spent + amount) is missing -> deny\ndefault -> pay",
        "route over when tool == \"pay\" and spent + amount > 1_000 -> deny\n\
         route within when tool == \"pay\" and spent + amount <= 1_000 -> pay\ndefault -> ask",
        "route over when spent + amount > 1_000 -> deny\ndefault -> deny",
        // Each paid amount is present and small.
        "route invalid when amount is missing or amount not in 1..=1_000 -> deny\n\
         route over when spent + amount > 1_000 -> deny\ndefault -> pay",
        "route invalid when true unless amount in 1..=1_000 -> deny\n\
         route over when spent + amount > 1_000 -> deny\ndefault -> pay",
        "route over when (sum p.cents for p in history: p.cents in 0..=100) > 1_000 -> deny\ndefault -> pay",
        "route over when (sum p.cents ?? 0 for p in history: (p.cents ?? 0) in 0..=100) > 1_000 -> deny\ndefault -> pay",
        "route over when (sum 5 for p in history: p.tool == tool) > 1_000 -> deny\ndefault -> pay",
        "route over when (spent ?? 5_000) > 1_000 -> deny\nroute big when amount > 5 -> pay\ndefault -> pay",
        "route over when (count p in history: p.tool == tool) > 5 -> deny\ndefault -> pay",
    ] {
        check(routes, "");
    }
}

/// The sum is present in all these rules, because each paid amount is present and small.
#[test]
fn a_limit_that_does_not_hold_without_its_other_operand_is_found() {
    let routes = |limit: &str| {
        format!(
            "route invalid when true unless amount in 1..=1_000 -> deny\n\
             route over when spent + amount > {limit} -> deny\ndefault -> pay"
        )
    };
    for limit in ["cents", "cents + 5", "min(cents, 500)"] {
        check(&routes(limit), &format!("if `{limit}` is missing, `over` is skipped"));
    }
    for limit in ["1_000", "(cents ?? 500)", "(amount + 5)"] {
        check(&routes(limit), "");
    }
    for routes in [
        "route invalid when true unless amount in 1..=1_000 -> deny\n\
         route unlimited when cents is missing -> deny\n\
         route over when spent + amount > cents -> deny\ndefault -> pay",
        "route within when amount in 1..=1_000 and spent + amount <= cents -> pay\ndefault -> deny",
    ] {
        check(routes, "");
    }
}

#[test]
fn a_requirement_and_a_branch_without_a_sum_are_found() {
    let source = "input { cents: int, now: datetime }\nhistory keep 1d\n\
        payload action {\n  name: string\n  \
        require \"budget\" at name: (sum p.cents for p in history: true) + cents <= 100 else \"too much\"\n";
    let found = open_limits(&format!("{source}}}\n"));
    assert!(found.len() == 1 && found[0].message.contains("`budget` is not violated"), "{found:?}");
    let present = "  require \"sum\" at name: ((sum p.cents for p in history: true) + cents) is present else \"no sum\"\n";
    assert_eq!(open_limits(&format!("{source}{present}}}\n")), []);
    // Another payload uses the slot of the `let` for another value.
    let named = |payload: &str, sum: &str| {
        format!(
            "payload {payload} {{\n  name: string\n  let spent = {sum}\n  \
             require \"budget\" at name: spent + cents <= 100 else \"too much\"\n"
        )
    };
    let head = source.split("payload").next().expect("a statement");
    let count = "count p in history: p.cents > 5";
    for (first, second) in
        [("sum p.cents for p in history: true", count), (count, "sum p.cents for p in history: true")]
    {
        let (first, second) = (named("one", first), named("two", second));
        let found = open_limits(&format!("{head}{first}}}\n{second}}}\n"));
        assert!(found.len() == 1 && found[0].message.contains("`spent + cents` is missing"), "{found:?}");
    }
    let named = named("one", "sum p.cents for p in history: true");
    let present = "  require \"sum\" at name: (spent + cents) is present else \"no sum\"\n";
    assert_eq!(open_limits(&format!("{head}{named}{present}}}\n")), []);
    let choice = |condition: &str| {
        open_limits(&format!("{INPUT}choice c {{ branch a {{ {condition} }} default branch b }}"))
    };
    assert_eq!(choice("spent + amount > 100").len(), 1);
    // A condition on a missing value is left out.
    assert_eq!(choice("tool == \"pay\"; spent + amount <= 100").len(), 0);
}

/// Applies the fix of the only finding.
fn fixed(source: &str) -> String {
    let found = open_limits(source);
    let [Diagnostic { fixes, .. }] = found.as_slice() else { panic!("{source}: {found:?}") };
    let [fix] = fixes.as_slice() else { panic!("{source}: {found:?}") };
    let mut text = source.to_owned();
    text.replace_range(fix.span.range(), &fix.replacement);
    text
}

#[test]
fn the_fix_of_a_limit_holds_without_a_sum() {
    for (condition, expected) in [
        ("spent + amount > 1_000", "when true unless spent + amount <= 1_000 ->"),
        (
            "tool == \"pay\" and spent + amount >= 1_000",
            "when tool == \"pay\" unless spent + amount < 1_000 ->",
        ),
        ("1_000 < spent + amount", "when true unless 1_000 >= spent + amount ->"),
        (
            "tool == \"pay\" and (amount > 900 or (spent) + amount > 1_000)",
            "or (true unless (spent) + amount <= 1_000))",
        ),
    ] {
        let source = format!("{INPUT}route over when {condition} -> deny\ndefault -> pay");
        let text = fixed(&source);
        assert!(text.contains(expected), "{text}");
        assert_eq!(open_limits(&text), [], "{text}");
        let found = compile(&text).analyse();
        let codes = found.iter().map(|found| found.diagnostic.code);
        let warnings: Vec<_> = codes.filter(|code| *code != Code::UnreadField).collect();
        assert_eq!(warnings, [], "{text}");
        assert!(is_safe(&text), "{text}");
        assert!(!is_safe(&source), "{source}");
    }
}

/// True if no huge or missing amount ends the limit of the rules.
fn is_safe(source: &str) -> bool {
    let rules = compile(source);
    let store = Arc::new(MemoryStore::default());
    let mut session = rules.session().with_history(store);
    let call = |amount: Json| {
        let mut message = json!({"tool": "pay", "customer": "c", "now": "2026-01-31T12:00:00Z"});
        if !amount.is_null() {
            message["amount"] = amount.clone();
            message["cents"] = amount;
        }
        message
    };
    let huge = i64::MAX;
    let mut targets = Vec::new();
    for amount in [json!(huge), json!(huge), json!(null), json!(600_000)] {
        let decision = session.decide_and_record(&call(amount)).expect("it is recorded");
        targets.push(decision.target().map(str::to_owned));
    }
    for amount in [json!(huge), json!(null)] {
        session.observe(&call(amount)).expect("it is recorded");
    }
    let last = session.decide_and_record(&call(json!(600_000))).expect("it is recorded");
    targets.push(last.target().map(str::to_owned));
    targets.iter().all(|target| matches!(target.as_deref(), Some("ask" | "deny")))
}

/// Returns the rules of a page that read a sum over the history.
fn examples(page: &str) -> Vec<String> {
    let text =
        std::fs::read_to_string(format!("{}/docs/{page}", env!("CARGO_MANIFEST_DIR"))).expect("a page");
    let blocks = text.split("```rules\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.filter(|block| block.contains("sum p.")).map(str::to_owned).collect()
}

#[test]
fn the_limits_of_the_docs_hold_for_huge_and_missing_amounts() {
    let right = |page: &str| examples(page).pop().expect("an example");
    let mut sources = vec![right("codes/W0226.md"), right("codes/W0229.md")];
    sources.extend(examples("history.md"));
    sources.extend(examples("cookbook.md"));
    assert!(sources.len() >= 4);
    for source in sources {
        assert!(is_safe(&source), "{source}");
        assert_eq!(open_limits(&source), [], "{source}");
    }
    let wrong = examples("codes/W0229.md").remove(0);
    assert!(!is_safe(&wrong), "{wrong}");
}
