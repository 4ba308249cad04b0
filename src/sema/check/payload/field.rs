//! Fields: what a declaration says, as rules and as a schema.

use super::super::read::accepted;
use super::super::{Binding, Checked, Checker};
use super::{Builder, Said, Site, missing, not, present, test};
use crate::builtins::Function;
use crate::diag::{Code, Diagnostic};
use crate::ops::Op;
use crate::sema::hir::{
    self, Block, Cond, CondKind, Const, Correction, Each, Expr, ExprKind, Limits, Object, Operand,
    PayloadField, Shape, Step, Var, VarId,
};
use crate::span::Span;
use crate::syntax::ast::{self, FieldItem, Ident, Item, ItemKind, TypeExpr, TypeKind};
use crate::ty::{Field, Inner, KindSet, Record, Ty};
use serde_json::Value as Json;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// The fields of an object, those of included groups among them. Reports nothing: the rules'
    /// own pass does.
    pub(super) fn object(&mut self, items: &'a [Item], groups: &mut Vec<Arc<str>>) -> Object {
        let before = self.diagnostics.len();
        let mut object = Object::default();
        self.collect(items, groups, &mut object);
        self.diagnostics.truncate(before);
        object
    }

    fn collect(&mut self, items: &'a [Item], groups: &mut Vec<Arc<str>>, object: &mut Object) {
        for item in items {
            match &item.kind {
                ItemKind::Field(field) => {
                    if object.fields.iter().any(|other| *other.name == *field.name.node) {
                        continue;
                    }
                    let shape = self.shape(&field.ty, groups).unwrap_or(Shape::Plain(Ty::ANY));
                    let limits = field.limits.as_ref().and_then(|limits| self.constant_limits(limits));
                    let default = match field.notice.correction.as_ref().map(|correction| &correction.node) {
                        Some(ast::Correction::Default(value)) => self.constant_of(value),
                        _ => None,
                    };
                    object.fields.push(PayloadField {
                        name: field.name.node.as_str().into(),
                        optional: field.optional,
                        nullable: field.nullable,
                        shape,
                        not_blank: field.not_blank.is_some(),
                        limits,
                        default,
                        docs: item.docs.as_str().into(),
                    });
                }
                ItemKind::Closed { .. } => object.closed = true,
                ItemKind::Include(include) => {
                    let open = groups.iter().any(|open| **open == *include.group.node);
                    if let (false, Ok(group)) = (open, self.group(&include.group)) {
                        groups.push(group.name.node.as_str().into());
                        self.collect(&group.body, groups, object);
                        groups.pop();
                    }
                }
                ItemKind::Rule(_) | ItemKind::Let { .. } | ItemKind::Each(_) => {}
            }
        }
    }

    fn constant_of(&mut self, value: &'a ast::Expr) -> Option<Json> {
        if !self.looks_constant(value) {
            return None;
        }
        match self.value(value).ok()?.as_const()? {
            Const::Json(json) => Some((**json).clone()),
            Const::DateTime(_) => None,
        }
    }

    /// Whether no name in an expression can be one of the message or of the payload: names that are
    /// looked up before they are in scope would be taken for fields of the message.
    fn looks_constant(&self, value: &ast::Expr) -> bool {
        match &value.kind {
            ast::ExprKind::Literal(_) => true,
            ast::ExprKind::Name(name) => self.symbols.definition(value.span.file, name).is_some(),
            ast::ExprKind::List(items) => items.iter().all(|item| self.looks_constant(item)),
            ast::ExprKind::Record(entries) => entries.iter().all(|(_, value)| self.looks_constant(value)),
            ast::ExprKind::Unary(_, inner) => self.looks_constant(inner),
            _ => false,
        }
    }

    fn constant_limits(&mut self, limits: &'a ast::Limits) -> Option<Limits> {
        match &limits.values.kind {
            ast::ExprKind::Range { start, end, inclusive } => Some(Limits::Range {
                least: self.constant_of(start)?,
                most: self.constant_of(end)?,
                inclusive: *inclusive,
            }),
            _ => match self.constant_of(&limits.values)? {
                Json::Array(values) => Some(Limits::OneOf(values)),
                _ => None,
            },
        }
    }

    /// The group a type names.
    fn type_group(&mut self, ty: &'a TypeExpr) -> Option<&'a ast::Group> {
        let TypeKind::Name(name) = &ty.kind else { return None };
        if Ty::builtin(name).is_some() || self.symbols.types.get(name).is_some() {
            return None;
        }
        let symbol = self.symbols.groups.get(name)?;
        self.symbols.sees(ty.span.file, symbol.name.span).then(|| {
            self.used.insert(&symbol.name.node);
            symbol.node
        })
    }

    fn shape(&mut self, ty: &'a TypeExpr, groups: &mut Vec<Arc<str>>) -> Checked<Shape> {
        let element = match &ty.kind {
            TypeKind::List(Some(element)) => Some(&**element),
            _ => None,
        };
        let Some(group) = self.type_group(element.unwrap_or(ty)) else {
            return self.ty(ty).map(Shape::Plain);
        };
        if !group.params.is_empty() {
            let message = format!("the group `{}` has parameters and is no type", group.name.node);
            return self.report(
                Diagnostic::new(Code::GroupParameters, ty.span, message)
                    .label(group.name.span, "declared here")
                    .help(format!("include it: `include {}(…)`", group.name.node)),
            );
        }
        let name: Arc<str> = group.name.node.as_str().into();
        let object = if groups.contains(&name) {
            Object::default()
        } else {
            groups.push(name);
            let object = self.object(&group.body, groups);
            groups.pop();
            object
        };
        Ok(if element.is_some() { Shape::Objects(object) } else { Shape::Object(object) })
    }

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

    /// That every element of a list or dict is of the element type, where that says anything.
    fn elements_fit(&mut self, value: &Expr, ty: &Ty, span: Span) -> Option<Cond> {
        let Inner::Element(element) = &ty.inner else { return None };
        // Objects have rules of their own, element by element.
        if element.kinds == KindSet::ALL || element.fields().is_some() {
            return None;
        }
        let list = match ty.kinds {
            KindSet::LIST => value.clone(),
            KindSet::DICT => Expr {
                kind: ExprKind::Call(Function::Values, vec![value.clone()]),
                ty: Ty::list((**element).clone()),
                optional: true,
                span,
            },
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
        block: &mut Block,
    ) -> Checked<()> {
        let shape = self.shape(&field.ty, &mut builder.groups)?;
        let (name, span) = (&field.name.node, field.name.span);
        let ty = shape.ty();
        let any = self.inside(&site.object, name, &Ty::ANY, span);
        let typed = self.inside(&site.object, name, &ty, span);
        let place = site.place.then(Step::Key(name.as_str().into()));
        let limits = self.limits(field, &typed)?;
        let shown = limits.as_ref().and_then(|_| self.constant_limits(field.limits.as_ref()?));
        let wants = wants(field, &shape, shown.as_ref());
        let correction = self.correction(&field.notice)?;
        let object: Vec<Cond> =
            if site.may_differ { vec![present(site.object.clone(), span)] } else { Vec::new() };
        let rule_id = |rule: &str| format!("{}.{name}.{rule}", site.owner);
        let repair = format!("give `{name}` as {wants}");
        let removal = correction.clone().filter(|correction| matches!(correction, Correction::Remove));
        let said = |message: String, shows_value: bool, correction: Option<Correction>| Said {
            message,
            repair: match &correction {
                Some(Correction::Remove) => format!("{repair}, or leave it out"),
                _ => repair.clone(),
            },
            shows_value,
            correction,
            notice: &field.notice,
        };
        if !field.optional {
            let default = self.default(field, &ty, correction)?;
            let said = said(format!("`{name}` is required"), false, default);
            let parts = object.iter().cloned().chain([missing(any.clone(), span)]).collect();
            self.require(&rule_id("required"), parts, place.clone(), said, span, site, builder, block)?;
        }
        if ty.kinds != KindSet::ALL {
            let mut parts = object;
            parts.push(if field.optional && !field.nullable {
                let key = super::super::constant::constant(Json::from(name.as_str()), span);
                test(Op::HasKey, site.object.clone(), Operand::Value(key), span)
            } else {
                present(any, span)
            });
            parts.push(match self.elements_fit(&typed, &ty, span) {
                None => missing(typed.clone(), span),
                Some(fit) => Cond { kind: CondKind::Or(vec![missing(typed.clone(), span), not(fit)]), span },
            });
            let said =
                said(format!("`{name}` must be {}", kind_of(&shape, field.nullable)), true, removal.clone());
            self.require(&rule_id("type"), parts, place.clone(), said, span, site, builder, block)?;
        }
        if let Some(span) = field.not_blank {
            if !ty.kinds.overlaps(KindSet::STRING) {
                let message = format!("`not blank` is about texts, and `{name}` is {}", ty.with_article());
                return self
                    .report(Diagnostic::new(Code::LimitType, span, message).help(
                        "for a list write a rule of its own: `require \"id\" at tags: len(tags) > 0`",
                    ));
            }
            let kind = ExprKind::Call(Function::Nonblank, vec![typed.clone()]);
            let text = Expr { kind, ty: Ty::STRING, optional: true, span };
            let parts = vec![present(typed.clone(), span), missing(text, span)];
            let said = said(format!("`{name}` must not be blank"), false, removal.clone());
            self.require(&rule_id("empty"), parts, place.clone(), said, span, site, builder, block)?;
        }
        if let Some((rule, allowed, clamp)) = limits {
            let said = said(format!("`{name}` must be {wants}"), true, clamp.or(removal));
            let parts = vec![not(allowed)];
            self.require(&rule_id(rule), parts, place.clone(), said, span, site, builder, block)?;
        }
        let element = match (&field.ty.kind, &shape) {
            (TypeKind::List(Some(element)), Shape::Objects(inner)) => (&**element, inner),
            (_, Shape::Object(inner)) => (&field.ty, inner),
            _ => return Ok(()),
        };
        let Some(group) = self.type_group(element.0) else { return Ok(()) };
        let known: Arc<[Arc<str>]> = element.1.fields.iter().map(|field| field.name.clone()).collect();
        let name = Ident { span: element.0.span, ..group.name.clone() };
        self.enter_group(&name, builder)?;
        if let Shape::Object(_) = shape {
            let inner = Site {
                owner: group.name.node.as_str().into(),
                object: typed,
                place,
                may_differ: true,
                renamed: site.renamed.clone(),
                known,
            };
            self.group_items(group, Vec::new(), &inner, builder, block);
        } else {
            self.elements(group, typed, place, known, (field, site), builder, block)?;
        }
        builder.groups.pop();
        Ok(())
    }

    /// A group's rules for each element of a list.
    #[allow(clippy::too_many_arguments, reason = "what a group needs to stand somewhere")]
    fn elements(
        &mut self,
        group: &'a ast::Group,
        list: Expr,
        place: hir::Place,
        known: Arc<[Arc<str>]>,
        (field, site): (&'a FieldItem, &Site),
        builder: &mut Builder,
        block: &mut Block,
    ) -> Checked<()> {
        let span = field.name.span;
        let name = format!("{}[]", field.name.node);
        let element = builder.binding();
        let object = self.bound(element, &name, list.ty.element(), span);
        let site = self.element_site(group, object.clone(), element, site, known);
        let mut inner = self.block(&name, span);
        let said = Said {
            message: format!("each element of `{}` must be an object", field.name.node),
            repair: "write it as an object".to_owned(),
            shows_value: true,
            correction: None,
            notice: &field.notice,
        };
        let id = format!("{}.type", group.name.node);
        let parts = vec![missing(object, span)];
        self.require(&id, parts, site.place.clone(), said, span, &site, builder, &mut inner)?;
        self.group_items(group, Vec::new(), &site, builder, &mut inner);
        let list = self.computed(list);
        block.each.push(Each { list, place: Some(place), key: None, element, block: inner });
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
            let nonblank = Expr {
                span: value.span,
                ty: Ty::STRING,
                optional: true,
                kind: ExprKind::Call(Function::Nonblank, vec![value.clone()]),
            };
            self.program.values[id.index()] = nonblank;
        }
        Ok(Some(Correction::Default(id)))
    }

    /// What `in` allows: the rule's name, the condition, and how to clamp to it.
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
                return self.limit_misfit(field, span, "a range is about numbers");
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
                let call = |function: Function, args: Vec<Expr>| Expr {
                    kind: ExprKind::Call(function, args),
                    ty: Ty::NUMBER,
                    optional: true,
                    span,
                };
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
            return self.limit_misfit(field, span, "write a list of values of the field's type");
        }
        let allowed = test(Op::In, typed.clone(), Operand::Value(values), span);
        Ok(Some(("enum", allowed, None)))
    }

    fn limit_misfit<T>(&mut self, field: &FieldItem, span: Span, help: &str) -> Checked<T> {
        let message = format!("these are no values of `{}`", field.name.node);
        self.report(
            Diagnostic::new(Code::LimitType, span, message)
                .label(field.ty.span, "its type")
                .help(help.to_owned()),
        )
    }
}

impl Shape {
    /// The type the field is read at.
    fn ty(&self) -> Ty {
        match self {
            Shape::Plain(ty) => ty.clone(),
            Shape::Object(object) => object.record(),
            // Each element has rules of its own, so what it is says nothing of the list.
            Shape::Objects(object) => Ty::list(object.record()),
        }
    }
}

impl Object {
    /// The type an object with these fields is read at.
    pub(super) fn record(&self) -> Ty {
        let fields = self.fields.iter().map(|field| Field {
            name: field.name.clone(),
            ty: field.shape.ty(),
            optional: true,
            private: false,
        });
        Ty::record(Record { fields: fields.collect() })
    }
}

/// What a field wants, in words.
fn wants(field: &FieldItem, shape: &Shape, limits: Option<&Limits>) -> String {
    let mut words = match limits {
        Some(Limits::OneOf(values)) => {
            let values: Vec<String> = values.iter().map(Json::to_string).collect();
            match values.as_slice() {
                [one] => one.clone(),
                _ => format!("one of {}", values.join(", ")),
            }
        }
        Some(Limits::Range { least, most, inclusive }) => {
            let to = if *inclusive { "to" } else { "up to, but not," };
            format!("{} from {least} {to} {most}", kind_of(shape, false))
        }
        None => kind_of(shape, false),
    };
    if field.not_blank.is_some() {
        words += " that is not blank";
    }
    if field.nullable {
        words += " or null";
    }
    words
}

/// What a field's type is called.
fn kind_of(shape: &Shape, nullable: bool) -> String {
    let words = match shape {
        Shape::Object(_) => "an object".to_owned(),
        Shape::Objects(_) => "a list of objects".to_owned(),
        Shape::Plain(ty) => match (ty.kinds, &ty.inner) {
            (KindSet::STRING, _) => "a text".to_owned(),
            (KindSet::INT, _) => "a whole number".to_owned(),
            (KindSet::NUMBER | KindSet::FLOAT, _) => "a number".to_owned(),
            (KindSet::BOOL, _) => "true or false".to_owned(),
            (KindSet::DATETIME, _) => "a time such as \"2026-01-31T09:00:00Z\"".to_owned(),
            (KindSet::LIST, Inner::Element(element)) if element.kinds == KindSet::STRING => {
                "a list of texts".to_owned()
            }
            (KindSet::LIST, _) => "a list".to_owned(),
            (KindSet::DICT, _) => "an object".to_owned(),
            _ => "a value".to_owned(),
        },
    };
    if nullable { words + " or null" } else { words }
}
