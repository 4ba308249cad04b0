//! Executes the commands that the user runs in the editor: running a test, adding a test for a
//! route, and showing the documentation page of a diagnostic code.

use super::answers::{Answer, RequestRefusal, workspace_edit};
use super::capabilities::{ADD_TEST_COMMAND, RUN_TEST_COMMAND};
use super::pages::{self, EXPLAIN_COMMAND};
use super::workspace::{Workspace, path_of};
use ls_types::request::{self, Request as _};
use ls_types::{ApplyWorkspaceEditParams, ExecuteCommandParams, Position, Uri};
use lsp_server::{Message, Request};
use rulec::Code;
use rulec_base::message;
use rulec_base::span::Span;
use serde_json::{Value as Json, json};

/// Executes a command of the editor and returns its result. Some commands also send a message to
/// the editor through `send_to_editor`. If this message is a request, `request_id` is its id.
pub fn execute_command(
    workspace: &Workspace,
    params: ExecuteCommandParams,
    request_id: &str,
    send_to_editor: &dyn Fn(Message),
) -> Answer<Option<Json>> {
    let wrong_arguments = || {
        RequestRefusal(message!(
            "`{}` is not a command of this server, or its arguments are wrong",
            params.command
        ))
    };
    match (params.command.as_str(), params.arguments.as_slice()) {
        (RUN_TEST_COMMAND, [Json::String(uri), Json::String(name), ..]) => {
            run_test(workspace, uri, name).map(Some)
        }
        (ADD_TEST_COMMAND, [Json::String(uri), position, ..]) => {
            let position = serde_json::from_value(position.clone()).map_err(|_| wrong_arguments())?;
            send_to_editor(Message::Request(add_test(workspace, uri, position, request_id)?));
            Ok(None)
        }
        (EXPLAIN_COMMAND, [Json::String(code), ..]) => {
            let code = Code::parse(code).ok_or_else(wrong_arguments)?;
            let language = workspace.language();
            send_to_editor(pages::show_page_message(code, workspace.page_support(), language, request_id));
            Ok(Some(pages::documentation_page_markdown(code, language).into()))
        }
        _ => Err(wrong_arguments()),
    }
}

fn parse_uri(uri: &str) -> Answer<Uri> {
    uri.parse().map_err(|_| RequestRefusal(message!("`{uri}` is not the address of a document")))
}

fn missing_document() -> RequestRefusal {
    RequestRefusal(message!("the document cannot be found"))
}

/// Runs the test `name` of the document `uri`, and returns its result as JSON.
fn run_test(workspace: &Workspace, uri: &str, name: &str) -> Answer<Json> {
    let (analyzed_file, _) =
        workspace.find_analysis(&path_of(&parse_uri(uri)?)).ok_or_else(missing_document)?;
    let Some(rules) = analyzed_file.analysis.rules() else {
        return Err(RequestRefusal(message!("the rules have errors, so their tests cannot run")));
    };
    let outcome = rulec::run_tests(rules).into_iter().find(|outcome| outcome.name == name);
    let outcome = outcome.ok_or_else(|| RequestRefusal(message!("there is no test `{name}`")))?;
    let (expected, actual) = (outcome.expected, outcome.actual.localized(analyzed_file.language));
    Ok(json!({ "name": name, "passed": outcome.passed, "expected": expected, "actual": actual }))
}

/// Returns the request that asks the editor to insert a test for the route at a position. `id` is
/// the id of the request.
fn add_test(workspace: &Workspace, uri: &str, position: Position, id: &str) -> Answer<Request> {
    let position = workspace.resolve_position(&parse_uri(uri)?, position).ok_or_else(missing_document)?;
    let selection = Span { file: position.file, start: position.byte_offset, end: position.byte_offset };
    let analyzed_file = &position.analyzed_file;
    let action = workspace
        .with_loader(analyzed_file, |loader| analyzed_file.analysis.test_for_route(loader, selection))
        .map_err(RequestRefusal)?;
    let label = Some(action.title.localized(workspace.language()).into_owned());
    let params = ApplyWorkspaceEditParams { label, edit: workspace_edit(analyzed_file, &action.edits) };
    Ok(Request::new(id.to_owned().into(), request::ApplyWorkspaceEdit::METHOD.to_owned(), params))
}
