//! Tests of `rulec test --coverage` and `--watch`: what the tests covered, and why they did not
//! cover other routes and conditions.

use super::{Folder, program};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Rules with an example of each reason why a test run misses a route or condition. The reasons
/// are: hidden, short-circuited, never entered, never true, disabled, and missing value.
const RULES: &str = "\
let vip = ctx.user.role == \"vip\"
route refunds when text contains \"refund\" and (n > 100 or vip) -> h
route small priority -1 when n > 3 -> h
route late priority -2 when text == \"late\" -> h
route off disabled when text == \"off\" -> h
route billing priority 5 when text starts_with \"bill\" -> goto bills
default -> d
table bills {
  route paid when text contains \"paid\" -> h
}
choice size {
  default branch small
  branch large { steps.total as number > 100 }
}
test \"refunds\" {
  given n = 200
  given text
  expect refunds for \"a refund\"
  expect small for \"hello\"
}
test \"size\" { given steps.other = 1 expect size.small }
";

#[test]
fn gaps_are_named_with_their_reasons() {
    let ran = Folder::with(RULES).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn all_that_is_reached_leaves_no_gap() {
    let rules = "route a when text == \"a\" -> h\ndefault -> d\n\
                 test \"t\" { given text expect a for \"a\" expect default for \"b\" }\n";
    let ran = Folder::with(rules).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    let last = "a.rules: 1 of 1 routes chosen, 1 of 1 defaults chosen, 1 of 1 conditions seen both true and false, in 2 decisions\n";
    assert!(ran.out.ends_with(last), "{}", ran.out);
    // With a format for programs, standard output contains only the results.
    let ran = Folder::with(rules).rulec(&["test", "--coverage", "--format", "json", "a.rules"]).expect(0);
    assert!(ran.err.contains(last.trim()), "{}", ran.err);
    assert_eq!(ran.json().len(), 2);
}

#[test]
fn payload_rules_are_covered_when_kept_and_broken() {
    let rules = "payload note { response: string not blank; count?: int in 1..=5 }\n\
                 test \"t\" { given payload expect note.reject for { response: \" \" } expect note.accept for { response: \"x\" } }\n";
    let ran = Folder::with(rules).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    assert!(ran.out.contains("rule `note.count.range`: never broken"), "{}", ran.out);
    assert!(!ran.out.contains("note.response.empty"), "{}", ran.out);
}

/// A condition on earlier messages is covered only by tests with such messages.
#[test]
fn conditions_on_earlier_messages_are_covered_by_tests_with_a_past() {
    let rules = "\
input { tool: string, now: datetime }
history keep 1d
route leak when any p in history within 1h: p.tool == \"read\" -> h
route again when previous.tool == tool -> h
default -> d
payload call {
  tool: string
  require \"rate\" at tool: (count p in history: p.tool == tool) < 1 else \"too many\"
}
test \"nothing before\" { given tool = \"x\" given now = \"2026-01-31T12:00:00Z\" expect default }
test \"a call\" { given now = \"2026-01-31T12:00:00Z\" given payload = { tool: \"x\" } expect call.accept }
";
    let past = "\
test \"after a secret\" {
  given tool = \"x\"
  given now = \"2026-01-31T12:00:00Z\"
  given history = [{ tool: \"read\", ago: 5m }]
  expect leak
}
test \"the same again\" {
  given tool = \"x\"
  given now = \"2026-01-31T12:00:00Z\"
  given history = [{ tool: \"read\", ago: 3h }, { tool: \"x\", ago: 2h }]
  expect again
}
test \"two calls\" {
  given tool = \"x\"
  given now = \"2026-01-31T12:00:00Z\"
  given history = [{ tool: \"x\", ago: 5m }]
  given payload = { tool: \"x\" }
  expect call.reject \"rate\"
}
";
    let ran = Folder::with(rules).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    for gap in ["leak", "again", "`rate`: never broken"] {
        assert!(ran.out.contains(gap), "{gap}: {}", ran.out);
    }
    let ran = Folder::with(format!("{rules}{past}")).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    assert!(ran.out.contains("2 of 2 routes chosen") && !ran.out.contains("rate"), "{}", ran.out);
}

/// Regression test: conditions inside values and in payload rules were not counted.
#[test]
fn conditions_in_values_and_in_payload_rules_are_counted() {
    let rules = "\
let size = if n > 9 then \"large\" else \"small\"
route a when size == \"large\" -> h(kind: if text == \"x\" then 1 else 2)
route b when (count w in words: w == \"b\") > 0 -> h
default -> d(urgent: n > 5)
payload note {
  kind: string
  parts: list<{ n: int }>
  let long = if kind == \"l\" then 9 else 3
  require \"few\" when kind == \"x\": len(parts) < 9
  each part in parts { require \"small\": part.n < long }
}
test \"t\" {
  given n
  expect a for 10
  expect default for 3
}
test \"p\" { given payload = { kind: \"y\", parts: [{ n: 1 }, { n: 2 }] } expect note.accept }
";
    let ran = Folder::with(rules).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    let gap = |condition: &str| {
        let mut lines = ran.out.lines().filter(|line| line.contains(&format!("condition `{condition}`")));
        lines.next().map(|line| line.split("`: ").last().unwrap_or_default().to_owned())
    };
    assert_eq!(gap("n > 9"), None, "{}", ran.out);
    let wanting = "always unknown because a value was missing: once";
    assert_eq!(gap("text == \"x\"").as_deref(), Some(wanting), "{}", ran.out);
    assert_eq!(
        gap("w == \"b\"").as_deref(),
        Some("never reached: short-circuited once by an earlier condition")
    );
    assert_eq!(gap("n > 5").as_deref(), Some("never true"));
    assert_eq!(gap("kind == \"l\"").as_deref(), Some("never true"));
    assert_eq!(gap("kind == \"x\"").as_deref(), Some("never true"));
    assert_eq!(gap("part.n < long").as_deref(), Some("never false"));
    let unasked =
        rules.replace("test \"p\"", "test \"q\"").replace("expect note.accept", "expect note.reject");
    let ran = Folder::with(&unasked).rulec(&["test", "--coverage", "--filter", "t", "a.rules"]).expect(0);
    assert!(ran.out.contains("`part.n < long`: never reached: no `note` was judged"), "{}", ran.out);
}

/// An unknown result counts as neither true nor false, and is reported. A condition of a choice
/// counts as true only if it holds; that it has a result is not enough.
#[test]
fn unknown_is_neither_true_nor_false() {
    let rules = "\
route a when n > 3 -> h
choice c {
  default branch no
  branch yes { steps.ok as bool }
}
test \"t\" {
  given n
  expect a for 4
  expect none for null
}
test \"u\" { given steps.ok = false expect c.no }
";
    let ran = Folder::with(rules).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    assert!(
        ran.out.contains("condition `n > 3`: never false; unknown once, because a value was missing"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("condition `steps.ok as bool`: never true"), "{}", ran.out);
}

/// Regression test: only the first twenty elements of a list were counted.
#[test]
fn every_element_counts() {
    let words: Vec<String> = (0..30).map(|at| format!("{{ n: {at} }}")).collect();
    let rules = format!(
        "route a when all w in words: w.n < 29 -> h\ntest \"t\" {{ given words = [{}] expect none }}\n",
        words.join(", ")
    );
    let ran = Folder::with(&rules).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    assert!(!ran.out.contains("`w.n < 29`"), "{}", ran.out);
    assert!(ran.out.contains("`all w in words: w.n < 29`: never true"), "{}", ran.out);
}

/// Intent flows have no condition, so each flow only counts as chosen or not chosen.
#[test]
fn intent_flows_are_covered_one_by_one() {
    let rules = "\
flow refund \"Refunds\" keyword contains [\"refund\"] -> \"f1\"
flow travel \"Books a journey\" intent [\"book a flight\", \"a train to Paris\", \"I want to travel\"] -> \"f2\"
flow music \"Plays music\" intent [\"play a song\", \"some jazz please\", \"turn the music on\"] -> \"f3\"
test \"t\" {
  given text
  expect flows.refund for \"a refund\"
  expect flows.travel for \"book a flight to Paris\"
}
";
    let ran = Folder::with(rules).rulec(&["test", "--coverage", "a.rules"]).expect(0);
    assert!(
        ran.out.contains("flow `music`: never chosen: never the nearest intent, evaluated once"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("flow `travel`") && !ran.out.contains("`refund`"), "{}", ran.out);
}

#[test]
fn lcov_counts_routes_as_functions_and_conditions_as_branches() {
    let folder = Folder::with(RULES);
    folder.rulec(&["test", "--coverage-lcov", "lcov.info", "a.rules"]).expect(0);
    let records = std::fs::read_to_string(folder.path("lcov.info")).expect("it is written");
    insta::assert_snapshot!(records);
    folder.rulec(&["test", "--coverage-lcov", "no/such/folder", "a.rules"]).expect(2);
}

#[test]
fn the_page_shows_the_rules_and_escapes_them() {
    let rules = "route a when text == \"<b>&\" -> h\ntest \"t\" { given text = \"<b>&\" expect a }\n";
    let folder = Folder::with(rules);
    folder.rulec(&["test", "--coverage-html", "page.html", "a.rules"]).expect(0);
    let page = std::fs::read_to_string(folder.path("page.html")).expect("it is written");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    let condition = "<span class=\"part\" title=\"true once, false 0 times, evaluated once; never false\">\
                     text == &quot;&lt;b&gt;&amp;&quot;</span>";
    assert!(page.contains(condition), "{page}");
    assert!(!page.contains("<b>&"), "{page}");
}

/// Between the two test runs, only the file changes.
#[test]
fn a_change_runs_the_tests_again() {
    let folder =
        Folder::with("route a when text == \"a\" -> h\ntest \"t\" { given text = \"a\" expect a }\n");
    let mut child = std::process::Command::new(program(folder.dir.path()).get_program())
        .args(["test", "--watch", "a.rules", "--coverage-html", "page.html"])
        .current_dir(folder.dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut summary = || lines.by_ref().map_while(Result::ok).find(|line| line.contains(" passed"));
    assert_eq!(summary().as_deref(), Some("1 passed, 0 failed"));
    // The file is replaced atomically, as editors do.
    let folder =
        folder.file("new", "route a when text == \"a\" -> h\ntest \"t\" { given text = \"b\" expect a }\n");
    std::fs::rename(folder.path("new"), folder.path("a.rules")).expect("it is put in its place");
    assert_eq!(summary().as_deref(), Some("0 passed, 1 failed"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// Regression test: a run was started by its own output and by any file of the folder, 8,000 times
/// a second, until the disk was full. The bound holds on a machine of any speed.
#[test]
fn only_what_the_tests_read_is_watched() {
    let text = "list words = from \"words.txt\"\nroute a when text in words -> h\n\
                test \"t\" { given text = \"a\" expect a }\n";
    let folder = Folder::with(text).file("words.txt", "a\n");
    let output = std::fs::File::create(folder.path("out.rules")).expect("a file can be made");
    let errors = output.try_clone().expect("a file has many handles");
    let mut child = std::process::Command::new(program(folder.dir.path()).get_program())
        .args(["test", "--watch", "--coverage", "--coverage-lcov", "sub.rules"])
        .current_dir(folder.dir.path())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .expect("the program starts");
    let runs = || {
        let out = std::fs::read(folder.path("out.rules")).expect("the output can be read");
        String::from_utf8_lossy(&out).matches("waiting for a file to change").count()
    };
    let wait_for = |count: usize| {
        while runs() < count {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    wait_for(1);
    for round in 0..20 {
        std::fs::write(folder.path("other.txt"), format!("{round}")).expect("a file can be written");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    // The output itself is a rules file that does not compile when the first run begins.
    assert!(runs() <= 2, "{} runs", runs());
    let before = runs();
    std::fs::write(folder.path("words.txt"), "b\n").expect("a file can be written");
    wait_for(before + 1);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn standard_input_is_not_watched() {
    let ran = Folder::new().rulec(&["test", "--watch", "-"]).expect(2);
    assert!(ran.err.contains("standard input cannot be watched"), "{}", ran.err);
}

/// In compiled rules without source text, the locations of conditions are known but their text is
/// not.
#[test]
fn compiled_rules_without_their_text_are_covered_as_well() {
    let folder = Folder::with(RULES);
    folder.rulec(&["build", "a.rules", "--strip-source"]).expect(0);
    let options =
        ["test", "--coverage", "--coverage-html", "page.html", "--coverage-lcov", "lcov.info", "a.rulec"];
    let ran = folder.rulec(&options).expect(0);
    assert!(ran.out.contains("a.rules:4:1  route `late`: never chosen"), "{}", ran.out);
    assert!(ran.out.contains("a.rules:3:30  condition"), "{}", ran.out);
}
