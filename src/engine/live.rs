//! Rules that can be edited while other threads decide with them. Statements are inserted, replaced
//! and removed; the next decision uses the edited rules. See [`LiveRules`].
//!
//! The *base* is the rule set as last compiled in full. The base and the groups of routes that were
//! inserted since then are called *segments*. The *writer* is the mutable state, which edits
//! change.

mod background;
mod base;
mod decide;
mod declarations;
mod edit;
mod error;
mod goto_graph;
mod guards;
mod history;
mod recompile;
mod route;
mod segment;
mod snapshot;
mod source_edits;
mod statement_ref;
mod statements;
#[cfg(test)]
mod tests;
mod writer;

pub use edit::Edit;
pub use error::{EditError, UnknownStatement};

use super::{CompileError, Compiler, Decision, Rules, UnknownEntry};
use arc_swap::ArcSwap;
use base::BaseRules;
use edit::ParsedEdit;
use rulec_base::diag::Message;
use rulec_base::json::{DecimalPaths, JsonError};
use rulec_eval::explain::Explanation;
use rulec_sema::check::{CountedFields, CountedUses};
use rulec_sema::hir::{ROUTES_TABLE, TableId, TableKind};
use rulec_syntax::loader::{Loader, MemoryLoader};
use serde_json::Value as Json;
use snapshot::LiveSnapshot;
use source_edits::StoredFiles;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use writer::LiveWriter;

/// A rule set that can be edited while other threads decide with it. It is cheap to clone; clones
/// share the same rules.
///
/// A decision sees every edit that returned before the decision began. It sees a concurrent edit
/// completely or not at all.
///
/// An edit of a route takes about the same time in small and large rule sets. The route is compiled
/// alone, into a segment that decisions search together with the other segments. A background
/// thread combines small segments into one (a compaction), and sometimes recompiles everything (a
/// merge). Neither changes a decision. An edit of any other statement recompiles everything before
/// it returns. Decisions and edits of routes continue during a merge or a recompilation.
///
/// The engine settings of the compiler apply to merged rules. While unmerged edits exist, the VM
/// decides.
///
/// The source texts define the rules: after any edits, the rules decide as if the edited files had
/// been compiled. [`LiveRules::texts`] returns the edited files.
///
/// ```
/// use rulec::{Compiler, LiveRules};
/// use serde_json::json;
///
/// let rules = LiveRules::from_text(Compiler::new(), "default -> chat")?;
/// rules.insert(r#"route refund when text contains "refund" -> billing"#)?;
/// assert_eq!(rules.decide(&json!({"text": "a refund, please"})).target(), Some("billing"));
/// rules.remove("refund")?;
/// assert_eq!(rules.decide(&json!({"text": "a refund, please"})).target(), Some("chat"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct LiveRules {
    shared: Arc<LiveState>,
}

struct LiveState {
    compiler: Compiler,
    snapshot: ArcSwap<LiveSnapshot>,
    writer: Mutex<LiveWriter>,
    /// Lock that serializes the edits that recompile everything. An edit of a single route does not
    /// take this lock.
    recompile_lock: Mutex<()>,
    /// Whether edits are refused, because the rules were made from compiled [`Rules`] and lack the
    /// data that edits need.
    is_fixed: bool,
    /// Guards: checks of the calling program, which may refuse an edit before it inserts or
    /// replaces a statement. A guard that its owner has dropped is ignored.
    guards: Mutex<Vec<Weak<Guard>>>,
    /// Condition variable that is signalled when a recompilation in the background ends.
    became_idle: Condvar,
    /// Number of pending edits that starts a recompilation of all rules in the background. 0:
    /// derived from the number of routes.
    requested_merge_threshold: AtomicUsize,
}

/// A check that may refuse edits. It is called with the name of a handler that a new statement can
/// select. An `Err` contains the reason for the refusal.
pub type Guard = dyn Fn(&str) -> Result<(), Message> + Send + Sync;

/// Wraps compiled rules without changing their decisions. The resulting live rules cannot be
/// edited, because compiled rules do not keep the parsed statements.
impl From<Rules> for LiveRules {
    fn from(rules: Rules) -> LiveRules {
        let writer =
            LiveWriter::new(BaseRules::uneditable(rules), CountedFields::Uses(CountedUses::default()));
        LiveRules::with_writer(Compiler::new(), writer, true)
    }
}

impl std::fmt::Debug for LiveRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let snapshot = self.shared.snapshot.load();
        write!(f, "LiveRules({:?}, edited: {})", snapshot.base.rules, snapshot.is_edited)
    }
}

impl LiveRules {
    /// Compiles the file `path`, which `loader` reads, and its imports. The file may have no
    /// statements, because edits can insert routes.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn new(compiler: Compiler, loader: &dyn Loader, path: &str) -> Result<LiveRules, CompileError> {
        LiveRules::load(compiler, loader, StoredFiles::new(path, None))
    }

    fn load(compiler: Compiler, loader: &dyn Loader, files: StoredFiles) -> Result<LiveRules, CompileError> {
        let (base, known) = base::compile_base(&compiler, loader, &files, |_| true, compiler.threads)?;
        Ok(LiveRules::with_writer(compiler, LiveWriter::new(base, known), false))
    }

    fn with_writer(compiler: Compiler, writer: LiveWriter, fixed: bool) -> LiveRules {
        LiveRules {
            shared: Arc::new(LiveState {
                compiler,
                snapshot: ArcSwap::new(writer.snapshot()),
                writer: Mutex::new(writer),
                recompile_lock: Mutex::default(),
                is_fixed: fixed,
                guards: Mutex::default(),
                became_idle: Condvar::new(),
                requested_merge_threshold: AtomicUsize::new(0),
            }),
        }
    }

    /// Compiles a file and its imports. If an edit imports a new file, that file is read from the
    /// same folder at the time of the edit.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn from_path(compiler: Compiler, path: impl AsRef<Path>) -> Result<LiveRules, CompileError> {
        let (disk, name) = compiler.on_disk(path.as_ref())?;
        LiveRules::load(compiler, &disk, StoredFiles::new(&name, Some(disk.clone())))
    }

    /// Compiles a text without imports.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn from_text(compiler: Compiler, text: &str) -> Result<LiveRules, CompileError> {
        LiveRules::new(compiler, &MemoryLoader::new().with("<text>", text), "<text>")
    }

    /// Sets the number of pending edits that starts a background merge (a recompilation of all
    /// rules). By default, the number depends on the size of the rules. `usize::MAX` turns
    /// background merges off; see [`LiveRules::merge`].
    #[must_use]
    pub fn merge_after(self, edits: usize) -> LiveRules {
        self.shared.requested_merge_threshold.store(edits, Ordering::Relaxed);
        self
    }

    /// Returns the decision of the top-level routes, which lie outside any table.
    pub fn decide(&self, message: &Json) -> Decision {
        decide::decide_in_snapshot(&self.shared.snapshot.load(), TableId(0), message, None)
    }

    /// Decides for a message given as JSON text; see
    /// [`Entry::decide_line`](super::Entry::decide_line).
    pub fn decide_line(&self, text: &[u8]) -> Result<Decision, JsonError> {
        decide::decide_line_in_snapshot(&self.shared.snapshot.load(), TableId(0), text)
    }

    /// Returns the message fields whose numbers are read as exact decimals, not as floats.
    /// Not part of the stable API.
    #[doc(hidden)]
    pub fn decimal_paths(&self) -> DecimalPaths {
        decide::decimal_paths(&self.shared.snapshot.load())
    }

    /// Returns the decision of the table, choice, router or flow set (entry) with this name.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn decide_in(&self, entry: &str, message: &Json) -> Result<Decision, UnknownEntry> {
        let snapshot = self.shared.snapshot.load();
        let table = snapshot.base.rules.entry(entry)?.id();
        Ok(decide::decide_in_snapshot(&snapshot, table, message, None))
    }

    /// Returns the names of all top-level routes whose conditions hold, in evaluation order.
    pub fn matched(&self, message: &Json) -> Vec<String> {
        decide::matching_route_names(&self.shared.snapshot.load(), TableId(0), message)
    }

    /// Like [`LiveRules::matched`], for the table, choice, router or flow set with this name.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn matched_in(&self, entry: &str, message: &Json) -> Result<Vec<String>, UnknownEntry> {
        let snapshot = self.shared.snapshot.load();
        let table = snapshot.base.rules.entry(entry)?.id();
        Ok(decide::matching_route_names(&snapshot, table, message))
    }

    /// Explains the decision of the top-level routes. Pending edits are merged first (all rules are
    /// recompiled), so that the explanation refers to positions in the current texts.
    ///
    /// # Errors
    /// If the merge fails; see [`LiveRules::merge_error`].
    pub fn explain(&self, message: &Json) -> Result<Explanation, CompileError> {
        self.merge()?;
        Ok(self.rules().explain(message))
    }

    /// Explains a decision of these rules, with `@private` fields masked. Pending edits are merged
    /// first (all rules are recompiled). `None` if the rules were edited after the decision,
    /// because the edited rules may decide differently.
    ///
    /// # Errors
    /// If the merge fails; see [`LiveRules::merge_error`].
    pub fn explain_decision(
        &self,
        decision: &Decision,
        message: &Json,
    ) -> Result<Option<Explanation>, CompileError> {
        loop {
            let snapshot = self.shared.snapshot.load_full();
            if snapshot.generation != decision.generation() {
                return Ok(None);
            }
            if !snapshot.is_edited {
                let entry = snapshot.base.rules.entry(decision.entry()).ok();
                return Ok(entry.map(|entry| entry.explain(message, false)));
            }
            // The merge waits until no thread uses the base, so release this reference first.
            drop(snapshot);
            self.merge()?;
        }
    }

    /// Returns the generation (version number) of the rules with all edits. Each edit gets a new
    /// generation, greater than all earlier ones. [`Decision::generation`] returns the generation
    /// that decided. Merges keep the generation, because they change no decision.
    pub fn generation(&self) -> u64 {
        self.shared.snapshot.load().generation
    }

    /// Adds a guard: a check that is called before a statement is inserted or replaced. The guard
    /// is called for each handler that the statement can select, also through jumps (`goto`). It
    /// applies as long as the caller keeps `guard` alive. A server uses a guard to refuse handlers
    /// that it does not have.
    pub fn guard(&self, guard: &Arc<Guard>) {
        let mut guards = self.shared.lock_guards();
        guards.retain(|guard| guard.strong_count() > 0);
        guards.push(Arc::downgrade(guard));
    }

    /// Returns the rules as last compiled in full, without the edits since then.
    pub fn rules(&self) -> Rules {
        self.shared.snapshot.load().base.rules.clone()
    }

    /// Applies edits of any statements atomically: a decision sees all of them or none. The edits
    /// are applied to the texts in order, so each edit sees the earlier ones. Only the final rules
    /// must compile.
    ///
    /// An edit of a single route takes microseconds. Other edits recompile everything, which takes
    /// as long as a merge. Decisions and edits of routes continue during that time. If another
    /// thread inserts routes during that time, they come after the routes of `edits`.
    ///
    /// # Errors
    /// If an edit cannot be applied, or if the edited rules do not compile. The rules are then
    /// unchanged.
    pub fn edit(&self, edits: &[Edit]) -> Result<(), EditError> {
        let shared = &self.shared;
        if shared.is_fixed {
            return Err(EditError::Fixed);
        }
        loop {
            let base = Arc::clone(&shared.snapshot.load().base);
            let parsed: Result<Vec<ParsedEdit<'_>>, EditError> =
                edits.iter().map(|edit| edit.parse_edit(base.rules.sources())).collect();
            let mut parsed = parsed?;
            if parsed.is_empty() {
                return Ok(());
            }
            let Some(edit) = parsed.pop_if(|edit| edits.len() == 1 && edit.is_route_edit()) else {
                // Recompilation waits until no thread uses the base, so release this reference
                // first.
                drop(base);
                return shared.recompile(&parsed);
            };
            // `false` means that another thread replaced the base. Then parse the edit again.
            if shared.edit_route(&base, edit, &edits[0])? {
                return Ok(());
            }
        }
    }

    /// Inserts a statement outside any table. A new route comes after all other routes of its
    /// priority.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn insert(&self, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::insert(statement)])
    }

    /// Inserts a route or a default into a table.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn insert_into(&self, table: &str, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::insert(statement).in_table(table)])
    }

    /// Replaces the statement outside any table that has the keyword and name of `statement`. Among
    /// routes of equal priority, the new route keeps the position of the old one.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn replace(&self, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::replace(statement)])
    }

    /// Replaces a route or the default of a table.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn replace_in(&self, table: &str, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::replace(statement).in_table(table)])
    }

    /// Removes a statement outside any table. `name` is the keyword and name of the statement, such
    /// as `list words`; a name without a keyword means a route. See [`Edit::remove`].
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn remove(&self, name: &str) -> Result<(), EditError> {
        self.edit(&[Edit::remove(name)])
    }

    /// Removes a route or the default from a table.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn remove_from(&self, table: &str, name: &str) -> Result<(), EditError> {
        self.edit(&[Edit::remove(name).in_table(table)])
    }

    /// True if a table has a route of this name.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn contains(&self, table: &str, name: &str) -> Result<bool, EditError> {
        let writer = self.shared.lock_writer();
        let table = route_table_id(&writer.base().rules, table)?;
        Ok(writer.contains_route(table, name))
    }

    /// Returns the names and texts of all rule files, with all edits applied. Word lists in
    /// separate files are not included.
    pub fn texts(&self) -> Vec<(String, String)> {
        let (base, changes) = {
            let writer = self.shared.lock_writer();
            (Arc::clone(writer.base()), writer.route_changes())
        };
        changes.apply_to_texts(&base.rules, &base.edit_points)
    }

    /// Recompiles everything with all edits that returned before this call, and waits until it is
    /// done. Other threads can decide and edit during that time. Decisions do not change.
    ///
    /// # Errors
    /// If the edited texts do not compile. The rules then continue unchanged. Because every edit
    /// was checked before, this error is a bug in this library.
    pub fn merge(&self) -> Result<(), CompileError> {
        let writer = self.shared.wait_until_idle(self.shared.lock_writer());
        self.shared.merge_now(writer)
    }

    /// Waits until the current recompilation in the background, if any, is done.
    pub fn wait_for_merge(&self) {
        drop(self.shared.wait_until_idle(self.shared.lock_writer()));
    }

    /// Returns the error of the last merge (recompilation of all rules), if that merge failed. A
    /// failed merge loses no edit: the rules still decide with all edits and can be edited further.
    pub fn merge_error(&self) -> Option<CompileError> {
        self.shared.lock_writer().merge_error().cloned()
    }

    /// Returns the number of edits since the rules were last compiled in full.
    pub fn pending(&self) -> usize {
        self.shared.lock_writer().pending_edit_count()
    }
}

/// Returns the id of the table `name`. Returns an error if the rules have no such table, choice,
/// router or flow set, or if it is not a table of routes.
fn route_table_id(rules: &Rules, name: &str) -> Result<TableId, EditError> {
    let entry = rules.entry(name)?;
    match entry.kind() {
        TableKind::Routes => Ok(entry.id()),
        _ => Err(EditError::NoRoutes(name.to_owned())),
    }
}

impl LiveState {
    /// Applies an edit of one route, parsed for the compiled rules `base`. If other rules replaced
    /// `base`, returns false without a change: the caller must parse `unparsed_edit` again.
    fn edit_route(
        self: &Arc<Self>,
        base: &Arc<BaseRules>,
        edit: ParsedEdit<'_>,
        unparsed_edit: &Edit,
    ) -> Result<bool, EditError> {
        let table = route_table_id(&base.rules, edit.table_name.unwrap_or(ROUTES_TABLE))?;
        self.check_guards(&base.rules, std::slice::from_ref(&edit))?;
        let mut writer = self.lock_writer();
        if !Arc::ptr_eq(base, writer.base()) {
            return Ok(false);
        }
        writer.apply_edit(&self.compiler, table, edit.action)?;
        writer.log_edit(unparsed_edit);
        self.publish(&writer);
        self.start_due_background_work(&mut writer);
        Ok(true)
    }

    fn lock_writer(&self) -> MutexGuard<'_, LiveWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the state of `writer` as an immutable snapshot, which decisions then use.
    fn publish(&self, writer: &LiveWriter) {
        self.snapshot.store(writer.snapshot());
    }

    /// Waits until no recompilation is scheduled or running in the background.
    fn wait_until_idle<'w>(&self, writer: MutexGuard<'w, LiveWriter>) -> MutexGuard<'w, LiveWriter> {
        self.became_idle
            .wait_while(writer, |writer| !writer.is_idle())
            .unwrap_or_else(PoisonError::into_inner)
    }
}
