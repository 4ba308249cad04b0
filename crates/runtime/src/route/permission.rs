//! The permissions of a message's sender. A router compares them with the permissions that a
//! handler requires.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The permissions of a message's sender. The router trusts this value: the code that creates it
/// must have authenticated the sender.
///
/// ```
/// use rulec_runtime::route::Permissions;
///
/// let permissions: Permissions = ["execute", "write"].into_iter().collect();
/// assert!(permissions.has("write") && !permissions.has("delete"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    grants_all: bool,
    granted: BTreeSet<String>,
}

impl Permissions {
    /// Returns the permissions of a sender to whom nothing is permitted.
    pub fn none() -> Permissions {
        Permissions::default()
    }

    /// Returns the permissions of a sender to whom everything is permitted. Use them for messages
    /// that the program itself creates.
    pub fn all() -> Permissions {
        Permissions { grants_all: true, granted: BTreeSet::new() }
    }

    /// True if `permission` is granted. Names are compared exactly, with case.
    pub fn has(&self, permission: &str) -> bool {
        self.grants_all || self.granted.contains(permission)
    }

    /// Returns the permissions in `required` that this value does not grant.
    pub(super) fn missing_permissions(&self, required: &[Arc<str>]) -> Vec<String> {
        required.iter().filter(|permission| !self.has(permission)).map(ToString::to_string).collect()
    }
}

impl<S: Into<String>> FromIterator<S> for Permissions {
    fn from_iter<I: IntoIterator<Item = S>>(permissions: I) -> Permissions {
        Permissions { grants_all: false, granted: permissions.into_iter().map(Into::into).collect() }
    }
}
