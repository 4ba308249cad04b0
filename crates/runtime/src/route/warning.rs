//! Likely mistakes in the settings or rules of a router, which is built nevertheless. The mistakes
//! are reported when the rules become active.

use super::handlers::HandlerMap;
use rulec::{Entry, Rules};
use rulec_base::diag::{Message, nearest};
use rulec_base::message;
use std::collections::{BTreeSet, HashSet};

/// A likely mistake in a router's settings or rules. The router works nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum Warning {
    /// No route targets this registered handler, and no policy names it as fallback.
    UnusedHandler {
        /// Name of the unused handler.
        handler: String,
    },
    /// No route targets the handler for which a policy or time limit is set.
    UnusedPolicy {
        /// Name of the handler for which the policy is set.
        handler: String,
        /// A similar handler name that a route of the rules targets, if there is one.
        near: Option<String>,
    },
    /// The entry table has no route and no default, so every message ends without a route.
    EmptyEntry {
        /// Name of the table where decisions start.
        table: String,
    },
    /// The rules read the history of messages. A router keeps no history, so the rules decide as if
    /// there were no earlier messages.
    NoHistory,
}

impl Warning {
    /// Returns this warning as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            Warning::UnusedHandler { handler: name } => message!("no route leads to the handler `{name}`"),
            Warning::UnusedPolicy { handler: name, near: Some(near) } => message!(
                "a policy or time limit is set for `{name}`, to which no route leads; did you mean `{near}`?"
            ),
            Warning::UnusedPolicy { handler: name, near: None } => {
                message!("a policy or time limit is set for `{name}`, to which no route leads")
            }
            Warning::EmptyEntry { table: name } => {
                message!("the entry `{name}` holds no route and no default; name another as `entry`")
            }
            Warning::NoHistory => message!(
                "the rules have a `history`, but here they decide as if nothing happened before; \
                 a session with a store decides with the history"
            ),
        }
    }
}

/// Returns the warnings about a router's rules and handlers. The router's decisions start at
/// `entry`, and `targets` are the names of the handlers that its routes select. `handlers` are the
/// registered handlers. Also reports the warnings as `tracing` events.
pub(super) fn warnings(
    rules: &Rules,
    entry: &Entry<'_>,
    targets: &BTreeSet<&str>,
    handlers: &HandlerMap,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if entry.is_empty() {
        warnings.push(Warning::EmptyEntry { table: entry.name().to_owned() });
    }
    let fallbacks: HashSet<&String> =
        handlers.iter().flat_map(|(_, handler)| &handler.policy.fallbacks).collect();
    let mut unused: Vec<_> = handlers
        .iter()
        .filter(|(name, _)| !targets.contains(name.as_str()) && !fallbacks.contains(name))
        .collect();
    unused.sort_by_key(|(name, _)| *name);
    warnings.extend(unused.into_iter().map(|(name, handler)| match handler.is_default_handler {
        false => Warning::UnusedHandler { handler: name.clone() },
        true => {
            let near = nearest(name, targets.iter().copied()).map(str::to_owned);
            Warning::UnusedPolicy { handler: name.clone(), near }
        }
    }));
    if rules.has_history() {
        warnings.push(Warning::NoHistory);
    }
    for warning in &warnings {
        tracing::warn!(target: "rulec::router", "{warning}");
    }
    warnings
}
