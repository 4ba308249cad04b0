//! Tests of answers in the form of the protocol: snippets, the order of completion items, hover
//! texts, refactorings, and requests that wait for the analysis.

use super::client::{Client, URI};
use serde_json::{Value as Json, json};

const RULES: &str = "\
input { text: string, ctx: { tier: \"free\" | \"gold\", n: int } }
handler billing(tier: string, note?: string)
def over(limit: int) = ctx.n > limit
route a when ctx.tier in [\"gold\", \"free\"] -> billing(tier: ctx.tier)
route b when text == \"x\" and ctx.tier in [\"gold\", \"free\"] -> billing(tier: \"x\")
";

/// Returns the parameters of a request at the mark `┃` of a line after [`RULES`], and the text.
fn at_mark(line: &str) -> (String, Json) {
    let (before, after) = line.split_once('┃').expect("there is a mark");
    let row = RULES.lines().count() + before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
    let position = json!({ "line": row, "character": column });
    let params = json!({ "textDocument": { "uri": URI }, "position": position });
    (format!("{RULES}{before}{after}\n"), params)
}

/// Returns the completion items at the mark, for an editor with these capabilities.
fn items(line: &str, capabilities: Json) -> Vec<Json> {
    let (text, params) = at_mark(line);
    let mut client = Client::with_capabilities(&text, capabilities);
    let response = client.request("textDocument/completion", params);
    client.stop();
    response["result"].as_array().cloned().unwrap_or_default()
}

fn snippet_support() -> Json {
    json!({ "textDocument": { "completion": { "completionItem": { "snippetSupport": true } } } })
}

#[test]
fn an_editor_with_snippets_gets_placeholders_and_any_other_plain_text() {
    for (line, label, snippet) in [
        ("let x = url┃", "url_query", "url_query(${1:text}, \"${2:key}\")$0"),
        ("let x = ┃", "over", "over(${1:limit})$0"),
        ("route c when text == \"y\" -> ┃", "billing", "billing(tier: ${1:tier})$0"),
        ("ta┃", "table", "table ${1:name} {\n  route ${2:first} when ${3:condition} -> ${4:target}\n\\}$0"),
    ] {
        let inserted = |capabilities: Json| {
            let items = items(line, capabilities);
            let item = items.iter().find(|item| item["label"] == label);
            let item = item.unwrap_or_else(|| panic!("no {label} in {line}: {items:?}"));
            (item["textEdit"]["newText"].clone(), item["insertTextFormat"].clone())
        };
        assert_eq!(inserted(snippet_support()), (json!(snippet), json!(2)), "{line}");
        assert_eq!(inserted(json!({})), (json!(label), Json::Null), "{line}");
    }
}

#[test]
fn the_values_of_an_enumeration_come_first_and_replace_a_half_typed_string() {
    for (line, start, end) in [
        ("route c when ctx.tier == ┃", 25, 25),
        ("route c when ctx.tier == \"g┃\" -> billing(tier: \"x\")", 25, 28),
        ("route c when ctx.tier == \"g┃", 25, 27),
        ("route c when ctx.tier == \"g┃ -> billing(tier: text)", 25, 27),
        ("route c when ctx.tier in [\"free\", ┃]", 34, 34),
    ] {
        let mut items = items(line, json!({}));
        items.sort_by_key(|item| item["sortText"].as_str().map(str::to_owned));
        let labels: Vec<&Json> = items.iter().take(2).map(|item| &item["label"]).collect();
        assert_eq!(labels, ["\"free\"", "\"gold\""], "{line}");
        let range = &items[0]["textEdit"]["range"];
        assert_eq!(
            (&range["start"]["character"], &range["end"]["character"]),
            (&json!(start), &json!(end)),
            "{line}"
        );
    }
}

#[test]
fn a_clause_offers_what_its_grammar_allows() {
    let labels = |line: &str| -> Vec<String> {
        let items = items(line, json!({}));
        items.iter().filter_map(|item| item["label"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(labels("intent i { keywords [┃] }"), Vec::<String>::new());
    assert_eq!(labels("intent i { ┃ }"), ["examples", "keywords"]);
    assert_eq!(labels("test \"t\" { given ctx = { n: 1, ┃ } }"), ["tier"]);
}

#[test]
fn hover_explains_a_modifier_with_an_example() {
    let (text, params) = at_mark("let x = text contains an┃y [\"a\"]");
    let mut client = Client::start(&text);
    let response = client.request("textDocument/hover", params);
    let shown = response["result"]["contents"]["value"].as_str().unwrap_or_default().to_owned();
    assert!(shown.starts_with("```rules\n") && shown.contains("at least one text of the list"), "{shown}");
    client.stop();
}

#[test]
fn a_list_of_a_condition_can_be_named() {
    let mut client = Client::start(RULES);
    let position = json!({ "line": 3, "character": 28 });
    let params = json!({
        "textDocument": { "uri": URI },
        "range": { "start": position, "end": position },
        "context": { "diagnostics": [] },
    });
    let response = client.request("textDocument/codeAction", params);
    let actions = response["result"].as_array().cloned().unwrap_or_default();
    let named =
        |action: &&Json| action["title"].as_str().is_some_and(|title| title.contains("name this list"));
    let action = actions.iter().find(named).unwrap_or_else(|| panic!("not offered: {actions:?}"));
    let texts: Vec<&Json> = action["edit"]["changes"][URI]
        .as_array()
        .into_iter()
        .flatten()
        .map(|edit| &edit["newText"])
        .collect();
    assert_eq!(texts, ["list tiers = [\"gold\", \"free\"]\n", "tiers", "tiers"]);
    assert_eq!(action["kind"], "refactor");
    client.stop();
}

/// A request for findings waits for the analysis of its document. It is refused if the document
/// changes or if the editor cancels the request.
#[test]
fn requests_for_findings_wait_for_the_analysis() {
    let hidden = "route a when ctx.n > 3 -> h\nroute b when ctx.n > 5 -> h\n";
    let lens = json!({ "textDocument": { "uri": URI } });
    let mut client = Client::start(hidden);
    for version in 1..20 {
        client.change(version * 2, &format!("{hidden}# {version}\n"));
        let first = client.send("textDocument/codeLens", lens.clone());
        client.change(version * 2 + 1, &format!("{hidden}# {version}.\n"));
        let second = client.send("textDocument/codeLens", lens.clone());
        let third = client.send("textDocument/diagnostic", lens.clone());
        client.notify("$/cancelRequest", json!({ "id": third }));
        // The analysis may be complete before the server reads the next message.
        let first = client.response_to(first);
        assert!(first["error"]["code"] == -32801 || first["result"].is_array(), "{first}");
        let second = client.response_to(second);
        assert_eq!(second["result"].as_array().map(Vec::len), Some(1), "{second}");
    }
    client.stop();
}

/// The difference from an earlier answer gives the same tokens as a new answer.
#[test]
fn the_difference_of_colours_gives_the_new_colours() {
    let numbers = |json: &Json| -> Vec<u64> {
        json.as_array().into_iter().flatten().filter_map(Json::as_u64).collect()
    };
    let document = json!({ "textDocument": { "uri": URI } });
    let mut client = Client::start(RULES);
    let first = client.request("textDocument/semanticTokens/full", document.clone());
    let (mut id, mut data) = (first["result"]["resultId"].clone(), numbers(&first["result"]["data"]));
    let changes = [
        format!("# 😀 new\n{RULES}"),
        RULES.replace("billing(tier: \"x\")", "other"),
        RULES.to_owned(),
        RULES.to_owned(),
        String::new(),
        RULES.to_owned(),
    ];
    for (version, text) in (1..).zip(&changes) {
        client.change(version, text);
        let params = json!({ "textDocument": { "uri": URI }, "previousResultId": id });
        let delta = client.request("textDocument/semanticTokens/full/delta", params)["result"].clone();
        let edits = delta["edits"].as_array().unwrap_or_else(|| panic!("no edits: {delta}"));
        for edit in edits {
            let at = |key: &str| edit[key].as_u64().expect("a number") as usize;
            data.splice(at("start")..at("start") + at("deleteCount"), numbers(&edit["data"]));
        }
        let full = client.request("textDocument/semanticTokens/full", document.clone());
        assert_eq!(data, numbers(&full["result"]["data"]), "{text}");
        id = delta["resultId"].clone();
    }
    let unknown = json!({ "textDocument": { "uri": URI }, "previousResultId": "none" });
    let all = client.request("textDocument/semanticTokens/full/delta", unknown);
    assert_eq!(numbers(&all["result"]["data"]), data, "without the earlier answer, all tokens");
    let range = json!({
        "textDocument": { "uri": URI },
        "range": { "start": { "line": 3, "character": 0 }, "end": { "line": 3, "character": 20 } },
    });
    let visible = client.request("textDocument/semanticTokens/range", range);
    let visible = numbers(&visible["result"]["data"]);
    assert_eq!(visible.first(), Some(&3), "the line of the first token");
    assert!(!visible.is_empty() && visible.len() < data.len() / 3, "{} integers", visible.len());
    client.stop();
}
