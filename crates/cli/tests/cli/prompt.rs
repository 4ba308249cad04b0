//! Tests of `rulec prompt`.

use super::Folder;
use serde_json::{Value, json};

const FLOWS: &str = "\
flow hello \"greets\" keyword exact [\"hello\"] -> \"greeting\"
flow refund \"gives money back\" intent [\"I want my money back\"] -> \"refund_v2\"
flow complain intent [\"我要投诉\"] -> \"complain\"
";
const SECTION: &str = "\
### Intent Flows
When user intent matches one of the following, call `flow_executor` tool with the corresponding flow_id:
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

/// Checks the default texts of the tool word for word.
#[test]
fn the_default_wording_is_the_one_of_the_flow_document() {
    let ran = Folder::with(FLOWS).rulec(&["prompt", "a.rules", "--format", "json"]).expect(0);
    let tool = &serde_json::from_str::<Value>(&ran.out).expect("one JSON object")["tool"]["function"];
    let described = "Trigger a predefined business flow. Use this tool when user intent matches an available flow from \
                     the Intent Flows list. Pass the corresponding flow_id to execute the matched flow.";
    let parameter = "The unique identifier of the flow to trigger. Must be one of the flow_id values from the Intent \
                     Flows list in system prompt.";
    assert_eq!(tool["description"], described);
    assert_eq!(tool["parameters"]["properties"]["flow_id"]["description"], parameter);
}

#[test]
fn the_author_words_the_prompts() {
    let rules = format!(
        "{FLOWS}{}",
        r####"
choice mood ask "客户心情{如何}？" to_user { branch angry "生气"  default branch calm }
flow tool start "启动流程。" { parameter: "流程的 id。" }
settings {
  flow_prompt: "### 意图流程\n符合下面某一项时，用 {{flow_id}} 调用 { tool }：\n{flows}",
  choice_prompt: r#"问题："{question}"（{tool}）"#,
  choice_tool: "回答：{question}", choice_branches: "选项：{branches}", choice_reason: "理由（{question}）"
}
"####
    );
    let folder = Folder::with(&rules);
    folder.rulec(&["check", "--deny", "warnings", "a.rules"]).expect(0);
    let ran = folder.rulec(&["prompt", "a.rules", "--format", "json"]).expect(0);
    let all: Value = serde_json::from_str(&ran.out).expect("one JSON object");
    let section = "### 意图流程\n符合下面某一项时，用 {flow_id} 调用 `start`：\n- `refund_v2`: gives money back\n- `complain`\n";
    assert_eq!(all["prompt"], section);
    let choice = &all["choices"][0];
    assert_eq!(choice["prompt"], "问题：\"客户心情{如何}？\"（`choose_branch`）\n");
    let function = &choice["tool"]["function"];
    assert_eq!(function["description"], "回答：客户心情{如何}？");
    let parameters = &function["parameters"]["properties"];
    assert_eq!(parameters["branch"]["description"], "选项：- `angry`: 生气\n- `calm`");
    assert_eq!(parameters["because"]["description"], "理由（客户心情{如何}？）");
    // Compiled rules keep the wording.
    folder.rulec(&["build", "a.rules", "-o", "a.rulec"]).expect(0);
    assert_eq!(folder.rulec(&["prompt", "a.rulec", "--format", "json"]).expect(0).out, ran.out);
    // The text format begins each tool on a line of its own.
    let ran = folder.rulec(&["prompt", "a.rules", "--entry", "mood"]).expect(0);
    assert!(ran.out.starts_with("问题：\"客户心情{如何}？\"（`choose_branch`）\n\n{"), "{}", ran.out);
}

#[test]
fn a_wrong_placeholder_is_an_error_that_check_corrects() {
    let folder =
        Folder::with("settings { flow_prompt: \"{tool}:\\n{flow}\" }\nflow a intent [\"b\"] -> \"a\"\n");
    let ran = folder.rulec(&["prompt", "a.rules"]).expect(1);
    assert!(ran.err.contains("E0414") && ran.err.contains("did you mean `{flows}`?"), "{}", ran.err);
}
