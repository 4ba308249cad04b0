//! Finds where the fields of a value are declared. In `any order in ctx.orders: order.price > 9`,
//! `order` is an element of `ctx.orders`, so its fields are declared in `input` or in a type.

use super::{Kind, SymbolId, Work};
use rulec_base::broken_invariant;
use rulec_base::span::Span;
use rulec_syntax::ast::{Expr, ExprKind, Ident, ItemKind, Literal, TypeExpr, TypeKind};

/// The name whose fields are the results of request analysis.
const REQUEST: &str = "request";
/// The path element that leads from a list or dict to its elements.
pub(super) const ELEMENT: &str = "[]";
/// Maximum number of `let` and type definitions that are followed, because an erroneous definition
/// may refer to itself.
pub(super) const DEEP: usize = 16;

/// Where the fields of an expression's value are declared, if this is known.
#[derive(Clone, Debug)]
pub(super) enum Home<'a> {
    /// The value has a declared type. The fields are declared in the symbol with this kind and
    /// path.
    Typed(Kind, Vec<&'a str>, &'a TypeExpr),
    /// The value is an undeclared field of the input message, with this path.
    Field(Vec<&'a str>),
    /// The value is the current payload or group as a whole, whose fields its items declare.
    Payload,
    /// The value is the built-in `request`. Like `request.entities` (the next variant), it has no
    /// declaration.
    Request,
    Entities,
    /// The declaration of the fields is not known.
    Unknown,
}

impl<'a> Work<'a> {
    /// Resolves the names of a path such as `a.b["c"].d`. Returns where the fields of the path's
    /// value are declared. The first name is a field of the input message, unless it is bound or
    /// defined by a `let`.
    pub(super) fn path(&mut self, expr: &'a Expr) -> Home<'a> {
        match &expr.kind {
            ExprKind::Name(name) => self.root(name, expr.span),
            ExprKind::Field(base, name) => {
                let home = self.path(base);
                self.step(home, &name.node, Some(name.span))
            }
            ExprKind::Index(base, index) => {
                let home = self.path(base);
                match &index.kind {
                    ExprKind::Literal(Literal::String(key)) => self.step(home, key, None),
                    _ => {
                        self.expr(index);
                        self.element(home)
                    }
                }
            }
            _ => {
                self.expr(expr);
                Home::Unknown
            }
        }
    }

    /// Resolves the first name of a path. Returns where the fields of the name's value are
    /// declared.
    fn root(&mut self, name: &'a str, span: Span) -> Home<'a> {
        if let Some((_, bound, home)) = self.scope.iter().rev().find(|(known, ..)| *known == name) {
            let (bound, home) = (*bound, home.clone());
            if let Some(id) = bound {
                self.uses(id, span);
            }
            return home;
        }
        match self.known(Kind::Let, &[name]) {
            Some(id) => {
                self.uses(id, span);
                self.defined(name, DEEP)
            }
            None => self.of_message(name, span),
        }
    }

    /// Resolves a name as a field of the input message.
    pub(super) fn of_message(&mut self, name: &'a str, span: Span) -> Home<'a> {
        let field = self.input.and_then(|fields| fields.iter().find(|field| field.name.node == name));
        if field.is_none() && name == REQUEST {
            return Home::Request;
        }
        let id = self.symbol(Kind::Field, &[name]);
        self.uses(id, span);
        match field {
            Some(field) => Home::Typed(Kind::Field, vec![name], &field.ty),
            None => Home::Field(vec![name]),
        }
    }

    /// Returns where the fields of a `let`'s value are declared. Adds no occurrences to the index.
    fn defined(&self, name: &str, deep: usize) -> Home<'a> {
        match self.lets.get(name) {
            Some(value) if deep > 0 => self.home(value, deep - 1),
            _ => Home::Unknown,
        }
    }

    /// Returns where the fields of an expression's value are declared. Adds no occurrences to the
    /// index.
    pub(super) fn home(&self, expr: &'a Expr, deep: usize) -> Home<'a> {
        match &expr.kind {
            ExprKind::Name(name) if self.lets.contains_key(name.as_str()) => self.defined(name, deep),
            ExprKind::Name(name) => {
                let mut fields = self.input.into_iter().flatten();
                match fields.find(|field| field.name.node == *name) {
                    Some(field) => Home::Typed(Kind::Field, vec![name], &field.ty),
                    None if name == REQUEST || self.known(Kind::Let, &[name]).is_some() => Home::Unknown,
                    None => Home::Field(vec![name]),
                }
            }
            ExprKind::Field(base, name) => self.inside(self.home(base, deep), &name.node).0,
            ExprKind::Index(base, index) => match &index.kind {
                ExprKind::Literal(Literal::String(key)) => self.inside(self.home(base, deep), key).0,
                _ => self.element(self.home(base, deep)),
            },
            _ => Home::Unknown,
        }
    }

    /// Resolves the name after a dot. `home` is where the fields of the value before the dot are
    /// declared.
    pub(super) fn step(&mut self, home: Home<'a>, name: &'a str, span: Option<Span>) -> Home<'a> {
        let (inner, known) = self.inside(home, name);
        let id = match (&inner, known) {
            (_, Some(id)) => Some(id),
            (Home::Field(path), None) => Some(self.symbol(Kind::Field, path)),
            _ => None,
        };
        if let (Some(id), Some(span)) = (id, span) {
            self.uses(id, span);
        }
        inner
    }

    /// Returns where the fields of the field `name` are declared, and the symbol of `name` if it is
    /// declared.
    fn inside(&self, home: Home<'a>, name: &'a str) -> (Home<'a>, Option<SymbolId>) {
        let declared = |kind: Kind, mut path: Vec<&'a str>, ty: &'a TypeExpr| {
            path.push(name);
            let id = self.known(kind, &path);
            (Home::Typed(kind, path, ty), id)
        };
        let named = |kind: Kind, path: &[&str]| (Home::Unknown, self.known(kind, path));
        match self.resolved(home) {
            Home::Typed(kind, mut path, ty) => {
                let field = match &ty.kind {
                    TypeKind::Record(fields) => fields.iter().find(|field| field.name.node == name),
                    TypeKind::Dict(_) => return (self.element(Home::Typed(kind, path, ty)), None),
                    TypeKind::Name(group) => return self.of_group(group, name),
                    TypeKind::List(_) => None,
                };
                match field {
                    Some(field) => declared(kind, path, &field.ty),
                    // An undeclared, perhaps misspelt field of the message is indexed too.
                    None if kind == Kind::Field => {
                        path.push(name);
                        (Home::Field(path), None)
                    }
                    None => (Home::Unknown, None),
                }
            }
            Home::Field(mut path) => {
                path.push(name);
                (Home::Field(path), None)
            }
            Home::Payload => {
                let field = self.judged.map(|owner| (Kind::PayloadField, [owner, name]));
                let in_scope = self.scope.iter().find(|(known, ..)| *known == name);
                match (field.and_then(|(kind, path)| self.known(kind, &path)), in_scope) {
                    (Some(id), Some((.., home))) => (home.clone(), Some(id)),
                    (id, _) => (Home::Unknown, id),
                }
            }
            Home::Request if name == "entities" => (Home::Entities, None),
            Home::Request if name == "context_score" => named(Kind::Let, &[name]),
            Home::Request => named(Kind::Lexicon, &[name]),
            Home::Entities => named(Kind::Entity, &[name]),
            Home::Unknown => (Home::Unknown, None),
        }
    }

    /// Returns the field `name` of a value whose type is a group.
    fn of_group(&self, group: &'a str, name: &'a str) -> (Home<'a>, Option<SymbolId>) {
        let items = self.groups.get(group).map(|group| group.body.iter()).into_iter().flatten();
        let mut fields = items.filter_map(|item| match &item.kind {
            ItemKind::Field(field) => Some(field),
            _ => None,
        });
        let Some(field) = fields.find(|field| field.name.node == name) else { return (Home::Unknown, None) };
        let path = vec![group, name];
        let id = self.known(Kind::PayloadField, &path);
        (Home::Typed(Kind::PayloadField, path, &field.ty), id)
    }

    /// Returns where the fields of a value's elements are declared. The value is a list or dict.
    pub(super) fn element(&self, home: Home<'a>) -> Home<'a> {
        match self.resolved(home) {
            Home::Typed(kind, mut path, ty) => match &ty.kind {
                TypeKind::List(Some(inner)) | TypeKind::Dict(Some(inner)) => {
                    path.push(ELEMENT);
                    Home::Typed(kind, path, inner)
                }
                _ => Home::Unknown,
            },
            Home::Field(mut path) => {
                path.push(ELEMENT);
                Home::Field(path)
            }
            _ => Home::Unknown,
        }
    }

    /// Replaces a type name by the declaration of the named type, if there is one.
    fn resolved(&self, mut home: Home<'a>) -> Home<'a> {
        for _ in 0..DEEP {
            let Home::Typed(.., TypeExpr { kind: TypeKind::Name(name), .. }) = &home else { break };
            let Some((name, ty)) = self.types.get_key_value(name.as_str()) else { break };
            home = Home::Typed(Kind::TypeField, vec![name], ty);
        }
        home
    }

    /// Declares the fields of a type, below a path. The type is a record, or a list or dict that
    /// contains records.
    pub(super) fn declare_inside(&mut self, kind: Kind, path: &[&str], ty: &'a TypeExpr) {
        match &ty.kind {
            TypeKind::Record(fields) => self.declare_fields(kind, path, fields),
            TypeKind::List(Some(inner)) | TypeKind::Dict(Some(inner)) => {
                self.declare_inside(kind, &[path, &[ELEMENT]].concat(), inner);
            }
            _ => {}
        }
    }

    /// Resolves the names of the path after `given`, which is a field of the input message.
    pub(super) fn given_field(&mut self, path: &'a [Ident]) {
        let Some((first, rest)) = path.split_first() else {
            return broken_invariant!("a given path has a name");
        };
        let mut home = self.of_message(&first.node, first.span);
        for name in rest {
            home = self.step(home, &name.node, Some(name.span));
        }
    }

    /// Returns the kind and path of the declaration that contains the fields of a value, if known.
    /// `home` is where the fields are declared.
    pub(super) fn fields_behind(&self, home: Home<'a>) -> Option<(Kind, Vec<String>)> {
        let (kind, path) = match self.resolved(home) {
            Home::Typed(.., TypeExpr { kind: TypeKind::Name(group), .. }) => {
                (Kind::PayloadField, vec![group.as_str()])
            }
            Home::Typed(kind, path, _) => (kind, path),
            Home::Field(path) => (Kind::Field, path),
            _ => return None,
        };
        Some((kind, path.into_iter().map(str::to_owned).collect()))
    }
}
