//! Checks operators. A row of [`rulec_lang::operators::TABLE`] lists the *forms* of an operator:
//! the pairs of operand kinds that it accepts. The checker selects the forms that fit the operands,
//! and reports a mismatch if no form fits.

use super::constant::NULL_HELP;
use super::decimal::read_elements_as_decimals;
use super::fields::NarrowingReason;
use super::file_settings::{CASE_SETTING, NORMALIZATION_SETTING};
use super::presence::is_nonzero_constant;
use super::read::{element_kinds, union_of_kinds, wrap_in_typed_read};
use super::{Checked, Checker};
use crate::hir::{Expr, ExprKind, Operand, Predicate, Term};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{
    self, Case, Modifiers, Op, OpInfo, OperatorForm, OperatorResult, Quantity, RightOperand, TestMode,
};
use rulec_lang::ty::{Kind, KindSet, Ty};
use rulec_syntax::ast;
use smallvec::SmallVec;

impl<'a> Checker<'a> {
    /// Checks and lowers a binary expression, `a OP b`.
    pub(super) fn check_binary(&mut self, binary: &'a ast::Binary, span: Span) -> Checked<Term> {
        let row = binary.op.node.info();
        if !row.forms.iter().any(|form| form.result == OperatorResult::Condition) {
            return self
                .check_arithmetic(&binary.op, &binary.left, Some(&binary.right), span)
                .map(Term::Expr);
        }
        self.check_modifiers(row, binary)?;
        self.check_null_comparison(binary)?;
        let left = self.check_operand(&binary.left, row);
        if let ast::ExprKind::Range { start, end, inclusive } = &binary.right.kind {
            return self.check_in_range(binary, left?, (start, end, *inclusive), span);
        }
        let right = self.check_operand(&binary.right, row);
        let (left, right) = self.fit_clock_operands(row.op, left?, right?)?;
        let (left, right) = self.fit_operands(row, binary, left, right)?;
        let mode = self.test_mode(row, &binary.modifiers, &left, &right, span);
        self.check_text_operand(row.op, mode, &right)?;
        self.check_enumeration((row.op, mode), &left, &right, Some(&binary.right))?;
        self.warn_useless_constant(row.op, mode, &left, &right);
        self.warn_fraction(&left, &right);
        self.warn_fraction(&right, &left);
        self.warn_computed_float(row.op, binary.op.span, &left, &right);
        self.warn_unknown_intents(&left, &right);
        self.warn_wildcards(binary, &left, &right);
        self.warn_elements_that_are_no_texts(binary, &left, &right);
        self.warn_doubtful_comparison(binary, &left, &right);
        self.warn_impossible_address_text(binary, mode, &left, &right);
        self.warn_network_as_text(binary, &left, &right, span);
        self.warn_name_in_quotes(binary, &left, &right, span);
        self.warn_text_never_captured((row.op, mode), &left, &right, span);
        self.warn_true_for_every_result(binary, &left, &right, span);
        self.warn_other_unit(binary, &left, &right);
        self.warn_operands(binary, &left, &right, span);
        self.warn_blanks_around_text(binary, &left, &right);
        self.warn_difference_in_list(binary);
        self.warn_unreachable_number(row.op, &left, &right, span);
        let predicate = Predicate::without_modifiers(binary.op.node, left, Operand::Value(right));
        Ok(Term::Cond(Predicate { is_negated: binary.negated, mode, ..predicate }.into_cond(span)))
    }

    /// Checks an operand of the operator `row`; the operand must be a value and not a condition.
    fn check_operand(&mut self, expr: &'a ast::Expr, row: &OpInfo) -> Checked<Expr> {
        if let ast::ExprKind::Literal(ast::Literal::Null) = expr.kind {
            let spelling = row.spelling;
            let message =
                message!("`{spelling}` cannot be used with null: a missing value is never equal to anything");
            return self.fail(Code::OperatorType, expr.span, message, NULL_HELP);
        }
        match self.check_term(expr)? {
            Term::Expr(value) => Ok(value),
            Term::Cond(cond) => {
                let message = match row.forms.iter().any(|form| form.result == OperatorResult::Condition) {
                    true => message!("a condition cannot be compared with `{}`", row.spelling),
                    false => message!("`{}` works on values, but this is a condition", row.spelling),
                };
                let help = match row.op {
                    Op::Eq | Op::Ne => {
                        message!(
                            "use the condition itself, or `not` before it, instead of comparing it with `true` or `false`"
                        )
                    }
                    _ => message!("join conditions with `and` and `or`, and group them with parentheses"),
                };
                let diagnostic = Diagnostic::new(Code::ConditionCompared, cond.span, message);
                self.report(diagnostic.here(message!("a condition")).help(help))
            }
        }
    }

    fn check_modifiers(&mut self, row: &OpInfo, binary: &ast::Binary) -> Checked<()> {
        let accepted = row.accepted_modifiers;
        let (modifiers, operator_span) = (&binary.modifiers, binary.op.span);
        if let Some(quantity_modifier) = modifiers.quantity.filter(|_| !accepted.accepts_quantity) {
            if matches!(row.op, Op::Eq | Op::Ne) {
                let replacement = match (row.op, quantity_modifier) {
                    (Op::Eq, Quantity::Any | Quantity::All) | (_, Quantity::None) => "in",
                    _ => "not in",
                };
                let message = message!("`{} {}` is ambiguous", row.spelling, quantity_modifier.spelling());
                return self.report(
                    Diagnostic::new(Code::NotEqualAny, operator_span, message)
                        .help(match replacement {
                            "in" => message!("write `in` for \"is an element of\""),
                            _ => message!("write `not in` for \"is not an element of\""),
                        })
                        .likely_fix(operator_span, replacement),
                );
            }
            let message =
                message!("`{}` cannot be used with `{}`", row.spelling, quantity_modifier.spelling());
            let help = message!(
                "`any`, `all` and `none` can only follow {}",
                operators::operators_accepting(|accepts| accepts.accepts_quantity)
            );
            return self.fail(Code::ModifierMisplaced, operator_span, message, help);
        }
        if modifiers.whole_word && !accepted.accepts_word {
            let message = message!("`{}` cannot be used with `word`", row.spelling);
            let help = message!(
                "`word` can only follow {}",
                operators::operators_accepting(|accepts| accepts.accepts_word)
            );
            return self.fail(Code::ModifierMisplaced, operator_span, message, help);
        }
        if modifiers.case.is_some() && !accepted.accepts_case {
            let message = message!("`{}` does not distinguish upper and lower case", row.spelling);
            return self.fail(
                Code::ModifierMisplaced,
                operator_span,
                message,
                message!("remove `ignoring case`"),
            );
        }
        Ok(())
    }

    /// Returns how the operator compares texts: the modifiers that the author wrote, such as
    /// `ignoring case`, combined with the settings of the file.
    fn test_mode(
        &self,
        row: &OpInfo,
        modifiers: &Modifiers,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> TestMode {
        let settings = self.settings_of(span.file);
        let may_be_texts = |value: &Expr| value.ty.kinds.overlaps(KindSet::STRING.union(KindSet::LIST));
        let text = if row.accepted_modifiers.accepts_case && may_be_texts(left) && may_be_texts(right) {
            let is_prepared = row.search.is_none_or(|search| search.prepares_texts());
            let folds_case = modifiers.case.or(settings.case) == Some(Case::Ignore);
            let folds_fully = is_prepared && folds_case && settings.uses_full_case_folding;
            let case_setting = if modifiers.case.is_none() || folds_fully { CASE_SETTING } else { 0 };
            let form_setting = if is_prepared { NORMALIZATION_SETTING } else { 0 };
            self.setting_uses.record_used_settings(span.file, case_setting | form_setting);
            let form = if is_prepared { settings.form } else { NormalizationForm::None };
            TextMode { folds_case, folds_fully, form }
        } else {
            TextMode::default()
        };
        TestMode { whole_word: modifiers.whole_word, quantity: modifiers.quantity, text }
    }

    fn check_in_range(
        &mut self,
        binary: &ast::Binary,
        left: Expr,
        (start, end, inclusive): (&'a ast::Expr, &'a ast::Expr, bool),
        span: Span,
    ) -> Checked<Term> {
        let less_than = Op::Lt.info();
        if binary.op.node != Op::In || binary.modifiers != Modifiers::default() {
            let message = message!("a range is allowed only on the right of `in`");
            return self.fail(
                Code::OperatorType,
                binary.right.span,
                message,
                message!("write `x in 3..=10`"),
            );
        }
        let (start, end) = (self.check_operand(start, less_than), self.check_operand(end, less_than));
        let (start, end) = (start?, end?);
        let (left, start) = self.fit_clock_operands(Op::Ge, left, start)?;
        let (left, end) = self.fit_clock_operands(Op::Lt, left, end)?;
        let read = self.clock_conversion(&left);
        // If only `end` is a date or a time of day, then `left` is converted only now, after it was
        // checked with `start`. So `start` must be converted too.
        let start = match &read {
            Some(read) => self.apply_clock_conversion(read, start)?,
            None => start,
        };
        let wraps = read.is_some_and(|read| read.function == Function::Time);
        let (left, start) = self.fit_operands(less_than, binary, left, start)?;
        let (left, end) = self.fit_operands(less_than, binary, left, end)?;
        self.warn_fraction(&left, &start);
        self.warn_fraction(&left, &end);
        self.warn_other_unit(binary, &left, &end);
        self.warn_unit_out_of_range((&left, &binary.right), span);
        let right = Operand::Range { start, end, includes_end: inclusive, wraps_midnight: wraps };
        let test =
            Predicate { is_negated: binary.negated, ..Predicate::without_modifiers(Op::In, left, right) };
        Ok(Term::Cond(test.into_cond(span)))
    }

    /// Selects the forms of an operator (pairs of operand kinds) that accept the operands. Narrows
    /// undeclared fields to the kinds in these forms, and returns the converted operands.
    fn fit_operands(
        &mut self,
        row: &OpInfo,
        binary: &ast::Binary,
        left: Expr,
        right: Expr,
    ) -> Checked<(Expr, Expr)> {
        let quantity = binary.modifiers.quantity;
        let (left, right) = self.convert_constants_to_decimals(left, right)?;
        let (left, right) = match quantity.is_some() || matches!(row.op, Op::Eq | Op::Ne) {
            true => (read_elements_as_decimals(left), read_elements_as_decimals(right)),
            false => (left, right),
        };
        if let Some(error) = self.float_with_decimal_error(binary.op.span, &left, &right) {
            if !self.is_in_choice {
                return self.report(error);
            }
            self.warn_never_holds(error);
            return Ok((left, right));
        }
        let allowed_left_kinds = union_of_kinds(row.forms.iter().map(|form| form.left));
        let (lefts_kinds, rights_kinds) = (left.ty.kinds, right.ty.kinds);
        let (left, right) = (
            self.convert_constant_to_version(left, rights_kinds)?,
            self.convert_constant_to_version(right, lefts_kinds)?,
        );
        let among_elements =
            row.forms.iter().any(|form| matches!(form.right, RightOperand::Element | RightOperand::Members));
        // A constant text that is compared with a date-time becomes a date-time.
        let (left, right) = match (row.op, left.ty.kinds, right.ty.kinds) {
            _ if among_elements => self.fit_datetimes_of_list(binary, left, right)?,
            // For an ordering operator, a constant text becomes a date-time unless the other
            // operand is a text.
            (_, left_kinds_found, _)
                if allowed_left_kinds.has(Kind::DateTime) && !allowed_left_kinds.has(Kind::List) =>
            {
                let ordered = KindSet::NUMBER.union(KindSet::DATETIME);
                let right = self.convert_constant_to_datetime(right, left_kinds_found.intersect(ordered))?;
                let right_kinds_found = right.ty.kinds.intersect(ordered);
                (self.convert_constant_to_datetime(left, right_kinds_found)?, right)
            }
            (Op::Eq | Op::Ne, left_kinds_found @ KindSet::DATETIME, _) => {
                (left, self.convert_constant_to_datetime(right, left_kinds_found)?)
            }
            (Op::Eq | Op::Ne, _, r @ KindSet::DATETIME) => {
                (self.convert_constant_to_datetime(left, r)?, right)
            }
            _ => (left, right),
        };
        let fitting: SmallVec<[(KindSet, KindSet); 8]> = row
            .forms
            .iter()
            .filter(|form| left.ty.kinds.overlaps(form.left))
            .filter_map(|form| operand_kinds_in_form(form, &left.ty, &right.ty, quantity))
            .collect();
        if fitting.is_empty() {
            let mismatch = self.mismatch_error(row, binary, &left, &right);
            let mismatch = self.with_hyphen_help(mismatch, [&left, &right]);
            if !self.is_in_choice {
                return self.report(mismatch);
            }
            self.warn_never_holds(mismatch);
            return Ok((left, right));
        }
        self.warn_case_of_if(row, binary, &left, &right);
        if binary.modifiers.whole_word && !left.ty.kinds.overlaps(KindSet::STRING) {
            let message = message!("`word` searches for words in a text, but the left side is a list");
            let diagnostic = Diagnostic::new(Code::ModifierMisplaced, binary.op.span, message)
                .label(left.span, left.ty.to_message())
                .help(message!("remove `word`: a list either contains an element or does not"));
            return self.report(diagnostic);
        }
        let left_kinds = union_of_kinds(fitting.iter().map(|(left, _)| *left));
        let right_kinds = union_of_kinds(fitting.iter().map(|(_, right)| *right));
        if self.fields.is_narrowing_pass() {
            let operator = row.spelling;
            self.narrow_field(
                &left,
                left_kinds,
                &NarrowingReason::Side(left_kinds, message!("left"), operator),
            );
            self.narrow_field(
                &right,
                right_kinds,
                &NarrowingReason::Side(right_kinds, message!("right"), operator),
            );
        }
        // `in` compares the left operand only with elements of comparable kinds. So a left value of
        // any other kind must count as missing.
        let left =
            if row.op == Op::In { wrap_in_typed_read(left, &Ty::from_kinds(left_kinds)) } else { left };
        Ok((left, right))
    }

    /// Warns about an operand `if C then a else b` of which one value does not fit the operator.
    fn warn_case_of_if(&mut self, row: &OpInfo, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let quantity = binary.modifiers.quantity;
        for (operand, other, is_left) in [(left, right, true), (right, left, false)] {
            let fits = |ty: &Ty| {
                let (left, right) = if is_left { (ty, &other.ty) } else { (&other.ty, ty) };
                row.forms.iter().any(|form| {
                    left.kinds.overlaps(form.left)
                        && operand_kinds_in_form(form, left, right, quantity).is_some()
                })
            };
            let warning = self.case_of_if_warning(binary, operand, other, fits);
            self.diagnostics.extend(warning);
        }
    }

    /// Checks `a + b`, `a ?? b` or `-a`. `right` is the second operand; `None` for `-a`.
    pub(super) fn check_arithmetic(
        &mut self,
        op: &Spanned<Op>,
        left: &'a ast::Expr,
        right: Option<&'a ast::Expr>,
        span: Span,
    ) -> Checked<Expr> {
        let (row, written_right) = (op.node.info(), right);
        // A condition may be unknown, so it is allowed here: `(x > 3) ?? false` is always present.
        let mut check_operand_term = |expr| {
            if op.node == Op::Coalesce { self.check_value(expr) } else { self.check_operand(expr, row) }
        };
        let left = check_operand_term(left);
        let right = right.map(check_operand_term).transpose();
        let (mut left, mut right) = (left?, right?);
        if let Some(operand) = right {
            let (converted_left, converted_right) = self.convert_constants_to_decimals(left, operand)?;
            if let Some(error) = self.float_with_decimal_error(op.span, &converted_left, &converted_right) {
                return self.report(error);
            }
            (left, right) = (converted_left, Some(converted_right));
        }
        let right_ty = right.as_ref().map(|right| &right.ty);
        let fitting: Vec<(&OperatorForm, KindSet, KindSet)> = row
            .forms
            .iter()
            .filter(|form| left.ty.kinds.overlaps(form.left))
            .filter_map(|form| match right_ty {
                None => Some((form, form.left, KindSet::EMPTY)),
                Some(right) => operand_kinds_in_form(form, &left.ty, right, None)
                    .map(|(left, right)| (form, left, right)),
            })
            .collect();
        if fitting.is_empty() {
            let message = message!("`{}` does not work on {}", row.spelling, left.ty.with_article());
            let mut diagnostic =
                Diagnostic::new(Code::OperatorType, op.span, message).label(left.span, left.ty.to_message());
            if let Some(right) = &right {
                diagnostic.message = message!("{} and {}", diagnostic.message, right.ty.with_article());
                diagnostic =
                    self.with_type_origin(diagnostic.label(right.span, right.ty.to_message()), right);
            }
            diagnostic = self.with_type_origin(diagnostic, &left);
            if op.node == Op::Add && left.ty.kinds.overlaps(KindSet::STRING) {
                diagnostic = diagnostic.help(message!("to join texts, write `join([a, b], \"\")`"));
            } else if op.node == Op::Coalesce {
                let value = self.loaded.sources.slice(left.span);
                let text = right.as_ref().and_then(|right| self.text_after_coalesce_help(&left, right));
                diagnostic = diagnostic.help(text.unwrap_or_else(|| message!(
                    "both sides of `??` must have the same type; to test for a missing value, write `{value} is \
                    missing`"
                )));
            }
            return self.report(diagnostic);
        }
        let fitting_left_kinds = union_of_kinds(fitting.iter().map(|(_, left, _)| *left));
        let fitting_right_kinds = union_of_kinds(fitting.iter().map(|(.., right)| *right));
        let operator = row.spelling;
        self.narrow_field(&left, fitting_left_kinds, &NarrowingReason::Operand(fitting_left_kinds, operator));
        if let Some(right) = &right {
            self.narrow_field(
                right,
                fitting_right_kinds,
                &NarrowingReason::Operand(fitting_right_kinds, operator),
            );
        }
        let results =
            fitting.iter().map(|(form, ..)| result_type_of_operator(form.result, &left.ty, right_ty));
        let ty = results.reduce(|joined, ty| joined.join(&ty)).unwrap_or(Ty::ANY);
        let right_optional = right.as_ref().is_some_and(|right| right.may_be_missing);
        let optional = match op.node {
            Op::Coalesce => right_optional,
            // Division by a nonzero constant never makes the result missing.
            Op::Div | Op::Rem => left.may_be_missing || !right.as_ref().is_some_and(is_nonzero_constant),
            _ => left.may_be_missing || right_optional,
        };
        if let (Op::Coalesce, Some(right)) = (op.node, &right) {
            self.warn_default_for_constant(&left, right, span);
        }
        if let Some(written) = written_right {
            self.warn_hyphenated_name(op.node, written, span);
            let moves_time = matches!(op.node, Op::Add | Op::Sub) && left.ty.kinds == KindSet::DATETIME;
            if moves_time && right.as_ref().is_some_and(|right| right.as_const().is_some()) {
                self.warn_milliseconds(written.span);
            }
        }
        let kind = ExprKind::Op(op.node, Box::new(left), right.map(Box::new));
        Ok(Expr { kind, ty, may_be_missing: optional, span })
    }
}

fn result_type_of_operator(outcome: OperatorResult, left: &Ty, right: Option<&Ty>) -> Ty {
    match outcome {
        OperatorResult::Condition => Ty::BOOL,
        OperatorResult::Float => Ty::FLOAT,
        OperatorResult::Decimal => Ty::DECIMAL,
        OperatorResult::DateTime => Ty::DATETIME,
        OperatorResult::Either | OperatorResult::Named => {
            right.map_or_else(|| left.clone(), |right| left.join(right))
        }
        OperatorResult::Number => {
            let operands = [Some(left), right];
            // Decimals are excluded because another form of the operator (a pair of operand kinds)
            // computes their result type.
            let number_kinds = |ty: &Ty| ty.kinds.without(KindSet::DECIMAL);
            let all_within =
                |kinds: KindSet| operands.iter().flatten().all(|ty| number_kinds(ty).is_subset_of(kinds));
            let any_float = operands.iter().flatten().any(|ty| ty.kinds.is_subset_of(KindSet::FLOAT));
            match (all_within(KindSet::INT), any_float) {
                (true, _) => Ty::INT,
                (_, true) => Ty::FLOAT,
                _ => Ty::NUMBER,
            }
        }
    }
}

/// Returns the kinds that the left and right operand may have in this form of an operator. A form
/// is a pair of operand kinds that the operator accepts. `quantity` is the operator's modifier
/// `any`, `all` or `none`, if it has one. Returns `None` if the right operand does not fit the
/// form.
fn operand_kinds_in_form(
    form: &OperatorForm,
    left: &Ty,
    right: &Ty,
    quantity: Option<Quantity>,
) -> Option<(KindSet, KindSet)> {
    let pair =
        |left: KindSet, right: KindSet| (!left.is_empty() && !right.is_empty()).then_some((left, right));
    match form.right {
        RightOperand::Nothing | RightOperand::Type | RightOperand::Condition => None,
        RightOperand::Kinds(kinds) => right.kinds.overlaps(kinds).then_some((form.left, kinds)),
        RightOperand::Same => {
            let shared_kinds = left.kinds.shared_comparable_kinds(right.kinds).intersect(form.left);
            pair(shared_kinds, shared_kinds)
        }
        RightOperand::SomeText => {
            let (left_may_be_text, text_kind) = (left.kinds.overlaps(KindSet::STRING), KindSet::STRING);
            let one_is_text = left_may_be_text
                && right.kinds.overlaps(text_kind)
                && (left.kinds == text_kind || right.kinds == text_kind);
            one_is_text.then_some((text_kind, text_kind))
        }
        RightOperand::Text | RightOperand::Pattern | RightOperand::Network => match quantity {
            None => right.kinds.overlaps(KindSet::STRING).then_some((form.left, KindSet::STRING)),
            Some(_) => (right.kinds.overlaps(KindSet::LIST)
                && element_kinds(right).overlaps(KindSet::STRING))
            .then_some((form.left, KindSet::LIST)),
        },
        RightOperand::Element => {
            let element_kinds_found = element_kinds(left).comparable_kinds_with(right.kinds);
            match quantity {
                Some(_) => (right.kinds.overlaps(KindSet::LIST)
                    && element_kinds(right).overlaps(element_kinds_found))
                .then_some((form.left, KindSet::LIST)),
                // The left operand is compared with elements as a list only if it is known that the
                // elements of the right operand are lists.
                None if right.kinds == KindSet::LIST && element_kinds_found == KindSet::MESSAGE_KINDS => None,
                None => pair(form.left, element_kinds_found.intersect(right.kinds))
                    .map(|(left, _)| (left, element_kinds_found)),
            }
        }
        RightOperand::Members => {
            if !right.kinds.overlaps(KindSet::LIST) {
                return None;
            }
            let members = element_kinds(right).with_comparable_kinds();
            let is_mixed = members.without(KindSet::FLOAT.union(KindSet::DECIMAL)).iter().count() > 1;
            let members = if is_mixed { KindSet::MESSAGE_KINDS } else { members };
            // A date-time may be an element of a list of texts, because JSON writes it as text.
            let compares_times = members == KindSet::STRING && left.kinds == KindSet::DATETIME;
            let members = if compares_times { KindSet::DATETIME } else { members };
            pair(members.shared_comparable_kinds(left.kinds), KindSet::LIST)
        }
    }
}
