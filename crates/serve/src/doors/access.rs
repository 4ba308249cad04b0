//! Adapters for two authorization protocols: OpenID AuthZEN 1.0 (`access/v1/evaluation`), and
//! Envoy's external authorization over HTTP (`ext_authz`). Both protocols ask only whether an
//! action is permitted. The action is permitted if the decision selects the handler `allow`. It is
//! denied if the decision selects another handler or none.

use super::admitted::Admitted;
use super::app::{App, json_response, require_json_content_type};
use crate::limits::{LimitName, MAX_AUTHZEN_QUESTIONS};
use crate::problem::Problem;
use crate::service::{DecideRequest, DecisionWithAnswer, read_request};
use crate::web::{self, ENVOY_PATH_PREFIX};
use axum::extract::rejection::BytesRejection;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use axum::{Extension, Router};
use bytes::Bytes;
use rulec_base::json::parse_object_bytes;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// The name of the handler that means "the action is permitted".
const ALLOW_TARGET: &str = "allow";
/// The AuthZEN request header with the id of a request. The response repeats the header.
const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/access/v1/evaluation", post(answer_evaluation_request))
        .route("/access/v1/evaluations", post(answer_evaluations_request))
}

/// Returns the HTTP routes at which Envoy asks for authorization.
pub(super) fn envoy_routes() -> Router<Arc<App>> {
    Router::new()
        .route(ENVOY_PATH_PREFIX, any(check_request))
        .route("/ext_authz/", any(check_request))
        .route("/ext_authz/{*path}", any(check_request))
}

/// Decides a message. `message` is the JSON text of the message that the rules read.
async fn decide(
    app: &Arc<App>,
    admitted: &Admitted,
    message: &RawValue,
) -> Result<DecisionWithAnswer, Problem> {
    app.decide(admitted, DecideRequest::new(message).to_body()?).await
}

pub(super) fn is_permitted(decided: &DecisionWithAnswer) -> bool {
    decided.decision.target() == Some(ALLOW_TARGET)
}

/// An AuthZEN question: may the subject perform the action on the resource, in this context? Each
/// field is JSON text. In a request with several questions, defaults replace missing fields.
#[derive(Clone, Copy, Default, Deserialize)]
struct AuthzenQuestion<'m> {
    #[serde(borrow)]
    subject: Option<&'m RawValue>,
    #[serde(borrow)]
    action: Option<&'m RawValue>,
    #[serde(borrow)]
    resource: Option<&'m RawValue>,
    #[serde(borrow)]
    context: Option<&'m RawValue>,
}

impl<'m> AuthzenQuestion<'m> {
    /// Returns the AuthZEN question with every missing field taken from `defaults`.
    fn with_defaults(self, defaults: &AuthzenQuestion<'m>) -> AuthzenQuestion<'m> {
        AuthzenQuestion {
            subject: self.subject.or(defaults.subject),
            action: self.action.or(defaults.action),
            resource: self.resource.or(defaults.resource),
            context: self.context.or(defaults.context),
        }
    }

    /// Converts the AuthZEN question to the message that the rules decide. Copies the JSON text of
    /// each field, so that decimals stay exact.
    ///
    /// # Errors
    /// If the subject, the action or the resource is missing, or lacks a field that AuthZEN
    /// requires.
    fn to_message(self) -> Result<Box<RawValue>, Problem> {
        let parts = [
            ("subject", self.subject, &["type", "id"][..]),
            ("action", self.action, &["name"]),
            ("resource", self.resource, &["type", "id"]),
        ];
        let mut message = String::from("{");
        for (name, part, fields) in parts {
            let part = part.ok_or_else(|| Problem::invalid(format!("`{name}` is missing")))?;
            let object = parse_object_bytes(part.get().as_bytes())?;
            if let Some(field) = fields.iter().find(|field| !object.get(**field).is_some_and(Json::is_string))
            {
                return Err(Problem::invalid(format!("`{name}.{field}` must be a text")));
            }
            if object.get("properties").is_some_and(|properties| !properties.is_object()) {
                return Err(Problem::invalid(format!("`{name}.properties` must be an object")));
            }
            message.push_str(&format!("\"{name}\":{},", part.get()));
        }
        let context = self.context.map_or("{}", RawValue::get);
        if !context.starts_with('{') {
            return Err(Problem::invalid("`context` must be an object"));
        }
        message.push_str(&format!("\"context\":{context}}}"));
        RawValue::from_string(message).map_err(|error| Problem::invalid(error.to_string()))
    }
}

/// Answers one AuthZEN question. The `context` of the answer contains the name of the chosen route
/// and the generation (version number) of the rules.
async fn answer_evaluation(
    app: &Arc<App>,
    admitted: &Admitted,
    question: AuthzenQuestion<'_>,
) -> Result<Json, Problem> {
    let decided = decide(app, admitted, &question.to_message()?).await?;
    let context = json!({ "route": decided.route, "generation": decided.decision.generation() });
    Ok(json!({ "decision": is_permitted(&decided), "context": context }))
}

fn respond_with_request_id(headers: &HeaderMap, answer: &Json) -> Response {
    let mut response = json_response(answer.to_string());
    if let Some(id) = headers.get(REQUEST_ID_HEADER) {
        response.headers_mut().insert(REQUEST_ID_HEADER, id.clone());
    }
    response
}

async fn answer_evaluation_request(
    State(app): State<Arc<App>>,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    Ok(respond_with_request_id(&headers, &answer_evaluation(&app, &admitted, read_request(&body)?).await?))
}

/// A request with several AuthZEN questions. Its other fields are the defaults of the questions.
#[derive(Deserialize)]
struct AuthzenQuestions<'m> {
    #[serde(borrow)]
    subject: Option<&'m RawValue>,
    #[serde(borrow)]
    action: Option<&'m RawValue>,
    #[serde(borrow)]
    resource: Option<&'m RawValue>,
    #[serde(borrow)]
    context: Option<&'m RawValue>,
    /// The AuthZEN questions of the request, each as JSON text.
    #[serde(borrow, default)]
    evaluations: Vec<&'m RawValue>,
    /// The [`EvaluationOptions`], as JSON text.
    #[serde(borrow)]
    options: Option<&'m RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EvaluationOptions {
    evaluations_semantic: EvaluationsSemantic,
}

/// The AuthZEN setting that says after which answer the remaining questions are skipped.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum EvaluationsSemantic {
    #[default]
    ExecuteAll,
    DenyOnFirstDeny,
    PermitOnFirstPermit,
}

async fn answer_evaluations_request(
    State(app): State<Arc<App>>,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    require_json_content_type(&headers)?;
    let body = app.checked_body(body)?;
    let AuthzenQuestions { subject, action, resource, context, evaluations, options } = read_request(&body)?;
    let options: EvaluationOptions =
        options.map(|options| read_request(options.get().as_bytes())).transpose()?.unwrap_or_default();
    let evaluations: Vec<AuthzenQuestion<'_>> = evaluations
        .into_iter()
        .map(|question| read_request(question.get().as_bytes()))
        .collect::<Result<_, _>>()?;
    let defaults = AuthzenQuestion { subject, action, resource, context };
    if evaluations.is_empty() {
        return Ok(respond_with_request_id(&headers, &answer_evaluation(&app, &admitted, defaults).await?));
    }
    if evaluations.len() > MAX_AUTHZEN_QUESTIONS {
        app.service().metrics().count_limit(LimitName::questions);
        return Err(Problem::invalid(format!(
            "one request may ask at most {MAX_AUTHZEN_QUESTIONS} questions"
        )));
    }
    let mut answers = Vec::new();
    for question in evaluations {
        // Yields so that other requests run, and so that the deadline can cancel this request.
        tokio::task::yield_now().await;
        admitted.deadline.check_not_passed()?;
        // The answer to a question with an error is "denied", and its context holds the error.
        let answered = answer_evaluation(&app, &admitted, question.with_defaults(&defaults)).await;
        let answer = answered.unwrap_or_else(|problem| {
            json!({ "decision": false, "context": { "error": { "status": problem.status().as_u16(), "message": problem.detail() } } })
        });
        let is_permit = answer["decision"] == true;
        answers.push(answer);
        match options.evaluations_semantic {
            EvaluationsSemantic::DenyOnFirstDeny if !is_permit => break,
            EvaluationsSemantic::PermitOnFirstPermit if is_permit => break,
            _ => {}
        }
    }
    Ok(respond_with_request_id(&headers, &json!({ "evaluations": answers })))
}

/// The HTTP request about which Envoy asks whether it may pass.
pub(super) struct CheckedRequest<'r> {
    pub method: &'r str,
    /// The path and query of the checked request, prefixed with [`ENVOY_PATH_PREFIX`].
    pub uri: &'r Uri,
    pub host: &'r str,
    pub headers: &'r HeaderMap,
}

impl CheckedRequest<'_> {
    /// Returns the message that the rules decide: `{"method", "path", "query", "host", "headers"}`.
    /// `headers` does not contain `Authorization`, which holds the token.
    fn to_message(&self) -> Result<Box<RawValue>, Problem> {
        let mut headers = Map::new();
        for name in self.headers.keys().filter(|name| **name != header::AUTHORIZATION) {
            let values = self.headers.get_all(name).iter();
            let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
            headers.insert(name.as_str().to_owned(), values.join(", ").into());
        }
        let path = self.uri.path().strip_prefix(ENVOY_PATH_PREFIX).unwrap_or_default();
        let message = json!({
            "method": self.method,
            "path": if path.is_empty() { "/" } else { path },
            "query": self.uri.query().unwrap_or_default(),
            "host": self.host,
            "headers": headers,
        });
        to_raw_value(&message).map_err(|error| Problem::invalid(error.to_string()))
    }

    /// Decides by the rules whether the HTTP request about which Envoy asks may pass.
    pub async fn decide(&self, app: &Arc<App>, admitted: &Admitted) -> Result<DecisionWithAnswer, Problem> {
        decide(app, admitted, &self.to_message()?).await
    }
}

/// Answers Envoy's question about a request. The status 200 lets the request pass.
async fn check_request(
    State(app): State<Arc<App>>,
    Extension(admitted): Extension<Admitted>,
    request: Request,
) -> Result<Response, Problem> {
    let check = CheckedRequest {
        method: request.method().as_str(),
        uri: request.uri(),
        host: web::request_host(&request).unwrap_or_default(),
        headers: request.headers(),
    };
    let decided = check.decide(&app, &admitted).await?;
    let status = if is_permitted(&decided) { StatusCode::OK } else { StatusCode::FORBIDDEN };
    let mut response = status.into_response();
    // Envoy can be configured to forward this header to the upstream service.
    let route = decided.route.as_deref().and_then(|route| HeaderValue::from_str(route).ok());
    if let Some(route) = route {
        response.headers_mut().insert("x-rulec-route", route);
    }
    Ok(response)
}
