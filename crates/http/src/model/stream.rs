//! Reads a streamed model response: server-sent events of a chat-completions endpoint, one
//! `data: {…}` line each. The events are combined into the response that the endpoint would have
//! sent without streaming. The model's reason is passed to the caller while it arrives.

use rulec::prompt::REASON;
use serde_json::{Value, json};

const DATA_PREFIX: &str = "data:";
const DONE_MARKER: &str = "[DONE]";

/// The state of reading a streamed response: everything that has arrived so far.
#[derive(Default)]
pub(super) struct StreamedResponse {
    /// Bytes after the last line break: the start of a line that has not arrived completely.
    incomplete_line: Vec<u8>,
    /// Whether at least one event has arrived.
    has_event: bool,
    /// The model's text outside tool calls.
    content: String,
    /// The name and the arguments of each tool call, as far as they have arrived.
    calls: Vec<(String, String)>,
    /// Number of bytes of the model's reason that were already passed to the caller.
    passed_reason_bytes: usize,
    /// The first event that is not part of a model's response, such as an error of the endpoint;
    /// `None` if there is none so far.
    other_event: Option<Value>,
}

impl StreamedResponse {
    /// Adds a piece of the response's body, and passes the new part of the model's reason to
    /// `on_reason`.
    pub(super) fn add_piece(&mut self, piece: &[u8], on_reason: &mut (dyn FnMut(&str) + Send)) {
        self.incomplete_line.extend_from_slice(piece);
        while let Some(end) = self.incomplete_line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.incomplete_line.drain(..=end).collect();
            self.read_line(&String::from_utf8_lossy(&line));
        }
        let reason = self.calls.first().and_then(|(_, arguments)| partial_reason(arguments));
        if let Some(new_part) = reason.as_deref().and_then(|reason| reason.get(self.passed_reason_bytes..))
            && !new_part.is_empty()
        {
            on_reason(new_part);
            self.passed_reason_bytes += new_part.len();
        }
    }

    fn read_line(&mut self, line: &str) {
        let Some(event) =
            line.trim().strip_prefix(DATA_PREFIX).map(str::trim).filter(|event| *event != DONE_MARKER)
        else {
            return;
        };
        let Ok(event) = serde_json::from_str::<Value>(event) else { return };
        self.has_event = true;
        let Some(delta) = event.pointer("/choices/0/delta") else {
            // The last event may contain only usage counts.
            if event.get("choices").is_none() {
                self.other_event.get_or_insert(event);
            }
            return;
        };
        if let Some(text) = delta.get("content").and_then(Value::as_str) {
            self.content.push_str(text);
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let index = call.get("index").and_then(Value::as_u64).unwrap_or(0);
            // Any index beyond the calls so far starts a new tool call.
            let index = usize::try_from(index).unwrap_or(usize::MAX).min(self.calls.len());
            if index == self.calls.len() {
                self.calls.push(Default::default());
            }
            let part = |name: &str| call.pointer(name).and_then(Value::as_str).unwrap_or_default();
            self.calls[index].0.push_str(part("/function/name"));
            self.calls[index].1.push_str(part("/function/arguments"));
        }
    }

    /// True if at least a part of the model's reason was passed to the caller. If false, the caller
    /// has yet to receive the reason from the complete response.
    pub(super) fn has_reason(&self) -> bool {
        self.passed_reason_bytes > 0
    }

    /// Returns the combined response; `None` if the body was not a stream of events.
    pub(super) fn combined_response(&self) -> Option<Value> {
        if !self.has_event {
            return None;
        }
        if let (Some(other), true, true) = (&self.other_event, self.calls.is_empty(), self.content.is_empty())
        {
            return Some(other.clone());
        }
        let call_to_json = |(name, arguments): &(String, String)| json!({"function": {"name": name, "arguments": arguments}});
        let calls: Vec<Value> = self.calls.iter().map(call_to_json).collect();
        Some(json!({"choices": [{"message": {"content": self.content, "tool_calls": calls}}]}))
    }
}

/// Returns the value of the field [`REASON`] in incomplete JSON, up to the last character that has
/// arrived. `None` if the value has not begun.
fn partial_reason(arguments: &str) -> Option<String> {
    let key = format!("\"{REASON}\"");
    let (key_start, _) = arguments.match_indices(&key).find(|(key_start, _)| {
        // A key follows `{` or `,`. Inside a string, the quotes of `key` would be escaped.
        arguments[..*key_start].trim_end().ends_with(['{', ','])
    })?;
    let value =
        arguments[key_start + key.len()..].trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut escaped = false;
    let end = value.find(|c: char| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    });
    let mut text = &value[..end.unwrap_or(value.len())];
    // The text may end inside an escape, at most `\ud83d\ude`, so cut it back until it decodes.
    for _ in 0..12 {
        if let Ok(decoded) = serde_json::from_str(&format!("\"{text}\"")) {
            return Some(decoded);
        }
        let (last, _) = text.char_indices().next_back()?;
        text = &text[..last];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream_event(delta: &Value) -> String {
        format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}))
    }

    fn arguments_delta(text: &str) -> Value {
        json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]})
    }

    /// Feeds a body in pieces of this length. Returns the passed-on pieces and the response.
    fn feed_in_pieces(body: &str, length: usize) -> (Vec<String>, Option<Value>) {
        let (mut streamed, mut pieces) = (StreamedResponse::default(), Vec::new());
        for piece in body.as_bytes().chunks(length) {
            streamed.add_piece(piece, &mut |text| pieces.push(text.to_owned()));
        }
        (pieces, streamed.combined_response())
    }

    #[test]
    fn the_reason_is_passed_on_as_it_arrives_and_the_response_is_combined() {
        let all_arguments =
            "{\"because\": \"sie sagt \\\"nie\\\" \\ud83d\\ude00 \u{6587}\", \"branch\": \"angry\"}";
        let name =
            json!({"tool_calls": [{"index": 0, "function": {"name": "choose_branch", "arguments": ""}}]});
        for cut in [1, 3, 7, 100] {
            let mut body =
                stream_event(&json!({"role": "assistant", "content": null})) + &stream_event(&name);
            let chars: Vec<char> = all_arguments.chars().collect();
            for piece in chars.chunks(cut) {
                body += &stream_event(&arguments_delta(&piece.iter().collect::<String>()));
            }
            body += "data: {\"choices\": []}\n\ndata: [DONE]\n\n";
            for length in [1, 5, 4096] {
                let (pieces, answer) = feed_in_pieces(&body, length);
                assert_eq!(pieces.concat(), "sie sagt \"nie\" \u{1f600} \u{6587}", "{cut} {length}");
                let call = &answer.unwrap()["choices"][0]["message"]["tool_calls"][0]["function"];
                assert_eq!(
                    (&call["name"], &call["arguments"]),
                    (&json!("choose_branch"), &json!(all_arguments))
                );
            }
        }
    }

    #[test]
    fn only_the_key_is_the_reason() {
        for (text, expected) in [
            ("{\"branch\": \"because\"", None),
            ("{\"branch\": \"a \\\"because\\\": \\\"x\", \"because\": \"y", Some("y")),
            ("{\"because\"", None),
            ("{\"because\": 7", None),
            ("{\"because\": \"", Some("")),
            ("{\"because\": \"a\\", Some("a")),
            ("{\"because\": \"a\\u00", Some("a")),
            ("", None),
        ] {
            assert_eq!(partial_reason(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn bodies_without_a_reason_give_a_response_or_none() {
        assert_eq!(feed_in_pieces("{\"choices\": []}\n", 4), (Vec::new(), None));
        let (_, error) = feed_in_pieces("data: {\"error\": {\"message\": \"overloaded\"}}\n", 9);
        assert_eq!(error.unwrap()["error"]["message"], "overloaded");
        let (_, words) = feed_in_pieces(&stream_event(&json!({"content": "which order?"})), 9);
        assert_eq!(words.unwrap()["choices"][0]["message"]["content"], "which order?");
        let far = json!({"tool_calls": [{"index": u64::MAX, "function": {"name": "x"}}]});
        assert_eq!(
            feed_in_pieces(&stream_event(&far), 9).1.unwrap()["choices"][0]["message"]["tool_calls"][0]["function"]
                ["name"],
            "x"
        );
    }
}
