//! The engine as a service uses it: compile a rule set once, at start-up, and decide with it from
//! any thread; with [`LiveRules`] routes come and go meanwhile.

mod analyse;
mod answers;
mod artifact;
mod backend;
mod batch;
mod compile;
mod decision;
mod entry;
mod hosts;
mod input;
mod live;
mod session;
mod set;
mod strategy;
mod test_blocks;
#[cfg(test)]
mod tests;
#[cfg(feature = "jit")]
mod tiers;
mod workspace;

pub use backend::Backend;
pub use compile::{CompileError, Compiler};
pub use decision::{Decision, FlowHit, NextNodes};
pub use entry::{Entry, UnknownEntry};
pub use hosts::{HostArgument, HostFunction, HostResult};
pub use input::Record;
pub use live::{Edit, EditError, Guard, LiveRules, UnknownStatement};
pub use session::Session;
pub use strategy::{Indexing, Tier, TierUnavailable};
pub use test_blocks::TestOutcome;

use rulec_base::diag::Diagnostic;
use rulec_base::json::JsonError;
use rulec_base::source::SourceMap;
use rulec_eval::explain::Explanation;
use rulec_eval::host::Host;
use rulec_eval::trace;
use rulec_sema::hir::{Program, Table, TableId, TableKind};
use rulec_sema::normal::Normal;
use rulec_vm::bytecode::Bytecode;
use rulec_vm::index::{self, Index, TablePlan};
use serde::Serialize;
use serde_json::Value as Json;
use set::{RuleSet, Shared};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use workspace::Workspace;

/// A compiled rule set: cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Rules {
    shared: Arc<Shared>,
    how: How,
}

/// The engine that was asked for.
#[derive(Clone, Copy)]
struct How {
    tier: Tier,
    indexing: Indexing,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rules({} routes, generation {})", self.set().program.rules.len(), self.set().generation)
    }
}

impl Rules {
    fn set(&self) -> &RuleSet {
        &self.shared.set
    }

    /// Compiles a file and what it imports, without host functions; see [`Compiler`] for more.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        Compiler::new().compile_path(path)
    }

    /// Compiles a text that imports nothing, without host functions.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn from_text(text: &str) -> Result<Rules, CompileError> {
        Compiler::new().compile_text(text)
    }

    /// Decides by the routes outside any table. A message that breaks a promise of `input` is
    /// decided all the same; [`Decision::breaches`] names what was wrong.
    pub fn decide(&self, message: &Json) -> Decision {
        self.main().decide(message)
    }

    /// Decides for a message as JSON text; see [`Entry::decide_line`].
    pub fn decide_line(&self, text: &[u8]) -> Result<Decision, JsonError> {
        self.main().decide_line(text)
    }

    /// Decides for any value that serializes to an object; see [`Entry::decide_value`].
    ///
    /// # Errors
    /// When the value cannot be represented as JSON.
    pub fn decide_value<T: Serialize>(&self, message: &T) -> Result<Decision, serde_json::Error> {
        self.main().decide_value(message)
    }

    /// Opens a session for the routes outside any table: the fastest way to decide again and again.
    pub fn session(&self) -> Session {
        self.main().session()
    }

    /// Resolves every field the rules read, so that several decisions on one message share it.
    pub fn prepare<'m>(&self, message: &'m Json) -> Record<'m> {
        self.set().prepare(message)
    }

    /// Explains the decision by the routes outside any table.
    pub fn explain(&self, message: &Json) -> Explanation {
        self.main().explain(message, false)
    }

    /// The entry that holds the routes outside any table.
    pub fn main(&self) -> Entry<'_> {
        self.table(TableId(0))
    }

    /// The entry of a table; unstable.
    #[doc(hidden)]
    pub fn table(&self, table: TableId) -> Entry<'_> {
        Entry { rules: &self.shared, how: self.how, table }
    }

    /// The entry of that name: `routes`, or a table.
    ///
    /// # Errors
    /// When there is none.
    pub fn entry(&self, name: &str) -> Result<Entry<'_>, UnknownEntry> {
        match self.set().program.table_named(name) {
            Some(table) => Ok(self.table(table)),
            None => {
                let names: Vec<&str> = self.entries().collect();
                Err(UnknownEntry::new(name, &names))
            }
        }
    }

    /// The entry of that name and kind.
    ///
    /// # Errors
    /// When there is none.
    #[doc(hidden)]
    pub fn entry_of_kind(&self, name: &str, kind: TableKind) -> Result<Entry<'_>, UnknownEntry> {
        let of_kind = |table: &&Table| table.kind == kind;
        match self.set().program.table_named(name) {
            Some(table) if self.set().program.tables[table.index()].kind == kind => Ok(self.table(table)),
            _ => {
                let tables = self.set().program.tables.iter().filter(of_kind);
                Err(UnknownEntry::new(name, &tables.map(|table| &*table.name).collect::<Vec<_>>()))
            }
        }
    }

    /// The names of the entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let tables = self.set().program.tables.iter();
        tables.filter(|table| table.kind != TableKind::Requirements).map(|table| &*table.name)
    }

    /// The names of all handlers a decision may lead to: what a registry must hold.
    pub fn targets(&self) -> BTreeSet<&str> {
        let tables = self.set().program.tables.iter().zip(0..);
        let choosing = tables.filter(|(table, _)| table.kind != TableKind::Requirements);
        entry::targets(&self.set().program, choosing.map(|(_, id)| TableId(id)).collect())
    }

    /// The permissions that a handler requires, every one of them; none when no `handler` statement says so.
    pub fn required_permissions(&self, handler: &str) -> &[Arc<str>] {
        self.set().program.required(handler)
    }

    /// The message as a log may show it: the values of `@private` fields masked.
    pub fn masked_message(&self, message: &Json) -> Json {
        trace::masked_message(&self.set().program, message)
    }

    /// The warnings found on compiling.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.set().warnings
    }

    /// The texts that warnings and explanations point into.
    pub fn sources(&self) -> &SourceMap {
        &self.set().sources
    }

    /// A number that no other rule set of this process has; greater for later ones.
    pub fn generation(&self) -> u64 {
        self.set().generation
    }

    /// The typed program, for tools.
    #[doc(hidden)]
    pub fn program(&self) -> &Program {
        &self.set().program
    }

    /// The normal form, for tools.
    #[doc(hidden)]
    pub fn normal(&self) -> &Normal {
        self.set().normal()
    }

    /// The bytecode, for tools.
    #[doc(hidden)]
    pub fn bytecode(&self) -> &Bytecode {
        &self.set().bytecode
    }

    /// The host functions, in the order the program declares them.
    pub(crate) fn hosts(&self) -> &[Host] {
        &self.set().hosts
    }

    /// Makes ready what the chosen engine needs, which else happens on first use: with [`Tier::Jit`]
    /// compiles the rules.
    ///
    /// # Errors
    /// Why the engine cannot decide here. The VM does it in its place.
    pub fn ready(&self) -> Result<(), TierUnavailable> {
        let tier = self.how.tier;
        tier.available()?;
        #[cfg(feature = "jit")]
        if tier == Tier::Jit {
            let set = self.set();
            set.tiers.compiled(&set.bytecode).map_err(|error| TierUnavailable::new(tier, error))?;
        }
        Ok(())
    }

    /// The engine that payloads are judged by. Machine code only when it is asked for by name: a
    /// payload's blocks are short, and each would pay for the places of all slots.
    #[doc(hidden)]
    pub fn judging_backend(&self) -> Backend {
        let tier = if self.how.tier == Tier::Auto { Tier::Vm } else { self.how.tier };
        self.set().backend(How { tier, indexing: Indexing::Never }, TableId(0), false)
    }

    /// The machine code, when it has been made.
    #[cfg(feature = "jit")]
    pub(crate) fn machine_code(&self) -> Option<&rulec_jit::JitCode> {
        self.set().code().map(|code| &**code)
    }

    /// Lends this thread's working memory.
    pub(crate) fn with_workspace<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
        workspace::with_thread(|workspace, _| work(workspace))
    }

    /// The plan by which each rule is found, for tools.
    #[doc(hidden)]
    pub fn plan(&self) -> Vec<TablePlan> {
        index::plan(self.set().normal(), self.set().bytecode.chunk())
    }

    /// The same rules decided by another engine. With [`Tier::Jit`] they are compiled on first use.
    #[must_use]
    pub fn with_tier(&self, tier: Tier) -> Rules {
        Rules { how: How { tier, ..self.how }, ..self.clone() }
    }

    /// The same rules decided with or without the index.
    #[must_use]
    pub fn with_index(&self, indexing: Indexing) -> Rules {
        Rules { how: How { indexing, ..self.how }, ..self.clone() }
    }

    /// The index, for tools.
    #[doc(hidden)]
    pub fn index(&self) -> &Index {
        self.set().index()
    }
}
