//! Lowers the fields of a payload. Each declaration implies rules, such as that a required field is
//! present and has the declared type.

use super::super::constant::{build_constant, json_of_constant};
use super::super::{Binding, Checked, Checker};
use super::each::EachElements;
use super::shape::{describe_accepted_value, describe_shape};
use super::{ItemSite, ViolationReport, is_missing_condition, is_present_condition, negate, test_condition};
use crate::hir::{
    AllowedValues, Cond, CondKind, Const, Correction, Expr, ExprKind, FieldShape, ObjectPath, ObjectStep,
    Operand,
};
use crate::resolve::duplicate_error;
use hashbrown::HashMap;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::{InnerType, KindSet, Ty};
use rulec_lang::value::{Value, compare, is_identical};
use rulec_syntax::ast::{self, FieldItem, Ident, PayloadItem, PayloadItemKind, TypeKind};
use rulec_syntax::write::quote_string;
use serde_json::Value as Json;
use std::cmp::Ordering;

/// A declared field, with the values and texts that all rules of the field use.
struct DeclaredField<'a, 's> {
    field: &'a FieldItem,
    site: &'s ItemSite,
    /// The expression that reads the field as a value of any type.
    untyped_read: Expr,
    /// The expression that reads the field as its declared type; a value of another type is
    /// missing.
    typed_read: Expr,
    place: ObjectPath,
    repair: Message,
    /// The correction that removes the field; set if the author wrote `remove` after the field.
    removal: Option<Correction>,
}

impl<'a> DeclaredField<'a, '_> {
    fn rule_id(&self, rule: &str) -> String {
        format!("{}.{}.{rule}", self.site.owner_name, self.field.name.node)
    }

    /// Returns the condition that the parent of the field is an object. `None` if the parent is
    /// always an object.
    fn build_parent_object_condition(&self) -> Option<Cond> {
        self.site.may_be_non_object.then(|| is_present_condition(&self.site.object, self.field.name.span))
    }

    fn build_violation_report(
        &self,
        message: Message,
        shows_value: bool,
        correction: Option<Correction>,
    ) -> ViolationReport<'a> {
        let repair = match &correction {
            Some(Correction::Remove) => message!("{}, or leave it out", self.repair),
            _ => self.repair.clone(),
        };
        let (place, span, notice) = (self.place.clone(), self.field.name.span, &self.field.notice);
        ViolationReport {
            place,
            span,
            message,
            repair,
            shows_value,
            correction,
            notice,
            is_only_corrected: false,
            is_from_field: true,
        }
    }
}

impl<'a> Checker<'a> {
    /// Adds the fields that `items` declare to the scope, so that the rules of the payload can use
    /// their names.
    pub(super) fn bring_fields_into_scope(&mut self, items: &'a [PayloadItem], site: &ItemSite) {
        let diagnostics_before = self.diagnostics.len();
        let mut first_spans: HashMap<&str, Span> = HashMap::new();
        let mut duplicates = Vec::new();
        for item in items {
            let PayloadItemKind::Field(field) = &item.kind else { continue };
            let (name, span) = (&field.name.node, field.name.span);
            if let Some(first) = first_spans.get(name.as_str()) {
                let duplicate =
                    duplicate_error(message!("field"), name, *first, span).help(message!("keep one of them"));
                duplicates.push(Diagnostic { code: Code::FieldTwice, ..duplicate });
                continue;
            }
            first_spans.insert(name, span);
            let ty = self.lower_shape(&field.ty, &mut Vec::new()).map_or(Ty::ANY, |shape| shape.ty());
            let expr = self.build_field_read(&site.object, name, ty.clone(), span);
            let guard = self.build_elements_fit_condition(&expr, &ty, span);
            let place = Some(site.place.with_step(ObjectStep::Key(name.as_str().into())));
            self.scope.push(Binding { place, guard, ..Binding::new(name, expr, span) });
        }
        self.diagnostics.truncate(diagnostics_before);
        self.diagnostics.extend(duplicates);
    }

    /// Builds the condition that all elements of a list or dict have the element type. `None` if
    /// the condition would always be true or if other rules check the elements.
    fn build_elements_fit_condition(&mut self, value: &Expr, ty: &Ty, span: Span) -> Option<Cond> {
        let InnerType::Element(element) = &ty.inner else { return None };
        // Lists of objects are skipped: separate rules check each element.
        if element.kinds == KindSet::MESSAGE_KINDS || element.fields().is_some() {
            return None;
        }
        let list = match ty.kinds {
            KindSet::LIST => value.clone(),
            KindSet::DICT => {
                Expr::call(Function::Values, vec![value.clone()], Ty::list((**element).clone()), span)
            }
            _ => return None,
        };
        let var = self.new_var("element", element.kinds);
        let element_read =
            Expr { kind: ExprKind::Var(var.id), ty: (**element).clone(), may_be_missing: true, span };
        let body = Box::new(is_present_condition(&element_read, span));
        let kind = CondKind::Quantifier { is_all: true, list: Box::new(list), var, body };
        Some(Cond { kind, span })
    }

    /// Adds the rules that a field declaration implies: that the field is present, has its type,
    /// and has an allowed value.
    pub(super) fn add_field_rules(&mut self, field: &'a FieldItem, site: &ItemSite) -> Checked<()> {
        let shape = self.lower_shape(&field.ty, &mut self.payload.inlined_groups.clone())?;
        let (name, span) = (&field.name.node, field.name.span);
        let ty = shape.ty();
        let any = self.build_field_read(&site.object, name, Ty::ANY, span);
        let typed = self.build_field_read(&site.object, name, ty.clone(), span);
        let limits = self.lower_limits(field, &typed)?;
        let constant_limits =
            limits.as_ref().and_then(|_| self.try_constant_limits(field.allowed_values.as_ref()?));
        if let Some(written) = &field.allowed_values {
            self.warn_values_ignore_settings(constant_limits.as_ref(), written.values.span);
        }
        if let Some(written) = &field.const_value {
            self.warn_const_value_ignores_settings(written);
        }
        let wants = describe_accepted_value(field, &shape, constant_limits.as_ref());
        let correction = self.lower_correction(&field.notice)?;
        let declared = DeclaredField {
            field,
            site,
            untyped_read: any,
            typed_read: typed,
            place: site.place.with_step(ObjectStep::Key(name.as_str().into())),
            repair: message!("give `{name}` as {wants}"),
            removal: correction.clone().filter(|correction| matches!(correction, Correction::Remove)),
        };
        let default = self.check_default(field, &ty, correction)?;
        self.warn_refused_default(field, default.as_ref(), constant_limits.as_ref());
        if !field.optional {
            let parts = declared
                .build_parent_object_condition()
                .into_iter()
                .chain([is_missing_condition(&declared.untyped_read, span)])
                .collect();
            let violation = declared.build_violation_report(message!("`{name}` is required"), false, default);
            self.add_requirement(&declared.rule_id("required"), parts, violation, site)?;
        } else if default.is_some() && site.reported_id.is_none() {
            let is_absent = negate(has_key_condition(&declared));
            let parts = declared.build_parent_object_condition().into_iter().chain([is_absent]).collect();
            let completion =
                declared.build_violation_report(message!("`{name}` has a default"), false, default);
            let completion = ViolationReport { is_only_corrected: true, ..completion };
            self.add_requirement(&declared.rule_id("default"), parts, completion, site)?;
        }
        if ty.kinds != KindSet::MESSAGE_KINDS {
            let message = message!("`{name}` must be {}", describe_shape(&shape, field.nullable));
            let violation = declared.build_violation_report(message, true, declared.removal.clone());
            let parts = self.build_wrong_type_conditions(&declared);
            self.add_requirement(&declared.rule_id("type"), parts, violation, site)?;
        }
        if let Some(span) = field.not_blank_span {
            self.add_not_blank_rule(&declared, span)?;
        }
        if let Some((rule, allowed, clamp)) = limits {
            let clamp = clamp.or(declared.removal.clone());
            let violation =
                declared.build_violation_report(message!("`{name}` must be {wants}"), true, clamp);
            self.add_requirement(&declared.rule_id(rule), vec![negate(allowed)], violation, site)?;
        }
        if let Some(value) = &field.const_value {
            self.add_const_rule(&declared, value)?;
        }
        self.add_group_rules(declared, &shape)
    }

    /// Returns a list of conditions. If all are true, the field is present but has a wrong type.
    fn build_wrong_type_conditions(&mut self, declared: &DeclaredField<'a, '_>) -> Vec<Cond> {
        let DeclaredField { field, typed_read: typed, .. } = declared;
        let span = field.name.span;
        let is_present = if field.optional && !field.nullable {
            has_key_condition(declared)
        } else {
            is_present_condition(&declared.untyped_read, span)
        };
        let has_wrong_type = match self.build_elements_fit_condition(typed, &typed.ty, span) {
            None => is_missing_condition(typed, span),
            Some(elements_fit) => Cond {
                kind: CondKind::Or(vec![is_missing_condition(typed, span), negate(elements_fit)]),
                span,
            },
        };
        declared.build_parent_object_condition().into_iter().chain([is_present, has_wrong_type]).collect()
    }

    /// Adds the rule for `not blank`. `span` is the span of the words `not blank`.
    fn add_not_blank_rule(&mut self, declared: &DeclaredField<'a, '_>, span: Span) -> Checked<()> {
        let (name, typed) = (&declared.field.name.node, &declared.typed_read);
        if !typed.ty.kinds.overlaps(KindSet::STRING) {
            let message =
                message!("`not blank` applies only to texts, and `{name}` is {}", typed.ty.with_article());
            let help = message!("for a list, write a separate rule: `require \"id\" at tags: len(tags) > 0`");
            return self.fail(Code::LimitType, span, message, help);
        }
        let text = Expr::call(Function::Nonblank, vec![typed.clone()], Ty::STRING, span);
        let parts = vec![is_present_condition(typed, span), is_missing_condition(&text, span)];
        let message = message!("`{name}` must not be blank");
        let violation = ViolationReport {
            span,
            ..declared.build_violation_report(message, false, declared.removal.clone())
        };
        self.add_requirement(&declared.rule_id("empty"), parts, violation, declared.site)
    }

    /// Adds the rule for `const VALUE`: the field must equal this constant.
    fn add_const_rule(&mut self, declared: &DeclaredField<'a, '_>, value_expr: &'a ast::Expr) -> Checked<()> {
        let value = self.check_value(value_expr)?;
        let (name, span, ty) = (&declared.field.name.node, value_expr.span, &declared.typed_read.ty);
        let kinds = value.ty.kinds.with_comparable_kinds().intersect(ty.kinds);
        if kinds.is_empty() {
            return self.report_limit_mismatch(
                declared.field,
                span,
                message!("write a value of the field's type"),
            );
        }
        let kind = ExprKind::Read(Box::new(declared.untyped_read.clone()), kinds);
        let typed_value = Expr { kind, ty: Ty::from_kinds(kinds), may_be_missing: true, span };
        let wants = json_of_constant(&value).map_or_else(|| self.source_on_one_line(span), Json::to_string);
        let is_different = negate(test_condition(Op::Eq, typed_value.clone(), Operand::Value(value), span));
        let is_wrong_value =
            Cond { kind: CondKind::Or(vec![is_missing_condition(&typed_value, span), is_different]), span };
        // A value of a wrong type is already reported by another rule.
        let present_value =
            if ty.kinds == KindSet::MESSAGE_KINDS { &declared.untyped_read } else { &declared.typed_read };
        let parts = vec![is_present_condition(present_value, span), is_wrong_value];
        let violation = declared.build_violation_report(message!("`{name}` must be {wants}"), true, None);
        let violation = ViolationReport { span, repair: message!("write {wants}"), ..violation };
        self.add_requirement(&declared.rule_id("match"), parts, violation, declared.site)
    }

    /// Adds the rules of the group that is the field's type. The rules apply to the field, or to
    /// each element if the field is a list.
    fn add_group_rules(&mut self, declared: DeclaredField<'a, '_>, shape: &FieldShape) -> Checked<()> {
        let field = declared.field;
        let (ty, inner) = match (&field.ty.kind, shape) {
            (TypeKind::List(Some(element)), FieldShape::Objects(inner)) => (&**element, inner),
            (_, FieldShape::Object(inner)) => (&field.ty, inner),
            _ => return Ok(()),
        };
        let Some(group) = self.group_of_type(ty) else { return Ok(()) };
        self.begin_group_inlining(&Ident { span: ty.span, ..group.name.clone() })?;
        let site = ItemSite {
            owner_name: group.name.node.as_str().into(),
            object: declared.typed_read,
            place: declared.place,
            may_be_non_object: true,
            reported_id: declared.site.reported_id.clone(),
            declared_names: inner.fields.iter().map(|field| field.name.clone()).collect(),
        };
        let result = match shape {
            FieldShape::Objects(_) => self.add_element_rules(group, site, field),
            _ => {
                self.lower_group_items(group, Vec::new(), &site);
                Ok(())
            }
        };
        self.payload.inlined_groups.pop();
        result
    }

    /// Adds a block of rules for each element of a list whose element type is a group: the element
    /// must be an object, and must satisfy the rules of the group. `list` contains the list and its
    /// path.
    fn add_element_rules(
        &mut self,
        group: &'a ast::Group,
        list: ItemSite,
        field: &'a FieldItem,
    ) -> Checked<()> {
        let span = field.name.span;
        let name = format!("{}[]", field.name.node);
        let private = self.private_reads().is_private(&list.object);
        let (element, object) = self.new_binding(&name, list.object.ty.element(), private, span);
        let place = ObjectPath::new(element);
        let violation = ViolationReport {
            place: place.clone(),
            span,
            message: message!("each element of `{}` must be an object", field.name.node),
            repair: message!("write it as an object"),
            shows_value: true,
            correction: None,
            notice: &field.notice,
            is_only_corrected: false,
            is_from_field: true,
        };
        let parts = vec![is_missing_condition(&object, span)];
        let site = ItemSite { object, place, ..list.clone() };
        let elements =
            EachElements { list: list.object, place: Some(list.place), key: None, element, when: None };
        self.add_each_block(elements, &name, span, |this| {
            this.add_requirement(&format!("{}.type", site.owner_name), parts, violation, &site)?;
            this.lower_group_items(group, Vec::new(), &site);
            Ok(())
        })
    }

    /// Checks that the default of a field has the field's type. `correction` is what the author
    /// wrote after the field, if anything. Returns `correction` if it is a default, and otherwise
    /// `None`.
    fn check_default(
        &mut self,
        field: &FieldItem,
        ty: &Ty,
        correction: Option<Correction>,
    ) -> Checked<Option<Correction>> {
        let Some(Correction::Default(id)) = correction else { return Ok(None) };
        let value = self.program.value(id).clone();
        let value = self.convert_constants_for_kinds(value, ty.kinds)?;
        self.program.values[id.index()] = value.clone();
        if !value.ty.kinds.overlaps(ty.kinds.with_accepted_kinds()) {
            let (given, wanted) = (value.ty.with_article(), ty.with_article());
            let message =
                message!("the default of `{}` is {given}, but the field is {wanted}", field.name.node);
            let diagnostic = Diagnostic::new(Code::DefaultType, value.span, message)
                .label(field.ty.span, message!("declared here"))
                .help(message!("give a value of the field's type"));
            return self.report(diagnostic);
        }
        // A blank default would violate the rule `not blank`, so it becomes missing.
        if field.not_blank_span.is_some() && value.as_const().is_none() {
            self.program.values[id.index()] =
                Expr::call(Function::Nonblank, vec![value.clone()], Ty::STRING, value.span);
        }
        Ok(Some(Correction::Default(id)))
    }

    /// Warns about a default that violates the field's own rules. A payload that lacks the field
    /// then gets the default, and is refused because of it.
    fn warn_refused_default(
        &mut self,
        field: &'a FieldItem,
        default: Option<&Correction>,
        limits: Option<&AllowedValues>,
    ) {
        let Some(Correction::Default(id)) = default else { return };
        let value = self.program.value(*id);
        let (span, Some(constant)) = (value.span, value.as_const().map(Const::value)) else { return };
        let shown = constant.to_json().to_string();
        let name = &field.name.node;
        let (message, help) = match limits {
            _ if constant.is_missing() => return,
            Some(AllowedValues::OneOf(values))
                if !values.iter().any(|allowed| is_identical(Value::from_json(allowed), constant)) =>
            {
                let texts = values.iter().filter_map(Json::as_str);
                let near = constant.as_str().and_then(|text| self.nearest(text, texts)).map(quote_string);
                let message = message!("the default {shown} is not one of the allowed values of `{name}`");
                if let Some(near) = near {
                    let diagnostic = Diagnostic::new(Code::DefaultRefused, span, message);
                    let diagnostic = diagnostic.help(message!("did you mean {near}?"));
                    return self.diagnostics.push(diagnostic.likely_fix(span, near));
                }
                let written =
                    self.source_on_one_line(field.allowed_values.as_ref().map_or(span, |l| l.values.span));
                (message, message!("write a value of `{written}`"))
            }
            Some(AllowedValues::Range {
                lower_bound: least,
                upper_bound: most,
                includes_upper_bound: inclusive,
            }) if {
                let order = |bound| compare(constant, Value::from_json(bound));
                let is_above = |order: Ordering| order.is_gt() || order.is_eq() && !inclusive;
                order(least).is_some_and(Ordering::is_lt) || order(most).is_some_and(is_above)
            } =>
            {
                let written =
                    self.source_on_one_line(field.allowed_values.as_ref().map_or(span, |l| l.values.span));
                let message = message!("the default {shown} is outside the range of `{name}`");
                (message, message!("write a value of `{written}`"))
            }
            _ if field.not_blank_span.is_some()
                && constant.as_str().is_some_and(|text| text.trim().is_empty()) =>
            {
                let message = message!("the default of `{name}` is blank, but the field must not be blank");
                (message, message!("give a text, or make the field optional: `{name}?`"))
            }
            _ => return,
        };
        self.emit(Code::DefaultRefused, span, message, help);
    }

    /// Lowers the limits that a field declares after `in`, such as `in 0..=1 clamp`. Returns the
    /// name of the rule and the condition that the value is within the limits. Also returns the
    /// correction of a value outside the limits, if the declaration has `clamp`. Returns `None` if
    /// the field has no limits.
    fn lower_limits(
        &mut self,
        field: &'a FieldItem,
        typed: &Expr,
    ) -> Checked<Option<(&'static str, Cond, Option<Correction>)>> {
        let Some(limits) = &field.allowed_values else { return Ok(None) };
        let span = limits.values.span;
        if let ast::ExprKind::Range { start, end, inclusive } = &limits.values.kind {
            let (start, end) = (self.check_value(start), self.check_value(end));
            let start = self.convert_constants_for_kinds(start?, typed.ty.kinds)?;
            let end = self.convert_constants_for_kinds(end?, typed.ty.kinds)?;
            let numbers = KindSet::NUMBER.union(KindSet::DECIMAL);
            let fits_field = |end: &Expr| {
                end.ty.kinds.with_comparable_kinds().overlaps(typed.ty.kinds)
                    && end.ty.kinds.overlaps(numbers)
            };
            if !fits_field(&start) || !fits_field(&end) || typed.ty.kinds == KindSet::MESSAGE_KINDS {
                return self.report_limit_mismatch(field, span, message!("a range applies only to numbers"));
            }
            self.warn_empty_range(&start, &end, *inclusive, span);
            if limits.should_clamp && !inclusive {
                let message = message!("a range that excludes its end has no greatest value to clamp to");
                return self.fail(
                    Code::ClampWithoutRange,
                    span,
                    message,
                    message!("write the range with `..=`"),
                );
            }
            let clamp = limits.should_clamp.then(|| {
                let ty = if typed.ty.kinds.overlaps(KindSet::DECIMAL) { Ty::DECIMAL } else { Ty::NUMBER };
                let call = |function, args| Expr::call(function, args, ty.clone(), span);
                let upper_bounded = call(Function::Min, vec![typed.clone(), end.clone()]);
                let clamped = call(Function::Max, vec![start.clone(), upper_bounded]);
                Correction::Clamp(self.add_value(clamped))
            });
            let range = Operand::Range { start, end, includes_end: *inclusive, wraps_midnight: false };
            return Ok(Some(("range", test_condition(Op::In, typed.clone(), range, span), clamp)));
        }
        if limits.should_clamp {
            let help = message!("write a range, as in `in 0..=1 clamp`, or leave `clamp` out");
            return self.fail(Code::ClampWithoutRange, span, message!("`clamp` needs a range"), help);
        }
        let values = self.check_value(&limits.values)?;
        let values = self.convert_constants_for_kinds(values, typed.ty.kinds)?;
        let element = values.ty.element().kinds.with_comparable_kinds();
        if values.ty.kinds != KindSet::LIST || !element.overlaps(typed.ty.kinds) {
            return self.report_limit_mismatch(
                field,
                span,
                message!("write a list of values of the field's type"),
            );
        }
        let allowed = test_condition(Op::In, typed.clone(), Operand::Value(values), span);
        Ok(Some(("enum", allowed, None)))
    }

    fn report_limit_mismatch<T>(&mut self, field: &FieldItem, span: Span, help: Message) -> Checked<T> {
        let message = message!("these are not values of `{}`", field.name.node);
        let diagnostic = Diagnostic::new(Code::LimitType, span, message);
        self.report(diagnostic.label(field.ty.span, message!("the type of the field")).help(help))
    }
}

/// Returns the condition that the object has a key for the field, even with the value null.
fn has_key_condition(declared: &DeclaredField<'_, '_>) -> Cond {
    let DeclaredField { field, site, .. } = declared;
    let span = field.name.span;
    let key = build_constant(Json::from(field.name.node.as_str()), span);
    // The condition reads the object as a dict, not as its record type. Otherwise each hash of the
    // condition would hash all fields of the record.
    let object = Expr { ty: Ty::from_kinds(KindSet::DICT), ..site.object.clone() };
    test_condition(Op::HasKey, object, Operand::Value(key), span)
}
