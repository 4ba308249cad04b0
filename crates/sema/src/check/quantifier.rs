//! Checks quantifiers: `any`, `all`, `count`, `sum`, `first` and `last` over a list.

use super::fields::NarrowingReason;
use super::{Binding, Checked, Checker};
use crate::hir::{Cond, CondKind, Expr, ExprKind, Fold, Term, Var, VarId};
use crate::resolve::Definition;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::ast::{self, Ident, QuantifierKind};

impl<'a> Checker<'a> {
    pub(super) fn check_quantifier(
        &mut self,
        kind: &'a QuantifierKind,
        var: &'a Ident,
        list: &'a ast::Expr,
        body: &'a ast::Expr,
        span: Span,
    ) -> Checked<Term> {
        if let Some(failed) = self.report_quantifier_as_list(kind, var, list, body) {
            return failed;
        }
        if let Some(failed) = self.report_element_before_list(kind, var, list) {
            return failed;
        }
        let list = self.check_value(list)?;
        if !list.ty.kinds.overlaps(KindSet::LIST) {
            let message = message!("expected a list, but this is {}", list.ty.with_article());
            let diagnostic = Diagnostic::new(Code::ListWanted, list.span, message);
            let diagnostic = diagnostic.here(list.ty.to_message());
            let diagnostic = match self.non_list_help(kind, &var.node, &list, body) {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            };
            return self.report_with_type_origin(diagnostic, &list);
        }
        self.narrow_field(
            &list,
            KindSet::LIST,
            &NarrowingReason::Fixed(message!("a list, because its elements are read")),
        );
        let element = if list.ty.kinds == KindSet::LIST { list.ty.element() } else { Ty::ANY };
        let element_var = self.new_var(&var.node, element.kinds);
        let id = ExprKind::Var(element_var.id);
        let expr = Expr { kind: id, ty: element.clone(), may_be_missing: false, span: var.span };
        self.scope.push(Binding::new(&var.node, expr, var.span));
        let body = self.check_cond(body);
        let summed = match kind {
            QuantifierKind::Sum(value) => Some(self.check_summed_value(value)),
            _ => None,
        };
        self.scope.pop();
        let (list, body) = (Box::new(list), Box::new(body?));
        self.warn_contradiction_in_body(&body);
        let fold = match (kind, summed.transpose()?) {
            (QuantifierKind::Any | QuantifierKind::All, _) => {
                let all = *kind == QuantifierKind::All;
                let kind = CondKind::Quantifier { is_all: all, list, var: element_var, body };
                return Ok(Term::Cond(Cond { kind, span }));
            }
            (_, Some(value)) => Fold::Sum(Box::new(value)),
            (QuantifierKind::First, None) => Fold::First,
            (QuantifierKind::Last, None) => Fold::Last,
            (QuantifierKind::Count | QuantifierKind::Sum(_), None) => Fold::Count,
        };
        let (ty, optional) = match &fold {
            Fold::Count => (Ty::INT, list.may_be_missing),
            Fold::Sum(value) => (Function::Sum.info().result_ty(&[Ty::list(value.ty.clone())]), true),
            Fold::First | Fold::Last => (element, true),
        };
        let kind = ExprKind::Fold { fold, list, var: element_var, body };
        Ok(Term::Expr(Expr { kind, ty, may_be_missing: optional, span }))
    }

    /// Reports a quantifier in which the list comes before the name of its element, as in
    /// `any items in one: …`. `None` for another quantifier.
    fn report_element_before_list<T>(
        &mut self,
        kind: &QuantifierKind,
        var: &Ident,
        list: &ast::Expr,
    ) -> Option<Checked<T>> {
        let ast::ExprKind::Name(element) = &list.kind else { return None };
        let roots = self.fields.declared_root_fields()?;
        let definitions = &self.symbols.definitions;
        let is_defined = |name: &str| definitions.get(name).is_some() || self.scope.get(name).is_some();
        let is_list = roots.get(&var.node).is_some_and(|field| field.ty.kinds.overlaps(KindSet::LIST))
            || definitions
                .get(&var.node)
                .is_some_and(|symbol| matches!(symbol.declaration, Definition::List { .. }));
        let is_known = roots.get(element).is_some() || is_defined(element) || element == "history";
        if !is_list || is_known || self.scope.get(&var.node).is_some() {
            return None;
        }
        let word = match kind {
            QuantifierKind::Any => "any",
            QuantifierKind::All => "all",
            QuantifierKind::First => "first",
            QuantifierKind::Last => "last",
            QuantifierKind::Count => "count",
            QuantifierKind::Sum(_) => "for",
        };
        let name = &var.node;
        let message = message!("the name of the element comes before `in`, and the list after it");
        let help = message!("write `{word} {element} in {name}: …`", element = element.to_string());
        let diagnostic = Diagnostic::new(Code::UnknownName, list.span, message).help(help);
        let diagnostic = diagnostic.likely_fix(var.span, element.to_string());
        Some(self.report(diagnostic.likely_fix(list.span, name.as_str())))
    }

    /// Returns the help text for a quantifier over a value that is no list:
    /// `any w in text: w == "urgent"`, or `any k in prices: …` over a dict. `None` for other types.
    fn non_list_help(
        &self,
        kind: &QuantifierKind,
        var: &str,
        list: &Expr,
        body: &ast::Expr,
    ) -> Option<Message> {
        let slice = |span| self.loaded.sources.slice(span);
        let value = slice(list.span);
        if list.ty.fields().is_some() {
            return Some(message!("a record has no elements: compare its fields, as in `{value}.NAME == …`"));
        }
        if list.ty.kinds == KindSet::DICT {
            return Some(message!(
                "for the values of a dict write `{var} in values({value})`, for its keys `keys({value})`"
            ));
        }
        if list.ty.kinds != KindSet::STRING {
            return None;
        }
        if let (QuantifierKind::Any, ast::ExprKind::Binary(binary)) = (kind, &body.kind)
            && matches!(&binary.left.kind, ast::ExprKind::Name(name) if name == var)
            && !binary.negated
            && binary.modifiers.quantity.is_none()
        {
            let searched = slice(binary.right.span);
            match (binary.op.node, &binary.right.kind) {
                (Op::Eq, ast::ExprKind::Literal(ast::Literal::String(_))) => {
                    return Some(message!(
                        "to look for a word in a text, write `{value} contains word {searched}`"
                    ));
                }
                (Op::In, ast::ExprKind::List(_) | ast::ExprKind::Name(_)) => {
                    return Some(message!(
                        "to look for a word in a text, write `{value} contains word any {searched}`"
                    ));
                }
                _ => {}
            }
        }
        Some(message!("for the words of a text write `{var} in split({value}, \" \")`"))
    }

    /// Checks the expression after `sum`, whose value for each element of the list is added to the
    /// sum.
    fn check_summed_value(&mut self, value: &'a ast::Expr) -> Checked<Expr> {
        let value = self.check_value(value)?;
        let numbers = KindSet::NUMBER.union(KindSet::DECIMAL);
        if !value.ty.kinds.overlaps(numbers) {
            let message = message!("`sum` adds numbers, but this is {}", value.ty.with_article());
            let diagnostic = Diagnostic::new(Code::OperatorType, value.span, message);
            return self.report_with_type_origin(diagnostic.here(value.ty.to_message()), &value);
        }
        self.narrow_field(
            &value,
            numbers,
            &NarrowingReason::Fixed(message!("a number, because it is summed")),
        );
        Ok(value)
    }

    pub(super) fn new_var(&mut self, name: &str, kinds: KindSet) -> Var {
        let id = VarId(self.var_count);
        self.var_count += 1;
        Var { id, name: name.into(), element_kinds: kinds }
    }
}
