//! The main loop: receives messages, sends answers and diagnostics. Messages are processed one at a
//! time, so that each answer matches the text at the time of its request. Another thread compiles
//! as soon as no message waits to be processed, and analyses after a pause in typing. Its results
//! are sent if the text is still the same. A request for findings waits for the analysis.

use super::answers::{self, Answer};
use super::background::{BackgroundCompiler, CompileJob};
use super::capabilities::{can_insert_snippets, can_refresh_lenses, can_watch_files, capabilities};
use super::colours;
use super::commands;
use super::completion;
use super::kept::KeptFindings;
use super::navigation;
use super::pages::{self, PageSupport};
use super::transport;
use super::workspace::{AnalyzedFile, OpenDocument, Workspace, path_of};
use crossbeam_channel::{after, never, select_biased};
use ls_types::notification::{self, Notification as _};
use ls_types::request::{self, Request as _};
use ls_types::{InitializeParams, InitializeResult, ServerInfo, Uri, WorkspaceFolder};
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response};
use rulec::Language;
use rulec_base::message;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Minimum pause in typing before the rules are analysed.
const ANALYSIS_DELAY: Duration = Duration::from_millis(250);

/// The reason why the server ended before the editor shut the server down.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ServeError {
    /// The editor sent a message that the protocol does not allow, or closed the connection too
    /// early.
    Protocol(#[from] ProtocolError),
    /// Reading standard input or writing standard output failed.
    Io(#[from] io::Error),
    /// The editor ended the server without shutting it down first.
    NotShutDown,
}

impl ServeError {
    /// Returns the reason why the server ended as a localized message.
    pub fn to_message(&self) -> rulec::Message {
        match self {
            ServeError::Protocol(error) => message!("the editor broke the protocol: {}", error.to_string()),
            ServeError::Io(error) => message!("standard input or output failed: {error}"),
            ServeError::NotShutDown => message!("the editor ended the server without shutting it down"),
        }
    }
}

/// Serves an editor over standard input and output until the editor shuts the server down.
/// Diagnostics are in `language` if it is given, otherwise in the language of the editor.
///
/// # Errors
/// If the editor violates the protocol, or ends the server without shutting it down. Also if
/// standard input or output fails.
pub fn serve_stdio(language: Option<Language>) -> Result<(), ServeError> {
    let (connection, threads) = transport::connect_stdio(language.unwrap_or_default());
    let served = serve(&connection, language);
    // The writer thread ends when all senders of the connection are dropped.
    drop(connection);
    threads.join()?;
    served
}

/// Serves the editor at the other end of a connection until the editor shuts the server down.
/// Diagnostics are in `language` if it is given, otherwise in the language of the editor.
///
/// # Errors
/// If the editor violates the protocol, or ends the server without shutting it down.
pub fn serve(connection: &Connection, language: Option<Language>) -> Result<(), ServeError> {
    let (id, params) = connection.initialize_start()?;
    let result = InitializeResult {
        capabilities: capabilities(),
        server_info: Some(ServerInfo {
            name: "rulec".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        ..InitializeResult::default()
    };
    let mut result = serde_json::to_value(result).unwrap_or_default();
    pages::add_document_capability(&mut result);
    connection.initialize_finish(id, result)?;
    let page_support = PageSupport::from_initialize_params(&params);
    let params: InitializeParams = serde_json::from_value(params).unwrap_or_default();
    let language = language.unwrap_or_else(|| language_of(params.locale.as_deref()));
    let (watches_files, refreshes_lenses) =
        (can_watch_files(&params.capabilities), can_refresh_lenses(&params.capabilities));
    let supports_snippets = can_insert_snippets(&params.capabilities);
    let workspace =
        Workspace::new(workspace_folders(params), language, page_support).with_snippets(supports_snippets);
    let (sent, last_findings) = (BTreeMap::new(), BTreeMap::new());
    let mut server = Server {
        connection,
        workspace,
        sent,
        last_findings,
        can_refresh_lenses: refreshes_lenses,
        refresh_count: 0,
        unsent: UnsentDiagnostics::No,
        background: BackgroundCompiler::new(),
        revision: 0,
        waiting: Vec::new(),
        is_shut_down: false,
    };
    if watches_files {
        server.register_file_watchers();
    }
    server.run()
}

/// Returns the language for messages: the editor's language `locale` if translations exist,
/// otherwise English.
fn language_of(locale: Option<&str>) -> Language {
    locale.and_then(Language::of_locale).unwrap_or_default()
}

/// Returns the folders that are open in the editor.
#[allow(deprecated, reason = "older editors send their folder in a field that is no longer used")]
fn workspace_folders(params: InitializeParams) -> Vec<PathBuf> {
    match params.workspace_folders {
        Some(folders) if !folders.is_empty() => folders.iter().map(|folder| path_of(&folder.uri)).collect(),
        _ => params.root_uri.iter().map(path_of).collect(),
    }
}

/// The diagnostics that the server must still send to the editor after the last change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsentDiagnostics {
    No,
    /// Only the analysis findings must be sent. The compile diagnostics have been sent.
    Analysis,
    /// The compile diagnostics must be sent, and after them the analysis findings.
    All,
}

/// The diagnostics that were last sent for a file. The number is the version of the open document
/// to which they apply; `None` for a file that is not open.
pub(super) type SentDiagnostics = (Option<i32>, Vec<ls_types::Diagnostic>);

pub(super) struct Server<'c> {
    pub(super) connection: &'c Connection,
    pub(super) workspace: Workspace,
    /// The diagnostics that were last sent to the editor, by document URI.
    pub(super) sent: BTreeMap<String, SentDiagnostics>,
    /// The findings of the last analysis, by document URI. These findings are shown until the next
    /// analysis ends.
    pub(super) last_findings: BTreeMap<String, KeptFindings>,
    /// Whether the editor accepts the server's request to refresh its code lenses.
    pub(super) can_refresh_lenses: bool,
    /// Number of refresh requests for code lenses that the server has sent. The ids of the requests
    /// contain this number.
    pub(super) refresh_count: u32,
    pub(super) unsent: UnsentDiagnostics,
    background: BackgroundCompiler,
    /// Number of changes of documents, folders and files so far.
    revision: u64,
    /// The requests that are answered when the analysis is complete.
    waiting: Vec<Request>,
    /// Whether the editor has requested the shutdown. Then the server only waits for `exit`.
    is_shut_down: bool,
}

/// An event that the main loop handles.
enum ServerEvent {
    Message(Message),
    /// The editor closed the connection.
    Closed,
    Finished(CompileJob),
    /// No message arrived during the pause that the next job must wait for, so the job can start.
    Idle,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), ServeError> {
        loop {
            match self.next_event() {
                ServerEvent::Closed => return Ok(()),
                ServerEvent::Idle => self.start_job(),
                ServerEvent::Finished(job) => self.finish_job(job),
                ServerEvent::Message(Message::Request(request)) => self.handle_incoming(request),
                ServerEvent::Message(Message::Notification(notification))
                    if notification.method == notification::Exit::METHOD =>
                {
                    return if self.is_shut_down { Ok(()) } else { Err(ServeError::NotShutDown) };
                }
                ServerEvent::Message(Message::Notification(notification)) => {
                    self.handle_notification(notification)
                }
                ServerEvent::Message(Message::Response(_)) => {}
            }
        }
    }

    /// Waits for the next event. A message of the editor comes before all other events.
    fn next_event(&self) -> ServerEvent {
        let delay = match self.unsent {
            UnsentDiagnostics::No => None,
            UnsentDiagnostics::All => Some(Duration::ZERO),
            UnsentDiagnostics::Analysis if !self.waiting.is_empty() => Some(Duration::ZERO),
            UnsentDiagnostics::Analysis => Some(ANALYSIS_DELAY),
        };
        let timer = delay.filter(|_| !self.background.is_running()).map_or_else(never, after);
        select_biased! {
            recv(self.connection.receiver) -> message => message.map_or(ServerEvent::Closed, ServerEvent::Message),
            recv(self.background.finished) -> job => job.map_or(ServerEvent::Closed, ServerEvent::Finished),
            recv(timer) -> _ => ServerEvent::Idle,
        }
    }

    fn handle_incoming(&mut self, request: Request) {
        let response = match request.method.as_str() {
            _ if self.is_shut_down => Response::new_err(
                request.id,
                ErrorCode::InvalidRequest as i32,
                "the server is shut down".to_owned(),
            ),
            request::Shutdown::METHOD => {
                self.is_shut_down = true;
                self.refuse_waiting(ErrorCode::RequestCanceled, |_| true);
                Response::new_ok(request.id, ())
            }
            _ if self.must_wait(&request) => {
                self.waiting.push(request);
                return;
            }
            _ => self.answer(request),
        };
        self.send(Message::Response(response));
    }

    /// True for a request whose answer contains findings of the analysis, while the analysis of the
    /// document is not complete.
    fn must_wait(&self, request: &Request) -> bool {
        let needs_findings = match request.method.as_str() {
            request::CodeLensRequest::METHOD | request::DocumentDiagnosticRequest::METHOD => true,
            // A menu that the editor updates after each keystroke does not wait.
            request::CodeActionRequest::METHOD => request.params["context"]["triggerKind"] != 2,
            _ => false,
        };
        let is_pending = self.unsent != UnsentDiagnostics::No || self.background.is_running();
        let is_ready = |uri: Uri| {
            let path = path_of(&uri);
            !self.workspace.documents().any(|(open_path, _)| open_path == path)
                || self.workspace.find_analysis(&path).is_none_or(|(file, _)| file.has_findings())
        };
        needs_findings
            && is_pending
            && !document_of(request)
                .and_then(|uri| catch_unwind(AssertUnwindSafe(|| is_ready(uri))).ok())
                .unwrap_or(true)
    }

    /// Answers the waiting requests that `is_refused` selects with the error `code`.
    fn refuse_waiting(&mut self, code: ErrorCode, is_refused: impl Fn(&Request) -> bool) {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (refused, kept): (Vec<Request>, Vec<Request>) = waiting.partition(|request| is_refused(request));
        self.waiting = kept;
        for request in refused {
            let reason = match code {
                ErrorCode::ContentModified => message!("the document has changed"),
                _ => message!("the request was cancelled"),
            };
            let reason = reason.localized(self.workspace.language()).into_owned();
            self.send(Message::Response(Response::new_err(request.id, code as i32, reason)));
        }
    }

    /// Records that documents, folders or files have changed.
    fn mark_changed(&mut self) {
        self.unsent = UnsentDiagnostics::All;
        self.revision += 1;
    }

    /// Starts to compile, or to analyse, the rule sets of all open documents.
    fn start_job(&mut self) {
        let runs_analysis = self.unsent == UnsentDiagnostics::Analysis;
        let find = |path: &Path| self.workspace.find_analysis(path).map(|(file, _)| file);
        let files = catch_unwind(AssertUnwindSafe(|| {
            let mut files: Vec<Arc<AnalyzedFile>> = Vec::new();
            for file in self.workspace.documents().filter_map(|(path, _)| find(path)) {
                if !files.iter().any(|known| Arc::ptr_eq(known, &file)) {
                    files.push(file);
                }
            }
            files
        }));
        let job = CompileJob { revision: self.revision, runs_analysis };
        self.background.start_job(files.unwrap_or_default(), job);
    }

    /// Sends the diagnostics that a job has computed, unless the files have changed since then.
    fn finish_job(&mut self, job: CompileJob) {
        self.background.end_job();
        if job.revision != self.revision {
            return;
        }
        self.publish_diagnostics(job.runs_analysis);
        if job.runs_analysis {
            for request in std::mem::take(&mut self.waiting) {
                let response = self.answer(request);
                self.send(Message::Response(response));
            }
        }
    }

    /// Requests notifications from the editor when rules, list files or settings change on disk.
    fn register_file_watchers(&self) {
        let watchers = ["**/*.rules", "**/*.txt", "**/rulec.toml"].map(|glob| json!({ "globPattern": glob }));
        let method = notification::DidChangeWatchedFiles::METHOD;
        let registration =
            json!({ "id": "files", "method": method, "registerOptions": { "watchers": watchers } });
        let params = json!({ "registrations": [registration] });
        let method = request::RegisterCapability::METHOD.to_owned();
        self.send(Message::Request(Request::new("files".to_owned().into(), method, params)));
    }

    /// Sends a message to the editor. A lost connection is detected at the next read, not here.
    pub(super) fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Calls the handler for a request and returns its answer. A panic in the handler becomes an
    /// error response.
    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        catch_unwind(AssertUnwindSafe(|| self.dispatch_request(request))).unwrap_or_else(|_| {
            let message = message!("this is a bug in rulec; please report it with the file and the request");
            let message = message.localized(self.workspace.language()).into_owned();
            Response::new_err(id, ErrorCode::InternalError as i32, message)
        })
    }

    fn dispatch_request(&self, request: Request) -> Response {
        let id = request.id.clone();
        if request.method == pages::TextDocumentContent::METHOD {
            return self.handle_request::<pages::TextDocumentContent>(request, |workspace, params| {
                Ok(pages::document_content(&params, workspace.language()))
            });
        }
        if request.method == request::ExecuteCommand::METHOD {
            let editor = |message| self.send(message);
            return self.handle_request::<request::ExecuteCommand>(request, |workspace, params| {
                commands::execute_command(workspace, params, &format!("command-{id}"), &editor)
            });
        }
        macro_rules! answered {
            ($($request:ident => $answer:path,)*) => {
                match request.method.as_str() {
                    $(request::$request::METHOD => self.handle_request::<request::$request>(request, $answer),)*
                    other => {
                        let message = format!("this server has no `{other}`");
                        Response::new_err(id, ErrorCode::MethodNotFound as i32, message)
                    }
                }
            };
        }
        answered! {
            HoverRequest => answers::hover,
            Completion => completion::complete,
            GotoDefinition => navigation::goto_definition,
            References => answers::references,
            DocumentHighlightRequest => answers::document_highlights,
            PrepareRenameRequest => answers::prepare_rename,
            Rename => answers::rename,
            DocumentSymbolRequest => answers::document_symbols,
            WorkspaceSymbolRequest => answers::workspace_symbols,
            SemanticTokensFullRequest => colours::all_tokens,
            SemanticTokensFullDeltaRequest => colours::changed_tokens,
            SemanticTokensRangeRequest => colours::tokens_of_range,
            FoldingRangeRequest => answers::folding_ranges,
            Formatting => answers::format,
            CodeActionRequest => answers::code_actions,
            InlayHintRequest => answers::inlay_hints,
            CodeLensRequest => answers::code_lenses,
            DocumentDiagnosticRequest => answers::document_diagnostics,
            DocumentLinkRequest => navigation::document_links,
            SelectionRangeRequest => navigation::selection_ranges,
            GotoTypeDefinition => navigation::goto_type_definition,
            SignatureHelpRequest => navigation::signature_help,
            RangeFormatting => navigation::format_range,
            OnTypeFormatting => navigation::format_on_type,
        }
    }

    fn handle_request<R: request::Request>(
        &self,
        request: Request,
        answer: impl FnOnce(&Workspace, R::Params) -> Answer<R::Result>,
    ) -> Response {
        let Request { id, params, .. } = request;
        let params = match serde_json::from_value::<R::Params>(params) {
            Ok(params) => params,
            Err(error) => {
                let message = format!("the parameters of `{}` are wrong: {error}", R::METHOD);
                return Response::new_err(id, ErrorCode::InvalidParams as i32, message);
            }
        };
        match answer(&self.workspace, params) {
            Ok(result) => Response::new_ok(id, result),
            Err(refusal) => {
                let message = refusal.0.localized(self.workspace.language()).into_owned();
                Response::new_err(id, ErrorCode::RequestFailed as i32, message)
            }
        }
    }

    /// Handles a notification from the editor about documents, workspace folders or files on disk.
    fn handle_notification(&mut self, notification: Notification) {
        match notification.method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                if let Some(opened) = parse_params::<notification::DidOpenTextDocument>(notification) {
                    let document = opened.text_document;
                    let (uri, text, version) = (document.uri, document.text, document.version);
                    self.workspace.open(OpenDocument { uri, text, version });
                    self.mark_changed();
                }
            }
            notification::DidChangeTextDocument::METHOD => {
                if let Some(changed) = parse_params::<notification::DidChangeTextDocument>(notification) {
                    let document = changed.text_document;
                    let is_changed = |request: &Request| document_of(request).as_ref() == Some(&document.uri);
                    self.refuse_waiting(ErrorCode::ContentModified, is_changed);
                    self.workspace.change(&document.uri, document.version, &changed.content_changes);
                    self.mark_changed();
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                if let Some(closed) = parse_params::<notification::DidCloseTextDocument>(notification) {
                    self.workspace.close(&closed.text_document.uri);
                    self.mark_changed();
                }
            }
            notification::DidChangeWorkspaceFolders::METHOD => {
                if let Some(changed) = parse_params::<notification::DidChangeWorkspaceFolders>(notification) {
                    let paths = |folders: &[WorkspaceFolder]| -> Vec<PathBuf> {
                        folders.iter().map(|folder| path_of(&folder.uri)).collect()
                    };
                    let (removed, added) = (paths(&changed.event.removed), paths(&changed.event.added));
                    self.workspace.change_folders(&removed, added);
                    self.mark_changed();
                }
            }
            notification::Cancel::METHOD => {
                let id = match &notification.params["id"] {
                    Json::String(id) => RequestId::from(id.clone()),
                    id => RequestId::from(id.as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or(-1)),
                };
                self.refuse_waiting(ErrorCode::RequestCanceled, |request| request.id == id);
            }
            notification::DidSaveTextDocument::METHOD | notification::DidChangeWatchedFiles::METHOD => {
                self.workspace.discard_cached();
                self.mark_changed();
            }
            _ => {}
        }
    }
}

/// Returns the URI of the document that a request is about.
fn document_of(request: &Request) -> Option<Uri> {
    request.params["textDocument"]["uri"].as_str()?.parse().ok()
}

fn parse_params<N: notification::Notification>(notification: Notification) -> Option<N::Params>
where
    N::Params: DeserializeOwned,
{
    serde_json::from_value(notification.params).ok()
}
