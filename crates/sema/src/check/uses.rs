//! The undeclared message fields that each route uses. New routes are checked against these uses.
//! The uses also show which inferred types change if a route is removed.

use super::DeclaredInput;
use super::names::{NameInterner, OwnedPath, PathRef, PathSegment, is_message_text, is_same_path};
use super::read::UNDECLARED_KINDS;
use hashbrown::HashMap;
use rulec_base::broken_invariant;
use rulec_base::span::Span;
use rulec_lang::ty::KindSet;
use smallvec::SmallVec;
use std::sync::Arc;

/// The message fields of a program, against which a new route is checked: the declared input, or
/// the types inferred from how the rules use the fields.
#[derive(Clone)]
pub enum KnownFields {
    Input(Arc<DeclaredInput>),
    Uses(Arc<FieldUses>),
}

/// The message fields of a whole program. They are the fields that `input` declares, or all fields
/// that the rules use if there is no `input`. The uses are counted, so that the inferred types can
/// be updated when routes are added or removed.
pub enum CountedFields {
    Input(Arc<DeclaredInput>),
    Uses(CountedUses),
}

impl CountedFields {
    /// Returns a copy of the fields for the check of a new route. Adding or removing routes does
    /// not change the copy.
    pub fn snapshot(&self) -> KnownFields {
        match self {
            CountedFields::Input(input) => KnownFields::Input(Arc::clone(input)),
            CountedFields::Uses(uses) => KnownFields::Uses(Arc::clone(uses.merged_uses())),
        }
    }
}

/// The undeclared fields that one route uses, each with the kinds of value that every use of the
/// field in the route accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RouteUses(Vec<(OwnedPath, KindSet)>);

impl RouteUses {
    pub(super) fn add_use(&mut self, path: &[impl PathSegment], kinds: KindSet, names: &mut NameInterner) {
        match self.0.iter_mut().find(|(used_path, _)| is_same_path(used_path, path)) {
            Some((_, accepted)) => *accepted = accepted.intersect(kinds),
            None => self.0.push((names.intern_path(path), kinds)),
        }
    }
}

/// Maps the span of each route to the undeclared fields that the route uses.
#[derive(Debug, Default)]
pub struct UsesByRoute(HashMap<Span, Arc<RouteUses>>);

impl UsesByRoute {
    pub(super) fn insert(&mut self, route: Span, uses: Arc<RouteUses>) {
        self.0.insert(route, uses);
    }

    /// Returns the undeclared fields that the route with this span uses. `None` if the uses of
    /// routes were not recorded, for example because the rules declare an `input`.
    pub fn get(&self, route: Span) -> Option<Arc<RouteUses>> {
        self.0.get(&route).cloned()
    }
}

/// The undeclared fields that the rules use, updated when a route is added or removed. Equal
/// [`RouteUses`] are stored once with a count. Most routes use the same fields in the same way, so
/// most edits change only a count.
#[derive(Debug, Default)]
pub struct CountedUses {
    merged_uses: Arc<FieldUses>,
    route_counts: HashMap<Arc<RouteUses>, u32>,
}

impl CountedUses {
    /// Returns the uses of all rules, merged by field. New routes are checked against these uses.
    pub fn merged_uses(&self) -> &Arc<FieldUses> {
        &self.merged_uses
    }

    /// Records that a statement which is not a route uses the field at `path` and accepts values of
    /// `kinds` there. Such a use is never removed. `names` stores each field name once.
    pub(super) fn add_permanent_use(
        &mut self,
        path: &[impl PathSegment],
        kinds: KindSet,
        names: &mut NameInterner,
    ) {
        Arc::make_mut(&mut self.merged_uses).add_permanent_use(path, kinds, names);
    }

    /// Adds the fields that a route uses. If an equal [`RouteUses`] is already stored, returns the
    /// stored one to share memory.
    pub fn add_route(&mut self, uses: Arc<RouteUses>) -> Arc<RouteUses> {
        if let Some((stored, count)) = self.route_counts.get_key_value_mut(&uses) {
            *count += 1;
            return Arc::clone(stored);
        }
        Arc::make_mut(&mut self.merged_uses).add_route(&uses);
        self.route_counts.insert(Arc::clone(&uses), 1);
        uses
    }

    /// Removes the fields that a route uses. Returns false if some field now accepts more kinds of
    /// value. The remaining rules must then be compiled again, because they were compiled for fewer
    /// kinds.
    pub fn remove_route(&mut self, uses: &Arc<RouteUses>) -> bool {
        match self.route_counts.get_mut(uses) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                self.route_counts.remove(uses);
                return Arc::make_mut(&mut self.merged_uses).remove_route(uses);
            }
            None => {}
        }
        true
    }
}

/// The undeclared fields that the rules use, each with the kinds of value that every use of the
/// field accepts.
#[derive(Clone, Debug, Default)]
pub struct FieldUses {
    fields: HashMap<OwnedPath, FieldUse>,
}

#[derive(Clone, Debug, Default)]
struct FieldUse {
    /// The kinds of value that every use of the field outside routes accepts; `None` if there is no
    /// such use.
    permanent_kinds: Option<KindSet>,
    /// The sets of kinds that routes accept for this field. Each has the number of distinct
    /// [`RouteUses`] (all fields that one route uses) in which it occurs.
    route_kinds: SmallVec<[(KindSet, u32); 2]>,
}

impl FieldUse {
    fn accepted_kinds(&self, path: &[impl PathSegment]) -> KindSet {
        let start = if is_message_text(path) { KindSet::STRING } else { UNDECLARED_KINDS };
        let start = start.intersect(self.permanent_kinds.unwrap_or(UNDECLARED_KINDS));
        self.route_kinds.iter().fold(start, |accepted, (kinds, _)| accepted.intersect(*kinds))
    }
}

impl FieldUses {
    /// Returns the kinds of value that every use of a field accepts; `None` if no rule uses the
    /// field.
    pub(super) fn accepted_kinds(&self, path: &[impl PathSegment]) -> Option<KindSet> {
        Some(self.fields.get(&PathRef(path))?.accepted_kinds(path))
    }

    fn add_permanent_use(&mut self, path: &[impl PathSegment], kinds: KindSet, names: &mut NameInterner) {
        let field = self.use_of_path(&names.intern_path(path));
        field.permanent_kinds = Some(field.permanent_kinds.unwrap_or(UNDECLARED_KINDS).intersect(kinds));
    }

    fn use_of_path(&mut self, path: &[Arc<str>]) -> &mut FieldUse {
        self.fields.entry_ref(path).or_default()
    }

    fn add_route(&mut self, route: &RouteUses) {
        for (path, kinds) in &route.0 {
            let field = self.use_of_path(path);
            match field.route_kinds.iter_mut().find(|(stored_kinds, _)| stored_kinds == kinds) {
                Some((_, count)) => *count += 1,
                None => field.route_kinds.push((*kinds, 1)),
            }
        }
    }

    /// Removes the fields that a route uses. Returns false if the remaining rules now accept more
    /// kinds of value for some field.
    fn remove_route(&mut self, route: &RouteUses) -> bool {
        let mut unchanged = true;
        for (path, kinds) in &route.0 {
            let Some(field) = self.fields.get_mut(path) else {
                broken_invariant!("the uses of a route were added before they are removed");
                continue;
            };
            let kinds_before = field.accepted_kinds(path);
            if let Some(index) = field.route_kinds.iter().position(|(stored_kinds, _)| stored_kinds == kinds)
            {
                field.route_kinds[index].1 -= 1;
                if field.route_kinds[index].1 == 0 {
                    field.route_kinds.swap_remove(index);
                }
            }
            if field.route_kinds.is_empty() && field.permanent_kinds.is_none() {
                self.fields.remove(path);
            } else {
                unchanged &= field.accepted_kinds(path) == kinds_before;
            }
        }
        unchanged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> OwnedPath {
        name.split('.').map(Arc::from).collect()
    }

    fn route_uses(of: &[(&str, KindSet)]) -> Arc<RouteUses> {
        let mut uses = RouteUses::default();
        of.iter().for_each(|(name, kinds)| uses.add_use(&path(name), *kinds, &mut NameInterner::default()));
        Arc::new(uses)
    }

    #[test]
    fn removing_a_route_reports_wider_kinds() {
        let mut all = CountedUses::default();
        all.add_permanent_use(&path("a"), KindSet::MESSAGE_KINDS, &mut NameInterner::default());
        let (number, any) = (
            route_uses(&[("a", KindSet::NUMBER), ("b", KindSet::STRING)]),
            route_uses(&[("b", KindSet::MESSAGE_KINDS)]),
        );
        all.add_route(number.clone());
        all.add_route(number.clone());
        all.add_route(any.clone());
        assert_eq!(all.merged_uses().accepted_kinds(&path("a")), Some(KindSet::NUMBER));
        assert!(all.remove_route(&number), "another route still says so");
        assert!(all.remove_route(&any));
        assert!(!all.remove_route(&number), "`a` is read at any kind now");
        assert_eq!(all.merged_uses().accepted_kinds(&path("a")), Some(KindSet::MESSAGE_KINDS));
        assert_eq!(all.merged_uses().accepted_kinds(&path("b")), None);
    }

    #[test]
    fn removing_a_route_keeps_kinds_of_other_routes() {
        let mut all = CountedUses::default();
        let (one, other) = (
            route_uses(&[("a", KindSet::NUMBER)]),
            route_uses(&[("a", KindSet::NUMBER), ("b", KindSet::MESSAGE_KINDS)]),
        );
        all.add_route(one.clone());
        all.add_route(other.clone());
        assert!(all.remove_route(&one), "a route with other uses still says so");
        assert!(all.remove_route(&one), "what nobody has is gone already");
        assert_eq!(all.merged_uses().accepted_kinds(&path("a")), Some(KindSet::NUMBER));
        assert!(all.remove_route(&other), "nothing is left that could be read otherwise");
        assert_eq!(all.merged_uses().accepted_kinds(&path("a")), None);
    }

    #[test]
    fn equal_route_uses_are_shared() {
        let mut all = CountedUses::default();
        let first = all.add_route(route_uses(&[("a", KindSet::NUMBER)]));
        let fields = Arc::clone(all.merged_uses());
        let second = all.add_route(route_uses(&[("a", KindSet::NUMBER)]));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(
            all.remove_route(&second) && Arc::ptr_eq(&fields, all.merged_uses()),
            "whoever checks with them goes on"
        );
    }

    #[test]
    fn uses_of_one_route_are_intersected() {
        let mut all = CountedUses::default();
        all.add_route(route_uses(&[
            ("a", KindSet::NUMBER),
            ("a", KindSet::INT),
            ("text", KindSet::MESSAGE_KINDS),
        ]));
        assert_eq!(all.merged_uses().accepted_kinds(&path("a")), Some(KindSet::INT));
        assert_eq!(all.merged_uses().accepted_kinds(&path("text")), Some(KindSet::STRING));
    }
}
