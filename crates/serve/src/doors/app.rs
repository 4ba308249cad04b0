//! The state that all protocol adapters share, such as the service and the tokens, and helpers that
//! write responses.

use super::admitted::{Admitted, RequestPermit};
use super::bodies::IncompleteBodies;
use crate::auth::{RequestPermissions, Scope, Tokens};
use crate::events::Events;
use crate::limits::{LimitName, RequestDeadline};
use crate::metrics::Metrics;
#[cfg(feature = "remote")]
use crate::otlp::{DecisionInfo, Otlp};
use crate::problem::Problem;
use crate::receipt::Receipt;
use crate::rules::{FolderWatch, RuleHost, RuleSet};
use crate::service::{DecideRequest, DecisionWithAnswer, Service, read_request};
use crate::web::WebGuard;
use arc_swap::ArcSwapOption;
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use rulec::Language;
use std::sync::{Arc, OnceLock};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

/// The response header that contains the generation (version number) of the rules that decided.
pub(crate) const GENERATION_HEADER: &str = "rulec-generation";

/// The state of the service that the request handlers of all protocols share.
pub(crate) struct App {
    service: Service,
    /// The accepted tokens; `None` if requests need no token.
    tokens: ArcSwapOption<Tokens>,
    request_permits: Arc<Semaphore>,
    /// One permit for each further stream that may be open. Streams have a semaphore of their own,
    /// because a stream may wait long for its client.
    stream_permits: Arc<Semaphore>,
    incomplete_bodies: IncompleteBodies,
    web_guard: WebGuard,
    events: Events,
    /// Notified when a request asks the server to check its files for changes.
    reload_request: Notify,
    /// The task that watches the folders of rules for changes. Empty if the service has no such
    /// folders.
    folder_watch: OnceLock<FolderWatch>,
    /// The export of metrics and traces to an OpenTelemetry collector; `None` if nothing is
    /// exported.
    #[cfg(feature = "remote")]
    otlp: Option<Otlp>,
    /// The studio (the web page for rule authors); `None` if the service has no studio.
    #[cfg(feature = "studio")]
    studio: Option<super::logins::StudioDoor>,
}

impl App {
    pub fn new(service: Service, tokens: Option<Tokens>, web: WebGuard, events: Events) -> App {
        App {
            web_guard: web,
            request_permits: Arc::new(Semaphore::new(service.limits().max_open_requests)),
            stream_permits: Arc::new(Semaphore::new(service.limits().max_open_requests)),
            incomplete_bodies: IncompleteBodies::new(service.limits()),
            tokens: ArcSwapOption::from_pointee(tokens),
            service,
            events,
            reload_request: Notify::new(),
            folder_watch: OnceLock::new(),
            #[cfg(feature = "remote")]
            otlp: None,
            #[cfg(feature = "studio")]
            studio: None,
        }
    }

    /// Sets the export of metrics and traces to an OpenTelemetry collector.
    #[cfg(feature = "remote")]
    pub fn with_otlp(self, otlp: Option<Otlp>) -> App {
        App { otlp, ..self }
    }

    #[cfg(feature = "remote")]
    pub fn otlp(&self) -> Option<&Otlp> {
        self.otlp.as_ref()
    }

    /// Sets the studio, the web page for rule authors.
    #[cfg(feature = "studio")]
    pub fn with_studio(self, door: Option<super::logins::StudioDoor>) -> App {
        App { studio: door, ..self }
    }

    #[cfg(feature = "studio")]
    pub fn studio(&self) -> Option<&super::logins::StudioDoor> {
        self.studio.as_ref()
    }

    /// Returns the permissions of the token with this hash; `None` if the token is unknown.
    #[cfg(feature = "studio")]
    pub fn grant_of_hash(&self, hash: &str) -> Option<RequestPermissions> {
        self.tokens.load().as_ref().and_then(|tokens| tokens.grant_of_hash(hash).cloned())
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    pub fn request_permits(&self) -> &Arc<Semaphore> {
        &self.request_permits
    }

    pub fn stream_permits(&self) -> &Arc<Semaphore> {
        &self.stream_permits
    }

    pub fn incomplete_bodies(&self) -> &IncompleteBodies {
        &self.incomplete_bodies
    }

    /// Admits a part of a stream, such as one message. Waits for a permit for the part, because
    /// permits limit the number of open requests. Returns the data of the stream with this permit
    /// and a new deadline.
    ///
    /// # Errors
    /// If the new deadline passes before there is a permit.
    pub async fn admit_part(&self, stream: &Admitted) -> Result<Admitted, Problem> {
        let deadline = RequestDeadline::after(self.service.limits().request_time_limit);
        let permit = self.request_permits.clone().acquire_owned();
        let permit = tokio::time::timeout_at(deadline.end().into(), permit).await;
        let permit = permit.map_err(|_| deadline.timeout_problem())?;
        let permit = permit.map_err(|_| Problem::broken("the service has no permits"))?;
        Ok(Admitted { permit: RequestPermit::new(permit), deadline, ..stream.clone() })
    }

    /// Returns the error for a body over the limit, and counts it in the metrics.
    pub fn body_too_large_problem(&self) -> Problem {
        self.service.metrics().count_limit(LimitName::body);
        let limit = self.service.limits().max_body_bytes;
        Problem::too_large(format!("the body is over the limit of {limit} bytes; see `--max-body`"))
    }

    /// Replaces the accepted tokens. The server calls this after the token file has changed.
    pub fn set_tokens(&self, tokens: Tokens) {
        self.tokens.store(Some(Arc::new(tokens)));
    }

    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Sets the task that watches the folders of rules. The server calls this once, when it starts.
    pub fn set_folder_watch(&self, watch: FolderWatch) {
        let _ = self.folder_watch.set(watch);
    }

    /// Makes the service check soon whether its rules have changed.
    pub fn check_rules_soon(&self) {
        self.service.check_rule_sources();
        if let Some(watch) = self.folder_watch.get() {
            watch.check_soon();
        }
    }

    /// Asks the server to check its files for changes: rules, tokens and certificates.
    pub fn ask_for_reload(&self) {
        self.reload_request.notify_one();
    }

    /// Waits until a request has asked the server to check its files.
    pub async fn wait_for_reload_request(&self) {
        self.reload_request.notified().await;
    }

    pub fn web_guard(&self) -> &WebGuard {
        &self.web_guard
    }

    /// Returns the permissions of a request, by its bearer token.
    ///
    /// # Errors
    /// If the service has tokens, and the request carries none or an unknown one.
    pub fn grant(&self, headers: &HeaderMap) -> Result<RequestPermissions, Problem> {
        let tokens = self.tokens.load();
        let Some(tokens) = tokens.as_ref() else { return Ok(RequestPermissions::without_tokens()) };
        let value = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let scheme = value.get(..7).unwrap_or_default();
        let token = value.get(7..).filter(|_| scheme.eq_ignore_ascii_case(b"bearer "));
        match token.map(|token| tokens.grant(token)) {
            None => Err(Problem::unauthorized("give a token: `Authorization: Bearer TOKEN`")),
            Some(None) => Err(Problem::unauthorized("the token is not known")),
            Some(Some(grant)) => Ok(grant.clone()),
        }
    }

    /// Returns the body of a request, as axum has read it.
    ///
    /// # Errors
    /// If the body has more bytes than the limit, or could not be read.
    pub fn checked_body(&self, body: Result<Bytes, BytesRejection>) -> Result<Bytes, Problem> {
        body.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => self.body_too_large_problem(),
            _ => Problem::invalid(error.body_text()),
        })
    }

    /// Decides a message. Fast decisions run on this thread, slow ones on a thread that may block.
    /// `body` is the JSON text of a [`DecideRequest`]. Waits for the decision log, if its mode
    /// requires that.
    ///
    /// # Errors
    /// As [`Service::decide`], or if the token lacks a needed scope, or the decision log cannot be
    /// written.
    pub async fn decide(
        self: &Arc<Self>,
        admitted: &Admitted,
        body: Bytes,
    ) -> Result<DecisionWithAnswer, Problem> {
        let request: DecideRequest<'_> = read_request(&body)?;
        admitted.grant.require_scope(Scope::Decide)?;
        if request.needs_explain_scope() {
            admitted.grant.require_scope(Scope::Explain)?;
        }
        let (deadline, trace) = (admitted.deadline, admitted.trace);
        let mut decided = match self.service.is_slow(&request)? {
            false => self.service.decide_before_deadline(&request, deadline, trace)?,
            true => {
                let body = body.clone();
                let work = move |service: &Service| {
                    service.decide_before_deadline(&read_request(&body)?, deadline, trace)
                };
                self.run_blocking(admitted, work).await?
            }
        };
        let receipt = std::mem::replace(&mut decided.receipt, Receipt::NONE);
        match request.record {
            false => receipt.wait().await?,
            // After most errors of the log, a caller may repeat the request. Here, a repeated
            // request would record the message twice, so the error has another kind.
            true if !receipt.was_written().await => {
                let why = "the message is recorded, but the decision log cannot be written; do not repeat it";
                return Err(Problem::not_logged(why));
            }
            true => {}
        }
        Ok(decided)
    }

    /// Runs `work` on a thread that may block. The work holds the request's permit until it ends,
    /// even if the request is cancelled. So the work counts against the limit of open requests.
    ///
    /// # Errors
    /// The error of `work`, or an internal error if `work` panicked.
    pub async fn run_blocking<T: Send + 'static>(
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

impl RuleHost for App {
    fn metrics(&self) -> &Metrics {
        self.service.metrics()
    }

    fn events(&self) -> &Events {
        &self.events
    }

    fn has_set(&self, name: &str) -> bool {
        self.service.sets().iter().any(|set| set.name() == name)
    }

    fn add_set(&self, set: Arc<RuleSet>) {
        self.service.add_set(set);
    }

    fn remove_set(&self, name: &str) {
        self.service.remove_set(name);
    }

    fn on_sets_changed(&self) {
        #[cfg(feature = "studio")]
        if let Some(Err(error)) = self.studio.as_ref().map(|door| door.update_rule_sets(&self.service)) {
            self.events.report("failure", serde_json::json!({ "error": error.to_string() }));
        }
    }
}

/// Runs `work` as a task of its own, which is cancelled if the caller is. So the work for a part of
/// a stream ends even while the client reads nothing, and then no longer counts as an open request.
///
/// # Errors
/// If `work` panicked.
pub(crate) async fn run_in_task<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Problem> {
    let mut task = JoinSet::new();
    task.spawn(work);
    let done = task.join_next().await.and_then(Result::ok);
    done.ok_or_else(|| Problem::broken("rulec stopped because of an internal error"))
}

/// Checks that the media type of a request is JSON. This keeps out foreign web pages: a browser
/// asks the service for permission before it sends JSON, but sends plain text without asking.
///
/// # Errors
/// If the media type is missing or is not JSON.
pub(crate) fn require_json_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    match media_type(headers).as_str() {
        "application/json" => Ok(()),
        kind if kind.starts_with("application/") && kind.ends_with("+json") => Ok(()),
        _ => Err(Problem::wrong_type("send `Content-Type: application/json`")),
    }
}

/// Returns the media type of a request's body, in lower case and without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the first language in the header `Accept-Language`. English if the header is missing, or
/// if rulec has no translations into this language.
pub(crate) fn accepted_language(headers: &HeaderMap) -> Language {
    let value = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let first = value.and_then(|value| value.split([',', ';']).next());
    first.and_then(|name| Language::of_locale(name.trim())).unwrap_or_default()
}

/// Returns a response with the status 200 and this JSON text as its body.
pub(crate) fn json_response(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The variable part of a route's path, percent-decoded, such as the name of a rule set in
/// `/v1/rules/{name}`.
pub(crate) struct PathVariable(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathVariable {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathVariable, Problem> {
        let Path(name) = Path::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(PathVariable(name))
    }
}

impl IntoResponse for DecisionWithAnswer {
    fn into_response(self) -> Response {
        let mut response = json_response(self.body);
        response.headers_mut().insert(GENERATION_HEADER, self.decision.generation().into());
        #[cfg(feature = "remote")]
        response.extensions_mut().insert(DecisionInfo(Arc::new((self.set, self.decision, self.route))));
        response
    }
}
