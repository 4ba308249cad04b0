//! Everything of a rule set but its routes and its input, kept as parsed, so that a route can be compiled alone: it
//! is checked together with the declarations that it mentions, directly or by others.

use super::route::Route;
use crate::diag::{Code, Diagnostic};
use crate::engine::compile::{fails, lower};
use crate::engine::{CompileError, Compiler, Rules};
use crate::host::Host;
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

/// A parsed route that is to be compiled.
pub(super) struct Draft {
    /// The statement.
    pub statement: Statement,
    /// Its text.
    pub text: Arc<str>,
    /// The file that the statement's places are in.
    pub file: FileId,
}

impl Draft {
    /// The statement as a route.
    pub fn route(&self) -> Option<&ast::Route> {
        match &self.statement.kind {
            StatementKind::Route(route) => Some(route),
            _ => None,
        }
    }
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

    /// The declarations that a route needs.
    fn needed(&self, route: &ast::Route) -> Vec<u32> {
        let mut names = Vec::new();
        route_mentions(route, &mut names);
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

    /// Checks a route with declarations, which are put back afterwards.
    fn check(&mut self, draft: Draft, table: Option<&str>, needed: &[u32], known: Known) -> (Checked, Draft) {
        let (head, home) = self.place(table);
        let mut loaded = Loaded { units: std::mem::take(&mut self.units), ..Loaded::default() };
        let settings = needed.iter().find_map(|at| self.settings_for(*at, home, draft.file));
        for at in needed.iter().filter(|at| Some(**at) != head) {
            let kept = &mut self.statements[*at as usize];
            if let (Some(statement), Some(unit)) = (kept.statement.take(), loaded.units.get_mut(kept.unit)) {
                unit.statements.push(statement);
            }
        }
        let Draft { statement, text, file } = draft;
        let mut own: Vec<Statement> = settings.into_iter().collect();
        match head.and_then(|at| self.statements[at as usize].statement.take()) {
            Some(mut head) => {
                if let StatementKind::Table { statements, .. } = &mut head.kind {
                    statements.push(statement);
                }
                own.push(head);
            }
            None => own.push(statement),
        }
        let imports = loaded.units.get(home).map(|unit| unit.file).into_iter().collect();
        let (broken, lists) = (Vec::new(), std::collections::HashMap::new());
        loaded.units.push(Unit { file, imports, statements: own, broken, lists });

        let (program, diagnostics, uses) = check_route(&loaded, known);

        let mut own = loaded.units.pop().map(|unit| unit.statements).unwrap_or_default();
        let mut statement = own.pop();
        if let Some(head) = head {
            let inner = statement.as_mut().and_then(|head| match &mut head.kind {
                StatementKind::Table { statements, .. } => statements.pop(),
                _ => None,
            });
            self.statements[head as usize].statement = std::mem::replace(&mut statement, inner);
        }
        let mut taken: Vec<_> =
            loaded.units.iter_mut().map(|unit| std::mem::take(&mut unit.statements).into_iter()).collect();
        for at in needed.iter().filter(|at| Some(**at) != head) {
            let kept = &mut self.statements[*at as usize];
            kept.statement = taken.get_mut(kept.unit).and_then(Iterator::next);
        }
        self.units = loaded.units;
        // The statement that went in came out.
        let statement = statement.unwrap_or_else(|| empty(file));
        (Checked { program, diagnostics, uses }, Draft { statement, text, file })
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

    /// How a route of the base uses the fields of the message.
    pub fn uses(&mut self, base: &Rules, table: TableId, draft: Draft, known: Known) -> RouteUses {
        self.check_in(base, table, draft, known).0.uses
    }

    /// Checks a route that is to stand in a table, or outside any.
    fn check_in(&mut self, base: &Rules, table: TableId, draft: Draft, known: Known) -> (Checked, Draft) {
        let name = (table != TableId(0)).then(|| &*base.program().tables[table.index()].name);
        let needed = draft.route().map(|route| self.needed(route)).unwrap_or_default();
        let (checked, draft) = self.check(draft, name, &needed, known.clone());
        if !fails(&checked.diagnostics) {
            return (checked, draft);
        }
        // What was left out may be what the author meant.
        let all: Vec<u32> = (0..self.statements.len() as u32).collect();
        self.check(draft, name, &all, known)
    }

    /// Compiles a route alone, to stand in a table or outside any, given what is known of the fields of
    /// the message.
    ///
    /// # Errors
    /// What is wrong with the route.
    pub fn compile(
        &mut self,
        compiler: &Compiler,
        base: &Rules,
        table: TableId,
        draft: Draft,
        known: Known,
    ) -> Result<Route, CompileError> {
        let (checked, draft) = self.check_in(base, table, draft, known);
        let Checked { program, mut diagnostics, uses } = checked;
        let mut compiled = None;
        if !fails(&diagnostics) {
            let hosts = hosts(compiler, base, &program, &mut diagnostics);
            compiled = lower(&program, &mut diagnostics).map(|(normal, code)| (normal, code, hosts));
        }
        let fail = |mut diagnostics: Vec<Diagnostic>| {
            diagnostics.retain(Diagnostic::is_error);
            let sources = sources(base.sources(), &diagnostics, &draft.text);
            CompileError::new(diagnostics, sources)
        };
        let compiled = compiled.filter(|_| !fails(&diagnostics) && program.rules.len() == 1);
        let Some((normal, bytecode, hosts)) = compiled else {
            return Err(fail(diagnostics));
        };
        let goto = match program.rules.first().map(|rule| &rule.outcome) {
            Some(Outcome::Goto(inner)) => {
                let name = &program.tables[inner.index()].name;
                Some((base.program().table_named(name), draft.route().map(|route| &route.target)))
            }
            _ => None,
        };
        let goto = match goto {
            None => None,
            Some((Some(to), Some(Target::Goto { span, .. }))) => Some((to, *span)),
            Some(_) => {
                let message = "the jump leads nowhere";
                return Err(fail(vec![Diagnostic::without_place(Code::UnknownTable, message)]));
            }
        };
        Ok(Route::new(table, program, normal, bytecode, hosts, goto, uses, draft.text))
    }

    /// A mistake in a route that only shows when it is held against the others.
    pub fn refusal(base: &Rules, text: &str, diagnostic: Diagnostic) -> CompileError {
        let diagnostics = vec![diagnostic];
        let sources = sources(base.sources(), &diagnostics, text);
        CompileError::new(diagnostics, sources)
    }
}

/// What checking a route came to.
struct Checked {
    program: Program,
    diagnostics: Vec<Diagnostic>,
    uses: RouteUses,
}

/// What stands where a statement should; nothing is compiled from it.
fn empty(file: FileId) -> Statement {
    let span = crate::span::Span::new(file, 0, 0);
    Statement {
        kind: StatementKind::Settings { entries: Vec::new() },
        span,
        docs: String::new(),
        allows: Vec::new(),
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
