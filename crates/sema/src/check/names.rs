//! Paths of names, kept or looked up without being made.

use hashbrown::{Equivalent, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// A path to keep.
pub(super) type Path = Vec<Arc<str>>;

/// A name of a path, kept or still in the syntax tree.
pub(super) trait Name: AsRef<str> + Hash {}
impl<T: AsRef<str> + Hash> Name for T {}

/// Looks a path up without making one.
#[derive(Hash)]
pub(super) struct Names<'p, N>(pub(super) &'p [N]);

impl<N: Name> Equivalent<Path> for Names<'_, N> {
    fn equivalent(&self, key: &Path) -> bool {
        same_path(key, self.0)
    }
}

/// True when both are the same names.
pub(super) fn same_path(path: &[Arc<str>], names: &[impl Name]) -> bool {
    path.len() == names.len() && path.iter().zip(names).all(|(a, b)| **a == *b.as_ref())
}

/// The names of paths that are kept, each made once: most paths have them in common.
#[derive(Default)]
pub(super) struct KeptNames(HashSet<Arc<str>, foldhash::fast::FixedState>);

impl KeptNames {
    /// A name to keep.
    pub(super) fn name(&mut self, name: &str) -> Arc<str> {
        self.0.get_or_insert_with(name, |name| name.into()).clone()
    }

    /// A path to keep.
    pub(super) fn path(&mut self, path: &[impl Name]) -> Path {
        path.iter().map(|name| self.name(name.as_ref())).collect()
    }
}

/// True for the path `text`, which is a string where nothing is declared.
pub(super) fn is_text(path: &[impl Name]) -> bool {
    matches!(path, [name] if name.as_ref() == "text")
}
