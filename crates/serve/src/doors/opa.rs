//! The adapter for the data API of Open Policy Agent (OPA), so that OPA's clients can ask rulec.
//! `POST /v1/data/{path}` takes an `input` and answers with a `result`. The path names the entry
//! (such as a table) that decides, or the rule set and the entry.

use super::admitted::Admitted;
use super::app::{App, PathVariable, json_response, require_json_content_type};
use crate::problem::Problem;
use crate::service::{DecideRequest, read_request};
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use rulec_base::json::parse_object_bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/data", post(answer_data_without_path))
        .route("/v1/data/{*path}", post(answer_data))
}

#[derive(Deserialize)]
struct DataRequest<'m> {
    #[serde(borrow)]
    input: &'m RawValue,
}

async fn answer_data_without_path(
    app: State<Arc<App>>,
    admitted: Extension<Admitted>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    answer_data(app, admitted, PathVariable(String::new()), headers, body).await
}

async fn answer_data(
    State(app): State<Arc<App>>,
    Extension(admitted): Extension<Admitted>,
    PathVariable(path): PathVariable,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let Ok(DataRequest { input }) = read_request(&body) else {
        // OPA's clients omit `input` if they have none. OPA then answers without a `result`, and
        // this adapter does the same.
        let object = parse_object_bytes(&body)?;
        return match object.contains_key("input") {
            true => Err(read_request::<DataRequest<'_>>(&body)
                .err()
                .unwrap_or_else(|| Problem::invalid("no input"))),
            false => Ok(json_response("{}")),
        };
    };
    let (rules, entry) = split_path(&app, &path);
    let request = DecideRequest {
        rules: rules.map(str::to_owned),
        entry: entry.map(str::to_owned),
        ..DecideRequest::new(input)
    };
    let decided = match app.decide(&admitted, request.to_body()?).await {
        // OPA answers without a `result` if nothing has the requested path.
        Err(problem) if problem.status() == StatusCode::NOT_FOUND && !path.is_empty() => {
            return Ok(json_response("{}"));
        }
        decided => decided?,
    };
    let mut answer = b"{\"result\":".to_vec();
    answer.extend_from_slice(&decided.body);
    answer.push(b'}');
    Ok(json_response(answer))
}

/// Splits a path into the names of the rule set and of the entry (such as a table). The first part
/// of the path is the rule set, if a rule set has this name.
fn split_path<'p>(app: &App, path: &'p str) -> (Option<&'p str>, Option<&'p str>) {
    let path = path.trim_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let not_empty = |text: &'p str| Some(text).filter(|text| !text.is_empty());
    match app.service().sets().iter().any(|set| set.name() == first) {
        true => (Some(first), not_empty(rest)),
        false => (None, not_empty(path)),
    }
}
