//! Analysis results for one state of a rule set's texts. Each result is computed on first use. The
//! results are kept until the texts change.

use crate::api::SourceRange;
use crate::error::{Answer, RequestError, verbatim_message};
use crate::keys::StatementKeys;
use crate::language::localized_diagnostic;
use crate::utf16::Utf16Offsets;
use rulec::flow::FlowMatcher;
use rulec::{FileId, Finding, Loader, Rules, Span};
use rulec_base::message;
use rulec_ide::Analysis;
use std::sync::OnceLock;

pub(crate) struct ProjectSnapshot {
    pub analysis: Analysis,
    findings: OnceLock<Vec<Finding>>,
    utf16_offsets_by_file: Vec<OnceLock<Utf16Offsets>>,
    keys: OnceLock<StatementKeys>,
    matcher: OnceLock<Option<FlowMatcher>>,
}

impl ProjectSnapshot {
    pub fn new(loader: &dyn Loader, main: &str) -> ProjectSnapshot {
        let analysis = Analysis::new(loader, main);
        let offsets = analysis.sources.iter().map(|_| OnceLock::new()).collect();
        ProjectSnapshot {
            analysis,
            findings: OnceLock::new(),
            utf16_offsets_by_file: offsets,
            keys: OnceLock::new(),
            matcher: OnceLock::new(),
        }
    }

    /// Returns the compiled rules. If they do not compile, returns the error response, which
    /// contains the first compile error.
    pub fn rules(&self) -> Answer<&Rules> {
        self.analysis.rules().ok_or_else(|| {
            RequestError::rules_with_errors(
                self.first_error().map_or_else(|| message!("the rules do not compile"), verbatim_message),
            )
        })
    }

    /// Returns the number of compile errors in the rule set.
    pub fn error_count(&self) -> usize {
        self.analysis.diagnostics().iter().filter(|diagnostic| diagnostic.is_error()).count()
    }

    /// Returns the first compile error as text, with its file and line; `None` if the rules
    /// compile.
    pub fn first_error(&self) -> Option<String> {
        let error = localized_diagnostic(self.analysis.diagnostics().iter().find(|error| error.is_error())?);
        let location = error.span().and_then(|span| Some((self.analysis.sources.get(span.file)?, span)));
        Some(match location {
            Some((file, span)) => {
                format!("{}:{}: {}", file.name, file.position(span.start).line, error.message)
            }
            None => error.message.to_string(),
        })
    }

    /// Returns the findings of the analysis of how rules interact, computed on the first call.
    /// Empty if the rules do not compile.
    pub fn findings(&self) -> &[Finding] {
        self.findings.get_or_init(|| self.analysis.findings(rulec::AnalysisOptions::default()))
    }

    /// Returns the findings of the rule analysis if they are already computed. Otherwise, waits for
    /// them if `analysed`, and returns `None` if not.
    pub fn findings_if(&self, analysed: bool) -> Option<&[Finding]> {
        if analysed { Some(self.findings()) } else { self.findings.get().map(Vec::as_slice) }
    }

    /// Returns the findings of the rule analysis if they are already computed, otherwise an empty
    /// slice. Never waits.
    pub fn findings_so_far(&self) -> &[Finding] {
        self.findings_if(false).unwrap_or_default()
    }

    /// Returns the keys of all statements of the rules. A key is a text that identifies a
    /// statement.
    pub fn keys(&self, rules: &Rules) -> &StatementKeys {
        self.keys.get_or_init(|| StatementKeys::new(rules.program()))
    }

    /// Returns the classifier of intent flows (flows chosen by meaning). `None` if there are no
    /// such flows, or if the classifier cannot be trained.
    pub fn intent_matcher(&self, rules: &Rules) -> Option<&FlowMatcher> {
        let train = || rules.program().has_intents().then(|| FlowMatcher::offline(rules).ok()).flatten();
        self.matcher.get_or_init(train).as_ref()
    }

    pub fn find_file(&self, name: &str) -> Answer<FileId> {
        self.analysis
            .file_id(name)
            .ok_or_else(|| RequestError::missing(message!("`{name}` is not a file of these rules")))
    }

    /// Returns the name of a file; empty if the id is unknown.
    pub fn file_name(&self, file: FileId) -> String {
        self.analysis.sources.get(file).map_or_else(String::new, |file| file.name.clone())
    }

    pub fn file_names(&self) -> Vec<String> {
        self.analysis.sources.iter().map(|(_, file)| file.name.clone()).collect()
    }

    /// Returns the table that converts offsets in a file between bytes and UTF-16 units.
    pub fn utf16_offsets(&self, file: FileId) -> &Utf16Offsets {
        static EMPTY_OFFSETS: OnceLock<Utf16Offsets> = OnceLock::new();
        let none = || EMPTY_OFFSETS.get_or_init(|| Utf16Offsets::new(""));
        let index = self.analysis.sources.iter().position(|(id, _)| id == file);
        let offsets = index.and_then(|index| self.utf16_offsets_by_file.get(index));
        offsets
            .map_or_else(none, |offsets| offsets.get_or_init(|| Utf16Offsets::new(self.analysis.text(file))))
    }

    /// Returns the start and end of a source span in its file, in UTF-16 units.
    pub fn utf16_range(&self, span: Span) -> (usize, usize) {
        let offsets = self.utf16_offsets(span.file);
        (offsets.to_utf16(span.start as usize), offsets.to_utf16(span.end as usize))
    }

    pub fn source_range(&self, span: Span) -> Option<SourceRange> {
        let file = self.analysis.sources.get(span.file)?;
        let (start_utf16, end_utf16) = self.utf16_range(span);
        Some(SourceRange {
            file: file.name.clone(),
            line: file.position(span.start).line,
            start_utf16,
            end_utf16,
        })
    }
}
