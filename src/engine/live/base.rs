//! Compiling the base of rules that are edited.

use super::declarations::Declarations;
use super::snapshot::Base;
use super::texts::Places;
use crate::diag::Code;
use crate::engine::{CompileError, Compiler};
use crate::loader::{self, Loaded, Loader};
use crate::sema::check::{Allows, Known, check_counting};
use crate::syntax::ast::StatementKind;
use crate::text;
use crate::threads::Threads;

/// Compiled rules with what is needed to edit them.
pub(super) struct Compiled {
    pub base: Base,
    pub declarations: Declarations,
    /// The fields of the message.
    pub known: Known,
}

/// Compiles rules that are to be edited. Their tests are checked the `first` time only: they are about
/// the rules as they were written.
pub(super) fn compile(
    compiler: &Compiler,
    loader: &dyn Loader,
    path: &str,
    first: bool,
    threads: Threads,
) -> Result<Compiled, CompileError> {
    let mut loaded = loader::load(threads, loader, path);
    loaded.diagnostics.retain(|found| found.code != Code::EmptyFile);
    if !first {
        for unit in &mut loaded.units {
            unit.statements.retain(|statement| !matches!(statement.kind, StatementKind::Test(_)));
        }
    }
    text::keeping_parsed(|| compile_loaded(compiler, loaded))
}

fn compile_loaded(compiler: &Compiler, mut loaded: Loaded) -> Result<Compiled, CompileError> {
    let (program, found, known) = check_counting(&loaded);
    let allows = Allows::of(&loaded);
    let places = Places::of(&loaded.units);
    let declarations = Declarations::new(std::mem::take(&mut loaded.units));
    let rules = compiler.finish(loaded, program, found, &allows)?;
    Ok(Compiled { base: Base::new(rules, places), declarations, known })
}
