//! Resolves the names in `payload` and `group` statements for the index. Unlike other statements,
//! they bring the fields that they declare into scope.

use super::fields_source::FieldsSource;
use super::{DeclarationKind, OutlineEntry, SymbolIndexBuilder, group_params_path_prefix, outline_entry};
use rulec_syntax::ast::{
    Correction, EachItem, Field, FieldItem, Ident, IncludeItem, PathExpr, PayloadItem, PayloadItemKind,
    RuleTest, ViolationNotice,
};

impl<'a> SymbolIndexBuilder<'a> {
    /// Adds symbols for the fields of the payload or group `owner`.
    pub(super) fn declare_items(&mut self, owner: &str, items: &'a [PayloadItem]) {
        for item in items {
            if let PayloadItemKind::Field(field) = &item.kind {
                let path = [owner, &field.name.node];
                self.declare_symbol(
                    DeclarationKind::PayloadField,
                    &path,
                    field.name.span,
                    item.span,
                    &item.docs,
                );
                self.declare_type_fields(DeclarationKind::PayloadField, &path, &field.ty);
            }
        }
    }

    /// Resolves the names in the body of a payload or group, and returns its outline entries.
    pub(super) fn resolve_body(
        &mut self,
        owner: &'a Ident,
        params: &'a [Field],
        items: &'a [PayloadItem],
    ) -> Vec<OutlineEntry> {
        self.current_payload = Some(&owner.node);
        // `decision` and `payload` are names that the language itself binds.
        self.scope
            .extend([("decision", None, FieldsSource::Unknown), ("payload", None, FieldsSource::Payload)]);
        let mut entries = Vec::new();
        self.with_params_in_scope(&group_params_path_prefix(&owner.node), params, |builder| {
            let outer_scope_len = builder.scope.len();
            builder.bring_fields_into_scope(&owner.node, items, &mut Vec::new());
            entries = items.iter().filter_map(|item| builder.resolve_item(item)).collect();
            builder.scope.truncate(outer_scope_len);
        });
        self.scope.clear();
        self.current_payload = None;
        entries
    }

    /// Adds the fields of a payload or group to the scope, including the fields of included groups.
    /// `open_groups` are the groups whose fields are being added; the list prevents endless
    /// recursion if a group includes itself.
    fn bring_fields_into_scope(
        &mut self,
        owner: &'a str,
        items: &'a [PayloadItem],
        open_groups: &mut Vec<&'a str>,
    ) {
        for item in items {
            match &item.kind {
                PayloadItemKind::Field(field) => {
                    let path = vec![owner, field.name.node.as_str()];
                    let id = self.find_or_add_symbol(DeclarationKind::PayloadField, &path);
                    let fields_source = FieldsSource::Typed(DeclarationKind::PayloadField, path, &field.ty);
                    self.scope.push((&field.name.node, Some(id), fields_source));
                }
                PayloadItemKind::Include(include) if !open_groups.contains(&include.group.node.as_str()) => {
                    if let Some(group) = self.groups.get(include.group.node.as_str()).copied() {
                        open_groups.push(&group.name.node);
                        self.bring_fields_into_scope(&group.name.node, &group.body, open_groups);
                        open_groups.pop();
                    }
                }
                _ => {}
            }
        }
    }

    fn resolve_item(&mut self, item: &'a PayloadItem) -> Option<OutlineEntry> {
        match &item.kind {
            PayloadItemKind::Field(field) => {
                self.resolve_field_item(field);
                return Some(outline_entry(DeclarationKind::PayloadField, &field.name, item.span));
            }
            PayloadItemKind::Rule(rule) => {
                self.resolve_exprs(&rule.guard);
                self.resolve_object_path(rule.violation_path.as_ref());
                match &rule.test {
                    RuleTest::Require(condition) | RuleTest::Forbid(condition) => {
                        self.resolve_condition(condition)
                    }
                    RuleTest::Compiles => {}
                }
                self.resolve_notice(&rule.notice);
                return Some(outline_entry(DeclarationKind::Route, &rule.id, item.span));
            }
            PayloadItemKind::Closed { notice, .. } => self.resolve_notice(notice),
            PayloadItemKind::Let { name, value } => {
                let fields_source = self.resolve_value(value);
                self.declare_and_bind(DeclarationKind::Local, name, item.span, fields_source);
            }
            PayloadItemKind::Include(include) => self.resolve_include(include),
            PayloadItemKind::Each(each) => self.resolve_each(each, item),
        }
        None
    }

    fn resolve_field_item(&mut self, field: &'a FieldItem) {
        self.resolve_type_names(&field.ty);
        self.resolve_exprs(field.allowed_values.as_ref().map(|limits| &limits.values));
        self.resolve_exprs(&field.const_value);
        self.resolve_notice(&field.notice);
    }

    fn resolve_include(&mut self, include: &'a IncludeItem) {
        self.add_use_of_name(DeclarationKind::Group, &include.group);
        for arg in &include.args {
            let path = [&group_params_path_prefix(&include.group.node)[..], &[&arg.name.node]].concat();
            let id = self.find_or_add_symbol(DeclarationKind::Parameter, &path);
            self.add_use(id, arg.name.span);
            self.resolve_expr(&arg.value);
            self.resolve_object_path(arg.violation_path.as_ref());
        }
        self.resolve_exprs(&include.guard);
    }

    fn resolve_each(&mut self, each: &'a EachItem, item: &'a PayloadItem) {
        let list = self.resolve_value(&each.list);
        let element = self.fields_of_elements(list);
        let outer_scope_len = self.scope.len();
        let (key, value) = match &each.loop_variables {
            (value, None) => (None, value),
            (key, Some(value)) => (Some(key), value),
        };
        if let Some(key) = key {
            self.declare_and_bind(DeclarationKind::Local, key, item.span, FieldsSource::Unknown);
        }
        self.declare_and_bind(DeclarationKind::Local, value, item.span, element);
        self.resolve_exprs(&each.guard);
        for item in &each.body {
            self.resolve_item(item);
        }
        self.scope.truncate(outer_scope_len);
    }

    fn resolve_object_path(&mut self, object_path: Option<&'a PathExpr>) {
        self.resolve_exprs(object_path.map(|object_path| &object_path.path));
    }

    fn resolve_notice(&mut self, notice: &'a ViolationNotice) {
        match notice.correction.as_ref().map(|correction| &correction.node) {
            Some(Correction::Default(value) | Correction::Clamp(value)) => self.resolve_expr(value),
            Some(Correction::Remove) | None => {}
        }
    }
}
