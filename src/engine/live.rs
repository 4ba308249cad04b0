//! Rules that change while they serve: routes are inserted, replaced and removed while other threads
//! decide, and the next decision sees it. See [`LiveRules`].

mod background;
mod base;
mod decide;
mod declarations;
mod error;
mod jumps;
mod route;
mod segment;
mod snapshot;
#[cfg(test)]
mod tests;
mod texts;
mod writer;

pub use error::{EditError, UnknownRoute};

use super::{CompileError, Compiler, Decision, Rules, UnknownEntry};
use crate::explain::Explanation;
use crate::json::JsonError;
use crate::loader::{Loader, MemoryLoader};
use crate::sema::check::Known;
use crate::sema::hir::{ROUTES, TableId, TableKind};
use crate::source::SourceMap;
use crate::syntax::ast::Target;
use crate::threads::Threads;
use arc_swap::ArcSwap;
use base::Base;
use route::draft;
use serde_json::Value as Json;
use snapshot::Snapshot;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use texts::{Changes, Files};
use writer::{Edit, Writer};

/// Rules whose routes come and go while they serve. Cheap to clone; clones are the same rules.
///
/// A decision sees every edit that returned before it began, and of one that runs at the same time all
/// or nothing. What an edit costs hardly depends on how many routes there are: the route is compiled
/// alone and looked up beside the others. A thread in the background compiles routes that came later
/// together, and now and then everything anew, which changes no answer; decisions and edits go on
/// meanwhile.
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
    files: Files,
    snapshot: ArcSwap<Snapshot>,
    writer: Mutex<Writer>,
    /// True for rules of which nothing is kept for edits.
    fixed: bool,
    /// Those that are asked before an edit, as long as they are there.
    guards: Mutex<Vec<Weak<Guard>>>,
    /// Told when a merge ends, or compacting.
    idle: Condvar,
    /// The number of edits that make a merge worth while; 0 leaves that to the number of routes.
    merge_after: AtomicUsize,
}

/// Refuses edits: called with the name of a handler that a route is about to lead to, it says why that cannot be.
pub type Guard = dyn Fn(&str) -> Result<(), String> + Send + Sync;

/// Compiled rules as live rules, which answer as they do. They cannot be edited, since the texts alone do not
/// tell all that they were compiled of.
impl From<Rules> for LiveRules {
    fn from(rules: Rules) -> LiveRules {
        let writer = Writer::new(Base::fixed(rules), Known::Uses(Arc::default()));
        LiveRules::serving(Compiler::new(), Files::default(), writer, true)
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
        let recorder = texts::Recorder::new(loader);
        let (base, known) = base::compile(&compiler, &recorder, path, true, Threads::All)?;
        let files = recorder.finish(path, base.rules.sources());
        Ok(LiveRules::serving(compiler, files, Writer::new(base, known), false))
    }

    fn serving(compiler: Compiler, files: Files, writer: Writer, fixed: bool) -> LiveRules {
        LiveRules {
            shared: Arc::new(Shared {
                compiler,
                files,
                snapshot: ArcSwap::new(writer.snapshot()),
                writer: Mutex::new(writer),
                fixed,
                guards: Mutex::default(),
                idle: Condvar::new(),
                merge_after: AtomicUsize::new(0),
            }),
        }
    }

    /// Compiles a file and what it imports.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn from_path(compiler: Compiler, path: impl AsRef<Path>) -> Result<LiveRules, CompileError> {
        let (disk, name) = compiler.on_disk(path.as_ref())?;
        LiveRules::new(compiler, &disk, &name)
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
            self.merge()?;
        }
    }

    /// The generation of the rules with all edits so far: every edit has a number of its own, greater than those
    /// before, and [`Decision::generation`] says it. Merges leave it, since they change no answer.
    pub fn generation(&self) -> u64 {
        self.shared.snapshot.load().generation
    }

    /// Has `guard` asked, as long as it is kept alive, before a route is inserted or replaced: for each handler that
    /// the route may lead to, also by a jump. What serves the rules refuses what it could not carry out.
    pub fn guard(&self, guard: &Arc<Guard>) {
        let mut guards = self.shared.guards();
        guards.retain(|guard| guard.strong_count() > 0);
        guards.push(Arc::downgrade(guard));
    }

    /// The compiled rules as of the last merge: all that was edited before is in them.
    pub fn rules(&self) -> Rules {
        self.shared.snapshot.load().base.rules.clone()
    }

    /// Inserts a route outside any table: one `route` statement. It stands behind all others of its
    /// priority.
    pub fn insert(&self, route: &str) -> Result<(), EditError> {
        self.insert_into(ROUTES, route)
    }

    /// Inserts a route into the table of that name.
    pub fn insert_into(&self, table: &str, route: &str) -> Result<(), EditError> {
        self.edit(table, |sources| draft(route, sources).map(Edit::Insert))
    }

    /// Puts a route in the place of the one of its name outside any table. Among routes of equal
    /// priority it stands where that one stood.
    pub fn replace(&self, route: &str) -> Result<(), EditError> {
        self.replace_in(ROUTES, route)
    }

    /// Puts a route in the place of the one of its name in a table.
    pub fn replace_in(&self, table: &str, route: &str) -> Result<(), EditError> {
        self.edit(table, |sources| draft(route, sources).map(Edit::Replace))
    }

    /// Removes the route of that name outside any table.
    ///
    /// # Errors
    /// When there is none.
    pub fn remove(&self, name: &str) -> Result<(), EditError> {
        self.remove_from(ROUTES, name)
    }

    /// Removes the route of that name from a table.
    ///
    /// # Errors
    /// When there is no such table, or no such route in it.
    pub fn remove_from(&self, table: &str, name: &str) -> Result<(), EditError> {
        self.edit(table, |_| Ok(Edit::Remove(name)))
    }

    /// True when a table has a route of that name.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn contains(&self, table: &str, name: &str) -> Result<bool, EditError> {
        let writer = self.shared.lock();
        let table = self.table(&writer.base.rules, table)?;
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

    /// The table of routes of that name.
    fn table(&self, rules: &Rules, name: &str) -> Result<TableId, EditError> {
        let entry = rules.entry(name)?;
        match entry.kind() {
            TableKind::Routes => Ok(entry.id()),
            _ => Err(EditError::NoRoutes(name.to_owned())),
        }
    }

    fn edit<'t>(
        &self,
        table: &str,
        parse: impl FnOnce(&SourceMap) -> Result<Edit<'t>, EditError>,
    ) -> Result<(), EditError> {
        let shared = &self.shared;
        if shared.fixed {
            return Err(EditError::Fixed);
        }
        let rules = self.rules();
        let table = self.table(&rules, table)?;
        let edit = parse(rules.sources())?;
        shared.ask_guards(&rules, &edit)?;
        let mut writer = shared.lock();
        match writer.apply(&shared.compiler, table, edit)? {
            None => shared.snapshot.store(writer.snapshot()),
            // Without a route that fixed a field's type others are read otherwise.
            Some(changes) => shared.rebuild(&mut writer, &changes)?,
        }
        shared.start_what_is_due(&mut writer);
        Ok(())
    }
}

impl Shared {
    fn guards(&self) -> MutexGuard<'_, Vec<Weak<Guard>>> {
        self.guards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the guards about the handlers that an edit may lead to.
    fn ask_guards(&self, rules: &Rules, edit: &Edit<'_>) -> Result<(), EditError> {
        let guards: Vec<Arc<Guard>> = self.guards().iter().filter_map(Weak::upgrade).collect();
        let (Edit::Insert(draft) | Edit::Replace(draft)) = edit else { return Ok(()) };
        let Some(route) = draft.route().filter(|_| !guards.is_empty()) else { return Ok(()) };
        let targets = match &route.target {
            Target::Handler { name, .. } => BTreeSet::from([name.node.as_str()]),
            // What was inserted there since the last merge has been asked about.
            Target::Goto { table, .. } => {
                rules.entry(&table.node).map(|entry| entry.targets()).unwrap_or_default()
            }
        };
        let asked = targets.iter().flat_map(|target| guards.iter().map(|guard| guard(target)));
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

    /// Compiles a new base with these changes while no other edit is made.
    fn rebuild(&self, writer: &mut Writer, changes: &Changes) -> Result<(), CompileError> {
        let texts = self.files.with(changes.apply(&writer.base.rules, &writer.base.places));
        let (base, known) = base::compile(&self.compiler, &texts, &self.files.main, false, Threads::All)?;
        // A merge that still runs finds that it comes too late, and so does compacting.
        let mut fresh = Writer::new(base, known);
        (fresh.merging, fresh.compacting) = (writer.merging, writer.compacting);
        *writer = fresh;
        self.snapshot.store(writer.snapshot());
        Ok(())
    }
}
