//! Answers requests for completion. An item with placeholders becomes a snippet if the editor
//! supports snippets, otherwise its plain label.

use super::answers::{Answer, resolve_position};
use super::workspace::Workspace;
use ls_types::*;
use rulec_ide::complete::CompletionKind;
use rulec_ide::complete::snippets::{Snippet, SnippetPart};

pub fn complete(workspace: &Workspace, params: CompletionParams) -> Answer<Option<CompletionResponse>> {
    let Some(position) = resolve_position(workspace, &params.text_document_position) else { return Ok(None) };
    let completions = position.analyzed_file.analysis.complete(position.file, position.byte_offset);
    let range = position.analyzed_file.range(completions.replaced_span);
    let to_lsp_item = |(index, item): (usize, rulec_ide::complete::CompletionItem)| {
        let snippet = item.snippet.as_ref().filter(|_| workspace.supports_snippets());
        let has_snippet = snippet.is_some();
        let new_text = snippet.map_or_else(|| item.label.clone(), to_lsp_snippet);
        CompletionItem {
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
            // Editors sort the items by this text. It contains the index, so the order is kept: the
            // most likely item is first.
            sort_text: Some(format!("{index:05}")),
            insert_text_format: has_snippet.then_some(InsertTextFormat::SNIPPET),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text })),
            label: item.label,
            detail: Some(item.detail).filter(|detail| !detail.is_empty()),
            documentation: (!item.docs.is_empty()).then_some(Documentation::MarkupContent(MarkupContent {
                kind: MarkupKind::Markdown,
                value: item.docs.localized(position.analyzed_file.language).into_owned(),
            })),
            ..CompletionItem::default()
        }
    };
    Ok(Some(CompletionResponse::Array(completions.items.into_iter().enumerate().map(to_lsp_item).collect())))
}

/// Writes a snippet in the syntax of the protocol: `${1:text}` for each placeholder, and `$0` for
/// the position after all of them.
fn to_lsp_snippet(snippet: &Snippet) -> String {
    let mut text = String::new();
    let mut count = 0;
    for part in &snippet.parts {
        match part {
            SnippetPart::Text(part) => text += &escape_snippet_text(part),
            SnippetPart::Placeholder(default) => {
                count += 1;
                text += &match default.is_empty() {
                    true => format!("${count}"),
                    false => format!("${{{count}:{}}}", escape_snippet_text(default)),
                };
            }
        }
    }
    text + "$0"
}

/// Escapes the characters that have a meaning in a snippet.
fn escape_snippet_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}")
}
