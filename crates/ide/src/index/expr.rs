//! Resolves the names in expressions and types.

use super::home::Home;
use super::{Kind, Work};
use rulec_lang::builtins::Function;
use rulec_syntax::ast::{Arg, Expr, ExprKind, Field, Ident, TypeExpr, TypeKind};

impl<'a> Work<'a> {
    pub(super) fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    /// Resolves the names in the values of record entries. The keys of the entries are not names.
    pub(super) fn entries(&mut self, entries: &'a [(Ident, Expr)]) {
        self.exprs(entries.iter().map(|(_, value)| value));
    }

    pub(super) fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..) => drop(self.path(expr)),
            ExprKind::List(items) | ExprKind::Logic(_, items) | ExprKind::Block(_, items) => {
                self.exprs(items)
            }
            ExprKind::If(parts) => self.exprs(parts.iter()),
            ExprKind::Record(entries) => self.entries(entries),
            ExprKind::Call(name, args) => self.call(name, args),
            ExprKind::Unary(_, inner) | ExprKind::Presence { operand: inner, .. } => self.expr(inner),
            ExprKind::Binary(binary) => self.exprs([&binary.left, &binary.right]),
            ExprKind::As(inner, ty) => {
                self.expr(inner);
                self.ty(ty);
            }
            ExprKind::Range { start, end, .. } => self.exprs([&**start, &**end]),
            ExprKind::Quantifier { var, list, body, .. } => {
                let home = self.value(list);
                self.bind(Kind::Local, var, expr.span, self.element(home));
                self.expr(body);
                self.scope.pop();
            }
        }
    }

    /// Resolves the names in an expression. Returns where the fields of its value are declared.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Home<'a> {
        match &expr.kind {
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..) => self.path(expr),
            _ => {
                self.expr(expr);
                Home::Unknown
            }
        }
    }

    fn call(&mut self, name: &'a Ident, args: &'a [Arg]) {
        if Function::named(&name.node).is_none() {
            self.uses_named(Kind::Def, name);
            for param in args.iter().filter_map(|arg| arg.name.as_ref()) {
                let id = self.symbol(Kind::Parameter, &[&name.node, &param.node]);
                self.uses(id, param.span);
            }
        }
        self.exprs(args.iter().map(|arg| &arg.value));
    }

    pub(super) fn ty(&mut self, ty: &'a TypeExpr) {
        match &ty.kind {
            TypeKind::Name(name) => {
                let id = self.known(Kind::Type, &[name]).or_else(|| self.known(Kind::Group, &[name]));
                if let Some(id) = id {
                    self.uses(id, ty.span);
                }
            }
            TypeKind::List(inner) | TypeKind::Dict(inner) => {
                if let Some(inner) = inner {
                    self.ty(inner);
                }
            }
            TypeKind::Record(fields) => self.fields_of(fields),
        }
    }

    /// Resolves the type names in the types of fields. The field names themselves are declared
    /// elsewhere.
    pub(super) fn fields_of(&mut self, fields: &'a [Field]) {
        fields.iter().for_each(|field| self.ty(&field.ty));
    }

    /// Declares the fields of a record and of its nested records. `path` is the path of the record.
    pub(super) fn declare_fields(&mut self, kind: Kind, path: &[&str], fields: &'a [Field]) {
        for field in fields {
            let path = [path, &[&field.name.node]].concat();
            self.declares(kind, &path, field.name.span, field.name.span.to(field.ty.span), "");
            self.declare_inside(kind, &path, &field.ty);
        }
    }
}
