//! Collects the findings of an analysis, and quotes source text for the findings.

use super::Finding;
use super::budget::StepBudget;
use rulec_base::diag::{Code, Diagnostic, Label};
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_base::span::Span;
use rulec_base::text::to_one_line;
use rulec_lang::history::PastView;
use rulec_lang::value::Tri;
use rulec_sema::hir::{Cond, CondKind, Program, Rule, RuleId};
use serde_json::Value as Json;

/// The findings of the analysis so far, and the sources that they quote.
pub(super) struct AnalysisReport<'p> {
    pub program: &'p Program,
    sources: &'p SourceMap,
    pub findings: Vec<Finding>,
    /// The step budget of the analysis, from which each evaluation takes its steps.
    budget: StepBudget,
    /// The rules for whose analysis too few steps were left, in the order of the analysis.
    unanalysed_rules: Vec<RuleId>,
}

/// Maximum number of rules that one finding underlines.
const MAX_LISTED_RULES: usize = 6;
/// The text that replaces source text that is not available.
pub(super) const MISSING_SOURCE: &str = "…";
/// Number of `let`s in the program that are charged as one step of an evaluation, because the
/// evaluator allocates memory for each `let`.
const LETS_PER_STEP: usize = 16;
/// Steps that are charged for any evaluation, in addition to the steps for the `let`s.
const STEPS_PER_EVALUATION: usize = 20;

/// Maximum length of quoted source text, in characters. The constant below limits the length of a
/// message in a finding.
const MAX_QUOTED_CHARS: usize = 60;
const MAX_MESSAGE_CHARS: usize = 300;

impl<'p> AnalysisReport<'p> {
    pub fn new(program: &'p Program, sources: &'p SourceMap, budget: StepBudget) -> AnalysisReport<'p> {
        AnalysisReport { program, sources, findings: Vec::new(), budget, unanalysed_rules: Vec::new() }
    }

    /// Records a rule if too few steps were left for its analysis.
    pub fn record_if_exhausted(&mut self, rule: RuleId) {
        if self.budget.is_share_exhausted() {
            self.unanalysed_rules.push(rule);
        }
    }

    /// Reports the rules for whose analysis too few steps were left.
    pub fn report_unanalysed(&mut self) {
        let mut rules: Vec<&Rule> =
            self.unanalysed_rules.iter().map(|id| &self.program.rules[id.index()]).collect();
        rules.sort_by_key(|rule| (rule.condition.span.file, rule.condition.span.start));
        rules.dedup_by(|one, other| std::ptr::eq(*one, *other));
        let Some((first, others)) = rules.split_first() else { return };
        let message = match others.len() {
            0 => message!(
                "`{}` is not analysed in full, since the analysis would take too many steps",
                first.name
            ),
            others => message!(
                "`{}` and {others} more are not analysed in full, since the analysis would take too many steps",
                first.name
            ),
        };
        let help = message!(
            "the analysis of a file takes at most {} steps, and one statement at most a quarter of the steps \
            left: write `in [...]` or `any [...]` for many alternatives, and divide a long condition or file",
            self.budget.total_steps()
        );
        let diagnostic = Diagnostic::new(Code::TooLargeToAnalyse, first.condition.span, message).help(help);
        let listed = others.iter().take(MAX_LISTED_RULES - 1);
        let diagnostic = listed.fold(diagnostic, |diagnostic, other| {
            diagnostic.label(other.condition.span, message!("this is not analysed in full either"))
        });
        self.add_finding(diagnostic, None);
    }

    /// Completes the findings from index `start` on, which are about a definition that a rule uses
    /// at `use_span`. A finding that another use has already caused is joined with the earlier one.
    pub fn join_finding_of_definition(&mut self, start: usize, use_span: Span) {
        for new in self.findings.split_off(start) {
            let is_same = |found: &&mut Finding| {
                found.diagnostic.code == new.diagnostic.code
                    && found.diagnostic.span() == new.diagnostic.span()
            };
            match self.findings.iter_mut().find(is_same) {
                Some(found) if found.diagnostic.labels.len() >= MAX_LISTED_RULES => {}
                Some(found) => {
                    let label = Label { span: use_span, text: message!("used here, too") };
                    found.diagnostic.labels.push(label);
                }
                None => {
                    let diagnostic = new.diagnostic.label(use_span, message!("used here"));
                    self.findings.push(Finding { diagnostic, ..new });
                }
            }
        }
    }

    pub fn add_finding(&mut self, diagnostic: Diagnostic, witness: Option<Json>) {
        self.findings.push(Finding { diagnostic, witness });
    }

    /// Returns the source text of a span. Returns [`MISSING_SOURCE`] if there is no source text, as
    /// for rules from an artifact.
    pub fn source_text(&self, span: Span) -> &'p str {
        self.sources.get(span.file).and_then(|file| file.text.get(span.range())).unwrap_or(MISSING_SOURCE)
    }

    /// Returns the source text of a span for use in a message: on one line, and truncated to
    /// [`MAX_QUOTED_CHARS`].
    pub fn quote_source(&self, span: Span) -> String {
        let text = self.source_text(span);
        truncate(&to_one_line(&text.split_whitespace().collect::<Vec<_>>().join(" ")), MAX_QUOTED_CHARS)
    }

    /// Returns the source text of a part of a condition. For a condition after `unless`, the text
    /// includes the word `unless`.
    pub fn quote_part(&self, cond: &Cond) -> String {
        match &cond.kind {
            CondKind::NotTrue(inner) => format!("unless {}", self.quote_source(inner.span)),
            _ => self.quote_source(cond.span),
        }
    }

    /// Evaluates a condition for a message with the reference evaluator. Host functions return
    /// missing. If too few steps are left, the result is unknown, and the budget is exhausted.
    pub fn evaluate(&self, cond: &Cond, message: &Json) -> Tri {
        self.evaluate_with_past(cond, message, PastView::default())
    }

    /// Evaluates a condition like [`AnalysisReport::evaluate`], with the earlier messages `past`.
    pub fn evaluate_with_past(&self, cond: &Cond, message: &Json, past: PastView<'_>) -> Tri {
        if !self.budget.charge(STEPS_PER_EVALUATION + self.program.lets.len() / LETS_PER_STEP) {
            return Tri::Unknown;
        }
        let arena = rulec_lang::arena::Arena::new(&self.program.limits);
        rulec_eval::evaluator::Evaluator::new(
            self.program,
            message,
            &arena,
            rulec_eval::host::HostCalls::new(&[]),
        )
        .with_history(past)
        .eval_cond(cond)
    }
}

/// Formats a message as JSON for use in a sentence of a finding, truncated if it is long.
pub(super) fn format_message(message: &Json) -> String {
    truncate(&to_one_line(&message.to_string()), MAX_MESSAGE_CHARS)
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
