//! The adapter for the data API of Open Policy Agent (OPA), so that OPA's clients can ask rulec.
//! `POST /v1/data/{path}` takes an `input` and answers with a `result`. The path names the entry
//! (such as a table) that decides, or the rule set and the entry. Further names select a part of
//! the decision, such as `target`.

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
use std::borrow::Cow;
use std::collections::HashMap;
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
    let (rules, entry, part) = split_path(&app, &path);
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
    let Some(result) = select_part(&decided.body, part) else { return Ok(json_response("{}")) };
    let mut answer = b"{\"result\":".to_vec();
    answer.extend_from_slice(result);
    answer.push(b'}');
    Ok(json_response(answer))
}

/// Splits a path into three parts. The first is the name of a rule set, if a rule set has this
/// name. The next is the entry (such as a table). The rest selects a part of the decision.
fn split_path<'p>(app: &App, path: &'p str) -> (Option<&'p str>, Option<&'p str>, &'p str) {
    let path = path.trim_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let (rules, path) = match app.service().sets().iter().any(|set| set.name() == first) {
        true => (Some(first), rest),
        false => (None, path),
    };
    let (entry, part) = path.split_once('/').unwrap_or((path, ""));
    (rules, Some(entry).filter(|entry| !entry.is_empty()), part)
}

/// Returns the JSON text of a part of a decision. `path` has the names of fields and the positions
/// in lists, separated by `/`. `None` if the decision has no such part. The text is not changed, so
/// that numbers keep all their digits.
fn select_part<'d>(decision: &'d [u8], path: &str) -> Option<&'d [u8]> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.into_iter().try_fold(decision, |part, name| {
        let found: &RawValue = match part.first()? {
            b'{' => serde_json::from_slice::<HashMap<Cow<'_, str>, &RawValue>>(part).ok()?.remove(name)?,
            b'[' => serde_json::from_slice::<Vec<&RawValue>>(part).ok()?.get(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
        Some(found.get().as_bytes())
    })
}
