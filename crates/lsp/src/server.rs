//! The loop: messages in, answers and diagnostics out. One message is worked on at a time, so that an answer is about the
//! texts as they were when it was asked; diagnostics of compiling come as soon as no message waits, those of the analysis
//! when nobody has typed for a moment.

use super::answers::{self, Answer};
use super::capabilities::capabilities;
use super::findings;
use super::kept::Kept;
use super::workspace::{Document, Known, Workspace, path_of, uri_of};
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

/// The pause in typing after which rules are analysed.
const PAUSE: Duration = Duration::from_millis(250);

/// Why a server ended before it was told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The editor does not speak the protocol, or has gone.
    #[error("the editor broke the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// Standard input or output failed.
    #[error("standard input or output failed: {0}")]
    Io(#[from] io::Error),
}

/// Serves the editor at standard input and output, until it says to stop. Findings are told in the language that is given,
/// else in the editor's.
///
/// # Errors
/// When the editor breaks the protocol, or standard input or output fails.
pub fn stdio(language: Option<Language>) -> Result<(), ServeError> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, language);
    // The writer ends when nobody can write to it any more.
    drop(connection);
    threads.join()?;
    served
}

/// Serves the editor at the other end of a connection, as [`stdio`] does.
///
/// # Errors
/// When the editor breaks the protocol.
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
    connection.initialize_finish(id, serde_json::to_value(result).unwrap_or_default())?;
    let params: InitializeParams = serde_json::from_value(params).unwrap_or_default();
    let language = language.unwrap_or_else(|| language_of(params.locale.as_deref()));
    let (watches, refreshes) = (can_watch(&params.capabilities), can_refresh(&params.capabilities));
    let workspace = Workspace::new(folders(params), language);
    let (told, kept) = (BTreeMap::new(), BTreeMap::new());
    let mut server = Server { connection, workspace, told, kept, refreshes, refreshed: 0, stale: Stale::No };
    if watches {
        server.watch();
    }
    server.run()
}

/// The language that the editor shows itself in, where findings can be told in it.
fn language_of(locale: Option<&str>) -> Language {
    locale.and_then(Language::of_locale).unwrap_or_default()
}

/// True for an editor that tells of files on disk when it is asked to.
fn can_watch(editor: &ClientCapabilities) -> bool {
    let workspace = editor.workspace.as_ref();
    let watched = workspace.and_then(|workspace| workspace.did_change_watched_files);
    watched.and_then(|watched| watched.dynamic_registration) == Some(true)
}

/// True for an editor that asks for code lenses anew when it is told to.
fn can_refresh(editor: &ClientCapabilities) -> bool {
    let lenses = editor.workspace.as_ref().and_then(|workspace| workspace.code_lens.as_ref());
    lenses.and_then(|lenses| lenses.refresh_support) == Some(true)
}

/// The folders that the editor has open.
#[allow(deprecated, reason = "older editors tell their folder in a field that is no longer used")]
fn folders(params: InitializeParams) -> Vec<PathBuf> {
    match params.workspace_folders {
        Some(folders) if !folders.is_empty() => folders.iter().map(|folder| path_of(&folder.uri)).collect(),
        _ => params.root_uri.iter().map(path_of).collect(),
    }
}

/// The diagnostics that the editor has not been told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stale {
    No,
    /// Those of compiling have been told.
    Analysis,
    All,
}

/// Diagnostics, and the version of the open document that they are about.
type Told = (Option<i32>, Vec<ls_types::Diagnostic>);

struct Server<'c> {
    connection: &'c Connection,
    workspace: Workspace,
    /// The diagnostics that the editor was told last, by document.
    told: BTreeMap<String, Told>,
    /// The findings of the last analysis, by document.
    kept: BTreeMap<String, Kept>,
    /// True when the editor can be told to ask for code lenses anew.
    refreshes: bool,
    /// The times that it was.
    refreshed: u32,
    stale: Stale,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), ServeError> {
        loop {
            let message = match self.stale {
                Stale::No => self.connection.receiver.recv().ok(),
                stale => {
                    let wait = if stale == Stale::All { Duration::ZERO } else { PAUSE };
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
                // The editor has gone.
                None => return Ok(()),
                Some(Message::Request(request)) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    let response = self.answer(request);
                    self.send(Message::Response(response));
                }
                Some(Message::Notification(notification)) => self.note(notification),
                Some(Message::Response(_)) => {}
            }
        }
    }

    /// Asks to be told of files that change on disk: rules, the lists they read, and settings.
    fn watch(&self) {
        let watchers = ["**/*.rules", "**/*.txt", "**/rulec.toml"].map(|glob| json!({ "globPattern": glob }));
        let method = notification::DidChangeWatchedFiles::METHOD;
        let registration =
            json!({ "id": "files", "method": method, "registerOptions": { "watchers": watchers } });
        let params = json!({ "registrations": [registration] });
        let method = request::RegisterCapability::METHOD.to_owned();
        self.send(Message::Request(Request::new("files".to_owned().into(), method, params)));
    }

    /// Sends a message. An editor that has gone is found out when it is read from.
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Answers a request. A panic costs its own answer.
    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        catch_unwind(AssertUnwindSafe(|| self.dispatch(request))).unwrap_or_else(|_| {
            let message = message!("a mistake of rulec itself; please report the file and what was asked");
            let message = message.told_in(self.workspace.language()).into_owned();
            Response::new_err(id, ErrorCode::InternalError as i32, message)
        })
    }

    fn dispatch(&self, request: Request) -> Response {
        let id = request.id.clone();
        macro_rules! answered {
            ($($request:ident => $answer:ident,)*) => {
                match request.method.as_str() {
                    $(request::$request::METHOD => self.with::<request::$request>(request, answers::$answer),)*
                    other => {
                        let message = format!("this server has no `{other}`");
                        Response::new_err(id, ErrorCode::MethodNotFound as i32, message)
                    }
                }
            };
        }
        answered! {
            HoverRequest => hover,
            Completion => complete,
            GotoDefinition => definition,
            References => references,
            DocumentHighlightRequest => highlight,
            PrepareRenameRequest => prepare_rename,
            Rename => rename,
            DocumentSymbolRequest => document_symbols,
            WorkspaceSymbolRequest => workspace_symbols,
            SemanticTokensFullRequest => semantic_tokens,
            FoldingRangeRequest => folds,
            Formatting => format,
            CodeActionRequest => code_actions,
            InlayHintRequest => inlay_hints,
            CodeLensRequest => code_lenses,
            DocumentDiagnosticRequest => diagnostics,
            ExecuteCommand => execute,
        }
    }

    fn with<R: request::Request>(
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
                let message = refusal.0.told_in(self.workspace.language()).into_owned();
                Response::new_err(id, ErrorCode::RequestFailed as i32, message)
            }
        }
    }

    /// Takes in what the editor tells of its documents.
    fn note(&mut self, notification: Notification) {
        match notification.method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                if let Some(opened) = read::<notification::DidOpenTextDocument>(notification) {
                    let document = opened.text_document;
                    let (uri, text, version) = (document.uri, document.text, document.version);
                    self.workspace.open(Document { uri, text, version });
                    self.stale = Stale::All;
                }
            }
            notification::DidChangeTextDocument::METHOD => {
                if let Some(changed) = read::<notification::DidChangeTextDocument>(notification) {
                    let document = changed.text_document;
                    self.workspace.change(&document.uri, document.version, &changed.content_changes);
                    self.stale = Stale::All;
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                if let Some(closed) = read::<notification::DidCloseTextDocument>(notification) {
                    self.workspace.close(&closed.text_document.uri);
                    self.stale = Stale::All;
                }
            }
            notification::DidChangeWorkspaceFolders::METHOD => {
                if let Some(changed) = read::<notification::DidChangeWorkspaceFolders>(notification) {
                    let paths = |folders: &[WorkspaceFolder]| -> Vec<PathBuf> {
                        folders.iter().map(|folder| path_of(&folder.uri)).collect()
                    };
                    let (gone, new) = (paths(&changed.event.removed), paths(&changed.event.added));
                    self.workspace.change_folders(&gone, new);
                    self.stale = Stale::All;
                }
            }
            notification::DidSaveTextDocument::METHOD | notification::DidChangeWatchedFiles::METHOD => {
                self.workspace.forget();
                self.stale = Stale::All;
            }
            _ => {}
        }
    }

    /// Tells the diagnostics of the open documents and of the files that they are judged with, where they have changed.
    fn publish(&mut self) {
        let analysed = self.stale == Stale::Analysis;
        self.stale = if analysed { Stale::No } else { Stale::Analysis };
        let found = catch_unwind(AssertUnwindSafe(|| self.found(analysed)));
        // A panic leaves the editor with what it was told last.
        let Ok((mut found, kept)) = found else { return };
        if analysed {
            self.kept = kept;
        }
        let gone: Vec<String> = self.told.keys().filter(|uri| !found.contains_key(*uri)).cloned().collect();
        found.extend(gone.into_iter().map(|uri| (uri, Vec::new())));
        for (uri, diagnostics) in found {
            // Of an open document each version is told of; else what has changed.
            let Ok(address) = uri.parse::<Uri>() else { continue };
            let version = self.workspace.documents().find(|(_, document)| document.uri == address);
            let version = version.map(|(_, document)| document.version);
            let told = self.told.get(&uri);
            let same = told.map_or(diagnostics.is_empty(), |(_, told)| *told == diagnostics);
            if same && (version.is_none() || told.is_some_and(|(of, _)| *of == version)) {
                continue;
            }
            match diagnostics.is_empty() && version.is_none() {
                true => drop(self.told.remove(&uri)),
                false => drop(self.told.insert(uri, (version, diagnostics.clone()))),
            }
            let params = PublishDiagnosticsParams { uri: address, diagnostics, version };
            let method = notification::PublishDiagnostics::METHOD.to_owned();
            self.send(Message::Notification(Notification::new(method, params)));
        }
        // Lenses say what hides a route, which an edit of another file may have changed.
        if analysed && self.refreshes {
            self.refreshed += 1;
            let method = request::CodeLensRefresh::METHOD.to_owned();
            let id = format!("lenses-{}", self.refreshed);
            self.send(Message::Request(Request::new(id.into(), method, ())));
        }
    }

    /// The diagnostics by document; once they are analysed, also what is kept of that. Until then what was kept stands.
    fn found(&self, analysed: bool) -> (BTreeMap<String, Vec<ls_types::Diagnostic>>, BTreeMap<String, Kept>) {
        let (mut all, mut mains, mut kept) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let mut of_file = |known: &Known, file, uri: &Uri| {
            let mut found = findings::of_compiling(known, file);
            let text = known.analysis.text(file);
            if analysed {
                let of_analysis = findings::of_analysis(known, file);
                found.extend(of_analysis.iter().cloned());
                kept.insert(uri.to_string(), Kept::new(text, of_analysis));
            } else if let (true, Some(kept)) = (known.analysis.rules.is_some(), self.kept.get(uri.as_str())) {
                found.extend(kept.in_text(uri, text));
            }
            found
        };
        for (path, document) in self.workspace.documents() {
            let Some((known, file)) = self.workspace.known(path) else { continue };
            all.insert(document.uri.to_string(), of_file(&known, file, &document.uri));
            if !mains.insert(known.path(rulec::FileId(0))) {
                continue;
            }
            if let Some(refused) = &known.refused
                && let Some(uri) = uri_of(&refused.path)
            {
                all.insert(uri.to_string(), vec![findings::of_settings(refused, known.language)]);
            }
            for (other, _) in known.analysis.sources.iter() {
                let path = known.path(other);
                let is_open = self.workspace.documents().any(|(open, _)| open == path);
                let (false, Some(uri)) = (is_open, known.uri(other)) else { continue };
                let found = of_file(&known, other, &uri);
                if !found.is_empty() {
                    all.insert(uri.to_string(), found);
                }
            }
        }
        (all, kept)
    }
}

fn read<N: notification::Notification>(notification: Notification) -> Option<N::Params>
where
    N::Params: DeserializeOwned,
{
    serde_json::from_value(notification.params).ok()
}
