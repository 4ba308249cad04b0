//! Tests of `rulec analyze`, and of the analysis in the answers and the log of `rulec run`.

use super::Folder;
use serde_json::{Value as Json, json};

const RULES: &str = "\
input { text: string, ctx?: { n?: int } }
intent refund { examples [\"I want my money back\", \"please return my payment\"] }
intent status { examples [\"where is my order\", \"when will my parcel arrive\"] }
entity order matches any [r\"order (?<id>[0-9]+)\", r\"订单(?<id>[0-9]+)\"]
entity email matches r\"@[a-z]+\"
lexicon anger { \"furious\": 0.8 }
let context_score = min(ctx.n / 10, 1)
default -> chat
";

fn analyze(folder: &Folder, args: &[&str]) -> Json {
    let ran = folder.rulec(&[&["analyze", "a.rules"], args].concat()).expect(0);
    serde_json::from_str(&ran.out).expect("JSON")
}

fn entities(record: &Json) -> Vec<(String, String, u64, u64)> {
    let text = |one: &Json, key: &str| one[key].as_str().expect("a text").to_owned();
    let number = |one: &Json, key: &str| one[key].as_u64().expect("a number");
    let entities = record["entities"].as_array().expect("a list").iter();
    entities
        .map(|one| (text(one, "name"), text(one, "value"), number(one, "start"), number(one, "end")))
        .collect()
}

#[test]
fn the_analysis_is_printed_as_a_record() {
    let folder = Folder::with(RULES);
    let text = "I want my money back for order 7 and order 8, asap; I am furious";
    let record = analyze(&folder, &["--text", text, "--ctx", "{\"n\": 4}"]);
    let scores = ["intent", "best", "urgency", "context_score", "lexicons"].map(|key| record[key].clone());
    assert_eq!(scores, [json!("refund"), json!("refund"), json!(1.0), json!(0.4), json!({"anger": 0.8})]);
    assert!(record["score"].as_f64().is_some_and(|score| (0.3..=1.0).contains(&score)), "{record}");
    let words = record["keywords"].as_array().expect("a list");
    assert!(words.contains(&json!("money")) && !words.contains(&json!("my")), "{record}");
    let found = entities(&record);
    let orders: Vec<_> = found.iter().filter(|(name, ..)| name == "order").cloned().collect();
    let order = |value: &str, start, end| ("order".to_owned(), value.to_owned(), start, end);
    assert_eq!(orders, [order("order 7", 25, 32), order("order 8", 37, 44)]);
    assert_eq!(record["entities"][0]["fields"], json!({"id": "7"}));
    // Nothing is found in an empty text, and the context is optional.
    let record = analyze(&folder, &[""]);
    let empty = json!({
        "intent": null, "score": 0.0, "best": null, "entities": [], "keywords": [], "urgency": 0.0,
        "lexicons": {"anger": 0.0}, "context_score": null
    });
    assert_eq!(record, empty);
}

#[test]
fn positions_count_characters() {
    let text = "请退款300元到订单42，明天联系我@mail，电话13812345678";
    let found = entities(&analyze(&Folder::with(RULES), &[text]));
    let chars: Vec<char> = text.chars().collect();
    for (name, value, start, end) in &found {
        let part: String = chars[*start as usize..*end as usize].iter().collect();
        assert_eq!(part, *value, "{name}");
    }
    let names: Vec<&str> = found.iter().map(|(name, ..)| &**name).collect();
    assert_eq!(names, ["money", "order", "number", "date", "email", "phone"]);
    assert_eq!(found[1], ("order".to_owned(), "订单42".to_owned(), 8, 12));
}

#[test]
fn rules_without_declarations_have_an_analysis_too() {
    let folder = Folder::with("default -> chat");
    let record = analyze(&folder, &["pay 20 USD to a@example.com, urgent"]);
    assert_eq!((&record["intent"], &record["urgency"]), (&Json::Null, &json!(1.0)));
    assert_eq!(record["entities"][0]["fields"], json!({"amount": "20", "currency": "USD"}));
    let names: Vec<String> = entities(&record).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["money", "email"]);
}

#[test]
fn run_adds_the_analysis_to_answers_and_log() {
    let folder = Folder::with(RULES);
    let messages = "{\"text\": \"I want my money back\"}\n{\"text\": \"order 7\", \"ctx\": {\"n\": 5}}\n";
    let ran = folder.fed(&["run", "a.rules", "--analysis", "--log", "log.jsonl"], messages).expect(0);
    let answers = ran.json();
    assert_eq!(
        (&answers[0]["analysis"]["intent"], &answers[0]["chosen"]),
        (&json!("refund"), &json!("default"))
    );
    assert_eq!(answers[1]["analysis"], analyze(&folder, &["order 7", "--ctx", "{\"n\": 5}"]).clone());
    let log = std::fs::read_to_string(folder.path("log.jsonl")).expect("a log");
    for (line, answer) in log.lines().zip(&answers) {
        let line: Json = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["analysis"], answer["analysis"]);
    }
    folder.rulec(&["doctor", "a.rules", "--log", "log.jsonl"]).expect(0);
}

#[test]
fn the_log_masks_the_analysis_of_private_texts() {
    let private =
        "input { text: string @private, n?: int @private }\nlet context_score = n / 10\ndefault -> chat";
    let folder = Folder::with(private);
    let message = "{\"text\": \"mail a@example.com\", \"n\": 3}";
    let ran = folder.fed(&["run", "a.rules", "--analysis", "--log", "log.jsonl"], message).expect(0);
    assert_eq!(ran.json()[0]["analysis"]["entities"][0]["value"], "a@example.com");
    let log = std::fs::read_to_string(folder.path("log.jsonl")).expect("a log");
    assert!(log.contains("\"analysis\":\"•••\"") && !log.contains("example.com"), "{log}");
    let folder = Folder::with(private.replace("string @private", "string"));
    folder.fed(&["run", "a.rules", "--analysis", "--log", "log.jsonl"], message).expect(0);
    let log = std::fs::read_to_string(folder.path("log.jsonl")).expect("a log");
    assert!(log.contains("\"context_score\":\"•••\"") && log.contains("example.com"), "{log}");
}

#[test]
fn intents_that_cannot_be_learned_are_an_error() {
    let folder = Folder::with("intent odd { examples [\"!?\"] }\ndefault -> chat");
    for args in [&["analyze", "a.rules", "hello"][..], &["run", "a.rules", "--analysis"]] {
        let ran = folder.fed(args, "{}").expect(1);
        assert!(ran.err.contains("intent `odd` has nothing to learn from"), "{}", ran.err);
    }
}
