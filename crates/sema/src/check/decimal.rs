//! Checks decimals. If one operand is a decimal, numeric constants in the other operand become
//! decimals, and a float there is an error. Also warns about equality tests of floats that a
//! computation has rounded.

use super::read::element_kinds;
use super::{Checked, Checker};
use crate::hir::{Const, Expr, ExprKind, Term};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Ty};
use rulec_lang::value::Value;
use serde_json::Value as Json;

impl Checker<'_> {
    /// If one operand is a decimal or a list of decimals, converts the numeric constants of the
    /// other operand to decimals. Returns both operands.
    pub(super) fn convert_constants_to_decimals(&mut self, left: Expr, right: Expr) -> Checked<(Expr, Expr)> {
        let (left_kinds, right_kinds) =
            (number_or_element_kinds(&left.ty), number_or_element_kinds(&right.ty));
        Ok((
            self.convert_constants_for_kinds(left, right_kinds)?,
            self.convert_constants_for_kinds(right, left_kinds)?,
        ))
    }

    /// Converts the numeric constants of an expression to decimals, if `kinds` (the kinds of the
    /// other operand) include decimals but not floats.
    pub(super) fn convert_constants_for_kinds(&mut self, expr: Expr, kinds: KindSet) -> Checked<Expr> {
        let wants_decimals = kinds.overlaps(KindSet::DECIMAL) && !kinds.overlaps(KindSet::FLOAT);
        if wants_decimals { self.convert_decimal_constants(expr) } else { Ok(expr) }
    }

    /// Converts the numeric constants of an expression to decimals that have exactly the digits in
    /// the source text.
    pub(super) fn convert_decimal_constants(&mut self, expr: Expr) -> Checked<Expr> {
        let Expr { kind, ty, may_be_missing: optional, span } = expr;
        let (kind, ty) = match kind {
            ExprKind::Const(constant) => self.convert_constant_to_decimal(constant, ty, span)?,
            ExprKind::Op(op, left, right)
                if is_numeric_constant(&left) && right.as_deref().is_none_or(is_numeric_constant) =>
            {
                let left = Box::new(self.convert_decimal_constants(*left)?);
                let right =
                    right.map(|right| self.convert_decimal_constants(*right).map(Box::new)).transpose()?;
                (ExprKind::Op(op, left, right), Ty::DECIMAL)
            }
            ExprKind::Op(Op::Coalesce, left, Some(right)) => {
                let (left, right) =
                    (self.convert_decimal_constants(*left)?, self.convert_decimal_constants(*right)?);
                let ty = left.ty.join(&right.ty);
                (ExprKind::Op(Op::Coalesce, Box::new(left), Some(Box::new(right))), ty)
            }
            ExprKind::If { cond, then_value: then, else_value: other } => {
                let (then, other) =
                    (self.convert_decimal_constants(*then)?, self.convert_decimal_constants(*other)?);
                let ty = then.ty.join(&other.ty);
                (ExprKind::If { cond, then_value: Box::new(then), else_value: Box::new(other) }, ty)
            }
            ExprKind::List(items) => {
                let items = items
                    .into_iter()
                    .map(|item| self.convert_decimal_constants(item))
                    .collect::<Checked<Vec<_>>>()?;
                let element = items.iter().map(|item| item.ty.clone()).reduce(|all, ty| all.join(&ty));
                (ExprKind::List(items), Ty::list(element.unwrap_or(Ty::DECIMAL)))
            }
            kind => (kind, ty),
        };
        Ok(Expr { kind, ty, may_be_missing: optional, span })
    }

    fn convert_constant_to_decimal(
        &mut self,
        constant: Const,
        ty: Ty,
        span: Span,
    ) -> Checked<(ExprKind, Ty)> {
        let converted = match constant.value() {
            number @ (Value::Int(_) | Value::Wide(_) | Value::Float(_)) => Some(number.to_decimal()),
            // The elements stay numbers, because a decimal is equal to a number with the same
            // digits.
            Value::JsonList(items) if items.iter().all(Json::is_number) => {
                if items.iter().any(|item| Value::from_json(item).to_decimal().is_none()) {
                    return self.report_too_many_digits(span);
                }
                return Ok((ExprKind::Const(constant), Ty::list(Ty::DECIMAL)));
            }
            _ => None,
        };
        match converted {
            None => Ok((ExprKind::Const(constant), ty)),
            Some(Some(decimal)) => Ok((ExprKind::Const(Const::Decimal(decimal)), Ty::DECIMAL)),
            Some(None) => self.report_too_many_digits(span),
        }
    }

    fn report_too_many_digits<T>(&mut self, span: Span) -> Checked<T> {
        let message = message!("a decimal has at most 28 digits, and at most 28 after its point");
        self.fail(Code::DecimalDigits, span, message, message!("write fewer digits"))
    }

    /// Returns an error if one operand is a decimal and the other may be a float.
    pub(super) fn float_with_decimal_error(
        &self,
        operator: Span,
        left: &Expr,
        right: &Expr,
    ) -> Option<Diagnostic> {
        let is_decimal = |expr: &Expr| number_or_element_kinds(&expr.ty).overlaps(KindSet::DECIMAL);
        let may_be_float = |expr: &Expr| {
            // In a list of unknown element type, floats are allowed: a decimal equals a float with
            // the same digits.
            let is_list = expr.ty.kinds == KindSet::LIST;
            number_or_element_kinds(&expr.ty).overlaps(KindSet::FLOAT)
                && !(is_list && element_kinds(&expr.ty) == KindSet::MESSAGE_KINDS)
        };
        let float = match (is_decimal(left), is_decimal(right)) {
            (true, false) if may_be_float(right) => right,
            (false, true) if may_be_float(left) => left,
            _ => return None,
        };
        // In the first pass, later uses may still narrow an undeclared field to a decimal.
        if self.fields.is_narrowing_pass() && KindSet::MESSAGE_KINDS.is_subset_of(float.ty.kinds) {
            return None;
        }
        let message = message!("a decimal and a float cannot be used together");
        let diagnostic = Diagnostic::new(Code::DecimalWithFloat, operator, message)
            .label(left.span, left.ty.to_message())
            .label(right.span, right.ty.to_message());
        let help = match float.kind {
            _ if is_computed(float) => {
                message!("compute with decimals from the start: write `decimal(x)` for each number")
            }
            ExprKind::Slot(_) if self.fields.infers_types() => {
                message!(
                    "the rules also use this field as a float: read it as a decimal here, with `x as decimal`"
                )
            }
            ExprKind::Slot(_) => message!("declare the field as `decimal` in `input`"),
            _ => message!("read the value as a decimal, with `x as decimal`"),
        };
        Some(self.with_type_origin(diagnostic.help(help), float))
    }

    /// Converts arguments of a numeric function to decimals where the function needs them; an
    /// omitted argument is `None`. `decimal`, and `round` with a number of places, convert a
    /// constant. `min` and `max` convert constants if another argument is a decimal. `sum` converts
    /// the elements of a list that may contain decimals.
    pub(super) fn convert_to_decimals(
        &mut self,
        function: Function,
        args: &mut [Option<Expr>],
        span: Span,
    ) -> Checked<()> {
        match (function, args) {
            (Function::Decimal, [Some(number)]) => {
                self.check_not_computed(number)?;
                *number = self.convert_decimal_constants(number.clone())?;
            }
            (Function::Round, [Some(number), Some(_)]) => {
                *number = self.convert_decimal_constants(number.clone())?;
                let is_exact = number.ty.kinds.is_subset_of(KindSet::EXACT_NUMBER);
                if !is_exact && !self.fields.is_narrowing_pass() {
                    let message = message!("only a decimal is rounded to a number of places");
                    let help = message!("write `round(decimal(x), 2)`, or declare the field as `decimal`");
                    let diagnostic = Diagnostic::new(Code::ArgumentType, number.span, message);
                    return self
                        .report_with_type_origin(diagnostic.here(number.ty.to_message()).help(help), number);
                }
            }
            (Function::Sum, [Some(list)]) if element_kinds(&list.ty).overlaps(KindSet::DECIMAL) => {
                *list = read_elements_as_decimals(list.clone());
            }
            (Function::Min | Function::Max, args) => {
                let given = || args.iter().flatten();
                let Some(decimal) = given().find(|arg| arg.ty.kinds.overlaps(KindSet::DECIMAL)).cloned()
                else {
                    return Ok(());
                };
                for arg in args.iter_mut().flatten() {
                    *arg = self.convert_constants_for_kinds(arg.clone(), decimal.ty.kinds)?;
                    if let Some(error) = self.float_with_decimal_error(span, &decimal, arg) {
                        return self.report(error);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reports an error if a computed float is converted to a decimal, because the computation has
    /// already rounded its digits.
    fn check_not_computed(&mut self, arg: &Expr) -> Checked<()> {
        if !arg.ty.kinds.overlaps(KindSet::FLOAT) || !is_computed(arg) || is_numeric_constant(arg) {
            return Ok(());
        }
        let message = message!("this float is computed, so its digits are already rounded");
        let help = message!("convert each number before the computation: `decimal(a) + decimal(b)`");
        self.fail(Code::ComputedFloat, arg.span, message, help)
    }

    /// Warns about `==`, `!=` and `in` if an operand is a computed float. Rounding makes such a
    /// test of equality unreliable.
    pub(super) fn warn_computed_float(&mut self, op: Op, operator: Span, left: &Expr, right: &Expr) {
        if !matches!(op, Op::Eq | Op::Ne | Op::In) {
            return;
        }
        let Some(computed) = [left, right].into_iter().find(|side| self.may_be_rounded(side)) else { return };
        // `a-b` is usually a name with a hyphen and not a subtraction. Another warning reports it.
        let mut names = self.diagnostics.iter().filter(|found| found.code == Code::HyphenInName);
        if names.any(|found| found.span().is_some_and(|name| computed.span.contains(name))) {
            return;
        }
        let message = message!("`{}` tests a computed float, which is rounded", op.info().spelling);
        let help = message!(
            "declare money and other exact numbers as `decimal`, or write `decimal(x)`; for other numbers, \
            compare with a tolerance, such as `abs(a - b) < 0.001`"
        );
        let diagnostic = Diagnostic::new(Code::ComputedFloatEquality, operator, message);
        self.diagnostics.push(diagnostic.label(computed.span, computed.ty.to_message()).help(help));
    }

    /// True if a value may be a float that a computation has rounded. A comparison of it with `==`
    /// is then unreliable.
    fn may_be_rounded(&self, expr: &Expr) -> bool {
        if !expr.ty.kinds.overlaps(KindSet::FLOAT) {
            return false;
        }
        let is_whole_constant = |side: &Expr| side.as_const().is_some() && side.ty.kinds == KindSet::INT;
        match &expr.kind {
            ExprKind::Op(Op::Add | Op::Sub | Op::Mul, left, Some(right)) => {
                let is_time = |side: &Expr| side.ty.kinds == KindSet::DATETIME;
                let is_exact = is_whole_constant(left) || is_whole_constant(right) || is_time(left);
                !is_exact || self.may_be_rounded(left) || self.may_be_rounded(right)
            }
            ExprKind::Op(Op::Div, ..) => true,
            ExprKind::Op(_, left, right) => {
                self.may_be_rounded(left) || right.as_deref().is_some_and(|right| self.may_be_rounded(right))
            }
            ExprKind::Call(Function::Sum, args) => {
                args.first().is_some_and(|list| element_kinds(&list.ty) != KindSet::MESSAGE_KINDS)
            }
            ExprKind::Call(Function::Abs | Function::Min | Function::Max, args) => {
                args.iter().any(|arg| self.may_be_rounded(arg))
            }
            ExprKind::If { then_value: then, else_value: other, .. } => {
                self.may_be_rounded(then) || self.may_be_rounded(other)
            }
            ExprKind::Read(inner, _) => self.may_be_rounded(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.may_be_rounded(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }
}

/// Returns the kinds of a value. For a list, returns the kinds of its elements.
pub(super) fn number_or_element_kinds(ty: &Ty) -> KindSet {
    if ty.kinds == KindSet::LIST { element_kinds(ty) } else { ty.kinds }
}

/// Wraps a list of decimals in a call that reads its elements as decimals before they are compared.
/// In a message, decimals are written as numbers or texts, and a number never equals a text.
/// Returns a constant, or a value that is no list of decimals, unchanged.
pub(super) fn read_elements_as_decimals(list: Expr) -> Expr {
    let is_decimals = list.ty.kinds == KindSet::LIST && element_kinds(&list.ty).overlaps(KindSet::DECIMAL);
    if !is_decimals || list.as_const().is_some() {
        return list;
    }
    let (optional, span) = (list.may_be_missing, list.span);
    Expr {
        may_be_missing: optional,
        ..Expr::call(Function::Decimals, vec![list], Ty::list(Ty::DECIMAL), span)
    }
}

/// True for a number in the rules, and for arithmetic on such numbers. The digits of these numbers
/// are in the source text, so the value can be computed exactly as a decimal.
fn is_numeric_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(constant) => {
            matches!(constant.value(), Value::Int(_) | Value::Wide(_) | Value::Float(_) | Value::Decimal(_))
        }
        ExprKind::Op(Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem | Op::Neg, left, right) => {
            is_numeric_constant(left) && right.as_deref().is_none_or(is_numeric_constant)
        }
        _ => false,
    }
}

/// True if arithmetic or a function such as `sum` computes the number. A float may then have lost
/// digits, so it must not become a decimal.
fn is_computed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Op(Op::Coalesce, left, right) => {
            is_computed(left) || right.as_deref().is_some_and(is_computed)
        }
        ExprKind::Op(Op::Neg, inner, _) | ExprKind::Read(inner, _) => is_computed(inner),
        ExprKind::Op(..) => true,
        ExprKind::Call(function, _) => {
            matches!(
                function,
                Function::Sum | Function::Abs | Function::Min | Function::Max | Function::Similarity
            )
        }
        ExprKind::If { then_value: then, else_value: other, .. } => is_computed(then) || is_computed(other),
        _ => false,
    }
}
