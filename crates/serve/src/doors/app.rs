//! What the doors share: the core, the tokens, and helpers for answers.

use super::admitted::Admitted;
use crate::auth::{Grant, Scope, Tokens};
use crate::events::Events;
use crate::metrics::LimitName;
use crate::problem::Problem;
use crate::receipt::Receipt;
use crate::service::{DecideRequest, Decided, Service, read_request};
use crate::web::WebGuard;
use arc_swap::ArcSwapOption;
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore};

/// The header with the generation of the rules that decided.
pub(crate) const GENERATION_HEADER: &str = "rulec-generation";

/// The core, and what else the doors need.
pub(crate) struct App {
    service: Service,
    /// The tokens; `None` if the service accepts every request.
    tokens: ArcSwapOption<Tokens>,
    permits: Arc<Semaphore>,
    web: WebGuard,
    events: Events,
    /// Notified when a request asks for changed files.
    reload: Notify,
}

impl App {
    pub fn new(service: Service, tokens: Option<Tokens>, web: WebGuard, events: Events) -> App {
        App {
            web,
            permits: Arc::new(Semaphore::new(service.limits().concurrency)),
            tokens: ArcSwapOption::from_pointee(tokens),
            service,
            events,
            reload: Notify::new(),
        }
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    pub fn permits(&self) -> &Arc<Semaphore> {
        &self.permits
    }

    /// Replaces the tokens, after their file has changed.
    pub fn set_tokens(&self, tokens: Tokens) {
        self.tokens.store(Some(Arc::new(tokens)));
    }

    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Asks the server to look for changed files: rules, tokens and certificates.
    pub fn ask_for_reload(&self) {
        self.reload.notify_one();
    }

    /// Waits until a request asks for changed files.
    pub async fn reload_asked(&self) {
        self.reload.notified().await;
    }

    pub fn web(&self) -> &WebGuard {
        &self.web
    }

    /// Returns what a request may do.
    ///
    /// # Errors
    /// If the service has tokens, and the request has none of them.
    pub fn grant(&self, headers: &HeaderMap) -> Result<Grant, Problem> {
        let tokens = self.tokens.load();
        let Some(tokens) = tokens.as_ref() else { return Ok(Grant::without_tokens()) };
        let value = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let scheme = value.get(..7).unwrap_or_default();
        let token = value.get(7..).filter(|_| scheme.eq_ignore_ascii_case(b"bearer "));
        match token.map(|token| tokens.grant(token)) {
            None => Err(Problem::unauthorized("give a token: `Authorization: Bearer TOKEN`")),
            Some(None) => Err(Problem::unauthorized("the token is not known")),
            Some(Some(grant)) => Ok(grant.clone()),
        }
    }

    /// Returns the body of a request.
    ///
    /// # Errors
    /// If the body is over the limit, or ends early.
    pub fn body(&self, body: Result<Bytes, BytesRejection>) -> Result<Bytes, Problem> {
        body.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                self.service.metrics().count_limit(LimitName::body);
                let limit = self.service.limits().body;
                Problem::too_large(format!("the body is over the limit of {limit} bytes; see `--max-body`"))
            }
            _ => Problem::invalid(error.body_text()),
        })
    }

    /// Answers on this thread, or on a thread for slow work if the answer takes time. `body` is the
    /// text of a [`DecideRequest`].
    ///
    /// # Errors
    /// As [`Service::decide`], or if the token does not allow it.
    pub async fn decide(self: &Arc<Self>, admitted: &Admitted, body: Bytes) -> Result<Decided, Problem> {
        let request: DecideRequest<'_> = read_request(&body)?;
        admitted.grant.need(Scope::Decide)?;
        if request.explains() {
            admitted.grant.need(Scope::Explain)?;
        }
        let (deadline, trace) = (admitted.deadline, admitted.trace);
        let mut decided = match self.service.is_slow(&request)? {
            false => self.service.decide_before(&request, deadline, trace)?,
            true => {
                let body = body.clone();
                let work =
                    move |service: &Service| service.decide_before(&read_request(&body)?, deadline, trace);
                self.blocking(admitted, work).await?
            }
        };
        let receipt = std::mem::replace(&mut decided.receipt, Receipt::NONE);
        match request.record {
            false => receipt.wait().await?,
            // A caller that repeated the request would record the message twice.
            true if !receipt.was_written().await => {
                let why = "the message is recorded, but the decision log cannot be written; do not repeat it";
                return Err(Problem::not_logged(why));
            }
            true => {}
        }
        Ok(decided)
    }

    /// Runs `work` on a thread for slow work. The work keeps the permit of the request until its
    /// end, also if the request is cancelled.
    ///
    /// # Errors
    /// The error of `work`, or that it panicked.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        admitted: &Admitted,
        work: impl FnOnce(&Service) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (app, permit) = (self.clone(), admitted.permit.clone());
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&app.service)
        });
        done.await.unwrap_or_else(|_| Err(Problem::broken("rulec stopped because of an internal error")))
    }
}

/// Checks that the body of a request is JSON. A page of another website can send other types
/// without asking the browser first.
///
/// # Errors
/// If the request names another media type, or none.
pub(crate) fn need_json(headers: &HeaderMap) -> Result<(), Problem> {
    match media_type(headers).as_str() {
        "application/json" => Ok(()),
        kind if kind.starts_with("application/") && kind.ends_with("+json") => Ok(()),
        _ => Err(Problem::wrong_type("send `Content-Type: application/json`")),
    }
}

/// Returns the media type of the body in lower case, without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns a response with a JSON body.
pub(crate) fn json_response(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The part of a path that names something, such as rules.
pub(crate) struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Name, Problem> {
        let Path(name) = Path::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(Name(name))
    }
}

impl IntoResponse for Decided {
    fn into_response(self) -> Response {
        let mut response = json_response(self.body);
        response.headers_mut().insert(GENERATION_HEADER, self.decision.generation().into());
        response
    }
}
