//! The HTTP routes of rulec's own protocol, which sends JSON, such as `POST /v1/decide`.

use super::admitted::Admitted;
use super::app::{self, App, PathVariable, json_response, media_type, require_json_content_type};
use super::stream;
use crate::auth::Scope;
use crate::openapi::openapi_document;
use crate::problem::Problem;
use crate::service::{
    BatchLayout, BatchRequest, BatchSettings, DecideRequest, MessageBatch, Service, read_request,
};
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use serde_json::json;
use std::sync::Arc;

type AppState = State<Arc<App>>;
type BodyResult = Result<Bytes, BytesRejection>;

/// The path of the route that decides many messages in one request.
pub(super) const BATCH_PATH: &str = "/v1/batch";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/decide", post(decide))
        .route("/v1/batch", post(decide_batch))
        .route("/v1/flows", post(decide_flow))
        .route("/v1/judge/{kind}", post(judge_payload))
        .route("/v1/workflows/{name}", post(run_workflow))
        .route("/v1/analyze", post(analyze_text))
        .route("/v1/observe", post(observe_message))
        .route("/v1/test", post(run_tests))
        .route("/v1/why", post(explain_decision))
        .route("/v1/traffic", get(get_traffic))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(get_readiness))
        .route("/metrics", get(get_metrics))
        .route("/openapi.json", get(|| async { json_response(openapi_document().to_string()) }))
}

async fn decide(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    Ok(app.decide(&admitted, body).await?.into_response())
}

/// Decides which flow a message starts, with the entry `flows` (all flows of the rules).
async fn decide_flow(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let mut request: DecideRequest<'_> = read_request(&body)?;
    if request.entry.replace("flows".to_owned()).is_some() {
        return Err(Problem::invalid("`/v1/flows` takes no `entry`; use `/v1/decide`"));
    }
    Ok(app.decide(&admitted, request.to_body()?).await?.into_response())
}

async fn decide_batch(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Decide)?;
    let check = |settings: &BatchSettings| match settings.explain || settings.matched {
        true => admitted.grant.require_scope(Scope::Explain),
        false => Ok(()),
    };
    let settings = stream::parse_batch_settings(query.as_deref().unwrap_or_default())?;
    if media_type(request.headers()) == stream::LINES_MEDIA_TYPE {
        check(&settings)?;
        let batch = MessageBatch::new(app.service(), settings, BatchLayout::Lines, admitted.trace)?;
        return Ok(stream::answer_lines(&app, batch, request.into_body(), &admitted));
    }
    require_json_content_type(request.headers())?;
    let body = app.checked_body(Bytes::from_request(request, &()).await)?;
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(Problem::invalid(
            "the messages of a batch are in an object: `{\"messages\": [{…}, {…}]}`. Or send one message per line, with \
             the content type `application/x-ndjson`",
        ));
    }
    let (settings, messages) = {
        let request: BatchRequest<'_> = read_request(&body)?;
        (request.settings().with_fallback(settings), request.message_ranges(&body))
    };
    check(&settings)?;
    let batch = MessageBatch::new(app.service(), settings, BatchLayout::Array, admitted.trace)?;
    stream::answer_array(&app, batch, (body, messages), &admitted).await
}

async fn judge_payload(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(kind): PathVariable,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Decide)?;
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let judgement = app.run_blocking(&admitted, move |service| service.judge(&kind, read_request(&body)?));
    Ok(json_response(judgement.await?))
}

async fn run_workflow(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(name): PathVariable,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Decide)?;
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let deadline = admitted.deadline;
    let run = app
        .run_blocking(&admitted, move |service| service.run_workflow(&name, read_request(&body)?, deadline));
    Ok(json_response(run.await?))
}

async fn analyze_text(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Decide)?;
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let analysis = app.run_blocking(&admitted, move |service| service.analyze(&read_request(&body)?));
    Ok(json_response(analysis.await?))
}

/// Records a message in the history without deciding it.
async fn observe_message(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Decide)?;
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let observe = move |service: &Service| service.observe(&read_request(&body)?);
    let (observed, receipt) = app.run_blocking(&admitted, observe).await?;
    receipt.wait().await?;
    Ok(json_response(observed.to_string()))
}

async fn run_tests(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Explain)?;
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let outcomes = app.run_blocking(&admitted, move |service| service.test(&read_request(&body)?)).await?;
    Ok(json_response(outcomes.to_string()))
}

/// Explains how the rules in force decide a message.
async fn explain_decision(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Explain)?;
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let answer = app.run_blocking(&admitted, move |service| service.why(&read_request(&body)?)).await?;
    Ok(json_response(answer))
}

/// Returns the numbers of decisions in the last minute, and the routes that were nearly chosen.
async fn get_traffic(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    admitted.grant.require_any_scope(&[Scope::Explain, Scope::Admin])?;
    let language = app::accepted_language(&headers);
    let answer = app.run_blocking(&admitted, move |service| service.traffic(language)).await?;
    Ok(json_response(answer))
}

async fn get_readiness(State(app): AppState) -> Response {
    let (status, is_ready) = match app.service().is_ready() {
        true => (StatusCode::OK, true),
        false => (StatusCode::SERVICE_UNAVAILABLE, false),
    };
    (status, json_response(json!({ "ready": is_ready }).to_string())).into_response()
}

async fn get_metrics(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Explain)?;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let headers = [(header::CONTENT_TYPE, media_type)];
    // Counting the unknown conditions explains decisions, which takes some time.
    let text = app.run_blocking(&admitted, |service| Ok(service.metrics_text())).await?;
    Ok((headers, text).into_response())
}
