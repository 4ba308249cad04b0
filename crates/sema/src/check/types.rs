//! Checks declared types: `type` statements, the merged `input` blocks, and the parameters of
//! handlers.

use super::names::OwnedPath;
use super::{
    AlreadyReported, Checked, Checker, DeclaredInput, ExprSize, MAX_CONDITION_DEPTH, MAX_CONDITION_NODES,
};
use crate::hir;
use crate::resolve::{HandlerDecl, Symbol, topological_sort};
use hashbrown::HashMap;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::ty::{Field, InnerType, RecordType, Ty};
use rulec_syntax::ast::{self, StatementKind, TypeExpr, TypeKind};
use std::sync::Arc;

/// Maximum number of fields of an `input` or another record, with named types expanded. The limit
/// bounds memory, because the message reader and the rule analysis store each field.
const MAX_EXPANDED_FIELDS: usize = MAX_CONDITION_NODES as usize;

/// Returns `left` minus the number of fields in a type and in its nested types. `None` if the type
/// has more than `left` fields.
fn subtract_field_count(ty: &Ty, left: usize) -> Option<usize> {
    match &ty.inner {
        InnerType::Unknown | InnerType::Values(_) => Some(left),
        InnerType::Element(element) => subtract_field_count(element, left),
        InnerType::Fields(record) => record.fields.iter().try_fold(left, |left, field| {
            left.checked_sub(1).and_then(|left| subtract_field_count(&field.ty, left))
        }),
    }
}

impl<'a> Checker<'a> {
    /// Resolves every `type` statement. A type is resolved after the types that it mentions.
    pub(super) fn declare_types(&mut self) {
        let symbols: Vec<_> = self.symbols.types.iter().collect();
        let mut uses: Vec<Vec<usize>> = Vec::new();
        // The size of each type. A named type inside it counts as one node at first; the last loop
        // adds the size of the named type.
        let mut sizes: Vec<ExprSize> = Vec::new();
        for symbol in &symbols {
            let mut names = Vec::new();
            sizes.push(collect_type_names(symbol.declaration, &mut names));
            uses.push(names.into_iter().filter_map(|name| self.symbols.types.position(name)).collect());
        }
        let (order, cycles) = topological_sort(&uses);
        for cycle in cycles {
            let names: Vec<&str> =
                cycle.iter().chain(cycle.first()).map(|index| symbols[*index].name.node.as_str()).collect();
            let first_name = symbols[cycle[0]].name;
            let message = message!("the type `{}` contains itself", first_name.node);
            self.diagnostics.push(
                Diagnostic::new(Code::DefinitionCycle, first_name.span, message)
                    .here(message!("part of the cycle"))
                    .help(message!(
                        "the cycle is {}; replace one of these types with `any`",
                        names.join(" → ")
                    )),
            );
            for member in cycle {
                self.types.insert(&symbols[member].name.node, None);
            }
        }
        for index in order {
            let (node, name) = (symbols[index].declaration, symbols[index].name);
            let (own_size, used) = (sizes[index], uses[index].iter().map(|used| sizes[*used]));
            sizes[index] = used.fold(own_size, |sum, used| ExprSize {
                node_count: sum.node_count.saturating_add(used.node_count),
                depth: sum.depth.max(own_size.depth.saturating_add(used.depth)),
            });
            let ExprSize { node_count: nodes, depth } = sizes[index];
            let ty = match nodes <= MAX_CONDITION_NODES && depth <= MAX_CONDITION_DEPTH {
                true => self.resolve_type(node).ok(),
                false => {
                    // The size becomes zero, so that no type that contains this type is reported as
                    // too large too.
                    sizes[index] = ExprSize::default();
                    self.report_too_large(name.span, nodes > MAX_CONDITION_NODES).ok()
                }
            };
            self.types.insert(&name.node, ty);
        }
    }

    pub(super) fn resolve_type(&mut self, type_expr: &TypeExpr) -> Checked<Ty> {
        match &type_expr.kind {
            TypeKind::Name(name) => {
                if let Some(ty) = Ty::from_builtin_name(name) {
                    return Ok(ty);
                }
                let symbols = self.symbols;
                let is_visible =
                    |symbol: &&Symbol<'_, _>| symbols.is_visible(type_expr.span.file, symbol.name.span);
                if symbols.types.get(name).filter(is_visible).is_some()
                    && let Some(ty) = self.types.get(name.as_str())
                {
                    return ty.clone().ok_or(AlreadyReported);
                }
                if is_bool_literal(name) {
                    let diagnostic = constant_as_type_error(name, type_expr.span);
                    return self.report(diagnostic.likely_fix(type_expr.span, "bool"));
                }
                if let Some(help) = help_for_other_type(name) {
                    let message = message!("there is no type `{name}`");
                    let diagnostic = Diagnostic::new(Code::UnknownType, type_expr.span, message).help(help);
                    return self.report_unknown(name, diagnostic);
                }
                let suggestion = Ty::builtin_for_foreign_name(name)
                    .or_else(|| self.nearest(name, symbols.types.names().chain(Ty::BUILTIN_NAMES)));
                let built_in = Ty::BUILTIN_NAMES.join(", ");
                let diagnostic =
                    Diagnostic::new(Code::UnknownType, type_expr.span, message!("there is no type `{name}`"))
                        .help(message!(
                            "the built-in types are {built_in}; `type {name} = …` declares another"
                        ))
                        .did_you_mean(type_expr.span, suggestion);
                self.report_unknown(name, diagnostic)
            }
            TypeKind::List(element) => Ok(Ty::list(self.resolve_element_type(element.as_deref())?)),
            TypeKind::Dict(element) => Ok(Ty::dict(self.resolve_element_type(element.as_deref())?)),
            TypeKind::Record(fields) => match self.report_json_schema(fields, type_expr.span) {
                Some(ty) => Ok(ty),
                None => Ok(Ty::record(self.resolve_record(fields))),
            },
            TypeKind::Values(values) => self.resolve_enumeration(values).map(Ty::enumeration),
        }
    }

    fn resolve_element_type(&mut self, element: Option<&TypeExpr>) -> Checked<Ty> {
        element.map_or(Ok(Ty::ANY), |element| self.resolve_type(element))
    }

    /// Resolves the types of the fields of a record type, an `input` block or a parameter list. A
    /// field with an error is reported once, and then has the type `any`.
    pub(super) fn resolve_record(&mut self, fields: &[ast::Field]) -> RecordType {
        let mut record = RecordType::default();
        let mut left = MAX_EXPANDED_FIELDS;
        for field in self.without_duplicates(message!("field"), fields, |field| &field.name) {
            let exchanged = self.name_in_type_position(field);
            let ty = match (exchanged, &field.ty.kind) {
                (Some(name), _) => Ok(self.report_exchanged_name(field, name)),
                (None, TypeKind::Name(name))
                    if is_bool_literal(name) && is_schema_keyword(&field.name.node) =>
                {
                    self.report(constant_as_type_error(name, field.ty.span))
                }
                _ => self.resolve_type(&field.ty),
            };
            let ty = ty.unwrap_or(Ty::ANY);
            let name = exchanged.unwrap_or(field.name.node.as_str());
            let Some(rest) = left.checked_sub(1).and_then(|left| subtract_field_count(&ty, left)) else {
                let message = message!(
                    "with its types expanded, this record has more than {MAX_EXPANDED_FIELDS} fields"
                );
                let diagnostic = Diagnostic::new(Code::ExpansionTooLarge, field.ty.span, message)
                    .here(message!("the limit is exceeded here"))
                    .help(message!(
                        "types that contain each other several times grow quickly; use `any` or `dict` for \
                        parts that no rule reads"
                    ));
                self.diagnostics.push(diagnostic);
                // The rest of the record is left out, so that the error is reported once.
                break;
            };
            left = rest;
            record.push(Field {
                name: name.into(),
                ty,
                is_optional: field.optional,
                is_private: field.private,
            });
        }
        record
    }

    /// Returns the name of a field that is written after its type, as in `string: title`. `None` if
    /// the field is probably written in the right order.
    fn name_in_type_position<'f>(&self, field: &'f ast::Field) -> Option<&'f str> {
        let TypeKind::Name(name) = &field.ty.kind else { return None };
        let first = field.name.node.as_str();
        // `text` is a type of other languages, but also a usual name.
        let is_type = Ty::BUILTIN_NAMES.contains(&first)
            || matches!(
                first,
                "str" | "integer" | "boolean" | "varchar" | "double" | "bigint" | "i32" | "i64"
            );
        // Most fields end here, so that a record costs no search of all types for each field.
        if !is_type || is_bool_literal(name) {
            return None;
        }
        let is_known = Ty::from_builtin_name(name).is_some()
            || self.symbols.types.names().any(|known| known == name)
            || self.symbols.is_name_broken(name);
        let is_near = self.nearest(name, self.symbols.types.names().chain(Ty::BUILTIN_NAMES)).is_some();
        (!is_known && !is_near).then_some(name)
    }

    /// Reports a field whose type is written before its name, as in `string: title`. `name` is the
    /// name of the field. Returns its type.
    fn report_exchanged_name(&mut self, field: &ast::Field, name: &str) -> Ty {
        let first = field.name.node.as_str();
        let ty = Ty::builtin_for_type_name(first).unwrap_or(first);
        let written = format!("{name}{}: {ty}", if field.optional { "?" } else { "" });
        let span = field.name.span.to(field.ty.span);
        let message = message!("the name of a field comes before its type");
        let diagnostic = Diagnostic::new(Code::UnknownType, span, message);
        self.diagnostics.push(diagnostic.help(message!("write `{written}`")).likely_fix(span, written));
        Ty::from_builtin_name(ty).unwrap_or(Ty::ANY)
    }

    /// Merges the `input` blocks of all files into one record type for messages.
    pub(super) fn declare_input(&mut self) {
        // A route that is checked alone already has the input of its program.
        if !self.fields.infers_types() {
            return;
        }
        let mut input = None;
        let mut field_spans = FieldSpans::new();
        for statement in self.statements() {
            let StatementKind::Input { fields } = &statement.kind else { continue };
            let mut block_spans = FieldSpans::new();
            collect_field_spans(fields, &mut Vec::new(), &mut block_spans);
            let record = self.resolve_record(fields);
            let merged = input.get_or_insert_with(RecordType::default);
            self.merge_inputs(merged, &record, &mut Vec::new(), [&field_spans, &block_spans]);
            for (path, span) in block_spans {
                field_spans.entry(path).or_insert(span);
            }
        }
        if let Some(record) = &input {
            self.fields.input = Some(Arc::new(DeclaredInput { ty: Ty::record(record.clone()), field_spans }));
        }
        self.program.input = input;
    }

    fn merge_inputs(
        &mut self,
        merged: &mut RecordType,
        added: &RecordType,
        path: &mut OwnedPath,
        span_maps: [&FieldSpans; 2],
    ) {
        for field in &added.fields {
            let Some(known) = merged.position(&field.name) else {
                merged.push(field.clone());
                continue;
            };
            let known = &mut merged.fields[known];
            path.push(field.name.clone());
            let equally_optional = known.is_optional == field.is_optional;
            if equally_optional && known.ty == field.ty {
                known.is_private |= field.is_private;
            } else if equally_optional
                && let (InnerType::Fields(inner), InnerType::Fields(other)) =
                    (&mut known.ty.inner, &field.ty.inner)
            {
                self.merge_inputs(Arc::make_mut(inner), other, path, span_maps);
                known.is_private |= field.is_private;
            } else if let [Some(first), Some(second)] = span_maps.map(|span_maps| span_maps.get(path)) {
                let declared = |field: &Field| {
                    if field.is_optional { message!("optional {}", field.ty) } else { field.ty.to_message() }
                };
                let (name, known, field) = (path.join("."), declared(known), declared(field));
                let message = message!("the input `{name}` is declared as {known} and as {field}");
                self.diagnostics.push(
                    Diagnostic::new(Code::InputConflict, *second, message)
                        .here(message!("declared differently here"))
                        .label(*first, message!("first declared here"))
                        .help(message!("`input` blocks are merged, so both declarations must be the same")),
                );
            }
            path.pop();
        }
    }

    pub(super) fn declare_handlers(&mut self) {
        if self.symbols.handlers.is_empty() {
            return;
        }
        let mut handlers = Vec::new();
        for symbol in self.symbols.handlers.iter() {
            let HandlerDecl { params, required_permissions: requires, docs } = symbol.declaration;
            let (name, params) = (symbol.name.node.as_str().into(), Arc::new(self.resolve_record(params)));
            let (requires, docs) = (self.collect_permissions(requires), docs.into());
            handlers.push(hir::Handler {
                name,
                params,
                required_permissions: requires,
                span: symbol.name.span,
                docs,
            });
        }
        self.program.handlers = Some(handlers);
    }

    /// Returns the permissions that a handler requires, without duplicates.
    fn collect_permissions(&mut self, requires: &[Spanned<String>]) -> Vec<Arc<str>> {
        let mut permissions: Vec<Arc<str>> = Vec::with_capacity(requires.len());
        for Spanned { node: permission, span } in requires {
            self.warn_blanks_in_text(None, permission, *span);
            if permission.trim().is_empty() {
                let message = message!("a permission without a name can never be granted");
                let help = message!(
                    "name the permission that the caller must have: `requires permission \"execute\"`"
                );
                self.emit(Code::BlankPermission, *span, message, help);
            } else if !permissions.iter().any(|known| **known == **permission) {
                permissions.push(permission.as_str().into());
            }
        }
        permissions
    }
}

/// Collects the names of the types that `type_expr` mentions. Returns the size of `type_expr`, in
/// which each such name counts as one node.
fn collect_type_names<'t>(type_expr: &'t TypeExpr, names: &mut Vec<&'t str>) -> ExprSize {
    let inner = match &type_expr.kind {
        TypeKind::Name(name) => {
            names.push(name);
            ExprSize::default()
        }
        TypeKind::List(inner) | TypeKind::Dict(inner) => {
            inner.as_ref().map_or(ExprSize::default(), |inner| collect_type_names(inner, names))
        }
        TypeKind::Values(_) => ExprSize::default(),
        TypeKind::Record(fields) => fields.iter().fold(ExprSize::default(), |sum, field| {
            let field_size = collect_type_names(&field.ty, names);
            ExprSize {
                node_count: sum.node_count + field_size.node_count,
                depth: sum.depth.max(field_size.depth),
            }
        }),
    };
    ExprSize { node_count: inner.node_count + 1, depth: inner.depth + 1 }
}

/// The span of each declared field, by the path of the field.
pub(super) type FieldSpans = HashMap<OwnedPath, Span>;

fn collect_field_spans(fields: &[ast::Field], path: &mut OwnedPath, spans: &mut FieldSpans) {
    for field in fields {
        path.push(field.name.node.as_str().into());
        spans.insert(path.clone(), field.name.span.to(field.ty.span));
        if let TypeKind::Record(inner) = &field.ty.kind {
            collect_field_spans(inner, path, spans);
        }
        path.pop();
    }
}

/// True for the constants `true` and `false`, which authors sometimes write in place of a type.
fn is_bool_literal(name: &str) -> bool {
    matches!(name, "true" | "false")
}

/// True for a keyword by which JSON Schema restricts a whole record, such as
/// `additionalProperties`. Such a keyword is not the name of a field.
fn is_schema_keyword(name: &str) -> bool {
    matches!(
        name,
        "additionalProperties"
            | "unevaluatedProperties"
            | "patternProperties"
            | "additionalItems"
            | "uniqueItems"
            | "required"
            | "nullable"
            | "readOnly"
            | "writeOnly"
            | "deprecated"
    )
}

/// Creates the diagnostic for a constant in place of a type.
fn constant_as_type_error(name: &str, span: Span) -> Diagnostic {
    let message = message!("`{name}` is not a type");
    let help = message!(
        "for a field write `bool`; remove a setting of a schema, such as `additionalProperties`: fields that \
        are not declared are ignored"
    );
    Diagnostic::new(Code::UnknownType, span, message).help(help)
}

/// Returns the help text for the name of a type that other languages have and this language lacks,
/// such as `duration`. `None` for other names.
fn help_for_other_type(name: &str) -> Option<Message> {
    Some(match name.to_lowercase().replace('_', "").as_str() {
        "duration" | "timedelta" | "interval" | "timespan" => {
            message!("a duration is a number of seconds, as `5min` is 300: write `float`, or `int`")
        }
        "percent" | "percentage" | "ratio" => {
            message!("a share is a number: write `float`, and `0.5` for one half")
        }
        "bytes" | "size" | "filesize" => message!("a size is a number of bytes: write `int`"),
        "ip" | "ipaddr" | "ipaddress" | "inet" | "cidr" | "network" | "url" | "uri" | "email" | "uuid"
        | "guid" | "version" | "semver" | "regex" | "regexp" | "hostname" | "path" => {
            message!("it is written as a text: write `string`")
        }
        "enum" | "choice" | "oneof" => {
            message!("the values of an enumeration are the type: write `\"a\" | \"b\"`")
        }
        "date" | "day" | "localdate" => message!(
            "write `datetime` for a time such as \"2026-01-31T09:00:00Z\", or `string` for a day such as \
            \"2026-01-31\", and compare either by `date(x)`"
        ),
        "time" | "timeofday" | "localtime" => message!(
            "write `datetime` for a time such as \"2026-01-31T09:00:00Z\", or `string` for a time of day such \
            as \"09:30\", and compare either by `time(x)`"
        ),
        "void" | "unit" => message!("every function has a result: write the type of its value"),
        _ => return None,
    })
}
