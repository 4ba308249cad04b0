//! The names in expressions and types.

use super::{Kind, SymbolId, Work};
use crate::builtins::Function;
use crate::span::Span;
use crate::syntax::ast::{Arg, Expr, ExprKind, Field, Ident, Literal, TypeExpr, TypeKind};

/// The name behind which rules find what the text of the message says.
const REQUEST: &str = "request";

impl<'a> Work<'a> {
    pub(super) fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    /// The values behind keys, which are no names.
    pub(super) fn entries(&mut self, entries: &'a [(Ident, Expr)]) {
        self.exprs(entries.iter().map(|(_, value)| value));
    }

    pub(super) fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..) => self.path(expr),
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
                self.expr(list);
                self.bind(Kind::Local, var, expr.span);
                self.expr(body);
                self.scope.pop();
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

    /// `a.b["c"].d`: of the message, unless what it begins with is bound or defined.
    fn path(&mut self, expr: &'a Expr) {
        let (mut names, mut at) = (Vec::new(), expr);
        let root = loop {
            match &at.kind {
                ExprKind::Field(base, name) => {
                    names.push((name.node.as_str(), Some(name.span)));
                    at = base;
                }
                ExprKind::Index(base, index) => {
                    match &index.kind {
                        ExprKind::Literal(Literal::String(key)) => names.push((key.as_str(), None)),
                        _ => {
                            // What stands behind an element has no name of the message.
                            names.clear();
                            self.expr(index);
                        }
                    }
                    at = base;
                }
                ExprKind::Name(name) => break Some(name.as_str()),
                _ => break None,
            }
        };
        let Some(root) = root else { return self.expr(at) };
        names.push((root, Some(at.span)));
        names.reverse();
        if let Some((_, bound)) = self.scope.iter().rev().find(|(name, _)| *name == root) {
            return match *bound {
                Some(id) => self.uses(id, at.span),
                None if root == "payload" => self.payload_field(&names),
                None => {}
            };
        }
        match self.known(Kind::Let, &[root]) {
            Some(id) => self.uses(id, at.span),
            None => self.message(&names),
        }
    }

    /// `payload.NAME`: a field of the payload at hand.
    fn payload_field(&mut self, names: &[(&str, Option<Span>)]) {
        if let (Some(owner), Some((name, Some(span)))) = (self.judged, names.get(1))
            && let Some(id) = self.known(Kind::PayloadField, &[owner, name])
        {
            self.uses(id, *span);
        }
    }

    /// A way into the message, name by name.
    fn message(&mut self, names: &[(&str, Option<Span>)]) {
        let root = names[0].0;
        let declared = self.input.is_some_and(|fields| fields.iter().any(|field| field.name.node == root));
        if root == REQUEST && !declared {
            return self.request(names);
        }
        let mut path = Vec::with_capacity(names.len());
        for (name, span) in names {
            path.push(*name);
            let id = self.field(&path);
            if let Some(span) = span {
                self.uses(id, *span);
            }
        }
    }

    /// The symbol of a field: that of the type which declares it, where one does.
    pub(super) fn field(&mut self, path: &[&str]) -> SymbolId {
        let Some(mut fields) = self.input else { return self.symbol(Kind::Field, path) };
        let mut owner: Option<(&str, usize)> = None;
        for (at, name) in path.iter().enumerate() {
            let Some(field) = fields.iter().find(|field| field.name.node == *name) else { break };
            if at + 1 == path.len() {
                break;
            }
            let mut ty = &field.ty;
            while let TypeKind::Name(name) = &ty.kind
                && let Some(named) = self.types.get(name.as_str()).copied()
            {
                // A type that is named by itself is an error, and its name goes nowhere.
                if owner.is_some_and(|(known, _)| known == name) {
                    break;
                }
                owner = Some((name, at + 1));
                ty = named;
            }
            match &ty.kind {
                TypeKind::Record(inner) => fields = inner,
                _ => break,
            }
        }
        match owner {
            Some((owner, at)) => {
                let inner: Vec<&str> = std::iter::once(owner).chain(path[at..].iter().copied()).collect();
                match self.known(Kind::TypeField, &inner) {
                    Some(id) => id,
                    None => self.symbol(Kind::Field, path),
                }
            }
            None => self.symbol(Kind::Field, path),
        }
    }

    /// `request.…`: what is found in the message's text.
    fn request(&mut self, names: &[(&str, Option<Span>)]) {
        let (kind, at) = match names.get(1) {
            Some(("entities", _)) => (Kind::Entity, 2),
            Some(("context_score", _)) => (Kind::Let, 1),
            _ => (Kind::Lexicon, 1),
        };
        if let Some((name, Some(span))) = names.get(at)
            && let Some(id) = self.known(kind, &[name])
        {
            self.uses(id, *span);
        }
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

    /// The types of fields whose names are declared elsewhere.
    pub(super) fn fields_of(&mut self, fields: &'a [Field]) {
        fields.iter().for_each(|field| self.ty(&field.ty));
    }

    /// Declares the fields of a record and of those inside it, below a path.
    pub(super) fn declare_fields(&mut self, kind: Kind, path: &[&str], fields: &'a [Field]) {
        for field in fields {
            let path = [path, &[&field.name.node]].concat();
            self.declares(kind, &path, field.name.span, field.name.span.to(field.ty.span), "");
            if let TypeKind::Record(inner) = &field.ty.kind {
                self.declare_fields(kind, &path, inner);
            }
        }
    }
}
