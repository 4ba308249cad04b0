//! Builds the syntax tree of types, fields and parameters.

use super::context::{Built, StatementContext, child, first, has, unquote};
use super::{Pair, Rule};
use crate::ast::{Field, TypeExpr, TypeKind};

/// Reads the fields of a `fields` or `params` pair.
pub(super) fn fields(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<Field>> {
    cx.all(&pair, Rule::field, field)
}

fn field(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Field> {
    Ok(Field {
        name: cx.ident(&child(&pair, Rule::key)?),
        optional: has(&pair, Rule::optional_mark),
        ty: cx.one(&pair, Rule::type_expr, type_expr)?,
        private: has(&pair, Rule::private),
    })
}

pub(super) fn type_expr(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<TypeExpr> {
    let span = cx.span(&pair);
    let inner = first(&pair)?;
    let kind = match inner.as_rule() {
        Rule::list_type => TypeKind::List(element(cx, inner)?),
        Rule::dict_type => TypeKind::Dict(element(cx, inner)?),
        Rule::record_type => TypeKind::Record(fields(cx, child(&inner, Rule::fields)?)?),
        _ => TypeKind::Name(unquote(cx.text(&inner)).to_owned()),
    };
    Ok(TypeExpr { kind, span })
}

fn element(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Option<Box<TypeExpr>>> {
    Ok(cx.optional(&pair, Rule::type_expr, type_expr)?.map(Box::new))
}
