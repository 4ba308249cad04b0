//! Tests of `rulec run --replay-answers`, where recorded answers take the place of a language
//! model.

use super::Folder;
use serde_json::{Value, json};

pub const RULES: &str = r#"
choice mood ask "how does the customer feel?" to_user {
  branch angry "furious"
  default branch calm "anything else"
}
flow hello keyword exact ["hello"] -> "greeting"
flow refund "gives money back" intent ["I want my money back"] -> "refund_v2"
flow status "says where an order is" intent ["where is my parcel"] -> "status"
"#;

pub fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// If no answer is recorded for a message, its output line has an error. The error contains the key
/// under which the answer can be recorded.
#[test]
fn a_missing_answer_is_an_error_of_its_line() {
    let folder = Folder::with(RULES).file("answers.jsonl", "");
    let run = ["run", "a.rules", "-", "--entry", "mood", "--replay-answers", "answers.jsonl"];
    let messages = "{\"text\": \"never again\"}\n{\"text\": \"x\", \"answers\": {\"mood\": \"calm\"}}\n";
    let ran = folder.fed(&run, messages).expect(1);
    let decided = lines(&ran.out);
    let error = &decided[0]["error"];
    assert_eq!((&decided[0]["line"], &error["code"]), (&json!(1), &json!("E0808")));
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("the question `mood`"), "{message}");
    assert!(error["help"].as_str().expect("a help").contains("--record FILE"), "{error}");
    // The second message contains its own answer, so it needs no recorded answer.
    assert_eq!((&decided[1]["branch"], &decided[1]["failure"]), (&json!("calm"), &Value::Null));
    assert!(!ran.err.contains("no model is called"), "{}", ran.err);

    let key = message.split("(key ").nth(1).and_then(|rest| rest.split(')').next()).expect("a key");
    let record = |answer: Value| {
        let line = json!({"key": key, "question": "mood", "answer": answer, "reason": "they left"});
        Folder::with(RULES).file("answers.jsonl", format!("{line}\n"))
    };
    let decided = lines(&record(json!("angry")).fed(&run, messages).expect(0).out);
    assert_eq!((&decided[0]["branch"], &decided[0]["reason"]), (&json!("angry"), &json!("they left")));
    let decided = lines(&record(json!("furious")).fed(&run, messages).expect(0).out);
    assert_eq!((&decided[0]["branch"], &decided[0]["default"]), (&json!("calm"), &json!(true)));
    let failure = decided[0]["failure"].as_str().expect("a failure");
    assert!(failure.contains("`furious` is not a branch"), "{failure}");
    let decided = lines(&record(json!(null)).fed(&run, messages).expect(0).out);
    assert_eq!(decided[0]["failure"], "the model called no tool");

    // A recorded answer does not apply to another text, or to a question with another wording.
    let other = record(json!("angry"));
    other.fed(&run, "{\"text\": \"never\"}\n").expect(1);
    let wording = RULES.replace("how does the customer feel?", "how do they feel?");
    other.file("a.rules", wording).fed(&run, "{\"text\": \"never again\"}\n").expect(1);
}

#[test]
fn flows_are_selected_by_recorded_answers() {
    let folder = Folder::with(RULES).file("answers.jsonl", "");
    let run = ["run", "a.rules", "-", "--entry", "flows", "--replay-answers", "answers.jsonl"];
    // A message whose flow is found by a pattern or by the classifier needs no model.
    let messages = "{\"text\": \"hello\"}\n{\"text\": \"I want my money back\"}\n{\"text\": \"zzz\"}\n";
    let ran = folder.fed(&run, messages).expect(1);
    let decided = lines(&ran.out);
    assert_eq!((&decided[0]["flow"], &decided[1]["flow"]), (&json!("greeting"), &json!("refund_v2")));
    let message = decided[2]["error"]["message"].as_str().expect("an error");
    assert!(message.contains("the question `flows`"), "{message}");
    let key = message.split("(key ").nth(1).and_then(|rest| rest.split(')').next()).expect("a key");
    for (answer, flow, failure) in [
        (json!("status"), json!("status"), false),
        (json!("greeting"), json!(null), true),
        (json!(null), json!(null), false),
    ] {
        let line = json!({"key": key, "question": "flows", "answer": answer}).to_string();
        let folder = Folder::with(RULES).file("answers.jsonl", line);
        let decided = lines(&folder.fed(&run, messages).expect(0).out);
        assert_eq!(decided[2]["flow"], flow, "{}", decided[2]);
        let found_by = if flow.is_null() { Value::Null } else { json!("model") };
        assert_eq!((&decided[2]["found_by"], decided[2]["failure"].is_string()), (&found_by, failure));
    }
}

#[test]
fn wrong_options_and_files_are_refused() {
    let folder = Folder::with(RULES)
        .file(
            "answers.jsonl",
            "{\"key\": \"1\", \"question\": \"mood\", \"answer\": null}\n{\"key\": \"2\"}\n",
        )
        .file("empty.jsonl", "")
        .file("routes.rules", "default -> h\npayload p { a: int }");
    let mood = ["run", "a.rules", "-", "--entry", "mood"];
    let ran = folder.fed(&[&mood[..], &["--replay-answers", "answers.jsonl"]].concat(), "").expect(2);
    assert!(ran.err.contains("`answers.jsonl`, line 2 is not a recorded answer"), "{}", ran.err);
    assert!(!ran.err.contains("line 1"), "{}", ran.err);
    folder.fed(&[&mood[..], &["--replay-answers", "gone.jsonl"]].concat(), "").expect(2);
    let replay = ["--replay-answers", "empty.jsonl"];
    for args in [&["run", "routes.rules", "-"][..], &["run", "routes.rules", "-", "--decision", "p"]] {
        let ran = folder.fed(&[args, &replay].concat(), "{}\n").expect(2);
        assert!(ran.err.contains("`--replay-answers` has no effect"), "{}", ran.err);
    }
    let ran = folder.fed(&[&mood[..], &replay, &["--output", "x.csv"]].concat(), "{}\n").expect(2);
    assert!(ran.err.contains("--replay-answers") || ran.err.contains("columns"), "{}", ran.err);
    for wrong in [
        &["--model", "http://h/v1"][..],
        &["--model-name", "small"],
        &["--record", "x"],
        &["--model", "http://h/v1", "--model-name", "small", "--replay-answers", "empty.jsonl"],
        &["--model", "http://h/v1", "--model-name", "small", "--model-timeout", "0"],
    ] {
        folder.fed(&[&mood[..], wrong].concat(), "{}\n").expect(2);
    }
    if cfg!(not(feature = "http")) {
        let model = ["--model", "http://127.0.0.1:1/v1", "--model-name", "small"];
        let ran = folder.fed(&[&mood[..], &model].concat(), "{}\n").expect(2);
        assert!(ran.err.contains("--features http"), "{}", ran.err);
    }
}
