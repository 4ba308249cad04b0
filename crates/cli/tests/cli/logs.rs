//! Tests of `rulec run --log`, of `rulec doctor` on the output of `run`, and of `rulec log verify`.

use super::Folder;
use rulec::SigningKey;
use rulec_report::chain::HashChain;
use serde_json::{Value as Json, json};

const RULES: &str = "\
input { text: string, phone?: string @private }
route refunds when text contains \"refund\" -> refund_handler(phone: phone)
route rare when text contains \"rare\" -> h
default -> chat
";
const MESSAGES: &str = "\
{\"text\": \"a refund\", \"phone\": \"555-0199\"}
{\"text\": 7
{\"text\": \"hello\"}
{\"text\": \"refund me\"}
";
const FLOWS: &str = "\
flow hello keyword exact [\"hello\"] -> \"greeting\"
flow refund \"gives money back\" intent [\"I want my money back\", \"return my payment\"] -> \"refund_v2\"
flow complain \"takes complaints\" intent [\"your service is bad\", \"I am not content\"] -> \"complain\"
";

fn log_lines(folder: &Folder) -> Vec<Json> {
    let log = std::fs::read_to_string(folder.path("log.jsonl")).expect("a log");
    log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn run_writes_the_decision_log_that_doctor_reads() {
    let folder = Folder::with(RULES);
    let plain = folder.fed(&["run", "a.rules"], MESSAGES).expect(1);
    let ran = folder.fed(&["run", "a.rules", "--log", "log.jsonl"], MESSAGES).expect(1);
    assert_eq!(ran.out, plain.out);
    let lines = log_lines(&folder);
    let routes: Vec<&Json> = lines.iter().map(|line| &line["route"]).collect();
    assert_eq!(routes, ["refunds", "default", "refunds"]);
    let first = &lines[0];
    let parts = ["entry", "handler", "result", "path", "args", "message"].map(|key| &first[key]);
    let masked = json!({"text": "a refund", "phone": "•••"});
    assert_eq!(
        parts.map(Clone::clone),
        [
            json!("routes"),
            json!("refund_handler"),
            json!("decided"),
            json!(["routes"]),
            json!({"phone": "•••"}),
            masked
        ]
    );
    assert!(first["time"].is_string() && first["generation"].is_u64(), "{first}");
    let doctor = folder.rulec(&["doctor", "a.rules", "--log", "log.jsonl"]).expect(0);
    assert!(doctor.out.contains("3 decisions from "), "{}", doctor.out);
    assert!(doctor.out.contains("`rare`") && !doctor.out.contains("`refunds`: never"), "{}", doctor.out);
    assert!(!doctor.out.contains("would differ"), "{}", doctor.out);
    // The log is appended to, also by many threads in the order of the messages.
    let many: String =
        (0..3000).map(|n| format!("{{\"text\": \"{n} refund{}\"}}\n", " ".repeat(60))).collect();
    let folder = folder.file("many.jsonl", many);
    folder
        .rulec(&["run", "a.rules", "many.jsonl", "--log", "log.jsonl", "--jobs", "4", "--explain"])
        .expect(0);
    let lines = log_lines(&folder);
    assert_eq!(lines.len(), 3003);
    for (index, line) in lines[3..].iter().enumerate() {
        assert!(line["message"]["text"].as_str().expect("a text").starts_with(&format!("{index} ")));
    }
    assert_eq!(lines[3]["explanation"]["chosen"], "refunds");
}

#[test]
fn doctor_reads_the_output_of_run() {
    let folder = Folder::with(RULES);
    let ran = folder.fed(&["run", "a.rules"], MESSAGES).expect(1);
    let doctor = folder.fed(&["doctor", "a.rules", "--log", "-"], &*ran.out).expect(0);
    assert!(doctor.out.contains("3 decisions, at unknown times"), "{}", doctor.out);
    assert!(doctor.out.contains("1 line left out"), "{}", doctor.out);
    assert!(doctor.out.contains("`rare`: never chosen"), "{}", doctor.out);
    assert!(!doctor.out.contains("`refunds`"), "{}", doctor.out);
    let router = Folder::with("router r(output) { when output.n == 1 -> next[0]  otherwise -> next[1] }");
    let ran = router.fed(&["run", "a.rules"], "{\"output\": {\"n\": 1}}").expect(0);
    let doctor = router.fed(&["doctor", "a.rules", "--log", "-"], &*ran.out).expect(1);
    assert!(doctor.err.contains("`rulec run --log`"), "{}", doctor.err);
    router.fed(&["run", "a.rules", "--log", "log.jsonl"], "{\"output\": {\"n\": 1}}").expect(0);
    let doctor = router.rulec(&["doctor", "a.rules", "--log", "log.jsonl"]).expect(0);
    assert!(doctor.out.contains("1 decision from"), "{}", doctor.out);
}

#[test]
fn flows_that_the_classifier_finds_are_logged_and_counted() {
    let messages = "{\"text\": \"hello\"}\n{\"text\": \"please give my money back\"}\n{\"text\": \"who wrote hamlet\"}\n";
    let folder = Folder::with(FLOWS);
    let ran = folder.fed(&["run", "a.rules", "--log", "log.jsonl"], messages).expect(0);
    let lines = log_lines(&folder);
    let results: Vec<(&Json, &Json)> = lines.iter().map(|line| (&line["route"], &line["result"])).collect();
    let decided = json!("decided");
    assert_eq!(results[0], (&json!("hello"), &decided));
    assert_eq!(results[1], (&json!("refund"), &decided));
    assert_eq!(results[2], (&Json::Null, &json!("no_route")));
    for log in [std::fs::read_to_string(folder.path("log.jsonl")).expect("a log"), ran.out] {
        let doctor = folder.fed(&["doctor", "a.rules", "--log", "-"], &*log).expect(0);
        assert!(doctor.out.contains("`complain`"), "{}", doctor.out);
        assert!(!doctor.out.contains("`refund`") && !doctor.out.contains("`hello`"), "{}", doctor.out);
    }
}

#[test]
fn a_log_that_cannot_be_written_is_wrong_usage() {
    let folder = Folder::with(RULES);
    let ran = folder.fed(&["run", "a.rules", "--log", "none/log.jsonl"], MESSAGES).expect(2);
    assert!(ran.err.contains("`none/log.jsonl` cannot be written"), "{}", ran.err);
    let ran = folder.fed(&["run", "a.rules", "--log", "l", "--output", "o.jsonl"], MESSAGES).expect(2);
    assert!(ran.err.contains("`--log` needs messages and answers as JSON lines"), "{}", ran.err);
}

/// Returns a log of three lines that are linked by a hash chain. With a key, the log ends with a
/// signed checkpoint.
fn chained(key: Option<&SigningKey>) -> Vec<String> {
    let mut chain = HashChain::default();
    let mut bodies: Vec<Vec<u8>> = (0..3).map(|n| json!({ "n": n }).to_string().into_bytes()).collect();
    bodies.iter_mut().for_each(|body| chain.append_line(body));
    bodies.extend(key.map(|key| {
        let mut line = chain.checkpoint_line(key);
        chain.append_line(&mut line);
        line
    }));
    bodies.into_iter().map(|line| String::from_utf8(line).expect("text")).collect()
}

#[test]
fn log_verify_finds_lines_that_were_changed_dropped_or_moved() {
    let lines = chained(None);
    let folder = Folder::with(RULES).file("whole.jsonl", lines.concat());
    folder.rulec(&["log", "verify", "whole.jsonl"]).expect(0);
    let changed = lines.concat().replace("{\"n\":1,", "{\"n\":7,");
    let dropped = [&*lines[0], &lines[2]].concat();
    let moved = [&*lines[0], &lines[2], &lines[1]].concat();
    for text in [changed, dropped, moved] {
        let folder = Folder::with(RULES).file("log.jsonl", &text);
        let ran = folder.rulec(&["log", "verify", "log.jsonl"]).expect(1);
        assert!(ran.out.contains("log.jsonl:2: "), "{text}: {}", ran.out);
    }
    // A first line with a damaged hash is a wrong line, not another kind of file.
    let damaged = lines.concat().replacen("\"chain\":\"", "\"chain\":\"x", 1);
    let damaged = Folder::with(RULES).file("log.jsonl", damaged);
    let ran = damaged.rulec(&["log", "verify", "log.jsonl"]).expect(1);
    assert!(ran.out.contains("log.jsonl:1: "), "{}", ran.out);
    let other = Folder::with(RULES).file("log.jsonl", "{\"text\":\"hi\"}\n");
    let ran = other.rulec(&["log", "verify", "log.jsonl"]).expect(2);
    assert!(ran.err.contains("is no log of decisions with a hash chain"), "{}", ran.err);
    let ran = folder.rulec(&["log", "verify", "none.jsonl"]).expect(2);
    assert!(ran.err.contains("none.jsonl"), "{}", ran.err);
}

#[test]
fn log_verify_with_a_key_needs_a_signed_checkpoint() {
    let key = SigningKey::from_pem(include_str!("../../../../tests/keys/only-for-tests.pem")).expect("a key");
    let public = include_str!("../../../../tests/keys/only-for-tests.pub");
    let folder = Folder::with(RULES)
        .file("signed.jsonl", chained(Some(&key)).concat())
        .file("plain.jsonl", chained(None).concat())
        .file("release.pub", public);
    folder.rulec(&["log", "verify", "signed.jsonl", "--verify", "release.pub"]).expect(0);
    let ran = folder.rulec(&["log", "verify", "plain.jsonl", "--verify", "release.pub"]).expect(1);
    assert!(ran.out.contains("the key proves nothing"), "{}", ran.out);
}

#[test]
fn doctor_counts_the_pattern_that_run_printed() {
    let folder = Folder::with("flow g keyword exact [\"hello\", \"hi\"] -> \"greeting\"");
    let ran = folder.fed(&["run", "a.rules", "--entry", "flows"], "{\"text\": \"hi\"}\n").expect(0);
    let doctor = folder.fed(&["doctor", "a.rules", "--log", "-"], &*ran.out).expect(0);
    assert!(doctor.out.contains("1:23") && !doctor.out.contains("1:32"), "{}", doctor.out);
}

#[test]
fn log_verify_finds_an_end_that_was_cut_off() {
    let lines = chained(None);
    let head = HashChain::after(lines[2].as_bytes()).expect("a chain").last_hash_hex();
    let folder = Folder::with(RULES)
        .file("logs/d.jsonl", &lines[2])
        .file("logs/d.jsonl.000000000003", lines[..2].concat())
        .file("logs/notes", "no log");
    let verify = |expected: &str| folder.rulec(&["log", "verify", "logs", "--expect-end", expected]);
    let ran = verify(&head).expect(0);
    assert!(ran.out.contains(&head) || ran.err.contains(&head), "{} {}", ran.out, ran.err);
    std::fs::write(folder.path("logs/d.jsonl"), "").expect("it can be written");
    assert!(verify(&head).expect(1).out.contains("the end of the log is missing"));
    assert!(verify("abc").expect(2).err.contains("64 hexadecimal digits"));
    let none = folder.rulec(&["log", "verify", "."]).expect(2);
    assert!(none.err.contains("no log with a hash chain"), "{}", none.err);
}
