//! Tests that the example rules work as documented.

use super::{Folder, Ran, program};
use std::path::Path;

fn rulec(args: &[&str]) -> Ran {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Ran::new(program(&root).args(args).output().expect("the program starts"))
}

#[test]
fn the_help_desk_is_sound_and_its_tests_pass() {
    rulec(&["check", "examples/helpdesk.rules", "--deny", "warnings"]).expect(0);
    let ran = rulec(&["test", "examples/helpdesk.rules"]).expect(0);
    assert!(ran.out.ends_with("12 passed, 0 failed\n"), "{}", ran.out);
}

#[test]
fn the_help_desk_routes_its_messages() {
    let ran = rulec(&["run", "examples/helpdesk.rules", "examples/helpdesk_messages.jsonl"]).expect(0);
    let chosen: Vec<String> =
        ran.json().iter().map(|answer| answer["chosen"].as_str().unwrap_or("none").to_owned()).collect();
    let expected = "show_files show_files run_code run_refused default error_recovery refund invoice uploads night greeting default";
    assert_eq!(chosen.join(" "), expected);
    assert_eq!(ran.json()[11]["breaches"][0]["path"], "ctx.message_count");
}

#[test]
fn the_orders_take_their_branches() {
    for rules in ["examples/orders.rules", "examples/council.rules"] {
        rulec(&["check", rules, "--deny", "warnings"]).expect(0);
    }
    let ran = rulec(&["test", "examples/orders.rules"]).expect(0);
    assert!(ran.out.ends_with("5 passed, 0 failed\n"), "{}", ran.out);
    let ran = rulec(&["run", "examples/orders.rules", "examples/orders.jsonl"]).expect(0);
    let branches: Vec<String> =
        ran.json().iter().map(|answer| answer["branch"].as_str().unwrap_or("none").to_owned()).collect();
    let expected = "ship ship_express manual_review fraud_check remind cancel fraud_check manual_review";
    assert_eq!(branches.join(" "), expected);
    assert_eq!(ran.json()[0]["skipped"][0]["condition"], "steps.customs.cleared as bool == true");
}

#[test]
fn every_code_has_a_page() {
    let folder = Folder::new();
    let list = folder.rulec(&["explain"]).expect(0).out;
    assert_eq!(list.lines().count(), rulec::Code::ALL.len());
    for line in list.lines() {
        let code = line.split(' ').next().expect("a line starts with a code");
        let page = folder.rulec(&["explain", code]).expect(0).out;
        assert!(page.starts_with(&format!("# {code}")), "{page}");
    }
}

#[test]
fn the_chat_bot_is_sound_and_a_model_is_told_of_its_intent_flows_only() {
    rulec(&["check", "examples/chatbot.rules", "--deny", "warnings"]).expect(0);
    let ran = rulec(&["test", "examples/chatbot.rules"]).expect(0);
    assert!(ran.out.ends_with("8 passed, 0 failed\n"), "{}", ran.out);
    let ran = rulec(&["prompt", "examples/chatbot.rules"]).expect(0);
    let lines: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("- `")).collect();
    let expected = [
        "- `refund_request`: 客户要求退款或退货",
        "- `complaint_handling`: 客户投诉服务、质量或态度",
        "- `product_recommendation`: 根据客户需要推荐商品",
    ];
    assert_eq!(lines, expected);
    assert!(!ran.out.contains("human_agent"), "{}", ran.out);
}

/// The examples and the rules shipped with `rulec` are formatted.
#[test]
fn the_rules_that_are_shipped_are_formatted() {
    rulec(&["fmt", "--check", "examples", "rules"]).expect(0);
}
