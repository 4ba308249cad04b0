//! Tests of `rulec run`.

use super::{Folder, Ran, SMALL};
use serde_json::json;

#[test]
fn json_lines_in_and_out() {
    let messages =
        "{\"text\":\"show it\",\"ctx\":{\"message_count\":4}}\n{\"text\":\"hey!\"}\n{\"text\":\"x\"}\n";
    let folder = Folder::with(SMALL).file("m.jsonl", messages);
    let expected = [
        json!({"line": 1, "entry": "routes", "chosen": "show_files", "target": "file_handler", "args": {"n": 4}, "metadata": {"type": "file"}}),
        json!({"line": 2, "entry": "routes", "chosen": "shout", "target": "shout_handler", "args": {}, "metadata": {}}),
        json!({"line": 3, "entry": "routes", "chosen": "default", "target": "default_handler", "args": {}, "metadata": {}}),
    ];
    let ran = folder.rulec(&["run", "a.rules", "m.jsonl"]).expect(0);
    assert_eq!(ran.json(), expected);
    assert!(ran.out.starts_with("{\"line\":1,\"entry\":\"routes\",\"chosen\":"), "{}", ran.out);
    assert_eq!(ran.err, "3 messages: show_files 1, shout 1, default 1\n");
    for args in [&["run", "a.rules"][..], &["run", "a.rules", "-"]] {
        assert_eq!(folder.fed(args, messages).expect(0).json(), expected);
    }
}

#[test]
fn every_engine_answers_alike() {
    let messages = "{\"text\":\"show!\",\"ctx\":{\"message_count\":4}}\n{\"text\":7}\n";
    let folder = Folder::with(SMALL);
    let run =
        |engine: &str| folder.fed(&["run", "a.rules", "--all", "--engine", engine], messages).expect(0).out;
    assert_eq!(run("reference"), run("vm"));
    assert_eq!(run("auto"), run("vm"));
}

#[test]
fn nothing_chosen_is_null() {
    let ran = Folder::with("route a when text == \"a\" -> h").fed(&["run", "a.rules"], "{}").expect(0);
    let expected =
        json!({"line": 1, "entry": "routes", "chosen": null, "target": null, "args": {}, "metadata": {}});
    assert_eq!(ran.json(), [expected]);
    assert_eq!(ran.err, "1 message: none 1\n");
}

#[test]
fn all_lists_every_route_that_holds() {
    let message = "{\"text\":\"show it!\",\"ctx\":{\"message_count\":4}}";
    let ran = Folder::with(SMALL).fed(&["run", "a.rules", "--all"], message).expect(0);
    assert_eq!(ran.json()[0]["matched"], json!(["show_files", "shout"]));
    assert_eq!(ran.json()[0]["chosen"], "show_files");
}

#[test]
fn explain_adds_the_explanation() {
    let ran = Folder::with(SMALL).fed(&["run", "a.rules", "--explain"], "{\"text\":\"x\"}").expect(0);
    assert_eq!(ran.json()[0]["explanation"]["trace"]["routes"][0]["route"], "show_files");
}

#[test]
fn tables_are_entries_of_their_own() {
    let rules = "route pay when text contains \"pay\" -> goto billing\n\
                 table billing { route refund when text contains \"back\" -> refund_handler default -> bill_handler }\n";
    let folder = Folder::with(rules);
    let ran = folder.fed(&["run", "a.rules"], "{\"text\":\"pay back\"}\n{\"text\":\"pay\"}\n{}").expect(0);
    assert_eq!(ran.json()[0]["path"], json!(["routes", "billing"]));
    assert_eq!(ran.err, "3 messages: billing.refund 1, billing.default 1, none 1\n");
    let ran = folder.fed(&["run", "a.rules", "--entry", "billing"], "{\"text\":\"back\"}").expect(0);
    assert_eq!((&ran.json()[0]["entry"], &ran.json()[0]["chosen"]), (&"billing".into(), &"refund".into()));
    let ran = folder.fed(&["run", "a.rules", "--entry", "biling"], "").expect(2);
    assert_eq!(ran.err, "error: there is no entry `biling`; did you mean `billing`?\n");
}

#[test]
fn rules_with_tables_only_need_an_entry() {
    let folder = Folder::with("table t { default -> h }");
    let ran = folder.fed(&["run", "a.rules"], "{}").expect(2);
    assert_eq!(ran.err, "error: every route is in a table; choose one with `--entry`: t\n");
    folder.fed(&["run", "a.rules", "--entry", "t"], "{}").expect(0);
}

#[test]
fn bad_lines_are_named_and_the_rest_goes_on() {
    let deep = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    let (deepest, too_deep) = (deep(128), deep(129));
    let lines: &[(&[u8], &str)] = &[
        (b"{\"text\":", "E0601"),
        (b"{'text': 1}", "E0601"),
        (b"{\"text\": \"a\"} x", "E0601"),
        (b"[1, 2]", "E0602"),
        (b"\"text\"", "E0602"),
        (b"null", "E0602"),
        (too_deep.as_bytes(), "E0603"),
        (b"{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}", "E0604"),
        (b"{\"a\": 1e400}", "E0605"),
        (b"{\"a\": \"\xff\"}", "E0606"),
        (deepest.as_bytes(), ""),
        (b"{\"text\": \"hey!\"}", ""),
    ];
    let input = lines.iter().map(|(line, _)| *line).collect::<Vec<_>>().join(&b'\n');
    let ran = Folder::with(SMALL).fed(&["run", "a.rules"], input).expect(1);
    let answers = ran.json();
    assert_eq!(answers.len(), lines.len());
    for (number, ((line, code), answer)) in lines.iter().zip(&answers).enumerate() {
        assert_eq!(answer["line"], number + 1);
        let line = String::from_utf8_lossy(line);
        match *code {
            "" => assert!(answer.get("error").is_none(), "{line}: {answer}"),
            code => {
                assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
                assert!(
                    answer["error"]["message"].is_string() && answer["error"]["column"].is_u64(),
                    "{answer}"
                );
            }
        }
    }
    assert_eq!(answers[7]["error"]["message"], "key `c` appears twice in `b`");
    assert_eq!(answers[9]["error"]["column"], 8);
    assert_eq!(ran.err, "12 messages: shout 1, default 1 · 10 errors\n");
}

#[test]
fn line_numbers_count_blank_lines_bom_and_crlf() {
    let input = b"\xef\xbb\xbf{\"text\":\"a!\"}\r\n\r\n   \n{\"text\":\"b!\"}\r\n[]\r\n{\"text\":\"c!\"}";
    let ran = Folder::with(SMALL).fed(&["run", "a.rules"], input).expect(1);
    let numbers: Vec<_> = ran.json().iter().map(|answer| answer["line"].clone()).collect();
    assert_eq!(numbers, [1, 4, 5, 6]);
    assert_eq!(ran.err, "4 messages: shout 3 · 1 error\n");
}

#[test]
fn a_line_without_end_is_refused_without_being_kept() {
    let folder = Folder::with(SMALL);
    // The first line has 64 MiB of zero bytes. The second line is a message.
    let mut file = std::fs::File::create(folder.path("m.jsonl")).expect("a file can be made");
    file.set_len((64 << 20) + 1).expect("a sparse file can be made");
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).expect("a file has an end");
    std::io::Write::write_all(&mut file, b"\n{\"text\":\"hey!\"}\n").expect("a file can be written");
    let ran = folder.rulec(&["run", "a.rules", "m.jsonl"]).expect(1);
    let answers = ran.json();
    assert_eq!(answers[0]["error"]["message"], "the message is longer than 16 MiB");
    assert_eq!((&answers[1]["line"], &answers[1]["chosen"]), (&2.into(), &"shout".into()));
}

#[test]
fn breaches_are_reported_and_counted() {
    let rules = "input { text: string }\nroute a when text == \"a\" -> h\n";
    let ran = Folder::with(rules).fed(&["run", "a.rules"], "{\"text\":7}\n{\"text\":\"a\"}").expect(0);
    let breach = json!([{"path": "text", "expected": "string", "found": "int"}]);
    assert_eq!(ran.json()[0]["breaches"], breach);
    assert_eq!(ran.err, "2 messages: a 1, none 1 · 1 with input violations\n");
}

#[test]
fn the_summary_stays_one_line() {
    let rules: String = (0..30).map(|n| format!("route r{n} when text == \"{n}\" -> h\n")).collect();
    let mut messages: String = (0..30).map(|n| format!("{{\"text\":\"{n}\"}}\n")).collect();
    messages.push_str("{\"text\":\"29\"}\n");
    let ran = Folder::with(rules).fed(&["run", "a.rules"], messages).expect(0);
    let line = "31 messages: r0 1, r1 1, r2 1, r3 1, r4 1, r5 1, r6 1, r7 1, r8 1, r9 1, r10 1, r29 2, 18 others 18\n";
    assert_eq!(ran.err, line);
}

#[test]
fn rules_that_do_not_compile_decide_nothing() {
    let ran = Folder::with("route a when -> h").fed(&["run", "a.rules"], "{}").expect(1);
    assert!(ran.out.is_empty() && ran.err.contains("E0101"), "{}", ran.err);
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = Folder::with(SMALL).file("d/x", "");
    let check = |args: &[&str], said: &str| {
        let ran: Ran = folder.rulec(args).expect(2);
        assert!(ran.out.is_empty() && ran.err.contains(said), "{args:?}: {}", ran.err);
    };
    check(&["run", "none.rules"], "`none.rules` cannot be read: there is no such file");
    check(&["run", "a.rules", "none.jsonl"], "`none.jsonl` cannot be read: ");
    check(&["run", "d"], "`d` is a folder; give one rules file");
    check(&["run", "a.rules", "d"], "`d` is a folder; give a file of messages");
}

#[test]
fn missing_host_functions_are_noted() {
    let rules = "extern fn score(text: string) -> int\nroute r when score(text) > 3 -> h\n";
    let ran = Folder::with(rules).fed(&["run", "a.rules"], "{\"text\":\"a\"}").expect(0);
    assert!(ran.err.starts_with("note: `score` can run only in an embedding program;"), "{}", ran.err);
}

#[test]
fn warnings_are_mentioned_only() {
    let rules = "let a = \"x\"\nroute r when text == \"y\" -> h\n";
    let ran = Folder::with(rules).fed(&["run", "a.rules"], "{}").expect(0);
    assert!(ran.err.starts_with("note: `a.rules` has 1 warning; see `rulec check a.rules`\n"), "{}", ran.err);
}

/// Returns lines with valid and invalid messages, enough for several chunks.
fn many() -> String {
    let line = |n: usize| match n % 11 {
        0 => "{\"text\": oops}".to_owned(),
        1 => String::new(),
        2 => format!("{{\"text\":\"show it {n}\",\"ctx\":{{\"message_count\":{n}}}}}"),
        3 => format!("{{\"text\":\"{}!\"}}", "long ".repeat(n % 700)),
        _ => format!("{{\"text\":\"nothing {n}\"}}"),
    };
    (0..4_000).map(|n| line(n) + "\n").collect()
}

#[test]
fn any_number_of_jobs_prints_the_same() {
    let folder = Folder::with(SMALL).file("m.jsonl", many());
    for more in [&[][..], &["--all"]] {
        let run = |jobs: &[&str]| {
            let args = [&["run", "a.rules", "m.jsonl"], more, jobs].concat();
            let ran = folder.rulec(&args).expect(1);
            (ran.out, ran.err)
        };
        let one = run(&["--jobs", "1"]);
        assert!(one.0.lines().count() > 3_000 && one.1.contains("364 errors"), "{}", one.1);
        for jobs in [&[][..], &["--jobs", "0"], &["-j", "2"], &["--jobs=7"]] {
            assert!(run(jobs) == one, "{jobs:?} {more:?}");
            let fed = folder.fed(&[&["run", "a.rules"], more, jobs].concat(), many()).expect(1);
            assert!((fed.out, fed.err) == one, "fed, {jobs:?} {more:?}");
        }
    }
}

#[test]
fn any_number_of_jobs_judges_the_same() {
    let rules =
        "payload respond rank 1 { response: string not blank\n n: number default 1.0 in 0..=9 clamp }";
    let line = |n: usize| match n % 5 {
        0 => "{".to_owned(),
        1 => "{\"response\": \" \"}".to_owned(),
        _ => format!("{{\"response\": \"number {n}\", \"n\": {n}}}"),
    };
    let lines: String = (0..9_000).map(|n| line(n) + "\n").collect();
    let folder = Folder::with(rules).file("m.jsonl", lines);
    let run = |jobs: &str| {
        let ran =
            folder.rulec(&["run", "a.rules", "m.jsonl", "--decision", "respond", "--jobs", jobs]).expect(1);
        (ran.out, ran.err)
    };
    let one = run("1");
    assert!(one.1.starts_with("9000 payloads: ") && one.1.contains("1800 unreadable"), "{}", one.1);
    assert!(run("3") == one);
}

/// Regression test: each line of a pretty-printed message was an error of its own.
#[test]
fn json_over_several_lines_is_one_error() {
    let folder = Folder::with(super::SMALL);
    for input in ["{\n  \"text\": \"a\"\n}\n", "[\n  {\"text\": \"a\"}\n]\n", "[{\"text\": \"a\"},\n{}]\n"] {
        let ran = folder.fed(&["run", "a.rules"], input).expect(1);
        assert_eq!(ran.out, "", "{input}");
        assert!(ran.err.contains("write one message a line"), "{}", ran.err);
        assert_eq!(ran.err.lines().filter(|line| line.starts_with("error")).count(), 1, "{}", ran.err);
    }
    let ran = folder.fed(&["run", "a.rules"], "{\"text\": \"a\",\n{}\n").expect(1);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
}

#[test]
fn an_unknown_entry_names_the_kinds_of_payloads() {
    let folder = Folder::with("route a when text == \"a\" -> h\npayload reply { body: string }\n");
    let ran = folder.fed(&["run", "a.rules", "--entry", "zz"], "{}\n").expect(2);
    assert!(ran.err.contains("with `--decision`: reply"), "{}", ran.err);
}
