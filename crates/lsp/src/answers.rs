//! Handlers for the requests of the editor, one for each kind of request. Each handler answers from
//! the analysis of the requested file.

use super::capabilities::{ADD_TEST_COMMAND, RUN_TEST_COMMAND};
use super::findings;
use super::lines::TextLines;
use super::pages;
use super::workspace::{AnalyzedFile, RequestPosition, Workspace, path_of};
use ls_types::*;
use rulec::{FileId, Message, Span};
use rulec_base::message;
use rulec_ide::{DeclarationKind, Edit, OutlineEntry, SymbolId, actions, test_block, tokens};
use rulec_syntax::format;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

/// The reason why a request cannot be answered, shown to the user.
pub struct RequestRefusal(pub Message);

pub type Answer<T> = Result<T, RequestRefusal>;

impl From<rulec_ide::rename::RenameError> for RequestRefusal {
    fn from(error: rulec_ide::rename::RenameError) -> RequestRefusal {
        RequestRefusal(error.0)
    }
}

pub(super) fn resolve_position(
    workspace: &Workspace,
    params: &TextDocumentPositionParams,
) -> Option<RequestPosition> {
    workspace.resolve_position(&params.text_document.uri, params.position)
}

pub(super) fn find_file(
    workspace: &Workspace,
    document: &TextDocumentIdentifier,
) -> Option<(Arc<AnalyzedFile>, FileId)> {
    workspace.find_analysis(&path_of(&document.uri))
}

pub(super) fn to_location(analyzed_file: &AnalyzedFile, span: Span) -> Option<Location> {
    Some(Location { uri: analyzed_file.uri(span.file)?, range: analyzed_file.range(span) })
}

pub fn hover(workspace: &Workspace, params: HoverParams) -> Answer<Option<Hover>> {
    let position = resolve_position(workspace, &params.text_document_position_params);
    let hover = position.and_then(|position| {
        Some((position.analyzed_file.analysis.hover(position.file, position.byte_offset)?, position))
    });
    Ok(hover.map(|(hover, position)| {
        let mut value = format!("```rules\n{}\n```", hover.source_code);
        if !hover.text.is_empty() {
            value = format!("{value}\n\n{}", hover.text.localized(position.analyzed_file.language));
        }
        if let Some(code) = hover.diagnostic_code {
            value = pages::documentation_page_markdown(code, position.analyzed_file.language);
        }
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
        Hover { contents, range: Some(position.analyzed_file.range(hover.span)) }
    }))
}

/// Returns the symbol (declared name) at the position of a request, with the position as a byte
/// offset in an analysed file. `None` if no symbol is at the position.
pub(super) fn symbol_at(
    workspace: &Workspace,
    params: &TextDocumentPositionParams,
) -> Option<(RequestPosition, SymbolId)> {
    let position = resolve_position(workspace, params)?;
    let occurrence =
        position.analyzed_file.analysis.index.occurrence_at(position.file, position.byte_offset)?;
    Some((position, occurrence.symbol))
}

pub fn references(workspace: &Workspace, params: ReferenceParams) -> Answer<Option<Vec<Location>>> {
    let Some((position, symbol)) = symbol_at(workspace, &params.text_document_position) else {
        return Ok(None);
    };
    let occurrences = position.analyzed_file.analysis.index.occurrences_of(symbol);
    let selected_occurrences =
        occurrences.filter(|occurrence| params.context.include_declaration || !occurrence.is_declaration);
    Ok(Some(
        selected_occurrences
            .filter_map(|occurrence| to_location(&position.analyzed_file, occurrence.span))
            .collect(),
    ))
}

pub fn document_highlights(
    workspace: &Workspace,
    params: DocumentHighlightParams,
) -> Answer<Option<Vec<DocumentHighlight>>> {
    let Some((position, symbol)) = symbol_at(workspace, &params.text_document_position_params) else {
        return Ok(None);
    };
    let occurrences = position
        .analyzed_file
        .analysis
        .index
        .occurrences_of(symbol)
        .filter(|occurrence| occurrence.span.file == position.file);
    let to_highlight = |occurrence: rulec_ide::Occurrence| DocumentHighlight {
        range: position.analyzed_file.range(occurrence.span),
        kind: Some(if occurrence.is_declaration {
            DocumentHighlightKind::WRITE
        } else {
            DocumentHighlightKind::READ
        }),
    };
    Ok(Some(occurrences.map(to_highlight).collect()))
}

pub fn prepare_rename(
    workspace: &Workspace,
    params: TextDocumentPositionParams,
) -> Answer<Option<PrepareRenameResponse>> {
    let Some(position) = resolve_position(workspace, &params) else { return Ok(None) };
    let occurrence = position.analyzed_file.analysis.renameable_at(position.file, position.byte_offset)?;
    let placeholder = position.analyzed_file.analysis.index.symbols[occurrence.symbol].name.clone();
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder {
        range: position.analyzed_file.range(occurrence.span),
        placeholder,
    }))
}

pub fn rename(workspace: &Workspace, params: RenameParams) -> Answer<Option<WorkspaceEdit>> {
    let Some(position) = resolve_position(workspace, &params.text_document_position) else { return Ok(None) };
    let edits =
        position.analyzed_file.analysis.rename(position.file, position.byte_offset, &params.new_name)?;
    Ok(Some(workspace_edit(&position.analyzed_file, &edits)))
}

pub(super) fn workspace_edit(analyzed_file: &AnalyzedFile, edits: &[Edit]) -> WorkspaceEdit {
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for edit in edits {
        if let Some(uri) = analyzed_file.uri(edit.span.file) {
            let text_edit =
                TextEdit { range: analyzed_file.range(edit.span), new_text: edit.replacement.clone() };
            changes.entry(uri).or_default().push(text_edit);
        }
    }
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

fn to_lsp_symbol_kind(kind: DeclarationKind) -> SymbolKind {
    match kind {
        DeclarationKind::Let | DeclarationKind::Local | DeclarationKind::Parameter => SymbolKind::VARIABLE,
        DeclarationKind::Def | DeclarationKind::Extern => SymbolKind::FUNCTION,
        DeclarationKind::List => SymbolKind::ARRAY,
        DeclarationKind::Type | DeclarationKind::Group => SymbolKind::STRUCT,
        DeclarationKind::Handler => SymbolKind::METHOD,
        DeclarationKind::Table
        | DeclarationKind::Choice
        | DeclarationKind::Router
        | DeclarationKind::Workflow
        | DeclarationKind::Payload => SymbolKind::CLASS,
        DeclarationKind::Test => SymbolKind::BOOLEAN,
        DeclarationKind::Import => SymbolKind::MODULE,
        DeclarationKind::Input | DeclarationKind::Settings | DeclarationKind::History => SymbolKind::OBJECT,
        DeclarationKind::Field | DeclarationKind::PayloadField | DeclarationKind::TypeField => {
            SymbolKind::FIELD
        }
        _ => SymbolKind::EVENT,
    }
}

#[allow(deprecated, reason = "the form has a field that is no longer used")]
fn to_document_symbol(lines: &TextLines<'_>, entry: &OutlineEntry) -> DocumentSymbol {
    let inner: Vec<DocumentSymbol> =
        entry.inner.iter().map(|inner| to_document_symbol(lines, inner)).collect();
    DocumentSymbol {
        // The protocol does not allow an empty name.
        name: if entry.name.trim().is_empty() { "?".to_owned() } else { entry.name.clone() },
        detail: Some(entry.kind.to_word().to_owned()),
        kind: to_lsp_symbol_kind(entry.kind),
        tags: None,
        deprecated: None,
        range: lines.range(entry.span.range()),
        selection_range: lines.range(entry.name_span.range()),
        children: (!inner.is_empty()).then_some(inner),
    }
}

pub fn document_symbols(
    workspace: &Workspace,
    params: DocumentSymbolParams,
) -> Answer<Option<DocumentSymbolResponse>> {
    Ok(find_file(workspace, &params.text_document).map(|(analyzed_file, file)| {
        let lines = analyzed_file.lines(file);
        let entries = analyzed_file.analysis.index.outline(file);
        DocumentSymbolResponse::Nested(
            entries.iter().map(|entry| to_document_symbol(&lines, entry)).collect(),
        )
    }))
}

/// Maximum number of symbols returned for a search in the workspace.
const MAX_WORKSPACE_SYMBOLS: usize = 500;

pub fn workspace_symbols(
    workspace: &Workspace,
    params: WorkspaceSymbolParams,
) -> Answer<Option<WorkspaceSymbolResponse>> {
    let query = params.query.to_lowercase();
    let mut symbols: Vec<WorkspaceSymbol> = Vec::new();
    for analyzed_file in workspace.all_analyses() {
        for symbol in &analyzed_file.analysis.index.symbols {
            let is_local = matches!(symbol.kind, DeclarationKind::Local | DeclarationKind::Parameter);
            let (false, Some(declaration)) = (is_local, &symbol.declaration) else { continue };
            if !symbol.name.to_lowercase().contains(&query) {
                continue;
            }
            let Some(location) = to_location(&analyzed_file, declaration.name_span) else { continue };
            let is_listed =
                symbols.iter().any(|listed| matches!(&listed.location, OneOf::Left(listed_location) if *listed_location == location));
            if !is_listed && symbols.len() < MAX_WORKSPACE_SYMBOLS {
                symbols.push(WorkspaceSymbol {
                    name: symbol.name.clone(),
                    kind: to_lsp_symbol_kind(symbol.kind),
                    tags: None,
                    container_name: symbol.path.len().checked_sub(2).map(|index| symbol.path[index].clone()),
                    location: OneOf::Left(location),
                    data: None,
                });
            }
        }
    }
    Ok(Some(WorkspaceSymbolResponse::Nested(symbols)))
}

pub fn folding_ranges(
    workspace: &Workspace,
    params: FoldingRangeParams,
) -> Answer<Option<Vec<FoldingRange>>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let text = analyzed_file.analysis.text(file);
    let lines = analyzed_file.lines(file);
    let to_folding_range = |fold: tokens::FoldRange| {
        let (start, end) = (lines.position(fold.start).line, lines.position(fold.end).line);
        FoldingRange {
            start_line: start,
            // The line of a closing bracket stays visible after folding.
            end_line: if fold.is_comment { end } else { end.saturating_sub(1).max(start) },
            kind: fold.is_comment.then_some(FoldingRangeKind::Comment),
            ..FoldingRange::default()
        }
    };
    Ok(Some(tokens::fold_ranges(text).into_iter().map(to_folding_range).collect()))
}

pub fn code_actions(workspace: &Workspace, params: CodeActionParams) -> Answer<Option<CodeActionResponse>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let lines = analyzed_file.lines(file);
    let (start, end) = (lines.offset(params.range.start), lines.offset(params.range.end));
    // A request that the editor makes by itself, after each keystroke, does not wait for the
    // compiler or the analysis. The editor repeats such a request when diagnostics arrive.
    let is_automatic = params.context.trigger_kind == Some(CodeActionTriggerKind::AUTOMATIC);
    let findings = if is_automatic { analyzed_file.findings_so_far() } else { analyzed_file.findings() };
    let findings = findings.iter().map(|finding| &finding.diagnostic);
    let diagnostics =
        if is_automatic { analyzed_file.diagnostics_so_far() } else { analyzed_file.diagnostics() };
    let all_diagnostics = diagnostics.iter().chain(findings);
    let (mut code_actions, mut explained) = (Vec::new(), Vec::new());
    for diagnostic in all_diagnostics {
        let overlaps_request = |span: Span| span.file == file && span.start <= end && start <= span.end;
        if !diagnostic.span().is_some_and(overlaps_request) {
            continue;
        }
        for action in actions::actions_for_diagnostic(diagnostic, &analyzed_file.analysis.sources) {
            code_actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: action.title.localized(analyzed_file.language).into_owned(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![findings::to_lsp_diagnostic(&analyzed_file, diagnostic)]),
                edit: Some(workspace_edit(&analyzed_file, &action.edits)),
                is_preferred: Some(action.is_safe),
                ..CodeAction::default()
            }));
        }
        if !explained.contains(&diagnostic.code) {
            explained.push(diagnostic.code);
            code_actions.push(explain_action(&analyzed_file, diagnostic));
        }
    }
    let selection = Span { file, start, end };
    if is_automatic && !analyzed_file.analysis.is_compiled() {
        return Ok(Some(code_actions));
    }
    code_actions.extend(analyzed_file.analysis.refactorings(selection).into_iter().map(|action| {
        CodeActionOrCommand::CodeAction(CodeAction {
            title: action.title.localized(analyzed_file.language).into_owned(),
            kind: Some(CodeActionKind::REFACTOR),
            edit: Some(workspace_edit(&analyzed_file, &action.edits)),
            ..CodeAction::default()
        })
    }));
    if let Some(route) = analyzed_file.analysis.testable_route(selection) {
        let title = test_block::add_test_title(route).localized(analyzed_file.language).into_owned();
        let arguments = Some(vec![params.text_document.uri.to_string().into(), json!(params.range.start)]);
        // The search for a message takes longer than an editor may wait for its list of actions.
        let command = Some(Command { title: title.clone(), command: ADD_TEST_COMMAND.to_owned(), arguments });
        let kind = Some(CodeActionKind::REFACTOR);
        let action = CodeAction { title, kind, command, ..CodeAction::default() };
        code_actions.push(CodeActionOrCommand::CodeAction(action));
    }
    Ok(Some(code_actions))
}

/// Returns the code action that shows the documentation page of a diagnostic's code, such as
/// `E0101`.
fn explain_action(analyzed_file: &AnalyzedFile, diagnostic: &rulec::Diagnostic) -> CodeActionOrCommand {
    let code = diagnostic.code.as_str();
    let title = message!("explain {code}").localized(analyzed_file.language).into_owned();
    let command = Command {
        title: title.clone(),
        command: pages::EXPLAIN_COMMAND.to_owned(),
        arguments: Some(vec![code.into()]),
    };
    CodeActionOrCommand::CodeAction(CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![findings::to_lsp_diagnostic(analyzed_file, diagnostic)]),
        command: Some(command),
        ..CodeAction::default()
    })
}

pub fn inlay_hints(workspace: &Workspace, params: InlayHintParams) -> Answer<Option<Vec<InlayHint>>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let lines = analyzed_file.lines(file);
    let (start, end) = (lines.offset(params.range.start), lines.offset(params.range.end));
    let visible_hints = analyzed_file
        .analysis
        .inlay_hints(file)
        .into_iter()
        .filter(|hint| (start..=end).contains(&hint.offset));
    let to_lsp_hint = |hint: rulec_ide::hints::InlayHint| InlayHint {
        position: lines.position(hint.offset),
        label: InlayHintLabel::String(hint.text),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(hint.tooltip.localized(analyzed_file.language).into_owned())),
        padding_left: None,
        padding_right: None,
        data: None,
    };
    Ok(Some(visible_hints.map(to_lsp_hint).collect()))
}

pub fn code_lenses(workspace: &Workspace, params: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let uri = params.text_document.uri.to_string();
    let to_lsp_lens = |lens: rulec_ide::hints::CodeLens| {
        // A code lens about a route that another route hides only shows text, so its command is
        // empty.
        let (command, arguments) = match lens.test_name {
            Some(name) => (RUN_TEST_COMMAND.to_owned(), Some(vec![uri.clone().into(), name.into()])),
            None => (String::new(), None),
        };
        // A title is plain text, not Markdown.
        let title = lens.text.localized(analyzed_file.language).replace('`', "");
        let command = Some(Command { title, command, arguments });
        CodeLens { range: analyzed_file.range(lens.span), command, data: None }
    };
    Ok(Some(
        analyzed_file
            .analysis
            .code_lenses(file, analyzed_file.diagnostics(), analyzed_file.findings())
            .into_iter()
            .map(to_lsp_lens)
            .collect(),
    ))
}

pub fn document_diagnostics(
    workspace: &Workspace,
    params: DocumentDiagnosticParams,
) -> Answer<DocumentDiagnosticReportResult> {
    let analysis_and_file = find_file(workspace, &params.text_document);
    let items = analysis_and_file
        .map(|(analyzed_file, file)| findings::file_diagnostics(&analyzed_file, file))
        .unwrap_or_default();
    let report = FullDocumentDiagnosticReport { result_id: None, items };
    let report = RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: report,
    };
    Ok(DocumentDiagnosticReportResult::Report(DocumentDiagnosticReport::Full(report)))
}

/// Formats the document. Returns one edit, which replaces the text between the first and the last
/// difference. Returns no edit if the document is already formatted, and `None` if it cannot be
/// found.
pub fn format(workspace: &Workspace, params: DocumentFormattingParams) -> Answer<Option<Vec<TextEdit>>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let original = analyzed_file.analysis.text(file);
    let formatted = format::format(original).map_err(|error| RequestRefusal(error.to_message()))?.text;
    if formatted == original {
        return Ok(Some(Vec::new()));
    }
    let is_same = |(a, b): &(char, char)| a == b;
    let prefix_len: usize =
        original.chars().zip(formatted.chars()).take_while(is_same).map(|(c, _)| c.len_utf8()).sum();
    let reversed_chars = original[prefix_len..].chars().rev().zip(formatted[prefix_len..].chars().rev());
    let suffix_len: usize = reversed_chars.take_while(is_same).map(|(c, _)| c.len_utf8()).sum();
    let range = analyzed_file.lines(file).range(prefix_len..original.len() - suffix_len);
    Ok(Some(vec![TextEdit {
        range,
        new_text: formatted[prefix_len..formatted.len() - suffix_len].to_owned(),
    }]))
}
