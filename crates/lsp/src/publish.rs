//! Sends diagnostics to the editor, if they have changed.

use super::findings;
use super::kept::KeptFindings;
use super::server::{Server, UnsentDiagnostics};
use super::workspace::{AnalyzedFile, uri_of};
use ls_types::notification::{self, Notification as _};
use ls_types::request::{self, Request as _};
use ls_types::{PublishDiagnosticsParams, Uri};
use lsp_server::{Message, Notification, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Server<'_> {
    /// Sends the diagnostics of all open documents, and of other files of the same rule sets.
    /// Diagnostics that have not changed are sent again only for a new version of an open document.
    /// `runs_analysis` means that the analysis is complete, so that its findings are sent too.
    pub(super) fn publish_diagnostics(&mut self, runs_analysis: bool) {
        self.unsent = if runs_analysis { UnsentDiagnostics::No } else { UnsentDiagnostics::Analysis };
        let diagnostics_by_uri = catch_unwind(AssertUnwindSafe(|| self.collect_diagnostics(runs_analysis)));
        // After a panic, the editor continues to show the diagnostics that were last sent.
        let Ok((mut diagnostics_by_uri, new_findings)) = diagnostics_by_uri else { return };
        if runs_analysis {
            self.last_findings = new_findings;
        }
        let resolved_uris: Vec<String> =
            self.sent.keys().filter(|uri| !diagnostics_by_uri.contains_key(*uri)).cloned().collect();
        diagnostics_by_uri.extend(resolved_uris.into_iter().map(|uri| (uri, Vec::new())));
        for (uri, diagnostics) in diagnostics_by_uri {
            // For an open document, diagnostics are sent for each version of the document. For
            // other files, diagnostics are sent only if they changed.
            let Ok(address) = uri.parse::<Uri>() else { continue };
            let version = self.workspace.documents().find(|(_, document)| document.uri == address);
            let version = version.map(|(_, document)| document.version);
            let sent = self.sent.get(&uri);
            let is_unchanged = sent.map_or(diagnostics.is_empty(), |(_, sent)| *sent == diagnostics);
            if is_unchanged
                && (version.is_none() || sent.is_some_and(|(sent_version, _)| *sent_version == version))
            {
                continue;
            }
            match diagnostics.is_empty() && version.is_none() {
                true => drop(self.sent.remove(&uri)),
                false => drop(self.sent.insert(uri, (version, diagnostics.clone()))),
            }
            let params = PublishDiagnosticsParams { uri: address, diagnostics, version };
            let method = notification::PublishDiagnostics::METHOD.to_owned();
            self.send(Message::Notification(Notification::new(method, params)));
        }
        // A code lens shows which route hides another one. This can change through an edit of
        // another file, so lenses are requested again after an analysis.
        if runs_analysis && self.can_refresh_lenses {
            self.refresh_count += 1;
            let method = request::CodeLensRefresh::METHOD.to_owned();
            let id = format!("lenses-{}", self.refresh_count);
            self.send(Message::Request(Request::new(id.into(), method, ())));
        }
    }

    /// Returns two maps by document URI: all diagnostics, and the findings of a new analysis. If
    /// `runs_analysis` is false, no analysis runs: the diagnostics include the findings of the last
    /// analysis, and the second map is empty.
    fn collect_diagnostics(
        &self,
        runs_analysis: bool,
    ) -> (BTreeMap<String, Vec<ls_types::Diagnostic>>, BTreeMap<String, KeptFindings>) {
        let (mut diagnostics_by_uri, mut main_paths, mut new_findings) =
            (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let mut collect_for_file = |analyzed_file: &AnalyzedFile, file, uri: &Uri| {
            let mut diagnostics = findings::compile_diagnostics(analyzed_file, file);
            let text = analyzed_file.analysis.text(file);
            if runs_analysis {
                let analysis_findings = findings::analysis_diagnostics(analyzed_file, file);
                diagnostics.extend(analysis_findings.iter().cloned());
                new_findings.insert(uri.to_string(), KeptFindings::new(text, analysis_findings));
            } else if let (true, Some(last)) =
                (analyzed_file.analysis.rules().is_some(), self.last_findings.get(uri.as_str()))
            {
                diagnostics.extend(last.valid_findings(uri, text));
            }
            diagnostics
        };
        for (path, document) in self.workspace.documents() {
            let Some((analyzed_file, file)) = self.workspace.find_analysis(path) else { continue };
            diagnostics_by_uri
                .insert(document.uri.to_string(), collect_for_file(&analyzed_file, file, &document.uri));
            if !main_paths.insert(analyzed_file.path(rulec::FileId(0))) {
                continue;
            }
            if let Some(error) = &analyzed_file.settings_error
                && let Some(uri) = uri_of(&error.path)
            {
                diagnostics_by_uri.insert(
                    uri.to_string(),
                    vec![findings::settings_diagnostic(error, analyzed_file.language)],
                );
            }
            for (other_file, _) in analyzed_file.analysis.sources.iter() {
                let path = analyzed_file.path(other_file);
                let is_open = self.workspace.documents().any(|(open_path, _)| open_path == path);
                let (false, Some(uri)) = (is_open, analyzed_file.uri(other_file)) else { continue };
                let diagnostics = collect_for_file(&analyzed_file, other_file, &uri);
                if !diagnostics.is_empty() {
                    diagnostics_by_uri.insert(uri.to_string(), diagnostics);
                }
            }
        }
        (diagnostics_by_uri, new_findings)
    }
}
