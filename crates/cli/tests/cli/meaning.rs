//! Tests of intent flows, and of choices made by a language model, with `run`, `why`, `test` and
//! `prompt`. The tests need no network.

use super::Folder;
use serde_json::{Value as Json, json};

const FLOWS: &str = "\
flow hello keyword exact [\"hello\"] -> \"greeting\"
flow refund \"gives money back\" intent [\"I want my money back\", \"return my payment\"] -> \"refund_v2\"
flow complain \"takes complaints\" intent [\"your service is bad\", \"I am not content\"] -> \"complain\"
";
const MOOD: &str = "\
input { text: string }
choice mood ask \"how does the customer feel?\" to_user {
  branch angry \"furious\"
  branch worried
  default branch calm \"anything else\"
}
";

#[test]
fn run_finds_intent_flows_behind_the_patterns() {
    let lines = "{\"text\": \"hello\"}\n{\"text\": \"please give my money back\"}\n{\"text\": \"who wrote hamlet\"}\n{}\n";
    let folder = Folder::with(FLOWS);
    let ran = folder.fed(&["run", "a.rules"], lines).expect(0);
    let answers = ran.json();
    assert_eq!(
        answers[0],
        json!({"line": 1, "entry": "flows", "flow": "greeting", "name": "hello", "pattern": "hello"})
    );
    let found = (&answers[1]["flow"], &answers[1]["name"], &answers[1]["pattern"]);
    assert_eq!(found, (&json!("refund_v2"), &json!("refund"), &Json::Null));
    assert!(answers[1]["score"].as_f64().is_some_and(|score| score >= 0.3), "{}", answers[1]);
    for answer in &answers[2..] {
        assert_eq!((&answer["flow"], &answer["score"]), (&Json::Null, &Json::Null), "{answer}");
    }
    assert_eq!(ran.err, "4 messages: flows.hello 1, flows.refund 1, none 2\n");
    for engine in ["vm", "reference"] {
        let same = folder.fed(&["run", "a.rules", "--engine", engine, "--jobs", "2"], lines).expect(0);
        assert_eq!(same.out, ran.out, "{engine}");
    }
    let ran = folder.fed(&["run", "a.rules", "--all", "--explain"], lines).expect(0);
    let answers = ran.json();
    assert_eq!(answers[1]["matched"], json!([]));
    assert_eq!(answers[1]["explanation"]["intents"]["ranked"][0]["chosen"], json!(true));
    // Regression test: a file with only intent flows was reported as having no entry.
    let intents = FLOWS.split_once('\n').expect("a line").1;
    let ran = Folder::with(intents).fed(&["run", "a.rules"], "{\"text\": \"return my payment\"}").expect(0);
    assert_eq!(ran.json()[0]["flow"], "refund_v2");
    // The author can set how certain the intent classifier must be.
    let strict = format!("settings {{ intent_threshold: 1 }}\n{FLOWS}");
    let ran = Folder::with(strict).fed(&["run", "a.rules"], "{\"text\": \"the money\"}").expect(0);
    assert_eq!(
        (&ran.json()[0]["flow"], &ran.json()[0]["nearest"][0]["name"]),
        (&Json::Null, &json!("refund"))
    );
}

#[test]
fn what_cannot_be_learnt_is_said_and_patterns_are_still_looked_for() {
    let folder =
        Folder::with("flow hello keyword exact [\"hello\"] -> \"greeting\"\nflow odd intent -> \"odd\"\n");
    let ran = folder.fed(&["run", "a.rules"], "{\"text\": \"hello\"}").expect(0);
    assert_eq!(ran.json()[0]["flow"], "greeting");
    assert!(
        ran.err.starts_with("note: only patterns are searched, because the intent flows cannot be used"),
        "{}",
        ran.err
    );
}

#[test]
fn why_shows_the_scores_of_the_intent_flows() {
    let folder = Folder::with(FLOWS);
    let ran = folder.rulec(&["why", "a.rules", "--full", "--text", "I want my money back"]).expect(0);
    insta::assert_snapshot!(ran.out, @r#"
    why: flows → refund
      message   text = "I want my money back"

    ✗ hello
    │  ✗ exact "hello"   text = "I want my money back"
    ✗ no condition in flows holds
    intent flows, by score (threshold 0.3, margin 0.05)
    │  ✓ refund          0.9493
    │  ✗ complain        0.0236
    "#);
    let ran = folder
        .rulec(&["why", "a.rules", "--full", "--text", "I want my money back", "--format", "json"])
        .expect(0);
    let explained: Json = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!((&explained["chosen"], &explained["intents"]["threshold"]), (&json!("refund"), &json!(0.3)));
    // If a keyword pattern matches, the intent classifier is not used.
    let ran = folder.rulec(&["why", "a.rules", "--full", "--text", "hello"]).expect(0);
    assert!(!ran.out.contains("intent flows"), "{}", ran.out);
}

#[test]
fn tests_expect_intent_flows_and_answers() {
    let tests = "\
test \"money\" { given text = \"give back my money\"  expect flows.refund }
test \"by its name alone\" { given text = \"give back my money\"  expect refund }
test \"a pattern\" { given text = \"hello\"  expect flows.hello }
test \"nothing\" { given text = \"who wrote hamlet\"  expect flows.none }
test \"angry\" { given text = \"never\"  given answers = { mood: \"angry\" }  expect mood.angry }
test \"no answer\" { given text = \"never\"  expect mood.calm }
test \"none of the branches\" { given answers = { mood: \"glad\" }  expect mood.calm }
";
    let ran = Folder::with(format!("{MOOD}{FLOWS}{tests}")).rulec(&["test", "a.rules"]).expect(0);
    assert!(ran.out.ends_with("7 passed, 0 failed\n"), "{}", ran.out);
    let wrong = "\
test \"money\" { given text = \"give back my money\"  expect flows.complain }
test \"nothing\" { given text = \"give back my money\"  expect flows.none }
test \"a pattern\" { given text = \"hello\"  expect flows.refund }
test \"angry\" { given answers = { mood: \"angry\" }  expect mood.worried }
";
    let ran = Folder::with(format!("{MOOD}{FLOWS}{wrong}")).rulec(&["test", "a.rules"]).expect(1);
    assert!(ran.out.ends_with("0 passed, 4 failed\n"), "{}", ran.out);
    for said in [
        "money — expected flows.complain, got flows.refund",
        "nothing — expected none, got flows.refund",
        "a pattern — expected flows.refund, got flows.hello",
        "angry — expected mood.worried, got mood.angry",
        "intent flows, by score",
    ] {
        assert!(ran.out.contains(said), "{said}\n{}", ran.out);
    }
    let unknown = format!("{FLOWS}test \"x\" {{ given text = \"x\"  expect flows.refunds }}\n");
    let ran = Folder::with(unknown).rulec(&["test", "a.rules"]).expect(1);
    assert!(
        ran.err.contains("there is no flow `refunds`") && ran.err.contains("did you mean `refund`"),
        "{}",
        ran.err
    );
}

#[test]
fn an_asked_choice_reads_its_answer_from_the_message() {
    let folder = Folder::with(MOOD);
    let lines = "{\"text\": \"never\", \"answers\": {\"mood\": \"angry\"}}\n{\"text\": \"never\"}\n\
                 {\"text\": \"x\", \"answers\": {\"mood\": \"glad\"}}\n{\"text\": \"x\", \"answers\": {\"mood\": 7}}\n\
                 {\"text\": \"x\", \"answers\": {\"mood\": \"calm\"}}\n";
    let ran = folder.fed(&["run", "a.rules"], lines).expect(0);
    let answers = ran.json();
    let found: Vec<(&str, bool, &str)> = answers
        .iter()
        .map(|answer| {
            let failure = answer["failure"].as_str().unwrap_or_default();
            (answer["branch"].as_str().expect("a branch"), answer["default"] == true, failure)
        })
        .collect();
    let expected = [
        ("angry", false, ""),
        ("calm", true, "no model has answered: the message has no `answers.mood`"),
        ("calm", true, "the answer `glad` is not a branch; the branches are `angry`, `worried`, `calm`"),
        ("calm", true, "the answer must be the id of a branch, but is 7"),
        ("calm", true, ""),
    ];
    assert_eq!(found, expected);
    assert_eq!(answers[0]["to_user"], true);
    assert_eq!(answers[0]["reason"], "`angry` is the answer to: how does the customer feel?");
    let note = "note: `mood` asks a language model, but no model is called: the answer is read from \
                `answers.mood` of the message; `rulec prompt a.rules --entry mood` prints the prompt\n";
    assert_eq!(ran.err, format!("{note}5 messages: mood.angry 1, mood.calm 4\n"));

    let ran = folder.rulec(&["why", "a.rules", "--full", "--text", "never"]).expect(0);
    assert!(ran.out.starts_with("why: choice mood → calm\n"), "{}", ran.out);
    let asked = "a language model is asked: how does the customer feel?\n  ! no model has answered";
    assert!(ran.out.contains(asked), "{}", ran.out);
    let message = "{\"answers\": {\"mood\": \"angry\"}}";
    let ran = folder.rulec(&["why", "a.rules", "--full", "--input", message, "--format", "json"]).expect(0);
    let explained: Json = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!((&explained["chosen"], &explained["failure"]), (&json!("angry"), &Json::Null));
    assert_eq!(explained["question"], "how does the customer feel?");
    // If there is another entry, a choice that asks a model is not the default entry.
    let folder = Folder::with(format!("{MOOD}{FLOWS}"));
    assert_eq!(
        folder.fed(&["run", "a.rules"], "{\"text\": \"hello\"}").expect(0).json()[0]["entry"],
        "flows"
    );
}

#[test]
fn prompt_prints_questions_and_tools() {
    let folder = Folder::with(format!(
        "{MOOD}{FLOWS}## Says how large an order is.\nchoice size {{ default branch small  branch large {{ steps.order.total as number >= 100 }} }}\n"
    ));
    let ran = folder.rulec(&["prompt", "a.rules", "--format", "json"]).expect(0);
    let told: Json = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!(told["tool"]["function"]["name"], "flow_executor");
    let mood = &told["choices"][0];
    assert_eq!((&mood["name"], told["choices"].as_array().map(Vec::len)), (&json!("mood"), Some(1)));
    let parameters = &mood["tool"]["function"]["parameters"];
    assert_eq!(parameters["properties"]["branch"]["enum"], json!(["angry", "worried", "calm"]));
    assert_eq!(parameters["required"], json!(["because", "branch"]), "the user is to see why");
    let one = folder.rulec(&["prompt", "a.rules", "--entry", "mood", "--format", "json"]).expect(0);
    let one: Json = serde_json::from_str(&one.out).expect("it is JSON");
    assert_eq!(one, *mood);
    let text = folder.rulec(&["prompt", "a.rules"]).expect(0).out;
    let (flows, question) =
        (text.find("### Intent Flows"), text.find("### Question\nhow does the customer feel?"));
    assert!(flows < question && flows.is_some(), "{text}");

    let ran = folder.rulec(&["prompt", "a.rules", "--entry", "size", "--format", "json"]).expect(0);
    let size: Json = serde_json::from_str(&ran.out).expect("it is JSON");
    let function = &size["tool"]["function"];
    assert_eq!(function["name"], "size");
    assert_eq!(
        function["description"],
        "Says how large an order is. Answers with the branch to take: `small`, `large`."
    );
    let total = "/parameters/properties/steps/properties/order/properties/total/type";
    assert_eq!(function.pointer(total), Some(&json!("number")));
    let ran = folder.rulec(&["prompt", "a.rules", "--entry", "sise"]).expect(2);
    assert_eq!(ran.err, "error: the rules contain no choice `sise`; did you mean `size`?\n");
    let ran = Folder::with(MOOD).rulec(&["prompt", "a.rules", "--entry", "flows"]).expect(2);
    assert!(ran.err.starts_with("error: the rules contain no flow; add one"), "{}", ran.err);
}

/// The rules define the name and description of the tool that a language model calls. Regression
/// test: the prompt always used a fixed name.
#[test]
fn a_flow_tool_names_itself_in_the_prompt() {
    let tool = "flow tool start_flow \"Starts a flow of the shop.\" { parameter: \"which\", endpoint: { url: \"http://h/\" } }\n";
    let folder = Folder::with(format!("{FLOWS}{tool}"));
    let ran = folder.rulec(&["prompt", "a.rules", "--format", "json"]).expect(0);
    let printed: Json = serde_json::from_str(&ran.out).expect("it is JSON");
    let function = &printed["tool"]["function"];
    assert_eq!(
        (&function["name"], &function["description"]),
        (&json!("start_flow"), &json!("Starts a flow of the shop."))
    );
    assert_eq!(function["parameters"]["properties"]["flow_id"]["description"], "which");
    assert!(printed["prompt"].as_str().is_some_and(|text| text.contains("call `start_flow` tool")));
}
