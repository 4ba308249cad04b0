//! Checks paths into the message and into other values: `a.b`, `a["b"]`, `a[0]`, `a as T`.

use super::constant::json_of_constant;
use super::fields::{NarrowingReason, PathError, ResolvedField, field_of_type, function_for_property};
use super::read::{UNDECLARED_KINDS, readable_kinds, union_of_kinds, wrap_in_typed_read};
use super::{AlreadyReported, Checked, Checker, join_names};
use crate::hir::{Expr, ExprKind, SlotId};
use rulec_base::diag::{Code, Diagnostic, Message, has_one_near_candidate};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::ty::{InnerType, KindSet, RecordType, Ty};
use rulec_syntax::ast::{self, Ident, Literal};
use serde_json::Value as Json;
use smallvec::SmallVec;

/// Names by which authors often call the output of a workflow node.
const OUTPUT_NAMES: &[&str] =
    &["result", "results", "output", "outputs", "response", "resp", "res", "out", "ret", "answer", "value"];

/// The constant names of a path into the message, outermost first: `ctx`, `user` for `ctx.user`.
pub(super) type PathNames<'a> = SmallVec<[&'a str; 4]>;

impl<'a> Checker<'a> {
    /// Checks `a.b`, `a["b"]` or `a[0]`. A path of constant names into the message becomes one slot
    /// (a field that the program reads).
    pub(super) fn check_path(&mut self, expr: &'a ast::Expr) -> Checked<Expr> {
        if let Some(path) = self.as_constant_path(expr) {
            return self.check_message_path(&path, expr.span);
        }
        match &expr.kind {
            ast::ExprKind::Field(base, name) => {
                let base = self.check_value(base)?;
                self.check_field(base, name, expr.span)
            }
            ast::ExprKind::Index(base, index) => {
                let (base, index) = (self.check_value(base)?, self.check_value(index)?);
                self.check_index(base, index, expr.span)
            }
            _ => self.check_value(expr),
        }
    }

    /// Returns the path if the expression is a path into the message with constant names only,
    /// otherwise `None`.
    fn as_constant_path(&self, expr: &'a ast::Expr) -> Option<ConstantPath<'a>> {
        let mut path = ConstantPath::default();
        let mut current = expr;
        loop {
            current = match &current.kind {
                ast::ExprKind::Field(base, name) => {
                    path.push_segment(&name.node, name.span, true);
                    base
                }
                ast::ExprKind::Index(base, index) => {
                    let ast::ExprKind::Literal(Literal::String(key)) = &index.kind else { return None };
                    path.push_segment(key, index.span, false);
                    base
                }
                ast::ExprKind::Name(name) => {
                    if self.scope.get(name).is_some()
                        || self.is_history_name(name)
                        || self.symbols.definition(current.span.file, name).is_some()
                    {
                        return None;
                    }
                    let alias = self.output_alias.filter(|(alias_name, _)| alias_name == name);
                    path.push_segment(alias.map_or(name, |(_, field)| field), current.span, true);
                    path.names.reverse();
                    path.segment_spans.reverse();
                    return Some(path);
                }
                _ => return None,
            };
        }
    }

    pub(super) fn check_message_path(&mut self, path: &ConstantPath<'a>, span: Span) -> Checked<Expr> {
        if self.is_request_path(path) {
            return self.check_request_path(path, span);
        }
        let names = path.names.as_slice();
        // The result depends only on the names, so it is cached, if no type is being inferred and
        // no field is implicitly readable.
        let is_cacheable = !self.fields.is_narrowing_pass() && self.fields.implicit_field.is_none();
        if let Some((slot, ty, optional)) = self.cached_reads.get(names).filter(|_| is_cacheable) {
            return Ok(Expr { kind: ExprKind::Slot(*slot), ty: ty.clone(), may_be_missing: *optional, span });
        }
        let is_declared_root =
            self.fields.declared_root_fields().is_some_and(|roots| roots.get(names[0]).is_some());
        let is_broken = self.symbols.is_name_broken(names[0]) || self.is_name_of_faulty_history(names[0]);
        if is_broken && !is_declared_root {
            return Err(AlreadyReported);
        }
        let hidden_definition = self.symbols.definitions.get(names[0]).map(|symbol| symbol.name.span);
        if let (Some(hidden_definition), false) = (hidden_definition, is_declared_root) {
            let message = message!("`{}` is not declared in this file or its imports", names[0]);
            return self.report(
                Diagnostic::new(Code::UnknownName, path.segment_spans[0].0, message)
                    .label(hidden_definition, message!("declared in a file that is not imported here"))
                    .help(message!("import that file, or move the definition into a file that both import")),
            );
        }
        match self.fields.resolve_path(names, span) {
            Ok(field) => {
                self.fields.record_use(names, UNDECLARED_KINDS);
                match names.len() {
                    _ if !self.fields.infers_types() => {}
                    _ if self.warn_foreign_day(path) || names.len() > 1 && self.warn_module_prefix(path) => {}
                    1 => self.warn_near_name(names[0], span),
                    _ if self.fields.is_first_check_of_name(names[0]) => {
                        let span = path.segment_spans[0].0;
                        let _ = self.warn_near_implicit_name(names[0], span)
                            || self.warn_near_local(names[0], span);
                    }
                    _ => {}
                }
                match self.output_alias {
                    Some((_, field)) if names[0] == field => self.reads_output = true,
                    Some((param, _)) if names.len() > 1 => {
                        self.warn_possible_output_name(param, path.segment_spans[0].0);
                    }
                    _ => {}
                }
                self.warn_foreign_property(path, span);
                let ResolvedField { ty, is_optional: optional, is_private: private } = field;
                let slot = self.fields.intern_slot(None, names, ty.kinds, private);
                if is_cacheable {
                    self.cached_reads.insert(path.names.clone(), (slot, ty.clone(), optional));
                }
                Ok(Expr { kind: ExprKind::Slot(slot), ty, may_be_missing: optional, span })
            }
            Err(PathError::UnknownField { at: 0, record }) => self.report_unknown_path_root(path, &record),
            Err(PathError::UnknownField { at, record }) => {
                let message = message!("`{}` has no field `{}`", names[..at].join("."), names[at]);
                let declared_span = self.fields.declaration_span(&names[..at]);
                self.report_unknown_field(message, names[at], &record, declared_span, path.segment_spans[at])
            }
            Err(PathError::NoFields { at, ty }) => {
                let parent = names[..at].join(".");
                let message =
                    message!("`{parent}` is {} and has no field `{}`", ty.with_article(), names[at]);
                let mut diagnostic = Diagnostic::new(Code::UnknownField, path.segment_spans[at].0, message)
                    .label_declaration(self.fields.declaration_span(&names[..at]));
                if let Some(written) = call_for_property(names[at], &parent, &ty) {
                    diagnostic = diagnostic.help(message!("write `{written}`"));
                } else if ty.kinds == KindSet::LIST {
                    diagnostic = diagnostic.help(match ty.element().fields() {
                        Some(_) => message!("test its elements: `any x in {parent}: x.{} …`", names[at]),
                        None => message!(
                            "test for an element with `{parent} contains …`, or read one by \
                            its index, as in `{parent}[0]`"
                        ),
                    });
                } else {
                    diagnostic = diagnostic.help(help_for_no_fields(&parent, &ty, true));
                }
                self.report(diagnostic)
            }
        }
    }

    fn report_unknown_field<T>(
        &mut self,
        message: Message,
        name: &str,
        record: &RecordType,
        declared: Option<Span>,
        (name_span, is_plain_name): (Span, bool),
    ) -> Checked<T> {
        let diagnostic = Diagnostic::new(Code::UnknownField, name_span, message).label_declaration(declared);
        let hyphenated = self.hyphen_help(name_span).filter(|_| is_plain_name);
        if let Some((help, span, name)) = hyphenated {
            return self.report(diagnostic.help(help).likely_fix(span, name));
        }
        self.report(match self.nearest(name, record.names()) {
            Some(near) if is_plain_name => {
                let is_certain = has_one_near_candidate(name, record.names());
                diagnostic.did_you_mean(name_span, Some(near)).mark_fixes_certain_if(is_certain)
            }
            Some(near) => diagnostic.help(message!("did you mean \"{near}\"?")),
            None => diagnostic.help(message!("its fields are {}", join_names(record.names()))),
        })
    }

    /// Warns about a name such as `result` in a router, which probably means the parameter of the
    /// router (the output of a node). The warning is dropped if the router reads its parameter too.
    fn warn_possible_output_name(&mut self, param: &str, span: Span) {
        let name = self.loaded.sources.slice(span);
        if !OUTPUT_NAMES.contains(&name) || name == param || !self.fields.infers_types() {
            return;
        }
        let message =
            message!("`{name}` is read as a field of the message, but the output of the node is `{param}`");
        let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message);
        self.other_output_warnings.push(diagnostic.did_you_mean(span, Some(param)));
    }

    /// Checks a field of a value that is not a message path, such as a quantifier's element.
    pub(super) fn check_field(&mut self, base: Expr, name: &Ident, span: Span) -> Checked<Expr> {
        let ResolvedField { ty, is_optional: optional, .. } = match field_of_type(&base.ty, &name.node) {
            Ok(field) => field,
            Err(Some(record)) => {
                let message = message!("there is no field `{}` here", name.node);
                return self.report_unknown_field(message, &name.node, &record, None, (name.span, true));
            }
            Err(None) => {
                let message = message!("{} has no field `{}`", base.ty.with_article(), name.node);
                let parent = self.loaded.sources.slice(base.span);
                let help = match call_for_property(&name.node, parent, &base.ty) {
                    Some(written) => message!("write `{written}`"),
                    None => help_for_no_fields(parent, &base.ty, false),
                };
                let diagnostic = Diagnostic::new(Code::UnknownField, span, message).help(help);
                return self.report_with_type_origin(diagnostic, &base);
            }
        };
        self.narrow_field(&base, KindSet::DICT, &NarrowingReason::for_field(&name.node));
        let optional = base.may_be_missing || optional;
        Ok(Expr { may_be_missing: optional, ..self.build_field_read(&base, &name.node, ty, span) })
    }

    /// Builds an expression that reads the field `name` of the value of `base` as the type `ty`.
    pub(super) fn build_field_read(&mut self, base: &Expr, name: &str, ty: Ty, span: Span) -> Expr {
        if let Some(slot) = self.slot_of_member(base, name, &ty) {
            return Expr { kind: ExprKind::Slot(slot), ty, may_be_missing: true, span };
        }
        let kind = ExprKind::Field(Box::new(base.clone()), name.into());
        read_as_declared(Expr { kind, ty: Ty::ANY, may_be_missing: true, span }, ty)
    }

    /// Builds an expression that reads the same field as the slot `id`, but converts it to the type
    /// `wanted_type`. `value` is the existing read of the slot, which shows whether the result may
    /// be missing.
    fn read_slot_as(&mut self, id: SlotId, wanted_type: Ty, value: &Expr, span: Span) -> Expr {
        let slot = self.fields.slot(id).clone();
        let slot =
            self.fields.intern_slot(slot.root.as_ref(), &slot.path, wanted_type.kinds, slot.is_private);
        let optional = value.may_be_missing || !value.ty.kinds.is_subset_of(wanted_type.kinds);
        Expr { kind: ExprKind::Slot(slot), ty: wanted_type, may_be_missing: optional, span }
    }

    /// If `base` reads a slot of a named value in payload rules, returns a slot for the field `key`
    /// inside this slot. Otherwise returns `None`. A read of one slot is faster than a read of a
    /// slot and then of a field.
    fn slot_of_member(&mut self, base: &Expr, key: &str, ty: &Ty) -> Option<SlotId> {
        let ExprKind::Slot(id) = base.kind else { return None };
        let slot = self.fields.slot(id);
        let root = slot.root.clone()?;
        let (mut path, mut private) = (slot.path.clone(), slot.is_private);
        private |= base.ty.fields().and_then(|record| record.get(key)).is_some_and(|field| field.is_private);
        path.push(key.into());
        Some(self.fields.intern_slot(Some(&root), &path, ty.kinds, private))
    }

    /// Checks and lowers an index: an element `list[i]` or an entry `dict[key]`.
    fn check_index(&mut self, base: Expr, index: Expr, span: Span) -> Checked<Expr> {
        let forms = [(KindSet::LIST, KindSet::INT), (KindSet::DICT, KindSet::STRING)];
        let fitting = forms
            .into_iter()
            .filter(|(container, key)| base.ty.kinds.overlaps(*container) && index.ty.kinds.overlaps(*key));
        let (containers, keys): (Vec<_>, Vec<_>) = fitting.unzip();
        if containers.is_empty() {
            let message =
                message!("{} cannot be indexed by {}", base.ty.with_article(), index.ty.with_article());
            let diagnostic = Diagnostic::new(Code::OperatorType, span, message)
                .label(index.span, index.ty.to_message())
                .help(message!("a list is indexed by an int, a dict by a string"));
            let diagnostic = self.with_character_help(diagnostic, &base, &index, span);
            return self.report_with_type_origin(diagnostic, &base);
        }
        self.narrow_field(
            &base,
            union_of_kinds(containers.into_iter()),
            &NarrowingReason::Fixed(message!("an indexed value")),
        );
        self.narrow_field(
            &index,
            union_of_kinds(keys.into_iter()),
            &NarrowingReason::Fixed(message!("an index")),
        );
        let ty = match &base.ty.inner {
            InnerType::Element(element) => (**element).clone(),
            InnerType::Fields(_) | InnerType::Values(_) | InnerType::Unknown => Ty::ANY,
        };
        if let Some(key) = json_of_constant(&index).and_then(Json::as_str)
            && let Some(slot) = self.slot_of_member(&base, key, &ty)
        {
            return Ok(Expr { kind: ExprKind::Slot(slot), ty, may_be_missing: true, span });
        }
        self.warn_index_from_end(&base, &index, span);
        let kind = ExprKind::Index(Box::new(base), Box::new(index));
        Ok(read_as_declared(Expr { kind, ty: Ty::ANY, may_be_missing: true, span }, ty))
    }

    /// Checks `x as T`: a value of another type than `T` counts as missing. Such a read does not
    /// depend on the field's inferred type, and does not narrow the inferred type.
    pub(super) fn check_typed_read(
        &mut self,
        operand: &'a ast::Expr,
        ty: &'a ast::TypeExpr,
        span: Span,
    ) -> Checked<Expr> {
        let wanted = self.resolve_type_without_enumerations(ty)?;
        let undeclared = self
            .as_constant_path(operand)
            .filter(|path| self.fields.infers_types() && !self.is_request_path(path));
        let read_typed = |value: Expr, ty: Ty| Expr {
            kind: ExprKind::Read(Box::new(value), ty.kinds),
            ty,
            may_be_missing: true,
            span,
        };
        if let Some(path) = undeclared {
            let (root, root_span) = (path.names[0], path.segment_spans[0].0);
            if self.is_in_choice && self.fields.is_first_check_of_name(root) {
                self.warn_near_implicit_name(root, root_span);
            }
            // `resolve_path` also records that the parents of the path are records.
            let private =
                matches!(self.fields.resolve_path(&path.names, operand.span), Ok(field) if field.is_private);
            let slot = self.fields.intern_slot(None, &path.names, wanted.kinds, private);
            let value = Expr { kind: ExprKind::Slot(slot), ty: wanted.clone(), may_be_missing: true, span };
            // The typed read (`as`) is kept around the field, so that other uses of the field
            // cannot narrow the type that the author wrote.
            return Ok(read_typed(value, wanted));
        }
        let value = self.check_value(operand)?;
        if !value.ty.kinds.overlaps(readable_kinds(wanted.kinds)) {
            let message = message!("{} can never be read as {wanted}", value.ty.with_article());
            let diagnostic =
                Diagnostic::new(Code::OperatorType, span, message).label(ty.span, message!("this type"));
            return self.report_with_type_origin(diagnostic, &value);
        }
        Ok(match value.kind {
            // If the operand reads a field directly, another slot reads this field as the
            // wanted type. A payload field may be read as its actual kind instead of its declared
            // type.
            ExprKind::Slot(id)
                if wanted.kinds.is_subset_of(value.ty.kinds)
                    || (value.ty.kinds == KindSet::STRING && wanted.kinds == KindSet::DATETIME)
                    || wanted.kinds == KindSet::DECIMAL
                    || self.fields.slot(id).root.is_some() =>
            {
                self.read_slot_as(id, wanted, &value, span)
            }
            _ if value.ty.kinds.is_subset_of(wanted.kinds) => Expr { ty: wanted, span, ..value },
            _ => read_typed(value, wanted),
        })
    }
}

/// A path into the message that consists of constant names. `segment_spans` has one pair for each
/// name: its span, and true for a plain name or false for a key in brackets.
#[derive(Default)]
pub(super) struct ConstantPath<'p> {
    pub(super) names: PathNames<'p>,
    pub(super) segment_spans: SmallVec<[(Span, bool); 4]>,
}

impl<'p> ConstantPath<'p> {
    pub(super) fn new(name: &'p str, span: Span) -> ConstantPath<'p> {
        let mut path = ConstantPath::default();
        path.push_segment(name, span, true);
        path
    }

    /// Creates the path of names that are separated by dots.
    pub(super) fn from_idents(names: &'p [Ident]) -> ConstantPath<'p> {
        let mut path = ConstantPath::default();
        names.iter().for_each(|name| path.push_segment(&name.node, name.span, true));
        path
    }

    /// Returns the name at an index of the path and the span of the name; `None` past the end.
    pub(super) fn segment(&self, index: usize) -> Option<(&str, Span)> {
        self.names.get(index).zip(self.segment_spans.get(index)).map(|(name, (span, _))| (*name, *span))
    }

    fn push_segment(&mut self, name: &'p str, span: Span, is_plain_name: bool) {
        self.names.push(name);
        self.segment_spans.push((span, is_plain_name));
    }
}

/// Returns the call that an author probably means by a property of a value, such as `len(text)` for
/// `text.length`. `None` if there is no such function for the type.
fn call_for_property(field: &str, value: &str, ty: &Ty) -> Option<String> {
    let name = function_for_property(field)?;
    let (_, kinds) = Function::from_name(name)?.info().params.first()?;
    kinds.overlaps(ty.kinds).then(|| format!("{name}({value})"))
}

/// Returns the help text for a field of a value of a type without fields. `is_message_field` is
/// true for a field of the message, whose declaration can change.
fn help_for_no_fields(value: &str, ty: &Ty, is_message_field: bool) -> Message {
    match ty.kinds {
        KindSet::STRING => {
            message!("functions and operators read a text, as in `len({value})` or `{value} contains \"a\"`")
        }
        KindSet::DATETIME => message!("functions read a time, as in `hour({value})` or `date({value})`"),
        _ if is_message_field => message!("only records have fields: declare `{value}` as `{{ … }}`"),
        _ => message!("only records have fields"),
    }
}

/// Wraps a value from a list, dict or record in a read of its declared type. A value of another
/// kind then counts as missing.
pub(super) fn read_as_declared(expr: Expr, ty: Ty) -> Expr {
    if ty.kinds == KindSet::MESSAGE_KINDS {
        expr
    } else {
        Expr { may_be_missing: expr.may_be_missing, ..wrap_in_typed_read(expr, &ty) }
    }
}
