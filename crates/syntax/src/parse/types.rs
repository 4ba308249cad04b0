//! Builds the syntax tree of declared types, and of the fields and parameters that have them.

use super::context::{Built, StatementContext, first_child, has_child, required_child, unquote};
use super::{Pair, Rule};
use crate::ast::{Field, TypeExpr, TypeKind};

/// Builds the fields of a record type or the parameters of a declaration.
pub(super) fn build_fields(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<Field>> {
    cx.build_children(&pair, Rule::field, build_field)
}

fn build_field(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Field> {
    Ok(Field {
        name: cx.read_ident(&required_child(&pair, Rule::key)?),
        optional: has_child(&pair, Rule::optional_mark),
        ty: cx.build_child(&pair, Rule::type_expr, build_type_expr)?,
        private: has_child(&pair, Rule::private),
    })
}

pub(super) fn build_type_expr(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<TypeExpr> {
    let span = cx.span(&pair);
    let inner = first_child(&pair)?;
    let kind = match inner.as_rule() {
        Rule::list_type => TypeKind::List(build_element_type(cx, inner)?),
        Rule::dict_type => TypeKind::Dict(build_element_type(cx, inner)?),
        Rule::record_type => TypeKind::Record(build_fields(cx, required_child(&inner, Rule::fields)?)?),
        Rule::values_type => TypeKind::Values(cx.build_children(
            &inner,
            Rule::string,
            StatementContext::read_spanned_string,
        )?),
        _ => TypeKind::Name(unquote(cx.text(&inner)).to_owned()),
    };
    Ok(TypeExpr { kind, span })
}

fn build_element_type(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Option<Box<TypeExpr>>> {
    Ok(cx.build_optional_child(&pair, Rule::type_expr, build_type_expr)?.map(Box::new))
}
