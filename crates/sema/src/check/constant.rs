//! Checks constants: literals, and lists and records of literals. Evaluates them to JSON and infers
//! their types.

use super::meant::{MAX_COMPARED_FIELDS, find_enumeration_value};
use super::read::element_kinds;
use super::{AlreadyReported, Checked, Checker, join_names};
use crate::hir::{Const, Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::{Field, Kind, KindSet, Ty};
use rulec_lang::value::{Value, parse_datetime};
use rulec_syntax::ast::{self, Ident, Literal};
use rulec_syntax::write::quote_string;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The help text for `null` where a value is expected.
pub(super) const NULL_HELP: Message =
    message!("write `x is missing` or `x is present`; a null field counts as missing");

impl<'a> Checker<'a> {
    /// Evaluates a constant expression to JSON: literals, names of constants, lists and records.
    pub(super) fn evaluate_constant(&mut self, expr: &'a ast::Expr) -> Checked<Json> {
        match &expr.kind {
            ast::ExprKind::Literal(literal) => Ok(literal_json(literal)),
            ast::ExprKind::List(items) => {
                let items: Checked<Vec<Json>> =
                    items.iter().map(|item| self.evaluate_constant(item)).collect();
                items.map(Json::Array)
            }
            ast::ExprKind::Record(entries) => self.evaluate_constant_entries(entries).map(Json::Object),
            _ => {
                self.check_name_of_constant(expr, false)?;
                let value = self.check_value(expr)?;
                let Some(json) = json_of_constant(&value) else {
                    let help = message!(
                        "metadata, tests and records contain constants only; pass computed values as \
                        arguments: `-> handler(name: …)`"
                    );
                    return self.fail(Code::ConstantWanted, expr.span, message!("expected a constant"), help);
                };
                Ok(json.clone())
            }
        }
    }

    /// Reports an undeclared name where only a constant is allowed. The name cannot mean a field of
    /// the message, but may be a misspelt name of a definition, or a text without quotes.
    /// `wants_list` is true where a list of texts is expected.
    pub(super) fn check_name_of_constant(&mut self, expr: &'a ast::Expr, wants_list: bool) -> Checked<()> {
        let ast::ExprKind::Name(name) = &expr.kind else { return Ok(()) };
        let is_declared = self.scope.get(name).is_some()
            || self.is_history_name(name)
            || self.symbols.definitions.get(name).is_some()
            || self.symbols.is_name_broken(name)
            || self.fields.declared_root_fields().is_some_and(|roots| roots.get(name).is_some())
            || self.output_alias.is_some_and(|(alias, _)| alias == name);
        // The place decides the help for a word such as `empty` or `None`.
        let message = message!("`{name}` is not declared");
        let diagnostic = Diagnostic::new(Code::UnknownName, expr.span, message);
        if is_declared || self.is_foreign_constant(name) || self.is_read_elsewhere(name, expr.span) {
            return Ok(());
        }
        if let Some(diagnostic) = self.template_as_constant_error(name, expr.span) {
            return self.report(diagnostic);
        }
        let diagnostic = match self.with_help_from_source(diagnostic, name, expr.span) {
            Ok(helped) => return self.report(helped),
            Err(diagnostic) => diagnostic,
        };
        let symbols = self.symbols.definitions.iter().filter(|symbol| symbol.declaration.is_value());
        let near = self.nearest(name, symbols.map(|symbol| symbol.name.node.as_str()));
        if near.is_some() {
            return self.report_once_in_file(diagnostic.did_you_mean(expr.span, near));
        }
        if wants_list {
            let lists = self.symbols.definitions.iter().filter(|symbol| {
                symbol.declaration.keyword() == "list"
                    && self.symbols.is_visible(expr.span.file, symbol.name.span)
            });
            let lists = join_names(lists.map(|symbol| symbol.name.node.as_str()));
            let help = match lists.is_empty() {
                true => message!("declare it: `list {name} = [\"a\", \"b\"]`, or write the texts here"),
                false => {
                    message!("the lists are {lists}; for another one write `list {name} = [\"a\", \"b\"]`")
                }
            };
            return self.report(diagnostic.help(help));
        }
        let roots = self.fields.declared_root_fields();
        let value =
            roots.and_then(|roots| find_enumeration_value(roots, name, &mut MAX_COMPARED_FIELDS.clone()));
        let text = quote_string(value.as_deref().unwrap_or(name));
        let help = message!("only a constant is allowed here; a text is written in quotes: {text}");
        self.report_once_in_file(diagnostic.help(help).likely_fix(expr.span, text))
    }

    /// True if the name is a field of the message, because the file has no `input` and reads the
    /// name at another place. An entry of a record or list, as in `{ owner: ada }`, is not counted.
    /// Always true for the name `text`.
    fn is_read_elsewhere(&self, name: &str, span: Span) -> bool {
        if !self.fields.infers_types() || name == "text" {
            return name == "text";
        }
        let Some(file) = self.loaded.sources.get(span.file) else { return true };
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '`');
        file.text.match_indices(name).any(|(start, _)| {
            let (before, after) = (&file.text[..start], &file.text[start + name.len()..]);
            let is_word = !before.ends_with(is_part) && !after.starts_with(|c: char| c != '.' && is_part(c));
            start != span.range().start && is_word && !before.trim_end().ends_with([':', '[', ',', '{'])
        })
    }

    pub(super) fn evaluate_constant_entries(
        &mut self,
        entries: &'a [(Ident, ast::Expr)],
    ) -> Checked<Map<String, Json>> {
        let unique = self.without_duplicates(message!("key"), entries, |(key, _)| key);
        let map = unique.iter().map(|(key, value)| Ok((key.node.clone(), self.evaluate_constant(value)?)));
        let map = map.collect::<Checked<Map<String, Json>>>()?;
        if unique.len() == entries.len() { Ok(map) } else { Err(AlreadyReported) }
    }

    /// Converts a constant text to a version if `wanted_kinds`, the kinds that the operator or
    /// function accepts for this operand, contain only the kind version.
    pub(super) fn convert_constant_to_version(&mut self, expr: Expr, wanted_kinds: KindSet) -> Checked<Expr> {
        let Some(Value::Str(text)) = expr.as_const().map(Const::value) else { return Ok(expr) };
        if wanted_kinds != KindSet::VERSION {
            return Ok(expr);
        }
        let version = self.check_version(text, expr.span)?;
        let kind = ExprKind::Const(Const::Version(version.to_string().into()));
        Ok(Expr { kind, ty: Ty::from_kinds(KindSet::VERSION), may_be_missing: false, span: expr.span })
    }

    /// Converts constant texts to date-times in an operator over a list, such as `in`. These are
    /// the elements of a list that is compared with a date-time, and texts that are compared with a
    /// list of date-times. Returns both operands.
    pub(super) fn fit_datetimes_of_list(
        &mut self,
        binary: &ast::Binary,
        left: Expr,
        right: Expr,
    ) -> Checked<(Expr, Expr)> {
        let is_list_of_times = |expr: &Expr| element_kinds(&expr.ty) == KindSet::DATETIME;
        if left.ty.kinds == KindSet::DATETIME {
            // The list's constant texts are compared as times anyway, so a constant list needs no
            // conversion.
            let checked = self.convert_elements_to_datetimes(&right, &binary.right, Some(&left))?;
            let right = if right.as_const().is_some() { right } else { checked };
            return Ok((left, right));
        }
        if is_list_of_times(&left) {
            let right = match right.ty.kinds {
                KindSet::LIST => self.convert_elements_to_datetimes(&right, &binary.right, None)?,
                _ => self.convert_constant_to_datetime(right, KindSet::DATETIME)?,
            };
            return Ok((left, right));
        }
        match is_list_of_times(&right) {
            true => Ok((self.convert_constant_to_datetime(left, KindSet::DATETIME)?, right)),
            false => Ok((left, right)),
        }
    }

    /// Converts the constant texts of a list to date-times. `written` is the list in the source
    /// text. `time` is the date-time that is compared with the elements, if there is one.
    fn convert_elements_to_datetimes(
        &mut self,
        list: &Expr,
        written: &ast::Expr,
        time: Option<&Expr>,
    ) -> Checked<Expr> {
        let span_of = |index: usize| match &written.kind {
            ast::ExprKind::List(items) => items.get(index).map_or(list.span, |item| item.span),
            _ => list.span,
        };
        let elements = match (&list.kind, list.as_const().and_then(|constant| constant.value().elements())) {
            (ExprKind::List(items), _) => items.clone(),
            (_, Some(elements)) => elements
                .enumerate()
                .map(|(index, element)| build_constant(element.to_json(), span_of(index)))
                .collect(),
            _ => return Ok(list.clone()),
        };
        let mut times = Vec::with_capacity(elements.len());
        for element in elements {
            if let Some(time) = time {
                self.reject_clock_text(time, &element)?;
            }
            times.push(self.convert_constant_to_datetime(element, KindSet::DATETIME)?);
        }
        Ok(build_list_value(times, list.span))
    }

    /// Converts a constant text to a date-time if `wanted_kinds`, the kinds that the operator or
    /// function accepts for this operand, contain date-time but not text.
    pub(super) fn convert_constant_to_datetime(
        &mut self,
        expr: Expr,
        wanted_kinds: KindSet,
    ) -> Checked<Expr> {
        if !wanted_kinds.has(Kind::DateTime) || wanted_kinds.has(Kind::String) {
            return Ok(expr);
        }
        if let ExprKind::If { cond, then_value: then, else_value: other } = expr.kind {
            let (then, other) = (
                self.convert_constant_to_datetime(*then, wanted_kinds)?,
                self.convert_constant_to_datetime(*other, wanted_kinds)?,
            );
            let ty = then.ty.join(&other.ty);
            let kind = ExprKind::If { cond, then_value: Box::new(then), else_value: Box::new(other) };
            return Ok(Expr { kind, ty, ..expr });
        }
        let Some(Value::Str(text)) = expr.as_const().map(Const::value) else { return Ok(expr) };
        if let Some(time) = parse_datetime(text) {
            let kind = ExprKind::Const(Const::DateTime(time));
            return Ok(Expr { kind, ty: Ty::DATETIME, may_be_missing: false, span: expr.span });
        }
        // A date alone, or a time without an offset, depends on the time zone; suggest an offset.
        let whole = ["Z", "T00:00:00Z"].map(|rest| format!("{}{rest}", text.replace(' ', "T")));
        let whole = whole.into_iter().find(|whole| parse_datetime(whole).is_some());
        if whole.is_none() && wanted_kinds != KindSet::DATETIME {
            return Ok(expr);
        }
        let message = message!("\"{text}\" is not a date and time");
        let diagnostic = Diagnostic::new(Code::BadDatetime, expr.span, message);
        self.report(match whole {
            Some(whole) => diagnostic
                .help(message!("add the offset from UTC: write \"{whole}\", or `+08:00` instead of `Z`"))
                .likely_fix(expr.span, format!("\"{whole}\"")),
            None => diagnostic.help(message!("write RFC 3339, such as \"2026-11-22T09:30:00+08:00\"")),
        })
    }
}

/// Returns the JSON of a constant; `None` for a date-time, a version, a decimal, or a non-constant.
pub(super) fn json_of_constant(expr: &Expr) -> Option<&Json> {
    match expr.as_const()? {
        Const::Json(json) => Some(json),
        Const::DateTime(_) | Const::Version(_) | Const::Decimal(_) => None,
    }
}

/// Builds a constant. The type is inferred from the value.
pub(super) fn build_constant(json: Json, span: Span) -> Expr {
    let ty = if json.is_f64() { Ty::FLOAT } else { type_of_json(&json) };
    Expr { kind: ExprKind::Const(Const::Json(Arc::new(json))), ty, may_be_missing: false, span }
}

fn type_of_json(json: &Json) -> Ty {
    match json {
        Json::Array(items) => Ty::list(join_types(items.iter().map(type_of_json))),
        Json::Object(map) => {
            let field = |(name, value): (&String, &Json)| {
                let (name, ty) = (name.as_str().into(), type_of_json(value));
                Field { name, ty, is_optional: false, is_private: false }
            };
            Ty::record(map.iter().map(field).collect())
        }
        scalar => {
            Value::from_json(scalar).kind().map_or(Ty::ANY, |kind| Ty::from_kinds(KindSet::single(kind)))
        }
    }
}

/// Returns the smallest type that contains every type in `types`; `any` if there are none.
fn join_types(mut types: impl Iterator<Item = Ty>) -> Ty {
    let Some(first) = types.next() else { return Ty::ANY };
    types.fold(first, |joined, ty| if joined == ty { joined } else { joined.join(&ty) })
}

/// Builds a list, as a constant if all elements are constants.
pub(super) fn build_list_value(elements: Vec<Expr>, span: Span) -> Expr {
    let ty = Ty::list(join_types(elements.iter().map(|element| element.ty.clone())));
    let constants: Option<Vec<Json>> =
        elements.iter().map(|element| json_of_constant(element).cloned()).collect();
    let kind = match constants {
        Some(items) => ExprKind::Const(Const::Json(Arc::new(Json::Array(items)))),
        None => ExprKind::List(elements),
    };
    Expr { kind, ty, may_be_missing: false, span }
}

/// Counts the values in the nested lists and records of a constant. The count stops soon after it
/// exceeds `limit`. Values directly in the outermost list or record are not counted, because the
/// length of the source text limits them.
pub(super) fn count_nested_values(json: &Json, limit: u64) -> u64 {
    let parts: &mut dyn Iterator<Item = &Json> = match json {
        Json::Array(items) => &mut items.iter(),
        Json::Object(map) => &mut map.values(),
        _ => return 0,
    };
    let mut size = 0;
    for part in parts.filter(|part| part.is_array() || part.is_object()) {
        let own_size =
            part.as_array().map_or_else(|| part.as_object().map_or(0, |map| map.len()), Vec::len) as u64;
        size += own_size + count_nested_values(part, limit);
        if size > limit {
            break;
        }
    }
    size
}

/// True if lists and records in the constant are nested more than `levels` levels deep, which is an
/// error.
pub(super) fn is_nested_deeper_than(json: &Json, levels: usize) -> bool {
    let exceeds_levels = |part: &Json| levels == 0 || is_nested_deeper_than(part, levels - 1);
    match json {
        Json::Array(items) => {
            levels == 0 || items.iter().any(|part| is_list_or_record(part) && exceeds_levels(part))
        }
        Json::Object(map) => {
            levels == 0 || map.values().any(|part| is_list_or_record(part) && exceeds_levels(part))
        }
        _ => false,
    }
}

fn is_list_or_record(json: &Json) -> bool {
    json.is_array() || json.is_object()
}

pub(super) fn literal_json(literal: &Literal) -> Json {
    match literal {
        Literal::String(text) => text.as_str().into(),
        Literal::Int(int) => (*int).into(),
        Literal::Wide(int) => (*int).into(),
        Literal::Float(float) => (*float).into(),
        Literal::Bool(value) => (*value).into(),
        Literal::Null => Json::Null,
    }
}
