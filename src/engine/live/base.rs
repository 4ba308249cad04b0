//! The base of live rules: the rules as last compiled in full, with the data that edits need.

use super::declarations::RuleDeclarations;
use super::segment::RouteSegment;
use super::source_edits::{EditOffsets, RecordingLoader, StoredFiles};
use crate::engine::{CompileError, Compiler, Rules};
use hashbrown::HashMap;
use rulec_base::diag::Code;
use rulec_base::parallel::ThreadLimit;
use rulec_base::text;
use rulec_sema::check::{CountedFields, Suppressions, UsesByRoute, check_and_count_fields};
use rulec_sema::hir::{RuleId, TableId, TableKind};
use rulec_syntax::ast::StatementKind;
use rulec_syntax::loader::{LoadedFiles, Loader};
use std::sync::Arc;

/// The rules of live rules as last compiled in full, with the data that edits need.
pub(super) struct BaseRules {
    pub rules: Rules,
    pub segment: Arc<RouteSegment>,
    /// For each table, maps the name of each route to the id of the route. Routes that are disabled
    /// in the rules are included.
    pub route_ids_by_name: Vec<HashMap<Arc<str>, RuleId>>,
    pub edit_points: EditOffsets,
    pub declarations: RuleDeclarations,
    /// For each route of the last full compilation, the undeclared message fields that it reads,
    /// with the kinds of value that it accepts in them. Empty if the rules declare `input`.
    pub field_uses: UsesByRoute,
    pub files: StoredFiles,
}

impl BaseRules {
    /// Wraps compiled rules for live rules that refuse all edits.
    pub fn uneditable(rules: Rules) -> BaseRules {
        let declarations = RuleDeclarations::new(Vec::new());
        BaseRules::new(
            rules,
            EditOffsets::default(),
            declarations,
            UsesByRoute::default(),
            StoredFiles::default(),
        )
    }

    fn new(
        rules: Rules,
        edit_points: EditOffsets,
        declarations: RuleDeclarations,
        uses: UsesByRoute,
        files: StoredFiles,
    ) -> BaseRules {
        let program = rules.program();
        let mut names: Vec<HashMap<Arc<str>, RuleId>> = vec![HashMap::new(); program.tables.len()];
        for (at, rule) in program.rules.iter().enumerate() {
            if program.tables[rule.table.index()].kind == TableKind::Routes {
                names[rule.table.index()].insert(rule.name.clone(), RuleId(at as u32));
            }
        }
        let segment = Arc::new(RouteSegment::from_base(rules.clone()));
        BaseRules {
            segment,
            rules,
            route_ids_by_name: names,
            edit_points,
            declarations,
            field_uses: uses,
            files,
        }
    }

    pub fn route_named(&self, table: TableId, name: &str) -> Option<RuleId> {
        self.route_ids_by_name.get(table.index())?.get(name).copied()
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
    threads: ThreadLimit,
) -> Result<(BaseRules, CountedFields), CompileError> {
    let recorder = RecordingLoader::new(loader);
    let mut loaded = compiler.read_sources(threads, &recorder, &files.main_file_name)?;
    loaded.diagnostics.retain(|found| found.code != Code::EmptyFile);
    for unit in &mut loaded.files {
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
    threads: ThreadLimit,
    mut loaded: LoadedFiles,
    files: StoredFiles,
) -> Result<(BaseRules, CountedFields), CompileError> {
    let (program, found, (counted, uses)) = check_and_count_fields(&loaded);
    let mut allows = Suppressions::new(&loaded);
    let edit_points = EditOffsets::new(&loaded.files);
    let declarations = RuleDeclarations::new(std::mem::take(&mut loaded.files));
    let rules = compiler.compile_checked_program(threads, loaded, program, found, &mut allows)?;
    Ok((BaseRules::new(rules, edit_points, declarations, uses, files), counted))
}
