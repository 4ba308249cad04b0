//! `rulec prompt`.

use super::Folder;
use serde_json::{Value, json};

const FLOWS: &str = "\
flow hello \"greets\" keyword exact [\"hello\"] -> \"greeting\"
flow refund \"gives money back\" intent [\"I want my money back\"] -> \"refund_v2\"
flow complain intent [\"我要投诉\"] -> \"complain\"
";
const SECTION: &str = "\
### Intent Flows
If one of these flows is what the user wants, call the tool `flow_executor` with its id:
- `refund_v2`: gives money back
- `complain`
";

#[test]
fn the_section_and_the_tool_are_printed() {
    let folder = Folder::with(FLOWS);
    let ran = folder.rulec(&["prompt", "a.rules"]).expect(0);
    let tool = ran.out.strip_prefix(SECTION).and_then(|rest| rest.strip_prefix('\n')).expect(&ran.out);
    let tool: Value = serde_json::from_str(tool).expect("the rest is JSON");
    let parameters = &tool["function"]["parameters"];
    assert_eq!(tool["function"]["name"], "flow_executor");
    assert_eq!(parameters["properties"]["flow_id"]["enum"], json!(["refund_v2", "complain"]));
    assert_eq!((&parameters["required"], ran.err.as_str()), (&json!(["flow_id"]), ""));

    let ran = folder.rulec(&["prompt", "a.rules", "--format", "json"]).expect(0);
    let both: Value = serde_json::from_str(&ran.out).expect("one JSON object");
    assert_eq!(both, json!({"prompt": SECTION, "tool": tool}));
    assert!(!ran.out.contains("greet") && !ran.out.contains("hello"), "{}", ran.out);
}

#[test]
fn rules_without_intent_flows_have_no_prompt() {
    for (rules, says) in [
        (
            "flow hello keyword exact [\"hello\"] -> \"greeting\"",
            "error: the rules contain no intent flow, only",
        ),
        ("default -> chat", "error: the rules contain no flow; add one"),
        (
            "choice size { default branch small  branch large { steps.a.n as number > 3 } }",
            "error: the rules contain no flow and no choice that asks a model; `--entry` prints a choice as a tool: size",
        ),
    ] {
        let ran = Folder::with(rules).rulec(&["prompt", "a.rules"]).expect(2);
        assert!(ran.out.is_empty() && ran.err.starts_with(says), "{}", ran.err);
    }
    let ran = Folder::with("flow hello").rulec(&["prompt", "a.rules"]).expect(1);
    assert!(ran.out.is_empty() && ran.err.contains("E0"), "{}", ran.err);
    Folder::new().rulec(&["prompt", "missing.rules"]).expect(2);
    Folder::with(FLOWS).rulec(&["prompt", "a.rules", "--format", "yaml"]).expect(2);
}
