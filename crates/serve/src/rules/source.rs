//! The sources of rules: rule files, artifacts (compiled rules), and HTTP addresses. The service
//! watches them for changes.

use super::loading::{RulesLoadingContext, StartError};
#[cfg(feature = "remote")]
use super::remote::{self, RemoteSource};
use super::{OpenHistory, RuleSet, file};
use crate::events::Events;
use crate::metrics::Metrics;
use rulec::VerifyingKey;
use rulec_import::DocumentOptions;
use std::path::PathBuf;
use std::sync::Arc;

/// A source of rules, and the name of the rule set that is loaded from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    /// The name by which requests select the rule set.
    pub rule_set_name: String,
    /// Where the rules are: a file or an HTTP address.
    pub location: RulesLocation,
    /// How the source is read if it is a JSON document of another system.
    pub document: DocumentOptions,
}

/// The place from which the rules of a source are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RulesLocation {
    /// A file with rules, an artifact (a file of compiled rules), or a JSON document of another
    /// system.
    File {
        /// The path of the file that contains the rules.
        path: PathBuf,
        /// The folder that imports must stay inside; `None` for the folder of the file.
        import_root: Option<PathBuf>,
    },
    /// An HTTP address from which the rules are fetched.
    #[cfg(feature = "remote")]
    Address(RemoteSource),
}

impl RuleSource {
    /// Creates a source from a file whose imports are in its folder.
    pub fn from_file(name: impl Into<String>, path: impl Into<PathBuf>) -> RuleSource {
        RuleSource {
            rule_set_name: name.into(),
            location: RulesLocation::File { path: path.into(), import_root: None },
            document: DocumentOptions::default(),
        }
    }
}

/// Loads the rules of each source, and watches the sources for changes. If `trusted_keys` has keys,
/// loads only artifacts (compiled rules) that one of the keys has signed. `open_history` opens the
/// stores of histories; without it, histories are kept in memory.
///
/// Must run inside a tokio runtime.
///
/// # Errors
/// If a source cannot be loaded, two sources have the same name, or the store of a history cannot
/// be used.
pub(crate) async fn open_rule_sources(
    sources: &[RuleSource],
    trusted_keys: &[VerifyingKey],
    open_history: Option<&OpenHistory>,
    (metrics, events): (&Metrics, &Events),
) -> Result<Vec<Arc<RuleSet>>, StartError> {
    let loaders = RulesLoadingContext { trusted_keys, metrics, events, open_history };
    let mut sets: Vec<Arc<RuleSet>> = Vec::with_capacity(sources.len());
    for RuleSource { rule_set_name: name, location: place, document } in sources {
        if sets.iter().any(|set| set.name() == name) {
            return Err(StartError::SameName(name.clone()));
        }
        sets.push(match place {
            RulesLocation::File { path, import_root: root } => {
                file::open_rule_file(name, path, root.as_deref(), *document, &loaders).await?
            }
            #[cfg(feature = "remote")]
            RulesLocation::Address(address) => {
                remote::open_remote_rules(name, address, *document, &loaders).await?
            }
        });
    }
    Ok(sets)
}
