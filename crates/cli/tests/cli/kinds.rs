//! Tests of `run`, `why` and `test` with entries other than routes: a choice, flows, or a router.

use super::{Folder, Ran};
use serde_json::{Value as Json, json};

const CHOICE: &str = "\
choice size {
  default branch small
  branch large { steps.order.total as number >= 100; steps.order.parts as number > 3 }
}
";
const FLOWS: &str = "\
flow hello keyword exact [\"hi\", \"hello\"] -> \"greet\"
flow buy keyword contains [\"buy\"] -> \"shop\"
";
const ROUTER: &str = "router check(output) { when output.ok -> next[1]  otherwise -> next[0] loopback }\n";

/// Decides one message by rules with a single entry, without `--entry`.
#[track_caller]
fn run(rules: &str, message: Json) -> (Json, String) {
    let ran = Folder::with(rules).fed(&["run", "a.rules"], message.to_string()).expect(0);
    (ran.json().remove(0), ran.err)
}

#[test]
fn one_thing_to_decide_by_needs_no_entry() {
    let (answer, summary) = run(CHOICE, json!({"steps": {"order": {"total": 120}}}));
    let skipped = json!([{"branch": "large", "condition": "steps.order.parts as number > 3",
                          "reason": "steps.order.parts is missing"}]);
    let expected =
        json!({"line": 1, "entry": "size", "branch": "large", "default": false, "skipped": skipped});
    assert_eq!((answer, &*summary), (expected, "1 message: size.large 1\n"));
    let (answer, summary) = run(CHOICE, json!({"steps": {"order": {"total": 9, "parts": 4}}}));
    assert_eq!(answer, json!({"line": 1, "entry": "size", "branch": "small", "default": true}));
    assert_eq!(summary, "1 message: size.small 1\n");

    let (answer, summary) = run(FLOWS, json!({"text": "I want to buy it"}));
    let expected = json!({"line": 1, "entry": "flows", "flow": "shop", "name": "buy", "pattern": "buy"});
    assert_eq!((answer, &*summary), (expected, "1 message: flows.buy 1\n"));
    let (answer, summary) = run(FLOWS, json!({"text": "hi there"}));
    let expected = json!({"line": 1, "entry": "flows", "flow": null, "name": null, "pattern": null});
    assert_eq!((answer, &*summary), (expected, "1 message: none 1\n"));

    let (answer, _) = run(ROUTER, json!({"output": {"ok": false}, "next": ["draft", "done"]}));
    assert_eq!(answer, json!({"line": 1, "entry": "check", "next": ["draft"], "loopback": true}));
    let (answer, _) = run(ROUTER, json!({"output": {"ok": true}, "next": ["draft", "done"]}));
    assert_eq!(answer, json!({"line": 1, "entry": "check", "next": ["done"], "loopback": false}));
}

#[test]
fn several_things_need_one() {
    let folder = Folder::with([CHOICE, FLOWS, ROUTER].concat());
    let said = "error: the rules contain several entries; choose one with `--entry`: size, check, flows\n";
    for args in [&["run", "a.rules"][..], &["why", "a.rules", "--full", "--text", "hi"]] {
        let ran: Ran = folder.rulec(args).expect(2);
        assert_eq!((&*ran.out, &*ran.err), ("", said));
    }
    for (entry, message, field, expected) in [
        ("size", "{}", "branch", json!("small")),
        ("flows", "{\"text\": \"hello\"}", "flow", json!("greet")),
        ("check", "{\"output\": {\"ok\": true}, \"next\": [\"a\", \"b\"]}", "next", json!(["b"])),
    ] {
        let ran = folder.fed(&["run", "a.rules", "--entry", entry], message).expect(0);
        assert_eq!(ran.json()[0][field], expected, "{entry}");
        let ran = folder.rulec(&["why", "a.rules", "--full", "--entry", entry, "--input", message]).expect(0);
        assert!(ran.out.starts_with("why: "), "{}", ran.out);
    }
    let ran = folder.fed(&["run", "a.rules", "--entry", "sizes"], "{}").expect(2);
    assert_eq!(ran.err, "error: there is no entry `sizes`; did you mean `size`?\n");
    // If there are routes outside the tables, they are the default entry.
    let folder = Folder::with([CHOICE, "default -> h\n"].concat());
    assert_eq!(folder.fed(&["run", "a.rules"], "{}").expect(0).json()[0]["chosen"], "default");
}

#[test]
fn bad_lines_are_named_for_every_kind() {
    for rules in [CHOICE, FLOWS, ROUTER] {
        let ran = Folder::with(rules).fed(&["run", "a.rules"], "[]\n{}\n").expect(1);
        let answers = ran.json();
        assert_eq!(answers[0]["error"]["code"], "E0602", "{rules}");
        assert!(answers[1]["entry"].is_string(), "{rules}");
    }
}

#[test]
fn explanations_call_things_by_their_kind() {
    let message = "{\"steps\": {\"order\": {\"total\": 120}}}";
    let ran = Folder::with(CHOICE).rulec(&["why", "a.rules", "--full", "--input", message]).expect(0);
    insta::assert_snapshot!(ran.out, @r#"
    why: choice size → large
      message   steps.order.total = 120
                steps.order.parts is missing

    ✓ large
    │  ✓ steps.order.total as number >= 100   steps.order.total = 120
    │  – steps.order.parts as number > 3      left out, steps.order.parts is missing
    – not tried: 1 branch after the chosen one
    "#);
    let ran = Folder::with(FLOWS).rulec(&["why", "a.rules", "--full", "--text", "hi, I buy"]).expect(0);
    assert!(ran.out.starts_with("why: flows → buy\n"), "{}", ran.out);
    let message = "{\"output\": {\"ok\": true}}";
    let ran = Folder::with(ROUTER).rulec(&["why", "a.rules", "--full", "--input", message]).expect(0);
    assert!(ran.out.starts_with("why: router check → when 1\n"), "{}", ran.out);
    assert!(ran.out.ends_with("– not tried: 1 case after the chosen one\n"), "{}", ran.out);
}

#[test]
fn tests_may_ask_for_a_branch() {
    let asks = |branch: &str| {
        let test = "given steps = { order: { total: 120, parts: 4 } }";
        format!("{CHOICE}test \"a large order\" {{ {test} expect size.{branch} }}\n")
    };
    let ran = Folder::with(asks("large")).rulec(&["test", "a.rules"]).expect(0);
    assert_eq!(ran.out, "a.rules\n  ok      a large order\n1 passed, 0 failed\n");
    let ran = Folder::with(asks("small")).rulec(&["test", "a.rules"]).expect(1);
    assert!(ran.out.contains("FAILED  a large order — expected size.small, got size.large"), "{}", ran.out);
    let ran = Folder::with(asks("larg")).rulec(&["test", "a.rules"]).expect(1);
    assert!(ran.err.contains("E0505") && ran.err.contains("did you mean"), "{}", ran.err);
    let ran = Folder::with(FLOWS).rulec(&["test", "a.rules"]).expect(0);
    assert_eq!(ran.out, "0 passed, 0 failed\n");
    assert!(ran.err.starts_with("note: there is no `test` block; write one: "), "{}", ran.err);
}

/// Regression test: exceeded limits were reported for decisions by routes only.
#[test]
fn every_kind_tells_the_limits_that_were_exceeded() {
    let settings = "settings { value_bytes: 4, regex_bytes: 4, quantifier_elements: 4 }\n";
    let choice = "choice c { default branch a  branch b { (lower(text) == \"x\") } }\n";
    let flows = "flow f keyword regex [\"x+\"] -> \"f\"\n";
    let router =
        "router check(output) { when upper(output.ok as string) == \"X\" -> done  otherwise -> draft }\n";
    let table = "table t { route r when upper(text) == \"X\" -> h }\n";
    let payload = "payload p { l: list\n each x in l { require \"r\": (x as int) > 9 } }\n";
    let message = json!({"text": "12345", "output": {"ok": "12345"}, "l": [1, 2, 3, 4, 5]});
    for (rules, args, limit, ends) in [
        (choice, &["--entry", "c"][..], "value_bytes", "c.a 1 · 1 over a limit\n"),
        (flows, &["--entry", "flows"], "regex_bytes", "none 1 · 1 over a limit\n"),
        (router, &["--entry", "check"], "value_bytes", " 1 · 1 over a limit\n"),
        (table, &["--entry", "t"], "value_bytes", "none 1 · 1 over a limit\n"),
        (payload, &["--decision", "p"], "quantifier_elements", "0 rejected · 1 over a limit\n"),
    ] {
        let folder = Folder::with([settings, rules].concat());
        let args = [&["run", "a.rules"], args].concat();
        for engine in ["auto", "reference", "vm"] {
            let args = [&args[..], &["--engine", engine]].concat();
            let ran = folder.fed(&args, message.to_string()).expect(0);
            let [answer] = &ran.json()[..] else { panic!("{}", ran.out) };
            assert_eq!(answer["exceeded"][0]["limit"], limit, "{rules}: {answer}");
            assert_eq!(answer["exceeded"][0]["amount"], 5, "{rules}: {answer}");
            assert!(ran.err.ends_with(ends), "{}", ran.err);
        }
        if rules == payload {
            let why = ["why", "a.rules", "--decision", "p", "--input", &message.to_string()];
            let ran = folder.rulec(&why).expect(0);
            let counted =
                "treated as missing: 5 elements are more than the 4 that `quantifier_elements` allows\n";
            assert!(ran.out.ends_with(counted), "{}", ran.out);
        }
        let ran = folder.fed(&args, "{\"text\": \"y\", \"output\": {\"ok\": \"y\"}, \"l\": []}").expect(0);
        assert!(ran.json()[0].get("exceeded").is_none() && !ran.err.contains("limit"), "{}", ran.err);
    }
}
