//! The HTTP listener, and the mapping of request paths to handlers.

use crate::answers::{decide, edit, map, near, overview, replays, table, test_block};
use crate::error::RequestError;
use crate::guard::{Gate, guard};
use crate::handle::{asked, got, replaced};
use crate::state::{Options, Studio};
use crate::{assets, report};
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use rulec::Message;
use rulec_base::json::MAX_BYTES;
use rulec_base::message;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// A studio that listens on a port of this machine.
pub struct Server {
    listener: TcpListener,
    studio: Arc<Studio>,
    port: u16,
}

/// Error that prevents the studio from starting, as a message.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct StartError(Message);

impl StartError {
    /// Returns the error as a localized message.
    pub fn to_message(&self) -> Message {
        self.0.clone()
    }
}

/// Maximum size in bytes of a request that is not an upload. The factor 8 leaves room for JSON
/// escapes in a message or file text.
const MAX_REQUEST: usize = 8 * MAX_BYTES;

impl Server {
    /// Opens a studio and listens on the loopback address.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, or if the port is in use.
    pub async fn bind(options: &Options) -> Result<Server, StartError> {
        let studio = Arc::new(Studio::new(options).map_err(StartError)?);
        let refused = |error: io::Error| {
            let port = options.port;
            StartError(match error.kind() {
                io::ErrorKind::AddrInUse => {
                    message!("port {port} is taken; leave `--port` out to take a free one")
                }
                _ => message!("the studio cannot listen on port {port}: {error}"),
            })
        };
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)))
            .await
            .map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        Ok(Server { listener, studio, port })
    }

    /// Returns the URL of the page. The token is after the `#`, because browsers do not send that
    /// part to servers.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.studio.token)
    }

    /// Serves requests until `until` completes.
    ///
    /// # Errors
    ///
    /// Returns an error if the listener fails.
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
        .merge(replays::routes())
        .layer(DefaultBodyLimit::max(MAX_REQUEST))
        .fallback(page)
}

/// Serves a file of the studio's page.
async fn page(uri: Uri) -> Response {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    match assets::file(path).filter(|_| path != report::TEMPLATE) {
        Some(bytes) => ([(header::CONTENT_TYPE, assets::content_type(path))], bytes).into_response(),
        None => {
            (StatusCode::NOT_FOUND, RequestError::missing(message!("there is no `{path}`"))).into_response()
        }
    }
}
