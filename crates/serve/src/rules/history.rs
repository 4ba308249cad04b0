//! The earlier versions of a rule set, for rolling back.

use super::loading::{SourceFiles, compiler};
use super::version::Version;
use crate::problem::Problem;
use rulec::{DiskLoader, LiveRules, LoadError, Loader};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Maximum number of earlier versions that are kept.
const MAX_KEPT: usize = 16;

/// The earlier versions, oldest first.
#[derive(Default)]
pub(super) struct History(VecDeque<Kept>);

struct Kept {
    generation: u64,
    content: Content,
}

enum Content {
    /// A version that was replaced, and is not edited any more.
    Whole(Arc<Version>),
    /// The texts of a version that was edited in place, by the names of the files.
    Texts(Vec<(String, String)>),
}

impl History {
    /// Keeps a version that another one replaces.
    pub fn keep(&mut self, version: &Arc<Version>) {
        let generation = version.live().generation();
        self.push(Kept { generation, content: Content::Whole(version.clone()) });
    }

    /// Keeps the texts of a version that is about to be edited.
    pub fn keep_texts(&mut self, generation: u64, texts: Vec<(String, String)>) {
        self.push(Kept { generation, content: Content::Texts(texts) });
    }

    fn push(&mut self, kept: Kept) {
        self.0.retain(|old| old.generation != kept.generation);
        self.0.push_back(kept);
        if self.0.len() > MAX_KEPT {
            self.0.pop_front();
        }
    }

    pub fn generations(&self) -> Vec<u64> {
        self.0.iter().map(|kept| kept.generation).collect()
    }

    /// Returns rules with the content of an earlier generation. `files` says where the rules come
    /// from.
    pub fn restore(&self, generation: u64, files: &SourceFiles) -> Result<LiveRules, Problem> {
        let kept = self.0.iter().find(|kept| kept.generation == generation);
        match kept.map(|kept| &kept.content) {
            Some(Content::Whole(version)) => Ok(version.live().clone()),
            Some(Content::Texts(texts)) => recompile(files, texts),
            None => Err(Problem::conflict(format!(
                "the generation {generation} is not kept; the kept ones are {:?}",
                self.generations()
            ))),
        }
    }
}

/// A loader of texts in memory. Word lists in files of their own are read from disk.
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

/// Compiles these texts again. `files` names the main file and the folder of word lists.
pub(super) fn recompile(files: &SourceFiles, texts: &[(String, String)]) -> Result<LiveRules, Problem> {
    let names = || texts.iter().map(|(name, _)| name.as_str());
    let main = names().find(|name| *name == files.main).or(names().next_back());
    let Some(main) = main else {
        return Err(Problem::conflict("the texts of compiled rules are not kept; load another artifact"));
    };
    let texts = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let loader = TextsLoader { texts, disk: files.disk.clone() };
    Ok(LiveRules::new(compiler(), &loader, main)?)
}
