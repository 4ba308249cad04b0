//! Loads rules from files (texts, artifacts and JSON documents), and puts each change of these
//! files into force.

use super::RuleSet;
use super::loading::{RulesLoadingContext, SourceFeed, StartError};
use rulec_import::DocumentOptions;
use rulec_runtime::route::WatchedRules;
use std::path::Path;
use std::sync::{Arc, Weak};

/// Loads the rules of the file `path` as the rule set `name`, and watches the file for changes. The
/// folder `root` must contain all files that the rules import; `None` for the folder of `path`.
/// `document` says how a JSON document is read.
pub(super) async fn open_rule_file(
    name: &str,
    path: &Path,
    root: Option<&Path>,
    document: DocumentOptions,
    loaders: &RulesLoadingContext<'_>,
) -> Result<Arc<RuleSet>, StartError> {
    let mut compiler = loaders.compiler();
    if let Some(root) = root {
        compiler = compiler.root(root);
    }
    let (disk, main) =
        compiler.on_disk(path).map_err(|error| StartError::Compile(path.to_owned(), Box::new(error)))?;
    let watched = WatchedRules::open(loaders.source_loader(compiler, document), path).await;
    let watched = watched.map_err(|error| StartError::from_watch_error(path, error))?;
    let set = Arc::new(loaders.create_rule_set(name, watched.loaded_rules(), main, Some(disk))?);
    let task = tokio::spawn(load_new_versions(Arc::downgrade(&set), watched.clone())).abort_handle();
    let _ = set.feed.set(SourceFeed::new(move || watched.check(), task));
    Ok(set)
}

/// Puts each new version of the watched files into force.
async fn load_new_versions(set: Weak<RuleSet>, mut watched: WatchedRules) {
    let mut seen = watched.status();
    loop {
        let status = watched.changed().await;
        let Some(set) = set.upgrade() else { return };
        let rules = (status.loaded > seen.loaded).then(|| watched.loaded_rules());
        let error = status.error.as_ref().filter(|_| status.refused > seen.refused).map(ToString::to_string);
        set.apply_source_change(rules, error).await;
        seen = status;
    }
}
