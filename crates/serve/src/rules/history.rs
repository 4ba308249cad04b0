//! The earlier versions of a rule set, which a rollback can put into force again.

use super::loading::{SourceFiles, compiler};
use super::version::Version;
use crate::problem::Problem;
use rulec::{DiskLoader, LiveRules, LoadError, Loader};
use rulec_runtime::route::LoadedRules;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Maximum number of earlier versions of a rule set that are kept.
const MAX_KEPT_VERSIONS: usize = 16;

/// The earlier versions of a rule set that are kept, oldest first.
#[derive(Default)]
pub(super) struct VersionHistory(VecDeque<EarlierVersion>);

struct EarlierVersion {
    generation: u64,
    rules: KeptRules,
}

enum KeptRules {
    /// The version itself, if another version has replaced it as a whole.
    Whole(Arc<Version>),
    /// The texts of the rules before an edit, each with the name of its file. An edit changes the
    /// version itself, so the version cannot be kept.
    Texts(Vec<(String, String)>),
}

impl VersionHistory {
    /// Adds a version that another version is about to replace.
    pub fn keep_version(&mut self, version: &Arc<Version>) {
        let generation = version.live().generation();
        self.push(EarlierVersion { generation, rules: KeptRules::Whole(version.clone()) });
    }

    /// Adds the texts that an edited version had before the edit. `generation` is the generation
    /// (version number) before the edit.
    pub fn keep_texts(&mut self, generation: u64, texts: Vec<(String, String)>) {
        self.push(EarlierVersion { generation, rules: KeptRules::Texts(texts) });
    }

    fn push(&mut self, kept: EarlierVersion) {
        self.0.retain(|old| old.generation != kept.generation);
        self.0.push_back(kept);
        if self.0.len() > MAX_KEPT_VERSIONS {
            self.0.pop_front();
        }
    }

    pub fn generations(&self) -> Vec<u64> {
        self.0.iter().map(|kept| kept.generation).collect()
    }

    /// Returns rules with the content of an earlier generation (version number). `files` are the
    /// files of the rule set.
    pub fn restore(&self, generation: u64, files: &SourceFiles) -> Result<LoadedRules, Problem> {
        let kept = self.0.iter().find(|kept| kept.generation == generation);
        match kept.map(|kept| &kept.rules) {
            Some(KeptRules::Whole(version)) => Ok(version.loaded_rules()),
            Some(KeptRules::Texts(texts)) => recompile(files, texts).map(LoadedRules::from),
            None => Err(Problem::conflict(format!(
                "the generation {generation} is not kept; the kept ones are {:?}",
                self.generations()
            ))),
        }
    }
}

/// Loads imported files from texts in memory. Other files, such as word lists, are read from the
/// disk.
struct TextsLoader<'t> {
    texts: HashMap<&'t str, &'t str>,
    disk: Option<DiskLoader>,
}

impl Loader for TextsLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        match (self.texts.get(path), &self.disk) {
            (Some(text), _) => Ok(text.as_bytes().to_vec()),
            (None, Some(disk)) => disk.load(path),
            (None, None) => Err(LoadError::NotFound),
        }
    }
}

/// Returns the name of a rule set's main file, which imports the other files. `None` if there are
/// no texts, as for compiled rules.
pub(super) fn main_file<'t>(files: &SourceFiles, texts: &'t [(String, String)]) -> Option<&'t str> {
    let names = || texts.iter().map(|(name, _)| name.as_str());
    names().find(|name| *name == files.main_file).or(names().next_back())
}

/// Compiles rules from texts. `texts` are pairs of a file's name and its text. `files` has the name
/// of the main file, and reads word lists.
pub(super) fn recompile(files: &SourceFiles, texts: &[(String, String)]) -> Result<LiveRules, Problem> {
    let Some(main) = main_file(files, texts) else {
        return Err(Problem::conflict("the texts of compiled rules are not kept; load another artifact"));
    };
    let texts = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let loader = TextsLoader { texts, disk: files.disk.clone() };
    Ok(LiveRules::new(compiler(), &loader, main)?)
}
