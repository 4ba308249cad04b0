//! The rules by which the service decides, and which can change while it runs. A *rule set* is the
//! rules of one source, such as a file, under one name. A *version* is the content of a rule set
//! between two changes. If a new version cannot be loaded, the last good version stays in force.
//! The status of the rule set then holds the error.

mod file;
mod folder;
mod history;
mod loading;
#[cfg(feature = "remote")]
mod remote;
mod source;
mod version;

pub(crate) use folder::{FolderWatch, RuleHost};
pub use folder::{ListRules, RuleFolders, RuleListing};
pub use loading::StartError;
pub(crate) use loading::compiler;
#[cfg(feature = "remote")]
pub use remote::RemoteSource;
pub(crate) use source::open_rule_sources;
pub use source::{RuleSource, RulesLocation};
pub(crate) use version::Version;

use crate::events::Events;
#[cfg(feature = "remote")]
use crate::metrics::FetchResult;
use crate::metrics::{Metrics, RuleSetMetrics};
use crate::problem::Problem;
use arc_swap::{ArcSwap, ArcSwapOption};
use history::VersionHistory;
use loading::{SourceFeed, SourceFiles};
use rulec::history::{MemoryStore, Store};
use rulec::{Decision, Edit, LiveRules, Message, UnknownEntry};
use rulec_import::ReportItem;
use rulec_runtime::route::{LoadedRules, run_at_low_priority};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The rules of one source under one name: the version in force, the earlier versions and the
/// shadow rules.
pub struct RuleSet {
    name: String,
    active: ArcSwap<Version>,
    /// The shadow rules: they decide the same messages as the rules in force, only to compare the
    /// decisions.
    shadow: ArcSwapOption<ShadowRules>,
    /// The recorded messages, for rules that read a history. All versions of the rules share them.
    histories: HistoryStorage,
    /// The earlier versions. A change of the active version holds this lock, so that changes happen
    /// one after another.
    earlier_versions: Mutex<VersionHistory>,
    source_status: Mutex<SourceStatus>,
    metrics: RuleSetMetrics,
    events: Events,
    files: SourceFiles,
    /// The watch of the source, and the task that puts its new versions into force. `None` if the
    /// source never changes.
    feed: OnceLock<SourceFeed>,
}

/// The recorded messages of a rule set.
pub(crate) enum HistoryStorage {
    /// Messages in memory, which are lost when the service ends.
    Memory(MemoryStore),
    /// Messages in a store that outlives the service. Its methods may wait for a disk or a server.
    Persistent(Arc<dyn Store>),
}

/// A function that opens the store of recorded messages for the rule set with this name. It returns
/// the reason if the store cannot be used.
pub type OpenHistory = Arc<dyn Fn(&str) -> Result<Arc<dyn Store>, Message> + Send + Sync>;

/// The texts of a rule set's files, each with the name of its file.
pub(crate) type FileTexts = Vec<(String, String)>;

/// The status of the source of a rule set: how many versions were loaded and refused since the
/// service started.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceStatus {
    /// Number of versions of the source that came into force. Edits through requests do not change
    /// the source, so they do not count.
    pub loaded: u64,
    /// Number of versions of the source that could not be loaded.
    pub refused: u64,
    /// Why the current content of the source could not be fetched or loaded; `None` if it is in
    /// force.
    pub error: Option<String>,
}

/// Shadow rules: they decide the same messages as the rules in force, only for comparison. This
/// type also holds the counts of the comparison.
pub(crate) struct ShadowRules {
    pub version: Arc<Version>,
    same_count: AtomicU64,
    different_count: AtomicU64,
}

/// Numbers of messages for which shadow rules and the rules in force made the same decision, and
/// different decisions.
#[derive(Clone, Debug, Serialize)]
pub struct ShadowCounts {
    /// Generation (version number) of the shadow rules.
    pub generation: u64,
    /// Number of messages for which the shadow rules and the rules in force made the same decision.
    pub same: u64,
    /// Number of messages for which the shadow rules made another decision than the rules in force,
    /// or could not decide.
    pub different: u64,
}

impl RuleSet {
    pub(crate) fn new(
        name: String,
        rules: LoadedRules,
        files: SourceFiles,
        store: HistoryStorage,
        (metrics, events): (&Metrics, &Events),
    ) -> RuleSet {
        let version = Version::new(rules, "source");
        let metrics = metrics.for_rule_set(&name);
        show_version(&version, &name, &metrics, events);
        RuleSet {
            name,
            active: ArcSwap::from_pointee(version),
            shadow: ArcSwapOption::empty(),
            histories: store,
            earlier_versions: Mutex::default(),
            source_status: Mutex::new(SourceStatus { loaded: 1, ..SourceStatus::default() }),
            metrics,
            events: events.clone(),
            files,
            feed: OnceLock::new(),
        }
    }

    /// Returns the name by which requests select this rule set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version of the rules that is in force.
    pub(crate) fn active(&self) -> arc_swap::Guard<Arc<Version>> {
        self.active.load()
    }

    /// Returns the version in force with the texts of its files. Blocks edits while it reads, so
    /// that [`Version::rules`] and the returned texts belong together.
    ///
    /// # Errors
    /// As [`Version::rules`].
    pub(crate) fn version_and_texts(&self) -> Result<(Arc<Version>, FileTexts), Problem> {
        let _no_change = self.lock_version_history();
        let version = self.active.load_full();
        version.rules()?;
        let texts = version.live().texts();
        Ok((version, texts))
    }

    /// Returns the name of the main file among the texts of [`RuleSet::version_and_texts`]. `None`
    /// for rules without texts, such as compiled ones.
    pub(crate) fn main_file<'t>(&self, texts: &'t FileTexts) -> Option<&'t str> {
        history::main_file(&self.files, texts)
    }

    /// Returns the store of recorded messages, which rules read as `history`.
    pub(crate) fn store(&self) -> &dyn Store {
        match &self.histories {
            HistoryStorage::Memory(store) => store,
            HistoryStorage::Persistent(store) => &**store,
        }
    }

    /// True if reading or recording messages may wait for a disk or a server.
    pub(crate) fn is_store_blocking(&self) -> bool {
        matches!(self.histories, HistoryStorage::Persistent(_))
    }

    #[cfg(feature = "studio")]
    pub(crate) fn files(&self) -> &SourceFiles {
        &self.files
    }

    pub(crate) fn metrics(&self) -> &RuleSetMetrics {
        &self.metrics
    }

    /// Returns the generation (version number) of the rules in force.
    pub fn generation(&self) -> u64 {
        self.active().live().generation()
    }

    /// Asks the watch of the source to check soon whether the source has changed.
    pub fn check_source(&self) {
        if let Some(feed) = self.feed.get() {
            feed.check_source();
        }
    }

    /// Returns how many versions of the source were loaded and refused since the service started.
    pub fn source_status(&self) -> SourceStatus {
        self.lock_status().clone()
    }

    fn lock_status(&self) -> MutexGuard<'_, SourceStatus> {
        self.source_status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_version_history(&self) -> MutexGuard<'_, VersionHistory> {
        self.earlier_versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a change of the source: puts `rules` of a new version into force, and records
    /// `refusal`, the reason why a version cannot be loaded. Runs on a thread with a low priority,
    /// because it frees old rules while requests are decided.
    pub(crate) async fn apply_source_change(
        self: Arc<Self>,
        rules: Option<LoadedRules>,
        refusal: Option<String>,
    ) {
        let apply = move || {
            rules.into_iter().for_each(|rules| self.load_version(rules));
            refusal.into_iter().for_each(|error| self.note_refused_version(error));
        };
        // A change that is being made may hold the lock of the rules for long.
        let applied = tokio::task::spawn_blocking(|| run_at_low_priority(apply));
        // A panic is reported by the runtime, and the next version is tried.
        let _ = applied.await;
    }

    /// Puts rules that were loaded from a new version of the source into force.
    fn load_version(&self, rules: LoadedRules) {
        self.activate(&mut self.lock_version_history(), Version::new(rules, "source"));
        let mut status = self.lock_status();
        status.loaded += 1;
        status.error = None;
    }

    /// Records that the current content of the source cannot be loaded.
    fn note_refused_version(&self, error: String) {
        let _ = self.events.audit("refused", json!({ "rules": self.name, "error": error }));
        self.metrics.count_refused_version();
        let mut status = self.lock_status();
        status.refused += 1;
        status.error = Some(error);
    }

    /// Counts in the metrics that the source was fetched. `is_new` is true if its content has
    /// changed.
    #[cfg(feature = "remote")]
    pub(crate) fn note_fetch(&self, is_new: bool) {
        self.metrics.count_fetch(if is_new { FetchResult::changed } else { FetchResult::unchanged });
    }

    /// Records in the status that the source can be reached. `refusal` is the reason why its
    /// content is not in force; `None` if it is.
    #[cfg(feature = "remote")]
    pub(crate) fn note_source_reached(&self, refusal: Option<String>) {
        self.lock_status().error = refusal;
    }

    /// Records that the source cannot be fetched. The same error several times in a row is reported
    /// as one event.
    #[cfg(feature = "remote")]
    pub(crate) fn note_failed_fetch(&self, error: String) {
        self.metrics.count_fetch(FetchResult::failed);
        let mut status = self.lock_status();
        if status.error.as_ref() != Some(&error) {
            self.events.report("fetch_failed", json!({ "rules": self.name, "error": error }));
            status.error = Some(error);
        }
    }

    fn activate(&self, history: &mut VersionHistory, version: Version) -> u64 {
        let (generation, origin) = (version.live().generation(), version.origin());
        history.keep_version(&self.active.load_full());
        show_version(&version, &self.name, &self.metrics, &self.events);
        self.active.store(Arc::new(version));
        let event = json!({ "rules": self.name, "generation": generation, "origin": origin });
        // No answer waits for this line. A change through the service waits for its own line,
        // `change`.
        let _ = self.events.audit("in_force", event);
        generation
    }

    /// Applies edits to the rules in force, all or none. Returns the new generation (version
    /// number). `expected` is the generation that the caller has read. With `None`, the edits apply
    /// to any generation.
    ///
    /// # Errors
    /// If the rules in force have another generation than `expected`, or an edit does not apply.
    pub fn edit(&self, edits: &[Edit], expected: Option<u64>) -> Result<u64, Problem> {
        let mut history = self.lock_version_history();
        self.check_generation(expected)?;
        let active = self.active.load_full();
        refuse_edits_of_document(&active)?;
        let live = active.live();
        let before = (live.generation(), live.texts());
        live.edit(edits)?;
        history.keep_texts(before.0, before.1);
        // The old version caches data of the rules before the edit, so the edit needs a new
        // version.
        self.active.store(Arc::new(active.version_after_edit()));
        self.metrics.set_generation(live.generation());
        Ok(live.generation())
    }

    /// Puts the rules of an earlier generation (version number) into force again, as a new version.
    /// Returns the generation of the new version.
    ///
    /// # Errors
    /// If `generation` is not one of [`RuleSet::kept_generations`], or the rules in force have
    /// another generation than `expected`.
    pub fn roll_back(&self, generation: u64, expected: Option<u64>) -> Result<u64, Problem> {
        let mut history = self.lock_version_history();
        self.check_generation(expected)?;
        let rules = history.restore(generation, &self.files)?;
        Ok(self.activate(&mut history, Version::new(rules, "rollback")))
    }

    /// Sets the shadow rules, which decide the same messages only for comparison. Compiles `text`,
    /// or a copy of the rules in force if `text` is `None`, and applies `edits`. Returns the
    /// generation (version number) of the shadow rules.
    ///
    /// # Errors
    /// If the shadow rules do not compile, an edit does not apply, or only signed rules are
    /// accepted.
    pub fn set_shadow(&self, text: Option<&str>, edits: &[Edit]) -> Result<u64, Problem> {
        if self.files.requires_signature {
            return Err(Problem::forbidden("only signed rules are accepted; load a signed artifact"));
        }
        let rules = match text {
            Some(text) => LiveRules::from_text(compiler(), text)?,
            None => {
                let active = self.active();
                refuse_edits_of_document(&active)?;
                history::recompile(&self.files, &active.live().texts())?
            }
        };
        rules.edit(edits)?;
        let generation = rules.generation();
        let version = Arc::new(Version::new(rules, "shadow"));
        let shadow =
            ShadowRules { version, same_count: AtomicU64::new(0), different_count: AtomicU64::new(0) };
        self.shadow.store(Some(Arc::new(shadow)));
        Ok(generation)
    }

    /// Puts the shadow rules into force, and ends the comparison. Returns their generation (version
    /// number).
    ///
    /// # Errors
    /// If there are no shadow rules, or the rules in force have another generation than `expected`.
    pub fn promote_shadow(&self, expected: Option<u64>) -> Result<u64, Problem> {
        let mut history = self.lock_version_history();
        self.check_generation(expected)?;
        let shadow = self.shadow.swap(None).ok_or_else(no_shadow_problem)?;
        let rules = shadow.version.loaded_rules();
        Ok(self.activate(&mut history, Version::new(rules, "promotion")))
    }

    /// Removes the shadow rules, which decide the same messages only for comparison.
    ///
    /// # Errors
    /// If there are no shadow rules.
    pub fn remove_shadow(&self) -> Result<(), Problem> {
        self.shadow.swap(None).map(drop).ok_or_else(no_shadow_problem)
    }

    /// Returns how often the shadow rules made the same decision as the rules in force, and how
    /// often not. `None` without shadow rules.
    pub fn shadow_counts(&self) -> Option<ShadowCounts> {
        let shadow = self.shadow.load();
        shadow.as_ref().map(|shadow| ShadowCounts {
            generation: shadow.version.live().generation(),
            same: shadow.same_count.load(Ordering::Relaxed),
            different: shadow.different_count.load(Ordering::Relaxed),
        })
    }

    /// Returns the generations (version numbers) that [`RuleSet::roll_back`] can put into force
    /// again, oldest first.
    pub fn kept_generations(&self) -> Vec<u64> {
        self.lock_version_history().generations()
    }

    fn check_generation(&self, expected: Option<u64>) -> Result<(), Problem> {
        check_generation(self.generation(), expected)
    }

    /// Decides the JSON text `text` by the same entry (such as a table) of the shadow rules too, if
    /// there are any. Counts whether the result equals `decision`.
    pub(crate) fn compare_with_shadow(&self, entry: &str, text: &[u8], decision: &Decision) {
        let shadow = self.shadow.load();
        let Some(shadow) = shadow.as_ref() else { return };
        let other: Result<_, UnknownEntry> = shadow.version.live().decide_line_in(entry, text);
        let is_same = match other {
            Ok(Ok(other)) => decision_json(&other) == decision_json(decision),
            _ => false,
        };
        self.metrics.count_shadow(is_same);
        let count = if is_same { &shadow.same_count } else { &shadow.different_count };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Maximum number of skipped items that an event lists.
const MAX_LISTED_ITEMS: usize = 20;

/// Updates the metrics for a version of the rules that comes into force. Also reports as an event
/// which items of its document were skipped.
fn show_version(version: &Version, name: &str, metrics: &RuleSetMetrics, events: &Events) {
    let skipped = version.document().map_or(0, |imported| imported.report.skipped().count());
    metrics.set_generation(version.live().generation());
    metrics.set_skipped_items(skipped);
    if let Some(imported) = version.document().filter(|_| skipped > 0) {
        let items = imported.report.skipped().flat_map(ReportItem::messages).take(MAX_LISTED_ITEMS);
        let items: Vec<String> = items.map(|message| message.to_string()).collect();
        events.report("items_skipped", json!({ "rules": name, "count": skipped, "items": items }));
    }
}

/// Refuses to edit rules that were loaded from a JSON document.
fn refuse_edits_of_document(version: &Version) -> Result<(), Problem> {
    match version.document() {
        Some(_) => Err(Problem::conflict(
            "the rules come from a JSON document and cannot be edited; change the document at its source",
        )),
        None => Ok(()),
    }
}

fn decision_json(decision: &Decision) -> Vec<u8> {
    let mut bytes = Vec::new();
    decision.write_json(&mut bytes);
    bytes
}

/// Checks that the generation (version number) of the rules in force is the one that a request
/// expects. `None` means that the request accepts any generation.
///
/// # Errors
/// If the rules in force have another generation.
pub(crate) fn check_generation(generation: u64, expected: Option<u64>) -> Result<(), Problem> {
    match expected {
        Some(expected) if expected != generation => Err(Problem::changed(format!(
            "the rules in force have the generation {generation}, not {expected}; read them again"
        ))),
        _ => Ok(()),
    }
}

fn no_shadow_problem() -> Problem {
    Problem::conflict("there are no shadow rules; set them with `PUT …/shadow` first")
}

/// The JSON fields of an edit in a request. Exactly one of `insert`, `replace` and `remove` must be
/// present.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFields {
    insert: Option<String>,
    replace: Option<String>,
    remove: Option<String>,
    table: Option<String>,
    file: Option<String>,
}

/// Converts an edit from a JSON object: `{"insert": "route …"}`, `{"replace": "…"}` or `{"remove":
/// "NAME"}`, each with an optional `table` and `file`.
///
/// # Errors
/// If the object has not exactly one of the keys `insert`, `replace` and `remove`. Also if it has
/// an unknown key, or a value that is not a text.
pub(crate) fn read_edit(json: &Json) -> Result<Edit, Problem> {
    let wrong = || {
        Problem::invalid(
            "an edit is an object with one of the texts `insert`, `replace` and `remove`, and optional texts \
             `table` and `file`",
        )
    };
    // Serde would also accept an array with the values of the fields.
    let fields = Some(json).filter(|json| json.is_object()).map(EditFields::deserialize);
    let Some(Ok(EditFields { insert, replace, remove, table, file })) = fields else { return Err(wrong()) };
    let actions = [insert.map(Edit::insert), replace.map(Edit::replace), remove.map(Edit::remove)];
    let mut found = actions.into_iter().flatten();
    let (Some(mut edit), None) = (found.next(), found.next()) else { return Err(wrong()) };
    if let Some(table) = table {
        edit = edit.in_table(table);
    }
    if let Some(file) = file {
        edit = edit.in_file(file);
    }
    Ok(edit)
}
