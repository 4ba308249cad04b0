//! Answers requests of the editor: diagnostics, completion, hover, formatting and saving.

use crate::api::{
    At, Check, Checked, CodePage, CompletionItem, Completions, Diagnostic, DiagnosticLabel, FileText, Fix,
    Fold, Format, Formatted, Hint, Hover, OutlineItem, Save, Saved, SnippetPart, SourceRange, TestRun,
    TextEdit,
};
use crate::error::{Answer, RequestError};
use crate::language::{current_language, localized, localized_diagnostic};
use crate::snapshot::ProjectSnapshot;
use crate::state::{Studio, TOKEN_CLASSES};
use axum::Json;
use axum::extract::Path;
use rulec::{Code, FileId, RenderOptions, Rules, Severity, TestOutcome, run_tests};
use rulec_base::message;
use rulec_ide::complete::CompletionKind;
use rulec_ide::complete::snippets::{self, Snippet};
use rulec_ide::{Edit, OutlineEntry, actions, tokens};
use rulec_syntax::format as formatter;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
pub(crate) struct FileQuery {
    rules: usize,
    file: String,
}

pub(crate) fn read_file_text(studio: &Arc<Studio>, request: FileQuery) -> Answer<FileText> {
    studio.project(request.rules)?.file_text(&request.file)
}

pub(crate) fn check_text(studio: &Arc<Studio>, request: Check) -> Answer<Checked> {
    let snapshot = studio.project(request.rules)?.set_draft(&request.file, request.text)?;
    let file = snapshot.find_file(&request.file)?;
    let text = snapshot.analysis.text(file);
    let offsets = snapshot.utf16_offsets(file);
    let folds = tokens::fold_ranges(text).into_iter().map(|fold| Fold {
        start_utf16: offsets.to_utf16(fold.start as usize),
        end_utf16: offsets.to_utf16(fold.end as usize),
    });
    let hints = snapshot.analysis.inlay_hints(file).into_iter().map(|hint| Hint {
        utf16_offset: offsets.to_utf16(hint.offset as usize),
        text: hint.text,
        why: localized(&hint.tooltip),
    });
    let outline = snapshot.analysis.index.outline(file);
    Ok(Checked {
        diagnostics: all_diagnostics(&snapshot, request.findings),
        tokens: token_colours(&snapshot, file),
        folds: folds.collect(),
        hints: hints.collect(),
        tests: snapshot.analysis.rules().map(|rules| test_runs(&snapshot, rules)).unwrap_or_default(),
        outline: outline.iter().filter_map(|entry| outline_item(&snapshot, entry)).collect(),
        compiles: snapshot.analysis.rules().is_some(),
    })
}

/// Returns the compile errors and warnings of a rule set. If `findings` is true, adds the findings
/// of the rule analysis, which takes longer.
pub(crate) fn all_diagnostics(snapshot: &ProjectSnapshot, findings: bool) -> Vec<Diagnostic> {
    let findings = if findings { snapshot.findings() } else { &[] };
    let diagnostics =
        snapshot.analysis.diagnostics().iter().chain(findings.iter().map(|finding| &finding.diagnostic));
    diagnostics.map(|diagnostic| convert_diagnostic(snapshot, diagnostic)).collect()
}

pub(crate) fn convert_diagnostic(snapshot: &ProjectSnapshot, diagnostic: &rulec::Diagnostic) -> Diagnostic {
    let range = diagnostic.span().and_then(|span| snapshot.source_range(span));
    let range = range.unwrap_or_else(|| SourceRange {
        file: snapshot.file_names().into_iter().next().unwrap_or_default(),
        line: 1,
        start_utf16: 0,
        end_utf16: 0,
    });
    let label = |label: &rulec::Label| {
        let range = snapshot.source_range(label.span)?;
        Some(DiagnosticLabel { place: range, text: label.text.to_string() })
            .filter(|label| !label.text.is_empty())
    };
    let fixes =
        actions::actions_for_diagnostic(diagnostic, &snapshot.analysis.sources).into_iter().map(|action| {
            Fix {
                title: localized(&action.title),
                safe: action.is_safe,
                edits: convert_edits(snapshot, action.edits),
            }
        });
    let diagnostic = localized_diagnostic(diagnostic);
    Diagnostic {
        file: range.file,
        line: range.line,
        start_utf16: range.start_utf16,
        end_utf16: range.end_utf16,
        severity: match diagnostic.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
        .to_owned(),
        code: diagnostic.code.to_string(),
        message: diagnostic.message.to_string(),
        help: diagnostic.help.as_ref().map(ToString::to_string),
        labels: diagnostic.labels.iter().filter_map(label).collect(),
        fixes: fixes.collect(),
    }
}

fn convert_edits(snapshot: &ProjectSnapshot, mut edits: Vec<Edit>) -> Vec<TextEdit> {
    edits.sort();
    let edit = |edit: Edit| {
        let (start_utf16, end_utf16) = snapshot.utf16_range(edit.span);
        TextEdit { file: snapshot.file_name(edit.span.file), start_utf16, end_utf16, text: edit.replacement }
    };
    edits.into_iter().map(edit).collect()
}

fn token_colours(snapshot: &ProjectSnapshot, file: FileId) -> Vec<usize> {
    let offsets = snapshot.utf16_offsets(file);
    let coloured = tokens::coloured_tokens(file, snapshot.analysis.text(file), &snapshot.analysis.index);
    let to_numbers = |token: tokens::ColouredToken| {
        let (start_utf16, end_utf16) =
            (offsets.to_utf16(token.span.start as usize), offsets.to_utf16(token.span.end as usize));
        let class = TOKEN_CLASSES.iter().position(|(class, _)| *class == token.class);
        class.map(|class| [start_utf16, end_utf16 - start_utf16, class])
    };
    coloured.into_iter().filter_map(to_numbers).flatten().collect()
}

/// Returns rendering options for explanations in the language of the request.
fn localized_options() -> RenderOptions {
    RenderOptions { language: current_language(), ..RenderOptions::default() }
}

/// Runs all tests of a rule set, and returns the result of each test.
pub(crate) fn test_runs(snapshot: &ProjectSnapshot, rules: &Rules) -> Vec<TestRun> {
    let to_test_run = |outcome: TestOutcome| TestRun {
        place: snapshot.source_range(outcome.span),
        why: outcome.explanation.as_ref().map(|explanation| explanation.render(&localized_options())),
        name: outcome.name,
        passed: outcome.passed,
        expected: outcome.expected,
        actual: localized(&outcome.actual),
    };
    run_tests(rules).into_iter().map(to_test_run).collect()
}

fn outline_item(snapshot: &ProjectSnapshot, entry: &OutlineEntry) -> Option<OutlineItem> {
    Some(OutlineItem {
        name: entry.name.clone(),
        kind: entry.kind.to_word().to_owned(),
        place: snapshot.source_range(entry.name_span)?,
        inner: entry.inner.iter().filter_map(|inner| outline_item(snapshot, inner)).collect(),
    })
}

/// Stores the editor's text as the unsaved text (draft) of its file. Returns the new analysis, the
/// id of the file, and the cursor position in bytes.
fn store_draft(studio: &Studio, request: At) -> Answer<(Arc<ProjectSnapshot>, FileId, u32)> {
    let snapshot = studio.project(request.rules)?.set_draft(&request.file, Some(request.text))?;
    let file = snapshot.find_file(&request.file)?;
    let offset = snapshot.utf16_offsets(file).to_byte(request.utf16_offset) as u32;
    Ok((snapshot, file, offset))
}

pub(crate) fn complete(studio: &Arc<Studio>, request: At) -> Answer<Completions> {
    let (snapshot, file, offset) = store_draft(studio, request)?;
    let completions = snapshot.analysis.complete(file, offset);
    let (start_utf16, end_utf16) = snapshot.utf16_range(completions.replaced_span);
    let item = |item: rulec_ide::complete::CompletionItem| CompletionItem {
        label: item.label,
        kind: match item.kind {
            CompletionKind::Field => "field",
            CompletionKind::Value => "value",
            CompletionKind::Function => "function",
            CompletionKind::Operator => "operator",
            CompletionKind::Keyword => "keyword",
            CompletionKind::Type => "type",
            CompletionKind::Handler => "handler",
            CompletionKind::Statement => "statement",
        }
        .to_owned(),
        detail: item.detail,
        docs: localized(&item.docs),
        snippet: item.snippet.map(snippet_parts).unwrap_or_default(),
    };
    Ok(Completions { start_utf16, end_utf16, items: completions.items.into_iter().map(item).collect() })
}

fn snippet_parts(snippet: Snippet) -> Vec<SnippetPart> {
    let part = |part: snippets::SnippetPart| match part {
        snippets::SnippetPart::Text(text) => SnippetPart { text, is_placeholder: false },
        snippets::SnippetPart::Placeholder(text) => SnippetPart { text, is_placeholder: true },
    };
    snippet.parts.into_iter().map(part).collect()
}

pub(crate) fn hover(studio: &Arc<Studio>, request: At) -> Answer<Option<Hover>> {
    let (snapshot, file, offset) = store_draft(studio, request)?;
    let info = snapshot.analysis.hover(file, offset);
    Ok(info.map(|info| {
        let (start_utf16, end_utf16) = snapshot.utf16_range(info.span);
        let text = match info.diagnostic_code {
            Some(code) => code.title_in(current_language()).to_owned(),
            None => localized(&info.text),
        };
        Hover { start_utf16, end_utf16, code: info.source_code, text }
    }))
}

pub(crate) fn definition(studio: &Arc<Studio>, request: At) -> Answer<Option<SourceRange>> {
    let (snapshot, file, offset) = store_draft(studio, request)?;
    let index = &snapshot.analysis.index;
    let declaration = index
        .occurrence_at(file, offset)
        .and_then(|occurrence| index.symbols[occurrence.symbol].declaration.as_ref());
    Ok(declaration.and_then(|declaration| snapshot.source_range(declaration.name_span)))
}

pub(crate) fn format(_: &Arc<Studio>, request: Format) -> Answer<Formatted> {
    Ok(Formatted { text: formatter::format(&request.text).ok().map(|formatted| formatted.text) })
}

pub(crate) fn save(studio: &Arc<Studio>, request: Save) -> Answer<Saved> {
    studio.project(request.rules)?.save(request)
}

/// Returns the documentation page of a diagnostic code.
pub(crate) async fn code_page(Path(code): Path<String>) -> Answer<Json<CodePage>> {
    let diagnostic_code =
        Code::parse(&code).ok_or_else(|| RequestError::missing(message!("there is no code `{code}`")))?;
    let page = diagnostic_code.page_in(current_language());
    // HTML comments in a page mark tables that are generated from the source code.
    let lines = page.lines().filter(|line| !line.starts_with("<!--"));
    Ok(Json(CodePage {
        code: diagnostic_code.to_string(),
        text: lines.flat_map(|line| [line, "\n"]).collect(),
    }))
}
