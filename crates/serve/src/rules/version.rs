//! One version of a rule set, with derived data, such as the hash, that is computed only once.

use crate::problem::Problem;
use rulec::flow::FlowMatcher;
use rulec::{LiveRules, Rules, TableKind, artifact, payload};
use rulec_import::Imported;
use rulec_runtime::route::LoadedRules;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use time::OffsetDateTime;

/// A version of the rules. Data that takes long to compute, such as the intent classifier, is
/// computed on first use.
pub(crate) struct Version {
    live: LiveRules,
    /// The result of importing the JSON document from which the rules were loaded; `None` for other
    /// rules.
    document: Option<Arc<Imported>>,
    /// What created the version. `source`: the rules were loaded from their source. `edit`: a
    /// request edited them. `rollback`: earlier rules came into force again. `shadow`: the version
    /// is a candidate that is only compared with the version in force. `promotion`: such a
    /// candidate came into force.
    origin: &'static str,
    in_force_since: OffsetDateTime,
    /// The name of the entry (such as a table) that decides if a request names no entry. If the
    /// rules have several entries and no default, an error with the names of all entries. An empty
    /// error if the rules have no entry.
    default_entry: Result<String, Vec<String>>,
    /// Whether the rules have flows that an intent classifier can choose.
    has_intents: bool,
    /// Whether the rules read earlier messages, which the service must then record.
    has_history: bool,
    /// Whether some requests need the [`DerivedRuleData`], which take long to compute. True if the
    /// rules have a history, intents or a choice.
    needs_derived_data: bool,
    derived_data: OnceLock<DerivedRuleData>,
    /// Lock that a thread holds while it computes the derived data (data that take long to
    /// compute), so that concurrent requests compute them only once.
    derive_lock: Mutex<()>,
}

/// Data that take long to compute from the rules: the rules with all edits compiled in, the intent
/// classifier, and the hash.
struct DerivedRuleData {
    rules: Rules,
    /// The generation (version number of the rule set) to which `rules` belongs.
    generation: u64,
    matcher: Option<FlowMatcher>,
    artifact_hash: OnceLock<String>,
}

impl Version {
    pub fn new(rules: impl Into<LoadedRules>, origin: &'static str) -> Version {
        let LoadedRules { rules: live, document, .. } = rules.into();
        let rules = live.rules();
        let to_names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let default_entry = rules.default_entry().map(|entry| entry.name().to_owned()).map_err(to_names);
        Version {
            default_entry,
            has_intents: rules.program().has_intents(),
            has_history: rules.has_history(),
            needs_derived_data: rules.has_history()
                || rules.program().has_intents()
                || rules.program().tables.iter().any(|table| table.kind == TableKind::Choice),
            live,
            document,
            origin,
            in_force_since: OffsetDateTime::now_utc(),
            derived_data: OnceLock::new(),
            derive_lock: Mutex::default(),
        }
    }

    /// Returns the version to use after an edit of this version's live rules. It shares the live
    /// rules, but has no derived data, because this version's data may lack the edit.
    pub fn version_after_edit(&self) -> Version {
        // A route that was inserted into rules without routes becomes an entry only when the edits
        // are merged.
        if self.default_entry.is_err() {
            let _ = self.live.merge();
        }
        Version::new(self.live.clone(), "edit")
    }

    pub fn live(&self) -> &LiveRules {
        &self.live
    }

    /// Returns the result of importing the JSON document from which the rules were loaded; `None`
    /// for other rules.
    pub fn document(&self) -> Option<&Imported> {
        self.document.as_deref()
    }

    /// Returns the rules as they were loaded, with the result of importing their document.
    pub fn loaded_rules(&self) -> LoadedRules {
        let mut loaded = LoadedRules::from(self.live.clone());
        loaded.document.clone_from(&self.document);
        loaded
    }

    pub fn origin(&self) -> &'static str {
        self.origin
    }

    pub fn in_force_since(&self) -> OffsetDateTime {
        self.in_force_since
    }

    /// True if the rules read earlier messages, which the service must then record.
    pub fn has_history(&self) -> bool {
        self.has_history
    }

    /// True if the rules have flows that an intent classifier can choose.
    pub fn has_intents(&self) -> bool {
        self.has_intents
    }

    /// Returns the name of the entry (such as a table) that decides: `name`, or the default entry.
    /// Does not check that an entry `name` exists.
    ///
    /// # Errors
    /// If `name` is `None`, and the rules have no default entry.
    pub fn entry_name<'n>(&'n self, name: Option<&'n str>) -> Result<&'n str, Problem> {
        match (name, &self.default_entry) {
            (Some(name), _) => Ok(name),
            (None, Ok(name)) => Ok(name),
            (None, Err(names)) => Err(self.no_default_entry(names)),
        }
    }

    /// Returns the error of a decision that names no entry, although `names` has several entries or
    /// none. If the rules judge payloads, says where.
    fn no_default_entry(&self, names: &[String]) -> Problem {
        let has_payloads = payload::kinds(&self.live.rules()).next().is_some();
        let help = if has_payloads { "; payloads are judged at `/v1/judge/KIND`" } else { "" };
        Problem::unknown_entry(match names.is_empty() {
            true => format!("the rules contain no route, choice, router or flow to decide with{help}"),
            false => {
                format!("the rules have several entries; choose one with `entry`: {}{help}", names.join(", "))
            }
        })
    }

    /// True if the next decision may have to wait until the derived data are computed.
    pub fn must_compute_derived_data(&self) -> bool {
        self.needs_derived_data && self.derived_data.get().is_none()
    }

    fn derived_data(&self) -> Result<&DerivedRuleData, Problem> {
        if let Some(derived) = self.derived_data.get() {
            return Ok(derived);
        }
        let _deriving = self.derive_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(derived) = self.derived_data.get() {
            return Ok(derived);
        }
        let (rules, generation) = self.merge_edits()?;
        let matcher = self.has_intents.then(|| FlowMatcher::offline(&rules).ok()).flatten();
        Ok(self.derived_data.get_or_init(|| DerivedRuleData {
            rules,
            generation,
            matcher,
            artifact_hash: OnceLock::new(),
        }))
    }

    /// Compiles all edits into the rules. Returns the rules and their generation (version number).
    fn merge_edits(&self) -> Result<(Rules, u64), Problem> {
        loop {
            let generation = self.live.generation();
            self.live.merge()?;
            let rules = self.live.rules();
            // If another thread has edited the rules in between, `rules` may lack that edit.
            if self.live.generation() == generation {
                return Ok((rules, generation));
            }
        }
    }

    /// Returns the rules with all edits compiled in. Unlike the live rules, they can explain their
    /// decisions.
    ///
    /// # Errors
    /// If the edited rules do not compile, which would be a bug in the library.
    pub fn rules(&self) -> Result<&Rules, Problem> {
        Ok(&self.derived_data()?.rules)
    }

    /// Returns the generation (version number) of [`Version::rules`].
    ///
    /// # Errors
    /// As [`Version::rules`].
    pub fn generation(&self) -> Result<u64, Problem> {
        Ok(self.derived_data()?.generation)
    }

    /// Returns the entity tag (HTTP `ETag`) of [`Version::rules`]: their generation, and the start
    /// of their hash.
    ///
    /// # Errors
    /// As [`Version::rules`].
    pub fn entity_tag(&self) -> Result<String, Problem> {
        let hash = self.artifact_hash()?;
        Ok(format!("\"{}-{}\"", self.generation()?, hash.get(..16).unwrap_or(hash)))
    }

    /// Returns the classifier that chooses among flows with intents. `None` if no flow has an
    /// intent, or if the examples do not suffice to train the classifier.
    pub fn matcher(&self) -> Result<Option<&FlowMatcher>, Problem> {
        Ok(self.derived_data()?.matcher.as_ref())
    }

    /// Returns the SHA-256 hash of the rules' artifact (their compiled form), in hexadecimal. Equal
    /// rules have equal hashes on every machine.
    pub fn artifact_hash(&self) -> Result<&str, Problem> {
        let derived = self.derived_data()?;
        Ok(derived.artifact_hash.get_or_init(|| {
            let hash = artifact::content_hash(&derived.rules.to_artifact(true));
            hash.map(|hash| artifact::hexadecimal(&hash)).unwrap_or_default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::compiler;

    /// While `must_compute_derived_data` is true, a request is answered on a thread that may block.
    #[test]
    fn rules_whose_decisions_need_derived_data_must_be_prepared() {
        let version =
            |text: &str| Version::new(LiveRules::from_text(compiler(), text).expect("rules"), "source");
        assert!(!version("default -> chat").must_compute_derived_data());
        for text in [
            "choice mood { default branch calm  branch angry { text contains \"!\" } }",
            "flow a \"is a\" intent [\"one two\", \"three four\"] -> \"a\"\nflow b \"is b\" intent [\"five six\", \"seven eight\"] -> \"b\"",
        ] {
            let version = version(text);
            assert!(version.must_compute_derived_data(), "{text}");
            version.rules().expect("they compile");
            assert!(!version.must_compute_derived_data(), "{text}");
        }
    }
}
