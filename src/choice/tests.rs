//! Tests of choices: tool definitions, reasons, and answers to questions.

use super::*;
use serde_json::json;

const RULES: &str = r#"
input { steps?: any, ctx?: { total: int, phone?: string @private } }
let known = (steps.customer.tags as list) contains "known"
## Says what happens to an order.
choice next_step {
  default branch look
  branch ship { steps.payment.status as string == "paid"; steps.stock.missing as number == 0 }
  branch check any { (steps.order.total as number ?? 0) > 5000; known }
  branch call { ctx.phone starts_with "0"; ctx.total > 3 }
}
choice alone { default branch a }
choice bare { branch b { steps.x as bool == true } }
choice mood ask "how do they feel?" { branch angry "furious"  default branch calm }
"#;

fn rules() -> Rules {
    Rules::from_text(RULES).unwrap()
}

#[test]
fn a_choice_is_a_tool_whose_parameters_are_what_it_reads() {
    let rules = rules();
    let function = tool(&rules, "next_step").unwrap()["function"].clone();
    let expected =
        "Says what happens to an order. Answers with the branch to take: `look`, `ship`, `check`, `call`.";
    assert_eq!((&function["name"], &function["description"]), (&json!("next_step"), &json!(expected)));
    let kind = |path: &str| function.pointer(&format!("/parameters/properties/{path}/type")).cloned();
    for (path, expected) in [
        ("ctx/properties/total", json!("integer")),
        ("ctx/properties/phone", json!("string")),
        ("steps", json!("object")),
        ("steps/properties/payment/properties/status", json!("string")),
        ("steps/properties/stock/properties/missing", json!("number")),
        ("steps/properties/customer/properties/tags", json!("array")),
    ] {
        assert_eq!(kind(path), Some(expected), "{path}: {function}");
    }
    assert_eq!(function["parameters"]["required"], json!([]));
    let question = tool(&rules, "mood").unwrap();
    assert_eq!(question, Question::new(&rules, "mood").unwrap().tool().to_json());
    assert_eq!(
        tool(&rules, "next").unwrap_err().to_string(),
        "the rules contain no choice `next`; the known names are `next_step`, `alone`, `bare`, `mood`"
    );
}

#[test]
fn reasons_are_sentences_in_the_order_of_the_search() {
    let sentences_for = |name: &str, message: Json| -> Vec<String> {
        reasons(&rules(), name, &message).unwrap().map(String::from).collect()
    };
    let steps = json!({"payment": {"status": "paid"}, "stock": {"missing": 0}, "customer": {"tags": []}});
    let sentences = sentences_for("next_step", json!({"steps": steps, "ctx": {"total": 1, "phone": "0555"}}));
    assert_eq!(
        sentences,
        [
            "`call` is not chosen: `ctx.total > 3` does not hold.",
            "`check` is not chosen: `(steps.order.total as number ?? 0) > 5000` and `known` do not hold.",
            "`ship` is chosen: `steps.payment.status as string == \"paid\"` and `steps.stock.missing as number == 0` hold.",
        ]
    );
    assert!(!sentences.concat().contains("0555"), "private values are not shown");
    let nothing = sentences_for("bare", json!({}));
    assert_eq!(nothing, ["`b` is not chosen: steps.x is missing: steps is missing.", "No branch matches."]);
    assert_eq!(sentences_for("alone", json!({})), ["`a` is chosen."]);
    assert_eq!(
        sentences_for("mood", json!({"answers": {"mood": "angry"}})),
        ["`angry` is the answer to: how do they feel?"]
    );
    assert_eq!(
        sentences_for("mood", json!({})),
        ["`calm` is chosen, because no model has answered: the message has no `answers.mood`."]
    );
    assert!(reasons(&rules(), "routes", &json!({})).is_err());
}

#[test]
fn a_model_reads_neither_what_is_private_nor_the_answers() {
    let question = Question::new(&rules(), "mood").unwrap();
    let message = json!({"text": "x", "answers": {"mood": "calm"}, "ctx": {"total": 1, "phone": "0555"}});
    let known = question.known(&message).unwrap();
    assert!(known.contains("total") && !known.contains("0555") && !known.contains("answers"), "{known}");
    assert_eq!(question.known(&json!({"text": "x"})), None);
    assert!(!question.to_user() && !question.tool().wants_reason());
}
