//! Answers requests of the editor: diagnostics, completion, hover, formatting and saving.

use crate::api::{
    At, Check, Checked, CodePage, CompletionItem, Completions, Diagnostic, DiagnosticLabel, FileText, Fix,
    Fold, Format, Formatted, Hint, Hover, OutlineItem, Save, Saved, SourceRange, TestRun, TextEdit,
};
use crate::error::{Answer, RequestError};
use crate::language::{language, localized, localized_diagnostic};
use crate::snapshot::ProjectSnapshot;
use crate::state::{Studio, TOKEN_CLASSES};
use axum::Json;
use axum::extract::Path;
use rulec::{Code, FileId, RenderOptions, Rules, Severity, TestOutcome, run_tests};
use rulec_base::message;
use rulec_ide::complete::CompletionKind;
use rulec_ide::{Edit, OutlineEntry, actions, tokens};
use rulec_syntax::format as formatter;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
pub(crate) struct FileQuery {
    rules: usize,
    file: String,
}

pub(crate) fn file(studio: &Arc<Studio>, asked: FileQuery) -> Answer<FileText> {
    studio.project(asked.rules)?.file_text(&asked.file)
}

pub(crate) fn check(studio: &Arc<Studio>, asked: Check) -> Answer<Checked> {
    let known = studio.project(asked.rules)?.set_draft(&asked.file, asked.text)?;
    let file = known.find_file(&asked.file)?;
    let text = known.analysis.text(file);
    let places = known.utf16_offsets(file);
    let folds = tokens::fold_ranges(text).into_iter().map(|fold| Fold {
        from: places.to_utf16(fold.start as usize),
        to: places.to_utf16(fold.end as usize),
    });
    let hints = known.analysis.inlay_hints(file).into_iter().map(|hint| Hint {
        at: places.to_utf16(hint.at as usize),
        text: hint.text,
        why: localized(&hint.why),
    });
    let outline = known.analysis.index.outline(file);
    Ok(Checked {
        diagnostics: all_diagnostics(&known, asked.findings),
        tokens: token_colours(&known, file),
        folds: folds.collect(),
        hints: hints.collect(),
        tests: known.analysis.rules.as_ref().map(|rules| test_runs(&known, rules)).unwrap_or_default(),
        outline: outline.iter().filter_map(|entry| outline_item(&known, entry)).collect(),
        compiles: known.analysis.rules.is_some(),
    })
}

/// Returns the compile errors and warnings of a rule set. With `findings`, the findings of the
/// slower analysis are included.
pub(crate) fn all_diagnostics(known: &ProjectSnapshot, findings: bool) -> Vec<Diagnostic> {
    let findings = if findings { known.findings() } else { &[] };
    let all = known.analysis.diagnostics.iter().chain(findings.iter().map(|finding| &finding.diagnostic));
    all.map(|found| convert_diagnostic(known, found)).collect()
}

pub(crate) fn convert_diagnostic(known: &ProjectSnapshot, found: &rulec::Diagnostic) -> Diagnostic {
    let place = found.span().and_then(|span| known.source_range(span));
    let place = place.unwrap_or_else(|| SourceRange {
        file: known.file_names().into_iter().next().unwrap_or_default(),
        line: 1,
        from: 0,
        to: 0,
    });
    let label = |label: &rulec::Label| {
        let place = known.source_range(label.span)?;
        Some(DiagnosticLabel { place, text: label.text.to_string() }).filter(|label| !label.text.is_empty())
    };
    let fixes = actions::for_diagnostic(found, &known.analysis.sources).into_iter().map(|action| Fix {
        title: localized(&action.title),
        safe: action.safe,
        edits: convert_edits(known, action.edits),
    });
    let found = localized_diagnostic(found);
    Diagnostic {
        file: place.file,
        line: place.line,
        from: place.from,
        to: place.to,
        severity: match found.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
        .to_owned(),
        code: found.code.to_string(),
        message: found.message.to_string(),
        help: found.help.as_ref().map(ToString::to_string),
        labels: found.labels.iter().filter_map(label).collect(),
        fixes: fixes.collect(),
    }
}

fn convert_edits(known: &ProjectSnapshot, mut edits: Vec<Edit>) -> Vec<TextEdit> {
    edits.sort();
    let edit = |edit: Edit| {
        let (from, to) = known.utf16_range(edit.span);
        TextEdit { file: known.file_name(edit.span.file), from, to, text: edit.replacement }
    };
    edits.into_iter().map(edit).collect()
}

fn token_colours(known: &ProjectSnapshot, file: FileId) -> Vec<usize> {
    let places = known.utf16_offsets(file);
    let found = tokens::coloured_tokens(file, known.analysis.text(file), &known.analysis.index);
    let numbers = |token: tokens::ColouredToken| {
        let (from, to) =
            (places.to_utf16(token.span.start as usize), places.to_utf16(token.span.end as usize));
        let class = TOKEN_CLASSES.iter().position(|(class, _)| *class == token.class);
        class.map(|class| [from, to - from, class])
    };
    found.into_iter().filter_map(numbers).flatten().collect()
}

/// Returns rendering options for explanations in the language of the request.
fn localized_options() -> RenderOptions {
    RenderOptions { language: language(), ..RenderOptions::default() }
}

/// Runs all tests of a rule set.
pub(crate) fn test_runs(known: &ProjectSnapshot, rules: &Rules) -> Vec<TestRun> {
    let test = |outcome: TestOutcome| TestRun {
        place: known.source_range(outcome.span),
        why: outcome.explanation.as_ref().map(|explanation| explanation.render(&localized_options())),
        name: outcome.name,
        passed: outcome.passed,
        expected: outcome.expected,
        actual: localized(&outcome.actual),
    };
    run_tests(rules).into_iter().map(test).collect()
}

fn outline_item(known: &ProjectSnapshot, entry: &OutlineEntry) -> Option<OutlineItem> {
    Some(OutlineItem {
        name: entry.name.clone(),
        kind: entry.kind.word().to_owned(),
        place: known.source_range(entry.name_span)?,
        inner: entry.inner.iter().filter_map(|inner| outline_item(known, inner)).collect(),
    })
}

/// Stores the text of a request as the draft of its file. Returns the new analysis, the id of the
/// file, and the cursor position in bytes.
fn store_draft(studio: &Studio, asked: At) -> Answer<(Arc<ProjectSnapshot>, FileId, u32)> {
    let known = studio.project(asked.rules)?.set_draft(&asked.file, Some(asked.text))?;
    let file = known.find_file(&asked.file)?;
    let offset = known.utf16_offsets(file).to_byte(asked.at) as u32;
    Ok((known, file, offset))
}

pub(crate) fn complete(studio: &Arc<Studio>, asked: At) -> Answer<Completions> {
    let (known, file, offset) = store_draft(studio, asked)?;
    let found = known.analysis.complete(file, offset);
    let (from, to) = known.utf16_range(found.replaces);
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
    };
    Ok(Completions { from, to, items: found.items.into_iter().map(item).collect() })
}

pub(crate) fn hover(studio: &Arc<Studio>, asked: At) -> Answer<Option<Hover>> {
    let (known, file, offset) = store_draft(studio, asked)?;
    let found = known.analysis.hover(file, offset);
    Ok(found.map(|found| {
        let (from, to) = known.utf16_range(found.span);
        Hover { from, to, code: found.code, text: localized(&found.text) }
    }))
}

pub(crate) fn definition(studio: &Arc<Studio>, asked: At) -> Answer<Option<SourceRange>> {
    let (known, file, offset) = store_draft(studio, asked)?;
    let index = &known.analysis.index;
    let declared =
        index.occurrence_at(file, offset).and_then(|found| index.symbols[found.symbol].declared.as_ref());
    Ok(declared.and_then(|declared| known.source_range(declared.name)))
}

pub(crate) fn format(_: &Arc<Studio>, asked: Format) -> Answer<Formatted> {
    Ok(Formatted { text: formatter::format(&asked.text).ok().map(|formatted| formatted.text) })
}

pub(crate) fn save(studio: &Arc<Studio>, asked: Save) -> Answer<Saved> {
    studio.project(asked.rules)?.save(asked)
}

/// Returns the documentation page of a diagnostic code.
pub(crate) async fn code(Path(code): Path<String>) -> Answer<Json<CodePage>> {
    let found =
        Code::parse(&code).ok_or_else(|| RequestError::missing(message!("there is no code `{code}`")))?;
    let page = found.page_in(language());
    // HTML comments in a page mark tables that are generated from the source code.
    let lines = page.lines().filter(|line| !line.starts_with("<!--"));
    Ok(Json(CodePage { code: found.to_string(), text: lines.flat_map(|line| [line, "\n"]).collect() }))
}
