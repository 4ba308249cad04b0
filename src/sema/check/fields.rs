//! The message's fields: which exist, at what type each is read, and — where no `input` is
//! declared — how uses narrow the type.

use super::uses::{FieldUses, RouteUses};
use super::{DeclaredInput, Known};
use crate::diag::{Code, Diagnostic};
use crate::sema::hir::{Root, Slot, SlotId};
use crate::span::Span;
use crate::ty::{Inner, KindSet, Record, Ty};
use hashbrown::{HashMap, HashSet, HashTable};
use std::fmt::Display;
use std::hash::BuildHasher;
use std::sync::Arc;

pub(super) type Path = Vec<Arc<str>>;

/// A field as found by its path.
pub(super) struct Found {
    pub ty: Ty,
    pub optional: bool,
    pub private: bool,
}

/// Why a path leads nowhere.
pub(super) enum Lost {
    /// The path's part at this index is no field of the record before it.
    UnknownField { at: usize, record: Record },
    /// The path's part before this index has a type without fields.
    NoFields { at: usize, ty: Ty },
}

#[derive(Default)]
pub(super) struct Fields {
    pub(super) input: Option<Arc<DeclaredInput>>,
    uses: HashMap<Path, Inferred>,
    settled: bool,
    /// Undeclared names that were held against the definitions, so that each is once.
    looked_at: HashSet<Arc<str>>,
    slots: Vec<Slot>,
    /// The slots by what they read.
    slot_ids: HashTable<SlotId>,
    hasher: foldhash::fast::RandomState,
    conflicts: Vec<Diagnostic>,
    /// How other rules, which are not checked now, use the fields.
    pub(super) known: Option<Arc<FieldUses>>,
    /// Who uses which field as what, where that is wanted.
    pub(super) counted: Option<FieldUses>,
    /// What the route at hand does.
    route: Option<RouteUses>,
    done: RouteUses,
    /// The field that the statement at hand brings along, though no `input` declares it.
    pub(super) implicit: Option<&'static str>,
}

/// What the uses of an undeclared field say about it.
struct Inferred {
    kinds: KindSet,
    uses: Vec<(KindSet, Span, String)>,
}

impl Fields {
    pub(super) fn declare(&mut self, input: DeclaredInput) {
        self.input = Some(Arc::new(input));
    }

    /// Whether types come from uses.
    pub(super) fn inferred(&self) -> bool {
        self.input.is_none()
    }

    /// Whether uses still narrow them.
    pub(super) fn narrows(&self) -> bool {
        self.inferred() && !self.settled
    }

    /// The names a message's fields may have, when they are declared.
    pub(super) fn roots(&self) -> Option<&Record> {
        self.input.as_ref().map(|input| &input.record)
    }

    /// Whether an undeclared name is met for the first time.
    pub(super) fn first_look(&mut self, name: &Arc<str>) -> bool {
        self.looked_at.insert(name.clone())
    }

    /// Where a declared field stands.
    pub(super) fn declared_at(&self, path: &[Arc<str>]) -> Option<Span> {
        self.input.as_ref()?.places.get(path).copied()
    }

    /// The type of the field at a path.
    pub(super) fn find(&mut self, path: &[Arc<str>], span: Span) -> Result<Found, Lost> {
        match &self.input {
            Some(input) => match find_declared(&input.record, path) {
                Err(Lost::UnknownField { at: 0, .. }) if self.implicit == Some(&*path[0]) => {
                    Ok(Found { ty: Ty::ANY, optional: true, private: false })
                }
                found => found,
            },
            None => {
                for end in 1..path.len() {
                    self.narrow(&path[..end], KindSet::DICT, span, &"a record, since a field of it is read");
                }
                // While uses are collected each is looked at alone, so that two that contradict each
                // other meet in `narrow`, whichever stands first.
                let open = !self.settled && !is_text(path);
                let kinds = if open { KindSet::ALL } else { self.kinds(path) };
                Ok(Found { ty: Ty::plain(kinds), optional: true, private: false })
            }
        }
    }

    /// The kinds an undeclared field may still have. `text` is a string by convention.
    fn kinds(&self, path: &[Arc<str>]) -> KindSet {
        match self.uses.get(path) {
            Some(inferred) => inferred.kinds,
            None => match self.known.as_ref().and_then(|known| known.kinds(path)) {
                Some(kinds) => kinds,
                None if is_text(path) => KindSet::STRING,
                None => KindSet::ALL,
            },
        }
    }

    /// From here on, uses of fields are those of one route.
    pub(super) fn begin_route(&mut self) {
        let wanted = self.input.is_none() && !self.settled;
        self.route = (wanted && (self.counted.is_some() || self.known.is_some())).then(RouteUses::default);
    }

    /// The end of a route.
    pub(super) fn end_route(&mut self) {
        if let Some(route) = self.route.take() {
            match &mut self.counted {
                Some(counted) => counted.add(&route),
                None => self.done = route,
            }
        }
    }

    /// What is known of the fields.
    pub(super) fn into_known(self) -> Known {
        match self.input {
            Some(input) => Known::Input(input),
            None => Known::Uses(Arc::new(self.counted.unwrap_or_default())),
        }
    }

    /// How the last route uses fields, where other rules are known.
    pub(super) fn take_route(&mut self) -> RouteUses {
        std::mem::take(&mut self.done)
    }

    /// An undeclared field is read, at whatever kinds all uses leave over.
    pub(super) fn read(&mut self, path: &[Arc<str>]) {
        self.note(path, KindSet::ALL);
    }

    fn note(&mut self, path: &[Arc<str>], kinds: KindSet) {
        if !self.narrows() {
            return;
        }
        match (&mut self.route, &mut self.counted) {
            (Some(route), _) => route.note(path, kinds),
            (None, Some(counted)) => counted.fix(path, kinds),
            (None, None) => {}
        }
    }

    /// A use of an undeclared field that works only for these kinds.
    pub(super) fn narrow(&mut self, path: &[Arc<str>], kinds: KindSet, span: Span, reason: &dyn Display) {
        if !self.narrows() || kinds == KindSet::ALL {
            return;
        }
        self.note(path, kinds);
        let before = self.kinds(path);
        let inferred =
            self.uses.entry(path.to_vec()).or_insert_with(|| Inferred { kinds: before, uses: Vec::new() });
        let left = inferred.kinds.intersect(kinds);
        if left.is_empty() {
            let name = path.join(".");
            let earlier = inferred.uses.iter().find(|(other, ..)| !other.overlaps(kinds));
            let mut diagnostic = Diagnostic::new(
                Code::ConflictingUses,
                span,
                format!(
                    "`{name}` cannot be both {} and {}",
                    Ty::plain(inferred.kinds).with_article(),
                    Ty::plain(kinds).with_article()
                ),
            )
            .here(format!("used here as {reason}"));
            match earlier {
                Some((_, place, earlier_reason)) => {
                    diagnostic = diagnostic.label(*place, format!("used here as {earlier_reason}"));
                }
                None => {
                    diagnostic = diagnostic
                        .help(format!("`{name}` is a string unless an `input` block says otherwise"))
                }
            }
            self.conflicts.push(diagnostic);
            return;
        }
        let known = self.known.as_ref().and_then(|known| known.kinds(path));
        if let Some(known) = known.filter(|known| !known.is_subset(kinds)) {
            let name = path.join(".");
            let message = format!(
                "the other rules read `{name}` as {}, and this works for {} only",
                Ty::plain(known).with_article(),
                Ty::plain(kinds).with_article()
            );
            self.conflicts.push(
                Diagnostic::new(Code::ConflictingUses, span, message)
                    .here(format!("used here as {reason}"))
                    .help(format!(
                        "declare `{name}` in an `input` block, or read it at a type: `{name} as …`"
                    )),
            );
            return;
        }
        inferred.kinds = left;
        if inferred.uses.len() < 8 {
            inferred.uses.push((kinds, span, reason.to_string()));
        }
    }

    /// Ends the narrowing pass.
    pub(super) fn settle(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        self.settled = true;
        diagnostics.append(&mut self.conflicts);
    }

    /// A use that fixed an undeclared field's type, to show beside an error.
    pub(super) fn first_use(&self, path: &[Arc<str>]) -> Option<(Span, &str)> {
        self.uses.get(path)?.uses.first().map(|(_, span, reason)| (*span, reason.as_str()))
    }

    /// The slot that reads a path at these kinds.
    pub(super) fn slot(&mut self, path: &[Arc<str>], kinds: KindSet, private: bool) -> SlotId {
        self.rooted_slot(None, path, kinds, private)
    }

    /// The slot that reads a path from a binding, or from the message, at these kinds.
    pub(super) fn rooted_slot(
        &mut self,
        root: Option<&Root>,
        path: &[Arc<str>],
        kinds: KindSet,
        private: bool,
    ) -> SlotId {
        let Fields { slots, slot_ids, hasher, .. } = self;
        let hash =
            |root: Option<&Root>, path: &[Arc<str>], kinds: KindSet| hasher.hash_one((root, path, kinds));
        let same = |id: &SlotId| {
            let slot = &slots[id.index()];
            slot.root.as_ref() == root && slot.path == path && slot.kinds == kinds
        };
        let key = hash(root, path, kinds);
        if let Some(id) = slot_ids.find(key, same) {
            return *id;
        }
        let id = SlotId(slots.len() as u32);
        slots.push(Slot { root: root.cloned(), path: path.to_vec(), kinds, private });
        slot_ids.insert_unique(key, id, |id| {
            let slot = &slots[id.index()];
            hash(slot.root.as_ref(), &slot.path, slot.kinds)
        });
        id
    }

    /// The path a slot reads.
    pub(super) fn path(&self, id: SlotId) -> &Slot {
        &self.slots[id.index()]
    }

    pub(super) fn forget_slots(&mut self) {
        self.looked_at.clear();
        self.slots.clear();
        self.slot_ids.clear();
    }

    pub(super) fn take_slots(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.slots)
    }
}

pub(super) fn is_text(path: &[Arc<str>]) -> bool {
    matches!(path, [name] if &**name == "text")
}

fn find_declared(record: &Record, path: &[Arc<str>]) -> Result<Found, Lost> {
    // What the part at hand is looked up in: the input itself, then what was found before.
    let any = Ty::ANY;
    let (mut input, mut ty) = (Some(record), &any);
    let (mut optional, mut private) = (false, false);
    for (at, name) in path.iter().enumerate() {
        let record = match (input.take(), &ty.inner) {
            (Some(record), _) => record,
            (None, Inner::Fields(record)) => record,
            (None, Inner::Element(element)) if ty.kinds.overlaps(KindSet::DICT) => {
                (optional, ty) = (true, element);
                continue;
            }
            (None, Inner::Unknown) if ty.kinds.overlaps(KindSet::DICT) => {
                (optional, ty) = (true, &any);
                continue;
            }
            _ => return Err(Lost::NoFields { at, ty: ty.clone() }),
        };
        let Some(field) = record.get(name) else {
            return Err(Lost::UnknownField { at, record: record.clone() });
        };
        optional |= field.optional;
        private |= field.private;
        ty = &field.ty;
    }
    Ok(Found { ty: ty.clone(), optional, private })
}
