//! Payloads: each requirement becomes a rule of a table, whose condition says when it is violated.
//! Groups are put in where they are included, like a `def` where it is called.

mod each;
mod field;
mod include;
mod place;
mod shape;

use super::{Binding, Checked, Checker, Reported};
use crate::diag::{Code, Diagnostic};
use crate::ops::Op;
use crate::sema::hir::{
    self, BindingId, Block, Cond, CondKind, Expr, ExprKind, Operand, Place, Predicate, Requirement, Root,
    TableKind,
};
use crate::span::Span;
use crate::syntax::ast::{self, Item, ItemKind, Notice};
use crate::ty::Ty;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// The surroundings of items: the object their fields are of, and the way their rules report.
#[derive(Clone)]
struct Site {
    /// Stands before the names of fields in rule ids.
    owner: Arc<str>,
    /// The object.
    object: Expr,
    /// Its place.
    place: Place,
    /// True when the object may be something else, which is reported by a rule of its own.
    may_differ: bool,
    /// The one id that all rules report under, without corrections.
    renamed: Option<Arc<str>>,
    /// The names of all fields the object may have.
    known: Arc<[Arc<str>]>,
}

/// The state of the way through a payload.
struct Builder {
    bindings: u32,
    /// The rules at hand: of the payload, or of the innermost `each`.
    block: Block,
    /// The conditions asked before any rule at hand.
    guards: Vec<Cond>,
    /// The groups being put in.
    groups: Vec<Arc<str>>,
}

/// A violation, as its rule reports it.
struct Violation<'a> {
    place: Place,
    /// The clause of the rule.
    span: Span,
    message: String,
    /// The advice; empty where it follows from the correction or the message.
    repair: String,
    shows_value: bool,
    correction: Option<hir::Correction>,
    notice: &'a Notice,
}

/// The statement that items stand in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// A payload or group, which declares fields.
    Object,
    /// An `each`, which declares none.
    Each,
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
            if let Some(fallback) = &payload.fallback {
                self.fallback(fallback);
            }
            self.payload(payload, docs);
        }
        for symbol in symbols.groups.iter() {
            if !self.used.contains(symbol.name.node.as_str()) {
                self.lone_group(symbol.node);
            }
        }
    }

    /// Reports a fallback that is no payload kind.
    fn fallback(&mut self, fallback: &ast::Ident) {
        let payloads = &self.symbols.payloads;
        if payloads.get(&fallback.node).is_some() {
            return;
        }
        let names = payloads.iter().map(|symbol| symbol.name.node.as_str());
        let message = format!("there is no payload kind `{}`", fallback.node);
        let help = format!("declare it: `payload {} rank 10 {{ … }}`", fallback.node);
        let _: Checked<()> = self.unknown(Code::UnknownPayload, fallback, message, names, help);
    }

    fn payload(&mut self, payload: &'a ast::Payload, docs: &str) {
        let object = self.object(&payload.body, &mut Vec::new());
        let mut builder = Builder::new(self.block(&payload.name.node, payload.name.span));
        let outer = std::mem::take(&mut self.scope);
        let site = self.judged(&payload.name, &object, false, &mut builder);
        self.items(&payload.body, Body::Object, &site, &mut builder);
        self.scope = outer;
        self.program.payloads.push(hir::Payload {
            name: payload.name.node.as_str().into(),
            rank: payload.rank.as_ref().map(|rank| rank.node),
            interrupts: payload.interrupts,
            suspends: payload.suspends,
            internal: payload.internal,
            fallback: payload.fallback.as_ref().map(|name| name.node.as_str().into()),
            object,
            bindings: builder.bindings,
            block: builder.block,
            span: payload.name.span,
            docs: docs.into(),
        });
    }

    /// Checks a group that nothing includes, for its faults only.
    fn lone_group(&mut self, group: &'a ast::Group) {
        let kept = (self.program.rules.len(), self.program.requirements.len(), self.program.tables.len());
        let object = self.object(&group.body, &mut vec![group.name.node.as_str().into()]);
        let mut builder = Builder::new(self.block(&group.name.node, group.name.span));
        let outer = std::mem::take(&mut self.scope);
        let site = self.judged(&group.name, &object, true, &mut builder);
        for (field, param) in self.record(&group.params).fields.into_iter().zip(&group.params) {
            let id = builder.binding();
            let expr = self.bound(id, &field.name, field.ty, param.name.span);
            let mut binding = Binding::new(field.name, expr, param.name.span);
            binding.place = Some(Place::of(id));
            self.scope.push(binding);
        }
        builder.groups.push(group.name.node.as_str().into());
        self.items(&group.body, Body::Object, &site, &mut builder);
        self.scope = outer;
        self.program.rules.truncate(kept.0);
        self.program.requirements.truncate(kept.1);
        self.program.tables.truncate(kept.2);
    }

    /// Brings `payload` and `decision` into scope, as the surroundings of a body's items.
    fn judged(
        &mut self,
        name: &ast::Ident,
        object: &hir::Object,
        may_differ: bool,
        builder: &mut Builder,
    ) -> Site {
        let root = builder.binding();
        let payload = self.bound(root, "payload", object.record(), name.span);
        let decision = super::constant::constant(Json::from(name.node.as_str()), name.span);
        let mut binding = Binding::new("payload".into(), payload.clone(), name.span);
        binding.place = Some(Place::of(root));
        self.scope.push(binding);
        self.scope.push(Binding::new("decision".into(), decision, name.span));
        Site {
            owner: name.node.as_str().into(),
            object: payload,
            place: Place::of(root),
            may_differ,
            renamed: None,
            known: object.fields.iter().map(|field| field.name.clone()).collect(),
        }
    }

    /// The expression that reads a binding.
    fn bound(&mut self, id: BindingId, name: &str, ty: Ty, span: Span) -> Expr {
        let root = Root { id, name: name.into() };
        let slot = self.fields.rooted_slot(Some(&root), &[""; 0], ty.kinds, false);
        Expr { kind: ExprKind::Slot(slot), ty, optional: true, span }
    }

    /// A block with an empty table.
    fn block(&mut self, name: &str, span: Span) -> Block {
        let table = self.push_table(TableKind::Requirements, name, Some(span), "");
        Block { lets: Vec::new(), table, each: Vec::new() }
    }

    /// The items of a payload, a group or an `each`, in their order.
    fn items(&mut self, items: &'a [Item], body: Body, site: &Site, builder: &mut Builder) {
        let scope = self.scope.len();
        if body == Body::Object {
            self.bring_fields(items, site);
        }
        let mut rules: Vec<(&str, Span)> = Vec::new();
        for item in items {
            // A fault in one item is no reason to say nothing of the others.
            let _: Checked<()> = match &item.kind {
                ItemKind::Field(field) if body == Body::Each => self.report(
                    Diagnostic::new(Code::Unexpected, field.name.span, "an `each` block declares no fields").help(
                        "declare a group with the fields and give it as the list's type: `nodes: list<plan_node>`",
                    ),
                ),
                ItemKind::Field(field) => self.field_rules(field, site, builder),
                ItemKind::Rule(rule) => {
                    if body == Body::Object {
                        self.rule_twice(rule, &mut rules);
                    }
                    self.rule(rule, site, builder)
                }
                ItemKind::Closed { id, notice } => self.closed(id.as_ref(), notice, item.span, site, builder),
                ItemKind::Let { name, value } => self.local(name, value, builder),
                ItemKind::Include(include) => self.include(include, site, builder),
                ItemKind::Each(each) => self.each(each, site, builder),
            };
        }
        self.scope.truncate(scope);
    }

    /// Reports a rule of a name and place that another rule before it has.
    fn rule_twice(&mut self, rule: &'a ast::RuleItem, rules: &mut Vec<(&'a str, Span)>) {
        let place = rule.place.as_ref().map_or("", |place| self.text(place.path.span));
        let same = |(id, span): &&(&str, Span)| *id == rule.id.node && self.text(*span) == place;
        if let Some((_, first)) = rules.iter().find(same) {
            let message = format!("the rule `{}` stands here twice for one place", rule.id.node);
            let mut diagnostic = Diagnostic::new(Code::DuplicateRule, rule.id.span, message);
            if first.start != first.end {
                diagnostic = diagnostic.label(*first, "the first one reports here");
            }
            self.diagnostics
                .push(diagnostic.help("join both conditions with `and`, or give one another name"));
        }
        let none = Span { end: rule.id.span.start, ..rule.id.span };
        rules.push((&rule.id.node, rule.place.as_ref().map_or(none, |place| place.path.span)));
    }

    fn text(&self, span: Span) -> &'a str {
        let file = self.loaded.sources.file(span.file);
        file.text.get(span.range()).unwrap_or("")
    }

    /// `require "id" at PATH when COND: COND`
    fn rule(&mut self, rule: &'a ast::RuleItem, site: &Site, builder: &mut Builder) -> Checked<()> {
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
        let violation = Violation {
            place,
            span: rule.condition.span,
            message: match rule.forbid {
                true => format!("this must not be: {}", self.one_line(rule.condition.span)),
                false => format!("this must hold: {}", self.one_line(rule.condition.span)),
            },
            repair: String::new(),
            shows_value: false,
            correction,
            notice: &rule.notice,
        };
        self.require(&rule.id.node, parts, violation, site, builder)
    }

    fn one_line(&self, span: Span) -> String {
        self.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn correction(&mut self, notice: &'a Notice) -> Checked<Option<hir::Correction>> {
        let mut value = |written| self.value(written).map(|value| self.computed(value));
        let Some(correction) = &notice.correction else { return Ok(None) };
        Ok(Some(match &correction.node {
            ast::Correction::Default(written) => hir::Correction::Default(value(written)?),
            ast::Correction::Clamp(written) => hir::Correction::Clamp(value(written)?),
            ast::Correction::Remove => hir::Correction::Remove,
        }))
    }

    /// Adds a requirement: a rule that holds when every part does.
    fn require(
        &mut self,
        id: &str,
        mut parts: Vec<Cond>,
        violation: Violation<'a>,
        site: &Site,
        builder: &mut Builder,
    ) -> Checked<()> {
        let Violation { place, span, message, repair, shows_value, correction, notice } = violation;
        parts.splice(0..0, builder.guards.iter().cloned());
        let condition = and(parts, span);
        self.measured_cond(&condition, span)?;
        let name: Arc<str> = site.renamed.clone().unwrap_or_else(|| id.into());
        let handler = name.clone();
        let outcome =
            hir::Outcome::Handler { name: handler, args: Vec::new(), metadata: self.no_metadata.clone() };
        let rule = self.add_rule(builder.block.table, name, condition, outcome, span);
        let message = notice.message.as_ref().map_or(message, |text| text.node.clone());
        let repair = match (&notice.repair, repair) {
            (Some(text), _) => text.node.clone(),
            (None, repair) if !repair.is_empty() => repair,
            (None, _) => match &correction {
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
            shows_value,
            correction: correction.filter(|_| site.renamed.is_none()),
        });
        Ok(())
    }

    /// `let name = value`
    fn local(&mut self, name: &'a ast::Ident, value: &'a ast::Expr, builder: &mut Builder) -> Checked<()> {
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
        let expr = self.held(&name.node, expr, name.span, builder);
        let mut binding = Binding::new(name.node.as_str().into(), expr, name.span);
        (binding.place, binding.guard) = (place, guard);
        self.scope.push(binding);
        Ok(())
    }

    /// The condition under which the names met since the last time are of their declared types.
    fn noted_guard(&mut self, span: Span) -> Option<Cond> {
        let noted = std::mem::take(&mut self.noted);
        (!noted.is_empty()).then(|| and(noted, span))
    }

    /// Gives a value a binding of its own, unless it is as good as one.
    fn held(&mut self, name: &str, value: Expr, span: Span, builder: &mut Builder) -> Expr {
        if matches!(value.kind, ExprKind::Slot(_) | ExprKind::Const(_)) {
            return value;
        }
        let id = builder.binding();
        let ty = value.ty.clone();
        let value = self.computed(value);
        builder.block.lets.push((id, value));
        self.bound(id, name, ty, span)
    }
}

impl Builder {
    fn new(block: Block) -> Builder {
        Builder { bindings: 0, block, guards: Vec::new(), groups: Vec::new() }
    }

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
    Predicate::plain(op, left, right).at(span)
}

fn missing(value: Expr, span: Span) -> Cond {
    test(Op::IsMissing, value, Operand::Nothing, span)
}

fn present(value: Expr, span: Span) -> Cond {
    test(Op::IsPresent, value, Operand::Nothing, span)
}
