//! Lowers `include`: inlines a group of requirements, with values for its parameters.

use super::super::scope::Scope;
use super::super::{AlreadyReported, Binding, Checked, Checker, join_names};
use super::{ItemOwner, ItemSite, MAX_COPIED_ITEMS, MAX_ITEM_DEPTH, MAX_PAYLOAD_ITEMS};
use hashbrown::HashMap;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_syntax::ast::{self, Ident};

impl<'a> Checker<'a> {
    /// Lowers `include NAME(param: value) as "id" when COND`: inlines the items of the group
    /// `NAME`.
    pub(super) fn lower_include(&mut self, include: &'a ast::IncludeItem, site: &ItemSite) -> Checked<()> {
        let group = self.find_group(&include.group)?;
        self.begin_group_inlining(&include.group)?;
        let arguments = self.check_group_args(group, include);
        self.pending_type_tests.clear();
        let guard = include.guard.as_ref().map(|guard| self.check_cond(guard)).transpose();
        let guards_before = self.payload.guards.len();
        self.payload.guards.append(&mut self.pending_type_tests);
        if let (Ok(arguments), Ok(guard)) = (arguments, guard) {
            self.payload.guards.extend(guard);
            let own_id = include.rule_id.as_ref().map(|id| id.node.as_str().into());
            let inner = ItemSite {
                owner_name: group.name.node.as_str().into(),
                reported_id: site.reported_id.clone().or(own_id),
                ..site.clone()
            };
            self.lower_group_items(group, arguments, &inner);
        }
        self.payload.guards.truncate(guards_before);
        self.payload.inlined_groups.pop();
        Ok(())
    }

    pub(super) fn find_group(&mut self, name: &Ident) -> Checked<&'a ast::Group> {
        let symbols = self.symbols;
        match symbols
            .groups
            .get(&name.node)
            .filter(|symbol| symbols.is_visible(name.span.file, symbol.name.span))
        {
            Some(symbol) => {
                self.used_names.insert(&symbol.name.node);
                Ok(symbol.declaration)
            }
            None => {
                let message = message!("there is no group `{}`", name.node);
                let help = message!("declare it: `group {} {{ … }}`", name.node);
                self.report_unknown_or_nearest(
                    Code::UnknownGroup,
                    name,
                    message,
                    symbols.groups.names(),
                    help,
                )
            }
        }
    }

    /// Starts to inline a group. Returns an error for a group that includes itself or is nested too
    /// deep. The caller later removes the group from the list of groups that are being inlined.
    pub(super) fn begin_group_inlining(&mut self, name: &Ident) -> Checked<()> {
        self.check_payload_size(name.span)?;
        let is_open = self.payload.inlined_groups.iter().any(|open_group| **open_group == *name.node);
        self.payload.inlined_groups.push(name.node.as_str().into());
        if is_open {
            let chain = self.payload.inlined_groups.join(" → ");
            self.payload.inlined_groups.pop();
            let message = message!("the group `{}` includes itself", name.node);
            return self.fail(
                Code::GroupCycle,
                name.span,
                message,
                message!("the cycle is {chain}; remove one of these inclusions"),
            );
        }
        Ok(())
    }

    /// Reports an error if the payload is too large: too deep nesting, or too many items.
    pub(super) fn check_payload_size(&mut self, span: Span) -> Checked<()> {
        let state = &mut self.payload;
        let is_too_deep = state.inlined_groups.len() + state.each_depth >= MAX_ITEM_DEPTH;
        if !is_too_deep && !state.has_too_many_items() {
            return Ok(());
        }
        if std::mem::replace(&mut state.is_too_big, true) {
            return Err(AlreadyReported);
        }
        let (message, help) = match is_too_deep {
            true => (
                message!(
                    "groups and `each` blocks are nested more than {MAX_NESTED} levels deep here",
                    MAX_NESTED = MAX_ITEM_DEPTH
                ),
                message!(
                    "include the innermost groups directly, or judge the inner objects by a payload of their own"
                ),
            ),
            false if state.copy_count > MAX_COPIED_ITEMS => (
                message!(
                    "with their groups expanded, the payloads have more than {MAX_COPIED_ITEMS} items here"
                ),
                message!(
                    "groups that include each other several times grow quickly; include each once, or split the payloads"
                ),
            ),
            false => (
                message!("with its groups expanded, this payload has more than {MAX_PAYLOAD_ITEMS} items"),
                message!(
                    "groups that include each other several times grow quickly; include each once, or split the payload"
                ),
            ),
        };
        self.fail(Code::ExpansionTooLarge, span, message, help)
    }

    /// Lowers the items of a group. Only `payload`, `decision` and the names that the group itself
    /// declares can be used in it.
    pub(super) fn lower_group_items(
        &mut self,
        group: &'a ast::Group,
        arguments: Vec<Binding>,
        site: &ItemSite,
    ) {
        let payload_scope: Scope = self.scope.bindings().iter().take(2).cloned().collect();
        let outer_scope = std::mem::replace(&mut self.scope, payload_scope);
        self.scope.extend(arguments);
        self.payload.copy_count += group.body.len();
        self.lower_items(&group.body, ItemOwner::Object, site);
        self.scope = outer_scope;
    }

    fn check_group_args(
        &mut self,
        group: &'a ast::Group,
        include: &'a ast::IncludeItem,
    ) -> Checked<Vec<Binding>> {
        let params = self.resolve_record(&group.params);
        let mut bindings = Vec::new();
        let mut args: HashMap<&str, &'a ast::IncludeArg> = HashMap::new();
        for arg in &include.args {
            let is_repeated = args.insert(&arg.name.node, arg).is_some();
            if is_repeated || params.get(&arg.name.node).is_none() {
                let message = match is_repeated {
                    true => message!("the parameter `{}` is given twice", arg.name.node),
                    false => message!("the group `{}` has no parameter `{}`", group.name.node, arg.name.node),
                };
                let similar = self.nearest(&arg.name.node, params.names()).filter(|_| !is_repeated);
                let diagnostic = Diagnostic::new(Code::UnknownParameter, arg.name.span, message)
                    .label(group.name.span, message!("declared here"))
                    .help(message!("its parameters are {}", join_names(params.names())))
                    .did_you_mean(arg.name.span, similar);
                return self.report(diagnostic);
            }
        }
        for param in &params.fields {
            let Some(arg) = args.get(&*param.name) else {
                if param.is_optional {
                    continue;
                }
                let message = message!("the group `{}` needs the argument `{}`", group.name.node, param.name);
                return self.report(
                    Diagnostic::new(Code::UnknownParameter, include.group.span, message)
                        .label(group.name.span, message!("declared here"))
                        .help(message!("add `{}: …`", param.name)),
                );
            };
            self.pending_type_tests.clear();
            let value = self.check_value(&arg.value)?;
            let guard = self.take_type_tests(arg.name.span);
            let value =
                self.check_argument(&group.name.node, &param.name, value, &param.ty, Some(group.name.span))?;
            let place = match &arg.violation_path {
                Some(place) => Some(self.lower_object_path(place)?),
                None => self.object_path_of(&arg.value),
            };
            let expr = self.bind_once(&param.name, value, arg.name.span);
            bindings.push(Binding { place, guard, ..Binding::new(&param.name, expr, arg.name.span) });
        }
        Ok(bindings)
    }
}
