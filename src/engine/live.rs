//! Rules that change while they serve: statements are inserted, replaced and removed while other threads
//! decide, and the next decision sees it. See [`LiveRules`].

mod background;
mod base;
mod decide;
mod declarations;
mod edit;
mod error;
mod head;
mod jumps;
mod recompile;
mod route;
mod segment;
mod snapshot;
mod statements;
#[cfg(test)]
mod tests;
mod texts;
mod writer;

pub use edit::Edit;
pub use error::{EditError, UnknownStatement};

use super::entry::targets;
use super::{CompileError, Compiler, Decision, Rules, UnknownEntry};
use arc_swap::ArcSwap;
use base::Base;
use edit::Reading;
use rulec_base::json::JsonError;
use rulec_base::parallel::Threads;
use rulec_eval::explain::Explanation;
use rulec_sema::check::{Counted, CountedUses};
use rulec_sema::hir::{ROUTES, TableId, TableKind};
use rulec_syntax::ast::{Route, Statement, StatementKind, Target};
use rulec_syntax::loader::{Loader, MemoryLoader};
use serde_json::Value as Json;
use snapshot::Snapshot;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use texts::Files;
use writer::Writer;

/// Rules that change while they serve. Cheap to clone; clones are the same rules.
///
/// A decision sees every edit that returned before it began, and of one that runs at the same time all
/// or nothing. What an edit of a route costs hardly depends on how many there are: the route is compiled
/// alone and looked up beside the others. A thread in the background compiles routes that came later
/// together, and now and then everything anew, which changes no answer. An edit of any other statement compiles
/// everything anew. Decisions and edits of routes go on meanwhile.
///
/// The settings of the compiler count for what has been merged; with edits the VM decides.
///
/// The texts are the truth: after any edits the rules answer as those of the edited files would,
/// which [`LiveRules::texts`] returns.
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
    shared: Arc<Shared>,
}

struct Shared {
    compiler: Compiler,
    snapshot: ArcSwap<Snapshot>,
    writer: Mutex<Writer>,
    /// Held while statements other than routes are edited.
    recompiling: Mutex<()>,
    /// True for rules of which nothing is kept for edits.
    fixed: bool,
    /// Those that are asked before an edit, as long as they are there.
    guards: Mutex<Vec<Weak<Guard>>>,
    /// Told when a merge ends, or compacting.
    idle: Condvar,
    /// The number of edits that make a merge worth while; 0 leaves that to the number of routes.
    merge_after: AtomicUsize,
}

/// Refuses edits: called with the name of a handler that a statement is about to lead to, it says why that cannot be.
pub type Guard = dyn Fn(&str) -> Result<(), String> + Send + Sync;

/// Compiled rules as live rules, which answer as they do. They cannot be edited, since the texts alone do not
/// tell all that they were compiled of.
impl From<Rules> for LiveRules {
    fn from(rules: Rules) -> LiveRules {
        let writer = Writer::new(Base::fixed(rules), Counted::Uses(CountedUses::default()));
        LiveRules::serving(Compiler::new(), writer, true)
    }
}

impl std::fmt::Debug for LiveRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let snapshot = self.shared.snapshot.load();
        write!(f, "LiveRules({:?}, edited: {})", snapshot.base.rules, snapshot.edited)
    }
}

impl LiveRules {
    /// Compiles the file `path` of a loader. A file without any statement is none, but may be where
    /// routes are to come.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn new(compiler: Compiler, loader: &dyn Loader, path: &str) -> Result<LiveRules, CompileError> {
        LiveRules::load(compiler, loader, Files::new(path, None))
    }

    fn load(compiler: Compiler, loader: &dyn Loader, files: Files) -> Result<LiveRules, CompileError> {
        let (base, known) = base::compile(&compiler, loader, &files, |_| true, Threads::All)?;
        Ok(LiveRules::serving(compiler, Writer::new(base, known), false))
    }

    fn serving(compiler: Compiler, writer: Writer, fixed: bool) -> LiveRules {
        LiveRules {
            shared: Arc::new(Shared {
                compiler,
                snapshot: ArcSwap::new(writer.snapshot()),
                writer: Mutex::new(writer),
                recompiling: Mutex::default(),
                fixed,
                guards: Mutex::default(),
                idle: Condvar::new(),
                merge_after: AtomicUsize::new(0),
            }),
        }
    }

    /// Compiles a file and what it imports. A file that an edit names for the first time is read then.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn from_path(compiler: Compiler, path: impl AsRef<Path>) -> Result<LiveRules, CompileError> {
        let (disk, name) = compiler.on_disk(path.as_ref())?;
        LiveRules::load(compiler, &disk, Files::new(&name, Some(disk.clone())))
    }

    /// Compiles a text that imports nothing.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn from_text(compiler: Compiler, text: &str) -> Result<LiveRules, CompileError> {
        LiveRules::new(compiler, &MemoryLoader::new().with("<text>", text), "<text>")
    }

    /// Starts merges in the background after so many edits instead of at a number that suits the
    /// rules. With `usize::MAX` none starts by itself; see [`LiveRules::merge`].
    #[must_use]
    pub fn merge_after(self, edits: usize) -> LiveRules {
        self.shared.merge_after.store(edits, Ordering::Relaxed);
        self
    }

    /// Decides by the routes outside any table.
    pub fn decide(&self, message: &Json) -> Decision {
        decide::decide(&self.shared.snapshot.load(), TableId(0), message)
    }

    /// Decides for a message as JSON text; see [`Entry::decide_line`](super::Entry::decide_line).
    pub fn decide_line(&self, text: &[u8]) -> Result<Decision, JsonError> {
        decide::decide_line(&self.shared.snapshot.load(), TableId(0), text)
    }

    /// Decides by the entry of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn decide_in(&self, entry: &str, message: &Json) -> Result<Decision, UnknownEntry> {
        let snapshot = self.shared.snapshot.load();
        let table = snapshot.base.rules.entry(entry)?.id();
        Ok(decide::decide(&snapshot, table, message))
    }

    /// The names of all routes outside any table that hold, in the order they are tried.
    pub fn matched(&self, message: &Json) -> Vec<String> {
        decide::matched(&self.shared.snapshot.load(), TableId(0), message)
    }

    /// The names of all routes of the entry that hold, in the order they are tried. A jump counts by
    /// its own condition.
    ///
    /// # Errors
    /// When there is no such entry.
    pub fn matched_in(&self, entry: &str, message: &Json) -> Result<Vec<String>, UnknownEntry> {
        let snapshot = self.shared.snapshot.load();
        let table = snapshot.base.rules.entry(entry)?.id();
        Ok(decide::matched(&snapshot, table, message))
    }

    /// Explains the decision by the routes outside any table. What was edited since the last merge is
    /// merged first, so that the explanation names places in the texts as they are.
    ///
    /// # Errors
    /// When the merge fails; see [`LiveRules::merge_error`].
    pub fn explain(&self, message: &Json) -> Result<Explanation, CompileError> {
        self.merge()?;
        Ok(self.rules().explain(message))
    }

    /// Explains a decision of these rules, with `@private` fields masked, after a merge where one is needed; `None`
    /// when they were edited after it, since they would explain another.
    ///
    /// # Errors
    /// When the merge fails; see [`LiveRules::merge_error`].
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
            if !snapshot.edited {
                let entry = snapshot.base.rules.entry(decision.entry()).ok();
                return Ok(entry.map(|entry| entry.explain(message, false)));
            }
            // The merge waits for those that still decide by the base; this is none of them.
            drop(snapshot);
            self.merge()?;
        }
    }

    /// The generation of the rules with all edits so far: every edit has a number of its own, greater than those
    /// before, and [`Decision::generation`] says it. Merges leave it, since they change no answer.
    pub fn generation(&self) -> u64 {
        self.shared.snapshot.load().generation
    }

    /// Has `guard` asked, as long as it is kept alive, before a statement is inserted or replaced: for each handler that
    /// it may lead to, also by a jump. What serves the rules refuses what it could not carry out.
    pub fn guard(&self, guard: &Arc<Guard>) {
        let mut guards = self.shared.guards();
        guards.retain(|guard| guard.strong_count() > 0);
        guards.push(Arc::downgrade(guard));
    }

    /// The compiled rules as of the last merge: all that was edited before is in them.
    pub fn rules(&self) -> Rules {
        self.shared.snapshot.load().base.rules.clone()
    }

    /// Makes edits of any statements, as one: a decision sees all of them or none. One after the other they are made in
    /// the texts, so that an edit sees what those before it did, and what comes of it must compile as a whole. An edit
    /// of one route takes microseconds; any other compiles everything anew, which takes as long as a merge. Decisions
    /// and edits of routes go on meanwhile; routes that come meanwhile stand behind those that `edits` bring.
    ///
    /// # Errors
    /// When one of them cannot be made, or the rules would not compile with them. The rules are then as they were.
    pub fn edit(&self, edits: &[Edit]) -> Result<(), EditError> {
        let shared = &self.shared;
        if shared.fixed {
            return Err(EditError::Fixed);
        }
        loop {
            let base = Arc::clone(&shared.snapshot.load().base);
            let reading: Result<Vec<Reading<'_>>, EditError> =
                edits.iter().map(|edit| edit.read(base.rules.sources())).collect();
            let mut reading = reading?;
            if reading.is_empty() {
                return Ok(());
            }
            let Some(edit) = reading.pop_if(|edit| edits.len() == 1 && edit.is_of_route()) else {
                // It waits for those that still decide by the base; this is none of them.
                drop(base);
                return shared.recompile(&reading);
            };
            // Unless everything has been compiled anew meanwhile.
            if shared.edit_route(&base, edit, &edits[0])? {
                return Ok(());
            }
        }
    }

    /// Inserts a statement outside any table: a route stands behind all others of its priority.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn insert(&self, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::insert(statement)])
    }

    /// Inserts a route, or the default, into the table of that name.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn insert_into(&self, table: &str, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::insert(statement).in_table(table)])
    }

    /// Puts a statement in the place of the one of its kind and name outside any table. Among routes of equal
    /// priority it stands where that one stood.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn replace(&self, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::replace(statement)])
    }

    /// Puts a route, or the default, in the place of the one of its name in a table.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn replace_in(&self, table: &str, statement: &str) -> Result<(), EditError> {
        self.edit(&[Edit::replace(statement).in_table(table)])
    }

    /// Removes a statement outside any table, called as [`Edit::remove`] tells; a name alone is a route's.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn remove(&self, name: &str) -> Result<(), EditError> {
        self.edit(&[Edit::remove(name)])
    }

    /// Removes the route of that name, or the default, from a table.
    ///
    /// # Errors
    /// See [`LiveRules::edit`].
    pub fn remove_from(&self, table: &str, name: &str) -> Result<(), EditError> {
        self.edit(&[Edit::remove(name).in_table(table)])
    }

    /// True when a table has a route of that name.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn contains(&self, table: &str, name: &str) -> Result<bool, EditError> {
        let writer = self.shared.lock();
        let table = table_of(&writer.base.rules, table)?;
        Ok(writer.find(table, name).is_some())
    }

    /// The files with all edits in them: names and texts. Lists of words in files of their own are not
    /// among them.
    pub fn texts(&self) -> Vec<(String, String)> {
        let (base, changes) = {
            let writer = self.shared.lock();
            (Arc::clone(&writer.base), writer.changes())
        };
        changes.apply(&base.rules, &base.places)
    }

    /// Compiles everything anew now, with all edits so far, and waits for it. Decisions and edits by
    /// others go on meanwhile. Answers stay as they are.
    ///
    /// # Errors
    /// What is wrong with the edited texts. The rules then go on as before; every edit was checked, so
    /// that is a fault of this library.
    pub fn merge(&self) -> Result<(), CompileError> {
        let writer = self.shared.wait(self.shared.lock());
        self.shared.merge_now(writer)
    }

    /// Waits for what runs in the background, when anything does: a merge, or compiling routes that
    /// came later together.
    pub fn wait_for_merge(&self) {
        drop(self.shared.wait(self.shared.lock()));
    }

    /// Why the last merge failed, if it did. Nothing is lost then: the rules answer as before and can
    /// be edited further.
    pub fn merge_error(&self) -> Option<CompileError> {
        self.shared.lock().error.clone()
    }

    /// The number of edits that have not been merged yet.
    pub fn pending(&self) -> usize {
        self.shared.lock().edits
    }
}

/// The table of routes of that name.
fn table_of(rules: &Rules, name: &str) -> Result<TableId, EditError> {
    let entry = rules.entry(name)?;
    match entry.kind() {
        TableKind::Routes => Ok(entry.id()),
        _ => Err(EditError::NoRoutes(name.to_owned())),
    }
}

/// The ends that a statement leads to; of a table those of its routes.
fn targets_of(statement: &Statement) -> Vec<&Target> {
    match &statement.kind {
        StatementKind::Route(Route { target, .. }) | StatementKind::Default { target } => vec![target],
        StatementKind::Table { statements, .. } => statements.iter().flat_map(targets_of).collect(),
        _ => Vec::new(),
    }
}

impl Shared {
    fn guards(&self) -> MutexGuard<'_, Vec<Weak<Guard>>> {
        self.guards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an edit of one route that was read for a base; `false` when another is there.
    fn edit_route(
        self: &Arc<Self>,
        base: &Arc<Base>,
        edit: Reading<'_>,
        written: &Edit,
    ) -> Result<bool, EditError> {
        let table = table_of(&base.rules, edit.table.unwrap_or(ROUTES))?;
        self.ask_guards(&base.rules, std::slice::from_ref(&edit))?;
        let mut writer = self.lock();
        if !Arc::ptr_eq(base, &writer.base) {
            return Ok(false);
        }
        writer.make(&self.compiler, table, edit.action)?;
        if let Some(log) = &mut writer.log {
            log.push(written.clone());
        }
        self.snapshot.store(writer.snapshot());
        self.start_what_is_due(&mut writer);
        Ok(true)
    }

    /// Asks the guards about the handlers that edits may lead to.
    fn ask_guards(&self, rules: &Rules, edits: &[Reading<'_>]) -> Result<(), EditError> {
        let guards: Vec<Arc<Guard>> = self.guards().iter().filter_map(Weak::upgrade).collect();
        if guards.is_empty() {
            return Ok(());
        }
        let statements = edits.iter().filter_map(|edit| Some(&edit.draft()?.statement));
        let (mut handlers, mut tables) = (BTreeSet::new(), Vec::new());
        for target in statements.flat_map(targets_of) {
            match target {
                Target::Handler { name, .. } => drop(handlers.insert(name.node.as_str())),
                // What was inserted there since the last merge has been asked about.
                Target::Goto { table, .. } => tables.extend(rules.program().table_named(&table.node)),
            }
        }
        handlers.extend(targets(rules.program(), tables));
        let asked = handlers.iter().flat_map(|target| guards.iter().map(|guard| guard(target)));
        asked.collect::<Result<(), String>>().map_err(EditError::Refused)
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no merge runs, nor segments are compacted.
    fn wait<'w>(&self, writer: MutexGuard<'w, Writer>) -> MutexGuard<'w, Writer> {
        self.idle
            .wait_while(writer, |writer| writer.merging || writer.compacting)
            .unwrap_or_else(PoisonError::into_inner)
    }
}
