//! Lowers `each`, whose rules apply to every element of a list or dict. Also lowers `closed`, which
//! reports every undeclared key.

use super::super::constant::constant;
use super::super::decide::always;
use super::super::{Binding, Checked, Checker};
use super::{Body, Site, Violation};
use crate::hir::{BindingId, Cond, Each, Expr, ExprKind, ObjectPath, Step};
use rulec_base::diag::{Code, Diagnostic, listed};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::builtins::Function;
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::ast::{self, Notice};
use serde_json::Value as Json;

impl<'a> Checker<'a> {
    /// Lowers `closed`: one violation for each undeclared key.
    pub(super) fn closed(
        &mut self,
        id: Option<&'a Spanned<String>>,
        notice: &'a Notice,
        span: Span,
        site: &Site,
    ) -> Checked<()> {
        let known: Vec<Json> = site.known.iter().map(|name| Json::from(&**name)).collect();
        let names: Vec<&str> = site.known.iter().map(|name| &**name).collect();
        let call = |function, args| Expr::call(function, args, Ty::list(Ty::STRING), span);
        let known = constant(Json::Array(known), span);
        let keys = call(Function::Keys, vec![site.object.clone()]);
        let list = call(Function::Without, vec![keys, known]);
        let (element, key) = self.binding("key", Ty::STRING, span);
        let violation = Violation {
            place: site.place.then(Step::At(self.computed(key))),
            span,
            message: message!("this field is not declared"),
            repair: message!("remove it; the fields are {}", listed(names)),
            shows_value: false,
            correction: self.correction(notice)?,
            notice,
        };
        let id = id.map_or_else(|| format!("{}.unsupported", site.owner), |id| id.node.clone());
        let elements = Elements { list, place: None, key: None, element, when: None };
        self.for_each(elements, &site.owner, span, |this| {
            this.require(&id, vec![always(span)], violation, site)
        })
    }

    /// Puts the rules that `fill` adds into a separate block, which is evaluated for each element.
    pub(super) fn for_each(
        &mut self,
        elements: Elements,
        name: &str,
        span: Span,
        fill: impl FnOnce(&mut Self) -> Checked<()>,
    ) -> Checked<()> {
        let block = self.block(name, span);
        let outer = std::mem::replace(&mut self.payload.block, block);
        let filled = fill(self);
        let block = std::mem::replace(&mut self.payload.block, outer);
        filled?;
        let Elements { list, place, key, element, when } = elements;
        let (list, when) = (self.computed(list), when.map(|when| self.computed(when)));
        self.payload.block.each.push(Each { list, place, key, element, when, block, nest: 1 });
        Ok(())
    }

    /// Lowers `each KEY, VALUE in LIST { … }`.
    pub(super) fn each(&mut self, each: &'a ast::EachItem, site: &Site) -> Checked<()> {
        self.fits(each.list.span)?;
        self.noted.clear();
        let list = self.value(&each.list)?;
        let guarded: Vec<Cond> = self.noted.drain(..).collect();
        let wanted = KindSet::LIST.union(KindSet::DICT);
        if !list.ty.kinds.overlaps(wanted) {
            let message = message!("expected a list or dict, but this is {}", list.ty.with_article());
            let diagnostic = Diagnostic::new(Code::ListWanted, list.span, message);
            return self.report(diagnostic.here(list.ty.to_message()));
        }
        let place = self.place_of(&each.list);
        let scope = self.scope.len();
        let (key, name) = match &each.names {
            (name, None) => (None, name),
            (key, Some(name)) => (Some(key), name),
        };
        let (element, expr) = self.binding(&name.node, list.ty.element(), name.span);
        let key = key.map(|key| {
            let ty = match list.ty.kinds {
                KindSet::LIST => Ty::INT,
                KindSet::DICT => Ty::STRING,
                _ => Ty::plain(KindSet::INT.union(KindSet::STRING)),
            };
            let (id, expr) = self.binding(&key.node, ty, key.span);
            self.scope.push(Binding::new(&key.node, expr, key.span));
            id
        });
        self.bind_at(ObjectPath::new(element), Binding::new(&name.node, expr, name.span));
        let guard = each.guard.as_ref().map(|guard| self.cond(guard)).transpose();
        let before = self.payload.guards.len();
        self.payload.guards.extend(guarded);
        self.payload.guards.append(&mut self.noted);
        let span = each.list.span;
        let block_name = format!("{}[]", self.one_line(span));
        self.payload.each += 1;
        let when = guard.as_ref().ok().cloned().flatten().map(|guard| Expr {
            kind: ExprKind::Cond(Box::new(guard)),
            ty: Ty::BOOL,
            optional: true,
            span,
        });
        let elements = Elements { list, place, key, element, when };
        let filled = self.for_each(elements, &block_name, span, |this| {
            if let Ok(guard) = guard {
                this.payload.guards.extend(guard);
                this.items(&each.body, Body::Each, site);
            }
            Ok(())
        });
        self.payload.each -= 1;
        self.payload.guards.truncate(before);
        self.scope.truncate(scope);
        filled
    }
}

/// The parts of an [`Each`] that precede its rules: a list or dict, and the bindings of an element.
pub(super) struct Elements {
    pub(super) list: Expr,
    pub(super) place: Option<ObjectPath>,
    pub(super) key: Option<BindingId>,
    pub(super) element: BindingId,
    /// The condition after `when`, which selects elements.
    pub(super) when: Option<Expr>,
}
