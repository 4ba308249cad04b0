//! Constants: literals, lists and records of them, and the types they have.

use super::{Checked, Checker};
use crate::diag::{Code, Diagnostic};
use crate::sema::hir::{Const, Expr, ExprKind};
use crate::sema::resolve::duplicate;
use crate::span::Span;
use crate::syntax::ast::{self, Literal};
use crate::ty::{Kind, KindSet, Ty};
use crate::value::{Value, parse_datetime};
use serde_json::Value as Json;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// A constant as JSON: literals, lists and records of them, names of constants.
    pub(super) fn constant_json(&mut self, expr: &'a ast::Expr) -> Checked<Json> {
        match &expr.kind {
            ast::ExprKind::Literal(literal) => Ok(literal_json(literal)),
            ast::ExprKind::List(items) => {
                let items: Checked<Vec<Json>> = items.iter().map(|item| self.constant_json(item)).collect();
                items.map(Json::Array)
            }
            ast::ExprKind::Record(entries) => {
                let mut map = serde_json::Map::new();
                for (at, (key, value)) in entries.iter().enumerate() {
                    if let Some((first, _)) = entries[..at].iter().find(|(other, _)| other.node == key.node) {
                        return self.report(duplicate("key", &key.node, first.span, key.span));
                    }
                    let value = self.constant_json(value)?;
                    map.insert(key.node.clone(), value);
                }
                Ok(Json::Object(map))
            }
            _ => {
                let value = self.value(expr)?;
                match value.as_const() {
                    Some(Const::Json(json)) => Ok((**json).clone()),
                    _ => self.report(
                        Diagnostic::new(Code::ConstantWanted, expr.span, "a constant is wanted here")
                            .help("metadata, tests and records hold constants only; give computed values as arguments: `-> handler(name: …)`"),
                    ),
                }
            }
        }
    }

    /// Turns a constant text into a time where only a time is wanted.
    pub(super) fn as_datetime(&mut self, expr: Expr, wanted: KindSet) -> Checked<Expr> {
        if !wanted.has(Kind::DateTime) || wanted.has(Kind::String) {
            return Ok(expr);
        }
        let Some(Value::Str(text)) = expr.as_const().map(Const::value) else { return Ok(expr) };
        match parse_datetime(text) {
            Some(at) => Ok(Expr {
                kind: ExprKind::Const(Const::DateTime(at)),
                ty: Ty::DATETIME,
                optional: false,
                span: expr.span,
            }),
            None if wanted == KindSet::DATETIME => {
                let message = format!("\"{text}\" is not a date and time");
                self.report(
                    Diagnostic::new(Code::BadDatetime, expr.span, message)
                        .help("write RFC 3339, such as \"2026-11-22T09:30:00+08:00\""),
                )
            }
            None => Ok(expr),
        }
    }
}

/// A constant of the type its value has.
pub(super) fn constant(json: Json, span: Span) -> Expr {
    let ty = json_ty(&json);
    Expr { kind: ExprKind::Const(Const::Json(Arc::new(json))), ty, optional: false, span }
}

fn json_ty(json: &Json) -> Ty {
    match json {
        Json::Array(items) => Ty::list(joined(items.iter().map(json_ty))),
        Json::Object(map) => Ty::record(crate::ty::Record {
            fields: map
                .iter()
                .map(|(name, value)| crate::ty::Field {
                    name: name.as_str().into(),
                    ty: json_ty(value),
                    optional: false,
                    private: false,
                })
                .collect(),
        }),
        scalar => Value::from_json(scalar).kind().map_or(Ty::ANY, |kind| Ty::plain(KindSet::of(kind))),
    }
}

/// The smallest type that holds all; of none, `any`.
fn joined(mut types: impl Iterator<Item = Ty>) -> Ty {
    let Some(first) = types.next() else { return Ty::ANY };
    types.fold(first, |all, ty| if all == ty { all } else { all.join(&ty) })
}

/// A list of values: a constant when all of them are.
pub(super) fn list(elements: Vec<Expr>, span: Span) -> Expr {
    let ty = Ty::list(joined(elements.iter().map(|element| element.ty.clone())));
    let constants: Option<Vec<Json>> = elements
        .iter()
        .map(|element| match element.as_const() {
            Some(Const::Json(json)) => Some((**json).clone()),
            _ => None,
        })
        .collect();
    let kind = match constants {
        Some(items) => ExprKind::Const(Const::Json(Arc::new(Json::Array(items)))),
        None => ExprKind::List(elements),
    };
    Expr { kind, ty, optional: false, span }
}

/// The number of values in the lists and records inside a constant, counted a little past `limit`
/// at most. The elements of a flat list are not: it is as large as its author wrote it.
pub(super) fn nested_size(json: &Json, limit: u64) -> u64 {
    let parts: &mut dyn Iterator<Item = &Json> = match json {
        Json::Array(items) => &mut items.iter(),
        Json::Object(map) => &mut map.values(),
        _ => return 0,
    };
    let mut size = 0;
    for part in parts.filter(|part| part.is_array() || part.is_object()) {
        let own =
            part.as_array().map_or_else(|| part.as_object().map_or(0, |map| map.len()), Vec::len) as u64;
        size += own + nested_size(part, limit);
        if size > limit {
            break;
        }
    }
    size
}

pub(super) fn literal_json(literal: &Literal) -> Json {
    match literal {
        Literal::String(text) => text.as_str().into(),
        Literal::Int(int) => (*int).into(),
        Literal::Float(float) => (*float).into(),
        Literal::Bool(value) => (*value).into(),
        Literal::Null => Json::Null,
    }
}
