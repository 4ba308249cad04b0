//! Tests every change of the source text that a diagnostic proposes. An author who follows a
//! proposal must not meet the next error at the same place. The change is applied to its
//! statement, and the statement is parsed again, once for each diagnostic.

use super::errors::part_shapes::{Part, shape_help};
use super::remedy::MAX_PARSED_BYTES;
use super::splitter::{self, RawStatement};
use super::stream::{self, TokenStream};
use super::{Rule, parse_with_unchecked_fixes};
use rulec_base::diag::{Applicability, Code, Diagnostic, Fix, Message, pad_replacement};
use rulec_base::parallel::ThreadLimit;
use rulec_base::source::SourceMap;
use rulec_base::span::FileId;
use std::cell::OnceCell;
use std::ops::Range;

/// Maximum number of diagnostics of a file whose fixes are tested. Each test parses a statement, so
/// this limits the time that a file with many mistakes takes. The fixes of later diagnostics stay.
const MAX_TESTED_DIAGNOSTICS: usize = 1000;

/// Tests the fixes that the diagnostics of all files propose. Removes each fix after which there is
/// another error at the changed place or before it.
pub fn remove_broken_fixes(sources: &SourceMap, diagnostics: &mut [Diagnostic]) {
    for (file, source) in sources.iter() {
        remove_broken_fixes_in_file(file, &source.text, diagnostics);
    }
}

/// Removes the fixes of each diagnostic that lead to another error at or before the changed place.
/// Replaces the help text of such a diagnostic by the shape of its statement.
///
/// The statement's other errors are left out: a fix need not mend them. Fixes in long statements
/// and in other files stay as they are.
pub(super) fn remove_broken_fixes_in_file(file: FileId, text: &str, diagnostics: &mut [Diagnostic]) {
    let statements = OnceCell::new();
    // The text of a file may be unknown, for example if the rules were compiled elsewhere.
    let is_here = |fix: &Fix| fix.span.file == file && text.get(fix.span.range()).is_some();
    let is_tested = |found: &&mut Diagnostic| !found.fixes.is_empty() && found.fixes.iter().all(is_here);
    for diagnostic in diagnostics.iter_mut().filter(is_tested).take(MAX_TESTED_DIAGNOSTICS) {
        let statements = statements.get_or_init(|| Statements::of_text(text));
        let Some((region, rule)) = statements.statement_changed_by_fixes(text, &diagnostic.fixes) else {
            continue;
        };
        if region.len() <= MAX_PARSED_BYTES && leads_to_error(text, region, diagnostic) {
            diagnostic.fixes.clear();
            diagnostic.help =
                rule.filter(|_| is_about_form(diagnostic.code)).and_then(help_with_statement_shape);
        }
    }
}

/// True for the code of an error in the form of a statement, which the shape of the statement
/// explains.
fn is_about_form(code: Code) -> bool {
    matches!(code, Code::Unexpected | Code::UnknownOperator | Code::ReservedWord | Code::ChainedComparison)
}

fn help_with_statement_shape(rule: Rule) -> Option<Message> {
    shape_help(Part::Whole(rule))
}

/// The statements of a file, as spans of the source text.
struct Statements {
    spans: Vec<StatementSpan>,
}

struct StatementSpan {
    /// The bytes of the statement. For a table, this includes the statements between its braces.
    bytes: Range<usize>,
    /// The grammar rule of the statement. `None` if its first word begins no statement.
    rule: Option<Rule>,
    /// The statements between the braces of a table.
    inner: Vec<StatementSpan>,
}

impl Statements {
    fn of_text(text: &str) -> Statements {
        let stream = stream::tokenize_in_parts(text, 1);
        let raw = splitter::split_statements(FileId(0), text, &stream, &mut Vec::new());
        Statements { spans: spans(text, &stream, &raw) }
    }

    /// Returns the bytes of the statement that the fixes change, and its grammar rule. Includes the
    /// bytes after the statement if a fix changes them, too. `None` if no statement begins before
    /// the fixes.
    fn statement_changed_by_fixes(&self, text: &str, fixes: &[Fix]) -> Option<(Range<usize>, Option<Rule>)> {
        let start = fixes.iter().map(|fix| fix.span.range().start).min()?;
        let end = fixes.iter().map(|fix| fix.span.range().end).max()?;
        let (first, _) = statement_before_offset(&self.spans, start)?;
        let inner = statement_before_offset(&first.inner, start)
            .filter(|(inner, next)| end <= next.map_or(inner.bytes.end, |next| next.bytes.start));
        let (statement, next) = match inner {
            Some(inner) => inner,
            None => (
                first,
                statement_before_offset(&self.spans, end.saturating_sub(1).max(start))
                    .and_then(|(_, next)| next),
            ),
        };
        let last = if inner.is_some() { first.bytes.end - 1 } else { text.len() };
        let region_end = next.map_or(last, |next| next.bytes.start).max(end);
        Some((statement.bytes.start..region_end, statement.rule))
    }
}

/// Returns the last statement that begins at the byte `offset` or before it, and the next one.
fn statement_before_offset(
    spans: &[StatementSpan],
    offset: usize,
) -> Option<(&StatementSpan, Option<&StatementSpan>)> {
    let next = spans.partition_point(|statement| statement.bytes.start <= offset);
    Some((spans.get(next.checked_sub(1)?)?, spans.get(next)))
}

fn spans(text: &str, stream: &TokenStream, raw: &[RawStatement]) -> Vec<StatementSpan> {
    let span = |statement: &RawStatement| {
        let token = |index: usize| stream.significant.get(index).map(|item| item.token);
        let start = token(statement.tokens.start)?.start as usize;
        let last = statement.table_body.as_ref().map_or(statement.tokens.end - 1, |(_, close)| *close);
        let end = token(last).map_or(text.len(), |last| last.end as usize);
        let inner =
            statement.table_body.as_ref().map_or_else(Vec::new, |(inner, _)| spans(text, stream, inner));
        let rule = statement.keyword.and_then(|word| word.statement_rule);
        Some(StatementSpan { bytes: start..end, rule, inner })
    };
    raw.iter().filter(|statement| !statement.tokens.is_empty()).filter_map(span).collect()
}

/// A statement with the fixes of a diagnostic.
struct FixedStatement {
    text: String,
    /// The bytes of `text` from the first change to the end of the last one.
    changed: Range<u32>,
    /// For each fix, its end before it is applied, and by how many bytes it moves the text after
    /// it. All ends are relative to the statement.
    moves: Vec<(u32, i64)>,
    /// Whether all fixes certainly keep the author's meaning.
    is_certain: bool,
}

impl FixedStatement {
    /// Applies fixes to the statement with the bytes `region` of `text`. `None` if two fixes
    /// overlap, or if a fix changes text outside the statement.
    fn apply(text: &str, region: &Range<usize>, fixes: &[Fix]) -> Option<FixedStatement> {
        let mut sorted: Vec<&Fix> = fixes.iter().collect();
        sorted.sort_by_key(|fix| (fix.span.start, fix.span.end));
        let (mut written, mut moves) = (String::with_capacity(region.len()), Vec::new());
        let mut copied = region.start;
        for fix in &sorted {
            let range = fix.span.range();
            if range.start < copied || range.end > region.end {
                return None;
            }
            let replacement = pad_replacement(text, range.clone(), &fix.replacement);
            written.push_str(&text[copied..range.start]);
            written.push_str(&replacement);
            moves.push(((range.end - region.start) as u32, replacement.len() as i64 - range.len() as i64));
            copied = range.end;
        }
        let first = sorted.first()?.span.range().start - region.start;
        let changed = first as u32..written.len() as u32;
        written.push_str(&text[copied..region.end]);
        let is_certain = fixes.iter().all(|fix| fix.applicability == Applicability::MachineApplicable);
        Some(FixedStatement { text: written, changed, moves, is_certain })
    }

    /// Returns the position after the fixes of the byte `offset` of the statement.
    fn offset_after_fixes(&self, offset: u32) -> i64 {
        let before = self.moves.iter().filter(|(end, _)| *end <= offset);
        i64::from(offset) + before.map(|(_, length)| length).sum::<i64>()
    }

    /// True for a position in the changed text. If a fix is not certain, also true for the position
    /// of the next token on the line: an error there shows that the fix is wrong.
    fn is_error_near_change(&self, offset: u32) -> bool {
        if self.is_certain {
            return (self.changed.start..self.changed.end.max(self.changed.start + 1)).contains(&offset);
        }
        let after = self.text[self.changed.end as usize..].trim_start_matches([' ', '\t']);
        let next = (self.text.len() - after.len()) as u32;
        (self.changed.start..=next).contains(&offset)
    }
}

/// True if the text with the fixes of `diagnostic` still has an error at the place that the fixes
/// change. `region` is the changed statement, as bytes of `text`. Errors before that place were
/// hidden by the reported error, and errors after it are other mistakes.
fn leads_to_error(text: &str, region: Range<usize>, diagnostic: &Diagnostic) -> bool {
    let Some(fixed) = FixedStatement::apply(text, &region, &diagnostic.fixes) else { return false };
    let near: Vec<(Code, u32)> =
        errors(&fixed.text).into_iter().filter(|(_, start)| fixed.is_error_near_change(*start)).collect();
    if near.is_empty() {
        return false;
    }
    let own = diagnostic.span().map(|span| span.start as usize);
    let is_own = |start: u32| Some(region.start + start as usize) == own;
    let before = errors(&text[region.clone()]);
    // The checker reports diagnostics of statements that have no syntax error.
    let is_reproduced =
        before.is_empty() || before.iter().any(|(code, start)| *code == diagnostic.code && is_own(*start));
    let is_old = |(code, start): &(Code, u32)| {
        let others = before.iter().filter(|(_, start)| !is_own(*start));
        others.into_iter().any(|(old, at)| old == code && fixed.offset_after_fixes(*at) == i64::from(*start))
    };
    is_reproduced && !near.iter().all(is_old)
}

/// Returns the code and the position of each error in a text, as a byte offset.
fn errors(text: &str) -> Vec<(Code, u32)> {
    let parsed = parse_with_unchecked_fixes(ThreadLimit::One, FileId(0), text);
    // A comment without any statement is correct as a part of a file.
    let is_relevant = |found: &&Diagnostic| found.is_error() && found.code != Code::EmptyFile;
    let errors = parsed.diagnostics.iter().filter(is_relevant);
    errors.filter_map(|found| Some((found.code, found.span()?.start))).collect()
}

#[cfg(test)]
mod tests {
    use super::remove_broken_fixes_in_file;
    use rulec_base::diag::{Code, Diagnostic, Message};
    use rulec_base::span::{FileId, Span};

    /// Returns the number of fixes and the help text that remain of a diagnostic at `found`, which
    /// proposes to write `replacement` there.
    fn kept(text: &str, found: &str, replacement: &str) -> (usize, String) {
        let start = text.find(found).expect("the text contains the place");
        let span = Span::new(FileId(0), start, start + found.len());
        let diagnostic = Diagnostic::new(Code::Unexpected, span, Message::verbatim("wrong"));
        let mut diagnostics = [diagnostic.did_you_mean(span, Some(replacement))];
        remove_broken_fixes_in_file(FileId(0), text, &mut diagnostics);
        let [diagnostic] = diagnostics;
        (diagnostic.fixes.len(), diagnostic.help.as_deref().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_fix_with_another_error_at_its_place_is_removed() {
        let (fixes, help) = kept("let a = if b then 1 else 2 end", "end", "and");
        assert_eq!(fixes, 0);
        assert!(help.starts_with("a definition is written `let NAME = VALUE`"), "{help}");
        // The next token is an error, too.
        assert_eq!(kept("payload p rank 1 {\n  include group g\n}", "group", "`group`").0, 0);
        assert_eq!(kept("table t {\n  route a when if b then c else d end -> h\n}", "end", "and").0, 0);
    }

    #[test]
    fn a_fix_stays_if_the_other_errors_are_elsewhere() {
        assert_eq!(kept("route a whn b -> h", "whn", "when"), (1, "did you mean `when`?".to_owned()));
        assert_eq!(kept("route a when b && c || d -> h", "||", "or").0, 1);
        assert_eq!(kept("route a whn b && c -> h", "whn", "when").0, 1);
        assert_eq!(kept("let a = b =\nroute a whn b -> h", "whn", "when").0, 1);
        assert_eq!(kept("table t {\n  route a whn b -> h\n}", "whn", "when").0, 1);
        // The checker's own errors are no syntax errors.
        assert_eq!(kept("route a when lenth(b) > 3 -> h", "lenth", "len").0, 1);
    }
}
