//! HTTP routes that describe the active rules, and that change them.

use super::admitted::Admitted;
use super::app::{App, PathVariable, json_response, require_json_content_type};
use crate::auth::Scope;
use crate::problem::Problem;
use crate::rules::{RuleSet, read_edit};
use crate::service::{Service, read_request};
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Extension, Router};
use bytes::Bytes;
use rulec::Edit;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;

type AppState = State<Arc<App>>;
type BodyResult = Result<Bytes, BytesRejection>;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/rules", get(get_overview))
        .route("/v1/rules/{rules}", get(describe_rule_set))
        .route("/v1/rules/{rules}/edits", post(edit_rules))
        .route("/v1/rules/{rules}/rollback", post(roll_back))
        .route("/v1/rules/{rules}/shadow", put(set_shadow).delete(remove_shadow))
        .route("/v1/rules/{rules}/promote", post(promote_shadow))
        .route("/v1/reload", post(request_reload))
}

async fn get_overview(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Explain)?;
    Ok(json_response(app.run_blocking(&admitted, Service::overview).await?))
}

async fn describe_rule_set(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(name): PathVariable,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Explain)?;
    let known = headers.get(header::IF_NONE_MATCH).cloned();
    let describe = move |service: &Service| {
        let known = known.as_ref().map(HeaderValue::as_bytes).unwrap_or_default();
        service.tag_and_description(&name, known)
    };
    let (tag, body) = app.run_blocking(&admitted, describe).await?;
    let mut response = match body {
        Some(body) => json_response(body),
        None => StatusCode::NOT_MODIFIED.into_response(),
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// A request to change the active rules: its permissions, and the entity tag (`If-Match`) of the
/// version that the caller has read.
struct RulesChange {
    app: Arc<App>,
    admitted: Admitted,
    rule_set_name: String,
    if_match: Option<HeaderValue>,
}

impl RulesChange {
    fn new(
        app: Arc<App>,
        admitted: Admitted,
        rule_set_name: String,
        headers: &HeaderMap,
    ) -> Result<RulesChange, Problem> {
        admitted.grant.require_scope(Scope::Admin)?;
        let if_match = headers.get(header::IF_MATCH).filter(|tag| tag.as_bytes() != b"*").cloned();
        Ok(RulesChange { app, admitted, rule_set_name, if_match })
    }

    /// Makes the change by calling `work`, and answers with the new generation (version number).
    /// The decision log gets the kind of change (`action`) and its `details`. Runs as its own task.
    /// So a change that has begun is completed and logged even if its request is cancelled.
    async fn make_change(
        self,
        action: &'static str,
        details: Json,
        work: impl FnOnce(&RuleSet, Option<u64>) -> Result<u64, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let made = tokio::spawn(self.make_and_log_change(action, details, work));
        made.await.unwrap_or_else(|_| Err(Problem::broken("rulec stopped because of an internal error")))
    }

    async fn make_and_log_change(
        self,
        action: &'static str,
        details: Json,
        work: impl FnOnce(&RuleSet, Option<u64>) -> Result<u64, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let RulesChange { app, admitted, rule_set_name, if_match } = self;
        let name = rule_set_name.clone();
        let change = app.run_blocking(&admitted, move |service| {
            let set = service.rule_set(Some(&name))?;
            work(&set, expected_generation(&set, if_match.as_ref())?)
        });
        let outcome = change.await;
        let by = &admitted.grant.token_name;
        let mut event = json!({ "action": action, "rules": rule_set_name, "by": by, "details": details });
        match &outcome {
            Ok(generation) => event["generation"] = (*generation).into(),
            Err(problem) => event["error"] = problem.detail().into(),
        }
        let is_logged = app.events().audit("change", event).was_written().await;
        // After most errors of the log, a caller may repeat the request. Here, a repeated request
        // would make the change twice, so the error has another kind.
        if let (Ok(generation), false) = (&outcome, is_logged) {
            let why = "the change is made, but the decision log cannot be written; do not repeat the change";
            return Err(Problem::not_logged(why).with_generation(*generation));
        }
        outcome.map(|generation| json_response(json!({ "generation": generation }).to_string()))
    }
}

/// Returns the generation (version number) of the active rules if their entity tag is `if_match`.
/// `None` if the request has no `if_match`.
///
/// # Errors
/// If the active rules have another entity tag, because another caller has changed them.
fn expected_generation(set: &RuleSet, if_match: Option<&HeaderValue>) -> Result<Option<u64>, Problem> {
    let Some(expected) = if_match else { return Ok(None) };
    let version = set.active();
    let generation = version.generation()?;
    let tag = version.entity_tag()?;
    match expected.as_bytes() == tag.as_bytes() {
        true => Ok(Some(generation)),
        false => Err(Problem::changed(format!("the rules have the tag {tag}; read them again"))),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditRequest {
    edits: Vec<Json>,
}

fn read_edits(edits: &[Json]) -> Result<Vec<Edit>, Problem> {
    edits.iter().map(read_edit).collect()
}

async fn edit_rules(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(rules): PathVariable,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let change = RulesChange::new(app.clone(), admitted, rules, &headers)?;
    let EditRequest { edits } = read_request(&app.checked_body(body)?)?;
    let parsed = read_edits(&edits)?;
    change.make_change("edit", Json::Array(edits), move |set, expected| set.edit(&parsed, expected)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RollbackRequest {
    generation: u64,
}

async fn roll_back(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(rules): PathVariable,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let change = RulesChange::new(app.clone(), admitted, rules, &headers)?;
    let RollbackRequest { generation } = read_request(&app.checked_body(body)?)?;
    let details = json!({ "to": generation });
    change.make_change("rollback", details, move |set, expected| set.roll_back(generation, expected)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShadowRequest {
    /// The text of the shadow rules, to which `edits` are then applied. `None` for the text of the
    /// rules in force.
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    edits: Vec<Json>,
}

async fn set_shadow(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(rules): PathVariable,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let change = RulesChange::new(app.clone(), admitted, rules, &headers)?;
    let ShadowRequest { text, edits } = read_request(&app.checked_body(body)?)?;
    let parsed = read_edits(&edits)?;
    let details = json!({ "text": text, "edits": edits });
    change.make_change("shadow", details, move |set, _| set.set_shadow(text.as_deref(), &parsed)).await
}

async fn remove_shadow(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(rules): PathVariable,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let change = RulesChange::new(app, admitted, rules, &headers)?;
    let remove = |set: &RuleSet, _| set.remove_shadow().map(|()| set.generation());
    change.make_change("remove_shadow", Json::Null, remove).await
}

async fn promote_shadow(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
    PathVariable(rules): PathVariable,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let change = RulesChange::new(app, admitted, rules, &headers)?;
    change.make_change("promote", Json::Null, |set, expected| set.promote_shadow(expected)).await
}

async fn request_reload(
    State(app): AppState,
    Extension(admitted): Extension<Admitted>,
) -> Result<Response, Problem> {
    admitted.grant.require_scope(Scope::Admin)?;
    let event = json!({ "action": "reload", "by": admitted.grant.token_name });
    app.events().audit("change", event).wait().await?;
    app.ask_for_reload();
    Ok(StatusCode::ACCEPTED.into_response())
}
