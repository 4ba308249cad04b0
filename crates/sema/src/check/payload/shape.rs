//! The schema of an object: its fields with their shapes (accepted values). The fields of included
//! groups are part of the schema.

use super::super::constant::json_of_constant;
use super::super::{Checked, Checker};
use super::MAX_ITEM_DEPTH;
use crate::hir::{AllowedValues, FieldShape, ObjectSchema, PayloadField};
use hashbrown::HashSet;
use rulec_base::diag::{Code, Diagnostic, Message, comma_list};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::NormalizationForm;
use rulec_lang::ty::{Field, InnerType, KindSet, Ty};
use rulec_syntax::ast::{self, FieldItem, PayloadItem, PayloadItemKind, TypeExpr, TypeKind};
use serde_json::Value as Json;
use std::sync::Arc;

/// The name of a variable that payload rules can read. The value of the variable is the name of the
/// `payload` that is being validated.
pub(super) const DECISION_NAME: &str = "decision";

impl<'a> Checker<'a> {
    /// Collects the fields of an object, including the fields of included groups. `groups` are the
    /// groups that are being inlined, to detect a group that includes itself. Reports nothing,
    /// because the pass that adds rules reports the errors.
    pub(super) fn collect_object(
        &mut self,
        items: &'a [PayloadItem],
        groups: &mut Vec<Arc<str>>,
    ) -> ObjectSchema {
        let diagnostics_before = self.diagnostics.len();
        let mut object = ObjectSchema::default();
        self.collect_fields(items, groups, &mut HashSet::new(), &mut object);
        self.diagnostics.truncate(diagnostics_before);
        object
    }

    fn collect_fields(
        &mut self,
        items: &'a [PayloadItem],
        groups: &mut Vec<Arc<str>>,
        field_names: &mut HashSet<&'a str>,
        object: &mut ObjectSchema,
    ) {
        self.payload.item_count += items.len();
        if !groups.is_empty() {
            self.payload.copy_count += items.len();
        }
        // The collection stops if the payload is too large. The later pass, which adds rules,
        // reports this error.
        if groups.len() > MAX_ITEM_DEPTH || self.payload.has_too_many_items() {
            return;
        }
        for item in items {
            match &item.kind {
                PayloadItemKind::Field(field) => {
                    if !field_names.insert(&field.name.node) {
                        continue;
                    }
                    let shape = self.lower_shape(&field.ty, groups).unwrap_or(FieldShape::Plain(Ty::ANY));
                    let limits =
                        field.allowed_values.as_ref().and_then(|limits| self.try_constant_limits(limits));
                    let default = match field.notice.correction.as_ref().map(|correction| &correction.node) {
                        Some(ast::Correction::Default(value)) => self.try_constant(value),
                        _ => None,
                    };
                    object.fields.push(PayloadField {
                        name: field.name.node.as_str().into(),
                        is_optional: field.optional,
                        is_nullable: field.nullable,
                        shape,
                        forbids_blank: field.not_blank_span.is_some(),
                        allowed_values: limits,
                        only_value: field.const_value.as_ref().and_then(|value| self.try_constant(value)),
                        default,
                        docs: item.docs.as_str().into(),
                    });
                }
                PayloadItemKind::Closed { .. } => object.is_closed = true,
                PayloadItemKind::Include(include) => {
                    let is_open = groups.iter().any(|open_group| **open_group == *include.group.node);
                    if let (false, Ok(group)) = (is_open, self.find_group(&include.group)) {
                        groups.push(group.name.node.as_str().into());
                        self.collect_fields(&group.body, groups, field_names, object);
                        groups.pop();
                    }
                }
                PayloadItemKind::Rule(_) | PayloadItemKind::Let { .. } | PayloadItemKind::Each(_) => {}
            }
        }
    }

    fn try_constant(&mut self, value: &'a ast::Expr) -> Option<Json> {
        if !self.looks_constant(value) {
            return None;
        }
        json_of_constant(&self.check_value(value).ok()?).cloned()
    }

    /// True if no name in an expression can refer to the message or the payload. The expression can
    /// then be evaluated before the names of the payload are in scope.
    fn looks_constant(&self, value: &ast::Expr) -> bool {
        match &value.kind {
            ast::ExprKind::Literal(_) => true,
            ast::ExprKind::Name(name) => {
                name == DECISION_NAME || self.symbols.definition(value.span.file, name).is_some()
            }
            ast::ExprKind::List(items) => items.iter().all(|item| self.looks_constant(item)),
            ast::ExprKind::Record(entries) => entries.iter().all(|(_, value)| self.looks_constant(value)),
            ast::ExprKind::Unary(_, inner) => self.looks_constant(inner),
            _ => false,
        }
    }

    pub(super) fn try_constant_limits(&mut self, limits: &'a ast::AllowedValues) -> Option<AllowedValues> {
        match &limits.values.kind {
            ast::ExprKind::Range { start, end, inclusive } => Some(AllowedValues::Range {
                lower_bound: self.try_constant(start)?,
                upper_bound: self.try_constant(end)?,
                includes_upper_bound: *inclusive,
            }),
            _ => match self.try_constant(&limits.values)? {
                Json::Array(values) => Some(AllowedValues::OneOf(values)),
                _ => None,
            },
        }
    }

    /// Warns if a setting of the file, such as ignoring case, does not apply to the allowed values
    /// of a field. Allowed values are always compared exactly. `limits` is `None` if the field has
    /// no constant limits; then there is no warning.
    pub(super) fn warn_values_ignore_settings(&mut self, limits: Option<&AllowedValues>, span: Span) {
        let Some(AllowedValues::OneOf(values)) = limits else { return };
        let settings = self.settings_of(span.file);
        let name = match (settings.ignores_case(), settings.form) {
            (true, _) => "case",
            (false, NormalizationForm::None) => return,
            _ => "normalize",
        };
        if values.iter().any(Json::is_string) {
            let message =
                message!("the setting `{name}` has no effect on these values: they are compared exactly");
            let help =
                message!("to compare by the setting, write a `require` with a condition, such as `x in […]`");
            self.emit(Code::SettingWithoutEffect, span, message, help);
        }
    }

    /// Like [`Checker::warn_values_ignore_settings`], for the only value that a field may have.
    pub(super) fn warn_const_value_ignores_settings(&mut self, value: &'a ast::Expr) {
        // `const decision` requires the name of the payload's kind, which has one spelling.
        if matches!(&value.kind, ast::ExprKind::Name(name) if name == DECISION_NAME) {
            return;
        }
        let values = self.try_constant(value).map(|value| AllowedValues::OneOf(vec![value]));
        self.warn_values_ignore_settings(values.as_ref(), value.span);
    }

    pub(super) fn group_of_type(&mut self, ty: &'a TypeExpr) -> Option<&'a ast::Group> {
        let TypeKind::Name(name) = &ty.kind else { return None };
        if Ty::from_builtin_name(name).is_some() || self.symbols.types.get(name).is_some() {
            return None;
        }
        let symbol = self.symbols.groups.get(name)?;
        self.symbols.is_visible(ty.span.file, symbol.name.span).then(|| {
            self.used_names.insert(&symbol.name.node);
            symbol.declaration
        })
    }

    pub(super) fn lower_shape(
        &mut self,
        ty: &'a TypeExpr,
        groups: &mut Vec<Arc<str>>,
    ) -> Checked<FieldShape> {
        let element = match &ty.kind {
            TypeKind::List(Some(element)) => Some(&**element),
            _ => None,
        };
        let Some(group) = self.group_of_type(element.unwrap_or(ty)) else {
            return self.resolve_type_without_enumerations(ty).map(FieldShape::Plain);
        };
        if !group.params.is_empty() {
            let message =
                message!("the group `{}` has parameters, so it cannot be used as a type", group.name.node);
            let diagnostic = Diagnostic::new(Code::GroupParameters, ty.span, message)
                .label(group.name.span, message!("declared here"))
                .help(message!("include it: `include {}(…)`", group.name.node));
            return self.report(diagnostic);
        }
        let name: Arc<str> = group.name.node.as_str().into();
        let object = if groups.contains(&name) {
            ObjectSchema::default()
        } else {
            groups.push(name);
            let object = self.collect_object(&group.body, groups);
            groups.pop();
            object
        };
        Ok(if element.is_some() { FieldShape::Objects(object) } else { FieldShape::Object(object) })
    }
}

impl FieldShape {
    pub(super) fn ty(&self) -> Ty {
        match self {
            FieldShape::Plain(ty) => ty.clone(),
            FieldShape::Object(object) => object.record_type(),
            // Separate rules check each element, so an element of a wrong type does not make the
            // type of the list wrong.
            FieldShape::Objects(object) => Ty::list(object.record_type()),
        }
    }
}

impl ObjectSchema {
    /// Returns the record type of an object with this schema, for rules that read the object.
    pub(crate) fn record_type(&self) -> Ty {
        let fields = self.fields.iter().map(|field| Field {
            name: field.name.clone(),
            ty: field.shape.ty(),
            is_optional: true,
            is_private: false,
        });
        Ty::record(fields.collect())
    }
}

/// Returns a phrase that describes the values which a field accepts, for messages. If `limits` is
/// `None`, the field has no constant limits, and the phrase describes its type.
pub(super) fn describe_accepted_value(
    field: &FieldItem,
    shape: &FieldShape,
    limits: Option<&AllowedValues>,
) -> Message {
    let mut words = match limits {
        Some(AllowedValues::OneOf(values)) => {
            let values: Vec<String> = values.iter().map(Json::to_string).collect();
            match values.as_slice() {
                [only_value] => Message::verbatim(only_value),
                _ => message!("one of {}", comma_list(values)),
            }
        }
        Some(AllowedValues::Range {
            lower_bound: least,
            upper_bound: most,
            includes_upper_bound: inclusive,
        }) => {
            let kind = describe_shape(shape, false);
            match inclusive {
                true => message!("{kind} from {least} to {most}"),
                false => message!("{kind} from {least} up to but not including {most}"),
            }
        }
        None => describe_shape(shape, false),
    };
    if field.not_blank_span.is_some() {
        words = message!("{words} that is not blank");
    }
    if field.nullable {
        words = message!("{words} or null");
    }
    words
}

/// Returns a phrase that describes the type of a field, for messages. If `nullable`, the phrase
/// ends with "or null".
pub(super) fn describe_shape(shape: &FieldShape, nullable: bool) -> Message {
    let words = match shape {
        FieldShape::Object(_) => message!("an object"),
        FieldShape::Objects(_) => message!("a list of objects"),
        FieldShape::Plain(ty) => match (ty.kinds, &ty.inner) {
            (KindSet::STRING, _) => message!("a text"),
            (KindSet::INT, _) => message!("a whole number"),
            (KindSet::NUMBER | KindSet::FLOAT | KindSet::DECIMAL, _) => message!("a number"),
            (KindSet::BOOL, _) => message!("true or false"),
            (KindSet::DATETIME, _) => message!("a time such as \"2026-01-31T09:00:00Z\""),
            (KindSet::LIST, InnerType::Element(element)) if element.kinds == KindSet::STRING => {
                message!("a list of texts")
            }
            (KindSet::LIST, _) => message!("a list"),
            (KindSet::DICT, _) => message!("an object"),
            _ => message!("a value"),
        },
    };
    if nullable { message!("{words} or null") } else { words }
}
