//! Diagnostics for operand types that an operator does not accept: each shows the types of both
//! operands, where these types come from, and what the author probably meant.

use super::Checker;
use super::read::union_of_kinds;
use crate::hir::{CondKind, Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic, Message, comma_list};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::network::parse_network;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, OpInfo, Quantity, RightOperand, Search};
use rulec_lang::ty::{Kind, KindSet, Ty};
use rulec_syntax::ast;
use rulec_syntax::parse::meant_number;
use rulec_syntax::write::quote_string;

impl<'a> Checker<'a> {
    /// Builds the diagnostic for operands whose types the operator does not accept.
    pub(super) fn mismatch_error(
        &self,
        row: &OpInfo,
        binary: &ast::Binary,
        left: &Expr,
        right: &Expr,
    ) -> Diagnostic {
        let quantity = binary.modifiers.quantity;
        let left_kinds = union_of_kinds(row.forms.iter().map(|form| form.left));
        // Show the operator that the author wrote. The bounds of a range are checked like operands
        // of `<`, but the author wrote `in`.
        let spelling = binary.op.node.info().spelling;
        let written = format!("{}{spelling}", if binary.negated { "not " } else { "" });
        let (this, other) = (left.ty.with_article(), right.ty.with_article());
        let right_is_no_list = !right.ty.kinds.overlaps(KindSet::LIST);
        let diagnostic = |code, message, help: Option<Message>| {
            let diagnostic = Diagnostic::new(code, binary.op.span, message)
                .label(left.span, left.ty.to_message())
                .label(right.span, right.ty.to_message());
            Diagnostic { help, ..diagnostic }
        };
        let diagnostic = if !left.ty.kinds.overlaps(left_kinds) {
            let message = message!(
                "`{written}` works on {}, but its left side is {this}",
                expected_kinds_phrase(left_kinds)
            );
            diagnostic(Code::OperatorType, message, left_operand_help(row, &left.ty))
        } else if quantity.is_none()
            && right.ty.kinds == KindSet::LIST
            && row.accepted_modifiers.accepts_quantity
        {
            let message = message!("`{written}` looks for one value, but its right side is a list");
            let help = message!(
                "write `{written} any …`, `{written} all …` or `{written} none …` for the elements of a list"
            );
            let help = match left.ty.kinds.overlaps(KindSet::LIST) {
                true => message!("{help}; to look for one element that is itself a list, write `x in list`"),
                false => help,
            };
            diagnostic(Code::ListWanted, message, Some(help))
        } else if let Some(quantity) = quantity.filter(|_| right_is_no_list) {
            let of = quantity.spelling();
            let message = message!("`{of}` needs a list on its right side, but this is {other}");
            let help = message!("remove `{of}`, or write a list: `[…]`");
            diagnostic(Code::ListWanted, message, Some(help))
        } else if row.op == Op::In && right_is_no_list {
            let message =
                message!("`{written}` needs a list or a range on its right side, but this is {other}");
            let help = self.right_side_of_in_help(binary, left, right);
            diagnostic(Code::ListWanted, message, Some(help))
        } else {
            let message = operand_pair_message(row, &written, quantity, left, right);
            let help = self
                .field_in_quotes_help(left, right)
                .or_else(|| self.nested_lists_help(binary))
                .or_else(|| self.named_lists_help(binary, right))
                .or_else(|| self.epoch_difference_help(left).or_else(|| self.epoch_difference_help(right)))
                .or_else(|| self.number_and_text_help(left, right))
                .or_else(|| operand_pair_help(row, left, right));
            diagnostic(Code::OperatorType, message, help)
        };
        let diagnostic = self.with_type_origin(diagnostic, left);
        self.with_type_origin(diagnostic, right)
    }

    /// Returns the help text for a right side of `in` that is neither a list nor a range.
    fn right_side_of_in_help(&self, binary: &ast::Binary, left: &Expr, right: &Expr) -> Message {
        let source = |operand: &Expr| {
            let file = self.loaded.sources.get(operand.span.file);
            file.and_then(|file| file.text.get(operand.span.range())).unwrap_or("x").to_owned()
        };
        match (right.ty.kinds, left.ty.kinds) {
            (KindSet::STRING, kinds) if kinds.overlaps(KindSet::STRING) && is_network_constant(right) => {
                let negation = if binary.negated { "not " } else { "" };
                message!("write `{} {negation}in_network {}`", source(left), source(right))
            }
            (KindSet::STRING, kinds) if right.as_const().is_some() && kinds.overlaps(KindSet::LIST) => {
                message!("to look for a value in a list, write `{} contains {}`", source(left), source(right))
            }
            (KindSet::STRING, KindSet::STRING) => {
                searched_text_help(binary.negated, &source(right), &source(left))
            }
            (KindSet::DICT, _) => {
                let negation = if binary.negated { "not " } else { "" };
                message!("to look for a key, write `{} {negation}has_key {}`", source(right), source(left))
            }
            _ => match write_range_of_difference(&binary.right, |span| self.loaded.sources.slice(span)) {
                Some(range) => message!("`-` subtracts here: write `{range}`"),
                None => message!("write a list, as in `x in [1, 2]`, or a range, as in `x in 1..=9`"),
            },
        }
    }

    /// Returns the help text for a text after `??` that is meant as a number or as a time. `None`
    /// for other operands.
    pub(super) fn text_after_coalesce_help(&self, value: &Expr, other: &Expr) -> Option<Message> {
        let constant = other.as_const()?;
        let text = constant.value().as_str()?;
        let is_number = text.trim().parse::<f64>().is_ok() || meant_number(text).is_some();
        let number = is_number.then(|| self.number_and_text_help(value, other)).flatten();
        number.or_else(|| self.time_in_words_help(value, other))
    }

    /// Returns the help text for a number that is compared with a text in quotes. `None` for other
    /// operands.
    fn number_and_text_help(&self, left: &Expr, right: &Expr) -> Option<Message> {
        let text =
            |side: &Expr| side.as_const().and_then(|constant| constant.value().as_str().map(str::to_owned));
        let (left, text) = match (text(left), text(right)) {
            (None, Some(text)) => (left, text),
            (Some(text), None) => (right, text),
            _ => {
                let numbers = KindSet::NUMBER.union(KindSet::DECIMAL);
                let is_number = |side: &Expr| side.ty.kinds.is_subset_of(numbers);
                let element = match (is_number(left), is_number(right)) {
                    (true, false) => right,
                    (false, true) => left,
                    _ => return None,
                };
                return self.numbers_in_list_help(self.loaded.sources.slice(element.span));
            }
        };
        let text = text.as_str();
        if left.ty.kinds == KindSet::BOOL && matches!(text, "true" | "false") {
            let not = if text == "true" { "" } else { "not " };
            return Some(message!(
                "a bool is a condition itself: write `{}`",
                format!("{not}{}", self.loaded.sources.slice(left.span))
            ));
        }
        let is_clock = matches!(left.kind, ExprKind::Call(Function::Weekday | Function::Hour, _));
        let numbers = KindSet::NUMBER.union(KindSet::DECIMAL);
        let looks_like_date = text.matches(['-', ':']).count() == 2;
        if is_clock || looks_like_date || !left.ty.kinds.is_subset_of(numbers) || left.as_const().is_some() {
            return None;
        }
        if let Some(share) = self.bucket_share_help(left, text) {
            return Some(share);
        }
        if let Some(meant) = meant_number(text) {
            return Some(message!("a number is written without quotes: write `{meant}`"));
        }
        Some(match text.trim().parse::<f64>() {
            Ok(_) => message!("a number is written without quotes: write `{}`", text.trim()),
            Err(_) => message!(
                "`{0}` is {1}: compare it with a number, as in `{0} > 0`",
                self.loaded.sources.slice(left.span),
                left.ty.with_article()
            ),
        })
    }

    /// Returns the help text for `bucket(user.id) == "10%"`, by which an author means 10 percent of
    /// the keys. `None` for other operands.
    fn bucket_share_help(&self, left: &Expr, text: &str) -> Option<Message> {
        let ExprKind::Call(Function::Bucket, args) = &left.kind else { return None };
        let percent: u32 = text.trim().strip_suffix('%')?.trim_end().parse().ok()?;
        let written = format!("{} in 0..{percent}", self.loaded.sources.slice(left.span));
        // With a hash or a number of buckets, other numbers select this share.
        let has_percents = args.len() <= 2 && (1..=100).contains(&percent);
        has_percents.then(|| message!("for {percent} percent of the keys write `{written}`"))
    }

    /// Returns the first of the possible values of an `if` or `??` that a parameter of the kinds
    /// `wanted` does not accept. `None` if it accepts all, or if `value` is no `if` or `??`.
    pub(super) fn find_case_of_other_type<'e>(&self, value: &'e Expr, wanted: KindSet) -> Option<&'e Expr> {
        let cases = match &value.kind {
            ExprKind::If { then_value: then, else_value: other, .. } => [then, other],
            ExprKind::Op(Op::Coalesce, left, Some(right)) => [left, right],
            _ => return None,
        };
        cases.into_iter().find_map(|case| {
            let is_other = !case.ty.kinds.overlaps(wanted.with_accepted_kinds());
            if is_other { Some(&**case) } else { self.find_case_of_other_type(case, wanted) }
        })
    }

    /// Returns the warning for an operand `if C then 5 else "x"` of which one value does not fit
    /// the operator. `fits` is true for the types that the operator accepts with the operand
    /// `other`. `None` if all values fit, or for another operand.
    pub(super) fn case_of_if_warning(
        &self,
        binary: &ast::Binary,
        operand: &Expr,
        other: &Expr,
        fits: impl Fn(&Ty) -> bool,
    ) -> Option<Diagnostic> {
        let case = find_misfit_case(operand, &|case: &Expr| case.ty.kinds.is_empty() || fits(&case.ty))?;
        let spelling = binary.op.node.info().spelling;
        let (found, compared) = (case.ty.with_article(), other.ty.with_article());
        let message = message!("in one case, `{spelling}` compares {found} with {compared}");
        let diagnostic = Diagnostic::new(Code::OtherFamily, case.span, message)
            .here(case.ty.to_message())
            .label(other.span, other.ty.to_message());
        let help = message!("give values of one type after `then` and `else`");
        Some(self.with_type_origin(diagnostic, other).help(help))
    }

    /// Returns the error for a condition `if C then 5 else 50 < n` of which one value is no
    /// condition. The `else` extends to the end of the condition, so an author may have meant
    /// `(if C then 5 else 50) < n`. `None` for other values.
    pub(super) fn non_condition_case_error(&self, value: &Expr) -> Option<Diagnostic> {
        let is_cond = |case: &Expr| case.ty.kinds.is_empty() || case.ty.kinds.overlaps(KindSet::BOOL);
        let case = find_misfit_case(value, &is_cond)?;
        let message = message!("expected a condition, but in one case this is {}", case.ty.with_article());
        let diagnostic =
            Diagnostic::new(Code::ConditionWanted, case.span, message).here(case.ty.to_message());
        let help = match self.parenthesize_if(value) {
            Some(written) => message!(
                "the last value after `else` extends to the end: to compare the whole, write `{written}`"
            ),
            None => message!("write a condition after `then` and after `else`, such as `x > 3`"),
        };
        Some(diagnostic.help(help))
    }

    /// Returns `(if C then 5 else 50) < n` for `if C then 5 else 50 < n`. `None` if the last value
    /// is no comparison whose left side has the type of the other values.
    fn parenthesize_if(&self, value: &Expr) -> Option<String> {
        let (mut last, mut kinds) = (value, KindSet::EMPTY);
        while let ExprKind::If { then_value: then, else_value: other, .. } = &last.kind {
            kinds = kinds.union(then.ty.kinds);
            last = other;
        }
        let ExprKind::Cond(cond) = &last.kind else { return None };
        let CondKind::Predicate(test) = &cond.kind else { return None };
        // A `not` before the comparison, and parentheses, do not belong to its left side.
        let starts_here = test.left.span.start == cond.span.start && cond.span.start == last.span.start;
        let fits = test.left.ty.kinds.with_comparable_kinds().overlaps(kinds);
        if !starts_here || !fits || kinds.overlaps(KindSet::BOOL) {
            return None;
        }
        let part = |start, end| self.loaded.sources.slice(Span { start, end, ..value.span });
        let (start, middle, end) = (value.span.start, test.left.span.end, last.span.end);
        // The span of an `if` in parentheses begins with them.
        let head = part(start, middle).trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        Some(format!("({head}){}", part(middle, end)))
    }

    /// Returns the error for an argument with an `if` or `??` of which one possible value, `case`,
    /// has another type than the parameter: `level: if vip then "gold" else 0`.
    pub(super) fn case_type_error(
        &self,
        (function, param): (&str, &str),
        case: &Expr,
        wanted: &Ty,
        declared: Span,
    ) -> Diagnostic {
        let (wants, found) = (wanted.with_article(), case.ty.with_article());
        let message = message!("`{function}` expects {wants} for `{param}`, but in one case it gets {found}");
        let diagnostic = Diagnostic::new(Code::ArgumentType, case.span, message)
            .here(case.ty.to_message())
            .label(declared, message!("declared here"));
        let written = self.loaded.sources.slice(case.span);
        let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
        let text = case.as_const().and_then(|constant| constant.value().as_str());
        let meant = match text {
            None if wanted.kinds == KindSet::STRING && is_number(written) => Some(quote_string(written)),
            Some(text) if wanted.kinds == KindSet::INT && text.parse::<i64>().is_ok() => {
                Some(text.to_owned())
            }
            Some(text) if wanted.kinds.overlaps(KindSet::FLOAT) && is_number(text) => Some(text.to_owned()),
            _ => None,
        };
        match meant {
            Some(meant) => diagnostic
                .help(message!("write `{replacement}`", replacement = meant.clone()))
                .likely_fix(case.span, meant),
            None => diagnostic.help(message!("give {wants} in every case")),
        }
    }

    /// Reports operands of incomparable types as a warning that the condition is never true. Used
    /// in choices, where such types are no error.
    pub(super) fn warn_never_holds(&mut self, mut mismatch: Diagnostic) {
        mismatch.code = Code::OtherFamily;
        mismatch.message = message!("this condition never holds: {}", mismatch.message);
        self.diagnostics.push(mismatch);
    }
}

/// Returns the help text for `in` between two texts, of which the left is searched in the right.
fn searched_text_help(is_negated: bool, text: &str, searched: &str) -> Message {
    let not = if is_negated { "not " } else { "" };
    message!("to look for one text in another, write `{text} {not}contains {searched}`")
}

/// Returns the first possible value of an `if` for which `fits` is false. `None` if there is none,
/// or if `value` is no `if`.
fn find_misfit_case<'e>(value: &'e Expr, fits: &impl Fn(&Expr) -> bool) -> Option<&'e Expr> {
    let ExprKind::If { then_value: then, else_value: other, .. } = &value.kind else { return None };
    [then, other].into_iter().find_map(|case| match &case.kind {
        ExprKind::If { .. } => find_misfit_case(case, fits),
        _ => (!fits(case)).then_some(&**case),
    })
}

/// True for a constant text that is a network with a prefix length, such as `10.0.0.0/8`.
fn is_network_constant(value: &Expr) -> bool {
    let text = value.as_const().and_then(|constant| constant.value().as_str());
    text.is_some_and(|text| text.contains('/') && parse_network(text).is_some())
}

/// Returns the range `18..=65` for the difference `18-65`, by which an author probably means a
/// range. `None` for other expressions.
fn write_range_of_difference<'s>(right: &ast::Expr, source: impl Fn(Span) -> &'s str) -> Option<String> {
    let ast::ExprKind::Binary(binary) = &right.kind else { return None };
    let is_number = |expr: &ast::Expr| matches!(expr.kind, ast::ExprKind::Literal(ast::Literal::Int(_)));
    let is_range = binary.op.node == Op::Sub && is_number(&binary.left) && is_number(&binary.right);
    is_range.then(|| format!("{}..={}", source(binary.left.span), source(binary.right.span)))
}

/// Builds the message for two operands of types that the operator accepts, but not in this
/// combination. `written` is the operator in the source text. `quantity` is its modifier `any`,
/// `all` or `none`, if it has one.
fn operand_pair_message(
    row: &OpInfo,
    written: &str,
    quantity: Option<Quantity>,
    left: &Expr,
    right: &Expr,
) -> Message {
    let text_left = left.ty.kinds.overlaps(KindSet::STRING);
    let (this, other) = (left.ty.with_article(), right.ty.with_article());
    if row.op == Op::HasKey || text_left && row.accepted_modifiers.accepts_quantity && row.op != Op::In {
        let (of, wanted) = match quantity {
            Some(quantity) => (format!(" {}", quantity.spelling()), message!("a list of strings")),
            None => (String::new(), message!("a string")),
        };
        return message!("`{written}{of}` needs {wanted} on its right side, but this is {other}");
    }
    match row.op {
        Op::In => message!("`{written}` looks for {this} in {other}, which can never contain it"),
        _ if is_element_search(row) => {
            message!("`{written}` looks for {other} in {this}, which can never contain it")
        }
        _ => message!("`{written}` cannot compare {this} with {other}"),
    }
}

fn is_element_search(row: &OpInfo) -> bool {
    row.search.is_some_and(Search::finds_elements)
}

/// Lists the kinds that an operator accepts, as a phrase such as "numbers and datetimes".
fn expected_kinds_phrase(kinds: KindSet) -> Message {
    let has_number = KindSet::NUMBER.is_subset_of(kinds);
    let plural_name = |kind: Kind| {
        Some(match kind {
            Kind::Int if has_number => message!("numbers"),
            Kind::Float | Kind::Decimal if has_number => return None,
            Kind::Bool => message!("bools"),
            Kind::Int => message!("ints"),
            Kind::Float => message!("floats"),
            Kind::String => message!("strings"),
            Kind::DateTime => message!("datetimes"),
            Kind::List => message!("lists"),
            Kind::Dict => message!("dicts"),
            Kind::Version => message!("versions"),
            Kind::Decimal => message!("decimals"),
        })
    };
    let mut names: Vec<Message> = match KindSet::MESSAGE_KINDS.is_subset_of(kinds) {
        true => vec![message!("values of any type")],
        false => kinds.iter().filter_map(plural_name).collect(),
    };
    match (names.pop(), names.is_empty()) {
        (None, _) => Message::default(),
        (Some(only), true) => only,
        (Some(last), false) => message!("{} and {last}", comma_list(names)),
    }
}

fn left_operand_help(row: &OpInfo, left: &Ty) -> Option<Message> {
    let accepts_left = |kinds| row.forms.iter().any(|form| form.left.overlaps(kinds));
    match left.kinds {
        KindSet::LIST if accepts_left(KindSet::STRING) => {
            Some(message!("test its elements: `any x in list: x …`"))
        }
        KindSet::DICT if is_element_search(row) => Some(message!("to look for a key, write `has_key`")),
        KindSet::DATETIME if accepts_left(KindSet::STRING) => Some(message!(
            "read the parts of the time, as in `hour(at) in 9..18`, `weekday(at) in 1..=5` or \
            `date(at) == \"2026-01-31\"`"
        )),
        KindSet::BOOL if accepts_left(KindSet::STRING) => {
            Some(message!("a bool is a condition itself: write it without an operator"))
        }
        kinds if kinds.is_subset_of(KindSet::NUMBER) && accepts_left(KindSet::STRING) => {
            Some(message!("compare the number, as in `x > 3` or `x in 1..=9`"))
        }
        _ => None,
    }
}

fn operand_pair_help(row: &OpInfo, left: &Expr, right: &Expr) -> Option<Message> {
    let is_call_of = |function: Function| {
        [left, right].iter().any(|operand| matches!(operand.kind, ExprKind::Call(called_function, _) if called_function == function))
    };
    if is_call_of(Function::Weekday) {
        return Some(message!(
            "`weekday` gives a number from 1 to 7, and Monday is 1: write `weekday(x) == 1`, or `in 1..=5` for the days from Monday to Friday"
        ));
    }
    let versions = [left, right].iter().any(|operand| operand.ty.kinds == KindSet::VERSION);
    if versions && right.ty.kinds == KindSet::LIST {
        return Some(message!(
            "compare a version with versions: `version(x) in [version(\"1.2\"), version(\"1.3\")]`"
        ));
    }
    if versions {
        return Some(message!(
            "both sides must be versions: write `version(x) >= \"1.2\"`, or `version(y)` around the other side"
        ));
    }
    if is_call_of(Function::Hour) {
        return Some(message!(
            "`hour` gives a number from 0 to 23: write `hour(x) >= 9`, or `time(x) >= \"09:30\"` for a time of day"
        ));
    }
    let both_kinds = left.ty.kinds.union(right.ty.kinds);
    let numbers = KindSet::NUMBER.union(KindSet::DECIMAL);
    let number_and_text = both_kinds.overlaps(numbers) && both_kinds.overlaps(KindSet::STRING);
    let time_and_text = both_kinds.overlaps(KindSet::DATETIME) && both_kinds.overlaps(KindSet::STRING);
    let has_constant =
        |ty: &Ty| [left, right].iter().any(|operand| operand.as_const().is_some() && operand.ty == *ty);
    let has_date = [left, right].iter().any(|operand| {
        let text = operand.as_const().and_then(|constant| constant.value().as_str());
        text.is_some_and(|text| {
            text.starts_with(|c: char| c.is_ascii_digit()) && text.matches('-').count() == 2
        })
    });
    let number_and_time = both_kinds.overlaps(KindSet::NUMBER)
        && (both_kinds == KindSet::DATETIME.union(both_kinds.intersect(KindSet::NUMBER)) || has_date);
    let text_of_call = [left, right].into_iter().any(|operand| {
        let is_prepared_text =
            |function| matches!(function, Function::Trim | Function::Lower | Function::Upper);
        operand.ty.kinds == KindSet::STRING
            && matches!(operand.kind, ExprKind::Call(function, _) if !is_prepared_text(function))
    });
    if number_and_text && is_call_of(Function::Time) {
        Some(message!("`time` gives a text with two digits for each part: write `time(x) >= \"09:30\"`"))
    } else if number_and_text && is_call_of(Function::Date) {
        Some(message!("`date` gives a text with the year first: write `date(x) >= \"2026-01-31\"`"))
    } else if number_and_text && text_of_call && !has_constant(&Ty::STRING) {
        Some(message!("write `number(…)` around the text, as in `number(url_query(url, \"page\")) > 10`"))
    } else if number_and_time {
        Some(message!(
            "to read a number as a time, write `from_epoch_seconds(x)`, or `from_epoch_millis(x)` for milliseconds"
        ))
    } else if number_and_text && has_constant(&Ty::STRING) {
        Some(message!("a number is written without quotes"))
    } else if number_and_text
        && has_constant(&Ty::INT)
        && row.forms.iter().any(|form| form.right == RightOperand::SomeText)
    {
        Some(message!("compare its length, as in `len(x) > 3`, or declare the field as a number or datetime"))
    } else if number_and_text && has_constant(&Ty::INT) {
        Some(message!("a text is written in quotes"))
    } else if time_and_text || has_date {
        Some(message!(
            "a time is written as RFC 3339 text, such as \"2026-11-22T09:30:00+08:00\"; read a text as a time with `x as datetime`"
        ))
    } else {
        None
    }
}
