//! From the grammar's pairs to the syntax tree: types, and the fields and parameters that have them.

use super::context::{Built, Cx, Failed, child, unquote};
use super::{Pair, Rule};
use crate::syntax::ast::{Field, TypeExpr, TypeKind};

/// The fields of `fields` or `params`.
pub(super) fn fields(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Vec<Field>> {
    pair.into_inner().filter(|pair| pair.as_rule() == Rule::field).map(|pair| field(cx, pair)).collect()
}

fn field(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Field> {
    let (mut name, mut ty, mut optional, mut private) = (None, None, false, false);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::key => name = Some(cx.ident(&pair)),
            Rule::optional_mark => optional = true,
            Rule::type_expr => ty = Some(type_expr(cx, pair)?),
            Rule::private => private = true,
            _ => {}
        }
    }
    let (name, ty) = name.zip(ty).ok_or(Failed)?;
    Ok(Field { name, optional, ty, private })
}

/// Reads a type.
pub(super) fn type_expr(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<TypeExpr> {
    let span = cx.span(&pair);
    let inner = pair.into_inner().next().ok_or(Failed)?;
    let kind = match inner.as_rule() {
        Rule::list_type => TypeKind::List(element(cx, inner)?),
        Rule::dict_type => TypeKind::Dict(element(cx, inner)?),
        Rule::record_type => TypeKind::Record(fields(cx, child(inner, Rule::fields)?)?),
        _ => TypeKind::Name(unquote(cx.text(&inner)).to_owned()),
    };
    Ok(TypeExpr { kind, span })
}

fn element(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Option<Box<TypeExpr>>> {
    match child(pair, Rule::type_expr) {
        Ok(pair) => Ok(Some(Box::new(type_expr(cx, pair)?))),
        Err(Failed) => Ok(None),
    }
}
