//! Collects the findings of an analysis, and quotes source text for the findings.

use super::Finding;
use rulec_base::diag::Diagnostic;
use rulec_base::source::SourceMap;
use rulec_base::span::Span;
use rulec_base::text::to_one_line;
use rulec_lang::value::Tri;
use rulec_sema::hir::{Cond, CondKind, Program};
use serde_json::Value as Json;

/// The findings of the analysis so far, and the sources that they quote.
pub(super) struct AnalysisReport<'p> {
    pub program: &'p Program,
    sources: &'p SourceMap,
    pub findings: Vec<Finding>,
}

/// Maximum length of quoted source text, in characters. `MAX_INPUT_CHARS` limits the length of a
/// shown message.
const MAX_QUOTED_CHARS: usize = 60;
const MAX_INPUT_CHARS: usize = 300;

impl<'p> AnalysisReport<'p> {
    pub fn new(program: &'p Program, sources: &'p SourceMap) -> AnalysisReport<'p> {
        AnalysisReport { program, sources, findings: Vec::new() }
    }

    pub fn add_finding(&mut self, diagnostic: Diagnostic, witness: Option<Json>) {
        self.findings.push(Finding { diagnostic, witness });
    }

    /// Returns the source text on one line, truncated.
    pub fn quote(&self, span: Span) -> String {
        let text = self.sources.get(span.file).and_then(|file| file.text.get(span.range())).unwrap_or("…");
        truncate(&to_one_line(&text.split_whitespace().collect::<Vec<_>>().join(" ")), MAX_QUOTED_CHARS)
    }

    /// Returns the source text of a part of a condition. The text of an exception after `unless`
    /// includes the word `unless`.
    pub fn quote_part(&self, cond: &Cond) -> String {
        match &cond.kind {
            CondKind::NotTrue(inner) => format!("unless {}", self.quote(inner.span)),
            _ => self.quote(cond.span),
        }
    }

    /// Evaluates a condition for a message with the reference evaluator. Host functions return
    /// missing.
    pub fn evaluate(&self, cond: &Cond, message: &Json) -> Tri {
        let arena = rulec_lang::arena::Arena::new(&self.program.limits);
        rulec_eval::evaluator::Evaluator::new(
            self.program,
            message,
            &arena,
            rulec_eval::host::HostCalls::new(&[]),
        )
        .eval_cond(cond)
    }
}

/// Formats a message for use in a sentence, truncated.
pub(super) fn format_message(message: &Json) -> String {
    truncate(&to_one_line(&message.to_string()), MAX_INPUT_CHARS)
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
