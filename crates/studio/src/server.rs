//! The listener, and the paths of requests. Each request is answered on a thread of its own, so that one that takes long holds up
//! none of the others.

use crate::answers::{decide, edit, map, near, overview, table, test_block};
use crate::guard::{Gate, guard};
use crate::refusal::{Answer, Refused};
use crate::state::{Options, Studio};
use crate::{assets, replay, report};
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use axum::{Json, Router, middleware};
use rulec::internals::json::MAX_BYTES;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// A studio that listens.
pub struct Server {
    listener: TcpListener,
    studio: Arc<Studio>,
    port: u16,
}

/// The reason why a studio cannot be opened, in words.
#[derive(Debug)]
pub struct StartError(String);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// The most bytes of a request that is no upload: a message in JSON's escapes, or the text of a file.
const MAX_REQUEST: usize = 8 * MAX_BYTES;

impl Server {
    /// Listens on loopback.
    ///
    /// # Errors
    /// When a file cannot be read, or the port is taken.
    pub async fn bind(options: &Options) -> Result<Server, StartError> {
        let studio = Arc::new(Studio::new(options).map_err(StartError)?);
        let refused = |error: io::Error| {
            let port = options.port;
            StartError(match error.kind() {
                io::ErrorKind::AddrInUse => {
                    format!("port {port} is taken; leave `--port` out to take a free one")
                }
                _ => format!("the studio cannot listen on port {port}: {error}"),
            })
        };
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)))
            .await
            .map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        Ok(Server { listener, studio, port })
    }

    /// The address of the page, with the token. What stands behind `#` never leaves the browser.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.studio.token)
    }

    /// Answers until the future ends.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn run(self, until: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let gate = Gate { studio: self.studio.clone(), port: self.port };
        let router = router().layer(middleware::from_fn_with_state(gate, guard)).with_state(self.studio);
        tokio::select! {
            ended = async { axum::serve(self.listener, router).await } => ended,
            () = until => Ok(()),
        }
    }
}

fn router() -> Router<Arc<Studio>> {
    Router::new()
        .route("/api/session", got(overview::session))
        .route("/api/overview", got(overview::overview))
        .route("/api/rules", asked(overview::upload_rules))
        .route("/api/messages", got(overview::kept).merge(replaced(overview::keep)))
        .route("/api/decide", asked(decide::decide))
        .route("/api/near", asked(near::near))
        .route("/api/test", asked(test_block::make))
        .route("/api/map", got(map::map))
        .route("/api/table", got(table::table))
        .route("/api/file", got(edit::file))
        .route("/api/check", asked(edit::check))
        .route("/api/complete", asked(edit::complete))
        .route("/api/hover", asked(edit::hover))
        .route("/api/definition", asked(edit::definition))
        .route("/api/format", asked(edit::format))
        .route("/api/save", asked(edit::save))
        .route("/api/codes/{code}", get(edit::code))
        .route("/api/report", asked(report::ask))
        .route("/api/report.html", post(report::html))
        .merge(replay::routes())
        .layer(DefaultBodyLimit::max(MAX_REQUEST))
        .fallback(page)
}

/// Answers on a thread that may take its time.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(Refused::broken(
            "the studio made a mistake; what it was asked is on the terminal. Please report it",
        ))
    })
}

type Body<Q> = Result<Json<Q>, JsonRejection>;

async fn answer<Q, A>(
    studio: Arc<Studio>,
    body: Body<Q>,
    work: fn(&Arc<Studio>, Q) -> Answer<A>,
) -> Answer<Json<A>>
where
    Q: Send + 'static,
    A: Send + 'static,
{
    let Json(question) =
        body.map_err(|error| Refused { status: error.status(), ..Refused::invalid(error.body_text()) })?;
    blocking(move || work(&studio, question)).await.map(Json)
}

/// A request whose body is JSON.
pub(crate) fn asked<Q, A>(work: fn(&Arc<Studio>, Q) -> Answer<A>) -> MethodRouter<Arc<Studio>>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    post(move |State(studio): State<Arc<Studio>>, body: Body<Q>| answer(studio, body, work))
}

/// The same, where it replaces something.
fn replaced<Q, A>(work: fn(&Arc<Studio>, Q) -> Answer<A>) -> MethodRouter<Arc<Studio>>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    put(move |State(studio): State<Arc<Studio>>, body: Body<Q>| answer(studio, body, work))
}

/// A request whose question stands in the address.
pub(crate) fn got<Q, A>(work: fn(&Arc<Studio>, Q) -> Answer<A>) -> MethodRouter<Arc<Studio>>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    get(move |State(studio): State<Arc<Studio>>, query: Result<Query<Q>, QueryRejection>| async move {
        let Query(question) = query.map_err(|error| Refused::invalid(error.body_text()))?;
        blocking(move || work(&studio, question)).await.map(Json)
    })
}

/// A file of the page.
async fn page(uri: Uri) -> Response {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    match assets::file(path).filter(|_| path != report::TEMPLATE) {
        Some(bytes) => ([(header::CONTENT_TYPE, assets::content_type(path))], bytes).into_response(),
        None => (StatusCode::NOT_FOUND, Refused::missing(format!("there is no `{path}`"))).into_response(),
    }
}
