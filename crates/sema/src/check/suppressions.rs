//! Suppressions: `# rulec: allow` comments, which suppress warnings. A suppression that suppresses
//! no warning is itself reported.

use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_syntax::ast::{self, StatementKind};
use rulec_syntax::loader::LoadedFiles;

/// The `# rulec: allow` comments of all files, each with the span of its statement.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    allow_comments: Vec<(ast::AllowComment, Span)>,
    /// Indexes of the `allow` comments at top-level statements, sorted by the start of the
    /// statement. None of these statements contains another one.
    top_level: Vec<usize>,
    /// Indexes of the `allow` comments at statements inside a table, sorted by the start of the
    /// statement. None of these statements contains another one.
    inside_table_indices: Vec<usize>,
    /// For each `allow` comment, whether it suppressed a diagnostic. A comment that suppressed none
    /// is reported.
    is_used: Vec<bool>,
    /// The warnings that the `allow` comments suppressed so far.
    suppressed: Vec<Diagnostic>,
}

impl Suppressions {
    /// Collects the `# rulec: allow` comments of all loaded files.
    pub fn new(loaded: &LoadedFiles) -> Suppressions {
        let mut allows = Suppressions::default();
        for outer in loaded.files.iter().flat_map(|unit| &unit.statements) {
            allows.top_level.extend(collect_allows(&mut allows.allow_comments, outer));
            if let StatementKind::Table { statements, .. } = &outer.kind {
                for inner in statements {
                    allows.inside_table_indices.extend(collect_allows(&mut allows.allow_comments, inner));
                }
            }
        }
        let Suppressions {
            allow_comments: all,
            top_level,
            inside_table_indices: inside_tables,
            is_used: used,
            ..
        } = &mut allows;
        used.resize(all.len(), false);
        top_level.sort_by_key(|index| start_of(all[*index].1));
        inside_tables.sort_by_key(|index| start_of(all[*index].1));
        allows
    }

    /// Removes the suppressed diagnostics from `diagnostics` and stores the removed ones.
    pub fn remove_suppressed(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let suppressed = diagnostics.extract_if(.., |diagnostic| self.suppresses(diagnostic));
        let suppressed: Vec<Diagnostic> = suppressed.collect();
        self.suppressed.extend(suppressed);
    }

    /// Returns the warnings that the `allow` comments suppressed.
    pub fn suppressed(&self) -> &[Diagnostic] {
        &self.suppressed
    }

    /// True if a `# rulec: allow` comment applies to the diagnostic. Also marks this comment as
    /// used.
    pub fn suppresses(&mut self, diagnostic: &Diagnostic) -> bool {
        let warning_span =
            diagnostic.span().filter(|_| !self.allow_comments.is_empty() && !diagnostic.is_error());
        let suppression = warning_span
            .and_then(|warning_span| self.first_suppression_containing(diagnostic.code, warning_span));
        suppression.inspect(|index| self.is_used[*index] = true).is_some()
    }

    /// Returns a warning for each `# rulec: allow` comment that suppressed nothing. Some codes are
    /// reported only by the rule analysis, a separate step after the check. If `is_analysed`,
    /// returns only the warnings for these codes, otherwise only the warnings for all other codes.
    pub fn unused_suppressions(&self, is_analysed: bool) -> impl Iterator<Item = Diagnostic> {
        let unused = self
            .allow_comments
            .iter()
            .zip(&self.is_used)
            .filter(|(_, used)| !**used)
            .map(|(allow, _)| &allow.0);
        let unused =
            unused.filter(move |allow| allow.code.is_some_and(Code::is_found_by_analysis) == is_analysed);
        unused.map(|allow| {
            let message = match allow.code {
                Some(code) => message!("{code} is not reported here"),
                None => message!("this is not the code of a warning"),
            };
            if let Some(code) = allow.first_code_in_comment.filter(|_| allow.code.is_none()) {
                let message = message!("the code of the warning follows `allow`, without quotes or brackets");
                let help =
                    message!("write `# rulec: allow {code} reason`, with your reason in place of `reason`");
                return Diagnostic::new(Code::UnusedAllow, allow.span, message).help(help);
            }
            let help = message!(
                "remove the comment; a comment like `# rulec: allow W0201 reason` must be \
                directly before the statement that has the warning"
            );
            Diagnostic::new(Code::UnusedAllow, allow.span, message).help(help)
        })
    }

    /// Returns the index of the first `allow` comment for this code whose statement contains
    /// `span`; `None` if there is none.
    fn first_suppression_containing(&self, code: Code, span: Span) -> Option<usize> {
        let covering_suppression = |list: &[usize]| {
            let end_index =
                list.partition_point(|index| start_of(self.allow_comments[*index].1) <= start_of(span));
            let (_, statement) = self.allow_comments[*list.get(end_index.checked_sub(1)?)?];
            let begin_index =
                list.partition_point(|index| start_of(self.allow_comments[*index].1) < start_of(statement));
            let mut candidates = list[begin_index..end_index].iter().copied();
            candidates
                .find(|index| self.allow_comments[*index].0.code == Some(code) && statement.contains(span))
        };
        covering_suppression(&self.top_level)
            .into_iter()
            .chain(covering_suppression(&self.inside_table_indices))
            .min()
    }
}

fn collect_allows(
    all: &mut Vec<(ast::AllowComment, Span)>,
    statement: &ast::Statement,
) -> std::ops::Range<usize> {
    let start = all.len();
    all.extend(statement.allows.iter().map(|allow| (allow.clone(), statement.span)));
    start..all.len()
}

fn start_of(span: Span) -> (FileId, u32) {
    (span.file, span.start)
}
