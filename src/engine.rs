//! Compiled rule sets and decisions: compile a rule set once at start-up, then decide with it from
//! any thread. [`LiveRules`] are rules that can be edited while other threads decide with them.
//!
//! - An *entry* is a part of the rules that can decide: the top-level routes, or one table, choice,
//!   router or flow set.
//! - A *slot* holds the value of one message field that the rules use. Engines read a message
//!   either from slots or from a JSON tree.
//! - A *generation* is a number that identifies one version of a rule set.

mod analyse;
mod args;
mod artifact;
mod awaiting;
mod backend;
mod batch;
mod compile;
mod decision;
mod engine_choice;
mod entry;
mod host_registry;
mod input;
mod json_cache;
mod live;
mod recording;
mod request_analysis;
mod session;
mod set;
mod strategy;
mod test_blocks;
#[cfg(test)]
mod tests;
#[cfg(feature = "jit")]
mod tier_up;
mod workspace;

pub use args::ArgsError;
pub use awaiting::decide_async;
pub use backend::Backend;
pub use compile::{CheckedRules, CompileError, Compiler};
pub use decision::{Decision, FlowHit, NextNodes};
pub(crate) use engine_choice::PayloadEvaluation;
pub use entry::{Entry, UnknownEntry};
pub use host_registry::{HostArgument, HostFunction, HostResult};
pub use input::PreparedMessage;
pub use live::{Edit, EditError, Guard, LiveRules, UnknownStatement};
pub use request_analysis::AnalysisError;
pub use session::Session;
pub use strategy::{Indexing, Tier, TierUnavailable};
pub use test_blocks::TestOutcome;
pub(crate) use workspace::ThreadWorkspace;

use rulec_base::diag::Diagnostic;
use rulec_base::json::{self, DecimalPaths, JsonError};
use rulec_base::source::SourceMap;
use rulec_eval::explain::Explanation;
use rulec_eval::host::RegisteredFunction;
use rulec_eval::trace;
use rulec_sema::hir::{Program, Table, TableId, TableKind};
use rulec_sema::normal::NormalForm;
use rulec_vm::bytecode::Bytecode;
use rulec_vm::index::{self, Index, TablePlan};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use set::{RuleSet, SharedRuleSet};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A compiled rule set. It is cheap to clone and can be shared between threads.
#[derive(Clone)]
pub struct Rules {
    shared: Arc<SharedRuleSet>,
    tier: Tier,
    indexing: Indexing,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Rules({} routes, generation {})",
            self.rule_set().program.rules.len(),
            self.rule_set().generation
        )
    }
}

impl Rules {
    pub(crate) fn rule_set(&self) -> &RuleSet {
        &self.shared.rule_set
    }

    /// Compiles a file and its imports, without host functions (Rust functions that rules call);
    /// see [`Compiler`] for more options.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        Compiler::new().compile_path(path)
    }

    /// Compiles a text without imports and without host functions (Rust functions that rules call).
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn from_text(text: &str) -> Result<Rules, CompileError> {
        Compiler::new().compile_text(text)
    }

    /// Returns the decision of the top-level routes, which lie outside any table, for a message.
    /// Without such routes, the entry of [`Rules::default_entry`] decides, if there is one.
    /// The first route whose condition holds is chosen, otherwise the default. A message that
    /// violates the `input` declaration still gets a decision; [`Decision::breaches`] lists the
    /// violations. A message that is not an object gets none; see [`Decision::refusal`].
    pub fn decide(&self, message: &Json) -> Decision {
        self.deciding_entry().decide(message)
    }

    /// Decides for a message given as JSON text; see [`Entry::decide_line`].
    pub fn decide_line(&self, text: &[u8]) -> Result<Decision, JsonError> {
        self.deciding_entry().decide_line(text)
    }

    /// Decides for any value that serializes to a JSON object; see [`Entry::decide_value`].
    ///
    /// # Errors
    /// If the value cannot be represented as JSON, or is not an object.
    pub fn decide_value<T: Serialize>(&self, message: &T) -> Result<Decision, serde_json::Error> {
        self.deciding_entry().decide_value(message)
    }

    /// Opens a session for the part of the rules (entry) that [`Rules::decide`] uses: the fastest
    /// way to make many decisions.
    pub fn session(&self) -> Session {
        self.deciding_entry().session()
    }

    /// Reads from the message every field that the rules use. Several decisions about the message
    /// can then share the values.
    pub fn prepare<'m>(&self, message: &'m Json) -> PreparedMessage<'m> {
        self.rule_set().prepare(message)
    }

    /// Explains the decision of [`Rules::decide`] for a message, condition by condition.
    pub fn explain(&self, message: &Json) -> Explanation {
        self.deciding_entry().explain(message, false)
    }

    /// Returns the entry of the top-level routes, which lie outside any table. The [`Entry`]
    /// decides messages by these routes.
    pub fn main(&self) -> Entry<'_> {
        self.table(TableId(0))
    }

    /// Returns the entry that decides if the caller names none. This is the entry of the top-level
    /// routes. If there are no such routes, it is the only choice, router or set of flows. Choices
    /// that a language model makes are ignored if there are other entries.
    /// ```
    /// # use rulec::Rules;
    /// let rules = Rules::from_text("choice plan { default branch paid; branch free { free } }")?;
    /// assert_eq!(rules.default_entry().map(|entry| entry.name()), Ok("plan"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such entry, or if there are several. The error contains their names.
    pub fn default_entry(&self) -> Result<Entry<'_>, Vec<&str>> {
        let main = self.main();
        if !main.is_empty() {
            return Ok(main);
        }
        let mut entries: Vec<&str> = self.entries().skip(1).collect();
        let questions = &self.rule_set().program.questions;
        let asks_model = |name: &str| questions.iter().any(|question| &*question.name == name);
        if !entries.iter().all(|name| asks_model(name)) {
            entries.retain(|name| !asks_model(name));
        }
        match *entries {
            [only] => self.entry(only).ok().filter(|entry| entry.kind() != TableKind::Routes).ok_or(entries),
            _ => Err(entries),
        }
    }

    /// Returns the entry (part of the rules, such as a table) that decides for [`Rules::decide`]:
    /// the default entry. If there is no default entry, returns the entry of the top-level routes,
    /// which is empty and chooses nothing.
    fn deciding_entry(&self) -> Entry<'_> {
        self.default_entry().unwrap_or_else(|_| self.main())
    }

    /// Returns the table with this id as an [`Entry`], through which it decides messages. Not part
    /// of the stable API.
    #[doc(hidden)]
    pub fn table(&self, table: TableId) -> Entry<'_> {
        Entry { rules: &self.shared, tier: self.tier, indexing: self.indexing, table, history: None }
    }

    /// Returns the entry `name`: a table, choice, router or flow set. The name `routes` means the
    /// top-level routes.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn entry(&self, name: &str) -> Result<Entry<'_>, UnknownEntry> {
        match self.rule_set().program.table_named(name) {
            Some(table) => Ok(self.table(table)),
            None => {
                let names: Vec<&str> = self.entries().collect();
                Err(UnknownEntry::new(name, &names))
            }
        }
    }

    /// Returns the entry (a part of the rules that can decide) of this name and kind, such as a
    /// choice or a router.
    ///
    /// # Errors
    /// If there is no such entry.
    #[doc(hidden)]
    pub fn entry_of_kind(&self, name: &str, kind: TableKind) -> Result<Entry<'_>, UnknownEntry> {
        let is_of_kind = |table: &&Table| table.kind == kind;
        match self.rule_set().program.table_named(name) {
            Some(table) if self.rule_set().program.tables[table.index()].kind == kind => {
                Ok(self.table(table))
            }
            _ => {
                let tables = self.rule_set().program.tables.iter().filter(is_of_kind);
                Err(UnknownEntry::new(name, &tables.map(|table| &*table.name).collect::<Vec<_>>()))
            }
        }
    }

    /// Returns the ids of the nodes that receive the output of a workflow node, as the router
    /// selects them. `all_next_ids` lists the node's next nodes in order. If no case of the router
    /// applies, all next nodes receive the output.
    /// ```
    /// # use rulec::Rules;
    /// # use serde_json::json;
    /// let rules = Rules::from_text(
    ///     "router rounds(output) { when output.should_exit -> next[1]  otherwise -> next[0] loopback }",
    /// )?;
    /// let next = rules.next_nodes("rounds", &json!({ "should_exit": true }), &["debate", "ballot"])?;
    /// assert_eq!(next, ["ballot"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the rules have no router with this name.
    pub fn next_nodes(
        &self,
        router: &str,
        output: &Json,
        all_next_ids: &[&str],
    ) -> Result<Vec<String>, UnknownEntry> {
        let decision = self.entry_of_kind(router, TableKind::Router)?.decide_output(output, all_next_ids);
        Ok(match decision.next() {
            Some(next) => next.nodes.to_vec(),
            None => all_next_ids.iter().map(|&id| id.to_owned()).collect(),
        })
    }

    /// Returns the names of all entries, which are the tables, choices, routers and flow sets that
    /// can decide.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let tables = self.rule_set().program.tables.iter();
        tables.filter(|table| table.kind != TableKind::Requirements).map(|table| &*table.name)
    }

    /// Returns the names of all handlers that a decision can select. A program can check at
    /// start-up that it has a function for each of these handlers.
    pub fn targets(&self) -> BTreeSet<&str> {
        let tables = self.rule_set().program.tables.iter().zip(0..);
        let deciding_tables = tables.filter(|(table, _)| table.kind != TableKind::Requirements);
        entry::reachable_handlers(
            &self.rule_set().program,
            deciding_tables.map(|(_, id)| TableId(id)).collect(),
        )
    }

    /// Returns all permissions that the rules require for a handler. Empty if the rules have no
    /// `handler` statement for the handler, or if the statement names no permission.
    pub fn required_permissions(&self, handler: &str) -> &[Arc<str>] {
        self.rule_set().program.required_permissions(handler)
    }

    /// Masks the keys of `@private` dicts in an error about the JSON text of a message.
    /// [`Rules::decide_line`] and [`Rules::parse_message`] return errors that are already masked.
    #[must_use]
    pub fn masked_error(&self, error: JsonError) -> JsonError {
        self.program().message_privacy().mask_error(error)
    }

    /// Reads a message from JSON text. Numbers in fields that the rules read as decimals stay
    /// exact: a number that a float cannot hold becomes a string with all its digits.
    ///
    /// # Errors
    /// If the text is not one JSON object. The keys of `@private` dicts are masked in the error.
    pub fn parse_message(&self, text: &[u8]) -> Result<Map<String, Json>, JsonError> {
        let message = json::parse_object_bytes_exact(text, &self.rule_set().decimal_paths);
        message.map_err(|error| self.masked_error(error))
    }

    /// Returns the message fields whose numbers are read as exact decimals, not as floats. Not part
    /// of the stable API.
    #[doc(hidden)]
    pub fn decimal_paths(&self) -> &DecimalPaths {
        &self.rule_set().decimal_paths
    }

    /// Returns the message with the values of `@private` fields masked, for logs.
    pub fn masked_message(&self, message: &Json) -> Json {
        trace::mask_message(&self.rule_set().program, message)
    }

    /// Returns the warnings that the compiler reported for these rules.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.rule_set().warnings
    }

    /// Returns the warnings of the compiler that `allow` comments suppress, for tools.
    #[doc(hidden)]
    pub fn suppressed_warnings(&self) -> &[Diagnostic] {
        self.rule_set().suppressions.suppressed()
    }

    /// Returns the source texts that the spans of warnings and explanations refer to.
    pub fn sources(&self) -> &SourceMap {
        &self.rule_set().sources
    }

    /// Returns the generation, which identifies this version of the rules: a number that is unique
    /// in this process and greater for later rule sets.
    pub fn generation(&self) -> u64 {
        self.rule_set().generation
    }

    /// Returns the typed program (the rules after the resolution of names and types), for tools.
    #[doc(hidden)]
    pub fn program(&self) -> &Program {
        &self.rule_set().program
    }

    /// Returns the conditions of the rules in normal form (negations pushed down, equal parts
    /// shared), for tools.
    #[doc(hidden)]
    pub fn normal(&self) -> &NormalForm {
        self.rule_set().normal()
    }

    /// Returns the bytecode that the VM interprets, for tools.
    #[doc(hidden)]
    pub fn bytecode(&self) -> &Bytecode {
        &self.rule_set().bytecode
    }

    /// Returns the functions of the embedding program that rules call, in the order of their
    /// declarations in the rules.
    pub(crate) fn host_functions(&self) -> &[RegisteredFunction] {
        &self.rule_set().host_functions
    }

    /// Prepares the configured engine now instead of on first use. For [`Tier::Jit`], this compiles
    /// the rules to machine code.
    ///
    /// # Errors
    /// If the engine is not available on this machine or in this build. Decisions then use the VM.
    pub fn warm_up(&self) -> Result<(), TierUnavailable> {
        self.tier.available()?;
        #[cfg(feature = "jit")]
        if self.tier == Tier::Jit {
            let set = self.rule_set();
            set.tier_up
                .compile_if_needed(&set.bytecode)
                .map_err(|error| TierUnavailable::new(self.tier, error.to_message()))?;
        }
        Ok(())
    }

    /// Returns for each table how a decision finds the rules that a message may match: by keys, by
    /// a bitmap index, or by trying every rule. Keys are facts about a message, such as a word in
    /// its text; a message that matches a rule has one of the rule's keys. For tools.
    #[doc(hidden)]
    pub fn plan(&self) -> Vec<TablePlan> {
        index::plan_tables(self.rule_set().normal(), self.rule_set().bytecode.chunk())
    }

    /// Returns the same rules with `tier` as the setting that selects the engine. With
    /// [`Tier::Jit`], the first decision compiles the rules to machine code.
    #[must_use]
    pub fn with_tier(&self, tier: Tier) -> Rules {
        Rules { tier, ..self.clone() }
    }

    /// Returns the same rules with `indexing` as the setting that selects which tables use the
    /// index.
    #[must_use]
    pub fn with_index(&self, indexing: Indexing) -> Rules {
        Rules { indexing, ..self.clone() }
    }

    /// Returns the index, which finds the routes that a message may match; builds it if necessary.
    /// For tools.
    #[doc(hidden)]
    pub fn index(&self) -> &Index {
        self.rule_set().index()
    }
}
