//! The door for agents: the Model Context Protocol, as streamable HTTP (`POST /mcp`) and over
//! standard input and output. The tools are `decide`, `explain`, `check` and `test`.

use super::app::{App, json_response, need_json};
use crate::auth::{Grant, Scope};
use crate::problem::Problem;
use crate::service::{Service, TestRequest};
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

/// The versions of the protocol that this door speaks, newest first.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/mcp", post(answer_http))
}

async fn answer_http(
    State(app): State<Arc<App>>,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    need_json(&headers)?;
    if let Some(version) = headers.get("mcp-protocol-version")
        && !VERSIONS.iter().any(|known| version.as_bytes() == known.as_bytes())
    {
        return Err(Problem::invalid(format!("this service speaks the versions {}", VERSIONS.join(", "))));
    }
    Ok(match answer(&app, &grant, &app.body(body)?).await {
        Some(answer) => json_response(answer.to_string()),
        None => StatusCode::ACCEPTED.into_response(),
    })
}

/// Answers requests of one client, one JSON object per line, until the input ends.
///
/// # Errors
/// If the input cannot be read, or the output cannot be written.
pub(crate) async fn serve_lines(
    app: &Arc<App>,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut lines = input.lines();
    let grant = Grant::without_tokens();
    while let Some(line) = lines.next_line().await? {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(answer) = answer(app, &grant, line.as_bytes()).await {
            output.write_all(format!("{answer}\n").as_bytes()).await?;
            output.flush().await?;
        }
    }
    Ok(())
}

/// An error of the protocol: its number and its words.
struct RpcError(i32, String);

/// Answers one request. `None` for a notification, which gets no answer.
async fn answer(app: &Arc<App>, grant: &Grant, request: &[u8]) -> Option<Json> {
    let error = |id: Json, RpcError(code, message)| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
    let request: Json = match serde_json::from_slice(request) {
        Ok(request) => request,
        Err(wrong) => return Some(error(Json::Null, RpcError(PARSE_ERROR, wrong.to_string()))),
    };
    let id = request.get("id").cloned();
    let Some(method) = request.get("method").and_then(Json::as_str) else {
        // An answer to the service, which asks nothing.
        let is_answer = request.get("result").is_some() || request.get("error").is_some();
        let wrong = || RpcError(INVALID_REQUEST, "a request is an object with a `method`".to_owned());
        return (!is_answer).then(|| error(id.unwrap_or_default(), wrong()));
    };
    let id = id?;
    let params = request.get("params").cloned().unwrap_or_default();
    let result = match method {
        "initialize" => Ok(initialize(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools() })),
        "tools/call" => call_tool(app, grant, &params).await,
        _ => Err(RpcError(UNKNOWN_METHOD, format!("there is no method `{method}`"))),
    };
    Some(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(wrong) => error(id, wrong),
    })
}

fn initialize(params: &Json) -> Json {
    let wanted = params.get("protocolVersion").and_then(Json::as_str);
    let version = VERSIONS.into_iter().find(|known| Some(*known) == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "rulec", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Decides messages by rules. `decide` returns the route of a message, `explain` also why.",
    })
}

fn tools() -> Json {
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

async fn call_tool(app: &Arc<App>, grant: &Grant, params: &Json) -> Result<Json, RpcError> {
    let name = params.get("name").and_then(Json::as_str).unwrap_or_default();
    let arguments = params.get("arguments").and_then(Json::as_object).cloned().unwrap_or_default();
    let outcome = match name {
        "decide" => decide(app, grant, arguments, false).await,
        "explain" => decide(app, grant, arguments, true).await,
        "check" => check(app, grant, &arguments).await,
        "test" => test(app, grant, &arguments).await,
        _ => return Err(RpcError(INVALID_PARAMS, format!("there is no tool `{name}`"))),
    };
    // The model sees an error of a tool, and may call the tool again with better arguments.
    Ok(match outcome {
        Ok(json) => {
            json!({ "content": [{ "type": "text", "text": json.to_string() }], "structuredContent": json, "isError": false })
        }
        Err(problem) => {
            json!({ "content": [{ "type": "text", "text": problem.detail() }], "isError": true })
        }
    })
}

async fn decide(
    app: &Arc<App>,
    grant: &Grant,
    mut arguments: Map<String, Json>,
    explains: bool,
) -> Result<Json, Problem> {
    if explains {
        arguments.insert("explain".to_owned(), true.into());
    }
    let body = Json::Object(arguments).to_string();
    let decided = app.decide(grant, body.into()).await?;
    serde_json::from_slice(&decided.body).map_err(|error| Problem::broken(error.to_string()))
}

async fn check(app: &Arc<App>, grant: &Grant, arguments: &Map<String, Json>) -> Result<Json, Problem> {
    grant.need(Scope::Explain)?;
    let text = arguments.get("text").and_then(Json::as_str).map(str::to_owned);
    let text = text.ok_or_else(|| Problem::invalid("`text` is missing: the text of the rules"))?;
    app.blocking(move |_| Ok(Service::check(&text))).await
}

async fn test(app: &Arc<App>, grant: &Grant, arguments: &Map<String, Json>) -> Result<Json, Problem> {
    grant.need(Scope::Explain)?;
    let rules = arguments.get("rules").and_then(Json::as_str).map(str::to_owned);
    app.blocking(move |service| service.test(&TestRequest { rules })).await
}
