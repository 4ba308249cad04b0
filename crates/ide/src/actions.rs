//! The edits (code actions) that an editor offers for a finding: the fixes of the finding, and for
//! a warning also the insertion of a comment that suppresses the warning.

use super::Edit;
use rulec_base::diag::{Applicability, Diagnostic, Message};
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_base::span::Span;

/// A code action: edits that the editor offers under a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeAction {
    /// The effect of the edits in a few words, which an editor shows in its menu.
    pub title: Message,
    pub edits: Vec<Edit>,
    /// Whether the edits surely keep the meaning that the author intended. An editor may apply safe
    /// actions without asking.
    pub is_safe: bool,
}

/// Returns the code actions for a finding. Empty if it has no fixes and cannot be suppressed.
pub fn actions_for_diagnostic(diagnostic: &Diagnostic, sources: &SourceMap) -> Vec<CodeAction> {
    let mut actions = Vec::new();
    if !diagnostic.fixes.is_empty() {
        let quoted = |text: &str| match text.lines().next() {
            Some(line) if line.chars().count() < 60 && line.len() == text.len() => message!("`{line}`"),
            _ => message!("the text named in the help"),
        };
        let title = match diagnostic.fixes.as_slice() {
            [only_fix] if only_fix.replacement.is_empty() => {
                message!("remove {}", quoted(sources.slice(only_fix.span)))
            }
            [only_fix] if only_fix.span.is_empty() => message!("insert {}", quoted(&only_fix.replacement)),
            [only_fix] => message!(
                "replace {} with {}",
                quoted(sources.slice(only_fix.span)),
                quoted(&only_fix.replacement)
            ),
            _ => diagnostic.help.clone().unwrap_or_else(|| message!("fix this")),
        };
        let edit =
            |fix: &rulec_base::diag::Fix| Edit { span: fix.span, replacement: fix.replacement.clone() };
        let safe = diagnostic.fixes.iter().all(|fix| fix.applicability == Applicability::MachineApplicable);
        actions.push(CodeAction { title, edits: diagnostic.fixes.iter().map(edit).collect(), is_safe: safe });
    }
    if let (false, Some(span)) = (diagnostic.is_error(), diagnostic.span()) {
        actions.extend(suppress_action(diagnostic, span, sources));
    }
    actions
}

/// Returns the action that suppresses the finding at `span` by a comment. The comment is inserted
/// before the statement that contains `span`. `None` if no statement contains it.
fn suppress_action(diagnostic: &Diagnostic, span: Span, sources: &SourceMap) -> Option<CodeAction> {
    let text = &sources.get(span.file)?.text;
    let start = statement_start(text, span.start as usize)?;
    let indent: String = text[start..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let comment = format!("{indent}# rulec: allow {}\n", diagnostic.code);
    let edits = vec![Edit { span: Span::new(span.file, start, start), replacement: comment }];
    Some(CodeAction {
        title: message!("allow {} for this statement", diagnostic.code),
        edits,
        is_safe: false,
    })
}

/// Returns the start of the first line of the statement that contains `offset`. `None` if no
/// statement begins at or before the line of `offset`.
pub(super) fn statement_start(text: &str, offset: usize) -> Option<usize> {
    let mut start = text.get(..offset)?.rfind('\n').map_or(0, |newline| newline + 1);
    loop {
        let word = text[start..].trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        if rulec_syntax::parse::starts_statement(word) {
            return Some(start);
        }
        start = text[..start.checked_sub(1)?].rfind('\n').map_or(0, |newline| newline + 1);
    }
}
