//! The paths in a message at which rules read decimals. Numbers there keep all their digits,
//! because a 64-bit float would round a long number such as `0.1234567890123456789`.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The paths inside a JSON value at which rules read decimals, as a tree. A JSON reader keeps all
/// digits of the numbers at these paths and does not round them to floats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecimalPaths {
    /// Whether the paths include the empty path: if the whole JSON value is a number, it keeps all
    /// its digits.
    keeps_digits: bool,
    /// The paths inside each element of a list, or inside each value of a dict. `None` if there are
    /// no such paths.
    element_paths: Option<Box<DecimalPaths>>,
    /// The paths inside the fields of a record, by field name.
    paths_by_field: BTreeMap<Arc<str>, DecimalPaths>,
}

impl DecimalPaths {
    /// Returns a tree without paths: no number keeps digits that a float would round.
    pub fn none() -> &'static DecimalPaths {
        static NO_DECIMAL_PATHS: DecimalPaths =
            DecimalPaths { keeps_digits: false, element_paths: None, paths_by_field: BTreeMap::new() };
        &NO_DECIMAL_PATHS
    }

    /// True if the tree has no paths: no number keeps digits that a float would round.
    pub fn is_empty(&self) -> bool {
        !self.keeps_digits && self.element_paths.is_none() && self.paths_by_field.is_empty()
    }

    /// True if the paths include the empty path: if the whole JSON value is a number, it keeps all
    /// its digits.
    pub fn keeps_digits(&self) -> bool {
        self.keeps_digits
    }

    /// Returns the paths inside each element of a list, relative to the element. `None` if there
    /// are no such paths.
    pub fn elements(&self) -> Option<&DecimalPaths> {
        self.element_paths.as_deref()
    }

    /// Returns the paths inside the value of the key `name` of a record or dict, relative to this
    /// value. `None` if there are no such paths.
    pub fn field(&self, name: &str) -> Option<&DecimalPaths> {
        self.paths_by_field.get(name).or(self.element_paths.as_deref())
    }

    /// Adds the empty path: if the whole JSON value is a number, it keeps all its digits.
    pub fn add_root_path(&mut self) {
        self.keeps_digits = true;
    }

    /// Adds paths inside each element of a list, relative to the element. Numbers at these paths
    /// keep all their digits.
    pub fn add_elements(&mut self, paths: DecimalPaths) {
        if !paths.is_empty() {
            self.element_paths.get_or_insert_default().merge(paths);
        }
    }

    /// Adds paths inside the record field `name`, relative to the field. Numbers at these paths
    /// keep all their digits.
    pub fn add_field(&mut self, name: &Arc<str>, paths: DecimalPaths) {
        if !paths.is_empty() {
            self.paths_by_field.entry(name.clone()).or_default().merge(paths);
        }
    }

    /// Adds all paths of another tree, so that numbers at the paths of either tree keep all their
    /// digits.
    pub fn merge(&mut self, other: DecimalPaths) {
        self.keeps_digits |= other.keeps_digits;
        if let Some(elements) = other.element_paths {
            self.add_elements(*elements);
        }
        for (name, paths) in other.paths_by_field {
            self.add_field(&name, paths);
        }
    }
}
