//! The fields of the message. This module decides which fields exist, and to which kinds of value
//! each read of a field converts the value. A field together with these kinds is a *slot* of the
//! program. Without a declared `input`, every use of a field narrows the field's type.

mod narrowing_reason;

pub(super) use narrowing_reason::NarrowingReason;

use super::DeclaredInput;
use super::names::{NameInterner, OwnedPath, PathRef, PathSegment, is_message_text, is_same_path};
use super::read::UNDECLARED_KINDS;
use super::uses::{CountedFields, CountedUses, FieldUses, RouteUses, UsesByRoute};
use crate::hir::{BindingRoot, Slot, SlotId};
use hashbrown::{HashMap, HashSet, HashTable};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::{self, Function};
use rulec_lang::ty::{Field, InnerType, Kind, KindSet, RecordType, Ty};
use std::hash::BuildHasher;
use std::sync::Arc;

pub(super) struct ResolvedField {
    pub ty: Ty,
    pub is_optional: bool,
    pub is_private: bool,
}

/// The reason why a path does not lead to a field.
pub(super) enum PathError {
    /// The segment of the path at index `at` is not a field of `record`.
    UnknownField { at: usize, record: Arc<RecordType> },
    /// The path before index `at` leads to a value of the type `ty`, which has no fields.
    NoFields { at: usize, ty: Ty },
}

#[derive(Default)]
pub(super) struct MessageFields {
    pub(super) input: Option<Arc<DeclaredInput>>,
    /// The field names in the paths that this struct stores; equal names share memory.
    names: NameInterner,
    inferred_types: HashMap<OwnedPath, InferredType>,
    is_inference_done: bool,
    /// The sequence number of the current statement. Uses of fields are stored with this number.
    statement_number: u32,
    /// Undeclared names that were already compared with names of definitions, to find misspellings.
    compared_names: HashSet<Arc<str>>,
    pub(super) slots: Vec<Slot>,
    /// Hash index of the slots (fields that the program reads). It finds the id of a slot by the
    /// value at which its path starts, the path and the kinds.
    slot_ids: HashTable<SlotId>,
    hasher: foldhash::fast::RandomState,
    pub(super) conflicts: Vec<Diagnostic>,
    /// How the rules of an existing program use undeclared fields. `None` unless a single new route
    /// is checked against the existing program.
    pub(super) existing_uses: Option<Arc<FieldUses>>,
    /// How all rules use undeclared fields, with the number of routes for each use. `None` if the
    /// caller of the checker does not need these numbers.
    pub(super) counted_uses: Option<CountedUses>,
    /// The fields that each route uses, by the route's span; empty unless `counted_uses` is set.
    pub(super) uses_by_route: UsesByRoute,
    /// The fields that the current route uses. `None` outside routes, or if no caller needs them.
    route_uses: Option<RouteUses>,
    /// The fields that the last checked route used; empty unless `existing_uses` is set.
    pub(super) last_route_uses: RouteUses,
    /// An undeclared field, such as `steps`, that the current statement may read; often `None`.
    pub(super) implicit_field: Option<&'static str>,
}

/// The inferred type of an undeclared field.
struct InferredType {
    kinds: KindSet,
    /// The first few uses of the field, and every use that narrowed its type.
    uses: Vec<FieldUseSite>,
    /// The first few uses of the field that accept kinds which are not comparable with each other,
    /// such as texts and lists. At most one use per statement is stored.
    overloaded_uses: Vec<FieldUseSite>,
}

/// A use of an undeclared field, which later diagnostics may show.
#[derive(Clone)]
pub(super) struct FieldUseSite {
    pub(super) kinds: KindSet,
    pub(super) use_span: Span,
    pub(super) reason: NarrowingReason,
    statement_number: u32,
}

/// A use of a field that accepts several kinds of value, although another statement accepts fewer
/// kinds and so narrows the field's type.
pub(super) struct NarrowedUse<'f> {
    pub(super) path: &'f OwnedPath,
    /// The kinds of value that the field may have after all uses have narrowed the field.
    pub(super) kinds: KindSet,
    /// The use that accepts more kinds of value than the field may finally have.
    pub(super) narrowed_use: &'f FieldUseSite,
    /// The use in another statement that narrows the field. `None` if this use belongs to the
    /// program to which a checked route will be added.
    pub(super) narrowing_use: Option<&'f FieldUseSite>,
}

impl InferredType {
    fn add_use(&mut self, use_site: FieldUseSite, remaining_kinds: KindSet) {
        let is_overloaded =
            !are_comparable(use_site.kinds) && use_site.kinds.overlaps(KindSet::LIST.union(KindSet::DICT));
        let is_repeated = self
            .overloaded_uses
            .last()
            .is_some_and(|last| last.statement_number == use_site.statement_number);
        if is_overloaded && !is_repeated && self.overloaded_uses.len() < 4 {
            self.overloaded_uses.push(use_site.clone());
        }
        if self.uses.len() < 8 || self.kinds != remaining_kinds {
            self.uses.push(use_site);
        }
        self.kinds = remaining_kinds;
    }

    /// Returns the first use of the field that accepts incomparable kinds, such as texts and lists,
    /// although the field's final type has only comparable kinds. Also returns the use in another
    /// statement that excludes some of these kinds. The second use is `None` if only rules of an
    /// existing program, which accept `existing_kinds`, exclude them.
    fn first_narrowed_use(&self, existing_kinds: KindSet) -> Option<(&FieldUseSite, Option<&FieldUseSite>)> {
        if !are_comparable(self.kinds) {
            return None;
        }
        self.overloaded_uses.iter().find_map(|use_site| {
            let (statement_kinds, other_uses): (Vec<&FieldUseSite>, Vec<&FieldUseSite>) =
                self.uses.iter().partition(|other| other.statement_number == use_site.statement_number);
            let statement_kinds =
                statement_kinds.iter().fold(use_site.kinds, |kinds, other| kinds.intersect(other.kinds));
            let narrowing_use =
                other_uses.into_iter().find(|other| !statement_kinds.is_subset_of(other.kinds));
            (!are_comparable(statement_kinds)
                && (narrowing_use.is_some() || !statement_kinds.is_subset_of(existing_kinds)))
            .then_some((use_site, narrowing_use))
        })
    }
}

/// True if values of these kinds can be compared with each other: one kind, or numbers only.
fn are_comparable(kinds: KindSet) -> bool {
    let is_other_number = |kind: Kind| kinds.has(Kind::Int) && matches!(kind, Kind::Float | Kind::Decimal);
    kinds.iter().filter(|kind| !is_other_number(*kind)).count() == 1
}

/// Returns the kinds to which a read converts the value of a field. `kinds` are the kinds that
/// every use of the field accepts. Numbers are read as decimals only if some use excludes floats,
/// such as a comparison with a decimal.
fn read_kinds(kinds: KindSet) -> KindSet {
    match kinds.has(Kind::Decimal) {
        true if kinds.has(Kind::Float) => kinds.without(KindSet::DECIMAL),
        true => kinds.without(KindSet::INT),
        false => kinds,
    }
}

impl MessageFields {
    /// True if types of message fields are inferred from uses, because no `input` is declared.
    pub(super) fn infers_types(&self) -> bool {
        self.input.is_none()
    }

    /// True during the checker's first pass, in which uses narrow the types of message fields.
    pub(super) fn is_narrowing_pass(&self) -> bool {
        self.infers_types() && !self.is_inference_done
    }

    /// Returns the declared top-level fields of a message; `None` without a declared `input`.
    pub(super) fn declared_root_fields(&self) -> Option<&RecordType> {
        self.input.as_ref()?.ty.fields()
    }

    /// Returns true at the first call for a name in each pass, and false at later calls. The caller
    /// then compares an undeclared name with similar names only once.
    pub(super) fn is_first_check_of_name(&mut self, name: &str) -> bool {
        !self.compared_names.contains(name) && self.compared_names.insert(name.into())
    }

    pub(super) fn declaration_span(&self, path: &[impl PathSegment]) -> Option<Span> {
        self.input.as_ref()?.field_spans.get(&PathRef(path)).copied()
    }

    pub(super) fn resolve_path(
        &mut self,
        path: &[impl PathSegment],
        span: Span,
    ) -> Result<ResolvedField, PathError> {
        match &self.input {
            Some(input) => match find_declared_field(&input.ty, path) {
                Err(PathError::UnknownField { at: 0, .. })
                    if self.implicit_field == Some(path[0].as_ref()) =>
                {
                    Ok(ResolvedField { ty: Ty::ANY, is_optional: true, is_private: false })
                }
                result => result,
            },
            None => {
                let record_lengths = 1..if self.is_inference_done { 1 } else { path.len() };
                for length in record_lengths {
                    let reason = NarrowingReason::Field(self.names.intern_name(path[length].as_ref()));
                    self.narrow_kinds(&path[..length], KindSet::DICT, span, &reason);
                }
                // In the first pass, each use is checked as if the field had any kind.
                // `narrow_kinds` finds the uses that conflict, whatever their order.
                let accepts_all_kinds = !self.is_inference_done && !is_message_text(path);
                let kinds = if accepts_all_kinds {
                    KindSet::MESSAGE_KINDS
                } else {
                    read_kinds(self.remaining_kinds(path))
                };
                Ok(ResolvedField { ty: Ty::from_kinds(kinds), is_optional: true, is_private: false })
            }
        }
    }

    /// True for a field that is not declared in `input` but that a statement reads implicitly, such
    /// as `steps` in a choice.
    pub(super) fn is_implicitly_read(&self, path: &[impl PathSegment]) -> bool {
        let has_same_root = |slot: &Slot| slot.root.is_none() && *slot.path[0] == *path[0].as_ref();
        self.slots.iter().any(has_same_root)
            && self.declared_root_fields().is_none_or(|roots| roots.get(path[0].as_ref()).is_none())
    }

    /// Returns the kinds that an undeclared field may still have after the uses so far. The field
    /// `text` is a string by convention.
    fn remaining_kinds(&self, path: &[impl PathSegment]) -> KindSet {
        let inferred = self.inferred_types.get(&PathRef(path)).map(|inferred| inferred.kinds);
        let existing_kinds =
            || self.existing_uses.as_ref().and_then(|existing_kinds| existing_kinds.accepted_kinds(path));
        let default_kinds = if is_message_text(path) { KindSet::STRING } else { UNDECLARED_KINDS };
        inferred.or_else(existing_kinds).unwrap_or(default_kinds)
    }

    /// Starts the check of a route: until its end, uses of fields are recorded for this route.
    pub(super) fn begin_route(&mut self) {
        self.begin_statement();
        let records_uses =
            self.is_narrowing_pass() && (self.counted_uses.is_some() || self.existing_uses.is_some());
        self.route_uses = records_uses.then(RouteUses::default);
    }

    pub(super) fn end_route(&mut self, span: Span) {
        match (self.route_uses.take(), &mut self.counted_uses) {
            (Some(route), Some(counted_uses)) => {
                self.uses_by_route.insert(span, counted_uses.add_route(Arc::new(route)))
            }
            (Some(route), None) => self.last_route_uses = route,
            (None, _) => {}
        }
    }

    /// Returns the message fields that `input` declares. Without `input`, returns the counted uses
    /// of undeclared fields, and the fields that each route uses.
    pub(super) fn into_known_fields(self) -> (CountedFields, UsesByRoute) {
        let counted_fields = match self.input {
            Some(input) => CountedFields::Input(input),
            None => CountedFields::Uses(self.counted_uses.unwrap_or_default()),
        };
        (counted_fields, self.uses_by_route)
    }

    /// Records a use of an undeclared field. `kinds` are the kinds of value that the use accepts.
    pub(super) fn record_use(&mut self, path: &[impl PathSegment], kinds: KindSet) {
        if !self.is_narrowing_pass() {
            return;
        }
        match (&mut self.route_uses, &mut self.counted_uses) {
            (Some(route), _) => route.add_use(path, kinds, &mut self.names),
            (None, Some(counted_uses)) => counted_uses.add_permanent_use(path, kinds, &mut self.names),
            (None, None) => {}
        }
    }

    /// Narrows an undeclared field to `kinds`. Reports a conflict if an earlier use of the field
    /// excludes all of these kinds. `reason` says in diagnostics why this use narrows the field.
    pub(super) fn narrow_kinds(
        &mut self,
        path: &[impl PathSegment],
        kinds: KindSet,
        span: Span,
        reason: &NarrowingReason,
    ) {
        if !self.is_narrowing_pass() || KindSet::MESSAGE_KINDS.is_subset_of(kinds) {
            return;
        }
        self.record_use(path, kinds);
        let kinds_before = self.remaining_kinds(path);
        let inferred =
            match self.inferred_types.get_mut(&PathRef(path)) {
                Some(inferred) => inferred,
                None => self.inferred_types.entry(self.names.intern_path(path)).or_insert_with(|| {
                    InferredType { kinds: kinds_before, uses: Vec::new(), overloaded_uses: Vec::new() }
                }),
            };
        let conflict = |message: Message| {
            Diagnostic::new(Code::ConflictingUses, span, message).here(message!("used here as {reason}"))
        };
        let describe_kinds = |kinds| Ty::from_kinds(kinds).with_article();
        let remaining_kinds = inferred.kinds.intersect(kinds);
        let known = self.existing_uses.as_ref().and_then(|known| known.accepted_kinds(path));
        if remaining_kinds.is_empty() {
            let (name, other, this) =
                (join_path(path), describe_kinds(inferred.kinds), describe_kinds(kinds));
            let conflict = conflict(message!("`{name}` cannot be both {other} and {this}"));
            let earlier = inferred.uses.iter().find(|other| !other.kinds.overlaps(kinds));
            let conflict = match reason {
                NarrowingReason::Field(name) => with_function_help(conflict, &join_path(path), name),
                _ => conflict,
            };
            self.conflicts.push(match earlier {
                Some(FieldUseSite { use_span, reason: earlier, .. }) => {
                    let conflict = match earlier {
                        NarrowingReason::Field(name) => with_function_help(conflict, &join_path(path), name),
                        _ => conflict,
                    };
                    with_key_help(conflict, &name, [earlier, reason])
                        .label(*use_span, message!("used here as {reason}", reason = earlier))
                }
                None if conflict.help.is_some() => conflict,
                None => conflict
                    .help(message!("`{name}` is a string unless an `input` block declares another type")),
            });
        } else if let Some(known) = known.filter(|known| !known.is_subset_of(kinds)) {
            let (name, other, this) = (join_path(path), describe_kinds(known), describe_kinds(kinds));
            let message = message!("other rules read `{name}` as {other}, but this works for {this} only");
            let help =
                message!("declare `{name}` in an `input` block, or read it here as one type: `{name} as …`");
            self.conflicts.push(conflict(message).help(help));
        } else {
            inferred.add_use(
                FieldUseSite {
                    kinds,
                    use_span: span,
                    reason: reason.clone(),
                    statement_number: self.statement_number,
                },
                remaining_kinds,
            );
        }
    }

    /// Marks the end of the checker's first pass. From now on, uses of fields do not narrow types.
    pub(super) fn end_inference(&mut self) {
        self.is_inference_done = true;
        self.compared_names.clear();
        self.slots.clear();
        self.slot_ids.clear();
    }

    /// Returns the span and the reason of the first use that narrowed an undeclared field, for
    /// error messages. `None` if no use narrowed it.
    pub(super) fn narrowing_origin(&self, path: &[impl PathSegment]) -> Option<(Span, &NarrowingReason)> {
        self.inferred_types.get(&PathRef(path))?.uses.first().map(|first| (first.use_span, &first.reason))
    }

    /// Returns the uses of fields that another statement narrows to fewer kinds, in source order.
    pub(super) fn narrowed_uses(&self) -> Vec<NarrowedUse<'_>> {
        let narrowed_uses = self.inferred_types.iter().filter(|(path, _)| !is_message_text(path)).filter_map(
            |(path, inferred)| {
                let existing_kinds = self
                    .existing_uses
                    .as_ref()
                    .and_then(|existing_kinds| existing_kinds.accepted_kinds(path));
                let (narrowed_use, narrowing_use) =
                    inferred.first_narrowed_use(existing_kinds.unwrap_or(UNDECLARED_KINDS))?;
                Some(NarrowedUse { path, kinds: read_kinds(inferred.kinds), narrowed_use, narrowing_use })
            },
        );
        let mut narrowed_uses: Vec<NarrowedUse<'_>> = narrowed_uses.collect();
        narrowed_uses.sort_by_key(|narrowed| {
            (narrowed.narrowed_use.use_span.file, narrowed.narrowed_use.use_span.start)
        });
        narrowed_uses
    }

    /// Starts the check of a statement: until the next call, uses are recorded for this statement.
    pub(super) fn begin_statement(&mut self) {
        self.statement_number += 1;
    }

    /// Returns the id of the slot that reads the field at `path` and converts its value to `kinds`.
    /// The path starts at the message, or at the value of the binding `root` (a named value in
    /// payload rules). Adds the slot if there is none; `private` marks a new slot as private.
    pub(super) fn intern_slot(
        &mut self,
        root: Option<&BindingRoot>,
        path: &[impl PathSegment],
        kinds: KindSet,
        private: bool,
    ) -> SlotId {
        let MessageFields { slots, slot_ids, hasher, names, input, .. } = self;
        let is_same_slot = |id: &SlotId| {
            let slot = &slots[id.index()];
            slot.root.as_ref() == root && slot.kinds == kinds && is_same_path(&slot.path, path)
        };
        let key = hasher.hash_one((root, path, kinds));
        if let Some(id) = slot_ids.find(key, is_same_slot) {
            return *id;
        }
        let id = SlotId(slots.len() as u32);
        let declared = input.as_ref().filter(|_| root.is_none());
        let field = declared.and_then(|input| find_declared_field(&input.ty, path).ok());
        let values = field.and_then(|field| field.ty.values().cloned()).filter(|_| kinds.has(Kind::String));
        slots.push(Slot {
            root: root.cloned(),
            path: names.intern_path(path),
            kinds,
            values,
            is_private: private,
        });
        slot_ids.insert_unique(key, id, |id| {
            let Slot { root, path, kinds, .. } = &slots[id.index()];
            hasher.hash_one((root.as_ref(), path.as_slice(), kinds))
        });
        id
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the slot with this id: a field with the kinds to which its value is converted.
    pub(super) fn slot(&self, id: SlotId) -> &Slot {
        &self.slots[id.index()]
    }
}

/// Adds a help text if the field's name resembles a function. For `text.length`, the help text
/// suggests `len(text)`.
fn with_function_help(diagnostic: Diagnostic, path: &str, field: &str) -> Diagnostic {
    match function_for_property(field) {
        Some(function) => diagnostic.help(message!("write `{function}({path})`")),
        None => diagnostic,
    }
}

/// Adds a help text if one use of a path is the right side of `in`, and the other reads a field.
fn with_key_help(diagnostic: Diagnostic, name: &str, reasons: [&NarrowingReason; 2]) -> Diagnostic {
    let reads_field = reasons.iter().any(|reason| matches!(reason, NarrowingReason::Field(_)));
    let is_searched = reasons.iter().any(|reason| reason.is_right_of_in());
    match reads_field && is_searched && diagnostic.help.is_none() {
        true => diagnostic.help(message!(
            "to look for a key, write `{name} has_key KEY`; to test for one field, `{name}.FIELD is present`"
        )),
        false => diagnostic,
    }
}

/// Returns the function that an author probably means by a field name, such as `len` for `length`.
/// `None` if the name resembles no function.
pub(super) fn function_for_property(field: &str) -> Option<&'static str> {
    Function::from_name(field)
        .map(|function| function.info().name)
        .or_else(|| builtins::builtin_for_foreign_name(field))
}

fn join_path(path: &[impl PathSegment]) -> String {
    let names: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
    names.join(".")
}

pub(super) fn find_declared_field(input: &Ty, path: &[impl PathSegment]) -> Result<ResolvedField, PathError> {
    let mut field = ResolvedField { ty: input.clone(), is_optional: false, is_private: false };
    for (index, name) in path.iter().enumerate() {
        field = match field_of_type(&field.ty, name.as_ref()) {
            Ok(ResolvedField { ty, is_optional: optional, is_private: private }) => ResolvedField {
                ty,
                is_optional: field.is_optional | optional,
                is_private: field.is_private | private,
            },
            Err(Some(record)) => return Err(PathError::UnknownField { at: index, record }),
            Err(None) => return Err(PathError::NoFields { at: index, ty: field.ty }),
        };
    }
    Ok(field)
}

/// Looks up a field in a type. On failure, returns the record type that lacks the field, or `None`
/// if the type has no declared fields.
pub(super) fn field_of_type(ty: &Ty, name: &str) -> Result<ResolvedField, Option<Arc<RecordType>>> {
    let optional_field = |ty| ResolvedField { ty, is_optional: true, is_private: false };
    match &ty.inner {
        InnerType::Fields(record) => match record.get(name) {
            Some(Field { ty, is_optional: optional, is_private: private, .. }) => {
                Ok(ResolvedField { ty: ty.clone(), is_optional: *optional, is_private: *private })
            }
            None => Err(Some(record.clone())),
        },
        _ if !ty.kinds.overlaps(KindSet::DICT) => Err(None),
        InnerType::Element(element) => Ok(optional_field((**element).clone())),
        InnerType::Values(_) | InnerType::Unknown => Ok(optional_field(Ty::ANY)),
    }
}
