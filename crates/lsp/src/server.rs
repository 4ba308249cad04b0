//! The main loop: receives messages, sends answers and diagnostics. Messages are processed one at a
//! time, so that each answer matches the text at the time of its request. Compile diagnostics are
//! sent as soon as no other message waits to be processed. Analysis findings are sent after a pause
//! in typing.

use super::answers::{self, Answer};
use super::capabilities::capabilities;
use super::commands;
use super::findings;
use super::kept::KeptFindings;
use super::navigation;
use super::pages::{self, PageSupport};
use super::transport;
use super::workspace::{AnalyzedFile, Document, Workspace, path_of, uri_of};
use ls_types::notification::{self, Notification as _};
use ls_types::request::{self, Request as _};
use ls_types::{
    ClientCapabilities, InitializeParams, InitializeResult, PublishDiagnosticsParams, ServerInfo, Uri,
    WorkspaceFolder,
};
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, Response};
use rulec::Language;
use rulec_base::message;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
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
/// If the editor violates the protocol, or if standard input or output fails.
pub fn stdio(language: Option<Language>) -> Result<(), ServeError> {
    let (connection, threads) = transport::connect(language.unwrap_or_default());
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
/// If the editor violates the protocol.
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
    pages::offer_documents(&mut result);
    connection.initialize_finish(id, result)?;
    let page_support = PageSupport::of_editor(&params);
    let params: InitializeParams = serde_json::from_value(params).unwrap_or_default();
    let language = language.unwrap_or_else(|| language_of(params.locale.as_deref()));
    let (watches_files, refreshes_lenses) =
        (can_watch(&params.capabilities), can_refresh(&params.capabilities));
    let workspace = Workspace::new(workspace_folders(params), language, page_support);
    let (sent, last_findings) = (BTreeMap::new(), BTreeMap::new());
    let mut server = Server {
        connection,
        workspace,
        sent,
        last_findings,
        refreshes_lenses,
        refresh_count: 0,
        unsent: UnsentDiagnostics::No,
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

/// True if the editor can notify the server of file changes on disk.
fn can_watch(editor: &ClientCapabilities) -> bool {
    let workspace = editor.workspace.as_ref();
    let watched = workspace.and_then(|workspace| workspace.did_change_watched_files);
    watched.and_then(|watched| watched.dynamic_registration) == Some(true)
}

/// True if the server can ask the editor to request code lenses again.
fn can_refresh(editor: &ClientCapabilities) -> bool {
    let lenses = editor.workspace.as_ref().and_then(|workspace| workspace.code_lens.as_ref());
    lenses.and_then(|lenses| lenses.refresh_support) == Some(true)
}

/// Returns the folders that are open in the editor.
#[allow(deprecated, reason = "older editors tell their folder in a field that is no longer used")]
fn workspace_folders(params: InitializeParams) -> Vec<PathBuf> {
    match params.workspace_folders {
        Some(folders) if !folders.is_empty() => folders.iter().map(|folder| path_of(&folder.uri)).collect(),
        _ => params.root_uri.iter().map(path_of).collect(),
    }
}

/// The diagnostics that the server must still send to the editor after the last change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnsentDiagnostics {
    No,
    /// Only the analysis findings must be sent. The compile diagnostics have been sent.
    Analysis,
    /// The compile diagnostics must be sent, and after them the analysis findings.
    All,
}

/// The diagnostics that were last sent for a file. The number is the version of the open document
/// to which they apply; `None` for a file that is not open.
type SentDiagnostics = (Option<i32>, Vec<ls_types::Diagnostic>);

struct Server<'c> {
    connection: &'c Connection,
    workspace: Workspace,
    /// The diagnostics that were last sent to the editor, by document URI.
    sent: BTreeMap<String, SentDiagnostics>,
    /// The findings of the last analysis, by document URI. These findings are shown until the next
    /// analysis ends.
    last_findings: BTreeMap<String, KeptFindings>,
    /// Whether the editor accepts the server's request to refresh its code lenses.
    refreshes_lenses: bool,
    /// Number of refresh requests for code lenses that the server has sent. The ids of the requests
    /// contain this number.
    refresh_count: u32,
    unsent: UnsentDiagnostics,
    /// Whether the editor has requested the shutdown. Then the server only waits for `exit`.
    is_shut_down: bool,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), ServeError> {
        loop {
            let message = match self.unsent {
                UnsentDiagnostics::No => self.connection.receiver.recv().ok(),
                unsent => {
                    let wait = if unsent == UnsentDiagnostics::All { Duration::ZERO } else { ANALYSIS_DELAY };
                    match self.connection.receiver.recv_timeout(wait) {
                        Ok(message) => Some(message),
                        Err(error) if error.is_timeout() => {
                            self.publish();
                            continue;
                        }
                        Err(_) => None,
                    }
                }
            };
            match message {
                // The editor closed the connection.
                None => return Ok(()),
                Some(Message::Request(request)) => {
                    let response = match request.method.as_str() {
                        _ if self.is_shut_down => Response::new_err(
                            request.id,
                            ErrorCode::InvalidRequest as i32,
                            "the server is shut down".to_owned(),
                        ),
                        request::Shutdown::METHOD => {
                            self.is_shut_down = true;
                            Response::new_ok(request.id, ())
                        }
                        _ => self.answer(request),
                    };
                    self.send(Message::Response(response));
                }
                Some(Message::Notification(notification))
                    if notification.method == notification::Exit::METHOD =>
                {
                    return if self.is_shut_down { Ok(()) } else { Err(ServeError::NotShutDown) };
                }
                Some(Message::Notification(notification)) => self.handle_notification(notification),
                Some(Message::Response(_)) => {}
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
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Calls the handler for a request and returns its answer. A panic in the handler becomes an
    /// error response.
    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        catch_unwind(AssertUnwindSafe(|| self.dispatch(request))).unwrap_or_else(|_| {
            let message = message!("this is a bug in rulec; please report it with the file and the request");
            let message = message.localized(self.workspace.language()).into_owned();
            Response::new_err(id, ErrorCode::InternalError as i32, message)
        })
    }

    fn dispatch(&self, request: Request) -> Response {
        let id = request.id.clone();
        if request.method == pages::TextDocumentContent::METHOD {
            return self.handle_request::<pages::TextDocumentContent>(request, |workspace, params| {
                Ok(pages::content(&params, workspace.language()))
            });
        }
        if request.method == request::ExecuteCommand::METHOD {
            let editor = |message| self.send(message);
            return self.handle_request::<request::ExecuteCommand>(request, |workspace, params| {
                commands::execute(workspace, params, &format!("command-{id}"), &editor)
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
            Completion => answers::complete,
            GotoDefinition => navigation::definition,
            References => answers::references,
            DocumentHighlightRequest => answers::highlight,
            PrepareRenameRequest => answers::prepare_rename,
            Rename => answers::rename,
            DocumentSymbolRequest => answers::document_symbols,
            WorkspaceSymbolRequest => answers::workspace_symbols,
            SemanticTokensFullRequest => answers::semantic_tokens,
            FoldingRangeRequest => answers::folds,
            Formatting => answers::format,
            CodeActionRequest => answers::code_actions,
            InlayHintRequest => answers::inlay_hints,
            CodeLensRequest => answers::code_lenses,
            DocumentDiagnosticRequest => answers::diagnostics,
            DocumentLinkRequest => navigation::document_links,
            SelectionRangeRequest => navigation::selection_ranges,
            GotoTypeDefinition => navigation::type_definition,
            SignatureHelpRequest => navigation::signature_help,
            RangeFormatting => navigation::format_range,
            OnTypeFormatting => navigation::format_typed,
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
                    self.workspace.open(Document { uri, text, version });
                    self.unsent = UnsentDiagnostics::All;
                }
            }
            notification::DidChangeTextDocument::METHOD => {
                if let Some(changed) = parse_params::<notification::DidChangeTextDocument>(notification) {
                    let document = changed.text_document;
                    self.workspace.change(&document.uri, document.version, &changed.content_changes);
                    self.unsent = UnsentDiagnostics::All;
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                if let Some(closed) = parse_params::<notification::DidCloseTextDocument>(notification) {
                    self.workspace.close(&closed.text_document.uri);
                    self.unsent = UnsentDiagnostics::All;
                }
            }
            notification::DidChangeWorkspaceFolders::METHOD => {
                if let Some(changed) = parse_params::<notification::DidChangeWorkspaceFolders>(notification) {
                    let paths = |folders: &[WorkspaceFolder]| -> Vec<PathBuf> {
                        folders.iter().map(|folder| path_of(&folder.uri)).collect()
                    };
                    let (removed, added) = (paths(&changed.event.removed), paths(&changed.event.added));
                    self.workspace.change_folders(&removed, added);
                    self.unsent = UnsentDiagnostics::All;
                }
            }
            notification::DidSaveTextDocument::METHOD | notification::DidChangeWatchedFiles::METHOD => {
                self.workspace.discard_cached();
                self.unsent = UnsentDiagnostics::All;
            }
            _ => {}
        }
    }

    /// Sends the diagnostics of all open documents, and of other files of the same rule sets.
    /// Diagnostics that have not changed are sent again only for a new version of an open document.
    fn publish(&mut self) {
        let runs_analysis = self.unsent == UnsentDiagnostics::Analysis;
        self.unsent = if runs_analysis { UnsentDiagnostics::No } else { UnsentDiagnostics::Analysis };
        let diagnostics_by_uri = catch_unwind(AssertUnwindSafe(|| self.collect_diagnostics(runs_analysis)));
        // After a panic, the editor continues to show the diagnostics that were last sent.
        let Ok((mut diagnostics_by_uri, new_findings)) = diagnostics_by_uri else { return };
        if runs_analysis {
            self.last_findings = new_findings;
        }
        let resolved_uris: Vec<String> =
            self.sent.keys().filter(|uri| !diagnostics_by_uri.contains_key(*uri)).cloned().collect();
        diagnostics_by_uri.extend(resolved_uris.into_iter().map(|uri| (uri, Vec::new())));
        for (uri, diagnostics) in diagnostics_by_uri {
            // For an open document, diagnostics are sent for each version of the document. For
            // other files, diagnostics are sent only if they changed.
            let Ok(address) = uri.parse::<Uri>() else { continue };
            let version = self.workspace.documents().find(|(_, document)| document.uri == address);
            let version = version.map(|(_, document)| document.version);
            let sent = self.sent.get(&uri);
            let is_unchanged = sent.map_or(diagnostics.is_empty(), |(_, sent)| *sent == diagnostics);
            if is_unchanged
                && (version.is_none() || sent.is_some_and(|(sent_version, _)| *sent_version == version))
            {
                continue;
            }
            match diagnostics.is_empty() && version.is_none() {
                true => drop(self.sent.remove(&uri)),
                false => drop(self.sent.insert(uri, (version, diagnostics.clone()))),
            }
            let params = PublishDiagnosticsParams { uri: address, diagnostics, version };
            let method = notification::PublishDiagnostics::METHOD.to_owned();
            self.send(Message::Notification(Notification::new(method, params)));
        }
        // A code lens shows which route hides another one. This can change through an edit of
        // another file, so lenses are requested again after an analysis.
        if runs_analysis && self.refreshes_lenses {
            self.refresh_count += 1;
            let method = request::CodeLensRefresh::METHOD.to_owned();
            let id = format!("lenses-{}", self.refresh_count);
            self.send(Message::Request(Request::new(id.into(), method, ())));
        }
    }

    /// Returns two maps by document URI: all diagnostics, and the findings of a new analysis. If
    /// `runs_analysis` is false, no analysis runs: the diagnostics include the findings of the last
    /// analysis, and the second map is empty.
    fn collect_diagnostics(
        &self,
        runs_analysis: bool,
    ) -> (BTreeMap<String, Vec<ls_types::Diagnostic>>, BTreeMap<String, KeptFindings>) {
        let (mut diagnostics_by_uri, mut main_paths, mut new_findings) =
            (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let mut collect_for_file = |analyzed_file: &AnalyzedFile, file, uri: &Uri| {
            let mut diagnostics = findings::compile_diagnostics(analyzed_file, file);
            let text = analyzed_file.analysis.text(file);
            if runs_analysis {
                let analysis_findings = findings::analysis_diagnostics(analyzed_file, file);
                diagnostics.extend(analysis_findings.iter().cloned());
                new_findings.insert(uri.to_string(), KeptFindings::new(text, analysis_findings));
            } else if let (true, Some(last)) =
                (analyzed_file.analysis.rules.is_some(), self.last_findings.get(uri.as_str()))
            {
                diagnostics.extend(last.valid_findings(uri, text));
            }
            diagnostics
        };
        for (path, document) in self.workspace.documents() {
            let Some((analyzed_file, file)) = self.workspace.find_analysis(path) else { continue };
            diagnostics_by_uri
                .insert(document.uri.to_string(), collect_for_file(&analyzed_file, file, &document.uri));
            if !main_paths.insert(analyzed_file.path(rulec::FileId(0))) {
                continue;
            }
            if let Some(error) = &analyzed_file.settings_error
                && let Some(uri) = uri_of(&error.path)
            {
                diagnostics_by_uri.insert(
                    uri.to_string(),
                    vec![findings::settings_diagnostic(error, analyzed_file.language)],
                );
            }
            for (other_file, _) in analyzed_file.analysis.sources.iter() {
                let path = analyzed_file.path(other_file);
                let is_open = self.workspace.documents().any(|(open_path, _)| open_path == path);
                let (false, Some(uri)) = (is_open, analyzed_file.uri(other_file)) else { continue };
                let diagnostics = collect_for_file(&analyzed_file, other_file, &uri);
                if !diagnostics.is_empty() {
                    diagnostics_by_uri.insert(uri.to_string(), diagnostics);
                }
            }
        }
        (diagnostics_by_uri, new_findings)
    }
}

fn parse_params<N: notification::Notification>(notification: Notification) -> Option<N::Params>
where
    N::Params: DeserializeOwned,
{
    serde_json::from_value(notification.params).ok()
}
