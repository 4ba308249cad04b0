//! The message's fields: which exist, and as which type each is read. Without a declared `input`,
//! uses narrow the types.

use super::DeclaredInput;
use super::names::{KeptNames, Name, Names, Path, is_text, same_path};
use super::uses::{CountedFields, CountedUses, FieldUses, RouteUses, UsesByRoute};
use crate::hir::{Root, Slot, SlotId};
use hashbrown::{HashMap, HashSet, HashTable};
use rulec_base::diag::{Arg, Argument, Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::{self, Function};
use rulec_lang::ty::{Field, Inner, Kind, KindSet, RecordType, Ty};
use std::hash::BuildHasher;
use std::sync::Arc;

pub(super) struct ResolvedField {
    pub ty: Ty,
    pub optional: bool,
    pub private: bool,
}

/// The reason why a path does not resolve.
pub(super) enum PathError {
    /// The part at index `at` is not a field of `record`.
    UnknownField { at: usize, record: Arc<RecordType> },
    /// The part before index `at` has the type `ty`, which has no fields.
    NoFields { at: usize, ty: Ty },
}

#[derive(Default)]
pub(super) struct Fields {
    pub(super) input: Option<Arc<DeclaredInput>>,
    /// Interned names of all stored paths.
    names: KeptNames,
    uses: HashMap<Path, Inferred>,
    done_inferring: bool,
    /// The sequence number of the statement that is being checked.
    statement: u32,
    /// Undeclared names that were already compared with the definitions for a warning.
    looked_at: HashSet<Arc<str>>,
    pub(super) slots: Vec<Slot>,
    /// Hash index of `slots` by root, path and kinds.
    slot_ids: HashTable<SlotId>,
    hasher: foldhash::fast::RandomState,
    pub(super) conflicts: Vec<Diagnostic>,
    /// The uses of fields by existing rules, if a single new route is checked against them.
    pub(super) known: Option<Arc<FieldUses>>,
    /// The counted uses of fields; `None` if the caller does not need them.
    pub(super) counted: Option<CountedUses>,
    /// The uses of each route, if uses are counted.
    pub(super) by_route: UsesByRoute,
    /// The uses of fields by the route that is being checked.
    route: Option<RouteUses>,
    /// The uses of fields by the last checked route; empty unless `known` is set.
    pub(super) done: RouteUses,
    /// An undeclared field that the current statement may read anyway, such as `steps`.
    pub(super) implicit: Option<&'static str>,
}

/// The reason why a use narrows the type of a field. Formatted only if a diagnostic shows it.
#[derive(Clone)]
pub(super) enum Reason {
    Fixed(Message),
    Field(Arc<str>),
    Side(KindSet, Message, &'static str),
    Operand(KindSet, &'static str),
    Argument(Ty, Arc<str>, Arc<str>),
}

impl Reason {
    /// Returns the reason "a field of the value is read", so the value must be a record.
    pub(super) fn field(name: &str) -> Reason {
        Reason::Field(name.into())
    }
}

impl Argument for Reason {
    fn argument(&self) -> Arg {
        let words = match self {
            Reason::Fixed(words) => words.clone(),
            Reason::Field(_) => message!("a record, because one of its fields is read"),
            Reason::Side(kinds, side, operator) => message!("{kinds}, {side} of `{operator}`"),
            Reason::Operand(kinds, operator) => message!("{kinds}, an operand of `{operator}`"),
            Reason::Argument(wanted, name, function) => {
                message!("{wanted}, the argument `{name}` of `{function}`")
            }
        };
        words.argument()
    }
}

/// The inferred type of an undeclared field.
struct Inferred {
    kinds: KindSet,
    /// The first few uses, and every use that narrowed the type.
    uses: Vec<Use>,
    /// The first few uses that accept very different kinds, such as both texts and lists. There is
    /// at most one of them per statement.
    overloaded: Vec<Use>,
}

/// A use of an undeclared field.
#[derive(Clone)]
pub(super) struct Use {
    pub(super) kinds: KindSet,
    pub(super) place: Span,
    pub(super) reason: Reason,
    statement: u32,
}

/// A use of a field, where another statement narrows the kinds that the use accepts.
pub(super) struct Narrowed<'f> {
    pub(super) path: &'f Path,
    /// The kinds of value that the field is still read as.
    pub(super) kinds: KindSet,
    pub(super) used: &'f Use,
    /// The use that narrows the field; `None` if that use belongs to a rule outside this check.
    pub(super) by: Option<&'f Use>,
}

impl Inferred {
    fn add(&mut self, used: Use, left: KindSet) {
        let open = !is_one_family(used.kinds) && used.kinds.overlaps(KindSet::LIST.union(KindSet::DICT));
        let again = self.overloaded.last().is_some_and(|last| last.statement == used.statement);
        if open && !again && self.overloaded.len() < 4 {
            self.overloaded.push(used.clone());
        }
        if self.uses.len() < 8 || self.kinds != left {
            self.uses.push(used);
        }
        self.kinds = left;
    }

    /// Returns the first use in `overloaded` that another statement narrows to one family, and the
    /// narrowing use. The narrowing use is `None` if it belongs to a rule outside this check.
    /// `known` are the kinds that rules outside this check accept.
    fn narrowed(&self, known: KindSet) -> Option<(&Use, Option<&Use>)> {
        if !is_one_family(self.kinds) {
            return None;
        }
        self.overloaded.iter().find_map(|used| {
            let (own, others): (Vec<&Use>, Vec<&Use>) =
                self.uses.iter().partition(|other| other.statement == used.statement);
            let own = own.iter().fold(used.kinds, |left, other| left.intersect(other.kinds));
            let by = others.into_iter().find(|other| !own.is_subset(other.kinds));
            (!is_one_family(own) && (by.is_some() || !own.is_subset(known))).then_some((used, by))
        })
    }
}

/// True if all kinds are comparable with each other: a single kind, or int and float.
fn is_one_family(kinds: KindSet) -> bool {
    kinds.iter().filter(|kind| *kind != Kind::Float || !kinds.has(Kind::Int)).count() == 1
}

impl Fields {
    /// True if types are inferred from uses.
    pub(super) fn inferred(&self) -> bool {
        self.input.is_none()
    }

    /// True during the first pass, in which uses narrow types.
    pub(super) fn narrows(&self) -> bool {
        self.inferred() && !self.done_inferring
    }

    /// Returns the declared top-level fields of a message.
    pub(super) fn roots(&self) -> Option<&RecordType> {
        self.input.as_ref()?.ty.fields()
    }

    /// True at the first use of an undeclared name.
    pub(super) fn first_look(&mut self, name: &str) -> bool {
        !self.looked_at.contains(name) && self.looked_at.insert(name.into())
    }

    pub(super) fn declared_at(&self, path: &[impl Name]) -> Option<Span> {
        self.input.as_ref()?.places.get(&Names(path)).copied()
    }

    pub(super) fn find(&mut self, path: &[impl Name], span: Span) -> Result<ResolvedField, PathError> {
        match &self.input {
            Some(input) => match find_declared(&input.ty, path) {
                Err(PathError::UnknownField { at: 0, .. }) if self.implicit == Some(path[0].as_ref()) => {
                    Ok(ResolvedField { ty: Ty::ANY, optional: true, private: false })
                }
                found => found,
            },
            None => {
                let inferring = 1..if self.done_inferring { 1 } else { path.len() };
                for end in inferring {
                    let reason = Reason::Field(self.names.name(path[end].as_ref()));
                    self.narrow(&path[..end], KindSet::DICT, span, &reason);
                }
                // In the first pass, each use is checked as if the field had any kind. `narrow`
                // finds the uses that conflict, whatever their order.
                let open = !self.done_inferring && !is_text(path);
                let kinds = if open { KindSet::ALL } else { self.kinds(path) };
                Ok(ResolvedField { ty: Ty::plain(kinds), optional: true, private: false })
            }
        }
    }

    /// True for an undeclared field that some statement reads anyway, such as `steps`.
    pub(super) fn brought_along(&self, path: &[impl Name]) -> bool {
        let first = |slot: &Slot| slot.root.is_none() && *slot.path[0] == *path[0].as_ref();
        self.slots.iter().any(first) && self.roots().is_none_or(|roots| roots.get(path[0].as_ref()).is_none())
    }

    /// Returns the remaining kinds of an undeclared field. The field `text` is a string by
    /// convention.
    fn kinds(&self, path: &[impl Name]) -> KindSet {
        let inferred = self.uses.get(&Names(path)).map(|inferred| inferred.kinds);
        let known = || self.known.as_ref().and_then(|known| known.kinds(path));
        let unused = if is_text(path) { KindSet::STRING } else { KindSet::ALL };
        inferred.or_else(known).unwrap_or(unused)
    }

    /// Starts a route: later uses of fields belong to this route.
    pub(super) fn begin_route(&mut self) {
        self.begin_statement();
        let wanted = self.narrows() && (self.counted.is_some() || self.known.is_some());
        self.route = wanted.then(RouteUses::default);
    }

    pub(super) fn end_route(&mut self, place: Span) {
        match (self.route.take(), &mut self.counted) {
            (Some(route), Some(counted)) => self.by_route.keep(place, counted.add(Arc::new(route))),
            (Some(route), None) => self.done = route,
            (None, _) => {}
        }
    }

    /// Returns the declared fields or the counted uses of undeclared fields. For undeclared fields,
    /// also returns the uses by each route.
    pub(super) fn into_known(self) -> (CountedFields, UsesByRoute) {
        let known = match self.input {
            Some(input) => CountedFields::Input(input),
            None => CountedFields::Uses(self.counted.unwrap_or_default()),
        };
        (known, self.by_route)
    }

    /// Records a use of an undeclared field that accepts these kinds.
    pub(super) fn note(&mut self, path: &[impl Name], kinds: KindSet) {
        if !self.narrows() {
            return;
        }
        match (&mut self.route, &mut self.counted) {
            (Some(route), _) => route.note(path, kinds, &mut self.names),
            (None, Some(counted)) => counted.fix(path, kinds, &mut self.names),
            (None, None) => {}
        }
    }

    /// Narrows an undeclared field to these kinds, or reports a conflict.
    pub(super) fn narrow(&mut self, path: &[impl Name], kinds: KindSet, span: Span, reason: &Reason) {
        if !self.narrows() || kinds == KindSet::ALL {
            return;
        }
        self.note(path, kinds);
        let before = self.kinds(path);
        let inferred = match self.uses.get_mut(&Names(path)) {
            Some(inferred) => inferred,
            None => self.uses.entry(self.names.path(path)).or_insert_with(|| Inferred {
                kinds: before,
                uses: Vec::new(),
                overloaded: Vec::new(),
            }),
        };
        let conflict = |message: Message| {
            Diagnostic::new(Code::ConflictingUses, span, message).here(message!("used here as {reason}"))
        };
        let words = |kinds| Ty::plain(kinds).with_article();
        let left = inferred.kinds.intersect(kinds);
        let known = self.known.as_ref().and_then(|known| known.kinds(path));
        if left.is_empty() {
            let (name, other, this) = (dotted(path), words(inferred.kinds), words(kinds));
            let conflict = conflict(message!("`{name}` cannot be both {other} and {this}"));
            let earlier = inferred.uses.iter().find(|other| !other.kinds.overlaps(kinds));
            let conflict = match reason {
                Reason::Field(name) => function_help(conflict, &dotted(path), name),
                _ => conflict,
            };
            self.conflicts.push(match earlier {
                Some(Use { place, reason, .. }) => {
                    let conflict = match reason {
                        Reason::Field(name) => function_help(conflict, &dotted(path), name),
                        _ => conflict,
                    };
                    conflict.label(*place, message!("used here as {reason}"))
                }
                None if conflict.help.is_some() => conflict,
                None => conflict
                    .help(message!("`{name}` is a string unless an `input` block declares another type")),
            });
        } else if let Some(known) = known.filter(|known| !known.is_subset(kinds)) {
            let (name, other, this) = (dotted(path), words(known), words(kinds));
            let message = message!("other rules read `{name}` as {other}, but this works for {this} only");
            let help =
                message!("declare `{name}` in an `input` block, or read it here as one type: `{name} as …`");
            self.conflicts.push(conflict(message).help(help));
        } else {
            inferred.add(Use { kinds, place: span, reason: reason.clone(), statement: self.statement }, left);
        }
    }

    /// Ends the first pass, in which uses narrow types.
    pub(super) fn end_inference(&mut self) {
        self.done_inferring = true;
        self.looked_at.clear();
        self.slots.clear();
        self.slot_ids.clear();
    }

    /// Returns the first use that narrowed an undeclared field, to show with an error.
    pub(super) fn first_use(&self, path: &[impl Name]) -> Option<(Span, &Reason)> {
        self.uses.get(&Names(path))?.uses.first().map(|first| (first.place, &first.reason))
    }

    /// Returns the uses that other statements narrow, in source order.
    pub(super) fn narrowed(&self) -> Vec<Narrowed<'_>> {
        let narrowed = self.uses.iter().filter(|(path, _)| !is_text(path)).filter_map(|(path, inferred)| {
            let known = self.known.as_ref().and_then(|known| known.kinds(path));
            let (used, by) = inferred.narrowed(known.unwrap_or(KindSet::ALL))?;
            Some(Narrowed { path, kinds: inferred.kinds, used, by })
        });
        let mut narrowed: Vec<Narrowed<'_>> = narrowed.collect();
        narrowed.sort_by_key(|narrowed| (narrowed.used.place.file, narrowed.used.place.start));
        narrowed
    }

    /// Starts a statement: later uses of fields belong to this statement.
    pub(super) fn begin_statement(&mut self) {
        self.statement += 1;
    }

    /// Returns the slot that reads a path as these kinds; adds the slot if it is new. The path is
    /// in the message, or in the binding `root`.
    pub(super) fn rooted_slot(
        &mut self,
        root: Option<&Root>,
        path: &[impl Name],
        kinds: KindSet,
        private: bool,
    ) -> SlotId {
        let Fields { slots, slot_ids, hasher, names, .. } = self;
        let same = |id: &SlotId| {
            let slot = &slots[id.index()];
            slot.root.as_ref() == root && slot.kinds == kinds && same_path(&slot.path, path)
        };
        let key = hasher.hash_one((root, path, kinds));
        if let Some(id) = slot_ids.find(key, same) {
            return *id;
        }
        let id = SlotId(slots.len() as u32);
        slots.push(Slot { root: root.cloned(), path: names.path(path), kinds, private });
        slot_ids.insert_unique(key, id, |id| {
            let Slot { root, path, kinds, .. } = &slots[id.index()];
            hasher.hash_one((root.as_ref(), path.as_slice(), kinds))
        });
        id
    }

    /// Returns the slot with this id.
    pub(super) fn path(&self, id: SlotId) -> &Slot {
        &self.slots[id.index()]
    }
}

/// Adds a help text if the field has the name of a function: for `text.length`, write `len(text)`.
fn function_help(diagnostic: Diagnostic, path: &str, field: &str) -> Diagnostic {
    match function_meant(field) {
        Some(function) => diagnostic.help(message!("write `{function}({path})`")),
        None => diagnostic,
    }
}

/// Returns the function that an author probably means by a field name, such as `len` for `length`.
pub(super) fn function_meant(field: &str) -> Option<&'static str> {
    Function::named(field).map(|function| function.info().name).or_else(|| builtins::meant(field))
}

fn dotted(path: &[impl Name]) -> String {
    let names: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
    names.join(".")
}

pub(super) fn find_declared(input: &Ty, path: &[impl Name]) -> Result<ResolvedField, PathError> {
    let mut found = ResolvedField { ty: input.clone(), optional: false, private: false };
    for (at, name) in path.iter().enumerate() {
        found = match field_of(&found.ty, name.as_ref()) {
            Ok(ResolvedField { ty, optional, private }) => {
                ResolvedField { ty, optional: found.optional | optional, private: found.private | private }
            }
            Err(Some(record)) => return Err(PathError::UnknownField { at, record }),
            Err(None) => return Err(PathError::NoFields { at, ty: found.ty }),
        };
    }
    Ok(found)
}

/// Looks up a field in a type. The error contains the record that lacks the field, or `None` if the
/// type has no fields.
pub(super) fn field_of(ty: &Ty, name: &str) -> Result<ResolvedField, Option<Arc<RecordType>>> {
    let entry = |ty| ResolvedField { ty, optional: true, private: false };
    match &ty.inner {
        Inner::Fields(record) => match record.get(name) {
            Some(Field { ty, optional, private, .. }) => {
                Ok(ResolvedField { ty: ty.clone(), optional: *optional, private: *private })
            }
            None => Err(Some(record.clone())),
        },
        _ if !ty.kinds.overlaps(KindSet::DICT) => Err(None),
        Inner::Element(element) => Ok(entry((**element).clone())),
        Inner::Unknown => Ok(entry(Ty::ANY)),
    }
}
