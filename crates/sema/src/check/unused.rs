//! Finds unused declarations of the main file for the analysis report: fields of `input` that no
//! rule reads, and imports whose definitions no rule uses. Only the checker knows both the source
//! text and the resolved names. Uncertain cases are not reported.

use super::Checker;
use super::fields::find_declared_field;
use super::names::OwnedPath;
use crate::hir::{Outcome, TableKind, UnusedDeclaration};
use hashbrown::HashSet;
use rulec_base::diag::Diagnostic;
use rulec_base::span::FileId;
use rulec_syntax::ast::{Statement, StatementKind as Kind};
use std::sync::Arc;

/// A set of field paths, such as the paths that a program reads, and all prefixes of these paths.
struct TouchedPaths<'p> {
    paths: HashSet<&'p [Arc<str>]>,
    prefixes: HashSet<&'p [Arc<str>]>,
}

impl<'p> TouchedPaths<'p> {
    fn from_paths(paths: Vec<&'p OwnedPath>) -> TouchedPaths<'p> {
        let prefixes = paths.iter().flat_map(|path| (0..=path.len()).map(|end| &path[..end])).collect();
        TouchedPaths { paths: paths.into_iter().map(|path| &path[..]).collect(), prefixes }
    }

    /// True if this path is a prefix of a path in the set, or a path in the set is a prefix of this
    /// path. The field at this path is then used, at least in part.
    fn overlaps_path(&self, path: &[Arc<str>]) -> bool {
        self.prefixes.contains(path) || (0..=path.len()).any(|end| self.paths.contains(&path[..end]))
    }
}

impl Checker<'_> {
    /// Collects the unused fields and imports. Runs after all rules are checked, so that all reads
    /// are known. Collects nothing after an error, or for a library (definitions without rules that
    /// decide).
    pub(super) fn collect_unused(&mut self) {
        let kinds = [TableKind::Routes, TableKind::Choice, TableKind::Router];
        let tables = &self.program.tables;
        let has_decisions =
            self.program.rules.iter().any(|rule| kinds.contains(&tables[rule.table.index()].kind));
        let has_default = self.program.tables.iter().any(|table| table.default.is_some());
        let only_imports =
            self.main_statements().iter().all(|statement| matches!(statement.kind, Kind::Import { .. }));
        if !(has_decisions || has_default || only_imports)
            || self.diagnostics.iter().any(Diagnostic::is_error)
        {
            return;
        }
        if has_decisions {
            self.program.unused_declarations = self.unused_fields();
        }
        self.collect_unused_imports();
    }

    /// Returns the outermost `input` fields of the main file that no rule reads, not even in part.
    /// Leaves out `@private` fields, which may be declared only so that logs mask them. Empty if
    /// there are payloads or workflows, because these may read fields that no rule mentions.
    fn unused_fields(&self) -> Vec<UnusedDeclaration> {
        let Some(input) = &self.fields.input else { return Vec::new() };
        let program = &self.program;
        if !program.payloads.is_empty() || !program.workflows.is_empty() {
            return Vec::new();
        }
        let main = self.main_file();
        let analyses_text =
            !program.flows.is_empty() || program.externs.iter().any(|host| host.feature.is_some());
        // Rules that read the history need the kept fields of messages, and the time `now`.
        let history_reads = program.history_slot().map(|_| program.history_reads().kept).unwrap_or_default();
        let now: OwnedPath = vec!["now".into()];
        let read_paths: Vec<&OwnedPath> = program
            .slots
            .iter()
            .filter(|slot| slot.root.is_none())
            .map(|slot| &slot.path)
            .chain(&history_reads)
            .chain(program.history_slot().map(|_| &now))
            .collect();
        let (read_paths, text): (_, OwnedPath) = (TouchedPaths::from_paths(read_paths), vec!["text".into()]);
        // A field may be declared only to mark it as private, so that logs mask it.
        let is_private = |path: &&OwnedPath| {
            find_declared_field(&input.ty, path).is_ok_and(|declaration| declaration.is_private)
        };
        let private = TouchedPaths::from_paths(input.field_spans.keys().filter(is_private).collect());
        let is_unused = |path: &OwnedPath| {
            !(read_paths.overlaps_path(path) || private.overlaps_path(path) || analyses_text && *path == text)
        };
        let mut field_spans: Vec<_> =
            input.field_spans.iter().filter(|(_, span)| Some(span.file) == main).collect();
        field_spans.sort_by_key(|(_, span)| span.start);
        let mut unused: Vec<(&OwnedPath, UnusedDeclaration)> = Vec::new();
        for (path, span) in field_spans {
            let in_unused_field = unused.last().is_some_and(|(outer, _)| path.starts_with(outer));
            if !in_unused_field && is_unused(path) {
                unused.push((path, UnusedDeclaration::Field(path.join(".").into(), *span)));
            }
        }
        unused.into_iter().map(|(_, unused)| unused).collect()
    }

    /// Returns the name of the first route of an imported file if the rules use nothing else of the
    /// file. The author probably imported the file for its routes, but routes are not imported.
    /// `None` if the file has no route, or if the rules use a definition of the file.
    fn route_of_unused_import(&self, file: FileId) -> Option<Arc<str>> {
        let main = self.loaded.files.last()?;
        let unit = self.loaded.files.iter().find(|unit| unit.file == file)?;
        let route = unit.statements.iter().find_map(|statement| match &statement.kind {
            Kind::Route(route) => Some(route.name.node.as_str().into()),
            _ => None,
        })?;
        let program = &self.program;
        let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
        let outcomes: Vec<_> = program.rules.iter().map(|rule| &rule.outcome).chain(defaults).collect();
        let leads_to = |name: &str| {
            outcomes.iter().any(
                |outcome| matches!(outcome, Outcome::Handler { name: handler, .. } if **handler == *name),
            )
        };
        let fields = |statement: &Statement| match &statement.kind {
            Kind::Input { fields } => fields.iter().map(|field| field.name.node.clone()).collect(),
            _ => Vec::new(),
        };
        let declared: HashSet<String> = main.statements.iter().flat_map(fields).collect();
        // Without an `input` of its own, the main file may need the `input` of the import.
        // A file without routes of its own expects the routes of the import.
        let has_routes = main.statements.iter().any(|statement| {
            !matches!(
                statement.kind,
                Kind::Import { .. }
                    | Kind::Default { .. }
                    | Kind::Input { .. }
                    | Kind::Settings { .. }
                    | Kind::Handler { .. }
                    | Kind::Test(_)
            )
        });
        let is_unused = |statement: &Statement| match &statement.kind {
            Kind::Handler { .. } | Kind::Input { .. } | Kind::Type { .. } if !has_routes => true,
            Kind::Route(_) | Kind::Default { .. } | Kind::Settings { .. } | Kind::Test(_) => true,
            Kind::Import { .. } => true,
            Kind::Input { .. } => fields(statement).iter().all(|field| declared.contains(field)),
            Kind::Let { name, .. } | Kind::Def { name, .. } | Kind::List { name, .. } => {
                !self.used_names.contains(name.node.as_str())
            }
            Kind::Handler { name, .. } => !leads_to(&name.node),
            _ => false,
        };
        let visible_files = self.symbols.visible_files(file);
        let mut units = self.loaded.files.iter().filter(|unit| visible_files.contains(&unit.file));
        units.all(|unit| unit.statements.iter().all(is_unused)).then_some(route)
    }

    /// Returns the name of the first route of an imported file that decides nothing without the
    /// rules that import it: it has no `default`, no test, no handler, and no `input` with
    /// definitions. The author probably imported its routes, too. `None` for other files.
    fn route_of_partial_import(&self, file: FileId) -> Option<Arc<str>> {
        let unit = self.loaded.files.iter().find(|unit| unit.file == file)?;
        let has_definitions = unit
            .statements
            .iter()
            .any(|statement| !matches!(statement.kind, Kind::Route(_) | Kind::Input { .. }));
        // A file with an `input` and definitions or handlers may be imported for these.
        let is_whole = |statement: &Statement| match statement.kind {
            Kind::Default { .. } | Kind::Test(_) | Kind::Handler { .. } => true,
            Kind::Input { .. } => has_definitions,
            _ => false,
        };
        if unit.statements.iter().any(is_whole) {
            return None;
        }
        unit.statements.iter().find_map(|statement| match &statement.kind {
            Kind::Route(route) => Some(route.name.node.as_str().into()),
            _ => None,
        })
    }

    /// Collects the unused imports. An import is unused if no rule uses a definition of the
    /// imported files, and the files contain only definitions, imports, settings and tests.
    fn collect_unused_imports(&mut self) {
        let Some(main) = self.loaded.files.last() else { return };
        let imports = main.statements.iter().filter_map(|statement| match &statement.kind {
            Kind::Import { path } => Some(path),
            _ => None,
        });
        for (path, file) in imports.zip(&main.imports) {
            let route = self.route_of_unused_import(*file).or_else(|| self.route_of_partial_import(*file));
            if let Some(route) = route {
                let unused = UnusedDeclaration::RoutesOfImport(path.node.as_str().into(), path.span, route);
                self.program.unused_declarations.push(unused);
                continue;
            }
            let visible_files = self.symbols.visible_files(*file);
            let units = || self.loaded.files.iter().filter(|unit| visible_files.contains(&unit.file));
            let only_defines = units().flat_map(|unit| &unit.statements).all(|statement| {
                matches!(
                    statement.kind,
                    Kind::Let { .. }
                        | Kind::Def { .. }
                        | Kind::List { .. }
                        | Kind::Import { .. }
                        | Kind::Settings { .. }
                        | Kind::Test(_)
                )
            });
            let mut definitions = self
                .symbols
                .definitions
                .iter()
                .filter(|symbol| visible_files.contains(&symbol.name.span.file));
            if only_defines && !definitions.any(|symbol| self.used_names.contains(symbol.name.node.as_str()))
            {
                self.program
                    .unused_declarations
                    .push(UnusedDeclaration::Import(path.node.as_str().into(), path.span));
            }
        }
    }
}
