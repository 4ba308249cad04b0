//! The edits (code actions) that an editor offers for a finding. They are the fixes of the finding,
//! and for a warning also a comment that suppresses it.

use super::Edit;
use rulec_base::diag::{Applicability, Diagnostic, Message};
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_base::span::Span;

/// A code action: edits that the editor offers under a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeAction {
    /// The effect of the edits, in a few words.
    pub title: Message,
    pub edits: Vec<Edit>,
    /// Whether the edits certainly keep the author's meaning.
    pub safe: bool,
}

/// Returns the code actions for a finding. Empty if it has no fixes and cannot be suppressed.
pub fn for_diagnostic(found: &Diagnostic, sources: &SourceMap) -> Vec<CodeAction> {
    let mut actions = Vec::new();
    if !found.fixes.is_empty() {
        let shown = |text: &str| match text.lines().next() {
            Some(line) if line.chars().count() < 60 && line.len() == text.len() => message!("`{line}`"),
            _ => message!("the text named in the help"),
        };
        let title = match found.fixes.as_slice() {
            [one] if one.replacement.is_empty() => message!("remove {}", shown(sources.slice(one.span))),
            [one] if one.span.is_empty() => message!("insert {}", shown(&one.replacement)),
            [one] => message!("replace {} with {}", shown(sources.slice(one.span)), shown(&one.replacement)),
            _ => found.help.clone().unwrap_or_else(|| message!("fix this")),
        };
        let edit =
            |fix: &rulec_base::diag::Fix| Edit { span: fix.span, replacement: fix.replacement.clone() };
        let safe = found.fixes.iter().all(|fix| fix.applicability == Applicability::MachineApplicable);
        actions.push(CodeAction { title, edits: found.fixes.iter().map(edit).collect(), safe });
    }
    if let (false, Some(span)) = (found.is_error(), found.span()) {
        actions.extend(suppress_action(found, span, sources));
    }
    actions
}

/// Returns the action that inserts a suppression comment before the statement of the finding.
fn suppress_action(found: &Diagnostic, span: Span, sources: &SourceMap) -> Option<CodeAction> {
    let text = &sources.get(span.file)?.text;
    let start = statement_start(text, span.start as usize)?;
    let indent: String = text[start..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let comment = format!("{indent}# rulec: allow {} \n", found.code);
    let edits = vec![Edit { span: Span::new(span.file, start, start), replacement: comment }];
    Some(CodeAction { title: message!("allow {} for this statement", found.code), edits, safe: false })
}

/// Returns the offset at which the first line of a statement begins. The statement is the one that
/// contains `offset`.
fn statement_start(text: &str, offset: usize) -> Option<usize> {
    let mut start = text.get(..offset)?.rfind('\n').map_or(0, |at| at + 1);
    loop {
        let word = text[start..].trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        if rulec_syntax::parse::starts_statement(word) {
            return Some(start);
        }
        start = text[..start.checked_sub(1)?].rfind('\n').map_or(0, |at| at + 1);
    }
}
