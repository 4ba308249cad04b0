//! Rules for elements: `each`, and `closed`, which asks for each key that nothing declares.

use super::super::{Binding, Checked, Checker};
use super::{Body, Builder, Site, Violation};
use crate::builtins::Function;
use crate::diag::{Code, Diagnostic};
use crate::sema::hir::{Block, Cond, CondKind, Each, Expr, Place, Step};
use crate::span::{Span, Spanned};
use crate::syntax::ast::{self, Notice};
use crate::ty::{KindSet, Ty};
use serde_json::Value as Json;

impl<'a> Checker<'a> {
    /// `closed`: one violation for each key that nothing declares.
    pub(super) fn closed(
        &mut self,
        id: Option<&'a Spanned<String>>,
        notice: &'a Notice,
        span: Span,
        site: &Site,
        builder: &mut Builder,
    ) -> Checked<()> {
        let known: Vec<Json> = site.known.iter().map(|name| Json::from(&**name)).collect();
        let names: Vec<&str> = site.known.iter().map(|name| &**name).collect();
        let call = |function, args| Expr::call(function, args, Ty::list(Ty::STRING), span);
        let known = super::super::constant::constant(Json::Array(known), span);
        let keys = call(Function::Keys, vec![site.object.clone()]);
        let list = call(Function::Without, vec![keys, known]);
        let element = builder.binding();
        let key = self.bound(element, "key", Ty::STRING, span);
        let violation = Violation {
            place: site.place.then(Step::At(self.computed(key))),
            span,
            message: "nothing declares this field".to_owned(),
            repair: format!("remove it; the fields are {}", names.join(", ")),
            shows_value: false,
            correction: self.correction(notice)?,
            notice,
        };
        let id = id.map_or_else(|| format!("{}.unsupported", site.owner), |id| id.node.clone());
        let always = Cond { kind: CondKind::Const(true), span };
        let outer = self.open_block(&site.owner, span, builder);
        let required = self.require(&id, vec![always], violation, site, builder);
        let block = std::mem::replace(&mut builder.block, outer);
        required?;
        let list = self.computed(list);
        builder.block.each.push(Each { list, place: None, key: None, element, block });
        Ok(())
    }

    /// Makes a new block the one at hand, and returns the one around it.
    pub(super) fn open_block(&mut self, name: &str, span: Span, builder: &mut Builder) -> Block {
        let block = self.block(name, span);
        std::mem::replace(&mut builder.block, block)
    }

    /// `each KEY, VALUE in LIST { … }`
    pub(super) fn each(
        &mut self,
        each: &'a ast::EachItem,
        site: &Site,
        builder: &mut Builder,
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
        let element_ty = list.ty.element();
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
        let outer = self.open_block(&format!("{}[]", self.one_line(each.list.span)), each.list.span, builder);
        if let Ok(guard) = guard {
            builder.guards.extend(guard);
            self.items(&each.body, Body::Each, site, builder);
        }
        let inner = std::mem::replace(&mut builder.block, outer);
        builder.guards.truncate(before);
        self.scope.truncate(scope);
        let list = self.computed(list);
        builder.block.each.push(Each { list, place, key: id, element, block: inner });
        Ok(())
    }
}
