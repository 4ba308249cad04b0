//! Suppressions: `# rulec: allow` comments, which suppress warnings. A suppression that suppresses
//! no warning is itself reported.

use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_syntax::ast::{self, StatementKind};
use rulec_syntax::loader::Loaded;

/// The `# rulec: allow` comments of all files, each with the span of its statement.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    all: Vec<(ast::Allow, Span)>,
    /// Indexes of suppressions at top-level statements; `inner` has the suppressions inside a
    /// table. Both are sorted by the start of the statement. Statements in one list never contain
    /// each other.
    outer: Vec<usize>,
    inner: Vec<usize>,
    /// For each suppression, whether it suppressed a diagnostic.
    used: Vec<bool>,
    /// The suppressed warnings.
    silenced: Vec<Diagnostic>,
}

impl Suppressions {
    /// Collects the suppressions.
    pub fn new(loaded: &Loaded) -> Suppressions {
        let mut allows = Suppressions::default();
        for outer in loaded.units.iter().flat_map(|unit| &unit.statements) {
            allows.outer.extend(collect_allows(&mut allows.all, outer));
            if let StatementKind::Table { statements, .. } = &outer.kind {
                for inner in statements {
                    allows.inner.extend(collect_allows(&mut allows.all, inner));
                }
            }
        }
        let Suppressions { all, outer, inner, used, .. } = &mut allows;
        used.resize(all.len(), false);
        outer.sort_by_key(|at| start_of(all[*at].1));
        inner.sort_by_key(|at| start_of(all[*at].1));
        allows
    }

    /// Removes the suppressed diagnostics from the list and stores them.
    pub fn remove_suppressed(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let silenced = diagnostics.extract_if(.., |diagnostic| self.suppresses(diagnostic));
        let silenced: Vec<Diagnostic> = silenced.collect();
        self.silenced.extend(silenced);
    }

    /// Returns the suppressed warnings.
    pub fn suppressed(&self) -> &[Diagnostic] {
        &self.silenced
    }

    /// True if a suppression applies to the diagnostic; marks the suppression as used.
    pub fn suppresses(&mut self, diagnostic: &Diagnostic) -> bool {
        let place = diagnostic.span().filter(|_| !self.all.is_empty() && !diagnostic.is_error());
        let silenced = place.and_then(|place| self.first_covering(diagnostic.code, place));
        silenced.inspect(|at| self.used[*at] = true).is_some()
    }

    /// Returns warnings about unused suppressions. If `is_analysed`, only for codes that the rule
    /// analysis reports; otherwise only for the other codes.
    pub fn unused_suppressions(&self, is_analysed: bool) -> impl Iterator<Item = Diagnostic> {
        let unused = self.all.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(allow, _)| &allow.0);
        let unused = unused.filter(move |allow| allow.code.is_some_and(Code::is_analysed) == is_analysed);
        unused.map(|allow| {
            let message = match allow.code {
                Some(code) => message!("{code} is not reported here"),
                None => message!("this is not the code of a warning"),
            };
            let help = message!(
                "remove the comment; a comment like `# rulec: allow W0201 reason` must be \
                directly before the statement that has the warning"
            );
            Diagnostic::new(Code::UnusedAllow, allow.span, message).help(help)
        })
    }

    /// Returns the index of the first suppression of this code whose statement contains the span
    /// `place`.
    fn first_covering(&self, code: Code, place: Span) -> Option<usize> {
        let before = |list: &[usize]| {
            let end = list.partition_point(|at| start_of(self.all[*at].1) <= start_of(place));
            let (_, statement) = self.all[*list.get(end.checked_sub(1)?)?];
            let begin = list.partition_point(|at| start_of(self.all[*at].1) < start_of(statement));
            let mut of_statement = list[begin..end].iter().copied();
            of_statement.find(|at| self.all[*at].0.code == Some(code) && statement.contains(place))
        };
        before(&self.outer).into_iter().chain(before(&self.inner)).min()
    }
}

fn collect_allows(all: &mut Vec<(ast::Allow, Span)>, statement: &ast::Statement) -> std::ops::Range<usize> {
    let from = all.len();
    all.extend(statement.allows.iter().map(|allow| (allow.clone(), statement.span)));
    from..all.len()
}

fn start_of(span: Span) -> (FileId, u32) {
    (span.file, span.start)
}
