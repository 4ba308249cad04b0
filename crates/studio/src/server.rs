//! The HTTP listener of the studio, and the mapping of request paths to handlers.

use crate::answers::{decide, edit, map, near, overview, replays, row_edit, table, test_block};
use crate::error::RequestError;
use crate::guard::{AccessGate, guard_request, prepare_request};
use crate::handle::{ApiRoute, get_handler, post_handler, put_handler};
use crate::project::LiveRuleSet;
use crate::state::{Options, Studio};
use crate::{assets, report};
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rulec::Message;
use rulec_base::json::MAX_MESSAGE_BYTES;
use rulec_base::message;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

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
const MAX_REQUEST_BYTES: usize = 8 * MAX_MESSAGE_BYTES;

/// Maximum number of open connections. A browser opens at most six to one address.
const MAX_CONNECTIONS: usize = 256;
/// Maximum time in which a client must send the complete head of its next request.
const HEAD_TIME_LIMIT: Duration = Duration::from_secs(10);
/// Pause after an error while accepting a connection, for example because all file descriptors are
/// in use.
const PAUSE_AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(100);

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
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.studio.access_token)
    }

    /// Serves requests until the future `until` completes.
    ///
    /// # Errors
    ///
    /// Returns an error if connections can no longer be accepted.
    pub async fn run(self, until: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let gate = AccessGate { studio: self.studio.clone(), port: self.port };
        let uploads = self.studio.upload_folder.path().to_owned();
        let router = build_router(MAX_REQUEST_BYTES)
            .layer(middleware::from_fn_with_state(gate, guard_request))
            .with_state(self.studio);
        let ended = tokio::select! {
            ended = accept_connections(&self.listener, router) => ended,
            () = until => Ok(()),
        };
        // A request that still runs keeps the studio alive, and with it the folder.
        let _ = std::fs::remove_dir_all(uploads);
        ended
    }
}

/// Returns an HTTP router for the studio of a running service, which shows the service's current
/// rules. `body_limit` is the maximum size of a request body in bytes.
///
/// The caller must check that the client may send the request. It must also remove the path prefix
/// under which it serves the studio.
///
/// # Errors
///
/// Returns an error if there are no random numbers, or no folder for temporary files.
pub fn router_of_service(rules: Vec<Arc<dyn LiveRuleSet>>, body_limit: usize) -> Result<Router, StartError> {
    let studio = Arc::new(Studio::of_service(rules).map_err(StartError)?);
    Ok(build_router(body_limit).layer(middleware::from_fn(prepare_request)).with_state(studio))
}

/// Serves each connection in its own task. Closes a connection that sends no complete request head
/// within [`HEAD_TIME_LIMIT`]. So idle connections cannot use up the limit of connections.
async fn accept_connections(listener: &TcpListener, router: Router) -> io::Result<()> {
    let open_connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let permit = open_connections.clone().acquire_owned().await.map_err(io::Error::other)?;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The client has disconnected, or all file descriptors are in use. The listener still
            // works.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                tokio::time::sleep(PAUSE_AFTER_ACCEPT_ERROR).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut connection = http1::Builder::new();
            connection.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_LIMIT);
            // An error ends only this connection: its client has disconnected, or did not send
            // HTTP.
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
            drop(permit);
        });
    }
}

/// Returns all HTTP routes of the studio's API, each with its method, path and handler.
fn api_routes() -> Vec<ApiRoute> {
    let mut routes: Vec<ApiRoute> = vec![
        ("GET", "/api/session", get_handler(overview::session)),
        ("GET", "/api/overview", get_handler(overview::overview)),
        ("POST", "/api/rules", post_handler(overview::upload_rules)),
        ("GET", "/api/messages", get_handler(overview::saved_messages)),
        ("PUT", "/api/messages", put_handler(overview::save_messages)),
        ("POST", "/api/decide", post_handler(decide::decide)),
        ("POST", "/api/near", post_handler(near::near_misses)),
        ("POST", "/api/test", post_handler(test_block::make_test)),
        ("GET", "/api/map", get_handler(map::rules_map)),
        ("GET", "/api/table", get_handler(table::decision_table)),
        ("POST", "/api/rows", post_handler(row_edit::edit_row)),
        ("GET", "/api/file", get_handler(edit::read_file_text)),
        ("POST", "/api/check", post_handler(edit::check_text)),
        ("POST", "/api/complete", post_handler(edit::complete)),
        ("POST", "/api/hover", post_handler(edit::hover)),
        ("POST", "/api/definition", post_handler(edit::definition)),
        ("POST", "/api/format", post_handler(edit::format)),
        ("POST", "/api/save", post_handler(edit::save)),
        ("GET", "/api/codes/{code}", get(edit::code_page)),
        ("POST", "/api/report", post_handler(report::collect_report)),
        ("POST", "/api/report.html", post(report::report_response)),
    ];
    routes.extend(replays::replay_routes());
    routes
}

/// Returns the method and path of each route, so that a test can prove that it covers all routes.
#[doc(hidden)]
pub fn route_methods_and_paths() -> Vec<(&'static str, &'static str)> {
    api_routes().into_iter().map(|(method, path, _)| (method, path)).collect()
}

fn build_router(body_limit: usize) -> Router<Arc<Studio>> {
    api_routes()
        .into_iter()
        .fold(Router::new(), |router, (_, path, handler)| router.route(path, handler))
        .layer(DefaultBodyLimit::max(body_limit))
        .fallback(serve_page)
}

/// Serves the file of the studio's page that the path of the URI names.
async fn serve_page(uri: Uri) -> Response {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    match assets::page_file(path).filter(|_| path != report::REPORT_TEMPLATE_FILE) {
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
        let options = Options { rules: vec![RulesFile { path, import_root: None }], ..Options::default() };
        let server = Server::bind(&options).await.expect("a studio opens");
        let held_by_request = server.studio.clone();
        let uploads = held_by_request.upload_folder.path().to_owned();
        std::fs::write(uploads.join("upload"), "private").expect("it can be written");
        server.run(std::future::ready(())).await.expect("it ends well");
        assert!(!uploads.exists());
    }
}
