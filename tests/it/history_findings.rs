//! Tests of the findings about conditions on the history that cannot do what their author expects.

use rulec::Rules;

/// Returns the codes and messages of the warnings and findings for rules with this condition.
fn findings_of(history: &str, condition: &str) -> Vec<String> {
    let source = format!(
        "input {{ tool: string, amount: number, now: datetime }}\nhistory {history}\n\
         let spent = sum p.amount for p in history within 10m: p.tool == \"pay\"\n\
         route stop when {condition} -> deny\n\
         route question when tool == \"a\" and amount > 5 -> ask(amount: amount)\n\
         default -> run"
    );
    let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
    let warnings = rules.warnings().iter().cloned();
    let found = warnings.chain(rules.analyse().into_iter().map(|finding| finding.diagnostic));
    let found = found.filter(|found| ["W0112", "W0115", "W0130", "W0226"].contains(&found.code.as_str()));
    found.map(|found| format!("{} {}", found.code.as_str(), found.message)).collect()
}

#[track_caller]
fn check(condition: &str, expected: &[&str]) {
    let found = findings_of("keep 1h", condition);
    let is_found = |(found, start): (&String, &&str)| found.starts_with(*start);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(is_found),
        "{condition}: {found:?}"
    );
}

const TIME: &str = "W0130 no earlier message has such a time";

#[test]
fn a_time_that_no_earlier_message_has_is_found() {
    check("any p in history within 5m: p.at < now - 10m and p.tool == tool", &[TIME]);
    check("any p in history within 10m: p.at < now - 5m", &[]);
    check("any p in history: p.at < now - 2h", &[TIME]);
    check("any p in history: now - 2h > p.at", &[TIME]);
    check("(count p in history: p.at > now and p.at < now - 10m) >= 2", &[TIME]);
    check("any p in history: p.at >= now - 10m and p.at <= now - 10m", &[]);
    check("any p in history: p.at > now - 10m and p.at <= now - 10m", &[TIME]);
    check("any p in history: not (p.at < now - 2h)", &[]);
    let unbounded = "any p in history: p.at < now - 20h";
    assert!(findings_of("at most 50", unbounded).is_empty());
}

#[test]
fn a_count_beyond_the_implicit_bound_is_found() {
    check("(count p in history: p.tool == tool) > 50_000", &["W0130 `(count p in history"]);
    check("(count p in history: p.tool == tool) > 9_000", &[]);
    assert!(findings_of("at most 60_000", "(count p in history: p.tool == tool) > 50_000").is_empty());
}

const WINDOW: &str = "W0112 this condition decides nothing";

#[test]
fn windows_of_which_one_decides_the_other_are_found() {
    let both = |one: &str, other: &str| format!("({one}) and ({other})");
    let any = "any p in history within 5m: p.tool == \"a\"";
    check(&both(any, "any q in history: q.tool == \"a\""), &[WINDOW]);
    check(&both(any, "any q in history: q.tool == \"b\""), &[]);
    check(
        &both(any, "not any p in history within 10m: p.tool == \"a\""),
        &["W0112 these conditions contradict"],
    );
    check(&both(any, "not any p in history within 1m: p.tool == \"a\""), &[]);
    let none = "not any p in history within 5m: p.tool == \"a\"";
    check(&both(none, "not any q in history within 10m: q.tool == \"a\""), &[WINDOW]);
    let count = |window: &str, limit: &str| format!("(count p in history{window}: p.tool == tool) {limit}");
    check(&both(&count(" within 5m", ">= 3"), &count(" within 10m", ">= 3")), &[WINDOW]);
    check(&both(&count(" within 5m", ">= 3"), &count(" within 10m", ">= 5")), &[]);
    let last = |window: &str| format!("(last p in history{window}: p.amount > 3).tool == \"a\"");
    check(&both(&last(" within 5m"), &last("")), &[WINDOW]);
}

#[test]
fn decisions_that_the_named_route_does_not_make_are_found() {
    let any = |condition: &str| format!("any p in history: {condition}");
    check(&any("p.decision.chosen == \"question\" and p.tool == \"b\""), &["W0115 no message with `tool`"]);
    check(&any("p.decision.chosen == \"question\" and p.tool == \"a\""), &[]);
    check(&any("p.decision.chosen == \"default\" and p.decision.target == \"deny\""), &["W0115 no decision"]);
    check(&any("p.decision.chosen == \"default\" and p.decision.target == \"run\""), &[]);
}

#[test]
fn a_budget_is_found_without_a_test_of_the_tool() {
    // The route `question` reads `amount`, so rules without it are needed.
    let check = |condition: &str, is_found: bool| {
        let source = format!(
            "input {{ tool: string, cents: int, now: datetime }}\nhistory keep 1d\n\
             let spent = sum p.cents for p in history: p.tool == \"pay\"\n\
             route stop when {condition} -> deny\ndefault -> run"
        );
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
        let found = rules.analyse().iter().any(|finding| finding.diagnostic.code.as_str() == "W0226");
        assert_eq!(found, is_found, "{condition}");
    };
    check("(sum p.cents for p in history: p.tool == \"pay\") > 1_000", true);
    check("tool == \"pay\" and (sum p.cents for p in history: p.tool == \"pay\") > 1_000", true);
    check("tool == \"mail\" and (sum p.cents for p in history: p.tool == \"pay\") > 1_000", false);
    check("(sum p.cents for p in history: p.decision.target == \"run\") > 1_000", true);
    check("(sum p.cents for p in history: p.decision.target == \"run\") + cents > 1_000", false);
    check("spent > 1_000", true);
    check("spent <= 1_000", true);
    check("(sum p.cents * 2 for p in history: p.tool == \"pay\") < 1_000", true);
    check("(sum p.cents * 2 for p in history: p.tool == \"pay\") + cents < 1_000", false);
}

/// True if the analysis proves that the second of two routes is never chosen.
fn is_hidden(first: &str, second: &str) -> bool {
    let source = format!(
        "input {{ tool: string, n: int, now: datetime }}\nhistory keep 20_000d\n\
         route a when {first} -> x\nroute b when {second} -> y\ndefault -> z"
    );
    let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
    let found = rules.analyse();
    found.iter().any(|finding| {
        let found = &finding.diagnostic;
        found.code.as_str() == "W0213" && found.message.starts_with("`b` can never be chosen")
    })
}

#[test]
fn a_route_that_reads_a_part_of_the_history_is_hidden_by_one_that_reads_more() {
    let any = |window: &str, condition: &str| format!("any p in history{window}: {condition}");
    let all = |window: &str, condition: &str| format!("all p in history{window}: {condition}");
    let count = |window: &str, condition: &str, limit: &str| {
        format!("(count p in history{window}: {condition}) {limit}")
    };
    let read = "p.tool == \"read\"";
    for (first, second, hidden) in [
        (any(" within 1h", read), any(" within 5m", read), true),
        (any(" within 5m", read), any(" within 1h", read), false),
        (any("", read), any(" within 5m", read), true),
        (any(" within 1h", read), any("", read), false),
        (any(" within 1h", read), any(" within 5m", "p.tool == \"write\""), false),
        (any(" within 1h", "p.n > 3"), any(" within 5m", "p.n > 5"), true),
        (any(" within 1h", "p.n > 5"), any(" within 5m", "p.n > 3"), false),
        (any(" within 1h", read), any(" within 1h before previous", read), true),
        (any(" within 1h before previous", read), any(" within 1h", read), false),
        (any(" within 1h", read), any(" within 5m after previous", read), true),
        (any("", read), any(" within 5m after previous", read), true),
        (all(" within 5m", read), format!("n == 1 and len(history) > 3 and ({})", all("", read)), false),
        (format!("(count p in history: {read}) >= 1"), any(" within 5m", read), true),
        (format!("(count p in history within 1m: {read}) >= 1"), any(" within 5m", read), false),
        ("len(history) > 0".to_owned(), any(" within 5m", read), true),
        (any(" within 15_000d", read), any(" within 1d", read), true),
        (count(" within 1h", read, ">= 5"), count(" within 1m", read, ">= 5"), true),
        (count(" within 1h", read, ">= 5"), count(" within 1m", read, "> 4"), true),
        (count(" within 1h", read, ">= 5"), count(" within 1m", read, "== 7"), true),
        (count("", read, "> 2"), count(" within 1m", "p.tool == \"read\" and p.n > 3", ">= 3"), true),
        ("len(history within 1h) >= 5".to_owned(), count(" within 1m", read, ">= 5"), true),
        (count(" within 1h", read, "< 3"), count(" within 1m", read, "< 3"), false),
        (count(" within 1h", read, ">= 5"), count(" within 1m", read, ">= 4"), false),
        (count(" within 1m", read, ">= 5"), count(" within 1h", read, ">= 5"), false),
        (count(" within 1h", read, ">= 5"), count(" within 1m", "p.tool == \"write\"", ">= 5"), false),
        (count(" within 1h", read, ">= 5"), "len(history within 1m) >= 5".to_owned(), false),
        (count(" within 1h", read, "!= 5"), count(" within 1m", read, ">= 5"), false),
        (any(" within n * 1d", read), any(" within 1d", read), false),
        (format!("not ({})", any(" within 1h", read)), format!("not ({})", any(" within 5m", read)), false),
    ] {
        assert_eq!(is_hidden(&first, &second), hidden, "{first} || {second}");
    }
}

#[test]
fn counts_of_windows_that_contradict_each_other_are_found() {
    let count =
        |window: &str, limit: &str| format!("(count p in history within {window}: p.tool == tool) {limit}");
    for (one, other, contradict) in [
        (count("1m", ">= 5"), count("1h", "< 3"), true),
        (count("1m", ">= 5"), count("1h", "< 5"), true),
        (count("1m", ">= 5"), count("1h", "< 6"), false),
        (count("1h", ">= 5"), count("1m", "< 3"), false),
        (count("1m", "> 2"), "len(history within 1h) == 2".to_owned(), true),
    ] {
        let source = format!(
            "input {{ tool: string, now: datetime }}\nhistory keep 1d\n\
             route a when {one} and {other} -> x\ndefault -> z"
        );
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
        let codes: Vec<_> = rules.analyse().iter().map(|finding| finding.diagnostic.code.as_str()).collect();
        assert_eq!(codes, if contradict { vec!["W0210"] } else { vec![] }, "{one} and {other}");
    }
}

/// Regression test: a history that no message can reach was not reported, and the error about a
/// name of an undeclared history proposed a `let`.
#[test]
fn a_history_without_a_statement_or_a_time_is_found() {
    let rule = "route again when previous.tool == tool -> deny\ndefault -> run";
    let warnings = |input: &str| {
        let rules = Rules::from_text(&format!("input {{ {input} }}\nhistory keep 1d\n{rule}"));
        let rules = rules.unwrap_or_else(|error| panic!("{error}"));
        rules.warnings().iter().map(|found| found.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(warnings("tool: string"), ["W0133"]);
    assert_eq!(warnings("tool: string, now: int"), ["W0133"]);
    assert!(warnings("tool: string, now?: datetime").is_empty());
    for condition in ["any p in history: p.tool == tool", "previous.tool == tool"] {
        let source = format!(
            "input {{ tool: string, session: string, now: datetime }}\n\
            route again when {condition} -> deny\ndefault -> run"
        );
        let error = Rules::from_text(&source).expect_err("there is no history").to_string();
        let help = "declare the kept messages: `history by session keep 24h`";
        assert!(error.contains("E0213") && error.contains(help), "{error}");
    }
}
