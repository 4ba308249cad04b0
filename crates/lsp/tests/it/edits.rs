//! Random edits: after each edit, a server that saw all edits must answer like a new server that
//! opens the current text. `RULEC_TIMES=70` runs 70 times the usual number of edits.

#[path = "../../../../tests/support/random.rs"]
#[allow(dead_code, reason = "edits use a part of it")]
mod random;
#[path = "../../../../tests/support/trials.rs"]
mod trials;

use super::client::{Client, URI};
use random::Random;
use serde_json::{Value as Json, json};

const BASE_TEXT: &str = "\
## Asks for money.\r
let money = text contains any [\"refund\", \"😀 geld\"]
list tiers = [\"gold\", \"silver\"]
def over(n: int) = len(ctx.orders) > n
route refund priority 2 when money and ctx.tier in tiers -> billing(tier: ctx.tier)
route many priority 9 when over(n: 3) and any order in ctx.orders: order > 9 -> billing
table rest {
  route every when text is present and 文 == 1 -> billing
}
payload pay rank 1 { name: string not blank
  require \"long\": len(name) > 3 }
test \"a refund\" { given text = \"refund\" expect refund }
";

/// Texts to insert.
const INSERTED_TEXTS: [&str; 16] = [
    "money",
    " and ",
    "\n",
    "(",
    ")",
    "{",
    "\"",
    " when ctx.",
    " -> ",
    "route x when y -> h\n",
    "😀",
    "文",
    "# c\r\n",
    "let z = 1\n",
    " not ",
    "priority 3",
];

/// Returns the protocol position of a byte offset.
fn lsp_position(text: &str, offset: usize) -> Json {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": line, "character": before[start..].encode_utf16().count() })
}

/// Returns a random offset between two characters that an editor can address: never inside a line
/// break.
fn random_offset(text: &str, random: &mut Random) -> usize {
    let near = random.below(text.len() + 1);
    let fits = |at: &usize| {
        text.is_char_boundary(*at) && !(text[*at..].starts_with('\n') && text[..*at].ends_with('\r'))
    };
    (0..=near).rev().find(fits).unwrap_or(0)
}

/// Returns one request of each kind, at this offset.
fn requests_at(text: &str, at: usize) -> Vec<(&'static str, Json)> {
    let (document, position) = (json!({ "uri": URI }), lsp_position(text, at));
    let everything =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9999, "character": 0 } });
    let place = json!({ "textDocument": document, "position": position, "context": { "includeDeclaration": true, "triggerKind": 1, "isRetrigger": false } });
    let rename = json!({ "textDocument": document, "position": position, "newName": "quite_another" });
    let whole = json!({ "textDocument": document, "range": everything, "options": { "tabSize": 2, "insertSpaces": true }, "context": { "diagnostics": [] } });
    let mut all = vec![("textDocument/rename", rename), ("workspace/symbol", json!({ "query": "e" }))];
    let selection = json!({ "textDocument": document, "positions": [position] });
    all.push(("textDocument/selectionRange", selection));
    all.extend(
        ["textDocument/typeDefinition", "textDocument/signatureHelp"].map(|method| (method, place.clone())),
    );
    let at_place = ["hover", "completion", "definition", "references", "documentHighlight", "prepareRename"];
    all.extend(
        at_place
            .map(|_| ("", place.clone()))
            .into_iter()
            .zip([
                "textDocument/hover",
                "textDocument/completion",
                "textDocument/definition",
                "textDocument/references",
                "textDocument/documentHighlight",
                "textDocument/prepareRename",
            ])
            .map(|((_, params), method)| (method, params)),
    );
    all.extend(
        [
            "textDocument/documentSymbol",
            "textDocument/semanticTokens/full",
            "textDocument/foldingRange",
            "textDocument/codeAction",
            "textDocument/inlayHint",
            "textDocument/codeLens",
            "textDocument/formatting",
            "textDocument/rangeFormatting",
            "textDocument/documentLink",
            "textDocument/diagnostic",
        ]
        .map(|method| (method, whole.clone())),
    );
    all
}

#[test]
fn a_server_that_saw_every_edit_answers_like_a_fresh_one() {
    // A single run: each edit applies to the text that the previous edits produced.
    let seeds = trials::seeds(150);
    let (mut random, mut text) = (Random::new(seeds.start), BASE_TEXT.to_owned());
    let mut client = Client::start(&text);
    for (version, _) in (1..).zip(seeds) {
        let (from, to) = (random_offset(&text, &mut random), random_offset(&text, &mut random));
        // Most edits only insert text.
        let (start, mut end) = (from.min(to), from.max(to));
        if random.below(4) > 0 || text.len() < BASE_TEXT.len() / 2 {
            end = start;
        }
        let whole = text.len() > 2 * BASE_TEXT.len();
        let new = if whole { BASE_TEXT } else { INSERTED_TEXTS[random.below(INSERTED_TEXTS.len())] };
        let mut change = json!({ "text": new });
        if whole {
            text = BASE_TEXT.to_owned();
        } else {
            change["range"] = json!({ "start": lsp_position(&text, start), "end": lsp_position(&text, end) });
            text.replace_range(start..end, new);
        }
        let document = json!({ "uri": URI, "version": version });
        client.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        );
        let mut fresh = Client::start(&text);
        let questions = requests_at(&text, random_offset(&text, &mut random));
        for _ in 0..3 {
            let (method, params) = questions[random.below(questions.len())].clone();
            let (old, new) = (client.request(method, params.clone()), fresh.request(method, params));
            assert_eq!(old.get("result"), new.get("result"), "{method} after edit {version} of {text:?}");
            // A request may fail only with the error code for requests that are impossible on this
            // text.
            let refused = old["error"]["code"].as_i64().is_none_or(|code| code == -32803);
            assert!(refused && old["error"] == new["error"], "{method} after edit {version}: {old}");
        }
        fresh.stop();
    }
    client.stop();
}
