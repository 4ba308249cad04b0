//! Checks the names that a rule defines after `where`: definitions like `let`, but visible only in
//! that rule.

use super::names::is_message_text;
use super::{AlreadyReported, Binding, Checked, Checker};
use crate::hir::{Expr, ExprKind, Term};
use crate::resolve::{collect_names, cycle_error, duplicate_error, topological_sort};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::Ty;
use rulec_syntax::ast::{Ident, Locals};

impl<'a> Checker<'a> {
    /// Calls `check` with the names after a rule's `where` in scope. Warns about the names that
    /// remain unused.
    pub(super) fn with_locals<T>(
        &mut self,
        locals: &'a Locals,
        check: impl FnOnce(&mut Self) -> Checked<T>,
    ) -> Checked<T> {
        if locals.is_empty() {
            return check(self);
        }
        let outer_len = self.scope.len();
        let checked = self.define_locals(locals).and_then(|()| check(self));
        if checked.is_ok() {
            let unused = self.scope.bindings()[outer_len..].iter().filter(|binding| !binding.is_used.get());
            let unused: Vec<Diagnostic> = unused.map(unused_local_warning).collect();
            self.diagnostics.extend(unused);
        }
        self.scope.truncate(outer_len);
        checked
    }

    /// Defines the names after `where` in dependency order, whatever their order in the source.
    fn define_locals(&mut self, locals: &'a Locals) -> Checked<()> {
        let unique = self.without_duplicates(message!("name"), locals, |(name, _)| name);
        let mut result = if unique.len() == locals.len() { Ok(()) } else { Err(AlreadyReported) };
        let used_locals = unique.iter().map(|(_, value)| {
            let mut names = Vec::new();
            collect_names(value, &mut names);
            let local_index = |name| unique.iter().position(|(local, _)| local.node == name);
            names.into_iter().filter_map(local_index).collect()
        });
        let (order, cycles) = topological_sort(&used_locals.collect::<Vec<Vec<usize>>>());
        for members in &cycles {
            let names: Vec<&Ident> = members.iter().map(|index| &unique[*index].0).collect();
            self.diagnostics.push(cycle_error(&names));
            result = Err(AlreadyReported);
        }
        for (name, value) in order.into_iter().map(|index| unique[index]) {
            if let Some(first) = self.shadowing_error(name) {
                self.diagnostics.push(first);
                result = Err(AlreadyReported);
                continue;
            }
            let added = self.check_term(value).and_then(|body| self.add_let(name, body, value.span));
            let Ok(id) = added else {
                result = Err(AlreadyReported);
                continue;
            };
            let (ty, optional) = match self.program.let_body(id) {
                Term::Expr(body) => (body.ty.clone(), body.may_be_missing),
                Term::Cond(_) => (Ty::BOOL, true),
            };
            let expr = Expr { kind: ExprKind::Let(id), ty, may_be_missing: optional, span: name.span };
            self.scope.push(Binding::new(&name.node, expr, name.span));
        }
        result
    }

    /// Returns the diagnostic for a name that is already in use; `None` if the name is free.
    fn shadowing_error(&self, name: &Ident) -> Option<Diagnostic> {
        let definition_span =
            self.symbols.definition(name.span.file, &name.node).map(|symbol| symbol.name.span);
        let path = [name.node.as_str()];
        let existing_span = definition_span
            .or_else(|| self.scope.get(&name.node).map(|binding| binding.expr.span))
            .or_else(|| self.fields.declaration_span(&path));
        match existing_span {
            Some(first) => Some(duplicate_error(message!("name"), &name.node, first, name.span)),
            None if is_message_text(&path)
                || self.output_alias.is_some_and(|(alias, _)| alias == name.node) =>
            {
                Some(local_hides_field_error(&name.node, name.span))
            }
            None => None,
        }
    }
}

fn local_hides_field_error(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(Code::Duplicate, span, message!("`{name}` is already a field of the message"))
        .help(message!("choose another name, so that the two cannot be confused"))
}

fn unused_local_warning(binding: &Binding) -> Diagnostic {
    let message = message!("the name `{}` is not used in this rule", binding.name);
    Diagnostic::new(Code::Unused, binding.expr.span, message).help(message!("remove it, or use it"))
}
