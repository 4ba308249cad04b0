//! Reads a streamed model response: server-sent events of a chat-completions endpoint, one `data:
//! {…}` line each. The events are combined into the response that the endpoint would have sent
//! without streaming. The caller gets the reason that the model gives for its choice while the
//! reason arrives.

use crate::secret::{Secret, StreamMask};
use rulec::prompt::REASON;
use serde_json::{Value, json};

const EVENT_DATA_PREFIX: &str = "data:";
const STREAM_END_MARKER: &str = "[DONE]";

/// A streamed model response while it is read: everything that has arrived so far.
pub(super) struct StreamedResponse {
    /// Bytes after the last line break: the start of a line that has not arrived completely.
    incomplete_line: Vec<u8>,
    /// Whether at least one event of the streamed response has arrived.
    has_event: bool,
    /// The text of the model's answer outside tool calls.
    answer_text: String,
    /// The name and the arguments of each tool call, as far as they have arrived.
    tool_names_and_arguments: Vec<(String, String)>,
    reason_reader: ReasonReader,
    /// Masks the request's secrets in the reason that the model gives, because an endpoint may
    /// repeat the secrets there.
    secret_mask: StreamMask,
    /// The first event that is not part of a model's response, such as an error of the endpoint;
    /// `None` if there is none so far.
    first_foreign_event: Option<Value>,
}

impl StreamedResponse {
    /// Creates a reader of a streamed response. `secrets` are masked in the reason; the longest
    /// secret must come first.
    pub(super) fn new(secrets: Vec<Secret>) -> StreamedResponse {
        StreamedResponse {
            incomplete_line: Vec::new(),
            has_event: false,
            answer_text: String::new(),
            tool_names_and_arguments: Vec::new(),
            reason_reader: ReasonReader::default(),
            secret_mask: StreamMask::new(secrets),
            first_foreign_event: None,
        }
    }

    /// Adds a piece of the response's body. Passes to `on_reason` what the piece adds to the reason
    /// that the model gives for its choice.
    pub(super) fn add_piece(&mut self, piece: &[u8], on_reason: &mut (dyn FnMut(&str) + Send)) {
        let mut rest = piece;
        // Only the new piece is searched, because the incomplete line may be long.
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.incomplete_line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.incomplete_line);
            self.read_event_line(&String::from_utf8_lossy(&line));
            let new_part = self
                .tool_names_and_arguments
                .first()
                .map(|(_, arguments)| self.reason_reader.decode_new_part(arguments));
            pass_reason_on(&self.secret_mask.mask_part(&new_part.unwrap_or_default()), on_reason);
        }
        self.incomplete_line.extend_from_slice(rest);
    }

    /// Passes the end of the model's reason to `on_reason`. The end was held back because it could
    /// have been the start of a secret. Must be called after the last piece.
    pub(super) fn pass_end_of_reason(&mut self, on_reason: &mut (dyn FnMut(&str) + Send)) {
        pass_reason_on(&self.secret_mask.take_held_back(), on_reason);
    }

    fn read_event_line(&mut self, line: &str) {
        let Some(event) = line
            .trim()
            .strip_prefix(EVENT_DATA_PREFIX)
            .map(str::trim)
            .filter(|event| *event != STREAM_END_MARKER)
        else {
            return;
        };
        let Ok(event) = serde_json::from_str::<Value>(event) else { return };
        self.has_event = true;
        let Some(delta) = event.pointer("/choices/0/delta") else {
            // The last event may contain only usage counts.
            if event.get("choices").is_none() {
                self.first_foreign_event.get_or_insert(event);
            }
            return;
        };
        if let Some(text) = delta.get("content").and_then(Value::as_str) {
            self.answer_text.push_str(text);
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let index = call.get("index").and_then(Value::as_u64).unwrap_or(0);
            // Any index beyond the calls so far starts a new tool call.
            let index = usize::try_from(index).unwrap_or(usize::MAX).min(self.tool_names_and_arguments.len());
            if index == self.tool_names_and_arguments.len() {
                self.tool_names_and_arguments.push(Default::default());
            }
            let part = |name: &str| call.pointer(name).and_then(Value::as_str).unwrap_or_default();
            self.tool_names_and_arguments[index].0.push_str(part("/function/name"));
            self.tool_names_and_arguments[index].1.push_str(part("/function/arguments"));
        }
    }

    /// True if at least a part of the model's reason has been passed to `on_reason`. If false, the
    /// caller must read the reason from the complete response.
    pub(super) fn has_passed_reason(&self) -> bool {
        self.reason_reader.has_reason_text
    }

    /// Returns the combined response; `None` if the body was not a stream of events.
    pub(super) fn combined_response(&self) -> Option<Value> {
        if !self.has_event {
            return None;
        }
        if let (Some(other), true, true) =
            (&self.first_foreign_event, self.tool_names_and_arguments.is_empty(), self.answer_text.is_empty())
        {
            return Some(other.clone());
        }
        let call_to_json = |(name, arguments): &(String, String)| json!({"function": {"name": name, "arguments": arguments}});
        let calls: Vec<Value> = self.tool_names_and_arguments.iter().map(call_to_json).collect();
        Some(json!({"choices": [{"message": {"content": self.answer_text, "tool_calls": calls}}]}))
    }
}

fn pass_reason_on(text: &str, on_reason: &mut (dyn FnMut(&str) + Send)) {
    if !text.is_empty() {
        on_reason(text);
    }
}

/// Decodes the string value of the field [`REASON`] from JSON that arrives in parts. Each byte is
/// decoded once.
#[derive(Default)]
struct ReasonReader {
    state: ReasonReaderState,
    /// Number of bytes at the start of the JSON that were decoded and need not be read again.
    decoded_bytes: usize,
    /// Whether the decoded reason has at least one character.
    has_reason_text: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ReasonReaderState {
    /// The string value of the model's reason has not begun to arrive.
    #[default]
    Before,
    Inside,
    /// The string value of the model's reason has ended, or the value is not a string.
    After,
}

impl ReasonReader {
    /// Returns the new part of the reason in `json`, up to the last complete character. `json` is
    /// all JSON that has arrived so far.
    fn decode_new_part(&mut self, json: &str) -> String {
        if self.state == ReasonReaderState::Before {
            self.find_reason_start(json);
        }
        if self.state != ReasonReaderState::Inside {
            return String::new();
        }
        let value = &json[self.decoded_bytes..];
        let mut escaped = false;
        let end = value.find(|c: char| {
            let is_end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            is_end
        });
        let mut text = &value[..end.unwrap_or(value.len())];
        // The text may end inside an escape, at most `\ud83d\ude`, so cut it back until it decodes.
        for _ in 0..12 {
            if let Ok(decoded) = serde_json::from_str::<String>(&format!("\"{text}\"")) {
                self.decoded_bytes += text.len();
                self.has_reason_text |= !decoded.is_empty();
                if end.is_some() {
                    self.state = ReasonReaderState::After;
                }
                return decoded;
            }
            let Some((last, _)) = text.char_indices().next_back() else { break };
            text = &text[..last];
        }
        // The reason is invalid JSON, and further text cannot make it valid.
        self.state = ReasonReaderState::After;
        String::new()
    }

    /// Sets `decoded_bytes` to the first byte of the reason's string value if it has arrived, and
    /// updates the state.
    fn find_reason_start(&mut self, json: &str) {
        let key = format!("\"{REASON}\"");
        let is_key = |start: usize| {
            // A key follows `{` or `,`. Inside a string, the quotes of `key` would be escaped.
            json[..start].trim_end().ends_with(['{', ','])
        };
        let keys =
            json[self.decoded_bytes..].match_indices(&key).map(|(start, _)| self.decoded_bytes + start);
        let Some(start) = keys.into_iter().find(|start| is_key(*start)) else {
            // A part of the key may be at the end, so these bytes are searched again.
            let searched = json.len().saturating_sub(key.len()).max(self.decoded_bytes);
            let is_boundary = |index: &usize| json.is_char_boundary(*index);
            self.decoded_bytes = (0..=searched).rev().find(is_boundary).unwrap_or(0);
            return;
        };
        self.decoded_bytes = start;
        let rest = json[start + key.len()..].trim_start();
        let Some(value) = rest.strip_prefix(':').map(str::trim_start) else {
            self.state = if rest.is_empty() { ReasonReaderState::Before } else { ReasonReaderState::After };
            return;
        };
        match value.strip_prefix('"') {
            Some(text) => {
                self.decoded_bytes = json.len() - text.len();
                self.state = ReasonReaderState::Inside;
            }
            None if value.is_empty() => {}
            None => self.state = ReasonReaderState::After,
        }
    }
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

    /// Feeds a response body in pieces of `length` bytes. Returns the passed-on parts of the
    /// reason, and the combined response.
    fn feed_in_pieces(body: &str, length: usize) -> (Vec<String>, Option<Value>) {
        let (mut streamed, mut pieces) = (StreamedResponse::new(vec![Secret::new("k-123")]), Vec::new());
        for piece in body.as_bytes().chunks(length) {
            streamed.add_piece(piece, &mut |text| pieces.push(text.to_owned()));
        }
        streamed.pass_end_of_reason(&mut |text| pieces.push(text.to_owned()));
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
    fn a_secret_in_the_reason_is_masked_in_every_cut() {
        for (reason, expected) in [
            ("the key k-123 is wrong", "the key *** is wrong"),
            ("k-k-123k-12", "k-***k-12"),
            ("k-123", "***"),
        ] {
            for cut in [1, 2, 5, 100] {
                let arguments: Vec<char> = json!({"because": reason}).to_string().chars().collect();
                let events =
                    arguments.chunks(cut).map(|piece| arguments_delta(&piece.iter().collect::<String>()));
                let body: String = events.map(|delta| stream_event(&delta)).collect();
                assert_eq!(feed_in_pieces(&body, 3).0.concat(), expected, "{cut}");
            }
        }
    }

    /// Regression test: each piece was searched and decoded again with all earlier ones. A response
    /// of the maximum size then took minutes, in which no time limit could end the call.
    #[test]
    fn tiny_pieces_of_a_long_response_are_read_in_linear_time() {
        let started = std::time::Instant::now();
        feed_in_pieces(&"x".repeat(1 << 20), 1);
        let words: String = (0..8_000).map(|_| stream_event(&arguments_delta("a word "))).collect();
        let body = stream_event(&arguments_delta("{\"because\": \"")) + &words;
        assert_eq!(feed_in_pieces(&body, 1).0.concat(), "a word ".repeat(8_000));
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn reason_is_found_by_its_key() {
        for (text, expected) in [
            ("{\"branch\": \"because\"", ""),
            ("{\"branch\": \"a \\\"because\\\": \\\"x\", \"because\": \"y", "y"),
            ("{\"because\"", ""),
            ("{\"because\": 7", ""),
            ("{\"because\": \"", ""),
            ("{\"because\": \"a\\", "a"),
            ("{\"because\": \"a\\u00", "a"),
            ("", ""),
        ] {
            assert_eq!(ReasonReader::default().decode_new_part(text), expected, "{text}");
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
