//! Answers requests about a position or a range: declarations of types, links to files, growing
//! selections, signatures of calls, and formatting of a range.

use super::answers::{Answer, RequestRefusal, find_file, resolve_position, to_location};
use super::workspace::{AnalyzedFile, Workspace, uri_of};
use ls_types::*;
use rulec::{FileId, Span};
use rulec_ide::navigate::FileLink;

/// Returns the URI of the file to which a link in a rule file leads, such as the path of an import.
/// `None` if the file does not exist.
fn linked_uri(analyzed_file: &AnalyzedFile, link: &FileLink) -> Option<Uri> {
    match analyzed_file.analysis.file_id(&link.path) {
        Some(file) => analyzed_file.uri(file),
        None => Some(analyzed_file.absolute_path(&link.path))
            .filter(|path| path.is_file())
            .and_then(|path| uri_of(&path)),
    }
}

pub fn document_links(
    workspace: &Workspace,
    params: DocumentLinkParams,
) -> Answer<Option<Vec<DocumentLink>>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let links = analyzed_file.analysis.file_links(file).into_iter().filter_map(|link| {
        let target = linked_uri(&analyzed_file, &link)?;
        let range = analyzed_file.range(link.span);
        Some(DocumentLink { range, target: Some(target), tooltip: None, data: None })
    });
    Ok(Some(links.collect()))
}

pub fn goto_definition(
    workspace: &Workspace,
    params: GotoDefinitionParams,
) -> Answer<Option<GotoDefinitionResponse>> {
    let at = &params.text_document_position_params;
    let linked_file = resolve_position(workspace, at)
        .and_then(|position| linked_file(&position.analyzed_file, position.file, position.byte_offset));
    let location = linked_file.or_else(|| {
        let position = resolve_position(workspace, at)?;
        let declared = position.analyzed_file.analysis.definition(position.file, position.byte_offset)?;
        to_location(&position.analyzed_file, declared)
    });
    Ok(location.map(GotoDefinitionResponse::Scalar))
}

/// Returns the start of the file that is named by the path at a position, such as the path of an
/// import. `None` if no path is at the position, or if the file does not exist.
fn linked_file(analyzed_file: &AnalyzedFile, file: FileId, offset: u32) -> Option<Location> {
    let links = analyzed_file.analysis.file_links(file);
    let link = links.iter().find(|link| link.span.start <= offset && offset <= link.span.end)?;
    Some(Location { uri: linked_uri(analyzed_file, link)?, range: Range::default() })
}

pub fn selection_ranges(
    workspace: &Workspace,
    params: SelectionRangeParams,
) -> Answer<Option<Vec<SelectionRange>>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let lines = analyzed_file.lines(file);
    let to_selection = |position: Position| {
        let ranges = analyzed_file.analysis.selection_ranges(file, lines.offset(position));
        let outermost_first = ranges.into_iter().rev();
        let nested = outermost_first.fold(None, |parent, span| {
            let range = lines.range(span.range());
            Some(SelectionRange { range, parent: parent.map(Box::new) })
        });
        nested.unwrap_or(SelectionRange { range: Range { start: position, end: position }, parent: None })
    };
    Ok(Some(params.positions.into_iter().map(to_selection).collect()))
}

pub fn goto_type_definition(
    workspace: &Workspace,
    params: request::GotoTypeDefinitionParams,
) -> Answer<Option<GotoDefinitionResponse>> {
    let position = resolve_position(workspace, &params.text_document_position_params);
    let location = position.and_then(|position| {
        let declared =
            position.analyzed_file.analysis.type_definition(position.file, position.byte_offset)?;
        to_location(&position.analyzed_file, declared)
    });
    Ok(location.map(GotoDefinitionResponse::Scalar))
}

pub fn signature_help(workspace: &Workspace, params: SignatureHelpParams) -> Answer<Option<SignatureHelp>> {
    let position = resolve_position(workspace, &params.text_document_position_params);
    let signature = position.and_then(|position| {
        let signature = position.analyzed_file.analysis.signature_at(position.file, position.byte_offset)?;
        Some((signature, position.analyzed_file.language))
    });
    Ok(signature.map(|(signature, language)| {
        let active_parameter = signature.active_parameter.map(|index| index as u32);
        let parameters = signature
            .parameters
            .into_iter()
            .map(|label| ParameterInformation { label: ParameterLabel::Simple(label), documentation: None });
        let documentation = (!signature.docs.is_empty()).then(|| {
            let value = signature.docs.localized(language).into_owned();
            Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
        });
        let information = SignatureInformation {
            label: signature.label,
            documentation,
            parameters: Some(parameters.collect()),
            active_parameter,
        };
        SignatureHelp { signatures: vec![information], active_signature: Some(0), active_parameter }
    }))
}

/// Formats the statements that overlap a range. The rest of the file is not changed.
pub fn format_range(
    workspace: &Workspace,
    params: DocumentRangeFormattingParams,
) -> Answer<Option<Vec<TextEdit>>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let lines = analyzed_file.lines(file);
    let (start, end) = (lines.offset(params.range.start), lines.offset(params.range.end));
    let edit = analyzed_file
        .analysis
        .format_range(Span { file, start, end })
        .map_err(|error| RequestRefusal(error.to_message()))?;
    Ok(Some(text_edits(&analyzed_file, edit)))
}

/// Formats the code before a closing brace or a line break that the user has just typed.
pub fn format_on_type(
    workspace: &Workspace,
    params: DocumentOnTypeFormattingParams,
) -> Answer<Option<Vec<TextEdit>>> {
    let Some(position) = resolve_position(workspace, &params.text_document_position) else { return Ok(None) };
    let Some(typed) = params.ch.chars().next() else { return Ok(None) };
    let edit = position
        .analyzed_file
        .analysis
        .format_typed(position.file, position.byte_offset, typed)
        .map_err(|error| RequestRefusal(error.to_message()))?;
    Ok(Some(text_edits(&position.analyzed_file, edit)))
}

fn text_edits(analyzed_file: &AnalyzedFile, edit: Option<rulec_ide::Edit>) -> Vec<TextEdit> {
    let to_text_edit = |edit: rulec_ide::Edit| TextEdit {
        range: analyzed_file.range(edit.span),
        new_text: edit.replacement,
    };
    edit.into_iter().map(to_text_edit).collect()
}
