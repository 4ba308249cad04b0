//! Runs every subcommand with terminal control characters in every position that accepts a text.
//! Output for people must not move the cursor, set colours, or change the text direction.

use super::{Folder, Ran};

/// A word with a background colour, a clear-screen sequence with a one-byte control, reversed text,
/// and a line break.
const HOSTILE: &str = "\u{1b}[45mx\u{9b}2J\u{202e}y\r\nz\u{7}";

/// The same text as [`HOSTILE`], escaped as in string literals of rules and of JSON.
const ESCAPED: &str = r"\u{1b}[45mx\u{9b}2J\u{202e}y\r\nz\u{7}";
const JSON: &str = r"\u001b[45mx\u009b2J\u202ey\r\nz\u0007";

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks that standard output and standard error contain no control characters. The program's own
/// colours are allowed, if they are enabled.
#[track_caller]
fn harmless(what: &str, ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let mut plain = text.clone();
        if what.contains("--color always") {
            for code in OWN {
                plain = plain.replace(&format!("\u{1b}[{code}m"), "");
            }
        }
        let found = plain.find(steers).map(|at| plain[at..].chars().take(20).collect::<String>());
        assert_eq!(found, None, "{what}: {text:?}");
        // Text on one line in the source must stay on one line.
        assert!(!plain.lines().any(|line| line.starts_with('z')), "{what}: {text}");
    }
}

/// Colour codes that the program itself prints. The hostile text contains none of them.
const OWN: [&str; 16] = [
    "0", "1", "2", "31", "32", "33", "36", "1;31", "1;33", "1;35", "1;36", "31;1", "33;1", "35;1", "36;1",
    "36;1;4",
];

/// Returns rules with every kind of statement, and with the hostile text in every possible
/// position.
fn rules() -> String {
    let rules = r#"
input { text?: string, ctx?: { n: int, tags?: list<string> } }
extern fn `ask HERE`(a: string) -> bool
list words = ["WORD", "other"]
route `r HERE` when text contains "WORD" -> h(a: "WORD") { "key WORD": "WORD" }
route s when text in words and ctx.n > 3 -> h
route t when `ask HERE`(text) -> h
table `t HERE` { default -> `h HERE` }
flow `f HERE` "WORD" keyword contains ["WORD"] -> "WORD"
flow g "WORD" intent examples ["a WO RD", "b"] -> "g WORD"
choice c { branch `b HERE` { steps.a as string == "WORD" } default branch d }
payload p rank 1 {
  name: string in ["WORD"] else "WORD"
  closed "id WORD"
  require "rule WORD" at name: name != "WORD" else "WORD"
}
test "WORD" { given text = "WORD" expect none }
test "other" { given text = "WORD" expect s }
"#;
    rules.replace("WORD", ESCAPED)
}

/// The subcommands that read rules, with their other arguments. Some arguments select a choice, a
/// payload kind or the flows.
const VERBS: [&str; 23] = [
    "check RULES",
    "check RULES --color always",
    "check RULES --format json",
    "check RULES --format github",
    "plan RULES",
    "plan RULES --color always",
    "plan RULES --format json",
    "plan RULES --entry MISSING",
    "test RULES",
    "test RULES --color always",
    "why RULES --input MESSAGE",
    "why RULES --input MESSAGE --color always",
    "why RULES --input MESSAGE --format json",
    "why RULES --input MESSAGE --entry flows",
    "why RULES --input MESSAGE --entry c",
    "why RULES --input MESSAGE --decision p",
    "why RULES --input MESSAGE --entry MISSING",
    "why RULES --input NOTHING",
    "build RULES -o out.rulec",
    "schema RULES",
    "prompt RULES",
    "prompt RULES --format json",
    "run RULES MISSING",
];

/// Splits a command into words, and inserts the hostile texts.
fn words(verb: &str, rules: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "RULES" => rules.to_owned(),
        "MISSING" => HOSTILE.to_owned(),
        "MESSAGE" => message(),
        "NOTHING" => format!("{{\"{JSON}\": {HOSTILE}"),
        word => word.to_owned(),
    };
    verb.split(' ').map(word).collect()
}

fn message() -> String {
    r#"{"text": "WORD", "name": "WORD", "WORD": 1, "ctx": {"n": "WORD", "WORD": "WORD", "tags": ["WORD"]}, "steps": {"a": "WORD"}}"#
        .replace("WORD", JSON)
}

fn rulec(folder: &Folder, words: &[String], stdin: &str) -> Ran {
    folder.fed(&words.iter().map(String::as_str).collect::<Vec<_>>(), stdin)
}

#[test]
fn texts_of_rules_and_messages_steer_no_terminal() {
    // Some names contain characters that only some statements allow. The error messages are
    // printed, too.
    for name in ["q", "q\u{1b}[45mx", "q\u{9b}2J", "q\u{202e}y", "q\u{7f}"] {
        let folder = Folder::with(rules().replace("HERE", name));
        let compiles = folder.rulec(&["check", "a.rules"]).status == Some(0);
        assert!(compiles || name != "q", "{}", folder.rulec(&["check", "a.rules"]).out);
        for verb in VERBS {
            harmless(verb, &rulec(&folder, &words(verb, "a.rules"), ""));
        }
        let messages = format!("{}\n{{}}\n", message());
        for (entry, all) in [("routes", "--all"), ("flows", "--explain"), ("t q", "--all")] {
            let ran = folder.fed(&["run", "a.rules", "--entry", entry, all], messages.as_str());
            // Decisions on standard output are data for programs. Only messages for people are
            // checked.
            harmless("run", &Ran { out: String::new(), ..ran });
        }
    }
}

#[test]
fn faults_of_rules_steer_no_terminal() {
    let faults = [
        "route a when text == HERE -> h",
        "route `aHERE` when text == \"x\" -> h\nroute `aHERE` when text == \"y\" -> h",
        "route a when text matches \"(HERE\" -> h",
        "import \"HERE\"",
        "list l = from \"HERE\"\nroute a when text in l -> h",
        "route a when text == \"x\" -> goto `HERE`",
        "flow f \"HERE\" keyword HERE [\"x\"] -> \"x\"",
        "# HERE\nroute a whenHERE text",
    ];
    for fault in faults {
        for text in [HOSTILE, ESCAPED, "\u{1b}]0;title\u{7}", "\u{202e}x", "\u{9b}2J"] {
            let folder = Folder::with(fault.replace("HERE", text));
            for format in ["human", "json", "github"] {
                let ran = folder.rulec(&["check", "a.rules", "--format", format]);
                assert_ne!(ran.out, "", "{fault}");
                harmless(fault, &ran);
            }
            harmless(
                "--color always",
                &folder.rulec(&["why", "a.rules", "--full", "--text", text, "--color", "always"]),
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_steer_no_terminal() {
    let name = format!("a{HOSTILE}.rules");
    let folder = Folder::new().file(&name, rules().replace("HERE", "q")).file("dir/x.txt", "");
    for verb in VERBS {
        let verb = verb.replace(" --color always", "");
        harmless(&verb, &rulec(&folder, &words(&verb, &name), ""));
    }
    for verb in ["check", "test"] {
        harmless(verb, &folder.rulec(&[verb, "."]));
    }
    // A line break in an argument is printed as a line break where the argument is quoted.
    let missing = HOSTILE.replace("\r\n", "b");
    for words in [
        &["check"][..],
        &["build"],
        &["run", &name],
        &["plan"],
        &["test"],
        &["schema"],
        &["prompt"],
        &["explain"],
        &["import", "routes"],
        &["import", "routes", "-o", "x", "--force"],
        &["conformance", "route"],
        &["conformance"],
        &["completions"],
        &["run", &name, "-", "--jobs"],
        &["run", &name, "-", "--decision", "p", "--context"],
        &["build", &name, "-o", "dir/../none/x", "--root"],
        &["check", &name, "--root"],
        &["--color"],
        &[],
    ] {
        let ran = folder.rulec(&[words, &[missing.as_str()]].concat());
        assert_ne!(ran.status, Some(0), "{words:?}");
        harmless(&format!("{words:?}"), &ran);
    }
}

#[test]
fn imported_texts_steer_no_terminal() {
    let files = [
        (
            "routes",
            r#"[{"name": "WORD", "priority": 1, "conditions": [{"type": "keyword", "field": "WORD", "keywords": ["WORD"], "operator": "WORD"}], "handler": "WORD", "description": "WORD", "WORD": "WORD", "metadata": {"WORD": "WORD"}}]"#,
        ),
        (
            "routes",
            r#"{"routes": [{"name": "WORD", "handler": "WORD", "pattern": "WORD"}], "default": "WORD"}"#,
        ),
        (
            "choice",
            r#"[{"id": "WORD", "name": "WORD", "conditions": [{"variable": "WORD", "operator": "WORD", "value": "WORD"}]}]"#,
        ),
        (
            "flows",
            r#"[{"id": "WORD", "name": "WORD", "description": "WORD", "trigger": {"type": "keyword", "match": "contains", "patterns": ["WORD"]}, "triggers": ["WORD"]}]"#,
        ),
        ("flows", r#"{"flows": {"WORD": 1}}"#),
        ("routes", r#""WORD""#),
        ("routes", "\u{1b}[31m"),
    ];
    for (system, json) in files {
        let folder = Folder::new().file("a.json", json.replace("WORD", JSON));
        harmless(json, &folder.rulec(&["import", system, "a.json"]));
        harmless(json, &folder.rulec(&["import", system, "a.json", "-o", "b.rules"]));
        harmless(json, &folder.rulec(&["import", system, "a.json", "-o", "b.rules"]));
    }
    for kind in ["route", "choice", "flow", "payload", "workflow"] {
        let cases = r#"{"name": "WORD", "routes": [{"name": "WORD", "handler": "WORD"}], "branches": [], "flows": [], "message": "WORD", "context": {}, "variables": {}, "kind": "WORD", "WORD": 1, "expected": "WORD"}"#;
        let folder = Folder::new().file("a.jsonl", cases.replace("WORD", JSON));
        harmless(kind, &folder.rulec(&["conformance", kind, "a.jsonl", "--list-failures"]));
    }
}
