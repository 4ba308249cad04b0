//! The uses of the message's fields by each statement, where no `input` declares them. They are kept
//! to check a further route later, and to see what the removal of one changes.

use super::names::{KeptNames, Name, Names, Path, is_text, same_path};
use crate::span::Span;
use crate::ty::KindSet;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// The uses of fields in one route: for each the kinds for which all its uses work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RouteUses(Vec<(Path, KindSet)>);

impl RouteUses {
    pub(super) fn note(&mut self, path: &[impl Name], kinds: KindSet, names: &mut KeptNames) {
        match self.0.iter_mut().find(|(known, _)| same_path(known, path)) {
            Some((_, left)) => *left = left.intersect(kinds),
            None => self.0.push((names.path(path), kinds)),
        }
    }
}

/// The uses of each of many routes, by where the route stands. Those of most are the same as of some other.
#[derive(Debug, Default)]
pub(crate) struct UsesByRoute {
    distinct: HashSet<Arc<RouteUses>>,
    routes: HashMap<Span, Arc<RouteUses>>,
}

impl UsesByRoute {
    pub(super) fn keep(&mut self, route: Span, uses: RouteUses) {
        let uses = self.distinct.get_or_insert_with(&uses, |uses| Arc::new(uses.clone()));
        self.routes.insert(route, Arc::clone(uses));
    }

    /// The uses of the route that stands there.
    pub(crate) fn of(&self, route: Span) -> Arc<RouteUses> {
        self.routes.get(&route).cloned().unwrap_or_default()
    }
}

/// The uses of fields in all rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldUses {
    fields: HashMap<Path, FieldUse>,
}

#[derive(Clone, Debug, Default)]
struct FieldUse {
    /// The kinds that everything but routes leaves over, where it reads the field.
    fixed: Option<KindSet>,
    /// The number of routes that use the field at each set of kinds.
    routes: SmallVec<[(KindSet, u32); 2]>,
}

impl FieldUse {
    fn kinds(&self, path: &[impl Name]) -> KindSet {
        let start = if is_text(path) { KindSet::STRING } else { KindSet::ALL };
        let start = start.intersect(self.fixed.unwrap_or(KindSet::ALL));
        self.routes.iter().fold(start, |left, (kinds, _)| left.intersect(*kinds))
    }
}

impl FieldUses {
    /// The kinds that a field is read at; `None` when nothing uses it.
    pub(super) fn kinds(&self, path: &[impl Name]) -> Option<KindSet> {
        Some(self.fields.get(&Names(path))?.kinds(path))
    }

    /// A use that is none of a route.
    pub(super) fn fix(&mut self, path: &[impl Name], kinds: KindSet, names: &mut KeptNames) {
        let field = self.field(&names.path(path));
        field.fixed = Some(field.fixed.unwrap_or(KindSet::ALL).intersect(kinds));
    }

    fn field(&mut self, path: &[Arc<str>]) -> &mut FieldUse {
        self.fields.entry_ref(path).or_default()
    }

    pub(crate) fn add(&mut self, route: &RouteUses) {
        for (path, kinds) in &route.0 {
            let field = self.field(path);
            match field.routes.iter_mut().find(|(known, _)| known == kinds) {
                Some((_, count)) => *count += 1,
                None => field.routes.push((*kinds, 1)),
            }
        }
    }

    /// Takes out the uses of a route. False when what is left reads a field at more kinds than
    /// before: rules that were made with the route in place then mean something else without it.
    pub(crate) fn remove(&mut self, route: &RouteUses) -> bool {
        let mut same = true;
        for (path, kinds) in &route.0 {
            let Some(field) = self.fields.get_mut(path) else { continue };
            let before = field.kinds(path);
            if let Some(at) = field.routes.iter().position(|(known, _)| known == kinds) {
                field.routes[at].1 -= 1;
                if field.routes[at].1 == 0 {
                    field.routes.swap_remove(at);
                }
            }
            if field.routes.is_empty() && field.fixed.is_none() {
                self.fields.remove(path);
            } else {
                same &= field.kinds(path) == before;
            }
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Path {
        name.split('.').map(Arc::from).collect()
    }

    fn uses(of: &[(&str, KindSet)]) -> RouteUses {
        let mut uses = RouteUses::default();
        of.iter().for_each(|(name, kinds)| uses.note(&path(name), *kinds, &mut KeptNames::default()));
        uses
    }

    #[test]
    fn removing_a_route_tells_whether_a_field_is_read_otherwise() {
        let mut all = FieldUses::default();
        all.fix(&path("a"), KindSet::ALL, &mut KeptNames::default());
        let (number, any) =
            (uses(&[("a", KindSet::NUMBER), ("b", KindSet::STRING)]), uses(&[("b", KindSet::ALL)]));
        all.add(&number);
        all.add(&number);
        all.add(&any);
        assert_eq!(all.kinds(&path("a")), Some(KindSet::NUMBER));
        assert!(all.remove(&number), "another route still says so");
        assert!(all.remove(&any));
        assert!(!all.remove(&number), "`a` is read at any kind now");
        assert_eq!((all.kinds(&path("a")), all.kinds(&path("b"))), (Some(KindSet::ALL), None));
    }

    #[test]
    fn uses_of_one_route_are_joined_and_text_is_a_string() {
        let mut all = FieldUses::default();
        all.add(&uses(&[("a", KindSet::NUMBER), ("a", KindSet::INT), ("text", KindSet::ALL)]));
        assert_eq!(all.kinds(&path("a")), Some(KindSet::INT));
        assert_eq!(all.kinds(&path("text")), Some(KindSet::STRING));
    }
}
