//! Resolves the names in expressions and types, so that the index knows each use of a name.

use super::fields_source::FieldsSource;
use super::{DeclarationKind, ListLiteral, SymbolIndexBuilder};
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_syntax::ast::{Arg, Expr, ExprKind, Field, Ident, Literal, QuantifierKind, TypeExpr, TypeKind};

impl<'a> SymbolIndexBuilder<'a> {
    pub(super) fn resolve_exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.resolve_expr(expr));
    }

    /// Resolves the names in the values of record entries. The keys of the entries are not names.
    pub(super) fn resolve_entries(&mut self, entries: &'a [(Ident, Expr)]) {
        self.resolve_exprs(entries.iter().map(|(_, value)| value));
    }

    pub(super) fn resolve_expr(&mut self, expr: &'a Expr) {
        use ExprKind::{Binary, Call, If, Logic, Presence, Unary};
        if matches!(expr.kind, Binary(_) | Call(..) | If(_) | Logic(..) | Presence { .. } | Unary(..)) {
            self.index.expression_spans.insert(expr.span);
        }
        match &expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..) => drop(self.resolve_path(expr)),
            ExprKind::List(items) => {
                self.add_list(expr.span, items, None);
                self.resolve_exprs(items);
            }
            ExprKind::Logic(_, items) | ExprKind::Block(_, items) => self.resolve_exprs(items),
            ExprKind::If(parts) => self.resolve_exprs(parts.iter()),
            ExprKind::Record(entries) => self.resolve_entries(entries),
            ExprKind::Call(name, args) => self.resolve_call(name, args),
            ExprKind::Unary(_, inner) | ExprKind::Presence { operand: inner, .. } => self.resolve_expr(inner),
            ExprKind::Binary(binary) => {
                self.resolve_expr(&binary.left);
                match &binary.right.kind {
                    ExprKind::List(items) => {
                        self.add_list(binary.right.span, items, name_of_field(&binary.left));
                        self.resolve_exprs(items);
                    }
                    _ => self.resolve_expr(&binary.right),
                }
            }
            ExprKind::As(inner, ty) => {
                self.resolve_expr(inner);
                self.resolve_type_names(ty);
            }
            ExprKind::Range { start, end, .. } => self.resolve_exprs([&**start, &**end]),
            ExprKind::Quantifier { .. } | ExprKind::HistoryPart(_) => drop(self.resolve_computed(expr)),
        }
    }

    /// Adds a list to the index if it has only constants and lies in a condition. `field` is the
    /// name of the field that is compared with the list.
    fn add_list(&mut self, span: Span, items: &[Expr], field: Option<&str>) {
        let literal = |item: &Expr| match &item.kind {
            ExprKind::Literal(literal) => Some(literal.clone()),
            _ => None,
        };
        let elements: Option<Vec<Literal>> = items.iter().map(literal).collect();
        if let Some(elements) = elements.filter(|elements| self.is_in_condition && !elements.is_empty()) {
            let field = field.map(str::to_owned);
            self.index.lists.push(ListLiteral { span, elements, compared_field: field });
        }
    }

    /// Resolves the names in an expression that is a condition, or the value of a definition.
    pub(super) fn resolve_condition(&mut self, expr: &'a Expr) {
        let outer = std::mem::replace(&mut self.is_in_condition, true);
        self.resolve_expr(expr);
        self.is_in_condition = outer;
    }

    /// Resolves the names in an expression that is no path. Returns where the fields of its value
    /// are declared.
    pub(super) fn resolve_computed(&mut self, expr: &'a Expr) -> FieldsSource<'a> {
        match &expr.kind {
            ExprKind::Quantifier { kind, var, list, body } => {
                let list_source = self.resolve_value(list);
                let fields_source = self.fields_of_elements(list_source);
                self.declare_and_bind(DeclarationKind::Local, var, expr.span, fields_source.clone());
                if let QuantifierKind::Sum(value) = kind {
                    self.resolve_expr(value);
                }
                self.resolve_expr(body);
                self.scope.pop();
                match kind {
                    QuantifierKind::First | QuantifierKind::Last => fields_source,
                    _ => FieldsSource::Unknown,
                }
            }
            ExprKind::HistoryPart(part) => {
                self.resolve_exprs(
                    [&part.max_age, &part.after_message, &part.before_message].into_iter().flatten(),
                );
                FieldsSource::History
            }
            _ => {
                self.resolve_expr(expr);
                FieldsSource::Unknown
            }
        }
    }

    /// Resolves the names in an expression. Returns where the fields of its value are declared.
    pub(super) fn resolve_value(&mut self, expr: &'a Expr) -> FieldsSource<'a> {
        match &expr.kind {
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..) => self.resolve_path(expr),
            _ => self.resolve_computed(expr),
        }
    }

    fn resolve_call(&mut self, name: &'a Ident, args: &'a [Arg]) {
        if Function::from_name(&name.node).is_none() {
            self.add_use_of_name(DeclarationKind::Def, name);
            for param in args.iter().filter_map(|arg| arg.name.as_ref()) {
                let id = self.find_or_add_symbol(DeclarationKind::Parameter, &[&name.node, &param.node]);
                self.add_use(id, param.span);
            }
        }
        self.resolve_exprs(args.iter().map(|arg| &arg.value));
    }

    pub(super) fn resolve_type_names(&mut self, ty: &'a TypeExpr) {
        match &ty.kind {
            TypeKind::Name(name) => {
                let id = self
                    .find_symbol(DeclarationKind::Type, &[name])
                    .or_else(|| self.find_symbol(DeclarationKind::Group, &[name]));
                if let Some(id) = id {
                    self.add_use(id, ty.span);
                }
            }
            TypeKind::List(inner) | TypeKind::Dict(inner) => {
                if let Some(inner) = inner {
                    self.resolve_type_names(inner);
                }
            }
            TypeKind::Record(fields) => self.resolve_field_types(fields),
            TypeKind::Values(_) => {}
        }
    }

    /// Resolves the type names in the declared types of fields. Does not add the fields themselves.
    pub(super) fn resolve_field_types(&mut self, fields: &'a [Field]) {
        fields.iter().for_each(|field| self.resolve_type_names(&field.ty));
    }

    /// Declares the fields of a record and of its nested records. `path` is the path of the record.
    pub(super) fn declare_fields(&mut self, kind: DeclarationKind, path: &[&str], fields: &'a [Field]) {
        for field in fields {
            let path = [path, &[&field.name.node]].concat();
            self.declare_symbol(kind, &path, field.name.span, field.name.span.to(field.ty.span), "");
            self.declare_type_fields(kind, &path, &field.ty);
        }
    }
}

/// Returns the name of the field that an expression reads; `None` for any other expression.
fn name_of_field(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Field(_, name) => Some(&name.node),
        _ => None,
    }
}
