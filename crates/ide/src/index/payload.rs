//! Resolves the names in `payload` and `group` statements.

use super::home::Home;
use super::{Entry, Kind, Work, entry, group_owner};
use rulec_syntax::ast::{
    Correction, EachItem, Field, FieldItem, Ident, IncludeItem, Item, ItemKind, Notice, PathExpr, RuleTest,
};

impl<'a> Work<'a> {
    /// Declares the fields of a payload or group.
    pub(super) fn declare_items(&mut self, owner: &str, items: &'a [Item]) {
        for item in items {
            if let ItemKind::Field(field) = &item.kind {
                let path = [owner, &field.name.node];
                self.declares(Kind::PayloadField, &path, field.name.span, item.span, &item.docs);
                self.declare_inside(Kind::PayloadField, &path, &field.ty);
            }
        }
    }

    /// Resolves the names in the body of a payload or group, and returns its outline entries.
    pub(super) fn body(&mut self, owner: &'a Ident, params: &'a [Field], items: &'a [Item]) -> Vec<Entry> {
        self.judged = Some(&owner.node);
        // `decision` and `payload` are names that the language itself binds.
        self.scope.extend([("decision", None, Home::Unknown), ("payload", None, Home::Payload)]);
        let mut lines = Vec::new();
        self.in_scope_of(&group_owner(&owner.node), params, |this| {
            let outer = this.scope.len();
            this.bring_in(&owner.node, items, &mut Vec::new());
            lines = items.iter().filter_map(|item| this.item(item)).collect();
            this.scope.truncate(outer);
        });
        self.scope.clear();
        self.judged = None;
        lines
    }

    /// Adds the fields of a payload or group to the scope, including the fields of included groups.
    fn bring_in(&mut self, owner: &'a str, items: &'a [Item], open: &mut Vec<&'a str>) {
        for item in items {
            match &item.kind {
                ItemKind::Field(field) => {
                    let path = vec![owner, field.name.node.as_str()];
                    let id = self.symbol(Kind::PayloadField, &path);
                    let home = Home::Typed(Kind::PayloadField, path, &field.ty);
                    self.scope.push((&field.name.node, Some(id), home));
                }
                ItemKind::Include(include) if !open.contains(&include.group.node.as_str()) => {
                    if let Some(group) = self.groups.get(include.group.node.as_str()).copied() {
                        open.push(&group.name.node);
                        self.bring_in(&group.name.node, &group.body, open);
                        open.pop();
                    }
                }
                _ => {}
            }
        }
    }

    fn item(&mut self, item: &'a Item) -> Option<Entry> {
        match &item.kind {
            ItemKind::Field(field) => {
                self.field_item(field);
                return Some(entry(Kind::PayloadField, &field.name, item.span));
            }
            ItemKind::Rule(rule) => {
                self.exprs(&rule.guard);
                self.place(rule.place.as_ref());
                match &rule.test {
                    RuleTest::Require(condition) | RuleTest::Forbid(condition) => self.expr(condition),
                    RuleTest::Compiles => {}
                }
                self.notice(&rule.notice);
                return Some(entry(Kind::Route, &rule.id, item.span));
            }
            ItemKind::Closed { notice, .. } => self.notice(notice),
            ItemKind::Let { name, value } => {
                let home = self.value(value);
                self.bind(Kind::Local, name, item.span, home);
            }
            ItemKind::Include(include) => self.include(include),
            ItemKind::Each(each) => self.each(each, item),
        }
        None
    }

    fn field_item(&mut self, field: &'a FieldItem) {
        self.ty(&field.ty);
        self.exprs(field.limits.as_ref().map(|limits| &limits.values));
        self.exprs(&field.exactly);
        self.notice(&field.notice);
    }

    fn include(&mut self, include: &'a IncludeItem) {
        self.uses_named(Kind::Group, &include.group);
        for arg in &include.args {
            let path = [&group_owner(&include.group.node)[..], &[&arg.name.node]].concat();
            let id = self.symbol(Kind::Parameter, &path);
            self.uses(id, arg.name.span);
            self.expr(&arg.value);
            self.place(arg.place.as_ref());
        }
        self.exprs(&include.guard);
    }

    fn each(&mut self, each: &'a EachItem, item: &'a Item) {
        let list = self.value(&each.list);
        let element = self.element(list);
        let outer = self.scope.len();
        let (key, value) = match &each.names {
            (value, None) => (None, value),
            (key, Some(value)) => (Some(key), value),
        };
        if let Some(key) = key {
            self.bind(Kind::Local, key, item.span, Home::Unknown);
        }
        self.bind(Kind::Local, value, item.span, element);
        self.exprs(&each.guard);
        for item in &each.body {
            self.item(item);
        }
        self.scope.truncate(outer);
    }

    fn place(&mut self, place: Option<&'a PathExpr>) {
        self.exprs(place.map(|place| &place.path));
    }

    fn notice(&mut self, notice: &'a Notice) {
        match notice.correction.as_ref().map(|correction| &correction.node) {
            Some(Correction::Default(value) | Correction::Clamp(value)) => self.expr(value),
            Some(Correction::Remove) | None => {}
        }
    }
}
