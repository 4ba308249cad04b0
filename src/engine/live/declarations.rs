//! The parsed declarations of a rule set: all statements except its routes and its input. An
//! inserted route is compiled alone, with only the declarations that it mentions directly or
//! indirectly. Compaction compiles several inserted routes together, with the declarations that
//! they mention. The *base* is the rule set as last compiled in full.

use super::route::{ParsedStatement, Route, refused_statement_error};
use super::segment::SequenceNumber;
use super::statement_ref::StatementHead;
use crate::engine::compile::{compile_rule_set, has_errors};
use crate::engine::{CompileError, Compiler, Rules};
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_base::{broken_invariant, message};
use rulec_eval::host::RegisteredFunction;
use rulec_lang::limits::Limit;
use rulec_sema::check::{KnownFields, RouteUses, check_route};
use rulec_sema::hir::{Extern, Outcome, Program, TableId};
use rulec_sema::resolve::collect_names;
use rulec_syntax::ast::{self, Expr, Statement, StatementKind, Target};
use rulec_syntax::loader::{LoadedFiles, ParsedFile};
use std::sync::Arc;

/// The parsed declarations of a rule set, with indexes that find the declarations that a single
/// route needs.
pub(super) struct RuleDeclarations {
    /// The parsed files of the rule set, without their statements, which were moved to
    /// `statements`.
    parsed_files: Vec<ParsedFile>,
    statements: Vec<RuleDeclaration>,
    /// Maps a name to the indexes of all statements that declare it. Several kinds of statement may
    /// declare one name.
    indexes_by_name: HashMap<String, Vec<u32>>,
    /// Indexes of the statements that every check of a route includes: types, settings, and the
    /// first handler declaration. The handler declaration matters even for routes that do not use
    /// the handler: after one handler is declared, routes may use declared handlers only.
    always_included_indexes: Vec<u32>,
}

struct RuleDeclaration {
    file_index: usize,
    statement: Statement,
    /// Indexes of the other declarations that this statement mentions.
    mentioned_indexes: Box<[u32]>,
}

impl RuleDeclarations {
    pub fn new(mut units: Vec<ParsedFile>) -> RuleDeclarations {
        let statements =
            units.iter_mut().map(|unit| std::mem::take(&mut unit.statements)).collect::<Vec<_>>();
        let (indexes_by_name, always_included) = (HashMap::new(), Vec::new());
        let mut declarations = RuleDeclarations {
            parsed_files: units,
            statements: Vec::new(),
            indexes_by_name,
            always_included_indexes: always_included,
        };
        for (unit, statements) in statements.into_iter().enumerate() {
            statements.into_iter().for_each(|statement| declarations.add_declaration(unit, statement));
        }
        for at in 0..declarations.statements.len() {
            let mut names = Vec::new();
            collect_declaration_names(&declarations.statements[at].statement, &mut names);
            declarations.statements[at].mentioned_indexes = declarations.indexes_of_names(&names).collect();
        }
        declarations
    }

    fn add_declaration(&mut self, unit: usize, mut statement: Statement) {
        let index = self.statements.len() as u32;
        let is_handler = |statement: &Statement| matches!(statement.kind, StatementKind::Handler { .. });
        if is_handler(&statement) && !self.statements.iter().any(|kept| is_handler(&kept.statement)) {
            self.always_included_indexes.push(index);
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
                // Leave out limits: they apply to the whole rule set and are taken from the base.
                entries.retain(|(name, _)| Limit::from_name(&name.node).is_none());
                self.always_included_indexes.push(index);
                None
            }
            StatementKind::Type { .. } | StatementKind::History(_) => {
                self.always_included_indexes.push(index);
                None
            }
            // These statements are not in `indexes_by_name`: a route that uses `request` depends on
            // all of them.
            StatementKind::Intent(_) | StatementKind::Entity(_) | StatementKind::Lexicon(_) => None,
            _ => return,
        };
        if let Some(name) = name {
            self.indexes_by_name.entry(name).or_default().push(index);
        }
        self.statements.push(RuleDeclaration {
            file_index: unit,
            statement,
            mentioned_indexes: Box::default(),
        });
    }

    fn indexes_of_names(&self, names: &[&str]) -> impl Iterator<Item = u32> {
        names.iter().filter_map(|name| self.indexes_by_name.get(*name)).flatten().copied()
    }

    /// Returns the indexes of the declarations that the routes mention, directly or through other
    /// declarations.
    fn needed_declaration_indexes<'r>(&self, routes: impl Iterator<Item = &'r ast::Route>) -> Vec<u32> {
        let mut names = Vec::new();
        routes.for_each(|route| collect_route_names(route, &mut names));
        if names.iter().any(|name| matches!(*name, "request" | "context_score")) {
            return (0..self.statements.len() as u32).collect();
        }
        let mut needed: Vec<u32> =
            self.always_included_indexes.iter().copied().chain(self.indexes_of_names(&names)).collect();
        let mut visited: HashSet<u32> = HashSet::with_capacity(needed.len());
        needed.retain(|index| visited.insert(*index));
        let mut position = 0;
        while let Some(next) = needed.get(position).and_then(|index| self.statements.get(*index as usize)) {
            needed.extend(next.mentioned_indexes.iter().filter(|index| visited.insert(**index)));
            position += 1;
        }
        needed
    }

    /// Returns the keyword and the name of the first declaration with the name `name`, whatever its
    /// keyword is. `None` if there is no such declaration.
    pub fn head_named(&self, name: &str) -> Option<StatementHead<'_>> {
        let index = self.indexes_by_name.get(name)?.first()?;
        Some(StatementHead::new(&self.statements[*index as usize].statement.kind))
    }

    /// Returns the index of the declaration of a table; `None` for the top level.
    fn table_declaration_index(&self, table: Option<&str>) -> Option<u32> {
        let is_table =
            |at: &u32| matches!(self.statements[*at as usize].statement.kind, StatementKind::Table { .. });
        self.indexes_by_name.get(table?)?.iter().copied().find(is_table)
    }

    /// Returns the index of the file that contains a table; for the top level, the main file.
    pub fn file_index_of_table(&self, table: Option<&str>) -> usize {
        match self.table_declaration_index(table) {
            Some(at) => self.statements[at as usize].file_index,
            None => self.parsed_files.len().saturating_sub(1),
        }
    }

    /// Checks the names and types of routes whose tables are in one file. `file` is the id of the
    /// text of the routes. `needed_indexes` has the indexes of the declarations that the routes
    /// mention, and `known_fields` describes the message fields that other routes use.
    ///
    /// Also returns the statement of the last route, because the check consumes the routes. So a
    /// caller with a single route needs no clone of its statement.
    fn check_routes(
        &self,
        routes: TableStatements<'_>,
        file: FileId,
        needed_indexes: &[u32],
        known_fields: KnownFields,
    ) -> (CheckedRoutes, Option<Statement>) {
        let Some((table, _)) = routes.last() else {
            broken_invariant!("there is a route to check");
            return Default::default();
        };
        let table_unit = self.file_index_of_table(*table);
        let empty_file = |file, imports| {
            let (statements, broken, incomplete, lists) = Default::default();
            ParsedFile {
                file,
                imports,
                statements,
                broken_names: broken,
                is_incomplete: incomplete,
                elements_by_list: lists,
            }
        };
        // One more unit (file) holds the routes.
        let mut units = Vec::with_capacity(self.parsed_files.len() + 1);
        units.extend(self.parsed_files.iter().map(|unit| empty_file(unit.file, unit.imports.clone())));
        let mut loaded = LoadedFiles { files: units, ..LoadedFiles::default() };
        let (table_indexes, statements) = self.build_statements(routes, needed_indexes, table_unit, file);
        for RuleDeclaration { file_index: unit, statement, .. } in needed_indexes
            .iter()
            .filter(|at| !table_indexes.contains(at))
            .map(|at| &self.statements[*at as usize])
        {
            let into = &mut loaded.files[*unit];
            into.statements.push(statement.clone());
            if let StatementKind::List { name, .. } = &statement.kind
                && let Some(elements) = self.parsed_files[*unit].elements_by_list.get(&name.node)
            {
                into.elements_by_list.insert(name.node.clone(), elements.clone());
            }
        }
        let imports = self.parsed_files.get(table_unit).map(|unit| unit.file).into_iter().collect();
        loaded.files.push(ParsedFile { statements, ..empty_file(file, imports) });
        let (program, diagnostics, uses) = check_route(&loaded, known_fields);
        let last_statement =
            loaded.files.pop().and_then(|mut unit| unit.statements.pop()).and_then(innermost_statement);
        (CheckedRoutes { program, diagnostics, field_uses: uses }, last_statement)
    }

    /// Returns the statements of a temporary source file, in which routes are checked.
    /// `needed_indexes` has the indexes of the declarations that the routes mention. The result
    /// has, in this order:
    /// - the settings of the file `table_file_index`, if they are in `needed_indexes`
    /// - the routes that are outside any table
    /// - for each table that has some of the routes, a `table` statement with these routes
    ///
    /// Also returns the indexes of the declarations of these tables.
    fn build_statements(
        &self,
        routes: TableStatements<'_>,
        needed_indexes: &[u32],
        table_file_index: usize,
        file: FileId,
    ) -> (Vec<u32>, Vec<Statement>) {
        let settings =
            needed_indexes.iter().filter_map(|index| self.settings_in_file(*index, table_file_index, file));
        let (mut table_indexes, mut tables) = (Vec::new(), Vec::<Statement>::new());
        let mut top_level = Vec::with_capacity(routes.len() + 1);
        top_level.extend(settings);
        for (table, route) in routes {
            let Some(table_index) = self.table_declaration_index(table) else {
                top_level.push(route);
                continue;
            };
            let position =
                table_indexes.iter().position(|known| *known == table_index).unwrap_or_else(|| {
                    table_indexes.push(table_index);
                    tables.push(self.statements[table_index as usize].statement.clone());
                    tables.len() - 1
                });
            if let StatementKind::Table { statements, .. } = &mut tables[position].kind {
                statements.push(route);
            }
        }
        top_level.extend(tables);
        (table_indexes, top_level)
    }

    /// Returns a copy of the `settings` statement with the index `at`, if it is in the file
    /// `table_unit`, which the routes to check belong to. The copy has only the settings that apply
    /// to this file, such as `case`. It gets the file id `file`, as if it were in the text of the
    /// routes. `None` for any other statement.
    fn settings_in_file(&self, at: u32, table_unit: usize, file: FileId) -> Option<Statement> {
        let RuleDeclaration { file_index: unit, statement, .. } = self.statements.get(at as usize)?;
        let StatementKind::Settings { entries } = &statement.kind else { return None };
        if *unit != table_unit {
            return None;
        }
        // These settings apply only to their file. All other settings apply to all files and are
        // checked elsewhere.
        let is_file_setting =
            |(name, _): &&(ast::Ident, Expr)| matches!(name.node.as_str(), "case" | "normalize" | "zone");
        let mut settings = Statement {
            kind: StatementKind::Settings {
                entries: entries.iter().filter(is_file_setting).cloned().collect(),
            },
            docs: String::new(),
            allows: Vec::new(),
            ..*statement
        };
        settings.span.file = file;
        Some(settings)
    }

    /// Returns the indexes of all declarations. If the check of a route fails, it is repeated with
    /// all declarations. The error messages of the repeated check can then suggest any declared
    /// name.
    fn all_declaration_indexes(&self) -> Vec<u32> {
        (0..self.statements.len() as u32).collect()
    }

    /// Checks several inserted routes of one file together, so that they can be compiled into one
    /// segment (a group of routes compiled together). `known_fields` describes the message fields
    /// that other routes use, because all routes must agree on the type of a field.
    pub fn check_inserted_routes(
        &self,
        base: &Rules,
        inserted_routes: &[(Arc<Route>, SequenceNumber)],
        known_fields: KnownFields,
    ) -> CheckedRoutes {
        let routes = || inserted_routes.iter().map(|(route, _)| route);
        let Some(file) = routes().next().map(|route| route.parsed.file) else {
            broken_invariant!("there is a route to check");
            return CheckedRoutes::default();
        };
        let statements = || {
            let statement = |route: &Arc<Route>| route.parsed.statement.clone();
            routes().map(|route| (table_name(base, route.table), statement(route))).collect()
        };
        let needed = self.needed_declaration_indexes(routes().filter_map(|route| route.parsed.route()));
        let (checked, _) = self.check_routes(statements(), file, &needed, known_fields.clone());
        if has_errors(&checked.diagnostics) {
            self.check_routes(statements(), file, &self.all_declaration_indexes(), known_fields).0
        } else {
            checked
        }
    }

    /// Compiles the single route `parsed` for a table (or for the top level). `known` describes the
    /// message fields that other routes use, because all routes must agree on the type of a field.
    pub fn compile_route(
        &self,
        compiler: &Compiler,
        base: &Rules,
        table: TableId,
        mut parsed: ParsedStatement,
        known_fields: KnownFields,
    ) -> Result<(Route, Rules), CompileError> {
        let ParsedStatement { ref text, file, .. } = parsed;
        let refuse = |diagnostics| Err(refused_statement_error(base.sources(), text, diagnostics));
        let check = |statement, needed: &[u32], known| {
            self.check_routes(vec![(table_name(base, table), statement)], file, needed, known)
        };
        // The check takes the statement and returns it, because a clone would be expensive.
        let needed = self.needed_declaration_indexes(parsed.route().into_iter());
        let (mut checked, mut statement) = check(parsed.statement, &needed, known_fields.clone());
        if has_errors(&checked.diagnostics)
            && let Some(lent) = statement
        {
            (checked, statement) = check(lent, &self.all_declaration_indexes(), known_fields);
        }
        let uses = Arc::new(std::mem::take(&mut checked.field_uses));
        let (rules, statement) = match (checked.compile(compiler, base), statement) {
            (Ok(rules), Some(statement)) if rules.program().rules.len() == 1 => (rules, statement),
            (Ok(_), _) => {
                broken_invariant!("one route is compiled to one rule");
                return refuse(Vec::new());
            }
            (Err(diagnostics), _) => return refuse(diagnostics),
        };
        parsed.statement = statement;
        let program = rules.program();
        let goto = match (&program.rules[0].outcome, parsed.route().map(|route| &route.target)) {
            (Outcome::Goto(inner), Some(Target::Goto { span, .. })) => {
                let Some(to) = base.program().table_named(&program.tables[inner.index()].name) else {
                    let message = message!("the table of the `goto` does not exist");
                    let errors = vec![Diagnostic::without_place(Code::UnknownTable, message)];
                    return Err(refused_statement_error(base.sources(), &parsed.text, errors));
                };
                Some((to, *span))
            }
            _ => None,
        };
        let name = program.rules[0].name.clone();
        Ok((Route { name, table, goto_target: goto, field_uses: uses, parsed }, rules))
    }
}

/// Statements that are checked together, each with the name of the table that contains it (`None`
/// for the top level).
type TableStatements<'t> = Vec<(Option<&'t str>, Statement)>;

/// Returns the last statement inside a `table` statement; `None` if the table is empty. Returns any
/// other statement unchanged. Used to take a route out of a table that was built only to check the
/// route.
fn innermost_statement(mut statement: Statement) -> Option<Statement> {
    match &mut statement.kind {
        StatementKind::Table { statements, .. } => statements.pop(),
        _ => Some(statement),
    }
}

/// Returns the name of the table with the id `table` in `base` (the rule set as last compiled in
/// full). `None` for the top-level routes.
pub(super) fn table_name(base: &Rules, table: TableId) -> Option<&str> {
    (table != TableId(0)).then(|| &*base.program().tables[table.index()].name)
}

/// The result of checking routes: the program, the diagnostics, and the undeclared message fields
/// that the routes read, with the kinds of value that they accept.
#[derive(Default)]
pub(super) struct CheckedRoutes {
    program: Program,
    diagnostics: Vec<Diagnostic>,
    field_uses: RouteUses,
}

impl CheckedRoutes {
    /// Compiles the checked routes into a rule set of their own. Decisions search it together with
    /// `base`, the rule set as last compiled in full.
    pub fn compile(self, compiler: &Compiler, base: &Rules) -> Result<Rules, Vec<Diagnostic>> {
        let CheckedRoutes { mut program, mut diagnostics, .. } = self;
        program.limits = base.program().limits;
        let link = |program: &Program, found: &mut Vec<Diagnostic>| {
            link_host_functions(compiler, base, program, found)
        };
        let set = compile_rule_set(ThreadLimit::One, program, None, &mut diagnostics, link);
        set.map(|set| compiler.wrap_rule_set(set)).ok_or(diagnostics)
    }
}

/// Returns the functions of the embedding program that the routes call. If the rules in `base` (the
/// rule set as last compiled in full) declare all of these functions, `base` provides them.
/// Otherwise they are linked, with a diagnostic for each function that is missing or has other
/// types.
fn link_host_functions(
    compiler: &Compiler,
    base: &Rules,
    program: &Program,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<RegisteredFunction> {
    let base_host = |wanted: &Extern| {
        let is_same = |other: &Extern| other.name == wanted.name && other.feature == wanted.feature;
        base.host_functions().get(base.program().externs.iter().position(is_same)?).cloned()
    };
    let base_hosts: Option<Vec<RegisteredFunction>> = program.externs.iter().map(base_host).collect();
    // These may be the first routes that use a function of the request analysis. Then link the
    // function now.
    base_hosts.unwrap_or_else(|| compiler.link_host_functions(program, diagnostics))
}

/// Collects all names that a route mentions: fields, lists, functions, tables and others.
fn collect_route_names<'s>(route: &'s ast::Route, names: &mut Vec<&'s str>) {
    collect_names(&route.condition, names);
    for (name, value) in &route.locals {
        // A local name is included too: it is an error if it hides a declaration, even if it is
        // unused.
        names.push(&name.node);
        collect_names(value, names);
    }
    match &route.target {
        Target::Goto { table, .. } => names.push(&table.node),
        Target::Handler { name, args, metadata, .. } => {
            names.push(&name.node);
            args.iter().chain(metadata).for_each(|(_, value)| collect_names(value, names));
        }
    }
}

/// Collects all names that a declaration mentions: fields, lists, functions and others.
fn collect_declaration_names<'s>(statement: &'s Statement, names: &mut Vec<&'s str>) {
    match &statement.kind {
        StatementKind::Let { value, .. } => collect_names(value, names),
        StatementKind::Def { body, .. } => collect_names(body, names),
        StatementKind::List { source: ast::ListSource::Elements(elements), .. } => {
            collect_names(elements, names)
        }
        StatementKind::Settings { entries } => {
            entries.iter().for_each(|(_, value)| collect_names(value, names));
        }
        _ => {}
    }
}
