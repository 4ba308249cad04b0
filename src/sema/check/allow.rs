//! The `# rulec: allow` comments: what they silence, and that they silence something.

use crate::diag::{Code, Diagnostic};
use crate::loader::Loaded;
use crate::span::{FileId, Span};
use crate::syntax::ast::{self, StatementKind};

/// The `# rulec: allow` comments of all files, each with the statement it is about.
pub struct Allows {
    all: Vec<(ast::Allow, Span)>,
    /// The places of those before statements, and of those before statements inside a table, by the
    /// beginnings of their statements: of either kind none lies in another.
    outer: Vec<usize>,
    inner: Vec<usize>,
}

impl Allows {
    /// Collects them.
    pub fn of(loaded: &Loaded) -> Allows {
        let mut allows = Allows { all: Vec::new(), outer: Vec::new(), inner: Vec::new() };
        for outer in loaded.units.iter().flat_map(|unit| &unit.statements) {
            allows.outer.extend(keep(&mut allows.all, outer));
            if let StatementKind::Table { statements, .. } = &outer.kind {
                for inner in statements {
                    allows.inner.extend(keep(&mut allows.all, inner));
                }
            }
        }
        let Allows { all, outer, inner } = &mut allows;
        outer.sort_by_key(|at| start(all[*at].1));
        inner.sort_by_key(|at| start(all[*at].1));
        allows
    }

    /// Applies them: silences what they name, and warns of those that silence nothing.
    pub fn silence(&self, diagnostics: &mut Vec<Diagnostic>) {
        if self.all.is_empty() {
            return;
        }
        let mut used = vec![false; self.all.len()];
        diagnostics.retain(|diagnostic| {
            let place = diagnostic.span().filter(|_| !diagnostic.is_error());
            let silenced = place.and_then(|place| self.first(diagnostic.code, place));
            silenced.inspect(|at| used[*at] = true).is_none()
        });
        let unused = self.all.iter().zip(used).filter(|(_, used)| !used).map(|((allow, _), _)| {
            let message = match allow.code {
                Some(code) => format!("nothing here is reported as {code}"),
                None => "this names no warning".to_owned(),
            };
            let help = "remove the comment; it stands before the statement it is about: `# rulec: allow W0201 reason`";
            Diagnostic::new(Code::UnusedAllow, allow.span, message).help(help)
        });
        diagnostics.extend(unused);
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
