//! The door of rulec itself: JSON over HTTP.

use super::app::{App, Name, json_response, media_type, need_json};
use super::gate::Permit;
use super::stream;
use crate::auth::{Grant, Scope};
use crate::openapi::document;
use crate::problem::Problem;
use crate::service::{Batch, BatchRequest, BatchSettings, read_request};
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::sync::Arc;

type Shared = State<Arc<App>>;
type ReadBody = Result<Bytes, BytesRejection>;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/decide", post(decide))
        .route("/v1/batch", post(batch))
        .route("/v1/flows", post(flows))
        .route("/v1/judge/{kind}", post(judge))
        .route("/v1/workflows/{name}", post(workflow))
        .route("/v1/analyze", post(analyze))
        .route("/v1/test", post(test))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(|| async { json_response(document().to_string()) }))
}

async fn decide(
    State(app): Shared,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: ReadBody,
) -> Result<Response, Problem> {
    need_json(&headers)?;
    let body = app.body(body)?;
    Ok(app.decide(&grant, body).await?.into_response())
}

/// Decides which flow a message starts: a decision by the entry `flows`.
async fn flows(
    State(app): Shared,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: ReadBody,
) -> Result<Response, Problem> {
    need_json(&headers)?;
    let body = app.body(body)?;
    let mut request: serde_json::Map<String, Json> = read_request(&body)?;
    if request.insert("entry".to_owned(), "flows".into()).is_some() {
        return Err(Problem::invalid("`/v1/flows` takes no `entry`; use `/v1/decide`"));
    }
    let body = serde_json::to_vec(&request).unwrap_or_default();
    Ok(app.decide(&grant, body.into()).await?.into_response())
}

async fn batch(
    State(app): Shared,
    Extension(grant): Extension<Grant>,
    Extension(permit): Extension<Permit>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    grant.need(Scope::Decide)?;
    let check = |settings: &BatchSettings| match settings.explain || settings.matched {
        true => grant.need(Scope::Explain),
        false => Ok(()),
    };
    if media_type(request.headers()) == "application/x-ndjson" {
        let settings = stream::read_settings(query.as_deref().unwrap_or_default())?;
        check(&settings)?;
        let batch = Batch::new(app.service(), settings)?;
        let lines = stream::answer(app, batch, request.into_body(), permit);
        let mut response = Response::new(Body::from_stream(lines));
        let media_type = HeaderValue::from_static("application/x-ndjson");
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        return Ok(response);
    }
    need_json(request.headers())?;
    let body = app.body(Bytes::from_request(request, &()).await)?;
    check(&read_request::<BatchRequest<'_>>(&body)?.settings())?;
    let answers = app.blocking(move |service| {
        let request: BatchRequest<'_> = read_request(&body)?;
        Batch::new(service, request.settings())?.answer_array(service, &request)
    });
    Ok(json_response(answers.await?))
}

async fn judge(
    State(app): Shared,
    Extension(grant): Extension<Grant>,
    Name(kind): Name,
    headers: HeaderMap,
    body: ReadBody,
) -> Result<Response, Problem> {
    grant.need(Scope::Decide)?;
    need_json(&headers)?;
    let body = app.body(body)?;
    let judgement = app.blocking(move |service| service.judge(&kind, read_request(&body)?));
    Ok(json_response(judgement.await?))
}

async fn workflow(
    State(app): Shared,
    Extension(grant): Extension<Grant>,
    Name(name): Name,
    headers: HeaderMap,
    body: ReadBody,
) -> Result<Response, Problem> {
    grant.need(Scope::Decide)?;
    need_json(&headers)?;
    let request = read_request(&app.body(body)?)?;
    Ok(json_response(app.service().run_workflow(&name, request).await?))
}

async fn analyze(
    State(app): Shared,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: ReadBody,
) -> Result<Response, Problem> {
    grant.need(Scope::Decide)?;
    need_json(&headers)?;
    let body = app.body(body)?;
    let analysis = app.blocking(move |service| service.analyze(&read_request(&body)?));
    Ok(json_response(analysis.await?))
}

async fn test(
    State(app): Shared,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: ReadBody,
) -> Result<Response, Problem> {
    grant.need(Scope::Explain)?;
    need_json(&headers)?;
    let body = app.body(body)?;
    let outcomes = app.blocking(move |service| service.test(&read_request(&body)?)).await?;
    Ok(json_response(outcomes.to_string()))
}

async fn ready(State(app): Shared) -> Response {
    let (status, is_ready) = match app.service().is_ready() {
        true => (StatusCode::OK, true),
        false => (StatusCode::SERVICE_UNAVAILABLE, false),
    };
    (status, json_response(json!({ "ready": is_ready }).to_string())).into_response()
}

async fn metrics(State(app): Shared, Extension(grant): Extension<Grant>) -> Result<Response, Problem> {
    grant.need(Scope::Explain)?;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let headers = [(header::CONTENT_TYPE, media_type)];
    Ok((headers, app.service().metrics().to_text()).into_response())
}
