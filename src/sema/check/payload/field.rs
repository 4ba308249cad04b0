//! Fields: the rules that a declaration stands for.

use super::super::read::accepted;
use super::super::{Binding, Checked, Checker};
use super::shape::{kind_of, wants};
use super::{Builder, Site, Violation, missing, not, present, test};
use crate::builtins::Function;
use crate::diag::{Code, Diagnostic};
use crate::ops::Op;
use crate::sema::hir::{
    Cond, CondKind, Correction, Each, Expr, ExprKind, Operand, Place, Shape, Step, Var, VarId,
};
use crate::span::Span;
use crate::syntax::ast::{self, FieldItem, Ident, Item, ItemKind, TypeKind};
use crate::ty::{Inner, KindSet, Ty};
use serde_json::Value as Json;
use std::sync::Arc;

/// A declared field, for the rules about it.
struct Declared<'a, 's> {
    field: &'a FieldItem,
    site: &'s Site,
    /// The field's value at any type.
    any: Expr,
    /// The field's value at its declared type.
    typed: Expr,
    place: Place,
    repair: String,
    /// The correction `remove`, when the author wrote it.
    removal: Option<Correction>,
}

impl<'a> Declared<'a, '_> {
    fn id(&self, rule: &str) -> String {
        format!("{}.{}.{rule}", self.site.owner, self.field.name.node)
    }

    /// The condition that the object is one, where that is a rule of its own.
    fn object(&self) -> Vec<Cond> {
        let object = self.site.may_differ.then(|| present(self.site.object.clone(), self.field.name.span));
        object.into_iter().collect()
    }

    fn violation(&self, message: String, shows_value: bool, correction: Option<Correction>) -> Violation<'a> {
        let repair = match &correction {
            Some(Correction::Remove) => format!("{}, or leave it out", self.repair),
            _ => self.repair.clone(),
        };
        let (place, span, notice) = (self.place.clone(), self.field.name.span, &self.field.notice);
        Violation { place, span, message, repair, shows_value, correction, notice }
    }
}

impl<'a> Checker<'a> {
    /// A field of an object, read at a type.
    fn inside(&mut self, object: &Expr, name: &str, ty: &Ty, span: Span) -> Expr {
        let kind = match self.slot_inside(object, name, ty) {
            Some(slot) => ExprKind::Slot(slot),
            None => {
                let kind = ExprKind::Field(Box::new(object.clone()), name.into());
                let field = Expr { kind, ty: Ty::ANY, optional: true, span };
                ExprKind::Read(Box::new(field), ty.kinds)
            }
        };
        Expr { kind, ty: ty.clone(), optional: true, span }
    }

    /// Brings the fields that a body declares into scope.
    pub(super) fn bring_fields(&mut self, items: &'a [Item], site: &Site) {
        let before = self.diagnostics.len();
        let mut seen: Vec<&Ident> = Vec::new();
        let mut twice = Vec::new();
        for item in items {
            let ItemKind::Field(field) = &item.kind else { continue };
            if let Some(first) = seen.iter().find(|first| first.node == field.name.node) {
                let message = format!("the field `{}` is declared twice", field.name.node);
                twice.push(
                    Diagnostic::new(Code::FieldTwice, field.name.span, message)
                        .here("declared again")
                        .label(first.span, "first declared here")
                        .help("keep one of them"),
                );
                continue;
            }
            seen.push(&field.name);
            let ty = self.shape(&field.ty, &mut Vec::new()).map_or(Ty::ANY, |shape| shape.ty());
            let name: Arc<str> = field.name.node.as_str().into();
            let expr = self.inside(&site.object, &name, &ty, field.name.span);
            let mut binding = Binding::new(name.clone(), expr.clone(), field.name.span);
            binding.place = Some(site.place.then(Step::Key(name)));
            binding.guard = self.elements_fit(&expr, &ty, field.name.span);
            self.scope.push(binding);
        }
        self.diagnostics.truncate(before);
        self.diagnostics.extend(twice);
    }

    /// The condition that every element of a list or dict is of the element type, where that says anything.
    fn elements_fit(&mut self, value: &Expr, ty: &Ty, span: Span) -> Option<Cond> {
        let Inner::Element(element) = &ty.inner else { return None };
        // Objects have rules of their own, element by element.
        if element.kinds == KindSet::ALL || element.fields().is_some() {
            return None;
        }
        let list = match ty.kinds {
            KindSet::LIST => value.clone(),
            KindSet::DICT => {
                Expr::call(Function::Values, vec![value.clone()], Ty::list((**element).clone()), span)
            }
            _ => return None,
        };
        let id = VarId(self.vars);
        self.vars += 1;
        let var = Var { id, name: "element".into(), kinds: element.kinds };
        let read = Expr { kind: ExprKind::Var(id), ty: (**element).clone(), optional: true, span };
        let body = Box::new(present(read, span));
        let kind = CondKind::Quantifier { all: true, list: Box::new(list), var, body };
        Some(Cond { kind, span })
    }

    /// The rules that a field's declaration stands for.
    pub(super) fn field_rules(
        &mut self,
        field: &'a FieldItem,
        site: &Site,
        builder: &mut Builder,
    ) -> Checked<()> {
        let shape = self.shape(&field.ty, &mut builder.groups)?;
        let (name, span) = (&field.name.node, field.name.span);
        let ty = shape.ty();
        let any = self.inside(&site.object, name, &Ty::ANY, span);
        let typed = self.inside(&site.object, name, &ty, span);
        let limits = self.limits(field, &typed)?;
        let shown = limits.as_ref().and_then(|_| self.constant_limits(field.limits.as_ref()?));
        let wants = wants(field, &shape, shown.as_ref());
        let correction = self.correction(&field.notice)?;
        let declared = Declared {
            field,
            site,
            any,
            typed,
            place: site.place.then(Step::Key(name.as_str().into())),
            repair: format!("give `{name}` as {wants}"),
            removal: correction.clone().filter(|correction| matches!(correction, Correction::Remove)),
        };
        if !field.optional {
            let default = self.default(field, &ty, correction)?;
            let mut parts = declared.object();
            parts.push(missing(declared.any.clone(), span));
            let violation = declared.violation(format!("`{name}` is required"), false, default);
            self.require(&declared.id("required"), parts, violation, site, builder)?;
        }
        if ty.kinds != KindSet::ALL {
            let message = format!("`{name}` must be {}", kind_of(&shape, field.nullable));
            let violation = declared.violation(message, true, declared.removal.clone());
            let parts = self.of_another_type(&declared);
            self.require(&declared.id("type"), parts, violation, site, builder)?;
        }
        if let Some(span) = field.not_blank {
            self.not_blank(&declared, span, builder)?;
        }
        if let Some((rule, allowed, clamp)) = limits {
            let clamp = clamp.or(declared.removal.clone());
            let violation = declared.violation(format!("`{name}` must be {wants}"), true, clamp);
            self.require(&declared.id(rule), vec![not(allowed)], violation, site, builder)?;
        }
        self.inner_rules(declared, &shape, builder)
    }

    /// The condition that a field is there and not of its type.
    fn of_another_type(&mut self, declared: &Declared<'a, '_>) -> Vec<Cond> {
        let Declared { field, site, typed, .. } = declared;
        let span = field.name.span;
        let mut parts = declared.object();
        parts.push(if field.optional && !field.nullable {
            let key = super::super::constant::constant(Json::from(field.name.node.as_str()), span);
            test(Op::HasKey, site.object.clone(), Operand::Value(key), span)
        } else {
            present(declared.any.clone(), span)
        });
        parts.push(match self.elements_fit(typed, &typed.ty, span) {
            None => missing(typed.clone(), span),
            Some(fit) => Cond { kind: CondKind::Or(vec![missing(typed.clone(), span), not(fit)]), span },
        });
        parts
    }

    /// The rule of `not blank`, which stands at `span`.
    fn not_blank(&mut self, declared: &Declared<'a, '_>, span: Span, builder: &mut Builder) -> Checked<()> {
        let (name, typed) = (&declared.field.name.node, &declared.typed);
        if !typed.ty.kinds.overlaps(KindSet::STRING) {
            let message = format!("`not blank` is about texts, and `{name}` is {}", typed.ty.with_article());
            return self.report(
                Diagnostic::new(Code::LimitType, span, message)
                    .help("for a list write a rule of its own: `require \"id\" at tags: len(tags) > 0`"),
            );
        }
        let text = Expr::call(Function::Nonblank, vec![typed.clone()], Ty::STRING, span);
        let parts = vec![present(typed.clone(), span), missing(text, span)];
        let message = format!("`{name}` must not be blank");
        let violation = Violation { span, ..declared.violation(message, false, declared.removal.clone()) };
        self.require(&declared.id("empty"), parts, violation, declared.site, builder)
    }

    /// The rules of the group that a field's type names, for the field or for each of its elements.
    fn inner_rules(
        &mut self,
        declared: Declared<'a, '_>,
        shape: &Shape,
        builder: &mut Builder,
    ) -> Checked<()> {
        let field = declared.field;
        let (ty, inner) = match (&field.ty.kind, shape) {
            (TypeKind::List(Some(element)), Shape::Objects(inner)) => (&**element, inner),
            (_, Shape::Object(inner)) => (&field.ty, inner),
            _ => return Ok(()),
        };
        let Some(group) = self.type_group(ty) else { return Ok(()) };
        let name = Ident { span: ty.span, ..group.name.clone() };
        self.enter_group(&name, builder)?;
        let site = Site {
            owner: group.name.node.as_str().into(),
            object: declared.typed,
            place: declared.place,
            may_differ: true,
            renamed: declared.site.renamed.clone(),
            known: inner.fields.iter().map(|field| field.name.clone()).collect(),
        };
        let done = match shape {
            Shape::Objects(_) => self.elements(group, site, field, builder),
            _ => {
                self.group_items(group, Vec::new(), &site, builder);
                Ok(())
            }
        };
        builder.groups.pop();
        done
    }

    /// A group's rules for each element of a list, which is the object of `list`.
    fn elements(
        &mut self,
        group: &'a ast::Group,
        list: Site,
        field: &'a FieldItem,
        builder: &mut Builder,
    ) -> Checked<()> {
        let span = field.name.span;
        let name = format!("{}[]", field.name.node);
        let element = builder.binding();
        let object = self.bound(element, &name, list.object.ty.element(), span);
        let place = Place::of(element);
        let violation = Violation {
            place: place.clone(),
            span,
            message: format!("each element of `{}` must be an object", field.name.node),
            repair: "write it as an object".to_owned(),
            shows_value: true,
            correction: None,
            notice: &field.notice,
        };
        let parts = vec![missing(object.clone(), span)];
        let site = Site { object, place, ..list.clone() };
        let outer = self.open_block(&name, span, builder);
        let required = self.require(&format!("{}.type", site.owner), parts, violation, &site, builder);
        if required.is_ok() {
            self.group_items(group, Vec::new(), &site, builder);
        }
        let block = std::mem::replace(&mut builder.block, outer);
        required?;
        let elements = self.computed(list.object);
        builder.block.each.push(Each { list: elements, place: Some(list.place), key: None, element, block });
        Ok(())
    }

    /// A field's default, held against its type.
    fn default(
        &mut self,
        field: &FieldItem,
        ty: &Ty,
        correction: Option<Correction>,
    ) -> Checked<Option<Correction>> {
        let Some(Correction::Default(id)) = correction else { return Ok(None) };
        let value = self.program.value(id);
        if !value.ty.kinds.overlaps(accepted(ty.kinds)) {
            let message = format!(
                "the default of `{}` is {}, and the field is {}",
                field.name.node,
                value.ty.with_article(),
                ty.with_article()
            );
            return self.report(
                Diagnostic::new(Code::DefaultType, value.span, message)
                    .label(field.ty.span, "declared here")
                    .help("give a value of the field's type"),
            );
        }
        // A default that would break the next rule is none.
        if field.not_blank.is_some() && value.as_const().is_none() {
            self.program.values[id.index()] =
                Expr::call(Function::Nonblank, vec![value.clone()], Ty::STRING, value.span);
        }
        Ok(Some(Correction::Default(id)))
    }

    /// The limits that `in` sets: the rule's name, the condition, and the correction that clamps to it.
    fn limits(
        &mut self,
        field: &'a FieldItem,
        typed: &Expr,
    ) -> Checked<Option<(&'static str, Cond, Option<Correction>)>> {
        let Some(limits) = &field.limits else { return Ok(None) };
        let span = limits.values.span;
        if let ast::ExprKind::Range { start, end, inclusive } = &limits.values.kind {
            let (start, end) = (self.value(start), self.value(end));
            let (start, end) = (start?, end?);
            let fits = |end: &Expr| {
                end.ty.kinds.families().overlaps(typed.ty.kinds) && end.ty.kinds.overlaps(KindSet::NUMBER)
            };
            if !fits(&start) || !fits(&end) || typed.ty.kinds == KindSet::ALL {
                return self.limit_mismatch(field, span, "a range is about numbers");
            }
            let clamp = if limits.clamp {
                if !inclusive {
                    return self.report(
                        Diagnostic::new(
                            Code::ClampWithoutRange,
                            span,
                            "a range without its end has no greatest value to clamp to",
                        )
                        .help("write it with `..=`"),
                    );
                }
                let call = |function, args| Expr::call(function, args, Ty::NUMBER, span);
                let most = call(Function::Min, vec![typed.clone(), end.clone()]);
                let clamped = call(Function::Max, vec![start.clone(), most]);
                Some(Correction::Clamp(self.computed(clamped)))
            } else {
                None
            };
            let range = Operand::Range { start, end, inclusive: *inclusive };
            return Ok(Some(("range", test(Op::In, typed.clone(), range, span), clamp)));
        }
        if limits.clamp {
            return self.report(
                Diagnostic::new(Code::ClampWithoutRange, span, "only a range can clamp")
                    .help("write a range, as in `in 0..=1 clamp`, or leave `clamp` out"),
            );
        }
        let values = self.value(&limits.values)?;
        let element = values.ty.element().kinds.families();
        if values.ty.kinds != KindSet::LIST || !element.overlaps(typed.ty.kinds) {
            return self.limit_mismatch(field, span, "write a list of values of the field's type");
        }
        let allowed = test(Op::In, typed.clone(), Operand::Value(values), span);
        Ok(Some(("enum", allowed, None)))
    }

    fn limit_mismatch<T>(&mut self, field: &FieldItem, span: Span, help: &str) -> Checked<T> {
        let message = format!("these are no values of `{}`", field.name.node);
        self.report(
            Diagnostic::new(Code::LimitType, span, message)
                .label(field.ty.span, "its type")
                .help(help.to_owned()),
        )
    }
}
