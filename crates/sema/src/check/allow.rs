//! The `# rulec: allow` comments: what they silence, and that they silence something.

use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_syntax::ast::{self, StatementKind};
use rulec_syntax::loader::Loaded;

/// The `# rulec: allow` comments of all files, each with the statement it is about.
#[derive(Clone, Debug, Default)]
pub struct Allows {
    all: Vec<(ast::Allow, Span)>,
    /// The places of those before statements, and of those before statements inside a table, by the
    /// beginnings of their statements: of either kind none lies in another.
    outer: Vec<usize>,
    inner: Vec<usize>,
    /// True for each that silenced something.
    used: Vec<bool>,
    /// The warnings of compiling that were left out.
    silenced: Vec<Diagnostic>,
}

impl Allows {
    /// Collects them.
    pub fn of(loaded: &Loaded) -> Allows {
        let mut allows = Allows::default();
        for outer in loaded.units.iter().flat_map(|unit| &unit.statements) {
            allows.outer.extend(keep(&mut allows.all, outer));
            if let StatementKind::Table { statements, .. } = &outer.kind {
                for inner in statements {
                    allows.inner.extend(keep(&mut allows.all, inner));
                }
            }
        }
        let Allows { all, outer, inner, used, .. } = &mut allows;
        used.resize(all.len(), false);
        outer.sort_by_key(|at| start(all[*at].1));
        inner.sort_by_key(|at| start(all[*at].1));
        allows
    }

    /// Leaves out what they silence, and keeps it.
    pub fn silence(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        let silenced = diagnostics.extract_if(.., |diagnostic| self.silences(diagnostic));
        let silenced: Vec<Diagnostic> = silenced.collect();
        self.silenced.extend(silenced);
    }

    /// The warnings of compiling that were left out.
    pub fn silenced(&self) -> &[Diagnostic] {
        &self.silenced
    }

    /// True when one of them silences a finding, which counts as its use.
    pub fn silences(&mut self, diagnostic: &Diagnostic) -> bool {
        let place = diagnostic.span().filter(|_| !self.all.is_empty() && !diagnostic.is_error());
        let silenced = place.and_then(|place| self.first(diagnostic.code, place));
        silenced.inspect(|at| self.used[*at] = true).is_some()
    }

    /// Warnings of those that silenced nothing: of the codes that an analysis finds when it `is_analysed`, else of
    /// the others.
    pub fn unused(&self, is_analysed: bool) -> impl Iterator<Item = Diagnostic> {
        let unused = self.all.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(allow, _)| &allow.0);
        let unused = unused.filter(move |allow| allow.code.is_some_and(Code::is_analysed) == is_analysed);
        unused.map(|allow| {
            let message = match allow.code {
                Some(code) => message!("nothing here is reported as {code}"),
                None => message!("this names no warning"),
            };
            let help = message!("remove the comment; it stands before the statement it is about: `# rulec: allow W0201 reason`");
            Diagnostic::new(Code::UnusedAllow, allow.span, message).help(help)
        })
    }

    /// The first of those that silence a code at a place.
    fn first(&self, code: Code, place: Span) -> Option<usize> {
        let before = |list: &[usize]| {
            let end = list.partition_point(|at| start(self.all[*at].1) <= start(place));
            let (_, statement) = self.all[*list.get(end.checked_sub(1)?)?];
            let begin = list.partition_point(|at| start(self.all[*at].1) < start(statement));
            let mut of_statement = list[begin..end].iter().copied();
            of_statement.find(|at| self.all[*at].0.code == Some(code) && statement.contains(place))
        };
        before(&self.outer).into_iter().chain(before(&self.inner)).min()
    }
}

fn keep(all: &mut Vec<(ast::Allow, Span)>, statement: &ast::Statement) -> std::ops::Range<usize> {
    let from = all.len();
    all.extend(statement.allows.iter().map(|allow| (allow.clone(), statement.span)));
    from..all.len()
}

fn start(span: Span) -> (FileId, u32) {
    (span.file, span.start)
}
