//! Finds what the author of a wrong condition meant: a record by whose fields another language
//! searches, or a quantifier in place of a list.

use super::{Checked, Checker};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::KindSet;
use rulec_syntax::ast::{self, Ident, QuantifierKind};
use rulec_syntax::parse::foreign_duration_at;

impl<'a> Checker<'a> {
    /// Reports a record in place of a condition, as in `any p in history: { tool: "pay" }`, by
    /// which other languages mean that each field has this value.
    pub(super) fn report_record_as_condition<T>(
        &mut self,
        entries: &[(Ident, ast::Expr)],
        span: Span,
    ) -> Checked<T> {
        let message = message!("expected a condition, but this is a record");
        let bound = self.scope.bindings().last();
        let element = bound.filter(|binding| {
            let fields = binding.expr.ty.fields();
            fields.is_some_and(|record| entries.iter().all(|(key, _)| record.get(&key.node).is_some()))
        });
        let prefix = element.map_or(String::new(), |binding| format!("{}.", binding.name));
        let is_simple =
            |value: &ast::Expr| matches!(value.kind, ast::ExprKind::Literal(_) | ast::ExprKind::Name(_));
        let comparisons: Vec<String> = entries
            .iter()
            .filter(|(_, value)| is_simple(value))
            .map(|(key, value)| format!("{prefix}{} == {}", key.node, self.loaded.sources.slice(value.span)))
            .collect();
        let diagnostic = Diagnostic::new(Code::ConditionWanted, span, message);
        let is_whole = comparisons.len() == entries.len() && !entries.is_empty();
        let has_nearer_scope = bound.is_some() && element.is_none();
        if !is_whole || has_nearer_scope {
            return self.report(
                diagnostic.help(message!(
                    "a condition compares each field, as in `x.kind == \"a\" and x.count > 3`"
                )),
            );
        }
        let written = comparisons.join(" and ");
        let needs_parentheses = self
            .loaded
            .sources
            .get(span.file)
            .and_then(|file| file.text.get(..span.start as usize))
            .is_some_and(|before| before.trim_end().ends_with("not") && comparisons.len() > 1);
        let written = if needs_parentheses { format!("({written})") } else { written };
        let help = message!("a condition compares each field: write `{written}`", written = written.clone());
        self.report(diagnostic.help(help).likely_fix(span, written))
    }

    /// Reports a quantifier in place of a list, as in `any i in (any o in orders: o.items): C`.
    /// `var` is the name of the element of the outer quantifier, and `body` its condition. `None`
    /// for another list.
    pub(super) fn report_quantifier_as_list<T>(
        &mut self,
        kind: &QuantifierKind,
        var: &Ident,
        list: &ast::Expr,
        body: &ast::Expr,
    ) -> Option<Checked<T>> {
        let ast::ExprKind::Quantifier { kind: inner_kind, var: inner_var, list: inner_list, body: inner } =
            &list.kind
        else {
            return None;
        };
        let word = match inner_kind {
            QuantifierKind::Any => "any",
            QuantifierKind::All => "all",
            _ => return None,
        };
        let slice = |span| self.loaded.sources.slice(span);
        let message = message!("`{word}` gives true or false, and not a list");
        let diagnostic = Diagnostic::new(Code::ListWanted, list.span, message);
        let outer = match kind {
            QuantifierKind::Any => "any",
            QuantifierKind::All => "all",
            _ => {
                let help = message!("a quantifier follows the `:` of another one, and never replaces a list");
                return Some(self.report(diagnostic.help(help)));
            }
        };
        let head = format!("{word} {} in {}", inner_var.node, slice(inner_list.span));
        // `any o in orders: o.total > 3` selects elements, and `any o in orders: o.items` their
        // lists.
        let is_path = matches!(inner.kind, ast::ExprKind::Name(_) | ast::ExprKind::Field(..));
        let written = match is_path {
            true => format!("{head}: {outer} {} in {}: {}", var.node, slice(inner.span), slice(body.span)),
            false if inner_var.node == var.node => {
                format!(
                    "{outer} {} in {}: {} and {}",
                    var.node,
                    slice(inner_list.span),
                    slice(inner.span),
                    slice(body.span)
                )
            }
            false => {
                let help = message!(
                    "join both conditions on one element: `{outer} x in {}: CONDITION and CONDITION`",
                    slice(inner_list.span)
                );
                return Some(self.report(diagnostic.help(help)));
            }
        };
        let help = message!("one quantifier follows the `:` of the other: write `{written}`");
        Some(self.report(diagnostic.help(help)))
    }

    /// Returns the help and the fix for an undeclared name that belongs to a duration of another
    /// language, as in `2 * time.Hour`. `None` for other names.
    pub(super) fn foreign_duration_remedy(&self, span: Span) -> Option<super::meant_place::Remedy> {
        let file = self.loaded.sources.get(span.file)?;
        let (range, written) = foreign_duration_at(&file.text, span.start as usize)?;
        let place = Span { start: range.start as u32, end: range.end as u32, ..span };
        let help =
            message!("a duration is a number with a unit: write `{written}`", written = written.clone());
        Some((help, Some((place, written))))
    }

    /// Returns the help for a key of the history that is a record: its field that identifies it,
    /// such as `user.id` for `user`. `None` if no field of the record can be the key.
    pub(super) fn identifying_field_help(&self, path: &str, value: &crate::hir::Expr) -> Option<String> {
        let kinds = KindSet::STRING.union(KindSet::INT);
        let record = value.ty.fields()?;
        let is_key = |field: &&rulec_lang::ty::Field| {
            field.ty.kinds.is_subset_of(kinds) && !field.ty.kinds.is_empty() && !field.is_optional
        };
        let names = ["id", "key", "uuid", "session", "session_id", "user_id", "name", "login", "email"];
        let by_name = names
            .iter()
            .find_map(|name| record.fields.iter().filter(is_key).find(|field| &*field.name == *name));
        let field = by_name.or_else(|| {
            let mut keys = record.fields.iter().filter(is_key);
            keys.next().filter(|_| keys.next().is_none())
        })?;
        Some(format!("{path}.{}", field.name))
    }
}
