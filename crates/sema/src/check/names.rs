//! Paths of field names. A map with owned paths as keys is searched by borrowed paths, so that a
//! lookup allocates no memory. Also lists of names in help texts.

use hashbrown::{Equivalent, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// An owned path: the names of the fields on it, outermost first.
pub(super) type OwnedPath = Vec<Arc<str>>;

/// A path segment, owned or borrowed from the AST.
pub(super) trait PathSegment: AsRef<str> + Hash {}
impl<T: AsRef<str> + Hash> PathSegment for T {}

/// A borrowed path, with which a map keyed by owned paths can be searched without allocation.
#[derive(Hash)]
pub(super) struct PathRef<'p, N>(pub(super) &'p [N]);

impl<N: PathSegment> Equivalent<OwnedPath> for PathRef<'_, N> {
    fn equivalent(&self, key: &OwnedPath) -> bool {
        is_same_path(key, self.0)
    }
}

/// True if both paths have the same names.
pub(super) fn is_same_path(path: &[Arc<str>], names: &[impl PathSegment]) -> bool {
    path.len() == names.len() && path.iter().zip(names).all(|(a, b)| **a == *b.as_ref())
}

/// A set of field names, so that equal names in stored paths share memory.
#[derive(Default)]
pub(super) struct NameInterner(HashSet<Arc<str>, foldhash::fast::FixedState>);

impl NameInterner {
    /// Returns the shared copy of the name; stores a new copy if there is none.
    pub(super) fn intern_name(&mut self, name: &str) -> Arc<str> {
        self.0.get_or_insert_with(name, |name| name.into()).clone()
    }

    /// Converts a path to an owned path of interned names.
    pub(super) fn intern_path(&mut self, path: &[impl PathSegment]) -> OwnedPath {
        path.iter().map(|name| self.intern_name(name.as_ref())).collect()
    }
}

/// True for the path `text`, which is a string unless declared otherwise.
pub(super) fn is_message_text(path: &[impl PathSegment]) -> bool {
    matches!(path, [name] if name.as_ref() == "text")
}

/// Maximum number of names that a help text lists.
const MAX_LISTED_NAMES: usize = 20;

/// Joins names for a help text. Lists at most [`MAX_LISTED_NAMES`] names.
pub(super) fn join_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.take(MAX_LISTED_NAMES + 1).collect();
    if names.len() > MAX_LISTED_NAMES {
        names[MAX_LISTED_NAMES] = "…";
    }
    names.join(", ")
}
