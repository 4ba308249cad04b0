//! Handlers for each kind of request of the editor. Each answer comes from the analysis of the
//! requested file.

use super::capabilities::{RUN_TEST, token_type};
use super::findings;
use super::lines::Lines;
use super::workspace::{AnalyzedFile, RequestPosition, Workspace, path_of};
use ls_types::*;
use rulec::{FileId, Message, Span};
use rulec_base::message;
use rulec_ide::complete::CompletionKind;
use rulec_ide::{DeclarationKind, Edit, OutlineEntry, SymbolId, actions, tokens};
use rulec_syntax::format;
use std::collections::HashMap;
use std::rc::Rc;

/// The reason why a request cannot be answered, as a message for the user.
pub struct RequestRefusal(pub Message);

pub type Answer<T> = Result<T, RequestRefusal>;

impl From<rulec_ide::rename::RenameError> for RequestRefusal {
    fn from(refused: rulec_ide::rename::RenameError) -> RequestRefusal {
        RequestRefusal(refused.0)
    }
}

fn resolve_position(workspace: &Workspace, at: &TextDocumentPositionParams) -> Option<RequestPosition> {
    workspace.resolve_position(&at.text_document.uri, at.position)
}

fn find_file(workspace: &Workspace, document: &TextDocumentIdentifier) -> Option<(Rc<AnalyzedFile>, FileId)> {
    workspace.find_analysis(&path_of(&document.uri))
}

fn to_location(known: &AnalyzedFile, span: Span) -> Option<Location> {
    Some(Location { uri: known.uri(span.file)?, range: known.range(span) })
}

pub fn hover(workspace: &Workspace, params: HoverParams) -> Answer<Option<Hover>> {
    let at = resolve_position(workspace, &params.text_document_position_params);
    let found = at.and_then(|at| Some((at.known.analysis.hover(at.file, at.offset)?, at)));
    Ok(found.map(|(found, at)| {
        let mut value = format!("```rules\n{}\n```", found.code);
        if !found.text.is_empty() {
            value = format!("{value}\n\n{}", found.text.localized(at.known.language));
        }
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
        Hover { contents, range: Some(at.known.range(found.span)) }
    }))
}

pub fn complete(workspace: &Workspace, params: CompletionParams) -> Answer<Option<CompletionResponse>> {
    let Some(at) = resolve_position(workspace, &params.text_document_position) else { return Ok(None) };
    let found = at.known.analysis.complete(at.file, at.offset);
    let range = at.known.range(found.replaces);
    let items = found.items.into_iter().map(|item| CompletionItem {
        kind: Some(match item.kind {
            CompletionKind::Field => CompletionItemKind::FIELD,
            CompletionKind::Value => CompletionItemKind::VARIABLE,
            CompletionKind::Function => CompletionItemKind::FUNCTION,
            CompletionKind::Operator => CompletionItemKind::OPERATOR,
            CompletionKind::Keyword => CompletionItemKind::KEYWORD,
            CompletionKind::Type => CompletionItemKind::STRUCT,
            CompletionKind::Handler => CompletionItemKind::METHOD,
            CompletionKind::Statement => CompletionItemKind::CLASS,
        }),
        sort_text: Some(format!("{}{}", item.kind as u8, item.label)),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: item.label.clone() })),
        label: item.label,
        detail: Some(item.detail).filter(|detail| !detail.is_empty()),
        documentation: (!item.docs.is_empty()).then_some(Documentation::MarkupContent(MarkupContent {
            kind: MarkupKind::Markdown,
            value: item.docs.localized(at.known.language).into_owned(),
        })),
        ..CompletionItem::default()
    });
    Ok(Some(CompletionResponse::Array(items.collect())))
}

/// Returns the symbol at the position of a request. Also returns the position as a byte offset in
/// an analysed file.
fn symbol_at(workspace: &Workspace, at: &TextDocumentPositionParams) -> Option<(RequestPosition, SymbolId)> {
    let at = resolve_position(workspace, at)?;
    let found = at.known.analysis.index.occurrence_at(at.file, at.offset)?;
    Some((at, found.symbol))
}

pub fn definition(
    workspace: &Workspace,
    params: GotoDefinitionParams,
) -> Answer<Option<GotoDefinitionResponse>> {
    let found = symbol_at(workspace, &params.text_document_position_params).and_then(|(at, symbol)| {
        let declared = at.known.analysis.index.symbols[symbol].declared.as_ref()?;
        to_location(&at.known, declared.name)
    });
    Ok(found.map(GotoDefinitionResponse::Scalar))
}

pub fn references(workspace: &Workspace, params: ReferenceParams) -> Answer<Option<Vec<Location>>> {
    let Some((at, symbol)) = symbol_at(workspace, &params.text_document_position) else { return Ok(None) };
    let places = at.known.analysis.index.occurrences_of(symbol);
    let wanted = places.filter(|one| params.context.include_declaration || !one.declares);
    Ok(Some(wanted.filter_map(|one| to_location(&at.known, one.span)).collect()))
}

pub fn highlight(
    workspace: &Workspace,
    params: DocumentHighlightParams,
) -> Answer<Option<Vec<DocumentHighlight>>> {
    let Some((at, symbol)) = symbol_at(workspace, &params.text_document_position_params) else {
        return Ok(None);
    };
    let places = at.known.analysis.index.occurrences_of(symbol).filter(|one| one.span.file == at.file);
    let highlight = |one: rulec_ide::Occurrence| DocumentHighlight {
        range: at.known.range(one.span),
        kind: Some(if one.declares { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ }),
    };
    Ok(Some(places.map(highlight).collect()))
}

pub fn prepare_rename(
    workspace: &Workspace,
    params: TextDocumentPositionParams,
) -> Answer<Option<PrepareRenameResponse>> {
    let Some(at) = resolve_position(workspace, &params) else { return Ok(None) };
    let found = at.known.analysis.renameable_at(at.file, at.offset)?;
    let placeholder = at.known.analysis.index.symbols[found.symbol].name.clone();
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range: at.known.range(found.span), placeholder }))
}

pub fn rename(workspace: &Workspace, params: RenameParams) -> Answer<Option<WorkspaceEdit>> {
    let Some(at) = resolve_position(workspace, &params.text_document_position) else { return Ok(None) };
    let edits = at.known.analysis.rename(at.file, at.offset, &params.new_name)?;
    Ok(Some(workspace_edit(&at.known, &edits)))
}

fn workspace_edit(known: &AnalyzedFile, edits: &[Edit]) -> WorkspaceEdit {
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for edit in edits {
        if let Some(uri) = known.uri(edit.span.file) {
            let text_edit = TextEdit { range: known.range(edit.span), new_text: edit.replacement.clone() };
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
        DeclarationKind::Input | DeclarationKind::Settings => SymbolKind::OBJECT,
        DeclarationKind::Field | DeclarationKind::PayloadField | DeclarationKind::TypeField => {
            SymbolKind::FIELD
        }
        _ => SymbolKind::EVENT,
    }
}

#[allow(deprecated, reason = "the form has a field that is no longer used")]
fn to_document_symbol(lines: &Lines<'_>, entry: &OutlineEntry) -> DocumentSymbol {
    let inner: Vec<DocumentSymbol> =
        entry.inner.iter().map(|inner| to_document_symbol(lines, inner)).collect();
    DocumentSymbol {
        // The protocol does not allow an empty name.
        name: if entry.name.trim().is_empty() { "?".to_owned() } else { entry.name.clone() },
        detail: Some(entry.kind.word().to_owned()),
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
    Ok(find_file(workspace, &params.text_document).map(|(known, file)| {
        let lines = known.lines(file);
        let entries = known.analysis.index.outline(file);
        DocumentSymbolResponse::Nested(
            entries.iter().map(|entry| to_document_symbol(&lines, entry)).collect(),
        )
    }))
}

/// Maximum number of symbols returned for a search in the workspace.
const MAX_SYMBOLS: usize = 500;

pub fn workspace_symbols(
    workspace: &Workspace,
    params: WorkspaceSymbolParams,
) -> Answer<Option<WorkspaceSymbolResponse>> {
    let wanted = params.query.to_lowercase();
    let mut found: Vec<WorkspaceSymbol> = Vec::new();
    for known in workspace.all_analyses() {
        for symbol in &known.analysis.index.symbols {
            let local = matches!(symbol.kind, DeclarationKind::Local | DeclarationKind::Parameter);
            let (false, Some(declared)) = (local, &symbol.declared) else { continue };
            if !symbol.name.to_lowercase().contains(&wanted) {
                continue;
            }
            let Some(location) = to_location(&known, declared.name) else { continue };
            let again =
                found.iter().any(|one| matches!(&one.location, OneOf::Left(there) if *there == location));
            if !again && found.len() < MAX_SYMBOLS {
                found.push(WorkspaceSymbol {
                    name: symbol.name.clone(),
                    kind: to_lsp_symbol_kind(symbol.kind),
                    tags: None,
                    container_name: symbol.path.len().checked_sub(2).map(|at| symbol.path[at].clone()),
                    location: OneOf::Left(location),
                    data: None,
                });
            }
        }
    }
    Ok(Some(WorkspaceSymbolResponse::Nested(found)))
}

pub fn semantic_tokens(
    workspace: &Workspace,
    params: SemanticTokensParams,
) -> Answer<Option<SemanticTokensResult>> {
    let Some((known, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let text = known.analysis.text(file);
    let lines = known.lines(file);
    let (mut data, mut last) = (Vec::new(), Position { line: 0, character: 0 });
    for token in tokens::coloured_tokens(file, text, &known.analysis.index) {
        // The protocol has no tokens that span several lines, so such a token is reported line by
        // line.
        let mut start = token.span.start;
        for part in text[token.span.range()].split_inclusive('\n') {
            let at = lines.position(start);
            start += part.len() as u32;
            let length = part.trim_end_matches(['\n', '\r']).encode_utf16().count() as u32;
            let (token_type, token_modifiers_bitset) = token_type(token.class, token.declares);
            if length > 0 {
                let delta_line = at.line - last.line;
                let delta_start = if delta_line == 0 { at.character - last.character } else { at.character };
                data.push(SemanticToken {
                    delta_line,
                    delta_start,
                    length,
                    token_type,
                    token_modifiers_bitset,
                });
                last = at;
            }
        }
    }
    Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data })))
}

pub fn folds(workspace: &Workspace, params: FoldingRangeParams) -> Answer<Option<Vec<FoldingRange>>> {
    let Some((known, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let text = known.analysis.text(file);
    let lines = known.lines(file);
    let fold = |fold: tokens::FoldRange| {
        let (start, end) = (lines.position(fold.start).line, lines.position(fold.end).line);
        FoldingRange {
            start_line: start,
            // The line of a closing bracket stays visible after folding.
            end_line: if fold.comment { end } else { end.saturating_sub(1).max(start) },
            kind: fold.comment.then_some(FoldingRangeKind::Comment),
            ..FoldingRange::default()
        }
    };
    Ok(Some(tokens::fold_ranges(text).into_iter().map(fold).collect()))
}

pub fn code_actions(workspace: &Workspace, params: CodeActionParams) -> Answer<Option<CodeActionResponse>> {
    let Some((known, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let lines = known.lines(file);
    let (start, end) = (lines.offset(params.range.start), lines.offset(params.range.end));
    let all =
        known.analysis.diagnostics.iter().chain(known.findings().iter().map(|finding| &finding.diagnostic));
    let mut offers = Vec::new();
    for found in all {
        let meets = |span: Span| span.file == file && span.start <= end && start <= span.end;
        if !found.span().is_some_and(meets) {
            continue;
        }
        for action in actions::for_diagnostic(found, &known.analysis.sources) {
            offers.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: action.title.localized(known.language).into_owned(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![findings::to_lsp_diagnostic(&known, found)]),
                edit: Some(workspace_edit(&known, &action.edits)),
                is_preferred: Some(action.safe),
                ..CodeAction::default()
            }));
        }
    }
    Ok(Some(offers))
}

pub fn inlay_hints(workspace: &Workspace, params: InlayHintParams) -> Answer<Option<Vec<InlayHint>>> {
    let Some((known, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let lines = known.lines(file);
    let (start, end) = (lines.offset(params.range.start), lines.offset(params.range.end));
    let wanted = known.analysis.inlay_hints(file).into_iter().filter(|hint| (start..=end).contains(&hint.at));
    let hint = |hint: rulec_ide::hints::InlayHint| InlayHint {
        position: lines.position(hint.at),
        label: InlayHintLabel::String(hint.text),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(hint.why.localized(known.language).into_owned())),
        padding_left: None,
        padding_right: None,
        data: None,
    };
    Ok(Some(wanted.map(hint).collect()))
}

pub fn code_lenses(workspace: &Workspace, params: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
    let Some((known, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let uri = params.text_document.uri.to_string();
    let lens = |lens: rulec_ide::hints::CodeLens| {
        // The lens of a hidden route only shows text. Its command is empty.
        let (command, arguments) = match lens.test {
            Some(name) => (RUN_TEST.to_owned(), Some(vec![uri.clone().into(), name.into()])),
            None => (String::new(), None),
        };
        // A title is plain text, not Markdown.
        let title = lens.text.localized(known.language).replace('`', "");
        let command = Some(Command { title, command, arguments });
        CodeLens { range: known.range(lens.span), command, data: None }
    };
    Ok(Some(known.analysis.code_lenses(file, known.findings()).into_iter().map(lens).collect()))
}

pub fn diagnostics(
    workspace: &Workspace,
    params: DocumentDiagnosticParams,
) -> Answer<DocumentDiagnosticReportResult> {
    let found = find_file(workspace, &params.text_document);
    let items = found.map(|(known, file)| findings::file_diagnostics(&known, file)).unwrap_or_default();
    let report = FullDocumentDiagnosticReport { result_id: None, items };
    let report = RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: report,
    };
    Ok(DocumentDiagnosticReportResult::Report(DocumentDiagnosticReport::Full(report)))
}

/// Formats the document. Returns one edit that covers the part in which the formatted text differs.
pub fn format(workspace: &Workspace, params: DocumentFormattingParams) -> Answer<Option<Vec<TextEdit>>> {
    let Some((known, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let old = known.analysis.text(file);
    let new = format::format(old).map_err(|changed| RequestRefusal(changed.to_message()))?.text;
    if new == old {
        return Ok(Some(Vec::new()));
    }
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let behind = old[start..].chars().rev().zip(new[start..].chars().rev());
    let end: usize = behind.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let range = known.lines(file).range(start..old.len() - end);
    Ok(Some(vec![TextEdit { range, new_text: new[start..new.len() - end].to_owned() }]))
}

/// Executes the command that runs a test. Returns the result of the test.
pub fn execute(workspace: &Workspace, params: ExecuteCommandParams) -> Answer<Option<serde_json::Value>> {
    let mut texts = params.arguments.iter().map(|argument| argument.as_str());
    let (RUN_TEST, Some(Some(uri)), Some(Some(name))) = (params.command.as_str(), texts.next(), texts.next())
    else {
        return Err(RequestRefusal(message!(
            "`{}` is not a command of this server, or its arguments are wrong",
            params.command
        )));
    };
    let uri: Uri =
        uri.parse().map_err(|_| RequestRefusal(message!("`{uri}` is not the address of a document")))?;
    let Some((known, _)) = workspace.find_analysis(&path_of(&uri)) else {
        return Err(RequestRefusal(message!("the document cannot be found")));
    };
    let Some(rules) = &known.analysis.rules else {
        return Err(RequestRefusal(message!("the rules have errors, so their tests cannot run")));
    };
    let outcome = rulec::run_tests(rules).into_iter().find(|outcome| outcome.name == name);
    let outcome = outcome.ok_or_else(|| RequestRefusal(message!("there is no test `{name}`")))?;
    let (expected, actual) = (outcome.expected, outcome.actual.localized(known.language));
    Ok(Some(
        serde_json::json!({ "name": name, "passed": outcome.passed, "expected": expected, "actual": actual }),
    ))
}
