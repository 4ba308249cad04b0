//! The base of live rules: the rules as last compiled in full, with the data that edits need.

use super::declarations::Declarations;
use super::segment::Segment;
use super::source_edits::{EditPoints, RecordingLoader, StoredFiles};
use crate::engine::{CompileError, Compiler, Rules};
use hashbrown::HashMap;
use rulec_base::diag::Code;
use rulec_base::parallel::Threads;
use rulec_base::text;
use rulec_sema::check::{CountedFields, Suppressions, UsesByRoute, check_counting};
use rulec_sema::hir::{RuleId, TableId, TableKind};
use rulec_syntax::ast::StatementKind;
use rulec_syntax::loader::{Loaded, Loader};
use std::sync::Arc;

/// The rules of live rules as last compiled in full, with the data that edits need.
pub(super) struct Base {
    pub rules: Rules,
    pub segment: Arc<Segment>,
    /// For each table, maps the name of each route to the id of the route. Routes that are disabled
    /// in the rules are included.
    pub names: Vec<HashMap<Arc<str>, RuleId>>,
    pub edit_points: EditPoints,
    pub declarations: Declarations,
    /// For each route of the last full compilation, the undeclared message fields that it reads,
    /// with the kinds of value that it accepts in them. Empty if the rules declare `input`.
    pub uses: UsesByRoute,
    pub files: StoredFiles,
}

impl Base {
    /// Wraps compiled rules for live rules that refuse all edits.
    pub fn uneditable(rules: Rules) -> Base {
        let declarations = Declarations::new(Vec::new());
        Base::new(rules, EditPoints::default(), declarations, UsesByRoute::default(), StoredFiles::default())
    }

    fn new(
        rules: Rules,
        edit_points: EditPoints,
        declarations: Declarations,
        uses: UsesByRoute,
        files: StoredFiles,
    ) -> Base {
        let program = rules.program();
        let mut names: Vec<HashMap<Arc<str>, RuleId>> = vec![HashMap::new(); program.tables.len()];
        for (at, rule) in program.rules.iter().enumerate() {
            if program.tables[rule.table.index()].kind == TableKind::Routes {
                names[rule.table.index()].insert(rule.name.clone(), RuleId(at as u32));
            }
        }
        let segment = Arc::new(Segment::from_base(rules.clone()));
        Base { segment, rules, names, edit_points, declarations, uses, files }
    }

    pub fn route_named(&self, table: TableId, name: &str) -> Option<RuleId> {
        self.names.get(table.index())?.get(name).copied()
    }
}

/// Compiles the rules of a main file for live rules. Also returns the declared input or, without a
/// declaration, how often routes use each message field.
///
/// Checks only those `test` blocks for whose names `is_selected_test` is true. The caller selects
/// the tests that the current edits add or replace. Older tests may expect decisions from before
/// the edits.
pub(super) fn compile_base(
    compiler: &Compiler,
    loader: &dyn Loader,
    files: &StoredFiles,
    is_selected_test: impl Fn(&str) -> bool,
    threads: Threads,
) -> Result<(Base, CountedFields), CompileError> {
    let recorder = RecordingLoader::new(loader);
    let mut loaded = compiler.read_sources(threads, &recorder, &files.main)?;
    loaded.diagnostics.retain(|found| found.code != Code::EmptyFile);
    for unit in &mut loaded.units {
        unit.statements.retain(|statement| match &statement.kind {
            StatementKind::Test(test) => is_selected_test(&test.name.node),
            _ => true,
        });
    }
    let files = recorder.into_files(files, &loaded.sources);
    text::with_parse_cache(|| compile_loaded(compiler, threads, loaded, files))
}

fn compile_loaded(
    compiler: &Compiler,
    threads: Threads,
    mut loaded: Loaded,
    files: StoredFiles,
) -> Result<(Base, CountedFields), CompileError> {
    let (program, found, (counted, uses)) = check_counting(&loaded);
    let mut allows = Suppressions::new(&loaded);
    let edit_points = EditPoints::new(&loaded.units);
    let declarations = Declarations::new(std::mem::take(&mut loaded.units));
    let rules = compiler.compile_checked(threads, loaded, program, found, &mut allows)?;
    Ok((Base::new(rules, edit_points, declarations, uses, files), counted))
}
