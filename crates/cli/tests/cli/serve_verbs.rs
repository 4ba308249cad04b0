//! Tests of the verbs `why-not`, `diff` and `workflow run` with `--server`: a running `rulec serve`
//! answers as the program does with the rules in a file.

#![cfg(all(feature = "http", feature = "serve"))]

use super::Folder;
use super::serve::Service;

const RULES: &str = "input { text: string, n?: int, code?: string @private }
route big when text contains \"refund\" and n > 5 -> billing
route secret when code == \"4711\" and n > 1 -> vault
default -> chat
workflow twice { node first echo -> second  node second echo }
";

#[test]
fn a_service_finds_the_change_that_the_program_finds() {
    let folder = Folder::with(RULES);
    let service = Service::start(&folder);
    for message in [
        &["big", "--input", "{\"text\": \"refund\", \"n\": 2}"][..],
        &["big", "--text", "refund", "--ctx", "{}"],
        &["secret", "--input", "{\"text\": \"a\", \"code\": \"1234\"}"],
        &["default", "--text", "refund"],
        &["none", "--text", "refund"],
        &["big", "--input", "[1]"],
    ] {
        for options in [&[][..], &["--format", "json"], &["--lang", "zh"]] {
            let here = folder.rulec(&[&["why-not", "a.rules"], message, options].concat());
            let server = ["--server", &service.url];
            let there = folder.rulec(&[&["why-not", "a.rules"], message, options, &server].concat());
            assert_eq!((there.status, &there.out), (here.status, &here.out), "{message:?}: {}", there.err);
        }
    }
    let none = folder.rulec(&["why-not", "a", "none", "--text", "x", "--server", &service.url]).expect(2);
    assert!(none.err.contains("`none`"), "{}", none.err);
    let old = ["why-not", "a", "big", "--text", "x", "--generation", "7", "--server", &service.url];
    let old = folder.rulec(&old).expect(2);
    assert!(old.err.contains("generation 1, not 7"), "{}", old.err);
}

#[test]
fn rules_are_compared_with_those_in_force() {
    let words = "let words = [\"refund\", \"money back\"]\n";
    let rules = |handler: &str| {
        format!(
            "import \"words.rules\"\nroute money when text contains any words -> {handler}\ndefault -> b\n"
        )
    };
    let folder = Folder::new()
        .file("a.rules", rules("a"))
        .file("words.rules", words)
        .file("new.rules", rules("c"))
        .file("log.jsonl", "{\"text\": \"a refund\"}\n{\"text\": \"hello\"}\n");
    let service = Service::start(&folder);
    for options in [&[][..], &["--replay", "log.jsonl"], &["--replay", "log.jsonl", "--format", "json"]] {
        for new in ["a.rules", "new.rules"] {
            let here = folder.rulec(&[&["diff", "a.rules", new], options].concat());
            let there = folder.rulec(&[&["diff", "a", new, "--server", &service.url], options].concat());
            assert_eq!((there.status, &there.out), (here.status, &here.out), "{options:?}: {}", there.err);
            assert_eq!(there.status, Some(i32::from(new == "new.rules")), "{}", there.out);
        }
    }
    let unknown = folder.rulec(&["diff", "c", "new.rules", "--server", &service.url]).expect(2);
    assert!(unknown.err.contains("there are no rules `c`"), "{}", unknown.err);
    folder.rulec(&["build", "a.rules", "-o", "built.rulec"]).expect(0);
    let built = Service::start_with(&folder, &["built.rulec"]);
    let there = folder.rulec(&["diff", "built", "new.rules", "--server", &built.url]);
    // Compiled rules may have their texts; without them, the error names the remedy.
    assert!(there.status == Some(1) || there.err.contains("give the file as RULES"), "{}", there.err);
}

#[test]
fn a_service_runs_a_workflow_as_the_program_does() {
    let folder = Folder::with(RULES);
    let service = Service::start(&folder);
    let server = ["--server", &service.url];
    for options in [&[][..], &["--format", "json"], &["--name", "twice"], &["--step-limit", "1"]] {
        let input = ["--input", "{\"n\": 1}"];
        let here = folder.rulec(&[&["workflow", "run", "a.rules"], &input[..], options].concat());
        let there = folder.rulec(&[&["workflow", "run", "a.rules"], &input[..], options, &server].concat());
        assert_eq!((there.status, &there.out), (here.status, &here.out), "{options:?}: {}", there.err);
    }
    let begin = ["workflow", "run", "a", "--input", "{}", "--step-limit", "1", "--save", "run.json"];
    folder.rulec(&[&begin[..], &server].concat()).expect(1);
    let resumed = folder.rulec(&[&["workflow", "run", "a", "--resume", "run.json"][..], &server].concat());
    let resumed = resumed.expect(0);
    assert!(resumed.out.contains("first \u{2192} second"), "{}", resumed.out);
    for (args, word) in [
        (&["workflow", "run", "a", "--name", "none", "--input", "{}"][..], "none"),
        (&["workflow", "run", "a"], "--resume"),
        (&["workflow", "run", "a", "--input", "{}", "--allow", "example.com"], "--allow"),
        (&["workflow", "run", "b", "--input", "{}"], "there are no rules `b`"),
    ] {
        let wrong = folder.rulec(&[args, &server].concat()).expect(2);
        assert!(wrong.err.contains(word), "{}", wrong.err);
    }
}
