//! Reads the id that a model picked from its response. Only the first tool call counts, and an id
//! that was not offered is an error.

use crate::error::{HttpError, quote_for_message};
use crate::request::HeaderError;
use rulec::prompt::{PickTool, REASON};
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::Value;
use std::borrow::Cow;
use thiserror::Error;

/// Why a model picked none of the offered ids. Texts of the model are truncated after 2000
/// characters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ModelError {
    /// The HTTP call failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The API key cannot be sent in a header.
    #[error(transparent)]
    Key(#[from] HeaderError),
    /// The model responded without calling the tool: no id fits, or the model cannot call tools.
    NoCall {
        /// The text that the model returned instead of calling the tool.
        text: String,
    },
    /// The model picked an id that the tool does not list.
    UnknownId {
        /// The id that the model picked.
        id: String,
    },
    /// The model called another tool than the one in the request.
    WrongTool {
        /// The name of the tool that the model called.
        name: String,
    },
    /// The arguments of the tool call are not a JSON object that contains the picked id as a
    /// string.
    Arguments {
        /// Name of the parameter that must contain the id.
        parameter: String,
        /// The arguments of the tool call, as the model sent them.
        arguments: String,
    },
    /// The response is JSON, but not in the format of a chat-completions endpoint.
    Malformed {
        /// Name of the field that is missing or has the wrong type.
        missing: &'static str,
        /// Text of the response body.
        text: String,
    },
}

impl ModelError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            ModelError::Http(error) => error.to_message(),
            ModelError::Key(error) => error.to_message(),
            ModelError::NoCall { text } => message!("the model called no tool{}", quote_for_message(text)),
            ModelError::UnknownId { id } => {
                message!("the model picked `{id}`, which is not one of the ids it may pick from")
            }
            ModelError::WrongTool { name } => {
                message!("the model called the tool `{name}`, which it does not have")
            }
            ModelError::Arguments { parameter, arguments } => {
                message!(
                    "the model called the tool without a string `{parameter}`{}",
                    quote_for_message(arguments)
                )
            }
            ModelError::Malformed { missing, text } => message!(
                "the answer is none of a chat-completions endpoint, it has no `{missing}`{}; see whether the address is the right one",
                quote_for_message(text)
            ),
        }
    }
}

impl ModelError {
    /// Replaces each text that comes from the model by the result of `quote`. The caller thus masks
    /// secrets in these texts and truncates them.
    pub(super) fn map_model_texts(mut self, quote: impl Fn(&str) -> String) -> ModelError {
        match &mut self {
            ModelError::NoCall { text }
            | ModelError::UnknownId { id: text }
            | ModelError::WrongTool { name: text }
            | ModelError::Arguments { arguments: text, .. }
            | ModelError::Malformed { text, .. } => *text = quote(text),
            ModelError::Http(_) | ModelError::Key(_) => {}
        }
        self
    }
}

/// Returns the id that the first tool call of a response picks, and the other tool calls as
/// `name(arguments)`.
pub(super) fn read_pick(response: &Value, tool: &PickTool) -> Result<(String, Vec<String>), ModelError> {
    let malformed = |missing| ModelError::Malformed { missing, text: response.to_string() };
    let message = response.pointer("/choices/0/message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| malformed("choices[0].message"))?;
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(malformed("list choices[0].message.tool_calls")),
    };
    let Some((first, others)) = calls.split_first() else {
        let text = ["content", "refusal"].iter().find_map(|part| message.get(part)?.as_str());
        return Err(ModelError::NoCall { text: text.unwrap_or_default().to_owned() });
    };
    let name = first.pointer("/function/name").and_then(Value::as_str);
    let name = name.ok_or_else(|| malformed("choices[0].message.tool_calls[0].function.name"))?;
    if name != tool.name() {
        return Err(ModelError::WrongTool { name: name.to_owned() });
    }
    let id = string_argument(first, tool.parameter()).ok_or_else(|| ModelError::Arguments {
        parameter: tool.parameter().to_owned(),
        arguments: arguments_text(first).into_owned(),
    })?;
    if !tool.ids().contains(&id) {
        return Err(ModelError::UnknownId { id });
    }
    Ok((id, others.iter().map(format_call).collect()))
}

/// Returns the model's reason from the arguments of the first tool call; `None` if it gave none.
pub(super) fn picked_reason(response: &Value) -> Option<String> {
    string_argument(response.pointer("/choices/0/message/tool_calls/0")?, REASON)
        .filter(|reason| !reason.is_empty())
}

/// Returns a string argument of a tool call; `None` if it is missing or not a string. Most servers
/// send the arguments as JSON text; some send an object.
fn string_argument(call: &Value, name: &str) -> Option<String> {
    let arguments = match call.pointer("/function/arguments")? {
        Value::String(text) => Cow::Owned(serde_json::from_str::<Value>(text).ok()?),
        arguments_json => Cow::Borrowed(arguments_json),
    };
    Some(arguments.get(name)?.as_str()?.to_owned())
}

fn arguments_text(call: &Value) -> Cow<'_, str> {
    match call.pointer("/function/arguments") {
        None => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(arguments_json) => Cow::Owned(arguments_json.to_string()),
    }
}

fn format_call(call: &Value) -> String {
    let name = call.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
    format!("{name}({})", arguments_text(call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool_call(name: &str, arguments: Value) -> Value {
        json!({"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}})
    }

    fn answer_with_message(message: Value) -> Value {
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    }

    fn answer_with_calls(calls: &[Value]) -> Value {
        answer_with_message(json!({"role": "assistant", "content": null, "tool_calls": calls}))
    }

    fn pick_tool() -> PickTool {
        PickTool::flow_executor(["a", "b"])
    }

    #[test]
    fn only_the_first_call_counts() {
        let good = tool_call("flow_executor", json!("{\"flow_id\": \"a\", \"more\": 1}"));
        assert_eq!(
            read_pick(&answer_with_calls(std::slice::from_ref(&good)), &pick_tool()),
            Ok(("a".to_owned(), vec![]))
        );
        let as_object = tool_call("flow_executor", json!({"flow_id": "b"}));
        let ignored = vec!["flow_executor({\"flow_id\":\"b\"})".to_owned(), "x()".to_owned()];
        let answer = answer_with_calls(&[good, as_object.clone(), tool_call("x", json!(""))]);
        assert_eq!(read_pick(&answer, &pick_tool()), Ok(("a".to_owned(), ignored)));
        assert_eq!(read_pick(&answer_with_calls(&[as_object]), &pick_tool()), Ok(("b".to_owned(), vec![])));
    }

    #[test]
    fn invalid_answers_are_errors() {
        let text = |text: &str| text.to_owned();
        let response_with_arguments =
            |arguments: Value| answer_with_calls(&[tool_call("flow_executor", arguments)]);
        let arguments = |arguments_text: &str| ModelError::Arguments {
            parameter: text("flow_id"),
            arguments: text(arguments_text),
        };
        for (answer, expected) in [
            (response_with_arguments(json!("{\"flow_id\":\"c\"}")), ModelError::UnknownId { id: text("c") }),
            (response_with_arguments(json!("{\"flow_id\":\"A\"}")), ModelError::UnknownId { id: text("A") }),
            (
                response_with_arguments(json!("{\"flow_id\":\"a \"}")),
                ModelError::UnknownId { id: text("a ") },
            ),
            (response_with_arguments(json!("{\"flow_id\":7}")), arguments("{\"flow_id\":7}")),
            (response_with_arguments(json!("{\"flow\":\"a\"}")), arguments("{\"flow\":\"a\"}")),
            (response_with_arguments(json!("{\"flow_id\":\"a\"")), arguments("{\"flow_id\":\"a\"")),
            (response_with_arguments(json!("a")), arguments("a")),
            (response_with_arguments(json!(null)), arguments("null")),
            (
                answer_with_calls(&[tool_call("other", json!("{}"))]),
                ModelError::WrongTool { name: text("other") },
            ),
            (answer_with_message(json!({"content": "hello"})), ModelError::NoCall { text: text("hello") }),
            (
                answer_with_message(json!({"content": null, "refusal": "no"})),
                ModelError::NoCall { text: text("no") },
            ),
            (
                answer_with_message(json!({"content": null, "tool_calls": null})),
                ModelError::NoCall { text: text("") },
            ),
            (answer_with_calls(&[]), ModelError::NoCall { text: text("") }),
        ] {
            assert_eq!(read_pick(&answer, &pick_tool()).unwrap_err(), expected, "{answer}");
        }
        for answer in [
            json!(null),
            json!([]),
            json!({"choices": []}),
            json!({"choices": [{"text": "a"}]}),
            json!({"error": {"message": "overloaded"}}),
            answer_with_message(json!("a")),
            answer_with_message(json!({"tool_calls": "a"})),
            answer_with_calls(&[json!({"id": "1"})]),
        ] {
            let error = read_pick(&answer, &pick_tool()).unwrap_err();
            assert!(matches!(error, ModelError::Malformed { .. }), "{answer}: {error}");
        }
    }
}
