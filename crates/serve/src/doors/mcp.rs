//! The adapter for agents: the Model Context Protocol (MCP), over streamable HTTP (`POST /mcp`) and
//! over standard input and output. The tools are `decide`, `explain`, `check` and `test`.

use super::admitted::{Admitted, RequestPermit};
use super::app::{App, json_response, require_json_content_type};
use crate::auth::{RequestPermissions, Scope};
use crate::limits::RequestDeadline;
use crate::problem::Problem;
use crate::service::{DecideRequest, Service, TestRequest, parse_object, read_request};
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value as Json, json};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

/// The versions of the Model Context Protocol that this adapter supports, newest first.
const PROTOCOL_VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

const PARSE_ERROR_CODE: i32 = -32700;
const INVALID_REQUEST_CODE: i32 = -32600;
const UNKNOWN_METHOD_CODE: i32 = -32601;
const INVALID_PARAMS_CODE: i32 = -32602;
const INTERNAL_ERROR_CODE: i32 = -32603;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/mcp", post(answer_http))
}

async fn answer_http(
    State(app): State<Arc<App>>,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    if let Some(version) = headers.get("mcp-protocol-version")
        && !PROTOCOL_VERSIONS.iter().any(|known| version.as_bytes() == known.as_bytes())
    {
        return Err(Problem::invalid(format!(
            "this service speaks the versions {}",
            PROTOCOL_VERSIONS.join(", ")
        )));
    }
    Ok(match answer_rpc_message(&app, &admitted, &app.checked_body(body)?).await {
        RpcOutcome::Result(answer) => json_response(answer),
        RpcOutcome::NoRequest(error) => (StatusCode::BAD_REQUEST, json_response(error)).into_response(),
        RpcOutcome::None => StatusCode::ACCEPTED.into_response(),
    })
}

/// Answers the requests of one client until the input ends. The input and the output have one JSON
/// object per line.
///
/// # Errors
/// If the input cannot be read, or the output cannot be written.
pub(crate) async fn serve_lines(
    app: &Arc<App>,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut lines = input.lines();
    let permit = app.request_permits().clone().acquire_owned().await.map_err(io::Error::other)?;
    let permit = RequestPermit::new(permit);
    while let Some(line) = lines.next_line().await? {
        if line.trim().is_empty() {
            continue;
        }
        let deadline = RequestDeadline::after(app.service().limits().request_time_limit);
        let admitted = Admitted {
            grant: RequestPermissions::without_tokens(),
            permit: permit.clone(),
            deadline,
            trace: None,
        };
        if let RpcOutcome::Result(mut answer) | RpcOutcome::NoRequest(mut answer) =
            answer_rpc_message(app, &admitted, line.as_bytes()).await
        {
            answer.push(b'\n');
            output.write_all(&answer).await?;
            output.flush().await?;
        }
    }
    Ok(())
}

/// An error of JSON-RPC, on which MCP is based: its code and its message.
#[derive(Serialize)]
struct RpcError {
    code: i32,
    message: String,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into() }
    }
}

/// A JSON-RPC request. `id` and `params` keep their JSON text, so that decimals stay exact.
#[derive(Deserialize)]
struct RpcRequest<'r> {
    #[serde(borrow)]
    id: Option<&'r RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'r RawValue>,
    #[serde(borrow)]
    result: Option<&'r RawValue>,
    #[serde(borrow)]
    error: Option<&'r RawValue>,
}

#[derive(Serialize)]
struct RpcAnswer<'r> {
    jsonrpc: &'static str,
    id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

fn encode_rpc_answer(id: Option<&RawValue>, result: Result<Box<RawValue>, RpcError>) -> Vec<u8> {
    let (result, error) = match result {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    serde_json::to_vec(&RpcAnswer { jsonrpc: "2.0", id, result, error }).unwrap_or_default()
}

/// The answer to a JSON-RPC message that a client has sent, as JSON text.
enum RpcOutcome {
    /// The response to a request, as JSON text: its result or its error.
    Result(Vec<u8>),
    /// The error response, as JSON text, to a text that is not a JSON-RPC request.
    NoRequest(Vec<u8>),
    /// No answer: the client has sent a notification, or has answered a request.
    None,
}

/// Answers one JSON-RPC message, which is given as JSON text.
async fn answer_rpc_message(app: &Arc<App>, admitted: &Admitted, request: &[u8]) -> RpcOutcome {
    let request: RpcRequest<'_> = match parse_object(request) {
        Ok(request) => request,
        Err(wrong) => {
            let code = if wrong.is_json { INVALID_REQUEST_CODE } else { PARSE_ERROR_CODE };
            return RpcOutcome::NoRequest(encode_rpc_answer(
                None,
                Err(RpcError::new(code, wrong.error_text)),
            ));
        }
    };
    let RpcRequest { id, method, params, result, error } = request;
    let Some(method) = method else {
        // A message with a result or an error answers a request, although this service sends none.
        let is_answer = result.is_some() || error.is_some();
        let wrong = RpcError::new(INVALID_REQUEST_CODE, "a request is an object with a `method`");
        return if is_answer {
            RpcOutcome::None
        } else {
            RpcOutcome::NoRequest(encode_rpc_answer(id, Err(wrong)))
        };
    };
    let Some(id) = id else { return RpcOutcome::None };
    let params = params.map_or("{}", RawValue::get);
    let result = match &*method {
        "initialize" => read_params(params).and_then(|params| to_raw_json(&initialize(&params))),
        "ping" => to_raw_json(&json!({})),
        "tools/list" => to_raw_json(&json!({ "tools": describe_tools() })),
        "tools/call" => match read_params(params) {
            Ok(call) => call_tool(app, admitted, &call).await,
            Err(wrong) => Err(wrong),
        },
        _ => Err(RpcError::new(UNKNOWN_METHOD_CODE, format!("there is no method `{method}`"))),
    };
    RpcOutcome::Result(encode_rpc_answer(Some(id), result))
}

fn read_params<'p, P: Deserialize<'p>>(params: &'p str) -> Result<P, RpcError> {
    parse_object(params.as_bytes()).map_err(|wrong| RpcError::new(INVALID_PARAMS_CODE, wrong.error_text))
}

fn to_raw_json(value: &impl Serialize) -> Result<Box<RawValue>, RpcError> {
    to_raw_value(value).map_err(|error| RpcError::new(INTERNAL_ERROR_CODE, error.to_string()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    #[serde(default)]
    protocol_version: Option<String>,
}

fn initialize(params: &InitializeParams) -> Json {
    let wanted = params.protocol_version.as_deref();
    let version =
        PROTOCOL_VERSIONS.into_iter().find(|known| Some(*known) == wanted).unwrap_or(PROTOCOL_VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "rulec", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Decides messages by rules. `decide` returns the route of a message, `explain` also why.",
    })
}

fn describe_tools() -> Json {
    let rules = json!({ "type": "string", "description": "The name of the rules; optional if there is only one rule set" });
    let entry =
        json!({ "type": "string", "description": "The table, choice, router or flow set that decides" });
    let message =
        json!({ "type": "object", "description": "The message: an object whose keys are the input fields" });
    let why_not = json!({ "type": "string", "description": "A route: also say how the message must change to reach it" });
    let text = json!({ "type": "string", "description": "The text of the rules" });
    json!([
        {
            "name": "decide",
            "description": "Decide which route and handler take a message, with the arguments for the handler.",
            "inputSchema": { "type": "object", "properties": { "rules": rules, "entry": entry, "message": message }, "required": ["message"] },
            "annotations": { "readOnlyHint": true }
        },
        {
            "name": "explain",
            "description": "Decide a message and explain why: which conditions hold, and which are missing a field.",
            "inputSchema": { "type": "object", "properties": { "rules": rules, "entry": entry, "message": message, "why_not": why_not }, "required": ["message"] },
            "annotations": { "readOnlyHint": true }
        },
        {
            "name": "check",
            "description": "Check the text of rules: report every error and warning. Changes nothing.",
            "inputSchema": { "type": "object", "properties": { "text": text }, "required": ["text"] },
            "annotations": { "readOnlyHint": true }
        },
        {
            "name": "test",
            "description": "Run the test blocks of the rules in force.",
            "inputSchema": { "type": "object", "properties": { "rules": rules } },
            "annotations": { "readOnlyHint": true }
        }
    ])
}

/// The parameters of a tool call: the name of the tool and its arguments.
#[derive(Deserialize)]
struct ToolCall<'p> {
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    arguments: Option<&'p RawValue>,
}

/// The result of a tool call: the same JSON as text for the model, and as an object for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'t> {
    content: [ToolContent<'t>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'t RawValue>,
    is_error: bool,
}

#[derive(Serialize)]
struct ToolContent<'t> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'t str,
}

async fn call_tool(
    app: &Arc<App>,
    admitted: &Admitted,
    call: &ToolCall<'_>,
) -> Result<Box<RawValue>, RpcError> {
    let arguments = call.arguments.map_or("{}", RawValue::get).as_bytes();
    let outcome = match &*call.name {
        "decide" => call_decide(app, admitted, arguments, false).await,
        "explain" => call_decide(app, admitted, arguments, true).await,
        "check" => call_check(app, admitted, arguments).await,
        "test" => call_test(app, admitted, arguments).await,
        name => return Err(RpcError::new(INVALID_PARAMS_CODE, format!("there is no tool `{name}`"))),
    };
    // An error of a tool is a result with `isError`, so that the model sees it and can call again.
    let result = |text, structured_content, is_error| {
        to_raw_json(&ToolResult {
            content: [ToolContent { kind: "text", text }],
            structured_content,
            is_error,
        })
    };
    match &outcome {
        Ok(json) => result(json.get(), Some(&**json), false),
        Err(problem) => result(problem.detail(), None, true),
    }
}

async fn call_decide(
    app: &Arc<App>,
    admitted: &Admitted,
    arguments: &[u8],
    explains: bool,
) -> Result<Box<RawValue>, Problem> {
    let mut request: DecideRequest<'_> = read_request(arguments)?;
    request.explain |= explains;
    let decided = app.decide(admitted, request.to_body()?).await?;
    let text = String::from_utf8(decided.body).map_err(|error| Problem::broken(error.to_string()))?;
    RawValue::from_string(text).map_err(|error| Problem::broken(error.to_string()))
}

#[derive(Deserialize)]
struct CheckArguments {
    text: String,
}

async fn call_check(app: &Arc<App>, admitted: &Admitted, arguments: &[u8]) -> Result<Box<RawValue>, Problem> {
    admitted.grant.require_scope(Scope::Explain)?;
    let CheckArguments { text } = read_request(arguments)?;
    let checked = app.run_blocking(admitted, move |_| Ok(Service::check_rules(&text))).await?;
    to_raw_value(&checked).map_err(|error| Problem::broken(error.to_string()))
}

async fn call_test(app: &Arc<App>, admitted: &Admitted, arguments: &[u8]) -> Result<Box<RawValue>, Problem> {
    admitted.grant.require_scope(Scope::Explain)?;
    let request: TestRequest = read_request(arguments)?;
    let tested = app.run_blocking(admitted, move |service| service.test(&request)).await?;
    to_raw_value(&tested).map_err(|error| Problem::broken(error.to_string()))
}
