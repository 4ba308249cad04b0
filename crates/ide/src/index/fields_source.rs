//! Finds where the fields of a value are declared. In `any order in ctx.orders: order.price > 9`,
//! `order` is an element of `ctx.orders`, so its fields are declared in `input` or in a type.

use super::{DeclarationKind, SymbolId, SymbolIndexBuilder};
pub(super) use crate::facts::ELEMENT_SEGMENT;
use rulec_base::broken_invariant;
use rulec_base::span::Span;
use rulec_lang::history::DECISION_FIELD;
use rulec_syntax::ast::{Expr, ExprKind, Ident, Literal, PayloadItemKind, TypeExpr, TypeKind};

/// The built-in name whose fields are the results of analysing the message text, such as the
/// intent.
const REQUEST_NAME: &str = "request";
/// Maximum number of `let` and `type` definitions that are followed from one expression. Because of
/// the limit, the search ends even if a wrong definition refers to itself.
pub(super) const MAX_DEFINITION_DEPTH: usize = 16;

/// Where the fields of an expression's value are declared, if this is known.
#[derive(Clone, Debug)]
pub(super) enum FieldsSource<'a> {
    /// The type of the value declares the fields. Contains the kind and the path of the symbol that
    /// is declared with this type, and the type.
    Typed(DeclarationKind, Vec<&'a str>, &'a TypeExpr),
    /// The value is a field of the input message, at this path, without a declaration.
    Field(Vec<&'a str>),
    /// The value is the object that a `payload` or `group` statement describes. The statement
    /// declares the fields.
    Payload,
    /// The value is the built-in `request`, whose fields are not declared in the rules.
    Request,
    /// The value is the built-in `request.entities`, whose fields are the declared entities.
    Entities,
    /// The value is the list of recorded messages.
    History,
    /// The value is a recorded message. It has the fields of the input, and the fields that the
    /// history adds.
    Message,
    /// The value is the decision about a recorded message.
    RecordedDecision,
    /// It is not known where the fields of the value are declared.
    Unknown,
}

impl<'a> SymbolIndexBuilder<'a> {
    /// Resolves the names of a path such as `a.b["c"].d`. Returns where the fields of the path's
    /// value are declared. The first name is a field of the input message, unless it is a local
    /// name or the name of a `let`.
    pub(super) fn resolve_path(&mut self, expr: &'a Expr) -> FieldsSource<'a> {
        match &expr.kind {
            ExprKind::Name(name) => self.resolve_root(name, expr.span),
            ExprKind::Field(base, name) => {
                let fields_source = self.resolve_path(base);
                self.resolve_member(fields_source, &name.node, Some(name.span))
            }
            ExprKind::Index(base, index) => {
                let fields_source = self.resolve_path(base);
                match &index.kind {
                    ExprKind::Literal(Literal::String(key)) => self.resolve_member(fields_source, key, None),
                    _ => {
                        self.resolve_expr(index);
                        self.fields_of_elements(fields_source)
                    }
                }
            }
            _ => self.resolve_computed(expr),
        }
    }

    /// Resolves the first name of a path. Returns where the fields of the name's value are
    /// declared.
    fn resolve_root(&mut self, name: &'a str, span: Span) -> FieldsSource<'a> {
        if let Some((_, symbol_id, fields_source)) =
            self.scope.iter().rev().find(|(bound_name, ..)| *bound_name == name)
        {
            let (symbol_id, fields_source) = (*symbol_id, fields_source.clone());
            if let Some(id) = symbol_id {
                self.add_use(id, span);
            }
            return fields_source;
        }
        match self.find_symbol(DeclarationKind::Let, &[name]) {
            Some(id) => {
                self.add_use(id, span);
                self.fields_of_let(name, MAX_DEFINITION_DEPTH)
            }
            None => match self.history_source(name) {
                Some(fields_source) => fields_source,
                None => self.resolve_message_field(name, span),
            },
        }
    }

    /// Returns the source of the fields of `history` or `previous`. `None` for another name, or if
    /// the rules have no `history` statement.
    fn history_source(&self, name: &str) -> Option<FieldsSource<'a>> {
        match name {
            "history" if self.has_history => Some(FieldsSource::History),
            "previous" if self.has_history => Some(FieldsSource::Message),
            _ => None,
        }
    }

    /// Resolves a name as a field of the input message.
    pub(super) fn resolve_message_field(&mut self, name: &'a str, span: Span) -> FieldsSource<'a> {
        let field = self.input_fields.and_then(|fields| fields.iter().find(|field| field.name.node == name));
        if field.is_none() && name == REQUEST_NAME {
            return FieldsSource::Request;
        }
        let id = self.find_or_add_symbol(DeclarationKind::Field, &[name]);
        self.add_use(id, span);
        match field {
            Some(field) => FieldsSource::Typed(DeclarationKind::Field, vec![name], &field.ty),
            None => FieldsSource::Field(vec![name]),
        }
    }

    /// Returns where the fields of a `let`'s value are declared. Records no uses of names.
    /// `remaining_depth` is the number of definitions that may still be followed.
    fn fields_of_let(&self, name: &str, remaining_depth: usize) -> FieldsSource<'a> {
        match self.let_values.get(name) {
            Some(value) if remaining_depth > 0 => self.fields_of_expr(value, remaining_depth - 1),
            _ => FieldsSource::Unknown,
        }
    }

    /// Returns where the fields of an expression's value are declared. Records no uses of names.
    /// `remaining_depth` is the number of definitions that may still be followed.
    pub(super) fn fields_of_expr(&self, expr: &'a Expr, remaining_depth: usize) -> FieldsSource<'a> {
        match &expr.kind {
            ExprKind::Name(name) if self.let_values.contains_key(name.as_str()) => {
                self.fields_of_let(name, remaining_depth)
            }
            ExprKind::Name(name) if self.history_source(name).is_some() => {
                self.history_source(name).unwrap_or(FieldsSource::Unknown)
            }
            ExprKind::Name(name) => {
                let mut fields = self.input_fields.into_iter().flatten();
                match fields.find(|field| field.name.node == *name) {
                    Some(field) => FieldsSource::Typed(DeclarationKind::Field, vec![name], &field.ty),
                    None if name == REQUEST_NAME
                        || self.find_symbol(DeclarationKind::Let, &[name]).is_some() =>
                    {
                        FieldsSource::Unknown
                    }
                    None => FieldsSource::Field(vec![name]),
                }
            }
            ExprKind::Field(base, name) => {
                self.field_inside(self.fields_of_expr(base, remaining_depth), &name.node).0
            }
            ExprKind::Index(base, index) => match &index.kind {
                ExprKind::Literal(Literal::String(key)) => {
                    self.field_inside(self.fields_of_expr(base, remaining_depth), key).0
                }
                _ => self.fields_of_elements(self.fields_of_expr(base, remaining_depth)),
            },
            _ => FieldsSource::Unknown,
        }
    }

    /// Resolves the name after a dot, or the key in brackets. `fields_source` is where the fields
    /// of the value before it are declared. `span` is the position of the name; `None` for a key,
    /// whose use is not recorded.
    pub(super) fn resolve_member(
        &mut self,
        fields_source: FieldsSource<'a>,
        name: &'a str,
        span: Option<Span>,
    ) -> FieldsSource<'a> {
        let is_recorded_field = match fields_source {
            FieldsSource::Message => matches!(name, "at" | DECISION_FIELD),
            FieldsSource::RecordedDecision => matches!(name, "chosen" | "target"),
            _ => false,
        };
        self.index.recorded_fields.extend(span.filter(|_| is_recorded_field));
        let (inner, declared_id) = self.field_inside(fields_source, name);
        let id = match (&inner, declared_id) {
            (_, Some(id)) => Some(id),
            (FieldsSource::Field(path), None) => Some(self.find_or_add_symbol(DeclarationKind::Field, path)),
            _ => None,
        };
        if let (Some(id), Some(span)) = (id, span) {
            self.add_use(id, span);
        }
        inner
    }

    /// Looks up the field `name` of a value. Returns where the fields of `name` itself are
    /// declared, and the symbol of `name` if there is one.
    fn field_inside(
        &self,
        fields_source: FieldsSource<'a>,
        name: &'a str,
    ) -> (FieldsSource<'a>, Option<SymbolId>) {
        let typed_field = |kind: DeclarationKind, mut path: Vec<&'a str>, ty: &'a TypeExpr| {
            path.push(name);
            let id = self.find_symbol(kind, &path);
            (FieldsSource::Typed(kind, path, ty), id)
        };
        let builtin_field =
            |kind: DeclarationKind, path: &[&str]| (FieldsSource::Unknown, self.find_symbol(kind, path));
        match self.follow_type_name(fields_source) {
            FieldsSource::Typed(kind, mut path, ty) => {
                let field = match &ty.kind {
                    TypeKind::Record(fields) => fields.iter().find(|field| field.name.node == name),
                    TypeKind::Dict(_) => {
                        return (self.fields_of_elements(FieldsSource::Typed(kind, path, ty)), None);
                    }
                    TypeKind::Name(group) => return self.field_of_group(group, name),
                    TypeKind::List(_) | TypeKind::Values(_) => None,
                };
                match field {
                    Some(field) => typed_field(kind, path, &field.ty),
                    // A field of the message is added to the index even if it is undeclared, and so
                    // perhaps misspelt.
                    None if kind == DeclarationKind::Field => {
                        path.push(name);
                        (FieldsSource::Field(path), None)
                    }
                    None => (FieldsSource::Unknown, None),
                }
            }
            FieldsSource::Field(mut path) => {
                path.push(name);
                (FieldsSource::Field(path), None)
            }
            FieldsSource::Payload => {
                let field = self.current_payload.map(|owner| (DeclarationKind::PayloadField, [owner, name]));
                let in_scope = self.scope.iter().find(|(bound_name, ..)| *bound_name == name);
                match (field.and_then(|(kind, path)| self.find_symbol(kind, &path)), in_scope) {
                    (Some(id), Some((.., fields_source))) => (fields_source.clone(), Some(id)),
                    (id, _) => (FieldsSource::Unknown, id),
                }
            }
            FieldsSource::Request if name == "entities" => (FieldsSource::Entities, None),
            FieldsSource::Request if name == "context_score" => builtin_field(DeclarationKind::Let, &[name]),
            FieldsSource::Request => builtin_field(DeclarationKind::Lexicon, &[name]),
            FieldsSource::Entities => builtin_field(DeclarationKind::Entity, &[name]),
            FieldsSource::Message => {
                match self.input_fields.into_iter().flatten().find(|field| field.name.node == name) {
                    Some(field) => typed_field(DeclarationKind::Field, Vec::new(), &field.ty),
                    None if name == DECISION_FIELD => (FieldsSource::RecordedDecision, None),
                    None => (FieldsSource::Unknown, None),
                }
            }
            FieldsSource::History | FieldsSource::RecordedDecision | FieldsSource::Unknown => {
                (FieldsSource::Unknown, None)
            }
        }
    }

    /// Looks up the field `name` of a value whose type is the group called `group`. Returns where
    /// the fields of `name` itself are declared, and the symbol of `name` if there is one.
    fn field_of_group(&self, group: &'a str, name: &'a str) -> (FieldsSource<'a>, Option<SymbolId>) {
        let items = self.groups.get(group).map(|group| group.body.iter()).into_iter().flatten();
        let mut fields = items.filter_map(|item| match &item.kind {
            PayloadItemKind::Field(field) => Some(field),
            _ => None,
        });
        let Some(field) = fields.find(|field| field.name.node == name) else {
            return (FieldsSource::Unknown, None);
        };
        let path = vec![group, name];
        let id = self.find_symbol(DeclarationKind::PayloadField, &path);
        (FieldsSource::Typed(DeclarationKind::PayloadField, path, &field.ty), id)
    }

    /// Returns where the fields of the elements of a list or dict are declared. `fields_source` is
    /// where the fields of the list or dict itself are declared.
    pub(super) fn fields_of_elements(&self, fields_source: FieldsSource<'a>) -> FieldsSource<'a> {
        match self.follow_type_name(fields_source) {
            FieldsSource::Typed(kind, mut path, ty) => match &ty.kind {
                TypeKind::List(Some(inner)) | TypeKind::Dict(Some(inner)) => {
                    path.push(ELEMENT_SEGMENT);
                    FieldsSource::Typed(kind, path, inner)
                }
                _ => FieldsSource::Unknown,
            },
            FieldsSource::Field(mut path) => {
                path.push(ELEMENT_SEGMENT);
                FieldsSource::Field(path)
            }
            FieldsSource::History => FieldsSource::Message,
            _ => FieldsSource::Unknown,
        }
    }

    /// If the fields are declared by a named type, returns the declaration of this type as their
    /// source. Otherwise returns `fields_source` unchanged.
    fn follow_type_name(&self, mut fields_source: FieldsSource<'a>) -> FieldsSource<'a> {
        for _ in 0..MAX_DEFINITION_DEPTH {
            let FieldsSource::Typed(.., TypeExpr { kind: TypeKind::Name(name), .. }) = &fields_source else {
                break;
            };
            let Some((name, ty)) = self.types.get_key_value(name.as_str()) else { break };
            fields_source = FieldsSource::Typed(DeclarationKind::TypeField, vec![name], ty);
        }
        fields_source
    }

    /// Adds symbols for the fields of a type, with paths that start with `path`. The type is a
    /// record, or a list or dict of records.
    pub(super) fn declare_type_fields(&mut self, kind: DeclarationKind, path: &[&str], ty: &'a TypeExpr) {
        match &ty.kind {
            TypeKind::Record(fields) => self.declare_fields(kind, path, fields),
            TypeKind::List(Some(inner)) | TypeKind::Dict(Some(inner)) => {
                self.declare_type_fields(kind, &[path, &[ELEMENT_SEGMENT]].concat(), inner);
            }
            _ => {}
        }
    }

    /// Resolves the names of the path after `given` in a test. The path refers to a field of the
    /// input message.
    pub(super) fn resolve_given_path(&mut self, path: &'a [Ident]) {
        let Some((first, rest)) = path.split_first() else {
            return broken_invariant!("a given path has a name");
        };
        let mut fields_source = self.resolve_message_field(&first.node, first.span);
        for name in rest {
            fields_source = self.resolve_member(fields_source, &name.node, Some(name.span));
        }
    }

    /// Returns the kind and path of the symbol whose declaration contains the fields of a value, if
    /// known. `fields_source` is where the fields are declared.
    pub(super) fn declaration_of_fields(
        &self,
        fields_source: FieldsSource<'a>,
    ) -> Option<(DeclarationKind, Vec<String>)> {
        let (kind, path) = match self.follow_type_name(fields_source) {
            FieldsSource::Typed(.., TypeExpr { kind: TypeKind::Name(group), .. }) => {
                (DeclarationKind::PayloadField, vec![group.as_str()])
            }
            FieldsSource::Typed(kind, path, _) => (kind, path),
            FieldsSource::Field(path) => (DeclarationKind::Field, path),
            FieldsSource::Message => (DeclarationKind::History, Vec::new()),
            _ => return None,
        };
        Some((kind, path.into_iter().map(str::to_owned).collect()))
    }
}
