//! Checks enumerations such as `tier: "free" | "gold"`: their declarations, and comparisons with a
//! text that is not one of their values.

use super::{AlreadyReported, Checked, Checker};
use crate::hir::{Const, Expr, ExprKind, Term};
use crate::resolve::Definition;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::arena::Arena;
use rulec_lang::operators::budget::{self, PredicateContext};
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::ty::{Enumeration, InnerType, KindSet, Ty};
use rulec_lang::value::{Tri, Value};
use rulec_syntax::ast;
use std::sync::Arc;

/// Maximum number of values of an enumeration. The limit bounds time, because each text of such a
/// field, in a message or in the rules, is compared with all values.
const MAX_ENUMERATION_VALUES: usize = 1000;

/// Maximum number of expressions that are visited to find the constants that an expression may
/// become. The limit bounds time, because a `let` can be used many times.
const MAX_VISITED_RESULTS: usize = 64;

impl<'a> Checker<'a> {
    pub(super) fn resolve_enumeration(&mut self, values: &[Spanned<String>]) -> Checked<Enumeration> {
        if let [Spanned { node: name, span }] = values
            && (Ty::from_builtin_name(name).is_some() || self.symbols.types.get(name).is_some())
        {
            let message = message!("a type is written without quotes");
            let diagnostic = Diagnostic::new(Code::Unexpected, *span, message);
            return self.report(diagnostic.help(message!("write `{name}`")).fix(*span, name.clone()));
        }
        if let Some(too_many) = values.get(MAX_ENUMERATION_VALUES) {
            let message = message!("an enumeration has at most {MAX_ENUMERATION_VALUES} values");
            let help = message!("declare `string`, and compare the field with a list");
            return self.fail(Code::TooComplex, too_many.span, message, help);
        }
        let unique = self.without_duplicates(message!("value"), values, |value| value);
        Ok(Enumeration::new(unique.into_iter().map(|value| Arc::from(value.node.as_str()))))
    }

    /// Resolves a type in a position where an enumeration is an error, such as after `as`. There,
    /// no value would be checked against the enumeration.
    pub(super) fn resolve_type_without_enumerations(&mut self, ty: &ast::TypeExpr) -> Checked<Ty> {
        let resolved = self.resolve_type(ty)?;
        if !has_enumeration(&resolved) {
            return Ok(resolved);
        }
        let message = message!("an enumeration cannot be used here");
        let help = message!(
            "enumerations are for fields of `input` and for arguments; write `string` here, and for a field \
            of a payload `string in [\"a\", \"b\"]`"
        );
        self.fail(Code::EnumerationMisplaced, ty.span, message, help)
    }

    /// Reports an error if a predicate compares an enumeration with a constant text that none of
    /// the enumeration's values equals, contains or matches. `right_expr` is the right operand in
    /// the source; `None` if it comes from an argument of a `def`.
    pub(super) fn check_enumeration(
        &mut self,
        (op, mode): (Op, TestMode),
        left: &Expr,
        right: &Expr,
        right_expr: Option<&ast::Expr>,
    ) -> Checked<()> {
        let found = match (
            left.ty.values_or_element_values(),
            right.as_const(),
            right.ty.values_or_element_values(),
            left.as_const(),
        ) {
            (Some(values), Some(constant), ..) => (values, constant, right, false),
            (_, _, Some(values), Some(constant)) => (values, constant, left, true),
            (Some(_), None, ..) => {
                let results = self.constant_results(right);
                return results
                    .iter()
                    .try_for_each(|result| self.check_enumeration((op, mode), left, result, None));
            }
            (_, _, Some(_), None) => {
                let results = self.constant_results(left);
                return results
                    .iter()
                    .try_for_each(|result| self.check_enumeration((op, mode), result, right, None));
            }
            _ => return Ok(()),
        };
        let (values, constant, constant_expr, is_left) = found;
        // `!=` and `none` are checked like `==` and `any`, because they compare with the same
        // values.
        let op = if op == Op::Ne { Op::Eq } else { op };
        let quantity = mode.quantity.map(|_| Quantity::Any);
        let is_list = if is_left { right.ty.kinds } else { left.ty.kinds } == KindSet::LIST;
        let matches_some = |constant: Value<'_>, op: Op, mode: TestMode| {
            let arena = Arena::new(&self.program.limits);
            let context = PredicateContext { arena: &arena, is_right_constant: true };
            values.values().iter().any(|value| {
                let value = Value::Str(value);
                let (left, right) = if is_left { (constant, value) } else { (value, constant) };
                budget::test_predicate(op, left, right, mode, context) == Tri::True
            })
        };
        let single = TestMode { quantity: None, ..mode };
        let compares_whole = matches!(op, Op::Eq | Op::In) || is_list;
        let wrong = match constant.value() {
            Value::Str(text) if compares_whole => {
                (!matches_some(Value::Str(text), Op::Eq, single)).then_some((text, None))
            }
            Value::Str(text) => (!matches_some(Value::Str(text), op, single)).then_some((text, None)),
            other if compares_whole => {
                other.elements().into_iter().flatten().enumerate().find_map(|(index, element)| {
                    let text = element.as_str()?;
                    (!matches_some(element, Op::Eq, single)).then_some((text, Some(index)))
                })
            }
            other if !matches_some(other, op, TestMode { quantity, ..mode }) => Some(("", None)),
            _ => None,
        };
        let Some((text, index)) = wrong else { return Ok(()) };
        let element_span = |index: usize| match right_expr.map(|expr| &expr.kind) {
            Some(ast::ExprKind::List(items)) => items.get(index).map(|item| item.span),
            _ => None,
        };
        if let Some((written, index)) = right_expr.zip(index)
            && let Some(element) = self.element_of_named_list(written, index)
        {
            let field = if is_left { right } else { left };
            return self.report_element_not_in_enumeration(values, text, (element, written.span), field);
        }
        let span = index.and_then(element_span).unwrap_or(constant_expr.span);
        self.report_not_in_enumeration(
            values,
            (text, span, compares_whole),
            if is_left { right } else { left },
        )
    }

    /// Reports an error if an argument is, or may become, a constant text that the parameter's
    /// enumeration lacks.
    pub(super) fn check_enumeration_argument(&mut self, arg: &Expr, param_type: &Ty) -> Checked<()> {
        let Some(values) = param_type.values() else { return Ok(()) };
        self.constant_results(arg).iter().try_for_each(|result| match result.as_const().map(Const::value) {
            Some(Value::Str(text)) if !values.contains(text) => {
                self.report_not_in_enumeration(values, (text, result.span, true), result)
            }
            _ => Ok(()),
        })
    }

    /// Returns the constants that an expression may become: itself, the results of an `if`, and the
    /// operands of `??`. Looks at [`MAX_VISITED_RESULTS`] expressions at most.
    fn constant_results(&self, expr: &Expr) -> Vec<Expr> {
        let (mut to_visit, mut constants) = (vec![expr], Vec::new());
        for _ in 0..MAX_VISITED_RESULTS {
            let Some(expr) = to_visit.pop() else { break };
            match &expr.kind {
                ExprKind::Const(_) => constants.push(expr.clone()),
                ExprKind::Read(inner, _) => to_visit.push(inner),
                ExprKind::If { then_value, else_value, .. } => {
                    to_visit.extend([&**else_value, &**then_value])
                }
                ExprKind::Op(Op::Coalesce, left, Some(right)) => to_visit.extend([&**right, &**left]),
                ExprKind::Let(id) => {
                    if let Some(Term::Expr(value)) =
                        self.program.lets.get(id.index()).map(|binding| &binding.body)
                    {
                        to_visit.push(value);
                    }
                }
                _ => {}
            }
        }
        constants
    }

    fn report_not_in_enumeration(
        &mut self,
        values: &Enumeration,
        (text, span, compares_whole): (&str, Span, bool),
        field: &Expr,
    ) -> Checked<()> {
        let texts = || values.values().iter().map(|value| &**value);
        let shown = values.to_string();
        let diagnostic = match compares_whole {
            true => {
                let message = message!("\"{}\" is not one of {shown}", rulec_base::text::to_one_line(text));
                let diagnostic = Diagnostic::new(Code::NotInEnumeration, span, message);
                let padded = texts().find(|value| *value != text && value.trim() == text);
                if let Some(padded) = padded {
                    let (padded, text) =
                        (rulec_base::text::to_one_line(padded), rulec_base::text::to_one_line(text));
                    let help = message!(
                        "the declared value \"{padded}\" has white space at an end: write \"{text}\" in the \
                        declaration"
                    );
                    return self.report_enumeration(diagnostic.help(help), field);
                }
                match find_value_ignoring_case(values, text).or_else(|| self.nearest(text, texts())) {
                    Some(near) => diagnostic
                        .help(message!("did you mean \"{near}\"?"))
                        .likely_fix(span, rulec_syntax::write::quote_string(near)),
                    None => diagnostic.help(message!(
                        "compare with a value of the enumeration, or add the text to its declaration"
                    )),
                }
            }
            false => {
                Diagnostic::new(Code::NotInEnumeration, span, message!("this holds for none of {shown}"))
                    .help(message!(
                        "compare with a value of the enumeration, or add the text to its declaration"
                    ))
            }
        };
        self.report_enumeration(diagnostic, field)
    }

    /// Returns the span of the element `index` of the list that a name means. `None` for other
    /// expressions, and for a list from a file.
    fn element_of_named_list(&self, written: &ast::Expr, index: usize) -> Option<Span> {
        let ast::ExprKind::Name(name) = &written.kind else { return None };
        let symbol = self.symbols.definitions.get(name)?;
        let Definition::List { source: ast::ListSource::Elements(elements) } = &symbol.declaration else {
            return None;
        };
        let ast::ExprKind::List(items) = &elements.kind else { return None };
        items.get(index).map(|item| item.span)
    }

    /// Reports a text in a named list that is not among the allowed `values` of the compared
    /// `field`. `element` is the span of the text, and `used` is the name of the list in the
    /// comparison.
    fn report_element_not_in_enumeration(
        &mut self,
        values: &Enumeration,
        text: &str,
        (element, used): (Span, Span),
        field: &Expr,
    ) -> Checked<()> {
        let shown = values.to_string();
        let message = message!("\"{}\" is not one of {shown}", rulec_base::text::to_one_line(text));
        let diagnostic = Diagnostic::new(Code::NotInEnumeration, element, message)
            .label(used, message!("the list is compared with the enumeration here"));
        let near = find_value_ignoring_case(values, text);
        let texts = || values.values().iter().map(|value| &**value);
        let diagnostic = match near.or_else(|| self.nearest(text, texts())) {
            Some(near) => diagnostic
                .help(message!("did you mean \"{near}\"?"))
                .likely_fix(element, rulec_syntax::write::quote_string(near)),
            None => diagnostic.help(message!(
                "remove the text from the list, or add it to the declaration of the enumeration"
            )),
        };
        self.report_enumeration(diagnostic, field)
    }

    fn report_enumeration(&mut self, diagnostic: Diagnostic, field: &Expr) -> Checked<()> {
        let diagnostic = self.with_type_origin(diagnostic, field);
        if self.is_in_choice {
            self.warn_never_holds(diagnostic);
            return Ok(());
        }
        self.report::<AlreadyReported>(diagnostic).map(|_| ())
    }
}

/// Returns the value of an enumeration that differs from a text only in case or in the white space
/// around it. `None` if there is none.
pub(super) fn find_value_ignoring_case<'v>(values: &'v Enumeration, text: &str) -> Option<&'v str> {
    let lower = text.trim().to_lowercase();
    values.values().iter().map(|value| &**value).find(|value| value.to_lowercase() == lower && *value != text)
}

fn has_enumeration(ty: &Ty) -> bool {
    match &ty.inner {
        InnerType::Values(_) => true,
        InnerType::Unknown => false,
        InnerType::Element(element) => has_enumeration(element),
        InnerType::Fields(record) => record.fields.iter().any(|field| has_enumeration(&field.ty)),
    }
}
