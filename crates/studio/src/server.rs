//! The HTTP listener, and the mapping of request paths to handlers.

use crate::answers::{decide, edit, map, near, overview, replays, table, test_block};
use crate::error::RequestError;
use crate::guard::{AccessGate, guard_request};
use crate::handle::{get_handler, post_handler, put_handler};
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

/// The reason why the studio cannot start.
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
const MAX_REQUEST_BYTES: usize = 8 * MAX_BYTES;

impl Server {
    /// Opens a studio and listens on the loopback address.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, or if the port is in use.
    pub async fn bind(options: &Options) -> Result<Server, StartError> {
        let studio = Arc::new(Studio::new(options).map_err(StartError)?);
        let to_error = |error: io::Error| {
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
            .map_err(to_error)?;
        let port = listener.local_addr().map_err(to_error)?.port();
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
        let gate = AccessGate { studio: self.studio.clone(), port: self.port };
        let uploads = self.studio.uploads.path().to_owned();
        let router =
            build_router().layer(middleware::from_fn_with_state(gate, guard_request)).with_state(self.studio);
        let ended = tokio::select! {
            ended = async { axum::serve(self.listener, router).await } => ended,
            () = until => Ok(()),
        };
        // A request that still runs keeps the studio alive, and with it the folder.
        let _ = std::fs::remove_dir_all(uploads);
        ended
    }
}

fn build_router() -> Router<Arc<Studio>> {
    Router::new()
        .route("/api/session", get_handler(overview::session))
        .route("/api/overview", get_handler(overview::overview))
        .route("/api/rules", post_handler(overview::upload_rules))
        .route(
            "/api/messages",
            get_handler(overview::saved_messages).merge(put_handler(overview::save_messages)),
        )
        .route("/api/decide", post_handler(decide::decide))
        .route("/api/near", post_handler(near::near_misses))
        .route("/api/test", post_handler(test_block::make_test))
        .route("/api/map", get_handler(map::map))
        .route("/api/table", get_handler(table::table))
        .route("/api/file", get_handler(edit::file))
        .route("/api/check", post_handler(edit::check))
        .route("/api/complete", post_handler(edit::complete))
        .route("/api/hover", post_handler(edit::hover))
        .route("/api/definition", post_handler(edit::definition))
        .route("/api/format", post_handler(edit::format))
        .route("/api/save", post_handler(edit::save))
        .route("/api/codes/{code}", get(edit::code))
        .route("/api/report", post_handler(report::collect_report))
        .route("/api/report.html", post(report::report_response))
        .merge(replays::replay_routes())
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .fallback(serve_page)
}

/// Serves a file of the studio's page.
async fn serve_page(uri: Uri) -> Response {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    match assets::page_file(path).filter(|_| path != report::TEMPLATE) {
        Some(bytes) => ([(header::CONTENT_TYPE, assets::content_type(path))], bytes).into_response(),
        None => {
            (StatusCode::NOT_FOUND, RequestError::missing(message!("there is no `{path}`"))).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::RulesFile;

    #[tokio::test]
    async fn uploads_are_removed_at_the_end_although_a_request_runs() {
        let folder = tempfile::tempdir().expect("there is a place for files");
        let path = folder.path().join("a.rules");
        std::fs::write(&path, "default -> d\n").expect("it can be written");
        let options = Options { rules: vec![RulesFile { path, root: None }], ..Options::default() };
        let server = Server::bind(&options).await.expect("a studio opens");
        let held_by_request = server.studio.clone();
        let uploads = held_by_request.uploads.path().to_owned();
        std::fs::write(uploads.join("upload"), "private").expect("it can be written");
        server.run(std::future::ready(())).await.expect("it ends well");
        assert!(!uploads.exists());
    }
}
