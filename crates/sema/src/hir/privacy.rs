//! Finds expressions whose values come from `@private` fields, directly or indirectly. A value can
//! come through a `let`, an element of a list, or a binding (named value) in payload rules.

use super::{
    BindingId, Cond, CondKind, Expr, ExprKind, FieldShape, Fold, Let, LetId, ObjectSchema, Part, Payload,
    Program, Slot, Term, VarId,
};
use rulec_base::broken_invariant;
use rulec_lang::privacy::{Privacy, may_contain_private};
use rulec_lang::ty::{InnerType, KindSet, RecordType, Ty};
use std::sync::Arc;

/// The binding (named value) of the whole validated payload, which always has id 0.
const PAYLOAD_BINDING: BindingId = BindingId(0);

/// An analysis that decides whether expressions read private values.
pub struct PrivateReads<'p> {
    slots: &'p [Slot],
    lets: &'p [Let],
    input: Option<&'p RecordType>,
    /// The declared fields of each `payload` statement that has private fields.
    payloads: Vec<Arc<RecordType>>,
    /// Whether each `let` reads a private value; `None` if not computed yet.
    lets_are_private: Vec<Option<bool>>,
    /// The quantifier variables in scope, each with two facts about its list: whether the list is
    /// private, and the type of the list's elements.
    quantifier_vars: Vec<(VarId, bool, Ty)>,
}

impl<'p> PrivateReads<'p> {
    /// Returns an analysis of expressions that read the given slots (fields) and `let`s. `input` is
    /// the declared message type.
    pub fn new(slots: &'p [Slot], lets: &'p [Let], input: Option<&'p RecordType>) -> PrivateReads<'p> {
        let (lets_are_private, payloads) = (vec![None; lets.len()], Vec::new());
        PrivateReads { slots, lets, input, payloads, lets_are_private, quantifier_vars: Vec::new() }
    }

    /// Adds a quantifier variable to the scope. Its values, the elements of `list`, are private if
    /// `list` is private.
    pub fn enter_quantifier(&mut self, var: VarId, list: &Expr) {
        let (private, ty) = (self.is_private(list), self.expr_type(list).element());
        self.quantifier_vars.push((var, private, ty));
    }

    /// Removes the innermost quantifier variable. Returns whether the variable's list is private,
    /// and the type of the list's elements.
    pub fn leave_quantifier(&mut self) -> (bool, Ty) {
        self.quantifier_vars.pop().map_or((false, Ty::ANY), |(_, private, ty)| (private, ty))
    }

    /// True if the value of the expression is private as a whole. A value that is not private as a
    /// whole may still contain private fields.
    pub fn is_private(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Slot(id) => self.slots.get(id.index()).is_none_or(|slot| {
                self.is_slot_private(slot)
                    || self.may_hold_private(slot) && expr.ty.inner == InnerType::Unknown
            }),
            ExprKind::Var(id) => {
                self.quantifier_vars.iter().any(|(other, private, _)| other == id && *private)
            }
            ExprKind::Field(base, name) => {
                let private = |ty: &Ty| {
                    ty.fields().and_then(|fields| fields.get(name)).is_some_and(|field| field.is_private)
                };
                private(&self.expr_type(base)) || self.is_private(base)
            }
            ExprKind::Index(base, index) => {
                let ty = self.expr_type(base);
                let keyed = ty.fields().is_some() && may_contain_private(&ty);
                keyed || self.is_private(base) || self.part_reads_private(Part::Expr(index))
            }
            ExprKind::Read(inner, _) => self.is_private(inner),
            ExprKind::Fold { fold, list, var, body } => {
                self.loop_reads_private(list, var.id, body, fold.summed_expr())
            }
            ExprKind::Window { list, operand, .. } => {
                self.is_private(list) || self.part_reads_private(Part::Expr(operand))
            }
            _ => expr.parts().into_iter().any(|part| self.part_reads_private(part)),
        }
    }

    /// True if the expression reads a private value, or a value that contains one. Its value must
    /// then be masked in texts that people read.
    pub fn reads_private(&mut self, expr: &Expr) -> bool {
        self.part_reads_private(Part::Expr(expr))
    }

    fn part_reads_private(&mut self, part: Part<'_>) -> bool {
        match part {
            Part::Expr(expr) => may_contain_private(&self.expr_type(expr)) || self.is_private(expr),
            Part::Cond(Cond { kind: CondKind::Quantifier { list, var, body, .. }, .. }) => {
                self.loop_reads_private(list, var.id, body, None)
            }
            Part::Cond(cond) => cond.parts().into_iter().any(|part| self.part_reads_private(part)),
            Part::Let(id) => self.let_reads_private(id),
        }
    }

    /// True if a quantifier or fold reads a private value. If the type of the elements is known,
    /// their private fields count only if the condition, or the expression `summed`, reads them.
    fn loop_reads_private(&mut self, list: &Expr, var: VarId, body: &Cond, summed: Option<&Expr>) -> bool {
        let ty = self.expr_type(list);
        if self.is_private(list) || may_contain_private(&ty) && !may_contain_private(&ty.element()) {
            return true;
        }
        self.enter_quantifier(var, list);
        let private = self.part_reads_private(Part::Cond(body))
            || summed.is_some_and(|summed| self.part_reads_private(Part::Expr(summed)));
        self.leave_quantifier();
        private
    }

    fn let_reads_private(&mut self, id: LetId) -> bool {
        let Some(body) = self.lets.get(id.index()).map(|named| &named.body) else {
            broken_invariant!("the program has each definition that it reads");
            return true;
        };
        if let Some(known) = self.lets_are_private[id.index()] {
            return known;
        }
        self.lets_are_private[id.index()] = Some(false);
        let private = match body.as_part() {
            Part::Expr(expr) => self.is_private(expr),
            part => self.part_reads_private(part),
        };
        self.lets_are_private[id.index()] = Some(private);
        private
    }

    fn is_slot_private(&self, slot: &Slot) -> bool {
        slot.is_private || self.declared_type(slot).1
    }

    /// True if a slot (a field that rules read) may contain private elements although no declared
    /// type shows them. This is possible for a list or dict in a binding (named value) of payload
    /// rules. The binding of the payload itself is the exception, because the payload's type is
    /// declared. False if the program declares no private field.
    fn may_hold_private(&self, slot: &Slot) -> bool {
        let exists = || !self.payloads.is_empty() || self.input.is_some_and(|input| !is_public(input));
        let containers = KindSet::LIST.union(KindSet::DICT);
        slot.root.as_ref().is_some_and(|root| root.id != PAYLOAD_BINDING)
            && slot.kinds.overlaps(containers)
            && exists()
    }

    /// Returns the declared type of the field of a slot; [`Ty::ANY`] if the field is not declared.
    /// The bool is true if the field or an enclosing record is private.
    pub fn declared_type(&self, slot: &Slot) -> (Ty, bool) {
        fn type_at_path(ty: &Ty, path: &[Arc<str>], private: bool) -> (Ty, bool) {
            match (path.split_first(), &ty.inner) {
                (None, _) => (ty.clone(), private),
                (Some((key, rest)), InnerType::Fields(record)) => match record.get(key) {
                    Some(field) => type_at_path(&field.ty, rest, private || field.is_private),
                    None => (Ty::ANY, private),
                },
                (Some((_, rest)), InnerType::Element(element)) => type_at_path(element, rest, private),
                (Some(_), InnerType::Values(_) | InnerType::Unknown) => (Ty::ANY, private),
            }
        }
        let in_record = |record: &Arc<RecordType>| {
            let whole = Ty { kinds: KindSet::DICT, inner: InnerType::Fields(record.clone()) };
            type_at_path(&whole, &slot.path, false)
        };
        match &slot.root {
            None => {
                let first = slot.path.split_first().zip(self.input);
                match first.and_then(|((key, rest), input)| Some((input.get(key)?, rest))) {
                    Some((field, rest)) => type_at_path(&field.ty, rest, field.is_private),
                    None => (Ty::ANY, false),
                }
            }
            // All payload kinds share the slot of a path, so the field is looked up in each kind.
            Some(root) if root.id == PAYLOAD_BINDING => {
                let mut found = self.payloads.iter().map(in_record);
                found.find(|(ty, private)| *private || may_contain_private(ty)).unwrap_or((Ty::ANY, false))
            }
            Some(_) => (Ty::ANY, false),
        }
    }

    /// Returns a type of the expression that shows which parts of its value are private. The type
    /// that the checker gave the expression may not show them. For example, the checker forgets the
    /// fields of a record that is read by `as`.
    pub fn expr_type(&self, expr: &Expr) -> Ty {
        let derived = match &expr.kind {
            ExprKind::Var(id) => {
                self.quantifier_vars.iter().rev().find(|(other, ..)| other == id).map(|var| var.2.clone())
            }
            ExprKind::Slot(id) => self.slots.get(id.index()).map(|slot| self.declared_type(slot).0),
            ExprKind::Read(inner, _) => Some(self.expr_type(inner)),
            ExprKind::Index(base, _) => Some(self.expr_type(base).element()),
            ExprKind::Window { list, .. } => Some(self.expr_type(list)),
            ExprKind::Fold { fold: Fold::First | Fold::Last, list, .. } => {
                Some(self.expr_type(list).element())
            }
            ExprKind::Field(base, name) => {
                self.expr_type(base).fields().and_then(|fields| Some(fields.get(name)?.ty.clone()))
            }
            ExprKind::Let(id) => match self.lets.get(id.index()).map(|named| &named.body) {
                Some(Term::Expr(body)) => Some(self.expr_type(body)),
                Some(Term::Cond(_)) | None => None,
            },
            _ => None,
        };
        derived.filter(may_contain_private).unwrap_or_else(|| expr.ty.clone())
    }
}

impl Program {
    /// Returns an analysis that finds out which expressions read private values.
    pub fn private_reads(&self) -> PrivateReads<'_> {
        let payloads = self.payloads.iter().filter_map(Payload::private_fields).collect();
        PrivateReads { payloads, ..PrivateReads::new(&self.slots, &self.lets, self.input.as_ref()) }
    }

    /// Returns which fields of a message are private, so that logs mask them.
    pub fn message_privacy(&self) -> Privacy<'_> {
        self.input.as_ref().map_or(Privacy::Public, Privacy::of_message)
    }
}

impl Payload {
    /// Returns the type of the payload's fields, which shows which of them are private; `None` if
    /// nothing is private.
    pub fn private_fields(&self) -> Option<Arc<RecordType>> {
        if !has_private_field(&self.object) {
            return None;
        }
        match self.object.record_type().inner {
            InnerType::Fields(record) => Some(record),
            InnerType::Element(_) | InnerType::Values(_) | InnerType::Unknown => None,
        }
    }
}

fn is_public(input: &RecordType) -> bool {
    Privacy::of_message(input).is_public()
}

fn has_private_field(object: &ObjectSchema) -> bool {
    object.fields.iter().any(|field| match &field.shape {
        FieldShape::Plain(ty) => may_contain_private(ty),
        FieldShape::Object(inner) | FieldShape::Objects(inner) => has_private_field(inner),
    })
}
