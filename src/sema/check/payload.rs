//! Payloads: each requirement becomes a rule of a table, whose condition says when it is violated.
//! Groups are put in where they are included, like a `def` where it is called.

mod field;
mod include;
mod place;

use super::{Binding, Checked, Checker, Reported};
use crate::builtins::Function;
use crate::diag::{Code, Diagnostic, nearest};
use crate::ops::{Op, TestMode};
use crate::sema::hir::{
    self, BindingId, Block, Cond, CondKind, Each, Expr, ExprKind, Operand, Place, Predicate, Requirement,
    Root, RuleId, Step, Table, TableId, TableKind,
};
use crate::span::Span;
use crate::syntax::ast::{self, Item, ItemKind, Notice};
use crate::ty::{Inner, KindSet, Ty};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// Where items stand: the object their fields are of, and how their rules report.
#[derive(Clone)]
struct Site {
    /// Stands before the names of fields in rule ids.
    owner: Arc<str>,
    /// The object.
    object: Expr,
    /// Its place.
    place: Place,
    /// Whether the object may be something else, which is reported by a rule of its own.
    may_differ: bool,
    /// The one id that all rules report under, without corrections.
    renamed: Option<Arc<str>>,
    /// The names of all fields the object may have.
    known: Arc<[Arc<str>]>,
}

/// What is collected on the way through a payload.
struct Builder {
    bindings: u32,
    /// What is asked before any rule at hand.
    guards: Vec<Cond>,
    /// The groups being put in.
    groups: Vec<Arc<str>>,
}

/// What a rule says when it is violated.
struct Said<'a> {
    message: String,
    repair: String,
    shows_value: bool,
    correction: Option<hir::Correction>,
    notice: &'a Notice,
}

impl<'a> Checker<'a> {
    /// Every payload kind, and every group that none includes.
    pub(super) fn payloads(&mut self) {
        let symbols = self.symbols;
        let mut ranks: HashMap<i64, Span> = HashMap::new();
        for symbol in symbols.payloads.iter() {
            let (payload, docs) = symbol.node;
            if let Some(rank) = &payload.rank
                && let Some(first) = ranks.insert(rank.node, rank.span)
            {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::EqualRank,
                        rank.span,
                        format!("another payload kind has the rank {}", rank.node),
                    )
                    .label(first, "the first one")
                    .help("of several decisions the one of least rank runs first, so give each its own"),
                );
            }
            if let Some(fallback) = &payload.fallback
                && symbols.payloads.get(&fallback.node).is_none()
            {
                let names = symbols.payloads.iter().map(|symbol| symbol.name.node.as_str());
                let near = nearest(&fallback.node, names).map(str::to_owned);
                let message = format!("there is no payload kind `{}`", fallback.node);
                let diagnostic = Diagnostic::new(Code::UnknownPayload, fallback.span, message);
                let diagnostic = match near {
                    Some(near) => diagnostic.did_you_mean(fallback.span, Some(&near)),
                    None => {
                        diagnostic.help(format!("declare it: `payload {} rank 10 {{ … }}`", fallback.node))
                    }
                };
                let _: Checked<()> = self.report_unknown(&fallback.node, diagnostic);
            }
            self.payload(payload, docs);
        }
        for symbol in symbols.groups.iter() {
            if !self.used.contains(symbol.name.node.as_str()) {
                self.lone_group(symbol.node);
            }
        }
    }

    fn payload(&mut self, payload: &'a ast::Payload, docs: &str) {
        let mut builder = Builder { bindings: 0, guards: Vec::new(), groups: Vec::new() };
        let object = self.object(&payload.body, &mut Vec::new());
        let root = builder.binding();
        let place = Place::of(root);
        let expr = self.bound(root, "payload", object.record(), payload.name.span);
        let site = Site {
            owner: payload.name.node.as_str().into(),
            object: expr.clone(),
            place: place.clone(),
            may_differ: false,
            renamed: None,
            known: object.fields.iter().map(|field| field.name.clone()).collect(),
        };
        let outer = std::mem::take(&mut self.scope);
        self.judged(expr, place, &payload.name);
        let mut block = self.block(&payload.name.node, payload.name.span);
        self.items(&payload.body, &site, &mut builder, &mut block);
        self.scope = outer;
        self.program.payloads.push(hir::Payload {
            name: payload.name.node.as_str().into(),
            rank: payload.rank.as_ref().map(|rank| rank.node),
            interrupts: payload.interrupts,
            suspends: payload.suspends,
            internal: payload.internal,
            fallback: payload.fallback.as_ref().map(|name| name.node.as_str().into()),
            object,
            block,
            bindings: builder.bindings,
            span: payload.name.span,
            docs: docs.into(),
        });
    }

    /// Checks a group that nothing includes, for its faults only.
    fn lone_group(&mut self, group: &'a ast::Group) {
        let kept = (self.program.rules.len(), self.program.requirements.len(), self.program.tables.len());
        let mut builder = Builder { bindings: 0, guards: Vec::new(), groups: Vec::new() };
        let object = self.object(&group.body, &mut vec![group.name.node.as_str().into()]);
        let root = builder.binding();
        let expr = self.bound(root, "payload", object.record(), group.name.span);
        let site = Site {
            owner: group.name.node.as_str().into(),
            object: expr.clone(),
            place: Place::of(root),
            may_differ: true,
            renamed: None,
            known: object.fields.iter().map(|field| field.name.clone()).collect(),
        };
        let outer = std::mem::take(&mut self.scope);
        self.judged(expr, Place::of(root), &group.name);
        for (field, param) in self.record(&group.params).fields.into_iter().zip(&group.params) {
            let id = builder.binding();
            let expr = self.bound(id, &field.name, field.ty, param.name.span);
            let mut binding = Binding::new(field.name, expr, param.name.span);
            binding.place = Some(Place::of(id));
            self.scope.push(binding);
        }
        let mut block = self.block(&group.name.node, group.name.span);
        builder.groups.push(group.name.node.as_str().into());
        self.items(&group.body, &site, &mut builder, &mut block);
        self.scope = outer;
        self.program.rules.truncate(kept.0);
        self.program.requirements.truncate(kept.1);
        self.program.tables.truncate(kept.2);
    }

    /// Brings `payload` and `decision` into scope.
    fn judged(&mut self, payload: Expr, place: Place, name: &ast::Ident) {
        let decision = super::constant::constant(Json::from(name.node.as_str()), name.span);
        let mut binding = Binding::new("payload".into(), payload, name.span);
        binding.place = Some(place);
        self.scope.push(binding);
        self.scope.push(Binding::new("decision".into(), decision, name.span));
    }

    /// The expression that reads a binding.
    fn bound(&mut self, id: BindingId, name: &str, ty: Ty, span: Span) -> Expr {
        let root = Root { id, name: name.into() };
        let slot = self.fields.rooted_slot(Some(&root), &[""; 0], ty.kinds, false);
        Expr { kind: ExprKind::Slot(slot), ty, optional: true, span }
    }

    /// A block with an empty table.
    fn block(&mut self, name: &str, span: Span) -> Block {
        let table = TableId(self.program.tables.len() as u32);
        self.program.tables.push(Table {
            name: name.into(),
            kind: TableKind::Requirements,
            order: Vec::new(),
            default: None,
            span: Some(span),
            docs: "".into(),
        });
        Block { lets: Vec::new(), table, each: Vec::new() }
    }

    fn items(&mut self, items: &'a [Item], site: &Site, builder: &mut Builder, block: &mut Block) {
        let scope = self.scope.len();
        self.bring_fields(items, site);
        let mut rules: Vec<(&str, Span)> = Vec::new();
        for item in items {
            // A fault in one item is no reason to say nothing of the others.
            let _: Checked<()> = match &item.kind {
                ItemKind::Field(field) => self.field_rules(field, site, builder, block),
                ItemKind::Rule(rule) => {
                    let place = rule.place.as_ref().map_or("", |place| self.text(place.path.span));
                    let same = |(id, span): &&(&str, Span)| *id == rule.id.node && self.text(*span) == place;
                    if let Some((_, first)) = rules.iter().find(same) {
                        let message = format!("the rule `{}` stands here twice for one place", rule.id.node);
                        let mut diagnostic = Diagnostic::new(Code::DuplicateRule, rule.id.span, message);
                        if first.start != first.end {
                            diagnostic = diagnostic.label(*first, "the first one reports here");
                        }
                        self.diagnostics.push(
                            diagnostic.help("join both conditions with `and`, or give one another name"),
                        );
                    }
                    let none = Span { end: rule.id.span.start, ..rule.id.span };
                    rules.push((&rule.id.node, rule.place.as_ref().map_or(none, |place| place.path.span)));
                    self.rule(rule, site, builder, block)
                }
                ItemKind::Closed { id, notice } => {
                    self.closed(id.as_ref(), notice, item.span, site, builder, block)
                }
                ItemKind::Let { name, value } => self.local(name, value, builder, block),
                ItemKind::Include(include) => self.include(include, site, builder, block),
                ItemKind::Each(each) => self.each(each, site, builder, block),
            };
        }
        self.scope.truncate(scope);
    }

    fn text(&self, span: Span) -> &'a str {
        let file = self.loaded.sources.file(span.file);
        file.text.get(span.range()).unwrap_or("")
    }

    /// `require "id" at PATH when COND: COND`
    fn rule(
        &mut self,
        rule: &'a ast::RuleItem,
        site: &Site,
        builder: &mut Builder,
        block: &mut Block,
    ) -> Checked<()> {
        self.noted.clear();
        let guard = rule.guard.as_ref().map(|guard| self.cond(guard)).transpose();
        let condition = self.cond(&rule.condition);
        let mut parts = std::mem::take(&mut self.noted);
        let place = match &rule.place {
            Some(place) => self.place(place),
            None => Ok(site.place.clone()),
        };
        let correction = self.correction(&rule.notice);
        let (guard, condition, place, correction) = (guard?, condition?, place?, correction?);
        parts.extend(guard);
        parts.push(if rule.forbid { condition } else { not(condition) });
        let said = Said {
            message: match rule.forbid {
                true => format!("this must not be: {}", self.one_line(rule.condition.span)),
                false => format!("this must hold: {}", self.one_line(rule.condition.span)),
            },
            repair: String::new(),
            shows_value: false,
            correction,
            notice: &rule.notice,
        };
        self.require(&rule.id.node, parts, place, said, rule.condition.span, site, builder, block)
    }

    fn one_line(&self, span: Span) -> String {
        self.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn correction(&mut self, notice: &'a Notice) -> Checked<Option<hir::Correction>> {
        Ok(match notice.correction.as_ref().map(|correction| &correction.node) {
            None => None,
            Some(ast::Correction::Default(value)) => {
                Some(hir::Correction::Default(self.value(value).map(|value| self.computed(value))?))
            }
            Some(ast::Correction::Clamp(value)) => {
                Some(hir::Correction::Clamp(self.value(value).map(|value| self.computed(value))?))
            }
            Some(ast::Correction::Remove) => Some(hir::Correction::Remove),
        })
    }

    /// Adds a requirement: a rule that holds when every part does.
    #[allow(clippy::too_many_arguments, reason = "each is a clause of what the author wrote")]
    fn require(
        &mut self,
        id: &str,
        mut parts: Vec<Cond>,
        place: Place,
        said: Said<'a>,
        span: Span,
        site: &Site,
        builder: &Builder,
        block: &mut Block,
    ) -> Checked<()> {
        parts.splice(0..0, builder.guards.iter().cloned());
        let condition = and(parts, span);
        self.measured_cond(&condition, span)?;
        let name: Arc<str> = site.renamed.clone().unwrap_or_else(|| id.into());
        let rule = RuleId(self.program.rules.len() as u32);
        self.program.rules.push(hir::Rule {
            name: name.clone(),
            table: block.table,
            priority: 0,
            disabled: false,
            condition: condition.into(),
            outcome: hir::Outcome::Handler { name, args: Vec::new(), metadata: Arc::new(Map::new()) },
            span,
            docs: "".into(),
        });
        self.program.tables[block.table.index()].order.push(rule);
        let message = said.notice.message.as_ref().map_or(said.message, |text| text.node.clone());
        let repair = match (&said.notice.repair, said.repair) {
            (Some(text), _) => text.node.clone(),
            (None, repair) if !repair.is_empty() => repair,
            (None, _) => match &said.correction {
                Some(hir::Correction::Remove) => "remove it".to_owned(),
                Some(hir::Correction::Default(value) | hir::Correction::Clamp(value)) => {
                    format!("write {}", self.one_line(self.program.value(*value).span))
                }
                None => message.clone(),
            },
        };
        self.program.requirements.push(Requirement {
            rule,
            place,
            message: message.into(),
            repair: repair.into(),
            shows_value: said.shows_value,
            correction: said.correction.filter(|_| site.renamed.is_none()),
        });
        Ok(())
    }

    /// `closed`: one violation for each key that nothing declares.
    fn closed(
        &mut self,
        id: Option<&'a crate::span::Spanned<String>>,
        notice: &'a Notice,
        span: Span,
        site: &Site,
        builder: &mut Builder,
        block: &mut Block,
    ) -> Checked<()> {
        let known: Vec<Json> = site.known.iter().map(|name| Json::from(&**name)).collect();
        let names: Vec<&str> = site.known.iter().map(|name| &**name).collect();
        let call = |function: Function, args: Vec<Expr>| Expr {
            kind: ExprKind::Call(function, args),
            ty: Ty::list(Ty::STRING),
            optional: true,
            span,
        };
        let known = super::constant::constant(Json::Array(known), span);
        let keys = call(Function::Keys, vec![site.object.clone()]);
        let list = call(Function::Without, vec![keys, known]);
        let element = builder.binding();
        let key = self.bound(element, "key", Ty::STRING, span);
        let mut inner = self.block(&site.owner, span);
        let correction = self.correction(notice)?;
        let said = Said {
            message: "nothing declares this field".to_owned(),
            repair: format!("remove it; the fields are {}", names.join(", ")),
            shows_value: false,
            correction,
            notice,
        };
        let id = id.map_or_else(|| format!("{}.unsupported", site.owner), |id| id.node.clone());
        let always = Cond { kind: CondKind::Const(true), span };
        let place = site.place.then(Step::At(self.computed(key)));
        self.require(&id, vec![always], place, said, span, site, builder, &mut inner)?;
        let list = self.computed(list);
        block.each.push(Each { list, place: None, key: None, element, block: inner });
        Ok(())
    }

    /// `let name = value`
    fn local(
        &mut self,
        name: &'a ast::Ident,
        value: &'a ast::Expr,
        builder: &mut Builder,
        block: &mut Block,
    ) -> Checked<()> {
        self.noted.clear();
        let expr = match self.value(value) {
            Ok(expr) => expr,
            Err(Reported) => {
                // What uses it is no further fault.
                let id = builder.binding();
                let expr = self.bound(id, &name.node, Ty::ANY, name.span);
                self.scope.push(Binding::new(name.node.as_str().into(), expr, name.span));
                return Err(Reported);
            }
        };
        let guard = self.noted_guard(name.span);
        let place = self.place_of(value);
        let expr = self.held(&name.node, expr, name.span, builder, block);
        let mut binding = Binding::new(name.node.as_str().into(), expr, name.span);
        (binding.place, binding.guard) = (place, guard);
        self.scope.push(binding);
        Ok(())
    }

    /// What must be true for the names met since the last time to be of their declared types.
    fn noted_guard(&mut self, span: Span) -> Option<Cond> {
        let noted = std::mem::take(&mut self.noted);
        (!noted.is_empty()).then(|| and(noted, span))
    }

    /// Gives a value a binding of its own, unless it is as good as one.
    fn held(
        &mut self,
        name: &str,
        value: Expr,
        span: Span,
        builder: &mut Builder,
        block: &mut Block,
    ) -> Expr {
        if matches!(value.kind, ExprKind::Slot(_) | ExprKind::Const(_)) {
            return value;
        }
        let id = builder.binding();
        let ty = value.ty.clone();
        let value = self.computed(value);
        block.lets.push((id, value));
        self.bound(id, name, ty, span)
    }

    /// `each KEY, VALUE in LIST { … }`
    fn each(
        &mut self,
        each: &'a ast::EachItem,
        site: &Site,
        builder: &mut Builder,
        block: &mut Block,
    ) -> Checked<()> {
        self.noted.clear();
        let list = self.value(&each.list)?;
        let guarded: Vec<Cond> = self.noted.drain(..).collect();
        let wanted = KindSet::LIST.union(KindSet::DICT);
        if !list.ty.kinds.overlaps(wanted) {
            let message = format!("a list or dict is wanted here, and this is {}", list.ty.with_article());
            return self
                .report(Diagnostic::new(Code::ListWanted, list.span, message).here(list.ty.to_string()));
        }
        let element_ty = match &list.ty.inner {
            Inner::Element(element) => (**element).clone(),
            Inner::Fields(_) | Inner::Unknown => Ty::ANY,
        };
        let place = self.place_of(&each.list);
        let element = builder.binding();
        let (name, key) = match &each.names {
            (name, None) => (name, None),
            (key, Some(name)) => {
                let ty = match list.ty.kinds {
                    KindSet::LIST => Ty::INT,
                    KindSet::DICT => Ty::STRING,
                    _ => Ty::plain(KindSet::INT.union(KindSet::STRING)),
                };
                let id = builder.binding();
                let expr = self.bound(id, &key.node, ty, key.span);
                (name, Some((key, id, expr)))
            }
        };
        let scope = self.scope.len();
        let id = key.as_ref().map(|(_, id, _)| *id);
        if let Some((key, _, expr)) = key {
            self.scope.push(Binding::new(key.node.as_str().into(), expr, key.span));
        }
        let expr = self.bound(element, &name.node, element_ty, name.span);
        let mut binding = Binding::new(name.node.as_str().into(), expr, name.span);
        binding.place = Some(Place::of(element));
        self.scope.push(binding);
        let guard = each.guard.as_ref().map(|guard| self.cond(guard)).transpose();
        let before = builder.guards.len();
        builder.guards.extend(guarded);
        builder.guards.append(&mut self.noted);
        let mut inner = self.block(&format!("{}[]", self.one_line(each.list.span)), each.list.span);
        if let Ok(guard) = guard {
            builder.guards.extend(guard);
            for item in &each.body {
                if let ItemKind::Field(field) = &item.kind {
                    self.diagnostics.push(
                        Diagnostic::new(Code::Unexpected, field.name.span, "an `each` block declares no fields")
                            .help("declare a group with the fields and give it as the list's type: `nodes: list<plan_node>`"),
                    );
                }
            }
            self.each_items(&each.body, site, builder, &mut inner);
        }
        builder.guards.truncate(before);
        self.scope.truncate(scope);
        let list = self.computed(list);
        block.each.push(Each { list, place, key: id, element, block: inner });
        Ok(())
    }

    fn each_items(&mut self, items: &'a [Item], site: &Site, builder: &mut Builder, block: &mut Block) {
        let scope = self.scope.len();
        for item in items {
            let _: Checked<()> = match &item.kind {
                ItemKind::Field(_) => Ok(()),
                ItemKind::Rule(rule) => self.rule(rule, site, builder, block),
                ItemKind::Closed { id, notice } => {
                    self.closed(id.as_ref(), notice, item.span, site, builder, block)
                }
                ItemKind::Let { name, value } => self.local(name, value, builder, block),
                ItemKind::Include(include) => self.include(include, site, builder, block),
                ItemKind::Each(each) => self.each(each, site, builder, block),
            };
        }
        self.scope.truncate(scope);
    }
}

impl Builder {
    fn binding(&mut self) -> BindingId {
        let id = BindingId(self.bindings);
        self.bindings += 1;
        id
    }
}

fn not(condition: Cond) -> Cond {
    let span = condition.span;
    Cond { kind: CondKind::Not(Box::new(condition)), span }
}

fn and(mut parts: Vec<Cond>, span: Span) -> Cond {
    match parts.len() {
        1 => parts.remove(0),
        _ => Cond { kind: CondKind::And(parts), span },
    }
}

/// A predicate without modifiers.
fn test(op: Op, left: Expr, right: Operand, span: Span) -> Cond {
    let predicate = Predicate { op: Some(op), negated: false, mode: TestMode::default(), left, right };
    Cond { kind: CondKind::Test(Box::new(predicate)), span }
}

fn missing(value: Expr, span: Span) -> Cond {
    test(Op::IsMissing, value, Operand::Nothing, span)
}

fn present(value: Expr, span: Span) -> Cond {
    test(Op::IsPresent, value, Operand::Nothing, span)
}
