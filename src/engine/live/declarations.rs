//! Everything of a rule set but its routes and its input, kept as parsed, so that a route can be compiled alone: it
//! is checked together with the declarations that it mentions, directly or by others. Routes that were compiled alone
//! are compiled together in the same way.

use super::head::Head;
use super::route::{Draft, Route, refusal};
use crate::engine::compile::{fails, lower};
use crate::engine::{CompileError, Compiler, Rules};
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::parallel::Threads;
use rulec_base::span::FileId;
use rulec_eval::host::Host;
use rulec_lang::limits::Limit;
use rulec_sema::check::{Known, RouteUses, check_route};
use rulec_sema::hir::{Extern, Outcome, Program, TableId};
use rulec_sema::resolve::names_in;
use rulec_syntax::ast::{self, Expr, Statement, StatementKind, Target};
use rulec_syntax::loader::{Loaded, Unit};
use std::sync::Arc;

pub(super) struct Declarations {
    /// The files, without statements.
    units: Vec<Unit>,
    statements: Vec<Declaration>,
    /// The statements that declare a name, of whatever kind.
    by_name: HashMap<String, Vec<u32>>,
    /// Those that concern every route: types, settings, and one handler, since with one all have to be
    /// declared.
    always: Vec<u32>,
}

struct Declaration {
    unit: usize,
    statement: Statement,
    /// The declarations it mentions.
    needs: Box<[u32]>,
}

impl Declarations {
    pub fn new(mut units: Vec<Unit>) -> Declarations {
        let statements =
            units.iter_mut().map(|unit| std::mem::take(&mut unit.statements)).collect::<Vec<_>>();
        let (by_name, always) = (HashMap::new(), Vec::new());
        let mut this = Declarations { units, statements: Vec::new(), by_name, always };
        for (unit, statements) in statements.into_iter().enumerate() {
            statements.into_iter().for_each(|statement| this.keep(unit, statement));
        }
        for at in 0..this.statements.len() {
            let mut names = Vec::new();
            mentions(&this.statements[at].statement, &mut names);
            this.statements[at].needs = this.declaring(&names).collect();
        }
        this
    }

    fn keep(&mut self, unit: usize, mut statement: Statement) {
        let at = self.statements.len() as u32;
        let is_handler = |statement: &Statement| matches!(statement.kind, StatementKind::Handler { .. });
        if is_handler(&statement) && !self.statements.iter().any(|kept| is_handler(&kept.statement)) {
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
            StatementKind::Settings { entries } => {
                // The limits are those of the base.
                entries.retain(|(name, _)| Limit::named(&name.node).is_none());
                self.always.push(at);
                None
            }
            StatementKind::Type { .. } => {
                self.always.push(at);
                None
            }
            // What `request` gives depends on all of these together.
            StatementKind::Intent(_) | StatementKind::Entity(_) | StatementKind::Lexicon(_) => None,
            _ => return,
        };
        if let Some(name) = name {
            self.by_name.entry(name).or_default().push(at);
        }
        self.statements.push(Declaration { unit, statement, needs: Box::default() });
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

    /// A declaration of that name, of whatever kind.
    pub fn named(&self, name: &str) -> Option<Head<'_>> {
        let at = self.by_name.get(name)?.first()?;
        Some(Head::of(&self.statements[*at as usize].statement.kind))
    }

    /// The declaration of a table, when the route is to stand in one.
    fn head(&self, table: Option<&str>) -> Option<u32> {
        let is_table =
            |at: &u32| matches!(self.statements[*at as usize].statement.kind, StatementKind::Table { .. });
        self.by_name.get(table?)?.iter().copied().find(is_table)
    }

    /// The file that a table stands in, or the routes outside any.
    pub fn home(&self, table: Option<&str>) -> usize {
        match self.head(table) {
            Some(at) => self.statements[at as usize].unit,
            None => self.units.len().saturating_sub(1),
        }
    }

    /// Checks routes that stand in one file, of that number, with declarations. The statement of the last route is given
    /// back.
    fn check(
        &self,
        drafts: Drafts<'_>,
        file: FileId,
        needed: &[u32],
        known: Known,
    ) -> (Checked, Option<Statement>) {
        let Some((table, _)) = drafts.last() else { return Default::default() };
        let home = self.home(*table);
        let unit = |file, imports| {
            let (statements, broken, lists) = Default::default();
            Unit { file, imports, statements, broken, lists }
        };
        // The last is that of the routes.
        let mut units = Vec::with_capacity(self.units.len() + 1);
        units.extend(self.units.iter().map(|known| unit(known.file, known.imports.clone())));
        let mut loaded = Loaded { units, ..Loaded::default() };
        let (heads, statements) = self.statements_of(drafts, needed, home, file);
        for Declaration { unit, statement, .. } in
            needed.iter().filter(|at| !heads.contains(at)).map(|at| &self.statements[*at as usize])
        {
            let into = &mut loaded.units[*unit];
            into.statements.push(statement.clone());
            if let StatementKind::List { name, .. } = &statement.kind
                && let Some(elements) = self.units[*unit].lists.get(&name.node)
            {
                into.lists.insert(name.node.clone(), elements.clone());
            }
        }
        let imports = self.units.get(home).map(|unit| unit.file).into_iter().collect();
        loaded.units.push(Unit { statements, ..unit(file, imports) });
        let (program, diagnostics, uses) = check_route(&loaded, known);
        let last = loaded.units.pop().and_then(|mut unit| unit.statements.pop()).and_then(innermost);
        (Checked { program, diagnostics, uses }, last)
    }

    /// The statements of a file in which routes stand as they would in that of their tables, and the
    /// declarations of these tables.
    fn statements_of(
        &self,
        drafts: Drafts<'_>,
        needed: &[u32],
        home: usize,
        file: FileId,
    ) -> (Vec<u32>, Vec<Statement>) {
        let settings = needed.iter().find_map(|at| self.settings_for(*at, home, file));
        let (mut heads, mut tables) = (Vec::new(), Vec::<Statement>::new());
        let mut outside = Vec::with_capacity(drafts.len() + 1);
        outside.extend(settings);
        for (table, draft) in drafts {
            let Some(head) = self.head(table) else {
                outside.push(draft);
                continue;
            };
            let at = heads.iter().position(|known| *known == head).unwrap_or_else(|| {
                heads.push(head);
                tables.push(self.statements[head as usize].statement.clone());
                tables.len() - 1
            });
            if let StatementKind::Table { statements, .. } = &mut tables[at].kind {
                statements.push(draft);
            }
        }
        outside.extend(tables);
        (heads, outside)
    }

    /// The settings of the file that a route is to stand in, for the file that its text is.
    fn settings_for(&self, at: u32, home: usize, file: FileId) -> Option<Statement> {
        let Declaration { unit, statement, .. } = self.statements.get(at as usize)?;
        let StatementKind::Settings { entries } = &statement.kind else { return None };
        if *unit != home {
            return None;
        }
        // Those of the analysis hold for all files.
        let own =
            |(name, _): &&(ast::Ident, Expr)| matches!(name.node.as_str(), "case" | "normalize" | "zone");
        let mut settings = Statement {
            kind: StatementKind::Settings { entries: entries.iter().filter(own).cloned().collect() },
            docs: String::new(),
            allows: Vec::new(),
            ..*statement
        };
        settings.span.file = file;
        Some(settings)
    }

    /// Every declaration: what a route does not need may be what its author meant.
    fn all(&self) -> Vec<u32> {
        (0..self.statements.len() as u32).collect()
    }

    /// Checks routes that came later, to be compiled together. They stand in tables of one file, or outside any.
    pub fn check_all(&self, base: &Rules, routes: &[(Arc<Route>, u64)], known: Known) -> Checked {
        let Some(file) = routes.first().map(|(route, _)| route.draft.file) else { return Checked::default() };
        let drafts = || {
            let placed =
                |(route, _): &(Arc<Route>, u64)| (name_in(base, route.table), route.draft.statement.clone());
            routes.iter().map(placed).collect()
        };
        let needed = self.needed(routes.iter().filter_map(|(route, _)| route.draft.route()));
        let (checked, _) = self.check(drafts(), file, &needed, known.clone());
        if fails(&checked.diagnostics) { self.check(drafts(), file, &self.all(), known).0 } else { checked }
    }

    /// Compiles a route alone, to stand in a table or outside any, given what is known of the fields of
    /// the message.
    pub fn compile(
        &self,
        compiler: &Compiler,
        base: &Rules,
        table: TableId,
        mut draft: Draft,
        known: Known,
    ) -> Result<(Route, Rules), CompileError> {
        let Draft { ref text, file, .. } = draft;
        let refused = |diagnostics| Err(refusal(base.sources(), text, diagnostics));
        let check = |statement, needed: &[u32], known| {
            self.check(vec![(name_in(base, table), statement)], file, needed, known)
        };
        // The statement is lent, since a copy would cost as much as all its names and values.
        let needed = self.needed(draft.route().into_iter());
        let (mut checked, mut statement) = check(draft.statement, &needed, known.clone());
        if fails(&checked.diagnostics)
            && let Some(lent) = statement
        {
            (checked, statement) = check(lent, &self.all(), known);
        }
        let uses = Arc::new(std::mem::take(&mut checked.uses));
        let (rules, statement) = match (checked.finish(compiler, base), statement) {
            (Ok(rules), Some(statement)) if rules.program().rules.len() == 1 => (rules, statement),
            (Ok(_), _) => return refused(Vec::new()),
            (Err(diagnostics), _) => return refused(diagnostics),
        };
        draft.statement = statement;
        let program = rules.program();
        let goto = match (&program.rules[0].outcome, draft.route().map(|route| &route.target)) {
            (Outcome::Goto(inner), Some(Target::Goto { span, .. })) => {
                let Some(to) = base.program().table_named(&program.tables[inner.index()].name) else {
                    let message = message!("the jump leads nowhere");
                    let found = vec![Diagnostic::without_place(Code::UnknownTable, message)];
                    return Err(refusal(base.sources(), &draft.text, found));
                };
                Some((to, *span))
            }
            _ => None,
        };
        let name = program.rules[0].name.clone();
        Ok((Route { name, table, goto, uses, draft }, rules))
    }
}

/// Routes to be checked together, each with the name of its table.
type Drafts<'d> = Vec<(Option<&'d str>, Statement)>;

/// The last statement of a table, or the one that is given if it is none.
fn innermost(mut statement: Statement) -> Option<Statement> {
    match &mut statement.kind {
        StatementKind::Table { statements, .. } => statements.pop(),
        _ => Some(statement),
    }
}

/// The name of a table; the routes outside any stand in none.
pub(super) fn name_in(base: &Rules, table: TableId) -> Option<&str> {
    (table != TableId(0)).then(|| &*base.program().tables[table.index()].name)
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
    pub fn finish(self, compiler: &Compiler, base: &Rules) -> Result<Rules, Vec<Diagnostic>> {
        let Checked { mut program, mut diagnostics, .. } = self;
        program.limits = base.program().limits;
        let link = |program: &Program, found: &mut Vec<Diagnostic>| hosts(compiler, base, program, found);
        let set = lower(Threads::One, program, None, &mut diagnostics, link);
        set.map(|set| compiler.rules(set)).ok_or(diagnostics)
    }
}

/// The functions that a route calls: those of the rules it joins.
fn hosts(
    compiler: &Compiler,
    base: &Rules,
    program: &Program,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Host> {
    let known = |wanted: &Extern| {
        let is_wanted = |other: &Extern| other.name == wanted.name && other.feature == wanted.feature;
        base.hosts().get(base.program().externs.iter().position(is_wanted)?).cloned()
    };
    let found: Option<Vec<Host>> = program.externs.iter().map(known).collect();
    // An analysis that no rule has asked for so far is made now.
    found.unwrap_or_else(|| compiler.link(program, diagnostics))
}

/// The names that a route mentions, of whatever kind.
fn route_mentions<'s>(route: &'s ast::Route, names: &mut Vec<&'s str>) {
    names_in(&route.condition, names);
    for (name, value) in &route.locals {
        // A name that hides a declaration is an error, used or not.
        names.push(&name.node);
        names_in(value, names);
    }
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
