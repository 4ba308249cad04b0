//! Permissions: what the sender of a message is granted, held against what a handler requires.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The permissions that the sender of a message has. The router trusts them: whoever makes them has made sure who
/// the sender is.
///
/// ```
/// use rulec_runtime::route::Permissions;
///
/// let permissions: Permissions = ["execute", "write"].into_iter().collect();
/// assert!(permissions.has("write") && !permissions.has("delete"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    all: bool,
    granted: BTreeSet<String>,
}

impl Permissions {
    /// None at all.
    pub fn none() -> Permissions {
        Permissions::default()
    }

    /// Every one: for messages of the program's own.
    pub fn all() -> Permissions {
        Permissions { all: true, granted: BTreeSet::new() }
    }

    /// True when this one is granted; names are compared letter by letter.
    pub fn has(&self, permission: &str) -> bool {
        self.all || self.granted.contains(permission)
    }

    /// Those of a list that are not granted.
    pub(super) fn missing(&self, required: &[Arc<str>]) -> Vec<String> {
        required.iter().filter(|one| !self.has(one)).map(ToString::to_string).collect()
    }
}

impl<S: Into<String>> FromIterator<S> for Permissions {
    fn from_iter<I: IntoIterator<Item = S>>(permissions: I) -> Permissions {
        Permissions { all: false, granted: permissions.into_iter().map(Into::into).collect() }
    }
}
