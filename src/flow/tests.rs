//! Tests of flow selection: by patterns first, then by meaning.

use super::*;
use crate::engine::Tier;

const DESK: &str = r#"
input { text: string, ctx: { message_count: int } }
flow hello keyword exact ["hello", "你好"] -> "greeting"
flow order "about an order" keyword contains ["查订单", "order status"] -> "order"
flow leave keyword regex [r"请.*天假"] -> "leave"
flow refund "gives money back" intent ["I want my money back", "我要退款"] keywords ["退钱"] -> "refund_v2"
flow complain "takes complaints" intent ["your service is bad", "我要投诉你们的服务"] -> "complain"
flow refund_again "for orders by mail" intent ["please return my payment"] -> "refund_v2"
"#;

fn new_matcher(text: &str) -> FlowMatcher {
    FlowMatcher::new(&Rules::from_text(text).unwrap()).unwrap()
}

fn classifying_matcher(text: &str) -> FlowMatcher {
    new_matcher(text).with_classifier(Options::default()).unwrap()
}

#[test]
fn keyword_flows_come_first_on_every_engine() {
    for tier in Tier::ALL {
        let rules = Rules::from_text(DESK).unwrap().with_tier(tier);
        let flows = FlowMatcher::new(&rules).unwrap().with_classifier(Options::default()).unwrap();
        for (text, expected) in [
            (" Hello　", Some(("greeting", "hello", "hello"))),
            ("hello you", None),
            ("我要查订单，我要退款", Some(("order", "order", "查订单"))),
            ("ORDER STATUS please", Some(("order", "order", "order status"))),
            ("请三天假", Some(("leave", "leave", "请.*天假"))),
            ("", None),
        ] {
            let found = match flows.find(text) {
                FlowSelection::Keyword(hit) => Some((hit.id, hit.name, hit.pattern)),
                _ => None,
            };
            assert_eq!(found, expected, "{text}");
        }
    }
}

#[test]
fn intent_flows_are_found_by_what_they_mean() {
    let flows = classifying_matcher(DESK);
    for (text, expected) in [
        ("please give me my money back", Some(("refund_v2", "refund"))),
        ("我想退钱", Some(("refund_v2", "refund"))),
        ("return the payment", Some(("refund_v2", "refund"))),
        ("你们的服务太差了，我要投诉", Some(("complain", "complain"))),
        ("who wrote hamlet", None),
        ("", None),
    ] {
        let found = flows.find(text);
        let hit = match &found {
            FlowSelection::Intent(hit) => Some((hit.id.as_str(), hit.name.as_str())),
            _ => None,
        };
        assert_eq!(hit, expected, "{text}: {found:?}");
    }
    // Without a classifier, intent flows are never found.
    let plain = new_matcher(DESK);
    assert_eq!(plain.find("please give me my money back"), FlowSelection::Nothing { nearest: Vec::new() });
}

#[test]
fn what_came_nearest_is_told() {
    let strict = Options { threshold: 1.0, margin: 0.0 };
    let flows = new_matcher(DESK).with_classifier(strict).unwrap();
    let FlowSelection::Nothing { nearest } = flows.find("my money, the money") else { panic!("found") };
    assert_eq!(
        nearest.first().map(|hit| (hit.id.as_str(), hit.name.as_str())),
        Some(("refund_v2", "refund"))
    );
    assert!(nearest.iter().all(|hit| hit.score > 0.0 && hit.score < 1.0), "{nearest:?}");
    assert_eq!(flows.find("éé"), FlowSelection::Nothing { nearest: Vec::new() });
}

#[test]
fn a_model_is_told_of_intent_flows_only() {
    let flows = new_matcher(DESK);
    let ids: Vec<_> = flows.intents().iter().map(|flow| flow.id.as_str()).collect();
    assert_eq!(ids, ["refund_v2", "complain"]);
    let lines: Vec<_> = flows.prompt().lines().skip(2).map(str::to_owned).collect();
    assert_eq!(
        lines,
        ["- `refund_v2`: gives money back; for orders by mail", "- `complain`: takes complaints"]
    );
    assert_eq!(flows.tool().ids(), ["refund_v2", "complain"]);
    let refund = flows.intent("refund_v2").unwrap();
    assert_eq!(refund.examples, ["I want my money back", "我要退款", "please return my payment"]);
    assert_eq!(refund.keywords, ["退钱"]);
    assert!(flows.intent("complain").is_some() && flows.intent("greeting").is_none());
    let keyword = classifying_matcher("flow hello keyword exact [\"hello\"] -> \"greeting\"");
    assert!(keyword.prompt().is_empty() && keyword.tool().ids().is_empty());
    assert_eq!(keyword.find("good day"), FlowSelection::Nothing { nearest: Vec::new() });
}

#[test]
fn a_flow_without_a_text_does_not_stop_the_others() {
    let rules = "flow a \"customer wants money back\" intent [] -> \"refund\"
         flow b \"where is my parcel\" intent [] -> \"track\"
         flow c intent [] -> \"x\"
         flow d intent [] -> \"y\"";
    let matcher = FlowMatcher::offline(&Rules::from_text(rules).unwrap()).unwrap();
    assert_eq!(matcher.unlearned(), ["x", "y"]);
    let FlowSelection::Intent(hit) = matcher.find("I want my money back") else { panic!("no intent flow") };
    assert_eq!((hit.id.as_str(), hit.name.as_str()), ("refund", "a"));
    // A language model may still choose the others.
    assert_eq!(matcher.tool().ids(), ["refund", "track", "x", "y"]);
    let bare = Rules::from_text("flow c intent [] -> \"x\"").unwrap();
    assert!(FlowMatcher::offline(&bare).is_err());
}

#[test]
fn what_cannot_work_is_refused() {
    let rules = Rules::from_text("default -> chat").unwrap();
    let refused = FlowMatcher::new(&rules).unwrap_err();
    assert!(refused.to_string().starts_with("the rules contain no flow; add one"), "{refused}");
    let bare = new_matcher("flow odd intent [] -> \"odd\"").with_classifier(Options::default()).unwrap_err();
    assert!(matches!(&bare, MatcherError::Classifier(TrainError::NoText { id }) if id == "odd"), "{bare}");
    let far = Options { threshold: 7.0, ..Options::default() };
    let refused = new_matcher(DESK).with_classifier(far).unwrap_err();
    assert!(refused.to_string().contains("`threshold` is 7"), "{refused}");
}
