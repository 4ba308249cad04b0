//! Everything of a rule set but its routes and its input, kept as parsed, so that a route can be compiled alone: it
//! is checked together with the declarations that it mentions, directly or by others. Routes that were compiled alone
//! are compiled together in the same way.

use super::route::{Draft, Route};
use crate::diag::{Code, Diagnostic};
use crate::engine::compile::{Parts, fails, lower};
use crate::engine::{CompileError, Compiler, Rules};
use crate::host::Host;
use crate::index::{self, Index};
use crate::loader::{Loaded, Unit};
use crate::sema::check::{Known, RouteUses, check_route};
use crate::sema::hir::{Outcome, Program, TableId};
use crate::sema::resolve::names_in;
use crate::source::SourceMap;
use crate::span::FileId;
use crate::syntax::ast::{self, Expr, Statement, StatementKind, Target};
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// A rule set's declarations.
pub(super) struct Declarations {
    /// The files, without statements.
    units: Vec<Unit>,
    statements: Vec<Kept>,
    /// The statements that declare a name, of whatever kind.
    by_name: HashMap<String, Vec<u32>>,
    /// Those that concern every route: types, settings, and one handler, since with one all have to be
    /// declared.
    always: Vec<u32>,
}

/// A declaration.
struct Kept {
    unit: usize,
    /// Taken out while a route is checked with it.
    statement: Option<Statement>,
    /// The declarations it mentions.
    needs: Box<[u32]>,
}

impl Declarations {
    /// The declarations of files.
    pub fn new(units: Vec<Unit>) -> Declarations {
        let mut this = Declarations {
            units: Vec::new(),
            statements: Vec::new(),
            by_name: HashMap::new(),
            always: Vec::new(),
        };
        for (at, mut unit) in units.into_iter().enumerate() {
            for statement in std::mem::take(&mut unit.statements) {
                this.keep(at, statement);
            }
            this.units.push(unit);
        }
        for at in 0..this.statements.len() {
            let mut names = Vec::new();
            this.statements[at].statement.iter().for_each(|statement| mentions(statement, &mut names));
            this.statements[at].needs = this.declaring(&names).collect();
        }
        this
    }

    fn keep(&mut self, unit: usize, mut statement: Statement) {
        let at = self.statements.len() as u32;
        let is_handler = |kept: &Kept| {
            matches!(kept.statement, Some(Statement { kind: StatementKind::Handler { .. }, .. }))
        };
        if matches!(statement.kind, StatementKind::Handler { .. }) && !self.statements.iter().any(is_handler)
        {
            self.always.push(at);
        }
        let name = match &mut statement.kind {
            StatementKind::Let { name, .. }
            | StatementKind::Def { name, .. }
            | StatementKind::List { name, .. }
            | StatementKind::Extern { name, .. }
            | StatementKind::Handler { name, .. } => Some(name.node.clone()),
            StatementKind::Table { name, statements } => {
                statements.clear();
                Some(name.node.clone())
            }
            StatementKind::Settings { .. } | StatementKind::Type { .. } => {
                self.always.push(at);
                None
            }
            // What `request` gives depends on all of these together; see `Mentions::of`.
            StatementKind::Intent(_) | StatementKind::Entity(_) | StatementKind::Lexicon(_) => None,
            _ => return,
        };
        if let Some(name) = name {
            self.by_name.entry(name).or_default().push(at);
        }
        self.statements.push(Kept { unit, statement: Some(statement), needs: Box::default() });
    }

    fn declaring(&self, names: &[&str]) -> impl Iterator<Item = u32> {
        names.iter().filter_map(|name| self.by_name.get(*name)).flatten().copied()
    }

    /// The declarations that routes need.
    fn needed<'r>(&self, routes: impl Iterator<Item = &'r ast::Route>) -> Vec<u32> {
        let mut names = Vec::new();
        routes.for_each(|route| route_mentions(route, &mut names));
        if names.iter().any(|name| matches!(*name, "request" | "context_score")) {
            return (0..self.statements.len() as u32).collect();
        }
        let mut found: Vec<u32> = self.always.iter().copied().chain(self.declaring(&names)).collect();
        let mut seen: HashSet<u32> = HashSet::with_capacity(found.len());
        found.retain(|at| seen.insert(*at));
        let mut at = 0;
        while let Some(next) = found.get(at).and_then(|at| self.statements.get(*at as usize)) {
            found.extend(next.needs.iter().filter(|at| seen.insert(**at)));
            at += 1;
        }
        found
    }

    /// The declaration of a table, when the route is to stand in one, and the file it stands in.
    fn place(&self, table: Option<&str>) -> (Option<u32>, usize) {
        let named = table.and_then(|name| self.by_name.get(name));
        let is_table = |at: &&u32| {
            let kept = &self.statements[**at as usize].statement;
            matches!(kept, Some(Statement { kind: StatementKind::Table { .. }, .. }))
        };
        match named.and_then(|all| all.iter().find(is_table)) {
            Some(at) => (Some(*at), self.statements[*at as usize].unit),
            None => (None, self.units.len().saturating_sub(1)),
        }
    }

    /// The file that a table stands in, or the routes outside any.
    pub fn home(&self, table: Option<&str>) -> usize {
        self.place(table).1
    }

    /// Checks routes that stand in one file with declarations, which are put back afterwards.
    fn check(&mut self, drafts: &Drafts<'_>, needed: &[u32], known: Known) -> Checked {
        let Some((table, Draft { file, .. })) = drafts.first() else { return Checked::default() };
        let home = self.home(*table);
        let own = self.statements_of(drafts, needed, home, *file);
        let is_head = |at: &&u32| drafts.iter().any(|(table, _)| self.place(*table).0 == Some(**at));
        let needed: Vec<u32> = needed.iter().filter(|at| !is_head(at)).copied().collect();
        let mut loaded = Loaded { units: std::mem::take(&mut self.units), ..Loaded::default() };
        for at in &needed {
            let kept = &mut self.statements[*at as usize];
            if let (Some(statement), Some(unit)) = (kept.statement.take(), loaded.units.get_mut(kept.unit)) {
                unit.statements.push(statement);
            }
        }
        let imports = loaded.units.get(home).map(|unit| unit.file).into_iter().collect();
        let (broken, lists) = (Vec::new(), std::collections::HashMap::new());
        loaded.units.push(Unit { file: *file, imports, statements: own, broken, lists });

        let (program, diagnostics, uses) = check_route(&loaded, known);

        loaded.units.pop();
        let mut taken: Vec<_> =
            loaded.units.iter_mut().map(|unit| std::mem::take(&mut unit.statements).into_iter()).collect();
        for at in &needed {
            let kept = &mut self.statements[*at as usize];
            kept.statement = taken.get_mut(kept.unit).and_then(Iterator::next);
        }
        self.units = loaded.units;
        Checked { program, diagnostics, uses }
    }

    /// The statements of a file in which routes stand as they would in that of their tables.
    fn statements_of(
        &self,
        drafts: &Drafts<'_>,
        needed: &[u32],
        home: usize,
        file: FileId,
    ) -> Vec<Statement> {
        let settings = needed.iter().find_map(|at| self.settings_for(*at, home, file));
        let mut own: Vec<Statement> = settings.into_iter().collect();
        let mut tables: Vec<(u32, usize)> = Vec::new();
        for (table, draft) in drafts {
            let head = self.place(*table).0;
            let known = tables.iter().find(|(known, _)| Some(*known) == head).map(|(_, at)| *at);
            let kept = head.and_then(|at| self.statements[at as usize].statement.as_ref());
            let inside = match (known, head.zip(kept)) {
                (Some(at), _) => own.get_mut(at),
                (None, Some((head, kept))) => {
                    tables.push((head, own.len()));
                    own.push(kept.clone());
                    own.last_mut()
                }
                (None, None) => None,
            };
            match inside.map(|table| &mut table.kind) {
                Some(StatementKind::Table { statements, .. }) => statements.push(draft.statement.clone()),
                _ => own.push(draft.statement.clone()),
            }
        }
        own
    }

    /// The settings of the file that a route is to stand in, for the file that its text is.
    fn settings_for(&self, at: u32, home: usize, file: FileId) -> Option<Statement> {
        let kept = self.statements.get(at as usize).filter(|kept| kept.unit == home)?;
        let statement = kept.statement.as_ref()?;
        let StatementKind::Settings { entries } = &statement.kind else { return None };
        // Those of the analysis hold for all files.
        let own = |(name, _): &&(ast::Ident, Expr)| matches!(name.node.as_str(), "case" | "normalize");
        let mut settings = Statement {
            kind: StatementKind::Settings { entries: entries.iter().filter(own).cloned().collect() },
            docs: String::new(),
            allows: Vec::new(),
            ..*statement
        };
        settings.span.file = file;
        Some(settings)
    }

    /// The uses a route of the base makes of the fields of the message.
    pub fn uses(&mut self, base: &Rules, table: TableId, draft: &Draft, known: Known) -> RouteUses {
        self.check_in(&[(name_in(base, table), draft)], known).uses
    }

    /// Checks routes that are to stand in tables of one file, or outside any.
    fn check_in(&mut self, drafts: &Drafts<'_>, known: Known) -> Checked {
        let needed = self.needed(drafts.iter().filter_map(|(_, draft)| draft.route()));
        let checked = self.check(drafts, &needed, known.clone());
        if !fails(&checked.diagnostics) {
            return checked;
        }
        // What was left out may be what the author meant.
        let all: Vec<u32> = (0..self.statements.len() as u32).collect();
        self.check(drafts, &all, known)
    }

    /// Checks routes that came later, to be compiled together.
    pub fn check_all(&mut self, base: &Rules, routes: &[(Arc<Route>, u64)], known: Known) -> Checked {
        let drafts = routes.iter().map(|(route, _)| (name_in(base, route.table), &route.draft));
        let drafts: Vec<_> = drafts.collect();
        self.check_in(&drafts, known)
    }

    /// Compiles a route alone, to stand in a table or outside any, given what is known of the fields of
    /// the message.
    ///
    /// # Errors
    /// The errors of the route.
    pub fn compile(
        &mut self,
        compiler: &Compiler,
        base: &Rules,
        table: TableId,
        draft: Draft,
        known: Known,
    ) -> Result<(Route, Rules), CompileError> {
        let mut checked = self.check_in(&[(name_in(base, table), &draft)], known);
        let uses = std::mem::take(&mut checked.uses);
        let refused = |diagnostics| Err(refusal(base, &draft.text, diagnostics));
        let rules = match checked.finish(compiler, base) {
            Ok(rules) if rules.program().rules.len() == 1 => rules,
            Ok(_) => return refused(Vec::new()),
            Err(diagnostics) => return refused(diagnostics),
        };
        let program = rules.program();
        let goto = match &program.rules[0].outcome {
            Outcome::Goto(inner) => {
                let to = base.program().table_named(&program.tables[inner.index()].name);
                match (to, draft.route().map(|route| &route.target)) {
                    (Some(to), Some(Target::Goto { span, .. })) => Some((to, *span)),
                    _ => {
                        let message = "the jump leads nowhere";
                        let nowhere = Diagnostic::without_place(Code::UnknownTable, message);
                        return refused(vec![nowhere]);
                    }
                }
            }
            _ => None,
        };
        let name = program.rules[0].name.clone();
        Ok((Route { name, table, goto, uses, draft }, rules))
    }
}

/// Routes to be checked together, each with the name of its table.
type Drafts<'d> = [(Option<&'d str>, &'d Draft)];

/// The name of a table; the routes outside any stand in none.
pub(super) fn name_in(base: &Rules, table: TableId) -> Option<&str> {
    (table != TableId(0)).then(|| &*base.program().tables[table.index()].name)
}

/// The refusal of a route for its errors.
pub(super) fn refusal(base: &Rules, text: &str, mut diagnostics: Vec<Diagnostic>) -> CompileError {
    diagnostics.retain(Diagnostic::is_error);
    let sources = sources(base.sources(), &diagnostics, text);
    CompileError::new(diagnostics, sources)
}

/// The result of checking routes.
#[derive(Default)]
pub(super) struct Checked {
    program: Program,
    diagnostics: Vec<Diagnostic>,
    uses: RouteUses,
}

impl Checked {
    /// Compiles what was checked, to be decided by beside a base.
    ///
    /// # Errors
    /// Its errors.
    pub fn finish(self, compiler: &Compiler, base: &Rules) -> Result<Rules, Vec<Diagnostic>> {
        let Checked { program, mut diagnostics, .. } = self;
        let mut compiled = None;
        if !fails(&diagnostics) {
            let hosts = hosts(compiler, base, &program, &mut diagnostics);
            compiled = lower(&program, &mut diagnostics).map(|(normal, code)| (normal, code, hosts));
        }
        match compiled.filter(|_| !fails(&diagnostics)) {
            Some((normal, bytecode, hosts)) => {
                let index = Index::is_worthwhile(&normal).then(|| index::build(&normal, bytecode.chunk()));
                Ok(compiler.assemble(Parts {
                    program,
                    sources: SourceMap::new(),
                    warnings: Vec::new(),
                    bytecode,
                    hosts,
                    index,
                    machine_code: false,
                }))
            }
            None => Err(diagnostics),
        }
    }
}

/// The functions that a route calls: those of the rules it joins.
fn hosts(
    compiler: &Compiler,
    base: &Rules,
    program: &Program,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Host> {
    let known = |wanted: &crate::sema::hir::Extern| {
        let declared = base.program().externs.iter();
        let at = declared
            .clone()
            .position(|other| other.name == wanted.name && other.feature == wanted.feature)?;
        base.hosts().get(at).cloned()
    };
    let found: Option<Vec<Host>> = program.externs.iter().map(known).collect();
    // An analysis that no rule has asked for so far is made now.
    found.unwrap_or_else(|| compiler.link(program, diagnostics))
}

/// The texts that diagnostics point into, the route's own last; the others are left empty.
fn sources(base: &SourceMap, diagnostics: &[Diagnostic], text: &str) -> SourceMap {
    let shown = |file: FileId| {
        diagnostics.iter().any(|found| {
            found.labels.iter().any(|label| label.span.file == file)
                || found.fixes.iter().any(|fix| fix.span.file == file)
        })
    };
    let mut sources = SourceMap::new();
    for (id, file) in base.iter() {
        sources.add(file.name.as_str(), if shown(id) { file.text.as_str() } else { "" });
    }
    sources.add("<route>", text);
    sources
}

/// The names that a route mentions, of whatever kind.
fn route_mentions<'s>(route: &'s ast::Route, names: &mut Vec<&'s str>) {
    names_in(&route.condition, names);
    match &route.target {
        Target::Goto { table, .. } => names.push(&table.node),
        Target::Handler { name, args, metadata, .. } => {
            names.push(&name.node);
            args.iter().chain(metadata).for_each(|(_, value)| names_in(value, names));
        }
    }
}

/// The names that a declaration mentions.
fn mentions<'s>(statement: &'s Statement, names: &mut Vec<&'s str>) {
    match &statement.kind {
        StatementKind::Let { value, .. } => names_in(value, names),
        StatementKind::Def { body, .. } => names_in(body, names),
        StatementKind::List { source: ast::ListSource::Elements(elements), .. } => names_in(elements, names),
        StatementKind::Settings { entries } => {
            entries.iter().for_each(|(_, value)| names_in(value, names));
        }
        _ => {}
    }
}
