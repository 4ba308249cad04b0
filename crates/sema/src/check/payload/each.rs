//! Lowers `each`, whose rules apply to every element of a list or dict. Also lowers `closed`, which
//! reports every undeclared key.

use super::super::constant::build_constant;
use super::super::decide::build_always_true_condition;
use super::super::{Binding, Checked, Checker};
use super::{ItemOwner, ItemSite, ViolationReport};
use crate::hir::{BindingId, Cond, EachBlock, Expr, ExprKind, ObjectPath, ObjectStep};
use rulec_base::diag::{Code, Diagnostic, comma_list};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::builtins::Function;
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::ast::{self, ViolationNotice};
use serde_json::Value as Json;

impl<'a> Checker<'a> {
    /// Lowers `closed`, a rule that reports one violation for each undeclared key. `id` is the name
    /// of the rule; `None` if the author gave none. `notice` has the author's message and
    /// correction.
    pub(super) fn lower_closed(
        &mut self,
        id: Option<&'a Spanned<String>>,
        notice: &'a ViolationNotice,
        span: Span,
        site: &ItemSite,
    ) -> Checked<()> {
        let declared_names: Vec<Json> = site.declared_names.iter().map(|name| Json::from(&**name)).collect();
        let names: Vec<&str> = site.declared_names.iter().map(|name| &**name).collect();
        let call = |function, args| Expr::call(function, args, Ty::list(Ty::STRING), span);
        let declared_names = build_constant(Json::Array(declared_names), span);
        let keys = call(Function::Keys, vec![site.object.clone()]);
        let list = call(Function::Without, vec![keys, declared_names]);
        let (element, key) = self.new_binding("key", Ty::STRING, false, span);
        let violation = ViolationReport {
            place: site.place.with_step(ObjectStep::At(self.add_value(key))),
            span,
            message: message!("this field is not declared"),
            repair: message!("remove it; the fields are {}", comma_list(names)),
            shows_value: false,
            correction: self.lower_correction(notice)?,
            notice,
            is_only_corrected: false,
            is_from_field: true,
        };
        let id = id.map_or_else(|| format!("{}.unsupported", site.owner_name), |id| id.node.clone());
        let elements = EachElements { list, place: None, key: None, element, when: None };
        self.add_each_block(elements, &site.owner_name, span, |this| {
            this.add_requirement(&id, vec![build_always_true_condition(span)], violation, site)
        })
    }

    /// Calls `add_rules` and collects the rules that it adds into a separate block. The block is
    /// evaluated once for each element that `elements` describes. `name` is the name of the block's
    /// table.
    pub(super) fn add_each_block(
        &mut self,
        elements: EachElements,
        name: &str,
        span: Span,
        add_rules: impl FnOnce(&mut Self) -> Checked<()>,
    ) -> Checked<()> {
        let block = self.new_block(name, span);
        if let Some(place) = &elements.place {
            self.payload.list_paths.insert(elements.element, place.clone());
        }
        let outer = std::mem::replace(&mut self.payload.block, block);
        let result = add_rules(self);
        let block = std::mem::replace(&mut self.payload.block, outer);
        result?;
        let EachElements { list, place, key, element, when } = elements;
        let (list, when) = (self.add_value(list), when.map(|when| self.add_value(when)));
        self.payload.block.each_blocks.push(EachBlock {
            list,
            place,
            key,
            element,
            condition: when,
            block,
            nesting_depth: 1,
        });
        Ok(())
    }

    /// Lowers `each KEY, VALUE in LIST { … }` to a block of rules that is evaluated for each
    /// element.
    pub(super) fn lower_each(&mut self, each: &'a ast::EachItem, site: &ItemSite) -> Checked<()> {
        self.check_payload_size(each.list.span)?;
        self.pending_type_tests.clear();
        let list = self.check_value(&each.list)?;
        let type_tests: Vec<Cond> = self.pending_type_tests.drain(..).collect();
        let list_or_dict = KindSet::LIST.union(KindSet::DICT);
        if !list.ty.kinds.overlaps(list_or_dict) {
            let message = message!("expected a list or dict, but this is {}", list.ty.with_article());
            let diagnostic = Diagnostic::new(Code::ListWanted, list.span, message);
            let diagnostic = diagnostic.here(list.ty.to_message());
            let diagnostic = match &each.list.kind {
                ast::ExprKind::Name(name) => {
                    let ty = list.ty.to_message();
                    diagnostic.help(message!(
                        "an `each` reads the elements of a list: declare it as `{name}: list<{ty}>`",
                        name = name.to_string()
                    ))
                }
                _ => diagnostic
                    .help(message!("an `each` reads the elements of a list or the values of a dict")),
            };
            return self.report_with_type_origin(diagnostic, &list);
        }
        let place = self.object_path_of(&each.list);
        let scope = self.scope.len();
        let (key, name) = match &each.loop_variables {
            (name, None) => (None, name),
            (key, Some(name)) => (Some(key), name),
        };
        let private = self.private_reads().is_private(&list);
        let (element, expr) = self.new_binding(&name.node, list.ty.element(), private, name.span);
        let key = key.map(|key| {
            let ty = match list.ty.kinds {
                KindSet::LIST => Ty::INT,
                KindSet::DICT => Ty::STRING,
                _ => Ty::from_kinds(KindSet::INT.union(KindSet::STRING)),
            };
            let (id, expr) = self.new_binding(&key.node, ty, private, key.span);
            self.scope.push(Binding::new(&key.node, expr, key.span));
            id
        });
        self.bind_path(ObjectPath::new(element), Binding::new(&name.node, expr, name.span));
        let guard = each.guard.as_ref().map(|guard| self.check_cond(guard)).transpose();
        let guards_before = self.payload.guards.len();
        self.payload.guards.extend(type_tests);
        self.payload.guards.append(&mut self.pending_type_tests);
        let span = each.list.span;
        let block_name = format!("{}[]", self.source_on_one_line(span));
        self.payload.each_depth += 1;
        let when = guard.as_ref().ok().cloned().flatten().map(|guard| Expr {
            kind: ExprKind::Cond(Box::new(guard)),
            ty: Ty::BOOL,
            may_be_missing: true,
            span,
        });
        let elements = EachElements { list, place, key, element, when };
        let result = self.add_each_block(elements, &block_name, span, |this| {
            if let Ok(guard) = guard {
                this.payload.guards.extend(guard);
                this.lower_items(&each.body, ItemOwner::Each, site);
            }
            Ok(())
        });
        self.payload.each_depth -= 1;
        self.payload.guards.truncate(guards_before);
        self.scope.truncate(scope);
        result
    }
}

/// The fields of an [`EachBlock`] that are known before its rules are lowered: the list or dict,
/// the bindings of key and element, and the condition on an element.
pub(super) struct EachElements {
    pub(super) list: Expr,
    pub(super) place: Option<ObjectPath>,
    pub(super) key: Option<BindingId>,
    pub(super) element: BindingId,
    /// The condition after `when`. The rules apply only to elements for which it is true; `None`
    /// applies them to all elements.
    pub(super) when: Option<Expr>,
}
