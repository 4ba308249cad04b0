//! Inlay hints and code lenses. Hints show inferred types and the evaluation order of routes.
//! Lenses mark tests that can be run. They also mark routes, branches and patterns that are never
//! chosen because others hide them, or that hide others.

use super::{Analysis, DeclarationKind};
use rulec_analysis::Finding;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{FileId, Span};

/// An inlay hint: a few words that an editor shows after a position in the source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlayHint {
    /// The byte offset after which the hint is shown.
    pub offset: u32,
    pub text: String,
    /// The explanation of the hint, for a tooltip.
    pub tooltip: Message,
}

/// A code lens: a line of text that an editor shows above a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLens {
    pub span: Span,
    pub text: Message,
    /// The name of the test that a click on the lens runs. `None` if the lens only shows a text.
    pub test_name: Option<String>,
}

impl Analysis {
    /// Returns the inlay hints of a file, in source order.
    pub fn inlay_hints(&self, file: FileId) -> Vec<InlayHint> {
        let to_hint = |(name, ty): (Span, _)| {
            let why = message!("the type of its value");
            (name.file == file).then(|| InlayHint { offset: name.end, text: format!(": {ty}"), tooltip: why })
        };
        let mut hints: Vec<InlayHint> = self.facts.let_types().filter_map(to_hint).collect();
        for (route, number) in self.facts.route_positions.iter().filter(|(route, _)| route.file == file) {
            let why = message!(
                "the routes of a table are tried in this order: by priority, then in the order of the file"
            );
            hints.push(InlayHint {
                offset: route.start + "route".len() as u32,
                text: format!(" #{number}"),
                tooltip: why,
            });
        }
        hints.sort_by(|a, b| (a.offset, &a.text).cmp(&(b.offset, &b.text)));
        hints
    }

    /// Returns the code lenses above tests, and above routes, branches and flow patterns that are
    /// never chosen, or because of which others are never chosen. The compiler's `diagnostics` and
    /// the `findings` of the analysis report such routes, branches and flow patterns.
    pub fn code_lenses(
        &self,
        file: FileId,
        diagnostics: &[Diagnostic],
        findings: &[Finding],
    ) -> Vec<CodeLens> {
        let tests = self.index.occurrences_in(file).iter().filter(|name| name.is_declaration);
        let tests = tests.map(|name| (name.span, &self.index.symbols[name.symbol]));
        let tests = tests.filter(|(_, symbol)| symbol.kind == DeclarationKind::Test).map(|(span, symbol)| {
            CodeLens { span, text: message!("run this test"), test_name: Some(symbol.name.clone()) }
        });
        let hidden_codes =
            [Code::RouteHidden, Code::AlwaysMatches, Code::BranchNeverChosen, Code::PatternHidden];
        let findings = diagnostics.iter().chain(findings.iter().map(|finding| &finding.diagnostic));
        let hidden_lenses =
            findings.filter(|diagnostic| hidden_codes.contains(&diagnostic.code)).filter_map(|diagnostic| {
                let span = diagnostic.span().filter(|span| span.file == file)?;
                Some(CodeLens { span, text: diagnostic.message.clone(), test_name: None })
            });
        let mut lenses: Vec<CodeLens> = tests.chain(hidden_lenses).collect();
        lenses.sort_by_key(|lens| lens.span);
        lenses
    }
}
